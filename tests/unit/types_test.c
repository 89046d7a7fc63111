/* types/: the types of programs, and which programs are refused.  Expected
 * types and messages follow from the language's description; each refused
 * program names its code, its line and words of its message.  The test is
 * linked only with rooms below the kernels, which shows that checking needs
 * none of them.
 *
 * Accepted programs pin the inferred types; refused ones show that a mistake is
 * one message, at its place, and no consequence of an earlier one. */
#include <stdio.h>

#include "ops/ops.h"
#include "parser/parser.h"
#include "tests/unit/program.h"
#include "types/types.h"

/* A list and an option, which most programs here use. */
#define PRELUDE                              \
  "type List[A] { Cons(A, List[A]), Nil }\n" \
  "type Option[A] { Some(A), None }\n"

static const char *op_spelling(int op) { return op_info(op)->name; }

static Unit *parse(World *w, const char *text) {
  SourceFile *source =
      sources_add(&w->sources, "t.rly", text, strlen(text), false);
  Unit *unit = NULL;
  w->program->op_name = op_spelling;
  if (source) parse_unit(w->program, source, (ParseOptions){false}, &unit);
  return unit;
}

static bool check(World *w, const char *text) {
  Unit *unit = parse(w, text);
  if (!unit) return false;
  bool ok = types_check(w->program, unit);
  if (!ok) program_drop_unit(w->program, unit);
  return ok;
}

static const char *type_text(World *w, const Type *type) {
  VEC_CLEAR(&w->out);
  type_print(w->program->types, &w->out, type, 0);
  return strbuf_text(&w->out);
}

static const char *diags_text(World *w) {
  VEC_CLEAR(&w->out);
  diags_render(&w->diags, &w->sources, (DiagLook){0}, &w->out);
  return strbuf_text(&w->out);
}

/* --- Accepted programs -------------------------------------------------- */

typedef struct Accepted {
  const char *text;
  const char *type; /* of @main */
} Accepted;

static void accept_all(World *w, const Accepted *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    program_free(w->program);
    w->program =
        program_new(&w->mem, &w->names, &w->sources, &w->diags, &w->heap);
    diags_clear(&w->diags);
    if (!check(w, rows[i].text))
      fail_msg("%s\nwas refused:\n%s", rows[i].text, diags_text(w));
    const Global *g =
        scope_global(&w->program->user, name_of(&w->names, "main"));
    assert_non_null(g);
    assert_string_equal(type_text(w, g->type), rows[i].type);
  }
}

#define T "Tensor[(3), float32]"

static const Accepted structure[] = {
    {"def @main() { (1, True, 2f, ()) }",
     "fn () -> (int32, bool, float32, ())"},
    {"def @main(%t: (int32, (bool,))) { %t.1.0 }",
     "fn ((int32, (bool,))) -> bool"},
    {"def @main(%x: _) -> int32 { %x }", "fn (int32) -> int32"},
    {"def @main(%p: (_, bool)) -> (int32, _) { %p }",
     "fn ((int32, bool)) -> (int32, bool)"},
    {"def @main() { let %r = ref(1); ref_write(%r, 2); (%r, ref_read(%r)) }",
     "fn () -> (ref(int32), int32)"},
    {"def @main() { \"h\xc3\xa9\" }", "fn () -> Tensor[(3), uint8]"},
    {"def @main() { [[1f, 2], [3, 4]] }", "fn () -> Tensor[(2, 2), float32]"},
    {"def @main() { [1, 5000000000] }", "fn () -> Tensor[(2), int64]"},
    {"def @main(%x: int32) { [[%x, 1], [2, 3]] }",
     "fn (int32) -> Tensor[(2, 2), int32]"},
    {"def @main(%a: bool, %b: bool) { !%a && %b || -1 < 2 }",
     "fn (bool, bool) -> bool"},
    {"def @main() -> float32 { fail(message=\"no\") }", "fn () -> float32"},
};

