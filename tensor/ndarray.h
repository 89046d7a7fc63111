/* TVM's serialized NDArray, as metadata sections and .params files hold it:
 *
 *   u64 magic, u64 0, i32 device type, i32 device, i32 ndim, u8 type code,
 *   u8 bits, u16 lanes, i64 shape[ndim], i64 byte count, elements
 *
 * all little-endian. */
#ifndef TENSOR_NDARRAY_H
#define TENSOR_NDARRAY_H

#include "tensor/tensor.h"

typedef struct NdArray {
  DType dtype; /* DTYPE_NONE: another */
  uint8_t code, bits;
  uint16_t lanes;
  int rank;                /* of any size ... */
  int64_t shape[RANK_MAX]; /* ... of which this holds the first dimensions */
  const char *data;        /* inside the bytes that were read; unaligned */
  size_t size;
} NdArray;

/* Reads the array at the start of `size` bytes; more may follow it.  NULL, or
 * the reason why it is invalid. */
const char *ndarray_read(const void *bytes, size_t size, NdArray *a);
/* Why no tensor can be made of a valid array; NULL: one can. */
const char *ndarray_misfit(const NdArray *a);
/* Copies the elements in the machine's byte order; a bool becomes 0 or 1. */
void ndarray_copy_elements(char *to, const NdArray *a);

/* Writes a whole array. */
void ndarray_add(StrBuf *out, const Tensor *t);
/* Writes everything before the elements. */
void ndarray_add_header(StrBuf *out, const Tensor *t);

/* The format's integers, at any alignment. */
uint32_t le32_read(const void *at);
uint64_t le64_read(const void *at);
void le64_add(StrBuf *out, uint64_t v);

#endif
