/* The one thing that others ask of ops/simd: which instruction set to use. */
#ifndef OPS_SIMD_SELECT_H
#define OPS_SIMD_SELECT_H

#include <stdbool.h>

/* Chooses a table for the whole process: "generic", "avx2", "avx512", "neon",
 * or "reference" for none; NULL: the best.  False when there is none of that
 * name, or the machine lacks what it needs. */
bool simd_select(const char *isa);

#endif
