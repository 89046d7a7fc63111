/* Single elements: loading, storing, and converting between dtypes as the
 * language's `cast` does.  Here conversions are for constants, attributes,
 * printing and files; kernels have loops of their own, generated from the same
 * rows of dtype.def.
 *
 * double holds every float exactly, and int64 every integer but a uint64 of
 * 2^63 or more, which keeps its bits.  A caller that goes by the right one of
 * the two rounds once, in the last step. */
#include <math.h>
#include <string.h>

#include "tensor/half.h"
#include "tensor/tensor.h"

/* A rank-0 value is the element's bytes with zeros above, so on a little-endian
 * machine its low-order bytes are the element. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "values and files are little-endian");

/* A Value's high bytes stay 0, so two elements have the same bits when the
 * whole 64 bits are equal. */
Value bits_load(DType dtype, const void *at) {
  Value v = {0};
  switch (dtype_size(dtype)) {
    case 1: memcpy(&v, at, 1); break;
    case 2: memcpy(&v, at, 2); break;
    case 4: memcpy(&v, at, 4); break;
    default: memcpy(&v, at, 8); break;
  }
  return v;
}

void bits_store(DType dtype, void *at, Value bits) {
  switch (dtype_size(dtype)) {
    case 1: memcpy(at, &bits, 1); break;
    case 2: memcpy(at, &bits, 2); break;
    case 4: memcpy(at, &bits, 4); break;
    default: memcpy(at, &bits, 8); break;
  }
}

/* --- Conversion ---------------------------------------------------------- */

/* An integer or bool element, sign- or zero-extended to int64; a uint64 keeps
 * its bits. */
static int64_t widened(DType dtype, Value bits) {
  int unused = 64 - 8 * (int)dtype_size(dtype);
  if (dtype_info[dtype].class != CLASS_I) return bits.i64;
  return (int64_t)(bits.u64 << unused) >> unused;
}

bool bits_are_valid(DType dtype, Value bits) {
  const DTypeInfo *info = &dtype_info[dtype];
  if (info->bits == 8 * info->size) return true;
  return dtype_holds_int(dtype, widened(dtype, bits));
}

/* Switches over the rows of dtype.def take what they do from the columns class
 * and form. */

#define FROM_PLAIN(suffix, x) (x)
#define FROM_CODED(suffix, x) suffix##_to_f32(x)
#define FROM_FINITE FROM_CODED
#define FROM_NARROW FROM_PLAIN

/* int64 and uint64 beyond 2^53 are rounded to nearest even. */
double bits_to_f64(DType dtype, Value bits) {
  switch (dtype) {
#define DTYPE(id, suffix, T, class, form, ...) \
  case DT_##id: {                              \
    T x;                                       \
    memcpy(&x, &bits, sizeof x);               \
    return (double)FROM_##form(suffix, x);     \
  }
#include "tensor/dtype.def"
#undef DTYPE
    case DTYPE_NONE: break;
  }
  return 0;
}

/* Truncates and clamps to [least, most], and returns the low bits; NaN gives 0.
 * The greatest int64 and uint64 are not doubles: as doubles they become 2^63
 * and 2^64, which no element reaches, so `>=` is the right comparison.  Without
 * the clamps the conversions would be undefined behaviour in C. */
static uint64_t saturated(double v, int64_t least, uint64_t most) {
  if (isnan(v)) return 0;
  if (v <= (double)least) return (uint64_t)least;
  if (v >= (double)most) return most;
  return v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v;
}

/* For shapes and counts, which saturate: -1.5 gives -1, 1e300 gives INT64_MAX,
 * and so does a uint64 beyond INT64_MAX. */
int64_t bits_to_i64(DType dtype, Value bits) {
  if (dtype_is_float(dtype)) {
    double v = bits_to_f64(dtype, bits);
    return (int64_t)saturated(v, INT64_MIN, INT64_MAX);
  }
  if (dtype == DT_UINT64 && bits.u64 > INT64_MAX) return INT64_MAX;
  return widened(dtype, bits);
}

