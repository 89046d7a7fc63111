/* The language suite (tests/conformance/lang) run by both machines, each case
 * held against what the suite expects and against the other machine. */
#ifndef FUZZ_SUITE_H
#define FUZZ_SUITE_H

#include "base/mem.h"

/* Tells the cases that fail on stdout; gives how many. */
int suite_run(Mem *mem, const char *dir);

#endif
