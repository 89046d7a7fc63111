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

static void say_row(Repl *r, const CostRow *s, const char *name) {
  repl_say(r, "%10.0f %14.0f %14.0f %14.0f  %s\n", s->calls, s->cost.flops,
           s->cost.bytes, s->cost.allocated, name);
}

static void say_cost(Repl *r, const Cost *c) {
  repl_say(r, "%10s %14s %14s %14s  operator\n", "calls", "flops", "bytes",
           "allocated");
  for (size_t i = 0; i < c->rows.len; i++)
    say_row(r, &c->rows.data[i], c->rows.data[i].op->name);
  say_row(r, &c->all, "in all");
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

static void look(void *repl, const Expr *e) {
  Repl *r = repl;
  Cost cost;
  cost_of(&cost, r->host->program->ir, e,
          (CostValues){value_of, r->session->vm});
  say_cost(r, &cost);
  cost_done(&cost);
}

void cost_run(Repl *r, const char *expr) {
  program_look_at(r->host->program, expr, strlen(expr), look, r);
  host_report(r->host);
}
