/* What the handles of rly.h contain.  Other rooms include lib/inside.h instead.
 *
 * A handle is a struct that a host knows by pointer only.  Each holds a
 * reference to the one that it depends on, and most have a lock or lean on one:
 *
 *   rly_context    lock: names, sources, diagnostics, heap
 *     rly_program    holders: readers (sessions) or one writer (a text)
 *       rly_session    lock: everything of the session
 *         rly_value, rly_snapshot, rly_state
 *     rly_tensor     atomic counts only
 *     rly_tensors    the context's lock
 *
 * handles.c says in which order locks are taken. */
#ifndef LIB_HANDLES_H
#define LIB_HANDLES_H

#include "base/deadline.h"
#include "base/forks.h"
#include "include/rly.h"
#include "io/file.h"
#include "io/tensor_file.h"
#include "state/state.h"
#include "stepper/stepper.h"

/* Each handle counts the handles that depend on it and is released with the
 * last of them, so hosts may free in any order. */
struct rly_context {
  _Atomic int refs;
  pthread_mutex_t lock; /* guards everything below but `mem`; recursive */
  ForkGuard guard;
  MemSystem allocator; /* of the host, if it has one */
  Mem mem;
  NameTable names;
  SourceMap sources;
  Diags diags;
  size_t columns; /* of the terminal that shows diagnostics; 0: none does */
  Heap heap;      /* holds constants of programs and tensors of files */
  rly_options options;
  rly_files files;    /* of the host; its functions are NULL without one */
  FileHost file_host; /* the same as the sources ask for them */
  rly_log log;        /* of the host; `write` is NULL: it has none */
  size_t told;        /* diagnostics up to this number are in the log */
  unsigned deep;      /* how often the thread that has the lock took it */
  _Atomic int late;   /* `mem` is exhausted because time is over */
};

/* A value bound to a name: a tensor, or text whose dtype is not known yet. */
typedef struct Bound {
  const char *name; /* NULL: the next parameter of the entry */
  Tensor *tensor;   /* owned; NULL: `text` */
  const char *text;
  bool strict;          /* an unknown name is an error */
  const char *file;     /* that it was read from, or NULL */
  const char *left_out; /* why the file's tensor is not read; or NULL */
} Bound;

/* Shapes and values for parameters, as flags have them: x=(8,128), x=FILE. */
typedef struct GivenTexts {
  const char *entry; /* NULL: @main */
  int shape_count, file_count;
  const char *const *shapes, *const *files;
} GivenTexts;

struct rly_program {
  _Atomic int refs;
  rly_context *cx;
  Mem *mem; /* a child of the context's */
  /* The number of sessions that run on the program as it is; -1 while the
   * program is being changed, under the context's lock. */
  _Atomic int holders;
  Program *ir;
  Code *code;
  Unit *newest;        /* of the newest text; linked library units follow it */
  struct Uses *uses;   /* what uses what (redefine.c), or NULL */
  VEC(Bound) bound;    /* later entries win */
  PtrMap newest_bound; /* names of the first `indexed` -> 1 + place in bound */
  size_t indexed;
  Arena arena;                 /* names and texts of `bound` */
  struct Operators *operators; /* of the host (operator.c); or NULL, */
  void (*operators_free)(rly_program *p); /* as this is */
  GivenTexts given;                       /* for the texts that are added */
  /* So many of ir->params, from the first on, have a value; others may. */
  _Atomic size_t params_given;
};

struct rly_session {
  _Atomic int refs;
  Mem *mem; /* a child of the context's, with a limit of its own */
  rly_program *program;
  Session *vm;
  Diags diags;
  size_t told;          /* diagnostics up to this number are in the log */
  pthread_mutex_t lock; /* guards the whole session; recursive */
  ForkGuard guard;
  bool running, freed;
  const Unit *last_run; /* the newest unit that was evaluated */
  /* The function that session_enter_function() found last, and the program's
   * newest unit then. */
  const rly_function *own;
  const Unit *own_at;
  rly_session_options options;
  FileOut trace; /* open while options.trace is set */
};

struct rly_value {
  rly_session *session;
  const Type *type;
  Value value; /* owned */
};

