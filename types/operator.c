/* Operators of a text's own: `op @f ... where E: "text" = {...};`.
 *
 * An `op` is a function, whose body is its meaning.  What is its own is said
 * here: conditions that the shapes of a call decide are decided while the call
 * is checked, and a rule of differentiation states the derivative of the body.
 *
 *   op @f(%x: T) -> R = { E };     gradient @f(%x) -> (%y, %g) { D }
 *   ----------------------------------------------------------------------
 *   def @f(%x: T) -> R {
 *     with_vjp(fn (%x: T) -> R { E },
 *              fn (%x: T, %y: R, %g: R) { (D,) })(%x)
 *   } */
#include "ir/walk.h"
#include "ops/known.h"
#include "types/check.h"
#include "types/resolve.h"
#include "types/types.h"

/* --- Derivatives ---------------------------------------------------------- */

static const Item *find_item(const Unit *u, ItemKind kind, const Name *name) {
  for (int i = 0; i < u->item_count; i++)
    if (u->items[i].kind == kind && u->items[i].own && u->items[i].name == name)
      return &u->items[i];
  return NULL;
}

/* What the parameters of a derivative say beyond their names, and where: types
 * and attributes are the operator's to say.  NULL: nothing. */
static const char *said_beyond_names(const Fn *rule, Span *at) {
  for (int i = 0; i < rule->param_count; i++) {
    const TypeExpr *type = rule->params[i]->annotation;
    if (!type) continue;
    *at = type->span;
    return "a derivative has the types of its operator: write the name alone";
  }
  if (rule->attr_count == 0) return NULL;
  *at = rule->attrs[0].span;
  return "an operator of a text has no attributes, nor has its derivative";
}

void operator_check_gradient(Checker *c, const Unit *unit, const Item *item) {
  const Item *op = find_item(unit, ITEM_DEF, item->name);
  const Item *first = find_item(unit, ITEM_GRADIENT, item->name);
  if (!op) {
    Diag *d = diag_error(c->p->diags, E0609, item->name_span,
                         "this text has no operator `@%s`", item->name->text);
    diag_hint(d,
              "the derivative of an operator stands beside its definition: "
              "op @%s(...) -> ... = {...};",
              item->name->text);
    return;
  }
  if (first != item) {
    Diag *d = diag_error(c->p->diags, E0105, item->name_span,
                         "the derivative of `@%s` is defined twice",
                         item->name->text);
    diag_note(d, first->name_span, "first defined here");
    return;
  }
  int wanted = op->expr->fn->param_count + 2;
  Span at = item->name_span;
  const char *beyond = said_beyond_names(item->expr->fn, &at);
  if (!beyond && item->expr->fn->param_count == wanted) return;
  Diag *d =
      beyond
          ? diag_error(c->p->diags, E0609, at, "%s", beyond)
          : diag_error(c->p->diags, E0609, at,
                       "`@%s` has %d operand%s, and this is a derivative by %d",
                       item->name->text, wanted - 2, wanted == 3 ? "" : "s",
                       item->expr->fn->param_count - 2);
  diag_note(d, op->name_span, "the operator");
}

static Expr *fn_new(Arena *a, Span span, int count, Var **params,
                    const TypeExpr *result, const Expr *body) {
  Fn *fn = ARENA_NEW(a, Fn);
  *fn = (Fn){.params = params,
             .param_count = params ? count : 0,
             .result = result,
             .body = body};
  Expr *e = expr_new(a, EX_FN, span);
  e->fn = fn;
  return e;
}

/* The parameters by their names in `named`, with the operator's types. */
static Var **params_of(Arena *a, const Fn *op, const Fn *named, int count) {
  Var **params = ARENA_ARRAY(a, Var *, (size_t)count + 1);
  for (int i = 0; params && i < count; i++) {
    const Var *v = named->params[i];
    bool operand = i < op->param_count;
    params[i] = var_new(a, v->name, v->span,
                        operand ? op->params[i]->annotation : op->result);
  }
  return params;
}

