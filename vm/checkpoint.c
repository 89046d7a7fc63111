/* Regions (checkpoint.h): a copy of the machine's state, and the way back to
 * it.
 *
 *   frames    ... | base | of the run ...           top
 *   windows         [of the run's function | its callee's | ... ]
 *
 * The copy is a cell, so that whoever holds a blank of the region holds the
 * state: its fields are a few numbers, then two for each frame, then the words
 * of the windows, of which those are counted that are live (LiveAt), then a
 * list of these.  A register that has two references is live twice, so it is in
 * the list twice; the copy needs one.
 *
 * What may happen once only ends a region: cells that are read or written, and
 * what is printed.  Until the next one begins all records are kept. */
#include "vm/checkpoint.h"

#include <string.h>

#include "base/heap.h"

enum {
  REGION_ORDER,   /* of the last record before it */
  REGION_PC,      /* where to go on */
  REGION_TOP,     /* the word where the last window begins */
  REGION_FRAMES,  /* how many */
  REGION_WORDS,   /* likewise */
  REGION_HELD,    /* references that the words' registers have */
  REGION_COUNTED, /* is the result of the run an object? */
  REGION_MOST,    /* records that may be kept at once; 0: all */
  REGION_EACH,    /* bytes that one takes */
  REGION_FIXED
};

/* Eighths of the tape's memory, of which the pool gives back none: three are
 * for the records that stay, half as much for those of a region, and what is
 * left for the rows that these leave behind. */
enum {
  RECORDS_STAY = 3, /* beyond that regions begin */
  STATES_DENSE = 6, /* beyond that regions grow */
  ROWS_WAIT = 5     /* beyond that rows go when their region is swept */
};

enum {
  LOOK_EVERY = 16,     /* records, from one look at the memory to the next */
  LARGE = 4 << 20,     /* bytes of a tape that pays for a larger heap */
  INTERVAL_LEAST = 16, /* records of a region */
  PARTS_MOST = 16      /* of a region that is divided */
};

/* A sweep that waits for records. */
struct Replay {
  Sweep *sweep;
  VEC(Adjoint *) wanted; /* of blanks, the first in order last */
  size_t base;           /* frames below */
  bool finished;         /* all are found: the rest need not run */
};

uint64_t region_order(const Cell *region) {
  return cell_fields((Cell *)region)[REGION_ORDER].bits;
}

/* --- Taking a state ------------------------------------------------------- */

/* A function's registers, and the instruction that it stands at. */
typedef struct Window {
  const Word *pc;
  const Value *regs;
  CodePlace place;
  size_t first, count; /* of its words in the copy */
} Window;

typedef struct Windows {
  VEC(Window) all;
  size_t words, live; /* of all; references in them, at most */
} Windows;

/* The window's registers, of which those are another's that lie in its outgoing
 * area.  A function that builds its result from the front has the address of a
 * hole: there is no copy of such a state. */
static bool add_window(Session *s, Windows *w, const Word *pc,
                       const Value *regs, bool moved) {
  Window at = {.pc = pc, .regs = regs, .place = code_place(s->code, pc)};
  const Function *f = at.place.function;
  if (!f || f->key.trmc) return false;
  at.count = atomic_load(&f->nregs);
  if (w->all.len) {
    Window *below = &VEC_LAST(&w->all);
    if (!moved) below->count = (size_t)(regs - below->regs);
    at.first = below->first + below->count;
  }
  w->words = at.first + at.count;
  if (at.place.live) w->live += at.place.live->count;
  VEC_PUSH(&w->all, at);
  return true;
}

static bool find_windows(Session *s, size_t base, Windows *w) {
  bool moved = false;
  size_t top = (size_t)(s->frame_top - s->frames);
  for (size_t i = base + 1; i < top; i++) {
    const Frame *f = &s->frames[i];
    if (frame_leaves(f)) moved = true;
    else if (!add_window(s, w, f->pc - 2, f->regs, moved)) return false;
    else moved = false;
  }
  return add_window(s, w, s->pc, s->regs, moved);
}

