/* The products of a ProductBlock in the type C called ID, with MULTIPLY_ADD(a,
 * b, acc); included by product.c.  Its elements are C where they are said to be
 * float. */

/* Multiplies one row by one group of columns. */
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

static void FN(row_pair)(const ProductBlock *block) {
  ProductBlock b = *block;
  b.groups = PANEL / GROUP;
  FN(tile)(&b, 1, false);
  b.b += b.b_next;
  b.c += PANEL;
  FN(tile)(&b, 1, false);
}

#define TILE_OF(rows)                                     \
  static void FN(tile_##rows)(const ProductBlock *b) {    \
    FN(tile)(b, rows, false);                             \
  }                                                       \
  static void FN(tile_at_##rows)(const ProductBlock *b) { \
    FN(tile)(b, rows, true);                              \
  }
TILE_OF(1)
TILE_OF(2)
TILE_OF(3)
TILE_OF(4)
TILE_OF(5)
TILE_OF(6)
#undef TILE_OF

const Tiles FN(ref_tiles) = {
    .tile = {FN(tile_1), FN(tile_2), FN(tile_3), FN(tile_4), FN(tile_5),
             FN(tile_6)},
    .tile_at = {FN(tile_at_1), FN(tile_at_2), FN(tile_at_3), FN(tile_at_4),
                FN(tile_at_5), FN(tile_at_6)},
    .row_pair = FN(row_pair),
};

#undef ID
#undef C
#undef MULTIPLY_ADD
