/* Types, constants and the small parts of the JSON form.
 *
 * A type is a row of a table whose parts are earlier rows, so a type that is
 * small as a DAG stays small.  A row has the type's text as well, for people;
 * of a large type it is cut, and the tree alone counts. */
#include "data/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/utf8.h"
#include "types/types.h"

enum { DATA_AS_NUMBERS = 1024 }; /* elements; more are written as base64 */

const char *const data_binding_kinds[] = {
    [BIND_LET] = "let",     [BIND_AND] = "and",   [BIND_ITEM] = "item",
    [BIND_GRAPH] = "graph", [BIND_FREE] = "free",
};

const char *const data_sugar[JSON_SUGARS] = {
    [SUGAR_INFIX] = "infix",
    [SUGAR_NEGATE] = "negate",
    [SUGAR_NOT] = "not",
    [SUGAR_AND] = "and",
    [SUGAR_OR] = "or",
    [SUGAR_ELSE_IF] = "else_if",
    [SUGAR_UNIT] = "unit",
    [SUGAR_CTOR] = "constructor",
    [SUGAR_BRACES] = "braces",
    [SUGAR_BRACKET] = "bracket",
    [SUGAR_WHERE] = "where",
    [SUGAR_LIST] = "list",
    [SUGAR_SPLAT] = "splat",
    [SUGAR_PIPE] = "pipe",
    [SUGAR_PIPE_CALL] = "pipe_call",
};

/* --- Texts and numbers ---------------------------------------------------- */

void data_string(StrBuf *out, const char *text) {
  strbuf_add_char(out, '"');
  strbuf_add_escaped(out, text, strlen(text));
  strbuf_add_char(out, '"');
}

void data_key(StrBuf *out, const char *key) {
  strbuf_addf(out, ", \"%s\": ", key);
}

void data_member(StrBuf *out, const char *key, const char *text) {
  data_key(out, key);
  data_string(out, text);
}

void data_number(StrBuf *out, const char *key, int64_t number) {
  strbuf_addf(out, ", \"%s\": %lld", key, (long long)number);
}

void data_bytes(StrBuf *out, const char *bytes, size_t len) {
  if (utf8_check(bytes, len) == len && !memchr(bytes, 0, len)) {
    strbuf_add_char(out, '"');
    strbuf_add_escaped(out, bytes, len);
    strbuf_add_char(out, '"');
    return;
  }
  strbuf_add(out, "{\"base64\": \"");
  base64_add(out, bytes, len);
  strbuf_add(out, "\"}");
}

/* --- Constants ------------------------------------------------------------ */

/* A float32's shortest decimal is read by most as a double and then rounded,
 * which may give its neighbour; then all digits of the double are written. */
static void add_float(StrBuf *out, DType dtype, Value bits) {
  size_t start = out->len;
  double v = bits_to_f64(dtype, bits);
  float_print(out, dtype, bits, true);
  if (v != v || v - v != 0) return;
  const char *text = strbuf_text(out) + (out->len > start ? start : 0);
  Value read = bits_from_f64(dtype, strtod(text, NULL));
  if (bits_to_f64(dtype, read) == v) return;
  out->len = start;
  strbuf_addf(out, "%.17g", v);
}

/* NaNs and infinities have no numbers in JSON, and integers beyond int64 none
 * that all read. */
void data_scalar(StrBuf *out, DType dtype, Value bits) {
  double v = bits_to_f64(dtype, bits);
  bool huge = dtype_max_int(dtype) == UINT64_MAX && bits.u64 > INT64_MAX;
  bool text = dtype_is_float(dtype) ? v - v != 0 : huge;
  if (text) strbuf_add_char(out, '"');
  if (dtype_is_float(dtype)) add_float(out, dtype, bits);
  else if (dtype == DT_BOOL)
    strbuf_add(out, bits_to_i64(dtype, bits) ? "true" : "false");
  else if (text) strbuf_addf(out, "%llu", (unsigned long long)bits.u64);
  else strbuf_addf(out, "%lld", (long long)bits_to_i64(dtype, bits));
  if (text) strbuf_add_char(out, '"');
}

