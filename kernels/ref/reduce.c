/* See reduce.h; the loops of each dtype are in reduce_body.h and scan_body.h.
 * The includes below make them once for each dtype, by its class: bool,
 * integer, float. */
#include "kernels/ref/reduce.h"

#include "kernels/law.h"
#include "kernels/ref/loop.h"

#include <string.h>

#define REDUCERS ref_reducers
#define REDUCERS_LINKAGE
#define BODY "kernels/ref/reduce_body.h"
#include "kernels/ref/each_bool.h"
#include "kernels/ref/each_int.h"
#include "kernels/ref/each_float.h"
#undef BODY

#define BODY "kernels/ref/scan_body.h"
#include "kernels/ref/each_bool.h"
#include "kernels/ref/each_int.h"
#include "kernels/ref/each_float.h"

const ArgBest ref_arg_best[DTYPE_COUNT] = {
#define DTYPE(id, ...) [DT_##id] = arg_best_##id,
#include "tensor/dtype.def"
#undef DTYPE
};

const Scan ref_scans[DTYPE_COUNT] = {
#define DTYPE(id, ...) [DT_##id] = scan_##id,
#include "tensor/dtype.def"
#undef DTYPE
};
