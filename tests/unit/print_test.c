/* The printer: layout, sugar, comments and names.  Expected texts are written
 * by hand from the language's description and the reference's style; properties
 * (what is printed parses to an equal program and prints the same again) are
 * checked on every text here, also with comments strewn into it.
 *
 * A formatter overwrites people's files, so nothing may be lost: comments are
 * strewn into each text and must all come out, and printing what was printed
 * must change nothing. */
#include "ir/print.h"
#include "parser/parser.h"
#include "tests/unit/program.h"

/* --- Help ------------------------------------------------------------- */

static Unit *parse(World *w, const char *text) {
  SourceFile *source =
      sources_add(&w->sources, "test.rly", text, strlen(text), false);
  Unit *unit;
  ParseStatus status = parse_unit(w->program, source, (ParseOptions){0}, &unit);
  if (status != PARSE_OK) {
    diags_render(&w->diags, &w->sources, (DiagLook){0}, &w->out);
    fail_msg("%s\n%s", text, strbuf_text(&w->out));
  }
  return unit;
}

/* Prints a unit; the text is the world's until the next call. */
static const char *printed(World *w, const Unit *u) {
  VEC_CLEAR(&w->out);
  unit_print(w->program, u, &w->out);
  return strbuf_text(&w->out);
}

/* Checks that the unit's text gives an equal program and the same text. */
static void round_trips(World *w, const Unit *u) {
  StrBuf first;
  strbuf_init(&first, &w->mem);
  strbuf_add(&first, printed(w, u));
  const Unit *again = parse(w, strbuf_text(&first));
  if (!unit_equal(&w->mem, u, again))
    fail_msg("another program:\n%s", strbuf_text(&first));
  assert_int_equal(u->comment_count, again->comment_count);
  assert_string_equal(printed(w, again), strbuf_text(&first));
  strbuf_done(&first);
}

static void prints_as(World *w, const char *text, const char *expected) {
  const Unit *u = parse(w, text);
  assert_string_equal(printed(w, u), expected);
  round_trips(w, u);
}

static void stays(World *w, const char *text) { prints_as(w, text, text); }

/* --- Expressions ------------------------------------------------------ */

/* Texts that are in canonical form already. */
static const char *const canonical[] = {
    "1 + 2 * 3 - 4 / 5;\n",
    "(1 + 2) * 3;\n",
    "(%p.0).x + (%p.q).x.y + (@p.0).x + %p.x;\n",
    "1 - (2 - 3) - 4;\n",
    "1 < 2 == 3 >= 4 != (5 == 6);\n",
    "%a && %b && !%c || %d && (%e || %f);\n",
    "%a && (%b && %c);\n",
    "-%x + --%y - -5;\n",
    "-(5) * -(-5) - -(1f).0;\n",
    "-(%x + 1);\n",
    "!(%x < 1);\n",
    "!%f(1).0;\n",
    "(!%f)(1);\n",
    "(5).0;\n",
    "%t.0.1(2)(3).4;\n",
    "(1, 2f, 3f64, 4i64, 5i8, 6u8, 0.5f16, 1e+30bf16);\n",
    "(inff, -inff, nanf, True, False, ());\n",
    "((1,), (1, 2), ((),));\n",
    "[[1, 2], [3, 4]];\n",
    "\"tab\\tquote\\\"slash\\\\bell\\u0007 \xC3\xA9 raw\\xff\";\n",
    "nn.relu(%x);\n",
    "f(meta[relay.Constant][0], meta[relay.attrs.ScanopAttrs][1]);\n",
    "f(%x, axis=[-1, 0], dtype=\"int8\", exact=True, none=None, a.b=%y);\n",
    "(Nil, Nil(), Cons(1, Nil));\n",
    "ref_write(ref(ref_read(%r)), 5);\n",
    "fn (%x) { %x };\n",
    "fn [A, n: Dim](%x: Tensor[(n, 2), int8], Primitive=1) -> A { %x };\n",
    "(fn (%x) { %x })(3);\n",
    "(if (%c) { %f } else { %g })(3) + 1;\n",
    "if (%c) { 1 } else if (%d) { 2 } else { 3 };\n",
    "if (%c) { 1 } else { if (%d) { 2 } else { 3 } };\n",
    "match (%x) {};\n",
    "match? (%a, %b) { (C(%x: int32, _), Nil) => 1, ((%y,), Z()) => { 2 } };\n",
    "match (f(%x)) { _ => 1 };\n",
    "(print(1); 2) + 3;\n",
    "{ 1 };\n",
    "let %f = fn (%x) { %g(%x) }\nand %g = fn (%x) { %f(%x) };\n",
    "let @x: List[nat] = Nil;\nparam @w: Tensor[(2, ?), float32];\n"
    "param @b: float32 = 0f;\nimport \"dir/lib.rly\";\n",
    "type T\nextern type Storage\ntype E {}\n"
    "type Rose[A] { Rose(A, List[Rose[A]]), Leaf, Nothing() }\n",
    "def @f(%x: fn (int32, (A,)) -> (), %r: ref(nat[]), %q: Ref[_]) { 1 }\n",
    "def @f[n: Dim](%x: Tensor[((n + 1) * 2 - n / 3 - (1 - n), ?), int8]) "
    "{ n }\n",
    "%0 = 1;\n%1 = %0 + %0;\n%1;\n",
};

