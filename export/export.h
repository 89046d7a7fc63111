/* Programs to ONNX models. */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include "ir/program.h"

typedef struct ExportWish {
  int64_t opset;
  bool external; /* large params go to a file beside the model, PATH.data */
  /* The tensor that is bound to a param, borrowed until the model is written.
   * NULL: none is; `*failed` is set after reporting one that does not fit. */
  const struct Tensor *(*param)(void *data, const Global *g, bool *failed);
  void *data;
} ExportWish;

/* Writes the function as a model: its parameters are the graph's inputs, what
 * it gives is the outputs.  False after reporting what ONNX cannot say. */
bool program_export(Program *p, const Global *entry, const ExportWish *wish,
                    const char *path);

#endif
