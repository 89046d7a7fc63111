/* ToCPS: what a function does after a call becomes a function of its own, which
 * the call is given (continuation-passing style; Danvy and Filinski,
 * "Representing control", 1992).
 *
 *   def @power(%x: float32, %n: int32) -> float32 {
 *     if (%n == 0) { 1f } else { %x * @power(%x, %n - 1) }
 *   }
 *   ==>
 *   def @power(%x: float32, %n: int32) -> float32 {
 *     @power_cps(%x, %n, fn (%r: float32) { %r })
 *   }
 *   def @power_cps[R](%x: float32, %n: int32, %k: fn (float32) -> R) -> R {
 *     if (%n == 0) { %k(1f) } else {
 *       let %v = %n - 1;
 *       @power_cps(%x, %v, fn (%v1: float32) { %k(%x * %v1) })
 *     }
 *   }
 *
 * Then every call is a tail call, and what waits for a value is data on the
 * heap.  The answer R is a type parameter: a function can do nothing with an
 * answer but return it.
 *
 * Functions that call a definition before their end are written so, and those
 * that they call; where all calls are at the end, the form is there already
 * (selective conversion: Nielsen, "A selective CPS transformation", 2001). Such
 * a function is put into A-normal form first.  Its `fn`s stay as they are:
 * LambdaLift before this pass makes definitions of them.  Functions with type
 * parameters or attributes, with graph variables that are evaluated at their
 * first use, or with shapes that depend on a value stay. */
#include "passes/cps.h"

#include <string.h>

/* --- Shared with UnCPS ---------------------------------------------------- */

const Expr *cps_call(Arena *arena, Span span, const Expr *callee, int count,
                     const Expr *const *args, const Type *type) {
  Expr *e = expr_call(arena, span, callee, count, args);
  if (e) e->type = type;
  return e;
}

/* fn (param) { body } */
static const Expr *cps_fn(Program *p, Arena *arena, Var *param,
                          const Expr *body) {
  Var **params = arena_copy(arena, &param, sizeof(Var *));
  Fn *fn = ARENA_NEW(arena, Fn);
  Expr *e = body ? expr_new(arena, EX_FN, body->span) : NULL;
  if (!params || !fn || !e) return NULL;
  *fn = (Fn){.param_count = 1, .params = params, .body = body};
  e->fn = fn;
  e->type = type_fn(p->types, 0, NULL, 1, &param->type, body->type);
  return e;
}

static const Expr *other_arms(Arena *arena, Expr *e, CpsPart *part,
                              void *data) {
  size_t n = (size_t)e->match->arm_count;
  Arm *arms = arena_copy(arena, e->match->arms, n * sizeof *arms);
  Match *match = arena_copy(arena, e->match, sizeof *match);
  if ((n && !arms) || !match) return NULL;
  for (size_t i = 0; i < n; i++) {
    arms[i].body = i && arms[i].shares ? arms[i - 1].body
                                       : part(data, e->match->arms[i].body);
    if (!arms[i].body) return NULL;
  }
  match->arms = arms;
  e->match = match;
  return e;
}

/* `a && b` is an `if`, whose branches need not be the words' any more. */
const Expr *cps_branches(Arena *arena, const Expr *e, CpsPart *part, void *data,
                         const Type *type) {
  Expr *made = arena_copy(arena, e, sizeof *e);
  if (!made) return NULL;
  made->type = type;
  if (e->kind == EX_MATCH) return other_arms(arena, made, part, data);
  const Expr **args = arena_copy(arena, e->args, 3 * sizeof *args);
  if (!args) return NULL;
  made->args = args;
  if (made->sugar != SUGAR_ELSE_IF) made->sugar = SUGAR_NONE;
  for (int i = 1; i < 3; i++)
    if (!(args[i] = part(data, e->args[i]))) return NULL;
  return made;
}

/* --- Which functions ------------------------------------------------------ */

