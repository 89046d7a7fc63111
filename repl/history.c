/* The file of the history, $XDG_STATE_HOME/rly/history.
 *
 * Each line is an entry, oldest first, with newlines written as `\n` and
 * backslashes as `\\`: an entry of several lines is one line of the file.  An
 * entry is appended as soon as it was read, so a run that is killed loses
 * nothing.  O_APPEND makes each write(2) go to the end, whatever other runs
 * have written meanwhile: concurrent runs append whole lines.
 *
 * The file only grows.  What is read of it is bounded: the newest MAX_ENTRIES
 * different entries.  It may hold what a user typed, so it is made for that
 * user alone (0600).  Nothing that goes wrong here is reported, because a
 * prompt without history is still a prompt. */
#include "repl/history.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "repl/user.h"

enum { MAX_ENTRIES = 5000 };

/* --- Lines -------------------------------------------------------------- */

/* Decodes in place; the result is never longer than the line.  A backslash at
 * the very end, which escaped() never writes, stands for itself. */
static void unescape(char *line) {
  char *to = line;
  for (const char *p = line; *p; p++)
    if (*p == '\\' && p[1]) p++, *to++ = *p == 'n' ? '\n' : *p;
    else *to++ = *p;
  *to = '\0';
}

/* The encoded line with a newline at its end.  The caller frees it; NULL: out
 * of memory.  Every byte may need two, and the newline and the NUL take two
 * more. */
static char *escaped(const char *entry) {
  char *line = malloc(2 * strlen(entry) + 2), *to = line;
  if (!line) return NULL;
  for (; *entry; entry++) {
    if (*entry == '\n' || *entry == '\\') *to++ = '\\';
    *to++ = *entry == '\n' ? 'n' : *entry;
  }
  *to++ = '\n';
  *to = '\0';
  return line;
}

/* --- Loading ------------------------------------------------------------ */

typedef struct Lines {
  char **items;
  int count;
} Lines;

static void forget(Lines *l, int i) {
  free(l->items[i]);
  memmove(l->items + i, l->items + i + 1,
          (size_t)(l->count - i - 1) * sizeof *l->items);
  l->count--;
}

/* Keeps the newest of equal entries and drops the older ones.  Takes the line.
 * The search is linear: MAX_ENTRIES squared comparisons of mostly one byte,
 * once in a run, for the fullest history. */
static void keep(Lines *l, char *line) {
  for (int i = l->count; i-- > 0;)
    if (!strcmp(l->items[i], line)) {
      forget(l, i);
      break;
    }
  if (l->count == MAX_ENTRIES) forget(l, 0);
  l->items[l->count++] = line;
}

/* A copy is made of each line, since getline() reuses its buffer; empty lines
 * say nothing. */
static void read_lines(FILE *in, Lines *l) {
  char *line = NULL;
  size_t cap = 0;
  for (ssize_t n; (n = getline(&line, &cap, in)) > 0;) {
    if (line[n - 1] == '\n') line[--n] = '\0';
    char *copy = n ? strdup(line) : NULL;
    if (copy) keep(l, copy);
  }
  free(line);
}

void history_load(void (*visit)(const char *entry)) {
  char path[USER_PATH_MAX];
  FILE *in = user_state_file("history", false, path) ? fopen(path, "r") : NULL;
  if (!in) return;
  Lines l = {.items = calloc(MAX_ENTRIES, sizeof *l.items)};
  if (l.items) read_lines(in, &l);
  fclose(in);
  for (int i = 0; i < l.count; i++) {
    unescape(l.items[i]);
    visit(l.items[i]);
    free(l.items[i]);
  }
  free(l.items);
}

void history_append(const char *entry) {
  char path[USER_PATH_MAX];
  if (!user_state_file("history", true, path)) return;
  char *line = escaped(entry);
  int fd =
      line ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
  if (fd >= 0) {
    size_t n = strlen(line);
    ssize_t written = write(fd, line, n);
    (void)written; /* a full disk must not end the session */
    close(fd);
  }
  free(line);
}
