/* Home scopes of graph variables.
 *
 * `%3 = e;` names a node; the node's home scope is the innermost function
 * body, `fn` body, `if` branch or match arm that holds all its uses.  It is
 * evaluated where its binding stands, if that is in the home scope; else just
 * before the item of the home scope that holds the first use.  A block that is
 * an item's whole value gives its items to the block around it when something
 * there uses its nodes; a binding deeper in an operand goes before the item.
 *
 * Here the parsed body is walked once, with a stack of our own, and for each
 * node the places of its uses are noted.  Nodes are then placed from the last
 * to the first: what is used in another node's value is used where that node
 * went, and what only an unused node uses is unused.  resolve.c asks what
 * goes before which item. */
#include "types/resolve.h"

/* A scope's body or a block: where bindings can stand. */
typedef struct Spot {
  struct Spot *up;
  int item; /* the item of `up` that it lies in */
  uint32_t mark;
  bool scope;         /* opens a scope */
  bool conditional;   /* a branch or an arm */
  bool flat;          /* a block whose items join those around it */
  struct Node *value; /* the value of this node: lies where the node goes */
  const Expr *e;
  GraphNode **before; /* by item; NULL: nothing anywhere */
} Spot;

typedef struct Use {
  Spot *place;
  int item;
  struct Use *next;
} Use;

typedef struct Node {
  GraphNode node; /* first: what is handed out is turned back */
  Spot *stands;   /* where its binding is, as item `stands_item` */
  int stands_item;
  Spot *value;
  Use *uses, *last_use;
  Spot *home; /* NULL: never used */
  int home_item;
} Node;

/* What is still to be walked: an expression, or a binding to be defined once
 * its value has been. */
typedef struct Visit {
  const Expr *e;
  const Binding *define;
  Spot *place, *value;
  int item;
} Visit;

struct Homes {
  Resolver *r;
  Arena *arena;      /* the checker's */
  VEC(Node *) nodes; /* in the order of their definitions */
  VEC(Visit) work;
  PtrMap places;     /* Expr -> Spot */
  PtrMap by_use;     /* Expr of a use -> Node */
  PtrMap by_binding; /* Binding -> Node */
  struct {
    Node **slots;
    size_t cap;
  } by_index; /* open addressing */
  uint32_t mark;
};

/* --- Nodes by their numbers ---------------------------------------------- */

static Node **index_slot(const Homes *h, int64_t index) {
  size_t i = (uint64_t)index * 0x9E3779B97F4A7C15u & (h->by_index.cap - 1);
  while (h->by_index.slots[i] && h->by_index.slots[i]->node.index != index)
    i = (i + 1) & (h->by_index.cap - 1);
  return &h->by_index.slots[i];
}

static bool index_grow(Homes *h) {
  size_t cap = h->by_index.cap ? 2 * h->by_index.cap : 64;
  Node **slots = ARENA_ARRAY(h->arena, Node *, cap);
  if (!slots) return false;
  h->by_index.slots = slots;
  h->by_index.cap = cap;
  for (size_t i = 0; i < h->nodes.len; i++)
    *index_slot(h, h->nodes.data[i]->node.index) = h->nodes.data[i];
  return true;
}

static Node *node_at(const Homes *h, int64_t index) {
  return h->by_index.cap ? *index_slot(h, index) : NULL;
}

static void define(Homes *h, const Visit *v) {
  const Binding *b = v->define;
  Node *first = node_at(h, b->index);
  if (first) {
    Diag *d = diag_error(h->r->p->diags, E0106, b->span,
                         "graph variable `%%%lld` is defined twice",
                         (long long)b->index);
    diag_note(d, first->node.binding->span, "first defined here");
    return;
  }
  if (h->nodes.len + 1 > h->by_index.cap / 2 && !index_grow(h)) return;
  Node *n = ARENA_NEW(h->arena, Node);
  n->node = (GraphNode){.index = b->index, .binding = b};
  n->stands = v->place;
  n->stands_item = v->item;
  n->value = v->value;
  n->value->value = n;
  VEC_PUSH(&h->nodes, n);
  *index_slot(h, b->index) = n;
  ptrmap_put(&h->by_binding, b, n);
}

/* --- The walk ------------------------------------------------------------ */

static Spot *place_new(Homes *h, Spot *up, int item, const Expr *e) {
  Spot *p = ARENA_NEW(h->arena, Spot);
  p->up = up;
  p->item = item;
  p->e = e;
  if (e) ptrmap_put(&h->places, e, p);
  return p;
}

static void later(Homes *h, const Expr *e, Spot *place, int item) {
  VEC_PUSH(&h->work, (Visit){.e = e, .place = place, .item = item});
}

/* The body of a scope; a block is its own place. */
static void later_scope(Homes *h, const Expr *body, const Visit *v,
                        bool conditional) {
  Spot *p = place_new(h, v->place, v->item, body);
  p->scope = true;
  p->conditional = conditional;
  later(h, body, p, 0);
}

