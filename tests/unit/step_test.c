/* The small-step machine on programs whose meaning follows from the language's
 * description: values, the order of effects, the rules by name, faults and
 * their places, limits.  Expected results are taken from its tables and
 * sentences.  fuzz/ runs the language suite and generated programs on this
 * machine.
 *
 * The step machine is the oracle of the VM (fuzz/), so its own expectations
 * must not come from the VM: they are worked out by hand from the rules. */
#include <stdio.h>
#include <string.h>

#include "base/sanitizer.h"
#include "smallstep/step.h"
#include "types/types.h"
#include "ops/ops.h"
#include "parser/parser.h"
#include "tests/unit/program.h"
#include "value/show.h"

/* --- Running ------------------------------------------------------------ */

static void print_to(void *data, const char *text, size_t len) {
  strbuf_add_len(data, text, len);
}

static const Unit *check(World *w, const char *text) {
  SourceFile *source =
      sources_add(&w->sources, "t.rly", text, strlen(text), false);
  Unit *unit = NULL;
  parse_unit(w->program, source, (ParseOptions){false}, &unit);
  if (unit && types_check(w->program, unit)) return unit;
  diags_render(&w->diags, &w->sources, (DiagLook){0}, &w->out);
  fail_msg("%s", strbuf_text(&w->out));
  return NULL;
}

static StepMachine *machine(World *w, size_t max_memory) {
  StepHost host = {.write = print_to,
                   .data = &w->out,
                   .width = 80,
                   .max_memory = max_memory};
  StepMachine *m = step_new(w->program, host);
  assert_non_null(m);
  return m;
}

static StepOutcome to_end(StepMachine *m) {
  StepOutcome outcome;
  do outcome = step_next(m);
  while (outcome == STEP_RULE);
  assert_int_equal(step_next(m), outcome); /* it stays as it is */
  return outcome;
}

/* Runs the steps of a text; gives the outcome of the last. */
static StepOutcome run(StepMachine *m, const Unit *unit) {
  StepOutcome outcome = STEP_VALUE;
  for (int i = 0; i < unit->step_count && outcome == STEP_VALUE; i++) {
    step_start(m, &unit->steps[i]);
    outcome = to_end(m);
  }
  return outcome;
}

/* The last value as the display form, after what was printed. */
static void expect(World *w, const char *text, const char *shown) {
  VEC_CLEAR(&w->out);
  StepMachine *m = machine(w, 0);
  if (run(m, check(w, text)) == STEP_VALUE)
    step_print(m, &w->out, step_result(m), 80);
  else strbuf_add(&w->out, step_fault(m)->message);
  step_free(m);
  assert_string_equal(strbuf_text(&w->out), shown);
}

static void expect_fault(World *w, const char *text, DiagCode code,
                         const char *place) {
  StepMachine *m = machine(w, 0);
  assert_int_equal(run(m, check(w, text)), STEP_ERROR);
  const StepFault *fault = step_fault(m);
  assert_string_equal(diag_code_text(fault->code), diag_code_text(code));
  uint32_t len;
  const char *at = sources_text(&w->sources, fault->span, &len);
  assert_int_equal(len, strlen(place));
  assert_memory_equal(at, place, len);
  step_free(m);
}

/* --- Rules -------------------------------------------------------------- */

static void expect_rules(World *w, const char *text, const char *names) {
  const Unit *unit = check(w, text);
  StepMachine *m = machine(w, 0);
  StrBuf found;
  strbuf_init(&found, &w->mem);
  uint64_t count = 0;
  step_start(m, &unit->steps[unit->step_count - 1]);
  while (step_next(m) == STEP_RULE) {
    if (count++) strbuf_add(&found, ", ");
    strbuf_add(&found, step_rule_info[step_rule(m)].name);
    assert_true(span_exists(step_span(m)));
  }
  assert_int_equal(step_count(m), count);
  step_free(m);
  assert_string_equal(strbuf_text(&found), names);
  strbuf_done(&found);
}

static void rules_have_names(void **state) {
  World *w = *state;
  expect_rules(w, "1 + 2 * 3", "operator, operator");
  expect_rules(w, "(1, (2, 3)).1", "projection");
  expect_rules(w, "{ let %x = 1; %x + 1 }", "let, variable, operator");
  expect_rules(w, "if (True) { 1 } else { 2 }", "if true");
  expect_rules(w, "(fn (%x: int32) { %x })(7)", "call, variable");
  expect_rules(w, "{ let %f = fn (%x: int32) { %x }; %f(7) }",
               "recursive let, variable, call, variable");
  expect_rules(w, "{ let %r = ref(1); ref_write(%r, 2); ref_read(%r) }",
               "ref, let, variable, ref_write, sequence, variable, ref_read");
  expect_rules(w, "match ((1, 2)) { (%a, _) => %a }", "match, variable");
  expect_rules(w, "{ assert(True); print(1); () }",
               "assert, sequence, print, sequence");
  expect_rules(w, "def @f() -> int32 { 1 } @f()", "global, call");
}

/* --- Values ------------------------------------------------------------- */

