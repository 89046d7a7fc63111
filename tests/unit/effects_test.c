/* types/effects: what calling a function can do, as the language's description
 * has it, and which graph variables are evaluated at their uses.  Programs are
 * parsed and checked whole.
 *
 * An effect that is not seen would let an optimiser drop or move what must
 * stay, so each kind of expression is asked for by itself, then functions that
 * call each other, then graph variables: only those whose evaluation nobody can
 * notice but by an error or an endless loop may be put off. */
#include "parser/parser.h"
#include "tests/unit/program.h"
#include "types/types.h"

static Unit *no_library(Program *p, char kind, const Name *name) {
  (void)p, (void)kind, (void)name;
  return NULL;
}

static Unit *check(World *w, const char *text) {
  SourceFile *source =
      sources_add(&w->sources, "t.rly", text, strlen(text), false);
  Unit *u = NULL;
  assert_non_null(source);
  w->program->find_in_library = no_library;
  assert_int_equal(parse_unit(w->program, source, (ParseOptions){false}, &u),
                   PARSE_OK);
  if (types_check(w->program, u)) return u;
  diags_render(&w->diags, &w->sources, (DiagLook){0}, &w->out);
  fail_msg("%s\n%s", text, strbuf_text(&w->out));
  return NULL;
}

static Global *global(World *w, const char *name) {
  Global *g = scope_global(&w->program->user, name_of(&w->names, name));
  assert_non_null(g);
  return g;
}

static void does(World *w, const char *name, const char *effects) {
  VEC_CLEAR(&w->out);
  effects_print(&w->out, global(w, name)->effects);
  if (strcmp(strbuf_text(&w->out), effects) != 0)
    fail_msg("@%s: %s, not: %s", name, strbuf_text(&w->out), effects);
}

/* A program of its own that defines @f. */
static void f_does(World *w, const char *text, const char *effects) {
  check(w, text);
  does(w, "f", effects);
  world_close(w);
  world_open(w);
}

/* --- Nodes -------------------------------------------------------------- */

static void state(void **data) {
  World *w = *data;
  f_does(w, "def @f(%x: int32) { %x + 1 }", "pure");
  f_does(w, "def @f(%x: int32) { ref(%x) }", "allocates");
  f_does(w, "def @f(%r: Ref[int32]) { ref_read(%r) }", "reads");
  f_does(w, "def @f(%r: Ref[int32]) { ref_write(%r, 2) }", "writes");
  f_does(w, "def @f(%r: Ref[int32]) { (ref_write(%r, ref_read(%r)), 1).1 }",
         "reads, writes");
}

static void failures(void **data) {
  World *w = *data;
  f_does(w,
         "type L { N, C(int32) }\n"
         "def @f(%l: L) { match? (%l) { C(%x) => %x } }",
         "may fail");
  f_does(w, "def @f(%x: int32) { assert(%x == 1) }", "may fail");
  f_does(w, "def @f() -> int32 { fail(message=\"no\") }", "may fail");
  f_does(w, "def @f(%x: int32) { print(%x) }", "prints");
  f_does(w, "def @f(%x: int32) { print_text([%x]) }", "may fail, prints");
}

static void division(void **data) {
  World *w = *data;
  f_does(w, "def @f(%x: int32) { %x / %x }", "may fail");
  f_does(w, "def @f(%x: int32) { mod(1, %x) }", "may fail");
  f_does(w, "def @f(%x: int32) { %x / 2 }", "pure");
  f_does(w, "def @f(%x: int32) { %x / 0 }", "may fail");
  f_does(w, "def @f(%x: int32) { floor_mod([%x, %x], [2, 3]) }", "pure");
  f_does(w, "def @f(%x: int32) { floor_mod([%x, %x], [2, 0]) }", "may fail");
  f_does(w, "def @f(%x: float32) { %x / %x }", "pure");
}

