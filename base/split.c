/* Pieces of stack, and the way from one to the next and back (split.h says
 * why).  base/stack.h calls functions on other stacks; this file decides when
 * one more is needed, and enters it in the books of the Mem.
 *
 * A piece is a block of a Mem.  A deep stack is a piece of a large part of the
 * address space, on which the program as a whole runs.
 *
 * The last piece that was left is kept: recursion that swings around its end
 * would otherwise allocate at each swing. */
#include "base/split.h"

#include "base/stack.h"

/* --- Deep stacks ---------------------------------------------------------- */

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
  SplitPiece *p = stack_deep_new();
  DeepCall call = {p, run, arg};
  if (!p || !stack_call(p, run_deep, &call)) run(NULL, arg);
  if (p) stack_deep_free(p);
}

static bool deep_holds(const SplitPiece *p, uintptr_t here) {
  return p && here > stack_low(p) && here < stack_high(p);
}

/* Enters in the books that the stack may be used down to so many bytes for
 * recursion and so many for levels.  What was touched stays with the process,
 * so it stays in the books. */
static bool deep_take(Mem *m, size_t split, size_t levels) {
  Mem *root = mem_root(m);
  size_t room = stack_high(root->stack) - stack_low(root->stack);
  room = room > SPLIT_RESERVE ? room - SPLIT_RESERVE : 0;
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
  uintptr_t low = s->low, high = stack_high(mem_root(s->mem)->stack);
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
  void *memory = s->spare ? s->spare : mem_alloc(s->mem, SPLIT_PIECE);
  s->spare = NULL;
  if (!memory) {
    mem_raise_exhausted(s->mem);
    return false;
  }
  SplitPiece *p = stack_in(memory, SPLIT_PIECE);
  uintptr_t low = s->low;
  s->low = stack_low(p) + SPLIT_RESERVE;
  bool gone = stack_call(p, run, arg);
  s->low = low;
  split_end(s);
  s->spare = p;
  if (!gone) mem_raise_exhausted(s->mem);
  return gone;
}
