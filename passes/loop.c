/* Recursions, as the passes on loops see them (loop.h). */
#include "passes/loop.h"

#include "types/types.h"

enum { NESTED_MOST = 8 };

/* --- Which functions are loops -------------------------------------------- */

/* The name of the function, used. */
static bool is_name(const Loop *loop, const Expr *e) {
  if (loop->var) return e->kind == EX_VAR && e->var == loop->var;
  if (e->kind != EX_GLOBAL || !e->g.global->value) return false;
  const Expr *value = e->g.global->value;
  return value->kind == EX_FN && value->fn->param_count > 0 &&
         value->fn->params[0] == loop->fn->params[0];
}

bool loop_is_call(const Loop *loop, const Expr *e) {
  return e->kind == EX_CALL && is_name(loop, e->call.callee);
}

bool loop_is_fixed(const Loop *loop, const Expr *e) {
  if (e->kind == EX_CONST) return true;
  if (e->kind == EX_GLOBAL) return e->type->kind == TY_TENSOR;
  return e->kind == EX_VAR && !e->var->lazy && e->var != loop->var &&
         !ptrmap_has(&loop->inside, e->var);
}

bool loop_passes_over(const ExprWalk *w) {
  switch (w->role) {
    case ROLE_BODY:
    case ROLE_ARM:
    case ROLE_GUARD: return true;
    case ROLE_ARG: return w->parent->kind == EX_IF && w->index > 0;
    case ROLE_VALUE: {
      const Var *var = expr_walk_binding(w)->var;
      return var && var->lazy;
    }
    default: return false;
  }
}

static bool passes_on(const Loop *loop, const Expr *call, int i) {
  const Expr *arg = call->args[i];
  return arg->kind == EX_VAR && arg->var == loop->fn->params[i];
}

/* Every use of the name must be a call of it with all its arguments. */
static bool look(Loop *loop) {
  ExprWalk w;
  int uses = 0, calls = 0, count = loop->fn->param_count;
  for (int i = 0; i < count; i++) loop->fixed[i] = true;
  expr_walk_start(&w, loop->p->mem, WALK_ENTER | WALK_BIND, loop->fn->body);
  while (expr_walk_next(&w)) {
    if (w.event == WALK_BIND) {
      if (w.var) ptrmap_put(&loop->inside, w.var, loop);
      continue;
    }
    uses += is_name(loop, w.at);
    if (!loop_is_call(loop, w.at)) continue;
    calls += w.at->count == count && w.at->call.callee->targ_count == 0;
    for (int i = 0; i < count && i < w.at->count; i++)
      loop->fixed[i] &= passes_on(loop, w.at, i);
  }
  bool found = expr_walk_end(&w) && calls > 0 && uses == calls, moves = false;
  for (int i = 0; i < count; i++) {
    moves |= !loop->fixed[i];
    if (!loop->fixed[i]) ptrmap_put(&loop->inside, loop->fn->params[i], loop);
  }
  return found && moves;
}

static const Expr *rewrite_fn(Program *p, Arena *arena, const Expr *e,
                              const Var *var, LoopRewrite *rewrite) {
  Loop loop = {.p = p, .arena = arena, .whole = e, .fn = e->fn, .var = var};
  if (e->fn->type_param_count > 0 || e->fn->param_count == 0) return NULL;
  if (var && var->param_count > 0) return NULL;
  loop.fixed = ARENA_ARRAY(arena, bool, (size_t)e->fn->param_count);
  if (!loop.fixed) return NULL;
  ptrmap_init(&loop.inside, p->mem);
  const Expr *made = look(&loop) ? rewrite(&loop) : NULL;
  ptrmap_done(&loop.inside);
  return made;
}

/* Is it a function with a name of its own? */
static bool is_named(const ExprWalk *w) {
  if (w->at->kind != EX_FN) return false;
  if (w->role == ROLE_ROOT) return true;
  const Binding *b = expr_walk_binding(w);
  return b && block_is_let(w->parent->block, b);
}

const Expr *loops_rewrite(Program *p, Arena *arena, const Expr *e,
                          LoopRewrite *rewrite) {
  ExprMap m;
  int depth = 0;
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m)) {
    const ExprWalk *w = &m.walk;
    if (w->event != WALK_ENTER && w->event != WALK_LEAVE) continue;
    if (!is_named(w)) continue;
    depth += w->event == WALK_ENTER ? 1 : -1;
    if (w->event == WALK_ENTER || depth >= NESTED_MOST) continue;
    const Binding *b = expr_walk_binding(w);
    const Expr *made = rewrite_fn(p, arena, m.made, b ? b->var : NULL, rewrite);
    if (made) expr_map_put(&m, made);
  }
  return expr_map_end(&m);
}

/* --- A function around a loop --------------------------------------------- */