/* The memory of a cell that died is kept in a register for the next cell, which
 * is written over it: such a token looks like a cell without counted fields. */
static bool may_be_token(const Obj *o) {
  return obj_unshared(o) && o->size <= SIZE_SMALL_MAX && o->mask == 0;
}

static bool copy_token(Session *s, Value from, Value *to) {
  size_t size = cell_bytes(from.cell);
  to->cell = pool_alloc(&s->store.heap.pool, size);
  if (to->cell) memcpy(to->cell, from.cell, size);
  return to->cell;
}

/* A cell that is still being filled (code.def, far_put) has no copy. */
static bool is_unfinished(const Obj *o) {
  if (!obj_unshared(o) || o->size != SIZE_BIG) return false;
  const Cell *c = (const Cell *)o;
  uint64_t n = cell_count(c);
  for (uint64_t i = 0; i < n; i++)
    if (cell_field_counted(c, i) && !cell_fields((Cell *)c)[i].obj) return true;
  return false;
}

/* Callees may have borrowed it. */
static void redirect(Value *words, size_t n, Value from, Value to) {
  for (size_t i = 0; i < n; i++)
    if (words[i].bits == from.bits) words[i] = to;
}

/* One more reference for a copy of the words: to the object, or to its copy. */
static bool hold(Session *s, Value *words, size_t n, size_t i) {
  Value v = words[i], copy;
  if (is_unfinished(v.obj)) return false;
  if (!may_be_token(v.obj)) {
    obj_keep(v.obj);
    return true;
  }
  if (!copy_token(s, v, &copy)) return false;
  redirect(words, n, v, copy);
  return true;
}

/* In the list of what is held: the word, and whether it was listed before. */
static uint64_t held_entry(size_t word, bool again) {
  return (uint64_t)word << 1 | again;
}

static bool fill_words(Session *s, const Windows *w, Cell *r, size_t at) {
  Value *words = cell_fields(r) + at, *list = words + w->words;
  uint64_t *held = &cell_fields(r)[REGION_HELD].u64;
  for (size_t k = 0; k < w->all.len; k++) {
    const Window *from = &w->all.data[k];
    memcpy(words + from->first, from->regs, from->count * sizeof *words);
  }
  for (size_t k = 0; k < w->all.len; k++) {
    const Window *from = &w->all.data[k];
    const LiveAt *live = from->place.live;
    const Function *f = from->place.function;
    for (uint32_t i = 0; live && i < live->count; i++) {
      size_t word = from->first + f->live[live->first + i];
      if (!words[word].obj) continue;
      bool again = cell_field_counted(r, at + word);
      if (!again && !hold(s, words, w->words, word)) return false;
      if (!again) set_field(r, (int)(at + word), words[word]);
      list[(*held)++].u64 = held_entry(word, again);
    }
  }
  return true;
}

/* All but the words; gives the place of these. */
static size_t fill_header(Session *s, const Windows *w, Cell *r,
                          const Word *resume, bool counted) {
  Value *f = cell_fields(r);
  size_t frames = w->all.len - 1, at = REGION_FIXED;
  f[REGION_ORDER].bits = order_at(1, s->record_count);
  f[REGION_PC].bits = (uint64_t)(uintptr_t)resume;
  f[REGION_TOP].bits = VEC_LAST(&w->all).first;
  f[REGION_FRAMES].bits = frames;
  f[REGION_WORDS].bits = w->words;
  f[REGION_HELD].bits = 0;
  f[REGION_COUNTED].bits = counted;
  f[REGION_MOST].bits = s->checkpointing.most;
  f[REGION_EACH].bits = s->checkpointing.each;
  for (size_t i = 0; i < frames; i++) {
    f[at++].bits = (uint64_t)(uintptr_t)(w->all.data[i].pc + 2);
    f[at++].bits = w->all.data[i].first;
  }
  return at;
}

