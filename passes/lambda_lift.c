/* LambdaLift: a `fn` inside a definition becomes a definition of its own, which
 * takes the variables that the `fn` mentions (Johnsson, "Lambda lifting:
 * transforming programs to recursive equations", 1985).
 *
 *   def @f(%n: int32) {
 *     let %go = fn (%i: int32) {
 *       if (%i < %n) { %go(%i + 1) } else { %i }
 *     };
 *     %go(0)
 *   }
 *   ==>
 *   def @f(%n: int32) { @lifted_go(%n, 0) }
 *   def @lifted_go(%n: int32, %i: int32) {
 *     if (%i < %n) { @lifted_go(%n, %i + 1) } else { %i }
 *   }
 *
 * A call of the variable that holds the function becomes a call of the
 * definition.  Where the function is a value, a `fn` that calls the definition
 * stands in its place, or the definition's name if there is nothing to take.
 * Making a function does nothing, and variables do not change, so a call can
 * take them as well as the `fn` could.
 *
 * A function that mentions another of these needs what that one needs: the
 * lists of variables are joined until nothing changes.  They are short
 * (TAKEN_MOST), so the pass is linear in the text.
 *
 * These stay where they are: functions in which a type mentions a type
 * parameter; functions that mention a graph variable which is
 * evaluated at its first use, a named dimension or a `%x` of the top level; and
 * those whose shapes the checker finds from the values of variables that they
 * mention (TVM's pass lifts only what is called by its own name). */
#include "passes/rewrite.h"

enum { TAKEN_MOST = 16, ROUNDS_MOST = 64 };

typedef struct Lifted {
  const Expr *fn;
  Var *var; /* the `let` that holds it; NULL: it has none */
  Global *global;
  bool stays;
  bool computes; /* a shape in it depends on a value */
  int count;
  const Var *taken[TAKEN_MOST];
} Lifted;

typedef struct Lift {
  Program *p;
  Arena *arena;
  PtrMap level;         /* Var -> how many functions are around it, and one */
  PtrMap of_fn, of_var; /* Expr, Var -> Lifted */
  VEC(Lifted *) open, all; /* functions around the node at hand; of all */
  VEC(Item) made;          /* definitions */
} Lift;

/* --- What the functions mention ----------------------------------------- */

static bool is_generic(const Expr *fn) {
  return fn->fn->type_param_count || !fn->type || fn->type->kind != TY_FN ||
         fn->type->param_count;
}

/* A `fn` that only hands its parameters on to a definition: there is nothing to
 * lift. */
static bool is_stub(const Expr *fn) {
  const Expr *call = fn->fn->body;
  if (call->kind != EX_CALL || call->call.callee->kind != EX_GLOBAL ||
      call->count < fn->fn->param_count)
    return false;
  for (int i = 0; i < call->count; i++)
    if (call->args[i]->kind != EX_VAR) return false;
  for (int i = 1; i <= fn->fn->param_count; i++)
    if (call->args[call->count - i]->var !=
        fn->fn->params[fn->fn->param_count - i])
      return false;
  return true;
}

static void open_fn(Lift *l, const Expr *fn, bool root) {
  Lifted *made = ARENA_NEW(l->arena, Lifted);
  if (!made) return;
  *made = (Lifted){.fn = fn};
  made->stays = root || is_generic(fn) || fn->fn->attr_count || is_stub(fn);
  VEC_PUSH(&l->open, made);
  VEC_PUSH(&l->all, made);
  ptrmap_put(&l->of_fn, fn, made);
}

/* All functions around the node stay. */
static void keep_open(Lift *l) {
  for (size_t i = l->open.len; i-- > 0;) l->open.data[i]->stays = true;
}

static bool takes(const Lifted *f, const Var *var) {
  for (int i = 0; i < f->count; i++)
    if (f->taken[i] == var) return true;
  return false;
}

