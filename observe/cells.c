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
 * Cells that differentiated code makes for itself are not followed.
 *
 * A host that evaluates a program step by step may leave a step out, and report
 * what the step did to cells when it was evaluated before (lib/kept.c).  That
 * report must not depend on what other steps do now.  So the cells of each
 * family of steps, which are the steps that may share cells, are numbered on
 * their own; and of each place the first CELLS_MOST cells that each step makes
 * are followed, although only the first CELLS_MOST of all steps are shown. */
#include <stdio.h>
#include <string.h>

#include "observe/observer.h"
#include "value/show.h"

enum { CELLS_MOST = 8, FRAMES_MOST = 64, NODES_MOST = 20 };

typedef VEC(CellHistory *) Histories;

struct Cells {
  Mem *mem;
  VEC(CellMaker *) makers; /* by their first cells */
  PtrMap by_start;         /* the first byte of a place -> its maker */
  PtrMap followed;         /* RefCell -> its CellHistory */
  VEC(Histories) families;
  size_t family; /* of the step at hand */
  StepCells step;
  bool lost; /* memory ran out, so the histories are not whole */
};

/* Each function that adds to the histories ends with this, since the session
 * clears the mark of its memory from call to call. */
static void note_loss(Cells *c) { c->lost |= mem_exhausted(c->mem); }

/* Forgets what the step before did. */
static void begin_step(Cells *c) {
  for (size_t i = 0; i < c->step.makers.len; i++)
    c->step.makers.data[i]->made = 0;
  for (size_t i = 0; i < c->step.cells.len; i++) {
    CellHistory *h = c->step.cells.data[i];
    h->before = h->count;
    h->noted = false;
  }
  VEC_CLEAR(&c->step.makers);
  VEC_CLEAR(&c->step.cells);
}

static bool enter_family(Cells *c, size_t family) {
  while (c->families.len <= family) {
    Histories none;
    VEC_INIT(&none, c->mem);
    size_t before = c->families.len;
    VEC_PUSH(&c->families, none);
    if (c->families.len == before) return false;
  }
  c->family = family;
  return true;
}

Cells *cells_new(Mem *mem) {
  Cells *c = mem_alloc_zeroed(mem, sizeof *c);
  if (!c) return NULL;
  c->mem = mem;
  VEC_INIT(&c->makers, mem);
  VEC_INIT(&c->families, mem);
  VEC_INIT(&c->step.makers, mem);
  VEC_INIT(&c->step.cells, mem);
  ptrmap_init(&c->by_start, mem);
  ptrmap_init(&c->followed, mem);
  if (enter_family(c, 0)) return c;
  cells_free(c);
  return NULL;
}

static void maker_free(Mem *mem, CellMaker *m) {
  for (size_t i = 0; i < m->cells.len; i++) {
    VEC_DONE(&m->cells.data[i]->values);
    mem_free(mem, m->cells.data[i], sizeof *m->cells.data[i]);
  }
  VEC_DONE(&m->cells);
  mem_free(mem, m, sizeof *m);
}

