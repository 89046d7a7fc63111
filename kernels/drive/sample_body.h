/* Reading images between their elements, in the type C (float or double) named
 * ID; included by sample.c.
 *
 * A coordinate x along an axis becomes Taps; the value at a place is
 *
 *   sum over the taps of D, H, W of wd * wh * ww * element
 *
 * with one tap of weight 1 along an axis that the image does not have.
 * Formulas, margins and the treatment of what is outside are the reference's;
 * each operator has its own. */

/* Elements along an axis, and their weights.  One at index -1 is outside, and
 * counts as 0. */
typedef struct FN(Taps) {
  int count;
  int64_t index[TAPS_MAX];
  C weight[TAPS_MAX];
} FN(Taps);

static C FN(floor)(C x) { return (C)floor((double)x); }
static C FN(ceil)(C x) { return (C)ceil((double)x); }
static C FN(rint)(C x) { return (C)rint((double)x); }

static C FN(load)(const Tensor *x, const char *at) {
  return (C)bits_to_f64(x->dtype, bits_load(x->dtype, at));
}

/* The value at the taps of D, H and W around `at`, an element of a channel:
 * summed along the last axis first, and along each axis in ascending order.
 * Recurses once for each axis. */
static C FN(sample)(const Tensor *x, const char *at, const FN(Taps) * taps,
                    int axis) {
  const FN(Taps) *t = &taps[axis];
  int64_t step = x->strides[2 + axis] * (int64_t)dtype_size(x->dtype);
  C sum = 0;
  for (int i = 0; i < t->count; i++) {
    const char *place = at + t->index[i] * step;
    C v = 0;
    if (t->index[i] >= 0)
      v = axis == SPATIAL_MAX - 1 ? FN(load)(x, place)
                                  : FN(sample)(x, place, taps, axis + 1);
    C term = t->weight[i] * v;
    sum = i == 0 ? term : sum + term;
  }
  return sum;
}

static const char *FN(channel)(const Sampling *s, int64_t n, int64_t c) {
  return element_at(&s->data, (int64_t[]){n, c, 0, 0, 0});
}

static void FN(put)(const Sampling *s, C v, char *to) {
  bits_store(s->out.dtype, to, bits_from_f64(s->out.dtype, (double)v));
}

static FN(Taps) FN(one)(int64_t index) {
  return (FN(Taps)){.count = 1, .index = {index}, .weight = {1}};
}

/* The two elements around a coordinate that is not less than -1; beyond the
 * length they are outside.  floor(-1) is index -1, which is outside, too. */
static FN(Taps) FN(two)(C x, int64_t length) {
  int64_t low = (int64_t)FN(floor)(x);
  C part = x - (C)low;
  return (FN(Taps)){
      .count = 2,
      .index = {low < length ? low : -1, low + 1 < length ? low + 1 : -1},
      .weight = {1 - part, part}};
}

/* --- image.crop_and_resize ------------------------------------------------ */

/* Coordinate o of n along an axis of a box.  False when it is outside of the
 * image, or NaN. */
static bool FN(crop_taps)(const Crop *p, double from, double to, int64_t o,
                          int64_t n, int64_t length, FN(Taps) * t) {
  double x = p->wide
                 ? crop_at_f64(from, to, o, n, length)
                 : (double)crop_at_f32((float)from, (float)to, o, n, length);
  if (!(x >= 0 && x <= (double)(length - 1))) return false;
  *t = p->nearest ? FN(one)((int64_t)round(x)) : FN(two)((C)x, length);
  return true;
}

/* A box is (top, left, bottom, right). */
static void FN(crop)(const Sampling *s, const int64_t index[5], char *to) {
  const Attrs *a = s->call->attrs;
  const Tensor *boxes = s->call->args[1], *images = s->call->args[2];
  const Crop *p = s->plan;
  FN(Taps) taps[SPATIAL_MAX] = {FN(one)(0)};
  double box[4];
  for (int i = 0; i < 4; i++) box[i] = f64_at(boxes, (int64_t[]){index[0], i});
  const int64_t *n = s->out.shape, *length = s->data.shape;
  if (!FN(crop_taps)(p, box[0], box[2], index[3], n[3], length[3], &taps[1]) ||
      !FN(crop_taps)(p, box[1], box[3], index[4], n[4], length[4], &taps[2])) {
    FN(put)(s, (C)attr_real(a, ATTR_extrapolation_value), to);
    return;
  }
  int64_t image = tensor_i64_at(images, index[0]);
  FN(put)
  (s, FN(sample)(&s->data, FN(channel)(s, image, index[1]), taps, 0), to);
}

