/* Includes BODY once for each integer dtype, with
 *
 *   ID           the dtype's name: INT8
 *   T, C         the type of an element in memory, and to compute with
 *   W            an unsigned type that wraps as T does, free of promotion
 *   LOAD, STORE  from T to C and back
 *   LEAST, MOST  the range of C
 *   FN(name)     name_INT8
 *   CLASS_FLOAT, CLASS_SIGNED, CLASS_BOOL   0 or 1
 *
 * With WIDE_ALONE, only for int32 and int64: the others are not worth a build
 * for each instruction set. */
#include "kernels/ref/loop.h"

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
#include "kernels/ref/each_one.h"
#define ID INT64
#define T int64_t
#define W uint64_t
#define LEAST INT64_MIN
#define MOST INT64_MAX
#include "kernels/ref/each_one.h"
#ifndef WIDE_ALONE
#define ID INT8
#define T int8_t
#define W uint32_t
#define LEAST INT8_MIN
#define MOST INT8_MAX
#include "kernels/ref/each_one.h"
#define ID INT16
#define T int16_t
#define W uint32_t
#define LEAST INT16_MIN
#define MOST INT16_MAX
#include "kernels/ref/each_one.h"
#endif
#undef CLASS_SIGNED

#ifndef WIDE_ALONE
#define CLASS_SIGNED 0
#define ID UINT8
#define T uint8_t
#define W uint32_t
#define LEAST 0
#define MOST UINT8_MAX
#include "kernels/ref/each_one.h"
#define ID UINT16
#define T uint16_t
#define W uint32_t
#define LEAST 0
#define MOST UINT16_MAX
#include "kernels/ref/each_one.h"
#define ID UINT32
#define T uint32_t
#define W uint32_t
#define LEAST 0
#define MOST UINT32_MAX
#include "kernels/ref/each_one.h"
#define ID UINT64
#define T uint64_t
#define W uint64_t
#define LEAST 0
#define MOST UINT64_MAX
#include "kernels/ref/each_one.h"
#undef CLASS_SIGNED
#endif

#undef LOAD
#undef STORE
#undef CLASS_FLOAT
#undef CLASS_BOOL
