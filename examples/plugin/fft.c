/* The discrete Fourier transform by FFTW, as an operator:
 *
 *   @fft(x)[:, k] = sum over j of x[:, j] exp(-2 pi i j k / n)
 *
 * A complex vector is two rows, its real and its imaginary parts. */
#include <fftw3.h>
#include <pthread.h>
#include <rly.h>
#include <stddef.h>

/* FFTW's planner is not thread-safe; its plans are. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

static bool fft(void *data, rly_operator_call *call) {
  (void)data;
  const rly_operand *x = &call->operands[0];
  size_t n = (size_t)x->shape[1];
  if (n > 1 << 24) return rly_operator_fail(call, "more than 2^24 elements");
  if (rly_operator_stopped(call)) return false;
  fftw_iodim axis = {.n = (int)n, .is = 1, .os = 1};
  double *in = x->data, *out = call->result.data;
  pthread_mutex_lock(&planner);
  /* FFTW_ESTIMATE: other plans are measured, and so may differ in their bits
   * from run to run. */
  fftw_plan plan =
      fftw_plan_guru_split_dft(1, &axis, 0, NULL, in, in + n, out, out + n,
                               FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
  pthread_mutex_unlock(&planner);
  if (!plan) return rly_operator_fail(call, "FFTW has no plan for this length");
  fftw_execute(plan);
  pthread_mutex_lock(&planner);
  fftw_destroy_plan(plan);
  pthread_mutex_unlock(&planner);
  return true;
}

/* The adjoint of the transform is the conjugate of that of the conjugate. */
static const rly_operator operator_fft = {
    .signature =
        "/// The discrete Fourier transform of a complex vector, as two rows.\n"
        "op @fft[n: Dim](%x: Tensor[(2, n), float64])\n"
        "    -> Tensor[(2, n), float64]\n"
        "  where n > 0: \"fft needs an element\"",
    .gradient =
        "gradient @fft(%x) -> (%y, %g) {\n"
        "  let %conjugate = [[1.0f64], [-1.0f64]];\n"
        "  @fft(%g * %conjugate) * %conjugate\n"
        "}\n",
    .run = fft,
};

bool rly_plugin(rly_program *program) {
  return rly_operator_add(program, &operator_fft) == RLY_OK;
}
