/* The table of element types, from dtype.def, and their spellings. */
#include "tensor/dtype.h"

#include <string.h>

const DTypeInfo dtype_info[DTYPE_COUNT + 1] = {
#define DTYPE(id, name, suffix, type, size, class) \
  [DT_##id] = {name, suffix, size, CLASS_##class},
#include "tensor/dtype.def"
#undef DTYPE
    [DTYPE_NONE] = {"?", "", 0, CLASS_B},
};

/* Relay's other names of dtypes. */
static const struct {
  const char *name;
  DType dtype;
} shorthands[] = {
    {"int", DT_INT32},
    {"uint", DT_UINT32},
    {"float", DT_FLOAT32},
    {"uint1", DT_BOOL},
};

static bool is_spelled(const char *name, const char *text, size_t len) {
  return strlen(name) == len && !memcmp(name, text, len);
}

DType dtype_find(const char *name, size_t len) {
  if (len > 2 && !memcmp(name + len - 2, "x1", 2)) len -= 2;
  for (int i = 0; i < DTYPE_COUNT; i++)
    if (is_spelled(dtype_info[i].name, name, len)) return (DType)i;
  for (size_t i = 0; i < sizeof shorthands / sizeof *shorthands; i++)
    if (is_spelled(shorthands[i].name, name, len)) return shorthands[i].dtype;
  return DTYPE_NONE;
}

int64_t dtype_min_int(DType t) {
  if (dtype_info[t].class != CLASS_I) return 0;
  return INT64_MIN >> (64 - 8 * dtype_info[t].size);
}

uint64_t dtype_max_int(DType t) {
  if (t == DT_BOOL) return 1;
  int value_bits = 8 * dtype_info[t].size - (dtype_info[t].class == CLASS_I);
  return UINT64_MAX >> (64 - value_bits);
}
