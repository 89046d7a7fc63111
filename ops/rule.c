/* What all rules share: running one, checking that its operands are tensors,
 * reporting mistakes.  The rules themselves are in ops/rules/, one file per
 * family.
 *
 * A rule answers for types that are known in part:
 *
 *   RULE_OK      the result's type, with `?` where nothing better is known
 *   RULE_WAIT    a rank or dtype that it needs is not known yet: ask again
 *   RULE_ERROR   a message, and which operands it concerns
 *
 * It must be monotonic: what it says of a type with a hole, or `?`, must stay
 * true when the hole is filled.  So a check fails only on what is certainly
 * wrong (dim_equal(...) == NO), never on MAYBE; the run checks again when all
 * dimensions are numbers.
 *
 * Messages are written in the call's arena, and name the operator as the user
 * did. */
#include "ops/rules/support.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- Mistakes ------------------------------------------------------------ */

/* Formatted into the arena, cut after 511 bytes, so that no message grows with
 * the program. */
static const char *text_in(Arena *a, const char *format, va_list args) {
  char text[512];
  vsnprintf(text, sizeof text, format, args);
  return arena_strndup(a, text, strlen(text));
}

/* What the user wrote, where a rule runs for another operator. */
static const char *called(const RuleCall *c) {
  if (c->list) return "[...]";
  return c->named ? c->named->name : c->op->name;
}

/* Names the operator in front; RULE_ERROR, so that a rule can end with it. */
static RuleStatus mistake(RuleCall *c, DiagCode code, int culprit,
                          AttrName about, const char *text) {
  c->code = code;
  c->culprit = culprit;
  c->about = about;
  c->message = arena_printf(c->arena, "`%s`: %s", called(c), text);
  return RULE_ERROR;
}

RuleStatus rule_error(RuleCall *c, DiagCode code, int culprit,
                      const char *format, ...) {
  va_list args;
  va_start(args, format);
  const char *text = text_in(c->arena, format, args);
  va_end(args);
  return mistake(c, code, culprit, ATTR_NONE, text);
}

RuleStatus rule_attr_error(RuleCall *c, DiagCode code, AttrName name,
                           const char *format, ...) {
  va_list args;
  va_start(args, format);
  const char *text = text_in(c->arena, format, args);
  va_end(args);
  return mistake(c, code, -1, name, text);
}

/* A rule that does not say which value is wrong, since several of them do not
 * go together, blames the one that was computed, if there is but one. */
int rule_blamed(const RuleCall *c, const Attrs *written) {
  bool value = c->code == E0302 || c->code == E0303;
  int only = -1, computed = 0;
  if (c->culprit >= 0) return -1;
  for (int i = 0; i < c->op->attr_count; i++) {
    if (c->about == c->op->attrs[i].name) return i;
    if (written->values[i].operand < 0) continue;
    computed++;
    only = i;
  }
  return value && !c->about && computed == 1 ? only : -1;
}

/* What to write instead; goes with the message of rule_error(). */
RuleStatus rule_hint(RuleCall *c, const char *format, ...) {
  va_list args;
  va_start(args, format);
  c->hint = text_in(c->arena, format, args);
  va_end(args);
  return RULE_ERROR;
}

/* Nobody hears a warning while the program runs. */
void rule_warn(RuleCall *c, const char *format, ...) {
  if (!c->dims) return;
  va_list args;
  va_start(args, format);
  c->warning = text_in(c->arena, format, args);
  va_end(args);
}

/* A rule that runs another's on a changed call (blocks, quantized operators)
 * passes on what that one said. */
void rule_adopt(RuleCall *c, const RuleCall *inner) {
  c->code = inner->code;
  c->message = inner->message;
  c->hint = inner->hint;
  c->culprit = inner->culprit;
  c->about = inner->about;
  c->other = inner->other;
  c->warning = inner->warning;
}

