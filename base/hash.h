/* FNV-1a with 64 bits: for checksums that notice damage, not malice. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_EMPTY 14695981039346656037u

static inline uint64_t hash_add(uint64_t hash, const void *bytes, size_t n) {
  const unsigned char *p = bytes;
  for (size_t i = 0; i < n; i++) hash = (hash ^ p[i]) * 1099511628211u;
  return hash;
}

#endif
