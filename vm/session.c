/* Sessions: a heap, a stack and the values of global lets over shared code.
 *
 *   session_step, session_call, session_apply      the host's ways in
 *     run_begin    stack empty, no fault
 *     run          the host's floating-point environment is put aside, the
 *                  function is entered, the loop runs
 *     run_end      the watchdog ends
 *
 * A run ends with the stack empty again, whether by a value, a fault or a
 * request to stop; a session that failed can be used on.  Several steps may be
 * made one run (session_begin, session_end), so that a limit of time or of
 * steps counts for all of them.
 *
 * The code is shared: looking up a function may make one, so it is done under
 * the code's lock.  Running needs no lock, for code is immutable once it is
 * made. */
#include "vm/checkpoint.h"
#include "vm/vm.h"

#include "base/float_env.h"

enum { DEPTH_DEFAULT = 10000000 };

/* --- Life --------------------------------------------------------------- */

/* 0 stands for the default in each field.  The limit of memory is the session's
 * own Mem's; the context's holds besides. */
void session_set_limits(Session *s, Limits limits) {
  if (limits.max_depth == 0) limits.max_depth = DEPTH_DEFAULT;
  if (limits.threads == 0) limits.threads = 1;
  s->limits = limits;
  s->mem->limit = limits.max_memory ? limits.max_memory : SIZE_MAX;
  session_set_frame_limit(s);
}

Limits session_limits(const Session *s) { return s->limits; }

SessionHooks session_swap_hooks(Session *s, SessionHooks hooks) {
  SessionHooks had = s->hooks;
  s->hooks = hooks;
  return had;
}

/* entry is the code of the bottom frame: a call that stands nowhere, whose
 * result register is 0, and `halt` where it returns to. */
Session *session_new(Code *code, Mem *mem, Limits limits, SessionHooks hooks,
                     Diags *diags) {
  Session *s = mem_alloc_zeroed(mem, sizeof *s);
  if (!s) return NULL;
  s->code = code;
  s->hooks = hooks;
  s->diags = diags;
  s->mem = mem;
  session_set_limits(s, limits);
  store_init(&s->store, s->mem, &code->shared);
  arena_init(&s->scratch, s->mem);
  plans_init(&s->plans, &s->store.heap);
  VEC_INIT(&s->host_cells, s->mem);
  s->entry[0].op = INS_call;
  s->entry[2].op = INS_halt;
  if (session_stack_init(s)) return s;
  session_free(s);
  return NULL;
}

/* Types are needed to drop: a slot holds bits or a reference. */
void session_forget(Session *s) {
  const Program *p = s->code->program;
  for (size_t i = 0; i < s->value_count; i++) {
    if (!s->values[i].defined) continue;
    s->values[i].defined = false;
    value_drop(&s->store, p->values.data[i]->type, s->values[i].value);
  }
  while (s->host_cells.len) {
    HostCell h = VEC_POP(&s->host_cells);
    obj_drop(&s->store, &h.cell->obj);
  }
}

/* The stop flag is put down first, or freeing would be put off for ever.  The
 * order is that of dependence: values before the stack and the store that they
 * live in. */
void session_free(Session *s) {
  if (!s) return;
  Mem *mem = s->mem;
  session_free(atomic_load(&s->aside));
  if (s->observer) s->observer->free(s->observer, s);
  atomic_store(&s->store.stop, STOP_NOT);
  session_forget(s);
  session_stack_done(s);
  mem_free(s->mem, s->values, s->value_count * sizeof *s->values);
  arena_done(&s->scratch);
  plans_done(&s->plans);
  VEC_DONE(&s->host_cells);
  store_done(&s->store);
  mem_free(mem, s, sizeof *s);
}

/* Published when it is whole, for stop() may look from a signal handler. */
Session *session_aside(Session *s) {
  Session *aside = atomic_load(&s->aside);
  if (!aside) {
    aside =
        session_new(s->code, s->mem, s->limits, (SessionHooks){0}, s->diags);
    if (!aside) return NULL;
    aside->asker = s;
    atomic_store(&s->aside, aside);
  }
  aside->limits = s->limits;
  return aside;
}

Store *session_store(Session *s) { return &s->store; }

SessionStats session_stats(const Session *s) {
  SessionStats stats = s->stats;
  stats.cells = s->store.heap.pool.allocations;
  stats.buffers = s->store.heap.buffer_allocations;
  const Mem *all = mem_root(s->mem);
  stats.live_bytes = atomic_load(&all->live);
  stats.peak_bytes = atomic_load(&all->peak);
  return stats;
}

/* --- Runs --------------------------------------------------------------- */

