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

typedef struct DTypeInfo {
  const char *name;   /* "float32" */
  const char *suffix; /* "f32" */
  uint8_t size;       /* bytes an element takes */
  DTypeClass class;
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

/* The dtype by name: "int32", or Relay's shorthands ("int", "uint", "float",
 * "uint1", with an optional "x1"); DTYPE_NONE for an unknown name. */
DType dtype_find(const char *name, size_t len);

/* The inclusive integer range of an integer or bool dtype. */
int64_t dtype_min_int(DType t);
uint64_t dtype_max_int(DType t);

#endif
