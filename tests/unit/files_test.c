/* The C API's files of tensors: each format by its extension and by its first
 * bytes, what is refused, and that misuse changes nothing.  io_test.c and
 * archive_test.c pin the bytes.
 *
 * Each format is written and read through the API, found by its extension and,
 * without one, by its first bytes. */
#include "include/rly.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/unit.h"

/* A context, a folder, and the path of a file in it. */
typedef struct Table {
  rly_context *cx;
  char folder[32], path[64];
} Table;

static void table_open(Table *t, const rly_options *options) {
  t->cx = rly_context_new(options);
  assert_non_null(t->cx);
  strcpy(t->folder, "/tmp/rly-files-XXXXXX");
  assert_non_null(mkdtemp(t->folder));
}

static const char *named(Table *t, const char *name) {
  snprintf(t->path, sizeof t->path, "%s/%s", t->folder, name);
  return t->path;
}

/* A file that a test left in the folder is a mistake. */
static void table_close(Table *t) {
  assert_int_equal(rmdir(t->folder), 0);
  rly_context_free(t->cx);
}

static void assert_said(Table *t, const char *words) {
  char *text = rly_diagnostics_text(t->cx, false);
  assert_non_null(text);
  if (!strstr(text, words)) fail_msg("`%s` is not in: %s", words, text);
  rly_text_free(t->cx, text);
  rly_diagnostics_clear(t->cx);
}

static void add(Table *t, rly_tensors *ts, const char *name, float first) {
  int64_t shape[] = {2, 1};
  rly_tensor *x =
      rly_tensor_new(t->cx, "float32", 2, shape, (float[]){first, first + 1});
  assert_int_equal(rly_tensors_add(ts, name, x), RLY_OK);
  rly_tensor_free(x);
}

static void assert_holds(rly_tensors *ts, const char *name, float first) {
  rly_tensor *x = rly_tensors_get(ts, name);
  assert_non_null(x);
  assert_string_equal(rly_tensor_dtype(x), "float32");
  assert_int_equal(rly_tensor_rank(x), 2);
  assert_int_equal(rly_tensor_dim(x, 0), 2);
  const float *data = rly_tensor_data(x);
  assert_true(data[0] == first && data[1] == first + 1);
  rly_tensor_free(x);
}

/* --- What works ----------------------------------------------------------- */

static rly_tensors *read_file(Table *t, const char *path) {
  rly_tensors *ts = NULL;
  assert_int_equal(rly_tensors_read(t->cx, path, &ts), RLY_OK);
  assert_non_null(ts);
  return ts;
}

/* The first bytes of each format, from its own description. */
static void assert_begins(const char *path, const char *magic, size_t at) {
  char bytes[16] = {0};
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fread(bytes, 1, sizeof bytes, file), sizeof bytes);
  fclose(file);
  assert_memory_equal(bytes + at, magic, strlen(magic));
}

/* Every format, found by extension, then by its bytes under another name. */
static void test_formats(void **state) {
  (void)state;
  static const struct {
    const char *file, *magic;
    size_t at;
  } rows[] = {
      {"x.safetensors", "{\"", 8},
      {"x.npz", "PK\3\4", 0},
      {"x.params", "\xB7\x9C\x04\x05\x4F\x8D\xE5\xF7", 0},
      {"x.other", "{\"", 8},
  };
  Table t;
  table_open(&t, NULL);
  rly_tensors *made = rly_tensors_new(t.cx);
  add(&t, made, "a", 1);
  add(&t, made, "b", 5);
  assert_int_equal(rly_tensors_count(made), 2);
  for (size_t i = 0; i < LENGTH(rows); i++) {
    char renamed[64];
    strcpy(renamed, named(&t, "file.d.x"));
    const char *path = named(&t, rows[i].file);
    assert_int_equal(rly_tensors_write(made, path), RLY_OK);
    assert_begins(path, rows[i].magic, rows[i].at);
    for (int by_magic = 0; by_magic <= 1; by_magic++) {
      rly_tensors *read = read_file(&t, by_magic ? renamed : path);
      assert_int_equal(rly_tensors_count(read), 2);
      assert_holds(read, "b", 5);
      assert_holds(read, "a", 1);
      rly_tensors_free(read);
      if (!by_magic) assert_int_equal(rename(path, renamed), 0);
    }
    unlink(renamed);
  }
  rly_tensors_free(made);
  table_close(&t);
}

static void test_npy(void **state) {
  (void)state;
  Table t;
  table_open(&t, NULL);
  rly_tensors *made = rly_tensors_new(t.cx);
  const char *path = named(&t, "w.0.npy");
  assert_int_equal(rly_tensors_write(made, path), RLY_RUNTIME);
  assert_said(&t, "one tensor, not 0");
  add(&t, made, "anything", 3);
  assert_int_equal(rly_tensors_write(made, path), RLY_OK);
  rly_tensors *read = read_file(&t, path);
  assert_int_equal(rly_tensors_count(read), 1);
  assert_string_equal(rly_tensors_name(read, 0), "w.0");
  assert_holds(read, "w.0", 3);
  rly_tensors_free(read);
  unlink(path);
  add(&t, made, "more", 4);
  assert_int_equal(rly_tensors_write(made, path), RLY_RUNTIME);
  assert_said(&t, "one tensor, not 2");
  rly_tensors_free(made);
  table_close(&t);
}

