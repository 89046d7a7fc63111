/* Shared by the tests of file formats: a folder for each test, files with given
 * bytes, tensors of every dtype.
 *
 * When a test closes its desk, the folder must be empty but for the one file:
 * no temporary file is left behind, and no memory. */
#ifndef TESTS_UNIT_DESK_H
#define TESTS_UNIT_DESK_H

#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/tensor_file.h"

/* A folder of its own for each test. */
typedef struct Desk {
  Mem mem;
  Heap heap;
  Diags diags;
  char folder[32], path[64];
} Desk;

static inline void desk_open(Desk *d) {
  heap_init(&d->heap, unit_mem(&d->mem));
  diags_init(&d->diags, &d->mem);
  strcpy(d->folder, "/tmp/rly-io-XXXXXX");
  assert_non_null(mkdtemp(d->folder));
  snprintf(d->path, sizeof d->path, "%s/file", d->folder);
}

static inline void desk_close(Desk *d) {
  unlink(d->path);
  assert_int_equal(rmdir(d->folder), 0); /* no temporary file is left */
  diags_done(&d->diags);
  heap_done(&d->heap);
  unit_mem_done(&d->mem);
}

static inline void write_bytes(const Desk *d, const void *data, size_t size) {
  FILE *file = fopen(d->path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

static inline size_t read_bytes(const Desk *d, char *bytes, size_t most) {
  FILE *file = fopen(d->path, "rb");
  assert_non_null(file);
  size_t size = fread(bytes, 1, most, file);
  fclose(file);
  return size;
}

/* A file that was read holds `n` of these. */
static inline void expect_tensors(const TensorFile *f,
                                  const NamedTensor *tensors, size_t n) {
  assert_non_null(f);
  assert_int_equal(f->tensors.len, n);
  for (size_t i = 0; i < n; i++) {
    Tensor *t = tensor_file_find(f, tensors[i].name);
    assert_non_null(t);
    assert_true(tensor_same(t, tensors[i].tensor));
  }
}

/* Exactly one error, of this code, that names the file and says `why`. */
static inline void expect_error(Desk *d, DiagCode code, const char *why) {
  assert_int_equal(d->diags.errors, 1);
  const Diag *diag = d->diags.list.data[0];
  assert_int_equal(diag->code, code);
  assert_non_null(strstr(diag->message, d->path));
  if (!strstr(diag->message, why)) assert_string_equal(diag->message, why);
  diags_clear(&d->diags);
}

/* --- Tensors ------------------------------------------------------------- */

/* One tensor of each dtype; among them are a scalar, an empty and a transposed
 * one.  Returns how many: without `narrow` the narrow integers are left out,
 * for which few formats have a name. */
static inline size_t fill_tensors(Desk *d, NamedTensor *tensors, bool narrow) {
  size_t n = 0;
  static const char *const names[DTYPE_COUNT] = {"a\"b", "%x/y", "\xC3\xA9"};
  static const int64_t shapes[][2] = {{2, 3}, {0, 4}, {1, 1}};
  int64_t transposed[2] = {3, 2}, strides[2] = {1, 3};
  for (int i = 0; i < DTYPE_COUNT; i++) {
    if (dtype_info[i].form == FORM_NARROW && !narrow) continue;
    const int64_t *shape = shapes[i % 3];
    Tensor *t = tensor_zeros(&d->heap, (DType)i, i % 3 == 2 ? 0 : 2, shape);
    for (int64_t k = 0; k < tensor_count(t); k++)
      bits_store((DType)i, t->data + k * (int64_t)dtype_size((DType)i),
                 bits_from_i64((DType)i, k + 1));
    if (i % 3 == 0) {
      Tensor *view = tensor_view(&d->heap, t, 2, transposed, strides, 0);
      tensor_drop(&d->heap, t);
      t = view;
    }
    const char *name = names[i] ? names[i] : dtype_name((DType)i);
    tensors[n++] = (NamedTensor){name, t};
  }
  return n;
}

static inline void drop_tensors(Desk *d, NamedTensor *tensors, size_t n) {
  for (size_t i = 0; i < n; i++) tensor_drop(&d->heap, tensors[i].tensor);
}

#endif
