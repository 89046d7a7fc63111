/* ir/walk and ir/map: the order of events, scopes, skipping, stopping, what a
 * map keeps and what it makes, depth, and failing allocations.
 *
 * Every pass over programs is written on these two, so their events are pinned
 * one by one, as texts of what was entered and left.  Depth is tried far beyond
 * any C stack. */
#include "ir/print.h"
#include "ir/walk.h"
#include "parser/parser.h"
#include "tests/unit/program.h"

enum {
  ALL = WALK_ENTER | WALK_LEAVE | WALK_BIND | WALK_UNBIND | WALK_PATTERN,
  MILLION = 1000000,
};

/* The one expression of a text. */
static const Expr *parsed(World *w, const char *text) {
  SourceFile *source =
      sources_add(w->program->sources, "t", text, strlen(text), false);
  Unit *unit = NULL;
  ParseOptions options = {.interactive = false};
  if (!source || parse_unit(w->program, source, options, &unit) != PARSE_OK)
    return NULL;
  return unit->items[unit->item_count - 1].expr;
}

static void add_source(World *w, StrBuf *out, const Expr *e) {
  uint32_t len;
  const char *text = sources_text(w->program->sources, e->span, &len);
  strbuf_add_len(out, text, len);
}

static void add_event(World *w, StrBuf *out, const ExprWalk *walk) {
  switch ((int)walk->event) {
    case WALK_ENTER:
      if (walk->at->count == 0 && walk->at->kind < EX_TUPLE)
        add_source(w, out, walk->at);
      else strbuf_add(out, "<");
      break;
    case WALK_LEAVE:
      if (walk->at->count > 0 || walk->at->kind >= EX_TUPLE)
        strbuf_add(out, ">");
      break;
    case WALK_BIND:
      strbuf_addf(out, "+%s", walk->var ? walk->var->name->text : "graph");
      break;
    case WALK_UNBIND: strbuf_addf(out, "-%s", walk->var->name->text); break;
    case WALK_PATTERN: strbuf_add(out, "?"); break;
  }
  strbuf_add(out, " ");
}

static void trace_is(World *w, const char *text, unsigned wanted,
                     const char *expected) {
  ExprWalk walk;
  VEC_CLEAR(&w->out);
  expr_walk_start(&walk, &w->mem, wanted, parsed(w, text));
  while (expr_walk_next(&walk)) add_event(w, &w->out, &walk);
  assert_true(expr_walk_end(&walk));
  assert_string_equal(strbuf_text(&w->out), expected);
}

/* --- Events --------------------------------------------------------------- */

static void arguments_attributes_callee(void **state) {
  World *w = *state;
  trace_is(w, "%f(%a, (%b, 1), key=[%c, [2, %d]])", WALK_ENTER,
           "< %a < %b 1 %c %d %f ");
  trace_is(w, "%f(%a)", ALL, "< %a  %f  > ");
}

static void names_follow_their_values(void **state) {
  World *w = *state;
  trace_is(w, "{ let %x = %a; let %y = %x; %y }", ALL,
           "< %a  +x %x  +y %y  -y -x > ");
  trace_is(w, "{ %a; free_var %b: int32; %b }", ALL, "< %a  +b %b  -b > ");
  trace_is(w, "{ %0 = %a; %0 }", ALL, "< %a  +graph %0  > ");
}

static void names_of_functions_come_first(void **state) {
  World *w = *state;
  trace_is(w, "{ let %f = fn (%x, %y) { %f }; %f }", ALL,
           "< +f < +x +y %f  -y -x > %f  -f > ");
  trace_is(w, "{ let %f = fn () { %a } and %g = fn () { %b }; %g }", ALL,
           "< +f +g < %a  > < %b  > %g  -g -f > ");
  trace_is(w, "{ let %f = fn () { %a } and %g = fn () { %b }; %g }", WALK_ENTER,
           "< < %a < %b %g ");
}

