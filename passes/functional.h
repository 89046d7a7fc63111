/* What the files of the pass `functional` share: the state of one run, which
 * lives on the stack of pass_functional.  What is made lies in the unit's arena
 * and may point into the unit as parsed. */
#ifndef PASSES_FUNCTIONAL_H
#define PASSES_FUNCTIONAL_H

#include "ir/program.h"

/* The parts of a type as a tree that is written: types nest without a limit
 * where they are inferred, and what is written recurses over them. */
enum { FUNCTIONAL_TYPE_MOST = 4096 };

/* What evaluating something does to the session's values. */
enum { TOUCH_READ = 1, TOUCH_WRITE = 2 };

/* A global value: a part of the state. */
typedef struct Cell {
  int index; /* in the state */
  const Item *item;
  const Type *whole; /* what the global value is */
  bool has_ref;      /* a cell, or a tuple with cells in it; else a value that
                        stays as it is */
  const TypeExpr *type; /* of the content, each cell's in its place */
  bool loose;           /* a `?` in it: values of other dimensions fit, too */
  const Expr *initial;  /* the content */
} Cell;

/* A global value, or the part of one that projections and fields lead to. */
typedef struct Part {
  const Cell *cell;
  const Type *type; /* of the part: a cell's is TY_REF */
  int count;
  const int *path; /* of `count` fields */
} Part;

/* A function of the text.  One whose calls are known has a name: a `def`, a
 * `fn` that a `let` names, the copy of a `def`.  Others are values: `fn`s
 * without a name, and parameters, which stand for what they are given. */
typedef struct Fun {
  const Expr *fn; /* NULL: a parameter */
  bool named;
  const Name *name;    /* of a def, or of the copy of one */
  unsigned touch;      /* TOUCH_ of a call */
  Span graph;          /* of a graph variable in it; SPAN_NONE: it has none */
  struct Fun **params; /* NULL: it was not walked */
  int arity;           /* of a parameter: how many arguments it is called
                          with; -1: it is not called */
  int bound;           /* how many of them the walk has met */
  bool takes;          /* a parameter is a function of the state */
  uint64_t given;      /* of a copy: which parameters are, a bit each */
  const Part *const *parts; /* of a copy: what parameters mean; a NULL: just
                                 what they are given */
  const struct Fun *origin; /* of a copy; NULL: it is none */
  struct Fun *copies;       /* of a def, the newest first */
  int copy_count;
  struct Fun *next; /* of the same def */
  bool in_parts;    /* a copy of it has a part of the state as a parameter */
  bool live;        /* it is called by its name, or by a host */
  bool library;     /* from a text of the library */
  VEC(struct Fun *) callers;
  VEC(struct FunUse *) uses; /* where it is no callee */
} Fun;

/* A function as a value. */
typedef struct FunUse {
  const Expr *use;
  Fun *fun;
  const Expr *call; /* whose argument `index` it is; NULL: none's */
  int index;
  Fun *home; /* the function that it stands in; NULL: none */
  bool led;  /* it is passed to where the state is known to come along */
} FunUse;

typedef struct Functional {
  Program *p;
  Arena *arena;
  VEC(const Item *) items; /* with those of imported texts, in order */
  VEC(Cell *) cells;
  const TypeExpr *state_type;
  PtrMap cell_of; /* Name -> Cell */
  PtrMap defs;    /* Name -> Fun */
  PtrMap fun_of;  /* an EX_FN, or a name as a value -> Fun */
  VEC(Fun *) funs;
  VEC(Fun *) copies; /* of defs, in the order in which they were made */
  VEC(FunUse *) uses;
  VEC(Fun *) live; /* to be walked */
  PtrMap taken;    /* Names of globals of the text, and of copies */
  PtrMap shown;    /* an expression's Item -> its Type */
  bool script;     /* does the text have expressions? */
  bool loses_cell; /* it was refused where the text does not say which cell of
                      the state is meant */
  bool loses_function; /* it was refused where the text does not say which
                          function that uses the state is called */
  bool numbers;        /* a cell is written as its number */
  /* By expression: */
  PtrMap callee; /* a call -> the Fun that it calls */
  PtrMap touch;  /* TOUCH_ of evaluating it; absent: none */
  PtrMap part;   /* a READ, a WRITE, or a part of a global value -> Part */
  PtrMap name;   /* what names a part with cells, as a value: it becomes () */
  PtrMap writer; /* -> the last part that is evaluated and writes */
} Functional;

