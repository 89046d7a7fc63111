/* Readline's shim: one line or entry from the user.  `make READLINE=0` builds
 * without readline, and input that is no terminal is read without it as well.
 * What editing entries of several lines takes is edit.c.
 *
 * Three things need care, and most of this file is about them:
 *
 *   - Ctrl-C.  Readline's own handling is switched off.  The signal is blocked
 *     while readline works.  Only system_wait() lets it in, at the one place
 *     where it waits for a key.  So the handler only sets a flag, readline is
 *     never interrupted in the middle of its data, and the line ends as if
 *     Enter had been pressed.
 *   - Words.  Completion needs the whole entry, of which readline has only the
 *     last line, and file names end at other characters than names do.
 *   - Allocation.  What is given to readline (completions) it frees; what it
 *     gives (the line) the caller frees. */
#include "repl/line.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "repl/pager.h"

#if RLY_READLINE

#include "lib/inside.h"
#include "repl/edit.h"
#include "repl/history.h"
#include "repl/readline.h"
#include "repl/words.h"
#endif

static volatile sig_atomic_t pressed;
/* Whether the press ended the line.  One that comes when the line is complete,
 * but not yet returned, is meant for what the line does. */
static bool given_up;

/* A NUL, which a string cannot hold, becomes a byte that stands in no UTF-8, so
 * that the entry is refused as a file with a NUL is. */
char *line_of_file(FILE *in) {
  char *line = NULL;
  size_t cap = 0;
  ssize_t n = getline(&line, &cap, in);
  if (n < 0) {
    free(line);
    return NULL;
  }
  if (n && line[n - 1] == '\n') line[--n] = '\0';
  for (char *nul = line; (nul = memchr(nul, '\0', (size_t)(line + n - nul)));)
    *nul++ = '\xff';
  return line;
}

/* Reads a line without editing: from a file or a pipe, or in a build without
 * readline. */
static char *plain_line(const char *prompt) {
  if (isatty(STDIN_FILENO)) fputs(prompt, stdout);
  fflush(stdout);
  clearerr(stdin); /* removes what Ctrl-C may have left in the line */
  char *line = line_of_file(stdin);
  if (!line) given_up = pressed;
  return line;
}

#if RLY_READLINE

/* Readline's hooks take no argument, so the prompt's state is kept here. */
static const Repl *repl;
static int indentation;
static bool loaded; /* readline is there */
static bool edits_entries;
static volatile sig_atomic_t resized, continued;

/* --- Completion --------------------------------------------------------- */

/* The completions of the current word; readline asks for them one by one. */
static char **offered;
static size_t offered_count, offered_next;

/* A word may be a dtype, a name and a keyword at once; readline would list it
 * so often. */
static bool was_offered(const char *word) {
  for (size_t i = 0; i < offered_count; i++)
    if (!strcmp(offered[i], word)) return true;
  return false;
}

/* Called for some thousand words at most, so growing by one and searching
 * linearly do not show. */
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

/* The entry up to the cursor.  The caller frees it.  `end` counts bytes of
 * readline's buffer. */
static char *text_to_cursor(int end) {
  size_t before = repl->entry.len;
  char *text = malloc(before + (size_t)end + 1);
  if (!text) return NULL;
  if (before) memcpy(text, repl->entry.text, before);
  memcpy(text + before, *rl.buffer, (size_t)end);
  text[before + (size_t)end] = '\0';
  return text;
}

/* What readline adds after a completion that is the only one: the quotation
 * mark that ends a string; a blank after a command or a file; nothing after a
 * name, since a parenthesis or a dot may follow. */
static int character_behind(const Cursor *at, bool files, char **matches) {
  if (complete_in_string(at)) return '"';
  bool blank = files || !matches || matches[1] || matches[0][0] == ':';
  return blank ? ' ' : '\0';
}

/* Readline's entry point.  rl_attempted_completion_over keeps readline from
 * trying file names by itself where nothing else fits. */
static char **complete(const char *word, int start, int end) {
  char *text = text_to_cursor(end);
  if (!text) return NULL;
  Cursor at = {text, repl->entry.len + (size_t)start};
  bool files = words_are_files(&at);
  offered_count = offered_next = 0;
  if (!files) words_offer(repl, &at, take_offer, NULL);
  *rl.attempted_completion_over = !files;
  char **matches = rl.completion_matches(
      word, files ? rl.filename_completion_function : next_offer);
  *rl.completion_append_character = character_behind(&at, files, matches);
  free(text);
  return matches;
}

/* Inside a file name, characters that end a word elsewhere are part of the
 * word.  Readline calls this before it looks for the word's beginning, so the
 * beginning is found here first, by the characters that end a file name. */
static char *break_characters(void) {
  char *text = text_to_cursor(*rl.point);
  Cursor at = {text, text ? strlen(text) : 0};
  while (at.start && !strchr(" \"", text[at.start - 1])) at.start--;
  bool files = text && words_are_files(&at);
  free(text);
  return files ? " \"" : " \t\n(){}[],;=<>+*/!&|\"";
}

/* --- Editing ------------------------------------------------------------ */

/* The key that readline is given after Ctrl-C until the line ends: Enter, which
 * also ends a search of the history.  A question such as "Display all 500
 * possibilities?" refuses Enter with a bell and asks again, so there every
 * other key is an `n`.  `answered` alternates only while such a question is
 * open. */
static int key_that_ends(void) {
  static bool answered;
  bool searches = readline_is(RL_STATE_ISEARCH | RL_STATE_NSEARCH);
  answered = readline_is(RL_STATE_MOREINPUT) && !searches && !answered;
  return answered ? 'n' : '\r';
}

