/* Element-wise operators, conversions and `where`: runs strips over whole
 * tensors and shares them among threads.  ref/ and simd/ have the strips.
 *
 * A walk (ref/walk.h) finds the runs along which all operands have constant
 * strides.  Contiguous operands of one shape, by far the most frequent case,
 * are a single run, and are recognised without a walk: on a small tensor the
 * walk would cost as much as the work.  Threads share the pieces of the walk.
 *
 * The result may be an operand's own memory (kernels/run.c): element i of every
 * operand is read before element i of the result is written. */
#include "kernels/drive/elementwise.h"

#include "kernels/kernel.h"
#include "kernels/parallel.h"
#include "kernels/ref/walk.h"

#include <stdatomic.h>
#include <string.h>

static const double FEW_OPERATIONS = 0.2;

/* Loops of the overlay take a fraction of a nanosecond; where there is none, an
 * elementary function is computed one element at a time. */
double elementwise_time(OpId op, DType dtype) {
  OpFlops flops = op_info((int)op)->flops;
  if (flops == FLOPS_NONE) return FEW_OPERATIONS;
  bool overlaid = strip_of(op, dtype) != isa_reference.strips[dtype][op];
  if (overlaid) return FEW_OPERATIONS;
  return flops == FLOPS_FUNCTION ? 20 : 0.5;
}

/* --- Running ------------------------------------------------------------- */

enum { STRIP = 1 << 14 }; /* elements between two polls of `stop` */

bool elementwise_fault(OpCall *call) {
  return op_fault(call, E0602, "division by zero");
}

/* Shared by the threads of a call; any of them may set a fault. */
typedef struct Strips {
  const OpCall *call;
  StripFn run;
  Strip strip; /* complete but for the addresses of a run */
  const Walk *walk;
  atomic_int *fault;
} Strips;

/* Runs one run of the walk, in strips. */
static bool run_strips(const Strips *all, Strip *s, const Walk *w) {
  for (int64_t at = 0; at < w->n; at += STRIP) {
    if (op_stopped(all->call)) return false;
    s->n = w->n - at < STRIP ? w->n - at : STRIP;
    s->out = w->data[0] + at * w->step[0] * w->size[0];
    for (int k = 1; k < w->count; k++)
      s->in[k - 1] = w->data[k] + at * w->step[k] * w->size[k];
    int code = all->run(s);
    if (code) return atomic_store(all->fault, code), false;
  }
  return true;
}

static bool run_walk(const Strips *all, Strip *s, Walk *w) {
  while (walk_next(w))
    if (!run_strips(all, s, w)) return false;
  return true;
}

static bool run_share(const void *data, const Share *share) {
  const Strips *all = data;
  Walk w = walk_part(all->walk, share->from, share->to);
  Strip s = all->strip;
  return run_walk(all, &s, &w);
}

static void set_steps(Strip *s, const Walk *w) {
  s->out_step = w->step[0];
  for (int k = 1; k < w->count; k++) s->step[k - 1] = w->step[k];
}

/* Shares the walk among threads when that is faster. */
static bool run_axes(Strips *all, Walk *w, double nanoseconds) {
  int64_t pieces = walk_pieces(w);
  double work = nanoseconds * (double)tensor_count(all->call->outs[0]);
  int threads = parallel_threads(all->call, pieces, work);
  return threads > 1 ? parallel_run(all->call, threads, pieces, run_share, all)
                     : run_walk(all, &all->strip, w);
}

/* `nanoseconds` is the time for an element, beyond the time to move it.  The
 * strip function has its steps and parameters before the walk begins; for each
 * run only the addresses change. */
static bool run_timed(OpCall *call, StripFn strip, const Value params[2],
                      double nanoseconds) {
  const int count = call->arg_count + 1;
  const Tensor *operands[4] = {call->outs[0]};
  for (int k = 1; k < count && k < 4; k++) operands[k] = call->args[k - 1];
  atomic_int fault = 0;
  Walk w;
  Strips all; /* not zeroed: that takes a good part of a small call */
  all.call = call;
  all.run = strip;
  all.walk = &w;
  all.fault = &fault;
  if (params) memcpy(all.strip.params, params, sizeof all.strip.params);
  nanoseconds += ELEMENT_MOVED;
  bool one = walk_as_run(&w, count, operands) &&
             parallel_threads(call, w.n, nanoseconds * (double)w.n) <= 1;
  if (!one) walk_start(&w, count, operands);
  set_steps(&all.strip, &w);
  bool ok =
      one ? run_strips(&all, &all.strip, &w) : run_axes(&all, &w, nanoseconds);
  return fault ? elementwise_fault(call) : ok;
}

bool elementwise_run(OpCall *call, StripFn strip, const Value params[2]) {
  return run_timed(call, strip, params, FEW_OPERATIONS);
}

static bool run_with(OpCall *call, const Value params[2]) {
  OpId op = op_id(call->op);
  DType dtype = (DType)call->args[0]->dtype;
  StripFn strip = strip_of(op, dtype);
  if (!strip)
    return op_fault(call, E0304, "does not take %s", dtype_name(dtype));
  double work = call->threads > 1 ? elementwise_time(op, dtype) : 0;
  return run_timed(call, strip, params, work);
}

/* Attributes that are parameters, as of clip, become elements of operand 0's
 * dtype; the row names them. */
bool kernel_elementwise(OpCall *call) {
  const AttrName *names = call->op->params;
  Value params[OP_PARAMS_MAX] = {{.bits = 0}};
  for (int i = 0; i < OP_PARAMS_MAX && names[i]; i++)
    params[i] =
        bits_from_f64(call->args[0]->dtype, attr_real(call->attrs, names[i]));
  return run_with(call, names[0] ? params : NULL);
}

bool kernel_cast(OpCall *call) {
  OpCall one = *call; /* cast_like does not read its second operand */
  one.arg_count = 1;
  DType from = call->args[0]->dtype, to = call->outs[0]->dtype;
  bool ok = elementwise_run(&one, strip_of_cast(from, to), NULL);
  call->fault = one.fault;
  return ok;
}

/* Bits are moved: a copy under another dtype.  Between integers of as many bits
 * that is the cast, which for narrow ones also sets the bits above theirs. */
bool kernel_reinterpret(OpCall *call) {
  return dtype_is_int(call->args[0]->dtype) &&
                 dtype_is_int(call->outs[0]->dtype)
             ? kernel_cast(call)
             : kernel_copy(call);
}

/* `where` converts its condition to bool first. */
static bool as_bool(OpCall *call, const Tensor *t, Tensor **out) {
  *out = tensor_new(call->heap, DT_BOOL, t->rank, t->shape);
  if (!*out) return op_out_of_memory(call);
  OpCall cast = *call;
  cast.args = &t;
  cast.arg_count = 1;
  cast.outs = out;
  return elementwise_run(&cast, strip_of_cast(t->dtype, DT_BOOL), NULL);
}

/* Chooses by the bits of elements of that size; nothing is computed. */
bool kernel_where(OpCall *call) {
  Tensor *condition = NULL;
  const Tensor *args[3] = {call->args[0], call->args[1], call->args[2]};
  bool ok = true;
  if (args[0]->dtype != DT_BOOL) {
    ok = as_bool(call, args[0], &condition);
    args[0] = condition;
  }
  OpCall choose = *call;
  choose.args = args;
  StripFn strip = strip_of_where(dtype_size(args[1]->dtype));
  ok = ok && elementwise_run(&choose, strip, NULL);
  if (condition) tensor_drop(call->heap, condition);
  return ok;
}
