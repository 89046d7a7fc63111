/* The law among instruction sets: every table is complete, and gives bit for
 * bit what the reference's loops give, whatever the lengths, layouts and
 * values. Products and convolutions, whose drivers all tables share, are
 * compared with the sums as the law prescribes them, written out here.
 *
 * Lengths lie around those of vectors and tiles, since mistakes live where one
 * ends; values include NaN and signed zeros, which instruction sets treat
 * differently. */
#include "base/sanitizer.h"
#include "tests/unit/unit.h"

#include "kernels/drive/elementwise.h"
#include "kernels/drive/product.h"
#include "kernels/isa.h"
#include "tensor/tensor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* --- Numbers ------------------------------------------------------------- */

static const float specials[] = {
    0,      -0.0f,  1,        -1,        0.5f, 1e-40f, -1e-45f, 3e38f,
    -3e38f, 1e-20f, INFINITY, -INFINITY, NAN,  88.5f,  -104,    16777216,
};

/* Mostly of a size that sums stay finite; one in 64 is special. */
static float some_float(uint64_t *state, bool special) {
  uint64_t bits = unit_random(state);
  if (special && bits % 64 == 0) return specials[bits >> 32 & 15];
  return ((float)(bits >> 40) - 0x1p23f) * 0x1p-22f;
}

static float *some_floats(size_t n, uint64_t seed, bool special) {
  float *x = malloc((n + 1) * sizeof *x);
  assert_non_null(x);
  for (size_t i = 0; i < n; i++) x[i] = some_float(&seed, special);
  return x;
}

/* Elements of a dtype, among them its corners; no integer 0, which some
 * operators refuse. */
static void fill_elements(DType dtype, char *at, int64_t n, uint64_t seed) {
  for (int64_t i = 0; i < n; i++) {
    uint64_t bits = unit_random(&seed);
    int64_t small = (int64_t)(bits >> 8) % 50 - 25, wide = (int64_t)bits | 1;
    double x = some_float(&seed, true) * (bits & 8 ? 1 : 30);
    if (dtype == DT_FLOAT64) x *= 1 + (double)bits * 0x1p-64;
    Value v = dtype_is_float(dtype) ? bits_from_f64(dtype, x)
              : dtype == DT_BOOL    ? bits_from_i64(dtype, bits & 1)
                                    : bits_from_i64(dtype, bits & 2 ? wide
                                                           : small  ? small
                                                                    : 1);
    bits_store(dtype, at + i * (int64_t)dtype_size(dtype), v);
  }
}

/* --- Every table of the machine ------------------------------------------ */

typedef struct Case Case;
struct Case {
  void (*run)(const Case *c, char *out); /* with the table in use */
  /* NULL for the reference's results */
  void (*truth)(const Case *c, char *out);
  DType dtype; /* of the results */
  int64_t count;
  const void *data;
};

/* The bytes of the results; what the case leaves alone stays 0x5a. */
static char *run_case(const Case *c, void (*run)(const Case *, char *)) {
  size_t bytes = (size_t)c->count * dtype_size(c->dtype);
  char *out = malloc(bytes + 1);
  assert_non_null(out);
  memset(out, 0x5a, bytes);
  run(c, out);
  return out;
}

/* Compares what the table gives with what is expected. */
static void compare_with(const Case *c, const char *what, const Isa *isa,
                         char *expected) {
  assert_true(isa_select(isa->name));
  char *got = run_case(c, c->run);
  Tensor e = tensor_on_data(c->dtype, 1, &c->count, expected);
  Tensor g = tensor_on_data(c->dtype, 1, &c->count, got);
  if (!tensor_same(&e, &g)) fail_msg("%s: %s differs", what, isa->name);
  free(got);
}

/* Runs the case under each table. */
static void compare(const Case *c, const char *what) {
  const Isa *tables[ISA_MAX];
  int count = isa_available(tables);
  assert_true(isa_select("reference"));
  char *expected = run_case(c, c->truth ? c->truth : c->run);
  if (c->truth) compare_with(c, what, &isa_reference, expected);
  for (int i = 0; i < count; i++) compare_with(c, what, tables[i], expected);
  assert_true(isa_select(NULL));
  free(expected);
}

/* Every table has all that the reference has. */
static void is_complete(const Isa *isa) {
  const Isa *ref = &isa_reference;
  for (int t = 0; t < DTYPE_COUNT; t++) {
    for (int op = 0; op < OP_COUNT; op++)
      if (!isa->strips[t][op] != !ref->strips[t][op])
        fail_msg("%s: %s of %s", isa->name, op_info(op)->name,
                 dtype_name((DType)t));
    for (int to = 0; to < DTYPE_COUNT; to++) assert_non_null(isa->casts[t][to]);
    for (int kind = 0; kind < REDUCE_KINDS; kind++) {
      assert_non_null(isa->reducers[t][kind].row);
      assert_non_null(isa->reducers[t][kind].columns);
    }
    assert_non_null(isa->where[dtype_size((DType)t)]);
  }
  for (int t = 0; t < FLOAT_TYPES; t++) {
    for (int kind = 0; kind < LINE_KINDS; kind++)
      assert_non_null(isa->lines[t][kind]);
    for (int first = 0; first < PAIR_FIRSTS; first++)
      for (int then = 0; then < PAIR_THENS; then++)
        assert_non_null(isa->pairs[t]->of[first][then]);
  }
  for (int t = 0; t < TILE_TYPES; t++) {
    assert_non_null(isa->tiles[t]->row_pair);
    for (int rows = 0; rows < TILE_ROWS; rows++) {
      assert_non_null(isa->tiles[t]->tile[rows]);
      assert_non_null(isa->tiles[t]->tile_at[rows]);
    }
  }
  for (int t = 0; t < WIDE_TYPES; t++) assert_non_null(isa->products[t]);
}

