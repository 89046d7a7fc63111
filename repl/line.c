/* Readline's shim.  `make READLINE=0` builds without it. */
#include "repl/line.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if RLY_READLINE
#include <readline/history.h>
#include <readline/readline.h>
#endif

static volatile sig_atomic_t pressed;

/* Without editing: from a file, a pipe, or in a build without readline. */
static char *plain_line(const char *prompt) {
  char *line = NULL;
  size_t cap = 0;
  if (isatty(STDIN_FILENO)) fputs(prompt, stdout);
  fflush(stdout);
  clearerr(stdin);  /* what Ctrl-C may have left */
  ssize_t n = getline(&line, &cap, stdin);
  if (n < 0) {
    free(line);
    return NULL;
  }
  if (n && line[n - 1] == '\n') line[n - 1] = '\0';
  return line;
}

#if RLY_READLINE

/* Ctrl-C while a line is typed: give up the line, not the program. */
static int give_up(void) {
  if (pressed) rl_done = 1;
  return 0;
}

void line_init(void) {
  rl_catch_signals = 0;
  rl_event_hook = give_up;
  rl_variable_bind("enable-bracketed-paste", "on");
}

static char *read_line(const char *prompt) {
  return isatty(STDIN_FILENO) ? readline(prompt) : plain_line(prompt);
}

void line_remember(const char *entry) { add_history(entry); }

#else

void line_init(void) {}

static char *read_line(const char *prompt) { return plain_line(prompt); }

void line_remember(const char *entry) { (void)entry; }

#endif

static void on_press(int signal) {
  (void)signal;
  pressed = 1;
}

char *line_read(const char *prompt, bool *interrupted) {
  struct sigaction mine = {.sa_handler = on_press}, before;
  sigaction(SIGINT, &mine, &before);
  pressed = 0;
  char *line = read_line(prompt);
  sigaction(SIGINT, &before, NULL);
  *interrupted = pressed;
  return line;
}
