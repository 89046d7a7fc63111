/* The header of a .npy array, in a file of its own or in an archive. */
#ifndef IO_NPY_HEADER_H
#define IO_NPY_HEADER_H

#include "base/strbuf.h"
#include "tensor/tensor.h"

enum {
  NPY_PREFIX = 12, /* bytes needed to know the header's length */
  NPY_HEADER_MOST = 64 << 10,
};

typedef struct NpyHeader {
  size_t size;  /* bytes of the header itself */
  size_t bytes; /* of the elements after it */
  DType dtype;
  bool fortran;
  int rank;
  int64_t shape[RANK_MAX];
  int64_t strides[RANK_MAX]; /* of the stored elements */
} NpyHeader;

/* The header's length, from its first NPY_PREFIX bytes; 0 for an invalid
 * one. */
size_t npy_header_size(const char *prefix);
/* Reads the header of an array of `total` bytes, header included, of which the
 * first `size` are given.  NULL, or the reason why it is invalid. */
const char *npy_header_read(const char *bytes, size_t size, uint64_t total,
                            NpyHeader *h);
/* The reason where the array may be sound, but its elements are none of rly's:
 * texts, Python's objects, big-endian numbers. */
extern const char npy_other_dtype[];

/* Adds a header of version 1, C order, padded so that the elements are 64-byte
 * aligned.  `out` must be empty.  Raises `exhausted` when memory runs out. */
void npy_header_add(StrBuf *out, const Tensor *t);

#endif
