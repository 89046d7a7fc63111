/* Discrete Fourier transforms by their definition: sums in double, in ascending
 * order, rounded once.
 *
 *   X[k] = sum_j x[j] e^(-2 pi i j k / n),   x[j] = sum_k X[k] e^(...) / n
 *
 * n^2 terms; a fast transform would take n log n, but its roundings depend on
 * how n factors, and the law fixes one order.  Only n angles occur, since j k
 * is taken modulo n; they are tabled, and exact products keep their arguments
 * small. */
#include "kernels/kernel.h"
#include "kernels/math/f64.h"
#include "kernels/drive/move.h"

static void put(Tensor *out, int64_t i, double v) {
  bits_store(out->dtype, out->data + i * (int64_t)dtype_size(out->dtype),
             bits_from_f64(out->dtype, v));
}

/* e^(2 pi i j / n) as cosine and sine, with j reduced modulo n first. */
typedef struct Turn {
  double cosine, sine;
} Turn;

static Turn turn_of(int64_t j, int64_t n) {
  double angle = 0x1.921fb54442d18p2 * (double)(j % n) / (double)n;
  return (Turn){f64_cos(angle), f64_sin(angle)};
}

/* A table of all n of them. */
static Turn *turns(OpCall *call, int64_t n) {
  Turn *all = ARENA_ARRAY(call->arena, Turn, (size_t)n + 1);
  if (!all) return op_out_of_memory(call), NULL;
  BLOCKS(call->stop, n)
  for (int64_t j = at; j < end; j++) all[j] = turn_of(j, n);
  return all;
}

/* (x + i y)(cos + i sin) for each term; the inverse turns the other way. */
bool kernel_dft(OpCall *call) {
  const Tensor *re = call->args[0], *im = call->args[1];
  int64_t n = re->shape[re->rank - 1], count = tensor_count(re);
  bool inverse = attr_bool(call->attrs, ATTR_inverse);
  const Turn *turn = turns(call, n);
  if (!turn) return false;
  for (int64_t i = 0; i < count; i++) {
    int64_t row = i / n * n, k = i % n;
    double a = 0, b = 0;
    if (op_stopped(call)) return false;
    BLOCKS(call->stop, n)
    for (int64_t j = at; j < end; j++) {
      Turn t = turn[(int64_t)((__int128)j * k % n)];
      double x = tensor_f64_at(re, row + j), y = tensor_f64_at(im, row + j);
      double sine = inverse ? t.sine : -t.sine;
      a += x * t.cosine - y * sine;
      b += x * sine + y * t.cosine;
    }
    put(call->outs[0], i, inverse ? a / (double)n : a);
    put(call->outs[1], i, inverse ? b / (double)n : b);
  }
  return true;
}

/* Frequency k of the frame that begins at element `from`; the window is centred
 * in the frame. */
static void stft_element(const OpCall *call, const Turn *turn, int64_t from,
                         int64_t k, int64_t place) {
  const Tensor *x = call->args[0], *window = call->args[1];
  int64_t n = attr_number(call->attrs, ATTR_n_fft), width = window->shape[0];
  int64_t margin = (n - width) / 2;
  double a = 0, b = 0, scale = 1;
  BLOCKS(call->stop, width)
  for (int64_t j = at; j < end; j++) {
    Turn t = turn[(int64_t)((__int128)(j + margin) * k % n)];
    double v = tensor_f64_at(x, from + margin + j) * tensor_f64_at(window, j);
    a += v * t.cosine;
    b -= v * t.sine;
  }
  if (attr_bool(call->attrs, ATTR_normalized)) scale = f64_sqrt((double)n);
  put(call->outs[0], place, a / scale);
  put(call->outs[0], place + 1, b / scale);
}

/* Results lie as (batch, frequency, frame, 2), the real part first. */
bool kernel_stft(OpCall *call) {
  const Tensor *x = call->args[0], *out = call->outs[0];
  int64_t frames = out->shape[out->rank - 2], bins = out->shape[out->rank - 3];
  int64_t hop = attr_number(call->attrs, ATTR_hop_length);
  int64_t length = x->shape[x->rank - 1], count = tensor_count(out) / 2;
  const Turn *turn = turns(call, attr_number(call->attrs, ATTR_n_fft));
  if (!turn) return false;
  for (int64_t i = 0; i < count; i++) {
    int64_t frame = i % frames, k = i / frames % bins;
    int64_t batch = i / frames / bins;
    if (op_stopped(call)) return false;
    stft_element(call, turn, batch * length + frame * hop, k, 2 * i);
  }
  return true;
}
