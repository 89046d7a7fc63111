/* Values with gradients, timed in turns with the values alone: what the reverse
 * sweep and its tape cost, in multiples of the program that is differentiated.
 *
 * A product's sweep is two products, of which a weight's waits for those of the
 * other steps; so two to three times the value is what the arithmetic takes,
 * and the rest is the mechanism.  It is most of the small LSTM and all of the
 * loop of scalars.
 *
 * Rows of `jvp` are values with the derivative along tangents, in forward mode.
 *
 * The last row compares the gradient of a long loop within a small tape with
 * that by the whole tape, of some 50 MB. */
#include "bench/bench.h"
#include "bench/guest.h"

enum { ARGS = 8, STEPS = 100, SCALAR_STEPS = 1000000, DENSE_STEPS = 100000 };

/* A row measures two functions of the same arguments. */
typedef struct Figure {
  const char *name, *peer, *value, *gradient;
  int32_t number; /* the first argument; -1 for none */
  int64_t shapes[ARGS][GUEST_RANK];
  double parts; /* by what the time of a call is divided */
  double scale;
  const char *unit;
  size_t tape; /* bytes for the gradient's; 0: no limit */
} Figure;

#define LSTM(name, derivative, I, H, B)                                \
  {                                                                    \
    "grad." name, "grad." name "@value", "lstm_value", derivative, -1, \
        {{STEPS, B, I}, {B, H},  {B, H}, {4 * H, I},                   \
         {4 * H, H},    {4 * H}, {4 * H}},                             \
        STEPS, 1e6, "us", 0                                            \
  }
#define SCALARS(name, derivative)                                  \
  {                                                                \
    "grad." name, "grad." name "@value", "flow_value", derivative, \
        SCALAR_STEPS, {{0}}, SCALAR_STEPS, 1e9, "ns", 0            \
  }

static const Figure figures[] = {
    LSTM("lstm_300_512_T100", "lstm_gradient", 300, 512, 1),
    LSTM("lstm_300_512_T100_b32", "lstm_gradient", 300, 512, 32),
    LSTM("lstm_40_64_T100", "lstm_gradient", 40, 64, 1),
    LSTM("jvp_lstm_40_64_T100", "lstm_tangent", 40, 64, 1),
    {"grad.treelstm_300_150",
     "grad.treelstm_300_150@value",
     "tree_value",
     "tree_gradient",
     5,
     {{1, 300}, {450, 300}, {450, 150}, {450}, {150, 300}, {150, 150}, {150}},
     63,
     1e6,
     "us",
     0},
    {"grad.mlp_784_512_10_b64",
     "grad.mlp_784_512_10_b64@value",
     "mlp_value",
     "mlp_gradient",
     -1,
     {{64, 784}, {64, 10}, {512, 784}, {512}, {10, 512}, {10}},
     1,
     1e6,
     "us",
     0},
    SCALARS("scalar_step", "flow_gradient"),
    SCALARS("jvp_scalar_step", "flow_tangent"),
    {"grad.dense_64_step_16M",
     "grad.dense_64_step_16M@tape",
     "dense_gradient",
     "dense_gradient",
     DENSE_STEPS,
     {{1, 64}, {64, 64}, {64}},
     DENSE_STEPS,
     1e9,
     "ns",
     16 << 20},
};
enum { FIGURES = sizeof figures / sizeof *figures };

/* The number first, if there is one, then the tensors. */
static bool start(Guest *g, const Figure *f, const char *entry, size_t tape) {
  GuestLimits limits = {.tape_memory = tape};
  if (!guest_start_within(g, "bench/grad.rly", entry, limits)) return false;
  if (f->number >= 0) guest_int(g, f->number);
  for (int i = 0; i < ARGS && f->shapes[i][0]; i++)
    guest_tensor(g, f->shapes[i]);
  return true;
}

/* Rows are measured one after the other, since a call may take a second. */
static bool measure(const Figure *f) {
  Guest value, gradient;
  bool ok = start(&value, f, f->value, 0);
  ok = start(&gradient, f, f->gradient, f->tape) && ok;
  Work works[2] = {{.run = guest_call, .data = &gradient},
                   {.run = guest_call, .data = &value, .beside = works}};
  if (ok) bench_turns(works, 2);
  ok = ok && !value.failed && !gradient.failed;
  double scale = f->scale / f->parts;
  if (ok) bench_print(f->name, works[0].best * scale, f->unit);
  if (ok) bench_print(f->peer, works[1].best * scale, f->unit);
  guest_end(&value);
  guest_end(&gradient);
  return ok;
}

void bench_grad(Bench *b) {
  for (int i = 0; i < FIGURES; i++) b->failed |= !measure(&figures[i]);
}
