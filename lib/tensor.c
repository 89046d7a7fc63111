/* Tensors that the host makes and reads. */
#include <string.h>

#include "lib/handles.h"

/* The arguments as a tensor would have them, or false. */
static bool sensible(rly_context *cx, const char *dtype, int rank,
                     const int64_t *shape, const void *elements,
                     DType *found, int64_t *count) {
  if (!cx || !dtype || rank < 0 || rank > RANK_MAX || (rank && !shape))
    return false;
  *found = dtype_find(dtype, strlen(dtype));
  return *found != DTYPE_NONE && shape_count(rank, shape, count) &&
         (elements || !*count) &&
         *count <= INT64_MAX / (int64_t)dtype_size(*found);
}

rly_tensor *tensor_handle_take(rly_context *cx, Tensor *t) {
  rly_tensor *handle = t ? mem_alloc(&cx->mem, sizeof *handle) : NULL;
  if (handle) *handle = (rly_tensor){.cx = cx, .tensor = t};
  if (!handle && t) tensor_drop(&cx->heap, t);
  return handle;
}

rly_tensor *rly_tensor_new(rly_context *cx, const char *dtype, int rank,
                           const int64_t *shape, const void *elements) {
  DType type;
  int64_t count;
  if (!sensible(cx, dtype, rank, shape, elements, &type, &count)) return NULL;
  Tensor *t = tensor_new(&cx->heap, type, rank, shape);
  if (t && count) memcpy(t->data, elements, tensor_bytes(t));
  return tensor_handle_take(cx, t);
}

rly_tensor *rly_tensor_borrow(rly_context *cx, const char *dtype, int rank,
                              const int64_t *shape, const void *elements,
                              void (*release)(void *owner), void *owner) {
  DType type;
  int64_t count;
  if (!sensible(cx, dtype, rank, shape, elements, &type, &count)) return NULL;
  Buffer *b = buffer_borrow(&cx->heap, elements,
                            (size_t)count * dtype_size(type), release, owner);
  if (!b) return NULL;
  Tensor base = tensor_on_data(type, rank, shape, (void *)elements);
  base.buffer = b;
  Tensor *t = tensor_view(&cx->heap, &base, rank, shape, base.strides, 0);
  buffer_drop(&cx->heap, b);
  return tensor_handle_take(cx, t);
}

void rly_tensor_free(rly_tensor *t) {
  if (!t) return;
  tensor_drop(&t->cx->heap, t->tensor);
  mem_free(&t->cx->mem, t, sizeof *t);
}

const char *rly_tensor_dtype(const rly_tensor *t) {
  return t ? dtype_name(t->tensor->dtype) : NULL;
}

int rly_tensor_rank(const rly_tensor *t) { return t ? t->tensor->rank : -1; }

int64_t rly_tensor_dim(const rly_tensor *t, int axis) {
  return t && axis >= 0 && axis < t->tensor->rank ? t->tensor->shape[axis]
                                                  : -1;
}

int64_t rly_tensor_count(const rly_tensor *t) {
  return t ? tensor_count(t->tensor) : 0;
}

const void *rly_tensor_data(const rly_tensor *t) {
  return t ? t->tensor->data : NULL;
}