/* The number x as an element of type T, with zeros above it. */
#define STORED(T, x)                       \
  ({                                       \
    T stored = (T)(x);                     \
    Value bits = {0};                      \
    memcpy(&bits, &stored, sizeof stored); \
    bits;                                  \
  })

#define F64_TO_B(T, form, exponent) STORED(T, v != 0)
#define F64_TO_I(T, form, exponent) \
  STORED(T, saturated(v, dtype_min_int(dtype), dtype_max_int(dtype)))
#define F64_TO_U F64_TO_I
#define F64_TO_F(T, form, exponent) F64_TO_##form(T, exponent)
#define F64_TO_PLAIN(T, exponent) STORED(T, v)
#define F64_TO_CODED(T, exponent) \
  STORED(T, f64_to_coded(v, 8 * sizeof(T), exponent))
#define F64_TO_FINITE(T, exponent) \
  STORED(T, f64_to_finite(v, 8 * sizeof(T), exponent))

/* One switch over the rows; each row's case takes its step from the columns
 * class (F64_TO_B, I, U, F) and, for floats, form (PLAIN, CODED, FINITE).  What
 * integers hold is known from their bits. */
Value bits_from_f64(DType dtype, double v) {
  switch (dtype) {
#define DTYPE(id, suffix, T, class, form, exponent, ...) \
  case DT_##id:                                          \
    return F64_TO_##class(T, form, exponent);
#include "tensor/dtype.def"
#undef DTYPE
    case DTYPE_NONE: break;
  }
  return (Value){0};
}

/* An integer as a double, rounded to odd.  A second rounding, to fewer bits,
 * then gives the same as one direct rounding (Boldo and Melquiond, "Emulation
 * of FMA and correctly rounded sums", 2008). */
static double f64_to_odd(int64_t v) {
  const int64_t low = 0x7FF, exact = (int64_t)1 << 53;
  if ((-exact <= v && v <= exact) || !(v & low)) return (double)v;
  return (double)((v & ~low) | (low + 1));
}

#define I64_TO_B(T, form) STORED(T, v != 0)
#define I64_TO_I(T, form) \
  STORED(T, low_signed((uint64_t)v, dtype_info[dtype].bits))
#define I64_TO_U(T, form) \
  STORED(T, low_unsigned((uint64_t)v, dtype_info[dtype].bits))
#define I64_TO_F(T, form) I64_TO_##form(T)
#define I64_TO_PLAIN(T) STORED(T, v)
#define I64_TO_CODED(T) bits_from_f64(dtype, f64_to_odd(v))
#define I64_TO_FINITE I64_TO_CODED

Value bits_from_i64(DType dtype, int64_t v) {
  switch (dtype) {
#define DTYPE(id, suffix, T, class, form, ...) \
  case DT_##id:                                \
    return I64_TO_##class(T, form);
#include "tensor/dtype.def"
#undef DTYPE
    case DTYPE_NONE: break;
  }
  return (Value){0};
}

/* --- Elements of tensors ------------------------------------------------- */

/* Peels the index off axis by axis, the last axis fastest.  Two divisions an
 * axis: for a few elements only; whole tensors are walked by runs_over(). */
static const char *address(const Tensor *t, int64_t i) {
  int64_t offset = 0;
  for (int axis = t->rank - 1; axis >= 0; axis--) {
    offset += i % t->shape[axis] * t->strides[axis];
    i /= t->shape[axis];
  }
  return t->data + offset * (int64_t)dtype_size(t->dtype);
}

Value tensor_bits_at(const Tensor *t, int64_t i) {
  return bits_load(t->dtype, address(t, i));
}
double tensor_f64_at(const Tensor *t, int64_t i) {
  return bits_to_f64(t->dtype, tensor_bits_at(t, i));
}
int64_t tensor_i64_at(const Tensor *t, int64_t i) {
  return bits_to_i64(t->dtype, tensor_bits_at(t, i));
}
