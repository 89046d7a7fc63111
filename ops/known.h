/* Values of small integer tensors that are known before the program runs.
 *
 * Elements are Dims, so a value may hold the names of dimensions, and `?` for
 * what is not known: that of shape_of(x) for x : (n, ?, 3) is [n, ?, 3].  A
 * row of ops.def that can compute with such values names its function in
 * `.known`, or in `.dim` where it is element-wise; the checker asks for the
 * values of attributes and of what decides a shape (types/known.c). */
#ifndef OPS_KNOWN_H
#define OPS_KNOWN_H

#include "ops/rule.h"

enum { KNOWN_MAX = 64 }; /* elements of a value */

typedef struct Known {
  DType dtype;      /* an integer, or bool, whose elements are 0 and 1 */
  int rank, count;  /* of rank 0 or 1, with so many elements */
  const Dim *items; /* `?`: not known; a hole: not inferred yet */
} Known;

/* The value of a call whose record is complete.  Operands have their values in
 * RuleType.value, as far as they are known.  False: nothing is known of it. */
typedef bool KnownFn(const RuleCall *call, Known *out);
bool op_known(const RuleCall *call, Known *out);

/* Sets an attribute that an operand holds to the operand's value.  What is not
 * known stays as it is. */
void attr_set_known(const AttrSpec *spec, const Known *known, Arena *arena,
                    AttrValue *value);

#define KNOWN(name) KnownFn known_##name;
KNOWN(shape_of)
KNOWN(ndarray_size)
KNOWN(cast)
KNOWN(take)
KNOWN(strided_slice)
KNOWN(concatenate)
KNOWN(stack)
KNOWN(same)
KNOWN(sum)
KNOWN(prod)
KNOWN(full)
KNOWN(ones)
KNOWN(zeros)
KNOWN(negative)
KNOWN(divide)
KNOWN(floor_divide)
KNOWN(mod)
KNOWN(floor_mod)
KNOWN(maximum)
KNOWN(minimum)
KNOWN(equal)
KNOWN(not_equal)
KNOWN(less)
KNOWN(less_equal)
KNOWN(greater)
KNOWN(greater_equal)
KNOWN(logical_not)
#undef KNOWN

#endif
