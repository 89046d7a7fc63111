/* nn.correlation in the type C (float or double) named ID; included by
 * patches.c.  Over (channel, row, column) of a window: acc = fma(x, y, acc), or
 * acc += |x - y|, from +0; then divided by their number. */

/* 0 in the padding. */
static C FN(padded)(const Tensor *t, int64_t n, int64_t c, int64_t y,
                    int64_t x) {
  if (y < 0 || x < 0 || y >= t->shape[3] || x >= t->shape[4]) return 0;
  return (C)f64_at(t, (int64_t[]){n, c, 0, y, x});
}

/* Position i of a window, or the first after it that lies in one of two lines
 * of length n, the second of which begins at -shift; INT64_MAX when there is
 * none.  What is padding in both adds nothing, so huge paddings cost
 * nothing. */
static int64_t FN(either)(int64_t i, int64_t shift, int64_t n) {
  bool in = (i >= 0 && i < n) || (i + shift >= 0 && i + shift < n);
  int64_t next = INT64_MAX;
  if (i < 0) next = 0;
  if (i < -shift && -shift < next) next = -shift;
  return in ? i : next;
}

/* index[1] numbers the displacement (down, right) of the second image's
 * window. */
static void FN(correlated)(const Sampling *s, const int64_t index[5],
                           char *to) {
  const Correlation *p = s->plan;
  int64_t y = index[3] * p->stride1 + p->displacement - p->top;
  int64_t x = index[4] * p->stride1 + p->displacement - p->left;
  int64_t down = (index[1] / p->side - p->reach) * p->stride2;
  int64_t right = (index[1] % p->side - p->reach) * p->stride2;
  C acc = 0;
  const int64_t *n = s->data.shape;
  for (int64_t c = 0; c < n[1]; c++)
    for (int64_t i = FN(either)(y, down, n[3]); i < y + p->kernel;
         i = FN(either)(i + 1, down, n[3]))
      for (int64_t k = FN(either)(x, right, n[4]); k < x + p->kernel;
           k = FN(either)(k + 1, right, n[4])) {
        if (op_stopped(s->call)) return;
        C a = FN(padded)(&s->data, index[0], c, i, k);
        C b = FN(padded)(&p->other, index[0], c, i + down, k + right);
        if (p->multiply) acc = MULTIPLY_ADD(a, b, acc);
        else acc += a > b ? a - b : b - a;
      }
  acc /= (C)p->kernel * (C)p->kernel * (C)s->data.shape[1];
  STORE_TILE(s->out.dtype, to, 1, 1, &acc);
}
