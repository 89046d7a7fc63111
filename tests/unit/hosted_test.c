/* Files of the host (rly_context_set_files): texts, imports, tensors of each
 * format and states that come from memory and go there; what is the system's
 * nevertheless; what is refused; and that bytes are released just once.
 *
 * The host here is a shelf of a few files by path, whose bytes are copied for
 * each reader and freed by `release`. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/host.h"

enum { FILES_MAX = 16 };

typedef struct Shelf {
  rly_context *cx;
  struct {
    const char *path;
    char *bytes;
    size_t size;
  } files[FILES_MAX];
  int count;
  int lent, given_back; /* bytes that readers had, and have released */
  bool alone;           /* the system has no files */
  bool odd;             /* the bytes that are lent begin at odd addresses */
} Shelf;

static Shelf *lender; /* whose bytes are released */

static void give_back(void *bytes) {
  free(bytes);
  lender->given_back++;
}

static int at(const Shelf *s, const char *path) {
  for (int i = 0; i < s->count; i++)
    if (!strcmp(s->files[i].path, path)) return i;
  return -1;
}

static rly_file on_read(void *data, const char *path, rly_bytes *out) {
  Shelf *s = data;
  int i = at(s, path);
  if (i < 0) return s->alone ? RLY_FILE_NONE : RLY_FILE_OF_SYSTEM;
  /* no byte more after them, so that the address sanitizer sees all reads */
  char *block = malloc(s->files[i].size + s->odd), *copy = block + s->odd;
  memcpy(copy, s->files[i].bytes, s->files[i].size);
  *out = (rly_bytes){copy, s->files[i].size, give_back, block};
  s->lent++;
  return RLY_FILE_DONE;
}

static void put(Shelf *s, const char *path, const void *bytes, size_t size) {
  int i = at(s, path);
  if (i < 0) i = s->count++;
  else free(s->files[i].bytes), free((char *)s->files[i].path);
  assert_true(i < FILES_MAX);
  s->files[i].path = strdup(path);
  s->files[i].bytes = malloc(size ? size : 1);
  s->files[i].size = size;
  memcpy(s->files[i].bytes, bytes, size);
}

static void put_text(Shelf *s, const char *path, const char *text) {
  put(s, path, text, strlen(text));
}

static rly_file on_write(void *data, const char *path, const void *bytes,
                         size_t size) {
  Shelf *s = data;
  if (!strncmp(path, "no/", 3)) return RLY_FILE_NONE;
  if (!strncmp(path, "/tmp/", 5)) return RLY_FILE_OF_SYSTEM;
  put(s, path, bytes, size);
  return RLY_FILE_DONE;
}

static void shelf_open(Shelf *s, const rly_options *options) {
  *s = (Shelf){.cx = rly_context_new(options)};
  lender = s;
  rly_files files = {.read = on_read, .write = on_write, .data = s};
  assert_int_equal(rly_context_set_files(s->cx, &files), RLY_OK);
}

static void shelf_close(Shelf *s) {
  rly_context_free(s->cx);
  assert_int_equal(s->lent, s->given_back);
  for (int i = 0; i < s->count; i++)
    free(s->files[i].bytes), free((char *)s->files[i].path);
}

static void assert_said(Shelf *s, const char *words) {
  char *text = rly_diagnostics_text(s->cx, false);
  assert_non_null(text);
  if (!strstr(text, words)) fail_msg("`%s` is not in: %s", words, text);
  rly_text_free(s->cx, text);
  rly_diagnostics_clear(s->cx);
}

static int32_t number(rly_session *s, const char *name) {
  rly_value *v = NULL;
  assert_int_equal(rly_session_call(s, name, 0, NULL, &v), RLY_OK);
  int32_t n = *(const int32_t *)rly_value_elements(v);
  rly_value_free(v);
  return n;
}

/* --- Texts ---------------------------------------------------------------- */

/* b.rly is imported by three paths, and is one file. */
static void test_imports(void **state) {
  (void)state;
  Shelf s;
  shelf_open(&s, NULL);
  put_text(
      &s, "app/main.rly",
      "import \"lib/a.rly\";\nimport \"./lib/../lib//b.rly\";\n"
      "import \"../other.rly\";\ndef @main() { @a() + @b() + @other() }\n");
  put_text(&s, "app/lib/a.rly", "import \"b.rly\";\ndef @a() { 100 + @b() }\n");
  put_text(&s, "app/lib/b.rly", "def @b() { 10 }\n");
  put_text(&s, "other.rly",
           "import \"app/lib/b.rly\";\ndef @other() { @b() - 4 }\n");
  rly_program *p = rly_program_new(s.cx);
  assert_int_equal(rly_program_add_file(p, "app/main.rly", 0), RLY_OK);
  rly_session *session = rly_session_new(p, NULL);
  assert_int_equal(number(session, "main"), 100 + 10 + 10 + 10 - 4);
  rly_session_free(session);
  rly_program_free(p);
  shelf_close(&s);
}

