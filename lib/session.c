/* Sessions: evaluating a program's texts, calling its functions. */
#include "lib/handles.h"

rly_status status_of_run(RunStatus status) {
  static const rly_status of[] = {
      [RUN_OK] = RLY_OK,
      [RUN_ERROR] = RLY_RUNTIME,
      [RUN_LIMIT] = RLY_LIMIT,
      [RUN_INTERRUPTED] = RLY_INTERRUPTED,
  };
  return of[status];
}

Limits limits_of(const rly_context *cx) {
  return (Limits){
      .max_memory = cx->options.max_memory,
      .max_depth = cx->options.max_depth,
      .timeout = cx->options.timeout,
      .threads = cx->options.threads ? cx->options.threads : 1,
  };
}

/* --- Life --------------------------------------------------------------- */

static void write_trace(void *data, const char *text, size_t len) {
  rly_session *s = data;
  fwrite(text, 1, len, s->trace.stream);  /* closing tells of failures */
}

static bool open_trace(rly_session *s) {
  rly_context *cx = s->program->cx;
  const char *path = s->options.trace;
  s->options.trace = NULL;
  if (!path) return true;
  if (!file_out_open(&s->trace, &cx->mem, path, &cx->diags)) return false;
  s->options.trace = path;
  return true;
}

/* What the host wants to know of its runs. */
static bool observe(rly_session *s) {
  Observe what = {.count = s->options.count,
                  .profile = s->options.profile,
                  .nans = s->program->cx->options.nan_stop,
                  .trace = s->options.trace ? write_trace : NULL,
                  .data = s};
  if (!what.count && !what.profile && !what.nans && !what.trace) return true;
  return open_trace(s) && session_observe(s->vm, &what);
}

rly_session *rly_session_new(rly_program *p,
                             const rly_session_options *options) {
  if (!p) return NULL;
  rly_session *s = mem_alloc_zeroed(&p->cx->mem, sizeof *s);
  if (!s) return NULL;
  s->program = p;
  if (options) s->options = *options;
  SessionHooks hooks = {
      .write = s->options.write,
      .data = s->options.data,
      .width = s->options.width ? s->options.width : 80,
  };
  s->vm = session_new(p->code, limits_of(p->cx), hooks, &p->cx->diags);
  if (s->vm && observe(s)) return s;
  rly_session_free(s);
  return NULL;
}

void rly_session_free(rly_session *s) {
  if (!s) return;
  session_free(s->vm);
  if (s->options.trace) file_out_close(&s->trace, true);
  mem_free(&s->program->cx->mem, s, sizeof *s);
}

void rly_session_interrupt(rly_session *s) {
  if (s) session_interrupt(s->vm);
}

/* --- Runs --------------------------------------------------------------- */

typedef struct Shower {
  void (*show)(void *data, rly_value *value);
  void *data;
  bool lets_only;  /* a session starts; expressions are not asked for */
} Shower;

/* %it is the newest result that was reached: a failure leaves the one before
 * it. */
static void name_newest(Program *p, Global *result) {
  ptrmap_put(&p->user.locals, name_of(p->names, "it"), result);
}

static RunStatus run_step(rly_session *s, const Step *step, Shower shower) {
  rly_value v = {.session = s};
  if (shower.lets_only && step->kind == STEP_EXPR) return RUN_OK;
  RunStatus status = session_step(s->vm, step, &v.value);
  if (status != RUN_OK || step->kind != STEP_EXPR) return status;
  if (step->global) name_newest(s->program->ir, step->global);
  v.type = step->expr->type;
  if (shower.show) shower.show(shower.data, &v);
  value_drop(s->vm, v.type, v.value);
  return session_stopped(s->vm, step->span);
}

static rly_status run_unit(rly_session *s, const Unit *u, Shower shower) {
  for (int i = 0; i < u->step_count; i++) {
    RunStatus status = run_step(s, &u->steps[i], shower);
    if (status != RUN_OK) return status_of_run(status);
  }
  return RLY_OK;
}

/* Evaluates the units that were added since the last time. */
static rly_status run_pending(rly_session *s, Shower shower) {
  if (!params_complete(s->program))
    return status_of_failure(s->program->cx, RLY_REFUSED);
  rly_status status = RLY_OK;
  Unit *u = s->last_run ? s->last_run->next : s->program->ir->units;
  for (; u && status == RLY_OK; u = u->next) {
    s->last_run = u;
    status = run_unit(s, u, shower);
  }
  return status;
}

rly_status rly_session_run(rly_session *s,
                           void (*show)(void *data, rly_value *value),
                           void *data) {
  if (!s) return RLY_MISUSE;
  session_begin(s->vm);
  rly_status status = run_pending(s, (Shower){.show = show, .data = data});
  session_end(s->vm);
  return status;
}

