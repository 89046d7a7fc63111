/* Operators at the edges: wrapping, division by zero, shifts, casts, NaN,
 * signed zeros, ties, empty tensors, indices out of range, views that share
 * memory, interruption, running out of memory.  What is expected stands in
 * docs/LANGUAGE.md and docs/operators.md; the bulk of ordinary values is in the
 * conformance cases.
 *
 * Each is a place where C, the hardware and the language differ, or where two
 * implementations would choose differently: INT_MIN / -1, a shift by more than
 * the width, the cast of a NaN, the maximum of nothing. */
#include "kernels/ref/walk.h"
#include "tests/unit/ops.h"

static const Value none = {0};

static Value scalar(OpId op, DType dtype, DType to, Value a, Value b,
                    int *failed) {
  *failed = 0;
  return op_scalar(op, dtype, to)(a, b, none, failed);
}

/* --- Integers ------------------------------------------------------------ */

typedef struct IntRow {
  OpId op;
  DType dtype;
  int64_t a, b, expected;
  int fails;
} IntRow;

static const IntRow int_rows[] = {
    {OP_ADD, DT_INT32, INT32_MAX, 1, INT32_MIN, 0},
    {OP_ADD, DT_UINT8, 200, 200, 144, 0},
    {OP_MULTIPLY, DT_INT16, INT16_MIN, -1, INT16_MIN, 0},
    {OP_MULTIPLY, DT_UINT16, 65535, 65535, 1, 0},
    {OP_SUBTRACT, DT_INT64, INT64_MIN, 1, INT64_MAX, 0},
    {OP_NEGATIVE, DT_INT8, -128, 0, -128, 0},
    {OP_ABS, DT_INT64, INT64_MIN, 0, INT64_MIN, 0},
    {OP_DIVIDE, DT_INT32, -7, 2, -3, 0},
    {OP_FLOOR_DIVIDE, DT_INT32, -7, 2, -4, 0},
    {OP_FLOOR_DIVIDE, DT_INT32, 7, -2, -4, 0},
    {OP_FLOOR_DIVIDE, DT_INT32, -8, 2, -4, 0},
    {OP_TRUNC_DIVIDE, DT_INT32, -7, 2, -3, 0},
    {OP_MOD, DT_INT32, -7, 2, -1, 0},
    {OP_FLOOR_MOD, DT_INT32, -7, 2, 1, 0},
    {OP_FLOOR_MOD, DT_INT32, 7, -2, -1, 0},
    {OP_TRUNC_MOD, DT_INT32, -7, 2, -1, 0},
    {OP_DIVIDE, DT_INT32, INT32_MIN, -1, INT32_MIN, 0},
    {OP_MOD, DT_INT64, INT64_MIN, -1, 0, 0},
    {OP_FLOOR_DIVIDE, DT_INT8, -128, -1, -128, 0},
    {OP_FLOOR_MOD, DT_INT64, INT64_MIN, -1, 0, 0},
    {OP_DIVIDE, DT_INT32, 7, 0, 0, FAULT_DIVISION_BY_ZERO},
    {OP_MOD, DT_UINT8, 7, 0, 0, FAULT_DIVISION_BY_ZERO},
    {OP_FLOOR_MOD, DT_INT64, 0, 0, 0, FAULT_DIVISION_BY_ZERO},
    {OP_LEFT_SHIFT, DT_INT32, -5, 1, -10, 0},
    {OP_LEFT_SHIFT, DT_INT32, 1, 31, INT32_MIN, 0},
    {OP_LEFT_SHIFT, DT_INT32, 1, 32, 0, 0},
    {OP_LEFT_SHIFT, DT_INT32, 1, -1, 0, 0},
    {OP_LEFT_SHIFT, DT_UINT8, 255, 4, 240, 0},
    {OP_RIGHT_SHIFT, DT_INT32, -5, 1, -3, 0},
    {OP_RIGHT_SHIFT, DT_INT32, -5, 40, -1, 0},
    {OP_RIGHT_SHIFT, DT_INT32, 5, 40, 0, 0},
    {OP_RIGHT_SHIFT, DT_UINT64, -1, 63, 1, 0},
    {OP_RIGHT_SHIFT, DT_INT8, -128, -1, -1, 0},
    {OP_SIGN, DT_INT8, -128, 0, -1, 0},
    {OP_BITWISE_NOT, DT_UINT8, 5, 0, 250, 0},
    {OP_ADD, DT_BOOL, 1, 1, 1, 0},
    {OP_LOGICAL_XOR, DT_BOOL, 1, 1, 0, 0},
};

