/* types/exhaust: missing patterns, useless arms, and the messages.  Matches are
 * parsed, and their constructors bound here, so that only the search and its
 * reports are under test.  Random matches are compared with trying every value.
 *
 * The algorithm is the search for useful patterns (types/exhaust).  Its oracle
 * is the definition itself: for a type of 32 values, an arm is useful if it
 * takes a value that no arm above takes, and missing are the values that none
 * takes.  2,000 random matches compare the two. */
#include <stdio.h>

#include "parser/parser.h"
#include "tests/unit/program.h"
#include "types/check.h"
#include "types/exhaust.h"

/* --- Matches from text -------------------------------------------------- */

typedef struct CtorRow {
  const char *name;
  int fields;
} CtorRow;

static Arena *arena(World *w) { return &w->program->arena; }

static const Adt *declare(World *w, const char *name, int n,
                          const CtorRow *rows) {
  Adt *adt = ARENA_NEW(arena(w), Adt);
  adt->name = name_of(&w->names, name);
  adt->ctor_count = n;
  adt->ctors = ARENA_ARRAY(arena(w), Ctor, (size_t)n);
  for (int i = 0; i < n; i++) {
    adt->ctors[i] = (Ctor){.name = name_of(&w->names, rows[i].name),
                           .adt = adt,
                           .tag = i,
                           .field_count = rows[i].fields};
    ptrmap_put(&w->program->user.ctors, adt->ctors[i].name, &adt->ctors[i]);
  }
  return adt;
}

static void declare_usual(World *w) {
  declare(w, "Bit", 2, (CtorRow[]){{"On", 0}, {"Off", 0}});
  declare(w, "List", 2, (CtorRow[]){{"Cons", 2}, {"Nil", 0}});
  declare(w, "Light", 3, (CtorRow[]){{"Green", 0}, {"Amber", 0}, {"Red", 1}});
  declare(w, "Box", 1, (CtorRow[]){{"Box", 1}});
}

/* Binds a parsed pattern's constructors and gives it a type of its kind. */
static const Type *bind_pattern(World *w, const Pattern *parsed) {
  Pattern *p = (Pattern *)parsed;
  TypeTable *types = w->program->types;
  const Type *fields[64];
  assert_true(p->count <= 64);
  for (int i = 0; i < p->count; i++) fields[i] = bind_pattern(w, p->fields[i]);
  p->type = type_scalar(types, DT_INT32);
  if (p->kind == PT_TUPLE) p->type = type_tuple(types, p->count, fields);
  if (p->kind != PT_CTOR) return p->type;
  p->ctor = scope_ctor(&w->program->user, p->name);
  if (!p->ctor) return p->type = type_error(types);
  return p->type = type_adt(types, p->ctor->adt, 0, NULL);
}

static Unit *parse(World *w, const char *text) {
  SourceFile *source =
      sources_add(&w->sources, "t.rly", text, strlen(text), false);
  Unit *u = NULL;
  assert_non_null(source);
  ParseStatus status =
      parse_unit(w->program, source, (ParseOptions){false}, &u);
  assert_int_equal(status, PARSE_OK);
  return u;
}

static const Expr *parse_match(World *w, const char *text) {
  Expr *e = (Expr *)parse(w, text)->items[0].expr;
  assert_int_equal(e->kind, EX_MATCH);
  const Type *type = NULL;
  for (int i = 0; i < e->match->arm_count; i++) {
    const Type *t = bind_pattern(w, e->match->arms[i].pattern);
    PatternKind kind = e->match->arms[i].pattern->kind;
    if (kind == PT_CTOR || kind == PT_TUPLE) type = t;
  }
  ((Expr *)e->args[0])->type =
      type ? type : type_scalar(w->program->types, DT_INT32);
  return e;
}

/* The diagnostics of exhaust_program for the text, as `rly check` shows
 * them. */
static const char *report_on(World *w, const char *text) {
  const Expr *matches[] = {parse_match(w, text)};
  Checker c = {.p = w->program, .mem = &w->mem};
  arena_init(&c.arena, &w->mem);
  c.matches.data = matches;
  c.matches.len = 1;
  exhaust_program(&c);
  arena_done(&c.arena);
  VEC_CLEAR(&w->out);
  diags_render(&w->diags, &w->sources, (DiagLook){0}, &w->out);
  diags_clear(&w->diags);
  return strbuf_text(&w->out);
}

