/* Rules of operators that move elements without changing them: reshaping,
 * joining, slicing, padding.
 *
 * Most of the arithmetic is on dimensions that may be names: reshape divides
 * one product by another (tensor/dim.h), joining adds lengths.  A slice whose
 * bounds are not numbers has the length `?`, because clipping is no
 * polynomial. */
#include "ops/rules/slice.h"
#include "ops/rules/support.h"

#include <string.h>

/* --- reshape ----------------------------------------------------------------
 * newshape is read from the left beside the dims of x:
 *
 *    n > 0   n             -2   all remaining dims of x
 *    0       the next dim  -3   the product of the next two
 *    -1      what is left  -4   a, b: the next dim split in two, one may
 *                               be -1                                       */

typedef struct Reshape {
  RuleCall *call;
  const RuleType *x;
  const AttrValue *to;
  int next;    /* dims of x read so far */
  int unknown; /* where the result holds -1; -1: nowhere */
  int rank;
  bool reverse; /* both lists are walked from the right */
  Dim dims[RANK_MAX];
} Reshape;

static bool reshape_bad(Reshape *r, const char *why) {
  rule_attr_error(r->call, E0303, ATTR_newshape, "newshape %s for data %s: %s",
                  rule_dims_text(r->call, r->to->count, r->to->ints),
                  rule_shape(r->call, 0), why);
  return false;
}

/* Appends a dimension to the result. */
static bool reshape_put(Reshape *r, Dim d) {
  if (r->rank == RANK_MAX) return reshape_bad(r, "too many dimensions");
  r->dims[r->rank++] = d;
  return true;
}

/* The place of -1 is filled in at the end, when all others are known. */
static bool reshape_put_unknown(Reshape *r) {
  if (r->unknown >= 0) return reshape_bad(r, "only one -1 is possible");
  r->unknown = r->rank;
  return reshape_put(r, DIM_ANY);
}

/* Reads the next dimension of x: the next one to the left when reversed. */
static bool reshape_take(Reshape *r, Dim *d) {
  if (r->next >= r->x->rank)
    return reshape_bad(r, "it refers to more dimensions than there are");
  int at = r->next++;
  *d = r->x->dims[r->reverse ? r->x->rank - 1 - at : at];
  return true;
}

/* Item i of newshape, from the side that the walk begins at. */
static Dim reshape_code(const Reshape *r, int i) {
  return r->to->ints[r->reverse ? r->to->count - 1 - i : i];
}

static bool reshape_copy(Reshape *r) {
  Dim d = DIM_ANY;
  return reshape_take(r, &d) && reshape_put(r, d);
}

static bool reshape_rest(Reshape *r) {
  while (r->next < r->x->rank)
    if (!reshape_copy(r)) return false;
  return true;
}

static bool reshape_merge(Reshape *r) {
  Dim a = DIM_ANY, b = DIM_ANY;
  return reshape_take(r, &a) && reshape_take(r, &b) &&
         reshape_put(r, dim_mul(r->call->dims, a, b));
}

/* -4, a, b: a dim d as a * b, where a or b may be -1 and is then d / other. */
static bool reshape_split(Reshape *r, int i) {
  if (i + 2 >= r->to->count) return reshape_bad(r, "-4 needs two numbers");
  Dim d = DIM_ANY, part[2] = {reshape_code(r, i + 1), reshape_code(r, i + 2)};
  if (!reshape_take(r, &d)) return false;
  if (dim_is(part[0], -1) && dim_is(part[1], -1))
    return reshape_bad(r, "only one part after -4 may be -1");
  DimTable *t = r->call->dims;
  bool inexact = false;
  for (int k = 0; k < 2; k++)
    if (dim_is(part[k], -1))
      part[k] = dim_div_exact(t, d, part[1 - k], &inexact);
  if (inexact || dim_equal(dim_mul(t, part[0], part[1]), d) == NO)
    return reshape_bad(r,
                       "the two parts after -4 do not make up the "
                       "dimension");
  return reshape_put(r, part[0]) && reshape_put(r, part[1]);
}

/* One code; *i moves past what the code takes.  A code that is a name or `?` is
 * a dimension: only numbers are codes.  Every code but -2, -3 and -4 passes
 * over one dim of x, so that 0 means the dim at its own place. */
