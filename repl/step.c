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
#include <unistd.h>

#include "lib/inside.h"
#include "repl/frames.h"
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
  Frames frames; /* what is looked at */
  double until;  /* 0: for ever */
  Deadline deadline;
  bool written;  /* whether the page was written */
  StepStop last; /* why the last forward move ended */
  bool quit;
  Repl *prompt; /* whose breakpoints these are; NULL: nobody's */
  const StepStrategy *strategy; /* NULL: the language's */
} Walk;

/* --- Time --------------------------------------------------------------- */

static bool time_is_up(const Walk *w) {
  return w->until > 0 && clock_seconds() > w->until;
}

static bool asked_to_stop(void *walk) {
  return host_was_interrupted() || time_is_up(walk);
}

/* A kernel under way cannot ask how late it is: it is told.  Between two steps
 * time_is_up() is asked; within a step only another thread can tell the
 * kernel. */
static void time_is_over(void *machine) { step_give_up(machine); }

/* The deadline of the command before is ended first; a deadline that was never
 * started is zeros, which deadline_end() accepts. */
static void begin_time(Walk *w) {
  double timeout = w->host->cli->limits.timeout;
  StepMachine *m = stepper_machine(w->stepper);
  deadline_end(&w->deadline);
  step_begin_time(m, timeout);
  w->until = timeout > 0 ? clock_seconds() + timeout : 0;
  deadline_start(&w->deadline, timeout, time_is_over, m);
}

/* --- Moves -------------------------------------------------------------- */

/* Reports why a move was stopped: an interrupt or the time limit.  STOP_ASKED
 * means that asked_to_stop() was true, for one reason or the other.  The clock
 * decides which: when the time is over as well, the limit is what is reported,
 * as it gives the exit status. */
static StepStop stopped(Walk *w, StepStop stop) {
  char steps[STEPS_TEXT];
  if (stop != STOP_ASKED) return stop;
  steps_text(stepper_number(w->stepper), steps);
  if (!time_is_up(w)) {
    step_say(&w->show, "stopped after %s: interrupted", steps);
    return stop;
  }
  step_say(&w->show, "stopped after %s: E0703: time limit of %g s reached",
           steps, w->host->cli->limits.timeout);
  w->host->said = true;
  return STOP_LIMIT;
}

static bool goes_on(StepStop stop) {
  return stop == STOP_STEP || stop == STOP_VALUE;
}

/* Makes up to `count` moves, until one is stopped.  Each of the `count` moves
 * is shown, as if the command had been given so often. */
static void move(Walk *w, StepMove kind, uint64_t count) {
  StepStop stop = STOP_STEP;
  w->frames.level = 0;
  begin_time(w);
  for (uint64_t i = 0; i < count && goes_on(stop); i++) {
    stop = stepper_move(w->stepper, kind);
    step_show_stop(&w->show, stop);
    stop = stopped(w, stop);
    if (mem_exhausted(w->host->program->mem)) stop = STOP_LIMIT;
  }
  w->last = stop;
}

/* As many moves as `rest` says; an empty text means 1. */
static void move_by(Walk *w, StepMove kind, const char *rest) {
  uint64_t n = 1;
  if (*rest && !(read_count(rest, &n) && n))
    step_say(&w->show, "`%s` is no number of steps", rest);
  else move(w, kind, n);
}

static void run_step(Walk *w, const char *rest) { move_by(w, MOVE_STEP, rest); }
static void run_back(Walk *w, const char *rest) { move_by(w, MOVE_BACK, rest); }
static void run_over(Walk *w, const char *rest) {
  (void)rest;
  move(w, MOVE_OVER, 1);
}
static void run_out(Walk *w, const char *rest) {
  (void)rest;
  move(w, MOVE_OUT, 1);
}

/* Runs on through the values of all items.  A value ends an item, not the
 * program. */
static void run_run(Walk *w, const char *rest) {
  (void)rest;
  do move(w, MOVE_RUN, 1);
  while (w->last == STOP_VALUE);
}

