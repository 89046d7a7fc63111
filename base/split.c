/* Pieces of stack, and the way from one to the next and back (split.h says
 * why).
 *
 * A piece is a block of a Mem with a context of ucontext.h, which keeps the
 * signal mask:
 *
 *   low  [SplitPiece | ................ stack grows down <- ]  high
 *
 * getcontext() and makecontext() prepare a context whose stack is the piece;
 * setcontext() goes there, and when `enter` returns, uc_link leads back.  A
 * switch costs a few system calls, as it saves the signal mask, once for each
 * half megabyte of recursion.
 *
 * A deep stack is such a piece, too, but for its size, and the program as a
 * whole runs on it.
 *
 * The sanitizers are told, for they have notes of their own on each stack.  The
 * last piece that was left is kept: recursion that swings around its end would
 * otherwise allocate at each swing. */
#include "base/split.h"

#include <sys/mman.h>
#include <ucontext.h>

#if SANITIZER_THREAD
#include <sanitizer/tsan_interface.h>
#endif
#if SANITIZER_ADDRESS
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

/* Lies at the low end of its memory; the stack grows down towards it. */
struct SplitPiece {
  size_t size; /* of the memory */
  ucontext_t here, back;
  void (*run)(void *arg);
  void *arg;
  const void *back_low; /* the stack that it was called from */
  size_t back_size;
  void *fiber, *back_fiber;
};

static char *piece_low(SplitPiece *p) { return (char *)(p + 1); }

static size_t piece_size(const SplitPiece *p) {
  return p->size - sizeof(SplitPiece);
}

/* --- Sanitizers ----------------------------------------------------------- */

/* After the leaving of a stack by _leave comes, on the other, _arrive. */

static void leave_caller(SplitPiece *p, void **kept) {
#if SANITIZER_ADDRESS
  __sanitizer_start_switch_fiber(kept, piece_low(p), piece_size(p));
#endif
#if SANITIZER_THREAD
  p->back_fiber = __tsan_get_current_fiber();
  p->fiber = __tsan_create_fiber(0);
  __tsan_switch_to_fiber(p->fiber, 0);
#endif
  (void)p, (void)kept;
}

static void arrive_in_piece(SplitPiece *p) {
#if SANITIZER_ADDRESS
  __sanitizer_finish_switch_fiber(NULL, &p->back_low, &p->back_size);
#endif
  (void)p;
}

static void leave_piece(SplitPiece *p) {
#if SANITIZER_ADDRESS
  __sanitizer_start_switch_fiber(NULL, p->back_low, p->back_size);
#endif
#if SANITIZER_THREAD
  __tsan_switch_to_fiber(p->back_fiber, 0);
#endif
  (void)p;
}

static void arrive_in_caller(SplitPiece *p, void *kept) {
#if SANITIZER_ADDRESS
  __sanitizer_finish_switch_fiber(kept, NULL, NULL);
  /* of a deep stack only the first frames, which never returned */
  size_t size = piece_size(p) < SPLIT_PIECE ? piece_size(p) : SPLIT_PIECE;
  __asan_unpoison_memory_region((char *)p + p->size - size, size);
#endif
#if SANITIZER_THREAD
  __tsan_destroy_fiber(p->fiber);
#endif
  (void)p, (void)kept;
}

/* --- Pieces --------------------------------------------------------------- */

/* A context's function takes ints: the piece's address comes in halves. */
static void enter(unsigned high, unsigned low) {
  SplitPiece *p = (SplitPiece *)((uintptr_t)high << 32 | low);
  arrive_in_piece(p);
  p->run(p->arg);
  leave_piece(p);
}

/* False only when the system refuses a context.  getcontext() returns a second
 * time when the piece is left.  swapcontext() would do both in one call, but
 * the address sanitizer warns of every program that calls it. */
static bool go(SplitPiece *p) {
  if (getcontext(&p->here) != 0) return false;
  p->here.uc_stack = (stack_t){.ss_sp = piece_low(p), .ss_size = piece_size(p)};
  p->here.uc_link = &p->back;
  uint64_t at = (uintptr_t)p;
  makecontext(&p->here, (void (*)(void))enter, 2, (unsigned)(at >> 32),
              (unsigned)at);
  void *kept = NULL;
  volatile bool gone = false;
  if (getcontext(&p->back) != 0) return false;
  if (!gone) {
    gone = true;
    leave_caller(p, &kept);
    if (setcontext(&p->here) != 0) gone = false;
  }
  arrive_in_caller(p, kept);
  return gone;
}

/* --- Deep stacks ---------------------------------------------------------- */

/* Address space is taken, and no memory: the system gives a page when it is
 * first touched.  Where so much cannot be had, half of it may do.  The
 * sanitizers keep notes of each byte. */
