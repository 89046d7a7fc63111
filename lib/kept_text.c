/* Values between two runs, as parts of a text:
 *
 *   s 11                     the skeleton (state/state.h), length
 *   (_, Some(*0))
 *   h 16                     one that others lead to
 *   Cons(#1, Nil())
 *   t 29                     a tensor: name, dtype, rank, dims; its elements
 *   v^.0 float32 1 2
 *   ........
 *
 * The elements are in the machine's order of bytes: the text is for the next
 * run on the same machine, and a part that does not fit is not used. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/kept_text.h"

/* --- Parts ---------------------------------------------------------------- */

void kept_add_part(StrBuf *out, const char *word, const char *text,
                   size_t len) {
  strbuf_addf(out, "%s %zu\n", word, len);
  strbuf_add_len(out, text, len);
  strbuf_add_char(out, '\n');
}

bool kept_next_part(const char **at, const char *end, const char **word,
                    const char **text, size_t *len) {
  const char *line = memchr(*at, '\n', (size_t)(end - *at));
  const char *blank = line ? memchr(*at, ' ', (size_t)(line - *at)) : NULL;
  if (!blank) return false;
  char *stop;
  unsigned long n = strtoul(blank + 1, &stop, 10);
  if (stop != line || n >= (size_t)(end - line - 1) || line[1 + n] != '\n')
    return false;
  *word = *at;
  *text = line + 1;
  *len = n;
  *at = line + 1 + n + 1;
  return true;
}

/* --- Writing -------------------------------------------------------------- */

typedef struct ValueWriter {
  Heap *heap;
  StrBuf *out;
  size_t most; /* of out->len */
} ValueWriter;

/* Takes `t`. */
static bool add_tensor(void *writer, const char *name, Tensor *t) {
  ValueWriter *w = writer;
  bool fits = w->out->len + tensor_bytes(t) < w->most;
  Tensor *whole = fits ? tensor_contiguous(w->heap, t) : NULL;
  tensor_drop(w->heap, t);
  if (!whole) return false;
  StrBuf head;
  strbuf_init(&head, w->heap->mem);
  strbuf_addf(&head, "%s %s %d", name, dtype_name((DType)whole->dtype),
              whole->rank);
  for (int i = 0; i < whole->rank; i++)
    strbuf_addf(&head, " %lld", (long long)whole->shape[i]);
  strbuf_add_char(&head, '\n');
  strbuf_addf(w->out, "t %zu\n", head.len + tensor_bytes(whole));
  strbuf_add_len(w->out, strbuf_text(&head), head.len);
  strbuf_add_len(w->out, whole->data, tensor_bytes(whole));
  strbuf_add_char(w->out, '\n');
  strbuf_done(&head);
  tensor_drop(w->heap, whole);
  return true;
}

/* Memory that runs out here would end a run that it suffices for. */
static bool is_plentiful(const Mem *m) {
  for (; m; m = m->parent)
    if (atomic_load(&m->live) > atomic_load(&m->limit) / 4) return false;
  return true;
}

bool kept_add_value(rly_session *s, const Type *type, Value v, size_t most,
                    StrBuf *out) {
  Arena arena;
  ValueWriter w = {&store_of(s)->heap, out, most};
  StatePacker p = {.session = s->vm,
                   .diags = &s->diags,
                   .arena = &arena,
                   .tensor = add_tensor,
                   .data = &w};
  if (!is_plentiful(s->mem)) return false;
  arena_init(&arena, s->mem);
  VEC_INIT(&p.cells, s->mem);
  VEC_INIT(&p.shared, s->mem);
  bool ok = state_pack_value(&p, "v", type, v);
  for (size_t i = 0; ok && i < p.shared.len; i++)
    kept_add_part(out, "h", p.shared.data[i], strlen(p.shared.data[i]));
  if (ok)
    kept_add_part(out, "s", p.cells.data[0].skeleton,
                  strlen(p.cells.data[0].skeleton));
  VEC_DONE(&p.cells);
  VEC_DONE(&p.shared);
  arena_done(&arena);
  return ok && out->len < most;
}

