/* The inside of the small-step machine: its objects and its parts.
 *
 *   step.c         what to look at next: children, blocks, frames
 *   step_rules.c   the rules of expressions: calls, matches, cells ...
 *   step_op.c      operators
 *   step_check.c   run-time checks of shapes, named dimensions
 *   step_derivative.c  forms of derivatives, and what they record
 *   step_trace.c   what a value depends on
 *   step_sweep.c   the reverse sweep; step_adjoint.c the sums in it
 *   step_tangent.c the forward one
 *   step_heap.c    objects, environments, their reclamation
 *   step_record.c  the states that were, and the way back to them
 *   step_import.c  a session's values
 *   step_shapes.c  runs without large tensors
 *   step_show.c    values as text */
#ifndef SMALLSTEP_STEP_MACHINE_H
#define SMALLSTEP_STEP_MACHINE_H

#include "smallstep/step.h"
#include "kernels/call.h"
#include "ops/ops.h"
#include "types/gradient.h"
#include "types/types.h"

typedef enum StepObjKind {
  /* Values. */
  V_TENSOR,  /* tensor, abstract; fields: ORIGIN */
  V_TUPLE,   /* fields */
  V_DATA,    /* ctor; fields */
  V_CLOSURE, /* expr, an EX_FN; fields: ENV_OF */
  V_CTOR,    /* ctor, as a function */
  V_OP,      /* expr, an EX_OP: an operator as a function */
  V_CELL,    /* serial, imported; fields: CONTENT, which changes */
  V_FORM,    /* a function that a form of derivatives gave; expr: the form's
                call; fields: what the form was given, or the run (V_RUN) that
                vjp's second result sweeps */
  /* In environments only. */
  V_NUMBER,  /* number: the value of a named dimension */
  V_PROMISE, /* expr, evaluated, waits; fields: CONTENT, its value, or before
                that its environment */
  /* Environments: OUTER is the rest, NULL the empty one. */
  E_BIND,  /* key, a Var or TypeVar; fields: OUTER, BOUND */
  E_GROUP, /* bindings, `size` of them; fields: OUTER */
  /* The values of an expression's children, the last first. */
  L_DONE, /* fields: OUTER the rest, BOUND the value */
  /* Where the floats of a tensor came from, in a program that differentiates
   * (step_derivative.c), each with a serial. */
  R_OPERATOR, /* site; fields: RECORD_VALUE, RECORD_ARGS */
  R_CUSTOM,   /* expr: the call of with_vjp; the same, and RECORD_REVERSE */
  R_INPUT,    /* of a run; key: the parameter, or NULL; fields: RECORD_VALUE, a
                 tensor, and RECORD_OF, what it is outside the run */
  R_READ,     /* out of a cell; cell: its number, 0 if a session's; the same */
  /* Derivatives under way. */
  V_RUN,     /* before, inputs; cells: the cells before it; fields: RUN_INPUTS,
                RUN_VALUE */
  V_SWEEP,   /* left, sweep, operand; fields: SWEEP_RUN and so on */
  L_ADJOINT, /* key: whose; fields: OUTER, BOUND its sum so far, ROWS */
  /* Frames: expr and index say what waits; fields: BELOW, ENV, DONE. */
  K_CHILD,   /* for a child: `index` is its turn and the order (step_turn) */
  K_BINDING, /* for the value of binding `index` of a block */
  K_AGAIN,   /* for a delayed node; then evaluation continues as before */
  K_FORCE,   /* for a promise's value; DONE is the promise */
  K_CALLED,  /* for the result of a call, to check it against the call's type */
  K_RESULT,  /* for the result of a function, to check it against its declared
                type */
  K_ARMS,    /* for the scrutinee of a match whose first `index` arms did not
                take it */
  K_GUARD,   /* for the guard of arm `index`; DONE has the scrutinee */
  K_DEFINE,  /* for the value of `global` */
  K_RUN,     /* for the value of what is differentiated, index: RunOf; DONE is
                the run */
  K_CUSTOM,  /* for the value of a function with a rule of its own; DONE has the
                form, and the arguments as its record keeps them */
  K_SWEEP,   /* for what a rule gives, if index is SWEEP_RULE, or just its turn;
                DONE is the sweep */
} StepObjKind;

