/* Rules of operators that arrange elements anew: layouts, blocks, windows,
 * sequences, diagonals. */
#include "ops/rules/layout.h"
#include "ops/rules/support.h"

#include <string.h>

/* --- Layouts ------------------------------------------------------------- */

/* The length of a letter's axis before it is split. */
static Dim primal_length(RuleCall *c, const Layout *l, char primal) {
  const RuleType *x = &c->args[0];
  int outer = layout_axis(l, primal);
  if (outer < 0) return DIM_HOLE;
  return dim_mul(c->dims, x->dims[outer], dim_of(layout_inside(l, primal)));
}

/* Each axis of the result: a block has its length, an axis that is split has
 * what is left, any other is as long as in the source without blocks. */
static RuleStatus layout_dims(RuleCall *c, const Layout *from, const Layout *to,
                              Dim *dims) {
  for (int i = 0; i < to->rank; i++) {
    char letter = to->axes[i].primal;
    int64_t inside = layout_inside(to, letter);
    if (layout_axis(from, letter) < 0)
      return rule_attr_error(c, E0303, ATTR_dst_layout,
                             "axis %c is not in src_layout", letter);
    bool inexact = false;
    if (to->axes[i].block > 0) dims[i] = dim_of(to->axes[i].block);
    else dims[i] = primal_length(c, from, letter);
    if (to->axes[i].block == 0)
      dims[i] = dim_div_exact(c->dims, dims[i], dim_of(inside), &inexact);
    if (inexact)
      return rule_error(c, E0209, 0,
                        "axis %c of %s does not split into blocks "
                        "of %lld",
                        letter, rule_shape(c, 0), (long long)inside);
  }
  return RULE_OK;
}

/*   x : (d..., t)    two layouts of the same letters
 *   -------------------------------------------------------------------
 *   layout_transform(x, src_layout, dst_layout) : (d in the other, t)       */
RULE(layout_transform, "(d..., t) -> (d in the other layout, t)");
static RuleStatus rule_layout_transform(RuleCall *c) {
  Layout from, to;
  Dim dims[RANK_MAX];
  bool read = layout_parse(attr_text(c->attrs, ATTR_src_layout), &from);
  if (!read || !layout_parse(attr_text(c->attrs, ATTR_dst_layout), &to))
    return rule_attr_error(c, E0303, read ? ATTR_dst_layout : ATTR_src_layout,
                           "a layout is a string such as NCHW or NCHW4c");
  if (!rule_rank(c, 0, from.rank)) return RULE_ERROR;
  for (int i = 0; i < from.rank; i++)
    if (layout_axis(&to, from.axes[i].primal) < 0)
      return rule_attr_error(c, E0303, ATTR_dst_layout,
                             "axis %c is not in dst_layout",
                             from.axes[i].primal);
  RuleStatus status = layout_dims(c, &from, &to, dims);
  if (status != RULE_OK) return status;
  return rule_result(c, c->args[0].dtype, to.rank, dims);
}

/*   x : (n, d..., t)
 *   ------------------------------------------------
 *   nn.batch_flatten(x) : (n, product of d, t)                              */
RULE(batch_flatten, "(n, d..., t) -> (n, product of d, t)");
static RuleStatus rule_batch_flatten(RuleCall *c) {
  const RuleType *x = &c->args[0];
  if (!rule_min_rank(c, 0, 1)) return RULE_ERROR;
  Dim dims[2] = {x->dims[0], dim_product(c->dims, x->rank - 1, x->dims + 1)};
  return rule_result(c, x->dtype, 2, dims);
}

/* --- Blocks -------------------------------------------------------------- */

/* Axis `axis` times or divided by a number. */
static bool scale_axis(RuleCall *c, RuleType *x, int axis, Dim by,
                       bool divide) {
  bool inexact = false;
  x->dims[axis] = divide ? dim_div_exact(c->dims, x->dims[axis], by, &inexact)
                         : dim_mul(c->dims, x->dims[axis], by);
  if (!inexact) return true;
  rule_error(c, E0209, 0, "axis %d of %s is no multiple of %s", axis,
             rule_shape(c, 0), rule_dim_text(c, by));
  return false;
}

/* Channels are divided by b^2 and rows and columns multiplied by b, or the
 * other way round.  The bound on b keeps b^2 within int32. */
