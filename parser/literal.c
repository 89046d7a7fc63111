/* Numbers and strings, from their text to their values.  scan.re finds where a
 * number ends; this file decides what it means.
 *
 *   --12.5e3f64      start 2, whole 4, suffix 8
 *     | |   |
 *     | |   suffix  f64: the dtype
 *     | whole       .5e3: fraction and exponent
 *     start         12: digits
 *
 * Integers are read by hand, as a magnitude of 64 bits and a sign, since no
 * function of C reads both -2^63 and 2^64 - 1.  Floats of many digits are read
 * by strtof and strtod, in the locale "C" whatever the host has set: both round
 * correctly, so the value is the dtype's nearest to the text. */
#define _GNU_SOURCE /* strtod_l */
#include "parser/literal.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "parser/scan.h"

/* --- Numbers ------------------------------------------------------------ */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static uint32_t skip_digits(const char *text, uint32_t i, uint32_t len) {
  while (i < len && is_digit(text[i])) i++;
  return i;
}

/* The end of an exponent such as `e+5` that begins at i; i where there is
 * none. */
static uint32_t skip_exponent(const char *text, uint32_t i, uint32_t len) {
  if (i == len || (text[i] != 'e' && text[i] != 'E')) return i;
  uint32_t digits = i + 1;
  if (digits < len && (text[digits] == '+' || text[digits] == '-')) digits++;
  uint32_t end = skip_digits(text, digits, len);
  return end > digits ? end : i;
}

/* A number in its parts: [start, whole) digits, [whole, suffix) fraction and
 * exponent.  An odd number of minus signs negates: `--1` is 1. */
typedef struct Parts {
  bool negative;
  uint32_t start, whole, suffix;
} Parts;

static Parts parts_of(const char *text, uint32_t len) {
  Parts p = {0};
  while (p.start < len && text[p.start] == '-') p.start++;
  p.negative = p.start & 1;
  p.whole = skip_digits(text, p.start, len);
  uint32_t i = p.whole;
  if (i < len && text[i] == '.') i = skip_digits(text, i + 1, len);
  p.suffix = skip_exponent(text, i, len);
  return p;
}

uint32_t literal_suffix(const char *text, uint32_t len) {
  return parts_of(text, len).suffix;
}

/* The dtype of a suffix; the bare `f` and `i` are of 32 bits. */
static DType suffix_dtype(const char *suffix, size_t len) {
  if (len == 1 && *suffix == 'f') return DT_FLOAT32;
  if (len == 1 && *suffix == 'i') return DT_INT32;
  for (int t = 0; t < DTYPE_COUNT; t++) {
    const char *name = dtype_info[t].suffix;
    if (strlen(name) == len && !memcmp(name, suffix, len)) return (DType)t;
  }
  return DTYPE_NONE;
}

/* Zero is negated, too: -0.0 is a value of its own. */
static double flip_if(bool negative, double v) { return negative ? -v : v; }

double literal_f64(const char *text, char **end) {
  locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  double v = strtod_l(text, end, c);
  freelocale(c);
  return v;
}

/* Converted straight from the text, so that the value is rounded once.  Through
 * a double the last bit could be wrong: a text just above the middle between
 * two floats may round to the middle first, and then to the even one. */
static float literal_f32(const char *text) {
  locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  float v = strtof_l(text, NULL, c);
  freelocale(c);
  return v;
}

/* A number of few digits and without an exponent is digits / 10^places, both of
 * which are exact in the float, so the division rounds once (Clinger, 1990).
 * Most numbers that people write are such, and strtod takes ten times as long.
 */
enum { F32_EXACT = 1 << 24, F32_PLACES = 10, F64_LENGTH = 15 };
typedef struct Decimal {
  bool fits; /* F64_LENGTH characters at most: the digits are below 2^53 */
  uint64_t digits;
  int places;
} Decimal;

static Decimal decimal_of(const char *text, const Parts *p) {
  Decimal d = {0};
  uint32_t i = p->start;
  for (; i < p->suffix && i - p->start < F64_LENGTH; i++) {
    if (is_digit(text[i])) d.digits = 10 * d.digits + (uint64_t)(text[i] - '0');
    else if (text[i] != '.') return d;
    d.places += i > p->whole;
  }
  d.fits = i == p->suffix;
  return d;
}

