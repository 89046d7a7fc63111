/* What the loop leaves to functions: calls that need more room, cells beyond
 * two fields, closures, mutable cells.
 *
 * The value stack is a chain of segments, which are never moved: registers are
 * addressed by pointers, and holes (places in cells) likewise.  A call whose
 * window does not fit into the segment gets a new one, and two frames:
 *
 *   frames         ... {back, caller's R} {leave_code + 2, left}   fp
 *   segment 1      [caller's registers | arguments ...]
 *   segment 2      [arguments, the callee's other registers]       R
 *
 * The second frame leads back through instructions that stand in no program:
 * the callee returns into s->left as if that were its caller's registers, and
 * `leave` then pops the segment and hands the result on (vm_leave).  So `ret`
 * needs no check for segments.
 *
 * Segments double from 16 KB to 16 MB.  The largest that was popped is kept
 * (spare), so that a recursion which swings around a segment's end does not
 * allocate at each swing.
 *
 * Frames are one array, which is moved when it grows; nothing points into it
 * but fp, which is reloaded after what may have run a loop (LOAD, pull). */
#include <string.h>

#include "vm/vm.h"

enum {
  SEGMENT_FIRST = (16 << 10) / sizeof(Value),
  SEGMENT_MOST = (16 << 20) / sizeof(Value),
  FRAMES_FIRST = 128,
  FRAMES_SPARE = 4, /* a call in a new segment takes two frames, and one of
                       a rule from within an instruction another */
};

/* Calls that stand in no program: a callee in a new segment returns to them.
 * They take its result into left[0], or its fields into left, and then
 * `leave`. */
static const Word leave_code[3] = {
    {.op = INS_call}, {.word = 0}, {.op = INS_leave}};
static const UnboxedCode leave_unboxed_code[2] = UNBOXED_TO_LEFT(INS_leave);

/* --- Frames ------------------------------------------------------------- */

/* One limit that calls compare with, for three reasons to stop:
 *
 *   frames full       frames + cap - FRAMES_SPARE
 *   depth reached     frames + max_depth + 1
 *   stop asked for    NULL: every call is at or above it
 *
 * stop() (limits.c) sets the flag and then the limit; here the limit is set and
 * then the flag is read.  Whichever comes first, one of the two sees the other,
 * so a request is never lost.  A limit that is there already is not written
 * again, as an atomic write takes as long as ten others. */
void session_set_frame_limit(Session *s) {
  size_t usable = s->frame_cap ? s->frame_cap - FRAMES_SPARE : 0;
  if (usable > s->limits.max_depth) usable = s->limits.max_depth + 1;
  Frame *limit = s->frames + usable;
  if (atomic_load(&s->frame_limit) != limit)
    atomic_store(&s->frame_limit, limit);
  if (atomic_load(&s->store.stop)) atomic_store(&s->frame_limit, NULL);
}

/* mem_resize() may move the frames, so fp is saved as a distance. */
static bool frames_resize(Session *s, size_t cap) {
  size_t used = (size_t)(s->frame_top - s->frames);
  Frame *frames = mem_resize(s->mem, s->frames, s->frame_cap * sizeof *frames,
                             cap * sizeof *frames);
  if (!frames) return false;
  s->stack_bytes += (cap - s->frame_cap) * sizeof *frames; /* may wrap twice */
  s->frames = frames;
  s->frame_top = frames + used;
  s->frame_cap = cap;
  session_set_frame_limit(s);
  return true;
}

/* At least FRAMES_SPARE frames are free afterwards.  The array never grows
 * beyond what the depth limit can use. */
static bool frames_grow(Session *s) {
  uint64_t used = (uint64_t)(s->frame_top - s->frames);
  if (used > s->limits.max_depth) {
    return vm_fault(s, E0702, "recursion too deep: %llu calls",
                    (unsigned long long)s->limits.max_depth);
  }
  if (used + FRAMES_SPARE < s->frame_cap) return true;
  size_t cap = s->frame_cap * 2, more = FRAMES_SPARE + 1;
  if (cap - more > s->limits.max_depth) cap = s->limits.max_depth + more;
  return frames_resize(s, cap) || vm_out_of_memory(s);
}

