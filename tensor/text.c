/* Tensors as text: shortest floats, literals, fitted blocks, JSON.
 *
 * A float prints as the shortest decimal that reads back to the same bits.  The
 * search prints with more and more digits and reads each attempt back: the C
 * library rounds correctly in both directions, so there are no tables of powers
 * to maintain, as Grisu or Ryu have; printing is not where programs spend their
 * time.  snprintf and strtod are used in ways that do not depend on the
 * locale's decimal point.
 *
 * A block shows a tensor as nested brackets, fitted to a width:
 *
 *   [[1.0, 2.0, ..., 9.0],
 *    [1.5, 2.5, ..., 9.5]]
 *
 * First it is decided how many items of each axis are shown, then how wide a
 * cell is, from the elements that are shown, and then how many cells fit.  So
 * the cost depends on what is shown, not on the size of the tensor. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/tensor.h"

/* --- Shortest decimals --------------------------------------------------- */

/* d.ddd * 10^exponent; `digits` holds the significant digits. */
typedef struct Decimal {
  char digits[20];
  int len, exponent;
} Decimal;

/* Facts of a float dtype for the search of the shortest decimal.  A decimal of
 * up to `sure` digits survives the round trip through the dtype (C's FLT_DIG),
 * so trailing zeros reveal a shorter one; below `least_normal` there are fewer
 * bits, and that does not hold. */
typedef struct FloatForm {
  int sure;
  double least_normal;
} FloatForm;

/* sure = floor(fraction bits * log10(2)): float32 6, float64 15, float16 3,
 * bfloat16 2.  The least normal is 2^(2 - 2^(exponent bits - 1)), as in IEEE
 * 754: 2^-126 for float32. */
static FloatForm float_form(DType dtype) {
  const DTypeInfo *info = &dtype_info[dtype];
  int sure = info->fraction_bits * 30103 / 100000; /* log10(2) */
  return (FloatForm){
      .sure = sure > 0 ? sure : 1,
      .least_normal = ldexp(1, 2 - (1 << (info->exponent_bits - 1)))};
}

/* The decimal of `len` digits nearest to v > 0. */
static Decimal nearest_decimal(double v, int len) {
  char text[48];
  snprintf(text, sizeof text, "%.*e", len - 1, v);
  Decimal d = {0};
  const char *p = text;
  for (; *p != 'e'; p++)
    if (*p >= '0' && *p <= '9') d.digits[d.len++] = *p;
  d.exponent = atoi(p + 1);
  return d;
}

/* The next larger decimal with as many digits: 1.99 becomes 2.00, 9.99 becomes
 * 1.00 with the next exponent. */
static Decimal next_decimal(Decimal d) {
  int i = d.len - 1;
  for (; i >= 0 && d.digits[i] == '9'; i--) d.digits[i] = '0';
  if (i >= 0) {
    d.digits[i]++;
  } else {
    d.digits[0] = '1';
    d.exponent++;
  }
  return d;
}

/* Does the decimal, read in this dtype, give v?  It is written without a point,
 * so the locale does not matter. */
static bool reads_back(const Decimal *d, DType dtype, double v) {
  char text[48];
  snprintf(text, sizeof text, "%se%d", d->digits, d->exponent - (d->len - 1));
  if (dtype == DT_FLOAT32) return strtof(text, NULL) == v; /* rounds once */
  Value bits = bits_from_f64(dtype, strtod(text, NULL));
  return bits_to_f64(dtype, bits) == v;
}

/* The shortest decimal that reads back to v > 0; of several, the nearest.  17
 * digits suffice for float64, fewer for the others, so the loop always ends
 * with an answer.  Decimals above v are tried as well: at a power of two the
 * floats above lie wider apart than those below, so the decimal above v may
 * read back when the nearest, below v, does not. */
