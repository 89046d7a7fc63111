/* LambdaUnlift: a definition that only one other mentions becomes a `fn` with a
 * name inside that one, and takes no longer what it finds there (Danvy and
 * Schultz, "Lambda-dropping: transforming recursive equations into programs
 * with block structure", 2000).
 *
 *   def @f(%n: int32) { @go(%n, 0) }       def @f(%n: int32) {
 *   def @go(%m: int32, %i: int32) {          let %go = fn (%i: int32) {
 *     if (%i < %m) { @go(%m, %i + 1) } ==>     if (%i < %n) { %go(%i + 1) }
 *     else { %i }                              else { %i }
 *   }                                        };
 *   @f(5);                                   %go(0)
 *                                          }
 *                                          @f(5);
 *
 * The `fn` stands before the first binding of the other's body that mentions
 * it.  A parameter goes where each call passes on the same variable, which is
 * in scope there, and each call within the function itself the parameter.
 *
 * A host may call what a text defines, so definitions stay where nothing runs:
 * in a text without expressions or `@main`, as RemoveUnusedFunctions has
 * it.  So do those with type parameters or attributes, and parameters that
 * a shape may depend on. */
#include <string.h>

#include "passes/rewrite.h"

/* A definition. */
typedef struct Def {
  Global *global;
  const Expr *fn;
  struct Def *home; /* the one other that mentions it */
  bool moves;       /* into its home */
  bool value;       /* it is used without being called */
  bool *differ;     /* by parameter: not all calls pass the same */
  Var **same;       /* by parameter: what they pass, where it goes */
  Var *var;         /* its name in its home */
  size_t at;        /* the binding of its home before which it stands; its
                       number of bindings: before the result */
  size_t first, count, built; /* those that it is the home of */
  const Expr *now;            /* what a function that moves becomes */
  const struct Def *ring;     /* from where a search has come by */
} Def;

typedef struct Unlift {
  Program *p;
  Arena *arena;
  PtrMap of;    /* Global -> Def */
  PtrMap bound; /* Var -> before which binding it is in scope, and one */
  PtrMap now;   /* a parameter that goes -> Var */
  VEC(Def *) defs;
  VEC(Def *) moved; /* by home, in the order in which that mentions them */
} Unlift;

static Def *def_of(const Unlift *u, const Expr *e) {
  return e->kind == EX_GLOBAL ? ptrmap_get(&u->of, e->g.global) : NULL;
}

/* --- Which definitions move ----------------------------------------------- */

static bool may_move(const Expr *e) {
  return !e->fn->attr_count && !e->fn->type_param_count && e->type &&
         e->type->kind == TY_FN && !e->type->param_count && !e->type->has_var;
}

static void add_definition(Unlift *u, const Item *item) {
  Global *g = item->kind == ITEM_DEF ? item_global(u->p, item) : NULL;
  if (!g || g->scheme || !g->value || g->value->kind != EX_FN) return;
  size_t n = (size_t)g->value->fn->param_count;
  Def *d = ARENA_NEW(u->arena, Def);
  bool *differ = ARENA_ARRAY(u->arena, bool, n + 1);
  Var **same = ARENA_ARRAY(u->arena, Var *, n + 1);
  if (!d || !differ || !same) return;
  *d = (Def){.global = g, .fn = g->value, .differ = differ, .same = same};
  d->moves = !item_is_main(item) && may_move(g->value);
  memset(differ, 0, (n + 1) * sizeof *differ);
  memset(same, 0, (n + 1) * sizeof(Var *));
  VEC_PUSH(&u->defs, d);
  ptrmap_put(&u->of, g, d);
}

static void add_definitions(void *data, Unit *unit) {
  for (int i = 0; i < unit->item_count; i++)
    add_definition(data, &unit->items[i]);
}

/* `by`: the definition that `e` is of; NULL: it is of none. */
static void note_mentions(Unlift *u, const Expr *e, Def *by) {
  ExprWalk w;
  expr_walk_start(&w, u->p->mem, WALK_ENTER, e);
  while (expr_walk_next(&w)) {
    Def *d = def_of(u, w.at);
    if (!d || d == by) continue;
    if (!by || (d->home && d->home != by)) d->moves = false;
    d->home = by;
  }
  expr_walk_end(&w);
}

static void note_unit(void *data, Unit *unit) {
  Unlift *u = data;
  for (int i = 0; i < unit->item_count; i++) {
    const Global *g = item_global(u->p, &unit->items[i]);
    if (!g) continue;
    if (g->value) note_mentions(u, g->value, ptrmap_get(&u->of, g));
    for (const Global *of = g->instances; of; of = of->next_instance)
      if (of->value) note_mentions(u, of->value, NULL);
  }
  for (int i = 0; i < unit->step_count; i++)
    if (unit->steps[i].expr) note_mentions(u, unit->steps[i].expr, NULL);
}

/* Of definitions that are homes of each other in a ring one stays. */
static void break_ring(Def *from) {
  Def *d = from;
  while (d && d->moves && !d->ring) {
    d->ring = from;
    d = d->home;
  }
  if (d && d->moves && d->ring == from) d->moves = false;
}

