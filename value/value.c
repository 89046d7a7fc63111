/* Cells and references: making, keeping, dropping.
 *
 * Freeing needs no types, since the header says which fields are counted, and
 * no stack, since values may be nested without bound (a list of ten million
 * conses): like Deutsch, Schorr and Waite's marking (Schorr and Waite, CACM
 * 1967), it threads the way back through the dead cells.  A dead cell's count
 * holds the index of the field being freed, and that field holds the parent:
 *
 *   going down       parent --field i--> o --field j--> child
 *   counts           parent: i           o: j
 *   what is stored   in field i the      in field j
 *                    parent's parent     the parent
 *
 * A child in the last counted field needs no way back: its parent's memory is
 * released before the child is entered, so a list is freed as a loop.
 *
 * A store that is told to stop defers the rest, so that freeing ten million
 * cells does not delay it.  What is left hangs in `dying` until
 * store_free_rest(). */
#include <string.h>

#include "value/value.h"

/* Can a value of this type lead to a mutable cell?  A function may have
 * captured one, and an ADT may hold one: only tensors, and tuples of such,
 * cannot.  An ADT counts as able to without a look at its constructors.  Too
 * often true costs a place in the store's list; too often false would leak.
 * Recurses through tuple types to a depth that the checker bounds. */
bool type_may_cycle(const Type *type) {
  if (type->kind == TY_TUPLE) {
    for (int i = 0; i < type->count; i++)
      if (type_may_cycle(type->args[i])) return true;
    return false;
  }
  return type->kind != TY_TENSOR;
}

/* --- Layout ------------------------------------------------------------- */

uint64_t cell_count(const Cell *c) {
  return c->obj.size == SIZE_BIG ? c->fields[0].u64 : c->obj.size;
}

size_t cell_bytes(const Cell *c) {
  uint64_t words = cell_count(c);
  if (c->obj.size == SIZE_BIG) words += cell_big_offset(c);
  return sizeof *c + (size_t)words * sizeof(Value);
}

/* --- Freeing ------------------------------------------------------------ */

/* The index of the next counted field, from `i` on; `n` for none. */
static inline uint64_t next_counted(const Cell *c, uint64_t i, uint64_t n) {
  if (c->obj.size != SIZE_BIG) {
    unsigned left = (unsigned)c->obj.mask >> i;
    return left ? i + (uint64_t)__builtin_ctz(left) : n;
  }
  while (i < n) {
    uint64_t left = c->fields[1 + i / 64].u64 >> (i % 64);
    if (left) return i + (uint64_t)__builtin_ctzll(left);
    i = (i / 64 + 1) * 64;
  }
  return n;
}

/* Drops one reference; true when the object must be taken apart as a cell.
 * Tensors have no children, so they are freed here.  An immortal object's count
 * is negative and stays. */
static bool dies(Store *s, Obj *o) {
  if (o->count > 1) {
    o->count--;
    return false;
  }
  if (o->count != 1) return false;
  if (o->size != SIZE_TENSOR) return true;
  tensor_drop(&s->heap, (Tensor *)o);
  return false;
}

/* A listed cell leaves the store's list with its memory: the list is not
 * counted, so it may not point to freed cells. */
static void release_memory(Store *s, Obj *o) {
  if (o->size == SIZE_REF) {
    RefCell *r = (RefCell *)o;
    if (o->mask & REF_CYCLIC) cycle_remove(s, r);
    pool_free(&s->heap.pool, r, sizeof *r);
  } else {
    pool_free(&s->heap.pool, o, cell_bytes((Cell *)o));
  }
}

/* A mutable cell is taken apart like a cell of one field. */
static inline Value *object_fields(Obj *o) {
  return o->size == SIZE_REF ? &((RefCell *)o)->content
                             : cell_fields((Cell *)o);
}

static inline uint64_t object_next(Obj *o, uint64_t i) {
  if (o->size == SIZE_REF) return i == 0 && o->mask & REF_COUNTED ? 0 : 1;
  return next_counted((Cell *)o, i, cell_count((Cell *)o));
}

static inline uint64_t object_count(Obj *o) {
  return o->size == SIZE_REF ? 1 : cell_count((Cell *)o);
}

/* Drops the fields of `o` from `*at` on, each one reference.  Returns the first
 * child that dies with it, with its index in *at, or NULL when all fields are
 * done. */
static Obj *next_dying(Store *s, Obj *o, uint64_t *at) {
  for (uint64_t i = object_next(o, *at); i < object_count(o);
       i = object_next(o, i + 1)) {
    Obj *child = object_fields(o)[i].obj;
    if (child && dies(s, child)) {
      *at = i;
      return child;
    }
  }
  return NULL;
}

static bool is_last(Obj *o, uint64_t i) {
  return object_next(o, i + 1) >= object_count(o);
}

/* A suspended freeing: `o` from field `at` on, and its chain of parents. */
typedef struct Dying {
  struct Dying *next;
  Obj *o, *parent;
  uint64_t at;
} Dying;