static void canonical_text_stays(void **state) {
  World *w = *state;
  for (size_t i = 0; i < LENGTH(canonical); i++) stays(w, canonical[i]);
}

/* Text and what becomes of it. */
static const struct {
  const char *text, *expected;
} rewritten[] = {
    {"1+2*(3)", "1 + 2 * 3;\n"},
    {"((1))+(2*3)", "1 + 2 * 3;\n"},
    {"- 5", "-(5);\n"},
    {"--10", "10;\n"},
    {"1.0 + 1e5 + 2f32 + 3i + 007", "1f + 100000f + 2f + 3 + 7;\n"},
    {"nn . relu (%x,)", "nn.relu(%x);\n"},
    {"match %x {A=>{1} B=>2,}", "match (%x) { A => { 1 }, B => 2 };\n"},
    {"match ((%x, %y)) { _ => 1 }", "match (%x, %y) { _ => 1 };\n"},
    {"f(1; 2)", "f((1; 2));\n"},
    {"def @f(%x: int, %y: Tensor[(), float]) -> (bool) {%x;}",
     "def @f(%x: int32, %y: Tensor[(), float32]) -> (bool,) {\n  %x;\n}\n"},
    {"def @f() { { { 1 } } }", "def @f() { 1 }\n"},
    {"let %x = let %y = 1; %y;", "let %x = (\n  let %y = 1;\n  %y\n);\n"},
    {"def @f() {let %x=1;%x} type A{B,C}",
     "def @f() {\n  let %x = 1;\n  %x\n}\n\ntype A { B, C }\n"},
};

static void other_text_becomes_canonical(void **state) {
  World *w = *state;
  for (size_t i = 0; i < LENGTH(rewritten); i++)
    prints_as(w, rewritten[i].text, rewritten[i].expected);
}

/* --- Layout ----------------------------------------------------------- */

static void groups_break_outside_in(void **state) {
  stays(*state,
        "def @main() {\n"
        "  let %step = fn (%rate: float32) -> float32 {\n"
        "    let %p = sigmoid(\n"
        "      nn.bias_add(nn.dense(%x, ref_read(%w), units=1), ref_read(%b), "
        "axis=-1)\n"
        "    );\n"
        "    %first_operand_of_the_sum * %second_factor_of_it +\n"
        "      %second_operand_of_the_sum -\n"
        "      %third_operand_of_the_sum\n"
        "  };\n"
        "  %step(0.5f)\n"
        "}\n");
}

static void parameters_break_before_results(void **state) {
  stays(*state,
        "def @cell(\n"
        "  %hidden: Tensor[(1, 3), float32],\n"
        "  %token: int32\n"
        ") -> (Tensor[(1, 3), float32], Tensor[(1, 3), float32]) {\n"
        "  %hidden\n"
        "}\n");
}

