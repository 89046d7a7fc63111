/* Tensors of other libraries, by DLPack: the structure in which torch, numpy,
 * jax and others hand tensors to each other without a copy.
 *
 * Its layout stands here as its specification has it, from version 0.2 on;
 * rly.h only names it, so that a host may include DLPack's header, too.
 * Whoever takes a DLManagedTensor calls its deleter when the elements are not
 * needed any more. */
#include <string.h>

#include "lib/handles.h"

enum { DL_CPU = 1, DL_BOOL = 6 };

typedef struct DLTensor {
  void *data;
  struct {
    int32_t type, id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape, *strides; /* in elements; `strides` NULL: row-major */
  uint64_t byte_offset;     /* of element (0, ..., 0) from `data` */
} DLTensor;

typedef struct DLManagedTensor {
  DLTensor tensor;
  void *context;
  void (*deleter)(struct DLManagedTensor *self); /* may be NULL */
} DLManagedTensor;

/* A bool takes a byte, for which DLPack has a code of its own since 0.8; TVM's
 * files, for which the table is too, call it an unsigned integer of a bit. */
static DType dtype_of(uint8_t code, uint8_t bits) {
  if (code == DL_BOOL) return bits == 8 ? DT_BOOL : DTYPE_NONE;
  for (int i = 0; i < DTYPE_COUNT; i++)
    if (i != DT_BOOL && dtype_info[i].form != FORM_NARROW &&
        dtype_info[i].dlpack == code && dtype_info[i].bits == bits)
      return (DType)i;
  return DTYPE_NONE;
}

/* --- In ------------------------------------------------------------------ */

static void delete (void *managed) {
  DLManagedTensor *m = managed;
  if (m->deleter) m->deleter(m);
}

/* False after telling what is wrong. */
static bool read_dlpack(const char *function, const DLManagedTensor *m,
                        rly_array *out) {
  if (!m) return misuse(function, "the tensor is NULL"), false;
  const DLTensor *t = &m->tensor;
  DType dtype = dtype_of(t->dtype.code, t->dtype.bits);
  if (t->device.type != DL_CPU)
    misuse(function, "the tensor lies on a device of type %d, not in memory",
           (int)t->device.type);
  else if (t->dtype.lanes != 1 || dtype == DTYPE_NONE)
    misuse(function, "rly has no dtype of DLPack's code %d, %d bits, %d lanes",
           t->dtype.code, t->dtype.bits, t->dtype.lanes);
  else if (t->ndim < 0 || t->ndim > RANK_MAX || (t->ndim && !t->shape))
    misuse(function, "the rank is %d, not from 0 to 8", (int)t->ndim);
  else {
    size_t n = (size_t)t->ndim * sizeof *t->shape;
    *out = (rly_array){
        .dtype = dtype_name(dtype), .rank = t->ndim, .strided = t->strides};
    out->data = t->data ? (char *)t->data + t->byte_offset : NULL;
    if (n) memcpy(out->shape, t->shape, n);
    if (n && t->strides) memcpy(out->strides, t->strides, n);
    return true;
  }
  return false;
}

static bool is_aligned(const rly_array *a) {
  size_t size = dtype_size(dtype_find(a->dtype, strlen(a->dtype)));
  return (uintptr_t)a->data % size == 0;
}

rly_value *rly_value_of_dlpack(rly_session *s, struct DLManagedTensor *t,
                               bool copied) {
  rly_array a;
  if (!require(s, "the session is NULL") || !read_dlpack(__func__, t, &a))
    return NULL;
  copied |= !is_aligned(&a);
  rly_value *v = array_value_for(__func__, s, &a, copied ? NULL : delete, t);
  if (v && copied) delete (t);
  return v;
}

rly_tensor *rly_tensor_of_dlpack(rly_context *cx, struct DLManagedTensor *t,
                                 bool copied) {
  rly_array a;
  Tensor given;
  if (!require(cx, "the context is NULL") || !read_dlpack(__func__, t, &a) ||
      !tensor_sensible(a.dtype, a.rank, a.shape, a.strided ? a.strides : NULL,
                       a.data, &given))
    return NULL;
  if (!copied && tensor_is_contiguous(&given) && is_aligned(&a))
    return rly_tensor_borrow(cx, a.dtype, a.rank, a.shape, a.data, delete, t);
  rly_tensor *made = tensor_copy_handle(cx, &given);
  if (made) delete (t);
  return made;
}

/* --- Out ------------------------------------------------------------------ */

/* What others are given, and what of ours it holds. */
typedef struct Given {
  DLManagedTensor managed; /* first: the taker is given its address */
  rly_context *cx;
  Buffer *buffer;
  int64_t shape[RANK_MAX], strides[RANK_MAX];
} Given;

/* Called on any thread. */
static void given_back(DLManagedTensor *m) {
  Given *g = (Given *)m;
  rly_context *cx = g->cx;
  tensor_release_buffer(cx, g->buffer);
  mem_free(&cx->mem, g, sizeof *g);
  context_drop(cx);
}

static DLManagedTensor *give(const char *function, rly_context *cx,
                             const Tensor *t) {
  const DTypeInfo *info = &dtype_info[t->dtype];
  if (info->form == FORM_NARROW)
    return misuse(
               function,
               "DLPack packs the elements of %s, which take a byte each here",
               info->name),
           NULL;
  Given *g = mem_alloc(&cx->mem, sizeof *g);
  if (!g) return misuse(function, "no memory"), NULL;
  bool is_bool = t->dtype == DT_BOOL;
  *g = (Given){.cx = cx, .buffer = t->buffer};
  memcpy(g->shape, t->shape, sizeof g->shape);
  memcpy(g->strides, t->strides, sizeof g->strides);
  g->managed =
      (DLManagedTensor){.tensor = {.data = t->data,
                                   .device = {DL_CPU, 0},
                                   .ndim = t->rank,
                                   .dtype = {is_bool ? DL_BOOL : info->dlpack,
                                             is_bool ? 8 : info->bits, 1},
                                   .shape = g->shape,
                                   .strides = g->strides},
                        .deleter = given_back};
  buffer_keep(t->buffer);
  context_keep(cx);
  return &g->managed;
}

struct DLManagedTensor *rly_tensor_dlpack(const rly_tensor *t) {
  if (!t) return misuse(__func__, "the tensor is NULL"), NULL;
  return give(__func__, t->cx, &t->tensor);
}

/* A scalar has no elements in memory, so they are made for it. */
static DLManagedTensor *give_value(rly_value *v) {
  rly_context *cx = v->session->program->cx;
  const Type *type = v->type;
  if (!type_is_scalar(type))
    return give("rly_value_dlpack", cx, v->value.tensor);
  Heap *heap = &store_of(v->session)->heap;
  Tensor *t = tensor_from_bits(heap, (DType)type->dtype, v->value);
  if (!t) return misuse("rly_value_dlpack", "no memory"), NULL;
  DLManagedTensor *given = give("rly_value_dlpack", cx, t);
  tensor_drop(heap, t);
  return given;
}

struct DLManagedTensor *rly_value_dlpack(rly_value *v) {
  if (!v || v->type->kind != TY_TENSOR)
    return misuse(__func__, "the value is %s", v ? "no tensor" : "NULL"), NULL;
  if (!session_hold(v->session)) return NULL;
  DLManagedTensor *given = give_value(v);
  session_release(v->session);
  return given;
}
