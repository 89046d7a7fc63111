/* Collects cycles by trial deletion (Bacon and Rajan, "Concurrent Cycle
 * Collection in Reference Counted Systems", 2001).
 *
 * Values are immutable, so every cycle passes through a mutable cell whose
 * content may lead back to it (REF_CYCLIC, decided by type).  The store lists
 * these cells.  Once there are many, a search takes as nodes the listed cells
 * and all that they reach, and counts for each node the references that come
 * from other nodes:
 *
 *   more references than come from nodes   alive: something outside holds it
 *   reachable from a node that is alive    alive
 *   any other                              garbage
 *
 * A search visits each node and each reference a few times.  The next one waits
 * until there are twice as many cells as are left now, so that searches become
 * rarer the more cells stay alive.  A run that is refused memory also collects
 * before it gives up.  Nothing recurses: the nodes themselves are the
 * worklist. */
#include "value/value.h"

void cycle_add(Store *s, RefCell *r) {
  r->prev = NULL;
  r->next = s->cells;
  if (s->cells) s->cells->prev = r;
  s->cells = r;
  s->cell_count++;
}

void cycle_remove(Store *s, RefCell *r) {
  if (r->prev) r->prev->next = r->next;
  else s->cells = r->next;
  if (r->next) r->next->prev = r->prev;
  s->cell_count--;
}

/* While a search lasts, an object holds the number of its node in place of its
 * count, from 1 on, and the node keeps the count.  So no table of objects is
 * needed: a search takes 16 bytes for each object, and 4 more while the object
 * waits on the search's stack. */
typedef struct Node {
  Obj *obj;
  int32_t count;        /* the object's */
  uint32_t inside : 31; /* references from other nodes */
  uint32_t alive : 1;
} Node;

typedef struct Trial {
  Mem mem;
  const _Atomic int *stop;
  VEC(Node) nodes;
  VEC(int32_t) stack; /* numbers of nodes */
} Trial;

/* The node of an object, or NULL.  Adding nodes moves them: the pointer is good
 * until the next trial_add(). */
static Node *trial_node(Trial *t, const Obj *o) {
  size_t i = (size_t)o->count - 1;
  return i < t->nodes.len && t->nodes.data[i].obj == o ? &t->nodes.data[i]
                                                       : NULL;
}

/* More objects than counts can number count as memory that ran out. */
static Node *trial_add(Trial *t, Obj *o) {
  Node *known = trial_node(t, o);
  if (known) return known;
  size_t len = t->nodes.len;
  if (len == INT32_MAX) mem_raise_exhausted(&t->mem);
  else VEC_PUSH(&t->nodes, ((Node){.obj = o, .count = o->count}));
  if (t->nodes.len == len) return NULL;
  o->count = (int32_t)(len + 1);
  return &t->nodes.data[len];
}

/* Shall the search end early? */
static bool ended(const Trial *t) {
  return mem_exhausted(&t->mem) ||
         atomic_load_explicit(t->stop, memory_order_relaxed);
}

typedef void (*ChildFn)(Trial *t, Obj *child);

/* Calls `f` for what each counted field points to. */
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

/* Not an immortal object, whose references are not counted, and not a tensor,
 * which leads nowhere. */
static bool is_candidate(const Obj *o) {
  return o && o->count > 0 && o->size != SIZE_TENSOR;
}

/* Adds the child as a node when it is new, so the loop over the nodes that
 * calls this goes on into it: breadth first. */
static void count_child(Trial *t, Obj *child) {
  if (!is_candidate(child)) return;
  Node *n = trial_add(t, child);
  if (n) n->inside++;
}

static void revive_child(Trial *t, Obj *child) {
  Node *n = is_candidate(child) ? trial_node(t, child) : NULL;
  if (!n || n->alive) return;
  n->alive = true;
  VEC_PUSH(&t->stack, child->count);
}

/* Marks as alive all that is reachable from a node with outside references. */
static void revive(Trial *t) {
  for (size_t i = 0; i < t->nodes.len && !ended(t); i++) {
    Node *n = &t->nodes.data[i];
    if (n->count <= (int32_t)n->inside || n->alive) continue;
    n->alive = true;
    VEC_PUSH(&t->stack, n->obj->count);
  }
  while (t->stack.len && !ended(t)) {
    int32_t number = VEC_POP(&t->stack);
    each_child(t, t->nodes.data[number - 1].obj, revive_child);
  }
}

static bool is_garbage_cell(const Node *n) {
  return !n->alive && n->obj->size == SIZE_REF;
}

