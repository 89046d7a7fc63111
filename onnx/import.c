/* A model to the text of a program.
 *
 *   graph          def @main[batch: Dim](%x: Tensor[(batch, 3), float32], ...)
 *   initializer    param @conv1.weight: Tensor[...];  its elements are beside
 *   small integers let @shape = [1i64, -1];  for they may decide shapes
 *   node           let %y = @onnx_conv(%x, @conv1.weight, strides=[2, 2]);
 *
 * What a node means is a function of the library (stdlib/onnx/) or an operator,
 * which ops.def names; nothing is computed here, and no shape is inferred: the
 * checker does that.  A value is given once, above its uses, so a graph in a
 * circle is one with a name that is not defined yet. */
#include "onnx/import.h"

#include <ctype.h>
#include <string.h>

#include "ops/ops.h"

enum {
  DEPTH_MOST = 40, /* graphs and functions within each other */
  SMALL_MOST = 64, /* elements of a tensor that is written as a literal */
  NODES_MOST = 1 << 20
};

/* --- Messages ------------------------------------------------------------- */

/* Names in a file may hold anything. */
static const char *shown(Import *im, const char *text) {
  char *copy = arena_strndup(im->arena, text, strnlen(text, 80));
  for (char *p = copy; p && *p; p++)
    if ((unsigned char)*p < ' ' || *p == 127) *p = '?';
  return copy ? copy : "";
}

bool node_error(Import *im, const Onnx__NodeProto *n, DiagCode code,
                const char *format, ...) {
  va_list args;
  va_start(args, format);
  const char *why = arena_vprintf(im->arena, format, args);
  va_end(args);
  const char *name = n->name && *n->name ? n->name
                     : n->n_output       ? n->output[0]
                                         : "";
  diag_error(im->diags, code, SPAN_NONE, "%s: node `%s` (%s): %s", im->path,
             shown(im, name), shown(im, n->op_type ? n->op_type : ""), why);
  return false;
}

/* --- Names ---------------------------------------------------------------- */

/* Does the dot begin a part that a name may have: a word, or numbers
 * with a word behind them?  What is read of the name ends at `end`. */
static bool begins_part(const char *dot, const char *end) {
  for (;;) {
    const char *part = dot + 1, *p = part;
    while (p < end && isdigit((unsigned char)*p)) p++;
    if (p == end) return false;
    if (p == part) return isalpha((unsigned char)*p) || *p == '_';
    if (*p != '.') return false;
    dot = p;
  }
}

/* The name with what cannot be part of one replaced, and a number behind it
 * where it is taken. */
static const Name *new_name(Import *im, const char *wanted) {
  StrBuf b;
  strbuf_init(&b, im->mem);
  while (*wanted && !isalnum((unsigned char)*wanted) && *wanted != '_')
    wanted++;
  if (isdigit((unsigned char)*wanted)) strbuf_add_char(&b, 'v');
  bool kept = true; /* the last byte */
  size_t most = strnlen(wanted, 120);
  for (size_t i = 0; i < most; i++) {
    const char *p = wanted + i;
    bool word = isalnum((unsigned char)*p) || *p == '_';
    bool dot = *p == '.' && i && kept && p[-1] != '.' &&
               begins_part(p, wanted + most);
    bool keep = word || dot;
    if (keep) strbuf_add_char(&b, *p);
    else if (b.len && VEC_LAST(&b) != '_' && i + 1 < most)
      strbuf_add_char(&b, '_');
    kept = keep;
  }
  if (b.len && VEC_LAST(&b) == '.') VEC_LAST(&b) = '_';
  if (b.len == 1 && *strbuf_text(&b) == '_') strbuf_add(&b, "v");
  if (!b.len) strbuf_add(&b, "v");
  const Name *name = name_of(im->names, strbuf_text(&b));
  const Name *base = name;
  uintptr_t last = (uintptr_t)ptrmap_get(&im->taken, base);
  while (ptrmap_has(&im->taken, name))
    name = name_of(im->names, arena_printf(im->arena, "%s_%ju",
                                           strbuf_text(&b), (uintmax_t)++last));
  ptrmap_put(&im->taken, base, (void *)last);
  ptrmap_put(&im->taken, name, (void *)(uintptr_t)1);
  strbuf_done(&b);
  return name;
}

static void bind_text(Import *im, const char *name, const char *text) {
  const Name *key = name_of(im->names, name);
  VEC_PUSH(&im->shadowed, (struct Shadowed){key, ptrmap_get(&im->values, key)});
  ptrmap_put(&im->values, key, (void *)text);
}

const char *fresh_local(Import *im, const char *base) {
  return arena_printf(im->arena, "%%%s", new_name(im, base)->text);
}

const char *bind_local(Import *im, const char *name) {
  const char *text = fresh_local(im, name);
  bind_text(im, name, text);
  return text;
}

size_t graph_begin(Import *im) { return im->shadowed.len; }

