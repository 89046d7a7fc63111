/* Steps through derivatives.  The stepper shows the text of a program, and
 * grad(@f) has no text that says how a derivative is computed.  So `rly step`
 * and :step take what FirstOrderGradient makes of a text, where that writes a
 * derivative out; what it leaves ends in E0609. */
#include <string.h>

#include "repl/guard.h"
#include "repl/opt.h"
#include "repl/step.h"

static const char pass_name[] = "FirstOrderGradient";

/* Mistakes in the file are reported later, when it is read to be stepped
 * through. */
const char *step_passes(Host *h) {
  const Cli *cli = h->cli;
  OptPass pass = {.call = pass_call_of(pass_find(pass_name))};
  Diags *diags = h->program->ir->diags;
  DiagsMark mark = diags_mark(diags);
  Version v;
  if (!cli->eval && !strcmp(cli->words.items[0], "-")) return NULL;
  guard_begin(cli, "reading the program");
  bool ok = cli->eval ? version_of_text(h, "<command line>", cli->eval,
                                        strlen(cli->eval), &v)
                      : version_of_file(h, cli->words.items[0], &v);
  ok = ok && opt_run_pass(h, &v, &pass);
  guard_end();
  diags_return(diags, mark);
  if (ok) version_done(h, &v);
  return ok && pass.call.rewrites > 0 ? pass_name : NULL;
}

typedef struct Written {
  Program *p;
  StrBuf *out;
} Written;

/* The expression is the only step of a unit that nobody runs. */
static void write_out(void *written, const Expr *e) {
  const Written *w = written;
  Program *p = w->p;
  PassCall call = pass_call_of(pass_find(pass_name));
  Item item = {.kind = ITEM_EXPR, .span = e->span, .expr = e};
  Step step = {.kind = STEP_EXPR, .expr = e, .span = e->span};
  Unit *unit = unit_new(p, sources_file(p->sources, e->span));
  unit->items = &item;
  unit->steps = &step;
  unit->item_count = unit->step_count = 1;
  unit->facts = FACT_NAMES | FACT_TYPES | FACT_MATCHES | FACT_EFFECTS;
  Unit *made = pass_call(p, unit, &call);
  if (made && call.rewrites > 0) unit_print_checked(p, made, w->out);
  if (made && made != unit) program_drop_unit(p, made);
  program_drop_unit(p, unit);
}

bool step_write_out(Host *h, const char *items, StrBuf *out) {
  rly_program *p = h->program;
  Diags *diags = p->ir->diags;
  DiagsMark mark = diags_mark(diags);
  Written w = {p->ir, out};
  strbuf_init(out, p->mem);
  program_look_at(p, items, strlen(items), write_out, &w);
  diags_return(diags, mark);
  return out->len > 0;
}
