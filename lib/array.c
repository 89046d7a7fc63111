/* Arrays: numbers in the host's own memory, strided as they lie there.
 *
 * A call by handles takes a host some ten functions: a value made of each
 * argument, the call, then the result's dtype, rank, lengths and elements, and
 * all is freed again.  From a language where each of them costs a part of a
 * microsecond, as Python, that is most of a small call's time.
 * rly_session_call_arrays() is all of it in one. */
#include <string.h>

#include "lib/handles.h"

/* A header on the C stack; false after telling what is wrong. */
static bool array_tensor(const char *function, const rly_array *a, Tensor *t) {
  if (!a) {
    misuse(function, "the array is NULL");
    return false;
  }
  return tensor_sensible_for(function, a->dtype, a->rank, a->shape,
                             a->strided ? a->strides : NULL, a->data, t);
}

static void array_set(rly_array *a, const Tensor *t) {
  a->data = t->data;
  a->dtype = dtype_name((DType)t->dtype);
  a->rank = t->rank;
  a->strided = !tensor_is_contiguous(t);
  memcpy(a->shape, t->shape, sizeof a->shape);
  memcpy(a->strides, t->strides, sizeof a->strides);
}

/* --- Values -------------------------------------------------------------- */

/* Nothing asks a foreign buffer for its size, as a result is never written over
 * it.  `release` is set last, as in rly_tensor_borrow.  A scalar's number is
 * read at once, and its memory released here. */
static rly_value *borrowed(rly_session *s, Tensor *t, void (*release)(void *),
                           void *owner) {
  Heap *heap = &store_of(s)->heap;
  t->buffer = buffer_borrow(heap, t->data, tensor_bytes(t), NULL, owner);
  if (!t->buffer) return NULL;
  rly_value *v = value_handle_of(s, t, false);
  if (v) t->buffer->release = release;
  buffer_drop(heap, t->buffer);
  return v;
}

rly_value *array_value_for(const char *function, rly_session *s,
                           const rly_array *elements,
                           void (*release)(void *owner), void *owner) {
  Tensor t;
  if (!require_for(function, s, "the session is NULL") ||
      !array_tensor(function, elements, &t))
    return NULL;
  if (release && (uintptr_t)t.data % dtype_size(t.dtype)) {
    misuse(function, "the elements are not aligned for %.40s", elements->dtype);
    return NULL;
  }
  if (!session_hold_for(function, s)) return NULL;
  rly_value *v = s->freed  ? NULL
                 : release ? borrowed(s, &t, release, owner)
                           : value_handle_of(s, &t, true);
  session_release(s);
  return v;
}

rly_value *rly_value_of_array(rly_session *s, const rly_array *elements,
                              void (*release)(void *owner), void *owner) {
  return array_value_for(__func__, s, elements, release, owner);
}

bool rly_value_array(rly_value *v, rly_array *out) {
  if (!v || !out || v->type->kind != TY_TENSOR) {
    misuse(__func__, "the %s",
           !v     ? "value is NULL"
           : !out ? "array is NULL"
                  : "value is no tensor");
    return false;
  }
  if (!session_hold(v->session)) return false;
  Tensor scalar, *t = &scalar;
  if (type_is_scalar(v->type))
    scalar = tensor_on_bits((DType)v->type->dtype, &v->value);
  else t = v->value.tensor;
  array_set(out, t);
  session_release(v->session);
  return true;
}

/* --- Calls --------------------------------------------------------------- */

/* Does a tensor pass where `wanted` is declared?  As passes_as(), without a
 * type made of the tensor, for which sessions would wait for each other. */
static bool tensor_passes(const Tensor *t, const Type *wanted) {
  if (wanted->kind != TY_TENSOR || wanted->dtype != t->dtype) return false;
  if (wanted->any_rank) return t->rank > 0;
  return wanted->rank == t->rank &&
         value_fits(wanted, (Value){.tensor = (Tensor *)t});
}

/* Reads a number that is passed where a number is declared: a small call is
 * little more than its arguments, and needs no header for them.  False: it is
 * something else, or is wrong. */
