/* The dispatch loop once more, for sessions that have an observer: it is told
 * of every instruction before it runs. */
#define VM_OBSERVED 1
#include "vm/vm.c"