static Decimal shortest_decimal(DType dtype, double v) {
  FloatForm form = float_form(dtype);
  Decimal d;
  for (int len = v < form.least_normal ? 1 : form.sure; len <= 17; len++) {
    d = nearest_decimal(v, len);
    if (reads_back(&d, dtype, v)) break;
    Decimal above = next_decimal(d);
    if (!reads_back(&above, dtype, v)) continue;
    d = above;
    break;
  }
  while (d.len > 1 && d.digits[d.len - 1] == '0') d.len--;
  return d;
}

/* --- Scalars ------------------------------------------------------------- */

/* Positional for exponents from -4 to 15, otherwise scientific. */
static void print_decimal(StrBuf *out, const Decimal *d, bool point) {
  int whole = d->exponent + 1; /* digits before the point */
  if (whole < -3 || whole > 16) {
    strbuf_add_char(out, d->digits[0]);
    if (d->len > 1) strbuf_add_char(out, '.');
    strbuf_add_len(out, d->digits + 1, (size_t)d->len - 1);
    strbuf_addf(out, "e%+03d", d->exponent);
  } else if (whole <= 0) {
    strbuf_add(out, "0.");
    strbuf_add_repeat(out, '0', (size_t)-whole);
    strbuf_add_len(out, d->digits, (size_t)d->len);
  } else if (whole < d->len) {
    strbuf_add_len(out, d->digits, (size_t)whole);
    strbuf_add_char(out, '.');
    strbuf_add_len(out, d->digits + whole, (size_t)(d->len - whole));
  } else {
    strbuf_add_len(out, d->digits, (size_t)d->len);
    strbuf_add_repeat(out, '0', (size_t)(whole - d->len));
    if (point) strbuf_add(out, ".0");
  }
}

/* The decimal that is shown of v > 0: the shortest that reads back or, where
 * that has more than `digits`, the nearest of so many; 0: no bound. */
static Decimal shown_decimal(DType dtype, double v, int digits) {
  Decimal d = shortest_decimal(dtype, v);
  if (digits && d.len > digits) d = nearest_decimal(v, digits);
  while (d.len > 1 && d.digits[d.len - 1] == '0') d.len--;
  return d;
}

static void float_print_rounded(StrBuf *out, DType dtype, Value bits,
                                bool point, int digits) {
  double v = bits_to_f64(dtype, bits);
  if (isnan(v)) {
    strbuf_add(out, "nan");
    return;
  }
  if (signbit(v)) strbuf_add_char(out, '-');
  if (isinf(v)) {
    strbuf_add(out, "inf");
  } else if (v == 0) {
    strbuf_add(out, point || signbit(v) ? "0.0" : "0");
  } else {
    Decimal d = shown_decimal(dtype, fabs(v), digits);
    print_decimal(out, &d, point);
  }
}

void float_print(StrBuf *out, DType dtype, Value bits, bool point) {
  float_print_rounded(out, dtype, bits, point, 0);
}

static void int_print(StrBuf *out, DType dtype, Value bits) {
  if (dtype == DT_UINT64)
    strbuf_addf(out, "%llu", (unsigned long long)bits.u64);
  else strbuf_addf(out, "%lld", (long long)bits_to_i64(dtype, bits));
}

/* Prints an element as blocks show it. */
static void scalar_print(StrBuf *out, DType dtype, Value bits, int digits) {
  if (dtype == DT_BOOL) strbuf_add(out, bits.u8 ? "True" : "False");
  else if (dtype_is_float(dtype))
    float_print_rounded(out, dtype, bits, true, digits);
  else int_print(out, dtype, bits);
}

void scalar_print_rounded(StrBuf *out, DType dtype, Value bits, int digits) {
  if (dtype_is_float(dtype))
    float_print_rounded(out, dtype, bits, false, digits);
  else scalar_print(out, dtype, bits, 0);
  if (dtype == DT_FLOAT32) strbuf_add(out, "f");
  else if (dtype != DT_INT32) strbuf_add(out, dtype_info[dtype].suffix);
}