static void test_complete(void **state) {
  (void)state;
  const Isa *tables[ISA_MAX];
  int count = isa_available(tables);
  is_complete(&isa_reference);
  for (int i = 0; i < count; i++) is_complete(tables[i]);
}

static void test_choice(void **state) {
  (void)state;
  const Isa *tables[ISA_MAX];
  int count = isa_available(tables);
  assert_true(count >= 1);
  for (int i = 0; i < count; i++) {
    assert_true(isa_select(tables[i]->name));
    assert_ptr_equal(isa_in_use(), tables[i]);
  }
  assert_false(isa_select("z80"));
  assert_ptr_equal(isa_in_use(), tables[count - 1]);
  assert_true(isa_select("reference"));
  assert_ptr_equal(isa_in_use(), &isa_reference);
  assert_true(isa_select(NULL));
  assert_ptr_equal(isa_in_use(), tables[count - 1]);
}

/* Of layouts of products and of lengths of strips, one in so many is tried:
 * fewer where runs are slow, as under emulation (tests/neon/run). */
#ifndef ONE_IN
#define ONE_IN (SANITIZER_ADDRESS ? 7 : 1)
#endif

/* --- Products ------------------------------------------------------------ */

typedef struct Layout {
  bool a_turned, b_turned, out_turned;
  int gap; /* elements between rows that belong to nobody */
} Layout;

typedef struct ProductCase {
  int64_t m, n, k;
  Layout layout;
  DType from, to;
  void *a, *b;
  size_t memory; /* that there is */
} ProductCase;

static Matrix matrix(DType dtype, void *data, int64_t rows, int64_t columns,
                     bool turned, int gap) {
  int64_t step = (turned ? rows : columns) + gap;
  return (Matrix){.dtype = dtype,
                  .data = data,
                  .row_step = turned ? 1 : step,
                  .column_step = turned ? step : 1};
}

static size_t room(int64_t rows, int64_t columns) {
  return (size_t)((rows + 3) * (columns + 3));
}

/* An element in the low bits, as what integers are accumulated in. */
static uint64_t integer_at(const Matrix *x, int64_t row, int64_t column) {
  int64_t at = row * x->row_step + column * x->column_step;
  Value v = bits_load(x->dtype, x->data + at * (int64_t)dtype_size(x->dtype));
  return dtype_size(x->dtype) == 8 ? v.u64 : (uint64_t)bits_to_i64(x->dtype, v);
}

static double float_at(const Matrix *x, int64_t row, int64_t column) {
  int64_t at = row * x->row_step + column * x->column_step;
  const char *data = x->data + at * (int64_t)dtype_size(x->dtype);
  return bits_to_f64(x->dtype, bits_load(x->dtype, data));
}

static Value product_at(const Product *p, int64_t i, int64_t j) {
  DType to = p->out.dtype;
  double wide = 0;
  float narrow = 0;
  uint64_t whole = 0;
  for (int64_t k = 0; k < p->k; k++)
    if (!dtype_is_float(to))
      whole += integer_at(&p->a, i, k) * integer_at(&p->b, k, j);
    else if (to == DT_FLOAT64)
      wide = fma(float_at(&p->a, i, k), float_at(&p->b, k, j), wide);
    else
      narrow = fmaf((float)float_at(&p->a, i, k), (float)float_at(&p->b, k, j),
                    narrow);
  if (!dtype_is_float(to)) return (Value){.u64 = whole};
  return bits_from_f64(to, to == DT_FLOAT64 ? wide : (double)narrow);
}

static Product product_of_case(const ProductCase *p, char *out) {
  const Layout *l = &p->layout;
  return (Product){
      .m = p->m,
      .n = p->n,
      .k = p->k,
      .a = matrix(p->from, p->a, p->m, p->k, l->a_turned, l->gap),
      .b = matrix(p->from, p->b, p->k, p->n, l->b_turned, l->gap),
      .out = matrix(p->to, out, p->m, p->n, l->out_turned, l->gap),
  };
}

static void run_product(const Case *c, char *out) {
  const ProductCase *p = c->data;
  Product product = product_of_case(p, out);
  Mem mem;
  Heap heap;
  heap_init(&heap, unit_mem(&mem));
  mem.limit = p->memory;
  OpCall call = {.heap = &heap, .threads = 2};
  assert_true(product_run(&call, &product));
  heap_done(&heap);
  unit_mem_done(&mem);
}

static void true_product(const Case *c, char *out) {
  Product p = product_of_case(c->data, out);
  int64_t size = (int64_t)dtype_size(c->dtype);
  for (int64_t i = 0; i < p.m; i++)
    for (int64_t j = 0; j < p.n; j++)
      bits_store(c->dtype,
                 out + (i * p.out.row_step + j * p.out.column_step) * size,
                 product_at(&p, i, j));
}

