/* Kernels of windows in blocked layouts, as NCHW4c. */
#ifndef KERNELS_DRIVE_BLOCKS_H
#define KERNELS_DRIVE_BLOCKS_H

#include "kernels/call.h"

/* Runs a kernel for plain layouts: operands in blocks are copied to plain
 * layouts first, and the result to its blocks. */
bool run_without_blocks(OpCall *call, KernelFn kernel);

#endif
