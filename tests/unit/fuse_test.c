/* Fused chains: they give the bits that the operators give one by one, for any
 * shapes, views, instruction sets, numbers of threads and in place; programs
 * that do not fit are refused.
 *
 * The oracle is the operators' own kernels, one by one: fusing is an
 * optimisation, so the least difference in bits is a mistake. */
#include "tests/unit/unit.h"

#include "kernels/fuse.h"
#include "kernels/parallel.h"
#include "kernels/isa.h"

typedef struct Desk {
  Mem mem;
  Heap heap;
  Arena arena;
  uint64_t random;
} Desk;

static void desk_open(Desk *d) {
  unit_mem(&d->mem);
  heap_init(&d->heap, &d->mem);
  arena_init(&d->arena, &d->mem);
  d->random = 17;
}

static void desk_close(Desk *d) {
  arena_done(&d->arena);
  heap_done(&d->heap);
  unit_mem_done(&d->mem);
}

static Tensor *numbers(Desk *d, DType dtype, int rank, const int64_t *shape) {
  Tensor *t = tensor_new(&d->heap, dtype, rank, shape);
  for (int64_t i = 0; i < tensor_count(t); i++) {
    double x = (double)(unit_random(&d->random) >> 40) * 0x1p-22 - 2;
    bits_store(dtype, t->data + i * (int64_t)dtype_size(dtype),
               bits_from_f64(dtype, x));
  }
  return t;
}

/* Runs one operator by its own kernel. */
static Tensor *apply(Desk *d, OpId op, const Tensor *a, const Tensor *b) {
  Attrs attrs;
  attrs_defaults(op_info((int)op), &attrs);
  OpCall call = {.op = op_info((int)op),
                 .attrs = &attrs,
                 .arg_count = op_arg_count(op_info((int)op)),
                 .args = (const Tensor *[]){a, b},
                 .heap = &d->heap,
                 .arena = &d->arena,
                 .threads = 1};
  assert_true(op_run(&call));
  return call.outs[0];
}

static OpCall call_of(Desk *d, const Fuse *f, const Tensor *const *args,
                      Tensor **outs, int threads) {
  return (OpCall){.arg_count = f->inputs,
                  .args = args,
                  .out_count = f->outputs,
                  .outs = outs,
                  .heap = &d->heap,
                  .arena = &d->arena,
                  .threads = threads};
}

static void run_on(Desk *d, const Fuse *f, const Tensor *const *args,
                   Tensor **outs, int threads) {
  OpCall call = call_of(d, f, args, outs, threads);
  int step;
  assert_true(fuse_run(f, &call, &step));
}

static void run(Desk *d, const Fuse *f, const Tensor *const *args,
                Tensor **outs) {
  run_on(d, f, args, outs, 1);
}

static void drop_all(Desk *d, Tensor **tensors, int count) {
  for (int i = 0; i < count; i++) tensor_drop(&d->heap, tensors[i]);
}

/* --- An LSTM cell --------------------------------------------------------
 * c' = sigmoid(f) c + sigmoid(i) tanh(g);  h' = sigmoid(o) tanh(c')
 * with the gates as views of one tensor, as `split` leaves them. */

enum { C, I, F, G, O, LSTM_INPUTS };

static Fuse lstm_cell(DType t) {
  Fuse f;
  fuse_init(&f, LSTM_INPUTS);
  int i = fuse_add(&f, OP_SIGMOID, t, (int[]){FUSE_INPUT(I)});
  int g = fuse_add(&f, OP_TANH, t, (int[]){FUSE_INPUT(G)});
  int keep = fuse_add(&f, OP_SIGMOID, t, (int[]){FUSE_INPUT(F)});
  int old = fuse_add(&f, OP_MULTIPLY, t, (int[]){keep, FUSE_INPUT(C)});
  int new = fuse_add(&f, OP_MULTIPLY, t, (int[]){i, g});
  int c = fuse_add(&f, OP_ADD, t, (int[]){old, new});
  int squashed = fuse_add(&f, OP_TANH, t, (int[]){c});
  int o = fuse_add(&f, OP_SIGMOID, t, (int[]){FUSE_INPUT(O)});
  int h = fuse_add(&f, OP_MULTIPLY, t, (int[]){o, squashed});
  assert_true(fuse_output(&f, c) && fuse_output(&f, h));
  assert_true(fuse_finish(&f));
  return f;
}

