/* Copies of expressions, and calls with the function's body in their place; see
 * rewrite.h.
 *
 * A variable is a pointer, so a body that stands at two places needs variables
 * of its own at each.  What the copy mentions and does not bind stays the same
 * variable, or becomes what the caller says. */
#include "ops/ops.h"
#include "passes/rewrite.h"
#include "types/types.h"

/* --- Copies ------------------------------------------------------------- */

bool expr_is_small(const Program *p, const Expr *e, int64_t most) {
  ExprWalk w;
  bool fits = true;
  expr_walk_start(&w, p->mem, WALK_ENTER | WALK_BIND, e);
  while (fits && expr_walk_next(&w)) {
    if (w.event == WALK_ENTER) fits = most-- > 0;
    const Var *var = w.event == WALK_BIND   ? w.var
                     : w.at->kind == EX_VAR ? w.at->var
                                            : NULL;
    if (var && var->lazy) fits = false;
  }
  return expr_walk_end(&w) && fits;
}

bool expr_mentions(const Program *p, const Expr *e, const Var *var) {
  ExprWalk w;
  bool found = false;
  expr_walk_start(&w, p->mem, WALK_ENTER, e);
  while (!found && expr_walk_next(&w))
    found = w.at->kind == EX_VAR && w.at->var == var;
  expr_walk_end(&w);
  return found;
}

void expr_count_uses(const Program *p, const Expr *e, PtrMap *uses) {
  ExprWalk w;
  expr_walk_start(&w, p->mem, WALK_ENTER, e);
  while (expr_walk_next(&w)) {
    if (w.at->kind != EX_VAR) continue;
    uintptr_t n = (uintptr_t)ptrmap_get(uses, w.at->var);
    ptrmap_put(uses, w.at->var, (void *)(n + 1));
  }
  expr_walk_end(&w);
}

int64_t expr_size(const Program *p, const Expr *e) {
  ExprWalk w;
  int64_t n = 0;
  expr_walk_start(&w, p->mem, WALK_ENTER, e);
  while (expr_walk_next(&w)) n++;
  return expr_walk_end(&w) ? n : EXPR_SIZE_MOST;
}

/* What stands in the place of a use of a variable: the copy's own, or what the
 * caller says. */
typedef struct Copying {
  Program *p;
  Arena *arena;
  PtrMap now; /* Var -> Expr */
} Copying;

static void copy_start(Copying *c, Program *p, Arena *arena) {
  *c = (Copying){.p = p, .arena = arena};
  ptrmap_init(&c->now, p->mem);
}

static void copy_end(Copying *c) { ptrmap_done(&c->now); }

/* The new variable, whose uses stand for those of the old one. */
static Var *copy_var(Copying *c, const Var *var) {
  Var *made = arena_copy(c->arena, var, sizeof *var);
  if (!made) return (Var *)var;
  made->id = c->p->next_var_id++;
  made->value = NULL;
  ptrmap_put(&c->now, var, (void *)expr_use(c->arena, var->span, made));
  return made;
}

/* The copy of a use keeps the type arguments. */
static void copy_use(Copying *c, ExprMap *m) {
  const Expr *now = ptrmap_get(&c->now, m->walk.at->var);
  if (!now) return;
  if (now->kind != EX_VAR) {
    expr_map_put(m, now);
    return;
  }
  Expr *use = expr_map_own(m);
  use->var = now->var;
}

/* The binder of a pattern's later alternative is that of the first.  Names of
 * dimensions are written as the type parameters that they are. */
static void copy_binder(Copying *c, ExprMap *m) {
  Var *var = m->walk.var;
  if (!var || var->is_dim) return;
  const Expr *now = ptrmap_get(&c->now, var);
  expr_map_bind(m, now ? now->var : copy_var(c, var));
}

/* The variable of a `let` knows its value, which is bound after it. */
static void note_values(const Expr *block) {
  for (int i = 0; i < block->block->count; i++) {
    const Binding *b = &block->block->bindings[i];
    if (b->kind == BIND_LET && !b->var->is_dim && !b->var->value)
      b->var->value = b->value;
  }
}

/* NULL: out of memory. */
static const Expr *copy_expr(Copying *c, const Expr *e) {
  ExprMap m;
  expr_map_start(&m, c->p->mem, c->arena, e);
  while (expr_map_next(&m)) {
    if (m.walk.event == WALK_BIND) copy_binder(c, &m);
    if (m.walk.event != WALK_LEAVE) continue;
    if (m.walk.at->kind == EX_VAR) copy_use(c, &m);
    if (m.made->kind == EX_BLOCK) note_values(m.made);
  }
  return expr_map_end(&m);
}

/* --- Calls -------------------------------------------------------------- */

