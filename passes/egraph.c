/* Classes of equal expressions: union-find over classes, nodes found by hash,
 * congruence restored after each round.  Graphs are small (some thousand
 * nodes), so what a round needs is found by walking over all of them. */
#include "passes/egraph.h"

#include <math.h>
#include <string.h>

/* --- Life ----------------------------------------------------------------- */

void egraph_start(EGraph *g, Program *p, Arena *arena, int most) {
  *g = (EGraph){.p = p, .arena = arena, .most = most};
  static const Expr nothing = {.kind = EX_TUPLE};
  arena_init(&g->own, p->mem);
  surroundings_start(&g->around, p, arena, &nothing);
  VEC_INIT(&g->nodes, p->mem);
  VEC_INIT(&g->classes, p->mem);
  VEC_INIT(&g->same, p->mem);
  ptrmap_init(&g->by_hash, p->mem);
  ptrmap_init(&g->by_var, p->mem);
}

void egraph_end(EGraph *g) {
  surroundings_end(&g->around);
  VEC_DONE(&g->nodes);
  VEC_DONE(&g->classes);
  VEC_DONE(&g->same);
  ptrmap_done(&g->by_hash);
  ptrmap_done(&g->by_var);
  arena_done(&g->own);
}

static int find(const EGraph *g, int class) {
  while (g->classes.data[class].up != class) class = g->classes.data[class].up;
  return class;
}

/* --- Nodes ---------------------------------------------------------------- */

static bool is_leaf(const Expr *e) {
  return e->kind == EX_VAR || e->kind == EX_CONST;
}

static uintptr_t hash_of(const EGraph *g, const Expr *e, int count,
                         const int *kids) {
  uint64_t hash = (uint64_t)e->kind * 31 + (uint64_t)count;
  const OpInfo *op = expr_operator(e);
  if (op) hash = hash * 131 + (uint64_t)op_id(op);
  else if (e->kind == EX_CALL) hash ^= (uintptr_t)expr_own(e);
  if (e->kind == EX_VAR) hash ^= (uintptr_t)e->var;
  if (e->kind == EX_PROJ) hash = hash * 131 + (uint64_t)e->index;
  hash ^= (uintptr_t)e->type;
  for (int i = 0; i < count; i++)
    hash = (hash ^ (uint64_t)find(g, kids[i])) * 0x9E3779B97F4A7C15u;
  return (uintptr_t)(hash ^ hash >> 29) | 1;
}

static bool is_same(EGraph *g, const ENode *n, const Expr *e, int count,
                    const int *kids) {
  if (n->e->kind != e->kind || n->count != count || n->e->type != e->type)
    return false;
  for (int i = 0; i < count; i++)
    if (find(g, n->kids[i]) != find(g, kids[i])) return false;
  switch (e->kind) {
    case EX_VAR: return n->e->var == e->var;
    case EX_CONST: return expr_equal(g->p->mem, n->e, e);
    case EX_PROJ: return n->e->index == e->index;
    case EX_CALL:
      return expr_operator(n->e) == expr_operator(e) &&
             expr_own(n->e) == expr_own(e) &&
             (expr_own(e) || calls_same_attrs(g->p, &g->own, n->e, e));
    default: return true;
  }
}

static int find_node(EGraph *g, uintptr_t hash, const Expr *e, int count,
                     const int *kids) {
  int at = (int)(uintptr_t)ptrmap_get(&g->by_hash, (void *)hash) - 1;
  while (at >= 0 && !is_same(g, &g->nodes.data[at], e, count, kids))
    at = g->same.data[at];
  return at;
}

static int new_class(EGraph *g, const Expr *e) {
  int class = (int)g->classes.len;
  Var *var = var_for(g->p, g->arena, e);
  const Expr *use = var ? expr_use(g->arena, e->span, var) : NULL;
  if (!use) return -1;
  VEC_PUSH(&g->classes,
           (EClass){.up = class, .first = -1, .var = var, .use = use});
  if (g->classes.len == (size_t) class) return -1;
  ptrmap_put(&g->by_var, var, (void *)(uintptr_t)(class + 1));
  ptrmap_put(&g->around.uses, var, (void *)1);
  return class;
}

