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
  size_t size;       /* bytes of the header itself */
  size_t bytes;      /* of the elements after it */
  const char *descr; /* in the header, quotes and all */
  size_t descr_len;
  DType dtype; /* DTYPE_NONE: another */
  bool fortran;
  size_t rank; /* of any size; below are up to RANK_MAX sizes */
  int64_t shape[RANK_MAX];
  int64_t strides[RANK_MAX]; /* of the stored elements */
  Extent extent;
  bool too_large; /* the extent overflowed */
} NpyHeader;

/* The header's length, from its first NPY_PREFIX bytes; 0 for an invalid
 * one. */
size_t npy_header_size(const char *prefix);
/* Reads the header of an array of `total` bytes, header included, of which the
 * first `size` are given.  NULL, or the reason why it is invalid. */
const char *npy_header_read(const char *bytes, size_t size, uint64_t total,
                            NpyHeader *h);
/* Can a tensor be made of the array?  One that is sound may hold texts,
 * Python's objects, big-endian numbers, or have too high a rank. */
static inline bool npy_fits(const NpyHeader *h) {
  return h->dtype != DTYPE_NONE && h->rank <= RANK_MAX;
}
/* Why not, in the arena; NULL when memory runs out. */
const char *npy_misfit(const NpyHeader *h, Arena *arena);

/* Adds a header of version 1, C order, padded so that the elements are 64-byte
 * aligned.  `out` must be empty.  Raises `exhausted` when memory runs out. */
void npy_header_add(StrBuf *out, const Tensor *t);

#endif