bool expr_is_simple(const Expr *e) {
  switch (e->kind) {
    case EX_VAR: return !e->var->lazy;
    case EX_CONST: return e->constant->rank == 0;
    case EX_GLOBAL: return e->g.global->kind != GLOBAL_PARAM;
    default: return false;
  }
}

/* Are all dimensions in it told?  False where that is not seen at once. */
static bool is_settled(const Type *t) {
  switch (t->kind) {
    case TY_TENSOR:
      for (int i = 0; i < t->rank; i++)
        if (!dim_is_number(t->dims[i])) return false;
      return !t->any_rank;
    case TY_TUPLE:
      for (int i = 0; i < t->count; i++)
        if (t->args[i]->kind != TY_TENSOR || !is_settled(t->args[i]))
          return false;
      return true;
    case TY_ADT: return t->count == 0;
    default: return false;
  }
}

bool expr_computes_shape(const Expr *e) {
  if (!expr_operator(e) || is_settled(e->type)) return false;
  for (int i = 0; i < e->count; i++) {
    const Type *t = e->args[i]->type;
    if (t->kind != TY_TENSOR || (t->rank <= 1 && dtype_is_int((DType)t->dtype)))
      return true;
  }
  return false;
}

static void note_check(void *data, const Type *actual, const Type *expected,
                       bool out) {
  bool *checks = data;
  (void)out;
  *checks |= types_need_check(actual, expected);
}

bool expr_joins_types(const Expr *e) {
  bool joins = false;
  if (e->kind == EX_IF)
    joins = e->args[1]->type != e->type || e->args[2]->type != e->type;
  for (int i = 0; e->kind == EX_MATCH && i < e->match->arm_count; i++)
    joins |= e->match->arms[i].body->type != e->type;
  return joins && !is_settled(e->type);
}

/* Is each dimension in the body found in the same way whatever the arguments
 * are?  What the run would compare, or compute from numbers that it is given,
 * the checker does where it knows them, and refuses a program whose run only
 * fails. */
static bool is_typed_alone(const Program *p, const Expr *body) {
  ExprWalk w;
  bool checks = false;
  expr_walk_start(&w, p->mem, WALK_ENTER, body);
  while (!checks && expr_walk_next(&w)) {
    types_crossings(w.at, note_check, &checks);
    checks |= expr_joins_types(w.at) || expr_computes_shape(w.at);
  }
  return expr_walk_end(&w) && !checks;
}

bool call_is_plain(const Program *p, const Expr *call, const Expr *fn) {
  if (fn->kind != EX_FN || fn->type->kind != TY_FN) return false;
  if (p->loose || fn->fn->type_param_count || fn->fn->attr_count ||
      fn->type->param_count || fn->fn->param_count != call->count ||
      call->call.attr_count || call->type != fn->type->result ||
      call->call.callee->targ_count || types_use_binds(p, call->call.callee))
    return false;
  for (int i = 0; i < call->count; i++) {
    const Type *param = fn->fn->params[i]->type;
    if ((param->kind == TY_FN && param->param_count) ||
        types_need_check(call->args[i]->type, param))
      return false;
  }
  return !types_need_check(fn->fn->body->type, call->type) &&
         is_typed_alone(p, fn->fn->body);
}

/* Is it `fail`, which has any type, or does its type have parts that nothing in
 * it tells, as `None` and calls without arguments may? */
static bool is_of_any_type(const ExprWalk *w) {
  const Expr *e = w->at;
  const OpInfo *op = expr_operator(e);
  if (op && op->special == SPECIAL_FAIL) return true;
  if (e->kind == EX_CTOR) return e->targ_count && !e->ctor->field_count;
  return w->role == ROLE_CALLEE && e->targ_count && !w->parent->count;
}

/* Values of `let`s and functions are written with their types. */
static bool leaves_type_open(const Program *p, const Expr *e) {
  ExprWalk w;
  bool open = false;
  expr_walk_start(&w, p->mem, WALK_ENTER, e);
  while (!open && expr_walk_next(&w)) {
    bool told = w.at->kind == EX_FN || expr_walk_is_value(&w, BIND_LET);
    if (told) expr_walk_skip(&w);
    else open = is_of_any_type(&w);
  }
  expr_walk_end(&w);
  return open;
}

const Expr *expr_of_type(Program *p, Arena *arena, const Expr *e,
                         const Expr *place) {
  if (e->type == place->type && !leaves_type_open(p, e)) return e;
  Binding *binding = ARENA_NEW(arena, Binding);
  Var *var = var_for(p, arena, place);
  if (!binding || !var) return e;
  *binding = binding_let(e->span, var, e);
  return expr_block(arena, e->span, 1, binding, expr_use(arena, e->span, var));
}

