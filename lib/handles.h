/* What the handles of rly.h contain.  Other rooms include lib/inside.h
 * instead. */
#ifndef LIB_HANDLES_H
#define LIB_HANDLES_H

#include "base/deadline.h"
#include "include/rly.h"
#include "io/file.h"
#include "io/tensor_file.h"
#include "state/state.h"

/* Each handle counts the handles that depend on it and is released with the
 * last of them, so hosts may free in any order. */
struct rly_context {
  _Atomic int refs;
  pthread_mutex_t lock; /* guards everything below but `mem`; recursive */
  Mem mem;
  NameTable names;
  SourceMap sources;
  Diags diags;
  size_t columns; /* of the terminal that shows diagnostics; 0: none does */
  Heap heap;      /* holds constants of programs and tensors of files */
  rly_options options;
  _Atomic bool late; /* `mem` is exhausted because time is over */
};

/* A value bound to a name: a tensor, or text whose dtype is not known yet. */
typedef struct Bound {
  const char *name; /* NULL: the next parameter of the entry */
  Tensor *tensor;   /* owned; NULL: `text` */
  const char *text;
  bool strict; /* an unknown name is an error */
} Bound;

struct rly_program {
  _Atomic int refs;
  rly_context *cx;
  Mem *mem; /* a child of the context's */
  /* The number of sessions that run on the program as it is; -1 while the
   * program is being changed, under the context's lock. */
  _Atomic int holders;
  Program *ir;
  Code *code;
  Unit *newest;      /* of the newest text; linked library units follow it */
  struct Uses *uses; /* what uses what (redefine.c), or NULL */
  VEC(Bound) bound;  /* later entries win */
  Arena arena;       /* names and texts of `bound` */
  _Atomic size_t params_given; /* of ir->params, how many have a value */
};

struct rly_session {
  _Atomic int refs;
  Mem *mem; /* a child of the context's, with a limit of its own */
  rly_program *program;
  Session *vm;
  Diags diags;
  pthread_mutex_t lock; /* guards the whole session; recursive */
  bool running, freed;
  Unit *last_run; /* the newest unit that was evaluated */
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
/* Makes a recursive lock: the thread that holds it may lock it again. */
void lock_init(pthread_mutex_t *lock);
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
bool program_enter(rly_program *p);
void program_leave(rly_program *p);

void session_keep(rly_session *s);
void session_drop(rly_session *s);
/* Frees a session that has no machine. */
void session_shell_free(rly_session *s);
/* session_enter and session_leave stand around every call that runs the session
 * or changes its state.  session_enter is false for NULL, for a freed session,
 * and when the session is running already. */
bool session_enter(rly_session *s);
void session_leave(rly_session *s);
/* As session_enter, for calls that only look at values.  A callback of the
 * session may make them while the session runs. */
bool session_hold(rly_session *s);
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
/* Binds the params of newly added units; false after reporting. */
bool session_params(rly_session *s);
/* Argument `i` of the entry, from the value bound to that parameter's name. The
 * caller owns the reference.  False after reporting. */
bool session_argument(rly_session *s, const rly_function *entry, int i,
                      Value *out);
/* May a value of type `given` be passed where `wanted` is declared? */
bool passes_as(const Type *given, const Type *wanted);
/* Does the tensor fit where the type that it is passed as has numbers?  (A
 * wildcard fits any length.) */
bool value_fits(const Type *type, Value v);

/* --- value.c ------------------------------------------------------------ */

/* Wraps an owned value in a handle.  When memory runs out the value is dropped
 * and the result is NULL. */
rly_value *value_handle_take(rly_session *s, const Type *type, Value v);

/* --- context.c, tensor.c ------------------------------------------------ */

/* Replaces a file's text atomically (write, then rename); false after
 * reporting. */
bool file_replace(rly_context *cx, const char *path, const StrBuf *text);

/* Are these a known dtype, a rank up to RANK_MAX and non-negative
 * dimensions? */
bool tensor_sensible(const char *dtype, int rank, const int64_t *shape,
                     const void *elements, DType *found, int64_t *count);
/* A handle on a tensor's elements, or on a row-major copy of them when the
 * tensor is not contiguous; NULL when memory runs out. */
rly_tensor *tensor_handle(rly_context *cx, const Tensor *t);

/* A copy as rly_session_fork makes it, but nothing is evaluated before, and
 * what it prints is dropped.  NULL after reporting. */
rly_session *session_copy(rly_session *s);

/* --- stepper.c ---------------------------------------------------------- */

/* A stepper over the units that the session has not evaluated yet.  It reads
 * the session's values and changes none.  The session must outlive the stepper
 * and must not run meanwhile.  NULL after reporting. */
typedef struct Stepper Stepper;
Stepper *session_stepper(rly_session *s);
/* Adds a call of the entry, with the values bound to its parameters; false
 * after reporting. */
bool session_step_call(rly_session *s, Stepper *st, const rly_function *f);

/* --- files.c ------------------------------------------------------------ */

/* Reads the tensors of a file of any known format; NULL after reporting. */
TensorFile *tensors_read(rly_context *cx, const char *path);
/* Writes in the format that the path's extension names; false after
 * reporting. */
bool tensors_write(const TensorFile *f, const char *path, Diags *diags);

/* --- literal.c ---------------------------------------------------------- */

/* Reads a tensor literal or a string as a tensor of dtype `want` (DTYPE_NONE:
 * as the language types it).  NULL after reporting against `label`. */
Tensor *literal_read(rly_program *p, const char *label, const char *text,
                     DType want);

/* --- bind.c ------------------------------------------------------------- */

/* Binds the params of newly added texts, and reports those without a value. */
bool params_complete(rly_program *p);
/* A value of `type` from what is bound to `name`; the fields of a tuple are
 * bound as name.0, name.1 and so on.  The caller owns the reference.  False
 * after reporting. */
bool bound_value(rly_session *s, const char *name, const Type *type,
                 Value *out);

/* --- program.c ---------------------------------------------------------- */

/* Parses a text or a file into a unit, without adding it to the program; NULL
 * after reporting. */
Unit *program_parse_text(rly_program *p, const char *path, const char *text,
                         size_t len);
Unit *program_parse_file(rly_program *p, const char *path);

/* Checks an expression and passes it, with its types, to `look`.  The program
 * does not keep the expression. */
rly_status program_look_at(rly_program *p, const char *text, size_t len,
                           void (*look)(void *data, const Expr *e), void *data);

#endif
