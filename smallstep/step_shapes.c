/* Runs by shapes: an abstract interpretation (Cousot and Cousot, 1977) by the
 * machine itself, to count what a program would do.
 *
 * A tensor is known, or has a shape only: then it is a view of one element with
 * strides of 0, and marked.  Operators whose operands are known are computed if
 * that is cheap, so counters, conditions and shapes are exact, and recursion
 * goes as it will go.  All else gets its type from the operator's rule.  Where
 * elements that were not computed decide what comes next, the run ends. */
#include "smallstep/step_machine.h"

#include <string.h>

/* What is computed: operations and bytes of a call. */
enum { FLOPS_MOST = 4096, BYTES_MOST = 1 << 16, ASK_EVERY = 1024 };

/* --- What is known -------------------------------------------------------- */

static bool is_known(const StepObj *v) {
  if (v->kind == V_TENSOR) return !v->abstract;
  for (uint32_t i = 0; v->kind == V_TUPLE && i < v->count; i++)
    if (!is_known(v->fields[i])) return false;
  return true;
}

static bool end_unknown(StepMachine *m, Span span) {
  m->shapes->unknown = true;
  return step_fail(m, E0606, span, "elements decide that were not computed");
}

bool step_decides(StepMachine *m, const StepObj *v, Span span) {
  return !m->shapes || is_known(v) || end_unknown(m, span);
}

/* --- Operators ------------------------------------------------------------ */

static bool is_fixed(const RuleType *t) {
  bool fixed = true;
  for (int i = 0; t->kind == RT_TUPLE && i < t->count; i++)
    fixed = fixed && is_fixed(&t->fields[i]);
  for (int i = 0; t->kind == RT_TENSOR && i < t->rank; i++)
    fixed = fixed && dim_is_number(t->dims[i]);
  return fixed;
}

/* The header of a result. */
static Tensor header_of(const RuleType *t) {
  int64_t shape[RANK_MAX];
  shape_of_dims(t->rank, t->dims, shape);
  return tensor_on_data(t->dtype, t->rank, shape, NULL);
}

static int result_count(const OpCall *call) {
  return call->result->kind == RT_TUPLE ? call->result->count : 1;
}

static const RuleType *result_type(const OpCall *call, int i) {
  return call->result->kind == RT_TUPLE ? &call->result->fields[i]
                                        : call->result;
}

/* A tensor of the type with no elements of its own. */
static StepObj *unknown_of(StepMachine *m, const RuleType *t) {
  int64_t shape[RANK_MAX], strides[RANK_MAX] = {0};
  shape_of_dims(t->rank, t->dims, shape);
  Tensor *one = tensor_new(&m->heap, t->dtype, 0, NULL);
  if (one) memset(one->data, 0, dtype_size(t->dtype));
  Tensor *all =
      one ? tensor_view(&m->heap, one, t->rank, shape, strides, 0) : NULL;
  if (one) tensor_drop(&m->heap, one);
  StepObj *v = all ? step_tensor_take(m, all) : NULL;
  if (v) v->abstract = 1;
  return v;
}

static StepObj *unknown_results(StepMachine *m, const OpCall *call) {
  if (call->result->kind != RT_TUPLE) return unknown_of(m, call->result);
  int n = result_count(call);
  StepObj *tuple = step_obj(m, V_TUPLE, (uint32_t)n);
  for (int i = 0; tuple && i < n; i++)
    tuple->fields[i] = unknown_of(m, result_type(call, i));
  return tuple;
}

/* Tells of the call; gives its cost.  `outs` are the results' headers. */
static OpCost tell(StepMachine *m, const OpCall *call, int n, Tensor *outs) {
  Tensor *args = ARENA_ARRAY(&m->scratch, Tensor, (size_t)call->arg_count + 1);
  if (!args) return (OpCost){0};
  for (int i = 0; i < call->arg_count; i++) args[i] = *call->args[i];
  m->shapes->call(m->shapes->data, call->op, call->attrs, call->arg_count, args,
                  n, outs);
  return op_cost(call->op, call->attrs, call->arg_count, args, n, outs);
}

static void fail_as(StepMachine *m, const OpCall *call, const Expr *e) {
  if (call->fault.code == E0701) mem_raise_exhausted(m->mem);
  else step_operator_failed(m, e, call);
}

static void compute(StepMachine *m, OpCall *call, const Expr *e) {
  if (op_finish(call)) step_to_value(m, step_results_take(m, call));
  else fail_as(m, call, e);
}

/* The results' shape depends on values: it must be computed to be known. */
static void compute_and_tell(StepMachine *m, OpCall *call, const Expr *e) {
  Tensor *outs;
  if (!op_finish(call)) {
    fail_as(m, call, e);
    return;
  }
  outs = ARENA_ARRAY(&m->scratch, Tensor, (size_t)call->out_count + 1);
  for (int i = 0; outs && i < call->out_count; i++) outs[i] = *call->outs[i];
  if (outs) tell(m, call, call->out_count, outs);
  step_to_value(m, step_results_take(m, call));
}

void step_shapes_operator(StepMachine *m, OpCall *call, int count,
                          const StepObj *args, const Expr *e) {
  bool known = true;
  if (!op_infer(call)) {
    fail_as(m, call, e);
    return;
  }
  for (int i = 0; i < count; i++) known = known && is_known(args->fields[i]);
  if (call->op->reads == READS_NONE) known = true;
  step_applied(m, REDUCE_OPERATOR, e->span);
  if (!is_fixed(call->result)) {
    if (known) compute_and_tell(m, call, e);
    else end_unknown(m, e->span);
    return;
  }
  int n = result_count(call);
  Tensor *outs = ARENA_ARRAY(&m->scratch, Tensor, (size_t)n + 1);
  if (!outs) return;
  for (int i = 0; i < n; i++) outs[i] = header_of(result_type(call, i));
  OpCost cost = tell(m, call, n, outs);
  bool cheap = cost.flops <= FLOPS_MOST && cost.allocated <= BYTES_MOST;
  if (known && cheap) compute(m, call, e);
  else step_to_value(m, unknown_results(m, call));
}

/* --- Running -------------------------------------------------------------- */

bool step_run_shapes(StepMachine *m, const Expr *e, StepShapes *shapes) {
  Step step = {.kind = STEP_EXPR, .expr = e};
  StepOutcome outcome = STEP_RULE;
  m->shapes = shapes;
  m->keep = 0; /* there is no way back */
  step_start(m, &step);
  for (uint64_t n = 1; outcome == STEP_RULE && !shapes->stopped; n++) {
    outcome = step_next(m);
    shapes->calls +=
        outcome == STEP_RULE && step_rule_has(m->rule, STEP_ENTERS);
    if (n % ASK_EVERY == 0) shapes->stopped = shapes->asked(shapes->data);
  }
  m->shapes = NULL;
  return outcome == STEP_VALUE;
}
