/* What the files that map a unit to plain Relay share: the state of one run of
 * the pass, which lives on the stack of pass_relay, and the parts of the map by
 * file.
 *
 * What is made lies in the unit's arena and may point into the unit as parsed.
 * Maps and vectors belong to the run.  The second half of Relay is that of the
 * definition at hand, and begins afresh with each (relay_names_reset). */
#ifndef PASSES_RELAY_MAP_H
#define PASSES_RELAY_MAP_H

#include "ir/program.h"

/* A variable in scope, and what its name meant before. */
typedef struct Hidden {
  const Name *name;
  void *meant;
  const Var *var;
} Hidden;

/* A named dimension's value outside of the function at hand. */
typedef const Expr *HiddenDim;

/* A definition, and which of the unit's params it reaches. */
typedef struct Needs {
  const Item *item;
  const Expr *used; /* of the library: the text's use that leads to it */
  bool *params;     /* by index in Relay.params */
  VEC(struct Needs *) uses;
} Needs;

typedef struct Relay {
  Program *p;
  const Unit *unit;
  Arena *arena;
  VEC(const Item *) params;
  VEC(Needs *) needs;
  PtrMap by_name;          /* a def's Name -> Needs */
  PtrMap library;          /* the same of the library's that TVM's lacks */
  PtrMap mentioned;        /* names that may be of types and constructors */
  VEC(const Item *) types; /* of the library, which TVM's lacks */
  PtrMap asked;            /* the Name of an instance of the library's -> the
                              text's use that leads to it */
  PtrMap refused;          /* uses of the library that were reported */
  PtrMap ctors;            /* names of the unit's constructors */
  PtrMap adts;             /* Name -> AdtDecl, of list literals */
  PtrMap aliases;          /* Name -> AdtDecl */
  bool names_fields;       /* a type of the text has named fields */
  PtrMap type_args;        /* an alias's parameter -> TypeExpr, mapped */
  int alias_depth;         /* aliases within one another */
  int alias_parts;         /* of the type whose aliases are written out */
  const Item *main;        /* the expression that becomes @main; NULL: none */
  bool has_generic_adts;   /* the text has types of shapes or dtypes: */
  PtrMap adt_places;       /* an instance's Name, or this struct -> PtrMap:
                              where a constructor's text is -> its Adt */
  VEC(PtrMap *) adt_maps;
  PtrMap adt_names;             /* an instance -> what its names end with */
  VEC(const Adt *) adt_written; /* the same, in the order of their uses */
  VEC(Tensor *) constants;      /* of the metadata section to be, owned */
  VEC(Span) unsaid; /* annotations left out, in the unit's own text */
  /* In the definition at hand: */
  const Needs *home;
  PtrMap locals; /* Name -> the Name that it prints as */
  VEC(Hidden) hidden;
  VEC(HiddenDim) hidden_dims;
  VEC(DType) brackets; /* of the tensor literals under way, the outermost's */
  PtrMap taken;        /* names that some binder has */
  PtrMap suffixes;     /* Name -> the last suffix that it was given */
  PtrMap dims;         /* a named dimension in scope -> its value */
  PtrMap graph;        /* 1 + index -> 1 + number */
  int64_t graph_count; /* in all definitions: TVM's are one table */
} Relay;

