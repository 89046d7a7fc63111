/* Resolution: from names to what they mean.  The parsed tree is mapped to a
 * new one in the same arena. */
#ifndef TYPES_RESOLVE_H
#define TYPES_RESOLVE_H

#include "base/split.h"
#include "types/check.h"

/* What a name meant before an inner binding hid it. */
typedef struct Hidden {
  PtrMap *map;
  const void *name;
  void *meaning; /* NULL: nothing */
} Hidden;

typedef struct Resolver {
  Checker *c;
  Program *p;
  Definition *def; /* whose body this is */
  Unit *unit;
  Arena *arena; /* the unit's */
  Scope *scope;
  PtrMap vars;         /* Name -> Var */
  PtrMap type_vars;    /* Name -> TypeVar */
  PtrMap free_vars;    /* Var of a `free_var` that nothing uses -> Binding */
  PtrMap size_vars;    /* MetaEntry of a SizeVar -> TypeVar */
  PtrMap no_dims;      /* Names reported by report_no_dim */
  PtrMap dims;         /* TypeVar of a named dimension -> DimRead */
  VEC(Hidden) hidden;  /* undone when a scope ends */
  struct Homes *homes; /* of graph variables */
  SplitStack stack;
  /* What a hoisted graph variable's value refers to: it must mean the same
   * where its binding stands. */
  VEC(struct Watched {
    const Name *name;
    Var *var;
  })
  watched;
  uint32_t watch_below; /* note variables older than this; 0: none */
  int inlined;       /* so many functions are being inlined within each other */
  PtrMap rooms;      /* Var of memory.alloc_tensor -> Room */
  const Expr *block; /* the innermost one, as parsed */
  /* Of the literal of `map_leaves` that is resolved: its parameters in brackets
   * and what they stand for. */
  const TypeParam *leaf_params;
  const KindArg *leaf_args;
} Resolver;

/* --- Expressions (resolve.c) --------------------------------------------- */

const Expr *resolve_expr(Resolver *r, const Expr *e);
/* What fits everything, after a report. */
Expr *resolve_error(Resolver *r, Span span);
Expr *resolve_var_use(Resolver *r, Span span, Var *var);
Expr *resolve_op_call(Resolver *r, Span span, OpId op, int count,
                      const Expr *const *args);
Expr *resolve_int(Resolver *r, Span span, DType dtype, int64_t value);
/* The value of a named dimension; NULL: it has none here. */
Expr *resolve_dim_value(Resolver *r, Span span, const TypeVar *dim);

/* The body of an inlined function, for a call of it (resolve_inline.c). */
const Expr *resolve_inlined(Resolver *r, const Expr *call, const Global *g);
/* A call of `map_leaves`, its arguments resolved (resolve_leaves.c). */
const Expr *resolve_map_leaves(Resolver *r, const Expr *e,
                               const Expr *const *args);
/* The call as it is to be resolved: without a literal of kinds. */
const Expr *resolve_leaf_call(Resolver *r, const Expr *e);
/* The body of a scope, which may be the home of graph variables. */
const Expr *resolve_body(Resolver *r, const Expr *e);

/* --- What TVM's compiler leaves behind (resolve_lowered.c) ---------------- */

/* A tensor of memory.alloc_tensor that nothing has written. */
typedef struct Room {
  const Expr *block;      /* where it was made */
  const Expr *use, *read; /* the last use, and one before it; or NULL */
} Room;

/* What a call of an operator that op_is_lowered means; `head` is its first
 * operand, resolved, or NULL. */
const Expr *resolve_lowered(Resolver *r, const Expr *e, OpId op,
                            const Expr *head);
/* The same for a `let` or an item of a block, whose value may write into
 * variables of the block: their new bindings go to `out`.  NULL: it does not
 * write. */
const Expr *resolve_write(Resolver *r, const Expr *e, Bindings *out);
/* `let %var = value`, and a use of the variable. */
void room_bind(Resolver *r, const Expr *value, const Var *var);
void room_use(Resolver *r, const Var *var, const Expr *use);

/* --- Named fields (resolve_field.c) -------------------------------------- */

/* Makes the node, a name with dots, the fields `path` (".layers.0.bias") of the
 * name `head`. */
