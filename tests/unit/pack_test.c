/* Packed right operands: when they are made, that they hold what they should,
 * that products with them give the same bits, and who frees them.
 *
 * A packed form hangs on its buffer and is found again by whoever uses the same
 * weights; so it must be of the right geometry, made only for weights that come
 * again, dropped with the buffer, and left out where memory is short. */
#include "tests/unit/unit.h"

#include "kernels/pack.h"
#include "kernels/drive/product.h"

static Tensor *ramp(Heap *h, int64_t rows, int64_t columns) {
  Tensor *t = tensor_new(h, DT_FLOAT32, 2, (int64_t[]){rows, columns});
  for (int64_t i = 0; t && i < rows * columns; i++)
    ((float *)t->data)[i] = (float)i;
  return t;
}

static Matrix matrix_of(const Tensor *t, bool turned) {
  return (Matrix){.dtype = DT_FLOAT32,
                  .data = t->data,
                  .row_step = t->strides[turned],
                  .column_step = t->strides[!turned]};
}

/* Element [k, n] of panels with `rows` rows each. */
static float panel_at(const float *panels, int64_t rows, int64_t columns,
                      int64_t k, int64_t n) {
  int64_t start = n / PANEL * PANEL, wide = columns - start;
  int64_t width = wide < PANEL ? (wide + GROUP - 1) / GROUP * GROUP : PANEL;
  return panels[start * rows + k * width + n - start];
}

static void check_panels(Heap *h, int64_t rows, int64_t columns, bool turned,
                         int threads) {
  Tensor *t = turned ? ramp(h, columns, rows) : ramp(h, rows, columns);
  Matrix b = matrix_of(t, turned);
  const OpCall call = {.heap = h, .threads = threads};
  assert_null(pack_find(&call, t->buffer, &b, rows, columns));
  Packed *packed = pack_find(&call, t->buffer, &b, rows, columns);
  assert_non_null(packed);
  for (int64_t k = 0; k < rows; k++)
    for (int64_t n = 0; n < columns; n++) {
      int64_t ordinal = turned ? n * rows + k : k * columns + n;
      float x = panel_at(packed->panels, rows, columns, k, n);
      assert_true(x == (float)ordinal);
    }
  assert_ptr_equal(pack_find(&call, t->buffer, &b, rows, columns), packed);
  assert_false(buffer_writable(t->buffer));
  tensor_drop(h, t);
}

static void test_panels(void **state) {
  (void)state;
  Mem mem;
  Heap h;
  heap_init(&h, unit_mem(&mem));
  static const int64_t shapes[][2] = {
      {1, 1}, {3, 15}, {70, 64}, {129, 65}, {5, 200}, {64, 128},
  };
  check_panels(&h, 700, 1000, true, 2); /* long enough to be shared */
  for (size_t i = 0; i < LENGTH(shapes); i++) {
    check_panels(&h, shapes[i][0], shapes[i][1], false, 1);
    check_panels(&h, shapes[i][0], shapes[i][1], true, 1);
  }
  heap_done(&h);
  unit_mem_done(&mem);
}

/* Two views of one buffer have a form each; a parameter is packed at once. */
static void test_geometries(void **state) {
  (void)state;
  Mem mem;
  Heap h;
  heap_init(&h, unit_mem(&mem));
  Tensor *t = ramp(&h, 40, 30);
  ops_pack(t);
  const OpCall call = {.heap = &h};
  Matrix straight = matrix_of(t, false), turned = matrix_of(t, true);
  Packed *one = pack_find(&call, t->buffer, &straight, 40, 30);
  Packed *other = pack_find(&call, t->buffer, &turned, 30, 40);
  assert_non_null(one);
  assert_non_null(other);
  assert_ptr_not_equal(one, other);
  assert_ptr_equal(pack_find(&call, t->buffer, &straight, 40, 30), one);
  tensor_drop(&h, t);
  heap_done(&h);
  unit_mem_done(&mem);
}

/* A matrix that repeats a few elements is not worth more memory than those. */
static void test_repeated(void **state) {
  (void)state;
  Mem mem;
  Heap h;
  heap_init(&h, unit_mem(&mem));
  Tensor *t = ramp(&h, 2, 2);
  Matrix b = {.dtype = DT_FLOAT32, .data = t->data};
  const OpCall call = {.heap = &h};
  ops_pack(t);
  assert_null(
      pack_find(&call, t->buffer, &b, (int64_t)1 << 40, (int64_t)1 << 40));
  assert_null(pack_find(&call, t->buffer, &b, 100, 100));
  tensor_drop(&h, t);
  heap_done(&h);
  unit_mem_done(&mem);
}

