/* FuseOps and DefuseOps.
 *
 * FuseOps puts operators that follow each other into a function that is marked
 * as primitive and called at once, as Relay does for its code generators:
 *
 *   let %a = nn.dense(%x, %w);         fn (%x1, %w1, %b1, Primitive=1) {
 *   let %s = %a + %b;            ==>     let %a = nn.dense(%x1, %w1);
 *   nn.relu(%s)                          let %s = %a + %b1;
 *                                        nn.relu(%s)
 *                                      }(%x, %w, %b)
 *
 * What an operator's row says of the elements that it reads (OpReads) decides:
 *
 *   producer                              consumer
 *   same index, channel, one element      the same, or a reduction
 *   product or convolution, and what      same index or channel, of the same
 *   has been added to one                 shape; one product in a group
 *   reduction, any other                  none
 *
 * A producer goes to where its only use is, which changes nothing, since only
 * operators that do nothing but give a value are taken, with shapes that are
 * known; scalars are computed in registers, and stay.  One that may have an
 * adjoint does not go past another, since a sweep adds adjoints in the reverse
 * order.  A function in which something is fused is put into A-normal form.
 * DefuseOps puts the bodies of such functions into the places of their calls.
 *
 * After TVM's passes of these names (relay/transforms/fuse_ops.cc), which find
 * groups by dominators; here each producer has one consumer. */
#include "passes/calls.h"

typedef struct Node {
  const Expr *value;
  Var *var; /* NULL: of the block's result */
  OpReads reads;
  bool fits;              /* it may be in a group */
  bool anchor;            /* its group has a product or a convolution */
  int adjoint;            /* the last one before it that may have an adjoint;
                             -1: none may */
  int into;               /* its consumer; -1: it has none in its group */
  int root;               /* the last of its group */
  int first, next, count; /* of a root: its group in order; -1: the end */
} Node;

typedef struct Fuse {
  Program *p;
  Arena *arena;
  PtrMap uses; /* Var -> how often it is used */
  PtrMap at;   /* Var -> its node in its block, and one */
  bool found;
} Fuse;

/* --- Groups --------------------------------------------------------------- */

static bool is_anchor(OpReads reads) {
  return reads == READS_INNER || reads == READS_WINDOW;
}

static bool moves_along(OpReads reads) {
  return reads == READS_SAME || reads == READS_CHANNEL || reads == READS_ONE;
}

static bool fits(const Fuse *f, const Expr *e) {
  const OpInfo *op = expr_operator(e);
  if (!op || !e->call.bound || attrs_have_operands(e->call.bound) ||
      e->call.callee->targ_count || !type_is_static(e->type) ||
      e->type->rank == 0)
    return false;
  if (!moves_along(op->reads) && !is_anchor(op->reads) &&
      op->reads != READS_AXES)
    return false;
  for (int i = 0; i < e->count; i++) {
    const Expr *arg = e->args[i];
    bool atom = arg->kind == EX_VAR || arg->kind == EX_CONST;
    if (!atom || !type_is_static(arg->type)) return false;
  }
  return expr_is_pure(f->p, e);
}

static bool may_join(const Node *producer, const Node *consumer) {
  if (producer->reads == READS_AXES) return false;
  if (!producer->anchor)
    return moves_along(consumer->reads) || consumer->reads == READS_AXES;
  return (consumer->reads == READS_SAME || consumer->reads == READS_CHANNEL) &&
         !consumer->anchor && consumer->value->type == producer->value->type;
}

/* May the producer go to its consumer, as far as adjoints are concerned? */
static bool keeps_order(const Fuse *f, const Node *nodes, int producer,
                        int consumer) {
  return !expr_has_adjoint(f->p, nodes[producer].value) ||
         nodes[consumer].adjoint == producer;
}

static void note_node(Fuse *f, Node *node, const Expr *value,
                      const Binding *b) {
  const OpInfo *op = expr_operator(value);
  *node = (Node){.value = value, .into = -1, .first = -1, .next = -1};
  bool let = !b || (b->kind == BIND_LET && !b->var->lazy &&
                    !b->var->param_count && b->var->type == value->type);
  node->fits = let && fits(f, value);
  node->var = b ? b->var : NULL;
  node->reads = op ? op->reads : READS_ANY;
  node->anchor = is_anchor(node->reads);
}