static void compare_case(const ProductCase *p, const char *what) {
  int64_t count = (int64_t)room(p->m, p->n);
  compare(&(Case){run_product, true_product, p->to, count, p}, what);
}

static void compare_product(int64_t m, int64_t n, int64_t k, Layout layout,
                            bool special) {
  ProductCase p = {m,
                   n,
                   k,
                   layout,
                   DT_FLOAT32,
                   DT_FLOAT32,
                   some_floats(room(m, k), 3, special),
                   some_floats(room(k, n), 4, special),
                   SIZE_MAX};
  compare_case(&p, "product");
  free(p.a);
  free(p.b);
}

static void test_product_lengths(void **state) {
  (void)state;
  for (int64_t i = 1; i <= 70; i++) {
    compare_product(i, 70 - i, 5, (Layout){0}, true);
    compare_product(1, i, 7, (Layout){0}, true);
    compare_product(3, i, 3, (Layout){.b_turned = true}, true);
    compare_product(i % 9, 20, i, (Layout){.gap = 1}, true);
  }
}

static void test_product_layouts(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {
      {1, 1, 300}, {1, 200, 129},  {7, 130, 257}, {13, 65, 128},   {200, 3, 40},
      {5, 64, 0},  {197, 17, 131}, {0, 5, 5},     {173, 130, 260},
  };
  for (size_t i = 0; i < LENGTH(shapes); i++)
    for (int bits = (int)i % ONE_IN; bits < 16; bits += ONE_IN)
      compare_product(shapes[i][0], shapes[i][1], shapes[i][2],
                      (Layout){bits & 1, bits & 2, bits & 4, bits & 8 ? 3 : 0},
                      bits & 1);
}

/* Enough rows for long parts of panels, and so many that there are several;
 * the same without memory for them. */
static void test_product_long(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {
      {260, 20, 260},
      {64, 33, 1100},
      {1030, 9, 140},
      {33, 140, 2100},
  };
  for (size_t i = 0; i < LENGTH(shapes); i++) {
    int64_t m = shapes[i][0], n = shapes[i][1], k = shapes[i][2];
    ProductCase p = {m,
                     n,
                     k,
                     {0},
                     DT_FLOAT32,
                     DT_FLOAT32,
                     some_floats(room(m, k), 5, false),
                     some_floats(room(k, n), 6, false),
                     SIZE_MAX};
    compare_case(&p, "long product");
    p.layout = (Layout){true, true, true, 3};
    compare_case(&p, "long product, turned");
    p.memory = 0;
    compare_case(&p, "long product without memory");
    free(p.a);
    free(p.b);
  }
}

/* In types of 64 bits, which have no panels. */
static void compare_wide(DType from, DType to, const int64_t shape[3],
                         Layout layout) {
  int64_t m = shape[0], n = shape[1], k = shape[2];
  size_t size = dtype_size(from), a = room(m, k), b = room(k, n);
  ProductCase p = {
      m, n, k, layout, from, to, malloc(a * size), malloc(b * size), SIZE_MAX};
  assert_non_null(p.a);
  assert_non_null(p.b);
  fill_elements(from, p.a, (int64_t)a, 7);
  fill_elements(from, p.b, (int64_t)b, 8);
  compare_case(&p, dtype_name(to));
  free(p.a);
  free(p.b);
}

static void test_product_wide(void **state) {
  (void)state;
  static const DType dtypes[][2] = {
      {DT_FLOAT64, DT_FLOAT64}, {DT_FLOAT32, DT_FLOAT64}, {DT_INT64, DT_INT64},
      {DT_INT8, DT_INT64},      {DT_UINT64, DT_UINT64},
  };
  static const int64_t shapes[][3] = {
      {1, 1, 300}, {1, 70, 129}, {7, 33, 257}, {17, 65, 128},
      {9, 32, 0},  {40, 3, 40},  {8, 31, 1},
  };
  for (size_t t = 0; t < LENGTH(dtypes); t++)
    for (size_t i = 0; i < LENGTH(shapes); i++)
      for (int bits = 0; bits < 16; bits++)
        compare_wide(dtypes[t][0], dtypes[t][1], shapes[i],
                     (Layout){bits & 1, bits & 2, bits & 4, bits & 8 ? 3 : 0});
}

/* --- Element-wise -------------------------------------------------------- */

enum { STRIP_LONGEST = 70, STEP_MOST = 3, OPERANDS = 3 };

static const DType strip_dtypes[] = {DT_BOOL, DT_INT32, DT_INT64, DT_FLOAT32};

typedef struct StripCase {
  StripFn (*find)(const struct StripCase *c);
  OpId op;
  DType from, to;
  bool in_place;
  Strip strip;
} StripCase;

static StripFn find_op(const StripCase *c) { return strip_of(c->op, c->from); }

static StripFn find_cast(const StripCase *c) {
  return strip_of_cast(c->from, c->to);
}

static void run_strip(const Case *c, char *out) {
  const StripCase *data = c->data;
  Strip s = data->strip;
  s.out = out;
  if (data->in_place) {
    memcpy(out, s.in[0], (size_t)s.n * dtype_size(data->from));
    s.in[0] = out;
  }
  assert_int_equal(data->find(data)(&s), 0);
}

