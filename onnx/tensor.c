/* TensorProto to a tensor.  Elements lie in raw_data as little-endian bytes, in
 * a list of numbers whose type depends on the dtype, or in a file beside the
 * model.  Every length is compared with the shape before anything is read. */
#include <stdlib.h>
#include <string.h>

#include "io/file.h"
#include "onnx/read.h"
#include "onnx/write.h"

/* By the numbers of TensorProto.DataType. */
static const struct {
  const char *name;
  DType dtype;
} dtypes[] = {
    [0] = {"UNDEFINED", DTYPE_NONE},
    [1] = {"FLOAT", DT_FLOAT32},
    [2] = {"UINT8", DT_UINT8},
    [3] = {"INT8", DT_INT8},
    [4] = {"UINT16", DT_UINT16},
    [5] = {"INT16", DT_INT16},
    [6] = {"INT32", DT_INT32},
    [7] = {"INT64", DT_INT64},
    [8] = {"STRING", DTYPE_NONE},
    [9] = {"BOOL", DT_BOOL},
    [10] = {"FLOAT16", DT_FLOAT16},
    [11] = {"DOUBLE", DT_FLOAT64},
    [12] = {"UINT32", DT_UINT32},
    [13] = {"UINT64", DT_UINT64},
    [14] = {"COMPLEX64", DTYPE_NONE},
    [15] = {"COMPLEX128", DTYPE_NONE},
    [16] = {"BFLOAT16", DT_BFLOAT16},
    [17] = {"FLOAT8E4M3FN", DT_FLOAT8_E4M3},
    [18] = {"FLOAT8E4M3FNUZ", DTYPE_NONE},
    [19] = {"FLOAT8E5M2", DT_FLOAT8_E5M2},
    [20] = {"FLOAT8E5M2FNUZ", DTYPE_NONE},
    [21] = {"UINT4", DT_UINT4},
    [22] = {"INT4", DT_INT4},
    [23] = {"FLOAT4E2M1", DTYPE_NONE},
};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

DType onnx_dtype(int32_t number, const char **name) {
  bool known = number >= 0 && number < DTYPES;
  if (name) *name = known ? dtypes[number].name : NULL;
  return known ? dtypes[number].dtype : DTYPE_NONE;
}

int32_t onnx_dtype_number(DType dtype) {
  int32_t i = 1;
  while (i < DTYPES && dtypes[i].dtype != dtype) i++;
  return i < DTYPES ? i : 0;
}

/* --- Elements ------------------------------------------------------------- */

typedef struct Source {
  const Onnx__TensorProto *proto;
  const char *path, *what;
  Diags *diags;
} Source;

