/* Arenas: memory that is released all at once.  Program text, expressions and
 * types live in them; nothing in an arena has a destructor. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>

#include "base/mem.h"

typedef struct ArenaChunk ArenaChunk;

typedef struct Arena {
  Mem *mem;
  ArenaChunk *chunks; /* newest first */
  char *next, *end;   /* the free part of the newest chunk */
} Arena;

void arena_init(Arena *a, Mem *mem);
void arena_done(Arena *a);
/* Releases all allocations; may keep a small chunk for reuse. */
void arena_reset(Arena *a);

/* How far an arena is filled.  arena_release() releases what has been allocated
 * since the mark was made; of two marks, release the later one first. */
typedef struct ArenaMark {
  ArenaChunk *open, *older; /* the newest chunk, and the one after it */
  char *next, *end;
} ArenaMark;
ArenaMark arena_mark(const Arena *a);
void arena_release(Arena *a, ArenaMark mark);

/* Zeroed, 8-byte aligned memory.  Requests up to MEM_SMALL do not fail (mem.h
 * says why, and what happens when even the reserve is spent); larger ones may
 * return NULL. */
void *arena_alloc(Arena *a, size_t size);

/* An array of `n` zeroed `T`. */
#define ARENA_NEW(a, T) ((T *)arena_alloc((a), sizeof(T)))
#define ARENA_ARRAY(a, T, n) ((T *)arena_array((a), (n), sizeof(T)))
void *arena_array(Arena *a, size_t n, size_t size);

/* Copies that live as long as the arena. */
void *arena_copy(Arena *a, const void *data, size_t size);
char *arena_strndup(Arena *a, const char *text, size_t len);
char *arena_printf(Arena *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *arena_vprintf(Arena *a, const char *format, va_list args);

#endif
