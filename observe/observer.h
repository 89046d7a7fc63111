/* The interior of an observer.  The machine announces every instruction to it;
 * it reads an operator's operands and results from the registers before and
 * after. */
#ifndef OBSERVE_OBSERVER_H
#define OBSERVE_OBSERVER_H

#include "bytecode/code.h"
#include "observe/observe.h"
#include "vm/machine.h"

/* The operands and results of an operator's instruction. */
typedef struct OpShape {
  const char *name;
  const OpSite *site; /* NULL: the instruction fuses several operators */
  int steps;          /* how many operators */
  int joined; /* of how many results of steps the first result is made */
  int source_count, out_count;
  const OpSource *sources;
  const Type *const *out_types;
  const uint16_t *list; /* registers: the sources, then the results */
} OpShape;

/* Returns false for an instruction that no kernel carries out. */
bool op_shape(const Word *pc, OpShape *shape);

/* The operator that is running. */
typedef struct OpWatch {
  const Word *pc; /* NULL: none */
  uint64_t start; /* ns */
  double bytes;   /* bytes of its operands */
  int count;
  Tensor *args; /* copies of the operands' headers, tuples flattened; only
                   `nans` keeps their elements alive */
  Value *kept;  /* with `nans`: the values of its registers */
  bool clean;   /* with `nans`: no operand holds a NaN */
} OpWatch;

typedef struct Profile Profile;
typedef struct Trace Trace;
typedef struct Cells Cells;

typedef struct Watch {
  Observer base;
  Observe what;
  OpWatch op;
  Arena scratch; /* of one operator */
  Profile *profile;
  Trace *trace;
  Cells *cells;
} Watch;

/* The observer of a session that has one. */
static inline Watch *watch_of(const Session *s) { return (Watch *)s->observer; }

uint64_t observe_clock(void); /* ns */
/* Writes the place of the instruction at `pc`, as "file.rly:12", and returns
 * its span. */
Span observe_place(Session *s, const Word *pc, StrBuf *out);

/* --- profile.c ---------------------------------------------------------- */

Profile *profile_new(Mem *mem);
void profile_free(Profile *p);
/* Called before an instruction runs. */
void profile_step(Profile *p, const Word *pc);
/* Called after an operator that started at `start`. */
void profile_op(Profile *p, uint64_t start, double bytes, double flops);
/* Called when the dispatch loop ends. */
void profile_pause(Profile *p);
void profile_print(Session *s, Profile *p, StrBuf *out);

/* --- trace.c ------------------------------------------------------------ */

Trace *trace_new(Session *s, const Observe *what);
void trace_free(Trace *t); /* Completes the trace's text. */
void trace_step(Trace *t, const Word *pc, const Frame *top);
void trace_op(Trace *t, const Word *pc, const char *name, uint64_t start,
              double bytes);
void trace_pause(Trace *t);

/* --- cells.c ------------------------------------------------------------ */

Cells *cells_new(Mem *mem);
void cells_free(Cells *c);
/* Called after the instruction at `pc` gave the cell a content. */
void cells_hold(Cells *c, Session *s, const Word *pc, const RefCell *r);

/* --- nans.c ------------------------------------------------------------- */

/* Called after an operator whose operands held no NaN.  If a result holds one,
 * raises the fault and returns false. */
bool nans_check(Session *s, const OpWatch *w, const OpShape *shape);
/* The same after a kernel of differentiated code, whatever its operands. */
bool nans_applied(Session *s, const OpCall *call);
/* For an instruction on floating-point scalars: called with its operands before
 * it runs, and with its result after. */
bool nans_scalar_begin(Session *s, const Word *pc, OpWatch *w);
bool nans_scalar_check(Session *s, const OpWatch *w);

#endif
