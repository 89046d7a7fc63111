/* Element-wise kernels.  What each operator computes is in elementwise_*.def,
 * the loops in elementwise_body.h; here they are compiled for each dtype and
 * run over whole tensors. */
#include "ops/ref/elementwise.h"

#include "ops/kernel.h"
#include "ops/math/f64.h"
#include "ops/parallel.h"
#include "ops/ref/elementary.h"
#include "ops/ref/walk.h"
#include "ops/simd/simd.h"

#include <stdatomic.h>
#include <string.h>

enum { TILE = 256 };

#define BODY "ops/ref/elementwise_body.h"
#define LIST "ops/ref/elementwise_bool.def"
#include "ops/ref/each_bool.h"
#undef LIST
#define LIST "ops/ref/elementwise_int.def"
#include "ops/ref/each_int.h"
#undef LIST
#define LIST "ops/ref/elementwise_float.def"
#include "ops/ref/each_float.h"
#undef LIST

static const Elementwise *const tables[DTYPE_COUNT] = {
#define DTYPE(id, ...) [DT_##id] = table_##id,
#include "tensor/dtype.def"
#undef DTYPE
};

Elementwise elementwise_of(OpId op, DType dtype) {
  Elementwise e = tables[dtype][op];
  const Simd *simd = simd_table();
  StripFn strip = simd ? simd->strip(op, dtype) : NULL;
  if (strip) e.strip = strip;
  return e;
}

static bool is_elementary(OpId op) {
  RuleFn rule = op_info((int)op)->rule;
  return rule == rule_unary_float || rule == rule_broadcast_float;
}

static const double FEW_OPERATIONS = 0.2;

double elementwise_time(OpId op, DType dtype) {
  const Simd *simd = simd_table();
  if (op == OP_WHERE || op == OP_CAST) return FEW_OPERATIONS;
  if (simd && simd->strip(op, dtype)) return FEW_OPERATIONS;
  return is_elementary(op) ? 20 : 0.5;
}

/* --- Running ------------------------------------------------------------- */

enum { STRIP = 1 << 14 }; /* elements between two looks at `stop` */

bool elementwise_fault(OpCall *call, int code) {
  return op_fault(call, (DiagCode)code,
                  code == E0602 ? "division by zero" : "failed");
}

/* What threads share; each of them may find a fault. */
typedef struct Strips {
  const OpCall *call;
  StripFn run;
  Strip strip; /* but for what a run of the walk gives */
  const Walk *walk;
  atomic_int *fault;
} Strips;

/* One run of the walk, in pieces. */
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

/* Shared among threads where that pays. */
static bool run_axes(Strips *all, Walk *w, double nanoseconds) {
  int64_t pieces = walk_pieces(w);
  double work = nanoseconds * (double)tensor_count(all->call->outs[0]);
  int threads = parallel_threads(all->call, pieces, work);
  return threads > 1 ? parallel_run(threads, pieces, run_share, all)
                     : run_walk(all, &all->strip, w);
}

/* `nanoseconds` an element beside what moving it takes. */
static bool run_timed(OpCall *call, StripFn strip, const Value params[2],
                      double nanoseconds) {
  const int count = call->arg_count + 1;
  const Tensor *operands[4] = {call->outs[0]};
  for (int k = 1; k < count && k < 4; k++) operands[k] = call->args[k - 1];
  atomic_int fault = 0;
  Walk w;
  Strips all; /* not cleared: that would be a good part of a small call */
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
  return fault ? elementwise_fault(call, fault) : ok;
}

bool elementwise_run(OpCall *call, StripFn strip, const Value params[2]) {
  return run_timed(call, strip, params, FEW_OPERATIONS);
}

static bool run_with(OpCall *call, const Value params[2]) {
  OpId op = (OpId)(call->op - op_table);
  DType dtype = (DType)call->args[0]->dtype;
  StripFn strip = elementwise_of(op, dtype).strip;
  if (!strip)
    return op_fault(call, E0304, "does not take %s", dtype_name(dtype));
  double work = call->threads > 1 ? elementwise_time(op, dtype) : 0;
  return run_timed(call, strip, params, work);
}

bool kernel_elementwise(OpCall *call) { return run_with(call, NULL); }

static Value param(const OpCall *call, AttrName name) {
  return bits_from_f64(call->args[0]->dtype, attr_real(call->attrs, name));
}

bool kernel_clip(OpCall *call) {
  Value params[2] = {param(call, ATTR_a_min), param(call, ATTR_a_max)};
  return run_with(call, params);
}

bool kernel_leaky_relu(OpCall *call) {
  Value params[2] = {param(call, ATTR_alpha)};
  return run_with(call, params);
}
