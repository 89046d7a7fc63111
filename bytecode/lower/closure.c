/* Function values (flat closures; Cardelli, "Compiling a functional language",
 * 1984).
 *
 *   field 0      the Function
 *   field 1..    what it captures, in the order of the group's list; all in one
 *                tuple in field 1 where a cell has no room
 *
 * A closure that captures nothing is immortal, one for each Function.  The
 * running closure is its function's last parameter, so a recursive fn refers to
 * itself without a reference cycle.  Members of a recursive group capture the
 * same values in the same order, so any member's closure can be that parameter
 * for any other.
 *
 * What is known of a captured function goes along (FreeVar.callee): the
 * instance can then call it directly, or not capture it at all. */
#include "bytecode/lower/lower.h"
#include "ir/walk.h"

/* --- Environments ------------------------------------------------------- */

static bool is_rebound(const TypeVar *v, int count,
                       const TypeVar *const *params) {
  for (int i = 0; i < count; i++)
    if (params[i] == v) return true;
  return false;
}

/* Room is 0 where memory ran out: nothing is added then, and the code is
 * discarded. */
Env *env_new(Lower *l, int most) {
  Arena *arena = &l->code->arena;
  Env *env = ARENA_NEW(arena, Env);
  env->room = most;
  env->vars = ARENA_ARRAY(arena, const TypeVar *, (size_t)most + 1);
  env->counted = ARENA_ARRAY(arena, bool, (size_t)most + 1);
  env->types = ARENA_ARRAY(arena, const Type *, (size_t)most + 1);
  env->known = ARENA_ARRAY(arena, bool, (size_t)most + 1);
  if (!env->vars || !env->counted || !env->types || !env->known) env->room = 0;
  env->dual = env_is_dual(l->env);
  return env;
}

void env_add(Env *env, const TypeVar *v, bool counted, const Type *type,
             bool known) {
  if (env->count == env->room) return;
  env->vars[env->count] = v;
  env->types[env->count] = type;
  env->known[env->count] = type && known;
  env->counted[env->count++] = counted;
}

bool type_is_known(const Lower *l, const Type *type) {
  const Env *env = l->env;
  bool known = true;
  for (int i = 0; known && type->has_var && env && i < env->count; i++)
    known = env->known[i] ||
            !type_mentions(l->code->program->types, type, 1, &env->vars[i]);
  return known;
}

const Type *env_shown(Lower *l, const Type *targ) {
  const Type *type = env_type(l->code, l->env, targ);
  return type->size <= SHOWN_TYPE_SIZE ? type : NULL;
}

/* A use inside the definitions that it recurs with has no type arguments: its
 * parameters are those of the running instance.  Types themselves are kept only
 * where code needs them, since other code depends on representations alone. */
static void bind_param(Lower *l, Env *env, const TypeVar *v, const Type *targ,
                       bool typed) {
  int i = targ ? -1 : env_find(l->env, v);
  if (i >= 0) {
    env_add(env, v, l->env->counted[i], l->env->types[i], l->env->known[i]);
  } else {
    env_add(
        env, v, !targ || is_counted(l, targ),
        targ && (typed || type_is_float_scalar(env_type(l->code, l->env, targ)))
            ? env_shown(l, targ)
            : NULL,
        targ && type_is_known(l, targ));
  }
}

bool env_needs_types(const Lower *l, Effects effects) {
  return lower_is_dual(l) || (effects & EFFECT_TYPED);
}

/* A parameter of the inner scope hides one of the outer. */
const Env *env_bind(Lower *l, const Env *outer, int count,
                    const TypeVar *const *params, const Type *const *targs,
                    bool typed) {
  Env *env = env_new(l, (outer ? outer->count : 0) + count);
  for (int i = 0; outer && i < outer->count; i++)
    if (!is_rebound(outer->vars[i], count, params))
      env_add(env, outer->vars[i], outer->counted[i], outer->types[i],
              outer->known[i]);
  for (int i = 0; i < count; i++) {
    if (params[i]->kind == KIND_DIM) continue;
    bind_param(l, env, params[i], targs ? targs[i] : NULL, typed);
  }
  return env;
}

/* The parameters of a generalised let: its own, or those its fn declares. */
static int var_params(const Var *v, const TypeVar *const **params) {
  bool own = v->param_count > 0;
  *params = own ? v->params : v->type->params;
  return own                      ? v->param_count
         : v->type->kind == TY_FN ? v->type->param_count
                                  : 0;
}

bool var_is_general(const Var *v, const Expr *value) {
  const TypeVar *const *params;
  if (var_params(v, &params) == 0) return false;
  return v->param_count > 0 || value->kind == EX_FN;
}

