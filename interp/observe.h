/* Looking on while a session runs: instructions counted, operators timed and
 * weighed, calls traced, NaNs caught.
 *
 * An observed session runs the same loop compiled once more (observed.c), which
 * calls vm_observe() before every instruction; others pay nothing.  So all that
 * is seen of an operator is what its registers hold before and after it. */
#ifndef INTERP_OBSERVE_H
#define INTERP_OBSERVE_H

#include "interp/vm.h"

/* An operator's instruction: what it reads and what it gives. */
typedef struct OpShape {
  const char *name;
  const OpSite *site; /* NULL: several operators in one */
  int steps;          /* how many */
  int source_count, out_count;
  const OpSource *sources;
  const Type *const *out_types;
  const uint16_t *list; /* registers: the sources, then the results */
} OpShape;

/* False when the instruction is none that a kernel carries out. */
bool op_shape(const Word *pc, OpShape *shape);

/* The operator that is under way. */
typedef struct OpWatch {
  const Word *pc; /* NULL: none */
  uint64_t start; /* ns */
  double bytes;   /* of its operands */
  int count;
  Tensor *args; /* copies of the operands' headers, tuples flattened; their
                   elements only live on where `nans` is asked for */
  Value *kept;  /* nans: what its registers held */
  bool clean;   /* nans: no operand holds one */
} OpWatch;

typedef struct Profile Profile;
typedef struct Trace Trace;

struct Observer {
  Observe what;
  bool closely; /* more than a count of instructions is asked for */
  OpWatch op;
  Arena scratch; /* of one operator */
  Profile *profile;
  Trace *trace;
};

uint64_t observe_clock(void); /* ns */
/* "file.rly:12" of what stands at `pc`; returns its span. */
Span observe_place(Session *s, const Word *pc, StrBuf *out);

/* --- profile.c ---------------------------------------------------------- */

Profile *profile_new(Mem *mem);
void profile_free(Profile *p);
/* An instruction is about to run. */
void profile_step(Profile *p, const Word *pc);
/* The one before it was an operator, which began at `start`. */
void profile_op(Profile *p, uint64_t start, double bytes, double flops);
/* The loop is left. */
void profile_pause(Profile *p);
void profile_print(Session *s, Profile *p, StrBuf *out);

/* --- trace.c ------------------------------------------------------------ */

Trace *trace_new(Session *s, const Observe *what);
void trace_free(Trace *t); /* completes it */
void trace_step(Trace *t, const Word *pc, const Frame *top);
void trace_op(Trace *t, const Word *pc, const char *name, uint64_t start,
              double bytes);
void trace_pause(Trace *t);

/* --- nans.c ------------------------------------------------------------- */

bool nans_in(const Tensor *t);
/* An operator whose operands were clean is done: does a result hold a NaN?
 * Then raises the fault and gives false. */
bool nans_check(Session *s, const OpWatch *w, const OpShape *shape);
/* Is it an instruction on scalars of a floating type?  Its operands before it
 * runs; its result after. */
bool nans_scalar_begin(Session *s, const Word *pc, OpWatch *w);
bool nans_scalar_check(Session *s, const OpWatch *w);

#endif