static void compare_strip(StripCase *c, int64_t n, const int64_t step[3],
                          int64_t out_step, const char *name) {
  c->strip.n = n;
  c->strip.out_step = out_step;
  memcpy(c->strip.step, step, sizeof c->strip.step);
  compare(&(Case){run_strip, NULL, c->to, STRIP_LONGEST * STEP_MOST, c}, name);
}

/* One in ONE_IN of the lengths contiguous, and a few steps for some. */
static void compare_lengths(StripCase *c, const char *name) {
  static const int64_t steps[][3] = {
      {1, 0, 1}, {0, 1, 1}, {1, 1, 0}, {1, 0, 0}, {0, 0, 0}, {2, 3, 1},
  };
  for (int64_t n = ONE_IN > 1 ? 2 : 1; n <= STRIP_LONGEST; n += ONE_IN) {
    compare_strip(c, n, (int64_t[]){1, 1, 1}, 1, name);
    if (n % 23 != 9) continue;
    for (size_t i = 0; i < LENGTH(steps); i++)
      compare_strip(c, n, steps[i], 1 + (int64_t)i % STEP_MOST, name);
    c->in_place = c->from == c->to;
    compare_strip(c, n, (int64_t[]){1, 1, 1}, 1, name);
    c->in_place = false;
  }
}

static char *operands[OPERANDS];

static void make_operands(StripCase *c, const DType dtypes[OPERANDS]) {
  for (int i = 0; i < OPERANDS; i++) {
    fill_elements(dtypes[i], operands[i], STRIP_LONGEST * STEP_MOST,
                  (uint64_t)i + 11);
    c->strip.in[i] = operands[i];
  }
}

static void test_strips(void **state) {
  (void)state;
  for (size_t d = 0; d < LENGTH(strip_dtypes); d++)
    for (int op = 0; op < OP_COUNT; op++) {
      DType dtype = strip_dtypes[d];
      if (!strip_of((OpId)op, dtype)) continue;
      StripCase c = {.find = find_op,
                     .op = (OpId)op,
                     .from = dtype,
                     .to = op_rule(op_info(op))->gives_bool ? DT_BOOL : dtype};
      make_operands(&c, (DType[]){dtype, dtype, dtype});
      c.strip.params[0] = bits_from_f64(dtype, 0.25);
      c.strip.params[1] = bits_from_f64(dtype, 7);
      compare_lengths(&c, op_info(op)->name);
    }
}

static void test_casts(void **state) {
  (void)state;
  for (size_t d = 0; d < LENGTH(strip_dtypes); d++)
    for (int to = 0; to < DTYPE_COUNT; to++) {
      StripCase c = {
          .find = find_cast, .from = strip_dtypes[d], .to = (DType)to};
      if (!strip_of_cast(c.from, c.to)) continue;
      make_operands(&c, (DType[]){c.from, c.from, c.from});
      compare_lengths(&c, dtype_name(c.to));
    }
}

/* --- Pairs of arithmetic operators ---------------------------------------- */

typedef struct PairCase {
  DType dtype;
  PairFirst first;
  PairThen then;
  Strip strip;
} PairCase;

static void run_pair(const Case *c, char *out) {
  const PairCase *data = c->data;
  Strip s = data->strip;
  s.out = out;
  StripFn pair =
      isa_in_use()->pairs[dtype_in(data->dtype)]->of[data->first][data->then];
  assert_int_equal(pair(&s), 0);
}

/* The two operators one after the other, by the reference. */
static void true_pair(const Case *c, char *out) {
  static const OpId firsts[] = {OP_ADD, OP_SUBTRACT, OP_MULTIPLY};
  static const OpId thens[] = {[THEN_ADD] = OP_ADD,
                               [THEN_SUBTRACT] = OP_SUBTRACT,
                               [THEN_FROM] = OP_SUBTRACT,
                               [THEN_MULTIPLY] = OP_MULTIPLY};
  const PairCase *data = c->data;
  const StripFn *strips = isa_reference.strips[data->dtype];
  Strip s = data->strip;
  s.out = out;
  assert_int_equal(strips[firsts[data->first]](&s), 0);
  if (data->then == THEN_NOTHING) return;
  bool from = data->then == THEN_FROM;
  s.in[from] = out;
  s.step[from] = 1;
  s.in[!from] = data->strip.in[2];
  s.step[!from] = data->strip.step[2];
  assert_int_equal(strips[thens[data->then]](&s), 0);
}

/* Each operand contiguous or a single element. */
static void compare_pair(PairCase *c) {
  char name[40];
  snprintf(name, sizeof name, "pair %d %d of %s", (int)c->first, (int)c->then,
           dtype_name(c->dtype));
  for (int64_t n = 1; n <= STRIP_LONGEST; n += n < 20 ? 1 : 7)
    for (int ones = 0; ones < 8; ones++) {
      c->strip.n = n;
      c->strip.out_step = 1;
      for (int k = 0; k < OPERANDS; k++) c->strip.step[k] = ones >> k & 1;
      compare(&(Case){run_pair, true_pair, c->dtype, STRIP_LONGEST, c}, name);
    }
}

