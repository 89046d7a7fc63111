/* Results: values as the host sees them. */
#include <stdio.h>

#include "lib/handles.h"

static rly_context *context_of(const rly_value *v) {
  return v->session->program->cx;
}

void rly_value_free(rly_value *v) {
  if (!v) return;
  value_drop(v->session->vm, v->type, v->value);
  mem_free(&context_of(v)->mem, v, sizeof *v);
}

rly_kind rly_value_kind(const rly_value *v) {
  static const rly_kind of[] = {
      [TY_TENSOR] = RLY_TENSOR, [TY_TUPLE] = RLY_TUPLE,
      [TY_ADT] = RLY_CONSTRUCTOR, [TY_REF] = RLY_REF,
      [TY_FN] = RLY_FUNCTION,
  };
  return v ? of[v->type->kind] : RLY_TUPLE;
}

bool rly_value_is_unit(const rly_value *v) {
  return v && type_is_unit(v->type);
}

/* --- Text --------------------------------------------------------------- */

/* The text of a value; NULL when making it was stopped, which a run under way
 * reports and else is reported here. */
static char *value_text_take(rly_value *v, StrBuf *out) {
  Session *s = v->session->vm;
  if (!session_should_stop(s)) {
    char *text = text_take(context_of(v), out);
    if (text) return text;
    mem_raise_exhausted(&context_of(v)->mem);
  }
  strbuf_done(out);
  if (!session_in_run(s)) session_stopped(s, SPAN_NONE);
  return NULL;
}

char *rly_value_text(rly_value *v) {
  if (!v) return NULL;
  StrBuf out;
  strbuf_init(&out, &context_of(v)->mem);
  int width = v->session->options.width;
  value_print(v->session->vm, &out, v->type, v->value, width ? width : 80,
              VALUE_SHOWN);
  return value_text_take(v, &out);
}

char *rly_value_type_text(rly_value *v) {
  if (!v) return NULL;
  StrBuf out;
  strbuf_init(&out, &context_of(v)->mem);
  type_print(v->session->program->ir->types, &out, v->type, 2000);
  return text_take(context_of(v), &out);
}

char *rly_value_json(rly_value *v) {
  if (!v) return NULL;
  StrBuf out;
  strbuf_init(&out, &context_of(v)->mem);
  value_print_json(v->session->vm, &out, v->type, v->value);
  return value_text_take(v, &out);
}

bool rly_value_equal(const rly_value *a, const rly_value *b) {
  return a && b && a->session == b->session && a->type == b->type &&
         value_equal(a->session->vm, a->type, a->value, b->value);
}

/* --- Parts -------------------------------------------------------------- */

static const Ctor *ctor_of(const rly_value *v) {
  if (!v || v->type->kind != TY_ADT) return NULL;
  return &v->type->adt->ctors[v->value.obj->tag];
}

const char *rly_value_constructor(const rly_value *v) {
  const Ctor *c = ctor_of(v);
  return c ? c->name->text : NULL;
}

int rly_value_field_count(const rly_value *v) {
  if (!v) return 0;
  if (v->type->kind == TY_REF) return 1;
  if (v->type->kind == TY_TUPLE) return v->type->count;
  const Ctor *c = ctor_of(v);
  return c ? c->field_count : 0;
}

rly_value *rly_value_field(rly_value *v, int i) {
  if (!v || i < 0 || i >= rly_value_field_count(v)) return NULL;
  rly_value *field = mem_alloc(&context_of(v)->mem, sizeof *field);
  if (!field) return NULL;
  *field = (rly_value){.session = v->session};
  field->value = value_field(v->session->vm, v->type, v->value, i,
                             &field->type);
  value_keep(field->type, field->value);
  return field;
}

/* --- Tensors in a value ------------------------------------------------- */

rly_value *rly_value_of_tensor(rly_session *s, const rly_tensor *t) {
  if (!s || !t || t->cx != s->program->cx) return NULL;
  const Tensor *from = t->tensor;
  rly_value *v = mem_alloc(&s->program->cx->mem, sizeof *v);
  if (!v) return NULL;
  *v = (rly_value){
      .session = s,
      .type = type_tensor(s->program->ir->types, from->dtype, from->rank,
                          from->shape),
  };
  if (from->rank == 0) {
    v->value = tensor_bits_at(from, 0);
    return v;
  }
  v->value.tensor = tensor_view(session_heap(s->vm), from, from->rank,
                                from->shape, from->strides, 0);
  if (v->value.tensor) return v;
  mem_free(&s->program->cx->mem, v, sizeof *v);
  return NULL;
}

