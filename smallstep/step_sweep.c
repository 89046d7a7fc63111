/* The reverse sweep of the small-step machine: records in the reverse order of
 * making, each handing on the adjoint of its value to its operands.
 *
 *   records   [ x ] [ h = dense(x, w) ] [ y = sum(h) ]
 *                                     ^ left = 2: the adjoint of h is known
 *   rule      the operator's, of stdlib/gradients, is entered like a function
 *   parts     what it gives for each operand is added to the operand's adjoint
 *
 * Parts are added in the order in which the sweep meets them (step_adjoint.c),
 * so that the bits are those of the VM. */
#include <string.h>

#include "smallstep/step_sweep.h"

bool step_sweep_goes_on(const StepSweep *w) {
  return w->m->outcome == STEP_RULE && !mem_exhausted(w->m->mem);
}

void step_sweep_stand(StepSweep *w, int waits, StepDid what, StepObj *record,
                      StepObj *of, StepObj *from) {
  StepMachine *m = w->m;
  StepObj *s = step_obj(m, V_SWEEP, SWEEP_FIELDS);
  StepObj *did = step_obj(m, V_TUPLE, DID_FIELDS);
  if (!s || !did) return;
  did->what = what;
  did->fields[DID_AT] = record;
  did->fields[DID_OF] = of;
  did->fields[DID_FROM] = from;
  s->left = w->left;
  s->sweep = w->kind;
  s->operand = w->operand;
  s->fields[SWEEP_RUN] = w->run;
  s->fields[SWEEP_RECORDS] = w->records;
  s->fields[SWEEP_ADJOINTS] = w->adjoints;
  s->fields[SWEEP_TODO] = w->todo;
  s->fields[SWEEP_ALONG_OF] = w->along;
  s->fields[SWEEP_OUTER] = w->outer;
  s->fields[SWEEP_DID] = did;
  step_push(m, K_SWEEP, w->e, waits, w->env, s);
}

static StepSweep sweep_of(StepMachine *m, const StepObj *frame) {
  const StepObj *s = frame->fields[DONE];
  return (StepSweep){.m = m,
                     .e = frame->expr,
                     .kind = (SweepKind)s->sweep,
                     .env = frame->fields[ENV],
                     .run = s->fields[SWEEP_RUN],
                     .records = s->fields[SWEEP_RECORDS],
                     .adjoints = s->fields[SWEEP_ADJOINTS],
                     .todo = s->fields[SWEEP_TODO],
                     .along = s->fields[SWEEP_ALONG_OF],
                     .outer = s->fields[SWEEP_OUTER],
                     .left = s->left,
                     .operand = s->operand};
}

/* --- Rules of operators -------------------------------------------------- */

/* Made once for operands of these kinds: ranks, dtypes, and where they are of
 * integers a small first dimension. */
typedef struct StepRuleMade StepRuleMade;
struct StepRuleMade {
  StepRuleMade *next;
  GradientStatus status;
  Gradient gradient;
  int count;
  const Type *const *types; /* of the operands, and of the value */
};

static const Type *type_of(StepMachine *m, const StepObj *v) {
  TypeTable *types = m->program->types;
  if (v->kind == V_TUPLE) {
    const Type **fields =
        ARENA_ARRAY(&m->scratch, const Type *, (size_t)v->count + 1);
    for (uint32_t i = 0; fields && i < v->count; i++)
      fields[i] = type_of(m, v->fields[i]);
    return type_tuple(types, fields ? (int)v->count : 0, fields);
  }
  const Tensor *t = v->tensor;
  Dim dims[RANK_MAX];
  for (int i = 0; i < t->rank; i++) dims[i] = DIM_ANY;
  bool counts = !dtype_is_float((DType)t->dtype) && t->rank > 0 &&
                t->shape[0] <= RANK_MAX;
  if (counts) dims[0] = dim_of(t->shape[0]);
  return type_tensor(types, (DType)t->dtype, t->rank, dims);
}

static StepRuleMade *rule_new(StepMachine *m, const Attrs *attrs, int n,
                              const Type *const *types) {
  StepRuleMade *made = ARENA_NEW(&m->arena, StepRuleMade);
  *made = (StepRuleMade){.next = ptrmap_get(&m->rules, attrs), .count = n};
  made->types = arena_copy(&m->arena, types, (size_t)n * sizeof *types);
  made->status = types_gradient(m->program, attrs, n, types, &made->gradient);
  if (made->types) ptrmap_put(&m->rules, attrs, made);
  return made->types ? made : NULL;
}