static void test_pairs(void **state) {
  (void)state;
  static const DType dtypes[] = {DT_FLOAT32, DT_FLOAT64};
  for (size_t d = 0; d < LENGTH(dtypes); d++) {
    PairCase c = {.dtype = dtypes[d]};
    for (int k = 0; k < OPERANDS; k++) {
      fill_elements(c.dtype, operands[k], STRIP_LONGEST, (uint64_t)k + 5);
      c.strip.in[k] = operands[k];
    }
    for (int first = 0; first < PAIR_FIRSTS; first++)
      for (int then = 0; then < PAIR_THENS; then++) {
        c.first = (PairFirst)first;
        c.then = (PairThen)then;
        compare_pair(&c);
      }
  }
}

enum { SIGMOIDS_LONG = 1500 };

/* Long strips, in place, with here and there what a fast path leaves out. */
static void test_long_sigmoids(void **state) {
  (void)state;
  static const float rare[] = {NAN, 44.5f, -50, 100, -INFINITY, -104};
  const Isa *found[ISA_MAX];
  int count = isa_available(found);
  float x[SIGMOIDS_LONG], y[2][SIGMOIDS_LONG];
  for (int64_t n = 1; n <= SIGMOIDS_LONG; n += n < 200 ? 1 : 97) {
    for (int i = 0; i < SIGMOIDS_LONG; i++) x[i] = (float)(i % 401 - 200) / 7;
    for (int i = 0; n % 3 && i < (int)LENGTH(rare); i++)
      x[(i * 211 + n) % SIGMOIDS_LONG] = rare[i];
    for (int l = 0; l < count; l++) {
      float *out = y[l > 0];
      memcpy(out, x, sizeof x);
      Strip s = {.n = n,
                 .out = (char *)out,
                 .out_step = 1,
                 .in = {(const char *)out},
                 .step = {1}};
      assert_int_equal(found[l]->strips[DT_FLOAT32][OP_SIGMOID](&s), 0);
      for (int i = 0; i < SIGMOIDS_LONG; i++)
        if (!isnan(y[0][i]) || !isnan(out[i]))
          assert_memory_equal(&y[0][i], &out[i], sizeof *out);
    }
  }
}

static int make_room(void **state) {
  (void)state;
  for (int i = 0; i < OPERANDS; i++)
    operands[i] = malloc(STRIP_LONGEST * STEP_MOST * sizeof(double));
  return 0;
}

static int free_room(void **state) {
  (void)state;
  for (int i = 0; i < OPERANDS; i++) free(operands[i]);
  return 0;
}

/* --- Lines --------------------------------------------------------------- */

typedef struct LineCase {
  OpId op;
  int64_t shape[3];
  int axis;
  bool turned; /* the operand's last two axes lie the other way round */
  float *data, *gamma, *beta;
  Mem *mem;
} LineCase;

static AttrValue *value_of(Attrs *attrs, AttrName name) {
  return (AttrValue *)attr_get(attrs, name);
}

/* Runs an operator and copies its result. */
static void run_op(Mem *mem, Attrs *attrs, const Tensor *const *args,
                   char *out) {
  Heap heap;
  Arena arena;
  heap_init(&heap, mem);
  arena_init(&arena, mem);
  OpCall call = {.op = attrs->op,
                 .attrs = attrs,
                 .arg_count = op_arg_count(attrs->op),
                 .args = args,
                 .heap = &heap,
                 .arena = &arena,
                 .threads = 1};
  assert_true(op_run(&call));
  memcpy(out, call.outs[0]->data, tensor_bytes(call.outs[0]));
  tensor_drop(&heap, call.outs[0]);
  arena_done(&arena);
  heap_done(&heap);
}

static void run_line(const Case *c, char *out) {
  const LineCase *l = c->data;
  Attrs attrs;
  Tensor x = tensor_on_data(DT_FLOAT32, 3, l->shape, l->data);
  if (l->turned) {
    x.strides[1] = 1;
    x.strides[2] = x.shape[1];
  }
  Tensor gamma = tensor_on_data(DT_FLOAT32, 1, &l->shape[l->axis], l->gamma);
  Tensor beta = tensor_on_data(DT_FLOAT32, 1, &l->shape[l->axis], l->beta);
  attrs_defaults(op_info((int)l->op), &attrs);
  value_of(&attrs, ATTR_axis)->integer = dim_of(l->axis);
  run_op(l->mem, &attrs, (const Tensor *[]){&x, &gamma, &beta}, out);
}

static void compare_line(LineCase *l) {
  int64_t n = l->shape[0] * l->shape[1] * l->shape[2];
  bool special = l->shape[1] % 3 == 2;
  l->data = some_floats((size_t)n, (uint64_t)n, special);
  l->gamma = some_floats(STRIP_LONGEST, 5, false);
  l->beta = some_floats(STRIP_LONGEST, 6, false);
  for (int i = 0; i < 4; i++) {
    l->axis = 1 + i % 2;
    l->turned = i > 1;
    compare(&(Case){run_line, NULL, DT_FLOAT32, n, l},
            op_info((int)l->op)->name);
  }
  free(l->data);
  free(l->gamma);
  free(l->beta);
}

