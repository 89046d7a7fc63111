/* The small-step machine: finding the next redex.
 *
 * It is a CEK machine (Felleisen and Friedman 1986): a state is what is looked
 * at (an expression or a value), its environment, and a stack of frames, each
 * of which waits for a value:
 *
 *   state   n * fact(n - 1)   { n = 3 }   [1 + _]
 *   push    n                 { n = 3 }   [_ * fact(n - 1)] [1 + _]
 *   value   3                             [_ * fact(n - 1)] [1 + _]
 *   push    fact(n - 1)       { n = 3 }   [3 * _] [1 + _]
 *   ...
 *
 * The children of an expression are evaluated in order, each with a frame that
 * waits for its value; a function that is called comes after its arguments.
 * When all have values, a rule applies (step_rules.c).  To push and to pop
 * frames changes nothing that a reader of the program sees, so it is no step:
 * step_next() goes on until a rule was applied.
 *
 * There is one object for everything (step_machine.h), so that states can be
 * kept: frames and environments are linked lists that only grow at their ends.
 *
 * Memory: an allocation that fails raises `exhausted` and gives NULL, which may
 * be stored and is not looked into; step_next() looks at the flag after each
 * move and ends with STEP_LIMIT. */
#include "ir/walk.h"
#include "smallstep/strategy.h"

#include <stdarg.h>

const StepRuleInfo step_rule_info[REDUCE_COUNT] = {
#define REDUCTION(id, text, traits, says) [REDUCE_##id] = {text, says, traits},
#include "smallstep/step.def"
#undef REDUCTION
};

/* The message lives in a buffer of the machine, until the next failure. */
bool step_fail(StepMachine *m, DiagCode code, Span span, const char *format,
               ...) {
  va_list args;
  va_start(args, format);
  VEC_CLEAR(&m->message);
  strbuf_addv(&m->message, format, args);
  va_end(args);
  m->fault = (StepFault){code, span, strbuf_text(&m->message)};
  m->outcome = STEP_ERROR;
  return false;
}

/* --- Children ----------------------------------------------------------- */

/* An operator or a constructor that is called by name is part of the call, not
 * a function value that has to be evaluated. */
static bool has_callee(const Expr *e) {
  if (e->kind != EX_CALL) return false;
  return e->call.callee->kind != EX_OP && e->call.callee->kind != EX_CTOR;
}

/* Of `if` only the condition is a child: the branches are what the rule chooses
 * from. */
const Expr *step_child(const Expr *e, int i) {
  int args = e->kind == EX_IF ? 1 : e->count;
  if (i < args) return e->args[i];
  return i == args && has_callee(e) ? e->call.callee : NULL;
}

static int arg_count(const Expr *e) { return e->kind == EX_IF ? 1 : e->count; }

int step_child_at(const Expr *e, uint32_t index) {
  int k = step_turn(index), n = arg_count(e);
  switch ((StepOrder)(index >> TURN_BITS)) {
    case ORDER_RIGHT: return k < n ? n - 1 - k : k;
    case ORDER_CALLEE: return k == 0 ? n : k <= n ? k - 1 : k;
    default: return k;
  }
}

int step_turn_of(const Expr *e, uint32_t index, int i) {
  int n = arg_count(e);
  switch ((StepOrder)(index >> TURN_BITS)) {
    case ORDER_RIGHT: return i < n ? n - 1 - i : i;
    case ORDER_CALLEE: return i == n ? 0 : i + 1;
    default: return i;
  }
}

/* What waits under the name that the next state binds. */
static StepObj *promise_of(StepMachine *m, const Expr *e, StepObj *env) {
  StepObj *promise = step_obj(m, V_PROMISE, 1);
  if (!promise) return NULL;
  promise->expr = e;
  promise->fields[CONTENT] = env;
  promise->waits = m->strategy->keeps ? PROMISE_NEED : PROMISE_NAME;
  return promise;
}

/* Does a call's argument wait?  The callee has its value, at the end of the
 * list.  A function that reads dimensions of its arguments needs them. */
