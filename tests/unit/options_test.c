/* What a host says when it makes contexts and sessions: structs of another
 * version's size, an allocator of its own, and which version the header is. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/handles.h"
#include "tests/unit/host.h"

/* --- Versions ------------------------------------------------------------- */

static void test_version(void **state) {
  (void)state;
  char text[32];
  snprintf(text, sizeof text, "%d.%d.%d", RLY_VERSION_MAJOR, RLY_VERSION_MINOR,
           RLY_VERSION_PATCH);
  assert_string_equal(text, rly_version());
  snprintf(text, sizeof text, "%d.%d.%d", RLY_VERSION / 10000,
           RLY_VERSION / 100 % 100, RLY_VERSION % 100);
  assert_string_equal(text, rly_version());
}

/* An option struct as a later version may have it. */
typedef struct Later {
  rly_options options;
  size_t more;
} Later;

static void test_sizes(void **state) {
  (void)state;
  Later later = {.options = {.size = sizeof later, .max_depth = 7}};
  rly_context *cx = rly_context_new(&later.options);
  assert_non_null(cx);
  later.more = 1;
  assert_null(rly_context_new(&later.options));
  assert_non_null(strstr(rly_misuse(), "of a later version than"));
  rly_program *p = host_program(cx, "");
  struct {
    rly_session_options options;
    void *more;
  } wide = {.options = {.size = sizeof wide}, .more = &wide};
  assert_null(rly_session_new(p, &wide.options));
  wide.more = NULL;
  rly_session *s = rly_session_new(p, &wide.options);
  assert_non_null(s);
  later = (Later){.options = {.size = sizeof later}, .more = 5};
  assert_int_equal(rly_session_limits(s, &later.options), RLY_OK);
  assert_int_equal(later.options.max_depth, 7);
  assert_int_equal(later.options.size, sizeof later);
  assert_int_equal(later.more, 5);
  rly_session_free(s);
  rly_program_free(p);
  rly_context_free(cx);
}

/* No version has a struct that is smaller than that of version 0.1. */
static void test_sizes_of_none(void **state) {
  (void)state;
  rly_context *cx = rly_context_new(NULL);
  rly_program *p = host_program(cx, "");
  rly_session *s = rly_session_new(p, NULL);
  const size_t sizes[] = {1, sizeof(size_t), offsetof(rly_options, max_steps),
                          offsetof(rly_options, allocator)};
  for (int i = 0; i < 4; i++) {
    rly_options options = {.size = sizes[i], .max_depth = 99};
    assert_null(rly_context_new(&options));
    assert_non_null(strstr(rly_misuse(), "rly_context_new: options of size "));
    assert_non_null(strstr(rly_misuse(), " are of no version: 0.1 has "));
    assert_int_equal(rly_session_set_limits(s, &options), RLY_MISUSE);
    assert_int_equal(rly_session_limits(s, &options), RLY_MISUSE);
    assert_non_null(strstr(rly_misuse(), "rly_session_limits: options of "));
    assert_int_equal(options.max_depth, 99);
  }
  rly_session_options narrow = {.size = 1};
  assert_null(rly_session_new(p, &narrow));
  assert_non_null(strstr(rly_misuse(), "options of size 1 are of no version"));
  rly_session_free(s);
  rly_program_free(p);
  rly_context_free(cx);
}

/* A library of a later version than the host, as nothing of this one can be. */
static void test_sizes_of_before(void **state) {
  (void)state;
  struct Members {
    size_t size;
    int first, later;
  } host = {.size = offsetof(struct Members, later), .first = 1, .later = 2},
    taken;
  StructSize size = {sizeof host, END_OF(struct Members, first)};
  assert_true(struct_take("f", &taken, size, &host));
  assert_int_equal(taken.first, 1);
  assert_int_equal(taken.later, 0);
  taken.first = taken.later = 3;
  assert_true(struct_give("f", &host, size, &taken));
  assert_int_equal(host.first, 3);
  assert_int_equal(host.later, 2);
  host.size = 0; /* version 0.1 */
  assert_true(struct_take("f", &taken, size, &host));
  assert_int_equal(taken.later, 0);
}

/* --- An allocator of the host's own --------------------------------------- */

/* Each block has its size and its alignment before it. */
typedef struct BlockHead {
  size_t size, alignment;
} BlockHead;

typedef struct Counts {
  size_t blocks, bytes, made;
  size_t fail_at; /* the request of this number gets nothing; 0: all do */
} Counts;

