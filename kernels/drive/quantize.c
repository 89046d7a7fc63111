/* Quantization: real = scale * (stored - zero point).
 *
 *   quantize       stored = clamp(round(x / scale) + zero), in float32
 *   dequantize     x = (stored - zero) * scale
 *   requantize     (stored - zero) * in / out + zero', in fixed point
 *
 * Scales and zero points are single numbers, or one for each channel along an
 * axis.  Everything here is a loop over runs of elements of one channel. */
#include <math.h>
#include <string.h>

#include "kernels/drive/fixed_point.h"
#include "kernels/drive/move.h"
#include "kernels/kernel.h"
#include "kernels/parallel.h"

/* --- Channels ---------------------------------------------------------------
 * The elements are runs of `length` that share a channel, which numbers the
 * scales and zero points.  Threads share the elements. */

/* Elements from .. to of a run of channel `channel`. */
typedef struct ChannelRun {
  int64_t from, to, channel;
} ChannelRun;

/* `each` computes the elements of one run. */
typedef struct Channels {
  const OpCall *call;
  const Tensor *data; /* operand 0, contiguous */
  int64_t length, channels;
  void (*each)(const struct Channels *all, const ChannelRun *run);
} Channels;

static const double NANOSECONDS = 3; /* time for an element */

/* A run is cut where the share ends, and after STOP_BLOCK elements. */
static bool run_share(const void *data, const Share *share) {
  const Channels *all = data;
  for (int64_t at = share->from, end; at < share->to; at = end) {
    if (op_stopped(all->call)) return false;
    int64_t run = at / all->length;
    end = (run + 1) * all->length;
    if (end > share->to) end = share->to;
    if (end - at > STOP_BLOCK) end = at + STOP_BLOCK;
    all->each(all, &(ChannelRun){at, end, run % all->channels});
  }
  return true;
}

/* Are the operands from `first` on single numbers? */
static bool all_numbers(const OpCall *call, int first) {
  for (int i = first; i < call->arg_count; i++)
    if (tensor_count(call->args[i]) != 1) return false;
  return true;
}

/* Channels lie along `axis`, unless every operand after the data is a
 * number. */
static bool each_run(OpCall *call, int axis,
                     void (*each)(const Channels *all, const ChannelRun *run)) {
  const Tensor *x = call->args[0];
  int64_t n = tensor_count(x);
  Channels all = {.call = call, .data = x, .channels = 1, .each = each};
  if (n == 0) return true;
  Tensor *copy = tensor_is_contiguous(x) ? NULL : copy_of(call, x);
  if (copy) all.data = copy;
  else if (!tensor_is_contiguous(x)) return false;
  all.length = n;
  if (x->rank > 0 && !all_numbers(call, 1)) {
    all.channels = x->shape[axis];
    all.length = 1;
    for (int k = axis + 1; k < x->rank; k++) all.length *= x->shape[k];
  }
  int threads = parallel_threads(call, n, NANOSECONDS * (double)n);
  bool ok = parallel_run(call, threads, n, run_share, &all);
  if (copy) tensor_drop(call->heap, copy);
  return ok;
}

static bool each_channel(OpCall *call, void (*each)(const Channels *all,
                                                    const ChannelRun *run)) {
  const Tensor *x = call->args[0];
  int axis = attr_axis(call->attrs, ATTR_axis, x->rank);
  return each_run(call, axis, each);
}

/* The element of a scale or zero point that a channel has; a vector of one
 * element serves every channel. */
static Value of_channel(const Channels *all, int operand, int64_t channel) {
  const Tensor *v = all->call->args[operand];
  return tensor_bits_at(v, v->rank == 0 ? 0 : channel % tensor_count(v));
}
static float scale_of(const Channels *all, int operand, int64_t channel) {
  return of_channel(all, operand, channel).f32;
}
static int64_t zero_of(const Channels *all, int operand, int64_t channel) {
  return of_channel(all, operand, channel).i32;
}

/* --- Elements ------------------------------------------------------------ */

