/* What applying an operator can do.  Its row in ops.def says whether it prints
 * and why its kernel may fail, its rule's row which operands fit in any case;
 * here stands when that is ruled out by what the types tell. */
#include <string.h>

#include "types/effects.h"

/* --- Operands ----------------------------------------------------------- */

static const Type *operand(const OpUse *use, int i) {
  return use->args ? use->args[i]->type : use->types[i];
}

typedef bool (*DimTest)(Dim d);

static bool is_positive(Dim d) { return dim_above(d, 0); }

/* Do all dimensions of the tensors in a type pass?  Kinds other than tensors
 * and tuples have no dimensions that an operator reads. */
static bool all_dims(const Type *t, DimTest test) {
  if (t->kind == TY_TUPLE) {
    for (int i = 0; i < t->count; i++)
      if (!all_dims(t->args[i], test)) return false;
  }
  for (int i = 0; t->kind == TY_TENSOR && i < t->rank; i++)
    if (!test(t->dims[i])) return false;
  return true;
}

static bool is_static(const OpUse *use) {
  for (int i = 0; i < use->count; i++)
    if (!all_dims(operand(use, i), dim_is_number)) return false;
  return true;
}

/* Is the operand a literal without a zero in it? */
static bool is_nonzero(const OpUse *use, int i) {
  if (!use->args || use->args[i]->kind != EX_CONST) return false;
  const Tensor *t = use->args[i]->constant;
  int64_t count = tensor_count(t);
  for (int64_t k = 0; k < count; k++)
    if (tensor_i64_at(t, k) == 0) return false;
  return true;
}

/* --- Kernels that may fail ------------------------------------------------ */

/* Division by zero fails for integers only. */
static bool division_is_safe(const OpUse *use) {
  const Type *t = operand(use, 0);
  bool is_float = t->kind == TY_TENSOR && dtype_is_float((DType)t->dtype);
  return is_float || (use->count == 2 && is_nonzero(use, 1));
}

/* Mode "fast" refuses an index that is out of range; the other modes clip or
 * wrap it. */
static bool bends_index(const OpUse *use) {
  if (!use->attrs) return false;
  int mode = attr_word(use->attrs, ATTR_mode);
  return mode == TAKE_CLIP || mode == TAKE_WRAP;
}

/* Can the reason that the row gives for a failure not arise? */
static bool kernel_is_safe(const OpUse *use) {
  switch (use->op->fails) {
    case FAILS_NEVER: return true;
    case FAILS_DIVISOR: return division_is_safe(use);
    case FAILS_EMPTY: return all_dims(operand(use, 0), is_positive);
    case FAILS_INDEX:
      return bends_index(use) && all_dims(operand(use, 0), is_positive);
    case FAILS_DATA: return false;
  }
  return false;
}

/* --- Rules that may fail at run time -------------------------------------- */

/* Can the shapes always be broadcast?  From the right, wherever both have a
 * dimension, the two are equal or one of them is 1. */
static bool pair_broadcasts(const Type *a, const Type *b) {
  if (a->any_rank || b->any_rank) return false;
  for (int i = 1; i <= a->rank && i <= b->rank; i++) {
    Dim x = a->dims[a->rank - i], y = b->dims[b->rank - i];
    if (!dim_is(x, 1) && !dim_is(y, 1) && dim_equal(x, y) != YES) return false;
  }
  return true;
}

/* Shapes broadcast together exactly if each two of them do. */
static bool broadcasts(const OpUse *use) {
  for (int i = 0; i < use->count; i++) {
    if (operand(use, i)->kind != TY_TENSOR) return false;
    for (int k = 0; k < i; k++)
      if (!pair_broadcasts(operand(use, k), operand(use, i))) return false;
  }
  return true;
}

static bool has_rank(const Type *t) {
  for (int i = 0; t->kind == TY_TUPLE && i < t->count; i++)
    if (!has_rank(t->args[i])) return false;
  return !t->any_rank;
}

/* A rank that is not known may be one that the rule refuses. */
static bool have_ranks(const OpUse *use) {
  for (int i = 0; i < use->count; i++)
    if (!has_rank(operand(use, i))) return false;
  return true;
}

/* A product by a matrix, both of whose dimensions are known, takes any number
 * of rows as long as the checker has seen them to be. */
static bool rows_fit(const OpUse *use) {
  if (!use->op->packs || use->count != 2 || !use->attrs) return false;
  const Type *rows = operand(use, 0), *matrix = operand(use, 1);
  if (rows->kind != TY_TENSOR || rows->any_rank || rows->rank < 1) return false;
  if (attrs_have(use->attrs, ATTR_transpose_a) &&
      attr_bool(use->attrs, ATTR_transpose_a))
    return false;
  return dim_is_number(rows->dims[rows->rank - 1]) &&
         all_dims(matrix, dim_is_number) && !matrix->any_rank;
}

/* Do operands fit whatever their unknown dimensions turn out to be? */
static bool rule_is_safe(const OpUse *use) {
  switch (op_rule(use->op)->fits) {
    case FITS_KNOWN: return is_static(use) || rows_fit(use);
    case FITS_BROADCAST: return is_static(use) || broadcasts(use);
    case FITS_UNBATCHED:
      return is_static(use) ||
             (use->attrs && have_ranks(use) &&
              dim_is(attr_int(use->attrs, ATTR_batch_dims), 0));
    case FITS_ALWAYS: return have_ranks(use);
  }
  return false;
}

/* --- All together ------------------------------------------------------- */

/*   fails = an attribute is read at run time
 *           or the kernel may fail or the rule may refuse the shapes */
Effects op_effects(const OpUse *use) {
  bool computed = use->attrs && attrs_have_operands(use->attrs);
  bool safe = !computed && kernel_is_safe(use) && rule_is_safe(use);
  bool typed = use->op->prints ||
               (use->op->fills && use->count > op_arg_count(use->op)) ||
               (use->op->takes_any && use->op->many) || op_is_form(use->op);
  return (use->op->prints ? EFFECT_PRINT : 0) | (typed ? EFFECT_TYPED : 0) |
         (safe ? 0 : EFFECT_FAIL);
}