void graph_end(Import *im, size_t mark) {
  while (im->shadowed.len > mark) {
    struct Shadowed s = VEC_POP(&im->shadowed);
    if (s.text) ptrmap_put(&im->values, s.name, s.text);
    else ptrmap_remove(&im->values, s.name);
  }
}

const char *input_text(Import *im, const Onnx__NodeProto *n, size_t i,
                       bool *failed) {
  if (i >= n->n_input || !*n->input[i]) return NULL;
  const char *text = value_text(im, n->input[i]);
  if (!text) {
    *failed = true;
    node_error(im, n, E0803, "its input `%s` is given by nothing above it",
               shown(im, n->input[i]));
  }
  return text;
}

const char *value_text(Import *im, const char *name) {
  return ptrmap_get(&im->values, name_of(im->names, name ? name : ""));
}

/* --- What is no tensor ---------------------------------------------------- */

const OnnxType *type_of(Import *im, const char *text) {
  return ptrmap_get(&im->types, text);
}

const OnnxType *onnx_sequence_type(void) {
  static const OnnxType tensor = {.kind = ONNX_TENSOR};
  static const OnnxType sequence = {.kind = ONNX_SEQUENCE, .element = &tensor};
  return &sequence;
}

void set_type(Import *im, const char *text, const OnnxType *type) {
  if (type && type->kind != ONNX_TENSOR)
    ptrmap_put(&im->types, text, (void *)type);
}

void set_output_type(Import *im, const Onnx__NodeProto *n, size_t i,
                     const OnnxType *type) {
  if (i < n->n_output && *n->output[i])
    set_type(im, value_text(im, n->output[i]), type);
}

