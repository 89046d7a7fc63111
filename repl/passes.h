/* Passes by the names that users give. */
#ifndef REPL_PASSES_H
#define REPL_PASSES_H

#include "lib/inside.h"
#include "repl/cli.h"

/* NULL after saying that there is none of that name; one of these may be meant.
 */
const PassInfo *named_pass(Host *h, const char *name, PassSet among);

#endif