static bool reshape_step(Reshape *r, int *i) {
  Dim code = reshape_code(r, *i);
  bool keeps_zero = !r->reverse && attr_bool(r->call->attrs, ATTR_allowzero);
  switch (dim_is_number(code) ? dim_value(code) : 1) {
    case 0:
      return keeps_zero ? (r->next++, reshape_put(r, code)) : reshape_copy(r);
    case -1: return r->next++, reshape_put_unknown(r);
    case -2: return reshape_rest(r);
    case -3: return reshape_merge(r);
    case -4: *i += 2; return reshape_split(r, *i - 2);
    default: break;
  }
  if (dim_below(code, 0)) return reshape_bad(r, "the codes are -1 to -4");
  r->next++;
  return reshape_put(r, code);
}

/* Fills in the -1; false when the counts of elements cannot agree.  With a 0
 * among the others any length would do; 0 is chosen, for data that may be
 * empty. */
static bool reshape_finish(Reshape *r) {
  DimTable *t = r->call->dims;
  Dim all = dim_product(t, r->x->rank, r->x->dims);
  if (r->unknown < 0)
    return dim_equal(dim_product(t, r->rank, r->dims), all) != NO;
  r->dims[r->unknown] = dim_of(1);
  Dim others = dim_product(t, r->rank, r->dims);
  bool inexact = false;
  bool empty = dim_is(others, 0);
  Dim rest = empty ? dim_of(0) : dim_div_exact(t, all, others, &inexact);
  r->dims[r->unknown] = rest;
  return !inexact && !(empty && dim_equal(all, dim_of(0)) == NO);
}

/*   x : (d..., t)    product of e = product of d
 *   ---------------------------------------------
 *   reshape(x, newshape=e) : (e..., t)                                      */
RULE(reshape, "(d..., t) -> (newshape, t), as many elements");
/* Where an item of newshape is known at the run only, none of them may be a
 * code that takes or makes several dims. */
static RuleStatus rule_reshape(RuleCall *c) {
  const AttrValue *to = attr_get(c->attrs, ATTR_newshape);
  bool reverse = attr_bool(c->attrs, ATTR_reverse);
  int rank;
  Dim unused[RANK_MAX];
  Reshape r = {
      .call = c, .x = &c->args[0], .to = to, .unknown = -1, .reverse = reverse};
  if (to->count == COUNT_UNKNOWN)
    return rule_shape_attr(c, ATTR_newshape, &rank, unused);
  bool known = true;
  for (int i = 0; i < to->count; i++) known &= !dim_is_any(to->ints[i]);
  for (int i = 0; i < to->count; i++)
    if (!reshape_step(&r, &i)) return RULE_ERROR;
  if (!known && r.rank != to->count)
    return rule_error(c, E0303, to->operand,
                      "a computed newshape cannot change the rank");
  if (!reshape_finish(&r)) {
    rule_error(c, E0209, 0, "data %s does not have as many elements as %s",
               rule_shape(c, 0), rule_dims_text(c, to->count, to->ints));
    return rule_hint(c, "-1 in newshape stands for what is left");
  }
  for (int i = 0; reverse && i < r.rank / 2; i++) {
    Dim d = r.dims[i];
    r.dims[i] = r.dims[r.rank - 1 - i];
    r.dims[r.rank - 1 - i] = d;
  }
  return rule_result(c, c->args[0].dtype, r.rank, r.dims);
}

/* An end of a range of axes: None is `rank`, negative from the end. */
static bool range_end(RuleCall *c, AttrName name, int rank, int *end) {
  *end = rank;
  if (!attr_is_set(c->attrs, name)) return true;
  Dim v = attr_int(c->attrs, name);
  if (dim_is_number(v) && !dim_below(v, -rank) && !dim_above(v, rank)) {
    *end = axis_from(dim_value(v), rank);
    return true;
  }
  rule_attr_error(c, E0302, name, "`%s` is out of range for rank %d",
                  attr_name_text(name), rank);
  return false;
}

/*   x : (d..., t)    y : (e..., u)    product of d[lb:le] = that of e[rb:re]
 *   -------------------------------------------------------------------------
 *   reshape_like(x, y) : (d[:lb] e[rb:re] d[le:], t)                        */