/* The tensor's header is part of the handle, so it needs no heap. */
struct rly_tensor {
  rly_context *cx;
  Tensor tensor;
};

struct rly_snapshot {
  rly_session *session;
  Snapshot *snapshot;
};

struct rly_state {
  rly_session *session;
  StateList list;
};

struct rly_tensors {
  rly_context *cx;
  TensorFile *file;
};

/* The store that a session's values live in. */
static inline Store *store_of(const rly_session *s) {
  return session_store(s->vm);
}

/* --- program.c ---------------------------------------------------------- */

/* The path of the texts in which the signatures of a host's operators stand,
 * and the body that a signature gets before lib/operator.c puts a call of the
 * host in its place. */
#define HOST_PATH "<host>"
#define HOST_MEANING " = { () }"
/* Changes a unit between the parser and the checker; false after reporting. */
typedef bool UnitMade(void *data, rly_program *p, Unit *unit);
/* Adds a text that `made` changes.  The program has been entered. */
rly_status program_add_made(rly_program *p, const char *path, const char *text,
                            UnitMade *made, void *data);
/* Adds a text that must be an expression, for the session to evaluate next.
 * Others are refused before anything of them is checked. */
rly_status program_add_expression(rly_program *p, const char *text);

/* --- cut.c -------------------------------------------------------------- */

/* After work that may have read mapped files: false after reporting that one
 * has become shorter, so that what was made of it is worth nothing. */
bool files_whole(Diags *diags);
/* The status of a run, or RUN_ERROR after reporting that what it read cannot be
 * trusted (files_whole). */
RunStatus run_trusted(rly_session *s, RunStatus status);

/* --- misuse.c ----------------------------------------------------------- */

/* Remembers, for rly_misuse(), what was wrong with this thread's call of a
 * function of rly.h. */
__attribute__((format(printf, 2, 3))) void misuse(const char *function,
                                                  const char *format, ...);

/* Returns `right`, whether an argument makes sense.  Where it does not, `wrong`
 * is told, by rly_misuse(), of the calling function. */
bool require_for(const char *function, bool right, const char *wrong);
#define require(right, wrong) require_for(__func__, right, wrong)

/* The sizes that such a struct has here and had in version 0.1. */
typedef struct StructSize {
  size_t now, first;
} StructSize;
#define END_OF(type, member) \
  (offsetof(type, member) + sizeof(((type *)0)->member))
#define OPTIONS_SIZE \
  ((StructSize){sizeof(rly_options), END_OF(rly_options, allocator)})
#define SESSION_OPTIONS_SIZE                 \
  ((StructSize){sizeof(rly_session_options), \
                END_OF(rly_session_options, trace)})

/* Copies a host's struct, which begins with its size, to one of this library's;
 * NULL: zeros.  False after telling (rly_misuse) that no version has that size,
 * or that the host has set a member that this library does not know. */
bool struct_take(const char *function, void *to, StructSize size,
                 const void *from);
/* Copies a struct of this library's to a host's, as far as the host's has
 * members.  False after telling that no version has its size. */
bool struct_give(const char *function, void *to, StructSize size,
                 const void *from);

/* --- log.c: the host's log, if it has one -------------------------------- */

/* Hands on the diagnostics after number `told`, and returns the last number. */
size_t log_new(rly_context *cx, const Diags *diags, size_t told);
/* Seconds, for the time that something took; 0 without such a log. */
double log_clock(const rly_context *cx);
__attribute__((format(printf, 2, 3))) void log_info(const rly_context *cx,
                                                    const char *format, ...);

/* --- diagnostic_parts.c --------------------------------------------------- */

/* The parts of the i-th, borrowed from it; false: there is none. */
bool diagnostic_give(rly_context *cx, const Diags *diags, size_t i,
                     rly_diagnostic *out);

/* --- handles.c: what the host is told ------------------------------------ */

rly_status status_of_run(RunStatus status);
Limits limits_of(const rly_context *cx);
/* Turns a failed call into its status: RLY_LIMIT, after reporting, when memory
 * ran out, else `failed`.  Clears `exhausted`, so the context is usable again.
 * A caller that is refused memory by mem_alloc or the heap raises `exhausted`
 * itself, as arenas and vectors do. */