/* A key.  Ctrl-C, which is let in only while this waits, ends the line: whoever
 * reads it knows that it is given up.  sigdelset() on the mask that is in
 * force, instead of an empty mask: other signals that the process has blocked
 * stay blocked.  system_wait() changes the mask and waits in one step, so that
 * no Ctrl-C falls between a check of `pressed` and the wait. */
static int read_key(FILE *in) {
  unsigned char key;
  sigset_t open;
  sigprocmask(SIG_SETMASK, NULL, &open);
  sigdelset(&open, SIGINT);
  sigdelset(&open, SIGWINCH);
  sigdelset(&open, SIGCONT);
  while (!pressed) {
    int ready = system_wait(fileno(in), &open);
    if (continued && edits_entries) edit_continued();
    else if (resized && edits_entries) edit_resized();
    resized = continued = 0;
    if (ready <= 0) continue;
    ssize_t n = read(fileno(in), &key, 1);
    if (n == 1) return key;
    if (n == 0 || errno != EINTR) return EOF;
  }
  given_up = true;
  return key_that_ends();
}

static int insert_indent(void) {
  for (int i = 0; i < indentation; i++) rl.insert_text(" ");
  return 0;
}

static void recall(const char *entry) { rl.add_history(entry); }

static bool was_pressed(void) { return pressed; }

/* Readline catches no signals itself (rl_catch_signals), or its handlers would
 * replace ours.  Bracketed paste keeps a pasted text of several lines from
 * being submitted line by line. */
void line_init(const Repl *r) {
  static bool ready;
  repl = r;
  if (ready && loaded) edit_for(r);
  if (!r->tty || ready) return;
  ready = true;
  loaded = readline_load();
  if (!loaded) return;
  *rl.catch_signals = 0;
  *rl.readline_name = "rly";
  *rl.getc_function = read_key;
  *rl.startup_hook = insert_indent;
  *rl.attempted_completion_function = complete;
  *rl.completion_word_break_hook = break_characters;
  rl.variable_bind("enable-bracketed-paste", "on");
  edits_entries = isatty(STDOUT_FILENO) && edit_init(r, was_pressed);
  history_load(recall);
}

bool line_edits_entries(void) { return edits_entries; }

static void on_resize(int signal) {
  (void)signal;
  resized = 1;
}

/* After Ctrl-Z, when the user comes back by `fg`. */
static void on_continue(int signal) {
  (void)signal;
  continued = 1;
}

/* SIGINT, SIGWINCH and SIGCONT are blocked from here on and open in read_key()
 * only. */
static char *edited(const char *prompt, bool whole) {
  sigset_t signals, before;
  struct sigaction mine = {.sa_handler = on_resize}, theirs;
  struct sigaction again = {.sa_handler = on_continue}, others;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGWINCH);
  sigaddset(&signals, SIGCONT);
  sigprocmask(SIG_BLOCK, &signals, &before);
  sigaction(SIGWINCH, &mine, &theirs);
  sigaction(SIGCONT, &again, &others);
  char *line = edits_entries ? edit_read(prompt, whole) : rl.line(prompt);
  sigaction(SIGCONT, &others, NULL);
  sigaction(SIGWINCH, &theirs, NULL);
  sigprocmask(SIG_SETMASK, &before, NULL);
  if (pressed) edit_drop_paste();
  return line;
}

static char *read_text(const char *prompt, int indent, bool whole) {
  indentation = indent;
  bool edits = loaded && isatty(STDIN_FILENO);
  return edits ? edited(prompt, whole) : plain_line(prompt);
}

/* An entry equal to the previous one is not added to the history again. */
void line_remember(const char *entry) {
  if (!loaded) return;
  HIST_ENTRY *last = rl.history_get(*rl.history_base + *rl.history_length - 1);
  if (last && !strcmp(last->line, entry)) return;
  rl.add_history(entry);
  history_append(entry);
}

#else

void line_init(const Repl *r) { (void)r; }

bool line_edits_entries(void) { return false; }

static char *read_text(const char *prompt, int indent, bool whole) {
  (void)indent, (void)whole;
  return plain_line(prompt);
}

void line_remember(const char *entry) { (void)entry; }

#endif

static pthread_t reader; /* the thread that reads keys */

/* While the reader looks elsewhere it blocks SIGINT, and the signal may come to
 * a thread that OpenMP keeps.  From there it is passed on, to stay pending
 * until the reader waits for a key; only the reader sets the flag, or a signal
 * passed on late would end the next line, too.  pthread_kill() may be called in
 * a handler. */
static void on_press(int signal) {
  if (pthread_equal(pthread_self(), reader)) pressed = 1;
  else pthread_kill(reader, signal);
}

/* The command's own handler is put back afterwards: while a program runs,
 * Ctrl-C is host.c's.  A press that came too late to end the line is passed on
 * to it. */
static char *read_until_pressed(const char *prompt, int indent, bool whole,
                                bool *interrupted) {
  struct sigaction mine = {.sa_handler = on_press}, before;
  pager_stop();
  reader = pthread_self();
  sigaction(SIGINT, &mine, &before);
  pressed = 0;
  given_up = false;
  char *line = read_text(prompt, indent, whole);
  sigaction(SIGINT, &before, NULL);
  if (pressed && !given_up) raise(SIGINT);
  *interrupted = given_up;
  return line;
}

char *line_read(const char *prompt, int indent, bool *interrupted) {
  return read_until_pressed(prompt, indent, false, interrupted);
}

char *line_read_entry(const char *prompt, bool *interrupted) {
  return read_until_pressed(prompt, 0, true, interrupted);
}
