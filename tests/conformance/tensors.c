/* The format: eight bytes of length, a JSON header of that length, the data. */
#include "tests/conformance/tensors.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { PREFIX = 8 };

static double load_f64(const char *at) {
  double x;
  memcpy(&x, at, sizeof x);
  return x;
}

static double load_f32(const char *at) {
  float x;
  memcpy(&x, at, sizeof x);
  return x;
}

/* bfloat16 is the upper half of a float. */
static double load_bf16(const char *at) {
  char wide[4] = {0, 0, at[0], at[1]};
  return load_f32(wide);
}

static double load_f16(const char *at) {
  uint16_t bits;
  memcpy(&bits, at, sizeof bits);
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double x = exponent == 31  ? (fraction ? NAN : INFINITY)
             : exponent == 0 ? ldexp(fraction, -24)
                             : ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 ? -x : x;
}

typedef struct Format {
  const char *dtype;
  size_t width;
  double (*load)(const char *at); /* NULL: not a float */
} Format;

static const Format formats[] = {
    {"F64", 8, load_f64},   {"F32", 4, load_f32}, {"F16", 2, load_f16},
    {"BF16", 2, load_bf16}, {"I64", 8, NULL},     {"I32", 4, NULL},
    {"I16", 2, NULL},       {"I8", 1, NULL},      {"U64", 8, NULL},
    {"U32", 4, NULL},       {"U16", 2, NULL},     {"U8", 1, NULL},
    {"BOOL", 1, NULL},
};

static const Format *format_of(const char *dtype) {
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (!strcmp(formats[i].dtype, dtype)) return &formats[i];
  return NULL;
}

static size_t header_length(const Text *bytes) {
  uint64_t length;
  memcpy(&length, bytes->data, PREFIX);
  return length;
}

bool tensor_file_read(TensorFile *f, const char *path) {
  *f = (TensorFile){0};
  if (text_read_file(&f->bytes, path) && f->bytes.len >= PREFIX &&
      header_length(&f->bytes) <= f->bytes.len - PREFIX) {
    f->header =
        json_loadb(f->bytes.data + PREFIX, header_length(&f->bytes), 0, NULL);
  }
  if (json_is_object(f->header)) return true;
  tensor_file_free(f);
  return false;
}

void tensor_file_free(TensorFile *f) {
  json_decref(f->header);
  text_free(&f->bytes);
  *f = (TensorFile){0};
}

static const json_t *metadata(const TensorFile *f) {
  return json_object_get(f->header, "__metadata__");
}

size_t tensor_file_count(const TensorFile *f) {
  return json_object_size(f->header) - (metadata(f) != NULL);
}

const char *tensor_file_meta(const TensorFile *f, const char *key) {
  return json_string_value(json_object_get(metadata(f), key));
}

static size_t element_count(const json_t *shape) {
  size_t count = 1, i;
  json_t *dim;
  json_array_foreach(shape, i, dim) {
    count *= (size_t)json_integer_value(dim);
  }
  return count;
}

bool tensor_file_find(const TensorFile *f, const char *name, TensorView *view) {
  const json_t *entry = json_object_get(f->header, name);
  const json_t *offsets = json_object_get(entry, "data_offsets");
  const char *dtype = json_string_value(json_object_get(entry, "dtype"));
  const Format *format = dtype ? format_of(dtype) : NULL;
  if (!format) return false;

  size_t data_start = PREFIX + header_length(&f->bytes);
  size_t lo = (size_t)json_integer_value(json_array_get(offsets, 0));
  size_t hi = (size_t)json_integer_value(json_array_get(offsets, 1));
  *view = (TensorView){.dtype = dtype,
                       .shape = json_object_get(entry, "shape"),
                       .width = format->width,
                       .data = f->bytes.data + data_start + lo};
  view->count = element_count(view->shape);
  size_t size = view->count * view->width;
  return json_is_array(view->shape) && lo <= hi &&
         hi <= f->bytes.len - data_start && size == hi - lo;
}

bool tensor_is_float(const TensorView *view) {
  return format_of(view->dtype)->load != NULL;
}

double tensor_float(const TensorView *view, size_t i) {
  return format_of(view->dtype)->load(view->data + i * view->width);
}