static void lstm_one_by_one(Desk *d, const Tensor *const *in, Tensor **outs) {
  Tensor *i = apply(d, OP_SIGMOID, in[I], NULL);
  Tensor *g = apply(d, OP_TANH, in[G], NULL);
  Tensor *keep = apply(d, OP_SIGMOID, in[F], NULL);
  Tensor *old = apply(d, OP_MULTIPLY, keep, in[C]);
  Tensor *new = apply(d, OP_MULTIPLY, i, g);
  outs[0] = apply(d, OP_ADD, old, new);
  Tensor *squashed = apply(d, OP_TANH, outs[0], NULL);
  Tensor *o = apply(d, OP_SIGMOID, in[O], NULL);
  outs[1] = apply(d, OP_MULTIPLY, o, squashed);
  drop_all(d, (Tensor *[]){i, g, keep, old, new, squashed, o}, 7);
}

static void compare_lstm(Desk *d, DType dtype, int64_t rows, int64_t n,
                         bool in_place, int threads) {
  int64_t shape[] = {rows, n};
  Tensor *gates = numbers(d, dtype, 2, (int64_t[]){rows, 4 * n});
  Tensor *in[LSTM_INPUTS] = {numbers(d, dtype, 2, shape)};
  for (int k = 0; k < 4; k++)
    in[1 + k] = tensor_view(&d->heap, gates, 2, shape, gates->strides, k * n);
  const Tensor *const *args = (const Tensor *const *)in;
  Tensor *expected[2], *outs[2];
  lstm_one_by_one(d, args, expected);
  outs[0] = in_place ? tensor_keep(in[C]) : numbers(d, dtype, 2, shape);
  outs[1] = in_place ? tensor_keep(in[G]) : numbers(d, dtype, 2, shape);
  Fuse f = lstm_cell(dtype);
  run_on(d, &f, args, outs, threads);
  assert_true(tensor_same(outs[0], expected[0]));
  assert_true(tensor_same(outs[1], expected[1]));
  drop_all(d, in, LSTM_INPUTS);
  drop_all(d, expected, 2);
  drop_all(d, outs, 2);
  tensor_drop(&d->heap, gates);
}

/* On every instruction set that the machine has. */
static void on_each_isa(void (*check)(Desk *)) {
  const Isa *tables[ISA_MAX];
  int count = isa_available(tables);
  Desk d;
  desk_open(&d);
  for (int k = 0; k < count; k++) {
    assert_true(isa_select(tables[k]->name));
    check(&d);
  }
  assert_true(isa_select(NULL));
  desk_close(&d);
}

static void lstm_of_sizes(Desk *d) {
  static const DType dtypes[] = {DT_FLOAT32, DT_FLOAT16, DT_BFLOAT16,
                                 DT_FLOAT64};
  for (size_t i = 0; i < LENGTH(dtypes); i++)
    for (int64_t n = 1; n < 600; n += n < 40 ? 1 : 131)
      compare_lstm(d, dtypes[i], 1 + n % 3, n, n % 2, 1);
}

static void test_lstm(void **state) {
  (void)state;
  on_each_isa(lstm_of_sizes);
}

/* --- Threads ------------------------------------------------------------- */

/* Along a line that does not end with a tile, over long runs and over short
 * ones, as large as it takes for a region of three threads. */
static const int64_t large[][2] = {{1, 75001}, {3, 25003}, {751, 101}};

static void is_shared(const Fuse *f, int64_t n, int threads) {
  OpCall call = {.threads = threads};
  int most = parallel_threads(&call, n / FUSE_TILE, f->nanoseconds * (double)n);
#ifdef _OPENMP
  assert_int_equal(most, threads);
#else
  assert_int_equal(most, 1);
#endif
}

static void lstm_on_threads(Desk *d) {
  static const DType dtypes[] = {DT_FLOAT32, DT_BFLOAT16};
  for (size_t i = 0; i < LENGTH(dtypes); i++)
    for (size_t j = 0; j < LENGTH(large); j++)
      for (int threads = 2; threads <= 3; threads++) {
        Fuse f = lstm_cell(dtypes[i]);
        is_shared(&f, large[j][0] * large[j][1], threads);
        compare_lstm(d, dtypes[i], large[j][0], large[j][1], j % 2, threads);
      }
}

static void test_lstm_on_threads(void **state) {
  (void)state;
  on_each_isa(lstm_on_threads);
}

/* a / b, and that divided by c: the operands are ones, but for a zero here
 * and there. */
