/* Softmax and normalisations of one line in plain C, in float and double. */
#ifndef KERNELS_REF_LINES_H
#define KERNELS_REF_LINES_H

#include "kernels/isa.h"

#define LINES_IN(id)                               \
  void ref_softmax_##id(const NormLine *line);     \
  void ref_log_softmax_##id(const NormLine *line); \
  void ref_normalize_##id(const NormLine *line);   \
  void ref_l2_##id(const NormLine *line);          \
  void ref_lrn_##id(const NormLine *line);
LINES_IN(f32)
LINES_IN(f64)
#undef LINES_IN

#endif