static const Accepted inference[] = {
    {"def @main() { @f(1) } def @f(%x: int32) { @g(%x) }"
     "def @g(%x: int32) { if (%x == 0) { True } else { @f(%x - 1) } }",
     "fn () -> bool"},
    {"def @main() { let %w = fn (%i, %s) { if (%i < 3) { %w(%i + 1, %s) } "
     "else { (%i, %s) } }; %w(0, 1f) }",
     "fn () -> (int32, float32)"},
    {"def @main() { let %even = fn (%n) { if (%n == 0) { True } else "
     "{ %odd(%n - 1) } } and %odd = fn (%n) { if (%n == 0) { False } else "
     "{ %even(%n - 1) } }; %even(4) }",
     "fn () -> bool"},
    {PRELUDE "def @main() { let %e = Nil; (Cons(1, %e), Cons(True, %e)) }",
     "fn () -> (List[int32], List[bool])"},
    {PRELUDE "def @main(%o: Option[_]) { match (%o) { Some(%x) => %x, "
             "None => 0 } }",
     "fn (Option[int32]) -> int32"},
    {"def @main(%f: fn (int32) -> float32) { %f(1) * 2f }",
     "fn (fn (int32) -> float32) -> float32"},
};

static const Accepted polymorphism[] = {
    {"def @main() { let %f = fn (%x) { %x }; (%f(1), %f(())) }",
     "fn () -> (int32, ())"},
    {"let @id = fn (%x) { %x }; def @main() { (@id(1), @id(True)) }",
     "fn () -> (int32, bool)"},
    {"def @id[A](%x: A) { %x } def @main() { let %f = @id; (%f(1), %f(2f)) }",
     "fn () -> (int32, float32)"},
    {"def @main(%f: fn [A](A) -> A) { (%f(1), %f(True)) }",
     "fn (fn [A](A) -> A) -> (int32, bool)"},
    {"def @two(%f: fn [A](A) -> A) { (%f(1), %f(())) }"
     "def @main() { @two(fn (%x) { %x }) }",
     "fn () -> (int32, ())"},
    {PRELUDE "def @main() { let %len = fn [A](%l: List[A]) -> int32 { "
             "match (%l) { Cons(_, %r) => 1 + %len(%r), Nil => 0 } }; "
             "%len(Cons(1, Nil)) + %len(Cons(True, Nil)) }",
     "fn () -> int32"},
    {PRELUDE "def @main() { Nil }", "fn [A]() -> List[A]"},
    {PRELUDE "let @r = ref(Nil); def @main(%x: int32) { ref_write(@r, "
             "Cons(%x, ref_read(@r))) }",
     "fn (int32) -> ()"},
};

static const Accepted operators[] = {
    {"def @apply[A, B](%f: fn (A) -> B, %x: A) -> B { %f(%x) }"
     "def @main() { @apply(negative, 1f) }",
     "fn () -> float32"},
    {"def @main(%x: Tensor[(2, 3), float32]) { (transpose(%x), "
     "sum(%x, axis=[0]), shape_of(%x)) }",
     "fn (Tensor[(2, 3), float32]) -> (Tensor[(3, 2), float32], " T
     ", Tensor[(2), int32])"},
    {"def @main(%x: Tensor[(6), float32], %n: int32) { "
     "reshape(%x, newshape=[%n, -1]) }",
     "fn (Tensor[(6), float32], int32) -> Tensor[(?, ?), float32]"},
    {"def @main(%x: Tensor[(6), float32], %s: Tensor[(2), int64]) { "
     "dyn.reshape(%x, %s, newshape=[]) }",
     "fn (Tensor[(6), float32], Tensor[(2), int64]) -> "
     "Tensor[(?, ?), float32]"},
    {"def @main(%a: int32) { arange(0, %a, 1, start=0, stop=%a, step=1) }",
     "fn (int32) -> Tensor[(?), int32]"},
    {"def @main() { let %f = fn (%x, %w) { nn.dense(%x, %w) }; "
     "%f(ones(shape=[2, 3], dtype=\"float32\"), "
     "ones(shape=[4, 3], dtype=\"float32\")) }",
     "fn () -> Tensor[(2, 4), float32]"},
};

#define ONES(n) "ones(shape=[" #n "], dtype=\"float32\")"
#define ANY "Tensor[(?), float32]"

