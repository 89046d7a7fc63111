/* See threefry.h.  Salmon et al., "Parallel random numbers: as easy as 1, 2,
 * 3" (2011) is the original; Relay differs in that a mix forms its second
 * word from the first as already updated, and in that no key is added after
 * the last round.  All sums are modulo 2^64. */
#include "kernels/ref/threefry.h"

#include <string.h>

/* The first key: the path is empty, and the mark stands at its first bit. */
Threefry threefry_of_seed(uint64_t seed) {
  return (Threefry){.key = {0, 0, 0, seed}, .mark = {(uint64_t)1 << 63, 0}};
}

Threefry threefry_load(const uint64_t words[10]) {
  Threefry t;
  memcpy(t.key, words, sizeof t.key);
  memcpy(t.path, words + 4, sizeof t.path);
  memcpy(t.counter, words + 6, sizeof t.counter);
  memcpy(t.mark, words + 8, sizeof t.mark);
  return t;
}

void threefry_store(const Threefry *t, uint64_t words[10]) {
  memcpy(words, t->key, sizeof t->key);
  memcpy(words + 4, t->path, sizeof t->path);
  memcpy(words + 6, t->counter, sizeof t->counter);
  memcpy(words + 8, t->mark, sizeof t->mark);
}

/* --- Blocks -------------------------------------------------------------- */

static uint64_t rotated(uint64_t x, int by) { return x << by | x >> (64 - by); }

/* Relay's mix: the second word takes the first as already updated. */
static void mix(uint64_t *a, uint64_t *b, int by) {
  *a += *b;
  *b = (*a + *b) ^ rotated(*b, by);
}

/* Four words from one key and one counter: 20 rounds of mixing, with a subkey
 * added before every fourth.  The fifth key word is the parity of the others,
 * so that a key of zeros does not leave the counter as it is.  `turns` are the
 * paper's rotations; the words swap places after each round. */
static void threefry_block(const uint64_t key[4], const uint64_t counter[4],
                           uint64_t x[4]) {
  static const uint8_t turns[8][2] = {{14, 16}, {52, 57}, {23, 40}, {5, 37},
                                      {25, 33}, {46, 12}, {58, 22}, {32, 32}};
  uint64_t keys[5] = {key[0], key[1], key[2], key[3], 0x1BD11BDAA9FC1A22};
  for (int i = 0; i < 4; i++) {
    keys[4] ^= key[i];
    x[i] = counter[i];
  }
  for (int round = 0; round < 20; round++) {
    if (round % 4 == 0) {
      for (int i = 0; i < 4; i++) x[i] += keys[(round / 4 + i) % 5];
      x[3] += (uint64_t)(round / 4);
    }
    mix(&x[0], &x[1], turns[round % 8][0]);
    mix(&x[2], &x[3], turns[round % 8][1]);
    uint64_t second = x[1];
    x[1] = x[3];
    x[3] = second;
  }
}

/* --- Keys ---------------------------------------------------------------- */

/* Moves the mark one bit to the right, across both words. */
static void move_mark(Threefry *t) {
  t->mark[1] = t->mark[1] >> 1 | t->mark[0] << 63;
  t->mark[0] >>= 1;
}

/* Writes a 1 at the mark: this key is the right branch of a split, or one that
 * has used up its counter.  The left branch leaves a 0. */
static void take_mark(Threefry *t) {
  t->path[0] |= t->mark[0];
  t->path[1] |= t->mark[1];
}

/* When the counter would overflow, the path is extended and the counter
 * restarts, so no block is ever used twice. */
void threefry_begin(Threefry *t, uint64_t n) {
  if (t->counter[1] < UINT64_MAX - n) return;
  take_mark(t);
  t->counter[0] = t->counter[1] = 0;
  move_mark(t);
}

/* Whole blocks add to all four words of the counter; for the rest, when n is no
 * multiple of 4, the offset is added to the last word alone. */
void threefry_words(const Threefry *t, uint64_t n, uint64_t block,
                    uint64_t out[4]) {
  uint64_t c[4] = {t->path[0], t->path[1], t->counter[0], t->counter[1]};
  if (block < n / 4)
    for (int i = 0; i < 4; i++) c[i] += block;
  else c[3] += 4 * block;
  threefry_block(t->key, c, out);
}

/* The counter goes up by whole blocks, as many words as they hold. */
void threefry_advance(Threefry *t, uint64_t n) {
  t->counter[0] = 0;
  t->counter[1] += (n + 3) / 4 * 4;
}

/* The path is full: the key proper is replaced by a block, and the path starts
 * again after its first bit, which tells the two sides apart. */
static Threefry renewed(const Threefry *t) {
  Threefry next = {.mark = {(uint64_t)1 << 62, 0}};
  uint64_t c[4] = {t->path[0], t->path[1], t->counter[0], t->counter[1]};
  threefry_block(t->key, c, next.key);
  return next;
}

/* A binary tree: left appends 0 to the path, right appends 1.  The paths of all
 * keys that one key leads to differ, and so do their blocks. */
void threefry_split(const Threefry *t, Threefry *left, Threefry *right) {
  if (t->mark[0] == 0) {
    *left = *right = renewed(t);
    right->path[0] = (uint64_t)1 << 63;
    return;
  }
  *left = *right = *t;
  take_mark(right);
  move_mark(left);
  move_mark(right);
}
