/* Files that the system maps, and what becomes of one that is cut.
 *
 * A mapping has no bytes where its file has become shorter: who touches them
 * gets SIGBUS, which ends a process.  A program that asks for it
 * (mappings_outlive_cuts) reads zeros there instead, the mapping is noted as
 * cut, and whoever worked with its bytes is to ask afterwards and to throw away
 * what he made of them.  So a run ends with a message and a session goes on,
 * where somebody writes a file of weights over while a model reads it. */
#ifndef IO_MAPPING_H
#define IO_MAPPING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "base/strbuf.h"

typedef struct Mapping Mapping;

/* Notes the bytes that mmap() gave, and the path, which is copied.  NULL: there
 * is no memory for it, and the mapping is none that outlives a cut. */
Mapping *mapping_new(Mem *mem, const void *data, size_t size, const char *path);
/* Before munmap(); NULL is allowed. */
void mapping_free(Mapping *m);
/* The path, if somebody has touched bytes that the file no longer has; else
 * NULL.  It lives as long as the mapping; NULL is allowed. */
const char *mapping_cut(const Mapping *m);

/* From now on, for the whole process: takes SIGBUS. */
void mappings_outlive_cuts(void);
/* Is any mapping cut?  Then adds the path of one. */
bool mappings_cut(StrBuf *path);

#endif
