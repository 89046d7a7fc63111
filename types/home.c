/* Home scopes of graph variables.
 *
 * `%3 = e;` names a node of a graph, as Relay's printer writes shared
 * expressions.  The node's home scope is the innermost function body, `fn`
 * body, `if` branch or match arm that holds all its uses.  It is evaluated
 * where its binding stands, if that is in the home scope; else just before the
 * item of the home scope that holds the first use.  A block that is an item's
 * whole value gives its items to the block around it when something there uses
 * its nodes; a binding deeper in an operand goes before the item.
 *
 *   add({ %0 = abs(%x); %0 }, %0)             home: before the add
 *   if (%c) { %0 = abs(%x); %0 } else { 1 }   home: the branch
 *
 * The places of a body form a tree of Spots, and a position is a Spot and the
 * number of an item in it.  A node's uses are positions, and its home is their
 * lowest common ancestor:
 *
 *   body            [0: let %a]  [1: if]  [2: result]
 *                                   |
 *                     branch 1 -----+----- branch 2
 *                     [use of %3]          [use of %3]      home: body, item 1
 *
 * The body is walked once, and for each node the places of its uses are noted.
 * Nodes are then placed from the last to the first: what is used in another
 * node's value is used where that node went, and what only an unused node uses
 * is unused.  Definitions stand above uses, so when a node is placed all nodes
 * that use it have been.
 *
 * resolve.c asks what goes before which item.  A walk outward costs the depth
 * of nesting, so placing costs uses times depth. */
#include "ir/walk.h"
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
  uint32_t number; /* in the order of the text */
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
  uint32_t first; /* the number of what evaluates it first */
} Node;

/* Where an expression lies. */
typedef struct Position {
  Spot *place;
  int item;
  Spot *block; /* its own spot, if it is a block */
} Position;

struct Homes {
  Resolver *r;
  Arena *arena;            /* the checker's */
  VEC(Node *) nodes;       /* in the order of their definitions */
  VEC(Position) under_way; /* of entered expressions */
  PtrMap places;           /* Expr -> Spot */
  PtrMap by_use;           /* Expr of a use -> Node */
  PtrMap by_binding;       /* Binding -> Node */
  struct {
    Node **slots;
    size_t cap;
  } by_index; /* open addressing */
  uint32_t mark, uses;
};

/* --- Nodes by their numbers ---------------------------------------------- */

/* Linear probing in a table at most half full.  The multiplier is odd, so it
 * permutes the low bits, and indices that follow one another, as they mostly
 * do, never collide. */
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

/* `value` is where its value was found to lie.  `place` and `item` are where
 * the binding stands. */
