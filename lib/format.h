/* Canonical text of a parsed unit, read back before anybody uses it. */
#ifndef LIB_FORMAT_H
#define LIB_FORMAT_H

#include "lib/handles.h"

/* Adds the canonical text of the unit to `out` and returns the unit that the
 * text reads back as, which is equal.  NULL, after reporting, where it is
 * another program, which is a mistake of the printer's: then nobody may
 * overwrite anything with the text.  `path` is what the report names. */
const Unit *unit_format(rly_program *p, const char *path, const Unit *unit,
                        StrBuf *out);

#endif
