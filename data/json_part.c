/* The reader's types, constants, attributes and patterns. */
#include <string.h>

#include "base/base64.h"
#include "data/json_read.h"

enum {
  /* The type of a binder as text, in parts; the printer's bound is the same. */
  TYPE_PARTS_MOST = 1 << 14,
};

/* --- Dimensions ----------------------------------------------------------- */

/* A sum of products of names and numbers; the parser reads it. */
static bool is_dimension(const char *s) {
  int open = 0;
  if (!*s) return false;
  for (; *s && open >= 0; s++) {
    if (*s == '/' && (s[1] == '/' || s[1] == '*')) return false;
    open += (*s == '(') - (*s == ')');
    bool alnum = (*s >= '0' && *s <= '9') || (*s >= 'a' && *s <= 'z') ||
                 (*s >= 'A' && *s <= 'Z') || *s == '_';
    if (!alnum && !strchr(" +-*/()", *s)) return false;
  }
  return open == 0;
}

static const DimExpr *read_dim(Reader *r, const json_t *x, const char *key) {
  DimExpr *d = ARENA_NEW(&r->arena, DimExpr);
  const char *text = json_string_value(x);
  size_t len = text ? strlen(text) : 0;
  NameTable *names = r->program->names;
  if (json_is_integer(x) && json_integer_value(x) >= 0) {
    d->kind = DX_NUMBER;
    d->number = json_integer_value(x);
  } else if (len == 1 && *text == '?') {
    d->kind = DX_ANY;
  } else if (len > 3 && !strcmp(text + len - 3, "...")) {
    d->kind = DX_SPLAT;
    d->any = *text == '?';
    d->name = name_intern(names, text + d->any, len - 3 - d->any);
    if (!is_dimension(d->name->text))
      return data_wrong(r, key, "`%s` is no shape", text);
  } else if (text && is_dimension(text)) {
    d->kind = DX_NAME;
    d->name = name_of(names, text);
  } else {
    return data_wrong(r, key, "expected dimensions: 2, \"n * 4\", \"?\"");
  }
  return d;
}

/* --- Types ---------------------------------------------------------------- */

static void read_shape(Reader *r, const json_t *row, TypeExpr *t) {
  const json_t *shape = json_object_get(row, "shape");
  bool whole = json_is_string(shape);
  size_t n = whole ? 1 : json_array_size(shape);
  if (!whole && !json_is_array(shape)) {
    data_wrong(r, "shape", "expected a list, or the name of a shape");
    return;
  }
  const DimExpr **dims = ARENA_ARRAY(&r->arena, const DimExpr *, n);
  for (size_t i = 0; dims && i < n && !data_stopped(r); i++)
    dims[i] = read_dim(r, whole ? shape : json_array_get(shape, i), "shape");
  t->whole = whole;
  t->dims = dims;
  t->dim_count = dims ? (int)n : 0;
  t->scalar = n == 0 && !data_flag(r, row, "brackets");
}

static void read_tensor_type(Reader *r, const json_t *row, TypeExpr *t) {
  const Name *dtype = data_name(r, row, "dtype");
  if (!dtype) return;
  t->kind = TX_TENSOR;
  t->dtype = dtype_find(dtype->text, dtype->len);
  if (t->dtype == DTYPE_NONE) t->dtype_name = dtype;
  read_shape(r, row, t);
  if (t->dtype_name && t->scalar) {
    t->kind = TX_NAME;
    t->name = dtype;
  }
}

static void read_dim_type(Reader *r, const json_t *row, TypeExpr *t) {
  const DimExpr **dims = ARENA_ARRAY(&r->arena, const DimExpr *, 1);
  dims[0] = read_dim(r, json_object_get(row, "dim"), "dim");
  t->kind = TX_DIM;
  t->dims = dims;
  t->dim_count = 1;
}

