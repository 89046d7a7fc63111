/* What rly.h gives to authors of tools: a formatter, what stands at a place of
 * a text, the table of operators. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/host.h"

/* --- The formatter ------------------------------------------------------- */

static char *format(rly_context *cx, const char *text, rly_status expected) {
  char *out = NULL;
  assert_int_equal(rly_text_format(cx, "m.rly", text, strlen(text), &out),
                   expected);
  assert_true((expected == RLY_OK) == (out != NULL));
  return out;
}

static void test_formats(void **state) {
  (void)state;
  rly_context *cx = rly_context_new(NULL);
  char *out = format(cx,
                     "// Why.\n"
                     "def @f(%x:int32){%x+@unknown(1)}",
                     RLY_OK);
  assert_string_equal(out,
                      "// Why.\n"
                      "def @f(%x: int32) { %x + @unknown(1) }\n");
  char *again = format(cx, out, RLY_OK);
  assert_string_equal(again, out);
  rly_text_free(cx, out);
  rly_text_free(cx, again);
  out = format(cx, "", RLY_OK);
  assert_string_equal(out, "");
  rly_text_free(cx, out);
  assert_int_equal(rly_diagnostic_count(cx), 0);
  rly_context_free(cx);
}

static void test_formats_no_mistake(void **state) {
  (void)state;
  rly_context *cx = rly_context_new(NULL);
  format(cx, "def @f() {\n  1 +\n}", RLY_REFUSED);
  rly_diagnostic d;
  assert_int_equal(rly_diagnostic_count(cx), 1);
  assert_true(rly_diagnostic_get(cx, 0, &d));
  assert_string_equal(d.place.file, "m.rly");
  assert_int_equal(d.place.line, 3);
  assert_int_equal(d.place.column, 1);
  char *said = rly_diagnostics_text(cx, false);
  assert_non_null(strstr(said, "    3 | }")); /* its text is there to show */
  rly_text_free(cx, said);
  rly_context_free(cx);
}

/* A host that formats for days keeps nothing of the texts. */
static void test_formats_without_growth(void **state) {
  (void)state;
  rly_context *cx = rly_context_new(&(rly_options){.max_memory = 4 << 20});
  char text[20000];
  size_t len = 0;
  while (len < sizeof text - 32)
    len += (size_t)sprintf(text + len, "let @n%zu = %zu;\n", len, len);
  for (int i = 0; i < 200; i++) {
    char *out = NULL;
    assert_int_equal(rly_text_format(cx, "m.rly", text, len, &out), RLY_OK);
    assert_memory_equal(out, text, len);
    rly_text_free(cx, out);
  }
  rly_context_free(cx);
}

static void test_formats_within_limits(void **state) {
  (void)state;
  rly_context *cx = rly_context_new(&(rly_options){.max_memory = 1 << 20});
  size_t len = 1 << 20;
  char *text = malloc(len), *out = NULL;
  assert_non_null(text);
  memset(text, '(', len);
  assert_int_equal(rly_text_format(cx, "m.rly", text, len, &out), RLY_LIMIT);
  free(text);
  rly_diagnostics_clear(cx);
  out = format(cx, "let @a = 1;", RLY_OK);
  rly_text_free(cx, out);
  assert_int_equal(rly_text_format(NULL, "", "", 0, &out), RLY_MISUSE);
  assert_string_equal(rly_misuse(), "rly_text_format: the context is NULL");
  assert_int_equal(rly_text_format(cx, NULL, "", 0, &out), RLY_MISUSE);
  assert_string_equal(rly_misuse(), "rly_text_format: the path is NULL");
  assert_int_equal(rly_text_format(cx, "", NULL, 1, &out), RLY_MISUSE);
  assert_string_equal(rly_misuse(), "rly_text_format: the text is NULL");
  assert_int_equal(rly_text_format(cx, "", "", 0, NULL), RLY_MISUSE);
  rly_context_free(cx);
}

/* --- What stands at a place ---------------------------------------------- */

