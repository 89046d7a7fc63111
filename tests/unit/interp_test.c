/* The virtual machine on small typed programs that are built by hand, so that
 * neither parser nor checker is in between: arithmetic, calls, tail calls,
 * constructors and matches, closures, faults.  Whole programs are tested by the
 * .rly files.
 *
 * Typed expressions are built node by node, as the checker would leave them: a
 * failure here is one of lowering or of the machine.  Besides the values,
 * limits are tried (calls without end, memory), and that a session leaves
 * nothing behind. */
#include "base/pool.h"
#include "bytecode/code.h"
#include "vm/session.h"
#include "ops/ops.h"
#include "tests/unit/program.h"

/* --- Building typed expressions ----------------------------------------- */

typedef struct Build {
  World *w;
  Arena *a;
  TypeTable *types;
  const Type *i32, *boolean;
} Build;

static Build build_in(World *w) {
  TypeTable *t = w->program->types;
  return (Build){w, &w->program->arena, t, type_scalar(t, DT_INT32),
                 type_scalar(t, DT_BOOL)};
}

static Expr *node(Build *b, ExprKind kind, const Type *type) {
  Expr *e = expr_new(b->a, kind, (Span){1, 2});
  e->type = type;
  return e;
}

static const Expr *number(Build *b, int32_t v) {
  Expr *e = node(b, EX_CONST, b->i32);
  e->constant =
      program_scalar(b->w->program, DT_INT32, (Value){.bits = (uint32_t)v});
  return e;
}

static Var *variable(Build *b, const char *name, const Type *type) {
  Var *v = var_new(b->a, name_of(&b->w->names, name), (Span){1, 2}, NULL);
  v->type = type;
  return v;
}

static const Expr *use(Build *b, Var *v) {
  Expr *e = node(b, EX_VAR, v->type);
  e->var = v;
  return e;
}

static const Expr *call(Build *b, const Expr *callee, const Type *type, int n,
                        const Expr *const *args) {
  Expr *e = expr_call(b->a, (Span){1, 2}, callee, n,
                      arena_copy(b->a, args, (size_t)n * sizeof *args));
  e->type = type;
  return e;
}

#define CALL(b, callee, type, ...)                                          \
  call((b), (callee), (type),                                               \
       (int)(sizeof((const Expr *[]){__VA_ARGS__}) / sizeof(const Expr *)), \
       (const Expr *[]){__VA_ARGS__})

static const Expr *op(Build *b, OpId id, const Type *type, const Expr *x,
                      const Expr *y) {
  const Type *fn =
      type_fn(b->types, 0, NULL, 2, (const Type *[]){x->type, y->type}, type);
  Expr *callee = node(b, EX_OP, fn);
  callee->op = id;
  return CALL(b, callee, type, x, y);
}

static const Expr *plus(Build *b, const Expr *x, const Expr *y) {
  return op(b, OP_ADD, b->i32, x, y);
}

static const Expr *when(Build *b, const Expr *c, const Expr *x, const Expr *y) {
  Expr *e = expr_if(b->a, (Span){1, 2}, c, x, y);
  e->type = x->type;
  return e;
}

/* A fn expression over `n` parameters. */
static const Expr *function(Build *b, int n, Var *const *params,
                            const Expr *body, const Type *result) {
  const Type *args[4];
  for (int i = 0; i < n; i++) args[i] = params[i]->type;
  Expr *e = node(b, EX_FN, type_fn(b->types, 0, NULL, n, args, result));
  Fn *fn = ARENA_NEW(b->a, Fn);
  fn->param_count = n;
  fn->params = arena_copy(b->a, params, (size_t)n * sizeof *params);
  fn->body = body;
  fn->declared_result = result;
  e->fn = fn;
  return e;
}

static Global *global(Build *b, const char *name, const Type *type) {
  Global *g = ARENA_NEW(b->a, Global);
  *g = (Global){.kind = GLOBAL_DEF,
                .name = name_of(&b->w->names, name),
                .type = type,
                .slot = -1};
  return g;
}

static const Expr *named(Build *b, Global *g) {
  Expr *e = node(b, EX_GLOBAL, g->type);
  e->g.name = g->name;
  e->g.global = g;
  return e;
}

