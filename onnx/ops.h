/* What each operator of ONNX becomes: rows of ops.def. */
#ifndef ONNX_OPS_H
#define ONNX_OPS_H

#include <stdbool.h>
#include <stdint.h>

struct Arena;
struct Import;
struct Onnx__NodeProto;

/* The flags of attributes in rows (ops.def). */
#define ONNX_ATTR_FLAGS "?!$-#<~^@"
/* The modes of a tree's nodes, by the numbers that stand for them here. */
#define ONNX_TREE_MODES                                              \
  "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", \
      "BRANCH_NEQ", "LEAF"

typedef struct OnnxOp {
  const char *name;
  const char *domain; /* NULL: ai.onnx, which has no name */
  int since;          /* the version of the operator set from which it holds */
  int until;          /* from this one on models may not use it; 0: they may */
  const char *inputs, *calls, *attrs;
  int results; /* of the function; 0 stands for 1 */
  int needs;  /* of the node's outputs, so many must be there; 0 stands for 1 */
  int groups; /* of tensors, in which inputs and outputs come */
  const char *fold_end;
  const char *alone; /* called where only the first output is used */
  enum { GIVES_TENSORS, GIVES_SEQUENCE, GIVES_STRINGS } gives; /* outputs */
  const char *gives_by; /* with this attribute the first output is strings */
  /* Called where an input is strings; "": that is `calls`; NULL: the operator
   * is not imported for them. */
  const char *strings;
  /* Writes the node itself, where a call is not enough; with `calls`, that is
   * how most of its calls read. */
  bool (*emit)(struct Import *im, const struct Onnx__NodeProto *node);
  const char *why_not; /* it is refused, with this reason */
} OnnxOp;

/* The row that holds in this version; NULL: there is none, and `*name_known`
 * tells whether one of the name is there at all. */
const OnnxOp *onnx_op_find(const char *domain, const char *name,
                           int64_t version, bool *name_known);

/* A word of a row's attributes: [=][flag]theirs[>ours][:text]. */
typedef struct OnnxAttrWord {
  bool needed; /* a node has to say it */
  char flag;
  const char *theirs, *ours; /* in the arena; ours "": by position */
  const char *text;          /* for where a node lacks it; NULL: none */
} OnnxAttrWord;
/* The next word at `*at`, which may be NULL; false: there is none, or no memory
 * for it. */
bool onnx_attr_word(struct Arena *arena, const char **at, OnnxAttrWord *out);

/* The rows whose operator an import writes as a call of `calls`, in a model of
 * operator set `opset`.  Begin with `at` 0. */
typedef struct OnnxOpSearch {
  const char *calls;
  int64_t opset;
  int at;
} OnnxOpSearch;
/* The next one; NULL: there is none. */
const OnnxOp *onnx_op_saying(OnnxOpSearch *search);
/* The version of another domain that a model with such nodes imports. */
int64_t onnx_domain_version(const char *domain);

/* What gives tensors of dtypes that the language may lack (format.c). */
bool emit_cast(struct Import *im, const struct Onnx__NodeProto *node);
bool emit_cast_like(struct Import *im, const struct Onnx__NodeProto *node);
bool emit_cast_like_15(struct Import *im, const struct Onnx__NodeProto *node);
bool emit_quantize(struct Import *im, const struct Onnx__NodeProto *node);

/* Another name for a value (call.c). */
bool emit_identity(struct Import *im, const struct Onnx__NodeProto *node);

/* Attention with graphs of its own (flex.c). */
bool emit_flex(struct Import *im, const struct Onnx__NodeProto *node);

/* Optionals (sequence.c), whose meaning depends on the kind of the input. */
bool emit_optional(struct Import *im, const struct Onnx__NodeProto *node);
bool emit_get_element(struct Import *im, const struct Onnx__NodeProto *node);
bool emit_has_element(struct Import *im, const struct Onnx__NodeProto *node);

/* The control flow (control.c). */
bool emit_if(struct Import *im, const struct Onnx__NodeProto *node);
bool emit_loop(struct Import *im, const struct Onnx__NodeProto *node);
bool emit_sequence_map(struct Import *im, const struct Onnx__NodeProto *node);
bool emit_scan(struct Import *im, const struct Onnx__NodeProto *node);
bool emit_scan_8(struct Import *im, const struct Onnx__NodeProto *node);
bool emit_gradient(struct Import *im, const struct Onnx__NodeProto *node);

#endif
