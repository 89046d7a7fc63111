/* The law: the bits of a result depend on the operator, its attributes and
 * the lengths it reduces over, and on nothing else.  Every operator with a
 * float result is in ops_law.def; its results on contiguous operands, by the
 * reference kernels, are compared with those of other layouts of the same
 * values, of parts of a batch, of other instruction sets and numbers of
 * threads.  Then the sequences of operations that the language prescribes,
 * written out here. */
#include "ops/simd/simd.h"
#include "tests/unit/ops.h"

static const DType float_dtypes[] = {DT_FLOAT16, DT_BFLOAT16, DT_FLOAT32,
                                     DT_FLOAT64};
enum { LONGEST = 70, BATCH = 5 };

/* --- The table ----------------------------------------------------------- */

typedef struct Law {
  const char *ops, *operands, *attrs;
  int axis, batched, shortest;
  DType only;
  const char *moved, *by;
} Law;

static const Law laws[] = {
#define LAW(names, args, values, ...) \
  {.ops = names, .operands = args, .attrs = values, __VA_ARGS__},
#define NO_FLOATS(names)
#include "tests/unit/ops_law.def"
#undef LAW
#undef NO_FLOATS
};

static const char *const no_floats =
#define LAW(...)
#define NO_FLOATS(names) names
#include "tests/unit/ops_law.def"
#undef LAW
#undef NO_FLOATS
    ;

/* Is a name one of those in a text? */
static bool names_it(const char *names, const char *name) {
  size_t len = strlen(name);
  for (const char *p = names; (p = strstr(p, name)); p += len)
    if ((p == names || p[-1] == ' ') && (p[len] == ' ' || !p[len])) return true;
  return false;
}

static bool in_the_table(const char *name) {
  for (size_t i = 0; i < LENGTH(laws); i++)
    if (names_it(laws[i].ops, name)) return true;
  return false;
}

/* A row without floats shows none. */
static void every_operator_is_here(void **state) {
  (void)state;
  for (int i = 0; i < OP_COUNT; i++) {
    const OpInfo *op = op_info(i);
    bool without = names_it(no_floats, op->name);
    if (without == in_the_table(op->name))
      fail_msg("%s: not in ops_law.def, or twice", op->name);
    if (without && strstr(op->shows, "float"))
      fail_msg("%s: its results are floats", op->name);
  }
}

/* --- Operands ------------------------------------------------------------ */

typedef struct Trial {
  Bench *b;
  const Law *law;
  const char *name;  /* of the operator */
  DType dtype;
  int64_t n;
  int threads;
  const char *isa;
} Trial;

typedef struct Operands {
  int count;
  Tensor *t[CALL_ARGS];
  int batch[CALL_ARGS], line[CALL_ARGS];  /* the axes b and n; -1 */
} Operands;

typedef struct Lengths { int64_t b, n; } Lengths;

/* A number, b, n, or one times the other. */
static Dim read_length(void *data, const char **p) {
  const Lengths *l = data;
  char *end;
  Dim d = strtoll(*p, &end, 10);
  if (end == *p) d = 1;
  if (*end == 'b') d *= l->b;
  if (*end == 'n') d *= l->n;
  *p = end + (*end == 'b' || *end == 'n');
  return d;
}

static Tensor *literal(Trial *t, DType dtype, const char **p) {
  int64_t values[64], shape[2] = {1, 0}, count = 0;
  bool vector = **p == '[';
  for (*p += vector;; ++*p) {
    values[count++] = strtoll(*p, (char **)p, 10);
    shape[0] += **p == ';';
    if (!vector || **p == ']') break;
  }
  *p += vector;
  int rank = !vector ? 0 : shape[0] > 1 ? 2 : 1;
  shape[1] = count / shape[0];
  return ints(t->b, dtype, rank, rank == 1 ? &count : shape, values);
}

static Tensor *random_key(Trial *t) {
  Tensor *key = tensor_of(t->b, DT_UINT64, 1, (int64_t[]){10});
  for (int i = 0; i < 10; i++)
    element_put(key, i, bits_from_i64(DT_UINT64, i == 3 ? 42 : 0));
  element_put(key, 8, (Value){.bits = (uint64_t)1 << 63});
  return key;
}

/* In place of each number of (-4, 4): what the kind says. */
static Tensor *of_kind(Trial *t, char kind, int64_t below, const Tensor *x) {
  DType dtype = kind == 'c' ? DT_INT8 : kind == '?' ? DT_BOOL : DT_INT32;
  Tensor *out = tensor_of(t->b, kind == '+' ? x->dtype : dtype, x->rank,
                          x->shape);
  for (int64_t i = 0; i < tensor_count(x); i++) {
    double v = tensor_f64_at(x, i);
    int64_t integer =
        kind == '?' ? v > 0 : (int64_t)((v + 4) * (double)below / 8);
    element_put(out, i, kind == '+' ? bits_from_f64(x->dtype, fabs(v) + 0.5)
                                    : bits_from_i64(dtype, integer));
  }
  return out;
}

