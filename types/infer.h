/* Inference: types under construction, and the parts of the algorithm.
 *
 * Structure (kinds, ranks, dtypes) is found by unification.  Dimensions are
 * a dataflow beside it: each dimension of each tensor type is a Slot, and
 * where a tensor flows from one type to another, its slots get edges.  A slot
 * starts as a hole, takes the number or form that flows in, and widens to `?`;
 * an annotation's slot is fixed.  Operators' rules are run again whenever an
 * operand's structure or dimensions become better known. */
#ifndef TYPES_INFER_H
#define TYPES_INFER_H

#include "base/split.h"
#include "types/check.h"

/* --- Dimensions (dims.c) ------------------------------------------------- */

typedef struct Why Why;
typedef struct Constraint Constraint;

typedef struct Link {
  void *item;
  struct Link *next;
} Link;

typedef struct Slot {
  struct Slot *same; /* the slot that it was merged into; NULL: none */
  Dim value;
  Dim seen;     /* the final check: the number that flowed in first, */
  Span seen_at; /* and the value that brought it */
  bool fixed;   /* by an annotation, or since its component is done */
  bool dirty;   /* waits to be propagated */
  Span from;    /* where its value comes from */
  Link *out;    /* Slots that it flows to */
  Link *rules;  /* Constraints that look at it */
} Slot;

/* A flow between slots, to be judged when all is known. */
typedef struct Edge {
  Slot *from, *to;
  Why *why;
  bool inner; /* of a container or function: not checked at run time */
} Edge;

/* --- Types under construction (ty.c) ------------------------------------- */

typedef enum TyKind {
  K_META, /* not known yet, or what `link` says */
  K_TENSOR,
  K_TUPLE,
  K_FN,
  K_REF,
  K_ADT,
  K_RIGID, /* a type parameter, inside what it is declared for */
  K_DIM,   /* a dimension, an argument of a data type: one slot */
  K_ERROR,
} TyKind;

typedef struct Ty {
  uint8_t kind;
  uint8_t rank, dtype; /* K_TENSOR; K_DIM has rank 1 */
  bool any_rank;       /* K_TENSOR: Tensor[?, t], with rank 1 and a fixed `?` */
  bool closed;         /* holds no variable, type parameter or dimension */
  uint32_t depth;      /* of nesting, as far as it was known */
  int count;           /* of args */
  uint32_t mark;       /* the walk that saw it last */
  uint32_t level;      /* K_META, K_RIGID: how deep it was made */
  struct Ty **args;    /* K_TUPLE, K_FN, K_REF, K_ADT */
  union {
    Slot **dims;        /* K_TENSOR, K_DIM */
    struct Ty *result;  /* K_FN */
    struct Ty *link;    /* K_META */
    const Adt *adt;     /* K_ADT */
    const TypeVar *var; /* K_RIGID */
  };
  bool monomorphic; /* K_FN: has type parameters, but is seen from within its
                       component, which is not quantified over yet */
  int param_count;  /* K_FN: quantified */
  const TypeVar *const *params;
  Link *rules;          /* K_META: Constraints that wait for it */
  struct Ty *copy;      /* the current walk's */
  struct Ty *agreed;    /* it has been made to agree with that */
  bool agreed_flow;     /* ... in one direction only */
  bool agreed_crossing; /* ... and ranks crossed */
  bool never;           /* K_META: of `fail`, which gives no value */
  const Type *done;     /* zonked */
  const Type *shown;    /* the same for a message, in the current walk */
} Ty;

/* --- Why two types have to agree (message.c) ----------------------------- */

typedef enum WhyKind {
  WHY_ARGUMENT,   /* name: the callee, index: the parameter */
  WHY_ANNOTATION, /* name: the variable */
  WHY_RESULT,     /* name: the function, or NULL */
  WHY_BRANCHES,
  WHY_ARMS,
  WHY_ELEMENT, /* of a list literal; index: which */
  WHY_CONDITION,
  WHY_LOGICAL, /* an operand of && or || */
  WHY_CELL,    /* ref_write */
  WHY_READ,    /* ref_read, ref_write of what is no cell */
  WHY_PATTERN,
  WHY_CALLEE,
  WHY_OPERATOR, /* what an operator's rule gives or asks for */
  WHY_ADJOINT,  /* what a stated derivative gives; name: the `op`, or NULL;
                   label: the operand; NULL: the tuple for all */
} WhyKind;

