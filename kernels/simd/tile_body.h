/* The inner loops of products in one type, called ID, included by product.c:
 * vectors VT, SET(p) for *p in every lane, MULTIPLY_ADD(a, b, sum).  The
 * elements of a ProductBlock are float or, of the same size, uint32_t.
 *
 * A strip is a few rows by a few vectors of columns.  Its sums stay in
 * registers over all of k; each step reads one vector for each column and one
 * element for each row:
 *
 *                b[k]      x0   x1   x2   x3        n vectors
 *    a[0][k]  in all lanes  s00  s01  s02  s03
 *    a[1][k]  in all lanes  s10  s11  s12  s13       rows x n sums
 *    ...
 *
 * so rows x n multiply-adds are done for rows + n loads.  `rows` and `n` are
 * constants wherever these functions are inlined; else the sums would be in
 * memory.
 *
 * Where something is used next (ProductBlock.ahead), a step of the first strip
 * fetches a line of it into the second-level cache.  Strips that fetch nothing
 * have a loop of their own: a prefetch in each step takes a twentieth of a
 * large product's time. */

typedef struct FN(Sums) {
  VT at[TILE_ROWS][STRIP_MAX];
} FN(Sums);

VEC_FN VT FN(load)(const float *x) { return (VT)vf_load(x); }

/* The sums begin at +0, or at what c holds when a product is continued. */
VEC_FN void FN(sums_start)(const ProductBlock *b, FN(Sums) * s, int rows,
                           int column, int n) {
  VEC_UNROLL
  for (int i = 0; i < rows; i++) VEC_UNROLL
  for (int v = 0; v < n; v++)
    s->at[i][v] =
        b->more ? FN(load)(b->c + i * b->c_row + column + v * V) : (VT){0};
}

VEC_FN void FN(sums_store)(const ProductBlock *b, const FN(Sums) * s, int rows,
                           int column, int n) {
  VEC_UNROLL
  for (int i = 0; i < rows; i++) VEC_UNROLL
  for (int v = 0; v < n; v++)
    vf_store(b->c + i * b->c_row + column + v * V, (VF)s->at[i][v]);
}

/* Computes columns column .. column + n * V of one panel, over all of k. */
VEC_FN void FN(strip)(const ProductBlock *b, int rows, int column, int n,
                      bool by_offset, bool fetches) {
  FN(Sums) s;
  FN(sums_start)(b, &s, rows, column, n);
  const float *from = b->b + column, *a = b->a, *ahead = b->ahead;
  /* From a line of what is fetched to the next: a row has four. */
  const int64_t steps[PANEL / GROUP] = {GROUP, GROUP, GROUP,
                                        b->ahead_row - 3 * GROUP};
  for (int64_t k = 0; k < b->k; k++, a += b->a_step) {
    if (fetches) __builtin_prefetch(ahead, 0, 2), ahead += steps[k & 3];
    const float *x = from + (by_offset ? b->offsets[k] : k * b->b_row);
    VT column_of[STRIP_MAX];
    VEC_UNROLL
    for (int v = 0; v < n; v++) column_of[v] = FN(load)(x + v * V);
    VEC_UNROLL
    for (int i = 0; i < rows; i++) {
      VT factor = SET(a + i * b->a_row);
      VEC_UNROLL
      for (int v = 0; v < n; v++)
        s.at[i][v] = MULTIPLY_ADD(factor, column_of[v], s.at[i][v]);
    }
  }
  FN(sums_store)(b, &s, rows, column, n);
}

/* Computes the whole width, in strips as wide as the registers allow. */
VEC_FN void FN(tile)(const ProductBlock *block, int rows, bool by_offset) {
  const ProductBlock b = *block; /* a copy: stores to c cannot alias it */
  int vectors = b.groups * GROUP / V, wide = STRIP_OF(rows), v = 0;
  if (!by_offset && b.ahead && wide <= vectors)
    FN(strip)(&b, rows, 0, wide, false, true), v += wide;
  for (; v + wide <= vectors; v += wide)
    FN(strip)(&b, rows, v * V, wide, by_offset, false);
  if (wide > 4 && v + 4 <= vectors)
    FN(strip)(&b, rows, v * V, 4, by_offset, false), v += 4;
  if (wide > 2 && v + 2 <= vectors)
    FN(strip)(&b, rows, v * V, 2, by_offset, false), v += 2;
  if (v < vectors) FN(strip)(&b, rows, v * V, 1, by_offset, false);
}

/* Multiplies one row by two panels; these eight sums may lie in either. */
VEC_FN const float *FN(pair_at)(const ProductBlock *b, int column) {
  return b->b + (column < PANEL ? column : column - PANEL + b->b_next);
}

/* One row is bound by the latency of its chains, so it takes eight vectors of
 * columns at a time, from two panels where one has fewer.  No more than one
 * element of a and eight vectors of b are read in each step. */
VEC_FN void FN(pair_strip)(const ProductBlock *b, int column) {
  FN(Sums) s;
  const float *x[STRIP_MAX], *a = b->a;
  VEC_UNROLL
  for (int v = 0; v < STRIP_MAX; v++) x[v] = FN(pair_at)(b, column + v * V);
  FN(sums_start)(b, &s, 1, column, STRIP_MAX);
  for (int64_t k = 0, at = 0; k < b->k; k++, at += b->b_row, a += b->a_step) {
    VT factor = SET(a);
    VEC_UNROLL
    for (int v = 0; v < STRIP_MAX; v++)
      s.at[0][v] = MULTIPLY_ADD(factor, FN(load)(x[v] + at), s.at[0][v]);
  }
  FN(sums_store)(b, &s, 1, column, STRIP_MAX);
}

#include "kernels/ref/tiles_body.h"

/* 2 * PANEL is a multiple of eight vectors, whatever V is. */
static void FN(row_pair)(const ProductBlock *block) {
  const ProductBlock b = *block;
  VEC_UNROLL
  for (int column = 0; column < 2 * PANEL; column += STRIP_MAX * V)
    FN(pair_strip)(&b, column);
}

static const Tiles FN(tiles) = {
    .tile = {EACH_TILE(tile)},
    .tile_at = {EACH_TILE(tile_at)},
    .row_pair = FN(row_pair),
};

#undef EACH_TILE
#undef ID
#undef VT
#undef SET
#undef MULTIPLY_ADD