static void arms_stand_on_lines_of_their_own(void **state) {
  stays(*state,
        "def @f(%t: Rb) -> Rb {\n"
        "  match (%c, %l, %x, %r) {\n"
        "    (Black, T(Red, T(Red, %a, %p, %b), %q, %d), %s, %e) =>\n"
        "      T(Red, T(Black, %a, %p, %b), %q, T(Black, %d, %s, %e)),\n"
        "    T(%c, %l, %y, %r) => if (%x < %y) {\n"
        "      @balance(%c, @insert(%l, %x), %y, %r, @another_argument)\n"
        "    } else {\n"
        "      %t\n"
        "    },\n"
        "    Leaf(%x) => {\n"
        "      let %y = %x;\n"
        "      %y\n"
        "    },\n"
        "  }\n"
        "}\n");
}

static void numbers_fill_their_lines(void **state) {
  stays(*state,
        "[\n"
        "  1000000, 1000000, 1000000, 1000000, 1000000, 1000000, 1000000, "
        "1000000,\n"
        "  1000000, 1000000, 1000000, 1000000\n"
        "];\n");
}

static void long_types_break(void **state) {
  stays(*state,
        "type Layer {\n"
        "  Dense(Tensor[(128, 128), float32], Tensor[(128), float32]),\n"
        "  Recurrent(Tensor[(128, 128), float32], Tensor[(128), float32]),\n"
        "}\n");
}

static void lines_reach_eighty_columns_and_no_further(void **state) {
  stays(*state,
        "%aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa + "
        "%bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb;\n");
  stays(*state,
        "%aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa +\n"
        "  %bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb;\n");
}

static void empty_lines_are_kept_between_small_items(void **state) {
  prints_as(*state,
            "let %x = 1;\n\n\n\nlet %y = 2;\nlet %z = 3;\n"
            "def @f() {\n\n\n  let %a = 1;\n\n\n  let %b = 2;\n  %a\n\n}\n"
            "def @g() { 1 }\n%x;",
            "let %x = 1;\n\nlet %y = 2;\nlet %z = 3;\n\n"
            "def @f() {\n  let %a = 1;\n\n  let %b = 2;\n  %a\n}\n\n"
            "def @g() { 1 }\n\n%x;\n");
}

static void header_and_metadata_are_kept(void **state) {
  World *w = *state;
  const Unit *u = parse(w,
                        "// licence\n#[version = \"0.0.5\"]\n\n"
                        "def @main() { 1 }\n"
                        "#[metadata]\n{\"root\": 1, \"nodes\": "
                        "[{\"type_key\": \"\"}, {\"type_key\": \"Map\"}]}\n\n");
  assert_string_equal(printed(w, u),
                      "// licence\n#[version = \"0.0.5\"]\n\n"
                      "def @main() { 1 }\n\n"
                      "#[metadata]\n{\"root\": 1, \"nodes\": "
                      "[{\"type_key\": \"\"}, {\"type_key\": \"Map\"}]}\n");
  round_trips(w, u);
}

/* --- Comments --------------------------------------------------------- */

static void comments_stay_where_they_were(void **state) {
  stays(*state,
        "// first\n"
        "\n"
        "/* two\n"
        "   lines */\n"
        "type T { // of the type\n"
        "  // before A\n"
        "  A, // of A\n"
        "  B, // of B\n"
        "  // at the end\n"
        "}\n"
        "\n"
        "// before f\n"
        "def @f(\n"
        "  %x: int32, // of x\n"
        "  // before y\n"
        "  %y: int32\n"
        ") { // of f\n"
        "  // before z\n"
        "  let %z = 1; // of z\n"
        "\n"
        "  // before the match\n"
        "  match (%z) {\n"
        "    // before Nil\n"
        "    Nil => 1, // of Nil\n"
        "    Cons(/* head */ %h, _) => /* arm */ 2,\n"
        "    // after the arms\n"
        "  }\n"
        "  // at the end\n"
        "}\n"
        "// last words\n");
}

