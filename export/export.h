/* Programs to ONNX models. */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include "ir/program.h"

/* A value that is bound to a param, or a part of one. */
typedef struct ExportPart {
  const Type *type;
  const char *name;            /* of a tensor: what the model calls it */
  const struct Tensor *tensor; /* NULL: a tuple or a constructor */
  const Ctor *ctor;            /* NULL: a tuple */
  bool list; /* `parts` are the elements, of which `ctor` makes a list */
  int64_t count;
  const struct ExportPart *parts;
} ExportPart;

typedef struct ExportWish {
  int64_t opset;
  bool external; /* large params go to a file beside the model, PATH.data */
  /* The value that is bound to a param, borrowed until the model is written.
   * NULL: none is; `*failed` is set after reporting one that does not fit. */
  const ExportPart *(*param)(void *data, const Global *g, bool *failed);
  /* The path of part `i` of what has that path, by which it would be bound; of
   * a tuple where `ctor` is NULL. */
  const char *(*path)(void *data, const char *path, const Ctor *ctor,
                      int64_t i);
  void *data;
} ExportWish;

/* Writes the function as a model: its parameters are the graph's inputs, what
 * it gives is the outputs.  False after reporting what ONNX cannot say. */
bool program_export(Program *p, const Global *entry, const ExportWish *wish,
                    const char *path);

#endif