/* --- Segments ----------------------------------------------------------- */

static size_t segment_bytes(size_t count) {
  return sizeof(Segment) + count * sizeof(Value);
}

/* When memory runs out, cycles are collected once (pool_relieve), for they may
 * be all that fills it. */
static Segment *segment_new(Session *s, size_t least) {
  Segment *spare = s->spare;
  if (spare && spare->count >= least) {
    s->spare = NULL;
    return spare;
  }
  size_t count = s->segment ? s->segment->count * 2 : SEGMENT_FIRST;
  if (count > SEGMENT_MOST) count = SEGMENT_MOST;
  if (count < least) count = least;
  Segment *g = mem_alloc(s->mem, segment_bytes(count));
  if (!g && pool_relieve(&s->store.heap.pool))
    g = mem_alloc(s->mem, segment_bytes(count));
  if (!g) return NULL;
  g->count = count;
  s->stack_bytes += segment_bytes(count);
  return g;
}

static void segment_free(Session *s, Segment *g) {
  if (!g) return;
  s->stack_bytes -= segment_bytes(g->count);
  mem_free(s->mem, g, segment_bytes(g->count));
}

/* The next segment becomes the one in use; NULL when memory runs out. */
static Value *segment_push(Session *s, size_t least) {
  Segment *g = segment_new(s, least);
  if (!g) return NULL;
  g->below = s->segment;
  s->segment = g;
  s->stack_end = g->values + g->count;
  return g->values;
}

/* Back to the one below; the largest is kept for the next time. */
static void segment_pop(Session *s) {
  Segment *g = s->segment;
  s->segment = g->below;
  s->stack_end = g->below ? g->below->values + g->below->count : NULL;
  if (s->spare && s->spare->count >= g->count) {
    segment_free(s, g);
  } else {
    segment_free(s, s->spare);
    s->spare = g;
  }
}

/* malloc places the first segment after the frames, which are half a page, so
 * that a call's frame and its registers differ in the low 12 bits of their
 * addresses.  Else the processor takes a load of one for a load of what was
 * just stored in the other (fib: 8 % slower). */
bool session_stack_init(Session *s) {
  return frames_resize(s, FRAMES_FIRST) && segment_push(s, SEGMENT_FIRST);
}

void session_stack_done(Session *s) {
  while (s->segment) segment_pop(s);
  segment_free(s, s->spare);
  mem_free(s->mem, s->frames, s->frame_cap * sizeof *s->frames);
}

void session_stack_trim(Session *s) {
  frames_resize(s, FRAMES_FIRST);
  segment_free(s, s->spare);
  s->spare = NULL;
}

/* --- Calls -------------------------------------------------------------- */

/* Drops the arguments of a call that will not happen. */
static bool drop_args(Session *s, const Function *f, Value *window) {
  for (uint32_t i = 0; i < f->nparams; i++)
    if (f->params[i] == PARAM_OWNED) obj_drop(&s->store, window[i].obj);
  return false;
}

/* Moves a window that does not fit to a new segment, which the frame on top
 * returns through.  False when memory runs out.  The arguments are copied; the
 * other registers of a window have no value yet. */
static bool move_window(Session *s, const Function *f, Value *window) {
  Value *fresh = segment_push(s, atomic_load(&f->nregs));
  if (!fresh) return vm_out_of_memory(s);
  memcpy(fresh, window, f->nparams * sizeof *fresh);
  const Word *leave =
      f->result_count ? unboxed_code(leave_unboxed_code, f) : leave_code;
  *s->frame_top++ = (Frame){leave + 2, s->left};
  s->regs = fresh;
  return true;
}

