/* Tangents in the small-step machine: the records of a run in the order of
 * making, each getting the tangents of its value from those of its operands.
 *
 *   linear        the operator itself, on tangents (OpInfo.linear)
 *   element-wise  its rule, for each operand from that one's tangent: J is
 *                 diagonal, and so is its own transpose
 *   otherwise     its rule is linear in the adjoint g, so J t is the derivative
 *                 of t . J' g with respect to g: the rule is entered from a g
 *                 that is the input of a run of its own, whose sweep from t
 *                 ends at J t
 *
 * The VM computes tangents while the value is computed; here, from the records
 * of it.  They are the same, since a tangent depends on its operands alone. */
#include "smallstep/step_sweep.h"

/* --- Operands ------------------------------------------------------------ */

/* With tuples flattened; NULL: there are fewer. */
static StepObj *operand_at(const StepObj *args, uint32_t at) {
  for (uint32_t i = 0; i < args->count; i++) {
    StepObj *v = args->fields[i];
    uint32_t n = v->kind == V_TUPLE ? v->count : 1;
    if (at < n) return v->kind == V_TUPLE ? v->fields[at] : v;
    at -= n;
  }
  return NULL;
}

static StepObj *tangent_or_zeros(StepMachine *m, StepObj *t, void *sweep) {
  StepObj *tangent = step_sweep_sum(sweep, t);
  if (tangent) return tangent;
  return step_is_float(t) ? step_zeros(m, t) : t;
}

/* The operands that hold attributes stay, and so do those in which the operator
 * is not linear. */
static StepObj *tangents_of_all(StepSweep *w, const StepObj *r) {
  const StepObj *args = r->fields[RECORD_ARGS];
  const Attrs *attrs = r->site->attrs;
  bool first = op_linear(attrs) == LINEAR_FIRST;
  StepObj *all = step_obj(w->m, V_TUPLE, args->count);
  for (uint32_t i = 0; all && i < args->count; i++) {
    StepObj *x = args->fields[i], *t = NULL;
    if (attrs_have_operand(attrs, (int)i) || (first && i > 0)) t = x;
    else if (!first) t = step_copy(w->m, x, COPY_PLACES, tangent_or_zeros, w);
    else if (!(t = step_sweep_sum(w, x))) t = step_zeros(w->m, x);
    all->fields[i] = t;
  }
  return all;
}

/* The arguments with a tangent in the place of one operand. */
static StepObj *tangent_of_one(StepSweep *w, const StepObj *args, uint32_t at) {
  StepObj *all = step_obj(w->m, V_TUPLE, args->count);
  for (uint32_t i = 0; all && i < args->count; i++) {
    StepObj *v = args->fields[i];
    uint32_t n = v->kind == V_TUPLE ? v->count : 1;
    all->fields[i] = v;
    if (at < n && v->kind == V_TENSOR) all->fields[i] = step_sweep_sum(w, v);
    if (at < n && v->kind == V_TUPLE) {
      StepObj *tuple = step_obj(w->m, V_TUPLE, n);
      for (uint32_t k = 0; tuple && k < n; k++)
        tuple->fields[k] =
            k == at ? step_sweep_sum(w, v->fields[k]) : v->fields[k];
      all->fields[i] = tuple;
    }
    at = at < n ? UINT32_MAX : at - n;
  }
  return all;
}

/* --- Which way ----------------------------------------------------------- */

static bool is_diagonal(const StepSweep *w, const StepObj *r) {
  const StepObj *args = r->fields[RECORD_ARGS], *y = r->fields[RECORD_VALUE];
  if (!op_is_elementwise(r->site->attrs->op) || y->kind != V_TENSOR)
    return false;
  const StepObj *x;
  for (uint32_t i = 0; (x = operand_at(args, i)); i++) {
    const StepObj *t = step_sweep_sum(w, x);
    if (t && (t->tensor->dtype != y->tensor->dtype ||
              !shapes_equal(t->tensor, y->tensor)))
      return false;
  }
  return true;
}

static bool attribute_varies(const StepSweep *w, const StepObj *r) {
  const StepObj *args = r->fields[RECORD_ARGS];
  for (uint32_t i = 0; i < args->count; i++)
    if (attrs_have_operand(r->site->attrs, (int)i) &&
        args->fields[i]->kind == V_TENSOR && step_sweep_sum(w, args->fields[i]))
      return true;
  return false;
}

typedef enum Way { WAY_TOGETHER, WAY_EACH, WAY_DIAGONAL, WAY_BACK } Way;

static Way way_of(const StepSweep *w, const StepObj *r) {
  if (r->kind == R_CUSTOM) return WAY_BACK;
  OpLinear linear = op_linear(r->site->attrs);
  if (linear == LINEAR_NOT || attribute_varies(w, r))
    return is_diagonal(w, r) ? WAY_DIAGONAL : WAY_BACK;
  return linear == LINEAR_EACH ? WAY_EACH : WAY_TOGETHER;
}

/* --- Linear operators ---------------------------------------------------- */

static void next_record(StepSweep *w) {
  w->left++;
  w->operand = 0;
}

static void put_results(StepSweep *w, const StepObj *value, StepObj *tangents) {
  if (step_is_float(value)) step_sweep_put(w, value, tangents, NULL);
  for (uint32_t i = 0; value->kind == V_TUPLE && i < value->count; i++)
    put_results(w, value->fields[i], tangents->fields[i]);
}

static void go_together(StepSweep *w, StepObj *r) {
  StepMachine *m = w->m;
  StepObj *args = tangents_of_all(w, r);
  if (!args) return;
  step_kernel(m, r->site, (int)args->count, args);
  step_sweep_named(w);
  if (!step_sweep_goes_on(w)) return;
  put_results(w, r->fields[RECORD_VALUE], m->now.value);
  next_record(w);
  step_sweep_stand(w, SWEEP_TURN, DID_TANGENT, r, r->fields[RECORD_VALUE],
                   args);
}

