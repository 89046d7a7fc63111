/* tensor/: conversions, views, copying, text, named dimensions.  Roundings are
 * compared with a search for the nearest neighbour, printed floats with what
 * libc reads, copies with element by element arithmetic on indices.
 *
 * Rounding twice, or in the wrong direction on a tie, is the usual mistake of
 * conversions.  A printed float must be the shortest text that reads back as
 * the same bits: tried for all halves, and for random floats. */
#include "tests/unit/unit.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tensor/dim.h"
#include "tensor/facts.h"
#include "tensor/half.h"
#include "tensor/tensor.h"

typedef struct Desk {
  Mem mem;
  Heap heap;
  StrBuf out;
} Desk;

static void desk_open(Desk *d) {
  heap_init(&d->heap, unit_mem(&d->mem));
  strbuf_init(&d->out, &d->mem);
}

static void desk_close(Desk *d) {
  strbuf_done(&d->out);
  heap_done(&d->heap);
  unit_mem_done(&d->mem);
}

/* --- Dtypes -------------------------------------------------------------- */

static void dtype_names(void **state) {
  (void)state;
  static const struct {
    const char *name;
    DType dtype;
  } rows[] = {
      {"float32", DT_FLOAT32}, {"bfloat16", DT_BFLOAT16}, {"bool", DT_BOOL},
      {"uint1", DT_BOOL},      {"int", DT_INT32},         {"uint", DT_UINT32},
      {"float", DT_FLOAT32},   {"int8x1", DT_INT8},       {"int7", DTYPE_NONE},
      {"x1", DTYPE_NONE},      {"", DTYPE_NONE},          {"Int32", DTYPE_NONE},
  };
  for (size_t i = 0; i < LENGTH(rows); i++)
    assert_int_equal(dtype_find(rows[i].name, strlen(rows[i].name)),
                     rows[i].dtype);
  assert_true(dtype_min_int(DT_INT64) == INT64_MIN);
  assert_true(dtype_max_int(DT_INT64) == INT64_MAX);
  assert_true(dtype_max_int(DT_UINT64) == UINT64_MAX);
  assert_int_equal(dtype_min_int(DT_INT8), -128);
  assert_int_equal(dtype_max_int(DT_UINT16), 65535);
  assert_int_equal(dtype_min_int(DT_INT4), -8);
  assert_int_equal(dtype_max_int(DT_INT4), 7);
  assert_int_equal(dtype_max_int(DT_UINT4), 15);
  assert_int_equal(dtype_kept_as(DT_INT4), DT_INT8);
  assert_int_equal(dtype_kept_as(DT_UINT4), DT_UINT8);
}

static bool same_name(const char *a, const char *b) {
  return a && b && !strcmp(a, b);
}

/* Every row says what files and other programs call its dtype, and no two say
 * the same: by these it is found again.  Narrow integers have no name in
 * files. */
static void rows_are_complete(void **state) {
  (void)state;
  for (int i = 0; i < DTYPE_COUNT; i++) {
    const DTypeInfo *a = &dtype_info[i];
    assert_non_null(a->name);
    bool narrow = a->form == FORM_NARROW;
    assert_int_equal(!a->npy, narrow);
    assert_int_equal(!a->safetensors, narrow);
    if (narrow) assert_true(a->bits > 1 && a->bits < 8 * a->size);
    else assert_int_equal(a->bits, a->class == CLASS_B ? 1 : 8 * a->size);
    assert_int_equal(a->exponent_bits > 0, a->class == CLASS_F);
    if (a->class == CLASS_F && a->form != FORM_PLAIN)
      assert_int_equal(a->in, IN_F32);
    assert_int_equal(dtype_kept_as((DType)i) == (DType)i, !narrow);
    for (int k = 0; k < i; k++) {
      const DTypeInfo *b = &dtype_info[k];
      assert_string_not_equal(a->name, b->name);
      assert_string_not_equal(a->suffix, b->suffix);
      assert_false(same_name(a->npy, b->npy));
      assert_false(same_name(a->safetensors, b->safetensors));
      assert_true(a->dlpack != b->dlpack || a->bits != b->bits);
    }
  }
}

/* --- Coded floats --------------------------------------------------------- */

typedef struct Format {
  uint16_t beyond; /* what is too large; every smaller pattern is a number */
  uint16_t sign;
  bool finite; /* `beyond` is a NaN, not infinity */
  float (*widen)(uint16_t);
  uint16_t (*narrow)(double);
  uint16_t (*narrow_f32)(float);
} Format;

#define NARROW(id, suffix, T, exponent, narrow)                           \
  static float widen_##id(uint16_t h) { return suffix##_to_f32((T)h); }   \
  static uint16_t narrow_f32_##id(float v) { return f32_to_##suffix(v); } \
  static uint16_t narrow_##id(double v) {                                 \
    return narrow(v, 8 * sizeof(T), exponent);                            \
  }
#define FORMAT_PLAIN(id, suffix, T, exponent)
#define FORMAT_NARROW FORMAT_PLAIN
#define FORMAT_CODED(id, suffix, T, exponent) \
  NARROW(id, suffix, T, exponent, f64_to_coded)
#define FORMAT_FINITE(id, suffix, T, exponent) \
  NARROW(id, suffix, T, exponent, f64_to_finite)
#define DTYPE(id, suffix, T, class, form, exponent, ...) \
  FORMAT_##form(id, suffix, T, exponent)
#include "tensor/dtype.def"
#undef DTYPE

#undef FORMAT_CODED
#undef FORMAT_FINITE
#define FORMAT(id, T, ...)           \
  {.sign = 1 << (8 * sizeof(T) - 1), \
   .widen = widen_##id,              \
   .narrow = narrow_##id,            \
   .narrow_f32 = narrow_f32_##id,    \
   __VA_ARGS__},
#define FORMAT_CODED(id, suffix, T, exponent) \
  FORMAT(id, T,                               \
         .beyond = ((1 << (exponent)) - 1)    \
                   << (8 * sizeof(T) - 1 - (exponent)))
#define FORMAT_FINITE(id, suffix, T, exponent) \
  FORMAT(id, T, .finite = true, .beyond = (1 << (8 * sizeof(T) - 1)) - 1)
static const Format formats[] = {
#define DTYPE(id, suffix, T, class, form, exponent, ...) \
  FORMAT_##form(id, suffix, T, exponent)
#include "tensor/dtype.def"
#undef DTYPE
};

/* The value of a bit pattern for the purpose of rounding: what is too large is
 * one step beyond the largest number. */
