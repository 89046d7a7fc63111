/* The table of element types, from dtype.def, and their spellings.  A row
 * states what cannot be derived (C type, class, exponent bits); the number of
 * bits and the width of the fraction follow from these by macros chosen by the
 * class's letter, so that no row can contradict itself.
 *
 * The language writes dtypes as Relay does: "float32", a few shorthands, and
 * optionally "x1" for one lane.  Dtypes with several lanes are TVM's vectors
 * for generated code; Relay's own programs compute on tensors of scalars, and
 * so does this interpreter. */
#include "tensor/dtype.h"

#include <string.h>

/* By class: the bits of a value, and of a float's fraction.  IEEE 754's layout:
 * one bit of sign, `exponent` bits, the fraction. */
#define BITS_B(T) 1
#define BITS_I(T) (8 * sizeof(T))
#define BITS_U BITS_I
#define BITS_F BITS_I
#define FRACTION_B(T, exponent) 0
#define FRACTION_I FRACTION_B
#define FRACTION_U FRACTION_B
#define FRACTION_F(T, exponent) (8 * sizeof(T) - 1 - (exponent))

const DTypeInfo dtype_info[DTYPE_COUNT + 1] = {
#define DTYPE(id, ending, T, letter, shape, exponent, arithmetic, loops, ...) \
  [DT_##id] = {.suffix = #ending,                                             \
               .size = sizeof(T),                                             \
               .bits = BITS_##letter(T),                                      \
               .class = CLASS_##letter,                                       \
               .form = FORM_##shape,                                          \
               .in = IN_##arithmetic,                                         \
               .exponent_bits = exponent,                                     \
               .fraction_bits = FRACTION_##letter(T, exponent),               \
               __VA_ARGS__},
#include "tensor/dtype.def"
#undef DTYPE
    [DTYPE_NONE] = {.name = "?", .suffix = ""},
};

/* Relay's other names of dtypes, and those that everyone else gives to 8-bit
 * floats. */
static const struct {
  const char *name;
  DType dtype;
} shorthands[] = {
    {"int", DT_INT32},
    {"uint", DT_UINT32},
    {"float", DT_FLOAT32},
    {"uint1", DT_BOOL},
    {"float8_e4m3fn", DT_FLOAT8_E4M3},
    {"float8_e5m2", DT_FLOAT8_E5M2},
};

static bool is_spelled(const char *name, const char *text, size_t len) {
  return strlen(name) == len && !memcmp(name, text, len);
}

/* Looks at every row: names come from source text and files, once each, and
 * there are a dozen rows. */
DType dtype_find(const char *name, size_t len) {
  if (len > 2 && !memcmp(name + len - 2, "x1", 2)) len -= 2;
  for (int i = 0; i < DTYPE_COUNT; i++)
    if (is_spelled(dtype_info[i].name, name, len)) return (DType)i;
  for (size_t i = 0; i < sizeof shorthands / sizeof *shorthands; i++)
    if (is_spelled(shorthands[i].name, name, len)) return shorthands[i].dtype;
  return DTYPE_NONE;
}

/* The length of `text` without the digits that end it. */
static size_t without_digits(const char *text, size_t len) {
  while (len > 0 && text[len - 1] >= '0' && text[len - 1] <= '9') len--;
  return len;
}

const char *dtype_refusal(const char *name, size_t len) {
  static const char custom[] = "custom[";
  if (len >= sizeof custom - 1 && !memcmp(name, custom, sizeof custom - 1))
    return "custom datatypes are registered with a build of TVM: change the "
           "dtype to one that every program has, such as float32";
  size_t lanes = without_digits(name, len);
  if (lanes == len || lanes < 2 || name[lanes - 1] != 'x') return NULL;
  if (dtype_find(name, lanes - 1) == DTYPE_NONE) return NULL;
  return "elements are scalars: a vector's lanes are a last dimension of the "
         "tensor, and its dtype is written without them";
}

/* -2^(bits - 1) by shifting the sign bit down; 0 for bool and unsigned. */
int64_t dtype_min_int(DType t) {
  if (dtype_info[t].class != CLASS_I) return 0;
  return INT64_MIN >> (64 - 8 * dtype_info[t].size);
}

/* 2^(value bits) - 1; a signed dtype has one bit less for values.  bool gives
 * 1. */
uint64_t dtype_max_int(DType t) {
  int value_bits = dtype_info[t].bits - (dtype_info[t].class == CLASS_I);
  return UINT64_MAX >> (64 - value_bits);
}

DType dtype_find_in_files(const char *name) {
  int i = 0;
  while (i < DTYPE_COUNT && strcmp(dtype_info[i].safetensors, name)) i++;
  return (DType)i;
}