static void test_lines(void **state) {
  (void)state;
  static const OpId ops[] = {OP_NN_SOFTMAX, OP_NN_LOG_SOFTMAX,
                             OP_NN_LAYER_NORM};
  Mem mem;
  unit_mem(&mem);
  for (size_t i = 0; i < LENGTH(ops); i++)
    for (int64_t n = 1; n <= STRIP_LONGEST; n++)
      compare_line(&(LineCase){.op = ops[i], .shape = {2, n, 5}, .mem = &mem});
  unit_mem_done(&mem);
}

/* --- Convolutions -------------------------------------------------------- */

typedef struct ConvCase {
  int64_t size, groups;
  Dim stride[2], padding[2], dilation[2];
  float *data, *weight;
  Mem *mem;
} ConvCase;

enum { CONV_INPUTS = 4, CONV_OUTPUTS = 6 };

static void set_pair(Attrs *attrs, AttrName name, const Dim *pair) {
  AttrValue *v = value_of(attrs, name);
  v->state = AV_SET;
  v->count = 2;
  v->ints = pair;
}

/* A convolution as the law has it: sum over (i, kd, kh, kw) of the weight times
 * the element of data that it meets, where padding takes part as 0. */
typedef struct TrueConv {
  int rank;
  bool transposed;
  const int64_t *data, *weight; /* shapes; the weight's in default order */
  int64_t groups, stride[3], padding[3], dilation[3];
  const char *layout;
  const float *x, *w;
} TrueConv;

/* The strides, in the layout's order, of N, C and three spatial axes. */
static void strides_of(const TrueConv *t, const int64_t shape[5],
                       int64_t strides[5]) {
  int64_t n = 1;
  for (int axis = t->rank - 1, spatial = t->rank - 3; axis >= 0; axis--) {
    char letter = t->layout   ? t->layout[axis]
                  : axis == 0 ? 'N'
                  : axis == 1 ? 'C'
                              : 'S';
    int own = letter == 'N' ? 0 : letter == 'C' ? 1 : 2 + spatial--;
    strides[own] = n;
    n *= shape[own];
  }
}

/* Lengths of N, C and the spatial axes, from the layout's order. */
static void lengths_of(const TrueConv *t, int64_t shape[5]) {
  for (int axis = 0, spatial = 0; axis < t->rank; axis++) {
    char letter = t->layout   ? t->layout[axis]
                  : axis == 0 ? 'N'
                  : axis == 1 ? 'C'
                              : 'S';
    shape[letter == 'N'   ? 0
          : letter == 'C' ? 1
                          : 2 + spatial++] = t->data[axis];
  }
}

/* Where position p and kernel element k meet along an axis; -1: in padding, or
 * between elements. */
static int64_t met(const TrueConv *t, int axis, int64_t p, int64_t k,
                   int64_t size, int64_t length) {
  int64_t stride = t->stride[axis], dilation = t->dilation[axis];
  int64_t before = t->padding[axis];
  if (t->transposed) before = dilation * (size - 1) - before;
  int64_t at = p * (t->transposed ? 1 : stride) + k * dilation - before;
  if (t->transposed && (at < 0 || at % stride)) return -1;
  if (t->transposed) at /= stride;
  return at < length ? at : -1;
}

static float true_sum(const TrueConv *t, const int64_t in[5],
                      const int64_t strides[5], const int64_t k[5],
                      const int64_t at[5]) {
  int spatial = t->rank - 2;
  int64_t area = k[2] * k[3] * k[4], outputs = k[0] / t->groups;
  int64_t inputs = in[1] / t->groups, group = at[1] / outputs;
  float sum = 0;
  for (int64_t i = 0; i < inputs; i++)
    for (int64_t j = 0; j < area; j++) {
      int64_t c = group * inputs + i, own = j;
      int64_t offset = at[0] * strides[0] + c * strides[1];
      int64_t w = t->transposed ? (c * outputs + at[1] % outputs) * area
                                : (at[1] * inputs + i) * area;
      bool inside = true;
      for (int axis = spatial - 1; axis >= 0; axis--) {
        int64_t m = met(t, axis, at[2 + axis], own % k[2 + axis], k[2 + axis],
                        in[2 + axis]);
        own /= k[2 + axis];
        inside = inside && m >= 0;
        offset += m * strides[2 + axis];
      }
      w += t->transposed ? area - 1 - j : j;
      sum = fmaf(t->w[w], inside ? t->x[offset] : 0, sum);
    }
  return sum;
}

static void true_conv(const TrueConv *t, float *out) {
  int64_t in[5] = {1, 1, 1, 1, 1}, made[5] = {1, 1, 1, 1, 1};
  int64_t k[5] = {1, 1, 1, 1, 1}, from[5], to[5], count = 1;
  lengths_of(t, in);
  for (int i = 0; i < t->rank; i++) k[i] = t->weight[i];
  if (t->transposed) k[0] = t->weight[1] * t->groups;
  made[0] = in[0];
  made[1] = k[0];
  for (int i = 0; i < t->rank - 2; i++) {
    int64_t reach = t->dilation[i] * (k[2 + i] - 1) + 1;
    int64_t padding = 2 * t->padding[i];
    made[2 + i] = t->transposed
                      ? (in[2 + i] - 1) * t->stride[i] + reach - padding
                      : (in[2 + i] + padding - reach) / t->stride[i] + 1;
  }
  strides_of(t, in, from);
  strides_of(t, made, to);
  for (int i = 0; i < 5; i++) count *= made[i];
  for (int64_t i = 0; i < count; i++) {
    int64_t at[5], rest = i, place = 0;
    for (int axis = 4; axis >= 0; axis--) {
      at[axis] = rest % made[axis];
      rest /= made[axis];
      if (axis < t->rank) place += at[axis] * to[axis];
    }
    out[place] = true_sum(t, in, from, k, at);
  }
}