static const Accepted widening[] = {
    {"def @main(%c: bool, %x: " T ", %y: " ANY ") { let %z = if (%c) { %x } "
     "else { %y }; (%x, %z) }",
     "fn (bool, " T ", " ANY ") -> (" T ", " ANY ")"},
    {"def @main(%y: " ANY ") -> " T " { %y }", "fn (" ANY ") -> " T},
    {"def @f(%x: " ANY
     ") { %x } def @main() { (@f(" ONES(3) "), "
                                           "@f(" ONES(4) ")) }",
     "fn () -> (" ANY ", " ANY ")"},
    {"def @main(%y: " ANY ") { let %x: " T " = %y; %x }", "fn (" ANY ") -> " T},
    {"def @main(%y: " ANY ") { %y + " ONES(3) " }", "fn (" ANY ") -> " T},
    {"def @main(%y: " ANY ") { let %r = ref(" ONES(3) "); ref_write(%r, %y); "
                                                      "ref_read(%r) }",
     "fn (" ANY ") -> " ANY},
    {"def @g(%x: " T ") { %x } def @main(%x: _) { @g(%x) }",
     "fn (" T ") -> " T},
};

static const Accepted named_dims[] = {
    {"def @main[n: Dim, m: Dim](%x: Tensor[(n, 4), int32], "
     "%y: Tensor[(m, 4), int32]) { concatenate((%x, %y)) }",
     "fn [n: Dim, m: Dim](Tensor[(n, 4), int32], Tensor[(m, 4), int32]) -> "
     "Tensor[(n + m, 4), int32]"},
    {"def @f[n: Dim](%x: Tensor[(n), int32]) -> Tensor[(n * 2), int32] "
     "{ concatenate((%x, %x)) } def @main() { @f([1, 2, 3]) }",
     "fn () -> Tensor[(6), int32]"},
    {"def @f[n: Dim](%x: Tensor[(n), int32]) { arange(n) }"
     "def @main(%y: Tensor[(?), int32]) { (@f([1, 2]), @f(%y)) }",
     "fn (Tensor[(?), int32]) -> (Tensor[(2), int32], Tensor[(?), int32])"},
    {"def @main[n: Dim](%p: (int32, Tensor[(2, n), int32])) { n + 1 }",
     "fn [n: Dim]((int32, Tensor[(2, n), int32])) -> int32"},
    {"def @main[add: Dim](%x: Tensor[(add), int32]) { add }",
     "fn [add: Dim](Tensor[(add), int32]) -> int32"},
    {"def @f[n: Dim](%x: Tensor[(n), int32], %i: int32) { if (%i == 0) { %x } "
     "else { @f(%x, %i - 1) } } def @main() { @f([1, 2], 3) }",
     "fn () -> Tensor[(2), int32]"},
};

#define ACCEPT_TEST(name)                   \
  static void test_##name(void **state) {   \
    accept_all(*state, name, LENGTH(name)); \
  }
ACCEPT_TEST(structure)
ACCEPT_TEST(inference)
ACCEPT_TEST(polymorphism)
ACCEPT_TEST(operators)
ACCEPT_TEST(widening)
ACCEPT_TEST(named_dims)

/* --- Refused programs --------------------------------------------------- */

typedef struct Refused {
  DiagCode code;
  const char *text;
  const char *words; /* in the rendered message */
} Refused;

/* One mistake, one message. */
static void refuse_all(World *w, const Refused *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    program_free(w->program);
    w->program =
        program_new(&w->mem, &w->names, &w->sources, &w->diags, &w->heap);
    diags_clear(&w->diags);
    if (check(w, rows[i].text)) fail_msg("accepted: %s", rows[i].text);
    const char *text = diags_text(w);
    if (w->diags.list.len != 1 || w->diags.list.data[0]->code != rows[i].code ||
        !strstr(text, rows[i].words)) {
      fail_msg("%s\nexpected one %s with \"%s\", found:\n%s", rows[i].text,
               diag_code_text(rows[i].code), rows[i].words, text);
    }
  }
}