enum { ENV_OF = 0, CONTENT = 0, OUTER = 0, BOUND = 1 };
/* A graph node; what a strategy lets wait, once or for each use. */
enum { PROMISE_NODE, PROMISE_NEED, PROMISE_NAME };
enum { BELOW = 0, ENV = 1, DONE = 2, FRAME_FIELDS = 3 };
enum { ORIGIN = 0 };
enum {
  RECORD_VALUE,
  RECORD_AFTER, /* the record whose tangents it is about; or NULL */
  RECORD_ARGS,
  RECORD_REVERSE,
  RECORD_OF = RECORD_ARGS
};
enum { RUN_INPUTS, RUN_VALUE, RUN_TANGENTS, RUN_FIELDS };
typedef enum RunOf { RUN_OF_GRAD, RUN_OF_VJP, RUN_OF_JVP } RunOf;

typedef struct StepObj StepObj;
struct StepObj {
  StepObj *older; /* every object of the machine, for the sweep */
  uint8_t kind;   /* StepObjKind */
  bool marked;
  uint32_t count; /* fields */
  union {
    uint32_t index;     /* of a frame: which part it waits for */
    uint32_t abstract;  /* of a tensor: 1 where it has a shape only */
    uint32_t serial;    /* of a cell or a record: its number, from 1 on */
    uint32_t evaluated; /* of a promise: 1 where it is */
    uint32_t size;      /* of a group: its bindings */
    uint32_t before;    /* of a run: the records before it */
    uint32_t left;      /* of a sweep: the records that it has not met yet */
    uint32_t what;      /* of a SWEEP_DID: StepDid */
  };
  union {
    uint32_t depth;    /* of a frame: the number of frames, this one included */
    uint32_t imported; /* of a cell: 1 where it came from a session */
    uint32_t waits;    /* of a promise: PROMISE_ */
    uint32_t inputs;   /* of a run: the records before it and of its inputs */
    uint32_t sweep;    /* of a sweep: SweepKind */
  };
  union {
    Tensor *tensor; /* owned */
    const Ctor *ctor;
    const Expr *expr;
    const void *key;
    const Binding *bindings;
    const Global *global;
    const struct StepSite *site;
    int64_t number;
    uint32_t cell, cells, operand;
  };
  StepObj *fields[];
};

/* An operator as it is called. */
typedef struct StepSite {
  const Expr *expr; /* the call, or where it is a value the operator; of what a
                       sweep calls, where it was at work */
  const Attrs *attrs;
} StepSite;

/* --- The record ------------------------------------------------------------
 * A state is immutable but for what changes in cells, promises and globals; so
 * an entry holds two states and how far in the list of changes it reaches. */

typedef struct StepState {
  const Expr *expr; /* NULL: `value` */
  int at;           /* of a block: the binding to continue with */
  StepObj *value, *env, *frames;
  StepObj *along;   /* the record whose tangents are being found; or NULL */
  StepObj *customs; /* a list of all R_CUSTOM since the first run began */
  uint32_t runs;    /* under way: operators are recorded */
} StepState;

typedef struct StepChange {
  StepObj *of; /* the object whose CONTENT changed; NULL: the global value at
                  `slot` */
  size_t slot;
  StepObj *was, *is;
} StepChange;

typedef struct StepEntry {
  StepState redex, after;
  StepOutcome outcome;
  StepRule rule; /* STEP_RULE: the rule that was applied */
  Span span;
  uint32_t low; /* the least depth of frames since the entry before; UINT32_MAX:
                   no frame was left */
  uint32_t
      job; /* the number of the start that it follows, as the host counts */
  uint64_t count; /* rules applied so far */
  size_t changes; /* so far */
} StepEntry;

