/* The state of one run of the checker, and what its phases hand on: new
 * definitions in the order of their text, each resolved (resolve.h), put into
 * a component (scc.c), inferred (infer.h), then checked and summarised. */
#ifndef TYPES_CHECK_H
#define TYPES_CHECK_H

#include "ops/ops.h"
#include "types/types.h"

/* --- Definitions --------------------------------------------------------- */

/* A global, or a script's expression, that this run has to check. */
typedef struct Definition {
  Global *global; /* NULL: an expression */
  const Item *item;
  Unit *unit;
  Scope *scope;         /* the scope in which its names are looked up */
  int order;            /* index of its item in its file */
  const Type *declared; /* by its annotation; NULL: none */
  const Expr *value;    /* in bound form; NULL: a param without a default */
  Span span;
  VEC(struct Definition *) uses;
  struct Instance *instance; /* it is one of a generic function; or NULL */
  /* scc.c: */
  int index, low, component; /* 0: not seen yet */
  bool on_stack;
  /* infer.c: */
  struct Ty *type;
  int param_count; /* quantified */
  const TypeVar *const *params;
} Definition;

typedef VEC(Definition *) Definitions;

/* `_` where an expression should stand. */
typedef struct Hole {
  Span span;
  int count;
  Var **vars;      /* the local variables in scope */
  bool in_def;     /* the top level's are not */
  struct Ty *type; /* once it was met by inference */
  bool reported;
} Hole;

/* --- Functions that are checked by instance ------------------------------ */

/* A `def` with parameters of kinds such as Shape and Float (ir/kind.def).  Its
 * text is resolved, inferred and lowered once for each combination of their
 * arguments that is used, as a definition of its own.  Its type is written
 * out, so a use needs nothing of the instance's body. */
typedef struct Generic {
  Global *global;
  const Item *item;
  Unit *unit;
  bool refused; /* something is wrong with its declaration, */
  bool failed;  /* or with an instance: both were reported */
} Generic;

typedef struct Instance {
  Generic *of;
  const KindArg *args; /* one for each parameter of the text */
  Global *global;
  Definition *def; /* in the run of the checker that made it */
  Span asked;      /* the use that asked for it first; none: its definition */
  const struct Instance *asker; /* the instance in which that stands */
  /* What resolving it added: variables, and nodes that may sink. */
  uint32_t first_var, end_var;
  size_t first_sinking, end_sinking, first_match, end_match;
} Instance;

/* A graph variable's let whose first use lies inside an `if` or `match`. */
typedef struct Sinking {
  Var *var;
  const Expr *value;
} Sinking;

/* Nodes of which one is the leftmost part of the other, from the outside in.
 * Whoever pushes to the checker's leaves it as it was. */
typedef VEC(const Expr *) Spine;

/* --- Functions of `map_leaves` -------------------------------------------- */

/* A literal, and what names meant where it stands. */
typedef struct LeafText {
  const Expr *call; /* resolved */
  const Expr *text; /* of the function, as parsed */
  Definition *def;
  Unit *unit;
  Scope *scope;
  int var_count, type_var_count, dim_count;
  struct PtrMapEntry *vars, *type_vars, *dims;
} LeafText;

/* --- The checker --------------------------------------------------------- */

/* A rule of the text or of one that it imports. */
typedef struct RuleItem {
  Unit *unit;
  Item *item;
} RuleItem;

