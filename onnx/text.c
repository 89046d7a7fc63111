/* What a model says of types, and its constants, as text.
 *
 *   dimension       batch, a parameter of @main
 *   initializer     param @conv1.weight: Tensor[...];  its elements are beside
 *   small integers  let @shape = [1i64, -1];  for they may decide shapes */
#include <ctype.h>
#include <string.h>

#include "onnx/import.h"
#include "ops/ops.h"

enum {
  TYPES_MOST = 40, /* sequences and optionals within each other */
  SMALL_MOST = 64  /* elements of a tensor that is written as a literal */
};

/* --- Text ----------------------------------------------------------------- */

void line(Import *im, const char *format, ...) {
  strbuf_add_repeat(&im->body, ' ', (size_t)im->indent * 2);
  va_list args;
  va_start(args, format);
  strbuf_addv(&im->body, format, args);
  va_end(args);
  strbuf_add_char(&im->body, '\n');
}

static void add_elements(StrBuf *out, const Tensor *t, int axis, int64_t *at) {
  if (axis == t->rank) {
    scalar_print_literal(out, (DType)t->dtype, tensor_bits_at(t, (*at)++));
    return;
  }
  strbuf_add_char(out, '[');
  for (int64_t i = 0; i < t->shape[axis]; i++) {
    if (i) strbuf_add(out, ", ");
    add_elements(out, t, axis + 1, at);
  }
  strbuf_add_char(out, ']');
}

/* Brackets have no shape with a 0 in it. */
const char *literal(Import *im, const Tensor *t) {
  StrBuf b;
  strbuf_init(&b, im->mem);
  if (tensor_count(t) == 0) {
    strbuf_add(&b, "zeros(shape=[");
    for (int i = 0; i < t->rank; i++)
      strbuf_addf(&b, "%s%lld", i ? ", " : "", (long long)t->shape[i]);
    strbuf_addf(&b, "], dtype=\"%s\")", dtype_name((DType)t->dtype));
  } else {
    int64_t at = 0;
    add_elements(&b, t, 0, &at);
  }
  const char *text = arena_strndup(im->arena, strbuf_text(&b), b.len);
  strbuf_done(&b);
  return text;
}

/* --- Types ---------------------------------------------------------------- */

/* A word that can name a dimension. */
static bool is_word(const char *s) {
  if (!isalpha((unsigned char)*s) || strlen(s) > 60) return false;
  while (isalnum((unsigned char)*s) || *s == '_') s++;
  return !*s;
}

/* A name that an operator has would hide it. */
const Name *dim_name(Import *im, const char *param, bool declares) {
  if (!is_word(param)) return NULL;
  bool dyn, operator= op_find(param, &dyn) != OP_COUNT;
  const Name *name = name_of(
      im->names, operator? arena_printf(im->arena, "%s_", param) : param);
  if (!ptrmap_has(&im->dims, name)) {
    if (!declares) return NULL;
    ptrmap_put(&im->dims, name, (void *)name);
    VEC_PUSH(&im->dim_list, name);
  }
  return name;
}

static bool tensor_type_text(Import *im, const char *what,
                             const Onnx__TypeProto__Tensor *t, bool declares,
                             StrBuf *out) {
  const char *name;
  bool string = t->elem_type == ONNX_STRING;
  DType dtype = string ? DT_UINT8 : onnx_dtype(t->elem_type, &name);
  if (dtype == DTYPE_NONE) {
    diag_error(im->diags, E0802, SPAN_NONE,
               "%s: `%s`: there is no dtype here for ONNX's %s", im->path,
               shown(im, what), name ? name : "unknown one");
    return false;
  }
  if (!t->shape) {
    strbuf_addf(out, "Tensor[?, %s]", dtype_name(dtype));
    return true;
  }
  if (t->shape->n_dim + string > RANK_MAX) {
    diag_error(im->diags, E0802, SPAN_NONE,
               "%s: `%s`: its rank is %zu, the most is %d", im->path,
               shown(im, what), t->shape->n_dim, RANK_MAX);
    return false;
  }
  strbuf_add(out, "Tensor[(");
  for (size_t i = 0; i < t->shape->n_dim; i++) {
    const Onnx__TensorShapeProto__Dimension *d = t->shape->dim[i];
    const Name *dim =
        d->dim_param ? dim_name(im, d->dim_param, declares) : NULL;
    if (d->has_dim_value && d->dim_value < 0) {
      diag_error(im->diags, E0802, SPAN_NONE,
                 "%s: `%s`: dimension %zu is negative, %lld", im->path,
                 shown(im, what), i, (long long)d->dim_value);
      return false;
    }
    if (i) strbuf_add(out, ", ");
    if (d->has_dim_value) strbuf_addf(out, "%lld", (long long)d->dim_value);
    else strbuf_add(out, dim ? dim->text : "?");
  }
  if (string) strbuf_add(out, t->shape->n_dim ? ", ?" : "?");
  strbuf_addf(out, "), %s]", dtype_name(dtype));
  return true;
}

