/* The one step of base/stack.c that C cannot say: a call on another stack.
 *
 * A function that is called keeps the registers that its caller needs, so a few
 * instructions of ours are enough: they move the stack pointer, call, and move
 * it back.  Two architectures have them, each in a file of its own:
 * base/switch_x86_64.c and base/switch_aarch64.c.  All others use
 * base/switch_ucontext.c: the contexts of POSIX, at the price of two system
 * calls.  musl declares those functions and does not have them; there
 * libucontext does.
 *
 * Who builds with CPPFLAGS=-DSWITCH_BY_UCONTEXT=1 has the contexts anywhere. */
#ifndef BASE_SWITCH_H
#define BASE_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

#if SWITCH_BY_UCONTEXT
#define SWITCH_BY_X86_64 0
#define SWITCH_BY_AARCH64 0
#else
#if defined(__x86_64__) && defined(__LP64__)
#define SWITCH_BY_X86_64 1
#else
#define SWITCH_BY_X86_64 0
#endif
#if defined(__aarch64__) && defined(__LP64__)
#define SWITCH_BY_AARCH64 1
#else
#define SWITCH_BY_AARCH64 0
#endif
#undef SWITCH_BY_UCONTEXT
#define SWITCH_BY_UCONTEXT (!SWITCH_BY_X86_64 && !SWITCH_BY_AARCH64)
#endif

/* Calls run(arg) with its frames between the two addresses.  False, and nothing
 * was called: the system refuses, which only contexts can. */
bool stack_switch(uintptr_t low, uintptr_t high, void (*run)(void *arg),
                  void *arg);

/* What stands before and after the instructions: the function's name, as the
 * system's object files write it, seen within the library alone. */
#ifdef __APPLE__
#define SWITCH_BEGIN                \
  ".text\n.p2align 4\n"             \
  ".globl _stack_switch\n"          \
  ".private_extern _stack_switch\n" \
  "_stack_switch:\n.cfi_startproc\n"
#define SWITCH_END ".cfi_endproc\n"
#else
#define SWITCH_BEGIN                \
  ".text\n.p2align 4\n"             \
  ".globl stack_switch\n"           \
  ".hidden stack_switch\n"          \
  ".type stack_switch, %function\n" \
  "stack_switch:\n.cfi_startproc\n"
#define SWITCH_END ".cfi_endproc\n.size stack_switch, . - stack_switch\n"
#endif

#endif
