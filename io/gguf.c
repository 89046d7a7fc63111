/* Reading GGUF, as ggml's documents describe it:
 *
 *   "GGUF" | u32 version | u64 tensors | u64 pairs
 *   pairs:   name | u32 type | value          what is known of the model
 *   tensors: name | u32 rank | u64 dimensions | u32 type | u64 offset
 *   padding | elements                        offsets count from here
 *
 * Of the pairs one matters here, general.alignment: each tensor begins at a
 * multiple of it.  Tensors follow each other in the order of the list, so where
 * each begins is known; a file that says otherwise is refused, as ggml does.
 *
 * Dimensions are listed from the one whose elements are neighbours, so that
 * (out, in) of the model is written in, out. */
#include "io/gguf.h"

#include <string.h>

#include "io/cursor.h"

enum {
  VERSION_LEAST = 2, /* version 1 counts in 32 bits */
  VERSION_MOST = 3,
  ALIGNMENT = 32, /* unless general.alignment says another */
  PAIR_LEAST = 8 + 4 + 1,
  ENTRY_LEAST = 8 + 4 + 4 + 8,
};

/* ggml's types by number.  Those of plain numbers have the names that
 * safetensors gives them; the others pack blocks of numbers in few bits. */
static const char *const types[] = {
    [0] = "F32",      [1] = "F16",     [2] = "Q4_0",     [3] = "Q4_1",
    [6] = "Q5_0",     [7] = "Q5_1",    [8] = "Q8_0",     [9] = "Q8_1",
    [10] = "Q2_K",    [11] = "Q3_K",   [12] = "Q4_K",    [13] = "Q5_K",
    [14] = "Q6_K",    [15] = "Q8_K",   [16] = "IQ2_XXS", [17] = "IQ2_XS",
    [18] = "IQ3_XXS", [19] = "IQ1_S",  [20] = "IQ4_NL",  [21] = "IQ3_S",
    [22] = "IQ2_S",   [23] = "IQ4_XS", [24] = "I8",      [25] = "I16",
    [26] = "I32",     [27] = "I64",    [28] = "F64",     [29] = "IQ1_M",
    [30] = "BF16",    [34] = "TQ1_0",  [35] = "TQ2_0",   [39] = "MXFP4",
};

