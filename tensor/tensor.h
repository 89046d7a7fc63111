/* Tensors: strided views on counted buffers.
 *
 * A Tensor is a header (geometry) that belongs to one session and counts
 * without atomics.  A Buffer holds the elements, 64-byte aligned, and counts
 * atomically because views in different sessions may share it.  Reshaping,
 * slicing and transposing make new headers on the same buffer.
 *
 * Kernels also work on headers that live on the C stack; those are never
 * counted. */
#ifndef TENSOR_TENSOR_H
#define TENSOR_TENSOR_H

#include <stdatomic.h>

#include "base/limits.h"
#include "base/pool.h"
#include "base/stop.h"
#include "base/strbuf.h"
#include "tensor/dtype.h"
#include "tensor/object.h"

typedef struct Buffer {
  _Atomic int32_t count;
  uint32_t flags;               /* BUFFER_... */
  size_t size;                  /* bytes of `data` */
  char *data;                   /* 64-byte aligned unless borrowed */
  void (*release)(void *owner); /* for borrowed memory; may be NULL */
  void *owner;
  _Atomic(void *) packed; /* packed forms for products (see kernels/pack) */
  /* where the block came from; may serve several sessions */
  Mem *mem;
} Buffer;

enum { BUFFER_READONLY = 1, BUFFER_FOREIGN = 2 };

/* The header of whatever `packed` points to; dropping the buffer's last
 * reference calls `release`. */
typedef struct BufferExtra {
  void (*release)(struct BufferExtra *extra);
} BufferExtra;

typedef struct Tensor {
  Obj obj; /* size is SIZE_TENSOR */
  uint8_t dtype, rank;
  Buffer *buffer; /* NULL in headers on the C stack */
  char *data;     /* element (0, ..., 0) */
  int64_t shape[RANK_MAX];
  int64_t strides[RANK_MAX]; /* in elements; 0 or negative are allowed */
} Tensor;

/* The source of a session's (or the front end's) headers and buffers.  One
 * thread at a time uses a heap.  Freed buffers are kept for reuse by size
 * class. */
enum { BUFFER_CLASSES = 24 };
typedef struct Heap {
  Mem *mem;
  StopFlag *stop; /* polled by long work for the heap's owner, or NULL */
  Pool pool;
  Buffer *spare[BUFFER_CLASSES]; /* chained through `owner` */
  size_t spare_bytes;
  uint64_t buffer_allocations;
} Heap;
void heap_init(Heap *h, Mem *mem);
/* Every counted object must have been dropped. */
void heap_done(Heap *h);

/* --- Buffers ------------------------------------------------------------ */

/* An owned buffer with uninitialised elements; NULL when memory runs out. */
Buffer *buffer_new(Heap *h, size_t size);
/* A read-only buffer over borrowed memory; `release(owner)` is called when the
 * last view is dropped. */
Buffer *buffer_borrow(Heap *h, const void *data, size_t size,
                      void (*release)(void *), void *owner);
static inline void buffer_keep(Buffer *b) {
  atomic_fetch_add_explicit(&b->count, 1, memory_order_relaxed);
}
void buffer_drop(Heap *h, Buffer *b);
/* May the holder of the only view write to the elements? */
static inline bool buffer_writable(const Buffer *b) {
  return atomic_load_explicit(&b->count, memory_order_acquire) == 1 &&
         !(b->flags & BUFFER_READONLY) && !b->packed;
}

/* --- Making tensors --------------------------------------------------------
 * Each returns one owned reference, or NULL when memory runs out or the
 * element count overflows. */

/* Contiguous, row-major, elements uninitialised. */
Tensor *tensor_new(Heap *h, DType dtype, int rank, const int64_t *shape);
Tensor *tensor_zeros(Heap *h, DType dtype, int rank, const int64_t *shape);
/* A tensor on a whole buffer, whose reference it consumes, even on failure.
 * `strides` NULL: row-major. */
Tensor *tensor_on_buffer_take(Heap *h, DType dtype, int rank,
                              const int64_t *shape, const int64_t *strides,
                              Buffer *buffer);
/* A view of `base`'s buffer with the given geometry, starting `offset` elements
 * after base's first element.  Keeps the buffer, not `base`.  `strides` NULL:
 * row-major. */
Tensor *tensor_view(Heap *h, const Tensor *base, int rank, const int64_t *shape,
                    const int64_t *strides, int64_t offset);
/* Gives a contiguous tensor, which nobody else holds, another shape of as many
 * elements. */
void tensor_reshape(Tensor *t, int rank, const int64_t *shape);
/* A contiguous copy. */
Tensor *tensor_copy(Heap *h, const Tensor *t);
/* `t` itself, with one more reference, when contiguous; else a copy. */
Tensor *tensor_contiguous(Heap *h, Tensor *t);
/* A counted rank-0 tensor of the given bits, for hosts. */
Tensor *tensor_from_bits(Heap *h, DType dtype, Value bits);

static inline Tensor *tensor_keep(Tensor *t) {
  obj_keep(&t->obj);
  return t;
}
void tensor_free(Heap *h, Tensor *t); /* when the count has reached 0 */
static inline void tensor_drop(Heap *h, Tensor *t) {
  if (t->obj.count > 0 && --t->obj.count == 0) tensor_free(h, t);
}

/* A header on the C stack over the bits of a scalar. */
Tensor tensor_on_bits(DType dtype, const Value *bits);
/* A header on the C stack over contiguous elements. */
Tensor tensor_on_data(DType dtype, int rank, const int64_t *shape, void *data);

