/* Interning, pointer maps and spelling suggestions.
 *
 * Both tables use open addressing with linear probing, at most three quarters
 * full, with a capacity that is a power of two: a lookup is a hash, a mask and,
 * on average, fewer than three looks at neighbours in memory.
 *
 *   slots    [ . | a | b | c | . ]      a search for c with home 1 looks
 *                home                   at a, b, c; it ends at an empty slot
 *
 * Names are interned: one Name for each spelling, so everything after the
 * parser compares and hashes pointers.  They live as long as the table. */
#include "base/name.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"

enum { TABLE_MIN = 16, NAME_SHORT = 64 };

/* --- Names --------------------------------------------------------------- */

void names_init(NameTable *t, Mem *mem) {
  *t = (NameTable){0};
  arena_init(&t->arena, mem);
}

void names_done(NameTable *t) {
  mem_free(t->arena.mem, t->slots, t->cap * sizeof *t->slots);
  arena_done(&t->arena);
  *t = (NameTable){.arena = t->arena};
}

/* The slot of this spelling, or the empty one where it belongs. */
static const Name **name_slot(const NameTable *t, const char *text, size_t len,
                              uint32_t hash) {
  size_t mask = t->cap - 1, i = hash & mask;
  for (const Name *n; (n = t->slots[i]); i = (i + 1) & mask)
    if (n->hash == hash && n->len == len && !memcmp(n->text, text, len)) break;
  return &t->slots[i];
}

/* All names are put in anew, for their homes depend on the capacity; the hash
 * is kept in each name, so no text is read again. */
static bool names_grow(NameTable *t) {
  NameTable grown = *t;
  grown.cap = t->cap ? t->cap * 2 : TABLE_MIN;
  grown.slots = mem_overdraw(t->arena.mem, grown.cap * sizeof *t->slots);
  if (!grown.slots) return false;
  for (size_t i = 0; i < t->cap; i++) {
    const Name *n = t->slots[i];
    if (n) *name_slot(&grown, n->text, n->len, n->hash) = n;
  }
  mem_free(t->arena.mem, t->slots, t->cap * sizeof *t->slots);
  *t = grown;
  return true;
}

/* Without memory for the whole name it is cut short.  `exhausted` is up then,
 * so nobody relies on the name. */
static const Name *name_new(NameTable *t, const char *text, size_t len,
                            uint32_t hash) {
  Name *n = arena_alloc(&t->arena, sizeof *n + len + 1);
  if (!n && len > NAME_SHORT) {
    len = NAME_SHORT;
    n = arena_alloc(&t->arena, sizeof *n + len + 1);
  }
  assert(n && "a step took more than MEM_RESERVE");
  n->len = (uint32_t)len;
  n->hash = hash;
  memcpy(n->text, text, len);
  return n;
}

/* The table may fill beyond three quarters where it cannot grow, up to the one
 * empty slot that ends every search. */
const Name *name_intern(NameTable *t, const char *text, size_t len) {
  uint32_t hash = hash_bytes(text, len);
  if (t->len + 1 > t->cap / 4 * 3 && !names_grow(t) && t->len + 1 >= t->cap)
    return name_new(t, text, len, hash); /* exhausted: no longer unique */
  const Name **slot = name_slot(t, text, len, hash);
  if (!*slot) {
    *slot = name_new(t, text, len, hash);
    t->len++;
  }
  return *slot;
}

const Name *name_of(NameTable *t, const char *text) {
  return name_intern(t, text, strlen(text));
}

/* --- Suggestions --------------------------------------------------------- */

/* How many edits may lie between a name and a suggestion: a third of its
 * letters, at least one. */
Suggestion suggestion_for(const char *wanted) {
  size_t len = strlen(wanted), most = len / 3 > 1 ? len / 3 : 1;
  return (Suggestion){.wanted = wanted, .distance = most + 1};
}

static size_t min3(size_t a, size_t b, size_t c) {
  size_t least = a < b ? a : b;
  return least < c ? least : c;
}

/* The Damerau-Levenshtein distance (optimal string alignment): the number of
 * insertions, deletions, replacements and swaps of neighbours that turn `a`
 * into `b`.  rows[i % 3][j] is the distance from the first i bytes of `a` to
 * the first j of `b`.  Three rows are enough: a swap looks two back.  O(a_len *
 * b_len), of at most NAME_SHORT each. */