/* Reports what plain Relay cannot say. */
void relay_refuse(Relay *r, Span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* --- Functions of shapes and dtypes (relay_instance.c) ------------------- */

/* Has the function parameters of such kinds? */
bool relay_is_generic(const Item *item);
bool relay_is_generic_type(const Item *item);
/* The unit with a function for each of their instances that it uses: the same
 * unit where it uses none; NULL after a report. */
Unit *relay_instances(Relay *r, Unit *u);

/* What the parameters of an instance stand for. */
typedef struct KindEnv {
  Program *p;
  Arena *arena;
  int count; /* 0: there are none */
  const TypeParam *params;
  const KindArg *args;
} KindEnv;

/* A type of the text with those put in. */
const TypeExpr *relay_written_type(const KindEnv *env, const TypeExpr *t);

/* --- Data types of shapes and dtypes (relay_adt.c) ----------------------- */

void relay_adts_init(Relay *r);
void relay_adts_done(Relay *r);
/* Notes which instances the constructors of a checked expression belong to;
 * `home` is the name of the function's instance, or NULL. */
void relay_note_ctors(Relay *r, const Name *home, const Expr *value);
/* The type with names of instances. */
const TypeExpr *relay_adt_types(Relay *r, const TypeExpr *t);
/* The same of the constructors in a mapped expression. */
const Expr *relay_adt_ctors(Relay *r, const Expr *e);
/* The n-th instance that something written names, as an item; false: there are
 * fewer.  Mapping one may name more. */
bool relay_adt_item(Relay *r, size_t n, Item *out);
/* Names an instance of each type of the text that has none yet. */
void relay_name_all_adts(Relay *r);

/* --- Params (relay_input.c) ----------------------------------------------- */

void relay_find_inputs(Relay *r);
/* The definition that a global's name means in one of them; NULL: neither the
 * text has one nor, among what TVM's lacks, the library. */
Needs *relay_callee(const Relay *r, const Needs *home, const Name *name);
void relay_inputs_done(Relay *r);

/* --- Names (relay_name.c) ------------------------------------------------- */

/* A new definition begins: nothing is bound. */
void relay_names_reset(Relay *r);
/* A copy of the variable under a name that its definition has not used yet and
 * that is no keyword; its uses are renamed until the scope is left. */
Var *relay_bind(Relay *r, const Var *v);
/* What a use of the name is called now. */
const Name *relay_local(const Relay *r, const Name *name);
void relay_leave(Relay *r, size_t scope);
/* A definition's name, which is no keyword either. */
const Name *relay_global_name(Relay *r, const Needs *n);
/* A fresh name.  It may be spelt like a name of the text; binding it, like any
 * other, renames it then. */
const Name *relay_own_name(Relay *r, const char *text);
/* A local name that nothing in the definition has. */
const Name *relay_fresh(Relay *r, const char *name);
/* The number that stands for `%index` in the whole text. */
int64_t relay_graph(Relay *r, int64_t index);

/* --- Types (relay_type.c) ------------------------------------------------- */

/* The type without aliases, and with the names of instances. */
const TypeExpr *relay_meaning(Relay *r, const TypeExpr *t);
/* The type of a binder or a result; NULL when there are no words for it, for
 * it may be left out. */
const TypeExpr *relay_annotation(Relay *r, const TypeExpr *t);
/* A type that cannot be left out; reports when there are no words for it. */
const TypeExpr *relay_type(Relay *r, const TypeExpr *t);
/* A data type's declaration, in the text or in the library; NULL: none. */
const AdtDecl *relay_find_type(Relay *r, const Name *name);
/* The parameters that are no dimensions. */
const TypeParam *relay_type_params(Relay *r, int count, const TypeParam *params,
                                   int *kept);
/* Named dimensions come into scope, with the value that each has in terms of
 * the parameters, which were bound last; then what they hid comes back. */
void relay_dims_enter(Relay *r, const Fn *fn);
void relay_dims_leave(Relay *r, const Fn *fn);

/* --- Expressions ---------------------------------------------------------- */

/* NULL: memory ran out. */
const Expr *relay_expr(Relay *r, const Expr *e);
/* The same expression without literals, alternatives and guards in its
 * matches: relay_match.c. */
const Expr *relay_matches(Relay *r, const Expr *e);

/* The same expression without names of fields, of which the checker has found
 * the constructors: relay_field.c. */
const Expr *relay_fields(Relay *r, const Expr *e);
bool relay_names_fields(const Unit *u);
/* May an `if` of the text be decided by shapes?  The checker says which are. */
bool relay_may_decide(Program *p, const Unit *u);

/* An operator's call. */
Expr *relay_op(Relay *r, Span span, const char *name, int count,
               const Expr *const *args);
Expr *relay_with_attr(Relay *r, Expr *call, const char *name, AttrExpr value);
Expr *relay_with_dtype(Relay *r, Expr *call, DType dtype);
/* Reports attributes that are no literals of Relay. */
void relay_check_attrs(Relay *r, int count, const Attr *attrs);
Expr *relay_cast(Relay *r, const Expr *e, DType dtype);

/* An operator's call whose parts are mapped: relay_op.c. */
const Expr *relay_op_call(Relay *r, const Expr *e);
/* An operator as a value: fn (%a) { op(%a) }. */
const Expr *relay_op_value(Relay *r, const Expr *e);
/* The printer puts a block without braces in parentheses. */
const Expr *relay_parens(Relay *r, const Expr *e);

/* relay_literal.c */
const Expr *relay_int(Relay *r, Span span, int64_t value);
/* stack((items...), axis=0) */
const Expr *relay_stack(Relay *r, Span span, int count,
                        const Expr *const *items);
const Expr *relay_constant(Relay *r, const Expr *e);
/* A tensor literal.  Before its elements: what stands for all of it, or NULL.
 * An element that is a constant.  After them, with those mapped; `outer`: it is
 * no row of another. */
const Expr *relay_bracket_enter(Relay *r, const Expr *e);
const Expr *relay_element(Relay *r, const Expr *e);
const Expr *relay_bracket_leave(Relay *r, const Expr *e, bool outer);
const Expr *relay_string(Relay *r, const Expr *e);
/* The number that `e` is as an element of a literal of `dtype`; false when it
 * is none. */
bool relay_number(const Relay *r, const Expr *e, DType dtype, Value *bits);

/* Long literals as constants of the metadata section, or NULL: relay_meta.c. */
const Expr *relay_long_bracket(Relay *r, const Expr *e, DType dtype);
const Expr *relay_long_string(Relay *r, const Expr *e);
/* The section's text; NULL: there are no such constants. */
const char *relay_section(Relay *r);

#endif