static const Refused names[] = {
    {E0101, "def @main(%mass: int32) { %mas }", "did you mean `%mass`?"},
    {E0101, "def @main(%x: int32) { %x/2 }", "write `%x / 2`"},
    {E0101, "def @main() { let %a = %a + 1; %a }", "`%a` is not bound"},
    {E0101, "def @main() { (let %a = 1; %a) + %a }", "`%a` is not bound"},
    {E0101, "let %a = 1; def @main() { %a }", "`%a` is not bound"},
    {E0101, "let %a = 1; def @main() { %a }",
     "`%a` is not known in definitions: `let @a = ...` is"},
    {E0101, "type P { P(v: int32) } let %p = P(1); def @main() { %p.v.w }",
     "`%p` is not known in definitions: `let @p = ...` is"},
    {E0102, "def @helper() { 1 } def @main() { @helpr() }",
     "did you mean `@helper`?"},
    {E0103, "def @main(%x: float32) { tahn(%x) }", "did you mean `tanh`?"},
    {E0103, "def @main() { nn.swishy(1f) }", "no operator `nn.swishy`"},
    {E0103,
     PRELUDE "def @main(%o: Option[int32]) { match? (%o) { "
             "Som(%x) => 1 } }",
     "did you mean `Some`?"},
    {E0103, "def @main[n: Dim](%x: Tensor[(n), int32]) { n/2 }",
     "write `n / 2`"},
    {E0104, "def @main(%x: Widget) { 1 }", "no type `Widget`"},
    {E0105, "def @f() { 1 } def @f() { 2 } def @main() { 1 }",
     "first defined here"},
    {E0105, "type A { C } type B { C } def @main() { 1 }", "`C` is defined"},
    {E0105, "type A { C } type A { D } def @main() { 1 }", "`A` is defined"},
    {E0107, PRELUDE "def @main(%l: List) { 1 }", "takes 1 type argument"},
    {E0107, "def @main[A](%l: A[int32]) { 1 }", "takes 0 type arguments"},
    {E0108, "def @main() { @x } let @x = 1;", "`@x` has no value yet"},
    {E0108, "let @x = @x; def @main() { 1 }", "`@x` has no value yet"},
    {E0114, "def @main() { meta[relay.Constant][0] }", "relay.Constant"},
    {E0115, "def @main(%x: Tensor[(n), int32]) { 1 }", "[n: Dim]"},
    {E0116, "sum([1], axis=[0], keepdims=1, axis=[0])", "`axis` twice"},
    {E0116, "arange(1, start=1, start=2)", "`start` twice"},
    {E0115, "def @main[n: Dim](%x: Tensor[(n * 2), int32]) { n }",
     "no parameter binds"},
    {E0404, "def @main[A, A](%x: A) { 1 }", "`A` is declared twice"},
};

static const Refused attributes[] = {
    {E0109, "def @main(%x: " T ") { nn.softmax(%x, axes=1) }",
     "did you mean `axis`?"},
    {E0110, "def @main(%x: " T ") { reshape(%x) }", "`newshape`"},
    {E0111, "def @main(%x: " T ") { cast(%x, dtype=3) }",
     "a dtype such as \"float32\""},
    {E0111, "def @main(%x: " T ") { sum(%x, axis=0) }", "written [0]"},
    {E0111, "def @main(%x: " T ", %s: " T ") { reshape(%x, newshape=%s) }",
     "`newshape` cannot be"},
    {E0202, "def @main() { [] }", "zeros(shape=[0]"},
    {E0204, "def @main(%x: " T ") { exp(%x, %x) }", "expected 1, found 2"},
    {E0207, "def @main() { [1f, 2i64] }", "is int64, others are float32"},
    {E0209, "def @main() { [[1, 2], [3]] }", "expected 2, found 1"},
};

static const Refused graph[] = {
    {E0106, "def @main() { %0 = 1; %0 + %1 }", "`%1` is not defined above"},
    {E0106, "def @main() { %0 = 1; %0 = 2; %0 }", "defined twice"},
    {E0106, "def @f() { %0 = 1; %0 } def @main() { %0 }", "`%0`"},
    {E0101,
     "def @main(%c: bool) { if (%c) { let %q = 3; %1 = %q + 1; %1 } "
     "else { %1 } }",
     "branches share"},
    {E0106,
     "def @main(%c: bool, %q: int32) { if (%c) { let %q = 3; "
     "%1 = %q + 1; %1 } else { %1 } }",
     "known in this one only"},
};

