/* ir/: interned types, substitution, their text; comparing expressions; scopes
 * and constants.  Walks are ir_walk_test.c's, printing is print_test.c's.
 *
 * Types are compared as pointers everywhere, so what matters most is that equal
 * types are one object and different ones never are, also after substitution,
 * at any size and depth. */
#include "ir/print.h"
#include "tests/unit/program.h"

/* --- Help with types ----------------------------------------------------- */

static TypeVar *var_named(World *w, const char *name, ParamKind kind) {
  return typevar_new(w->program->types, name_of(&w->names, name), SPAN_NONE,
                     kind);
}

static const Type *i32(World *w) {
  return type_scalar(w->program->types, DT_INT32);
}

static const Type *var(World *w, const TypeVar *v) {
  return type_var(w->program->types, v);
}

static const Type *pair(World *w, const Type *a, const Type *b) {
  return type_tuple(w->program->types, 2, (const Type *const[]){a, b});
}

/* fn [param](arg) -> result */
static const Type *poly(World *w, const TypeVar *param, const Type *arg,
                        const Type *result) {
  return type_fn(w->program->types, 1, &param, 1, &arg, result);
}

static const Type *replace(World *w, const Type *t, const TypeVar *v,
                           const Type *by) {
  Dim none = DIM_ANY;
  return type_substitute(w->program->types, t, 1, &v, &by, &none);
}

static void prints_as(World *w, const Type *t, size_t limit, const char *text) {
  VEC_CLEAR(&w->out);
  type_print(w->program->types, &w->out, t, limit);
  assert_string_equal(strbuf_text(&w->out), text);
}

/* A tuple of two of the same, `depth` times over: 2^depth leaves. */
static const Type *doubled(World *w, const Type *t, int depth) {
  for (int i = 0; i < depth; i++) t = pair(w, t, t);
  return t;
}

/* --- Types --------------------------------------------------------------- */

static void equal_types_are_one(void **state) {
  World *w = *state;
  TypeTable *t = w->program->types;
  const Dim dims[] = {dim_of(2), DIM_ANY}, other[] = {dim_of(2), dim_of(3)};
  assert_ptr_equal(type_tensor(t, DT_FLOAT32, 2, dims),
                   type_tensor(t, DT_FLOAT32, 2, (Dim[]){dim_of(2), DIM_ANY}));
  assert_ptr_not_equal(type_tensor(t, DT_FLOAT32, 2, dims),
                       type_tensor(t, DT_FLOAT32, 2, other));
  assert_ptr_not_equal(type_tensor(t, DT_FLOAT32, 2, dims),
                       type_tensor(t, DT_FLOAT64, 2, dims));
  assert_ptr_equal(pair(w, i32(w), type_unit(t)),
                   pair(w, i32(w), type_unit(t)));
  assert_ptr_not_equal(type_ref(t, i32(w)),
                       type_tuple(t, 1, (const Type *[]){i32(w)}));
  assert_true(type_is_scalar(i32(w)));
  assert_true(type_is_unit(type_unit(t)));
}

static void many_types_stay_apart(void **state) {
  World *w = *state;
  enum { N = 3000 };
  static const Type *made[N];
  for (int i = 0; i < N; i++) {
    Dim n = dim_of(i);
    made[i] = type_tensor(w->program->types, DT_INT8, 1, &n);
  }
  for (int i = 0; i < N; i++) {
    Dim n = dim_of(i);
    assert_true(dim_same(made[i]->dims[0], n));
    assert_ptr_equal(made[i], type_tensor(w->program->types, DT_INT8, 1, &n));
  }
}

static void inference_variables_are_fresh(void **state) {
  World *w = *state;
  int solver;
  const Type *meta = type_meta(w->program->types, &solver);
  assert_true(meta->has_meta);
  assert_ptr_not_equal(pair(w, meta, meta), pair(w, meta, meta));
  assert_true(pair(w, i32(w), meta)->has_meta);
  assert_false(pair(w, i32(w), i32(w))->has_meta);
}

