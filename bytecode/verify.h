/* Is a function's code sound?  Asked after it has been made: in debug builds
 * always, elsewhere where a host wants to know (rly_options, `verify`). */
#ifndef BYTECODE_VERIFY_H
#define BYTECODE_VERIFY_H

#include "bytecode/code.h"

/* Code, and what its instructions do not say themselves. */
typedef struct Listing {
  const Word *units;
  uint32_t count, nregs;
  uint32_t nparams;
  const ParamMode *params;
  uint32_t result_count; /* values that it returns unboxed; 0: one */
  const bool *result_counted;
  const uint8_t *counts; /* one a unit: is what it sets counted?  A bit for
                            each register */
  const LiveAt *live_at; /* ascending */
  uint32_t live_at_count;
  const uint16_t *live;
} Listing;

/* The first rule that does not hold. */
typedef struct Flaw {
  uint32_t at, reg; /* the unit; NO_FLAW_REG: no one register's */
  const char *rule; /* NULL: none is known, since memory ran out */
} Flaw;
enum { NO_FLAW_REG = UINT16_MAX };

/* Sound code keeps these rules on every path:
 *
 *   - instructions are whole and name registers of the window; jumps land on
 *     instructions, and go back to the head of the one loop only
 *   - a register is set before it is read, and a view's value is alive
 *   - a reference is moved, kept and dropped by the register that holds it:
 *     none is lost by overwriting, at a return, or in a callee's window
 *   - paths that meet hold the same references
 *   - the references that are dropped when an instruction fails are those held
 *   - callees get the arguments that they expect, and callers as many results;
 *     a cell's header tells its size and which fields are counted; the lists of
 *     sites are as long as they say
 *
 * False with the first flaw, or when `mem` has run out.  Takes time in
 * proportion to the code, and memory in proportion to the registers for each
 * place where paths have yet to meet. */
bool code_verify(const Listing *l, Mem *mem, Flaw *flaw);

#endif