/* --- image.affine_grid ---------------------------------------------------- */

/* Place i of n from -1 to nearly 1: the reference spreads over 2 - 1e-7. */
static C FN(spread)(int64_t i, int64_t n) {
  return (C)-1 + (C)i * (C)((2.0 - 1e-7) / (double)(n - 1));
}

/* The grid's points are the matrix times (x, y, 1); one coordinate at a
 * time. */
static void FN(affine)(const Sampling *s, const int64_t index[5], char *to) {
  const Tensor *matrix = s->call->args[0];
  C row[3];
  for (int i = 0; i < 3; i++)
    row[i] = (C)f64_at(matrix, (int64_t[]){index[0], index[1], i});
  C y = FN(spread)(index[3], s->out.shape[3]);
  C x = FN(spread)(index[4], s->out.shape[4]);
  FN(put)(s, row[0] * x + row[1] * y + row[2], to);
}

/* --- image.grid_sample ---------------------------------------------------- */

/* Beyond this nothing is left of a coordinate's fraction. */
#define FAR ((C)(1 << 30))

/* Mirrors at both ends of [from, from + span] as often as it takes: after an
 * even number of spans the rest counts from the front, after an odd one from
 * the back.  Coordinates too large for a fraction, and NaN, give 0. */
static C FN(reflect)(C x, C from, C span) {
  if (x >= from && x <= from + span) return x;
  if (span == 0 || !(x > -FAR && x < FAR)) return 0;
  C away = x < from ? from - x : x - from;
  C times = FN(floor)(FN(floor)(away) / span);
  C rest = away - times * span, half = times / 2;
  bool even = half == FN(floor)(half);
  return even ? rest + from : span - rest + from;
}

/* Cut to 0 .. length - 1; NaN gives 0. */
static C FN(inside)(C x, int64_t length) {
  C last = (C)(length - 1);
  return !(x > 0) ? 0 : x < last ? x : last;
}

/* Where a coordinate outside of the data is read; zeros leave it as it is. */
static C FN(bent)(const GridSample *p, C x, int64_t length) {
  if (p->padding == GRID_ZEROS) return x;
  if (p->padding == GRID_REFLECTION)
    x = p->align_corners ? FN(reflect)(x, 0, (C)(length - 1))
                         : FN(reflect)(x, (C)-0.5, (C)length);
  return FN(inside)(x, length);
}

static int64_t FN(index_in)(C x, int64_t length) {
  return x >= 0 && x < (C)length ? (int64_t)x : -1;
}

/* Keys's cubic with a = -0.75.  Each tap is bent back into the data by
 * itself. */
static FN(Taps) FN(cubic)(const GridSample *p, C x, int64_t length) {
  const C a = (C)-0.75;
  C low = FN(floor)(x), d = x - low, e = 1 - d;
  FN(Taps)
  t = {.count = 4,
       .weight = {((a * (d + 1) - 5 * a) * (d + 1) + 8 * a) * (d + 1) - 4 * a,
                  ((a + 2) * d - (a + 3)) * d * d + 1,
                  ((a + 2) * e - (a + 3)) * e * e + 1,
                  ((a * (e + 1) - 5 * a) * (e + 1) + 8 * a) * (e + 1) - 4 * a}};
  for (int i = 0; i < 4; i++)
    t.index[i] = FN(index_in)(FN(bent)(p, low + (C)(i - 1), length), length);
  return t;
}

/* The taps of a coordinate of the grid, which is from -1 to 1: the centres of
 * the border elements (align_corners) or their outer edges.  Cut to FAR first,
 * so that the conversion to an index is defined. */
static FN(Taps) FN(grid_taps)(const GridSample *p, C g, int64_t length) {
  C x = p->align_corners ? (g + 1) * (C)(length - 1) / 2
                         : (C)-0.5 + (g + 1) * (C)length / 2;
  if (!(x > -FAR && x < FAR)) x = x > 0 ? FAR : -FAR;
  if (p->method == GRID_CUBIC) return FN(cubic)(p, x, length);
  x = FN(bent)(p, x, length);
  if (p->method == GRID_NEAREST)
    return FN(one)(FN(index_in)(FN(rint)(x), length));
  C low = FN(floor)(x);
  return (FN(Taps)){
      .count = 2,
      .index = {FN(index_in)(low, length), FN(index_in)(low + 1, length)},
      .weight = {1 - (x - low), x - low}};
}

/* The grid's channels are (x, y) or (x, y, z), so axis k takes channel
 * SPATIAL_MAX - 1 - k. */
