/* The rules of the small-step machine, one for each kind of expression.
 *
 * A rule is written above its function: premises over the line, the step under
 * it.  env(%x) is the value of a name, e[v/%x] is e with %x bound to v; the
 * machine binds in the environment instead of substituting in the text.
 *
 * Each function ends in one of three ways: step_applied() with the next state;
 * the next state alone, for what is no step (a constructor's value is built
 * where it stands); or step_fail() with the error that the VM reports in this
 * place.  Tests compare the two (fuzz/differ.c). */
#include <assert.h>

#include "smallstep/step_machine.h"

/* --- Names -------------------------------------------------------------- */

void step_force(StepMachine *m, StepObj *promise, Span span) {
  step_push(m, K_FORCE, promise->expr, 0, NULL, promise);
  bool node = promise->waits == PROMISE_NODE;
  step_applied(m, node ? REDUCE_FORCE : REDUCE_DEMAND, span);
  step_to_expr(m, promise->expr, promise->fields[CONTENT]);
}

/*   env(%x) = v              env(%0) = delayed e in env'
 *   -----------              -----------------------------
 *   %x  ->  v                %0  ->  e, whose value env(%0) keeps            */
void step_var(StepMachine *m, const Expr *e) {
  StepObj *v = step_lookup(m, m->now.env, e->var);
  if (mem_exhausted(m->mem)) return;
  if (!v) {
    const char *why =
        m->host.session ? ": what it was captured at is not told" : "";
    step_fail(m, E0108, e->span, "`%%%s` has no value%s", e->var->name->text,
              why);
  } else if (v->kind != V_PROMISE) {
    step_applied(m, REDUCE_VAR, e->span);
    step_to_value(m, v);
  } else if (v->evaluated) {
    step_applied(m, REDUCE_VAR, e->span);
    step_to_value(m, v->fields[CONTENT]);
  } else {
    step_force(m, v, e->span);
  }
}

/* The value that a session was given.  A polymorphic function has none.  It is
 * looked up once: from then on the machine has a copy. */
static StepObj *imported(StepMachine *m, const Global *g) {
  if (!m->host.session) return NULL;
  if (g->param_count > 0 && g->value->kind == EX_FN)
    return step_closure(m, g->value, NULL);
  StepObj *v = step_import_global(m, g);
  if (v) step_set_global(m, (size_t)g->slot, v);
  return v;
}

/* A definition is a closure over nothing; a param is a tensor that the host
 * gave; a let is what was evaluated here or, failing that, in the session. */
static StepObj *global_value(StepMachine *m, const Global *g) {
  size_t slot = (size_t)g->slot;
  switch (g->kind) {
    case GLOBAL_DEF: return step_closure(m, g->value, NULL);
    case GLOBAL_PARAM: return step_import_param(m, g);
    default:
      if (slot < m->globals.len && m->globals.data[slot])
        return m->globals.data[slot];
      return imported(m, g);
  }
}

void step_global(StepMachine *m, const Expr *e) {
  StepObj *v = global_value(m, e->g.global);
  if (mem_exhausted(m->mem)) return;
  const Global *g = e->g.global;
  if (!v && m->host.session && g->param_count > 0) { /* Nil and the like */
    step_applied(m, REDUCE_GLOBAL, e->span);
    step_to_expr(m, g->value, NULL);
    return;
  }
  if (!v) {
    step_fail(m, E0108, e->span, "`%s` has no value", e->g.name->text);
    return;
  }
  step_applied(m, REDUCE_GLOBAL, e->span);
  step_to_value(m, v);
}

/* Named dimensions are int32 scalars in programs. */
static void to_int32(StepMachine *m, int64_t number) {
  Value bits = bits_from_i64(DT_INT32, number);
  Tensor *t = tensor_from_bits(&m->heap, DT_INT32, bits);
  step_to_value(m, step_tensor_take(m, t));
}

/*   env(n) = 4
 *   -----------
 *   n  ->  4 */
void step_dim(StepMachine *m, const Expr *e) {
  int64_t n = step_lookup_dim(m, m->now.env, e->dim_var);
  if (n < 0) {
    step_fail(m, E0108, e->span, "`%s` has no value", e->dim_var->name->text);
    return;
  }
  step_applied(m, REDUCE_DIM, e->span);
  to_int32(m, n);
}

/* --- Calls -------------------------------------------------------------- */