static void true_conv2d(const Case *c, char *out) {
  const ConvCase *v = c->data;
  int64_t data[] = {2, CONV_INPUTS, v->size, v->size + 3};
  int64_t weight[] = {CONV_OUTPUTS, CONV_INPUTS / v->groups, 3, 2};
  true_conv(
      &(TrueConv){
          .rank = 4,
          .data = data,
          .weight = weight,
          .groups = v->groups,
          .stride = {dim_value(v->stride[0]), dim_value(v->stride[1])},
          .padding = {dim_value(v->padding[0]), dim_value(v->padding[1])},
          .dilation = {dim_value(v->dilation[0]), dim_value(v->dilation[1])},
          .x = v->data,
          .w = v->weight},
      (float *)out);
}

static void run_conv(const Case *c, char *out) {
  const ConvCase *v = c->data;
  int64_t size[] = {2, CONV_INPUTS, v->size, v->size + 3};
  int64_t kernel[] = {CONV_OUTPUTS, CONV_INPUTS / v->groups, 3, 2};
  Attrs attrs;
  attrs_defaults(op_info(OP_NN_CONV2D), &attrs);
  set_pair(&attrs, ATTR_strides, v->stride);
  set_pair(&attrs, ATTR_padding, v->padding);
  set_pair(&attrs, ATTR_dilation, v->dilation);
  value_of(&attrs, ATTR_groups)->integer = dim_of(v->groups);
  Tensor data = tensor_on_data(DT_FLOAT32, 4, size, v->data);
  Tensor weight = tensor_on_data(DT_FLOAT32, 4, kernel, v->weight);
  run_op(v->mem, &attrs, (const Tensor *[]){&data, &weight}, out);
}

static void test_conv(void **state) {
  (void)state;
  Mem mem;
  unit_mem(&mem);
  for (int i = 0; i < 64; i++) {
    ConvCase v = {.size = 6 + i % 13,
                  .groups = 1 + i % 2,
                  .stride = {dim_of(1 + i / 2 % 2), dim_of(1 + i / 4 % 2)},
                  .padding = {dim_of(i / 8 % 3), dim_of(i / 8 % 3)},
                  .dilation = {dim_of(1 + i / 32), dim_of(1 + i / 16 % 2)},
                  .mem = &mem};
    int64_t count = 2 * CONV_OUTPUTS * (v.size + 4) * (v.size + 8);
    v.data = some_floats((size_t)count, 7, true);
    v.weight = some_floats(CONV_OUTPUTS * CONV_INPUTS * 6, 8, false);
    compare(&(Case){run_conv, true_conv2d, DT_FLOAT32, count, &v}, "nn.conv2d");
    free(v.data);
    free(v.weight);
  }
  unit_mem_done(&mem);
}

/* Other ranks, layouts and groups, bands of a large image; `sizes` as the data
 * and the weights have them. */
typedef struct OtherConv {
  OpId op;
  int rank;
  int64_t data[5], weight[5];
  int64_t groups;
  const char *layout;                /* NULL for the default */
  int64_t stride, padding, dilation; /* along every axis */
} OtherConv;

static const OtherConv other_convs[] = {
    {OP_NN_CONV1D, 3, {2, 3, 90}, {5, 3, 7}, 1, NULL, 1, 3, 1},
    {OP_NN_CONV1D, 3, {1, 90, 3}, {5, 3, 4}, 1, "NWC", 3, 2, 2},
    {OP_NN_CONV1D, 3, {1, 2, 9}, {3, 2, 2}, 1, NULL, 1, 50, 100},
    {OP_NN_CONV2D, 4, {2, 20, 9, 11}, {20, 1, 3, 3}, 20, NULL, 1, 1, 1},
    {OP_NN_CONV2D, 4, {1, 3, 30, 33}, {6, 1, 5, 2}, 3, NULL, 2, 2, 1},
    {OP_NN_CONV2D, 4, {2, 9, 11, 20}, {20, 1, 3, 3}, 20, "NHWC", 1, 1, 1},
    {OP_NN_CONV2D, 4, {1, 14, 15, 34}, {40, 17, 3, 3}, 2, "NHWC", 2, 1, 3},
    {OP_NN_CONV2D, 4, {1, 8, 13, 17}, {70, 8, 1, 1}, 1, NULL, 3, 0, 1},
    {OP_NN_CONV2D, 4, {1, 70, 5, 5}, {7, 70, 3, 3}, 1, NULL, 4, 6, 2},
    {OP_NN_CONV2D, 4, {1, 2, 400, 350}, {3, 2, 3, 4}, 1, NULL, 1, 2, 1},
    {OP_NN_CONV3D, 5, {2, 3, 5, 6, 9}, {4, 3, 3, 2, 3}, 1, NULL, 1, 1, 1},
    {OP_NN_CONV3D, 5, {1, 4, 7, 8, 9}, {6, 2, 2, 3, 3}, 2, NULL, 2, 2, 2},
    {OP_NN_CONV3D, 5, {1, 5, 6, 9, 3}, {4, 3, 3, 2, 3}, 1, "NDHWC", 2, 1, 1},
    {OP_NN_CONV2D_TRANSPOSE, 4, {1, 6, 7, 9}, {6, 4, 3, 3}, 1, NULL, 2, 1, 1},
    {OP_NN_CONV2D_TRANSPOSE, 4, {2, 6, 7, 9}, {6, 2, 4, 3}, 3, NULL, 3, 0, 2},
    {OP_NN_CONV1D_TRANSPOSE, 3, {1, 6, 17}, {6, 4, 5}, 1, NULL, 4, 2, 1},
};

