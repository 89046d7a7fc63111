/* Numbers that look random and are the same on every machine, for tests and
 * trials: a seed that was reported gives the same numbers again. */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

/* splitmix64: G. L. Steele, D. Lea and C. H. Flood, "Fast splittable
 * pseudorandom number generators", OOPSLA 2014.  Every state is a seed. */
static inline uint64_t splitmix64(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

#endif