static void says(World *w, const char *text, const char *expected) {
  const char *said = report_on(w, text);
  if (!strstr(said, expected))
    fail_msg("%s\nsays: %s\nnot: %s", text, said, expected);
}

static void is_silent(World *w, const char *text) {
  assert_string_equal(report_on(w, text), "");
}

static void misses(World *w, const char *text, const char *patterns) {
  VEC_CLEAR(&w->out);
  char expected[512];
  snprintf(expected, sizeof expected, " is not exhaustive: %s not covered\n",
           patterns);
  says(w, text, expected);
}

/* --- What is missing ---------------------------------------------------- */

static void missing_patterns_are_minimal(void **state) {
  World *w = *state;
  declare_usual(w);
  misses(w, "match (%l) { Green => 1, Red(_) => 2 }", "`Amber` is");
  misses(w, "match (%l) { Green => 1 }", "`Amber`, `Red(_)` are");
  misses(w, "match (%l) { Cons(Nil, _) => 1, Nil => 2 }",
         "`Cons(Cons(_, _), _)` is");
  misses(w, "match (%l) { Cons(_, Cons(%x, _)) => 1, Nil => 0 }",
         "`Cons(_, Nil)` is");
  misses(w, "match (%a, %b) { (On, _) => 1, (_, On) => 2 }", "`(Off, Off)` is");
  misses(w, "match (%a, %b) { (On, On) => 1 }", "`(On, Off)`, `(Off, _)` are");
  misses(w, "match (%a, %b) { (_, On) => 1 }", "`(_, Off)` is");
  misses(w, "match ((%a,)) { (On,) => 1 }", "`(Off,)` is");
  misses(w, "match (%a) { Box(Box(On)) => 1 }", "`Box(Box(Off))` is");
  misses(w, "match (%v) { }", "`_` is");
}

static void several_unnamed_constructors_combine(void **state) {
  World *w = *state;
  declare_usual(w);
  misses(w, "match (%a, %b) { (Green, _) => 1, (_, Green) => 2 }",
         "`(Amber, Amber)`, `(Amber, Red(_))`, `(Red(_), Amber)`, "
         "`(Red(_), Red(_))` are");
  misses(w,
         "match (%a, %b, %c) { (Green, _, _) => 1, (_, Green, _) => 2, "
         "(_, _, On) => 3 }",
         "`(Amber, Amber, Off)`, `(Amber, Red(_), Off)`, "
         "`(Red(_), Amber, Off)`, `(Red(_), Red(_), Off)` are");
}

static void long_lists_of_missing_patterns_are_cut(void **state) {
  World *w = *state;
  static const CtorRow rows[] = {{"A", 0}, {"B", 0}, {"C", 2}, {"D", 0},
                                 {"E", 0}, {"F", 0}, {"G", 0}};
  declare(w, "Seven", 7, rows);
  misses(w, "match (%x) { B => 1, G => 2 }",
         "`A`, `C(_, _)`, `D`, `E`, `F` are");
  misses(w, "match (%x) { B => 1 }", "`A`, `C(_, _)`, `D`, `E`, `F`, ... are");
}

static void complete_matches_are_silent(void **state) {
  World *w = *state;
  declare_usual(w);
  is_silent(w, "match (%l) { _ => 0 }");
  is_silent(w, "match (%l) { Red(%n) => %n, %other => 1 }");
  is_silent(w, "match (%l, %m) { (Green, Amber) => 2, (_, _) => 3 }");
  is_silent(w,
            "match (%a, %b) { (On, _) => 1, (_, On) => 2, "
            "(Off, Off) => 3 }");
  is_silent(w, "match (%x) { Box(%y) => %y }");
  is_silent(w, "match? (%l) { Green => 1 }");
  is_silent(w, "match? (%v) { }");
}

static void mistaken_patterns_are_left_alone(void **state) {
  World *w = *state;
  declare_usual(w);
  is_silent(w, "match (%l) { Green => 1, Blue => 2 }");
  is_silent(w, "match (%l) { Green => 1, Red(Blue) => 2 }");
  is_silent(w, "match (%l) { Green => 1, Red => 2 }");
  is_silent(w, "match (%l) { Green => 1, Nil => 2 }");
}

