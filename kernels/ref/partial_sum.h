/* The law's sum of many elements of type C, named ID: kernels/law.h says in
 * which order.  Included once for each type. */
#include "kernels/law.h"
#include "kernels/ref/walk.h"

typedef struct FN(Partial) {
  C part[LAW_PARTS];
} FN(Partial);

/* Adds the next n elements; the number of elements before must be a multiple of
 * LAW_PARTS. */
static inline void FN(partial_add)(FN(Partial) * sum, const C *x, int64_t n) {
  int64_t i = 0;
  for (; i + LAW_PARTS <= n; i += LAW_PARTS)
    for (int k = 0; k < LAW_PARTS; k++) sum->part[k] += x[i + k];
  for (int k = 0; i < n; i++, k++) sum->part[k] += x[i];
}

static inline C FN(partial_join)(FN(Partial) * sum) {
  for (int half = LAW_PARTS / 2; half > 0; half /= 2)
    for (int k = 0; k < half; k++) sum->part[k] += sum->part[k + half];
  return sum->part[0];
}

static inline C FN(partial_sum)(StopFlag *stop, const C *x, int64_t n) {
  FN(Partial) sum = {{0}};
  BLOCKS(stop, n) FN(partial_add)(&sum, x + at, end - at);
  return FN(partial_join)(&sum);
}
