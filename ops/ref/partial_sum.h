/* The sum of an array of C, named ID: element r goes to partial sum r mod 16;
 * then +8, +4, +2, +1 join them.  Included once for each type. */
#include "ops/stop.h"

static C FN(partial_sum)(StopFlag *stop, const C *x, int64_t n) {
  enum { PARTS = 16 };
  C part[PARTS] = {0};
  BLOCKS(stop, n) {
    int64_t i = at;
    for (; i + PARTS <= end; i += PARTS)
      for (int k = 0; k < PARTS; k++) part[k] += x[i + k];
    for (int k = 0; i < end; i++, k++) part[k] += x[i];
  }
  for (int half = PARTS / 2; half > 0; half /= 2)
    for (int k = 0; k < half; k++) part[k] += part[k + half];
  return part[0];
}