const Expr *call_inlined(Program *p, Arena *arena, const Expr *call,
                         const Expr *fn) {
  Copying c;
  copy_start(&c, p, arena);
  Bindings lets;
  VEC_INIT(&lets, p->mem);
  for (int i = 0; i < call->count; i++) {
    const Var *param = fn->fn->params[i];
    const Expr *arg = call->args[i];
    if (expr_is_simple(arg) && arg->type == param->type) {
      ptrmap_put(&c.now, param, (void *)arg);
      continue;
    }
    Var *var = copy_var(&c, param);
    var->value = arg;
    VEC_PUSH(&lets, binding_let(arg->span, var, arg));
  }
  const Expr *body = copy_expr(&c, fn->fn->body);
  copy_end(&c);
  bool crosses = body && (body->type != call->type || !is_settled(call->type) ||
                          leaves_type_open(p, body));
  if (body) body = expr_opened(body, &lets);
  if (crosses) {
    Var *var = var_for(p, arena, call);
    VEC_PUSH(&lets, binding_let(body->span, var, body));
    body = expr_use(arena, call->span, var);
  }
  body = expr_after(arena, call->span, lets.len, lets.data, body);
  VEC_DONE(&lets);
  return body;
}

/* --- Which definitions are recursive ------------------------------------ */

/* Tarjan's search for strongly connected components, as types/scc.c, over the
 * mentions in bodies. */
typedef struct Node {
  const Global *global;
  size_t first, end; /* its mentions */
  size_t low;
  bool on_stack, itself;
} Node;

typedef struct Calls {
  Program *p;
  PtrMap *out;
  PtrMap index; /* Global -> its node's index + 1 */
  VEC(Node) nodes;
  VEC(const Global *) mentions;
  VEC(size_t) stack, under_way;
} Calls;

static void enter(Calls *c, const Global *g) {
  ExprWalk w;
  Node node = {.global = g, .first = c->mentions.len, .low = c->nodes.len};
  expr_walk_start(&w, c->p->mem, WALK_ENTER, g->value);
  while (expr_walk_next(&w)) {
    if (w.at->kind != EX_GLOBAL) continue;
    const Global *to = w.at->g.global;
    if (to == g) node.itself = true;
    else if (to->value && !to->library) VEC_PUSH(&c->mentions, to);
  }
  expr_walk_end(&w);
  node.end = c->mentions.len;
  node.on_stack = true;
  VEC_PUSH(&c->stack, c->nodes.len);
  VEC_PUSH(&c->under_way, c->nodes.len);
  VEC_PUSH(&c->nodes, node);
  ptrmap_put(&c->index, g, (void *)c->nodes.len);
}

/* A component of more than one is recursive. */
static void leave(Calls *c) {
  size_t at = VEC_POP(&c->under_way);
  Node *node = &c->nodes.data[at];
  if (c->under_way.len) {
    Node *above = &c->nodes.data[VEC_LAST(&c->under_way)];
    if (node->low < above->low) above->low = node->low;
  }
  if (node->low != at) return;
  bool recursive = node->itself || VEC_LAST(&c->stack) != at;
  const Global *root = node->global;
  for (size_t i = at + 1; i > at;) {
    i = VEC_POP(&c->stack);
    Node *member = &c->nodes.data[i];
    member->on_stack = false;
    if (recursive) ptrmap_put(c->out, member->global, (void *)root);
    if (i == at) break;
  }
}

static void step(Calls *c) {
  size_t at = VEC_LAST(&c->under_way);
  Node *node = &c->nodes.data[at];
  if (node->first == node->end) {
    leave(c);
    return;
  }
  const Global *to = c->mentions.data[node->first++];
  size_t met = (size_t)(uintptr_t)ptrmap_get(&c->index, to);
  if (!met) enter(c, to);
  else if (c->nodes.data[met - 1].on_stack && met - 1 < node->low)
    node->low = met - 1;
}

static void search_from(Calls *c, const Global *g) {
  if (!g || !g->value || ptrmap_has(&c->index, g)) return;
  enter(c, g);
  while (c->under_way.len && !mem_exhausted(c->p->mem)) step(c);
}

static void search_items(void *data, Unit *u) {
  Calls *c = data;
  for (int i = 0; i < u->item_count; i++)
    search_from(c, item_global(c->p, &u->items[i]));
}

void find_recursive(Program *p, Unit *unit, PtrMap *out) {
  Calls c = {.p = p, .out = out};
  ptrmap_init(&c.index, p->mem);
  VEC_INIT(&c.nodes, p->mem);
  VEC_INIT(&c.mentions, p->mem);
  VEC_INIT(&c.stack, p->mem);
  VEC_INIT(&c.under_way, p->mem);
  unit_each(p, unit, search_items, &c);
  ptrmap_done(&c.index);
  VEC_DONE(&c.nodes);
  VEC_DONE(&c.mentions);
  VEC_DONE(&c.stack);
  VEC_DONE(&c.under_way);
}
