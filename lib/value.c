/* Results: values as the host sees them.
 *
 * A handle is a value, its type and its session, of which it holds a reference.
 * Values live in the session's heap, which one thread at a time may use, so
 * everything that touches one holds the session (hold).  A host may look at
 * values while the session runs, from a callback of that very run.
 *
 * Types say what a value is; they are static, so a tensor's type may leave
 * dimensions open that the value has: rly_value_dim() asks the value.
 *
 * A host thus sees a value from outside, part by part, each part as a handle of
 * its own: rly_value_field() of (1, [2f]) gives a handle on 1 and one on [2f],
 * and the tuple may be freed before them.  That costs a count for each part
 * that is asked for, and asks of the host only one rule: what it was given, it
 * frees. */
#include <stdio.h>

#include "lib/path.h"
#include "value/show.h"

static rly_context *context_of(const rly_value *v) {
  return v->session->program->cx;
}

/* --- Life --------------------------------------------------------------- */

/* Handles are cut from the session's pool, so that a stream of calls needs no
 * memory after the first. */
rly_value *value_handle_take(rly_session *s, const Type *type, Value v) {
  rly_value *handle = pool_alloc(&store_of(s)->heap.pool, sizeof *handle);
  if (!handle) {
    value_drop(store_of(s), type, v);
    return NULL;
  }
  *handle = (rly_value){.session = s, .type = type, .value = v};
  session_keep(s);
  return handle;
}

/* Waits for a call that is under way elsewhere. */
void rly_value_free(rly_value *v) {
  if (!v) return;
  rly_session *s = v->session;
  if (!session_wait(s)) return;
  value_drop(store_of(s), v->type, v->value);
  pool_free(&store_of(s)->heap.pool, v, sizeof *v);
  pthread_mutex_unlock(&s->lock);
  session_drop(s);
}

/* A second handle, not a second count on the first: each is freed by itself. */
rly_value *rly_value_keep(rly_value *v) {
  if (!require(v, "the value is NULL") || !session_hold(v->session))
    return NULL;
  value_keep(v->type, v->value);
  rly_value *kept = value_handle_take(v->session, v->type, v->value);
  session_release(v->session);
  return kept;
}

rly_kind rly_value_kind(const rly_value *v) {
  static const rly_kind of[] = {
      [TY_TENSOR] = RLY_TENSOR,   [TY_TUPLE] = RLY_TUPLE,
      [TY_ADT] = RLY_CONSTRUCTOR, [TY_REF] = RLY_REF,
      [TY_FN] = RLY_FUNCTION,
  };
  return v ? of[v->type->kind] : RLY_UNKNOWN;
}

const rly_type *rly_value_type(const rly_value *v) {
  return v ? (const rly_type *)v->type : NULL;
}

bool rly_value_is_unit(const rly_value *v) {
  return v && type_is_unit(v->type);
}

/* --- Text --------------------------------------------------------------- */

/* The text of a value; NULL when making it was stopped, which a run under way
 * reports and else is reported here. */
static char *value_text_take(rly_value *v, StrBuf *out) {
  Session *s = v->session->vm;
  if (!store_should_stop(session_store(s))) {
    char *text = text_take(context_of(v), out);
    if (text) return text;
    mem_raise_exhausted(v->session->mem);
  }
  strbuf_done(out);
  if (!session_in_run(s)) session_stopped(s, SPAN_NONE);
  return NULL;
}

static bool hold_for(const char *function, const rly_value *v) {
  if (!v) misuse(function, "the value is NULL");
  if (!v || !session_hold_for(function, v->session)) return false;
  /* Something that failed without a report is no concern of what follows. */
  Mem *mem = v->session->mem;
  if (!session_in_run(v->session->vm) && mem_exhausted(mem))
    mem_clear_exhausted(mem);
  return true;
}
#define hold(v) hold_for(__func__, v)

/* Printing polls the stop flag, for a value may be of any size. */
static char *shown_for(const char *function, rly_value *v, int width,
                       int digits) {
  if (!hold_for(function, v)) return NULL;
  StrBuf out;
  strbuf_init(&out, v->session->mem);
  if (width <= 0) width = v->session->options.width;
  value_print(store_of(v->session), &out, v->type, v->value, width ? width : 80,
              digits > 0 ? digits : 0, VALUE_SHOWN);
  char *text = value_text_take(v, &out);
  session_release(v->session);
  return text;
}

char *rly_value_text(rly_value *v) { return shown_for(__func__, v, 0, 0); }

char *rly_value_text_fit(rly_value *v, int width, int digits) {
  return shown_for(__func__, v, width, digits);
}