/* With the items of a unit and of those that it imports. */
void functional_start(Functional *f, Program *p, Unit *u);
void functional_end(Functional *f);

/* A type as written.  Anything but a type of values, without parameters, takes
 * `sayable` back. */
const TypeExpr *functional_write_type(Functional *f, const Type *t, Span span,
                                      bool *sayable);

/* Adds a global value to the state, or reports why it cannot be part of it. */
void functional_add_cell(Functional *f, const Item *item);
/* The type of the state, once it has all its cells. */
void functional_find_state(Functional *f);

/* Reports what has no explicit state, and says what has one. */
void functional_refuse(Functional *f, Span span, const char *remedy,
                       const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static inline unsigned functional_touch(const Functional *f, const Expr *e) {
  return (unsigned)(uintptr_t)ptrmap_get(&f->touch, e);
}
/* What is read or written there; NULL: a cell of the program's own. */
static inline const Part *functional_part(const Functional *f, const Expr *e) {
  return ptrmap_get(&f->part, e);
}
/* Puts into `names` those that the expression mentions of types, and in the
 * place of a constructor. */
void functional_mention(const Functional *f, PtrMap *names, const Expr *e);
/* Is the type or one of its constructors among them? */
bool functional_is_mentioned(const PtrMap *names, const Item *type);

/* Is there a cell in the type, or in fields of its data types? */
bool functional_has_ref(const Functional *f, const Type *t);
/* How many fields a value has that the state holds field by field: a tuple, or
 * a data value with one constructor and a cell in it; -1: it is held whole. */
int functional_field_count(const Functional *f, const Type *t);
const Type *functional_field(const Functional *f, const Type *t, int i);
/* Does the match take such a value apart, so that its variables are parts of
 * the state and nothing is left to decide? */
static inline bool functional_opens(const Functional *f, const Expr *e) {
  return e->kind == EX_MATCH && ptrmap_has(&f->name, e->args[0]);
}

static inline bool functional_is_field(const Expr *e) {
  return e->kind == EX_PROJ || e->kind == EX_FIELD;
}
/* What a chain of projections and fields of a global's name stands for; NULL:
 * it is no part of a value with cells. */
const Part *functional_global_part(Functional *f, const Expr *e);
/* The same where local names (PtrMap: Name -> Part) mean parts, too. */
const Part *functional_chain_part(Functional *f, const PtrMap *parts,
                                  const Expr *e);
/* Is it a match on the part that decides nothing, so that it may be opened? */
bool functional_may_open(const Functional *f, const Expr *e, const Part *part);
/* What a variable of the pattern of such a match stands for; NULL: it is not
 * there. */
const Part *functional_part_of_var(Functional *f, const Pattern *p,
                                   const Part *part, const Var *var);
/* The same in nodes of its own, for facts are kept by node. */
const Expr *functional_copy(Functional *f, const Expr *e);

/* Is the value of the script's expression ()?  Then it is not shown. */
bool functional_is_unit(const Functional *f, const Item *item);

/* Writes out what follows a cell that a branch chooses, or a `def` gives, for
 * each cell: functional_choose.c. */
void functional_choose(Functional *f, const Unit *unit);
/* Finds who touches the state, and reports what cannot be followed.  Entries of
 * the unit take and give it in any case: functional_reach.c. */
void functional_reach(Functional *f, const Unit *unit);

/* A value of the type as the state holds it: functional_empty.c.  NULL: none
 * was found. */
const Expr *functional_empty(Functional *f, const Type *t, Span span);

/* (result, state); NULL: no result is written. */
const TypeExpr *functional_both(Functional *f, const TypeExpr *result);
/* The type of a function with the state after its parameters, which it gives,
 * too; NULL: it is written by a name, or not at all. */
const TypeExpr *functional_type(Functional *f, const TypeExpr *type);
/* A definition over a state that is given and taken: functional_map.c. */
const Expr *functional_def(Functional *f, const Expr *e);
/* fn () { the first state } */
const Expr *functional_init(Functional *f);
/* fn (%state) { (the script's values, the state after it) } */
const Expr *functional_script(Functional *f);

#endif
