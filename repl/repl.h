/* The prompt's state, shared with its commands. */
#ifndef REPL_REPL_H
#define REPL_REPL_H

#include "repl/cli.h"
#include "repl/display.h"

/* The lines typed so far of the current entry. */
typedef struct Entry {
  char *text;
  size_t len;
  int number;
} Entry;

/* An accepted entry or a loaded file. */
typedef struct Said {
  const struct Unit *unit;
  char *file; /* its path; NULL: an entry */
} Said;

/* A session with its name; the first is called `main`. */
typedef struct Fork {
  char *name;
  rly_session *session;
} Fork;

/* A snapshot of a session's cells with its name. */
typedef struct Kept {
  char *name;
  rly_session *session;
  rly_snapshot *snapshot;
} Kept;

enum { FORKS_MAX = 16, KEPT_MAX = 64 };

typedef struct Repl {
  Host *host;
  rly_session *session; /* forks[current] */
  Fork forks[FORKS_MAX];
  Kept kept[KEPT_MAX];
  int fork_count, current, kept_count;
  Entry entry;
  Said *said; /* entries and files, for :save */
  size_t said_count;
  char *last;   /* the last entry, right or wrong, for :edit; or NULL */
  char *loaded; /* the file that :reload loads again; or NULL */
  const char
      *startup; /* the start-up file while it is being read; otherwise NULL */
  int line;     /* the line of it, from 0, on which the entry begins */
  bool tty, quit;
} Repl;

/* Evaluates the text added last and shows its values.  Returns false after
 * reporting a failure. */
bool repl_evaluate(Repl *r);
/* Adds a complete text and evaluates it. */
bool repl_submit(Repl *r, const char *text);
/* The value of an expression, owned; NULL after reporting.  It is not an entry:
 * %it and the transcript do not see it. */
rly_value *repl_value(Repl *r, const char *text);
/* How values are shown on stdout now. */
Display repl_display(const Repl *r);
/* Runs a command line, without its colon. */
void repl_command(Repl *r, const char *line);
/* Gives every command's name, with its colon. */
void repl_each_command(void (*visit)(void *data, const char *name), void *data);

/* Prints to stdout, and to stderr after `:NAME: `. */
void repl_say(Repl *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void repl_refuse(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* --- transcript.c: what was entered ------------------------------------- */

/* Remember the newest text as an entry, or as a file, once. */
void transcript_add(Repl *r);
void transcript_add_file(Repl *r, const char *path);
/* Writes a file that was not there, which does the same as what was entered;
 * false, with errno: it cannot be written. */
bool transcript_save(Repl *r, const char *path);
void transcript_clear(Repl *r);

/* --- state.c: what the session remembers -------------------------------- */

void state_run_list(Repl *r, const char *path);
void state_run_set(Repl *r, const char *rest);
void state_run_snapshot(Repl *r, const char *name);
void state_run_restore(Repl *r, const char *name);
void state_run_fork(Repl *r, const char *name);
void state_run_reset(Repl *r, const char *rest);
/* Leaves what was just evaluated out of the sessions that are not at work. */
void state_others_skip(Repl *r);
/* The prompt's sessions, of which `s` is the first; the others go. */
bool state_begin(Repl *r, rly_session *s);
void state_end(Repl *r);

/* --- measure.c: what something costs ------------------------------------ */

void measure_time(Repl *r, const char *items);
void measure_bench(Repl *r, const char *expr);
void measure_profile(Repl *r, const char *items);
void measure_limit(Repl *r, const char *rest);

/* --- step.c ------------------------------------------------------------- */

void step_run(Repl *r, const char *items);
/* Before and after items are evaluated by a stepper. */
bool step_add(Repl *r, const char *items);
void step_leave(Repl *r);
/* dbg.c */
void dbg_run(Repl *r, const char *items);

/* --- cost.c: what evaluating something would amount to ------------------ */

void cost_run(Repl *r, const char *expr);

/* --- plot.c: vectors and matrices as drawings ---------------------------- */

void plot_run_plot(Repl *r, const char *words);
void plot_run_heat(Repl *r, const char *words);

/* --- inspect.c: what a name stands for ---------------------------------- */

void inspect_type(Repl *r, const char *expr);
void inspect_kind(Repl *r, const char *type);
void inspect_effects(Repl *r, const char *expr);

void inspect_info(Repl *r, const char *name);
void inspect_bytecode(Repl *r, const char *name);
void inspect_apropos(Repl *r, const char *word);

#endif