static void note_use(Homes *h, const Visit *v) {
  Node *n = node_at(h, v->e->index);
  if (!n) return;
  ptrmap_put(&h->by_use, v->e, n);
  Use *use = ARENA_NEW(h->arena, Use);
  *use = (Use){v->place, v->item, NULL};
  if (n->uses) n->last_use->next = use;
  else n->uses = use;
  n->last_use = use;
}

static void walk_block(Homes *h, const Visit *v) {
  const Block *b = v->e->block;
  Spot *p = ptrmap_get(&h->places, v->e);
  if (!p) p = place_new(h, v->place, v->item, v->e);
  later(h, b->result, p, b->count);
  for (int i = b->count - 1; i >= 0; i--) {
    const Binding *binding = &b->bindings[i];
    if (!binding->value) continue;
    if (binding->kind != BIND_GRAPH) {
      later(h, binding->value, p, i);
      continue;
    }
    Spot *value = place_new(h, p, i, NULL);
    VEC_PUSH(&h->work,
             (Visit){.define = binding, .place = p, .item = i, .value = value});
    later(h, binding->value, value, 0);
  }
}

/* Attribute values nest no deeper than the parser lets them. */
static void walk_attr(Homes *h, const AttrExpr *x, const Visit *v) {
  if (x->kind == AX_EXPR) later(h, x->expr, v->place, v->item);
  if (x->kind != AX_LIST) return;
  for (int i = x->count - 1; i >= 0; i--) walk_attr(h, x->items[i], v);
}

static void walk_call(Homes *h, const Visit *v) {
  later(h, v->e->call.callee, v->place, v->item);
  for (int i = v->e->call.attr_count - 1; i >= 0; i--)
    walk_attr(h, v->e->call.attrs[i].value, v);
}

static void walk_if(Homes *h, const Visit *v) {
  later_scope(h, v->e->args[2], v, true);
  later_scope(h, v->e->args[1], v, true);
  later(h, v->e->args[0], v->place, v->item);
}

static void walk_match(Homes *h, const Visit *v) {
  const Match *m = v->e->match;
  for (int i = m->arm_count - 1; i >= 0; i--)
    later_scope(h, m->arms[i].body, v, true);
  later(h, v->e->args[0], v->place, v->item);
}

static void walk(Homes *h, const Visit *v) {
  const Expr *e = v->e;
  switch (e->kind) {
    case EX_GRAPH: note_use(h, v); return;
    case EX_FN: later_scope(h, e->fn->body, v, false); return;
    case EX_BLOCK: walk_block(h, v); return;
    case EX_IF: walk_if(h, v); return;
    case EX_MATCH: walk_match(h, v); return;
    case EX_CALL: walk_call(h, v); break;
    default: break;
  }
  for (int i = e->count - 1; i >= 0; i--)
    later(h, e->args[i], v->place, v->item);
}

/* --- Placing ------------------------------------------------------------- */

/* Moves a position outward by one place; false at the outermost, or where the
 * way leads into the value of a node that is never used. */
static bool outward(Spot **place, int *item) {
  const Spot *p = *place;
  if (p->value) {
    *item = p->value->home_item;
    *place = p->value->home;
  } else {
    *item = p->item;
    *place = p->up;
  }
  return *place != NULL;
}

/* Is the position evaluated at all? */
static bool is_live(Spot *place, int item) {
  do {
    if (place->value && !place->value->home) return false;
  } while (outward(&place, &item));
  return true;
}

static const Spot *scope_of(Spot *place) {
  int item;
  while (!place->scope && outward(&place, &item)) {
  }
  return place;
}

/* The innermost place that holds both; *item receives the earlier of the items
 * that they lie in. */
static Spot *common(Homes *h, Spot *a, int a_item, Spot *b, int b_item,
                    int *item) {
  uint32_t mark = ++h->mark;
  Spot *p = a;
  int at = a_item;
  do p->mark = mark;
  while (outward(&p, &at));
  while (b->mark != mark && outward(&b, &b_item)) {
  }
  while (a != b && outward(&a, &a_item)) {
  }
  *item = a_item < b_item ? a_item : b_item;
  return b;
}

/* A node's value is a place only until the node is placed. */
static void settle(Spot **place, int *item) {
  while ((*place)->value && outward(place, item)) {
  }
}

/* Does the way from the home down to the first use enter a branch or an arm
 * before any function?  The value of a node that sinks lies in one, too. */
static bool first_use_is_conditional(const Node *n) {
  for (const Use *use = n->uses; use; use = use->next) {
    Spot *p = use->place;
    int item = use->item;
    if (!is_live(p, item)) continue;
    bool conditional = false;
    while (p != n->home) {
      if (p->scope) conditional = p->conditional;
      if (p->value) conditional |= p->value->node.sinks;
      if (!outward(&p, &item)) break;
    }
    return conditional;
  }
  return false;
}

