/* Products with CSR and BSR matrices in the type C (float or double) named ID;
 * included by sparse.c.  acc = fma(value, x, acc) from +0, over a row's values
 * in the order stored, the columns of a block ascending. */

static bool FN(dot)(OpCall *call, const Compressed *w, int64_t row,
                    const Tensor *x, int64_t line, C *out) {
  int64_t block = row / w->rows, within = row % w->rows;
  C acc = 0, a, b;
  for (int64_t j = start_of(w, block); j < start_of(w, block + 1); j++) {
    int64_t column = tensor_i64_at(w->columns, j);
    if (op_stopped(call)) return false;
    if (column < 0 || (w->width && column >= x->shape[1] / w->width))
      return column_fault(call, column, x->shape[1]);
    column *= w->width;
    for (int64_t k = 0; k < w->width; k++) {
      int64_t at = (j * w->rows + within) * w->width + k;
      a = (C)tensor_f64_at(w->values, at);
      b = (C)tensor_f64_at(x, line * x->shape[1] + column + k);
      acc = MULTIPLY_ADD(a, b, acc);
    }
  }
  *out = acc;
  return true;
}

/* out[line, row] = x[line] . w[row], or, with the sparse operand on the left,
 * the transpose of that. */
static bool FN(sparse_dense)(OpCall *call, const Compressed *w, bool lhs) {
  const Tensor *x = call->args[0];
  Tensor *out = call->outs[0];
  int64_t n = out->shape[lhs ? 0 : 1], m = x->shape[0];
  int64_t size = (int64_t)dtype_size(out->dtype);
  for (int64_t line = 0; line < m; line++)
    for (int64_t row = 0; row < n; row++) {
      C v;
      if (op_stopped(call) || !FN(dot)(call, w, row, x, line, &v)) return false;
      int64_t at = lhs ? row * m + line : line * n + row;
      STORE_TILE(out->dtype, out->data + at * size, 1, 1, &v);
    }
  return true;
}

/* --- nn.sparse_conv2d ------------------------------------------------------
 * A column of the matrix is a place in the window and an input channel; the
 * channel varies slower where it stands before the rows in the layout. */

/* What lies under a column when the window is around (n, y, x): 0 outside. */
static C FN(under)(const Tensor *t, const Windows *p, int64_t n, int64_t y,
                   int64_t x, int64_t column) {
  int64_t places = p->side * p->side, channel = t->shape[p->channel];
  int64_t place = p->first ? column % places : column / channel;
  int64_t c = p->first ? column / places : column % channel;
  int64_t row = y + place / p->side - p->side / 2;
  int64_t at = x + place % p->side - p->side / 2;
  if (row < 0 || row >= t->shape[p->row] || at < 0 ||
      at >= t->shape[p->row + 1])
    return 0;
  int64_t offset = n * t->strides[0] + c * t->strides[p->channel] +
                   row * t->strides[p->row] + at * t->strides[p->row + 1];
  const char *from = t->data + offset * (int64_t)dtype_size(t->dtype);
  return (C)bits_to_f64(t->dtype, bits_load(t->dtype, from));
}

static bool FN(sparse_conv2d)(OpCall *call, const Compressed *w) {
  const Tensor *x = call->args[0];
  Tensor *out = call->outs[0];
  if (tensor_count(out) == 0) return true;
  const Windows p = windows_of(call);
  const int64_t *shape = out->shape, count = tensor_count(out);
  int64_t columns = p.side * p.side * x->shape[p.channel];
  int64_t size = (int64_t)dtype_size(out->dtype);
  for (int64_t i = 0; i < count; i++) {
    int64_t index[4], rest = i;
    for (int k = 3; k >= 0; rest /= shape[k--]) index[k] = rest % shape[k];
    int64_t row = index[p.channel], block = row / w->rows;
    C acc = 0;
    for (int64_t j = start_of(w, block); j < start_of(w, block + 1); j++) {
      int64_t column = tensor_i64_at(w->columns, j);
      if (op_stopped(call)) return false;
      if (column < 0 || (w->width && column >= columns / w->width))
        return column_fault(call, column, columns);
      for (int64_t k = 0; k < w->width; k++) {
        int64_t at = (j * w->rows + row % w->rows) * w->width + k;
        C a = (C)tensor_f64_at(w->values, at);
        C b = FN(under)(x, &p, index[0], index[p.row], index[p.row + 1],
                        column * w->width + k);
        acc = MULTIPLY_ADD(a, b, acc);
      }
    }
    STORE_TILE(out->dtype, out->data + i * size, 1, 1, &acc);
  }
  return true;
}
