/* The table of what operators are in ONNX, and what its functions share. */
#include "export/say.h"

static const SayRow rows[] = {
#define SAY(op_, function) {.op = OP_##op_, .say = say_##function},
#define SAID(op_, node, attributes) \
  {.op = OP_##op_, .onnx = node, .attrs = attributes},
#include "export/ops.def"
#undef SAY
#undef SAID
};

const SayRow *say_row(int op) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].op == op) return &rows[i];
  return NULL;
}

/* --- Nodes ---------------------------------------------------------------- */

OnnxNode *said_over(const Said *s, const char *op, int count, Val *const *in) {
  Export *x = s->x;
  for (int i = 0; i < count; i++)
    if (!in[i] || !val_name(x, in[i], s->e->span)) return NULL;
  OnnxNode *n = node_new(x, op);
  for (int i = 0; i < count; i++)
    if (!node_in(x, n, in[i], s->e->span)) return NULL;
  return n;
}

Val *said_step_out(const Said *s, OnnxNode *n, DType dtype, int rank) {
  if (!n) return NULL;
  const char *hint = s->x->hint;
  s->x->hint = NULL;
  Val *v = node_out(s->x, n, type_of_rank(s->x, dtype, rank));
  s->x->hint = hint;
  return v;
}

Val *said_step(const Said *s, const char *op, DType dtype, int rank, int count,
               Val *const *in) {
  return said_step_out(s, said_over(s, op, count, in), dtype, rank);
}

Val *said_last(const Said *s, const char *op, int count, Val *const *in) {
  return said_out(s, said_over(s, op, count, in));
}

Val *said_cast(const Said *s, Val *v) {
  if (!v) return NULL;
  if (val_dtype(v) == (DType)s->type->dtype && !v->constant) {
    Val *same = arena_copy(s->x->arena, v, sizeof *v);
    if (same) same->type = s->type;
    return same;
  }
  Val *made = cast_to(s->x, v, (DType)s->type->dtype);
  if (made && made != v) made->type = s->type;
  return made;
}

/* --- Shapes --------------------------------------------------------------- */

Val *said_shape(const Said *s, Val *v) {
  const Type *t = v->type;
  bool known = t->kind == TY_TENSOR && !t->any_rank;
  for (int i = 0; known && i < t->rank; i++) known = dim_is_number(t->dims[i]);
  if (!known) return said_step(s, "Shape", DT_INT64, 1, 1, &v);
  int64_t dims[RANK_MAX];
  shape_of_dims(t->rank, t->dims, dims);
  return val_ints(s->x, t->rank, dims);
}

Val *said_length(const Said *s, Val *v, int axis, bool vector) {
  const Type *t = v->type;
  int64_t at = axis;
  if (t->kind == TY_TENSOR && !t->any_rank && dim_is_number(t->dims[axis])) {
    at = dim_value(t->dims[axis]);
    return vector ? val_ints(s->x, 1, &at) : val_number(s->x, DT_INT64, at);
  }
  Val *index = vector ? val_ints(s->x, 1, &at) : val_number(s->x, DT_INT64, at);
  return said_step(s, "Gather", DT_INT64, vector, 2,
                   (Val *[]){said_shape(s, v), index});
}

Val *said_flat(const Said *s, Val *v) {
  int64_t all = -1;
  if (!v) return NULL;
  return said_step(s, "Reshape", val_dtype(v), 1, 2,
                   (Val *[]){v, val_ints(s->x, 1, &all)});
}

Val *said_like(const Said *s, int i, double number) {
  DType dtype = val_dtype(s->args[i]);
  return dtype_is_float(dtype) ? val_real(s->x, dtype, number)
                               : val_number(s->x, dtype, (int64_t)number);
}