/* with_vjp(f, g)(%x...). */
static const Expr *with_derivative(Program *p, Arena *a, const Item *op,
                                   const Item *gradient, const Expr *body) {
  const Fn *fn = op->expr->fn, *rule = gradient->expr->fn;
  int n = fn->param_count;
  Span span = gradient->name_span;
  const Expr *adjoints = rule->body;
  const Expr **one = ARENA_ARRAY(a, const Expr *, 1);
  const Expr **both = ARENA_ARRAY(a, const Expr *, 2);
  const Expr **args = ARENA_ARRAY(a, const Expr *, (size_t)n + 1);
  Var **inner = params_of(a, fn, fn, n);
  Var **outer = params_of(a, fn, rule, n + 2);
  if (!one || !both || !args || !inner || !outer) return body;
  if (n == 1) {
    one[0] = adjoints;
    Expr *tuple = expr_new(a, EX_TUPLE, adjoints->span);
    tuple->args = one;
    tuple->count = 1;
    adjoints = tuple;
  }
  both[0] = fn_new(a, body->span, n, inner, fn->result, body);
  both[1] = fn_new(a, adjoints->span, n + 2, outer, NULL, adjoints);
  for (int i = 0; i < n; i++) {
    Expr *operand = expr_new(a, EX_LOCAL, fn->params[i]->span);
    operand->name = fn->params[i]->name;
    args[i] = operand;
  }
  Expr *form = expr_new(a, EX_IDENT, span);
  form->name = name_of(p->names, "with_vjp");
  Expr *stated = expr_call(a, span, form, 2, both);
  stated->sugar = SUGAR_GRADIENT;
  return expr_call(a, span, stated, n, args);
}

/* The text's own nodes stay as they were parsed: what is made shares them. */
void operator_add_gradient(Checker *c, Unit *unit, Item *item) {
  const Item *gradient =
      item->own ? find_item(unit, ITEM_GRADIENT, item->name) : NULL;
  Arena *a = &unit->arena;
  const Fn *was = item->expr->fn;
  Span at;
  if (!gradient || gradient->expr->fn->param_count != was->param_count + 2 ||
      said_beyond_names(gradient->expr->fn, &at))
    return;
  Expr *e = arena_copy(a, item->expr, sizeof *e);
  Fn *fn = arena_copy(a, was, sizeof *fn);
  const Expr *body = was->body;
  bool conditions = body->kind == EX_BLOCK && body->sugar == SUGAR_WHERE;
  if (!e || !fn) return;
  const Expr *meaning = conditions ? body->block->result : body;
  fn->body = with_derivative(c->p, a, item, gradient, meaning);
  if (conditions) {
    Expr *block = expr_block(a, body->span, body->block->count,
                             body->block->bindings, fn->body);
    block->sugar = SUGAR_WHERE;
    fn->body = block;
  }
  e->fn = fn;
  item->expr = e;
}

/* --- Conditions ----------------------------------------------------------- */

/* The block of conditions of a function's body; NULL: it has none.  Lets of
 * named dimensions may stand around it. */
static const Block *conditions_of(const Expr *fn) {
  const Expr *e = fn && fn->kind == EX_FN ? fn->fn->body : NULL;
  while (e && e->kind == EX_BLOCK && e->sugar != SUGAR_WHERE)
    e = e->block->result;
  return e && e->kind == EX_BLOCK ? e->block : NULL;
}

static void refuse_call(Checker *c, const Expr *call, const Expr *assertion) {
  const Attr *attrs;
  int operands;
  int count =
      types_written_attrs(&c->arena, c->p->names, assertion, &attrs, &operands);
  const char *text = count == 1 ? attrs[0].value->text : "";
  Diag *d = diag_error(c->p->diags, E0907, call->span, "`@%s`: %s",
                       call->call.callee->g.name->text, text);
  diag_note(d, assertion->span, "this condition does not hold here");
}

/* The condition that is known not to hold of the operands; NULL: none is. */
static const Expr *broken_condition(Program *p, Arena *arena,
                                    const Expr *call) {
  const Global *g = call->call.callee->g.global;
  const Expr *fn = g->definition ? g->definition->value : g->value;
  const Block *conditions = conditions_of(fn);
  for (int i = 0; conditions && i < conditions->count; i++) {
    const Binding *b = &conditions->bindings[i];
    Known known;
    if (b->kind != BIND_ITEM || b->value->kind != EX_CALL) continue;
    if (types_known_within(p, arena, call, b->value->args[0], &known) &&
        known.rank == 0 && dim_is(known.items[0], 0))
      return b->value;
  }
  return NULL;
}

bool types_own_refused(Program *p, Arena *arena, const Expr *call) {
  return broken_condition(p, arena, call) != NULL;
}

static void check_call(Checker *c, const Expr *call) {
  const Expr *broken = broken_condition(c->p, &c->arena, call);
  if (broken) refuse_call(c, call, broken);
}

static void check_calls_in(Checker *c, const Expr *root) {
  ExprWalk w;
  expr_walk_start(&w, c->mem, WALK_ENTER, root);
  while (expr_walk_next(&w))
    if (w.at->kind == EX_CALL && w.at->call.callee->kind == EX_GLOBAL &&
        w.at->call.callee->g.global->op)
      check_call(c, w.at);
  expr_walk_end(&w);
}

void operators_check_calls(Checker *c) {
  bool any = c->p->has_operators;
  for (size_t i = 0; any && i < c->defs.len && !mem_exhausted(c->mem); i++)
    if (c->defs.data[i]->value) check_calls_in(c, c->defs.data[i]->value);
}