/* Constants of programs are whole and row-major. */
void data_tensor(StrBuf *out, const Tensor *t) {
  int64_t count = tensor_count(t);
  strbuf_addf(out, "{\"dtype\": \"%s\", \"shape\": [", dtype_name(t->dtype));
  for (int i = 0; i < t->rank; i++)
    strbuf_addf(out, "%s%lld", i ? ", " : "", (long long)t->shape[i]);
  if (count > DATA_AS_NUMBERS && tensor_is_contiguous(t)) {
    strbuf_add(out, "], \"base64\": \"");
    base64_add(out, t->data, tensor_bytes(t));
    strbuf_add(out, "\"}");
    return;
  }
  strbuf_add(out, "], \"data\": [");
  for (int64_t i = 0; i < count && !mem_exhausted(out->mem); i++) {
    if (i > 0) strbuf_add(out, ", ");
    data_scalar(out, t->dtype, tensor_bits_at(t, i));
  }
  strbuf_add(out, "]}");
}

/* --- Types ---------------------------------------------------------------- */

/* Rows are begun once their parts are written. */
static StrBuf *begin_type(Json *j, const char *kind) {
  if (j->type_count > 0) strbuf_add(&j->types, ",\n  ");
  strbuf_addf(&j->types, "{\"kind\": \"%s\"", kind);
  return &j->types;
}

static int end_type(Json *j, const void *key) {
  strbuf_add_char(&j->types, '}');
  int index = j->type_count++;
  ptrmap_put(&j->type_at, key, (void *)((uintptr_t)index + 1));
  return index;
}

static int known_type(const Json *j, const void *key) {
  return (int)(uintptr_t)ptrmap_get(&j->type_at, key) - 1;
}

void data_indices(StrBuf *out, const char *key, int count, const int *indices) {
  data_key(out, key);
  strbuf_add_char(out, '[');
  for (int i = 0; i < count; i++)
    strbuf_addf(out, "%s%d", i ? ", " : "", indices[i]);
  strbuf_add_char(out, ']');
}

/* The indices of parts are the last ones of j->parts. */
static void add_parts(Json *j, StrBuf *out, const char *key, int count) {
  if (j->parts.len < (size_t)count) return;
  j->parts.len -= (size_t)count;
  data_indices(out, key, count, j->parts.data + j->parts.len);
}

static void add_dim(Json *j, StrBuf *out, Dim d) {
  if (dim_is_number(d)) {
    strbuf_addf(out, "%lld", (long long)dim_value(d));
    return;
  }
  strbuf_add_char(out, '"');
  dim_print(types_dims(j->program->types), out, d);
  strbuf_add_char(out, '"');
}

static void add_tensor_type(Json *j, StrBuf *out, const Type *t) {
  data_member(out, "dtype", dtype_name((DType)t->dtype));
  data_key(out, "shape");
  if (t->any_rank) {
    strbuf_add(out, "\"?\"");
    return;
  }
  strbuf_add_char(out, '[');
  for (int i = 0; i < t->rank; i++) {
    if (i > 0) strbuf_add(out, ", ");
    add_dim(j, out, t->dims[i]);
  }
  strbuf_add_char(out, ']');
}

/* `{"name": "A"}, {"name": "n", "kind": "Dim"}` */
static void add_param(StrBuf *out, bool first, const Name *name,
                      ParamKind kind) {
  strbuf_add(out, first ? "{\"name\": " : ", {\"name\": ");
  data_string(out, name->text);
  const char *word = kind_info[kind].word;
  if (*word) data_member(out, "kind", word);
  strbuf_add_char(out, '}');
}

void data_type_params(StrBuf *out, int count, const TypeParam *params) {
  for (int i = 0; i < count; i++)
    add_param(out, i == 0, params[i].name, params[i].kind);
}

static const char *type_kind(const Type *t) {
  switch (t->kind) {
    case TY_TENSOR: return "tensor";
    case TY_TUPLE: return "tuple";
    case TY_FN: return "fn";
    case TY_REF: return "ref";
    case TY_ADT:
    case TY_VAR: return "name";
    case TY_DIM: return "dim";
    case TY_ERROR:
    case TY_META: break;
  }
  return "hole";
}

/* A row that stands for no type of its own, and so has no key. */
static int end_part(Json *j) {
  strbuf_add_char(&j->types, '}');
  return j->type_count++;
}

/* The argument of a generic data type that is a dtype: the scalar's type. */
static int write_dtype(Json *j, DType dtype) {
  StrBuf *out = begin_type(j, "tensor");
  data_member(out, "dtype", dtype_name(dtype));
  strbuf_add(out, ", \"shape\": []");
  return end_part(j);
}

