/* base/: the allocator and what is built on it, names, sources, diagnostics.
 * The expected texts of diagnostics are written by hand from the contract of
 * the command line.
 *
 * These are the parts on which everything stands, so their contracts are pinned
 * here alone and not by way of a program: bytes counted, limits held and
 * overdrawn as mem.h allows, names unique, places right at every edge of a text
 * (no newline at the end, carriage returns, invalid UTF-8, wide characters),
 * traces cut in the middle. */
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/heap.h"
#include "base/pool.h"
#include "base/sanitizer.h"

/* --- Memory -------------------------------------------------------------- */

static void mem_counts_bytes(void **state) {
  (void)state;
  Mem m;
  unit_mem(&m);
  char *a = mem_alloc(&m, 100), *b = mem_alloc_zeroed(&m, 50);
  assert_int_equal(m.live, 150);
  a = mem_resize(&m, a, 100, 400);
  assert_int_equal(m.live, 450);
  a = mem_resize(&m, a, 400, 10);
  mem_free(&m, b, 50);
  assert_int_equal(m.live, 10);
  assert_int_equal(m.peak, 450);
  mem_free(&m, a, 10);
  mem_free(&m, NULL, 0);
  unit_mem_done(&m);
}

static void mem_respects_its_limit(void **state) {
  (void)state;
  Mem m;
  unit_mem(&m);
  m.limit = 100;
  char *a = mem_alloc(&m, 60);
  assert_non_null(a);
  assert_null(mem_alloc(&m, 41));
  assert_null(mem_alloc(&m, SIZE_MAX));
  assert_null(mem_alloc_aligned(&m, SIZE_MAX));
  assert_null(mem_resize(&m, a, 60, 101));
  assert_int_equal(m.live, 60);
  a = mem_resize(&m, a, 60, 100);
  assert_non_null(a);
  mem_free(&m, a, 100);
  unit_mem_done(&m);
}

static void mem_fails_where_told(void **state) {
  (void)state;
  Mem m;
  unit_mem(&m);
  m.fail_at = 2;
  char *a = mem_alloc(&m, 1);
  assert_non_null(a);
  assert_null(mem_alloc(&m, 1));
  char *c = mem_alloc(&m, 1);
  assert_non_null(c);
  mem_free(&m, a, 1);
  mem_free(&m, c, 1);
  unit_mem_done(&m);
}

static void *allocate_and_free(void *of) {
  Mem *m = of;
  for (size_t i = 1; i <= 20000; i++) mem_free(m, mem_alloc(m, i), i);
  return NULL;
}

static void mem_is_shared_by_threads(void **state) {
  (void)state;
  Mem m;
  unit_mem(&m);
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], NULL, allocate_and_free, &m);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  assert_int_equal(m.count, 40000);
  unit_mem_done(&m);
}

static void mem_aligns(void **state) {
  (void)state;
  Mem m;
  unit_mem(&m);
  for (size_t size = 0; size < 300; size += 7) {
    void *p = mem_alloc_aligned(&m, size), *q = mem_alloc(&m, size);
    assert_int_equal((uintptr_t)p % 64, 0);
    assert_int_equal((uintptr_t)q % 16, 0);
    mem_free_aligned(&m, p, size);
    mem_free(&m, q, size);
  }
  unit_mem_done(&m);
}

/* What the system says of the mapping that holds a block: the line of flags,
 * "hg" among them where huge pages were asked for. */
static bool asks_for_huge_pages(const void *block) {
  FILE *maps = fopen("/proc/self/smaps", "r");
  unsigned long from = 0, to = 0, at = (unsigned long)block;
  char line[512];
  bool here = false, asks = false;
  while (maps && fgets(line, sizeof line, maps))
    if (sscanf(line, "%lx-%lx ", &from, &to) == 2) here = from <= at && at < to;
    else if (here && !strncmp(line, "VmFlags:", 8)) asks = strstr(line, " hg");
  if (maps) fclose(maps);
  return asks;
}

static void sizes_as_text(void **state) {
  (void)state;
  static const struct {
    size_t bytes;
    const char *text;
  } known[] = {{0, "0"},
               {1023, "1023"},
               {1024, "1K"},
               {1536, "1.5K"},
               {(size_t)20 << 20, "20M"},
               {((size_t)1 << 20) - 1, "1M"},
               {(size_t)3 << 49, "1.5P"},
               {SIZE_MAX, "16E"}};
  char text[SIZE_TEXT];
  size_t n;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    assert_string_equal(size_text(known[i].bytes, text), known[i].text);
  static const struct {
    const char *text;
    size_t bytes;
  } read[] = {{"12", 12},
              {"12B", 12},
              {"20m", (size_t)20 << 20},
              {"20MiB", (size_t)20 << 20},
              {"1.5K", 1536},
              {"0.1K", 102},
              {"17.60GB", 18897856102},
              {"1.99999999999999999999K", 2048},
              {"18446744073709551615", SIZE_MAX},
              {"15E", (size_t)15 << 60}};
  for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
    assert_true(size_read(read[i].text, &n));
    assert_int_equal(n, read[i].bytes);
  }
  static const char *const none[] = {"",
                                     "K",
                                     ".5K",
                                     "1.K",
                                     "1.5",
                                     "1.5B",
                                     "-1",
                                     "+1",
                                     " 1",
                                     "1 K",
                                     "1KK",
                                     "1X",
                                     "1Kib2",
                                     "1iB",
                                     "1e3",
                                     "16E",
                                     "0x1",
                                     "1.5.5K",
                                     "18446744073709551616"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    assert_false(size_read(none[i], &n));
}