static const char text[] =
    "type Pair { Both(a: int32, b: int32) }\n"
    "/// Sums.\n"
    "def @add(%x: int32, %y: float32) { (%x + 1, %y) }\n"
    "def @id[A](%v: A) -> A { %v }\n"
    "let @t = @id(@add(2, 3f));\n"
    "/* \u00e9\u00e9 */ let @u = @add(1, 2f);\n"
    "def @l(%p: Pair) { match (%p) { Both(%a, _) => @length(Cons(%a, Nil)) } "
    "}\n";

/* What is expected of a place: columns as an editor counts them, the line and
 * column of the declaration (0: in no text of the host's). */
typedef struct Expected {
  unsigned line, column;
  rly_found_kind kind;
  const char *name;
  unsigned from, to;
  unsigned declared_line, declared_from, declared_to;
  const char *type;
} Expected;

static const Expected expected[] = {
    {1, 7, RLY_FOUND_TYPE, "Pair", 6, 10, 1, 6, 10, NULL},
    {1, 13, RLY_FOUND_CONSTRUCTOR, "Both", 13, 17, 1, 13, 17,
     "fn (int32, int32) -> Pair[]"},
    {3, 5, RLY_FOUND_GLOBAL, "@add", 5, 9, 3, 5, 9,
     "fn (int32, float32) -> (int32, float32)"},
    {3, 37, RLY_FOUND_VARIABLE, "%x", 37, 39, 3, 10, 12, "int32"},
    {3, 39, RLY_FOUND_VARIABLE, "%x", 37, 39, 3, 10, 12, "int32"},
    {3, 40, RLY_FOUND_OPERATOR, "add", 40, 41, 0, 0, 0,
     "(a..., t), (b..., t) -> (a ^ b, t)"},
    {3, 42, RLY_FOUND_EXPRESSION, NULL, 42, 43, 0, 0, 0, "int32"},
    {3, 43, RLY_FOUND_EXPRESSION, NULL, 42, 43, 0, 0, 0, "int32"},
    {4, 6, RLY_FOUND_GLOBAL, "@id", 5, 8, 4, 5, 8, "fn [A](A) -> A"},
    {5, 5, RLY_FOUND_GLOBAL, "@t", 5, 7, 5, 5, 7, "(int32, float32)"},
    {5, 11, RLY_FOUND_GLOBAL, "@id", 10, 13, 4, 5, 8,
     "fn ((int32, float32)) -> (int32, float32)"},
    {6, 14, RLY_FOUND_GLOBAL, "@u", 14, 16, 6, 14, 16, "(int32, float32)"},
    {7, 16, RLY_FOUND_TYPE, "Pair", 12, 16, 1, 6, 10, NULL},
    {7, 33, RLY_FOUND_CONSTRUCTOR, "Both", 33, 37, 1, 13, 17, NULL},
};

static void assert_found(rly_program *p, rly_context *cx, const Expected *e) {
  rly_found found;
  char *type = NULL;
  assert_true(rly_program_find(p, "m.rly", e->line, e->column, &found, &type));
  assert_int_equal(found.kind, e->kind);
  if (e->name) assert_string_equal(found.name, e->name);
  else assert_null(found.name);
  assert_string_equal(found.place.file, "m.rly");
  assert_int_equal(found.place.line, e->line);
  assert_int_equal(found.place.column, e->from);
  assert_int_equal(found.place.end_column, e->to);
  assert_int_equal(found.declared.line, e->declared_line);
  assert_int_equal(found.declared.column, e->declared_from);
  assert_int_equal(found.declared.end_column, e->declared_to);
  if (e->type) assert_string_equal(type, e->type);
  rly_text_free(cx, type);
}

static void test_finds(void **state) {
  (void)state;
  rly_context *cx = rly_context_new(NULL);
  rly_program *p = rly_program_new(cx);
  assert_int_equal(rly_program_add_text(p, "m.rly", text, strlen(text), 0),
                   RLY_OK);
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
    assert_found(p, cx, &expected[i]);
  rly_found found;
  char *type = NULL;
  assert_true(rly_program_find(p, "m.rly", 7, 49, &found, &type));
  assert_string_equal(found.name, "@length");
  assert_int_equal(strncmp(found.declared.file, "stdlib/", 7), 0);
  assert_string_equal(type, "fn (List[int32]) -> int32");
  rly_text_free(cx, type);
  static const unsigned nothing[][2] = {{2, 1}, {0, 1},  {1, 0},
                                        {8, 2}, {1, 99}, {99, 1}};
  for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
    assert_false(rly_program_find(p, "m.rly", nothing[i][0], nothing[i][1],
                                  &found, NULL));
  assert_false(rly_program_find(p, "n.rly", 1, 7, &found, NULL));
  assert_false(rly_program_find(p, NULL, 1, 7, &found, NULL));
  assert_string_equal(rly_misuse(), "rly_program_find: the path is NULL");
  assert_false(rly_program_find(NULL, "m.rly", 1, 7, &found, NULL));
  rly_program_free(p);
  rly_context_free(cx);
}

