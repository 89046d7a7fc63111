/* Lowering: from a function's typed expression to instructions.
 *
 *   function.c  the driver; parameters, captures, the phases below
 *   expr.c      expressions; call.c calls; op.c operators; scalar.c scalars,
 *               conditions; closure.c function values; match.c decision trees
 *   inline.c    calls in whose place the callee's body is lowered
 *               -> a list of Ins over virtual registers
 *   tuples.c    scalar replacement: tuples of which only fields are read are
 *               not made
 *   stretch.c   operators of differentiated code that are recorded as one
 *   chain.c     element-wise operators that become one instruction
 *   borrow.c    which parameters a function need not own
 *   unboxed.c   which functions return their tuple in registers
 *   views.c     views that one operator reads are not made before it runs
 *   own.c       where counted values move, are kept and dropped; which cells
 *               end and leave a reuse token
 *   regs.c      virtual registers to real ones
 *   emit.c      units, jumps, the tables of spans and live registers
 *
 * Jumps only go forward; the one exception is the loop of a self tail call,
 * which goes back to the head with nothing live but the parameters (and what
 * the function captured).  So liveness takes a single backward walk, and the
 * lifetime of a register is an interval of the list. */
#ifndef BYTECODE_LOWER_H
#define BYTECODE_LOWER_H

#include <assert.h>

#include "base/split.h"
#include "bytecode/verify.h"

/* --- The list ----------------------------------------------------------- */

typedef uint32_t Reg; /* a virtual register */
typedef uint32_t Label;

#define NO_REG UINT32_MAX

/* An instruction, or one of what code.def has for lowering only:
 *
 *   label    label arg[0] stands here
 *   head     the head of the loop
 *   self     self tail call: the listed values become the parameters, then back
 *            to the head; loop variables after the parameters stand for
 *            themselves
 *   open     the listed fields of cell arg[0], already read as views, become
 *            owned; the cell's own reference ends here unless it is needed
 *            further on.  arg[1]: how many of its fields are counted; arg[2]:
 *            its size; the word: 1 + the register for its reuse token, or 0
 *   pass     argument arg[0] of a call, in the outgoing area, is the value
 *            listed: a view of it, unless the call turns out to take it over
 *   nothing  was taken back
 *
 * The list may have more than is written out (the letters of the row's column):
 * arguments of a call, which are in their places, and the cell that must
 * outlive the reading of a view.  An argument `a` was set by a `pass`; the
 * value that it passed is listed after it. */
typedef struct Ins {
  uint16_t op;
  uint32_t arg[3]; /* registers, numbers, labels */
  uint64_t words[2];
  uint32_t list, list_count;
  uint32_t live, live_count; /* own.c: what to drop when it fails */
  Span span;
} Ins;

typedef struct RegInfo {
  bool counted;
  bool borrowed; /* counted, but not ours: kept when it moves, never
                    dropped */
  bool nullable; /* may hold no value (an unevaluated lazy variable) */
  bool read;     /* own.c: a later instruction reads it */
  int32_t out;   /* its place in the outgoing area; -1: none */
  bool missing;  /* tuples.c: the token of a cell that is not made */
  Reg hint;      /* share that one's real register if possible */
  uint16_t real;
  uint32_t start, end; /* regs.c: its interval */
} RegInfo;

/* --- Variables ---------------------------------------------------------- */

/* What a variable in scope is. */
typedef enum LocalKind {
  LOCAL_REG,      /* a register holds it */
  LOCAL_GENERAL,  /* lowered at each use: a generalised let */
  LOCAL_MEMBER,   /* a member of the group that is being defined: `self` */
  LOCAL_CAPTURED, /* word `size` of the tuple in `reg` (wide functions) */
  LOCAL_CONST,    /* a closure that captures nothing */
  LOCAL_LAZY,     /* not evaluated yet, or perhaps */
  LOCAL_TOKEN, /* a reuse token: pending until, on this path, a cell takes it */
} LocalKind;

typedef enum LazyState { LAZY_PENDING, LAZY_MAYBE, LAZY_DONE } LazyState;

