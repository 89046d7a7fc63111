/* The law among numbers of threads: one thread gives what two and three give,
 * bit for bit, on tensors large enough that a kernel shares its work; and all
 * of them heed the request to stop.
 *
 * The operands are large because kernels work alone on small ones.  The request
 * to stop and an error in one thread must end all of them. */
#include "tests/unit/ops.h"

#include "kernels/pack.h"
#include "kernels/parallel.h"

/* --- What is shared ------------------------------------------------------ */

enum { ARGS = 5 };

typedef struct Work {
  const char *name;
  DType dtype;
  int64_t shapes[ARGS][5]; /* 0 ends one */
  bool turned;             /* the first operand's last two axes are */
  bool packed;             /* the second operand is used again and again */
  int below;               /* the second operand's are indices below this */
  struct {
    AttrName name;
    int count;
    int64_t values[3];
  } attrs[3];
} Work;

#define INTS(name, ...)                                                \
  {                                                                    \
    ATTR_##name, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), { \
      __VA_ARGS__                                                      \
    }                                                                  \
  }

#define WORK(text, type, ...) \
  .name = text, .dtype = DT_##type, .shapes = {__VA_ARGS__}

static const Work works[] = {
    {WORK("nn.matmul", FLOAT32, {150, 300}, {300, 900})},
    {WORK("nn.matmul", FLOAT32, {3001, 300}, {300, 40})},
    {WORK("nn.matmul", FLOAT32, {3001, 300}, {300, 3})},
    {WORK("nn.dense", FLOAT32, {1, 700}, {2100, 700}), .packed = true},
    {WORK("nn.dense", FLOAT32, {200, 300}, {500, 300}), .packed = true},
    {WORK("nn.batch_matmul", FLOAT32, {40, 30, 70}, {40, 70, 50})},
    {WORK("nn.batch_matmul", FLOAT16, {12, 30, 70}, {1, 70, 50})},
    {WORK("nn.matmul", INT32, {150, 300}, {300, 200})},
    {WORK("nn.conv2d", FLOAT32, {1, 16, 60, 50}, {24, 16, 3, 3}),
     .attrs = {INTS(padding, 1, 1)}},
    {WORK("nn.conv2d", FLOAT32, {1, 70, 7, 9}, {150, 70, 3, 3})},
    {WORK("nn.conv2d", FLOAT32, {5, 40, 40, 30}, {40, 1, 3, 3}),
     .attrs = {INTS(groups, 40), INTS(strides, 2, 1)}},
    {WORK("nn.conv3d", FLOAT32, {1, 4, 9, 20, 20}, {8, 4, 3, 3, 3})},
    {WORK("nn.conv2d_transpose", FLOAT32, {1, 20, 30, 30}, {20, 9, 3, 3}),
     .attrs = {INTS(strides, 2, 2)}},
    {WORK("exp", FLOAT32, {700, 700})},
    {WORK("add", FLOAT32, {3, 70000, 3}, {1, 3})},
    {WORK("power", FLOAT32, {700, 700}, {700, 700}), .turned = true},
    {WORK("nn.relu", FLOAT16, {500001})},
    {WORK("copy", FLOAT32, {1500, 2000}), .turned = true},
    {WORK("nn.softmax", FLOAT32, {700, 700}), .attrs = {INTS(axis, -1)}},
    {WORK("nn.softmax", FLOAT32, {700, 700}), .attrs = {INTS(axis, 0)}},
    {WORK("nn.softmax", BFLOAT16, {700, 700}), .attrs = {INTS(axis, 1)}},
    {WORK("nn.softmax", FLOAT64, {700, 300}), .attrs = {INTS(axis, 0)}},
    {WORK("nn.lrn", FLOAT32, {2, 30, 70, 70}), .attrs = {INTS(axis, 1)}},
    {WORK("nn.batch_norm", FLOAT32, {3, 40, 50, 51}, {40}, {40}, {40}, {40})},
    {WORK("nn.layer_norm", FLOAT32, {700, 700}, {700}, {700})},
    {WORK("nn.group_norm", FLOAT32, {3, 8, 200, 101}, {8}, {8}),
     .attrs = {INTS(num_groups, 2)}},
    {WORK("sum", FLOAT32, {700, 700}), .attrs = {INTS(axis, 0)}},
    {WORK("max", FLOAT32, {700, 700}), .attrs = {INTS(axis, 1)}},
    {WORK("mean", FLOAT32, {70, 70, 101}), .attrs = {INTS(axis, 0, 2)}},
    {WORK("sum", FLOAT32, {700, 700})},
    {WORK("argmax", FLOAT32, {700, 700}), .attrs = {INTS(axis, 1)}},
    {WORK("argmin", INT32, {30, 20, 701}), .attrs = {INTS(axis, 0)}},
    {WORK("cumsum", FLOAT32, {700, 700}), .attrs = {INTS(axis, 0)}},
    {WORK("take", FLOAT32, {90, 700}, {901}), .below = 90,
     .attrs = {INTS(axis, 0)}},
    {WORK("take", FLOAT32, {90, 10, 703}, {33, 31}), .below = 10,
     .turned = true, .attrs = {INTS(axis, 1)}},
    {WORK("take", INT32, {703, 30}, {1021}), .below = 30,
     .attrs = {INTS(axis, 1)}},
    {WORK("take", FLOAT32, {90, 703}, {400, 1001}), .below = 63000},
    {WORK("take", FLOAT32, {90, 703}, {400, 1001}), .below = 63000,
     .turned = true},
    {WORK("reshape", FLOAT32, {1500, 2000}), .turned = true,
     .attrs = {INTS(newshape, 3000, 1000)}},
    {WORK("stack", FLOAT32, {1500, 1000}, {1500, 1000}),
     .attrs = {INTS(axis, 2)}},
    {WORK("tile", FLOAT32, {150, 1000}), .attrs = {INTS(reps, 20, 1)}},
    {WORK("repeat", FLOAT32, {1500, 100}),
     .attrs = {INTS(repeats, 20), INTS(axis, 1)}},
    {WORK("zeros_like", FLOAT64, {1500, 1000})},
    {WORK("sort", FLOAT32, {90, 301}), .attrs = {INTS(axis, 1)}},
    {WORK("argsort", INT32, {301, 90}), .attrs = {INTS(axis, 0)}},
    {WORK("image.resize2d", FLOAT32, {2, 5, 30, 31}),
     .attrs = {INTS(size, 61, 70)}},
    {WORK("nn.max_pool2d_grad", FLOAT32, {4, 16, 19, 20}, {4, 16, 40, 41}),
     .attrs = {INTS(pool_size, 3, 3), INTS(strides, 2, 2)}},
    {WORK("nn.avg_pool2d_grad", FLOAT32, {4, 16, 39, 40}, {4, 16, 40, 41}),
     .attrs = {INTS(pool_size, 2, 2)}},
    {WORK("nn.max_pool2d", FLOAT32, {4, 16, 40, 41}),
     .attrs = {INTS(pool_size, 3, 2), INTS(strides, 2, 2)}},
    {WORK("nn.avg_pool2d", FLOAT32, {4, 16, 40, 41}),
     .attrs = {INTS(pool_size, 2, 3), INTS(padding, 1, 1)}},
    {WORK("nn.global_avg_pool2d", FLOAT32, {100, 300, 4, 5})},
};

