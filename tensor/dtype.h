/* Element types. */
#ifndef TENSOR_DTYPE_H
#define TENSOR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum DType {
#define DTYPE(id, ...) DT_##id,
#include "tensor/dtype.def"
#undef DTYPE
  DTYPE_COUNT,
  DTYPE_NONE = DTYPE_COUNT /* unknown */
} DType;

typedef enum DTypeClass { CLASS_B, CLASS_I, CLASS_U, CLASS_F } DTypeClass;
typedef enum DTypeForm {
  FORM_PLAIN,
  FORM_CODED,
  FORM_FINITE,
  FORM_NARROW
} DTypeForm;

/* What elements are computed in: float, double, or unsigned integers, which
 * wrap. */
typedef enum DTypeIn { IN_F32, IN_F64, IN_U32, IN_U64 } DTypeIn;

/* The columns of dtype.def, and what only some rows say. */
typedef struct DTypeInfo {
  const char *name;   /* "float32" */
  const char *suffix; /* "f32" */
  uint8_t size;       /* bytes an element takes */
  uint8_t bits;       /* of its value: 1 for bool, 4 for int4 */
  DTypeClass class;
  DTypeForm form;
  DTypeIn in;
  uint8_t exponent_bits, fraction_bits; /* of floats; else 0 */
  double literal_most;     /* literals beyond it are refused, although rounding
                              would find an element; 0: such are rounded */
  const char *npy;         /* how files of NumPy name it: "<f4"; or NULL */
  const char *safetensors; /* "F32"; or NULL */
  uint8_t dlpack;          /* its type code in DLPack and TVM's arrays: 0 for
                              integers, 1 unsigned, 2 float, 4 bfloat */
  bool relay_literal;      /* plain Relay has literals of it; else casts */
  bool relay_wrapped;      /* TVM takes its bare name for a data type's, so a
                              scalar's type is written Tensor[(), ...] */
} DTypeInfo;

extern const DTypeInfo dtype_info[DTYPE_COUNT + 1];

static inline size_t dtype_size(DType t) { return dtype_info[t].size; }
static inline const char *dtype_name(DType t) { return dtype_info[t].name; }
static inline bool dtype_is_float(DType t) {
  return dtype_info[t].class == CLASS_F;
}
static inline bool dtype_is_int(DType t) {
  return dtype_info[t].class == CLASS_I || dtype_info[t].class == CLASS_U;
}

/* What it is computed in. */
static inline DTypeIn dtype_in(DType t) { return dtype_info[t].in; }

/* The dtype by name: "int32", or Relay's shorthands ("int", "uint", "float",
 * "uint1", with an optional "x1"); DTYPE_NONE for an unknown name. */
DType dtype_find(const char *name, size_t len);
/* By the name in files of weights, "BF16"; DTYPE_NONE for one that names no
 * dtype of ours. */
DType dtype_find_in_files(const char *name);
/* The dtype whose elements are the same bytes: int8 for int4; itself for those
 * that are not narrow. */
DType dtype_kept_as(DType t);
/* Why a dtype that the reference has is none here, such as float32x4; NULL: it
 * is none there either. */
const char *dtype_refusal(const char *name, size_t len);

/* The inclusive integer range of an integer or bool dtype. */
int64_t dtype_min_int(DType t);
uint64_t dtype_max_int(DType t);
/* Is the number one of the integer dtype's? */
bool dtype_holds_int(DType t, int64_t n);

/* The low bits of x as an integer in two's complement, and as one without a
 * sign. */
static inline int64_t low_signed(uint64_t x, int bits) {
  return (int64_t)(x << (64 - bits)) >> (64 - bits);
}
static inline uint64_t low_unsigned(uint64_t x, int bits) {
  return x << (64 - bits) >> (64 - bits);
}

#endif
