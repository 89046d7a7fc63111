/* Operators on values that are known before the program runs (known.h).
 *
 * Each function is the operator's definition over Dims.  It gives up rather
 * than guess: a number that its dtype does not hold would wrap around when the
 * program runs, and becomes `?`; so does the name of a dimension in a dtype
 * that need not hold every dimension. */
#include "ops/known.h"

#include "ops/ops.h"
#include "ops/rules/slice.h"

/* --- Making values -------------------------------------------------------- */

static Dim fit(DType dtype, Dim d) {
  static const struct {
    int64_t least, most;
  } ranges[DTYPE_COUNT] = {
      [DT_BOOL] = {0, 1},
      [DT_INT8] = {INT8_MIN, INT8_MAX},
      [DT_INT16] = {INT16_MIN, INT16_MAX},
      [DT_INT32] = {INT32_MIN, INT32_MAX},
      [DT_INT64] = {INT64_MIN, INT64_MAX},
      [DT_UINT8] = {0, UINT8_MAX},
      [DT_UINT16] = {0, UINT16_MAX},
      [DT_UINT32] = {0, UINT32_MAX},
      [DT_UINT64] = {0, INT64_MAX},
  };
  if (dim_is_hole(d)) return d;
  if (dim_is_form(d))
    return dtype == DT_INT32 || dtype == DT_INT64 ? d : DIM_ANY;
  if (!dim_is_number(d) || dim_below(d, ranges[dtype].least) ||
      dim_above(d, ranges[dtype].most))
    return DIM_ANY;
  return d;
}

/* A value with room for its elements, which the caller sets; NULL: there are
 * too many of them, or it is a value of another kind. */
static Dim *make(const RuleCall *c, Known *out, DType dtype, int rank,
                 int64_t count) {
  if ((dtype != DT_BOOL && !dtype_is_int(dtype)) || rank < 0 || rank > 1 ||
      count < 0 || count > KNOWN_MAX)
    return NULL;
  Dim *items = ARENA_ARRAY(c->arena, Dim, (size_t)count + 1);
  *out = (Known){.dtype = dtype, .rank = rank, .count = (int)count};
  out->items = items;
  return items;
}

static DType dtype_or(const RuleCall *c, DType otherwise) {
  DType dtype = attr_dtype(c->attrs, ATTR_dtype);
  return dtype == DTYPE_NONE ? otherwise : dtype;
}

static bool is_first_axis(const RuleCall *c, AttrName name) {
  const AttrValue *axis = attr_get(c->attrs, name);
  return axis->state == AV_NONE || dim_is(axis->integer, 0) ||
         dim_is(axis->integer, -1);
}

/* --- Element by element --------------------------------------------------- */

typedef Dim DimFn(DimTable *t, Dim a, Dim b);

static bool elementwise(const RuleCall *c, Known *out, DimFn *f) {
  const Known *a = c->args[0].value, *b = c->args[c->count - 1].value;
  if (!a || !b || a->dtype != b->dtype) return false;
  if (a->count != b->count && a->count != 1 && b->count != 1) return false;
  Dim *items = make(c, out, op_rule(c->op)->gives_bool ? DT_BOOL : a->dtype,
                    a->rank > b->rank ? a->rank : b->rank,
                    a->count == 1 ? b->count : a->count);
  for (int i = 0; items && i < out->count; i++) {
    Dim x = a->items[a->count == 1 ? 0 : i],
        y = b->items[b->count == 1 ? 0 : i];
    Dim d = dim_is_hole(x) || dim_is_hole(y) ? DIM_HOLE
            : dim_is_any(x) || dim_is_any(y) ? DIM_ANY
                                             : f(c->dims, x, y);
    items[i] = fit(out->dtype, d);
  }
  return items != NULL;
}

/* Of numbers only: names stand for more than one. */
#define ON_NUMBERS(name, condition, expression)                 \
  static Dim name##_dims(DimTable *t, Dim p, Dim q) {           \
    (void)t;                                                    \
    if (!dim_is_number(p) || !dim_is_number(q)) return DIM_ANY; \
    int64_t a = dim_value(p), b = dim_value(q);                 \
    return (condition) ? dim_of(expression) : DIM_ANY;          \
  }                                                             \
  bool known_##name(const RuleCall *c, Known *out) {            \
    return elementwise(c, out, name##_dims);                    \
  }

/* Numbers are above INT64_MIN (dim.h), so that no quotient overflows. */
ON_NUMBERS(negative, b == a, -a)
ON_NUMBERS(divide, b != 0, a / b)
ON_NUMBERS(floor_divide, b != 0, a / b - (a % b != 0 && (a < 0) != (b < 0)))
ON_NUMBERS(mod, b != 0, a % b)
ON_NUMBERS(floor_mod, b != 0,
           a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0))
