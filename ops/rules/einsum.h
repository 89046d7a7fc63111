/* Equations of einsum: "ij,jk->ik".  Without "->" the result has the letters
 * that come up once, in alphabetical order. */
#ifndef OPS_RULES_EINSUM_H
#define OPS_RULES_EINSUM_H

#include "tensor/tensor.h"

enum { EINSUM_MAX = 8, EINSUM_LETTERS = 16 };

/* Letters are numbered in the order they come up: the result's first, then
 * those that are summed over. */
typedef struct Einsum {
  int operands, ranks[EINSUM_MAX];
  int axes[EINSUM_MAX][RANK_MAX];  /* letter numbers */
  int rank;                        /* of the result: letters 0 .. rank-1 */
  int letters;
} Einsum;

bool einsum_parse(const char *equation, Einsum *e);

#endif
