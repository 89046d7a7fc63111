/* What calls of operators cost on this machine, by running them. */
#include <string.h>
#include <time.h>

#include "kernels/call.h"
#include "lib/handles.h"
#include "lib/inside.h"

enum {
  RUNS = 3,             /* the fastest counts, after one that warms up */
  BYTES_MOST = 1 << 28, /* of operands */
  ARGS_MOST = 64
};

typedef struct Measured {
  const OpInfo *op;
  const Attrs *attrs; /* as a pointer: equal records may be measured twice */
  int count;
  Tensor args[ARGS_MOST]; /* headers */
  double ns;
} Measured;

struct Measurer {
  rly_program *p;
  Arena arena;
  VEC(Measured *) known;
};

Measurer *measurer_new(rly_program *p) {
  Measurer *m = mem_alloc_zeroed(p->mem, sizeof *m);
  if (!m) return NULL;
  m->p = p;
  arena_init(&m->arena, p->mem);
  VEC_INIT(&m->known, p->mem);
  return m;
}

void measurer_free(Measurer *m) {
  if (!m) return;
  VEC_DONE(&m->known);
  arena_done(&m->arena);
  mem_free(m->p->mem, m, sizeof *m);
}

static bool same_headers(const Measured *known, int count, const Tensor *args) {
  if (known->count != count) return false;
  for (int i = 0; i < count; i++)
    if (known->args[i].dtype != args[i].dtype ||
        !shapes_equal(&known->args[i], &args[i]))
      return false;
  return true;
}

/* Elements are 1: no kernel fails on them, and none is faster. */
static Tensor *ones_like(Heap *h, const Tensor *like) {
  Tensor *t = tensor_new(h, (DType)like->dtype, like->rank, like->shape);
  Value one = bits_from_f64((DType)like->dtype, 1);
  size_t size = (size_t)dtype_size((DType)like->dtype);
  for (int64_t i = 0, n = t ? tensor_count(t) : 0; i < n; i++)
    bits_store((DType)like->dtype, (char *)t->data + (size_t)i * size, one);
  return t;
}

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* Nanoseconds of the fastest run; -1: it failed. */
static double run(Measurer *m, const OpInfo *op, const Attrs *attrs, int count,
                  const Tensor *const *args) {
  Heap *heap = &m->p->cx->heap;
  static const _Atomic int go_on = 0;
  double best = -1;
  for (int i = 0; i <= RUNS; i++) {
    OpCall call = {.op = op,
                   .attrs = attrs,
                   .arg_count = count,
                   .args = args,
                   .heap = heap,
                   .arena = &m->arena,
                   .stop = &go_on,
                   .threads = 1};
    double start = now_ns();
    if (!op_run(&call)) return -1;
    double ns = now_ns() - start;
    for (int k = 0; k < call.out_count; k++) tensor_drop(heap, call.outs[k]);
    if (i > 0 && (best < 0 || ns < best)) best = ns;
  }
  return best;
}

static double measure(Measurer *m, const OpInfo *op, const Attrs *attrs,
                      int count, const Tensor *args) {
  const Tensor *operands[ARGS_MOST];
  Tensor *made[ARGS_MOST];
  int n = 0;
  while (n < count && (made[n] = ones_like(&m->p->cx->heap, &args[n]))) {
    operands[n] = made[n];
    n++;
  }
  double ns = n == count ? run(m, op, attrs, count, operands) : -1;
  while (n > 0) tensor_drop(&m->p->cx->heap, made[--n]);
  return ns;
}

double measurer_cost(void *measurer, const OpInfo *op, const Attrs *attrs,
                     int count, const Tensor *args) {
  Measurer *m = measurer;
  double bytes = 0;
  for (int i = 0; i < count; i++)
    bytes += (double)tensor_count(&args[i]) * dtype_size(args[i].dtype);
  if (count > ARGS_MOST || bytes > BYTES_MOST) return -1;
  for (size_t i = 0; i < m->known.len; i++) {
    const Measured *known = m->known.data[i];
    if (known->op == op && (known->attrs == attrs || !op->attr_count) &&
        same_headers(known, count, args))
      return known->ns;
  }
  Measured *made = ARENA_NEW(&m->arena, Measured);
  double ns = measure(m, op, attrs, count, args);
  if (!made) return ns;
  *made = (Measured){.op = op, .attrs = attrs, .count = count, .ns = ns};
  memcpy(made->args, args, (size_t)count * sizeof *args);
  VEC_PUSH(&m->known, made);
  return ns;
}
