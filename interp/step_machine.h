/* The inside of the small-step machine: its objects and its parts.
 *
 *   step.c         what to look at next: children, blocks, frames
 *   step_rules.c   the rules of expressions: calls, matches, cells ...
 *   step_op.c      operators
 *   step_check.c   run-time checks of shapes, named dimensions
 *   step_heap.c    objects, environments, their reclamation
 *   step_show.c    values as text */
#ifndef INTERP_STEP_MACHINE_H
#define INTERP_STEP_MACHINE_H

#include "interp/step.h"
#include "ops/ops.h"

typedef enum StepObjKind {
  /* Values. */
  V_TENSOR,   /* tensor */
  V_TUPLE,    /* fields */
  V_DATA,     /* ctor; fields */
  V_CLOSURE,  /* expr, an EX_FN; fields: ENV_OF */
  V_CTOR,     /* ctor, as a function */
  V_OP,       /* expr, an EX_OP: an operator as a function */
  V_CELL,     /* fields: CONTENT, which changes */
  /* In environments only. */
  V_NUMBER,   /* number: what a named dimension is */
  V_PROMISE,  /* expr; index: is it evaluated?  fields: CONTENT, its value or
                 else the environment to evaluate it in */
  /* Environments: OUTER is the rest, NULL the empty one. */
  E_BIND,     /* key, a Var or TypeVar; fields: OUTER, BOUND */
  E_GROUP,    /* bindings, `index` of them; fields: OUTER */
  /* What has been evaluated of an expression's children, the last first. */
  L_DONE,     /* fields: OUTER the rest, BOUND the value */
  /* Frames: expr and index say what waits; fields: BELOW, ENV, DONE. */
  K_CHILD,    /* for child `index` */
  K_BINDING,  /* for the value of binding `index` of a block */
  K_AGAIN,    /* until a delayed node is evaluated; then goes on as before */
  K_FORCE,    /* for a promise's value; DONE is the promise */
  K_CALLED,   /* for the result of a call, to check it at the call's type */
  K_RESULT,   /* for the result of a function, to check it as declared */
  K_DEFINE,   /* for the value of `global` */
} StepObjKind;

enum { ENV_OF = 0, CONTENT = 0, OUTER = 0, BOUND = 1 };
enum { BELOW = 0, ENV = 1, DONE = 2, FRAME_FIELDS = 3 };

typedef struct StepObj StepObj;
struct StepObj {
  StepObj *older;   /* every object of the machine, for the sweep */
  uint8_t kind;     /* StepObjKind */
  bool marked;
  uint32_t index;
  uint32_t count;   /* fields */
  union {
    Tensor *tensor;  /* owned */
    const Ctor *ctor;
    const Expr *expr;
    const void *key;
    const Binding *bindings;
    const Global *global;
    int64_t number;
  };
  StepObj *fields[];
};

struct StepMachine {
  Program *program;
  StepHost host;
  Mem mem;
  Heap heap;
  Arena scratch;        /* of one rule */
  /* The state: an expression, or with expr NULL a value. */
  const Expr *expr;
  int at;               /* of a block: the binding to go on with */
  StepObj *value, *env, *frames;
  VEC(StepObj *) globals;  /* by slot; NULL: no value yet */
  /* What the last rule was. */
  StepRule rule;
  Span span;
  bool applied;
  uint64_t count;
  StepOutcome outcome;
  StepFault fault;
  StrBuf message;
  /* Objects. */
  StepObj *objects;     /* the newest */
  size_t bytes;         /* that they take, views counted like copies */
  size_t threshold;     /* so many make it worth to look for garbage */
  uint32_t promises;    /* made so far */
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
/* What a variable or named dimension is bound to; NULL: nothing. */
StepObj *step_lookup(StepMachine *m, StepObj *env, const void *key);
/* Frees what the state does not lead to, when there is enough of it. */
void step_reclaim(StepMachine *m);
void step_free_all(StepMachine *m);

/* --- The state ---------------------------------------------------------- */

static inline void step_to_expr(StepMachine *m, const Expr *e, StepObj *env) {
  m->expr = e;
  m->at = 0;
  m->env = env;
}
static inline void step_to_value(StepMachine *m, StepObj *v) {
  m->expr = NULL;
  m->value = v;
}
static inline void step_applied(StepMachine *m, StepRule rule, Span span) {
  m->rule = rule;
  m->span = span;
  m->applied = true;
}
/* Ends the evaluation with an error; false. */
bool step_fail(StepMachine *m, DiagCode code, Span span, const char *format,
               ...) __attribute__((format(printf, 4, 5)));

/* --- Rules (step_rules.c, step_op.c) ------------------------------------ */

void step_var(StepMachine *m, const Expr *e);
void step_global(StepMachine *m, const Expr *e);
void step_dim(StepMachine *m, const Expr *e);
/* `args`: a V_TUPLE of the children's values, that of the callee last. */
void step_reduce(StepMachine *m, const Expr *e, StepObj *args);
/* Evaluates a promise; its value goes to the top frame. */
void step_force(StepMachine *m, StepObj *promise, Span span);

/* Calls an operator with the first `count` of the values. */
void step_operator(StepMachine *m, const Expr *op, const Attrs *attrs,
                   int count, const StepObj *args, Span span);

/* --- Checks (step_check.c) ---------------------------------------------- */

/* Binds parameters and named dimensions and checks the arguments against what
 * is declared.  False after failing. */
bool step_enter(StepMachine *m, const Fn *fn, const StepObj *args,
                StepObj **env);
/* Where types_need_check demands it: does the value fit?  False after
 * failing. */
bool step_check(StepMachine *m, const StepObj *v, const Type *actual,
                const Type *expected, StepObj *env, const char *what,
                Span span);
/* The same for what comes out of a container or a function. */
bool step_check_out(StepMachine *m, const StepObj *v, const Type *actual,
                    const Type *expected, StepObj *env, const char *what,
                    Span span);

#endif