/* --- Where they go, and which parameters ---------------------------------- */

/* What a call passes for each parameter; within the function itself it may be
 * the parameter. */
static void look_at_call(Def *d, const Expr *call, bool itself) {
  for (int i = 0; i < d->fn->fn->param_count; i++) {
    const Expr *arg = i < call->count ? call->args[i] : NULL;
    Var *var = arg && arg->kind == EX_VAR ? arg->var : NULL;
    Var *param = d->fn->fn->params[i];
    if (itself && var && var == param) continue;
    if (!itself && var && !d->same[i]) d->same[i] = var;
    if (itself || !var || d->same[i] != var || var->type != param->type ||
        var->lazy || var->is_dim || var->param_count)
      d->differ[i] = true;
  }
}

/* A group that `and` joins stays whole. */
static size_t group_start(const Block *block, size_t at) {
  if (at == (size_t)block->count) return at;
  while (at > 0 && block->bindings[at].kind == BIND_AND) at--;
  return at;
}

/* Finds what `home` mentions first where, and what it calls with what. */
static void look_into(Unlift *u, Def *home) {
  const Expr *body = home->fn->fn->body;
  bool block = body->kind == EX_BLOCK;
  size_t at = 0;
  ExprWalk w;
  home->first = u->moved.len;
  for (int i = 0; i < home->fn->fn->param_count; i++)
    ptrmap_put(&u->bound, home->fn->fn->params[i], (void *)1);
  expr_walk_start(&w, u->p->mem, WALK_ENTER | WALK_BIND, body);
  while (expr_walk_next(&w)) {
    if (w.event == WALK_BIND) {
      if (block && w.at == body && w.var)
        ptrmap_put(&u->bound, w.var,
                   (void *)(w.binding - body->block->bindings + 2));
      continue;
    }
    if (block && w.parent == body) at = (size_t)w.index;
    Def *called = w.at->kind == EX_CALL ? def_of(u, w.at->call.callee) : NULL;
    Def *d = def_of(u, w.at);
    if (called) look_at_call(called, w.at, called == home);
    if (!d) continue;
    d->value |= w.role != ROLE_CALLEE;
    if (!d->moves || d->home != home || d->var) continue;
    d->var = var_new(u->arena, d->global->name, d->fn->span, NULL);
    d->at = block ? group_start(body->block, at) : 0;
    VEC_PUSH(&u->moved, d);
  }
  expr_walk_end(&w);
  home->count = u->moved.len - home->first;
}

/* May a shape in it depend on the value of a variable?  The checker knows more
 * of it in another place. */
static bool computes_shape(const Unlift *u, const Expr *e) {
  ExprWalk w;
  bool computes = false;
  expr_walk_start(&w, u->p->mem, WALK_ENTER, e);
  while (!computes && expr_walk_next(&w)) computes = expr_computes_shape(w.at);
  expr_walk_end(&w);
  return computes;
}

static bool in_scope(const Unlift *u, const Def *d, const Var *var) {
  size_t bound = (size_t)(uintptr_t)ptrmap_get(&u->bound, var);
  return bound && bound - 1 <= d->at;
}

/* Sets the parameters that go, and the type of what is left. */
static void find_same(Unlift *u, Def *d) {
  const Fn *fn = d->fn->fn;
  bool keeps = d->value || computes_shape(u, d->fn);
  VEC(const Type *) args;
  VEC_INIT(&args, u->p->mem);
  for (int i = 0; i < fn->param_count; i++) {
    if (keeps || d->differ[i] || !d->same[i] || !in_scope(u, d, d->same[i]))
      d->same[i] = NULL;
    if (d->same[i]) ptrmap_put(&u->now, fn->params[i], d->same[i]);
    else VEC_PUSH(&args, fn->params[i]->type);
  }
  d->var->id = u->p->next_var_id++;
  d->var->type = type_fn(u->p->types, 0, NULL, (int)args.len, args.data,
                         d->fn->type->result);
  VEC_DONE(&args);
}

/* --- The new functions ---------------------------------------------------- */

static const Expr *call_of(const Unlift *u, const Def *d, const Expr *call) {
  Expr *made = arena_copy(u->arena, call, sizeof *call);
  const Expr **args =
      ARENA_ARRAY(u->arena, const Expr *, (size_t)call->count + 1);
  if (!made || !args) return call;
  made->args = args;
  made->count = 0;
  for (int i = 0; i < call->count; i++)
    if (!d->same[i]) args[made->count++] = call->args[i];
  return made;
}

static const Expr *mapped(const Unlift *u, const Expr *e) {
  ExprMap m;
  expr_map_start(&m, u->p->mem, u->arena, e);
  while (expr_map_next(&m)) {
    if (m.walk.event != WALK_LEAVE) continue;
    const Expr *was = m.walk.at;
    const Def *d = def_of(u, was);
    if (d && d->moves) expr_map_put(&m, expr_use(u->arena, was->span, d->var));
    d = was->kind == EX_CALL ? def_of(u, was->call.callee) : NULL;
    if (d && d->moves) expr_map_put(&m, call_of(u, d, m.made));
    if (was->kind != EX_VAR || !ptrmap_has(&u->now, was->var)) continue;
    Expr *use = expr_map_own(&m);
    for (Var *now; (now = ptrmap_get(&u->now, use->var));) use->var = now;
  }
  return expr_map_end(&m);
}