typedef struct Direct {
  Global *global;
  const Expr *fn;
  bool early;         /* it calls a definition before its end */
  bool converts;      /* it is written anew */
  size_t first, end;  /* what it calls */
  Global *cps;        /* the new function */
  const Type *answer; /* R */
} Direct;

typedef struct ToCps {
  Program *p;
  Arena *arena;
  SplitStack stack;
  PtrMap of; /* Global -> Direct */
  VEC(Direct *) all;
  VEC(Direct *) called;
  VEC(Item) made;
  PtrMap calls;     /* Expr -> itself: a converted function is called in it */
  const Direct *at; /* the function that is written */
} ToCps;

static Direct *called_by(const ToCps *c, const Expr *e) {
  bool call = e->kind == EX_CALL && e->call.callee->kind == EX_GLOBAL;
  return call ? ptrmap_get(&c->of, e->call.callee->g.global) : NULL;
}

/* Is it evaluated at another time than its parent, or where no `fn` can follow
 * it? */
static bool is_apart(const ExprWalk *w) {
  const Binding *b = expr_walk_binding(w);
  if (b) return b->var && b->var->lazy;
  return w->role == ROLE_BODY || w->role == ROLE_GUARD || w->role == ROLE_ATTR;
}

/* A function that is used at several types wants its type where it stands. */
static bool is_polymorphic(const Type *t) {
  return t && t->kind == TY_FN && t->param_count > 0;
}

static bool may_convert(const ToCps *c, const Expr *fn) {
  if (fn->kind != EX_FN || fn->fn->attr_count || fn->fn->type_param_count ||
      !fn->type || fn->type->kind != TY_FN || fn->type->param_count ||
      fn->type->has_var)
    return false;
  ExprWalk w;
  bool may = true;
  expr_walk_start(&w, c->p->mem, WALK_ENTER | WALK_BIND, fn->fn->body);
  while (may && expr_walk_next(&w)) {
    if (w.event == WALK_BIND) may = w.var && !w.var->lazy && !w.var->is_dim;
    else
      may = w.at->kind != EX_DIM && !expr_computes_shape(w.at) &&
            !expr_joins_types(w.at) &&
            !(w.role == ROLE_ARG && is_polymorphic(w.at->type));
  }
  return expr_walk_end(&w) && may;
}

static void add_definitions(void *data, Unit *unit) {
  ToCps *c = data;
  for (int i = 0; i < unit->item_count; i++) {
    Global *g = unit->items[i].kind == ITEM_DEF
                    ? item_global(c->p, &unit->items[i])
                    : NULL;
    if (!g || g->scheme || !g->value || !may_convert(c, g->value)) continue;
    Direct *d = ARENA_NEW(c->arena, Direct);
    if (!d) return;
    *d = (Direct){.global = g, .fn = g->value};
    VEC_PUSH(&c->all, d);
    ptrmap_put(&c->of, g, d);
  }
}

/* What is around a node: may it be the last thing that the function does? */
typedef struct CpsPlace {
  bool last, apart;
} CpsPlace;

static void find_calls(ToCps *c, Direct *d) {
  VEC(CpsPlace) around;
  VEC_INIT(&around, c->p->mem);
  ExprWalk w;
  d->first = c->called.len;
  expr_walk_start(&w, c->p->mem, WALK_ENTER | WALK_LEAVE, d->fn->fn->body);
  while (expr_walk_next(&w)) {
    if (w.event == WALK_LEAVE) {
      around.len--;
      continue;
    }
    CpsPlace at = {true, false};
    if (around.len) {
      at = VEC_LAST(&around);
      at.last = at.last && expr_walk_is_tail(&w);
      at.apart = at.apart || is_apart(&w);
    }
    VEC_PUSH(&around, at);
    Direct *to = at.apart ? NULL : called_by(c, w.at);
    if (!to) continue;
    VEC_PUSH(&c->called, to);
    d->early |= !at.last;
  }
  expr_walk_end(&w);
  d->end = c->called.len;
  VEC_DONE(&around);
}