rly_status status_of_failure(rly_context *cx, rly_status failed);
/* As status_of_failure, for a program that no other thread uses. */
rly_status program_failed(rly_program *p, rly_status failed);
/* As status_of_failure, reporting to the session's own diagnostics. */
rly_status session_failed(rly_session *s, rly_status failed);
/* Reports that the session was refused memory; RLY_LIMIT. */
rly_status session_out_of_memory(rly_session *s);
/* What a call gives that failed: because the session was told to stop, because
 * memory ran out, or else `failed`. */
rly_status stopped_or(rly_session *s, rly_status failed);
/* The place of a span for the host: lines and columns from 1, or zeros and NULL
 * where there is none.  The context is locked. */
void place_give(rly_context *cx, Span span, rly_place *out);
/* Copies the text for the host, who frees it with rly_text_free, and releases
 * `text`.  NULL when memory is short or ran out while the text was built. */
char *text_take(rly_context *cx, StrBuf *text);

/* --- handles.c: turns ----------------------------------------------------- */

void context_keep(rly_context *cx);
void context_drop(rly_context *cx);
void context_lock(rly_context *cx);
void context_unlock(rly_context *cx);

void program_drop(rly_program *p);
/* program_enter and program_leave stand around every change of a program and
 * every use of its tables.  program_enter is false for NULL and while one of
 * the program's sessions runs. */
bool program_enter_for(const char *function, rly_program *p);
#define program_enter(p) program_enter_for(__func__, p)
void program_leave(rly_program *p);

void session_keep(rly_session *s);
void session_drop(rly_session *s);
/* Frees a session that has no machine. */
void session_shell_free(rly_session *s);
/* session_enter and session_leave stand around every call that runs the session
 * or changes its state.  session_enter is false for NULL, for a freed session,
 * and when the session is running already. */
bool session_enter_for(const char *function, rly_session *s);
#define session_enter(s) session_enter_for(__func__, s)
void session_leave(rly_session *s);
/* As session_enter, for calls that only look at values.  A callback of the
 * session may make them while the session runs. */
bool session_hold_for(const char *function, rly_session *s);
#define session_hold(s) session_hold_for(__func__, s)
/* Of a session that is held: does no call run it, and is it not freed? */
bool session_idle_for(const char *function, const rly_session *s);
#define session_idle(s) session_idle_for(__func__, s)
/* Locks a session to free something of it, after waiting for a call that is
 * under way in another thread.  False in a child of fork(2) where that call
 * will never end: then what was to be freed stays. */
bool session_wait(rly_session *s);
void session_release(rly_session *s);

/* --- session.c ---------------------------------------------------------- */

/* Makes a session without a machine. */
rly_session *session_shell(rly_program *p, const rly_session_options *options);
SessionHooks session_hooks(const rly_session_options *options);
/* Installs the observers that the session's options ask for (--stats,
 * --profile, --trace); false after reporting. */
bool session_observed(rly_session *s);
/* Evaluates the units added since the last time.  `lets_only` skips expression
 * items: a call needs only the globals. */
rly_status session_start(rly_session *s, bool lets_only);
/* params_for(), reporting to the session. */
rly_status session_params(rly_session *s, const Unit *from, bool lets_only,
                          const Expr *call);
/* The first unit that the session has not evaluated; NULL: there is none. */
const Unit *session_pending(const rly_session *s);
/* rly_session_call_bound() in a session that has been entered. */
rly_status session_call_bound(rly_session *s, const rly_function *entry,
                              rly_value **result);
/* Argument `i` of the entry, from the value bound to that parameter's name. The
 * caller owns the reference.  False after reporting. */
bool session_argument(rly_session *s, const rly_function *entry, int i,
                      Value *out);
/* Enters the session (session_enter) for a call of a function, which must be
 * one of its program's, and the newest of its name; else it is misuse of
 * `function`. */
bool session_enter_function(const char *function, rly_session *s,
                            const rly_function *f);
/* Runs a function of the program on as many arguments as it has, borrowed and
 * of its types; the owned result.  Reports what fails. */
rly_status session_run_function(rly_session *s, const Global *g,
                                const Value *args, Value *result);