static void comments_move_as_little_as_can_be(void **state) {
  World *w = *state;
  prints_as(w, "1 /* a */ + /* b */ 2 /* c */;",
            "1 + /* a */ /* b */ 2 "
            "/* c */;\n");
  prints_as(w, "f(1, // one\n2 // two\n);",
            "f(\n  1, // one\n  2 // two\n);\n");
  prints_as(w, "1 + // rest\n2;", "1 + // rest\n  2;\n");
  prints_as(w, "if (%c) { 1 // then\n } else { 2 /* else */ }",
            "if (%c) {\n  1 // then\n} else {\n  2 /* else */\n};\n");
  prints_as(w, "1; // a\n/* b */ // c\n2;", "1; // a\n/* b */ // c\n2;\n");
  prints_as(w, "(/* in */ %x) /* out */;", "/* in */ %x /* out */;\n");
}

/* Texts that comments and line breaks are strewn into. */
static const char *const ground[] = {
    "#[version=\"0.0.5\"] def @f [ A ] ( %x : A , %y : ( A , int32 ) ) -> "
    "List[ A ] { let %z = ( %x , 1 ) . 0 ; %0 = f ( %z ) ; "
    "if ( %c && ! %d ) { %0 } else if ( %e ) { ( %z ; 1 ) } else "
    "{ match ( %z ) { Cons ( %h , _ ) => %h , ( Nil , %t ) => { 2 } } } }",
    "type T [ A , B ] { C ( A , B ) , D , E ( ) } extern type S "
    "param @w : Tensor[ ( 2 , ? ) , float32 ] = [ [ 1f , 2f ] , [ 3f , 4f ] ] "
    "; "
    "let @g : ref( T[ int32 , () ] ) = ref ( D ) ; "
    "let %f = fn ( %x : int32 ) { %g ( %x - - 1 , axis = [ 0 , 1 ] ) } "
    "and %g = fn ( %x ) { %f ( %x ) ; } ; ( ( %f ) ( 1 ) ) * ( 2 + 3 ) ;",
};

static const char *const strewn[] = {
    "// line\n",         "/* block */ ", "\n// own line\n", "\n\n/* own */\n\n",
    "/* two\nlines */ ", "\n\n",         "/* ends */\n",    "\n/* begins */ ",
};

static void strew(StrBuf *out, const char *text, uint64_t *seed) {
  bool in_string = false;
  for (const char *s = text; *s; s++) {
    strbuf_add_char(out, *s);
    if (*s == '"') in_string = !in_string;
    uint64_t r = unit_random(seed);
    if (*s != ' ' || in_string || s[-1] == '-' || r % 8 > 0) continue;
    strbuf_add(out, strewn[r / 8 % LENGTH(strewn)]);
  }
}

static void comments_anywhere_round_trip(void **state) {
  World *w = *state;
  uint64_t seed = 1;
  for (int i = 0; i < 400; i++) {
    StrBuf text;
    strbuf_init(&text, &w->mem);
    strew(&text, ground[i % LENGTH(ground)], &seed);
    round_trips(w, parse(w, strbuf_text(&text)));
    strbuf_done(&text);
  }
}

/* --- Size ------------------------------------------------------------- */

/* `head`, then `link` many times over, then `tail`. */
static void long_text_round_trips(World *w, const char *head, const char *link,
                                  const char *tail) {
  StrBuf text;
  strbuf_init(&text, &w->mem);
  strbuf_add(&text, head);
  for (int i = 0; i < 100000; i++) strbuf_add(&text, link);
  strbuf_add(&text, tail);
  round_trips(w, parse(w, strbuf_text(&text)));
  strbuf_done(&text);
}

static void length_costs_no_stack(void **state) {
  World *w = *state;
  long_text_round_trips(w, "%x", " + 1", ";");
  long_text_round_trips(w, "%x", " && %y || %z", ";");
  long_text_round_trips(w, "%x", "(1).0", ";");
  long_text_round_trips(w, "", "let %x = %x + 1; ", "%x;");
  long_text_round_trips(w, "def @f() { ", "let %x = %x; ", "%x }");
  long_text_round_trips(w, "", "if (%c) { 1 } else ", "{ 2 };");
  long_text_round_trips(w, "match (%x) { ", "A(_, %y) => %y, ", "_ => 1 };");
  long_text_round_trips(w, "1 ", "/* c */ ", ";");
}

