/* Discrete Fourier transforms by their definition: sums in double, in ascending
 * order, rounded once.
 *
 *   X[k] = sum_j x[j] e^(-2 pi i j k / n),   x[j] = sum_k X[k] e^(...) / n
 *
 * n^2 terms; a fast transform would take n log n, but its roundings depend on
 * how n factors, and the law fixes one order.  Only n angles occur, since j k
 * is taken modulo n; they are tabled, and exact products keep their arguments
 * small.
 *
 * A row of terms becomes doubles once for some frequencies (FREQUENCIES), of
 * which ABREAST are summed at the same time: each sum waits for its own terms
 * alone.  Threads share these pieces. */
#include "kernels/kernel.h"
#include "kernels/math/f64.h"
#include "kernels/parallel.h"
#include "kernels/drive/move.h"

enum { FREQUENCIES = 64, ABREAST = 4 };
static const double NANOSECONDS = 1; /* a term of one sum */

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

/* --- A transform of rows -------------------------------------------------- */

typedef struct Transform Transform;
struct Transform {
  const OpCall *call;
  const Turn *turn;
  int64_t n;            /* a whole turn */
  int64_t first, terms; /* a row's terms: number `first` and those after it */
  int64_t rows, bins;   /* `bins` results of each row */
  bool real, inverse;   /* `real`: the imaginary parts are not looked at */
  double divisor;       /* of a result */
  void (*load)(const Transform *t, int64_t row, double *re, double *im);
  /* Where result k of a row lies in the results' real and imaginary parts. */
  int64_t (*place)(const Transform *t, int64_t row, int64_t k);
  Tensor *re, *im;
  int64_t apart;   /* from a real part to the imaginary one, in one tensor */
  double *scratch; /* for each thread 2 terms doubles */
};

static void put(Tensor *out, int64_t i, double v) {
  bits_store(out->dtype, out->data + i * (int64_t)dtype_size(out->dtype),
             bits_from_f64(out->dtype, v));
}

/* The sums of frequencies k[0..ABREAST-1]; `at[i]` is which turn the next term
 * of the i-th takes. */
typedef struct Sums {
  int64_t k[ABREAST], at[ABREAST];
  double re[ABREAST], im[ABREAST];
} Sums;

static const Turn *next_turn(const Transform *t, Sums *s, int i) {
  const Turn *turn = &t->turn[s->at[i]];
  s->at[i] += s->k[i];
  if (s->at[i] >= t->n) s->at[i] -= t->n;
  return turn;
}

static void add_real(const Transform *t, const double *x, int64_t from,
                     int64_t to, Sums *s) {
  for (int64_t j = from; j < to; j++)
    for (int i = 0; i < ABREAST; i++) {
      const Turn *turn = next_turn(t, s, i);
      s->re[i] += x[j] * turn->cosine;
      s->im[i] -= x[j] * turn->sine;
    }
}

/* (x + i y)(cos + i sin) for each term; the inverse turns the other way. */
static void add_complex(const Transform *t, const double *x, const double *y,
                        int64_t from, int64_t to, Sums *s) {
  for (int64_t j = from; j < to; j++)
    for (int i = 0; i < ABREAST; i++) {
      const Turn *turn = next_turn(t, s, i);
      double sine = t->inverse ? turn->sine : -turn->sine;
      s->re[i] += x[j] * turn->cosine - y[j] * sine;
      s->im[i] += x[j] * sine + y[j] * turn->cosine;
    }
}

/* Results k and the ABREAST - 1 after it, as far as there are so many. */
static void transform_some(const Transform *t, int64_t row, int64_t k,
                           const double *x, const double *y) {
  Sums s = {0};
  for (int i = 0; i < ABREAST; i++) {
    s.k[i] = k + i < t->bins ? k + i : k;
    s.at[i] = (int64_t)((__int128)t->first * s.k[i] % t->n);
  }
  BLOCKS(t->call->stop, t->terms) {
    if (t->real) add_real(t, x, at, end, &s);
    else add_complex(t, x, y, at, end, &s);
  }
  for (int i = 0; i < ABREAST && k + i < t->bins; i++) {
    int64_t to = t->place(t, row, k + i);
    put(t->re, to, s.re[i] / t->divisor);
    put(t->im, to + t->apart, s.im[i] / t->divisor);
  }
}