static bool fits(const Session *s, const Function *f, const Value *window) {
  return window + atomic_load(&f->nregs) <= s->stack_end;
}

/* Called where ENTER's comparisons failed, with the arguments in `window`.  A
 * call that cannot happen drops its arguments: they have moved, so the caller's
 * list of what is live no longer has them.
 *
 * Where memory for a segment is missing, the caller's frame was pushed already;
 * it is popped again and pc goes back to the call, where unwinding begins. */
bool vm_call(Session *s, Function *f, Value *window, const Word *back) {
  if (atomic_load(&s->store.stop)) {
    vm_stopped(s);
    return drop_args(s, f, window);
  }
  if (!frames_grow(s)) return drop_args(s, f, window);
  *s->frame_top++ = (Frame){back, s->regs};
  s->regs = window;
  s->pc = atomic_load(&f->code);
  if (fits(s, f, window) || move_window(s, f, window)) return true;
  s->frame_top--;
  s->regs = s->frame_top->regs;
  s->pc = back - 2;
  return drop_args(s, f, window);
}

/* The window begins at R, with the arguments at its front.  A new segment here
 * takes one frame: the caller's frame is the one to return to anyway. */
bool vm_tail_call(Session *s, Function *f) {
  Value *window = s->regs;
  if (atomic_load(&s->store.stop)) {
    vm_stopped(s);
    return drop_args(s, f, window);
  }
  s->pc = atomic_load(&f->code);
  if (fits(s, f, window)) return true;
  if (frames_grow(s) && move_window(s, f, window)) return true;
  return drop_args(s, f, window);
}

/* A function's first code is a stub of one instruction, which leads here.
 * Lowering happens under the code's lock; when several sessions come at once,
 * the first one does it.  The stub's window had room for the parameters only,
 * so the question whether the window fits is asked again. */
bool vm_lower(Session *s, Function *f) {
  Code *c = s->code;
  Program *p = c->program;
  bool checks = env_is_dual(f->key.env); /* texts: lower/stretch.c */
  if (checks) p->hold_shared(p, true);
  pthread_mutex_lock(&c->lock);
  bool ok = f->lowered || function_lower(c, f, s->diags);
  pthread_mutex_unlock(&c->lock);
  if (checks) p->hold_shared(p, false);
  if (!ok) {
    s->status = RUN_LIMIT;
    return drop_args(s, f, s->regs);
  }
  s->pc = atomic_load(&f->code);
  if (fits(s, f, s->regs)) return true;
  if (frames_grow(s) && move_window(s, f, s->regs)) return true;
  return drop_args(s, f, s->regs);
}

/* Does what ret, ret2 and ret_unboxed do, from `left` instead of registers. */
void vm_leave(Session *s) {
  segment_pop(s);
  Frame *f = --s->frame_top;
  s->pc = f->pc;
  s->regs = f->regs;
  if (s->pc[-2].op != INS_call_unboxed) {
    s->regs[s->pc[-2].a] = s->left[0];
    return;
  }
  unsigned n = s->pc[-2].c;
  const uint16_t *list = s->pc->regs;
  for (unsigned i = 0; i < n; i++) s->regs[list[i]] = s->left[i];
  s->pc += register_units(n);
}

bool frame_leaves(const Frame *f) {
  return f->pc == leave_code + 2 || f->pc == leave_unboxed_code[0] + 2 ||
         f->pc == leave_unboxed_code[1] + 2;
}

bool session_enter_segment(Session *s, size_t words, size_t frames,
                           Value **window) {
  size_t used = (size_t)(s->frame_top - s->frames);
  size_t wanted = used + frames + 2 * FRAMES_SPARE;
  if (wanted > s->frame_cap && !frames_resize(s, wanted)) return false;
  *window = segment_push(s, words);
  if (*window) *s->frame_top++ = (Frame){leave_code + 2, s->left};
  return *window;
}

/* While unwinding: as vm_leave, without a value. */
void session_leave_segment(Session *s) { segment_pop(s); }