/* Blocks larger than what earlier tests have freed, so in the part by which the
 * heap has grown, looked at in their middle; the second reuses the memory of
 * the first. */
static void heap_lies_in_huge_pages(void **state) {
  (void)state;
  /* A sanitizer's malloc has no such heap. */
  if (SANITIZER_ADDRESS || SANITIZER_THREAD ||
      access("/sys/kernel/mm/transparent_hugepage", F_OK)) {
    print_message("# not asked: there are no huge pages for this heap\n");
    return;
  }
  enum { SIZE = 8 << 20 };
  heap_in_huge_pages();
  char *block = malloc(SIZE);
  assert_non_null(block);
  assert_false(asks_for_huge_pages(block + SIZE / 2));
  free(block);
  heap_is_own();
  heap_in_huge_pages();
  block = malloc(SIZE);
  assert_non_null(block);
  assert_true(asks_for_huge_pages(block + SIZE / 2));
  free(block);
  block = malloc(SIZE);
  assert_true(asks_for_huge_pages(block + SIZE / 2));
  free(block);
}

/* --- Arenas, vectors, pools ---------------------------------------------- */

static bool all_zero(const char *p, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (p[i]) return false;
  return true;
}

static void arena_memory_is_zeroed_and_apart(void **state) {
  (void)state;
  Mem m;
  Arena a;
  arena_init(&a, unit_mem(&m));
  uint64_t random = 1;
  char *last = NULL;
  size_t last_size = 0;
  for (int i = 0; i < 500; i++) {
    size_t size = unit_random(&random) % (i % 50 ? 900 : 200000);
    char *p = arena_alloc(&a, size);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % 8, 0);
    assert_true(all_zero(p, size));
    memset(p, 0xAB, size);
    assert_true(!last || p >= last + last_size || p + size <= last);
    last = p;
    last_size = size;
  }
  assert_null(ARENA_ARRAY(&a, uint64_t, SIZE_MAX / 4));
  arena_done(&a);
  unit_mem_done(&m);
}

/* A release gives back the memory that was allocated since the mark, and leaves
 * what was allocated before as it is.  What is allocated next is zeroed. */
static void arena_goes_back_to_a_mark(void **state) {
  (void)state;
  Mem m;
  Arena a;
  arena_init(&a, unit_mem(&m));
  uint64_t random = 1;
  for (int i = 0; i < 200; i++) {
    ArenaMark mark = arena_mark(&a);
    size_t live = m.live;
    for (int k = 0; k < 20; k++) {
      size_t size = unit_random(&random) % (k % 10 ? 900 : 200000);
      char *p = arena_alloc(&a, size);
      assert_true(all_zero(p, size));
      memset(p, 0xAB, size);
    }
    arena_release(&a, mark);
    assert_int_equal(m.live, live);
    char *kept = arena_alloc(&a, 100);
    assert_true(all_zero(kept, 100));
    memset(kept, 0xCD, 100);
    if (i % 3) arena_alloc(&a, MEM_SMALL + 1);
    mark = arena_mark(&a);
    memset(arena_alloc(&a, 3000), 0xAB, 3000);
    arena_release(&a, mark);
    for (int k = 0; k < 100; k++)
      assert_int_equal((unsigned char)kept[k], 0xCD);
  }
  arena_done(&a);
  memset(arena_alloc(&a, 1000), 0xAB, 1000);
  arena_reset(&a);
  assert_true(all_zero(arena_alloc(&a, 1000), 1000));
  arena_done(&a);
  unit_mem_done(&m);
}

/* Beyond the limit, small requests are granted as before. */
static void arena_goes_beyond_the_limit(void **state) {
  (void)state;
  Mem m;
  Arena a;
  arena_init(&a, unit_mem(&m));
  m.limit = 10000;
  for (int i = 0; i < 3000; i++)
    assert_true(all_zero(arena_alloc(&a, 999), 999));
  assert_true(mem_exhausted(&m));
  assert_non_null(arena_alloc(&a, MEM_SMALL));
  assert_non_null(arena_alloc(&a, m.live / 20));
  assert_null(arena_alloc(&a, m.live / 8));
  arena_done(&a);
  unit_mem_done(&m);
}

/* When the system refuses, as often as it does, whatever stays. */
static void arena_draws_on_the_reserve(void **state) {
  (void)state;
  Mem m;
  Arena a, lasting;
  arena_init(&a, unit_mem(&m));
  arena_init(&lasting, &m);
  for (int round = 0; round < 5; round++) {
    m.fail_at = m.count + 1;
    m.fail_more = SIZE_MAX;
    size_t served = 0;
    assert_non_null(arena_alloc(&lasting, 3000));
    for (char *p; (p = arena_alloc(&a, 1000)); served += 1000)
      assert_true(all_zero(p, 1000));
    assert_true(mem_exhausted(&m));
    assert_true(served > MEM_RESERVE * 3 / 4);
    arena_done(&a);
    m.fail_at = 0;
    mem_clear_exhausted(&m);
    assert_false(mem_exhausted(&m));
  }
  arena_done(&lasting);
  unit_mem_done(&m);
}

static void vectors_drop_what_does_not_fit(void **state) {
  (void)state;
  Mem m;
  VEC(int) v;
  VEC_INIT(&v, unit_mem(&m));
  for (int i = 0; i < 1000; i++) VEC_PUSH(&v, i);
  m.limit = 0;
  for (int i = 1000; i < 9000; i++) VEC_PUSH(&v, i); /* beyond the limit */
  for (int i = 0; i < 9000; i++) assert_int_equal(v.data[i], i);
  assert_true(mem_exhausted(&m));
  mem_clear_exhausted(&m);
  m.fail_at = m.count + 1;
  m.fail_more = SIZE_MAX;
  for (size_t cap = v.cap; v.len < cap;) VEC_PUSH(&v, 7);
  size_t full = v.len;
  VEC_PUSH(&v, 8);
  assert_int_equal(v.len, full);
  assert_int_equal(VEC_LAST(&v), 7);
  assert_true(mem_exhausted(&m));
  assert_false(VEC_RESERVE(&v, SIZE_MAX));
  VEC_DONE(&v);
  unit_mem_done(&m);
}