enum { DEEP_LEAST = 16 << 20 };
static const size_t deep_most = SANITIZER_THREAD    ? (size_t)256 << 20
                                : SANITIZER_ADDRESS ? (size_t)16 << 30
                                                    : (size_t)64 << 30;

static SplitPiece *deep_map(void) {
  for (size_t size = deep_most; size >= DEEP_LEAST; size /= 2) {
    void *at =
        mmap(NULL, size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (at == MAP_FAILED) continue;
#ifdef MADV_NOHUGEPAGE
    madvise(at, size, MADV_NOHUGEPAGE);
#endif
    SplitPiece *p = at;
    p->size = size;
    return p;
  }
  return NULL;
}

typedef struct DeepCall {
  SplitPiece *stack;
  void (*run)(const SplitPiece *stack, void *arg);
  void *arg;
} DeepCall;

static void run_deep(void *call) {
  DeepCall *c = call;
  c->run(c->stack, c->arg);
}

void split_deep(void (*run)(const SplitPiece *stack, void *arg), void *arg) {
  SplitPiece *p = deep_map();
  DeepCall call = {p, run, arg};
  if (p) {
    p->run = run_deep;
    p->arg = &call;
  }
  if (!p || !go(p)) run(NULL, arg);
  if (p) munmap(p, p->size);
}

static uintptr_t deep_high(const SplitPiece *p) {
  return (uintptr_t)p + p->size;
}

static bool deep_holds(const SplitPiece *p, uintptr_t here) {
  return p && here > (uintptr_t)p && here < deep_high(p);
}

/* Enters in the books that the stack may be used down to so many bytes for
 * recursion and so many for levels.  What was touched stays with the process,
 * so it stays in the books. */
static bool deep_take(Mem *m, size_t split, size_t levels) {
  Mem *root = mem_root(m);
  size_t room = piece_size(root->stack) - SPLIT_RESERVE;
  if (split < root->stack_split) split = root->stack_split;
  if (levels < root->stack_levels) levels = root->stack_levels;
  size_t more = split - root->stack_split + (levels - root->stack_levels);
  if (split > room || levels > room - split || !mem_hold(root, more)) {
    mem_raise_exhausted(m);
    return false;
  }
  root->stack_split = split;
  root->stack_levels = levels;
  return true;
}

bool split_more_levels(Mem *m, size_t levels) {
  if (!mem_root(m)->stack) return false;
  size_t held = mem_root(m)->stack_levels, wanted;
  if (!size_mul(levels, SPLIT_LEVEL, &wanted)) return false;
  /* some at once, so that the books are not asked for each */
  return wanted <= held || deep_take(m, 0, wanted + SPLIT_STEP);
}

void split_settle(Mem *root) {
  mem_let_go(root, root->stack_split + root->stack_levels);
  root->stack_split = root->stack_levels = 0;
}

/* --- Recursion ------------------------------------------------------------ */

/* A stack that is not deep is the host's, of unknown size: so only SPLIT_FIRST
 * bytes of it are used. */
void split_start(SplitStack *s, Mem *mem) {
  uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  *s = (SplitStack){.mem = mem,
                    .low = here - SPLIT_FIRST,
                    .deep = deep_holds(mem_root(mem)->stack, here)};
}

/* On a deep stack the recursion goes on where it is. */
static bool call_deeper(SplitStack *s, void (*run)(void *arg), void *arg) {
  uintptr_t low = s->low, high = deep_high(mem_root(s->mem)->stack);
  if (!deep_take(s->mem, high - low + SPLIT_STEP, 0)) return false;
  s->low -= SPLIT_STEP;
  run(arg);
  s->low = low;
  return true;
}

void split_end(SplitStack *s) {
  mem_free(s->mem, s->spare, s->spare ? SPLIT_PIECE : 0);
  s->spare = NULL;
}

/* s->low is the address below which the new piece is used up: SPLIT_RESERVE
 * above its end, for what a step may take. */
bool split_call(SplitStack *s, void (*run)(void *arg), void *arg) {
  if (s->deep) return call_deeper(s, run, arg);
  SplitPiece *p = s->spare ? s->spare : mem_alloc(s->mem, SPLIT_PIECE);
  s->spare = NULL;
  if (!p) {
    mem_raise_exhausted(s->mem);
    return false;
  }
  p->size = SPLIT_PIECE;
  p->run = run;
  p->arg = arg;
  uintptr_t low = s->low;
  s->low = (uintptr_t)piece_low(p) + SPLIT_RESERVE;
  bool gone = go(p);
  s->low = low;
  split_end(s);
  s->spare = p;
  if (!gone) mem_raise_exhausted(s->mem);
  return gone;
}