static void exponential_types_are_small(void **state) {
  World *w = *state;
  const TypeVar *a = var_named(w, "A", KIND_TYPE);
  const Type *big = doubled(w, var(w, a), 60);
  assert_int_equal(big->size, UINT32_MAX);
  assert_int_equal(doubled(w, i32(w), 3)->size, 15);
  assert_ptr_equal(replace(w, big, a, i32(w)), doubled(w, i32(w), 60));
  prints_as(w, doubled(w, i32(w), 60), 62,
            "((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((in"
            "...");
}

/* As deep as types are on a stack of unknown size, and one level more. */
static void deep_types(void **state) {
  World *w = *state;
  enum { DEPTH = NESTING_MAX };
  const TypeVar *a = var_named(w, "A", KIND_TYPE);
  const Type *t = var(w, a), *expected = i32(w);
  for (int i = 0; i < DEPTH; i++) {
    t = type_ref(w->program->types, t);
    expected = type_ref(w->program->types, expected);
  }
  assert_ptr_equal(replace(w, t, a, i32(w)), expected);
  type_print(w->program->types, &w->out, t, 0);
  assert_int_equal(w->out.len, DEPTH * strlen("ref()") + 1);
  assert_false(types_too_deep(w->program->types));
  type_ref(w->program->types, t);
  assert_true(types_too_deep(w->program->types));
}

static void free_variables(void **state) {
  World *w = *state;
  const TypeVar *a = var_named(w, "A", KIND_TYPE),
                *b = var_named(w, "B", KIND_TYPE);
  TypeTable *t = w->program->types;
  const Type *id = poly(w, a, var(w, a), var(w, a));
  assert_true(var(w, a)->has_var);
  assert_false(id->has_var);
  const Type *open = poly(w, a, var(w, b), var(w, a));
  assert_true(open->has_var);
  assert_true(type_mentions(t, open, 1, &b));
  assert_false(type_mentions(t, open, 1, &a));
  assert_false(poly(w, b, open, open)->has_var);
  assert_true(pair(w, id, var(w, a))->has_var);
}

static void named_dims_are_variables(void **state) {
  World *w = *state;
  TypeTable *t = w->program->types;
  const TypeVar *n = var_named(w, "n", KIND_DIM);
  Dim dim = dim_named(types_dims(t), n->name, n), four = dim_of(4);
  Dim dims[] = {dim, dim_of(2)};
  const Type *tensor = type_tensor(t, DT_INT32, 2, dims);
  assert_true(tensor->has_var);
  assert_false(poly(w, n, tensor, tensor)->has_var);
  const Type *none = NULL;
  assert_ptr_equal(type_substitute(t, tensor, 1, &n, &none, &four),
                   type_tensor(t, DT_INT32, 2, (Dim[]){four, dim_of(2)}));
}

static void substitution_captures_nothing(void **state) {
  World *w = *state;
  const TypeVar *a = var_named(w, "A", KIND_TYPE),
                *b = var_named(w, "B", KIND_TYPE);
  const Type *fn = poly(w, b, var(w, a), var(w, b));
  const Type *result = replace(w, fn, a, var(w, b));
  assert_int_equal(result->kind, TY_FN);
  assert_ptr_equal(result->args[0], var(w, b));
  assert_ptr_not_equal(result->result, var(w, b));
  assert_ptr_equal(result->result->var, result->params[0]);
  assert_true(type_mentions(w->program->types, result, 1, &b));
}

static void substitution_leaves_bound_alone(void **state) {
  World *w = *state;
  const TypeVar *a = var_named(w, "A", KIND_TYPE);
  const Type *id = poly(w, a, var(w, a), var(w, a));
  const Type *both = pair(w, id, var(w, a));
  assert_ptr_equal(replace(w, both, a, i32(w)), pair(w, id, i32(w)));
}

