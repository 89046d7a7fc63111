/* Sessions: evaluate a program's texts and call its functions.  One thread at a
 * time runs a session; a second one gets RLY_MISUSE.
 *
 * Every function here that runs something has the same form:
 *
 *   check the arguments         RLY_MISUSE, and nothing has changed
 *   session_enter               takes the session, begins a run
 *   do it                       statuses, diagnostics of the session
 *   session_leave               ends the run, lets go
 *
 * A session evaluates units in the order in which the program got them;
 * last_run is how far it has come.  A call first evaluates what is pending, but
 * of that the lets only: a function may use them, and expressions are not what
 * was asked for. */
#include <stdio.h>

#include "lib/handles.h"
#include "observe/observe.h"

/* --- Life --------------------------------------------------------------- */

static void write_trace(void *data, const char *text, size_t len) {
  rly_session *s = data;
  fwrite(text, 1, len, s->trace.stream); /* fclose reports a failed write */
}

/* options.trace is NULL unless the file is open, so that closing it knows. */
static bool open_trace(rly_session *s) {
  rly_context *cx = s->program->cx;
  const char *path = s->options.trace;
  s->options.trace = NULL;
  if (!path) return true;
  context_lock(cx);
  if (file_out_open(&s->trace, &cx->mem, path, &cx->diags))
    s->options.trace = s->trace.path; /* a copy: the host may free its own */
  context_unlock(cx);
  return s->options.trace;
}

/* What the host wants to know of its runs. */
bool session_observed(rly_session *s) {
  Observe what = {.count = s->options.count,
                  .profile = s->options.profile,
                  .nans = s->program->cx->options.nan_stop,
                  .trace = s->options.trace ? write_trace : NULL,
                  .data = s};
  if (!what.count && !what.profile && !what.nans && !what.trace) return true;
  return open_trace(s) && session_observe(s->vm, &what);
}

SessionHooks session_hooks(const rly_session_options *o) {
  return (SessionHooks){
      .write = o->write, .data = o->data, .width = o->width ? o->width : 80};
}

/* The machine is made by whoever calls: from the program (rly_session_new) or
 * from another session (lib/state.c). */
rly_session *session_shell(rly_program *p, const rly_session_options *options) {
  rly_session_options taken;
  if (!struct_take("rly_session_new", &taken, SESSION_OPTIONS_SIZE, options))
    return NULL;
  rly_session *s = mem_alloc_zeroed(&p->cx->mem, sizeof *s);
  if (!s) return NULL;
  s->mem = mem_child(&p->cx->mem, SIZE_MAX);
  if (!s->mem) return mem_free(&p->cx->mem, s, sizeof *s), NULL;
  atomic_init(&s->refs, 1);
  s->program = p;
  atomic_fetch_add(&p->refs, 1);
  s->options = taken;
  bool fine = diags_init(&s->diags, s->mem);
  s->diags.sources = &p->cx->sources;
  fork_guard(&s->guard, &s->lock, FORK_RECURSIVE);
  if (fine) return s;
  session_shell_free(s);
  return NULL;
}

rly_session *rly_session_new(rly_program *p,
                             const rly_session_options *options) {
  rly_session *s =
      require(p, "the program is NULL") ? session_shell(p, options) : NULL;
  if (!s) return NULL;
  s->vm = session_new(p->code, s->mem, limits_of(p->cx),
                      session_hooks(&s->options), &s->diags);
  if (s->vm && session_observed(s)) return s;
  rly_session_free(s);
  return NULL;
}

/* Waits for a call that another thread has under way.  The handle may be freed
 * twice by mistake as long as others keep the session; then the second time
 * does nothing. */
void rly_session_free(rly_session *s) {
  if (!s) return;
  if (!session_wait(s)) return;
  bool mine = !s->freed && !s->running; /* else session_leave() drops it */
  s->freed = true;
  pthread_mutex_unlock(&s->lock);
  if (mine) session_drop(s);
}

/* Takes no lock: it may be called from a signal handler. */
void rly_session_interrupt(rly_session *s) {
  if (s) session_interrupt(s->vm);
}