static const double power_of_ten[F64_LENGTH] = {1,    1e1,  1e2,  1e3,  1e4,
                                                1e5,  1e6,  1e7,  1e8,  1e9,
                                                1e10, 1e11, 1e12, 1e13, 1e14};

static double read_f64(const char *text, const Parts *p) {
  Decimal d = decimal_of(text, p);
  if (!d.fits) return literal_f64(text + p->start, NULL);
  return (double)d.digits / power_of_ten[d.places];
}

static float read_f32(const char *text, const Parts *p) {
  Decimal d = decimal_of(text, p);
  bool exact = d.fits && d.digits <= F32_EXACT && d.places <= F32_PLACES;
  if (!exact) return literal_f32(text + p->start);
  return (float)d.digits / (float)power_of_ten[d.places];
}

/* Infinity minus infinity is NaN, so `stored - stored == 0` holds for finite
 * values only: an overflow is refused, an underflow to zero is not.  Some
 * dtypes refuse more, by the text's own value (literal_most, dtype.h). */
static LiteralStatus read_float(const char *text, const Parts *p,
                                Literal *out) {
  double v =
      out->dtype == DT_FLOAT32 ? (double)read_f32(text, p) : read_f64(text, p);
  out->bits = bits_from_f64(out->dtype, flip_if(p->negative, v));
  double stored = bits_to_f64(out->dtype, out->bits);
  double most = dtype_info[out->dtype].literal_most;
  bool fits = stored - stored == 0 && !(most && v > most);
  return fits ? LITERAL_OK : LITERAL_OUT_OF_RANGE;
}

/* inff32 and nanf64: three letters, then the suffix, which the scanner demands.
 * A dtype without infinities stores NaN for them. */
static LiteralStatus read_special(const char *text, uint32_t len, bool negative,
                                  Literal *out) {
  double v = text[0] == 'i' ? (double)__builtin_inff() : __builtin_nan("");
  out->dtype = suffix_dtype(text + 3, len - 3);
  out->bits = bits_from_f64(out->dtype, flip_if(negative, v));
  bool lost = v == v && isnan(bits_to_f64(out->dtype, out->bits));
  return lost ? LITERAL_OUT_OF_RANGE : LITERAL_OK;
}

/* The digits' value, or false when it exceeds 64 bits. */
static bool read_magnitude(const char *text, uint32_t from, uint32_t to,
                           uint64_t *out) {
  for (*out = 0; from < to; from++) {
    if (__builtin_mul_overflow(*out, 10u, out)) return false;
    if (__builtin_add_overflow(*out, (uint64_t)(text[from] - '0'), out))
      return false;
  }
  return true;
}

/* The magnitude of the least integer is one more than that of the largest. */
static bool int_fits(DType t, bool negative, uint64_t magnitude) {
  uint64_t most = negative ? -(uint64_t)dtype_min_int(t) : dtype_max_int(t);
  return magnitude <= most;
}

/* Bits above the dtype's width are cleared, as a Value of a narrow dtype has
 * none. */
static LiteralStatus read_int(const char *text, const Parts *p, Literal *out) {
  uint64_t magnitude;
  bool fits = read_magnitude(text, p->start, p->whole, &magnitude);
  if (out->dtype == DTYPE_NONE) {
    bool narrow = fits && int_fits(DT_INT32, p->negative, magnitude);
    out->dtype = narrow ? DT_INT32 : DT_INT64;
  }
  if (!fits || !int_fits(out->dtype, p->negative, magnitude))
    return LITERAL_OUT_OF_RANGE;
  uint64_t bits = p->negative ? -magnitude : magnitude;
  size_t unused = 64 - 8 * dtype_size(out->dtype);
  out->bits = (Value){.bits = bits << unused >> unused};
  return LITERAL_OK;
}

/* Without a suffix a fraction makes a float32, and an integer the narrower of
 * int32 and int64 that holds it. */