static void FN(grid)(const Sampling *s, const int64_t index[5], char *to) {
  const GridSample *p = s->plan;
  FN(Taps) taps[SPATIAL_MAX] = {FN(one)(0)};
  for (int k = SPATIAL_MAX - p->spatial; k < SPATIAL_MAX; k++) {
    int64_t at[5] = {index[0], SPATIAL_MAX - 1 - k, index[2], index[3],
                     index[4]};
    C g = (C)f64_at(&p->grid, at);
    taps[k] = FN(grid_taps)(p, g, s->data.shape[2 + k]);
  }
  FN(put)
  (s, FN(sample)(&s->data, FN(channel)(s, index[0], index[1]), taps, 0), to);
}

/* --- vision.roi_align ----------------------------------------------------- */

/* Coordinates up to 1 outside are moved to the border. */
static bool FN(roi_taps)(C x, int64_t length, FN(Taps) * t) {
  if (!(x >= -1 && x <= (C)length)) return false;
  *t = FN(two)(FN(inside)(x, length), length);
  return true;
}

/* Samples along an axis of a box: `count` of them in each bin of this length,
 * the first bin beginning at `from`.  Those from `first` to `end` are all that
 * may be in the image. */
typedef struct FN(Bin) {
  C from, length;
  int64_t count, first, end;
} FN(Bin);

/* The number of samples before coordinate x, or some more or less: `more` of 1
 * or -1 adds a margin for rounding, so that [first, end) never leaves out a
 * sample that lies in the image. */
static int64_t FN(samples_before)(const FN(Bin) * b, C x, int more) {
  C n = (x - b->from) / b->length * (C)b->count;
  n += (C)more * (2 + (C)1e-5 * (n < 0 ? -n : n));
  return !(n > 0) ? 0 : n < (C)b->count ? (int64_t)n : b->count;
}

/* Bin i of n of a box.  A box is at least one element wide.  Without a fixed
 * number, a bin has as many samples as elements, rounded up; a hostile box
 * makes that a billion, but only those in the image are visited. */
static FN(Bin) FN(bin)(const RoiPlan *p, C from, C to, int64_t i, int64_t n,
                       int64_t length) {
  C scale = (C)p->scale;
  from *= scale;
  C size = to * scale - from;
  if (!(size > 1)) size = 1;
  FN(Bin) b = {.length = size / (C)n};
  C most = FN(ceil)(b.length);
  b.from = from + (C)i * b.length;
  b.count = p->samples ? p->samples : most < FAR ? (int64_t)most : 1 << 30;
  if (!(b.from > -FAR && b.from < FAR && b.length < FAR)) return b;
  b.first = FN(samples_before)(&b, -1, -1);
  b.end = FN(samples_before)(&b, (C)length, 1);
  return b;
}

static C FN(sample_of_bin)(const FN(Bin) * b, int64_t i) {
  return b->from + ((C)i + (C)0.5) * b->length / (C)b->count;
}

/* The mean or the maximum of a bin's samples; samples outside of the image are
 * 0, and take part: the mean divides by all, the maximum is at least 0 when any
 * was left out. */
static void FN(roi_align)(const Sampling *s, const int64_t index[5], char *to) {
  const RoiPlan *p = s->plan;
  const int64_t *n = s->out.shape, *length = s->data.shape;
  FN(Taps) taps[SPATIAL_MAX] = {FN(one)(0)};
  C roi[5], sum = 0, most = 0;
  for (int i = 0; i < 5; i++)
    roi[i] = (C)f64_at(p->rois, (int64_t[]){index[0], i});
  const char *at = FN(channel)(s, (int64_t)roi[0], index[1]);
  FN(Bin) y = FN(bin)(p, roi[2], roi[4], index[3], n[3], length[3]);
  FN(Bin) x = FN(bin)(p, roi[1], roi[3], index[4], n[4], length[4]);
  int64_t inside = 0;
  for (int64_t i = y.first; i < y.end; i++)
    for (int64_t k = x.first; k < x.end; k++) {
      if (op_stopped(s->call)) return;
      if (!FN(roi_taps)(FN(sample_of_bin)(&y, i), length[3], &taps[1]) ||
          !FN(roi_taps)(FN(sample_of_bin)(&x, k), length[4], &taps[2]))
        continue;
      C v = FN(sample)(&s->data, at, taps, 0);
      sum += v;
      if (inside == 0 || !(most > v)) most = v;
      inside++;
    }
  if (inside < y.count * x.count && !(most > 0)) most = 0;
  FN(put)(s, p->max ? most : sum / ((C)y.count * (C)x.count), to);
}