/* --- Geometry ----------------------------------------------------------- */

/* The number of elements; false on a negative dimension or an overflow.  An
 * empty tensor is checked as if its zeros were absent, so that its strides and
 * the products of some of its dimensions do not overflow either. */
bool shape_count(int rank, const int64_t *shape, int64_t *count);
/* As shape_count, and the bytes that the elements take. */
bool shape_size(DType dtype, int rank, const int64_t *shape, int64_t *count,
                size_t *bytes);

/* The same one dimension at a time, for shapes of any rank: a file may hold a
 * tensor of more dimensions than one can have here.  Begins as EXTENT_NONE. */
typedef struct Extent {
  int64_t product; /* of the dimensions that are not 0 */
  bool empty;      /* one of them is 0 */
} Extent;
#define EXTENT_NONE ((Extent){.product = 1})
/* False on a negative dimension or an overflow. */
bool extent_grow(Extent *e, int64_t dim);
/* The bytes of elements that take `each`; false on an overflow. */
bool extent_bytes(const Extent *e, size_t each, size_t *bytes);
int64_t tensor_count(const Tensor *t);
static inline size_t tensor_bytes(const Tensor *t) {
  return (size_t)tensor_count(t) * dtype_size(t->dtype);
}
/* May a result of so many bytes reuse the memory of t, whose last use this is?
 * Not when another view shows the elements, nor when the result would keep a
 * much larger buffer alive. */
static inline bool tensor_may_hold(const Tensor *t, size_t bytes) {
  return obj_unshared(&t->obj) && t->buffer && buffer_writable(t->buffer) &&
         bytes >= t->buffer->size / 2;
}
void strides_row_major(int rank, const int64_t *shape, int64_t *strides);
bool tensor_is_contiguous(const Tensor *t);
bool shapes_equal(const Tensor *a, const Tensor *b);

/* An iterator over a strided tensor's elements in row-major order, in runs
 * along the innermost axis:
 *   for (Runs r = runs_over(t); runs_next(&r);)
 *     r.data is the first of r.count elements, r.stride elements apart. */
typedef struct Runs {
  const Tensor *tensor;
  char *data;
  int64_t count, stride;
  int64_t index[RANK_MAX];
  bool started, done;
} Runs;
Runs runs_over(const Tensor *t);
bool runs_next(Runs *r);

/* --- Elements ----------------------------------------------------------- */

/* Element `i` in row-major order, as raw bits or converted (integers
 * saturate). */
Value tensor_bits_at(const Tensor *t, int64_t i);
double tensor_f64_at(const Tensor *t, int64_t i);
int64_t tensor_i64_at(const Tensor *t, int64_t i);
double bits_to_f64(DType dtype, Value bits);
int64_t bits_to_i64(DType dtype, Value bits);
/* Conversions as the language's `cast` does them: to floats rounds once, from
 * floats to integers truncates and saturates (NaN gives 0), between integers
 * wraps. */
Value bits_from_f64(DType dtype, double v);
Value bits_from_i64(DType dtype, int64_t v);
/* Is it an element?  A bool is 0 or 1, an int4 -8 to 7 in its byte; kernels
 * rely on it. */
bool bits_are_valid(DType dtype, Value bits);
/* Loads and stores one element at an address. */
Value bits_load(DType dtype, const void *at);
void bits_store(DType dtype, void *at, Value bits);

/* Copies elements without conversion into `dst`, of the same dtype and shape;
 * both may be strided. */
void tensor_copy_into(Tensor *dst, const Tensor *src);
/* Equality of bits; any two NaNs are equal. */
bool tensor_same(const Tensor *a, const Tensor *b);

/* --- Text ------------------------------------------------------------------
 * A float prints as the shortest decimal that reads back to the same bits. */

/* "0.1", "-0.0", "1e+30", "nan", "inf".  With `point`, a decimal point or an
 * exponent is always present. */
void float_print(StrBuf *out, DType dtype, Value bits, bool point);
/* A literal of the language: 1, 2i64, 0.5f, True, nanf. */
void scalar_print_literal(StrBuf *out, DType dtype, Value bits);
/* The same, of a float with at most so many significant digits; 0: as many as
 * read back to it. */
void scalar_print_rounded(StrBuf *out, DType dtype, Value bits, int digits);
/* "(2, 3)", "(4)", "()". */
void shape_print(StrBuf *out, int rank, const int64_t *shape);
/* "Tensor[(2, 3), float32]", a scalar's plain "float32". */
void tensor_print_type(StrBuf *out, const Tensor *t);
/* Nested brackets fitted to `width` columns, long axes elided with "...",
 * floats with at most so many significant digits; 0: as many as read back to
 * them. */
void tensor_print_block(StrBuf *out, const Tensor *t, int width, int indent,
                        int digits);
/* The same on one line, without padding: a small tensor whole, of a larger one
 * its corner.  For ranks above 0.  False, and prints nothing, where that takes
 * more than `width` columns. */
bool tensor_print_line(StrBuf *out, const Tensor *t, int width);
/* Asked now and then during long work: shall it end early?  NULL for never. */
typedef struct GiveUp {
  bool (*asked)(const void *data);
  const void *data;
} GiveUp;
/* {"dtype": ..., "shape": [...], "data": [...]}, incomplete when `up` said to
 * end. */
void tensor_print_json(StrBuf *out, const Tensor *t, const GiveUp *up);

#endif
