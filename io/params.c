/* Reading and writing .params:
 *
 *   u64 magic | u64 0 | u64 n | n names (u64 length, bytes) | u64 n | n arrays
 *
 * as SaveParams does in TVM's src/runtime/file_utils.cc.  All numbers are
 * little-endian.  tensor/ndarray.h describes the arrays, each of which has a
 * header of its own with dtype and shape.
 *
 * Names and arrays are two lists of the same length; the i-th name belongs to
 * the i-th array.  The file is mapped and read from front to back, and no
 * length is used before it has been compared with what is left. */
#include "io/params.h"

#include <string.h>

#include "base/utf8.h"
#include "tensor/ndarray.h"

enum { NAME_LEAST = 8 }; /* size of an empty name */

/* --- Reading ------------------------------------------------------------- */

typedef struct Reader {
  const char *path;
  FileMap *map;
  size_t at; /* bytes read so far */
  TensorFile *file;
  Diags *diags;
} Reader;

#define invalid(r, ...) \
  file_invalid((r)->diags, (r)->path, "params", __VA_ARGS__)

static bool out_of_memory(const Reader *r) {
  return file_out_of_memory(r->diags, r->path);
}

static size_t bytes_left(const Reader *r) { return r->map->size - r->at; }

/* `what` is what the message says is missing. */
static bool read_u64(Reader *r, const char *what, uint64_t *v) {
  if (bytes_left(r) < sizeof *v)
    return invalid(r, "it ends before its %s", what);
  *v = le64_read(r->map->data + r->at);
  r->at += sizeof *v;
  return true;
}

static bool read_magic(Reader *r) {
  uint64_t magic, reserved;
  if (!read_u64(r, "magic number", &magic)) return false;
  if (magic != PARAMS_MAGIC) return invalid(r, "it does not begin as one");
  return read_u64(r, "names", &reserved);
}

/* The length is compared with what is left before it is used, so no sum can
 * overflow. */
static bool read_name(Reader *r) {
  uint64_t len;
  if (!read_u64(r, "last name", &len)) return false;
  if (len > bytes_left(r))
    return invalid(r, "a name would take %llu bytes, but %zu follow",
                   (unsigned long long)len, bytes_left(r));
  const char *name = r->map->data + r->at;
  if (utf8_check(name, (size_t)len) != len)
    return invalid(r, "a name is not UTF-8");
  r->at += (size_t)len;
  return tensor_file_add_name(r->file, name, (size_t)len) || out_of_memory(r);
}

/* Each name takes eight bytes at least, so a count that cannot be true is
 * refused before the loop. */
static bool read_names(Reader *r) {
  uint64_t n;
  if (!read_u64(r, "names", &n)) return false;
  if (n > bytes_left(r) / NAME_LEAST)
    return invalid(r, "%llu names do not fit into its %zu bytes",
                   (unsigned long long)n, r->map->size);
  for (uint64_t i = 0; i < n; i++)
    if (!read_name(r)) return false;
  return tensor_file_check_names(r->file, r->path, "params", r->diags);
}

/* ndarray_read() checks header and sizes; where the elements lie aligned, the
 * tensor is made on the mapping. */
static bool read_array(Reader *r, NamedTensor *named) {
  NdArray a;
  const char *why = ndarray_read(r->map->data + r->at, bytes_left(r), &a);
  if (why) return invalid(r, "`%s`: %s", named->name, why);
  MappedElements elements = {
      .map = r->map,
      .path = r->path,
      .name = named->name,
      .offset = (size_t)(a.data - r->map->data),
      .size = a.size,
      .dtype = a.dtype,
      .rank = a.rank,
      .shape = a.shape,
  };
  r->at = elements.offset + a.size;
  named->tensor = tensor_of_mapping(r->file->heap, &elements, r->diags);
  return named->tensor != NULL;
}

/* The file must end where the last array does. */
static bool read_arrays(Reader *r) {
  uint64_t n;
  size_t names = r->file->tensors.len;
  if (!read_u64(r, "arrays", &n)) return false;
  if (n != names)
    return invalid(r, "it has %zu names, but %llu arrays", names,
                   (unsigned long long)n);
  for (size_t i = 0; i < names; i++)
    if (!read_array(r, &r->file->tensors.data[i])) return false;
  return !bytes_left(r) ||
         invalid(r, "its last %zu bytes belong to no array", bytes_left(r));
}

/* The mapping lives on in the tensors that were made on it. */
TensorFile *params_read(const char *path, Heap *heap, Diags *diags) {
  Reader r = {.path = path, .diags = diags};
  r.map = file_map(heap->mem, path, diags);
  if (!r.map) return NULL;
  r.file = tensor_file_new(heap);
  if (!r.file) {
    out_of_memory(&r);
  } else if (!read_magic(&r) || !read_names(&r) || !read_arrays(&r)) {
    tensor_file_free(r.file);
    r.file = NULL;
  }
  file_map_drop(r.map);
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
    tensor_write_elements(out.stream, tensors[i].tensor);
    VEC_CLEAR(&text);
  }
  if (fine) fwrite(text.data, 1, text.len, out.stream);
  if (!fine)
    diag_error(diags, E0507, SPAN_NONE, "cannot write %s: out of memory", path);
  strbuf_done(&text);
  return file_out_close(&out, fine);
}
