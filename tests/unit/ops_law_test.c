/* The law: the bits of a result depend on the operator, its attributes and
 * the lengths it reduces over, and on nothing else.  Results are compared
 * with those of other layouts, lengths and batches, and with the sequence of
 * operations that the language prescribes, written out here. */
#include "tests/unit/ops.h"

static const DType float_dtypes[] = {DT_FLOAT16, DT_BFLOAT16, DT_FLOAT32,
                                     DT_FLOAT64};
enum { LONGEST = 70 };

/* --- Element-wise: where an element lies does not matter ----------------- */

static const char *const unary_names[] = {
    "negative", "abs", "sign", "ceil", "floor", "round", "trunc", "exp", "log",
    "log2", "log10", "sqrt", "rsqrt", "sigmoid", "tanh", "erf", "sin", "cos",
    "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh",
    "fast_exp", "fast_tanh", "fast_erf", "nn.relu", "nn.leaky_relu", "copy",
};

static const char *const binary_names[] = {
    "add", "subtract", "multiply", "divide", "floor_divide", "trunc_divide",
    "mod", "floor_mod", "trunc_mod", "power", "maximum", "minimum",
};

static void unary_lengths(Bench *b, const char *name, DType dtype) {
  Tensor *x = noise(b, dtype, 1, (int64_t[]){LONGEST}, 1);
  Tensor *whole = run_unary(b, name, x);
  for (int64_t n = 1; n <= LONGEST; n++) {
    Tensor *tail = part_of(b, x, 0, LONGEST - n, n);
    Tensor *expected = part_of(b, whole, 0, LONGEST - n, n);
    assert_same(name, run_unary(b, name, tail), expected);
    assert_same(name, run_unary(b, name, scattered(b, tail)), expected);
  }
}

static void unary_everywhere(void **state) {
  (void)state;
  for (size_t i = 0; i < LENGTH(unary_names); i++)
    for (size_t k = 0; k < LENGTH(float_dtypes); k++) {
      Bench b;
      bench_open(&b);
      unary_lengths(&b, unary_names[i], float_dtypes[k]);
      bench_close(&b);
    }
}

/* A matrix against its rows, and a broadcast operand against its copy. */
static void binary_layouts(Bench *b, const char *name, DType dtype) {
  Tensor *x = noise(b, dtype, 2, (int64_t[]){5, 67}, 2);
  Tensor *y = noise(b, dtype, 2, (int64_t[]){5, 67}, 3);
  Tensor *whole = run_binary(b, name, x, y);
  assert_same(name, run_binary(b, name, scattered(b, x), scattered(b, y)),
              whole);
  Tensor *row = part_of(b, y, 0, 2, 1);
  for (int64_t i = 0; i < 5; i++) {
    Tensor *one = part_of(b, x, 0, i, 1);
    assert_same(name, run_binary(b, name, one, part_of(b, y, 0, i, 1)),
                part_of(b, whole, 0, i, 1));
    assert_same(name, run_binary(b, name, one, row),
                part_of(b, run_binary(b, name, x, row), 0, i, 1));
    assert_same(name, run_binary(b, name, row, one),
                part_of(b, run_binary(b, name, row, x), 0, i, 1));
  }
}

static void binary_everywhere(void **state) {
  (void)state;
  for (size_t i = 0; i < LENGTH(binary_names); i++)
    for (size_t k = 0; k < LENGTH(float_dtypes); k++) {
      Bench b;
      bench_open(&b);
      binary_layouts(&b, binary_names[i], float_dtypes[k]);
      bench_close(&b);
    }
}

/* The scalar function of the interpreter gives an element's bits. */
static void scalars_are_elements(void **state) {
  (void)state;
  Bench b;
  bench_open(&b);
  for (size_t i = 0; i < LENGTH(binary_names); i++) {
    bool dyn;
    ScalarFn f = op_scalar(op_find(binary_names[i], &dyn), DT_FLOAT32,
                           DT_FLOAT32);
    Tensor *x = noise(&b, DT_FLOAT32, 1, (int64_t[]){LONGEST}, 4);
    Tensor *y = noise(&b, DT_FLOAT32, 1, (int64_t[]){LONGEST}, 5);
    Tensor *out = run_binary(&b, binary_names[i], x, y);
    for (int64_t k = 0; k < LONGEST; k++) {
      int failed = 0;
      Value v = f(tensor_bits_at(x, k), tensor_bits_at(y, k), (Value){0},
                  &failed);
      Value expected = tensor_bits_at(out, k);
      assert_true(v.bits == expected.bits ||
                  (isnan(v.f32) && isnan(expected.f32)));
      assert_int_equal(failed, 0);
    }
  }
  bench_close(&b);
}

