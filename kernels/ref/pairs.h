/* Pairs of arithmetic operators in plain C. */
#ifndef KERNELS_REF_PAIRS_H
#define KERNELS_REF_PAIRS_H

#include "kernels/isa.h"

extern const Pairs ref_pairs_f32, ref_pairs_f64;

#endif