/* The dims of an operand, and which of them are b and n. */
static Tensor *read_noise(Trial *t, const char **p, Operands *o, DType dtype) {
  int64_t shape[RANK_MAX];
  int rank = 0, i = o->count;
  Lengths l = {BATCH, t->n};
  if (**p == '(') *p += 2;
  for (; **p && **p != ' '; *p += **p == ',') {
    const char *letter = *p + strspn(*p, "0123456789");
    if (*letter == 'b') o->batch[i] = rank;
    if (*letter == 'n') o->line[i] = rank;
    shape[rank++] = read_length(&l, p);
  }
  return noise(t->b, dtype, rank, shape, (uint64_t)(i + 7 * t->n));
}

static Tensor *read_operand(Trial *t, const char **p, Operands *o) {
  char kind = **p;
  if (kind == '=') return ++*p, literal(t, DT_INT32, p);
  if (kind == 'j') return ++*p, literal(t, DT_INT64, p);
  if (kind == 'k') return *p += 3, random_key(t);
  if (kind == '~') {
    double v = strtod(*p + 1, (char **)p);
    return floats(t->b, t->dtype, 0, NULL, &v);
  }
  if (kind == '?' || kind == '+')
    return ++*p, of_kind(t, kind, 0, read_noise(t, p, o, t->dtype));
  if (kind != 'i' && kind != 'c') return read_noise(t, p, o, t->dtype);
  ++*p;
  int64_t below = read_length(&(Lengths){BATCH, t->n}, p);
  ++*p;
  return of_kind(t, kind, below, read_noise(t, p, o, DT_FLOAT64));
}

static Operands operands_of(Trial *t) {
  Operands o = {0};
  memset(o.batch, -1, sizeof o.batch);
  memset(o.line, -1, sizeof o.line);
  for (const char *p = past_blanks(t->law->operands); *p; p = past_blanks(p)) {
    o.t[o.count] = read_operand(t, &p, &o);
    o.count++;
  }
  return o;
}

static bool has_batch(const Operands *o) {
  for (int i = 0; i < o->count; i++)
    if (o->batch[i] >= 0) return true;
  return false;
}

/* --- Running, comparing -------------------------------------------------- */

static void run(Trial *t, const Operands *o, int64_t batch, const char *moved,
                Call *c) {
  *c = call(t->b, t->name);
  Lengths l = {batch, t->n};
  AttrReader r = {&t->b->arena, read_length, &l};
  read_attrs(&r, t->law->attrs, &c->attrs);
  read_attrs(&r, moved, &c->attrs);
  for (int i = 0; i < o->count; i++) call_arg(c, o->t[i]);
  c->op.threads = t->threads;
  if (!call_try(c))
    fail_msg("%s(%s) %s: %s", t->name, t->law->operands, t->law->attrs,
             c->op.fault.message);
}

static void same(const Trial *t, const char *how, const Tensor *got,
                 const Tensor *expected) {
  if (!tensor_same(got, expected))
    fail_msg("%s(%s) %s, %s, n = %d, %s, %d threads: %s differs", t->name,
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
  Tensor *view = bench_own(b, tensor_view(&b->heap, t, t->rank, shape,
                                          strides, 0));
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
  bool dyn;
  if (!(op_info(op_find(t->name, &dyn))->flags & OP_ELEMENTWISE)) return;
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

static void at_length(const Law *law, const char *name, DType dtype,
                      int64_t n) {
  const Simd *tables[SIMD_MAX];
  int count = simd_available(tables);
  Bench b;
  bench_open(&b);
  Trial t = {&b, law, name, dtype, n, 1, "reference"};
  Operands o = operands_of(&t);
  Call expected;
  assert_true(simd_select(t.isa));
  run(&t, &o, BATCH, "", &expected);
  everywhere(&t, &o, &expected);
  for (int i = 0; i < count; i++) {
    t.isa = tables[i]->isa;
    assert_true(simd_select(t.isa));
    everywhere(&t, &o, &expected);
  }
  assert_true(simd_select(NULL));
  bench_close(&b);
}

/* float32 at each length, the others at some. */
static void at_lengths(const Law *law, const char *name, DType dtype) {
  int64_t n = law->shortest ? law->shortest : 1;
  for (; n <= LONGEST; n += dtype == DT_FLOAT32 ? 1 : 23)
    at_length(law, name, dtype, n);
}

static void the_table_holds(void **state) {
  (void)state;
  for (size_t i = 0; i < LENGTH(laws); i++) {
    char names[512];
    snprintf(names, sizeof names, "%s", laws[i].ops);
    for (char *name = strtok(names, " "); name; name = strtok(NULL, " "))
      for (size_t k = 0; k < LENGTH(float_dtypes); k++)
        if (!laws[i].only || laws[i].only == float_dtypes[k])
          at_lengths(&laws[i], name, float_dtypes[k]);
  }
}

/* --- Scalars ------------------------------------------------------------- */

static const char *const binary_names[] = {
    "add", "subtract", "multiply", "divide", "floor_divide", "trunc_divide",
    "mod", "floor_mod", "trunc_mod", "power", "maximum", "minimum",
};

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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_operator_is_here),
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
