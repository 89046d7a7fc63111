/* A param gets its value before the first run from which it is reachable, so a
 * param without a value stands in the way of its uses alone.
 *
 *   a run will evaluate these expressions
 *     -> the globals they mention, those that these mention, ...  (params_for)
 *     -> of these, the params without a value                     (give_params)
 *     -> what is bound to the name, or the default               (give_param)
 *
 * Values are given to the code (code_bind_param), which all sessions of the
 * program share; a value that was given stays.  Defaults are evaluated in the
 * order of declaration, as one may mention params above it, and aside of the
 * session that asks (session_aside): its limits and interrupts hold for them,
 * its values are out of their sight.  parts.c makes the values of tuples and
 * data types. */
#include "bytecode/code.h"
#include "ir/walk.h"
#include "lib/handles.h"
#include "lib/inside.h"
#include "vm/session.h"

bool param_is_given(const rly_program *p, const Global *g) {
  return code_param(p->code, g);
}

/* --- What a run reaches ------------------------------------------------- */

typedef struct Reach {
  PtrMap met; /* Global -> itself */
  VEC(const Expr *) rest;
} Reach;

/* Adds what this expression mentions for the first time. */
static void reach_globals(Reach *r, Mem *mem, const Expr *e) {
  ExprWalk w;
  expr_walk_start(&w, mem, WALK_ENTER, e);
  while (expr_walk_next(&w)) {
    if (w.at->kind != EX_GLOBAL) continue;
    const Global *g = w.at->g.global;
    if (ptrmap_has(&r->met, g)) continue;
    ptrmap_put(&r->met, g, (void *)g);
    if (g->value) VEC_PUSH(&r->rest, g->value);
  }
  expr_walk_end(&w);
}

/* A worklist over definitions; each is walked once, so the cost is that of the
 * text that can be reached. */
static void reach_all(Reach *r, Mem *mem) {
  while (r->rest.len && !mem_exhausted(mem))
    reach_globals(r, mem, VEC_POP(&r->rest));
}

bool params_reached(rly_program *p, int count,
                    const rly_function *const *functions, bool *read) {
  if (!program_enter(p)) return false;
  Mem *mem = p->ir->mem;
  Reach r;
  ptrmap_init(&r.met, mem);
  VEC_INIT(&r.rest, mem);
  for (int i = 0; i < count; i++)
    VEC_PUSH(&r.rest, ((const Global *)functions[i])->value);
  reach_all(&r, mem);
  for (size_t i = 0; i < p->ir->params.len; i++)
    read[i] = ptrmap_has(&r.met, p->ir->params.data[i]);
  bool ok = !mem_exhausted(mem);
  VEC_DONE(&r.rest);
  ptrmap_done(&r.met);
  program_leave(p);
  return ok;
}

/* Params are given in the order of the text, so what a default needs of those
 * below it has no value yet. */
static bool default_is_ready(rly_program *p, const Global *g) {
  Reach r;
  bool ready = true;
  ptrmap_init(&r.met, p->ir->mem);
  VEC_INIT(&r.rest, p->ir->mem);
  VEC_PUSH(&r.rest, g->value);
  reach_all(&r, p->ir->mem);
  for (size_t i = 0; i < p->ir->params.len && ready; i++) {
    const Global *other = p->ir->params.data[i];
    ready = !ptrmap_has(&r.met, other) || param_is_given(p, other);
    if (ready) continue;
    Diag *d = diag_error(p->ir->diags, E0108, g->span,
                         "the default of `@%s` needs `@%s`, which has no value "
                         "yet",
                         g->name->text, other->name->text);
    diag_note(d, other->span, "it is declared here");
    diag_hint(d, "a default may mention the params above it");
  }
  VEC_DONE(&r.rest);
  ptrmap_done(&r.met);
  return ready && !mem_exhausted(p->ir->mem);
}

/* --- Values --------------------------------------------------------------- */

typedef struct Giving {
  rly_program *p;
  Session *asker;   /* NULL: what is bound is looked at, defaults are left */
  RunStatus status; /* why evaluating a default ended */
  Missing *missing;
} Giving;

/* A session for a value that all sessions will share. */
static Session *value_session(rly_program *p) {
  Session *vm = session_new(p->code, p->mem, limits_of(p->cx),
                            (SessionHooks){0}, p->ir->diags);
  if (!vm) mem_raise_exhausted(p->ir->mem);
  return vm;
}

