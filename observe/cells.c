/* What cells have held: for each place of the program that makes cells, the
 * contents of the first few of them, from the first content to the last.
 *
 * The place of a cell that the library makes is the call that leads there from
 * the user's text.  A content is kept as text, for the value itself may be
 * overwritten, and holding it would keep operators from computing in place.
 * When VALUES_MOST are kept, every second goes, and from then on only every
 * second is added, so that those which are kept always stand at equal distances
 * and span the run:
 *
 *   contents   0 1 2 3 4 5 6 7 8     kept, of at most four
 *                                    0 1 2 3     every 1
 *                                    0 2 4 6     every 2
 *                                    0 4 8       every 4
 *
 * Cells that differentiated code makes for itself are not followed. */
#include <stdio.h>

#include "observe/observer.h"
#include "value/show.h"

enum { CELLS_MOST = 8, FRAMES_MOST = 64, NODES_MOST = 20 };

/* The cells of one place. */
typedef struct Maker {
  Span span;
  size_t count; /* of the cells, also those that are not followed */
  CellHistory *cells[CELLS_MOST];
} Maker;

struct Cells {
  Mem *mem;
  VEC(Maker *) makers; /* by their first cells */
  PtrMap by_start;     /* the first byte of a place -> its Maker */
  PtrMap followed;     /* RefCell -> its CellHistory */
};

Cells *cells_new(Mem *mem) {
  Cells *c = mem_alloc_zeroed(mem, sizeof *c);
  if (!c) return NULL;
  c->mem = mem;
  VEC_INIT(&c->makers, mem);
  ptrmap_init(&c->by_start, mem);
  ptrmap_init(&c->followed, mem);
  return c;
}

void cells_free(Cells *c) {
  if (!c) return;
  for (size_t i = 0; i < c->makers.len; i++) {
    Maker *m = c->makers.data[i];
    for (size_t k = 0; k < m->count && k < CELLS_MOST; k++)
      mem_free(c->mem, m->cells[k], sizeof *m->cells[k]);
    mem_free(c->mem, m, sizeof *m);
  }
  VEC_DONE(&c->makers);
  ptrmap_done(&c->by_start);
  ptrmap_done(&c->followed);
  mem_free(c->mem, c, sizeof *c);
}

/* --- A new cell ----------------------------------------------------------- */

static bool is_users(const Session *s, Span span) {
  const SourceFile *f =
      span_exists(span) ? sources_file(s->code->program->sources, span) : NULL;
  return f && !f->library;
}

/* The innermost place of the user's text that is being evaluated. */
static Span users_place(Session *s, const Word *pc) {
  Span span = code_place(s->code, pc).span;
  const Frame *f = s->frame_top;
  for (int i = 0; i < FRAMES_MOST && !is_users(s, span); i++) {
    if (--f <= s->frames) return SPAN_NONE; /* the host's has no instruction */
    span = code_place(s->code, f->pc - 2).span;
  }
  return is_users(s, span) ? span : SPAN_NONE;
}

static Maker *maker_at(Cells *c, Span span) {
  const void *key = (const void *)(uintptr_t)span.lo;
  Maker *m = ptrmap_get(&c->by_start, key);
  if (m || !VEC_RESERVE(&c->makers, 1)) return m;
  if (!(m = mem_alloc_zeroed(c->mem, sizeof *m))) return NULL;
  m->span = span;
  ptrmap_put(&c->by_start, key, m);
  VEC_PUSH(&c->makers, m);
  return m;
}

/* Follows the cell, if its place has few.  Another cell may have stood at the
 * address before. */
static CellHistory *cell_begins(Cells *c, Session *s, const Word *pc,
                                const RefCell *r) {
  ptrmap_remove(&c->followed, r);
  Span span = users_place(s, pc);
  Maker *m = span_exists(span) ? maker_at(c, span) : NULL;
  if (!m) return NULL;
  if (m->count >= CELLS_MOST) return m->count++, NULL;
  CellHistory *h = mem_alloc_zeroed(c->mem, sizeof *h);
  if (!h) return NULL;
  h->place = span;
  h->type = pc[1].data;
  h->every = 1;
  m->cells[m->count++] = h;
  ptrmap_put(&c->followed, r, h);
  return h;
}

/* --- A content ------------------------------------------------------------ */

static void add_content(Session *s, CellHistory *h, Value v) {
  StrBuf shown, line;
  strbuf_init(&shown, s->mem);
  strbuf_init(&line, s->mem);
  value_print(&s->store, &shown, h->type, v, 80, 0, NODES_MOST);
  strbuf_add_line(&line, strbuf_text(&shown));
  size_t fits = utf8_fit(strbuf_text(&line), line.len, CONTENT_MOST);
  if (fits > CONTENT_BYTES) fits = 0; /* many marks upon one character */
  snprintf(h->last.text, sizeof h->last.text, "%.*s%s", (int)fits,
           strbuf_text(&line), fits < line.len ? "..." : "");
  strbuf_done(&line);
  strbuf_done(&shown);
}

static void keep_every_second(CellHistory *h) {
  for (size_t i = 0; 2 * i < h->kept; i++) h->values[i] = h->values[2 * i];
  h->kept = (h->kept + 1) / 2;
  h->every *= 2;
}

void cells_hold(Cells *c, Session *s, const Word *pc, const RefCell *r) {
  bool made = pc->op == INS_ref;
  CellHistory *h =
      made ? cell_begins(c, s, pc, r) : ptrmap_get(&c->followed, r);
  if (!h || r->obj.tag) return;
  add_content(s, h, r->content);
  if (h->count % h->every == 0) {
    if (h->kept == VALUES_MOST) keep_every_second(h);
    if (h->count % h->every == 0) h->values[h->kept++] = h->last;
  }
  h->count++;
}

void session_each_cell(Session *s,
                       void (*show)(void *data, const CellHistory *h,
                                    size_t more),
                       void *data) {
  const Cells *c = s->observer ? watch_of(s)->cells : NULL;
  for (size_t i = 0; c && i < c->makers.len; i++) {
    const Maker *m = c->makers.data[i];
    size_t shown = m->count < CELLS_MOST ? m->count : CELLS_MOST;
    for (size_t k = 0; k < shown; k++)
      show(data, m->cells[k], k + 1 == shown ? m->count - shown : 0);
  }
}