static bool argument_waits(StepMachine *m, const Expr *e, uint32_t index,
                           const StepObj *done) {
  bool called = index >> TURN_BITS == ORDER_CALLEE && step_turn(index) > 0;
  if (!called || !m->strategy->waits) return false;
  while (done->fields[OUTER]) done = done->fields[OUTER];
  const StepObj *f = done->fields[BOUND];
  int i = step_child_at(e, index);
  const Type *type = e->call.callee->type;
  if (f->kind != V_CLOSURE || f->expr->fn->type_param_count > 0 ||
      type->kind != TY_FN || type->param_count > 0 || m->program->loose)
    return false;
  const Type *own = f->expr->fn->params[i]->type;
  return m->strategy->waits(m, e->args[i], type->args[i]) &&
         m->strategy->waits(m, e->args[i], own);
}

/* The values in the order of the children. */
static StepObj *in_order(StepMachine *m, const Expr *e, uint32_t index,
                         StepObj *values) {
  if (!values || index >> TURN_BITS == ORDER_LEFT) return values;
  StepObj *made = step_obj(m, V_TUPLE, values->count);
  for (uint32_t i = 0; made && i < values->count; i++)
    made->fields[i] = values->fields[step_turn_of(e, index, (int)i)];
  return made;
}

/* Evaluates the child whose turn it is; `done` has the values of those before
 * it.  The list is gathered into a tuple when it is complete: args[i] is child
 * i. */
static void evaluate_child(StepMachine *m, const Expr *e, uint32_t index,
                           StepObj *env, StepObj *done) {
  for (const Expr *next; (next = step_child(e, step_child_at(e, index)));
       index++) {
    if (!argument_waits(m, e, index, done)) {
      step_push(m, K_CHILD, e, (int)index, env, done);
      step_to_expr(m, next, env);
      return;
    }
    done = step_pair(m, L_DONE, NULL, done, promise_of(m, next, env));
    if (!done) return;
  }
  m->now.env = env;
  StepObj *args = step_gather(m, V_TUPLE, (uint32_t)step_turn(index), done);
  args = in_order(m, e, index, args);
  if (args) step_reduce(m, e, args);
}

/* An expression's parts, from the first turn on.  A call of an operator or a
 * constructor has no callee among them. */
static void evaluate_parts(StepMachine *m, const Expr *e) {
  StepOrder order = m->strategy->order(e);
  if (order == ORDER_CALLEE && !has_callee(e)) order = ORDER_LEFT;
  evaluate_child(m, e, (uint32_t)order << TURN_BITS, m->now.env, NULL);
}

/* The type that the value of child `i` must fit; NULL: none.  Operators check
 * their operands themselves, by their typing rules. */
static const Type *wanted(const Expr *e, int i, const char **what) {
  if (e->kind == EX_CALL && i < e->count) {
    const Type *fn = e->call.callee->type;
    bool ctor = e->call.callee->kind == EX_CTOR;
    *what = ctor ? "field" : "argument";
    bool is_op = e->call.callee->kind == EX_OP;
    return is_op || fn->kind != TY_FN ? NULL : fn->args[i];
  }
  *what = "content";
  if (e->kind == EX_REF) return e->type->args[0];
  return e->kind == EX_WRITE && i == 1 ? e->args[0]->type->args[0] : NULL;
}

/* A type may promise more than the checker could prove (a shape that is known
 * at run time only), so each value is compared with it where it is passed. */
static void child_done(StepMachine *m, const StepObj *frame) {
  const Expr *e = frame->expr;
  int i = step_child_at(e, frame->index);
  const char *what;
  const Type *expected = wanted(e, i, &what);
  const Expr *done = step_child(e, i);
  if (expected && !step_check(m, m->now.value, done->type, expected,
                              frame->fields[ENV], what, done->span))
    return;
  StepObj *list = step_pair(m, L_DONE, NULL, frame->fields[DONE], m->now.value);
  if (list) evaluate_child(m, e, frame->index + 1, frame->fields[ENV], list);
}

/* --- Delayed nodes that a function captures ----------------------------- */

/* The first graph node, from left to right, that `e` refers to and that has no
 * value yet; NULL: none.  Names that `e` binds itself are not in `env`. */
