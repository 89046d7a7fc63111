/* The choice of the instruction set.  It is the library's one piece of global
 * state, and never changes a result: all tables give the same bits, so the
 * choice may be made late, by any thread, and more than once.
 *
 * The candidates are those that the build's target has, narrowest first; each
 * says whether this machine can run it.  The widest that it can is the default.
 * One binary therefore serves machines with and without AVX-512, and nothing
 * but these tables holds instructions beyond the target's baseline. */
#include "kernels/isa.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

/* A table of the build's target and what it needs of the CPU, narrowest
 * first. */
typedef struct Candidate {
  const Isa *table;
  bool (*runs)(void);
} Candidate;

static bool always(void) { return true; }

#if defined __x86_64__
extern const Isa isa_generic, isa_avx2, isa_avx512;

/* The compiler's builtin asks the CPU and whether the system saves the wide
 * registers.  Each test names all that the Makefile's flags for this
 * instruction set allow the compiler to use (ISA_avx2, ISA_avx512). */
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
    {&isa_generic, always},
    {&isa_avx2, has_avx2},
    {&isa_avx512, has_avx512},
};
#elif defined __aarch64__
extern const Isa isa_neon;
static const Candidate candidates[] = {{&isa_neon, always}};
#else
extern const Isa isa_generic;
static const Candidate candidates[] = {{&isa_generic, always}};
#endif

enum { CANDIDATES = sizeof candidates / sizeof *candidates };

static _Atomic(const Isa *) chosen; /* NULL until the first choice */

/* For tests, which compare all tables that can run here. */
int isa_available(const Isa *found[ISA_MAX]) {
  int count = 0;
  for (int i = 0; i < CANDIDATES; i++)
    if (candidates[i].runs()) found[count++] = candidates[i].table;
  return count;
}

/* The table of this name, NULL for the widest; NULL when this machine has none
 * of the name.  The reference can always be chosen, for comparison. */
static const Isa *find(const char *name) {
  const Isa *found[ISA_MAX];
  int count = isa_available(found);
  if (!name) return found[count - 1];
  if (!strcmp(name, isa_reference.name)) return &isa_reference;
  for (int i = 0; i < count; i++)
    if (!strcmp(name, found[i]->name)) return found[i];
  return NULL;
}

bool isa_select(const char *name) {
  const Isa *table = find(name);
  if (table) atomic_store_explicit(&chosen, table, memory_order_relaxed);
  return table != NULL;
}

/* Relaxed loads are enough: tables are constants, so what the pointer leads
 * to has been written before any thread runs.  Two threads that choose for the
 * first time choose the same. */
const Isa *isa_in_use(void) {
  const Isa *table = atomic_load_explicit(&chosen, memory_order_relaxed);
  if (__builtin_expect(table != NULL, 1)) return table;
  isa_select(NULL);
  return atomic_load_explicit(&chosen, memory_order_relaxed);
}
