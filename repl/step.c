/* rly step, and :step at the prompt: commands, a table row and a function each,
 * that move a stepper and show the step it reaches.
 *
 * A stepper (stepper/) evaluates by the rules of the small-step machine and
 * remembers its last states, so one can go back.  At the prompt it works on
 * copies of the session's values; step_leave() says what becomes of the
 * session.
 *
 * Commands come from one of four places, in this order:
 *
 *   --html FILE               none: all steps go to the page
 *   a terminal                the prompt `step>`
 *   a pipe with commands      lines of stdin, as if they were typed
 *   a pipe without            none: the first --steps steps are shown
 *
 * The limit of time (--timeout) begins anew with each command: what counts is
 * how long the machine works, not how long the user thinks. */
#include "repl/step.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/inside.h"
#include "repl/line.h"
#include "repl/repl.h"
#include "repl/abbrev.h"

enum { STEPS_SHOWN = 1000 };

/* Lives on the stack of step_through(), which frees what it owns: the stepper
 * and the view in `show`.  `deadline` is a thread that runs while a limit is in
 * force. */
typedef struct Walk {
  Host *host;
  Stepper *stepper;
  StepShow show;
  double until; /* 0: for ever */
  Deadline deadline;
  bool written;  /* whether the page was written */
  StepStop last; /* why the last forward move ended */
  bool quit;
} Walk;

/* --- Time --------------------------------------------------------------- */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool time_is_up(const Walk *w) {
  return w->until > 0 && now() > w->until;
}

static bool asked_to_stop(void *walk) {
  return host_was_interrupted() || time_is_up(walk);
}

/* A kernel under way cannot ask how late it is: it is told. */
static void time_is_over(void *machine) { step_give_up(machine); }

/* The deadline of the command before is ended first; a deadline that was never
 * started is zeros, which deadline_end() accepts. */
static void begin_time(Walk *w) {
  double timeout = w->host->cli->limits.timeout;
  StepMachine *m = stepper_machine(w->stepper);
  deadline_end(&w->deadline);
  step_begin_time(m, timeout);
  w->until = timeout > 0 ? now() + timeout : 0;
  deadline_start(&w->deadline, timeout, time_is_over, m);
}

/* --- Moves -------------------------------------------------------------- */

/* Reports why a move was stopped: an interrupt or the time limit. */
static StepStop stopped(Walk *w, StepStop stop) {
  unsigned long long steps = stepper_number(w->stepper);
  if (stop != STOP_ASKED) return stop;
  if (!time_is_up(w)) {
    step_say(&w->show, "stopped after %llu steps: interrupted", steps);
    return stop;
  }
  step_say(&w->show,
           "stopped after %llu steps: E0703: the time limit of %g "
           "s was reached",
           steps, w->host->cli->limits.timeout);
  w->host->said = true;
  return STOP_LIMIT;
}

static bool goes_on(StepStop stop) {
  return stop == STOP_STEP || stop == STOP_VALUE;
}

/* Makes up to `count` moves, until one is stopped. */
static void move(Walk *w, StepMove kind, uint64_t count) {
  StepStop stop = STOP_STEP;
  begin_time(w);
  for (uint64_t i = 0; i < count && goes_on(stop); i++) {
    stop = stepper_move(w->stepper, kind);
    step_show_stop(&w->show, stop);
    stop = stopped(w, stop);
    if (mem_exhausted(w->host->program->mem)) stop = STOP_LIMIT;
  }
  w->last = stop;
}

/* Reads the number in `rest`; an empty text means 1. */
static uint64_t count_in(const char *rest) {
  uint64_t n;
  return *rest && read_count(rest, &n) && n ? n : 1;
}

static void run_step(Walk *w, const char *rest) {
  move(w, MOVE_STEP, count_in(rest));
}
static void run_back(Walk *w, const char *rest) {
  move(w, MOVE_BACK, count_in(rest));
}
static void run_over(Walk *w, const char *rest) {
  (void)rest;
  move(w, MOVE_OVER, 1);
}
static void run_out(Walk *w, const char *rest) {
  (void)rest;
  move(w, MOVE_OUT, 1);
}

/* Runs on through the values of all items. */
static void run_run(Walk *w, const char *rest) {
  (void)rest;
  do move(w, MOVE_RUN, 1);
  while (w->last == STOP_VALUE);
}

/* --- Breakpoints and folding -------------------------------------------- */