/* --- Cells -------------------------------------------------------------- */

/* A cell with this header and `words` words after it, still to be set; NULL
 * after setting the fault.  A header is eight bytes, written as one word. */
static Cell *cell_of_header(Session *s, uint64_t header, size_t words) {
  Cell *c = pool_alloc(&s->store.heap.pool, sizeof *c + words * sizeof(Value));
  if (!c) {
    vm_out_of_memory(s);
    return NULL;
  }
  memcpy(c, &header, sizeof header);
  return c;
}

/* The listed registers move into the fields. */
static void fill(const Session *s, Value *to, const Word *pc, uint32_t n) {
  const uint16_t *list = ins_list(pc);
  for (uint32_t i = 0; i < n; i++) to[i] = s->regs[list[i]];
}

/* `token` is null at run time where the cell that was to be reused is shared
 * with somebody. */
bool vm_cell(Session *s, const Word *pc, Cell *token) {
  Cell *c = token ? token : cell_of_header(s, pc[1].word, pc->b);
  if (!c) return false;
  if (token) memcpy(c, &pc[1].word, sizeof pc[1].word);
  s->stats.reused += token != NULL;
  fill(s, c->fields, pc, pc->b);
  s->regs[pc->a].cell = c;
  return true;
}

/* Word 1 points to the words that stand before the fields.
 *
 *   [header][n][mask words: (n + 63) / 64][n fields]
 *
 * where n, the number of fields, and the mask are values in front of the fields
 * (tensor/object.h, SIZE_BIG). */
bool vm_big_cell(Session *s, const Word *pc) {
  const uint64_t *words = pc[1].data;
  size_t before = 1 + (pc->b + 63u) / 64;
  Cell *c = cell_of_header(s, words[0], before + pc->b);
  if (!c) return false;
  memcpy(c->fields, words + 1, before * sizeof *words);
  fill(s, c->fields + before, pc, pc->b);
  s->regs[pc->a].cell = c;
  return true;
}

/* Likewise, with null fields, which are filled further on. */
bool vm_far_cell(Session *s, const Word *pc) {
  const uint64_t *words = pc[1].data;
  size_t n = words[1], before = cell_big_offset_of(n);
  Cell *c = cell_of_header(s, words[0], before + n);
  if (!c) return false;
  memcpy(c->fields, words + 1, before * sizeof *words);
  memset(c->fields + before, 0, n * sizeof *c->fields);
  s->regs[pc->a].cell = c;
  return true;
}

/* The list so far is in the register of its end, which is dropped if memory
 * runs out.  For list literals of numbers, which would otherwise take an
 * instruction for each element.  Built from the end, so that each cell is
 * complete when it is made. */
bool vm_cells(Session *s, const Word *pc) {
  const Tensor *t = pc[2].value.tensor;
  Value *rest = &s->regs[pc->b];
  for (int64_t i = tensor_count(t); i-- > 0;) {
    Cell *c = cell_of_header(s, pc[1].word, 2);
    if (!c) return false;
    c->fields[0] = tensor_bits_at(t, i);
    c->fields[1] = *rest;
    rest->cell = c;
  }
  s->regs[pc->a] = *rest;
  return true;
}

/* Field 0 is the function, the others are what it captured. */
bool vm_closure(Session *s, const Word *pc) {
  Cell *c = cell_of_header(s, pc[2].word, 1u + pc->b);
  if (!c) return false;
  c->fields[0].bits = pc[1].word;
  fill(s, c->fields + 1, pc, pc->b);
  s->regs[pc->a].cell = c;
  return true;
}

/* Mutually recursive functions of one group capture the same values: a sibling
 * is the same closure with another function. */
