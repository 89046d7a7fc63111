/* Code: functions, their instructions, and what the VM must know of them.
 *
 * A Function is one instance of a definition: of a global, a `fn`, a
 * constructor or an operator used as a value, or a step of a script, for one
 * combination of representations of the type parameters in scope.  It exists
 * as soon as a call of it is lowered; its instructions are made when it is
 * first entered (lower/), under the code's lock, and are immutable after. */
#ifndef INTERP_CODE_H
#define INTERP_CODE_H

#include <pthread.h>

#include "interp/interp.h"
#include "ops/fuse.h"

/* --- Instructions ------------------------------------------------------- */

typedef enum InsCode {
#define INS(name, ...) INS_##name,
#include "interp/code.def"
#undef INS
  INS_COUNT
} InsCode;

enum {
  FAIL = 1,
  CALL = 2,
  LIST = 4,
  END = 8,
  EARLY = 16,
  PURE = 32,
  TAKES = 64,
};
enum { TAKES_MAX = 16 }; /* the bits of operand a */

typedef struct InsInfo {
  const char *name;
  char operands[4];
  uint8_t words, flags;
  const char *meaning;
} InsInfo;
extern const InsInfo ins_info[INS_COUNT];

typedef union Word {
  struct {
    uint16_t op, a, b, c;
  };
  struct {
    uint16_t jump_op, jump_a;
    int32_t jump;
  };
  uint16_t regs[4];
  uint64_t word;
  Value value;
  struct Function *function;
  const void *data;
} Word;

/* The units of an instruction, its list included. */
uint32_t ins_length(const Word *at);
/* The registers of its list: how many, and the first. */
uint32_t ins_list_count(const Word *at);
static inline const uint16_t *ins_list(const Word *at) {
  return at[1 + ins_info[at->op].words].regs;
}

/* The instruction that goes from the end of a loop to where the conditional
 * jump at its head would go: to its target, or to what is behind it, there with
 * operands a and b in the other order if `swapped`. */
typedef struct InsBack {
  uint16_t head, to_target, behind;
  bool swapped;
} InsBack;
/* NULL: `head` is no such jump. */
const InsBack *ins_back(uint16_t head);

/* Flags of a ref cell. */
enum { REF_COUNTED = 1, REF_CYCLIC = 2 };

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
} SourceView;

typedef struct OpSource {
  SourceKind kind;
  DType dtype;      /* FROM_BITS */
  SourceView view;  /* not of tuples */
  const Type *type; /* of what the register holds */
} OpSource;

enum { NO_PLAN = UINT32_MAX };