void scalar_print_literal(StrBuf *out, DType dtype, Value bits) {
  scalar_print_rounded(out, dtype, bits, 0);
}

/* --- Types --------------------------------------------------------------- */

static void shape_print_inner(StrBuf *out, int rank, const int64_t *shape) {
  for (int i = 0; i < rank; i++)
    strbuf_addf(out, "%s%lld", i ? ", " : "", (long long)shape[i]);
}

void shape_print(StrBuf *out, int rank, const int64_t *shape) {
  strbuf_add_char(out, '(');
  shape_print_inner(out, rank, shape);
  strbuf_add_char(out, ')');
}

void tensor_print_type(StrBuf *out, const Tensor *t) {
  if (t->rank == 0) {
    strbuf_add(out, dtype_name(t->dtype));
    return;
  }
  strbuf_add(out, "Tensor[");
  shape_print(out, t->rank, t->shape);
  strbuf_addf(out, ", %s]", dtype_name(t->dtype));
}

/* --- Blocks ------------------------------------------------------------------
 * The innermost axis is a row.  A vector's row is wrapped; rows of matrices
 * are elided to fit the width.  Elided axes show their first and last items. */

enum {
  VECTOR_MOST = 100, /* a longer vector is elided ... */
  VECTOR_SHOWN = 20, /* ... to this many elements */
  AXIS_MOST = 16,    /* a longer outer axis is elided to this many items, */
  ROWS_MOST = 32,    /* or to fewer, so that not many more rows are shown */
};

/* What is shown of a tensor, and how.  The steps below fill it in order. */
typedef struct Block {
  StrBuf *out;
  const Tensor *tensor;
  int64_t shown[RANK_MAX]; /* items shown of each axis */
  int width, indent;
  int digits; /* of a float, at most; 0: no bound */
  int cell;   /* columns of an element; 0 for unaligned */
  bool flat;  /* all on one line */
} Block;

static int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }

/* The index of the k-th item shown on an axis; `*elided`: "..." precedes it.
 * With 5 of 100 shown: 0, 1, 2, then "...", 98, 99. */
static int64_t shown_index(const Block *b, int axis, int64_t k, bool *elided) {
  int64_t n = b->tensor->shape[axis], shown = b->shown[axis];
  int64_t first = (shown + 1) / 2;
  *elided = shown < n && k == first;
  return k < first ? k : n - (shown - k);
}

static char *item_address(const Block *b, int axis, char *data, int64_t i) {
  const Tensor *t = b->tensor;
  return data + i * t->strides[axis] * (int64_t)dtype_size(t->dtype);
}

/* Takes fewer and fewer items of each outer axis until few enough rows are
 * left.  All outer axes shrink together, so that a tensor of many axes is not
 * shown as a single slice. */
static void choose_outer_axes(Block *b) {
  const Tensor *t = b->tensor;
  int64_t most = AXIS_MOST + 2, rows;
  do {
    most -= 2;
    rows = 1;
    for (int i = 0; i < t->rank - 1; i++)
      rows *= b->shown[i] = min_i64(t->shape[i], most);
  } while (rows > ROWS_MOST && most > 2);
}

/* The widest of the shown elements below an axis, as printed.  Recurses once
 * for each axis. */
static int widest(const Block *b, int axis, char *data, StrBuf *scratch) {
  const Tensor *t = b->tensor;
  int width = 0;
  if (axis == t->rank) {
    VEC_CLEAR(scratch);
    scalar_print(scratch, t->dtype, bits_load(t->dtype, data), b->digits);
    return (int)scratch->len;
  }
  for (int64_t k = 0; k < b->shown[axis]; k++) {
    bool elided;
    int64_t i = shown_index(b, axis, k, &elided);
    int w = widest(b, axis + 1, item_address(b, axis, data, i), scratch);
    if (w > width) width = w;
  }
  return width;
}

