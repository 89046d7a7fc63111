/* As ops/ref/each_int.h, for those integers that are worth a build for each
 * instruction set. */
#include "ops/ref/each_names.h"

#define LOAD(x) (x)
#define STORE(x) (x)
#define CLASS_FLOAT 0
#define CLASS_BOOL 0
#define CLASS_SIGNED 1

#define ID INT32
#define T int32_t
#define W uint32_t
#define LEAST INT32_MIN
#define MOST INT32_MAX
#include "ops/ref/each_one.h"
#define ID INT64
#define T int64_t
#define W uint64_t
#define LEAST INT64_MIN
#define MOST INT64_MAX
#include "ops/ref/each_one.h"

#undef LOAD
#undef STORE
#undef CLASS_FLOAT
#undef CLASS_BOOL
#undef CLASS_SIGNED