/* --- Reading -------------------------------------------------------------- */

typedef struct ValueReader {
  rly_session *session;
  TensorFile *file; /* the tensors; its arena has the skeletons */
  PackedCell cell;
  VEC(const char *) shared;
  size_t next; /* the tensor after the one that was looked for last */
} ValueReader;

/* Skeletons name tensors mostly in the order of the text. */
static const Tensor *find_tensor(void *reader, const char *name) {
  ValueReader *r = reader;
  size_t count = r->file->tensors.len;
  for (size_t i = 0; i < count; i++) {
    const NamedTensor *t = &r->file->tensors.data[(r->next + i) % count];
    if (strcmp(t->name, name) != 0) continue;
    r->next += i + 1;
    return t->tensor;
  }
  return NULL;
}

/* Reads `DTYPE RANK DIM...\n`; returns what stands after it, or NULL.  Of
 * `*size`, the elements take. */
static const char *read_form(const char *at, DType *dtype, int *rank,
                             int64_t *shape, size_t *size) {
  size_t n = strcspn(at, " \n");
  *dtype = dtype_find(at, n);
  if (*dtype == DTYPE_NONE || at[n] != ' ') return NULL;
  char *end;
  long long count = strtoll(at + n, &end, 10);
  if (count < 0 || count > RANK_MAX) return NULL;
  *rank = (int)count;
  *size = dtype_size(*dtype);
  for (int i = 0; i < *rank; i++) {
    shape[i] = strtoll(end, &end, 10);
    if (shape[i] < 0 || !size_mul(*size, (size_t)shape[i], size)) return NULL;
  }
  return *end == '\n' ? end + 1 : NULL;
}

/* A part `t`, in the text of which a line ends somewhere. */
static bool read_tensor(ValueReader *r, const char *text, size_t len) {
  Heap *heap = r->file->heap;
  const char *end = text + len, *blank = memchr(text, ' ', len);
  DType dtype;
  int rank;
  int64_t shape[RANK_MAX];
  size_t size;
  if (!blank || !memchr(blank, '\n', (size_t)(end - blank))) return false;
  const char *elements = read_form(blank + 1, &dtype, &rank, shape, &size);
  if (!elements || elements > end || (size_t)(end - elements) != size ||
      !elements_are_valid(heap->stop, dtype, elements, size) ||
      !tensor_file_add_name(r->file, text, (size_t)(blank - text)))
    return false;
  Tensor *t = tensor_new(heap, dtype, rank, shape);
  if (t) memcpy(t->data, elements, size);
  VEC_LAST(&r->file->tensors).tensor = t;
  return t;
}

static bool read_parts(ValueReader *r, const char *at, const char *end) {
  const char *word, *text;
  for (size_t len; kept_next_part(&at, end, &word, &text, &len);) {
    if (*word == 't' && !read_tensor(r, text, len)) return false;
    if (*word == 't') continue;
    const char *skeleton = arena_strndup(&r->file->arena, text, len);
    if (!skeleton) return false;
    if (*word == 's') r->cell = (PackedCell){"v", "", skeleton};
    else VEC_PUSH(&r->shared, skeleton);
  }
  return at == end && r->cell.skeleton;
}

bool kept_value(rly_session *s, const Type *type, const char *text, size_t len,
                Value *out) {
  ValueReader r = {.session = s, .file = tensor_file_new(&store_of(s)->heap)};
  if (!r.file) return false;
  VEC_INIT(&r.shared, s->mem);
  bool ok = read_parts(&r, text, text + len);
  StateUnpacker u = {.session = s->vm,
                     .diags = &s->diags,
                     .label = "",
                     .count = 1,
                     .cells = &r.cell,
                     .shared_count = r.shared.len,
                     .shared = r.shared.data,
                     .tensor = find_tensor,
                     .data = &r};
  ok = ok && state_unpack_value(&u, type, out);
  VEC_DONE(&r.shared);
  tensor_file_free(r.file);
  return ok;
}
