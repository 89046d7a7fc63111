/* A session's state: the mutable cells that its global values lead to.
 *
 * Cells come in a fixed order: globals as they stand in the text, fields from
 * left to right, what a closure captured by first occurrence, a cell before
 * what it holds.  A path names one:
 *
 *   @name, %name   a global, a top-level local; the newest of one name;
 *                  @name#2 the one before it
 *   $name          a cell that the host added
 *   .N             a tuple's field          .Cons.N  a constructor's
 *   {%x}           what a closure captured  ^        what a cell holds
 *
 * A cell reached twice is listed once; later paths are its aliases.  Nothing
 * here runs the program or recurses over its data. */
#ifndef STATE_STATE_H
#define STATE_STATE_H

#include "base/diag.h"
#include "vm/session.h"

/* --- The list ----------------------------------------------------------- */

typedef struct StateCell {
  RefCell *cell; /* owned */
  /* the cell's type; NULL when only a type variable was known */
  const Type *type;
  const char *path; /* NULL in a list without paths */
  bool nested;      /* reached through another cell */
} StateCell;

typedef struct StateAlias {
  size_t cell; /* index in the list */
  const char *path;
} StateAlias;

enum { STATE_ALIASES_MOST = 1000 }; /* further aliases are left out */

typedef struct StateList {
  Session *session;
  Arena arena;
  VEC(StateCell) cells;
  VEC(StateAlias) aliases;
  PtrMap index; /* RefCell -> its index, plus 1 */
} StateList;

/* False when memory runs out or store_should_stop(); state_list_done is due in
 * either case. */
bool state_list(Session *s, bool paths, StateList *list);
void state_list_done(StateList *list);
/* The cell with this path or alias; NULL for none. */
const StateCell *state_find(const StateList *list, const char *path);

/* Replaces a cell's content by an owned value. */
void cell_set_take(Session *s, RefCell *cell, Value content);
/* A cell of this type, which takes its content; NULL, and the content stays the
 * caller's, when memory runs out. */
RefCell *cell_of_type(Session *s, const Type *type, Value content);

/* Adds a cell to the state, after those of the program, with a reference of
 * its own to the content.  The name must be new.  False when memory runs
 * out. */
bool state_add_cell(Session *s, const Name *name, const Type *type,
                    Value content);
bool state_has_cell(const Session *s, const Name *name);

/* --- Snapshots ---------------------------------------------------------- */

/* The contents of all cells at one time.  It shares values with the session
 * instead of copying them, so it takes a few words a cell.  It belongs to its
 * session. */
typedef struct Snapshot Snapshot;
Snapshot *session_snapshot(Session *s); /* NULL when memory runs out. */
/* Writes the contents back into the same cells. */
void session_restore(Session *s, const Snapshot *snapshot);
void snapshot_free(Session *s, Snapshot *snapshot);

/* --- Copies (state_copy.c) ---------------------------------------------- */

/* A copy of the session that continues independently.  Values are copied;
 * tensors share their elements until one side writes.  NULL when memory runs
 * out. */
Session *session_fork(const Session *s, Mem *mem, Limits limits,
                      SessionHooks hooks, Diags *diags);
/* Sets each cell of `to` to the content of the cell with the same path in
 * `from`, a session of the same code.  False when memory runs out; then nothing
 * has changed. */
bool state_transplant(Session *from, Session *to);

/* --- As text and tensors (state_pack.c, state_unpack.c) ----------------- */

/* A cell's content as a skeleton whose tensors stand apart: `_` is a tensor,
 * `(_, _)` a tuple, `Cons(_, Nil)` a constructor, `&3` the cell of index 3.
 * Tensors are named: the cell's path when it holds just one, else the path
 * within the content, `@cell^.1`; those within a constructor, which may be
 * deep, are numbered: `@cell^#0`.  Scalars within a constructor stand in the
 * skeleton, as their bits in hexadecimal: `#2a`.
 *
 * What constructors hold more than once is written once, as a skeleton of its
 * own, and `*7` stands for that of index 7, whose tensors are `*7#0`, `*7#1`.
 */
typedef struct PackedCell {
  const char *path, *type, *skeleton;
} PackedCell;

/* A constructor of the text's that stands in a skeleton: `Line.Line`, and how
 * its fields are declared, `w: float32, b: float32`.  Else a scalar's bits
 * would be taken for those of another type, and one field for another. */
typedef struct PackedCtor {
  const char *name, *fields;
} PackedCtor;
void state_ctor_print(Session *s, StrBuf *out, const Ctor *ctor);
/* Is it told of?  Those of the library are as they are. */
static inline bool state_tells_ctor(const Ctor *ctor) {
  return ctor->field_count > 0 && !ctor->adt->library;
}

typedef struct StatePacker {
  Session *session;
  Mem *mem; /* for all but values and texts; exhausted when memory ran out */
  Diags *diags;
  Arena *arena; /* the texts */
  VEC(PackedCell) cells;
  /* skeletons of shared objects; empty for a function */
  VEC(const char *) shared;
  VEC(PackedCtor) ctors; /* each once */
  /* Takes an owned tensor; false when memory runs out. */
  bool (*tensor)(void *data, const char *name, Tensor *t);
  void *data;
  bool lenient; /* give a cell that cannot be packed an empty skeleton */
  size_t most;  /* give up at a skeleton of more bytes; 0: of any size */
} StatePacker;
/* False after reporting a cell that holds a function, or when memory ran out or
 * store_should_stop(). */
bool state_pack(StatePacker *p);
/* Packs one value of data, as if the cell of this path held it.  False when it
 * has more than `most` bytes, memory ran out or store_should_stop(). */
bool state_pack_value(StatePacker *p, const char *path, const Type *type,
                      Value value);

typedef struct StateUnpacker {
  Session *session;
  Mem *mem; /* as of StatePacker */
  Diags *diags;
  const char *label; /* the name of the source in messages */
  size_t count;
  const PackedCell *cells;
  size_t shared_count;
  const char *const *shared;
  size_t ctor_count; /* 0 in a state of before format 4 */
  const PackedCtor *ctors;
  /* Looks a tensor up by name: borrowed, or NULL. */
  const Tensor *(*tensor)(void *data, const char *name);
  void *data;
  /* NULL (strict): every cell must be in the source, with the same type.
   * Otherwise whatever fits is taken, and a line for each cell says `kept`,
   * `changed`, `dropped` or `added`. */
  StrBuf *report;
} StateUnpacker;
/* Sets all cells that fit, or none: false after reporting the reason, or when
 * memory ran out or store_should_stop(). */
bool state_unpack(StateUnpacker *u);
/* Builds the value of data that state_pack_value() has packed, of this type;
 * `*out` is owned.  False, and nothing is reported, where it does not fit, or
 * memory ran out, or store_should_stop(). */
bool state_unpack_value(StateUnpacker *u, const Type *type, Value *out);

#endif