/* The node over variables of its operands' classes. */
static const Expr *over_classes(EGraph *g, const Expr *e, int count,
                                const int *kids) {
  if (count == 0) return e;
  Expr *made = arena_copy(g->arena, e, sizeof *e);
  const Expr **args = ARENA_ARRAY(g->arena, const Expr *, (size_t)count);
  if (!made || !args) return NULL;
  for (int i = 0; i < count; i++)
    args[i] = g->classes.data[find(g, kids[i])].use;
  made->args = args;
  return made;
}

/* Adds the node to a class of its own, unless there is an equal one. */
static int add_node(EGraph *g, const Expr *e, int count, const int *kids) {
  uintptr_t hash = hash_of(g, e, count, kids);
  int at = find_node(g, hash, e, count, kids);
  if (at >= 0) return find(g, g->nodes.data[at].class);
  if (g->nodes.len >= (size_t)g->most || mem_exhausted(g->p->mem)) return -1;
  const int *own =
      arena_copy(&g->own, kids, ((size_t)count + 1) * sizeof *kids);
  const Expr *made = over_classes(g, e, count, kids);
  int class = own && made ? new_class(g, e) : -1;
  if (class < 0) return -1;
  int node = (int)g->nodes.len;
  g->classes.data[class].first = node;
  VEC_PUSH(
      &g->nodes,
      (ENode){
          .e = made, .class = class, .next = -1, .count = count, .kids = own});
  VEC_PUSH(&g->same, (int)(uintptr_t)ptrmap_get(&g->by_hash, (void *)hash) - 1);
  ptrmap_put(&g->by_hash, (void *)hash, (void *)(uintptr_t)(node + 1));
  return class;
}

static int add_block(EGraph *g, const Block *b) {
  for (int i = 0; i < b->count; i++) {
    int value = egraph_add(g, b->bindings[i].value);
    if (value < 0) return -1;
    ptrmap_put(&g->by_var, b->bindings[i].var, (void *)(uintptr_t)(value + 1));
  }
  return egraph_add(g, b->result);
}

bool egraph_has_call(const Expr *e) {
  if (e->kind != EX_CALL) return false;
  return expr_own(e) || (expr_operator(e) && e->call.bound &&
                         !attrs_have_operands(e->call.bound));
}

/* Recursive: regions and right sides are of a bounded size. */
int egraph_add(EGraph *g, const Expr *e) {
  int class = e->kind == EX_VAR
                  ? (int)(uintptr_t)ptrmap_get(&g->by_var, e->var) - 1
                  : -1;
  if (class >= 0) return find(g, class);
  if (e->kind == EX_BLOCK) return add_block(g, e->block);
  if (!egraph_has_call(e) && !is_leaf(e) && e->kind != EX_TUPLE &&
      e->kind != EX_PROJ)
    return -1;
  int *kids = ARENA_ARRAY(&g->own, int, (size_t)e->count + 1);
  if (!kids) return -1;
  for (int i = 0; i < e->count; i++)
    if ((kids[i] = egraph_add(g, e->args[i])) < 0) return -1;
  return add_node(g, e, e->count, kids);
}

/* --- Joining -------------------------------------------------------------- */

static void join(EGraph *g, int a, int b) {
  a = find(g, a);
  b = find(g, b);
  if (a == b) return;
  int to = a < b ? a : b, from = a < b ? b : a;
  EClass *into = &g->classes.data[to], *gone = &g->classes.data[from];
  int last = gone->first;
  while (g->nodes.data[last].next >= 0) last = g->nodes.data[last].next;
  g->nodes.data[last].next = into->first;
  into->first = gone->first;
  gone->up = to;
  g->joined = true;
}

/* Nodes whose operands' classes have become equal are equal.  All nodes are
 * hashed anew, until no more are found so. */
static void restore(EGraph *g) {
  bool again = true;
  while (again && !mem_exhausted(g->p->mem)) {
    again = false;
    ptrmap_done(&g->by_hash);
    ptrmap_init(&g->by_hash, g->p->mem);
    for (size_t i = 0; i < g->nodes.len; i++) {
      ENode *n = &g->nodes.data[i];
      uintptr_t hash = hash_of(g, n->e, n->count, n->kids);
      int at = find_node(g, hash, n->e, n->count, n->kids);
      if (at >= 0 && find(g, g->nodes.data[at].class) != find(g, n->class)) {
        join(g, g->nodes.data[at].class, n->class);
        again = true;
      }
      if (at >= 0) continue;
      g->same.data[i] =
          (int)(uintptr_t)ptrmap_get(&g->by_hash, (void *)hash) - 1;
      ptrmap_put(&g->by_hash, (void *)hash, (void *)(uintptr_t)(i + 1));
    }
  }
  for (size_t i = 0; i < g->nodes.len; i++) {
    ENode *n = &g->nodes.data[i];
    const Expr *e = over_classes(g, n->e, n->count, n->kids);
    if (e) n->e = e;
  }
}