static void integers(void **state) {
  (void)state;
  for (size_t i = 0; i < LENGTH(int_rows); i++) {
    const IntRow *r = &int_rows[i];
    int failed;
    Value got = scalar(r->op, r->dtype, r->dtype, bits_from_i64(r->dtype, r->a),
                       bits_from_i64(r->dtype, r->b), &failed);
    assert_int_equal(failed, r->fails);
    if (!failed)
      assert_int_equal(
          bits_to_i64(r->dtype, got),
          bits_to_i64(r->dtype, bits_from_i64(r->dtype, r->expected)));
  }
}

/* An operator of four bits is that of 64 on the same numbers, of whose result
 * the low bits stay: in two's complement this holds of all that are listed. */
static void narrow_integers(void **state) {
  (void)state;
  static const OpId ops[] = {
      OP_ADD,          OP_SUBTRACT,     OP_MULTIPLY,      OP_DIVIDE,
      OP_TRUNC_DIVIDE, OP_FLOOR_DIVIDE, OP_MOD,           OP_TRUNC_MOD,
      OP_FLOOR_MOD,    OP_MAXIMUM,      OP_MINIMUM,       OP_BITWISE_AND,
      OP_BITWISE_OR,   OP_BITWISE_XOR,  OP_LEFT_SHIFT,    OP_RIGHT_SHIFT,
      OP_NEGATIVE,     OP_ABS,          OP_SIGN,          OP_BITWISE_NOT,
      OP_NN_RELU,      OP_EQUAL,        OP_NOT_EQUAL,     OP_LESS,
      OP_LESS_EQUAL,   OP_GREATER,      OP_GREATER_EQUAL,
  };
  static const struct {
    DType narrow, wide;
    int64_t least, most;
  } rows[] = {{DT_INT4, DT_INT64, -8, 7}, {DT_UINT4, DT_UINT64, 0, 15}};
  for (size_t r = 0; r < LENGTH(rows); r++)
    for (size_t i = 0; i < LENGTH(ops); i++)
      for (int64_t a = rows[r].least; a <= rows[r].most; a++)
        for (int64_t b = rows[r].least; b <= rows[r].most; b++) {
          DType narrow = rows[r].narrow, wide = rows[r].wide;
          int failed, failed_wide;
          Value got = scalar(ops[i], narrow, narrow, bits_from_i64(narrow, a),
                             bits_from_i64(narrow, b), &failed);
          Value exact = scalar(ops[i], wide, wide, bits_from_i64(wide, a),
                               bits_from_i64(wide, b), &failed_wide);
          assert_int_equal(failed, failed_wide);
          if (!failed)
            assert_int_equal(got.u8, bits_from_i64(narrow, exact.i64).u8);
        }
}

static void division_by_zero_in_a_tensor(void **state) {
  (void)state;
  Bench b;
  bench_open(&b);
  Call c = call(&b, "divide");
  call_arg(&c, ints(&b, DT_INT32, 1, (int64_t[]){3}, (int64_t[]){1, 2, 3}));
  call_arg(&c, ints(&b, DT_INT32, 1, (int64_t[]){3}, (int64_t[]){1, 0, 3}));
  assert_false(call_try(&c));
  assert_int_equal(c.op.fault.code, E0602);
  assert_non_null(strstr(c.op.fault.message, "zero"));
  bench_close(&b);
}

/* --- Floats -------------------------------------------------------------- */

typedef struct FloatRow {
  OpId op;
  double a, b, expected;
} FloatRow;

static const FloatRow float_rows[] = {
    {OP_MAXIMUM, NAN, 1, 1},
    {OP_MAXIMUM, 1, NAN, NAN},
    {OP_MINIMUM, NAN, 1, 1},
    {OP_MINIMUM, 1, NAN, NAN},
    {OP_SIGN, NAN, 0, 0},
    {OP_NN_RELU, NAN, 0, 0},
    {OP_ROUND, 0.5, 0, 1},
    {OP_ROUND, -2.5, 0, -3},
    {OP_ROUND, 1.5, 0, 2},
    {OP_FLOOR_MOD, 5, INFINITY, 5},
    {OP_TRUNC_MOD, -5, INFINITY, -5},
    {OP_FLOOR_MOD, -5, INFINITY, INFINITY},
    {OP_MOD, 1e20, 3, 1},
    {OP_FLOOR_DIVIDE, -1.5, INFINITY, -0.0},
    {OP_FLOOR_DIVIDE, 1, 0.1, 10},
    {OP_FLOOR_DIVIDE, INFINITY, 2, INFINITY},
    {OP_DIVIDE, 1, 0, INFINITY},
};