RULE(reshape_like, "(d..., t), (e..., u) -> (e..., t), as many elements");
/* The ranges may be empty, or end before they begin, which counts as empty. */
static RuleStatus rule_reshape_like(RuleCall *c) {
  const RuleType *x = &c->args[0], *y = &c->args[1];
  int lb, le, rb, re, rank = 0;
  if (!range_end(c, ATTR_lhs_begin, x->rank, &lb) ||
      !range_end(c, ATTR_lhs_end, x->rank, &le) ||
      !range_end(c, ATTR_rhs_begin, y->rank, &rb) ||
      !range_end(c, ATTR_rhs_end, y->rank, &re))
    return RULE_ERROR;
  Dim from = dim_product(c->dims, le > lb ? le - lb : 0, x->dims + lb);
  Dim to = dim_product(c->dims, re > rb ? re - rb : 0, y->dims + rb);
  if (dim_equal(from, to) == NO)
    return rule_error(c, E0209, 1,
                      "shapes %s and %s differ in their number "
                      "of elements",
                      rule_shape(c, 0), rule_shape(c, 1));
  Dim dims[3 * RANK_MAX];
  for (int i = 0; i < lb; i++) dims[rank++] = x->dims[i];
  for (int i = rb; i < re; i++) dims[rank++] = y->dims[i];
  for (int i = le > lb ? le : lb; i < x->rank; i++) dims[rank++] = x->dims[i];
  return rule_result(c, x->dtype, rank, dims);
}

/*   x : (d1, ..., dr, t)    p a permutation of the axes, reversed by default
 *   -------------------------------------------------------------------------
 *   transpose(x, axes=p) : (d[p1], ..., d[pr], t)                           */
RULE(transpose, "(d..., t) -> (d[axes]..., t)", .fits = FITS_ALWAYS);
static RuleStatus rule_transpose(RuleCall *c) {
  const RuleType *x = &c->args[0];
  const AttrValue *axes = attr_get(c->attrs, ATTR_axes);
  Dim dims[RANK_MAX];
  AxisSet set;
  if (axes->state == AV_NONE || axes->count == 0) {
    for (int i = 0; i < x->rank; i++) dims[i] = x->dims[x->rank - 1 - i];
    return rule_result(c, x->dtype, x->rank, dims);
  }
  if (axes->count != x->rank)
    return rule_attr_error(
        c, E0303, ATTR_axes, "axes %s do not permute the axes of %s",
        rule_dims_text(c, axes->count, axes->ints), rule_shape(c, 0));
  if (!rule_axis_set(c, ATTR_axes, x->rank, &set)) return RULE_ERROR;
  for (int i = 0; i < x->rank; i++) {
    int axis;
    if (!rule_axis_value(c, ATTR_axes, axes->ints[i], x->rank, &axis))
      return RULE_ERROR;
    dims[i] = x->dims[axis];
  }
  return rule_result(c, x->dtype, x->rank, dims);
}

/* squeeze with an axis known only when the program runs: which dims stay is
 * not known, how many is. */
static RuleStatus squeeze_unknown(RuleCall *c, const AttrValue *axes) {
  if (axes->count == COUNT_UNKNOWN) {
    int rank;
    Dim unused[RANK_MAX];
    return rule_shape_attr(c, ATTR_axis, &rank, unused);
  }
  Dim dims[RANK_MAX];
  int rank = c->args[0].rank - axes->count;
  if (rank < 0)
    return rule_error(c, E0303, axes->operand, "more axes than data %s has",
                      rule_shape(c, 0));
  for (int i = 0; i < rank; i++) dims[i] = DIM_ANY;
  return rule_result(c, c->args[0].dtype, rank, dims);
}

/*   x : (d..., t)    d[k] = 1 for k in S
 *   ----------------------------------------------------
 *   squeeze(x, axis=S) : (d without the axes in S, t)
 *   squeeze(x)         : (d without its 1s, t)                              */
RULE(squeeze, "(d..., t) -> (d without axes of length 1, t)");
/* Waits for holes, refuses `?`: the rank hangs on which dims are 1. */
static RuleStatus rule_squeeze(RuleCall *c) {
  const RuleType *x = &c->args[0];
  const AttrValue *axes = attr_get(c->attrs, ATTR_axis);
  bool named = axes->state == AV_SET;
  if (named &&
      (axes->count < 0 || (axes->count > 0 && dim_is_any(axes->ints[0]))))
    return squeeze_unknown(c, axes);
  AxisSet set = 0;
  if (named && !rule_axis_set(c, ATTR_axis, x->rank, &set)) return RULE_ERROR;
  Dim dims[RANK_MAX];
  int rank = 0;
  for (int i = 0; i < x->rank; i++) {
    Dim d = x->dims[i];
    if (!named && dim_is_hole(d)) return RULE_WAIT;
    if (!named && !dim_is_number(d))
      return rule_error(c, E0305, 0,
                        "which dimensions of %s are 1 is not "
                        "known: name them with `axis`",
                        rule_shape(c, 0));
    if (named && (set >> i & 1) && dim_equal(d, dim_of(1)) == NO)
      return rule_error(c, E0209, 0, "axis %d of %s is not 1", i,
                        rule_shape(c, 0));
    bool drop = named ? set >> i & 1 : dim_is(d, 1);
    if (!drop) dims[rank++] = d;
  }
  return rule_result(c, x->dtype, rank, dims);
}

