/* ApplyRules: the rules of rly opt --rules, wherever they fit, until none does.
 *
 *   rule @r(%x: int32) { %x + 0 } => { %x }
 *
 *   (%a + 0) * 2      ==>   %a * 2
 *
 * Parts are rewritten before the whole, at each node by the first rule that
 * fits, in the order of the text.  What came out is looked at again, at most
 * `rounds` times over the program and `rewrites` times in all; where rules
 * still apply then, such as two that undo each other, W0005 names one of them.
 */
#include "passes/rule_match.h"

typedef struct Applying {
  const Rule *rules;
  int count;
  int64_t left;     /* rewrites that are still allowed */
  const Rule *last; /* that applied; in the round at hand */
  Span at;
} Applying;

/* At one node, at most so many in a row. */
enum { CHAIN_MOST = 16 };

static const Expr *apply_at(Applying *a, Surroundings *s, const Expr *e) {
  for (int n = 0; n < CHAIN_MOST && a->left > 0; n++) {
    const Expr *made = NULL;
    for (int i = 0; !made && i < a->count; i++) {
      made = rule_applied(s, &a->rules[i], e);
      if (made && !pass_may_rewrite(s->p, e->span)) return e;
      if (!made) continue;
      a->last = &a->rules[i];
      const PassCall *call = s->p->passing;
      if (call->rewrote)
        call->rewrote(call->rewrote_data, s->p, a->last->item->name, e, made);
    }
    if (!made) break;
    a->at = e->span;
    a->left--;
    e = made;
  }
  return e;
}

static void note_let(Surroundings *s, const ExprWalk *w, const Expr *value) {
  if (w->role != ROLE_VALUE) return;
  const Binding *b = &w->parent->block->bindings[w->index];
  if (b->kind == BIND_LET) ptrmap_put(&s->values, b->var, (void *)value);
}

static const Expr *apply(void *data, Program *p, Arena *arena, const Expr *e) {
  Applying *a = data;
  Surroundings s;
  ExprMap m;
  surroundings_start(&s, p, arena, e);
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m)) {
    if (m.walk.event != WALK_LEAVE) continue;
    const Expr *made = apply_at(a, &s, m.made);
    if (made != m.made) expr_map_put(&m, made);
    if (made != m.walk.at && !ptrmap_has(&s.effects, made))
      ptrmap_put(&s.effects, made, ptrmap_get(&s.effects, m.walk.at));
    note_let(&s, &m.walk, made);
  }
  e = expr_map_end(&m);
  surroundings_end(&s);
  return e;
}

static void warn(Program *p, const Applying *a) {
  Diag *d = diag_warning(p->diags, W0005, a->at,
                         "rules still apply here after %lld rewrites, at last "
                         "`@%s`",
                         (long long)(pass_arg(p, 1) - a->left),
                         a->last->item->name->text);
  diag_hint(d, "two rules may undo each other; --rule NAME applies one alone");
}

Pass pass_apply_rules;

Unit *pass_apply_rules(Program *p, Unit *unit) {
  const RuleList *list = &p->passing->rules;
  Rule *rules = ARENA_ARRAY(&unit->arena, Rule, (size_t)list->count + 1);
  if (!rules) return NULL;
  for (int i = 0; i < list->count; i++)
    rules[i] = rule_of(p->mem, list->items[i]);
  Applying a = {.rules = rules, .count = list->count, .left = pass_arg(p, 1)};
  bool again = list->count > 0;
  for (int64_t i = 0; unit && again && i < pass_arg(p, 0); i++) {
    a.last = NULL;
    unit = unit_rewrite_with(p, unit, apply, &a);
    again = a.last && a.left > 0;
  }
  if (unit && a.last && p->passing->rewrites < p->passing->most_rewrites)
    warn(p, &a);
  return unit;
}
