/* :cost, what evaluating an expression will amount to, as a table.
 *
 * First the expression is run by its shapes (step_run_shapes): on copies of the
 * session's values, without computing large tensors, so that loops, recursion
 * and functions that are passed as values are counted exactly.  Where elements
 * that only a real run computes decide what comes next, the numbers follow from
 * the text and its types instead (passes/cost.h), and what that leaves out is
 * said in lines of their own below the table. */
#include <string.h>

#include "lib/inside.h"
#include "repl/repl.h"
#include "repl/step.h"

/* Moves of the machine between two questions are 1024: a few seconds. */
enum { QUESTIONS_MOST = 4000 };

typedef struct Count {
  Repl *repl;
  Stepper *stepper; /* NULL: there is none */
  Cost cost;
  double deadline; /* 0: none */
  int questions;
} Count;

static void say_row(Repl *r, const CostRow *s, const char *name) {
  repl_say(r, "%8.0f %12.0f %12.0f %12.0f  %s\n", s->calls, s->cost.flops,
           s->cost.bytes, s->cost.allocated, name);
}

static void say_rows(Repl *r, const Cost *c) {
  repl_say(r, "%8s %12s %12s %12s  operator\n", "calls", "flops", "bytes",
           "allocated");
  for (size_t i = 0; i < c->rows.len; i++)
    say_row(r, &c->rows.data[i], c->rows.data[i].op->name);
  say_row(r, &c->all, "in all");
}

/* --- By shapes ------------------------------------------------------------ */

static void count_call(void *count, const OpInfo *op, const Attrs *attrs,
                       int arg_count, const Tensor *args, int out_count,
                       const Tensor *outs) {
  Count *c = count;
  cost_add(&c->cost, op, op_cost(op, attrs, arg_count, args, out_count, outs));
}

static bool asked_to_stop(void *count) {
  Count *c = count;
  if (++c->questions == QUESTIONS_MOST) return true;
  return host_was_interrupted() ||
         (c->deadline > 0 && clock_seconds() > c->deadline);
}

static void say_place(Repl *r, Span span) {
  Place at = sources_place(r->host->program->ir->sources, span);
  if (at.file) repl_say(r, ", at %s:%u:%u", at.file->path, at.line, at.column);
  repl_say(r, "\n");
}

/* True: the numbers are those of the run. */
static bool by_shapes(Count *c, const Expr *e) {
  Repl *r = c->repl;
  StepShapes shapes = {.call = count_call, .asked = asked_to_stop, .data = c};
  StepMachine *m = stepper_machine(c->stepper);
  bool ran = step_run_shapes(m, e, &shapes);
  const StepFault *f = step_fault(m);
  cost_sum(&c->cost);
  if (ran || shapes.stopped) {
    say_rows(r, &c->cost);
    if (shapes.calls)
      repl_say(r, "functions are called %llu time%s\n",
               (unsigned long long)shapes.calls, shapes.calls == 1 ? "" : "s");
    if (shapes.stopped) {
      char steps[STEPS_TEXT];
      repl_say(r, "stopped after %s: what is counted is up to there\n",
               steps_text(step_count(m), steps));
    }
    return true;
  }
  if (shapes.unknown)
    repl_say(r, "what happens depends on values that only a run computes");
  else repl_say(r, "it would fail: %s", f->message ? f->message : "");
  say_place(r, f->span);
  return false;
}

/* --- By types ------------------------------------------------------------- */

static void say_left_out(Repl *r, const Cost *c) {
  repl_say(r, "so each call is counted once, as its types tell\n");
  if (c->branches) repl_say(r, "of branches the dearer one is counted\n");
  if (c->recursive)
    repl_say(r, "a recursive call is counted once, without what it repeats\n");
  if (c->values)
    repl_say(r, "what functions that are passed as values do is left out\n");
  if (c->unknown)
    repl_say(r, "%d operator%s left out, for want of a shape\n", c->unknown,
             c->unknown == 1 ? " is" : "s are");
  if (c->cut) repl_say(r, "the rest, which is too large to look at, is too\n");
}

/* The cost pass asks this for globals whose value decides a shape.  The tensor
 * is borrowed; the session cannot run while the pass looks. */
static const Tensor *value_of(void *session, const Global *g) {
  Value v;
  return session_value(session, g, &v) ? v.tensor : NULL;
}

static void by_types(Count *c, const Expr *e) {
  Repl *r = c->repl;
  Cost cost;
  cost_of(&cost, r->host->program->ir, e,
          (CostValues){value_of, r->session->vm});
  say_rows(r, &cost);
  say_left_out(r, &cost);
  cost_done(&cost);
}

/* Called by program_look_at() with the checked expression, which the program
 * does not keep: to ask what something costs adds no definition and no
 * result. */
static void look(void *count, const Expr *e) {
  Count *c = count;
  if (!by_shapes(c, e)) by_types(c, e);
  if (e->type->kind == TY_FN)
    repl_say(c->repl, "a function costs nothing until it is called\n");
}

void cost_run(Repl *r, const char *expr) {
  rly_options limits = {0};
  rly_session_limits(r->session, &limits);
  double timeout = limits.timeout;
  Count c = {.repl = r,
             .stepper = session_stepper(r->session, NULL),
             .deadline = timeout > 0 ? clock_seconds() + timeout : 0};
  cost_init(&c.cost, r->host->program->ir->mem);
  if (c.stepper)
    program_look_at(r->host->program, expr, strlen(expr), look, &c);
  host_report(r->host);
  cost_done(&c.cost);
  stepper_free(c.stepper);
}