static void define(Homes *h, const Binding *b, Spot *place, int item,
                   Spot *value) {
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
  n->stands = place;
  n->stands_item = item;
  n->value = value;
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

/* A use above the definition finds no node; resolve.c reports it.  Uses are
 * kept in the order of the text, as the first one matters. */
static void note_use(Homes *h, const Expr *use, const Position *at) {
  Node *n = node_at(h, use->index);
  if (!n) return;
  ptrmap_put(&h->by_use, use, n);
  Use *made = ARENA_NEW(h->arena, Use);
  *made = (Use){at->place, at->item, h->uses++, NULL};
  if (n->uses) n->last_use->next = made;
  else n->uses = made;
  n->last_use = made;
}

/* A guard is evaluated only if its pattern took the value, so it is conditional
 * like its arm. */
static bool is_branch(const ExprWalk *w) {
  return w->role == ROLE_ARM || w->role == ROLE_GUARD ||
         (w->role == ROLE_ARG && w->parent->kind == EX_IF && w->index > 0);
}

/* An operand lies where what it is an operand of does, an item of a block in
 * the block.  The value of a graph variable has a spot of its own, which goes
 * where the variable goes, and so has the body of a scope. */
static Position position_of(Homes *h, const ExprWalk *w) {
  Position out = h->under_way.len ? VEC_LAST(&h->under_way) : (Position){0};
  if (w->role == ROLE_VALUE || w->role == ROLE_RESULT) {
    out = (Position){.place = out.block, .item = w->index};
    if (!expr_walk_is_value(w, BIND_GRAPH)) return out;
    return (Position){.place = place_new(h, out.place, out.item, NULL)};
  }
  bool branch = is_branch(w);
  if (!branch && w->role != ROLE_BODY && w->role != ROLE_ROOT)
    return (Position){.place = out.place, .item = out.item};
  Spot *scope = place_new(h, out.place, out.item, w->at);
  scope->scope = true;
  scope->conditional = branch;
  return (Position){.place = scope};
}

/* A block that is a scope's body shares the scope's spot. */
static void enter(Homes *h, const ExprWalk *w) {
  const Expr *e = w->at;
  Position at = position_of(h, w);
  if (e->kind == EX_GRAPH) note_use(h, e, &at);
  if (e->kind == EX_BLOCK) {
    at.block = ptrmap_get(&h->places, e);
    if (!at.block) at.block = place_new(h, at.place, at.item, e);
  }
  VEC_PUSH(&h->under_way, at);
}

/* A graph variable is defined after its value. */
static void leave(Homes *h, const ExprWalk *w) {
  Position at = VEC_POP(&h->under_way);
  if (expr_walk_is_value(w, BIND_GRAPH))
    define(h, expr_walk_binding(w), VEC_LAST(&h->under_way).block, w->index,
           at.place);
}

static void walk_body(Homes *h, Mem *mem, const Expr *body) {
  ExprWalk w;
  expr_walk_start(&w, mem, WALK_ENTER | WALK_LEAVE, body);
  while (expr_walk_next(&w))
    if (w.event == WALK_ENTER) enter(h, &w);
    else leave(h, &w);
  expr_walk_end(&w);
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

/* The body of the definition is a scope, so the way outward always ends at
 * one. */
static const Spot *scope_of(Spot *place) {
  int item;
  while (!place->scope && outward(&place, &item)) {
  }
  return place;
}

/* The innermost place that holds both; *item receives the earlier of the items
 * that they lie in.  Marks the way outward from one position, goes outward from
 * the other to the first mark, and brings the first one there.  A fresh mark
 * for each call needs no clearing. */
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

/* A use in the value of a node comes where that node is evaluated first, not
 * where its binding stands: so the order is the same once the node has been
 * printed at its home. */
static uint32_t order_of(const Use *use) {
  Spot *p = use->place;
  int item = use->item;
  while (!p->value)
    if (!outward(&p, &item)) return use->number;
  return p->value->first;
}

static const Use *first_use(const Node *n) {
  const Use *first = NULL;
  for (const Use *use = n->uses; use; use = use->next)
    if (is_live(use->place, use->item) &&
        (!first || order_of(use) < order_of(first)))
      first = use;
  return first;
}

static bool lies_in(Spot *place, const Spot *around) {
  int item;
  while (place != around && outward(&place, &item)) {
  }
  return place == around;
}

/* The value of a node may hold all uses of another in a block, which opens no
 * scope.  They are uses where the first node went, as they are without the
 * block, unless the binding lies in that value, too. */
static void leave_values(Node *n) {
  Spot *p = n->home;
  int item = n->home_item;
  while (!p->scope && outward(&p, &item)) {
    if (!p->value || lies_in(n->stands, p)) continue;
    settle(&p, &item);
    n->home = p;
    n->home_item = item;
  }
}

/* Does the way from the home down to a use enter a branch or an arm before any
 * function?  The value of a node that sinks lies in one, too. */
static bool is_conditional(const Node *n, const Use *use) {
  Spot *p = use->place;
  int item = use->item;
  bool conditional = false;
  while (p != n->home) {
    if (p->scope) conditional = p->conditional;
    if (p->value) conditional |= p->value->node.sinks;
    if (!outward(&p, &item)) break;
  }
  return conditional;
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

/* Every block on the way must be all of its item: else an operand that is
 * evaluated before the block would be evaluated after what the block binds. */
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

/* The home is the common place of all live uses, one after the other; its item
 * is the first that holds a use. */
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
  leave_values(n);
  const Use *first = first_use(n);
  n->first = order_of(first);
  n->node.sinks = is_conditional(n, first);
  prefer_binding(h, n);
}

static bool stays(const Node *n) {
  return n->home == n->stands && n->home_item == n->stands_item;
}

static int item_count(const Spot *p) {
  return p->e->kind == EX_BLOCK ? p->e->block->count + 1 : 1;
}

/* Called from the last node to the first and adding in front, so nodes of one
 * item come out in the order of their definitions, in which each sees those
 * that it uses. */
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
  VEC_INIT(&h->under_way, mem);
  ptrmap_init(&h->places, mem);
  ptrmap_init(&h->by_use, mem);
  ptrmap_init(&h->by_binding, mem);
  walk_body(h, mem, body);
  /* Uses in another node's value count where that node went, so later nodes are
   * placed first. */
  for (size_t i = h->nodes.len; i-- > 0;) place_node(h, h->nodes.data[i]);
  for (size_t i = h->nodes.len; i-- > 0;) put_before(h, h->nodes.data[i]);
  return h;
}

void homes_done(Homes *h) {
  if (!h) return;
  Mem *mem = h->r->p->mem;
  VEC_DONE(&h->nodes);
  VEC_DONE(&h->under_way);
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