static RuleStatus depth_space(RuleCall *c, bool to_space) {
  RuleType x = c->args[0];
  Layout l;
  Dim block = attr_int(c->attrs, ATTR_block_size);
  if (!layout_parse(attr_text(c->attrs, ATTR_layout), &l) || l.rank != 4 ||
      layout_axis(&l, 'C') < 0 || layout_axis(&l, 'H') < 0 ||
      layout_axis(&l, 'W') < 0)
    return rule_attr_error(c, E0303, ATTR_layout, "layout is NCHW or NHWC");
  Dim area = dim_mul(c->dims, block, block);
  if (!rule_in_range(c, ATTR_block_size, block, 1, 1 << 15) ||
      !rule_rank(c, 0, 4) ||
      !scale_axis(c, &x, layout_axis(&l, 'C'), area, to_space) ||
      !scale_axis(c, &x, layout_axis(&l, 'H'), block, !to_space) ||
      !scale_axis(c, &x, layout_axis(&l, 'W'), block, !to_space))
    return RULE_ERROR;
  return rule_result(c, x.dtype, x.rank, x.dims);
}

/*   x : (n, c, h, w, t)
 *   ---------------------------------------------------------------
 *   nn.depth_to_space(x, block_size=b) : (n, c / b^2, h * b, w * b, t)      */
RULE(depth_to_space, "(n, c, h, w, t) -> (n, c / b^2, h * b, w * b, t)");
static RuleStatus rule_depth_to_space(RuleCall *c) {
  const char *mode = attr_text(c->attrs, ATTR_mode);
  if (strcmp(mode, "DCR") != 0 && strcmp(mode, "CRD") != 0)
    rule_warn(c, "mode \"%s\" is read as \"CRD\", as in Relay", mode);
  return depth_space(c, true);
}

/*   x : (n, c, h, w, t)
 *   ---------------------------------------------------------------
 *   nn.space_to_depth(x, block_size=b) : (n, c * b^2, h / b, w / b, t)      */
RULE(space_to_depth, "(n, c, h, w, t) -> (n, c * b^2, h / b, w / b, t)");
static RuleStatus rule_space_to_depth(RuleCall *c) {
  const char *mode = attr_text(c->attrs, ATTR_mode);
  if (strcmp(mode, "DCR") != 0)
    rule_warn(c, "mode \"%s\" is read as \"DCR\", as in Relay", mode);
  return depth_space(c, false);
}

/* The sum of the pair `name`[i] of a list of pairs, one per block axis. */
static bool block_pair(RuleCall *c, AttrName name, int i, int count, Dim *sum) {
  const AttrValue *v = attr_get(c->attrs, name);
  if (v->count != count || v->lists[i].count != 2) {
    rule_attr_error(c, E0303, name, "`%s` holds %d pairs that are not negative",
                    attr_name_text(name), count);
    return false;
  }
  const Dim *pair = v->lists[i].ints;
  *sum = dim_add(c->dims, pair[0], pair[1]);
  return rule_in_range(c, name, pair[0], 0, STEP_MOST) &&
         rule_in_range(c, name, pair[1], 0, STEP_MOST);
}

/* No more blocks, nor longer ones, than a step may have. */

/* The blocks of the axes after the first, one number each; their product must
 * fit in 64 bits, since it counts batches. */
static bool block_shape(RuleCall *c, const AttrValue **block) {
  *block = attr_get(c->attrs, ATTR_block_shape);
  if (!rule_min_rank(c, 0, 1)) return false;
  if ((*block)->count < 0 || (*block)->count >= c->args[0].rank) {
    rule_error(c, E0303, 0,
               "`block_shape` holds numbers from 1 on, fewer than "
               "data %s has axes",
               rule_shape(c, 0));
    return false;
  }
  Dim all = dim_of(1);
  for (int i = 0; i < (*block)->count; i++) {
    Dim one = (*block)->ints[i];
    if (!rule_in_range(c, ATTR_block_shape, one, 1, STEP_MOST)) return false;
    all = dim_mul(c->dims, all, one);
  }
  if (!dim_is_huge(all)) return true;
  rule_attr_error(c, E0303, ATTR_block_shape,
                  "`block_shape` %s makes too many blocks",
                  rule_dims_text(c, (*block)->count, (*block)->ints));
  return false;
}

/*   x : (n, d..., r..., t)    p the padding, b the blocks of d
 *   ----------------------------------------------------------------------
 *   nn.space_to_batch_nd(x) : (n * product of b, (d + p) / b, r..., t)      */
RULE(space_to_batch, "(n, d..., t) -> (n * product of b, (d + p) / b, t)");
static RuleStatus rule_space_to_batch(RuleCall *c) {
  RuleType x = c->args[0];
  const AttrValue *block;
  if (!block_shape(c, &block)) return RULE_ERROR;
  for (int i = 0; i < block->count; i++) {
    Dim pad;
    if (!block_pair(c, ATTR_paddings, i, block->count, &pad)) return RULE_ERROR;
    x.dims[i + 1] = dim_add(c->dims, x.dims[i + 1], pad);
    if (!scale_axis(c, &x, i + 1, block->ints[i], true)) return RULE_ERROR;
    x.dims[0] = dim_mul(c->dims, x.dims[0], block->ints[i]);
  }
  return rule_result(c, x.dtype, x.rank, x.dims);
}