static const Refused mismatches[] = {
    {E0201, "def @f(%x: float32) { %x } def @main() { @f(1) }", "write `1f`"},
    {E0201,
     "def @f(%x: Tensor[(2), float32]) { %x } def @main() { @f([1, -2]) }",
     "write `[1f, -2f]`"},
    {E0201,
     "def @f(%x: Tensor[(2), float32]) { %x } def @main() { @f([1, 3 - 2]) }",
     "cast(x, dtype=\"float32\")"},
    {E0201, "def @main(%c: bool) { if (%c) { 1 } else { True } }",
     "expected int32, found bool"},
    {E0201, "def @main() -> float32 { 1i64 }", "expected float32, found int64"},
    {E0201, "def @main() { let %x: bool = 5; %x }", "declared here: bool"},
    {E0201, "def @main() { let %r = ref(1); ref_write(%r, True) }",
     "expected int32, found bool"},
    {E0201, "def @main() { ref_read(7) }", "ref(_)"},
    {E0201, PRELUDE "def @main() { Cons(1, Cons(True, Nil)) }",
     "bool does not fit int32"},
    {E0202, "def @main(%x) { %x }", "annotate `%x`, as in %x: float32"},
    {E0202, "def @main() { fn (%x, %y) { let %z = %x + %y; %z * %z } }",
     "annotate `%x`"},
    {E0202, PRELUDE "let @r = ref(Nil); def @main() { 1 }", "annotate `@r`"},
    {E0202, "def @main() { let %f = negative; 1 }", "used as a value"},
    {E0203,
     "def @main(%x: Tensor[(2, 3), float32], "
     "%y: Tensor[(4), float32]) { %x + %y }",
     "(2, 3) and (4)"},
    {E0204, "def @f(%x: int32) { 1 } def @main() { @f(1, 2) }",
     "expected 1, found 2"},
    {E0205, "def @main(%n: int32) { %n(1) }", "this is int32"},
    {E0206, "def @main() { (1, True).2 }", "no field 2"},
    {E0206, "def @main(%n: int32) { %n.0 }", "this is int32"},
    {E0206, "def @main() { [1, 2].0 }", "an element is take(%x, 0, axis=0)"},
    {E0206, PRELUDE "def @main(%l: List[int32]) { %l.0 }",
     "what is in it comes by match"},
    {E0207, "def @main(%x: float32) { %x + 1 }", "write `1f`"},
    {E0208,
     "def @f(%x: Tensor[(2, 2), float32]) { 1 }"
     "def @main(%x: " T ") { @f(%x) }",
     "found " T},
    {E0209,
     "def @main(%c: bool) { if (%c) { " ONES(3) " } else { " ONES(4) " } }",
     "dimensions 3 and 4 differ"},
    {E0209, "def @main(%x: Tensor[(4), float32]) -> " T " { %x }",
     "dimensions 3 and 4 differ"},
    {E0209,
     "def @f[n: Dim](%x: Tensor[(n), int32], "
     "%y: Tensor[(n * 2), int32]) { n } def @main() { @f([1, 2], [1, 2, 3]) }",
     "dimensions 4 and 3 differ"},
    {E0209,
     "def @main[n: Dim](%x: Tensor[(n), int32]) "
     "-> Tensor[(n + 1), int32] { %x }",
     "dimensions n + 1 and n differ"},
    {E0210, "def @main() { let %f = fn (%x) { %x(%x) }; 1 }", "contain itself"},
    {E0211, "def @main[A](%x: A) -> int32 { %x }", "expected int32, found A"},
    {E0211,
     "def @f(%f: fn [A](A) -> A) { 1 }"
     "def @main() { @f(fn (%x: int32) { %x }) }",
     "int32 does not fit A"},
    {E0211,
     PRELUDE "def @main() { let %r = ref(Nil); let %f = "
             "fn [A](%x: A) { ref_write(%r, Cons(%x, Nil)) }; 1 }",
     "`A`"},
    {E0213, "def @main(%n: int32) { if (%n) { 1 } else { 2 } }",
     "expected bool, found int32"},
    {E0402,
     PRELUDE "def @main(%o: Option[int32]) { match (%o) { "
             "Some(%x, %y) => 1, None => 0 } }",
     "has 1 field, the pattern 2"},
    {E0403,
     PRELUDE "def @main(%l: List[int32]) { match (%l) { Some(%x) => 1, "
             "None => 0 } }",
     "does not fit List[int32]"},
    {E0403, "def @main(%p: (int32, bool)) { match (%p) { (%a, %b, %c) => 1 } }",
     "a tuple of 3"},
};