static const Type *unary(Build *b) {
  return type_fn(b->types, 0, NULL, 1, &b->i32, b->i32);
}

/* --- Running ------------------------------------------------------------ */

static RunStatus run_limited(Build *b, const Global *g, Limits limits,
                             int count, const int32_t *args, int32_t *result) {
  Code *code = code_new(b->w->program);
  Session *s =
      session_new(code, &b->w->mem, limits, (SessionHooks){0}, &b->w->diags);
  assert_non_null(s);
  Value values[4], v = {.bits = 0};
  for (int i = 0; i < count; i++) values[i].bits = (uint32_t)args[i];
  RunStatus status = session_call(s, g, count, values, &v);
  *result = v.i32;
  size_t left = atomic_load(&session_store(s)->heap.mem->live);
  assert_true(left > 0);
  session_free(s);
  code_free(code);
  return status;
}

static int32_t run1(Build *b, const Global *g, int32_t x) {
  int32_t result;
  assert_int_equal(run_limited(b, g, (Limits){0}, 1, &x, &result), RUN_OK);
  return result;
}

/* --- Scalars and calls -------------------------------------------------- */

static Global *fib(Build *b) {
  Global *g = global(b, "fib", unary(b));
  Var *n = variable(b, "n", b->i32);
  const Expr *less = op(b, OP_LESS, b->boolean, use(b, n), number(b, 2));
  const Expr *one = CALL(b, named(b, g), b->i32,
                         op(b, OP_SUBTRACT, b->i32, use(b, n), number(b, 1)));
  const Expr *two = CALL(b, named(b, g), b->i32,
                         op(b, OP_SUBTRACT, b->i32, use(b, n), number(b, 2)));
  g->value =
      function(b, 1, &n, when(b, less, use(b, n), plus(b, one, two)), b->i32);
  return g;
}

static void test_fib(void **state) {
  Build b = build_in(*state);
  assert_int_equal(run1(&b, fib(&b), 20), 6765);
}

/* loop(i, acc) = if i == 0 then acc else loop(i - 1, acc + i mod 7) */
static Global *loop(Build *b) {
  const Type *two[2] = {b->i32, b->i32};
  Global *g = global(b, "loop", type_fn(b->types, 0, NULL, 2, two, b->i32));
  Var *p[2] = {variable(b, "i", b->i32), variable(b, "acc", b->i32)};
  const Expr *next = CALL(
      b, named(b, g), b->i32,
      op(b, OP_SUBTRACT, b->i32, use(b, p[0]), number(b, 1)),
      plus(b, use(b, p[1]), op(b, OP_MOD, b->i32, use(b, p[0]), number(b, 7))));
  const Expr *end = op(b, OP_EQUAL, b->boolean, use(b, p[0]), number(b, 0));
  g->value = function(b, 2, p, when(b, end, use(b, p[1]), next), b->i32);
  return g;
}

static void test_loop(void **state) {
  Build b = build_in(*state);
  int32_t result, args[2] = {1000000, 0};
  assert_int_equal(
      run_limited(&b, loop(&b), (Limits){.max_depth = 2}, 2, args, &result),
      RUN_OK);
  /* 142857 whole weeks of 21 and one day. */
  assert_int_equal(result, 142857 * 21 + 1);
}

/* down(n) = if n == 0 then 0 else 1 + down(n - 1) */
static Global *down(Build *b) {
  Global *g = global(b, "down", unary(b));
  Var *n = variable(b, "n", b->i32);
  const Expr *rest = CALL(b, named(b, g), b->i32,
                          op(b, OP_SUBTRACT, b->i32, use(b, n), number(b, 1)));
  const Expr *end = op(b, OP_EQUAL, b->boolean, use(b, n), number(b, 0));
  g->value =
      function(b, 1, &n,
               when(b, end, number(b, 0), plus(b, number(b, 1), rest)), b->i32);
  return g;
}

static void test_deep(void **state) {
  Build b = build_in(*state);
  assert_int_equal(run1(&b, down(&b), 300000), 300000);
}