/*   x : (n, d..., r..., t)    k what is cropped, b the blocks of d
 *   ----------------------------------------------------------------------
 *   nn.batch_to_space_nd(x) : (n / product of b, d * b - k, r..., t)        */
RULE(batch_to_space, "(n, d..., t) -> (n / product of b, d * b - crops, t)");
static RuleStatus rule_batch_to_space(RuleCall *c) {
  RuleType x = c->args[0];
  const AttrValue *block;
  if (!block_shape(c, &block)) return RULE_ERROR;
  for (int i = 0; i < block->count; i++) {
    Dim crop;
    if (!block_pair(c, ATTR_crops, i, block->count, &crop) ||
        !scale_axis(c, &x, 0, block->ints[i], true))
      return RULE_ERROR;
    x.dims[i + 1] = dim_mul(c->dims, x.dims[i + 1], block->ints[i]);
    x.dims[i + 1] = dim_sub(c->dims, x.dims[i + 1], crop);
    if (dim_below(x.dims[i + 1], 0))
      return rule_attr_error(c, E0303, ATTR_crops,
                             "`crops` remove more than there is");
  }
  return rule_result(c, x.dtype, x.rank, x.dims);
}

/*   x : (d..., t)    s strides
 *   ----------------------------------------------------
 *   nn.dilate(x, strides=s) : ((d - 1) * s + 1, t)                          */
RULE(dilate, "(d..., t) -> ((d - 1) * strides + 1, t)");
/* An axis without elements stays so: the formula would give 1 - s. */
static RuleStatus rule_dilate(RuleCall *c) {
  RuleType x = c->args[0];
  const AttrValue *s = attr_get(c->attrs, ATTR_strides);
  if (s->count != x.rank)
    return rule_error(c, E0303, 0, "%d strides for data %s", s->count,
                      rule_shape(c, 0));
  for (int i = 0; i < x.rank; i++) {
    if (!rule_in_range(c, ATTR_strides, s->ints[i], 1, STEP_MOST))
      return RULE_ERROR;
    if (dim_is(x.dims[i], 0)) continue;
    Dim last = dim_sub(c->dims, x.dims[i], dim_of(1));
    x.dims[i] = dim_add(c->dims, dim_mul(c->dims, last, s->ints[i]), dim_of(1));
  }
  return rule_result(c, x.dtype, x.rank, x.dims);
}

/* --- Windows, grids ------------------------------------------------------ */

/*   x : (d..., e..., t)    w, s of the length of e, the axes from k on
 *   ----------------------------------------------------------------------
 *   sliding_window(x, axis=k, window_shape=w, strides=s) :
 *       (d..., floor((e - w) / s) + 1, w..., t)                             */
RULE(sliding_window, "(d..., e..., t) -> (d..., number of windows, window, t)");
/* The result may have up to twice the rank; rule_result() refuses what is more
 * than RANK_MAX. */
static RuleStatus rule_sliding_window(RuleCall *c) {
  const RuleType *x = &c->args[0];
  const AttrValue *w = attr_get(c->attrs, ATTR_window_shape);
  const AttrValue *s = attr_get(c->attrs, ATTR_strides);
  int axis, rank = 0;
  if (!rule_axis(c, ATTR_axis, x->rank, &axis)) return RULE_ERROR;
  if (w->count != x->rank - axis || s->count != w->count)
    return rule_error(c, E0303, 0,
                      "window_shape and strides hold one number "
                      "for each axis of %s from %d on",
                      rule_shape(c, 0), axis);
  Dim dims[2 * RANK_MAX];
  for (int i = 0; i < axis; i++) dims[rank++] = x->dims[i];
  for (int i = 0; i < w->count; i++) {
    if (!rule_in_range(c, ATTR_window_shape, w->ints[i], 1, STEP_MOST) ||
        !rule_in_range(c, ATTR_strides, s->ints[i], 1, STEP_MOST))
      return RULE_ERROR;
    Dim room = dim_sub(c->dims, x->dims[axis + i], w->ints[i]);
    if (dim_below(room, 0))
      return rule_error(c, E0209, 0, "the window is larger than data %s",
                        rule_shape(c, 0));
    Dim more = dim_div_floor(c->dims, room, dim_value(s->ints[i]));
    dims[rank++] = dim_add(c->dims, more, dim_of(1));
  }
  for (int i = 0; i < w->count; i++) dims[rank++] = w->ints[i];
  return rule_result(c, x->dtype, rank, dims);
}