char *rly_value_type_text(rly_value *v) {
  if (!hold(v)) return NULL;
  Mem mem = mem_local(v->session->mem);
  StrBuf out;
  strbuf_init(&out, &mem);
  type_print(v->session->program->ir->types, &out, v->type, TYPE_TEXT_PAGE);
  char *text = text_take(context_of(v), &out);
  session_release(v->session);
  return text;
}

char *rly_value_json(rly_value *v) {
  if (!hold(v)) return NULL;
  StrBuf out;
  strbuf_init(&out, v->session->mem);
  value_print_json(store_of(v->session), &out, v->type, v->value);
  char *text = value_text_take(v, &out);
  session_release(v->session);
  return text;
}

/* Values of two sessions are never equal: their cells are different cells. */
bool rly_value_equal(const rly_value *a, const rly_value *b) {
  if (!a || !b || a->session != b->session || a->type != b->type || !hold(a))
    return false;
  bool equal = value_equal(store_of(a->session), a->type, a->value, b->value);
  session_release(a->session);
  return equal;
}

/* --- Parts -------------------------------------------------------------- */

/* The tag of the object is the constructor's number. */
static const Ctor *ctor_of(const rly_value *v) {
  if (!v || v->type->kind != TY_ADT) return NULL;
  return &v->type->adt->ctors[v->value.obj->tag];
}

const char *rly_value_constructor(const rly_value *v) {
  const Ctor *c = ctor_of(v);
  return c ? c->name->text : NULL;
}

/* A cell has one field, its content. */
int rly_value_field_count(const rly_value *v) {
  if (!v) return 0;
  if (v->type->kind == TY_REF) return 1;
  if (v->type->kind == TY_TUPLE) return v->type->count;
  const Ctor *c = ctor_of(v);
  return c ? c->field_count : 0;
}

/* The field gets a reference of its own, so the whole may be freed. */
rly_value *rly_value_field(rly_value *v, int i) {
  if (!require(v, "the value is NULL") ||
      !require(i >= 0 && i < rly_value_field_count(v),
               "there is no such field") ||
      !hold(v))
    return NULL;
  const Type *type;
  Value field = value_field(store_of(v->session), v->type, v->value, i, &type);
  rly_value *handle = NULL;
  /* Where memory ran out, `type` may be that of the declaration. */
  if (!mem_exhausted(v->session->mem)) {
    value_keep(type, field);
    handle = value_handle_take(v->session, type, field);
  }
  session_release(v->session);
  return handle;
}

/* --- Values from tensors ------------------------------------------------ */

/* Sessions share the table of types.  So a lookup takes their lock. */
const Type *type_of_tensor(rly_session *s, const Tensor *t) {
  SharedValues *shared = store_of(s)->shared;
  Dim dims[RANK_MAX];
  dims_of_shape(t->rank, t->shape, dims);
  pthread_mutex_lock(shared->lock);
  const Type *type = type_tensor(shared->types, (DType)t->dtype, t->rank, dims);
  pthread_mutex_unlock(shared->lock);
  return type;
}

/* A value of `t`, whose elements are shared, or copied to the session. `copied`
 * is for memory that the host goes on using.  A scalar is no tensor in the
 * machine but the bits of its number, so it is read at once and nothing is
 * shared or copied. */
rly_value *value_handle_of(rly_session *s, const Tensor *t, bool copied) {
  Heap *heap = &store_of(s)->heap;
  Value v;
  if (t->rank == 0) v = bits_load((DType)t->dtype, t->data);
  else
    v.tensor = copied ? tensor_copy(heap, t)
                      : tensor_view(heap, t, t->rank, t->shape, t->strides, 0);
  if (t->rank && !v.tensor) return NULL;
  return value_handle_take(s, type_of_tensor(s, t), v);
}

/* A report tells a host that memory ran out, as there is none of misuse. */
static rly_value *handle_or_report(rly_session *s, const Tensor *t,
                                   bool copied) {
  if (s->freed) return NULL;
  rly_value *v = value_handle_of(s, t, copied);
  if (!v) session_out_of_memory(s);
  return v;
}

/* The elements are shared with the host's tensor; a kernel never writes over a
 * buffer that has two owners. */
rly_value *rly_value_of_tensor(rly_session *s, const rly_tensor *t) {
  if (!require(s, "the session is NULL") || !require(t, "the tensor is NULL") ||
      !require(t->cx == s->program->cx, "the tensor is of another context") ||
      !session_hold(s))
    return NULL;
  rly_value *v = handle_or_report(s, &t->tensor, false);
  session_release(s);
  return v;
}