static void unknown_dimensions(void **data) {
  World *w = *data;
  f_does(w, "def @f(%x: Tensor[(?), int32]) { %x + 1 }", "pure");
  f_does(w, "def @f(%x: Tensor[(?), int32]) { %x + [1] }", "pure");
  f_does(w, "def @f(%x: Tensor[(?), int32]) { %x + %x }", "may fail");
  f_does(w, "def @f(%x: Tensor[(?), int32]) { %x + [1, 2] }", "may fail");
  f_does(w, "def @f(%x: Tensor[(?), float32]) { exp(%x) }", "pure");
  f_does(w, "def @f(%x: Tensor[(2, ?), float32]) { nn.dense(%x, %x) }",
         "may fail");
  f_does(w, "def @f(%x: Tensor[(2, 3), float32]) { nn.dense(%x, %x) }", "pure");
  f_does(w, "def @f(%x: Tensor[(4), int32]) { reshape(%x, newshape=[2, 2]) }",
         "pure");
  f_does(w,
         "def @f(%x: Tensor[(4), int32], %n: Tensor[(2), int32]) {\n"
         "  reshape(%x, newshape=%n)\n}",
         "may fail");
}

static void crossing_to_known_dimensions(void **data) {
  World *w = *data;
  check(w,
        "def @g(%x: Tensor[(3), int32]) { 0 }\n"
        "def @argument(%x: Tensor[(?), int32]) { @g(%x) }\n"
        "def @same(%x: Tensor[(3), int32]) { @g(%x) }\n"
        "def @annotation(%x: Tensor[(?), int32]) {\n"
        "  let %y: Tensor[(3), int32] = %x;\n  %y\n}\n"
        "def @result(%x: Tensor[(?), int32]) -> Tensor[(3), int32] {\n"
        "  %x\n}\n"
        "def @cell(%r: Ref[Tensor[(?), int32]]) {\n"
        "  @g(ref_read(%r))\n}");
  does(w, "g", "pure");
  does(w, "argument", "may fail");
  does(w, "same", "pure");
  does(w, "annotation", "may fail");
  does(w, "result", "may fail");
  does(w, "cell", "reads, may fail");
}

/* A call that leaves a name open compares what mentions it. */
static void binding_names(void **data) {
  World *w = *data;
  check(w,
        "def @pair[n: Dim](%x: Tensor[(n), int32],"
        " %y: Tensor[(n), int32]) { %x + %y }\n"
        "def @one[n: Dim](%x: Tensor[(n), int32]) { %x + n }\n"
        "def @known(%x: Tensor[(3), int32]) { @pair(%x, %x) }\n"
        "def @named[m: Dim](%x: Tensor[(m), int32]) { @pair(%x, %x) }\n"
        "def @alone(%x: Tensor[(?), int32]) { @one(%x) }\n"
        "def @open(%x: Tensor[(?), int32]) { @pair(%x, %x) }\n"
        "def @value(%x: Tensor[(?), int32]) {\n"
        "  let %f = @pair;\n  %f(%x, %x)\n}\n"
        "def @result[n: Dim](%x: Tensor[(n), int32],"
        " %y: Tensor[(?), int32]) -> Tensor[(n), int32] { %y }");
  does(w, "pair", "pure");
  does(w, "known", "pure");
  does(w, "named", "pure");
  does(w, "alone", "pure");
  does(w, "open", "may fail");
  does(w, "value", "may fail");
  does(w, "result", "may fail");
}

/* Once types of containers or functions were widened, what comes out is
 * checked, and what goes into a function value. */
static void loose_types(void **data) {
  World *w = *data;
  check(w,
        "def @three(%x: Tensor[(3), int32]) { %x }\n"
        "def @head(%r: Ref[Tensor[(3), int32]]) { ref_read(%r) }\n"
        "def @any(%r: Ref[Tensor[(?), int32]]) { ref_read(%r) }\n"
        "def @widen(%r: Ref[Tensor[(3), int32]]) { @any(%r) }\n"
        "def @apply(%f: fn (Tensor[(3), int32]) -> int32) {\n"
        "  %f([1, 2, 3])\n}\n"
        "def @passes() { @apply(fn (%x: Tensor[(3), int32]) { 1 }) }");
  does(w, "head", "reads, may fail");
  does(w, "any", "reads");
  does(w, "passes", "may fail");
}

