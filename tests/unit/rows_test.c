/* Products and sums over rows that lie in several tensors have the bits of the
 * operators on the joined matrix: for blocks of one row and of many, of
 * different lengths, empty, strided, and more rows than are summed at a
 * time; and where a sum goes on from that of the rows before. */
#include "tests/unit/ops.h"

#include "kernels/rows.h"

enum { BLOCKS_MOST = 400 };

/* Numbers of mixed size and sign, so that another order of adding shows. */
static float drawn(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  float x = (float)(*seed >> 8) / (1 << 24) - 0.5f;
  return *seed & 0x80 ? x * 1000 : x;
}

/* A matrix and the same rows cut into blocks, which are its views or, strided,
 * views of a transposed copy. */
typedef struct Cut {
  Tensor *whole;
  const Tensor *blocks[BLOCKS_MOST];
} Cut;

static void cut(Bench *b, Cut *c, int64_t columns, int count,
                const int64_t *lengths, bool strided, uint32_t seed) {
  int64_t rows = 0;
  for (int i = 0; i < count; i++) rows += lengths[i];
  c->whole = tensor_of(b, DT_FLOAT32, 2, (int64_t[]){rows, columns});
  Tensor *turned = tensor_of(b, DT_FLOAT32, 2, (int64_t[]){columns, rows});
  float *x = (float *)c->whole->data, *y = (float *)turned->data;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      y[j * rows + i] = x[i * columns + j] = drawn(&seed);
  for (int64_t i = 0, row = 0; i < count; row += lengths[i++]) {
    Tensor *of = strided ? turned : c->whole;
    int64_t steps[] = {strided ? 1 : columns, strided ? rows : 1};
    int64_t shape[] = {lengths[i], columns};
    c->blocks[i] = bench_own(
        b, tensor_view(&b->heap, of, 2, shape, steps, row * steps[0]));
  }
}

static void same_bits(const Tensor *a, const Tensor *b) {
  assert_true(shapes_equal(a, b));
  assert_memory_equal(a->data, b->data,
                      (size_t)tensor_count(a) * sizeof(float));
}

/* The product of the first blocks, from which that of the others goes on. */
static Tensor *product_in_two(const OpCall *c, RowBlocks x, RowBlocks y,
                              int64_t first) {
  RowBlocks x1 = {first, x.of}, y1 = {first, y.of};
  RowBlocks x2 = {x.count - first, x.of + first};
  RowBlocks y2 = {y.count - first, y.of + first};
  return rows_product(c, rows_product(c, NULL, x1, y1), x2, y2);
}

/* Likewise. */
static Tensor *sum_in_two(const OpCall *c, RowBlocks x, int64_t first) {
  RowsSum sum = {0};
  if (first > 0) assert_true(rows_sum_add(c, &sum, (RowBlocks){first, x.of}));
  if (first < x.count)
    assert_true(
        rows_sum_add(c, &sum, (RowBlocks){x.count - first, x.of + first}));
  return rows_sum_end(c->heap, &sum);
}

static void check(int64_t m, int64_t n, int count, const int64_t *lengths,
                  bool strided) {
  Bench b;
  bench_open(&b);
  Cut left, right;
  cut(&b, &left, m, count, lengths, strided, 1);
  cut(&b, &right, n, count, lengths, strided, 2);
  RowBlocks x = {count, left.blocks}, y = {count, right.blocks};
  assert_true(row_blocks_fit(x));
  assert_true(row_blocks_fit(y));

  Call product = call(&b, "nn.matmul");
  call_arg(&product, left.whole);
  call_arg(&product, right.whole);
  call_int(&product, ATTR_transpose_a, 1);
  Call sum = call(&b, "sum");
  call_arg(&sum, left.whole);
  call_ints(&sum, ATTR_axis, 1, (int64_t[]){0});
  const Tensor *expected = call_run(&product), *expected_sum = call_run(&sum);
  for (int threads = 1; threads <= 2; threads++) {
    OpCall c = {.heap = &b.heap, .threads = threads};
    same_bits(bench_own(&b, rows_product(&c, NULL, x, y)), expected);
    same_bits(bench_own(&b, sum_in_two(&c, x, count)), expected_sum);
    for (int first = 1; first < count; first += 1 + count / 3) {
      same_bits(bench_own(&b, product_in_two(&c, x, y, first)), expected);
      same_bits(bench_own(&b, sum_in_two(&c, x, first)), expected_sum);
    }
  }
  bench_close(&b);
}

