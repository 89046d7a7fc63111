/* ONNX models as programs. */
#ifndef ONNX_ONNX_H
#define ONNX_ONNX_H

#include "base/name.h"
#include "io/tensor_file.h"

/* What the comment that a program begins with says of the model, before the
 * number: so a text is known as made of a model. */
#define ONNX_TEXT_SAYS ", operator set "

/* The type of an input or output of a model, or of a value of ONNX's tests. */
typedef struct OnnxType {
  enum { ONNX_TENSOR, ONNX_SEQUENCE, ONNX_OPTIONAL } kind;
  const char *text;  /* as the language writes it */
  const char *dtype; /* of a tensor */
  /* Of a tensor whose dtype in ONNX the language lacks, that one's name,
   * "INT2"; the elements of a "STRING" are bytes along a last axis. */
  const char *format;
  const struct OnnxType *element;
} OnnxType;

typedef struct OnnxPort {
  const char *name;  /* as the program has it */
  const char *label; /* as the model has it */
  OnnxType type;
} OnnxPort;

/* A model that was read, and the program that it is. */
typedef struct OnnxModel {
  Mem *mem;
  Arena arena;
  StrBuf text;         /* of the program, not laid out */
  TensorFile *weights; /* the values of its params, by their names */
  int input_count, output_count;
  OnnxPort *inputs, *outputs; /* of @main */
} OnnxModel;

/* Inputs that a step keeps between calls instead of taking them. */
typedef struct OnnxState {
  bool recurrent; /* the states of recurrent layers and scans */
  int pair_count;
  const char *const *pairs; /* "in=out"; a star in both stands for the same */
} OnnxState;

/* `state`: the program keeps it in cells; NULL: it has none, and `@main` is the
 * graph.  Owned, for onnx_model_free; NULL after reporting. */
OnnxModel *onnx_model_read(const char *path, const OnnxState *state, Heap *heap,
                           NameTable *names, Diags *diags);
void onnx_model_free(OnnxModel *m);

/* A value of ONNX's backend tests, in a file beside the model. */
typedef struct OnnxValue {
  Tensor *tensor; /* owned; or */
  bool none;      /* an optional without a value, */
  bool some;      /* or with one, its only item; else a sequence */
  bool strings;   /* the tensor is strings, as bytes */
  int count;
  struct OnnxValue *items;
} OnnxValue;

/* The value lies in the arena, its tensors in the heap.  False after
 * reporting. */
bool onnx_value_read(const char *path, const OnnxType *type, Heap *heap,
                     Arena *arena, OnnxValue *out, Diags *diags);
void onnx_value_drop(Heap *heap, OnnxValue *v);

/* Each operator in the graph of the model and in those within it, once. */
void onnx_each_op(const char *path, Mem *mem, Diags *diags,
                  void (*visit)(void *data, const char *name), void *data);

#endif