struct StepMachine {
  Program *program;
  StepHost host;
  Mem *mem; /* a child of the program's: what kernels hang on its constants may
               outlive the machine */
  Heap heap;
  Arena scratch;     /* of one rule */
  double time_limit; /* in seconds; the message of a kernel that gave up */
  _Atomic int stop;  /* nonzero: a kernel at work gives up */
  /* The state: an expression, or with expr NULL a value. */
  StepState now;
  StepState
      redex; /* the environment when the last rule was applied or failed */
  VEC(StepObj *) globals; /* by slot; NULL: no value yet */
  /* The last rule. */
  StepRule rule;
  Span span;
  bool applied;
  uint64_t count;
  StepOutcome outcome;
  StepFault fault;
  StrBuf message;
  /* Objects. */
  StepObj *objects;  /* the newest */
  size_t bytes;      /* bytes of objects; a view counts as a copy */
  size_t threshold;  /* the number of bytes that starts a collection */
  uint32_t promises; /* the number of promises made so far */
  uint32_t cells;    /* the number of cells made so far */
  uint32_t records;  /* likewise, R_OPERATOR and the like */
  /* What was copied from a session. */
  PtrMap imported;     /* a session's cell -> its copy, a V_CELL */
  VEC(StepObj *) kept; /* the copies */
  Arena arena;         /* of groups of functions, and of sites */
  PtrMap sites;        /* an expression -> its StepSite */
  PtrMap rules;        /* attributes -> the StepRuleMade of their operator */
  const Attrs *adding[ADJOINT_OPS]; /* an entry NULL: not used yet */
  /* The record. */
  size_t keep; /* the most entries; 0: there is no record */
  VEC(StepEntry) entries;
  VEC(StepChange) changes;
  size_t entry;      /* entries up to the current state */
  size_t changed;    /* changes up to the current state */
  uint32_t low, job; /* of the next entry */
  /* Called before the machine looks at an expression or hands on a value, at
   * every move, also those that are no step; NULL: nobody watches. */
  void (*watch)(void *data, const StepMachine *m);
  void *watch_data;
  StepShapes *shapes;    /* of an abstract run; else NULL */
  StepShapes own_shapes; /* where a strategy runs so */
  const StepStrategy *strategy;
};

/* --- Objects (step_heap.c) -------------------------------------------------
 * Each gives NULL when memory runs out; the machine notices before it goes on,
 * so a NULL may be stored but not looked into.  Nothing is reclaimed while a
 * rule is being applied. */

StepObj *step_obj(StepMachine *m, StepObjKind kind, uint32_t count);
StepObj *step_tensor_take(StepMachine *m, Tensor *t);
StepObj *step_unit(StepMachine *m);
StepObj *step_closure(StepMachine *m, const Expr *fn, StepObj *env);
StepObj *step_pair(StepMachine *m, StepObjKind kind, const void *key,
                   StepObj *outer, StepObj *bound);
void step_push(StepMachine *m, StepObjKind kind, const Expr *e, int index,
               StepObj *env, StepObj *done);
/* The `n` values of a list of L_DONE as the fields of an object. */
StepObj *step_gather(StepMachine *m, StepObjKind kind, uint32_t n,
                     const StepObj *done);
/* `count` fields of an object, from `first` on, as those of another. */
StepObj *step_slice(StepMachine *m, StepObjKind kind, const StepObj *of,
                    int first, int count);
/* The value of a variable; NULL: it is not bound. */
StepObj *step_lookup(StepMachine *m, StepObj *env, const void *key);
/* The number of a named dimension; -1: not known. */
int64_t step_lookup_dim(StepMachine *m, StepObj *env, const TypeVar *var);
/* Calls `visit` for each cell that the state reaches, the newest first. */
void step_each_cell(StepMachine *m,
                    void (*visit)(void *data, const StepObj *cell), void *data);
/* Frees the unreachable objects if enough bytes are in use. */
void step_reclaim(StepMachine *m);
void step_free_all(StepMachine *m);

/* Child `i` of an expression in order of evaluation; NULL: there is none.
 * Operators and constructors that are called by name are no children. */
const Expr *step_child(const Expr *e, int i);
/* Children have values by turns.  The index of a K_CHILD is a turn, from 0, and
 * the order in the bits above: of `index`, which turn it is and which child has
 * it; and which turn child `i` has. */
enum { TURN_BITS = 29 };
static inline int step_turn(uint32_t index) {
  return (int)(index & ((1u << TURN_BITS) - 1));
}
int step_child_at(const Expr *e, uint32_t index);
int step_turn_of(const Expr *e, uint32_t index, int i);

/* --- Changes (step_record.c) -------------------------------------------- */