/* A handle on the result of a call, which is consumed. */
rly_status session_give_take(rly_session *s, const Type *type, Value v,
                             rly_value **result);
/* Reports a call of so many arguments where the function has others; `g` NULL:
 * it has no name. */
rly_status session_refuse_count(rly_session *s, const Global *g, const Type *fn,
                                int count);
/* May a value of type `given` be passed where `wanted` is declared? */
bool passes_as(const Type *given, const Type *wanted);
/* Is it one of the program's functions?  One whose name means another
 * definition now is none: its code may refer to what was replaced, too. */
bool program_has_function(rly_program *p, const rly_function *f);
/* Is it a type of the program's, and not another's? */
bool program_has_type(rly_program *p, const rly_type *t);
/* As rly_type_text, also of a type with metas; to be freed. */
char *program_type_text(rly_program *p, const Type *t);
/* Are these values, and the session's own? */
bool are_own(const rly_session *s, int count, rly_value *const *args);
/* Reports a value of a type that does not pass as the one that is wanted. */
void report_misfit_type(rly_session *s, const char *what, const Type *wanted,
                        const Type *given);
/* The same of a call's argument `i`, from 0. */
void report_misfit_argument(rly_session *s, const Global *g, int i,
                            const Type *wanted, const Type *given);
/* Does the tensor fit where the type that it is passed as has numbers?  (A
 * wildcard fits any length.) */
bool value_fits(const Type *type, Value v);

/* --- value.c ------------------------------------------------------------ */

/* Wraps an owned value in a handle.  When memory runs out the value is dropped
 * and the result is NULL. */
rly_value *value_handle_take(rly_session *s, const Type *type, Value v);

/* The type of a tensor as it is. */
const Type *type_of_tensor(rly_session *s, const Tensor *t);
/* A value of `t`, whose elements are shared, or copied to the session; NULL
 * when memory runs out. */
rly_value *value_handle_of(rly_session *s, const Tensor *t, bool copied);
/* rly_value_of_array, for another function of rly.h. */
rly_value *array_value_for(const char *function, rly_session *s,
                           const rly_array *elements,
                           void (*release)(void *owner), void *owner);

/* --- context.c, tensor.c ------------------------------------------------ */

/* Replaces a file's text atomically (write, then rename); false after
 * reporting. */
bool file_replace(rly_context *cx, const char *path, const StrBuf *text);
/* Could that be done, now?  False after reporting. */
bool file_may_be_replaced(rly_context *cx, const char *path);
/* The bytes of a file, pipe or device and a NUL, len + 1 bytes of the context's
 * memory that the caller owns; NULL after reporting. */
char *file_text(rly_context *cx, const char *path, size_t *len);

/* Are these a known dtype, a rank up to RANK_MAX, non-negative dimensions, and
 * elements of it?  (`strides` NULL: row-major.)  *t is a header on them; it has
 * no buffer.  False after telling rly_misuse() what is wrong. */
bool tensor_sensible_for(const char *function, const char *dtype, int rank,
                         const int64_t *shape, const int64_t *strides,
                         const void *elements, Tensor *t);
#define tensor_sensible(...) tensor_sensible_for(__func__, __VA_ARGS__)
/* Drops a reference to a buffer that is held by no heap's tensor. */
void tensor_release_buffer(rly_context *cx, Buffer *b);
/* A handle on a tensor's elements, or on a row-major copy of them when the
 * tensor is not contiguous; NULL when memory runs out. */
rly_tensor *tensor_handle(rly_context *cx, const Tensor *t);
/* A handle on a row-major copy of its elements; NULL likewise. */
rly_tensor *tensor_copy_handle(rly_context *cx, const Tensor *t);

/* --- state.c ------------------------------------------------------------ */

/* A copy as rly_session_fork makes it, but nothing is evaluated before, and
 * what it prints is dropped.  NULL after reporting. */
rly_session *session_copy(rly_session *s);

/* --- stepper.c ---------------------------------------------------------- */

/* A stepper over the units that the session has not evaluated yet.  It reads
 * the session's values and changes none.  The session must outlive the stepper
 * and must not run meanwhile.  NULL after reporting, or with the session's Mem
 * exhausted; then *status is that of the param's default that failed, or
 * RLY_REFUSED.  `status` may be NULL. */
