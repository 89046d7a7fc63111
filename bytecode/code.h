/* Code: functions, and what the VM must know of their instructions (ins.h).
 *
 * A Function is one instance of a definition: of a global, a `fn`, a
 * constructor or an operator used as a value, or a step of a script, for one
 * combination of representations of the type parameters in scope.  It exists
 * as soon as a call of it is lowered; its instructions are made when it is
 * first entered (lower/), under the code's lock, and are immutable after. */
#ifndef BYTECODE_CODE_H
#define BYTECODE_CODE_H

#include "base/forks.h"
#include "bytecode/ins.h"
#include "bytecode/instance.h"
#include "kernels/fuse.h"
#include "types/stretch.h"
#include "types/types.h"
#include "value/value.h"

/* --- Sites: what an instruction's word points to ------------------------ */

/* Where one operand of an operator comes from. */
typedef enum SourceKind {
  FROM_TENSOR, /* a register holds a tensor */
  FROM_BITS,   /* a register holds a scalar's bits */
  FROM_TUPLE,  /* a register holds a tuple of those */
} SourceKind;

/* Axes of length 1 that the operator sees in addition: `count` from `axis` on,
 * which makes `rank`.  Rank 0: it sees the source as it is. */
typedef struct SourceView {
  uint8_t rank, axis, count;
  bool zeros; /* it sees 0 for each element */
} SourceView;

typedef struct OpSource {
  SourceKind kind;
  DType dtype;      /* FROM_BITS */
  SourceView view;  /* not of tuples */
  const Type *type; /* of what the register holds */
} OpSource;

enum { NO_PLAN = UINT32_MAX };

/* What the machine does itself, where the operands allow it at run time,
 * without a call of the kernel. */
typedef enum Shortcut {
  SHORTCUT_NONE,
  /* gather_nd or scatter_nd of one row, whose number is a scalar in a register:
   * the row is read, set, set to zeros, or added to the one that is there */
  ROW_READ,
  ROW_SET,
  ROW_CLEARED,
  ROW_ADDED,
  SHAPE_GIVEN, /* operand 0 under the shape of operand 1 */
} Shortcut;

typedef struct OpSite {
  const OpInfo *op;
  const Attrs *attrs;
  Span span;
  uint32_t number;   /* of its plan (vm/op_plan.h), or NO_PLAN */
  uint32_t by_value; /* a bit for each operand that holds an attribute: the plan
                        depends on its elements, not only on its shape */
  uint32_t kept_by; /* a bit for each operand on whose elements a result depends
                       that the plan keeps */
  bool keeps;       /* the plan keeps the result: a few integers */
  bool open; /* the checker could not run the rule on all that it depends on: an
                attribute is an operand, or a rank is not known */
  int source_count; /* registers read */
  const OpSource *sources;
  int arg_count;                          /* operands, tuples flattened */
  int out_count;                          /* tensors produced */
  struct Derivative *_Atomic derivatives; /* added to under the lock */
  bool gives_tuple;
  Shortcut shortcut;
  const Type *const *out_types; /* rank 0: the bits are taken */
  const Span *places; /* of the call's operands, a tuple being one, where some
                         hold attributes; else NULL */
} OpSite;

/* An input of a chain: a source, or what an operator shows of it that is not
 * run: one of its even parts along an axis (split), or a row, whose number is
 * another source (take). */
typedef struct ChainInput {
  const struct OpSite *view; /* that operator; NULL: the whole */
  uint8_t source, axis;
  uint8_t part, parts; /* parts 0: a row */
  uint8_t index;       /* the source that has its number */
} ChainInput;

/* Element-wise operators that run as one (kernels/fuse.h).  Where the shapes
 * that come up do not allow it, the members run one by one.
 *
 * Each output of the fused program is a result of the chain, in the same order,
 * unless only a concatenation reads it, which the chain then does as well: its
 * result comes last. */
typedef struct ChainSite {
  const Fuse *fuse;
  uint32_t number;  /* of its plan (plan.h) */
  int source_count; /* registers read */
  const OpSource *sources;
  const ChainInput *inputs;
  const OpSite *const *members; /* a step each */
  const OpSite *join;           /* that concatenation, or NULL */
  const uint8_t *parts; /* for each output: 1 + its operand position in `join`;
                           0: it is no operand of `join` */
  const Type *const *out_types;
  int out_count;
  const char *name; /* "multiply+add" */
} ChainSite;

