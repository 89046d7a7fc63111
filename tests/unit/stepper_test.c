/* The stepper and the record of the step machine: going back shows what was
 * shown before, whatever changes in place; what is forgotten; that memory which
 * runs out anywhere is told and not lost.  tests/t/step.t has the texts.
 *
 * Transcripts of the way forth are compared with those of the way back and
 * forth again, through cells, delayed nodes and globals, which change in place
 * and must be put back. */
#include <stdio.h>

#include "smallstep/step_machine.h"
#include "parser/parser.h"
#include "stepper/stepper.h"
#include "tests/unit/program.h"
#include "types/types.h"

static void print_to(void *data, const char *text, size_t len) {
  strbuf_add_len(data, text, len);
}

/* A stepper over a text's steps; NULL when memory runs out. */
static Stepper *stepper(World *w, const char *text, size_t max_memory) {
  SourceFile *source =
      sources_add(&w->sources, "t.rly", text, strlen(text), false);
  Unit *unit = NULL;
  if (source) parse_unit(w->program, source, (ParseOptions){false}, &unit);
  if (!unit || !types_check(w->program, unit)) return NULL;
  StepHost host = {.write = print_to,
                   .data = &w->out,
                   .width = 80,
                   .max_memory = max_memory};
  Stepper *s = stepper_new(w->program, host);
  for (int i = 0; s && i < unit->step_count; i++)
    stepper_add(s, &unit->steps[i]);
  return s;
}

/* --- Forth and back ----------------------------------------------------- */

/* Cells that are written, shared and within each other, a graph node that waits
 * and is forced within a call, functions over both, matches, prints. */
static const char busy[] =
    "type L { C(Ref[int32], L), E, }\n"
    "def @half(%n: int32) -> int32 { if (%n < 2) { %n } else "
    "{ @half(%n - 2) } }\n"
    "def @sum(%l: L) -> int32 {\n"
    "  match (%l) {\n"
    "    C(%r, %t) => { ref_write(%r, ref_read(%r) + 1);\n"
    "                   ref_read(%r) + @sum(%t) },\n"
    "    E => 0,\n"
    "  }\n"
    "}\n"
    "let @out = ref(ref(3));\n"
    "{ let %a = ref(1); let %k = 10;\n"
    "  let %f = fn (%x: int32) -> int32 { %x + %k + ref_read(%a) };\n"
    "  %0 = @half(7);\n"
    "  print(@sum(C(%a, C(ref(5), C(%a, E)))));\n"
    "  ref_write(@out, %a);\n"
    "  if (ref_read(%a) > 2) { (%f(%0), ref_read(@out)) }\n"
    "  else { (0, %a) } };\n"
    "ref_read(ref_read(@out));\n";

typedef VEC(StrBuf) Seen;

static void see(World *w, Stepper *s, Seen *seen) {
  StepView v;
  StrBuf text;
  stepper_view_init(&v, &w->mem);
  strbuf_init(&text, &w->mem);
  stepper_view(s, &v);
  strbuf_addf(&text, "%llu %s %s [%zu %zu] %s %s %s\n",
              (unsigned long long)v.number, v.rule, strbuf_text(&v.now.text),
              v.now.lo, v.now.hi, strbuf_text(&v.names), strbuf_text(&v.says),
              strbuf_text(&v.cells));
  stepper_cells(s, &text);
  if (VEC_RESERVE(seen, 1)) VEC_PUSH(seen, text);
  else strbuf_done(&text);
  stepper_view_done(&v);
}

static void forget(Seen *seen) {
  for (size_t i = 0; i < seen->len; i++) strbuf_done(&seen->data[i]);
  VEC_DONE(seen);
}

static void going_back_shows_the_same(void **state) {
  World *w = *state;
  Stepper *s = stepper(w, busy, 0);
  assert_non_null(s);
  Seen forth, back, again;
  VEC_INIT(&forth, &w->mem);
  VEC_INIT(&back, &w->mem);
  VEC_INIT(&again, &w->mem);
  while (stepper_move(s, MOVE_STEP) != STOP_END) see(w, s, &forth);
  assert_string_equal(strbuf_text(&w->out), "11\n");
  assert_true(forth.len > 100);
  do see(w, s, &back);
  while (stepper_move(s, MOVE_BACK) != STOP_START);
  assert_int_equal(back.len, forth.len);
  do see(w, s, &again);
  while (stepper_move(s, MOVE_STEP) != STOP_END);
  assert_int_equal(again.len, forth.len);
  for (size_t i = 0, n = forth.len; i < n; i++) {
    const char *first = strbuf_text(&forth.data[i]);
    assert_string_equal(strbuf_text(&back.data[n - 1 - i]), first);
    assert_string_equal(strbuf_text(&again.data[i]), first);
  }
  assert_string_equal(strbuf_text(&w->out), "11\n");
  forget(&forth);
  forget(&back);
  forget(&again);
  stepper_free(s);
}

/* --- Forgetting --------------------------------------------------------- */

/* The number of steps that the record can go back by. */
static uint64_t reach(Stepper *s) {
  uint64_t entry = stepper_machine(s)->entry;
  return entry ? entry - 1 : 0;
}

