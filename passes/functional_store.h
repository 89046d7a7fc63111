/* What the two files of the pass `stores` share: the state of one run. */
#ifndef PASSES_FUNCTIONAL_STORE_H
#define PASSES_FUNCTIONAL_STORE_H

#include "passes/functional.h"

/* The store of cells with one type of content.  Where types of cells differ in
 * dimensions, a cell may be used at both: they share a store. */
typedef struct Store {
  const Type *like;    /* the content, with `?` for each dimension */
  const Type *content; /* with `?` where they differ */
  const Name *name;    /* of the cell that holds the store */
} Store;

/* A name whose value is a cell that is made there. */
typedef struct Owner {
  const Expr *ref; /* what makes it */
  bool escapes;    /* it is used in another way than to read and to write */
} Owner;

/* A function of types at which its cells have content of one type each. */
typedef struct Instance {
  const Item *def;
  const Global *global;
  const Type *const *args; /* of the global's parameters */
  const Name *name;
} Instance;

/* What a local name meant before. */
typedef struct Hidden {
  const Name *name;
  Owner *owner;
} Hidden;

typedef struct Stores {
  Functional *f;
  const Unit *unit;
  VEC(Store *) stores;
  VEC(Hidden) hidden;
  PtrMap locals;  /* Name -> its Owner, or NULL */
  PtrMap globals; /* the same of global values */
  PtrMap owner;   /* a REF, READ or WRITE -> the Owner whose cell it is */
  PtrMap names;   /* of global values and functions of the text */
  PtrMap idle;    /* a data type's Name -> parameters that its cells alone
                     mention, a bit each */
  PtrMap generic; /* Name -> the Item of a function that needs instances */
  VEC(Instance *) instances;
  const Instance *at; /* that is written; NULL: none */
  int functions;      /* around what is mapped */
  /* The text takes derivatives, and W0009 was not given yet. */
  bool differentiates;
} Stores;

/* Does a REF, READ or WRITE keep its cell, for a name alone means it? */
static inline bool store_is_kept(const Stores *s, const Expr *e) {
  const Owner *o = ptrmap_get(&s->owner, e);
  return o && !o->escapes;
}

/* The store of the cell that the node is about; NULL after reporting that its
 * content has no type of its own. */
Store *store_of(Stores *s, const Expr *e);
/* Finds the functions that need instances, and the parameters of data types
 * that cells alone mention. */
void store_find_generic(Stores *s);
void store_find_idle(Stores *s);
/* The instance that a use means; a recursive one means its own.  NULL after
 * reporting that there is none. */
const Instance *store_instance(Stores *s, const Expr *use);
/* Is the parameter one that cells alone mention? */
bool store_is_idle(const Stores *s, const Name *type, int param);
/* The type without cells: Ref[T] is int32, but of what is `kept` only what is
 * in it.  In an instance with the types in the place of the parameters. */
const TypeExpr *store_type(Stores *s, const TypeExpr *t, bool kept);
/* The same of what is meant; `sayable`: see functional_write_type. */
const TypeExpr *store_content_type(Stores *s, const Type *t, Span span,
                                   bool *sayable);

#endif
