/* Operators for tests/t/plugin.t: a prefix sum, the indices of what is not 0,
 * one that never ends unless it is asked to, one that takes its time, one that
 * counts its calls, and
 * some that give tuples. */
#include <rly.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool prefix(void *data, rly_operator_call *call) {
  (void)data;
  const float *x = call->operands[0].data;
  float *y = call->result.data, sum = 0;
  for (int64_t i = 0; i < call->result.count; i++) y[i] = sum += x[i];
  return true;
}

static bool count(void *data, rly_operator_call *call, int64_t *shape) {
  (void)data;
  const int32_t *x = call->operands[0].data;
  shape[0] = 0;
  for (int64_t i = 0; i < call->operands[0].count; i++) {
    if (x[i] < 0) return rly_operator_fail(call, "a negative number");
    shape[0] += x[i] != 0;
  }
  return true;
}

static bool where(void *data, rly_operator_call *call) {
  (void)data;
  const int32_t *x = call->operands[0].data;
  int64_t *y = call->result.data, n = 0;
  for (int64_t i = 0; i < call->operands[0].count; i++)
    if (x[i]) y[n++] = i;
  return n == call->result.count;
}

static bool wait(void *data, rly_operator_call *call) {
  (void)data;
  while (!rly_operator_stopped(call)) continue;
  return false;
}

/* The operand, after 5 milliseconds of the processor's time, by which costs are
 * measured. */
static bool late(void *data, rly_operator_call *call) {
  (void)data;
  clock_t end = clock() + CLOCKS_PER_SEC / 200;
  while (clock() < end) continue;
  size_t n = (size_t)call->result.count;
  memcpy(call->result.data, call->operands[0].data, n * sizeof(float));
  return true;
}

static bool tick(void *data, rly_operator_call *call) {
  int *ticks = data;
  *(int32_t *)call->result.data = ++*ticks;
  return true;
}

static bool wrong(void *data, rly_operator_call *call, int64_t *shape) {
  (void)data, (void)call;
  shape[0] = -7;
  return true;
}

/* The first row, the last one as a column, and the number of rows. */
static bool ends(void *data, rly_operator_call *call) {
  (void)data;
  const rly_operand *y = call->results;
  const float *x = call->operands[0].data;
  int64_t rows = call->operands[0].shape[0], n = y[0].count;
  memcpy(y[0].data, x, (size_t)n * sizeof *x);
  memcpy(y[1].data, x + (rows - 1) * n, (size_t)n * sizeof *x);
  *(int64_t *)y[2].data = rows;
  return call->result_count == 3 && y[1].rank == y[0].rank + 1;
}

/* The elements below 0 and the others, in order. */
static bool count_signs(void *data, rly_operator_call *call, int64_t *shape) {
  (void)data;
  const double *x = call->operands[0].data;
  if (strcmp(call->operands[0].dtype, call->results[1].dtype) != 0 ||
      strcmp(call->operands[0].dtype, "float64") != 0)
    return rly_operator_fail(call, "its elements are no float64");
  shape[0] = shape[1] = 0;
  for (int64_t i = 0; i < call->operands[0].count; i++) shape[x[i] >= 0]++;
  return true;
}

static bool by_sign(void *data, rly_operator_call *call) {
  (void)data;
  const double *x = call->operands[0].data;
  double *y[] = {call->results[0].data, call->results[1].data};
  for (int64_t i = 0; i < call->operands[0].count; i++)
    if (x[i] == 7) return rly_operator_fail(call, "it does not like 7");
    else *y[x[i] >= 0]++ = x[i];
  return true;
}

/* x^2 and x^3. */
static bool powers(void *data, rly_operator_call *call) {
  (void)data;
  float x = *(const float *)call->operands[0].data;
  *(float *)call->results[0].data = x * x;
  *(float *)call->results[1].data = x * x * x;
  return true;
}

static int ticks;

bool rly_plugin(rly_program *p) {
  static const rly_operator all[] = {
      {.signature = "/// Prefix sums.\n"
                    "op @prefix[n: Dim](%x: Tensor[(n), float32]) -> "
                    "Tensor[(n), float32] where n > 0: \"it is empty\"",
       .gradient = "gradient @prefix(%x) -> (%y, %g) {\n"
                   "  reverse(@prefix(reverse(%g, axis=0)), axis=0)\n}\n",
       .run = prefix},
      {.signature = "op @nonzero[n: Dim](%x: Tensor[(n), int32]) -> "
                    "Tensor[(?), int64]",
       .shape = count,
       .run = where},
      {.signature = "op @wait(%x: int32) -> int32", .run = wait},
      {.signature = "op @late(%x: Tensor[(4096), float32]) -> "
                    "Tensor[(4096), float32]",
       .run = late},
      {.signature = "op @tick(%x: int32) -> int32",
       .run = tick,
       .effect = true,
       .data = &ticks},
      {.signature = "op @wrong(%x: int32) -> Tensor[(?, 2), int32]",
       .shape = wrong,
       .run = where},
      {.signature = "op @ends[n: Dim, s: Shape]("
                    "%x: Tensor[(n, s...), float32]) -> "
                    "(Tensor[s, float32], Tensor[(s..., 1), float32], int64)",
       .run = ends},
      {.signature = "op @by_sign[n: Dim, d: Float](%x: Tensor[(n), d]) -> "
                    "(Tensor[(?), d], Tensor[(?), d])",
       .shape = count_signs,
       .run = by_sign},
      {.signature = "op @powers(%x: float32) -> (float32, float32)",
       .gradient = "gradient @powers(%x) -> (%y, %g) {\n"
                   "  %g.0 * 2f * %x + %g.1 * 3f * %y.0\n}\n",
       .run = powers},
      {.signature = "op @tail[n: Dim](%x: Tensor[(n), float32]) -> "
                    "Tensor[(n - 5), float32]",
       .run = prefix},
      {.signature = "/// It has no derivative.\n"
                    "op @plain(%x: float32) -> float32",
       .run = prefix},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (rly_operator_add(p, &all[i]) != RLY_OK) return false;
  return true;
}
