/* Convolutions as matrix products without im2col: they read the image in place.
 *
 * A band of rows of the result needs a band of rows of the data.  That band is
 * copied once, with its padding, so that for each kernel element the data that
 * a run of positions meets is contiguous, at a fixed offset:
 *
 *   out[o, p] = sum_k weight[o, k] * image[offsets[k] + p]
 *
 * The inner loop is that of a product, with a table of offsets for the rows of
 * its right operand.  im2col copies each element as often as there are kernel
 * elements that meet it, nine times for 3 x 3; here it is copied once.  A line
 * of the image is `reach` longer than a line of the result, and positions are
 * numbered along it, so that p + 1 is always the next element:
 *
 *   image, 3 x 3, padding 1      0 0 0 0 0 0     offsets  0  1  2
 *                                0 a b c d 0              6  7  8
 *                                0 e f g h 0             12 13 14
 *   positions of a result 4 wide: 0 1 2 3 (4 5), 6 7 8 9 (10 11), ...
 *
 * Lines of the result are therefore computed as long as those of the image, and
 * what exceeds the real length, in brackets, is dropped.  With a stride s, the
 * image is stored as s x s phases: for each remainder modulo s, the lines and
 * columns that have it.  Padding takes part as 0, and k ascends as in conv.c,
 * so both give the same bits.
 *
 * The computation is cut into items (Work), which threads share: bands of rows,
 * depths, groups, batches, and where these are too few, rows of weights.  Each
 * thread has an image and sums of its own. */
#include "kernels/drive/conv.h"

#include "kernels/drive/move.h"
#include "kernels/isa.h"
#include "kernels/kernel.h"
#include "kernels/parallel.h"

#include <string.h>

enum {
  BAND_FLOATS = 1 << 18, /* floats of an image: 1 MiB, the second-level cache */
  BLOCK_FLOATS = 6144,   /* floats that a block of k reads: the first level */
  BLOCK_LEAST = 64,
  BLOCK_MOST = 512,      /* rows of k in a block, at most */
  WIDE = 512,            /* columns of a panel when the weights have few rows */
  POSITIONS_WORTH = 512, /* a band with fewer: threads share channels instead */
  ROWS_MOST = 1 << 14,   /* rows of weights at a time: 4 MiB of sums */
  /* channels copied together: whole cache lines of NHWC */
  CHANNELS_NEAR = 16,
  PADDING_MOST = 8, /* largest image, relative to data and result */
};

/* --- Geometry ------------------------------------------------------------- */

/* The rows or the columns of the image.  Kernel element k belongs to phase k %
 * remainders, and there is shifted by k * dilation / stride.  With stride 2 and
 * a kernel of 3: elements 0 and 2 are in phase 0, shifted by 0 and 1, element 1
 * is in phase 1. */
typedef struct Lines {
  ConvAxis axis;
  int64_t positions;  /* positions of the result in this band */
  int64_t reach;      /* shift of the last kernel element */
  int64_t remainders; /* phases that occur */
  int64_t length;     /* positions + reach */
} Lines;

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static int64_t at_most(int64_t a, int64_t most) { return a < most ? a : most; }
static int64_t at_least(int64_t a, int64_t least) {
  return a > least ? a : least;
}

static int64_t shift_of(const Lines *l, int64_t k) {
  return k * l->axis.dilation / l->axis.stride;
}

/* The phases repeat after stride / gcd(stride, dilation) kernel elements. */
static Lines lines_of(const ConvAxis *axis, int64_t positions, int64_t kernel) {
  int64_t period = axis->stride / common_divisor(axis->stride, axis->dilation);
  Lines l = {*axis, positions, .remainders = at_most(period, kernel)};
  l.reach = shift_of(&l, kernel - 1);
  l.length = positions + l.reach;
  return l;
}

/* The whole computation, cut into items: each item is a band of rows at one
 * depth, for some of the rows of some groups, in one batch. */
