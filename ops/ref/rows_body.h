/* Kernels that work on one line of a tensor at a time, in the type C (float
 * or double) named ID; included by rows.c.  A line - the elements over one
 * axis or several - is copied to an array, computed there, and rounded once
 * when it is stored. */

/* NaN when there is one. */
static C FN(row_max)(StopFlag *stop, const C *x, int64_t n) {
  C best = -INFINITY;
  BLOCKS(stop, n)
  for (int64_t i = at; i < end; i++)
    best = best > x[i] || best != best ? best : x[i];
  return best;
}

static void FN(row_exp)(C *x, int64_t n, StopFlag *stop) {
  BLOCKS(stop, n)
  for (int64_t i = at; i < end; i += TILE)
    NAME_OF(ID, tile_exp)(x + i, (int)(n - i < TILE ? n - i : TILE));
}

/* e = exp(x - max(x)); e / sum(e) */
static void FN(row_softmax)(C *x, C *scratch, int64_t n, const RowCall *row) {
  C most = FN(row_max)(row->stop, x, n);
  (void)scratch;
  BLOCKS(row->stop, n)
  for (int64_t i = at; i < end; i++) x[i] -= most;
  FN(row_exp)(x, n, row->stop);
  C sum = FN(partial_sum)(row->stop, x, n);
  BLOCKS(row->stop, n)
  for (int64_t i = at; i < end; i++) x[i] /= sum;
}

/* d = x - max(x); d - log(sum(exp(d))) */
static void FN(row_log_softmax)(C *x, C *scratch, int64_t n,
                                const RowCall *row) {
  C most = FN(row_max)(row->stop, x, n);
  BLOCKS(row->stop, n)
  for (int64_t i = at; i < end; i++) scratch[i] = x[i] -= most;
  FN(row_exp)(scratch, n, row->stop);
  C log_sum = FN(partial_sum)(row->stop, scratch, n);
  NAME_OF(ID, tile_log)(&log_sum, 1);
  BLOCKS(row->stop, n)
  for (int64_t i = at; i < end; i++) x[i] -= log_sum;
}

/* Element i of a vector that holds one number for each channel. */
static C FN(of_channel)(const RowCall *row, const Tensor *v, int64_t i) {
  int64_t channel = row->first + i / row->inner % row->channels;
  int64_t size = (int64_t)dtype_size(v->dtype);
  C out;
  NAME_OF(tile_load, ID)
  (v->dtype, v->data + channel * v->strides[0] * size, 1, 1, &out);
  return out;
}

/* m = sum(x) / n; v = sum((x - m)^2) / n; (x - m) / sqrt(v + epsilon), then
 * times gamma, plus beta */
static void FN(row_normalize)(C *x, C *scratch, int64_t n, const RowCall *row) {
  C mean = FN(partial_sum)(row->stop, x, n) / (C)n;
  BLOCKS(row->stop, n)
  for (int64_t i = at; i < end; i++) {
    x[i] -= mean;
    scratch[i] = x[i] * x[i];
  }
  C deviation = FN(partial_sum)(row->stop, scratch, n) / (C)n + (C)row->epsilon;
  NAME_OF(ID, tile_sqrt)(&deviation, 1);
  BLOCKS(row->stop, n)
  for (int64_t i = at; i < end; i++) {
    x[i] /= deviation;
    if (row->gamma) x[i] *= FN(of_channel)(row, row->gamma, i);
    if (row->beta) x[i] += FN(of_channel)(row, row->beta, i);
  }
}

/* x / sqrt(max(sum(x^2), epsilon)) */
static void FN(row_l2)(C *x, C *scratch, int64_t n, const RowCall *row) {
  BLOCKS(row->stop, n)
  for (int64_t i = at; i < end; i++) scratch[i] = x[i] * x[i];
  C sum = FN(partial_sum)(row->stop, scratch, n), least = (C)row->epsilon;
  C length = sum > least ? sum : least;
  NAME_OF(ID, tile_sqrt)(&length, 1);
  BLOCKS(row->stop, n)
  for (int64_t i = at; i < end; i++) x[i] /= length;
}