static void list_breaks(Walk *w) {
  const char *text;
  size_t n = 1;
  for (; (text = stepper_break_text(w->stepper, n)); n++)
    step_say(&w->show, "%zu  %s", n, text);
  if (n == 1) step_say(&w->show, "there are no breakpoints");
}

/* The text is kept by the stepper and shown as it was written. */
static void run_break(Walk *w, const char *rest) {
  if (!*rest) {
    list_breaks(w);
  } else if (!stepper_break(w->stepper, rest)) {
    step_say(&w->show, "`%s` is no %%name, @name, operator, (shape) or nan",
             rest);
  }
}

static void run_delete(Walk *w, const char *rest) {
  uint64_t n;
  if (read_count(rest, &n) && stepper_break_text(w->stepper, n))
    stepper_break_remove(w->stepper, n);
  else step_say(&w->show, "there is no breakpoint `%s`", rest);
}

static void list_folds(Walk *w) {
  for (StepFold kind = 0; kind < FOLD_COUNT; kind++) {
    step_say(&w->show, "%-11s %s  %s", step_fold_info[kind].name,
             stepper_folds(w->stepper, kind) ? "folded" : "shown ",
             step_fold_info[kind].help);
  }
}

/* Folds or unfolds the kinds in `words`, separated by blanks or
 * commas.  Returns false if one is unknown. */
static bool set_folds(Walk *w, const char *rest, bool on) {
  char words[256], *at = words;
  bool known = true;
  snprintf(words, sizeof words, "%s", rest);
  for (char *word; (word = strsep(&at, " ,"));)
    if (*word) known &= stepper_fold(w->stepper, word, on);
  return known;
}

static void change_folds(Walk *w, const char *rest, bool on) {
  if (!set_folds(w, rest, on))
    step_say(&w->show, "nothing is folded as `%s`; `fold` lists what is", rest);
}

static void run_fold(Walk *w, const char *rest) {
  if (*rest) change_folds(w, rest, true);
  else list_folds(w);
}

static void run_unfold(Walk *w, const char *rest) {
  change_folds(w, *rest ? rest : "all", false);
}

/* --- Looking ------------------------------------------------------------ */

static void run_show(Walk *w, const char *rest) {
  (void)rest;
  step_show_whole(&w->show);
}

static void run_cells(Walk *w, const char *rest) {
  (void)rest;
  step_show_cells(&w->show);
}

static void run_quit(Walk *w, const char *rest) {
  (void)rest;
  w->quit = true;
}

static void run_help(Walk *w, const char *rest);

/* --- Commands ----------------------------------------------------------- */

typedef struct StepCommand {
  const char *name;
  char letter; /* a second name of one letter; 0: none */
  const char *args;
  void (*run)(Walk *w, const char *rest);
  const char *help;
} StepCommand;

static const StepCommand table[] = {
    {"step", 's', "[N]", run_step, "the next step, or N (Enter alone, too)"},
    {"over", 'o', "", run_over, "to where what is marked has its value"},
    {"out", 0, "", run_out, "to where the function has its value"},
    {"back", 'b', "[N]", run_back, "the step before, or N"},
    {"run", 'r', "", run_run, "to a breakpoint, or the end"},
    {"break", 0, "[WHERE]", run_break,
     "stop at %name, @name, an operator, (2, 3), nan; or list them"},
    {"delete", 'd', "N", run_delete, "take a breakpoint away"},
    {"fold", 0, "[KINDS]", run_fold,
     "pass steps over, and count them; or list"},
    {"unfold", 0, "[KINDS]", run_unfold, "show them again"},
    {"show", 0, "", run_show, "this step, with all of its text"},
    {"cells", 'c', "", run_cells, "the cells and what they hold"},
    {"help", 'h', "", run_help, "this list"},
    {"quit", 'q', "", run_quit, "leave"},
};
enum { TABLE_COUNT = sizeof table / sizeof *table };

static void run_help(Walk *w, const char *rest) {
  (void)rest;
  for (int i = 0; i < TABLE_COUNT; i++) {
    char left[32], letter[] = {table[i].letter, '\0'};
    snprintf(left, sizeof left, "%s %s", table[i].name, table[i].args);
    step_say(&w->show, "%-16s%-3s%s", left, letter, table[i].help);
  }
}

static CommandName name_at(int i) {
  return (CommandName){table[i].name, table[i].letter};
}

