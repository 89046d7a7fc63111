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
 *
 * Passes of the table that are lists of rules (rule_pass.h) go over the program
 * once, in the same way: CanonicalizeOps applies the rules of
 * stdlib/rules/CanonicalizeOps.rly.  The library parses them when the pass is
 * run; that they hold is what tests ask rly verify, so they are not checked
 * again.
 *
 * Rules are found by the operator that their left side calls: what is tried at
 * a node does not grow with the list.
 *
 * A rule with operators of a text's own is applied where the program has the
 * same ones (rules/own.c), and not within what they use (own_reach.c). */
#include "passes/own_call.h"
#include "passes/rule_pass.h"

/* The rules by the operator of their left sides, in the order of the text; the
 * last list has those that call none. */
typedef struct RuleIndex {
  const Rule *rules;
  int *next; /* of the same operator; -1: there is none */
  int first[OP_COUNT + 1];
} RuleIndex;

typedef struct Applying {
  RuleIndex index;
  OwnReach reach;
  RuleMore *more;
  bool of_library;  /* and so it keeps the bits of adjoints */
  int64_t left;     /* rewrites that are still allowed */
  const Rule *last; /* that applied; in the round at hand */
  Span at;
} Applying;

static bool index_rules(Applying *a, Program *p, Arena *arena,
                        const RuleList *list) {
  size_t room = (size_t)list->count + 1;
  Rule *rules = ARENA_ARRAY(arena, Rule, room);
  RuleIndex *x = &a->index;
  x->rules = rules;
  x->next = ARENA_ARRAY(arena, int, room);
  if (!rules || !x->next) return false;
  for (int i = 0; i <= OP_COUNT; i++) x->first[i] = -1;
  int count = 0;
  for (int i = 0; i < list->count; i++) {
    rules[count] = rule_of(p->mem, list->items[i]);
    if (!rule_may_apply(p, &rules[count])) continue;
    own_reach_add(&a->reach, &rules[count]);
    count++;
  }
  for (int i = count; i-- > 0;) {
    int op = rules[i].root ? (int)op_id(rules[i].root) : OP_COUNT;
    x->next[i] = x->first[op];
    x->first[op] = i;
  }
  return true;
}

static bool applying_start(Applying *a, Program *p, Arena *arena,
                           const RuleList *list, RuleMore *more, int64_t most) {
  *a = (Applying){.more = more, .left = most};
  own_reach_start(&a->reach, p);
  return index_rules(a, p, arena, list);
}

static void applying_end(Applying *a) { own_reach_end(&a->reach); }

/* At one node, at most so many in a row. */
enum { CHAIN_MOST = 16 };

/* By the first rule that fits; *rule: which one. */
static const Expr *by_rule(const Applying *a, Surroundings *s, const Expr *e,
                           const Rule **rule) {
  const RuleIndex *x = &a->index;
  const OpInfo *op = expr_operator(e);
  const Expr *made = NULL;
  for (int i = x->first[op ? (int)op_id(op) : OP_COUNT]; !made && i >= 0;
       i = x->next[i]) {
    *rule = &x->rules[i];
    if (own_reach_allows(&a->reach, *rule)) made = rule_applied(s, *rule, e);
  }
  return made;
}

static const Expr *apply_at(Applying *a, Surroundings *s, const Expr *e) {
  if (a->of_library && expr_has_adjoint(s->p, e)) return e;
  for (int n = 0; n < CHAIN_MOST && a->left > 0; n++) {
    const Rule *rule = NULL;
    const Expr *made = by_rule(a, s, e, &rule);
    if (!made) rule = NULL;
    if (!made && a->more) made = a->more(s, e);
    const Item *law = rule ? rule->item : NULL;
    if (!made || !pass_may_replace(s->p, law, e, made)) break;
    if (rule) {
      a->last = rule;
      own_reach_note(&a->reach, rule);
    }
    a->at = e->span;
    a->left--;
    e = made;
  }
  return e;
}

/* A rule may have put a block in the place of a tuple whose field is taken:
 * (let %v = ...; (%a, %b)).0 is (let %v = ...; %a), and a rule may fit %a.
 * NULL: this is no such field, or no rule fits. */
static const Expr *field_within(Applying *a, Surroundings *s,
                                const ExprMap *m) {
  const Expr *e = m->made, *of = e->kind == EX_PROJ ? e->args[0] : NULL;
  if (!of || of->kind != EX_BLOCK || of == m->walk.at->args[0]) return NULL;
  const Block *block = of->block;
  const Expr *field =
      expr_field(s->arena, e->span, block->result, (int)e->index);
  const Expr *made = apply_at(a, s, field);
  if (made == field) return NULL;
  return expr_block(s->arena, e->span, block->count, block->bindings, made);
}

static void note_let(Surroundings *s, const ExprWalk *w, const Expr *value) {
  if (expr_walk_is_value(w, BIND_LET))
    ptrmap_put(&s->values, expr_walk_binding(w)->var, (void *)value);
}

static const Expr *apply(void *data, Program *p, Arena *arena, const Expr *e) {
  Applying *a = data;
  Surroundings s;
  ExprMap m;
  surroundings_start(&s, p, arena, e);
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m)) {
    if (m.walk.event != WALK_LEAVE) continue;
    const Expr *made = field_within(a, &s, &m);
    if (!made) made = apply_at(a, &s, m.made);
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
  Applying a;
  bool ok = applying_start(&a, p, &unit->arena, list, NULL, pass_arg(p, 1));
  bool again = ok && list->count > 0;
  for (int64_t i = 0; unit && again && i < pass_arg(p, 0); i++) {
    a.last = NULL;
    unit = unit_rewrite_with(p, unit, apply, &a);
    again = a.last && a.left > 0;
  }
  if (ok && unit && a.last && p->passing->rewrites < p->passing->most_rewrites)
    warn(p, &a);
  applying_end(&a);
  return ok ? unit : NULL;
}

/* --- Passes that are lists of rules --------------------------------------- */

/* Those that the pass under way may apply. */
static RuleList library_rules(Program *p, Arena *arena) {
  const Name *name = name_of(p->names, p->passing->pass->name);
  Unit *unit = p->find_in_library ? p->find_in_library(p, 'R', name) : NULL;
  int count = unit ? unit->item_count : 0, n = 0;
  const Item **items = ARENA_ARRAY(arena, const Item *, (size_t)count + 1);
  for (int i = 0; items && i < count; i++)
    if (unit->items[i].kind == ITEM_RULE &&
        (unit->items[i].rule->grade.kind == GRADE_BITS || pass_fast_math(p)))
      items[n++] = &unit->items[i];
  return (RuleList){n, items};
}

Unit *unit_apply_library(Program *p, Unit *unit, RuleMore *more) {
  Applying a;
  RuleList list = library_rules(p, &unit->arena);
  if (!list.items) return NULL;
  bool ok = applying_start(&a, p, &unit->arena, &list, more, INT64_MAX);
  a.of_library = true;
  if (ok) unit = unit_rewrite_with(p, unit, apply, &a);
  applying_end(&a);
  return ok ? unit : NULL;
}

Pass pass_library_rules;

Unit *pass_library_rules(Program *p, Unit *unit) {
  return unit_apply_library(p, unit, NULL);
}
