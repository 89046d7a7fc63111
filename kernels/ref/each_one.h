/* One round of each_int.h and its like: BODY for one dtype, then the slate
 * wiped.  C is T unless it was set. */
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