/* x / (bias + alpha * sum(x^2 over `size` neighbours) / size) ^ beta */
static void FN(row_lrn)(C *x, C *scratch, int64_t n, const RowCall *row) {
  int64_t reach = row->size / 2;
  C power = (C)row->power;
  BLOCKS(row->stop, n)
  for (int64_t i = at; i < end; i++) scratch[i] = x[i] * x[i];
  for (int64_t i = 0; i < n && !stop_seen(row->stop); i++) {
    int64_t from = i > reach ? i - reach : 0;
    int64_t to = n - i > reach ? i + reach + 1 : n;
    C sum = FN(partial_sum)(row->stop, scratch + from, to - from);
    C base = (C)row->bias + (C)row->alpha * sum / (C)row->size;
    NAME_OF(ID, tile_power)(&base, &power, 1);
    x[i] /= base;
  }
}

typedef void (*FN(RowFn))(C *x, C *scratch, int64_t n, const RowCall *row);
static const FN(RowFn) FN(row_functions)[] = {
    [ROW_SOFTMAX] = FN(row_softmax),
    [ROW_LOG_SOFTMAX] = FN(row_log_softmax),
    [ROW_NORMALIZE] = FN(row_normalize),
    [ROW_L2] = FN(row_l2),
    [ROW_LRN] = FN(row_lrn),
};

static void FN(load_row)(Walk w, DType dtype, C *line) {
  for (int64_t at = 0; walk_next(&w); at += w.n)
    NAME_OF(tile_load, ID)(dtype, w.data[0], w.step[0], w.n, line + at);
}

static void FN(store_row)(Walk w, DType dtype, const C *line) {
  for (int64_t at = 0; walk_next(&w); at += w.n)
    NAME_OF(tile_store, ID)(dtype, w.data[1], w.step[1], w.n, line + at);
}

typedef struct FN(Rows) {
  const OpCall *call;
  const RowCall *row;
  Walk outer, inner; /* over the lines; along one */
  DType dtype;
  int64_t n;
  C *lines; /* two for each thread */
} FN(Rows);

static bool FN(rows_share)(const void *data, const Share *share) {
  const FN(Rows) *r = data;
  C *line = r->lines + 2 * share->worker * r->n;
  Walk outer = walk_part(&r->outer, share->from, share->to), inner = r->inner;
  while (walk_next(&outer))
    for (int64_t j = 0; j < outer.n; j++) {
      if (op_stopped(r->call)) return false;
      for (int k = 0; k < 2; k++)
        inner.data[k] = outer.data[k] + j * outer.step[k] * outer.size[k];
      FN(load_row)(inner, r->dtype, line);
      FN(row_functions)[r->row->kind](line, line + r->n, r->n, r->row);
      FN(store_row)(inner, r->dtype, line);
    }
  return true;
}

/* Every line of `x`: the elements over the axes in `set`, row-major. */
static bool FN(run_rows)(OpCall *call, const Tensor *x, const Tensor *out,
                         unsigned set, const RowCall *row) {
  FN(Rows) r = {call, row, .dtype = (DType)x->dtype, .n = line_length(x, set)};
  walk_axes(&r.outer, 2, (const Tensor *[]){x, out}, ~set);
  walk_axes(&r.inner, 2, (const Tensor *[]){x, out}, set);
  walk_heed(&r.inner, call->stop);
  int64_t pieces = walk_pieces(&r.outer);
  int threads =
      parallel_threads(call, pieces, NANOSECONDS * (double)tensor_count(x));
  r.lines = ARENA_ARRAY(call->arena, C, (size_t)(2 * threads * r.n) + 1);
  if (!r.lines) return op_out_of_memory(call);
  return parallel_run(threads, pieces, FN(rows_share), &r);
}

/* One channel of batch normalisation: x * s + t, where s is one over the
 * standard deviation [times gamma], t = -mean * s [+ beta]. */
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
  int threads =
      parallel_threads(call, channels, NANOSECONDS * (double)tensor_count(x));
  return parallel_run(threads, channels, FN(channels_share),
                      &(FN(Channels)){call, norm});
}

#undef ID
#undef C
