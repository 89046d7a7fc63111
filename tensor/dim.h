/* Dimensions as the checker knows them.
 *
 * A Dim is a number; or DIM_ANY, the unknown `?`; or DIM_HOLE, not inferred
 * yet; or the handle of a named form (a sum of products of names with integer
 * coefficients) in a DimTable.  At run time every Dim is a number, so an
 * operator's shape rule is written once for both.  Shape-like attribute values
 * are Dims, too: there a negative number is an ordinary number. */
#ifndef TENSOR_DIM_H
#define TENSOR_DIM_H

#include "base/name.h"
#include "base/strbuf.h"

typedef int64_t Dim;

#define DIM_ANY ((Dim)INT64_MIN)
#define DIM_HOLE ((Dim)(INT64_MIN + 1))
/* Handles of named forms lie in [DIM_FORM, DIM_FORM + 2^32). */
#define DIM_FORM ((Dim)(INT64_MIN + 2))
#define DIM_NUMBER ((Dim)(INT64_MIN + ((int64_t)1 << 33)))

static inline bool dim_is_number(Dim d) { return d >= DIM_NUMBER; }
static inline bool dim_is_any(Dim d) { return d == DIM_ANY; }
static inline bool dim_is_hole(Dim d) { return d == DIM_HOLE; }
static inline bool dim_is_form(Dim d) {
  return d >= DIM_FORM && d < DIM_NUMBER;
}

/* The normal forms of named dimensions; interned, so equal forms are equal
 * handles.  NULL serves where only numbers, `?` and holes occur. */
typedef struct DimTable DimTable;
DimTable *dims_new(Mem *mem);
void dims_free(DimTable *t);

/* A name's own form.  Two variables of one spelling are different dims:
 * `name` is displayed, `key` identifies. */
Dim dim_named(DimTable *t, const Name *name, const void *key);

/* Arithmetic: a hole gives a hole, `?` gives `?`; overflow gives `?`
 * (numbers: the caller checks dim_is_number of the result).  Division is
 * exact: two numbers that do not divide give DIM_ANY and set *inexact when not
 * NULL; a form that does not becomes a quotient, which is a number only where
 * it is one. */
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
 * forms differ. */
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