/* Stores v clamped to the range of the result's dtype. */
static void put(const Channels *all, int64_t i, __int128 v) {
  Tensor *out = all->call->outs[0];
  int64_t least = dtype_min_int(out->dtype);
  int64_t most = (int64_t)dtype_max_int(out->dtype);
  v = v < least ? least : v > most ? most : v;
  bits_store(out->dtype, out->data + i * (int64_t)dtype_size(out->dtype),
             bits_from_i64(out->dtype, (int64_t)v));
}

/* Stores a real, converted as `cast` does it: saturated. */
static void put_real(const Channels *all, int64_t i, double v) {
  Tensor *out = all->call->outs[0];
  bits_store(out->dtype, out->data + i * (int64_t)dtype_size(out->dtype),
             bits_from_f64(out->dtype, v));
}

/* x - zero; x where that is out of range, which for stored values of up to 32
 * bits it never is. */
static int64_t shifted(const Channels *all, int64_t i, int64_t zero) {
  int64_t x = tensor_i64_at(all->data, i), v;
  return __builtin_sub_overflow(x, zero, &v) ? x : v;
}

/* round(x / scale) + zero point, clamped to the range of `dtype`; its greatest
 * number where that is NaN.  Halves are rounded away from zero (roundf). */
static float quantized(float x, float scale, float zero, DType dtype) {
  float least = (float)dtype_min_int(dtype);
  float most = (float)dtype_max_int(dtype);
  float v = roundf(x / scale) + zero;
  v = v < most ? v : most;
  return v > least ? v : least;
}

static void quantize(const Channels *all, const ChannelRun *run) {
  float scale = scale_of(all, 1, run->channel);
  float zero = (float)zero_of(all, 2, run->channel);
  DType dtype = all->call->outs[0]->dtype;
  for (int64_t i = run->from; i < run->to; i++) {
    float x = tensor_bits_at(all->data, i).f32;
    put_real(all, i, (double)quantized(x, scale, zero, dtype));
  }
}
bool kernel_quantize(OpCall *call) { return each_channel(call, quantize); }

/* (x - zero point) * scale */
static void dequantize(const Channels *all, const ChannelRun *run) {
  float scale = scale_of(all, 1, run->channel);
  int64_t zero = zero_of(all, 2, run->channel);
  for (int64_t i = run->from; i < run->to; i++)
    put_real(all, i, (double)((float)shifted(all, i, zero) * scale));
}
bool kernel_dequantize(OpCall *call) { return each_channel(call, dequantize); }

/* The ratio of the scales, as a fixed-point number of 31 bits; a ratio that is
 * not positive, or NaN, counts as 0. */
static void requantize(const Channels *all, const ChannelRun *run) {
  double in = (double)scale_of(all, 1, run->channel);
  double out = (double)scale_of(all, 3, run->channel);
  int64_t zero_in = zero_of(all, 2, run->channel);
  int64_t zero_out = zero_of(all, 4, run->channel);
  bool away = attr_word(all->call->attrs, ATTR_rounding) == HALVES_AWAY;
  FixedPoint ratio = in / out > 0 ? fixed_point_of(in / out) : (FixedPoint){0};
  for (int64_t i = run->from; i < run->to; i++) {
    int64_t x = shifted(all, i, zero_in);
    put(all, i, fixed_point_times(x, ratio, away) + zero_out);
  }
}
bool kernel_requantize(OpCall *call) { return each_channel(call, requantize); }

/* --- In fixed point ------------------------------------------------------ */

/* Stores the low 32 bits. */
static void put_wrapped(const Channels *all, int64_t i, __int128 v) {
  uint32_t low = (uint32_t)(unsigned __int128)v;
  memcpy(all->call->outs[0]->data + i * (int64_t)sizeof low, &low, sizeof low);
}

static void multiply(const Channels *all, const ChannelRun *run, FixedPoint f) {
  for (int64_t i = run->from; i < run->to; i++) {
    int64_t x = tensor_bits_at(all->data, i).i32;
    put_wrapped(all, i, fixed_point_times(x, f, false));
  }
}

