/* Batch normalisation in the type C (float or double) named ID; included by
 * lines.c.
 *
 *   s = gamma / sqrt(variance + epsilon)       for each channel
 *   t = beta - mean * s
 *   out = x * s + t                            for each element, rounded twice
 *
 * Two operations an element instead of four.  Without `scale` gamma is 1,
 * without `center` beta is 0. */

/* The factors of channel i. */
static void FN(channel_factors)(const ChannelNorm *norm, int64_t i, C *s,
                                C *t) {
  C value[4]; /* gamma, beta, mean, variance */
  for (int k = 0; k < 4; k++) {
    const Tensor *v = norm->vectors[k];
    int64_t size = (int64_t)dtype_size(v->dtype);
    const char *at = v->data + i * v->strides[0] * size;
    NAME_OF(tile_load, ID)(v->dtype, at, 1, 1, &value[k]);
  }
  C deviation = value[3] + (C)norm->epsilon;
  NAME_OF(ID, tile_sqrt)(&deviation, 1);
  *s = 1 / deviation;
  if (norm->scale) *s *= value[0];
  *t = -value[2] * *s;
  if (norm->center) *t += value[1];
}

/* A run of the channel, through a tile of C, since 16-bit floats are rounded
 * once, at the end. */
static void FN(affine_run)(const Walk *w, DType dtype, C s, C t) {
  C tile[TILE];
  for (int64_t i = 0; i < w->n; i += TILE) {
    int64_t n = w->n - i < TILE ? w->n - i : TILE;
    char *to = w->data[0] + i * w->step[0] * w->size[0];
    char *from = w->data[1] + i * w->step[1] * w->size[1];
    NAME_OF(tile_load, ID)(dtype, from, w->step[1], n, tile);
    for (int64_t k = 0; k < n; k++) tile[k] = tile[k] * s + t;
    NAME_OF(tile_store, ID)(dtype, to, w->step[0], n, tile);
  }
}

typedef struct FN(Channels) {
  const OpCall *call;
  const ChannelNorm *norm;
} FN(Channels);

static bool FN(channels_share)(const void *data, const Share *share) {
  const FN(Channels) *all = data;
  const Tensor *x = all->call->args[0];
  int axis = all->norm->axis;
  for (int64_t i = share->from; i < share->to; i++) {
    Tensor to = geometry_slice(all->call->outs[0], axis, i, 1);
    Tensor from = geometry_slice(x, axis, i, 1);
    C s, t;
    FN(channel_factors)(all->norm, i, &s, &t);
    Walk w;
    walk_start(&w, 2, (const Tensor *[]){&to, &from});
    walk_heed(&w, all->call->stop);
    while (walk_next(&w)) FN(affine_run)(&w, x->dtype, s, t);
    if (op_stopped(all->call)) return false;
  }
  return true;
}

static bool FN(run_channels)(OpCall *call, const ChannelNorm *norm) {
  const Tensor *x = call->args[0];
  int64_t channels = x->shape[norm->axis];
  int threads = parallel_threads(call, channels,
                                 CHANNEL_NANOSECONDS * (double)tensor_count(x));
  return parallel_run(call, threads, channels, FN(channels_share),
                      &(FN(Channels)){call, norm});
}

#undef ID
#undef C
