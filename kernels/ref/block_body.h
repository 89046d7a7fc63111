/* The products of a ProductBlock in the type C called ID, with MULTIPLY_ADD(a,
 * b, acc); included by product.c.  Its elements are C where they are said to be
 * float.
 *
 * The law: each sum is one chain over ascending k, from +0 or, where a product
 * is blocked over k, from the partial result that c holds.  So the order of
 * rows, columns and blocks is free, and the overlay's tiles, which keep many
 * such chains in registers, give the same bits. */

/* Multiplies one row by one group of columns: c[0..15] (+)= sum_k a[k] * b[k].
 * Sixteen chains side by side, since one alone would wait for each
 * multiply-add.  Row k of b is at b_row * k, or where `offsets` says (an image
 * read in place). */
static void FN(group)(const ProductBlock *b, int row, int group,
                      bool by_offset) {
  const C *a = (const C *)b->a + row * b->a_row;
  C *c = (C *)b->c + row * b->c_row + group * GROUP, sum[GROUP] = {0};
  for (int j = 0; j < GROUP && b->more; j++) sum[j] = c[j];
  for (int64_t k = 0; k < b->k; k++) {
    int64_t at = by_offset ? b->offsets[k] : k * b->b_row;
    const C *x = (const C *)b->b + at + group * GROUP;
    for (int j = 0; j < GROUP; j++)
      sum[j] = MULTIPLY_ADD(a[k * b->a_step], x[j], sum[j]);
  }
  for (int j = 0; j < GROUP; j++) c[j] = sum[j];
}

static void FN(tile)(const ProductBlock *b, int rows, bool by_offset) {
  for (int i = 0; i < rows; i++)
    for (int g = 0; g < b->groups; g++) FN(group)(b, i, g, by_offset);
}

#include "kernels/ref/tiles_body.h"

/* Two panels one after the other: here a pair is no faster. */
static void FN(row_pair)(const ProductBlock *block) {
  ProductBlock b = *block;
  b.groups = PANEL / GROUP;
  FN(tile)(&b, 1, false);
  b.b += b.b_next;
  b.c += PANEL;
  FN(tile)(&b, 1, false);
}

const Tiles FN(ref_tiles) = {
    .tile = {EACH_TILE(tile)},
    .tile_at = {EACH_TILE(tile_at)},
    .row_pair = FN(row_pair),
};

#undef EACH_TILE
#undef ID
#undef C
#undef MULTIPLY_ADD
