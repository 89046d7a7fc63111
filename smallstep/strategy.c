/* The table of strategies. */
#include "smallstep/strategy.h"

#include <string.h>

static const StepStrategy *const table[] = {
#define ROW(name) &strategy_##name,
    STRATEGIES(ROW)
#undef ROW
};
enum { COUNT = sizeof table / sizeof *table };

const StepStrategy *step_strategy_at(int i) {
  return i >= 0 && i < COUNT ? table[i] : NULL;
}

const StepStrategy *step_strategy_find(const char *name) {
  for (int i = 0; i < COUNT; i++)
    if (!strcmp(table[i]->name, name)) return table[i];
  return NULL;
}

const char *step_strategy_name(const StepStrategy *s) { return s->name; }
const char *step_strategy_sentence(const StepStrategy *s) {
  return s->sentence;
}
bool step_strategy_is_abstract(const StepStrategy *s) { return s->abstract; }

void step_use_strategy(StepMachine *m, const StepStrategy *s) {
  m->strategy = s;
  if (s->begin) s->begin(m);
}

StepOrder step_order_left(const Expr *e) {
  (void)e;
  return ORDER_LEFT;
}

bool step_is_work(const Expr *e) {
  return e->kind != EX_CONST && e->kind != EX_FN && e->kind != EX_VAR &&
         e->kind != EX_OP && e->kind != EX_CTOR && e->kind != EX_GLOBAL;
}
