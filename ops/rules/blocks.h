/* Operators of windows whose layouts hold blocks, as NCHW4c: their rule and
 * their kernel are those of the plain layouts. */
#ifndef OPS_RULES_BLOCKS_H
#define OPS_RULES_BLOCKS_H

#include "ops/rule.h"

/* The layouts of a call: of its first operands, and of the result.  What has a
 * plain layout is NULL. */
typedef struct Blocks {
  int count;
  const char *operands[2], *result;
  const char *plain[2], *plain_result; /* the same without blocks */
  const Attrs *attrs;                  /* with plain layouts only */
} Blocks;

/* False when no layout holds blocks, or one is no layout. */
bool blocks_of(const Attrs *attrs, Arena *arena, Blocks *blocks);

/* Runs a rule on the plain layouts. */
RuleStatus rule_without_blocks(RuleCall *c, RuleFn rule);

/* Runs the rule of a matrix product on the weight, operand 1, without the
 * blocks that attribute `weight_layout` says: NC8n, or N, another letter and
 * blocks of these. */
RuleStatus rule_dense_in_blocks(RuleCall *c, RuleFn rule);
/* That layout without blocks. */
const char *layout_plain(Arena *arena, const char *text);

#endif