void session_listen(Session *s) {
  s->listens = true;
  atomic_store(&s->store.stop, STOP_NOT);
}

/* What an earlier run left to free, because it was stopped, is freed first and
 * counts in this run's time.  An aside's run is a part of its asker's, if that
 * has one. */
static void watch_begin(Session *s) {
  const Session *asker = s->asker;
  if (!s->listens && atomic_load(&s->store.stop) != STOP_NOT)
    atomic_store(&s->store.stop, STOP_NOT);
  session_set_frame_limit(s);
  if (asker && (asker->held || asker->listens)) session_stop_with(s);
  if (!asker || !asker->held) watchdog_start(s);
  step_limit_begin(s);
  store_free_rest(&s->store);
}

/* A request to stop that came after the end is forgotten, unless the session
 * listens and it is an interrupt, which may come at any moment.  Mostly there
 * is none, and nothing is written. */
static void watch_end(Session *s) {
  watchdog_stop(s);
  step_limit_end(s);
  if (s->asker) session_stack_trim(s);
  int reason = atomic_load(&s->store.stop);
  bool kept =
      s->listens && reason == STOP_INTERRUPT && s->status != RUN_INTERRUPTED;
  if (!kept && reason != STOP_NOT)
    atomic_compare_exchange_strong(&s->store.stop, &reason, STOP_NOT);
}

void session_begin(Session *s) {
  watch_begin(s);
  s->held = true;
}

bool session_in_run(const Session *s) { return s->held; }

void session_end(Session *s) {
  s->held = false;
  watch_end(s);
}

/* frame_top at frames: the frame that `run` pushes becomes frames[0]. */
static void run_begin(Session *s) {
  s->status = RUN_OK;
  s->fault = NULL;
  s->unwound = false;
  s->level = 0;
  s->loop_depth = 0;
  checkpoint_forget(s);
  if (!s->held) watch_begin(s);
  s->frame_top = s->frames;
  s->regs = s->segment->values;
  s->pc = s->entry;
}

static void run_end(Session *s) {
  if (!s->held) watch_end(s);
}

/* A run that was stopped before its first instruction is reported at what it
 * was to evaluate. */
static void place_fault(Session *s, const Function *f) {
  if (s->fault && !span_exists(s->fault->span) && f->key.expr)
    s->fault->span = f->key.expr->span;
}

/* The instructions of an aside are its asker's. */
static bool counts(const Session *s) {
  return s->observer || s->limits.max_steps || (s->asker && s->asker->observer);
}

bool session_loop(Session *s) {
  return counts(s) ? vm_run_observed(s) : vm_run(s);
}

/* Calls `f`, whose arguments stand at regs[1] and on and are owned.  The relief
 * by collecting cycles is on only while the loop runs: then every reference is
 * counted, so what seems dead is dead (store_relieve). */
static RunStatus run(Session *s, Function *f, Value *result) {
  FloatEnv host = float_env_enter();
  s->regs[0] = (Value){.bits = 0};
  store_relieve(&s->store, true);
  if (s->stats.instructions >= s->step_limit) session_steps_spent(s);
  bool ok = vm_call(s, f, s->regs + 1, s->entry + 2);
  if (ok) ok = session_loop(s);
  else vm_unwind(s);
  store_relieve(&s->store, false);
  if (s->observer) s->observer->pause(s->observer, s);
  checkpoint_forget(s);
  if (!ok) place_fault(s, f);
  run_end(s);
  float_env_leave(host);
  if (!ok) return s->status;
  /* `ret` put it into register 0 of the bottom frame. */
  *result = s->segment->values[0];
  return RUN_OK;
}

/* The host keeps its own references to the arguments: those that the
 * function owns are kept once more. */
static void pass(Session *s, const Function *f, int count, const Value *args) {
  for (int i = 0; i < count; i++) {
    s->regs[1 + i] = args[i];
    if (f->params[i] == PARAM_OWNED) obj_keep(args[i].obj);
  }
}

static RunStatus too_many(Session *s) {
  vm_fault(s, E0705, "too many arguments");
  run_end(s);
  return s->status;
}

/* A run that ends before it has begun. */
static RunStatus no_memory(Session *s) {
  vm_out_of_memory(s);
  run_end(s);
  return s->status;
}

static bool fits(const Session *s, int count) {
  return (size_t)count + 2 < s->segment->count;
}