/* To the step of that number, back or forth. */
static void run_goto(Walk *w, const char *rest) {
  uint64_t n, at = stepper_number(w->stepper);
  if (!read_count(rest, &n) || !n) {
    step_say(&w->show, "`%s` is no number of a step", rest);
    return;
  }
  StepStop stop = STOP_STEP;
  bool back = n < at;
  w->frames.level = 0;
  begin_time(w);
  while (goes_on(stop) && (back ? stepper_number(w->stepper) > n
                                : stepper_number(w->stepper) < n)) {
    stop = stopped(w, stepper_move(w->stepper, back ? MOVE_BACK : MOVE_STEP));
    if (mem_exhausted(w->host->program->mem)) stop = STOP_LIMIT;
  }
  step_show_stop(&w->show, stop);
  w->last = stop;
}

/* --- Breakpoints and folding -------------------------------------------- */

/* The function of a breakpoint at one that is defined nowhere; "": it is. */
enum { BREAK_NAME = 256 };
static const char *break_lacks(Host *h, const char *where,
                               char name[BREAK_NAME]) {
  snprintf(name, BREAK_NAME, "%.*s", (int)strcspn(where, " "), where);
  if (*name != '@' || program_definition(h->program, name, NULL)) *name = '\0';
  return name;
}

static void list_breaks(Walk *w) {
  const char *text;
  size_t n = 1;
  for (; (text = stepper_break_text(w->stepper, n)); n++)
    step_say(&w->show, "%zu  %s", n, text);
  if (n == 1) step_say(&w->show, "there are no breakpoints");
}

/* Has the breakpoint no condition, or one that may be a bool?  False after
 * reporting. */
static bool condition_fits(Host *h, rly_session *s, const char *where) {
  const char *condition = stepper_condition(where);
  bool fits = !condition || session_step_condition(s, condition);
  host_report(h);
  return fits;
}