static void children_count_in_their_parents(void **state) {
  (void)state;
  Mem m;
  unit_mem(&m);
  m.limit = 1000;
  Mem *a = mem_child(&m, 600), *b = mem_child(a, SIZE_MAX);
  void *p = mem_alloc(a, 500), *q = mem_alloc(b, 400);
  assert_true(p && q);
  assert_int_equal(m.live, 900);
  assert_int_equal(a->live, 500);
  assert_null(mem_alloc(a, 101)); /* its own limit */
  assert_null(mem_alloc(b, 101)); /* that of all */
  assert_ptr_equal(b->refuser, &m);
  assert_int_equal(m.live, 900);
  mem_raise_exhausted(a);
  assert_true(mem_exhausted(a) && !mem_exhausted(b) && !mem_exhausted(&m));
  /* A block may outlive the owner of its Mem, which then serves another. */
  mem_leave(a);
  Mem *c = mem_child(&m, SIZE_MAX);
  assert_ptr_not_equal(c, a);
  mem_free(a, p, 500);
  Mem *d = mem_child(&m, 77);
  assert_ptr_equal(d, a);
  assert_true(d->limit == 77 && !mem_exhausted(d));
  mem_free(b, q, 400);
  mem_leave(b), mem_leave(c), mem_leave(d);
  unit_mem_done(&m);
}

static void watchers_keep_what_they_saw(void **state) {
  (void)state;
  Mem m, *a;
  a = mem_child(unit_mem(&m), SIZE_MAX);
  a->watched[0] = &m;
  assert_false(mem_exhausted(a));
  mem_raise_exhausted(&m);
  assert_true(mem_exhausted(a));
  mem_clear_exhausted(&m);
  assert_true(mem_exhausted(a));
  mem_clear_exhausted(a);
  assert_false(mem_exhausted(a));
  mem_leave(a);
  unit_mem_done(&m);
}

static void pools_reuse_blocks(void **state) {
  (void)state;
  Mem m;
  Pool pool;
  pool_init(&pool, unit_mem(&m));
  void *small = pool_alloc(&pool, 40), *large = pool_alloc(&pool, 5000);
  assert_int_equal((uintptr_t)small % 8, 0);
  size_t count = m.count;
  for (int i = 0; !SANITIZER_ADDRESS && i < 1000; i++) {
    pool_free(&pool, small, 40);
    assert_ptr_equal(pool_alloc(&pool, 33), small);
  }
  assert_int_equal(m.count, count);
  pool_free(&pool, small, 40);
  pool_free_large(&pool, large, 5000);
  pool_done(&pool);
  unit_mem_done(&m);
}

/* --- Text ---------------------------------------------------------------- */

static void escaping(void **state) {
  (void)state;
  static const struct {
    const char *from, *to;
  } rows[] = {
      {"a\"b\\", "a\\\"b\\\\"},
      {"\n\t\r\b\f", "\\n\\t\\r\\b\\f"},
      {"\x01\x7F\xC2\x9B", "\\u0001\\u007f\\u009b"},
      {"\xE2\x80\xAE", "\\u202e"},
      {"\xC3\xA9\xF0\x9F\x98\x80", "\xC3\xA9\xF0\x9F\x98\x80"},
      {"x\xFFy\xC3", "x\xEF\xBF\xBDy\xEF\xBF\xBD"},
  };
  Mem m;
  StrBuf b;
  strbuf_init(&b, unit_mem(&m));
  assert_string_equal(strbuf_text(&b), "");
  for (size_t i = 0; i < LENGTH(rows); i++) {
    VEC_CLEAR(&b);
    strbuf_add_escaped(&b, rows[i].from, strlen(rows[i].from));
    assert_string_equal(strbuf_text(&b), rows[i].to);
  }
  strbuf_done(&b);
  unit_mem_done(&m);
}

/* The code points at the borders between lengths; surrogates and what lies
 * outside of Unicode become U+FFFD. */
static void utf8_code_points(void **state) {
  (void)state;
  static const struct {
    int64_t code;
    const char *bytes;
  } rows[] = {
      {0x41, "A"},
      {0x7F, "\x7F"},
      {0x80, "\xC2\x80"},
      {0x7FF, "\xDF\xBF"},
      {0x800, "\xE0\xA0\x80"},
      {0xD7FF, "\xED\x9F\xBF"},
      {0xD800, UTF8_REPLACEMENT},
      {0xDFFF, UTF8_REPLACEMENT},
      {0xE000, "\xEE\x80\x80"},
      {0xFFFF, "\xEF\xBF\xBF"},
      {0x10000, "\xF0\x90\x80\x80"},
      {0x10FFFF, "\xF4\x8F\xBF\xBF"},
      {0x110000, UTF8_REPLACEMENT},
      {-1, UTF8_REPLACEMENT},
      {INT64_MIN, UTF8_REPLACEMENT},
  };
  Mem m;
  StrBuf b;
  strbuf_init(&b, unit_mem(&m));
  for (size_t i = 0; i < LENGTH(rows); i++) {
    VEC_CLEAR(&b);
    strbuf_add_code_point(&b, rows[i].code);
    assert_string_equal(strbuf_text(&b), rows[i].bytes);
  }
  strbuf_done(&b);
  unit_mem_done(&m);
}

