/* See pager.h.  Stdout leads to a file in memory meanwhile, so that it does not
 * matter by which function a command prints.  host.c is told the terminal's
 * descriptor, for widths and colours are the terminal's. */
#include "repl/pager.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/inside.h"
#include "repl/cli.h"
#include "repl/screen.h"

enum {
  NOT_FOUND = 127, /* what a shell says of a command */
  LEAST = 20,      /* columns after an indentation for words to be broken */
};

/* The terminal and the file, while output is kept back. */
static int terminal = -1, kept = -1;

bool pager_begin(bool wanted) {
  const char *pager = getenv("PAGER"), *type = getenv("TERM");
  if (!wanted || kept >= 0 || (pager && !*pager)) return false;
  if (!type || !strcmp(type, "dumb")) return false;
  if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)) return false;
  fflush(stdout);
  kept = system_file();
  terminal = kept < 0 ? -1 : dup(STDOUT_FILENO);
  if (terminal >= 0 && dup2(kept, STDOUT_FILENO) >= 0) {
    host_stdout_leads_to(terminal);
    return true;
  }
  if (terminal >= 0) close(terminal);
  if (kept >= 0) close(kept);
  terminal = kept = -1;
  return false;
}

/* Gives stdout back; the file with what was written, to be closed by the
 * caller, or -1. */
static int give_back(void) {
  int file = kept;
  if (file < 0) return -1;
  fflush(stdout);
  dup2(terminal, STDOUT_FILENO);
  close(terminal);
  host_stdout_leads_to(STDOUT_FILENO);
  terminal = kept = -1;
  return file;
}

/* Copies the file to stdout. */
static void put_file(int file) {
  char part[4096];
  lseek(file, 0, SEEK_SET);
  for (ssize_t n; (n = read(file, part, sizeof part)) > 0;)
    fwrite(part, 1, (size_t)n, stdout);
  fflush(stdout);
}

/* Writes a line of this length, its newline left out; one that is too wide is
 * broken between words and goes on below its own indentation.  Drawings, which
 * have colours, know the width. */
static void put_line(FILE *out, const char *line, size_t len, size_t columns) {
  size_t indent = strspn(line, " "), room = columns;
  bool breaks = indent + LEAST <= columns && !memchr(line, '\033', len);
  while (breaks && utf8_width(line, len) > room) {
    size_t at = utf8_fit(line, len, room), least = room == columns ? indent : 0;
    while (at > least && line[at] != ' ') at--;
    if (at == least) at = least + strcspn(line + least, " ");
    size_t next = at + strspn(line + at, " ");
    if (next >= len) break;
    fprintf(out, "%.*s\n%*s", (int)at, line, (int)indent, "");
    line += next;
    len -= next;
    room = columns - indent;
  }
  fwrite(line, 1, len, out);
  putc('\n', out);
}

/* A file with the text of this one, which it closes, in lines that fit. */
static int broken(int file) {
  size_t rows, columns, size = 0;
  char *line = NULL;
  screen_size(&rows, &columns);
  int made = system_file(), copy = dup(made);
  FILE *out = copy < 0 ? NULL : fdopen(copy, "w");
  FILE *in = out ? fdopen(file, "r") : NULL;
  if (in) {
    rewind(in);
    for (ssize_t n; (n = getline(&line, &size, in)) > 0;)
      put_line(out, line, (size_t)n - (line[n - 1] == '\n'), columns);
    free(line);
    fclose(in);
    fclose(out);
    return made;
  }
  if (out) fclose(out);
  else if (copy >= 0) close(copy);
  if (made >= 0) close(made);
  return file;
}

/* Does the text take more rows than the screen has above the next prompt? */
static bool is_long(int file) {
  size_t rows, columns, used = 0, width = 0;
  char part[4096];
  screen_size(&rows, &columns);
  lseek(file, 0, SEEK_SET);
  for (ssize_t n; (n = read(file, part, sizeof part)) > 0;)
    for (ssize_t i = 0; i < n; i++) {
      bool ends = part[i] == '\n';
      width = ends ? 0 : width + !utf8_continues(part[i]);
      used += ends || width == columns + 1;
      if (width > columns) width = 1;
    }
  return used >= rows;
}

/* Runs the pager on the file; false: there is none. */
static bool run_pager(int file) {
  const char *pager = getenv("PAGER");
  lseek(file, 0, SEEK_SET);
  pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    setenv("LESS", "FRX", 0); /* colours; what fits is just printed */
    signal(SIGINT, SIG_DFL);
    if (dup2(file, STDIN_FILENO) < 0) _exit(NOT_FOUND);
    execl("/bin/sh", "sh", "-c", pager ? pager : "less", (char *)NULL);
    _exit(NOT_FOUND);
  }
  /* Ctrl-C is the pager's. */
  struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
  int status = 0;
  sigaction(SIGINT, &ignore, &before);
  while (waitpid(child, &status, 0) < 0) {
  }
  sigaction(SIGINT, &before, NULL);
  return !WIFEXITED(status) || WEXITSTATUS(status) != NOT_FOUND;
}

void pager_end(void) {
  int file = give_back();
  if (file < 0) return;
  file = broken(file);
  if (!is_long(file) || !run_pager(file)) put_file(file);
  close(file);
}

void pager_stop(void) {
  int file = give_back();
  if (file < 0) return;
  put_file(file);
  close(file);
}