/* Those that call early, and what these call. */
static void find_converted(ToCps *c) {
  VEC(Direct *) open;
  VEC_INIT(&open, c->p->mem);
  for (size_t i = 0; i < c->all.len; i++)
    if (c->all.data[i]->early) VEC_PUSH(&open, c->all.data[i]);
  while (open.len) {
    Direct *d = VEC_POP(&open);
    if (d->converts) continue;
    d->converts = true;
    for (size_t i = d->first; i < d->end; i++)
      VEC_PUSH(&open, c->called.data[i]);
  }
  VEC_DONE(&open);
}

/* --- The new functions ---------------------------------------------------- */

static const Type *type_of_rest(const ToCps *c, const Type *result) {
  return type_fn(c->p->types, 0, NULL, 1, &result, c->at->answer);
}

static Var *new_var(const ToCps *c, const char *name, Span span,
                    const Type *type) {
  Var *var = var_new(c->arena, name_of(c->p->names, name), span, NULL);
  if (!var) return NULL;
  var->id = c->p->next_var_id++;
  var->type = type;
  return var;
}

/* A call of a converted function, with what is done after it. */
static const Expr *call_with(const ToCps *c, const Expr *call,
                             const Expr *after) {
  const Direct *to = called_by(c, call);
  size_t n = (size_t)call->count;
  const Expr **args = ARENA_ARRAY(c->arena, const Expr *, n + 1);
  Expr *callee = expr_new(c->arena, EX_GLOBAL, call->call.callee->span);
  if (!args || !callee || !after) return NULL;
  memcpy(args, call->args, n * sizeof *args);
  args[n] = after;
  callee->g.name = to->cps->name;
  callee->g.global = to->cps;
  callee->type = to->cps->type;
  return cps_call(c->arena, call->span, callee, (int)n + 1, args,
                  c->at->answer);
}

/* fn (x) { rest }, where `rest` follows the binding of x to such a value. */
static const Expr *after_binding(const ToCps *c, const Binding *b,
                                 const Type *type, const Expr *rest) {
  if (!rest) return NULL;
  Var *var = b->kind == BIND_ITEM ? NULL : b->var;
  if (var && var->type == type && !var->param_count) {
    var->value = NULL;
    return cps_fn(c->p, c->arena, var, rest);
  }
  Var *param = new_var(c, "v", b->span, type);
  if (!param) return NULL;
  Binding let = *b;
  let.value = expr_use(c->arena, b->span, param);
  return cps_fn(c->p, c->arena, param,
                var ? expr_after(c->arena, rest->span, 1, &let, rest) : rest);
}

static const Expr *converted(ToCps *c, const Expr *e, Var *k);

/* From the last binding to the first; `after` is what follows the bindings
 * before `end`. */
static const Expr *converted_block(ToCps *c, const Block *block, Var *k) {
  const Expr *after = converted(c, block->result, k);
  Bindings lets;
  VEC_INIT(&lets, c->p->mem);
  size_t end = (size_t)block->count;
  for (size_t i = end; after && i-- > 0;) {
    const Binding *b = &block->bindings[i];
    if (!b->value || !ptrmap_has(&c->calls, b->value)) continue;
    const Direct *to = called_by(c, b->value);
    const Type *type = to ? to->fn->type->result : b->value->type;
    VEC_CLEAR(&lets);
    for (size_t n = i + 1; n < end; n++) VEC_PUSH(&lets, block->bindings[n]);
    const Expr *rest = after_binding(
        c, b, type,
        expr_after(c->arena, after->span, lets.len, lets.data, after));
    end = i;
    after = NULL;
    if (to) {
      after = call_with(c, b->value, rest);
    } else if (rest) {
      Var *join = new_var(c, "join", b->span, rest->type);
      Binding let = binding_let(b->span, join, rest);
      after = join ? converted(c, b->value, join) : NULL;
      if (after) after = expr_after(c->arena, after->span, 1, &let, after);
    }
  }
  VEC_CLEAR(&lets);
  for (size_t n = 0; n < end; n++) VEC_PUSH(&lets, block->bindings[n]);
  if (after) after = expr_opened(after, &lets);
  if (after)
    after = expr_after(c->arena, after->span, lets.len, lets.data, after);
  VEC_DONE(&lets);
  return after;
}

