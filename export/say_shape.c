/* Shapes, and what moves elements by them. */
#include "export/say.h"

Val *say_shape_of(const Said *s) {
  return said_cast(s, said_step(s, "Shape", DT_INT64, 1, 1, s->args));
}

Val *say_size(const Said *s) {
  return said_cast(s, said_step(s, "Size", DT_INT64, 0, 1, s->args));
}

/* The result's shape by its type, with -1 in the place of one length that is
 * not a number.  NULL: it has several. */
static Val *shape_by_type(const Said *s) {
  int64_t dims[RANK_MAX];
  int open = 0;
  if (s->type->any_rank) return NULL;
  for (int i = 0; i < s->type->rank; i++) {
    bool known = dim_is_number(s->type->dims[i]);
    dims[i] = known ? dim_value(s->type->dims[i]) : -1;
    open += !known;
    if (dims[i] == 0) return NULL;
  }
  return open > 1 ? NULL : val_ints(s->x, s->type->rank, dims);
}

/* Relay's codes below -1 join and split axes; ONNX has none of them. */
static bool has_codes(const Val *shape) {
  const Tensor *t = shape->constant;
  for (int64_t i = 0; t && i < tensor_count(t); i++)
    if (tensor_i64_at(t, i) < -1) return true;
  return false;
}

Val *say_reshape(const Said *s) {
  int64_t zero;
  if (!said_int(s, ATTR_allowzero, &zero)) return NULL;
  bool reversed = attr_bool(s->attrs, ATTR_reverse);
  Val *shape = reversed ? NULL : said_vector(s, ATTR_newshape);
  if (!reversed && !shape) return NULL;
  if (!shape || has_codes(shape)) {
    shape = shape_by_type(s);
    zero = 0;
  }
  if (!shape) return said_refuse(s, "ONNX has no codes for shapes below -1");
  OnnxNode *n = said_over(s, "Reshape", 2, (Val *[]){s->args[0], shape});
  if (n && zero) onnx_attr_int(s->x->w, n, "allowzero", 1);
  return said_out(s, n);
}

Val *say_reshape_like(const Said *s) {
  if (!said_default(s, ATTR_lhs_begin) || !said_default(s, ATTR_lhs_end) ||
      !said_default(s, ATTR_rhs_begin) || !said_default(s, ATTR_rhs_end))
    return NULL;
  Val *shape = said_shape(s, s->args[1]);
  return said_last(s, "Reshape", 2, (Val *[]){s->args[0], shape});
}

Val *say_squeeze(const Said *s) {
  if (!said_set(s, ATTR_axis)) return said_last(s, "Squeeze", 1, s->args);
  Val *axes = said_vector(s, ATTR_axis);
  return said_last(s, "Squeeze", 2, (Val *[]){s->args[0], axes});
}

static Val *unsqueeze(const Said *s, Val *v, int axis, int count, bool last) {
  int rank;
  int64_t axes[RANK_MAX];
  if (!v || !val_rank(s->x, v, s->e->span, &rank)) return NULL;
  for (int i = 0; i < count; i++) axes[i] = axis + i;
  Val *in[] = {v, val_ints(s->x, count, axes)};
  return last ? said_last(s, "Unsqueeze", 2, in)
              : said_step(s, "Unsqueeze", val_dtype(v), rank + count, 2, in);
}

Val *say_expand_dims(const Said *s) {
  int64_t axis, count;
  int rank = said_rank(s, 0);
  if (rank < 0 || !said_int(s, ATTR_axis, &axis) ||
      !said_int(s, ATTR_num_newaxis, &count))
    return NULL;
  if (count == 0) return s->args[0];
  int at = (int)(axis < 0 ? axis + rank + 1 : axis);
  return unsqueeze(s, s->args[0], at, (int)count, true);
}

Val *say_broadcast_to(const Said *s) {
  Val *shape = said_vector(s, ATTR_shape);
  return said_last(s, "Expand", 2, (Val *[]){s->args[0], shape});
}

Val *say_broadcast_to_like(const Said *s) {
  Val *shape = said_shape(s, s->args[1]);
  return said_last(s, "Expand", 2, (Val *[]){s->args[0], shape});
}

Val *say_stack(const Said *s) {
  int64_t axis;
  Val *tuple = s->args[0];
  if (!said_int(s, ATTR_axis, &axis)) return NULL;
  int at = axis_from(axis, s->type->rank);
  Val **parts = ARENA_ARRAY(s->x->arena, Val *, (size_t)tuple->count + 1);
  for (int i = 0; parts && i < tuple->count; i++)
    parts[i] = unsqueeze(s, tuple->items[i], at, 1, false);
  OnnxNode *n = parts ? said_over(s, "Concat", tuple->count, parts) : NULL;
  if (n) onnx_attr_int(s->x->w, n, "axis", at);
  return said_out(s, n);
}

/* Positions as the lengths between them. */
static Val *split_lengths(const Said *s, int axis, int *count) {
  int64_t at[SPLITS_MOST + 2] = {0};
  Dim length = s->args[0]->type->dims[axis];
  *count = said_ints(s, ATTR_indices_or_sections, SPLITS_MOST, at + 1) + 1;
  if (*count <= 0) return NULL;
  if (!dim_is_number(length))
    return said_refuse(s, "the length of the axis has to be known");
  at[*count] = dim_value(length);
  for (int i = 0; i < *count; i++) at[i] = at[i + 1] - at[i];
  return val_ints(s->x, *count, at);
}

