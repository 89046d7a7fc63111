/* The children of an expression, in order of evaluation.  Deep walks keep
 * their own stack and call this once a node. */
#include "ir/expr.h"

typedef struct Visit {
  void (*fn)(void *data, const Expr *child);
  void *data;
} Visit;

/* Attribute values nest no deeper than the parser lets them. */
static void visit_attr_value(const Visit *v, const AttrExpr *x) {
  if (x->kind == AX_EXPR) v->fn(v->data, x->expr);
  if (x->kind != AX_LIST) return;
  for (int i = 0; i < x->count; i++) visit_attr_value(v, x->items[i]);
}

/* Arguments, then attributes, then the callee. */
static void visit_call(const Visit *v, const Expr *e) {
  for (int i = 0; i < e->call.attr_count; i++)
    visit_attr_value(v, e->call.attrs[i].value);
  v->fn(v->data, e->call.callee);
}

static void visit_block(const Visit *v, const Block *b) {
  for (int i = 0; i < b->count; i++)
    if (b->bindings[i].value) v->fn(v->data, b->bindings[i].value);
  v->fn(v->data, b->result);
}

void expr_children(const Expr *e, void (*visit)(void *data, const Expr *child),
                   void *data) {
  Visit v = {visit, data};
  for (int i = 0; i < e->count; i++) visit(data, e->args[i]);
  switch (e->kind) {
    case EX_CALL: visit_call(&v, e); break;
    case EX_FN: visit(data, e->fn->body); break;
    case EX_BLOCK: visit_block(&v, e->block); break;
    case EX_MATCH:
      for (int i = 0; i < e->match->arm_count; i++)
        visit(data, e->match->arms[i].body);
      break;
    default: break;
  }
}
