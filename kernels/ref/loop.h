/* What the sources of inner loops are written with. */
#ifndef KERNELS_REF_LOOP_H
#define KERNELS_REF_LOOP_H

/* FN(name): the function of that name of the dtype ID (see each_int.h). */
#define NAME_PASTE(name, id) name##_##id
#define NAME_OF(name, id) NAME_PASTE(name, id)
#define FN(name) NAME_OF(name, ID)

/* Loops whose rounds do not depend on each other, even when the result is
 * written over an operand. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* some stay scalar */
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif
#define ALWAYS_INLINE static inline __attribute__((always_inline))

#endif
