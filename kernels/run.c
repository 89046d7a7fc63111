/* Runs an operator on tensors, for the C API, constant folding and tests:
 *
 *   operands --> op_infer: attributes with defaults, the rule --> result types
 *            --> make_outs: new tensors, or an operand that ends here
 *            --> the kernel --> results, or a fault
 *
 * The machine's own path (vm/vm_op.c) does the same with what lowering computed
 * in advance.
 *
 * Everything but the results lives in the call's arena, which the caller
 * releases.  The results are owned references.  After a fault none is left:
 * op_finish() drops what was made, whatever the kernel had written of it. */
#include "kernels/call.h"
#include "base/stop.h"
#include "ops/rules/support.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The message is copied to the arena, cut after 511 bytes: a fault outlives the
 * kernel's frame, and kernels print no more than shapes and indices. */
bool op_fault(OpCall *call, DiagCode code, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  call->fault = (OpFault){
      .code = code,
      .message = arena_printf(call->arena, "`%s`: %s", call->op->name, text)};
  return false;
}

bool op_out_of_memory(OpCall *call) {
  call->fault = (OpFault){.code = E0701};
  return false;
}

Tensor *op_tensor_new(OpCall *call, const RuleType *type) {
  int64_t shape[RANK_MAX];
  shape_of_dims(type->rank, type->dims, shape);
  Tensor *t = tensor_new(call->heap, type->dtype, type->rank, shape);
  return t ? t : (op_out_of_memory(call), NULL);
}

/* --- The rule ------------------------------------------------------------ */

static RuleType type_of(const Tensor *t) {
  RuleType type = {.kind = RT_TENSOR, .dtype = t->dtype, .rank = t->rank};
  dims_of_shape(t->rank, t->shape, type.dims);
  return type;
}

/* How many operands of the row are tuples.  They come first. */
static int tuple_count(const OpInfo *op) {
  int n = 0, count = op_arg_count(op);
  while (n < count && op_arg(op, n).tuple) n++;
  return n;
}

/* The number of tensors in the call's tuple operands, which are of one length;
 * 0 when the row has none.  A call's operands are flat, so the length is what
 * is left after the others, shared out among the tuples:
 *
 *   concatenate((a, b, c))        args  a b c            3 / 1 tuple
 *   with an operand after it     args  a b c x          (4 - 1) / 1
 *
 * The others are the row's operands that are no tuples, and the attributes that
 * are given as operands. */
static int tuple_len(const OpCall *call, int tuples) {
  if (tuples == 0) return 0;
  const OpInfo *op = call->op;
  int others = op_arg_count(op) - tuples;
  for (int i = 0; i < op->attr_count; i++)
    others += call->attrs->values[i].operand >= 0;
  return (call->arg_count - others) / tuples;
}

/* The operands as the rule counts them: a tuple is one operand. */
typedef struct Operands {
  int count;
  RuleType *types;
  const Tensor **tensors; /* NULL for a tuple */
} Operands;

/* The operands as the rule counts them.  False when memory runs out: a tuple
 * may have any number of fields, so these arrays are not small requests
 * (base/mem.h). */
static bool operands_of(OpCall *call, Operands *out) {
  int tuples = tuple_count(call->op), fields = tuple_len(call, tuples);
  int skip = tuples * fields;
  Operands o = {.count = call->arg_count - skip + tuples};
  o.types = ARENA_ARRAY(call->arena, RuleType, (size_t)o.count + 1);
  o.tensors = ARENA_ARRAY(call->arena, const Tensor *, (size_t)o.count + 1);
  if (!o.types || !o.tensors) return false;
  int at = 0;
  for (; at < tuples; at++) {
    RuleType *types = ARENA_ARRAY(call->arena, RuleType, (size_t)fields + 1);
    if (!types) return false;
    for (int i = 0; i < fields; i++)
      types[i] = type_of(call->args[at * fields + i]);
    o.types[at] = (RuleType){.kind = RT_TUPLE,
                             .rank = -1,
                             .count = fields,
                             .dtype = DTYPE_NONE,
                             .fields = types};
  }
  for (int i = skip; i < call->arg_count; i++, at++) {
    o.types[at] = type_of(call->args[i]);
    o.tensors[at] = call->args[i];
  }
  *out = o;
  return true;
}

/* Reports a rule that failed at run time: as a failed shape check, unless the
 * rule's own code is more precise.  What is wrong with the value of an
 * attribute that was computed has the code that it has for a literal. */
static bool rule_fault(OpCall *call, const RuleCall *rule, const Attrs *written,
                       bool computed) {
  bool value = rule->code == E0302 || rule->code == E0303;
  int attr = rule_blamed(rule, written);
  int blamed = attr < 0 ? -1 : written->values[attr].operand;
  call->fault = (OpFault){.code = rule->code == E0214 ? E0701
                                  : computed && value ? rule->code
                                                      : E0603,
                          .message = rule->message,
                          .hint = blamed >= 0 ? rule->hint : NULL,
                          .attr = 1 + blamed};
  return false;
}

/* attrs_complete() answers NULL for two reasons; whether memory ran out tells
 * them apart. */
