/* The #[metadata] section: JSON as TVM writes it, to constants and attribute
 * records. */
#ifndef PARSER_METADATA_H
#define PARSER_METADATA_H

#include "ir/program.h"

/* Reads the section at `u->meta_span` into `u->meta`; false after reporting.
 *
 * A record's values are text, and which of its numbers are indices of other
 * nodes only the record's type knows.  Here a number that is the index of a
 * value (an integer, a list, a string) that no list holds is that value; `0`
 * stays the integer 0 with dtype DTYPE_NONE, and means None to an attribute
 * that takes no number. */
bool metadata_read(Program *p, Unit *u);

#endif