static void test_depth_limit(void **state) {
  Build b = build_in(*state);
  int32_t n = 1000, result;
  assert_int_equal(
      run_limited(&b, down(&b), (Limits){.max_depth = 500}, 1, &n, &result),
      RUN_LIMIT);
  assert_int_equal(b.w->diags.list.data[0]->code, E0702);
  assert_int_equal(
      run_limited(&b, down(&b), (Limits){.max_depth = 5000}, 1, &n, &result),
      RUN_OK);
}

static void test_memory_limit(void **state) {
  Build b = build_in(*state);
  int32_t n = 1000000, result;
  assert_int_equal(run_limited(&b, down(&b), (Limits){.max_memory = 1 << 20}, 1,
                               &n, &result),
                   RUN_LIMIT);
  assert_int_equal(b.w->diags.list.data[0]->code, E0701);
}

/* A cell without fields is made even at the limit, and that is no failure: a
 * later lowering must not find that its memory ran out.  A cell takes less than
 * 16 bytes of a block of the arena, so some of these need a new block. */
static void test_nullary_at_the_limit(void **state) {
  enum { TAGS = 10000 };
  Build b = build_in(*state);
  Code *code = code_new(b.w->program);
  Session *s =
      session_new(code, &b.w->mem, (Limits){0}, (SessionHooks){0}, &b.w->diags);
  assert_non_null(s);
  size_t limit = b.w->mem.limit;
  b.w->mem.limit = 1;
  for (int tag = 0; tag < TAGS; tag++) {
    const Cell *c = store_nullary(session_store(s), tag);
    assert_int_equal(c->obj.tag, tag);
    assert_false(mem_exhausted(code->mem));
  }
  b.w->mem.limit = limit;
  session_free(s);
  code_free(code);
}

static void test_division_by_zero(void **state) {
  Build b = build_in(*state);
  Global *g = global(&b, "f", unary(&b));
  Var *n = variable(&b, "n", b.i32);
  g->value = function(
      &b, 1, &n, op(&b, OP_DIVIDE, b.i32, number(&b, 7), use(&b, n)), b.i32);
  int32_t zero = 0, result;
  assert_int_equal(run1(&b, g, -2), -3);
  assert_int_equal(run_limited(&b, g, (Limits){0}, 1, &zero, &result),
                   RUN_ERROR);
  assert_int_equal(b.w->diags.list.data[0]->code, E0602);
}

/* --- Constructors ------------------------------------------------------- */

/* type L { Cons(int32, L), Nil } */
static Adt *list_type(Build *b) {
  Adt *adt = ARENA_NEW(b->a, Adt);
  adt->name = name_of(&b->w->names, "L");
  adt->ctor_count = 2;
  adt->ctors = ARENA_ARRAY(b->a, Ctor, 2);
  const Type *l = type_adt(b->types, adt, 0, NULL);
  const Type **fields = ARENA_ARRAY(b->a, const Type *, 2);
  fields[0] = b->i32;
  fields[1] = l;
  adt->ctors[0] = (Ctor){.name = name_of(&b->w->names, "Cons"),
                         .adt = adt,
                         .field_count = 2,
                         .fields = fields};
  adt->ctors[0].type = type_fn(b->types, 0, NULL, 2, fields, l);
  adt->ctors[1] =
      (Ctor){.name = name_of(&b->w->names, "Nil"), .adt = adt, .tag = 1};
  adt->ctors[1].type = type_fn(b->types, 0, NULL, 0, NULL, l);
  return adt;
}

static const Expr *construct(Build *b, const Ctor *c, const Type *type, int n,
                             const Expr *const *args) {
  Expr *callee = node(b, EX_CTOR, c->type);
  callee->ctor = c;
  return call(b, callee, type, n, args);
}

static const Pattern *bind(Build *b, Var *v) {
  Pattern *p = ARENA_NEW(b->a, Pattern);
  *p = (Pattern){.kind = PT_VAR, .var = v, .type = v->type};
  return p;
}

static Arm arm(Build *b, const Ctor *c, const Type *type, int n,
               const Pattern *const *fields, const Expr *body) {
  Pattern *p = ARENA_NEW(b->a, Pattern);
  *p =
      (Pattern){.kind = PT_CTOR,
                .ctor = c,
                .count = n,
                .type = type,
                .fields = arena_copy(b->a, fields, (size_t)n * sizeof *fields)};
  return (Arm){.pattern = p, .body = body};
}