void field_split(Resolver *r, Expr *e, const Name *head, const char *path);
/* The expression that a field or an argument by name is written as. */
const Expr *resolve_attr_value(Resolver *r, const Attr *attr);
/* A call of a constructor with fields by name: `call` has the others, which are
 * resolved. */
const Expr *resolve_fields(Resolver *r, const Expr *e, const Expr *call);
/* A changed copy, of `head` if that is given: `with` over values that may be
 * evaluated in any order. */
const Expr *resolve_with(Resolver *r, const Expr *e, const Expr *head);
/* The fields of a constructor's pattern in order, `_` for those that are not
 * named.  They are resolved. */
void resolve_labels(Resolver *r, Pattern *p);
/* Reports a field that the constructor does not have. */
void unknown_field(Program *p, const Ctor *ctor, const Name *name, Span span);

/* --- Scopes (scope.c) ---------------------------------------------------- */

void resolver_init(Resolver *r, Checker *c, Definition *def);
void resolver_done(Resolver *r);

/* Binds a name until the scope that `mark` began ends. */
size_t scope_mark(const Resolver *r);
void scope_bind(Resolver *r, PtrMap *map, const void *name, void *meaning);
void scope_end(Resolver *r, size_t mark);

/* A new variable for one as parsed, its annotation resolved. */
Var *resolve_var(Resolver *r, const Var *parsed);

/* Names of definitions, the library's linked on demand; NULL: unknown. */
Global *find_global(Resolver *r, const Name *name);
Adt *find_adt(Resolver *r, const Name *name);
Ctor *find_ctor(Resolver *r, const Name *name);

/* Report an unknown name, with the nearest one as a hint. */
Expr *unknown_local(Resolver *r, const Expr *e);
Expr *unknown_global(Resolver *r, const Expr *e);
Expr *unknown_ident(Resolver *r, Span span, const Name *name);
void unknown_ctor(Resolver *r, Span span, const Name *name);
void unknown_type(Resolver *r, Span span, const Name *name);

/* --- Patterns (resolve_pattern.c) ---------------------------------------- */

/* Binds a parameter or a pattern's variable; those of one list have the ids
 * from `first` on.  `%_` may repeat. */
void bind_once(Resolver *r, uint32_t first, Var *var);

/* A variable of an arm's first alternative: has the one at hand bound it? */
typedef struct TakenName {
  Var *var;
  bool taken;
} TakenName;

typedef VEC(TakenName) Names;

/* The arms of a match under construction. */
typedef struct ArmList {
  Resolver *r;
  const Match *parsed;
  VEC(Arm) arms;
  Patterns alternatives; /* of the arm at hand, as parsed */
  Names names;
  Adt *literals[DTYPE_COUNT]; /* NULL: no literal of the dtype yet */
  PtrMap known;               /* a literal's name -> Ctor */
} ArmList;

void arms_begin(ArmList *list, Resolver *r, const Match *parsed);
/* Adds an arm for each alternative of a parsed one, without guard and body;
 * its variables are bound until the scope ends.  Gives the first one's index.
 */
size_t arms_add(ArmList *list, const Arm *parsed);
const Match *arms_end(ArmList *list);

/* --- Declarations (declare.c) -------------------------------------------- */

/* An ADT whose constructors' fields still have to be resolved. */
typedef struct AdtWork {
  Adt *adt;
  const AdtDecl *decl;
  Unit *unit;
  Scope *scope;
  const TypeVar *const *vars; /* what the parameters of the text mean */
  bool busy;                  /* an alias that is being resolved */
} AdtWork;

void declare_unit(Checker *c, Unit *unit, Scope *scope);

/* --- Data types by instance (adt_instance.c) ------------------------------ */

/* Is one of the parameters solved by instance? */
bool params_generic(int count, const TypeParam *params);
bool same_kind_args(int count, const KindArg *a, const KindArg *b);
/* "s of rank 2, d = float32" */
const char *kind_args_text(Arena *arena, int count, const TypeParam *params,
                           const KindArg *args);
/* The dimensions of a shape of `rank`: parameters s.0, s.1, ..., or with other
 * text than the dot in between. */
void typevar_add_axes(Checker *c, Arena *arena, TypeVar *var,
                      const char *between);
/* The instance of a data type or alias at these arguments, one for each
 * parameter of its text; NULL after a report or without memory. */