/* Pieces: FREQUENCIES results of a row. */
static bool transform_share(const void *data, const Share *share) {
  const Transform *t = data;
  double *x = t->scratch + 2 * t->terms * share->worker, *y = x + t->terms;
  int64_t pieces = (t->bins + FREQUENCIES - 1) / FREQUENCIES, loaded = -1;
  for (int64_t p = share->from; p < share->to; p++) {
    int64_t row = p / pieces, from = p % pieces * FREQUENCIES;
    int64_t to = t->bins - from < FREQUENCIES ? t->bins : from + FREQUENCIES;
    if (row != loaded) t->load(t, loaded = row, x, y);
    for (int64_t k = from; k < to; k += ABREAST) {
      if (op_stopped(t->call)) return false;
      transform_some(t, row, k, x, y);
    }
  }
  return true;
}

static bool transform(OpCall *call, Transform *t) {
  int64_t pieces = t->rows * ((t->bins + FREQUENCIES - 1) / FREQUENCIES);
  double terms = (double)t->rows * (double)t->bins * (double)t->terms;
  int threads = parallel_threads(call, pieces, NANOSECONDS * terms);
  size_t room = 2 * (size_t)t->terms * (size_t)threads;
  t->scratch = ARENA_ARRAY(call->arena, double, room + 1);
  if (!t->scratch) return op_out_of_memory(call);
  return parallel_run(call, threads, pieces, transform_share, t);
}

/* --- dft ------------------------------------------------------------------ */

static void load_complex(const Transform *t, int64_t row, double *re,
                         double *im) {
  BLOCKS(t->call->stop, t->n)
  for (int64_t j = at; j < end; j++) {
    re[j] = tensor_f64_at(t->call->args[0], row * t->n + j);
    im[j] = tensor_f64_at(t->call->args[1], row * t->n + j);
  }
}

static int64_t place_in_row(const Transform *t, int64_t row, int64_t k) {
  return row * t->n + k;
}

bool kernel_dft(OpCall *call) {
  const Tensor *x = call->args[0];
  int64_t n = x->shape[x->rank - 1], count = tensor_count(x);
  bool inverse = attr_bool(call->attrs, ATTR_inverse);
  if (count == 0) return true;
  Transform t = {.call = call,
                 .turn = turns(call, n),
                 .n = n,
                 .terms = n,
                 .rows = count / n,
                 .bins = n,
                 .inverse = inverse,
                 .divisor = inverse ? (double)n : 1,
                 .load = load_complex,
                 .place = place_in_row,
                 .re = call->outs[0],
                 .im = call->outs[1]};
  return t.turn && transform(call, &t);
}

/* --- stft ----------------------------------------------------------------- */

/* A row is a frame of (batch, frame); the window is centred in it, and what
 * lies outside of the window is no term. */
static void load_frame(const Transform *t, int64_t row, double *re,
                       double *im) {
  const Tensor *x = t->call->args[0], *window = t->call->args[1];
  const Tensor *out = t->re;
  int64_t frames = out->shape[out->rank - 2];
  int64_t hop = attr_number(t->call->attrs, ATTR_hop_length);
  int64_t from =
      row / frames * x->shape[x->rank - 1] + row % frames * hop + t->first;
  (void)im;
  BLOCKS(t->call->stop, t->terms)
  for (int64_t j = at; j < end; j++)
    re[j] = tensor_f64_at(x, from + j) * tensor_f64_at(window, j);
}

/* Results lie as (batch, frequency, frame, 2), the real part first. */
static int64_t place_of_frame(const Transform *t, int64_t row, int64_t k) {
  int64_t frames = t->re->shape[t->re->rank - 2];
  return 2 * ((row / frames * t->bins + k) * frames + row % frames);
}

bool kernel_stft(OpCall *call) {
  const Tensor *out = call->outs[0];
  int64_t n = attr_number(call->attrs, ATTR_n_fft);
  int64_t terms = call->args[1]->shape[0], bins = out->shape[out->rank - 3];
  bool normalized = attr_bool(call->attrs, ATTR_normalized);
  if (tensor_count(out) == 0) return true;
  Transform t = {.call = call,
                 .turn = turns(call, n),
                 .n = n,
                 .first = (n - terms) / 2,
                 .terms = terms,
                 .rows = tensor_count(out) / 2 / bins,
                 .bins = bins,
                 .real = true,
                 .divisor = normalized ? f64_sqrt((double)n) : 1,
                 .load = load_frame,
                 .place = place_of_frame,
                 .re = call->outs[0],
                 .im = call->outs[0],
                 .apart = 1};
  return t.turn && transform(call, &t);
}