struct Why {
  WhyKind kind;
  Span span;  /* the value that flows */
  Span other; /* what it has to agree with; may be SPAN_NONE */
  const Name *name;
  const Name *label; /* WHY_ARGUMENT: of a constructor's field; or NULL */
  const char *sigil; /* of the name: "@", "%" or "" */
  int index;
  Ty *found, *expected;
  bool reported;
  bool recursive; /* WHY_ARGUMENT: of a call within the callee's component */
  bool exact;     /* no let can be written where ranks cross (coerce.c) */
};

/* --- Constraints: rules and projections (solve.c) ------------------------ */

typedef enum ConstraintKind {
  C_RULE,     /* an operator's call */
  C_OP_VALUE, /* an operator as a value: a C_RULE once its type is known */
  C_PROJ,     /* a field of a tuple that is not known yet */
  C_FIELD,    /* a named field, or a changed copy, of a value that is not */
  C_FORM,     /* a dimension of an instantiated signature */
  C_INSTANCE, /* a use of a function or constructor of a generic kind */
  C_FORM_OF,  /* the types that a form of differentiation makes (form.c) */
  C_LEAVES,   /* a call of map_leaves on values that are not known (leaves.c) */
  C_PATTERN,  /* a constructor of a type that is checked by instance, in a
                 pattern for what is not known yet */
} ConstraintKind;

enum { FORM_NAMES_MAX = 16 };

struct Constraint {
  ConstraintKind kind;
  Expr *e; /* for messages */
  Span span;
  bool queued, failed, gone; /* gone: reported, or no longer of interest */
  bool solved;               /* gave a result; runs again when a dim changes */
  bool watching;             /* woken by every slot that it looks at */
  bool warned;               /* its rule has had a warning at some time */
  bool casts;   /* C_RULE: the operand that the row's `cast` names */
  bool patient; /* of a global value: later text may determine it */
  int count;
  Ty **args;
  const Expr *const *operands; /* for messages and known values; or NULL */
  Ty *result;
  Ty *made; /* C_RULE: the type that the rule made */
  const OpInfo *op;
  Attrs *attrs;
  uint32_t whole;    /* attributes that are one expression each, */
  uint32_t computed; /* and all that operands hold, as the text says them */
  const AttrValue *written;
  int index;              /* C_PROJ */
  bool inputs;            /* C_FORM_OF: of arguments, not of a value */
  const Pattern *pattern; /* C_PATTERN */
  /* C_INSTANCE: e is the use */
  const Expr *call;        /* of which it is the callee; NULL: it is a value */
  struct Definition *home; /* in which it stands; of C_LEAVES, too, */
  uint32_t level;          /* and how deep in lets */
  int outlined;            /* parameters that were known at the last outline */
  /* C_FORM: slot = form with names replaced by the slots' values */
  Slot *slot;
  Dim form;
  int name_count;
  const void **names;
  Slot **values;
};

/* --- The state ----------------------------------------------------------- */

/* A call of `stack` that is written in brackets, here or as an attribute, where
 * nobody wrote `stack`. */
static inline bool is_list(const Constraint *c) {
  if (c->kind != C_RULE || !c->e) return false;
  return c->e->sugar == SUGAR_BRACKET || c->e->sugar == SUGAR_LIST;
}

/* An expression whose type is to be filled in. */
typedef struct Typed {
  Expr *e;
  Ty *type;
  int targ_count;
  Ty **targs;
} Typed;

/* What is known of a variable, by its id. */
typedef struct VarInfo {
  Var *var;
  Ty *type;
  int param_count; /* quantified */
  const TypeVar *const *params;
  bool named; /* a parameter or a let: can be annotated */
} VarInfo;

typedef struct TypedPattern {
  Pattern *pattern;
  Ty *type;
} TypedPattern;

typedef struct Conflict {
  enum { MISFIT, INFINITE, ESCAPES } kind;
  Ty *found, *expected; /* the parts that do not fit */
} Conflict;