/* --- Calls -------------------------------------------------------------- */

static rly_status give_result(rly_session *s, const Type *type, Value v,
                              rly_value **result) {
  rly_value *r = mem_alloc(&s->program->cx->mem, sizeof *r);
  if (!r) {
    value_drop(s->vm, type, v);
    return RLY_LIMIT;
  }
  *r = (rly_value){.session = s, .type = type, .value = v};
  *result = r;
  return RLY_OK;
}

static rly_status call(rly_session *s, const Global *g, int count,
                       const Value *args, rly_value **result) {
  Value v;
  RunStatus status = session_call(s->vm, g, count, args, &v);
  if (status != RUN_OK) return status_of_run(status);
  return give_result(s, g->type->result, v, result);
}

static rly_status refuse_call(rly_session *s, const char *why) {
  rly_diagnostic_add(s->program->cx, "E0504", why);
  return RLY_REFUSED;
}

/* May a value of type `given` be passed as `wanted`?  Equal types are one
 * pointer; tensors may differ where a dimension is not known statically (a
 * wrong one is refused when the call starts). */
static bool passes_as(const Type *given, const Type *wanted) {
  if (given == wanted) return true;
  if (given->kind != TY_TENSOR || wanted->kind != TY_TENSOR) return false;
  if (given->dtype != wanted->dtype || given->rank != wanted->rank)
    return false;
  for (int i = 0; i < given->rank; i++)
    if (dim_is_number(wanted->dims[i]) && given->dims[i] != wanted->dims[i])
      return false;
  return true;
}

/* Are these values, and the session's own? */
static bool are_own(const rly_session *s, int count, rly_value *const *args) {
  for (int i = 0; i < count; i++)
    if (!args[i] || args[i]->session != s) return false;
  return true;
}

static rly_status call_with(rly_session *s, const Global *g, int count,
                            rly_value *const *args, rly_value **result) {
  rly_status started = run_pending(s, (Shower){.lets_only = true});
  if (started != RLY_OK) return started;
  Value values[count + 1];
  for (int i = 0; i < count; i++) {
    if (!passes_as(args[i]->type, g->type->args[i]))
      return refuse_call(s, "an argument has the wrong type");
    values[i] = args[i]->value;
  }
  return call(s, g, count, values, result);
}

rly_status rly_session_call(rly_session *s, const char *name, int count,
                            rly_value *const *args, rly_value **result) {
  if (!s || !name || count < 0 || (count && !args) || !result ||
      !are_own(s, count, args))
    return RLY_MISUSE;
  const Global *g = (const Global *)rly_program_function(s->program, name);
  if (!g || g->type->param_count) return refuse_call(s, "no such function");
  if (g->type->count != count)
    return refuse_call(s, "wrong number of arguments");
  session_begin(s->vm);
  rly_status status = call_with(s, g, count, args, result);
  session_end(s->vm);
  return status;
}

static rly_status call_bound(rly_session *s, const rly_function *entry,
                             rly_value **result) {
  rly_status started = run_pending(s, (Shower){.lets_only = true});
  if (started != RLY_OK) return started;
  const Global *g = (const Global *)entry;
  int count = rly_function_param_count(entry), bound = 0;
  Value values[count + 1];
  while (bound < count &&
         bound_value(s, rly_function_param_name(entry, bound),
                     g->type->args[bound], &values[bound]))
    bound++;
  rly_status status =
      bound == count ? call(s, g, count, values, result)
                     : status_of_failure(s->program->cx, RLY_REFUSED);
  while (bound-- > 0) value_drop(s->vm, g->type->args[bound], values[bound]);
  return status;
}

rly_status rly_session_call_bound(rly_session *s, const rly_function *entry,
                                  rly_value **result) {
  if (!s || !entry || !result) return RLY_MISUSE;
  session_begin(s->vm);
  rly_status status = call_bound(s, entry, result);
  session_end(s->vm);
  return status;
}

rly_stats rly_session_stats(const rly_session *s) {
  if (!s) return (rly_stats){0};
  SessionStats t = session_stats(s->vm);
  return (rly_stats){
      .instructions = t.instructions, .cells = t.cells, .reused = t.reused,
      .tensors = t.tensors, .buffers = t.buffers, .checks = t.checks,
      .live_bytes = t.live_bytes, .peak_bytes = t.peak_bytes,
  };
}

char *rly_session_profile(rly_session *s) {
  if (!s || !s->options.profile) return NULL;
  rly_context *cx = s->program->cx;
  StrBuf out;
  strbuf_init(&out, &cx->mem);
  session_profile(s->vm, &out);
  return text_take(cx, &out);
}
