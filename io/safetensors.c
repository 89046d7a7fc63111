/* Reading and writing safetensors (https://github.com/huggingface/safetensors).
 *
 *   u64 length | JSON header, `length` bytes | elements of all tensors
 *                {"w": {"dtype": "F32",
 *                       "shape": [2, 3],
 *                       "data_offsets": [0, 24]}, ...}    offsets from here ^
 *
 * jansson reads the header; everything it says is checked here before a tensor
 * is made: dtypes, shapes, offsets, and that the tensors cover the data without
 * gap or overlap, as the format demands.  (A gap could hide data, and an
 * overlap makes two tensors of one.)  Tensors lie on the mapped file, so a file
 * of many GB is open at once and paged in as it is used.
 *
 * jansson allocates by itself, past the limit of memory; so a bound of what it
 * will need is entered in the books first (json_tree_size), for a header may be
 * 16 MB of brackets. */
#include "io/safetensors.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

enum {
  LENGTH_SIZE = 8,
  DATA_ALIGNMENT = 64,
};

/* --- Reading ------------------------------------------------------------- */

/* One tensor as the header describes it, at bytes [begin, end) of the data. */
typedef struct Entry {
  const char *name;
  bool left_out;
  DType dtype;
  int rank;
  int64_t shape[RANK_MAX];
  Extent extent;
  uint64_t begin, end;
} Entry;

/* Lives on the stack of safetensors_read(). */
typedef struct Reader {
  const char *path;
  FileMap *map;
  uint64_t data_start;
  json_t *header;
  size_t held; /* bytes entered for the header's tree */
  TensorFile *file;
  VEC(Entry) entries;
  Diags *diags;
} Reader;

#define invalid(r, ...) \
  file_invalid((r)->diags, (r)->path, "safetensors", __VA_ARGS__)

static bool out_of_memory(const Reader *r) {
  return file_out_of_memory(r->diags, r->path);
}

/* JSON_REJECT_DUPLICATES: of two tensors with one name jansson would keep the
 * last. */
static bool read_header(Reader *r) {
  uint64_t len;
  if (r->map->size < LENGTH_SIZE)
    return invalid(r, "it has only %zu bytes", r->map->size);
  memcpy(&len, r->map->data, sizeof len);
  if (len > r->map->size - LENGTH_SIZE)
    return invalid(r, "its header would take %llu bytes, but %zu follow",
                   (unsigned long long)len, r->map->size - LENGTH_SIZE);
  if (len > HEADER_MAX)
    return invalid(r, "its header is larger than %d bytes", HEADER_MAX);
  r->data_start = LENGTH_SIZE + len;
  size_t size = json_tree_size(r->map->data + LENGTH_SIZE, (size_t)len);
  if (!mem_hold(r->map->mem, size)) return out_of_memory(r);
  r->held = size;
  json_error_t error;
  r->header = json_loadb(r->map->data + LENGTH_SIZE, (size_t)len,
                         JSON_REJECT_DUPLICATES, &error);
  if (!r->header)
    return invalid(r,
                   "its header is not JSON, or names one thing twice "
                   "(at byte %d of it)",
                   error.position);
  if (!json_is_object(r->header))
    return invalid(r, "its header is not a JSON object");
  return true;
}

/* A table of strings; a name like a tensor's, which is why no tensor may be
 * called so. */
static bool read_metadata(Reader *r, json_t *pairs) {
  Arena *arena = &r->file->arena;
  const char *key;
  json_t *value;
  if (!json_is_object(pairs))
    return invalid(r, "__metadata__ is not a JSON object");
  json_object_foreach(pairs, key, value) {
    const char *text = json_string_value(value);
    if (!text) return invalid(r, "metadata `%s` is not a string", key);
    MetaPair pair = {arena_strndup(arena, key, strlen(key)),
                     arena_strndup(arena, text, strlen(text))};
    if (!pair.key || !pair.value) return out_of_memory(r);
    VEC_PUSH(&r->file->metadata, pair);
  }
  return true;
}

static bool leave_out(Reader *r, Entry *e, const char *why) {
  e->left_out = true;
  return tensor_file_leave_out(r->file, e->name, why) || out_of_memory(r);
}

/* By the table of dtypes. */
static bool read_dtype(Reader *r, Entry *e, json_t *value) {
  const char *text = json_string_value(value);
  if (!text) return invalid(r, "tensor `%s` has no dtype", e->name);
  e->dtype = dtype_find_in_files(text);
  return e->dtype != DTYPE_NONE ||
         leave_out(r, e, misfit_of_dtype(&r->file->arena, text, strlen(text)));
}

/* json_is_integer() refuses 2.0 and true.  The extent is computed with overflow
 * checks, and of any rank. */