typedef struct Local {
  LocalKind kind;
  Reg reg;
  const Expr *value;       /* GENERAL, LAZY */
  struct Function *callee; /* the one function it can be, or NULL */
  struct Function *pinned; /* REG: likewise, in this instance only, and it
                              captures nothing */
  LazyState lazy;
  Reg flag; /* LAZY: is it evaluated? */
  int size; /* TOKEN: the number of fields; CAPTURED: the word */
} Local;

typedef struct LazyChange {
  Local *local;
  LazyState former;
} LazyChange;

typedef struct Lower {
  Code *code;
  Function *fn;
  Arena *arena; /* scratch of this function */
  Diags *diags;
  const Env *env;
  VEC(Ins) list;
  VEC(Operand) listed;
  VEC(RegInfo) regs;
  uint32_t label_count;
  PtrMap locals;          /* Var -> Local */
  VEC(LazyChange) lazies; /* an undo log */
  VEC(Local *) tokens;    /* in scope, the innermost last */
  VEC(Reg) carried;       /* what a self tail call takes along: captures */
  SplitStack stack;       /* of the recursion over expressions */
  Ins sink;               /* what is written when memory has run out */
  Reg self;               /* the running closure; NO_REG: none */
  Reg root, hole;         /* in a `trmc` instance: its last two
                              parameters */
  int out, max_out;       /* the outgoing area: in use, ever in use */
  Span span;              /* of what is being lowered */
  bool wide;              /* it holds very many values at a time (spill.c) */
  bool poly;              /* its callers will bind its named dimensions */
  bool failed;            /* memory ran out */
  const char *too_large;  /* what of the function is; NULL: nothing */
  bool unknown; /* it differentiates at a type that it does not know */
  /* By own.c: */
  VEC(Reg) live;   /* what Ins.live counts from */
  size_t main_len; /* after it: drops on edges between blocks */
  /* By regs.c: */
  uint32_t window; /* registers below the outgoing area */
  Flaw flaw;       /* by emit.c: of code that is not sound */
} Lower;

/* --- Building the list (build.c) ---------------------------------------- */

Reg reg_new(Lower *l, bool counted);
Reg reg_of_type(Lower *l, const Type *type);
Reg reg_out(Lower *l, int place, bool counted);
/* Marks the value in `r` as borrowed from the caller, who holds it as long
 * as this call lasts; nobody else lends.  Is it so marked? */
void reg_borrow(Lower *l, Reg r);
bool reg_is_borrowed(const Lower *l, Reg r);
/* Memory ran out: some register, for code that will be discarded. */
Reg lower_failed(Lower *l);
Label label_new(Lower *l);
void put_label(Lower *l, Label at);
Ins *put(Lower *l, int op, uint32_t a, uint32_t b, uint32_t c);
Ins *put_word(Lower *l, int op, uint32_t a, uint32_t b, uint32_t c,
              const void *word);
void put_jump(Lower *l, Label to);
/* Takes PSEUDO_nothing out of the list. */
void put_away(Lower *l);
/* Adds to the list of the newest instruction. */
void put_listed(Lower *l, char mode, uint32_t reg);
/* dst = bits, in the shortest form. */
void put_bits(Lower *l, Reg dst, uint64_t bits);
bool is_counted(const Lower *l, const Type *type);

/* --- Differentiation (dual.c) -------------------------------------------- */

/* Is the code at hand being differentiated? */
static inline bool lower_is_dual(const Lower *l) { return env_is_dual(l->env); }
/* r = word `word` after the header of `cell`, owned; a scalar's bits, where
 * the cell has them, become a tensor. */
void lower_part(Lower *l, Reg r, Reg cell, uint32_t word, const Type *type);
/* The value in `r` without derivatives, as other code has it; a tensor of a
 * scalar's bits. */