static void multiply_all(const Channels *all, const ChannelRun *run) {
  const Attrs *a = all->call->attrs;
  int64_t factor = attr_number(a, ATTR_multiplier);
  multiply(all, run, (FixedPoint){factor, (int)attr_number(a, ATTR_shift)});
}

bool kernel_fixed_point_multiply(OpCall *call) {
  return each_run(call, 0, multiply_all);
}

/* factor * 2^left * 2^-right, with one rounding at the end. */
static void multiply_channel(const Channels *all, const ChannelRun *run) {
  const Attrs *a = all->call->attrs;
  int64_t factor = zero_of(all, 1, run->channel), left = 0, right = 0;
  if (attr_bool(a, ATTR_is_lshift_required))
    left = zero_of(all, 2, run->channel);
  if (attr_bool(a, ATTR_is_rshift_required))
    right = zero_of(all, 3, run->channel);
  multiply(all, run, (FixedPoint){factor * (INT64_C(1) << left), (int)-right});
}

/* Checked once, before threads begin: beyond 31 the shift would be
 * undefined. */
static bool shifts_fit(OpCall *call, int operand, AttrName required) {
  const Tensor *t = call->args[operand];
  if (!attr_bool(call->attrs, required)) return true;
  for (int64_t i = 0; i < tensor_count(t); i++) {
    int64_t by = tensor_i64_at(t, i);
    if (by < 0 || by > 31)
      return op_fault(call, E0607, "a shift of %lld is not from 0 to 31",
                      (long long)by);
  }
  return true;
}

bool kernel_fixed_point_multiply_per_axis(OpCall *call) {
  const AttrValue *axes = attr_get(call->attrs, ATTR_axes);
  int axis = axis_from(attr_item(axes, 0), call->args[0]->rank);
  return shifts_fit(call, 2, ATTR_is_lshift_required) &&
         shifts_fit(call, 3, ATTR_is_rshift_required) &&
         each_run(call, axis, multiply_channel);
}

/* --- Simulations ------------------------------------------------------------
 * Quantization of floats that stay floats.  Which dtype is simulated, operand 1
 * says: */

typedef enum Simulated { SIM_NONE, SIM_INT8, SIM_UINT8, SIM_INT32 } Simulated;

static DType simulated_dtype(const OpCall *call) {
  int64_t code = tensor_i64_at(call->args[1], 0);
  return code == SIM_INT8    ? DT_INT8
         : code == SIM_UINT8 ? DT_UINT8
         : code == SIM_INT32 ? DT_INT32
                             : DTYPE_NONE;
}

static double zero_real(const Channels *all, int64_t channel) {
  return bits_to_f64(all->call->args[3]->dtype, of_channel(all, 3, channel));
}

/* What quantize would store, kept as a float; code 0 leaves the data as it
 * is. */
static void simulate(const Channels *all, const ChannelRun *run) {
  DType dtype = simulated_dtype(all->call);
  float scale = scale_of(all, 2, run->channel);
  float zero = (float)zero_real(all, run->channel);
  for (int64_t i = run->from; i < run->to; i++) {
    float v = tensor_bits_at(all->data, i).f32;
    if (dtype != DTYPE_NONE) v = quantized(v, scale, zero, dtype);
    put_real(all, i, (double)v);
  }
}
bool kernel_simulated_quantize(OpCall *call) {
  return each_channel(call, simulate);
}

static void simulate_back(const Channels *all, const ChannelRun *run) {
  bool as_is = simulated_dtype(all->call) == DTYPE_NONE;
  float scale = scale_of(all, 2, run->channel);
  float zero = (float)zero_real(all, run->channel);
  for (int64_t i = run->from; i < run->to; i++) {
    float v = tensor_bits_at(all->data, i).f32;
    put_real(all, i, (double)(as_is ? v : (v - zero) * scale));
  }
}
bool kernel_simulated_dequantize(OpCall *call) {
  return each_channel(call, simulate_back);
}