/* NULL: memory ran out. */
static const StepRuleMade *rule_of(StepMachine *m, const StepObj *r) {
  const StepObj *args = r->fields[RECORD_ARGS];
  const Attrs *attrs = r->site->attrs;
  int n = (int)args->count + 1;
  const Type **types = ARENA_ARRAY(&m->scratch, const Type *, (size_t)n);
  if (!types) return NULL;
  for (int i = 0; i < n - 1; i++) types[i] = type_of(m, args->fields[i]);
  types[n - 1] = type_of(m, r->fields[RECORD_VALUE]);
  const StepRuleMade *at = ptrmap_get(&m->rules, attrs);
  while (at && (at->count != n ||
                memcmp(at->types, types, (size_t)n * sizeof *types)))
    at = at->next;
  return at || mem_exhausted(m->mem) ? at : rule_new(m, attrs, n, types);
}

/* Always false. */
static bool no_rule(StepSweep *w, const StepObj *r, GradientStatus status) {
  const OpInfo *op = r->site->attrs->op;
  return step_fail(w->m, E0609, r->site->expr->span, "%s",
                   gradient_refusal(&w->m->scratch, op->name, op, status));
}

/* An attribute that depends on the inputs; or NULL. */
static const AttrSpec *varying_attr(const StepSweep *w, const StepObj *r) {
  const Attrs *attrs = r->site->attrs;
  for (int k = 0; k < attrs->op->attr_count; k++) {
    int i = attrs->values[k].operand;
    if (i >= 0 && step_sweep_depends(w, r->fields[RECORD_ARGS]->fields[i]))
      return &attrs->op->attrs[k];
  }
  return NULL;
}

bool step_sweep_can(StepSweep *w, const StepObj *r) {
  const StepRuleMade *rule = rule_of(w->m, r);
  if (!rule) return false;
  if (rule->status != GRADIENT_OK) return no_rule(w, r, rule->status);
  const AttrSpec *attr = varying_attr(w, r);
  return !attr ||
         step_fail(w->m, E0609, r->site->expr->span,
                   "`%s` has no derivative with respect to its "
                   "attribute `%s`",
                   r->site->attrs->op->name, attr_name_text(attr->name));
}

/* What a rule of an operator takes: of the operands and the value those that it
 * mentions, and the adjoint. */
static StepObj *arguments(StepSweep *w, const StepObj *r, const Fn *fn,
                          uint32_t uses, StepObj *adjoint) {
  StepObj *args = step_obj(w->m, V_TUPLE, (uint32_t)fn->param_count);
  const StepObj *own = r->fields[RECORD_ARGS];
  uint32_t at = 0;
  if (!args) return NULL;
  for (uint32_t i = 0; i < own->count; i++)
    if (uses >> i & 1) args->fields[at++] = own->fields[i];
  if (uses >> own->count & 1) args->fields[at++] = r->fields[RECORD_VALUE];
  args->fields[at] = adjoint;
  return args;
}

/* The tangents are computed when the run has ended; the VM calls a rule where
 * its function is called.  So what reads or does something then has no steps.
 */
static bool comes_in_time(StepSweep *w, const StepObj *r, const Expr *rule) {
  bool along = w->kind == SWEEP_ALONG || w->kind == SWEEP_BACK;
  if (!along || (rule && rule->kind == EX_FN && fn_is_timeless(rule->fn)))
    return true;
  const Expr *of = r->kind == R_CUSTOM ? r->expr : r->site->expr;
  return step_fail(w->m, E0609, of->span,
                   "the rule of this derivative may read or write a cell, or "
                   "print: under `jvp` it has no steps");
}

void step_sweep_enter_rule(StepSweep *w, StepObj *r, StepObj *adjoint) {
  StepMachine *m = w->m;
  const StepRuleMade *rule = rule_of(m, r);
  if (!rule) return;
  const Global *function = rule->gradient.function;
  const Fn *fn = function->value->fn;
  if (!function->library && !comes_in_time(w, r, function->value)) return;
  StepObj *env = NULL;
  StepObj *args = arguments(w, r, fn, rule->gradient.uses, adjoint);
  step_sweep_stand(w, SWEEP_RULE, DID_RULE, r, NULL, adjoint);
  if (!args || !step_enter(m, fn, args, &env)) return;
  step_applied(m, REDUCE_RULE, r->site->expr->span);
  step_to_expr(m, fn->body, env);
}

