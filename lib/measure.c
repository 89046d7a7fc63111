/* What calls of operators cost on this machine, by running them. */
#include <string.h>
#include <time.h>

#include "kernels/call.h"
#include "lib/handles.h"
#include "lib/inside.h"

enum {
  RUNS = 3,             /* the fastest counts, after one that warms up */
  SECONDS_MOST = 1,     /* of a call of an operator of a text's own */
  BYTES_MOST = 1 << 28, /* of operands */
  ARGS_MOST = 64
};

/* What is called: an operator of the table, or one of a text's own, whose
 * versions under one name are equal as long as the program is optimised. */
typedef struct Callee {
  const OpInfo *op;   /* NULL: it is one of a text's own */
  const Attrs *attrs; /* as a pointer: equal records may be measured twice */
  const Name *own;
} Callee;

typedef struct Measured {
  Callee callee;
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

/* Calls are measured on one thread, so its processor time is what they cost,
 * whatever else the machine does meanwhile.  WASI has no such clock. */
#ifdef CLOCK_THREAD_CPUTIME_ID
#define COST_CLOCK CLOCK_THREAD_CPUTIME_ID
#else
#define COST_CLOCK CLOCK_MONOTONIC
#endif

static double now_ns(void) {
  struct timespec t;
  clock_gettime(COST_CLOCK, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* --- Runs ----------------------------------------------------------------- */

/* The operands, and what runs an operator of a text's own on them. */
typedef struct Trial {
  Measurer *m;
  Callee callee;
  const Program *p;
  const Global *own; /* in the program; the instance for the operands' types */
  int count;
  Tensor *args[ARGS_MOST];
  Heap *heap;
  Session *session; /* of such an operator; else NULL */
} Trial;

static bool run_op(const Trial *t, double *ns) {
  static const _Atomic int go_on = 0;
  OpCall call = {.op = t->callee.op,
                 .attrs = t->callee.attrs,
                 .arg_count = t->count,
                 .args = (const Tensor *const *)t->args,
                 .heap = t->heap,
                 .arena = &t->m->arena,
                 .stop = &go_on,
                 .threads = 1};
  double start = now_ns();
  if (!op_run(&call)) return false;
  *ns = now_ns() - start;
  for (int k = 0; k < call.out_count; k++) tensor_drop(t->heap, call.outs[k]);
  return true;
}

/* As a function; a scalar is its bits. */
static bool run_own(const Trial *t, double *ns) {
  const Global *g = t->own;
  Value values[ARGS_MOST], result;
  for (int i = 0; i < t->count; i++) {
    const Tensor *a = t->args[i];
    values[i] = a->rank ? (Value){.tensor = t->args[i]}
                        : bits_load((DType)a->dtype, a->data);
  }
  double start = now_ns();
  if (session_call(t->session, g, t->count, values, &result) != RUN_OK)
    return false;
  *ns = now_ns() - start;
  value_drop(session_store(t->session), g->type->result, result);
  return true;
}

/* Nanoseconds of the fastest run; -1: it failed. */
static double fastest(const Trial *t) {
  double best = -1, ns;
  for (int i = 0; i <= RUNS; i++) {
    if (!(t->callee.op ? run_op : run_own)(t, &ns)) return -1;
    if (i > 0 && (best < 0 || ns < best)) best = ns;
  }
  return best;
}

static double run_on_ones(Trial *t, int count, const Tensor *headers) {
  while (t->count < count &&
         (t->args[t->count] = ones_like(t->heap, &headers[t->count])))
    t->count++;
  double ns = t->count == count ? fastest(t) : -1;
  while (t->count > 0) tensor_drop(t->heap, t->args[--t->count]);
  return ns;
}

/* Can the function be called with tensors of these types as its operands? */
static bool takes(const Global *g, int count, const Tensor *args) {
  const Type *fn = g->type;
  bool fits = fn && fn->kind == TY_FN && fn->count == count;
  for (int i = 0; fits && i < count; i++)
    fits = fn->args[i]->kind == TY_TENSOR && !fn->args[i]->any_rank &&
           fn->args[i]->rank == args[i].rank;
  return fits;
}

/* In a session of its own, on the code of the program at hand.  A message of a
 * call that fails is nobody's. */
static double measure_own(Trial *t, int count, const Tensor *args) {
  rly_program *p = t->p->host;
  Diags *diags = p->ir->diags;
  Limits limits = limits_of(p->cx);
  if (!takes(t->own, count, args)) return -1;
  if (limits.timeout == 0 || limits.timeout > SECONDS_MOST)
    limits.timeout = SECONDS_MOST;
  limits.threads = 1;
  DiagsMark mark = diags_mark(diags);
  t->session = session_new(p->code, p->mem, limits, (SessionHooks){0}, diags);
  if (!t->session) return -1;
  t->heap = &session_store(t->session)->heap;
  double ns = run_on_ones(t, count, args);
  session_free(t->session);
  diags_return(diags, mark);
  return ns;
}

/* --- What is known ------------------------------------------------------ */

static Callee callee_of(const Expr *call) {
  const Expr *callee = call->call.callee;
  if (callee->kind != EX_OP) return (Callee){.own = callee->g.global->name};
  return (Callee){.op = op_info(callee->op), .attrs = call->call.bound};
}

static bool same_callee(const Callee *a, const Callee *b) {
  return a->op == b->op && a->own == b->own &&
         (a->attrs == b->attrs || (a->op && !a->op->attr_count));
}

double measurer_cost(void *measurer, const Program *p, const Expr *call,
                     int count, const Tensor *args) {
  Measurer *m = measurer;
  Callee callee = callee_of(call);
  double bytes = 0;
  for (int i = 0; i < count; i++)
    bytes += (double)tensor_count(&args[i]) * dtype_size(args[i].dtype);
  if (count > ARGS_MOST || bytes > BYTES_MOST) return -1;
  for (size_t i = 0; i < m->known.len; i++) {
    const Measured *known = m->known.data[i];
    if (same_callee(&known->callee, &callee) &&
        same_headers(known, count, args))
      return known->ns;
  }
  Trial t = {.m = m, .callee = callee, .p = p, .heap = &m->p->cx->heap};
  if (!callee.op) t.own = call->call.callee->g.global;
  double ns =
      callee.op ? run_on_ones(&t, count, args) : measure_own(&t, count, args);
  Measured *made = ARENA_NEW(&m->arena, Measured);
  if (!made) return ns;
  *made = (Measured){.callee = callee, .count = count, .ns = ns};
  memcpy(made->args, args, (size_t)count * sizeof *args);
  VEC_PUSH(&m->known, made);
  return ns;
}