static rly_status add_file(Shelf *s, const char *path) {
  rly_program *p = rly_program_new(s->cx);
  rly_status status = rly_program_add_file(p, path, 0);
  rly_program_free(p);
  return status;
}

static void test_imports_refused(void **state) {
  (void)state;
  Shelf s;
  shelf_open(&s, NULL);
  s.alone = true;
  put_text(&s, "self.rly", "import \"x/../self.rly\";\n");
  put_text(&s, "none.rly", "import \"nothing.rly\";\n");
  put_text(&s, "up.rly", "import \"../../up.rly\";\n");
  put_text(&s, "broken.rly", "import \"wrong.rly\";\n");
  put_text(&s, "wrong.rly", "def @f() { 1 + 1f }\n");
  assert_int_equal(add_file(&s, "self.rly"), RLY_REFUSED);
  assert_said(&s, "it imports itself");
  assert_int_equal(add_file(&s, "none.rly"), RLY_REFUSED);
  assert_said(&s, "cannot import \"nothing.rly\": No such file");
  assert_int_equal(add_file(&s, "up.rly"), RLY_REFUSED);
  assert_said(&s, "No such file");
  assert_int_equal(add_file(&s, "broken.rly"), RLY_REFUSED);
  assert_said(&s, "wrong.rly:1:");
  /* There is one, but it is the system's. */
  assert_int_equal(add_file(&s, "/etc/passwd"), RLY_REFUSED);
  assert_said(&s, "cannot read /etc/passwd: No such file");
  shelf_close(&s);
}

static void no_release(void *owner) { (void)owner, fail(); }

/* Whatever is there with another answer than RLY_FILE_DONE is nothing. */
static rly_file read_oddly(void *data, const char *path, rly_bytes *out) {
  const rly_file *answer = data;
  (void)path;
  *out =
      (rly_bytes){*answer == RLY_FILE_DONE ? NULL : "1;", 2, no_release, NULL};
  return *answer;
}

static void test_odd_answers(void **state) {
  (void)state;
  for (int i = RLY_FILE_OF_SYSTEM; i <= RLY_FILE_NONE + 1; i++) {
    Shelf s = {.cx = rly_context_new(NULL)};
    rly_file answer = (rly_file)i;
    rly_files files = {.read = read_oddly, .data = &answer};
    assert_int_equal(rly_context_set_files(s.cx, &files), RLY_OK);
    assert_int_equal(add_file(&s, "odd.rly"), RLY_REFUSED);
    assert_said(&s, "cannot read odd.rly: No such file");
    rly_tensors *ts = NULL;
    assert_int_equal(rly_tensors_read(s.cx, "odd.npz", &ts), RLY_REFUSED);
    assert_said(&s, "cannot read odd.npz: No such file");
    rly_context_free(s.cx);
  }
}

/* With `safe` a file of the host imports neither from above its folder nor
 * files of the system. */
static void test_safe(void **state) {
  (void)state;
  Shelf s;
  shelf_open(&s, &(rly_options){.safe = true});
  put_text(&s, "a/in.rly", "import \"b/below.rly\";\ndef @f() { @g() }\n");
  put_text(&s, "a/b/below.rly", "def @g() { 1 }\n");
  put_text(&s, "a/out.rly", "import \"../above.rly\";\n");
  put_text(&s, "above.rly", "def @g() { 1 }\n");
  put_text(&s, "a/system.rly", "import \"tests.rly\";\n");
  assert_int_equal(add_file(&s, "a/in.rly"), RLY_OK);
  assert_int_equal(add_file(&s, "a/out.rly"), RLY_REFUSED);
  assert_said(&s, "it lies outside the importing folder");
  assert_int_equal(add_file(&s, "a/system.rly"), RLY_REFUSED);
  rly_diagnostics_clear(s.cx);
  shelf_close(&s);
}

/* --- Tensors -------------------------------------------------------------- */

/* Written to the shelf and read from it, in each format that is written.
 * Bytes that begin at odd addresses serve as well. */
static void test_tensors(void **state) {
  (void)state;
  static const char *const paths[] = {"w.safetensors", "w.npz", "w.params",
                                      "w.npy", "w"};
  Shelf s;
  shelf_open(&s, NULL);
  rly_tensor *w = rly_tensor_new(s.cx, "float32", 1, (int64_t[]){3},
                                 (float[]){1.5f, 2, -3});
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
    rly_tensors *ts = rly_tensors_new(s.cx), *back = NULL;
    assert_int_equal(rly_tensors_add(ts, "w", w), RLY_OK);
    assert_int_equal(rly_tensors_write(ts, paths[i]), RLY_OK);
    assert_int_equal(access(paths[i], F_OK), -1);
    for (int odd = 0; odd < 2; odd++) {
      s.odd = odd;
      assert_int_equal(rly_tensors_read(s.cx, paths[i], &back), RLY_OK);
      rly_tensor *t = rly_tensors_get(back, "w");
      rly_tensors_free(back);
      assert_memory_equal(rly_tensor_data(t), rly_tensor_data(w), 12);
      rly_tensor_free(t);
    }
    s.odd = false;
    rly_tensors_free(ts);
  }
  rly_tensors *ts = rly_tensors_new(s.cx);
  assert_int_equal(rly_tensors_write(ts, "no/w.safetensors"), RLY_RUNTIME);
  assert_said(&s, "cannot write no/w.safetensors: Permission denied");
  rly_tensors_free(ts);
  rly_program *p =
      host_program(s.cx,
                   "param @w: Tensor[(3), float32];\n"
                   "def @main() { cast(sum(@w), dtype=\"int32\") }\n");
  assert_int_equal(rly_program_bind_file(p, "w.npz"), RLY_OK);
  rly_session *session = rly_session_new(p, NULL);
  assert_int_equal(number(session, "main"), 0); /* 1.5 + 2 - 3 */
  rly_session_free(session);
  rly_program_free(p);
  rly_tensor_free(w);
  shelf_close(&s);
}

