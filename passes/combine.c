/* CombineParallelDense and CombineParallelConv2D: products of one operand with
 * several weights become one product with all of them.
 *
 *   let %a = nn.dense(%x, %v);        let %u = concatenate((%v, %w), axis=0);
 *   let %b = nn.dense(%x, %w);  ==>   let %y = nn.dense(%x, %u);
 *                                     let %s = split(%y, .., axis=-1);
 *                                     let %a = %s.0; let %b = %s.1;
 *
 * Each element of a product is computed by the same operations whatever other
 * outputs there are, so the bits stay.  The calls are values of lets of one
 * block (ToANormalForm makes such lets), whose weights are in scope at the
 * first of them, and which do nothing but give their values: so all may be
 * computed there.  The argument `branches` says how many are worth a copy of
 * the weights.
 *
 * After TVM's passes of these names (relay/transforms/combine_parallel_dense.cc
 * and combine_parallel_conv2d.cc). */
#include <string.h>

#include "passes/calls.h"
#include "types/types.h"

enum { BRANCHES };       /* the passes' argument */
enum { OPEN_MOST = 16 }; /* groups of one operand that are looked at */

/* An operator whose products combine. */
typedef struct Kind {
  OpId op;
  AttrName outputs; /* how many there are, where the call says it */
  int axis; /* of the results, from the end where negative; of the weight
               it is 0 */
} Kind;

static const Kind dense = {OP_NN_DENSE, ATTR_units, -1};
static const Kind conv2d = {OP_NN_CONV2D, ATTR_channels, 1};

/* Calls that combine, of one block. */
typedef struct Group {
  int first;        /* the binding of the first one */
  const Expr *call; /* the first one */
  VEC(int) members; /* all bindings */
  int64_t outputs;
  Var *parts; /* the tuple of their results */
  struct Group *next;
} Group;

typedef struct Combine {
  Program *p;
  Arena *arena;
  const Kind *kind;
  PtrMap bound;  /* Var -> 1 + its binding in the block */
  PtrMap groups; /* Var of the operand -> its first Group */
  VEC(Group *) all;
} Combine;

/* The call with the attribute of its own outputs left out. */
static const Expr *without_outputs(Combine *c, const Expr *e) {
  Expr *made = arena_copy(c->arena, e, sizeof *e);
  Attrs *attrs = attrs_shared(c->arena, expr_operator(e), e->call.bound);
  AttrValue *v =
      &attrs->values[attr_get(attrs, c->kind->outputs) - attrs->values];
  *v = (AttrValue){.state = AV_NONE, .operand = -1};
  made->call.bound = attrs;
  return made;
}

/* Weights have the outputs along axis 0, and all operands see all of the data.
 */
static bool is_candidate(const Combine *c, const Expr *e) {
  const OpInfo *op = expr_operator(e);
  if (!op || op_id(op) != c->kind->op || e->count != 2 || !e->call.bound)
    return false;
  const Attrs *attrs = e->call.bound;
  bool grouped = attrs_have(attrs, ATTR_groups) &&
                 !dim_is(attr_int(attrs, ATTR_groups), 1);
  return !grouped && !attrs_have_operands(attrs) &&
         attr_is_text(attrs, ATTR_data_layout, "NCHW") &&
         attr_is_text(attrs, ATTR_kernel_layout, "OIHW") &&
         attr_is_text(attrs, ATTR_out_layout, "") &&
         e->args[0]->kind == EX_VAR && !e->args[0]->var->lazy &&
         type_is_static(e->type) && type_is_static(e->args[1]->type) &&
         expr_effects(c->p, e) == 0 && !expr_has_adjoint(c->p, e);
}

/* Is the weight there before binding `first`? */
static bool is_there(const Combine *c, const Expr *w, int first) {
  if (w->kind == EX_CONST || w->kind == EX_GLOBAL) return true;
  if (w->kind != EX_VAR || w->var->lazy) return false;
  return (intptr_t)ptrmap_get(&c->bound, w->var) <= first;
}

static bool fits(Combine *c, const Group *g, const Expr *e) {
  const Type *a = g->call->args[1]->type, *b = e->args[1]->type;
  if (a->rank != b->rank || a->dtype != b->dtype ||
      g->call->type->dtype != e->type->dtype ||
      !is_there(c, e->args[1], g->first))
    return false;
  for (int i = 1; i < a->rank; i++)
    if (!dim_same(a->dims[i], b->dims[i])) return false;
  return calls_same_attrs(c->p, c->arena, without_outputs(c, g->call),
                          without_outputs(c, e));
}

/* The first group that takes the call; else it begins one. */
static void join(Combine *c, const Expr *e, int binding) {
  Group *g = ptrmap_get(&c->groups, e->args[0]->var), *last = NULL;
  int looked = 0;
  for (; g && !fits(c, g, e); last = g, g = g->next)
    if (++looked == OPEN_MOST) return;
  if (!g) {
    if (!is_there(c, e->args[1], binding)) return;
    g = ARENA_NEW(c->arena, Group);
    if (!g) return;
    *g = (Group){.first = binding, .call = e};
    VEC_INIT(&g->members, c->p->mem);
    VEC_PUSH(&c->all, g);
    if (last) last->next = g;
    else ptrmap_put(&c->groups, e->args[0]->var, g);
  }
  VEC_PUSH(&g->members, binding);
  g->outputs += dim_value(e->args[1]->type->dims[0]);
}