/* --- Reductions: 16 partial results, joined +8, +4, +2, +1 --------------- */

static float sum_as_prescribed(const float *x, int64_t n) {
  float part[16] = {0};
  for (int64_t r = 0; r < n; r++) part[r % 16] += x[r];
  for (int half = 8; half > 0; half /= 2)
    for (int k = 0; k < half; k++) part[k] += part[k + half];
  return part[0];
}

static void sums_are_as_prescribed(void **state) {
  (void)state;
  for (int64_t n = 1; n <= LONGEST; n++) {
    Bench b;
    bench_open(&b);
    Tensor *x = noise(&b, DT_FLOAT32, 1, (int64_t[]){n}, 6);
    float expected = sum_as_prescribed((float *)x->data, n);
    assert_true(tensor_bits_at(run_unary(&b, "sum", x), 0).f32 == expected);
    assert_true(tensor_bits_at(run_unary(&b, "mean", x), 0).f32 ==
                expected / (float)n);
    bench_close(&b);
  }
}

static Tensor *reduced(Bench *b, const char *name, const Tensor *x, int n,
                       const Dim *axes) {
  Call c = call(b, name);
  call_arg(&c, x);
  call_ints(&c, ATTR_axis, n, axes);
  return call_run(&c);
}

static Tensor *transposed(Bench *b, const Tensor *x) {
  Tensor *view = run_unary(b, "transpose", x);
  return bench_own(b, tensor_copy(&b->heap, view));
}

/* Columns of a matrix against rows of its transpose; a row alone. */
static void reduce_layouts(Bench *b, const char *name, DType dtype,
                           int64_t n) {
  Tensor *x = noise(b, dtype, 2, (int64_t[]){n, 67}, 7);
  Tensor *rows = transposed(b, x);
  Tensor *whole = reduced(b, name, x, 1, (Dim[]){0});
  assert_same(name, reduced(b, name, rows, 1, (Dim[]){1}), whole);
  assert_same(name, reduced(b, name, scattered(b, x), 1, (Dim[]){0}), whole);
  for (int64_t i = 0; i < 67; i += 13) {
    Tensor *row = part_of(b, rows, 0, i, 1);
    assert_same(name, reduced(b, name, row, 1, (Dim[]){1}),
                part_of(b, whole, 0, i, 1));
  }
}

static const char *const reduce_names[] = {"sum", "prod", "max", "min",
                                           "mean"};

static void reductions_everywhere(void **state) {
  (void)state;
  for (size_t i = 0; i < LENGTH(reduce_names); i++)
    for (size_t k = 0; k < LENGTH(float_dtypes); k++)
      for (int64_t n = 1; n <= LONGEST; n += k == 2 ? 1 : 23) {
        Bench b;
        bench_open(&b);
        reduce_layouts(&b, reduce_names[i], float_dtypes[k], n);
        bench_close(&b);
      }
}

/* Two axes at once are their row-major order, wherever they stand. */
static void reductions_over_two_axes(void **state) {
  (void)state;
  Bench b;
  bench_open(&b);
  Tensor *x = noise(&b, DT_FLOAT32, 3, (int64_t[]){7, 5, 9}, 8);
  Tensor *both = reduced(&b, "sum", x, 2, (Dim[]){0, 2});
  for (int64_t i = 0; i < 5; i++) {
    Tensor *slice = bench_own(&b, tensor_copy(&b.heap,
                                              part_of(&b, x, 1, i, 1)));
    float expected = sum_as_prescribed((float *)slice->data, 63);
    assert_true(tensor_bits_at(both, i).f32 == expected);
  }
  bench_close(&b);
}

/* --- Products: one chain of fused multiply-adds, k ascending ------------- */

