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
 * Where a tensor of unknown type ends is not known, so the next one may begin
 * anywhere behind its beginning.
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
 * safetensors gives them; the others pack `block` numbers in `bytes`, as
 * GGML_QUANT_SIZES of ggml's gguf-py says.  Q8_1 has no size here: that list
 * and ggml differ about it, and no model is stored in it. */
typedef struct GgmlType {
  const char *name;
  uint16_t block, bytes; /* 0: plain, or not known */
} GgmlType;

static const GgmlType types[] = {
    [0] = {"F32", 0, 0},         [1] = {"F16", 0, 0},
    [2] = {"Q4_0", 32, 18},      [3] = {"Q4_1", 32, 20},
    [6] = {"Q5_0", 32, 22},      [7] = {"Q5_1", 32, 24},
    [8] = {"Q8_0", 32, 34},      [9] = {"Q8_1", 0, 0},
    [10] = {"Q2_K", 256, 84},    [11] = {"Q3_K", 256, 110},
    [12] = {"Q4_K", 256, 144},   [13] = {"Q5_K", 256, 176},
    [14] = {"Q6_K", 256, 210},   [15] = {"Q8_K", 256, 292},
    [16] = {"IQ2_XXS", 256, 66}, [17] = {"IQ2_XS", 256, 74},
    [18] = {"IQ3_XXS", 256, 98}, [19] = {"IQ1_S", 256, 50},
    [20] = {"IQ4_NL", 32, 18},   [21] = {"IQ3_S", 256, 110},
    [22] = {"IQ2_S", 256, 82},   [23] = {"IQ4_XS", 256, 136},
    [24] = {"I8", 0, 0},         [25] = {"I16", 0, 0},
    [26] = {"I32", 0, 0},        [27] = {"I64", 0, 0},
    [28] = {"F64", 0, 0},        [29] = {"IQ1_M", 256, 56},
    [30] = {"BF16", 0, 0},       [34] = {"TQ1_0", 256, 54},
    [35] = {"TQ2_0", 256, 66},   [39] = {"MXFP4", 32, 17},
    [40] = {"NVFP4", 64, 36},
};