/* A Fortran-ordered array is row-major to the host. */
static void test_order(void **state) {
  (void)state;
  static const char file[] =
      "\x93NUMPY\1\0\x3C\0"
      "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), } \n"
      "\1\4\2\5\3\6";
  Table t;
  table_open(&t, NULL);
  const char *path = named(&t, "m.npy");
  FILE *out = fopen(path, "wb");
  assert_non_null(out);
  assert_int_equal(fwrite(file, 1, sizeof file - 1, out), sizeof file - 1);
  fclose(out);
  rly_tensors *read = read_file(&t, path);
  rly_tensor *m = rly_tensors_get(read, "m");
  rly_tensors_free(read);
  unlink(path);
  assert_non_null(m);
  assert_memory_equal(rly_tensor_data(m), "\1\2\3\4\5\6", 6);
  rly_tensor_free(m);
  table_close(&t);
}

static void test_metadata(void **state) {
  (void)state;
  Table t;
  table_open(&t, NULL);
  rly_tensors *made = rly_tensors_new(t.cx);
  assert_int_equal(rly_tensors_add_metadata(made, "k", "v\n"), RLY_OK);
  assert_int_equal(rly_tensors_add_metadata(made, "k", "w"), RLY_MISUSE);
  const char *path = named(&t, "x.safetensors");
  assert_int_equal(rly_tensors_write(made, path), RLY_OK);
  rly_tensors_free(made);
  rly_tensors *read = read_file(&t, path);
  unlink(path);
  assert_int_equal(rly_tensors_count(read), 0);
  assert_string_equal(rly_tensors_metadata(read, "k"), "v\n");
  assert_null(rly_tensors_metadata(read, "other"));
  rly_tensors_free(read);
  table_close(&t);
}

/* --- What is refused ------------------------------------------------------ */

static void test_misuse(void **state) {
  (void)state;
  Table t, other;
  table_open(&t, NULL);
  table_open(&other, NULL);
  rly_tensors *ts = rly_tensors_new(t.cx), *untouched = ts;
  rly_tensor *x = rly_tensor_new(t.cx, "bool", 0, NULL, "\1");
  rly_tensor *foreign = rly_tensor_new(other.cx, "bool", 0, NULL, "\1");
  assert_null(rly_tensors_new(NULL));
  assert_int_equal(rly_tensors_read(NULL, "x", &untouched), RLY_MISUSE);
  assert_int_equal(rly_tensors_read(t.cx, NULL, &untouched), RLY_MISUSE);
  assert_int_equal(rly_tensors_read(t.cx, "x", NULL), RLY_MISUSE);
  assert_int_equal(rly_tensors_write(NULL, "x"), RLY_MISUSE);
  assert_int_equal(rly_tensors_write(ts, NULL), RLY_MISUSE);
  assert_int_equal(rly_tensors_add(NULL, "x", x), RLY_MISUSE);
  assert_int_equal(rly_tensors_add(ts, NULL, x), RLY_MISUSE);
  assert_int_equal(rly_tensors_add(ts, "\xff", x), RLY_MISUSE);
  assert_int_equal(rly_tensors_add(ts, "__metadata__", x), RLY_MISUSE);
  assert_int_equal(rly_tensors_add_metadata(ts, "\xff", "v"), RLY_MISUSE);
  assert_int_equal(rly_tensors_add_metadata(ts, "k", "\xff"), RLY_MISUSE);
  assert_int_equal(rly_tensors_add(ts, "", x), RLY_MISUSE);
  assert_int_equal(rly_tensors_add(ts, "x", NULL), RLY_MISUSE);
  assert_int_equal(rly_tensors_add(ts, "x", foreign), RLY_MISUSE);
  assert_int_equal(rly_tensors_add(ts, "x", x), RLY_OK);
  assert_int_equal(rly_tensors_add(ts, "x", x), RLY_MISUSE);
  assert_int_equal(rly_tensors_add_metadata(ts, NULL, "v"), RLY_MISUSE);
  assert_int_equal(rly_tensors_add_metadata(ts, "k", NULL), RLY_MISUSE);
  assert_int_equal(rly_tensors_count(ts), 1);
  assert_int_equal(rly_tensors_count(NULL), 0);
  assert_null(rly_tensors_name(ts, 1));
  assert_null(rly_tensors_get(ts, "y"));
  assert_null(rly_tensors_get(NULL, "x"));
  assert_null(rly_tensors_metadata(ts, NULL));
  assert_ptr_equal(untouched, ts);
  rly_tensors_free(NULL);
  rly_tensor_free(x);
  rly_tensor_free(foreign);
  rly_tensors_free(ts);
  table_close(&other);
  table_close(&t);
}

static void test_unreadable(void **state) {
  (void)state;
  Table t;
  table_open(&t, NULL);
  rly_tensors *ts = NULL;
  static const char *const names[] = {"n.safetensors", "n.npz", "n.npy",
                                      "n.params", "n"};
  for (size_t i = 0; i < LENGTH(names); i++) {
    assert_int_equal(rly_tensors_read(t.cx, named(&t, names[i]), &ts),
                     RLY_REFUSED);
    assert_int_equal(rly_diagnostic_count(t.cx), 1);
    assert_said(&t, "E0501");
    ts = rly_tensors_new(t.cx);
    add(&t, ts, "x", 1);
    char path[80];
    snprintf(path, sizeof path, "%s/none/%s", t.folder, names[i]);
    assert_int_equal(rly_tensors_write(ts, path), RLY_RUNTIME);
    assert_said(&t, "E0507");
    rly_tensors_free(ts);
    ts = NULL;
  }
  assert_null(ts);
  table_close(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_formats), cmocka_unit_test(test_npy),
      cmocka_unit_test(test_order),   cmocka_unit_test(test_metadata),
      cmocka_unit_test(test_misuse),  cmocka_unit_test(test_unreadable),
  };
  return RUN_TESTS(tests);
}
