/* What the handles of rly.h hold.  Who looks inside from elsewhere includes
 * lib/inside.h. */
#ifndef LIB_HANDLES_H
#define LIB_HANDLES_H

#include "base/deadline.h"
#include "include/rly.h"
#include "io/file.h"
#include "io/tensor_file.h"
#include "state/state.h"

/* Each handle counts those that stand on it, and goes with the last of them,
 * so hosts may free in any order. */
struct rly_context {
  _Atomic int refs;
  pthread_mutex_t lock; /* of all below but `mem`; recursive */
  Mem mem;
  NameTable names;
  SourceMap sources;
  Diags diags;
  Heap heap; /* constants of programs, tensors of files */
  rly_options options;
  _Atomic bool late; /* memory is called exhausted because time is over */
};

/* What was bound to a name: a tensor, or text that waits to learn its type. */
typedef struct Bound {
  const char *name; /* NULL: the entry's next parameter */
  Tensor *tensor;   /* owned; NULL: `text` */
  const char *text;
  bool strict; /* an unknown name is an error */
} Bound;

struct rly_program {
  _Atomic int refs;
  rly_context *cx;
  Mem *mem; /* its own below the context's */
  /* How many hold the program as it is: sessions at work.  -1: it is being
   * changed, under the context's lock. */
  _Atomic int holders;
  Program *ir;
  Code *code;
  Unit *newest;     /* of the text added last; what it links comes after it */
  VEC(Bound) bound; /* later entries win */
  Arena arena;      /* names and texts of `bound` */
  _Atomic size_t params_given; /* of ir->params, those the code knows */
};

struct rly_session {
  _Atomic int refs;
  Mem *mem; /* its own below the context's, with its own limit */
  rly_program *program;
  Session *vm;
  Diags diags;
  pthread_mutex_t lock; /* of all this; recursive */
  bool running, freed;
  Unit *last_run; /* the newest unit whose steps were evaluated */
  rly_session_options options;
  FileOut trace; /* open while options.trace is set */
};

struct rly_value {
  rly_session *session;
  const Type *type;
  Value value; /* one reference */
};

/* The header is the handle's own, so no heap is needed for it. */
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

/* What the values of a session live in. */
static inline Store *store_of(const rly_session *s) {
  return session_store(s->vm);
}

/* --- handles.c: what the host is told ------------------------------------ */

rly_status status_of_run(RunStatus status);
Limits limits_of(const rly_context *cx);
/* `failed`, unless what failed did so for lack of memory: then RLY_LIMIT, after
 * reporting it; the context is usable again.  Whoever is refused memory by
 * mem_alloc or the heap raises `exhausted`, as arenas and vectors do. */
rly_status status_of_failure(rly_context *cx, rly_status failed);
/* The same of a program that nobody else uses. */
rly_status program_failed(rly_program *p, rly_status failed);
/* The same of a session, in its own diagnostics. */
rly_status session_failed(rly_session *s, rly_status failed);
/* Whoever has it may lock it again. */
void lock_init(pthread_mutex_t *lock);
/* A copy of the text that rly_text_free takes; NULL when memory is short or ran
 * out while the text was made.  The text is released. */
char *text_take(rly_context *cx, StrBuf *text);

/* --- handles.c: turns ----------------------------------------------------- */

void context_keep(rly_context *cx);
void context_drop(rly_context *cx);
void context_lock(rly_context *cx);
void context_unlock(rly_context *cx);

void program_drop(rly_program *p);
/* Before a program is changed, or its tables used, and after.  False for NULL
 * and while one of its sessions is at work. */
bool program_enter(rly_program *p);
void program_leave(rly_program *p);

void session_keep(rly_session *s);
void session_drop(rly_session *s);
/* The end of a session that has no machine. */
void session_shell_free(rly_session *s);
/* Before and after whatever runs the session or changes its state.  False for
 * NULL, for one that was freed, and when it is at work already. */
bool session_enter(rly_session *s);
void session_leave(rly_session *s);
/* The same for what looks at values; a session's own callbacks may, while it is
 * at work. */
bool session_hold(rly_session *s);
void session_release(rly_session *s);

/* --- session.c ---------------------------------------------------------- */

/* A session without its machine. */
rly_session *session_shell(rly_program *p, const rly_session_options *options);
SessionHooks session_hooks(const rly_session_options *options);
/* Has its runs looked at as its options say; false after reporting. */
bool session_observed(rly_session *s);
/* Evaluates what was added since the last time: `lets_only` leaves expressions
 * out, as a call does. */
rly_status session_start(rly_session *s, bool lets_only);
/* Binds the params that came with new texts; false after reporting. */
bool session_params(rly_session *s);
/* Argument `i` from what is bound to the parameter's name; the reference is
 * owned.  False after reporting. */
bool session_argument(rly_session *s, const rly_function *entry, int i,
                      Value *out);
/* May a value of type `given` be passed as `wanted`? */
bool passes_as(const Type *given, const Type *wanted);

/* --- value.c ------------------------------------------------------------ */

/* A handle on an owned value; NULL, with the value dropped, for lack of
 * memory. */
rly_value *value_handle_take(rly_session *s, const Type *type, Value v);

/* --- context.c, tensor.c ------------------------------------------------ */

/* Replaces a file's text in one step; false after reporting. */
bool file_replace(rly_context *cx, const char *path, const StrBuf *text);

/* Do these arguments make a tensor? */
bool tensor_sensible(const char *dtype, int rank, const int64_t *shape,
                     const void *elements, DType *found, int64_t *count);
/* A handle on a tensor's elements, or on a row-major copy of them where they do
 * not lie so; NULL when memory is short. */
rly_tensor *tensor_handle(rly_context *cx, const Tensor *t);

/* --- stepper.c ---------------------------------------------------------- */

/* A stepper over what the session has still to evaluate.  It sees the values
 * that the session has, and changes none of them; the session must outlive it
 * and stay as it is.  NULL after reporting. */
typedef struct Stepper Stepper;
Stepper *session_stepper(rly_session *s);
/* Adds the call of a function with what is bound to its parameters; false after
 * reporting. */
bool session_step_call(rly_session *s, Stepper *st, const rly_function *f);

/* --- files.c ------------------------------------------------------------ */

/* The tensors of a file of any format; NULL after reporting. */
TensorFile *tensors_read(rly_context *cx, const char *path);
/* In the format that the path's extension names; false after reporting. */
bool tensors_write(const TensorFile *f, const char *path, Diags *diags);

/* --- literal.c ---------------------------------------------------------- */

/* A tensor literal or string as a tensor of dtype `want` (DTYPE_NONE: as the
 * language types it), or NULL after reporting against `label`. */
Tensor *literal_read(rly_program *p, const char *label, const char *text,
                     DType want);

/* --- bind.c ------------------------------------------------------------- */

/* Binds the params that came with newly added texts.  Reports what is
 * missing. */
bool params_complete(rly_program *p);
/* A value of `type` from what is bound to `name` (a tuple's fields: name.0,
 * name.1 ...); the reference is owned.  False after reporting. */
bool bound_value(rly_session *s, const char *name, const Type *type,
                 Value *out);

/* --- program.c ---------------------------------------------------------- */

/* A text's or file's unit, parsed and no more; NULL after reporting. */
Unit *program_parse_text(rly_program *p, const char *path, const char *text,
                         size_t len);
Unit *program_parse_file(rly_program *p, const char *path);

/* Checks an expression and shows it, with its types, to `look`; nothing of it
 * stays in the program. */
rly_status program_look_at(rly_program *p, const char *text, size_t len,
                           void (*look)(void *data, const Expr *e), void *data);

#endif