static int widest_cell(const Block *b) {
  StrBuf scratch;
  strbuf_init(&scratch, b->out->mem);
  int width = widest(b, 0, b->tensor->data, &scratch);
  strbuf_done(&scratch);
  return width;
}

/* How many elements of that width, separated by ", ", fit beside the
 * brackets. */
static int64_t cells_that_fit(const Block *b, int cell) {
  int room = b->width - b->indent - 2 * b->tensor->rank;
  return (room + 2) / (cell + 2);
}

/* Chooses how much of the innermost axis is shown, and the width of its cells.
 * A vector on one line needs no alignment, so its cells stay as wide as their
 * elements; a vector on several lines and the rows of a matrix are aligned in
 * columns. */
static void choose_rows(Block *b) {
  int last = b->tensor->rank - 1;
  int64_t n = b->tensor->shape[last];
  bool vector = last == 0;
  b->shown[last] = min_i64(n, VECTOR_MOST);
  if (vector && n > VECTOR_MOST) b->shown[last] = VECTOR_SHOWN;
  int cell = widest_cell(b);
  int64_t fit = cells_that_fit(b, cell);
  if (!vector || n > fit) b->cell = cell;
  if (vector || n <= fit) return;
  fit = fit > 3 ? fit - 1 : 2; /* one cell is for the dots */
  b->shown[last] = min_i64(n, fit);
}

static void new_line(const Block *b, int depth) {
  if (b->flat) {
    strbuf_add_char(b->out, ' ');
    return;
  }
  strbuf_add_char(b->out, '\n');
  strbuf_add_repeat(b->out, ' ', (size_t)(b->indent + depth));
}

/* Prints an element at the end of the text and then moves it right, by as many
 * columns as it lacks: its width is known only once it is printed. */
static void print_cell(const Block *b, const char *data) {
  StrBuf *out = b->out;
  DType dtype = b->tensor->dtype;
  size_t start = out->len;
  scalar_print(out, dtype, bits_load(dtype, data), b->digits);
  size_t len = out->len - start, pad = 0;
  if ((size_t)b->cell > len) pad = (size_t)b->cell - len;
  strbuf_add_repeat(out, ' ', pad);
  if (out->len != start + len + pad) return; /* the buffer ran out of memory */
  memmove(out->data + start + pad, out->data + start, len);
  memset(out->data + start, ' ', pad);
}

/* `dots` counts down, so that an elided item first prints "..." and then
 * itself, and both take part in wrapping. */
static void print_row(const Block *b, char *data) {
  int axis = b->tensor->rank - 1;
  int64_t per_line = axis == 0 ? cells_that_fit(b, b->cell) : INT64_MAX;
  if (per_line < 1) per_line = 1;
  int64_t printed = 0;
  for (int64_t k = 0; k < b->shown[axis]; k++) {
    bool elided;
    int64_t i = shown_index(b, axis, k, &elided);
    for (int dots = elided; dots >= 0; dots--, printed++) {
      bool wrap = b->cell && printed && printed % per_line == 0;
      if (printed) strbuf_add(b->out, wrap ? "," : ", ");
      if (wrap) new_line(b, axis + 1);
      if (dots) strbuf_add(b->out, "...");
      else print_cell(b, item_address(b, axis, data, i));
    }
  }
}

/* Of one item alone no last one is shown for the dots to stand before. */
static void print_rest(const Block *b, int axis) {
  if (b->shown[axis] == 1 && b->tensor->shape[axis] > 1)
    strbuf_add(b->out, ", ...");
}

/* Recurses once for each axis, so at most RANK_MAX deep. */
static void print_axis(const Block *b, int axis, char *data) {
  strbuf_add_char(b->out, '[');
  if (axis == b->tensor->rank - 1) {
    print_row(b, data);
    print_rest(b, axis);
    strbuf_add_char(b->out, ']');
    return;
  }
  for (int64_t k = 0; k < b->shown[axis]; k++) {
    bool elided;
    int64_t i = shown_index(b, axis, k, &elided);
    for (int dots = elided; dots >= 0; dots--) {
      if (k) strbuf_add_char(b->out, ',');
      if (k) new_line(b, axis + 1);
      if (dots) strbuf_add(b->out, "...");
      else print_axis(b, axis + 1, item_address(b, axis, data, i));
    }
  }
  print_rest(b, axis);
  strbuf_add_char(b->out, ']');
}