Val *say_split(const Said *s) {
  Export *x = s->x;
  int64_t axis;
  int rank = said_rank(s, 0);
  if (rank < 0 || !said_int(s, ATTR_axis, &axis)) return NULL;
  int at = axis_from(axis, rank), count;
  bool parts =
      attr_get(s->attrs, ATTR_indices_or_sections)->count == COUNT_SCALAR;
  Val *lengths = parts ? NULL : split_lengths(s, at, &count);
  if (!parts && !lengths) return NULL;
  OnnxNode *n =
      said_over(s, "Split", parts ? 1 : 2, (Val *[]){s->args[0], lengths});
  if (!n) return NULL;
  onnx_attr_int(x->w, n, "axis", at);
  if (parts && x->w->opset >= 18)
    onnx_attr_int(x->w, n, "num_outputs", s->type->count);
  return said_out(s, n);
}

/* How many numbers a vector has; -1: that is not known. */
static int vector_count(const Val *v) {
  if (v->constant) return (int)tensor_count(v->constant);
  const Type *t = v->type;
  bool known = t->rank == 1 && !t->any_rank && dim_is_number(t->dims[0]);
  return known ? (int)dim_value(t->dims[0]) : -1;
}

/* The axes of a slice: those that are said, or the first ones. */
static Val *slice_axes(const Said *s, const Val *begin) {
  int64_t axes[RANK_MAX];
  int count = vector_count(begin);
  if (said_set(s, ATTR_axes)) return said_vector(s, ATTR_axes);
  if (count < 0 || count > RANK_MAX)
    return said_refuse(s, "how many axes are cut has to be known");
  for (int i = 0; i < count; i++) axes[i] = i;
  return val_ints(s->x, count, axes);
}

/* An end as a length becomes the begin plus it; -1 is all that is left. */
static Val *ends_of_lengths(const Said *s, Val *begin, Val *size) {
  if (!begin->constant || !size->constant ||
      tensor_count(begin->constant) != tensor_count(size->constant))
    return said_refuse(s, "lengths have to be known before the run");
  int64_t ends[RANK_MAX];
  int count = (int)tensor_count(size->constant);
  for (int i = 0; i < count && i < RANK_MAX; i++) {
    int64_t n = tensor_i64_at(size->constant, i);
    ends[i] = n < 0 ? INT64_MAX : tensor_i64_at(begin->constant, i) + n;
  }
  return val_ints(s->x, count, ends);
}

/* ONNX wants lists of one length; the language takes the rest of an axis that
 * an end does not name. */
Val *say_slice(const Said *s) {
  Val *begin = said_vector(s, ATTR_begin), *end = said_vector(s, ATTR_end);
  Val *axes = begin ? slice_axes(s, begin) : NULL;
  Val *steps = NULL;
  if (!axes || !end) return NULL;
  if (attr_word(s->attrs, ATTR_slice_mode) == SLICE_SIZE)
    end = ends_of_lengths(s, begin, end);
  else if (said_set(s, ATTR_strides)) steps = said_vector(s, ATTR_strides);
  int count = vector_count(begin);
  if (!end || (said_set(s, ATTR_strides) && end && !steps &&
               attr_word(s->attrs, ATTR_slice_mode) == SLICE_END))
    return NULL;
  if (count < 0 || vector_count(end) != count || vector_count(axes) != count)
    return said_refuse(s, "ONNX wants as many ends as begins");
  if (steps && vector_count(steps) == 1 && count != 1 && steps->constant) {
    int64_t all[RANK_MAX];
    for (int i = 0; i < count; i++) all[i] = tensor_i64_at(steps->constant, 0);
    steps = val_ints(s->x, count, all);
  }
  return said_last(s, "Slice", steps ? 5 : 4,
                   (Val *[]){s->args[0], begin, end, axes, steps});
}

Val *say_slice_like(const Said *s) {
  int rank = said_rank(s, 0);
  if (rank < 0 || !said_default(s, ATTR_axes)) return NULL;
  int64_t zeros[RANK_MAX] = {0};
  return said_last(s, "Slice", 3,
                   (Val *[]){s->args[0], val_ints(s->x, rank, zeros),
                             said_shape(s, s->args[1])});
}

Val *say_reverse(const Said *s) {
  int64_t axis, from = -1, to = INT64_MIN + 1, by = -1;
  if (!said_int(s, ATTR_axis, &axis)) return NULL;
  return said_last(
      s, "Slice", 5,
      (Val *[]){s->args[0], val_ints(s->x, 1, &from), val_ints(s->x, 1, &to),
                val_ints(s->x, 1, &axis), val_ints(s->x, 1, &by)});
}

/* ONNX wants a number for each axis of the operand, and no more. */
Val *say_tile(const Said *s) {
  int64_t reps[RANK_MAX], ones[RANK_MAX];
  int rank = said_rank(s, 0);
  if (rank < 0) return NULL;
  int count = said_ints(s, ATTR_reps, RANK_MAX, reps + 0);
  if (count < 0) return NULL;
  Val *v = s->args[0];
  if (count > rank) v = unsqueeze(s, v, 0, count - rank, false);
  int missing = rank > count ? rank - count : 0;
  for (int i = 0; i < missing; i++) ones[i] = 1;
  for (int i = 0; i < count; i++) ones[missing + i] = reps[i];
  return said_last(s, "Tile", 2,
                   (Val *[]){v, val_ints(s->x, missing + count, ones)});
}

Val *say_batch_flatten(const Said *s) {
  OnnxNode *n = said_node(s, "Flatten");
  if (n) onnx_attr_int(s->x->w, n, "axis", 1);
  return said_out(s, n);
}