static void arms_are_scopes(void **state) {
  World *w = *state;
  trace_is(w, "match ((%a,)) { Cons(%x, (%y, _)) => %b, _ => %c }", ALL,
           "< < %a  > ? ? +x ? ? +y ? %b  -y -x ? %c  > ");
  trace_is(w, "match ((%a,)) { Cons(%x, _) => %b }", WALK_ENTER | WALK_UNBIND,
           "< < %a %b -x ");
}

typedef struct Lies {
  WalkRole role;
  int index;
  bool tail;
} Lies;

static void roles_say_where_a_node_lies(void **state) {
  World *w = *state;
  static const Lies places[] = {
      {ROLE_ROOT, 0, false},   {ROLE_VALUE, 0, false}, {ROLE_RESULT, 1, true},
      {ROLE_ARG, 0, false},    {ROLE_ARG, 1, true},    {ROLE_ARG, 2, true},
      {ROLE_CALLEE, 0, false}, {ROLE_BODY, 0, true},
  };
  ExprWalk walk;
  const Expr *e =
      parsed(w, "{ let %x = 1; if (%c) { %x } else { fn () { %x }() } }");
  size_t n = 0;
  expr_walk_start(&walk, &w->mem, WALK_ENTER, e);
  while (expr_walk_next(&walk)) {
    assert_true(n < LENGTH(places));
    assert_int_equal(walk.role, places[n].role);
    assert_int_equal(walk.index, places[n].index);
    assert_int_equal(expr_walk_is_tail(&walk), places[n].tail);
    assert_int_equal(walk.parent == NULL, n == 0);
    n++;
    if (walk.at->kind == EX_LOCAL && walk.role == ROLE_BODY) break;
  }
  assert_int_equal(n, LENGTH(places));
  assert_true(expr_walk_end(&walk));
}

static void a_node_can_be_passed_over(void **state) {
  World *w = *state;
  ExprWalk walk;
  VEC_CLEAR(&w->out);
  expr_walk_start(&walk, &w->mem, ALL, parsed(w, "(%a, fn (%x) { %x }, %b)"));
  while (expr_walk_next(&walk)) {
    add_event(w, &w->out, &walk);
    if (walk.event == WALK_ENTER && walk.at->kind == EX_FN)
      expr_walk_skip(&walk);
  }
  assert_true(expr_walk_end(&walk));
  assert_string_equal(strbuf_text(&w->out), "< %a  < %b  > ");
}

static void roots_can_be_added(void **state) {
  World *w = *state;
  const Expr *more = parsed(w, "%m");
  ExprWalk walk;
  VEC_CLEAR(&w->out);
  expr_walk_start(&walk, &w->mem, WALK_ENTER, NULL);
  assert_false(expr_walk_next(&walk));
  expr_walk_add(&walk, parsed(w, "(%a, %b)"));
  while (expr_walk_next(&walk)) {
    add_event(w, &w->out, &walk);
    if (walk.event == WALK_ENTER && walk.at->kind == EX_TUPLE)
      expr_walk_add(&walk, more);
  }
  assert_true(expr_walk_end(&walk));
  assert_string_equal(strbuf_text(&w->out), "< %m %a %b ");
}

/* --- Maps ----------------------------------------------------------------- */

static Expr *number(World *w, int32_t value) {
  return expr_const(
      &w->program->arena, SPAN_NONE,
      program_scalar(w->program, DT_INT32, bits_from_i64(DT_INT32, value)));
}

/* The mapping under test: %a becomes 7, the tuple (7, e) becomes e, %x is bound
 * as %y, functions without parameters stay as they are. */
