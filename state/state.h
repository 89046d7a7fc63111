/* A session's state: the mutable cells that its global values lead to.
 *
 * Cells come in a fixed order: globals as they stand in the text, fields from
 * left to right, what a closure captured by first occurrence, a cell before
 * what it holds.  A path names one:
 *
 *   @name, %name   a global, a top-level local (the n-th of one name: @name#n)
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
  RefCell *cell;    /* one reference */
  const Type *type; /* of the cell; NULL: only a variable was known there */
  const char *path; /* NULL in a list without paths */
  bool nested;      /* reached through another cell */
} StateCell;

typedef struct StateAlias {
  size_t cell; /* index in the list */
  const char *path;
} StateAlias;

enum { STATE_ALIASES_MOST = 1000 }; /* later ones are left out */

typedef struct StateList {
  Session *session;
  Arena arena;
  VEC(StateCell) cells;
  VEC(StateAlias) aliases;
  PtrMap index; /* RefCell -> its index, plus 1 */
} StateList;

/* False when memory runs out or store_should_stop(); the list is to be released
 * in any case. */
bool state_list(Session *s, bool paths, StateList *list);
void state_list_done(StateList *list);
/* By its path or an alias; NULL: none. */
const StateCell *state_find(const StateList *list, const char *path);

/* Puts an owned value into a cell. */
void cell_set_take(Session *s, RefCell *cell, Value content);

/* --- Snapshots ---------------------------------------------------------- */

/* What the cells held; shares it, so it costs a few words a cell.  Belongs to
 * its session. */
typedef struct Snapshot Snapshot;
Snapshot *session_snapshot(Session *s); /* NULL: memory */
/* Writes into the very cells that were there. */
void session_restore(Session *s, const Snapshot *snapshot);
void snapshot_free(Session *s, Snapshot *snapshot);

/* --- Copies (state_copy.c) ---------------------------------------------- */

/* A session that goes on from here on its own: copies of all values, over the
 * same elements until one of the two writes.  NULL: memory. */
Session *session_fork(const Session *s, Mem *mem, Limits limits,
                      SessionHooks hooks, Diags *diags);
/* Gives each cell of `to` what the cell of the same path holds in `from`, a
 * session of the same code.  False: memory; nothing has changed. */
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

typedef struct StatePacker {
  Session *session;
  Diags *diags;
  Arena *arena; /* the texts */
  VEC(PackedCell) cells;
  VEC(const char *) shared; /* skeletons; an empty one holds a function */
  /* Takes a tensor, whose reference is its own; false: memory. */
  bool (*tensor)(void *data, const char *name, Tensor *t);
  void *data;
  bool lenient; /* a cell that cannot be packed has an empty skeleton */
} StatePacker;
/* False after reporting which cell holds a function, or when memory ran out or
 * store_should_stop(). */
bool state_pack(StatePacker *p);

typedef struct StateUnpacker {
  Session *session;
  Diags *diags;
  const char *label; /* what messages call the source */
  size_t count;
  const PackedCell *cells;
  size_t shared_count;
  const char *const *shared;
  /* Borrowed, or NULL. */
  const Tensor *(*tensor)(void *data, const char *name);
  void *data;
  /* NULL: every cell must be there, of the same type.  Otherwise what fits is
   * taken, and a line for each cell says `kept`, `changed`, `dropped` or
   * `added`. */
  StrBuf *report;
} StateUnpacker;
/* All cells that fit, or none: false after reporting why, or when memory ran
 * out or store_should_stop(). */
bool state_unpack(StateUnpacker *u);

#endif