rly_value *rly_value_of_elements(rly_session *s, const char *dtype, int rank,
                                 const int64_t *shape, const void *elements) {
  Tensor t;
  if (!require(s, "the session is NULL") ||
      !tensor_sensible(dtype, rank, shape, NULL, elements, &t) ||
      !session_hold(s))
    return NULL;
  rly_value *v = handle_or_report(s, &t, true);
  session_release(s);
  return v;
}

/* --- Tensors from values ------------------------------------------------ */

static bool is_tensor(const rly_value *v) {
  return v && v->type->kind == TY_TENSOR;
}

const char *rly_value_dtype(const rly_value *v) {
  return is_tensor(v) ? dtype_name((DType)v->type->dtype) : NULL;
}

int rly_value_rank(const rly_value *v) {
  if (!is_tensor(v)) return -1;
  return v->type->any_rank ? v->value.tensor->rank : v->type->rank;
}

/* A scalar may have no header; of rank 0 there is no axis to ask for. */
int64_t rly_value_dim(const rly_value *v, int axis) {
  if (axis < 0 || axis >= rly_value_rank(v)) return -1;
  return v->value.tensor->shape[axis];
}

int64_t rly_value_count(const rly_value *v) {
  if (!is_tensor(v)) return 0;
  return v->type->rank ? tensor_count(v->value.tensor) : 1;
}

/* Elements that do not lie row-major are copied so, once.  The copy replaces
 * the value's tensor, so the address stays good as long as the handle.  A
 * transposed matrix, for example, is a view with its strides exchanged until a
 * host asks for its elements. */
static const void *elements_of(rly_value *v) {
  if (!v->type->rank) return &v->value;
  Heap *heap = &store_of(v->session)->heap;
  Tensor *t = tensor_contiguous(heap, v->value.tensor);
  if (!t) return NULL;
  tensor_drop(heap, v->value.tensor);
  v->value.tensor = t;
  return t->data;
}

/* Borrowed until the handle is freed. */
const void *rly_value_elements(rly_value *v) {
  if (!require(is_tensor(v), "the value is no tensor") || !hold(v)) return NULL;
  const void *elements = elements_of(v);
  session_release(v->session);
  return elements;
}

/* A scalar becomes a tensor of rank 0 for the time of the copy. */
static rly_tensor *tensor_of(rly_value *v) {
  const Type *type = v->type;
  if (type->rank) return tensor_handle(context_of(v), v->value.tensor);
  Tensor *t = tensor_from_bits(&store_of(v->session)->heap, (DType)type->dtype,
                               v->value);
  rly_tensor *handle = t ? tensor_handle(context_of(v), t) : NULL;
  if (t) tensor_drop(&store_of(v->session)->heap, t);
  return handle;
}

rly_tensor *rly_value_tensor(rly_value *v) {
  if (!require(is_tensor(v), "the value is no tensor") || !hold(v)) return NULL;
  rly_tensor *t = tensor_of(v);
  session_release(v->session);
  return t;
}

/* --- Writing ------------------------------------------------------------ */

/* A value still to be written; with `type` NULL, the end of a ref. */
typedef struct Pending {
  const Type *type;
  Value value;
  const char *path; /* NULL: tensors are numbered */
  int64_t item;     /* of a list whose elements stand at `path`: the next */
} Pending;

/* `open` finds refs that lead back to themselves, as their contents have no
 * end. */
typedef struct Writer {
  rly_value *v;
  TensorFile *file;
  VEC(Pending) stack;
  PtrMap open;         /* the refs around what is being written */
  const char *refused; /* why; NULL: it is not */
} Writer;

/* Without paths, leaves are numbered in order: out0, out1, ...  Only what is in
 * a tensor is written: of (1f, Cons([2f, 3f], Nil)) the file has out0, a
 * scalar, and out1, two elements.  The tuple and the list around them leave no
 * trace; whoever reads the file knows what was written. */
static void writer_tensor(Writer *w, Pending p) {
  char number[32];
  snprintf(number, sizeof number, "out%zu", w->file->tensors.len);
  const char *name = p.path && *p.path ? p.path : number;
  Heap *heap = w->file->heap;
  Tensor *t = type_is_scalar(p.type)
                  ? tensor_from_bits(heap, (DType)p.type->dtype, p.value)
                  : tensor_contiguous(heap, p.value.tensor);
  if (!t || !tensor_file_add_name(w->file, name, strlen(name))) {
    if (t) tensor_drop(heap, t);
    mem_raise_exhausted(w->v->session->mem);
    return;
  }
  VEC_LAST(&w->file->tensors).tensor = t;
}