static bool take(Lifted *f, const Var *var) {
  if (takes(f, var)) return true;
  if (f->count == TAKEN_MOST) return false;
  f->taken[f->count++] = var;
  return true;
}

/* The variable is free in each function that was opened after it was bound.
 * Where one of them has it, those around have, too. */
static void mention(Lift *l, const Var *var) {
  size_t level = (size_t)(uintptr_t)ptrmap_get(&l->level, var);
  bool shared = var->lazy || var->is_dim || var->param_count || !var->type ||
                (var->type->kind == TY_FN && var->type->param_count);
  for (size_t i = l->open.len; i > 0 && i >= level; i--) {
    Lifted *f = l->open.data[i - 1];
    if (takes(f, var)) return;
    if (shared || !take(f, var)) f->stays = true;
  }
}

static void look_at(Lift *l, const Expr *e) {
  if (e->kind == EX_VAR) mention(l, e->var);
  /* The checker knows which branch is taken. */
  bool decided = e->kind == EX_IF &&
                 (e->args[1]->type != e->type || e->args[2]->type != e->type);
  bool local = e->kind == EX_GLOBAL && e->g.global->kind == GLOBAL_LOCAL;
  bool named = e->type && e->type->has_var;
  if (e->kind == EX_DIM || local || named) keep_open(l);
  if (decided || expr_computes_shape(e))
    for (size_t i = 0; i < l->open.len; i++) l->open.data[i]->computes = true;
}

static void look(Lift *l, const Expr *e) {
  ExprWalk w;
  expr_walk_start(&w, l->p->mem, WALK_ENTER | WALK_LEAVE | WALK_BIND, e);
  while (expr_walk_next(&w)) {
    bool fn = w.event != WALK_BIND && w.at->kind == EX_FN;
    if (w.event == WALK_BIND) {
      ptrmap_put(&l->level, w.var, (void *)(l->open.len + 1));
      if (w.var->type && w.var->type->has_var) keep_open(l);
    }
    if (w.event == WALK_ENTER && fn) open_fn(l, w.at, w.role == ROLE_ROOT);
    if (w.event == WALK_ENTER) look_at(l, w.at);
    if (w.event != WALK_LEAVE || !fn || !l->open.len) continue;
    Lifted *f = VEC_POP(&l->open);
    const Binding *b = expr_walk_binding(&w);
    if (!b || b->kind == BIND_ITEM || b->sugar) continue;
    f->var = b->var;
    f->stays |= b->var->param_count > 0 || b->var->type != w.at->type;
    ptrmap_put(&l->of_var, b->var, f);
  }
  expr_walk_end(&w);
}

/* The function that the variable holds, if that is lifted. */
static const Lifted *held(const Lift *l, const Var *var) {
  const Lifted *f = ptrmap_get(&l->of_var, var);
  return f && !f->stays ? f : NULL;
}

/* What a mentioned function needs is needed; true when that was new.  The
 * variables of lifted functions stand for themselves: each function lists those
 * that it mentions itself. */
static bool join(Lift *l, Lifted *f) {
  int before = f->count;
  for (int i = 0; i < f->count && !f->stays; i++) {
    const Lifted *other = held(l, f->taken[i]);
    for (int k = 0; other && other != f && k < other->count; k++)
      if (!held(l, other->taken[k]) && !take(f, other->taken[k]))
        f->stays = true;
  }
  return f->count > before || f->stays;
}

/* One that stays is mentioned as any variable is.  Most functions mention those
 * above them, so one round does; where many rounds do not, all stay. */
static void join_all(Lift *l) {
  bool changed = true;
  for (int round = 0; changed && round < ROUNDS_MOST; round++) {
    changed = false;
    for (size_t i = 0; i < l->all.len; i++) {
      Lifted *f = l->all.data[i];
      if (!f->stays) changed |= join(l, f);
    }
  }
  for (size_t i = 0; changed && i < l->all.len; i++)
    l->all.data[i]->stays = true;
}

