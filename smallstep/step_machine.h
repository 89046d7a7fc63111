/* The inside of the small-step machine: its objects and its parts.
 *
 *   step.c         what to look at next: children, blocks, frames
 *   step_rules.c   the rules of expressions: calls, matches, cells ...
 *   step_op.c      operators
 *   step_check.c   run-time checks of shapes, named dimensions
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
#include "types/types.h"

typedef enum StepObjKind {
  /* Values. */
  V_TENSOR,  /* tensor; index: 1 where it has a shape only */
  V_TUPLE,   /* fields */
  V_DATA,    /* ctor; fields */
  V_CLOSURE, /* expr, an EX_FN; fields: ENV_OF */
  V_CTOR,    /* ctor, as a function */
  V_OP,      /* expr, an EX_OP: an operator as a function */
  V_CELL,    /* fields: CONTENT, which changes; index: its number, from 1 */
  /* In environments only. */
  V_NUMBER,  /* number: the value of a named dimension */
  V_PROMISE, /* expr; index: whether it is evaluated; fields: CONTENT, its
                value, or before that its environment */
  /* Environments: OUTER is the rest, NULL the empty one. */
  E_BIND,  /* key, a Var or TypeVar; fields: OUTER, BOUND */
  E_GROUP, /* bindings, `index` of them; fields: OUTER */
  /* The values of an expression's children, the last first. */
  L_DONE, /* fields: OUTER the rest, BOUND the value */
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
} StepObjKind;

enum { ENV_OF = 0, CONTENT = 0, OUTER = 0, BOUND = 1 };
/* A graph node; what a strategy lets wait, once or for each use. */
enum { PROMISE_NODE, PROMISE_NEED, PROMISE_NAME };
enum { BELOW = 0, ENV = 1, DONE = 2, FRAME_FIELDS = 3 };

typedef struct StepObj StepObj;
struct StepObj {
  StepObj *older; /* every object of the machine, for the sweep */
  uint8_t kind;   /* StepObjKind */
  bool marked;
  uint32_t index;
  uint32_t count; /* fields */
  uint32_t depth; /* of a frame: the number of frames, this one included; of a
                     promise: what waits (PROMISE_) */
  union {
    Tensor *tensor; /* owned */
    const Ctor *ctor;
    const Expr *expr;
    const void *key;
    const Binding *bindings;
    const Global *global;
    int64_t number;
  };
  StepObj *fields[];
};

/* --- The record ------------------------------------------------------------
 * A state is immutable but for what changes in cells, promises and globals; so
 * an entry holds two states and how far in the list of changes it reaches. */

typedef struct StepState {
  const Expr *expr; /* NULL: `value` */
  int at;           /* of a block: the binding to continue with */
  StepObj *value, *env, *frames;
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
  /* What was copied from a session. */
  PtrMap imported;     /* a session's cell -> its copy, a V_CELL */
  VEC(StepObj *) kept; /* the copies */
  Arena arena;         /* of groups of functions */
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

/* Calls an operator with the first `count` of the values.  `e` is the call that
 * names it, or the operator where it is a value. */
void step_operator(StepMachine *m, const Expr *e, int count,
                   const StepObj *args);
/* An operator's call has failed with a fault that is not for want of memory. */
void step_operator_failed(StepMachine *m, const Expr *e, const OpCall *call);

/* The results of a call that was made. */
StepObj *step_results_take(StepMachine *m, const OpCall *call);
/* An operator's call in an abstract run (step_shapes.c). */
void step_shapes_operator(StepMachine *m, OpCall *call, int count,
                          const StepObj *args, const Expr *e);
/* Before elements of the value decide how the run goes on: false, with the run
 * ended, where they were not computed. */
bool step_decides(StepMachine *m, const StepObj *v, Span span);

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