enum { FREE_BLOCK = 1 << 16 }; /* objects freed between two polls of `stop` */

static bool is_stopped(const Store *s) {
  return atomic_load_explicit(&s->stop, memory_order_relaxed) != 0;
}

/* Makes a note of where freeing was interrupted.  False when there is no memory
 * for the note: then the rest must be freed now, which takes none. */
static bool put_off(Store *s, Obj *o, Obj *parent, uint64_t at) {
  bool (*relieve)(void *) = s->heap.pool.relieve;
  s->heap.pool.relieve = NULL; /* no collection while `o` is half taken apart */
  Dying *d = pool_alloc(&s->heap.pool, sizeof *d);
  s->heap.pool.relieve = relieve;
  if (!d) return false;
  *d = (Dying){s->dying, o, parent, at};
  s->dying = d;
  return true;
}

/* Frees `o` from field `at` on, then what waits in the chain of `parent`.  The
 * object's memory is released when no field is left that could need the way
 * back. `free_left` persists from call to call, so that many small values are
 * polled for as often as one large one. */
static void take_apart(Store *s, Obj *o, Obj *parent, uint64_t at) {
  for (int left = s->free_left;; left--) {
    if (left <= 0) {
      left = FREE_BLOCK;
      s->free_left = 0;
      if (is_stopped(s) && put_off(s, o, parent, at)) return;
    }
    Obj *child = next_dying(s, o, &at);
    if (child && !is_last(o, at)) {
      o->count = (int32_t)at;
      object_fields(o)[at].obj = parent;
      parent = o;
      o = child;
      at = 0;
      continue;
    }
    release_memory(s, o);
    if (child) {
      o = child;
      at = 0;
    } else if (parent) {
      o = parent;
      at = (uint64_t)o->count + 1;
      parent = object_fields(o)[at - 1].obj;
    } else {
      s->free_left = left;
      return;
    }
  }
}

void obj_free(Store *s, Obj *o) {
  if (o->size == SIZE_TENSOR) tensor_free(&s->heap, (Tensor *)o);
  else take_apart(s, o, NULL, 0);
}

void store_free_rest(Store *s) {
  while (s->dying && !is_stopped(s)) {
    Dying d = *s->dying;
    pool_free(&s->heap.pool, s->dying, sizeof d);
    s->dying = d.next;
    take_apart(s, d.o, d.parent, d.at);
  }
}

/* --- By type ------------------------------------------------------------ */

void value_keep(const Type *type, Value v) {
  if (type_is_counted(type)) obj_keep(v.obj);
}

void value_drop(Store *s, const Type *type, Value v) {
  if (type_is_counted(type)) obj_drop(s, v.obj);
}

/* --- Making ----------------------------------------------------------- */

Cell *cell_alloc(Pool *pool, int tag, int n) {
  bool big = n > SIZE_SMALL_MAX;
  size_t before = cell_offset_of((uint64_t)n);
  size_t size = sizeof(Cell) + (before + (size_t)n) * sizeof(Value);
  Cell *c = pool_alloc(pool, size);
  if (!c) return NULL;
  memset(c->fields, 0, before * sizeof(Value));
  c->obj = (Obj){.count = 1,
                 .tag = (uint16_t)tag,
                 .size = (uint16_t)(big ? SIZE_BIG : n) & SIZE_BITS};
  if (big) c->fields[0].u64 = (uint64_t)n;
  return c;
}

static void set_counted(Cell *c, int i) {
  if (c->obj.size == SIZE_BIG)
    c->fields[1 + i / 64].u64 |= (uint64_t)1 << (i % 64);
  else c->obj.mask |= (uint16_t)(1u << i) & MASK_BITS;
}

Cell *store_nullary(Store *s, int tag) {
  pthread_mutex_lock(s->shared->lock);
  /* A small request to an arena succeeds, if need be beyond the limit, and a
   * cell that exists is no failure. */
  Cell *c = shared_nullary(s->shared, tag);
  if (mem_exhausted(s->shared->arena->mem))
    mem_clear_exhausted(s->shared->arena->mem);
  pthread_mutex_unlock(s->shared->lock);
  return c;
}

/* Owns the fields from the start: they go into the cell, or are dropped when
 * there is none. */
bool value_cell(Store *s, int tag, int n, const Type *const *types,
                const Value *fields, Value *out) {
  Cell *c = n ? cell_alloc(&s->heap.pool, tag, n) : store_nullary(s, tag);
  if (!c) {
    for (int i = 0; i < n; i++) value_drop(s, types[i], fields[i]);
    return false;
  }
  for (int i = 0; i < n; i++) {
    cell_fields(c)[i] = fields[i];
    if (type_is_counted(types[i])) set_counted(c, i);
  }
  out->cell = c;
  return true;
}

bool value_tuple(Store *s, const Type *type, const Value *fields, Value *out) {
  return value_cell(s, 0, type->count, type->args, fields, out);
}

