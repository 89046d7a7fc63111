/* Checks at run time, where values of unknown shape enter a place that knows
 * more, and where functions are entered (types/crossing.c says which).
 *
 *   def @f[n: Dim](%x: Tensor[(n), float32], %y: Tensor[(n), float32])
 *
 * On entry n is read from %x with `dim` and kept in a register as an int64; the
 * instance that checks compares %y with it.  Closures capture such a register
 * like any variable.  A check's site has the expected type, and lists the
 * registers of the names in it. */
#include "bytecode/lower/lower.h"

/* --- Names --------------------------------------------------------------- */

/* Those names of a type that have a register here. */
typedef struct Names {
  Lower *l;
  int count;
  const void *keys[CHECK_NAMES_MOST];
  Reg regs[CHECK_NAMES_MOST];
} Names;

/* Names beyond CHECK_NAMES_MOST, and those without a register here, are left
 * out. */
static void add_name(void *data, const void *key, const Name *name) {
  (void)name;
  Names *n = data;
  const TypeVar *var = key;
  Local *local = var->number ? local_get(n->l, var->number) : NULL;
  for (int i = 0; i < n->count; i++)
    if (n->keys[i] == key) return;
  if (!local || n->count == CHECK_NAMES_MOST) return;
  n->keys[n->count] = key;
  n->regs[n->count++] = local->kind == LOCAL_CAPTURED
                            ? local_reg(n->l, var->number, n->l->span)
                            : local->reg;
}

static void each_name(const DimTable *dims, const Type *t,
                      void (*visit)(void *, const void *, const Name *),
                      void *data) {
  if (t->kind == TY_TENSOR)
    for (int i = 0; i < t->rank; i++) dim_names(dims, t->dims[i], visit, data);
  else if (t->kind == TY_TUPLE && t->has_var)
    for (int i = 0; i < t->count; i++) each_name(dims, t->args[i], visit, data);
}

void type_dim_names(const Lower *l, const Type *t,
                    void (*visit)(void *, const void *, const Name *),
                    void *data) {
  each_name(types_dims(l->code->program->types), t, visit, data);
}

/* --- At a boundary ------------------------------------------------------- */

static void put_check(Lower *l, Reg r, const Type *expected, const char *what,
                      Span declared) {
  Names names = {.l = l};
  if (lower_is_dual(l)) r = lower_plain(l, r, expected);
  type_dim_names(l, expected, add_name, &names);
  Arena *arena = &l->code->arena;
  CheckSite *site = ARENA_NEW(arena, CheckSite);
  const void **keys = ARENA_ARRAY(arena, const void *, (size_t)names.count + 1);
  for (int i = 0; i < names.count; i++) keys[i] = names.keys[i];
  *site = (CheckSite){expected, what, declared, names.count, keys};
  put_word(l, INS_check, r, (uint32_t)names.count, 0, site);
  for (int i = 0; i < names.count; i++) put_listed(l, 'u', names.regs[i]);
}

void lower_check(Lower *l, Reg r, const Type *actual, const Type *expected,
                 const char *what, Span declared) {
  if (!expected || !types_need_check(actual, expected)) return;
  put_check(l, r, expected, what, declared);
}

void lower_check_out(Lower *l, Reg r, const Type *actual, const Type *expected,
                     const char *what, Span declared) {
  const Program *p = l->code->program;
  if (!types_need_check_out(p, actual, expected)) return;
  put_check(l, r, expected, what, declared);
}

/* --- On entry ------------------------------------------------------------ */

static bool binds(const Type *t, Dim wanted) {
  for (int i = 0; t->kind == TY_TENSOR && i < t->rank; i++)
    if (dim_same(t->dims[i], wanted)) return true;
  for (int i = 0; t->kind == TY_TUPLE && t->has_var && i < t->count; i++)
    if (binds(t->args[i], wanted)) return true;
  return false;
}

/* Reads the dimension `wanted` of a value in `r`, which lies in `root`.  The
 * path to the first place that has the dimension, by fields of tuples.  `root`
 * is listed so that the views on the way stay alive. */
static Reg read_name(Lower *l, const Type *t, Reg r, Reg root, Dim wanted) {
  int i = 0;
  if (t->kind == TY_TENSOR) {
    while (!dim_same(t->dims[i], wanted)) i++;
    Reg number = reg_new(l, false);
    if (lower_is_dual(l)) root = r = lower_plain(l, r, t);
    put(l, INS_dim, number, r, (uint32_t)i);
    put_listed(l, 'u', root);
    return number;
  }
  while (!binds(t->args[i], wanted)) i++;
  Reg field = reg_of_type(l, t->args[i]);
  uint32_t word = (uint32_t)(cell_offset(t->count) + i);
  if (lower_is_dual(l)) {
    lower_part(l, field, r, word, t->args[i]);
    return read_name(l, t->args[i], field, field, wanted);
  }
  put(l, INS_field, field, r, word);
  put_listed(l, 'u', root);
  return read_name(l, t->args[i], field, root, wanted);
}

/* From the first parameter that has it as a dimension; gives its index. */
static int bind_name(Lower *l, const Fn *fn, const TypeVar *var) {
  DimTable *dims = types_dims(l->code->program->types);
  Dim wanted = dim_named(dims, var->name, var);
  for (int i = 0; i < fn->param_count; i++) {
    const Type *t = fn->params[i]->type;
    if (!binds(t, wanted)) continue;
    Reg r = read_name(l, t, (Reg)i, (Reg)i, wanted);
    local_put(l, var->number, LOCAL_REG)->reg = r;
    return i;
  }
  return fn->param_count;
}

static int known_dims(const Type *t) {
  int n = 0;
  for (int i = 0; t->kind == TY_TENSOR && i < t->rank; i++)
    n += !dim_is_any(t->dims[i]);
  for (int i = 0; t->kind == TY_TUPLE && i < t->count; i++)
    n += known_dims(t->args[i]);
  return n;
}

/* A parameter all of whose known dimensions are names that it binds need not
 * be compared. */
void lower_entry(Lower *l, const Fn *fn) {
  int *bound = ARENA_ARRAY(l->arena, int, (size_t)fn->param_count + 1);
  if (!bound) return;
  for (int i = 0; i < fn->type_param_count; i++) {
    const TypeVar *var = fn->type_vars[i];
    if (var->kind == KIND_DIM && var->number) bound[bind_name(l, fn, var)]++;
  }
  if (!l->fn->key.checks) return;
  for (int i = 0; i < fn->param_count; i++) {
    const Var *param = fn->params[i];
    if (known_dims(param->type) == bound[i]) continue;
    lower_entry_param(l, (Reg)i, param->type, var_span(param));
  }
}

void lower_entry_param(Lower *l, Reg r, const Type *type, Span span) {
  l->span = span;
  if (types_know_dims(type)) put_check(l, r, type, "parameter", SPAN_NONE);
}

/* --- Which functions do --------------------------------------------------- */

static bool has_dims(const Fn *fn) {
  for (int i = 0; i < fn->type_param_count; i++)
    if (fn->type_vars[i]->kind == KIND_DIM) return true;
  return false;
}

static bool knows_params(const Fn *fn) {
  for (int i = 0; i < fn->param_count; i++)
    if (types_know_dims(fn->params[i]->type)) return true;
  return false;
}

bool use_checks(const Lower *l, const Expr *use) {
  return types_use_binds(l->code->program, use);
}

bool value_checks(const Lower *l, const Expr *use, const Fn *fn) {
  if (l->fn->key.loose) return knows_params(fn);
  return has_dims(fn) && (l->poly || use_checks(l, use));
}