/* --- Definitions -------------------------------------------------------- */

/* Variables that hold lifted functions are not taken. */
static int taken_count(const Lift *l, const Lifted *f) {
  int n = 0;
  for (int i = 0; i < f->count; i++) n += !held(l, f->taken[i]);
  return n;
}

/* fn (taken..., params...) -> result */
static const Type *type_of(Lift *l, const Lifted *f) {
  const Type *own = f->fn->type;
  VEC(const Type *) args;
  VEC_INIT(&args, l->p->mem);
  for (int i = 0; i < f->count; i++)
    if (!held(l, f->taken[i])) VEC_PUSH(&args, f->taken[i]->type);
  for (int i = 0; i < own->count; i++) VEC_PUSH(&args, own->args[i]);
  const Type *made =
      type_fn(l->p->types, 0, NULL, (int)args.len, args.data, own->result);
  VEC_DONE(&args);
  return made;
}

static void declare(Lift *l, Lifted *f) {
  const char *like = f->var ? f->var->name->text : "fn";
  like = arena_printf(l->arena, "lifted_%s", like);
  f->global = global_new(l->p, l->arena, like, f->fn->span, type_of(l, f));
}

static void define(Lift *l, const Lifted *f, const Expr *made) {
  const Fn *own = made->fn;
  int n = taken_count(l, f), at = 0;
  Var **params =
      ARENA_ARRAY(l->arena, Var *, (size_t)(n + own->param_count) + 1);
  Expr *whole = arena_copy(l->arena, made, sizeof *made);
  Fn *fn = arena_copy(l->arena, own, sizeof *own);
  if (!params || !whole || !fn) return;
  for (int i = 0; i < f->count; i++)
    if (!held(l, f->taken[i])) params[at++] = (Var *)f->taken[i];
  for (int i = 0; i < own->param_count; i++) params[at++] = own->params[i];
  fn->params = params;
  fn->param_count = at;
  whole->fn = fn;
  whole->type = f->global->type;
  f->global->value = whole;
  VEC_PUSH(&l->made, global_item(f->global));
}

/* --- Calls and values --------------------------------------------------- */

static const Expr *name_of_lifted(const Lift *l, const Lifted *f, Span span) {
  Expr *e = expr_new(l->arena, EX_GLOBAL, span);
  e->g.name = f->global->name;
  e->g.global = f->global;
  e->type = f->global->type;
  return e;
}

static const Expr *call_lifted(const Lift *l, const Lifted *f, Span span,
                               int count, const Expr *const *args) {
  const Expr **all =
      ARENA_ARRAY(l->arena, const Expr *, (size_t)(f->count + count) + 1);
  int n = 0;
  if (!all) return NULL;
  for (int i = 0; i < f->count; i++)
    if (!held(l, f->taken[i]))
      all[n++] = expr_use(l->arena, span, (Var *)f->taken[i]);
  for (int i = 0; i < count; i++) all[n++] = args[i];
  Expr *call = expr_call(l->arena, span, name_of_lifted(l, f, span), n, all);
  call->type = f->fn->type->result;
  return call;
}

/* The function as a value. */
static const Expr *value_of(const Lift *l, const Lifted *f, Span span) {
  if (taken_count(l, f) == 0) return name_of_lifted(l, f, span);
  const Fn *own = f->fn->fn;
  int n = own->param_count;
  Var **params = ARENA_ARRAY(l->arena, Var *, (size_t)n + 1);
  const Expr **args = ARENA_ARRAY(l->arena, const Expr *, (size_t)n + 1);
  Fn *fn = ARENA_NEW(l->arena, Fn);
  if (!params || !args || !fn) return f->fn;
  for (int i = 0; i < n; i++) {
    params[i] = arena_copy(l->arena, own->params[i], sizeof **params);
    if (!params[i]) return f->fn;
    params[i]->id = l->p->next_var_id++;
    args[i] = expr_use(l->arena, span, params[i]);
  }
  *fn = (Fn){.param_count = n, .params = params};
  fn->body = call_lifted(l, f, span, n, args);
  Expr *made = expr_new(l->arena, EX_FN, span);
  made->fn = fn;
  made->type = f->fn->type;
  return fn->body ? made : f->fn;
}

