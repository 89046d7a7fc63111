/* Includes BODY for bool, with the names of each_int.h. */
#include "kernels/ref/loop.h"

#define LOAD(x) (x)
#define STORE(x) (x)
#define CLASS_FLOAT 0
#define CLASS_BOOL 1
#define CLASS_SIGNED 0
#define ID BOOL
#define T uint8_t
#define W uint32_t
#define LEAST 0
#define MOST 1
#include "kernels/ref/each_one.h"
#undef LOAD
#undef STORE
#undef CLASS_FLOAT
#undef CLASS_BOOL
#undef CLASS_SIGNED
