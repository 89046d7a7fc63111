/* Do values of one type have the same structure: the same constructors, and
 * tensors of floats of the same shapes? */
#ifndef VALUE_STRUCTURE_H
#define VALUE_STRUCTURE_H

#include <stdatomic.h>

#include "value/value.h"

/* A value as a machine has it; `type` is for its PartFns. */
typedef struct Part {
  const Type *type;
  Value v;
} Part;

typedef enum PartKind {
  PART_OTHER,  /* nothing of it is compared */
  PART_FLOATS, /* a tensor of rank > 0 */
  PART_TUPLE,
  PART_DATA,
} PartKind;

typedef struct Looked {
  PartKind kind;
  int count; /* fields */
  const Ctor *ctor;
  const Tensor *tensor;
} Looked;

/* How a machine's values are looked at. */
typedef struct PartFns {
  void *data;
  void (*look)(void *data, Part p, Looked *out);
  Part (*field)(void *data, Part p, int i);
  const _Atomic int *stop; /* not 0: the answer does not matter any more */
} PartFns;

/* Where the answer is no, `text` receives what to say: the place where the
 * values differ first, as `.layers[2].1`, and how.  Also false when memory runs
 * out or `stop` says so.  Values may be arbitrarily deep. */
bool structures_agree(Mem *mem, const PartFns *fns, int n, const Part *values,
                      StrBuf *text);

#endif
