/* What rly opt --reduce tries of expressions: see opt_reduce.c.
 *
 *   nodes       each is replaced by the plainest value of its type, by a node
 *               within it or a parameter that has its type, and a block by
 *               itself without one of its bindings, whose value may go where
 *               its name is used
 *   wholes      what is evaluated for its own sake, a step or the body of a
 *               definition, becomes one of its parts, of whatever type
 *   parameters  of a definition go, with the arguments of its calls
 *
 * A variable that what is left does not bind any more becomes the plainest
 * value of its type. */
#include <string.h>

#include "repl/opt_reduce.h"

enum { PARTS_MAX = 24, LEVELS = 6, ELEMENTS_MAX = 1024 };

/* --- Plain values --------------------------------------------------------- */

static const Expr *plain(Reduce *r, const Type *t, int levels);

static const Expr *plain_tensor(Reduce *r, const Type *t) {
  Program *p = r->v.program->ir;
  int64_t shape[RANK_MAX], count = 1;
  for (int i = 0; i < t->rank; i++) {
    if (!dim_is_number(t->dims[i])) return NULL;
    shape[i] = dim_value(t->dims[i]);
    if (shape[i] > ELEMENTS_MAX || (count *= shape[i]) > ELEMENTS_MAX)
      return NULL;
  }
  Tensor *zeros = tensor_new(p->heap, (DType)t->dtype, t->rank, shape);
  if (!zeros) return NULL;
  memset(zeros->data, 0, (size_t)count * (size_t)dtype_size((DType)t->dtype));
  zeros = program_constant_take(p, zeros);
  return zeros ? expr_const(&r->v.unit->arena, SPAN_NONE, zeros) : NULL;
}

static bool plain_all(Reduce *r, int count, const Type *const *types,
                      int levels, const Expr **out) {
  for (int i = 0; out && i < count; i++)
    if (!(out[i] = plain(r, types[i], levels))) return false;
  return out;
}

static const Expr *plain_adt(Reduce *r, const Type *t, int levels) {
  Arena *arena = &r->v.unit->arena;
  const Adt *adt = t->adt;
  for (int i = 0; i < adt->ctor_count && !adt->is_extern; i++) {
    const Ctor *c = &adt->ctors[i];
    size_t count = (size_t)c->field_count;
    const Type **types = ARENA_ARRAY(arena, const Type *, count + 1);
    const Expr **fields = ARENA_ARRAY(arena, const Expr *, count + 1);
    for (int k = 0; types && k < c->field_count; k++)
      types[k] = type_substitute(r->v.program->ir->types, c->fields[k],
                                 adt->param_count, adt->params, t->args, NULL);
    if (!types || !plain_all(r, c->field_count, types, levels, fields))
      continue;
    Expr *ctor = expr_new(arena, EX_CTOR, SPAN_NONE);
    ctor->ctor = c;
    Expr *call = expr_call(arena, SPAN_NONE, ctor, c->field_count, fields);
    call->sugar = count ? SUGAR_NONE : SUGAR_CTOR;
    return call;
  }
  return NULL;
}

/* A plain value that nests at most so many levels deep, as do its parts. */
static const Expr *plain_within(Reduce *r, const Type *t, int levels) {
  Arena *arena = &r->v.unit->arena;
  Expr *e = NULL;
  if (t->kind == TY_TENSOR) {
    e = (Expr *)plain_tensor(r, t);
  } else if (t->kind == TY_ADT) {
    e = (Expr *)plain_adt(r, t, levels - 1);
  } else if (t->kind == TY_TUPLE || t->kind == TY_REF) {
    const Expr **args = ARENA_ARRAY(arena, const Expr *, (size_t)t->count + 1);
    if (!plain_all(r, t->count, t->args, levels - 1, args)) return NULL;
    e = expr_new(arena, t->kind == TY_REF ? EX_REF : EX_TUPLE, SPAN_NONE);
    e->count = t->count;
    e->args = args;
  }
  if (e) e->type = t;
  return e;
}

/* The plainest value of a type, which has no variables: it nests the fewest
 * levels deep, and where that leaves a choice it is made by the constructor
 * that is declared first.  NULL: there is none within so many levels. */