/* --- Messages ----------------------------------------------------------- */

static void messages_point_and_help(void **state) {
  World *w = *state;
  declare_usual(w);
  assert_string_equal(
      report_on(w, "  match (%l) { Green => 1 }"),
      "t.rly:1:3: error[E0401]: match on Light[] is not exhaustive: `Amber`, "
      "`Red(_)` are not covered\n"
      "    1 |   match (%l) { Green => 1 }\n"
      "      |   ^^^^^\n"
      "  help: write the missing arms, `Amber => ...`, `Red(_) => ...`, "
      "or one for `_`\n");
  says(w, "match (%l) { Nil => 1 }",
       "help: write the missing arm, `Cons(_, _) => ...`, or one for `_`\n");
  says(w, "match (%v) { }", "help: write the missing arm, `_ => ...`\n");
}

static void unreachable_arms_are_warned_of(void **state) {
  World *w = *state;
  declare_usual(w);
  assert_string_equal(
      report_on(w,
                "match (%a, %b) {\n  (_, On) => 1,\n  (On, On) => 2,\n"
                "  _ => 3\n}"),
      "t.rly:3:3: warning[W0001]: arm can never be reached\n"
      "    3 |   (On, On) => 2,\n"
      "      |   ^^^^^^^^\n"
      "    2 |   (_, On) => 1,\n"
      "      |   ------- this arm takes every value that would reach it\n");
  says(w, "match (%a) { On => 1, Off => 2, _ => 3 }",
       "the arms above it, taken together, leave it no value\n");
  says(w, "match? (%a) { On => 1, On => 2 }", "this arm takes every value");
  says(w, "match (%a) { Box(On) => 1, Box(_) => 2, Box(Off) => 3 }",
       "1:41: warning[W0001]");
  says(w, "match (%a) { %x => 1, On => 2, Off => 3 }", "1:32: warning[W0001]");
}

/* --- Against every value ------------------------------------------------ */

/* A value of (Bit, Light, Light), where Red holds a Bit. */
typedef struct Sample {
  int bit, light[2], red[2];
} Sample;

static bool takes_name(const Pattern *p, const char *name) {
  if (p->kind != PT_CTOR) return true;
  return strcmp(p->name->text, name) == 0;
}

static bool takes_bit(const Pattern *p, int bit) {
  return takes_name(p, bit ? "Off" : "On");
}

static bool takes_light(const Pattern *p, int light, int red) {
  static const char *const names[] = {"Green", "Amber", "Red"};
  if (!takes_name(p, names[light])) return false;
  return light < 2 || p->kind != PT_CTOR || takes_bit(p->fields[0], red);
}

static bool takes(const Pattern *p, const Sample *v) {
  return p->kind != PT_TUPLE ||
         (takes_bit(p->fields[0], v->bit) &&
          takes_light(p->fields[1], v->light[0], v->red[0]) &&
          takes_light(p->fields[2], v->light[1], v->red[1]));
}

/* Which of the 32 values a pattern takes. */
static uint32_t taken(const Pattern *p) {
  static const int light[] = {0, 1, 2, 2}, red[] = {0, 0, 0, 1};
  uint32_t set = 0;
  for (int i = 0; i < 32; i++) {
    int a = i >> 1 & 3, b = i >> 3;
    Sample v = {i & 1, {light[a], light[b]}, {red[a], red[b]}};
    if (takes(p, &v)) set |= 1u << i;
  }
  return set;
}

static const char *pick(uint64_t *seed, int n, const char *const *from) {
  return from[unit_random(seed) % (uint64_t)n];
}

static void random_match(StrBuf *out, uint64_t *seed) {
  static const char *const bits[] = {"_", "On", "Off", "%a"};
  static const char *const lights[] = {"_",        "Green",  "Amber", "Red(On)",
                                       "Red(Off)", "Red(_)", "%b"};
  VEC_CLEAR(out);
  strbuf_add(out, "match (%x) {");
  for (int n = (int)(unit_random(seed) % 9) + 1; n > 0; n--) {
    const char *second = pick(seed, 7, lights), *third = pick(seed, 6, lights);
    strbuf_addf(out, "(%s, %s, %s) => 0, ", pick(seed, 3, bits), second, third);
  }
  strbuf_add(out, "}");
}

