/* See rows.h: finds the lines, and makes contiguous ones of those that are
 * not, for the functions of isa/rows.c. */
#include "ops/simd/rows.h"

#include "ops/kernel.h"
#include "ops/ref/tile.h"
#include "ops/ref/walk.h"
#include "ops/simd/simd.h"

bool simd_rows_take(const Tensor *x, const RowCall *row) {
  const Simd *simd = simd_table();
  return simd && x->dtype == DT_FLOAT32 && simd->lines[row->kind];
}

/* A vector with one number for each channel as one for each element. */
static bool spread(OpCall *call, const RowCall *row, const Tensor *v,
                   int64_t n, const float **out) {
  if (!v) return true;
  const float *from = (const float *)v->data + row->first * v->strides[0];
  *out = from;
  if (row->inner == 1 && row->channels >= n && v->strides[0] == 1) return true;
  float *each = ARENA_ARRAY(call->arena, float, (size_t)n + 1);
  if (!each) return op_out_of_memory(call);
  for (int64_t i = 0; i < n; i++)
    each[i] = from[i / row->inner % row->channels * v->strides[0]];
  *out = each;
  return true;
}

/* The lines of a walk over the axes that are not theirs. */
typedef struct Lines {
  SimdLineFn *run;
  SimdLine line;
  Walk inner;     /* along one line */
  float *buffer;  /* for lines that are not contiguous; else NULL */
} Lines;

static void run_copied(const Lines *l, SimdLine line) {
  Walk from = l->inner, to = l->inner;
  from.data[0] = (char *)line.x;
  to.data[1] = (char *)line.out;
  for (int64_t at = 0; walk_next(&from); at += from.n)
    tile_load_f32(DT_FLOAT32, from.data[0], from.step[0], from.n,
                  l->buffer + at);
  line.x = line.out = l->buffer;
  l->run(&line);
  for (int64_t at = 0; walk_next(&to); at += to.n)
    tile_store_f32(DT_FLOAT32, to.data[1], to.step[1], to.n, l->buffer + at);
}

static bool run_outer(const OpCall *call, const Lines *l, const Walk *outer) {
  SimdLine line = l->line;
  line.x = (const float *)outer->data[0];
  line.out = (float *)outer->data[1];
  for (int64_t j = 0; j < outer->n; j++) {
    if (op_stopped(call)) return false;
    if (l->buffer) run_copied(l, line);
    else l->run(&line);
    line.x += outer->step[0];
    line.out += outer->step[1];
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

bool simd_rows_run(OpCall *call, const Tensor *x, const Tensor *out,
                   unsigned set, const RowCall *row) {
  Walk outer;
  Lines l = {.run = simd_table()->lines[row->kind],
             .line.epsilon = (float)row->epsilon};
  walk_axes(&outer, 2, (const Tensor *[]){x, out}, ~set);
  walk_axes(&l.inner, 2, (const Tensor *[]){x, out}, set);
  int64_t n = l.line.n = length(&l.inner);
  if (!spread(call, row, row->gamma, n, &l.line.gamma) ||
      !spread(call, row, row->beta, n, &l.line.beta))
    return false;
  if (!is_contiguous(&l.inner)) {
    l.buffer = ARENA_ARRAY(call->arena, float, (size_t)n);
    if (!l.buffer) return op_out_of_memory(call);
  }
  while (walk_next(&outer))
    if (!run_outer(call, &l, &outer)) return false;
  return true;
}
