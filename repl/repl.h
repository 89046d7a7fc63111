/* The prompt's state, shared with its commands. */
#ifndef REPL_REPL_H
#define REPL_REPL_H

#include "repl/cli.h"
#include "repl/display.h"
#include "repl/frames.h"
#include "repl/settings.h"

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

/* What is shown again when it changes. */
typedef struct Watch {
  char *words;
  char *shown;   /* the text shown last; NULL: none */
  uint64_t hash; /* of what it depended on then */
} Watch;

enum { FORKS_MAX = 16, KEPT_MAX = 64, BREAKS_MAX = 64, WATCHES_MAX = 16 };

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
  Settings settings;
  bool tty, quit;
  bool fine;                 /* the last entry was evaluated to its end */
  struct Lesson *lesson;     /* of `rly learn`; or NULL */
  Frames frames;             /* where a run-time error stopped */
  const struct Unit *failed; /* the last entry, if it ended with one */
  rly_session *before;       /* the session as it was, if that changes cells */
  bool cells_gone;           /* it does, and there is no such copy */
  char *breaks[BREAKS_MAX];  /* :break */
  int break_count;
  Watch watches[WATCHES_MAX];
  int watch_count;
} Repl;

/* Evaluates the text added last and shows its values.  Returns false after
 * reporting a failure; what is left of the text is not evaluated later. */
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
/* May a command touch "files", or set "other limits"?  --safe forbids it to
 * text that comes by a pipe.  False after reporting. */
bool repl_may(Repl *r, const char *command, const char *what);
/* Where a text that was refused begins with a command's name, without its
 * colon: says how the command is written. */
void repl_hint_command(const Repl *r, const char *text);
/* Gives every command's name, with its colon. */
void repl_each_command(const Repl *r,
                       void (*visit)(void *data, const char *name), void *data);

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
/* Lists the entries by their numbers. */
void transcript_list(Repl *r, const char *rest);

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

/* --- params.c: values for params ---------------------------------------- */

void params_run_one(Repl *r, const char *rest);
void params_run_file(Repl *r, const char *path);
/* The length of the path in `PATH NAME=VALUE ...`. */
size_t params_behind(const char *rest);
/* Binds the words of such a text; false after reporting. */
bool params_bind_words(Repl *r, const char *words);

/* --- step.c ------------------------------------------------------------- */

void step_run(Repl *r, const char *items);
/* Before and after items are evaluated by a stepper. */
bool step_add(Repl *r, const char *items);
void step_leave(Repl *r, bool ended);
/* :break and :delete, breakpoints of entries to come. */
void step_run_break(Repl *r, const char *where);
void step_run_delete(Repl *r, const char *rest);
/* With breakpoints, steps through the newest text before it is evaluated; it
 * stops where one is met.  False: it is not to be evaluated. */
bool step_breaks(Repl *r);
void step_breaks_clear(Repl *r);
/* dbg.c */
void dbg_run(Repl *r, const char *items);

/* --- frames.c: functions under way at an error ---------------------------- */

void frames_run_where(Repl *r, const char *rest);
void frames_run_up(Repl *r, const char *rest);
void frames_run_down(Repl *r, const char *rest);
void frames_run_leave(Repl *r, const char *rest);
/* Before the newest text is evaluated, and after it failed. */
void frames_prepare(Repl *r);
void frames_failed(Repl *r);
void frames_forget(Repl *r);
/* Takes an expression while something is stopped; false: it is none, or
 * nothing is. */
bool frames_take(Repl *r, const char *text);

/* --- cost.c: what evaluating something would amount to ------------------ */

void cost_run(Repl *r, const char *expr);

/* --- plot.c: numbers as drawings ------------------------------------------ */

void plot_run_plot(Repl *r, const char *words);
void plot_run_heat(Repl *r, const char *words);
void plot_run_hist(Repl *r, const char *words);
/* What the command (`plot`, `heat` or `hist`) would draw in the terminal; false
 * after reporting. */
bool plot_text(Repl *r, const char *command, const char *words, StrBuf *out);
/* Is it one of these? */
bool plot_draws(const char *command);

/* --- watch.c: what is shown again when it changes ------------------------- */

void watch_run(Repl *r, const char *words);
void watch_run_stop(Repl *r, const char *rest);
/* After each entry and each command. */
void watch_look(Repl *r);
void watch_clear(Repl *r);

/* --- learn.c: lessons ----------------------------------------------------- */

/* Shows where the lesson begins, or was left. */
void learn_begin(Repl *r);
/* Enter: what comes next in it. */
void learn_go_on(Repl *r);
/* After each entry: is that what was asked for? */
void learn_look(Repl *r);
/* The text of a file that the lessons load; NULL: it is none of them. */
const char *learn_file(const Repl *r, const char *path);
void learn_hint(Repl *r, const char *rest);
void learn_solution(Repl *r, const char *rest);
void learn_skip(Repl *r, const char *rest);
void learn_back(Repl *r, const char *rest);

/* --- doc.c: what is written about a name -------------------------------- */

void doc_run(Repl *r, const char *name);
void doc_source(Repl *r, const char *name);
void doc_names(Repl *r, const char *pattern);
void doc_explain(Repl *r, const char *code);

/* --- find.c: functions by type ------------------------------------------- */

void find_run(Repl *r, const char *type);

/* --- opt_prompt.c: passes ----------------------------------------------- */

void opt_run_prompt(Repl *r, const char *rest);

/* --- inspect.c: what a name stands for ---------------------------------- */

void inspect_type(Repl *r, const char *expr);
void inspect_kind(Repl *r, const char *type);
void inspect_effects(Repl *r, const char *expr);

void inspect_info(Repl *r, const char *name);
void inspect_bytecode(Repl *r, const char *name);
void inspect_apropos(Repl *r, const char *word);

#endif