static void pack_once(Mem *mem) {
  Heap h;
  heap_init(&h, mem);
  Tensor *t = ramp(&h, 20, 20);
  if (t) {
    Matrix b = matrix_of(t, true);
    ops_pack(t);
    pack_find(&(OpCall){.heap = &h}, t->buffer, &b, 20, 20);
    tensor_drop(&h, t);
  }
  heap_done(&h);
}

static void test_no_memory(void **state) {
  (void)state;
  unit_walk_failures(pack_once);
}

/* Repeats a product with weights packed and not; large ones are read from
 * alternating ends. */
static void compare_products(Heap *h, int64_t m, int64_t n, int64_t k,
                             int threads) {
  Tensor *a = ramp(h, m, k), *b = ramp(h, n, k);
  Tensor *plain = ramp(h, m, n), *packed = ramp(h, m, n);
  Product p = {.m = m,
               .n = n,
               .k = k,
               .a = matrix_of(a, false),
               .b = matrix_of(b, true),
               .out = matrix_of(plain, false)};
  OpCall call = {.heap = h, .threads = threads};
  assert_true(product_run(&call, &p));
  ops_pack(b);
  p.weights = b->buffer;
  p.out = matrix_of(packed, false);
  for (int i = 0; i < 4; i++) {
    memset(packed->data, 0, sizeof(float) * (size_t)(m * n));
    assert_true(product_run(&call, &p));
    assert_true(tensor_same(plain, packed));
  }
  tensor_drop(h, a);
  tensor_drop(h, b);
  tensor_drop(h, plain);
  tensor_drop(h, packed);
}

static void test_products(void **state) {
  (void)state;
  Mem mem;
  Heap h;
  heap_init(&h, unit_mem(&mem));
  for (int64_t m = 1; m <= 8; m++)
    for (int64_t n = 1; n <= 300; n += 23)
      compare_products(&h, m, n, 130 + n, 1);
  static const int64_t rows[] = {1, 2, 7, 200};
  for (size_t i = 0; i < LENGTH(rows); i++)
    for (int threads = 1; threads <= 2; threads++) {
      compare_products(&h, rows[i], 512, 700, threads);
      compare_products(&h, rows[i], 597, 513, threads);
    }
  heap_done(&h);
  unit_mem_done(&mem);
}

/* Small forms are always met from the front, others in turns, each of them on
 * its own. */
static void test_backwards(void **state) {
  (void)state;
  Packed small = {.bytes = 1 << 14}, large = {.bytes = 1 << 22};
  Packed other = {.bytes = 1 << 16};
  for (int i = 0; i < 4; i++) {
    assert_false(pack_backwards(&small));
    assert_int_equal(pack_backwards(&large), i % 2);
    if (i % 2) assert_int_equal(pack_backwards(&other), i / 2);
  }
}

/* Is the second operand of nn.batch_matmul, of this many matrices, packed when
 * it is used again? */
static bool packs_batch(int64_t matrices) {
  Mem mem;
  Heap h;
  Arena arena;
  Attrs attrs;
  const OpInfo *op = op_info(OP_NN_BATCH_MATMUL);
  heap_init(&h, unit_mem(&mem));
  arena_init(&arena, &mem);
  attrs_defaults(op, &attrs);
  int64_t shape[] = {matrices, 20, 20};
  Tensor *a = tensor_zeros(&h, DT_FLOAT32, 3, shape);
  Tensor *b = tensor_zeros(&h, DT_FLOAT32, 3, shape);
  size_t live[2] = {0, 0};
  for (int i = 0; i < 2; i++) {
    OpCall call = {.op = op,
                   .attrs = &attrs,
                   .arg_count = 2,
                   .args = (const Tensor *[]){a, b},
                   .heap = &h,
                   .arena = &arena,
                   .threads = 1};
    assert_true(op_run(&call));
    tensor_drop(&h, call.outs[0]);
    arena_done(&arena);
    live[i] = atomic_load(&mem.live);
  }
  tensor_drop(&h, a);
  tensor_drop(&h, b);
  heap_done(&h);
  unit_mem_done(&mem);
  return live[1] > live[0];
}

/* A single matrix is likely to be weights and is packed; one of many would be
 * used once and is not. */
static void test_batches(void **state) {
  (void)state;
  assert_true(packs_batch(1));
  assert_false(packs_batch(3));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_panels),    cmocka_unit_test(test_geometries),
      cmocka_unit_test(test_repeated),  cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_products),  cmocka_unit_test(test_batches),
      cmocka_unit_test(test_backwards),
  };
  return RUN_TESTS(tests);
}