/* The nodes of a block: its bindings, and its result. */
static Node *find_groups(Fuse *f, const Block *block) {
  int n = block->count, adjoint = -1;
  Node *nodes = ARENA_ARRAY(f->arena, Node, (size_t)n + 1);
  if (!nodes) return NULL;
  for (int i = 0; i <= n; i++) {
    const Binding *b = i < n ? &block->bindings[i] : NULL;
    Node *node = &nodes[i];
    note_node(f, node, b ? b->value : block->result, b);
    node->adjoint = adjoint;
    if (expr_has_adjoint(f->p, node->value)) adjoint = i;
    if (!node->fits) continue;
    for (int k = 0; k < node->value->count; k++) {
      const Expr *arg = node->value->args[k];
      size_t at = arg->kind == EX_VAR
                      ? (size_t)(uintptr_t)ptrmap_get(&f->at, arg->var)
                      : 0;
      if (!at || (uintptr_t)ptrmap_get(&f->uses, arg->var) != 1) continue;
      Node *producer = &nodes[at - 1];
      if (!may_join(producer, node) || !keeps_order(f, nodes, (int)at - 1, i))
        continue;
      producer->into = i;
      node->anchor |= producer->anchor;
    }
    if (b) ptrmap_put(&f->at, b->var, (void *)((uintptr_t)i + 1));
  }
  for (int i = n; i >= 0; i--) {
    Node *node = &nodes[i];
    node->root = node->into < 0 ? i : nodes[node->into].root;
    Node *root = &nodes[node->root];
    node->next = root->first;
    root->first = i;
    root->count++;
  }
  return nodes;
}

/* --- Functions of groups -------------------------------------------------- */

static const Attr *primitive(const Fuse *f, Span span) {
  AttrExpr *one = ARENA_NEW(f->arena, AttrExpr);
  Attr *attr = ARENA_NEW(f->arena, Attr);
  if (!one || !attr) return NULL;
  *one =
      (AttrExpr){.kind = AX_INT, .span = span, .dtype = DT_INT32, .integer = 1};
  *attr = (Attr){name_of(f->p->names, "Primitive"), span, one};
  return attr;
}

typedef struct Group {
  Fuse *f;
  PtrMap now; /* Var -> the one that stands for it in the function */
  VEC(Var *) params;
  VEC(const Expr *) args;
} Group;

static const Expr *in_function(Group *g, const Expr *value) {
  Fuse *f = g->f;
  Expr *made = arena_copy(f->arena, value, sizeof *made);
  const Expr **args =
      ARENA_ARRAY(f->arena, const Expr *, (size_t)value->count + 1);
  if (!made || !args) return NULL;
  for (int i = 0; i < value->count; i++) {
    args[i] = value->args[i];
    if (args[i]->kind != EX_VAR) continue;
    Var *now = ptrmap_get(&g->now, args[i]->var);
    if (!now) {
      now = arena_copy(f->arena, args[i]->var, sizeof *now);
      if (!now) return NULL;
      now->id = f->p->next_var_id++;
      now->type = args[i]->type;
      now->value = NULL;
      now->is_dim = false;
      ptrmap_put(&g->now, args[i]->var, now);
      VEC_PUSH(&g->params, now);
      VEC_PUSH(&g->args, args[i]);
    }
    args[i] = expr_use(f->arena, value->span, now);
  }
  made->args = args;
  return made;
}

static const Expr *fn_of_group(Group *g, const Expr *body) {
  Fuse *f = g->f;
  Fn *fn = ARENA_NEW(f->arena, Fn);
  Expr *e = expr_new(f->arena, EX_FN, body->span);
  const Type **types = ARENA_ARRAY(f->arena, const Type *, g->params.len + 1);
  if (!fn || !e || !types) return NULL;
  for (size_t i = 0; i < g->params.len; i++) types[i] = g->params.data[i]->type;
  int n = (int)g->params.len;
  *fn = (Fn){.param_count = n,
             .params = VEC_TO_ARENA(&g->params, f->arena),
             .attrs = primitive(f, body->span),
             .body = body};
  fn->attr_count = fn->attrs ? 1 : 0;
  e->fn = fn;
  e->type = type_fn(f->p->types, 0, NULL, n, types, body->type);
  return e;
}

/* The call of the function of a group; NULL: memory ran out. */
static const Expr *call_of_group(Group *g, const Node *nodes,
                                 const Node *root) {
  Arena *arena = g->f->arena;
  Binding *lets = ARENA_ARRAY(arena, Binding, (size_t)root->count);
  int n = 0;
  const Expr *value = NULL;
  for (int i = root->first; i >= 0; i = nodes[i].next) {
    value = in_function(g, nodes[i].value);
    if (!value || !lets) return NULL;
    if (nodes[i].root == i) break;
    ptrmap_put(&g->now, nodes[i].var, nodes[i].var);
    lets[n++] = binding_let(value->span, nodes[i].var, value);
  }
  Expr *body = expr_block(arena, value->span, n, lets, value);
  const Expr *fn = fn_of_group(g, body);
  int count = (int)g->args.len;
  const Expr **args = VEC_TO_ARENA(&g->args, arena);
  Expr *call =
      fn && args ? expr_call(arena, value->span, fn, count, args) : NULL;
  if (call) call->type = value->type;
  return call;
}

