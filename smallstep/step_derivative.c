/* Derivatives in the small-step machine: grad, vjp, jvp and what they record.
 *
 *   grad(f)(v)   ->   f(v') , each tensor of v' being an input of a new run
 *                ->   ... its value y, with a record of each operator
 *                ->   a sweep of the run from the adjoint 1 (step_sweep.c)
 *                ->   (y, gradient)
 *
 * A tensor points to the record of the operator that made it, and the record to
 * the operands; so what a value depends on can be followed back, through calls,
 * branches, closures, data and cells alike, and needs no tape.  There are no
 * levels of derivatives, either.  A run within a run makes new tensors of its
 * inputs, whose records (R_INPUT) point to what they are outside: the sweep of
 * the inner run ends there, that of the outer one passes through.
 *
 * A run takes for a constant what it reads from a cell that is older than the
 * run (R_READ): the cell's number tells. */
#include "smallstep/step_machine.h"

/* --- Copies -------------------------------------------------------------- */

typedef StepObj *Leaf(StepMachine *m, StepObj *t, void *data);

typedef struct Wanted {
  StepObj *of, **into;
} Wanted;

typedef struct Copying {
  StepMachine *m;
  VEC(Wanted) todo;
  PtrMap made; /* an object -> its copy, but with COPY_PLACES */
  StepCopied what;
  Leaf *leaf;
  void *data;
} Copying;

static bool has_parts(const Copying *c, const StepObj *v) {
  switch ((StepObjKind)v->kind) {
    case V_TUPLE:
    case V_DATA: return v->count > 0;
    case V_CLOSURE:
    case V_FORM:
    case E_BIND:
    case E_GROUP: return c->what == COPY_ALL;
    default: return false;
  }
}

static StepObj *copy_one(Copying *c, StepObj *v) {
  if (v->kind == V_TENSOR) return c->leaf(c->m, v, c->data);
  if (!has_parts(c, v)) return v;
  bool shares = c->what != COPY_PLACES;
  StepObj *o = shares ? ptrmap_get(&c->made, v) : NULL;
  if (o) return o;
  o = step_obj(c->m, v->kind, v->count);
  if (!o) return NULL;
  o->index = v->index; /* and what else these may be */
  o->key = v->key;
  if (shares) ptrmap_put(&c->made, v, o);
  for (uint32_t i = 0; i < v->count; i++)
    if (v->fields[i])
      VEC_PUSH(&c->todo, ((Wanted){v->fields[i], &o->fields[i]}));
  return o;
}

StepObj *step_copy(StepMachine *m, StepObj *v, StepCopied what, Leaf *leaf,
                   void *data) {
  Copying c = {.m = m, .what = what, .leaf = leaf, .data = data};
  VEC_INIT(&c.todo, m->mem);
  ptrmap_init(&c.made, m->mem);
  StepObj *whole = copy_one(&c, v);
  while (c.todo.len && !mem_exhausted(m->mem)) {
    Wanted w = VEC_POP(&c.todo);
    *w.into = copy_one(&c, w.of);
  }
  VEC_DONE(&c.todo);
  ptrmap_done(&c.made);
  return mem_exhausted(m->mem) ? NULL : whole;
}

/* --- Records ------------------------------------------------------------- */

static StepObj *record_new(StepMachine *m, StepObjKind kind, uint32_t count) {
  StepObj *r = step_obj(m, kind, count);
  if (!r) return NULL;
  r->serial = ++m->records;
  r->fields[RECORD_AFTER] = m->now.along;
  return r;
}

/* The same elements with another origin. */
static StepObj *tensor_from(StepMachine *m, const StepObj *t, StepObj *origin) {
  StepObj *o = step_tensor_take(m, tensor_keep(t->tensor));
  if (!o) return NULL;
  o->abstract = t->abstract;
  o->fields[ORIGIN] = origin;
  return o;
}

