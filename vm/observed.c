/* The dispatch loop once more, for sessions that have an observer or a limit of
 * steps: every instruction is counted, and the observer told of it, before it
 * runs.
 *
 * A second copy of the loop rather than a test in the first: a test would cost
 * each instruction of every session, and the copy costs some twenty KB of code
 * that only --stats, profiles, traces, --nan-stop and --max-steps touch. */
#define VM_OBSERVED 1
#include "vm/vm.c"
