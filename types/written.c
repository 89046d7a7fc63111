/* The record of an operator's call back to attributes as they are written: the
 * inverse of resolve_attr.c, for the printer of checked programs.
 *
 *   record    newshape: ints [2, ?], operand 1; axis: its default
 *   written   newshape=[2, %n] from call->args[1]; axis is left out
 *
 * What the record has by default is not written, so that a program prints as
 * its author would write it; reading it back gives the same record. */
#include <string.h>

#include "ops/ops.h"
#include "types/types.h"

/* --- Values -------------------------------------------------------------- */

static AttrExpr *attr_new(Arena *a, AttrExprKind kind) {
  AttrExpr *x = ARENA_NEW(a, AttrExpr);
  x->kind = kind;
  return x;
}

/* The dtype decides the suffix, and thus whether the number reads back. */
static const AttrExpr *write_int(Arena *a, Dim value) {
  AttrExpr *x = attr_new(a, AX_INT);
  x->integer = dim_value(value);
  bool narrow = x->integer >= INT32_MIN && x->integer <= INT32_MAX;
  x->dtype = narrow ? DT_INT32 : DT_INT64;
  return x;
}

/* A float32 where that is the same number. */
static const AttrExpr *write_float(Arena *a, double value) {
  AttrExpr *x = attr_new(a, AX_FLOAT);
  x->real = value;
  bool narrow = (double)(float)value == value || value != value;
  x->dtype = narrow ? DT_FLOAT32 : DT_FLOAT64;
  return x;
}

static const AttrExpr *write_string(Arena *a, const char *text) {
  AttrExpr *x = attr_new(a, AX_STRING);
  x->text = text;
  x->count = (int)strlen(text);
  return x;
}

/* A list of `count` items; its array is still to be filled. */
static AttrExpr *write_list(Arena *a, int count, const AttrExpr ***items) {
  AttrExpr *x = attr_new(a, AX_LIST);
  *items = ARENA_ARRAY(a, const AttrExpr *, (size_t)count);
  x->items = *items;
  x->count = *items ? count : 0;
  return x;
}

static const AttrExpr *write_ints(Arena *a, const AttrValue *v) {
  const AttrExpr **items;
  AttrExpr *x = write_list(a, v->count, &items);
  for (int i = 0; i < x->count; i++) items[i] = write_int(a, v->ints[i]);
  return x;
}

static const AttrExpr *write_lists(Arena *a, const AttrValue *v) {
  const AttrExpr **items;
  AttrExpr *x = write_list(a, v->count, &items);
  for (int i = 0; i < x->count; i++) items[i] = write_ints(a, &v->lists[i]);
  return x;
}

static const AttrExpr *write_floats(Arena *a, const AttrValue *v) {
  const AttrExpr **items;
  AttrExpr *x = write_list(a, v->count, &items);
  for (int i = 0; i < x->count; i++) items[i] = write_float(a, v->reals[i]);
  return x;
}

/* --- Operands ------------------------------------------------------------ */

/* A list in brackets is one that the checker knows.  An argument of the dyn.
 * spelling that is written like one stays an expression in braces. */
static const AttrExpr *write_operand(Arena *a, const Expr *e) {
  AttrExpr *x = attr_new(a, AX_EXPR);
  bool vector = e->kind == EX_CONST && e->constant->rank > 0;
  x->expr = e;
  if (!vector && e->sugar != SUGAR_BRACKET) return x;
  Expr *block = expr_block(a, e->span, 0, NULL, e);
  block->sugar = SUGAR_BRACES;
  x->expr = block;
  return x;
}

/* --- Records ------------------------------------------------------------- */

/* A value that an operand holds is written as that operand, whatever the record
 * knows of it. */
static const AttrExpr *write_value(Arena *a, const AttrSpec *spec,
                                   const AttrValue *v, const Expr *call) {
  if (v->operand >= 0) return write_operand(a, call->args[v->operand]);
  if (v->state == AV_NONE) return attr_new(a, AX_NONE);
  switch (spec->type) {
    case AT_INT: return write_int(a, v->integer);
    case AT_FLOAT: return write_float(a, v->real);
    case AT_STRING: return write_string(a, v->text);
    case AT_INTS: return write_ints(a, v);
    case AT_LISTS: return write_lists(a, v);
    case AT_FLOATS: return write_floats(a, v);
    case AT_INT_OR_INTS:
      return v->count < 0 ? write_int(a, v->integer) : write_ints(a, v);
    case AT_DTYPE:
      return write_string(a,
                          v->dtype == DTYPE_NONE ? "" : dtype_name(v->dtype));
    case AT_BOOL:
    case AT_IGNORED: break;
  }
  AttrExpr *x = attr_new(a, AX_BOOL);
  x->integer = !dim_is(v->integer, 0);
  return x;
}

const AttrExpr *types_written_value(Arena *a, const AttrSpec *spec,
                                    const AttrValue *v) {
  AttrValue known = *v;
  known.operand = -1;
  return write_value(a, spec, &known, NULL);
}

static bool same_ints(const AttrValue *a, const AttrValue *b) {
  for (int i = 0; i < a->count; i++)
    if (!dim_same(a->ints[i], b->ints[i])) return false;
  return true;
}

static bool same_reals(const AttrValue *a, const AttrValue *b) {
  for (int i = 0; i < a->count; i++)
    if (a->reals[i] != b->reals[i]) return false;
  return true;
}

/* Is it what the call has without it?  A list of lists has no default. */
static bool is_default(const AttrSpec *spec, const AttrValue *v,
                       const AttrValue *rest) {
  if (spec->type == AT_IGNORED) return true;
  if (v->operand >= 0 || spec->required || v->state != rest->state)
    return false;
  if (v->state == AV_NONE) return true;
  switch (spec->type) {
    case AT_FLOAT: return v->real == rest->real;
    case AT_STRING:
      return rest->text && v->text && strcmp(v->text, rest->text) == 0;
    case AT_DTYPE: return v->dtype == rest->dtype;
    case AT_LISTS: return v->count == 0 && rest->count == 0;
    case AT_FLOATS: return v->count == rest->count && same_reals(v, rest);
    case AT_INTS:
    case AT_INT_OR_INTS:
      if (v->count != rest->count) return false;
      if (v->count >= 0) return same_ints(v, rest);
      break;
    default: break;
  }
  return dim_same(v->integer, rest->integer);
}

/* Operands that hold attributes stand after the others, so the first of them
 * ends the positional arguments. */
int types_written_attrs(Arena *a, NameTable *names, const Expr *call,
                        const Attr **attrs, int *operands) {
  const Attrs *bound = call->call.bound;
  Attr *list = ARENA_ARRAY(a, Attr, (size_t)bound->op->attr_count);
  Attrs rest;
  int count = 0;
  attrs_defaults(bound->op, &rest);
  *attrs = list;
  *operands = call->count;
  for (int i = 0; i < bound->op->attr_count; i++) {
    const AttrSpec *spec = &bound->op->attrs[i];
    const AttrValue *v = &bound->values[i];
    if (is_default(spec, v, &rest.values[i])) continue;
    if (v->operand >= 0 && v->operand < *operands) *operands = v->operand;
    list[count++] = (Attr){.name = name_of(names, attr_name_text(spec->name)),
                           .value = write_value(a, spec, v, call)};
  }
  return count;
}
