/* The floating-point environment that the law of bits requires: rounding to
 * nearest, subnormals kept, no traps.  A host may have set another one.  The
 * library sets this on entry and in its worker threads, and restores the host's
 * on return. */
#ifndef BASE_FLOAT_ENV_H
#define BASE_FLOAT_ENV_H

#include <stdint.h>

/* The control register's value on entry. */
typedef uint64_t FloatEnv;

#if defined __x86_64__
#include <xmmintrin.h>

/* x86's MXCSR: all exceptions masked.  The sticky flags are the host's and
 * stay. */
enum { FLOAT_FLAGS = 0x3f, FLOAT_CONTROL = 0x1f80 };

/* Written only where it differs: writing MXCSR is slow beside reading it. */
static inline FloatEnv float_env_enter(void) {
  unsigned before = _mm_getcsr();
  if ((before & ~(unsigned)FLOAT_FLAGS) != FLOAT_CONTROL)
    _mm_setcsr((before & FLOAT_FLAGS) | FLOAT_CONTROL);
  return before;
}

static inline void float_env_leave(FloatEnv before) {
  if ((before & ~(FloatEnv)FLOAT_FLAGS) != FLOAT_CONTROL)
    _mm_setcsr((unsigned)before);
}
#elif defined __aarch64__
static inline void float_env_set(FloatEnv fpcr) {
  __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
}

static inline FloatEnv float_env_enter(void) {
  FloatEnv before;
  __asm__ volatile("mrs %0, fpcr" : "=r"(before));
  if (before) float_env_set(0);
  return before;
}

static inline void float_env_leave(FloatEnv before) {
  if (before) float_env_set(before);
}
#else
#include <fenv.h>

static inline FloatEnv float_env_enter(void) {
  FloatEnv before = (FloatEnv)fegetround();
  fesetround(FE_TONEAREST);
  return before;
}

static inline void float_env_leave(FloatEnv before) { fesetround((int)before); }
#endif

#endif