/* A header on the host's side; the elements are shared. */
static Tensor *host_tensor(rly_context *cx, const Type *type, Value v) {
  if (type_is_scalar(type)) return tensor_from_bits(&cx->heap, type->dtype, v);
  if (!tensor_is_contiguous(v.tensor)) return tensor_copy(&cx->heap, v.tensor);
  return tensor_view(&cx->heap, v.tensor, v.tensor->rank, v.tensor->shape,
                     v.tensor->strides, 0);
}

rly_tensor *rly_value_tensor(rly_value *v) {
  if (!v || v->type->kind != TY_TENSOR) return NULL;
  rly_context *cx = context_of(v);
  return tensor_handle_take(cx, host_tensor(cx, v->type, v->value));
}

/* --- Writing ------------------------------------------------------------ */

/* A value still to be written; with `type` NULL, the end of a ref. */
typedef struct Pending {
  const Type *type;
  Value value;
} Pending;

typedef struct Writer {
  rly_value *v;
  TensorFile *file;
  VEC(Pending) stack;
  PtrMap open;          /* the refs around what is being written */
  const char *refused;  /* why; NULL: it is not */
} Writer;

static void writer_tensor(Writer *w, const Type *type, Value value) {
  char name[32];
  int len = snprintf(name, sizeof name, "out%zu", w->file->tensors.len);
  Tensor *t = host_tensor(context_of(w->v), type, value);
  if (!t || !tensor_file_add_name(w->file, name, (size_t)len)) {
    if (t) tensor_drop(&context_of(w->v)->heap, t);
    mem_raise_exhausted(&context_of(w->v)->mem);
    return;
  }
  VEC_LAST(&w->file->tensors).tensor = t;
}

/* Pushes a tuple's or constructor's fields so that the first is on top. */
static void writer_fields(Writer *w, const Type *type, Value value) {
  rly_value whole = {w->v->session, type, value};
  for (int i = rly_value_field_count(&whole); i-- > 0;) {
    Pending p;
    p.value = value_field(w->v->session->vm, type, value, i, &p.type);
    VEC_PUSH(&w->stack, p);
  }
}

static void writer_ref(Writer *w, Pending p) {
  if (ptrmap_has(&w->open, p.value.obj)) {
    w->refused = "a ref that leads back to itself has no end: it cannot be "
                 "written to a file";
    return;
  }
  ptrmap_put(&w->open, p.value.obj, w);
  VEC_PUSH(&w->stack, (Pending){.value = p.value});
  writer_fields(w, p.type, p.value);
}

static void writer_one(Writer *w, Pending p) {
  if (!p.type)
    ptrmap_remove(&w->open, p.value.obj);
  else if (p.type->kind == TY_TENSOR)
    writer_tensor(w, p.type, p.value);
  else if (p.type->kind == TY_FN)
    w->refused = "a function cannot be written to a file";
  else if (p.type->kind == TY_REF)
    writer_ref(w, p);
  else
    writer_fields(w, p.type, p.value);
}

static void writer_collect(Writer *w) {
  VEC_PUSH(&w->stack, (Pending){w->v->type, w->v->value});
  while (w->stack.len && !w->refused &&
         !session_should_stop(w->v->session->vm)) {
    Pending p = VEC_POP(&w->stack);
    writer_one(w, p);
  }
}

static rly_status writer_finish(Writer *w, const char *path) {
  rly_context *cx = context_of(w->v);
  if (w->refused) {
    rly_diagnostic_add(cx, "E0507", w->refused);
    return RLY_RUNTIME;
  }
  RunStatus stopped = session_stopped(w->v->session->vm, SPAN_NONE);
  if (stopped != RUN_OK) return status_of_run(stopped);
  if (tensors_write(cx, w->file, path)) return RLY_OK;
  return status_of_failure(cx, RLY_RUNTIME);
}

rly_status rly_value_write(rly_value *v, const char *path) {
  if (!v || !path) return RLY_MISUSE;
  rly_context *cx = context_of(v);
  Writer w = {.v = v, .file = tensor_file_new(&cx->heap)};
  if (!w.file) return RLY_LIMIT;
  VEC_INIT(&w.stack, &cx->mem);
  ptrmap_init(&w.open, &cx->mem);
  writer_collect(&w);
  rly_status status = writer_finish(&w, path);
  VEC_DONE(&w.stack);
  ptrmap_done(&w.open);
  tensor_file_free(w.file);
  return status;
}
