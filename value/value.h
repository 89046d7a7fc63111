/* Run-time values: what they are, who owns them, how they are made and freed.
 *
 * A value is 64 bits without a tag (tensor/object.h).  Its type, known
 * statically, says whether it is raw bits (a rank-0 tensor) or a counted
 * pointer: a tensor of rank > 0, or a Cell (tuple, constructor, closure), or a
 * RefCell.  A nullary constructor and the unit tuple are immortal cells.
 *
 * Nothing here recurses on the C stack: values may be arbitrarily deep. */
#ifndef VALUE_VALUE_H
#define VALUE_VALUE_H

#include <pthread.h>

#include "ir/program.h"

/* --- Objects ------------------------------------------------------------ */

/* Header, then the fields: a Cons of int32 takes 24 bytes.  A closure's field
 * 0 is its code, the others what it captured. */
typedef struct Cell {
  Obj obj;
  Value fields[];
} Cell;

/* Flags of a RefCell, in `obj.mask`.  REF_COUNTED: the content is a counted
 * pointer.  REF_CYCLIC: it may lead back to the cell, so the cell is in its
 * store's list for cycle.c. */
enum { REF_COUNTED = 1, REF_CYCLIC = 2 };

typedef struct RefCell {
  Obj obj;
  Value content;
  struct RefCell *next, *prev;
} RefCell;

/* Can a value of this type lead to a mutable cell or a function? */
bool type_may_cycle(const Type *type);

/* A cell's fields: their number, the first one, and whether field i is
 * counted. */
uint64_t cell_count(const Cell *c);
/* Of a big cell of n fields, words before the first one: the number of fields,
 * and a mask of a bit for each; tensor/object.h has the layout. */
static inline size_t cell_big_offset_of(uint64_t n) {
  return 1 + (size_t)((n + 63) / 64);
}
/* Likewise of any cell of n fields. */
static inline size_t cell_offset_of(uint64_t n) {
  return n > SIZE_SMALL_MAX ? cell_big_offset_of(n) : 0;
}
static inline size_t cell_big_offset(const Cell *c) {
  return cell_big_offset_of(c->fields[0].u64);
}
static inline Value *cell_fields(Cell *c) {
  return c->obj.size == SIZE_BIG ? c->fields + cell_big_offset(c) : c->fields;
}
static inline bool cell_field_counted(const Cell *c, uint64_t i) {
  if (c->obj.size != SIZE_BIG) return c->obj.mask >> i & 1;
  return c->fields[1 + i / 64].u64 >> (i % 64) & 1;
}
size_t cell_bytes(const Cell *c);

/* --- Where values live -------------------------------------------------- */

/* Shared by all stores of a program: its types, and the immortal cells of
 * nullary constructors. */
typedef struct SharedValues {
  pthread_mutex_t *lock; /* held while types are looked up or made */
  TypeTable *types;
  Arena *arena;
  VEC(Cell *) nullary; /* indexed by tag */
} SharedValues;

/* Borrows all arguments. */
void shared_values_init(SharedValues *v, pthread_mutex_t *lock,
                        TypeTable *types, Arena *arena);
void shared_values_done(SharedValues *v);
/* As store_nullary, for a caller that holds the lock. */
Cell *shared_nullary(SharedValues *v, int tag);
/* An immortal cell of `fields` zeros, none counted. */
Cell *cell_immortal(Arena *arena, int tag, int fields);

/* A field's type at an instance of its ADT, cached. */
typedef struct FieldType {
  const Type *type, *field;
  uint32_t ctor, index;
} FieldType;
enum { FIELD_TYPES = 32 };

/* Owns the values of one session.  Used by one thread, except that any thread
 * may set `stop`: while it is not 0, long work on values (freeing, printing,
 * comparing) ends early.  A store does not move, for its heap points to it. */
typedef struct Store {
  Heap heap;
  _Atomic int stop;
  int free_left;       /* objects to free before the next poll of `stop` */
  struct Dying *dying; /* deferred freeing, or NULL */
  RefCell *cells;      /* list of the cells that may be part of a cycle */
  size_t cell_count, cell_threshold;
  uint64_t cycle_work; /* objects visited by searches so far */
  SharedValues *shared;
  FieldType field_types[FIELD_TYPES];
} Store;

