/* Reductions, scans, argmax and argmin in plain C, by dtype. */
#ifndef KERNELS_REF_REDUCE_H
#define KERNELS_REF_REDUCE_H

#include "kernels/isa.h"

#define DTYPE(id, ...) extern const Reducer ref_reducers_##id[REDUCE_KINDS];
#include "tensor/dtype.def"
#undef DTYPE

/* The position in a walk of its greatest or least element. */
typedef int64_t (*ArgBest)(Walk w, bool least, bool last);
extern const ArgBest ref_arg_best[DTYPE_COUNT];

/* Running sums or products along one line. */
typedef void (*Scan)(StopFlag *stop, const Tensor *in, const Tensor *out,
                     bool is_product, bool exclusive);
extern const Scan ref_scans[DTYPE_COUNT];

#endif