typedef struct OpSite {
  const OpInfo *op;
  const Attrs *attrs;
  Span span;
  uint32_t number;  /* of its plan (plan.h); NO_PLAN: results depend on more
                       than shapes */
  int source_count; /* registers read */
  const OpSource *sources;
  int arg_count; /* operands, tuples flattened */
  int out_count; /* tensors produced */
  bool sets_row; /* scatter_nd of one row, whose number is a scalar */
  const Type *const *out_types; /* rank 0: the bits are taken */
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

/* Element-wise operators that run as one (ops/fuse.h).  Where the shapes that
 * come up do not allow it, the members run one by one. */
typedef struct ChainSite {
  const Fuse *fuse;
  uint32_t number;  /* of its plan (plan.h) */
  int source_count; /* registers read */
  const OpSource *sources;
  const ChainInput *inputs;
  const OpSite *const *members; /* a step each */
  const Type *const *out_types;
  int out_count;
  const char *name; /* "multiply+add" */
} ChainSite;

typedef struct ScalarSite {
  ScalarFn fn;
  const OpInfo *op;
  DType types[4]; /* of the result and the operands */
} ScalarSite;

/* A value of type `actual` must fit `expected`. */
typedef struct CheckSite {
  const Type *expected;
  const char *what; /* "argument", "result", ... */
  Span declared;    /* where the expected type stands */
  int name_count;   /* named dimensions that the listed registers hold */
  const void *const *names;
} CheckSite;

/* --- Functions ---------------------------------------------------------- */

/* How each type parameter in scope is represented; and, where something prints
 * at it, which type it is. */
typedef struct Env {
  int count;
  const TypeVar **vars;
  bool *counted;
  const Type **types; /* NULL entries: not known, or no matter */
} Env;

/* A function that prints is lowered for types of up to this many nodes; beyond
 * (where it calls itself at ever larger ones) for their representation. */
enum { SHOWN_TYPE_SIZE = 100 };

typedef enum FunctionKind {
  FUNCTION_FN,   /* expr is an EX_FN */
  FUNCTION_CTOR, /* builds a constructor's cell */
  FUNCTION_OP,   /* expr is an EX_OP used as a value */
  FUNCTION_STEP, /* evaluates expr */
} FunctionKind;

/* What unwinding drops when instruction `at` is under way. */
typedef struct LiveAt {
  uint32_t at, first, count;
} LiveAt;

/* A variable that a function uses and does not bind. */
typedef struct FreeVar {
  const Var *var;
  bool captured; /* in a field of the closure */
  bool counted;
  const Expr *general;    /* a generalised let's value, lowered at uses */
  struct Function *known; /* the function it is; NULL: not known */
} FreeVar;

/* The members of `let f = fn.. and g = fn..`, a recursive let, or one fn.
 * Their closures capture the same values in the same order. */
typedef struct FnGroup {
  int count;
  const Var *const *vars; /* the members' names; NULL entries: none */
  const Expr *const *fns;
  int free_count, capture_count;
  const FreeVar *free;
} FnGroup;

/* How a parameter is passed.  A borrowed one stays the caller's: the callee
 * neither drops it nor moves it on, and the caller holds it until the call has
 * returned. */
typedef enum ParamMode {
  PARAM_BITS, /* not counted */
  PARAM_OWNED,
  PARAM_BORROWED,
} ParamMode;

/* A tuple of this many fields comes back in registers, each of its own, from
 * the instance that direct calls use. */
enum { RESULTS_LEAST = 2, RESULTS_MOST = 4 };

typedef struct Function {
  const Word *_Atomic code;
  _Atomic uint32_t nregs; /* the window, outgoing area included */
  uint32_t nparams;       /* `self` included */
  const ParamMode *params;
  bool borrows;                  /* where it can; else it owns what it is given,
                                    as whoever calls a closure expects */
  struct Function *const *known; /* for each parameter the function that it
                                  always is, or NULL; NULL: of none */
  bool grows;                    /* two more parameters, behind the others: a
                                    cell, owned, that is the result, and where
                                    in it or below the own result belongs */
  bool apart;                    /* it gives back its tuple's fields */
  uint32_t part_count;           /* how many; 0: one value */
  bool part_counted[RESULTS_MOST];
  FunctionKind kind;
  const Expr *expr;
  const Ctor *ctor;
  const Global *global; /* whose definition it is; NULL: none */
  const Env *env;
  bool checks;           /* it looks at its arguments on entry */
  const FnGroup *group;  /* NULL: captures nothing */
  const char *name;      /* in traces */
  Cell *closure;         /* immortal, when it captures nothing */
  struct Function *next; /* the next instance of the same key */
  Word stub[2];          /* what `code` is at first */
  bool lowered;
  uint32_t unit_count;
  const Span *spans; /* one a unit */
  uint32_t live_at_count;
  const LiveAt *live_at; /* ascending */
  const uint16_t *live;
} Function;

struct Code {
  Program *program;
  bool stops_anywhere; /* any instruction may be where a run ends */
  bool verifies;       /* code is looked at before it runs: verify.h */
  Mem *mem;
  Arena arena;
  pthread_mutex_t lock;
  PtrMap instances; /* Expr, Ctor -> first Function */
  PtrMap borrowed;  /* a global's EX_FN -> bool for each parameter
                       (lower/borrow.c) */
  PtrMap apart;     /* an EX_FN -> whether it puts its tuple
                       together itself (lower/parts.c) */
  bool loose;       /* as the program was when code was last made */
  VEC(Function *) functions;
  bool sorted;          /* by address of their code */
  VEC(Tensor *) params; /* by slot */
  VEC(Cell *) nullary;  /* by tag */
  uint32_t plan_count;  /* sites that have one in a session */
};

/* The instance of this key that owns its parameters, made when there is none.
 * With `checks` it compares its arguments with its parameters' types: they
 * bind named dimensions, or the callers are not known.  Under the lock, like
 * what follows. */
Function *code_function(Code *c, FunctionKind kind, const void *key,
                        const Env *env, bool checks);
/* The instance that direct calls use: it borrows what it need not own. */
Function *code_global(Code *c, const Global *g, const Env *env, bool checks);
/* The same function in the instance that owns its parameters. */
Function *code_owning(Code *c, Function *f);
/* Makes all code anew when the program has become loose since: it has to check
 * more.  Between runs. */
void code_refresh(Code *c);
/* The same function, as borrowing, in the instance that grows a cell. */
Function *code_growing(Code *c, Function *f);
/* The same function in the instance that gives its tuple back in parts; the
 * function itself where it has none of that size. */
Function *code_apart(Code *c, Function *f);
/* The same function in the instance for calls that pass these functions, one
 * for each parameter; NULL: any. */
Function *code_knowing(Code *c, Function *f, Function *const *known);
/* Are they instances of one function for the same representations and known
 * functions, with the same checks? */
bool function_same(const Function *f, const Function *g);
/* The function an address of its code belongs to.  NULL: none. */
const Function *code_function_at(Code *c, const Word *at);
Span function_span(const Function *f, const Word *at);
const LiveAt *function_live(const Function *f, const Word *at);

/* Immortal cells. */
Cell *code_nullary(Code *c, int tag);
Cell *code_closure(Code *c, Function *f);

/* Which of the parameters `v` is; -1: none of them. */
int env_find(const Env *env, const TypeVar *v);
bool env_counted(const Env *env, const Type *type);
/* `type` with the parameters that `env` knows put in. */
const Type *env_type(Code *c, const Env *env, const Type *type);

/* Can a value of this type lead to a mutable cell or a function? */
bool type_may_cycle(const Type *type);

/* Which parameters of a global function are borrowed (lower/borrow.c): a bool
 * for each; NULL: none is. */
const bool *fn_borrowed(Code *c, const Expr *fn);

/* Does a function put the tuple that it gives back together itself, whichever
 * way it ends (lower/parts.c)?  Then calls had better take the parts. */
bool fn_builds_tuple(Code *c, const Function *f);

/* Fills in what a function's callers must know: its parameters. */
void function_params(Code *c, Function *f);
/* Makes the instructions of `f` (lower/function.c).  False after reporting why
 * not to `diags`: too large, out of memory. */
bool function_lower(Code *c, Function *f, Diags *diags);

#endif