/* Is the block all that an item of the block around it evaluates? */
static bool is_whole_item(const Spot *p) {
  if (p->scope || p->value || !p->up->e || p->up->e->kind != EX_BLOCK)
    return false;
  const Block *around = p->up->e->block;
  if (p->item == around->count) return around->result == p->e;
  const Binding *b = &around->bindings[p->item];
  return b->kind != BIND_AND && b->value == p->e;
}

static bool may_flatten(const Spot *from, const Spot *to) {
  for (; from != to; from = from->up)
    if (!is_whole_item(from)) return false;
  return true;
}

/* Where the binding stands, if that is in the home scope. */
static void prefer_binding(Homes *h, Node *n) {
  if (scope_of(n->stands) != scope_of(n->home)) return;
  int item;
  Spot *both =
      common(h, n->home, n->home_item, n->stands, n->stands_item, &item);
  bool flat = may_flatten(n->stands, both);
  n->home = flat ? n->stands : both;
  n->home_item = flat ? n->stands_item : item;
  for (Spot *p = n->stands; flat && p != both; p = p->up) p->flat = true;
}

static void place_node(Homes *h, Node *n) {
  for (const Use *use = n->uses; use; use = use->next) {
    if (!is_live(use->place, use->item)) continue;
    Spot *p = use->place;
    int item = use->item;
    settle(&p, &item);
    if (n->home) {
      p = common(h, n->home, n->home_item, p, item, &item);
      settle(&p, &item);
    }
    n->home = p;
    n->home_item = item;
  }
  if (!n->home) return;
  n->node.sinks = first_use_is_conditional(n);
  prefer_binding(h, n);
}

static bool stays(const Node *n) {
  return n->home == n->stands && n->home_item == n->stands_item;
}

static int item_count(const Spot *p) {
  return p->e->kind == EX_BLOCK ? p->e->block->count + 1 : 1;
}

static void put_before(Homes *h, Node *n) {
  Spot *p = n->home;
  if (!p || stays(n)) return;
  if (!p->before) {
    p->before = ARENA_ARRAY(h->arena, GraphNode *, (size_t)item_count(p));
    if (!p->before) return;
  }
  n->node.next = p->before[n->home_item];
  p->before[n->home_item] = &n->node;
}

/* --- What resolution asks ------------------------------------------------ */

Homes *homes_find(Resolver *r, const Expr *body) {
  Homes *h = mem_alloc_zeroed(r->p->mem, sizeof *h);
  if (!h) return mem_raise_exhausted(r->p->mem), NULL;
  Mem *mem = r->p->mem;
  h->r = r;
  h->arena = &r->c->arena;
  VEC_INIT(&h->nodes, mem);
  VEC_INIT(&h->work, mem);
  ptrmap_init(&h->places, mem);
  ptrmap_init(&h->by_use, mem);
  ptrmap_init(&h->by_binding, mem);
  later_scope(h, body, &(Visit){0}, false);
  while (h->work.len > 0 && !mem_exhausted(mem)) {
    Visit v = VEC_POP(&h->work);
    if (v.define) define(h, &v);
    else walk(h, &v);
  }
  for (size_t i = h->nodes.len; i-- > 0;) place_node(h, h->nodes.data[i]);
  for (size_t i = h->nodes.len; i-- > 0;) put_before(h, h->nodes.data[i]);
  return h;
}

void homes_done(Homes *h) {
  if (!h) return;
  Mem *mem = h->r->p->mem;
  VEC_DONE(&h->nodes);
  VEC_DONE(&h->work);
  ptrmap_done(&h->places);
  ptrmap_done(&h->by_use);
  ptrmap_done(&h->by_binding);
  mem_free(mem, h, sizeof *h);
}

GraphNode *homes_node(const Homes *h, const Expr *use) {
  Node *n = h ? ptrmap_get(&h->by_use, use) : NULL;
  return n ? &n->node : NULL;
}

GraphNode *homes_defined(const Homes *h, const Binding *b) {
  Node *n = h ? ptrmap_get(&h->by_binding, b) : NULL;
  return n && n->home ? &n->node : NULL;
}

GraphNode *homes_stays(const Homes *h, const Binding *b) {
  GraphNode *node = homes_defined(h, b);
  return node && stays((const Node *)node) ? node : NULL;
}

bool homes_flat(const Homes *h, const Expr *block) {
  const Spot *p = h ? ptrmap_get(&h->places, block) : NULL;
  return p && p->flat;
}

GraphNode *homes_before(const Homes *h, const Expr *e, int item) {
  const Spot *p = h ? ptrmap_get(&h->places, e) : NULL;
  return p && p->before ? p->before[item] : NULL;
}
