/* The law's sum of many elements of type C, named ID: element r goes to partial
 * sum r mod 16; then +8, +4, +2, +1 join them.  Included once for each type. */
#include "kernels/ref/walk.h"

typedef struct FN(Partial) {
  C part[16];
} FN(Partial);

/* Adds the next n elements; the number of elements before must be a multiple of
 * 16. */
static inline void FN(partial_add)(FN(Partial) * sum, const C *x, int64_t n) {
  enum { PARTS = 16 };
  int64_t i = 0;
  for (; i + PARTS <= n; i += PARTS)
    for (int k = 0; k < PARTS; k++) sum->part[k] += x[i + k];
  for (int k = 0; i < n; i++, k++) sum->part[k] += x[i];
}

static inline C FN(partial_join)(FN(Partial) * sum) {
  for (int half = 8; half > 0; half /= 2)
    for (int k = 0; k < half; k++) sum->part[k] += sum->part[k + half];
  return sum->part[0];
}

static inline C FN(partial_sum)(StopFlag *stop, const C *x, int64_t n) {
  FN(Partial) sum = {{0}};
  BLOCKS(stop, n) FN(partial_add)(&sum, x + at, end - at);
  return FN(partial_join)(&sum);
}
