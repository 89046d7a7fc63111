/* passes/: the runner provides the facts that a pass needs and keeps the facts
 * of a unit; a refused unit leaves nothing behind.
 *
 * What single passes do is tested by programs and through fmt --pass; here is
 * what all of them rely on. */
#include "parser/parser.h"
#include "passes/pass.h"
#include "tests/unit/program.h"

enum { CHECKED = FACT_NAMES | FACT_TYPES | FACT_MATCHES | FACT_EFFECTS };

static Unit *parsed(World *w, const char *text) {
  SourceFile *source =
      sources_add(w->program->sources, "t", text, strlen(text), false);
  Unit *unit = NULL;
  if (!source ||
      parse_unit(w->program, source, (ParseOptions){0}, &unit) != PARSE_OK)
    return NULL;
  return unit;
}

static Global *defined(World *w, const char *name) {
  return scope_global(&w->program->user, name_of(&w->names, name));
}

static void what_is_needed_runs_first(void **state) {
  World *w = *state;
  Unit *u = parsed(w, "def @f(%x: int32) { %x }");
  assert_int_equal(u->facts, 0);
  assert_ptr_equal(pass_run(w->program, u, pass_find("static")), u);
  assert_int_equal(u->facts, CHECKED | FACT_SHAPES);
  assert_non_null(defined(w, "f"));
}

static void what_is_known_is_not_found_again(void **state) {
  World *w = *state;
  Unit *u = parsed(w, "def @f(%x: int32) { %x }");
  assert_true(unit_check(w->program, u));
  const Global *f = defined(w, "f");
  assert_true(unit_is_static(w->program, u));
  assert_ptr_equal(defined(w, "f"), f);
}

static void what_a_pass_breaks_is_forgotten(void **state) {
  World *w = *state;
  Unit *u = parsed(w, "def @f(%x: int32) { %x }");
  assert_true(unit_check(w->program, u));
  Unit *made = pass_run(w->program, u, pass_find("relay"));
  assert_ptr_not_equal(made, u);
  assert_int_equal(made->facts, FACT_PLAIN);
  assert_int_equal(u->facts, CHECKED);
}

static void what_is_refused_leaves_nothing(void **state) {
  World *w = *state;
  Unit *first = parsed(w, "def @f(%x: int32) { %x }");
  assert_true(unit_check(w->program, first));
  Unit *u = parsed(w, "def @g(%x: int32) { @f(True) }");
  assert_ptr_equal(w->program->last_unit, u);
  assert_null(pass_run(w->program, u, pass_find("static")));
  assert_ptr_equal(w->program->last_unit, first);
  assert_null(defined(w, "g"));
  assert_non_null(defined(w, "f"));
}

/* Passes are found by their names, and what one needs a row above it gives. */
static void rows_are_in_order(void **state) {
  (void)state;
  unsigned given = 0;
  for (int i = 0; i < pass_count; i++) {
    assert_ptr_equal(pass_find(pass_info[i].name), &pass_info[i]);
    assert_int_equal(pass_info[i].needs & ~given, 0);
    given |= pass_info[i].gives;
  }
  assert_null(pass_find("none"));
}

static void check_something(Mem *m) {
  World w;
  memcpy(&w.mem, m, sizeof *m);
  world_open(&w);
  Unit *u =
      w.program ? parsed(&w, "def @f(%x: int32) { { %x } } @f(1);") : NULL;
  if (u) u = pass_run(w.program, u, pass_find("static"));
  if (u) u = pass_run(w.program, u, pass_find("relay"));
  assert_true(u || m->fail_at);
  world_close(&w);
  memcpy(m, &w.mem, sizeof *m);
}

static void survives_every_failing_allocation(void **state) {
  (void)state;
  unit_walk_failures(check_something);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WORLD_TEST(what_is_needed_runs_first),
      WORLD_TEST(what_is_known_is_not_found_again),
      WORLD_TEST(what_a_pass_breaks_is_forgotten),
      WORLD_TEST(what_is_refused_leaves_nothing),
      cmocka_unit_test(rows_are_in_order),
      cmocka_unit_test(survives_every_failing_allocation),
  };
  return RUN_TESTS(tests);
}
