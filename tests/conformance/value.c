/* Everything must be the same but floats, which are rounded to their dtype and
 * then compared to a tolerance.  jansson bounds the depth of what it reads, so
 * the recursion here is bounded too. */
#include "tests/conformance/value.h"

#include <math.h>
#include <string.h>

#include "tests/conformance/trial.h"

static const double RTOL = 1e-5, ATOL = 1e-6;

typedef struct FloatFormat {
  const char *dtype;
  int precision;    /* significant bits */
  int min_exponent; /* of the smallest normal number, as ilogb gives it */
  double max;
} FloatFormat;

static const FloatFormat float_formats[] = {
    {"float64", 53, -1022, 0x1.fffffffffffffp1023},
    {"float32", 24, -126, 0x1.fffffep127},
    {"float16", 11, -14, 65504},
    {"bfloat16", 8, -126, 0x1.fep127},
};

static const FloatFormat *float_format(const char *dtype) {
  size_t n = sizeof float_formats / sizeof *float_formats;
  for (size_t i = 0; dtype && i < n; i++)
    if (!strcmp(float_formats[i].dtype, dtype)) return &float_formats[i];
  return NULL;
}

/* To the nearest number of the format, ties to even. */
static double round_to(const FloatFormat *f, double x) {
  if (x == 0 || !isfinite(x)) return x;
  int exponent = ilogb(x);
  if (exponent < f->min_exponent) exponent = f->min_exponent;
  int unit = exponent - f->precision + 1;
  double rounded = ldexp(rint(ldexp(x, -unit)), unit);
  return fabs(rounded) > f->max ? copysign(INFINITY, x) : rounded;
}

/* A number, or one of the three strings; false for anything else. */
static bool read_float(const json_t *j, double *x) {
  static const struct {
    const char *text;
    double value;
  } named[] = {{"nan", NAN}, {"inf", INFINITY}, {"-inf", -INFINITY}};
  *x = json_number_value(j);
  if (json_is_number(j)) return true;
  for (int i = 0; i < 3 && json_is_string(j); i++) {
    *x = named[i].value;
    if (!strcmp(json_string_value(j), named[i].text)) return true;
  }
  return false;
}

static bool number_agrees(const json_t *got, const json_t *want,
                          const FloatFormat *format) {
  double x, y;
  return read_float(got, &x) && read_float(want, &y) &&
         float_agrees(round_to(format, x), round_to(format, y), RTOL, ATOL);
}

static bool differ(const json_t *got, const json_t *want, Difference *d) {
  *d = (Difference){got, want};
  return false;
}

/* `format` is that of the elements inside a tensor's data, else NULL. */
static bool agrees(const json_t *got, const json_t *want,
                   const FloatFormat *format, Difference *d);

static bool arrays_agree(const json_t *got, const json_t *want,
                         const FloatFormat *format, Difference *d) {
  size_t n = json_array_size(want);
  if (!json_is_array(got) || json_array_size(got) != n)
    return differ(got, want, d);
  for (size_t i = 0; i < n; i++)
    if (!agrees(json_array_get(got, i), json_array_get(want, i), format, d))
      return false;
  return true;
}

static bool objects_agree(const json_t *got, const json_t *want,
                          Difference *d) {
  const char *dtype = json_string_value(json_object_get(want, "dtype"));
  const FloatFormat *format = float_format(dtype);
  if (json_object_size(got) != json_object_size(want))
    return differ(got, want, d);
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)want, key, value) {
    const FloatFormat *inside = strcmp(key, "data") ? NULL : format;
    if (!agrees(json_object_get(got, key), value, inside, d)) return false;
  }
  return true;
}

static bool agrees(const json_t *got, const json_t *want,
                   const FloatFormat *format, Difference *d) {
  if (json_is_object(want)) return objects_agree(got, want, d);
  if (json_is_array(want)) return arrays_agree(got, want, format, d);
  bool same = format ? number_agrees(got, want, format) : json_equal(got, want);
  return same || differ(got, want, d);
}

bool value_agrees(const json_t *got, const json_t *want, Difference *d) {
  return agrees(got, want, NULL, d);
}

char *difference_text(const json_t *part) {
  char *text =
      json_dumps(part, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9));
  return text ? text : strdup("nothing");
}