/* NULL: there is no memory for it. */
static Function *function_of(Session *s, const Global *g) {
  Code *code = s->code;
  bool loose = code->program->loose;
  if (s->called.value == g->value && s->called.loose == loose)
    return s->called.function;
  static const Env none;
  pthread_mutex_lock(&code->lock);
  code_refresh(code);
  Function *f = code_global(code, g, &none, true);
  bool refused = code_refused(code);
  pthread_mutex_unlock(&code->lock);
  if (refused) return NULL;
  s->called.value = g->value;
  s->called.loose = loose;
  s->called.function = f;
  return f;
}

/* A global that was bound by `let` to a function value is called as a value; a
 * definition by its instance for callers that are not known, which checks its
 * arguments. */
RunStatus session_call(Session *s, const Global *g, int count,
                       const Value *args, Value *result) {
  Value fn;
  if (g->value->kind != EX_FN && session_value(s, g, &fn))
    return session_apply(s, fn, count, args, result);
  run_begin(s);
  if (!fits(s, count)) return too_many(s);
  Function *f = function_of(s, g);
  if (!f) return no_memory(s);
  pass(s, f, count, args);
  return run(s, f, result);
}

bool session_function(Session *s, const Global *g, Value *out) {
  static const Env none;
  if (g->value->kind != EX_FN && session_value(s, g, out)) {
    value_keep(g->type, *out);
    return true;
  }
  Code *code = s->code;
  pthread_mutex_lock(&code->lock);
  code_refresh(code);
  Function *f = code_owning(code, code_global(code, g, &none, true));
  out->cell = code_closure(code, f);
  bool refused = code_refused(code);
  pthread_mutex_unlock(&code->lock);
  return !refused;
}

/* The closure itself is the argument after the others, where the function's
 * own code looks for its captures; only a function that has a parameter for it
 * owns a reference. */
RunStatus session_apply(Session *s, Value fn, int count, const Value *args,
                        Value *result) {
  run_begin(s);
  if (!fits(s, count)) return too_many(s);
  pthread_mutex_lock(&s->code->lock);
  code_refresh(s->code); /* before another session does, while this one runs */
  pthread_mutex_unlock(&s->code->lock);
  Function *f = closure_function(fn.cell);
  pass(s, f, count, args);
  s->regs[1 + count] = fn;
  if (f->nparams > (uint32_t)count) obj_keep(fn.obj);
  return run(s, f, result);
}

/* --- Global values ------------------------------------------------------ */

/* Slots are numbered by the program, so they may be many more than this session
 * has defined. */
bool session_values_reserve(Session *s, size_t count) {
  if (count <= s->value_count) return true;
  size_t cap = s->value_count * 2 > count ? s->value_count * 2 : count;
  GlobalSlot *values = mem_resize(
      s->mem, s->values, s->value_count * sizeof *values, cap * sizeof *values);
  if (!values) return false;
  for (size_t i = s->value_count; i < cap; i++) values[i].defined = false;
  s->values = values;
  s->value_count = cap;
  return true;
}

/* A slot that is defined again (at the prompt) drops what it held. */
static void define(Session *s, const Global *g, Value v) {
  GlobalSlot *slot = &s->values[g->slot];
  if (slot->defined) value_drop(&s->store, g->type, slot->value);
  *slot = (GlobalSlot){v, true};
}

bool session_define_take(Session *s, const Global *g, Value v) {
  bool room = session_values_reserve(s, (size_t)g->slot + 1);
  if (room) define(s, g, v);
  else value_drop(&s->store, g->type, v);
  return room;
}

/* A polymorphic value has no representation before it is used, so it has no
 * step of its own.  A value that has a name and is shown as well has two
 * owners: the slot and the caller. */
RunStatus session_step(Session *s, const Step *step, Value *result) {
  const Global *g = step->global;
  if (g && g->param_count > 0) return RUN_OK;
  run_begin(s);
  if (g && !session_values_reserve(s, (size_t)g->slot + 1)) return no_memory(s);
  pthread_mutex_lock(&s->code->lock);
  code_refresh(s->code);
  Function *f = code_step(s->code, step->expr, g);
  bool refused = code_refused(s->code);
  pthread_mutex_unlock(&s->code->lock);
  if (refused) return no_memory(s);
  Value v;
  RunStatus status = run(s, f, &v);
  if (status != RUN_OK) return status;
  if (g && step->kind == STEP_EXPR) value_keep(g->type, v);
  if (g) define(s, g, v);
  if (step->kind == STEP_EXPR) *result = v;
  return RUN_OK;
}

bool session_value(const Session *s, const Global *g, Value *out) {
  if (g->slot < 0 || (size_t)g->slot >= s->value_count ||
      !s->values[g->slot].defined)
    return false;
  *out = s->values[g->slot].value;
  return true;
}
