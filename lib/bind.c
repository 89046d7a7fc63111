/* Values that a host binds to names: what they are, and which is meant.
 *
 * A binding is a name with a tensor, or with a text that becomes a tensor as
 * soon as a declaration says of which dtype (`x=3` may be an int8 or a
 * float64).  Bindings are a list in the order in which they came; a later one
 * of a name replaces an earlier one.  Nothing is compared with the program
 * here: a file may be bound before the text that declares its params (entry.c
 * compares).
 *
 *   bind_file     every tensor of a file       an unknown name is no error, nor
 *                                              is one that cannot be read
 *   bind_tensor   a host's tensor              an unknown name is an error
 *   bind_param    likewise                     told at once, taken back
 *   bind_text     NAME=VALUE, NAME=@FILE       an unknown name is an error
 *
 * Names and texts are copied into the program's arena; a binding owns one
 * reference to its tensor, and both live as long as the program, or until the
 * binding is taken back (entry.c, unbind).  A tensor that the host gave is
 * shared and not copied. */
#include <string.h>

#include "lib/handles.h"

/* --- Collecting --------------------------------------------------------- */

/* Takes b.tensor. */
static void bind(rly_program *p, Bound b) {
  if (b.name) b.name = arena_strndup(&p->arena, b.name, strlen(b.name));
  if (b.text) b.text = arena_strndup(&p->arena, b.text, strlen(b.text));
  if (b.left_out)
    b.left_out = arena_strndup(&p->arena, b.left_out, strlen(b.left_out));
  VEC_PUSH(&p->bound, b);
}

/* The names of the file's tensors live as long as the file, so bind() copies
 * them; the tensors are kept by references of their own. */
static rly_status bind_file(rly_program *p, const char *path) {
  TensorFile *file = tensors_read(p->cx, path);
  if (!file) return program_failed(p, RLY_REFUSED);
  const char *name = arena_strndup(&p->arena, path, strlen(path));
  for (size_t i = 0; i < file->tensors.len; i++)
    bind(p, (Bound){.name = file->tensors.data[i].name,
                    .file = name,
                    .tensor = tensor_keep(file->tensors.data[i].tensor)});
  for (size_t i = 0; i < file->left_out.len; i++) {
    const LeftOut *t = &file->left_out.data[i];
    bind(p, (Bound){.name = t->name, .file = name, .left_out = t->why});
  }
  tensor_file_free(file);
  return RLY_OK;
}

rly_status rly_program_bind_file(rly_program *p, const char *path) {
  if (!require(path, "the path is NULL") || !program_enter(p))
    return RLY_MISUSE;
  rly_status status = bind_file(p, path);
  program_leave(p);
  return status;
}

/* A header of the context's heap over the host's buffer. */
rly_status bind_tensor(rly_program *p, const char *name, const Tensor *t) {
  Tensor *view = tensor_view(&p->cx->heap, t, t->rank, t->shape, t->strides, 0);
  if (!view) {
    mem_raise_exhausted(p->mem);
    return program_failed(p, RLY_LIMIT);
  }
  bind(p, (Bound){.name = name, .tensor = view, .strict = true});
  return RLY_OK;
}

bool bindable_for(const char *function, const rly_program *p, const char *name,
                  const rly_tensor *t) {
  if (!name || !t || (p && t->cx != p->cx)) {
    misuse(function, !name ? "the name is NULL"
                     : !t  ? "the tensor is NULL"
                           : "the tensor is of another context");
    return false;
  }
  return true;
}

rly_status rly_program_bind_tensor(rly_program *p, const char *name,
                                   const rly_tensor *t) {
  if (!bindable(p, name, t) || !program_enter(p)) return RLY_MISUSE;
  rly_status status = bind_tensor(p, name, &t->tensor);
  program_leave(p);
  return status;
}

/* The length of NAME in `NAME=VALUE`; 0 for a bare value.  `=` must follow at
 * once: "a == b" and "[x=1]" are bare values. */