static Cell *copy_windows(Session *s, const Windows *w, const Word *resume,
                          bool counted) {
  size_t all = REGION_FIXED + 2 * (w->all.len - 1) + w->words + w->live;
  Cell *r = all < INT32_MAX ? blank_cell(s, 0, (int)all) : NULL;
  if (!r) return NULL;
  size_t at = fill_header(s, w, r, resume, counted);
  if (fill_words(s, w, r, at)) return r;
  obj_drop(&s->store, &r->obj);
  return NULL;
}

/* The state above the frame `base`, to go on from at `resume`.  NULL: memory
 * ran out, or, which is no fault, there is no copy of it. */
static Cell *region_new(Session *s, size_t base, const Word *resume,
                        bool counted) {
  Windows w = {0};
  VEC_INIT(&w.all, s->mem);
  Cell *r = find_windows(s, base, &w) && !mem_exhausted(s->mem)
                ? copy_windows(s, &w, resume, counted)
                : NULL;
  VEC_DONE(&w.all);
  return r;
}

/* --- When regions begin and end ------------------------------------------- */

static void set_region(Session *s, Cell *region) {
  if (s->checkpointing.region)
    obj_drop(&s->store, &s->checkpointing.region->obj);
  s->checkpointing.region = region;
  s->checkpointing.asked = false;
}

static void look_after(Session *s, uint64_t records) {
  s->checkpointing.next =
      s->limits.tape_memory ? s->record_count + records : UINT64_MAX;
  if (s->checkpointing.replay && s->checkpointing.last < s->checkpointing.next)
    s->checkpointing.next = s->checkpointing.last;
}

/* All but the stack: a deep recursion has it without a tape, too. */
static size_t live_bytes(const Session *s) {
  size_t live = atomic_load(&mem_root(s->mem)->live);
  return live > s->stack_bytes ? live - s->stack_bytes : 0;
}

/* How much the outermost run has added to what was live, beside the stack. */
static size_t tape_size(const Session *s) {
  size_t live = live_bytes(s);
  return live > s->tape_start ? live - s->tape_start : 0;
}

static bool exceeds(const Session *s, int eighths) {
  return tape_size(s) / (size_t)eighths > s->limits.tape_memory / 8;
}

bool checkpoint_is_short(const Session *s) { return exceeds(s, ROWS_WAIT); }

void session_note_tape(Session *s) {
  size_t tape = tape_size(s);
  if (tape > s->stats.tape_bytes) s->stats.tape_bytes = tape;
}

void checkpoint_begin(Session *s, bool counted) {
  s->tape_start = live_bytes(s);
  s->checkpointing = (Checkpointing){.base = (size_t)(s->frame_top - s->frames),
                                     .depth = s->loop_depth,
                                     .counted = counted,
                                     .start = s->record_count,
                                     .wanted = UINT64_MAX};
  look_after(s, LOOK_EVERY);
}

/* Each call of a host comes here twice, and few of them have differentiated
 * anything: what begins to do so sets all else anew.  A step of a loop that
 * failed when it was run again is still entered, though its cache has ended. */
void checkpoint_forget(Session *s) {
  const Checkpointing *a = &s->checkpointing;
  bool rests = a->next == UINT64_MAX && !a->region && !a->replay;
  const LoopCache *loop = &s->loop;
  if (rests && s->dead_count == 0 && !loop->site && !loop->entered) return;
  set_region(s, NULL);
  stretch_forget(s);
  s->checkpointing = (Checkpointing){.next = UINT64_MAX, .wanted = UINT64_MAX};
}

void checkpoint_end(Session *s) {
  s->stats.records += s->record_count - s->checkpointing.start;
  checkpoint_forget(s);
}

/* Ends what is run again, all of whose records are found.  Always false: the
 * loop is left. */
static bool finish(Session *s) {
  struct Replay *r = s->checkpointing.replay;
  r->finished = true;
  vm_unwind_to(s, r->base + 1);
  s->unwound = true;
  return false;
}

/* Is the innermost run one whose tape may be cut? */
static bool has_tape(const Session *s) {
  return s->level == 1 && !level_is_forward(s, 1);
}

static bool is_finished(const Session *s) {
  return s->checkpointing.replay && s->checkpointing.wanted == UINT64_MAX;
}