static void looking_up(void **data) {
  World *w = *data;
  f_does(w, "def @f(%i: int32) { take([1, 2], %i) }", "pure");
  f_does(w, "def @f(%i: int32) { take([1, 2], %i, mode=\"fast\") }",
         "may fail");
  f_does(w, "def @f(%x: Tensor[(?), int32]) { take(%x, 0) }", "may fail");
  f_does(w, "def @f(%x: Tensor[(3), int32]) { argmax(%x) }", "pure");
  f_does(w, "def @f(%x: Tensor[(?), int32]) { argmax(%x) }", "may fail");
}

/* --- Functions ---------------------------------------------------------- */

static void recursion(void **data) {
  World *w = *data;
  check(w,
        "def @self(%n: int32) -> int32 {\n"
        "  if (%n == 0) { 0 } else { @self(%n - 1) }\n}\n"
        "def @even(%n: int32) -> bool {\n"
        "  if (%n == 0) { True } else { @odd(%n - 1) }\n}\n"
        "def @odd(%n: int32) -> bool {\n"
        "  if (%n == 0) { (print(%n); False) } else { @even(%n - 1) }\n}\n"
        "def @caller(%n: int32) { @even(%n) }\n"
        "def @holder(%n: int32) { (%n, @even).0 }");
  does(w, "self", "may diverge");
  does(w, "even", "may diverge, prints");
  does(w, "odd", "may diverge, prints");
  does(w, "caller", "may diverge, prints");
  does(w, "holder", "pure");
}

static void local_recursion(void **data) {
  World *w = *data;
  f_does(w,
         "def @f(%n: int32) {\n"
         "  let %g = fn (%i: int32) -> int32 {\n"
         "    if (%i == 0) { 0 } else { %g(%i - 1) }\n  };\n"
         "  %g(%n)\n}",
         "may diverge");
  f_does(w,
         "def @f(%n: int32) {\n"
         "  let %g = fn (%i: int32) -> int32 {\n"
         "    if (%i == 0) { 0 } else { %g(%i - 1) }\n  };\n"
         "  %n\n}",
         "pure");
  f_does(w,
         "def @f(%n: int32) {\n"
         "  let %a = fn (%i: int32) -> int32 {\n"
         "    if (%i == 0) { (print(0); 0) } else { %b(%i - 1) }\n  }\n"
         "  and %b = fn (%i: int32) -> int32 { %a(%i) };\n"
         "  %b(%n)\n}",
         "may diverge, prints");
}

static void closures(void **data) {
  World *w = *data;
  f_does(w, "def @f(%r: Ref[int32]) { fn () { ref_read(%r) } }", "pure");
  f_does(w,
         "def @f(%r: Ref[int32]) {\n"
         "  let %g = fn () { ref_read(%r) };\n  %g()\n}",
         "reads");
  f_does(w, "def @f(%r: Ref[int32]) { (fn () { ref_read(%r) })() }", "reads");
  f_does(w,
         "def @f(%r: Ref[int32]) {\n"
         "  let %g = fn () { ref_read(%r) };\n  let %h = %g;\n"
         "  %h() + 1\n}",
         "reads");
}

static const char higher_order[] =
    "def @apply(%f: fn (int32) -> int32, %x: int32) { %f(%x) }\n"
    "def @twice(%f: fn (int32) -> int32, %x: int32) {\n"
    "  @apply(%f, @apply(%f, %x))\n}\n"
    "def @loop(%f: fn (int32) -> int32, %x: int32) -> int32 {\n"
    "  if (%x == 0) { 0 } else { @loop(%f, %f(%x)) }\n}\n"
    "def @give(%k: fn (fn (int32) -> int32) -> int32) { %k(@say) }\n"
    "def @say(%x: int32) { print(%x); %x }\n"
    "def @quiet(%x: int32) { %x + 1 }\n";

