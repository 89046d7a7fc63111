/* What gives tensors of a dtype that the language may lack: Cast, CastLike,
 * QuantizeLinear.  Values of such a dtype are kept in one that holds them all
 * (read.h), after they have been rounded to the values that it has:
 *
 *   let %y = @onnx_cast_to(%x, "INT2", saturate=True);
 *
 * The importer knows the dtype by the node's attribute, or follows it from
 * inputs and initializers (format_of). */
#include <string.h>

#include "onnx/import.h"
#include "onnx/ops.h"

/* The text of an input; NULL: it is missing, or has no value, which the call
 * that needs it will report. */
static const char *input_value(Import *im, const Onnx__NodeProto *n, size_t i) {
  return i < n->n_input && *n->input[i] ? value_text(im, n->input[i]) : NULL;
}

/* The row of a call that rounds to the format. */
static OnnxOp rounding(Import *im, const char *calls, const char *inputs,
                       const char *attrs, const char *format) {
  return (OnnxOp){
      .inputs = inputs,
      .calls = calls,
      .attrs = arena_printf(im->arena, "%s format:\"%s\"", attrs, format)};
}

static bool emit_rounding(Import *im, const Onnx__NodeProto *n,
                          const char *calls, const char *inputs,
                          const char *attrs, const char *format) {
  OnnxOp op = rounding(im, calls, inputs, attrs, format);
  if (!op.attrs || !emit_call(im, n, &op)) return false;
  set_output_format(im, n, format);
  return true;
}

/* Floats of 8 bits take their greatest number for what is greater; floats wrap
 * to integers of 4 bits, as integers do. */
bool emit_cast(Import *im, const Onnx__NodeProto *n) {
  static const OnnxOp cast = {.inputs = "X",
                              .calls = "cast",
                              .attrs = "=$to>dtype -saturate -round_mode"};
  static const OnnxOp saturated = {.inputs = "X",
                                   .calls = "@onnx_cast_like_19",
                                   .attrs = "=!to> -saturate -round_mode"};
  static const OnnxOp read = {.inputs = "X",
                              .calls = "@onnx_string_number",
                              .attrs = "=!to> -saturate -round_mode",
                              .strings = ""};
  int32_t number = (int32_t)node_int(im, n, "to", 0);
  const char *text = input_value(im, n, 0);
  bool string = is_string(im, text);
  if (number == ONNX_STRING && string) return emit_identity(im, n);
  if (number == ONNX_STRING)
    return node_error(im, n, E0805, "numbers are not written as strings");
  if (string) return emit_call(im, n, &read);
  const char *format = onnx_dtype_format(number);
  if (format)
    return emit_rounding(im, n, "@onnx_cast_to", "X",
                         "-to ?saturate round_mode", format);
  DType to = onnx_dtype(number, NULL);
  const char *from = dtype_of(im, text);
  if (from && to != DTYPE_NONE && !strcmp(from, dtype_name(to)) &&
      n->n_output == 1) {
    bind_text(im, n->output[0], text); /* exporters write casts of no effect */
    return true;
  }
  bool coded = to == DT_FLOAT8_E4M3 || to == DT_FLOAT8_E5M2 || to == DT_INT4 ||
               to == DT_UINT4;
  bool saturates = node_int(im, n, "saturate", 1) != 0;
  return emit_call(im, n, coded && saturates ? &saturated : &cast);
}

/* The row of ops.def, where the dtype is the language's own. */
static bool emit_row(Import *im, const Onnx__NodeProto *n, const char *name,
                     int64_t version) {
  bool known;
  return emit_call(im, n, onnx_op_find(NULL, name, version, &known));
}

/* A CastLike of strings: strings to strings change nothing, strings to numbers
 * are read, numbers to strings are refused.  `*done`: the node has strings. */
static bool emit_strings_like(Import *im, const Onnx__NodeProto *n,
                              bool *done) {
  static const OnnxOp read = {.inputs = "X T",
                              .calls = "@onnx_string_number",
                              .attrs = "-saturate -round_mode",
                              .strings = ""};
  bool from = is_string(im, input_value(im, n, 0));
  bool to = is_string(im, input_value(im, n, 1));
  *done = from || to;
  if (from && to) return emit_identity(im, n);
  if (to) return node_error(im, n, E0805, "numbers are not written as strings");
  return !from || emit_call(im, n, &read);
}

bool emit_cast_like_15(Import *im, const Onnx__NodeProto *n) {
  bool done;
  if (!emit_strings_like(im, n, &done)) return false;
  return done || emit_row(im, n, "CastLike", 15);
}

bool emit_cast_like(Import *im, const Onnx__NodeProto *n) {
  bool done;
  if (!emit_strings_like(im, n, &done)) return false;
  if (done) return true;
  const char *format = format_of(im, input_value(im, n, 1));
  if (!format) return emit_row(im, n, "CastLike", INT64_MAX);
  Onnx__NodeProto alone = *n; /* no call needs the tensor of that dtype */
  alone.n_input = 1;
  return emit_rounding(im, &alone, "@onnx_cast_to", "X", "?saturate round_mode",
                       format);
}

/* The dtype is that of the zero point, or where there is none an attribute. */
bool emit_quantize(Import *im, const Onnx__NodeProto *n) {
  const char *zero = input_value(im, n, 2);
  const char *format =
      zero ? format_of(im, zero)
           : onnx_dtype_format((int32_t)node_int(im, n, "output_dtype", 0));
  if (!format) return emit_row(im, n, "QuantizeLinear", INT64_MAX);
  return emit_rounding(
      im, n, "@onnx_quantize_linear_to", "X y_scale ?y_zero_point",
      "axis block_size -output_dtype -precision ?saturate", format);
}
