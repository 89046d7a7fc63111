/* The small-step machine: a checked program's meaning, one rule at a time.
 *
 *   StepMachine *m = step_new(program, host);
 *   step_start(m, &unit->steps[0]);
 *   while (step_next(m) == STEP_RULE) { ... step_rule(m) ... }
 *   step_print_json(m, &out, step_result(m));
 *
 * It interprets resolved and typed expressions as they are (ir/expr.h) and
 * shares nothing with the VM but the operators' rules and kernels.  It is made
 * to be obviously right, not fast: the VM is tested against it (fuzz/), and
 * the stepper shows it at work.
 *
 * A state is an expression or a value, an environment and a stack of frames:
 * what is being evaluated, what its variables mean, and where its value goes.
 * All three are immutable linked objects, so an older state stays whole as
 * long as someone holds it; only the contents of ref cells, of delayed graph
 * nodes and of global values change.  Nothing recurses on the C stack over a
 * program's data. */
#ifndef INTERP_STEP_H
#define INTERP_STEP_H

#include "interp/interp.h"

typedef struct StepMachine StepMachine;
/* A value: a tensor (of rank 0, too), a tuple, a constructor with its fields,
 * a function or a cell.  It says itself which; types are not needed. */
typedef struct StepObj StepValue;

typedef enum StepRule {
#define REDUCTION(id, ...) REDUCE_##id,
#include "interp/step.def"
#undef REDUCTION
  REDUCE_COUNT
} StepRule;

typedef struct StepRuleInfo {
  const char *name, *sentence;
} StepRuleInfo;
extern const StepRuleInfo step_rule_info[REDUCE_COUNT];

/* What the machine needs of its surroundings. */
typedef struct StepHost {
  const Tensor *const *params; /* by slot; they outlive the machine */
  /* Where globals have the values that they were not given here; or NULL.  It
   * outlives the machine and does not run meanwhile. */
  Session *session;
  /* Where print and print_text go; NULL: nowhere. */
  void (*write)(void *data, const char *text, size_t len);
  void *data;
  int width;         /* of the display form */
  size_t max_memory; /* bytes; 0: no limit */
} StepHost;

typedef enum StepOutcome {
  STEP_RULE,  /* a rule was applied: step_rule tells which */
  STEP_VALUE, /* nothing is left to do: step_result */
  STEP_ERROR, /* a run-time error: step_fault */
  STEP_LIMIT, /* memory ran out: step_fault (E0701) */
} StepOutcome;

typedef struct StepFault {
  DiagCode code;
  Span span;
  const char *message; /* valid until the machine is started again */
} StepFault;

/* --- Life --------------------------------------------------------------- */

/* Without global values yet; NULL when memory runs out.  The program must
 * outlive the machine. */
StepMachine *step_new(Program *p, StepHost host);
void step_free(StepMachine *m);

/* --- Running ------------------------------------------------------------ */

/* Begins a step of a unit; a let's value is kept for later steps. */
void step_start(StepMachine *m, const Step *step);
/* Begins the call of a global function; `args`: a tuple of its arguments, NULL
 * where it has none. */
void step_start_call(StepMachine *m, const Global *g, const StepValue *args);
/* A tuple for `count` arguments, and argument `i` as a copy of a session's
 * value.  NULL and false when memory runs out. */
StepValue *step_arguments(StepMachine *m, int count);
bool step_argument(StepMachine *m, StepValue *args, int i, Session *s,
                   const Type *type, Value v);

/* Applies one rule.  After any other outcome it gives that one again until
 * something is started. */
StepOutcome step_next(StepMachine *m);

/* The rule that was applied last, where, and how many have been. */
StepRule step_rule(const StepMachine *m);
Span step_span(const StepMachine *m);
uint64_t step_count(const StepMachine *m);

/* --- Back and forth (step_record.c) ------------------------------------- */

/* Keeps what the last `entries` calls of step_next did, or fewer: half of them
 * are forgotten when there are more, and while they hold more than a quarter of
 * the machine's memory.  Before the first start. */
void step_keep(StepMachine *m, size_t entries);
/* Stands where it stood before the last step_next, which the record knows:
 * step_next then goes on without evaluating anything again, up to where the
 * record ends.  False: the record begins here. */
bool step_back(StepMachine *m);
/* Does the record go on from here?  Then nothing may be started. */
bool step_is_behind(const StepMachine *m);
/* How many entries there are up to here. */
size_t step_recorded(const StepMachine *m);

/* The value that was reached; valid until the next start. */
const StepValue *step_result(const StepMachine *m);
const StepFault *step_fault(const StepMachine *m);

/* --- Values ------------------------------------------------------------- */

/* Display form, and the JSON of a value, as the VM writes them (a function
 * shows the type that it was written with). */
void step_print(const StepMachine *m, StrBuf *out, const StepValue *v,
                int width);
void step_print_json(const StepMachine *m, StrBuf *out, const StepValue *v);

#endif