/* As types print shapes: "(2, n)"; in the call's arena. */
const char *rule_dims_text(RuleCall *c, int rank, const Dim *dims) {
  StrBuf text;
  strbuf_init(&text, c->arena->mem);
  dims_print(c->dims, &text, rank, dims);
  const char *copy = arena_strndup(c->arena, strbuf_text(&text), text.len);
  strbuf_done(&text);
  return copy;
}

const char *rule_shape(RuleCall *c, int i) {
  return rule_dims_text(c, c->args[i].rank, c->args[i].dims);
}

/* A form is printed by the table and stripped of its parentheses. */
const char *rule_dim_text(RuleCall *c, Dim d) {
  if (dim_is_number(d))
    return arena_printf(c->arena, "%lld", (long long)dim_value(d));
  const char *text = rule_dims_text(c, 1, &d);
  return arena_strndup(c->arena, text + 1, strlen(text) - 2);
}

/* An index beyond the named operands is a field of the last one, a tuple. */
const char *rule_arg_name(RuleCall *c, int i) {
  int n = op_arg_count(c->op);
  OpArg arg = op_arg(c->op, i < n ? i : n - 1);
  return arena_strndup(c->arena, arg.name, (size_t)arg.len);
}

/* --- Operands ------------------------------------------------------------ */

/* Operands that hold attributes are not counted. */
int rule_operands(const RuleCall *c) {
  int n = c->count;
  for (int i = 0; i < c->op->attr_count; i++)
    n -= c->attrs->values[i].operand >= 0;
  return n;
}

/* Rank and dtype must be known, dims need not. */
static RuleStatus check_tensor(RuleCall *c, int i, const RuleType *t) {
  if (t->kind == RT_TUPLE || t->kind == RT_OTHER)
    return rule_error(
        c, E0212, i, "`%s` must be a tensor, not %s", rule_arg_name(c, i),
        t->kind == RT_TUPLE ? "a tuple" : "a function, data value or cell");
  bool known = t->kind == RT_TENSOR && t->rank >= 0 && t->dtype != DTYPE_NONE;
  return known ? RULE_OK : RULE_WAIT;
}

/* The hint is for the most frequent mistake with tuples: f(a, b) for f((a,
 * b)). */
static RuleStatus check_tuple(RuleCall *c, int i) {
  const RuleType *t = &c->args[i];
  if (t->kind == RT_UNKNOWN) return RULE_WAIT;
  if (t->kind != RT_TUPLE) {
    rule_error(c, E0212, i, "`%s` must be a tuple of tensors",
               rule_arg_name(c, i));
    return rule_hint(c, "write %s((a, b), ...), with two parentheses",
                     c->op->name);
  }
  RuleStatus all = RULE_OK;
  for (int k = 0; k < t->count; k++) {
    RuleStatus one = check_tensor(c, i, &t->fields[k]);
    if (one == RULE_ERROR) return one;
    if (one == RULE_WAIT) all = RULE_WAIT;
  }
  return all;
}

/* Every operand is a tensor of known rank and dtype, or a tuple of such.
 * Where the rule infers, only the first must be known. */
static RuleStatus check_operands(RuleCall *c) {
  int plain = rule_operands(c);
  bool tuples = strchr(c->op->args, '*');
  int named = tuples ? op_arg_count(c->op) : 0;
  RuleStatus all = RULE_OK;
  int count = c->op->fills ? op_arg_count(c->op) : c->count;
  for (int i = 0; i < count; i++) {
    bool tuple = i < plain && i < named && op_arg(c->op, i).tuple;
    RuleStatus one =
        tuple ? check_tuple(c, i) : check_tensor(c, i, &c->args[i]);
    if (one == RULE_ERROR) return one;
    bool inferred = c->op->infers && i > 0 && i < plain;
    if (one == RULE_WAIT && !inferred) all = RULE_WAIT;
  }
  return all;
}

/* No tensor has a dimension that overflowed, or as many bytes; those of an
 * empty one count as if its zeros were not there, so that no stride overflows.
 * At run time a dimension is `?` where only the kernel knows it.  This is what
 * lets kernels multiply a result's dimensions without a check. */
