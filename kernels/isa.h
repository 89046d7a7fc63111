/* The tables of inner loops.  Each instruction set has one, and every table is
 * complete: where an instruction set has no faster loop, the table holds the
 * reference's (ref/).  All tables give the same bits.  The drivers (drive/)
 * split a call into such loops.  A loop knows pointers, strides and the flag to
 * stop; it knows nothing of calls, threads or other tables. */
#ifndef KERNELS_ISA_H
#define KERNELS_ISA_H

#include "kernels/ref/walk.h"
#include "kernels/strip.h"
#include "ops/id.h"

/* --- Reductions ----------------------------------------------------------- */

typedef enum ReduceKind {
  REDUCE_SUM,
  REDUCE_PROD,
  REDUCE_MAX,
  REDUCE_MIN,
  REDUCE_KINDS
} ReduceKind;

/* Reduces a walk over elements to one result, or to up to REDUCE_COLUMNS
 * results that are contiguous, the walk being that of the first.  `divisor`
 * divides each result at the end. */
enum { REDUCE_COLUMNS = 64 };
typedef struct Reducer {
  void (*row)(const Walk *w, char *out, int64_t divisor);
  void (*columns)(const Walk *w, char *out, int64_t step, int columns,
                  int64_t divisor);
} Reducer;

/* --- Pairs of arithmetic operators ---------------------------------------- */

/* out = (x FIRST y) THEN z, of floats: in the strip x is operand 0, y is 1, z
 * is 2.  The results are contiguous; an operand has step 1, or 0, a single
 * element.  THEN_FROM is z less the first result.  Each operation rounds, so
 * the bits are those of two strips, any two NaNs being equal. */
typedef enum PairFirst {
  PAIR_ADD,
  PAIR_SUBTRACT,
  PAIR_MULTIPLY,
  PAIR_FIRSTS
} PairFirst;
typedef enum PairThen {
  THEN_NOTHING, /* x FIRST y */
  THEN_ADD,
  THEN_SUBTRACT,
  THEN_FROM,
  THEN_MULTIPLY,
  PAIR_THENS
} PairThen;
typedef struct Pairs {
  StripFn of[PAIR_FIRSTS][PAIR_THENS];
} Pairs;

/* Pairs and lines are computed in IN_F32 or IN_F64. */
enum { FLOAT_TYPES = 2 };

/* --- Lines: softmax and normalisations ------------------------------------ */

typedef enum LineKind {
  LINE_SOFTMAX,
  LINE_LOG_SOFTMAX,
  LINE_NORMALIZE,
  LINE_L2,
  LINE_LRN,
  LINE_KINDS
} LineKind;

/* The contiguous elements of one line, in the type computed in.  `out` may be
 * `x`. */
typedef struct NormLine {
  StopFlag *stop;
  int64_t n;
  const void *x;
  void *out;
  /* LINE_NORMALIZE: n elements each; NULL when absent */
  const void *gamma, *beta;
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
  GROUP = 16,    /* the width of a panel is a multiple of this */
  TILE_ROWS = 6, /* rows of a tile: their sums fit in the registers */
};

/* c[rows, columns] = a[rows, k] * b[k, columns], or added to c.  Each sum is
 * one chain of (fused) multiply-adds over ascending k.  Strides are in
 * elements, which are float or, of the same size, uint32_t. */
typedef struct ProductBlock {
  int64_t k;
  const float *a;
  int64_t a_row, a_step;
  int groups; /* columns / GROUP */
  const float *b;
  /* stride of rows; stride from one panel to the next */
  int64_t b_row, b_next;
  const int64_t *offsets; /* tile_at: row k is at b + offsets[k] */
  float *c;
  int64_t c_row;
  bool more; /* add to c; else start from +0 */
  /* The memory that is used next, in rows of PANEL columns, or NULL: step k
   * asks the cache for a line of it, GROUP k % 4 of row k / 4. */
  const float *ahead;
  int64_t ahead_row; /* stride of its rows */
} ProductBlock;
typedef void BlockFn(const ProductBlock *b);

typedef struct Tiles {
  BlockFn *tile[TILE_ROWS];    /* indexed by rows - 1 */
  BlockFn *tile_at[TILE_ROWS]; /* the same, with offsets */
  BlockFn *row_pair;           /* one row by two whole panels */
} Tiles;

/* The type that tiles are accumulated in. */
typedef enum TileType { TILE_F32, TILE_U32, TILE_TYPES } TileType;

/* A matrix as a product sees it, with any strides, in elements. */
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
  bool more;       /* add to out; only of products by panels */
} Product;

/* A whole product in a 64-bit type, which has no tiles; false when `stop` was
 * set. */
typedef bool WideProductFn(StopFlag *stop, const Product *p);
typedef enum WideType { WIDE_F64, WIDE_U64, WIDE_TYPES } WideType;

/* --- The tables ----------------------------------------------------------- */

/* NULL means that the operator does not take the dtype; that is the same in
 * every table. */
typedef struct Isa {
  const char *name;
  const StripFn *const *strips; /* [dtype of operand 0][OpId] */
  const StripFn *const *casts;  /* [from][to] */
  /* [bytes of an element]: 1, 2, 4, 8 */
  const StripFn *where;
  const Pairs *const *pairs;              /* [DTypeIn] */
  const Reducer *const *reducers;         /* [dtype][ReduceKind] */
  NormLineFn *const (*lines)[LINE_KINDS]; /* [DTypeIn] */
  const Tiles *const *tiles;              /* [TileType] */
  WideProductFn *const *products;         /* [WideType] */
} Isa;

enum { WHERE_SIZES = sizeof(Value) + 1 };

extern const Isa isa_reference;

/* The table in use: the widest that the machine supports, unless isa_select
 * chose. */
const Isa *isa_in_use(void);

/* Chooses a table for the whole process: "generic", "avx2", "avx512", "neon" or
 * "reference"; NULL for the widest.  False for an unknown name, or when the
 * machine lacks the instructions. */
bool isa_select(const char *name);

/* The tables besides the reference that this machine supports, narrowest first;
 * returns their number. */
enum { ISA_MAX = 4 };
int isa_available(const Isa *found[ISA_MAX]);

#endif
