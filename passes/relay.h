/* Plain Relay: what TVM's parser accepts, and means as we do. */
#ifndef PASSES_RELAY_H
#define PASSES_RELAY_H

#include "ir/program.h"

/* A parsed unit without extensions, for the printer: sugar is written out,
 * `param`s have become parameters, locals have names of their own, what
 * Relay's grammar wants in parentheses stands in a block without bindings.
 * Comments are left out, for some that we read TVM does not.  Lives in the
 * unit's arena; NULL after reporting what cannot be expressed. */
const Unit *relay_unit(Program *p, const Unit *u);

#endif