/* Offsets of the first invalid byte; the cases are those of the Unicode
 * standard, table 3-7. */
static void utf8_faults(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t len, fault;
  } rows[] = {
      {"plain", 5, 5},
      {"a\0b", 3, 1},
      {"\xC3\xA9", 2, 2},
      {"x\xC3", 2, 1},
      {"\xC0\xAF", 2, 0},
      {"\xE0\x9F\x80", 3, 0},
      {"\xE0\xA0\x80", 3, 3},
      {"\xED\xA0\x80", 3, 0},
      {"\xED\x9F\xBF", 3, 3},
      {"\xF0\x8F\xBF\xBF", 4, 0},
      {"\xF0\x90\x80\x80", 4, 4},
      {"\xF4\x8F\xBF\xBF", 4, 4},
      {"\xF4\x90\x80\x80", 4, 0},
      {"\x80", 1, 0},
      {"ab\xE2\x82", 4, 2},
  };
  for (size_t i = 0; i < LENGTH(rows); i++)
    assert_int_equal(utf8_check(rows[i].text, rows[i].len), rows[i].fault);
  /* Eight bytes at a time: a fault is found at each place in them, and what is
   * next to a fault by its number is none. */
  char line[] = "0\x01\x7F 123456789abcdef0123456789";
  const size_t len = sizeof line - 1;
  assert_int_equal(utf8_check(line, len), len);
  for (size_t i = 0; i < len; i++) {
    char was = line[i];
    line[i] = 0;
    assert_int_equal(utf8_check(line, len), i);
    line[i] = '\x80';
    assert_int_equal(utf8_check(line, len), i);
    line[i] = was;
  }
  assert_int_equal(utf8_count("a\xE4\xBD\xA0\xFF", 5), 3);
  assert_int_equal(utf8_width("a\xE4\xBD\xA0", 4), 3);
  assert_int_equal(utf8_width("e\xCC\x81", 3), 1);
  /* East_Asian_Width, and a mark outside of the first block of marks. */
  assert_int_equal(utf8_width("\xF0\x9F\x9A\x80", 4), 2);
  assert_int_equal(utf8_width("\xE2\x9C\x85", 3), 2);
  assert_int_equal(utf8_width("\xD7\x91\xD6\x91", 4), 1);
  assert_int_equal(utf8_width("\x1B\xC3\xA9\xFF", 4), 3);
  assert_int_equal(utf8_fit("a\xE4\xBD\xA0"
                            "b",
                            5, 2),
                   1);
  assert_int_equal(utf8_fit("e\xCC\x81"
                            "b",
                            4, 1),
                   3);
}

/* --- Names --------------------------------------------------------------- */

static void names_are_unique(void **state) {
  (void)state;
  Mem m;
  NameTable t;
  names_init(&t, unit_mem(&m));
  const Name *all[5000];
  char text[16];
  for (int i = 0; i < 5000; i++) {
    sprintf(text, "name%d", i);
    all[i] = name_of(&t, text);
    assert_string_equal(all[i]->text, text);
  }
  for (int i = 0; i < 5000; i++) {
    sprintf(text, "name%d", i);
    assert_ptr_equal(name_intern(&t, text, strlen(text)), all[i]);
  }
  assert_int_equal(t.len, 5000);
  names_done(&t);
  unit_mem_done(&m);
}

static void suggestions(void **state) {
  (void)state;
  static const struct {
    const char *wanted, *offered;
    int distance;
  } rows[] = {
      {"tahn", "tanh", 1},
      {"sigmod", "sigmoid", 1},
      {"reshap", "reshape", 1},
      {"concat", "concatenate", -1},
      {"kitten", "sitting", -1},
      {"mittens", "kittans", 2},
      {"x", "y", -1},
      {"add", "and", 1},
      {"same", "same", 0},
      {"W", "w", 0},
      {"RELU", "relu", 0},
      {"batch_matmull", "batch_mtamul", 2},
  };
  for (size_t i = 0; i < LENGTH(rows); i++) {
    Suggestion s = suggestion_for(rows[i].wanted);
    suggestion_offer(&s, rows[i].offered);
    assert_int_equal(s.best ? (int)s.distance : -1, rows[i].distance);
  }
  Suggestion s = suggestion_for("logits");
  suggestion_offer(&s, "login");
  suggestion_offer(&s, "logit");
  suggestion_offer(&s, "lofts");
  assert_string_equal(s.best, "logit");
}

enum { KEYS = 200 };

/* Against an array that says what is in the map. */
static void pointer_maps(void **state) {
  (void)state;
  Mem m;
  PtrMap map;
  ptrmap_init(&map, unit_mem(&m));
  char keys[KEYS], *model[KEYS] = {0};
  uint64_t random = 7;
  assert_null(ptrmap_get(&map, &keys[0]));
  for (int step = 0; step < 20000; step++) {
    size_t k = unit_random(&random) % KEYS;
    bool remove = unit_random(&random) % 2;
    model[k] = remove ? NULL : &keys[unit_random(&random) % KEYS];
    if (remove) ptrmap_remove(&map, &keys[k]);
    else ptrmap_put(&map, &keys[k], model[k]);
    size_t other = unit_random(&random) % KEYS;
    assert_ptr_equal(ptrmap_get(&map, &keys[other]), model[other]);
    assert_int_equal(ptrmap_has(&map, &keys[other]), model[other] != NULL);
  }
  size_t len = 0;
  for (int k = 0; k < KEYS; k++) len += model[k] != NULL;
  assert_int_equal(map.len, len);
  ptrmap_done(&map);
  unit_mem_done(&m);
}

