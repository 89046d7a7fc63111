/* The rows of ops.def: how operators of the language are said in ONNX. */
#ifndef EXPORT_SAY_H
#define EXPORT_SAY_H

#include "export/exporter.h"

typedef struct SayRow {
  int op; /* an OpId */
  const char *onnx, *attrs;
  SayFn *say; /* instead of those */
} SayRow;

/* NULL: the operator has no row. */
const SayRow *say_row(int op);

enum { ATTR_INTS_MOST = 16, SPLITS_MOST = 256 };

/* The call as a node of that name, with the attributes that a row names; all
 * others have their defaults. */
Val *said_by(const Said *s, const char *onnx, const char *attrs);

/* A node's output, or as many as the type, a tuple, has fields. */
Val *outputs_of(Export *x, OnnxNode *n, const Type *type);

/* --- For the functions of rows --------------------------------------------
 * A node before the last one: its name is none of the program's.  The last one
 * has the call's type and the name of its `let`. */
Val *said_step(const Said *s, const char *op, DType dtype, int rank, int count,
               Val *const *in);
Val *said_last(const Said *s, const char *op, int count, Val *const *in);
/* The value in the dtype of the call, as its last node where that is another.
 */
Val *said_cast(const Said *s, Val *v);
/* The shape of a value, and one of its lengths as a scalar or a vector of one.
 */
Val *said_shape(const Said *s, Val *v);
Val *said_length(const Said *s, Val *v, int axis, bool vector);
/* Attributes of a node that is still to be given its outputs. */
Val *said_step_out(const Said *s, OnnxNode *n, DType dtype, int rank);
OnnxNode *said_over(const Said *s, const char *op, int count, Val *const *in);
/* The value in one axis. */
Val *said_flat(const Said *s, Val *v);
Val *said_like(const Said *s, int i, double number); /* of operand i's dtype */

#define SAY(op, function) SayFn say_##function;
#define SAID(...)
#include "export/ops.def"
#undef SAY
#undef SAID

#endif