static void floats_at_the_edges(void **state) {
  (void)state;
  for (size_t i = 0; i < LENGTH(float_rows); i++) {
    const FloatRow *r = &float_rows[i];
    int failed;
    double got = scalar(r->op, DT_FLOAT64, DT_FLOAT64, (Value){.f64 = r->a},
                        (Value){.f64 = r->b}, &failed)
                     .f64;
    double expected = r->expected;
    assert_true(got == expected || (isnan(got) && isnan(expected)));
    assert_int_equal(failed, 0);
  }
}

static void comparisons_of_nan(void **state) {
  (void)state;
  static const struct {
    OpId op;
    bool expected;
  } rows[] = {
      {OP_EQUAL, false},      {OP_NOT_EQUAL, true}, {OP_LESS, false},
      {OP_LESS_EQUAL, false}, {OP_GREATER, false},  {OP_GREATER_EQUAL, false},
  };
  Value nan = {.f32 = NAN};
  for (size_t i = 0; i < LENGTH(rows); i++) {
    int failed;
    Value v = scalar(rows[i].op, DT_FLOAT32, DT_BOOL, nan, nan, &failed);
    assert_int_equal(v.bits, rows[i].expected);
  }
}

/* The conversions of the kernels are those of single elements, which
 * tensor_test.c compares with arithmetic. */
static void casts(void **state) {
  (void)state;
  static const double values[] = {0,    -0.0, 1.7,      -1.7,      300,   -300,
                                  1e10, NAN,  INFINITY, -INFINITY, 65520, 0.1};
  for (int from = 0; from < DTYPE_COUNT; from++)
    for (int to = 0; to < DTYPE_COUNT; to++)
      for (size_t i = 0; i < LENGTH(values); i++) {
        Value v = bits_from_f64((DType)from, values[i]);
        int failed;
        Value got = scalar(OP_CAST, (DType)from, (DType)to, v, none, &failed);
        Value expected =
            dtype_is_float((DType)from)
                ? bits_from_f64((DType)to, bits_to_f64((DType)from, v))
                : bits_from_i64((DType)to, bits_to_i64((DType)from, v));
        if (from == DT_UINT64) continue; /* its upper half: see below */
        assert_true(got.bits == expected.bits);
      }
  int failed;
  Value most = {.u64 = UINT64_MAX};
  assert_true(scalar(OP_CAST, DT_UINT64, DT_FLOAT32, most, none, &failed).f32 ==
              0x1p64f);
  assert_int_equal(scalar(OP_CAST, DT_UINT64, DT_INT8, most, none, &failed).i8,
                   -1);
}

/* --- Reductions, sorting, uniqueness ------------------------------------- */

static void nan_in_reductions(void **state) {
  (void)state;
  for (int64_t at = 0; at < 35; at++) {
    Bench b;
    bench_open(&b);
    Tensor *x = noise(&b, DT_FLOAT32, 1, (int64_t[]){35}, 1);
    element_put(x, at, (Value){.f32 = NAN});
    assert_true(isnan(tensor_f64_at(run_unary(&b, "max", x), 0)));
    assert_true(isnan(tensor_f64_at(run_unary(&b, "min", x), 0)));
    assert_ints(run_unary(&b, "argmax", x), 1, &at);
    assert_ints(run_unary(&b, "argmin", x), 1, &at);
    bench_close(&b);
  }
}

static void empty_reductions(void **state) {
  (void)state;
  Bench b;
  bench_open(&b);
  Tensor *x = tensor_of(&b, DT_FLOAT32, 1, (int64_t[]){0});
  assert_true(tensor_f64_at(run_unary(&b, "sum", x), 0) == 0);
  assert_true(tensor_f64_at(run_unary(&b, "prod", x), 0) == 1);
  assert_true(isnan(tensor_f64_at(run_unary(&b, "mean", x), 0)));
  Call c = call(&b, "argmax");
  call_arg(&c, x);
  assert_false(call_try(&c));
  assert_int_equal(c.op.fault.code, E0607);
  bench_close(&b);
}