const Env *env_of_use(Lower *l, const Expr *use) {
  const TypeVar *const *params;
  int n = var_params(use->var, &params);
  if (n == 0 || !use->targs) return l->env;
  return env_bind(l, l->env, n, params, use->targs,
                  env_needs_types(l, use->var->effects));
}

/* --- Free variables ----------------------------------------------------- */

/* Variables are objects, so one that is bound anywhere inside is not free. */
typedef struct FreeVars {
  Lower *lower;
  ExprWalk walk;
  VEC(const Var *) used; /* in order of first occurrence */
  PtrMap bound, seen;
} FreeVars;

static void note_bound(FreeVars *f, const Var *v) {
  if (v) ptrmap_put(&f->bound, v, f);
}

/* A generalised let's value is lowered where it is used. */
static void note_use(FreeVars *f, const Var *v) {
  if (ptrmap_has(&f->seen, v)) return;
  ptrmap_put(&f->seen, v, f);
  VEC_PUSH(&f->used, v);
  Local *local = local_get(f->lower, v);
  if (local && local->kind == LOCAL_GENERAL)
    expr_walk_add(&f->walk, local->value);
}

/* The names that checks ask for are variables that hold numbers. */
static void note_name(void *data, const void *key, const Name *name) {
  (void)name;
  FreeVars *f = data;
  const TypeVar *var = key;
  if (var->number && local_get(f->lower, var->number)) note_use(f, var->number);
}

/* Where a check will be made inside the fn, the names in the expected type are
 * used there, though no expression mentions them. */
static void note_crossing(void *data, const Type *actual, const Type *expected,
                          bool out) {
  FreeVars *f = data;
  if (!expected->has_var) return;
  bool check =
      out ? types_need_check_out(f->lower->code->program, actual, expected)
          : types_need_check(actual, expected);
  if (check) type_dim_names(f->lower, expected, note_name, f);
}

static void note_checks(FreeVars *f, const Expr *e) {
  types_crossings(e, note_crossing, f);
  if (e->kind != EX_FN) return;
  bool loose = f->lower->fn->key.loose;
  for (int i = 0; i < e->fn->param_count; i++) {
    const Type *t = e->fn->params[i]->type;
    if (t->has_var && (loose || e->fn->type_param_count > 0))
      type_dim_names(f->lower, t, note_name, f);
  }
}

/* Dimensions that an inner fn declares are bound by it. */
static void note_node(FreeVars *f, const Expr *e) {
  if (e->kind == EX_VAR) note_use(f, e->var);
  if (e->kind == EX_FN)
    for (int i = 0; i < e->fn->type_param_count; i++)
      note_bound(f, e->fn->type_vars[i]->number);
  note_checks(f, e);
}

static void free_vars_init(FreeVars *f, Lower *l) {
  *f = (FreeVars){.lower = l};
  expr_walk_start(&f->walk, l->code->mem, WALK_ENTER | WALK_BIND, NULL);
  VEC_INIT(&f->used, l->code->mem);
  ptrmap_init(&f->bound, l->code->mem);
  ptrmap_init(&f->seen, l->code->mem);
}

static void free_vars_done(FreeVars *f) {
  expr_walk_end(&f->walk);
  VEC_DONE(&f->used);
  ptrmap_done(&f->bound);
  ptrmap_done(&f->seen);
}

static Function *group_member(Lower *l, const Var *v, bool checks);

/* --- Groups ------------------------------------------------------------- */

/* A free variable of a group as the enclosing function sees it.  Not captured
 * are closures that capture nothing, generalised lets, whose own free variables
 * were added in their place, and siblings where the running function has no
 * closure. */
static FreeVar free_var(Lower *l, const Var *v) {
  Local *local = local_get(l, v);
  FreeVar f = {.var = v, .counted = is_counted(l, v->type)};
  if (!local) return f;
  bool member = local->kind == LOCAL_MEMBER;
  f.callee = member ? group_member(l, v, false) : local->callee;
  if (local->kind == LOCAL_GENERAL) {
    f.general = local->value;
  } else {
    f.captured = local->kind != LOCAL_CONST &&
                 !(local->kind == LOCAL_MEMBER && l->self == NO_REG);
  }
  return f;
}

static void group_captures(Lower *l, FnGroup *g, const FreeVars *f) {
  FreeVar *free = ARENA_ARRAY(&l->code->arena, FreeVar, f->used.len + 1);
  for (size_t i = 0; free && i < f->used.len; i++) {
    if (ptrmap_has(&f->bound, f->used.data[i])) continue;
    FreeVar v = free_var(l, f->used.data[i]);
    g->capture_count += v.captured;
    free[g->free_count++] = v;
  }
  g->free = free;
}