LiteralStatus literal_number(const char *text, uint32_t len, Literal *out) {
  Parts p = parts_of(text, len);
  if (p.whole == p.start)
    return read_special(text + p.start, len - p.start, p.negative, out);
  bool has_suffix = p.suffix<len, fraction = p.suffix> p.whole;
  out->bits = (Value){0};
  out->dtype = has_suffix ? suffix_dtype(text + p.suffix, len - p.suffix)
               : fraction ? DT_FLOAT32
                          : DTYPE_NONE;
  if (has_suffix && out->dtype == DTYPE_NONE) return LITERAL_NO_SUCH_SUFFIX;
  if (out->dtype != DTYPE_NONE && dtype_is_float(out->dtype))
    return read_float(text, &p, out);
  return fraction ? LITERAL_NOT_AN_INTEGER : read_int(text, &p, out);
}

/* --- Strings ------------------------------------------------------------ */

static int digit_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 16;
}

/* Up to `most` digits of a base at *i; how many there were. */
static int read_digits(const char *text, uint32_t len, uint32_t *i, int base,
                       int most, uint32_t *value) {
  int n = 0;
  for (*value = 0; n < most && *i < len; n++, ++*i) {
    int digit = digit_value(text[*i]);
    if (digit >= base) break;
    *value = *value * (uint32_t)base + (uint32_t)digit;
  }
  return n;
}

/* Writes a code point in UTF-8 and returns its length; 0: there is none.
 * Surrogates are no code points of their own.  The first byte has as many
 * leading ones as there are bytes: 0xF0 << (4 - n), cut to eight bits, is 0xC0,
 * 0xE0 and 0xF0. */
static uint32_t put_utf8(char *out, uint32_t c) {
  if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return 0;
  if (c < 0x80) {
    out[0] = (char)c;
    return 1;
  }
  uint32_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (uint32_t i = n - 1; i > 0; i--, c >>= 6)
    out[i] = (char)(0x80 | (c & 0x3F));
  out[0] = (char)(0xF0 << (4 - n) | c);
  return n;
}

/* \x41 and \101 are bytes, \u00e9 and \U0001f600 code points.  `i` is left
 * after the last digit; 0 says that digits are missing or too many bits are
 * asked for. */
static uint32_t numeric_escape(const char *text, uint32_t len, uint32_t *i,
                               char *out) {
  uint32_t value;
  char form = text[*i];
  if (is_digit(form)) {
    if (!read_digits(text, len, i, 8, 3, &value) || value > 0xFF) return 0;
    *out = (char)value;
    return 1;
  }
  int width = form == 'x' ? 2 : form == 'u' ? 4 : 8;
  ++*i;
  int digits = read_digits(text, len, i, 16, width, &value);
  if (form != 'x') return digits == width ? put_utf8(out, value) : 0;
  *out = (char)value;
  return digits > 0;
}

/* The escape whose letter stands at *i; 0: there is no such escape.  None
 * writes more than it reads. */
static uint32_t read_escape(const char *text, uint32_t len, uint32_t *i,
                            char *out) {
  static const char letters[] = "abfnrtv\"\\'?/e",
                    values[] = "\a\b\f\n\r\t\v\"\\'?/\033";
  char c = text[*i];
  if (is_digit(c) || c == 'x' || c == 'u' || c == 'U')
    return numeric_escape(text, len, i, out);
  const char *at = c ? strchr(letters, c) : NULL;
  if (!at) return 0;
  *out = values[at - letters];
  ++*i;
  return 1;
}

/* Goes on after a bad escape, so that `out` is defined; only the first one is
 * reported. */
uint32_t literal_string(const char *text, uint32_t len, char *out,
                        uint32_t *bad) {
  uint32_t n = 0;
  *bad = len;
  for (uint32_t i = 0; i < len;) {
    if (text[i] != '\\') {
      out[n++] = text[i++];
      continue;
    }
    uint32_t at = i++;
    uint32_t written = i < len ? read_escape(text, len, &i, out + n) : 0;
    n += written;
    if (!written && *bad == len) *bad = at;
  }
  return n;
}
