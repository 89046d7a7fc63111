/* Tensors that are made, and elements that are chosen. */
#include <string.h>

#include "export/say.h"

/* --- Made ----------------------------------------------------------------- */

/* A tensor of one number; the attribute's own tensor is a vector of one. */
static Val *filled(const Said *s, Val *shape, double number) {
  DType dtype = (DType)s->type->dtype;
  int64_t one = 1;
  if (!shape) return NULL;
  Tensor *t = program_tensor_new(s->x->p, dtype, 1, &one);
  if (!t) return NULL;
  bits_store(dtype, t->data, bits_from_f64(dtype, number));
  t = program_constant_take(s->x->p, t);
  OnnxNode *n = t ? said_over(s, "ConstantOfShape", 1, &shape) : NULL;
  if (n) onnx_attr_tensor(s->x->w, n, "value", t);
  return said_out(s, n);
}

Val *say_zeros(const Said *s) {
  return filled(s, said_vector(s, ATTR_shape), 0);
}
Val *say_ones(const Said *s) {
  return filled(s, said_vector(s, ATTR_shape), 1);
}
Val *say_zeros_like(const Said *s) {
  return filled(s, said_shape(s, s->args[0]), 0);
}
Val *say_ones_like(const Said *s) {
  return filled(s, said_shape(s, s->args[0]), 1);
}

static Val *expanded(const Said *s, Val *v, Val *shape) {
  v = v ? cast_to(s->x, v, (DType)s->type->dtype) : NULL;
  return said_last(s, "Expand", 2, (Val *[]){v, shape});
}

Val *say_full(const Said *s) {
  return expanded(s, s->args[0], said_vector(s, ATTR_shape));
}
Val *say_full_like(const Said *s) {
  return expanded(s, s->args[1], said_shape(s, s->args[0]));
}

/* arange(stop), arange(start, stop), arange(start, stop, step) */
Val *say_arange(const Said *s) {
  DType dtype = (DType)s->type->dtype;
  Val *in[3] = {val_real(s->x, dtype, 0), s->args[0], val_real(s->x, dtype, 1)};
  if (s->count > 1)
    for (int i = 0; i < s->count; i++) in[i] = s->args[i];
  for (int i = 0; i < 3; i++)
    if (!in[i] || !(in[i] = cast_to(s->x, in[i], dtype))) return NULL;
  return said_last(s, "Range", 3, in);
}

Val *say_one_hot(const Said *s) {
  int64_t axis;
  Val *depth = said_vector(s, ATTR_depth);
  if (!depth || !said_int(s, ATTR_axis, &axis)) return NULL;
  DType dtype = (DType)s->type->dtype;
  Val *off = cast_to(s->x, s->args[2], dtype);
  Val *on = cast_to(s->x, s->args[1], dtype);
  int64_t one = 1;
  Val *pair[2] = {off, on};
  for (int i = 0; i < 2; i++)
    pair[i] = said_step(s, "Reshape", dtype, 1, 2,
                        (Val *[]){pair[i], val_ints(s->x, 1, &one)});
  OnnxNode *both = said_over(s, "Concat", 2, pair);
  if (!both) return NULL;
  onnx_attr_int(s->x->w, both, "axis", 0);
  OnnxNode *n =
      said_over(s, "OneHot", 3,
                (Val *[]){s->args[0], depth, said_step_out(s, both, dtype, 1)});
  if (n) onnx_attr_int(s->x->w, n, "axis", axis);
  return said_out(s, n);
}

Val *say_copy(const Said *s) { return s->args[0]; }

/* --- Chosen --------------------------------------------------------------- */

static bool in_range(const Val *index, const Val *data, int axis) {
  const Dim length = data->type->dims[axis];
  if (!index->constant || !dim_is_number(length)) return false;
  for (int64_t i = 0, n = tensor_count(index->constant); i < n; i++) {
    int64_t at = tensor_i64_at(index->constant, i);
    if (at < 0 || at >= dim_value(length)) return false;
  }
  return true;
}

/* Gather refuses what is out of range, and counts negative indices from the
 * end; the language clips or wraps them. */
Val *say_take(const Said *s) {
  Export *x = s->x;
  Val *data = s->args[0], *index = s->args[1];
  int64_t axis = 0;
  int rank;
  if (!said_default(s, ATTR_batch_dims)) return NULL;
  if (!said_set(s, ATTR_axis)) data = said_flat(s, data);
  else if (!said_int(s, ATTR_axis, &axis)) return NULL;
  if (!data || !val_rank(x, data, s->e->span, &rank)) return NULL;
  int at = axis_from(axis, rank), mode = attr_word(s->attrs, ATTR_mode);
  int index_rank = index->type->rank;
  if (mode != TAKE_FAST && !in_range(index, data, at)) {
    index = cast_to(x, index, DT_INT64);
    Val *n = said_length(s, data, at, false);
    if (mode == TAKE_WRAP) {
      index = said_step(s, "Mod", DT_INT64, index_rank, 2, (Val *[]){index, n});
    } else {
      Val *zero = val_number(x, DT_INT64, 0), *one = val_number(x, DT_INT64, 1);
      Val *last = said_step(s, "Sub", DT_INT64, 0, 2, (Val *[]){n, one});
      index =
          said_step(s, "Min", DT_INT64, index_rank, 2, (Val *[]){index, last});
      index =
          said_step(s, "Max", DT_INT64, index_rank, 2, (Val *[]){index, zero});
    }
  }
  OnnxNode *n = said_over(s, "Gather", 2, (Val *[]){data, index});
  if (n && at) onnx_attr_int(x->w, n, "axis", at);
  return said_out(s, n);
}