/* Cells of a notebook are parts of one path; a definition anew is the newest.
 */
static void test_finds_in_parts(void **state) {
  (void)state;
  rly_context *cx = rly_context_new(NULL);
  rly_program *p = rly_program_new(cx);
  static const char *const cells[] = {"let @a = 1;\n", "let @b = @a;\n",
                                      "let @a = 2f;\n"};
  for (int i = 0; i < 3; i++) {
    rly_program_line(p, i + 1);
    assert_int_equal(
        rly_program_add_text(p, "cells", cells[i], strlen(cells[i]), 0),
        RLY_OK);
  }
  rly_found found;
  char *type = NULL;
  assert_true(rly_program_find(p, "cells", 2, 10, &found, &type));
  assert_int_equal(found.declared.line, 1);
  assert_string_equal(type, "int32");
  rly_text_free(cx, type);
  assert_true(rly_program_find(p, "cells", 3, 5, &found, &type));
  assert_int_equal(found.declared.line, 3);
  assert_string_equal(type, "float32");
  rly_text_free(cx, type);
  rly_program_free(p);
  rly_context_free(cx);
}

/* --- Operators ----------------------------------------------------------- */

static size_t row_of(const char *name) {
  size_t i = 0;
  while (rly_operator_name(i) && strcmp(rly_operator_name(i), name)) i++;
  assert_non_null(rly_operator_name(i));
  return i;
}

static void test_operators(void **state) {
  (void)state;
  rly_context *cx = rly_context_new(NULL);
  rly_operator_row row;
  rly_attribute a;
  size_t dense = row_of("nn.dense"), cumsum = row_of("cumsum");
  assert_true(rly_operator_get(dense, &row));
  assert_string_equal(row.name, "nn.dense");
  assert_string_equal(row.type,
                      "(d..., k, t), (units, k, t) -> "
                      "(d..., units, t), t numeric");
  assert_string_equal(row.gradient, "rule");
  assert_null(row.fails);
  assert_false(row.prints);
  assert_int_equal(row.attribute_count, 2);
  char *said = rly_operator_signature(cx, dense);
  assert_string_equal(said,
                      "nn.dense(data, weight, units=None, out_dtype=\"\")");
  rly_text_free(cx, said);
  assert_true(rly_operator_attribute(dense, 0, &a));
  assert_string_equal(a.name, "units");
  assert_string_equal(a.type, "int");
  assert_true(a.optional && a.none && !a.required);
  assert_true(rly_operator_attribute(cumsum, 0, &a));
  assert_string_equal(a.name, "axis");
  assert_false(rly_operator_attribute(cumsum, 99, &a));
  assert_false(rly_operator_attribute(cumsum, -1, &a));
  assert_true(rly_operator_get(row_of("print"), &row) && row.prints);
  assert_true(rly_operator_get(row_of("divide"), &row));
  assert_string_equal(row.fails, "divisor");
  assert_true(rly_operator_attribute(row_of("nn.conv2d"), 0, &a));
  assert_string_equal(a.name, "strides");
  assert_int_equal(a.count, 2);
  assert_int_equal(a.integers[0], 1);
  assert_int_equal(a.integers[1], 1);
  size_t all = 0;
  while (rly_operator_get(all, &row)) {
    assert_non_null(row.doc);
    assert_non_null(row.type);
    said = rly_operator_signature(cx, all++);
    assert_int_equal(strncmp(said, row.name, strlen(row.name)), 0);
    rly_text_free(cx, said);
  }
  assert_true(all > 200);
  assert_null(rly_operator_name(all));
  assert_null(rly_operator_signature(cx, all));
  assert_false(rly_operator_get(0, NULL));
  assert_string_equal(rly_misuse(), "rly_operator_get: the result is NULL");
  assert_null(rly_operator_signature(NULL, 0));
  rly_context_free(cx);
}

