/* What the values of a model are called in the program, and messages that name
 * them.  A value is given once, above its uses, so a graph in a circle is one
 * with a name that is not defined yet. */
#include <ctype.h>
#include <string.h>

#include "base/utf8.h"
#include "onnx/import.h"

/* --- Messages ------------------------------------------------------------- */

/* Names in a file may hold anything, and be long. */
const char *shown(Import *im, const char *text) {
  enum { SHOWN = 80 };
  size_t len = strnlen(text, SHOWN + 1);
  StrBuf out;
  strbuf_init(&out, im->mem);
  strbuf_add_visible(&out, text, len > SHOWN ? utf8_begin(text, SHOWN) : len);
  const char *copy = arena_strndup(im->arena, strbuf_text(&out), out.len);
  strbuf_done(&out);
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
 * with a word after them?  What is read of the name ends at `end`. */
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

/* The name with what cannot be part of one replaced, and a number after it
 * where it is taken. */
const Name *new_name(Import *im, const char *wanted) {
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
    bool dot =
        *p == '.' && i && kept && p[-1] != '.' && begins_part(p, wanted + most);
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
    name = name_of(im->names, arena_printf(im->arena, "%s_%ju", strbuf_text(&b),
                                           (uintmax_t)++last));
  ptrmap_put(&im->taken, base, (void *)last);
  ptrmap_put(&im->taken, name, (void *)(uintptr_t)1);
  strbuf_done(&b);
  return name;
}

void bind_text(Import *im, const char *name, const char *text) {
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

/* --- What is read --------------------------------------------------------- */

static void note_name(Import *im, const char *name) {
  const Name *n = name_of(im->names, name ? name : "");
  ptrmap_put(&im->read, n, (void *)n);
}

static void note_graph(Import *im, const Onnx__GraphProto *g);

/* Gradient names values by attributes. */
static void note_node(Import *im, const Onnx__NodeProto *n) {
  for (size_t i = 0; i < n->n_input; i++) note_name(im, n->input[i]);
  for (size_t i = 0; i < n->n_attribute; i++) {
    const Onnx__AttributeProto *a = n->attribute[i];
    note_graph(im, a->g);
    if (n->op_type && strcmp(n->op_type, "Gradient")) continue;
    if (a->has_s)
      note_name(im, arena_strndup(im->arena, (char *)a->s.data, a->s.len));
    for (size_t k = 0; k < a->n_strings; k++)
      note_name(im, arena_strndup(im->arena, (char *)a->strings[k].data,
                                  a->strings[k].len));
  }
}

/* The reader has bounded how deep graphs nest. */
static void note_graph(Import *im, const Onnx__GraphProto *g) {
  for (size_t i = 0; g && i < g->n_node; i++) note_node(im, g->node[i]);
  for (size_t i = 0; g && i < g->n_output; i++)
    note_name(im, g->output[i]->name);
}

/* One set for all graphs: a name that another graph reads counts, too. */
void note_read(Import *im, const Onnx__ModelProto *m) {
  note_graph(im, m->graph);
  for (size_t i = 0; i < m->n_functions; i++) {
    const Onnx__FunctionProto *f = m->functions[i];
    for (size_t k = 0; k < f->n_node; k++) note_node(im, f->node[k]);
    for (size_t k = 0; k < f->n_output; k++) note_name(im, f->output[k]);
  }
}

bool is_read(Import *im, const char *name) {
  return ptrmap_has(&im->read, name_of(im->names, name));
}

bool output_is_read(Import *im, const Onnx__NodeProto *n, size_t i) {
  return i < n->n_output && *n->output[i] && is_read(im, n->output[i]);
}

/* --- What is no tensor ---------------------------------------------------- */

const OnnxType *type_of(Import *im, const char *text) {
  const OnnxType *type = ptrmap_get(&im->types, text);
  return type && type->kind != ONNX_TENSOR ? type : NULL;
}

const char *format_of(Import *im, const char *text) {
  const OnnxType *type = text ? ptrmap_get(&im->types, text) : NULL;
  return type && type->kind == ONNX_TENSOR ? type->format : NULL;
}

const char *dtype_of(Import *im, const char *text) {
  const OnnxType *type = text ? ptrmap_get(&im->types, text) : NULL;
  return type && type->kind == ONNX_TENSOR && !type->format ? type->dtype
                                                            : NULL;
}

bool is_string(Import *im, const char *text) {
  const char *format = format_of(im, text);
  return format && !strcmp(format, "STRING");
}

void pass_on_loose(Import *im, const Onnx__NodeProto *n) {
  bool loose = false;
  for (size_t i = 0; i < n->n_input && !loose; i++) {
    const char *text = value_text(im, n->input[i]);
    loose = text && (type_of(im, text) || ptrmap_has(&im->loose, text));
  }
  for (size_t i = 0; loose && i < n->n_output; i++) {
    const char *text = value_text(im, n->output[i]);
    if (text) ptrmap_put(&im->loose, text, im);
  }
}

const char *as_condition(Import *im, const char *text) {
  bool loose = ptrmap_has(&im->loose, text);
  return arena_printf(im->arena, loose ? "@onnx_truth(%s)" : "@onnx_scalar(%s)",
                      text);
}

void set_format(Import *im, const char *text, const char *format) {
  OnnxType *type = text && format ? ARENA_NEW(im->arena, OnnxType) : NULL;
  if (!type) return;
  *type = (OnnxType){.kind = ONNX_TENSOR, .format = format};
  ptrmap_put(&im->types, text, type);
}

const OnnxType *onnx_sequence_type(void) {
  static const OnnxType tensor = {.kind = ONNX_TENSOR};
  static const OnnxType sequence = {.kind = ONNX_SEQUENCE, .element = &tensor};
  return &sequence;
}

void set_type(Import *im, const char *text, const OnnxType *type) {
  if (text && type) ptrmap_put(&im->types, text, (void *)type);
}

void set_output_type(Import *im, const Onnx__NodeProto *n, size_t i,
                     const OnnxType *type) {
  if (i < n->n_output && *n->output[i])
    set_type(im, value_text(im, n->output[i]), type);
}

void set_output_format(Import *im, const Onnx__NodeProto *n,
                       const char *format) {
  if (n->n_output && *n->output[0])
    set_format(im, value_text(im, n->output[0]), format);
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
