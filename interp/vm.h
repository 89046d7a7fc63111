/* The virtual machine: a session's heap, its stack, the loop.
 *
 * A frame is where to return to and the caller's registers.  Registers are a
 * window of the value stack; a callee's window lies over the caller's outgoing
 * area.  The value stack is a chain of segments; a call whose window does not
 * fit gets a new one, and a frame of its own below it that leads back. */
#ifndef INTERP_VM_H
#define INTERP_VM_H

#include "interp/plan.h"

typedef struct Frame {
  const Word *pc; /* where to go on; the call stands two units before */
  Value *regs;
} Frame;

typedef struct Segment {
  struct Segment *below;
  size_t count;
  Value values[];
} Segment;

/* Why a run is asked to stop. */
typedef enum StopReason { STOP_NOT, STOP_INTERRUPT, STOP_TIMEOUT } StopReason;

typedef struct GlobalSlot {
  Value value;
  bool defined;
} GlobalSlot;

/* A field's type at an instance of its type, once computed. */
typedef struct FieldType {
  const Type *type, *field;
  uint32_t ctor, index;
} FieldType;
enum { FIELD_TYPES = 32 };

typedef struct Observer Observer; /* observe.h */
typedef struct Dying Dying;       /* value.c */

typedef struct Watchdog {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  bool running, done;
} Watchdog;

struct Session {
  Code *code;
  Mem *mem; /* the program's */
  Heap heap;
  Limits limits;
  SessionHooks hooks;
  Diags *diags;
  Arena scratch; /* of one operator call */
  Plans plans;   /* of tensor operators */
  /* Values of `let @x` and `let %x`, by slot. */
  GlobalSlot *values;
  size_t value_count;
  /* The stack. */
  Frame *frames, *frame_top; /* frame_top: behind the last one in use */
  size_t frame_cap;
  _Atomic(Frame *) frame_limit; /* a call at or above looks what is up */
  Segment *segment, *spare;
  /* Where the loop stands when it is left.  The two are kept apart: side by
   * side, gcc makes a vector of them throughout the loop. */
  const Word *pc;
  Value *stack_end; /* of the segment in use */
  Value *regs;
  _Atomic int stop;         /* a StopReason */
  Word entry[3];            /* what the bottom frame returns to */
  Value left[RESULTS_MOST]; /* what returns from a segment */
  Watchdog watchdog;
  bool held; /* between session_begin and session_end */
  /* Mutable cells that may be part of a cycle (cycle.c). */
  RefCell *cells;
  size_t cell_count, cell_threshold;
  Dying *dying;  /* whose freeing was put off, or NULL */
  int free_left; /* objects to free until the next look */
  FieldType field_types[FIELD_TYPES];
  Observer *observer; /* NULL: nobody looks on */
  RunStatus status;
  Diag *fault; /* of this run, or NULL */
  SessionStats stats;
};

/* Room for the values of that many globals; false when memory runs out. */
bool session_values_reserve(Session *s, size_t count);

/* --- Objects ------------------------------------------------------------ */

/* Frees what the last reference led to, however deep; in a session that is
 * told to stop, the rest is put off until session_free_rest(). */
void obj_free(Session *s, Obj *o);
/* Goes on with what was put off, again until told to stop. */
void session_free_rest(Session *s);
static inline void obj_drop(Session *s, Obj *o) {
  if (o->count > 1) o->count--;
  else if (o->count == 1) obj_free(s, o);
}

/* The fields of a cell: how many, the first, whether one is counted. */
uint64_t cell_count(const Cell *c);
Value *cell_fields(Cell *c);
bool cell_field_counted(const Cell *c, uint64_t i);
size_t cell_size(const Cell *c);

/* --- The loop ----------------------------------------------------------- */

/* Runs from s->pc until the bottom frame is left; false after a fault, with
 * everything dropped. */
bool vm_run(Session *s);
/* The same of a session that is observed: before every instruction it calls
 * vm_observe(), which gives false after setting a fault. */
bool vm_run_observed(Session *s);
bool vm_observe(Session *s, const Word *pc, Value *regs, Frame *top);
/* The loop was left. */
void observe_pause(Session *s);
void observer_free(Session *s);

/* The slow ways out of the loop.  Each is given its state in the session and
 * leaves it there; false after setting a fault. */
bool vm_call(Session *s, Function *f, Value *window, const Word *back);
bool vm_tail_call(Session *s, Function *f);
bool vm_lower(Session *s, Function *f);
void vm_leave(Session *s);
/* In dead memory of its size, or with NULL in new. */
bool vm_cell(Session *s, const Word *pc, Cell *memory);
bool vm_big_cell(Session *s, const Word *pc);
bool vm_closure(Session *s, const Word *pc);
bool vm_sibling(Session *s, const Word *pc);
/* Frees the cell, or gives its memory (null: it was shared). */
void vm_open(Session *s, const Word *pc, Value *memory);
bool vm_ref(Session *s, const Word *pc);
bool vm_compact(Session *s, const Word *pc);
bool vm_op(Session *s, const Word *pc);
/* Where the instruction at `next` is a product like the one at `pc`, both may
 * run at once; then `next` moves on. */
bool vm_op_or_two(Session *s, const Word *pc, const Word **next);
bool vm_chain(Session *s, const Word *pc);
bool vm_special(Session *s, const Word *pc);
bool vm_scalar(Session *s, const Word *pc, int operands);
bool vm_check(Session *s, const Word *pc);
bool vm_global(Session *s, const Word *pc);
bool vm_no_match(Session *s, const Word *pc);

/* --- The stack (vm_slow.c) ---------------------------------------------- */

bool session_stack_init(Session *s);
void session_stack_done(Session *s);
/* Does a frame lead back to an earlier segment?  Then, while unwinding: */
bool frame_leaves(const Frame *f);
void session_leave_segment(Session *s);

/* --- Faults ------------------------------------------------------------- */

/* A run-time error where the loop stands.  Always false. */
bool vm_fault(Session *s, DiagCode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Likewise in a part of what the instruction there stands for. */
bool vm_fault_at(Session *s, Span span, DiagCode code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool vm_out_of_memory(Session *s);
/* The fault of a stop flag that is up. */
bool vm_stopped(Session *s);
/* Drops what is live in every frame, completes the trace. */
void vm_unwind(Session *s);

/* --- Limits ------------------------------------------------------------- */

void watchdog_start(Session *s);
void watchdog_stop(Session *s);
/* Where calls have to look up; to be set again when the frames move. */
void session_set_frame_limit(Session *s);

/* --- Cycles ------------------------------------------------------------- */

void cycle_add(Session *s, RefCell *r);
void cycle_remove(Session *s, RefCell *r);
/* Frees what only cycles keep alive. */
void cycle_collect(Session *s);

#endif