/* The body with a `let` for each function that has moved into it. */
static const Expr *with_moved(const Unlift *u, const Def *home,
                              const Expr *body) {
  const Block alone = {.result = body};
  const Block *was = body->kind == EX_BLOCK ? body->block : &alone;
  size_t most = (size_t)was->count + home->count, n = 0, k = 0;
  Binding *bindings = ARENA_ARRAY(u->arena, Binding, most + 1);
  if (!bindings) return body;
  for (size_t i = 0; i <= (size_t)was->count; i++) {
    for (; k < home->count; k++) {
      const Def *d = u->moved.data[home->first + k];
      if (d->at != i) break;
      bindings[n++] = binding_let(d->fn->span, d->var, d->now);
    }
    if (i < (size_t)was->count) bindings[n++] = was->bindings[i];
  }
  return expr_block(u->arena, body->span, (int)n, bindings, was->result);
}

/* Those that have moved into it have been built. */
static void build(const Unlift *u, Def *d) {
  const Expr *made = mapped(u, d->fn);
  if (!made) return;
  Fn *fn = arena_copy(u->arena, made->fn, sizeof *fn);
  Expr *whole = arena_copy(u->arena, made, sizeof *made);
  Var **params =
      ARENA_ARRAY(u->arena, Var *, (size_t)made->fn->param_count + 1);
  if (!fn || !whole || !params) return;
  fn->param_count = 0;
  for (int i = 0; i < made->fn->param_count; i++)
    if (!d->moves || !d->same[i])
      params[fn->param_count++] = made->fn->params[i];
  fn->params = params;
  if (d->count) fn->body = with_moved(u, d, fn->body);
  whole->fn = fn;
  if (d->moves) whole->type = d->var->type;
  d->now = whole;
}

/* Builds a definition that stays, after all that has moved into it, in
 * theirs. */
static void build_all(Unlift *u, Def *root) {
  VEC(Def *) open;
  VEC_INIT(&open, u->p->mem);
  VEC_PUSH(&open, root);
  while (open.len && !mem_exhausted(u->p->mem)) {
    Def *d = VEC_LAST(&open);
    if (d->built < d->count) {
      VEC_PUSH(&open, u->moved.data[d->first + d->built++]);
      continue;
    }
    build(u, d);
    open.len--;
  }
  VEC_DONE(&open);
  if (root->now) root->global->value = root->now;
}

static void drop_moved(void *data, Unit *unit) {
  Unlift *u = data;
  Item *kept = ARENA_ARRAY(&unit->arena, Item, (size_t)unit->item_count + 1);
  int n = 0;
  for (int i = 0; kept && i < unit->item_count; i++) {
    const Item *item = &unit->items[i];
    const Global *g = item->kind == ITEM_DEF ? item_global(u->p, item) : NULL;
    const Def *d = g ? ptrmap_get(&u->of, g) : NULL;
    if (!d || !d->moves) kept[n++] = *item;
  }
  if (!kept) return;
  unit->items = kept;
  unit->item_count = n;
}

static void unlift(Unlift *u, Unit *unit) {
  for (size_t i = 0; i < u->defs.len; i++) {
    Def *d = u->defs.data[i];
    d->moves &= d->home != NULL;
  }
  for (size_t i = 0; i < u->defs.len; i++) break_ring(u->defs.data[i]);
  for (size_t i = 0; i < u->defs.len; i++) {
    Def *d = u->defs.data[i];
    d->moves = d->moves && pass_may_rewrite(u->p, d->fn->span);
  }
  for (size_t i = 0; i < u->defs.len; i++) look_into(u, u->defs.data[i]);
  if (mem_exhausted(u->p->mem)) return;
  for (size_t i = 0; i < u->moved.len; i++) find_same(u, u->moved.data[i]);
  for (size_t i = 0; i < u->defs.len; i++)
    if (!u->defs.data[i]->moves && u->defs.data[i]->count)
      build_all(u, u->defs.data[i]);
  unit_each(u->p, unit, drop_moved, u);
}

Pass pass_lambda_unlift;

Unit *pass_lambda_unlift(Program *p, Unit *unit) {
  Unlift u = {.p = p, .arena = &unit->arena};
  PtrMap *const maps[] = {&u.of, &u.bound, &u.now};
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
    ptrmap_init(maps[i], p->mem);
  VEC_INIT(&u.defs, p->mem);
  VEC_INIT(&u.moved, p->mem);
  unit = unit_with_lets(p, unit);
  if (unit) unit_each(p, unit, add_definitions, &u);
  if (unit) unit_each(p, unit, note_unit, &u);
  if (unit && unit_runs(p, unit)) unlift(&u, unit);
  VEC_DONE(&u.defs);
  VEC_DONE(&u.moved);
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) ptrmap_done(maps[i]);
  return mem_exhausted(p->mem) ? NULL : unit;
}
