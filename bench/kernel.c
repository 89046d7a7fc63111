/* The kernels of the operators that dominate networks, called directly with
 * preallocated results, in turns with a peer: OpenBLAS where it has the
 * operation, else the machine.
 *
 * No interpreter is in the figure.  What the peer does must be what ours does:
 * one thread, float32, the same shapes, and packing of weights inside the time
 * or outside for both.
 *
 *   figure            peer
 *   products          OpenBLAS sgemm, sgemv
 *   math, conv2d      as many fused multiply-adds as the machine can do
 *   softmax, ...      one copy of the operand */
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/openblas.h"
#include "kernels/call.h"
#include "kernels/pack.h"

enum { RANK = 4 };

typedef enum Unit { GFLOPS, GELEMENTS, MICROSECONDS, MILLISECONDS } Unit;

/* --- Figures ------------------------------------------------------------- */

typedef struct Figure {
  const char *name;
  OpId op;
  /* of the operands; a shape ends before its first 0 */
  int64_t shapes[3][RANK];
  Unit unit;
  double amount; /* flops or elements in a round */
  void (*peer)(void *call);
  const char *peer_name;
  bool packed, transposed; /* is operand 1 packed; is operand 0 transposed */
} Figure;

static void run_openblas(void *call), run_fma(void *call), run_copy(void *call);

#define FLOPS(m, n, k) (2.0 * (m) * (n) * (k))
/* The rows of the table, one macro for each kind of figure; in each, the name
 * holds the shape. */
#define SGEMM(n)                                                             \
  {                                                                          \
    "kernel.sgemm_" #n, OP_NN_MATMUL, {{n, n}, {n, n}}, GFLOPS,              \
        FLOPS(n, n, n), run_openblas, "kernel.sgemm_" #n "@openblas", false, \
        false                                                                \
  }
#define DENSE(k, n)                                                           \
  {                                                                           \
    "kernel.dense_1x" #k "x" #n, OP_NN_DENSE, {{1, k}, {n, k}}, MICROSECONDS, \
        1, run_openblas, "kernel.sgemv_" #n "x" #k "@openblas", true, false   \
  }
#define MATH(op, function)                                               \
  {                                                                      \
    "kernel." #function "_4096", op, {{4096}}, GELEMENTS, 4096, run_fma, \
        "kernel." #function "_4096@fma_f32", false, false                \
  }
#define CONV(c, side)                                                       \
  {                                                                         \
    "kernel.conv2d_" #c "x" #side "x" #side "_k3", OP_NN_CONV2D,            \
        {{1, c, side, side}, {c, c, 3, 3}}, GFLOPS,                         \
        FLOPS(c, (side) * (side), (c)*9), run_fma,                          \
        "kernel.conv2d_" #c "x" #side "x" #side "_k3@fma_f32", false, false \
  }
#define SQUARE(op, name)                                                       \
  {                                                                            \
    "kernel." name "_1024x1024", op, {{1024, 1024}, {1024}, {1024}},           \
        MILLISECONDS, 1, run_copy, "kernel." name "_1024x1024@copy_l3", false, \
        (op) == OP_COPY                                                        \
  }

/* Sizes are those of common networks: square products, the products of one row
 * that recurrent networks make, a convolution of a residual network, and
 * vectors that fit the first-level cache (4,096 floats are 16 KB). */
static const Figure figures[] = {
    SGEMM(256),
    SGEMM(512),
    SGEMM(1024),
    DENSE(512, 2048),
    DENSE(64, 256),
    MATH(OP_EXP, exp),
    MATH(OP_TANH, tanh),
    MATH(OP_SIGMOID, sigmoid),
    MATH(OP_LOG, log),
    MATH(OP_ERF, erf),
    SQUARE(OP_NN_SOFTMAX, "softmax"),
    SQUARE(OP_NN_LAYER_NORM, "layer_norm"),
    SQUARE(OP_COPY, "transpose"),
    CONV(64, 56),
};

static const struct {
  const char *text;
  double per_second; /* scales the amount, for figures that are rates */
  double per_round;  /* scales the time, for figures that are times */
} units[] = {
    [GFLOPS] = {"GFLOP/s", 1e-9, 0},
    [GELEMENTS] = {"Gelem/s", 1e-9, 0},
    [MICROSECONDS] = {"us", 0, 1e6},
    [MILLISECONDS] = {"ms", 0, 1e3},
};

/* A rate has per_round 0, a time has per_second 0; so the sum is the one that
 * counts. */
static void print(const char *name, const Figure *f, double seconds) {
  double rate = f->amount * units[f->unit].per_second / seconds;
  double time = seconds * units[f->unit].per_round;
  bench_print(name, rate + time, units[f->unit].text);
}

/* --- Running ours -------------------------------------------------------- */

/* A figure made ready to run: the operands live as long as it. */
typedef struct Call {
  const Figure *figure;
  Heap heap;
  Arena arena, scratch; /* for the call itself; for what a run allocates */
  Tensor *args[3], views[3];
  const Tensor *operands[3]; /* views of the operands */
  Attrs attrs;
  OpCall op;
  const OpenBlas *blas;
} Call;

/* Numbers in (0, 1], for which every function here has a value. */
static Tensor *operand(Heap *h, const int64_t *shape) {
  int rank = 0;
  while (rank < RANK && shape[rank]) rank++;
  Tensor *t = tensor_new(h, DT_FLOAT32, rank, shape);
  int64_t n = t ? tensor_count(t) : 0;
  for (int64_t i = 0; i < n; i++)
    ((float *)t->data)[i] = (float)(i * 2654435761 % 65536 + 1) * 0x1p-16f;
  return t;
}

/* A view: only the strides change places, so `copy` has to move elements
 * across. */
