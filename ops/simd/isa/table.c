/* The table of one instruction set. */
#include "ops/simd/isa/isa.h"

extern const Simd ISA(simd);
const Simd ISA(simd) = {
    .isa = ISA_TEXT,
    .products = ISA(simd_products),
    .plain_products = ISA(simd_plain_products),
    .strip = ISA(simd_strip),
    .cast = ISA(simd_cast),
    .where = ISA(simd_where),
    .lines = ISA(simd_lines),
    .reducers = ISA(simd_reducers),
};
