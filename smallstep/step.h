/* The small-step machine: a checked program's meaning, one rule at a time.
 *
 *   StepMachine *m = step_new(program, host);
 *   step_start(m, &unit->steps[0]);
 *   while (step_next(m) == STEP_RULE) { ... step_rule(m) ... }
 *   step_print_json(m, &out, step_result(m));
 *
 * It interprets resolved and typed expressions as they are (ir/expr.h) and
 * shares nothing with the VM but the operators: their typing rules, kernels and
 * rules of derivatives.  It is made
 * to be obviously right, not fast: the VM is tested against it (fuzz/), and
 * the stepper shows it at work.
 *
 * A state is an expression or a value, an environment and a stack of frames:
 * what is being evaluated, what its variables mean, and where its value goes.
 * All three are immutable linked objects, so an older state stays whole as
 * long as someone holds it; only the contents of ref cells, of delayed graph
 * nodes and of global values change.  Nothing recurses on the C stack over a
 * program's data. */
#ifndef SMALLSTEP_STEP_H
#define SMALLSTEP_STEP_H

#include "ops/cost.h"
#include "vm/session.h"

typedef struct StepMachine StepMachine;
/* A value: a tensor (also of rank 0), a tuple, a constructor with its fields, a
 * function or a cell.  It is tagged, so no types are needed to read it. */
typedef struct StepObj StepValue;

typedef enum StepRule {
#define REDUCTION(id, ...) REDUCE_##id,
#include "smallstep/step.def"
#undef REDUCTION
  REDUCE_COUNT
} StepRule;

/* What rules have in common, as bits. */
typedef enum StepTraits {
  STEP_READS = 1 << 0, /* effects */
  STEP_WRITES = 1 << 1,
  STEP_ALLOCATES = 1 << 2,
  STEP_PRINTS = 1 << 3,
  STEP_LOOKS_UP = 1 << 4, /* a name is replaced by what it stands for */
  STEP_OPERATES = 1 << 5, /* an operator is applied */
  STEP_LETS = 1 << 6,     /* a binding of a block is done */
  STEP_BINDS = 1 << 7,    /* names are bound that are seen from then on */
  STEP_ENTERS = 1 << 8,   /* a function of the program is entered */
  STEP_SWEEPS = 1 << 9,   /* a part of a sweep of derivatives */
} StepTraits;

typedef struct StepRuleInfo {
  const char *name, *sentence;
  unsigned traits;
} StepRuleInfo;
extern const StepRuleInfo step_rule_info[REDUCE_COUNT];

/* Has the rule one of these traits? */
static inline bool step_rule_has(StepRule rule, unsigned traits) {
  return step_rule_info[rule].traits & traits;
}

/* What the machine needs from its host. */
typedef struct StepHost {
  const struct Code *code; /* has the values of params; or NULL */
  /* A session that provides the values of globals that were not evaluated here;
   * or NULL.  It must outlive the machine and must not run meanwhile. */
  Session *session;
  /* Receives the output of print and print_text; NULL: it is dropped. */
  void (*write)(void *data, const char *text, size_t len);
  void *data;
  int width;         /* of the display form */
  size_t max_memory; /* bytes; 0: no limit */
} StepHost;

typedef enum StepOutcome {
  STEP_RULE,  /* a rule was applied; step_rule says which */
  STEP_VALUE, /* nothing is left to evaluate; step_result has the value */
  STEP_ERROR, /* a run-time error, in step_fault */
  STEP_LIMIT, /* out of memory; step_fault has E0701 */
} StepOutcome;

typedef struct StepFault {
  DiagCode code;
  Span span;
  const char *message; /* valid until the machine is started again */
} StepFault;

/* --- Life --------------------------------------------------------------- */

/* A machine without global values; NULL when memory runs out.  The program must
 * outlive the machine. */
StepMachine *step_new(Program *p, StepHost host);
void step_free(StepMachine *m);

/* --- Strategies (strategy.h) --------------------------------------------- */

