/* The types of rules: both sides are functions of the pattern variables, and
 * have the same type.
 *
 * Shapes, dtypes and attributes decide what a side is, so a rule is typed as a
 * function with parameters in brackets is, by instances: numbers, ranks and
 * dtypes are drawn (rules/draw.h) until the condition holds and the left side
 * has a type.  There the right side must have it, too. */
#include "ir/walk.h"
#include "rules/draw.h"
#include "types/check.h"
#include "types/resolve.h"

enum {
  TRIES = 400,  /* instances that are drawn, */
  CHECKED = 12, /* until so many are typed */
};

/* A rule and the checker of the text that it stands in, whose definitions are
 * in scope. */
typedef struct RuleCheck {
  Checker *c;
  Unit *unit;
  Item *item;
  Rule rule;
} RuleCheck;

/* The type of a side, as the body of a function whose name no text has: a rule
 * may have that of an operator which it calls.  NULL after reporting. */
static const Type *type_side(const RuleCheck *k, const RuleBound *b,
                             const Expr *side) {
  Program *p = b->p;
  const Expr *fn = rule_side(b, side);
  if (!fn) return NULL;
  Unit *unit = unit_new(p, k->unit->source);
  Item item = *b->rule->item;
  item.kind = ITEM_DEF;
  item.name = name_of(p->names, "a side");
  item.expr = fn;
  unit->items = &item;
  unit->item_count = 1;
  const Type *type = types_of_function(k->c, unit);
  program_drop_unit(p, unit);
  return type;
}

/* "at s = (2, 3)", a note of what was reported from `first` on. */
static void note_args(const RuleBound *b, size_t first) {
  const Diags *diags = b->p->diags;
  StrBuf text;
  strbuf_init(&text, b->p->mem);
  rule_print_args(b, &text);
  for (size_t i = first; text.len > 0 && i < diags->list.len; i++)
    diag_note(diags->list.data[i], SPAN_NONE, "`@%s` is tried at %s",
              b->rule->item->name->text, strbuf_text(&text));
  strbuf_done(&text);
}

static void report_types(const RuleBound *b, const Type *left,
                         const Type *right) {
  StrBuf was, is;
  strbuf_init(&was, b->p->mem);
  strbuf_init(&is, b->p->mem);
  type_print(b->p->types, &was, left, TYPE_TEXT_LINE);
  type_print(b->p->types, &is, right, TYPE_TEXT_LINE);
  Diag *d = diag_error(b->p->diags, E0903, b->rule->right->span,
                       "the right side is %s, the left one %s",
                       strbuf_text(&is), strbuf_text(&was));
  diag_note(d, b->rule->left->span, "the left side");
  strbuf_done(&was);
  strbuf_done(&is);
}

/* *fits: the left side has a type.  False: the right side has not the same,
 * which was reported. */
static bool check_instance(const RuleCheck *k, const RuleBound *b, bool *fits) {
  Diags *diags = b->p->diags;
  DiagsMark mark = diags_mark(diags);
  size_t first = diags->list.len;
  *fits = false;
  if (!rule_side(b, b->rule->right)) return true;
  const Type *left = type_side(k, b, b->rule->left);
  *fits = left != NULL;
  if (!left) {
    diags_return(diags, mark);
    return true;
  }
  const Type *right = type_side(k, b, b->rule->right);
  if (right == left) return true;
  if (right) report_types(b, left, right);
  note_args(b, first);
  return false;
}

/* What is wrong with a left side that no instance types. */
static void report_left(const RuleCheck *k, const RuleBound *b) {
  size_t first = b->p->diags->list.len;
  type_side(k, b, b->rule->left);
  note_args(b, first);
}

/* False: a side has no type, or another one, which was reported. */
static bool check_instances(const RuleCheck *k) {
  Program *p = k->c->p;
  const Rule *rule = &k->rule;
  Arena arena;
  Draw draw;
  Rng r = {.state = 1}, refused = {0};
  DrawSize refused_size = DRAW_SMALL;
  int typed = 0;
  bool ok = true;
  arena_init(&arena, p->mem);
  for (int i = 0; ok && i < TRIES && typed < CHECKED; i++) {
    bool small = i < TRIES / 2 && typed < CHECKED / 2;
    DrawSize size = small ? DRAW_SMALL : DRAW_ALL;
    Rng before = r;
    bool fits;
    if (mem_exhausted(p->mem)) break;
    arena_reset(&arena);
    if (!rule_draw(p, &arena, rule, &r, size, &draw)) continue;
    ok = check_instance(k, &draw.bound, &fits);
    typed += fits;
    if (fits || refused.state) continue;
    refused = before;
    refused_size = size;
  }
  if (ok && typed == 0 && refused.state && !mem_exhausted(p->mem) &&
      rule_draw(p, &arena, rule, &refused, refused_size, &draw)) {
    report_left(k, &draw.bound);
    ok = false;
  }
  arena_done(&arena);
  return ok;
}

/* --- Operators of a text's own --------------------------------------------
 *
 * rules/own.c says what becomes of them. */

/* The text of what a name in scope means; NULL: it is the library's. */
static const Item *item_of(const Checker *c, const Global *g) {
  for (size_t i = 0; i < c->generics.len; i++)
    if (c->generics.data[i]->global == g) return c->generics.data[i]->item;
  for (size_t i = 0; i < c->defs.len; i++)
    if (c->defs.data[i]->global == g) return c->defs.data[i]->item;
  return global_item_of(c->p, g);
}

