/* Dimensions as the checker knows them.
 *
 * A Dim is a number; or DIM_ANY, the unknown `?`; or DIM_HOLE, not inferred
 * yet; or DIM_HUGE, a number that overflowed; or the handle of a named form (a
 * sum of products of names with integer coefficients) in a DimTable.  At run
 * time every Dim is a number, so an operator's shape rule is written once for
 * both.  The integers of attributes are Dims, too, and may be negative.
 *
 * A Dim is a struct, so that the compiler refuses `+`, `*`, `<` and plain
 * integers where a Dim is meant: what follows is the whole arithmetic, and all
 * of it is checked. */
#ifndef TENSOR_DIM_H
#define TENSOR_DIM_H

#include <assert.h>

#include "base/name.h"
#include "base/strbuf.h"

typedef struct Dim {
  int64_t word; /* private to dim.h and dim.c */
} Dim;

#define DIM_ANY ((Dim){INT64_MIN})
#define DIM_HOLE ((Dim){INT64_MIN + 1})
#define DIM_HUGE ((Dim){INT64_MIN + 2})
/* Handles of named forms lie in [DIM_FORM, DIM_FORM + 2^32); numbers begin at
 * DIM_LEAST. */
#define DIM_FORM (INT64_MIN + 3)
#define DIM_LEAST (INT64_MIN + ((int64_t)1 << 33))

static inline bool dim_is_number(Dim d) { return d.word >= DIM_LEAST; }
static inline bool dim_is_any(Dim d) { return d.word == INT64_MIN; }
static inline bool dim_is_hole(Dim d) { return d.word == INT64_MIN + 1; }
static inline bool dim_is_huge(Dim d) { return d.word == INT64_MIN + 2; }
static inline bool dim_is_form(Dim d) {
  return d.word >= DIM_FORM && d.word < DIM_LEAST;
}

/* A number as a Dim; numbers below DIM_LEAST, which no dimension or attribute
 * needs, become DIM_HUGE. */
static inline Dim dim_of(int64_t number) {
  return number >= DIM_LEAST ? (Dim){number} : DIM_HUGE;
}
/* The number; `d` must be one (asserted). */
static inline int64_t dim_value(Dim d) {
  assert(dim_is_number(d));
  return d.word;
}

/* Identity: both `?`, or the same number, or the same form. */
static inline bool dim_same(Dim a, Dim b) { return a.word == b.word; }
/* Is it certain that d equals n, is less or greater than n; that a is less than
 * b? */
static inline bool dim_is(Dim d, int64_t n) { return d.word == n; }
static inline bool dim_below(Dim d, int64_t n) {
  return dim_is_number(d) && d.word < n;
}
static inline bool dim_above(Dim d, int64_t n) {
  return dim_is_number(d) && d.word > n;
}
static inline bool dim_less(Dim a, Dim b) {
  return dim_is_number(a) && dim_is_number(b) && a.word < b.word;
}

/* Converts a shape to Dims, and Dims that are all numbers to a shape. */
static inline void dims_of_shape(int rank, const int64_t *shape, Dim *dims) {
  for (int i = 0; i < rank; i++) dims[i].word = shape[i];
}
static inline void shape_of_dims(int rank, const Dim *dims, int64_t *shape) {
  for (int i = 0; i < rank; i++) shape[i] = dims[i].word;
}

/* The interned normal forms of named dimensions: equal forms have equal
 * handles. NULL serves where only numbers, `?` and holes occur. */
typedef struct DimTable DimTable;
DimTable *dims_new(Mem *mem);
void dims_free(DimTable *t);

/* The form that is just this name.  Two variables with one spelling are
 * different dimensions: `name` is displayed, `key` identifies. */
Dim dim_named(DimTable *t, const Name *name, const void *key);

/* Arithmetic.  A hole gives a hole, `?` gives `?`.  Numbers that overflow give
 * DIM_HUGE, which propagates: no rule accepts it, and it equals no number.
 * Forms that overflow give `?`.  Division is exact: two numbers with a
 * remainder give DIM_ANY and set *inexact unless it is NULL; a form with a
 * remainder becomes a quotient, which has a value only where the division is
 * exact. */
Dim dim_add(DimTable *t, Dim a, Dim b);
Dim dim_sub(DimTable *t, Dim a, Dim b);
Dim dim_mul(DimTable *t, Dim a, Dim b);
Dim dim_div_exact(DimTable *t, Dim a, Dim b, bool *inexact);
/* floor(a / b) and ceil(a / b) for a number b > 0; `?` for a form with a
 * remainder. */
Dim dim_div_floor(DimTable *t, Dim a, int64_t b);
Dim dim_div_ceil(DimTable *t, Dim a, int64_t b);
Dim dim_product(DimTable *t, int n, const Dim *dims);

typedef enum Truth { NO, YES, MAYBE } Truth;
/* Are they equal?  MAYBE when either is `?` or a hole, or when two forms
 * differ; an overflow equals nothing. */
Truth dim_equal(Dim a, Dim b);

/* The join of the lattice (widening): equal dims join to themselves; a hole and
 * d to d; a number and a form, and `?` and anything, to `?`.  Two different
 * numbers do not join: *clash is set. */
Dim dim_join(Dim a, Dim b, bool *clash);

/* Substitutes `to[i]` for the name `keys[i]`, to instantiate a type. */
Dim dim_substitute(DimTable *t, Dim d, int n, const void *const *keys,
                   const Dim *to);
/* Calls `visit(data, key, name)` for each name of a form. */
void dim_names(const DimTable *t, Dim d,
               void (*visit)(void *data, const void *key, const Name *name),
               void *data);

/* The values of names at a place: `keys[i]` is `to[i]`. */
typedef struct DimValues {
  int count;
  const void *const *keys;
  const Dim *to;
} DimValues;
/* The value of `d` under these names: DIM_ANY when there is none, as for 3 / 2;
 * DIM_HOLE for `?` and for names without a value.  Adds nothing to the
 * table. */
Dim dim_number(DimTable *t, Dim d, DimValues values);
/* Prints ", where n is 3 and m is 5" for the names in the dims, or nothing. */
void dims_where(const DimTable *t, StrBuf *out, int rank, const Dim *dims,
                DimValues values);

/* Prints "3", "?", "n * 4 + 1", "_". */
void dim_print(const DimTable *t, StrBuf *out, Dim d);
/* Prints "(2, ?, n)", "(4)", "()". */
void dims_print(const DimTable *t, StrBuf *out, int rank, const Dim *dims);

#endif