/*   xi : (ni, t) or t    i = 1 .. k
 *   ---------------------------------------------------------------
 *   meshgrid((x1, ..., xk)) : k times (n1, ..., nk, t)
 *   with indexing="xy" the first two axes are exchanged                     */
RULE(meshgrid, "(ni, t), i = 1 .. k -> k times (n1, ..., nk, t)");
static RuleStatus rule_meshgrid(RuleCall *c) {
  const RuleType *all = &c->args[0];
  Dim dims[RANK_MAX];
  if (all->count < 1 || all->count > RANK_MAX)
    return rule_error(c, E0301, 0, "takes 1 to %d vectors", RANK_MAX);
  for (int i = 0; i < all->count; i++) {
    const RuleType *x = &all->fields[i];
    if (x->rank > 1 || x->dtype != all->fields[0].dtype)
      return rule_error(c, E0208, 0,
                        "takes vectors of one dtype, field %d is "
                        "%s %s",
                        i, rule_dims_text(c, x->rank, x->dims),
                        dtype_name(x->dtype));
    dims[i] = x->rank == 0 ? dim_of(1) : x->dims[0];
  }
  bool xy = attr_word(c->attrs, ATTR_indexing) == INDEXING_XY;
  if (xy && all->count > 1) {
    Dim first = dims[0];
    dims[0] = dims[1];
    dims[1] = first;
  }
  RuleType *fields = rule_result_tuple(c, all->count);
  if (!fields) return RULE_ERROR;
  for (int i = 0; i < all->count; i++)
    fields[i] = rule_tensor(all->fields[0].dtype, all->count, dims);
  return RULE_OK;
}

/* --- Sequences ----------------------------------------------------------- */

/*   x : (d..., t)    n : (d[b], int)    s not b
 *   ------------------------------------------------------------------
 *   reverse_sequence(x, n, seq_axis=s, batch_axis=b) : (d..., t)            */
RULE(reverse_sequence, "(d..., t), (d[batch_axis], int) -> (d..., t)");
static RuleStatus rule_reverse_sequence(RuleCall *c) {
  const RuleType *x = &c->args[0];
  int seq, batch;
  if (!rule_axis(c, ATTR_seq_axis, x->rank, &seq) ||
      !rule_axis(c, ATTR_batch_axis, x->rank, &batch) ||
      !rule_class(c, 1, TAKES_INT) || !rule_fits(c, 1, 1, &x->dims[batch]))
    return RULE_ERROR;
  if (seq == batch)
    return rule_attr_error(c, E0303, ATTR_batch_axis,
                           "seq_axis and batch_axis are both %d", seq);
  return rule_result_alike(c);
}

/*   x : (d..., t)    n : (d[1 - k], number)    k is 0 or 1
 *   -------------------------------------------------------
 *   sequence_mask(x, n, axis=k) : (d..., t)                                 */
RULE(sequence_mask, "(d..., t), (d[1 - axis], number) -> (d..., t)");
static RuleStatus rule_sequence_mask(RuleCall *c) {
  const RuleType *x = &c->args[0];
  int64_t axis;
  if (!rule_number(c, ATTR_axis, 0, 1, &axis)) return RULE_ERROR;
  if (!rule_min_rank(c, 0, 2) || !rule_class(c, 1, TAKES_NUMBER) ||
      !rule_fits(c, 1, 1, &x->dims[1 - axis]))
    return RULE_ERROR;
  if (dtype_is_float(c->args[1].dtype))
    rule_warn(c,
              "`valid_length` is %s: what is at an index below it stays, as in "
              "Relay",
              dtype_name(c->args[1].dtype));
  return rule_result_alike(c);
}

/*   x : (d..., t)    b : (e..., t)    off axis k equal, e[k] >= d[k]
 *   ------------------------------------------------------------------
 *   nn.fifo_buffer(x, b, axis=k) : (e..., t)                                */
RULE(fifo_buffer, "(d..., t), (e..., t) -> (e..., t), equal off the axis");
static RuleStatus rule_fifo_buffer(RuleCall *c) {
  RuleType x = c->args[0], buffer = c->args[1];
  int axis;
  if (!rule_same_dtype(c, 0, 1) || !rule_rank(c, 1, x.rank) ||
      !rule_axis(c, ATTR_axis, x.rank, &axis))
    return RULE_ERROR;
  bool fits = true;
  for (int i = 0; i < x.rank; i++)
    if (i != axis) fits = fits && dim_equal(x.dims[i], buffer.dims[i]) != NO;
    else fits = fits && !dim_less(buffer.dims[i], x.dims[i]);
  if (!fits)
    return rule_error(c, E0209, 0, "data %s does not fit into a buffer of %s",
                      rule_shape(c, 0), rule_shape(c, 1));
  return rule_result(c, buffer.dtype, buffer.rank, buffer.dims);
}