static void types_print_as_relay_does(void **state) {
  World *w = *state;
  TypeTable *t = w->program->types;
  const TypeVar *a = var_named(w, "A", KIND_TYPE),
                *n = var_named(w, "n", KIND_DIM);
  const TypeVar *params[] = {a, n};
  Adt nat = {.name = name_of(&w->names, "nat")};
  Adt list = {.name = name_of(&w->names, "List")};
  const Type *args[] = {type_adt(t, &list, 1, (const Type *[]){i32(w)})};
  const Type *tensor =
      type_tensor(t, DT_FLOAT32, 2, (Dim[]){dim_of(2), DIM_ANY});
  prints_as(w, i32(w), 0, "int32");
  prints_as(w, type_scalar(t, DT_BFLOAT16), 0, "bfloat16");
  prints_as(w, type_unit(t), 0, "()");
  prints_as(w, type_tuple(t, 1, args), 0, "(List[int32],)");
  prints_as(w, type_adt(t, &nat, 0, NULL), 0, "nat[]");
  prints_as(w, type_ref(t, i32(w)), 0, "ref(int32)");
  prints_as(w, type_fn(t, 0, NULL, 1, args, pair(w, tensor, i32(w))), 0,
            "fn (List[int32]) -> (Tensor[(2, ?), float32], int32)");
  prints_as(w, type_fn(t, 2, params, 0, NULL, var(w, a)), 0,
            "fn [A, n: Dim]() -> A");
  prints_as(w, args[0], 4, "List...");
  prints_as(w, args[0], 11, "List[int32]");
}

/* --- Expressions --------------------------------------------------------- */

static Arena *arena(World *w) { return &w->program->arena; }

static Expr *named(World *w, ExprKind kind, const char *name) {
  Expr *e = expr_new(arena(w), kind, SPAN_NONE);
  e->name = name_of(&w->names, name);
  return e;
}

static Expr *local(World *w, const char *name) {
  return named(w, EX_LOCAL, name);
}

static Expr *graph(World *w, int64_t index) {
  Expr *e = expr_new(arena(w), EX_GRAPH, SPAN_NONE);
  e->index = index;
  return e;
}

static Expr *number(World *w, int32_t value) {
  return expr_const(
      arena(w), SPAN_NONE,
      program_scalar(w->program, DT_INT32, bits_from_i64(DT_INT32, value)));
}

static const Expr *const *two(World *w, const Expr *a, const Expr *b) {
  return arena_copy(arena(w), (const Expr *[]){a, b}, 2 * sizeof a);
}

static Expr *sum(World *w, const Expr *a, const Expr *b) {
  Expr *e = expr_call(arena(w), SPAN_NONE, named(w, EX_IDENT, "add"), 2,
                      two(w, a, b));
  e->sugar = SUGAR_INFIX;
  return e;
}

static Var *binder(World *w, const char *name) {
  return var_new(arena(w), name_of(&w->names, name), SPAN_NONE, NULL);
}

/* let %name = value; body */
static Expr *let(World *w, const char *name, const Expr *value,
                 const Expr *body) {
  Binding *b = ARENA_NEW(arena(w), Binding);
  *b = (Binding){.kind = BIND_LET, .var = binder(w, name), .value = value};
  return expr_block(arena(w), SPAN_NONE, 1, b, body);
}

/* %index = value; body */
static Expr *graph_let(World *w, int64_t index, const Expr *value,
                       const Expr *body) {
  Binding *b = ARENA_NEW(arena(w), Binding);
  *b = (Binding){.kind = BIND_GRAPH, .index = index, .value = value};
  return expr_block(arena(w), SPAN_NONE, 1, b, body);
}

static Expr *lambda(World *w, const char *name, const Expr *body) {
  Fn *fn = ARENA_NEW(arena(w), Fn);
  Var **params = ARENA_NEW(arena(w), Var *);
  params[0] = binder(w, name);
  *fn = (Fn){.param_count = 1, .params = params, .body = body};
  Expr *e = expr_new(arena(w), EX_FN, SPAN_NONE);
  e->fn = fn;
  return e;
}