Reg lower_plain(Lower *l, Reg r, const Type *type);
Reg lower_boxed(Lower *l, Reg bits, const Type *type);
/* Does a value of this type hold tensors of floats, as an operand does? */
bool type_varies(Lower *l, const Type *type);
/* The function that code of this kind calls; NULL stays NULL. */
Function *lower_callee(Lower *l, Function *f);
/* A call of a form; what FUNCTION_FORM does. */
Reg lower_form(Lower *l, const Expr *e, Reg dst);
void lower_form_body(Lower *l);
int form_param_count(const Expr *e);
const Type *form_param_type(const Expr *e, int i);
/* What FUNCTION_PLAIN does, and the type of the closure that it calls. */
void lower_plain_body(Lower *l);
const Type *plain_type(const Function *f);

/* --- Operands ----------------------------------------------------------- */

static inline const InsInfo *ins_row(const Ins *i) { return &ins_info[i->op]; }
/* A walk over its operands, the list as it stands in `l->listed`. */
OperandWalk ins_operands(const Lower *l, const Ins *i);
/* The register of the operand with this index of a walk. */
Reg *operand_place(Lower *l, Ins *i, uint32_t at);
/* Where it jumps, as a, b or c: a label; NULL: nowhere, or by its list. */
Label *ins_target(Ins *i);
/* Does straight code end at it, since it jumps, or is jumped to? */
bool ins_ends_block(Ins *i);
/* Is it an operator's call?  Its site; else NULL. */
const OpSite *ins_op_site(const Ins *i);
/* May this operator fail at run time?  Not where the checker knew all
 * dimensions. */
bool site_may_fail(const OpSite *site);
/* Do operands of these types broadcast to a result of that type, whatever the
 * dims that have no number are? */
bool types_broadcast(const Type *result, int count, const Type *const *types);
/* Does `bias_add` of these attributes add to the last axis of that rank, as
 * `add` does? */
bool adds_to_last_axis(const Attrs *attrs, int rank);
/* The registers that it makes a small cell of, not those of a closure: how
 * many; 0: it makes none.  The reuse token that it takes, or NO_REG. */
int ins_cell_fields(const Lower *l, const Ins *i, Reg *fields);
Reg ins_reuse_token(const Lower *l, const Ins *i);
/* The instruction for a small cell of `n` fields, with a reuse token or not. */
int ins_of_cell(int n, bool reuses);

/* --- Expressions -------------------------------------------------------- */

/* Where a value goes: a register, anywhere, or out of the function. */
#define DST_ANY NO_REG
#define DST_TAIL (NO_REG - 1)

/* Lowers `e`; gives the register that holds its value (a variable's own when
 * DST_ANY allows).  With DST_TAIL the value is returned, NO_REG given. */
Reg lower_expr(Lower *l, const Expr *e, Reg dst);
/* Likewise, where a value of type `wanted` is expected (poly.c): a function
 * that has to stay polymorphic there, or is used at an instance. */
Reg lower_as(Lower *l, const Expr *e, const Type *wanted, Reg dst);
/* The instance that a use `e` of a polymorphic value names. */
Reg lower_pick(Lower *l, Reg poly, const Expr *e, Reg dst);
/* The value is in `from`: moves it where it is wanted. */
Reg lower_finish(Lower *l, Reg from, Reg dst);
/* A register for a result of this type; for DST_TAIL and ANY a new one. */
Reg lower_target(Lower *l, const Type *type, Reg dst);

/* Can evaluating it be left out, or happen elsewhere?  No effect, no failure,
 * small. */
bool expr_is_plain(const Expr *e);
/* Evaluates condition `e`: goes on with the next instruction if it holds, else
 * at `otherwise`. */
void lower_condition(Lower *l, const Expr *e, Label otherwise);
/* Goes on with the next instruction if the scalar in `r` equals the literal,
 * else at `otherwise`. */
void lower_unless_literal(Lower *l, Reg r, const Tensor *literal,
                          Label otherwise);

/* --- Checks at run time (check.c) ---------------------------------------- */

/* A scalar gets a header where its type is of unknown rank from now on, and
 * loses it where its rank is known from now on; all else stays as it is. */
