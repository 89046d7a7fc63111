/* Stacks in WebAssembly (base/stack.h).  A module's frames lie in two places:
 * what has an address on a stack in its memory, which grows down, and the rest
 * on a stack of the host's, which no module can see or leave.  The first can
 * be chosen, the second cannot.  So the program runs on one deep stack, and
 * nothing goes on in another piece.
 *
 * The host's stack is used up before the module's is.  It ends the module then,
 * without a word to the user.  So the host is asked how many bytes in memory
 * its stack has room for, and the deep stack has no more.  It comes from
 * malloc(): the linker's stack, on which the program begins, is part of the
 * memory that a module begins with, and an engine counts that memory as used.
 */
#include "base/stack.h"

#include <stdlib.h>

__attribute__((import_module("rly"), import_name("stack"))) uint32_t
web_host_stack(void);

struct SplitPiece {
  uintptr_t high;
};

enum { ALIGN = 16 }; /* of a stack, which malloc() has too */
_Static_assert(sizeof(SplitPiece) <= ALIGN, "a header takes one unit");

uintptr_t stack_low(const SplitPiece *p) { return (uintptr_t)p + ALIGN; }

uintptr_t stack_high(const SplitPiece *p) { return p->high; }

SplitPiece *stack_in(void *memory, size_t size) {
  SplitPiece *p = memory;
  p->high = ((uintptr_t)memory + size) & -(uintptr_t)ALIGN;
  return p;
}

/* Sets the stack pointer, and returns the one before.  The linker knows the
 * pointer as a global of the module; C has no name for it. */
__attribute__((noinline)) static uintptr_t swap(uintptr_t to) {
  uintptr_t was;
  __asm__ volatile(
      ".globaltype __stack_pointer, i32\n"
      "  global.get __stack_pointer\n"
      "  local.set %0\n"
      "  local.get %1\n"
      "  global.set __stack_pointer"
      : "=&r"(was)
      : "r"(to)
      : "memory");
  return was;
}

/* The one that all runs on. */
static SplitPiece *deep;

bool stack_call(SplitPiece *p, void (*run)(void *arg), void *arg) {
  if (p != deep) return false;
  uintptr_t was = swap(p->high);
  run(arg);
  swap(was);
  return true;
}

SplitPiece *stack_deep_new(void) {
  size_t room = web_host_stack();
  void *memory = room > ALIGN ? malloc(room) : NULL;
  return deep = memory ? stack_in(memory, room) : NULL;
}

void stack_deep_free(SplitPiece *p) {
  deep = NULL;
  free(p);
}
