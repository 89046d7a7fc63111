/* The law of sums and extrema over many elements, which every driver, inner
 * loop and instruction set keeps: element r goes to partial result r mod
 * LAW_PARTS, in ascending order; then the upper half of the partial results
 * joins the lower half, +8, +4, +2, +1.  So neither the vector width nor the
 * number of threads changes a bit. */
#ifndef KERNELS_LAW_H
#define KERNELS_LAW_H

enum { LAW_PARTS = 16 };

#endif
