/* UnCPS: functions in continuation-passing style are written without it again;
 * the way back of ToCPS (Danvy, "Back to direct style", 1994).
 *
 *   def @f(%x: A) -> B { @f_cps(%x, fn (%r: B) { %r }) }
 *   def @f_cps[R](%x: A, %k: fn (B) -> R) -> R { e }
 *   ==>
 *   def @f(%x: A) -> B { e' }
 *
 * where e' is e, and
 *
 *   %k(v)                                becomes   v
 *   @g_cps(.., %k)                                 @g(..)
 *   @g_cps(.., fn (%y) { e1 })                     let %y = @g(..); e1'
 *   let %j = fn (%y) { e1 }; e2                    let %y = e2'; e1'
 *
 * with %j for %k in e2.  A function of that type can do nothing with an answer
 * but return it; where it does more with %k than call it last or hand it on (to
 * a `fn`, a tuple, a cell), it stays, with those that call it. */
#include <string.h>

#include "passes/cps.h"

enum { ROUNDS_MOST = 64 };

/* @f and @f_cps. */
typedef struct Pair {
  Global *direct;
  const Global *cps;
  const Expr *fn;   /* of @f_cps */
  bool stays;       /* @f_cps is still needed */
  bool noted;       /* it stays, and so do the functions that it calls */
  const Expr *body; /* the new body of @f */
} Pair;

typedef struct UnCps {
  Program *p;
  Arena *arena;
  SplitStack stack;
  PtrMap of_cps;    /* Global -> Pair */
  PtrMap of_direct; /* the same, by @f */
  PtrMap rests;     /* Var -> itself: %k and %j */
  PtrMap used;      /* variables that the functions mention */
  VEC(Pair *) pairs;
  bool fails; /* the function at hand does more with one of `rests` than call
                 it last or hand it on */
} UnCps;

/* --- Pairs ---------------------------------------------------------------- */

static bool is_identity(const Expr *e) {
  return e->kind == EX_FN && e->fn->param_count == 1 &&
         !e->fn->type_param_count && e->fn->body->kind == EX_VAR &&
         e->fn->body->var == e->fn->params[0];
}

/* fn [R](.., fn (B) -> R) -> R */
static bool takes_rest(const Expr *fn) {
  if (fn->kind != EX_FN || fn->fn->type_param_count != 1 ||
      fn->fn->type_params[0].kind != KIND_TYPE || fn->fn->attr_count ||
      fn->fn->param_count == 0 || !fn->type || fn->type->kind != TY_FN)
    return false;
  const Type *answer = fn->type->result;
  const Type *rest = fn->type->args[fn->type->count - 1];
  bool takes = answer->kind == TY_VAR && rest->kind == TY_FN &&
               rest->count == 1 && !rest->param_count &&
               rest->result == answer && !rest->args[0]->has_var;
  for (int i = 0; takes && i < fn->type->count - 1; i++)
    takes = !fn->type->args[i]->has_var;
  return takes;
}

static const Expr *cps_called_by(const Expr *fn) {
  const Expr *call = fn->fn->body;
  int n = fn->fn->param_count;
  if (call->kind != EX_CALL || call->call.callee->kind != EX_GLOBAL ||
      call->count != n + 1 || !is_identity(call->args[n]))
    return NULL;
  for (int i = 0; i < n; i++)
    if (call->args[i]->kind != EX_VAR ||
        call->args[i]->var != fn->fn->params[i])
      return NULL;
  const Global *g = call->call.callee->g.global;
  bool own = g->kind == GLOBAL_DEF && !g->library && !g->scheme && g->value;
  return own && takes_rest(g->value) ? call->call.callee : NULL;
}

static bool same_types(const Expr *direct, const Expr *cps) {
  int n = direct->fn->param_count;
  if (cps->fn->param_count != n + 1) return false;
  for (int i = 0; i < n; i++)
    if (direct->fn->params[i]->type != cps->fn->params[i]->type) return false;
  return direct->type->result == cps->fn->params[n]->type->args[0];
}

static void note_used(UnCps *u, const Expr *fn) {
  ExprWalk w;
  expr_walk_start(&w, u->p->mem, WALK_ENTER, fn);
  while (expr_walk_next(&w))
    if (w.at->kind == EX_VAR) ptrmap_put(&u->used, w.at->var, w.at->var);
  expr_walk_end(&w);
}

static void add_pairs(void *data, Unit *unit) {
  UnCps *u = data;
  for (int i = 0; i < unit->item_count; i++) {
    Global *g = unit->items[i].kind == ITEM_DEF
                    ? item_global(u->p, &unit->items[i])
                    : NULL;
    if (!g || g->scheme || !g->value || g->value->kind != EX_FN ||
        g->value->fn->type_param_count || g->value->type->kind != TY_FN ||
        g->value->type->param_count)
      continue;
    const Expr *callee = cps_called_by(g->value);
    const Global *cps = callee ? callee->g.global : NULL;
    if (!cps || ptrmap_has(&u->of_cps, cps) ||
        !same_types(g->value, cps->value))
      continue;
    Pair *pair = ARENA_NEW(u->arena, Pair);
    if (!pair) return;
    *pair = (Pair){.direct = g, .cps = cps, .fn = cps->value};
    VEC_PUSH(&u->pairs, pair);
    ptrmap_put(&u->of_cps, cps, pair);
    ptrmap_put(&u->of_direct, g, pair);
    note_used(u, cps->value);
  }
}

