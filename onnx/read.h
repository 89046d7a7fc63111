/* The messages of an ONNX file, read and freed, and its tensors. */
#ifndef ONNX_READ_H
#define ONNX_READ_H

#include "base/diag.h"
#include "onnx/onnx.pb-c.h"
#include "tensor/tensor.h"

/* Decodes a whole file, whose messages of the kind `what` nest no deeper than a
 * bound.  Owned, for onnx_message_free; NULL after reporting. */
ProtobufCMessage *onnx_message_read(Mem *mem, const char *path,
                                    const ProtobufCMessageDescriptor *what,
                                    Diags *diags);
void onnx_message_free(Mem *mem, ProtobufCMessage *m);

/* The dtype of a number of ONNX's TensorProto.DataType; DTYPE_NONE: there is
 * none here (strings, complex numbers).  `name` receives ONNX's own name, or
 * NULL.  Of small floats and integers that the language lacks it is one that
 * holds all their values, and their name is the format, by which values are
 * rounded before they are kept there. */
DType onnx_dtype(int32_t number, const char **name);
/* "FLOAT4E2M1"; also "STRING"; NULL: the language has the dtype itself. */
const char *onnx_dtype_format(int32_t number);
enum { ONNX_STRING = 8 };

/* Has the language the tensor's dtype and rank? */
bool onnx_tensor_fits(const Onnx__TensorProto *t);
/* A tensor with the elements of `t`; those of external data are read from the
 * folder of the file `path`, and from nowhere else.  `what` names the tensor in
 * messages.  Owned; NULL after reporting. */
Tensor *onnx_tensor(Heap *heap, const Onnx__TensorProto *t, const char *path,
                    const char *what, Diags *diags);

#endif