/* --- Diagonals, triangles, parts ----------------------------------------- */

/*   x : (d..., t)    r >= 2    k : int
 *   -----------------------------------
 *   trilu(x, k) : (d..., t)                                                 */
RULE(trilu, "(d..., m, n, t), int -> (d..., m, n, t)");
static RuleStatus rule_trilu(RuleCall *c) {
  if (!rule_min_rank(c, 0, 2) || !rule_class(c, 1, TAKES_INT) ||
      !rule_rank(c, 1, 0))
    return RULE_ERROR;
  return rule_result_alike(c);
}

/* The longest of diagonals low to high of an m by n matrix; `?` where m or n is
 * not known. */
static Dim longest_diagonal(DimTable *t, Dim m, Dim n, Dim low, Dim high) {
  if (dim_below(high, 0)) m = dim_add(t, m, high);
  if (dim_above(low, 0)) n = dim_sub(t, n, low);
  if (!dim_is_number(m) || !dim_is_number(n)) return DIM_ANY;
  return dim_less(m, n) ? m : n;
}

/*   x : (d..., m, n, t)    y : (d..., k2 - k1 + 1, l, t), without the second
 *   last axis when k1 = k2; l is the length of the longest diagonal
 *   -------------------------------------------------------------------------
 *   matrix_set_diag(x, y) : (d..., m, n, t)                                 */
RULE(matrix_set_diag, "(d..., m, n, t), (d..., k, l, t) -> (d..., m, n, t)");
/* Diagonal k starts in row -k or column k, so -m < k < n. */
static RuleStatus rule_matrix_set_diag(RuleCall *c) {
  RuleType x = c->args[0];
  Dim low = attr_int(c->attrs, ATTR_k1), high = attr_int(c->attrs, ATTR_k2);
  if (!rule_min_rank(c, 0, 2) || !rule_same_dtype(c, 0, 1)) return RULE_ERROR;
  Dim m = x.dims[x.rank - 2], n = x.dims[x.rank - 1];
  if (dim_less(high, low))
    return rule_attr_error(c, E0303, ATTR_k2, "k1 is above k2");
  Dim above = dim_sub(c->dims, dim_of(0), m); /* k1 is higher than this */
  bool outside = (dim_above(m, 0) && !dim_less(above, low)) ||
                 (dim_above(n, 0) && !dim_less(high, n));
  if (dim_is_number(m) && dim_is_number(n) && outside)
    return rule_error(c, E0303, 0, "data %s has no diagonals %s to %s",
                      rule_shape(c, 0), rule_dim_text(c, low),
                      rule_dim_text(c, high));
  int rank = x.rank - 2;
  if (dim_less(low, high))
    x.dims[rank++] = dim_add(c->dims, dim_sub(c->dims, high, low), dim_of(1));
  x.dims[rank++] = longest_diagonal(c->dims, m, n, low, high);
  return rule_fits(c, 1, rank, x.dims) ? rule_result_alike(c) : RULE_ERROR;
}

/*   x : (d..., t)    v : (e..., t)    begin, end, strides : (n, int), n <= r
 *   --------------------------------------------------------------------------
 *   strided_set(x, v, begin, end, strides) : (d..., t)                      */
RULE(strided_set,
     "(d..., t), (e..., t), 3 times (at most r, int) -> (d..., t)");
static RuleStatus rule_strided_set(RuleCall *c) {
  const RuleType *x = &c->args[0];
  Dim rank = dim_of(x->rank);
  bool fewer = false;
  if (!rule_same_dtype(c, 0, 1) || !rule_rank(c, 1, x->rank)) return RULE_ERROR;
  for (int i = 2; i < 5; i++) {
    if (!rule_class(c, i, TAKES_INT) || !rule_rank(c, i, 1)) return RULE_ERROR;
    Dim length = c->args[i].dims[0];
    if (dim_less(rank, length) && !rule_fits(c, i, 1, &rank)) return RULE_ERROR;
    fewer |= dim_less(length, rank);
  }
  if (fewer)
    rule_warn(c,
              "axes without a begin, an end or a stride are taken from the "
              "first element, to the last, by one, as in Relay");
  return rule_result_alike(c);
}
