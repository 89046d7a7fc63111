/* See pool.h; the loops of each dtype are in pool_body.h.  The tables are
 * indexed by dtype, then by mean (0) or maximum (1). */
#include "kernels/ref/pool.h"

#include "kernels/law.h"
#include "kernels/ref/loop.h"

#define BODY "kernels/ref/pool_body.h"
#include "kernels/ref/each_int.h"
#include "kernels/ref/each_float.h"

/* By the class of the dtype: bool has no pooling. */
#define POOLS_B(id)
#define POOLS_I(id) [DT_##id] = {pool_avg_##id, pool_max_##id},
#define POOLS_U POOLS_I
#define POOLS_F POOLS_I
#define GRADS_B(id)
#define GRADS_I(id) [DT_##id] = {grad_avg_##id, grad_max_##id},
#define GRADS_U GRADS_I
#define GRADS_F GRADS_I

const PoolFn ref_pools[DTYPE_COUNT][2] = {
#define DTYPE(id, suffix, T, class, ...) POOLS_##class(id)
#include "tensor/dtype.def"
#undef DTYPE
};

const PoolGradFn ref_pool_grads[DTYPE_COUNT][2] = {
#define DTYPE(id, suffix, T, class, ...) GRADS_##class(id)
#include "tensor/dtype.def"
#undef DTYPE
};