typedef struct Converting {
  ToCps *c;
  const Expr *e;
  Var *k;
  const Expr *made;
} Converting;

static void run_converted(void *data) {
  Converting *call = data;
  call->made = converted(call->c, call->e, call->k);
}

static const Expr *converted_part(void *data, const Expr *e) {
  const Converting *call = data;
  return converted(call->c, e, call->k);
}

/* What hands the value of `e` to `k`. */
static const Expr *converted(ToCps *c, const Expr *e, Var *k) {
  Converting call = {c, e, k, NULL};
  if (split_is_used_up(&c->stack)) {
    split_call(&c->stack, run_converted, &call);
    return call.made;
  }
  const Expr *rest = expr_use(c->arena, e->span, k);
  if (e->kind == EX_BLOCK) return converted_block(c, e->block, k);
  if (ptrmap_has(&c->calls, e)) {
    if (called_by(c, e)) return call_with(c, e, rest);
    if (e->kind == EX_IF || e->kind == EX_MATCH)
      return cps_branches(c->arena, e, converted_part, &call, c->at->answer);
  }
  const Expr **args = arena_copy(c->arena, &e, sizeof *args);
  if (!args || !rest) return NULL;
  return cps_call(c->arena, e->span, rest, 1, args, c->at->answer);
}

/* Notes the expressions in which a converted function is called. */
static void note_calls(ToCps *c, const Expr *body) {
  VEC(bool) calls;
  VEC_INIT(&calls, c->p->mem);
  ExprWalk w;
  expr_walk_start(&w, c->p->mem, WALK_ENTER | WALK_LEAVE, body);
  while (expr_walk_next(&w)) {
    if (w.event == WALK_ENTER) {
      const Direct *to = called_by(c, w.at);
      VEC_PUSH(&calls, to && to->cps);
      continue;
    }
    if (!VEC_POP(&calls)) continue;
    ptrmap_put(&c->calls, w.at, (void *)w.at);
    if (calls.len && !is_apart(&w)) VEC_LAST(&calls) = true;
  }
  expr_walk_end(&w);
  VEC_DONE(&calls);
}

/* The name of the type of answers, which no data type has. */
static const Name *answer_name(const ToCps *c) {
  Program *p = c->p;
  const Name *name = name_of(p->names, "R");
  for (int i = 1; scope_adt(&p->user, name) && !mem_exhausted(p->mem); i++)
    name = name_of(p->names, arena_printf(c->arena, "R%d", i));
  return name;
}

/* @f_cps[R], of the type of @f with what is done after it. */
static void declare(ToCps *c, Direct *d) {
  Program *p = c->p;
  const Type *own = d->fn->type;
  TypeVar *r = typevar_new(p->types, answer_name(c), d->fn->span, KIND_TYPE);
  if (!r) return;
  d->answer = type_var(p->types, r);
  c->at = d;
  VEC(const Type *) args;
  VEC_INIT(&args, p->mem);
  for (int i = 0; i < own->count; i++) VEC_PUSH(&args, own->args[i]);
  VEC_PUSH(&args, type_of_rest(c, own->result));
  const TypeVar *params[] = {r};
  const Type *type =
      type_fn(p->types, 1, params, (int)args.len, args.data, d->answer);
  VEC_DONE(&args);
  const char *like = arena_printf(c->arena, "%s_cps", d->global->name->text);
  d->cps = global_new(p, c->arena, like, d->fn->span, type);
}