/* A tensor that is `t` elsewhere: R_INPUT, R_READ. */
static StepObj *renamed(StepMachine *m, StepObjKind kind, StepObj *t) {
  StepObj *r = record_new(m, kind, 3);
  StepObj *o = r ? tensor_from(m, t, r) : NULL;
  if (!o) return NULL;
  r->fields[RECORD_VALUE] = o;
  r->fields[RECORD_OF] = t;
  return o;
}

static bool is_recorded(const StepObj *v) {
  if (v->kind == V_TENSOR) return v->fields[ORIGIN];
  for (uint32_t i = 0; v->kind == V_TUPLE && i < v->count; i++)
    if (is_recorded(v->fields[i])) return true;
  return false;
}

static void give_origin(StepObj *value, StepObj *record) {
  if (step_is_float(value)) value->fields[ORIGIN] = record;
  for (uint32_t i = 0; value->kind == V_TUPLE && i < value->count; i++)
    give_origin(value->fields[i], record);
}

/* Of what is flat the value is a constant. */
void step_record(StepMachine *m, const StepSite *site, int count,
                 const StepObj *args, StepObj *value) {
  bool any = false;
  if (!m->now.runs || site->attrs->op->flat || !value) return;
  for (int i = 0; i < count; i++) any |= is_recorded(args->fields[i]);
  StepObj *r = any ? record_new(m, R_OPERATOR, 3) : NULL;
  StepObj *own = r ? step_slice(m, V_TUPLE, args, 0, count) : NULL;
  if (!own) return;
  r->site = site;
  r->fields[RECORD_VALUE] = value;
  r->fields[RECORD_ARGS] = own;
  give_origin(value, r);
}

/* --- What is a constant -------------------------------------------------- */

static StepObj *constant(StepMachine *m, StepObj *t, void *data) {
  (void)data;
  return t->fields[ORIGIN] ? tensor_from(m, t, NULL) : t;
}

static StepObj *constants(StepMachine *m, StepObj *v) {
  return step_copy(m, v, COPY_ALL, constant, NULL);
}

StepObj *step_leaving(StepMachine *m, StepObj *v) {
  return v && !m->now.runs ? constants(m, v) : v;
}

/* Functions in what stop_gradient is given keep what they captured. */
static StepObj *stopped(StepMachine *m, StepObj *v) {
  return m->now.runs ? step_copy(m, v, COPY_DATA, constant, NULL) : v;
}

/* A tensor that is read from a cell of this number. */
static StepObj *read_from(StepMachine *m, StepObj *t, void *cell) {
  if (!t->fields[ORIGIN]) return t;
  StepObj *o = renamed(m, R_READ, t);
  if (o) o->fields[ORIGIN]->cell = *(uint32_t *)cell;
  return o;
}

StepObj *step_content(StepMachine *m, const StepObj *cell) {
  uint32_t number = cell->imported ? 0 : cell->serial;
  StepObj *v = cell->fields[CONTENT];
  return m->now.runs ? step_copy(m, v, COPY_ALL, read_from, &number) : v;
}

StepObj *step_zeros(StepMachine *m, const StepObj *like) {
  const Tensor *t = like->tensor;
  return step_tensor_take(
      m, tensor_zeros(&m->heap, (DType)t->dtype, t->rank, t->shape));
}

/* --- Functions that a form gave ------------------------------------------ */

static OpSpecial form_of(const StepObj *f) {
  return op_info(f->expr->call.callee->op)->special;
}

/* Does the call enter the function that the form was given? */
static bool enters(const StepObj *f) {
  return f->kind == V_FORM && form_of(f) != SPECIAL_VJP;
}

const StepObj *step_entered(const StepObj *f) {
  while (enters(f)) f = f->fields[0];
  return f;
}

static StepObj *form_new(StepMachine *m, const Expr *e, int count,
                         const StepObj *args) {
  StepObj *f = step_slice(m, V_FORM, args, 0, count);
  if (f) f->expr = e;
  return f;
}