static bool read_number(const rly_array *a, const Type *wanted, Value *v) {
  if (a->rank || !type_is_scalar(wanted) || !a->dtype || !a->data) return false;
  DType dtype = (DType)wanted->dtype;
  const char *name = dtype_name(dtype);
  if (a->dtype != name && strcmp(a->dtype, name)) return false;
  *v = bits_load(dtype, a->data);
  return bits_are_valid(dtype, *v);
}

/* A value of the session's own of argument `i`. */
static rly_status copy_argument(rly_session *s, const Global *g, int i,
                                const rly_array *a, Value *v) {
  Tensor t;
  const Type *wanted = g->type->args[i];
  if (read_number(a, wanted, v)) return RLY_OK;
  if (!array_tensor("rly_session_call_arrays", a, &t)) return RLY_MISUSE;
  if (!tensor_passes(&t, wanted)) {
    report_misfit_argument(s, g, i, wanted, type_of_tensor(s, &t));
    return RLY_REFUSED;
  }
  if (t.rank == 0) {
    *v = bits_load((DType)t.dtype, t.data);
    return RLY_OK;
  }
  v->tensor = tensor_copy(&store_of(s)->heap, &t);
  if (v->tensor) return RLY_OK;
  return session_out_of_memory(s);
}

/* Is there room for a result of so many bytes? */
static bool has_room(const rly_array *result, size_t bytes) {
  return bytes <= result->room && (!bytes || result->data);
}

/* A scalar is the bits of its number; nothing is made for it. */
static bool write_scalar(DType dtype, Value v, rly_array *result) {
  if (!has_room(result, dtype_size(dtype))) return false;
  bits_store(dtype, result->data, v);
  result->dtype = dtype_name(dtype);
  result->rank = 0;
  result->strided = false;
  return true;
}

static bool write_tensor(const Tensor *t, rly_array *result) {
  size_t bytes = tensor_bytes(t);
  if (!has_room(result, bytes)) return false;
  Tensor to = tensor_on_data((DType)t->dtype, t->rank, t->shape, result->data);
  if (bytes) tensor_copy_into(&to, t);
  array_set(result, &to);
  return true;
}

/* Writes a result to the host's memory; false where it does not fit there. */
static bool write_result(const Type *type, Value v, rly_array *result) {
  if (type->kind != TY_TENSOR) return false;
  return type_is_scalar(type) ? write_scalar((DType)type->dtype, v, result)
                              : write_tensor(v.tensor, result);
}

/* `room` is where the result may be written; what is not is in *value. */
static rly_status call_arrays(rly_session *s, const Global *g, int count,
                              const rly_array *args, rly_array *room,
                              rly_value **value) {
  const Type *fn = g->type;
  if (fn->count != count) return session_refuse_count(s, g, fn, count);
  rly_status status = session_start(s, true);
  Value values[count + 1], v;
  int made = 0;
  for (; status == RLY_OK && made < count; made += status == RLY_OK)
    status = copy_argument(s, g, made, &args[made], &values[made]);
  if (status == RLY_OK) status = session_run_function(s, g, values, &v);
  while (made-- > 0) value_drop(store_of(s), fn->args[made], values[made]);
  if (status != RLY_OK) return status;
  if (!write_result(fn->result, v, room))
    return session_give_take(s, fn->result, v, value);
  value_drop(store_of(s), fn->result, v);
  *value = NULL;
  return RLY_OK;
}

rly_status rly_session_call_arrays(rly_session *s, const rly_function *f,
                                   int count, const rly_array *args,
                                   rly_array *result, rly_value **value) {
  const char *missing = !result                         ? "result"
                        : !value                        ? "value"
                        : count < 0 || (count && !args) ? "list of arguments"
                                                        : NULL;
  if (missing) misuse(__func__, "the %s is NULL", missing);
  if (missing || !session_enter_function(__func__, s, f)) return RLY_MISUSE;
  rly_status status =
      call_arrays(s, (const Global *)f, count, args, result, value);
  session_leave(s);
  return status;
}
