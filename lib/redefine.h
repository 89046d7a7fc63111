/* Definitions that a later text replaces. */
#ifndef LIB_REDEFINE_H
#define LIB_REDEFINE_H

#include "lib/handles.h"

/* Checks again every definition that uses one replaced by the newest text,
 * which begins at offset `since` of the sources.  A definition that does not
 * fit gets a warning and is marked Global.stale. */
void program_redo(rly_program *p, uint32_t since);

#endif
