/* The machine: a session's state as it runs, for those who look into it.
 *
 * A frame is where to return to and the caller's registers.  Registers are a
 * window of the value stack; a callee's window lies over the caller's outgoing
 * area.  The value stack is a chain of segments; a call whose window does not
 * fit gets a new one, and a frame of its own below it that leads back. */
#ifndef VM_MACHINE_H
#define VM_MACHINE_H

#include <pthread.h>

#include "base/deadline.h"
#include "kernels/call.h"
#include "vm/plan.h"
#include "vm/session.h"

typedef struct Frame {
  const Word *pc; /* where to go on; the call stands two units before */
  Value *regs;
} Frame;

typedef struct Segment {
  struct Segment *below;
  size_t count;
  Value values[];
} Segment;

/* Why a run is asked to stop: what `stop` of its store is. */
typedef enum StopReason {
  STOP_NOT,
  STOP_INTERRUPT,
  STOP_TIMEOUT,
  STOP_STEPS
} StopReason;

typedef struct GlobalSlot {
  Value value;
  bool defined;
} GlobalSlot;

/* A cell that the host added to the state, under a name of its own. */
typedef struct HostCell {
  const Name *name;
  const Type *type; /* of the cell */
  RefCell *cell;    /* owned */
} HostCell;

/* What of the outermost differentiated run is to be computed again in its
 * sweep, and a sweep that does so (checkpoint.h). */
typedef struct Checkpointing {
  uint64_t next; /* an operator checks the memory in use at this many records */
  uint64_t last; /* the number of the last record that a replay waits for */
  uint64_t wanted; /* the order of the next such record; UINT64_MAX: none */
  Cell *region;    /* owned: whose blanks are made; NULL: records keep all */
  bool asked;      /* by checkpoint(): the region ends with its function */
  bool counted;    /* the run's result is an object */
  struct Replay *replay; /* under way, or NULL */
  size_t base;           /* the frame that leads back from the run's function */
  int depth;             /* of loops within loops, where that runs */
  uint64_t start;        /* records before the run */
  uint64_t most;         /* records to be kept at once; 0: not known yet */
  uint64_t each;         /* bytes that one takes */
  uint64_t interval;     /* records of the next region, if that is known */
} Checkpointing;

/* Who looks on.  A session that has an observer, or a limit of steps, runs the
 * loop as it is compiled a second time (observed.c), which counts instructions
 * and calls these; other sessions pay nothing. */
typedef struct Observer {
  bool closely; /* step() is wanted, not the count alone */
  /* Before the instruction at `pc`; the session's registers and frames are as
   * it finds them.  False after setting a fault. */
  bool (*step)(struct Observer *o, Session *s, const Word *pc);
  /* After a kernel that differentiated code ran, or a reverse sweep to add
   * adjoints; the operands are as they were.  False after setting a fault.
   * NULL: not wanted. */
  bool (*applied)(struct Observer *o, Session *s, const OpCall *call);
  /* After the instruction at `pc` made a cell or wrote to one.  A cell with a
   * tag was made by differentiated code, and may hold a Dual.  NULL: not
   * wanted. */
  void (*holds)(struct Observer *o, Session *s, const Word *pc,
                const RefCell *r);
  /* The loop was left. */
  void (*pause)(struct Observer *o, Session *s);
  /* The session ends. */
  void (*free)(struct Observer *o, Session *s);
} Observer;

/* Code of the machine's own that calls a function which returns a tuple
 * unboxed, takes the fields to Session.left, and does `end`: an array of two,
 * as the list of registers that results go to has one unit or two.  Which one a
 * function needs its number of results says (unboxed_code). */
#define UNBOXED_TO_LEFT(end)                                                 \
  {                                                                          \
    {{.op = INS_call_unboxed, .c = 4},                                       \
     {.word = 0},                                                            \
     {.regs = {0, 1, 2, 3}},                                                 \
     {.op = (end)}},                                                         \
    {                                                                        \
      {.op = INS_call_unboxed, .c = 8}, {.word = 0}, {.regs = {0, 1, 2, 3}}, \
          {.regs = {4, 5, 6, 7}}, {                                          \
        .op = (end)                                                          \
      }                                                                      \
    }                                                                        \
  }
typedef Word UnboxedCode[5];
static inline const Word *unboxed_code(const UnboxedCode codes[2],
                                       const Function *f) {
  return codes[register_units(f->result_count) - 1];
}
static_assert(RESULTS_MOST == 8, "a code for each length of the list");

enum { LEVELS_MOST = 1000 };