/* --- Sources ------------------------------------------------------------- */

typedef struct Desk {
  Mem mem;
  SourceMap sources;
  Diags diags;
  StrBuf out;
} Desk;

static void desk_open(Desk *d, Mem *mem) {
  sources_init(&d->sources, mem);
  diags_init(&d->diags, mem);
  strbuf_init(&d->out, mem);
  d->diags.sources = &d->sources;
}

static void desk_close(Desk *d) {
  strbuf_done(&d->out);
  diags_done(&d->diags);
  sources_done(&d->sources);
}

static SourceFile *desk_add(Desk *d, const char *path, const char *text) {
  return sources_add(&d->sources, path, text, strlen(text), false);
}

/* The span of the first `what` in a file. */
static Span span_of(const SourceFile *f, const char *what) {
  uint32_t lo = f->base + (uint32_t)(strstr(f->text, what) - f->text);
  return (Span){lo, lo + (uint32_t)strlen(what)};
}

static void places(void **state) {
  (void)state;
  Desk d;
  desk_open(&d, unit_mem(&d.mem));
  SourceFile *empty = desk_add(&d, "empty", "");
  SourceFile *f =
      desk_add(&d, "f", "\xEF\xBB\xBFone\r\n\xC3\xA9t\xC3\xA9 two\nthree");
  static const struct {
    const char *what;
    uint32_t line, column, end;
  } rows[] = {{"one", 1, 1, 4}, {"two", 2, 5, 8}, {"three", 3, 1, 6}};
  for (size_t i = 0; i < LENGTH(rows); i++) {
    Place p = sources_place(&d.sources, span_of(f, rows[i].what));
    assert_ptr_equal(p.file, f);
    assert_int_equal(p.line, rows[i].line);
    assert_int_equal(p.column, rows[i].column);
    assert_int_equal(p.end_line, rows[i].line);
    assert_int_equal(p.end_column, rows[i].end);
  }
  uint32_t len;
  assert_memory_equal(source_line(f, 1, &len), "one", 3);
  assert_int_equal(len, 3);
  Place end = sources_place(&d.sources, (Span){empty->base, empty->base});
  assert_ptr_equal(end.file, empty);
  assert_int_equal(end.line, 1);
  assert_null(sources_place(&d.sources, SPAN_NONE).file);
  assert_null(sources_file(&d.sources, (Span){4000000000u, 4000000001u}));
  desk_close(&d);
  unit_mem_done(&d.mem);
}

/* --- Diagnostics --------------------------------------------------------- */

static const char program[] =
    "def @main(%x: Tensor[(2, 3), float32]) {\n"
    "  let %b = ones(shape=[4], dtype=\"float32\");\n"
    "\tadd(%x, %b)\n"
    "}\n";

static void expect_text(Desk *d, const char *text) {
  VEC_CLEAR(&d->out);
  diags_render(&d->diags, &d->sources, (DiagLook){0}, &d->out);
  assert_string_equal(strbuf_text(&d->out), text);
}

static Diag *report_broadcast(Desk *d, SourceFile *f) {
  Diag *diag = diag_error(&d->diags, E0203, span_of(f, "%b)"),
                          "operands of `%s` do not broadcast", "add");
  diag_caption(diag, "Tensor[(4), float32]");
  diag_note(diag, span_of(f, "ones"), "this dimension, %d, comes from here", 4);
  diag_note(diag, SPAN_NONE, "shapes are aligned at their ends");
  diag_hint(diag, "3 and 4 are neither equal nor 1");
  return diag;
}

static void diagnostic_text(void **state) {
  (void)state;
  Desk d;
  desk_open(&d, unit_mem(&d.mem));
  Diag *diag = report_broadcast(&d, desk_add(&d, "model.rly", program));
  expect_text(
      &d,
      "model.rly:3:10: error[E0203]: operands of `add` do not broadcast\n"
      "    3 |  add(%x, %b)\n"
      "      |          ^^^ Tensor[(4), float32]\n"
      "    2 |   let %b = ones(shape=[4], dtype=\"float32\");\n"
      "      |            ---- this dimension, 4, comes from here\n"
      "  note: shapes are aligned at their ends\n"
      "  help: 3 and 4 are neither equal nor 1\n");
  VEC_CLEAR(&d.out);
  diag_render(diag, &d.sources, (DiagLook){.colour = true}, &d.out);
  const char *head = "model.rly:3:10: \033[1;31merror[E0203]\033[0m: operands";
  assert_memory_equal(strbuf_text(&d.out), head, strlen(head));
  desk_close(&d);
  unit_mem_done(&d.mem);
}

static void diagnostic_json(void **state) {
  (void)state;
  Desk d;
  desk_open(&d, unit_mem(&d.mem));
  Diag *diag = report_broadcast(&d, desk_add(&d, "a\"b.rly", program));
  diag_render_json(diag, &d.sources, &d.out);
  assert_string_equal(
      strbuf_text(&d.out),
      "{\"severity\": \"error\", \"code\": \"E0203\", "
      "\"file\": \"a\\\"b.rly\", \"line\": 3, \"column\": 10, "
      "\"end_line\": 3, \"end_column\": 13, "
      "\"message\": \"operands of `add` do not broadcast\", \"notes\": ["
      "{\"file\": \"a\\\"b.rly\", \"line\": 2, \"column\": 12, "
      "\"message\": \"this dimension, 4, comes from here\"}, "
      "{\"file\": null, \"line\": null, \"column\": null, "
      "\"message\": \"shapes are aligned at their ends\"}], "
      "\"hint\": \"3 and 4 are neither equal nor 1\"}\n");
  desk_close(&d);
  unit_mem_done(&d.mem);
}