void cells_free(Cells *c) {
  if (!c) return;
  for (size_t i = 0; i < c->makers.len; i++)
    maker_free(c->mem, c->makers.data[i]);
  for (size_t i = 0; i < c->families.len; i++) VEC_DONE(&c->families.data[i]);
  VEC_DONE(&c->makers);
  VEC_DONE(&c->families);
  VEC_DONE(&c->step.makers);
  VEC_DONE(&c->step.cells);
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

static CellMaker *maker_at(Cells *c, Span span) {
  const void *key = (const void *)(uintptr_t)span.lo;
  CellMaker *m = ptrmap_get(&c->by_start, key);
  if (m || !VEC_RESERVE(&c->makers, 1)) return m;
  m = mem_alloc_zeroed(c->mem, sizeof *m);
  if (!m) return mem_raise_exhausted(c->mem), NULL;
  m->place = span;
  VEC_INIT(&m->cells, c->mem);
  ptrmap_put(&c->by_start, key, m);
  VEC_PUSH(&c->makers, m);
  return m;
}

/* The step at hand makes `count` more cells at the place. */
static CellMaker *made_at(Cells *c, Span span, uint64_t count) {
  CellMaker *m = maker_at(c, span);
  if (!m) return NULL;
  if (!m->made) VEC_PUSH(&c->step.makers, m);
  m->made += count;
  m->count += count;
  return m;
}

/* The step at hand makes or changes the cell. */
static void note(Cells *c, CellHistory *h) {
  if (!h->noted) VEC_PUSH(&c->step.cells, h);
  h->noted = true;
}

/* The next of the family.  Its owner is its maker. */
static CellHistory *history_of(Cells *c, CellMaker *m) {
  Histories *family = &c->families.data[c->family];
  if (!VEC_RESERVE(&m->cells, 1) || !VEC_RESERVE(family, 1)) return NULL;
  CellHistory *h = mem_alloc_zeroed(c->mem, sizeof *h);
  if (!h) return mem_raise_exhausted(c->mem), NULL;
  h->maker = m;
  h->number = family->len;
  h->every = 1;
  VEC_INIT(&h->values, c->mem);
  VEC_PUSH(&m->cells, h);
  VEC_PUSH(family, h);
  note(c, h);
  return h;
}

/* Follows the cell, if the step has made few at its place.  Another cell may
 * have stood at the address before. */
static CellHistory *cell_begins(Cells *c, Session *s, const Word *pc,
                                const RefCell *r) {
  ptrmap_remove(&c->followed, r);
  Span span = users_place(s, pc);
  CellMaker *m = span_exists(span) ? made_at(c, span, 1) : NULL;
  if (!m || m->made > CELLS_MOST) return NULL;
  CellHistory *h = history_of(c, m);
  if (!h) return NULL;
  h->type = pc[1].data;
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
  for (size_t i = 0; 2 * i < h->values.len; i++)
    h->values.data[i] = h->values.data[2 * i];
  h->values.len = (h->values.len + 1) / 2;
  h->every *= 2;
}

void cells_hold(Cells *c, Session *s, const Word *pc, const RefCell *r) {
  bool made = pc->op == INS_ref;
  CellHistory *h =
      made ? cell_begins(c, s, pc, r) : ptrmap_get(&c->followed, r);
  note_loss(c);
  if (!h || r->obj.tag) return;
  note(c, h);
  add_content(s, h, r->content);
  if (h->count % h->every == 0) {
    if (h->values.len >= VALUES_MOST) keep_every_second(h);
    if (h->count % h->every == 0) VEC_PUSH(&h->values, h->last);
  }
  h->count++;
  note_loss(c);
}

bool session_each_cell(Session *s,
                       void (*show)(void *data, const CellHistory *h,
                                    uint64_t more),
                       void *data) {
  const Cells *c = s->observer ? watch_of(s)->cells : NULL;
  if (c && c->lost) return false;
  for (size_t i = 0; c && i < c->makers.len; i++) {
    const CellMaker *m = c->makers.data[i];
    size_t shown = m->cells.len < CELLS_MOST ? m->cells.len : CELLS_MOST;
    for (size_t k = 0; k < shown; k++)
      show(data, m->cells.data[k], k + 1 == shown ? m->count - shown : 0);
  }
  return true;
}

/* --- Step by step --------------------------------------------------------- */

void session_cells_begin(Session *s, size_t family) {
  Cells *c = watch_of(s)->cells;
  begin_step(c);
  enter_family(c, family);
  note_loss(c);
}

const StepCells *session_step_cells(const Session *s) {
  const Cells *c = watch_of(s)->cells;
  return c->lost ? NULL : &c->step;
}

CellMaker *session_cells_made(Session *s, Span place, uint64_t count) {
  Cells *c = watch_of(s)->cells;
  CellMaker *m = made_at(c, place, count);
  note_loss(c);
  return m;
}

CellHistory *session_cell(Session *s, CellMaker *maker, size_t number) {
  Cells *c = watch_of(s)->cells;
  const Histories *family = &c->families.data[c->family];
  if (!maker) return number < family->len ? family->data[number] : NULL;
  CellHistory *h = number == family->len ? history_of(c, maker) : NULL;
  note_loss(c);
  return h;
}

static bool is_power_of_two(uint64_t n) { return n && !(n & (n - 1)); }

/* One more of those kept, and the last. */
static void take_content(CellHistory *h, const char *text, size_t len) {
  if (len >= sizeof h->last.text || h->values.len > VALUES_MOST) return;
  h->last = (Content){{0}};
  memcpy(h->last.text, text, len);
  VEC_PUSH(&h->values, h->last);
}

void session_cell_held(Session *s, CellHistory *h, uint64_t count,
                       uint64_t every, const char *lines, size_t len) {
  if (count <= h->count || !is_power_of_two(every) || every < h->every ||
      !len || lines[len - 1] != '\n')
    return;
  note(watch_of(s)->cells, h);
  h->count = count;
  while (h->every < every) keep_every_second(h);
  for (const char *at = lines, *end = lines + len; at < end;) {
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    take_content(h, at, (size_t)(line_end - at));
    at = line_end + 1;
  }
  if (h->values.len) h->values.len--; /* the last content is kept apart */
  note_loss(watch_of(s)->cells);
}