static double magnitude_of(const Format *f, uint16_t h) {
  if (h < f->beyond) return f->widen(h);
  return 2 * (double)f->widen(h - 1) - f->widen(h - 2);
}

/* The pattern nearest to v >= 0, the even one of two. */
static uint16_t nearest(const Format *f, double v) {
  uint16_t low = 0, high = f->beyond;
  while (high - low > 1) {
    uint16_t middle = (uint16_t)((low + high) / 2);
    if (magnitude_of(f, middle) <= v) low = middle;
    else high = middle;
  }
  double below = v - magnitude_of(f, low), above = magnitude_of(f, high) - v;
  if (below == above) return low % 2 ? high : low;
  return below < above ? low : high;
}

static void check_rounding(const Format *f, double v) {
  uint16_t expected = nearest(f, fabs(v)) | (signbit(v) ? f->sign : 0);
  assert_int_equal(f->narrow(v), expected);
  float single = (float)v;
  expected = nearest(f, fabs((double)single)) | (signbit(v) ? f->sign : 0);
  assert_int_equal(f->narrow_f32(single), expected);
}

static void coded_floats_round_to_nearest_even(void **state) {
  (void)state;
  uint64_t random = 3;
  for (size_t k = 0; k < LENGTH(formats); k++) {
    const Format *f = &formats[k];
    for (int i = 0; i < 20000; i++) {
      uint16_t h = (uint16_t)(unit_random(&random) % f->beyond);
      double v = magnitude_of(f, h), next = magnitude_of(f, h + 1);
      double half = v + (next - v) / 2;
      double sign = unit_random(&random) % 2 ? -1 : 1;
      check_rounding(f, sign * half);
      check_rounding(f, sign * nextafter(half, 0));
      check_rounding(f, sign * nextafter(half, INFINITY));
      double part = (double)(unit_random(&random) >> 11) * 0x1p-53;
      check_rounding(f, sign * (v + part * (next - v)));
    }
    check_rounding(f, 1e-300);
    check_rounding(f, -0.0);
    assert_int_equal(f->narrow(1e300), f->beyond);
  }
}

static void coded_floats_survive_widening(void **state) {
  (void)state;
  for (size_t k = 0; k < LENGTH(formats); k++)
    for (uint32_t h = 0; h < 2u * formats[k].sign; h++) {
      const Format *f = &formats[k];
      float wide = f->widen((uint16_t)h);
      uint32_t magnitude = h & (f->sign - 1u);
      bool nan = magnitude > f->beyond || (f->finite && magnitude == f->beyond);
      assert_int_equal(isnan(wide), nan);
      uint16_t back = f->narrow(wide), back_f32 = f->narrow_f32(wide);
      assert_true(nan ? isnan(f->widen(back)) : back == h);
      assert_true(nan ? isnan(f->widen(back_f32)) : back_f32 == h);
    }
  assert_true(f16_to_f32(0x3C00) == 1 && bf16_to_f32(0x3F80) == 1);
  assert_true(f16_to_f32(0x0001) == 0x1p-24f);
  assert_true(f16_to_f32(0x7BFF) == 65504);
  assert_true(f8e5m2_to_f32(0x7B) == 57344 && f8e5m2_to_f32(1) == 0x1p-16f);
  assert_true(f8e4m3_to_f32(0x7E) == 448 && f8e4m3_to_f32(1) == 0x1p-9f);
}

/* --- Conversions --------------------------------------------------------- */

static void conversions(void **state) {
  (void)state;
  static const struct {
    DType to;
    double from;
    int64_t gives;
  } rows[] = {
      {DT_INT8, 127.9, 127},
      {DT_INT8, 128, 127},
      {DT_INT8, -1e30, -128},
      {DT_INT8, -1.9, -1},
      {DT_UINT8, -5, 0},
      {DT_UINT8, 256, 255},
      {DT_INT4, 7.9, 7},
      {DT_INT4, 8, 7},
      {DT_INT4, -1e30, -8},
      {DT_INT4, NAN, 0},
      {DT_UINT4, 16, 15},
      {DT_UINT4, -1, 0},
      {DT_INT32, NAN, 0},
      {DT_INT64, 1e19, INT64_MAX},
      {DT_INT64, -1e19, INT64_MIN},
      {DT_INT64, INFINITY, INT64_MAX},
      {DT_BOOL, NAN, 1},
      {DT_BOOL, -0.0, 0},
      {DT_BOOL, 0.1, 1},
      {DT_UINT32, 4294967295.5, 4294967295},
  };
  for (size_t i = 0; i < LENGTH(rows); i++) {
    Value v = bits_from_f64(rows[i].to, rows[i].from);
    assert_true(bits_to_i64(rows[i].to, v) == rows[i].gives);
  }
  assert_true(bits_from_f64(DT_UINT64, 1e30).u64 == UINT64_MAX);
  assert_true(bits_to_i64(DT_UINT64, (Value){.u64 = UINT64_MAX}) == INT64_MAX);
  assert_true(bits_to_f64(DT_UINT64, (Value){.u64 = UINT64_MAX}) == 0x1p64);
  assert_true(bits_from_i64(DT_INT8, 300).bits == 44);
  assert_true(bits_from_i64(DT_INT16, -2).bits == 0xFFFE);
  assert_true(bits_from_i64(DT_INT4, 8).bits == 0xF8);
  assert_true(bits_from_i64(DT_UINT4, -1).bits == 0x0F);
  for (int i = 0; i < 256; i++) {
    Value byte = {.bits = (uint64_t)i};
    assert_int_equal(bits_are_valid(DT_INT4, byte), i < 8 || i >= 0xF8);
    assert_int_equal(bits_are_valid(DT_UINT4, byte), i < 16);
    assert_int_equal(bits_are_valid(DT_BOOL, byte), i < 2);
    assert_true(bits_are_valid(DT_INT8, byte));
  }
  assert_true(bits_to_i64(DT_INT16, (Value){.bits = 0xFFFE}) == -2);
}

/* Through a double, the 1 would be lost and the tie go to even. */
static void integers_round_once(void **state) {
  (void)state;
  int64_t tie = (int64_t)1 << 62 | (int64_t)1 << 54;
  assert_int_equal(bits_from_i64(DT_BFLOAT16, tie).u16, 0x5E80);
  assert_int_equal(bits_from_i64(DT_BFLOAT16, tie + 1).u16, 0x5E81);
  assert_int_equal(bits_from_i64(DT_BFLOAT16, tie - 1).u16, 0x5E80);
  assert_int_equal(bits_from_i64(DT_BFLOAT16, -tie - 1).u16, 0xDE81);
  assert_int_equal(bits_from_i64(DT_FLOAT16, 2049).u16, 0x6800);
  assert_int_equal(bits_from_i64(DT_FLOAT16, INT64_MAX).u16, 0x7C00);
}

