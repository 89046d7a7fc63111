/* Sessions: a heap, a stack and the values of global lets over shared code. */
#include "interp/vm.h"

#include "base/float_env.h"

enum { DEPTH_DEFAULT = 10000000 };

/* --- Life --------------------------------------------------------------- */

void session_set_limits(Session *s, Limits limits) {
  if (limits.max_depth == 0) limits.max_depth = DEPTH_DEFAULT;
  if (limits.threads == 0) limits.threads = 1;
  s->limits = limits;
  if (limits.max_memory) s->mem->limit = limits.max_memory;
  session_set_frame_limit(s);
}

Limits session_limits(const Session *s) {
  Limits limits = s->limits;
  limits.max_memory = s->mem->limit;
  return limits;
}

Session *session_new(Code *code, Limits limits, SessionHooks hooks,
                     Diags *diags) {
  Session *s = mem_alloc_zeroed(code->mem, sizeof *s);
  if (!s) return NULL;
  s->code = code;
  s->hooks = hooks;
  s->diags = diags;
  s->mem = code->mem;
  session_set_limits(s, limits);
  heap_init(&s->heap, s->mem);
  arena_init(&s->scratch, s->mem);
  plans_init(&s->plans, s->mem);
  s->cell_threshold = 10000;
  s->entry[0].op = INS_call;
  s->entry[2].op = INS_halt;
  if (session_stack_init(s)) return s;
  session_free(s);
  return NULL;
}

static void drop_values(Session *s) {
  const Program *p = s->code->program;
  for (size_t i = 0; i < s->value_count; i++) {
    if (!s->values[i].defined) continue;
    s->values[i].defined = false;
    value_drop(s, p->values.data[i]->type, s->values[i].value);
  }
}

void session_free(Session *s) {
  if (!s) return;
  Mem *mem = s->code->mem;
  observer_free(s);
  atomic_store(&s->stop, STOP_NOT);
  drop_values(s);
  session_free_rest(s);
  cycle_collect(s);
  session_stack_done(s);
  mem_free(s->mem, s->values, s->value_count * sizeof *s->values);
  arena_done(&s->scratch);
  plans_done(&s->plans);
  heap_done(&s->heap);
  mem_free(mem, s, sizeof *s);
}

Heap *session_heap(Session *s) { return &s->heap; }
Mem *session_mem(Session *s) { return s->mem; }
pthread_mutex_t *session_types_lock(Session *s) { return &s->code->lock; }

SessionStats session_stats(const Session *s) {
  SessionStats stats = s->stats;
  stats.cells = s->heap.pool.allocations;
  stats.buffers = s->heap.buffer_allocations;
  stats.live_bytes = atomic_load(&s->mem->live);
  stats.peak_bytes = atomic_load(&s->mem->peak);
  return stats;
}

/* --- Runs --------------------------------------------------------------- */

static void watch_begin(Session *s) {
  atomic_store(&s->stop, STOP_NOT);
  session_set_frame_limit(s);
  watchdog_start(s);
  session_free_rest(s);
}

/* A request that came too late is no concern of what follows. */
static void watch_end(Session *s) {
  watchdog_stop(s);
  atomic_store(&s->stop, STOP_NOT);
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

static void run_begin(Session *s) {
  s->status = RUN_OK;
  s->fault = NULL;
  if (!s->held) watch_begin(s);
  s->frame_top = s->frames;
  s->regs = s->segment->values;
  s->pc = s->entry;
}

static void run_end(Session *s) {
  if (!s->held) watch_end(s);
}

/* A run that is stopped before it has begun stops at what it was to do. */
static void place_fault(Session *s, const Function *f) {
  if (s->fault && !span_exists(s->fault->span) && f->expr)
    s->fault->span = f->expr->span;
}

/* Calls `f`, whose arguments stand at regs[1] and on and are owned. */
static RunStatus run(Session *s, Function *f, Value *result) {
  FloatEnv host = float_env_enter();
  s->regs[0] = (Value){.bits = 0};
  bool ok = vm_call(s, f, s->regs + 1, s->entry + 2);
  if (ok) ok = s->observer ? vm_run_observed(s) : vm_run(s);
  else vm_unwind(s);
  if (s->observer) observe_pause(s);
  if (!ok) place_fault(s, f);
  run_end(s);
  float_env_leave(host);
  if (!ok) return s->status;
  *result = s->segment->values[0];
  return RUN_OK;
}

/* The host keeps its arguments, so what is not borrowed is kept for it. */
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

static bool fits(const Session *s, int count) {
  return (size_t)count + 2 < s->segment->count;
}

RunStatus session_call(Session *s, const Global *g, int count,
                       const Value *args, Value *result) {
  Value fn;
  if (g->value->kind != EX_FN && session_value(s, g, &fn))
    return session_apply(s, g->type, fn, count, args, result);
  run_begin(s);
  if (!fits(s, count)) return too_many(s);
  static const Env none;
  pthread_mutex_lock(&s->code->lock);
  code_refresh(s->code);
  Function *f = code_global(s->code, g, &none, true);
  pthread_mutex_unlock(&s->code->lock);
  pass(s, f, count, args);
  return run(s, f, result);
}

RunStatus session_apply(Session *s, const Type *fn_type, Value fn, int count,
                        const Value *args, Value *result) {
  (void)fn_type;
  run_begin(s);
  if (!fits(s, count)) return too_many(s);
  Function *f = (Function *)(uintptr_t)fn.cell->fields[0].bits;
  pass(s, f, count, args);
  s->regs[1 + count] = fn;
  if (f->nparams > (uint32_t)count) obj_keep(fn.obj);
  return run(s, f, result);
}

/* --- Global values ------------------------------------------------------ */

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

static void define(Session *s, const Global *g, Value v) {
  GlobalSlot *slot = &s->values[g->slot];
  if (slot->defined) value_drop(s, g->type, slot->value);
  *slot = (GlobalSlot){v, true};
}

RunStatus session_step(Session *s, const Step *step, Value *result) {
  const Global *g = step->global;
  if (g && g->param_count > 0) return RUN_OK;
  run_begin(s);
  if (g && !session_values_reserve(s, (size_t)g->slot + 1)) {
    vm_out_of_memory(s);
    run_end(s);
    return s->status;
  }
  pthread_mutex_lock(&s->code->lock);
  code_refresh(s->code);
  Function *f = code_function(s->code, FUNCTION_STEP, step->expr, NULL, false);
  f->global = g;
  pthread_mutex_unlock(&s->code->lock);
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