static RuleStatus check_size(RuleCall *c, const RuleType *t) {
  if (t->kind == RT_TUPLE) {
    for (int i = 0; i < t->count; i++)
      if (check_size(c, &t->fields[i]) != RULE_OK) return RULE_ERROR;
    return RULE_OK;
  }
  if (t->kind != RT_TENSOR) return RULE_OK;
  int64_t bytes = (int64_t)dtype_size(t->dtype);
  bool all_known = !c->dims && c->op->storage != STORE_MAKE, large = false;
  for (int i = 0; i < t->rank; i++)
    if (dim_above(t->dims[i], 0))
      large |= __builtin_mul_overflow(bytes, dim_value(t->dims[i]), &bytes);
    else if (!dim_is(t->dims[i], 0))
      large |= all_known || dim_is_huge(t->dims[i]) || dim_below(t->dims[i], 0);
  if (!large) return RULE_OK;
  return rule_error(c, E0214, -1, "a result of shape %s is too large",
                    rule_dims_text(c, t->rank, t->dims));
}

/* "a|b|c" as "a", "b" or "c". */
static const char *words_text(RuleCall *c, const char *words) {
  const char *text = "";
  for (const char *p = words; *p;) {
    int len = (int)strcspn(p, "|");
    const char *rest = p[len] ? p + len + 1 : "";
    text = arena_printf(c->arena, "%s%s\"%.*s\"", text,
                        p == words ? ""
                        : *rest    ? ", "
                                   : " or ",
                        len, p);
    p = rest;
  }
  return text;
}

/* A word is one of the row's, and no integer has overflowed. */
static RuleStatus check_attrs(RuleCall *c) {
  for (int i = 0; i < c->op->attr_count; i++) {
    const AttrSpec *a = &c->op->attrs[i];
    if (dim_is_huge(c->attrs->values[i].integer))
      return rule_attr_error(c, E0303, a->name, "%s is out of range",
                             attr_name_text(a->name));
    if (a->words && attr_word(c->attrs, a->name) < 0)
      return rule_attr_error(c, E0303, a->name, "%s is %s, not \"%s\"",
                             attr_name_text(a->name), words_text(c, a->words),
                             attr_text(c->attrs, a->name));
  }
  return RULE_OK;
}

/* Before the rule: operands are tensors of known rank and dtype, and attributes
 * have values that they may have.  After it: the result has a size.  So a rule
 * deals with neither. */
RuleStatus rule_run(RuleCall *c) {
  c->culprit = c->other = -1;
  c->about = ATTR_NONE;
  c->message = c->hint = NULL;
  c->result = (RuleType){.kind = RT_UNKNOWN, .dtype = DTYPE_NONE, .rank = -1};
  if (!c->op->takes_any) {
    RuleStatus status = check_operands(c);
    if (status != RULE_OK) return status;
  }
  if (check_attrs(c) != RULE_OK) return RULE_ERROR;
  RuleStatus status = op_rule(c->op)->run(c);
  return status == RULE_OK ? check_size(c, &c->result) : status;
}

/* --- Results ------------------------------------------------------------- */

RuleType rule_tensor(DType dtype, int rank, const Dim *dims) {
  RuleType t = {.kind = RT_TENSOR, .dtype = dtype, .rank = rank};
  if (rank > 0) memcpy(t.dims, dims, (size_t)rank * sizeof *dims);
  return t;
}

RuleStatus rule_result(RuleCall *c, DType dtype, int rank, const Dim *dims) {
  if (rank > RANK_MAX)
    return rule_error(c, E0208, 0,
                      "the result would have rank %d; at most %d "
                      "is possible",
                      rank, RANK_MAX);
  c->result = rule_tensor(dtype, rank, dims);
  return RULE_OK;
}

RuleStatus rule_result_alike(RuleCall *c) {
  RuleType first = c->args[0];
  return rule_result(c, first.dtype, first.rank, first.dims);
}

