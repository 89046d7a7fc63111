/* Run-time values and their ownership.
 *
 * A value is 64 bits without a tag (tensor/object.h).  Its type, known
 * statically, says whether it is raw bits (a rank-0 tensor) or a counted
 * pointer: a tensor of rank > 0, or a Cell (tuple, constructor, closure), or a
 * RefCell.  A nullary constructor and the unit tuple are immortal cells. */
#ifndef INTERP_VALUE_H
#define INTERP_VALUE_H

#include "ir/program.h"

/* Header, then the fields: a Cons of int32 takes 24 bytes.  A closure's field
 * 0 is its code, the others what it captured. */
typedef struct Cell {
  Obj obj;
  Value fields[];
} Cell;

/* A mutable cell.  `obj.mask` bit 0: the content is counted; bit 1: it may
 * lead back here, so the cell is in the session's list for cycle.c. */
typedef struct RefCell {
  Obj obj;
  Value content;
  struct RefCell *next, *prev;
} RefCell;

typedef struct Session Session;

/* One more / one less reference to a value of this type. */
void value_keep(const Type *type, Value v);
void value_drop(Session *s, const Type *type, Value v);

/* A tuple of owned fields; on failure (memory) they have been dropped. */
bool value_tuple(Session *s, const Type *type, const Value *fields, Value *out);
/* The same for a constructor, or any cell, of `n` fields of these types. */
bool value_cell(Session *s, int tag, int n, const Type *const *types,
                const Value *fields, Value *out);
/* The type of a constructor's field in a value of an ADT's type. */
const Type *value_ctor_field(Session *s, const Type *type, int tag, int i);
/* Field `i` of a tuple or constructor, or a ref's content: borrowed, with its
 * type. */
Value value_field(Session *s, const Type *type, Value v, int i,
                  const Type **field_type);

/* The nodes of a value that a display form has at most, unless asked for. */
enum { VALUE_SHOWN = 10000 };

/* Display form: tensors as type and fitted block, ADTs as constructor terms,
 * tuples, cells as ref(...), functions as <fn ...>; a ref within itself is
 * <cycle N>, the N-th ref outward.  Values may be arbitrarily deep; beyond
 * `limit` nodes the rest is elided (0: none is).  Ends early when
 * session_should_stop(). */
void value_print(Session *s, StrBuf *out, const Type *type, Value v, int width,
                 size_t limit);
/* The JSON of the command line; a ref within itself is {"cycle": N}. */
void value_print_json(Session *s, StrBuf *out, const Type *type, Value v);

/* Equality of structure: tensors bitwise, NaNs equal, refs by what they lead
 * to, functions by identity.  False, too, when session_should_stop(). */
bool value_equal(Session *s, const Type *type, Value a, Value b);

#endif
