/* Which of the instruction sets the processor has. */

#include "tests/lanes/lanes.h"

#include <stdbool.h>

const char *const lanes_unary_names[] = {
#define MATH_UNARY(name) #name,
#include "kernels/math/math.def"
};

#ifdef __x86_64__
static bool has_avx2(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void) { return __builtin_cpu_supports("avx512f"); }
#endif

int lanes_available(const Lanes *found[3]) {
  int count = 0;
  found[count++] = &lanes_generic;
#ifdef __x86_64__
  if (has_avx2()) found[count++] = &lanes_avx2;
  if (has_avx512()) found[count++] = &lanes_avx512;
#endif
  return count;
}
