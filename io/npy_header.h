/* The header of a .npy array, in a file of its own or in an archive. */
#ifndef IO_NPY_HEADER_H
#define IO_NPY_HEADER_H

#include "base/strbuf.h"
#include "tensor/tensor.h"

enum {
  NPY_PREFIX = 12, /* bytes that tell how long the header is */
  NPY_HEADER_MOST = 64 << 10,
};

typedef struct NpyHeader {
  size_t size;  /* bytes of the header itself */
  size_t bytes; /* of the elements behind it */
  DType dtype;
  bool fortran;
  int rank;
  int64_t shape[RANK_MAX];
  int64_t strides[RANK_MAX]; /* of the elements as they are stored */
} NpyHeader;

/* The bytes that a header takes whose first NPY_PREFIX are given, or 0 when it
 * is none. */
size_t npy_header_size(const char *prefix);
/* Reads the header of an array of `total` bytes (itself included), the first
 * `size` of which are given.  NULL, or what is wrong. */
const char *npy_header_read(const char *bytes, size_t size, uint64_t total,
                            NpyHeader *h);

/* Version 1, C order, so long that the elements are 64-byte aligned.  Memory
 * that runs out leaves `exhausted` raised.  `out` must be empty. */
void npy_header_add(StrBuf *out, const Tensor *t);

#endif
