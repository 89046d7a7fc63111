/* TVM's .params: a dictionary of NDArrays, as runtime.save_param_dict writes
 * it. */
#ifndef IO_PARAMS_H
#define IO_PARAMS_H

#include "io/tensor_file.h"

/* The number in the first eight bytes of a file. */
#define PARAMS_MAGIC UINT64_C(0xF7E58D4F05049CB7)

/* Reads the tensors, on a mapping of the file where their elements are aligned;
 * NULL after reporting.  Every size is checked against the file's. */
TensorFile *params_read(const char *path, Heap *heap, Diags *diags);

/* Replaces the file.  False after reporting. */
bool params_write(const char *path, const NamedTensor *tensors, size_t n,
                  Mem *mem, Diags *diags);

#endif
