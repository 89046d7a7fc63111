/* Lines in the type C (float or double) named ID; included by lines.c.  A line
 * is contiguous, and its results are rounded to the dtype by the caller.  The
 * result may overwrite the operand: each loop reads element i before it writes
 * it, and what is needed later (a sum, the maximum) is kept aside.
 *
 * Sums are the law's (partial_sum.h), also where a line is taken in tiles: a
 * tile begins at a multiple of 16, since TILE and STOP_BLOCK are multiples. */

/* Loops over a line in tiles, for elementary functions: elements i .. i + n,
 * with n <= TILE. */
#define EACH_TILE(l)        \
  BLOCKS((l)->stop, (l)->n) \
  for (int64_t i = at, n; n = end - i < TILE ? end - i : TILE, i < end; i += n)

/* The greatest element; NaN when the line has one, -infinity of none. */
static C FN(line_max)(const NormLine *l) {
  const C *x = l->x;
  C best = -INFINITY;
  BLOCKS(l->stop, l->n)
  for (int64_t i = at; i < end; i++)
    best = best > x[i] || best != best ? best : x[i];
  return best;
}

/* e = exp(x - max(x)); e / sum(e)
 *
 * The maximum is subtracted so that no exponential overflows, and at least one
 * is 1, so the sum is not 0.  A line whose maximum is infinite gives NaN. */
void FN(ref_softmax)(const NormLine *l) {
  const C *x = l->x;
  C *out = l->out, most = FN(line_max)(l);
  FN(Partial) sum = {{0}};
  EACH_TILE(l) {
    for (int64_t k = i; k < i + n; k++) out[k] = x[k] - most;
    NAME_OF(ID, tile_exp)(out + i, (int)n);
    FN(partial_add)(&sum, out + i, n);
  }
  C all = FN(partial_join)(&sum);
  BLOCKS(l->stop, l->n)
  for (int64_t i = at; i < end; i++) out[i] /= all;
}

/* d = x - max(x); d - log(sum(exp(d)))
 *
 * Not the logarithm of softmax, which would be -infinity where exp
 * underflows. */
void FN(ref_log_softmax)(const NormLine *l) {
  const C *x = l->x;
  C *out = l->out, most = FN(line_max)(l), tile[TILE];
  FN(Partial) sum = {{0}};
  EACH_TILE(l) {
    for (int64_t k = 0; k < n; k++) tile[k] = out[i + k] = x[i + k] - most;
    NAME_OF(ID, tile_exp)(tile, (int)n);
    FN(partial_add)(&sum, tile, n);
  }
  C log_sum = FN(partial_join)(&sum);
  NAME_OF(ID, tile_log)(&log_sum, 1);
  BLOCKS(l->stop, l->n)
  for (int64_t i = at; i < end; i++) out[i] -= log_sum;
}

/* m = sum(x) / n; v = sum((x - m)^2) / n; (x - m) / sqrt(v + epsilon), then
 * times gamma, plus beta
 *
 * In two passes: sum(x^2) / n - m^2 would cancel where the mean is large. */
void FN(ref_normalize)(const NormLine *l) {
  const C *x = l->x, *gamma = l->gamma, *beta = l->beta;
  C *out = l->out, tile[TILE], mean = FN(partial_sum)(l->stop, x, l->n);
  FN(Partial) sum = {{0}};
  mean /= (C)l->n;
  EACH_TILE(l) {
    for (int64_t k = 0; k < n; k++) {
      C d = out[i + k] = x[i + k] - mean;
      tile[k] = d * d;
    }
    FN(partial_add)(&sum, tile, n);
  }
  C deviation = FN(partial_join)(&sum) / (C)l->n + (C)l->epsilon;
  NAME_OF(ID, tile_sqrt)(&deviation, 1);
  BLOCKS(l->stop, l->n)
  for (int64_t i = at; i < end; i++) {
    out[i] /= deviation;
    if (gamma) out[i] *= gamma[i];
    if (beta) out[i] += beta[i];
  }
}

/* x / sqrt(max(sum(x^2), epsilon)) */
void FN(ref_l2)(const NormLine *l) {
  const C *x = l->x;
  C *out = l->out, tile[TILE], least = (C)l->epsilon;
  FN(Partial) squares = {{0}};
  EACH_TILE(l) {
    for (int64_t k = 0; k < n; k++) tile[k] = x[i + k] * x[i + k];
    FN(partial_add)(&squares, tile, n);
  }
  C sum = FN(partial_join)(&squares), length = sum > least ? sum : least;
  NAME_OF(ID, tile_sqrt)(&length, 1);
  BLOCKS(l->stop, l->n)
  for (int64_t i = at; i < end; i++) out[i] = x[i] / length;
}

/* x / (bias + alpha * sum(x^2 over `size` neighbours) / size) ^ power
 *
 * The neighbours are i - size / 2 to i + size / 2, those that exist.  Each
 * window is summed anew: a running sum would depend on what was left behind. */
void FN(ref_lrn)(const NormLine *l) {
  const C *x = l->x;
  C *out = l->out, *squares = l->squares, power = (C)l->power;
  int64_t reach = l->size / 2;
  BLOCKS(l->stop, l->n)
  for (int64_t i = at; i < end; i++) squares[i] = x[i] * x[i];
  for (int64_t i = 0; i < l->n && !stop_seen(l->stop); i++) {
    int64_t from = i > reach ? i - reach : 0;
    int64_t to = l->n - i > reach ? i + reach + 1 : l->n;
    C sum = FN(partial_sum)(l->stop, squares + from, to - from);
    C base = (C)l->bias + (C)l->alpha * sum / (C)l->size;
    NAME_OF(ID, tile_power)(&base, &power, 1);
    out[i] = x[i] / base;
  }
}

#undef EACH_TILE
#undef ID
#undef C