/* Within lists and options ranks are as written, so tensors there have an
 * unknown one. */
const char *type_text(Import *im, const char *what, const Onnx__TypeProto *t,
                      bool declares, OnnxType *out) {
  const char *around[TYPES_MOST];
  int depth = 0;
  OnnxType *at = out;
  while (t && !t->tensor_type && depth < TYPES_MOST &&
         (t->sequence_type || t->optional_type)) {
    OnnxType *element = ARENA_NEW(im->arena, OnnxType);
    bool sequence = t->sequence_type != NULL;
    at->kind = sequence ? ONNX_SEQUENCE : ONNX_OPTIONAL;
    around[depth++] = sequence ? "List" : "Option";
    t = sequence ? t->sequence_type->elem_type : t->optional_type->elem_type;
    at->element = element;
    at = element;
  }
  if (!t || !t->tensor_type) {
    diag_error(im->diags, E0802, SPAN_NONE,
               "%s: `%s` has no type, or one of a kind that is none here",
               im->path, shown(im, what));
    return NULL;
  }
  Onnx__TypeProto__Tensor inner = *t->tensor_type;
  if (depth) inner.shape = NULL;
  StrBuf b;
  strbuf_init(&b, im->mem);
  for (int i = 0; i < depth; i++) strbuf_addf(&b, "%s[", around[i]);
  bool fine = tensor_type_text(im, what, &inner, declares, &b);
  bool string = inner.elem_type == ONNX_STRING;
  if (fine) {
    at->dtype =
        dtype_name(string ? DT_UINT8 : onnx_dtype(inner.elem_type, NULL));
    at->format = onnx_dtype_format(inner.elem_type);
  }
  strbuf_add_repeat(&b, ']', (size_t)depth);
  const char *text =
      fine ? arena_strndup(im->arena, strbuf_text(&b), b.len) : NULL;
  strbuf_done(&b);
  out->text = text;
  return text;
}

/* --- Constants ------------------------------------------------------------ */

/* Integers may be shapes, axes or indices, by which types are found; other
 * numbers are written where they are few. */
bool is_literal(const Tensor *t) {
  bool number = dtype_is_int((DType)t->dtype) || t->dtype == DT_BOOL;
  int64_t count = tensor_count(t);
  return count <= (number && t->rank <= 1 ? SMALL_MOST
                   : t->rank              ? 0
                                          : 1) ||
         count == 0;
}

/* A tensor of the model's, under a name at the top level.  Consumes it. */
bool emit_constant_take(Import *im, const char *name, Tensor *t) {
  const Name *global = new_name(im, name);
  bind_text(im, name, arena_printf(im->arena, "@%s", global->text));
  if (is_literal(t)) {
    strbuf_addf(&im->items, "let @%s = %s;\n", global->text, literal(im, t));
    tensor_drop(im->heap, t);
    return true;
  }
  strbuf_addf(&im->items, "param @%s: ", global->text);
  tensor_print_type(&im->items, t);
  strbuf_add(&im->items, ";\n");
  TensorFile *f = im->out->weights;
  if (!tensor_file_add_name(f, global->text, global->len)) {
    tensor_drop(im->heap, t);
    return false;
  }
  VEC_LAST(&f->tensors).tensor = t;
  return true;
}

/* One that no tensor can be made of matters only to who reads it. */
bool emit_initializer(Import *im, const Onnx__TensorProto *p) {
  const char *name = p->name ? p->name : "";
  if (!onnx_tensor_fits(p) && !is_read(im, name)) return true;
  Tensor *t = onnx_tensor(im->heap, p, im->path, shown(im, name), im->diags);
  if (!t || !emit_constant_take(im, name, t)) return false;
  set_format(im, value_text(im, name), onnx_dtype_format(p->data_type));
  return true;
}
