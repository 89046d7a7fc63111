/* Legalize: products of quantized tensors become products of integers.
 *
 *   qnn.dense(%x, %w, 3, 0, ..)  ==>
 *     nn.dense(cast(%x, dtype="int32") - 3, cast(%w, dtype="int32"),
 *              out_dtype="int32")
 *
 * The scales do not take part.  The operator on integers is the row's own
 * (`.real`, ops.def), and the sequence is the kernel's (kernels/drive/qnn.c),
 * so integers wrap where they did.  Zero points are numbers; those of each
 * channel stay with the quantized operator.  After TVM's canonicalization of
 * qnn (relay/qnn/op/). */
#include "passes/calls.h"

/* x - zero, in the dtype of the sums. */
static const Expr *centred(Program *p, Arena *arena, const Expr *x,
                           const Expr *zero, DType wide) {
  bool is_zero =
      zero->kind == EX_CONST && tensor_i64_at(zero->constant, 0) == 0;
  const Expr *sum = expr_cast(p, arena, x, wide);
  if (!sum || is_zero) return sum;
  const Expr *less = expr_cast(p, arena, zero, wide);
  return less ? EXPR_APPLY(p, arena, x->span, OP_SUBTRACT, NULL, sum, less)
              : NULL;
}

static const Expr *of_integers(Program *p, Arena *arena, const Expr *call,
                               const Expr *const *args) {
  const OpInfo *real = expr_operator(call)->real;
  if (call->type->kind != TY_TENSOR || !type_is_scalar(args[2]->type) ||
      !type_is_scalar(args[3]->type))
    return NULL;
  DType out = (DType)call->type->dtype;
  DType wide = out == DT_INT64 ? DT_INT64 : DT_INT32;
  const Expr *x = centred(p, arena, args[0], args[2], wide);
  const Expr *w = centred(p, arena, args[1], args[3], wide);
  Attrs *attrs = attrs_shared(arena, real, call->call.bound);
  if (!x || !w || !attrs) return NULL;
  return EXPR_APPLY(p, arena, call->span, op_id(real), attrs, x, w);
}

static const Expansion rows[] = {
    {OP_QNN_DENSE, false, of_integers},
    {OP_QNN_BATCH_MATMUL, false, of_integers},
    {OP_QNN_CONV2D, false, of_integers},
};

Rewrite pass_legalize;

const Expr *pass_legalize(Program *p, Arena *arena, const Expr *e) {
  return calls_expand(p, arena, e, sizeof rows / sizeof *rows, rows);
}