/* --- Geometry ------------------------------------------------------------ */

static void counting_elements(void **state) {
  (void)state;
  static const struct {
    int64_t shape[3];
    bool fits;
    int64_t count;
  } rows[] = {
      {{2, 3, 4}, true, 24},
      {{2, -1, 4}, false, 0},
      {{(int64_t)1 << 32, (int64_t)1 << 31, 1}, false, 0},
      {{(int64_t)1 << 32, (int64_t)1 << 32, 0}, false, 0},
      {{0, (int64_t)1 << 29, (int64_t)1 << 30}, true, 0},
      {{0, (int64_t)1 << 62, (int64_t)1 << 62}, false, 0},
      {{INT64_MAX, 1, 1}, true, INT64_MAX},
  };
  Desk d;
  desk_open(&d);
  for (size_t i = 0; i < LENGTH(rows); i++) {
    int64_t count;
    assert_int_equal(shape_count(3, rows[i].shape, &count), rows[i].fits);
    if (rows[i].fits) assert_true(count == rows[i].count);
    Tensor *t = tensor_new(&d.heap, DT_FLOAT64, 3, rows[i].shape);
    assert_int_equal(t != NULL, rows[i].fits && rows[i].count < 1000);
    if (t) tensor_drop(&d.heap, t);
  }
  desk_close(&d);
}

/* A tensor of 0, 1, 2, ... */
static Tensor *counting(Desk *d, DType dtype, int rank, const int64_t *shape) {
  Tensor *t = tensor_new(&d->heap, dtype, rank, shape);
  for (int64_t i = 0; i < tensor_count(t); i++)
    bits_store(dtype, t->data + i * (int64_t)dtype_size(dtype),
               bits_from_i64(dtype, i));
  return t;
}

static void contiguity(void **state) {
  (void)state;
  static const struct {
    int64_t shape[3], strides[3];
    bool contiguous;
  } rows[] = {
      {{2, 3, 4}, {12, 4, 1}, true}, {{2, 3, 4}, {24, 4, 1}, false},
      {{1, 3, 4}, {99, 4, 1}, true}, {{2, 3, 1}, {3, 1, 77}, true},
      {{2, 3, 4}, {0, 4, 1}, false}, {{2, 3, 4}, {-12, 4, 1}, false},
      {{2, 0, 4}, {5, 5, 5}, true},  {{4, 3, 2}, {1, 4, 12}, false},
  };
  for (size_t i = 0; i < LENGTH(rows); i++) {
    Tensor t = tensor_on_data(DT_INT8, 3, rows[i].shape, NULL);
    memcpy(t.strides, rows[i].strides, sizeof rows[i].strides);
    assert_int_equal(tensor_is_contiguous(&t), rows[i].contiguous);
  }
}

/* A view with its axes shuffled, reversed, stepped over or repeated. */
static Tensor *random_view(Desk *d, const Tensor *base, uint64_t *random) {
  int64_t shape[RANK_MAX], strides[RANK_MAX], offset = 0;
  int first = (int)(unit_random(random) % base->rank);
  for (int i = 0; i < base->rank; i++) {
    int from = (first + i) % base->rank;
    shape[i] = base->shape[from];
    strides[i] = base->strides[from];
    switch (unit_random(random) % 5) {
      case 0:
        offset += (shape[i] - 1) * strides[i];
        strides[i] = -strides[i];
        break;
      case 1:
        shape[i] = (shape[i] + 1) / 2;
        strides[i] *= 2;
        break;
      case 2: strides[i] = 0; break;
      default: break;
    }
  }
  return tensor_view(&d->heap, base, base->rank, shape, strides, offset);
}

/* The element at a row-major index, by the definition of strides. */
static double element(const Tensor *t, int64_t i) {
  int64_t offset = 0;
  for (int axis = t->rank - 1; axis >= 0; axis--) {
    offset += i % t->shape[axis] * t->strides[axis];
    i /= t->shape[axis];
  }
  const char *at = t->data + offset * (int64_t)dtype_size(t->dtype);
  return bits_to_f64(t->dtype, bits_load(t->dtype, at));
}

static void check_copy(Desk *d, Tensor *view) {
  Tensor *copy = tensor_copy(&d->heap, view);
  assert_true(tensor_is_contiguous(copy));
  assert_true(tensor_same(copy, view));
  int64_t i = 0;
  for (Runs r = runs_over(view); runs_next(&r);)
    for (int64_t k = 0; k < r.count; k++, i++) {
      const char *at = r.data + k * r.stride * (int64_t)dtype_size(view->dtype);
      double v = bits_to_f64(view->dtype, bits_load(view->dtype, at));
      assert_true(v == element(view, i));
      assert_true(v == tensor_f64_at(view, i));
      assert_true(v == tensor_f64_at(copy, i));
    }
  assert_true(i == tensor_count(view));
  tensor_drop(&d->heap, copy);
}

static void copying_views(void **state) {
  (void)state;
  static const DType dtypes[] = {DT_INT8, DT_BFLOAT16, DT_FLOAT32, DT_INT64};
  Desk d;
  desk_open(&d);
  uint64_t random = 11;
  for (int i = 0; i < 400; i++) {
    int64_t shape[4];
    int rank = 1 + (int)(unit_random(&random) % 4);
    for (int k = 0; k < rank; k++)
      shape[k] = (int64_t)(unit_random(&random) % 5) + (i % 20 != 0);
    Tensor *base = counting(&d, dtypes[i % 4], rank, shape);
    bool empty = tensor_count(base) == 0;
    Tensor *view = empty ? tensor_keep(base) : random_view(&d, base, &random);
    tensor_drop(&d.heap, base);
    check_copy(&d, view);
    tensor_drop(&d.heap, view);
  }
  desk_close(&d);
}

/* Across the edges of the tiles that transpositions go by. */
static void copying_transpositions(void **state) {
  (void)state;
  static const DType dtypes[] = {DT_INT8, DT_FLOAT16, DT_INT32, DT_FLOAT64};
  static const int64_t sides[] = {2, 15, 16, 17, 33, 48};
  Desk d;
  desk_open(&d);
  for (int i = 0; i < 4 * 36; i++) {
    int64_t n = sides[i / 4 % 6], m = sides[i / 24], shape[] = {n, 3, m};
    Tensor *base = counting(&d, dtypes[i % 4], 3, shape);
    for (int middle = 0; middle < 2; middle++) {
      int64_t to[] = {middle ? 3 : m, middle ? m : 3, n};
      int64_t by[] = {middle ? m : 1, middle ? 1 : m, 3 * m};
      Tensor *view = tensor_view(&d.heap, base, 3, to, by, 0);
      check_copy(&d, view);
      tensor_drop(&d.heap, view);
    }
    tensor_drop(&d.heap, base);
  }
  desk_close(&d);
}

