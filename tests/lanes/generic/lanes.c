/* See tests/lanes/lanes.h. */

#define LANES lanes_generic
#define LANES_ISA "generic"
#include "tests/lanes/lanes.inc"
