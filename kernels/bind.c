/* The kernel of each operator, as an array indexed by OpId: the rows of
 * kernels.def, and for every other operator the kernel of its own name. */
#include "kernels/kernel.h"

/* Two rows for one operator do not compile (-Woverride-init), so equal numbers
 * of rows and operators mean that no operator is missing. */
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

const KernelFn kernel_table[OP_ROWS] = {
    [OP_HOST] = kernel_host,
    [OP_HOST_EFFECT] = kernel_host,
#define KERNEL(op, name) [OP_##op] = kernel_##name,
#define MACHINE(op) [OP_##op] = NULL,
#include "kernels/kernels.def"
#include "kernels/own.inc"
#undef KERNEL
#undef MACHINE
};