/* Blanks around the line do not count.  An empty line is one step more, so that
 * Enter alone walks on. */
static void command(Walk *w, char *line) {
  line += strspn(line, " \t");
  for (size_t n = strlen(line); n && strchr(" \t\r\n", line[n - 1]);)
    line[--n] = '\0';
  size_t n = strcspn(line, " \t");
  const char *rest = line + n + strspn(line + n, " \t");
  if (!n) {
    run_step(w, "");
    return;
  }
  char *why;
  int at =
      command_find((CommandNames){"", TABLE_COUNT, name_at}, line, n, &why);
  if (at >= 0) table[at].run(w, rest);
  else step_say(&w->show, "%s", why ? why : "out of memory");
  free(why);
}

/* --- Where commands come from ------------------------------------------- */

static uint64_t steps_most(const Walk *w) {
  return w->host->cli->steps ? w->host->cli->steps : STEPS_SHOWN;
}

/* Shows every step up to a maximum and says why the steps end. */
static void all_steps(Walk *w) {
  begin_time(w);
  for (uint64_t n = steps_most(w);
       n-- > 0 && goes_on(w->last) && !stepper_ended(w->stepper);) {
    w->last = stepper_move(w->stepper, MOVE_STEP);
    step_show_stop(&w->show, w->last);
    if (goes_on(w->last) && asked_to_stop(w)) w->last = STOP_ASKED;
    w->last = stopped(w, w->last);
  }
  if (goes_on(w->last) && !stepper_ended(w->stepper)) {
    step_say(&w->show, "stopped after %llu steps; --steps N shows more",
             (unsigned long long)stepper_number(w->stepper));
  }
}

/* Says why a page has no more steps. */
static void add_end(Walk *w, StrBuf *out) {
  unsigned long long steps = stepper_number(w->stepper);
  const StepFault *fault = step_fault(stepper_machine(w->stepper));
  if (!stepper_ended(w->stepper)) {
    strbuf_addf(out, "Stopped after %llu steps; --steps N shows more.", steps);
  } else if (fault->message) {
    strbuf_addf(out, "Stopped by %s, after %llu steps: %s.",
                diag_code_text(fault->code), steps, fault->message);
  } else {
    strbuf_addf(out, "The end, after %llu steps.", steps);
  }
}

/* Writes all steps as a page.  Breakpoints do not apply. */
static void page(Walk *w) {
  rly_program *p = w->host->program;
  const Cli *cli = w->host->cli;
  StrBuf out, why;
  strbuf_init(&out, p->ir->mem);
  strbuf_init(&why, p->ir->mem);
  stepper_page_begin(&out, cli->eval ? cli->eval : cli->words.items[0]);
  begin_time(w);
  for (uint64_t n = steps_most(w);
       n-- > 0 && !stepper_ended(w->stepper) && !asked_to_stop(w);) {
    w->last = stepper_move(w->stepper, MOVE_STEP);
    if (w->last != STOP_END && w->last != STOP_LIMIT)
      stepper_page_step(w->stepper, &out);
  }
  add_end(w, &why);
  stepper_page_end(&out, strbuf_text(&why));
  step_say(&w->show, "%s", strbuf_text(&why));
  w->written = !mem_exhausted(p->mem) && file_replace(p->cx, cli->html, &out);
  strbuf_done(&out);
  strbuf_done(&why);
}

static void from_terminal(Walk *w) {
  move(w, MOVE_STEP, 1);
  while (!w->quit && !w->host->write_error) {
    bool interrupted;
    char *line = line_read("step> ", 0, &interrupted);
    if (!line) break;
    if (!interrupted) command(w, line);
    free(line);
  }
}

/* Returns false if there are none. */
static bool from_pipe(Walk *w) {
  char *line = NULL;
  size_t cap = 0;
  bool any = false;
  while (!w->quit && !w->host->write_error && getline(&line, &cap, stdin) > 0) {
    if (!any) move(w, MOVE_STEP, 1);
    any = true;
    command(w, line);
  }
  free(line);
  return any;
}

/* A fault that the user walked back from is no failure: how the last move ended
 * is what counts. */
static int status_of(const Walk *w) {
  StepMachine *m = stepper_machine(w->stepper);
  if (w->host->cli->html && !w->written) return 2;
  if (w->last == STOP_LIMIT) return 3;
  if (w->last == STOP_ASKED) return 130;
  bool failed =
      w->last == STOP_ERROR || (w->last == STOP_END && step_fault(m)->message);
  return failed ? 2 : 0;
}