/* A wide character, an invalid byte, a span over two lines, the end. */
static void odd_source_text(void **state) {
  (void)state;
  Desk d;
  desk_open(&d, unit_mem(&d.mem));
  SourceFile *f = desk_add(&d, "f", "\xE4\xBD\xA0\x1B\xFF ab\ncd\n");
  diag_error(&d.diags, E0004, span_of(f, "ab\ncd"), "unexpected \033[31m");
  uint32_t end = f->base + f->len;
  Span at_end = {end, end};
  diag_warning(&d.diags, W0001, at_end, "the end");
  expect_text(&d,
              "f:1:5: error[E0004]: unexpected \\u001b[31m\n"
              "    1 | \xE4\xBD\xA0\xEF\xBF\xBD\xEF\xBF\xBD ab\n"
              "      |      ^^\n"
              "f:3:1: warning[W0001]: the end\n"
              "    3 |\n"
              "      | ^\n");
  desk_close(&d);
  unit_mem_done(&d.mem);
}

/* Columns are counted from marks, at most SOURCE_MARK + 3 bytes before the
 * place: a place in a long line costs what one in a short line does.  Each of
 * them is what counting from the line's start gives. */
static void columns_of_a_long_line(void **state) {
  (void)state;
  Desk d;
  desk_open(&d, unit_mem(&d.mem));
  static const char piece[] = "a\xC3\xA4\xE4\xBD\xA0\xFF\xF0\x9F\x98\x80";
  StrBuf text;
  strbuf_init(&text, &d.mem);
  strbuf_add(&text, "\xEF\xBB\xBFone\n");
  size_t start = text.len;
  for (int i = 0; i < 500; i++) strbuf_add(&text, piece);
  SourceFile *f = desk_add(&d, "f", strbuf_text(&text));
  uint32_t column = 1;
  for (size_t at = start, size; at < text.len; at += size, column++) {
    uint32_t lo = f->base + (uint32_t)at;
    Place p = sources_place(&d.sources, (Span){lo, lo + 1});
    assert_int_equal(p.line, 2);
    assert_int_equal(p.column, column);
    utf8_decode(f->text + at, f->len - at, &size);
  }
  for (uint32_t i = 0; i <= f->len / SOURCE_MARK; i++)
    assert_in_range(f->marks[i].at, i * SOURCE_MARK, i * SOURCE_MARK + 3);
  strbuf_done(&text);
  desk_close(&d);
  unit_mem_done(&d.mem);
}

/* A long line is shown only around the place. */
static void long_lines(void **state) {
  (void)state;
  Desk d;
  desk_open(&d, unit_mem(&d.mem));
  static char text[5001], expected[1000];
  memset(text, '.', 5000);
  memcpy(text + 3000, "here", 4);
  SourceFile *f = desk_add(&d, "f", text);
  diag_error(&d.diags, E0004, span_of(f, "here"), "long");
  sprintf(expected,
          "f:1:3001: error[E0004]: long\n"
          "    1 | ...%.60shere%.136s...\n"
          "      | %63s^^^^\n",
          text, text, "");
  expect_text(&d, expected);
  desk_close(&d);
  unit_mem_done(&d.mem);
}

/* On a terminal the shown part, its marks and the words fit the columns. */
static void diagnostics_fit_a_terminal(void **state) {
  (void)state;
  Desk d;
  desk_open(&d, unit_mem(&d.mem));
  static char text[401];
  memset(text, '.', 400);
  memcpy(text + 300, "here", 4);
  SourceFile *f = desk_add(&d, "f", text);
  Diag *diag = diag_error(&d.diags, E0201, span_of(f, "here"),
                          "expected Tensor[(2, 3), float32], found int32");
  diag_caption(diag, "Tensor[(2, 3), float32], List[int32]");
  diag_hint(diag, "one word after the other stands here in a row");
  diags_render(&d.diags, &d.sources, (DiagLook){.columns = 40}, &d.out);
  assert_string_equal(strbuf_text(&d.out),
                      "f:1:301: error[E0201]: expected\n"
                      "    Tensor[(2, 3), float32], found int32\n"
                      "    1 | ..........here..................\n"
                      "      |           ^^^^\n"
                      "      | Tensor[(2, 3), float32],\n"
                      "      | List[int32]\n"
                      "  help: one word after the other stands\n"
                      "    here in a row\n");
  desk_close(&d);
  unit_mem_done(&d.mem);
}

/* Labels of one line: beside one another, or below where marks overlap. */
static void labels_share_a_line(void **state) {
  (void)state;
  Desk d;
  desk_open(&d, unit_mem(&d.mem));
  SourceFile *f = desk_add(&d, "f", "aa \xE4\xBD\xA0 bb cc\nnext\n");
  Diag *diag = diag_error(&d.diags, E0201, span_of(f, "bb"), "many");
  diag_note(diag, span_of(f, "next"), "another line");
  diag_note(diag, span_of(f, "aa"), "left");
  diag_note(diag, span_of(f, "\xE4\xBD\xA0"), "wide");
  diag_note(diag, span_of(f, "bb cc"), "over both");
  expect_text(&d,
              "f:1:6: error[E0201]: many\n"
              "    1 | aa \xE4\xBD\xA0 bb cc\n"
              "      | -- -- ^^\n"
              "      | |  wide\n"
              "      | left\n"
              "      |       ----- over both\n"
              "    2 | next\n"
              "      | ---- another line\n");
  desk_close(&d);
  unit_mem_done(&d.mem);
}