static void test_bits(void **state) {
  (void)state;
  int64_t ones[BLOCKS_MOST], many[BLOCKS_MOST];
  for (int i = 0; i < BLOCKS_MOST; i++) ones[i] = 1, many[i] = 1 + i % 13;
  static const int64_t few[] = {1000, 24, 1, 0, 999, 40};
  static const int64_t shapes[][2] = {{1, 1},    {3, 2},    {70, 64},
                                      {64, 70},  {129, 5},  {5, 130},
                                      {250, 40}, {250, 140}};
  for (size_t i = 0; i < LENGTH(shapes); i++)
    for (int strided = 0; strided < 2; strided++) {
      check(shapes[i][0], shapes[i][1], BLOCKS_MOST, ones, strided);
      check(shapes[i][0], shapes[i][1], BLOCKS_MOST, many, strided);
      check(shapes[i][0], shapes[i][1], 6, few, strided);
      check(shapes[i][0], shapes[i][1], 1, few, strided);
    }
}

/* As many rows as two threads share, to transpose and to sum: blocks of one
 * row, which are joined, and longer ones; of the longer ones out' is what is
 * multiplied. */
static void test_threads(void **state) {
  (void)state;
  int64_t lengths[BLOCKS_MOST];
  for (int by = 1; by <= 37; by += 36) {
    for (int i = 0; i < BLOCKS_MOST; i++) lengths[i] = by;
    check(by == 1 ? 2000 : 400, by == 1 ? 140 : 300, BLOCKS_MOST, lengths,
          false);
  }
}

static void test_fit(void **state) {
  (void)state;
  Bench b;
  bench_open(&b);
  const Tensor *of[] = {tensor_of(&b, DT_FLOAT32, 2, (int64_t[]){2, 3}),
                        tensor_of(&b, DT_FLOAT32, 2, (int64_t[]){2, 4}),
                        tensor_of(&b, DT_FLOAT64, 2, (int64_t[]){2, 3}),
                        tensor_of(&b, DT_FLOAT32, 1, (int64_t[]){3})};
  for (int i = 1; i < 4; i++)
    assert_false(
        row_blocks_fit((RowBlocks){2, (const Tensor *[]){of[0], of[i]}}));
  bench_close(&b);
}

/* Empty matrices: sums of nothing are zeros, and results may have no element.
 */
static void test_empty(void **state) {
  (void)state;
  Bench b;
  bench_open(&b);
  OpCall c = {.heap = &b.heap, .threads = 1};
  Cut left, right;
  cut(&b, &left, 3, 2, (int64_t[]){0, 0}, false, 1);
  cut(&b, &right, 2, 2, (int64_t[]){0, 0}, false, 2);
  RowBlocks x = {2, left.blocks}, y = {2, right.blocks};
  const Tensor *product = bench_own(&b, rows_product(&c, NULL, x, y));
  const Tensor *sum = bench_own(&b, sum_in_two(&c, x, 1));
  for (int i = 0; i < 6; i++) assert_true(((float *)product->data)[i] == 0);
  for (int i = 0; i < 3; i++) assert_true(((float *)sum->data)[i] == 0);
  cut(&b, &left, 0, 2, (int64_t[]){4, 5}, false, 1);
  cut(&b, &right, 2, 2, (int64_t[]){4, 5}, false, 2);
  assert_int_equal(tensor_count(bench_own(
                       &b, rows_product(&c, NULL, (RowBlocks){2, left.blocks},
                                        (RowBlocks){2, right.blocks}))),
                   0);
  bench_close(&b);
}

/* A request to stop gives no result and leaves nothing behind. */
static void test_stop(void **state) {
  (void)state;
  Bench b;
  bench_open(&b);
  _Atomic int stop = 1;
  OpCall c = {.heap = &b.heap, .threads = 1, .stop = &stop};
  Cut left;
  cut(&b, &left, 70, 2, (int64_t[]){40, 50}, false, 1);
  RowBlocks x = {2, left.blocks};
  assert_null(rows_product(&c, NULL, x, x));
  int64_t shape[] = {70, 70};
  assert_null(
      rows_product(&c, tensor_zeros(&b.heap, DT_FLOAT32, 2, shape), x, x));
  RowsSum sum = {0};
  assert_false(rows_sum_add(&c, &sum, x));
  tensor_drop(&b.heap, sum.parts);
  bench_close(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bits), cmocka_unit_test(test_threads),
      cmocka_unit_test(test_fit),  cmocka_unit_test(test_empty),
      cmocka_unit_test(test_stop),
  };
  return RUN_TESTS(tests);
}
