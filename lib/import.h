/* Imports (import.c). */
#ifndef LIB_IMPORT_H
#define LIB_IMPORT_H

#include "ir/program.h"

/* The path of the file that `item` of the unit `from` imports.  NULL after
 * reporting why it cannot be imported, and without a report when the file is
 * part of the program already. */
const char *import_path(Program *p, const Unit *from, const Item *item);

#endif
