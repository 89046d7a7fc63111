/* NumPy's .npy: one array, its dtype and shape in a header that is the text of
 * a Python dict. */
#ifndef IO_NPY_H
#define IO_NPY_H

#include "io/tensor_file.h"

/* Reads the array on a mapping of the file; Fortran order becomes strides.
 * Accepts versions 1 to 3, little-endian; '<V2' is bfloat16, as ml_dtypes
 * writes it. NULL after reporting. */
Tensor *npy_read(const char *path, Heap *heap, Diags *diags);

/* Replaces the file: version 1, C order, 64-byte aligned.  False after
 * reporting. */
bool npy_write(const char *path, const Tensor *t, Mem *mem, Diags *diags);

#endif
