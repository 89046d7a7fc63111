/* Resizing in the type C (float or double) named ID; included by resize.c.
 * Each result is a weighted sum of its taps, summed along the last axis first,
 * and along each axis in ascending order: a fixed order, as the law wants. */

/* Recurses once for each axis.  A sum starts from its first term, not from 0,
 * so that a single tap of weight 1 gives back -0. */
static C FN(weighted)(const Tensor *x, const char *at, const Taps *const *taps,
                      int axis) {
  const Taps *t = taps[axis];
  int64_t size = (int64_t)dtype_size(x->dtype);
  C sum = 0;
  for (int i = 0; i < t->count; i++) {
    const char *place = at + t->index[i] * x->strides[axis + 2] * size;
    C v;
    if (axis == SPATIAL_MAX - 1)
      v = (C)bits_to_f64(x->dtype, bits_load(x->dtype, place));
    else v = FN(weighted)(x, place, taps, axis + 1);
    C term = v * (C)t->weight[i];
    sum = i == 0 ? term : sum + term;
  }
  return sum;
}

static void FN(put_weighted)(const Tensor *x, const char *at,
                             const Taps *const *taps, DType to, char *out) {
  bits_store(to, out, bits_from_f64(to, FN(weighted)(x, at, taps, 0)));
}

#undef ID
#undef C