static const Expr *match(Build *b, const Expr *scrutinee, int n,
                         const Arm *arms, const Type *type) {
  Expr *e = node(b, EX_MATCH, type);
  e->count = 1;
  e->args = arena_copy(b->a, &scrutinee, sizeof scrutinee);
  Match *m = ARENA_NEW(b->a, Match);
  m->arm_count = n;
  m->arms = arena_copy(b->a, arms, (size_t)n * sizeof *arms);
  e->match = m;
  return e;
}

typedef struct Lists {
  Adt *adt;
  const Type *type;
  Global *upto, *sum;
} Lists;

/* upto(i) = if i == 0 then Nil else Cons(i, upto(i - 1)) */
static void define_upto(Build *b, Lists *l) {
  l->upto = global(b, "upto", type_fn(b->types, 0, NULL, 1, &b->i32, l->type));
  Var *i = variable(b, "i", b->i32);
  const Expr *rest = CALL(b, named(b, l->upto), l->type,
                          op(b, OP_SUBTRACT, b->i32, use(b, i), number(b, 1)));
  const Expr *cons = construct(b, &l->adt->ctors[0], l->type, 2,
                               (const Expr *[]){use(b, i), rest});
  const Expr *nil = construct(b, &l->adt->ctors[1], l->type, 0, NULL);
  const Expr *end = op(b, OP_EQUAL, b->boolean, use(b, i), number(b, 0));
  l->upto->value = function(b, 1, &i, when(b, end, nil, cons), l->type);
}

/* sum(l) = match l { Cons(x, r) => x + sum(r), Nil => 0 } */
static void define_sum(Build *b, Lists *l) {
  l->sum = global(b, "sum", type_fn(b->types, 0, NULL, 1, &l->type, b->i32));
  Var *p = variable(b, "l", l->type), *x = variable(b, "x", b->i32);
  Var *r = variable(b, "r", l->type);
  const Expr *more =
      plus(b, use(b, x), CALL(b, named(b, l->sum), b->i32, use(b, r)));
  Arm arms[2] = {arm(b, &l->adt->ctors[0], l->type, 2,
                     (const Pattern *[]){bind(b, x), bind(b, r)}, more),
                 arm(b, &l->adt->ctors[1], l->type, 0, NULL, number(b, 0))};
  l->sum->value =
      function(b, 1, &p, match(b, use(b, p), 2, arms, b->i32), b->i32);
}

static Lists lists(Build *b) {
  Lists l = {.adt = list_type(b)};
  l.type = type_adt(b->types, l.adt, 0, NULL);
  define_upto(b, &l);
  define_sum(b, &l);
  return l;
}

/* main(n) = let l = upto(n); sum(l) + sum(l) : used twice, freed once */
static Global *twice(Build *build) {
  Build b = *build;
  Lists l = lists(&b);
  Global *g = global(&b, "main", unary(&b));
  Var *n = variable(&b, "n", b.i32), *list = variable(&b, "list", l.type);
  Binding *let = ARENA_NEW(b.a, Binding);
  *let = (Binding){.kind = BIND_LET,
                   .var = list,
                   .value = CALL(&b, named(&b, l.upto), l.type, use(&b, n))};
  const Expr *sum = plus(&b, CALL(&b, named(&b, l.sum), b.i32, use(&b, list)),
                         CALL(&b, named(&b, l.sum), b.i32, use(&b, list)));
  Expr *body = expr_block(b.a, (Span){1, 2}, 1, let, sum);
  body->type = b.i32;
  g->value = function(&b, 1, &n, body, b.i32);
  return g;
}

static void test_lists(void **state) {
  Build b = build_in(*state);
  assert_int_equal(run1(&b, twice(&b), 1000), 1001000);
}

/* Cells enough to fill some slabs, or where each is an allocation, few. */
enum { SOME_CELLS = SANITIZER_ADDRESS ? 100 : 20000 };

