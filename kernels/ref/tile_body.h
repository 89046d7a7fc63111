/* tile_load_ID and tile_store_ID of tile.h for the type C: they choose by dtype
 * among the loops of transfer_body.h.  CASE(class, id, call) is a case of the
 * switch where dtypes of that class are computed in C, else nothing.  Included
 * by tile.c for each type. */

void NAME_OF(tile_load, ID)(DType from, const char *x, int64_t step, int64_t n,
                            C *to) {
  switch (from) {
#define DTYPE(id, suffix, T, class, ...) \
  CASE(class, id, NAME_OF(NAME_OF(load, ID), id)(x, step, n, to))
#include "tensor/dtype.def"
#undef DTYPE
    default: assert(!"a dtype of the other class");
  }
}

void NAME_OF(tile_store, ID)(DType to, char *out, int64_t step, int64_t n,
                             const C *from) {
  switch (to) {
#define DTYPE(id, suffix, T, class, ...) \
  CASE(class, id, NAME_OF(NAME_OF(store, ID), id)(out, step, n, from))
#include "tensor/dtype.def"
#undef DTYPE
    default: assert(!"a dtype of the other class");
  }
}

#undef ID
#undef C
#undef CASE