/* The types of a pair's value.  All but these two have a fixed size. */
enum { VALUE_UINT32 = 4, VALUE_STRING = 8, VALUE_ARRAY = 9 };
static const uint8_t value_size[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

/* One tensor of the list; its name is the entry's of the same index in the
 * TensorFile. */
typedef struct Info {
  DType dtype;
  int rank;
  int64_t shape[RANK_MAX];
  uint64_t offset;
  size_t size;
} Info;

typedef struct Reader {
  Cursor at;
  TensorFile *file;
  VEC(Info) infos;
  uint64_t alignment;
} Reader;

static bool out_of_memory(const Reader *r) {
  return file_out_of_memory(r->at.diags, r->at.path);
}

/* --- The pairs ----------------------------------------------------------- */

/* A file of the other byte order shows its version in the upper byte. */
static bool read_header(Reader *r, uint64_t *tensors, uint64_t *pairs) {
  Cursor *at = &r->at;
  uint32_t version;
  if (cursor_left(at) < 4 || memcmp(at->map->data, "GGUF", 4))
    return cursor_invalid(at, "it does not begin as one");
  at->at = 4;
  if (!cursor_u32(at, "version", &version)) return false;
  if (version && !(version & 0xFFFF))
    return cursor_invalid(at, "it is written for big-endian machines");
  if (version < VERSION_LEAST || version > VERSION_MOST)
    return cursor_invalid(at, "it is of version %u; %d and %d can be read",
                          version, VERSION_LEAST, VERSION_MOST);
  if (!cursor_u64(at, "tensors", tensors) || !cursor_u64(at, "pairs", pairs))
    return false;
  if (*pairs > cursor_left(at) / PAIR_LEAST)
    return cursor_invalid(at, "%llu pairs do not fit into its %zu bytes",
                          (unsigned long long)*pairs, at->map->size);
  if (*tensors > cursor_left(at) / ENTRY_LEAST)
    return cursor_invalid(at, "%llu tensors do not fit into its %zu bytes",
                          (unsigned long long)*tensors, at->map->size);
  return true;
}

static bool skip_value(Reader *r, uint32_t type) {
  Cursor *at = &r->at;
  uint64_t n = 1;
  bool array = type == VALUE_ARRAY;
  if (array && (!cursor_u32(at, "last value", &type) ||
                !cursor_u64(at, "last value", &n)))
    return false;
  if (type >= sizeof value_size || type == VALUE_ARRAY)
    return cursor_invalid(at, "a value is of the unknown type %u", type);
  if (type != VALUE_STRING) {
    if (n > cursor_left(at))
      n = cursor_left(at) + 1; /* so that it cannot wrap */
    return cursor_skip(at, "last value", n * value_size[type]);
  }
  for (uint64_t i = 0; i < n; i++) {
    uint64_t len;
    if (!cursor_u64(at, "last value", &len) ||
        !cursor_skip(at, "last value", len))
      return false;
  }
  return true;
}

static bool read_alignment(Reader *r) {
  uint32_t alignment;
  if (!cursor_u32(&r->at, "alignment", &alignment)) return false;
  if (!alignment || alignment & (alignment - 1))
    return cursor_invalid(&r->at, "its alignment, %u, is no power of two",
                          alignment);
  r->alignment = alignment;
  return true;
}

static bool read_pair(Reader *r) {
  static const char key[] = "general.alignment";
  const char *name;
  size_t len;
  uint32_t type;
  if (!cursor_name(&r->at, &name, &len) ||
      !cursor_u32(&r->at, "last pair", &type))
    return false;
  bool alignment = len == sizeof key - 1 && !memcmp(name, key, len);
  if (!alignment) return skip_value(r, type);
  if (type != VALUE_UINT32)
    return cursor_invalid(&r->at, "its alignment is not of type uint32");
  return read_alignment(r);
}

/* --- The tensors --------------------------------------------------------- */

static bool read_shape(Reader *r, const char *name, Info *info) {
  Cursor *at = &r->at;
  uint32_t rank;
  if (!cursor_u32(at, "last tensor", &rank)) return false;
  if (rank > RANK_MAX)
    return cursor_invalid(at, "tensor `%s` has rank %u; the most is %d", name,
                          rank, RANK_MAX);
  info->rank = (int)rank;
  for (int i = info->rank - 1; i >= 0; i--) {
    uint64_t dim;
    if (!cursor_u64(at, "last tensor", &dim)) return false;
    info->shape[i] = (int64_t)dim; /* shape_size() refuses negative ones */
  }
  return true;
}

static bool read_dtype(Reader *r, const char *name, Info *info) {
  uint32_t number;
  if (!cursor_u32(&r->at, "last tensor", &number)) return false;
  const char *type =
      number < sizeof types / sizeof *types ? types[number] : NULL;
  if (!type)
    return cursor_invalid(&r->at, "tensor `%s` is of the unknown type %u", name,
                          number);
  info->dtype = dtype_find_in_files(type);
  if (info->dtype != DTYPE_NONE) return true;
  Diag *d = diag_error(r->at.diags, E0502, SPAN_NONE,
                       "cannot read %s: tensor `%s` is quantized as %s",
                       r->at.path, name, type);
  diag_hint(d, "convert the model without quantizing it, to F32, F16 or BF16");
  return false;
}

/* In the order of the file's fields. */
static bool read_info(Reader *r) {
  Cursor *at = &r->at;
  const char *text;
  size_t len;
  Info info;
  int64_t count;
  if (!cursor_name(at, &text, &len)) return false;
  if (!tensor_file_add_name(r->file, text, len) || !VEC_RESERVE(&r->infos, 1))
    return out_of_memory(r);
  const char *name = r->file->tensors.data[r->infos.len].name;
  if (!read_shape(r, name, &info) || !read_dtype(r, name, &info) ||
      !cursor_u64(at, "last tensor", &info.offset))
    return false;
  if (!shape_size(info.dtype, info.rank, info.shape, &count, &info.size))
    return cursor_invalid(at, "tensor `%s` is larger than memory", name);
  VEC_PUSH(&r->infos, info);
  return true;
}

/* The bytes that bring `size` to a multiple of the alignment. */
static uint64_t padding(const Reader *r, uint64_t size) {
  return -size & (r->alignment - 1);
}

/* The mapping is shared by all of them and ends with the last. */
static bool make_tensors(Reader *r) {
  Cursor *at = &r->at;
  uint64_t offset = 0;
  if (r->infos.len && !cursor_skip(at, "elements", padding(r, at->at)))
    return false;
  for (size_t i = 0; i < r->infos.len; i++) {
    const Info *info = &r->infos.data[i];
    NamedTensor *named = &r->file->tensors.data[i];
    if (info->offset != offset)
      return cursor_invalid(at, "tensor `%s` does not follow the one before it",
                            named->name);
    MappedElements elements = {
        .map = at->map,
        .path = at->path,
        .name = named->name,
        .offset = at->at,
        .size = info->size,
        .dtype = info->dtype,
        .rank = info->rank,
        .shape = info->shape,
    };
    if (!cursor_skip(at, "last elements", info->size)) return false;
    named->tensor = tensor_of_mapping(r->file->heap, &elements, at->diags);
    if (!named->tensor) return false;
    uint64_t rest = padding(r, info->size);
    offset += info->size + rest;
    at->at += rest < cursor_left(at) ? rest : cursor_left(at);
  }
  return true;
}

static bool read_all(Reader *r) {
  uint64_t tensors, pairs;
  if (!read_header(r, &tensors, &pairs)) return false;
  for (uint64_t i = 0; i < pairs; i++)
    if (!read_pair(r)) return false;
  for (uint64_t i = 0; i < tensors; i++)
    if (!read_info(r)) return false;
  return tensor_file_check_names(r->file, r->at.path, r->at.format,
                                 r->at.diags) &&
         make_tensors(r);
}

TensorFile *gguf_read(const char *path, Heap *heap, Diags *diags) {
  FileMap *map = file_map(heap->mem, path, diags);
  if (!map) return NULL;
  Reader r = {
      .at = {.path = path, .format = "GGUF", .map = map, .diags = diags},
      .file = tensor_file_new(heap),
      .alignment = ALIGNMENT,
  };
  VEC_INIT(&r.infos, heap->mem);
  if (!r.file) {
    out_of_memory(&r);
  } else if (!read_all(&r)) {
    tensor_file_free(r.file);
    r.file = NULL;
  }
  VEC_DONE(&r.infos);
  file_map_drop(map);
  return r.file;
}