static bool set_param(rly_program *p, const Global *g, Value v) {
  if (code_bind_param(p->code, g, v)) return true;
  mem_raise_exhausted(p->ir->mem);
  return false;
}

/* Takes the value out of the session. */
static bool take_param(rly_program *p, const Global *g, Session *vm, Value v) {
  bool ok = set_param(p, g, v);
  value_drop(session_store(vm), g->type, v);
  return ok;
}

/* Without anybody who asks it is enough that there is a default. */
static bool give_default(Giving *to, const Global *g) {
  rly_program *p = to->p;
  if (!to->asker) return true;
  if (!default_is_ready(p, g)) return false;
  Session *aside = session_aside(to->asker);
  if (!aside) return mem_raise_exhausted(p->ir->mem), false;
  Step step = {.kind = STEP_EXPR, .expr = g->value, .span = g->span};
  Value v;
  to->status = session_step(aside, &step, &v);
  return to->status == RUN_OK && take_param(p, g, aside, v);
}

static bool give_parts(Giving *to, const Global *g) {
  rly_program *p = to->p;
  Session *vm = value_session(p);
  Value v;
  bool ok = vm && param_value(p, g, session_store(vm), to->missing, &v) &&
            take_param(p, g, vm, v);
  session_free(vm);
  return ok;
}

const Value *param_parts(rly_program *p, const Global *g) {
  Missing missing = {.p = p};
  Giving to = {.p = p, .missing = &missing};
  bool ok = param_is_given(p, g) || give_parts(&to, g);
  missing_end(&missing);
  return ok ? code_param(p->code, g) : NULL;
}

/* A value that is bound but does not fit has been reported by bound_tensor();
 * only when there was nothing at all does the default count. */
static bool give_param(Giving *to, const Global *g) {
  rly_program *p = to->p;
  size_t errors = p->ir->diags->errors;
  if (param_has_parts(g)) {
    bool defaults = g->value && !param_is_bound(p, g);
    return defaults ? give_default(to, g) : give_parts(to, g);
  }
  const Tensor *t = bound_tensor(p, g->name->text, g->type, g->span);
  if (t)
    return set_param(p, g,
                     type_is_scalar(g->type) ? tensor_bits_at(t, 0)
                                             : (Value){.tensor = (Tensor *)t});
  if (p->ir->diags->errors != errors) return false;
  if (g->value) return give_default(to, g);
  report_missing(to->missing, g->name->text, g->type, g->span);
  return false;
}

/* In the order of declaration: a default may mention the params above it.
 * `wanted` NULL: all.  No default is evaluated after one that failed, which may
 * have taken all the time there is.  params_given is how many params from the
 * first on have a value, so that a program with thousands of them is not gone
 * through before each run. */
static bool give_params(Giving *to, const PtrMap *wanted) {
  rly_program *p = to->p;
  bool ok = true, whole = true;
  for (size_t i = p->params_given; i < p->ir->params.len; i++) {
    const Global *g = p->ir->params.data[i];
    if (!param_is_given(p, g) && (!wanted || ptrmap_has(wanted, g)))
      ok &= to->status == RUN_OK && give_param(to, g);
    whole &= param_is_given(p, g);
    if (whole) p->params_given = i + 1;
  }
  return ok;
}

bool params_bound(rly_program *p, Missing *missing) {
  Giving to = {.p = p, .missing = missing};
  return give_params(&to, NULL);
}

/* --- What a run needs ----------------------------------------------------- */

rly_status params_for(rly_program *p, const Unit *from, bool lets_only,
                      const Expr *call, Session *asker) {
  Mem *mem = p->ir->mem;
  Missing missing = {.p = p};
  Giving to = {.p = p, .asker = asker, .missing = &missing};
  Reach r;
  ptrmap_init(&r.met, mem);
  VEC_INIT(&r.rest, mem);
  if (call) VEC_PUSH(&r.rest, call);
  for (const Unit *u = from; u; u = u->next)
    for (int i = 0; i < u->step_count; i++)
      if (!lets_only || u->steps[i].kind == STEP_LET)
        VEC_PUSH(&r.rest, u->steps[i].expr);
  reach_all(&r, mem);
  bool ok = !mem_exhausted(mem) && give_params(&to, &r.met);
  missing_end(&missing);
  VEC_DONE(&r.rest);
  ptrmap_done(&r.met);
  if (ok) return RLY_OK;
  return to.status == RUN_OK ? RLY_REFUSED : status_of_run(to.status);
}