/* Is a state of so many bytes at most a fourth of what its region saves?  The
 * state has the whole stack: without this a deep recursion would keep more than
 * its tape, and take time that grows with the square of the depth. */
static bool pays(const Session *s, size_t bytes) {
  enum { PAYS = 4 };
  return bytes <= (double)s->checkpointing.interval *
                      (double)s->checkpointing.each / PAYS;
}

/* A frame takes two words of a state, and its registers two or more. */
static size_t least_state(const Session *s) {
  size_t frames = (size_t)(s->frame_top - s->frames) - s->checkpointing.base;
  return frames * 4 * sizeof(Value);
}

/* The state where a region may begin; NULL: there is none, or it does not pay,
 * or memory ran out. */
static Cell *region_here(Session *s) {
  if (!pays(s, least_state(s))) return NULL;
  Cell *region =
      region_new(s, s->checkpointing.base, s->pc, s->checkpointing.counted);
  if (!region || pays(s, cell_bytes(region))) return region;
  obj_drop(&s->store, &region->obj);
  return NULL;
}

/* The records that stay tell by their number how many half as much memory
 * holds: so long are the regions after those.  Where their states fill their
 * share, these get fewer and the regions longer, which their replay divides:
 * where no state pays in it, into regions that grow until one does.  Without a
 * region the records stay, and all frames may have been looked at. */
bool checkpoint_due(Session *s) {
  Checkpointing *a = &s->checkpointing;
  if (is_finished(s)) return finish(s);
  if (!has_tape(s) || s->loop_depth != a->depth || a->asked) return true;
  if (tape_size(s) > LARGE) heap_in_huge_pages();
  if (!a->region && !a->replay && !exceeds(s, RECORDS_STAY)) {
    look_after(s, LOOK_EVERY);
    return true;
  }
  if (!a->most) {
    uint64_t records = s->record_count - a->start;
    a->each = tape_size(s) / (records ? records : 1);
    a->most = records / 2;
    if (a->most < INTERVAL_LEAST) a->most = INTERVAL_LEAST;
    a->interval = a->most;
  }
  if (!a->replay && exceeds(s, STATES_DENSE)) a->interval *= 2;
  stretch_loop_ends(s); /* the state has references to what it continues */
  Cell *region = region_here(s);
  if (!region && mem_exhausted(s->mem)) return vm_out_of_memory(s);
  if (region) set_region(s, region);
  else if (a->replay && a->interval < a->last) a->interval *= 2;
  uint64_t frames = (uint64_t)(s->frame_top - s->frames) - a->base;
  look_after(s, region ? a->interval : LOOK_EVERY + frames);
  return true;
}

bool vm_effect(Session *s) {
  if (is_finished(s)) return finish(s);
  if (!s->checkpointing.region) return true;
  set_region(s, NULL);
  look_after(
      s, s->checkpointing.interval ? s->checkpointing.interval : LOOK_EVERY);
  return true;
}

/* The form's own frame is all of the state.  Within derivatives of derivatives
 * and within a region everything goes on as it did. */
bool vm_again(Session *s, const Word *pc) {
  s->regs[pc->a].bits = 0;
  if (!has_tape(s) || s->checkpointing.region) return true;
  Cell *region =
      region_new(s, (size_t)(s->frame_top - s->frames) - 1, pc + 1, pc->c);
  if (!region) return !mem_exhausted(s->mem) || vm_out_of_memory(s);
  set_region(s, region);
  s->checkpointing.asked = true;
  s->regs[pc->a].cell = region;
  return true;
}

void vm_again_end(Session *s, Cell *region) {
  if (!region || s->checkpointing.region != region) return;
  set_region(s, NULL);
  look_after(s, LOOK_EVERY);
}

/* --- Blanks --------------------------------------------------------------- */