/* A digit appended to a cell tells the order of evaluation. */
static void effects_happen_in_order(void **state) {
  World *w = *state;
  expect(w,
         "let @r = ref(0);\n"
         "def @d(%n: int32) -> () {"
         "  ref_write(@r, ref_read(@r) * 10 + %n) }\n"
         "let @t = ((@d(1); 1), (@d(2); 2));\nref_read(@r)",
         "12");
  expect(w,
         "let @s = ref(0);\n"
         "def @e(%n: int32) -> () {"
         "  ref_write(@s, ref_read(@s) * 10 + %n) }\n"
         "let @u = (@e(9); fn (%a: (), %b: ()) { 0 })(@e(1), @e(2));\n"
         "ref_read(@s)",
         "129");
  expect(w,
         "let @q = ref(0);\n"
         "def @g(%n: int32) -> () {"
         "  ref_write(@q, ref_read(@q) * 10 + %n) }\n"
         "let @v = ref_write((@g(1); ref(5)), (@g(2); 7));\n"
         "ref_read(@q)",
         "12");
}

static void graph_variables_are_evaluated_at_home(void **state) {
  World *w = *state;
  expect(w, "{ let %r = ref(1); %0 = ref_read(%r); ref_write(%r, 2); %0 }",
         "1");
  expect(w,
         "{ let %r = ref(0); %0 = ref_write(%r, 1);"
         "  if (False) { %0 } else { () }; ref_read(%r) }",
         "0");
  expect(w, "{ %0 = 1 / 0; if (True) { 5 } else { %0 } }", "5");
  expect(w,
         "{ let %c = ref(0); %0 = { ref_write(%c, ref_read(%c) + 1); 7 };"
         "  let %a = %0 + %0; (%a, ref_read(%c)) }",
         "(14, 1)");
}

/* A node that may only fail waits for its first use, and keeps its value. */
static void delayed_nodes_are_evaluated_once(void **state) {
  World *w = *state;
  const char *text =
      "def @f(%c: bool, %n: int32) -> int32 {\n"
      "  %0 = 6 / %n;\n"
      "  if (%c) { %0 + %0 } else { if (%n == 0) { 1 } else { %0 } } }\n";
  char program[512];
  snprintf(program, sizeof program, "%s@f(False, 0)", text);
  expect(w, program, "1");
  expect_rules(w, "@f(True, 2)",
               "global, call, delay, variable, if true, force, variable, "
               "operator, variable, operator");
}

static void functions_see_what_they_captured(void **state) {
  World *w = *state;
  expect(w, "{ let %x = 1; let %f = fn () { %x }; let %x = 2; (%f(), %x) }",
         "(1, 2)");
  expect(w,
         "{ let %even = fn (%n: int32) -> bool"
         "   { if (%n == 0) { True } else { %odd(%n - 1) } }"
         "  and %odd = fn (%n: int32) -> bool"
         "   { if (%n == 0) { False } else { %even(%n - 1) } };"
         "  (%even(7), %odd(7)) }",
         "(False, True)");
  expect(w, "{ let %id = fn (%x) { %x }; (%id(1), %id(True)) }", "(1, True)");
  expect(w,
         "{ let %knot = ref(fn (%n: int32) -> int32 { 0 });"
         "  ref_write(%knot, fn (%n: int32) -> int32"
         "   { if (%n == 0) { 0 } else { %n + ref_read(%knot)(%n - 1) } });"
         "  ref_read(%knot)(4) }",
         "10");
}

static void data_is_taken_apart(void **state) {
  World *w = *state;
  expect(w,
         "type L[A] { C(A, L[A]), N }\n"
         "def @sum(%l: L[int32]) -> int32 {"
         "  match (%l) { C(%x, %r) => %x + @sum(%r), N => 0 } }\n"
         "(@sum(C(1, C(2, C(3, N)))), C(True, N), C)",
         "(6, C(True, N), <fn [A](A, L[A]) -> L[A]>)");
  expect(w,
         "type O { P(int32, O), M }\n"
         "match ((P(1, P(2, M)), P(3, M))) {"
         "  (P(_, M), _) => 0, (P(%a, P(%b, _)), P(%c, M)) => %a + %b * %c,"
         "  _ => 9 }",
         "7");
}

static void values_print_as_json(void **state) {
  World *w = *state;
  const Unit *unit = check(w,
                           "type P[A] { Q(A), E }\n"
                           "(Q(ref(True)), E, (), [1, 2], 1.5f, fn () { 1 })");
  StepMachine *m = machine(w, 0);
  assert_int_equal(run(m, unit), STEP_VALUE);
  VEC_CLEAR(&w->out);
  step_print_json(m, &w->out, step_result(m));
  step_free(m);
  assert_string_equal(
      strbuf_text(&w->out),
      "{\"tuple\": [{\"constructor\": \"Q\", \"fields\": [{\"ref\": "
      "{\"dtype\": \"bool\", \"shape\": [], \"data\": [true]}}]}, "
      "{\"constructor\": \"E\", \"fields\": []}, {\"tuple\": []}, "
      "{\"dtype\": \"int32\", \"shape\": [2], \"data\": [1, 2]}, "
      "{\"dtype\": \"float32\", \"shape\": [], \"data\": [1.5]}, "
      "{\"closure\": true}]}");
}