typedef struct ScalarSite {
  ScalarFn fn;
  const OpInfo *op;
  DType types[4]; /* of the result and the operands */
} ScalarSite;

/* What the machine found of how to differentiate an operator at a site, one
 * for each combination of ranks and dtypes that came up (vm/dual.c). */
struct Derivative;
typedef struct Function Function;

/* What the machine found of how to differentiate a stretch, one for each key
 * that came up (vm/stretch.c). */
typedef struct StretchRule {
  struct StretchRule *next;
  StretchKey key;
  StretchSweep sweep;
  Function *plain, *dual; /* of the sweep; NULL: it gives nothing */
} StretchRule;

/* What gives the tangents of a stretch's results in a forward run in which
 * these inputs vary. */
typedef struct StretchForward {
  struct StretchForward *next;
  uint32_t varies; /* bit i: input i does */
  StretchTangents tangents;
  Function *plain; /* of these; NULL: there is none */
} StretchForward;

/* Operators of differentiated code that run one after the other as in other
 * code, and are recorded as one (lower/stretch.c).  The first inputs of the
 * stretch are floats, which may vary. */
typedef struct StretchSite {
  const Stretch *stretch;
  int input_count; /* of those that may vary */
  int saved_count;
  const int *saved;       /* values that the reverse sweep reads, ascending */
  uint64_t saved_objects; /* bit i: value saved[i] is no scalar */
  uint32_t own; /* bit i: an operator of the stretch reads result i, for
                   which rows may wait */
  Cell *none;   /* the record of a run in which nothing varies */
  Span span;
  StretchRule *_Atomic rules; /* added to under the lock; so are */
  StretchForward *_Atomic forwards;
} StretchSite;

/* Names beyond these are not compared. */
enum { CHECK_NAMES_MOST = 32 };

/* A value must fit the type `expected`. */
typedef struct CheckSite {
  const Type *expected;
  const char *what; /* "argument", "result", ... */
  Span declared;    /* where the expected type stands */
  int name_count;   /* named dimensions that the listed registers hold, at most
                       CHECK_NAMES_MOST */
  const void *const *names;
} CheckSite;

/* --- Functions ---------------------------------------------------------- */

/* A function that needs its types (env_needs_types) is lowered for ones of up
 * to this many nodes; beyond (where it calls itself at ever larger ones) for
 * their representation. */
enum { SHOWN_TYPE_SIZE = 10000 };

/* What unwinding drops when instruction `at` is under way. */
typedef struct LiveAt {
  uint32_t at, first, count;
} LiveAt;

/* How a parameter is passed.  A borrowed one stays the caller's: the callee
 * neither drops it nor moves it on, and the caller holds it until the call has
 * returned. */
typedef enum ParamMode {
  PARAM_BITS, /* not counted */
  PARAM_OWNED,
  PARAM_BORROWED,
} ParamMode;

/* A tuple of this many fields is returned unboxed, each field in a register of
 * its own, by the instance that direct calls use. */
enum { RESULTS_LEAST = 2, RESULTS_MOST = 8 };

struct Function {
  const Word *_Atomic code;
  _Atomic uint32_t nregs; /* the window, outgoing area included */
  uint32_t nparams;       /* `self` included */
  const ParamMode *params;
  uint32_t result_count; /* of an unboxed tuple; 0: one result, boxed */
  bool result_counted[RESULTS_MOST];
  bool lowered;
  bool listed; /* its code is found by address (code_place) */
  InstanceKey key;
  const char *name;              /* in traces */
  Cell *closure;                 /* immortal, when it captures nothing */
  struct Function *_Atomic dual; /* the same, differentiated; NULL: not yet */
  struct Function *next; /* the next instance whose key has the same hash */
  Word stub[2];          /* what `code` is at first */
  uint32_t unit_count;
  const Span *spans; /* one a unit */
  uint32_t live_at_count;
  const LiveAt *live_at; /* ascending */
  const uint16_t *live;
};

/* The code of a program, shared by its sessions: every function reached so far,
 * one instance for each combination of representations of its type parameters.
 */
typedef struct ParamValue {
  bool given;
  Value value;
} ParamValue;

