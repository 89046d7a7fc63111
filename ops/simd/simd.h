/* Kernels built once for each instruction set, as overlays: where the table in
 * use has an entry, a reference kernel hands its inner work over; where it has
 * none, the reference kernel does it all.  An overlay never changes a bit.
 *
 * isa/ holds what is compiled several times, with names that end in the set's;
 * the folder itself what is compiled once: the choice (choose.c) and the
 * drivers around the inner loops (product.c). */
#ifndef OPS_SIMD_SIMD_H
#define OPS_SIMD_SIMD_H

#include "ops/ref/elementwise.h"
#include "ops/ref/product.h"
#include "ops/ref/reduce.h"
#include "ops/simd/select.h"
#include "ops/ref/rows.h"

/* --- Products ------------------------------------------------------------ */

enum {
  PANEL = 64,    /* columns of a panel of the right operand */
  GROUP = 16,    /* a panel's width is a multiple of it */
  TILE_ROWS = 6, /* rows whose sums fit in registers, beside a panel */
};

/* c[rows, columns] = a[rows, k] * b[k, columns], or that added to c: each sum
 * is one chain of (fused) multiply-adds over ascending k.  Steps are in
 * elements, which are float or, of the same size, uint32_t. */
typedef struct Block {
  int64_t k;
  const float *a;
  int64_t a_row, a_step;
  int groups; /* of columns */
  const float *b;
  int64_t b_row, b_next;  /* b_next: from one panel to the next */
  const int64_t *offsets; /* tile_at: row k lies at b + offsets[k] instead */
  float *c;
  int64_t c_row;
  bool more; /* go on from what c holds; else from +0 */
} Block;
typedef void BlockFn(const Block *b);

typedef struct SimdProduct {
  BlockFn *tile[TILE_ROWS + 1];    /* by rows */
  BlockFn *tile_at[TILE_ROWS + 1]; /* the same by offsets */
  BlockFn *row_pair;               /* one row, two whole panels */
} SimdProduct;

/* What is accumulated in. */
typedef enum SimdType { SIMD_F32, SIMD_U32, SIMD_PRODUCTS } SimdType;

/* A product as a whole, without panels: by type; NULL: none here. */
typedef bool (*SimdPlainProduct)(OpCall *call, const Product *p);
enum { SIMD_F64, SIMD_U64 };

/* --- Lines ---------------------------------------------------------------- */

/* The elements of one line of a RowCall; out may be x. */
typedef struct SimdLine {
  StopFlag *stop;
  int64_t n;
  const float *x;
  float *out;
  const float *gamma, *beta; /* n elements each, or NULL */
  float epsilon;
} SimdLine;
typedef void SimdLineFn(const SimdLine *line);

/* --- The tables ---------------------------------------------------------- */

typedef struct Simd {
  const char *isa;
  const SimdProduct *const *products; /* by SimdType */
  const SimdPlainProduct *plain_products;
  /* Element-wise strips, as elementwise.h has them; NULL: none here. */
  StripFn (*strip)(OpId op, DType dtype);
  StripFn (*cast)(DType from, DType to);
  StripFn (*where)(size_t size);  /* of an element, in bytes */
  SimdLineFn *const *lines;       /* by RowKind; NULL: none here */
  const Reducer *const *reducers; /* by dtype, then kind; NULL: none here */
} Simd;

/* The table in use: the best that the machine has, unless simd_select() chose
 * another; NULL: the reference kernels alone. */
const Simd *simd_table(void);

/* The tables that this machine can run, narrowest first; returns how many. */
enum { SIMD_MAX = 4 };
int simd_available(const Simd *found[SIMD_MAX]);

#endif