/* --- Runs --------------------------------------------------------------- */

typedef struct Shower {
  void (*show)(void *data, rly_value *value);
  void *data;
  /* when a session starts or calls, expression items are not evaluated */
  bool lets_only;
} Shower;

/* The value is lent to `show` on the C stack; a host that wants it longer takes
 * a handle of its own (rly_value_keep).  Long work on it may have been stopped
 * (printing), which ends the run. */
static RunStatus show_value(rly_session *s, const Step *step, Shower shower,
                            rly_value *v) {
  /* %it names the newest result that was reached, so a failed unit leaves the
   * result before it. */
  Program *p = s->program->ir;
  if (step->global)
    ptrmap_put(&p->user.locals, name_of(p->names, "it"), step->global);
  if (shower.show) shower.show(shower.data, v);
  return run_trusted(s, session_stopped(s->vm, step->span));
}

static RunStatus run_step(rly_session *s, const Step *step, Shower shower) {
  rly_value v = {.session = s};
  if (shower.lets_only && step->kind == STEP_EXPR) return RUN_OK;
  RunStatus ended = session_step(s->vm, step, &v.value);
  RunStatus status = run_trusted(s, ended);
  if (ended != RUN_OK || step->kind != STEP_EXPR) return status;
  v.type = step->expr->type;
  if (status == RUN_OK) status = show_value(s, step, shower, &v);
  value_drop(store_of(s), v.type, v.value);
  return status;
}

static rly_status run_unit(rly_session *s, const Unit *u, Shower shower) {
  for (int i = 0; i < u->step_count; i++) {
    RunStatus status = run_step(s, &u->steps[i], shower);
    if (status != RUN_OK) return status_of_run(status);
  }
  return RLY_OK;
}

/* Binding belongs to the program and reports to the program's diagnostics. This
 * sends the reports to the session's until diags_back, where the session also
 * takes over a shortage of memory.  The context's lock is held in between, as
 * this changes what belongs to all.  Without it, what a session lacks would be
 * reported to the program, where the host that called the session does not
 * look, and where the reports of several sessions would mix. */
static Diags *diags_here(rly_session *s) {
  context_lock(s->program->cx);
  Diags *usual = s->program->ir->diags;
  s->program->ir->diags = &s->diags;
  return usual;
}

static void diags_back(rly_session *s, Diags *usual) {
  rly_program *p = s->program;
  p->ir->diags = usual;
  if (mem_exhausted(p->mem)) {
    mem_clear_exhausted(p->mem);
    mem_clear_exhausted(&p->cx->mem);
    mem_raise_exhausted(s->mem);
  }
  context_unlock(s->program->cx);
}

/* Each call asks this first, and mostly all params have their values.  Another
 * session may have given them on another thread: acquire makes them visible. */
static bool params_are_given(const rly_session *s) {
  const rly_program *p = s->program;
  return atomic_load_explicit(&p->params_given, memory_order_acquire) ==
         p->ir->params.len;
}

rly_status session_params(rly_session *s, const Unit *from, bool lets_only,
                          const Expr *call) {
  rly_program *p = s->program;
  if (params_are_given(s)) return RLY_OK;
  Diags *usual = diags_here(s);
  rly_status status = params_for(p, from, lets_only, call, s->vm);
  diags_back(s, usual);
  return status == RLY_OK ? RLY_OK : session_failed(s, status);
}

const Unit *session_pending(const rly_session *s) {
  return s->last_run ? s->last_run->next : s->program->ir->units;
}

/* Evaluates the units added since the last time.  Where a param that they need
 * has no value, they are refused together, and for good.  last_run is set
 * before a unit runs, so a unit that failed is not evaluated again, and its
 * later steps never are. */
static rly_status run_pending(rly_session *s, Shower shower) {
  const Unit *u = session_pending(s);
  rly_status status = session_params(s, u, shower.lets_only, NULL);
  if (status != RLY_OK) {
    s->last_run = s->program->ir->last_unit;
    return status;
  }
  for (; u && status == RLY_OK; u = u->next) {
    s->last_run = u;
    status = run_unit(s, u, shower);
  }
  return status;
}

