/* See rows.h: finds the lines, and makes contiguous ones of float32 of those
 * that are not, for the functions of isa/rows.c. */
#include "ops/simd/rows.h"

#include "ops/kernel.h"
#include "ops/parallel.h"
#include "ops/ref/tile.h"
#include "ops/ref/move.h"
#include "ops/ref/walk.h"
#include "ops/simd/simd.h"

bool simd_rows_take(const Tensor *x, const RowCall *row) {
  const Simd *simd = simd_table();
  return simd && dtype_is_float(x->dtype) && x->dtype != DT_FLOAT64 &&
         simd->lines[row->kind];
}

enum {
  LINES_NEAR = 16, /* a cache line of lines that lie side by side */
  LINE_LONG = 1 << 15,
};
static const double NANOSECONDS = 0.5; /* an element */

/* A vector with one number for each channel as one for each element. */
static bool spread(OpCall *call, const RowCall *row, const Tensor *v, int64_t n,
                   const float **out) {
  if (!v) return true;
  int64_t step = v->strides[0], size = (int64_t)dtype_size(v->dtype);
  const char *from = v->data + row->first * step * size;
  *out = (const float *)from;
  if (v->dtype == DT_FLOAT32 && row->inner == 1 && row->channels >= n &&
      step == 1)
    return true;
  float *each = ARENA_ARRAY(call->arena, float, (size_t)n + 1);
  if (!each) return op_out_of_memory(call);
  BLOCKS(call->stop, n)
  for (int64_t i = at; i < end; i++)
    tile_load_f32(v->dtype, from + i / row->inner % row->channels * step * size,
                  1, 1, &each[i]);
  *out = each;
  return true;
}

/* The lines of a walk over the axes that are not theirs. */
typedef struct Lines {
  const OpCall *call;
  SimdLineFn *run;
  SimdLine line;
  DType dtype;
  Walk outer;
  Walk inner;     /* along one line */
  int64_t near;   /* lines that are copied together */
  float *buffers; /* of a thread each, for those; NULL: none need be copied */
} Lines;

/* Lines j .. j + count of a run, of the operand (0) or the result (1). */
static Tensor lines_at(const Lines *l, const Walk *w, int64_t j, int count,
                       int which) {
  int lead = count > 1;
  Tensor t = {.dtype = (uint8_t)l->dtype,
              .rank = (uint8_t)(l->inner.rank + lead),
              .data = w->data[which] + j * w->step[which] * w->size[which],
              .shape = {count},
              .strides = {w->step[which]}};
  for (int i = 0; i < l->inner.rank; i++) {
    t.shape[i + lead] = l->inner.shape[i];
    t.strides[i + lead] = l->inner.steps[which][i];
  }
  return t;
}

/* Between lines of float32 and a buffer, tile by tile where they lie across;
 * those of another dtype are converted one after the other. */
static void copy_lines(const Lines *l, Tensor *lines, float *buffer,
                       bool back) {
  Tensor copy = tensor_on_data(DT_FLOAT32, lines->rank, lines->shape, buffer);
  if (l->dtype == DT_FLOAT32) {
    copy_into(l->call, back ? lines : &copy, back ? &copy : lines);
    return;
  }
  Walk w;
  walk_start(&w, 1, (const Tensor *[]){lines});
  walk_heed(&w, l->call->stop);
  for (int64_t at = 0; walk_next(&w); at += w.n)
    if (back) tile_store_f32(l->dtype, w.data[0], w.step[0], w.n, buffer + at);
    else tile_load_f32(l->dtype, w.data[0], w.step[0], w.n, buffer + at);
}

static void run_copied(const Lines *l, const Walk *w, int64_t j, int count,
                       float *buffer) {
  SimdLine line = l->line;
  Tensor from = lines_at(l, w, j, count, 0), to = lines_at(l, w, j, count, 1);
  copy_lines(l, &from, buffer, false);
  for (int i = 0; i < count; i++) {
    line.x = line.out = buffer + i * line.n;
    l->run(&line);
  }
  copy_lines(l, &to, buffer, true);
}

static void run_in_place(const Lines *l, const Walk *w, int64_t j) {
  SimdLine line = l->line;
  line.x = (const float *)w->data[0] + j * w->step[0];
  line.out = (float *)w->data[1] + j * w->step[1];
  l->run(&line);
}

static bool run_share(const void *data, const Share *share) {
  const Lines *l = data;
  int64_t step = l->buffers ? l->near : 1;
  float *buffer = l->buffers + share->worker * step * l->line.n;
  Walk w = walk_part(&l->outer, share->from, share->to);
  while (walk_next(&w))
    for (int64_t j = 0; j < w.n; j += step) {
      int count = w.n - j < step ? (int)(w.n - j) : (int)step;
      if (op_stopped(l->call)) return false;
      if (l->buffers) run_copied(l, &w, j, count, buffer);
      else run_in_place(l, &w, j);
    }
  return true;
}

static bool is_contiguous(const Walk *w) {
  return w->rank == 0 || (w->rank == 1 && w->step[0] == 1 && w->step[1] == 1);
}

static int64_t length(const Walk *w) {
  int64_t n = 1;
  for (int i = 0; i < w->rank; i++) n *= w->shape[i];
  return n;
}

static bool make_buffers(Lines *l, int threads, size_t *bytes) {
  l->near = l->line.n > LINE_LONG ? 1 : LINES_NEAR;
  size_t lines = (size_t)threads * (size_t)l->near;
  if (!size_mul((size_t)l->line.n, lines * sizeof(float), bytes)) return false;
  l->buffers = mem_alloc_aligned(l->call->heap->mem, *bytes);
  return l->buffers != NULL;
}

bool simd_rows_run(OpCall *call, const Tensor *x, const Tensor *out,
                   unsigned set, const RowCall *row) {
  Lines l = {.call = call,
             .run = simd_table()->lines[row->kind],
             .line.stop = call->stop,
             .line.epsilon = (float)row->epsilon,
             .dtype = x->dtype};
  walk_axes(&l.outer, 2, (const Tensor *[]){x, out}, ~set);
  walk_axes(&l.inner, 2, (const Tensor *[]){x, out}, set);
  int64_t n = l.line.n = length(&l.inner), pieces = walk_pieces(&l.outer);
  size_t bytes = 0;
  if (!spread(call, row, row->gamma, n, &l.line.gamma) ||
      !spread(call, row, row->beta, n, &l.line.beta))
    return false;
  int threads =
      parallel_threads(call, pieces, NANOSECONDS * (double)tensor_count(x));
  bool copied = x->dtype != DT_FLOAT32 || !is_contiguous(&l.inner);
  if (copied && !make_buffers(&l, threads, &bytes))
    return op_out_of_memory(call);
  bool ok = parallel_run(threads, pieces, run_share, &l);
  if (copied) mem_free_aligned(call->heap->mem, l.buffers, bytes);
  return ok;
}