RuleType *rule_result_tuple(RuleCall *c, int n) {
  c->result =
      (RuleType){.kind = RT_TUPLE, .rank = -1, .count = n, .dtype = DTYPE_NONE};
  c->result.fields = ARENA_ARRAY(c->arena, RuleType, (size_t)n);
  if (!c->result.fields)
    rule_error(c, E0214, -1, "memory runs out for a result of %d parts", n);
  return c->result.fields;
}

/* --- Requirements -------------------------------------------------------- */

bool rule_rank(RuleCall *c, int i, int rank) {
  if (c->args[i].rank == rank) return true;
  rule_error(c, E0208, i, "`%s` must have rank %d, not shape %s",
             rule_arg_name(c, i), rank, rule_shape(c, i));
  return false;
}

bool rule_min_rank(RuleCall *c, int i, int rank) {
  if (c->args[i].rank >= rank) return true;
  rule_error(c, E0208, i, "`%s` must have rank %d or more, not shape %s",
             rule_arg_name(c, i), rank, rule_shape(c, i));
  return false;
}

bool rule_dtype(RuleCall *c, int i, DType dtype) {
  if (c->args[i].dtype == dtype) return true;
  rule_error(c, E0207, i, "`%s` must be %s, not %s", rule_arg_name(c, i),
             dtype_name(dtype), dtype_name(c->args[i].dtype));
  return false;
}

/* The hint depends on the pair: bools are no numbers, and among numbers the
 * float's suffix is the likely one. */
bool rule_same_dtype(RuleCall *c, int i, int k) {
  DType a = c->args[i].dtype, b = c->args[k].dtype;
  if (a == b) return true;
  rule_error(c, E0207, k, "operands have dtypes %s and %s", dtype_name(a),
             dtype_name(b));
  c->other = i;
  const char *to = dtype_is_float(a) || !dtype_is_float(b)
                       ? dtype_info[a].suffix
                       : dtype_info[b].suffix;
  if (a == DT_BOOL || b == DT_BOOL)
    rule_hint(c, "a bool is no number; comparisons are joined by `&&`");
  else
    rule_hint(c,
              "dtypes never convert by themselves: cast one of them, or "
              "give a literal the suffix of the other, as in 1%s",
              strcmp(to, "f32") == 0 ? "f" : to);
  return false;
}

static const char *class_words[] = {
    [TAKES_ANY] = "all",       [TAKES_FLOAT] = "floating-point",
    [TAKES_INT] = "integer",   [TAKES_BITS] = "integer or bool",
    [TAKES_BOOL] = "bool",     [TAKES_NUMBER] = "numeric",
    [TAKES_SIGNED] = "signed",
};

/* By class alone, so a new dtype belongs to the right sets without a change
 * here. */
bool dtype_is_in(DType t, TypeClass class) {
  DTypeClass of = dtype_info[t].class;
  switch (class) {
    case TAKES_ANY: return true;
    case TAKES_FLOAT: return of == CLASS_F;
    case TAKES_INT: return of == CLASS_I || of == CLASS_U;
    case TAKES_BITS: return of != CLASS_F;
    case TAKES_BOOL: return of == CLASS_B;
    case TAKES_NUMBER: return of != CLASS_B;
    case TAKES_SIGNED: return of == CLASS_I || of == CLASS_F;
  }
  return false;
}

/* Integers do not become floats by themselves: the hint names the cast. */
bool rule_class(RuleCall *c, int i, TypeClass class) {
  DType t = c->args[i].dtype;
  if (dtype_is_in(t, class)) return true;
  rule_error(c, E0304, i, "takes %s tensors, `%s` is %s", class_words[class],
             rule_arg_name(c, i), dtype_name(t));
  if (class == TAKES_FLOAT)
    rule_hint(c, "cast it first: cast(x, dtype=\"float32\")");
  return false;
}