/*   x : (d..., t)    -r-1 <= k <= r
 *   --------------------------------------------------------------
 *   expand_dims(x, axis=k, num_newaxis=n) : (d with n 1s at k, t)            */
RULE(expand_dims, "(d..., t) -> (d with axes of length 1, t)",
     .fits = FITS_ALWAYS);
/* num_newaxis is no expression, so the rank is always known; where the ones lie
 * may not be, and then no dim is. */
static RuleStatus rule_expand_dims(RuleCall *c) {
  const RuleType *x = &c->args[0];
  Dim at = attr_int(c->attrs, ATTR_axis);
  int64_t count;
  if (!rule_number(c, ATTR_num_newaxis, 0, RANK_MAX - x->rank, &count))
    return RULE_ERROR;
  int rank = x->rank + (int)count, axis = 0;
  Dim dims[RANK_MAX];
  if (dim_is_any(at)) {
    for (int i = 0; i < rank; i++) dims[i] = DIM_ANY;
    return rule_result(c, x->dtype, rank, dims);
  }
  if (!rule_axis_value(c, ATTR_axis, at, x->rank + 1, &axis)) return RULE_ERROR;
  for (int i = 0, k = 0; i < rank; i++)
    dims[i] = i >= axis && i < axis + count ? dim_of(1) : x->dims[k++];
  return rule_result(c, x->dtype, rank, dims);
}

/* --- Broadcasting -------------------------------------------------------- */

/* Aligned at the right: each dim of x is 1, or may be that of the result. */
static RuleStatus broadcast_into(RuleCall *c, int rank, const Dim *dims) {
  const RuleType *x = &c->args[0];
  bool fits = rank >= x->rank;
  for (int i = 1; fits && i <= x->rank; i++) {
    Dim from = x->dims[x->rank - i], to = dims[rank - i];
    fits = dim_is(from, 1) || dim_equal(from, to) != NO;
  }
  if (fits) return rule_result(c, x->dtype, rank, dims);
  return rule_error(c, E0203, 0, "shape %s does not broadcast to %s",
                    rule_shape(c, 0), rule_dims_text(c, rank, dims));
}

/*   x : (d..., t)    d broadcasts to e
 *   ---------------------------------------
 *   broadcast_to(x, shape=e) : (e..., t)                                    */
RULE(broadcast_to, "(d..., t) -> (shape, t), d broadcasting to it");
static RuleStatus rule_broadcast_to(RuleCall *c) {
  int rank;
  Dim dims[RANK_MAX];
  RuleStatus status = rule_result_shape(c, ATTR_shape, &rank, dims);
  return status == RULE_OK ? broadcast_into(c, rank, dims) : status;
}

/*   x : (d..., t)    y : (e..., u)    d broadcasts to e
 *   ----------------------------------------------------
 *   broadcast_to_like(x, y) : (e..., t)                                     */
RULE(broadcast_to_like, "(d..., t), (e..., u) -> (e..., t), d broadcasting");
static RuleStatus rule_broadcast_to_like(RuleCall *c) {
  RuleType like = c->args[1];
  return broadcast_into(c, like.rank, like.dims);
}

/* The inverse of broadcasting: `dims` must broadcast to x, and to nothing
 * larger. */
static RuleStatus collapse_into(RuleCall *c, int rank, const Dim *dims) {
  const RuleType *x = &c->args[0];
  RuleType to = rule_tensor(x->dtype, rank, dims), both = to;
  bool fits = rank <= x->rank && rule_broadcast_dims(x, &to, &both);
  for (int i = 0; fits && i < x->rank; i++)
    fits = dim_equal(both.dims[i], x->dims[i]) != NO;
  if (fits) return rule_result(c, x->dtype, rank, dims);
  return rule_error(c, E0203, 0,
                    "data %s does not collapse to %s: that does "
                    "not broadcast to it",
                    rule_shape(c, 0), rule_dims_text(c, rank, dims));
}