static void nesting_round_trips(void **state) {
  World *w = *state;
  StrBuf text;
  strbuf_init(&text, &w->mem);
  for (int i = 0; i < 450; i++) strbuf_add(&text, "(1 + f(");
  strbuf_add(&text, "2");
  for (int i = 0; i < 450; i++) strbuf_add(&text, ")) * 3");
  round_trips(w, parse(w, strbuf_text(&text)));
  strbuf_done(&text);
}

/* --- Equality of parsed programs -------------------------------------- */

static const struct {
  const char *a, *b;
  bool equal;
} pairs[] = {
    {"%a && %b;", "if (%a) { %b } else { False };", true},
    {"%a + %b;", "add(%a, %b);", true},
    {"{ 1 };", "1;", true},
    {"def @f[A](%x: A) { %x }", "def @f[B](%y: B) { %y }", true},
    {"def @f[A](%x: A) { %x }", "def @f[B](%y: A) { %y }", false},
    {"def @f() { 1 }", "def @g() { 1 }", false},
    {"type T[A] { C(A) }", "type T[B] { C(B) }", true},
    {"type T { C }", "type T { D }", false},
    {"def @f() { %0 = 1; %0 }", "def @f() { %3 = 1; %3 }", true},
    {"fn (%x: int32) { %x };", "fn (%x: int64) { %x };", false},
    {"match (%x) { C(%a) => %a };", "match (%x) { C(%b) => %b };", true},
    {"match (%x) { C(%a) => %a };", "match? (%x) { C(%a) => %a };", false},
    {"f(1, axis=[1]);", "f(1, axis=[2]);", false},
    {"1;", "1i64;", false},
    {"0f;", "-0f;", false},
    {"1; 2;", "1;", false},
};

static void equality_of_texts(void **state) {
  World *w = *state;
  for (size_t i = 0; i < LENGTH(pairs); i++) {
    const Unit *a = parse(w, pairs[i].a), *b = parse(w, pairs[i].b);
    assert_int_equal(unit_equal(&w->mem, a, b), pairs[i].equal);
    assert_int_equal(unit_equal(&w->mem, b, a), pairs[i].equal);
  }
}

/* --- Resolved programs ------------------------------------------------ */

static Arena *arena(World *w) { return &w->program->arena; }

static Expr *use(World *w, Var *v) {
  Expr *e = expr_new(arena(w), EX_VAR, SPAN_NONE);
  e->var = v;
  return e;
}

static Binding let_of(Var *v, const Expr *value, Sugar sugar) {
  return (Binding){.kind = BIND_LET, .var = v, .value = value, .sugar = sugar};
}

static const char *op_spelling(int op) { return op == 7 ? "add" : "tanh"; }

static const Expr *op_call(World *w, int op, Sugar sugar, const Expr *a,
                           const Expr *b) {
  const Expr *args[] = {a, b};
  Expr *callee = expr_new(arena(w), EX_OP, SPAN_NONE);
  callee->op = op;
  Expr *e = expr_call(arena(w), SPAN_NONE, callee, b ? 2 : 1,
                      arena_copy(arena(w), args, sizeof args));
  e->sugar = (uint8_t)sugar;
  return e;
}

static void variables_of_one_name_print_apart(void **state) {
  World *w = *state;
  w->program->op_name = op_spelling;
  const Name *x = name_of(&w->names, "x"), *zero = name_of(&w->names, "0");
  Var *outer = var_new(arena(w), x, SPAN_NONE, NULL);
  Var *inner = var_new(arena(w), x, SPAN_NONE, NULL);
  Var *node = var_new(arena(w), zero, SPAN_NONE, NULL);
  inner->type = type_scalar(w->program->types, DT_INT32);
  const Expr *sum = op_call(w, 7, SUGAR_INFIX, use(w, outer), use(w, inner));
  Binding bindings[] = {
      let_of(inner, use(w, outer), SUGAR_NONE),
      let_of(node, op_call(w, 8, SUGAR_NONE, sum, NULL), SUGAR_GRAPH),
  };
  Fn fn = {.param_count = 1,
           .params = &outer,
           .body = expr_block(arena(w), SPAN_NONE, 2, bindings, use(w, node))};
  Expr *value = expr_new(arena(w), EX_FN, SPAN_NONE);
  value->fn = &fn;
  expr_print(w->program, value, &w->out);
  assert_string_equal(strbuf_text(&w->out),
                      "fn (%x) {\n"
                      "  let %x1: int32 = %x;\n"
                      "  %0 = tanh(%x + %x1);\n"
                      "  %0\n"
                      "}");
}