typedef struct OtherCase {
  const OtherConv *conv;
  float *data, *weight;
  Mem *mem;
} OtherCase;

static void set_all(Attrs *attrs, AttrName name, int count, int64_t value,
                    Dim values[5]) {
  AttrValue *v = value_of(attrs, name);
  for (int i = 0; i < count; i++) values[i] = dim_of(value);
  v->state = AV_SET;
  v->count = count;
  v->ints = values;
}

static void other_attrs(const OtherConv *v, Attrs *attrs, Dim values[3][5]) {
  attrs_defaults(op_info((int)v->op), attrs);
  set_all(attrs, ATTR_strides, v->rank - 2, v->stride, values[0]);
  set_all(attrs, ATTR_padding, v->rank - 2, v->padding, values[1]);
  set_all(attrs, ATTR_dilation, v->rank - 2, v->dilation, values[2]);
  value_of(attrs, ATTR_groups)->integer = dim_of(v->groups);
  if (v->layout) value_of(attrs, ATTR_data_layout)->text = v->layout;
}

static void run_other(const Case *c, char *out) {
  const OtherCase *o = c->data;
  Attrs attrs;
  Dim values[3][5];
  other_attrs(o->conv, &attrs, values);
  Tensor data =
      tensor_on_data(DT_FLOAT32, o->conv->rank, o->conv->data, o->data);
  Tensor weight =
      tensor_on_data(DT_FLOAT32, o->conv->rank, o->conv->weight, o->weight);
  run_op(o->mem, &attrs, (const Tensor *[]){&data, &weight}, out);
}

static void true_other(const Case *c, char *out) {
  const OtherCase *o = c->data;
  const OtherConv *v = o->conv;
  int64_t s = v->stride, p = v->padding, d = v->dilation;
  true_conv(&(TrueConv){.rank = v->rank,
                        .transposed = v->op == OP_NN_CONV1D_TRANSPOSE ||
                                      v->op == OP_NN_CONV2D_TRANSPOSE,
                        .data = v->data,
                        .weight = v->weight,
                        .groups = v->groups,
                        .stride = {s, s, s},
                        .padding = {p, p, p},
                        .dilation = {d, d, d},
                        .layout = v->layout,
                        .x = o->data,
                        .w = o->weight},
            (float *)out);
}

static int64_t product_of(const int64_t *shape, int rank) {
  int64_t n = 1;
  for (int i = 0; i < rank; i++) n *= shape[i];
  return n;
}

/* More than the results of any: elements of the data, of the weights, of
 * channels, stride by stride. */
static int64_t room_for(const OtherConv *v) {
  int64_t n = 1;
  for (int i = 0; i < v->rank; i++)
    n *= (v->data[i] + 2 * v->padding + v->weight[i]) * v->stride;
  return n < 1 << 20 ? n : 1 << 20;
}

static void test_other_convs(void **state) {
  (void)state;
  Mem mem;
  unit_mem(&mem);
  for (size_t i = 0; i < LENGTH(other_convs); i++) {
    const OtherConv *v = &other_convs[i];
    OtherCase c = {v, NULL, NULL, &mem};
    c.data = some_floats((size_t)product_of(v->data, v->rank), i, true);
    c.weight = some_floats((size_t)product_of(v->weight, v->rank), 9, false);
    compare(&(Case){run_other, true_other, DT_FLOAT32, room_for(v), &c},
            op_info((int)v->op)->name);
    free(c.data);
    free(c.weight);
  }
  unit_mem_done(&mem);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_choice),
      cmocka_unit_test(test_complete),
      cmocka_unit_test(test_product_lengths),
      cmocka_unit_test(test_product_layouts),
      cmocka_unit_test(test_product_long),
      cmocka_unit_test(test_product_wide),
      cmocka_unit_test_setup_teardown(test_strips, make_room, free_room),
      cmocka_unit_test_setup_teardown(test_casts, make_room, free_room),
      cmocka_unit_test_setup_teardown(test_pairs, make_room, free_room),
      cmocka_unit_test(test_long_sigmoids),
      cmocka_unit_test(test_lines),
      cmocka_unit_test(test_conv),
      cmocka_unit_test(test_other_convs),
  };
  return RUN_TESTS(tests);
}