static void the_record_is_bounded(void **state) {
  World *w = *state;
  Stepper *s = stepper(w,
                       "def @f(%n: int32) -> int32 { if (%n == 0) { 0 } "
                       "else { @f(%n - 1) } }\n@f(100);\n",
                       0);
  assert_non_null(s);
  step_keep(stepper_machine(s), 64);
  while (stepper_move(s, MOVE_STEP) == STOP_STEP) assert_true(reach(s) < 64);
  uint64_t end = stepper_number(s), gone = 0;
  assert_true(reach(s) >= 31);
  while (stepper_move(s, MOVE_BACK) != STOP_START) gone++;
  assert_true(gone >= 31);
  /* The value that was reached is an entry without a step of its own. */
  assert_int_equal(stepper_number(s), end - gone + 1);
  assert_int_equal(stepper_move(s, MOVE_RUN), STOP_VALUE);
  assert_int_equal(stepper_number(s), end);
  stepper_free(s);
}

/* Each round makes a tensor of 64 KB: a quarter of 40 MB holds 160 of them, and
 * there are 400. */
static void values_make_it_forget(void **state) {
  World *w = *state;
  Stepper *s =
      stepper(w,
              "def @f(%n: int32, %x: Tensor[(16384), int32]) -> int32 {\n"
              "  if (%n == 0) { 0 } else { @f(%n - 1, %x + 1) }\n"
              "}\n"
              "@f(400, zeros(shape=[16384], dtype=\"int32\"));\n",
              (size_t)40 << 20);
  assert_non_null(s);
  size_t most = 0;
  while (stepper_move(s, MOVE_STEP) == STOP_STEP) {
    size_t bytes = stepper_machine(s)->bytes;
    if (bytes > most) most = bytes;
  }
  assert_int_equal(stepper_at(s), STEP_VALUE);
  assert_true(most < (size_t)30 << 20);
  uint64_t rounds = 0;
  while (stepper_move(s, MOVE_BACK) != STOP_START) {
    rounds +=
        stepper_at(s) == STEP_RULE && stepper_machine(s)->rule == REDUCE_CALL;
  }
  assert_in_range(rounds, 20, 399);
  stepper_free(s);
}

/* --- When memory runs out ------------------------------------------------ */

static void use_all(World *w, Stepper *s) {
  Seen seen;
  VEC_INIT(&seen, &w->mem);
  StepStop stop = STOP_STEP;
  while (stop != STOP_END && stop != STOP_LIMIT) {
    stop = stepper_move(s, MOVE_STEP);
    if (stepper_stands(s)) see(w, s, &seen);
  }
  for (int i = 0; i < 5; i++) stepper_move(s, MOVE_BACK);
  if (stepper_stands(s)) see(w, s, &seen);
  stepper_move(s, MOVE_RUN);
  forget(&seen);
}

static const char small[] =
    "let %c = ref(2);\n"
    "{ let %f = fn (%x: int32) -> int32 { ref_write(%c, %x); ref_read(%c) };\n"
    "  (%f(3), if (%f(4) > 3) { 5 } else { 6 }) };\n";

/* In the machine's own memory. */
static void machine_survives_failing_allocations(void **state) {
  World *w = *state;
  Stepper *s = stepper(w, small, 0);
  assert_non_null(s);
  const Unit *unit = w->program->last_unit;
  for (size_t n = 1;; n++) {
    stepper_free(s);
    s = stepper_new(w->program, (StepHost){.width = 80});
    for (int i = 0; i < unit->step_count; i++) stepper_add(s, &unit->steps[i]);
    Mem *mem = stepper_machine(s)->mem;
    size_t begun = atomic_load(&mem->count);
    mem->fail_at = begun + n;
    use_all(w, s);
    if (atomic_load(&mem->count) < begun + n) break;
    mem->fail_at = 0;
  }
  assert_null(step_fault(stepper_machine(s))->message);
  stepper_free(s);
}

/* In the program's, where views and the stepper itself live. */
static void step_through(Mem *mem) {
  World w = {.mem = *mem};
  world_open(&w);
  Stepper *s = w.program ? stepper(&w, small, 0) : NULL;
  if (s) use_all(&w, s);
  stepper_free(s);
  world_close(&w);
  *mem = w.mem;
}

static void views_survive_failing_allocations(void **state) {
  (void)state;
  unit_walk_failures(step_through);
}

/* A product packs a matrix that it meets again, and the packed form hangs on
 * the constant, which is freed with the program, after the machine. */
static void constants_outlive_the_machine(void **state) {
  World *w = *state;
  Stepper *s = stepper(w,
                       "def @f(%x: Tensor[(1, 2), float32]) {\n"
                       "  nn.dense(%x, [[1f, 2f], [3f, 4f]])\n"
                       "}\n"
                       "@f([[1f, 2f]]); @f([[3f, 4f]]); @f([[5f, 6f]]);",
                       0);
  assert_non_null(s);
  use_all(w, s);
  stepper_free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WORLD_TEST(going_back_shows_the_same),
      WORLD_TEST(the_record_is_bounded),
      WORLD_TEST(values_make_it_forget),
      WORLD_TEST(machine_survives_failing_allocations),
      WORLD_TEST(constants_outlive_the_machine),
      cmocka_unit_test(views_survive_failing_allocations),
  };
  return RUN_TESTS(tests);
}
