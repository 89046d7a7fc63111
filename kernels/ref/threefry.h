/* Relay's variant of the Threefry generator.  A key is ten words: 0-3 the key
 * proper, 4-5 the path from the first key to this one, 6-7 the counter, 8-9
 * a mark, one bit at the next free place of the path. */
#ifndef KERNELS_REF_THREEFRY_H
#define KERNELS_REF_THREEFRY_H

#include <stdint.h>

typedef struct Threefry {
  uint64_t key[4], path[2], counter[2], mark[2];
} Threefry;

Threefry threefry_of_seed(uint64_t seed);
Threefry threefry_load(const uint64_t words[10]);
void threefry_store(const Threefry *t, uint64_t words[10]);

/* The words of a request for n numbers, by position, and the key after the
 * request.  Call threefry_begin first. */
void threefry_begin(Threefry *t, uint64_t n);
void threefry_words(const Threefry *t, uint64_t n, uint64_t block,
                    uint64_t out[4]);
void threefry_advance(Threefry *t, uint64_t n);
/* Splits one key into two independent ones. */
void threefry_split(const Threefry *t, Threefry *left, Threefry *right);

#endif