static void parameters_are_variables(void **data) {
  World *w = *data;
  check(w, higher_order);
  does(w, "apply", "calls its arguments");
  does(w, "twice", "calls its arguments");
  does(w, "loop", "may diverge, calls its arguments");
  does(w, "say", "prints");
}

static void arguments_take_their_place(void **data) {
  World *w = *data;
  StrBuf text;
  strbuf_init(&text, &w->mem);
  strbuf_add(&text, higher_order);
  strbuf_add(&text,
             "def @a(%x: int32) { @twice(@say, %x) }\n"
             "def @b(%x: int32) { @twice(@quiet, %x) }\n"
             "def @c(%x: int32) { @twice(fn (%i: int32) { 1 / %i }, %x) }\n"
             "def @d(%x: int32) { @loop(@say, %x) }\n"
             "def @e(%g: fn (int32) -> int32) {\n"
             "  @apply(fn (%i: int32) { %g(%i) }, 1)\n}\n"
             "def @h(%x: int32) { @apply(negative, %x) }\n"
             "def @i(%x: int32) {\n"
             "  let %l = fn (%k: fn (int32) -> int32) { %k(%x) };\n"
             "  %l(@quiet)\n}\n"
             "def @j(%x: int32) {\n"
             "  let %l = fn (%k: fn (int32) -> int32) { %k(%x) };\n"
             "  %l(@say)\n}");
  check(w, strbuf_text(&text));
  strbuf_done(&text);
  does(w, "a", "prints");
  does(w, "b", "pure");
  does(w, "c", "may fail");
  does(w, "d", "may diverge, prints");
  does(w, "e", "calls its arguments");
  does(w, "h", "pure");
  does(w, "i", "pure");
  does(w, "j", "prints");
}

static const char anything[] =
    "reads, writes, allocates, may diverge, may fail, prints";

static void unknown_functions_can_do_everything(void **data) {
  World *w = *data;
  check(w,
        "def @one(%x: int32) { %x }\n"
        "def @pair(%p: (int32, fn (int32) -> int32)) { %p.1(%p.0) }\n"
        "def @make(%f: fn (int32) -> int32) {\n"
        "  fn (%x: int32) { %f(%x) }\n}\n"
        "def @made(%x: int32) { @make(@one)(%x) }\n"
        "def @cell(%r: Ref[fn (int32) -> int32]) { ref_read(%r)(1) }\n"
        "def @caller(%f: fn (int32) -> int32) { %f(1) }\n"
        "def @third(%k: fn (fn (int32) -> int32) -> int32) { %k(@one) }\n"
        "def @passes() { @third(@caller) }");
  does(w, "pair", anything);
  does(w, "make", "pure");
  does(w, "made", anything);
  does(w, "cell", anything);
  does(w, "passes", anything);
}

/* --- Graph variables ---------------------------------------------------- */

static const Var *graph_var(World *w, const char *text) {
  check(w, text);
  const Expr *body = global(w, "f")->value->fn->body;
  assert_int_equal(body->kind, EX_BLOCK);
  return body->block->bindings[0].var;
}

static void failing_nodes_wait_for_their_use(void **data) {
  World *w = *data;
  assert_true(graph_var(w,
                        "def @f(%c: bool, %n: int32) {\n"
                        "  %0 = 1 / %n;\n"
                        "  if (%c) { %0 } else { %0 + 1 }\n}")
                  ->lazy);
}

static void diverging_nodes_wait_for_their_use(void **data) {
  World *w = *data;
  assert_true(graph_var(w,
                        "def @g(%n: int32) -> int32 { @g(%n) }\n"
                        "def @f(%c: bool, %n: int32) {\n"
                        "  %0 = @g(%n);\n"
                        "  if (%c) { %0 } else { %0 + 1 }\n}")
                  ->lazy);
}

