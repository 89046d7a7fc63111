/* Copies elements between any two geometries of one shape: transpositions,
 * slices, broadcasts (stride 0), reversals (negative strides).
 *
 * First the axes are turned into a plan: axes of length 1 disappear, and
 * neighbours that are one run on both sides are merged.  A copy of (2, 3, 4)
 * where both sides are row-major becomes a single axis of 24, which is one
 * memcpy.  What is left is walked by an index over the outer axes, and the
 * innermost loop takes one of four forms:
 *
 *   dst contiguous, src contiguous                    memcpy
 *   dst contiguous, src repeats one element           fill; of equal bytes,
 *                                                     as zeros are, a memset
 *   dst contiguous along one axis, src along another  tiles
 *   anything else                                     element by element
 *
 * Tiles matter because a plain loop over a transposition touches a new cache
 * line with each element on one side, and has lost that line before it comes to
 * the line's next element.  A tile of SIDE x SIDE elements uses each line whole
 * while it is in the cache.
 *
 * Nothing is allocated, and the elements are moved as unsigned integers of
 * their size, so that the bits of NaNs survive. */
#include <assert.h>
#include <string.h>

#include "tensor/tensor.h"

/* --- Axes ---------------------------------------------------------------- */

typedef struct Axis {
  int64_t n, dst, src; /* length, and steps in elements */
} Axis;

typedef struct CopyPlan {
  int rank;
  Axis axes[RANK_MAX];
} CopyPlan;

/* Adds an axis to the plan, merged with the last one where the two are one run
 * on both sides: a step along `last` must be as long as a whole walk along `a`.
 * For a.n == 1 the strides mean nothing. */
static void plan_axis(CopyPlan *p, Axis a) {
  Axis *last = p->rank ? &p->axes[p->rank - 1] : NULL;
  if (a.n == 1) return;
  if (last && last->dst == a.n * a.dst && last->src == a.n * a.src) {
    last->n *= a.n;
    last->dst = a.dst;
    last->src = a.src;
    return;
  }
  p->axes[p->rank++] = a;
}

/* Removes axis `i`; the others keep their order. */
static Axis plan_take(CopyPlan *p, int i) {
  Axis a = p->axes[i];
  memmove(&p->axes[i], &p->axes[i + 1],
          (size_t)(p->rank - 1 - i) * sizeof *p->axes);
  p->rank--;
  return a;
}

/* Removes from the plan the axis along which the result is contiguous; without
 * one, the last axis; without axes, one of length 1.  The innermost loop writes
 * along it: a partly written cache line costs more than one that is partly
 * read. */
static Axis plan_take_column(CopyPlan *p) {
  int i = p->rank - 1;
  if (i < 0) return (Axis){1, 1, 1};
  while (i > 0 && p->axes[i].dst != 1) i--;
  return plan_take(p, p->axes[i].dst == 1 ? i : p->rank - 1);
}

/* Removes from the plan the axis along which the source is contiguous, if
 * any. */
static bool plan_take_contiguous(CopyPlan *p, Axis *a) {
  int i = p->rank - 1;
  while (i >= 0 && p->axes[i].src != 1) i--;
  if (i < 0) return false;
  *a = plan_take(p, i);
  return true;
}

/* --- Tiles of transpositions ---------------------------------------------
 * dst[row, column] = src[column, row], at most SIDE of each: for most dtypes
 * about a cache line. */

enum { SIDE = 16 };

typedef struct Tile {
  char *dst;
  const char *src;
  /* between rows and between columns, in elements */
  int64_t dst_step, src_step;
  int rows, columns;
} Tile;

/* Elements of a source, which a host may lend unaligned. */
#define LENT(T) typedef T lent_##T __attribute__((aligned(1), may_alias));
LENT(uint8_t)
LENT(uint16_t)
LENT(uint32_t)
LENT(uint64_t)
#undef LENT

#define TILE_OF(T)                                           \
  static void tile_##T(const Tile *t) {                      \
    T *dst = (T *)t->dst;                                    \
    const lent_##T *src = (const lent_##T *)t->src;          \
    for (int j = 0; j < t->rows; j++)                        \
      for (int i = 0; i < t->columns; i++)                   \
        dst[j * t->dst_step + i] = src[i * t->src_step + j]; \
  }
TILE_OF(uint8_t)
TILE_OF(uint16_t)
TILE_OF(uint32_t)
TILE_OF(uint64_t)
#undef TILE_OF

/* Four-byte elements are transposed in 4 x 4 squares, as four vectors of
 * four. */
typedef uint32_t Four __attribute__((vector_size(16)));

