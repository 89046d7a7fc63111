/* The derivatives of a stretch, which is operators that run one after the
 * other, as functions of the language: its reverse sweep, and its tangents.
 * Their rules are put into one another, so that they are checked, fused and run
 * like any other code. */
#ifndef TYPES_STRETCH_H
#define TYPES_STRETCH_H

#include "ir/program.h"
#include "ops/attr.h"

/* Operands of a call are groups: a tensor alone, or the fields of a tuple,
 * which may have been written out. */
enum { GROUP_SINGLE = -1 };
static inline int group_fields(int group) {
  return group == GROUP_SINGLE ? 1 : group;
}

/* Values have numbers: first those from outside, then the operators' results in
 * order. */
typedef struct StretchOp {
  const Attrs *attrs;
  int operand_count;
  const int *operands;  /* values, tuples flattened */
  int group_count;      /* operands of the row */
  const int *groups;    /* the fields of each, or GROUP_SINGLE */
  int first, out_count; /* values that it gives */
  bool gives_tuple;
} StretchOp;

typedef struct Stretch {
  int inputs, value_count, op_count, out_count;
  const Type *const *types; /* of the values */
  const StretchOp *ops;
  const int *outs; /* values that are read after it */
} Stretch;

/* What a function for a stretch is made for.  Bit i of `varies` says that input
 * i varies, of `outs` that result i has an adjoint, of `late` that rows wait
 * for it, and of `sums` that input i has a sum of adjoints already.  `whole`:
 * nothing comes after it, so products and rows do not wait, and each input has
 * one part at most. */
typedef struct StretchKey {
  uint32_t varies, outs, late, sums;
  bool whole;
} StretchKey;

enum { STRETCH_INPUTS = 24, STRETCH_OUTS = 24 };

/* What the function gives for an input: its sum of adjoints, with that of the
 * stretch added; two matrices, one after the other, whose product a' b waits to
 * be added; or a matrix whose rows wait to be. */
typedef enum StretchPartKind {
  PART_SUM,
  PART_PRODUCT,
  PART_ROWS
} StretchPartKind;
typedef struct StretchPart {
  int input;
  StretchPartKind kind;
} StretchPart;

/* The function takes the values that `reads` names, by a bool for each value,
 * then the adjoints of results, then the rows that wait for them (of a matrix
 * two sides, of a vector one), then the sums; those that there are.  It gives
 * a tuple of the parts' values in the order in which they are to be added. */
typedef struct StretchSweep {
  const Global *function; /* NULL: there are no parts */
  const bool *reads;
  int part_count;
  const StretchPart *parts;
} StretchSweep;

/* False: an operator has no rule that fits, or memory ran out.  In `arena` lies
 * what `out` points to.  Called when nobody else changes the program. */
bool types_stretch(Program *p, Arena *arena, const Stretch *s, StretchKey key,
                   StretchSweep *out);
/* Marks in `reads` what the function would read, without making it. */
bool types_stretch_reads(Program *p, const Stretch *s, StretchKey key,
                         bool *reads);

/* The tangents of a stretch's results, as a function of the values that `reads`
 * names and then of the tangents of the inputs that vary.  It gives a tuple of
 * the tangents that `outs` has a bit for; the other results do not vary. */
typedef struct StretchTangents {
  const Global *function; /* NULL: there is none */
  const bool *reads;
  uint32_t outs;
  const StretchOp *without; /* the first whose tangents are not written so */
} StretchTangents;

/* Made where all operators that vary are linear, or element-wise with operands
 * as large as the results.  Bit i of `varies`: input i does.  False: memory ran
 * out.  Called as types_stretch() is. */
bool types_stretch_tangents(Program *p, Arena *arena, const Stretch *s,
                            uint32_t varies, StretchTangents *out);

#endif
