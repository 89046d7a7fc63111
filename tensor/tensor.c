/* Making tensors, and their geometry.  buffer.c has buffers, copy.c copying,
 * element.c single elements, text.c text.
 *
 * A tensor is a header and a reference to a buffer:
 *
 *   Tensor                     Buffer
 *   | obj, dtype, rank   |  .-->| count, ... | elements |
 *   | buffer ---------------'                ^
 *   | data ----------------------------------' element (0, ..., 0)
 *   | shape[], strides[] |
 *
 * Element (i, j, ...) lies at data + (i * strides[0] + j * strides[1] + ...) *
 * size.  A view differs from its base in `data`, shape and strides alone, so
 * reshaping a contiguous tensor, slicing, transposing and broadcasting (stride
 * 0) move no element.  Headers are small and come from the heap's pool; each
 * belongs to one session and is counted without atomics. */
#include "tensor/tensor.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* --- Geometry ------------------------------------------------------------ */

/* Zeros are left out of the product, so that a shape such as (0, 2^62, 2^62) is
 * refused: its row-major strides would overflow.  int64_t is the measure, since
 * offsets are signed. */
bool extent_grow(Extent *e, int64_t dim) {
  if (dim == 0) e->empty = true;
  if (dim <= 0) return dim == 0;
  return !__builtin_mul_overflow(e->product, dim, &e->product);
}

bool extent_bytes(const Extent *e, size_t each, size_t *bytes) {
  int64_t most;
  if (__builtin_mul_overflow(e->product, each, &most)) return false;
  *bytes = e->empty ? 0 : (size_t)most;
  return true;
}

/* Elements of `each` bytes. */
static bool sized(size_t each, int rank, const int64_t *shape, int64_t *count,
                  size_t *bytes) {
  Extent e = EXTENT_NONE;
  for (int i = 0; i < rank; i++)
    if (!extent_grow(&e, shape[i])) return false;
  *count = e.empty ? 0 : e.product;
  return extent_bytes(&e, each, bytes);
}

bool shape_count(int rank, const int64_t *shape, int64_t *count) {
  size_t bytes;
  return sized(1, rank, shape, count, &bytes);
}

bool shape_size(DType dtype, int rank, const int64_t *shape, int64_t *count,
                size_t *bytes) {
  return sized(dtype_size(dtype), rank, shape, count, bytes);
}

/* Cannot overflow: the shape was checked when the tensor was made. */
int64_t tensor_count(const Tensor *t) {
  int64_t count = 1;
  for (int i = 0; i < t->rank; i++) count *= t->shape[i];
  return count;
}

/* The last axis has stride 1.  In an empty tensor the axes before a zero have
 * stride 0; nothing reads through them. */
void strides_row_major(int rank, const int64_t *shape, int64_t *strides) {
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; i--) {
    strides[i] = stride;
    stride *= shape[i];
  }
}

/* Row-major and dense?  The stride of an axis of length 1 is never used, so it
 * may be anything; an empty tensor is contiguous.  `stride` is set to 0 once
 * the answer is no, which keeps the product from overflowing. */
bool tensor_is_contiguous(const Tensor *t) {
  int64_t stride = 1;
  bool dense = true;
  for (int i = t->rank - 1; i >= 0; i--) {
    if (t->shape[i] == 0) return true;
    if (t->shape[i] == 1) continue;
    dense = dense && t->strides[i] == stride;
    stride = dense ? stride * t->shape[i] : 0;
  }
  return dense;
}

bool shapes_equal(const Tensor *a, const Tensor *b) {
  return a->rank == b->rank &&
         !memcmp(a->shape, b->shape, a->rank * sizeof *a->shape);
}

/* --- Making -------------------------------------------------------------- */

