/* See tile.h; the loops of each dtype are in tile_body.h. */
#include "kernels/ref/tile.h"

#include "kernels/ref/loop.h"

#include <assert.h>

#define BODY "kernels/ref/transfer_body.h"
#include "kernels/ref/each_bool.h"
#include "kernels/ref/each_int.h"
#include "kernels/ref/each_float.h"

/* Whether a dtype is computed with as floats or as integers; each class of
 * dtype.def is one of the two. */
#define FLOATS_B(id, call)
#define FLOATS_I(id, call)
#define FLOATS_U(id, call)
#define FLOATS_F(id, call) \
  case DT_##id:            \
    call;                  \
    break;
#define INTEGERS_B FLOATS_F
#define INTEGERS_I FLOATS_F
#define INTEGERS_U FLOATS_F
#define INTEGERS_F FLOATS_I

void tile_load_f32(DType from, const char *x, int64_t step, int64_t n,
                   float *to) {
  switch (from) {
#define DTYPE(id, suffix, T, class, ...) \
  FLOATS_##class(id, load_f32_##id(x, step, n, to))
#include "tensor/dtype.def"
#undef DTYPE
    default: assert(!"a dtype of the other class");
  }
}

void tile_store_f32(DType to, char *out, int64_t step, int64_t n,
                    const float *from) {
  switch (to) {
#define DTYPE(id, suffix, T, class, ...) \
  FLOATS_##class(id, store_f32_##id(out, step, n, from))
#include "tensor/dtype.def"
#undef DTYPE
    default: assert(!"a dtype of the other class");
  }
}

void tile_load_f64(DType from, const char *x, int64_t step, int64_t n,
                   double *to) {
  switch (from) {
#define DTYPE(id, suffix, T, class, ...) \
  FLOATS_##class(id, load_f64_##id(x, step, n, to))
#include "tensor/dtype.def"
#undef DTYPE
    default: assert(!"a dtype of the other class");
  }
}

void tile_store_f64(DType to, char *out, int64_t step, int64_t n,
                    const double *from) {
  switch (to) {
#define DTYPE(id, suffix, T, class, ...) \
  FLOATS_##class(id, store_f64_##id(out, step, n, from))
#include "tensor/dtype.def"
#undef DTYPE
    default: assert(!"a dtype of the other class");
  }
}

void tile_load_u32(DType from, const char *x, int64_t step, int64_t n,
                   uint32_t *to) {
  switch (from) {
#define DTYPE(id, suffix, T, class, ...) \
  INTEGERS_##class(id, load_u32_##id(x, step, n, to))
#include "tensor/dtype.def"
#undef DTYPE
    default: assert(!"a dtype of the other class");
  }
}

void tile_store_u32(DType to, char *out, int64_t step, int64_t n,
                    const uint32_t *from) {
  switch (to) {
#define DTYPE(id, suffix, T, class, ...) \
  INTEGERS_##class(id, store_u32_##id(out, step, n, from))
#include "tensor/dtype.def"
#undef DTYPE
    default: assert(!"a dtype of the other class");
  }
}

void tile_load_u64(DType from, const char *x, int64_t step, int64_t n,
                   uint64_t *to) {
  switch (from) {
#define DTYPE(id, suffix, T, class, ...) \
  INTEGERS_##class(id, load_u64_##id(x, step, n, to))
#include "tensor/dtype.def"
#undef DTYPE
    default: assert(!"a dtype of the other class");
  }
}

void tile_store_u64(DType to, char *out, int64_t step, int64_t n,
                    const uint64_t *from) {
  switch (to) {
#define DTYPE(id, suffix, T, class, ...) \
  INTEGERS_##class(id, store_u64_##id(out, step, n, from))
#include "tensor/dtype.def"
#undef DTYPE
    default: assert(!"a dtype of the other class");
  }
}
