/* TensorProto to a tensor.  Elements lie in raw_data as little-endian bytes, in
 * a list of numbers whose type depends on the dtype, or in a file beside the
 * model.  Every length is compared with the shape before anything is read. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/file.h"
#include "onnx/read.h"
#include "onnx/write.h"
#include "tensor/half.h"

/* --- Dtypes --------------------------------------------------------------- */

/* Decoders of elements smaller than a byte, and of float formats that the
 * language lacks.  Formats named FNUZ have no infinities, and the bits of -0
 * are their one NaN; their exponents have one more subtracted than IEEE
 * 754's. */
static double of_fnuz(unsigned bits, int exponent_bits) {
  if (bits == 0x80) return NAN;
  double v = 0.5 * (double)f32_of_magnitude(bits & 0x7F, 8, exponent_bits);
  return bits & 0x80 ? -v : v;
}
static double of_e4m3fnuz(unsigned bits) { return of_fnuz(bits, 4); }
static double of_e5m2fnuz(unsigned bits) { return of_fnuz(bits, 5); }
static double of_e2m1(unsigned bits) {
  double v = (double)f32_of_magnitude(bits & 7, 4, 2);
  return bits & 8 ? -v : v;
}
/* A power of two, without a sign. */
static double of_e8m0(unsigned bits) {
  return bits == 0xFF ? NAN : ldexp(1, (int)bits - 127);
}
static double of_unsigned(unsigned bits) { return bits; }
static double of_int4(unsigned bits) { return (double)low_signed(bits, 4); }
static double of_int2(unsigned bits) { return (double)low_signed(bits, 2); }

/* The list of numbers in a TensorProto that holds the elements of a dtype. */
typedef enum List {
  LIST_INT32, /* a dtype of 16 or 8 bits: the bits themselves */
  LIST_INT64,
  LIST_UINT64,
  LIST_FLOAT,
  LIST_DOUBLE,
} List;

/* By the numbers of TensorProto.DataType.  A dtype with `means` is coded in
 * files, `bits` for an element; where the language has no such dtype, the one
 * that is named holds all its values. */
static const struct {
  const char *name;
  DType dtype;
  int bits;
  double (*means)(unsigned bits);
  bool wider; /* the language's dtype has other values, too */
  List list;
} dtypes[] = {
    [0] = {.name = "UNDEFINED", .dtype = DTYPE_NONE},
    [1] = {.name = "FLOAT", .dtype = DT_FLOAT32, .list = LIST_FLOAT},
    [2] = {.name = "UINT8", .dtype = DT_UINT8},
    [3] = {.name = "INT8", .dtype = DT_INT8},
    [4] = {.name = "UINT16", .dtype = DT_UINT16},
    [5] = {.name = "INT16", .dtype = DT_INT16},
    [6] = {.name = "INT32", .dtype = DT_INT32},
    [7] = {.name = "INT64", .dtype = DT_INT64, .list = LIST_INT64},
    [8] = {.name = "STRING", .dtype = DTYPE_NONE},
    [9] = {.name = "BOOL", .dtype = DT_BOOL},
    [10] = {.name = "FLOAT16", .dtype = DT_FLOAT16},
    [11] = {.name = "DOUBLE", .dtype = DT_FLOAT64, .list = LIST_DOUBLE},
    [12] = {.name = "UINT32", .dtype = DT_UINT32, .list = LIST_UINT64},
    [13] = {.name = "UINT64", .dtype = DT_UINT64, .list = LIST_UINT64},
    [14] = {.name = "COMPLEX64", .dtype = DTYPE_NONE},
    [15] = {.name = "COMPLEX128", .dtype = DTYPE_NONE},
    [16] = {.name = "BFLOAT16", .dtype = DT_BFLOAT16},
    [17] = {.name = "FLOAT8E4M3FN", .dtype = DT_FLOAT8_E4M3},
    [18] = {.name = "FLOAT8E4M3FNUZ",
            .dtype = DT_FLOAT16,
            .bits = 8,
            .means = of_e4m3fnuz,
            .wider = true},
    [19] = {.name = "FLOAT8E5M2", .dtype = DT_FLOAT8_E5M2},
    [20] = {.name = "FLOAT8E5M2FNUZ",
            .dtype = DT_FLOAT16,
            .bits = 8,
            .means = of_e5m2fnuz,
            .wider = true},
    [21] = {.name = "UINT4",
            .dtype = DT_UINT4,
            .bits = 4,
            .means = of_unsigned},
    [22] = {.name = "INT4", .dtype = DT_INT4, .bits = 4, .means = of_int4},
    [23] = {.name = "FLOAT4E2M1",
            .dtype = DT_FLOAT8_E4M3,
            .bits = 4,
            .means = of_e2m1,
            .wider = true},
    [24] = {.name = "FLOAT8E8M0",
            .dtype = DT_BFLOAT16,
            .bits = 8,
            .means = of_e8m0,
            .wider = true},
    [25] = {.name = "UINT2",
            .dtype = DT_UINT4,
            .bits = 2,
            .means = of_unsigned,
            .wider = true},
    [26] = {.name = "INT2",
            .dtype = DT_INT4,
            .bits = 2,
            .means = of_int2,
            .wider = true},
};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