static const Expr *plain(Reduce *r, const Type *t, int levels) {
  const Expr *e = NULL;
  for (int i = 1; t && !e && i <= levels; i++) e = plain_within(r, t, i);
  return e;
}

/* --- Nodes ---------------------------------------------------------------- */

static bool is_name(const Expr *e) {
  return e->kind == EX_OP || e->kind == EX_GLOBAL || e->kind == EX_CTOR ||
         e->kind == EX_VAR;
}

/* Each expression of the program stands in a slot: the value of a definition,
 * or a step. */
static const Expr **slot_of(Reduce *r, int i, int *step) {
  const Item *item = &r->v.unit->items[i];
  Step *s = item_is_step(item) ? &r->v.unit->steps[(*step)++] : NULL;
  if (item->kind == ITEM_EXPR) return &s->expr;
  Global *g = s ? s->global : item_global(r->v.program->ir, item);
  return g && !g->scheme && g->value ? &g->value : NULL;
}

static void add_nodes(Mem *mem, const Expr *root, Exprs *out) {
  ExprWalk w;
  expr_walk_start(&w, mem, WALK_ENTER, root);
  while (expr_walk_next(&w))
    if (w.role != ROLE_CALLEE || !is_name(w.at)) VEC_PUSH(out, w.at);
  expr_walk_end(&w);
}

static void all_nodes(Reduce *r, Exprs *out) {
  int step = 0;
  VEC_CLEAR(out);
  for (int i = 0; i < r->v.unit->item_count; i++) {
    const Expr **slot = slot_of(r, i, &step);
    if (slot) add_nodes(r->text.mem, *slot, out);
  }
}

/* What stands for the expression of a slot. */
typedef const Expr *Change(Reduce *r, const void *data, const Expr *whole);

/* Changes all slots, prints, and takes that back.  The value of a `def` stays a
 * `fn`, as its text needs one. */
static bool try_change(Reduce *r, Change *change, const void *data) {
  Unit *u = r->v.unit;
  Exprs was;
  VEC_INIT(&was, r->text.mem);
  int step = 0;
  for (int i = 0; i < u->item_count; i++) {
    const Expr **slot = slot_of(r, i, &step);
    if (!slot) continue;
    VEC_PUSH(&was, *slot);
    const Expr *made = change(r, data, *slot);
    bool fits = made && (made->kind == EX_FN || u->items[i].kind != ITEM_DEF);
    if (fits) *slot = made;
  }
  reduce_print(r);
  step = 0;
  for (size_t i = 0, k = 0; i < (size_t)u->item_count && k < was.len; i++) {
    const Expr **slot = slot_of(r, (int)i, &step);
    if (slot) *slot = was.data[k++];
  }
  VEC_DONE(&was);
  return reduce_holds(r);
}

typedef struct Instead {
  const Expr *node, *by;
} Instead;

static const Expr *put_instead(Reduce *r, const void *data, const Expr *whole) {
  const Instead *instead = data;
  ExprMap m;
  expr_map_start(&m, r->text.mem, &r->v.unit->arena, whole);
  while (expr_map_next(&m))
    if (m.walk.event == WALK_ENTER && m.walk.at == instead->node)
      expr_map_put(&m, instead->by);
  return expr_map_end(&m);
}

static bool try_instead(Reduce *r, const Expr *node, const Expr *by) {
  return try_change(r, put_instead, &(Instead){node, by});
}

static void each_binder(Reduce *r, const Expr *e, PtrMap *vars, void *value) {
  ExprWalk w;
  expr_walk_start(&w, r->text.mem, WALK_BIND, e);
  while (expr_walk_next(&w))
    if (w.var) ptrmap_put(vars, w.var, value);
  expr_walk_end(&w);
}

/* The part of the node, to stand in its place: with plain values for variables
 * that the node binds outside of the part. */
