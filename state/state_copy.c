/* Copies values from one session to another.  Objects are copied; tensors share
 * their elements until one side writes.  Sharing and cycles are preserved.
 *
 * As in a copying collector (Cheney 1970) each object is first copied as a
 * shell, byte for byte, whose fields still point to the originals; the shells
 * that are still to be completed are on a list, here a stack.  A map takes the
 * place of forwarding pointers, as the originals live on:
 *
 *   original  A -> B -> C        done   { B: B' }     (B has two references)
 *   copies    A' -> B'           open   [ B' ]        (still leads to C)
 *
 * Objects with one reference need no entry in the map: they are met once.
 *
 * When memory runs out, copies that could not be made are NULL and the copying
 * ends with false; what was made is dropped with the session or the moves that
 * it was for. */
#include <string.h>

#include "state/state.h"
#include "vm/machine.h"

typedef struct Copier {
  const Session *from;
  Session *to;
  /* original -> copy, for objects with more than one reference */
  PtrMap done;
  VEC(Obj *) open; /* copies whose fields still point to the originals */
  bool failed;
} Copier;

/* Allocates in the session that receives. */
static void copier_init(Copier *c, const Session *from, Session *to) {
  *c = (Copier){.from = from, .to = to};
  ptrmap_init(&c->done, to->mem);
  VEC_INIT(&c->open, to->mem);
}

static void copier_done(Copier *c) {
  ptrmap_done(&c->done);
  VEC_DONE(&c->open);
}

/* --- One object --------------------------------------------------------- */

/* A header in the new session's heap over the same buffer, which counts one
 * more reference: whoever wants to write sees that it is shared. */
static Obj *copy_tensor(Copier *c, const Tensor *t) {
  Tensor *copy =
      tensor_view(&c->to->store.heap, t, t->rank, t->shape, t->strides, 0);
  return copy ? &copy->obj : NULL;
}

/* Copies an object's bytes, with a count of one.  copy_rest replaces its
 * fields.  The cell enters the list of the store that collects cycles. */
static Obj *copy_shell(Copier *c, const Obj *o) {
  size_t size =
      o->size == SIZE_REF ? sizeof(RefCell) : cell_bytes((const Cell *)o);
  Obj *copy = VEC_RESERVE(&c->open, 1)
                  ? pool_alloc(&c->to->store.heap.pool, size)
                  : NULL;
  if (!copy) return NULL;
  memcpy(copy, o, size);
  copy->count = 1;
  if (o->size == SIZE_REF && o->mask & REF_CYCLIC)
    cycle_add(&c->to->store, (RefCell *)copy);
  VEC_PUSH(&c->open, copy);
  return copy;
}

/* An owned reference to the copy; NULL when memory ran out.  Immortal objects
 * belong to the program, which both sessions share. */
static Obj *copy_of(Copier *c, Obj *o) {
  if (!o || o->count < 0) return o;
  bool shared = o->count > 1 || o->size == SIZE_REF;
  Obj *copy = shared ? ptrmap_get(&c->done, o) : NULL;
  if (copy) {
    obj_keep(copy);
    return copy;
  }
  copy =
      o->size == SIZE_TENSOR ? copy_tensor(c, (Tensor *)o) : copy_shell(c, o);
  if (!copy) c->failed = true;
  if (copy && shared) ptrmap_put(&c->done, o, copy);
  return copy;
}

/* --- What it leads to --------------------------------------------------- */

/* Replaces each counted field by an owned reference to its copy. */
static void copy_fields(Copier *c, Obj *o) {
  if (o->size == SIZE_REF) {
    RefCell *r = (RefCell *)o;
    if (o->mask & REF_COUNTED) r->content.obj = copy_of(c, r->content.obj);
    return;
  }
  Cell *cell = (Cell *)o;
  Value *fields = cell_fields(cell);
  for (uint64_t i = 0; i < cell_count(cell); i++)
    if (cell_field_counted(cell, i)) fields[i].obj = copy_of(c, fields[i].obj);
}

/* Completes every copy; false when memory ran out, with NULL for the missing
 * parts. */