/* The text is kept by the stepper and shown as it was written. */
static void run_break(Walk *w, const char *rest) {
  char name[BREAK_NAME];
  if (!*rest) {
    list_breaks(w);
  } else if (*break_lacks(w->host, rest, name)) {
    step_say(&w->show, "there is no `%s`", name);
  } else if (condition_fits(w->host, w->frames.session, rest) &&
             !stepper_break(w->stepper, rest)) {
    step_say(&w->show,
             "`%s` is no %%name, @name, operator, (shape), nan or "
             "FILE:LINE",
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

/* Folds or unfolds the kinds in `words`, separated by blanks or commas.
 * Returns false if one is unknown.  Known kinds are set even where another is
 * unknown. */
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

/* --- Functions under way ------------------------------------------------ */

static bool looks(Walk *w) {
  bool stands = stepper_level_count(w->stepper) > 0;
  if (!stands) step_say(&w->show, "no function is under way");
  return stands;
}

static void run_where(Walk *w, const char *rest) {
  (void)rest;
  if (looks(w)) frames_where(&w->frames);
}

static void run_up(Walk *w, const char *rest) {
  (void)rest;
  if (looks(w)) frames_move(&w->frames, 1);
}

static void run_down(Walk *w, const char *rest) {
  (void)rest;
  if (looks(w)) frames_move(&w->frames, -1);
}

static void run_print(Walk *w, const char *rest) {
  if (looks(w)) frames_evaluate(&w->frames, rest);
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
    {"goto", 'g', "N", run_goto, "to the step of that number"},
    {"run", 'r', "", run_run, "to a breakpoint, or the end"},
    {"continue", 0, "", run_run, "the same, as debuggers call it"},
    {"break", 0, "[WHERE]", run_break,
     "stop at %x, @f, an operator, (2, 3), nan, FILE:LINE [if EXPR]"},
    {"delete", 'd', "N", run_delete, "take a breakpoint away"},
    {"fold", 0, "[KINDS]", run_fold,
     "pass steps over, and count them; or list"},
    {"unfold", 0, "[KINDS]", run_unfold, "show them again"},
    {"show", 0, "", run_show, "this step, with all of its text"},
    {"cells", 'c', "", run_cells, "the cells and what they hold"},
    {"where", 'w', "", run_where, "the functions under way"},
    {"up", 0, "", run_up, "look at the function that called it"},
    {"down", 0, "", run_down, "look at the one that it called"},
    {"print", 'p', "EXPR", run_print,
     "the value of an expression there; an expression alone, too"},
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

/* Blanks around the line do not count, and the `:` of the prompt's commands may
 * stand before a word here, too.  An empty line is one step more, so that Enter
 * alone walks on. */
static void command(Walk *w, char *line) {
  line += strspn(line, " \t");
  if (*line == ':') line++;
  for (size_t n = strlen(line); n && strchr(" \t\r\n", line[n - 1]);)
    line[--n] = '\0';
  size_t n = strcspn(line, " \t");
  const char *rest = line + n + strspn(line + n, " \t");
  if (!n) {
    run_step(w, "");
    return;
  }
  /* What does not begin with a word is an expression. */
  size_t word = strspn(line, "abcdefghijklmnopqrstuvwxyz");
  if (!word || (word < n && line[word] != ' ')) {
    run_print(w, line);
    return;
  }
  char *why;
  int at =
      command_find((CommandNames){"", TABLE_COUNT, name_at}, line, n, &why);
  const char *takes = at >= 0 ? command_misfit(table[at].args, rest) : NULL;
  if (takes) step_say(&w->show, "%s takes %s", table[at].name, takes);
  else if (at >= 0) table[at].run(w, rest);
  else step_say(&w->show, "%s", why ? why : "out of memory");
  free(why);
}

/* --- Where commands come from ------------------------------------------- */

static uint64_t steps_most(const Walk *w) {
  return w->host->cli->steps ? w->host->cli->steps : STEPS_SHOWN;
}

/* Shows every step up to a maximum and says why the steps end.  Used where
 * nobody can give commands.  Breakpoints stop it, like the end. */
static void all_steps(Walk *w) {
  begin_time(w);
  for (uint64_t n = steps_most(w);
       n-- > 0 && goes_on(w->last) && !stepper_ended(w->stepper);) {
    w->last = stepper_move(w->stepper, MOVE_STEP);
    step_show_stop(&w->show, w->last);
    if (goes_on(w->last) && asked_to_stop(w)) w->last = STOP_ASKED;
    w->last = stopped(w, w->last);
  }
  char steps[STEPS_TEXT];
  if (goes_on(w->last) && !stepper_ended(w->stepper))
    step_say(&w->show, "stopped after %s; --steps N shows more",
             steps_text(stepper_number(w->stepper), steps));
}

/* Says why a page has no more steps. */
static void add_end(Walk *w, StrBuf *out) {
  char steps[STEPS_TEXT];
  steps_text(stepper_number(w->stepper), steps);
  const StepFault *fault = step_fault(stepper_machine(w->stepper));
  if (!stepper_ended(w->stepper)) {
    strbuf_addf(out, "Stopped after %s; --steps N shows more.", steps);
  } else if (fault->message) {
    strbuf_addf(out, "Stopped by %s, after %s: %s.",
                diag_code_text(fault->code), steps, fault->message);
  } else {
    strbuf_addf(out, "The end, after %s.", steps);
  }
}

/* Writes all steps as a page.  Breakpoints do not apply.  Steps are added to
 * one text, which is written at the end by a rename; a limit of memory leaves
 * an older page as it was. */
static void page(Walk *w) {
  rly_program *p = w->host->program;
  const Cli *cli = w->host->cli;
  StepPage *page =
      stepper_page_new(w->stepper, cli->eval ? cli->eval : cli->words.items[0]);
  bool fits = page;
  char steps[STEPS_TEXT];
  StrBuf why;
  strbuf_init(&why, p->ir->mem);
  begin_time(w);
  for (uint64_t n = steps_most(w);
       fits && n-- > 0 && !stepper_ended(w->stepper) && !asked_to_stop(w);) {
    w->last = stepper_move(w->stepper, MOVE_STEP);
    if (w->last != STOP_END && w->last != STOP_LIMIT)
      fits = stepper_page_step(page);
  }
  if (fits) add_end(w, &why);
  else
    strbuf_addf(&why,
                "Stopped after %s, for a page must be readable: --fold KINDS "
                "leaves steps out.",
                steps_text(stepper_number(w->stepper), steps));
  const StrBuf *text =
      page ? stepper_page_end(page, strbuf_text(&why), w->host->versions)
           : NULL;
  step_say(&w->show, "%s", strbuf_text(&why));
  w->written =
      text && !mem_exhausted(p->mem) && file_replace(p->cx, cli->html, text);
  stepper_page_free(page);
  strbuf_done(&why);
}

/* `to_end`: up to the end of what is stepped through. */
static void take_commands(Walk *w, bool to_end) {
  while (!w->quit && !w->host->write_error &&
         !(to_end && stepper_ended(w->stepper))) {
    bool interrupted;
    host_listen(w->host);
    char *line = line_read("step> ", 0, &interrupted);
    if (!line) break;
    if (!interrupted) command(w, line);
    free(line);
  }
}

static void from_terminal(Walk *w) {
  if (!w->host->cli->fold) stepper_fold(w->stepper, "names", true);
  move(w, MOVE_STEP, 1);
  take_commands(w, false);
}

/* Returns false if there are none.  The first line is read before the first
 * step is shown, since a pipe without any line gets all_steps() instead. */
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
  if (w->host->cli->html && !w->written) return EXIT_RUNTIME;
  if (w->last == STOP_LIMIT) return EXIT_LIMIT;
  if (w->last == STOP_ASKED) return EXIT_INTERRUPTED;
  bool failed =
      w->last == STOP_ERROR || (w->last == STOP_END && step_fault(m)->message);
  return failed ? EXIT_RUNTIME : 0;
}

/* Flags that name something unknown are refused before the first step: returns
 * false after reporting. */
static bool take_flags(Walk *w, const Cli *cli) {
  if (cli->fold && !set_folds(w, cli->fold, true)) {
    host_usage(w->host,
               "nothing is folded as `%s`: names, arithmetic, lets, "
               "library and all are",
               cli->fold);
    return false;
  }
  char name[BREAK_NAME];
  for (int i = 0; i < cli->breaks.count; i++) {
    if (*break_lacks(w->host, cli->breaks.items[i], name)) {
      host_usage(w->host, "--break: there is no `%s`", name);
      return false;
    }
    if (!condition_fits(w->host, w->frames.session, cli->breaks.items[i]))
      return false;
    if (stepper_break(w->stepper, cli->breaks.items[i])) continue;
    host_usage(w->host,
               "`%s` is no %%name, @name, operator, (shape), nan or FILE:LINE",
               cli->breaks.items[i]);
    return false;
  }
  return true;
}

static void drop_break(Repl *r, int i) {
  free(r->breaks[i]);
  r->break_count--;
  memmove(r->breaks + i, r->breaks + i + 1,
          (size_t)(r->break_count - i) * sizeof *r->breaks);
}

/* Of a breakpoint.  One that cannot be judged stops; one whose condition turns
 * out to be no bool goes, with a message. */
static StepTruth condition_holds(void *walk, const char *where) {
  Walk *w = walk;
  const char *condition = stepper_condition(where);
  StrBuf why;
  strbuf_init(&why, w->host->program->ir->mem);
  StepTruth truth =
      session_step_holds(w->frames.session, w->stepper, condition, &why);
  host_report(w->host);
  if (why.len) step_say(&w->show, "%s: %s", condition, strbuf_text(&why));
  strbuf_done(&why);
  if (truth != STEP_NO_CONDITION) return truth;
  step_say(&w->show, "the breakpoint `%s` is taken away", where);
  for (int i = w->prompt ? w->prompt->break_count : 0; i-- > 0;)
    if (!strcmp(w->prompt->breaks[i], where)) drop_break(w->prompt, i);
  return truth;
}

/* RLY_OK, or why there is nothing to step through, after reporting. */
static rly_status prepare(Walk *w, const rly_function *entry, rly_session *s) {
  const Cli *cli = w->host->cli;
  rly_status status;
  w->stepper = session_stepper(s, &status);
  if (!w->stepper) return status;
  if (cli->strategy) {
    w->strategy = strategy_of(w->host);
    if (!w->strategy) return RLY_REFUSED;
    step_use_strategy(stepper_machine(w->stepper), w->strategy);
  }
  stepper_when_to_stop(w->stepper, asked_to_stop, w);
  stepper_when_it_holds(w->stepper, condition_holds, w);
  step_show_init(&w->show, w->host, w->stepper);
  w->frames = (Frames){w->host, s, w->stepper, 0};
  if (!take_flags(w, cli)) return RLY_REFUSED;
  return entry ? session_step_call(s, w->stepper, entry) : RLY_OK;
}

/* `piped` is true for rly step and false for :step, whose stdin is the
 * prompt's: there further lines are entries, not commands of the stepper. */
static int walk(Walk *w, rly_session *s, const rly_function *entry,
                bool piped) {
  Host *h = w->host;
  rly_status ready = prepare(w, entry, s);
  int status = exit_status(ready);
  if (ready == RLY_OK) {
    if (piped && h->cli->html) page(w);
    else if (isatty(STDIN_FILENO)) from_terminal(w);
    else if (!piped || !from_pipe(w)) all_steps(w);
    status = status_of(w);
  }
  if (ready == RLY_OK && w->strategy &&
      !step_strategy_is_abstract(w->strategy) && !h->cli->html) {
    begin_time(w);
    strategy_compare(&w->show, s, entry, w->strategy, asked_to_stop, w);
  }
  deadline_end(&w->deadline);
  if (w->stepper) step_show_done(&w->show);
  stepper_free(w->stepper);
  if (mem_exhausted(h->program->mem)) return host_out_of_memory(h);
  return session_failed(s, RLY_OK) == RLY_OK ? status : EXIT_LIMIT;
}

int step_through(Host *h, rly_session *s, const rly_function *entry,
                 bool piped) {
  return walk(&(Walk){.host = h}, s, entry, piped);
}

/* --- :step --------------------------------------------------------------- */

/* Adds items as the next to be evaluated.  Returns false after reporting.
 * `printed` counts from here what the stepper prints, see step_leave(). */
bool step_add(Repl *r, const char *items) {
  rly_program *p = r->host->program;
  rly_status status =
      rly_program_add_text(p, "<step>", items, strlen(items), RLY_RECHECK);
  r->host->printed = 0;
  host_report(r->host);
  return status == RLY_OK;
}

/* Expressions leave nothing behind that a later entry could name.  Units of the
 * library that they use follow theirs. */
static bool defines(const rly_program *p) {
  for (const Unit *u = p->newest; u; u = u->next)
    for (int i = 0; !u->source->library && i < u->item_count; i++)
      if (u->items[i].kind != ITEM_EXPR) return true;
  return false;
}

/* The stepper worked on copies.  Items that define something are an entry: the
 * session evaluates them once more, unless they were not seen to their end
 * (`ended`), which may never come.  Output and errors were already shown and
 * are not repeated: `known` tells the host to leave out as many bytes of output
 * as the stepper has printed. */
void step_leave(Repl *r, bool ended) {
  Host *h = r->host;
  bool entry = defines(h->program);
  host_report(h);
  h->known = h->printed;
  if (!entry || !ended) rly_session_skip(r->session);
  else if (rly_session_run(r->session, NULL, NULL) != RLY_OK)
    rly_session_diagnostics_clear(r->session);
  h->known = 0;
  state_others_skip(r);
  if (entry) transcript_add(r);
}

/* Were the items seen to their end?  Where nobody can give commands, the steps
 * that are shown are cut short, not the items. */
static bool was_ended(const Walk *w) {
  if (w->last == STOP_ASKED || w->last == STOP_LIMIT) return false;
  return !isatty(STDIN_FILENO) || w->last == STOP_END || w->last == STOP_ERROR;
}

void step_run(Repl *r, const char *items) {
  Walk w = {.host = r->host};
  if (!step_add(r, items)) return;
  walk(&w, r->session, NULL, false);
  step_leave(r, was_ended(&w));
}

/* --- Breakpoints of the prompt ------------------------------------------- */

/* Is it one?  A stepper over nothing reads it. */
static bool is_break(Repl *r, const char *where) {
  Stepper *st = session_stepper(r->session, NULL);
  bool ok = st && stepper_break(st, where);
  stepper_free(st);
  return ok;
}

void step_run_break(Repl *r, const char *where) {
  for (int i = 0; !*where && i < r->break_count; i++)
    repl_say(r, "%d  %s\n", i + 1, r->breaks[i]);
  if (!*where && !r->break_count) repl_say(r, "there are no breakpoints\n");
  if (!*where) return;
  if (!condition_fits(r->host, r->session, where)) return;
  char *text = strdup(where);
  if (!text || r->break_count == BREAKS_MAX || !is_break(r, where)) {
    repl_refuse("break",
                "`%s` is no %%name, @name, operator, (shape), nan or "
                "FILE:LINE, perhaps with `if EXPR`",
                where);
    free(text);
    return;
  }
  char name[BREAK_NAME];
  if (*break_lacks(r->host, where, name))
    repl_say(r, "there is no `%s` yet\n", name);
  r->breaks[r->break_count++] = text;
}

void step_run_delete(Repl *r, const char *rest) {
  uint64_t n;
  if (!read_count(rest, &n) || !n || n > (uint64_t)r->break_count) {
    repl_refuse("delete", "there is no breakpoint `%s`", rest);
    return;
  }
  drop_break(r, (int)n - 1);
}

void step_breaks_clear(Repl *r) {
  while (r->break_count) free(r->breaks[--r->break_count]);
}

/* Moves in silence to where a breakpoint is met. */
static bool meets_break(Walk *w) {
  do {
    begin_time(w);
    w->last = stepper_move(w->stepper, MOVE_RUN);
  } while (w->last == STOP_VALUE);
  return w->last == STOP_BREAK;
}

/* The entry is evaluated by small steps first, on copies of the session's
 * values, and then by the session, which does not repeat what was printed. */
bool step_breaks(Repl *r) {
  Host *h = r->host;
  Walk w = {.host = h, .prompt = r};
  if (!r->break_count) return true;
  h->printed = 0;
  bool ready = prepare(&w, NULL, r->session) == RLY_OK;
  for (int i = 0; ready && i < r->break_count; i++)
    stepper_break(w.stepper, r->breaks[i]);
  while (ready && !w.quit && meets_break(&w)) {
    step_show_stop(&w.show, w.last);
    if (isatty(STDIN_FILENO)) take_commands(&w, true);
  }
  deadline_end(&w.deadline);
  if (w.stepper) step_show_done(&w.show);
  stepper_free(w.stepper);
  session_failed(r->session, RLY_OK);
  host_report(h);
  if (w.quit) rly_session_skip(r->session);
  h->known = h->printed;
  return !w.quit;
}

/* --- rly step ----------------------------------------------------------- */

/* line_init() gets a prompt without entries, for readline's completion looks at
 * one. */
static int step_added(Host *h) {
  const rly_function *entry = NULL;
  int args, status = EXIT_LIMIT;
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

/* The page shows what the passes make of the program, beside its steps. */
static int step_program(Host *h) {
  const Cli *cli = h->cli;
  if (!cli->eval && !cli->words.count)
    return host_usage(h, "step needs a file, or -e ITEMS");
  if (cli->html && cli_has_passes(cli)) {
    h->versions = versions_new(h->program->mem);
    if (!h->versions) return host_out_of_memory(h);
  }
  int status = step_added(h);
  versions_free(h->versions);
  return status;
}

int command_step(const Cli *cli) { return host_run(cli, step_program); }
