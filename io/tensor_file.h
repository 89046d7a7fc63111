/* Files of named tensors, as the readers of safetensors and npz return them,
 * and the code that these readers share. */
#ifndef IO_TENSOR_FILE_H
#define IO_TENSOR_FILE_H

#include "io/file.h"
#include "tensor/tensor.h"

typedef struct NamedTensor {
  const char *name;
  Tensor *tensor;
} NamedTensor;

typedef struct MetaPair {
  const char *key, *value;
} MetaPair;

/* A tensor of a sound file that is none of rly's: of another dtype, or of too
 * high a rank.  The other tensors serve whoever does not ask for this one. */
typedef struct LeftOut {
  const char *name, *why; /* "its dtype is F8_E8M0, which is none of rly's" */
} LeftOut;

typedef struct TensorFile {
  Heap *heap;
  Arena arena;              /* holds the names */
  VEC(NamedTensor) tensors; /* in file order, owned */
  VEC(LeftOut) left_out;
  VEC(MetaPair) metadata;
} TensorFile;

/* Empty, or NULL when memory runs out. */
TensorFile *tensor_file_new(Heap *heap);
/* Drops the tensors; a tensor that is referenced elsewhere stays alive. */
void tensor_file_free(TensorFile *f);

/* For readers, before any tensor is made: adds a name with a NULL tensor; false
 * when memory runs out. */
bool tensor_file_add_name(TensorFile *f, const char *name, size_t len);
/* Orders names, for qsort. */
int tensor_file_by_name(const void *a, const void *b);
/* False after reporting when two names are equal, or memory runs out. */
bool tensor_file_check_names(TensorFile *f, const char *path,
                             const char *format, Diags *diags);

/* For readers: leaves out a tensor, whose name and reason lie in the arena.
 * False when memory runs out, as it has where there is no reason. */
bool tensor_file_leave_out(TensorFile *f, const char *name, const char *why);
/* The reasons that formats share, in the arena, or NULL.  Of `dtype`, what the
 * file calls it, `len` bytes are quoted. */
const char *misfit_of_dtype(Arena *arena, const char *dtype, size_t len);
const char *misfit_of_rank(Arena *arena, size_t rank);
/* Removes the names that have no tensor, which are those left out. */
void tensor_file_drop_left_out(TensorFile *f);

/* False after reporting: something is left out.  For whoever needs all of the
 * file. */
bool tensor_file_is_whole(const TensorFile *f, const char *path, Diags *diags);

/* For a caller that looks up many names: the first function sorts the tensors,
 * the second finds one among the sorted; borrowed, or NULL. */
void named_tensors_sort(NamedTensor *tensors, size_t count);
Tensor *named_tensors_find(const NamedTensor *sorted, size_t count,
                           const char *name);
/* Borrowed, or NULL. */
Tensor *tensor_file_find(const TensorFile *f, const char *name);
const char *tensor_file_metadata(const TensorFile *f, const char *key);

/* "PATH is no valid FORMAT file: ..."; false, for readers to return. */
bool file_invalid(Diags *diags, const char *path, const char *format,
                  const char *why, ...) __attribute__((format(printf, 4, 5)));
bool file_out_of_memory(Diags *diags, const char *path);
/* A text of a file as a message can quote it, in the arena: control characters
 * escaped, and cut where it is long.  NULL when memory runs out. */
const char *text_quoted(Arena *arena, const char *text, size_t len);

/* Where a tensor's elements lie in a mapped file.  The reader has checked that
 * they lie inside it. */
typedef struct MappedElements {
  FileMap *map;
  const char *path, *name; /* for messages; `name` may be NULL */
  size_t offset, size;
  DType dtype;
  int rank;
  const int64_t *shape;
  const int64_t *strides; /* NULL for row-major */
} MappedElements;

/* A tensor on the mapping, which lives until its last tensor is dropped; a copy
 * when the file does not align the elements.  NULL after reporting, or
 * where the heap is told to stop. */
Tensor *tensor_of_mapping(Heap *heap, const MappedElements *e, Diags *diags);
/* The bytes of any file, a vector of uint8 on its mapping.  NULL after
 * reporting. */
Tensor *bytes_read(const char *path, Heap *heap, Diags *diags);

/* Are all of them elements (bits_are_valid)?  Most dtypes have no others.  Also
 * false when `stop` was seen. */
bool elements_are_valid(StopFlag *stop, DType dtype, const char *data,
                        size_t size);

/* For writers: `file_name` is what such files call the tensor's dtype.  False
 * after reporting where that is NULL; `name` may be NULL. */
bool dtype_has_name(const char *path, const char *name, DType dtype,
                    const char *file_name, Diags *diags);

/* Notes that the tensor's elements were written. */
void tensor_was_written(FileOut *out, const Tensor *t);
/* Writes the elements in row-major order, and notes it. */
void tensor_write_elements(FileOut *out, const Tensor *t);

#endif