#define REFUSE_TEST(name)                   \
  static void test_##name(void **state) {   \
    refuse_all(*state, name, LENGTH(name)); \
  }
REFUSE_TEST(names)
REFUSE_TEST(attributes)
REFUSE_TEST(graph)
REFUSE_TEST(mismatches)

/* --- Several units ------------------------------------------------------ */

static const char *type_of(World *w, const char *name) {
  const Global *g = scope_global(&w->program->user, name_of(&w->names, name));
  return g ? type_text(w, g->type) : "unknown";
}

/* As the entries of a prompt: an accepted entry stays, a refused one leaves
 * nothing behind, a name may be given again. */
static void test_entries(void **state) {
  World *w = *state;
  assert_true(check(w, "def @f(%x: int32) { %x } let %n = 5;"));
  assert_true(check(w, "def @g() { @f(1) } %n + 1;"));
  assert_false(check(w, "def @h() { 1 } def @k() { @f(True) }"));
  assert_string_equal(type_of(w, "h"), "unknown");
  assert_true(check(w, "def @f(%x: bool) { %x }"));
  assert_string_equal(type_of(w, "f"), "fn (bool) -> bool");
  assert_string_equal(type_of(w, "g"), "fn () -> int32");
}

static void test_steps(void **state) {
  World *w = *state;
  Unit *u = parse(w,
                  "param @w: float32 = 1f; let @a = @w; let %b = 2; %b; "
                  "def @f() { @a }");
  assert_true(types_check(w->program, u));
  assert_int_equal(u->step_count, 3);
  assert_int_equal(u->steps[0].kind, STEP_LET);
  assert_int_equal(u->steps[0].global->slot, 0);
  assert_int_equal(u->steps[1].global->slot, 1);
  assert_int_equal(u->steps[2].kind, STEP_EXPR);
  assert_string_equal(type_text(w, u->steps[2].expr->type), "int32");
  assert_int_equal(w->program->params.len, 1);
}

/* --- Homes of graph variables ------------------------------------------- */

static const Expr *body_of_main(World *w, const char *text) {
  program_free(w->program);
  w->program =
      program_new(&w->mem, &w->names, &w->sources, &w->diags, &w->heap);
  assert_true(check(w, text));
  const Global *g = scope_global(&w->program->user, name_of(&w->names, "main"));
  return g->value->fn->body;
}

/* The names of a block's lets, "-" for other items. */
static const char *bindings_text(World *w, const Expr *e) {
  VEC_CLEAR(&w->out);
  strbuf_add(&w->out, "");
  for (int i = 0; e->kind == EX_BLOCK && i < e->block->count; i++) {
    const Binding *b = &e->block->bindings[i];
    strbuf_add(&w->out, b->kind == BIND_LET ? b->var->name->text : "-");
  }
  return strbuf_text(&w->out);
}

static void test_homes(void **state) {
  static const struct {
    const char *text, *bindings;
  } rows[] = {
      /* where the binding stands */
      {"def @main() { %0 = 1; print(2); %0 }", "0-"},
      /* never used: never evaluated, nor what only it uses */
      {"def @main() { %0 = 1; %1 = %0; 2 }", ""},
      /* used in one branch: there */
      {"def @main(%c: bool) { %0 = 1; if (%c) { %0 } else { 2 } }", ""},
      /* used in both: before the item that holds them */
      {"def @main(%c: bool) { let %x = 1; if (%c) { %0 = %x + 1; %0 } "
       "else { %0 } }",
       "x0"},
      /* what a shared node uses goes with it */
      {"def @main(%c: bool) { print(1); if (%c) { %0 = 1; %1 = %0; %1 } "
       "else { %1 } }",
       "-01"},
      /* inside one function, and inside two */
      {"def @main() { %0 = 1; let %f = fn () { %0 }; %f() }", "f"},
      {"def @main() { let %f = fn () { %0 = 1; %0 }; let %g = fn () { %0 }; "
       "%f() + %g() }",
       "0fg"},
  };
  World *w = *state;
  for (size_t i = 0; i < LENGTH(rows); i++) {
    const Expr *body = body_of_main(w, rows[i].text);
    assert_string_equal(bindings_text(w, body), rows[i].bindings);
  }
}