/* In no order, some of them more than once. */
static Tensor *indices(Bench *b, const Work *w, int rank) {
  Tensor *t = tensor_of(b, DT_INT32, rank, w->shapes[1]);
  for (int64_t k = 0; k < tensor_count(t); k++)
    ((int32_t *)t->data)[k] = (int32_t)(k * 2654435761 % w->below);
  return t;
}

static Tensor *operand(Bench *b, const Work *w, int i) {
  int rank = 0;
  while (rank < 5 && w->shapes[i][rank]) rank++;
  if (i == 1 && w->below) return indices(b, w, rank);
  if (dtype_is_float(w->dtype))
    return noise(b, w->dtype, rank, w->shapes[i], (uint64_t)i + 50);
  Tensor *t = tensor_of(b, w->dtype, rank, w->shapes[i]);
  for (int64_t k = 0; k < tensor_count(t); k++)
    element_put(t, k, bits_from_i64(w->dtype, k * 2654435761 % 1000003));
  return t;
}

static void turn(Tensor *t) {
  int last = t->rank - 1;
  int64_t n = t->shape[last], step = t->strides[last];
  t->shape[last] = t->shape[last - 1];
  t->strides[last] = t->strides[last - 1];
  t->shape[last - 1] = n;
  t->strides[last - 1] = step;
}

