/* The time limit of work that cannot be asked to stop: reading and writing
 * files, formatting, listing.  Programs that run are asked (vm/limits.c), and
 * so is the checker. */
#ifndef REPL_GUARD_H
#define REPL_GUARD_H

#include "repl/cli.h"

/* Ends the process with exit status 3 and a message, "time limit of 2 s reached
 * while loading", unless guard_end() comes in time.  Whoever can stop by itself
 * has GUARD_GRACE seconds to do so.  Within another guard it changes nothing:
 * that one's time and words hold.  Without --timeout nothing happens. */
void guard_begin(const Cli *cli, const char *doing);
void guard_end(void);

#endif