/* Small integers: the mean of many does not wrap its divisor. */
static void mean_of_bytes(void **state) {
  (void)state;
  Bench b;
  bench_open(&b);
  Tensor *x = tensor_of(&b, DT_INT8, 1, (int64_t[]){200});
  memset(x->data, 0, 200);
  element_put(x, 0, (Value){.i8 = 100});
  assert_ints(run_unary(&b, "mean", x), 1, (int64_t[]){0});
  bench_close(&b);
}

static void sorting_is_stable_and_puts_nan_last(void **state) {
  (void)state;
  Bench b;
  bench_open(&b);
  Tensor *x = floats(&b, DT_FLOAT32, 1, (int64_t[]){7},
                     (double[]){2, NAN, 1, 2, -INFINITY, NAN, 1});
  assert_ints(run_unary(&b, "argsort", x), 7, (int64_t[]){4, 2, 6, 0, 3, 1, 5});
  Call c = call(&b, "argsort");
  call_arg(&c, x);
  call_int(&c, ATTR_is_ascend, 0);
  assert_ints(call_run(&c), 7, (int64_t[]){0, 3, 2, 6, 4, 1, 5});
  bench_close(&b);
}

static void unique_values(void **state) {
  (void)state;
  Bench b;
  bench_open(&b);
  Call c = call(&b, "unique");
  call_arg(&c,
           ints(&b, DT_INT32, 1, (int64_t[]){5}, (int64_t[]){3, 1, 3, 2, 1}));
  call_int(&c, ATTR_sorted, 0);
  call_int(&c, ATTR_return_counts, 1);
  call_run(&c);
  assert_ints(c.op.outs[0], 5, (int64_t[]){3, 1, 2, 0, 0});
  assert_ints(c.op.outs[1], 5, (int64_t[]){0, 1, 3, 0, 0});
  assert_ints(c.op.outs[2], 5, (int64_t[]){0, 1, 0, 2, 1});
  assert_ints(c.op.outs[3], 1, (int64_t[]){3});
  assert_ints(c.op.outs[4], 5, (int64_t[]){2, 2, 1, 0, 0});
  bench_close(&b);
}

/* --- Indices ------------------------------------------------------------- */

static void indices_out_of_range(void **state) {
  (void)state;
  static const int64_t bad[] = {-1, 3, INT64_MAX, INT64_MIN};
  for (size_t i = 0; i < LENGTH(bad); i++) {
    Bench b;
    bench_open(&b);
    Tensor *x = noise(&b, DT_FLOAT32, 1, (int64_t[]){3}, 1);
    Tensor *at = ints(&b, DT_INT64, 1, (int64_t[]){1}, &bad[i]);
    Call gather = call(&b, "gather"), take = call(&b, "take");
    call_arg(&gather, x), call_arg(&gather, at);
    call_arg(&take, x), call_arg(&take, at);
    call_text(&take, ATTR_mode, "fast");
    assert_false(call_try(&gather));
    assert_int_equal(gather.op.fault.code, E0604);
    assert_false(call_try(&take));
    assert_int_equal(take.op.fault.code, E0604);
    call_text(&take, ATTR_mode, "clip");
    Value end = tensor_bits_at(x, bad[i] < 0 ? 0 : 2);
    assert_true(tensor_bits_at(call_run(&take), 0).bits == end.bits);
    bench_close(&b);
  }
}

static void the_last_update_wins(void **state) {
  (void)state;
  Bench b;
  bench_open(&b);
  Call c = call(&b, "scatter_nd");
  call_arg(&c, ints(&b, DT_INT32, 1, (int64_t[]){3}, (int64_t[]){0, 0, 0}));
  call_arg(&c, ints(&b, DT_INT32, 2, (int64_t[]){1, 3}, (int64_t[]){1, 2, 1}));
  call_arg(&c, ints(&b, DT_INT32, 1, (int64_t[]){3}, (int64_t[]){7, 8, 9}));
  assert_ints(call_run(&c), 3, (int64_t[]){0, 9, 8});
  call_text(&c, ATTR_mode, "add");
  assert_ints(call_run(&c), 3, (int64_t[]){0, 16, 8});
  bench_close(&b);
}

/* --- Views --------------------------------------------------------------- */

