/* ONNX models as texts of a program. */
#ifndef LIB_ONNX_H
#define LIB_ONNX_H

#include "lib/handles.h"
#include "onnx/onnx.h"

bool path_is_model(const char *path);
/* Reads a model and binds its weights to the program's params to come; `state`
 * as onnx_model_read has it.  Owned; NULL after reporting. */
OnnxModel *program_read_model(rly_program *p, const char *path,
                              const OnnxState *state);
/* The text of a file, or of the model that it holds: len + 1 bytes of the
 * context's memory, which the caller frees.  False after reporting. */
bool program_source(rly_program *p, const char *path, char **text, size_t *len);

#endif