void store_init(Store *s, Mem *mem, SharedValues *shared);
/* Every value must have been dropped.  Frees what only cycles keep alive. */
void store_done(Store *s);
/* Shall long work end early: told to stop, or out of memory? */
static inline bool store_should_stop(const Store *s) {
  return mem_exhausted(s->heap.mem) ||
         atomic_load_explicit(&s->stop, memory_order_relaxed);
}

/* --- Ownership ---------------------------------------------------------- */

/* Frees an object without references and all that dies with it, to any depth. A
 * store that is told to stop defers the rest until store_free_rest(). */
void obj_free(Store *s, Obj *o);
/* Continues deferred freeing, until told to stop again. */
void store_free_rest(Store *s);
static inline void obj_drop(Store *s, Obj *o) {
  if (o->count > 1) o->count--;
  else if (o->count == 1) obj_free(s, o);
}

/* Adds or drops one reference to a value of this type. */
void value_keep(const Type *type, Value v);
void value_drop(Store *s, const Type *type, Value v);

/* The number of listed cells from which a search is worth its time. */
enum { CYCLE_THRESHOLD = 10000 };
/* Frees what only cycles keep alive, by trial deletion. */
void cycle_collect(Store *s);
/* While on, a request that the heap refuses collects cycles and is tried again.
 * Allowed only within a run, when every reference is counted. */
void store_relieve(Store *s, bool on);
/* Frees every cell at the end of a store; needs no memory. */
void cycle_free_all(Store *s);

/* --- Making and reading ------------------------------------------------- */

/* A cell of `n` fields, still to be set and none counted yet, with one
 * reference; NULL when memory runs out. */
Cell *cell_alloc(Pool *pool, int tag, int n);
/* Makes a tuple of owned fields.  When memory runs out the fields are dropped
 * and the result is false. */
bool value_tuple(Store *s, const Type *type, const Value *fields, Value *out);
/* As value_tuple, for a constructor or any cell of `n` fields of these
 * types. */
bool value_cell(Store *s, int tag, int n, const Type *const *types,
                const Value *fields, Value *out);
/* The immortal cell that stands for a constructor of this tag without fields.
 * All sessions of a program share it; an immortal cell is never counted, so
 * they need no atomics.  Takes the lock; never fails. */
Cell *store_nullary(Store *s, int tag);
/* Makes a mutable cell with one reference and takes its content; `flags` are
 * REF_ flags.  When memory runs out: NULL, and the content stays the
 * caller's. */
RefCell *ref_new(Store *s, unsigned flags, Value content);
/* Adds a cell that was made by other means to the list for cycle.c. */
void cycle_add(Store *s, RefCell *r);
void cycle_remove(Store *s, RefCell *r);

/* The type of a constructor's field, given the type of the whole value. */
const Type *value_ctor_field(Store *s, const Type *type, int tag, int i);
/* The tensor that an object stands for: itself, or, in differentiated code, the
 * one at the bottom of a Dual (vm/dual_tape.h), whose field 0 is a tensor or
 * again a Dual.  Borrowed. */
static inline Tensor *value_tensor(Value v) {
  while (v.obj->size != SIZE_TENSOR) v = v.cell->fields[0];
  return v.tensor;
}
/* Field `i` of a tuple or constructor, or a ref's content: borrowed, with its
 * type. */
Value value_field(Store *s, const Type *type, Value v, int i,
                  const Type **field_type);
/* Is that an object?  The header of `v` says it.  A float scalar is one in
 * differentiated code, and bits elsewhere. */
bool value_field_counted(const Type *type, Value v, int i);
/* `v`, borrowed, as code that is not differentiated has it: a tensor without
 * its records, a scalar as bits.  What it holds is as it was.  `object`: is `v`
 * an object? */
Value value_plain(const Type *type, Value v, bool object);

#endif
