/* Memory used as a stack: what base/split.c needs of the machine.
 * base/stack.c has it for POSIX, web/wasi/stack.c for WebAssembly. */
#ifndef BASE_STACK_H
#define BASE_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A stack, which lies with this header at the low end of its memory. */
typedef struct SplitPiece SplitPiece;

/* Makes a stack of memory that is aligned as malloc() does it and larger than
 * the header. */
SplitPiece *stack_in(void *memory, size_t size);

/* Calls run(arg) on it.  False only when the system refuses to switch. */
bool stack_call(SplitPiece *p, void (*run)(void *arg), void *arg);

/* A stack of a large part of the address space, which takes memory as it grows;
 * NULL: there is none. */
SplitPiece *stack_deep_new(void);
void stack_deep_free(SplitPiece *p);

/* Frames lie between these addresses. */
uintptr_t stack_low(const SplitPiece *p);
uintptr_t stack_high(const SplitPiece *p);

#endif