static int divide_twice(Desk *d, int64_t rows, int64_t zero_of_b,
                        int64_t zero_of_c, int threads) {
  Fuse f;
  fuse_init(&f, 3);
  int q =
      fuse_add(&f, OP_DIVIDE, DT_INT32, (int[]){FUSE_INPUT(0), FUSE_INPUT(1)});
  int r = fuse_add(&f, OP_DIVIDE, DT_INT32, (int[]){q, FUSE_INPUT(2)});
  assert_true(fuse_output(&f, r) && fuse_finish(&f));
  int64_t n = 240000, shape[] = {rows, n / rows};
  is_shared(&f, n, threads);
  Tensor *in[3], *out = numbers(d, DT_INT32, 2, shape);
  for (int k = 0; k < 3; k++) {
    in[k] = tensor_new(&d->heap, DT_INT32, 2, shape);
    for (int64_t i = 0; i < n; i++) ((int32_t *)in[k]->data)[i] = 1;
  }
  if (zero_of_b >= 0) ((int32_t *)in[1]->data)[zero_of_b] = 0;
  if (zero_of_c >= 0) ((int32_t *)in[2]->data)[zero_of_c] = 0;
  OpCall call = call_of(d, &f, (const Tensor *const *)in, &out, threads);
  int step = -2;
  assert_false(fuse_run(&f, &call, &step));
  assert_int_equal(call.fault.code, E0602);
  assert_string_equal(call.fault.message, "`divide`: division by zero");
  drop_all(d, in, 3);
  tensor_drop(&d->heap, out);
  return step;
}

/* The fault that one thread would meet: of the first tile that has one, that
 * of the first step. */
static void test_fault_on_threads(void **state) {
  (void)state;
  static const struct {
    int64_t b, c;
    int step;
  } cases[] = {
      {239999, -1, 0}, {-1, 60000, 1}, {239999, 1, 1},
      {1, 239999, 0},  {300, 290, 0},  {220000, 3, 1},
  };
  Desk d;
  desk_open(&d);
  for (int threads = 1; threads <= 3; threads++)
    for (size_t i = 0; i < LENGTH(cases); i++)
      for (int64_t rows = 1; rows <= 1000; rows *= 10)
        assert_int_equal(
            divide_twice(&d, rows, cases[i].b, cases[i].c, threads),
            cases[i].step);
  /* A few elements on, in one tile: wherever shares begin. */
  for (int64_t at = 256; at < 239000; at += 13 * 256)
    assert_int_equal(divide_twice(&d, 1, at + 255, at, 2), 0);
  desk_close(&d);
}

static void test_stop_on_threads(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  _Atomic int stop = 1;
  Fuse f = lstm_cell(DT_FLOAT32);
  Tensor *x = numbers(&d, DT_FLOAT32, 1, (int64_t[]){200000});
  Tensor *outs[] = {numbers(&d, DT_FLOAT32, 1, x->shape),
                    numbers(&d, DT_FLOAT32, 1, x->shape)};
  for (int threads = 1; threads <= 2; threads++) {
    OpCall call =
        call_of(&d, &f, (const Tensor *[]){x, x, x, x, x}, outs, threads);
    int step = -2;
    call.stop = &stop;
    assert_false(fuse_run(&f, &call, &step));
    assert_int_equal(step, -1);
    assert_null(call.fault.message);
  }
  drop_all(&d, outs, 2);
  tensor_drop(&d.heap, x);
  desk_close(&d);
}

/* --- Broadcasting -------------------------------------------------------- */