typedef struct Work {
  const OpCall *call;
  const ConvPlan *plan;
  const Tiles *tiles;
  Lines columns;
  /* rows of the result in a band */
  int64_t band;
  /* groups that share an image */
  int64_t groups;
  /* rows of a group's weights in an item */
  int64_t rows;
  /* number of parts in each direction */
  int64_t bands, depths, row_parts, group_parts;
  int64_t channel;        /* floats of one channel of an image */
  int64_t width;          /* columns of a panel */
  int64_t block;          /* rows of k in a block */
  const int64_t *offsets; /* offset of each k, for a band of full height */
  float *images;          /* an image for each thread, with its sums */
  int64_t room;           /* floats that one of them takes */
} Work;

typedef struct Item {
  const Work *work;
  int64_t batch, group, depth, line, row; /* where the item begins */
  int64_t groups, rows;
  Lines lines;
  float *image, *sums;
} Item;

/* --- Images --------------------------------------------------------------- */

/* Maps elements of the data to a line of the image. */
typedef struct Stretch {
  int64_t to, from, n, to_step, from_step;
} Stretch;

static int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* The mapping for phase r, from position `first` of the result on.  Element
 * `to` + i * to_step of the line is element `from` + i * from_step of the data,
 * for n elements; what is not mapped is padding or a zero between spread
 * elements. */
static Stretch stretch_of(const Lines *l, int64_t r, int64_t first,
                          int64_t length) {
  const ConvAxis *a = &l->axis;
  int64_t base = first * a->stride + r * a->dilation % a->stride - a->before;
  int64_t at = base;
  if (at < 0) at += divided_up(-at, a->stride) * a->stride;
  if (a->spread > 1) at = divided_up(at, a->spread) * a->spread;
  Stretch s = {.to = (at - base) / a->stride,
               .from = at / a->spread,
               .to_step = a->spread,
               .from_step = a->stride};
  int64_t room = divided_up(l->length - s.to, s.to_step);
  int64_t left = divided_up(length - s.from, s.from_step);
  s.n = at_least(at_most(room, left), 0);
  return s;
}

/* Copies one phase (of rows and of columns) of one plane, for all channels. */
static void copy_plane(const Item *item, int64_t plane, Stretch y, Stretch x,
                       float *to) {
  const Work *w = item->work;
  const Tensor *data = &w->plan->data;
  const int64_t *inputs = w->plan->weight->shape + 2;
  int64_t shape[] = {item->groups * *inputs, y.n, x.n};
  Tensor image = tensor_on_data(DT_FLOAT32, 3, shape,
                                to + y.to * w->columns.length + x.to);
  image.strides[0] = w->channel;
  image.strides[1] = y.to_step * w->columns.length;
  image.strides[2] = x.to_step;
  int64_t strides[] = {data->strides[1], y.from_step * data->strides[3],
                       x.from_step * data->strides[4]};
  Tensor from = geometry_of(
      data, 3, shape, strides,
      item->batch * data->strides[0] +
          item->group * *inputs * data->strides[1] + plane * data->strides[2] +
          y.from * data->strides[3] + x.from * data->strides[4]);
  if (shape[0] && y.n && x.n) copy_into(w->call, &image, &from);
}

/* The plane of the data that depth d and kernel element k meet; -1 in
 * padding. */
static int64_t plane_of(const ConvPlan *p, int64_t d, int64_t k) {
  const ConvAxis *a = &p->axes[0];
  int64_t at = d * a->stride + k * a->dilation - a->before;
  if (at < 0 || at % a->spread) return -1;
  at /= a->spread;
  return at < p->data.shape[2] ? at : -1;
}

/* Clears the image, then copies what is not padding, in the order in which
 * fill_offsets() numbers it: for each kernel depth its plane, for each phase of
 * rows and of columns its lines. */