/* A part of the row at hand: a row before it. */
static const TypeExpr *part_at(Reader *r, const char *key, const json_t *x,
                               TypeRow *whole) {
  json_int_t n = json_is_integer(x) ? json_integer_value(x) : -1;
  if (n < 0 || (size_t)n >= r->types_read)
    return data_wrong(r, key,
                      "expected types by their places, all of rows "
                      "before this one");
  const TypeRow *part = &r->types[n];
  if (part->height >= whole->height) whole->height = part->height + 1;
  if (__builtin_add_overflow(whole->size, part->size, &whole->size))
    whole->size = UINT32_MAX;
  return part->type;
}

static void read_parts(Reader *r, const json_t *row, TypeRow *whole) {
  const json_t *list = data_list(r, row, "args", JSON_MAY_LACK);
  size_t n = json_array_size(list);
  const TypeExpr **args = ARENA_ARRAY(&r->arena, const TypeExpr *, n);
  for (size_t i = 0; args && i < n && !data_stopped(r); i++)
    args[i] = part_at(r, "args", json_array_get(list, i), whole);
  whole->type->args = args;
  whole->type->arg_count = args ? (int)n : 0;
  whole->type->brackets = list != NULL;
}

static void read_fn_type(Reader *r, const json_t *row, TypeRow *whole) {
  TypeExpr *t = whole->type;
  t->kind = TX_FN;
  t->params = data_read_params(r, row, "params", &t->param_count);
  if (!data_stopped(r))
    t->result = part_at(r, "result", json_object_get(row, "result"), whole);
}

void data_read_type(Reader *r, const json_t *row) {
  TypeExpr *t = ARENA_NEW(&r->arena, TypeExpr);
  TypeRow *whole = &r->types[r->types_read];
  *whole = (TypeRow){t, 1, 1};
  const char *kind = data_text(r, row, "kind", JSON_NEEDED);
  if (!kind) return;
  read_parts(r, row, whole);
  if (data_stopped(r)) return;
  if (!strcmp(kind, "tensor")) read_tensor_type(r, row, t);
  else if (!strcmp(kind, "tuple")) t->kind = TX_TUPLE;
  else if (!strcmp(kind, "fn")) read_fn_type(r, row, whole);
  else if (!strcmp(kind, "hole")) t->kind = TX_HOLE;
  else if (!strcmp(kind, "dim")) read_dim_type(r, row, t);
  else if (!strcmp(kind, "name")) {
    t->kind = TX_NAME;
    t->name = data_name(r, row, "name");
  } else if (!strcmp(kind, "ref")) {
    t->kind = TX_REF;
    if (data_has(row, "name")) t->name = data_name(r, row, "name");
    if (t->arg_count != 1) data_wrong(r, "args", "a cell has one content");
  } else {
    data_wrong(r, "kind", "no type is a `%s`", kind);
  }
}

/* A type is written as a tree.  It may have as many parts as the table has
 * rows.  A type with many more parts names the same rows again and again, which
 * can double it with each row. */
static bool is_writable(const Reader *r, const TypeRow *whole) {
  return whole->size <= TYPE_PARTS_MOST + r->types_read &&
         split_levels(r->mem, (size_t)whole->height);
}

static const TypeExpr *type_of(Reader *r, const char *key, const json_t *x) {
  TypeRow whole = {0};
  const TypeExpr *t = part_at(r, key, x, &whole);
  if (t && !is_writable(r, &whole))
    return data_wrong(r, key, "the type is too large to be written");
  return t;
}

const TypeExpr *data_type_at(Reader *r, const json_t *from, const char *key) {
  const json_t *x = json_object_get(from, key);
  return x ? type_of(r, key, x) : NULL;
}

const TypeExpr *const *data_types_at(Reader *r, const json_t *from,
                                     const char *key, int *count) {
  const json_t *list = data_list(r, from, key, JSON_MAY_LACK);
  size_t n = json_array_size(list);
  const TypeExpr **types = ARENA_ARRAY(&r->arena, const TypeExpr *, n);
  for (size_t i = 0; types && i < n && !data_stopped(r); i++)
    types[i] = type_of(r, key, json_array_get(list, i));
  *count = types ? (int)n : 0;
  return types;
}