/* Arguments that a rule of differentiation may take, a stretch's too. */
enum { DUAL_SITES = 68, RULE_ARGS_MOST = 48 };

typedef struct Code {
  Program *program;
  const Name *nameless; /* for what a closure captures that has no name in the
                           text; names belong to the context, which is locked
                           while the code is made and not later */
  bool stops_anywhere;  /* any instruction may be where a run ends */
  bool verifies;        /* code is looked at before it runs: verify.h */
  Mem *mem;
  Arena arena;
  pthread_mutex_t lock;
  ForkGuard guard;
  PtrMap instances;    /* an InstanceKey's hash -> the first Function */
  PtrMap borrowed;     /* a global's EX_FN -> bool for each parameter
                          (lower/borrow.c) */
  PtrMap plain;        /* a type -> its Functions of code_plain */
  PtrMap builds_tuple; /* an EX_FN -> whether it builds its result, a tuple,
                          itself (lower/unboxed.c) */
  bool loose;          /* as the program was when code was last made */
  VEC(Function *) functions;
  bool sorted;                    /* by address of their code */
  VEC(ParamValue) params;         /* by slot */
  VEC(Tensor *) param_tensors;    /* the tensors in them, immortal */
  SharedValues shared;            /* under the lock, too */
  OpSite *dual_sites[DUAL_SITES]; /* the reverse sweep's own (vm/pull.c) */
  uint32_t plan_count;            /* sites that have one in a session */
} Code;

/* --- Life --------------------------------------------------------------- */

Code *code_new(Program *p); /* NULL when memory runs out */
void code_free(Code *c);
/* Binds a param to an immortal copy of the value, which holds tensors, tuples
 * and constructors, before any session starts.  Elements of the program's own
 * heap are shared with the copy.  False when memory runs out. */
bool code_bind_param(Code *c, const Global *param, Value value);
/* The value; NULL: it has none yet. */
const Value *code_param(const Code *c, const Global *param);

/* Before any code is made: runs may end at any instruction. */
void code_stop_at_nans(Code *c);
/* Looks whether the code made from now on is sound (verify.h), as debug builds
 * do anyway; a function whose code is not ends the run with E0706. */
void code_verify_all(Code *c);

/* --- Instances ---------------------------------------------------------- */

/* The instance of this key, made when there is none; what the code is for as a
 * whole (loose, stops) is put into the key.  Under the lock, like what follows.
 */
Function *code_instance(Code *c, InstanceKey key);
/* Lists an instance for which there was no memory when it was made; false:
 * there still is none. */
bool code_list(Code *c, Function *f);
/* Forgets the functions made since there were `known`: memory ran out while the
 * code that was to use them was made. */
void code_forget(Code *c, size_t known);
/* Did memory run out since the lock was taken?  The answer is given once. */
bool code_refused(Code *c);
/* The instance that direct calls use: it borrows what it need not own.  With
 * `checks` it compares its arguments with its parameters' types: they bind
 * named dimensions, or the callers are not known. */
Function *code_global(Code *c, const Global *g, const Env *env, bool checks);
/* What evaluates a step. */
Function *code_step(Code *c, const Expr *expr, const Global *global);
/* The same function in the instance that owns its parameters. */
Function *code_owning(Code *c, Function *f);
/* Makes all code anew when the program has become loose since: it has to check
 * more.  Every run begins with it, under the lock.  A program changes only
 * while no session runs, so the first run after a change does the work, and no
 * other has begun by then. */
void code_refresh(Code *c);
/* The same function in the instance for tail recursion modulo cons, borrowing
 * as much. */
Function *code_trmc(Code *c, Function *f);
/* The same function in the instance that returns its tuple unboxed; the
 * function itself where its result is no tuple of that size. */
Function *code_unboxed(Code *c, Function *f);
/* The instance specialised for calls that pass these functions, one for each
 * parameter; NULL entries stand for any argument. */
Function *code_specialised(Code *c, Function *f, Function *const *callees);
/* Are they one function, called in different ways? */
static inline bool function_same(const Function *f, const Function *g) {
  return instance_key_same_body(&f->key, &g->key);
}