/* Coordinates stand along the first axis in the language, along the last in
 * ONNX, and are int64. */
static Val *coordinates(const Said *s, Val *v) {
  int rank;
  int64_t perm[RANK_MAX];
  if (!val_rank(s->x, v, s->e->span, &rank)) return NULL;
  for (int i = 0; i < rank; i++) perm[i] = (i + 1) % rank;
  v = cast_to(s->x, v, DT_INT64);
  OnnxNode *n = v ? said_over(s, "Transpose", 1, &v) : NULL;
  if (n) onnx_attr_ints(s->x->w, n, "perm", rank, perm);
  return said_step_out(s, n, DT_INT64, rank);
}

Val *say_gather_nd(const Said *s) {
  int64_t batch;
  if (!said_int(s, ATTR_batch_dims, &batch)) return NULL;
  Val *at = coordinates(s, s->args[1]);
  OnnxNode *n = said_over(s, "GatherND", 2, (Val *[]){s->args[0], at});
  if (n && batch) onnx_attr_int(s->x->w, n, "batch_dims", batch);
  return said_out(s, n);
}

/* "update" is what ONNX calls "none"; a maximum or minimum needs operator set
 * 18. */
static bool put_reduction(const Said *s, OnnxNode *n, AttrName name) {
  const char *mode = attr_text(s->attrs, name);
  if (!n) return false;
  if (!strcmp(mode, "update")) return true;
  bool late = !strcmp(mode, "min") || !strcmp(mode, "max");
  if (!strcmp(mode, "mean") || (late && s->x->w->opset < 18)) {
    said_refuse(s,
                "ONNX combines updates otherwise; min and max need --opset "
                "18");
    return false;
  }
  onnx_attr_text(s->x->w, n, "reduction", mode);
  return true;
}

Val *say_scatter_nd(const Said *s) {
  Val *at = coordinates(s, s->args[1]);
  OnnxNode *n =
      said_over(s, "ScatterND", 3, (Val *[]){s->args[0], at, s->args[2]});
  return put_reduction(s, n, ATTR_mode) ? said_out(s, n) : NULL;
}

Val *say_scatter_elements(const Said *s) {
  int64_t axis;
  if (!said_int(s, ATTR_axis, &axis)) return NULL;
  OnnxNode *n = said_node(s, "ScatterElements");
  if (n) onnx_attr_int(s->x->w, n, "axis", axis);
  return put_reduction(s, n, ATTR_reduction) ? said_out(s, n) : NULL;
}

/* The positions of what is set, as a slice of the positions of all elements:
 * these are scattered to in one axis. */
Val *say_strided_set(const Said *s) {
  Export *x = s->x;
  int64_t axes[RANK_MAX];
  int rank = said_rank(s, 0);
  if (rank < 0) return NULL;
  for (int i = 0; i < rank; i++) axes[i] = i;
  Val *shape = said_shape(s, s->args[0]);
  Val *zero = val_number(x, DT_INT64, 0), *one = val_number(x, DT_INT64, 1);
  Val *size = said_step(s, "Size", DT_INT64, 0, 1, s->args);
  Val *all = said_step(s, "Range", DT_INT64, 1, 3, (Val *[]){zero, size, one});
  Val *grid = said_step(s, "Reshape", DT_INT64, rank, 2, (Val *[]){all, shape});
  Val *in[] = {grid, cast_to(x, s->args[2], DT_INT64),
               cast_to(x, s->args[3], DT_INT64), val_ints(x, rank, axes),
               cast_to(x, s->args[4], DT_INT64)};
  Val *part = said_step(s, "Slice", DT_INT64, rank, 5, in);
  if (!part) return NULL;
  DType dtype = val_dtype(s->args[0]);
  Val *of_part = said_step(s, "Shape", DT_INT64, 1, 1, &part);
  Val *news =
      said_step(s, "Expand", dtype, rank, 2, (Val *[]){s->args[1], of_part});
  Val *flat = said_step(s, "ScatterElements", dtype, 1, 3,
                        (Val *[]){said_flat(s, s->args[0]), said_flat(s, part),
                                  news ? said_flat(s, news) : NULL});
  return said_last(s, "Reshape", 2, (Val *[]){flat, shape});
}

Val *say_argwhere(const Said *s) {
  Val *rows = said_step(s, "NonZero", DT_INT64, 2, 1, s->args);
  Val *columns = said_step(s, "Transpose", DT_INT64, 2, 1, &rows);
  return said_cast(s, columns);
}

Val *say_trilu(const Said *s) {
  Val *k = cast_to(s->x, s->args[1], DT_INT64);
  OnnxNode *n = said_over(s, "Trilu", 2, (Val *[]){s->args[0], k});
  if (n) onnx_attr_int(s->x->w, n, "upper", attr_bool(s->attrs, ATTR_upper));
  return said_out(s, n);
}

Val *say_reverse_sequence(const Said *s) {
  int64_t time, batch;
  if (!said_int(s, ATTR_seq_axis, &time) ||
      !said_int(s, ATTR_batch_axis, &batch))
    return NULL;
  Val *lengths = cast_to(s->x, s->args[1], DT_INT64);
  OnnxNode *n =
      said_over(s, "ReverseSequence", 2, (Val *[]){s->args[0], lengths});
  if (!n) return NULL;
  onnx_attr_int(s->x->w, n, "time_axis", time);
  onnx_attr_int(s->x->w, n, "batch_axis", batch);
  return said_out(s, n);
}