/* The lets of a group's product. */
static bool make_product(Combine *c, Group *g, const Block *block,
                         Binding lets[3]) {
  Span span = g->call->span;
  size_t n = g->members.len;
  const Expr **weights = ARENA_ARRAY(c->arena, const Expr *, n);
  Dim *ends = ARENA_ARRAY(c->arena, Dim, n);
  int64_t end = 0;
  if (!weights || !ends) return false;
  for (size_t i = 0; i < n; i++) {
    weights[i] = block->bindings[g->members.data[i]].value->args[1];
    ends[i] = dim_of(end += dim_value(weights[i]->type->dims[0]));
  }
  int axis = c->kind->axis + (c->kind->axis < 0 ? g->call->type->rank : 0);
  const Expr *tuple = expr_tuple(c->p, c->arena, span, (int)n, weights), *use;
  Attrs *attrs =
      attrs_shared(c->arena, expr_operator(g->call), g->call->call.bound);
  Attrs *cuts = attrs_new(c->arena, op_info(OP_SPLIT));
  if (!tuple) return false;
  if (attr_is_set(attrs, c->kind->outputs))
    attr_set_number(attrs, c->kind->outputs, g->outputs);
  attr_set_list(c->arena, cuts, ATTR_indices_or_sections, (int)n - 1, ends);
  attr_set_number(cuts, ATTR_axis, axis);
  const Expr *value =
      EXPR_APPLY(c->p, c->arena, span, OP_CONCATENATE, NULL, tuple);
  for (int i = 0; value && i < 3; i++) {
    Var *var = var_for(c->p, c->arena, value);
    if (!var) return false;
    lets[i] = binding_let(span, var, value);
    use = expr_use(c->arena, span, var);
    g->parts = var;
    if (i == 0)
      value = EXPR_APPLY(c->p, c->arena, span, c->kind->op, attrs,
                         g->call->args[0], use);
    else if (i == 1)
      value = EXPR_APPLY(c->p, c->arena, span, OP_SPLIT, cuts, use);
  }
  return value && (int)n == g->parts->type->count;
}

/* Gives each call of the group its part of the combined result.  False: a part
 * has another type than the call had. */
static bool take_parts(Combine *c, const Group *g, Binding *lets) {
  for (size_t i = 0; i < g->members.len; i++) {
    Binding *b = &lets[g->members.data[i]];
    const Expr *part =
        expr_field(c->arena, b->value->span,
                   expr_use(c->arena, b->value->span, g->parts), (int)i);
    if (!part || part->type != b->value->type) return false;
    b->value = part;
  }
  return true;
}

static void combine_groups(Combine *c, ExprMap *m) {
  const Block *block = m->made->block;
  size_t extra = 0;
  for (size_t i = 0; i < c->all.len; i++)
    extra += (int64_t)c->all.data[i]->members.len >= pass_arg(c->p, BRANCHES);
  if (extra == 0) return;
  Binding *lets = arena_copy(c->arena, block->bindings,
                             (size_t)block->count * sizeof *lets);
  Binding *made =
      ARENA_ARRAY(c->arena, Binding, (size_t)block->count + 3 * extra);
  if (!lets || !made) return;
  int n = 0;
  size_t g = 0; /* groups are in the order of their first calls */
  for (int i = 0; i < block->count; i++) {
    while (g < c->all.len && c->all.data[g]->first < i) g++;
    Group *group =
        g < c->all.len && c->all.data[g]->first == i ? c->all.data[g] : NULL;
    if (group && (int64_t)group->members.len >= pass_arg(c->p, BRANCHES) &&
        pass_may_rewrite(c->p, group->call->span) &&
        make_product(c, group, block, made + n) && take_parts(c, group, lets))
      n += 3;
    made[n++] = lets[i];
  }
  expr_map_put_block(m, n, made, block->result);
}

static void combine_block(Combine *c, ExprMap *m) {
  const Block *block = m->made->block;
  Mem *mem = c->p->mem;
  ptrmap_init(&c->bound, mem);
  ptrmap_init(&c->groups, mem);
  VEC_INIT(&c->all, mem);
  for (int i = 0; i < block->count; i++) {
    const Binding *b = &block->bindings[i];
    if (b->kind == BIND_LET && !b->var->lazy &&
        !types_need_check(b->value->type, b->var->type) &&
        is_candidate(c, b->value))
      join(c, b->value, i);
    if (b->var) ptrmap_put(&c->bound, b->var, (void *)(intptr_t)(i + 1));
  }
  combine_groups(c, m);
  for (size_t i = 0; i < c->all.len; i++) VEC_DONE(&c->all.data[i]->members);
  VEC_DONE(&c->all);
  ptrmap_done(&c->bound);
  ptrmap_done(&c->groups);
}

static const Expr *combine(Program *p, Arena *arena, const Expr *e,
                           const Kind *kind) {
  Combine c = {.p = p, .arena = arena, .kind = kind};
  ExprMap m;
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m))
    if (m.walk.event == WALK_LEAVE && m.made->kind == EX_BLOCK)
      combine_block(&c, &m);
  return expr_map_end(&m);
}

Rewrite pass_combine_dense;

const Expr *pass_combine_dense(Program *p, Arena *arena, const Expr *e) {
  return combine(p, arena, e, &dense);
}

Rewrite pass_combine_conv2d;

const Expr *pass_combine_conv2d(Program *p, Arena *arena, const Expr *e) {
  return combine(p, arena, e, &conv2d);
}
