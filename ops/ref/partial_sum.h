/* The sum of an array of C, named ID: element r goes to partial sum r mod 16;
 * then +8, +4, +2, +1 join them.  Included once for each type. */

static C FN(partial_sum)(const C *x, int64_t n) {
  enum { PARTS = 16 };
  C part[PARTS] = {0};
  int64_t i = 0;
  for (; i + PARTS <= n; i += PARTS)
    for (int k = 0; k < PARTS; k++) part[k] += x[i + k];
  for (int k = 0; i < n; i++, k++) part[k] += x[i];
  for (int half = PARTS / 2; half > 0; half /= 2)
    for (int k = 0; k < half; k++) part[k] += part[k + half];
  return part[0];
}
