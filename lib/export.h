/* Functions of a program as ONNX models. */
#ifndef LIB_EXPORT_H
#define LIB_EXPORT_H

#include "lib/handles.h"

enum { EXPORT_OPSET_LEAST = 17, EXPORT_OPSET_MOST = 23 };

/* Writes the definition of that name, with what is bound to its params.  False
 * after reporting. */
bool program_write_model(rly_program *p, const char *entry, int64_t opset,
                         bool external, const char *path);

#endif
