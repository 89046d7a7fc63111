/* A split stack, for the recursion of C over what a user can make deep.
 *
 * Where a phase is a loop, it keeps a stack of its own (ir/walk.h).  The phases
 * whose every rule looks at the parts of a node (names, inference, lowering,
 * printing) recurse, and go on in a new piece of stack where the last one is
 * used up.  Pieces come from a Mem, so memory alone bounds the depth, whatever
 * stack the host's thread has.
 *
 *   typedef struct Call { Printer *p; const Expr *e; } Call;
 *   static void run(void *call) { print(((Call *)call)->p, ...); }
 *
 *   void print(Printer *p, const Expr *e) {
 *     if (split_is_used_up(&p->stack)) {
 *       split_call(&p->stack, run, &(Call){p, e});
 *       return;
 *     }
 *     ...
 *
 * A step of the recursion, from one look at the stack to the next, may take
 * SPLIT_RESERVE bytes, with all that it calls.  That is room for recursion
 * which has a bound of its own: over types and patterns NESTING_MAX levels of
 * up to SPLIT_LEVEL bytes.
 *
 * Walks over types, patterns and lists of attributes do not look at the stack.
 * They are many, and stand in every room.  Instead, what makes a level more
 * asks split_levels() before it does.  On a stack of unknown size the answer is
 * no beyond NESTING_MAX.  A host that runs on a deep stack (split_deep) gives
 * it to its Mem; then memory alone bounds the levels, and every walk has the
 * room that is in the books. */
#ifndef BASE_SPLIT_H
#define BASE_SPLIT_H

#include <stdint.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/sanitizer.h"

enum {
  /* The address sanitizer's frames are some four times as large. */
  SPLIT_SCALE = SANITIZER_ADDRESS ? 4 : 1,
  /* What is used of the stack that the recursion begins on. */
  SPLIT_FIRST = SPLIT_SCALE * (48 << 10),
  SPLIT_RESERVE = SPLIT_SCALE * (512 << 10),
  SPLIT_PIECE = SPLIT_SCALE * (1 << 20),
  /* By which the recursion on a deep stack goes on. */
  SPLIT_STEP = SPLIT_PIECE - SPLIT_RESERVE,
  /* For a level of types, patterns or lists, in any one walk. */
  SPLIT_LEVEL = SPLIT_SCALE * 1024,
};

typedef struct SplitPiece SplitPiece;

typedef struct SplitStack {
  Mem *mem;
  uintptr_t low;     /* the piece at hand is used up below this address */
  SplitPiece *spare; /* the last one that was left: it is needed soon again */
  bool deep;         /* begun on the deep stack of the Mem's root: no pieces */
} SplitStack;

/* Begins at the caller's frame.  `mem` must outlive the stack. */
void split_start(SplitStack *s, Mem *mem);
void split_end(SplitStack *s);

/* The address is taken as a number: the frames compared may lie in different
 * pieces. */
static inline bool split_is_used_up(const SplitStack *s) {
  return (uintptr_t)__builtin_frame_address(0) < s->low;
}

/* Calls run(arg) in a new piece.  False, and `exhausted` is raised: there was
 * no memory for one. */
bool split_call(SplitStack *s, void (*run)(void *arg), void *arg);

/* Calls run(stack, arg) on a stack that takes a large part of the address space
 * and memory as it grows, or run(NULL, arg) on the caller's where there is
 * none. */
void split_deep(void (*run)(const SplitPiece *stack, void *arg), void *arg);

/* Has every walk over what nests so deep the room that it needs?  False where
 * the Mem has no deep stack, or, with `exhausted` raised, no memory for it. */
static inline bool split_levels(Mem *m, size_t levels);
bool split_more_levels(Mem *m, size_t levels);
/* Takes what the deep stack was used for out of a root's books, at its end. */
void split_settle(Mem *root);

static inline bool split_levels(Mem *m, size_t levels) {
  return levels <= NESTING_MAX || split_more_levels(m, levels);
}

#endif
