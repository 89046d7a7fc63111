/* The inner loops of float32 products: a few rows of a by one panel of b, the
 * sums in registers.  Around them: ops/simd/product.c. */
#include "ops/simd/isa/isa.h"

/* How many vectors side by side, so that rows x that many sums, a vector of
 * each column and a factor fit in the registers, and there are chains enough
 * to hide the latency of a multiply-add. */
#if defined __AVX512F__ || defined __ARM_FEATURE_FMA
#define STRIP_OF(rows) ((rows) == 1 ? 8 : 4)
#else
#define STRIP_OF(rows) ((rows) == 1 ? 8 : (rows) <= 3 ? 4 : 2)
#endif
enum { STRIP_MAX = 8 };

typedef struct Sums { VF at[TILE_ROWS][STRIP_MAX]; } Sums;

VEC_FN void sums_start(const Block *b, Sums *s, int rows, int column, int n) {
  VEC_UNROLL
  for (int i = 0; i < rows; i++)
    VEC_UNROLL
    for (int v = 0; v < n; v++)
      s->at[i][v] = b->more ? vf_load(b->c + i * b->c_row + column + v * V)
                            : (VF){0};
}

VEC_FN void sums_store(const Block *b, const Sums *s, int rows, int column,
                    int n) {
  VEC_UNROLL
  for (int i = 0; i < rows; i++)
    VEC_UNROLL
    for (int v = 0; v < n; v++)
      vf_store(b->c + i * b->c_row + column + v * V, s->at[i][v]);
}

/* Columns column .. column + n * V of one panel, all of k. */
VEC_FN void strip(const Block *b, int rows, int column, int n, bool by_offset) {
  Sums s;
  sums_start(b, &s, rows, column, n);
  const float *from = b->b + column, *a = b->a;
  for (int64_t k = 0; k < b->k; k++, a += b->a_step) {
    const float *x = from + (by_offset ? b->offsets[k] : k * b->b_row);
    VF column_of[STRIP_MAX];
    VEC_UNROLL
    for (int v = 0; v < n; v++) column_of[v] = vf_load(x + v * V);
    VEC_UNROLL
    for (int i = 0; i < rows; i++) {
      VF factor = vf_set(a[i * b->a_row]);
      VEC_UNROLL
      for (int v = 0; v < n; v++)
        s.at[i][v] = vf_fma(factor, column_of[v], s.at[i][v]);
    }
  }
  sums_store(b, &s, rows, column, n);
}

/* The whole width, in strips as wide as the registers allow. */
VEC_FN void tile(const Block *block, int rows, bool by_offset) {
  const Block b = *block;  /* which no store to c can change */
  int vectors = b.groups * GROUP / V, wide = STRIP_OF(rows), v = 0;
  for (; v + wide <= vectors; v += wide)
    strip(&b, rows, v * V, wide, by_offset);
  if (wide > 4 && v + 4 <= vectors)
    strip(&b, rows, v * V, 4, by_offset), v += 4;
  if (wide > 2 && v + 2 <= vectors)
    strip(&b, rows, v * V, 2, by_offset), v += 2;
  if (v < vectors) strip(&b, rows, v * V, 1, by_offset);
}

/* One row by two panels: eight sums at a time wherever they lie. */
VEC_FN const float *pair_at(const Block *b, int column) {
  return b->b + (column < PANEL ? column : column - PANEL + b->b_next);
}

VEC_FN void pair_strip(const Block *b, int column) {
  Sums s;
  const float *x[STRIP_MAX], *a = b->a;
  VEC_UNROLL
  for (int v = 0; v < STRIP_MAX; v++) x[v] = pair_at(b, column + v * V);
  sums_start(b, &s, 1, column, STRIP_MAX);
  for (int64_t k = 0, at = 0; k < b->k; k++, at += b->b_row, a += b->a_step) {
    VF factor = vf_set(*a);
    VEC_UNROLL
    for (int v = 0; v < STRIP_MAX; v++)
      s.at[0][v] = vf_fma(factor, vf_load(x[v] + at), s.at[0][v]);
  }
  sums_store(b, &s, 1, column, STRIP_MAX);
}

static void row_pair(const Block *block) {
  const Block b = *block;
  VEC_UNROLL
  for (int column = 0; column < 2 * PANEL; column += STRIP_MAX * V)
    pair_strip(&b, column);
}

#define TILE(rows)                                                        \
  static void tile_##rows(const Block *b) { tile(b, rows, false); }       \
  static void tile_at_##rows(const Block *b) { tile(b, rows, true); }
TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6)

#define ROWS(name) \
  {[1] = name##_1, name##_2, name##_3, name##_4, name##_5, name##_6}
const SimdProduct ISA(simd_product) = {
    .tile = ROWS(tile),
    .tile_at = ROWS(tile_at),
    .row_pair = row_pair,
};
