/* What the files of the pass `functional` share: the state of one run, which
 * lives on the stack of pass_functional.  What is made lies in the unit's arena
 * and may point into the unit as parsed. */
#ifndef PASSES_FUNCTIONAL_H
#define PASSES_FUNCTIONAL_H

#include "ir/program.h"

/* What evaluating something does to the session's values. */
enum { TOUCH_READ = 1, TOUCH_WRITE = 2 };

/* A global value: a part of the state. */
typedef struct Cell {
  int index; /* in the state */
  const Item *item;
  bool is_ref;          /* a cell; else a value that stays as it is */
  const TypeExpr *type; /* of the content */
  bool loose;           /* a `?` in it: values of other dimensions fit, too */
  const Expr *initial;  /* the content */
} Cell;

/* A function whose calls are known: a `def`, a `fn` that a `let` names, or the
 * script.  Other `fn`s have one, too, so that it can be said what they touch.
 */
typedef struct Fun {
  const Expr *fn;
  bool named;
  unsigned touch; /* TOUCH_ of a call */
  Span graph;     /* of a graph variable in it; SPAN_NONE: it has none */
  VEC(struct Fun *) callers;
} Fun;

/* A function where it is no callee. */
typedef struct FunUse {
  const Expr *use;
  const Fun *fun;
} FunUse;

typedef struct Functional {
  Program *p;
  Arena *arena;
  VEC(const Item *) items; /* with those of imported texts, in order */
  VEC(Cell *) cells;
  const TypeExpr *state_type;
  PtrMap cell_of; /* Name -> Cell */
  PtrMap defs;    /* Name -> Fun */
  PtrMap fun_of;  /* an EX_FN -> Fun */
  VEC(Fun *) funs;
  VEC(FunUse) uses;
  PtrMap shown; /* an expression's Item -> its Type */
  bool script;  /* does the text have expressions? */
  /* By expression: */
  PtrMap callee; /* a call -> the Fun that it calls */
  PtrMap touch;  /* TOUCH_ of evaluating it; absent: none */
  PtrMap writer; /* -> the last part that is evaluated and writes */
} Functional;

/* Reports what has no explicit state. */
void functional_refuse(Functional *f, Span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static inline unsigned functional_touch(const Functional *f, const Expr *e) {
  return (unsigned)(uintptr_t)ptrmap_get(&f->touch, e);
}
/* The cell that is read or written there; NULL: a cell of the program's own. */
const Cell *functional_cell(const Functional *f, const Expr *e);

/* Is the value of the script's expression ()?  Then it is not shown. */
bool functional_is_unit(const Functional *f, const Item *item);

/* Finds who touches the state, and reports what cannot be followed:
 * functional_reach.c. */
void functional_reach(Functional *f);

/* A definition over a state that is given and taken: functional_map.c. */
const Expr *functional_def(Functional *f, const Expr *e);
/* fn () { the first state } */
const Expr *functional_init(Functional *f);
/* fn (%state) { (the script's values, the state after it) } */
const Expr *functional_script(Functional *f);

#endif
