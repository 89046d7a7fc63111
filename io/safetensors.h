/* The safetensors format: eight bytes of header length, a JSON header, then
 * the elements of all tensors without gaps.
 *
 *   {"__metadata__": {"key": "value"},
 *    "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}} */
#ifndef IO_SAFETENSORS_H
#define IO_SAFETENSORS_H

#include "io/tensor_file.h"

/* Reads the tensors on a mapping of the file; NULL after reporting, or where
 * the heap is told to stop.  The file is untrusted: a header that does not
 * describe exactly the bytes after it is refused. */
TensorFile *safetensors_read(const char *path, Heap *heap, Diags *diags);

/* Replaces the file.  Tensors keep the given order, their names must differ,
 * and the first one is 64-byte aligned.  False after reporting. */
bool safetensors_write(const char *path, const NamedTensor *tensors, size_t n,
                       const MetaPair *metadata, size_t metadata_n, Mem *mem,
                       Diags *diags);

#endif
