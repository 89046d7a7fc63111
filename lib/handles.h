/* What the handles of rly.h hold.  Only lib/ and those commands that show a
 * program's insides (fmt, dump, check) include this. */
#ifndef LIB_HANDLES_H
#define LIB_HANDLES_H

#include "include/rly.h"
#include "interp/interp.h"
#include "io/file.h"
#include "io/tensor_file.h"

struct rly_context {
  Mem mem;
  NameTable names;
  SourceMap sources;
  Diags diags;
  Heap heap;       /* constants of programs, host tensors */
  rly_options options;
};

/* What was bound to a name: a tensor, or text that waits to learn its type. */
typedef struct Bound {
  const char *name;  /* NULL: the entry's next parameter */
  Tensor *tensor;    /* owned; NULL: `text` */
  const char *text;
  bool strict;       /* an unknown name is an error */
} Bound;

struct rly_program {
  rly_context *cx;
  Program *ir;
  Code *code;
  Unit *newest;  /* of the text added last; what it links comes after it */
  VEC(Bound) bound;  /* later entries win */
  Arena arena;       /* names and texts of `bound` */
  size_t params_given;  /* of ir->params, those that the code knows */
};

struct rly_session {
  rly_program *program;
  Session *vm;
  Unit *last_run;  /* the newest unit whose steps were evaluated */
  rly_session_options options;
  FileOut trace;  /* open while options.trace is set */
};

struct rly_value {
  rly_session *session;
  const Type *type;
  Value value;  /* one reference */
};

struct rly_tensor {
  rly_context *cx;
  Tensor *tensor;
};

struct rly_tensors {
  rly_context *cx;
  TensorFile *file;
};

rly_status status_of_run(RunStatus status);
Limits limits_of(const rly_context *cx);
/* A copy of the text that rly_text_free takes; NULL when memory is short. */
char *text_take(rly_context *cx, StrBuf *text);

/* Replaces a file's text in one step; false after reporting. */
bool file_replace(rly_context *cx, const char *path, const StrBuf *text);

/* A handle on a tensor, whose reference it consumes; NULL when memory is short
 * or there is no tensor. */
rly_tensor *tensor_handle_take(rly_context *cx, Tensor *t);

/* --- files.c ------------------------------------------------------------ */

/* `failed`, unless what failed did so for lack of memory: then RLY_LIMIT, after
 * reporting it; the context is usable again.  Whoever is refused memory by
 * mem_alloc or the heap raises `exhausted`, as arenas and vectors do. */
rly_status status_of_failure(rly_context *cx, rly_status failed);
/* The tensors of a file of any format; NULL after reporting. */
TensorFile *tensors_read(rly_context *cx, const char *path);
/* In the format that the path's extension names; false after reporting. */
bool tensors_write(rly_context *cx, const TensorFile *f, const char *path);

/* --- literal.c ---------------------------------------------------------- */

/* A tensor literal or string as a tensor of dtype `want` (DTYPE_NONE: as the
 * language types it), or NULL after reporting against `label`. */
Tensor *literal_read(rly_program *p, const char *label, const char *text,
                     DType want);

/* --- bind.c ------------------------------------------------------------- */

/* The tensor bound to `name` as a `declared` type wants it; NULL after
 * reporting when it does not fit, or (no report) when nothing is bound. */
const Tensor *bound_tensor(rly_program *p, const char *name,
                           const Type *declared);
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

Unit *import_unit(Program *p, const Unit *from, const Item *item);
Unit *library_unit(Program *p, char kind, const Name *name);

#endif