static const Expr *part_alone(Reduce *r, const Expr *node, const Expr *part) {
  PtrMap gone; /* Var -> itself */
  ExprMap m;
  ptrmap_init(&gone, r->text.mem);
  each_binder(r, node, &gone, r);
  each_binder(r, part, &gone, NULL);
  expr_map_start(&m, r->text.mem, &r->v.unit->arena, part);
  while (expr_map_next(&m)) {
    if (m.walk.event != WALK_ENTER || m.walk.at->kind != EX_VAR ||
        !ptrmap_get(&gone, m.walk.at->var))
      continue;
    const Expr *by = plain(r, m.walk.at->type, LEVELS);
    if (by) expr_map_put(&m, by);
  }
  const Expr *made = expr_map_end(&m);
  ptrmap_done(&gone);
  return made ? made : part;
}

/* A block without binding `i`. */
static const Expr *without_binding(Reduce *r, const Expr *e, int i) {
  Arena *arena = &r->v.unit->arena;
  const Block *block = e->block;
  Binding *rest = ARENA_ARRAY(arena, Binding, (size_t)block->count);
  if (!rest || block->count == 1) return block->result;
  int n = 0;
  for (int k = 0; k < block->count; k++)
    if (k != i) rest[n++] = block->bindings[k];
  Expr *made = expr_block(arena, e->span, n, rest, block->result);
  made->sugar = e->sugar;
  return made;
}

/* A block in which the value of `let` i stands where its name is used. */
static const Expr *with_value(Reduce *r, const Expr *e, int i) {
  const Binding *b = &e->block->bindings[i];
  if (b->kind != BIND_LET || b->value->kind == EX_FN) return e;
  ExprMap m;
  expr_map_start(&m, r->text.mem, &r->v.unit->arena, without_binding(r, e, i));
  while (expr_map_next(&m))
    if (m.walk.event == WALK_ENTER && m.walk.at->kind == EX_VAR &&
        m.walk.at->var == b->var)
      expr_map_put(&m, b->value);
  const Expr *made = expr_map_end(&m);
  return made ? made : e;
}

static size_t nodes_in(Reduce *r, const Expr *e) {
  Exprs nodes;
  VEC_INIT(&nodes, r->text.mem);
  add_nodes(r->text.mem, e, &nodes);
  size_t count = nodes.len;
  VEC_DONE(&nodes);
  return count;
}

/* Where it is used at most once: then there are fewer nodes. */
static bool try_value(Reduce *r, const Expr *e, int i) {
  const Expr *made = with_value(r, e, i);
  return made != e && nodes_in(r, made) < nodes_in(r, e) &&
         try_instead(r, e, made);
}

/* A parameter of a definition, where it has one of that type, in the place of a
 * node of several parts.  One of another definition is not bound there. */
static bool try_params(Reduce *r, const Expr *node) {
  Unit *u = r->v.unit;
  bool parts = node->count > 0 || node->kind == EX_BLOCK;
  int step = 0;
  for (int i = 0; i < u->item_count && parts; i++) {
    const Expr **slot = slot_of(r, i, &step);
    if (!slot || (*slot)->kind != EX_FN || *slot == node) continue;
    const Fn *fn = (*slot)->fn;
    for (int k = 0; k < fn->param_count && k < PARTS_MAX; k++) {
      Var *var = fn->params[k];
      if (var->type != node->type) continue;
      Expr *use = expr_new(&u->arena, EX_VAR, node->span);
      use->var = var;
      use->type = var->type;
      if (try_instead(r, node, use)) return true;
    }
  }
  return false;
}

/* Leaves out a binding of a block, or puts its value in the block's place. */
static bool try_block(Reduce *r, const Expr *node) {
  for (int i = node->kind == EX_BLOCK ? node->block->count : 0; i-- > 0;)
    if (try_instead(r, node, without_binding(r, node, i)) ||
        try_value(r, node, i))
      return true;
  return false;
}

/* Puts a part of the node that has the node's type in its place. */
static bool try_within(Reduce *r, const Expr *node) {
  Exprs parts;
  VEC_INIT(&parts, r->text.mem);
  add_nodes(r->text.mem, node, &parts);
  bool done = false;
  int tried = 0;
  for (size_t i = 1; i < parts.len && !done && tried < PARTS_MAX; i++) {
    if (parts.data[i]->type != node->type) continue;
    tried++;
    done = try_instead(r, node, part_alone(r, node, parts.data[i]));
  }
  VEC_DONE(&parts);
  return done;
}

