/* Reading and writing .params:
 *
 *   u64 magic | u64 0 | u64 n | n names (u64 length, bytes) | u64 n | n arrays
 *
 * as SaveParams does in TVM's src/runtime/file_utils.cc.  All numbers are
 * little-endian.  tensor/ndarray.h describes the arrays, each of which has a
 * header of its own with dtype and shape.
 *
 * Names and arrays are two lists of the same length; the i-th name belongs to
 * the i-th array.  The file is mapped and read from front to back. */
#include "io/params.h"

#include <string.h>

#include "io/cursor.h"
#include "tensor/ndarray.h"

enum { NAME_LEAST = 8 }; /* size of an empty name */

/* --- Reading ------------------------------------------------------------- */

typedef struct Reader {
  Cursor at;
  TensorFile *file;
} Reader;

static bool out_of_memory(const Reader *r) {
  return file_out_of_memory(r->at.diags, r->at.path);
}

static bool read_magic(Reader *r) {
  uint64_t magic, reserved;
  if (!cursor_u64(&r->at, "magic number", &magic)) return false;
  if (magic != PARAMS_MAGIC)
    return cursor_invalid(&r->at, "it does not begin as one");
  return cursor_u64(&r->at, "names", &reserved);
}

/* Each name takes eight bytes at least, so a count that cannot be true is
 * refused before the loop. */
static bool read_names(Reader *r) {
  Cursor *at = &r->at;
  uint64_t n;
  if (!cursor_u64(at, "names", &n)) return false;
  if (n > cursor_left(at) / NAME_LEAST)
    return cursor_invalid(at, "%llu names do not fit into its %zu bytes",
                          (unsigned long long)n, at->map->size);
  for (uint64_t i = 0; i < n; i++) {
    const char *name;
    size_t len;
    if (!cursor_name(at, &name, &len)) return false;
    if (!tensor_file_add_name(r->file, name, len)) return out_of_memory(r);
  }
  return tensor_file_check_names(r->file, at->path, at->format, at->diags);
}

/* TVM writes a type as its kind and its bits, and x with the lanes of a vector;
 * the kinds are DLPack's, by their codes. */
static bool leave_out(Reader *r, const char *name, const NdArray *a) {
  static const char *const kinds[] = {"int",    "uint",    "float", "handle",
                                      "bfloat", "complex", "bool"};
  char text[64], lanes[16] = "";
  if (a->lanes != 1) snprintf(lanes, sizeof lanes, "x%d", a->lanes);
  if (a->code < sizeof kinds / sizeof *kinds)
    snprintf(text, sizeof text, "%s%d%s", kinds[a->code], a->bits, lanes);
  else
    snprintf(text, sizeof text, "code %d of DLPack, %d bits%s", a->code,
             a->bits, lanes);
  Arena *arena = &r->file->arena;
  const char *why = a->dtype == DTYPE_NONE
                        ? misfit_of_dtype(arena, text, strlen(text))
                        : misfit_of_rank(arena, (size_t)a->rank);
  return tensor_file_leave_out(r->file, name, why) || out_of_memory(r);
}

/* ndarray_read() checks header and sizes; where the elements lie aligned, the
 * tensor is made on the mapping. */
static bool read_array(Reader *r, NamedTensor *named) {
  Cursor *at = &r->at;
  NdArray a;
  const char *why = ndarray_read(at->map->data + at->at, cursor_left(at), &a);
  if (why) return cursor_invalid(at, "`%s`: %s", named->name, why);
  size_t offset = (size_t)(a.data - at->map->data);
  at->at = offset + a.size;
  if (ndarray_misfit(&a)) return leave_out(r, named->name, &a);
  MappedElements elements = {
      .map = at->map,
      .path = at->path,
      .name = named->name,
      .offset = offset,
      .size = a.size,
      .dtype = a.dtype,
      .rank = a.rank,
      .shape = a.shape,
  };
  named->tensor = tensor_of_mapping(r->file->heap, &elements, at->diags);
  return named->tensor != NULL;
}

/* The file must end where the last array does. */
static bool read_arrays(Reader *r) {
  Cursor *at = &r->at;
  uint64_t n;
  size_t names = r->file->tensors.len;
  if (!cursor_u64(at, "arrays", &n)) return false;
  if (n != names)
    return cursor_invalid(at, "it has %zu names, but %llu arrays", names,
                          (unsigned long long)n);
  for (size_t i = 0; i < names; i++)
    if (!read_array(r, &r->file->tensors.data[i])) return false;
  tensor_file_drop_left_out(r->file);
  return !cursor_left(at) ||
         cursor_invalid(at, "its last %zu bytes belong to no array",
                        cursor_left(at));
}

/* The mapping lives on in the tensors that were made on it. */
TensorFile *params_read(const char *path, Heap *heap, Diags *diags) {
  FileMap *map = file_map(heap->mem, path, diags);
  if (!map) return NULL;
  Reader r = {
      .at = {.path = path, .format = "params", .map = map, .diags = diags},
      .file = tensor_file_new(heap),
  };
  if (!r.file) {
    out_of_memory(&r);
  } else if (!read_magic(&r) || !read_names(&r) || !read_arrays(&r)) {
    tensor_file_free(r.file);
    r.file = NULL;
  }
  file_map_drop(map);
  return r.file;
}

/* --- Writing ------------------------------------------------------------- */

/* Written in one pass: the header of each array is made when its turn comes. */
bool params_write(const char *path, const NamedTensor *tensors, size_t n,
                  Mem *mem, Diags *diags) {
  FileOut out;
  if (!file_out_open(&out, mem, path, diags)) return false;
  StrBuf text;
  strbuf_init(&text, mem);
  le64_add(&text, PARAMS_MAGIC);
  le64_add(&text, 0);
  le64_add(&text, n);
  for (size_t i = 0; i < n; i++) {
    le64_add(&text, strlen(tensors[i].name));
    strbuf_add(&text, tensors[i].name);
  }
  le64_add(&text, n);

  /* The first array's header is added to what precedes it; the buffer is then
   * reused for each header. */
  bool fine = !mem_exhausted(mem);
  for (size_t i = 0; fine && i < n; i++) {
    ndarray_add_header(&text, tensors[i].tensor);
    fine = !mem_exhausted(mem);
    if (!fine) break;
    fwrite(text.data, 1, text.len, out.stream);
    tensor_write_elements(&out, tensors[i].tensor);
    VEC_CLEAR(&text);
  }
  if (fine) fwrite(text.data, 1, text.len, out.stream);
  if (!fine)
    diag_error(diags, E0507, SPAN_NONE, "cannot write %s: out of memory", path);
  strbuf_done(&text);
  return file_out_close(&out, fine);
}