static const Expr *group_of(Fuse *f, const Node *nodes, const Node *root) {
  Group g = {.f = f};
  ptrmap_init(&g.now, f->p->mem);
  VEC_INIT(&g.params, f->p->mem);
  VEC_INIT(&g.args, f->p->mem);
  const Expr *call = call_of_group(&g, nodes, root);
  VEC_DONE(&g.params);
  VEC_DONE(&g.args);
  ptrmap_done(&g.now);
  return call;
}

static void fuse_block(Fuse *f, ExprMap *m) {
  const Block *block = m->made->block;
  Node *nodes = find_groups(f, block);
  Binding *kept = ARENA_ARRAY(f->arena, Binding, (size_t)block->count + 1);
  if (!nodes || !kept) return;
  const Expr *result = block->result;
  int n = 0;
  bool any = false;
  for (int i = 0; i <= block->count; i++) {
    Node *node = &nodes[i];
    if (node->root != i) continue;
    const Expr *call = node->count > 1 ? group_of(f, nodes, node) : NULL;
    any |= call != NULL;
    if (i == block->count) {
      if (call) result = call;
      break;
    }
    kept[n] = block->bindings[i];
    if (call) kept[n].value = call;
    n++;
  }
  if (!any || !pass_may_rewrite(f->p, block->result->span)) return;
  f->found = true;
  expr_map_put_block(m, n, kept, result);
}

/* --- FuseOps -------------------------------------------------------------- */

static bool is_primitive(const Program *p, const Expr *e) {
  if (e->kind != EX_FN) return false;
  const Name *name = name_of(p->names, "Primitive");
  for (int i = 0; i < e->fn->attr_count; i++)
    if (e->fn->attrs[i].name == name) return true;
  return false;
}

Rewrite pass_fuse_ops;

const Expr *pass_fuse_ops(Program *p, Arena *arena, const Expr *e) {
  Fuse f = {.p = p, .arena = arena};
  ExprMap m;
  const Expr *normal = expr_normal_form(p, arena, e);
  if (!normal) return NULL;
  ptrmap_init(&f.uses, p->mem);
  ptrmap_init(&f.at, p->mem);
  expr_count_uses(p, normal, &f.uses);
  expr_map_start(&m, p->mem, arena, normal);
  while (expr_map_next(&m)) {
    if (m.walk.event == WALK_ENTER && is_primitive(p, m.walk.at))
      expr_map_put(&m, m.walk.at);
    if (m.walk.event == WALK_LEAVE && m.made->kind == EX_BLOCK)
      fuse_block(&f, &m);
  }
  normal = expr_map_end(&m);
  ptrmap_done(&f.uses);
  ptrmap_done(&f.at);
  return f.found ? normal : e;
}

/* --- DefuseOps ------------------------------------------------------------ */

/* The function that a call of a primitive one calls, without its attributes;
 * NULL: it calls another. */
static const Expr *without_attrs(Program *p, Arena *arena, const PtrMap *lets,
                                 const Expr *call) {
  const Expr *callee = call->call.callee;
  if (callee->kind == EX_VAR) callee = ptrmap_get(lets, callee->var);
  if (!callee || !is_primitive(p, callee)) return NULL;
  Expr *e = arena_copy(arena, callee, sizeof *e);
  Fn *fn = arena_copy(arena, callee->fn, sizeof *fn);
  if (!e || !fn) return NULL;
  fn->attr_count = 0;
  e->fn = fn;
  return e;
}

Rewrite pass_defuse_ops;

/* Bodies are blocks in the places of operands; the blocks dissolve in A-normal
 * form. */
const Expr *pass_defuse_ops(Program *p, Arena *arena, const Expr *e) {
  ExprMap m;
  PtrMap lets; /* Var -> the primitive function that a `let` gives it */
  bool found = false;
  ptrmap_init(&lets, p->mem);
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m)) {
    const Binding *b = m.walk.binding;
    if (m.walk.event == WALK_BIND && b && b->kind == BIND_LET && b->value &&
        is_primitive(p, b->value))
      ptrmap_put(&lets, b->var, (void *)b->value);
    if (m.walk.event != WALK_LEAVE || m.made->kind != EX_CALL) continue;
    const Expr *fn = without_attrs(p, arena, &lets, m.made);
    if (!fn || !call_is_plain(p, m.made, fn) ||
        !pass_may_rewrite(p, m.made->span))
      continue;
    const Expr *body = call_inlined(p, arena, m.made, fn);
    if (!body) continue;
    expr_map_put(&m, body);
    found = true;
  }
  const Expr *made = expr_map_end(&m);
  ptrmap_done(&lets);
  return found && made ? expr_normal_form(p, arena, made) : e;
}