/* --- Runs ---------------------------------------------------------------- */

StepObj *step_input(StepMachine *m, StepObj *t, void *param) {
  if (!step_is_float(t)) return t;
  StepObj *o = renamed(m, R_INPUT, t);
  if (o) o->fields[ORIGIN]->key = param;
  return o;
}

/* A run of `f` with these arguments, and a frame that waits for its value.
 * NULL without memory. */
static StepObj *begin_run(StepMachine *m, const Expr *e, RunOf of,
                          const StepObj *f, int count, const StepObj *args) {
  StepObj *run = step_obj(m, V_RUN, RUN_FIELDS);
  StepObj *inputs = step_obj(m, V_TUPLE, (uint32_t)count);
  if (!run || !inputs) return NULL;
  f = step_entered(f);
  const Fn *fn = f->kind == V_CLOSURE ? f->expr->fn : NULL;
  run->before = m->records;
  run->cells = m->cells;
  run->fields[RUN_INPUTS] = inputs;
  for (int i = 0; i < count; i++)
    inputs->fields[i] = step_copy(m, args->fields[i], COPY_PLACES, step_input,
                                  fn ? fn->params[i] : NULL);
  run->inputs = m->records;
  if (m->now.runs++ == 0) m->now.customs = NULL;
  step_push(m, K_RUN, e, of, m->now.env, run);
  return mem_exhausted(m->mem) ? NULL : run;
}

/* A rule of with_vjp is its record's, which gets the arguments as they are;
 * the function gets constants. */
static StepObj *begin_custom(StepMachine *m, const Expr *e, StepObj *f,
                             const StepObj *args, int count) {
  StepObj *both = step_obj(m, V_TUPLE, 2);
  StepObj *own = step_slice(m, V_TUPLE, args, 0, count);
  if (!both || !own) return NULL;
  both->fields[0] = f;
  both->fields[1] = own;
  step_push(m, K_CUSTOM, e, 0, m->now.env, both);
  return m->now.runs ? constants(m, own) : own;
}

/* The second result of vjp.  A session does not tell of its runs. */
static void sweep_recorded(StepMachine *m, const Expr *e, const StepObj *f,
                           const StepObj *args) {
  if (f->fields[0]->kind == V_RUN)
    step_sweep(m, e, SWEEP_VJP, f->fields[0], args->fields[0]);
  else
    step_fail(m, E0609, e->span,
              "what `vjp` recorded in an earlier entry has no steps: let one "
              "entry call `vjp` and what it gives");
}

/* The step that enters a closure says that it will be recorded. */
static void note_recorded(StepMachine *m) {
  if (m->applied && m->rule == REDUCE_CALL) m->rule = REDUCE_DERIVE;
}

void step_call_function(StepMachine *m, const Expr *e, StepObj *f,
                        const StepObj *args, int count) {
  bool recorded = false;
  for (; args && enters(f); f = f->fields[0]) {
    if (form_of(f) == SPECIAL_GRAD) {
      const StepObj *run = begin_run(m, e, RUN_OF_GRAD, f, count, args);
      args = run ? run->fields[RUN_INPUTS] : NULL;
      recorded = true;
    } else if (form_of(f) == SPECIAL_WITH_VJP) {
      args = begin_custom(m, e, f, args, count);
    }
  }
  if (!args) return;
  if (f->kind == V_FORM) sweep_recorded(m, e, f, args);
  else step_apply(m, e, f, args, count);
  if (recorded) note_recorded(m);
}

/* A form that calls its first argument on these at once.
 *
 *   vjp(f, v...)          ->   f(v'...), a run
 *   jvp(f, (v...), t)     ->   the same */
static void begin(StepMachine *m, const Expr *e, RunOf of, StepObj *f,
                  int count, const StepObj *args, StepObj *tangents) {
  StepObj *run = begin_run(m, e, of, f, count, args);
  if (!run) return;
  run->fields[RUN_TANGENTS] = tangents;
  step_call_function(m, e, f, run->fields[RUN_INPUTS], count);
  note_recorded(m);
}