/* (a + row) * column > scalar */
static void test_broadcast(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  Fuse f;
  fuse_init(&f, 4);
  int sum =
      fuse_add(&f, OP_ADD, DT_FLOAT32, (int[]){FUSE_INPUT(0), FUSE_INPUT(1)});
  int product =
      fuse_add(&f, OP_MULTIPLY, DT_FLOAT32, (int[]){sum, FUSE_INPUT(2)});
  int above =
      fuse_add(&f, OP_GREATER, DT_FLOAT32, (int[]){product, FUSE_INPUT(3)});
  assert_true(fuse_output(&f, above) && fuse_output(&f, product));
  assert_true(fuse_finish(&f));
  Tensor *in[] = {numbers(&d, DT_FLOAT32, 3, (int64_t[]){4, 3, 300}),
                  numbers(&d, DT_FLOAT32, 1, (int64_t[]){300}),
                  numbers(&d, DT_FLOAT32, 2, (int64_t[]){3, 1}),
                  numbers(&d, DT_FLOAT32, 0, NULL)};
  const Tensor *const *args = (const Tensor *const *)in;
  int rank;
  int64_t shape[RANK_MAX];
  assert_true(fuse_shape(&f, args, &rank, shape));
  assert_int_equal(rank, 3);
  assert_true(shape[0] == 4 && shape[1] == 3 && shape[2] == 300);
  Tensor *outs[] = {numbers(&d, DT_BOOL, 3, shape),
                    numbers(&d, DT_FLOAT32, 3, shape)};
  run(&d, &f, args, outs);
  Tensor *a = apply(&d, OP_ADD, in[0], in[1]);
  Tensor *b = apply(&d, OP_MULTIPLY, a, in[2]);
  Tensor *c = apply(&d, OP_GREATER, b, in[3]);
  assert_true(tensor_same(outs[0], c));
  assert_true(tensor_same(outs[1], b));
  drop_all(&d, in, 4);
  drop_all(&d, outs, 2);
  drop_all(&d, (Tensor *[]){a, b, c}, 3);
  desk_close(&d);
}

/* --- Arithmetic on the result of the step before -------------------------- */

/* r = x FIRST y SECOND z, or with `from` z SECOND (x FIRST y).  The first
 * result is an output as well with `twice`. */
typedef struct PairOf {
  DType dtype;
  OpId first, second;
  bool from, twice;
} PairOf;

static Fuse pair_of(const PairOf *p) {
  Fuse f;
  fuse_init(&f, 3);
  int t =
      fuse_add(&f, p->first, p->dtype, (int[]){FUSE_INPUT(0), FUSE_INPUT(1)});
  int z = FUSE_INPUT(2);
  int r = fuse_add(&f, p->second, p->dtype,
                   p->from ? (int[]){z, t} : (int[]){t, z});
  assert_true(fuse_output(&f, r));
  if (p->twice) assert_true(fuse_output(&f, t));
  assert_true(fuse_finish(&f));
  assert_int_equal(f.joined_calls < f.steps,
                   !p->twice && p->dtype != DT_FLOAT16);
  return f;
}

static void compare_pair(Desk *d, const PairOf *p, Tensor *const in[3]) {
  Fuse f = pair_of(p);
  const Tensor *args[] = {in[0], in[1], in[2]};
  Tensor *t = apply(d, p->first, in[0], in[1]);
  Tensor *r =
      p->from ? apply(d, p->second, in[2], t) : apply(d, p->second, t, in[2]);
  Tensor *outs[] = {numbers(d, p->dtype, r->rank, r->shape),
                    numbers(d, p->dtype, r->rank, r->shape)};
  run(d, &f, args, outs);
  assert_true(tensor_same(outs[0], r));
  if (p->twice) assert_true(tensor_same(outs[1], t));
  for (int k = 0; k < 3 && !p->twice; k++) {
    if (!shapes_equal(in[k], r)) continue;
    Tensor *over = tensor_copy(&d->heap, in[k]);
    args[k] = over;
    run(d, &f, args, &over);
    assert_true(tensor_same(over, r));
    tensor_drop(&d->heap, over);
    args[k] = in[k];
  }
  drop_all(d, outs, 2);
  drop_all(d, (Tensor *[]){t, r}, 2);
}

/* In each place a matrix, a row, a column and a scalar. */
static void compare_shapes(Desk *d, const PairOf *p) {
  static const int64_t shapes[][2] = {{5, 37}, {1, 37}, {5, 1}, {1, 1}};
  for (int i = 0; i < 3; i++)
    for (size_t shape = 0; shape < LENGTH(shapes); shape++) {
      Tensor *in[3];
      for (int k = 0; k < 3; k++)
        in[k] = numbers(d, p->dtype, 2, shapes[k == i ? shape : 0]);
      if (!p->twice || i == 2) compare_pair(d, p, in);
      drop_all(d, in, 3);
    }
}

static void test_pairs(void **state) {
  (void)state;
  static const DType dtypes[] = {DT_FLOAT16, DT_FLOAT32, DT_FLOAT64};
  static const OpId ops[] = {OP_ADD, OP_SUBTRACT, OP_MULTIPLY};
  Desk d;
  desk_open(&d);
  for (size_t t = 0; t < LENGTH(dtypes); t++)
    for (size_t first = 0; first < LENGTH(ops); first++)
      for (size_t second = 0; second < LENGTH(ops); second++)
        for (int more = 0; more < 4; more++)
          compare_shapes(&d, &(PairOf){dtypes[t], ops[first], ops[second],
                                       more & 1, more & 2});
  desk_close(&d);
}