/*   x : (d..., t)    e broadcasts to d
 *   -----------------------------------------
 *   collapse_sum_to(x, shape=e) : (e..., t)                                 */
RULE(collapse_sum_to, "(d..., t) -> (shape, t), shape broadcasting to d");
static RuleStatus rule_collapse_sum_to(RuleCall *c) {
  int rank;
  Dim dims[RANK_MAX];
  RuleStatus status = rule_result_shape(c, ATTR_shape, &rank, dims);
  return status == RULE_OK ? collapse_into(c, rank, dims) : status;
}

/*   x : (d..., t)    y : (e..., u)    e broadcasts to d
 *   ----------------------------------------------------
 *   collapse_sum_like(x, y) : (e..., t)                                     */
RULE(collapse_sum_like,
     "(d..., t), (e..., t) -> (e..., t), e broadcasting to d");
static RuleStatus rule_collapse_sum_like(RuleCall *c) {
  RuleType like = c->args[1];
  return collapse_into(c, like.rank, like.dims);
}

/* --- Joining and splitting ----------------------------------------------- */

/* "(2, 3) float32"; of a scalar "float32". */
static const char *field_text(RuleCall *c, const RuleType *f) {
  const char *dtype = dtype_name(f->dtype);
  if (!f->rank) return dtype;
  return arena_printf(c->arena, "%s %s", rule_dims_text(c, f->rank, f->dims),
                      dtype);
}

/* Fields of one dtype and rank whose dims agree, `skip` (-1: none) aside.
 * `dims` receives what is known of them. */
static bool fields_agree(RuleCall *c, int skip, Dim *dims) {
  const RuleType *all = &c->args[0], *first = &all->fields[0];
  if (first->rank > 0)
    memcpy(dims, first->dims, (size_t)first->rank * sizeof *dims);
  for (int i = 1; i < all->count; i++) {
    const RuleType *f = &all->fields[i];
    bool fits = f->rank == first->rank && f->dtype == first->dtype;
    for (int k = 0; fits && k < f->rank; k++) {
      if (k == skip) continue;
      fits = dim_equal(f->dims[k], dims[k]) != NO;
      dims[k] = rule_meet(dims[k], f->dims[k]);
    }
    if (fits) continue;
    bool cast = f->dtype != first->dtype;
    const char *word = c->list ? "element" : "field";
    rule_error(c, cast ? E0207 : E0209, 0, "%s %d is %s, %s 0 is %s", word, i,
               field_text(c, f), word, field_text(c, first));
    c->field = i;
    if (cast)
      rule_hint(c, "all are of one dtype: cast(x, dtype=\"%s\") makes one",
                dtype_name(first->dtype));
    return false;
  }
  return true;
}

static bool has_fields(RuleCall *c) {
  if (c->args[0].count > 0) return true;
  rule_error(c, E0301, 0, "needs at least one tensor");
  return false;
}

/*   xi : (d..., ni at axis k, ..., t)    d equal off the axis
 *   ----------------------------------------------------------
 *   concatenate((x1, ..., xn), axis=k) : (d with n1 + ... + nn at k, t)     */
RULE(concatenate, "n times (d..., t) -> (d with the sum at axis, t)");
/* The length along the axis is a sum, which may be of names: n + m. */
static RuleStatus rule_concatenate(RuleCall *c) {
  const RuleType *all = &c->args[0];
  if (!has_fields(c)) return RULE_ERROR;
  int rank = all->fields[0].rank, axis;
  Dim dims[RANK_MAX];
  if (!rule_axis(c, ATTR_axis, rank, &axis) || !fields_agree(c, axis, dims)) {
    if (c->code == E0209)
      rule_hint(c, "only the dimensions at axis %d may differ", axis);
    return RULE_ERROR;
  }
  for (int i = 1; i < all->count; i++)
    dims[axis] = dim_add(c->dims, dims[axis], all->fields[i].dims[axis]);
  return rule_result(c, all->fields[0].dtype, rank, dims);
}

/*   x1, ..., xn : (d..., t)    -r-1 <= k <= r
 *   ------------------------------------------------
 *   stack((x1, ..., xn), axis=k) : (d with n before k, t)                   */
RULE(stack, "n times (d..., t) -> (d with n at axis, t)");
/* The new axis may also come last, so one more axis than the fields have is in
 * range. */
