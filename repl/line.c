/* Readline's shim.  `make READLINE=0` builds without it. */
#include "repl/line.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if RLY_READLINE
#include <readline/history.h>
#include <readline/readline.h>

#include "repl/history.h"
#endif

static volatile sig_atomic_t pressed;

/* Reads a line without editing: from a file or a pipe, or in a build without
 * readline. */
static char *plain_line(const char *prompt) {
  char *line = NULL;
  size_t cap = 0;
  if (isatty(STDIN_FILENO)) fputs(prompt, stdout);
  fflush(stdout);
  clearerr(stdin); /* removes what Ctrl-C may have left in the line */
  ssize_t n = getline(&line, &cap, stdin);
  if (n < 0) {
    free(line);
    return NULL;
  }
  if (n && line[n - 1] == '\n') line[n - 1] = '\0';
  return line;
}

#if RLY_READLINE

/* Readline's hooks take no argument, so the prompt's state is kept here. */
static const Repl *repl;
static int indentation;

/* --- Completion --------------------------------------------------------- */

/* The completions of the current word; readline asks for them one by one. */
static char **offered;
static size_t offered_count, offered_next;

static bool was_offered(const char *word) {
  for (size_t i = 0; i < offered_count; i++)
    if (!strcmp(offered[i], word)) return true;
  return false;
}

static void take_offer(void *data, const char *word) {
  (void)data;
  if (was_offered(word)) return;
  char **longer = realloc(offered, (offered_count + 1) * sizeof *offered);
  if (!longer) return;
  offered = longer;
  offered[offered_count] = strdup(word);
  offered_count += offered[offered_count] != NULL;
}

static char *next_offer(const char *word, int state) {
  (void)word, (void)state;
  return offered_next < offered_count ? offered[offered_next++] : NULL;
}

/* The entry up to the cursor.  The caller frees it. */
static char *text_to_cursor(int end) {
  size_t before = repl->entry.len;
  char *text = malloc(before + (size_t)end + 1);
  if (!text) return NULL;
  if (before) memcpy(text, repl->entry.text, before);
  memcpy(text + before, rl_line_buffer, (size_t)end);
  text[before + (size_t)end] = '\0';
  return text;
}

static char **complete(const char *word, int start, int end) {
  char *text = text_to_cursor(end);
  if (!text) return NULL;
  Cursor at = {text, repl->entry.len + (size_t)start};
  bool files = complete_files(&at);
  offered_count = offered_next = 0;
  if (!files) complete_words(repl, &at, take_offer, NULL);
  free(text);
  rl_attempted_completion_over = !files;
  char **matches = rl_completion_matches(
      word, files ? rl_filename_completion_function : next_offer);
  rl_completion_append_character =
      files || !matches || matches[1] || matches[0][0] == ':' ? ' ' : '\0';
  return matches;
}

/* Inside a file name, characters that end a word elsewhere are part of the
 * word. */
static char *break_characters(void) {
  char *text = text_to_cursor(rl_point);
  Cursor at = {text, text ? strlen(text) : 0};
  while (at.start && !strchr(" \"", text[at.start - 1])) at.start--;
  bool files = text && complete_files(&at);
  free(text);
  return files ? " \"" : " \t\n(){}[],;=<>+*/!&|\"";
}

/* --- Editing ------------------------------------------------------------ */

/* The key that readline is given after Ctrl-C until the line ends: Enter, which
 * also ends a search of the history.  A question such as "Display all 500
 * possibilities?" refuses Enter with a bell and asks again, so there every
 * other key is an `n`. */
static int key_that_ends(void) {
  static bool answered;
  bool searches = RL_ISSTATE(RL_STATE_ISEARCH | RL_STATE_NSEARCH);
  answered = RL_ISSTATE(RL_STATE_MOREINPUT) && !searches && !answered;
  return answered ? 'n' : '\r';
}

/* A key.  Ctrl-C, which is let in only while this waits, ends the line:
 * whoever reads it knows that it is given up. */
static int read_key(FILE *in) {
  unsigned char key;
  sigset_t open;
  sigprocmask(SIG_SETMASK, NULL, &open);
  sigdelset(&open, SIGINT);
  while (!pressed) {
    struct pollfd wait = {.fd = fileno(in), .events = POLLIN};
    if (ppoll(&wait, 1, NULL, &open) <= 0) continue;
    ssize_t n = read(wait.fd, &key, 1);
    if (n == 1) return key;
    if (n == 0 || errno != EINTR) return EOF;
  }
  return key_that_ends();
}

static int insert_indent(void) {
  for (int i = 0; i < indentation; i++) rl_insert_text(" ");
  return 0;
}

static void recall(const char *entry) { add_history(entry); }

void line_init(const Repl *r) {
  repl = r;
  if (!r->tty) return;
  rl_catch_signals = 0;
  rl_getc_function = read_key;
  rl_startup_hook = insert_indent;
  rl_attempted_completion_function = complete;
  rl_completion_word_break_hook = break_characters;
  rl_variable_bind("enable-bracketed-paste", "on");
  history_load(recall);
}

static char *edited_line(const char *prompt) {
  sigset_t interrupt, before;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigprocmask(SIG_BLOCK, &interrupt, &before);
  char *line = readline(prompt);
  sigprocmask(SIG_SETMASK, &before, NULL);
  return line;
}

static char *read_line(const char *prompt, int indent) {
  indentation = indent;
  return isatty(STDIN_FILENO) ? edited_line(prompt) : plain_line(prompt);
}

/* An entry equal to the previous one is not added to the history again. */
void line_remember(const char *entry) {
  HIST_ENTRY *last = history_get(history_base + history_length - 1);
  if (last && !strcmp(last->line, entry)) return;
  add_history(entry);
  history_append(entry);
}

#else

void line_init(const Repl *r) { (void)r; }

static char *read_line(const char *prompt, int indent) {
  (void)indent;
  return plain_line(prompt);
}

void line_remember(const char *entry) { (void)entry; }

#endif

static void on_press(int signal) {
  (void)signal;
  pressed = 1;
}

char *line_read(const char *prompt, int indent, bool *interrupted) {
  struct sigaction mine = {.sa_handler = on_press}, before;
  sigaction(SIGINT, &mine, &before);
  pressed = 0;
  char *line = read_line(prompt, indent);
  sigaction(SIGINT, &before, NULL);
  *interrupted = pressed;
  return line;
}