/* And one that is a shape: a tuple of dimensions, whose rows come first. */
static int write_shape(Json *j, int rank, const Type *const *dims) {
  for (int i = 0; i < rank; i++) {
    int dim = data_type(j, dims[i]);
    VEC_PUSH(&j->parts, dim);
  }
  add_parts(j, begin_type(j, "tuple"), "args", rank);
  return end_part(j);
}

/* The arguments of a data type as its text has them: of an instance
 * Layer[(2, n), float32] a shape and a dtype, of which the type itself has the
 * dimensions (ir/type_print.c).  They wait in j->parts. */
static int push_args(Json *j, const Type *t) {
  const Adt *generic = t->kind == TY_ADT ? t->adt->instance_of : NULL;
  int count = generic ? generic->param_count : t->count, at = 0;
  for (int i = 0; i < count && !mem_exhausted(j->mem); i++) {
    const KindArg *arg = generic ? &t->adt->kind_args[i] : NULL;
    const KindInfo *kind =
        generic ? &kind_info[generic->params[i]->kind] : NULL;
    bool shape = kind && kind->solve == SOLVE_INSTANCE && !kind->member;
    int part;
    if (kind && kind->member) part = write_dtype(j, arg->dtype);
    else if (shape) part = write_shape(j, arg->rank, t->args + at);
    else part = data_type(j, t->args[at]);
    at += shape ? arg->rank : !(kind && kind->member);
    VEC_PUSH(&j->parts, part);
  }
  return count;
}

static int write_type(Json *j, const void *part) {
  const Type *t = part;
  int args = push_args(j, t);
  int result = t->kind == TY_FN ? data_type(j, t->result) : -1;
  StrBuf *out = begin_type(j, type_kind(t));
  if (t->kind == TY_TENSOR) add_tensor_type(j, out, t);
  if (t->kind == TY_DIM) {
    data_key(out, "dim");
    add_dim(j, out, t->dims[0]);
  }
  if (t->kind == TY_ADT) data_member(out, "name", t->adt->name->text);
  if (t->kind == TY_VAR) data_member(out, "name", t->var->name->text);
  if (t->kind == TY_FN && t->param_count > 0) {
    strbuf_add(out, ", \"params\": [");
    for (int i = 0; i < t->param_count; i++)
      add_param(out, i == 0, t->params[i]->name, t->params[i]->kind);
    strbuf_add_char(out, ']');
  }
  if (t->kind == TY_TUPLE || t->kind == TY_FN || t->kind == TY_REF ||
      t->kind == TY_ADT)
    add_parts(j, out, "args", args);
  if (result >= 0) data_number(out, "result", result);
  StrBuf text;
  strbuf_init(&text, j->mem);
  type_print(j->program->types, &text, t, TYPE_TEXT_LINE);
  data_member(out, "text", strbuf_text(&text));
  strbuf_done(&text);
  return end_type(j, t);
}

typedef struct SplitCall {
  Json *j;
  DataWrite *write;
  const void *part;
  int index;
} SplitCall;

static void run_split(void *call) {
  SplitCall *c = call;
  c->index = c->write(c->j, c->part);
}

int data_split(Json *j, DataWrite *write, const void *part) {
  if (!split_is_used_up(&j->p.stack)) return write(j, part);
  SplitCall call = {j, write, part, -1};
  split_call(&j->p.stack, run_split, &call);
  return call.index;
}

/* A type may be as deep as its program. */
int data_type(Json *j, const Type *t) {
  int index = t ? known_type(j, t) : -1;
  if (!t || index >= 0 || mem_exhausted(j->mem)) return index;
  return data_split(j, write_type, t);
}

/* --- Types as written ----------------------------------------------------- */

static void add_dim_expr(StrBuf *out, const DimExpr *d) {
  if (d->kind == DX_NUMBER) {
    strbuf_addf(out, "%lld", (long long)d->number);
    return;
  }
  strbuf_add_char(out, '"');
  dim_expr_print(out, d);
  strbuf_add_char(out, '"');
}