ON_NUMBERS(maximum, true, a > b ? a : b)
ON_NUMBERS(minimum, true, a < b ? a : b)
ON_NUMBERS(less, true, a < b)
ON_NUMBERS(less_equal, true, a <= b)
ON_NUMBERS(greater, true, a > b)
ON_NUMBERS(greater_equal, true, a >= b)
ON_NUMBERS(logical_not, b == a, !a)
#undef ON_NUMBERS

/* Names decide equality alone: n == n, n + 1 != n. */
static Dim truth(Truth t) { return t == MAYBE ? DIM_ANY : dim_of(t == YES); }

static Dim equal_dims(DimTable *t, Dim a, Dim b) {
  (void)t;
  return truth(dim_equal(a, b));
}
static Dim not_equal_dims(DimTable *t, Dim a, Dim b) {
  Dim equal = equal_dims(t, a, b);
  return dim_is_any(equal) ? equal : dim_of(dim_is(equal, 0));
}
bool known_equal(const RuleCall *c, Known *out) {
  return elementwise(c, out, equal_dims);
}
bool known_not_equal(const RuleCall *c, Known *out) {
  return elementwise(c, out, not_equal_dims);
}

/* A bool is whether a number differs from 0. */
bool known_cast(const RuleCall *c, Known *out) {
  const Known *x = c->args[0].value;
  Dim *items =
      x ? make(c, out, attr_dtype(c->attrs, ATTR_dtype), x->rank, x->count)
        : NULL;
  for (int i = 0; items && i < x->count; i++) {
    Dim d = x->items[i];
    if (out->dtype == DT_BOOL && dim_is_number(d)) d = dim_of(!dim_is(d, 0));
    items[i] = fit(out->dtype, d);
  }
  return items != NULL;
}

/* --- Shapes --------------------------------------------------------------- */

bool known_shape_of(const RuleCall *c, Known *out) {
  const RuleType *x = &c->args[0];
  Dim *items = make(c, out, dtype_or(c, DT_INT32), 1, x->rank);
  for (int i = 0; items && i < x->rank; i++)
    items[i] = fit(out->dtype, x->dims[i]);
  return items != NULL;
}

bool known_ndarray_size(const RuleCall *c, Known *out) {
  const RuleType *x = &c->args[0];
  Dim *items = make(c, out, dtype_or(c, DT_INT32), 0, 1);
  if (!items || x->rank < 0) return false;
  items[0] = fit(out->dtype, dim_product(c->dims, x->rank, x->dims));
  return true;
}

/* --- Elements moved ------------------------------------------------------- */

/* The same elements; the rule tells in which shape. */
bool known_same(const RuleCall *c, Known *out) {
  const Known *x = c->args[0].value;
  RuleCall asked = *c;
  if (!x || rule_run(&asked) != RULE_OK) return false;
  Dim *items = make(c, out, x->dtype, asked.result.rank, x->count);
  for (int i = 0; items && i < x->count; i++) items[i] = x->items[i];
  return items != NULL;
}

bool known_take(const RuleCall *c, Known *out) {
  const Known *x = c->args[0].value, *at = c->args[1].value;
  if (!x || !at || x->rank != 1 || x->count == 0 || c->args[1].dtype == DT_BOOL)
    return false;
  if (!is_first_axis(c, ATTR_axis) ||
      !dim_is(attr_int(c->attrs, ATTR_batch_dims), 0))
    return false;
  int mode = attr_word(c->attrs, ATTR_mode);
  Dim *items = make(c, out, x->dtype, at->rank, at->count);
  int64_t n = x->count;
  for (int i = 0; items && i < at->count; i++) {
    items[i] = dim_is_hole(at->items[i]) ? DIM_HOLE : DIM_ANY;
    if (!dim_is_number(at->items[i])) continue;
    int64_t k = dim_value(at->items[i]);
    if (mode == TAKE_CLIP) k = k < 0 ? 0 : k < n ? k : n - 1;
    else if (mode == TAKE_WRAP) k = (k % n + n) % n;
    if (k >= 0 && k < n) items[i] = x->items[k];
  }
  return items != NULL;
}

