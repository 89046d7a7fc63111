/* Cycles.  Every cycle passes through a mutable cell whose content may lead
 * back to it; those are in the session's list.  Once there are many, trial
 * deletion looks for what only cycles keep alive: of all that the listed cells
 * reach, an object whose count is explained by references from within is
 * garbage, unless something that is not reaches it.  The threshold doubles
 * with the cells that stay.  No recursion; memory runs out: no collection. */
#include "interp/vm.h"

enum { THRESHOLD_LEAST = 10000 };

void cycle_add(Session *s, RefCell *r) {
  r->prev = NULL;
  r->next = s->cells;
  if (s->cells) s->cells->prev = r;
  s->cells = r;
  s->cell_count++;
}

void cycle_remove(Session *s, RefCell *r) {
  if (r->prev) r->prev->next = r->next;
  else s->cells = r->next;
  if (r->next) r->next->prev = r->prev;
  s->cell_count--;
}

typedef struct Node {
  Obj *obj;
  int64_t inside; /* references from other nodes */
  bool alive;
} Node;

typedef struct Trial {
  VEC(Node) nodes;
  VEC(size_t) stack;
  PtrMap index; /* Obj -> its node's index, plus 1 */
} Trial;

static Node *trial_node(Trial *t, Obj *o) {
  uintptr_t i = (uintptr_t)ptrmap_get(&t->index, o);
  return i ? &t->nodes.data[i - 1] : NULL;
}

static Node *trial_add(Trial *t, Obj *o) {
  Node *known = trial_node(t, o);
  if (known) return known;
  size_t len = t->nodes.len;
  VEC_PUSH(&t->nodes, (Node){.obj = o});
  if (t->nodes.len == len) return NULL;
  ptrmap_put(&t->index, o, (void *)(uintptr_t)(len + 1));
  return &t->nodes.data[len];
}

typedef void (*ChildFn)(Trial *t, Obj *child);

static void each_child(Trial *t, Obj *o, ChildFn f) {
  if (o->size == SIZE_REF) {
    RefCell *r = (RefCell *)o;
    if (o->mask & REF_COUNTED) f(t, r->content.obj);
    return;
  }
  Cell *c = (Cell *)o;
  for (uint64_t i = 0; i < cell_count(c); i++)
    if (cell_field_counted(c, i)) f(t, cell_fields(c)[i].obj);
}

static bool is_candidate(const Obj *o) {
  return o && o->count > 0 && o->size != SIZE_TENSOR;
}

static void count_child(Trial *t, Obj *child) {
  if (!is_candidate(child)) return;
  Node *n = trial_add(t, child);
  if (n) n->inside++;
}

static void revive_child(Trial *t, Obj *child) {
  Node *n = is_candidate(child) ? trial_node(t, child) : NULL;
  if (!n || n->alive) return;
  n->alive = true;
  VEC_PUSH(&t->stack, (size_t)(n - t->nodes.data));
}

/* Marks what is reached from outside. */
static void revive(const Session *s, Trial *t) {
  for (size_t i = 0; i < t->nodes.len && !session_should_stop(s); i++) {
    Node *n = &t->nodes.data[i];
    if (n->obj->count <= n->inside || n->alive) continue;
    n->alive = true;
    VEC_PUSH(&t->stack, i);
  }
  while (t->stack.len && !session_should_stop(s)) {
    size_t i = VEC_POP(&t->stack);
    each_child(t, t->nodes.data[i].obj, revive_child);
  }
}

static bool is_garbage_cell(const Node *n) {
  return !n->alive && n->obj->size == SIZE_REF;
}

/* Empties the dead cells; counting frees the rest.  From the second loop on
 * only dead cells, which are held, may be looked at. */
static void sweep(Session *s, Trial *t) {
  for (size_t i = 0; i < t->nodes.len; i++) {
    Node *n = &t->nodes.data[i];
    n->alive = !is_garbage_cell(n);
    if (!n->alive) obj_keep(n->obj);
  }
  for (size_t i = 0; i < t->nodes.len; i++) {
    Node *n = &t->nodes.data[i];
    if (n->alive) continue;
    RefCell *r = (RefCell *)n->obj;
    Obj *content = r->obj.mask & REF_COUNTED ? r->content.obj : NULL;
    r->obj.mask &= REF_CYCLIC;
    if (content) obj_drop(s, content);
  }
  for (size_t i = 0; i < t->nodes.len; i++)
    if (!t->nodes.data[i].alive) obj_drop(s, t->nodes.data[i].obj);
}

/* Not while something is half taken apart.  A request to stop ends the search,
 * not the sweep. */
void cycle_collect(Session *s) {
  Trial t = {0};
  if (s->dying) return;
  VEC_INIT(&t.nodes, s->mem);
  VEC_INIT(&t.stack, s->mem);
  ptrmap_init(&t.index, s->mem);
  for (RefCell *r = s->cells; r && !session_should_stop(s); r = r->next)
    trial_add(&t, &r->obj);
  for (size_t i = 0; i < t.nodes.len && !session_should_stop(s); i++)
    each_child(&t, t.nodes.data[i].obj, count_child);
  revive(s, &t);
  if (!session_should_stop(s)) sweep(s, &t);
  mem_clear_exhausted(s->mem);
  VEC_DONE(&t.nodes);
  VEC_DONE(&t.stack);
  ptrmap_done(&t.index);
  s->cell_threshold = s->cell_count * 2;
  if (s->cell_threshold < THRESHOLD_LEAST) s->cell_threshold = THRESHOLD_LEAST;
}