/* --- The functions without what is done next ------------------------------ */

static Pair *pair_called(const UnCps *u, const Expr *e) {
  bool call = e->kind == EX_CALL && e->call.callee->kind == EX_GLOBAL;
  Pair *pair = call ? ptrmap_get(&u->of_cps, e->call.callee->g.global) : NULL;
  return pair && !pair->stays ? pair : NULL;
}

static bool is_rest(const Expr *e, const Var *k) {
  return e->kind == EX_VAR && e->var == k;
}

/* A `fn` with one parameter that gives an answer. */
static bool is_rest_fn(const Expr *e, const Var *k) {
  return e->kind == EX_FN && e->fn->param_count == 1 &&
         !e->fn->type_param_count && e->type && e->type->kind == TY_FN &&
         e->type->result == k->type->result;
}

static const Expr *call_direct(const UnCps *u, const Pair *to,
                               const Expr *call) {
  Expr *callee = expr_new(u->arena, EX_GLOBAL, call->call.callee->span);
  if (!callee) return NULL;
  callee->g.name = to->direct->name;
  callee->g.global = to->direct;
  callee->type = to->direct->type;
  return cps_call(u->arena, call->span, callee, call->count - 1, call->args,
                  to->direct->value->type->result);
}

static const Expr *direct(UnCps *u, const Expr *e, Var *k);

typedef struct Directing {
  UnCps *u;
  const Expr *e;
  Var *k;
  const Expr *made;
} Directing;

static void run_direct(void *data) {
  Directing *call = data;
  call->made = direct(call->u, call->e, call->k);
}

static const Expr *direct_part(void *data, const Expr *e) {
  const Directing *call = data;
  return direct(call->u, e, call->k);
}

/* let %j = fn (%y) { .. }, where the rest of the block hands its value to %j */
static bool is_join(const Binding *b, const Var *k) {
  return b->kind == BIND_LET && b->var && is_rest_fn(b->value, k);
}

/* A value that nothing uses gets no name. */
static void let(const UnCps *u, Bindings *lets, Span span, Var *var,
                const Expr *value) {
  Binding b = {.kind = BIND_ITEM, .span = span, .value = value};
  if (ptrmap_has(&u->used, var)) {
    b.kind = BIND_LET;
    b.var = var;
  }
  VEC_PUSH(lets, b);
}

/* Adds what comes before the last expression of `e` to `lets`, and gives the
 * value of that. */
static const Expr *direct_tail(UnCps *u, const Expr *e, Var *k,
                               Bindings *lets) {
  for (;;) {
    const Pair *to = pair_called(u, e);
    if (e->kind == EX_BLOCK) {
      const Block *block = e->block;
      const Expr *next = block->result;
      for (int i = 0; i < block->count; i++) {
        const Binding *b = &block->bindings[i];
        if (!is_join(b, k)) {
          VEC_PUSH(lets, *b);
          continue;
        }
        ptrmap_put(&u->rests, b->var, b->var);
        const Expr *rest =
            expr_after(u->arena, block->result->span,
                       (size_t)(block->count - i - 1), b + 1, block->result);
        const Expr *value = direct(u, rest, b->var);
        if (!value) return NULL;
        let(u, lets, b->span, b->value->fn->params[0], value);
        next = b->value->fn->body;
        break;
      }
      e = next;
    } else if (to && is_rest_fn(e->args[e->count - 1], k)) {
      const Fn *fn = e->args[e->count - 1]->fn;
      let(u, lets, e->span, fn->params[0], call_direct(u, to, e));
      e = fn->body;
    } else if (to && is_rest(e->args[e->count - 1], k)) {
      return call_direct(u, to, e);
    } else if (e->kind == EX_CALL && is_rest(e->call.callee, k)) {
      return e->args[0];
    } else if (e->kind == EX_IF || e->kind == EX_MATCH) {
      Directing call = {u, e, k, NULL};
      return cps_branches(u->arena, e, direct_part, &call, k->type->args[0]);
    } else {
      u->fails = true;
      return NULL;
    }
  }
}

static const Expr *direct(UnCps *u, const Expr *e, Var *k) {
  Directing call = {u, e, k, NULL};
  if (split_is_used_up(&u->stack)) {
    split_call(&u->stack, run_direct, &call);
    return call.made;
  }
  Bindings lets;
  VEC_INIT(&lets, u->p->mem);
  const Expr *value = direct_tail(u, e, k, &lets);
  if (value) value = expr_opened(value, &lets);
  if (value)
    value = expr_after(u->arena, value->span, lets.len, lets.data, value);
  VEC_DONE(&lets);
  return value;
}