/* Adds the parts that a rule gives for one operand: () where there is none, a
 * pair of a product, or of rows and what is added to them. */
static void add_part(StepSweep *w, StepObj *of, StepObj *part, StepParts *out) {
  if (part->kind == V_TENSOR) {
    VEC_PUSH(out, ((StepGiven){of, part}));
  } else if (part->count == 2 && step_sweep_depends(w, of)) {
    if (step_is_float(part->fields[0]))
      step_sweep_put_rows(w, step_sweep_meant(w, of), part);
    else VEC_PUSH(out, ((StepGiven){of, part}));
  }
}

static void take_parts(StepSweep *w, const StepObj *r, const StepObj *given) {
  const StepObj *args = r->fields[RECORD_ARGS];
  StepParts parts;
  VEC_INIT(&parts, w->m->mem);
  for (uint32_t i = 0; i < args->count && i < given->count; i++) {
    StepObj *of = args->fields[i], *part = given->fields[i];
    bool several = of->kind == V_TUPLE;
    if (!several) add_part(w, of, part, &parts);
    for (uint32_t k = 0; several && k < of->count && k < part->count; k++)
      add_part(w, of->fields[k], part->fields[k], &parts);
  }
  step_sweep_put_parts(w, &parts);
  VEC_DONE(&parts);
}

/* --- Rules of with_vjp --------------------------------------------------- */

static StepObj *adjoint_of_floats(StepMachine *m, StepObj *t, void *sweep) {
  return step_is_float(t) ? step_sweep_sum_or_zeros(m, t, sweep) : t;
}

/* Enters the record's own rule. */
static void enter_own(StepSweep *w, StepObj *r) {
  StepMachine *m = w->m;
  const StepObj *own = r->fields[RECORD_ARGS];
  if (!comes_in_time(w, r, step_entered(r->fields[RECORD_REVERSE])->expr))
    return;
  StepObj *adjoint =
      step_copy(m, r->fields[RECORD_VALUE], COPY_PLACES, adjoint_of_floats, w);
  StepObj *args = step_obj(m, V_TUPLE, own->count + 2);
  if (!adjoint || !args) return;
  for (uint32_t i = 0; i < own->count; i++) args->fields[i] = own->fields[i];
  args->fields[own->count] = r->fields[RECORD_VALUE];
  args->fields[own->count + 1] = adjoint;
  step_sweep_stand(w, SWEEP_RULE, DID_RULE, r, NULL, adjoint);
  m->now.env = w->env;
  step_call_function(m, r->expr, r->fields[RECORD_REVERSE], args,
                     (int)args->count);
  if (m->applied && step_rule_has(m->rule, STEP_ENTERS)) m->rule = REDUCE_RULE;
}

/* A function and a cell have no part. */
static void take_own(StepSweep *w, const StepObj *r, const StepObj *given) {
  const StepObj *args = r->fields[RECORD_ARGS];
  for (uint32_t i = args->count; i-- > 0;)
    if (step_sweep_goes_on(w))
      step_sweep_put_whole(w, "the adjoint of an input", args->fields[i],
                           given->fields[i]);
}

/* --- Records ------------------------------------------------------------- */

static bool has_adjoint(StepSweep *w, const StepObj *r) {
  StepObjs leaves;
  bool has = false;
  VEC_INIT(&leaves, w->m->mem);
  step_sweep_leaves(w->m, r->fields[RECORD_VALUE], &leaves);
  for (size_t i = 0; i < leaves.len; i++)
    has |= step_sweep_sum(w, leaves.data[i]) != NULL;
  VEC_DONE(&leaves);
  return has;
}

bool step_sweep_visit(StepSweep *w, StepObj *r) {
  StepObj *value = r->fields[RECORD_VALUE];
  bool made = r->kind == R_OPERATOR || r->kind == R_CUSTOM;
  if (!made || !has_adjoint(w, r)) return false;
  if (r->kind == R_CUSTOM) {
    enter_own(w, r);
    return true;
  }
  StepObj *adjoint =
      step_copy(w->m, value, COPY_PLACES, step_sweep_sum_or_zeros, w);
  if (adjoint && step_sweep_can(w, r)) step_sweep_enter_rule(w, r, adjoint);
  return true;
}

/* --- The gradient -------------------------------------------------------- */