/* Returns false after reporting. */
static bool take_flags(Walk *w, const Cli *cli) {
  if (cli->fold && !set_folds(w, cli->fold, true)) {
    host_usage(w->host,
               "nothing is folded as `%s`: names, arithmetic, lets, "
               "library and all are",
               cli->fold);
    return false;
  }
  for (int i = 0; i < cli->breaks.count; i++) {
    if (stepper_break(w->stepper, cli->breaks.items[i])) continue;
    host_usage(w->host, "`%s` is no %%name, @name, operator, (shape) or nan",
               cli->breaks.items[i]);
    return false;
  }
  return true;
}

static bool prepare(Walk *w, const rly_function *entry, rly_session *s) {
  const Cli *cli = w->host->cli;
  host_was_interrupted(); /* earlier interrupts do not count */
  w->stepper = session_stepper(s);
  if (!w->stepper) return false;
  stepper_when_to_stop(w->stepper, asked_to_stop, w);
  step_show_init(&w->show, w->host, w->stepper);
  return take_flags(w, cli) &&
         (!entry || session_step_call(s, w->stepper, entry));
}

/* `piped` is true for rly step and false for :step, whose stdin is the
 * prompt's: there further lines are entries, not commands of the stepper. */
int step_through(Host *h, rly_session *s, const rly_function *entry,
                 bool piped) {
  Walk w = {.host = h};
  int status = 1;
  if (prepare(&w, entry, s)) {
    if (piped && h->cli->html) page(&w);
    else if (isatty(STDIN_FILENO)) from_terminal(&w);
    else if (!piped || !from_pipe(&w)) all_steps(&w);
    status = status_of(&w);
  }
  deadline_end(&w.deadline);
  if (w.stepper) step_show_done(&w.show);
  stepper_free(w.stepper);
  if (mem_exhausted(h->program->mem)) return host_out_of_memory(h);
  return session_failed(s, RLY_OK) == RLY_OK ? status : 3;
}

/* --- :step --------------------------------------------------------------- */

/* Adds items as the next to be evaluated.  Returns false after reporting. */
bool step_add(Repl *r, const char *items) {
  rly_program *p = r->host->program;
  rly_status status =
      rly_program_add_text(p, "<step>", items, strlen(items), 0);
  r->host->printed = 0;
  host_report(r->host);
  return status == RLY_OK;
}

/* Definitions need no evaluation; expressions leave nothing behind that a later
 * entry could name. */
static bool has_lets(const rly_program *p) {
  for (const Unit *u = p->newest; u; u = u->next) {
    for (int i = 0; i < u->step_count; i++)
      if (u->steps[i].kind == STEP_LET) return true;
  }
  return false;
}

/* The stepper worked on copies, so the session evaluates items that define
 * names once more.  Output and errors were already shown and are not
 * repeated. */
void step_leave(Repl *r) {
  Host *h = r->host;
  host_report(h);
  h->known = h->printed;
  if (!has_lets(h->program)) rly_session_skip(r->session);
  else if (rly_session_run(r->session, NULL, NULL) != RLY_OK)
    rly_session_diagnostics_clear(r->session);
  h->known = 0;
  state_others_skip(r);
}

void step_run(Repl *r, const char *items) {
  if (!step_add(r, items)) return;
  step_through(r->host, r->session, NULL, false);
  step_leave(r);
}

/* --- rly step ----------------------------------------------------------- */

/* line_init() gets a prompt without entries, for readline's completion looks at
 * one. */
static int step_program(Host *h) {
  const rly_function *entry = NULL;
  int args, status = 1;
  if (!h->cli->eval && !h->cli->words.count)
    return host_usage(h, "step needs a file, or -e ITEMS");
  rly_status added = host_add_program(h, &args);
  if (added == RLY_OK && !host_find_entry(h, &entry)) added = RLY_REFUSED;
  if (added == RLY_OK) added = host_bind(h, args, entry);
  if (added != RLY_OK) status = exit_status(added);
  rly_session *s = added == RLY_OK ? host_session(h, false) : NULL;
  host_report(h);
  if (!s) return status;
  line_init(&(Repl){.host = h, .session = s, .tty = isatty(STDIN_FILENO)});
  status = step_through(h, s, entry, true);
  host_session_free(h, s);
  return status;
}

int command_step(const Cli *cli) { return host_run(cli, step_program); }
