/* Kernels made of other operators; steps.h says how.
 *
 * A step is a call of its own: the same heap, arena, stop flag and threads, its
 * own operands and attributes.  op_run() infers its type as for any call, so
 * each step is checked.  The Steps own every result made so far, and drop them
 * together at the end; that keeps a kernel's text free of clean-up, at the
 * price that all of them live until then.  The last step writes to the results
 * of the call itself. */
#include "kernels/drive/steps.h"

#include <assert.h>

#include "kernels/kernel.h"

Attrs *step_attrs(const Steps *s, OpId op) {
  return attrs_shared(s->call->arena, op_info(op), s->call->attrs);
}

/* NULL among the operands means that an earlier step failed, with the fault
 * set. */
static bool all_there(int n, const Tensor *const *args) {
  for (int i = 0; i < n; i++)
    if (!args[i]) return false;
  return true;
}

/* No operand ends in a step (`ending` is 0): later steps may read it again. */
static OpCall call_of(const Steps *s, OpId op, const Attrs *attrs, int n,
                      const Tensor *const *args) {
  OpCall c = *s->call;
  c.op = op_info(op);
  c.attrs = attrs ? attrs : attrs_new(c.arena, c.op);
  c.args = args;
  c.arg_count = n;
  c.ending = 0;
  c.out_count = 0;
  c.outs = NULL;
  c.result = NULL;
  c.fault = (OpFault){0};
  return c;
}

const Tensor *step(Steps *s, OpId op, const Attrs *attrs, int n,
                   const Tensor *const *args) {
  if (!all_there(n, args)) return NULL;
  assert(s->count < STEPS_MAX);
  OpCall c = call_of(s, op, attrs, n, args);
  if (!op_run(&c)) {
    s->call->fault = c.fault;
    return NULL;
  }
  return s->made[s->count++] = c.outs[0];
}

void steps_drop(Steps *s) {
  while (s->count > 0) tensor_drop(s->call->heap, s->made[--s->count]);
}

/* The steps are dropped after the last one, which reads them, has run. */
bool steps_end(Steps *s, OpId op, const Attrs *attrs, int n,
               const Tensor *const *args) {
  bool ok = all_there(n, args);
  if (ok) {
    OpCall c = call_of(s, op, attrs, n, args);
    ok = op_infer(&c);
    c.outs = s->call->outs;
    c.out_count = 1;
    ok = ok && op_kernel(c.op)(&c);
    s->call->fault = c.fault;
  }
  steps_drop(s);
  return ok;
}

/* One of the steps' results: dropped with them. */
Tensor *step_room(Steps *s, DType dtype, int rank, const int64_t *shape) {
  assert(s->count < STEPS_MAX);
  Tensor *t = tensor_new(s->call->heap, dtype, rank, shape);
  if (!t) return op_out_of_memory(s->call), NULL;
  return s->made[s->count++] = t;
}

/* A scalar of the given dtype, converted as `cast` does. */
const Tensor *step_number(Steps *s, DType dtype, double value) {
  Tensor *t = step_room(s, dtype, 0, NULL);
  if (t) bits_store(dtype, t->data, bits_from_f64(dtype, value));
  return t;
}

const Tensor *step_cast(Steps *s, const Tensor *t, DType dtype) {
  if (!t || t->dtype == dtype) return t;
  Attrs *attrs = attrs_new(s->call->arena, op_info(OP_CAST));
  attr_set_dtype(attrs, ATTR_dtype, dtype);
  return STEP(s, OP_CAST, attrs, t);
}

/* A layout_transform from one text to the other. */
const Tensor *step_layout(Steps *s, const Tensor *t, const char *from,
                          const char *to) {
  Attrs *attrs = attrs_new(s->call->arena, op_info(OP_LAYOUT_TRANSFORM));
  attr_set_text(attrs, ATTR_src_layout, from);
  attr_set_text(attrs, ATTR_dst_layout, to);
  return STEP(s, OP_LAYOUT_TRANSFORM, attrs, t);
}