static StepObj *find_promise(StepMachine *m, const Expr *e, StepObj *env) {
  ExprWalk w;
  StepObj *found = NULL;
  expr_walk_start(&w, m->mem, WALK_ENTER, e);
  while (!found && expr_walk_next(&w)) {
    StepObj *v = w.at->kind == EX_VAR ? step_lookup(m, env, w.at->var) : NULL;
    if (v && v->kind == V_PROMISE && !v->evaluated && v->waits == PROMISE_NODE)
      found = v;
  }
  expr_walk_end(&w);
  return found;
}

/* The creation of a function uses the nodes that it captures, because a delayed
 * node sinks into `if` and `match` but not into a function.  Returns true if
 * one must be evaluated first.  K_AGAIN brings the machine back to where it
 * was, which then asks again: each time one promise less.  Programs without
 * delayed nodes pay one comparison. */
static bool force_captured(StepMachine *m, const Expr *fn) {
  if (m->promises == 0) return false;
  StepObj *promise = find_promise(m, fn, m->now.env);
  if (!promise) return false;
  step_push(m, K_AGAIN, m->now.expr, m->now.at, m->now.env, NULL);
  step_force(m, promise, fn->span);
  return true;
}

/* --- Blocks ------------------------------------------------------------- */

/* Continues with the binding after binding `i`. */
static void block_at(StepMachine *m, const Expr *e, int i, StepObj *env) {
  step_to_expr(m, e, env);
  m->now.at = i;
}

/* A promise is an expression and its environment until it is evaluated, and
 * then a value. */
static void delay(StepMachine *m, const Expr *e, const Binding *b) {
  StepObj *promise = step_obj(m, V_PROMISE, 1);
  if (!promise) return;
  promise->expr = b->value;
  promise->fields[CONTENT] = m->now.env;
  m->promises++;
  step_applied(m, REDUCE_DELAY, b->span);
  block_at(m, e, m->now.at + 1,
           step_pair(m, E_BIND, b->var, m->now.env, promise));
}

/* `let %f = fn ... and %g = fn ...`: mutually recursive functions.  One object
 * binds all of the group; its members are made when they are looked up
 * (step_heap.c). */
static void bind_group(StepMachine *m, const Expr *e, const Binding *first) {
  int end = m->now.at + 1;
  const Block *block = e->block;
  while (end < block->count && block->bindings[end].kind == BIND_AND) end++;
  for (int i = m->now.at; i < end; i++)
    if (force_captured(m, block->bindings[i].value)) return;
  StepObj *group = step_obj(m, E_GROUP, 1);
  if (!group) return;
  group->bindings = first;
  group->size = (uint32_t)(end - m->now.at);
  group->fields[OUTER] = m->now.env;
  step_applied(m, REDUCE_GROUP, first->span);
  block_at(m, e, end, group);
}

/* m->now.at is the number of the next binding: a block is looked at once for
 * each of them. */
static void enter_block(StepMachine *m, const Expr *e) {
  const Block *block = e->block;
  if (m->now.at == block->count) {
    step_to_expr(m, block->result, m->now.env);
    return;
  }
  const Binding *b = &block->bindings[m->now.at];
  if (b->kind == BIND_FREE) {
    block_at(m, e, m->now.at + 1, m->now.env);
  } else if (b->kind == BIND_LET && b->var->lazy) {
    delay(m, e, b);
  } else if (b->kind == BIND_LET && b->value->kind == EX_FN) {
    bind_group(m, e, b);
  } else if (b->kind == BIND_LET && m->strategy->waits &&
             m->strategy->waits(m, b->value, b->var->declared)) {
    step_applied(m, REDUCE_SUSPEND, b->span);
    StepObj *env = step_pair(m, E_BIND, b->var, m->now.env,
                             promise_of(m, b->value, m->now.env));
    block_at(m, e, m->now.at + 1, env);
  } else {
    step_push(m, K_BINDING, e, m->now.at, m->now.env, NULL);
    step_to_expr(m, b->value, m->now.env);
  }
}

/* The rules of a block:
 *
 *   let %x = v; e   ->  e, with %x = v
 *   v; e            ->  e */
static void binding_done(StepMachine *m, const StepObj *frame) {
  int i = (int)frame->index;
  const Binding *b = &frame->expr->block->bindings[i];
  StepObj *env = frame->fields[ENV];
  if (b->kind == BIND_ITEM) {
    step_applied(m, REDUCE_ITEM, b->span);
    block_at(m, frame->expr, i + 1, env);
    return;
  }
  if (b->var->declared &&
      !step_check(m, m->now.value, b->value->type, b->var->declared, env,
                  b->var->annotation ? "annotation" : b->var->name->text,
                  b->value->span))
    return;
  step_applied(m, REDUCE_LET, b->span);
  block_at(m, frame->expr, i + 1,
           step_pair(m, E_BIND, b->var, env, m->now.value));
}

