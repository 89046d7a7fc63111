/* Reading GGUF, the format of llama.cpp and its kin: tensors of plain numbers.
 * Quantized ones are refused by name. */
#ifndef IO_GGUF_H
#define IO_GGUF_H

#include "io/tensor_file.h"

/* Versions 2 and 3, little-endian; tensors lie on a mapping of the file.  Their
 * names and shapes are those of the model that was converted: a dimension that
 * the file names first is our last.  What the file says of the model beside its
 * tensors is passed over.  NULL after reporting. */
TensorFile *gguf_read(const char *path, Heap *heap, Diags *diags);

#endif
