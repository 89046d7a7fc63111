/* :dbg shows the parts of an expression with their values, as a tree.
 *
 * The small-step machine (smallstep/) evaluates, on copies of the session's
 * values; stepper/tree.c watches it and says what the parts are.  step_leave()
 * then lets the session itself evaluate what defines names.  The tree of an
 * item is drawn when the item has its value, or when its evaluation failed or
 * was stopped: then some parts have no value. */
#include <string.h>

#include "lib/inside.h"
#include "repl/repl.h"
#include "repl/step.h"

enum { ASK_EVERY = 1024 };
/* Seconds from which on it is said how long a part took: so many that one
 * notices, or what is printed would differ from run to run. */
static const double LONG = 1;

typedef struct Dbg {
  Host *host;
  Display display;
  Stepper *stepper;
  StepTree *tree;
  StrBuf out, value; /* the drawing; the value of the item */
  bool open[DISPLAY_DEPTH_MOST + 2];
  uint64_t steps;
  double deadline; /* 0: none */
} Dbg;

static void clear(StrBuf *b) {
  VEC_CLEAR(b);
  strbuf_add(b, "");
}

/* --- A line --------------------------------------------------------------- */

static void add(Dbg *d, Style style, const char *text) {
  display_styled(&d->display, &d->out, style, text, strlen(text));
}

/* Infinities and NaN are what one looks for. */
static void add_value(Dbg *d, const char *value) {
  bool alarm = strcasestr(value, "nan") || strstr(value, "inf");
  add(d, STYLE_FACT, " => ");
  if (alarm) add(d, STYLE_ALARM, value);
  else strbuf_add(&d->out, value);
}

static void add_part(void *dbg, const StepPart *p) {
  Dbg *d = dbg;
  char text[64];
  display_lead(&d->display, &d->out, d->open, p->level, p->last);
  strbuf_add(&d->out, p->label);
  if (p->value) add_value(d, p->value);
  if (p->failed) add(d, STYLE_ALARM, " => fails");
  if (!p->level && p->value) {
    clear(&d->value);
    strbuf_add(&d->value, p->value);
  }
  snprintf(text, sizeof text, "  [%s]", p->effects);
  if (*p->effects) add(d, STYLE_NAME, text);
  snprintf(text, sizeof text, "  ... %s", p->note);
  if (*p->note) add(d, STYLE_FACT, text);
  snprintf(text, sizeof text, "  %.3g s", p->seconds);
  if (p->seconds >= LONG) add(d, STYLE_FACT, text);
  strbuf_add_char(&d->out, '\n');
}

static void put(Dbg *d) {
  host_write(d->host, strbuf_text(&d->out), d->out.len);
  clear(&d->out);
}

static void show_tree(Dbg *d) {
  clear(&d->value);
  stepper_tree_each(d->tree, add_part, d);
  stepper_tree_clear(d->tree);
  put(d);
}

/* --- The end ------------------------------------------------------------ */

/* The value of an item, unless the first line of the tree has all of it. */
static void show_value(Dbg *d) {
  StepMachine *m = stepper_machine(d->stepper);
  step_print(m, &d->out, step_result(m), d->display.width);
  if (!strcmp(strbuf_text(&d->out), strbuf_text(&d->value))) {
    clear(&d->out);
    return;
  }
  strbuf_add_char(&d->out, '\n');
  put(d);
}

/* The message goes through a diagnostic, so that it has the place in the
 * source, as the same error has where the VM finds it. */
static void show_fault(Dbg *d) {
  rly_context *cx = d->host->cx;
  const StepFault *f = step_fault(stepper_machine(d->stepper));
  diag_new(&cx->diags, SEV_RUNTIME, f->code, f->span, "%s", f->message);
  host_report(d->host);
}

/* Returns whether the end was reached.  One round for each step; whether the
 * time is over is asked every ASK_EVERY steps only. */
static bool evaluate(Dbg *d) {
  bool stopped = false;
  StepStop stop = STOP_STEP;
  while (!stopped && stop != STOP_END && stop != STOP_LIMIT) {
    stop = stepper_tree_step(d->tree);
    if (stop == STOP_VALUE) {
      show_tree(d);
      show_value(d);
    }
    if (++d->steps % ASK_EVERY == 0)
      stopped = host_was_interrupted() ||
                (d->deadline > 0 && clock_seconds() > d->deadline);
  }
  show_tree(d);
  char steps[STEPS_TEXT];
  if (stopped)
    fprintf(stderr, "stopped after %s\n", steps_text(d->steps, steps));
  else if (step_fault(stepper_machine(d->stepper))->message) show_fault(d);
  return !stopped && stop != STOP_LIMIT;
}

void dbg_run(Repl *r, const char *items) {
  rly_options limits = {0};
  rly_session_limits(r->session, &limits);
  double timeout = limits.timeout;
  Dbg d = {.host = r->host,
           .display = repl_display(r),
           .deadline = timeout > 0 ? clock_seconds() + timeout : 0};
  if (!step_add(r, items)) return;
  strbuf_init(&d.out, r->host->program->ir->mem);
  strbuf_init(&d.value, r->host->program->ir->mem);
  d.stepper = session_stepper(r->session, NULL);
  if (d.stepper) d.tree = stepper_tree_new(d.stepper, d.display.width);
  bool ended = d.tree && evaluate(&d);
  stepper_tree_free(d.tree);
  stepper_free(d.stepper);
  session_failed(r->session, RLY_OK);
  strbuf_done(&d.value);
  strbuf_done(&d.out);
  step_leave(r, ended);
}
