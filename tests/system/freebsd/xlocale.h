/* strtod_l() and others are in the C library's own headers here. */
#include <locale.h>
#include <stdlib.h>