/* Elements again and again: of equal bytes, as 0, -1 and 0x0101 are, and of
 * others. */
static void copying_repeats(void **state) {
  (void)state;
  static const DType dtypes[] = {DT_INT8, DT_INT16, DT_FLOAT32, DT_INT64};
  static const int64_t values[] = {0, -1, 0x0101, 2};
  enum { COUNT = sizeof values / sizeof *values };
  Desk d;
  desk_open(&d);
  for (int i = 0; i < 4; i++) {
    Tensor *base = counting(&d, dtypes[i], 1, (int64_t[]){COUNT});
    for (int k = 0; k < COUNT; k++)
      bits_store(dtypes[i], base->data + k * (int)dtype_size(dtypes[i]),
                 bits_from_i64(dtypes[i], values[k]));
    for (int64_t n = 1; n < 300; n += 23) {
      int64_t shape[] = {COUNT, n}, strides[] = {1, 0};
      Tensor *view = tensor_view(&d.heap, base, 2, shape, strides, 0);
      check_copy(&d, view);
      tensor_drop(&d.heap, view);
    }
    tensor_drop(&d.heap, base);
  }
  desk_close(&d);
}

static void comparing(void **state) {
  (void)state;
  int64_t shape[] = {2};
  float a[] = {NAN, 0}, b[] = {-NAN, 0}, c[] = {NAN, -0.0f};
  Tensor x = tensor_on_data(DT_FLOAT32, 1, shape, a);
  Tensor y = tensor_on_data(DT_FLOAT32, 1, shape, b);
  Tensor z = tensor_on_data(DT_FLOAT32, 1, shape, c);
  Tensor w = tensor_on_data(DT_INT32, 1, shape, a);
  assert_true(tensor_same(&x, &y));
  assert_false(tensor_same(&x, &z));
  assert_false(tensor_same(&x, &w));
}

/* --- Buffers ------------------------------------------------------------- */

static void freed_buffers_are_reused(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  int64_t shape[] = {100};
  Tensor *t = tensor_new(&d.heap, DT_FLOAT32, 1, shape);
  assert_int_equal((uintptr_t)t->data % 64, 0);
  size_t count = mem_allocations(&d.mem);
  for (int i = 0; i < 1000; i++) {
    tensor_drop(&d.heap, t);
    shape[0] = 65 + i % 60;
    t = tensor_new(&d.heap, DT_FLOAT32, 1, shape);
  }
  assert_int_equal(mem_allocations(&d.mem), count);
  tensor_drop(&d.heap, t);
  desk_close(&d);
}

/* Buffers kept for reuse must not make a program run out of memory. */
static void spare_buffers_yield_to_the_limit(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  int64_t shape[] = {200000};
  tensor_drop(&d.heap, tensor_new(&d.heap, DT_INT8, 1, shape));
  d.mem.limit = 400000;
  shape[0] = 300000;
  Tensor *t = tensor_new(&d.heap, DT_INT8, 1, shape);
  assert_null(t);
  shape[0] = 250000;
  t = tensor_new(&d.heap, DT_INT8, 1, shape);
  assert_non_null(t);
  tensor_drop(&d.heap, t);
  desk_close(&d);
}

static void count_release(void *owner) { ++*(int *)owner; }

static void borrowed_memory_is_released_once(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  float data[6] = {0};
  int released = 0;
  int64_t shape[] = {2, 3};
  Buffer *b =
      buffer_borrow(&d.heap, data, sizeof data, count_release, &released);
  assert_false(buffer_writable(b));
  Tensor *t = tensor_on_buffer_take(&d.heap, DT_FLOAT32, 2, shape, NULL, b);
  Tensor *row = tensor_view(&d.heap, t, 1, shape + 1, NULL, 3);
  assert_ptr_equal(row->data, data + 3);
  tensor_drop(&d.heap, t);
  assert_int_equal(released, 0);
  tensor_drop(&d.heap, row);
  assert_int_equal(released, 1);
  desk_close(&d);
}

/* --- Floats as text ------------------------------------------------------ */

static const char *float_text(Desk *d, DType dtype, Value v, bool point) {
  VEC_CLEAR(&d->out);
  float_print(&d->out, dtype, v, point);
  return strbuf_text(&d->out);
}

/* Known shortest forms; the last ones are where the nearest decimal of that
 * length does not read back, or where printf's 17 digits are too many. */
static void known_floats(void **state) {
  (void)state;
  static const struct {
    DType dtype;
    double v;
    const char *text, *short_text;
  } rows[] = {
      {DT_FLOAT64, 0.1, "0.1", "0.1"},
      {DT_FLOAT64, 1, "1.0", "1"},
      {DT_FLOAT64, -0.0, "-0.0", "-0.0"},
      {DT_FLOAT64, 0, "0.0", "0"},
      {DT_FLOAT64, 100, "100.0", "100"},
      {DT_FLOAT64, 1e15, "1000000000000000.0", "1000000000000000"},
      {DT_FLOAT64, 1e16, "1e+16", "1e+16"},
      {DT_FLOAT64, 1e30, "1e+30", "1e+30"},
      {DT_FLOAT64, -1.5e-7, "-1.5e-07", "-1.5e-07"},
      {DT_FLOAT64, 0.0001, "0.0001", "0.0001"},
      {DT_FLOAT64, 0.00001, "1e-05", "1e-05"},
      {DT_FLOAT64, 5e-324, "5e-324", "5e-324"},
      {DT_FLOAT64, 1.7976931348623157e308, "1.7976931348623157e+308",
       "1.7976931348623157e+308"},
      {DT_FLOAT64, 2.2250738585072014e-308, "2.2250738585072014e-308",
       "2.2250738585072014e-308"},
      {DT_FLOAT64, 0x1p-44, "5.684341886080802e-14", "5.684341886080802e-14"},
      {DT_FLOAT64, 0x1p53, "9007199254740992.0", "9007199254740992"},
      {DT_FLOAT32, 0.1, "0.1", "0.1"},
      {DT_FLOAT32, 16777216, "16777216.0", "16777216"},
      {DT_FLOAT32, 3.4028234663852886e38, "3.4028235e+38", "3.4028235e+38"},
      {DT_FLOAT32, 1.401298464324817e-45, "1e-45", "1e-45"},
      {DT_FLOAT32, 0x1p-24, "5.9604645e-08", "5.9604645e-08"},
      {DT_FLOAT16, 0.1, "0.1", "0.1"},
      {DT_FLOAT16, 65504, "65500.0", "65500"},
      {DT_FLOAT16, 0x1p-24, "6e-08", "6e-08"},
      {DT_BFLOAT16, 0.1, "0.1", "0.1"},
      {DT_BFLOAT16, 3.14, "3.14", "3.14"},
      {DT_FLOAT32, NAN, "nan", "nan"},
      {DT_FLOAT16, -INFINITY, "-inf", "-inf"},
  };
  Desk d;
  desk_open(&d);
  for (size_t i = 0; i < LENGTH(rows); i++) {
    Value v = bits_from_f64(rows[i].dtype, rows[i].v);
    assert_string_equal(float_text(&d, rows[i].dtype, v, true), rows[i].text);
    assert_string_equal(float_text(&d, rows[i].dtype, v, false),
                        rows[i].short_text);
  }
  desk_close(&d);
}