static StepObj *sum_or_unit(StepMachine *m, StepObj *t, void *sweep) {
  StepObj *sum = step_sweep_sum(sweep, t);
  return sum ? sum : step_unit(m);
}

/* The gradient of an argument, or along the tangent of a value: (), where it is
 * a function or a cell. */
static StepObj *found_of(StepSweep *w, StepObj *v) {
  bool none = v->kind != V_TENSOR && v->kind != V_TUPLE && v->kind != V_DATA;
  if (none) return step_unit(w->m);
  return step_copy(
      w->m, v, COPY_PLACES,
      w->kind == SWEEP_FOUND ? sum_or_unit : step_sweep_sum_or_zeros, w);
}

/* (y, y') */
static StepObj *pair_of(StepSweep *w, StepObj *a, StepObj *b) {
  StepObj *both = step_obj(w->m, V_TUPLE, 2);
  if (!both) return NULL;
  both->fields[0] = a;
  both->fields[1] = b;
  return both;
}

static StepObj *gradients(StepSweep *w) {
  const StepObj *inputs = w->run->fields[RUN_INPUTS];
  StepObj *all = step_obj(w->m, V_TUPLE, inputs->count);
  for (uint32_t i = 0; all && i < inputs->count; i++)
    all->fields[i] = found_of(w, inputs->fields[i]);
  return all;
}

static void finish(StepSweep *w) {
  StepMachine *m = w->m;
  StepObj *value = w->run->fields[RUN_VALUE], *given;
  if (w->kind == SWEEP_BACK) {
    step_along_go_back(w);
    return;
  }
  given = w->kind == SWEEP_ALONG ? found_of(w, value) : gradients(w);
  if (w->kind == SWEEP_GRAD || w->kind == SWEEP_ALONG)
    given = pair_of(w, value, given);
  given = step_leaving(m, given);
  if (!given) return;
  m->now.env = w->env;
  if (w->kind == SWEEP_ALONG) m->now.along = w->outer;
  step_applied(m, REDUCE_GRADIENT, w->e->span);
  step_to_value(m, given);
}

/* --- The whole ----------------------------------------------------------- */

/* The next record, when nothing waits to be added; true: a step was made, or
 * has failed. */
static bool next_record(StepSweep *w) {
  if (w->kind == SWEEP_ALONG)
    return step_along_visit(w, w->records->fields[w->left]);
  StepObj *r = w->records->fields[w->left - 1];
  if (step_sweep_settle(w, r)) return true;
  w->left--;
  return w->kind != SWEEP_BACK && step_sweep_visit(w, r);
}

static bool is_done(const StepSweep *w) {
  return w->left == (w->kind == SWEEP_ALONG ? w->records->count : 0);
}

void step_sweep_move_on(StepSweep *w) {
  bool made = false;
  while (!made && step_sweep_goes_on(w)) {
    if (w->todo) {
      made = step_sweep_add_next(w);
    } else if (is_done(w)) {
      finish(w);
      return;
    } else {
      made = next_record(w);
    }
  }
}

static StepObj *one(StepMachine *m, const StepObj *like) {
  DType dtype = (DType)like->tensor->dtype;
  Value v = bits_from_f64(dtype, 1);
  return step_tensor_take(m, tensor_from_bits(&m->heap, dtype, v));
}

void step_sweep(StepMachine *m, const Expr *e, SweepKind kind, StepObj *run,
                StepObj *adjoint) {
  StepSweep w = {.m = m, .e = e, .kind = kind, .env = m->now.env, .run = run};
  w.records = step_sweep_records(m, run, false);
  if (!w.records) return;
  w.left = w.records->count;
  if (!adjoint) adjoint = one(m, run->fields[RUN_VALUE]);
  if (adjoint)
    step_sweep_put_whole(&w, "the adjoint of a value", run->fields[RUN_VALUE],
                         adjoint);
  step_sweep_move_on(&w);
}

void step_sweep_on(StepMachine *m, const StepObj *frame) {
  StepSweep w = sweep_of(m, frame);
  if (frame->index != SWEEP_TURN) {
    StepObj *r = step_sweep_at(&w);
    if (w.kind == SWEEP_ALONG)
      step_along_take(&w, r, (int)frame->index, m->now.value);
    else if (r->kind == R_CUSTOM) take_own(&w, r, m->now.value);
    else take_parts(&w, r, m->now.value);
  }
  step_sweep_move_on(&w);
}