/* `Tensor[s, d]` has the name of a shape in the place of a list. */
static void add_written_tensor(StrBuf *out, const TypeExpr *t) {
  data_member(out, "dtype",
              t->dtype_name ? t->dtype_name->text : dtype_name(t->dtype));
  data_key(out, "shape");
  if (t->whole) {
    data_string(out, t->dims[0]->name ? t->dims[0]->name->text : "?");
    return;
  }
  strbuf_add_char(out, '[');
  for (int i = 0; i < t->dim_count; i++) {
    if (i > 0) strbuf_add(out, ", ");
    add_dim_expr(out, t->dims[i]);
  }
  strbuf_add_char(out, ']');
  if (t->dim_count == 0 && !t->scalar) strbuf_add(out, ", \"brackets\": true");
}

/* Written types nest NESTING_MAX deep at most (parser/build.h). */
int data_type_expr(Json *j, const TypeExpr *t) {
  static const char *const kinds[] = {
      [TX_TENSOR] = "tensor", [TX_TUPLE] = "tuple", [TX_FN] = "fn",
      [TX_REF] = "ref",       [TX_NAME] = "name",   [TX_HOLE] = "hole",
      [TX_DIM] = "dim",
  };
  int index = t ? known_type(j, t) : -1;
  if (!t || index >= 0) return index;
  for (int i = 0; i < t->arg_count; i++) {
    int part = data_type_expr(j, t->args[i]);
    VEC_PUSH(&j->parts, part);
  }
  int result = data_type_expr(j, t->result);
  StrBuf *out = begin_type(j, kinds[t->kind]);
  if (t->kind == TX_TENSOR) add_written_tensor(out, t);
  if (t->kind == TX_DIM) {
    data_key(out, "dim");
    add_dim_expr(out, t->dims[0]);
  }
  if ((t->kind == TX_NAME || t->kind == TX_REF) && t->name)
    data_member(out, "name", t->name->text);
  if (t->param_count > 0) {
    strbuf_add(out, ", \"params\": [");
    data_type_params(out, t->param_count, t->params);
    strbuf_add_char(out, ']');
  }
  bool args = t->kind == TX_TUPLE || t->kind == TX_FN || t->kind == TX_REF ||
              t->brackets;
  if (args) add_parts(j, out, "args", t->arg_count);
  if (result >= 0) data_number(out, "result", result);
  StrBuf text;
  strbuf_init(&text, j->mem);
  type_expr_print_brief(&text, t, TYPE_TEXT_LINE);
  data_member(out, "text", strbuf_text(&text));
  strbuf_done(&text);
  return end_type(j, t);
}

int data_annotation(Json *j, const TypeExpr *written, const Type *found) {
  if (j->p.resolved && found && print_can_say(&j->p, found))
    return data_type(j, found);
  return data_type_expr(j, written);
}

/* --- Effects and places --------------------------------------------------- */

/* A list of the words that `rly check --effects` has. */
void data_effects(StrBuf *out, Effects e) {
  StrBuf text;
  strbuf_init(&text, out->mem);
  effects_print(&text, e);
  data_key(out, "effects");
  strbuf_add_char(out, '[');
  const char *at = strbuf_text(&text);
  if (!strcmp(at, "pure")) at = "";
  while (*at) {
    size_t n = strcspn(at, ",");
    strbuf_addf(out, "\"%.*s\"", (int)n, at);
    at += n + strspn(at + n, ", ");
    if (*at) strbuf_add(out, ", ");
  }
  strbuf_add_char(out, ']');
  strbuf_done(&text);
}

/* Texts of the library are not copied into the document. */
static int file_index(Json *j, const char *path, bool library) {
  const Name *f = name_of(j->program->names, path);
  int index = (int)(uintptr_t)ptrmap_get(&j->file_at, f) - 1;
  if (index >= 0) return index;
  if (j->file_count > 0) strbuf_add(&j->files, ",\n  ");
  strbuf_add(&j->files, "{\"path\": ");
  data_string(&j->files, path);
  if (library) strbuf_add(&j->files, ", \"library\": true");
  strbuf_add_char(&j->files, '}');
  index = j->file_count++;
  ptrmap_put(&j->file_at, f, (void *)((uintptr_t)index + 1));
  return index;
}

void data_span(Json *j, StrBuf *out, Span span) {
  SourceOrigin at = sources_named(j->program->sources, span);
  if (!at.path) return;
  const SourceFile *f = sources_file(j->program->sources, span);
  strbuf_addf(out, ", \"span\": [%d, %u, %u, %u, %u]",
              file_index(j, at.path, f->library), at.line, at.column,
              at.end_line, at.end_column);
}