/* --- States --------------------------------------------------------------- */

static void test_state(void **state) {
  (void)state;
  Shelf s;
  shelf_open(&s, NULL);
  rly_program *p =
      host_program(s.cx,
                   "let @n = ref(0);\ndef @step() -> int32 {\n"
                   "  ref_write(@n, ref_read(@n) + 1); ref_read(@n) }\n");
  rly_session *a = rly_session_new(p, NULL), *b = rly_session_new(p, NULL);
  number(a, "step");
  number(a, "step");
  assert_int_equal(rly_session_save(a, "a.state"), RLY_OK);
  assert_int_equal(rly_session_load(b, "a.state"), RLY_OK);
  assert_int_equal(number(b, "step"), 3);
  char *report = NULL;
  assert_int_equal(rly_session_carry_file(b, "a.state", &report), RLY_OK);
  assert_non_null(strstr(report, "kept"));
  rly_text_free(s.cx, report);
  assert_int_equal(number(b, "step"), 3);
  /* what the host leaves to the system is a file of it */
  char path[] = "/tmp/rly-hosted-XXXXXX";
  close(mkstemp(path));
  assert_int_equal(rly_session_save(a, path), RLY_OK);
  assert_int_equal(access(path, F_OK), 0);
  assert_int_equal(rly_session_load(b, path), RLY_OK);
  assert_int_equal(number(b, "step"), 3);
  unlink(path);
  assert_int_equal(rly_session_save(a, "no/state"), RLY_RUNTIME);
  assert_int_equal(rly_session_load(b, "none.state"), RLY_REFUSED);
  /* a damaged one, byte by byte cut, is refused */
  int i = at(&s, "a.state");
  for (size_t size = 0; size < s.files[i].size; size += 7) {
    put(&s, "cut.state", s.files[at(&s, "a.state")].bytes, size);
    assert_int_equal(rly_session_load(b, "cut.state"), RLY_REFUSED);
    rly_session_diagnostics_clear(b);
  }
  assert_int_equal(number(b, "step"), 4);
  rly_session_free(a);
  rly_session_free(b);
  rly_program_free(p);
  shelf_close(&s);
}

static void test_no_more(void **state) {
  (void)state;
  Shelf s;
  shelf_open(&s, NULL);
  put_text(&s, "f.rly", "def @f() { 1 }\n");
  put(&s, "empty.rly", "", 0);
  assert_int_equal(add_file(&s, "f.rly"), RLY_OK);
  assert_int_equal(add_file(&s, "empty.rly"), RLY_OK);
  assert_int_equal(rly_context_set_files(s.cx, NULL), RLY_OK);
  assert_int_equal(add_file(&s, "f.rly"), RLY_REFUSED);
  assert_said(&s, "cannot read f.rly");
  assert_int_equal(rly_context_set_files(NULL, NULL), RLY_MISUSE);
  shelf_close(&s);
}

/* The end of a trace: to the host, or to the system when the host takes files
 * no more.  The path is freed before. */
static void test_trace(void **state) {
  (void)state;
  for (int gone = 0; gone < 2; gone++) {
    Shelf s;
    shelf_open(&s, NULL);
    char name[] = "/tmp/rly-traced-XXXXXX";
    close(mkstemp(name));
    rly_program *p = host_program(s.cx, "def @f() { 1 }\n");
    char *path = strdup(gone ? name : "t.json");
    rly_session *session =
        rly_session_new(p, &(rly_session_options){.trace = path});
    free(path);
    assert_int_equal(number(session, "f"), 1);
    if (gone) assert_int_equal(rly_context_set_files(s.cx, NULL), RLY_OK);
    rly_session_free(session);
    struct stat is;
    assert_int_equal(stat(name, &is), 0);
    assert_true(gone ? is.st_size > 0 : s.files[at(&s, "t.json")].size > 0);
    unlink(name);
    rly_program_free(p);
    shelf_close(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_imports), cmocka_unit_test(test_imports_refused),
      cmocka_unit_test(test_safe),    cmocka_unit_test(test_tensors),
      cmocka_unit_test(test_state),   cmocka_unit_test(test_no_more),
      cmocka_unit_test(test_trace),   cmocka_unit_test(test_odd_answers),
  };
  return RUN_TESTS(tests);
}