static void renaming_makes_no_difference(void **state) {
  World *w = *state;
  Mem *m = &w->mem;
  const Expr *x = let(w, "x", number(w, 1), local(w, "x"));
  assert_true(expr_equal(m, x, let(w, "y", number(w, 1), local(w, "y"))));
  assert_false(expr_equal(m, x, let(w, "y", number(w, 1), local(w, "x"))));
  assert_false(expr_equal(m, x, let(w, "x", number(w, 2), local(w, "x"))));
  assert_true(expr_equal(m, local(w, "free"), local(w, "free")));
  assert_false(expr_equal(m, local(w, "free"), local(w, "other")));
}

static void binders_have_their_scopes(void **state) {
  World *w = *state;
  Mem *m = &w->mem;
  /* A let's value does not see it; that of a function does. */
  assert_true(expr_equal(m, let(w, "x", local(w, "x"), number(w, 1)),
                         let(w, "y", local(w, "x"), number(w, 1))));
  assert_false(
      expr_equal(m, let(w, "f", lambda(w, "x", local(w, "f")), number(w, 1)),
                 let(w, "g", lambda(w, "x", local(w, "f")), number(w, 1))));
  assert_true(
      expr_equal(m, let(w, "f", lambda(w, "x", local(w, "f")), number(w, 1)),
                 let(w, "g", lambda(w, "y", local(w, "g")), number(w, 1))));
  /* After its scope a name means again what it meant before. */
  assert_true(expr_equal(m,
                         sum(w, local(w, "x"), lambda(w, "x", local(w, "x"))),
                         sum(w, local(w, "x"), lambda(w, "y", local(w, "y")))));
  assert_false(expr_equal(m, lambda(w, "a", lambda(w, "b", local(w, "a"))),
                          lambda(w, "a", lambda(w, "b", local(w, "b")))));
}

static void graph_numbers_make_no_difference(void **state) {
  World *w = *state;
  Mem *m = &w->mem;
  const Expr *a =
      sum(w, graph_let(w, 0, number(w, 1), graph(w, 0)), graph(w, 0));
  assert_true(expr_equal(
      m, a, sum(w, graph_let(w, 7, number(w, 1), graph(w, 7)), graph(w, 7))));
  assert_false(expr_equal(
      m, a, sum(w, graph_let(w, 7, number(w, 1), graph(w, 7)), graph(w, 0))));
  /* The block in the place of the callee defines what the argument uses. */
  Expr *c =
      expr_call(arena(w), SPAN_NONE, graph_let(w, 0, number(w, 1), graph(w, 0)),
                1, two(w, graph(w, 0), NULL));
  Expr *d =
      expr_call(arena(w), SPAN_NONE, graph_let(w, 3, number(w, 1), graph(w, 3)),
                1, two(w, graph(w, 3), NULL));
  assert_true(expr_equal(m, c, d));
}

static const Expr *long_chain(World *w, int n) {
  const Expr *e = number(w, 0);
  for (int i = 1; i < n; i++) e = sum(w, e, number(w, i % 7));
  return e;
}

static const Expr *long_lets(World *w, int n) {
  Binding *bindings = ARENA_ARRAY(arena(w), Binding, n);
  for (int i = 0; i < n; i++) {
    bindings[i] = (Binding){
        .kind = BIND_LET, .var = binder(w, "x"), .value = local(w, "x")};
  }
  return expr_block(arena(w), SPAN_NONE, n, bindings, local(w, "x"));
}

static void length_costs_no_stack(void **state) {
  World *w = *state;
  enum { N = 100000 };
  assert_true(expr_equal(&w->mem, long_chain(w, N), long_chain(w, N)));
  assert_false(expr_equal(&w->mem, long_chain(w, N), long_chain(w, N - 1)));
  assert_true(expr_equal(&w->mem, long_lets(w, N), long_lets(w, N)));
  expr_print(w->program, long_chain(w, N), &w->out);
  assert_int_equal(w->out.len, strlen("0") + (N - 1) * strlen(" +\n  0"));
  VEC_CLEAR(&w->out);
  expr_print(w->program, long_lets(w, N), &w->out);
  assert_int_equal(w->out.len,
                   strlen("(\n  %x\n)") + N * strlen("  let %x = %x;\n"));
}

/* --- Programs ------------------------------------------------------------ */

