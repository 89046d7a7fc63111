/* Tensors that the host makes and reads.
 *
 * A handle has the tensor's header in itself and a reference to a buffer; so it
 * needs no heap, and several threads can make and free handles of one context
 * without its lock.  Buffers count their references atomically and are shared
 * by handles, sessions and files. */
#include <string.h>

#include "lib/handles.h"
#include "lib/inside.h"

/* Handles use no heap that another thread might be using: a buffer is its own
 * block, for which an empty heap does. */
void tensor_release_buffer(rly_context *cx, Buffer *b) {
  Heap heap;
  heap_init(&heap, &cx->mem);
  buffer_drop(&heap, b);
  heap_done(&heap);
}

/* Does every element's distance from the first, in bytes, fit 64 bits? */
static bool strides_sensible(const Tensor *t) {
  int64_t reach[2] = {0, 0}, step; /* backwards, forwards */
  for (int i = 0; i < t->rank; i++) {
    int64_t *end = &reach[t->strides[i] > 0];
    if (t->shape[i] > 1 &&
        (__builtin_mul_overflow(t->strides[i], t->shape[i] - 1, &step) ||
         __builtin_add_overflow(*end, step, end)))
      return false;
  }
  int64_t width = (int64_t)dtype_size(t->dtype);
  return !__builtin_mul_overflow(reach[0], width, &step) &&
         !__builtin_mul_overflow(reach[1], width, &step);
}

/* Kernels rely on bools being 0 or 1, and on int4 being -8 to 7. */
static bool strided_elements_are_valid(const Tensor *t) {
  DType dtype = (DType)t->dtype;
  size_t width = dtype_size(dtype);
  if (dtype_info[dtype].bits == 8 * width) return true;
  for (Runs r = runs_over(t); runs_next(&r);)
    for (int64_t i = 0; i < r.count; i++) {
      const char *at = r.data + i * r.stride * (int64_t)width;
      if (!bits_are_valid(dtype, bits_load(dtype, at))) return false;
    }
  return true;
}

bool elements_are_of(const char *dtype, const void *elements, size_t bytes) {
  return elements_are_valid(NULL, dtype_find(dtype, strlen(dtype)), elements,
                            bytes);
}

/* Everything that a host may have got wrong: a name of no dtype, too many axes,
 * lengths whose product overflows, no elements, and bytes that are no
 * element. */
static const char *what_is_wrong(const char *dtype, int rank,
                                 const int64_t *shape, const int64_t *strides,
                                 const void *elements, Tensor *t) {
  int64_t count;
  size_t bytes;
  if (rank < 0 || rank > RANK_MAX) return "the rank must be from 0 to 8";
  if (rank && !shape) return "the shape is NULL";
  DType type = dtype ? dtype_find(dtype, strlen(dtype)) : DTYPE_NONE;
  if (type == DTYPE_NONE) return "there is no such dtype";
  if (!shape_size(type, rank, shape, &count, &bytes))
    return "the shape has a negative dimension, or too many elements";
  if (!elements && count) return "the elements are NULL";
  *t = tensor_on_data(type, rank, shape, (void *)elements);
  if (strides) memcpy(t->strides, strides, (size_t)rank * sizeof *strides);
  if (strides && !strides_sensible(t)) return "the strides are too large";
  if (!(strides ? strided_elements_are_valid(t)
                : elements_are_valid(NULL, type, elements, bytes)))
    return "an element is none of the dtype (a bool is 0 or 1)";
  return NULL;
}

bool tensor_sensible_for(const char *function, const char *dtype, int rank,
                         const int64_t *shape, const int64_t *strides,
                         const void *elements, Tensor *t) {
  const char *wrong = what_is_wrong(dtype, rank, shape, strides, elements, t);
  if (wrong)
    misuse(function, "%s (dtype %.40s, rank %d)", wrong, dtype ? dtype : "NULL",
           rank);
  return !wrong;
}