static void views_share_their_buffer(void **state) {
  (void)state;
  static const char *const names[] = {"transpose", "squeeze", "reverse",
                                      "annotation.checkpoint"};
  Bench b;
  bench_open(&b);
  Tensor *x = noise(&b, DT_FLOAT32, 3, (int64_t[]){2, 1, 5}, 1);
  for (size_t i = 0; i < LENGTH(names); i++)
    assert_ptr_equal(run_unary(&b, names[i], x)->buffer, x->buffer);
  Call row = call(&b, "take");
  call_arg(&row, x);
  call_arg(&row, ints(&b, DT_INT32, 0, NULL, (int64_t[]){1}));
  call_int(&row, ATTR_axis, 0);
  Tensor *second = call_run(&row);
  assert_ptr_equal(second->data, x->data + 5 * sizeof(float));
  assert_int_equal(second->rank, 2);
  bench_close(&b);
}

/* A scalar of the interpreter has no buffer: it is copied. */
static void a_view_on_a_bare_scalar_is_a_copy(void **state) {
  (void)state;
  Bench b;
  bench_open(&b);
  Value bits = {.i32 = 7};
  Tensor bare = tensor_on_bits(DT_INT32, &bits);
  Call c = call(&b, "broadcast_to");
  call_arg(&c, &bare);
  call_ints(&c, ATTR_shape, 2, (int64_t[]){2, 2});
  Tensor *out = call_run(&c);
  assert_ints(out, 4, (int64_t[]){7, 7, 7, 7});
  bench_close(&b);
}

/* The result may be operand 0 itself. */
static void in_place(void **state) {
  (void)state;
  Bench b;
  bench_open(&b);
  Tensor *x = noise(&b, DT_FLOAT32, 2, (int64_t[]){3, 33}, 1);
  Tensor *y = noise(&b, DT_FLOAT32, 1, (int64_t[]){33}, 2);
  Tensor *expected = run_binary(&b, "add", x, y);
  Call c = call(&b, "add");
  RuleType type = {.kind = RT_TENSOR};
  c.op.args = (const Tensor *[]){x, y};
  c.op.arg_count = 2;
  c.op.attrs = &c.attrs;
  c.op.outs = &x;
  c.op.out_count = 1;
  c.op.result = &type;
  assert_true(op_kernel(c.op.op)(&c.op));
  assert_same("add", x, expected);
  bench_close(&b);
}

/* --- Shape attributes that are computed ---------------------------------- */

static void a_computed_shape(void **state) {
  (void)state;
  Bench b;
  bench_open(&b);
  Call c = call(&b, "reshape");
  Tensor *shape = ints(&b, DT_INT64, 1, (int64_t[]){2}, (int64_t[]){3, -1});
  call_arg(&c, noise(&b, DT_FLOAT32, 1, (int64_t[]){6}, 1));
  call_arg(&c, shape);
  AttrValue *v = call_attr(&c, ATTR_newshape);
  assert_true(attr_bind_operand(&c.op.op->attrs[0], 1, DT_INT64, 1,
                                (Dim[]){dim_of(2)}, &b.arena, v));
  assert_true(v->count == 2 && dim_is_any(v->ints[0]));
  Tensor *out = call_run(&c);
  assert_int_equal(out->shape[0], 3);
  assert_int_equal(out->shape[1], 2);
  element_put(shape, 0, (Value){.i64 = 5});
  assert_false(call_try(&c));
  assert_int_equal(c.op.fault.code, E0603);
  bench_close(&b);
}

/* --- Stopping, memory ---------------------------------------------------- */

static void stops_when_told(void **state) {
  (void)state;
  static const char *const names[] = {"exp",  "sum",       "sort",
                                      "copy", "ones_like", "nn.softmax"};
  Bench b;
  bench_open(&b);
  _Atomic int stop = 1;
  Tensor *x = noise(&b, DT_FLOAT32, 2, (int64_t[]){4, 9}, 1);
  for (size_t i = 0; i < LENGTH(names); i++) {
    Call c = call(&b, names[i]);
    call_arg(&c, x);
    c.op.stop = &stop;
    assert_false(call_try(&c));
    assert_int_equal(c.op.fault.code, 0);
  }
  bench_close(&b);
}

