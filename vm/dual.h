/* Values of code that is differentiated (bytecode/code.h), and the sweep.
 *
 *   Dual     [primal | record | index]      primal: a Tensor, or a Dual of an
 *                                           outer level
 *   record   of an operator: what the rule and the sweep need (dual_tape.h)
 *
 * A record is made for an operator when one of its operands is a Dual of the
 * innermost level among them, and points to the records of its operands, so
 * what no value depends on goes by reference counting, and the sweep visits
 * what the value depends on in the reverse order of making.  It keeps the
 * operands and results that the operator's rule mentions.
 *
 * Levels are those of runs within runs: the level of a record is in its order.
 * A Dual whose run has ended is a constant. */
#ifndef VM_DUAL_H
#define VM_DUAL_H

#include "vm/vm.h"

bool vm_box(Session *s, const Word *pc);
bool vm_plain(Session *s, const Word *pc);
bool vm_constant_of(Session *s, const Word *pc);
bool vm_given_out(Session *s, const Word *pc);
bool vm_part(Session *s, const Word *pc);
bool vm_dual_op(Session *s, const Word *pc);
/* Does the stretch that follows record these inputs as one (code.def)?  The
 * registers are those of the loop. */
bool vm_stretch_fits(Session *s, const Value *regs, const Word *pc);
bool vm_stretch_in(Session *s, const Word *pc);
bool vm_stretch_out(Session *s, const Word *pc);
/* No step continues another from here on. */
static inline void stretch_loop_ends(Session *s) {
  s->continued = NULL;
  s->loop.site = NULL;
}
/* Likewise; frees what is kept for the next stretch, or left by one that
 * failed. */
void stretch_forget(Session *s);
bool vm_dual_ref(Session *s, const Word *pc);
bool vm_dual_read(Session *s, const Word *pc);
bool vm_dual_write(Session *s, const Word *pc);
bool vm_custom(Session *s, const Word *pc);
bool vm_begin(Session *s, const Word *pc);
bool vm_end(Session *s, const Word *pc);
bool vm_along(Session *s, const Word *pc);
bool vm_tangent(Session *s, const Word *pc);
bool vm_pull(Session *s, const Word *pc);
/* Puts the arguments of the next step of a row (stretch_pull.c) into its
 * window, which it gives; NULL: that was the last. */
Value *vm_next_step(Session *s, const Word *pc);
bool vm_again(Session *s, const Word *pc);
void vm_again_end(Session *s, Cell *region);
bool vm_effect(Session *s);
/* The function of a closure, as differentiated code calls it. */
Function *vm_dual_function(Session *s, const Cell *closure);

#endif