/*   (fn (%x1, ..., %xn) { e })(v1, ..., vn)  ->  e[v1/%x1, ..., vn/%xn]
 * A declared result is checked when the body has its value, by a frame below
 * it. */
static void call_closure(StepMachine *m, const Expr *call, StepObj *f,
                         const StepObj *args) {
  const Expr *e = f->expr;
  const Fn *fn = e->fn;
  StepObj *env = f->fields[ENV_OF];
  if (!step_enter(m, fn, args, &env)) return;
  if (fn->declared_result &&
      types_need_check(fn->body->type, fn->declared_result))
    step_push(m, K_RESULT, e, 0, env, NULL);
  step_applied(m, REDUCE_CALL, call->span);
  step_to_expr(m, fn->body, env);
}

/* Makes a constructor's value with the first `n` values as its fields. */
static StepObj *data(StepMachine *m, const Ctor *ctor, int n,
                     const StepObj *args) {
  StepObj *o = step_slice(m, V_DATA, args, 0, n);
  if (o) o->ctor = ctor;
  return o;
}

/* In a loose program the value of a call is checked against the type of the
 * call.  A tail call shares the check of the call before it.  Else a loop by
 * tail calls would push a frame for each round. */
static void await_result(StepMachine *m, const Expr *call) {
  const Type *fn = call->call.callee->type;
  if (fn->kind != TY_FN || fn->param_count > 0) return;
  if (!m->program->loose && !types_need_check(fn->result, call->type)) return;
  if (m->now.frames && m->now.frames->kind == K_CALLED) return;
  step_push(m, K_CALLED, call, 0, m->now.env, NULL);
}

/* Arguments are checked where they are passed, and again on entry to the
 * function, because its callers may know less than its parameters. */
static bool check_arguments(StepMachine *m, const Expr *e,
                            const StepObj *args) {
  const Type *fn = e->call.callee->type;
  if (fn->kind != TY_FN || fn->param_count > 0) return true;
  for (int i = 0; i < e->count; i++)
    if (!step_check(m, args->fields[i], e->args[i]->type, fn->args[i],
                    m->now.env, "argument", e->args[i]->span))
      return false;
  return true;
}

static bool check_fields(StepMachine *m, const Ctor *ctor,
                         const StepObj *args) {
  for (int i = 0; i < ctor->field_count; i++)
    if (!step_check_out(m, args->fields[i], ctor->fields[i], ctor->fields[i],
                        NULL, "parameter", ctor->span))
      return false;
  return true;
}

void step_apply(StepMachine *m, const Expr *e, StepObj *f, const StepObj *args,
                int count) {
  switch ((StepObjKind)f->kind) {
    case V_CLOSURE: call_closure(m, e, f, args); break;
    case V_OP: step_operator(m, f->expr, count, args); break;
    default:
      if (!check_fields(m, f->ctor, args)) return;
      step_applied(m, REDUCE_CONSTRUCT, e->span);
      step_to_value(m, data(m, f->ctor, count, args));
      break;
  }
}

/* The callee is the last of the children's values. */
static void call_value(StepMachine *m, const Expr *e, const StepObj *args) {
  await_result(m, e);
  step_call_function(m, e, args->fields[e->count], args, e->count);
}

/* Cons(1, Nil) is a value once its fields are; to build it is no step. */
static void reduce_call(StepMachine *m, const Expr *e, StepObj *args) {
  const Expr *callee = e->call.callee;
  if (callee->kind != EX_OP && !check_arguments(m, e, args)) return;
  if (callee->kind == EX_CTOR)
    step_to_value(m, data(m, callee->ctor, e->count, args));
  else if (callee->kind == EX_OP) step_operator(m, e, e->count, args);
  else call_value(m, e, args);
}

/* --- Branches ----------------------------------------------------------- */

static bool is_true(const StepObj *v) { return tensor_bits_at(v->tensor, 0).b; }

/*   if (True) {a} else {b}  ->  a        if (False) {a} else {b}  ->  b      */
static void reduce_if(StepMachine *m, const Expr *e, StepObj *args) {
  if (!step_decides(m, args->fields[0], e->args[0]->span)) return;
  bool holds = is_true(args->fields[0]);
  step_applied(m, holds ? REDUCE_IF_TRUE : REDUCE_IF_FALSE, e->span);
  step_to_expr(m, e->args[holds ? 1 : 2], m->now.env);
}