static float dot_as_prescribed(const Tensor *a, int64_t row, const Tensor *w,
                               int64_t unit) {
  float acc = 0;
  int64_t k = a->shape[1];
  for (int64_t i = 0; i < k; i++)
    acc = fmaf(tensor_bits_at(a, row * k + i).f32,
               tensor_bits_at(w, unit * k + i).f32, acc);
  return acc;
}

static void dense_is_as_prescribed(void **state) {
  (void)state;
  static const int64_t sizes[][3] = {{1, 1, 1},   {1, 300, 70}, {9, 129, 33},
                                     {17, 70, 5}, {3, 0, 4},    {8, 128, 32}};
  for (size_t i = 0; i < LENGTH(sizes); i++) {
    int64_t m = sizes[i][0], k = sizes[i][1], n = sizes[i][2];
    Bench b;
    bench_open(&b);
    Tensor *x = noise(&b, DT_FLOAT32, 2, (int64_t[]){m, k}, 9);
    Tensor *w = noise(&b, DT_FLOAT32, 2, (int64_t[]){n, k}, 10);
    Tensor *out = run_binary(&b, "nn.dense", x, w);
    for (int64_t r = 0; r < m; r++)
      for (int64_t u = 0; u < n; u++)
        assert_true(tensor_bits_at(out, r * n + u).f32 ==
                    dot_as_prescribed(x, r, w, u));
    assert_same("scattered", run_binary(&b, "nn.dense", scattered(&b, x),
                                        scattered(&b, w)), out);
    bench_close(&b);
  }
}

/* A batch against its rows, for each dtype and each spelling. */
static void products_of_rows(void **state) {
  (void)state;
  for (size_t i = 0; i < LENGTH(float_dtypes); i++) {
    Bench b;
    bench_open(&b);
    Tensor *x = noise(&b, float_dtypes[i], 3, (int64_t[]){4, 3, 67}, 11);
    Tensor *w = noise(&b, float_dtypes[i], 2, (int64_t[]){37, 67}, 12);
    Tensor *out = run_binary(&b, "nn.dense", x, w);
    assert_same("matmul", run_binary(&b, "nn.matmul", x, transposed(&b, w)),
                out);
    Tensor *shared = bench_own(
        &b, tensor_view(&b.heap, w, 3, (int64_t[]){1, 67, 37},
                        (int64_t[]){0, 1, 67}, 0));
    assert_same("batch_matmul", run_binary(&b, "nn.batch_matmul", x, shared),
                out);
    for (int64_t r = 0; r < 4; r++)
      assert_same("dense", run_binary(&b, "nn.dense", part_of(&b, x, 0, r, 1),
                                      w), part_of(&b, out, 0, r, 1));
    bench_close(&b);
  }
}

/* --- Layers on lines ----------------------------------------------------- */

static Tensor *on_axis(Bench *b, const char *name, const Tensor *x, int axis) {
  Call c = call(b, name);
  call_arg(&c, x);
  int64_t n = x->shape[axis];
  bool normalises = strcmp(name, "nn.layer_norm") == 0;
  for (int i = 0; normalises && i < 2; i++)
    call_arg(&c, noise(b, x->dtype, 1, &n, (uint64_t)(20 + i)));
  call_int(&c, ATTR_axis, axis);
  return call_run(&c);
}

static void line_layouts(Bench *b, const char *name, DType dtype, int64_t n) {
  Tensor *x = noise(b, dtype, 2, (int64_t[]){4, n}, 13);
  Tensor *whole = on_axis(b, name, x, 1);
  Tensor *columns = on_axis(b, name, transposed(b, x), 0);
  assert_same(name, run_unary(b, "transpose", columns), whole);
  assert_same(name, on_axis(b, name, scattered(b, x), 1), whole);
  for (int64_t i = 0; i < 4; i++)
    assert_same(name, on_axis(b, name, part_of(b, x, 0, i, 1), 1),
                part_of(b, whole, 0, i, 1));
}

static const char *const line_names[] = {"nn.softmax", "nn.log_softmax",
                                         "nn.fast_softmax", "nn.layer_norm"};

