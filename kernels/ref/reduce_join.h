/* Joins two partial results of one dtype; included, and undefined again, by the
 * bodies of reductions and scans. */

#if IS_FLOAT
#define ADD_OF(a, b) (a + b)
#define MUL_OF(a, b) (a * b)
/* NaN wins in either position.  There is no branch, so that loops vectorise. */
#define MAX_OF(a, b) (((a > b) | (a != a)) ? a : b)
#define MIN_OF(a, b) (((a < b) | (a != a)) ? a : b)
#elif IS_BOOL
#define ADD_OF(a, b) (a | b)
#define MUL_OF(a, b) (a & b)
#define MAX_OF(a, b) (a | b)
#define MIN_OF(a, b) (a & b)
#else
#define ADD_OF(a, b) ((C)STORE((W)a + (W)b))
#define MUL_OF(a, b) ((C)STORE((W)a * (W)b))
#define MAX_OF(a, b) (a > b ? a : b)
#define MIN_OF(a, b) (a < b ? a : b)
#endif
