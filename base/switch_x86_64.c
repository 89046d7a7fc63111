/* See switch.h: x86-64, by the System V convention.
 *
 * The arguments come in rdi (low), rsi (high), rdx (run) and rcx (arg); the
 * caller's stack pointer waits in rbp, which `run` keeps.  The lines that begin
 * with .cfi let debuggers and profilers find the caller from any frame of the
 * new stack.  endbr64 is what an indirect call needs under CET. */
#include "base/switch.h"

#if SWITCH_BY_X86_64
__asm__(SWITCH_BEGIN
        "  .byte 0xf3, 0x0f, 0x1e, 0xfa\n" /* endbr64 */
        "  pushq %rbp\n"
        "  .cfi_def_cfa_offset 16\n"
        "  .cfi_offset %rbp, -16\n"
        "  movq %rsp, %rbp\n"
        "  .cfi_def_cfa_register %rbp\n"
        "  andq $-16, %rsi\n"
        "  movq %rsi, %rsp\n"
        "  movq %rcx, %rdi\n"
        "  callq *%rdx\n"
        "  movl $1, %eax\n"
        "  movq %rbp, %rsp\n"
        "  popq %rbp\n"
        "  .cfi_def_cfa %rsp, 8\n"
        "  retq\n" SWITCH_END);
#endif
