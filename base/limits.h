/* The fixed limits: limits.def as constants. */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

enum {
#define LIMIT(name, most, code, what) name = most,
#include "base/limits.def"
#undef LIMIT
};

#endif