/* The path of a field, as path.c explains it; of a list's rest, its own. */
static Pending below(Writer *w, Pending of, int i) {
  Pending p = {.path = of.path};
  if (!of.path) return p;
  Arena *arena = &w->file->arena;
  if (of.type->kind == TY_TUPLE) {
    p.path = path_join_index(arena, of.path, i);
    return p;
  }
  const Adt *adt = of.type->adt;
  const Ctor *ctor = &adt->ctors[of.value.obj->tag];
  if (path_cons_of(adt) != ctor)
    p.path = path_of_field(arena, of.path, ctor, i);
  else if (i == 0) p.path = path_join_index(arena, of.path, of.item);
  else p.item = of.item + 1;
  return p;
}

/* Pushes a tuple's or constructor's fields so that the first is on top. */
static void writer_fields(Writer *w, Pending of) {
  rly_value whole = {w->v->session, of.type, of.value};
  for (int i = rly_value_field_count(&whole); i-- > 0;) {
    Pending p = below(w, of, i);
    p.value =
        value_field(store_of(w->v->session), of.type, of.value, i, &p.type);
    VEC_PUSH(&w->stack, p);
  }
}

/* A ref may occur twice beside itself (then it is written twice), but not
 * within itself.  The map holds only the refs that are open, hence the entry
 * without a type that is pushed below the contents: it is reached when they are
 * done, and closes the ref. */
static void writer_ref(Writer *w, Pending p) {
  if (ptrmap_has(&w->open, p.value.obj)) {
    w->refused =
        "a ref that leads back to itself has no end: it cannot be "
        "written to a file";
    return;
  }
  ptrmap_put(&w->open, p.value.obj, w);
  VEC_PUSH(&w->stack, (Pending){.value = p.value});
  writer_fields(w, p);
}

static void writer_one(Writer *w, Pending p) {
  if (!p.type) ptrmap_remove(&w->open, p.value.obj);
  else if (p.type->kind == TY_TENSOR) writer_tensor(w, p);
  else if (p.type->kind == TY_FN)
    w->refused = "a function cannot be written to a file";
  else if (p.type->kind == TY_REF && p.path)
    w->refused = "a cell is no value of a `param`: it has no path";
  else if (p.type->kind == TY_REF) writer_ref(w, p);
  else writer_fields(w, p);
}

/* Depth first, from left to right, with an explicit stack.  The C stack would
 * not do, as a list of a million tensors is a million constructors deep. */
static void writer_collect(Writer *w, const char *name) {
  VEC_PUSH(&w->stack, (Pending){w->v->type, w->v->value, .path = name});
  while (w->stack.len && !w->refused &&
         !store_should_stop(store_of(w->v->session))) {
    Pending p = VEC_POP(&w->stack);
    writer_one(w, p);
  }
}

/* In this order: a value that no file can hold, a request to stop, the
 * writing. */
static rly_status writer_finish(Writer *w, const char *path) {
  rly_session *s = w->v->session;
  if (w->refused) {
    diag_error(&s->diags, E0507, SPAN_NONE, "%s", w->refused);
    return RLY_RUNTIME;
  }
  RunStatus stopped = session_stopped(s->vm, SPAN_NONE);
  if (stopped != RUN_OK) return status_of_run(stopped);
  if (tensors_write(s->program->cx, w->file, path, &s->diags)) return RLY_OK;
  return session_failed(s, RLY_RUNTIME);
}

static rly_status write_value(rly_value *v, const char *name,
                              const char *path) {
  Mem *mem = v->session->mem;
  Writer w = {.v = v, .file = tensor_file_new(&store_of(v->session)->heap)};
  if (!w.file) return session_failed(v->session, RLY_LIMIT);
  VEC_INIT(&w.stack, mem);
  ptrmap_init(&w.open, mem);
  writer_collect(&w, name);
  rly_status status = writer_finish(&w, path);
  VEC_DONE(&w.stack);
  ptrmap_done(&w.open);
  tensor_file_free(w.file);
  return status;
}

/* Every tensor of the value, wherever it stands: fields of tuples and
 * constructors, contents of refs. */
rly_status rly_value_write(rly_value *v, const char *path) {
  if (!require(path, "the path is NULL") || !hold(v)) return RLY_MISUSE;
  rly_status status = write_value(v, NULL, path);
  session_release(v->session);
  return status;
}

rly_status rly_value_write_as(rly_value *v, const char *name,
                              const char *path) {
  if (!require(name, "the name is NULL") ||
      !require(path, "the path is NULL") || !hold(v))
    return RLY_MISUSE;
  rly_status status = write_value(v, name, path);
  session_release(v->session);
  return status;
}