static void map_event(World *w, ExprMap *m) {
  const Expr *e = m->walk.at;
  if (m->walk.event == WALK_ENTER && e->kind == EX_FN &&
      e->fn->param_count == 0) {
    expr_map_put(m, e);
  } else if (m->walk.event == WALK_LEAVE && e->kind == EX_LOCAL &&
             strcmp(e->name->text, "a") == 0) {
    expr_map_put(m, number(w, 7));
  } else if (m->walk.event == WALK_LEAVE && e->kind == EX_LOCAL &&
             strcmp(e->name->text, "x") == 0) {
    expr_map_own(m)->name = name_of(&w->names, "y");
  } else if (m->walk.event == WALK_LEAVE && m->made->kind == EX_TUPLE &&
             m->made->args[0]->kind == EX_CONST && m->made->count == 2) {
    expr_map_put(m, m->made->args[1]);
  } else if (m->walk.event == WALK_BIND && m->walk.var &&
             strcmp(m->walk.var->name->text, "x") == 0) {
    expr_map_bind(m, var_new(&w->program->arena, name_of(&w->names, "y"),
                             m->walk.var->span, m->walk.var->annotation));
  }
}

static const Expr *mapped(World *w, const Expr *e) {
  ExprMap m;
  expr_map_start(&m, &w->mem, &w->program->arena, e);
  while (expr_map_next(&m)) map_event(w, &m);
  return expr_map_end(&m);
}

static void becomes(World *w, const char *text, const char *expected) {
  const Expr *e = parsed(w, text), *wanted = parsed(w, expected);
  assert_non_null(e);
  assert_non_null(wanted);
  StrBuf found;
  strbuf_init(&found, &w->mem);
  VEC_CLEAR(&w->out);
  expr_print(w->program, mapped(w, e), &found);
  expr_print(w->program, wanted, &w->out);
  assert_string_equal(strbuf_text(&found), strbuf_text(&w->out));
  strbuf_done(&found);
}

static void every_part_can_change(void **state) {
  World *w = *state;
  becomes(w, "%a", "7");
  becomes(w, "(%a, %b, %a)", "(7, %b, 7)");
  becomes(w, "((%a, (%a, %b)), %a, 1)", "(%b, 7, 1)");
  becomes(w, "%f(%b, key=[1, [2, (%a)]])", "%f(%b, key=[1, [2, 7]])");
  becomes(w, "%a(%b)", "7(%b)");
  becomes(w, "fn (%z, %x: int32) { %x }", "fn (%z, %y: int32) { %y }");
  becomes(w, "fn () { %a }", "fn () { %a }");
  becomes(w, "{ %a; let %b = %a; let %x = 1; (%x, %a) }",
          "{ 7; let %b = 7; let %y = 1; (%y, 7) }");
  becomes(w, "{ let %x = fn (%x) { %x } and %g = fn (%b) { %a }; %x }",
          "{ let %y = fn (%y) { %y } and %g = fn (%b) { 7 }; %y }");
  becomes(w, "{ %0 = %a; free_var %x: int32; %0 }",
          "{ %0 = 7; free_var %y: int32; %0 }");
  becomes(w, "match (%a) { Cons(%x, (_, %z)) => %x, _ => %a }",
          "match (7) { Cons(%y, (_, %z)) => %y, _ => 7 }");
  becomes(w, "if (%a) { %b } else { %a }", "if (7) { %b } else { 7 }");
  becomes(w, "%a + %b && !%a", "7 + %b && !7");
}

static void what_does_not_change_is_kept(void **state) {
  World *w = *state;
  static const char *const texts[] = {
      "%f(%b, (1, 2, 3), key=[1, (%c)])",
      "{ let %f = fn (%z) { %z } and %g = fn () { %a }; %0 = 1; %f }",
      "match (%b) { Cons(%q, (_, %z)) => %q, _ => -%b }",
  };
  for (size_t i = 0; i < LENGTH(texts); i++) {
    const Expr *e = parsed(w, texts[i]);
    assert_ptr_equal(mapped(w, e), e);
  }
  const Expr *e = parsed(w, "(%f(%b), %a, fn (%z) { %z })");
  const Expr *made = mapped(w, e);
  assert_ptr_not_equal(made, e);
  assert_ptr_equal(made->args[0], e->args[0]);
  assert_ptr_equal(made->args[2], e->args[2]);
}

