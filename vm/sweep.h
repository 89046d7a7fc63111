/* The reverse sweep under way: the adjoints (adjoint.c), which pull.c, which
 * sweeps records of operators, and stretch_pull.c, which sweeps those of
 * stretches, add to. */
#ifndef VM_SWEEP_H
#define VM_SWEEP_H

#include "vm/dual_tape.h"

/* A product a' b that waits for those before it; where b is NULL, the sum of
 * the rows of a.  Small ones are gathered: their rows are copied before the
 * first ones of a block that has room there. */
typedef struct Rows {
  struct Rows *next; /* the next in the order of making */
  Value a, b;        /* matrices of as many rows, one tensor having all of
                        the first kind or of the second */
  int64_t room;      /* rows that may come before those of a and b */
  const OpSite *of;  /* whose derivative gave the latest; NULL: a stretch's */
} Rows;

/* The adjoint of one tensor so far: a sum, and the products that are still to
 * be added to it.  From one stretch to the next a scalar goes as bits. */
typedef struct Part {
  enum { SUM_ZERO, SUM_OBJECT, SUM_BITS } form;
  DType dtype; /* of the bits */
  Value sum;
  Rows *rows;
} Part;

/* The adjoints of all results of one record. */
typedef struct Adjoint {
  Cell *record; /* kept */
  struct Sweep *sweep;
  struct Adjoint *outer; /* what a sweep around this one has of the record */
  int count;
  Part of[];
} Adjoint;

typedef struct Sweep {
  Session *s;
  int level;
  bool dual; /* the code that sweeps is differentiated itself */
  const Word *pc;
  const OpSite *site;    /* whose derivative is under way; NULL: of none */
  VEC(Adjoint *) heap;   /* to be swept, by order, the latest first */
  VEC(Adjoint *) inputs; /* of those, when all else is swept */
} Sweep;

/* The adjoint of a record's results; a new one is zero.  NULL: memory ran out.
 */
Adjoint *adjoint_of(Sweep *w, Cell *record);
/* The latest record's, which is to be swept next. */
static inline Adjoint *sweep_top(const Sweep *w) { return w->heap.data[0]; }
/* The adjoint of a record that has one already; NULL: it has none. */
Adjoint *adjoint_known(const Sweep *w, Cell *record);
/* Takes the latest record's adjoint off the queue. */
Adjoint *sweep_pop(Sweep *w);
/* Frees an adjoint that is in the queue no more, and perhaps its record. */
void adjoint_done(Sweep *w, Adjoint *a);
/* Makes the products that wait part of the sum. */
bool part_settle(Session *s, Part *part);
/* Makes the sum an object, if it is bits; false without memory. */
bool part_box(Session *s, Part *part);
/* The adjoint is zero from now on. */
void part_clear(Session *s, Part *part);
/* Adds the product a' b of two matrices, or with NULL for b the sum of the rows
 * of a: takes both. */
bool part_add_product(Session *s, Part *to, Value a, Value b);
/* Adds `v`, which it takes, to the adjoint of result `index`; `like` has the
 * operand's shape, where the record keeps the operand. */
bool sweep_add(Sweep *w, Cell *record, uint64_t index, Value v, Value like);
/* Adds `g` to the rows of these numbers of an adjoint of the operand's shape:
 * takes both. */
bool sweep_add_rows(Sweep *w, Cell *record, uint64_t index, Value rows, Value g,
                    Value like);
/* Adds a product, as part_add_product does, to result `index`. */
bool sweep_add_product(Sweep *w, Cell *record, uint64_t index, Value a,
                       Value b);
/* One argument of a rule, of this type, from an object: takes it. */
Value sweep_argument(Sweep *w, const Type *type, Value v);
/* Runs `f`, whose arguments stand in its window, from within an instruction.
 * Its result, or the fields of an unboxed one, are then in s->left.  After a
 * fault everything is unwound. */
bool sweep_invoke(Sweep *w, Function *f, Value *window);
/* Drops the arguments of a call that will not happen.  Always false. */
bool sweep_drop_arguments(Session *s, const Function *f, Value *window,
                          int count);
/* Adds to a fault of the program that it came up in the derivative of the
 * operator there.  NULL: of no operator.  Always false. */
bool sweep_blame(Session *s, const OpSite *site);
/* Sweeps the record of a stretch: adds to the adjoints of its inputs.  `last`:
 * it will not be swept again, so what it saved goes.  False after a fault. */
bool sweep_stretch(Sweep *w, Adjoint *a, bool last);

#endif
