/* Products and sums over rows that lie in several tensors (kernels/rows.h).
 *
 *   a' b    is summed up DEPTH rows at a time.  Those of a are joined in one
 *           scratch matrix, transposed where many panels read it; those of b
 *           become panels where a region needs them, and the tiles go on from
 *           the sums of the rows before, which changes no bit: a sum is one
 *           chain over the rows.
 *   sum     the partial sums of kernels/law.h, folded in halves: the
 *           order of ref/reduce_body.h.
 *
 * Threads share the rows of a that are copied, the panels of a product, and the
 * partial sums. */
#include "kernels/rows.h"

#include "kernels/drive/elementwise.h"
#include "kernels/drive/move.h"
#include "kernels/drive/product.h"
#include "kernels/kernel.h"
#include "kernels/law.h"
#include "kernels/parallel.h"

#include <string.h>

enum { DEPTH = 1024 }; /* rows of a in scratch: the long part of panels.c */

/* --- Rows by number ------------------------------------------------------ */

typedef struct Rows {
  RowBlocks blocks;
  int64_t columns, count;
  int64_t *starts; /* of each block the number of its first row; then count */
} Rows;

bool row_blocks_fit(RowBlocks x) {
  for (int64_t i = 0; i < x.count; i++) {
    const Tensor *t = x.of[i];
    if (t->dtype != DT_FLOAT32 || t->rank != 2 ||
        t->shape[1] != x.of[0]->shape[1])
      return false;
  }
  return true;
}

static size_t starts_size(RowBlocks x) {
  return ((size_t)x.count + 1) * sizeof(int64_t);
}

static bool rows_start(Mem *mem, RowBlocks x, Rows *rows) {
  *rows = (Rows){.blocks = x, .columns = x.of[0]->shape[1]};
  rows->starts = mem_alloc(mem, starts_size(x));
  if (!rows->starts) return false;
  for (int64_t i = 0; i < x.count; i++) {
    rows->starts[i] = rows->count;
    rows->count += x.of[i]->shape[0];
  }
  rows->starts[x.count] = rows->count;
  return true;
}

static void rows_done(Mem *mem, Rows *rows) {
  if (rows->starts) mem_free(mem, rows->starts, starts_size(rows->blocks));
}

/* The block that has row `row`. */
static int64_t block_of(const Rows *rows, int64_t row) {
  int64_t low = 0, high = rows->blocks.count;
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    if (rows->starts[middle] <= row) low = middle;
    else high = middle;
  }
  return low;
}

/* Copies columns column .. column + columns of rows row .. row + n to `to`,
 * whose strides these are. */
static void copy_rows(const Rows *rows, int64_t row, int64_t n, int64_t column,
                      int64_t columns, float *to, int64_t row_step,
                      int64_t column_step) {
  int64_t end = row + n;
  for (int64_t i = block_of(rows, row); row < end; i++) {
    const Tensor *t = rows->blocks.of[i];
    int64_t stop = rows->starts[i + 1] < end ? rows->starts[i + 1] : end;
    int64_t shape[] = {stop - row, columns};
    const float *first = (const float *)t->data +
                         (row - rows->starts[i]) * t->strides[0] +
                         column * t->strides[1];
    Tensor from = tensor_on_data(DT_FLOAT32, 2, shape, (void *)first);
    memcpy(from.strides, t->strides, 2 * sizeof *t->strides);
    Tensor into = tensor_on_data(DT_FLOAT32, 2, shape, to);
    into.strides[0] = row_step;
    into.strides[1] = column_step;
    tensor_copy_into(&into, &from);
    to += (stop - row) * row_step;
    row = stop;
  }
}

/* --- Products ------------------------------------------------------------ */

/* The rows of b from `first` on, as panels ask for them. */
typedef struct Source {
  const Rows *rows;
  int64_t first;
} Source;

static void fill_from_rows(const void *source, int64_t k, int n, int64_t column,
                           int columns, float *panel) {
  const Source *s = source;
  int width = panel_width(columns);
  copy_rows(s->rows, s->first + k, n, column, columns, panel, width, 1);
  for (int i = 0; i < n && columns < width; i++)
    memset(panel + i * width + columns, 0,
           (size_t)(width - columns) * sizeof *panel);
}

/* The scratch matrix of n rows of a from `row` on: their transpose, or the rows
 * themselves.  Blocks of few rows are joined before they are transposed, some
 * rows at a time, since the copy that transposes works on squares; each thread
 * has a stage of STAGE rows for that. */
enum { STAGE = 64, SQUARE = 16 };

/* From a row of the scratch matrix to the next, if the rows are not transposed:
 * an odd number of cache lines, since the elements of a column, which a tile
 * reads one after the other, then lie in as many sets of the cache as there
 * are. */
static int64_t rows_apart(int64_t columns) {
  return ((columns + GROUP - 1) / GROUP | 1) * GROUP;
}

typedef struct Scratch {
  const OpCall *call;
  const Rows *rows;
  int64_t row, n;
  float *stages;
  Matrix to; /* the transpose, as the product takes it: columns by rows */
} Scratch;

