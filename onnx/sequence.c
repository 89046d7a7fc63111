/* Optionals.  What their operators mean depends on the kind of the input, which
 * may be an optional, a sequence or a tensor; so the importer chooses. */
#include "onnx/import.h"

/* None of a type that is written, or Some of the input. */
bool emit_optional(Import *im, const Onnx__NodeProto *n) {
  bool failed = false;
  const char *text = input_text(im, n, 0, &failed);
  if (failed) return false;
  if (n->n_output != 1) return node_error(im, n, E0804, "it has one output");
  OnnxType *type = ARENA_NEW(im->arena, OnnxType);
  if (!type) return false;
  type->kind = ONNX_OPTIONAL;
  if (text) {
    type->element = type_of(im, text);
    emit_results(im, n, as_type(im, text, type), false);
  } else {
    const Onnx__AttributeProto *a = node_attr(im, n, "type");
    OnnxType *element = ARENA_NEW(im->arena, OnnxType);
    if (!a || !a->tp || !element)
      return node_error(im, n, E0804, "it has neither input nor type");
    const char *name = type_text(im, n->output[0], a->tp, false, element);
    if (!name) return false;
    type->element = element;
    if (element->kind == ONNX_TENSOR)
      name = arena_printf(im->arena, "Tensor[?, %s]", element->dtype);
    line(im, "let %s: Option[%s] = None;", bind_local(im, n->output[0]), name);
  }
  set_output_type(im, n, 0, type);
  return true;
}

/* Since version 18 the input may be the element itself. */
bool emit_get_element(Import *im, const Onnx__NodeProto *n) {
  bool failed = false;
  const char *text = input_text(im, n, 0, &failed);
  if (!text)
    return failed ? false : node_error(im, n, E0804, "it has no input");
  const OnnxType *type = type_of(im, text);
  emit_results(im, n, as_type(im, text, NULL), false);
  bool some = type && type->kind == ONNX_OPTIONAL;
  set_output_type(im, n, 0, some ? type->element : type);
  return true;
}

bool emit_has_element(Import *im, const Onnx__NodeProto *n) {
  bool failed = false;
  const char *text = input_text(im, n, 0, &failed);
  if (failed) return false;
  const OnnxType *type = text ? type_of(im, text) : NULL;
  bool some = type && type->kind == ONNX_OPTIONAL;
  emit_results(
      im, n,
      some   ? arena_printf(im->arena, "@onnx_optional_has_element(%s)", text)
      : text ? "True"
             : "False",
      false);
  return true;
}
