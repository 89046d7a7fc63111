/* Values side by side, with a stack of their own: a frame is one place in all
 * of them.  The rest of a list takes the place of the list, so that a long one
 * needs one frame. */
#include "value/structure.h"

#include <string.h>

typedef struct Frame {
  Looked at;
  int next;      /* the field that is looked at next */
  int64_t index; /* of a list's element */
} Frame;

typedef struct Walk {
  const PartFns *fns;
  int n;
  VEC(Frame) frames;
  VEC(Part) parts; /* n for each frame, and n for the field at hand */
  StrBuf *text;
} Walk;

/* Is it the link of a list, an element and the rest? */
static bool is_link(const Looked *at) {
  if (at->kind != PART_DATA || at->ctor->field_count != 2) return false;
  const Adt *adt = at->ctor->adt;
  const Type *rest = at->ctor->fields[1];
  return adt->ctor_count == 2 && ctor_nil(at->ctor)->field_count == 0 &&
         rest->kind == TY_ADT && rest->adt == adt;
}

/* Is the field at hand the rest of a list? */
static bool is_rest(const Frame *f) { return f->next == 2 && is_link(&f->at); }

static bool same(const Looked *a, const Looked *b) {
  if (a->kind != b->kind || a->count != b->count) return false;
  if (a->kind == PART_DATA)
    return a->ctor->tag == b->ctor->tag && a->ctor->name == b->ctor->name;
  return a->kind != PART_FLOATS || shapes_equal(a->tensor, b->tensor);
}

/* --- The message ---------------------------------------------------------- */

static void add_place(StrBuf *out, const Frame *f) {
  const FieldName *labels = f->at.kind == PART_DATA ? f->at.ctor->labels : NULL;
  int i = f->next - 1;
  if (is_link(&f->at)) strbuf_addf(out, "[%lld]", (long long)(f->index + i));
  else if (labels && labels[i].name)
    strbuf_addf(out, ".%s", labels[i].name->text);
  else strbuf_addf(out, ".%d", i);
}

static void add_look(StrBuf *out, const Looked *at) {
  if (at->kind == PART_DATA) strbuf_add(out, at->ctor->name->text);
  else if (at->kind == PART_FLOATS)
    shape_print(out, at->tensor->rank, at->tensor->shape);
  else if (at->kind == PART_TUPLE) strbuf_addf(out, "a tuple of %d", at->count);
  else strbuf_add(out, "another type");
}

/* Value `k` differs from the first; the field is in the topmost frame. */
static void say(Walk *w, const Looked *first, const Looked *other, int k) {
  strbuf_add(w->text, "the values differ in structure");
  if (w->frames.len) strbuf_add(w->text, " at ");
  for (size_t i = 0; i < w->frames.len; i++)
    add_place(w->text, &w->frames.data[i]);
  strbuf_add(w->text, ": ");
  add_look(w->text, first);
  strbuf_add(w->text, " in value 1, ");
  add_look(w->text, other);
  strbuf_addf(w->text, " in value %d", k + 1);
}

/* --- The walk ------------------------------------------------------------- */

/* Looks at the n parts on top.  False after a difference was said. */
static bool agree(Walk *w, Looked *first) {
  const Part *parts = w->parts.data + w->parts.len - w->n;
  w->fns->look(w->fns->data, parts[0], first);
  for (int k = 1; k < w->n; k++) {
    Looked other;
    w->fns->look(w->fns->data, parts[k], &other);
    if (same(first, &other)) continue;
    say(w, first, &other, k);
    return false;
  }
  return true;
}

/* The parts on top become a frame, or take the place of the frame below. */
static void enter(Walk *w, const Looked *at) {
  size_t n = (size_t)w->n;
  Frame *top = w->frames.len ? &VEC_LAST(&w->frames) : NULL;
  if (!top || !is_rest(top)) {
    VEC_PUSH(&w->frames, (Frame){.at = *at});
    return;
  }
  Part *parts = w->parts.data + w->parts.len - n;
  memcpy(parts - n, parts, n * sizeof *parts);
  w->parts.len -= n;
  *top = (Frame){.at = *at, .index = top->index + 1};
}

static bool walk(Walk *w) {
  size_t n = (size_t)w->n;
  Looked at;
  if (!agree(w, &at)) return false;
  enter(w, &at);
  while (w->frames.len && !atomic_load(w->fns->stop)) {
    Frame *top = &VEC_LAST(&w->frames);
    if (top->next == top->at.count) {
      w->frames.len--;
      w->parts.len -= n;
      continue;
    }
    int i = top->next++;
    if (!VEC_RESERVE(&w->parts, n)) return false;
    for (size_t k = 0; k < n; k++) {
      Part whole = w->parts.data[w->parts.len - n];
      VEC_PUSH(&w->parts, w->fns->field(w->fns->data, whole, i));
    }
    if (!agree(w, &at)) return false;
    if (at.count) enter(w, &at);
    else w->parts.len -= n;
  }
  return w->frames.len == 0;
}

bool structures_agree(Mem *mem, const PartFns *fns, int n, const Part *values,
                      StrBuf *text) {
  Walk w = {.fns = fns, .n = n, .text = text};
  VEC_INIT(&w.frames, mem);
  VEC_INIT(&w.parts, mem);
  bool same = true;
  for (int k = 0; k < n; k++) VEC_PUSH(&w.parts, values[k]);
  if (n > 0) same = walk(&w);
  VEC_DONE(&w.frames);
  VEC_DONE(&w.parts);
  return same && !mem_exhausted(mem);
}