static void set_geometry(Tensor *t, int rank, const int64_t *shape,
                         const int64_t *strides) {
  t->rank = (uint8_t)rank;
  strides_row_major(rank, shape, t->strides);
  for (int i = 0; i < rank; i++) {
    t->shape[i] = shape[i];
    if (strides) t->strides[i] = strides[i];
  }
}

/* Makes a counted header; consumes the reference to the buffer, on failure
 * too. */
static Tensor *header_take(Heap *h, DType dtype, Buffer *buffer, char *data) {
  Tensor *t = pool_alloc(&h->pool, sizeof *t);
  if (!t) {
    if (buffer) buffer_drop(h, buffer);
    return NULL;
  }
  t->obj = (Obj){.count = 1, .size = SIZE_TENSOR};
  t->dtype = dtype;
  t->buffer = buffer;
  t->data = data;
  return t;
}

/* Sets shape and row-major strides in one pass; false for an empty or too large
 * tensor, which shape_size() then tells apart.  Most tensors made by a run are
 * neither, and this is on the path of each of them. */
static bool set_row_major(Tensor *t, int rank, const int64_t *shape,
                          size_t *bytes) {
  int64_t count = 1, size;
  t->rank = (uint8_t)rank;
  for (int i = rank - 1; i >= 0; i--) {
    t->shape[i] = shape[i];
    t->strides[i] = count;
    if (shape[i] <= 0 || __builtin_mul_overflow(count, shape[i], &count))
      return false;
  }
  if (__builtin_mul_overflow(count, (int64_t)dtype_size(t->dtype), &size))
    return false;
  *bytes = (size_t)size;
  return true;
}

/* Sets the geometry of a new tensor; `*bytes` receives the size of its
 * elements. */
static bool set_new_geometry(Tensor *t, int rank, const int64_t *shape,
                             size_t *bytes) {
  int64_t count;
  if (rank > RANK_MAX) return false;
  if (set_row_major(t, rank, shape, bytes)) return true;
  if (!shape_size(t->dtype, rank, shape, &count, bytes)) return false;
  set_geometry(t, rank, shape, NULL);
  return true;
}

static Buffer *new_elements(Heap *h, Tensor *t, int rank,
                            const int64_t *shape) {
  size_t bytes;
  if (set_new_geometry(t, rank, shape, &bytes)) return buffer_new(h, bytes);
  mem_refuse_overflow(h->mem);
  return NULL;
}

/* The header comes first: tensor_free() takes it back without a buffer. */
Tensor *tensor_new(Heap *h, DType dtype, int rank, const int64_t *shape) {
  Tensor *t = header_take(h, dtype, NULL, NULL);
  if (!t) return NULL;
  if ((t->buffer = new_elements(h, t, rank, shape))) {
    t->data = t->buffer->data;
    return t;
  }
  tensor_free(h, t);
  return NULL;
}

Tensor *tensor_zeros(Heap *h, DType dtype, int rank, const int64_t *shape) {
  Tensor *t = tensor_new(h, dtype, rank, shape);
  if (t) memset(t->data, 0, tensor_bytes(t));
  return t;
}

Tensor *tensor_on_buffer_take(Heap *h, DType dtype, int rank,
                              const int64_t *shape, const int64_t *strides,
                              Buffer *buffer) {
  Tensor *t = header_take(h, dtype, buffer, buffer->data);
  if (t) set_geometry(t, rank, shape, strides);
  return t;
}

/* The caller has checked that the geometry stays within the buffer. */
Tensor *tensor_view(Heap *h, const Tensor *base, int rank, const int64_t *shape,
                    const int64_t *strides, int64_t offset) {
  char *data = base->data + offset * (int64_t)dtype_size(base->dtype);
  if (base->buffer) buffer_keep(base->buffer);
  Tensor *t = header_take(h, base->dtype, base->buffer, data);
  if (t) set_geometry(t, rank, shape, strides);
  return t;
}

void tensor_reshape(Tensor *t, int rank, const int64_t *shape) {
  assert(obj_unshared(&t->obj) && tensor_is_contiguous(t));
  set_geometry(t, rank, shape, NULL);
}