static RuleStatus rule_stack(RuleCall *c) {
  const RuleType *all = &c->args[0];
  if (!has_fields(c)) return RULE_ERROR;
  int rank = all->fields[0].rank, axis;
  Dim each[RANK_MAX], dims[RANK_MAX + 1];
  if (!fields_agree(c, -1, each) || !rule_axis(c, ATTR_axis, rank + 1, &axis))
    return RULE_ERROR;
  for (int i = 0; i <= rank; i++)
    dims[i] = i == axis ? dim_of(all->count) : each[i - (i > axis)];
  return rule_result(c, all->fields[0].dtype, rank + 1, dims);
}

enum { PARTS_MOST = 1 << 16 };

/* PARTS_MOST bounds the tuple that a hostile number would make. */
static RuleStatus split_evenly(RuleCall *c, int axis) {
  RuleType x = c->args[0];
  int64_t parts;
  if (!rule_number(c, ATTR_indices_or_sections, 1, PARTS_MOST, &parts))
    return RULE_ERROR;
  bool inexact = false;
  Dim each = dim_div_exact(c->dims, x.dims[axis], dim_of(parts), &inexact);
  if (inexact)
    return rule_error(c, E0209, 0,
                      "axis %d of %s does not split into %lld "
                      "equal parts",
                      axis, rule_shape(c, 0), (long long)parts);
  x.dims[axis] = each;
  RuleType *fields = rule_result_tuple(c, (int)parts);
  if (!fields) return RULE_ERROR;
  for (int64_t i = 0; i < parts; i++)
    fields[i] = rule_tensor(x.dtype, x.rank, x.dims);
  return RULE_OK;
}

/* Part i runs from position i - 1 to position i; the last one to the end. */
static RuleStatus split_at(RuleCall *c, int axis, const AttrValue *at) {
  RuleType x = c->args[0];
  Dim length = x.dims[axis], from = dim_of(0);
  RuleType *fields = rule_result_tuple(c, at->count + 1);
  if (!fields) return RULE_ERROR;
  for (int i = 0; i <= at->count; i++) {
    Dim to = i < at->count ? at->ints[i] : length;
    Dim part = dim_sub(c->dims, to, from);
    if (dim_less(length, to) || dim_below(part, 0))
      return rule_error(c, E0303, 0,
                        "positions %s do not ascend within axis "
                        "%d of %s",
                        rule_dims_text(c, at->count, at->ints), axis,
                        rule_shape(c, 0));
    x.dims[axis] = part;
    fields[i] = rule_tensor(x.dtype, x.rank, x.dims);
    from = to;
  }
  return RULE_OK;
}

/*   x : (d..., t)
 *   ---------------------------------------------------------------------
 *   split(x, n, axis=k)         : n times (d with d[k] / n at k, t)
 *   split(x, [p1, .., pn], k)   : lengths p1, p2 - p1, ..., d[k] - pn at k  */
RULE(split, "(d..., t) -> (parts of d along axis, t)...");
static RuleStatus rule_split(RuleCall *c) {
  const AttrValue *parts = attr_get(c->attrs, ATTR_indices_or_sections);
  int axis;
  if (!rule_min_rank(c, 0, 1) ||
      !rule_axis(c, ATTR_axis, c->args[0].rank, &axis))
    return RULE_ERROR;
  if (parts->count == COUNT_SCALAR) return split_evenly(c, axis);
  return split_at(c, axis, parts);
}

/* --- Slices -------------------------------------------------------------- */

/* The length of one axis.  A slice that takes everything keeps the dimension,
 * so that a name survives.  Otherwise bounds and length must be numbers. */
static RuleStatus slice_dim(RuleCall *c, int i, int axis, Dim *dim) {
  if (dim_is_hole(*dim)) return RULE_OK;
  SliceSpec s = slice_spec(c->attrs, i, *dim);
  bool whole = dim_is(s.begin, 0) && dim_same(s.end, *dim) && dim_is(s.step, 1);
  if (whole) return RULE_OK;
  if (dim_is(s.step, 0))
    return rule_attr_error(c, E0303, ATTR_strides, "a stride of 0");
  if (!dim_is_number(*dim) || !dim_is_number(s.begin) ||
      !dim_is_number(s.end) || !dim_is_number(s.step)) {
    *dim = DIM_ANY;
    return RULE_OK;
  }
  Slice slice;
  if (!slice_bounds(dim_value(*dim), dim_value(s.begin), dim_value(s.end),
                    dim_value(s.step), &slice))
    return rule_error(c, E0303, 0,
                      "the slice %s:%s:%s of axis %d of %s ends before it "
                      "begins",
                      rule_dim_text(c, s.begin), rule_dim_text(c, s.end),
                      rule_dim_text(c, s.step), axis, rule_shape(c, 0));
  *dim = dim_of(slice.count);
  return RULE_OK;
}

