/* Macros for the sources of inner loops. */
#ifndef KERNELS_REF_LOOP_H
#define KERNELS_REF_LOOP_H

/* FN(name): name_ID, the function for the dtype ID (see each_one.h). */
#define NAME_PASTE(name, id) name##_##id
#define NAME_OF(name, id) NAME_PASTE(name, id)
#define FN(name) NAME_OF(name, ID)

/* Marks a loop whose iterations are independent, even when the result
 * overwrites an operand. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* some loops stay scalar */
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* if (STEPS_ARE(condition)): the steps of a loop are those that the condition
 * names, so a copy of the loop is compiled in which they are constants.  Where
 * code is to be small, no copy is: the loop for any steps gives the same bits.
 */
#ifdef __OPTIMIZE_SIZE__
#define STEPS_ARE(condition) 0
#else
#define STEPS_ARE(condition) (condition)
#endif

/* Marks what a function does in rare cases, a function of its own that is not
 * inlined: the common case then saves no registers.  Where code is to be small
 * they are one. */
#ifdef __OPTIMIZE_SIZE__
#define RARELY static inline
#else
#define RARELY static __attribute__((noinline))
#endif

#endif
