/* The law: the bits of a result depend on the operator, its attributes and the
 * lengths it reduces over, and on nothing else.  Every operator with a kernel
 * is in ops_law.def; its results on contiguous operands, by the reference
 * kernels, are compared with those of other layouts of the same values, of
 * parts of a batch, of other instruction sets and numbers of threads.  Then the
 * sequences of operations that the language prescribes, written out here.
 *
 * The law is what lets a session be cut into chunks, moved to another machine
 * or run on more threads without a change in its results, so it is held to the
 * bit.  A table and not a list of tests, so that no operator can be left out:
 * every operator with a kernel must have a row.
 *
 *   ops_law_test [DTYPE...]     the table of these float dtypes only */
#include "base/sanitizer.h"
#include "kernels/isa.h"
#include "tests/unit/ops_law.h"

#define FLOATS_B(id)
#define FLOATS_I(id)
#define FLOATS_U(id)
#define FLOATS_F(id) DT_##id,
static const DType float_dtypes[] = {
#define DTYPE(id, suffix, T, class, ...) FLOATS_##class(id)
#include "tensor/dtype.def"
#undef DTYPE
};
enum { LONGEST = 70 };

/* --- The table ----------------------------------------------------------- */

static bool in_table[OP_COUNT];

static void note_operator(const Law *law, const OpInfo *op) {
  (void)law;
  in_table[op - op_table] = true;
}

static void every_operator_is_here(void **state) {
  (void)state;
  each_law(note_operator);
  for (int i = 0; i < OP_COUNT; i++)
    if (in_table[i] != (kernel_table[i] != NULL))
      fail_msg("%s: not in ops_law.def, or without a kernel", op_info(i)->name);
}

/* --- Dtypes -------------------------------------------------------------- */

static void dtypes_of(const Law *law, const OpInfo *op) {
  for (int dtype = 0; dtype < DTYPE_COUNT && !law->only; dtype++) {
    Bench b;
    bench_open(&b);
    Trial t = {.b = &b,
               .law = law,
               .op = op,
               .dtype = (DType)dtype,
               .n = law->shortest ? law->shortest : 4,
               .threads = 1,
               .isa = "reference"};
    Operands o = operands_of(&t);
    Call c = call(&b, op->name);
    law_attrs(&t, BATCH, "", &c);
    for (int i = 0; i < o.count; i++) call_arg(&c, o.t[i]);
    c.op.args = c.args;
    c.op.attrs = &c.attrs;
    bool takes = op_infer(&c.op);
    if (takes != dtype_is_in((DType)dtype, op_rule(op)->takes))
      fail_msg("%s %s %s", op->name, takes ? "takes" : "refuses",
               dtype_name((DType)dtype));
    bench_close(&b);
  }
}

/* The dtypes that a rule's row names are those that the rule lets pass. */
static void rules_take_what_they_say(void **state) {
  (void)state;
  each_law(dtypes_of);
}

/* --- Running, comparing -------------------------------------------------- */

static void run(Trial *t, const Operands *o, int64_t batch, const char *moved,
                Call *c) {
  *c = call(t->b, t->op->name);
  law_attrs(t, batch, moved, c);
  for (int i = 0; i < o->count; i++) call_arg(c, o->t[i]);
  c->op.threads = t->threads;
  if (!call_try(c))
    fail_msg("%s(%s) %s: %s", t->op->name, t->law->operands, t->law->attrs,
             c->op.fault.message);
}

static void same(const Trial *t, const char *how, const Tensor *got,
                 const Tensor *expected) {
  if (!tensor_same(got, expected))
    fail_msg("%s(%s) %s, %s, n = %d, %s, %d threads: %s differs", t->op->name,
             t->law->operands, t->law->attrs, dtype_name(t->dtype), (int)t->n,
             t->isa, t->threads, how);
}

static void same_results(const Trial *t, const char *how, const Call *got,
                         const Call *expected) {
  assert_int_equal(got->op.out_count, expected->op.out_count);
  for (int i = 0; i < got->op.out_count; i++)
    same(t, how, got->op.outs[i], expected->op.outs[i]);
}

/* --- The same values elsewhere ------------------------------------------- */

static void other_layouts(Trial *t, const Operands *o, const Call *expected) {
  for (size_t k = 0; k < LENGTH(layouts); k++) {
    Operands other = *o;
    Call got;
    for (int i = 0; i < o->count; i++)
      other.t[i] = bench_own(t->b, layouts[k].lay(&t->b->heap, o->t[i]));
    run(t, &other, BATCH, "", &got);
    same_results(t, layouts[k].name, &got, expected);
  }
}