/*   x : (d..., t)    per axis: n = ceil((end - begin) / stride), bounds
 *                    counted from the end when negative, then clipped
 *   --------------------------------------------------------------------
 *   strided_slice(x, begin, end, strides) : (n..., t)                       */
RULE(strided_slice, "(d..., t) -> (lengths of the slices, t)");
/* Axes that are not named keep their dims. */
static RuleStatus rule_strided_slice(RuleCall *c) {
  RuleType x = c->args[0];
  int count = slice_count(c->attrs, x.rank);
  if (count > x.rank)
    return rule_error(c, E0303, -1, "slices %d axes of data %s", count,
                      rule_shape(c, 0));
  AxisSet seen = 0;
  for (int i = 0; i < count; i++) {
    int axis;
    if (!rule_axis_value(c, ATTR_axes, slice_axis(c->attrs, i), x.rank, &axis))
      return RULE_ERROR;
    if (seen >> axis & 1)
      return rule_attr_error(c, E0303, ATTR_axes, "axis %d is named twice",
                             axis);
    seen |= 1u << axis;
    RuleStatus status = slice_dim(c, i, axis, &x.dims[axis]);
    if (status != RULE_OK) return status;
  }
  return rule_result(c, x.dtype, x.rank, x.dims);
}

/*   x : (d..., t)    y : (e..., u)    e[k] <= d[k] for k in S, all by default
 *   --------------------------------------------------------------------------
 *   slice_like(x, y, axes=S) : (d with e[k] at k in S, t)                   */
RULE(slice_like, "(d..., t), (e..., u) -> (d with e at axes, t)");
static RuleStatus rule_slice_like(RuleCall *c) {
  RuleType x = c->args[0], like = c->args[1];
  AxisSet set = 0;
  const AttrValue *axes = attr_get(c->attrs, ATTR_axes);
  bool named = axes->state == AV_SET && axes->count > 0;
  if (named && !rule_axis_set(c, ATTR_axes, x.rank, &set)) return RULE_ERROR;
  if (!named) set = (1u << (x.rank < like.rank ? x.rank : like.rank)) - 1;
  for (int i = 0; i < x.rank; i++) {
    if (!(set >> i & 1)) continue;
    if (i >= like.rank || dim_less(x.dims[i], like.dims[i]))
      return rule_error(c, E0209, 1, "data %s is not as long as %s on axis %d",
                        rule_shape(c, 0), rule_shape(c, 1), i);
    x.dims[i] = like.dims[i];
  }
  return rule_result(c, x.dtype, x.rank, x.dims);
}

/* --- Repeating ----------------------------------------------------------- */

/*   x : (d..., t)    d and reps aligned at the right, padded with 1
 *   ----------------------------------------------------------------
 *   tile(x, reps=r) : (d * r, t)                                            */
RULE(tile, "(d..., t) -> (d * reps, t)");
/* Aligned at the right, like shapes that broadcast; the shorter is padded with
 * 1. */
static RuleStatus rule_tile(RuleCall *c) {
  const RuleType *x = &c->args[0];
  int count;
  Dim reps[RANK_MAX], dims[RANK_MAX];
  RuleStatus status = rule_result_shape(c, ATTR_reps, &count, reps);
  if (status != RULE_OK) return status;
  int rank = count > x->rank ? count : x->rank;
  for (int i = 1; i <= rank; i++) {
    Dim d = i <= x->rank ? x->dims[x->rank - i] : dim_of(1);
    Dim r = i <= count ? reps[count - i] : dim_of(1);
    dims[rank - i] = dim_mul(c->dims, d, r);
  }
  return rule_result(c, x->dtype, rank, dims);
}

/*   x : (d..., t)
 *   -------------------------------------------------------
 *   repeat(x, n, axis=k) : (d with d[k] * n at k, t)
 *   repeat(x, n)         : (product of d * n, t)                            */
