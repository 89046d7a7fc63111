/* A reader of safetensors files, apart from the one in io/ so that neither can
 * hide the other's mistakes. */
#ifndef TESTS_CONFORMANCE_TENSORS_H
#define TESTS_CONFORMANCE_TENSORS_H

#include <jansson.h>

#include "tests/process.h"

typedef struct TensorFile {
  Text bytes;
  json_t *header;
} TensorFile;

/* One tensor of a file, which it borrows from. */
typedef struct TensorView {
  const char *dtype;   /* as the file spells it: F32, I64, BOOL ... */
  const json_t *shape; /* an array of integers */
  size_t count;        /* of elements */
  size_t width;        /* bytes of an element */
  const char *data;    /* count * width bytes, of any alignment */
} TensorView;

bool tensor_file_read(TensorFile *f, const char *path);
void tensor_file_free(TensorFile *f);

/* How many tensors the file holds. */
size_t tensor_file_count(const TensorFile *f);

/* The tensor of that name; false when there is none, or its entry lies. */
bool tensor_file_find(const TensorFile *f, const char *name, TensorView *view);

/* An entry of the metadata, or NULL. */
const char *tensor_file_meta(const TensorFile *f, const char *key);

bool tensor_is_float(const TensorView *view);
/* Element i of a tensor of floats. */
double tensor_float(const TensorView *view, size_t i);

#endif
