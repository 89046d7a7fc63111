/* Which instruction set is in use.  The choice is the one thing that is global
 * in the library; it never changes a result. */
#include "ops/simd/simd.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

/* Every table of the target, narrowest first, with what it asks of the CPU. */
typedef struct Candidate {
  const Simd *table;
  bool (*runs)(void);
} Candidate;

static bool always(void) { return true; }

#if defined __x86_64__
extern const Simd simd_generic, simd_avx2, simd_avx512;

static bool has_avx2(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void) {
  return has_avx2() && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl");
}

static const Candidate candidates[] = {
    {&simd_generic, always},
    {&simd_avx2, has_avx2},
    {&simd_avx512, has_avx512},
};
#elif defined __aarch64__
extern const Simd simd_neon;
static const Candidate candidates[] = {{&simd_neon, always}};
#else
extern const Simd simd_generic;
static const Candidate candidates[] = {{&simd_generic, always}};
#endif

enum { CANDIDATES = sizeof candidates / sizeof *candidates };

/* What stands for "the reference kernels alone" in `chosen`, where NULL means
 * that nothing was chosen yet. */
static const Simd reference = {.isa = "reference"};
static _Atomic(const Simd *) chosen;

int simd_available(const Simd *found[SIMD_MAX]) {
  int count = 0;
  for (int i = 0; i < CANDIDATES; i++)
    if (candidates[i].runs()) found[count++] = candidates[i].table;
  return count;
}

static const Simd *find(const char *isa) {
  const Simd *found[SIMD_MAX];
  int count = simd_available(found);
  if (!isa) return found[count - 1];
  if (!strcmp(isa, reference.isa)) return &reference;
  for (int i = 0; i < count; i++)
    if (!strcmp(isa, found[i]->isa)) return found[i];
  return NULL;
}

bool simd_select(const char *isa) {
  const Simd *table = find(isa);
  if (table) atomic_store_explicit(&chosen, table, memory_order_relaxed);
  return table != NULL;
}

const Simd *simd_table(void) {
  const Simd *table = atomic_load_explicit(&chosen, memory_order_relaxed);
  if (!table) {
    simd_select(NULL);
    table = atomic_load_explicit(&chosen, memory_order_relaxed);
  }
  return table == &reference ? NULL : table;
}