const TypeParam *data_read_params(Reader *r, const json_t *from,
                                  const char *key, int *count) {
  const json_t *list = data_list(r, from, key, JSON_MAY_LACK);
  size_t n = json_array_size(list);
  TypeParam *params = ARENA_ARRAY(&r->arena, TypeParam, n);
  data_enter(r, key);
  for (size_t i = 0; params && i < n && !data_stopped(r); i++) {
    const json_t *row = json_array_get(list, i);
    data_enter_row(r, i);
    params[i].name = data_name(r, row, "name");
    const char *kind = data_text(r, row, "kind", JSON_MAY_LACK);
    params[i].kind = kind_find(kind ? kind : "");
    if (kind && params[i].kind == KIND_COUNT)
      data_wrong(r, "kind", "no parameter is a `%s`", kind);
    if (!kind) params[i].kind = KIND_TYPE;
    data_leave(r);
  }
  data_leave(r);
  *count = params && !data_stopped(r) ? (int)n : 0;
  return params;
}

/* --- Constants ------------------------------------------------------------ */

static bool read_real(const json_t *x, DType dtype, Value *bits) {
  const char *text = json_string_value(x);
  double v = json_number_value(x);
  if (text && !strcmp(text, "nan")) v = __builtin_nan("");
  else if (text && !strcmp(text, "inf")) v = __builtin_inf();
  else if (text && !strcmp(text, "-inf")) v = -__builtin_inf();
  else if (!json_is_number(x)) return false;
  *bits = bits_from_f64(dtype, v);
  double kept = bits_to_f64(dtype, *bits);
  return v - v != 0 || kept - kept == 0; /* a number stays finite */
}

/* Beyond int64 a number is a string. */
static bool read_huge(const json_t *x, DType dtype, Value *bits) {
  const char *text = json_string_value(x);
  uint64_t n = 0;
  if (!text || !*text || dtype_max_int(dtype) != UINT64_MAX) return false;
  for (; *text; text++) {
    if (*text < '0' || *text > '9') return false;
    if (__builtin_mul_overflow(n, 10, &n)) return false;
    if (__builtin_add_overflow(n, (uint64_t)(*text - '0'), &n)) return false;
  }
  *bits = (Value){.u64 = n};
  return true;
}

static bool read_scalar(const json_t *x, DType dtype, Value *bits) {
  if (dtype_is_float(dtype)) return read_real(x, dtype, bits);
  if (dtype == DT_BOOL) {
    *bits = bits_from_i64(dtype, json_is_true(x));
    return json_is_boolean(x);
  }
  if (!json_is_integer(x)) return read_huge(x, dtype, bits);
  int64_t n = json_integer_value(x);
  *bits = bits_from_i64(dtype, n);
  return dtype_holds_int(dtype, n);
}

static bool read_numbers(Reader *r, const json_t *list, Tensor *t) {
  char *at = t->data;
  DType dtype = (DType)t->dtype;
  for (size_t i = 0; i < json_array_size(list); i++) {
    Value bits;
    if (!read_scalar(json_array_get(list, i), dtype, &bits)) {
      data_enter(r, "data");
      data_enter_row(r, i);
      return data_wrong(r, NULL, "expected an element of %s",
                        dtype_name(dtype));
    }
    bits_store(dtype, at, bits);
    at += dtype_size(dtype);
  }
  return true;
}

/* Bytes are any; elements of some dtypes are not. */
static bool check_elements(Reader *r, const Tensor *t) {
  DType dtype = (DType)t->dtype;
  for (int64_t i = 0; i < tensor_count(t); i++)
    if (!bits_are_valid(dtype, tensor_bits_at(t, i)))
      return data_wrong(r, "base64", "element %lld is none of %s", (long long)i,
                        dtype_name(dtype));
  return true;
}

