/* The reverse sweep under way: the adjoints (adjoint.c), which pull.c, which
 * sweeps records of operators, and stretch_pull.c, which sweeps those of
 * stretches, add to. */
#ifndef VM_SWEEP_H
#define VM_SWEEP_H

#include "vm/dual_tape.h"

/* A region that was swept and may be swept again (swept.c). */
typedef struct SweptRegion SweptRegion;

/* A product a' b that waits for those before it; where b is NULL, the sum of
 * the rows of a.  Small ones are gathered: their rows are copied before the
 * first ones of a block that has room there. */
typedef struct Rows {
  struct Rows *next; /* the next in the order of making */
  Value a, b;        /* matrices of as many rows, one tensor having all of
                        the first kind or of the second */
  int64_t room;      /* rows that may come before those of a and b */
  bool follows;      /* a's rows are shown where another part gathers them */
  const OpSite *of;  /* whose derivative gave the latest; NULL: a stretch's */
  bool sealed;       /* it was there before the region that is swept */
  /* Instead of a and b: sweeping this region again gives the rows, for result
   * `index` of the record of this order.  NULL: they are here. */
  SweptRegion *again;
  uint64_t order, index;
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
  uint64_t run; /* whose records it goes through */
  int known;    /* what they keep of levels beyond is constant (tape_known) */
  bool dual;    /* the code that sweeps is differentiated itself */
  bool forward; /* no sweep: tangents of a forward run are set or read */
  const Word *pc;
  Value *window; /* for the arguments of rules: RULE_ARGS_MOST and 4 more */
  const OpSite *site;    /* whose derivative is under way; NULL: of none */
  VEC(Adjoint *) heap;   /* to be swept, by order, the latest first */
  VEC(Adjoint *) inputs; /* of those, when all else is swept */
  /* The region whose records are swept now, if its rows may go; or NULL. */
  SweptRegion *under;
  bool for_rows; /* it sweeps one region, again, for the rows that it gives */
} Sweep;

/* The room of the instruction `pull` for the arguments of rules. */
static inline Value *pull_window(const Session *s, const Word *pc) {
  return s->regs + pc->c;
}

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
/* Frees what a sweep has left. */
void sweep_done(Sweep *w);
/* Makes the sum an object, if it is bits; false without memory. */
bool part_box(Session *s, Part *part);
/* The adjoint is zero from now on. */
void part_clear(Session *s, Part *part);
/* Adds `v`, which it takes, to the sum. */
bool part_add(Session *s, Part *part, Value v);
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
/* A value and its adjoint, or an input and its tangent. */
typedef struct Seeded {
  const char *what; /* is `g`, in errors */
  const Type *type;
  Value v, g;
  bool v_bits, g_bits;
} Seeded;
/* Adds adjoints to those of the records of the value's leaves, or with
 * `forward` gives inputs their tangents.  Leaves without a record have none.
 * False after a fault. */
bool sweep_seed(Sweep *w, Seeded root);
/* Runs `f`, whose arguments stand in its window, from within an instruction.
 * Its result, or the fields of an unboxed one, are then in s->left.  After a
 * fault everything is unwound. */
bool sweep_invoke(Sweep *w, Function *f, Value *window);
/* Likewise, from the call that `entry` begins with. */
bool sweep_enter(Sweep *w, Function *f, Value *window, const Word *entry);
/* Drops the arguments of a call that will not happen.  Always false. */
bool sweep_drop_arguments(Session *s, const Function *f, Value *window,
                          int count);
/* Adds to a fault of the program that it came up in the derivative of the
 * operator there.  NULL: of no operator.  Always false. */
bool sweep_blame(Session *s, const OpSite *site);
/* Sweeps the record of a stretch: adds to the adjoints of its inputs.  `last`:
 * it will not be swept again, so what it saved goes.  False after a fault. */
