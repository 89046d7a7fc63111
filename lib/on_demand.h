/* Definitions that the library makes for the name that asks for them. */
#ifndef LIB_ON_DEMAND_H
#define LIB_ON_DEMAND_H

#include "base/strbuf.h"
#include "stdlib/library.h"

/* The template of the definition that brings the name into scope, whose text
 * for that name is added to `text`; NULL: there is none. */
const LibraryEntry *on_demand(char kind, const char *name, StrBuf *text);

#endif
