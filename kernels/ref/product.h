/* Products in plain C: the tiles of panels, and whole products in 64-bit
 * types. */
#ifndef KERNELS_REF_PRODUCT_H
#define KERNELS_REF_PRODUCT_H

#include "kernels/isa.h"

extern const Tiles ref_tiles_f32, ref_tiles_u32;

/* Of product_body.h: the tile of results, and the block of k.  Any numbers give
 * the same bits; with these a panel of 128 x 32 doubles is 32 KB. */
enum { ROWS = 8, COLUMNS = 32, BLOCK = 128 };
bool ref_product_f64(StopFlag *stop, const Product *p);
bool ref_product_u64(StopFlag *stop, const Product *p);

#endif
