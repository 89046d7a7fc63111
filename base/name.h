/* Interned names: equal spellings are one pointer, so names compare with ==
 * and hash by address. */
#ifndef BASE_NAME_H
#define BASE_NAME_H

#include "base/vec.h"

typedef struct Name {
  uint32_t len;
  uint32_t hash;
  char text[]; /* NUL-terminated */
} Name;

typedef struct NameTable {
  Arena arena;
  const Name **slots; /* open addressing, power-of-two capacity */
  size_t cap, len;
} NameTable;

void names_init(NameTable *t, Mem *mem);
void names_done(NameTable *t);

/* The one Name with this spelling.  Never NULL (mem.h, on exhaustion). */
const Name *name_intern(NameTable *t, const char *text, size_t len);
const Name *name_of(NameTable *t, const char *text);

/* The closest of the candidates offered to it, for "did you mean" hints.
 *
 *   Suggestion s = suggestion_for("tahn");
 *   for each candidate: suggestion_offer(&s, candidate);
 *   if (s.best) ...                                                      */
typedef struct Suggestion {
  const char *wanted;
  const char *best; /* borrowed from the caller; NULL when nothing is close */
  size_t distance;  /* edit distance with transpositions; 0 where only the case
                       of letters differs */
} Suggestion;
Suggestion suggestion_for(const char *wanted);
void suggestion_offer(Suggestion *s, const char *candidate);

/* A map from pointers (interned names, expressions) to pointers. */
typedef struct PtrMap {
  Mem *mem;
  struct PtrMapEntry {
    const void *key;
    void *value;
  } * slots;
  size_t cap, len;
} PtrMap;
void ptrmap_init(PtrMap *m, Mem *mem);
void ptrmap_done(PtrMap *m);
void ptrmap_put(PtrMap *m, const void *key, void *value);
void *ptrmap_get(const PtrMap *m, const void *key); /* NULL for an absent key */
bool ptrmap_has(const PtrMap *m, const void *key);
void ptrmap_remove(PtrMap *m, const void *key);

#endif