/* Changes the content of a cell or promise, or the value of a global. */
void step_set(StepMachine *m, StepObj *of, StepObj *content);
void step_set_global(StepMachine *m, size_t slot, StepObj *value);
/* Goes forward again to the state before step_back. */
StepOutcome step_again(StepMachine *m);
/* Records what the machine just did. */
void step_enter_record(StepMachine *m);
/* Drops the older half of the record.  Returns false if nothing is left to
 * drop. */
bool step_forget(StepMachine *m);

/* --- A session's values (step_import.c) ---------------------------------- */

/* The value of a global in the host's session; NULL: it has none. */
StepObj *step_import_global(StepMachine *m, const Global *g);
/* The value of a param; NULL: it has none. */
StepObj *step_import_param(StepMachine *m, const Global *g);

/* --- The state ---------------------------------------------------------- */

static inline void step_to_expr(StepMachine *m, const Expr *e, StepObj *env) {
  m->now.expr = e;
  m->now.at = 0;
  m->now.env = env;
}
static inline void step_to_value(StepMachine *m, StepObj *v) {
  m->now.expr = NULL;
  m->now.value = v;
}
static inline void step_applied(StepMachine *m, StepRule rule, Span span) {
  m->rule = rule;
  m->span = span;
  m->applied = true;
}
/* Ends the evaluation with an error and returns false. */
bool step_fail(StepMachine *m, DiagCode code, Span span, const char *format,
               ...) __attribute__((format(printf, 4, 5)));

/* --- Rules (step_rules.c, step_op.c) ------------------------------------ */

void step_var(StepMachine *m, const Expr *e);
void step_global(StepMachine *m, const Expr *e);
void step_dim(StepMachine *m, const Expr *e);
/* `args` is a V_TUPLE of the children's values, the callee's last. */
void step_reduce(StepMachine *m, const Expr *e, StepObj *args);
/* A match's frame has the value that it waits for: K_ARMS, K_GUARD. */
void step_arms(StepMachine *m, const StepObj *frame);
void step_guard(StepMachine *m, const StepObj *frame);
/* Evaluates a promise; the top frame receives its value. */
void step_force(StepMachine *m, StepObj *promise, Span span);

/* Calls a closure, an operator or a constructor, likewise. */
void step_apply(StepMachine *m, const Expr *e, StepObj *f, const StepObj *args,
                int count);
/* Calls an operator with the first `count` of the values.  `e` is the call that
 * names it, or the operator where it is a value. */
void step_operator(StepMachine *m, const Expr *e, int count,
                   const StepObj *args);
/* An operator's call has failed with a fault that is not for want of memory. */
void step_operator_failed(StepMachine *m, const Expr *e, const OpCall *call);

/* An operator that is no effect and no form.  A failure points at the site's
 * expression. */
void step_kernel(StepMachine *m, const StepSite *site, int count,
                 const StepObj *args);

/* The results of a call that was made. */
StepObj *step_results_take(StepMachine *m, const OpCall *call);
/* An operator's call in an abstract run (step_shapes.c). */
void step_shapes_operator(StepMachine *m, OpCall *call, int count,
                          const StepObj *args, const Expr *e);
/* Before elements of the value decide how the run goes on: false, with the run
 * ended, where they were not computed. */
bool step_decides(StepMachine *m, const StepObj *v, Span span);

/* --- Derivatives (step_derivative.c) -------------------------------------- */

/* What a form gives for its arguments, or begins to compute. */
void step_form(StepMachine *m, const Expr *e, int count, const StepObj *args);
/* Calls a function, which a form may have given, with the first `count` of the
 * values, for the call `e`. */
void step_call_function(StepMachine *m, const Expr *e, StepObj *f,
                        const StepObj *args, int count);
/* The function that a call of `f` enters, out of all forms around it; a V_FORM
 * where that is the sweep of vjp. */
const StepObj *step_entered(const StepObj *f);
/* The value that frames of derivatives waited for has come. */
void step_run_done(StepMachine *m, const StepObj *frame);
void step_custom_done(StepMachine *m, const StepObj *frame);
/* Records what an operator gave, if one of its `count` operands has an
 * origin. */
void step_record(StepMachine *m, const StepSite *site, int count,
                 const StepObj *args, StepObj *value);
/* A value without origins, where no run is under way. */
StepObj *step_leaving(StepMachine *m, StepObj *v);
/* A cell's content, as what is differentiated reads it. */
StepObj *step_content(StepMachine *m, const StepObj *cell);

