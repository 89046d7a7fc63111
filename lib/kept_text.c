/* The value of a step, as parts of the text that a run leaves to the next.  It
 * is packed as a cell's content is (state/state.h); a part has a letter, its
 * length, and so many bytes:
 *
 *   t 25                     a tensor: name, dtype, rank, dims, a newline;
 *   v^.0 float32 1 2         then its elements
 *   ........
 *   h 13                     the skeleton of an object that is shared
 *   Cons(#1, Nil)
 *   s 13                     the skeleton of the value
 *   (_, Some(*0))
 *
 * Elements are in the byte order of the machine, as the text is for the next
 * run on it.  Another program may have written the text: the reader checks all
 * that it takes from it. */
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
  strbuf_init(&head, w->out->mem);
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

/* Is less than a quarter of each limit in use?  Packing takes several times the
 * value's bytes for a moment. */
static bool is_plentiful(const Mem *m) {
  for (; m; m = m->parent)
    if (atomic_load(&m->live) > atomic_load(&m->limit) / 4) return false;
  return true;
}

bool kept_add_value(rly_session *s, const Type *type, Value v, size_t most,
                    StrBuf *out) {
  Arena arena;
  Mem mem = mem_local(s->mem);
  ValueWriter w = {&store_of(s)->heap, out, most};
  StatePacker p = {.session = s->vm,
                   .mem = &mem,
                   .diags = &s->diags,
                   .arena = &arena,
                   .tensor = add_tensor,
                   .data = &w,
                   .most = most};
  if (!is_plentiful(s->mem)) return false;
  arena_init(&arena, &mem);
  VEC_INIT(&p.cells, &mem);
  VEC_INIT(&p.shared, &mem);
  VEC_INIT(&p.ctors, &mem);
  bool ok = state_pack_value(&p, "v", type, v);
  for (size_t i = 0; ok && i < p.shared.len; i++)
    kept_add_part(out, "h", p.shared.data[i], strlen(p.shared.data[i]));
  if (ok)
    kept_add_part(out, "s", p.cells.data[0].skeleton,
                  strlen(p.cells.data[0].skeleton));
  VEC_DONE(&p.cells);
  VEC_DONE(&p.shared);
  VEC_DONE(&p.ctors);
  arena_done(&arena);
  return ok && out->len < most;
}

/* --- Reading -------------------------------------------------------------- */

typedef struct ValueReader {
  Heap *heap;
  Arena arena; /* the names and skeletons */
  PackedCell cell;
  VEC(const char *) shared;
  VEC(NamedTensor) tensors; /* owned; sorted by name once all are read */
} ValueReader;

static const Tensor *find_tensor(void *reader, const char *name) {
  const ValueReader *r = reader;
  return named_tensors_find(r->tensors.data, r->tensors.len, name);
}

/* Reads a blank and a number of 0 or more; returns what stands after it, or
 * NULL. */
static const char *read_number(const char *at, int64_t *number) {
  if (!at || at[0] != ' ' || at[1] < '0' || at[1] > '9') return NULL;
  char *end;
  *number = strtoll(at + 1, &end, 10);
  return end;
}

typedef struct Form {
  DType dtype;
  int rank;
  int64_t shape[RANK_MAX];
  size_t size; /* of the elements */
} Form;

/* Reads `DTYPE RANK DIM...\n`; returns what stands after it, or NULL. */
static const char *read_form(const char *at, Form *f) {
  size_t n = strcspn(at, " \n");
  int64_t rank = 0;
  f->dtype = dtype_find(at, n);
  at = f->dtype == DTYPE_NONE ? NULL : read_number(at + n, &rank);
  if (!at || rank > RANK_MAX) return NULL;
  f->rank = (int)rank;
  f->size = dtype_size(f->dtype);
  for (int i = 0; i < f->rank; i++) {
    at = read_number(at, &f->shape[i]);
    if (!at || !size_mul(f->size, (size_t)f->shape[i], &f->size)) return NULL;
  }
  return *at == '\n' ? at + 1 : NULL;
}

/* Reads a part `t`. */
static bool read_tensor(ValueReader *r, const char *text, size_t len) {
  const char *end = text + len, *blank = memchr(text, ' ', len);
  const char *line = blank ? memchr(blank, '\n', (size_t)(end - blank)) : NULL;
  Form f;
  const char *elements = line ? read_form(blank + 1, &f) : NULL;
  if (!elements || (size_t)(end - elements) != f.size ||
      !elements_are_valid(r->heap->stop, f.dtype, elements, f.size))
    return false;
  const char *name = arena_strndup(&r->arena, text, (size_t)(blank - text));
  if (!name || !VEC_RESERVE(&r->tensors, 1)) return false;
  Tensor *t = tensor_new(r->heap, f.dtype, f.rank, f.shape);
  if (!t) return false;
  memcpy(t->data, elements, f.size);
  VEC_PUSH(&r->tensors, (NamedTensor){name, t});
  return true;
}

static bool read_part(ValueReader *r, char kind, const char *text, size_t len) {
  if (kind == 't') return read_tensor(r, text, len);
  const char *skeleton = arena_strndup(&r->arena, text, len);
  if (!skeleton) return false;
  if (kind == 's') r->cell = (PackedCell){"v", "", skeleton};
  else VEC_PUSH(&r->shared, skeleton);
  return true;
}

static bool read_parts(ValueReader *r, const char *at, const char *end) {
  const char *word, *text;
  for (size_t len; kept_next_part(&at, end, &word, &text, &len);)
    if (!read_part(r, *word, text, len)) return false;
  named_tensors_sort(r->tensors.data, r->tensors.len);
  return at == end && r->cell.skeleton;
}

bool kept_value(rly_session *s, const Type *type, const char *text, size_t len,
                Value *out) {
  Mem mem = mem_local(s->mem);
  ValueReader r = {.heap = &store_of(s)->heap};
  arena_init(&r.arena, &mem);
  VEC_INIT(&r.shared, &mem);
  VEC_INIT(&r.tensors, &mem);
  bool ok = read_parts(&r, text, text + len) && !mem_exhausted(&mem);
  StateUnpacker u = {.session = s->vm,
                     .mem = &mem,
                     .diags = &s->diags,
                     .label = "",
                     .count = 1,
                     .cells = &r.cell,
                     .shared_count = r.shared.len,
                     .shared = r.shared.data,
                     .tensor = find_tensor,
                     .data = &r};
  ok = ok && state_unpack_value(&u, type, out);
  for (size_t i = 0; i < r.tensors.len; i++)
    tensor_drop(r.heap, r.tensors.data[i].tensor);
  VEC_DONE(&r.tensors);
  VEC_DONE(&r.shared);
  arena_done(&r.arena);
  return ok;
}
