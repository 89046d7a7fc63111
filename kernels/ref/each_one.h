/* Includes BODY for one dtype, for each_int.h and its like, and undefines the
 * names after it.  C is T unless it was set. */
#ifndef C
#define C T
#endif
#include BODY
#undef ID
#undef T
#undef C
#undef W
#undef LEAST
#undef MOST
