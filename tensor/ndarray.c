/* Reads and writes the bytes around an NDArray's elements.  They come from
 * files and are untrusted: every size is checked before use, and the header's
 * byte count must agree with its shape.
 *
 * Reading copies nothing: NdArray points into the caller's bytes, where the
 * elements are unaligned, and ndarray_copy_elements() takes them out.  The
 * format is little-endian on every machine. */
#include "tensor/ndarray.h"

#include <string.h>

#define NDARRAY_MAGIC UINT64_C(0xDD5E40F096B4A13F)
enum {
  NDARRAY_NDIM = 24,
  NDARRAY_CODE = 28,
  NDARRAY_SHAPE = 32,
  DEVICE_CPU = 1,
};

/* --- Numbers ------------------------------------------------------------- */

uint32_t le32_read(const void *at) {
  const uint8_t *b = at;
  return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
         (uint32_t)b[3] << 24;
}

uint64_t le64_read(const void *at) {
  return le32_read(at) | (uint64_t)le32_read((const uint8_t *)at + 4) << 32;
}

static void le32_add(StrBuf *out, uint32_t v) {
  const uint8_t b[] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16),
                       (uint8_t)(v >> 24)};
  strbuf_add_len(out, (const char *)b, sizeof b);
}

void le64_add(StrBuf *out, uint64_t v) {
  le32_add(out, (uint32_t)v);
  le32_add(out, (uint32_t)(v >> 32));
}

/* --- Element types ------------------------------------------------------- */

/* The dtype of a DLPack type; DTYPE_NONE for another, and for vectors.  The
 * first row that fits wins; no two rows share code and bits. */
static DType dtype_of(const NdArray *a) {
  int i = 0;
  while (i < DTYPE_COUNT &&
         (dtype_info[i].dlpack != a->code || dtype_info[i].bits != a->bits))
    i++;
  return a->lanes == 1 ? (DType)i : DTYPE_NONE;
}

/* --- Reading ------------------------------------------------------------- */

/* Does the count of bytes fit the dimensions?  An element of a dtype that is
 * none of ours takes what the count says: TVM leaves lanes out of it. */
static bool size_fits(const NdArray *a, const Extent *e) {
  size_t bytes;
  return a->dtype == DTYPE_NONE ||
         (extent_bytes(e, dtype_size(a->dtype), &bytes) && bytes == a->size);
}

/* The order of the checks: the fixed part of the head and one more word, then
 * the whole head with its shape, then the elements.  A rank of 0 has a head of
 * exactly the first size. */
const char *ndarray_read(const void *from, size_t size, NdArray *a) {
  const uint8_t *bytes = from, *type = bytes + NDARRAY_CODE;
  if (size < NDARRAY_SHAPE + 8) return "an array is cut short";
  if (le64_read(bytes) != NDARRAY_MAGIC) return "an array has another format";
  uint32_t rank = le32_read(bytes + NDARRAY_NDIM);
  if (rank > (size - NDARRAY_SHAPE) / 8 - 1 || rank > INT32_MAX)
    return "an array is cut short";
  a->rank = (int)rank;
  a->code = type[0];
  a->bits = type[1];
  a->lanes = (uint16_t)(type[2] | type[3] << 8);
  a->dtype = dtype_of(a);
  size_t head = NDARRAY_SHAPE + 8 * ((size_t)rank + 1);
  Extent extent = EXTENT_NONE;
  for (int i = 0; i < a->rank; i++) {
    int64_t dim = (int64_t)le64_read(bytes + NDARRAY_SHAPE + 8 * (size_t)i);
    if (i < RANK_MAX) a->shape[i] = dim;
    if (!extent_grow(&extent, dim))
      return "an array's size does not fit its shape";
  }
  uint64_t count = le64_read(bytes + head - 8);
  a->size = (size_t)count;
  if (count > size - head || !size_fits(a, &extent))
    return "an array's size does not fit its shape";
  a->data = (const char *)bytes + head;
  return NULL;
}

const char *ndarray_misfit(const NdArray *a) {
  if (a->rank > RANK_MAX) return "an array has too many dimensions";
  return a->dtype == DTYPE_NONE ? "an array's element type is unknown" : NULL;
}

/* The language's bools are 0 or 1 in memory, and of narrow integers the bits
 * above theirs are the sign's; kernels rely on it.  A file may hold any byte,
 * of which a narrow integer is the low bits. */
void ndarray_copy_elements(char *to, const NdArray *a) {
  size_t width = dtype_size(a->dtype);
  if (a->size) memcpy(to, a->data, a->size);
  if (a->dtype == DT_BOOL)
    for (size_t i = 0; i < a->size; i++) to[i] = to[i] != 0;
  if (dtype_info[a->dtype].form == FORM_NARROW)
    for (size_t i = 0; i < a->size; i += width) {
      Value bits = bits_load(a->dtype, to + i);
      bits_store(a->dtype, to + i, bits_from_i64(a->dtype, bits.i64));
    }
  if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) return;
  for (size_t i = 0; i < a->size; i++)
    to[i] = a->data[i - i % width + (width - 1 - i % width)];
}

/* --- Writing ------------------------------------------------------------- */

void ndarray_add_header(StrBuf *out, const Tensor *t) {
  const DTypeInfo *type = &dtype_info[t->dtype];
  le64_add(out, NDARRAY_MAGIC);
  le64_add(out, 0);
  le32_add(out, DEVICE_CPU);
  le32_add(out, 0);
  le32_add(out, t->rank);
  le32_add(out, type->dlpack | (uint32_t)type->bits << 8 | 1u << 16);
  for (int i = 0; i < t->rank; i++) le64_add(out, (uint64_t)t->shape[i]);
  le64_add(out, tensor_bytes(t));
}

/* Element by element, since the tensor may be strided. */
void ndarray_add(StrBuf *out, const Tensor *t) {
  ndarray_add_header(out, t);
  DType dtype = (DType)t->dtype;
  size_t width = dtype_size(dtype);
  bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
  int64_t count = tensor_count(t);
  for (int64_t i = 0; i < count; i++) {
    char at[sizeof(Value)];
    bits_store(dtype, at, tensor_bits_at(t, i));
    for (size_t k = 0; k < width; k++)
      strbuf_add_char(out, at[little ? k : width - 1 - k]);
  }
}