/* Does `e` still mention a continuation or the CPS version of a function? */
static bool has_rest(const UnCps *u, const Expr *e) {
  ExprWalk w;
  bool found = false;
  expr_walk_start(&w, u->p->mem, WALK_ENTER, e);
  while (!found && expr_walk_next(&w)) {
    if (w.at->kind == EX_VAR) found = ptrmap_has(&u->rests, w.at->var);
    if (w.at->kind == EX_GLOBAL) found = ptrmap_has(&u->of_cps, w.at->g.global);
  }
  expr_walk_end(&w);
  return found;
}

static void make_direct(UnCps *u, Pair *pair) {
  Var *k = pair->fn->fn->params[pair->fn->fn->param_count - 1];
  u->fails = false;
  ptrmap_put(&u->rests, k, k);
  pair->body = direct(u, pair->fn->fn->body, k);
  pair->stays = u->fails || !pair->body || has_rest(u, pair->body);
}

/* A function of a pair that something else mentions stays. */
static void keep_mentioned(UnCps *u, const Expr *e) {
  ExprWalk w;
  expr_walk_start(&w, u->p->mem, WALK_ENTER, e);
  while (expr_walk_next(&w)) {
    Pair *pair =
        w.at->kind == EX_GLOBAL ? ptrmap_get(&u->of_cps, w.at->g.global) : NULL;
    if (pair) pair->stays = true;
  }
  expr_walk_end(&w);
}

static void keep_by_unit(void *data, Unit *unit) {
  UnCps *u = data;
  for (int i = 0; i < unit->item_count; i++) {
    const Global *g = item_global(u->p, &unit->items[i]);
    if (!g || ptrmap_has(&u->of_cps, g) || ptrmap_has(&u->of_direct, g))
      continue;
    if (g->value) keep_mentioned(u, g->value);
    for (const Global *of = g->instances; of; of = of->next_instance)
      if (of->value) keep_mentioned(u, of->value);
  }
  for (int i = 0; i < unit->step_count; i++)
    if (unit->steps[i].expr) keep_mentioned(u, unit->steps[i].expr);
}

/* A pair that stays keeps the functions that it calls and those that call it,
 * so all pairs are made again until no further one stays. */
static void make_all(UnCps *u) {
  bool changed = true;
  for (int round = 0; changed && !mem_exhausted(u->p->mem); round++) {
    changed = false;
    for (size_t i = 0; i < u->pairs.len; i++) {
      Pair *pair = u->pairs.data[i];
      if (!pair->stays) make_direct(u, pair);
      if (round == ROUNDS_MOST) pair->stays = true;
      if (!pair->stays || pair->noted) continue;
      keep_mentioned(u, pair->fn->fn->body);
      pair->noted = changed = true;
    }
  }
}

static void write_pair(UnCps *u, const Pair *pair) {
  const Expr *was = pair->direct->value;
  Fn *fn = arena_copy(u->arena, was->fn, sizeof *fn);
  Expr *whole = arena_copy(u->arena, was, sizeof *whole);
  if (!fn || !whole) return;
  fn->params = pair->fn->fn->params;
  fn->body = pair->body;
  whole->fn = fn;
  pair->direct->value = whole;
}

static void drop_written(void *data, Unit *unit) {
  UnCps *u = data;
  Item *kept = ARENA_ARRAY(&unit->arena, Item, (size_t)unit->item_count + 1);
  int n = 0;
  for (int i = 0; kept && i < unit->item_count; i++) {
    const Item *item = &unit->items[i];
    const Global *g = item->kind == ITEM_DEF ? item_global(u->p, item) : NULL;
    const Pair *pair = g ? ptrmap_get(&u->of_cps, g) : NULL;
    if (!pair || pair->stays) kept[n++] = *item;
  }
  if (!kept) return;
  unit->items = kept;
  unit->item_count = n;
}

static void un_cps(UnCps *u, Unit *unit) {
  unit_each(u->p, unit, add_pairs, u);
  unit_each(u->p, unit, keep_by_unit, u);
  for (size_t i = 0; i < u->pairs.len; i++) {
    Pair *pair = u->pairs.data[i];
    pair->stays = pair->stays || !pass_may_rewrite(u->p, pair->fn->span);
  }
  make_all(u);
  for (size_t i = 0; i < u->pairs.len; i++)
    if (!u->pairs.data[i]->stays) write_pair(u, u->pairs.data[i]);
  unit_each(u->p, unit, drop_written, u);
}

Pass pass_un_cps;

Unit *pass_un_cps(Program *p, Unit *unit) {
  UnCps u = {.p = p, .arena = &unit->arena};
  PtrMap *const maps[] = {&u.of_cps, &u.of_direct, &u.rests, &u.used};
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
    ptrmap_init(maps[i], p->mem);
  VEC_INIT(&u.pairs, p->mem);
  split_start(&u.stack, p->mem);
  if ((unit = unit_with_lets(p, unit))) un_cps(&u, unit);
  split_end(&u.stack);
  VEC_DONE(&u.pairs);
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) ptrmap_done(maps[i]);
  return mem_exhausted(p->mem) ? NULL : unit;
}
