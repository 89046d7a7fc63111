/* Is a function's code sound?  Looked at after it has been made: in debug
 * builds always, elsewhere where a host asks (rly_options, `verify`). */
#ifndef INTERP_VERIFY_H
#define INTERP_VERIFY_H

#include "interp/code.h"

/* Code, and what its instructions do not tell of themselves. */
typedef struct Listing {
  const Word *units;
  uint32_t count, nregs;
  uint32_t nparams;
  const ParamMode *params;
  uint32_t part_count; /* values that it gives back apart; 0: one */
  const bool *part_counted;
  const uint8_t *counts; /* one a unit: is what it sets counted?  A bit for
                            each register */
  const LiveAt *live_at; /* ascending */
  uint32_t live_at_count;
  const uint16_t *live;
} Listing;

/* The first rule that does not hold. */
typedef struct Flaw {
  uint32_t at, reg; /* the unit; NO_FLAW_REG: no one register's */
  const char *rule;
} Flaw;
enum { NO_FLAW_REG = UINT16_MAX };

/* What holds of sound code, on every path:
 *
 *   - instructions are whole, and name registers of the window; jumps land on
 *     instructions, and go back to the head of the one loop only
 *   - what is read was set, and a view's value is still alive
 *   - a reference moves, is kept and is dropped by the one who holds it: none
 *     is lost by overwriting, at a return, or in a callee's window
 *   - paths that meet hold the same references
 *   - what is dropped when an instruction fails is what is held there
 *   - callees get the arguments that they expect, callers as many results; a
 *     cell's header tells its
 *     size and which fields are counted; sites' lists are as long as they say
 *
 * False with the first flaw.  Takes time in proportion to the code, and
 * registers at each place where paths meet. */
bool code_verify(const Listing *l, Flaw *flaw);

#endif
