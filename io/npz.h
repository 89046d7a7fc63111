/* NumPy's .npz: a zip archive of .npy files, each one's name that of its array.
 * Both functions load libzip (see libzip.h). */
#ifndef IO_NPZ_H
#define IO_NPZ_H

#include "io/tensor_file.h"

/* The arrays of an archive, stored or deflated, decompressed into memory; NULL
 * after reporting.  No size that the archive gives is believed: what it cannot
 * hold is refused before memory is taken for it. */
TensorFile *npz_read(const char *path, Heap *heap, Diags *diags);

/* Replaces the file; arrays are stored, as by numpy.savez, and dated 1980, so
 * that equal arrays give equal files.  False after reporting. */
bool npz_write(const char *path, const NamedTensor *tensors, size_t n, Mem *mem,
               Diags *diags);

#endif