/* Fails only where a dimension is certainly another. */
bool rule_fits(RuleCall *c, int i, int rank, const Dim *dims) {
  RuleType *t = &c->args[i];
  if (t->rank == rank) {
    int axis = 0;
    while (axis < rank && dim_equal(t->dims[axis], dims[axis]) != NO) axis++;
    if (axis == rank) return true;
  }
  rule_error(c, t->rank == rank ? E0209 : E0208, i,
             "`%s` must have shape %s, not %s", rule_arg_name(c, i),
             rule_dims_text(c, rank, dims), rule_shape(c, i));
  return false;
}

/* Fills in what is not known of the operand (a weight's shape follows from the
 * data's and the attributes), then checks it like any other. */
bool rule_expect(RuleCall *c, int i, DType dtype, int rank, const Dim *dims) {
  RuleType *t = &c->args[i];
  if (t->kind == RT_UNKNOWN)
    *t = (RuleType){.kind = RT_TENSOR, .dtype = DTYPE_NONE, .rank = -1};
  if (t->dtype == DTYPE_NONE) t->dtype = dtype;
  if (t->rank < 0) {
    t->rank = rank;
    for (int k = 0; k < rank; k++) t->dims[k] = DIM_HOLE;
  }
  if (t->rank == rank)
    for (int k = 0; k < rank; k++)
      if (dim_is_hole(t->dims[k])) t->dims[k] = dims[k];
  return rule_dtype(c, i, dtype) && rule_fits(c, i, rank, dims);
}

/* Relay casts both to the result's dtype, so uint8 by int8 is a product of
 * integers; a float and an integer have no such reading. */
DType rule_weight_dtype(const RuleCall *c) {
  DType x = c->args[0].dtype, w = c->args[1].dtype;
  bool apart = w != DTYPE_NONE && dtype_is_int(x) && dtype_is_int(w);
  return apart ? w : x;
}

DType rule_dtype_or_int32(const RuleCall *c) {
  DType dtype = attr_dtype(c->attrs, ATTR_dtype);
  return dtype == DTYPE_NONE ? DT_INT32 : dtype;
}

/* --- Integer attributes --------------------------------------------------- */

/* Passes `?` and forms: the run will know. */
bool rule_in_range(RuleCall *c, AttrName name, Dim value, int64_t least,
                   int64_t most) {
  if (!dim_is_number(value) && !dim_is_huge(value)) return true;
  if (dim_is_number(value) && !dim_below(value, least) &&
      !dim_above(value, most))
    return true;
  const char *given = rule_dim_text(c, value);
  if (most == INT64_MAX)
    rule_attr_error(c, E0303, name, "`%s`: %s is less than %lld",
                    attr_name_text(name), given, (long long)least);
  else
    rule_attr_error(c, E0303, name, "`%s`: %s is not from %lld to %lld",
                    attr_name_text(name), given, (long long)least,
                    (long long)most);
  return false;
}

/* For attributes that are no expressions, hence always numbers. */
bool rule_number(RuleCall *c, AttrName name, int64_t least, int64_t most,
                 int64_t *number) {
  Dim value = attr_int(c->attrs, name);
  if (!rule_in_range(c, name, value, least, most)) return false;
  *number = dim_value(value);
  return true;
}

/* --- Axes ---------------------------------------------------------------- */

/* The range is -rank .. rank - 1, as in NumPy; a scalar has no axis at all. */
bool rule_axis_value(RuleCall *c, AttrName name, Dim value, int rank,
                     int *axis) {
  if (!dim_is_number(value) || dim_below(value, -rank) ||
      !dim_below(value, rank)) {
    rule_attr_error(c, E0302, name, "axis %s is out of range for rank %d",
                    rule_dim_text(c, value), rank);
    if (rank > 0) rule_hint(c, "axes run from %d to %d", -rank, rank - 1);
    return false;
  }
  *axis = axis_from(dim_value(value), rank);
  return true;
}

bool rule_axis(RuleCall *c, AttrName name, int rank, int *axis) {
  return rule_axis_value(c, name, attr_int(c->attrs, name), rank, axis);
}