/* (x - t * t) * t with t = x + y, which is read by more than one operand: only
 * t * t and the difference may be one call. */
static void test_read_twice(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  Fuse f;
  const DType t = DT_FLOAT32;
  fuse_init(&f, 2);
  int sum = fuse_add(&f, OP_ADD, t, (int[]){FUSE_INPUT(0), FUSE_INPUT(1)});
  int square = fuse_add(&f, OP_MULTIPLY, t, (int[]){sum, sum});
  int less = fuse_add(&f, OP_SUBTRACT, t, (int[]){FUSE_INPUT(0), square});
  int last = fuse_add(&f, OP_MULTIPLY, t, (int[]){less, sum});
  assert_true(fuse_output(&f, last) && fuse_finish(&f));
  assert_int_equal(f.joined_calls, 3);
  int64_t n = 100;
  Tensor *in[] = {numbers(&d, t, 1, &n), numbers(&d, t, 1, &n)};
  Tensor *out = numbers(&d, t, 1, &n);
  run(&d, &f, (const Tensor *const *)in, &out);
  Tensor *a = apply(&d, OP_ADD, in[0], in[1]);
  Tensor *b = apply(&d, OP_MULTIPLY, a, a);
  Tensor *c = apply(&d, OP_SUBTRACT, in[0], b);
  Tensor *e = apply(&d, OP_MULTIPLY, c, a);
  assert_true(tensor_same(out, e));
  drop_all(&d, in, 2);
  drop_all(&d, (Tensor *[]){out, a, b, c, e}, 5);
  desk_close(&d);
}

/* p = (x + y) * z, written over w, which the next pair reads: so p waits in its
 * slot.  r = (w - p) + x, written over x. */
static void compare_late(Desk *d, int64_t y_count, int threads) {
  const DType t = DT_FLOAT32;
  int64_t n = 3000;
  Fuse f;
  fuse_init(&f, 4);
  int sum = fuse_add(&f, OP_ADD, t, (int[]){FUSE_INPUT(0), FUSE_INPUT(1)});
  int p = fuse_add(&f, OP_MULTIPLY, t, (int[]){sum, FUSE_INPUT(2)});
  int less = fuse_add(&f, OP_SUBTRACT, t, (int[]){FUSE_INPUT(3), p});
  int r = fuse_add(&f, OP_ADD, t, (int[]){less, FUSE_INPUT(0)});
  assert_true(fuse_output(&f, p) && fuse_output(&f, r) && fuse_finish(&f));
  assert_int_equal(f.joined_calls, 2);
  assert_false(fuse_may_replace(&f, 0, 3));
  Tensor *in[] = {numbers(d, t, 1, &n), numbers(d, t, 1, &y_count),
                  numbers(d, t, 1, &n), numbers(d, t, 1, &n)};
  Tensor *a = apply(d, OP_ADD, in[0], in[1]);
  Tensor *b = apply(d, OP_MULTIPLY, a, in[2]);
  Tensor *c = apply(d, OP_SUBTRACT, in[3], b);
  Tensor *e = apply(d, OP_ADD, c, in[0]);
  run_on(d, &f, (const Tensor *const *)in, (Tensor *[]){in[3], in[0]}, threads);
  assert_true(tensor_same(in[3], b));
  assert_true(tensor_same(in[0], e));
  drop_all(d, in, 4);
  drop_all(d, (Tensor *[]){a, b, c, e}, 4);
}

static void test_late(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  for (int threads = 1; threads <= 3; threads += 2) {
    compare_late(&d, 3000, threads);
    compare_late(&d, 1, threads);
  }
  desk_close(&d);
}

/* --- Sizes change, faults, limits ---------------------------------------- */

