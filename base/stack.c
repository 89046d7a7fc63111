/* Stacks on POSIX.
 *
 *   low  [SplitPiece | ................ stack grows down <- ]  high
 *
 * base/switch.h moves the stack pointer.  The sanitizers keep notes on each
 * stack, so they are told of each switch. */
#include "base/stack.h"

#include <sys/mman.h>

#include "base/sanitizer.h"
#include "base/switch.h"
#include "base/system.h"

#if SANITIZER_THREAD
#include <sanitizer/tsan_interface.h>
#endif
#if SANITIZER_ADDRESS
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

struct SplitPiece {
  size_t size; /* of the memory */
  void (*run)(void *arg);
  void *arg;
  const void *back_low; /* the stack that it was called from */
  size_t back_size;
  void *fiber, *back_fiber;
};

uintptr_t stack_low(const SplitPiece *p) { return (uintptr_t)(p + 1); }
uintptr_t stack_high(const SplitPiece *p) { return (uintptr_t)p + p->size; }

SplitPiece *stack_in(void *memory, size_t size) {
  SplitPiece *p = memory;
  p->size = size;
  return p;
}

/* --- Sanitizers ----------------------------------------------------------- */

/* The frames of a stack that was left never returned, so their poison is taken
 * off: from all of a piece (base/split.h), and from as many bytes of a deep
 * stack, since its other frames did return. */
enum { UNPOISONED = 4 << 20 };

/* A switch is a call of leave_*() on the one stack, and then of arrive_*() on
 * the other. */

static void leave_caller(SplitPiece *p, void **kept) {
#if SANITIZER_ADDRESS
  __sanitizer_start_switch_fiber(kept, (void *)stack_low(p),
                                 stack_high(p) - stack_low(p));
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
  size_t size = stack_high(p) - stack_low(p);
  if (size > UNPOISONED) size = UNPOISONED;
  __asan_unpoison_memory_region((char *)stack_high(p) - size, size);
#endif
#if SANITIZER_THREAD
  __tsan_destroy_fiber(p->fiber);
#endif
  (void)p, (void)kept;
}

/* --- Calls ---------------------------------------------------------------- */

static void enter(void *piece) {
  SplitPiece *p = piece;
  arrive_in_piece(p);
  p->run(p->arg);
  leave_piece(p);
}

bool stack_call(SplitPiece *p, void (*run)(void *arg), void *arg) {
  void *kept = NULL;
  p->run = run;
  p->arg = arg;
  leave_caller(p, &kept);
  bool gone = stack_switch(stack_low(p), stack_high(p), enter, p);
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

SplitPiece *stack_deep_new(void) {
  for (size_t size = deep_most; size >= DEEP_LEAST; size /= 2) {
    void *at = system_reserve(size);
    if (!at) continue;
#ifdef MADV_NOHUGEPAGE
    madvise(at, size, MADV_NOHUGEPAGE);
#endif
    return stack_in(at, size);
  }
  return NULL;
}

void stack_deep_free(SplitPiece *p) { munmap(p, p->size); }