typedef struct Infer {
  Checker *c;
  Program *p;
  TypeTable *types;
  Arena *arena;
  Mem *mem;
  SplitStack stack; /* of the recursion over expressions */
  uint32_t level;
  uint32_t mark;
  uint32_t first_var; /* ids below it are of earlier runs */
  VEC(VarInfo) vars;
  VEC(VarInfo *) late_vars; /* with the ids after those of `vars` */
  VEC(Typed) typed;
  VEC(TypedPattern) patterns;
  VEC(Constraint *) queue; /* to be run; `head` are done */
  size_t head;
  VEC(Constraint *) pending; /* had no result at first */
  VEC(Constraint *) failing; /* failed at some time */
  VEC(Constraint *) warning; /* have `warned` set */
  VEC(Constraint *) casting; /* have `casts` set */
  VEC(Slot *) dirty;
  VEC(Slot *) slots; /* of the current component */
  VEC(Edge) edges;
  PtrMap known;                /* Type -> Ty, of types without holes */
  PtrMap sized;                /* Expr -> Ty, whose shape an operator reads */
  PtrMap rigid_levels;         /* TypeVar -> level */
  VEC(const Expr *) op_values; /* operators that are values: to be expanded */
  VEC(const Expr *) notes;     /* calls of identities of anything */
  Conflict conflict;
  Ty *error, *unit, *boolean;
  Ty *scalars[DTYPE_COUNT + 1];
  Ty *any_ranks[DTYPE_COUNT + 1];
  Arena asked;      /* what the rule at hand sees and says */
  int shown;        /* fields of tuples that it sees */
  bool crossed;     /* ranks have, in the agreement at hand */
  bool patient;     /* in a component of global values */
  Definition *home; /* the one at hand */
  int names;        /* of generalised parameters */
  int depth;        /* of the current walk over types */
  bool too_deep;
  Span at, deep_at; /* the node at hand; where it was too deep */
  Why *use;         /* of the polymorphic use at hand */
} Infer;

/* --- Making types -------------------------------------------------------- */

Ty *ty_meta(Infer *in);
/* With the dims of ty_dims; of rank 0, one node for each dtype. */
Ty *ty_tensor(Infer *in, DType dtype, int rank, Slot **dims);
/* Tensor[?, dtype], one node for each dtype. */
Ty *ty_any_rank(Infer *in, DType dtype);
Slot **ty_dims(Infer *in, int rank);
Ty *ty_dim(Infer *in, Slot *slot);
Ty *ty_tuple(Infer *in, int count, Ty **fields);
Ty *ty_fn(Infer *in, int count, Ty **args, Ty *result);
Ty *ty_ref(Infer *in, Ty *content);
Ty *ty_rigid(Infer *in, const TypeVar *var);
Ty **ty_array(Infer *in, int count);
/* A constant's type. */
Ty *ty_of_tensor(Infer *in, const Tensor *t, Span span);
/* A written or finished type; its holes get the current level. */
Ty *ty_of_type(Infer *in, const Type *t);
static inline bool ty_is_poly(const Ty *t) {
  return t->kind == K_FN && t->param_count > 0;
}
/* What an inference variable stands for. */
static inline Ty *ty_head(Ty *t) {
  while (t->kind == K_META && t->link) t = t->link;
  return t;
}
/* The same; shortens the way there, which a definition of many functions that
 * call each other makes long.  Not while solve.c tries a type. */
static inline Ty *ty_shorten(Ty *t) {
  while (t->kind == K_META && t->link) {
    Ty *next = t->link;
    if (next->kind == K_META && next->link) t->link = next->link;
    t = next;
  }
  return t;
}
/* Looks again whether the node is closed, and how deep it is: its parts may be
 * known by now. */
void ty_settle(Ty *t);
/* As text for messages, in the scratch arena. */
const char *ty_text(Infer *in, Ty *t);
/* The same, with the numbers that dimensions had first. */
const char *ty_text_narrow(Infer *in, Ty *t);

/* --- Agreement (unify.c): false sets in->conflict ------------------------ */

/* The types are the same, dimensions included. */
bool ty_unify(Infer *in, Ty *a, Ty *b, Why *why);
/* The same, with a report when they do not agree. */
bool require_flow(Infer *in, Ty *from, Ty *to, Why why);
bool require_same(Infer *in, Ty *found, Ty *expected, Why why);

/* One step deeper in a walk over a type, to be undone by in->depth--; false
 * beyond what the C stack shall hold. */
bool infer_enter(Infer *in);
void infer_too_deep(Infer *in);

Slot *slot_new(Infer *in, Dim value, bool fixed, Span from);
static inline Slot *slot_root(Slot *s) {
  while (s->same) s = s->same;
  return s;
}
/* What it was before a clash, or before it was widened. */
static inline Dim slot_first(const Slot *s) {
  return dim_is_hole(s->seen) ? s->value : s->seen;
}
void slot_flow(Infer *in, Slot *from, Slot *to, Why *why);
/* Both are to be the same; where one is not known, what is taken out of the
 * container or function is checked instead. */
void slot_unify(Infer *in, Slot *a, Slot *b, Why *why);
/* A value that flows in from outside. */
void slot_join(Infer *in, Slot *s, Dim value, Span from);
void slot_watch(Infer *in, Slot *s, Constraint *c);
void dims_propagate(Infer *in);
/* Gives every hole of the component a value; true when there was one. */
bool dims_fill_holes(Infer *in);
/* Reports what does not agree, and fixes the component's slots. */
void dims_finish(Infer *in);

