/* Paths, for the files of lib/ that bind tensors by them. */
#ifndef LIB_PATH_H
#define LIB_PATH_H

#include "lib/handles.h"

/* What goes along a type recurses: PATH_DEPTH_MAX. */

/* --- Kinds of data types -------------------------------------------------- */

/* The constructor of an element and a list, where the other has no fields; the
 * constructor of one value, likewise; one without fields.  NULL: none. */
const Ctor *path_cons_of(const Adt *adt);
const Ctor *path_some_of(const Adt *adt);
const Ctor *path_nullary_of(const Adt *adt);
/* Does it have a value of which nothing is bound? */
bool path_may_be_absent(const Type *t);
/* The type of field `i` in a value of `type`. */
const Type *path_field_type(rly_program *p, const Type *type, const Ctor *c,
                            int i);

/* --- Paths ---------------------------------------------------------------- */

/* In the arena; "" is the path of what has no name above it. */
const char *path_join(Arena *arena, const char *path, const char *part);
const char *path_join_index(Arena *arena, const char *path, int64_t i);
const char *path_of_field(Arena *arena, const char *path, const Ctor *c, int i);
/* The number, or the field, that a part of that length is; -1: none. */
int64_t path_index(const char *part, size_t len);
int path_field(const Ctor *c, const char *part, size_t len);
/* Does the path lead to a tensor in a value of the type? */
bool path_leads(rly_program *p, const Type *t, const char *path);
/* Is it a tuple or a data type? */
bool path_has_parts(const Type *t);

/* The one param of a tuple or a data type, whose paths may begin below it;
 * NULL: there are none or several. */
const Global *path_only_param(const rly_program *p);

#endif
