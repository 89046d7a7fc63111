/* Resizing in the type C (float or double) named ID; included by resize.c.
 * A result is the weighted sum of the elements that its coordinates name,
 * along the last axis first, each sum in ascending order. */

static C FN(weighted)(const Tensor *x, const char *at, const Taps *const *taps,
                      int axis) {
  const Taps *t = taps[axis];
  int64_t size = (int64_t)dtype_size(x->dtype);
  C sum = 0;
  for (int i = 0; i < t->count; i++) {
    const char *place = at + t->index[i] * x->strides[axis + 2] * size;
    C v;
    if (axis == SPATIAL_MAX - 1)
      NAME_OF(tile_load, ID)(x->dtype, place, 1, 1, &v);
    else
      v = FN(weighted)(x, place, taps, axis + 1);
    C term = v * (C)t->weight[i];
    sum = i == 0 ? term : sum + term;
  }
  return sum;
}

static void FN(put_weighted)(const Tensor *x, const char *at,
                             const Taps *const *taps, char *out) {
  C v = FN(weighted)(x, at, taps, 0);
  NAME_OF(tile_store, ID)(x->dtype, out, 1, 1, &v);
}

#undef ID
#undef C
