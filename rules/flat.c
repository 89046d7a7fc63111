/* A rule whose variables are tensors, for those who draw values: a tuple is one
 * of variables, a function one of a few.
 *
 *   rule @r(%t: (float32, int32), %f: fn (float32) -> float32)
 *     { %f(%t.0) } => ...
 *   -------------------------------------------------------------
 *   rule @r(%t_0: float32, %t_1: int32) { negative((%t_0, %t_1).0) } => ... */
#include <string.h>

#include "ir/walk.h"
#include "rules/rule.h"

typedef struct Flat {
  Program *p;
  Arena *arena;
  int choice;
  bool given; /* a variable was a tuple or a function */
  bool odd;   /* of a type for which nothing is drawn */
  VEC(Var *) vars;
  PtrMap becomes; /* name of a tuple -> its expression */
  PtrMap called;  /* name of a function -> its type */
} Flat;

static const Expr *local(Flat *f, const Name *name, Span span) {
  Expr *e = expr_new(f->arena, EX_LOCAL, span);
  e->name = name;
  return e;
}

/* The value of a variable of that type.  Types nest no deeper than the parser
 * lets them. */
static const Expr *spread(Flat *f, const Name *name, const TypeExpr *t,
                          Span span) {
  if (t->kind != TX_TUPLE) {
    f->odd |= t->kind != TX_TENSOR;
    VEC_PUSH(&f->vars, var_new(f->arena, name, span, t));
    return local(f, name, span);
  }
  Expr *tuple = expr_new(f->arena, EX_TUPLE, span);
  const Expr **fields =
      ARENA_ARRAY(f->arena, const Expr *, (size_t)t->arg_count + 1);
  for (int i = 0; fields && i < t->arg_count; i++) {
    const char *text = arena_printf(f->arena, "%s_%d", name->text, i);
    fields[i] =
        spread(f, name_of(f->p->names, text ? text : "t"), t->args[i], span);
  }
  tuple->args = fields;
  tuple->count = fields ? t->arg_count : 0;
  return tuple;
}

static bool same_text(const TypeExpr *a, const TypeExpr *b) {
  if (a->kind != TX_TENSOR || b->kind != TX_TENSOR || a->dtype != b->dtype ||
      a->dtype_name != b->dtype_name || a->dim_count != b->dim_count)
    return false;
  for (int i = 0; i < a->dim_count; i++)
    if (a->dims[i]->kind != b->dims[i]->kind ||
        a->dims[i]->name != b->dims[i]->name ||
        a->dims[i]->number != b->dims[i]->number)
      return false;
  return true;
}

static const Expr *applied(Flat *f, const char *op, const Expr *e) {
  Expr *callee = expr_new(f->arena, EX_IDENT, e->span);
  const Expr **args = ARENA_ARRAY(f->arena, const Expr *, 1);
  callee->name = name_of(f->p->names, op);
  if (!args) return e;
  args[0] = e;
  return expr_call(f->arena, e->span, callee, 1, args);
}

/* The value of a call of the function: the argument that has the result's type.
 * The second choice negates it if it is a tensor of numbers. */
static const Expr *call_of(Flat *f, const TypeExpr *type, const Expr *call) {
  for (int i = 0; i < type->arg_count && i < call->count; i++) {
    if (!same_text(type->args[i], type->result)) continue;
    DType t = type->result->dtype_name ? DTYPE_NONE : type->result->dtype;
    bool changes = f->choice == 1 && t != DTYPE_NONE && t != DT_BOOL;
    return changes ? applied(f, "negative", call->args[i]) : call->args[i];
  }
  f->odd = true;
  return call;
}

static bool asks_purity(const Flat *f, const Expr *e) {
  return rule_fact(e) == RULE_PURE && e->args[0]->kind == EX_LOCAL &&
         (ptrmap_has(&f->called, e->args[0]->name) ||
          ptrmap_has(&f->becomes, e->args[0]->name));
}

static const Expr *flattened(Flat *f, const Expr *body) {
  ExprMap m;
  expr_map_start(&m, f->p->mem, f->arena, body);
  while (expr_map_next(&m)) {
    const Expr *e = m.walk.at;
    if (m.walk.event == WALK_ENTER && asks_purity(f, e)) {
      struct Tensor *t = program_scalar(f->p, DT_BOOL, (Value){.b = true});
      if (t) expr_map_put(&m, expr_const(f->arena, e->span, t));
    } else if (m.walk.event == WALK_ENTER && e->kind == EX_LOCAL) {
      const Expr *tuple = ptrmap_get(&f->becomes, e->name);
      if (tuple) expr_map_put(&m, tuple);
    } else if (m.walk.event == WALK_LEAVE && e->kind == EX_CALL &&
               e->call.callee->kind == EX_LOCAL) {
      const TypeExpr *t = ptrmap_get(&f->called, e->call.callee->name);
      if (t) expr_map_put(&m, call_of(f, t, m.made));
    }
  }
  return expr_map_end(&m);
}

const Item *rule_flat(Program *p, Arena *arena, const Item *item, int choice) {
  Flat f = {.p = p, .arena = arena, .choice = choice};
  const Fn *was = item->expr->fn;
  VEC_INIT(&f.vars, p->mem);
  ptrmap_init(&f.becomes, p->mem);
  ptrmap_init(&f.called, p->mem);
  for (int i = 0; i < was->param_count; i++) {
    const Var *v = was->params[i];
    const TypeExpr *t = v->annotation;
    if (t->kind == TX_FN) ptrmap_put(&f.called, v->name, (void *)t);
    else if (t->kind == TX_TUPLE)
      ptrmap_put(&f.becomes, v->name, (void *)spread(&f, v->name, t, v->span));
    else VEC_PUSH(&f.vars, was->params[i]);
    f.given |= t->kind == TX_FN || t->kind == TX_TUPLE;
  }
  const Item *made = item;
  const Expr *body = f.given ? flattened(&f, was->body) : NULL;
  Item *own = body ? arena_copy(arena, item, sizeof *item) : NULL;
  Expr *e = own ? arena_copy(arena, item->expr, sizeof *e) : NULL;
  Fn *fn = e ? arena_copy(arena, was, sizeof *fn) : NULL;
  if (fn && !f.odd && f.vars.len <= RULE_PARAMS_MAX) {
    fn->param_count = (int)f.vars.len;
    fn->params = VEC_TO_ARENA(&f.vars, arena);
    fn->body = body;
    e->fn = fn;
    own->expr = e;
    if (fn->params || !fn->param_count) made = own;
  }
  VEC_DONE(&f.vars);
  ptrmap_done(&f.becomes);
  ptrmap_done(&f.called);
  return made;
}