/* The patterns named as missing take what no arm takes, and nothing else. */
static void check_missing(World *w, const Coverage *found, uint32_t uncovered) {
  uint32_t named = 0;
  for (int i = 0; i < found->missing_count; i++) {
    VEC_CLEAR(&w->out);
    strbuf_addf(&w->out, "match (%%x) { %s => 0 }", found->missing[i]);
    const Expr *e = parse_match(w, strbuf_text(&w->out));
    uint32_t set = taken(e->match->arms[0].pattern);
    assert_int_equal(set & named, 0);
    named |= set;
  }
  assert_int_equal(named & ~uncovered, 0);
  if (!found->more) assert_int_equal(named, uncovered);
  assert_int_equal(found->more && found->missing_count < MISSING_MAX, 0);
}

static void agrees_with_trying_every_value(void **state) {
  World *w = *state;
  declare_usual(w);
  uint64_t seed = 7;
  for (int round = 0; round < 2000; round++) {
    random_match(&w->out, &seed);
    const Match *m = parse_match(w, strbuf_text(&w->out))->match;
    Coverage found = match_coverage(&w->mem, arena(w), m);
    assert_true(found.known && !found.too_complex);
    uint32_t covered = 0;
    for (int i = 0; i < m->arm_count; i++) {
      uint32_t set = taken(m->arms[i].pattern);
      assert_int_equal(found.useful[i], (set & ~covered) != 0);
      covered |= set;
    }
    check_missing(w, &found, ~covered);
  }
}

/* --- Size --------------------------------------------------------------- */

static const Adt *declare_wide(World *w, int n) {
  CtorRow *rows = ARENA_ARRAY(arena(w), CtorRow, (size_t)n);
  for (int i = 0; i < n; i++) rows[i].name = arena_printf(arena(w), "C%d", i);
  return declare(w, "Wide", n, rows);
}

static Pattern *pattern_new(World *w, PatternKind kind, int count) {
  Pattern *p = ARENA_NEW(arena(w), Pattern);
  p->kind = kind;
  p->count = count;
  p->fields = ARENA_ARRAY(arena(w), const Pattern *, (size_t)count);
  return p;
}

static Pattern *pattern_ctor(World *w, const Ctor *ctor) {
  Pattern *p = pattern_new(w, PT_CTOR, ctor->field_count);
  p->ctor = ctor;
  p->type = type_adt(w->program->types, ctor->adt, 0, NULL);
  return p;
}

/* A tuple of n wildcards. */
static Pattern *pattern_row(World *w, int n) {
  const Pattern **fields = ARENA_ARRAY(arena(w), const Pattern *, (size_t)n);
  for (int i = 0; i < n; i++) fields[i] = pattern_new(w, PT_WILD, 0);
  Pattern *p = pattern_new(w, PT_TUPLE, n);
  p->fields = fields;
  return p;
}

static void set_field(Pattern *row, int i, const Pattern *p) {
  ((const Pattern **)row->fields)[i] = p;
}

static Coverage coverage(World *w, int n, const Arm *arms) {
  Match m = {false, n, arms};
  return match_coverage(&w->mem, arena(w), &m);
}

/* Every constructor of 3,000 beside itself, then the rest: a product of all
 * constructors would have nine million members. */
static void wide_types_do_not_blow_up(void **state) {
  World *w = *state;
  enum { N = 3000 };
  const Adt *wide = declare_wide(w, N);
  Arm *arms = ARENA_ARRAY(arena(w), Arm, N + 1);
  for (int i = 0; i < N; i++) {
    Pattern *row = pattern_row(w, 2);
    set_field(row, 0, pattern_ctor(w, &wide->ctors[i]));
    set_field(row, 1, pattern_ctor(w, &wide->ctors[i]));
    arms[i].pattern = row;
  }
  arms[N].pattern = pattern_row(w, 2);
  Coverage all = coverage(w, N + 1, arms);
  assert_true(all.known && !all.too_complex);
  assert_int_equal(all.missing_count, 0);
  for (int i = 0; i <= N; i++) assert_true(all.useful[i]);
  Coverage some = coverage(w, N, arms);
  assert_true(some.more && !some.too_complex);
  assert_string_equal(some.missing[0], "(C0, C1)");
}