RefCell *ref_new(Store *s, unsigned flags, Value content) {
  RefCell *r = pool_alloc(&s->heap.pool, sizeof *r);
  if (!r) return NULL;
  r->obj = (Obj){.count = 1, .size = SIZE_REF, .mask = flags & MASK_BITS};
  r->content = content;
  if (flags & REF_CYCLIC) cycle_add(s, r);
  return r;
}

/* --- Reading ------------------------------------------------------------ */

/* The declared type of a constructor's field, with the ADT's parameters
 * replaced by the arguments of `type`.  May make a new type.  Exhaustion is
 * carried from the shared table's Mem to the session's own, where the run that
 * asked looks. */
static const Type *substituted(Store *s, const Type *type, uint32_t ctor,
                               uint32_t i) {
  /* the sessions of a program share the table of types */
  pthread_mutex_lock(s->shared->lock);
  const Type *field = type_substitute(
      s->shared->types, type->adt->ctors[ctor].fields[i],
      type->adt->param_count, type->adt->params, type->args, NULL);
  Mem *mem = s->shared->arena->mem;
  if (mem_exhausted(mem)) {
    mem_clear_exhausted(mem);
    mem_raise_exhausted(s->heap.mem);
  }
  pthread_mutex_unlock(s->shared->lock);
  return field;
}

/* Looks in a small direct-mapped cache first: printing or comparing a list asks
 * for the same two fields at each cons, and a lock and a substitution each time
 * would cost more than the rest.  Types are interned, so their addresses
 * identify them.  An answer under exhausted memory is not kept. */
const Type *value_ctor_field(Store *s, const Type *type, int tag, int i) {
  uint32_t ctor = (uint32_t)tag, index = (uint32_t)i;
  FieldType *known =
      &s->field_types[(type->id * 5 + ctor * 3 + index) % FIELD_TYPES];
  if (known->type == type && known->ctor == ctor && known->index == index)
    return known->field;
  const Type *field = substituted(s, type, ctor, index);
  if (!mem_exhausted(s->heap.mem))
    *known = (FieldType){type, field, ctor, index};
  return field;
}

static const Type *value_field_type(Store *s, const Type *type, Value v,
                                    int i) {
  if (type->kind == TY_ADT) return value_ctor_field(s, type, v.obj->tag, i);
  return type->args[type->kind == TY_REF ? 0 : i];
}

Value value_field(Store *s, const Type *type, Value v, int i,
                  const Type **field_type) {
  *field_type = value_field_type(s, type, v, i);
  if (type->kind == TY_REF) return ((RefCell *)v.obj)->content;
  return cell_fields(v.cell)[i];
}

bool value_field_counted(const Type *type, Value v, int i) {
  if (type->kind == TY_REF) return v.obj->mask & REF_COUNTED;
  return cell_field_counted(v.cell, (uint64_t)i);
}

Value value_plain(const Type *type, Value v, bool object) {
  if (!object || type->kind != TY_TENSOR) return v;
  v.tensor = value_tensor(v);
  return type_is_scalar(type) ? tensor_bits_at(v.tensor, 0) : v;
}

/* --- Stores ------------------------------------------------------------- */

/* In an arena, so it lives as long as the program and is never freed. */
Cell *cell_immortal(Arena *arena, int tag, int fields) {
  Cell *cell =
      arena_alloc(arena, sizeof *cell + (size_t)fields * sizeof(Value));
  cell->obj = (Obj){.count = COUNT_IMMORTAL,
                    .tag = (uint16_t)tag,
                    .size = (uint16_t)fields & SIZE_BITS};
  return cell;
}

void shared_values_init(SharedValues *v, pthread_mutex_t *lock,
                        TypeTable *types, Arena *arena) {
  v->lock = lock;
  v->types = types;
  v->arena = arena;
  VEC_INIT(&v->nullary, arena->mem);
}

void shared_values_done(SharedValues *v) { VEC_DONE(&v->nullary); }

/* Tags count from 0 in each ADT and a cell without fields knows nothing of its
 * ADT, so one cell for each tag serves all.  When the vector is out of memory,
 * the cell made is not listed, and the next request makes another. */
Cell *shared_nullary(SharedValues *v, int tag) {
  while (v->nullary.len <= (size_t)tag) {
    Cell *cell = cell_immortal(v->arena, (int)v->nullary.len, 0);
    VEC_PUSH(&v->nullary, cell);
    if (mem_exhausted(v->arena->mem)) return cell_immortal(v->arena, tag, 0);
  }
  return v->nullary.data[tag];
}

void store_init(Store *s, Mem *mem, SharedValues *shared) {
  *s = (Store){.shared = shared, .cell_threshold = CYCLE_THRESHOLD};
  heap_init(&s->heap, mem);
  s->heap.stop = &s->stop;
}

/* Deferred freeing first, told not to stop; then cycles; then their memory. */
void store_done(Store *s) {
  atomic_store(&s->stop, 0);
  store_free_rest(s);
  cycle_free_all(s);
  heap_done(&s->heap);
}