static bool read_packed(Reader *r, const char *text, Tensor *t) {
  size_t len = strlen(text), room = len / 4 * 3 + 3;
  uint8_t *bytes = mem_alloc(r->mem, room);
  if (!bytes) {
    mem_raise_exhausted(r->mem);
    return false;
  }
  bool whole = base64_decode(text, len, bytes) == tensor_bytes(t);
  if (whole) memcpy(t->data, bytes, tensor_bytes(t));
  mem_free(r->mem, bytes, room);
  if (!whole)
    return data_wrong(r, "base64", "expected the bytes of all elements");
  return check_elements(r, t);
}

/* The tensor is made once the text is known to hold its elements. */
static Tensor *read_tensor(Reader *r, const json_t *x) {
  const char *name = data_text(r, x, "dtype", JSON_NEEDED);
  const json_t *dims = data_list(r, x, "shape", JSON_NEEDED);
  if (!name || !dims) return NULL;
  DType dtype = dtype_find(name, strlen(name));
  size_t rank = json_array_size(dims), bytes;
  int64_t shape[RANK_MAX], count;
  if (dtype == DTYPE_NONE) return data_wrong(r, "dtype", "no dtype `%s`", name);
  if (rank > RANK_MAX)
    return data_wrong(r, "shape", "the most dimensions are %d", RANK_MAX);
  for (size_t i = 0; i < rank; i++) {
    const json_t *dim = json_array_get(dims, i);
    shape[i] = json_is_integer(dim) ? json_integer_value(dim) : -1;
    if (shape[i] < 0) return data_wrong(r, "shape", "expected sizes");
  }
  if (!shape_size(dtype, (int)rank, shape, &count, &bytes))
    return data_wrong(r, "shape", "the tensor is larger than memory");
  const char *packed = data_text(r, x, "base64", JSON_MAY_LACK);
  const json_t *data = packed ? NULL : data_list(r, x, "data", JSON_NEEDED);
  if (!packed && !data) return NULL;
  if (packed && strlen(packed) / 4 < bytes / 3)
    return data_wrong(r, "base64", "expected the bytes of all elements");
  if (data && json_array_size(data) != (size_t)count)
    return data_wrong(r, "data", "expected %lld elements", (long long)count);
  Tensor *t = tensor_new(r->program->heap, dtype, (int)rank, shape);
  if (!t) {
    mem_raise_exhausted(r->mem);
    return NULL;
  }
  VEC_PUSH(&r->constants, t);
  bool ok = packed ? read_packed(r, packed, t) : read_numbers(r, data, t);
  return ok ? t : NULL;
}

Tensor *data_read_tensor(Reader *r, const json_t *from, const char *key) {
  const json_t *x = json_object_get(from, key);
  data_enter(r, key);
  Tensor *t = json_is_object(x)
                  ? read_tensor(r, x)
                  : data_wrong(r, NULL,
                               "expected a tensor: {\"dtype\": ..., "
                               "\"shape\": [...], \"data\": [...]}");
  data_leave(r);
  return t;
}

/* --- Attributes ----------------------------------------------------------- */

const char *data_read_bytes(Reader *r, const json_t *x, const char *key,
                            size_t *len) {
  const char *text = json_string_value(x);
  if (text) {
    *len = json_string_length(x);
    return arena_strndup(&r->arena, text, *len);
  }
  text = json_string_value(json_object_get(x, "base64"));
  size_t size = text ? strlen(text) : 0;
  uint8_t *bytes = ARENA_ARRAY(&r->arena, uint8_t, size / 4 * 3 + 3);
  *len = text && bytes ? base64_decode(text, size, bytes) : SIZE_MAX;
  if (*len != SIZE_MAX) return (const char *)bytes;
  return data_wrong(r, key, "expected a string, or {\"base64\": ...}");
}

static const AttrExpr *read_value(Reader *r, const json_t *x, int depth);