static void lines_everywhere(void **state) {
  (void)state;
  for (size_t i = 0; i < LENGTH(line_names); i++)
    for (size_t k = 0; k < LENGTH(float_dtypes); k++)
      for (int64_t n = 1; n <= LONGEST; n += k == 2 ? 1 : 23) {
        Bench b;
        bench_open(&b);
        line_layouts(&b, line_names[i], float_dtypes[k], n);
        bench_close(&b);
      }
}

/* A scan goes on from where a shorter one stopped. */
static void scans_are_sequential(void **state) {
  (void)state;
  Bench b;
  bench_open(&b);
  Tensor *x = noise(&b, DT_FLOAT32, 1, (int64_t[]){LONGEST}, 14);
  Tensor *whole = run_unary(&b, "cumsum", x);
  float total = 0;
  for (int64_t i = 0; i < LONGEST; i++) {
    total += tensor_bits_at(x, i).f32;
    assert_true(tensor_bits_at(whole, i).f32 == total);
  }
  assert_same("cumsum", run_unary(&b, "cumsum", scattered(&b, x)), whole);
  bench_close(&b);
}

/* --- Convolutions, poolings: the layout does not matter ------------------ */

/* A layer on images: with its weights, in either layout. */
typedef struct ImageLayer {
  const char *name;
  int64_t weight[4];  /* O, I, H, W; or none */
  bool transposed;    /* the weight is I, O, H, W */
  int64_t stride, padding;
} ImageLayer;

static const ImageLayer image_layers[] = {
    {"nn.conv2d", {5, 3, 3, 2}, false, 1, 0},
    {"nn.conv2d", {5, 3, 3, 3}, false, 2, 1},
    {"nn.conv2d_transpose", {3, 4, 3, 2}, true, 2, 1},
    {"nn.avg_pool2d", {0}, false, 2, 1},
    {"nn.max_pool2d", {0}, false, 1, 0},
    {"nn.global_avg_pool2d", {0}, false, 0, 0},
    {"nn.adaptive_avg_pool2d", {0}, false, 0, 0},
    {"image.resize2d", {0}, false, 0, 0},
};

static Tensor *on_images(Bench *b, const ImageLayer *l, const Tensor *x,
                         bool last) {
  Call c = call(b, l->name);
  bool conv = l->weight[0] > 0, resizes = !conv && !l->stride;
  call_arg(&c, x);
  if (conv) call_arg(&c, noise(b, x->dtype, 4, l->weight, 30));
  if (last) call_text(&c, conv ? ATTR_data_layout : ATTR_layout, "NHWC");
  if (l->stride) {
    call_ints(&c, ATTR_strides, 1, &l->stride);
    call_ints(&c, ATTR_padding, 1, &l->padding);
  }
  if (!conv && l->stride) call_ints(&c, ATTR_pool_size, 2, (Dim[]){3, 2});
  if (resizes && strcmp(l->name, "image.resize2d") == 0)
    call_ints(&c, ATTR_size, 2, (Dim[]){5, 9});
  if (resizes && strcmp(l->name, "nn.adaptive_avg_pool2d") == 0)
    call_ints(&c, ATTR_output_size, 2, (Dim[]){2, 4});
  return call_run(&c);
}

static Tensor *permuted(Bench *b, const Tensor *x, const Dim *axes) {
  Call c = call(b, "transpose");
  call_arg(&c, x);
  call_ints(&c, ATTR_axes, 4, axes);
  return call_run(&c);
}

static void image_layouts(Bench *b, const ImageLayer *l, DType dtype) {
  Tensor *x = noise(b, dtype, 4, (int64_t[]){3, 3, 6, 7}, 15);
  Tensor *whole = on_images(b, l, x, false);
  for (int64_t i = 0; i < 3; i++)
    assert_same(l->name, on_images(b, l, part_of(b, x, 0, i, 1), false),
                part_of(b, whole, 0, i, 1));
  assert_same(l->name, on_images(b, l, scattered(b, x), false), whole);
  Tensor *last = on_images(b, l, permuted(b, x, (Dim[]){0, 2, 3, 1}), true);
  assert_same(l->name, permuted(b, last, (Dim[]){0, 3, 1, 2}), whole);
}