/* The Duals of scalars that a session keeps for the next ones. */
enum { DEAD_DUALS = 4 };

/* What the next step of a loop finds if it is like the one before, which made
 * the latest record (stretch_loop.c).  Recurring inputs are results of the step
 * before; the others are the same in all steps. */
typedef struct LoopCache {
  const StretchSite *site; /* NULL: nothing is known */
  Cell *record;   /* borrowed, and maybe dead: compared before it is used */
  uint64_t count; /* of the session's records: a newer one ends the loop */
  int level;
  int recurring_count, other_count;
  uint8_t recurring[STRETCH_INPUTS], others[STRETCH_INPUTS];
  struct {
    Cell *record;   /* NULL: the input is a constant */
    uint64_t place; /* the last field of its Dual */
  } inputs[STRETCH_INPUTS];
  uint32_t scalar_inputs, scalar_outs; /* a bit for each that is one */
  uint8_t reused[STRETCH_OUTS];   /* the input whose Dual becomes the result's;
                                     NOT_REUSED: that is bits */
  uint8_t wasted[STRETCH_INPUTS]; /* recurring inputs whose Duals are left */
  int wasted_count;
  uint64_t *order;            /* the record's */
  Cell *steps;                /* of the record, the latest */
  Value *saved;               /* where the step's saved values go */
  uint64_t *step_count, room; /* steps there, and how many more fit */
  bool entered;               /* a step is under way, which owns: */
  Cell *held[STRETCH_INPUTS]; /* the Duals of recurring inputs */
} LoopCache;
enum { NOT_REUSED = UINT8_MAX };

struct Session {
  Store store;
  Code *code;
  Mem *mem; /* the program's */
  Limits limits;
  SessionHooks hooks;
  Diags *diags;
  Arena scratch;         /* of one operator call */
  Contention contention; /* that such calls have met */
  Plans plans;           /* of tensor operators */
  /* Values of `let @x` and `let %x`, by slot. */
  GlobalSlot *values;
  size_t value_count;
  VEC(HostCell) host_cells;
  /* The stack. */
  Frame *frames, *frame_top; /* frame_top: after the last one in use */
  size_t frame_cap;
  _Atomic(Frame *) frame_limit; /* a call at or above this frame finds
                                   out why it may not go on */
  Segment *segment, *spare;
  size_t stack_bytes; /* of the frames and of all segments */
  /* Where the loop stands when it is left.  `pc` and `regs` are not
   * neighbours: gcc would make one vector of them throughout the loop. */
  const Word *pc;
  Value *stack_end; /* of the segment in use */
  Value *regs;
  Word entry[3];            /* what the bottom frame returns to */
  Value left[RESULTS_MOST]; /* what returns from a segment */
  Deadline deadline;
  bool held;                /* between session_begin and session_end */
  bool listens;             /* to interrupts between runs */
  _Atomic(Session *) aside; /* session_aside(): owned, or NULL */
  Session *asker;           /* whose aside it is, or NULL */
  Observer *observer;       /* NULL: nobody looks on */
  RunStatus status;
  bool unwound; /* everything is, after a fault */
  int level;    /* of differentiation within differentiation */
  uint64_t runs[LEVELS_MOST + 1]; /* under way, by level: their numbers */
  uint64_t record_count;          /* of operators, so far */
  /* The Duals of scalars that died, for the next ones (stretch.c). */
  Cell *dead_duals[DEAD_DUALS];
  int dead_count;
  /* The record that the stretch about to begin continues (stretch.c); or NULL.
   */
  Cell *continued;
  LoopCache loop;
  size_t tape_start; /* bytes that were live when the outermost run began */
  int loop_depth;    /* of loops that instructions began */
  Checkpointing checkpointing;
  Diag *fault; /* of this run, or NULL */
  SessionStats stats;
  uint64_t step_limit; /* of stats.instructions: beyond it the run is to stop */
  /* The function that was called last by a host, which calls one again and
   * again: nothing is looked up while these are as they were. */
  struct {
    const Expr *value; /* the global's */
    bool loose;        /* the program's */
    Function *function;
  } called;
};

/* Room for the values of that many globals; false when memory runs out. */
bool session_values_reserve(Session *s, size_t count);

/* Does the observer want to see what kernels of differentiated code did? */
static inline bool session_shows_kernels(const Session *s) {
  return s->observer && s->observer->applied;
}

/* A run-time error where the loop stands (s->pc).  Always false. */
bool vm_fault(Session *s, DiagCode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool vm_out_of_memory(Session *s);

#endif