/* Is the value equal to a literal?  0 equals -0. */
static bool is_literal(const Ctor *ctor, const StepObj *v) {
  DType dtype = (DType)v->tensor->dtype;
  Value a = tensor_bits_at(v->tensor, 0), b = tensor_bits_at(ctor->literal, 0);
  if (dtype_is_float(dtype))
    return bits_to_f64(dtype, a) == bits_to_f64(dtype, b);
  return bits_to_i64(dtype, a) == bits_to_i64(dtype, b);
}

/* Whether the pattern matches the value.  Binds its variables in *env.  The
 * parser bounds the nesting of patterns.  Variables that an arm bound before it
 * failed to match are forgotten with its *env. */
static bool takes(StepMachine *m, const Pattern *p, StepObj *v, StepObj **env) {
  if (p->kind == PT_CTOR && v->ctor != p->ctor) return false;
  if (p->kind == PT_LITERAL && !is_literal(p->ctor, v)) return false;
  if (p->kind == PT_VAR) *env = step_pair(m, E_BIND, p->var, *env, v);
  bool all = true;
  for (int i = 0; all && i < p->count; i++)
    all = takes(m, p->fields[i], v->fields[i], env);
  return all;
}

/* In an abstract run: are the numbers known that the pattern's literals are
 * compared with? */
static bool literals_known(StepMachine *m, const Pattern *p, const StepObj *v) {
  if (p->kind == PT_CTOR && v->ctor != p->ctor) return true;
  if (p->kind == PT_LITERAL) return step_decides(m, v, p->span);
  bool known = true;
  for (int i = 0; known && i < p->count; i++)
    known = literals_known(m, p->fields[i], v->fields[i]);
  return known;
}

/* Checks annotated variables against their shapes, from left to right.  After
 * `takes`, so that a shape that does not fit is an error of the arm and no
 * reason to try the next. */
static bool check_pattern(StepMachine *m, const Pattern *p, const StepObj *v,
                          StepObj *env) {
  if (p->kind == PT_VAR &&
      !step_check_out(m, v, p->type, p->var->type, env, "pattern", p->span))
    return false;
  bool all = true;
  for (int i = 0; all && i < p->count; i++)
    all = check_pattern(m, p->fields[i], v->fields[i], env);
  return all;
}

static void no_arm(StepMachine *m, const Expr *e, const StepObj *v) {
  StrBuf text;
  strbuf_init(&text, m->mem);
  step_print(m, &text, v, 80);
  step_fail(m, E0601, e->span, "no arm of this match takes %s",
            strbuf_text(&text));
  strbuf_done(&text);
}

/*   p1, ..., pk-1 do not take v;  pk takes v with bindings b
 *   ---------------------------------------------------------
 *   match (v) { p1 => e1, ..., pn => en }  ->  ek[b]
 *
 * Where pk has a guard, gk[b] is evaluated first; if it does not hold, the
 * arms after pk are tried.  Begins with arm `i`. */
static void match_from(StepMachine *m, const Expr *e, StepObj *v, int i) {
  StepObj *outer = m->now.env;
  for (; i < e->match->arm_count; i++) {
    const Arm *arm = &e->match->arms[i];
    StepObj *env = outer;
    if (m->shapes && !literals_known(m, arm->pattern, v)) return;
    if (!takes(m, arm->pattern, v, &env)) continue;
    if (!check_pattern(m, arm->pattern, v, outer)) return;
    if (arm->guard) {
      StepObj *list = step_pair(m, L_DONE, NULL, NULL, v);
      step_push(m, K_GUARD, e, i, outer, list);
      step_to_expr(m, arm->guard, env);
      return;
    }
    step_applied(m, REDUCE_MATCH, e->span);
    step_to_expr(m, arm->body, env);
    return;
  }
  no_arm(m, e, v);
}

static void reduce_match(StepMachine *m, const Expr *e, StepObj *args) {
  match_from(m, e, args->fields[0], 0);
}

void step_arms(StepMachine *m, const StepObj *frame) {
  m->now.env = frame->fields[ENV];
  match_from(m, frame->expr, m->now.value, (int)frame->index);
}

