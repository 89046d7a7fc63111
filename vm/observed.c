/* The dispatch loop once more, for sessions that have an observer: it is told
 * of every instruction before it runs.
 *
 * A second copy of the loop rather than a test in the first: a test would cost
 * each instruction of every session, and the copy costs some twenty KB of code
 * that only profiles, traces and --nan-stop touch. */
#define VM_OBSERVED 1
#include "vm/vm.c"