/* The types of a pair's value.  All but these two have a fixed size. */
enum { VALUE_UINT32 = 4, VALUE_STRING = 8, VALUE_ARRAY = 9 };
static const uint8_t value_size[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

/* One tensor of the list; its name is the entry's of the same index in the
 * TensorFile. */
typedef struct Info {
  DType dtype;
  uint32_t rank;
  int64_t shape[RANK_MAX];
  int64_t row; /* the dimension whose elements are neighbours */
  Extent extent;
  uint64_t offset;
  size_t size; /* SIZE_MAX: not known */
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

static bool too_large(Reader *r, const char *name) {
  return cursor_invalid(&r->at, "tensor `%s` is larger than memory", name);
}

static bool read_shape(Reader *r, const char *name, Info *info) {
  Cursor *at = &r->at;
  if (!cursor_u32(at, "last tensor", &info->rank)) return false;
  for (uint32_t i = info->rank; i-- > 0;) {
    uint64_t dim;
    if (!cursor_u64(at, "last tensor", &dim)) return false;
    if (!extent_grow(&info->extent, (int64_t)dim)) return too_large(r, name);
    if (i == info->rank - 1) info->row = (int64_t)dim;
    if (i < RANK_MAX) info->shape[i] = (int64_t)dim;
  }
  return true;
}

/* The elements of a row are a whole number of blocks. */
static bool find_packed_size(Reader *r, const char *name, const GgmlType *type,
                             Info *info) {
  if (info->row % type->block)
    return cursor_invalid(&r->at,
                          "tensor `%s` has rows of %lld elements, and %s packs "
                          "blocks of %d",
                          name, (long long)info->row, type->name, type->block);
  Extent blocks = {info->extent.product / type->block, info->extent.empty};
  return extent_bytes(&blocks, type->bytes, &info->size) || too_large(r, name);
}

static bool leave_out(Reader *r, const char *name, const char *why) {
  return tensor_file_leave_out(r->file, name, why) || out_of_memory(r);
}

/* The dtype, and the size as far as the type tells it. */
static bool read_type(Reader *r, const char *name, Info *info) {
  Arena *arena = &r->file->arena;
  uint32_t number;
  if (!cursor_u32(&r->at, "last tensor", &number)) return false;
  const GgmlType *type =
      number < sizeof types / sizeof *types ? &types[number] : NULL;
  if (!type || !type->name)
    return leave_out(
        r, name,
        arena_printf(arena, "its type is ggml's number %u, which is unknown",
                     number));
  info->dtype = dtype_find_in_files(type->name);
  if (info->dtype == DTYPE_NONE) {
    if (type->block && !find_packed_size(r, name, type, info)) return false;
    return leave_out(
        r, name,
        arena_printf(arena,
                     "it is quantized as %s; convert the model to F32, F16 or "
                     "BF16",
                     type->name));
  }
  if (!extent_bytes(&info->extent, dtype_size(info->dtype), &info->size))
    return too_large(r, name);
  return info->rank <= RANK_MAX ||
         leave_out(r, name, misfit_of_rank(arena, info->rank));
}

/* In the order of the file's fields. */
static bool read_info(Reader *r) {
  Cursor *at = &r->at;
  const char *text;
  size_t len;
  Info info = {
      .dtype = DTYPE_NONE, .row = 1, .extent = EXTENT_NONE, .size = SIZE_MAX};
  if (!cursor_name(at, &text, &len)) return false;
  if (!tensor_file_add_name(r->file, text, len) || !VEC_RESERVE(&r->infos, 1))
    return out_of_memory(r);
  const char *name = r->file->tensors.data[r->infos.len].name;
  if (!read_shape(r, name, &info) || !read_type(r, name, &info) ||
      !cursor_u64(at, "last tensor", &info.offset))
    return false;
  VEC_PUSH(&r->infos, info);
  return true;
}

/* The bytes that bring `size` to a multiple of the alignment. */
static uint64_t padding(const Reader *r, uint64_t size) {
  return -size & (r->alignment - 1);
}

static bool make_tensor(Reader *r, const Info *info, size_t offset,
                        NamedTensor *named) {
  MappedElements elements = {
      .map = r->at.map,
      .path = r->at.path,
      .name = named->name,
      .offset = offset,
      .size = info->size,
      .dtype = info->dtype,
      .rank = (int)info->rank,
      .shape = info->shape,
  };
  named->tensor = tensor_of_mapping(r->file->heap, &elements, r->at.diags);
  return named->tensor != NULL;
}

/* Goes to the elements.  They begin at `end`, the end of those before with
 * their padding; after a tensor of unknown size, which begins at `end` itself,
 * they may begin later (`later`). */
static bool go_to_elements(Reader *r, const Info *info, const char *name,
                           uint64_t end, bool later) {
  if (later ? info->offset < end || padding(r, info->offset)
            : info->offset != end)
    return cursor_invalid(
        &r->at, "tensor `%s` does not follow the one before it", name);
  return cursor_skip(&r->at, "last elements", info->offset - end);
}

/* Goes behind the elements and their padding, which the file may lack after the
 * last ones. */
static bool leave_elements(Reader *r, const Info *info) {
  Cursor *at = &r->at;
  if (!cursor_skip(at, "last elements", info->size)) return false;
  uint64_t rest = padding(r, info->size);
  at->at += rest < cursor_left(at) ? rest : cursor_left(at);
  return true;
}

/* The mapping is shared by all of them and ends with the last. */
static bool make_tensors(Reader *r) {
  Cursor *at = &r->at;
  uint64_t end = 0;
  bool later = false;
  if (r->infos.len && !cursor_skip(at, "elements", padding(r, at->at)))
    return false;
  for (size_t i = 0; i < r->infos.len; i++) {
    const Info *info = &r->infos.data[i];
    NamedTensor *named = &r->file->tensors.data[i];
    if (!go_to_elements(r, info, named->name, end, later)) return false;
    end = info->offset;
    later = info->size == SIZE_MAX;
    if (later) continue;
    bool held = info->dtype != DTYPE_NONE && info->rank <= RANK_MAX;
    size_t start = at->at;
    if (!leave_elements(r, info) ||
        (held && !make_tensor(r, info, start, named)))
      return false;
    end += info->size + padding(r, info->size);
  }
  tensor_file_drop_left_out(r->file);
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
