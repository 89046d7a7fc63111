/* Definitions that a later text replaces. */
#ifndef LIB_REDEFINE_H
#define LIB_REDEFINE_H

#include "lib/handles.h"

/* Checks again every definition that uses one replaced by the newest text: by
 * it, Program.replaced holds those from `first` on.  A definition that does not
 * fit gets a warning and is marked Global.stale.  Program.replaced is empty
 * afterwards. */
void program_redo(rly_program *p, size_t first);

/* Frees a program's record of what its definitions use; NULL is fine. */
void uses_free(struct Uses *uses);

#endif
