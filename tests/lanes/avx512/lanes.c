/* See tests/lanes/lanes.h. */

#define LANES lanes_avx512
#define LANES_ISA "avx512"
#include "tests/lanes/lanes.inc"
