/* Stacks in WebAssembly (base/stack.h).  A module's frames lie in two places:
 * what has an address on a stack in its memory, which grows down from the end
 * that the linker chose (--stack-first: below all data), and the rest on a
 * stack of the host's, which no module can see or leave.  So there is one
 * stack, and the program runs on it; nothing goes on in another piece.
 *
 * The host's stack is used up before the module's is.  It ends the module then,
 * without a word to the user.  So the host is asked how many bytes in memory
 * its stack has room for, and the books of split.c have no more. */
#include "base/stack.h"

__attribute__((import_module("rly"), import_name("stack"))) uint32_t
web_host_stack(void);

/* Where the data begins is where the stack does. */
extern char web_stack_high[] __asm__("__global_base");

struct SplitPiece {
  uintptr_t low;
};

uintptr_t stack_low(const SplitPiece *p) { return p->low; }

uintptr_t stack_high(const SplitPiece *p) {
  (void)p;
  return (uintptr_t)web_stack_high;
}

/* Of what memory is handed out, none is used. */
SplitPiece *stack_in(void *memory, size_t size) {
  (void)size;
  return memory;
}

/* Only the stack that all runs on can be called on. */
static SplitPiece deep;

bool stack_call(SplitPiece *p, void (*run)(void *arg), void *arg) {
  if (p != &deep) return false;
  run(arg);
  return true;
}

SplitPiece *stack_deep_new(void) {
  uintptr_t high = (uintptr_t)web_stack_high, room = web_host_stack();
  deep.low = room < high ? high - room : 0;
  return &deep;
}

void stack_deep_free(SplitPiece *p) { (void)p; }