static void *allocate(void *data, size_t size, size_t alignment) {
  Counts *c = data;
  assert_true(alignment == 16 || alignment == 64);
  assert_true(size > 0);
  if (++c->made == c->fail_at) return NULL;
  char *base = aligned_alloc(64, 64 + (size + 63) / 64 * 64);
  memset(base, 0xA5, 64 + size); /* nobody may believe that it is zero */
  *(BlockHead *)base = (BlockHead){size, alignment};
  c->blocks++;
  c->bytes += size;
  return base + 64;
}

static void release(void *data, void *block, size_t size) {
  Counts *c = data;
  char *base = (char *)block - 64;
  assert_int_equal(((BlockHead *)base)->size, size);
  c->blocks--;
  c->bytes -= size;
  free(base);
}

static void *resize(void *data, void *block, size_t size, size_t new_size) {
  assert_int_equal(((BlockHead *)((char *)block - 64))->alignment, 16);
  void *made = allocate(data, new_size, 16);
  if (!made) return NULL;
  memcpy(made, block, size < new_size ? size : new_size);
  release(data, block, size);
  return made;
}

static const char text[] =
    "param @w: Tensor[(8, 8), float32];\n"
    "let @h = ref(zeros(shape=[8], dtype=\"float32\"));\n"
    "def @step(%x: Tensor[(8), float32]) {\n"
    "  ref_write(@h, tanh(ref_read(@h) + %x + sum(@w, axis=[1])));\n"
    "  ref_read(@h)\n"
    "}\n"
    "def @list(%n: int32) -> List[int32] {\n"
    "  if (%n == 0) { Nil } else { Cons(%n, @list(%n - 1)) }\n"
    "}\n"
    "def @grad() { grad(fn (%x: Tensor[(8), float32]) { sum(@step(%x)) })\n"
    "  (ones(shape=[8], dtype=\"float32\")) }\n"
    "@length(@list(1000));\n@step(ones(shape=[8], dtype=\"float32\"));\n"
    "@grad();\n";

/* Everything that can fail ends in a status; the text of a message, too. */
static rly_status use(Counts *c) {
  const rly_allocator allocator = {allocate, resize, release, c};
  rly_context *cx = rly_context_new(&(rly_options){.allocator = &allocator});
  rly_program *p = rly_program_new(cx);
  rly_status status =
      p ? rly_program_add_text(p, "test", text, strlen(text), 0) : RLY_LIMIT;
  float weights[64] = {0};
  rly_tensor *w = rly_tensor_new(cx, "float32", 2, (int64_t[]){8, 8}, weights);
  if (status == RLY_OK)
    status = w ? rly_program_bind_tensor(p, "w", w) : RLY_LIMIT;
  rly_tensor_free(w);
  rly_session *s = status == RLY_OK ? rly_session_new(p, NULL) : NULL;
  if (status == RLY_OK) status = s ? rly_session_run(s, NULL, NULL) : RLY_LIMIT;
  char *said = rly_session_diagnostics_text(s, false);
  rly_text_free(cx, said);
  rly_session_free(s);
  rly_program_free(p);
  rly_context_free(cx);
  return status;
}

static void test_allocator(void **state) {
  (void)state;
  Counts c = {0};
  assert_int_equal(use(&c), RLY_OK);
  assert_true(c.made > 100);
  assert_int_equal(c.blocks, 0);
  assert_int_equal(c.bytes, 0);
  size_t all = c.made;
  for (size_t n = 1; n <= all; n += 1 + n / 16) {
    c = (Counts){.fail_at = n};
    use(&c);
    assert_int_equal(c.blocks, 0);
  }
}

/* The struct may go at once; what is left out is told. */
static void test_allocator_struct(void **state) {
  (void)state;
  Counts c = {0};
  rly_allocator allocator = {allocate, resize, release, &c};
  const rly_options options = {.allocator = &allocator};
  rly_context *cx = rly_context_new(&options);
  memset(&allocator, 0, sizeof allocator);
  assert_non_null(cx);
  assert_true(c.blocks > 0);
  rly_program *p = host_program(cx, "def @f() { 1 }");
  rly_program_free(p);
  rly_context_free(cx);
  assert_int_equal(c.blocks, 0);
  assert_null(rly_context_new(&options));
  assert_non_null(strstr(rly_misuse(), "allocate, resize and release"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_version),
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_sizes_of_none),
      cmocka_unit_test(test_sizes_of_before),
      cmocka_unit_test(test_allocator),
      cmocka_unit_test(test_allocator_struct),
  };
  return RUN_TESTS(tests);
}
