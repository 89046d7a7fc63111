/* 64-bit hashes against accidents, not against an adversary: FNV-1a over bytes
 * for checksums and tables, and the same step over words for tables of
 * structs. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_EMPTY 14695981039346656037u

/* One byte at a time: h = (h xor byte) * prime. */
static inline uint64_t hash_add(uint64_t hash, const void *bytes, size_t n) {
  const unsigned char *p = bytes;
  for (size_t i = 0; i < n; i++) hash = (hash ^ p[i]) * 1099511628211u;
  return hash;
}

/* Hashes one run of bytes for a table. */
static inline uint32_t hash_bytes(const void *bytes, size_t n) {
  return (uint32_t)hash_add(HASH_EMPTY, bytes, n);
}

/* A product carries only upwards, so the high half is folded into the low. */
static inline uint64_t hash_add_word(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}
static inline uint64_t hash_add_pointer(uint64_t hash, const void *p) {
  return hash_add_word(hash, (uintptr_t)p);
}

#endif