Adt *adt_instance(Checker *c, Adt *generic, const KindArg *args, Span asked);
/* Each that the unit declares is tried at one instance. */
void check_generic_adts(Checker *c);
/* Resolves the fields of all types that have been declared; does nothing while
 * that is under way. */
void resolve_adts(Checker *c);

/* --- Types (resolve_type.c) ---------------------------------------------- */

/* What an alias stands for, over its parameters; after a report the error
 * type. */
const Type *resolve_alias(Checker *c, Adt *alias);
/* The meaning of a written type; holes are inference variables of
 * undetermined level, named dimensions forms over their TypeVars. */
const Type *resolve_type(Resolver *r, const TypeExpr *t);
/* Reports that the name is no dimension, once for each name in a definition. */
void report_no_dim(Resolver *r, Span span, const Name *name);
/* The same of a shape, one of whose dimensions cannot be read. */
void report_no_axis(Resolver *r, Span span, const TypeVar *shape);
/* New TypeVars for declared parameters, bound until the scope ends. */
const TypeVar *const *resolve_type_params(Resolver *r, int count,
                                          const TypeParam *params);
/* Puts what an instance of a generic function has in the place of parameters of
 * its text: none for a dtype, for a shape one for each dimension. */
void resolve_instance_params(Resolver *r, Fn *fn);
/* The same for the SizeVars of the metadata section that are dimensions of its
 * parameters: each is a Dim parameter that the text does not declare, unless an
 * outer function has it. */
void resolve_size_vars(Resolver *r, Fn *fn);
/* A named dimension as a value: a let at the start of the body, if used. */
typedef struct DimRead {
  Var *var;
  const Expr *value;
  bool used;
} DimRead;
/* Checks that each Dim parameter is bound by some parameter's type, and says
 * how to read it: r->dims. */
void resolve_dim_params(Resolver *r, const Fn *fn);

/* --- Operator calls (resolve_op.c, resolve_attr.c) ----------------------- */

/* False after reporting a call with too few or too many operands. */
bool check_operator_arity(Resolver *r, const Expr *e, OpId id, bool dyn);
/* A call of `op` as parsed, its operands and attributes bound. */
const Expr *resolve_operator(Resolver *r, const Expr *e, OpId op, bool dyn,
                             int count, const Expr *const *args);
/* Operands under construction, with room for those that hold attributes. */
typedef struct Operands {
  const Expr **items;
  int count;
} Operands;
/* Fills the record from written attributes; expressions become operands.
 * False when something was reported. */
bool resolve_attrs(Resolver *r, const Expr *call, const OpInfo *op,
                   Attrs *attrs, Operands *operands);
/* Binds attribute `i` to an expression. */
void attr_bind_expr(const OpInfo *op, int i, const Expr *value, Attrs *attrs,
                    Operands *operands);
/* A bracket: one constant, or a `stack`. */
const Expr *resolve_bracket(Resolver *r, const Expr *e);
const Expr *resolve_list(Resolver *r, const Expr *e);
const Expr *resolve_string(Resolver *r, const Expr *e);
const MetaEntry *find_meta(const Unit *unit, const char *key, int64_t index);

/* --- Graph variables (home.c) -------------------------------------------- */

typedef struct Homes Homes;
/* Finds the home of every graph variable of a parsed body. */
Homes *homes_find(Resolver *r, const Expr *body);
void homes_done(Homes *h);
typedef struct GraphNode {
  int64_t index;
  const Binding *binding;
  Var *var;   /* once its let is resolved */
  bool sinks; /* its first use lies inside an `if` or `match` */
  size_t watched, watched_end; /* of the resolver's list */
  struct GraphNode *next;      /* of those that go before the same item */
} GraphNode;
/* The node that an EX_GRAPH means; NULL: not defined above it. */
GraphNode *homes_node(const Homes *h, const Expr *use);
/* Nodes to evaluate before item `item` of the block (or the scope's body)
 * `e`, in order. */
GraphNode *homes_before(const Homes *h, const Expr *e, int item);
/* Do the items of this block join those of the block around it? */
bool homes_flat(const Homes *h, const Expr *block);
/* The node that a binding defines, or NULL: it is never used. */
GraphNode *homes_defined(const Homes *h, const Binding *b);
/* The same if it stays where its binding stands, else NULL. */
GraphNode *homes_stays(const Homes *h, const Binding *b);

#endif