static void fill_image(const Item *item) {
  const Work *w = item->work;
  const Lines *rows = &item->lines, *columns = &w->columns;
  const Tensor *data = &w->plan->data;
  float *to = item->image;
  BLOCKS(w->call->stop, item->sums - item->image)
  memset(to + at, 0, (size_t)(end - at) * sizeof *to);
  for (int64_t k = 0; k < w->plan->weight->shape[3]; k++) {
    int64_t plane = plane_of(w->plan, item->depth, k);
    for (int64_t i = 0; i < rows->remainders; i++)
      for (int64_t j = 0; j < columns->remainders; j++) {
        Stretch y = stretch_of(rows, i, item->line, data->shape[3]);
        Stretch x = stretch_of(columns, j, 0, data->shape[4]);
        if (plane >= 0) copy_plane(item, plane, y, x, to);
        to += rows->length * columns->length;
      }
  }
}

/* Computes the offset of each k: kernel positions within a channel, then
 * channels. */
static void fill_offsets(const Work *w, const Lines *rows, int64_t *offsets) {
  const int64_t *size = w->plan->weight->shape + 2; /* I / G, KD, KH, KW */
  const Lines *columns = &w->columns;
  int64_t line = columns->remainders * rows->length * columns->length;
  int64_t plane = rows->remainders * line;
  for (int64_t c = 0; c < size[0]; c++)
    for (int64_t d = 0; d < size[1]; d++)
      for (int64_t h = 0; h < size[2]; h++) BLOCKS(w->call->stop, size[3])
  for (int64_t v = at; v < end; v++)
    *offsets++ = c * w->channel + d * plane + h % rows->remainders * line +
                 shift_of(rows, h) * columns->length +
                 v % columns->remainders * rows->length * columns->length +
                 shift_of(columns, v);
}

/* --- Panels of one item --------------------------------------------------- */

/* Copies positions p .. p + n of the band from the sums to the result. */
static void store_sums(const Item *item, int64_t group, int64_t p, int64_t n) {
  const Work *w = item->work;
  const Tensor *out = &w->plan->out;
  int64_t length = w->columns.length, row = group * w->rows + item->row;
  for (int64_t at = 0, run; at < n; at += run) {
    int64_t line = (p + at) / length, column = (p + at) % length;
    run = at_most(length - column, n - at);
    int64_t shape[] = {item->rows, at_most(run, w->columns.positions - column)};
    if (shape[1] <= 0) continue;
    Tensor sums = tensor_on_data(DT_FLOAT32, 2, shape, item->sums + at);
    sums.strides[0] = w->width;
    int64_t strides[] = {out->strides[1], out->strides[4]};
    Tensor to = geometry_of(
        out, 2, shape, strides,
        item->batch * out->strides[0] + row * out->strides[1] +
            item->depth * out->strides[2] +
            (item->line + line) * out->strides[3] + column * out->strides[4]);
    copy_into(w->call, &to, &sums);
  }
}

/* Splits the rows of weights evenly into tiles of at most TILE_ROWS. */
static bool run_block(const Item *item, ProductBlock block) {
  int64_t rows = item->rows;
  for (int64_t row = 0, tiles, n; row < rows; row += n) {
    if (op_stopped(item->work->call)) return false;
    tiles = divided_up(rows - row, TILE_ROWS);
    n = (rows - row) / tiles;
    item->work->tiles->tile_at[n - 1](&block);
    block.a += n * block.a_row;
    block.c += n * block.c_row;
  }
  return true;
}

/* Computes columns p .. p + n of one group's product. */
static bool run_panel(const Item *item, int64_t group, int64_t p, int64_t n) {
  const Work *w = item->work;
  const ConvPlan *plan = w->plan;
  int64_t inputs = plan->weight->shape[2];
  const float *weight = (const float *)plan->weight->data +
                        (group * w->rows + item->row) * plan->k;
  ProductBlock block = {.a_row = plan->k,
                        .a_step = 1,
                        .c = item->sums,
                        .c_row = w->width,
                        .groups = (int)divided_up(n, GROUP)};
  block.b = item->image + (group - item->group) * inputs * w->channel + p;
  int64_t k = 0;
  do {
    block.a = weight + k;
    block.k = at_most(plan->k - k, w->block);
    block.offsets = w->offsets + k;
    block.more = k > 0;
    if (!run_block(item, block)) return false;
    k += w->block;
  } while (k < plan->k);
  store_sums(item, group, p, n);
  return true;
}