/* True when something smaller stands in the node's place now: then `node` is no
 * node of the program any more.
 *
 * Replacing nodes comes to an end.  Let a node weigh 1, and a variable 1 more
 * than the plainest value of its type has nodes.  A change leaves a program
 * that weighs less, or that weighs the same and has fewer nodes, or another one
 * of the same weight and size; of these there are finitely many, and each is
 * tried once.  Hence a plain value of more nodes takes the place of a variable
 * only, and a variable never that of a plain value. */
static bool simplify(Reduce *r, const Expr *node) {
  const Expr *by = node->kind == EX_FN ? NULL : plain(r, node->type, LEVELS);
  size_t least = by ? nodes_in(r, by) : 0, have = nodes_in(r, node);
  bool scalar = node->kind == EX_CONST && node->constant->rank == 0;
  bool fits = node->kind == EX_VAR || (!scalar && least <= have);
  return (by && fits && try_instead(r, node, by)) || try_block(r, node) ||
         try_within(r, node) || (have > least && try_params(r, node));
}

/* In the order of the text, so the largest nodes come before their parts.
 * After a change the nodes are new ones, and the node of the same number is
 * looked at again. */
void reduce_nodes(Reduce *r) {
  Exprs nodes;
  VEC_INIT(&nodes, r->text.mem);
  all_nodes(r, &nodes);
  for (size_t i = 0; i < nodes.len && !mem_exhausted(r->text.mem);)
    if (simplify(r, nodes.data[i])) all_nodes(r, &nodes);
    else i++;
  VEC_DONE(&nodes);
}

size_t reduce_node_count(Reduce *r, const Version *v) {
  Version own = r->v;
  Exprs nodes;
  VEC_INIT(&nodes, r->text.mem);
  r->v = *v;
  all_nodes(r, &nodes);
  r->v = own;
  size_t count = nodes.len;
  VEC_DONE(&nodes);
  return count;
}

/* --- Wholes --------------------------------------------------------------- */

/* The direct parts of a node; of one that is a function, its body. */
static void add_parts(Mem *mem, const Expr *node, Exprs *out) {
  ExprWalk w;
  expr_walk_start(&w, mem, WALK_ENTER, node);
  while (expr_walk_next(&w)) {
    if (w.at == node) continue;
    expr_walk_skip(&w);
    if (w.role == ROLE_CALLEE && is_name(w.at)) continue;
    VEC_PUSH(out, w.at->kind == EX_FN ? w.at->fn->body : w.at);
  }
  expr_walk_end(&w);
}

typedef struct Body {
  const Expr *fn, *body;
} Body;

/* Without a type of the result, which the checker finds. */
static const Expr *put_body(Reduce *r, const void *data, const Expr *whole) {
  const Body *to = data;
  Arena *arena = &r->v.unit->arena;
  if (whole != to->fn) return whole;
  Expr *made = arena_copy(arena, whole, sizeof *whole);
  Fn *fn = arena_copy(arena, whole->fn, sizeof *whole->fn);
  if (!made || !fn) return NULL;
  fn->body = to->body;
  fn->result = NULL;
  made->fn = fn;
  made->type = NULL;
  return made;
}

/* In breadth: parts of parts come later.  `fn`: the definition whose body it
 * is; NULL: it is a step. */
static bool try_parts(Reduce *r, const Expr *fn, const Expr *whole) {
  Exprs parts;
  VEC_INIT(&parts, r->text.mem);
  add_parts(r->text.mem, whole, &parts);
  bool done = false;
  for (size_t i = 0; i < parts.len && i < PARTS_MAX && !done; i++) {
    const Expr *part = part_alone(r, whole, parts.data[i]);
    add_parts(r->text.mem, parts.data[i], &parts);
    done = fn ? try_change(r, put_body, &(Body){fn, part})
              : try_instead(r, whole, part);
  }
  VEC_DONE(&parts);
  return done;
}

