/* See tile.h; the loops of each dtype are in tile_body.h. */
#include "ops/ref/tile.h"

#define BODY "ops/ref/tile_body.h"
#include "ops/ref/each_bool.h"
#include "ops/ref/each_int.h"
#include "ops/ref/each_float.h"

#define DISPATCH(To, name, CASES)                                           \
  void tile_load_##name(DType from, const char *x, int64_t step, int64_t n, \
                        To *to) {                                           \
    switch (from) {                                                         \
      CASES(load, name, (x, step, n, to))                                   \
      default: break;                                                       \
    }                                                                       \
  }                                                                         \
  void tile_store_##name(DType to, char *out, int64_t step, int64_t n,      \
                         const To *from) {                                  \
    switch (to) {                                                           \
      CASES(store, name, (out, step, n, from))                              \
      default: break;                                                       \
    }                                                                       \
  }

#define ONE(way, name, id, args) \
  case DT_##id:                  \
    way##_##name##_##id args;    \
    break;
#define FLOATS(way, name, args)                                \
  ONE(way, name, FLOAT16, args)                                \
  ONE(way, name, BFLOAT16, args) ONE(way, name, FLOAT32, args) \
      ONE(way, name, FLOAT64, args)
#define INTEGERS(way, name, args)                                  \
  ONE(way, name, BOOL, args)                                       \
  ONE(way, name, INT8, args) ONE(way, name, INT16, args)           \
      ONE(way, name, INT32, args) ONE(way, name, INT64, args)      \
          ONE(way, name, UINT8, args) ONE(way, name, UINT16, args) \
              ONE(way, name, UINT32, args) ONE(way, name, UINT64, args)

DISPATCH(float, f32, FLOATS)
DISPATCH(double, f64, FLOATS)
DISPATCH(uint32_t, u32, INTEGERS)
DISPATCH(uint64_t, u64, INTEGERS)
