/* A product in the accumulator type C of 64 bits, called ID, with
 * MULTIPLY_ADD(a, b, acc); included by product.c and, for each instruction set,
 * by simd/table.c.
 *
 * Results are computed in tiles of ROWS x COLUMNS.  A tile goes through k in
 * blocks: the block of b is copied to a k-major panel, so that the inner loop
 * runs along n with unit steps whatever b's layout is, and each accumulator
 * still sees k in ascending order. */

typedef struct FN(Tile) {
  C acc[ROWS][COLUMNS];
  C panel[BLOCK][COLUMNS];
  C row[BLOCK];
} FN(Tile);

static char *FN(at)(const Matrix *x, int64_t row, int64_t column) {
  return x->data + (row * x->row_step + column * x->column_step) *
                       (int64_t)dtype_size(x->dtype);
}

/* Copies rows k .. k + blocks and columns n .. n + columns of b to the panel.
 * Where b is not contiguous along n (a transposed matrix) it is read by
 * columns. */
static void FN(pack)(FN(Tile) * t, const Matrix *b, int64_t k, int blocks,
                     int64_t n, int columns) {
  if (b->column_step == 1) {
    for (int i = 0; i < blocks; i++)
      LOAD_TILE(b->dtype, FN(at)(b, k + i, n), 1, columns, t->panel[i]);
    return;
  }
  for (int j = 0; j < columns; j++) {
    C column[BLOCK];
    LOAD_TILE(b->dtype, FN(at)(b, k, n + j), b->row_step, blocks, column);
    for (int i = 0; i < blocks; i++) t->panel[i][j] = column[i];
  }
}

ALWAYS_INLINE void FN(accumulate)(C *restrict acc, const C *restrict row,
                                  C (*restrict panel)[COLUMNS], int blocks) {
  for (int i = 0; i < blocks; i++)
    for (int j = 0; j < COLUMNS; j++)
      acc[j] = MULTIPLY_ADD(row[i], panel[i][j], acc[j]);
}

/* Results m .. m + rows, n .. n + columns.  The panel's columns beyond
 * `columns` are 0, so the inner loop has a constant width; their sums are not
 * stored. */
ALWAYS_INLINE void FN(tile)(StopFlag *stop, const Product *p, FN(Tile) * t,
                            int64_t m, int rows, int64_t n, int columns) {
  memset(t->acc, 0, sizeof t->acc);
  memset(t->panel, 0, sizeof t->panel);
  for (int64_t k = 0; k < p->k && !stop_seen(stop); k += BLOCK) {
    int blocks = p->k - k < BLOCK ? (int)(p->k - k) : BLOCK;
    FN(pack)(t, &p->b, k, blocks, n, columns);
    for (int i = 0; i < rows; i++) {
      LOAD_TILE(p->a.dtype, FN(at)(&p->a, m + i, k), p->a.column_step, blocks,
                t->row);
      FN(accumulate)(t->acc[i], t->row, t->panel, blocks);
    }
  }
  for (int i = 0; i < rows; i++)
    STORE_TILE(p->out.dtype, FN(at)(&p->out, m + i, n), p->out.column_step,
               columns, t->acc[i]);
}

WIDE_LINKAGE bool FN(WIDE_PRODUCT)(StopFlag *stop, const Product *p) {
  FN(Tile) t;
  for (int64_t n = 0; n < p->n; n += COLUMNS) {
    int columns = p->n - n < COLUMNS ? (int)(p->n - n) : COLUMNS;
    for (int64_t m = 0; m < p->m; m += ROWS) {
      if (stop_seen(stop)) return false;
      int rows = p->m - m < ROWS ? (int)(p->m - m) : ROWS;
      FN(tile)(stop, p, &t, m, rows, n, columns);
    }
  }
  return true;
}