/* Whoever takes a closure out of differentiated code asks for these. */
const Type **captured_types(Lower *l, const FnGroup *g) {
  const Type **types =
      ARENA_ARRAY(&l->code->arena, const Type *, (size_t)g->capture_count);
  int n = 0;
  for (int i = 0; types && i < g->free_count; i++) {
    const FreeVar *v = &g->free[i];
    if (!v->captured) continue;
    const Type *type = v->var->type;
    types[n++] =
        type_is_known(l, type) ? env_type(l->code, l->env, type) : NULL;
  }
  return types;
}

/* A group of fns with their names (NULL: none).  The members are walked as one,
 * so all of them capture what any of them uses. */
static FnGroup *group_new(Lower *l, int count, const Var *const *vars,
                          const Expr *const *fns) {
  FnGroup *g = ARENA_NEW(&l->code->arena, FnGroup);
  *g = (FnGroup){.count = count, .vars = vars, .fns = fns};
  FreeVars f;
  free_vars_init(&f, l);
  for (int i = 0; i < count; i++) {
    note_bound(&f, vars[i]);
    expr_walk_add(&f.walk, fns[count - 1 - i]);
  }
  while (expr_walk_next(&f.walk))
    if (f.walk.event == WALK_ENTER) note_node(&f, f.walk.at);
    else note_bound(&f, f.walk.var);
  group_captures(l, g, &f);
  free_vars_done(&f);
  if (lower_is_dual(l)) g->captured = captured_types(l, g);
  return g;
}

static Function *group_function(Lower *l, const FnGroup *g, int i,
                                bool checks) {
  return code_instance(l->code, (InstanceKey){.kind = FUNCTION_FN,
                                              .expr = g->fns[i],
                                              .env = l->env,
                                              .group = g,
                                              .checks = checks});
}

/* --- Closures ----------------------------------------------------------- */

/* Field 0 is a Function and never counted. */
static uint64_t closure_header(const FnGroup *g) {
  union {
    Obj obj;
    uint64_t word;
  } header = {.obj = {.count = 1,
                      .tag = TAG_CLOSURE,
                      .size = (uint16_t)(captures_first(g) + g->capture_count) &
                              SIZE_BITS}};
  unsigned mask = 0, at = CLOSURE_CAPTURES;
  for (int i = 0; i < g->free_count; i++) {
    if (!g->free[i].captured) continue;
    mask |= (unsigned)g->free[i].counted << at++;
  }
  header.obj.mask = mask & MASK_BITS;
  return header.word;
}

static void put_captures(Lower *l, const FnGroup *g, Reg *regs) {
  int n = 0;
  for (int i = 0; i < g->free_count; i++) {
    if (!g->free[i].captured) continue;
    regs[n++] = local_reg(l, g->free[i].var, l->span);
  }
}

static Reg put_packed(Lower *l, Function *f, const Reg *captured, int n,
                      Reg dst) {
  Reg tuple = lower_cell(l, 0, n, captured, DST_ANY);
  union {
    Obj obj;
    uint64_t word;
  } header = {.obj = {.count = 1,
                      .tag = TAG_CLOSURE,
                      .size = CLOSURE_CAPTURES + 1,
                      .mask = 1 << CLOSURE_CAPTURES}};
  Ins *ins = put_word(l, INS_closure, dst, 1, 0, f);
  ins->words[1] = header.word;
  put_listed(l, 'm', tuple);
  return dst;
}

/* A new closure of member `f`. */
static Reg put_closure(Lower *l, const FnGroup *g, Function *f, Reg dst) {
  Reg r = dst == DST_ANY || dst == DST_TAIL ? reg_new(l, true) : dst;
  if (g->capture_count == 0) {
    put_word(l, INS_constant, r, 0, 0, code_closure(l->code, f));
    return r;
  }
  int n = g->capture_count;
  Reg *captured = ARENA_ARRAY(l->arena, Reg, (size_t)n);
  if (!captured) return lower_failed(l);
  put_captures(l, g, captured);
  if (captures_packed(g)) return put_packed(l, f, captured, n, r);
  Ins *ins = put_word(l, INS_closure, r, (uint32_t)n, 0, f);
  ins->words[1] = closure_header(g);
  for (int i = 0; i < n; i++) put_listed(l, 'm', captured[i]);
  return r;
}

Reg lower_function_value(Lower *l, Function *f, Reg dst) {
  Reg r = dst == DST_ANY || dst == DST_TAIL ? reg_new(l, true) : dst;
  put_word(l, INS_constant, r, 0, 0, code_closure(l->code, f));
  return lower_finish(l, r, dst == DST_TAIL ? DST_TAIL : r);
}

