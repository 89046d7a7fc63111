/* The dispatch loop once more, for sessions that are observed: it calls
 * vm_observe() before every instruction. */
#define VM_OBSERVED 1
#include "interp/vm.c"