const char *as_type(Import *im, const char *text, const OnnxType *to) {
  const OnnxType *from = type_of(im, text);
  bool some = from && from->kind == ONNX_OPTIONAL;
  bool wanted = to && to->kind == ONNX_OPTIONAL;
  if (some == wanted) return text;
  return arena_printf(im->arena,
                      some   ? "@onnx_optional_get_element(%s)"
                      : from ? "Some(%s)"
                             : "Some(@onnx_any(%s))",
                      text);
}

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
static const char *literal(Import *im, const Tensor *t) {
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
static const Name *dim_name(Import *im, const char *param, bool declares) {
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
  DType dtype = onnx_dtype(t->elem_type, &name);
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
  if (t->shape->n_dim > RANK_MAX) {
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
  strbuf_addf(out, "), %s]", dtype_name(dtype));
  return true;
}

/* Within lists and options ranks are as written, so tensors there have an
 * unknown one. */
const char *type_text(Import *im, const char *what, const Onnx__TypeProto *t,
                      bool declares, OnnxType *out) {
  const char *around[DEPTH_MOST];
  int depth = 0;
  OnnxType *at = out;
  while (t && !t->tensor_type && depth < DEPTH_MOST &&
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
  if (fine) at->dtype = dtype_name(onnx_dtype(inner.elem_type, NULL));
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
static bool is_literal(const Tensor *t) {
  bool number = dtype_is_int((DType)t->dtype) || t->dtype == DT_BOOL;
  int64_t count = tensor_count(t);
  return count <= (number && t->rank <= 1 ? SMALL_MOST
                   : t->rank              ? 0
                                          : 1) ||
         count == 0;
}

/* A tensor of the model's, under a name at the top level.  Consumes it. */
static bool emit_constant_take(Import *im, const char *name, Tensor *t) {
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

static bool emit_initializer(Import *im, const Onnx__TensorProto *p) {
  const char *name = p->name ? p->name : "";
  Tensor *t = onnx_tensor(im->heap, p, im->path, shown(im, name), im->diags);
  return t && emit_constant_take(im, name, t);
}

/* --- Attributes ----------------------------------------------------------- */

enum { /* AttributeProto.AttributeType */
       IS_FLOAT = 1,
       IS_INT = 2,
       IS_STRING = 3,
       IS_TENSOR = 4,
       IS_GRAPH = 5,
       IS_FLOATS = 6,
       IS_INTS = 7,
       IS_STRINGS = 8
};

/* Files of IR version 1 leave the type out. */
static int attr_type(const Onnx__AttributeProto *a) {
  if (a->has_type && a->type) return a->type;
  return a->has_f       ? IS_FLOAT
         : a->has_i     ? IS_INT
         : a->has_s     ? IS_STRING
         : a->t         ? IS_TENSOR
         : a->g         ? IS_GRAPH
         : a->n_ints    ? IS_INTS
         : a->n_floats  ? IS_FLOATS
         : a->n_strings ? IS_STRINGS
                        : IS_INTS;
}

static const Onnx__AttributeProto *attr_of(size_t n,
                                           Onnx__AttributeProto **attrs,
                                           const char *name) {
  for (size_t i = 0; i < n; i++)
    if (attrs[i]->name && !strcmp(attrs[i]->name, name)) return attrs[i];
  return NULL;
}

/* An attribute that refers to one of the function that is called. */
static const Onnx__AttributeProto *attr_meant(Import *im,
                                              const Onnx__AttributeProto *a) {
  const CallFrame *f = im->frame;
  while (a && a->ref_attr_name && *a->ref_attr_name && f) {
    const char *name = a->ref_attr_name;
    const Onnx__FunctionProto *fn = f->function;
    a = attr_of(f->node->n_attribute, f->node->attribute, name);
    if (!a) return attr_of(fn->n_attribute_proto, fn->attribute_proto, name);
    f = f->up;
  }
  return a;
}

const Onnx__AttributeProto *node_attr(Import *im, const Onnx__NodeProto *n,
                                      const char *name) {
  return attr_meant(im, attr_of(n->n_attribute, n->attribute, name));
}

int64_t node_int(Import *im, const Onnx__NodeProto *n, const char *name,
                 int64_t otherwise) {
  const Onnx__AttributeProto *a = node_attr(im, n, name);
  return a ? a->i : otherwise;
}

static void add_bytes(StrBuf *out, ProtobufCBinaryData s) {
  strbuf_add_char(out, '"');
  strbuf_add_escaped(out, (const char *)s.data, s.len);
  strbuf_add_char(out, '"');
}

/* Numbers of attributes are axes, lengths and counts, which int32 holds. */
static long long narrow(int64_t i) {
  return i < INT32_MIN ? INT32_MIN + 1 : i > INT32_MAX ? INT32_MAX : i;
}

static void add_f32(StrBuf *out, float f) {
  scalar_print_literal(out, DT_FLOAT32, bits_from_f64(DT_FLOAT32, f));
}

/* The value as it stands in a call.  `flag`: '?' a bool, '!' a scalar of the
 * dtype that is meant, '$' the dtype's name. */
static bool add_attr(Import *im, const Onnx__NodeProto *n,
                     const Onnx__AttributeProto *a, char flag, StrBuf *out) {
  const char *name;
  switch (attr_type(a)) {
    case IS_FLOAT: add_f32(out, a->f); return true;
    case IS_INT:
      if (flag == '?') strbuf_add(out, a->i ? "True" : "False");
      else if (flag == '!' || flag == '$') {
        DType t = onnx_dtype((int32_t)a->i, &name);
        if (t == DTYPE_NONE)
          return node_error(im, n, E0802,
                            "there is no dtype here for ONNX's %s",
                            name ? name : "unknown one");
        if (flag == '$') strbuf_addf(out, "\"%s\"", dtype_name(t));
        else scalar_print_literal(out, t, bits_from_i64(t, 0));
      } else strbuf_addf(out, "%lld", narrow(a->i));
      return true;
    case IS_STRING: add_bytes(out, a->s); return true;
    case IS_INTS:
      if (!a->n_ints) strbuf_add(out, "zeros(shape=[0], dtype=\"int32\")");
      for (size_t i = 0; i < a->n_ints; i++)
        strbuf_addf(out, "%s%lld", i ? ", " : "[", narrow(a->ints[i]));
      if (a->n_ints) strbuf_add_char(out, ']');
      return true;
    case IS_FLOATS:
      if (!a->n_floats) strbuf_add(out, "zeros(shape=[0], dtype=\"float32\")");
      for (size_t i = 0; i < a->n_floats; i++) {
        strbuf_add(out, i ? ", " : "[");
        add_f32(out, a->floats[i]);
      }
      if (a->n_floats) strbuf_add_char(out, ']');
      return true;
    case IS_STRINGS:
      strbuf_add_char(out, '(');
      for (size_t i = 0; i < a->n_strings; i++) {
        add_bytes(out, a->strings[i]);
        strbuf_add(out, ", ");
      }
      strbuf_add_char(out, ')');
      return true;
    case IS_TENSOR: {
      Tensor *t = a->t ? onnx_tensor(im->heap, a->t, im->path,
                                     shown(im, a->name), im->diags)
                       : NULL;
      if (!t) return node_error(im, n, E0802, "its tensor cannot be read");
      strbuf_add(out, literal(im, t));
      tensor_drop(im->heap, t);
      return true;
    }
    default:
      return node_error(im, n, E0802,
                        "attribute `%s` is of a kind that is "
                        "none here",
                        shown(im, a->name));
  }
}

/* --- Calls ---------------------------------------------------------------- */

/* The next word of a list in a row; false at its end. */
static bool next_word(const char **at, const char **word, size_t *len) {
  *at += strspn(*at, " ");
  *word = *at;
  *len = strcspn(*at, " ");
  *at += *len;
  return *len > 0;
}

/* Input i, which has to be there; NULL after reporting. */
static const char *needed_input(Import *im, const Onnx__NodeProto *n,
                                size_t i) {
  bool failed = false;
  const char *text = input_text(im, n, i, &failed);
  if (!text && !failed) node_error(im, n, E0804, "input %zu is missing", i);
  return text;
}

/* a, b, c as add(add(a, b), c). */
static bool add_folded(Import *im, const Onnx__NodeProto *n, const char *calls,
                       StrBuf *out) {
  for (size_t i = 1; i < n->n_input; i++) strbuf_addf(out, "%s(", calls);
  for (size_t i = 0; i < n->n_input; i++) {
    const char *text = needed_input(im, n, i);
    if (!text) return false;
    strbuf_addf(out, i ? ", %s)" : "%s", text);
  }
  return true;
}

/* The inputs from `first` on as a tuple, or as a sequence. */
static bool add_all(Import *im, const Onnx__NodeProto *n, size_t first,
                    bool sequence, StrBuf *out) {
  strbuf_add(out, sequence ? "List[" : "(");
  for (size_t i = first; i < n->n_input; i++) {
    const char *text = needed_input(im, n, i);
    if (!text) return false;
    strbuf_addf(out, sequence ? "@onnx_any(%s)" : "%s", text);
    if (i + 1 < n->n_input) strbuf_add(out, ", ");
    else if (!sequence) strbuf_add(out, ",");
  }
  strbuf_add(out, sequence ? "]" : ")");
  return true;
}

/* The inputs by position, then those that may be missing by name. */
static bool add_inputs(Import *im, const Onnx__NodeProto *n, const OnnxOp *op,
                       StrBuf *out, bool *any) {
  const char *at = op->inputs, *word;
  size_t len, i = 0;
  while (next_word(&at, &word, &len)) {
    bool failed = false, optional = *word == '?';
    if (strchr("*]", word[len - 1])) {
      if (*any) strbuf_add(out, ", ");
      *any = true;
      return add_all(im, n, i, word[len - 1] == ']', out);
    }
    const char *text = input_text(im, n, i++, &failed);
    if (failed) return false;
    if (!text && !optional)
      return node_error(im, n, E0804, "its input `%.*s` is missing", (int)len,
                        word);
    if (!text) continue;
    strbuf_add(out, *any ? ", " : "");
    if (optional) strbuf_addf(out, "%.*s=", (int)len - 1, word + 1);
    strbuf_add(out, text);
    *any = true;
  }
  if (i < n->n_input)
    return node_error(im, n, E0804, "it has %zu inputs, at most %zu are known",
                      n->n_input, i);
  return true;
}

/* name, or flag name, or name>ours; and name:text, which is written where the
 * node does not say it. */
static bool add_attrs(Import *im, const Onnx__NodeProto *n, const OnnxOp *op,
                      StrBuf *out, bool *any) {
  const char *at = op->attrs ? op->attrs : "", *word;
  size_t len, found = 0;
  while (next_word(&at, &word, &len)) {
    char flag = strchr("?!$-", *word) ? *word : 0;
    if (flag) word++, len--;
    const char *colon = memchr(word, ':', len);
    size_t own = colon ? (size_t)(colon - word) : len;
    const char *arrow = memchr(word, '>', own);
    size_t name_len = arrow ? (size_t)(arrow - word) : own;
    const char *name = arena_strndup(im->arena, word, name_len);
    const char *ours = arrow ? arrow + 1 : word;
    const Onnx__AttributeProto *written =
        attr_of(n->n_attribute, n->attribute, name);
    const Onnx__AttributeProto *a = attr_meant(im, written);
    found += written != NULL;
    if (flag == '-' || (!a && !colon)) continue;
    if (*any) strbuf_add(out, ", ");
    if (ours < word + own)
      strbuf_addf(out, "%.*s=", (int)(word + own - ours), ours);
    *any = true;
    if (!a) strbuf_add_len(out, colon + 1, len - own - 1);
    else if (!add_attr(im, n, a, flag, out)) return false;
  }
  if (found == n->n_attribute) return true;
  for (size_t i = 0; i < n->n_attribute; i++) {
    const char *name = n->attribute[i]->name ? n->attribute[i]->name : "";
    bool known = false;
    for (at = op->attrs ? op->attrs : ""; next_word(&at, &word, &len);) {
      const char *w = word + (strchr("?!$-", *word) != NULL);
      size_t k = strcspn(w, ">: ");
      known |= k == strlen(name) && !strncmp(w, name, k);
    }
    if (!known)
      return node_error(im, n, E0804, "its attribute `%s` is not known here",
                        shown(im, name));
  }
  return true;
}

void emit_results(Import *im, const Onnx__NodeProto *n, const char *call,
                  bool tuple) {
  size_t used = 0, last = 0;
  for (size_t i = 0; i < n->n_output; i++)
    if (*n->output[i]) used++, last = i;
  if (!used) return;
  if (n->name && *n->name) line(im, "// %s", shown(im, n->name));
  if (!tuple) {
    line(im, "let %s = %s;", bind_local(im, n->output[last]), call);
  } else if (used == 1) {
    line(im, "let %s = %s.%zu;", bind_local(im, n->output[last]), call, last);
  } else {
    const char *whole = fresh_local(
        im, arena_printf(im->arena, "%s_results",
                         n->output[0][0] ? n->output[0] : n->output[last]));
    line(im, "let %s = %s;", whole, call);
    for (size_t i = 0; i < n->n_output; i++)
      if (*n->output[i])
        line(im, "let %s = %s.%zu;", bind_local(im, n->output[i]), whole, i);
  }
}

/* The call as text; `part` is the number of the output that it gives, or -1. */
static const char *call_text(Import *im, const Onnx__NodeProto *n,
                             const OnnxOp *op, int part) {
  StrBuf b;
  strbuf_init(&b, im->mem);
  bool fine = true, any = false;
  size_t len = strlen(op->inputs);
  if (len && op->inputs[len - 1] == '+') {
    if (n->n_input == 0) fine = node_error(im, n, E0804, "it has no input");
    if (op->fold_end) strbuf_addf(&b, "%s(", op->fold_end);
    fine = fine && add_folded(im, n, op->calls, &b);
    if (op->fold_end) strbuf_addf(&b, ", %zu)", n->n_input);
  } else {
    strbuf_addf(&b, "%s(", op->calls);
    fine = add_inputs(im, n, op, &b, &any) && add_attrs(im, n, op, &b, &any);
    if (part >= 0)
      strbuf_addf(&b, "%si=%d, num=%zu", any ? ", " : "", part, n->n_output);
    strbuf_add_char(&b, ')');
  }
  const char *text =
      fine ? arena_strndup(im->arena, strbuf_text(&b), b.len) : NULL;
  strbuf_done(&b);
  return text;
}

/* One call for each member of the groups.  A node of its own stands for it,
 * with that member's inputs and outputs. */
static bool emit_grouped(Import *im, const Onnx__NodeProto *n,
                         const OnnxOp *op) {
  size_t groups = (size_t)op->groups, results = (size_t)op->results;
  size_t count = n->n_input < 2 ? 0 : (n->n_input - 2) / groups;
  if (!count || n->n_input != 2 + count * groups ||
      n->n_output != count * results)
    return node_error(im, n, E0804,
                      "its inputs or its outputs are not %zu and %zu for each "
                      "tensor",
                      groups, results);
  char *inputs[8], *outputs[8];
  bool fine = true;
  for (size_t k = 0; k < count && fine; k++) {
    Onnx__NodeProto one = *n;
    inputs[0] = n->input[0];
    inputs[1] = n->input[1];
    for (size_t g = 0; g < groups; g++)
      inputs[2 + g] = n->input[2 + g * count + k];
    for (size_t g = 0; g < results; g++) outputs[g] = n->output[g * count + k];
    one.input = inputs;
    one.n_input = 2 + groups;
    one.output = outputs;
    one.n_output = results;
    const char *call = call_text(im, &one, op, -1);
    fine = call != NULL;
    if (fine) emit_results(im, &one, call, true);
  }
  return fine;
}

static bool emit_call(Import *im, const Onnx__NodeProto *n, const OnnxOp *op) {
  if (op->groups) return emit_grouped(im, n, op);
  size_t results = op->results ? (size_t)op->results : 1;
  if (op->results < 0) {
    VEC(const char *) calls;
    VEC_INIT(&calls, im->mem);
    bool fine = true;
    for (size_t i = 0; i < n->n_output && fine; i++) {
      const char *call = call_text(im, n, op, (int)i);
      fine = call != NULL;
      VEC_PUSH(&calls, call);
    }
    for (size_t i = 0; i < n->n_output && fine && i < calls.len; i++)
      if (*n->output[i])
        line(im, "let %s = %s;", bind_local(im, n->output[i]), calls.data[i]);
    VEC_DONE(&calls);
    return fine;
  }
  if (n->n_output > results)
    return node_error(im, n, E0804, "it has %zu outputs, at most %zu are known",
                      n->n_output, results);
  const char *call = call_text(im, n, op, -1);
  if (!call) return false;
  emit_results(im, n, call, results > 1);
  bool failed = false;
  if (op->gives == GIVES_SEQUENCE)
    set_output_type(im, n, 0, onnx_sequence_type());
  if (op->gives == GIVES_SAME)
    set_output_type(im, n, 0, type_of(im, input_text(im, n, 0, &failed)));
  return true;
}

/* --- Nodes ---------------------------------------------------------------- */

static bool is_default(const char *domain) {
  return !domain || !*domain || !strcmp(domain, "ai.onnx");
}

static int64_t version_of(Import *im, const char *domain) {
  size_t n = im->model->n_opset_import;
  Onnx__OperatorSetIdProto **sets = im->model->opset_import;
  if (im->frame && im->frame->function->n_opset_import) {
    n = im->frame->function->n_opset_import;
    sets = im->frame->function->opset_import;
  }
  for (size_t i = 0; i < n; i++) {
    const char *d = sets[i]->domain;
    if (is_default(domain) ? is_default(d) : d && !strcmp(d, domain))
      return sets[i]->version;
  }
  return 1;
}

static const Onnx__FunctionProto *function_of(Import *im,
                                              const Onnx__NodeProto *n) {
  for (size_t i = 0; i < im->model->n_functions; i++) {
    const Onnx__FunctionProto *f = im->model->functions[i];
    const char *a = f->domain ? f->domain : "";
    const char *b = n->domain ? n->domain : "";
    if (f->name && n->op_type && !strcmp(f->name, n->op_type) && !strcmp(a, b))
      return f;
  }
  return NULL;
}

static bool emit_node(Import *im, const Onnx__NodeProto *n);

/* A function of the model is its nodes, once for each call. */
static bool emit_function(Import *im, const Onnx__NodeProto *n,
                          const Onnx__FunctionProto *f) {
  if (im->depth >= DEPTH_MOST)
    return node_error(im, n, E0804, "functions nest more than %d deep",
                      DEPTH_MOST);
  bool failed = false;
  size_t mark = graph_begin(im);
  VEC(const char *) texts;
  VEC_INIT(&texts, im->mem);
  for (size_t i = 0; i < f->n_input; i++)
    VEC_PUSH(&texts, input_text(im, n, i, &failed));
  for (size_t i = 0; i < f->n_input && i < texts.len; i++)
    bind_text(im, f->input[i], texts.data[i]);
  CallFrame frame = {n, f, im->frame};
  im->frame = &frame;
  im->depth++;
  bool fine = !failed;
  for (size_t i = 0; i < f->n_node && fine; i++)
    fine = emit_node(im, f->node[i]);
  im->depth--;
  im->frame = frame.up;
  VEC_CLEAR(&texts);
  for (size_t i = 0; i < f->n_output && fine; i++) {
    const char *text = value_text(im, f->output[i]);
    if (!text && i < n->n_output && *n->output[i])
      fine = node_error(im, n, E0803, "its function gives no `%s`",
                        shown(im, f->output[i]));
    VEC_PUSH(&texts, text);
  }
  graph_end(im, mark);
  for (size_t i = 0; fine && i < n->n_output && i < texts.len; i++)
    if (*n->output[i]) bind_text(im, n->output[i], texts.data[i]);
  VEC_DONE(&texts);
  return fine;
}

/* The value of a Constant. */
static bool emit_constant(Import *im, const Onnx__NodeProto *n) {
  if (n->n_output != 1 || n->n_attribute != 1)
    return node_error(im, n, E0804,
                      "it must have one attribute and one output");
  const Onnx__AttributeProto *a = attr_meant(im, n->attribute[0]);
  if (!a) return node_error(im, n, E0804, "it has no value");
  if (a->t) {
    Tensor *t = onnx_tensor(im->heap, a->t, im->path, shown(im, n->output[0]),
                            im->diags);
    if (!t) return false;
    if (!is_literal(t)) return emit_constant_take(im, n->output[0], t);
    line(im, "let %s = %s;", bind_local(im, n->output[0]), literal(im, t));
    tensor_drop(im->heap, t);
    return true;
  }
  StrBuf b;
  strbuf_init(&b, im->mem);
  int type = attr_type(a);
  bool fine = true;
  if (type == IS_INT) strbuf_addf(&b, "%lldi64", (long long)a->i);
  else if (type == IS_INTS && a->n_ints) {
    for (size_t i = 0; i < a->n_ints; i++)
      strbuf_addf(&b, "%s%lldi64", i ? ", " : "[", (long long)a->ints[i]);
    strbuf_add_char(&b, ']');
  } else if (type == IS_INTS)
    strbuf_add(&b, "zeros(shape=[0], dtype=\"int64\")");
  else if (type == IS_FLOAT || type == IS_FLOATS)
    fine = add_attr(im, n, a, 0, &b);
  else
    fine = node_error(im, n, E0804,
                      "its value is of a kind that is none "
                      "here");
  if (fine)
    line(im, "let %s = %s;", bind_local(im, n->output[0]), strbuf_text(&b));
  strbuf_done(&b);
  return fine;
}

static bool emit_known(Import *im, const Onnx__NodeProto *n) {
  const char *type = n->op_type ? n->op_type : "";
  const Onnx__FunctionProto *f = function_of(im, n);
  if (f) return emit_function(im, n, f);
  if (is_default(n->domain) && !strcmp(type, "Constant"))
    return emit_constant(im, n);
  bool known;
  int64_t version = version_of(im, n->domain);
  const char *domain = is_default(n->domain) ? NULL : n->domain;
  const OnnxOp *op = onnx_op_find(domain, type, version, &known);
  if (op && op->why_not) return node_error(im, n, E0805, "%s", op->why_not);
  if (op) return op->emit ? op->emit(im, n) : emit_call(im, n, op);
  if (known)
    return node_error(im, n, E0805,
                      "version %lld of this operator is not imported",
                      (long long)version);
  return node_error(im, n, E0805, "operator `%s`%s%s is not imported",
                    shown(im, type), domain ? " of " : "",
                    domain ? shown(im, domain) : "");
}

static bool emit_node(Import *im, const Onnx__NodeProto *n) {
  /* Functions that call others twice each make a program of any size. */
  if (im->nodes++ >= NODES_MOST)
    return node_error(im, n, E0804, "the program would have more than %d nodes",
                      NODES_MOST);
  return !mem_exhausted(im->mem) && emit_known(im, n);
}

bool emit_graph(Import *im, const Onnx__GraphProto *g) {
  if (im->depth >= DEPTH_MOST) {
    diag_error(im->diags, E0804, SPAN_NONE, "%s: graphs nest more than %d deep",
               im->path, DEPTH_MOST);
    return false;
  }
  bool fine = true;
  im->depth++;
  if (g->n_sparse_initializer) {
    diag_error(im->diags, E0802, SPAN_NONE,
               "%s: sparse initializers are not imported", im->path);
    fine = false;
  }
  for (size_t i = 0; i < g->n_initializer && fine; i++)
    fine = emit_initializer(im, g->initializer[i]);
  for (size_t i = 0; i < g->n_node && fine; i++)
    fine = emit_node(im, g->node[i]);
  im->depth--;
  return fine && !mem_exhausted(im->mem);
}

const char *graph_results(Import *im, const Onnx__NodeProto *n,
                          const Onnx__GraphProto *g, size_t from, size_t to) {
  StrBuf b;
  strbuf_init(&b, im->mem);
  bool fine = true;
  for (size_t i = from; i < to && i < g->n_output && fine; i++) {
    const char *name = g->output[i]->name ? g->output[i]->name : "";
    const char *text = value_text(im, name);
    if (!text) {
      fine = false;
      if (n)
        node_error(im, n, E0803, "its graph gives no `%s`", shown(im, name));
      else
        diag_error(im->diags, E0803, SPAN_NONE,
                   "%s: the output `%s` is given by no node", im->path,
                   shown(im, name));
    } else {
      if (!n) text = as_type(im, text, &im->out->outputs[i].type);
      strbuf_addf(&b, "%s%s", i > from ? ", " : "", text);
    }
  }
  const char *text =
      fine ? arena_strndup(im->arena, strbuf_text(&b), b.len) : NULL;
  strbuf_done(&b);
  return text;
}

/* --- The model ------------------------------------------------------------ */

static bool is_initializer(const Onnx__GraphProto *g, const char *name) {
  for (size_t i = 0; i < g->n_initializer; i++)
    if (g->initializer[i]->name && !strcmp(g->initializer[i]->name, name))
      return true;
  return false;
}

/* Up to IR version 3 an initializer is an input as well, which nobody gives. */
static bool declare_inputs(Import *im, const Onnx__GraphProto *g) {
  OnnxModel *out = im->out;
  out->inputs = ARENA_ARRAY(im->arena, OnnxPort, g->n_input + 1);
  if (!out->inputs) return false;
  for (size_t i = 0; i < g->n_input; i++) {
    const Onnx__ValueInfoProto *v = g->input[i];
    const char *name = v->name ? v->name : "";
    if (is_initializer(g, name)) continue;
    OnnxPort *port = &out->inputs[out->input_count];
    if (!type_text(im, name, v->type, true, &port->type)) return false;
    const char *text = bind_local(im, name);
    set_type(im, text, &port->type);
    port->name = text + 1;
    out->input_count++;
  }
  return true;
}

static bool declare_outputs(Import *im, const Onnx__GraphProto *g) {
  OnnxModel *out = im->out;
  out->outputs = ARENA_ARRAY(im->arena, OnnxPort, g->n_output + 1);
  if (!out->outputs) return false;
  for (size_t i = 0; i < g->n_output; i++) {
    const Onnx__ValueInfoProto *v = g->output[i];
    OnnxPort *port = &out->outputs[out->output_count++];
    port->name = v->name ? v->name : "";
    if (!type_text(im, port->name, v->type, false, &port->type)) return false;
  }
  return true;
}

static void write_program(Import *im, const char *results) {
  const Onnx__ModelProto *m = im->model;
  OnnxModel *out = im->out;
  StrBuf *t = &out->text;
  const char *slash = strrchr(im->path, '/');
  strbuf_addf(t, "// %s", shown(im, slash ? slash + 1 : im->path));
  if (m->graph->name && *m->graph->name)
    strbuf_addf(t, ": %s", shown(im, m->graph->name));
  strbuf_addf(t, ", operator set %lld", (long long)version_of(im, NULL));
  if (m->producer_name && *m->producer_name)
    strbuf_addf(t, ", by %s", shown(im, m->producer_name));
  strbuf_add(t, "\n");
  strbuf_add_len(t, strbuf_text(&im->items), im->items.len);
  strbuf_add(t, "\ndef @main");
  for (size_t i = 0; i < im->dim_list.len; i++)
    strbuf_addf(t, "%s%s: Dim", i ? ", " : "[", im->dim_list.data[i]->text);
  strbuf_add(t, im->dim_list.len ? "](" : "(");
  for (int i = 0; i < out->input_count; i++)
    strbuf_addf(t, "%s%%%s: %s", i ? ", " : "", out->inputs[i].name,
                out->inputs[i].type.text);
  strbuf_add(t, out->output_count == 1 ? ") -> " : ") -> (");
  for (int i = 0; i < out->output_count; i++)
    strbuf_addf(t, "%s%s", i ? ", " : "", out->outputs[i].type.text);
  strbuf_add(t, out->output_count == 1 ? " {\n" : ") {\n");
  strbuf_add_len(t, strbuf_text(&im->body), im->body.len);
  strbuf_addf(t, out->output_count == 1 ? "  %s\n}\n" : "  (%s)\n}\n", results);
}

static bool import_model(Import *im) {
  const Onnx__GraphProto *g = im->model->graph;
  if (!g || !im->model->has_ir_version) {
    diag_error(im->diags, E0502, SPAN_NONE,
               "%s is no valid ONNX file: it holds no %s", im->path,
               g ? "version" : "graph");
    return false;
  }
  const Name *main = name_of(im->names, "main");
  ptrmap_put(&im->taken, main, (void *)(uintptr_t)1);
  im->indent = 1;
  if (!declare_inputs(im, g) || !emit_graph(im, g) || !declare_outputs(im, g))
    return false;
  const char *results = graph_results(im, NULL, g, 0, g->n_output);
  if (results) write_program(im, results);
  return results && !mem_exhausted(im->mem);
}

OnnxModel *onnx_model_read(const char *path, Heap *heap, NameTable *names,
                           Diags *diags) {
  Mem *mem = heap->mem;
  OnnxModel *out = mem_alloc_zeroed(mem, sizeof *out);
  if (!out) return NULL;
  out->mem = mem;
  arena_init(&out->arena, mem);
  strbuf_init(&out->text, mem);
  out->weights = tensor_file_new(heap);
  Onnx__ModelProto *model =
      out->weights ? (Onnx__ModelProto *)onnx_message_read(
                         mem, path, &onnx__model_proto__descriptor, diags)
                   : NULL;
  Import im = {.out = out,
               .mem = mem,
               .arena = &out->arena,
               .diags = diags,
               .names = names,
               .heap = heap,
               .path = path,
               .model = model};
  strbuf_init(&im.items, mem);
  strbuf_init(&im.body, mem);
  ptrmap_init(&im.values, mem);
  ptrmap_init(&im.types, mem);
  ptrmap_init(&im.taken, mem);
  ptrmap_init(&im.dims, mem);
  VEC_INIT(&im.dim_list, mem);
  VEC_INIT(&im.shadowed, mem);
  bool fine = model && import_model(&im);
  strbuf_done(&im.items);
  strbuf_done(&im.body);
  ptrmap_done(&im.values);
  ptrmap_done(&im.types);
  ptrmap_done(&im.taken);
  ptrmap_done(&im.dims);
  VEC_DONE(&im.dim_list);
  VEC_DONE(&im.shadowed);
  if (model) onnx_message_free(mem, &model->base);
  if (fine) return out;
  onnx_model_free(out);
  return NULL;
}

void onnx_model_free(OnnxModel *m) {
  if (!m) return;
  tensor_file_free(m->weights);
  strbuf_done(&m->text);
  arena_done(&m->arena);
  mem_free(m->mem, m, sizeof *m);
}

/* --- Operators of a model ----------------------------------------------- */

/* The reader has bounded how deep graphs nest. */
static void visit_ops(const Onnx__GraphProto *g, NameTable *names, PtrMap *seen,
                      void (*visit)(void *data, const char *name), void *data) {
  for (size_t i = 0; g && i < g->n_node; i++) {
    const Onnx__NodeProto *n = g->node[i];
    const Name *name = name_of(names, n->op_type ? n->op_type : "");
    if (!ptrmap_has(seen, name)) visit(data, name->text);
    ptrmap_put(seen, name, (void *)name);
    for (size_t k = 0; k < n->n_attribute; k++)
      visit_ops(n->attribute[k]->g, names, seen, visit, data);
  }
}

void onnx_each_op(const char *path, Mem *mem, Diags *diags,
                  void (*visit)(void *data, const char *name), void *data) {
  Onnx__ModelProto *m = (Onnx__ModelProto *)onnx_message_read(
      mem, path, &onnx__model_proto__descriptor, diags);
  if (!m) return;
  NameTable names;
  PtrMap seen;
  names_init(&names, mem);
  ptrmap_init(&seen, mem);
  visit_ops(m->graph, &names, &seen, visit, data);
  ptrmap_done(&seen);
  names_done(&names);
  onnx_message_free(mem, &m->base);
}