Cell *checkpoint_blank(Session *s, int level, int outs) {
  Cell *r = blank_cell(s, RECORD_BLANK, RECORD_ARGS + 1);
  if (!r) return NULL;
  Value *f = cell_fields(r);
  f[RECORD_ORDER].bits = order_at(level, 0);
  f[RECORD_COUNTS].bits = (uint32_t)outs;
  obj_keep(&s->checkpointing.region->obj);
  set_field(r, RECORD_ARGS, (Value){.cell = s->checkpointing.region});
  return r;
}

/* The sum so far and the products that wait pass over whole, so that all is
 * added up in the order in which it is where every record is kept. */
bool checkpoint_found(Session *s, Cell *record) {
  struct Replay *r = s->checkpointing.replay;
  Adjoint *from = VEC_LAST(&r->wanted), *to = adjoint_of(r->sweep, record);
  if (!to || mem_exhausted(s->mem)) return vm_out_of_memory(s);
  for (int i = 0; i < to->count; i++) {
    to->of[i] = from->of[i];
    from->of[i] = (Part){0};
  }
  r->wanted.len--;
  adjoint_done(r->sweep, from);
  if (r->wanted.len > 0) {
    s->checkpointing.wanted = record_order(VEC_LAST(&r->wanted)->record);
    return true;
  }
  s->checkpointing.wanted = UINT64_MAX;
  s->checkpointing.next = 0;
  return true;
}

/* --- Running a region again ----------------------------------------------- */

/* The references that the region's registers had, for those at `window`. */
static bool hold_words(Session *s, Value *window, const Cell *region) {
  const Value *f = cell_fields((Cell *)region);
  size_t n = f[REGION_WORDS].bits, held = f[REGION_HELD].bits, done = 0;
  const Value *list = f + REGION_FIXED + 2 * f[REGION_FRAMES].bits + n;
  for (; done < held; done++) {
    size_t word = list[done].u64 >> 1;
    if (list[done].u64 & 1) obj_keep(window[word].obj);
    else if (!hold(s, window, n, word)) break;
  }
  if (done == held) return true;
  while (done > 0) obj_drop(&s->store, window[list[--done].u64 >> 1].obj);
  return false;
}

/* The frames and windows of the region, in a segment of their own, which is
 * left through the frames below: at its end the loop halts. */
static bool restore(Session *s, const Word *pc, const Cell *region) {
  const Value *f = cell_fields((Cell *)region);
  size_t frames = f[REGION_FRAMES].bits, n = f[REGION_WORDS].bits;
  const Value *from = f + REGION_FIXED + 2 * frames;
  Value *window = NULL, *regs = s->regs;
  *s->frame_top++ = (Frame){pc + 2, regs};
  *s->frame_top++ = (Frame){s->entry + 2, s->left};
  bool ok = session_enter_segment(s, n, frames, &window);
  if (!ok) {
    s->frame_top -= 2;
    return vm_out_of_memory(s);
  }
  memcpy(window, from, n * sizeof *window);
  if (!hold_words(s, window, region)) {
    session_leave_segment(s);
    s->frame_top -= 3;
    return vm_out_of_memory(s);
  }
  for (size_t i = 0; i < frames; i++) {
    const Value *frame = f + REGION_FIXED + 2 * i;
    *s->frame_top++ =
        (Frame){(const Word *)(uintptr_t)frame[0].bits, window + frame[1].bits};
  }
  s->regs = window + f[REGION_TOP].bits;
  stretch_loop_ends(s);
  s->pc = (const Word *)(uintptr_t)f[REGION_PC].bits;
  return true;
}

static uint64_t span_to(const Cell *region, uint64_t last) {
  return last - region_order(region);
}

/* May what is to be run again be kept at once? */
static bool is_whole(const Cell *region, uint64_t last) {
  uint64_t most = cell_fields((Cell *)region)[REGION_MOST].bits;
  return !most || span_to(region, last) <= 2 * most;
}

/* A region that is longer than what may be kept at once begins regions of its
 * own, the first at its first operator. */
