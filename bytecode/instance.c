/* Keys of instances: equality by contents, and a hash.
 *
 * Lists in a key are compared element by element, since two uses that need the
 * same code make lists of their own.  Pointers inside are compared as such:
 * variables, expressions and functions have one identity each.  The hash leaves
 * out what rarely tells two apart; whatever it includes must be equal where
 * keys are. */
#include "bytecode/instance.h"

#include "base/hash.h"

/* --- Equality ------------------------------------------------------------- */

static bool env_equal(const Env *a, const Env *b) {
  int n = a ? a->count : 0;
  if ((a && a->dual) != (b && b->dual)) return false;
  if (n != (b ? b->count : 0)) return false;
  for (int i = 0; i < n; i++)
    if (a->vars[i] != b->vars[i] || a->counted[i] != b->counted[i] ||
        a->types[i] != b->types[i])
      return false;
  return true;
}

static bool free_var_equal(const FreeVar *a, const FreeVar *b) {
  return a->var == b->var && a->captured == b->captured &&
         a->counted == b->counted && a->general == b->general &&
         a->callee == b->callee;
}

/* Members are compared as well as what they capture: the same `fn` in another
 * group has other siblings. */
static bool group_equal(const FnGroup *a, const FnGroup *b) {
  if (!a || !b) return a == b;
  if (a->count != b->count || a->free_count != b->free_count) return false;
  for (int i = 0; i < a->count; i++)
    if (a->vars[i] != b->vars[i] || a->fns[i] != b->fns[i]) return false;
  for (int i = 0; i < a->free_count; i++)
    if (!free_var_equal(&a->free[i], &b->free[i])) return false;
  return true;
}

/* The list has an entry for each parameter of the FN. */
static int callee_count(const InstanceKey *key) {
  return key->callees ? key->expr->fn->param_count : 0;
}

static bool callees_equal(const InstanceKey *a, const InstanceKey *b) {
  if (!a->callees || !b->callees) return a->callees == b->callees;
  for (int i = 0; i < callee_count(a); i++)
    if (a->callees[i] != b->callees[i]) return false;
  return true;
}

bool instance_key_same_body(const InstanceKey *a, const InstanceKey *b) {
  return a->kind == b->kind && a->expr == b->expr && a->ctor == b->ctor &&
         a->global == b->global && a->checks == b->checks &&
         a->loose == b->loose && a->stops == b->stops &&
         env_equal(a->env, b->env) && group_equal(a->group, b->group) &&
         callees_equal(a, b);
}

bool instance_key_equal(const InstanceKey *a, const InstanceKey *b) {
  return a->borrows == b->borrows && a->trmc == b->trmc &&
         a->unboxed == b->unboxed && instance_key_same_body(a, b);
}

/* --- Hash ----------------------------------------------------------------- */

static uint64_t env_hash(uint64_t hash, const Env *env) {
  hash = hash_add_word(hash, env && env->dual);
  for (int i = 0; env && i < env->count; i++) {
    hash = hash_add_pointer(hash, env->vars[i]);
    hash = hash_add_pointer(hash, env->types[i]);
    hash = hash_add_word(hash, env->counted[i]);
  }
  return hash;
}

static uint64_t group_hash(uint64_t hash, const FnGroup *group) {
  for (int i = 0; group && i < group->free_count; i++) {
    const FreeVar *v = &group->free[i];
    hash = hash_add_pointer(hash, v->var);
    hash = hash_add_pointer(hash, v->callee);
    hash = hash_add_word(hash, v->captured);
  }
  return hash;
}

uint64_t instance_key_hash(const InstanceKey *key) {
  uint64_t flags = (uint64_t)key->kind << 6 | key->borrows << 5 |
                   key->trmc << 4 | key->unboxed << 3 | key->checks << 2 |
                   key->loose << 1 | key->stops;
  uint64_t hash = hash_add_word(HASH_EMPTY, flags);
  hash = hash_add_pointer(hash, key->expr);
  hash = hash_add_pointer(hash, key->ctor);
  hash = hash_add_pointer(hash, key->global);
  hash = env_hash(hash, key->env);
  hash = group_hash(hash, key->group);
  for (int i = 0; i < callee_count(key); i++)
    hash = hash_add_pointer(hash, key->callees[i]);
  return hash;
}