/* --- Matching ------------------------------------------------------------- */

enum { CHOICES_MOST = 128, DEPTH_MOST = 4, AGENDA_MOST = 64, OPS_MOST = 32 };

/* A rule at a node: which node each class below it is looked at as. */
typedef struct Choosing {
  EGraph *g;
  const Rule *rule;
  int node, depth, tries;
  int op_count;
  const void *ops[OPS_MOST]; /* of the left side: OpInfos, and Globals of
                                operators of a text's own */
  bool other[EX_ERROR + 1];  /* kinds of its nodes that are no calls */
  int count;
  int classes[AGENDA_MOST], levels[AGENDA_MOST];
  bool added;
} Choosing;

/* Bounded by RULE_NODES_MAX. */
static int note_pattern(Choosing *k, const Expr *e) {
  e = rule_bare(e);
  const void *op = rule_op(e);
  int depth = 0, own = rule_own(k->rule, e);
  if (own >= 0) op = k->rule->own[own].found;
  if (op && k->op_count < OPS_MOST) k->ops[k->op_count++] = op;
  else if (!op) k->other[e->kind] = true;
  for (int i = 0; i < e->count; i++) {
    int below = note_pattern(k, e->args[i]);
    depth = below > depth ? below : depth;
  }
  return e->count ? depth + 1 : 0;
}

/* Has the left side such a node?  A constant may be asked for its value. */
static bool is_wanted(const Choosing *k, const Expr *e) {
  if (e->kind == EX_CONST) return true;
  if (e->kind != EX_CALL) return e->kind != EX_VAR && k->other[e->kind];
  const void *op = expr_operator(e);
  if (!op) op = expr_own(e);
  for (int i = 0; i < k->op_count; i++)
    if (k->ops[i] == op) return true;
  return false;
}

static void push_kids(Choosing *k, const ENode *n, int level) {
  for (int i = 0; level < k->depth && i < n->count && k->count < AGENDA_MOST;
       i++) {
    k->classes[k->count] = find(k->g, n->kids[i]);
    k->levels[k->count++] = level + 1;
  }
}

static void apply(Choosing *k) {
  EGraph *g = k->g;
  k->tries++;
  const Expr *e = g->nodes.data[k->node].e;
  const Expr *made = rule_applied(&g->around, k->rule, e);
  if (!made) return;
  size_t before = g->nodes.len;
  int class = egraph_add(g, made);
  if (class < 0) return;
  k->added |= g->nodes.len > before;
  int own = find(g, g->nodes.data[k->node].class);
  k->added |= own != find(g, class);
  join(g, own, class);
}

/* Nodes that are added on the way are not looked at in this round. */
static void choose(Choosing *k, int at, size_t nodes) {
  EGraph *g = k->g;
  while (at < k->count &&
         ptrmap_get(&g->around.values,
                    g->classes.data[find(g, k->classes[at])].var))
    at++;
  if (at == k->count) {
    apply(k);
    return;
  }
  int class = find(g, k->classes[at]), count = k->count;
  Var *var = g->classes.data[class].var;
  bool any = false;
  for (int i = g->classes.data[class].first; i >= 0 && k->tries < CHOICES_MOST;
       i = g->nodes.data[i].next) {
    const Expr *e = g->nodes.data[i].e;
    if ((size_t)i >= nodes || !is_wanted(k, e)) continue;
    any = true;
    ptrmap_put(&g->around.values, var, (void *)e);
    push_kids(k, &g->nodes.data[i], k->levels[at]);
    choose(k, at + 1, nodes);
    k->count = count;
    ptrmap_put(&g->around.values, var, NULL);
  }
  if (!any) choose(k, at + 1, nodes);
}