void step_guard(StepMachine *m, const StepObj *frame) {
  const Expr *e = frame->expr;
  const Arm *arm = &e->match->arms[frame->index];
  StepObj *v = frame->fields[DONE]->fields[BOUND], *env = frame->fields[ENV];
  if (!step_decides(m, m->now.value, arm->guard->span)) return;
  if (is_true(m->now.value)) {
    takes(m, arm->pattern, v, &env);
    step_applied(m, REDUCE_MATCH, e->span);
    step_to_expr(m, arm->body, env);
    return;
  }
  step_applied(m, REDUCE_GUARD, arm->guard->span);
  step_push(m, K_ARMS, e, (int)frame->index + 1, env, NULL);
  step_to_value(m, v);
}

/* --- Tuples and cells --------------------------------------------------- */

static void reduce_tuple(StepMachine *m, const Expr *e, StepObj *args) {
  (void)e;
  step_to_value(m, args);
}

static StepObj *scalar_at(StepMachine *m, const Tensor *t, int64_t i) {
  DType dtype = (DType)t->dtype;
  Tensor *scalar = tensor_from_bits(&m->heap, dtype, tensor_bits_at(t, i));
  return step_tensor_take(m, scalar);
}

/* Builds the list from its end. */
static void reduce_list(StepMachine *m, const Expr *e, StepObj *args) {
  const Ctor *cons = e->list.head->ctor;
  const Type *element = e->list.head->type->args[0];
  const Tensor *packed = e->list.packed;
  for (int i = 0; i < e->count; i++)
    if (!step_check(m, args->fields[i], e->args[i]->type, element, m->now.env,
                    "field", e->args[i]->span))
      return;
  StepObj *list = data(m, ctor_nil(cons), 0, NULL);
  for (int64_t i = packed ? tensor_count(packed) : e->count; i-- > 0 && list;) {
    StepObj *cell = step_obj(m, V_DATA, 2);
    if (!cell) return;
    cell->ctor = cons;
    cell->fields[0] = packed ? scalar_at(m, packed, i) : args->fields[i];
    cell->fields[1] = list;
    list = cell;
  }
  step_to_value(m, list);
}

/*   (v0, ..., vn).i  ->  vi                                                  */
static void reduce_projection(StepMachine *m, const Expr *e, StepObj *args) {
  step_applied(m, REDUCE_PROJECT, e->span);
  step_to_value(m, args->fields[0]->fields[e->index]);
}

static bool check_content(StepMachine *m, const Expr *value, const Expr *cell,
                          const StepObj *v) {
  return step_check(m, v, value->type, cell->type->args[0], m->now.env,
                    "content", value->span);
}

static void reduce_ref(StepMachine *m, const Expr *e, StepObj *args) {
  if (!check_content(m, e->args[0], e, args->fields[0])) return;
  StepObj *cell = step_obj(m, V_CELL, 1);
  if (cell) cell->fields[CONTENT] = args->fields[0];
  if (cell) cell->serial = ++m->cells;
  step_applied(m, REDUCE_REF, e->span);
  step_to_value(m, cell);
}

static void reduce_read(StepMachine *m, const Expr *e, StepObj *args) {
  StepObj *v = step_content(m, args->fields[0]);
  if (!v) return;
  if (!step_check_out(m, v, e->args[0]->type->args[0], e->type, m->now.env,
                      "content", e->span))
    return;
  step_applied(m, REDUCE_READ, e->span);
  step_to_value(m, v);
}

static void reduce_write(StepMachine *m, const Expr *e, StepObj *args) {
  if (!check_content(m, e->args[1], e->args[0], args->fields[1])) return;
  step_set(m, args->fields[0], args->fields[1]);
  step_applied(m, REDUCE_WRITE, e->span);
  step_to_value(m, step_unit(m));
}

/* --- All kinds ---------------------------------------------------------- */

typedef void (*Reduce)(StepMachine *m, const Expr *e, StepObj *args);

static const Reduce reductions[] = {
    [EX_TUPLE] = reduce_tuple,     [EX_LIST] = reduce_list,
    [EX_PROJ] = reduce_projection, [EX_CALL] = reduce_call,
    [EX_IF] = reduce_if,           [EX_MATCH] = reduce_match,
    [EX_REF] = reduce_ref,         [EX_READ] = reduce_read,
    [EX_WRITE] = reduce_write,     [EX_ERROR] = NULL,
};

void step_reduce(StepMachine *m, const Expr *e, StepObj *args) {
  assert(reductions[e->kind] && "an expression that the checker lets pass");
  reductions[e->kind](m, e, args);
}
