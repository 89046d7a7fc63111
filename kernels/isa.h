/* The inner loops in use.  Each instruction set has one table of them, and
 * every table is complete: what an instruction set does not speed up is the
 * reference's loop (ref/).  All tables give the same bits.
 *
 * Drivers (drive/) split a call into such loops and look them up here.  Loops
 * know pointers, steps and the request to stop; they know no call, no thread
 * and no other table. */
#ifndef KERNELS_ISA_H
#define KERNELS_ISA_H

#include "kernels/ref/walk.h"
#include "kernels/strip.h"
#include "ops/ops.h"

/* --- Reductions ----------------------------------------------------------- */

typedef enum ReduceKind {
  REDUCE_SUM,
  REDUCE_PROD,
  REDUCE_MAX,
  REDUCE_MIN,
  REDUCE_KINDS
} ReduceKind;

/* A result, or up to REDUCE_COLUMNS that lie side by side, from a walk over
 * the elements that make (the first of) them; `divisor` is what each is
 * divided by at the end. */
enum { REDUCE_COLUMNS = 64 };
typedef struct Reducer {
  void (*row)(const Walk *w, char *out, int64_t divisor);
  void (*columns)(const Walk *w, char *out, int64_t step, int columns,
                  int64_t divisor);
} Reducer;

/* --- Lines: softmax and normalisations ------------------------------------ */

typedef enum LineKind {
  LINE_SOFTMAX,
  LINE_LOG_SOFTMAX,
  LINE_NORMALIZE,
  LINE_L2,
  LINE_LRN,
  LINE_KINDS
} LineKind;

/* What lines, and products of 64 bits, are computed in. */
typedef enum FloatType { IN_F32, IN_F64, FLOAT_TYPES } FloatType;

/* The elements of one line, contiguous, in the type that is computed with.
 * `out` may be `x`. */
typedef struct NormLine {
  StopFlag *stop;
  int64_t n;
  const void *x;
  void *out;
  const void *gamma, *beta; /* LINE_NORMALIZE: n elements each, or NULL */
  double epsilon;
  /* LINE_LRN */
  void *squares; /* room for n elements */
  int64_t size;
  double alpha, power, bias;
} NormLine;
typedef void NormLineFn(const NormLine *line);

/* --- Products ------------------------------------------------------------- */

enum {
  PANEL = 64,    /* columns of a panel of the right operand */
  GROUP = 16,    /* a panel's width is a multiple of it */
  TILE_ROWS = 6, /* rows whose sums fit in registers, beside a panel */
};

/* c[rows, columns] = a[rows, k] * b[k, columns], or that added to c: each sum
 * is one chain of (fused) multiply-adds over ascending k.  Steps are in
 * elements, which are float or, of the same size, uint32_t. */
typedef struct ProductBlock {
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
} ProductBlock;
typedef void BlockFn(const ProductBlock *b);

typedef struct Tiles {
  BlockFn *tile[TILE_ROWS];    /* by rows - 1 */
  BlockFn *tile_at[TILE_ROWS]; /* the same by offsets */
  BlockFn *row_pair;           /* one row, two whole panels */
} Tiles;

/* What tiles are accumulated in. */
typedef enum TileType { TILE_F32, TILE_U32, TILE_TYPES } TileType;

/* A matrix as a product sees it: any strides, in elements. */
typedef struct Matrix {
  DType dtype;
  char *data;
  int64_t row_step, column_step;
} Matrix;

/* out[m, n] = sum_k a[m, k] * b[k, n].
 *
 *   float32, float16, bfloat16   acc = fmaf(a, b, acc), from +0, k ascending,
 *                                in float32, rounded once to out's dtype
 *   float64                      the same with fma
 *   integers                     wrapping, in out's dtype                   */
typedef struct Product {
  int64_t m, n, k;
  Matrix a, b, out;
  Buffer *weights; /* holds b; where packed forms hang (kernels/pack.h); NULL:
                      there is no such */
} Product;

/* A whole product in a type of 64 bits, which has no tiles; false when `stop`
 * was seen. */
typedef bool WideProductFn(StopFlag *stop, const Product *p);
typedef enum WideType { WIDE_F64, WIDE_U64, WIDE_TYPES } WideType;

/* --- The tables ----------------------------------------------------------- */

/* A NULL says that the operator does not take the dtype; it is the same in
 * every table. */
typedef struct Isa {
  const char *name;
  const StripFn *const *strips;   /* by dtype of operand 0, then OpId */
  const StripFn *const *casts;    /* from, to */
  const StripFn *where;           /* by bytes of an element: 1, 2, 4, 8 */
  const Reducer *const *reducers; /* by dtype, ReduceKind */
  NormLineFn *const (*lines)[LINE_KINDS]; /* by FloatType */
  const Tiles *const *tiles;              /* by TileType */
  WideProductFn *const *products;         /* by WideType */
} Isa;

enum { WHERE_SIZES = sizeof(Value) + 1 };

extern const Isa isa_reference;

/* The table in use: the best that the machine has, unless another was chosen.
 */
const Isa *isa_in_use(void);

/* Chooses a table for the whole process: "generic", "avx2", "avx512", "neon",
 * or "reference"; NULL: the best.  False when there is none of that name, or
 * the machine lacks what it needs. */
bool isa_select(const char *name);

/* The tables beside the reference that this machine can run, narrowest first;
 * returns how many. */
enum { ISA_MAX = 4 };
int isa_available(const Isa *found[ISA_MAX]);

#endif
