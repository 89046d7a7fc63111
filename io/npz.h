/* NumPy's .npz: a zip archive of .npy files, each named for its array.  Both
 * functions load libzip (libzip.h). */
#ifndef IO_NPZ_H
#define IO_NPZ_H

#include "io/tensor_file.h"

/* Reads the arrays of an archive, stored or deflated, into memory; NULL after
 * reporting.  Sizes are checked against the archive's own size before memory is
 * allocated for them. */
TensorFile *npz_read(const char *path, Heap *heap, Diags *diags);

/* Replaces the file.  Arrays are stored, as by numpy.savez, and dated 1980, so
 * that equal arrays give equal files.  False after reporting. */
bool npz_write(const char *path, const NamedTensor *tensors, size_t n, Mem *mem,
               Diags *diags);

#endif