rly_status session_start(rly_session *s, bool lets_only) {
  if (!session_pending(s) && params_are_given(s)) return RLY_OK;
  return run_pending(s, (Shower){.lets_only = lets_only});
}

/* Everything that is pending, in order, up to the first failure. */
rly_status rly_session_run(rly_session *s,
                           void (*show)(void *data, rly_value *value),
                           void *data) {
  if (!session_enter(s)) return RLY_MISUSE;
  rly_status status = run_pending(s, (Shower){.show = show, .data = data});
  session_leave(s);
  return status;
}

/* last_unit is the newest of all, linked library units included. */
rly_status rly_session_skip(rly_session *s) {
  if (!session_enter(s)) return RLY_MISUSE;
  s->last_run = s->program->ir->last_unit;
  session_leave(s);
  return RLY_OK;
}

/* --- Limits ------------------------------------------------------------- */

/* Refused while the session runs. */
rly_status rly_session_set_limits(rly_session *s, const rly_options *limits) {
  rly_options taken;
  if (!require(limits, "the limits are NULL") ||
      !struct_take(__func__, &taken, OPTIONS_SIZE, limits) ||
      !require(taken.timeout >= 0 /* false for NaN */,
               "the timeout must not be negative") ||
      !session_hold(s))
    return RLY_MISUSE;
  bool idle = session_idle(s);
  if (idle) {
    Limits wanted = session_limits(s->vm);
    wanted.max_memory = taken.max_memory;
    wanted.max_depth = taken.max_depth;
    wanted.max_steps = taken.max_steps;
    wanted.timeout = taken.timeout;
    wanted.tape_memory = taken.tape_memory;
    session_set_limits(s->vm, wanted);
  }
  session_release(s);
  return idle ? RLY_OK : RLY_MISUSE;
}

rly_status rly_session_limits(rly_session *s, rly_options *limits) {
  if (!require(limits, "the limits are NULL") || !session_hold(s))
    return RLY_MISUSE;
  Limits now = session_limits(s->vm);
  session_release(s);
  const rly_options given = {
      .max_memory = now.max_memory,
      .max_depth = now.max_depth,
      .max_steps = now.max_steps,
      .timeout = now.timeout,
      .tape_memory = now.tape_memory,
      .threads = now.threads,
  };
  return struct_give(__func__, limits, OPTIONS_SIZE, &given) ? RLY_OK
                                                             : RLY_MISUSE;
}

/* --- Calls -------------------------------------------------------------- */

/* What a host passes wrongly is E0504, with no place in any source. */
static rly_status refuse_call(rly_session *s, const char *why) {
  diag_error(&s->diags, E0504, SPAN_NONE, "%s", why);
  return RLY_REFUSED;
}

rly_status session_refuse_count(rly_session *s, const Global *g, const Type *fn,
                                int count) {
  diag_error(&s->diags, E0504, SPAN_NONE,
             g ? "a call of `@%3$.80s` needs %1$d arguments, not %2$d"
               : "the call needs %1$d arguments, not %2$d",
             fn->count, count, g ? g->name->text : "");
  return RLY_REFUSED;
}

rly_status session_give_take(rly_session *s, const Type *type, Value v,
                             rly_value **result) {
  rly_value *handle = value_handle_take(s, type, v);
  if (!handle) return session_out_of_memory(s);
  *result = handle;
  return RLY_OK;
}

/* Gives the params that the function reads their values.  A `let @f` may have
 * failed; then there is no function. */
static rly_status make_ready(rly_session *s, const Global *g) {
  Value v;
  rly_status ready = session_params(s, NULL, false, g->value);
  if (ready != RLY_OK) return ready;
  return g->value->kind == EX_FN || session_value(s->vm, g, &v)
             ? RLY_OK
             : refuse_call(s, "the function's value was never computed");
}

rly_status session_run_function(rly_session *s, const Global *g,
                                const Value *args, Value *result) {
  rly_status ready = make_ready(s, g);
  if (ready != RLY_OK) return ready;
  RunStatus ended = session_call(s->vm, g, g->type->count, args, result);
  RunStatus status = run_trusted(s, ended);
  if (ended == RUN_OK && status != RUN_OK)
    value_drop(store_of(s), g->type->result, *result);
  return status_of_run(status);
}

