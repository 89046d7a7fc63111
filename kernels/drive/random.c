/* Kernels of the random generators; ref/threefry.c has the generator.
 *
 * Random numbers are values: an operator takes a key and returns numbers and
 * the next key, so a program that is run again draws the same ones, and no
 * state is hidden.  generate() makes blocks of four words; what an operator
 * makes of them is a PutWords function:
 *
 *   threefry_generate   the words
 *   uniform             a word a number: a fraction of the way from low to high
 *   normal              two words a pair of numbers (Box and Muller, 1958)
 *   multinomial         a word a draw */
#include "kernels/kernel.h"
#include "kernels/math/f64.h"
#include "kernels/ref/threefry.h"

#include <string.h>

static Threefry key_of(const OpCall *call) {
  uint64_t words[10];
  for (int i = 0; i < 10; i++) words[i] = tensor_bits_at(call->args[0], i).u64;
  return threefry_load(words);
}

static void put_key(const Threefry *t, Tensor *out) {
  threefry_store(t, (uint64_t *)out->data);
}

/* The 64 bits of an integer: a negative one is its two's complement, a uint64
 * is what it is, also beyond the largest int64. */
static uint64_t seed_of(const Tensor *t) {
  return t->dtype == DT_UINT64 ? tensor_bits_at(t, 0).u64
                               : (uint64_t)tensor_i64_at(t, 0);
}

bool kernel_threefry_key(OpCall *call) {
  Threefry t = threefry_of_seed(seed_of(call->args[0]));
  put_key(&t, call->outs[0]);
  return true;
}

bool kernel_threefry_split(OpCall *call) {
  Threefry t = key_of(call), left, right;
  threefry_split(&t, &left, &right);
  put_key(&left, call->outs[0]);
  put_key(&right, call->outs[1]);
  return true;
}

/* Writes numbers to outs[1], four at a time, and the next key to outs[0]. */
typedef void (*PutWords)(OpCall *call, int64_t at, int n,
                         const uint64_t *words);

static bool generate(OpCall *call, PutWords put) {
  Threefry t = key_of(call);
  int64_t n = tensor_count(call->outs[1]);
  threefry_begin(&t, (uint64_t)n);
  for (int64_t at = 0; at < n; at += 4) {
    uint64_t words[4];
    if (op_stopped(call)) return false;
    threefry_words(&t, (uint64_t)n, (uint64_t)(at / 4), words);
    put(call, at, n - at < 4 ? (int)(n - at) : 4, words);
  }
  threefry_advance(&t, (uint64_t)n);
  put_key(&t, call->outs[0]);
  return true;
}

/* Words beyond the request are drawn and not used. */
static void put_words(OpCall *call, int64_t at, int n, const uint64_t *words) {
  memcpy((uint64_t *)call->outs[1]->data + at, words,
         (size_t)n * sizeof *words);
}

bool kernel_threefry_generate(OpCall *call) {
  return generate(call, put_words);
}

/* --- uniform ----------------------------------------------------------------
 * The top 23 of the low 32 bits, or the top 52 of all, as a fraction. */

static void put_uniform_f32(OpCall *call, int64_t at, int n,
                            const uint64_t *words) {
  float *out = (float *)call->outs[1]->data + at;
  float low = bits_load(DT_FLOAT32, call->args[1]->data).f32;
  float high = bits_load(DT_FLOAT32, call->args[2]->data).f32;
  for (int i = 0; i < n; i++)
    out[i] = (float)((uint32_t)words[i] >> 9) * 0x1p-23f * (high - low) + low;
}

static void put_uniform_f64(OpCall *call, int64_t at, int n,
                            const uint64_t *words) {
  double *out = (double *)call->outs[1]->data + at;
  double low = bits_load(DT_FLOAT64, call->args[1]->data).f64;
  double high = bits_load(DT_FLOAT64, call->args[2]->data).f64;
  for (int i = 0; i < n; i++)
    out[i] = (double)(words[i] >> 12) * 0x1p-52 * (high - low) + low;
}

bool kernel_random_uniform(OpCall *call) {
  bool wide = dtype_in(call->outs[1]->dtype) == IN_F64;
  return generate(call, wide ? put_uniform_f64 : put_uniform_f32);
}

/* --- normal -----------------------------------------------------------------
 * Box and Muller: two uniform numbers u, v of (0, 1) give
 * sqrt(-2 ln u) cos(2 pi v) and the same with the sine. */

/* A number of (0, 1): 52 bits and a half, so that its logarithm is finite. */
static double open_unit(uint64_t word) {
  return ((double)(word >> 12) + 0.5) * 0x1p-52;
}

/* Blocks have four words, so a pair never lies in two blocks.  In double, and
 * rounded to the result's dtype once. */
static void put_normal(OpCall *call, int64_t at, int n, const uint64_t *words) {
  Tensor *out = call->outs[1];
  double mean = tensor_f64_at(call->args[1], 0);
  double scale = tensor_f64_at(call->args[2], 0);
  for (int i = 0; i < n; i++) {
    int pair = i & ~1;
    double radius = f64_sqrt(-2 * f64_log(open_unit(words[pair])));
    double angle = 0x1.921fb54442d18p2 * open_unit(words[pair + 1]);
    double turn = i & 1 ? f64_sin(angle) : f64_cos(angle);
    bits_store(out->dtype,
               out->data + (at + i) * (int64_t)dtype_size(out->dtype),
               bits_from_f64(out->dtype, radius * turn * scale + mean));
  }
}

bool kernel_random_normal(OpCall *call) { return generate(call, put_normal); }

/* --- multinomial ------------------------------------------------------------
 * The first class whose running total of weights exceeds u times all. */

static double total_weight(StopFlag *stop, const Tensor *p, int64_t row,
                           int64_t classes) {
  double total = 0;
  BLOCKS(stop, classes)
  for (int64_t k = at; k < end; k++)
    total += tensor_f64_at(p, row * classes + k);
  return total;
}

/* Sums in the same order as total_weight().  Where rounding makes the level
 * equal to the total, no sum exceeds it, and the last class is drawn. */
static int32_t drawn(StopFlag *stop, const Tensor *p, int64_t row,
                     int64_t classes, double u) {
  double level = u * total_weight(stop, p, row, classes), sum = 0;
  BLOCKS(stop, classes)
  for (int64_t k = at; k < end; k++) {
    sum += tensor_f64_at(p, row * classes + k);
    if (level < sum) return (int32_t)k;
  }
  return (int32_t)(classes - 1);
}

static void put_draws(OpCall *call, int64_t at, int n, const uint64_t *words) {
  const Tensor *p = call->args[1], *out = call->outs[1];
  int64_t classes = p->shape[p->rank - 1], samples = out->shape[out->rank - 1];
  for (int i = 0; i < n; i++)
    ((int32_t *)out->data)[at + i] =
        drawn(call->stop, p, (at + i) / samples, classes, open_unit(words[i]));
}

bool kernel_multinomial(OpCall *call) { return generate(call, put_draws); }
