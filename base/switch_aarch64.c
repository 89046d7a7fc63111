/* See switch.h: 64-bit ARM, by the procedure call standard AAPCS64.
 *
 * The arguments come in x0 (low), x1 (high), x2 (run) and x3 (arg); the
 * caller's stack pointer waits in x29, the frame pointer, which `run` keeps.
 * The lines that begin with .cfi let debuggers and profilers find the caller
 * from any frame of the new stack.  hint 34 is `bti c`, what an indirect call
 * needs where branch targets are checked. */
#include "base/switch.h"

#if SWITCH_BY_AARCH64
__asm__(SWITCH_BEGIN
        "  hint 34\n"
        "  stp x29, x30, [sp, #-16]!\n"
        "  .cfi_def_cfa_offset 16\n"
        "  .cfi_offset x29, -16\n"
        "  .cfi_offset x30, -8\n"
        "  mov x29, sp\n"
        "  .cfi_def_cfa_register x29\n"
        "  and x1, x1, #-16\n"
        "  mov sp, x1\n"
        "  mov x0, x3\n"
        "  blr x2\n"
        "  mov w0, #1\n"
        "  mov sp, x29\n"
        "  ldp x29, x30, [sp], #16\n"
        "  .cfi_def_cfa sp, 0\n"
        "  .cfi_restore x29\n"
        "  .cfi_restore x30\n"
        "  ret\n" SWITCH_END);
#endif
