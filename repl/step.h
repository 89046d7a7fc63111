/* The stepper at the command line and at the prompt. */
#ifndef REPL_STEP_H
#define REPL_STEP_H

#include "repl/cli.h"
#include "lib/inside.h"

/* How what is stepped through is shown. */
typedef struct StepShow {
  Host *host;
  Stepper *stepper;
  StepView view;
  size_t width; /* of the terminal; 0: there is none */
  bool json, colour;
  bool whole; /* very long lines are, too */
} StepShow;

void step_show_init(StepShow *w, Host *h, Stepper *s);
void step_show_done(StepShow *w);
/* Where a move has come to, what it passed, and why it stopped. */
void step_show_stop(StepShow *w, StepStop stop);
/* The step once more, with all of its text. */
void step_show_whole(StepShow *w);
/* Cells, one a line. */
void step_show_cells(StepShow *w);

/* `1 step` or `300 steps`, written to `text`. */
enum { STEPS_TEXT = 32 };
const char *steps_text(uint64_t count, char text[STEPS_TEXT]);

/* A line of JSON: {"KEY": "TEXT"}. */
void step_json_text(StrBuf *out, const char *key, const StrBuf *text);

/* A line about the steps themselves; a `note` in JSON. */
void step_say(StepShow *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* --- strategy.c ----------------------------------------------------------- */

/* That of --strategy; NULL after reporting. */
const StepStrategy *strategy_of(Host *h);
/* Says what the strategy does otherwise than the language. */
void strategy_compare(StepShow *show, rly_session *s, const rly_function *entry,
                      const StepStrategy *strategy, bool (*asked)(void *data),
                      void *data);

/* Steps through what the session has still to evaluate and, after it, the call
 * of `entry` or NULL.  Commands come from the terminal; with `piped`, from
 * stdin, too.  Gives the exit status. */
int step_through(Host *h, rly_session *s, const rly_function *entry,
                 bool piped);

#endif
