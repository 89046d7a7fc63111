/* The first NaN: the operator that makes one from operands without any is
 * where a run stops, with the element and what it was made from. */
#include <math.h>
#include <string.h>

#include "interp/observe.h"

/* --- Tensors ------------------------------------------------------------ */

/* The first element that is a NaN, row by row; -1: none. */
static int64_t first_nan(const Tensor *t) {
  if (!dtype_is_float((DType)t->dtype)) return -1;
  int64_t n = tensor_count(t);
  if (t->dtype == DT_FLOAT32 && tensor_is_contiguous(t)) {
    const float *f = (const float *)t->data;
    for (int64_t i = 0; i < n; i++)
      if (isnan(f[i])) return i;
    return -1;
  }
  for (int64_t i = 0; i < n; i++)
    if (isnan(tensor_f64_at(t, i))) return i;
  return -1;
}

bool nans_in(const Tensor *t) { return first_nan(t) >= 0; }

/* --- The message -------------------------------------------------------- */

/* Element `i` of a tensor of this shape, as indices. */
static void indices_of(const Tensor *t, int64_t i, int64_t *at) {
  for (int d = t->rank; d-- > 0;) {
    at[d] = i % t->shape[d];
    i /= t->shape[d];
  }
}

/* What an operand that broadcasts to `out` has at these indices. */
static Value element_for(const Tensor *t, const Tensor *out,
                         const int64_t *at) {
  int64_t offset = 0;
  for (int d = 0; d < t->rank; d++) {
    int64_t i = at[out->rank - t->rank + d];
    offset += (t->shape[d] == 1 ? 0 : i) * t->strides[d];
  }
  return bits_load((DType)t->dtype,
                   t->data + offset * (int64_t)dtype_size((DType)t->dtype));
}

static bool broadcasts(const Tensor *t, const Tensor *out) {
  if (t->rank > out->rank) return false;
  for (int d = 0; d < t->rank; d++) {
    int64_t extent = out->shape[out->rank - t->rank + d];
    if (t->shape[d] != 1 && t->shape[d] != extent) return false;
  }
  return true;
}

static void add_operand(StrBuf *text, const Tensor *t, const Tensor *out,
                        const int64_t *at, bool element) {
  if (element && broadcasts(t, out))
    scalar_print_literal(text, (DType)t->dtype, element_for(t, out, at));
  else tensor_print_type(text, t);
}

/* `name` gives a NaN [at [i, j]] from x, y. */
static bool stop_at(Session *s, const OpWatch *w, const char *name,
                    bool elementwise, const Tensor *out, int64_t i) {
  StrBuf text;
  int64_t at[RANK_MAX];
  strbuf_init(&text, s->mem);
  indices_of(out, i, at);
  if (out->rank > 0) strbuf_add(&text, " at [");
  for (int d = 0; d < out->rank; d++)
    strbuf_addf(&text, "%s%lld", d ? ", " : "", (long long)at[d]);
  if (out->rank > 0) strbuf_add_char(&text, ']');
  for (int k = 0; k < w->count; k++) {
    strbuf_add(&text, k ? ", " : " from ");
    add_operand(&text, &w->args[k], out, at, elementwise);
  }
  s->pc = w->pc;
  vm_fault(s, E0608, "`%s` makes a NaN%s", name, strbuf_text(&text));
  strbuf_done(&text);
  return false;
}

/* --- Operators ---------------------------------------------------------- */

bool nans_check(Session *s, const OpWatch *w, const OpShape *shape) {
  for (int i = 0; i < shape->out_count; i++) {
    const Value *v = &s->regs[shape->list[shape->source_count + i]];
    const Type *type = shape->out_types[i];
    Tensor out = type_is_scalar(type) ? tensor_on_bits((DType)type->dtype, v)
                                      : *v->tensor;
    int64_t at = first_nan(&out);
    if (at < 0) continue;
    bool elementwise = shape->site && shape->site->op->flags & OP_ELEMENTWISE;
    return stop_at(s, w, shape->name, elementwise, &out, at);
  }
  return true;
}

/* --- Instructions on scalars -------------------------------------------- */

static void set_types(DType *types, DType all) {
  for (int i = 0; i < 4; i++) types[i] = all;
}

/* What is it called, and of which dtypes are its result and its operands?
 * NULL: it is none that can make a NaN. */
static const char *scalar_name(const Word *pc, DType *types) {
  switch (pc->op) {
#define FLOATS(name, text)                                          \
  case INS_##name##_f32: set_types(types, DT_FLOAT32); return text; \
  case INS_##name##_f64: set_types(types, DT_FLOAT64); return text;
    FLOATS(add, "add")
    FLOATS(sub, "subtract")
    FLOATS(mul, "multiply")
    FLOATS(div, "divide")
#undef FLOATS
    case INS_scalar1:
    case INS_scalar2:
    case INS_scalar3: {
      const ScalarSite *site = pc[1].data;
      memcpy(types, site->types, sizeof site->types);
      return site->op->name;
    }
    default: return NULL;
  }
}

static int operand_count(const Word *pc) {
  if (pc->op == INS_scalar1) return 1;
  return pc->op == INS_scalar3 ? 3 : 2;
}

bool nans_scalar_begin(Session *s, const Word *pc, OpWatch *w) {
  DType types[4];
  Arena *arena = &s->observer->scratch;
  if (!scalar_name(pc, types) || !dtype_is_float(types[0])) return false;
  arena_reset(arena);
  *w = (OpWatch){.count = operand_count(pc), .clean = true};
  w->kept = ARENA_ARRAY(arena, Value, 3);
  w->args = ARENA_ARRAY(arena, Tensor, 3);
  if (!w->kept || !w->args) return false;
  uint16_t regs[3] = {pc->b, pc->c, w->count == 3 ? ins_list(pc)[0] : 0};
  for (int i = 0; i < w->count; i++) {
    w->kept[i] = s->regs[regs[i]];
    w->args[i] = tensor_on_bits(types[1 + i], &w->kept[i]);
    w->clean &= !nans_in(&w->args[i]);
  }
  w->pc = pc;
  return true;
}

bool nans_scalar_check(Session *s, const OpWatch *w) {
  DType types[4];
  const char *name = scalar_name(w->pc, types);
  Value result = s->regs[w->pc->a];
  Tensor out = tensor_on_bits(types[0], &result);
  if (!w->clean || !nans_in(&out)) return true;
  return stop_at(s, w, name, true, &out, 0);
}