static rly_value *function_value(rly_session *s, const Global *g) {
  Value v;
  rly_value *handle = NULL;
  if (session_start(s, true) != RLY_OK || make_ready(s, g) != RLY_OK)
    return NULL;
  if (session_function(s->vm, g, &v)) {
    session_give_take(s, g->type, v, &handle);
    return handle;
  }
  session_out_of_memory(s);
  return NULL;
}

rly_value *rly_value_of_function(rly_session *s, const rly_function *f) {
  if (!session_enter_function(__func__, s, f)) return NULL;
  rly_value *v = function_value(s, (const Global *)f);
  session_leave(s);
  return v;
}

static rly_status call(rly_session *s, const Global *g, const Value *args,
                       rly_value **result) {
  Value v;
  rly_status status = session_run_function(s, g, args, &v);
  return status == RLY_OK ? session_give_take(s, g->type->result, v, result)
                          : status;
}

/* Equal types are one pointer; tensors may differ where a dimension is not
 * known statically (a wrong one is refused when the call starts).
 *
 *   given                   wanted
 *   int32                   int32                   passes: the same pointer
 *   Tensor[(4), float32]    Tensor[(?), float32]    passes
 *   Tensor[(?), float32]    Tensor[(4), float32]    does not
 *
 * So may the tensors in a tuple. */
static bool tensor_passes_as(const Type *given, const Type *wanted) {
  if (given->kind != TY_TENSOR || wanted->kind != TY_TENSOR) return false;
  if (given->dtype != wanted->dtype || given->any_rank) return false;
  if (wanted->any_rank) return given->rank > 0;
  if (given->rank != wanted->rank) return false;
  for (int i = 0; i < given->rank; i++)
    if (dim_is_number(wanted->dims[i]) &&
        !dim_same(given->dims[i], wanted->dims[i]))
      return false;
  return true;
}

enum { TUPLE_LEVELS = 1000 };

/* Goes into so many more tuples within each other, by recursion of C. */
static bool passes_within(const Type *given, const Type *wanted, int levels) {
  if (given == wanted) return true;
  if (wanted->kind != TY_TUPLE) return tensor_passes_as(given, wanted);
  bool fits =
      given->kind == TY_TUPLE && given->count == wanted->count && levels > 0;
  for (int i = 0; fits && i < wanted->count; i++)
    fits = passes_within(given->args[i], wanted->args[i], levels - 1);
  return fits;
}

bool passes_as(const Type *given, const Type *wanted) {
  return passes_within(given, wanted, TUPLE_LEVELS);
}

/* The check is here since nothing later makes it: compiled code was made for
 * the type of a cell or of a field and reads whatever is there. */
bool value_fits(const Type *type, Value v) {
  if (type->kind != TY_TENSOR || !type->rank || type->any_rank) return true;
  for (int i = 0; i < type->rank; i++)
    if (dim_is_number(type->dims[i]) &&
        !dim_is(type->dims[i], v.tensor->shape[i]))
      return false;
  return true;
}

bool are_own(const rly_session *s, int count, rly_value *const *args) {
  if (count < 0 || (count && !args)) return false;
  for (int i = 0; i < count; i++)
    if (!args[i] || args[i]->session != s) return false;
  return true;
}

/* The same of a call's arguments, with a text. */
static bool args_are_own(const char *function, const rly_session *s, int count,
                         rly_value *const *args) {
  if (!s || are_own(s, count, args)) return true;
  if (count < 0 || !args)
    misuse(function, "there are %d arguments at %p", count, (void *)args);
  for (int i = 0; args && i < count; i++)
    if (!args[i] || args[i]->session != s)
      misuse(function, "argument %d is %s", i + 1,
             args[i] ? "a value of another session" : "NULL");
  return false;
}