/* What an address of code belongs to. */
typedef struct CodePlace {
  const Function *function; /* NULL: none */
  Span span;                /* SPAN_NONE: the function is not lowered yet */
  const LiveAt *live;       /* NULL: nothing is */
} CodePlace;
/* Takes the lock: other sessions may be lowering other functions.  `at` is NULL
 * in a session that has run nothing, whose place is SPAN_NONE. */
CodePlace code_place(Code *c, const Word *at);

/* The parts of a closure (instance.h has the layout): its function, and the
 * cell that holds what it captured. */
static inline Function *closure_function(const Cell *closure) {
  return (Function *)(uintptr_t)closure->fields[CLOSURE_CODE].bits;
}
static inline Cell *captures_cell(const FnGroup *g, Cell *closure) {
  return captures_packed(g) ? closure->fields[CLOSURE_CAPTURES].cell : closure;
}
/* The immortal closure of a function that captures nothing. */
Cell *code_closure(Code *c, Function *f);

/* --- Differentiation ------------------------------------------------------ */

/* The groups of a site's operands, attributes that are operands last; NULL:
 * memory ran out. */
int *site_groups(Arena *arena, const OpSite *site, int *count);
/* The rule for a key of a stretch, made when there is none, under the lock and
 * the program's (hold_shared); NULL: there is none that fits, or memory ran
 * out. */
const StretchRule *stretch_rule(Code *c, StretchSite *site, StretchKey key);
/* Likewise for a forward run; NULL: memory ran out. */
const StretchForward *stretch_forward(Code *c, StretchSite *site,
                                      uint32_t varies);

/* Code that is being differentiated is an instance of its own, whose
 * environment is `dual`.  There a tensor of floats, a scalar too, is a counted
 * object: a tensor, which is a constant, or a Dual (vm/dual.h).  All else is as
 * elsewhere, so a cell made by other code serves as it is: whether a field of
 * it is a scalar's bits, its header says. */
static inline bool env_is_dual(const Env *env) { return env && env->dual; }
static inline bool type_is_float(const Type *t) {
  return t->kind == TY_TENSOR && dtype_is_float((DType)t->dtype);
}
static inline bool type_is_float_scalar(const Type *t) {
  return type_is_scalar(t) && dtype_is_float((DType)t->dtype);
}
/* Is a value of this type an object, and not bits, in code that is dual or
 * not? */
static inline bool type_is_object_in(const Type *t, bool dual) {
  return type_is_counted(t) || (dual && type_is_float_scalar(t));
}
/* The cell of a tape: of which run it is (tape_run in vm/dual_tape.h); the
 * value, once there is one; the inputs. */
enum { TAPE_RUN, TAPE_VALUE, TAPE_INPUTS };

/* Flags of the instruction `begin`.  RUN_DUAL: the code in which it stands is
 * differentiated itself.  RUN_FORWARD: the run is of jvp, and has tangents in
 * the place of a tape. */
enum { RUN_DUAL = 1, RUN_FORWARD = 2 };
/* `env` for code that is differentiated; the same function there. */
const Env *env_dual(Code *c, const Env *env);
Function *code_dual(Code *c, Function *f);
/* What other code calls in the place of a differentiated closure of this type:
 * a function whose closure captures that one alone.  `form`: which of the
 * closures of a polymorphic value it is (lower/poly.c).  NULL: memory ran out.
 */
Function *code_plain(Code *c, const Type *type, unsigned form);
/* The closure itself, or the one that it calls for other code. */
Cell *closure_meant(Cell *closure);

/* Which of the parameters `v` is; -1: none of them. */
int env_find(const Env *env, const TypeVar *v);
bool env_counted(const Env *env, const Type *type);
/* `type` with the parameters that `env` knows put in. */
const Type *env_type(Code *c, const Env *env, const Type *type);

/* Which parameters of a global function are borrowed (lower/borrow.c): a bool
 * for each; NULL: none is. */
const bool *fn_borrowed(Code *c, const Expr *fn);

/* Does a function build the tuple that it returns itself, whichever way it ends
 * (lower/unboxed.c)?  Then calls take it unboxed. */
bool fn_builds_tuple(Code *c, const Function *f);

/* Fills in what a new function's callers must know: its parameters. */
void function_params(Code *c, Function *f);
/* Makes the instructions of `f` (lower/function.c).  False after reporting why
 * not to `diags`: too large, out of memory. */
bool function_lower(Code *c, Function *f, Diags *diags);

#endif
