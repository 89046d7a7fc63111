/* See tests/lanes/lanes.h. */

#define LANES lanes_avx2
#define LANES_ISA "avx2"
#include "tests/lanes/lanes.inc"
