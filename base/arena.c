/* Arenas: chunks of 4 KiB that double up to 1 MiB, cut from the front.
 *
 *   chunk   [header | used ........ | free ............]
 *                                   ^ next             ^ end
 *
 * An allocation is a comparison and an addition.  It is zeroed when it is
 * given, while it enters the cache.  A big request gets a chunk of its own,
 * linked after the open one, which stays open; mem_overdraw zeroes that one.
 *
 * At the limit, chunks become small and go beyond it; when the system refuses
 * memory, they are cut from the Mem's reserve (mem.h says what makes that
 * sound).  Doubling keeps their number logarithmic until they reach 1 MiB. */
#include "base/arena.h"

#include <stdio.h>
#include <string.h>

enum {
  CHUNK_MIN = 4 << 10,
  CHUNK_MAX = 1 << 20,
  REQUEST_BIG = MEM_SMALL, /* a request larger than this may be refused */
};

struct ArenaChunk {
  ArenaChunk *next;
  size_t size;         /* including this header */
  MemReserve *reserve; /* where it was cut from; NULL: malloc */
};

void arena_init(Arena *a, Mem *mem) { *a = (Arena){.mem = mem}; }

/* Frees chunks until `last`, which it gives back. */
static ArenaChunk *free_until(Arena *a, ArenaChunk *c, ArenaChunk *last) {
  while (c != last) {
    ArenaChunk *next = c->next;
    if (c->reserve) mem_reserve_return(a->mem, c->reserve, c->size);
    else mem_free(a->mem, c, c->size);
    c = next;
  }
  return last;
}

void arena_done(Arena *a) {
  free_until(a, a->chunks, NULL);
  arena_init(a, a->mem);
}

/* One chunk of the smallest size is kept.  For scratch arenas, which are reset
 * after each use: one small chunk is enough for most of them, so they do not go
 * to malloc again. */
void arena_reset(Arena *a) {
  ArenaChunk *c = a->chunks;
  if (!c) return;
  if (c->next || c->reserve || c->size != CHUNK_MIN) {
    arena_done(a);
    return;
  }
  a->next = (char *)(c + 1);
}

ArenaMark arena_mark(const Arena *a) {
  return (ArenaMark){.open = a->chunks,
                     .older = a->chunks ? a->chunks->next : NULL,
                     .next = a->next,
                     .end = a->end};
}

/* Chunks made since stand before the one that was open then, and those of big
 * requests after it. */
void arena_release(Arena *a, ArenaMark mark) {
  a->chunks = free_until(a, a->chunks, mark.open);
  if (mark.open) mark.open->next = free_until(a, mark.open->next, mark.older);
  a->next = mark.next;
  a->end = mark.end;
}

static ArenaChunk *chunk_new(Mem *mem, size_t size) {
  ArenaChunk *c = mem_alloc(mem, size);
  if (c) *c = (ArenaChunk){.size = size};
  return c;
}

/* Used once memory has run out: room for this request, or a few small ones.
 * First from malloc, beyond the limit if need be; then, for a small request
 * only, from the reserve. */
static ArenaChunk *last_chunk(Mem *mem, size_t request) {
  size_t size = request + sizeof(ArenaChunk);
  if (size < CHUNK_MIN) size = CHUNK_MIN;
  MemReserve *reserve = NULL;
  ArenaChunk *c = mem_overdraw(mem, size);
  if (!c && request <= REQUEST_BIG) c = mem_reserve_take(mem, size, &reserve);
  if (c) *c = (ArenaChunk){.size = size, .reserve = reserve};
  return c;
}

/* Allocates a chunk for this request alone.  The chunk is linked after the
 * first one, because the first one is where `next` points into. */
static void *alloc_big(Arena *a, size_t size) {
  ArenaChunk *c = last_chunk(a->mem, size);
  if (!c) return NULL;
  ArenaChunk **link = a->chunks ? &a->chunks->next : &a->chunks;
  c->next = *link;
  *link = c;
  return c + 1;
}

/* Twice the last; at least as much as is asked for. */
static size_t next_chunk_size(const Arena *a, size_t request) {
  size_t size = a->chunks ? a->chunks->size * 2 : CHUNK_MIN;
  if (size < request + sizeof(ArenaChunk)) size = 2 * request;
  if (size < CHUNK_MIN) size = CHUNK_MIN;
  return size < CHUNK_MAX ? size : CHUNK_MAX;
}

/* Opens a new chunk with room for a small request. */
static bool open_chunk(Arena *a, size_t request) {
  ArenaChunk *c = chunk_new(a->mem, next_chunk_size(a, request));
  if (!c) {
    mem_raise_exhausted(a->mem);
    c = last_chunk(a->mem, request);
  }
  if (!c) return false;
  c->next = a->chunks;
  a->chunks = c;
  a->next = (char *)(c + 1);
  a->end = (char *)c + c->size;
  return true;
}

/* Sizes are rounded up to 8, which keeps `next` aligned; an empty request takes
 * 8 bytes, so that every answer is an address of its own. */
void *arena_alloc(Arena *a, size_t size) {
  if (size > SIZE_MAX / 2) {
    mem_refuse_overflow(a->mem);
    mem_raise_exhausted(a->mem);
    return NULL;
  }
  size = size ? (size + 7) & ~(size_t)7 : 8;
  if (size > REQUEST_BIG) return alloc_big(a, size);
  if (size > (size_t)(a->end - a->next) && !open_chunk(a, size)) return NULL;
  void *p = a->next;
  a->next += size;
  return memset(p, 0, size);
}

void *arena_array(Arena *a, size_t n, size_t size) {
  size_t total;
  return arena_alloc(a, size_mul(n, size, &total) ? total : SIZE_MAX);
}

void *arena_copy(Arena *a, const void *data, size_t size) {
  void *p = arena_alloc(a, size);
  if (p && size) memcpy(p, data, size);
  return p;
}

char *arena_strndup(Arena *a, const char *text, size_t len) {
  char *p = arena_alloc(a, len + 1); /* zeroed, so a NUL follows */
  if (p && len) memcpy(p, text, len);
  return p;
}

char *arena_printf(Arena *a, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *text = arena_vprintf(a, format, args);
  va_end(args);
  return text;
}

/* Formats twice: once for the length, once into the memory. */
char *arena_vprintf(Arena *a, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  int len = vsnprintf(NULL, 0, format, again);
  va_end(again);
  char *text = arena_alloc(a, len < 0 ? 1 : (size_t)len + 1);
  if (text && len > 0) vsnprintf(text, (size_t)len + 1, format, args);
  return text;
}
