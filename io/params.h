/* TVM's .params: a dictionary of NDArrays, as runtime.save_param_dict writes
 * it. */
#ifndef IO_PARAMS_H
#define IO_PARAMS_H

#include "io/tensor_file.h"

/* What the eight bytes that a file begins with stand for. */
#define PARAMS_MAGIC UINT64_C(0xF7E58D4F05049CB7)

/* The tensors of a file, on a mapping of it where their elements are aligned;
 * NULL after reporting.  Every size is checked against the bytes there are. */
TensorFile *params_read(const char *path, Heap *heap, Diags *diags);

/* Replaces the file.  False after reporting. */
bool params_write(const char *path, const NamedTensor *tensors, size_t n,
                  Mem *mem, Diags *diags);

#endif