DType onnx_dtype(int32_t number, const char **name) {
  bool known = number >= 0 && number < DTYPES;
  if (name) *name = known ? dtypes[number].name : NULL;
  return known ? dtypes[number].dtype : DTYPE_NONE;
}

const char *onnx_dtype_format(int32_t number) {
  bool known = number >= 0 && number < DTYPES;
  return known && (dtypes[number].wider || number == ONNX_STRING)
             ? dtypes[number].name
             : NULL;
}

int32_t onnx_dtype_number(DType dtype) {
  int32_t i = 1;
  while (i < DTYPES && dtypes[i].dtype != dtype) i++;
  assert(i < DTYPES);
  return i;
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

/* The bytes that a file has of the tensor.  Elements of 4 and 2 bits share a
 * byte, the first in its low bits. */
static size_t file_bytes(const Source *s, const Tensor *t) {
  int bits = dtypes[s->proto->data_type].bits;
  size_t each = bits ? 8 / (size_t)bits : 1;
  return bits ? ((size_t)tensor_count(t) + each - 1) / each : tensor_bytes(t);
}

/* Element i of a coded dtype, of which `byte` has the bits. */
static void put_coded(const Source *s, Tensor *t, int64_t i, uint8_t byte) {
  int width = dtypes[s->proto->data_type].bits;
  unsigned bits = byte >> width * (i % (8 / width)) & ((1U << width) - 1);
  Value v =
      bits_from_f64((DType)t->dtype, dtypes[s->proto->data_type].means(bits));
  size_t size = dtype_size((DType)t->dtype);
  memcpy(t->data + (size_t)i * size, &v, size);
}

static bool put_bytes(const Source *s, Tensor *t, const char *data,
                      size_t size) {
  int64_t count = tensor_count(t);
  int width = dtypes[s->proto->data_type].bits;
  size_t want = file_bytes(s, t);
  if (size != want)
    return wrong(s, "its shape asks for %zu bytes, there are %zu", want, size);
  if (!width && want) memcpy(t->data, data, want);
  for (int64_t i = 0; width && i < count; i++)
    put_coded(s, t, i, (uint8_t)data[i / (8 / width)]);
  if (t->dtype == DT_BOOL)
    for (int64_t i = 0; i < count; i++) t->data[i] = t->data[i] != 0;
  return true;
}

typedef struct Numbers {
  const void *data;
  size_t count, size; /* bytes of a number */
} Numbers;

static Numbers numbers_of(const Onnx__TensorProto *p) {
  switch (dtypes[p->data_type].list) {
    case LIST_INT64: return (Numbers){p->int64_data, p->n_int64_data, 8};
    case LIST_UINT64: return (Numbers){p->uint64_data, p->n_uint64_data, 8};
    case LIST_FLOAT: return (Numbers){p->float_data, p->n_float_data, 4};
    case LIST_DOUBLE: return (Numbers){p->double_data, p->n_double_data, 8};
    case LIST_INT32: break;
  }
  return (Numbers){p->int32_data, p->n_int32_data, 4};
}

/* An element is the low bytes of its number, which come first. */
static bool put_numbers(const Source *s, Tensor *t) {
  const Onnx__TensorProto *p = s->proto;
  int64_t count = tensor_count(t);
  int width = dtypes[p->data_type].bits;
  Numbers from = numbers_of(p);
  size_t want = width ? file_bytes(s, t) : (size_t)count;
  if (from.count != want)
    return wrong(s, "its shape asks for %zu numbers, there are %zu", want,
                 from.count);
  size_t size = dtype_size((DType)t->dtype);
  for (int64_t i = 0; i < count; i++) {
    char *at = t->data + (size_t)i * size;
    if (t->dtype == DT_BOOL) *at = p->int32_data[i] != 0;
    else if (width) put_coded(s, t, i, (uint8_t)p->int32_data[i / (8 / width)]);
    else memcpy(at, (const char *)from.data + (size_t)i * from.size, size);
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

/* Nor may a link lead out of it; a host's files have none. */
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
  if (map && !map->given && !lies_below(path, s->path))
    fine = wrong(s, "its external data lies outside the model's folder");
  if (fine && (offset > map->size ||
               (length != SIZE_MAX && length > map->size - offset)))
    fine = wrong(s, "its external data ends beyond the file's end");
  if (fine && length == SIZE_MAX) {
    size_t left = map->size - offset, all = file_bytes(s, t);
    length = all < left ? all : left;
  }
  fine = fine && put_bytes(s, t, map->data + offset, length);
  if (map) file_map_drop(map);
  arena_done(&arena);
  return fine;
}

/* --- Tensors -------------------------------------------------------------- */

/* Strings are bytes along a last axis, which is as long as the longest one, 1
 * at least; zeros stand after the others. */
static Tensor *strings(const Source *s, Heap *heap) {
  const Onnx__TensorProto *p = s->proto;
  enum { BYTES_MOST = 1 << 30 };
  int64_t dims[RANK_MAX] = {0}, count;
  size_t bytes, longest = 1;
  int rank = (int)p->n_dims;
  for (int i = 0; i < rank; i++) dims[i] = p->dims[i];
  for (size_t i = 0; i < p->n_string_data; i++)
    if (p->string_data[i].len > longest) longest = p->string_data[i].len;
  dims[rank] = (int64_t)longest;
  if (!shape_size(DT_UINT8, rank, p->dims, &count, &bytes) ||
      (size_t)count != p->n_string_data) {
    wrong(s, "its shape does not ask for the %zu strings that there are",
          p->n_string_data);
    return NULL;
  }
  if (!shape_size(DT_UINT8, rank + 1, dims, &count, &bytes) ||
      bytes > BYTES_MOST) {
    wrong(s, "its strings, each as long as the longest, have %d bytes or more",
          BYTES_MOST);
    return NULL;
  }
  Tensor *t = tensor_new(heap, DT_UINT8, rank + 1, dims);
  if (!t) {
    mem_raise_exhausted(heap->mem);
    return NULL;
  }
  memset(t->data, 0, bytes);
  for (size_t i = 0; i < p->n_string_data; i++)
    if (p->string_data[i].len)
      memcpy(t->data + i * longest, p->string_data[i].data,
             p->string_data[i].len);
  return t;
}

bool onnx_tensor_fits(const Onnx__TensorProto *t) {
  if (t->data_type == ONNX_STRING) return t->n_dims < RANK_MAX;
  return onnx_dtype(t->data_type, NULL) != DTYPE_NONE && t->n_dims <= RANK_MAX;
}

Tensor *onnx_tensor(Heap *heap, const Onnx__TensorProto *p, const char *path,
                    const char *what, Diags *diags) {
  Source s = {p, path, what, diags};
  if (p->data_type == ONNX_STRING && p->n_dims < RANK_MAX)
    return strings(&s, heap);
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
  if (!external && (size_t)count / 4 > most) {
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
