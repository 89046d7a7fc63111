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