/* --- Size and memory ---------------------------------------------------- */

static void repeat(StrBuf *out, const char *text, int n) {
  for (int i = 0; i < n; i++) strbuf_add(out, text);
}

static bool check_long(World *w, const char *before, const char *part, int n,
                       const char *after) {
  StrBuf text;
  strbuf_init(&text, &w->mem);
  strbuf_add(&text, before);
  repeat(&text, part, n);
  strbuf_add(&text, after);
  bool ok = check(w, strbuf_text(&text));
  strbuf_done(&text);
  return ok;
}

/* Long is not deep: none of these may reach for the C stack. */
static void test_long(void **state) {
  World *w = *state;
  enum { MANY = 50000 };
  assert_true(check_long(w, "def @a() { 1", " + 1", MANY, " }"));
  assert_true(check_long(w, "def @b() { True", " && True", MANY, " }"));
  assert_true(check_long(w, "def @c(%x: int32) { let %y = %x;",
                         "let %y = %y + 1;", MANY, " %y }"));
  assert_true(check_long(w, "def @d(%c: bool) { if (%c) {1}",
                         " else if (%c) {2}", MANY, " else {3} }"));
  assert_false(
      check_long(w, "def @e(%f: fn () -> int32) { %f", "()", MANY, " }"));
}

/* Types whose tree is exponential are small graphs. */
static void test_shared(void **state) {
  World *w = *state;
  const char *before =
      "def @d[A](%x: A) { (%x, %x) }"
      "def @main(%x: Tensor[(?), float32]) { ";
  assert_true(check_long(w, before, "let %x = @d(%x);", 100, "1 }"));
  assert_true(check_long(w, "def @p() { let %x = 1;", "let %x = (%x, %x);", 100,
                         "%x }"));
  assert_false(check_long(w, "def @q() { let %x = 1;", "let %x = (%x, 1);",
                          100000, "%x }"));
  assert_int_equal(w->diags.list.data[0]->code, E0214);
  diags_clear(&w->diags);
  assert_false(check_long(w, "def @r() { let %x = 1;", "let %x = (%x, %x);",
                          100, "exp(%x) + %x }"));
  assert_int_equal(w->diags.list.data[0]->code, E0212);
}

static const char walked[] = PRELUDE
    "def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] { match (%l) { "
    "Cons(%x, %r) => Cons(%f(%x), @map(%f, %r)), Nil => Nil } }"
    "def @cat[n: Dim](%x: Tensor[(n), int32]) { concatenate((%x, [1, 2])) }"
    "def @main(%c: bool) { %0 = [1f, 2f]; let %f = fn (%x) { %x }; "
    "(if (%c) { %0 } else { %f(%0) }, @map(negative, Cons(1, Nil)), "
    "@cat([1, 2, 3])) }";

static void walk_failure(Mem *m) {
  World w = {.mem = *m};
  world_open(&w);
  if (w.program) check(&w, walked);
  world_close(&w);
  *m = w.mem;
}

static void test_out_of_memory(void **state) {
  (void)state;
  unit_walk_failures(walk_failure);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WORLD_TEST(test_structure),    WORLD_TEST(test_inference),
      WORLD_TEST(test_polymorphism), WORLD_TEST(test_operators),
      WORLD_TEST(test_widening),     WORLD_TEST(test_named_dims),
      WORLD_TEST(test_names),        WORLD_TEST(test_attributes),
      WORLD_TEST(test_graph),        WORLD_TEST(test_mismatches),
      WORLD_TEST(test_entries),      WORLD_TEST(test_steps),
      WORLD_TEST(test_homes),        WORLD_TEST(test_long),
      WORLD_TEST(test_shared),       cmocka_unit_test(test_out_of_memory),
  };
  return RUN_TESTS(tests);
}