static float *scratch_column(const Scratch *s, int64_t row) {
  return (float *)s->to.data + row * s->to.column_step;
}

/* Pieces are of STAGE rows. */
static bool scratch_share(const void *data, const Share *share) {
  const Scratch *s = data;
  const Rows *rows = s->rows;
  int64_t end = share->to * STAGE < s->n ? share->to * STAGE : s->n;
  float *stage = s->stages + share->worker * STAGE * rows->columns;
  bool few = s->to.row_step != 1 && rows->count < SQUARE * rows->blocks.count;
  for (int64_t at = share->from * STAGE; at < end; at += STAGE) {
    int64_t count = end - at < STAGE ? end - at : STAGE;
    if (op_stopped(s->call)) return false;
    if (!few) {
      copy_rows(rows, s->row + at, count, 0, rows->columns,
                scratch_column(s, at), s->to.column_step, s->to.row_step);
      continue;
    }
    copy_rows(rows, s->row + at, count, 0, rows->columns, stage, rows->columns,
              1);
    int64_t shape[] = {count, rows->columns};
    Tensor from = tensor_on_data(DT_FLOAT32, 2, shape, stage);
    Tensor into = tensor_on_data(DT_FLOAT32, 2, shape, scratch_column(s, at));
    into.strides[0] = s->to.column_step;
    into.strides[1] = s->to.row_step;
    tensor_copy_into(&into, &from);
  }
  return true;
}

/* How many threads copy n rows, by the time that an element takes. */
static int scratch_threads(const OpCall *call, const Rows *rows, int64_t n) {
  enum { PICOSECONDS = 500 };
  double time = 1e-3 * PICOSECONDS * (double)n * (double)rows->columns;
  return parallel_threads(call, (n + STAGE - 1) / STAGE, time);
}

/* Fills in p->out, the product of all rows; p->more: adds it to the sums that
 * stand there. */
static bool multiply(const OpCall *call, Product *p, const Rows *a,
                     const Rows *b) {
  int64_t depth = a->count < DEPTH ? a->count : DEPTH, apart = rows_apart(p->m);
  int threads = scratch_threads(call, a, depth);
  size_t bytes =
      (size_t)(apart * depth + p->m * threads * STAGE) * sizeof(float);
  float *room = mem_alloc_aligned(call->heap->mem, bytes);
  if (!room) return false;
  bool ok = true, more = p->more;
  for (int64_t row = 0; ok && row < a->count; row += depth) {
    Source source = {b, row};
    Panels panels = {.fill = fill_from_rows, .source = &source};
    p->k = a->count - row < depth ? a->count - row : depth;
    p->more = more || row > 0;
    p->a = (Matrix){DT_FLOAT32, (char *)room, 1, apart};
    if (product_turns(p)) p->a = (Matrix){DT_FLOAT32, (char *)room, p->k, 1};
    Scratch scratch = {call, a, row, p->k, room + apart * depth, p->a};
    ok = parallel_run(call, threads, (p->k + STAGE - 1) / STAGE, scratch_share,
                      &scratch) &&
         product_of_panels(call, p, &panels);
  }
  mem_free_aligned(call->heap->mem, room, bytes);
  return ok;
}

/* The work beside the multiply-adds that are asked for, in elements that are
 * transposed: rows of a, where the product turns them, and multiply-adds with
 * the zeros that fill up a panel's last group. */
static double work_beside(int64_t m, int64_t n, int64_t rows) {
  enum { MULTIPLY_ADDS = 16 }; /* in the time that one element takes */
  Product p = {
      .m = m, .n = n, .k = rows, .a = {DT_FLOAT32, NULL, 1, rows_apart(m)}};
  int64_t zeros = (GROUP - n % GROUP) % GROUP;
  return (double)m * (double)rows *
         ((product_turns(&p) ? 1 : 0) + (double)zeros / MULTIPLY_ADDS);
}

/* out' = b' a, which has the same sums, where that takes less work, with the
 * result to be transposed. */
static bool is_worth_swapping(const Product *p, int64_t rows) {
  return p->n < p->m &&
         (double)p->m * (double)p->n + work_beside(p->n, p->m, rows) <
             work_beside(p->m, p->n, rows);
}

/* Copies n x m numbers, row by row, to their transpose or from there. */
static bool copy_turned(const OpCall *call, const Product *p, float *turned,
                        bool back) {
  int64_t shape[] = {p->m, p->n};
  Tensor there = tensor_on_data(DT_FLOAT32, 2, shape, turned);
  there.strides[0] = 1;
  there.strides[1] = p->m;
  Tensor here = tensor_on_data(DT_FLOAT32, 2, shape, p->out.data);
  return back ? copy_into(call, &here, &there) : copy_into(call, &there, &here);
}