static void out_of_memory(Mem *mem) {
  static const char *const names[] = {
      "exp", "split", "take", "sort", "variance", "argwhere", "nn.softmax"};
  float values[12] = {3, 1, 2, 0, 5, 4, 7, 6, 9, 8, 11, 10};
  int32_t ones[2] = {1, 0};
  Tensor x = tensor_on_data(DT_FLOAT32, 1, (int64_t[]){12}, values);
  Tensor at = tensor_on_data(DT_INT32, 1, (int64_t[]){2}, ones);
  for (size_t i = 0; i < LENGTH(names); i++) {
    Heap heap;
    heap_init(&heap, mem);
    Arena arena;
    arena_init(&arena, mem);
    bool dyn;
    const OpInfo *op = op_info(op_find(names[i], &dyn));
    Attrs attrs;
    attrs_defaults(op, &attrs);
    if (strcmp(names[i], "split") == 0)
      attrs.values[0] = (AttrValue){.state = AV_SET,
                                    .integer = dim_of(3),
                                    .operand = -1,
                                    .count = COUNT_SCALAR};
    const Tensor *args[2] = {&x, strcmp(names[i], "take") ? &x : &at};
    OpCall c = {.op = op,
                .attrs = &attrs,
                .args = args,
                .heap = &heap,
                .arena = &arena,
                .arg_count = op_arg_count(op)};
    bool ok = op_run(&c);
    for (int k = 0; ok && k < c.out_count; k++) tensor_drop(&heap, c.outs[k]);
    if (!ok) assert_int_equal(c.fault.code, E0701);
    arena_done(&arena);
    heap_done(&heap);
  }
}

/* --- Walks that are one run ----------------------------------------------- */

static Tensor matrix_of(int64_t rows, int64_t columns, int64_t row_step,
                        int64_t step) {
  static float elements[64];
  int64_t shape[] = {rows, columns};
  Tensor t = tensor_on_data(DT_FLOAT32, 2, shape, elements);
  t.strides[0] = row_step;
  t.strides[1] = step;
  return t;
}

static bool is_one_run(Tensor out, Tensor in, int64_t *n) {
  const Tensor *operands[] = {&out, &in};
  Walk w;
  bool run = walk_as_run(&w, 2, operands);
  if (run) assert_int_equal(w.step[1], 1);
  *n = run ? w.n : -1;
  return run;
}

/* Only then does each step of one meet the elements of the same place. */
static void one_run_is_contiguous_and_alike(void **state) {
  int64_t n;
  (void)state;
  assert_true(is_one_run(matrix_of(4, 6, 6, 1), matrix_of(4, 6, 6, 1), &n));
  assert_int_equal(n, 24);
  assert_true(is_one_run(matrix_of(0, 6, 6, 1), matrix_of(0, 6, 6, 1), &n));
  assert_int_equal(n, 0);
  assert_false(is_one_run(matrix_of(4, 6, 6, 1), matrix_of(4, 6, 1, 4), &n));
  assert_false(is_one_run(matrix_of(4, 6, 6, 1), matrix_of(4, 1, 1, 1), &n));
  assert_false(is_one_run(matrix_of(4, 6, 6, 1), matrix_of(4, 6, 0, 1), &n));
  assert_false(is_one_run(matrix_of(4, 6, 1, 4), matrix_of(4, 6, 1, 4), &n));
  assert_false(is_one_run(matrix_of(4, 6, 8, 1), matrix_of(4, 6, 8, 1), &n));
  assert_false(is_one_run(matrix_of(4, 6, 12, 2), matrix_of(4, 6, 12, 2), &n));
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  unit_walk_failures(out_of_memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(integers),
      cmocka_unit_test(narrow_integers),
      cmocka_unit_test(division_by_zero_in_a_tensor),
      cmocka_unit_test(floats_at_the_edges),
      cmocka_unit_test(comparisons_of_nan),
      cmocka_unit_test(casts),
      cmocka_unit_test(nan_in_reductions),
      cmocka_unit_test(empty_reductions),
      cmocka_unit_test(mean_of_bytes),
      cmocka_unit_test(sorting_is_stable_and_puts_nan_last),
      cmocka_unit_test(unique_values),
      cmocka_unit_test(indices_out_of_range),
      cmocka_unit_test(the_last_update_wins),
      cmocka_unit_test(views_share_their_buffer),
      cmocka_unit_test(a_view_on_a_bare_scalar_is_a_copy),
      cmocka_unit_test(in_place),
      cmocka_unit_test(a_computed_shape),
      cmocka_unit_test(stops_when_told),
      cmocka_unit_test(one_run_is_contiguous_and_alike),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return RUN_TESTS(tests);
}