/* A handle on `shape` elements at `data` of a buffer, whose reference it
 * consumes. */
static rly_tensor *handle_take(rly_context *cx, DType dtype, int rank,
                               const int64_t *shape, void *data, Buffer *b) {
  rly_tensor *handle = mem_alloc(&cx->mem, sizeof *handle);
  if (!handle) {
    tensor_release_buffer(cx, b);
    return NULL;
  }
  *handle = (rly_tensor){.cx = cx,
                         .tensor = tensor_on_data(dtype, rank, shape, data)};
  handle->tensor.buffer = b;
  context_keep(cx);
  return handle;
}

/* A handle on elements of its own, not set. */
static rly_tensor *handle_new(rly_context *cx, DType dtype, int rank,
                              const int64_t *shape, size_t bytes) {
  Heap heap;
  heap_init(&heap, &cx->mem);
  Buffer *b = buffer_new(&heap, bytes);
  heap_done(&heap);
  return b ? handle_take(cx, dtype, rank, shape, b->data, b) : NULL;
}

rly_tensor *tensor_copy_handle(rly_context *cx, const Tensor *t) {
  rly_tensor *copy =
      handle_new(cx, (DType)t->dtype, t->rank, t->shape, tensor_bytes(t));
  if (copy) tensor_copy_into(&copy->tensor, t);
  return copy;
}

rly_tensor *tensor_handle(rly_context *cx, const Tensor *t) {
  if (!tensor_is_contiguous(t)) return tensor_copy_handle(cx, t);
  buffer_keep(t->buffer);
  return handle_take(cx, (DType)t->dtype, t->rank, t->shape, t->data,
                     t->buffer);
}

rly_tensor *rly_tensor_new(rly_context *cx, const char *dtype, int rank,
                           const int64_t *shape, const void *elements) {
  Tensor given;
  if (!require(cx, "the context is NULL") ||
      !tensor_sensible(dtype, rank, shape, NULL, elements, &given))
    return NULL;
  return tensor_copy_handle(cx, &given);
}

/* The elements must lie where a dtype may (alignment).  `release` is set last:
 * until the handle exists, the memory is still the caller's, and must not be
 * released on failure. */
rly_tensor *rly_tensor_borrow(rly_context *cx, const char *dtype, int rank,
                              const int64_t *shape, const void *elements,
                              void (*release)(void *owner), void *owner) {
  Tensor given;
  if (!require(cx, "the context is NULL") ||
      !tensor_sensible(dtype, rank, shape, NULL, elements, &given) ||
      !require((uintptr_t)elements % dtype_size(given.dtype) == 0,
               "the elements are not aligned"))
    return NULL;
  Heap heap;
  heap_init(&heap, &cx->mem);
  Buffer *b = buffer_borrow(&heap, elements, tensor_bytes(&given), NULL, owner);
  heap_done(&heap);
  rly_tensor *t =
      b ? handle_take(cx, (DType)given.dtype, rank, shape, given.data, b)
        : NULL;
  if (t) b->release = release; /* the memory is ours from here on */
  return t;
}

void rly_tensor_free(rly_tensor *t) {
  if (!t) return;
  rly_context *cx = t->cx;
  tensor_release_buffer(cx, t->tensor.buffer);
  mem_free(&cx->mem, t, sizeof *t);
  context_drop(cx);
}

const char *rly_tensor_dtype(const rly_tensor *t) {
  return t ? dtype_name(t->tensor.dtype) : NULL;
}

int rly_tensor_rank(const rly_tensor *t) { return t ? t->tensor.rank : -1; }

int64_t rly_tensor_dim(const rly_tensor *t, int axis) {
  return t && axis >= 0 && axis < t->tensor.rank ? t->tensor.shape[axis] : -1;
}

int64_t rly_tensor_count(const rly_tensor *t) {
  return t ? tensor_count(&t->tensor) : 0;
}

const void *rly_tensor_data(const rly_tensor *t) {
  return t ? t->tensor.data : NULL;
}
