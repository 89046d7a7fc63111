/* The values of ONNX's backend tests: a tensor, a sequence or an optional in a
 * file of its own.  Which of them it is, the model's type says. */
#include "onnx/onnx.h"
#include "onnx/read.h"

enum { NESTED_MOST = 8 };

typedef struct Reading {
  const char *path;
  Heap *heap;
  Arena *arena;
  Diags *diags;
} Reading;

static bool read_tensor(Reading *r, const Onnx__TensorProto *p,
                        OnnxValue *out) {
  out->tensor = onnx_tensor(r->heap, p, r->path, "value", r->diags);
  out->strings = p->data_type == ONNX_STRING;
  return out->tensor != NULL;
}

static bool read_sequence(Reading *r, const Onnx__SequenceProto *p,
                          OnnxValue *out, int depth) {
  bool nested = p->n_sequence_values > 0;
  size_t n = nested ? p->n_sequence_values : p->n_tensor_values;
  out->items = ARENA_ARRAY(r->arena, OnnxValue, n + 1);
  if (!out->items || depth > NESTED_MOST) return false;
  for (size_t i = 0; i < n; i++) {
    OnnxValue *item = &out->items[out->count++];
    if (nested ? !read_sequence(r, p->sequence_values[i], item, depth + 1)
               : !read_tensor(r, p->tensor_values[i], item))
      return false;
  }
  return true;
}

static bool read_optional(Reading *r, const Onnx__OptionalProto *p,
                          OnnxValue *out) {
  out->none = !p->tensor_value && !p->sequence_value;
  if (out->none) return true;
  out->some = true;
  out->items = ARENA_ARRAY(r->arena, OnnxValue, 1);
  if (!out->items) return false;
  out->count = 1;
  return p->tensor_value ? read_tensor(r, p->tensor_value, out->items)
                         : read_sequence(r, p->sequence_value, out->items, 0);
}

bool onnx_value_read(const char *path, const OnnxType *type, Heap *heap,
                     Arena *arena, OnnxValue *out, Diags *diags) {
  *out = (OnnxValue){0};
  const ProtobufCMessageDescriptor *what =
      type->kind == ONNX_TENSOR     ? &onnx__tensor_proto__descriptor
      : type->kind == ONNX_SEQUENCE ? &onnx__sequence_proto__descriptor
                                    : &onnx__optional_proto__descriptor;
  ProtobufCMessage *m = onnx_message_read(heap->mem, path, what, diags);
  if (!m) return false;
  Reading r = {path, heap, arena, diags};
  bool fine = type->kind == ONNX_TENSOR
                  ? read_tensor(&r, (Onnx__TensorProto *)m, out)
              : type->kind == ONNX_SEQUENCE
                  ? read_sequence(&r, (Onnx__SequenceProto *)m, out, 0)
                  : read_optional(&r, (Onnx__OptionalProto *)m, out);
  onnx_message_free(heap->mem, m);
  /* NumPy has no bfloat16: data up to ONNX 1.12 has its bits as uint16. */
  if (fine && out->tensor && out->tensor->dtype == DT_UINT16 &&
      type->dtype == dtype_name(DT_BFLOAT16))
    out->tensor->dtype = DT_BFLOAT16;
  if (!fine) onnx_value_drop(heap, out);
  return fine;
}

void onnx_value_drop(Heap *heap, OnnxValue *v) {
  if (v->tensor) tensor_drop(heap, v->tensor);
  for (int i = 0; i < v->count; i++) onnx_value_drop(heap, &v->items[i]);
  *v = (OnnxValue){0};
}
