/* Builders of expressions, and what many files ask of them.  The parser,
 * resolution and the passes fill in the fields that belong to one kind.
 *
 * Nodes are zeroed by the arena, so a field that is not mentioned is NULL, 0 or
 * false.  A node is a small request, which an arena never refuses; arrays of
 * arguments may be refused, and then the caller's phase gives up. */
#include <string.h>

#include "ir/program.h"

Expr *expr_new(Arena *a, ExprKind kind, Span span) {
  Expr *e = ARENA_NEW(a, Expr);
  e->kind = (uint8_t)kind;
  e->span = span;
  return e;
}

Expr *expr_const(Arena *a, Span span, struct Tensor *constant) {
  Expr *e = expr_new(a, EX_CONST, span);
  e->constant = constant;
  return e;
}

Expr *expr_call(Arena *a, Span span, const Expr *callee, int count,
                const Expr *const *args) {
  Expr *e = expr_new(a, EX_CALL, span);
  e->call.callee = callee;
  e->count = count;
  e->args = args;
  return e;
}

Expr *expr_if(Arena *a, Span span, const Expr *condition, const Expr *then,
              const Expr *otherwise) {
  const Expr **args = ARENA_ARRAY(a, const Expr *, 3);
  args[0] = condition;
  args[1] = then;
  args[2] = otherwise;
  Expr *e = expr_new(a, EX_IF, span);
  e->count = 3;
  e->args = args;
  return e;
}

Expr *expr_block(Arena *a, Span span, int count, const Binding *bindings,
                 const Expr *result) {
  Block *block = ARENA_NEW(a, Block);
  *block = (Block){count, bindings, result};
  Expr *e = expr_new(a, EX_BLOCK, span);
  e->block = block;
  e->type = result->type;
  return e;
}

const Expr *expr_after(Arena *a, Span span, size_t count,
                       const Binding *bindings, const Expr *result) {
  if (!result || count == 0) return result;
  Binding *own = arena_copy(a, bindings, count * sizeof *own);
  return own ? expr_block(a, span, (int)count, own, result) : result;
}

const Expr *expr_opened(const Expr *e, Bindings *out) {
  for (; e->kind == EX_BLOCK; e = e->block->result)
    for (int i = 0; i < e->block->count; i++)
      VEC_PUSH(out, e->block->bindings[i]);
  return e;
}

Expr *expr_proj(Arena *a, Span span, const Expr *tuple, int index) {
  Expr *e = expr_new(a, EX_PROJ, span);
  e->args = arena_copy(a, &tuple, sizeof tuple);
  e->count = e->args ? 1 : 0;
  e->index = index;
  return e;
}

Var *var_new(Arena *a, const Name *name, Span span,
             const TypeExpr *annotation) {
  Var *v = ARENA_NEW(a, Var);
  *v = (Var){.name = name, .span = span, .annotation = annotation};
  return v;
}

Span var_span(const Var *var) {
  return var->annotation ? span_join(var->span, var->annotation->span)
                         : var->span;
}

const Name *expr_rank_of(const Expr *call) {
  const Expr *callee = call->kind == EX_CALL ? call->call.callee : NULL;
  bool one = callee && call->count == 1 && !call->call.attr_count;
  const Expr *shape = one ? call->args[0] : NULL;
  bool names = one && callee->kind == EX_IDENT && shape->kind == EX_IDENT &&
               shape->sugar != SUGAR_SPLAT;
  return names && !strcmp(callee->name->text, "rank") ? shape->name : NULL;
}

/* As deep as the parser lets lists of attributes nest. */
bool attr_expr_is_of_metadata(const AttrExpr *x) {
  for (int i = 0; x->kind == AX_LIST && i < x->count; i++)
    if (attr_expr_is_of_metadata(x->items[i])) return true;
  return x->kind == AX_META;
}

int ctor_field(const Ctor *ctor, const Name *name) {
  for (int i = 0; ctor->labels && i < ctor->field_count; i++)
    if (ctor->labels[i].name == name) return i;
  return -1;
}

const Ctor *ctor_nil(const Ctor *cons) {
  return &cons->adt->ctors[1 - cons->tag];
}

Span expr_declaration(const Expr *e) {
  switch (e->kind) {
    case EX_VAR: return var_span(e->var);
    case EX_GLOBAL: return e->g.global->span;
    case EX_CTOR: return e->ctor->span;
    default: return SPAN_NONE;
  }
}

/* The place where parameter i of a callee is declared, for notes; else where
 * the callee is. */
Span expr_parameter(const Expr *callee, int i) {
  const Expr *value =
      callee->kind == EX_GLOBAL ? callee->g.global->value : NULL;
  bool known = value && value->kind == EX_FN && i < value->fn->param_count;
  return known ? var_span(value->fn->params[i]) : expr_declaration(callee);
}

/* --- Walking ------------------------------------------------------------- */

static const Expr *call_spine(const Expr *e) {
  ExprKind callee = e->call.callee->kind;
  if (e->sugar == SUGAR_WITH) return e->args[0];
  if (callee != EX_OP && callee != EX_IDENT) return e->call.callee;
  return e->sugar != SUGAR_NONE && e->count > 0 ? e->args[0] : NULL;
}

const Expr *expr_spine(const Expr *e) {
  switch (e->kind) {
    case EX_PROJ:
    case EX_FIELD: return e->args[0];
    case EX_IF:
      return e->sugar == SUGAR_AND || e->sugar == SUGAR_OR ? e->args[0] : NULL;
    case EX_CALL: return call_spine(e);
    default: return NULL;
  }
}

int block_group(const Block *b, int first) {
  int n = 1;
  while (first + n < b->count && b->bindings[first + n].kind == BIND_AND) n++;
  return n;
}

bool block_is_let(const Block *block, const Binding *b) {
  bool last = b + 1 == block->bindings + block->count;
  return b->kind == BIND_LET && (last || b[1].kind != BIND_AND);
}

/* A function may name itself, and a group its members. */
bool block_binds_first(const Block *b, int first) {
  const Binding *let = &b->bindings[first];
  return let->kind == BIND_LET &&
         (let->value->kind == EX_FN || block_group(b, first) > 1);
}