Reg lower_ranked(Lower *l, Reg r, const Type *from, const Type *to);
/* Where types_need_check, or types_need_check_out, demands it. */
void lower_check(Lower *l, Reg r, const Type *actual, const Type *expected,
                 const char *what, Span declared);
void lower_check_out(Lower *l, Reg r, const Type *actual, const Type *expected,
                     const char *what, Span declared);
/* Reads the function's named dimensions; then, in an instance that checks,
 * compares its arguments. */
void lower_entry(Lower *l, const Fn *fn);
void lower_entry_param(Lower *l, Reg r, const Type *type, Span span);
/* Does a call of `use` go to an instance that checks its arguments?  Does
 * `use` as a value of function `fn`? */
bool use_checks(const Lower *l, const Expr *use);
bool value_checks(const Lower *l, const Expr *use, const Fn *fn);
/* Calls `visit(data, key, name)` for the names in a type's own dimensions. */
void type_dim_names(const Lower *l, const Type *t,
                    void (*visit)(void *data, const void *key,
                                  const Name *name),
                    void *data);

/* --- More expressions ---------------------------------------------------- */

Reg lower_call(Lower *l, const Expr *e, Reg dst);
/* Argument `i` of a call, where a value of the parameter's type is expected. */
Reg lower_argument(Lower *l, const Expr *e, int i, Reg dst);
/* The result of a call, in `r`, where one of the call's type is. */
Reg lower_call_result(Lower *l, const Expr *e, Reg r);
/* The function whose body stands for this call (inline.c); NULL: none.  `f` is
 * the function that is called; NULL: it is not known as such. */
const Fn *fn_inlined(Lower *l, const Expr *e, const Function *f);
Reg lower_inlined(Lower *l, const Expr *e, const Fn *fn, Reg dst);
/* Where a cell's fields begin, in words after its header. */
static inline int cell_offset(int fields) {
  return (int)cell_offset_of((uint64_t)fields);
}
/* The argument of type `wanted`, checked, where a constructor has it. */
Reg lower_ctor_field(Lower *l, const Expr *e, int i);
Reg lower_cell(Lower *l, uint16_t tag, int n, const Reg *fields, Reg dst);
/* The words that stand before the `n` fields of a big cell, no field counted
 * yet; NULL where memory runs out.  Counts field `i`. */
uint64_t *lower_big_header(Lower *l, uint16_t tag, uint32_t n);
void lower_count_field(uint64_t *header, uint32_t i);
/* Reads word `word` of the cell in `r`, which `root` holds, as an owned value:
 * of wide functions, and where the word is beyond those that `field` names. */
void put_far_get(Lower *l, Reg dst, Reg r, Reg root, uint32_t word);
/* A tuple that may never be made (tuples.c), so it takes no reuse token from a
 * cell that will be made. */
Reg lower_new_tuple(Lower *l, int n, const Reg *fields, Reg dst);
/* `n` fields of a tuple or constructor from expressions. */
Reg lower_fields(Lower *l, uint16_t tag, const Expr *e, Reg dst);

Reg lower_op(Lower *l, const Expr *e, Reg dst);
Reg lower_op_field(Lower *l, const Expr *e, int index, Reg dst);
Reg lower_op_value(Lower *l, const Expr *e, Reg dst);
void lower_op_body(Lower *l, const Expr *e);
/* The function of a call that is element-wise on scalars only, or NULL; and
 * its code.  `first` is operand 0 where it has been lowered, or NO_REG. */
ScalarFn scalar_function(const Expr *e);
void lower_scalar(Lower *l, const Expr *e, ScalarFn fn, Reg first, Reg dst);
/* The same for the site of an operator of which all operands and the one result
 * are scalars, in registers as bits; false: there is no such code. */
bool lower_scalar_site(Lower *l, const OpSite *site, const Reg *operands,
                       Reg dst);

/* Does this match look at the fields of a tuple only, which is not built then?
 */