/* libc's reading of a text, rounded to the dtype. */
static Value parsed(DType dtype, const char *text) {
  if (dtype == DT_FLOAT32)
    return (Value){.bits = bits_of_f32(strtof(text, NULL))};
  return bits_from_f64(dtype, strtod(text, NULL));
}

static int significant_digits(const char *text) {
  int n = 0, zeros = 0;
  for (; *text && *text != 'e'; text++) {
    if (*text < '0' || *text > '9' || (*text == '0' && n == 0)) continue;
    zeros = *text == '0' ? zeros + 1 : 0;
    n++;
  }
  return n - zeros;
}

/* No decimal of `digits` digits next to v reads back. */
static bool none_is_shorter(DType dtype, Value bits, int digits) {
  char text[64], *end;
  double v = bits_to_f64(dtype, bits);
  if (digits == 0) return true;
  snprintf(text, sizeof text, "%.*e", digits - 1, v);
  int exponent = atoi(strchr(text, 'e') + 1) - (digits - 1);
  double whole = strtod(text, &end) / pow(10, exponent);
  for (int step = -1; step <= 1; step++) {
    snprintf(text, sizeof text, "%.0fe%d", nearbyint(whole) + step, exponent);
    if (parsed(dtype, text).bits == bits.bits) return false;
  }
  return true;
}

static void check_float(Desk *d, DType dtype, Value v) {
  double wide = bits_to_f64(dtype, v);
  const char *text = float_text(d, dtype, v, true);
  if (!isfinite(wide)) return;
  assert_true(strpbrk(text, ".e") != NULL);
  assert_true(parsed(dtype, text).bits == v.bits);
  if (wide == 0) return;
  assert_true(none_is_shorter(dtype, v, significant_digits(text) - 1));
}

static void all_halves_print_shortest(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  for (uint32_t h = 0; h <= 0x7FFF; h++) {
    check_float(&d, DT_FLOAT16, (Value){.bits = h});
    check_float(&d, DT_BFLOAT16, (Value){.bits = h | 0x8000});
  }
  desk_close(&d);
}

static void random_floats_print_shortest(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  uint64_t random = 5;
  for (int i = 0; i < 20000; i++) {
    uint64_t bits = unit_random(&random);
    check_float(&d, DT_FLOAT32, (Value){.bits = bits & UINT32_MAX});
    check_float(&d, DT_FLOAT64, (Value){.bits = bits});
  }
  for (uint64_t exponent = 1; exponent < 255; exponent++)
    check_float(&d, DT_FLOAT32, (Value){.bits = exponent << 23});
  for (uint64_t exponent = 1; exponent < 2047; exponent++)
    check_float(&d, DT_FLOAT64, (Value){.bits = exponent << 52});
  desk_close(&d);
}