static bool apply_at(EGraph *g, const Rule *rule, int node, size_t nodes) {
  Choosing k = {.g = g, .rule = rule, .node = node};
  k.depth = note_pattern(&k, rule->left) - 1;
  k.depth = k.depth > DEPTH_MOST ? DEPTH_MOST : k.depth;
  const ENode *n = &g->nodes.data[node];
  const Expr *left = rule_bare(rule->left);
  if (left->kind != n->e->kind || left->count != n->count ||
      (rule_op(left) && rule_op(left) != expr_operator(n->e)))
    return false;
  /* The operands of the left side itself: their classes' constants count. */
  for (int i = 0; i < n->count && k.count < AGENDA_MOST; i++) {
    k.classes[k.count] = find(g, n->kids[i]);
    k.levels[k.count++] = 1;
  }
  choose(&k, 0, nodes);
  return k.added;
}

bool egraph_round(EGraph *g, int count, const Rule *rules) {
  size_t nodes = g->nodes.len;
  bool added = false;
  for (size_t n = 0; n < nodes; n++)
    for (int i = 0; i < count && !mem_exhausted(g->p->mem); i++)
      if (g->nodes.len < (size_t)g->most)
        added |= apply_at(g, &rules[i], (int)n, nodes);
  restore(g);
  return added && !mem_exhausted(g->p->mem);
}

/* --- The cheapest -------------------------------------------------------- */

static double tree_cost(const EGraph *g, const ENode *n) {
  double sum = n->cost;
  for (int i = 0; i < n->count; i++)
    sum += g->classes.data[find(g, n->kids[i])].best;
  return sum;
}

/* Counts uses from the root on; the sum of the classes that are used. */
static double count_uses(EGraph *g, int class) {
  class = find(g, class);
  if (g->classes.data[class].uses++) return 0;
  const ENode *n = &g->nodes.data[g->classes.data[class].node];
  double sum = n->cost;
  for (int i = 0; i < n->count; i++) sum += count_uses(g, n->kids[i]);
  return sum;
}

double egraph_cost(EGraph *g, int class,
                   double (*cost)(void *data, const Expr *node), void *data) {
  for (size_t i = 0; i < g->classes.len; i++) {
    EClass *c = &g->classes.data[i];
    c->best = INFINITY;
    c->node = c->first;
    c->uses = 0;
    c->made = NULL;
  }
  for (size_t i = 0; i < g->nodes.len; i++)
    g->nodes.data[i].cost = cost(data, g->nodes.data[i].e);
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < g->nodes.len; i++) {
      EClass *c = &g->classes.data[find(g, g->nodes.data[i].class)];
      double sum = tree_cost(g, &g->nodes.data[i]);
      if (!(sum < c->best)) continue;
      c->best = sum;
      c->node = (int)i;
      again = true;
    }
  }
  return count_uses(g, class);
}

typedef struct Extract {
  EGraph *g;
  Span span;
  Bindings lets;
} Extract;

/* No deeper than the classes that the result uses. */
static const Expr *extract(Extract *x, int class) {
  EGraph *g = x->g;
  class = find(g, class);
  if (g->classes.data[class].made) return g->classes.data[class].made;
  const ENode *n = &g->nodes.data[g->classes.data[class].node];
  const Expr *e = n->e;
  if (n->count > 0) {
    Expr *made = arena_copy(g->arena, e, sizeof *e);
    const Expr **args = ARENA_ARRAY(g->arena, const Expr *, (size_t)n->count);
    if (!made || !args) return NULL;
    for (int i = 0; i < n->count; i++)
      if (!(args[i] = extract(x, n->kids[i]))) return NULL;
    made->args = args;
    made->span = x->span;
    e = made;
  }
  if (g->classes.data[class].uses > 1 && !is_leaf(e)) {
    Var *var = var_for(g->p, g->arena, e);
    if (!var) return NULL;
    VEC_PUSH(&x->lets, binding_let(x->span, var, e));
    e = expr_use(g->arena, x->span, var);
  }
  g->classes.data[class].made = e;
  return e;
}

const Expr *egraph_best(EGraph *g, int class, Span span) {
  Extract x = {.g = g, .span = span};
  VEC_INIT(&x.lets, g->p->mem);
  const Expr *e = extract(&x, class);
  e = expr_after(g->arena, span, x.lets.len, x.lets.data, e);
  VEC_DONE(&x.lets);
  return e;
}