bool sweep_stretch(Sweep *w, Adjoint *a, bool last);
/* Sweeps the latest record.  `last` as above. */
bool sweep_next(Sweep *w, bool last);
/* Sweeps all that is left, and makes the sums of the inputs. */
bool sweep_rest(Sweep *w, bool last);
/* The adjoint that the rule of an element-wise operator gives operand i for the
 * adjoint `g` of the result, which it takes; NULL: zeros.  False after a fault.
 */
bool sweep_operand(Sweep *w, Cell *record, int i, Value g, Value *out);
/* For a walk over what a derivative is of, whose `data` is a Sweep: the adjoint
 * that the sweep has found for a leaf, or with `forward` the leaf's tangent;
 * zeros where there is none. */
bool sweep_leaf(Walk *walk, const Type *type, Value v, bool bits, Value *out);
/* Has the operator of this record a derivative? */
bool sweep_can(Cell *record);
/* Raises why it has none.  Always false. */
bool sweep_refuses(Session *s, Cell *record);

/* --- Rows that wait (waiting.c) ------------------------------------------ */

/* Which tensor a part of a step's adjoints gathered last, and where its rows
 * are now.  The next part that gets the same tensor, as a bias gets its
 * weight's, shows the rows there and copies nothing.  The tensor is known by
 * its address, so this holds while the step's results live.  All zeros at
 * first. */
typedef struct Gathered {
  const Tensor *rows;
  const Tensor *block; /* of which they are the first rows */
  int64_t room;        /* rows that may come before them */
} Gathered;

/* Adds the product a' b of two matrices, or with NULL for b the sum of the rows
 * of a: takes both.  `last` says what was gathered before in the same step, and
 * then what this call gathers. */
bool part_add_product(Session *s, Part *to, Value a, Value b, Gathered *last);
/* Makes the products that wait part of the sum; likewise of several tensors, so
 * that a region that gives rows of more than one is swept again once. */
bool part_settle(Session *s, Part *part);
/* Takes what waits out of the part, with what was dropped: the matrices of each
 * side, one below the other, and how many sides there are.  0 after a fault. */
int part_take_rows(Session *s, Part *part, Value sides[2]);
bool parts_settle(Session *s, size_t n, Part *const *parts);
/* Drops what waits. */
void rows_drop(Session *s, Part *part);
/* Rows that come from now on are fresh: none goes into a block that is there.
 */
void part_seal(Part *part);
/* The bytes of the fresh rows; 0 where these have to stay. */
size_t part_fresh_bytes(const Part *part);
/* Drops these rows and notes that sweeping the region again gives them, for
 * result `index` of the record of this order.  False without memory. */
bool part_forget_fresh(Session *s, Part *part, SweptRegion *again,
                       uint64_t order, uint64_t index);

/* --- Regions that are swept again (swept.c) ------------------------------ */

/* A region is to be run again and swept from the adjoints of these blanks:
 * notes them, unless its rows are to stay.  False without memory. */
bool swept_begin(Sweep *w, Cell *region, size_t n, Adjoint *const *wanted);
/* The sweep of the region under way calls this function.  Where the region may
 * not be swept again, therefore, its rows stay. */
void swept_calls(Sweep *w, const Function *rule);
/* Has all of the region under way been swept? */
bool swept_left(const Sweep *w);
/* It has: its rows go, where memory is short.  False without memory. */
bool swept_end(Sweep *w);
/* One reference more, one less. */
SweptRegion *swept_keep(SweptRegion *r);
void swept_drop(Session *s, SweptRegion *r);
/* Does `a` come before `b`? */
bool swept_before(const SweptRegion *a, const SweptRegion *b);
/* Begins `w` and sweeps the region by it, so that the rows wait in its
 * adjoints.  False after a fault; sweep_done(w) follows in either case. */
bool swept_again(SweptRegion *r, Sweep *w);

/* --- Operators of the sweep itself (sweep_ops.c) ------------------------- */

enum { JOIN_MOST = 64 }; /* tensors that ADJOINT_JOIN takes at a time */

/* Applies one of them; bit i of `ending`: nobody else reads operand i
 * afterwards. */
bool sweep_apply(Session *s, AdjointOp which, int n, const Value *args,
                 uint32_t ending, Value *out);

#endif
