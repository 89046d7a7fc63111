/* The loops of pairs.def for one type, and their table FN(PAIRS).  The includer
 * says how they go through the elements, which are x, y and, in pairs, z of an
 * expression that gives out[i]:
 *
 *   DENSE_SINGLE(s, expression)   operands are contiguous
 *   DENSE_PAIR(s, expression)
 *   ANY_SINGLE(s, expression)     steps are 1 or 0
 *   ANY_PAIR(s, expression) */

#define SINGLE(first, expression)                       \
  RARELY int FN(any_##first)(const Strip *s) {          \
    ANY_SINGLE(s, expression)                           \
    return FAULT_NONE;                                  \
  }                                                     \
  static int FN(single_##first)(const Strip *s) {       \
    if (!STEPS_ARE(s->step[0] == 1 && s->step[1] == 1)) \
      return FN(any_##first)(s);                        \
    DENSE_SINGLE(s, expression)                         \
    return FAULT_NONE;                                  \
  }
#define PAIR(first, second, expression)                                    \
  RARELY int FN(any_##first##_##second)(const Strip *s) {                  \
    ANY_PAIR(s, expression)                                                \
    return FAULT_NONE;                                                     \
  }                                                                        \
  static int FN(pair_##first##_##second)(const Strip *s) {                 \
    if (!STEPS_ARE(s->step[0] == 1 && s->step[1] == 1 && s->step[2] == 1)) \
      return FN(any_##first##_##second)(s);                                \
    DENSE_PAIR(s, expression)                                              \
    return FAULT_NONE;                                                     \
  }
#include "kernels/ref/pairs.def"
#undef SINGLE
#undef PAIR

#define SINGLE(first, expression) \
  [PAIR_##first][THEN_NOTHING] = FN(single_##first),
#define PAIR(first, second, expression) \
  [PAIR_##first][THEN_##second] = FN(pair_##first##_##second),
PAIRS_LINKAGE const Pairs FN(PAIRS) = {.of = {
#include "kernels/ref/pairs.def"
                                       }};
#undef SINGLE
#undef PAIR
#undef ID
#undef T