/* Axes in the order that the digits at `*by` name; "0" also of scalars. */
static Tensor *permuted(Bench *b, const Tensor *t, const char **by) {
  int64_t shape[RANK_MAX], strides[RANK_MAX];
  for (int i = 0; isdigit((unsigned char)**by); i++, ++*by) {
    if (t->rank == 0) continue;
    shape[i] = t->shape[**by - '0'];
    strides[i] = t->strides[**by - '0'];
  }
  *by = past_blanks(*by);
  Tensor *view =
      bench_own(b, tensor_view(&b->heap, t, t->rank, shape, strides, 0));
  return bench_own(b, tensor_copy(&b->heap, view));
}

/* The attributes say where the axes are. */
static void other_axes(Trial *t, const Operands *o, const Call *expected) {
  const char *by = t->law->by;
  if (!by) return;
  Operands other = *o;
  Call got;
  for (int i = 0; i < o->count; i++) other.t[i] = permuted(t->b, o->t[i], &by);
  run(t, &other, BATCH, t->law->moved, &got);
  assert_int_equal(*by, ':');
  for (int i = 0; i < got.op.out_count; i++) {
    const char *order = past_blanks(by + 1);
    same(t, t->law->moved, got.op.outs[i],
         permuted(t->b, expected->op.outs[i], &order));
  }
}

/* --- Parts --------------------------------------------------------------- */

/* Some elements of one axis, alone. */
static void part(Trial *t, const Operands *o, const int *axes, int64_t from,
                 int64_t len, const Call *whole, int axis, const char *what) {
  Operands some = *o;
  Call got;
  for (int i = 0; i < o->count; i++) {
    if (axes[i] < 0) continue;
    int64_t times = axes == o->batch ? o->t[i]->shape[axes[i]] / BATCH : 1;
    some.t[i] = part_of(t->b, o->t[i], axes[i], from * times, len * times);
  }
  run(t, &some, axes == o->batch ? len : BATCH, "", &got);
  int batched = t->law->batched;
  for (int i = 0; i < (batched ? batched : got.op.out_count); i++) {
    const Tensor *w = whole->op.outs[i];
    int64_t times = axes == o->batch ? w->shape[axis] / BATCH : 1;
    same(t, what, got.op.outs[i],
         part_of(t->b, w, axis, from * times, len * times));
  }
}

static void parts(Trial *t, const Operands *o, const Call *whole) {
  for (int64_t i = 0; has_batch(o) && i < BATCH; i += 2)
    part(t, o, o->batch, i, 1, whole, t->law->axis, "a row of the batch");
  if (!op_is_elementwise(t->op)) return;
  for (int64_t from = 1; from < t->n; from = 3 * from + 1)
    part(t, o, o->line, from, t->n - from, whole, whole->op.outs[0]->rank - 1,
         "the end of a line");
}

/* --- One row of the table ------------------------------------------------ */

static void everywhere(Trial *t, const Operands *o, const Call *expected) {
  Call again;
  for (t->threads = 2; t->threads > 0; t->threads--) {
    run(t, o, BATCH, "", &again);
    same_results(t, "the result", &again, expected);
  }
  t->threads = 1;
  other_layouts(t, o, expected);
  other_axes(t, o, expected);
  parts(t, o, expected);
}

static void at_length(const Law *law, const OpInfo *op, DType dtype,
                      int64_t n) {
  const Isa *tables[ISA_MAX];
  int count = isa_available(tables);
  Bench b;
  bench_open(&b);
  Trial t = {.b = &b,
             .law = law,
             .op = op,
             .dtype = dtype,
             .n = n,
             .threads = 1,
             .isa = "reference"};
  Operands o = operands_of(&t);
  Call expected;
  assert_true(isa_select(t.isa));
  run(&t, &o, BATCH, "", &expected);
  everywhere(&t, &o, &expected);
  for (int i = 0; i < count; i++) {
    t.isa = tables[i]->name;
    assert_true(isa_select(t.isa));
    everywhere(&t, &o, &expected);
  }
  assert_true(isa_select(NULL));
  bench_close(&b);
}

static bool asked[DTYPE_COUNT];

/* Under the address sanitizer, and without OpenMP, which is what debuggers
 * want, a run takes ten times as long. */
#ifdef _OPENMP
enum { SLOW = SANITIZER_ADDRESS };
#else
enum { SLOW = 1 };
#endif

/* The length after `n`.  float32 is at each, or at 1, 3, 7, 15 and so on in
 * slow builds; the others are at some. */
static int64_t next_length(DType dtype, int64_t n) {
  if (dtype != DT_FLOAT32) return n + 23;
  return SLOW ? 2 * n + 1 : n + 1;
}

