/* The common header of everything that is counted: tensors, and the cells of
 * the interpreter (tuples, constructors, closures, ref cells).
 *
 * A value is 64 bits without a tag.  A rank-0 tensor of any dtype is its raw
 * bits (the unused high bytes are zero); everything else is a pointer to a
 * counted object.  Which of the two a slot holds is known from its type.
 *
 * The header is 8 bytes: count, tag, and a layout that says which fields are
 * counted pointers, so that freeing needs no types:
 *
 *   size 0..12    that many fields; bit i of `mask` set: field i is counted
 *   SIZE_TENSOR   a Tensor
 *   SIZE_REF      a RefCell (see value/value.h)
 *   SIZE_BIG      fields[0].u64 is the number n of fields, then (n + 63) / 64
 *                 words of mask, then the fields
 *
 * A negative count is immortal: program constants, nullary constructors. */
#ifndef TENSOR_OBJECT_H
#define TENSOR_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Obj {
  int32_t count;
  uint16_t tag; /* a constructor's index, or a TAG_ below; of a ref cell up to
                   which level it was made (vm/dual.c); 0 otherwise */
  uint16_t size : 4, mask : 12;
} Obj;

enum { SIZE_SMALL_MAX = 12, SIZE_TENSOR = 13, SIZE_REF = 14, SIZE_BIG = 15 };
/* All bits of `size` and of `mask`: the compiler warns of a wider number that
 * is put into one of them without these. */
enum { SIZE_BITS = 0xf, MASK_BITS = 0xfff };
enum { COUNT_IMMORTAL = INT32_MIN };
/* Tags of the machine's own cells, beyond those of constructors: closures, and
 * what differentiation has (vm/dual_tape.h). */
enum { TAG_CLOSURE = UINT16_MAX - 2, TAG_DUAL, TAG_TAPE };

struct Tensor;
struct Cell;

typedef union Value {
  uint64_t bits;
  bool b;
  int8_t i8;
  int16_t i16;
  int32_t i32;
  int64_t i64;
  uint8_t u8;
  uint16_t u16;
  uint32_t u32;
  uint64_t u64;
  float f32;
  double f64;
  Obj *obj;
  struct Tensor *tensor;
  struct Cell *cell;
} Value;

/* Counts saturate: one that would overflow becomes negative, so immortal. */
static inline void obj_keep(Obj *o) {
  if (o->count >= 0) o->count = (int32_t)((uint32_t)o->count + 1);
}
/* Is this reference the only one?  Then its holder may reuse the object in
 * place.  An immortal object is never unshared. */
static inline bool obj_unshared(const Obj *o) { return o->count == 1; }

#endif