/* Its bindings of lifted functions go. */
static void shorten_block(const Lift *l, ExprMap *m) {
  const Block *block = m->made->block;
  Binding *kept = ARENA_ARRAY(l->arena, Binding, (size_t)block->count + 1);
  int n = 0;
  bool first_went = false; /* of the group at hand */
  for (int i = 0; kept && i < block->count; i++) {
    const Binding *b = &block->bindings[i];
    const Lifted *f = b->kind == BIND_ITEM ? NULL : held(l, b->var);
    if (b->kind != BIND_AND) first_went = false;
    if (f) {
      first_went |= b->kind != BIND_AND;
      continue;
    }
    kept[n] = *b;
    if (b->kind == BIND_AND && first_went) kept[n].kind = BIND_LET;
    if (b->kind == BIND_AND) first_went = false;
    n++;
  }
  if (kept && n < block->count) expr_map_put_block(m, n, kept, block->result);
}

static void leave(Lift *l, ExprMap *m) {
  const ExprWalk *w = &m->walk;
  const Lifted *f = NULL;
  switch (m->made->kind) {
    case EX_BLOCK: shorten_block(l, m); break;
    case EX_FN:
      f = ptrmap_get(&l->of_fn, w->at);
      if (!f || f->stays || !f->global) break;
      define(l, f, m->made);
      if (!f->var) expr_map_put(m, value_of(l, f, w->at->span));
      break;
    case EX_VAR:
      if (w->role == ROLE_CALLEE || !(f = held(l, m->made->var))) break;
      expr_map_put(m, value_of(l, f, w->at->span));
      break;
    case EX_CALL: {
      const Expr *callee = m->made->call.callee, *call;
      f = callee->kind == EX_VAR ? held(l, callee->var) : NULL;
      call = f ? call_lifted(l, f, w->at->span, m->made->count, m->made->args)
               : NULL;
      if (call) expr_map_put(m, call);
      break;
    }
    default: break;
  }
}

static const Expr *lift(void *data, Program *p, Arena *arena, const Expr *e) {
  Lift *l = data;
  l->arena = arena;
  VEC_CLEAR(&l->all);
  VEC_CLEAR(&l->open);
  look(l, e);
  for (size_t i = 0; i < l->all.len; i++) {
    Lifted *f = l->all.data[i];
    f->stays |= f->computes && f->count;
    f->stays = f->stays || !pass_may_rewrite(p, f->fn->span);
  }
  join_all(l);
  for (size_t i = 0; i < l->all.len; i++)
    if (!l->all.data[i]->stays) declare(l, l->all.data[i]);
  if (mem_exhausted(p->mem)) return NULL;
  ExprMap m;
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m))
    if (m.walk.event == WALK_LEAVE) leave(l, &m);
  return expr_map_end(&m);
}

Pass pass_lambda_lift;

Unit *pass_lambda_lift(Program *p, Unit *unit) {
  Lift l = {.p = p};
  PtrMap *const maps[] = {&l.level, &l.of_fn, &l.of_var};
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
    ptrmap_init(maps[i], p->mem);
  VEC_INIT(&l.open, p->mem);
  VEC_INIT(&l.all, p->mem);
  VEC_INIT(&l.made, p->mem);
  unit = unit_rewrite_with(p, unit, lift, &l);
  if (unit) unit_add_items(unit, l.made.len, l.made.data);
  VEC_DONE(&l.open);
  VEC_DONE(&l.all);
  VEC_DONE(&l.made);
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) ptrmap_done(maps[i]);
  return unit;
}
