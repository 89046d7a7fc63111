/* Equations of einsum: "ij,jk->ik".  "..." stands for the axes of an operand
 * that no letter names, counted from the last.  Without "->" the result has
 * these and then the letters that come up once, in alphabetical order. */
#ifndef OPS_RULES_EINSUM_H
#define OPS_RULES_EINSUM_H

#include "tensor/tensor.h"

enum { EINSUM_MAX = 8, EINSUM_LETTERS = 16 };

/* Letters are numbered in the order they come up: the result's first, then
 * those that are summed over. */
typedef struct Einsum {
  int operands, ranks[EINSUM_MAX];
  int axes[EINSUM_MAX][RANK_MAX]; /* letter numbers */
  int rank;                       /* of the result: letters 0 .. rank-1 */
  int letters;
} Einsum;

/* `ranks` are those of the operands.  False when it is no equation; only
 * `operands` is set when it is one for another number of them. */
bool einsum_parse(const char *equation, int count, const int *ranks, Einsum *e);

#endif