static void images_everywhere(void **state) {
  (void)state;
  for (size_t i = 0; i < LENGTH(image_layers); i++)
    for (size_t k = 0; k < LENGTH(float_dtypes); k++) {
      Bench b;
      bench_open(&b);
      image_layouts(&b, &image_layers[i], float_dtypes[k]);
      bench_close(&b);
    }
}

/* k runs over channels, rows and columns; padding takes part as 0. */
static void conv2d_is_as_prescribed(void **state) {
  (void)state;
  Bench b;
  bench_open(&b);
  Tensor *x = noise(&b, DT_FLOAT32, 4, (int64_t[]){1, 3, 6, 7}, 16);
  Tensor *w = noise(&b, DT_FLOAT32, 4, (int64_t[]){2, 3, 3, 3}, 17);
  Call c = call(&b, "nn.conv2d");
  call_arg(&c, x);
  call_arg(&c, w);
  call_ints(&c, ATTR_padding, 1, (Dim[]){1});
  Tensor *out = call_run(&c);
  for (int64_t at = 0; at < 2 * 6 * 7; at++) {
    int64_t o = at / 42, row = at / 7 % 6, column = at % 7;
    float acc = 0;
    for (int64_t k = 0; k < 27; k++) {
      int64_t h = row + k / 3 % 3 - 1, v = column + k % 3 - 1;
      bool inside = h >= 0 && h < 6 && v >= 0 && v < 7;
      float e = inside ? tensor_bits_at(x, (k / 9 * 6 + h) * 7 + v).f32 : 0;
      acc = fmaf(tensor_bits_at(w, o * 27 + k).f32, e, acc);
    }
    assert_true(tensor_bits_at(out, at).f32 == acc);
  }
  bench_close(&b);
}

/* --- Normalisation: a batch against its parts ---------------------------- */

static Tensor *normalized(Bench *b, const char *name, const Tensor *x) {
  Call c = call(b, name);
  call_arg(&c, x);
  if (strcmp(name, "nn.l2_normalize") == 0) {
    call_ints(&c, ATTR_axis, 2, (Dim[]){1, 2});
    return call_run(&c);
  }
  int vectors = strcmp(name, "nn.batch_norm") == 0 ? 4
                : strcmp(name, "nn.lrn") == 0      ? 0
                                                   : 2;
  for (int i = 0; i < vectors; i++) {
    Tensor *v = noise(b, x->dtype, 1, &x->shape[1], (uint64_t)(40 + i));
    call_arg(&c, i == 3 ? run_unary(b, "abs", v) : v);
  }
  if (strcmp(name, "nn.group_norm") == 0) call_int(&c, ATTR_num_groups, 2);
  return call_run(&c);
}

static const char *const norm_names[] = {
    "nn.group_norm", "nn.instance_norm", "nn.batch_norm", "nn.lrn",
    "nn.l2_normalize",
};

static void norms_everywhere(void **state) {
  (void)state;
  for (size_t i = 0; i < LENGTH(norm_names); i++)
    for (size_t k = 0; k < LENGTH(float_dtypes); k++) {
      Bench b;
      bench_open(&b);
      Tensor *x = noise(&b, float_dtypes[k], 3, (int64_t[]){3, 4, 23}, 18);
      Tensor *whole = normalized(&b, norm_names[i], x);
      assert_same(norm_names[i], normalized(&b, norm_names[i],
                                            scattered(&b, x)), whole);
      for (int64_t n = 0; n < 3; n++)
        assert_same(norm_names[i],
                    normalized(&b, norm_names[i], part_of(&b, x, 0, n, 1)),
                    part_of(&b, whole, 0, n, 1));
      bench_close(&b);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(unary_everywhere),
      cmocka_unit_test(binary_everywhere),
      cmocka_unit_test(scalars_are_elements),
      cmocka_unit_test(sums_are_as_prescribed),
      cmocka_unit_test(reductions_everywhere),
      cmocka_unit_test(reductions_over_two_axes),
      cmocka_unit_test(dense_is_as_prescribed),
      cmocka_unit_test(products_of_rows),
      cmocka_unit_test(lines_everywhere),
      cmocka_unit_test(scans_are_sequential),
      cmocka_unit_test(images_everywhere),
      cmocka_unit_test(conv2d_is_as_prescribed),
      cmocka_unit_test(norms_everywhere),
  };
  return RUN_TESTS(tests);
}