typedef struct StepStrategy StepStrategy;
const StepStrategy *step_strategy_at(int i); /* NULL: there are no more */
const StepStrategy *step_strategy_find(const char *name); /* or NULL */
const char *step_strategy_name(const StepStrategy *s);
const char *step_strategy_sentence(const StepStrategy *s);
/* It computes no values that could be compared with those of others. */
bool step_strategy_is_abstract(const StepStrategy *s);
/* Before the first start. */
void step_use_strategy(StepMachine *m, const StepStrategy *s);

/* --- Running ------------------------------------------------------------ */

/* Begins a step of a unit; a let's value is kept for later steps. */
void step_start(StepMachine *m, const Step *step);
/* Starts the call of a global function.  `args` is a tuple of its arguments, or
 * NULL if it has none. */
void step_start_call(StepMachine *m, const Global *g, const StepValue *args);
/* A tuple for `count` arguments, and argument `i` set to a copy of a session's
 * value.  They return NULL and false when memory runs out. */
StepValue *step_arguments(StepMachine *m, int count);
bool step_argument(StepMachine *m, StepValue *args, int i, Session *s,
                   const Type *type, Value v);

/* From now on output goes there. */
void step_write_to(StepMachine *m,
                   void (*write)(void *data, const char *text, size_t len),
                   void *data);

/* Applies one rule.  After any other outcome it returns the same outcome again
 * until something is started. */
StepOutcome step_next(StepMachine *m);

/* The rule that was applied last, its place, and the number of rules
 * applied. */
StepRule step_rule(const StepMachine *m);
Span step_span(const StepMachine *m);
uint64_t step_count(const StepMachine *m);

/* --- Runs by shapes (step_shapes.c) --------------------------------------- */

/* An abstract run: what controls a program is computed, large tensors have a
 * shape only. */
typedef struct StepShapes {
  /* Is told of each operator's call, tuples flattened; the tensors of what was
   * not computed have no elements to read. */
  void (*call)(void *data, const OpInfo *op, const Attrs *attrs, int count,
               const Tensor *args, int out_count, const Tensor *outs);
  bool (*asked)(void *data); /* whether to give up, now and then */
  void *data;
  uint64_t calls; /* of functions */
  bool unknown;   /* it ended where elements that were not computed decide */
  bool stopped;   /* `asked` ended it */
} StepShapes;

/* Runs a checked expression.  Nothing is printed.  True: it came to its value;
 * else step_fault says why it did not. */
bool step_run_shapes(StepMachine *m, const Expr *e, StepShapes *shapes);

/* --- Back and forth (step_record.c) ------------------------------------- */

/* Records the last `entries` calls of step_next or fewer.  If there are more,
 * or if they hold more than a quarter of the machine's memory, the older half
 * is dropped.  To be called before the first start. */
void step_keep(StepMachine *m, size_t entries);
/* Returns to the state before the last step_next. step_next then replays the
 * record without evaluating anything again.  Returns false at the beginning of
 * the record. */
bool step_back(StepMachine *m);
/* Whether the record continues from here.  If so, nothing may be started. */
bool step_is_behind(const StepMachine *m);

/* The result, valid until the next start. */
const StepValue *step_result(const StepMachine *m);
const StepFault *step_fault(const StepMachine *m);
/* Begins a limit of time, in seconds, that the caller watches; 0 is none. */
void step_begin_time(StepMachine *m, double limit);
/* Tells a kernel at work, and each one until the next limit begins, to give up:
 * then the step fails with E0703.  May be called from any thread. */
void step_give_up(StepMachine *m);

/* Is it the scalar False? */
bool step_is_false(const StepValue *v);

/* --- Values ------------------------------------------------------------- */

/* Display form, and the JSON of a value, as the VM writes them (a function
 * shows the type that it was written with). */
void step_print(const StepMachine *m, StrBuf *out, const StepValue *v,
                int width);
void step_print_json(const StepMachine *m, StrBuf *out, const StepValue *v);

#endif