typedef struct Checker {
  Program *p;
  Unit *unit; /* the one handed in; others come by import and from
                 the library */
  Mem *mem;
  Arena arena;      /* for inference; freed when that is done */
  Scope scope;      /* the unit's own names, before they join p->user */
  Definitions defs; /* grows while the library is linked */
  size_t resolved;  /* so many of them are */
  VEC(Definition *) steps;
  VEC(struct AdtWork *) adts; /* whose constructors' fields are to come */
  size_t adts_resolved;
  bool adts_busy;           /* they are being resolved */
  VEC(Adt *) generic_adts;  /* that this run declares */
  VEC(Adt *) adt_instances; /* made in this run */
  int alias_depth;          /* aliases of aliases that are being resolved */
  PtrMap dim_vars;          /* Var that holds a named dimension -> TypeVar */
  Spine spine;              /* of the expressions under way */
  PtrMap no_ctors; /* names of which the library has no constructor, a set */
  VEC(Sinking) sinking;
  VEC(const Expr *) matches; /* resolved ones, an outer one first */
  PtrMap rules;              /* Name -> the Item of a rule */
  VEC(RuleItem) rule_items;
  Definitions components; /* in order of inference */
  VEC(LeafText *) leaf_texts;
  VEC(Hole *) holes; /* an EX_ERROR's index is one more than its place */
  int component_count;
  VEC(Generic *) generics;   /* that this unit declares */
  VEC(Instance *) instances; /* made in this run */
  size_t errors_before;
  uint32_t first_var; /* ids of variables below it are of earlier runs */
  struct Infer *infer;
} Checker;

/* Is the unit part of the library? */
static inline bool unit_is_library(const Unit *u) {
  return u->source && u->source->library;
}

/* Takes the run's instances from `first` on out of the program again: they
 * cannot be, or the unit was refused. */
void instances_forget(Checker *c, size_t first);

/* The same for instances of data types. */
void adt_instances_forget(Checker *c, size_t first);

/* Does a parameter's type say what each parameter of a kind is?  False after a
 * report. */
bool types_require_determined(Checker *c, const Fn *fn);
/* The type of a function as written, with holes for what is not. */
const TypeExpr *scheme_written(Checker *c, const Expr *fn);

/* --- Rules (rule.c) ------------------------------------------------------- */

/* Notes a rule, and that its name is taken. */
void rule_declare(Checker *c, Unit *unit, const Item *item);
/* Checks the rules that were noted, by instances, once the definitions of the
 * text are finished. */
void rules_check(Checker *c);
/* The type of what the one function of a parsed unit gives, with what `around`
 * declares in scope; NULL after reporting.  Nothing of the unit enters the
 * program; but a function that is checked by instance is told what the
 * instances that the unit uses can do. */
const Type *types_of_function(Checker *around, Unit *unit);

/* --- Phases -------------------------------------------------------------- */

/* Declares the unit's names and resolves everything that is reached. */
void resolve_program(Checker *c);
/* Reports a list literal of a type that is no list's. */
void report_no_list(Program *p, const Adt *adt, Span span);

/* Adds a definition, which is to be resolved next. */
Definition *definition_new(Checker *c, Unit *unit, Scope *scope,
                           const Item *item, int order);
/* Resolves what has been added since, and what that reaches. */
void resolve_new(Checker *c);
/* Resolves definition `at`, the next one. */
void resolve_definition(Checker *c, size_t at);

/* One more copy of a literal of `map_leaves`; `args` say what its parameters of
 * kinds are (NULL: it has none). */
const Expr *resolve_leaf_again(Checker *c, const LeafText *t,
                               const KindArg *args, bool first);

/* Sorts the definitions that are in no component yet into components, callees
 * before callers: c->components, each definition's `component`. */
void scc_sort(Checker *c);
/* Sorts all of them again: instances have added uses. */
void scc_sort_again(Checker *c);

/* Types of everything; afterwards every Expr, Var and Global has its own. */
void infer_program(Checker *c);
/* An inference variable for a `_` in an annotation (a struct Ty). */
void *infer_hole(Checker *c);

/* Do all matches take every value?  They are typed. */
void exhaust_program(Checker *c);
void effects_program(Checker *c);

/* --- operator.c ----------------------------------------------------------- */

/* Reports a rule of differentiation that no `op` of its text fits. */
void operator_check_gradient(Checker *c, const Unit *unit, const Item *item);
/* Puts the derivative that the text states into the body of an `op`. */
void operator_add_gradient(Checker *c, Unit *unit, Item *item);
/* Reports calls of operators whose conditions cannot hold (E0907). */
void operators_check_calls(Checker *c);

#endif