static bool wrong(const Source *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool wrong(const Source *s, const char *format, ...) {
  char why[200];
  va_list args;
  va_start(args, format);
  vsnprintf(why, sizeof why, format, args);
  va_end(args);
  diag_error(s->diags, E0502, SPAN_NONE, "%s: tensor `%s`: %s", s->path,
             s->what, why);
  return false;
}

/* Two elements of 4 bits share a byte, the first in its low half. */
static bool put_bytes(const Source *s, Tensor *t, const char *data,
                      size_t size) {
  int64_t count = tensor_count(t);
  bool halves = dtype_info[t->dtype].form == FORM_NARROW;
  size_t want = halves ? ((size_t)count + 1) / 2 : tensor_bytes(t);
  if (size != want)
    return wrong(s, "its shape asks for %zu bytes, there are %zu", want, size);
  if (!halves && want) memcpy(t->data, data, want);
  for (int64_t i = 0; halves && i < count; i++) {
    uint64_t bits = (uint64_t)((uint8_t)data[i / 2] >> 4 * (i & 1)) & 15;
    t->data[i] = t->dtype == DT_INT4 ? (char)low_signed(bits, 4) : (char)bits;
  }
  if (t->dtype == DT_BOOL)
    for (int64_t i = 0; i < count; i++) t->data[i] = t->data[i] != 0;
  return true;
}

/* Which list an element comes from follows from its dtype.  Those of 16 and 8
 * bits are the bits themselves, in an int32 each. */
static bool put_numbers(const Source *s, Tensor *t) {
  const Onnx__TensorProto *p = s->proto;
  int64_t count = tensor_count(t);
  bool f32 = t->dtype == DT_FLOAT32, f64 = t->dtype == DT_FLOAT64;
  bool i64 = t->dtype == DT_INT64;
  bool u64 = t->dtype == DT_UINT64 || t->dtype == DT_UINT32;
  bool halves = dtype_info[t->dtype].form == FORM_NARROW;
  size_t n = f32   ? p->n_float_data
             : f64 ? p->n_double_data
             : i64 ? p->n_int64_data
             : u64 ? p->n_uint64_data
                   : p->n_int32_data;
  size_t want = halves ? ((size_t)count + 1) / 2 : (size_t)count;
  if (n != want)
    return wrong(s, "its shape asks for %zu numbers, there are %zu", want, n);
  size_t size = dtype_size((DType)t->dtype);
  for (int64_t i = 0; i < count; i++) {
    char *at = t->data + (size_t)i * size;
    if (f32) memcpy(at, &p->float_data[i], size);
    else if (f64) memcpy(at, &p->double_data[i], size);
    else if (i64) memcpy(at, &p->int64_data[i], size);
    else if (u64) memcpy(at, &p->uint64_data[i], size);
    else if (t->dtype == DT_BOOL) *at = p->int32_data[i] != 0;
    else if (halves) {
      uint64_t bits = (uint64_t)(p->int32_data[i / 2] >> 4 * (i & 1)) & 15;
      *at = t->dtype == DT_INT4 ? (char)low_signed(bits, 4) : (char)bits;
    } else memcpy(at, &p->int32_data[i], size);
  }
  return true;
}

/* --- External data -------------------------------------------------------- */

/* A relative path without `..`, so that it does not leave the folder. */
static bool stays_below(const char *path) {
  if (!*path || *path == '/' || strchr(path, '\\')) return false;
  for (const char *at = path; *at;) {
    size_t n = strcspn(at, "/");
    if (n == 2 && !strncmp(at, "..", 2)) return false;
    at += n + (at[n] == '/');
  }
  return true;
}

/* Nor may a link lead out of it. */
static bool lies_below(const char *path, const char *model) {
  char *real = realpath(path, NULL), *base = realpath(model, NULL);
  char *slash = base ? strrchr(base, '/') : NULL;
  bool below =
      real && slash && !strncmp(real, base, (size_t)(slash - base) + 1);
  free(real);
  free(base);
  return below;
}

static bool read_size(const char *text, size_t *out) {
  char *end;
  unsigned long long n = strtoull(text, &end, 10);
  *out = (size_t)n;
  return *text >= '0' && *text <= '9' && !*end;
}

static bool put_external(const Source *s, Tensor *t, Mem *mem) {
  const char *location = NULL;
  size_t offset = 0, length = SIZE_MAX;
  for (size_t i = 0; i < s->proto->n_external_data; i++) {
    const Onnx__StringStringEntryProto *e = s->proto->external_data[i];
    const char *key = e->key ? e->key : "", *value = e->value ? e->value : "";
    if (!strcmp(key, "location")) location = value;
    else if ((!strcmp(key, "offset") && !read_size(value, &offset)) ||
             (!strcmp(key, "length") && !read_size(value, &length)))
      return wrong(s, "its external %s is no number", key);
  }
  if (!location) return wrong(s, "its external data has no location");
  if (!stays_below(location))
    return wrong(s, "its external data lies outside the model's folder");
  const char *slash = strrchr(s->path, '/');
  int folder = slash ? (int)(slash - s->path) + 1 : 0;
  Arena arena;
  arena_init(&arena, mem);
  const char *path = arena_printf(&arena, "%.*s%s", folder, s->path, location);
  FileMap *map = path ? file_map(mem, path, s->diags) : NULL;
  bool fine = map;
  if (map && !lies_below(path, s->path))
    fine = wrong(s, "its external data lies outside the model's folder");
  if (fine && (offset > map->size ||
               (length != SIZE_MAX && length > map->size - offset)))
    fine = wrong(s, "its external data ends behind the file's end");
  if (fine && length == SIZE_MAX) {
    size_t left = map->size - offset;
    length = tensor_bytes(t) < left ? tensor_bytes(t) : left;
  }
  fine = fine && put_bytes(s, t, map->data + offset, length);
  if (map) file_map_drop(map);
  arena_done(&arena);
  return fine;
}

/* --- Tensors -------------------------------------------------------------- */

Tensor *onnx_tensor(Heap *heap, const Onnx__TensorProto *p, const char *path,
                    const char *what, Diags *diags) {
  Source s = {p, path, what, diags};
  const char *name;
  DType dtype = onnx_dtype(p->data_type, &name);
  int64_t count;
  size_t bytes;
  if (dtype == DTYPE_NONE) {
    if (name) wrong(&s, "there is no dtype here for ONNX's %s", name);
    else wrong(&s, "%d is no dtype", p->data_type);
    return NULL;
  }
  if (p->n_dims > RANK_MAX) {
    wrong(&s, "its rank is %zu, the most is %d", p->n_dims, RANK_MAX);
    return NULL;
  }
  if (!shape_size(dtype, (int)p->n_dims, p->dims, &count, &bytes)) {
    wrong(&s, "its shape has a negative dimension, or is too large");
    return NULL;
  }
  /* What is in the file bounds what is allocated. */
  bool external = p->data_location == 1;
  size_t most = p->has_raw_data
                    ? p->raw_data.len
                    : p->n_float_data + p->n_double_data + p->n_int64_data +
                          p->n_uint64_data + p->n_int32_data;
  if (!external && (size_t)count / 2 > most) {
    wrong(&s, "its shape asks for more elements than there are");
    return NULL;
  }
  Tensor *t = tensor_new(heap, dtype, (int)p->n_dims, p->dims);
  if (!t) {
    mem_raise_exhausted(heap->mem);
    return NULL;
  }
  bool fine =
      external ? put_external(&s, t, heap->mem)
      : p->has_raw_data
          ? put_bytes(&s, t, (const char *)p->raw_data.data, p->raw_data.len)
          : put_numbers(&s, t);
  if (fine) return t;
  tensor_drop(heap, t);
  return NULL;
}