/* --- Expressions -------------------------------------------------------- */

/*    fn (...) { e }  in env   is the value   closure(fn, env) */
static void make_function(StepMachine *m, const Expr *e) {
  if (force_captured(m, e)) return;
  step_to_value(m, step_closure(m, e, m->now.env));
}

/* An operator or a constructor that is used as a value. */
static void name_itself(StepMachine *m, const Expr *e) {
  StepObj *v = step_obj(m, e->kind == EX_OP ? V_OP : V_CTOR, 0);
  if (v && e->kind == EX_OP) v->expr = e;
  if (v && e->kind == EX_CTOR) v->ctor = e->ctor;
  step_to_value(m, v);
}

/* No rule applies to a constant, a function or a constructor: they are values
 * already. */
static void look_at(StepMachine *m, const Expr *e) {
  switch ((ExprKind)e->kind) {
    case EX_CONST:
      step_to_value(m, step_tensor_take(m, tensor_keep(e->constant)));
      break;
    case EX_VAR: step_var(m, e); break;
    case EX_GLOBAL: step_global(m, e); break;
    case EX_DIM: step_dim(m, e); break;
    case EX_FN: make_function(m, e); break;
    case EX_OP:
    case EX_CTOR: name_itself(m, e); break;
    case EX_BLOCK: enter_block(m, e); break;
    default: evaluate_parts(m, e); break;
  }
}

/* --- Values ------------------------------------------------------------- */

static void force_done(StepMachine *m, const StepObj *frame) {
  StepObj *promise = frame->fields[DONE];
  if (promise->waits != PROMISE_NAME) step_set(m, promise, m->now.value);
}

/* Checks a function's result against its annotation and against the type at its
 * use.  The value stays; result_done() and called_done() only compare it. */
static void result_done(StepMachine *m, const StepObj *frame) {
  const Fn *fn = frame->expr->fn;
  step_check(m, m->now.value, fn->body->type, fn->declared_result,
             frame->fields[ENV], "result", fn->body->span);
}

static void called_done(StepMachine *m, const StepObj *frame) {
  const Expr *call = frame->expr;
  step_check_out(m, m->now.value, call->call.callee->type->result, call->type,
                 frame->fields[ENV], "result", call->span);
}

static void define_done(StepMachine *m, const StepObj *frame) {
  const Global *g = frame->global;
  if (!step_check(m, m->now.value, g->value->type, g->type, NULL, "annotation",
                  g->value->span))
    return;
  step_set_global(m, (size_t)g->slot, m->now.value);
  step_applied(m, REDUCE_DEFINE, g->span);
}

/* Passes the value to the frame that waits for it.  m->low notes how far down
 * the stack went since the last step: the stepper tells from it which frames
 * were left. */
static void resume(StepMachine *m) {
  StepObj *frame = m->now.frames;
  m->now.frames = frame->fields[BELOW];
  if (frame->depth - 1 < m->low) m->low = frame->depth - 1;
  switch ((StepObjKind)frame->kind) {
    case K_CHILD: child_done(m, frame); break;
    case K_BINDING: binding_done(m, frame); break;
    case K_AGAIN:
      block_at(m, frame->expr, (int)frame->index, frame->fields[ENV]);
      break;
    case K_FORCE: force_done(m, frame); break;
    case K_CALLED: called_done(m, frame); break;
    case K_RESULT: result_done(m, frame); break;
    case K_ARMS: step_arms(m, frame); break;
    case K_GUARD: step_guard(m, frame); break;
    case K_RUN: step_run_done(m, frame); break;
    case K_CUSTOM: step_custom_done(m, frame); break;
    case K_SWEEP: step_sweep_on(m, frame); break;
    default: define_done(m, frame); break;
  }
}

/* --- Running ------------------------------------------------------------ */

static StepOutcome out_of_memory(StepMachine *m) {
  step_fail(m, E0701, m->span, "out of memory");
  return m->outcome = STEP_LIMIT;
}