/* In a loose program nobody knows who calls a value with what, so it is the
 * instance that checks its arguments and owns them. */
Function *function_as_value(Lower *l, Function *f) {
  InstanceKey key = f->key;
  if (!key.loose || key.checks || key.kind != FUNCTION_FN) return f;
  key.borrows = key.trmc = key.unboxed = false;
  key.callees = NULL;
  key.checks = true;
  return code_instance(l->code, key);
}

static FnGroup *single_group(Lower *l, const Var *name, const Expr *fn) {
  const Var **vars = ARENA_NEW(&l->code->arena, const Var *);
  const Expr **fns = ARENA_NEW(&l->code->arena, const Expr *);
  *vars = name;
  *fns = fn;
  return group_new(l, 1, vars, fns);
}

/* A fn as a value; `name` is the let's it recurs by, or NULL. */
static Reg lower_named_fn(Lower *l, const Var *name, const Expr *e, Reg dst) {
  FnGroup *g = single_group(l, name, e);
  Function *f = group_function(l, g, 0, value_checks(l, e, e->fn));
  Reg r = put_closure(l, f->key.group, f, dst);
  return lower_finish(l, r, dst == DST_TAIL ? DST_TAIL : r);
}

Reg lower_fn(Lower *l, const Expr *e, Reg dst) {
  return lower_named_fn(l, NULL, e, dst);
}

/* Asked of arguments, which a specialised callee can call directly then. */
Function *fn_without_captures(Lower *l, const Expr *e) {
  const FnGroup *g = single_group(l, NULL, e);
  if (g->capture_count > 0) return NULL;
  return group_function(l, g, 0, value_checks(l, e, e->fn));
}

Reg lower_general(Lower *l, const Var *v, const Expr *value, Reg dst) {
  if (value->kind == EX_FN) return lower_named_fn(l, v, value, dst);
  return lower_expr(l, value, dst);
}

static void bind_member(Lower *l, const FnGroup *g, int i) {
  Function *f = group_function(l, g, i, false);
  bool constant = g->capture_count == 0;
  Function *value = function_as_value(l, f);
  Reg r = constant ? NO_REG : put_closure(l, g, value, DST_ANY);
  Local *v = local_put(l, g->vars[i], constant ? LOCAL_CONST : LOCAL_REG);
  v->reg = r;
  v->callee = f;
}

/* The closures of a group are made one after the other; they do not refer to
 * one another (INS_sibling makes a member's closure from any other's). */
void lower_group(Lower *l, const Binding *bindings, int count) {
  if (var_is_general(bindings[0].var, bindings[0].value)) {
    for (int i = 0; i < count; i++)
      local_put(l, bindings[i].var, LOCAL_GENERAL)->value = bindings[i].value;
    return;
  }
  Arena *arena = &l->code->arena;
  const Var **vars = ARENA_ARRAY(arena, const Var *, (size_t)count);
  const Expr **fns = ARENA_ARRAY(arena, const Expr *, (size_t)count);
  if (!vars || !fns) return;
  for (int i = 0; i < count; i++) {
    vars[i] = bindings[i].var;
    fns[i] = bindings[i].value;
  }
  FnGroup *g = group_new(l, count, vars, fns);
  for (int i = 0; i < count; i++) bind_member(l, g, i);
}

/* --- Members of the running function's group ---------------------------- */

static int member_index(const FnGroup *g, const Var *v) {
  for (int i = 0; g && i < g->count; i++)
    if (g->vars[i] == v) return i;
  return -1;
}

/* Member `v` in the environment of the running function. */
static Function *group_member(Lower *l, const Var *v, bool checks) {
  const FnGroup *g = l->fn->key.group;
  int i = member_index(g, v);
  return i < 0 ? NULL : group_function(l, g, i, checks);
}

/* The instance is that of the use: a group may call its members at other
 * representations. */
Function *member_function(Lower *l, const Expr *use) {
  const Env *outer = l->env;
  l->env = env_of_use(l, use);
  Function *f = group_member(l, use->var, use_checks(l, use));
  l->env = outer;
  return f;
}

static Reg member_value(Lower *l, Function *f) {
  f = function_as_value(l, f);
  if (l->self == NO_REG) return lower_function_value(l, f, DST_ANY);
  if (f == l->fn) return l->self;
  Reg r = reg_new(l, true);
  put_word(l, INS_sibling, r, l->self, 0, f);
  return r;
}

Reg lower_member(Lower *l, const Expr *use) {
  return member_value(l, member_function(l, use));
}

Reg lower_own_member(Lower *l, const Var *v) {
  return member_value(l, group_member(l, v, false));
}