static void at_lengths(const Law *law, const OpInfo *op) {
  for (size_t k = 0; k < LENGTH(float_dtypes); k++) {
    DType dtype = float_dtypes[k];
    if (!asked[dtype] || (law->only && law->only != dtype)) continue;
    int64_t n = law->shortest ? law->shortest : 1;
    for (; n <= LONGEST; n = next_length(dtype, n))
      at_length(law, op, dtype, n);
  }
}

static void the_table_holds(void **state) {
  (void)state;
  each_law(at_lengths);
}

/* --- Scalars ------------------------------------------------------------- */

static const char *const binary_names[] = {
    "add", "subtract",  "multiply",  "divide", "floor_divide", "trunc_divide",
    "mod", "floor_mod", "trunc_mod", "power",  "maximum",      "minimum",
};

/* The scalar function of the interpreter gives an element's bits. */
static void scalars_are_elements(void **state) {
  (void)state;
  Bench b;
  bench_open(&b);
  for (size_t i = 0; i < LENGTH(binary_names); i++) {
    bool dyn;
    ScalarFn f =
        op_scalar(op_find(binary_names[i], &dyn), DT_FLOAT32, DT_FLOAT32);
    Tensor *x = noise(&b, DT_FLOAT32, 1, (int64_t[]){LONGEST}, 4);
    Tensor *y = noise(&b, DT_FLOAT32, 1, (int64_t[]){LONGEST}, 5);
    Tensor *out = run_binary(&b, binary_names[i], x, y);
    for (int64_t k = 0; k < LONGEST; k++) {
      int failed = 0;
      Value v =
          f(tensor_bits_at(x, k), tensor_bits_at(y, k), (Value){0}, &failed);
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
                       const int64_t *axes) {
  Call c = call(b, name);
  call_arg(&c, x);
  call_ints(&c, ATTR_axis, n, axes);
  return call_run(&c);
}

static Tensor *transposed(Bench *b, const Tensor *x) {
  Tensor *view = run_unary(b, "transpose", x);
  return bench_own(b, tensor_copy(&b->heap, view));
}

/* Two axes at once are their row-major order, wherever they stand. */
static void reductions_over_two_axes(void **state) {
  (void)state;
  Bench b;
  bench_open(&b);
  Tensor *x = noise(&b, DT_FLOAT32, 3, (int64_t[]){7, 5, 9}, 8);
  Tensor *both = reduced(&b, "sum", x, 2, (int64_t[]){0, 2});
  for (int64_t i = 0; i < 5; i++) {
    Tensor *slice =
        bench_own(&b, tensor_copy(&b.heap, part_of(&b, x, 1, i, 1)));
    float expected = sum_as_prescribed((float *)slice->data, 63);
    assert_true(tensor_bits_at(both, i).f32 == expected);
  }
  bench_close(&b);
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
    assert_same("scattered",
                run_binary(&b, "nn.dense", scattered(&b, x), scattered(&b, w)),
                out);
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
    Tensor *shared =
        bench_own(&b, tensor_view(&b.heap, w, 3, (int64_t[]){1, 67, 37},
                                  (int64_t[]){0, 1, 67}, 0));
    assert_same("batch_matmul", run_binary(&b, "nn.batch_matmul", x, shared),
                out);
    for (int64_t r = 0; r < 4; r++)
      assert_same("dense",
                  run_binary(&b, "nn.dense", part_of(&b, x, 0, r, 1), w),
                  part_of(&b, out, 0, r, 1));
    bench_close(&b);
  }
}

/* --- Convolutions -------------------------------------------------------- */

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
  call_ints(&c, ATTR_padding, 1, (int64_t[]){1});
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

/* Also of all of them, where there is no name.  False: no float dtype is called
 * so. */
static bool ask_for(const char *name) {
  bool found = false;
  for (size_t k = 0; k < LENGTH(float_dtypes); k++) {
    DType dtype = float_dtypes[k];
    if (name && strcmp(name, dtype_name(dtype)) != 0) continue;
    asked[dtype] = found = true;
  }
  return found;
}

int main(int argc, char **argv) {
  for (int i = argc > 1 ? 1 : 0; i < argc; i++)
    if (!ask_for(i ? argv[i] : NULL)) {
      fprintf(stderr, "ops_law_test: there is no float dtype `%s`\n", argv[i]);
      return 2;
    }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_operator_is_here),
      cmocka_unit_test(rules_take_what_they_say),
      cmocka_unit_test(the_table_holds),
      cmocka_unit_test(scalars_are_elements),
      cmocka_unit_test(sums_are_as_prescribed),
      cmocka_unit_test(reductions_over_two_axes),
      cmocka_unit_test(scans_are_sequential),
      cmocka_unit_test(dense_is_as_prescribed),
      cmocka_unit_test(products_of_rows),
      cmocka_unit_test(conv2d_is_as_prescribed),
  };
  return RUN_TESTS(tests);
}
