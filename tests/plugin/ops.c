/* Operators for tests/t/plugin.t: a prefix sum, the indices of what is not 0,
 * one that never ends unless it is asked to, one that counts its calls. */
#include <rly.h>
#include <stdio.h>
#include <stdlib.h>

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
      {.signature = "op @tick(%x: int32) -> int32",
       .run = tick,
       .effect = true,
       .data = &ticks},
      {.signature = "op @wrong(%x: int32) -> Tensor[(?, 2), int32]",
       .shape = wrong,
       .run = where},
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