StepOutcome step_next(StepMachine *m) {
  if (step_is_behind(m)) return step_again(m);
  m->applied = false;
  bool ended = m->outcome != STEP_RULE;
  while (m->outcome == STEP_RULE && !m->applied) {
    step_reclaim(m);
    m->redex = m->now;
    if (m->watch) m->watch(m->watch_data, m);
    if (m->now.expr) look_at(m, m->now.expr);
    else if (m->now.frames) resume(m);
    else m->outcome = STEP_VALUE;
    arena_done(&m->scratch);
    if (mem_exhausted(m->mem)) return out_of_memory(m);
  }
  m->count += m->applied;
  if (!ended) step_enter_record(m);
  if (mem_exhausted(m->mem)) return out_of_memory(m);
  return m->outcome;
}

static void start(StepMachine *m, const Expr *e) {
  m->job++;
  m->outcome = STEP_RULE;
  m->now = (StepState){.expr = NULL};
  step_to_expr(m, e, NULL);
}

void step_start(StepMachine *m, const Step *step) {
  start(m, step->expr);
  if (step->kind != STEP_LET) return;
  step_push(m, K_DEFINE, NULL, 0, NULL, NULL);
  if (m->now.frames) m->now.frames->global = step->global;
}

void step_start_call(StepMachine *m, const Global *g, const StepValue *args) {
  start(m, g->value->fn->body);
  const Fn *fn = g->value->fn;
  if (args && !step_enter(m, fn, args, &m->now.env)) return;
  if (fn->declared_result &&
      types_need_check(fn->body->type, fn->declared_result))
    step_push(m, K_RESULT, g->value, 0, m->now.env, NULL);
}

void step_write_to(StepMachine *m,
                   void (*write)(void *data, const char *text, size_t len),
                   void *data) {
  m->host.write = write;
  m->host.data = data;
}

StepRule step_rule(const StepMachine *m) { return m->rule; }
Span step_span(const StepMachine *m) { return m->span; }
uint64_t step_count(const StepMachine *m) { return m->count; }
const StepValue *step_result(const StepMachine *m) { return m->now.value; }
void step_begin_time(StepMachine *m, double limit) {
  m->time_limit = limit;
  atomic_store(&m->stop, false);
}

void step_give_up(StepMachine *m) { atomic_store(&m->stop, true); }

const StepFault *step_fault(const StepMachine *m) { return &m->fault; }

/* --- Life --------------------------------------------------------------- */

StepMachine *step_new(Program *p, StepHost host) {
  StepMachine *m = mem_alloc_zeroed(p->mem, sizeof *m);
  if (!m) return NULL;
  m->mem = mem_child(p->mem, host.max_memory ? host.max_memory : SIZE_MAX);
  if (!m->mem) {
    mem_free(p->mem, m, sizeof *m);
    return NULL;
  }
  m->program = p;
  m->strategy = &strategy_strict;
  m->host = host;
  heap_init(&m->heap, m->mem);
  arena_init(&m->scratch, m->mem);
  strbuf_init(&m->message, m->mem);
  VEC_INIT(&m->globals, m->mem);
  VEC_INIT(&m->entries, m->mem);
  VEC_INIT(&m->kept, m->mem);
  ptrmap_init(&m->imported, m->mem);
  ptrmap_init(&m->sites, m->mem);
  ptrmap_init(&m->rules, m->mem);
  arena_init(&m->arena, m->mem);
  VEC_INIT(&m->changes, m->mem);
  m->low = UINT32_MAX;
  m->outcome = STEP_VALUE;
  return m;
}

void step_free(StepMachine *m) {
  if (!m) return;
  Mem *mem = m->program->mem;
  step_free_all(m);
  VEC_DONE(&m->globals);
  VEC_DONE(&m->entries);
  VEC_DONE(&m->kept);
  ptrmap_done(&m->imported);
  ptrmap_done(&m->sites);
  ptrmap_done(&m->rules);
  arena_done(&m->arena);
  VEC_DONE(&m->changes);
  strbuf_done(&m->message);
  arena_done(&m->scratch);
  heap_done(&m->heap);
  mem_leave(m->mem);
  mem_free(mem, m, sizeof *m);
}