/* --- Polymorphism (general.c) -------------------------------------------- */

/* `t` with its parameters replaced by new variables, which *targs receives. */
Ty *ty_instantiate(Infer *in, Ty *t, int param_count,
                   const TypeVar *const *params, Ty ***targs);
/* Quantifies the variables made deeper than the current level; *params
 * receives them.  Those that a constraint waits for stay free. */
int ty_generalise(Infer *in, Ty *t, const TypeVar *const **params);
/* Does it hold a variable that nothing determines? */
bool ty_is_open(Infer *in, Ty *t);
/* What it holds may still be determined by later definitions. */
void ty_keep_open(Infer *in, Ty *t);
/* The body of a polymorphic function type, for fresh rigid parameters. */
Ty *ty_skolemise(Infer *in, Ty *t, Ty ***rigid);
/* The polymorphic type of a literal, over parameters that do not belong to the
 * literal's scope: it may be the type of what stands outside. */
Ty *ty_leave_scope(Infer *in, Ty *t);

/* --- Constraints (solve.c) ----------------------------------------------- */

Constraint *constraint_new(Infer *in, ConstraintKind kind, const Expr *e);
void constraint_wake(Infer *in, Constraint *c);
/* It runs again when the variable is known. */
void constraint_wait(Infer *in, Ty *meta, Constraint *c);
/* Runs it for the first time; it is remembered when it has to wait. */
void constraint_start(Infer *in, Constraint *c);
/* Wakes what waits for a variable that is known now. */
void wake_waiting(Infer *in, Link *rules);
/* Runs what is queued until nothing changes. */
void solve(Infer *in);
/* The end of a component, or (`last`) of the unit: reports rules that fail or
 * wait, each mistake once.  Before the last, a rule may wait for a global
 * value that later text determines. */
void solve_finish(Infer *in, bool last);
/* --- Forms of differentiation (form.c) ------------------------------------ */

/* The type of a call of a form, given those of its arguments. */
Ty *infer_form(Infer *in, const Expr *e, Ty **args);
/* Reports that argument 0 of a form, whose type is known, is no function. */
void report_no_function(Infer *in, const Expr *e, Ty **args);
void run_form_of(Infer *in, Constraint *c);
/* A call of map_leaves: it becomes what it means once the types of its values
 * are known (leaves.c). */
Ty *infer_map_leaves(Infer *in, const Expr *e, Ty **args);
void run_leaves(Infer *in, Constraint *c);

/* --- Expressions (infer.c, call.c, pattern.c) ---------------------------- */

Ty *infer_expr(Infer *in, const Expr *e);
/* A use of something polymorphic, at new arguments for its parameters. */
Ty *infer_use(Infer *in, const Expr *e, Ty *type, int param_count,
              const TypeVar *const *params);
/* Requires that `e` is a polymorphic function of type `wanted`.  Only values
 * generalise, in the branches and at the end of blocks, too; what else there is
 * must be polymorphic by itself. */
void check_poly(Infer *in, const Expr *e, Ty *wanted, Why why);
Ty *infer_ctor_use(Infer *in, const Expr *e);
Ty *infer_call(Infer *in, const Expr *e, Ty *head);
Ty *infer_projection(Infer *in, const Expr *e, Ty *tuple);
Ty *infer_op_value(Infer *in, const Expr *e);
Why why_argument(const Expr *call, int i);
void wrong_count(Infer *in, const Expr *call, int wanted);
/* Can the operator be a value of this type?  Reports when not. */
bool op_value_fits(Infer *in, Constraint *c, Ty *t);
/* False when it does not fit, which was reported. */
bool infer_pattern(Infer *in, const Pattern *p, Ty *scrutinee, Span from);
/* A function's type by its annotations, with variables for what is missing;
 * its type parameters are rigid and not quantified. */
Ty *fn_skeleton(Infer *in, const Fn *fn);
/* Is every type of it written out? */
bool fn_is_annotated(const Fn *fn);
/* The body, against that skeleton; the result is quantified. */
Ty *infer_fn(Infer *in, const Expr *e, Ty *skeleton, const char *sigil,
             const Name *name);
/* May what this evaluates to be generalised? */
bool is_value(Mem *mem, const Expr *e);
VarInfo *var_info(Infer *in, const Var *var);
/* Makes room for the variables of what was resolved meanwhile. */
void infer_grow_vars(Infer *in);
/* A variable that the text does not have. */
Var *var_late(Infer *in, const Name *name, Span span);

/* --- Named fields (field.c) ----------------------------------------------- */

/* Once the type of e in `e.b` and `{e with b = v}` is known, the node becomes a
 * match on e. */