/* --- vision.roi_pool ------------------------------------------------------ */

/* Rounded, and small enough to compute with. */
static int64_t FN(whole)(C x) {
  return x > -FAR && x < FAR ? (int64_t)round((double)x) : x > 0 ? 1 << 30 : 0;
}

/* Elements first .. last of an axis: bin i of n of a box. */
static void FN(pool_bin)(C from, C to, double scale, int64_t i, int64_t n,
                         int64_t length, int64_t *first, int64_t *last) {
  const C margin = (C)0.00001; /* Relay's */
  int64_t start = FN(whole)(from * (C)scale), end = FN(whole)(to * (C)scale);
  C bin = (C)(end >= start ? end - start + 1 : 1) / (C)n;
  int64_t low = start + (int64_t)FN(floor)((C)i * bin + margin);
  int64_t high = start + (int64_t)FN(ceil)((C)(i + 1) * bin - margin);
  *first = low < 0 ? 0 : low < length ? low : length;
  *last = high < 0 ? 0 : high < length ? high : length;
}

/* The maximum of a bin's elements; 0 for a bin without any. */
static void FN(roi_pool)(const Sampling *s, const int64_t index[5], char *to) {
  const RoiPlan *p = s->plan;
  const int64_t *n = s->out.shape, *length = s->data.shape;
  C roi[5], most = 0;
  for (int i = 0; i < 5; i++)
    roi[i] = (C)f64_at(p->rois, (int64_t[]){index[0], i});
  int64_t y, x, bottom, right;
  FN(pool_bin)
  (roi[2], roi[4], p->scale, index[3], n[3], length[3], &y, &bottom);
  FN(pool_bin)
  (roi[1], roi[3], p->scale, index[4], n[4], length[4], &x, &right);
  for (int64_t i = y; i < bottom; i++)
    for (int64_t k = x; k < right; k++) {
      if (op_stopped(s->call)) return;
      int64_t at[5] = {(int64_t)roi[0], index[1], 0, i, k};
      C v = (C)f64_at(&s->data, at);
      if ((i == y && k == x) || !(most > v)) most = v;
    }
  FN(put)(s, most, to);
}

/* --- nn.deformable_conv2d --------------------------------------------------
 * acc = fma(weight, sample, acc) from +0, over (input channel, kernel row,
 * column). */

static bool FN(deform_taps)(C x, int64_t length, FN(Taps) * t) {
  if (!(x >= 0 && x < (C)length)) return false;
  *t = FN(two)(x, length);
  return true;
}

/* The coordinate along axis `k` (H or W) at which kernel position `place` (of
 * that axis) reads; `offset` is the axis' own. */
static C FN(deform_at)(const WindowAxis *a, int64_t o, int64_t place,
                       C offset) {
  return (C)(o * a->stride - a->before + place * a->dilation) + offset;
}

/* Offsets are pairs (y, x) for each kernel position, by group of channels.  A
 * place outside the image counts as 0. */
static void FN(deform)(const Sampling *s, const int64_t index[5], char *to) {
  const Deform *p = s->plan;
  const int64_t *w = p->weight.shape, *length = s->data.shape;
  int64_t first = index[1] / p->group_outputs * p->group_inputs;
  FN(Taps) taps[SPATIAL_MAX] = {FN(one)(0)};
  C acc = 0;
  for (int64_t i = 0; i < w[1] * w[3]; i++) {
    int64_t input = i / w[3], row = i % w[3];
    int64_t shift = (first + input) / p->shared * w[3] * w[4] * 2;
    const char *at = FN(channel)(s, index[0], first + input);
    for (int64_t column = 0; column < w[4]; column++) {
      if (op_stopped(s->call)) return;
      int64_t from[5] = {index[0], shift + (row * w[4] + column) * 2, 0,
                         index[3], index[4]};
      int64_t k[5] = {index[1], input, 0, row, column};
      C y = (C)f64_at(&p->offset, from);
      from[1]++;
      C x = (C)f64_at(&p->offset, from);
      y = FN(deform_at)(&p->axes[1], index[3], row, y);
      x = FN(deform_at)(&p->axes[2], index[4], column, x);
      bool in = FN(deform_taps)(y, length[3], &taps[1]) &&
                FN(deform_taps)(x, length[4], &taps[2]);
      C v = in ? FN(sample)(&s->data, at, taps, 0) : 0;
      acc = MULTIPLY_ADD((C)f64_at(&p->weight, k), v, acc);
    }
  }
  FN(put)(s, acc, to);
}

#undef FAR