static void other_nodes_do_not_wait(void **data) {
  World *w = *data;
  static const char *const values[] = {
      "%n + 1",
      "(print(%n); 1 / %n)",
      "ref_read(ref(%n))",
      "1 / 2",
  };
  for (size_t i = 0; i < LENGTH(values); i++) {
    StrBuf text;
    strbuf_init(&text, &w->mem);
    strbuf_addf(&text,
                "def @f(%%c: bool, %%n: int32) {\n  %%0 = %s;\n"
                "  if (%%c) { %%0 } else { %%0 + 1 }\n}",
                values[i]);
    assert_false(graph_var(w, strbuf_text(&text))->lazy);
    strbuf_done(&text);
    world_close(w);
    world_open(w);
  }
}

static void nodes_used_at_once_do_not_wait(void **data) {
  World *w = *data;
  assert_false(graph_var(w,
                         "def @f(%c: bool, %n: int32) {\n"
                         "  %0 = 1 / %n;\n"
                         "  if (%0 == 1) { %0 } else { %0 + 1 }\n"
                         "}")
                   ->lazy);
}

/* --- Asking, and size --------------------------------------------------- */

static void expressions_may_be_asked_about(void **data) {
  World *w = *data;
  Unit *u = check(w,
                  "def @say(%x: int32) { print(%x); %x }\n"
                  "def @id(%f: fn (int32) -> int32) { %f }\n"
                  "@say(1); fn () { @say(1) }; 1 / 0; ref(2); "
                  "@id(@say)(1)");
  static const Effects expected[] = {EFFECT_PRINT, 0, EFFECT_FAIL, EFFECT_ALLOC,
                                     EFFECT_ALL};
  assert_int_equal(u->step_count, LENGTH(expected));
  for (size_t i = 0; i < LENGTH(expected); i++)
    assert_int_equal(expr_effects(w->program, u->steps[i].expr), expected[i]);
}

static void add_repeated(StrBuf *out, int n, const char *text) {
  for (int i = 0; i < n; i++) strbuf_add(out, text);
}

/* Chains that the parser does not count as nesting. */
static void length_costs_no_stack(void **data) {
  World *w = *data;
  enum { N = 20000 };
  StrBuf text;
  strbuf_init(&text, &w->mem);
  strbuf_add(&text, "def @f(%n: int32) { %n");
  add_repeated(&text, N, " + 1");
  strbuf_add(&text, " + 1 / %n }\ndef @g(%n: int32) { ");
  add_repeated(&text, N, "if (%n == 1) { 0 } else ");
  strbuf_add(&text, "{ 1 / %n } }\ndef @h(%n: int32) { %n == 1");
  add_repeated(&text, N, " && %n == 2");
  strbuf_add(&text, " }\ndef @k(%n: int32) {\n");
  add_repeated(&text, N, "let %n = %n + 1;\n");
  strbuf_add(&text, "%n }");
  check(w, strbuf_text(&text));
  strbuf_done(&text);
  does(w, "f", "may fail");
  does(w, "g", "may fail");
  does(w, "h", "pure");
  does(w, "k", "pure");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WORLD_TEST(state),
      WORLD_TEST(failures),
      WORLD_TEST(division),
      WORLD_TEST(unknown_dimensions),
      WORLD_TEST(crossing_to_known_dimensions),
      WORLD_TEST(binding_names),
      WORLD_TEST(loose_types),
      WORLD_TEST(looking_up),
      WORLD_TEST(recursion),
      WORLD_TEST(local_recursion),
      WORLD_TEST(closures),
      WORLD_TEST(parameters_are_variables),
      WORLD_TEST(arguments_take_their_place),
      WORLD_TEST(unknown_functions_can_do_everything),
      WORLD_TEST(failing_nodes_wait_for_their_use),
      WORLD_TEST(diverging_nodes_wait_for_their_use),
      WORLD_TEST(other_nodes_do_not_wait),
      WORLD_TEST(nodes_used_at_once_do_not_wait),
      WORLD_TEST(expressions_may_be_asked_about),
      WORLD_TEST(length_costs_no_stack),
  };
  return RUN_TESTS(tests);
}
