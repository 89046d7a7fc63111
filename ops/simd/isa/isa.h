/* What each source of this folder starts with.  The Makefile compiles them for
 * one instruction set after the other, SIMD_ISA being its name; ISA(x) is x_
 * followed by it. */
#ifndef OPS_SIMD_ISA_ISA_H
#define OPS_SIMD_ISA_ISA_H

#include "ops/math/vec.h"
#include "ops/simd/simd.h"

#define ISA_PASTE(name, isa) name##_##isa
#define ISA_OF(name, isa) ISA_PASTE(name, isa)
#define ISA(name) ISA_OF(name, SIMD_ISA)

#define ISA_QUOTE(isa) #isa
#define ISA_QUOTED(isa) ISA_QUOTE(isa)
#define ISA_TEXT ISA_QUOTED(SIMD_ISA)

extern const SimdPlainProduct ISA(simd_plain_products)[];
extern const SimdProduct *const ISA(simd_products)[SIMD_PRODUCTS];
StripFn ISA(simd_strip)(OpId op, DType dtype);
StripFn ISA(simd_cast)(DType from, DType to);
StripFn ISA(simd_where)(size_t size);
extern const Reducer *const ISA(simd_reducers)[DTYPE_COUNT];
extern SimdLineFn *const ISA(simd_lines)[ROW_KINDS];

#endif