bool match_is_split(const Expr *e);
Reg lower_match(Lower *l, const Expr *e, Reg dst);
Reg lower_fn(Lower *l, const Expr *e, Reg dst);
/* The function of a fn; NULL when it captures something. */
Function *fn_without_captures(Lower *l, const Expr *e);
Reg lower_function_value(Lower *l, Function *f, Reg dst);
/* A use of a generalised let, in the environment of that use. */
Reg lower_general(Lower *l, const Var *v, const Expr *value, Reg dst);
/* Is this let lowered at its uses?  The environment of such a use. */
bool var_is_general(const Var *v, const Expr *value);
const Env *env_of_use(Lower *l, const Expr *use);
/* A member of the running function's group as a value: at the instance of a
 * use; at the running one. */
Reg lower_member(Lower *l, const Expr *use);
Reg lower_own_member(Lower *l, const Var *v);
Function *member_function(Lower *l, const Expr *use);
/* The instance of `f` that is called as a value. */
Function *function_as_value(Lower *l, Function *f);
/* What FnGroup.captured holds, from the other fields. */
const Type **captured_types(Lower *l, const FnGroup *g);
Reg lower_ctor(Lower *l, const Expr *e, Reg dst);
/* A group of recursive lets, bindings[0..count). */
void lower_group(Lower *l, const Binding *bindings, int count);
/* Field `i` of the cell in `r`, as an owned value. */
Reg lower_field(Lower *l, Reg r, int cell_size, int i, const Type *type,
                Reg dst);

/* The instance that the use of a global means as a value. */
Function *global_function(Lower *l, const Expr *use);
/* The environment with a definition's parameters bound by a use's targs; with
 * `typed`, the types too. */
const Env *env_bind(Lower *l, const Env *outer, int count,
                    const TypeVar *const *params, const Type *const *targs,
                    bool typed);
/* Does code of these effects need the types of its values?  Code that is
 * differentiated always does: other code must be able to read what it writes
 * to a cell from outside. */
bool env_needs_types(const Lower *l, Effects effects);
Env *env_new(Lower *l, int most);
void env_add(Env *env, const TypeVar *v, bool counted, const Type *type,
             bool known);
/* What a type argument is in the running environment; NULL: too large to make
 * code for. */
const Type *env_shown(Lower *l, const Type *targ);
/* Is no part of it, as the text has it, a parameter of which the environment
 * knows only how its values are represented? */
bool type_is_known(const Lower *l, const Type *type);

Local *local_get(Lower *l, const Var *v);
Local *local_put(Lower *l, const Var *v, LocalKind kind);
Reg local_reg(Lower *l, const Var *v, Span span);

/* Lazy variables around branches.  A variable that one branch has evaluated
 * is pending again at the start of the next branch, and perhaps evaluated
 * after the join. */
size_t lazy_mark(const Lower *l);
void lazy_branch_done(Lower *l, size_t mark);
void lazy_join(Lower *l, size_t mark);

/* Reuse tokens: a register for that of a cell which a match ends, null if the
 * cell was shared; and the token that a new cell of this size takes, or NO_REG.
 * Tokens of an arm go out of scope where it ends. */
Reg token_put(Lower *l, int size);
Reg token_take(Lower *l, int size);
void token_leave(Lower *l, size_t mark);

/* --- The other phases --------------------------------------------------- */

/* Does it hold so many values at a time that it should be lowered as wide?
 * Asked of the list (spill.c). */
bool lower_is_wide(Lower *l);
void tuple_pass(Lower *l);             /* tuples.c */
void stretch_pass(Lower *l);           /* stretch.c */
void chain_pass(Lower *l);             /* chain.c */
void view_pass(Lower *l);              /* views.c: after chains */
void spill_pass(Lower *l);             /* spill.c */
void own_pass(Lower *l);               /* own.c */
bool may_stop(const Lower *l, int op); /* is a run ever left there? */
bool regs_assign(Lower *l); /* regs.c: false when there are too many */
bool emit_code(Lower *l);   /* emit.c: false for lack of memory, or with a
                               flaw */
/* Does the operator make a scalar in a register a tensor of one element?
 * (views.c) */
bool is_scalar_view(const OpSite *site);

#endif