void report_misfit_type(rly_session *s, const char *what, const Type *wanted,
                        const Type *given) {
  StrBuf types[2];
  Mem mem = mem_local(s->mem);
  for (int i = 0; i < 2; i++) {
    strbuf_init(&types[i], &mem);
    type_print(s->program->ir->types, &types[i], i ? given : wanted,
               TYPE_TEXT_LINE);
  }
  diag_error(&s->diags, E0504, SPAN_NONE, "%s is of type %s, but %s is given",
             what, strbuf_text(&types[0]), strbuf_text(&types[1]));
  for (int i = 0; i < 2; i++) strbuf_done(&types[i]);
}

void report_misfit_argument(rly_session *s, const Global *g, int i,
                            const Type *wanted, const Type *given) {
  char what[128];
  snprintf(what, sizeof what, g ? "argument %d of `@%.80s`" : "argument %d",
           i + 1, g ? g->name->text : "");
  report_misfit_type(s, what, wanted, given);
}

/* The values of the arguments; false after reporting what is wrong. */
static bool take_arguments(rly_session *s, const Global *g, const Type *fn,
                           int count, rly_value *const *args, Value *values) {
  for (int i = 0; i < count; i++) {
    if (!passes_as(args[i]->type, fn->args[i])) {
      report_misfit_argument(s, g, i, fn->args[i], args[i]->type);
      return false;
    }
    values[i] = args[i]->value;
  }
  return true;
}

/* The arguments' values are borrowed from their handles for the time of the
 * call. */
static rly_status call_with(rly_session *s, const Global *g, int count,
                            rly_value *const *args, rly_value **result) {
  if (g->type->count != count)
    return session_refuse_count(s, g, g->type, count);
  rly_status started = session_start(s, true);
  if (started != RLY_OK) return started;
  Value values[count + 1];
  if (!take_arguments(s, g, g->type, count, args, values)) return RLY_REFUSED;
  return call(s, g, values, result);
}

/* By name: the function that the name now stands for. */
rly_status rly_session_call(rly_session *s, const char *name, int count,
                            rly_value *const *args, rly_value **result) {
  if (!name || !result)
    return misuse(__func__, "the %s is NULL", name ? "result" : "name"),
           RLY_MISUSE;
  if (!args_are_own(__func__, s, count, args) || !session_enter(s))
    return RLY_MISUSE;
  const Global *g = (const Global *)rly_program_function(s->program, name);
  rly_status status = RLY_REFUSED;
  if (g) status = call_with(s, g, count, args, result);
  else
    diag_error(&s->diags, E0504, SPAN_NONE, "no such function: `@%.200s`",
               name);
  session_leave(s);
  return status;
}

/* A call of the same function again has nothing looked up. */
bool session_enter_function(const char *function, rly_session *s,
                            const rly_function *f) {
  if (!session_enter_for(function, s)) return false;
  const Unit *newest = s->program->ir->last_unit;
  if (f && s->own == f && s->own_at == newest) return true;
  if (program_has_function(s->program, f)) {
    s->own = f;
    s->own_at = newest;
    return true;
  }
  misuse(function, "no function of the program, or one that was defined anew");
  session_leave(s);
  return false;
}

/* By handle: refused when the name has since been defined anew. */
rly_status rly_session_call_function(rly_session *s, const rly_function *f,
                                     int count, rly_value *const *args,
                                     rly_value **result) {
  if (!result) return misuse(__func__, "the result is NULL"), RLY_MISUSE;
  if (!args_are_own(__func__, s, count, args) ||
      !session_enter_function(__func__, s, f))
    return RLY_MISUSE;
  rly_status status = call_with(s, (const Global *)f, count, args, result);
  session_leave(s);
  return status;
}

/* A closure has no names for its parameters, so only its type is compared. */
static rly_status call_value(rly_session *s, const rly_value *f, int count,
                             rly_value *const *args, rly_value **result) {
  if (f->type->kind != TY_FN) return refuse_call(s, "this is no function");
  if (f->type->count != count)
    return session_refuse_count(s, NULL, f->type, count);
  Value values[count + 1], v;
  if (!take_arguments(s, NULL, f->type, count, args, values))
    return RLY_REFUSED;
  RunStatus ended = session_apply(s->vm, f->value, count, values, &v);
  RunStatus status = run_trusted(s, ended);
  if (status == RUN_OK) return session_give_take(s, f->type->result, v, result);
  if (ended == RUN_OK) value_drop(store_of(s), f->type->result, v);
  return status_of_run(status);
}