static void floats_ignore_the_locale(void **state) {
  (void)state;
  static const char *const names[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8"};
  const char *set = NULL;
  for (size_t i = 0; i < LENGTH(names) && !set; i++)
    set = setlocale(LC_NUMERIC, names[i]);
  if (!set) {
    print_message("# no locale with a decimal comma is installed\n");
    return;
  }
  Desk d;
  desk_open(&d);
  const char *text = float_text(&d, DT_FLOAT64, (Value){.f64 = 1.25}, true);
  setlocale(LC_NUMERIC, "C");
  assert_string_equal(text, "1.25");
  desk_close(&d);
}

/* --- Tensors as text ----------------------------------------------------- */

static void literals(void **state) {
  (void)state;
  static const struct {
    DType dtype;
    double v;
    const char *text;
  } rows[] = {
      {DT_INT32, -7, "-7"},        {DT_INT64, 2, "2i64"},
      {DT_UINT8, 200, "200u8"},    {DT_BOOL, 1, "True"},
      {DT_BOOL, 0, "False"},       {DT_FLOAT32, 0.5, "0.5f"},
      {DT_FLOAT32, 1, "1f"},       {DT_FLOAT32, NAN, "nanf"},
      {DT_FLOAT64, 0.5, "0.5f64"}, {DT_FLOAT64, -INFINITY, "-inff64"},
      {DT_BFLOAT16, 2, "2bf16"},   {DT_FLOAT16, -0.0, "-0.0f16"},
  };
  Desk d;
  desk_open(&d);
  for (size_t i = 0; i < LENGTH(rows); i++) {
    VEC_CLEAR(&d.out);
    scalar_print_literal(&d.out, rows[i].dtype,
                         bits_from_f64(rows[i].dtype, rows[i].v));
    assert_string_equal(strbuf_text(&d.out), rows[i].text);
  }
  desk_close(&d);
}

static void check_block(Desk *d, const Tensor *t, int width, int indent,
                        const char *expected) {
  VEC_CLEAR(&d->out);
  tensor_print_block(&d->out, t, width, indent, 0);
  assert_string_equal(strbuf_text(&d->out), expected);
}

static void blocks(void **state) {
  (void)state;
  static const struct {
    int rank;
    int64_t shape[3];
    int width, indent;
    const char *text;
  } rows[] = {
      {0, {0}, 80, 0, "0"},
      {1, {0}, 80, 0, "[]"},
      {2, {2, 0}, 80, 0, "[[],\n []]"},
      {2, {0, 2}, 80, 0, "[]"},
      {1, {4}, 80, 0, "[0, 1, 2, 3]"},
      {2,
       {3, 4},
       80,
       0,
       "[[ 0,  1,  2,  3],\n [ 4,  5,  6,  7],\n"
       " [ 8,  9, 10, 11]]"},
      {2, {2, 2}, 80, 3, "[[0, 1],\n    [2, 3]]"},
      {3, {2, 2, 1}, 80, 0, "[[[0],\n  [1]],\n [[2],\n  [3]]]"},
      {1,
       {12},
       18,
       0,
       "[ 0,  1,  2,  3,\n  4,  5,  6,  7,\n"
       "  8,  9, 10, 11]"},
      {2, {1, 30}, 24, 0, "[[ 0,  1, ..., 28, 29]]"},
      {1,
       {101},
       200,
       0,
       "[  0,   1,   2,   3,   4,   5,   6,   7,   8,   9, ...,  91,  92,  93,"
       "  94,  95,  96,  97,  98,  99, 100]"},
  };
  Desk d;
  desk_open(&d);
  for (size_t i = 0; i < LENGTH(rows); i++) {
    Tensor *t = counting(&d, DT_INT32, rows[i].rank, rows[i].shape);
    check_block(&d, t, rows[i].width, rows[i].indent, rows[i].text);
    tensor_drop(&d.heap, t);
  }
  desk_close(&d);
}

static void blocks_stay_small(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  int64_t shape[] = {1000, 10, 7, 1000};
  float zero = 0;
  Tensor t = tensor_on_data(DT_FLOAT32, 4, shape, &zero);
  memset(t.strides, 0, sizeof t.strides);
  tensor_print_block(&d.out, &t, 80, 0, 0);
  int lines = 1, column = 0;
  for (const char *p = strbuf_text(&d.out); *p; p++) {
    lines += *p == '\n';
    column = *p == '\n' ? 0 : column + 1;
    assert_true(column <= 80);
  }
  assert_true(lines < 60);
  desk_close(&d);
}

static void json(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  float values[] = {1, -0.0f, 0.1f, NAN, INFINITY, -INFINITY, 1e30f, -2.5f};
  int64_t shape[] = {2, 2, 2};
  Tensor t = tensor_on_data(DT_FLOAT32, 3, shape, values);
  tensor_print_json(&d.out, &t, NULL);
  assert_string_equal(strbuf_text(&d.out),
                      "{\"dtype\": \"float32\", \"shape\": [2, 2, 2], "
                      "\"data\": [1, -0.0, 0.1, \"nan\", \"inf\", \"-inf\", "
                      "1e+30, -2.5]}");
  VEC_CLEAR(&d.out);
  Value yes = {.b = true};
  Tensor scalar = tensor_on_bits(DT_BOOL, &yes);
  tensor_print_json(&d.out, &scalar, NULL);
  assert_string_equal(strbuf_text(&d.out),
                      "{\"dtype\": \"bool\", \"shape\": [], \"data\": [true]}");
  VEC_CLEAR(&d.out);
  tensor_print_type(&d.out, &t);
  tensor_print_type(&d.out, &scalar);
  assert_string_equal(strbuf_text(&d.out), "Tensor[(2, 2, 2), float32]bool");
  desk_close(&d);
}

/* --- Facts --------------------------------------------------------------- */

static void expect_facts(Desk *d, DType dtype, int n, const void *elements,
                         const char *text) {
  int64_t shape[1] = {n};
  Tensor *t = tensor_new(&d->heap, dtype, 1, shape);
  assert_non_null(t);
  if (n) memcpy(t->data, elements, (size_t)n * dtype_size(dtype));
  VEC_CLEAR(&d->out);
  tensor_print_facts(&d->out, t);
  assert_string_equal(strbuf_text(&d->out), text);
  tensor_drop(&d->heap, t);
}

/* A view's facts are those of all its elements, and are there at once however
 * often it repeats them. */
static void facts_of_views(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  Tensor *row = tensor_new(&d.heap, DT_FLOAT32, 2, (int64_t[]){1, 3});
  assert_non_null(row);
  memcpy(row->data, (float[]){4, NAN, 2}, 3 * sizeof(float));
  Tensor view = *row;
  view.shape[0] = 1000000000000;
  view.strides[0] = 0;
  tensor_print_facts(&d.out, &view);
  assert_string_equal(strbuf_text(&d.out),
                      "3000000000000 elements, 2 to 4, mean 3, "
                      "1000000000000 NaN");
  assert_int_equal(tensor_first_nan(&view), 1);
  view = (Tensor){.dtype = DT_FLOAT32,
                  .rank = 3,
                  .data = row->data,
                  .shape = {2, 1000000000000, 2},
                  .strides = {1, 0, 0}};
  assert_int_equal(tensor_first_nan(&view), 2000000000000);
  view.shape[1] = 0;
  assert_int_equal(tensor_first_nan(&view), -1);
  assert_int_equal(tensor_facts(&view).count, 0);
  tensor_drop(&d.heap, row);
  desk_close(&d);
}

static void facts(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  expect_facts(&d, DT_FLOAT32, 3, (float[]){1, -2, 2.5f},
               "3 elements, -2 to 2.5, mean 0.5");
  expect_facts(&d, DT_FLOAT64, 4, (double[]){NAN, 3, -INFINITY, 1},
               "4 elements, -inf to 3, mean 2, 1 NaN, 1 inf");
  expect_facts(&d, DT_FLOAT32, 4, (float[]){NAN, 3, -INFINITY, 1},
               "4 elements, -inf to 3, mean 2, 1 NaN, 1 inf");
  expect_facts(&d, DT_FLOAT32, 2, (float[]){INFINITY, INFINITY},
               "2 elements, inf to inf, 2 inf");
  expect_facts(&d, DT_FLOAT32, 1, (float[]){NAN}, "1 element, 1 NaN");
  expect_facts(&d, DT_INT64, 2, (int64_t[]){9007199254740993, 9007199254740992},
               "2 elements, 9007199254740992 to 9007199254740993, "
               "mean 9.0072e+15");
  expect_facts(&d, DT_UINT64, 2, (uint64_t[]){UINT64_MAX, UINT64_MAX - 1},
               "2 elements, 18446744073709551614 to 18446744073709551615, "
               "mean 1.84467e+19");
  expect_facts(&d, DT_UINT8, 2, (uint8_t[]){0, 255},
               "2 elements, 0 to 255, mean 127.5");
  expect_facts(&d, DT_BOOL, 3, (bool[]){true, false, true}, "2 True, 1 False");
  expect_facts(&d, DT_INT32, 0, NULL, "0 elements");
  desk_close(&d);
}

/* --- Dimensions ---------------------------------------------------------- */

typedef struct Names {
  Desk desk;
  NameTable table;
  DimTable *dims;
  Dim n, m;
} Names;

static const char keys[2];

static void names_open(Names *x) {
  desk_open(&x->desk);
  names_init(&x->table, &x->desk.mem);
  x->dims = dims_new(&x->desk.mem);
  x->n = dim_named(x->dims, name_of(&x->table, "n"), &keys[0]);
  x->m = dim_named(x->dims, name_of(&x->table, "m"), &keys[1]);
}

static void names_close(Names *x) {
  dims_free(x->dims);
  names_done(&x->table);
  desk_close(&x->desk);
}

static void check_dim(Names *x, Dim d, const char *text) {
  VEC_CLEAR(&x->desk.out);
  dim_print(x->dims, &x->desk.out, d);
  assert_string_equal(strbuf_text(&x->desk.out), text);
}

static void dim_forms(void **state) {
  (void)state;
  Names x;
  names_open(&x);
  DimTable *t = x.dims;
  Dim n = x.n, m = x.m;
  Dim sum = dim_add(t, n, m), difference = dim_sub(t, n, m);
  Dim squares = dim_sub(t, dim_mul(t, n, n), dim_mul(t, m, m));
  assert_true(dim_same(dim_mul(t, sum, difference), squares));
  assert_true(dim_same(dim_div_exact(t, squares, sum, NULL), difference));
  assert_true(dim_same(dim_div_exact(t, squares, difference, NULL), sum));
  assert_true(dim_is(dim_sub(t, sum, sum), 0));
  assert_true(dim_same(dim_add(t, difference, m), n));
  assert_true(dim_same(dim_div_exact(t, dim_mul(t, n, m), m, NULL), n));
  Dim form = dim_add(t, dim_mul(t, n, dim_of(4)), dim_of(8));
  check_dim(&x, form, "n * 4 + 8");
  check_dim(&x, dim_div_exact(t, form, dim_of(4), NULL), "n + 2");
  check_dim(&x, dim_div_exact(t, form, dim_of(3), NULL), "(n * 4 + 8) / 3");
  check_dim(&x, dim_div_exact(t, form, dim_of(0), NULL), "?");
  check_dim(&x, dim_div_exact(t, form, m, NULL), "(n * 4 + 8) / m");
  check_dim(&x, dim_div_floor(t, form, 2), "n * 2 + 4");
  check_dim(&x, dim_div_ceil(t, form, 8), "?");
  check_dim(&x, dim_sub(t, dim_of(4), n), "4 - n");
  check_dim(&x, dim_sub(t, dim_of(0), n), "0 - n");
  check_dim(&x, squares, "n * n - m * m");
  Dim product = dim_mul(t, m, dim_mul(t, dim_of(3), n));
  check_dim(&x, dim_sub(t, product, dim_of(1)), "n * m * 3 - 1");
  Dim shape[] = {dim_of(2), DIM_ANY, n, DIM_HOLE};
  VEC_CLEAR(&x.desk.out);
  dims_print(t, &x.desk.out, 4, shape);
  assert_string_equal(strbuf_text(&x.desk.out), "(2, ?, n, _)");
  names_close(&x);
}

static void dim_numbers(void **state) {
  (void)state;
  bool inexact = false, clash = false;
  assert_true(dim_is(dim_add(NULL, dim_of(2), dim_of(3)), 5) &&
              dim_is(dim_mul(NULL, dim_of(-4), dim_of(5)), -20));
  assert_true(dim_is(dim_div_exact(NULL, dim_of(12), dim_of(4), &inexact), 3) &&
              !inexact);
  assert_true(
      dim_same(dim_div_exact(NULL, dim_of(13), dim_of(4), &inexact), DIM_ANY) &&
      inexact);
  inexact = false;
  assert_true(
      dim_same(dim_div_exact(NULL, dim_of(13), dim_of(0), &inexact), DIM_ANY) &&
      inexact);
  assert_true(dim_same(dim_mul(NULL, dim_of(INT64_MAX), dim_of(2)), DIM_HUGE));
  assert_true(dim_same(dim_sub(NULL, dim_of(-2), dim_of(INT64_MAX)), DIM_HUGE));
  assert_true(dim_same(dim_add(NULL, DIM_HOLE, DIM_ANY), DIM_HOLE));
  assert_true(dim_same(dim_mul(NULL, dim_of(0), DIM_ANY), DIM_ANY));
  assert_true(dim_is(dim_div_floor(NULL, dim_of(-7), 2), -4));
  assert_true(dim_is(dim_div_ceil(NULL, dim_of(-7), 2), -3));
  assert_true(dim_is(dim_div_floor(NULL, dim_of(7), 2), 3) &&
              dim_is(dim_div_ceil(NULL, dim_of(7), 2), 4));
  assert_true(dim_is(
      dim_product(NULL, 3, (Dim[]){dim_of(2), dim_of(3), dim_of(4)}), 24));
  assert_true(dim_is(dim_product(NULL, 0, NULL), 1));
  assert_true(dim_is(dim_join(dim_of(3), dim_of(3), &clash), 3) && !clash);
  assert_true(dim_same(dim_join(dim_of(3), DIM_ANY, &clash), DIM_ANY) &&
              !clash);
  assert_true(dim_is(dim_join(DIM_HOLE, dim_of(3), &clash), 3) && !clash);
  dim_join(dim_of(3), dim_of(4), &clash);
  assert_true(clash);
  assert_int_equal(dim_equal(dim_of(3), dim_of(3)), YES);
  assert_int_equal(dim_equal(dim_of(3), dim_of(4)), NO);
  assert_int_equal(dim_equal(dim_of(3), DIM_ANY), MAYBE);
  assert_int_equal(dim_equal(DIM_ANY, DIM_ANY), MAYBE);
}

static void collect_name(void *data, const void *key, const Name *name) {
  (void)key;
  strbuf_add(data, name->text);
}

static void dim_substitution(void **state) {
  (void)state;
  Names x;
  names_open(&x);
  DimTable *t = x.dims;
  bool clash = false;
  Dim form = dim_add(t, dim_mul(t, x.n, dim_mul(t, x.n, x.m)), dim_of(1));
  const void *n_key[] = {&keys[0]}, *both[] = {&keys[0], &keys[1]};
  assert_true(dim_is(
      dim_substitute(t, form, 2, both, (Dim[]){dim_of(3), dim_of(5)}), 46));
  check_dim(&x, dim_substitute(t, form, 1, n_key, &x.m), "m * m * m + 1");
  Dim next = dim_add(t, x.n, dim_of(1));
  check_dim(&x, dim_substitute(t, form, 1, n_key, &next),
            "n * n * m + n * m * 2 + m + 1");
  check_dim(&x, dim_substitute(t, form, 1, n_key, (Dim[]){DIM_ANY}), "?");
  assert_int_equal(dim_equal(x.n, x.n), YES);
  assert_int_equal(dim_equal(x.n, x.m), MAYBE);
  assert_true(dim_same(dim_join(x.n, dim_of(3), &clash), DIM_ANY) && !clash);
  VEC_CLEAR(&x.desk.out);
  dim_names(t, form, collect_name, &x.desk.out);
  assert_string_equal(strbuf_text(&x.desk.out), "nm");
  names_close(&x);
}

/* A long division with a remainder gives a quotient, a name of its own. */
static void dim_quotients(void **state) {
  (void)state;
  Names x;
  names_open(&x);
  DimTable *t = x.dims;
  const void *n_key[] = {&keys[0]};
  Dim half = dim_div_exact(t, x.n, dim_of(2), NULL);
  check_dim(&x, half, "n / 2");
  assert_true(dim_same(dim_div_exact(t, x.n, dim_of(2), NULL), half));
  assert_true(dim_same(dim_mul(t, half, dim_of(2)), x.n));
  assert_true(dim_same(dim_add(t, half, half), x.n));
  check_dim(&x, dim_add(t, dim_mul(t, half, dim_of(3)), dim_of(1)),
            "(n / 2) * 3 + 1");
  check_dim(&x, dim_mul(t, dim_mul(t, half, x.m), dim_of(6)), "n * m * 3");
  Dim next = dim_div_exact(t, dim_add(t, x.n, dim_of(1)),
                           dim_mul(t, x.m, dim_of(3)), NULL);
  check_dim(&x, next, "(n + 1) / (m * 3)");
  check_dim(&x, dim_div_exact(t, half, dim_of(2), NULL), "n / 2 / 2");
  assert_true(
      dim_is(dim_substitute(t, half, 1, n_key, (Dim[]){dim_of(10)}), 5));
  assert_true(
      dim_same(dim_substitute(t, half, 1, n_key, (Dim[]){dim_of(7)}), DIM_ANY));
  assert_true(dim_same(dim_substitute(t, half, 1, n_key, &x.m),
                       dim_div_exact(t, x.m, dim_of(2), NULL)));
  assert_true(dim_same(dim_div_exact(t, x.n, dim_of(0), NULL), DIM_ANY));
  check_dim(&x, dim_div_floor(t, x.n, 2), "?");
  VEC_CLEAR(&x.desk.out);
  dim_names(t, dim_add(t, next, half), collect_name, &x.desk.out);
  assert_string_equal(strbuf_text(&x.desk.out), "nm");
  Dim deep = x.n;
  for (int i = 0; i < 100; i++) deep = dim_div_exact(t, deep, x.m, NULL);
  check_dim(&x, deep, "?");
  names_close(&x);
}

/* A form that exceeds the bounds, or overflows, is unknown. */
static void dim_bounds(void **state) {
  (void)state;
  Names x;
  names_open(&x);
  DimTable *t = x.dims;
  Dim big = dim_mul(t, x.n, dim_of(INT64_MAX)), power = x.n, sum = dim_of(0);
  check_dim(&x, dim_add(t, big, x.n), "?");
  check_dim(&x, dim_mul(t, big, dim_of(2)), "?");
  for (int i = 0; i < 10; i++) power = dim_mul(t, power, power);
  check_dim(&x, power, "?");
  for (int i = 0; i < 100; i++) {
    char text[16];
    sprintf(text, "x%d", i);
    const Name *name = name_of(&x.table, text);
    sum = dim_add(t, sum, dim_named(t, name, name));
  }
  check_dim(&x, sum, "?");
  names_close(&x);
}

/* --- When memory runs out ------------------------------------------------ */

static void use_tensors(Mem *m) {
  Heap heap;
  StrBuf out;
  heap_init(&heap, m);
  strbuf_init(&out, m);
  int64_t shape[] = {3, 40};
  Tensor *t = tensor_zeros(&heap, DT_FLOAT32, 2, shape);
  Tensor *row = t ? tensor_view(&heap, t, 1, shape + 1, NULL, 40) : NULL;
  Tensor *copy = row ? tensor_copy(&heap, row) : NULL;
  if (copy) tensor_print_block(&out, copy, 80, 0, 0);
  if (t) tensor_print_json(&out, t, NULL);
  if (copy) tensor_drop(&heap, copy);
  if (row) tensor_drop(&heap, row);
  if (t) tensor_drop(&heap, t);
  strbuf_done(&out);
  heap_done(&heap);
}

static void use_dims(Mem *m) {
  NameTable names;
  names_init(&names, m);
  DimTable *t = dims_new(m);
  if (t) {
    Dim n = dim_named(t, name_of(&names, "n"), &names), sum = n;
    for (int i = 0; i < 100; i++)
      sum = dim_add(t, dim_mul(t, sum, dim_of(1)), n);
  }
  dims_free(t);
  names_done(&names);
}

static void survives_every_failing_allocation(void **state) {
  (void)state;
  unit_walk_failures(use_tensors);
  unit_walk_failures(use_dims);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dtype_names),
      cmocka_unit_test(rows_are_complete),
      cmocka_unit_test(coded_floats_round_to_nearest_even),
      cmocka_unit_test(coded_floats_survive_widening),
      cmocka_unit_test(conversions),
      cmocka_unit_test(integers_round_once),
      cmocka_unit_test(counting_elements),
      cmocka_unit_test(contiguity),
      cmocka_unit_test(copying_views),
      cmocka_unit_test(copying_transpositions),
      cmocka_unit_test(copying_repeats),
      cmocka_unit_test(comparing),
      cmocka_unit_test(freed_buffers_are_reused),
      cmocka_unit_test(spare_buffers_yield_to_the_limit),
      cmocka_unit_test(borrowed_memory_is_released_once),
      cmocka_unit_test(known_floats),
      cmocka_unit_test(all_halves_print_shortest),
      cmocka_unit_test(random_floats_print_shortest),
      cmocka_unit_test(floats_ignore_the_locale),
      cmocka_unit_test(literals),
      cmocka_unit_test(blocks),
      cmocka_unit_test(blocks_stay_small),
      cmocka_unit_test(json),
      cmocka_unit_test(facts),
      cmocka_unit_test(facts_of_views),
      cmocka_unit_test(dim_forms),
      cmocka_unit_test(dim_numbers),
      cmocka_unit_test(dim_substitution),
      cmocka_unit_test(dim_quotients),
      cmocka_unit_test(dim_bounds),
      cmocka_unit_test(survives_every_failing_allocation),
  };
  return RUN_TESTS(tests);
}