Ty *infer_field(Infer *in, const Expr *e, Ty *head);
/* The same of a node that waited: `t` is the type of its first argument. */
Ty *infer_known_field(Infer *in, const Expr *e, Ty *t);
/* Has the `if` a condition that shapes decide (branch.c)?  Then it has become
 * the branch that is taken. */
bool infer_decided(Infer *in, const Expr *e);

/* --- Known values (known.c) ----------------------------------------------- */

/* What is known of the value of a small integer tensor, in in->asked; NULL:
 * nothing.  The constraint runs again when one of its elements becomes less
 * known. */
const Known *known_value(Infer *in, const Expr *e, Constraint *watcher);
/* The tensor, of any dtype, that the expression gives where names, tuples,
 * calls and branches lead to a constant; NULL: they do not. */
const Tensor *known_constant(Infer *in, const Expr *e, Constraint *watcher);
/* The same of a row of a list of lists. */
const Known *known_row(Infer *in, const Expr *e, int row, Constraint *watcher);
/* Is one of its elements not inferred yet? */
bool known_has_hole(const Known *known);
/* Do shapes decide the condition, for good? */
Truth known_truth(Infer *in, const Expr *condition, bool by_shapes);

/* --- Functions that are checked by instance (instance.c) ------------------ */

/* What the parameters of kinds of a literal are where its type is to be
 * `wanted`; NULL after a report or without memory. */
const KindArg *literal_args(Infer *in, const Expr *literal, Ty *wanted);

Ty *infer_generic(Infer *in, const Expr *use);
Ty *infer_generic_call(Infer *in, const Expr *call, Ty *callee);
void run_instance(Infer *in, Constraint *c);
void run_pattern(Infer *in, Constraint *c); /* pattern.c */
/* Gives arguments that wait for others the types that follow from the kinds
 * which are known (outline.c); false after a report. */
bool infer_outline(Infer *in, Constraint *c, const TypeExpr *scheme,
                   const KindArg *args);
void report_no_instance(Infer *in, const Constraint *c);
/* The instance's body is wrong: says of the diagnostics from `first` on which
 * use asked for it. */
void instance_failed(Infer *in, const Instance *inst, size_t first);
/* Each generic function that nothing uses is tried at some instances. */
void check_generics(Infer *in);

/* --- Components (component.c) -------------------------------------------- */

/* The type by which the other members of the component, and uses of an
 * instance, see a definition.  *skeleton receives a function's type before it
 * is quantified. */
void definition_declare(Infer *in, Definition *d, Ty **skeleton);
/* Sorts and infers the definitions that are in no component yet. */
void infer_new(Infer *in);

/* --- Finishing (zonk.c) -------------------------------------------------- */

/* As far as it is known, for messages; `narrow`: by slot_first. */
const Type *zonk_partly(Infer *in, Ty *t, bool narrow);
/* Fills in every type; variables that nothing determines are reported. */
void zonk_program(Infer *in);

/* Writes lets where ranks cross (coerce.c); all types are filled in. */
void coerce_ranks(Infer *in);

/* --- Holes (hole.c) ------------------------------------------------------ */

/* The type of an EX_ERROR: a variable where it is a hole. */
Ty *hole_type(Infer *in, const Expr *e);
/* Reports the holes met so far, once each, and gives up what waits for them. */
void holes_finish(Infer *in);
/* Would the constraint's rule take `t` for the variable that is its operand
 * `i`, and then give what is wanted of it? */
bool constraint_takes(Infer *in, Constraint *c, int i, Ty *t);

/* --- Messages (message.c) ------------------------------------------------ */

void report_mismatch(Infer *in, Why *why);
/* A value's dim `from` does not fit `to`, which `slot` has or had first. */
void report_dims(Infer *in, Why *why, Dim from, Dim to, const Slot *slot);
void report_rule(Infer *in, Constraint *c, const RuleCall *call);
void report_form_value(Infer *in, const Constraint *c);
void report_stuck(Infer *in, Constraint *c);
/* Hints how to get at what is inside a value of `t`; false when there is no
 * way that is worth a hint. */
bool hint_inside(Diag *d, Ty *t);
/* That a `;` after the expression at `span` makes the value `()`; false: there
 * is none, or another value was found. */
bool hint_semicolon(Infer *in, Diag *d, const Ty *found, Span span);
/* Hints that a type has to be written: that of a variable ("%") or a global
 * ("@").  The example is what is known of it (NULL: nothing), with int32 for
 * the rest. */
void hint_annotation(Infer *in, Diag *d, const char *sigil, const Name *name,
                     Ty *known);

#endif
