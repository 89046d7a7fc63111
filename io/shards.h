/* Reading a model whose tensors lie in several safetensors files, named by an
 * index: model.safetensors.index.json. */
#ifndef IO_SHARDS_H
#define IO_SHARDS_H

#include "io/tensor_file.h"

/* The tensors that the index names, in the order of the files' names and, in
 * each, of its data.  The files lie in the index's folder.  A tensor that is
 * not where the index says, or that it does not name, is an error.  NULL after
 * reporting. */
TensorFile *shards_read(const char *path, Heap *heap, Diags *diags);

#endif