static bool read_shape(Reader *r, Entry *e, json_t *dims) {
  if (!json_is_array(dims))
    return invalid(r, "tensor `%s` has no shape", e->name);
  size_t rank = json_array_size(dims);
  for (size_t i = 0; i < rank; i++) {
    json_t *dim = json_array_get(dims, i);
    if (!json_is_integer(dim) || json_integer_value(dim) < 0)
      return invalid(r, "tensor `%s` has a dimension that is no size", e->name);
    if (!extent_grow(&e->extent, json_integer_value(dim)))
      return invalid(r, "tensor `%s` is larger than memory", e->name);
    if (i < RANK_MAX) e->shape[i] = json_integer_value(dim);
  }
  e->rank = rank > RANK_MAX ? RANK_MAX : (int)rank;
  return rank <= RANK_MAX || e->left_out ||
         leave_out(r, e, misfit_of_rank(&r->file->arena, rank));
}

/* The end is compared with the file's size first, so that the difference cannot
 * wrap. */
static bool read_offsets(Reader *r, Entry *e, json_t *offsets) {
  json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
  if (json_array_size(offsets) != 2 || !json_is_integer(begin) ||
      !json_is_integer(end) || json_integer_value(begin) < 0 ||
      json_integer_value(end) < json_integer_value(begin))
    return invalid(r, "tensor `%s` has no valid data_offsets", e->name);
  e->begin = (uint64_t)json_integer_value(begin);
  e->end = (uint64_t)json_integer_value(end);
  if (e->end > r->map->size - r->data_start)
    return invalid(r, "tensor `%s` ends beyond the end of the file", e->name);
  return true;
}

/* How many bytes elements of an unknown dtype take is not known. */
static bool check_size(Reader *r, const Entry *e) {
  size_t bytes;
  if (e->dtype == DTYPE_NONE) return true;
  if (!extent_bytes(&e->extent, dtype_size(e->dtype), &bytes))
    return invalid(r, "tensor `%s` is larger than memory", e->name);
  if (bytes == e->end - e->begin) return true;
  return invalid(r, "tensor `%s` needs %zu bytes, but has %llu", e->name, bytes,
                 (unsigned long long)(e->end - e->begin));
}

/* In this order, since each step needs what the one before has checked. */
static bool read_entry(Reader *r, const char *name, json_t *value) {
  Entry e = {.name = arena_strndup(&r->file->arena, name, strlen(name)),
             .extent = EXTENT_NONE};
  if (!e.name || !VEC_RESERVE(&r->entries, 1)) return out_of_memory(r);
  if (!read_dtype(r, &e, json_object_get(value, "dtype")) ||
      !read_shape(r, &e, json_object_get(value, "shape")) ||
      !read_offsets(r, &e, json_object_get(value, "data_offsets")) ||
      !check_size(r, &e))
    return false;
  VEC_PUSH(&r->entries, e);
  return true;
}

/* In the order of the header; make_tensors() follows the order of the data. */
static bool read_entries(Reader *r) {
  const char *name;
  json_t *value;
  json_object_foreach(r->header, name, value) {
    bool metadata = !strcmp(name, "__metadata__");
    if (!(metadata ? read_metadata(r, value) : read_entry(r, name, value)))
      return false;
  }
  return true;
}

/* By the beginning; of two that begin together, the empty one first. */
static int compare_entries(const void *a, const void *b) {
  const Entry *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return x->end < y->end ? -1 : x->end > y->end;
}

/* Sorts the entries by their offsets and checks that they cover the data
 * without gap or overlap.  O(n log n), as a file may describe hundreds of
 * thousands of tensors. */
static bool check_coverage(Reader *r) {
  uint64_t at = 0, size = r->map->size - r->data_start;
  if (r->entries.len)
    qsort(r->entries.data, r->entries.len, sizeof(Entry), compare_entries);
  for (size_t i = 0; i < r->entries.len; i++) {
    const Entry *e = &r->entries.data[i];
    if (e->begin < at)
      return invalid(r, "tensor `%s` overlaps another", e->name);
    if (e->begin > at)
      return invalid(r, "the bytes before tensor `%s` belong to none", e->name);
    at = e->end;
  }
  return at == size || invalid(r, "its last %llu bytes belong to no tensor",
                               (unsigned long long)(size - at));
}

static bool make_tensor(Reader *r, const Entry *e) {
  MappedElements elements = {
      .map = r->map,
      .path = r->path,
      .name = e->name,
      .offset = (size_t)(r->data_start + e->begin),
      .size = (size_t)(e->end - e->begin),
      .dtype = e->dtype,
      .rank = e->rank,
      .shape = e->shape,
  };
  Tensor *t = tensor_of_mapping(r->file->heap, &elements, r->diags);
  if (t) VEC_PUSH(&r->file->tensors, (NamedTensor){e->name, t});
  return t;
}

/* The mapping is shared by all of them and ends with the last. */
static bool make_tensors(Reader *r) {
  TensorFile *f = r->file;
  if (!VEC_RESERVE(&f->tensors, r->entries.len)) return out_of_memory(r);
  for (size_t i = 0; i < r->entries.len; i++) {
    const Entry *e = &r->entries.data[i];
    if (!e->left_out && !make_tensor(r, e)) return false;
  }
  return true;
}

