/* Functions that stay polymorphic as values, such as an argument of type fn
 * [A](A) -> A.  Code is monomorphised by representation: it depends on
 * whether a type parameter is bits or a counted pointer, and on nothing else
 * of it.  So the value is a cell of 2^k closures, one for each way to
 * represent its k parameters, and a use at an instance picks one: bit i of
 * the index is set when parameter i is counted. */
#include "bytecode/lower/lower.h"

enum { MATCH_DEPTH = 64 };

static const char too_many[] =
    "a polymorphic function that is a value has more than 6 type parameters";

static bool is_poly(const Type *t) {
  return t && t->kind == TY_FN && t->param_count > 0;
}

/* --- Which variable of one type stands for which of another ------------- */

typedef struct Found {
  int count;
  const TypeVar *vars[TYPE_PARAMS_MAX * 4];
  bool counted[TYPE_PARAMS_MAX * 4];
  const Type *types[TYPE_PARAMS_MAX * 4]; /* NULL: not known */
  bool known[TYPE_PARAMS_MAX * 4];        /* as in Env */
} Found;

static void found_add(Found *f, const TypeVar *var, bool counted,
                      const Type *type, bool known) {
  for (int i = 0; i < f->count; i++)
    if (f->vars[i] == var) return;
  if (f->count == TYPE_PARAMS_MAX * 4) return;
  f->vars[f->count] = var;
  f->types[f->count] = type;
  f->known[f->count] = known;
  f->counted[f->count++] = counted;
}

/* Binds the variables of `type` that are free in `env` to how `other`, of the
 * same structure, is represented in `env`. */
static void match_types(Lower *l, Found *f, const Type *type, const Type *other,
                        int depth) {
  if (depth > MATCH_DEPTH || !type->has_var) return;
  if (type->kind == TY_VAR) {
    found_add(f, type->var, is_counted(l, other), env_shown(l, other),
              type_is_known(l, other));
    return;
  }
  if (type->kind != other->kind || type->count != other->count) return;
  for (int i = 0; i < type->count; i++)
    match_types(l, f, type->args[i], other->args[i], depth + 1);
  if (type->kind == TY_FN)
    match_types(l, f, type->result, other->result, depth + 1);
}

/* `env` and what was found, where `env` does not say.  What `env` says wins: it
 * is the running instance's. */
static const Env *env_extend(Lower *l, const Env *env, const Found *f) {
  Env *to = env_new(l, (env ? env->count : 0) + f->count);
  for (int i = 0; env && i < env->count; i++)
    env_add(to, env->vars[i], env->counted[i], env->types[i], env->known[i]);
  for (int i = 0; i < f->count; i++) {
    if (env_find(env, f->vars[i]) >= 0) continue;
    env_add(to, f->vars[i], f->counted[i], f->types[i], f->known[i]);
  }
  return to;
}

/* --- Making and using --------------------------------------------------- */

/* The variables that the code of `e` mentions, by what they are in `type`: a
 * fn's own are those of its parameters, for equal types are one and may have
 * been written with others. */
static void match_function(Lower *l, Found *f, const Expr *e,
                           const Type *type) {
  bool fn = e->kind == EX_FN && e->fn->param_count == type->count;
  for (int i = 0; i < type->count && i < e->type->count; i++) {
    const Type *own = fn ? e->fn->params[i]->type : e->type->args[i];
    match_types(l, f, own, type->args[i], 0);
  }
  match_types(l, f, fn ? e->fn->body->type : e->type->result, type->result, 0);
}

/* `e` as a function of this type, whose variables `l->env` knows. */
static Reg lower_instance(Lower *l, const Expr *e, const Type *type) {
  const Env *outer = l->env;
  Found found = {0};
  match_function(l, &found, e, type);
  l->env = env_extend(l, outer, &found);
  Reg r = lower_expr(l, e, DST_ANY);
  l->env = outer;
  return r;
}

/* 2^k instances are made, so k is bounded; more is E0705.  The environments
 * differ in representation only; each closure captures for itself. */
static Reg lower_poly(Lower *l, const Expr *e, const Type *type, Reg dst) {
  int k = type->param_count;
  if (k > TYPE_PARAMS_MAX) {
    l->too_large = too_many;
    k = 0;
  }
  const Env *outer = l->env;
  bool inner = l->poly;
  l->poly = true;
  Reg *closures = ARENA_ARRAY(l->arena, Reg, (size_t)1 << k);
  if (!closures) return lower_failed(l);
  for (int mask = 0; mask < 1 << k; mask++) {
    Found found = {.count = k};
    for (int i = 0; i < k; i++) {
      found.vars[i] = type->params[i];
      found.counted[i] = mask >> i & 1;
    }
    l->env = env_extend(l, outer, &found);
    closures[mask] = lower_instance(l, e, type);
  }
  l->env = outer;
  l->poly = inner;
  l->span = e->span;
  return lower_cell(l, 0, 1 << k, closures, dst);
}

/* A function that mentions no type parameter is the same in each of them. */
static Reg lower_constant(Lower *l, const Expr *e, const Type *type, Reg dst) {
  Reg closure = lower_expr(l, e, DST_ANY);
  int k = type->param_count;
  if (k > TYPE_PARAMS_MAX) l->too_large = too_many;
  int count = 1 << (k > TYPE_PARAMS_MAX ? 0 : k);
  Reg *closures = ARENA_ARRAY(l->arena, Reg, (size_t)count);
  if (!closures) return lower_failed(l);
  for (int i = 0; i < count; i++) closures[i] = closure;
  l->span = e->span;
  return lower_cell(l, 0, count, closures, dst);
}

/* Has lowering it once for each representation no effect but code?  The checker
 * lets nothing else stand for several types (check_poly in types/). */
static bool is_name_or_fn(const Expr *e) {
  switch (e->kind) {
    case EX_FN:
    case EX_OP:
    case EX_CTOR:
    case EX_GLOBAL:
    case EX_VAR: return true;
    default: return false;
  }
}

/*   wanted polymorphic, e a name or fn      a cell of closures
 *   wanted polymorphic, e monomorphic       the same closure in each field
 *   wanted an instance, e a polymorphic fn  the fn in that instance
 *   else                                    e as it is */
Reg lower_as(Lower *l, const Expr *e, const Type *wanted, Reg dst) {
  bool poly = is_poly(wanted);
  if (poly && is_name_or_fn(e)) return lower_poly(l, e, wanted, dst);
  if (poly && !is_poly(e->type)) return lower_constant(l, e, wanted, dst);
  if (!poly && wanted && e->kind == EX_FN && is_poly(e->type))
    return lower_finish(l, lower_instance(l, e, wanted), dst);
  return lower_expr(l, e, dst);
}

/* The index is computed when code is made: representations are known then. */
Reg lower_pick(Lower *l, Reg poly, const Expr *e, Reg dst) {
  int mask = 0,
      k = e->targ_count < TYPE_PARAMS_MAX ? e->targ_count : TYPE_PARAMS_MAX;
  for (int i = 0; i < k; i++)
    mask |= (!e->targs[i] || is_counted(l, e->targs[i])) << i;
  Reg r = lower_field(l, poly, 1 << k, mask, e->type,
                      dst == DST_TAIL ? DST_ANY : dst);
  return lower_finish(l, r, dst);
}
