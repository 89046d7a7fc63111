/* The operators' identifiers, in the order of ops.def.  Inner loops need no
 * more of the table than this; ops/ops.h has the rows. */
#ifndef OPS_ID_H
#define OPS_ID_H

typedef enum OpId {
#define ID(id) OP_##id,
#include "ops/ops.ids"
#undef ID
  OP_COUNT,
  /* After the rows, where no name finds them and no loop over the rows comes:
   * calls of operators that a host has registered (rly_operator_add), without
   * effects and with. */
  OP_HOST,
  OP_HOST_EFFECT,
  OP_ROWS
} OpId;

#endif
