/* What the files of Defunctionalization share: which types of functions become
 * data types, and which definitions are copied for that. */
#ifndef PASSES_DEFUNCTIONALIZE_H
#define PASSES_DEFUNCTIONALIZE_H

#include "passes/rewrite.h"

/* A type of functions without parameters, and the data type that its values
 * become. */
typedef struct Class {
  const Type *type;
  bool stays;     /* its values have to be functions */
  bool valued;    /* something makes a value of it, */
  Span made_at;   /* first here */
  Adt *adt;       /* NULL: it stays */
  Global *apply;  /* calls what a value of it stands for */
  PtrMap ctor_of; /* what a value stands for -> its Ctor: an Instance, an
                     OpInfo, a Ctor */
  VEC(Ctor *) ctors;
  VEC(Arm) arms;            /* of the match in `apply` */
  Var **params;             /* of `apply`, the last of which is the value */
  const Expr *const *given; /* uses of those before it */
} Class;

/* A definition at the types that a use gives to its parameters. */
typedef struct Instance {
  Global *of;
  const Type *const *args; /* as many as `of` has parameters */
  const Type *type;
  bool copied;           /* uses at a type that becomes data are of a copy */
  Global *copy;          /* over data types; NULL: it needs none */
  struct Instance *next; /* of the same definition */
} Instance;

typedef struct Defun {
  Program *p;
  Unit *unit;
  Arena *arena;
  PtrMap class_of; /* Type -> Class */
  PtrMap noted;    /* Types that were looked at */
  PtrMap now;      /* Type -> what it becomes */
  PtrMap first;    /* Global -> its Instances */
  PtrMap kept;     /* Global -> the same, of definitions that take or give
                      functions: they stay, and uses are of copies */
  PtrMap vars;     /* Var -> the one in its place */
  PtrMap declared; /* the Adts whose fields may change */
  VEC(Class *) classes;
  VEC(Instance *) instances; /* in the order in which they were met */
  VEC(Item) made;
  bool grows; /* a function uses itself at larger types without end: no copy of
                 it is the last, so all stays as it is */
} Defun;

/* Writes values of the classes that do not stay as data. */
void defun_map(Defun *d);

/* What a type becomes, once the classes have their data types. */
const Type *defun_now(Defun *d, const Type *t);

/* --- defunctionalize_field.c: types of the text that declare functions ---- */

/* Notes the types of a unit whose fields may change; `data` is the Defun. */
void defun_find_declared(void *data, Unit *u);
/* Is it one of those? */
bool defun_is_declared(const Defun *d, const Type *t);
/* Changes the fields of a unit's types, once the classes have data types. */
void defun_map_declared(void *data, Unit *u);

/* The type of something in an instance (NULL: in no copy). */
const Type *defun_type(const Defun *d, const Instance *in, const Type *t);
/* The instance that a use of a definition in another one means; NULL: its
 * parameters are not all types without variables. */
Instance *defun_instance(Defun *d, const Instance *in, const Expr *use);
/* The class of such a type; NULL: it is none. */
Class *defun_class(const Defun *d, const Type *t);
/* Does it name something that has calls of its own: a definition, an operator,
 * a constructor, or a `fn` that is written there? */
bool defun_is_direct(const Expr *callee);
/* The variables that a `fn` mentions and does not bind, each once. */
typedef VEC(Var *) Vars;
void defun_free(const Defun *d, const Expr *fn, Vars *out);

#endif