static void copies_keep_how_they_were_written(void **state) {
  World *w = *state;
  const Expr *e = parsed(w, "(%a + %b)"), *made = mapped(w, e);
  assert_ptr_not_equal(made, e);
  assert_int_equal(made->sugar, SUGAR_INFIX);
  assert_int_equal(made->parens, e->parens);
  assert_int_equal(made->span.lo, e->span.lo);
  assert_int_equal(made->span.hi, e->span.hi);
}

static Expr *pair(World *w, const Expr *a, const Expr *b) {
  Expr *e = expr_new(&w->program->arena, EX_TUPLE, SPAN_NONE);
  const Expr **args = ARENA_ARRAY(&w->program->arena, const Expr *, 2);
  if (!args) return e;
  args[0] = a;
  args[1] = b;
  e->args = args;
  e->count = 2;
  return e;
}

/* 40 nodes, 2^40 ways to the one leaf. */
static void shared_nodes_are_met_once(void **state) {
  World *w = *state;
  const Expr *e = parsed(w, "%a");
  for (int i = 0; i < 40; i++) e = pair(w, e, e);
  ExprWalk walk;
  size_t met = 0;
  expr_walk_start(&walk, &w->mem, WALK_ENTER, e);
  expr_walk_once(&walk);
  while (expr_walk_next(&walk)) met++;
  assert_true(expr_walk_end(&walk));
  assert_int_equal(met, 41);
}

/* --- Depth ---------------------------------------------------------------- */

static const Expr *call1(World *w, const Expr *callee, const Expr *arg) {
  const Expr **args = ARENA_ARRAY(&w->program->arena, const Expr *, 1);
  args[0] = arg;
  return expr_call(&w->program->arena, SPAN_NONE, callee, 1, args);
}

static const Expr *fn_around(World *w, const Expr *body) {
  static Var unused;
  static Var *const params[] = {&unused};
  unused.name = name_of(&w->names, "unused");
  Fn *fn = ARENA_NEW(&w->program->arena, Fn);
  *fn = (Fn){.params = params, .param_count = 1, .body = body};
  Expr *e = expr_new(&w->program->arena, EX_FN, SPAN_NONE);
  e->fn = fn;
  return e;
}

/* Each of the ways to be deep in turn: a callee, an operand, the body of a
 * function behind a parameter, the result of a block, an arm. */
static const Expr *deeper(World *w, const Expr *e, int i, const Expr *leaf) {
  Arena *a = &w->program->arena;
  switch (i % 5) {
    case 0: return call1(w, e, leaf);
    case 1: return call1(w, leaf, e);
    case 2: return expr_if(a, SPAN_NONE, leaf, leaf, e);
    case 3: return expr_block(a, SPAN_NONE, 0, NULL, e);
    default: return fn_around(w, pair(w, leaf, e));
  }
}

static void a_million_deep(World *w, bool nest) {
  const Expr *leaf = parsed(w, "%b"), *bottom = parsed(w, "%a"), *e = bottom;
  for (int i = 0; i < MILLION; i++)
    e = nest ? deeper(w, e, i, leaf) : pair(w, e, leaf);
  ExprWalk walk;
  size_t entered = 0, left = 0;
  bool found = false;
  expr_walk_start(&walk, &w->mem, ALL, e);
  while (expr_walk_next(&walk)) {
    entered += walk.event == WALK_ENTER;
    left += walk.event == WALK_LEAVE;
    found |= walk.at == bottom;
  }
  assert_true(expr_walk_end(&walk));
  assert_true(found);
  assert_true(entered > MILLION);
  assert_int_equal(entered, left);
  assert_true(expr_equal(&w->mem, e, e));

  const Expr *made = mapped(w, e);
  assert_non_null(made);
  assert_ptr_not_equal(made, e);
  assert_false(expr_equal(&w->mem, e, made));
}