static void inner_scopes_hide_outer_ones(void **state) {
  World *w = *state;
  const Name *f = name_of(&w->names, "f"), *g = name_of(&w->names, "g");
  Global library = {.name = f, .library = true}, own = {.name = f};
  Program *p = w->program;
  ptrmap_put(&p->library.globals, f, &library);
  assert_ptr_equal(scope_global(&p->user, f), &library);
  ptrmap_put(&p->user.globals, f, &own);
  assert_ptr_equal(scope_global(&p->user, f), &own);
  assert_ptr_equal(scope_global(&p->library, f), &library);
  assert_null(scope_global(&p->user, g));
  assert_null(scope_local(&p->user, f));
  assert_null(scope_adt(&p->user, f));
  assert_null(scope_ctor(&p->user, f));
}

static void the_newest_unit_can_go(void **state) {
  World *w = *state;
  Program *p = w->program;
  Unit *a = unit_new(p, NULL), *b = unit_new(p, NULL);
  assert_non_null(arena_alloc(&b->arena, 100000));
  assert_ptr_equal(a->next, b);
  program_drop_unit(p, b);
  assert_null(a->next);
  assert_ptr_equal(p->last_unit, a);
  program_drop_unit(p, a);
  assert_null(p->units);
  assert_null(p->last_unit);
}

static void constants_are_immortal(void **state) {
  World *w = *state;
  Tensor *s = program_scalar(w->program, DT_FLOAT64, (Value){.f64 = 0.5});
  assert_int_equal(s->rank, 0);
  assert_true(tensor_f64_at(s, 0) == 0.5);
  tensor_drop(&w->heap, s);
  assert_true(tensor_f64_at(s, 0) == 0.5);
  Tensor *t = tensor_zeros(&w->heap, DT_INT32, 1, (int64_t[]){3});
  Tensor *c = program_constant_take(w->program, t);
  assert_ptr_equal(c, t);
  tensor_drop(&w->heap, c);
  assert_int_equal(tensor_i64_at(c, 2), 0);
  assert_false(buffer_writable(c->buffer));
}

/* Some of everything, for the walk over failing allocations. */
static void build_something(Mem *m) {
  World w = {.mem = {0}};
  memcpy(&w.mem, m, sizeof *m);
  world_open(&w);
  if (w.program) {
    const TypeVar *a = var_named(&w, "A", KIND_TYPE);
    const Type *t = doubled(&w, var(&w, a), 20);
    t = replace(&w, poly(&w, a, t, t), a, i32(&w));
    type_print(w.program->types, &w.out, t, 100);
    const Expr *e = long_lets(&w, 100);
    if (!mem_exhausted(&w.mem)) expr_print(w.program, e, &w.out);
    if (!mem_exhausted(&w.mem)) (void)expr_equal(&w.mem, e, e);
  }
  world_close(&w);
  memcpy(m, &w.mem, sizeof *m);
}

static void survives_every_failing_allocation(void **state) {
  (void)state;
  unit_walk_failures(build_something);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WORLD_TEST(equal_types_are_one),
      WORLD_TEST(many_types_stay_apart),
      WORLD_TEST(inference_variables_are_fresh),
      WORLD_TEST(exponential_types_are_small),
      WORLD_TEST(deep_types),
      WORLD_TEST(free_variables),
      WORLD_TEST(named_dims_are_variables),
      WORLD_TEST(substitution_captures_nothing),
      WORLD_TEST(substitution_leaves_bound_alone),
      WORLD_TEST(types_print_as_relay_does),
      WORLD_TEST(renaming_makes_no_difference),
      WORLD_TEST(binders_have_their_scopes),
      WORLD_TEST(graph_numbers_make_no_difference),
      WORLD_TEST(length_costs_no_stack),
      WORLD_TEST(inner_scopes_hide_outer_ones),
      WORLD_TEST(the_newest_unit_can_go),
      WORLD_TEST(constants_are_immortal),
      cmocka_unit_test(survives_every_failing_allocation),
  };
  return RUN_TESTS(tests);
}
