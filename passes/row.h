/* For files that hold a pass: its function, as passes.def names it. */
#ifndef PASSES_ROW_H
#define PASSES_ROW_H

#include "passes/pass.h"

#define PASS(id, function, ...) Unit *function(Program *p, Unit *unit);
#include "passes/passes.def"
#undef PASS

#endif
