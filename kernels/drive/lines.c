/* Normalisations: softmax and log_softmax; layer, group, instance and batch
 * normalisation; l2_normalize, lrn.  This driver finds the lines, and
 * ref/lines_body.h and simd/lines.c have the formulas.
 *
 * A line is what one formula goes over: the elements along one axis (softmax),
 * or along several (group_norm).  The axes of the operand are divided into two
 * walks: `inner` along a line, `outer` over the lines.  Loops want a line that
 * is contiguous and in float or double:
 *
 *   contiguous, float32 or float64   run in place, from operand to result
 *   anything else                    copied to a buffer, run there, copied back
 *
 * Neighbouring lines along a strided axis are interleaved in memory, so up to
 * LINES_NEAR of them are copied together, as a transposition: each cache line
 * is then read once, and not once for each line.  16-bit floats are converted
 * on the way, and rounded once, at the end. */
#include "kernels/drive/elementwise.h"
#include "kernels/drive/move.h"
#include "kernels/kernel.h"
#include "kernels/parallel.h"
#include "kernels/ref/elementary.h"
#include "kernels/ref/loop.h"
#include "kernels/ref/tile.h"
#include "kernels/ref/walk.h"

#include <math.h>

enum {
  LINES_NEAR = 16, /* neighbouring lines copied together: a cache line */
  LINE_LONG = 1 << 15,
};
static const double NANOSECONDS = 0.5; /* time for an element */

/* --- Lines ---------------------------------------------------------------- */

/* What to compute on each line. */
typedef struct RowCall {
  LineKind kind;
  double epsilon;
  /* For LINE_NORMALIZE: element i belongs to channel first + i / inner %
   * channels. */
  const Tensor *gamma, *beta; /* NULL when absent */
  int64_t first, inner, channels;
  /* for LINE_LRN */
  int64_t size;
  double alpha, power, bias;
} RowCall;

/* The lines of a call: a walk over the axes that are not part of a line. */
typedef struct Lines {
  const OpCall *call;
  NormLineFn *run;
  NormLine line;
  DType dtype, in; /* dtype of the elements, type to compute in */
  Walk outer;
  Walk inner;    /* along one line */
  int64_t near;  /* how many lines are copied together */
  int64_t room;  /* bytes of one thread's buffer */
  char *buffers; /* of a thread each, for those, and for what a line needs
                    beside; NULL: none need be copied */
} Lines;

static void load(DType in, DType from, const char *x, int64_t step, int64_t n,
                 void *to) {
  if (in == DT_FLOAT64) tile_load_f64(from, x, step, n, to);
  else tile_load_f32(from, x, step, n, to);
}

static void store(DType in, DType to, char *out, int64_t step, int64_t n,
                  const void *from) {
  if (in == DT_FLOAT64) tile_store_f64(to, out, step, n, from);
  else tile_store_f32(to, out, step, n, from);
}

/* Expands a vector with one number a channel to one number an element, so that
 * the loops have no notion of channels.  A vector that is such already, in the
 * right type, is used as it is. */
static bool spread(OpCall *call, const Lines *l, const RowCall *row,
                   const Tensor *v, const void **out) {
  if (!v) return true;
  int64_t n = l->line.n, step = v->strides[0];
  int64_t size = (int64_t)dtype_size(v->dtype);
  int64_t wide = (int64_t)dtype_size(l->in);
  const char *from = v->data + row->first * step * size;
  *out = from;
  if (v->dtype == l->in && row->inner == 1 && row->channels >= n && step == 1)
    return true;
  char *each = arena_array(call->arena, (size_t)n + 1, (size_t)wide);
  if (!each) return op_out_of_memory(call);
  BLOCKS(call->stop, n)
  for (int64_t i = at; i < end; i++)
    load(l->in, v->dtype, from + i / row->inner % row->channels * step * size,
         1, 1, each + i * wide);
  *out = each;
  return true;
}

/* A view of lines j .. j + count of a run, of the operand (k = 0) or the
 * result. */
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

/* Copies lines to or from a buffer: in tiles when neighbouring lines are
 * interleaved, else converting one after the other. */
static void copy_lines(const Lines *l, Tensor *lines, char *buffer, bool back) {
  Tensor copy = tensor_on_data(l->in, lines->rank, lines->shape, buffer);
  if (l->dtype == l->in) {
    copy_into(l->call, back ? lines : &copy, back ? &copy : lines);
    return;
  }
  int64_t size = (int64_t)dtype_size(l->in);
  Walk w;
  walk_start(&w, 1, (const Tensor *[]){lines});
  walk_heed(&w, l->call->stop);
  for (int64_t at = 0; walk_next(&w); at += w.n)
    if (back)
      store(l->in, l->dtype, w.data[0], w.step[0], w.n, buffer + at * size);
    else load(l->in, l->dtype, w.data[0], w.step[0], w.n, buffer + at * size);
}

