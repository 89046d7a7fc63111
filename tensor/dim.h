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
  int64_t word; /* dim.h and dim.c alone look at it */
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

/* A number; DIM_HUGE below DIM_LEAST, which no dimension or attribute needs. */
static inline Dim dim_of(int64_t number) {
  return number >= DIM_LEAST ? (Dim){number} : DIM_HUGE;
}
/* What a number is; asking it of anything else is our own mistake. */
static inline int64_t dim_value(Dim d) {
  assert(dim_is_number(d));
  return d.word;
}

/* The very same: both `?`, both that number, both that form. */
static inline bool dim_same(Dim a, Dim b) { return a.word == b.word; }
/* Known to be this number, known to be less or more than it; `a` known to be
 * less than `b`. */
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

/* Numbers as dims, and dims that are numbers as a shape. */
static inline void dims_of_shape(int rank, const int64_t *shape, Dim *dims) {
  for (int i = 0; i < rank; i++) dims[i].word = shape[i];
}
static inline void shape_of_dims(int rank, const Dim *dims, int64_t *shape) {
  for (int i = 0; i < rank; i++) shape[i] = dims[i].word;
}

/* The normal forms of named dimensions; interned, so equal forms are equal
 * handles.  NULL serves where only numbers, `?` and holes occur. */
typedef struct DimTable DimTable;
DimTable *dims_new(Mem *mem);
void dims_free(DimTable *t);

/* A name's own form.  Two variables of one spelling are different dims:
 * `name` is displayed, `key` identifies. */
Dim dim_named(DimTable *t, const Name *name, const void *key);

/* Arithmetic: a hole gives a hole, `?` gives `?`.  Numbers that overflow give
 * DIM_HUGE, and so does all that is computed from it: no rule accepts it, and
 * it is equal to no number.  Forms that overflow give `?`.  Division is exact:
 * two numbers that do not divide give DIM_ANY and set *inexact when not NULL; a
 * form that does not becomes a quotient, which is a number only where it is
 * one. */
Dim dim_add(DimTable *t, Dim a, Dim b);
Dim dim_sub(DimTable *t, Dim a, Dim b);
Dim dim_mul(DimTable *t, Dim a, Dim b);
Dim dim_div_exact(DimTable *t, Dim a, Dim b, bool *inexact);
/* floor(a / b) and ceil(a / b) for a number b > 0; a form that does not
 * divide exactly gives `?`. */
Dim dim_div_floor(DimTable *t, Dim a, int64_t b);
Dim dim_div_ceil(DimTable *t, Dim a, int64_t b);
Dim dim_product(DimTable *t, int n, const Dim *dims);

typedef enum Truth { NO, YES, MAYBE } Truth;
/* Are they the same number?  MAYBE when either is `?` or a hole, or when two
 * forms differ; an overflow is no number. */
Truth dim_equal(Dim a, Dim b);

/* The widening join: equal dims join to themselves, a hole to the other, a
 * number and a form or anything and `?` to `?`.  Two different numbers do not
 * join: *clash is set. */
Dim dim_join(Dim a, Dim b, bool *clash);

/* Replaces names by dims (an instantiation): `keys[i]` by `to[i]`. */
Dim dim_substitute(DimTable *t, Dim d, int n, const void *const *keys,
                   const Dim *to);
/* Calls `visit(data, key, name)` for each name of a form. */
void dim_names(const DimTable *t, Dim d,
               void (*visit)(void *data, const void *key, const Name *name),
               void *data);

/* What the names of a shape are, at a place: `keys[i]` is `to[i]`. */
typedef struct DimValues {
  int count;
  const void *const *keys;
  const Dim *to;
} DimValues;
/* The number that `d` is there: DIM_ANY when it is none, as half of 3, DIM_HOLE
 * for `?` and for names that have no value.  Changes nothing in the table. */
Dim dim_number(DimTable *t, Dim d, DimValues values);
/* ", where n is 3 and m is 5": those that the dims mention; or nothing. */
void dims_where(const DimTable *t, StrBuf *out, int rank, const Dim *dims,
                DimValues values);

/* "3", "?", "n * 4 + 1", "_". */
void dim_print(const DimTable *t, StrBuf *out, Dim d);
/* "(2, ?, n)", "(4)", "()". */
void dims_print(const DimTable *t, StrBuf *out, int rank, const Dim *dims);

#endif