/* Drops a cell's content.  The mask is cleared first: dropping may come back to
 * this cell, which then holds nothing to drop again. */
static void empty(Store *s, RefCell *r) {
  Obj *content = r->obj.mask & REF_COUNTED ? r->content.obj : NULL;
  r->obj.mask &= REF_CYCLIC;
  if (content) obj_drop(s, content);
}

/* Empties the dead cells; reference counting frees the rest.  Three passes,
 * because freeing one dead object may free another: first each dead cell gets
 * one more reference, which keeps it here until the end; then all are emptied,
 * which breaks every cycle; then the references go.  After the first loop other
 * objects may be gone, so only the dead cells may be touched.  Returns their
 * number. */
static size_t sweep(Store *s, Trial *t) {
  size_t dead = 0;
  for (size_t i = 0; i < t->nodes.len; i++) {
    Node *n = &t->nodes.data[i];
    n->alive = !is_garbage_cell(n);
    if (!n->alive) obj_keep(n->obj), dead++;
  }
  for (size_t i = 0; i < t->nodes.len; i++)
    if (!t->nodes.data[i].alive) empty(s, (RefCell *)t->nodes.data[i].obj);
  for (size_t i = 0; i < t->nodes.len; i++)
    if (!t->nodes.data[i].alive) obj_drop(s, t->nodes.data[i].obj);
  return dead;
}

/* Out of memory or told to stop, the search ends without a sweep: a graph that
 * was not visited whole proves nothing dead, and garbage can wait. */
static size_t search(Store *s, Trial *t) {
  VEC_INIT(&t->nodes, &t->mem);
  VEC_INIT(&t->stack, &t->mem);
  for (RefCell *r = s->cells; r && !ended(t); r = r->next)
    trial_add(t, &r->obj);
  for (size_t i = 0; i < t->nodes.len && !ended(t); i++)
    each_child(t, t->nodes.data[i].obj, count_child);
  revive(t);
  for (size_t i = 0; i < t->nodes.len; i++)
    t->nodes.data[i].obj->count = t->nodes.data[i].count;
  s->cycle_work += t->nodes.len;
  size_t dead = ended(t) ? 0 : sweep(s, t);
  VEC_DONE(&t->nodes);
  VEC_DONE(&t->stack);
  return dead;
}

/* Must not run while an object is half freed.  A request to stop ends the
 * search, but not the sweep, which would leave dead cells half emptied. */
static size_t collect(Store *s, Mem tables) {
  Trial t = {.mem = tables, .stop = &s->stop};
  size_t dead = s->dying ? 0 : search(s, &t);
  s->cell_threshold = s->cell_count * 2;
  if (s->cell_threshold < CYCLE_THRESHOLD) s->cell_threshold = CYCLE_THRESHOLD;
  return dead;
}

/* Within a run the search's tables respect the memory limit. */
void cycle_collect(Store *s) {
  Mem *mem = s->heap.mem, tables = mem_local(mem);
  tables.limit = mem->limit > mem->live ? mem->limit - mem->live : 0;
  collect(s, tables);
}

/* --- When memory runs out ------------------------------------------------ */

enum { WORK_FREE = 1 << 20 };

/* Called when memory is refused.  To keep a run near its limit from collecting
 * all the time, the objects visited are at most twice the objects allocated. */
static bool relieve(void *owner) {
  Store *s = owner;
  if (!s->cells || s->cycle_work > WORK_FREE + 2 * s->heap.pool.allocations)
    return false;
  /* Nothing is left below the limit, so the tables get a small limit of their
   * own. */
  Mem tables = {.limit = s->heap.mem->live / 4 + MEM_RESERVE};
  store_relieve(s, false);
  size_t dead = collect(s, tables);
  store_relieve(s, true);
  return dead > 0;
}

void store_relieve(Store *s, bool on) {
  s->heap.pool.relieve = on ? relieve : NULL;
  s->heap.pool.owner = s;
}

/* --- The end -------------------------------------------------------------- */

/* At this point only other cells refer to cells: all values of the session have
 * been dropped.  So all listed cells are emptied, each held by one more
 * reference meanwhile, as in sweep(). */
void cycle_free_all(Store *s) {
  for (RefCell *r = s->cells; r; r = r->next) obj_keep(&r->obj);
  for (RefCell *r = s->cells; r; r = r->next) empty(s, r);
  for (RefCell *r = s->cells, *next; r; r = next) {
    next = r->next;
    obj_drop(s, &r->obj);
  }
}