static bool copy_rest(Copier *c) {
  while (c->open.len) {
    Obj *o = VEC_POP(&c->open);
    copy_fields(c, o);
  }
  return !c->failed && !mem_exhausted(c->to->mem);
}

/* --- Forks -------------------------------------------------------------- */

static bool copy_host_cells(Copier *c) {
  const Session *from = c->from;
  for (size_t i = 0; i < from->host_cells.len; i++) {
    HostCell h = from->host_cells.data[i];
    if (!VEC_RESERVE(&c->to->host_cells, 1)) return false;
    h.cell = (RefCell *)copy_of(c, &h.cell->obj);
    if (!h.cell) return false;
    VEC_PUSH(&c->to->host_cells, h);
  }
  return true;
}

/* Bits are copied as they are.  A slot whose copy could not be made counts as
 * undefined, so that dropping the session finds nothing half-made in it. */
static bool copy_globals(Copier *c) {
  const Session *from = c->from;
  if (!session_values_reserve(c->to, from->value_count)) return false;
  for (size_t i = 0; i < from->value_count; i++) {
    GlobalSlot slot = from->values[i];
    if (!slot.defined) continue;
    if (type_is_counted(from->code->program->values.data[i]->type)) {
      slot.value.obj = copy_of(c, slot.value.obj);
      slot.defined = slot.value.obj != NULL;
    }
    c->to->values[i] = slot;
  }
  return copy_host_cells(c) && copy_rest(c);
}

/* The new session runs the same code and has limits, hooks and diagnostics of
 * its own. */
Session *session_fork(const Session *s, Mem *mem, Limits limits,
                      SessionHooks hooks, Diags *diags) {
  Session *to = session_new(s->code, mem, limits, hooks, diags);
  if (!to) return NULL;
  Copier c;
  copier_init(&c, s, to);
  bool whole = copy_globals(&c);
  copier_done(&c);
  if (whole) return to;
  session_free(to);
  return NULL;
}

/* --- Transplants -------------------------------------------------------- */

typedef struct Move {
  RefCell *from, *to;
  Value content;
} Move;

typedef VEC(Move) Moves;

/* Cells correspond by their paths.  Both lists are in the same order when the
 * sessions have the same shape, so the next cell is tried first.  `done` starts
 * with these pairs: where a content leads to a cell of `from`, its copy leads
 * to that cell's partner. */
static void find_moves(const StateList *from, const StateList *to, Moves *moves,
                       PtrMap *done) {
  for (size_t i = 0, k = 0; i < from->cells.len; i++) {
    const StateCell *a = &from->cells.data[i], *b = NULL;
    if (k < to->cells.len && !strcmp(to->cells.data[k].path, a->path))
      b = &to->cells.data[k++];
    else b = state_find(to, a->path);
    if (!b || b->type != a->type) continue;
    VEC_PUSH(moves, (Move){.from = a->cell, .to = b->cell});
    ptrmap_put(done, a->cell, b->cell);
  }
}

/* All contents are copied before the first cell is written, so a failure
 * changes nothing. */
static bool transplant(Copier *c, Moves *moves) {
  for (size_t i = 0; i < moves->len; i++) {
    Move *m = &moves->data[i];
    m->content = m->from->content;
    if (m->from->obj.mask & REF_COUNTED)
      m->content.obj = copy_of(c, m->content.obj);
  }
  bool whole = copy_rest(c);
  for (size_t i = 0; i < moves->len; i++) {
    Move *m = &moves->data[i];
    if (whole) cell_set_take(c->to, m->to, m->content);
    else if (m->from->obj.mask & REF_COUNTED && m->content.obj)
      obj_drop(&c->to->store, m->content.obj);
  }
  return whole;
}

bool state_transplant(Session *from, Session *to) {
  StateList a, b;
  Copier c;
  Moves moves;
  VEC_INIT(&moves, to->mem);
  copier_init(&c, from, to);
  bool ok = state_list(from, true, &a), listed = state_list(to, true, &b);
  ok = ok && listed;
  if (ok) find_moves(&a, &b, &moves, &c.done);
  ok = ok && transplant(&c, &moves);
  state_list_done(&a);
  state_list_done(&b);
  copier_done(&c);
  VEC_DONE(&moves);
  return ok;
}