static void begin_vjp(StepMachine *m, const Expr *e, int count,
                      const StepObj *args) {
  StepObj *own = step_slice(m, V_TUPLE, args, 1, count - 1);
  if (own) begin(m, e, RUN_OF_VJP, args->fields[0], count - 1, own, NULL);
}

static void begin_jvp(StepMachine *m, const Expr *e, const StepObj *args) {
  const StepObj *inputs = args->fields[1];
  begin(m, e, RUN_OF_JVP, args->fields[0], (int)inputs->count, inputs,
        args->fields[2]);
}

void step_form(StepMachine *m, const Expr *e, int count, const StepObj *args) {
  const OpInfo *info = op_info(e->call.callee->op);
  switch (info->special) {
    case SPECIAL_GRAD:
    case SPECIAL_CHECKPOINT:
    case SPECIAL_WITH_VJP: step_to_value(m, form_new(m, e, count, args)); break;
    case SPECIAL_VJP: begin_vjp(m, e, count, args); break;
    case SPECIAL_JVP: begin_jvp(m, e, args); break;
    default: /* stop_gradient: types/ has written map_leaves out */
      step_applied(m, REDUCE_OPERATOR, e->span);
      step_to_value(m, stopped(m, args->fields[0]));
      break;
  }
}

/* (y, the sweep of the run as a function) */
static void give_pullback(StepMachine *m, const Expr *e, StepObj *run) {
  StepObj *pair = step_obj(m, V_TUPLE, 2), *only = step_obj(m, V_TUPLE, 1);
  if (!pair || !only) return;
  only->fields[0] = run;
  pair->fields[0] = step_leaving(m, m->now.value);
  pair->fields[1] = form_new(m, e, 1, only);
  step_to_value(m, pair);
}

/* grad:  y   ->   a sweep from 1
 * jvp:   y   ->   the tangents, forward
 * vjp:   y   ->   (y, the sweep of the run as a function) */
void step_run_done(StepMachine *m, const StepObj *frame) {
  const Expr *e = frame->expr;
  const StepObj *begun = frame->fields[DONE];
  StepObj *run = step_obj(m, V_RUN, RUN_FIELDS);
  if (!run) return;
  run->before = begun->before;
  run->inputs = begun->inputs;
  run->cells = begun->cells;
  run->fields[RUN_INPUTS] = begun->fields[RUN_INPUTS];
  run->fields[RUN_TANGENTS] = begun->fields[RUN_TANGENTS];
  run->fields[RUN_VALUE] = m->now.value;
  m->now.env = frame->fields[ENV];
  m->now.runs--;
  if (frame->index == RUN_OF_GRAD) step_sweep(m, e, SWEEP_GRAD, run, NULL);
  else if (frame->index == RUN_OF_JVP) step_along(m, e, run);
  else give_pullback(m, e, run);
}

static StepObj *given_by(StepMachine *m, StepObj *t, void *record) {
  return step_is_float(t) ? tensor_from(m, t, record) : t;
}

/* What the value depends on otherwise is forgotten: the rule alone counts. */
void step_custom_done(StepMachine *m, const StepObj *frame) {
  StepObj *form = frame->fields[DONE]->fields[0];
  StepObj *args = frame->fields[DONE]->fields[1];
  if (!m->now.runs) return;
  StepObj *value = constants(m, m->now.value);
  StepObj *r = record_new(m, R_CUSTOM, 4);
  if (!r || !value) return;
  r->expr = form->expr;
  r->fields[RECORD_ARGS] = args;
  r->fields[RECORD_REVERSE] = form->fields[1];
  r->fields[RECORD_VALUE] = step_copy(m, value, COPY_PLACES, given_by, r);
  m->now.customs = step_pair(m, L_DONE, NULL, m->now.customs, r);
  step_to_value(m, r->fields[RECORD_VALUE]);
}