/* Axes as bits, so sets cost nothing to pass; naming an axis twice is a
 * mistake. */
bool rule_axis_set(RuleCall *c, AttrName name, int rank, AxisSet *set) {
  const AttrValue *v = attr_get(c->attrs, name);
  *set = 0;
  for (int i = 0; i < v->count; i++) {
    int axis;
    if (!rule_axis_value(c, name, v->ints[i], rank, &axis)) return false;
    if (*set >> axis & 1) {
      rule_attr_error(c, E0303, name, "axis %d is named twice", axis);
      return false;
    }
    *set |= 1u << axis;
  }
  return true;
}

/* --- Dimensions ---------------------------------------------------------- */

/* Number over form over `?` over hole: the more definite of the two.  Meant for
 * dims that have been found compatible. */
Dim rule_meet(Dim a, Dim b) {
  if (dim_is_number(a)) return a;
  if (dim_is_number(b)) return b;
  if (dim_is_form(a)) return a;
  if (dim_is_form(b)) return b;
  return dim_is_hole(a) ? a : b;
}

/*   1, d -> d    d, d -> d    n, 3 -> 3    n, m -> ?    ?, n -> ?
 *
 * Where nothing else is known a name may be 1, and then gives way: n against m
 * may turn out as either.  n against 3 must be 1 or 3, and both give 3.  False
 * when they certainly differ. */
static bool broadcast_dim(Dim a, Dim b, Dim *out) {
  if (dim_is(a, 1) || dim_is(b, 1)) {
    *out = dim_is(a, 1) ? b : a;
    return true;
  }
  Truth equal = dim_equal(a, b);
  if (equal == NO) return false;
  bool named = dim_is_form(a) || dim_is_form(b);
  bool decided = equal == YES || dim_is_number(a) || dim_is_number(b) ||
                 dim_is_hole(a) || dim_is_hole(b);
  *out = named && !decided ? DIM_ANY : rule_meet(a, b);
  return true;
}

/* The i-th dimension from the right, from 1; 1 where there is none, since
 * missing dims broadcast. */
static Dim from_right(const RuleType *t, int i) {
  return i <= t->rank ? t->dims[t->rank - i] : dim_of(1);
}

/* Aligned at the right.  Two operands of rank up to RANK_MAX give no higher
 * rank. */
bool rule_broadcast_dims(const RuleType *a, const RuleType *b, RuleType *out) {
  int rank = a->rank > b->rank ? a->rank : b->rank;
  Dim dims[RANK_MAX];
  for (int i = 1; i <= rank; i++)
    if (!broadcast_dim(from_right(a, i), from_right(b, i), &dims[rank - i]))
      return false;
  DType dtype = out->dtype;
  *out = rule_tensor(dtype, rank, dims);
  return true;
}

/* Names the first dimensions from the right that do not fit; there are some,
 * since the caller has found that the shapes do not broadcast. */
static void hint_broadcast(RuleCall *c, const RuleType *a, const RuleType *b) {
  Dim met;
  int i = 1;
  while (broadcast_dim(from_right(a, i), from_right(b, i), &met)) i++;
  rule_hint(c, "%s dimensions must be equal or 1; %s and %s are neither",
            i == 1   ? "the last"
            : i == 2 ? "the last but one"
                     : "counted from the right,",
            rule_dim_text(c, from_right(a, i)),
            rule_dim_text(c, from_right(b, i)));
}

/* The message names both operands; the hint finds the dimensions to blame. */
bool rule_broadcast_pair(RuleCall *c, int i, int k, RuleType *out) {
  RuleType a = c->args[i], b = c->args[k];
  if (rule_broadcast_dims(&a, &b, out)) return true;
  c->code = E0203;
  c->culprit = k;
  c->message =
      arena_printf(c->arena, "operands of `%s` do not broadcast: %s and %s",
                   called(c), rule_shape(c, i), rule_shape(c, k));
  c->other = i;
  hint_broadcast(c, &a, &b);
  return false;
}