rly_status rly_value_call(rly_value *function, int count,
                          rly_value *const *args, rly_value **result) {
  rly_session *s = function ? function->session : NULL;
  if (!result || !s)
    return misuse(__func__, "the %s is NULL", s ? "result" : "function"),
           RLY_MISUSE;
  if (!args_are_own(__func__, s, count, args) || !session_enter(s))
    return RLY_MISUSE;
  rly_status status = call_value(s, function, count, args, result);
  session_leave(s);
  return status;
}

/* A failure is reported to the session, though the binding is the program's. */
bool session_argument(rly_session *s, const rly_function *entry, int i,
                      Value *out) {
  const Global *g = (const Global *)entry;
  Diags *usual = diags_here(s);
  bool found =
      bound_value(s, rly_function_param_name(entry, i), g->type->args[i], out);
  diags_back(s, usual);
  return found;
}

/* Values that were made for the arguments are dropped whatever happened, from
 * the last to the first. */
rly_status session_call_bound(rly_session *s, const rly_function *entry,
                              rly_value **result) {
  rly_status started = session_start(s, true);
  if (started != RLY_OK) return started;
  const Global *g = (const Global *)entry;
  int count = rly_function_param_count(entry), bound = 0;
  if (count != g->type->count)
    return refuse_call(s, "this function's arguments have no names");
  Value values[count + 1];
  while (bound < count && session_argument(s, entry, bound, &values[bound]))
    bound++;
  rly_status status = bound == count ? call(s, g, values, result)
                                     : session_failed(s, RLY_REFUSED);
  while (bound-- > 0)
    value_drop(store_of(s), g->type->args[bound], values[bound]);
  return status;
}

rly_status rly_session_call_bound(rly_session *s, const rly_function *entry,
                                  rly_value **result) {
  if (!require(s, "the session is NULL") ||
      !require(result, "the result is NULL") ||
      !require(program_has_function(s->program, entry),
               "the entry is no function of the session's program") ||
      !session_enter(s))
    return RLY_MISUSE;
  rly_status status = session_call_bound(s, entry, result);
  session_leave(s);
  return status;
}

/* --- Figures ------------------------------------------------------------ */

/* `allocations` are the context's, as tensors of hosts count, too. */
rly_stats rly_session_stats(const rly_session *s) {
  rly_session *held = (rly_session *)s;
  if (!session_hold(held)) return (rly_stats){0};
  SessionStats t = session_stats(s->vm);
  rly_stats stats = {
      .instructions = t.instructions,
      .cells = t.cells,
      .reused = t.reused,
      .tensors = t.tensors,
      .buffers = t.buffers,
      .checks = t.checks,
      .live_bytes = t.live_bytes,
      .peak_bytes = t.peak_bytes,
      .tape_bytes = t.tape_bytes,
      .records = t.records,
      .recomputed = t.recomputed,
      .allocations = mem_allocations(&s->program->cx->mem),
  };
  session_release(held);
  return stats;
}

static rly_status set_profile(rly_session *s, bool on) {
  s->options.profile = session_set_profile(s->vm, on) && on;
  if (s->options.profile == on) return RLY_OK;
  return session_out_of_memory(s);
}

rly_status rly_session_set_profile(rly_session *s, bool on) {
  if (!session_enter(s)) return RLY_MISUSE;
  rly_status status = set_profile(s, on);
  session_leave(s);
  return status;
}

/* The text is made in a Mem of its own: that it could not be made is no failure
 * of the session. */
char *rly_session_profile(rly_session *s) {
  if (!require(s, "the session is NULL") || !s->options.profile ||
      !session_hold(s))
    return NULL;
  rly_context *cx = s->program->cx;
  Mem mem = mem_local(&cx->mem);
  StrBuf out;
  strbuf_init(&out, &mem);
  session_profile(s->vm, &out);
  session_release(s);
  return text_take(cx, &out);
}
