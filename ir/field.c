/* The values of named fields.  A call's `name=value` is parsed as an attribute,
 * for only resolution knows what is called. */
#include "ir/program.h"

static const Expr *scalar(Program *p, Arena *a, const AttrExpr *x, DType dtype,
                          Value bits) {
  return expr_const(a, x->span, program_scalar(p, dtype, bits));
}

static const Expr *bracket(Program *p, Arena *a, const AttrExpr *x) {
  Expr *e = expr_new(a, EX_BRACKET, x->span);
  const Expr **items = ARENA_ARRAY(a, const Expr *, (size_t)x->count);
  for (int i = 0; items && i < x->count; i++)
    items[i] = attr_as_expr(p, a, x->items[i]);
  e->args = items;
  e->count = items ? x->count : 0;
  return e;
}

static Expr *word(Program *p, Arena *a, const AttrExpr *x, const char *text) {
  Expr *e = expr_new(a, EX_IDENT, x->span);
  e->name = name_of(p->names, text);
  return e;
}

/* As deep as the parser lets lists of attributes nest. */
const Expr *attr_as_expr(Program *p, Arena *a, const AttrExpr *x) {
  Expr *e;
  switch (x->kind) {
    case AX_INT:
      return scalar(p, a, x, x->dtype, bits_from_i64(x->dtype, x->integer));
    case AX_FLOAT:
      return scalar(p, a, x, x->dtype, bits_from_f64(x->dtype, x->real));
    case AX_BOOL:
      return scalar(p, a, x, DT_BOOL, bits_from_i64(DT_BOOL, x->integer));
    case AX_STRING:
      e = expr_new(a, EX_STRING, x->span);
      e->text.bytes = x->text;
      e->text.len = (size_t)x->count;
      return e;
    case AX_META:
      e = expr_new(a, EX_META, x->span);
      e->meta.name = name_of(p->names, x->text);
      e->meta.index = x->integer;
      return e;
    case AX_LIST: return bracket(p, a, x);
    case AX_NONE: return word(p, a, x, "None");
    case AX_EXPR: break;
  }
  return x->expr;
}
