/* Values of variables by chance (values.h). */
#include "rules/values.h"

#include <math.h>
#include <string.h>

/* The least normal number, the least number and the greatest of the dtype come
 * by conversion: what it cannot hold rounds or saturates. */
Value draw_edge(DType dtype, int i) {
  static const double reals[DRAW_EDGES] = {
      0,   1,         -0.0,     NAN,      INFINITY,       -1,
      0.5, -INFINITY, 0x1p-126, 0x1p-149, 0x1.fffffep127, 2};
  if (dtype == DT_BOOL) return bits_from_i64(dtype, i & 1);
  if (dtype_is_float(dtype)) return bits_from_f64(dtype, reals[i]);
  int64_t least = dtype_min_int(dtype), most = (int64_t)dtype_max_int(dtype);
  const int64_t ints[DRAW_EDGES] = {0,         1, 2,        -1, least, most,
                                    least + 1, 3, most - 1, -2, 5,     most};
  int64_t n = ints[i];
  return bits_from_i64(dtype, n < 0 && least == 0 ? most + n + 1 : n);
}

static Value draw_plain(Rng *r, DType dtype, bool near) {
  if (dtype == DT_BOOL) return bits_from_i64(dtype, rng_below(r, 2));
  if (!dtype_is_float(dtype))
    return near ? bits_from_i64(
                      dtype, rng_below(r, 9) - (dtype_min_int(dtype) ? 4 : 0))
                : bits_from_i64(dtype, (int64_t)rng_next(r));
  double u = (double)(rng_next(r) >> 11) * 0x1p-53;
  double sign = rng_below(r, 2) ? 1 : -1;
  if (near) return bits_from_f64(dtype, sign * (0.125 + 3.75 * u));
  return bits_from_f64(dtype, sign * ldexp(1 + u, rng_below(r, 64) - 32));
}

static Value draw_whole(Rng *r, DType dtype) {
  int least = dtype_is_float(dtype) || dtype_min_int(dtype) ? -4 : 0;
  if (dtype == DT_BOOL) least = 0;
  int n = rng_below(r, dtype == DT_BOOL ? 2 : 9) + least;
  return dtype_is_float(dtype) ? bits_from_f64(dtype, n)
                               : bits_from_i64(dtype, n);
}

void draw_values(Rng *r, DType dtype, DrawFill fill, int turn, int64_t count,
                 void *out) {
  size_t size = dtype_size(dtype);
  char *at = out;
  for (int64_t i = 0; i < count; i++, at += size) {
    Value v;
    bool edge = fill == FILL_EDGES || (fill == FILL_MIXED && !rng_below(r, 3));
    if (fill == FILL_WHOLE) v = draw_whole(r, dtype);
    else if (fill == FILL_EDGE) v = draw_edge(dtype, turn % DRAW_EDGES);
    else if (edge) v = draw_edge(dtype, rng_below(r, DRAW_EDGES));
    else v = draw_plain(r, dtype, fill == FILL_PLAIN || rng_below(r, 2));
    memcpy(at, &v, size);
  }
}