RULE(repeat, "(d..., t) -> (d with d[axis] * repeats, t)", .fits = FITS_ALWAYS);
static RuleStatus rule_repeat(RuleCall *c) {
  RuleType x = c->args[0];
  Dim times = attr_int(c->attrs, ATTR_repeats);
  if (!rule_in_range(c, ATTR_repeats, times, 0, INT64_MAX)) return RULE_ERROR;
  if (!attr_is_set(c->attrs, ATTR_axis)) {
    Dim all = dim_product(c->dims, x.rank, x.dims);
    all = dim_mul(c->dims, all, times);
    return rule_result(c, x.dtype, 1, &all);
  }
  int axis;
  if (!rule_axis(c, ATTR_axis, x.rank, &axis)) return RULE_ERROR;
  x.dims[axis] = dim_mul(c->dims, x.dims[axis], times);
  return rule_result(c, x.dtype, x.rank, x.dims);
}

/*   x : (d..., t)    -r <= k < r
 *   ------------------------------
 *   reverse(x, axis=k) : (d..., t)                                          */
RULE(reverse, "(d..., t) -> (d..., t), axis in range", .fits = FITS_ALWAYS);
static RuleStatus rule_reverse(RuleCall *c) {
  int axis;
  if (!rule_axis(c, ATTR_axis, c->args[0].rank, &axis)) return RULE_ERROR;
  return rule_result_alike(c);
}

/*   x : (d..., t)    v : t    w : r pairs (before, after)
 *   ------------------------------------------------------
 *   nn.pad(x, v, pad_width=w) : (before + d + after, t)                     */
RULE(pad, "(d..., t), (t) -> (before + d + after, t)");
/* pad_value is an operand in newer Relay and an attribute in older; both at
 * once must not disagree. */
static RuleStatus rule_pad(RuleCall *c) {
  RuleType x = c->args[0];
  const AttrValue *width = attr_get(c->attrs, ATTR_pad_width);
  if (rule_operands(c) > 1 &&
      (!rule_rank(c, 1, 0) || !rule_same_dtype(c, 0, 1)))
    return RULE_ERROR;
  if (rule_operands(c) > 1 && attr_is_set(c->attrs, ATTR_pad_value) &&
      attr_real(c->attrs, ATTR_pad_value) != 0)
    return rule_error(c, E0303, 1, "pad_value is an operand and an attribute");
  if (width->count != COUNT_UNKNOWN && width->count != x.rank)
    return rule_attr_error(c, E0303, ATTR_pad_width,
                           "pad_width has %d pairs for data %s", width->count,
                           rule_shape(c, 0));
  for (int i = 0; i < x.rank; i++) {
    if (width->count == COUNT_UNKNOWN || width->lists[i].count < 0) {
      x.dims[i] = DIM_ANY;
      continue;
    }
    if (width->lists[i].count != 2)
      return rule_attr_error(c, E0303, ATTR_pad_width,
                             "pad_width is a list of pairs");
    for (int k = 0; k < 2; k++) {
      Dim w = width->lists[i].ints[k];
      if (!rule_in_range(c, ATTR_pad_width, w, -STEP_MOST, STEP_MOST))
        return RULE_ERROR;
      x.dims[i] = dim_add(c->dims, x.dims[i], w);
    }
    if (dim_below(x.dims[i], 0))
      return rule_attr_error(c, E0303, ATTR_pad_width,
                             "pad_width removes more than axis %d of "
                             "%s holds",
                             i, rule_shape(c, 0));
  }
  return rule_result(c, x.dtype, x.rank, x.dims);
}

/*   x : (d..., t)    s numbers, whose product is that of d
 *   ------------------------------------------------------
 *   vm.reshape_tensor(x, y, newshape=s) : (s..., t)                         */
RULE(reshape_tensor, "(d..., t), (r, int) -> (newshape..., t)");
static RuleStatus rule_reshape_tensor(RuleCall *c) {
  const RuleType *x = &c->args[0];
  const AttrValue *to = attr_get(c->attrs, ATTR_newshape);
  if (!rule_class(c, 1, TAKES_INT)) return RULE_ERROR;
  for (int i = 0; i < to->count; i++)
    if (!rule_in_range(c, ATTR_newshape, to->ints[i], 0, INT64_MAX))
      return RULE_ERROR;
  Dim from = dim_product(c->dims, x->rank, x->dims);
  if (to->count <= RANK_MAX &&
      dim_equal(from, dim_product(c->dims, to->count, to->ints)) == NO)
    return rule_error(c, E0209, 0, "%s has not the elements of newshape %s",
                      rule_shape(c, 0), rule_dims_text(c, to->count, to->ints));
  return rule_result(c, x->dtype, to->count, to->ints);
}
