/* See sort.h; the loops of each dtype are in sort_body.h, and are made here for
 * all of them.  What differs between dtypes is the comparison alone. */
#include "kernels/ref/sort.h"

#include "kernels/ref/loop.h"

#define BODY "kernels/ref/sort_body.h"
#include "kernels/ref/each_bool.h"
#include "kernels/ref/each_int.h"
#include "kernels/ref/each_float.h"

const MergeFn ref_merges[DTYPE_COUNT] = {
#define DTYPE(id, ...) [DT_##id] = merge_##id,
#include "tensor/dtype.def"
#undef DTYPE
};

const SearchFn ref_searches[DTYPE_COUNT] = {
#define DTYPE(id, ...) [DT_##id] = search_##id,
#include "tensor/dtype.def"
#undef DTYPE
};
