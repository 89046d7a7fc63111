/* Runs the language suite (tests/conformance/lang) on both machines and
 * compares each case with what the suite expects and with the other machine. */
#ifndef FUZZ_SUITE_H
#define FUZZ_SUITE_H

#include "base/mem.h"

/* Prints the failing cases; returns their number. */
int suite_run(Mem *mem, const char *dir);

#endif
