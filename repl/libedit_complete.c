/* Completion for libedit.h, as readline has it: a word's completions are
 * gathered, what they have in common is put in its place, and where there are
 * several they are listed. */
#if RLY_READLINE == 2
#include "repl/libedit.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "repl/screen.h"

enum { ASKS_BEYOND = 100, CELL_BLANKS = 2 };

int rl_filename_completion_desired, rl_attempted_completion_over;
int rl_completion_append_character;
char **(*rl_attempted_completion_function)(const char *word, int start,
                                           int end);
char *(*rl_completion_word_break_hook)(void);
void (*rl_completion_display_matches_hook)(char **matches, int count,
                                           int longest);

/* --- What may complete a word --------------------------------------------- */

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t common_length(const char *a, const char *b) {
  size_t n = 0;
  while (a[n] && a[n] == b[n]) n++;
  return n;
}

static size_t without_doubles(char **texts, size_t n) {
  size_t kept = 0;
  qsort(texts, n, sizeof *texts, compare_texts);
  for (size_t i = 0; i < n; i++)
    if (kept && !strcmp(texts[kept - 1], texts[i])) free(texts[i]);
    else texts[kept++] = texts[i];
  return kept;
}

/* As readline's: element 0 is the longest common prefix, then the matches; a
 * single match is element 0 alone.  NULL: none.  The caller frees all. */
char **rl_completion_matches(const char *word,
                             char *(*next)(const char *word, int state)) {
  char **all = calloc(2, sizeof *all), *one;
  size_t n = 0;
  for (int state = 0; all && (one = next(word, state)); state = 1) {
    char **more = realloc(all, (n + 3) * sizeof *all);
    if (!more) {
      free(one);
      break;
    }
    all = more;
    all[1 + n++] = one;
  }
  if (n) n = without_doubles(all + 1, n);
  if (n == 0) {
    free(all);
    return NULL;
  }
  size_t common = strlen(all[1]);
  for (size_t i = 2; i <= n; i++) {
    size_t with = common_length(all[1], all[i]);
    if (with < common) common = with;
  }
  all[0] = n == 1 ? all[1] : strndup(all[1], common);
  all[n == 1 ? 1 : n + 1] = NULL;
  if (all[0]) return all;
  while (n) free(all[n--]);
  free(all);
  return NULL;
}

/* A file of the folder that the word names; hidden ones are found by their dot
 * alone. */
char *rl_filename_completion_function(const char *word, int state) {
  static DIR *folder;
  const char *slash = strrchr(word, '/');
  size_t head = slash ? (size_t)(slash - word) + 1 : 0;
  const char *name = word + head;
  if (!state) {
    char *path = head ? strndup(word, head) : strdup(".");
    if (folder) closedir(folder);
    folder = path ? opendir(path) : NULL;
    free(path);
    rl_filename_completion_desired = 1;
  }
  struct dirent *entry;
  while (folder && (entry = readdir(folder))) {
    const char *found = entry->d_name;
    if (strncmp(found, name, strlen(name)) || (*found == '.' && *name != '.'))
      continue;
    if (!strcmp(found, ".") || !strcmp(found, "..")) continue;
    char *path;
    return asprintf(&path, "%.*s%s", (int)head, word, found) < 0 ? NULL : path;
  }
  if (folder) closedir(folder);
  folder = NULL;
  return NULL;
}

/* --- Lists ---------------------------------------------------------------- */

/* A question that Ctrl-C answers, as it makes keys of its own then. */
static bool wants_all(size_t n) {
  printf("\nDisplay all %zu possibilities? (y or n)", n);
  fflush(stdout);
  rl_readline_state |= RL_STATE_MOREINPUT;
  int key;
  while ((key = rl_read_key()) != EOF && !strchr("yY nN\177", key)) {
    putchar('\a');
    fflush(stdout);
  }
  rl_readline_state &= ~(unsigned long)RL_STATE_MOREINPUT;
  return key == 'y' || key == 'Y' || key == ' ';
}

static void list(char **matches) {
  size_t n = 0, longest = 0;
  while (matches[n + 1]) n++;
  for (size_t i = 1; i <= n; i++)
    if (strlen(matches[i]) > longest) longest = strlen(matches[i]);
  if (rl_completion_display_matches_hook) {
    rl_completion_display_matches_hook(matches, (int)n, (int)longest);
    return;
  }
  bool all = n <= ASKS_BEYOND || wants_all(n);
  size_t rows, columns, cell = longest + CELL_BLANKS;
  screen_size(&rows, &columns);
  size_t across = columns / cell ? columns / cell : 1;
  for (size_t i = 1; all && i <= n; i++)
    printf("%s%-*s", i % across == 1 || across == 1 ? "\n" : "", (int)cell,
           matches[i]);
  putchar('\n');
  libedit_row_lost();
}

/* --- The command ---------------------------------------------------------- */

static bool is_folder(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* What stands after the only completion. */
static void end_word(const char *word) {
  char end[2] = {(char)rl_completion_append_character, '\0'};
  if (rl_filename_completion_desired && is_folder(word)) *end = '/';
  if (*end && rl_line_buffer[rl_point] != *end) rl_insert_text(end);
}

int rl_complete(int count, int key) {
  (void)count, (void)key;
  const char *ends = rl_completion_word_break_hook();
  int start = rl_point;
  while (start > 0 && !strchr(ends, rl_line_buffer[start - 1])) start--;
  char *word = strndup(rl_line_buffer + start, (size_t)(rl_point - start));
  if (!word) return 0;
  rl_filename_completion_desired = 0;
  rl_completion_append_character = ' ';
  char **matches = rl_attempted_completion_function(word, start, rl_point);
  free(word);
  if (!matches) {
    putchar('\a');
    fflush(stdout);
    return 0;
  }
  rl_delete_text(start, rl_point);
  rl_point = start;
  rl_insert_text(matches[0]);
  if (matches[1]) list(matches);
  else end_word(matches[0]);
  for (char **m = matches; *m; m++) free(*m);
  free(matches);
  return 0;
}
#endif