/* One image serves all groups of the item, and each panel of its positions. */
static bool run_item(const Item *item) {
  const Work *w = item->work;
  int64_t n =
      (item->lines.positions - 1) * w->columns.length + w->columns.positions;
  fill_image(item);
  for (int64_t group = item->group; group < item->group + item->groups; group++)
    for (int64_t p = 0; p < n; p += w->width)
      if (!run_panel(item, group, p, at_most(n - p, w->width))) return false;
  return true;
}

/* --- All items ------------------------------------------------------------ */

/* Part `i` of `parts` of n items: returns its start; `*length` is its
 * length. */
static int64_t part_of(int64_t n, int64_t parts, int64_t i, int64_t *length) {
  int64_t from = n * i / parts;
  *length = n * (i + 1) / parts - from;
  return from;
}

/* The largest number of rows of an item. */
static int64_t rows_of_part(const Work *w) {
  return divided_up(w->rows, w->row_parts);
}

/* Unpacks item number i, rows of weights fastest: neighbouring items read the
 * same band of the data. */
static Item item_at(const Work *w, int64_t i, int worker) {
  const ConvPlan *p = w->plan;
  Item item = {.work = w};
  int64_t height = p->out.shape[3], kernel = p->weight->shape[4];
  item.row = part_of(w->rows, w->row_parts, i % w->row_parts, &item.rows);
  i /= w->row_parts;
  item.line = i % w->bands * w->band;
  i /= w->bands;
  item.depth = i % w->depths;
  i /= w->depths;
  item.group = i % w->group_parts * w->groups;
  item.batch = i / w->group_parts;
  item.groups = at_most(w->groups, p->groups - item.group);
  item.lines = lines_of(&p->axes[1], w->band, kernel);
  item.lines.positions = at_most(w->band, height - item.line);
  item.image = w->images + worker * w->room;
  item.sums = item.image + w->room - rows_of_part(w) * w->width;
  return item;
}

static bool run_items(const void *data, const Share *share) {
  const Work *w = data;
  for (int64_t i = share->from; i < share->to; i++) {
    Item item = item_at(w, i, share->worker);
    if (!run_item(&item)) return false;
  }
  return true;
}

/* Cuts the result into bands of equal height, at most `rows`; the last may be
 * lower. */
static void set_band(Work *w, int64_t rows) {
  const ConvPlan *p = w->plan;
  const int64_t *kernel = p->weight->shape + 3;
  int64_t height = p->out.shape[3];
  w->bands = divided_up(height, at_least(at_most(rows, height), 1));
  w->band = divided_up(height, w->bands);
  w->bands = divided_up(height, w->band);
  Lines lines = lines_of(&p->axes[1], w->band, kernel[1]);
  w->channel = kernel[0] * lines.remainders * w->columns.remainders *
               lines.length * w->columns.length;
}

/* Chooses the highest band whose image fits the cache and that leaves work for
 * every thread. */
static void choose_band(Work *w, int threads) {
  const ConvPlan *p = w->plan;
  int64_t inputs = w->groups * p->weight->shape[2];
  set_band(w, p->out.shape[3]);
  int64_t others = p->out.shape[0] * w->group_parts * w->depths;
  int64_t bands = divided_up(w->channel * inputs, BAND_FLOATS);
  int64_t wanted = others < threads ? divided_up(threads, others) : 1;
  int64_t positions = w->band * w->columns.length;
  wanted = at_most(wanted, positions / POSITIONS_WORTH);
  bands = at_least(bands, wanted);
  if (bands > 1) set_band(w, divided_up(w->band, bands));
  if (others * w->bands < threads)
    w->row_parts = at_least(
        at_most(divided_up(threads, others * w->bands), w->rows / TILE_ROWS),
        1);
  w->row_parts = at_least(w->row_parts, divided_up(w->rows, ROWS_MOST));
}

/* As many rows of k in a block as keep what they read in the first-level cache,
 * in whole channels, within bounds. */