static void read_items(Reader *r, const json_t *list, AttrExpr *x, int depth) {
  size_t n = json_array_size(list);
  const AttrExpr **items = ARENA_ARRAY(&r->arena, const AttrExpr *, n);
  for (size_t i = 0; items && i < n && !data_stopped(r); i++) {
    data_enter_row(r, i);
    items[i] = read_value(r, json_array_get(list, i), depth + 1);
    data_leave(r);
  }
  x->kind = AX_LIST;
  x->items = items;
  x->count = items && !data_stopped(r) ? (int)n : 0;
}

/* A number without a dtype gets the dtype of the same literal in a text. */
static void read_plain(const json_t *json, AttrExpr *x) {
  bool whole = json_is_integer(json);
  x->integer = json_integer_value(json);
  x->real = json_number_value(json);
  bool narrow = x->integer >= INT32_MIN && x->integer <= INT32_MAX;
  x->kind = whole ? AX_INT : AX_FLOAT;
  x->dtype = !whole ? DT_FLOAT64 : narrow ? DT_INT32 : DT_INT64;
}

static void read_typed(Reader *r, const json_t *json, AttrExpr *x) {
  const char *name = data_text(r, json, "dtype", JSON_NEEDED);
  if (!name) return;
  Value bits;
  x->dtype = dtype_find(name, strlen(name));
  if (x->dtype == DTYPE_NONE || x->dtype == DT_BOOL) {
    data_wrong(r, "dtype", "no dtype of numbers is `%s`", name);
  } else if (!read_scalar(json_object_get(json, "value"), x->dtype, &bits)) {
    data_wrong(r, "value", "expected a number of %s", name);
  } else {
    x->kind = dtype_is_float(x->dtype) ? AX_FLOAT : AX_INT;
    x->real = bits_to_f64(x->dtype, bits);
    x->integer = bits_to_i64(x->dtype, bits);
  }
}

static void read_meta(Reader *r, const json_t *json, AttrExpr *x) {
  const Name *key = data_name(r, json, "meta");
  x->kind = AX_META;
  x->text = key ? key->text : "";
  x->integer = data_index(r, json, "index", INT32_MAX, JSON_NEEDED);
}

static const AttrExpr *read_value(Reader *r, const json_t *json, int depth) {
  AttrExpr *x = ARENA_NEW(&r->arena, AttrExpr);
  if (depth > NESTING_MAX)
    return data_wrong(r, NULL, "lists nest more than %d deep", NESTING_MAX);
  if (json_is_array(json)) {
    read_items(r, json, x, depth);
  } else if (json_is_null(json)) {
    x->kind = AX_NONE;
  } else if (json_is_boolean(json)) {
    x->kind = AX_BOOL;
    x->integer = json_is_true(json);
  } else if (json_is_number(json)) {
    read_plain(json, x);
  } else if (data_has(json, "node")) {
    x->kind = AX_EXPR;
    x->expr = data_node_at(r, json, "node");
  } else if (data_has(json, "dtype")) {
    read_typed(r, json, x);
  } else if (data_has(json, "meta")) {
    read_meta(r, json, x);
  } else {
    size_t len = 0;
    x->kind = AX_STRING;
    x->text = data_read_bytes(r, json, NULL, &len);
    if (!x->text) return NULL;
    x->count = (int)len;
  }
  return x;
}

const Attr *data_read_attrs(Reader *r, const json_t *from, int *count) {
  const json_t *list = data_list(r, from, "attrs", JSON_MAY_LACK);
  size_t n = json_array_size(list);
  Attr *attrs = ARENA_ARRAY(&r->arena, Attr, n);
  data_enter(r, "attrs");
  for (size_t i = 0; attrs && i < n && !data_stopped(r); i++) {
    const json_t *row = json_array_get(list, i);
    data_enter_row(r, i);
    if (data_has(row, "name")) attrs[i].name = data_name(r, row, "name");
    const json_t *value = json_object_get(row, "value");
    if (!value) data_wrong(r, NULL, "`value` is missing");
    data_enter(r, "value");
    if (value) attrs[i].value = read_value(r, value, 0);
    data_leave(r);
    data_leave(r);
  }
  data_leave(r);
  *count = attrs && !data_stopped(r) ? (int)n : 0;
  return attrs;
}

