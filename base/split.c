/* Pieces of stack, and the way from one to the next and back (split.h says
 * why).
 *
 * A piece is a block of a Mem with a context of ucontext.h, which keeps the
 * signal mask:
 *
 *   low  [SplitPiece | ................ stack grows down <- ]  high
 *
 * getcontext() and makecontext() prepare a context whose stack is the piece;
 * swapcontext() goes there, and when `enter` returns, uc_link leads back.  A
 * switch costs a few system calls, as it saves the signal mask, once for each
 * half megabyte of recursion.
 *
 * The sanitizers are told, for they have notes of their own on each stack.  The
 * last piece that was left is kept: recursion that swings around its end would
 * otherwise allocate at each swing. */
#include "base/split.h"

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
  ucontext_t here, back;
  void (*run)(void *arg);
  void *arg;
  const void *back_low; /* the stack that it was called from */
  size_t back_size;
  void *fiber, *back_fiber;
};

static char *piece_low(SplitPiece *p) { return (char *)(p + 1); }

static size_t piece_size(void) { return SPLIT_PIECE - sizeof(SplitPiece); }

/* --- Sanitizers ----------------------------------------------------------- */

/* Behind the leaving of a stack by _leave comes, on the other, _arrive. */

static void leave_caller(SplitPiece *p, void **kept) {
#if SANITIZER_ADDRESS
  __sanitizer_start_switch_fiber(kept, piece_low(p), piece_size());
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
  __asan_unpoison_memory_region(piece_low(p), piece_size());
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

/* False only when the system refuses a context. */
static bool go(SplitPiece *p) {
  if (getcontext(&p->here) != 0) return false;
  p->here.uc_stack = (stack_t){.ss_sp = piece_low(p), .ss_size = piece_size()};
  p->here.uc_link = &p->back;
  uint64_t at = (uintptr_t)p;
  makecontext(&p->here, (void (*)(void))enter, 2, (unsigned)(at >> 32),
              (unsigned)at);
  void *kept = NULL;
  leave_caller(p, &kept);
  bool gone = swapcontext(&p->back, &p->here) == 0;
  arrive_in_caller(p, kept);
  return gone;
}

/* The first stack is the host's, of unknown size: so only SPLIT_FIRST bytes of
 * it are used. */
void split_start(SplitStack *s, Mem *mem) {
  uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  *s = (SplitStack){.mem = mem, .low = here - SPLIT_FIRST};
}

void split_end(SplitStack *s) {
  mem_free(s->mem, s->spare, s->spare ? SPLIT_PIECE : 0);
  s->spare = NULL;
}

/* s->low is the address below which the new piece is used up: SPLIT_RESERVE
 * above its end, for what a step may take. */
bool split_call(SplitStack *s, void (*run)(void *arg), void *arg) {
  SplitPiece *p = s->spare ? s->spare : mem_alloc(s->mem, SPLIT_PIECE);
  s->spare = NULL;
  if (!p) {
    mem_raise_exhausted(s->mem);
    return false;
  }
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
