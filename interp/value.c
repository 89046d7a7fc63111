/* Cells and references: making, keeping, dropping.
 *
 * Freeing needs no types, the header says which fields are counted, and no
 * stack: while the fields of a dead cell are worked through, its count holds
 * how far, and the field gone into holds the way back.  A session that is told
 * to stop puts the rest off, so that ten million cells do not hold it up. */
#include <string.h>

#include "interp/vm.h"
#include "ops/stop.h"

/* --- Layout ------------------------------------------------------------- */

static size_t mask_words(uint64_t n) { return (size_t)((n + 63) / 64); }

uint64_t cell_count(const Cell *c) {
  return c->obj.size == SIZE_BIG ? c->fields[0].u64 : c->obj.size;
}

static size_t big_offset(const Cell *c) {
  return 1 + mask_words(c->fields[0].u64);
}

Value *cell_fields(Cell *c) {
  return c->obj.size == SIZE_BIG ? c->fields + big_offset(c) : c->fields;
}

bool cell_field_counted(const Cell *c, uint64_t i) {
  if (c->obj.size != SIZE_BIG) return c->obj.mask >> i & 1;
  return c->fields[1 + i / 64].u64 >> (i % 64) & 1;
}

size_t cell_size(const Cell *c) {
  uint64_t words = cell_count(c);
  if (c->obj.size == SIZE_BIG) words += big_offset(c);
  return sizeof *c + (size_t)words * sizeof(Value);
}

/* --- Freeing ------------------------------------------------------------ */

/* The next counted field from `i` on; `n` when there is none. */
static inline uint64_t next_counted(const Cell *c, uint64_t i, uint64_t n) {
  if (c->obj.size != SIZE_BIG) {
    unsigned left = (unsigned)c->obj.mask >> i;
    return left ? i + (uint64_t)__builtin_ctz(left) : n;
  }
  while (i < n && !cell_field_counted(c, i)) i++;
  return i;
}

/* One reference less; is the object to be taken apart as a cell? */
static bool dies(Session *s, Obj *o) {
  if (o->count > 1) {
    o->count--;
    return false;
  }
  if (o->count != 1) return false;
  if (o->size != SIZE_TENSOR) return true;
  tensor_drop(&s->heap, (Tensor *)o);
  return false;
}

static void release_memory(Session *s, Obj *o) {
  if (o->size == SIZE_REF) {
    RefCell *r = (RefCell *)o;
    if (o->mask & REF_CYCLIC) cycle_remove(s, r);
    pool_free(&s->heap.pool, r, sizeof *r);
  } else {
    pool_free(&s->heap.pool, o, cell_size((Cell *)o));
  }
}

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

/* Works on `o` from field `at`: gives the child that dies with it, or NULL
 * when it is done with. */
static Obj *next_dying(Session *s, Obj *o, uint64_t *at) {
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

/* What was under way when the session was told to stop: `o` from field `at`
 * on, then what waits for it. */
struct Dying {
  Dying *next;
  Obj *o, *parent;
  uint64_t at;
};

enum { FREE_BLOCK = 1 << 16 }; /* objects between two looks at `stop` */

/* False: there is no memory, so it has to be freed now. */
static bool put_off(Session *s, Obj *o, Obj *parent, uint64_t at) {
  Dying *d = pool_alloc(&s->heap.pool, sizeof *d);
  if (!d) return false;
  *d = (Dying){s->dying, o, parent, at};
  s->dying = d;
  return true;
}

static void take_apart(Session *s, Obj *o, Obj *parent, uint64_t at) {
  for (int left = s->free_left;; left--) {
    if (left <= 0) {
      left = FREE_BLOCK;
      s->free_left = 0;
      if (stop_seen(&s->stop) && put_off(s, o, parent, at)) return;
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

void obj_free(Session *s, Obj *o) {
  if (o->size == SIZE_TENSOR) tensor_free(&s->heap, (Tensor *)o);
  else take_apart(s, o, NULL, 0);
}

void session_free_rest(Session *s) {
  while (s->dying && !stop_seen(&s->stop)) {
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

void value_drop(Session *s, const Type *type, Value v) {
  if (type_is_counted(type)) obj_drop(s, v.obj);
}

/* --- For hosts ---------------------------------------------------------- */

static Cell *cell_alloc(Session *s, int tag, int n) {
  bool big = n > SIZE_SMALL_MAX;
  size_t before = big ? 1 + mask_words((uint64_t)n) : 0;
  size_t size = sizeof(Cell) + (before + (size_t)n) * sizeof(Value);
  Cell *c = pool_alloc(&s->heap.pool, size);
  if (!c) return NULL;
  memset(c, 0, size);
  c->obj = (Obj){.count = 1,
                 .tag = (uint16_t)tag,
                 .size = (uint16_t)(big ? SIZE_BIG : n) & 15};
  if (big) c->fields[0].u64 = (uint64_t)n;
  return c;
}

static void set_counted(Cell *c, int i) {
  if (c->obj.size == SIZE_BIG)
    c->fields[1 + i / 64].u64 |= (uint64_t)1 << (i % 64);
  else c->obj.mask |= (uint16_t)(1u << i) & 0xfff;
}

static Cell *nullary(Session *s, int tag) {
  pthread_mutex_lock(&s->code->lock);
  Cell *c = code_nullary(s->code, tag);
  pthread_mutex_unlock(&s->code->lock);
  return c;
}

bool value_cell(Session *s, int tag, int n, const Type *const *types,
                const Value *fields, Value *out) {
  Cell *c = n ? cell_alloc(s, tag, n) : nullary(s, tag);
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

bool value_tuple(Session *s, const Type *type, const Value *fields,
                 Value *out) {
  return value_cell(s, 0, type->count, type->args, fields, out);
}

static const Type *substituted(Session *s, const Type *type, uint32_t ctor,
                               uint32_t i) {
  pthread_mutex_lock(&s->code->lock); /* sessions share the table of types */
  const Type *field = type_substitute(
      s->code->program->types, type->adt->ctors[ctor].fields[i],
      type->adt->param_count, type->adt->params, type->args, NULL);
  pthread_mutex_unlock(&s->code->lock);
  return field;
}

const Type *value_ctor_field(Session *s, const Type *type, int tag, int i) {
  uint32_t ctor = (uint32_t)tag, index = (uint32_t)i;
  FieldType *known =
      &s->field_types[(type->id * 5 + ctor * 3 + index) % FIELD_TYPES];
  if (known->type == type && known->ctor == ctor && known->index == index)
    return known->field;
  const Type *field = substituted(s, type, ctor, index);
  if (!mem_exhausted(s->mem)) *known = (FieldType){type, field, ctor, index};
  return field;
}

static const Type *value_field_type(Session *s, const Type *type, Value v,
                                    int i) {
  if (type->kind == TY_ADT) return value_ctor_field(s, type, v.obj->tag, i);
  return type->args[type->kind == TY_REF ? 0 : i];
}

Value value_field(Session *s, const Type *type, Value v, int i,
                  const Type **field_type) {
  *field_type = value_field_type(s, type, v, i);
  if (type->kind == TY_REF) return ((RefCell *)v.obj)->content;
  return cell_fields(v.cell)[i];
}