/* The values in blocks that are evaluated and dropped. */
static bool try_dropped(Reduce *r, const Expr *whole) {
  Exprs dropped;
  ExprWalk w;
  VEC_INIT(&dropped, r->text.mem);
  expr_walk_start(&w, r->text.mem, WALK_ENTER, whole);
  while (expr_walk_next(&w))
    if (expr_walk_is_value(&w, BIND_ITEM)) VEC_PUSH(&dropped, w.at);
  expr_walk_end(&w);
  bool done = false;
  for (size_t i = 0; i < dropped.len && !done; i++)
    done = try_parts(r, NULL, dropped.data[i]);
  VEC_DONE(&dropped);
  return done;
}

void reduce_wholes(Reduce *r) {
  int step = 0;
  for (int i = 0; i < r->v.unit->item_count; i++) {
    int at = step;
    const Expr **slot;
    bool done;
    do {
      step = at;
      slot = slot_of(r, i, &step);
      if (!slot) break;
      const Expr *fn = (*slot)->kind == EX_FN ? *slot : NULL;
      done =
          try_parts(r, fn, fn ? fn->fn->body : *slot) || try_dropped(r, *slot);
    } while (done && !mem_exhausted(r->text.mem));
  }
}

/* --- Parameters ----------------------------------------------------------- */

typedef struct Dropped {
  const Global *global;
  int param;
} Dropped;

static const Expr *call_without(Arena *arena, const Expr *call, int i) {
  const Expr **rest = ARENA_ARRAY(arena, const Expr *, (size_t)call->count);
  Expr *made = arena_copy(arena, call, sizeof *call);
  if (!rest || !made) return NULL;
  int n = 0;
  for (int k = 0; k < call->count; k++)
    if (k != i) rest[n++] = call->args[k];
  made->args = rest;
  made->count = n;
  return made;
}

static const Expr *fn_without(Reduce *r, const Expr *e, int i) {
  Arena *arena = &r->v.unit->arena;
  Var **rest = ARENA_ARRAY(arena, Var *, (size_t)e->fn->param_count);
  Expr *made = arena_copy(arena, e, sizeof *e);
  Fn *fn = arena_copy(arena, e->fn, sizeof *e->fn);
  if (!rest || !made || !fn) return NULL;
  int n = 0;
  for (int k = 0; k < e->fn->param_count; k++)
    if (k != i) rest[n++] = e->fn->params[k];
  fn->params = rest;
  fn->param_count = n;
  made->fn = fn;
  return made;
}

static const Expr *drop_param(Reduce *r, const void *data, const Expr *whole) {
  const Dropped *d = data;
  Arena *arena = &r->v.unit->arena;
  const Expr *own = d->global->value;
  const Var *param = own->fn->params[d->param];
  ExprMap m;
  expr_map_start(&m, r->text.mem, arena, whole);
  while (expr_map_next(&m)) {
    const Expr *at = m.walk.at, *by = NULL;
    if (m.walk.event != WALK_LEAVE) continue;
    if (at->kind == EX_VAR && at->var == param) by = plain(r, at->type, LEVELS);
    if (at->kind == EX_CALL && at->call.callee->kind == EX_GLOBAL &&
        at->call.callee->g.global == d->global && d->param < at->count)
      by = call_without(arena, m.made, d->param);
    if (by) expr_map_put(&m, by);
  }
  const Expr *made = expr_map_end(&m);
  return made && whole == own ? fn_without(r, made, d->param) : made;
}

/* The last first, so that the numbers of those before it stay. */
void reduce_params(Reduce *r) {
  for (int i = 0; i < r->v.unit->item_count; i++) {
    const Item *item = &r->v.unit->items[i];
    const Global *g = item_global(r->v.program->ir, item);
    if (!g || g->scheme || !g->value || g->value->kind != EX_FN) continue;
    for (int k = g->value->fn->param_count; k-- > 0;) {
      g = item_global(r->v.program->ir, &r->v.unit->items[i]);
      try_change(r, drop_param, &(Dropped){g, k});
    }
  }
}
