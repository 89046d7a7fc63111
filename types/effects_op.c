/* What applying an operator can do.  Its row in ops.def says whether it prints
 * and whether its kernel may fail; here stands when that, or a check of its
 * operands' shapes at run time, is ruled out by what the types tell. */
#include <string.h>

#include "types/effects.h"

/* --- Operands ----------------------------------------------------------- */

static const Type *operand(const OpUse *use, int i) {
  return use->args ? use->args[i]->type : use->types[i];
}

typedef bool (*DimTest)(Dim d);

static bool is_positive(Dim d) { return dim_is_number(d) && d > 0; }

/* Do all dimensions of the tensors in a type pass? */
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

/* Does an operand hold the value of an attribute? */
static bool has_attr_operand(const OpUse *use) {
  for (int i = 0; use->attrs && i < use->op->attr_count; i++) {
    const AttrValue *v = &use->attrs->values[i];
    if (v->state == AV_SET && v->operand >= 0) return true;
  }
  return false;
}

/* --- Kernels that may fail -------------------------------------------------
 * Whether the reason that the row gives cannot arise. */

/* Only integers cannot be divided by zero. */
static bool division_is_safe(const OpUse *use) {
  const Type *t = operand(use, 0);
  bool is_float = t->kind == TY_TENSOR && dtype_is_float((DType)t->dtype);
  return is_float || (use->count == 2 && is_nonzero(use, 1));
}

/* An axis without elements has no largest, and nothing to take. */
static bool reduction_is_safe(const OpUse *use) {
  return all_dims(operand(use, 0), is_positive);
}

/* Mode "fast" refuses an index that is out of range; these bend it. */
static bool take_is_safe(const OpUse *use) {
  if (!use->attrs) return false;
  const char *mode = attr_get(use->attrs, ATTR_mode)->text;
  bool bends = strcmp(mode, "clip") == 0 || strcmp(mode, "wrap") == 0;
  return bends && reduction_is_safe(use);
}

typedef bool (*UseTest)(const OpUse *use);

typedef struct RuleTest {
  RuleFn rule;
  UseTest test;
} RuleTest;

static const RuleTest safe_kernels[] = {
    {rule_broadcast_number, division_is_safe},
    {rule_reduce, reduction_is_safe},
    {rule_reduce_arg, reduction_is_safe},
    {rule_reduce_number, reduction_is_safe},
    {rule_take, take_is_safe},
};

/* --- Rules that may fail at run time ---------------------------------------
 * Whether operands whose dimensions are not all known fit all the same. */

static bool always(const OpUse *use) {
  (void)use;
  return true;
}

/* From the right, wherever both have a dimension: equal, or one of them 1. */
static bool pair_broadcasts(const Type *a, const Type *b) {
  for (int i = 1; i <= a->rank && i <= b->rank; i++) {
    Dim x = a->dims[a->rank - i], y = b->dims[b->rank - i];
    if (x != 1 && y != 1 && dim_equal(x, y) != YES) return false;
  }
  return true;
}

static bool broadcasts(const OpUse *use) {
  for (int i = 0; i < use->count; i++) {
    if (operand(use, i)->kind != TY_TENSOR) return false;
    for (int k = 0; k < i; k++)
      if (!pair_broadcasts(operand(use, k), operand(use, i))) return false;
  }
  return true;
}

/* Only a batch is compared. */
static bool take_fits(const OpUse *use) {
  return use->attrs && attr_int(use->attrs, ATTR_batch_dims) == 0;
}

static const RuleTest safe_rules[] = {
    {rule_same, always},
    {rule_unary, always},
    {rule_unary_float, always},
    {rule_unary_bits, always},
    {rule_unary_bool, always},
    {rule_float_test, always},
    {rule_cast, always},
    {rule_cast_like, always},
    {rule_reinterpret, always},
    {rule_reduce, always},
    {rule_reduce_number, always},
    {rule_reduce_bool, always},
    {rule_reduce_arg, always},
    {rule_scan, always},
    {rule_softmax, always},
    {rule_dropout, always},
    {rule_transpose, always},
    {rule_expand_dims, always},
    {rule_reverse, always},
    {rule_repeat, always},
    {rule_full_like, always},
    {rule_shape_of, always},
    {rule_ndarray_size, always},
    {rule_take, take_fits},
    {rule_argwhere, always},
    {rule_unique, always},
    {rule_sort, always},
    {rule_argsort, always},
    {rule_identity, always},
    {rule_print, always},
    {rule_print_text, always},
    {rule_broadcast, broadcasts},
    {rule_broadcast_number, broadcasts},
    {rule_broadcast_float, broadcasts},
    {rule_broadcast_bits, broadcasts},
    {rule_broadcast_int, broadcasts},
    {rule_broadcast_bool, broadcasts},
    {rule_compare, broadcasts},
    {rule_where, broadcasts},
};

/* --- All together ------------------------------------------------------- */

/* Does the table vouch for the use? */
static bool is_safe(const OpUse *use, const RuleTest *table, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (table[i].rule == use->op->rule) return table[i].test(use);
  return false;
}

#define IS_SAFE(use, table) \
  is_safe((use), (table), sizeof(table) / sizeof *(table))

static bool may_fail(const OpUse *use) {
  if (has_attr_operand(use)) return true;
  if ((use->op->flags & OP_MAY_FAIL) && !IS_SAFE(use, safe_kernels))
    return true;
  return !is_static(use) && !IS_SAFE(use, safe_rules);
}

Effects op_effects(const OpUse *use) {
  Effects print = use->op->flags & OP_PRINTS ? EFFECT_PRINT : 0;
  return may_fail(use) ? print | EFFECT_FAIL : print;
}