/* The n-th allocation of the session fails: a limit, never a crash. */
static bool survives_failure(Build *b, const Global *g, size_t n) {
  Code *code = code_new(b->w->program);
  Session *s = session_new(code, &b->w->mem, (Limits){0}, (SessionHooks){0},
                           &b->w->diags);
  Mem *m = session_store(s)->heap.mem;
  m->fail_at = atomic_load(&m->count) + n;
  Value arg = {.bits = SOME_CELLS}, v = {.bits = 0};
  RunStatus status = session_call(s, g, 1, &arg, &v);
  assert_true(status == RUN_OK || status == RUN_LIMIT);
  m->fail_at = 0;
  assert_int_equal(session_call(s, g, 1, &arg, &v), RUN_OK);
  assert_int_equal(v.i32, SOME_CELLS * (SOME_CELLS + 1));
  session_free(s);
  code_free(code);
  diags_clear(&b->w->diags);
  return status == RUN_LIMIT;
}

/* Likewise while code is made. */
static bool survives_lowering(Build *b, const Global *g, size_t n) {
  Mem *m = &b->w->mem;
  m->fail_at = atomic_load(&m->count) + n;
  Code *code = code_new(b->w->program);
  Session *s = !code ? NULL
                     : session_new(code, &b->w->mem, (Limits){0},
                                   (SessionHooks){0}, &b->w->diags);
  Value arg = {.bits = 10}, v = {.bits = 0};
  RunStatus status = !s ? RUN_LIMIT : session_call(s, g, 1, &arg, &v);
  assert_true(status == RUN_OK || status == RUN_LIMIT);
  m->fail_at = 0;
  if (s) assert_int_equal(session_call(s, g, 1, &arg, &v), RUN_OK);
  if (s) assert_int_equal(v.i32, 110);
  session_free(s);
  code_free(code);
  mem_clear_exhausted(m);
  diags_clear(&b->w->diags);
  return status == RUN_LIMIT;
}

static void test_failing_lowering(void **state) {
  Build b = build_in(*state);
  Global *g = twice(&b);
  size_t n = 1;
  while (survives_lowering(&b, g, n)) n++;
  assert_true(n > 10);
}

static void test_failing_allocations(void **state) {
  Build b = build_in(*state);
  Global *g = twice(&b);
  size_t n = 1;
  while (survives_failure(&b, g, n)) n++;
  assert_true(n > 10);
}

/* --- Closures ----------------------------------------------------------- */

/* main(n) = let f = fn (x) { if (x == 0) { n } else { 1 + f(x - 1) } };
 *           f(3) : captures n, recurs by its own name */
static void test_closure(void **state) {
  Build b = build_in(*state);
  Global *g = global(&b, "main", unary(&b));
  Var *n = variable(&b, "n", b.i32), *x = variable(&b, "x", b.i32);
  Var *f = variable(&b, "f", unary(&b));
  const Expr *again =
      CALL(&b, use(&b, f), b.i32,
           op(&b, OP_SUBTRACT, b.i32, use(&b, x), number(&b, 1)));
  const Expr *end = op(&b, OP_EQUAL, b.boolean, use(&b, x), number(&b, 0));
  Binding *let = ARENA_NEW(b.a, Binding);
  *let = (Binding){
      .kind = BIND_LET,
      .var = f,
      .value = function(
          &b, 1, &x, when(&b, end, use(&b, n), plus(&b, number(&b, 1), again)),
          b.i32)};
  Expr *body = expr_block(b.a, (Span){1, 2}, 1, let,
                          CALL(&b, use(&b, f), b.i32, number(&b, 3)));
  body->type = b.i32;
  g->value = function(&b, 1, &n, body, b.i32);
  assert_int_equal(run1(&b, g, 39), 42);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WORLD_TEST(test_fib),
      WORLD_TEST(test_loop),
      WORLD_TEST(test_deep),
      WORLD_TEST(test_depth_limit),
      WORLD_TEST(test_memory_limit),
      WORLD_TEST(test_nullary_at_the_limit),
      WORLD_TEST(test_division_by_zero),
      WORLD_TEST(test_lists),
      WORLD_TEST(test_closure),
      WORLD_TEST(test_failing_allocations),
      WORLD_TEST(test_failing_lowering),
  };
  return RUN_TESTS(tests);
}
