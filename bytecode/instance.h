/* The key of an instance: all that the code of a function depends on.
 *
 * One definition has an instance for each way in which its code differs: how
 * the type parameters in scope are represented, what it captures, which
 * functions it is given, how it is called, what it checks.  Two instances share
 * code only when their keys are equal, so a fact that lowering uses belongs
 * here.  A key is complete before its instance is made and does not change,
 * but for the program's becoming loose (code_refresh). */
#ifndef BYTECODE_INSTANCE_H
#define BYTECODE_INSTANCE_H

#include "ir/program.h"
#include "tensor/object.h"

/* --- Parts ---------------------------------------------------------------- */

/* How each type parameter in scope is represented; and, where something prints
 * at it, which type it is. */
typedef struct Env {
  int count, room;
  const TypeVar **vars;
  bool *counted;
  const Type **types; /* NULL entries: not known, or no matter; of a float
                         scalar it is known */
  bool *known;        /* is the type known, and each part of it? */
  bool dual;          /* the code is being differentiated (code.h) */
} Env;

typedef enum FunctionKind {
  FUNCTION_FN,    /* expr is an EX_FN */
  FUNCTION_CTOR,  /* builds a constructor's cell */
  FUNCTION_OP,    /* expr is an EX_OP used as a value */
  FUNCTION_STEP,  /* evaluates expr */
  FUNCTION_FORM,  /* what the form of differentiation in expr gives */
  FUNCTION_PLAIN, /* calls the closure of differentiated code that it captured,
                     for other code */
} FunctionKind;

struct Function;

/* A variable that a function uses and does not bind. */
typedef struct FreeVar {
  const Var *var;
  bool captured; /* in a field of the closure */
  bool counted;
  const Expr *general;     /* a generalised let's value, lowered at uses */
  struct Function *callee; /* the one function it can be, or NULL */
} FreeVar;

/* The members of `let f = fn.. and g = fn..`, a recursive let, or one fn.
 * Their closures capture the same values in the same order. */
typedef struct FnGroup {
  int count;
  const Var *const *vars; /* the members' names; NULL entries: none */
  const Expr *const *fns;
  int free_count, capture_count;
  const FreeVar *free;
  const Type *const *captured; /* of differentiated code: the types of what is
                                  captured; NULL entries: not known */
} FnGroup;

/* The layout of a group's closures.  Field 0 of the cell is the Function.  The
 * values of the captured free variables follow in fields 1, 2, ..., in the
 * order of `free`.  Where a cell has no room for all of them (SIZE_SMALL_MAX
 * fields), they are packed: a tuple holds them, and field 1 is that tuple. */
enum { CLOSURE_CODE, CLOSURE_CAPTURES };

static inline bool captures_packed(const FnGroup *g) {
  return g->capture_count >= SIZE_SMALL_MAX;
}

/* The field of the first captured value, in the tuple or the closure. */
static inline int captures_first(const FnGroup *g) {
  return captures_packed(g) ? 0 : CLOSURE_CAPTURES;
}

/* --- The key -------------------------------------------------------------- */

typedef struct InstanceKey {
  FunctionKind kind;
  const Expr *expr;     /* FN, OP, STEP */
  const Ctor *ctor;     /* CTOR */
  const Global *global; /* whose definition, or step, it is; NULL: none */
  const Env *env;       /* NULL: no type parameters are in scope */
  const FnGroup *group; /* NULL: it captures nothing */
  /* Specialisation on higher-order arguments: for each parameter of an FN the
   * one function that callers pass, or NULL.  NULL: no parameter has one. */
  struct Function *const *callees;
  /* It borrows its parameters where it can; else it owns what it is given, as
   * whoever calls a closure expects. */
  bool borrows;
  /* Tail recursion modulo cons (lower/call.c): two parameters more, the root of
   * what is being built, which it returns, and the address of its hole, where
   * its own result belongs. */
  bool trmc;
  bool unboxed; /* it returns its tuple's fields, each in a register */
  bool checks;  /* it compares its arguments with its parameters' types */
  bool loose;   /* the program is: more is checked (ir/program.h) */
  bool stops;   /* any instruction may be where a run ends (--nan-stop) */
} InstanceKey;

/* By contents: two lists of the same variables are equal. */
bool instance_key_equal(const InstanceKey *a, const InstanceKey *b);
uint64_t instance_key_hash(const InstanceKey *key);
/* Equal but for how the function is called: borrows, trmc, unboxed. */
bool instance_key_same_body(const InstanceKey *a, const InstanceKey *b);

#endif
