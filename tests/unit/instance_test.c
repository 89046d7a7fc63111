/* bytecode/instance: two instances whose facts differ never share code, and two
 * keys with the same contents are one instance.
 *
 * Two keys that are wrongly equal would run code made for other types; two that
 * are wrongly different would only make code twice.  So the table has one key
 * for each fact that a key holds, all different, and each made twice from fresh
 * parts. */
#include "bytecode/code.h"
#include "tests/unit/program.h"

/* fn (%x: int32) { %x }, and what keys of it are made from. */
typedef struct Parts {
  Expr *fn, *other;
  Ctor ctor;
  Global global;
  TypeVar *var;
  const Type *i32;
} Parts;

static Expr *identity(World *w, const Type *type) {
  Arena *a = &w->program->arena;
  Var *x = var_new(a, name_of(&w->names, "x"), SPAN_NONE, NULL);
  Var **params = arena_copy(a, &x, sizeof x);
  Expr *body = expr_new(a, EX_VAR, SPAN_NONE);
  x->type = body->type = type;
  body->var = x;
  Fn *fn = ARENA_NEW(a, Fn);
  *fn = (Fn){.params = params, .param_count = 1, .body = body};
  Expr *e = expr_new(a, EX_FN, SPAN_NONE);
  e->fn = fn;
  return e;
}

static Parts parts(World *w) {
  const Type *i32 = type_scalar(w->program->types, DT_INT32);
  Parts p = {
      .fn = identity(w, i32),
      .other = identity(w, i32),
      .ctor = {.name = name_of(&w->names, "C")},
      .global = {.name = name_of(&w->names, "f")},
      .var = typevar_new(w->program->types, name_of(&w->names, "A"), SPAN_NONE,
                         false),
      .i32 = i32,
  };
  return p;
}

/* All of these differ.  Each call makes its lists anew, so that equality can
 * only come from what is in them. */
enum { KEYS = 21 };

static const Env *env_of(World *w, const TypeVar *var, bool counted,
                         const Type *type) {
  Arena *a = &w->program->arena;
  Env *env = ARENA_NEW(a, Env);
  *env = (Env){.count = 1,
               .room = 1,
               .vars = arena_copy(a, &var, sizeof var),
               .counted = arena_copy(a, &counted, sizeof counted),
               .types = arena_copy(a, &type, sizeof type)};
  return env;
}

static const FnGroup *group_of(World *w, const Expr *fn, const Var *name,
                               FreeVar free) {
  Arena *a = &w->program->arena;
  FnGroup *g = ARENA_NEW(a, FnGroup);
  *g = (FnGroup){.count = 1,
                 .vars = arena_copy(a, &name, sizeof name),
                 .fns = arena_copy(a, &fn, sizeof fn),
                 .free_count = free.var != NULL,
                 .capture_count = free.captured,
                 .free = arena_copy(a, &free, sizeof free)};
  return g;
}

static void all_keys(World *w, const Parts *p, InstanceKey keys[KEYS]) {
  static Function known;
  const Var *v = p->fn->fn->params[0], *u = p->other->fn->params[0];
  Function **one = ARENA_NEW(&w->program->arena, Function *);
  *one = &known;
  InstanceKey plain = {.kind = FUNCTION_FN, .expr = p->fn};
  int n = 0;
#define KEY(...) (keys[n] = plain, keys[n].__VA_ARGS__, n++)
  KEY(expr = p->fn);
  KEY(expr = p->other);
  KEY(kind = FUNCTION_STEP);
  KEY(global = &p->global);
  KEY(borrows = true);
  KEY(trmc = true);
  KEY(unboxed = true);
  KEY(checks = true);
  KEY(loose = true);
  KEY(stops = true);
  KEY(callees = one);
  KEY(env = env_of(w, p->var, true, NULL));
  KEY(env = env_of(w, p->var, false, NULL));
  KEY(env = env_of(w, p->var, false, p->i32));
  KEY(group = group_of(w, p->fn, NULL, (FreeVar){0}));
  KEY(group = group_of(w, p->fn, v, (FreeVar){0}));
  KEY(group = group_of(w, p->fn, v, (FreeVar){.var = u}));
  KEY(group = group_of(w, p->fn, v, (FreeVar){.var = u, .captured = true}));
  KEY(group = group_of(w, p->fn, v, (FreeVar){.var = u, .counted = true}));
  KEY(group = group_of(w, p->fn, v, (FreeVar){.var = u, .callee = &known}));
  KEY(group = group_of(w, p->fn, v, (FreeVar){.var = u, .general = p->other}));
#undef KEY
  assert_int_equal(n, KEYS);
}

static void each_field_counts(void **state) {
  World *w = *state;
  Parts p = parts(w);
  InstanceKey a[KEYS], b[KEYS];
  all_keys(w, &p, a);
  all_keys(w, &p, b);
  for (int i = 0; i < KEYS; i++) {
    for (int k = 0; k < KEYS; k++)
      assert_int_equal(instance_key_equal(&a[i], &b[k]), i == k);
    assert_true(instance_key_hash(&a[i]) == instance_key_hash(&b[i]));
  }
}

/* Conventions of calls are not the body's affair. */
static void bodies_can_be_the_same(void **state) {
  World *w = *state;
  Parts p = parts(w);
  InstanceKey keys[KEYS];
  all_keys(w, &p, keys);
  for (int i = 0; i < KEYS; i++) {
    bool called_otherwise = keys[i].borrows || keys[i].trmc || keys[i].unboxed;
    assert_int_equal(instance_key_same_body(&keys[0], &keys[i]),
                     i == 0 || called_otherwise);
  }
}

/* `loose` and `stops` are the code's as a whole. */
static bool is_for_code(const InstanceKey *key) {
  return !key->loose && !key->stops && key->kind == FUNCTION_FN &&
         !key->borrows && !key->unboxed;
}

static void instances_never_share_code(void **state) {
  World *w = *state;
  Parts p = parts(w);
  Code *c = code_new(w->program);
  assert_non_null(c);
  InstanceKey a[KEYS], b[KEYS];
  Function *made[KEYS] = {NULL};
  all_keys(w, &p, a);
  all_keys(w, &p, b);
  for (int i = 0; i < KEYS; i++) {
    if (!is_for_code(&a[i])) continue;
    made[i] = code_instance(c, a[i]);
    assert_ptr_equal(code_instance(c, b[i]), made[i]);
    for (int k = 0; k < i; k++) assert_ptr_not_equal(made[k], made[i]);
  }
  w->program->loose = true;
  code_refresh(c);
  for (int i = 0; i < KEYS; i++) {
    if (!made[i]) continue;
    assert_true(made[i]->key.loose);
    assert_false(made[i]->lowered);
    assert_ptr_equal(code_instance(c, b[i]), made[i]);
  }
  code_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WORLD_TEST(each_field_counts),
      WORLD_TEST(bodies_can_be_the_same),
      WORLD_TEST(instances_never_share_code),
  };
  return RUN_TESTS(tests);
}