static void choose_blocks(Work *w) {
  const int64_t *size = w->plan->weight->shape + 2;
  int64_t area = size[1] * size[2] * size[3];
  int64_t floats =
      size[1] * size[2] * w->columns.remainders * (w->width + w->columns.reach);
  int64_t channels = at_least(BLOCK_FLOATS / at_least(floats, 1), 1);
  w->block = at_most(at_least(channels * area, BLOCK_LEAST), BLOCK_MOST);
}

/* A panel is wide where the weights have few rows, so that a call of a tile has
 * enough to do. */
static Work work_of(const OpCall *call, const ConvPlan *p, int threads) {
  Work w = {.call = call,
            .plan = p,
            .tiles = isa_in_use()->tiles[TILE_F32],
            .rows = p->weight->shape[1],
            .depths = p->out.shape[2],
            .row_parts = 1};
  w.columns = lines_of(&p->axes[2], p->out.shape[4], p->weight->shape[5]);
  int64_t inputs = at_least(p->weight->shape[2], 1);
  w.groups = at_most(divided_up(CHANNELS_NEAR, inputs), p->groups);
  w.group_parts = divided_up(p->groups, w.groups);
  w.width = w.rows < TILE_ROWS / 2 ? WIDE : PANEL;
  choose_band(&w, threads);
  choose_blocks(&w);
  return w;
}

/* Leaves room after each image, because a panel may start at its end. */
static bool make_room(Work *w, int threads, size_t *bytes) {
  Mem *mem = w->call->heap->mem;
  const ConvPlan *p = w->plan;
  int64_t inputs = w->groups * p->weight->shape[2];
  w->room = divided_up(inputs * w->channel + w->width, GROUP) * GROUP +
            rows_of_part(w) * w->width;
  size_t floats = (size_t)w->room * (size_t)threads;
  *bytes = floats * sizeof(float) + (size_t)p->k * sizeof(int64_t);
  w->images = mem_alloc_aligned(mem, *bytes);
  if (!w->images) return false;
  int64_t *offsets = (int64_t *)(w->images + floats);
  Lines rows = lines_of(&p->axes[1], w->band, p->weight->shape[4]);
  fill_offsets(w, &rows, offsets);
  w->offsets = offsets;
  return true;
}

/* False when wide dilation would make the image mostly padding. */
static bool image_fits(const ConvPlan *p) {
  double area[3] = {1, 1, 1};
  for (int i = 3; i < 5; i++) {
    int64_t n = p->out.shape[i];
    Lines l = lines_of(&p->axes[i - 2], n, p->weight->shape[i + 1]);
    area[0] *= (double)l.remainders * (double)l.length;
    area[1] *= (double)p->data.shape[i];
    area[2] *= (double)n;
  }
  return area[0] <= PADDING_MOST * (area[1] + area[2]) + BLOCK_FLOATS;
}

bool conv_image_takes(const ConvPlan *p) {
  return p->data.dtype == DT_FLOAT32 && p->out.dtype == DT_FLOAT32 &&
         p->k > 0 && image_fits(p);
}

/* An estimate of what one thread does in a nanosecond, to choose the number of
 * threads by; about half of AVX2's peak at 3 GHz. */
static const double FLOPS_PER_NANOSECOND = 50;

bool conv_image_run(OpCall *call, const ConvPlan *p) {
  double flops = 2.0 * (double)tensor_count(&p->out) * (double)p->k;
  int threads = parallel_threads(call, tensor_count(&p->out),
                                 flops / FLOPS_PER_NANOSECOND);
  Work w = work_of(call, p, threads);
  int64_t items =
      p->out.shape[0] * w.group_parts * w.depths * w.bands * w.row_parts;
  size_t bytes;
  if (threads > items) threads = (int)items;
  if (!make_room(&w, threads, &bytes)) return op_out_of_memory(call);
  bool ok = parallel_run(call, threads, items, run_items, &w);
  mem_free_aligned(call->heap->mem, w.images, bytes);
  return ok;
}
