/* Reductions, scans, and what sorts. */
#include "export/say.h"

/* The axes of a reduction, all of them where none is said, from 0. */
static int reduced_axes(const Said *s, int rank, int64_t *axes) {
  int64_t said[RANK_MAX], exclude;
  int count = 0;
  if (said_set(s, ATTR_axis)) {
    count = said_ints(s, ATTR_axis, RANK_MAX, said);
    if (count < 0) return -1;
  }
  if (!said_int(s, ATTR_exclude, &exclude)) return -1;
  bool all = !said_set(s, ATTR_axis);
  int kept = 0;
  for (int i = 0; i < rank; i++) {
    bool named = all;
    for (int k = 0; k < count; k++) named |= axis_from(said[k], rank) == i;
    if (named != (exclude && !all)) axes[kept++] = i;
  }
  return kept;
}

/* Only ReduceSum takes its axes as an input before operator set 18. */
static Val *reduce(const Said *s, const char *op, Val *v, DType dtype,
                   bool last) {
  Export *x = s->x;
  int rank;
  int64_t axes[RANK_MAX], keep;
  if (!val_rank(x, v, s->e->span, &rank)) return NULL;
  int count = reduced_axes(s, rank, axes);
  if (count < 0 || !said_int(s, ATTR_keepdims, &keep)) return NULL;
  if (count == 0) return v;
  bool input = x->w->opset >= 18 || !strcmp(op, "ReduceSum");
  Val *list = input ? val_ints(x, count, axes) : NULL;
  OnnxNode *n = said_over(s, op, 1 + input, (Val *[]){v, list});
  if (!n) return NULL;
  if (!input) onnx_attr_ints(x->w, n, "axes", count, axes);
  onnx_attr_int(x->w, n, "keepdims", keep);
  return last ? said_out(s, n) : said_step_out(s, n, dtype, s->type->rank);
}

static Val *plain(const Said *s, const char *op) {
  return reduce(s, op, s->args[0], val_dtype(s->args[0]), true);
}

/* Of bools by way of integers. */
static Val *of_bools(const Said *s, const char *op) {
  Val *v = cast_to(s->x, s->args[0], DT_INT32);
  return v ? said_cast(s, reduce(s, op, v, DT_INT32, false)) : NULL;
}

static Val *either(const Said *s, const char *op, const char *of_bool) {
  return val_dtype(s->args[0]) == DT_BOOL ? of_bools(s, of_bool) : plain(s, op);
}

Val *say_sum(const Said *s) { return either(s, "ReduceSum", "ReduceMax"); }
Val *say_prod(const Said *s) { return either(s, "ReduceProd", "ReduceMin"); }
Val *say_max(const Said *s) { return either(s, "ReduceMax", "ReduceMax"); }
Val *say_min(const Said *s) { return either(s, "ReduceMin", "ReduceMin"); }
Val *say_mean(const Said *s) { return plain(s, "ReduceMean"); }
Val *say_all(const Said *s) { return of_bools(s, "ReduceMin"); }
Val *say_any(const Said *s) { return of_bools(s, "ReduceMax"); }

/* Positions are int64 in ONNX, along one axis. */
static Val *position(const Said *s, const char *op) {
  Export *x = s->x;
  int rank;
  int64_t axes[RANK_MAX], keep, last;
  Val *v = s->args[0];
  if (!val_rank(x, v, s->e->span, &rank)) return NULL;
  int count = reduced_axes(s, rank, axes);
  if (count < 0 || !said_int(s, ATTR_keepdims, &keep) ||
      !said_int(s, ATTR_select_last_index, &last))
    return NULL;
  bool flat = count == rank && rank != 1;
  if (count != 1 && !flat)
    return said_refuse(s, "ONNX has positions along one axis or all");
  if (flat && keep) return said_refuse(s, "ONNX keeps one axis");
  if (flat) v = said_flat(s, v);
  OnnxNode *n = said_over(s, op, 1, &v);
  if (!n) return NULL;
  onnx_attr_int(x->w, n, "axis", flat ? 0 : axes[0]);
  onnx_attr_int(x->w, n, "keepdims", keep);
  onnx_attr_int(x->w, n, "select_last_index", last);
  return said_cast(s, said_step_out(s, n, DT_INT64, s->type->rank));
}

Val *say_argmax(const Said *s) { return position(s, "ArgMax"); }
Val *say_argmin(const Said *s) { return position(s, "ArgMin"); }

Val *say_cumsum(const Said *s) {
  int64_t axis = 0, exclusive;
  Val *v = cast_to(s->x, s->args[0], (DType)s->type->dtype);
  if (!v || !said_int(s, ATTR_exclusive, &exclusive)) return NULL;
  if (!said_set(s, ATTR_axis)) v = said_flat(s, v);
  else if (!said_int(s, ATTR_axis, &axis)) return NULL;
  OnnxNode *n =
      said_over(s, "CumSum", 2, (Val *[]){v, val_number(s->x, DT_INT64, axis)});
  if (n) onnx_attr_int(s->x->w, n, "exclusive", exclusive);
  return said_out(s, n);
}

/* The first k along an axis, both results; k NULL: all. */
static bool top(const Said *s, Val *k, bool ascends, Val **values,
                Val **places) {
  int rank = said_rank(s, 0);
  int64_t axis;
  if (rank < 0 || !said_int(s, ATTR_axis, &axis)) return false;
  int at = axis_from(axis, rank);
  if (!k) k = said_length(s, s->args[0], at, true);
  OnnxNode *n = said_over(s, "TopK", 2, (Val *[]){s->args[0], k});
  if (!n) return false;
  onnx_attr_int(s->x->w, n, "axis", at);
  onnx_attr_int(s->x->w, n, "largest", !ascends);
  *values = said_step_out(s, n, val_dtype(s->args[0]), rank);
  *places = said_step_out(s, n, DT_INT64, rank);
  return *values && *places;
}

Val *say_sort(const Said *s) {
  Val *values, *places;
  int64_t ascends;
  if (!said_int(s, ATTR_is_ascend, &ascends)) return NULL;
  return top(s, NULL, ascends, &values, &places) ? said_cast(s, values) : NULL;
}

Val *say_argsort(const Said *s) {
  Val *values, *places;
  int64_t ascends;
  if (!said_int(s, ATTR_is_ascend, &ascends)) return NULL;
  return top(s, NULL, ascends, &values, &places) ? said_cast(s, places) : NULL;
}

Val *say_topk(const Said *s) {
  Val *both[2];
  int64_t ascends;
  Val *k = said_vector(s, ATTR_k);
  if (!k || !said_int(s, ATTR_is_ascend, &ascends) ||
      !top(s, k, ascends, &both[0], &both[1]))
    return NULL;
  if (s->type->kind != TY_TUPLE) {
    const char *kind = attr_text(s->attrs, ATTR_ret_type);
    return said_cast(s, both[*kind == 'i']);
  }
  Val **items = ARENA_ARRAY(s->x->arena, Val *, 2);
  for (int i = 0; items && i < 2; i++) {
    Said one = *s;
    one.type = s->type->args[i];
    if (!(items[i] = said_cast(&one, both[i]))) return NULL;
  }
  return items ? val_tuple(s->x, s->type, 2, items) : NULL;
}