/* cast(x > 0, float64) where bytes become eight: never over themselves. */
static void test_sizes(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  Fuse f;
  fuse_init(&f, 1);
  int narrow = fuse_add_cast(&f, DT_FLOAT32, DT_INT8, FUSE_INPUT(0));
  int wide = fuse_add_cast(&f, DT_INT8, DT_FLOAT64, narrow);
  int clipped =
      fuse_add_params(&f, OP_CLIP, DT_FLOAT64, wide, (double[]){-1, 1});
  assert_true(fuse_output(&f, clipped) && fuse_finish(&f));
  Tensor *x = numbers(&d, DT_FLOAT32, 1, (int64_t[]){1000});
  Tensor *out = numbers(&d, DT_FLOAT64, 1, (int64_t[]){1000});
  run(&d, &f, (const Tensor *[]){x}, &out);
  for (int64_t i = 0; i < 1000; i++) {
    double whole = (double)(int)tensor_f64_at(x, i);
    assert_true(tensor_f64_at(out, i) == (whole > 1    ? 1
                                          : whole < -1 ? -1
                                                       : whole));
  }
  tensor_drop(&d.heap, x);
  tensor_drop(&d.heap, out);
  desk_close(&d);
}

static void test_fault(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  Fuse f;
  fuse_init(&f, 2);
  int sum =
      fuse_add(&f, OP_ADD, DT_INT32, (int[]){FUSE_INPUT(0), FUSE_INPUT(1)});
  int q = fuse_add(&f, OP_DIVIDE, DT_INT32, (int[]){sum, FUSE_INPUT(1)});
  assert_true(fuse_output(&f, q) && fuse_finish(&f));
  Tensor *x = numbers(&d, DT_INT32, 1, (int64_t[]){5});
  Tensor *zero = tensor_zeros(&d.heap, DT_INT32, 0, NULL);
  Tensor *out = numbers(&d, DT_INT32, 1, (int64_t[]){5});
  OpCall call = {
      .args = (const Tensor *[]){x, zero}, .outs = &out, .arena = &d.arena};
  int step;
  assert_false(fuse_run(&f, &call, &step));
  assert_int_equal(step, 1);
  assert_int_equal(call.fault.code, E0602);
  assert_string_equal(call.fault.message, "`divide`: division by zero");
  drop_all(&d, (Tensor *[]){x, zero, out}, 3);
  desk_close(&d);
}

static void test_limits(void **state) {
  (void)state;
  Fuse f;
  fuse_init(&f, 1);
  int operands[] = {FUSE_INPUT(0), FUSE_INPUT(0)};
  assert_int_equal(fuse_add(&f, OP_NN_DENSE, DT_FLOAT32, operands), -1);
  assert_int_equal(fuse_add(&f, OP_SIN, DT_INT32, operands), -1);
  assert_false(fuse_finish(&f));
  for (int i = 0; i < FUSE_STEPS; i++)
    assert_int_equal(fuse_add(&f, OP_ADD, DT_FLOAT32, operands), i);
  assert_int_equal(fuse_add(&f, OP_ADD, DT_FLOAT32, operands), -1);
  for (int i = 0; i < FUSE_OUTPUTS; i++) assert_true(fuse_output(&f, i));
  assert_false(fuse_output(&f, FUSE_OUTPUTS));
  assert_true(fuse_finish(&f));
  /* All alive until the end: more than there are places for. */
  fuse_init(&f, 1);
  for (int i = 0; i < FUSE_SLOTS + 1; i++)
    fuse_add(&f, OP_ADD, DT_FLOAT32, operands);
  for (int i = 0; i < FUSE_SLOTS + 1; i++)
    fuse_add(&f, OP_ADD, DT_FLOAT32,
             (int[]){i, i ? FUSE_SLOTS + i : FUSE_INPUT(0)});
  assert_true(fuse_output(&f, 2 * FUSE_SLOTS + 1));
  assert_false(fuse_finish(&f));
}

static void test_shapes(void **state) {
  (void)state;
  Fuse f;
  fuse_init(&f, 2);
  Tensor a = tensor_on_data(DT_FLOAT32, 2, (int64_t[]){2, 3}, NULL);
  Tensor b = tensor_on_data(DT_FLOAT32, 1, (int64_t[]){4}, NULL);
  int rank;
  int64_t shape[RANK_MAX];
  assert_false(fuse_shape(&f, (const Tensor *[]){&a, &b}, &rank, shape));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lstm),
      cmocka_unit_test(test_lstm_on_threads),
      cmocka_unit_test(test_fault_on_threads),
      cmocka_unit_test(test_stop_on_threads),
      cmocka_unit_test(test_broadcast),
      cmocka_unit_test(test_pairs),
      cmocka_unit_test(test_read_twice),
      cmocka_unit_test(test_late),
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_fault),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_shapes),
  };
  return RUN_TESTS(tests);
}