static void plan(Session *s, const Cell *region, uint64_t last) {
  uint64_t span = span_to(region, last);
  Checkpointing *a = &s->checkpointing;
  a->last = order_number(last);
  a->next = a->last;
  if (is_whole(region, last)) return;
  a->most = cell_fields((Cell *)region)[REGION_MOST].bits;
  a->each = cell_fields((Cell *)region)[REGION_EACH].bits;
  a->interval = a->most > span / PARTS_MOST ? a->most : span / PARTS_MOST;
  a->next = 0;
}

/* The blanks of the region: of what is to be swept, all that came after its
 * beginning.  The first in order is the last here. */
static bool take_wanted(struct Replay *r, const Cell *region) {
  Sweep *w = r->sweep;
  uint64_t begins = region_order(region);
  while (w->heap.len && record_order(sweep_top(w)->record) > begins &&
         VEC_RESERVE(&r->wanted, 1))
    VEC_PUSH(&r->wanted, sweep_pop(w));
  return r->wanted.len && !mem_exhausted(w->s->mem);
}

static bool replay(struct Replay *r, const Cell *region, uint64_t last) {
  Session *s = r->sweep->s;
  const Value *f = cell_fields((Cell *)region);
  s->checkpointing =
      (Checkpointing){.replay = r,
                      .base = r->base + 2,
                      .depth = ++s->loop_depth,
                      .counted = f[REGION_COUNTED].bits,
                      .wanted = record_order(VEC_LAST(&r->wanted)->record)};
  plan(s, region, last);
  s->record_count = s->checkpointing.start = order_number(f[REGION_ORDER].bits);
  s->level = r->sweep->level;
  s->runs[s->level] = r->sweep->run;
  if (!restore(s, r->sweep->pc, region)) return false;
  bool ran = session_loop(s);
  session_note_tape(s);
  if (ran && s->checkpointing.counted) obj_drop(&s->store, s->left[0].obj);
  if (!ran && r->finished) s->unwound = false;
  s->stats.recomputed += s->record_count - s->checkpointing.start;
  return ran || r->finished;
}

/* A replay that has begun no region but one where its own begins, since no
 * later state pays, has not divided it: what is swept next is all of it again,
 * of which every record is then kept. */
static void note_undivided(const Session *s, const Cell *region) {
  Cell *again = s->checkpointing.region;
  if (again && region_order(again) == region_order(region))
    cell_fields(again)[REGION_MOST].bits = 0;
}

/* Runs from the region's state until all that is wanted is found, of which
 * `last` is the latest one's order; the machine is then what it was. */
static bool run_region(struct Replay *r, const Cell *region, uint64_t last) {
  Session *s = r->sweep->s;
  Checkpointing outer = s->checkpointing;
  int level = s->level, depth = s->loop_depth;
  uint64_t count = s->record_count, run = s->runs[r->sweep->level];
  Value *regs = s->regs;
  bool ok = replay(r, region, last);
  note_undivided(s, region);
  set_region(s, NULL);
  s->checkpointing = outer;
  s->loop_depth = depth;
  s->level = level;
  s->runs[r->sweep->level] = run;
  s->record_count = count;
  stretch_loop_ends(s);
  if (!ok) return false;
  s->frame_top = s->frames + r->base;
  s->regs = regs;
  s->pc = r->sweep->pc;
  return true;
}

bool sweep_again(Sweep *w) {
  Session *s = w->s;
  struct Replay r = {.sweep = w, .base = (size_t)(s->frame_top - s->frames)};
  VEC_INIT(&r.wanted, s->mem);
  Cell *latest = sweep_top(w)->record;
  uint64_t last = record_order(latest);
  Cell *region = cell_fields(latest)[RECORD_ARGS].cell;
  obj_keep(&region->obj);
  bool ok = take_wanted(&r, region) || vm_out_of_memory(s);
  if (ok && is_whole(region, last))
    ok = swept_begin(w, region, r.wanted.len, r.wanted.data);
  ok = ok && run_region(&r, region, last);
  if (!ok) checkpoint_forget(s);
  while (r.wanted.len > 0) adjoint_done(w, VEC_POP(&r.wanted));
  VEC_DONE(&r.wanted);
  obj_drop(&s->store, &region->obj);
  return ok;
}
