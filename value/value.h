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

/* Flags of a RefCell, in `obj.mask`: the content is counted; it may lead back
 * here, so the cell is in its store's list for cycle.c. */
enum { REF_COUNTED = 1, REF_CYCLIC = 2 };

typedef struct RefCell {
  Obj obj;
  Value content;
  struct RefCell *next, *prev;
} RefCell;

/* Can a value of this type lead to a mutable cell or a function? */
bool type_may_cycle(const Type *type);

/* The fields of a cell: how many, the first, whether one is counted. */
uint64_t cell_count(const Cell *c);
Value *cell_fields(Cell *c);
bool cell_field_counted(const Cell *c, uint64_t i);
size_t cell_bytes(const Cell *c);

/* --- Where values live -------------------------------------------------- */

/* What all stores of one program share: its types, and the immortal cells of
 * constructors without fields. */
typedef struct SharedValues {
  pthread_mutex_t *lock; /* held while types are looked up or made */
  TypeTable *types;
  Arena *arena;
  VEC(Cell *) nullary; /* by tag */
} SharedValues;

/* All is borrowed. */
void shared_values_init(SharedValues *v, pthread_mutex_t *lock,
                        TypeTable *types, Arena *arena);
void shared_values_done(SharedValues *v);
/* The immortal cell without fields of this tag.  Under the lock. */
Cell *shared_nullary(SharedValues *v, int tag);
/* An immortal cell of `fields` zeros, none of them counted. */
Cell *cell_immortal(Arena *arena, int tag, int fields);

/* A field's type at an instance of its type, once computed. */
typedef struct FieldType {
  const Type *type, *field;
  uint32_t ctor, index;
} FieldType;
enum { FIELD_TYPES = 32 };

/* All that the values of one session live in.  Of one thread, but for `stop`,
 * which any thread may set: while it is not 0, long work on values (freeing,
 * printing, comparing) ends early. */
typedef struct Store {
  Heap heap;
  _Atomic int stop;
  int free_left;       /* objects to free until the next look at `stop` */
  struct Dying *dying; /* whose freeing was put off, or NULL */
  RefCell *cells;      /* those that may be part of a cycle */
  size_t cell_count, cell_threshold;
  uint64_t cycle_work; /* objects that searches have looked at */
  SharedValues *shared;
  FieldType field_types[FIELD_TYPES];
} Store;

void store_init(Store *s, Mem *mem, SharedValues *shared);
/* Every value must have been dropped: frees what only cycles keep alive. */
void store_done(Store *s);
/* Is long work to be given up: told to stop, or out of memory? */
static inline bool store_should_stop(const Store *s) {
  return mem_exhausted(s->heap.mem) ||
         atomic_load_explicit(&s->stop, memory_order_relaxed);
}

/* --- Ownership ---------------------------------------------------------- */

/* Frees what the last reference led to, however deep; in a store that is told
 * to stop, the rest is put off until store_free_rest(). */
void obj_free(Store *s, Obj *o);
/* Goes on with what was put off, again until told to stop. */
void store_free_rest(Store *s);
static inline void obj_drop(Store *s, Obj *o) {
  if (o->count > 1) o->count--;
  else if (o->count == 1) obj_free(s, o);
}

/* One more / one less reference to a value of this type. */
void value_keep(const Type *type, Value v);
void value_drop(Store *s, const Type *type, Value v);

/* A search for cycles is worth its time from so many cells on that may be part
 * of one. */
enum { CYCLE_THRESHOLD = 10000 };
/* Frees what only cycles keep alive (trial deletion). */
void cycle_collect(Store *s);
/* From here on, a refused request of the heap collects and tries again; or no
 * longer.  Only while every reference is counted: within a run. */
void store_relieve(Store *s, bool on);
/* At the end of a store: frees every cell, without any memory. */
void cycle_free_all(Store *s);

/* --- Making and reading ------------------------------------------------- */

/* A tuple of owned fields; on failure (memory) they have been dropped. */
bool value_tuple(Store *s, const Type *type, const Value *fields, Value *out);
/* The same for a constructor, or any cell, of `n` fields of these types. */
bool value_cell(Store *s, int tag, int n, const Type *const *types,
                const Value *fields, Value *out);
/* A mutable cell with one reference that takes its content; `flags` says of
 * what kind it is.  NULL, and the content untouched, when memory runs out. */
RefCell *ref_new(Store *s, unsigned flags, Value content);
/* Enters a cell that was made by other means into the list for cycle.c. */
void cycle_add(Store *s, RefCell *r);
void cycle_remove(Store *s, RefCell *r);

/* The type of a constructor's field in a value of an ADT's type. */
const Type *value_ctor_field(Store *s, const Type *type, int tag, int i);
/* Field `i` of a tuple or constructor, or a ref's content: borrowed, with its
 * type. */
Value value_field(Store *s, const Type *type, Value v, int i,
                  const Type **field_type);

#endif