Tensor *tensor_copy(Heap *h, const Tensor *t) {
  Tensor *copy = tensor_new(h, t->dtype, t->rank, t->shape);
  if (copy) tensor_copy_into(copy, t);
  return copy;
}

Tensor *tensor_contiguous(Heap *h, Tensor *t) {
  return tensor_is_contiguous(t) ? tensor_keep(t) : tensor_copy(h, t);
}

Tensor *tensor_from_bits(Heap *h, DType dtype, Value bits) {
  Tensor *t = tensor_new(h, dtype, 0, NULL);
  if (t) bits_store(dtype, t->data, bits);
  return t;
}

void tensor_free(Heap *h, Tensor *t) {
  if (t->buffer) buffer_drop(h, t->buffer);
  pool_free(&h->pool, t, sizeof *t);
}

/* An immortal count keeps tensor_keep() and tensor_drop() from touching a
 * header on the C stack; without a buffer there is nothing to share. */
Tensor tensor_on_data(DType dtype, int rank, const int64_t *shape, void *data) {
  Tensor t = {
      .obj = {.count = COUNT_IMMORTAL, .size = SIZE_TENSOR},
      .dtype = dtype,
      .data = data,
  };
  set_geometry(&t, rank, shape, NULL);
  return t;
}

Tensor tensor_on_bits(DType dtype, const Value *bits) {
  return tensor_on_data(dtype, 0, NULL, (Value *)bits);
}

/* --- Walking ------------------------------------------------------------- */

/* A scalar is one run of one element; an empty tensor has no runs. */
Runs runs_over(const Tensor *t) {
  int last = t->rank - 1;
  return (Runs){
      .tensor = t,
      .data = t->data,
      .count = last < 0 ? 1 : t->shape[last],
      .stride = last < 0 ? 1 : t->strides[last],
      .done = tensor_count(t) == 0,
  };
}

/* Advances a row-major index over `rank` axes, and the address with it, like an
 * odometer: the last axis moves; one that ends is wound back to 0 and the axis
 * before it moves.  False after the last.  Amortised, little more than one axis
 * moves at each call. */
static bool next_index(int rank, const int64_t *shape, const int64_t *strides,
                       int64_t size, int64_t *index, char **data) {
  for (int i = rank - 1; i >= 0; i--) {
    *data += strides[i] * size;
    if (++index[i] < shape[i]) return true;
    *data -= index[i] * strides[i] * size;
    index[i] = 0;
  }
  return false;
}

bool runs_next(Runs *r) {
  const Tensor *t = r->tensor;
  if (r->done) return false;
  if (!r->started) return r->started = true;
  r->done = !next_index(t->rank - 1, t->shape, t->strides,
                        (int64_t)dtype_size(t->dtype), r->index, &r->data);
  return !r->done;
}

/* --- Comparing ----------------------------------------------------------- */

/* Equal bits, or two NaNs of whatever payload: -0.0 and 0.0 differ. */
static bool same_bits(DType dtype, const char *a, const char *b) {
  Value x = bits_load(dtype, a), y = bits_load(dtype, b);
  return x.bits == y.bits ||
         (dtype_is_float(dtype) && isnan(bits_to_f64(dtype, x)) &&
          isnan(bits_to_f64(dtype, y)));
}

bool tensor_same(const Tensor *a, const Tensor *b) {
  if (a->dtype != b->dtype || !shapes_equal(a, b)) return false;
  int64_t size = (int64_t)dtype_size(a->dtype);
  for (Runs x = runs_over(a), y = runs_over(b); runs_next(&x) && runs_next(&y);)
    for (int64_t i = 0; i < x.count; i++)
      if (!same_bits(a->dtype, x.data + i * x.stride * size,
                     y.data + i * y.stride * size))
        return false;
  return true;
}
