/* What each operator of ONNX becomes: rows of ops.def. */
#ifndef ONNX_OPS_H
#define ONNX_OPS_H

#include <stdbool.h>
#include <stdint.h>

struct Import;
struct Onnx__NodeProto;

typedef struct OnnxOp {
  const char *name;
  const char *domain; /* NULL: ai.onnx, which has no name */
  int since;          /* the version of the operator set from which it holds */
  const char *inputs, *calls, *attrs;
  int results; /* of the function; 0 stands for 1 */
  int groups;  /* of tensors, in which inputs and outputs come */
  const char *fold_end;
  const char *alone; /* called where only the first output is used */
  enum { GIVES_TENSORS, GIVES_SEQUENCE } gives; /* what the output is */
  /* Writes the node itself, where a call is not enough. */
  bool (*emit)(struct Import *im, const struct Onnx__NodeProto *node);
  const char *why_not; /* it is refused, with this reason */
} OnnxOp;

/* The row that holds in this version; NULL: there is none, and `*name_known`
 * tells whether one of the name is there at all. */
const OnnxOp *onnx_op_find(const char *domain, const char *name,
                           int64_t version, bool *name_known);

/* Cast since version 19, which saturates floats of 8 bits (call.c). */
bool emit_cast(struct Import *im, const struct Onnx__NodeProto *node);

/* Another name for a value (call.c). */
bool emit_identity(struct Import *im, const struct Onnx__NodeProto *node);

/* Optionals (sequence.c), whose meaning depends on the kind of the input. */
bool emit_optional(struct Import *im, const struct Onnx__NodeProto *node);
bool emit_get_element(struct Import *im, const struct Onnx__NodeProto *node);
bool emit_has_element(struct Import *im, const struct Onnx__NodeProto *node);

/* The control flow (control.c). */
bool emit_if(struct Import *im, const struct Onnx__NodeProto *node);
bool emit_loop(struct Import *im, const struct Onnx__NodeProto *node);
bool emit_sequence_map(struct Import *im, const struct Onnx__NodeProto *node);
bool emit_scan(struct Import *im, const struct Onnx__NodeProto *node);

#endif