static size_t edit_distance(const char *a, size_t a_len, const char *b,
                            size_t b_len) {
  size_t rows[3][NAME_SHORT + 1];
  for (size_t j = 0; j <= b_len; j++) rows[0][j] = j;
  for (size_t i = 1; i <= a_len; i++) {
    size_t *row = rows[i % 3], *above = rows[(i + 2) % 3];
    row[0] = i;
    for (size_t j = 1; j <= b_len; j++) {
      size_t replaced = above[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = min3(above[j] + 1, row[j - 1] + 1, replaced);
      bool swapped =
          i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      size_t before = swapped ? rows[(i + 1) % 3][j - 2] + 1 : SIZE_MAX;
      if (before < row[j]) row[j] = before;
    }
  }
  return rows[a_len % 3][b_len];
}

/* A name that differs in nothing but the case of its letters is the closest.
 * The difference of the lengths is a lower bound of the distance, so most
 * candidates need no table. */
void suggestion_offer(Suggestion *s, const char *candidate) {
  size_t len = strlen(s->wanted), other = strlen(candidate);
  if (len > NAME_SHORT || other > NAME_SHORT) return;
  if ((len > other ? len - other : other - len) >= s->distance) return;
  bool other_case = !strcasecmp(s->wanted, candidate);
  size_t distance =
      other_case ? 0 : edit_distance(s->wanted, len, candidate, other);
  /* A candidate that shares no letter with the name would be a guess. */
  bool guess = distance > 0 && distance >= (len > other ? len : other);
  if (guess || distance >= s->distance) return;
  s->best = candidate;
  s->distance = distance;
}

/* --- Maps from pointers -------------------------------------------------- */

void ptrmap_init(PtrMap *m, Mem *mem) { *m = (PtrMap){.mem = mem}; }

void ptrmap_done(PtrMap *m) {
  mem_free(m->mem, m->slots, m->cap * sizeof *m->slots);
  ptrmap_init(m, m->mem);
}

/* Fibonacci hashing (Knuth, TAOCP 6.4): the low bits of addresses are alike,
 * the high bits of the product are not. */
static size_t ptrmap_home(const PtrMap *m, const void *key) {
  uint64_t h = (uint64_t)(uintptr_t)key * 0x9E3779B97F4A7C15u;
  return (size_t)(h >> 32) & (m->cap - 1);
}

/* The entry with this key, or the empty entry where it belongs; NULL in a map
 * without entries. */
static struct PtrMapEntry *ptrmap_slot(const PtrMap *m, const void *key) {
  if (!m->cap) return NULL;
  size_t i = ptrmap_home(m, key);
  while (m->slots[i].key && m->slots[i].key != key) i = (i + 1) & (m->cap - 1);
  return &m->slots[i];
}

/* The old slots are released only when the new ones are filled. */
static bool ptrmap_grow(PtrMap *m) {
  PtrMap grown = {.mem = m->mem, .cap = m->cap ? m->cap * 2 : TABLE_MIN};
  grown.len = m->len;
  grown.slots = mem_overdraw(m->mem, grown.cap * sizeof *m->slots);
  if (!grown.slots) return false;
  for (size_t i = 0; i < m->cap; i++)
    if (m->slots[i].key) *ptrmap_slot(&grown, m->slots[i].key) = m->slots[i];
  ptrmap_done(m);
  *m = grown;
  return true;
}

void ptrmap_put(PtrMap *m, const void *key, void *value) {
  assert(key);
  /* When the map cannot grow, it fills its last quarter, up to the one empty
   * entry that ends every search. */
  if (m->len + 1 > m->cap / 4 * 3 && !ptrmap_grow(m) && m->len + 1 >= m->cap)
    return;
  struct PtrMapEntry *e = ptrmap_slot(m, key);
  if (!e->key) m->len++;
  *e = (struct PtrMapEntry){key, value};
}

/* An empty entry has the value NULL. */
void *ptrmap_get(const PtrMap *m, const void *key) {
  const struct PtrMapEntry *e = ptrmap_slot(m, key);
  return e ? e->value : NULL;
}

bool ptrmap_has(const PtrMap *m, const void *key) {
  const struct PtrMapEntry *e = ptrmap_slot(m, key);
  return e && e->key;
}

/* Deletion without tombstones (Knuth, TAOCP 6.4, algorithm R): each later entry
 * of the run moves into the gap unless that would put it before its home. */
void ptrmap_remove(PtrMap *m, const void *key) {
  struct PtrMapEntry *e = ptrmap_slot(m, key);
  if (!e || !e->key) return;
  size_t mask = m->cap - 1, gap = (size_t)(e - m->slots);
  for (size_t i = (gap + 1) & mask; m->slots[i].key; i = (i + 1) & mask) {
    size_t home = ptrmap_home(m, m->slots[i].key);
    if (((i - home) & mask) < ((i - gap) & mask)) continue;
    m->slots[gap] = m->slots[i];
    gap = i;
  }
  m->slots[gap] = (struct PtrMapEntry){0};
  m->len--;
}