/* After the first of each kind stand the newest ones, the newer one last. */
static void expect_newest(const Diags *diags, const char *older,
                          const char *newer) {
  size_t count = diags_count(diags);
  assert_int_equal(count, 2 * DIAG_MAX + 2);
  assert_string_equal(diags_at(diags, count - 2)->message, older);
  assert_string_equal(diags_at(diags, count - 1)->message, newer);
  assert_null(diags_at(diags, count));
}

static void errors_in_order_and_counted(void **state) {
  (void)state;
  Desk d;
  desk_open(&d, unit_mem(&d.mem));
  SourceFile *f = desk_add(&d, "f", "one two\n");
  diag_error(&d.diags, E0101, span_of(f, "two"), "second");
  diag_error(&d.diags, E0101, span_of(f, "one"), "first");
  expect_text(&d,
              "f:1:1: error[E0101]: first\n    1 | one two\n      | ^^^\n"
              "f:1:5: error[E0101]: second\n    1 | one two\n"
              "      |     ^^^\n");
  diags_clear(&d.diags);
  for (int i = 0; i < 23; i++) {
    Diag *diag = diag_error(&d.diags, E0506, SPAN_NONE, "number %d", i);
    diag_note(diag, SPAN_NONE, "a note");
    diag_frame(diag, "@f", SPAN_NONE);
  }
  assert_int_equal(d.diags.errors, 23);
  assert_int_equal(diags_count(&d.diags), DIAG_MAX + 1);
  const Diag *newest = diags_at(&d.diags, DIAG_MAX);
  assert_string_equal(newest->message, "number 22");
  assert_int_equal(newest->notes.len, 1);
  assert_int_equal(newest->frames.len, 1);
  for (int i = 0; i < 21; i++)
    diag_warning(&d.diags, W0001, SPAN_NONE, "warning %d", i);
  assert_int_equal(d.diags.errors, 23);
  assert_int_equal(d.diags.list.len, 2 * DIAG_MAX);
  expect_newest(&d.diags, "number 22", "warning 20");
  DiagsMark mark = diags_mark(&d.diags);
  diag_error(&d.diags, E0506, SPAN_NONE, "number 23");
  expect_newest(&d.diags, "warning 20", "number 23");
  diags_return(&d.diags, mark); /* what number 23 took the place of is gone */
  assert_int_equal(diags_count(&d.diags), 2 * DIAG_MAX + 1);
  assert_string_equal(diags_at(&d.diags, 2 * DIAG_MAX)->message, "warning 20");
  assert_int_equal(d.diags.errors, 23);
  VEC_CLEAR(&d.out);
  diags_render(&d.diags, &d.sources, (DiagLook){0}, &d.out);
  const char *text = strbuf_text(&d.out);
  const char *last = "3 more errors\n1 more warning\n";
  assert_string_equal(text + strlen(text) - strlen(last), last);
  assert_null(strstr(text, "number 20"));
  assert_non_null(strstr(text, "warning 19"));
  assert_null(strstr(text, "warning 20"));
  desk_close(&d);
  unit_mem_done(&d.mem);
}

/* The calls of a trace: `inner` of the library, then one of the user's at
 * "mine", then `outer` of the library. */
static Diag *trace(Desk *d, int inner, int outer) {
  SourceFile *user = desk_add(d, "user.rly", "mine\n");
  SourceFile *library = sources_add(&d->sources, "lib.rly", "lib\n", 4, true);
  Diag *diag = diag_new(&d->diags, SEV_RUNTIME, E0606, SPAN_NONE, "oops");
  for (int i = 0; i < inner; i++)
    diag_frame(diag, "@inner", span_of(library, "lib"));
  diag_frame(diag, "@user", span_of(user, "mine"));
  for (int i = 0; i < outer; i++)
    diag_frame(diag, "@outer", span_of(library, "lib"));
  return diag;
}

static const char *traced(Desk *d) {
  diags_render(&d->diags, &d->sources, (DiagLook){0}, &d->out);
  return strbuf_text(&d->out);
}

/* Recursion, in the library and around it. */
static void call_traces(void **state) {
  (void)state;
  static const struct {
    int inner, outer;
    const char *text;
  } rows[] = {
      {0, 0, "  in @user at user.rly:1:1\n"},
      {2, 1,
       "  in @inner at lib.rly:1:1\n  ... 1 more like this\n"
       "  in @user at user.rly:1:1\n  in @outer at lib.rly:1:1\n"},
      {300000, 500,
       "  in @inner at lib.rly:1:1\n  ... 299999 more like this\n"
       "  in @user at user.rly:1:1\n"
       "  in @outer at lib.rly:1:1\n  ... 499 more like this\n"},
  };
  for (size_t i = 0; i < LENGTH(rows); i++) {
    Desk d;
    desk_open(&d, unit_mem(&d.mem));
    trace(&d, rows[i].inner, rows[i].outer);
    assert_string_equal(strchr(traced(&d), '\n') + 1, rows[i].text);
    desk_close(&d);
    unit_mem_done(&d.mem);
  }
}

/* Calls of functions named by letters, and the lines of their trace: (4) more
 * alike, (2 of 4) a block of two lines four times more, [6] left out. */
