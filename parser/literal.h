/* What number and string tokens stand for. */
#ifndef PARSER_LITERAL_H
#define PARSER_LITERAL_H

#include "tensor/tensor.h"

typedef struct Literal {
  DType dtype;
  Value bits;
} Literal;

typedef enum LiteralStatus {
  LITERAL_OK,
  LITERAL_NO_SUCH_SUFFIX,
  LITERAL_NOT_AN_INTEGER, /* 1.5i32 */
  LITERAL_OUT_OF_RANGE,   /* of `dtype` */
} LiteralStatus;

/* Decodes a number with its signs and suffix: `-42i16`, `1e5`, `--inff64`.
 * Without a suffix an integer is int32, or int64 where it needs that; with a
 * point or an exponent it is float32.  The text must be followed by a byte
 * that is no part of it. */
LiteralStatus literal_number(const char *text, uint32_t len, Literal *out);

/* strtod with a decimal point, whatever the host's locale. */
double literal_f64(const char *text, char **end);

/* Where the suffix of a number begins. */
uint32_t literal_suffix(const char *text, uint32_t len);

/* Decodes the inside of a string of `len` bytes into `out`, which has room
 * for as many.  Returns the bytes written; *bad receives the offset of the
 * first invalid escape, or `len`. */
uint32_t literal_string(const char *text, uint32_t len, char *out,
                        uint32_t *bad);

#endif
