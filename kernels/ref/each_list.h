/* Includes elementwise_body.h for each list of operators and each dtype that
 * the list is for.  STRIPS, and what else the body asks for, are the
 * includer's. */
#define BODY "kernels/ref/elementwise_body.h"
#define LIST "kernels/ref/elementwise_bool.def"
#include "kernels/ref/each_bool.h"
#undef LIST
#define LIST "kernels/ref/elementwise_int.def"
#include "kernels/ref/each_int.h"
#undef LIST
#define LIST "kernels/ref/elementwise_float.def"
#include "kernels/ref/each_float.h"
#undef LIST
#undef BODY