static void chains_cost_no_stack(void **state) {
  a_million_deep(*state, false);
}
static void nests_cost_no_stack(void **state) { a_million_deep(*state, true); }

static void blocks_are_walked_in_a_line(void **state) {
  World *w = *state;
  Binding *b = ARENA_ARRAY(&w->program->arena, Binding, MILLION);
  const Expr *value = parsed(w, "%a");
  Var *v =
      var_new(&w->program->arena, name_of(&w->names, "v"), SPAN_NONE, NULL);
  for (int i = 0; i < MILLION; i++)
    b[i] = (Binding){.kind = BIND_LET, .var = v, .value = value};
  const Expr *e = expr_block(&w->program->arena, SPAN_NONE, MILLION, b, value);
  ExprWalk walk;
  size_t bound = 0;
  expr_walk_start(&walk, &w->mem, ALL, e);
  while (expr_walk_next(&walk)) {
    bound += walk.event == WALK_BIND;
    bound -= walk.event == WALK_UNBIND;
    if (walk.event == WALK_ENTER && walk.role == ROLE_RESULT)
      assert_int_equal(bound, MILLION);
  }
  assert_true(expr_walk_end(&walk));
  assert_int_equal(bound, 0);
  const Expr *made = mapped(w, e);
  assert_int_equal(made->block->bindings[MILLION - 1].value->kind, EX_CONST);
}

/* --- Memory --------------------------------------------------------------- */

static void walk_and_map(Mem *m) {
  World w;
  memcpy(&w.mem, m, sizeof *m);
  world_open(&w);
  const Expr *e = w.program
                      ? parsed(&w,
                               "{ let %x = fn (%x) { (%a, %x) }; match "
                               "(%a) { Cons(%x, _) => %f(%a, key=[%a]) } }")
                      : NULL;
  const Expr *tree = e;
  for (int i = 0; e && i < 20; i++) e = pair(&w, e, e);
  if (e && !mem_exhausted(&w.mem)) {
    ExprWalk walk;
    size_t steps = 0;
    expr_walk_start(&walk, &w.mem, ALL, e);
    expr_walk_once(&walk);
    while (expr_walk_next(&walk)) steps++;
    bool whole = expr_walk_end(&walk);
    assert_int_equal(whole, !mem_exhausted(&w.mem));
    if (whole) assert_true(steps > 60);
    ExprMap map;
    expr_map_start(&map, &w.mem, &w.program->arena, tree);
    while (expr_map_next(&map)) map_event(&w, &map);
    const Expr *made = expr_map_end(&map);
    assert_int_equal(made != NULL, !mem_exhausted(&w.mem));
    if (made) assert_ptr_not_equal(made, tree);
  }
  world_close(&w);
  memcpy(m, &w.mem, sizeof *m);
}

static void survives_every_failing_allocation(void **state) {
  (void)state;
  unit_walk_failures(walk_and_map);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WORLD_TEST(arguments_attributes_callee),
      WORLD_TEST(names_follow_their_values),
      WORLD_TEST(names_of_functions_come_first),
      WORLD_TEST(arms_are_scopes),
      WORLD_TEST(roles_say_where_a_node_lies),
      WORLD_TEST(a_node_can_be_passed_over),
      WORLD_TEST(roots_can_be_added),
      WORLD_TEST(every_part_can_change),
      WORLD_TEST(what_does_not_change_is_kept),
      WORLD_TEST(copies_keep_how_they_were_written),
      WORLD_TEST(shared_nodes_are_met_once),
      WORLD_TEST(chains_cost_no_stack),
      WORLD_TEST(nests_cost_no_stack),
      WORLD_TEST(blocks_are_walked_in_a_line),
      cmocka_unit_test(survives_every_failing_allocation),
  };
  return RUN_TESTS(tests);
}