/* The result is computed in the buffer, over the operand's copy. */
static void run_copied(const Lines *l, const Walk *w, int64_t j, int count,
                       char *buffer) {
  NormLine line = l->line;
  int64_t bytes = line.n * (int64_t)dtype_size(l->in);
  Tensor from = lines_at(l, w, j, count, 0), to = lines_at(l, w, j, count, 1);
  line.squares = buffer + l->near * bytes;
  copy_lines(l, &from, buffer, false);
  for (int i = 0; i < count; i++) {
    line.x = line.out = buffer + i * bytes;
    l->run(&line);
  }
  copy_lines(l, &to, buffer, true);
}

static void run_in_place(const Lines *l, const Walk *w, int64_t j) {
  NormLine line = l->line;
  line.x = w->data[0] + j * w->step[0] * w->size[0];
  line.out = w->data[1] + j * w->step[1] * w->size[1];
  l->run(&line);
}

static bool run_share(const void *data, const Share *share) {
  const Lines *l = data;
  int64_t step = l->buffers ? l->near : 1;
  char *buffer = l->buffers + share->worker * l->room;
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

static int64_t line_length(const Walk *w) {
  int64_t n = 1;
  for (int i = 0; i < w->rank; i++) n *= w->shape[i];
  return n;
}

/* Room for each thread: the lines that are copied together, and `beside` lines
 * more, which lrn needs for its squares.  Very long lines are copied singly. */
static bool make_buffers(Lines *l, int threads, int beside, size_t *bytes) {
  Mem *mem = l->call->heap->mem;
  l->near = l->line.n > LINE_LONG ? 1 : LINES_NEAR;
  size_t lines = (size_t)(l->near + beside), each;
  if (!size_mul((size_t)l->line.n, lines * dtype_size(l->in), &each) ||
      !size_mul(each, (size_t)threads, bytes))
    return mem_refuse_overflow(mem), false;
  l->room = (int64_t)each;
  l->buffers = mem_alloc_aligned(mem, *bytes);
  return l->buffers != NULL;
}

/* Computes every line of `x`.  A line's elements are those over the axes in
 * `set`, row-major.  Threads share the lines; no line is split, so each sum is
 * one sequence. */
static bool run_rows(OpCall *call, const Tensor *x, const Tensor *out,
                     unsigned set, const RowCall *row) {
  if (tensor_count(x) == 0) return true;
  bool wide = dtype_in(x->dtype) == IN_F64, lrn = row->kind == LINE_LRN;
  Lines l = {.call = call,
             .run = isa_in_use()->lines[wide ? IN_F64 : IN_F32][row->kind],
             .line = {.stop = call->stop,
                      .epsilon = row->epsilon,
                      .size = row->size,
                      .alpha = row->alpha,
                      .power = row->power,
                      .bias = row->bias},
             .dtype = x->dtype,
             .in = wide ? DT_FLOAT64 : DT_FLOAT32};
  walk_axes(&l.outer, 2, (const Tensor *[]){x, out}, ~set);
  walk_axes(&l.inner, 2, (const Tensor *[]){x, out}, set);
  l.line.n = line_length(&l.inner);
  int64_t pieces = walk_pieces(&l.outer);
  size_t bytes = 0;
  if (!spread(call, &l, row, row->gamma, &l.line.gamma) ||
      !spread(call, &l, row, row->beta, &l.line.beta))
    return false;
  int threads =
      parallel_threads(call, pieces, NANOSECONDS * (double)tensor_count(x));
  bool copied = x->dtype != l.in || !is_contiguous(&l.inner) || lrn;
  if (copied && !make_buffers(&l, threads, lrn, &bytes))
    return op_out_of_memory(call);
  bool ok = parallel_run(call, threads, pieces, run_share, &l);
  if (copied) mem_free_aligned(call->heap->mem, l.buffers, bytes);
  return ok;
}

/* --- Along one axis ------------------------------------------------------- */

static int axis_of(const OpCall *call) {
  return attr_axis(call->attrs, ATTR_axis, call->args[0]->rank);
}

static bool run_axis(OpCall *call, const RowCall *row) {
  return run_rows(call, call->args[0], call->outs[0], 1u << axis_of(call), row);
}

bool kernel_softmax(OpCall *call) {
  return run_axis(call, &(RowCall){.kind = LINE_SOFTMAX});
}

bool kernel_nn_log_softmax(OpCall *call) {
  return run_axis(call, &(RowCall){.kind = LINE_LOG_SOFTMAX});
}

bool kernel_lrn(OpCall *call) {
  const Attrs *a = call->attrs;
  return run_axis(call, &(RowCall){.kind = LINE_LRN,
                                   .size = attr_number(a, ATTR_size),
                                   .alpha = attr_real(a, ATTR_alpha),
                                   .power = attr_real(a, ATTR_beta),
                                   .bias = attr_real(a, ATTR_bias)});
}

/* Without axes a line is the whole tensor. */
bool kernel_l2_normalize(OpCall *call) {
  const Tensor *x = call->args[0];
  const AttrValue *axes = attr_get(call->attrs, ATTR_axis);
  unsigned set = axes->count > 0 ? 0 : ~0u;
  for (int i = 0; i < axes->count; i++)
    set |= 1u << axis_from(attr_item(axes, i), x->rank);
  RowCall row = {.kind = LINE_L2, .epsilon = attr_real(call->attrs, ATTR_eps)};
  return run_rows(call, x, call->outs[0], set, &row);
}

/* --- Normalisation by mean and variance ---------------------------------- */

static RowCall normalize_call(const OpCall *call) {
  RowCall row = {.kind = LINE_NORMALIZE,
                 .inner = 1,
                 .channels = 1,
                 .epsilon = attr_real(call->attrs, ATTR_epsilon)};
  if (attr_bool(call->attrs, ATTR_scale)) row.gamma = call->args[1];
  if (attr_bool(call->attrs, ATTR_center)) row.beta = call->args[2];
  return row;
}

bool kernel_layer_norm(OpCall *call) {
  RowCall row = normalize_call(call);
  row.channels = call->args[0]->shape[axis_of(call)];
  return run_axis(call, &row);
}

/* A line is all elements of one batch and one group of channels.  Goes over the
 * lines once for each group, because gamma and beta belong to the group's
 * channels. */
static bool run_channel_groups(OpCall *call, int64_t groups) {
  const Tensor *x = call->args[0];
  int axis = axis_of(call);
  RowCall row = normalize_call(call);
  if (groups == 0) return true;
  row.channels = x->shape[axis] / groups;
  for (int i = axis + 1; i < x->rank; i++) row.inner *= x->shape[i];
  for (int64_t g = 0; g < groups; g++) {
    row.first = g * row.channels;
    Tensor from = geometry_slice(x, axis, row.first, row.channels);
    Tensor to = geometry_slice(call->outs[0], axis, row.first, row.channels);
    if (!run_rows(call, &from, &to, ~1u, &row)) return false;
  }
  return true;
}

bool kernel_group_norm(OpCall *call) {
  return run_channel_groups(call, attr_number(call->attrs, ATTR_num_groups));
}

bool kernel_instance_norm(OpCall *call) {
  return run_channel_groups(call, call->args[0]->shape[axis_of(call)]);
}

/* --- Batch normalisation -------------------------------------------------- */

static const double CHANNEL_NANOSECONDS = 1; /* time for an element */

typedef struct ChannelNorm {
  int axis;
  double epsilon;
  bool scale, center;
  const Tensor *const *vectors; /* gamma, beta, mean, variance */
} ChannelNorm;

#define ID f32
#define C float
#include "kernels/drive/channels_body.h"
#define ID f64
#define C double
#include "kernels/drive/channels_body.h"

/* Inference: mean and variance are operands, and pass through as results. */
bool kernel_batch_norm(OpCall *call) {
  ChannelNorm norm = {.axis = axis_of(call),
                      .epsilon = attr_real(call->attrs, ATTR_epsilon),
                      .scale = attr_bool(call->attrs, ATTR_scale),
                      .center = attr_bool(call->attrs, ATTR_center),
                      .vectors = call->args + 1};
  if (!copy_into(call, call->outs[1], call->args[3]) ||
      !copy_into(call, call->outs[2], call->args[4]))
    return false;
  bool wide = dtype_in(call->args[0]->dtype) == IN_F64;
  return (wide ? run_channels_f64 : run_channels_f32)(call, &norm);
}

/* Inference: everything is kept, and the mask says so. */
bool kernel_dropout(OpCall *call) {
  Tensor *kept = call->outs[1];
  return copy_into(call, call->outs[0], call->args[0]) &&
         fill_with(call, kept, bits_from_i64(kept->dtype, 1));
}

/* --- A vector along an axis ---------------------------------------------- */

/* data op vector, the vector broadcast along all other axes by strides of 0.
 * Its axis need not be the last, so plain broadcasting would not do. */
static bool with_vector(OpCall *call, OpId op) {
  const Tensor *x = call->args[0], *v = call->args[1];
  int64_t strides[RANK_MAX] = {0};
  strides[axis_of(call)] = v->shape[0] == 1 ? 0 : v->strides[0];
  Tensor spread = geometry_of(v, x->rank, x->shape, strides, 0);
  OpCall one = *call;
  one.args = (const Tensor *[]){x, &spread};
  bool ok = elementwise_run(&one, strip_of(op, x->dtype), NULL);
  call->fault = one.fault;
  return ok;
}

bool kernel_bias_add(OpCall *call) { return with_vector(call, OP_ADD); }
bool kernel_prelu(OpCall *call) { return with_vector(call, OP_NN_PRELU); }