bool op_infer(OpCall *call) {
  Operands o;
  if (!operands_of(call, &o)) return op_out_of_memory(call);
  const Attrs *written = call->attrs;
  const Attrs *attrs = attrs_complete(written, o.tensors, call->arena);
  RuleCall *rule = ARENA_NEW(call->arena, RuleCall);
  if (!rule || (!attrs && mem_exhausted(call->arena->mem)))
    return op_out_of_memory(call);
  if (!attrs)
    return op_fault(call, E0603, "an attribute's value is out of range");
  /* Values that came from operands are in the record now, so the rule and the
   * kernel see the operands of the row alone. */
  int held = 0;
  for (int i = 0; attrs != call->attrs && i < call->op->attr_count; i++)
    held += written->values[i].operand >= 0;
  call->attrs = attrs;
  call->arg_count -= held;
  *rule = (RuleCall){.op = call->op,
                     .attrs = attrs,
                     .arena = call->arena,
                     .count = o.count - held,
                     .args = o.types};
  if (rule_run(rule) != RULE_OK)
    return rule_fault(call, rule, written, held > 0);
  call->result = &rule->result;
  return true;
}

/* --- Results ------------------------------------------------------------- */

/* Operand i ends here: has it the type of the result, and enough memory?  It
 * must be contiguous, because results are. */
static bool may_write_over(const OpCall *call, int i, const RuleType *type) {
  const Tensor *t = call->args[i];
  if (t->dtype != type->dtype || t->rank != type->rank) return false;
  for (int k = 0; k < t->rank; k++)
    if (!dim_is(type->dims[k], t->shape[k])) return false;
  return tensor_is_contiguous(t) && tensor_may_hold(t, tensor_bytes(t));
}

/* Does no other operand view these elements?  A kernel that writes over operand
 * i while it still reads the same memory as another would read results.  An
 * element-wise operator may be given the very same tensor twice: it has read
 * element e of both before it writes e. */
static bool is_alone(const OpCall *call, int i, bool each) {
  const Tensor *t = call->args[i];
  for (int k = 0; k < call->arg_count; k++)
    if (k != i && call->args[k]->buffer == t->buffer &&
        !(each && call->args[k] == t))
      return false;
  return true;
}

/* An operand whose memory becomes the result, or NULL.  Only an element-wise
 * operator reads each element of any operand just before it writes that element
 * of the result; an `in_place` row promises the same of its first operand.
 * `ending` has 32 bits, one an operand. */
static Tensor *operand_to_reuse(const OpCall *call, const RuleType *type) {
  bool each = op_is_elementwise(call->op);
  if (!(each || call->op->in_place)) return NULL;
  int count = each ? call->arg_count : 1;
  for (int i = 0; i < count && i < 32; i++)
    if (call->ending >> i & 1 && may_write_over(call, i, type) &&
        is_alone(call, i, each))
      return tensor_keep((Tensor *)call->args[i]);
  return NULL;
}

static bool make_out(OpCall *call, int i, const RuleType *type) {
  if (call->ending && call->out_count == 1 &&
      (call->outs[i] = operand_to_reuse(call, type)))
    return true;
  call->outs[i] = op_tensor_new(call, type);
  return call->outs[i] != NULL;
}

static void drop_outs(OpCall *call) {
  for (int i = 0; i < call->out_count; i++) {
    if (call->outs[i]) tensor_drop(call->heap, call->outs[i]);
    call->outs[i] = NULL;
  }
}

/* A row that does not say STORE_FILL makes its results itself: views, and
 * results whose shape depends on values.  For these the array is enough. */
static bool make_outs(OpCall *call) {
  const RuleType *result = call->result;
  bool is_tuple = result->kind == RT_TUPLE;
  call->out_count = is_tuple ? result->count : 1;
  if (!call->outs)
    call->outs =
        ARENA_ARRAY(call->arena, Tensor *, (size_t)call->out_count + 1);
  if (!call->outs) return op_out_of_memory(call);
  if (call->op->storage != STORE_FILL) return true;
  for (int i = 0; i < call->out_count; i++)
    if (!make_out(call, i, is_tuple ? &result->fields[i] : result))
      return drop_outs(call), false;
  return true;
}

/* A kernel that was asked to stop may return true with a result half written;
 * it is dropped like any other, so kernels need not clean up.  A failed kernel
 * that makes its own results has dropped them already. */
bool op_finish(OpCall *call) {
  if (!make_outs(call)) return false;
  bool done = op_kernel(call->op)(call);
  if (done && !stop_seen(call->stop)) return true;
  if (done || call->op->storage == STORE_FILL) drop_outs(call);
  return false;
}

/* The call's record and operands are as before, so that it may run again. */
bool op_run(OpCall *call) {
  const Attrs *attrs = call->attrs;
  int count = call->arg_count;
  call->fault = (OpFault){0};
  call->outs = NULL;
  if (!op_kernel(call->op))
    return op_fault(call, E0607, "cannot be run outside a program");
  bool done = op_infer(call) && op_finish(call);
  call->attrs = attrs;
  call->arg_count = count;
  return done;
}