static bool multiply_swapped(const OpCall *call, const Product *p,
                             const Rows *a, const Rows *b) {
  Mem *mem = call->heap->mem;
  size_t bytes = (size_t)(p->m * p->n) * sizeof(float);
  float *room = mem_alloc_aligned(mem, bytes);
  if (!room) return false;
  Product swapped = {.m = p->n,
                     .n = p->m,
                     .more = p->more,
                     .out = {DT_FLOAT32, (char *)room, p->m, 1}};
  bool ok = (!p->more || copy_turned(call, p, room, false)) &&
            multiply(call, &swapped, b, a) && copy_turned(call, p, room, true);
  mem_free_aligned(mem, room, bytes);
  return ok;
}

static bool fill_product(const OpCall *call, Tensor *out, bool more,
                         const Rows *a, const Rows *b) {
  Product p = {.m = a->columns,
               .n = b->columns,
               .more = more,
               .out = {DT_FLOAT32, out->data, b->columns, 1}};
  if (p.m == 0 || p.n == 0) return true;
  if (is_worth_swapping(&p, a->count)) return multiply_swapped(call, &p, a, b);
  return multiply(call, &p, a, b);
}

/* The sums of no rows at all are zeros. */
static Tensor *product_of(const OpCall *call, Tensor *before, const Rows *a,
                          const Rows *b) {
  Heap *heap = call->heap;
  int64_t shape[] = {a->columns, b->columns};
  Tensor *out = before;
  if (!out)
    out = (a->count ? tensor_new : tensor_zeros)(heap, DT_FLOAT32, 2, shape);
  if (!out || a->count == 0 || fill_product(call, out, before, a, b))
    return out;
  tensor_drop(heap, out);
  return NULL;
}

Tensor *rows_product(const OpCall *call, Tensor *before, RowBlocks a,
                     RowBlocks b) {
  Heap *heap = call->heap;
  Rows left = {0}, right = {0};
  bool ok = rows_start(heap->mem, a, &left) && rows_start(heap->mem, b, &right);
  Tensor *out = ok ? product_of(call, before, &left, &right) : NULL;
  if (!ok && before) tensor_drop(heap, before);
  rows_done(heap->mem, &right);
  rows_done(heap->mem, &left);
  return out;
}

/* --- Sums ---------------------------------------------------------------- */

typedef struct Summing {
  const OpCall *call;
  StripFn add;
  RowBlocks blocks;
  int64_t n;     /* columns */
  int64_t first; /* the number of the first row */
  float *parts;  /* LAW_PARTS rows */
} Summing;

/* to[i] += x[i * step] for n elements. */
static void add_run(StripFn add, int64_t n, float *to, const float *x,
                    int64_t step) {
  add(&(Strip){.n = n,
               .out = (char *)to,
               .out_step = 1,
               .in = {(char *)to, (const char *)x},
               .step = {1, step}});
}

static void add_row(const Summing *s, float *to, const Tensor *t, int64_t row) {
  const float *x = (const float *)t->data + row * t->strides[0];
  add_run(s->add, s->n, to, x, t->strides[1]);
}

/* Pieces are partial sums, each of every LAW_PARTS-th row. */
static bool sum_share(const void *data, const Share *share) {
  const Summing *s = data;
  int64_t r = s->first;
  for (int64_t i = 0; i < s->blocks.count; i++) {
    const Tensor *t = s->blocks.of[i];
    if (op_stopped(s->call)) return false;
    for (int64_t row = 0; row < t->shape[0]; row++, r++) {
      int64_t part = r % LAW_PARTS;
      if (part >= share->from && part < share->to)
        add_row(s, s->parts + part * s->n, t, row);
    }
  }
  return true;
}

static int sum_threads(const OpCall *call, RowBlocks x) {
  enum { PICOSECONDS = 300 };
  double time = 0;
  for (int64_t i = 0; i < x.count; i++)
    time += 1e-3 * PICOSECONDS * (double)tensor_count(x.of[i]);
  return parallel_threads(call, LAW_PARTS, time);
}

bool rows_sum_add(const OpCall *call, RowsSum *sum, RowBlocks x) {
  int64_t shape[] = {LAW_PARTS, x.of[0]->shape[1]};
  if (!sum->parts) sum->parts = tensor_zeros(call->heap, DT_FLOAT32, 2, shape);
  if (!sum->parts) return false;
  Summing summing = {.call = call,
                     .add = strip_of(OP_ADD, DT_FLOAT32),
                     .blocks = x,
                     .n = shape[1],
                     .first = sum->rows,
                     .parts = (float *)sum->parts->data};
  for (int64_t i = 0; i < x.count; i++) sum->rows += x.of[i]->shape[0];
  return parallel_run(call, sum_threads(call, x), LAW_PARTS, sum_share,
                      &summing);
}

Tensor *rows_sum_end(Heap *heap, RowsSum *sum) {
  int64_t n = sum->parts->shape[1];
  float *parts = (float *)sum->parts->data;
  StripFn add = strip_of(OP_ADD, DT_FLOAT32);
  Tensor *out = tensor_new(heap, DT_FLOAT32, 1, &n);
  for (int half = LAW_PARTS / 2; half > 0; half /= 2)
    add_run(add, half * n, parts, parts + half * n, 1);
  if (out) memcpy(out->data, parts, (size_t)n * sizeof *parts);
  tensor_drop(heap, sum->parts);
  sum->parts = NULL;
  return out;
}