/* --- The log ------------------------------------------------------------- */

typedef struct Log {
  int count;
  rly_log_level level;
  char message[200], code[8], hint[200];
  unsigned line;
} Log;

static void note(void *data, const rly_log_entry *e) {
  Log *log = data;
  log->count++;
  log->level = e->level;
  snprintf(log->message, sizeof log->message, "%s", e->message);
  *log->code = *log->hint = '\0';
  log->line = 0;
  if (!e->diagnostic) return;
  snprintf(log->code, sizeof log->code, "%s", e->diagnostic->code);
  if (e->diagnostic->hint)
    snprintf(log->hint, sizeof log->hint, "%s", e->diagnostic->hint);
  log->line = e->diagnostic->place.line;
}

static rly_status add(rly_program *p, const char *added) {
  return rly_program_add_text(p, "m.rly", added, strlen(added), 0);
}

static rly_status call(rly_session *s, const char *name) {
  rly_value *v = NULL;
  rly_status status = rly_session_call(s, name, 0, NULL, &v);
  rly_value_free(v);
  return status;
}

static void test_log(void **state) {
  (void)state;
  rly_context *cx = rly_context_new(NULL);
  rly_program *p = rly_program_new(cx);
  Log log = {0};
  rly_log to = {.write = note, .data = &log, .most = RLY_LOG_INFO};
  assert_int_equal(add(p, "1 + 1f;"), RLY_REFUSED); /* before there is a log */
  assert_int_equal(rly_context_set_log(cx, &to), RLY_OK);
  assert_int_equal(log.count, 0);
  assert_int_equal(add(p, "\n@mapp;"), RLY_REFUSED);
  assert_int_equal(log.count, 1);
  assert_int_equal(log.level, RLY_LOG_ERROR);
  assert_int_equal(log.line, 2);
  assert_non_null(strstr(log.hint, "@map")); /* as it is in the end */
  rly_diagnostics_clear(cx);
  assert_int_equal(add(p, "1 + 1f;"), RLY_REFUSED); /* the first again */
  assert_int_equal(log.count, 2);
  assert_string_equal(log.code, "E0207");
  assert_int_equal(add(p, "def @f() { 1 / 0 }"), RLY_OK);
  assert_int_equal(log.count, 3);
  assert_int_equal(log.level, RLY_LOG_INFO);
  assert_int_equal(strncmp(log.message, "added m.rly: 18 bytes, ", 23), 0);
  rly_session *s = rly_session_new(p, NULL);
  for (int i = 4; i < 6; i++) {
    assert_int_equal(call(s, "f"), RLY_RUNTIME);
    assert_int_equal(log.count, i);
    assert_string_equal(log.message, "division by zero");
    assert_string_equal(log.code, "E0602");
  }
  to.most = RLY_LOG_ERROR;
  assert_int_equal(rly_context_set_log(cx, &to), RLY_OK);
  assert_int_equal(add(p, "let @a = 1;"), RLY_OK);
  assert_int_equal(log.count, 5);
  assert_int_equal(rly_context_set_log(cx, NULL), RLY_OK);
  assert_int_equal(add(p, "1 + 1f;"), RLY_REFUSED);
  assert_int_equal(log.count, 5);
  assert_int_equal(rly_context_set_log(NULL, &to), RLY_MISUSE);
  to.write = NULL;
  assert_int_equal(rly_context_set_log(cx, &to), RLY_MISUSE);
  assert_string_equal(rly_misuse(),
                      "rly_context_set_log: a log has a function and a level");
  rly_session_free(s);
  rly_program_free(p);
  rly_context_free(cx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_formats),
      cmocka_unit_test(test_formats_no_mistake),
      cmocka_unit_test(test_formats_without_growth),
      cmocka_unit_test(test_formats_within_limits),
      cmocka_unit_test(test_finds),
      cmocka_unit_test(test_finds_in_parts),
      cmocka_unit_test(test_operators),
      cmocka_unit_test(test_log),
  };
  return RUN_TESTS(tests);
}
