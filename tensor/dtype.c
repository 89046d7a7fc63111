/* The table of element types, from dtype.def, and their spellings.  A row
 * states what cannot be derived (C type, class, form, bits); the number of bits
 * and the widths of exponent and fraction follow from these by macros chosen by
 * the class's letter and the form, so that no row can contradict itself.
 *
 * The language writes dtypes as Relay does: "float32", a few shorthands, and
 * optionally "x1" for one lane.  Dtypes with several lanes are TVM's vectors
 * for generated code; Relay's own programs compute on tensors of scalars, and
 * so does this interpreter. */
#include "tensor/dtype.h"

#include <string.h>

/* By class: the bits of a value, and of a float's exponent and fraction.  IEEE
 * 754's layout: one bit of sign, the exponent, the fraction. */
#define WIDTH_PLAIN(T, bits) (8 * sizeof(T))
#define WIDTH_NARROW(T, bits) bits
#define BITS_B(T, form, bits) 1
#define BITS_I(T, form, bits) WIDTH_##form(T, bits)
#define BITS_U BITS_I
#define BITS_F(T, form, bits) (8 * sizeof(T))
#define EXPONENT_B(bits) 0
#define EXPONENT_I EXPONENT_B
#define EXPONENT_U EXPONENT_B
#define EXPONENT_F(bits) bits
#define FRACTION_B(T, exponent) 0
#define FRACTION_I FRACTION_B
#define FRACTION_U FRACTION_B
#define FRACTION_F(T, exponent) (8 * sizeof(T) - 1 - (exponent))

const DTypeInfo dtype_info[DTYPE_COUNT + 1] = {
#define DTYPE(id, ending, T, letter, shape, some, arithmetic, loops, ...) \
  [DT_##id] = {.suffix = #ending,                                         \
               .size = sizeof(T),                                         \
               .bits = BITS_##letter(T, shape, some),                     \
               .class = CLASS_##letter,                                   \
               .form = FORM_##shape,                                      \
               .in = IN_##arithmetic,                                     \
               .exponent_bits = EXPONENT_##letter(some),                  \
               .fraction_bits = FRACTION_##letter(T, some),               \
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
  return INT64_MIN >> (64 - dtype_info[t].bits);
}

/* 2^(value bits) - 1; a signed dtype has one bit less for values.  bool gives
 * 1. */
uint64_t dtype_max_int(DType t) {
  int value_bits = dtype_info[t].bits - (dtype_info[t].class == CLASS_I);
  return UINT64_MAX >> (64 - value_bits);
}

bool dtype_holds_int(DType t, int64_t n) {
  return n >= dtype_min_int(t) && (n < 0 || (uint64_t)n <= dtype_max_int(t));
}

DType dtype_find_in_files(const char *name) {
  for (int i = 0; i < DTYPE_COUNT; i++) {
    const char *own = dtype_info[i].safetensors;
    if (own && !strcmp(own, name)) return (DType)i;
  }
  return DTYPE_NONE;
}

DType dtype_kept_as(DType t) {
  if (dtype_info[t].form != FORM_NARROW) return t;
  int i = 0;
  while (dtype_info[i].form != FORM_PLAIN ||
         dtype_info[i].class != dtype_info[t].class ||
         dtype_info[i].size != dtype_info[t].size)
    i++;
  return (DType)i;
}