/* The parameters of the loop: those that are not fixed, and more. */
static int loop_params(const Around *a, Var **out) {
  const Loop *loop = a->loop;
  int n = 0;
  for (int i = 0; i < loop->fn->param_count; i++)
    if (!loop->fixed[i]) out[n++] = loop->fn->params[i];
  for (int i = 0; i < a->count; i++) out[n++] = a->more[i];
  return n;
}

static const Type *loop_type(const Around *a) {
  Loop *loop = a->loop;
  size_t most = (size_t)(loop->fn->param_count + a->count);
  Var **params = ARENA_ARRAY(loop->arena, Var *, most);
  const Type **args = ARENA_ARRAY(loop->arena, const Type *, most);
  if (!params || !args) return NULL;
  int n = loop_params(a, params);
  for (int i = 0; i < n; i++) args[i] = params[i]->type;
  return type_fn(loop->p->types, 0, NULL, n, args, loop->whole->type->result);
}

bool around_start(Around *a, Loop *loop, int count, Var *const *more) {
  Arena *arena = loop->arena;
  int n = loop->fn->param_count;
  *a = (Around){.loop = loop, .count = count, .more = more};
  a->outer = ARENA_ARRAY(arena, Var *, (size_t)n);
  a->name =
      var_new(arena, name_of(loop->p->names, "loop"), loop->whole->span, NULL);
  if (!a->outer || !a->name) return false;
  for (int i = 0; i < n; i++) {
    a->outer[i] = loop->fn->params[i];
    if (loop->fixed[i]) continue;
    a->outer[i] = arena_copy(arena, loop->fn->params[i], sizeof(Var));
    if (!a->outer[i]) return false;
    a->outer[i]->id = loop->p->next_var_id++;
  }
  a->name->id = loop->p->next_var_id++;
  a->name->type = loop_type(a);
  a->name->effects = loop->fn->effects | EFFECT_DIVERGE;
  return a->name->type != NULL;
}

/* A call of the loop; `args` has an argument for each parameter of the function
 * around it. */
static const Expr *call_loop(const Around *a, Span span,
                             const Expr *const *args, const Expr *const *more) {
  const Loop *loop = a->loop;
  int n = 0, count = loop->fn->param_count;
  const Expr **all =
      ARENA_ARRAY(loop->arena, const Expr *, (size_t)(count + a->count));
  if (!all) return NULL;
  for (int i = 0; i < count; i++)
    if (!loop->fixed[i]) all[n++] = args[i];
  for (int i = 0; i < a->count; i++) all[n++] = more[i];
  Expr *call = expr_call(loop->arena, span,
                         expr_use(loop->arena, span, a->name), n, all);
  call->type = loop->whole->type->result;
  return call;
}

const Expr *around_next(const Around *a, const Expr *call,
                        const Expr *const *more) {
  return call_loop(a, call->span, call->args, more);
}

static const Expr *call_with(const Around *a, Span span, Var *const *vars,
                             const Expr *const *more) {
  const Loop *loop = a->loop;
  int count = loop->fn->param_count;
  const Expr **args = ARENA_ARRAY(loop->arena, const Expr *, (size_t)count);
  if (!args) return NULL;
  for (int i = 0; i < count; i++)
    args[i] = expr_use(loop->arena, span, vars[i]);
  return call_loop(a, span, args, more);
}

const Expr *around_again(const Around *a, Span span, const Expr *const *more) {
  return call_with(a, span, a->loop->fn->params, more);
}

const Expr *around_start_of(const Around *a, int param) {
  return expr_use(a->loop->arena, a->loop->whole->span, a->outer[param]);
}

const Expr *around_end(const Around *a, int count, const Binding *before,
                       const Expr *body, const Expr *const *first) {
  const Loop *loop = a->loop;
  Arena *arena = loop->arena;
  Span span = loop->whole->span;
  Fn *inner = arena_copy(arena, loop->fn, sizeof *inner);
  Fn *outer = arena_copy(arena, loop->fn, sizeof *outer);
  Var **params =
      ARENA_ARRAY(arena, Var *, (size_t)(loop->fn->param_count + a->count));
  Expr *made = arena_copy(arena, loop->whole, sizeof *made);
  Binding *lets = ARENA_ARRAY(arena, Binding, (size_t)count + 1);
  if (!inner || !outer || !params || !made || !lets || !body) return NULL;
  inner->params = params;
  inner->param_count = loop_params(a, params);
  inner->effects |= EFFECT_DIVERGE;
  inner->attr_count = 0;
  inner->body = body;
  Expr *fn = expr_new(arena, EX_FN, span);
  fn->fn = inner;
  fn->type = a->name->type;
  for (int i = 0; i < count; i++) lets[i] = before[i];
  lets[count] = binding_let(span, a->name, fn);
  const Expr *call = call_with(a, span, a->outer, first);
  if (!call) return NULL;
  outer->params = a->outer;
  outer->body = expr_block(arena, span, count + 1, lets, call);
  made->fn = outer;
  return made;
}