/* One way out, which frees everything but the result. */
TensorFile *safetensors_read(const char *path, Heap *heap, Diags *diags) {
  Reader r = {.path = path, .diags = diags};
  r.map = file_map(heap->mem, path, diags);
  if (!r.map) return NULL;
  r.file = tensor_file_new(heap);
  VEC_INIT(&r.entries, heap->mem);
  bool fine = r.file ? read_header(&r) && read_entries(&r) &&
                           check_coverage(&r) && make_tensors(&r)
                     : out_of_memory(&r);
  if (!fine) {
    tensor_file_free(r.file);
    r.file = NULL;
  }
  VEC_DONE(&r.entries);
  json_decref(r.header);
  mem_let_go(heap->mem, r.held);
  file_map_drop(r.map);
  return r.file;
}

/* --- Writing ------------------------------------------------------------- */

static void add_string(StrBuf *out, const char *text) {
  strbuf_add_char(out, '"');
  strbuf_add_escaped(out, text, strlen(text));
  strbuf_add_char(out, '"');
}

static void add_metadata(StrBuf *out, const MetaPair *metadata, size_t n) {
  strbuf_add(out, "\"__metadata__\":{");
  for (size_t i = 0; i < n; i++) {
    if (i) strbuf_add_char(out, ',');
    add_string(out, metadata[i].key);
    strbuf_add_char(out, ':');
    add_string(out, metadata[i].value);
  }
  strbuf_add_char(out, '}');
}

/* Offsets count from the end of the header. */
static void add_entry(StrBuf *out, const NamedTensor *entry, size_t begin) {
  const Tensor *t = entry->tensor;
  add_string(out, entry->name);
  strbuf_addf(out, ":{\"dtype\":\"%s\",\"shape\":[",
              dtype_info[t->dtype].safetensors);
  for (int i = 0; i < t->rank; i++)
    strbuf_addf(out, "%s%lld", i ? "," : "", (long long)t->shape[i]);
  strbuf_addf(out, "],\"data_offsets\":[%zu,%zu]}", begin,
              begin + tensor_bytes(t));
}

/* Adds the header, padded with blanks that align the data.  Blanks are allowed
 * at the header's end, and the elements then begin at a multiple of 64
 * bytes. */
static void add_header(StrBuf *out, const NamedTensor *tensors, size_t n,
                       const MetaPair *metadata, size_t metadata_n) {
  size_t offset = 0;
  strbuf_add_char(out, '{');
  if (metadata_n) add_metadata(out, metadata, metadata_n);
  for (size_t i = 0; i < n; i++) {
    if (i || metadata_n) strbuf_add_char(out, ',');
    add_entry(out, &tensors[i], offset);
    offset += tensor_bytes(tensors[i].tensor);
  }
  strbuf_add_char(out, '}');
  size_t over = (LENGTH_SIZE + out->len) % DATA_ALIGNMENT;
  if (over) strbuf_add_repeat(out, ' ', DATA_ALIGNMENT - over);
}

/* Failed writes are seen when the file is closed. */
static bool write_file(const char *path, const StrBuf *header,
                       const NamedTensor *tensors, size_t n, Mem *mem,
                       Diags *diags) {
  FileOut out;
  uint64_t len = header->len;
  if (!file_out_open(&out, mem, path, diags)) return false;
  fwrite(&len, sizeof len, 1, out.stream);
  fwrite(header->data, 1, header->len, out.stream);
  for (size_t i = 0; i < n; i++) tensor_write_elements(&out, tensors[i].tensor);
  return file_out_close(&out, true);
}

/* The header is made whole before the file is opened: what cannot be written is
 * refused with the old file in place. */
bool safetensors_write(const char *path, const NamedTensor *tensors, size_t n,
                       const MetaPair *metadata, size_t metadata_n, Mem *mem,
                       Diags *diags) {
  for (size_t i = 0; i < n; i++) {
    DType dtype = (DType)tensors[i].tensor->dtype;
    if (!dtype_has_name(path, tensors[i].name, dtype,
                        dtype_info[dtype].safetensors, diags))
      return false;
  }
  StrBuf header;
  strbuf_init(&header, mem);
  add_header(&header, tensors, n, metadata, metadata_n);
  bool fine = false;
  if (mem_exhausted(mem)) /* the header would have gaps */
    diag_error(diags, E0507, SPAN_NONE, "cannot write %s: out of memory", path);
  else if (header.len > HEADER_MAX)
    diag_error(diags, E0507, SPAN_NONE,
               "cannot write %s: with %zu tensors its header would have %zu "
               "bytes, and nothing reads more than %d",
               path, n, header.len, HEADER_MAX);
  else fine = write_file(path, &header, tensors, n, mem, diags);
  strbuf_done(&header);
  return fine;
}