/* --- Patterns ------------------------------------------------------------- */

static const Pattern *read_pattern(Reader *r, const json_t *x, int depth);

static void read_fields(Reader *r, const json_t *x, Pattern *pattern,
                        int depth) {
  const json_t *list = data_list(r, x, "fields", JSON_MAY_LACK);
  size_t n = json_array_size(list);
  const Pattern **fields = ARENA_ARRAY(&r->arena, const Pattern *, n);
  data_enter(r, "fields");
  for (size_t i = 0; fields && i < n && !data_stopped(r); i++) {
    data_enter_row(r, i);
    fields[i] = read_pattern(r, json_array_get(list, i), depth + 1);
    data_leave(r);
  }
  data_leave(r);
  pattern->parens = list != NULL;
  pattern->fields = fields;
  pattern->count = fields && !data_stopped(r) ? (int)n : 0;
}

static void read_pattern_var(Reader *r, const json_t *x, Pattern *pattern) {
  const Name *name = data_name(r, x, "name");
  const TypeExpr *type = data_type_at(r, x, "annotation");
  pattern->kind = PT_VAR;
  if (!data_stopped(r))
    pattern->var = var_new(&r->arena, name, SPAN_NONE, type);
}

static void read_pattern_literal(Reader *r, const json_t *x, Pattern *pattern) {
  pattern->kind = PT_LITERAL;
  pattern->constant = data_read_tensor(r, x, "value");
  if (pattern->constant && pattern->constant->rank > 0)
    data_wrong(r, "value", "expected a scalar");
}

/* Alternatives stand in no parentheses, so they hold no others. */
static void read_pattern_or(Reader *r, Pattern *pattern) {
  pattern->kind = PT_OR;
  if (pattern->count < 2)
    data_wrong(r, "fields", "expected two alternatives or more");
  for (int i = 0; i < pattern->count && !data_stopped(r); i++)
    if (pattern->fields[i]->kind == PT_OR)
      data_wrong(r, "fields", "an alternative has alternatives");
}

/* A level takes two of the document, whose depth jansson bounds. */
static const Pattern *read_pattern(Reader *r, const json_t *x, int depth) {
  Pattern *pattern = ARENA_NEW(&r->arena, Pattern);
  if (depth > NESTING_MAX)
    return data_wrong(r, NULL, "patterns nest more than %d deep", NESTING_MAX);
  const char *kind = data_text(r, x, "kind", JSON_NEEDED);
  if (!kind) return NULL;
  if (data_has(x, "label")) pattern->label = data_name(r, x, "label");
  read_fields(r, x, pattern, depth);
  if (data_stopped(r)) return NULL;
  if (!strcmp(kind, "wild")) pattern->kind = PT_WILD;
  else if (!strcmp(kind, "var")) read_pattern_var(r, x, pattern);
  else if (!strcmp(kind, "tuple")) pattern->kind = PT_TUPLE;
  else if (!strcmp(kind, "literal")) read_pattern_literal(r, x, pattern);
  else if (!strcmp(kind, "or")) read_pattern_or(r, pattern);
  else if (!strcmp(kind, "constructor")) {
    pattern->kind = PT_CTOR;
    pattern->name = data_name(r, x, "name");
  } else {
    data_wrong(r, "kind", "no pattern is a `%s`", kind);
  }
  return data_stopped(r) ? NULL : pattern;
}

const Pattern *data_read_pattern(Reader *r, const json_t *from,
                                 const char *key) {
  const json_t *x = json_object_get(from, key);
  data_enter(r, key);
  const Pattern *pattern =
      x ? read_pattern(r, x, 0) : data_wrong(r, NULL, "a pattern is missing");
  data_leave(r);
  return pattern;
}