static void repeated_calls(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"fg", "fg"},
      {"ffg", "f(1)g"},
      {"fgfg", "fgfg"},
      {"fgfgfg", "fg(2 of 2)"},
      {"xfgfgfgfy", "xfg(2 of 2)fy"},
      {"fghfghfghfgz", "fgh(3 of 2)fgz"},
      {"abcdabcdabcdabcd", "abcd(4 of 3)"},
      {"abcdeabcdeabcde", "abcdeabcdeabcde"},
      {"fffgggfff", "f(2)g(2)f(2)"},
      {"ffgffgffg", "f(1)gf(1)gf(1)g"},
      {"ABCDEFGHIJKLMNOPQRSTUVWXYZ", "ABCDEFGHIJ[6]QRSTUVWXYZ"},
      {"ABCDEFGHIJKLMNfgfgfgfgfgOPQRSTUV", "ABCDEFGHIJ[4]fg(2 of 4)OPQRSTUV"},
      {"ABCDEFGHIJKLMNfgfgfgfgfgOPQRSTUVW", "ABCDEFGHIJ[14]OPQRSTUVW"},
      {"ABCDEFGHIJKLMNfgfgfgfgfgOPQRSTUVWXYZ", "ABCDEFGHIJ[16]QRSTUVWXYZ"},
      {"ABCDEFGHIJfgfgfgfgKLMNOPQRSTUVWXYZ", "ABCDEFGHIJ[14]QRSTUVWXYZ"},
  };
  for (size_t i = 0; i < LENGTH(rows); i++) {
    Desk d;
    desk_open(&d, unit_mem(&d.mem));
    Diag *diag = diag_new(&d.diags, SEV_RUNTIME, E0606, SPAN_NONE, "oops");
    for (const char *c = rows[i][0]; *c; c++)
      diag_frame(diag, (char[]){*c, 0}, SPAN_NONE);
    char got[100] = "";
    for (char *line = strchr(traced(&d), '\n') + 1, *end; *line; line = end) {
      char name, part[30];
      unsigned long n, block;
      if (sscanf(line, "  in %c", &name) == 1)
        snprintf(part, sizeof part, "%c", name);
      else if (sscanf(line, "  ... these %lu again, %lu", &block, &n) == 2)
        snprintf(part, sizeof part, "(%lu of %lu)", block, n);
      else if (sscanf(line, "  ... %lu frames%c", &n, &name) == 2)
        snprintf(part, sizeof part, "[%lu]", n);
      else if (sscanf(line, "  ... %lu more like this", &n) == 1)
        snprintf(part, sizeof part, "(%lu)", n);
      else fail_msg("%s", line);
      strncat(got, part, sizeof got - strlen(got) - 1);
      end = strchr(line, '\n') + 1;
    }
    assert_string_equal(got, rows[i][1]);
    desk_close(&d);
    unit_mem_done(&d.mem);
  }
}

static void codes(void **state) {
  (void)state;
  assert_string_equal(diag_code_text(E0203), "E0203");
  assert_int_equal(diag_code_find("E0203"), E0203);
  assert_int_equal(diag_code_find("E9999"), DIAG_CODE_COUNT);
  for (int i = 0; i < DIAG_CODE_COUNT; i++)
    assert_int_equal(diag_code_find(diag_code_text((DiagCode)i)), i);
}

/* --- When memory runs out ------------------------------------------------ */

static void report_something(Mem *m) {
  Desk d;
  NameTable names;
  PtrMap map;
  desk_open(&d, m);
  names_init(&names, m);
  ptrmap_init(&map, m);
  SourceFile *f = desk_add(&d, "model.rly", program);
  if (f) {
    for (int i = 0; i < 40; i++) {
      char text[16];
      sprintf(text, "name%d", i);
      ptrmap_put(&map, name_of(&names, text), &names);
    }
    Diag *diag = report_broadcast(&d, f);
    for (int i = 0; i < 30; i++) diag_frame(diag, "@f", span_of(f, "add"));
    diags_render(&d.diags, &d.sources, (DiagLook){0}, &d.out);
    diag_render_json(diag, &d.sources, &d.out);
  }
  ptrmap_done(&map);
  names_done(&names);
  desk_close(&d);
}

static void survives_every_failing_allocation(void **state) {
  (void)state;
  unit_walk_failures(report_something);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mem_counts_bytes),
      cmocka_unit_test(mem_respects_its_limit),
      cmocka_unit_test(mem_fails_where_told),
      cmocka_unit_test(mem_is_shared_by_threads),
      cmocka_unit_test(mem_aligns),
      cmocka_unit_test(sizes_as_text),
      cmocka_unit_test(heap_lies_in_huge_pages),
      cmocka_unit_test(arena_memory_is_zeroed_and_apart),
      cmocka_unit_test(arena_goes_back_to_a_mark),
      cmocka_unit_test(arena_goes_beyond_the_limit),
      cmocka_unit_test(arena_draws_on_the_reserve),
      cmocka_unit_test(children_count_in_their_parents),
      cmocka_unit_test(watchers_keep_what_they_saw),
      cmocka_unit_test(vectors_drop_what_does_not_fit),
      cmocka_unit_test(pools_reuse_blocks),
      cmocka_unit_test(escaping),
      cmocka_unit_test(utf8_code_points),
      cmocka_unit_test(utf8_faults),
      cmocka_unit_test(names_are_unique),
      cmocka_unit_test(suggestions),
      cmocka_unit_test(pointer_maps),
      cmocka_unit_test(places),
      cmocka_unit_test(diagnostic_text),
      cmocka_unit_test(diagnostic_json),
      cmocka_unit_test(odd_source_text),
      cmocka_unit_test(columns_of_a_long_line),
      cmocka_unit_test(long_lines),
      cmocka_unit_test(diagnostics_fit_a_terminal),
      cmocka_unit_test(labels_share_a_line),
      cmocka_unit_test(errors_in_order_and_counted),
      cmocka_unit_test(call_traces),
      cmocka_unit_test(repeated_calls),
      cmocka_unit_test(codes),
      cmocka_unit_test(survives_every_failing_allocation),
  };
  return RUN_TESTS(tests);
}
