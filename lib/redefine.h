/* Definitions that a later text replaces. */
#ifndef LIB_REDEFINE_H
#define LIB_REDEFINE_H

#include "lib/handles.h"

/* Checks again what uses a definition that the newest text, which begins at the
 * offset `since` of the sources, has replaced.  What does not fit is reported
 * as a warning, and marked: Global.stale. */
void program_redo(rly_program *p, uint32_t since);

#endif