/* Row i looks at column i only. */
static void many_columns_do_not_blow_up(void **state) {
  World *w = *state;
  enum { N = 500 };
  const Adt *bit = declare(w, "Bit", 2, (CtorRow[]){{"On", 0}, {"Off", 0}});
  Arm *arms = ARENA_ARRAY(arena(w), Arm, N + 1);
  for (int i = 0; i < N; i++) {
    Pattern *row = pattern_row(w, N);
    set_field(row, i, pattern_ctor(w, &bit->ctors[0]));
    arms[i].pattern = row;
  }
  Coverage found = coverage(w, N, arms);
  assert_false(found.too_complex);
  assert_int_equal(found.missing_count, 1);
  assert_int_equal(strncmp(found.missing[0], "(Off, Off, Off", 14), 0);
  assert_true(strlen(found.missing[0]) < 2 * MISSING_TEXT_MAX);
}

/* A row of 20,000 tests makes a path of that length. */
static void length_costs_no_stack(void **state) {
  World *w = *state;
  enum { N = 20000 };
  const Adt *bit = declare(w, "Bit", 2, (CtorRow[]){{"On", 0}, {"Off", 0}});
  Pattern *row = pattern_row(w, N);
  for (int i = 0; i < N; i++)
    set_field(row, i, pattern_ctor(w, &bit->ctors[0]));
  Arm arms[] = {{.pattern = row}, {.pattern = pattern_row(w, N)}};
  Coverage found = coverage(w, 2, arms);
  assert_true(found.known && found.useful[0]);
  assert_int_equal(found.missing_count, 0);
}

/* Is there a value that no arm takes?  That asks whether a formula can be
 * satisfied: a clause of three for each arm, here random ones. */
static void hopeless_matches_are_given_up(void **state) {
  World *w = *state;
  enum { COLUMNS = 200, ROWS = 860 };
  const Adt *bit = declare(w, "Bit", 2, (CtorRow[]){{"On", 0}, {"Off", 0}});
  uint64_t seed = 3;
  Arm *arms = ARENA_ARRAY(arena(w), Arm, ROWS);
  for (int i = 0; i < ROWS; i++) {
    Pattern *row = pattern_row(w, COLUMNS);
    for (int k = 0; k < 3; k++) {
      uint64_t r = unit_random(&seed);
      set_field(row, (int)(r % COLUMNS), pattern_ctor(w, &bit->ctors[r >> 63]));
    }
    arms[i].pattern = row;
  }
  Match partial = {true, ROWS, arms};
  Coverage found = match_coverage(&w->mem, arena(w), &partial);
  assert_true(found.known && found.too_complex);
  assert_int_equal(found.missing_count, 0);
}

/* --- Memory ------------------------------------------------------------- */

static void check_something(Mem *m) {
  World w = {.mem = {0}};
  memcpy(&w.mem, m, sizeof *m);
  world_open(&w);
  if (w.program) {
    const Adt *wide = declare_wide(&w, 40);
    Arm arms[40];
    for (int i = 0; i < 40; i++) {
      Pattern *row = pattern_row(&w, 3);
      set_field(row, i % 3, pattern_ctor(&w, &wide->ctors[i]));
      arms[i] = (Arm){.pattern = row};
    }
    if (!mem_exhausted(&w.mem)) coverage(&w, 40, arms);
  }
  world_close(&w);
  memcpy(m, &w.mem, sizeof *m);
}

static void survives_every_failing_allocation(void **state) {
  (void)state;
  unit_walk_failures(check_something);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WORLD_TEST(missing_patterns_are_minimal),
      WORLD_TEST(several_unnamed_constructors_combine),
      WORLD_TEST(long_lists_of_missing_patterns_are_cut),
      WORLD_TEST(complete_matches_are_silent),
      WORLD_TEST(mistaken_patterns_are_left_alone),
      WORLD_TEST(messages_point_and_help),
      WORLD_TEST(unreachable_arms_are_warned_of),
      WORLD_TEST(agrees_with_trying_every_value),
      WORLD_TEST(wide_types_do_not_blow_up),
      WORLD_TEST(many_columns_do_not_blow_up),
      WORLD_TEST(length_costs_no_stack),
      WORLD_TEST(hopeless_matches_are_given_up),
      cmocka_unit_test(survives_every_failing_allocation),
  };
  return RUN_TESTS(tests);
}