static void report_callee(const Checker *c, const Expr *callee,
                          const Global *g) {
  const char *name = callee->g.name->text;
  if (g) {
    Diag *d = diag_error(c->p->diags, E0901, callee->span,
                         "`@%s` is no operator: a rule is about operators and "
                         "its own variables",
                         name);
    if (!g->library && g->kind == GLOBAL_DEF)
      diag_hint(d, "one of a text's own is defined by `op @%s(...) -> ...`",
                name);
    return;
  }
  Diag *d = diag_error(c->p->diags, E0901, callee->span,
                       "there is no operator `@%s`", name);
  Suggestion near = suggestion_for(name);
  for (const Scope *s = &c->scope; s; s = s->outer)
    for (size_t i = 0; i < s->globals.cap; i++) {
      const Name *other = s->globals.slots[i].key;
      const Global *is = other ? s->globals.slots[i].value : NULL;
      if (is && is->op) suggestion_offer(&near, other->text);
    }
  if (near.best) diag_hint(d, "did you mean `@%s`?", near.best);
  else
    diag_hint(d,
              "an `op` of the text or of one that it imports has such a "
              "name, and an operator in C with --plugin FILE.so");
}

/* Puts into the callees of both sides what they name.  The text's own nodes
 * stay as they were parsed.  False after a report. */
static bool bind_own(RuleCheck *k) {
  Checker *c = k->c;
  Arena *arena = &k->unit->arena;
  const Expr *sides = k->item->expr->fn->body;
  size_t errors = c->p->diags->errors;
  ExprMap m;
  expr_map_start(&m, c->mem, arena, sides);
  while (expr_map_next(&m)) {
    const Expr *e = m.walk.at;
    bool condition = m.walk.parent == sides && m.walk.index == 2;
    if (m.walk.event != WALK_ENTER) continue;
    if (condition) expr_map_put(&m, e);
    if (condition || m.walk.role != ROLE_CALLEE || e->kind != EX_GLOBAL)
      continue;
    Global *g = scope_global(&c->scope, e->g.name);
    Expr *made = g && g->op ? arena_copy(arena, e, sizeof *e) : NULL;
    if (!made) report_callee(c, e, g);
    if (!made) continue;
    made->g.global = g;
    expr_map_put(&m, made);
  }
  const Expr *body = expr_map_end(&m);
  Expr *e = arena_copy(arena, k->item->expr, sizeof *e);
  Fn *fn = e ? arena_copy(arena, e->fn, sizeof *fn) : NULL;
  if (!body || !fn || c->p->diags->errors > errors) return false;
  if (body == sides) return true;
  fn->body = body;
  e->fn = fn;
  k->item->expr = e;
  return true;
}

/* Lists the definitions of these operators, and those that they use. */
static void list_used(RuleCheck *k) {
  Checker *c = k->c;
  PtrMap met;
  ExprWalk w;
  VEC(const Item *) used;
  VEC_INIT(&used, c->mem);
  ptrmap_init(&met, c->mem);
  expr_walk_start(&w, c->mem, WALK_ENTER, k->item->expr->fn->body);
  while (expr_walk_next(&w)) {
    if (w.at->kind != EX_GLOBAL) continue;
    const Global *g = scope_global(&c->scope, w.at->g.name);
    if (!g || g->library || ptrmap_has(&met, g)) continue;
    ptrmap_put(&met, g, (void *)g);
    const Item *item = item_of(c, g);
    if (!item) continue;
    VEC_PUSH(&used, item);
    if (item->expr) expr_walk_add(&w, item->expr);
  }
  expr_walk_end(&w);
  k->item->rule->used_count = (int)used.len;
  k->item->rule->used = VEC_TO_ARENA(&used, &k->unit->arena);
  if (!k->item->rule->used) k->item->rule->used_count = 0;
  ptrmap_done(&met);
  VEC_DONE(&used);
}

/* --- Rules ---------------------------------------------------------------- */

void rule_declare(Checker *c, Unit *unit, const Item *item) {
  Program *p = c->p;
  const Item *old = ptrmap_get(&c->rules, item->name);
  if (old) {
    Diag *d = diag_error(p->diags, E0105, item->name_span,
                         "the rule `@%s` is defined twice", item->name->text);
    diag_note(d, old->name_span, "first defined here");
    return;
  }
  ptrmap_put(&c->rules, item->name, (void *)item);
  VEC_PUSH(&c->rule_items, (RuleItem){unit, (Item *)item});
}

/* `typed`: the definitions that the rule may call have their types. */
static void check_rule(Checker *c, const RuleItem *of, bool typed) {
  RuleCheck k = {.c = c, .unit = of->unit, .item = of->item};
  if (!bind_own(&k)) return;
  k.rule = rule_of(c->mem, k.item);
  if (!rule_check(c->p, &k.rule) || !typed) return;
  list_used(&k);
  if (check_instances(&k)) rule_check_order(c->p, &k.rule);
}

/* The definitions are finished: what a side needs of them is in the globals,
 * and a side is checked as a text of its own (types_of_function). */
void rules_check(Checker *c) {
  bool typed = c->p->diags->errors == c->errors_before;
  if (c->rule_items.len == 0) return;
  for (size_t i = 0; i < c->defs.len; i++)
    if (c->defs.data[i]->global) c->defs.data[i]->global->definition = NULL;
  for (size_t i = 0; i < c->rule_items.len && !mem_exhausted(c->mem); i++)
    check_rule(c, &c->rule_items.data[i], typed);
}