bool vm_sibling(Session *s, const Word *pc) {
  const Cell *from = s->regs[pc->b].cell;
  Obj header = from->obj;
  header.count = 1;
  uint64_t word;
  memcpy(&word, &header, sizeof word);
  Cell *c = cell_of_header(s, word, header.size);
  if (!c) return false;
  c->fields[0].bits = pc[1].word;
  for (unsigned i = 1; i < header.size; i++) {
    c->fields[i] = from->fields[i];
    if (header.mask >> i & 1) obj_keep(c->fields[i].obj);
  }
  s->regs[pc->a].cell = c;
  return true;
}

/* The listed fields stay.  Of an unshared cell the others are dropped, of a
 * shared one those that stay get a reference of their own.  Of a pattern's
 * fields those that the arm uses stay alive, and the cell's own reference to
 * them passes over to the registers.
 *
 *   unshared:  the cell dies; listed fields are now owned by registers,
 *              the others are dropped; its memory is the token, or is freed
 *   shared:    the cell lives on with one reference less; listed fields get
 *              a reference of their own; the token is null */
void vm_open(Session *s, const Word *pc, Value *token) {
  Cell *c = s->regs[pc->a].cell;
  if (token) token->cell = NULL;
  if (!obj_unshared(&c->obj)) {
    if (c->obj.count > 0) c->obj.count--;
    const uint16_t *list = ins_list(pc);
    for (unsigned i = 0; i < pc->b; i++) obj_keep(s->regs[list[i]].obj);
    return;
  }
  unsigned others = c->obj.mask & ~(unsigned)pc[1].word;
  for (unsigned i = 0; i < c->obj.size; i++)
    if (others >> i & 1) obj_drop(&s->store, c->fields[i].obj);
  if (token) {
    c->obj = (Obj){.count = 1, .size = c->obj.size};
    token->cell = c;
  } else {
    pool_free(&s->store.heap.pool, c, cell_bytes(c));
  }
}

/* Only a cell that its own content may lead back to can be part of a cycle;
 * such cells are on a list, and a search begins when the list has grown
 * (value/cycle.c). */
bool vm_ref(Session *s, const Word *pc) {
  Store *store = &s->store;
  if (pc->c & REF_CYCLIC && store->cell_count >= store->cell_threshold)
    cycle_collect(store);
  RefCell *r = ref_new(store, pc->c, s->regs[pc->b]);
  if (!r) return vm_out_of_memory(s);
  s->regs[pc->a].obj = &r->obj;
  return true;
}

enum { COMPACT_LEAST = 4096 }; /* bytes of a buffer; less is worth no copy */

/* A cell may live long, and with it the whole buffer of a view in it.  A view
 * of a small part keeps the whole buffer alive: a list of rows of a large
 * matrix would hold each matrix. */
static bool holds_much(const Tensor *t) {
  size_t whole = t->buffer->size;
  return whole >= COMPACT_LEAST && tensor_bytes(t) < whole / 2;
}

/* Replaces a view that is about to be stored in a cell by a copy of its
 * elements, where that frees at least half of the buffer. */
bool vm_compact(Session *s, const Word *pc) {
  Value v = s->regs[pc->b];
  if (v.obj->size == SIZE_TENSOR && holds_much(v.tensor)) {
    Tensor *copy = tensor_copy(&s->store.heap, v.tensor);
    if (!copy) return vm_out_of_memory(s);
    tensor_drop(&s->store.heap, v.tensor);
    v.tensor = copy;
  }
  s->regs[pc->a] = v;
  return true;
}

/* --- Global values ------------------------------------------------------ */

/* A slot may be undefined although the program was checked: its initialiser
 * failed, was skipped, or belongs to another session. */
bool vm_global(Session *s, const Word *pc) {
  uint64_t slot = pc[1].word;
  if (slot >= s->value_count || !s->values[slot].defined) {
    return vm_fault(s, E0108,
                    "this value was never computed: evaluating it "
                    "has failed, or was left to another session");
  }
  Value v = s->values[slot].value;
  if (pc->b) obj_keep(v.obj);
  s->regs[pc->a] = v;
  return true;
}