bool known_strided_slice(const RuleCall *c, Known *out) {
  const Known *x = c->args[0].value;
  RuleCall asked = *c;
  if (!x || x->rank != 1 || rule_run(&asked) != RULE_OK) return false;
  Slice slice = {.step = 1, .count = x->count};
  if (slice_count(c->attrs, 1) == 1) {
    SliceSpec s = slice_spec(c->attrs, 0, dim_of(x->count));
    if (!dim_is_number(s.begin) || !dim_is_number(s.end) ||
        !dim_is_number(s.step) || dim_is(s.step, 0) ||
        !slice_bounds(x->count, dim_value(s.begin), dim_value(s.end),
                      dim_value(s.step), &slice))
      return false;
  }
  Dim *items = make(c, out, x->dtype, 1, slice.count);
  for (int i = 0; items && i < out->count; i++)
    items[i] = x->items[slice.first + i * slice.step];
  return items != NULL;
}

/* Fields of one rank, one after the other. */
static bool join(const RuleCall *c, Known *out, int rank) {
  const RuleType *x = &c->args[0];
  const Known *one = NULL;
  int64_t count = 0;
  if (x->kind != RT_TUPLE || !is_first_axis(c, ATTR_axis)) return false;
  for (int i = 0; i < x->count; i++) {
    const Known *part = x->fields[i].value;
    if (part && (part->rank != rank || (one && part->dtype != one->dtype)))
      return false;
    if (!part && rank > 0) return false;
    one = part ? part : one;
    count += part ? part->count : 1;
  }
  Dim *items = one ? make(c, out, one->dtype, 1, count) : NULL;
  for (int i = 0; items && i < x->count; i++) {
    const Known *part = x->fields[i].value;
    if (!part) *items++ = DIM_ANY;
    for (int k = 0; part && k < part->count; k++) *items++ = part->items[k];
  }
  return items != NULL;
}
bool known_concatenate(const RuleCall *c, Known *out) {
  return join(c, out, 1);
}
/* Where one field is a scalar all are, also those of which nothing is known. */
bool known_stack(const RuleCall *c, Known *out) { return join(c, out, 0); }

/* --- Reductions and fillings ---------------------------------------------- */

/* Over all elements, to a scalar. */
static bool reduce(const RuleCall *c, Known *out, int64_t start, DimFn *f) {
  const Known *x = c->args[0].value;
  RuleCall asked = *c;
  if (!x || x->rank != 1 || rule_run(&asked) != RULE_OK ||
      asked.result.rank != 0)
    return false;
  Dim *items = make(c, out, asked.result.dtype, 0, 1);
  if (!items) return false;
  Dim all = dim_of(start);
  for (int i = 0; i < x->count; i++)
    all = fit(out->dtype, f(c->dims, all, x->items[i]));
  items[0] = all;
  return true;
}
bool known_sum(const RuleCall *c, Known *out) {
  return reduce(c, out, 0, dim_add);
}
bool known_prod(const RuleCall *c, Known *out) {
  return reduce(c, out, 1, dim_mul);
}

static bool fill(const RuleCall *c, Known *out, Dim value) {
  RuleCall asked = *c;
  if (rule_run(&asked) != RULE_OK || asked.result.kind != RT_TENSOR)
    return false;
  const RuleType *t = &asked.result;
  Dim count = t->rank == 1 ? t->dims[0] : dim_of(1);
  if (!dim_is_number(count)) return false;
  Dim *items = make(c, out, t->dtype, t->rank, dim_value(count));
  for (int i = 0; items && i < out->count; i++)
    items[i] = fit(out->dtype, value);
  return items != NULL;
}
bool known_full(const RuleCall *c, Known *out) {
  const Known *x = c->args[0].value;
  return x && x->rank == 0 && fill(c, out, x->items[0]);
}
bool known_ones(const RuleCall *c, Known *out) {
  return fill(c, out, dim_of(1));
}
bool known_zeros(const RuleCall *c, Known *out) {
  return fill(c, out, dim_of(0));
}

/* --- The doors ------------------------------------------------------------ */

bool op_known(const RuleCall *c, Known *out) {
  if (c->op->known) return c->op->known(c, out);
  return c->op->dim && elementwise(c, out, c->op->dim);
}

void attr_set_known(const AttrSpec *spec, const Known *known, Arena *arena,
                    AttrValue *v) {
  bool list = v->count != COUNT_SCALAR;
  if (spec->type == AT_FLOAT || spec->type == AT_FLOATS ||
      spec->type == AT_LISTS || (!list && known->count != 1))
    return;
  if (!list) {
    v->integer = known->items[0];
    return;
  }
  v->count = known->count;
  v->ints = arena_copy(arena, known->items,
                       (size_t)known->count * sizeof *known->items);
  if (!v->ints) v->count = 0;
}