/* The function as it was called becomes a call of the new one. */
static void define_wrapper(ToCps *c, const Direct *d) {
  int n = d->fn->fn->param_count;
  Span span = d->fn->span;
  const Expr **args = ARENA_ARRAY(c->arena, const Expr *, (size_t)n + 1);
  Var **params = ARENA_ARRAY(c->arena, Var *, (size_t)n + 1);
  Fn *fn = arena_copy(c->arena, d->fn->fn, sizeof *fn);
  Expr *whole = arena_copy(c->arena, d->fn, sizeof *whole);
  Expr *callee = expr_new(c->arena, EX_GLOBAL, span);
  if (!args || !params || !fn || !whole || !callee) return;
  for (int i = 0; i < n; i++) {
    params[i] = arena_copy(c->arena, d->fn->fn->params[i], sizeof **params);
    if (!params[i]) return;
    params[i]->id = c->p->next_var_id++;
    args[i] = expr_use(c->arena, span, params[i]);
  }
  Var *r = new_var(c, "r", span, d->fn->type->result);
  if (!r) return;
  args[n] = cps_fn(c->p, c->arena, r, expr_use(c->arena, span, r));
  callee->g.name = d->cps->name;
  callee->g.global = d->cps;
  callee->type = d->cps->type;
  fn->params = params;
  fn->body = cps_call(c->arena, span, callee, n + 1, args, r->type);
  whole->fn = fn;
  if (args[n] && fn->body) d->global->value = whole;
}

static void define(ToCps *c, Direct *d) {
  c->at = d;
  const Expr *normal = expr_normal_form(c->p, c->arena, d->fn);
  if (!normal) return;
  int n = d->fn->fn->param_count;
  Span span = d->fn->span;
  Var **params = ARENA_ARRAY(c->arena, Var *, (size_t)n + 1);
  Fn *fn = arena_copy(c->arena, normal->fn, sizeof *fn);
  Expr *whole = arena_copy(c->arena, normal, sizeof *whole);
  TypeParam *answer = ARENA_NEW(c->arena, TypeParam);
  Var *k = new_var(c, "k", span, type_of_rest(c, d->fn->type->result));
  if (!params || !fn || !whole || !answer || !k) return;
  note_calls(c, normal->fn->body);
  *answer = (TypeParam){d->answer->var->name, span, KIND_TYPE};
  for (int i = 0; i < n; i++) params[i] = normal->fn->params[i];
  params[n] = k;
  *fn = (Fn){.type_param_count = 1,
             .type_params = answer,
             .type_vars = d->cps->type->params,
             .param_count = n + 1,
             .params = params,
             .body = converted(c, normal->fn->body, k)};
  if (!fn->body) return;
  whole->fn = fn;
  whole->type = d->cps->type;
  d->cps->value = whole;
  VEC_PUSH(&c->made, global_item(d->cps));
  define_wrapper(c, d);
}

static void to_cps(ToCps *c, Unit *unit) {
  unit_each(c->p, unit, add_definitions, c);
  for (size_t i = 0; i < c->all.len; i++) find_calls(c, c->all.data[i]);
  find_converted(c);
  for (size_t i = 0; i < c->all.len; i++) {
    Direct *d = c->all.data[i];
    if (d->converts && pass_may_rewrite(c->p, d->fn->span)) declare(c, d);
  }
  if (mem_exhausted(c->p->mem)) return;
  for (size_t i = 0; i < c->all.len; i++)
    if (c->all.data[i]->cps) define(c, c->all.data[i]);
  unit_add_items(unit, c->made.len, c->made.data);
}

Pass pass_to_cps;

Unit *pass_to_cps(Program *p, Unit *unit) {
  ToCps c = {.p = p, .arena = &unit->arena};
  ptrmap_init(&c.of, p->mem);
  ptrmap_init(&c.calls, p->mem);
  VEC_INIT(&c.all, p->mem);
  VEC_INIT(&c.called, p->mem);
  VEC_INIT(&c.made, p->mem);
  split_start(&c.stack, p->mem);
  if ((unit = unit_with_lets(p, unit))) to_cps(&c, unit);
  split_end(&c.stack);
  VEC_DONE(&c.all);
  VEC_DONE(&c.called);
  VEC_DONE(&c.made);
  ptrmap_done(&c.of);
  ptrmap_done(&c.calls);
  return mem_exhausted(p->mem) ? NULL : unit;
}