void tensor_print_block(StrBuf *out, const Tensor *t, int width, int indent,
                        int digits) {
  Block b = {.out = out,
             .tensor = t,
             .width = width,
             .indent = indent,
             .digits = digits};
  if (t->rank == 0) {
    print_cell(&b, t->data);
    return;
  }
  choose_outer_axes(&b);
  choose_rows(&b);
  print_axis(&b, 0, t->data);
}

/* Prints so many items of each axis; false, and prints nothing, when that takes
 * more columns than `width`.  An element takes a column at least, so corners of
 * more elements than that, eight items along eight axes, are not tried. */
static bool print_corner(StrBuf *out, const Tensor *t, int64_t items,
                         size_t width) {
  Block b = {.out = out, .tensor = t, .flat = true};
  size_t start = out->len;
  size_t elements = 1;
  for (int i = 0; i < t->rank; i++) {
    b.shown[i] = min_i64(t->shape[i], items);
    elements *= (size_t)b.shown[i];
    if (elements > width) return false;
  }
  print_axis(&b, 0, t->data);
  if (out->len - start <= width) return true;
  out->data[out->len = start] = '\0';
  return false;
}

/* Tries the whole tensor, then smaller and smaller corners, each printed and
 * taken back when it is too wide. */
bool tensor_print_line(StrBuf *out, const Tensor *t, int width) {
  enum { ELEMENTS = 64, ITEMS = 8 };
  assert(t->rank > 0);
  size_t room = width > 0 ? (size_t)width : 0;
  if (tensor_count(t) <= ELEMENTS && print_corner(out, t, ELEMENTS, room))
    return true;
  for (int64_t items = ITEMS; items > 0; items--)
    if (print_corner(out, t, items, room)) return true;
  return false;
}

/* --- JSON ---------------------------------------------------------------- */

/* JSON has no infinities and no NaN: they are strings, "inf", "-inf", "nan". */
static void json_scalar(StrBuf *out, DType dtype, Value bits) {
  if (dtype == DT_BOOL) {
    strbuf_add(out, bits.u8 ? "true" : "false");
  } else if (!dtype_is_float(dtype)) {
    int_print(out, dtype, bits);
  } else {
    const char *quote = isfinite(bits_to_f64(dtype, bits)) ? "" : "\"";
    strbuf_add(out, quote);
    float_print(out, dtype, bits, false);
    strbuf_add(out, quote);
  }
}

enum { LOOK_EVERY = 4096 }; /* elements between two questions */

static bool is_given_up(const GiveUp *up, int64_t done) {
  return up && done % LOOK_EVERY == 0 && up->asked(up->data);
}

static void json_data(StrBuf *out, const Tensor *t, const GiveUp *up) {
  int64_t done = 0;
  for (Runs r = runs_over(t); runs_next(&r);)
    for (int64_t i = 0; i < r.count; i++, done++) {
      int64_t offset = i * r.stride * (int64_t)dtype_size(t->dtype);
      if (is_given_up(up, done)) return;
      if (done > 0) strbuf_add(out, ", ");
      json_scalar(out, t->dtype, bits_load(t->dtype, r.data + offset));
    }
}

void tensor_print_json(StrBuf *out, const Tensor *t, const GiveUp *up) {
  strbuf_addf(out, "{\"dtype\": \"%s\", \"shape\": [", dtype_name(t->dtype));
  shape_print_inner(out, t->rank, t->shape);
  strbuf_add(out, "], \"data\": [");
  json_data(out, t, up);
  strbuf_add(out, "]}");
}
