/* Kernels that compute each element of an image by itself. */
#ifndef KERNELS_DRIVE_SAMPLE_H
#define KERNELS_DRIVE_SAMPLE_H

#include "kernels/call.h"

/* Stores the element at `index` of the result.  Runs on any thread, and may
 * leave the element as it is when the call was asked to stop. */
struct Sampling;
typedef void SampleFn(const struct Sampling *s, const int64_t index[5],
                      char *to);

/* One call.  The geometries have the axes (N, C, D, H, W). */
typedef struct Sampling {
  const OpCall *call;
  Tensor data, out;
  const void *plan; /* whatever `element` needs */
  SampleFn *element;
} Sampling;

/* Computes all elements of `out`, each of which takes so long. */
bool sampling_run(OpCall *call, const Sampling *s, double nanoseconds);

/* The element at an index of a tensor of any rank. */
static inline char *element_at(const Tensor *t, const int64_t *index) {
  int64_t offset = 0;
  for (int i = 0; i < t->rank; i++) offset += index[i] * t->strides[i];
  return t->data + offset * (int64_t)dtype_size(t->dtype);
}
static inline double f64_at(const Tensor *t, const int64_t *index) {
  return bits_to_f64(t->dtype, bits_load(t->dtype, element_at(t, index)));
}

#endif
