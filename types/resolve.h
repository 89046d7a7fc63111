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
} Resolver;

/* --- Expressions (resolve.c) --------------------------------------------- */

const Expr *resolve_expr(Resolver *r, const Expr *e);
/* What fits everything, after a report. */
Expr *resolve_error(Resolver *r, Span span);
Expr *resolve_var_use(Resolver *r, Span span, Var *var);
Expr *resolve_op_call(Resolver *r, Span span, OpId op, int count,
                      const Expr *const *args);
Expr *resolve_int(Resolver *r, Span span, int64_t value);

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

/* --- Declarations (declare.c) -------------------------------------------- */

/* An ADT whose constructors' fields still have to be resolved. */
typedef struct AdtWork {
  Adt *adt;
  const AdtDecl *decl;
  Unit *unit;
  Scope *scope;
} AdtWork;

void declare_unit(Checker *c, Unit *unit, Scope *scope);

/* --- Types (resolve_type.c) ---------------------------------------------- */

/* The meaning of a written type; holes are inference variables of
 * undetermined level, named dimensions forms over their TypeVars. */
const Type *resolve_type(Resolver *r, const TypeExpr *t);
/* That the name is none of a dimension: once for each in a definition. */
void report_no_dim(Resolver *r, Span span, const Name *name);
/* New TypeVars for declared parameters, bound until the scope ends. */
const TypeVar *const *resolve_type_params(Resolver *r, int count,
                                          const TypeParam *params);
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

/* A call of `op` as parsed, its operands and attributes bound. */
/* Reports a call with too few or too many operands. */
bool check_operator_arity(Resolver *r, const Expr *e, OpId id, bool dyn);
const Expr *resolve_operator(Resolver *r, const Expr *e, OpId op, bool dyn,
                             int count, const Expr *const *args);
/* Operands under construction. */
typedef struct Operands {
  const Expr *items[OP_ARGS_MAX + ATTRS_MAX];
  int count;
} Operands;
/* Fills the record from written attributes; expressions become operands.
 * False when something was reported. */
bool resolve_attrs(Resolver *r, const Expr *call, const OpInfo *op,
                   Attrs *attrs, Operands *operands);
/* Binds attribute `i` to an expression. */
void attr_bind_expr(Resolver *r, const OpInfo *op, int i, const Expr *value,
                    Attrs *attrs, Operands *operands);
/* A bracket: one constant, or a `stack`. */
const Expr *resolve_bracket(Resolver *r, const Expr *e);
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
