/* The kernel of each operator, as a dense table by operator: the rows of
 * kernels.def, and for all other operators the kernels of their own names. */
#include "kernels/kernel.h"

/* A second row of one operator is an error of the compiler already
 * (-Woverride-init), so as many rows as operators leave none out. */
enum {
  ROWS = 0
#define KERNEL(op, name) +1
#define MACHINE(op) +1
#include "kernels/kernels.def"
#include "kernels/own.inc"
#undef KERNEL
#undef MACHINE
};
_Static_assert((int)ROWS == OP_COUNT, "an operator has no row, or two");

const KernelFn kernel_table[OP_COUNT] = {
#define KERNEL(op, name) [OP_##op] = kernel_##name,
#define MACHINE(op) [OP_##op] = NULL,
#include "kernels/kernels.def"
#include "kernels/own.inc"
#undef KERNEL
#undef MACHINE
};