typedef enum StepCopied {
  COPY_PLACES, /* tuples and data are copied, once for each place of a part */
  COPY_DATA,   /* they are, a part once, however many places it has */
  COPY_ALL,    /* and so is what functions captured */
} StepCopied;

/* A copy of a value, with what `leaf` gives in the place of each tensor. */
StepObj *step_copy(StepMachine *m, StepObj *v, StepCopied what,
                   StepObj *(*leaf)(StepMachine *m, StepObj *t, void *data),
                   void *data);
static inline bool step_is_float(const StepObj *v) {
  return v->kind == V_TENSOR && dtype_is_float((DType)v->tensor->dtype);
}
/* A tensor as the input of a run that begins: of this parameter, or NULL. */
StepObj *step_input(StepMachine *m, StepObj *t, void *param);
/* Zeros like a tensor. */
StepObj *step_zeros(StepMachine *m, const StepObj *like);

/* --- The sweep (step_sweep.c) --------------------------------------------- */

enum {
  SWEEP_RUN,
  SWEEP_RECORDS,  /* a tuple, in the order of making: the run's inputs, and what
                     depends on them */
  SWEEP_ADJOINTS, /* a list of L_ADJOINT; a newer one hides an older one */
  SWEEP_TODO,     /* parts of adjoints that are still to be added */
  SWEEP_ALONG_OF, /* SWEEP_BACK: the tangents found so far, likewise */
  SWEEP_OUTER,    /* SWEEP_ALONG: StepState.along of what it is part of */
  SWEEP_DID,      /* the last step: a tuple of DID_ */
  SWEEP_FIELDS
};
/* What records are gone over for. */
typedef enum SweepKind {
  SWEEP_GRAD,  /* the value and the gradient, from the adjoint 1 */
  SWEEP_VJP,   /* the adjoints of the inputs, from one of the value */
  SWEEP_ALONG, /* the value and its tangent, forward */
  SWEEP_BACK,  /* one record, for its tangents (step_tangent.c) */
  SWEEP_FOUND, /* the tangents of that: () where there is none */
} SweepKind;
/* What a step of a sweep did. */
typedef enum StepDid {
  DID_RULE,      /* entered a rule, from an adjoint */
  DID_SUM,       /* added a part */
  DID_BROADCAST, /* summed a part over what was broadcast */
  DID_IN_ROWS,   /* added a part to some rows */
  DID_PRODUCTS,  /* one product of the pairs that waited, a list */
  DID_ROWS,      /* the sum of the rows that waited, likewise */
  DID_TANGENT,   /* applied an operator to tangents */
} StepDid;
/* Its fields: the record that the sweep stood at; the tensor whose adjoint
 * changed, or NULL; what it changed from. */
enum { DID_AT, DID_OF, DID_FROM, DID_FIELDS };
/* What a K_SWEEP waits for: its turn; what a rule gives; along, what the sweeps
 * of a rule give. */
enum { SWEEP_TURN, SWEEP_RULE, SWEEP_SWEPT };
/* Sweeps a run from the adjoint of its value, for the call `e`; with `adjoint`
 * NULL from 1. */
void step_sweep(StepMachine *m, const Expr *e, SweepKind kind, StepObj *run,
                StepObj *adjoint);
void step_sweep_on(StepMachine *m, const StepObj *frame);
/* Likewise forward, from the tangents of the run's inputs. */
void step_along(StepMachine *m, const Expr *e, StepObj *run);

/* --- Checks (step_check.c) ---------------------------------------------- */

/* Binds parameters and named dimensions and checks the arguments against the
 * declared types.  Returns false after a failure. */
bool step_enter(StepMachine *m, const Fn *fn, const StepObj *args,
                StepObj **env);
/* Checks the value against the type where types_need_check demands it.  Returns
 * false after a failure. */
bool step_check(StepMachine *m, const StepObj *v, const Type *actual,
                const Type *expected, StepObj *env, const char *what,
                Span span);
/* The same for a value that comes out of a container or a function. */
bool step_check_out(StepMachine *m, const StepObj *v, const Type *actual,
                    const Type *expected, StepObj *env, const char *what,
                    Span span);

#endif