static void transpose(Tensor *t) {
  int64_t step = t->strides[0];
  t->strides[0] = t->strides[1];
  t->strides[1] = step;
}

/* Pads by one on every side, so that results are as large as the data. */
static void set_padding(Attrs *attrs) {
  static const Dim ones[] = {{1}, {1}};
  AttrValue *padding = (AttrValue *)attr_get(attrs, ATTR_padding);
  padding->state = AV_SET;
  padding->count = 2;
  padding->ints = ones;
}

/* Unless the figure is about packing, hides the operands' buffers, on which a
 * packed form would hang: OpenBLAS packs anew each time, too.  The first run,
 * through op_run(), makes the results; later ones write over them. */
static bool prepare(Call *c) {
  const Figure *f = c->figure;
  const OpInfo *op = op_info(f->op);
  int count = op_arg_count(op);
  for (int i = 0; i < count; i++) {
    if (!(c->args[i] = operand(&c->heap, f->shapes[i]))) return false;
    c->views[i] = *c->args[i];
    c->operands[i] = &c->views[i];
    if (!f->packed) c->views[i].buffer = NULL;
  }
  if (f->transposed) transpose(&c->views[0]);
  if (f->packed) ops_pack(c->args[1]);
  attrs_defaults(op, &c->attrs);
  if (f->op == OP_NN_CONV2D) set_padding(&c->attrs);
  c->op = (OpCall){.op = op,
                   .attrs = &c->attrs,
                   .arg_count = count,
                   .args = c->operands,
                   .heap = &c->heap,
                   .arena = &c->arena,
                   .threads = 1};
  bool ok = op_run(&c->op);
  c->op.arena = &c->scratch;
  return ok;
}

/* Writes into the results of the first run.  Scratch memory is part of the
 * operation, so it is released within the time. */
static void run_ours(void *data) {
  Call *c = data;
  op_kernel(c->op.op)(&c->op);
  if (c->scratch.chunks) arena_done(&c->scratch);
}

/* dense is x W^T, so sgemv with W as it lies. */
static void run_openblas(void *data) {
  Call *c = data;
  const Tensor *a = c->args[0], *b = c->args[1];
  float *out = (float *)c->op.outs[0]->data;
  const float *x = (float *)a->data, *y = (float *)b->data;
  int m = (int)a->shape[0], n = (int)b->shape[0], k = (int)a->shape[1];
  if (c->figure->op == OP_NN_DENSE)
    c->blas->sgemv(ROW_MAJOR, PLAIN, n, k, 1, y, k, x, 1, 0, out, 1);
  else
    c->blas->sgemm(ROW_MAJOR, PLAIN, PLAIN, m, n, k, 1, x, k, y, n, 0, out, n);
}

static void run_fma(void *data) { machine_fma(data); }

/* Copies the figure's operand, 4 MB, to its result. */
static void run_copy(void *data) {
  Call *c = data;
  Tensor *out = c->op.outs[0];
  memcpy(out->data, c->args[0]->data, (size_t)tensor_bytes(out));
}

/* The machine's peer is a rate, whatever the unit of ours. */
static void print_peer(const Figure *f, double seconds) {
  if (f->peer == run_fma)
    bench_print(f->peer_name, machine_fma_flops() / seconds * 1e-9, "GFLOP/s");
  else print(f->peer_name, f, seconds);
}

/* Also after a failure call_end() is due. */
static bool call_start(Call *c, const Figure *f, Mem *mem,
                       const OpenBlas *blas) {
  *c = (Call){.figure = f, .blas = blas};
  heap_init(&c->heap, mem);
  arena_init(&c->arena, mem);
  arena_init(&c->scratch, mem);
  return prepare(c);
}

static void call_end(Call *c) {
  if (c->op.outs[0]) tensor_drop(&c->heap, c->op.outs[0]);
  for (int i = 0; i < 3; i++)
    if (c->args[i]) tensor_drop(&c->heap, c->args[i]);
  arena_done(&c->arena);
  heap_done(&c->heap);
}

enum { FIGURES = sizeof figures / sizeof *figures };

/* Adds the works of a figure: ours, and the peer's where there is one; none
 * when one has failed before. */
static int add_works(Work *works, Call *c) {
  const Figure *f = c->figure;
  if (!c->op.outs[0]) return 0;
  works[0] = (Work){.run = run_ours, .data = c};
  works[1] = (Work){.run = f->peer, .data = c, .beside = works};
  return f->peer == run_openblas && !c->blas ? 1 : 2;
}

/* All figures take turns together, so each is measured over the whole time. */
static void compare(Call calls[FIGURES]) {
  Work works[2 * FIGURES];
  int count = 0;
  for (int i = 0; i < FIGURES; i++)
    count += add_works(works + count, &calls[i]);
  bench_turns(works, count);
  for (int i = 0; i < count; i++) {
    const Figure *f = ((const Call *)works[i].data)->figure;
    if (works[i].run == run_ours) print(f->name, f, works[i].best);
    else print_peer(f, works[i].best);
  }
}

/* Calls are static: they are large, and there is one benchmark. */
void bench_kernel(Bench *b) {
  static Call calls[FIGURES];
  Mem mem;
  OpenBlas blas;
  bool peer = openblas_load(&blas, "kernel"), ok = true;
  if (!mem_init(&mem, SIZE_MAX)) {
    b->failed = true;
    return;
  }
  for (int i = 0; i < FIGURES; i++)
    ok = call_start(&calls[i], &figures[i], &mem, peer ? &blas : NULL) && ok;
  b->failed |= !ok;
  compare(calls);
  for (int i = 0; i < FIGURES; i++) call_end(&calls[i]);
  mem_done(&mem);
}