Stepper *session_stepper(rly_session *s, rly_status *status);
/* Adds a call of the entry, with the values bound to its parameters; else the
 * status says why not, after reporting. */
rly_status session_step_call(rly_session *s, Stepper *st,
                             const rly_function *f);

/* A stepper over the steps of one unit, which the session has evaluated or
 * failed to, with the values that it has now. */
Stepper *session_stepper_of(rly_session *s, const Unit *unit);
/* Does evaluating the unit change cells? */
bool unit_writes(const rly_program *p, const Unit *unit);
/* Evaluates an expression among the variables of a function under way
 * (stepper/frames.c).  Its diagnostics are the context's; what fails while it
 * runs stands in `why`.  An expression that changes cells is refused.  False
 * when it has no value. */
bool session_step_evaluate(rly_session *s, Stepper *st, size_t level,
                           const char *text,
                           void (*take)(void *data, const StepValue *v),
                           void *data, StrBuf *why);
/* The same of a condition.  One that is no bool is none, after reporting; what
 * else is wrong with it counts as True, and `why` says it. */
StepTruth session_step_holds(rly_session *s, Stepper *st, const char *condition,
                             StrBuf *why);
/* May the text be a condition, as far as can be known before its variables have
 * values?  False after reporting. */
bool session_step_condition(rly_session *s, const char *condition);

/* --- files.c ------------------------------------------------------------ */

/* Reads the tensors of a file of any known format; NULL after reporting.  Some
 * may be left out (io/tensor_file.h). */
TensorFile *tensors_read(rly_context *cx, const char *path);
/* The array of a .npy file, or the bytes of any other; NULL after reporting. */
Tensor *array_read(rly_context *cx, const char *path);
/* May a state be written there?  It is written as safetensors.  False, after
 * reporting, where the extension names another format. */
bool path_takes_state(const char *path, Diags *diags);
/* May tensors be written there?  False, after reporting, where the extension
 * names a format that is only read, or none.  A path without an extension is
 * that of a .safetensors file, as a pipe's or a device's mostly is. */
bool path_takes_tensors(const char *path, Diags *diags);
/* Writes in the format that the path's extension names; false after
 * reporting. */
bool tensors_write(rly_context *cx, const TensorFile *f, const char *path,
                   Diags *diags);

/* --- literal.c ---------------------------------------------------------- */

/* Reads a tensor literal or a string as a tensor of dtype `want` (DTYPE_NONE:
 * as the language types it).  NULL after reporting against `label`. */
Tensor *literal_read(rly_program *p, const char *label, const char *text,
                     DType want);

/* --- bind.c ------------------------------------------------------------- */

/* Is it a name, and a tensor of the program's context? */
bool bindable_for(const char *function, const rly_program *p, const char *name,
                  const rly_tensor *t);
#define bindable(...) bindable_for(__func__, __VA_ARGS__)
/* Binds a tensor, whose elements are shared. */
rly_status bind_tensor(rly_program *p, const char *name, const Tensor *t);
/* The newest binding of a name, or NULL. */
Bound *find_bound(rly_program *p, const char *name);
/* The tensor bound to `name`, converted to the declared type.  NULL after
 * reporting a value that does not fit, and NULL without a report when nothing
 * is bound to the name.  `at` is the declaration's place. */
const Tensor *bound_tensor(rly_program *p, const char *name,
                           const Type *declared, Span at);
/* The same of a binding that was found. */
const Tensor *bound_fit(rly_program *p, Bound *b, const char *name,
                        const Type *declared, Span at);
/* Is a value bound to the name by the bindings from number `from` on? */
bool bound_since(rly_program *p, const char *name, size_t from);
/* Whoever names a binding later, or takes one back, says so by this. */
void bound_changed(rly_program *p);
/* --- path.c ------------------------------------------------------------- */

/* Does the name lead from a value that is named `stem` to a part that has no
 * parts of its own, or to the value itself, if that has none? */
bool path_leads_from(rly_program *p, const char *stem, const Type *t,
                     const char *name);
/* Offers the paths of such parts. */
void path_offer(rly_program *p, const char *stem, const Type *t,
                Suggestion *near);