/* The next operand that varies, from w->operand on; NULL: there are no more. */
static StepObj *varying_operand(StepSweep *w, const StepObj *r) {
  StepObj *x;
  while ((x = operand_at(r->fields[RECORD_ARGS], w->operand))) {
    if (step_sweep_sum(w, x)) return x;
    w->operand++;
  }
  return NULL;
}

static void go_each(StepSweep *w, StepObj *r) {
  StepMachine *m = w->m;
  StepObj *args = tangent_of_one(w, r->fields[RECORD_ARGS], w->operand);
  if (!args) return;
  step_kernel(m, r->site, (int)args->count, args);
  step_sweep_named(w);
  if (!step_sweep_goes_on(w)) return;
  step_sweep_put_todo(w, r->fields[RECORD_VALUE], m->now.value);
  w->operand++;
  step_sweep_stand(w, SWEEP_TURN, DID_TANGENT, r, r->fields[RECORD_VALUE],
                   args);
}

/* --- By the rule's own derivative ---------------------------------------- */

static StepObj *new_adjoint(StepMachine *m, StepObj *t, void *sweep) {
  if (!step_is_float(t)) return t;
  StepObj *g = step_input(m, t, NULL);
  if (g) step_sweep_put(sweep, t, g, NULL);
  return g;
}

/* The sweep of the one record from an adjoint that is the input of a run. */
static void go_back(StepSweep *w, StepObj *r) {
  StepMachine *m = w->m;
  StepSweep back = {.m = m, .e = w->e, .kind = SWEEP_BACK, .env = w->env};
  StepObj *inputs = step_obj(m, V_TUPLE, 1);
  back.run = step_obj(m, V_RUN, RUN_FIELDS);
  back.records = step_sweep_records_around(w, r);
  if (!inputs || !back.run || !back.records) return;
  back.left = back.records->count - 1;
  back.along = w->adjoints;
  back.run->before = m->records;
  back.run->cells = m->cells;
  inputs->fields[0] =
      step_copy(m, r->fields[RECORD_VALUE], COPY_PLACES, new_adjoint, &back);
  back.run->inputs = m->records;
  back.run->fields[RUN_INPUTS] = inputs;
  if (!inputs->fields[0]) return;
  m->now.runs++;
  step_sweep_stand(w, SWEEP_SWEPT, DID_RULE, r, NULL, NULL);
  step_sweep_visit(&back, r);
}

/* Of each operand's adjoint, as a function of g, the tangent is the adjoint.
 * The operand that was made last comes first, as in a sweep. */
void step_along_go_back(StepSweep *back) {
  StepMachine *m = back->m;
  StepObj *run = step_obj(m, V_RUN, RUN_FIELDS), *tangents;
  if (!run) return;
  run->before = back->run->before;
  run->inputs = back->run->inputs;
  run->cells = back->run->cells;
  run->fields[RUN_INPUTS] = back->run->fields[RUN_INPUTS];
  run->fields[RUN_VALUE] = step_sweep_found(back, &tangents);
  m->now.env = back->env;
  m->now.runs--;
  if (run->fields[RUN_VALUE] && tangents)
    step_sweep(m, back->e, SWEEP_FOUND, run, tangents);
}

/* --- Records ------------------------------------------------------------- */

static void go_diagonal(StepSweep *w, StepObj *r, StepObj *x) {
  if (step_sweep_can(w, r)) step_sweep_enter_rule(w, r, step_sweep_sum(w, x));
}

static void hand_on(StepSweep *w, const StepObj *r) {
  StepObj *t = step_sweep_sum(w, r->fields[RECORD_OF]);
  if (t) step_sweep_put(w, r->fields[RECORD_VALUE], t, NULL);
}

bool step_along_visit(StepSweep *w, StepObj *r) {
  bool renames = r->kind == R_INPUT || r->kind == R_READ;
  if (renames) {
    if (!step_sweep_is_input(w->run, r)) hand_on(w, r);
    next_record(w);
    return false;
  }
  w->m->now.along = r;
  Way way = way_of(w, r);
  StepObj *x = r->kind == R_OPERATOR ? varying_operand(w, r) : r;
  if (!x) {
    next_record(w);
    return false;
  }
  switch (way) {
    case WAY_TOGETHER: go_together(w, r); break;
    case WAY_EACH: go_each(w, r); break;
    case WAY_DIAGONAL: go_diagonal(w, r, x); break;
    default: go_back(w, r); break;
  }
  return true;
}

void step_along_take(StepSweep *w, StepObj *r, int waited, StepObj *given) {
  StepObj *value = r->fields[RECORD_VALUE];
  if (waited == SWEEP_SWEPT) {
    step_sweep_put_whole(w, "the tangent of a value", value, given->fields[0]);
    next_record(w);
    return;
  }
  StepObj *part = given->fields[w->operand++];
  if (part->kind == V_TENSOR) step_sweep_put_todo(w, value, part);
}

void step_along(StepMachine *m, const Expr *e, StepObj *run) {
  StepSweep w = {.m = m,
                 .e = e,
                 .kind = SWEEP_ALONG,
                 .env = m->now.env,
                 .run = run,
                 .outer = m->now.along,
                 .records = step_sweep_records(m, run, true)};
  if (!w.records) return;
  step_sweep_put_whole(&w, "the tangent of an input", run->fields[RUN_INPUTS],
                       run->fields[RUN_TANGENTS]);
  step_sweep_move_on(&w);
}