static inline void square_transpose(Four r[4]) {
  Four a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5);
  Four b = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
  Four c = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
  Four d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
  r[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  r[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  r[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  r[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

/* Transposes through a local copy of the tile, 16 lines of 64 bytes, so that
 * whole lines of dst are written.  Rows of dst that lie a power of two apart
 * fall into the same set of the cache; written four elements at a time, they
 * may evict one another before they are full.  Tiles at the edges take the
 * plain loop. */
static void tile_fours(const Tile *t) {
  if (t->rows < SIDE || t->columns < SIDE) {
    tile_uint32_t(t);
    return;
  }
  const lent_uint32_t *src = (const lent_uint32_t *)t->src;
  Four lines[SIDE][SIDE / 4];
  for (int i = 0; i < SIDE; i += 4)
    for (int j = 0; j < SIDE; j += 4) {
      Four square[4];
      for (int k = 0; k < 4; k++)
        memcpy(&square[k], src + (i + k) * t->src_step + j, sizeof square[k]);
      square_transpose(square);
      for (int k = 0; k < 4; k++) lines[j + k][i / 4] = square[k];
    }
  for (int j = 0; j < SIDE; j++)
    memcpy((uint32_t *)t->dst + j * t->dst_step, lines[j], sizeof lines[j]);
}

/* --- Runs ---------------------------------------------------------------- */

/* One run of n > 0 elements, strides in elements.  The case of stride 0 has a
 * loop of its own, because there the compiler can write whole vectors. */
#define COPY_STRIDED(T)                                                \
  static void copy_##T(char *dst, int64_t dst_stride, const char *src, \
                       int64_t src_stride, int64_t n) {                \
    T *to = (T *)dst;                                                  \
    const lent_##T *from = (const lent_##T *)src, one = *from;         \
    if (dst_stride == 1 && src_stride == 0)                            \
      for (int64_t i = 0; i < n; i++) to[i] = one;                     \
    else                                                               \
      for (int64_t i = 0; i < n; i++)                                  \
        to[i * dst_stride] = from[i * src_stride];                     \
  }
COPY_STRIDED(uint8_t)
COPY_STRIDED(uint16_t)
COPY_STRIDED(uint32_t)
COPY_STRIDED(uint64_t)
#undef COPY_STRIDED

/* The functions for each element size. */
static const struct {
  void (*run)(char *dst, int64_t dst_stride, const char *src,
              int64_t src_stride, int64_t n);
  void (*tile)(const Tile *t);
} copies[9] = {
    [1] = {copy_uint8_t, tile_uint8_t},
    [2] = {copy_uint16_t, tile_uint16_t},
    [4] = {copy_uint32_t, tile_fours},
    [8] = {copy_uint64_t, tile_uint64_t},
};

/* The innermost one or two axes of a copy. */
typedef struct Inner {
  size_t size; /* bytes an element */
  Axis row, column;
  bool transposed;
} Inner;

/* Copies two axes tile by tile: dst is contiguous along `column` (index i), src
 * along `row` (index j). */
static void copy_transposed(const Inner *c, char *dst, const char *src) {
  int64_t size = (int64_t)c->size;
  Tile t = {.dst_step = c->row.dst, .src_step = c->column.src};
  for (int64_t j = 0; j < c->row.n; j += SIDE)
    for (int64_t i = 0; i < c->column.n; i += SIDE) {
      t.rows = c->row.n - j < SIDE ? (int)(c->row.n - j) : SIDE;
      t.columns = c->column.n - i < SIDE ? (int)(c->column.n - i) : SIDE;
      t.dst = dst + (j * c->row.dst + i) * size;
      t.src = src + (i * c->column.src + j) * size;
      copies[size].tile(&t);
    }
}

/* --- Whole copies -------------------------------------------------------- */

/* Is it an element whose bytes are all the same?  A memset of many kilobytes
 * does not read the lines that it writes whole, which a loop of stores does. */
static bool has_equal_bytes(const char *element, size_t size) {
  return !memcmp(element, element + 1, size - 1);
}

/* Advances to the next position of the outer axes, like an odometer; false
 * after the last.  An axis that ends is wound back by n - 1 steps, and the axis
 * before it advances. */
static bool plan_next(const CopyPlan *p, int64_t *index, size_t size,
                      char **dst, const char **src) {
  for (int i = p->rank - 1; i >= 0; i--) {
    const Axis *a = &p->axes[i];
    bool more = ++index[i] < a->n;
    int64_t by = (more ? 1 : 1 - a->n) * (int64_t)size;
    *dst += by * a->dst;
    *src += by * a->src;
    if (more) return true;
    index[i] = 0;
  }
  return false;
}

/* The empty tensor is answered first, since the innermost loops read a first
 * element unasked. */
void tensor_copy_into(Tensor *dst, const Tensor *src) {
  assert(dst->dtype == src->dtype && shapes_equal(dst, src));
  if (tensor_count(dst) == 0) return;
  CopyPlan p = {0};
  for (int i = 0; i < dst->rank; i++)
    plan_axis(&p, (Axis){dst->shape[i], dst->strides[i], src->strides[i]});

  /* The innermost loop is a run, or two axes that are transposed. */
  Inner c = {.size = dtype_size(dst->dtype), .column = plan_take_column(&p)};
  if (c.column.dst == 1 && c.column.src != 1)
    c.transposed = plan_take_contiguous(&p, &c.row);

  const Axis *a = &c.column;
  int64_t index[RANK_MAX] = {0};
  char *to = dst->data;
  const char *from = src->data;
  bool fills = a->dst == 1 && a->src == 0;
  do {
    if (c.transposed) copy_transposed(&c, to, from);
    else if (a->dst == 1 && a->src == 1)
      memcpy(to, from, (size_t)a->n * c.size);
    else if (fills && has_equal_bytes(from, c.size))
      memset(to, *from, (size_t)a->n * c.size);
    else copies[c.size].run(to, a->dst, from, a->src, a->n);
  } while (plan_next(&p, index, c.size, &to, &from));
}