static void constants_print_as_literals(void **state) {
  World *w = *state;
  int32_t elements[] = {1, 2, 3, 4, 5, 6};
  Tensor t = tensor_on_data(DT_INT32, 2, (int64_t[]){2, 3}, elements);
  expr_print(w->program, expr_const(arena(w), SPAN_NONE, &t), &w->out);
  strbuf_add_char(&w->out, '\n');
  Tensor none = tensor_on_data(DT_FLOAT32, 2, (int64_t[]){0, 3}, elements);
  expr_print(w->program, expr_const(arena(w), SPAN_NONE, &none), &w->out);
  assert_string_equal(strbuf_text(&w->out),
                      "[[1, 2, 3], [4, 5, 6]]\n"
                      "zeros(shape=[0, 3], dtype=\"float32\")");
}

static void parts_print(void **state) {
  World *w = *state;
  const Unit *u = parse(w,
                        "fn (%x: fn [A](ref(A)) -> (A,)) { match (%x) "
                        "{ Cons(%a, (_, Nil())) => 1 } };");
  const Fn *fn = u->items[0].expr->fn;
  type_expr_print(&w->out, fn->params[0]->annotation);
  assert_string_equal(strbuf_text(&w->out), "fn [A](ref(A)) -> (A,)");
  VEC_CLEAR(&w->out);
  pattern_print(w->program, fn->body->match->arms[0].pattern, &w->out);
  assert_string_equal(strbuf_text(&w->out), "Cons(%a, (_, Nil()))");
  VEC_CLEAR(&w->out);
  expr_print(w->program, u->items[0].expr, &w->out);
  assert_string_equal(strbuf_text(&w->out),
                      "fn (%x: fn [A](ref(A)) -> (A,)) "
                      "{ match (%x) { Cons(%a, (_, Nil())) => 1 } }");
}

/* --- Memory ----------------------------------------------------------- */

static void survives_every_failing_allocation(void **state) {
  World *w = *state;
  const Unit *u = parse(w, ground[0]);
  const Unit *other = parse(w, ground[0]);
  for (size_t n = 1, used = n; used >= n; n++) {
    size_t before = w->mem.count;
    w->mem.fail_at = before + n;
    StrBuf out;
    strbuf_init(&out, &w->mem);
    unit_print(w->program, u, &out);
    (void)unit_equal(&w->mem, u, other);
    strbuf_done(&out);
    used = w->mem.count - before;
    mem_clear_exhausted(&w->mem);
  }
  w->mem.fail_at = 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WORLD_TEST(canonical_text_stays),
      WORLD_TEST(other_text_becomes_canonical),
      WORLD_TEST(groups_break_outside_in),
      WORLD_TEST(parameters_break_before_results),
      WORLD_TEST(arms_stand_on_lines_of_their_own),
      WORLD_TEST(numbers_fill_their_lines),
      WORLD_TEST(long_types_break),
      WORLD_TEST(lines_reach_eighty_columns_and_no_further),
      WORLD_TEST(empty_lines_are_kept_between_small_items),
      WORLD_TEST(header_and_metadata_are_kept),
      WORLD_TEST(comments_stay_where_they_were),
      WORLD_TEST(comments_move_as_little_as_can_be),
      WORLD_TEST(comments_anywhere_round_trip),
      WORLD_TEST(length_costs_no_stack),
      WORLD_TEST(nesting_round_trips),
      WORLD_TEST(equality_of_texts),
      WORLD_TEST(variables_of_one_name_print_apart),
      WORLD_TEST(constants_print_as_literals),
      WORLD_TEST(parts_print),
      WORLD_TEST(survives_every_failing_allocation),
  };
  return RUN_TESTS(tests);
}