static size_t name_length(const char *argument) {
  static const char letters[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  if (!*argument || !strchr(letters, *argument)) return 0;
  size_t n = strspn(argument,
                    "abcdefghijklmnopqrstuvwxyz"
                    "ABCDEFGHIJKLMNOPQRSTUVWXYZ_/.0123456789");
  return argument[n] == '=' ? n : 0;
}

/* A file that is named is read now, so that its mistakes are told now. */
static rly_status bind_text(rly_program *p, const char *argument) {
  size_t n = name_length(argument);
  Bound b = {.strict = true, .text = argument};
  if (n) {
    b.name = arena_strndup(&p->arena, argument, n);
    b.text = argument + n + 1;
  }
  if (b.text[0] == '@') {
    b.tensor = array_read(p->cx, b.text + 1);
    if (!b.tensor) return program_failed(p, RLY_REFUSED);
    b.text = NULL;
  }
  bind(p, b);
  return RLY_OK;
}

rly_status rly_program_bind_text(rly_program *p, const char *argument) {
  if (!require(argument, "the argument is NULL") || !program_enter(p))
    return RLY_MISUSE;
  rly_status status = bind_text(p, argument);
  program_leave(p);
  return status;
}

/* --- Looking up --------------------------------------------------------- */

void bound_changed(rly_program *p) {
  ptrmap_done(&p->newest_bound);
  ptrmap_init(&p->newest_bound, p->mem);
  p->indexed = 0;
}

/* 1 + the place of the newest binding of that name, or 0.  A file may hold as
 * many tensors as the program has params, so a table finds them by name; what
 * was bound since it was last asked is added first.  A table that could not
 * grow is given up, and made anew when there is memory again. */
static size_t newest_bound(rly_program *p, const char *name) {
  NameTable *names = &p->cx->names;
  for (; p->indexed < p->bound.len; p->indexed++) {
    const char *of = p->bound.data[p->indexed].name;
    if (of)
      ptrmap_put(&p->newest_bound, name_of(names, of),
                 (void *)(p->indexed + 1));
  }
  size_t found = (size_t)ptrmap_get(&p->newest_bound, name_of(names, name));
  if (mem_exhausted(p->mem)) bound_changed(p);
  return found;
}

Bound *find_bound(rly_program *p, const char *name) {
  size_t found = newest_bound(p, name);
  return found ? &p->bound.data[found - 1] : NULL;
}

bool bound_since(rly_program *p, const char *name, size_t from) {
  return newest_bound(p, name) > from;
}

/* dtype and rank must be equal, where the rank is declared; a dimension counts
 * only where the declaration has a number. */
static bool fits(const Tensor *t, const Type *declared) {
  if (declared->kind != TY_TENSOR || t->dtype != declared->dtype) return false;
  if (declared->any_rank) return true;
  if (t->rank != declared->rank) return false;
  for (int i = 0; i < t->rank; i++)
    if (dim_is_number(declared->dims[i]) &&
        !dim_is(declared->dims[i], t->shape[i]))
      return false;
  return true;
}

static void report_misfit(rly_program *p, const char *name, const Bound *b,
                          const Type *declared, Span at) {
  StrBuf given, wanted;
  strbuf_init(&given, p->ir->mem);
  strbuf_init(&wanted, p->ir->mem);
  tensor_print_type(&given, b->tensor);
  type_print(p->ir->types, &wanted, declared, TYPE_TEXT_PAGE);
  Diag *d = diag_error(p->ir->diags, E0504, SPAN_NONE,
                       "`%s` is declared as %s, but %s is %s", name,
                       strbuf_text(&wanted),
                       b->file ? "its tensor in the file" : "the value given",
                       strbuf_text(&given));
  if (span_exists(at)) diag_note(d, at, "declared here");
  if (b->file) diag_note(d, SPAN_NONE, "the file is %s", b->file);
  strbuf_done(&given);
  strbuf_done(&wanted);
}

static void report_left_out(rly_program *p, const char *name, const Bound *b,
                            Span at) {
  Diag *d = diag_error(p->ir->diags, E0504, SPAN_NONE,
                       "the file's tensor for `%s` cannot be read: %s", name,
                       b->left_out);
  if (span_exists(at)) diag_note(d, at, "declared here");
  diag_note(d, SPAN_NONE, "the file is %s", b->file);
}

/* A text is read when its declaration is known, once: the tensor is kept in the
 * binding. */
const Tensor *bound_tensor(rly_program *p, const char *name,
                           const Type *declared, Span at) {
  Bound *b = find_bound(p, name);
  return b ? bound_fit(p, b, name, declared, at) : NULL;
}

const Tensor *bound_fit(rly_program *p, Bound *b, const char *name,
                        const Type *declared, Span at) {
  DType want =
      declared->kind == TY_TENSOR ? (DType)declared->dtype : DTYPE_NONE;
  if (b->left_out) {
    report_left_out(p, name, b, at);
    return NULL;
  }
  if (!b->tensor) b->tensor = literal_read(p, name, b->text, want);
  if (!b->tensor) return NULL;
  if (fits(b->tensor, declared)) return b->tensor;
  report_misfit(p, name, b, declared, at);
  return NULL;
}