static void printing_goes_to_the_host(void **state) {
  World *w = *state;
  expect(w,
         "print((1, True)); print_text(\"\\xc3\\xa9!\");"
         " print_text([955, 10]); 3",
         "(1, True)\n\xc3\xa9!\xce\xbb\n3");
}

/* --- Faults ------------------------------------------------------------- */

static void faults_have_places(void **state) {
  World *w = *state;
  expect_fault(w, "def @div(%n: int32) -> int32 { 1 / %n }\n@div(0)", E0602,
               "1 / %n");
  expect_fault(w, "type E { A1, B1 }\nmatch? (B1) { A1 => 1 }", E0601,
               "match? (B1) { A1 => 1 }");
  expect_fault(w, "{ assert(1 == 2, message=\"no\"); 1 }", E0605,
               "assert(1 == 2, message=\"no\")");
  expect_fault(w, "if (True) { fail(message=\"why\") } else { 1 }", E0606,
               "fail(message=\"why\")");
}

/* A tensor crosses from `?` to a number, or to a name that is bound. */
static void shapes_are_checked(void **state) {
  World *w = *state;
  const char *hide =
      "def @any(%x: Tensor[(?), int32]) -> Tensor[(?), int32] { %x }\n";
  char text[512];
  snprintf(text, sizeof text,
           "%slet @a: Tensor[(2), int32] = @any([1, 2]);"
           "\n@a",
           hide);
  expect(w, text, "Tensor[(2), int32] [1, 2]");
  expect_fault(w, "{ let %b: Tensor[(3), int32] = @any([1, 2]); %b }", E0603,
               "@any([1, 2])");
  expect_fault(w, "(fn (%x: Tensor[(3), int32]) { 1 })(@any([1, 2]))", E0603,
               "@any([1, 2])");
  expect_fault(w,
               "def @two[n: Dim](%x: Tensor[(n), int32],"
               " %y: Tensor[(n), int32]) -> int32 { n }\n"
               "@two(@any([1, 2]), @any([1]))",
               E0603, "%y: Tensor[(n), int32]");
  expect_fault(w,
               "def @same[n: Dim](%x: Tensor[(n), int32])"
               " -> Tensor[(n + 1), int32] { @any(%x) }\n@same([1, 2])",
               E0603, "@any(%x)");
}

/* --- Limits ------------------------------------------------------------- */

static void loops_take_no_memory(void **state) {
  World *w = *state;
  const Unit *unit =
      check(w,
            "def @loop(%n: int32, %sum: int64) -> int64 { if (%n == 0) { %sum }"
            " else { @loop(%n - 1, %sum + 1i64) } }\n@loop(25000, 0i64)");
  StepMachine *m = machine(w, 8 << 20);
  assert_int_equal(run(m, unit), STEP_VALUE);
  step_free(m);
}

/* Deeper than the C stack could be.  The address sanitizer makes its frames
 * larger, and all of this slow. */
enum { DEPTH = SANITIZER_ADDRESS ? 25000 : 100000 };

static void depth_takes_memory_only(void **state) {
  World *w = *state;
  char text[200];
  snprintf(text, sizeof text,
           "type L { C(L), N }\n"
           "def @make(%%n: int32) -> L { if (%%n == 0) { N } else {"
           " C(@make(%%n - 1)) } }\n@make(%d)",
           DEPTH);
  const Unit *unit = check(w, text);
  StepMachine *m = machine(w, 0);
  assert_int_equal(run(m, unit), STEP_VALUE);
  /* All of it as JSON; as text `C(` and `)` of what is shown, and `...`. */
  VEC_CLEAR(&w->out);
  step_print_json(m, &w->out, step_result(m));
  int found = 0;
  for (const char *at = strbuf_text(&w->out); (at = strstr(at, "\"C\"")); at++)
    found++;
  assert_int_equal(found, DEPTH);
  VEC_CLEAR(&w->out);
  step_print(m, &w->out, step_result(m), 80);
  assert_int_equal(w->out.len, 3 * VALUE_SHOWN + 3);
  step_free(m);
  m = machine(w, DEPTH * (size_t)80);
  assert_int_equal(run(m, unit), STEP_LIMIT);
  assert_int_equal(step_fault(m)->code, E0701);
  step_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WORLD_TEST(rules_have_names),
      WORLD_TEST(effects_happen_in_order),
      WORLD_TEST(graph_variables_are_evaluated_at_home),
      WORLD_TEST(delayed_nodes_are_evaluated_once),
      WORLD_TEST(functions_see_what_they_captured),
      WORLD_TEST(data_is_taken_apart),
      WORLD_TEST(values_print_as_json),
      WORLD_TEST(printing_goes_to_the_host),
      WORLD_TEST(faults_have_places),
      WORLD_TEST(shapes_are_checked),
      WORLD_TEST(loops_take_no_memory),
      WORLD_TEST(depth_takes_memory_only),
  };
  return RUN_TESTS(tests);
}