static Call call_of(Bench *b, const Work *w) {
  Call c = call(b, w->name);
  for (int i = 0; i < ARGS && w->shapes[i][0]; i++) {
    Tensor *t = operand(b, w, i);
    if (i == 0 && w->turned) turn(t);
    if (i == 1 && w->packed) ops_pack(t);
    call_arg(&c, t);
  }
  for (size_t i = 0; i < LENGTH(w->attrs) && w->attrs[i].count; i++) {
    call_ints(&c, w->attrs[i].name, w->attrs[i].count, w->attrs[i].values);
    call_int(&c, w->attrs[i].name, w->attrs[i].values[0]);
  }
  return c;
}

static void on_any_number(void **state) {
  (void)state;
  for (size_t i = 0; i < LENGTH(works); i++) {
    Bench b;
    bench_open(&b);
    Call c = call_of(&b, &works[i]);
    Tensor *alone = call_run(&c);
    for (c.op.threads = 2; c.op.threads <= 3; c.op.threads++)
      assert_same(works[i].name, call_run(&c), alone);
    bench_close(&b);
  }
}

/* --- Faults and stops ---------------------------------------------------- */

static void faults_are_told(void **state) {
  (void)state;
  Bench b;
  bench_open(&b);
  int64_t n = 500000;
  Tensor *x = tensor_of(&b, DT_INT32, 1, &n);
  memset(x->data, 0, tensor_bytes(x));
  Call c = call(&b, "divide");
  call_arg(&c, x);
  call_arg(&c, x);
  c.op.threads = 3;
  assert_false(call_try(&c));
  assert_int_equal(c.op.fault.code, E0602);
  bench_close(&b);
}

static void all_of_them_stop(void **state) {
  (void)state;
  for (size_t i = 0; i < LENGTH(works); i++) {
    if (strcmp(works[i].name, "copy") == 0) continue;
    Bench b;
    bench_open(&b);
    _Atomic int stop = 1;
    Call c = call_of(&b, &works[i]);
    c.op.stop = &stop;
    c.op.threads = 2;
    if (call_try(&c)) fail_msg("%s: did not stop", works[i].name);
    assert_null(c.op.fault.message);
    bench_close(&b);
  }
}

/* --- Beside other processes ----------------------------------------------- */

/* In milliseconds. */
static void region(Contention *c, int64_t start, int64_t idle, int64_t end) {
  contention_note(c, start * 1000000, idle * 1000000, end * 1000000);
}

static void alone_until(const Contention *c, int64_t end) {
  assert_true(contention_backs_off(c, end * 1000000 - 1));
  assert_false(contention_backs_off(c, end * 1000000));
}

static void alone_after_waiting(void **state) {
  (void)state;
  Contention c = {0};
  region(&c, 0, 1, 2);
  alone_until(&c, 0);
  region(&c, 0, 20, 35); /* worked for longer than it waited */
  alone_until(&c, 0);
  region(&c, 0, 1, 16);
  alone_until(&c, 116);
  region(&c, 200, 201, 216);
  alone_until(&c, 416);
  region(&c, 500, 501, 516);
  alone_until(&c, 916);
  for (int i = 0; i < 9; i++) region(&c, 0, 1, 1016);
  alone_until(&c, 4216);
  region(&c, 5000, 5001, 5001); /* as it should be: back to the least */
  region(&c, 6000, 6001, 6016);
  alone_until(&c, 6116);
}

static void awake_after_a_region(void **state) {
  (void)state;
  Contention c = {0};
  assert_false(contention_threads_spin(&c, 1)); /* there was no region */
  region(&c, 0, 9, 10);
  assert_true(contention_threads_spin(&c, 10 * 1000000 + 499999));
  assert_false(contention_threads_spin(&c, 10 * 1000000 + 500000));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(alone_after_waiting),
      cmocka_unit_test(awake_after_a_region),
      cmocka_unit_test(on_any_number),
      cmocka_unit_test(faults_are_told),
      cmocka_unit_test(all_of_them_stop),
  };
  return RUN_TESTS(tests);
}
