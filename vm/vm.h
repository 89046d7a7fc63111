/* The inside of the machine: the loop, and its slow ways out. */
#ifndef VM_VM_H
#define VM_VM_H

#include "vm/machine.h"

/* --- The loop ----------------------------------------------------------- */

/* Runs from s->pc until the bottom frame is left; false after a fault, with
 * everything dropped. */
bool vm_run(Session *s);
/* The same, counting instructions and telling an observer (observed.c). */
bool vm_run_observed(Session *s);
/* The one that this session runs. */
bool session_loop(Session *s);

/* The slow ways out of the loop.  Each is given its state in the session and
 * leaves it there; false after setting a fault. */
bool vm_call(Session *s, Function *f, Value *window, const Word *back);
bool vm_tail_call(Session *s, Function *f);
bool vm_lower(Session *s, Function *f);
void vm_leave(Session *s);
/* In the memory of a reuse token, or with NULL in new. */
bool vm_cell(Session *s, const Word *pc, Cell *token);
bool vm_big_cell(Session *s, const Word *pc);
bool vm_far_cell(Session *s, const Word *pc);
bool vm_cells(Session *s, const Word *pc);
bool vm_closure(Session *s, const Word *pc);
bool vm_sibling(Session *s, const Word *pc);
/* Ends one reference of the cell; `token`, if given, receives its reuse
 * token. */
void vm_open(Session *s, const Word *pc, Value *token);
bool vm_ref(Session *s, const Word *pc);
bool vm_compact(Session *s, const Word *pc);
bool vm_op(Session *s, const Word *pc);
bool vm_chain(Session *s, const Word *pc);
bool vm_special(Session *s, const Word *pc);
bool vm_scalar(Session *s, const Word *pc, int operands);
bool vm_check(Session *s, const Word *pc);
bool vm_global(Session *s, const Word *pc);
bool vm_no_match(Session *s, const Word *pc);

/* --- The stack (vm_slow.c) ---------------------------------------------- */

bool session_stack_init(Session *s);
void session_stack_done(Session *s);
/* Gives back what a deep run has left, between runs. */
void session_stack_trim(Session *s);
/* Does a frame lead back to an earlier segment?  Then, while unwinding: */
bool frame_leaves(const Frame *f);
void session_leave_segment(Session *s);
/* Room for so many words in a segment of its own, which the frame on top leads
 * back from, and for so many frames above.  False without memory, or where the
 * stack is too deep. */
bool session_enter_segment(Session *s, size_t words, size_t frames,
                           Value **window);

/* --- Faults ------------------------------------------------------------- */

/* As vm_fault, in a part of what the instruction there stands for. */
bool vm_fault_at(Session *s, Span span, DiagCode code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The fault of a stop flag that is up. */
bool vm_stopped(Session *s);

/* --- Kernels (vm_op.c) --------------------------------------------------- */

/* A call of the site's operator on n operands, which may run any kernel; a site
 * of NULL: of one that is no operator (kernels/rows.h). */
OpCall vm_op_call(Session *s, const OpSite *site, int n, const Tensor **args);
/* The fault of a call that failed: the kernel's own error, in the site's text;
 * a request to stop that it saw; or, where it says nothing, memory. */
bool vm_op_failed(Session *s, const OpSite *site, const OpCall *call);

/* --- Unwinding ----------------------------------------------------------- */

/* Drops what is live in every frame, completes the trace. */
void vm_unwind(Session *s);
/* Likewise in the frames above the first so many. */
void vm_unwind_to(Session *s, size_t frames);

/* --- Limits ------------------------------------------------------------- */

void watchdog_start(Session *s);
void watchdog_stop(Session *s);
/* A run may take so many instructions from now on as the limits say; an aside's
 * goes on with its asker's count until step_limit_end(). */
void step_limit_begin(Session *s);
void step_limit_end(Session *s);
/* Asks a run to stop that has taken its steps. */
void session_steps_spent(Session *s);
/* Stops an aside (session_aside) whose asker was told to stop. */
void session_stop_with(Session *aside);
/* Sets the frame at which calls stop to look why: the stack is full, or the
 * run is to stop.  To be set again when the frames move. */
void session_set_frame_limit(Session *s);

#endif