/* Does the param hold tensors by path, in a tuple or a data type? */
bool param_has_parts(const Global *g);
/* Does the name lead to a tensor in such a param? */
bool param_has_path(rly_program *p, const Global *g, const char *name);
/* Does a param, or a part of one, have the name? */
bool name_is_param(rly_program *p, const char *name);
/* Offers the paths of its tensors, for a name that leads to none. */
void param_offer_paths(rly_program *p, const Global *g, const char *name,
                       Suggestion *near);
/* --- missing.c ---------------------------------------------------------- */

/* Collects names without a value for one message. */
typedef struct Missing {
  rly_program *p;
  Diag *diag;
  bool files_told; /* what the files hold */
  size_t count;
} Missing;

void report_missing(Missing *m, const char *name, const Type *type, Span span);
/* After the last: tells of those that are too many to list. */
void missing_end(const Missing *m);

/* --- parts.c ------------------------------------------------------------ */

/* Is something bound to a part of it? */
bool param_is_bound(rly_program *p, const Global *g);

/* A value in the store, which the caller owns, of such a param.  False after
 * reporting; `missing` collects what is not bound. */
bool param_value(rly_program *p, const Global *g, Store *store,
                 Missing *missing, Value *out);
/* The same of the parts below a path.  `store` NULL: no value is made.
 * `missing` NULL: what is missing is not reported. */
bool path_value(rly_program *p, const char *path, const Type *type, Span at,
                Store *store, Missing *missing, Value *out);
/* As bound_since, of a param or of a part of it. */
bool param_bound_since(rly_program *p, const Global *g, size_t from);
/* A value of `type` from what is bound to `name`; the parts of a tuple or a
 * data type are bound by paths (path.c).  The caller owns the reference.  False
 * after reporting. */
bool bound_value(rly_session *s, const char *name, const Type *type,
                 Value *out);

/* --- specialise.c --------------------------------------------------------- */

/* Makes of a parsed unit the program for what p->given says (passes/
 * specialise.h).  False after reporting. */
bool program_specialise(rly_program *p, Unit *unit);

/* --- program.c ---------------------------------------------------------- */

/* Parses a text or a file into a unit, without adding it to the program; NULL
 * after reporting. */
Unit *program_parse_text(rly_program *p, const char *path, const char *text,
                         size_t len);
Unit *program_parse_file(rly_program *p, const char *path);

/* Between them the context's time limit holds; what is late fails as if memory
 * were exhausted (status_of_failure tells the two apart). */
void program_deadline_start(rly_program *p, Deadline *d);
void program_deadline_end(rly_program *p, Deadline *d);

/* Checks an expression and passes it, with its types, to `look`.  The program
 * does not keep the expression. */
rly_status program_look_at(rly_program *p, const char *text, size_t len,
                           void (*look)(void *data, const Expr *e), void *data);

/* --- constant.c ----------------------------------------------------------- */

/* Program.constant_of_call. */
Tensor *constant_of_call(Program *p, const OpInfo *op, const Attrs *attrs,
                         int count, const Tensor *const *args);

/* --- params.c ----------------------------------------------------------- */

bool param_is_given(const rly_program *p, const Global *g);

/* The value of a param of a tuple or data type, borrowed from the code.  If no
 * run has needed it so far, it is made of what is bound to its parts.  NULL
 * after reporting. */
const Value *param_parts(rly_program *p, const Global *g);

/* Gives every param what is bound to its name.  False after reporting what
 * does not fit; `missing` collects the params that have neither a value nor a
 * default. */
bool params_bound(rly_program *p, Missing *missing);
/* Gives a value, which may be the default, to each param that is reachable
 * from the steps of the units from `from` on (NULL: none; only the lets, if
 * `lets_only`) and from `call`, the value of a function that is to be called,
 * or NULL.  Defaults are evaluated for `asker`; where one fails, the status is
 * that of its run. */
rly_status params_for(rly_program *p, const Unit *from, bool lets_only,
                      const Expr *call, Session *asker);

/* --- entry.c ------------------------------------------------------------ */

/* Do the bindings from number `from` on fit the params that they name?  Takes
 * them back and reports where one does not, or names nothing. */
bool bindings_fit(rly_program *p, size_t from);

#endif
