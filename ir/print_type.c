/* The printer's types, attributes and literals.
 *
 * Types as written (TypeExpr) come back as they were; types that were found
 * (Type) are text of one line (type_print.c).  Types nest no deeper than the
 * parser lets them, so plain recursion will do; sums in dimensions may be long,
 * and are not recursed over.
 *
 * Literals print so that they read back as the same bits, with the suffix that
 * their dtype needs. */
#include <limits.h>
#include "base/utf8.h"
#include "ir/printer.h"

/* --- Dimensions ----------------------------------------------------------- */

/* How dimension operators look, and how tightly they bind. */
static const struct DimOp {
  const char *token;
  int level;
} dim_ops[] = {
    [DX_ADD] = {" + ", 1},
    [DX_SUB] = {" - ", 1},
    [DX_MUL] = {" * ", 2},
    [DX_DIV] = {" / ", 2},
};

/* What is still to be printed of a dimension: an expression inside an operator
 * of this level, or a text. */
typedef struct DimPiece {
  const DimExpr *dim;
  int level;
  const char *text;
} DimPiece;

typedef VEC(DimPiece) DimPieces;

/* The pieces of an operation, the last one first.  Subtraction and division are
 * read from the left, so an operand on the right at the same level is put in
 * parentheses. */
static void push_operation(DimPieces *rest, const DimExpr *d, int level) {
  const struct DimOp *op = &dim_ops[d->kind];
  bool parens = op->level < level;
  if (parens) VEC_PUSH(rest, (DimPiece){.text = ")"});
  VEC_PUSH(rest, (DimPiece){.dim = d->right, .level = op->level + 1});
  VEC_PUSH(rest, (DimPiece){.text = op->token});
  VEC_PUSH(rest, (DimPiece){.dim = d->left, .level = op->level});
  if (parens) VEC_PUSH(rest, (DimPiece){.text = "("});
}

/* Iterative, since a sum may have as many terms as the text has bytes.  Pieces
 * are pushed from the last to the first; the right operand wants one level
 * more, so a - (b - c) keeps its parentheses. */
void dim_expr_print(StrBuf *text, const DimExpr *dim) {
  DimPieces rest;
  VEC_INIT(&rest, text->mem);
  VEC_PUSH(&rest, (DimPiece){.dim = dim});
  while (rest.len > 0) {
    DimPiece piece = VEC_POP(&rest);
    const DimExpr *d = piece.dim;
    if (!d) strbuf_add(text, piece.text);
    else if (d->left) push_operation(&rest, d, piece.level);
    else if (d->kind == DX_NUMBER)
      strbuf_addf(text, "%lld", (long long)d->number);
    else if (d->kind == DX_ANY) strbuf_add_char(text, '?');
    else if (d->kind == DX_NAME) strbuf_add(text, d->name->text);
    else if (d->kind == DX_SPLAT)
      strbuf_addf(text, "%s%s...", d->any ? "?" : "", d->name->text);
    else
      strbuf_addf(text, "meta[%s][%lld]", d->name->text, (long long)d->number);
  }
  VEC_DONE(&rest);
}

static void print_dim(Printer *p, const DimExpr *dim) {
  StrBuf text;
  strbuf_init(&text, p->mem);
  dim_expr_print(&text, dim);
  doc_textf(&p->doc, "%s", strbuf_text(&text));
  strbuf_done(&text);
}

/* --- Types ---------------------------------------------------------------- */

/* A group in a firm group: a long list of types breaks after what stands before
 * it on its line. */
static void print_types(Printer *p, const char *open, int count,
                        const TypeExpr *const *types, const char *close) {
  doc_open_firm(&p->doc);
  print_list_open(p, open);
  for (int i = 0; i < count; i++) {
    print_comma(p, i == 0);
    print_type_expr(p, types[i]);
  }
  print_list_close(p, close, 0);
  doc_close(&p->doc);
}

static void print_tensor_type(Printer *p, const TypeExpr *t) {
  if (t->scalar) {
    doc_text(&p->doc, dtype_name(t->dtype));
    return;
  }
  const char *dtype =
      t->dtype_name ? t->dtype_name->text : dtype_name(t->dtype);
  if (t->whole) {
    const Name *shape = t->dims[0]->name;
    doc_textf(&p->doc, "Tensor[%s, %s]", shape ? shape->text : "?", dtype);
    return;
  }
  doc_text(&p->doc, "Tensor[(");
  for (int i = 0; i < t->dim_count; i++) {
    if (i > 0) doc_text(&p->doc, ", ");
    print_dim(p, t->dims[i]);
  }
  doc_textf(&p->doc, "), %s]", dtype);
}

void print_type_params(Printer *p, int count, const TypeParam *params) {
  if (count == 0) return;
  print_list_open(p, "[");
  for (int i = 0; i < count; i++) {
    print_comma(p, i == 0);
    doc_text(&p->doc, params[i].name->text);
    const char *kind = kind_info[params[i].kind].word;
    if (*kind) doc_textf(&p->doc, ": %s", kind);
  }
  print_list_close(p, "]", 0);
}

static void print_fn_type(Printer *p, const TypeExpr *t) {
  doc_word(&p->doc, "fn");
  print_type_params(p, t->param_count, t->params);
  print_types(p, "(", t->arg_count, t->args, ")");
  doc_word(&p->doc, "->");
  print_type_expr(p, t->result);
}

/* Ref[T] is printed by its name, because a program may define a type Ref. */
static void print_applied_type(Printer *p, const TypeExpr *t) {
  doc_text(&p->doc, t->name->text);
  if (t->brackets) print_types(p, "[", t->arg_count, t->args, "]");
}

void print_type_expr(Printer *p, const TypeExpr *t) {
  bool one; /* a tuple of one field, no shape of one dimension */
  if (p->type_levels == 0) {
    doc_text(&p->doc, "...");
    return;
  }
  p->type_levels--;
  switch (t->kind) {
    case TX_TENSOR: print_tensor_type(p, t); break;
    case TX_TUPLE:
      one = t->arg_count == 1 && t->args[0]->kind != TX_DIM;
      print_types(p, "(", t->arg_count, t->args, one ? ",)" : ")");
      break;
    case TX_FN: print_fn_type(p, t); break;
    case TX_REF:
      if (!t->name) print_types(p, "ref(", t->arg_count, t->args, ")");
      if (t->name) print_applied_type(p, t);
      break;
    case TX_NAME: print_applied_type(p, t); break;
    case TX_HOLE: doc_text(&p->doc, "_"); break;
    case TX_DIM: print_dim(p, t->dims[0]); break;
  }
  p->type_levels++;
}

/* On one line: a type that was found has no layout of its own. */
void print_type(Printer *p, const Type *t) {
  StrBuf text;
  strbuf_init(&text, p->mem);
  type_print(p->program->types, &text, t, TYPE_TEXT_MOST);
  doc_textf(&p->doc, "%s", strbuf_text(&text));
  strbuf_done(&text);
}

/* In a resolved program the type that was found, where its text means that
 * type; else what was written, if anything. */
void print_annotation(Printer *p, const TypeExpr *written, const Type *found) {
  if (p->resolved && found && print_can_say(p, found)) {
    doc_text(&p->doc, ":");
    doc_space(&p->doc);
    print_type(p, found);
  } else if (written) {
    doc_text(&p->doc, ":");
    doc_space(&p->doc);
    print_type_expr(p, written);
  }
}

static void expr_print_within(StrBuf *out, const TypeExpr *t, int levels) {
  Printer p;
  printer_init(&p, out->mem, NULL);
  p.type_levels = levels;
  print_type_expr(&p, t);
  doc_render(&p.doc, 0, out);
  printer_done(&p);
}

void type_expr_print(StrBuf *out, const TypeExpr *t) {
  expr_print_within(out, t, INT_MAX);
}

void type_expr_print_brief(StrBuf *out, const TypeExpr *t, size_t limit) {
  size_t end = out->len + limit;
  expr_print_within(out, t, TYPE_LEVELS_SHOWN);
  if (out->len > end) type_text_elide(out, end);
}

void global_type_print_within(const Program *program, const Global *g,
                              size_t limit, StrBuf *out) {
  if (g->scheme) type_expr_print_brief(out, g->scheme, limit);
  else type_print(program->types, out, g->type, limit);
}

void global_type_print(const Program *program, const Global *g, StrBuf *out) {
  if (g->scheme) type_expr_print_brief(out, g->scheme, TYPE_BRIEF_MOST);
  else type_print_brief(program->types, out, g->type);
}

/* --- Literals ------------------------------------------------------------- */

static void print_scalar(Printer *p, DType dtype, Value bits) {
  StrBuf text;
  strbuf_init(&text, p->mem);
  scalar_print_literal(&text, dtype, bits);
  doc_textf(&p->doc, "%s", strbuf_text(&text));
  strbuf_done(&text);
}

/* A tensor without elements cannot be written as a literal. */
static void print_empty_tensor(Printer *p, const Tensor *t) {
  doc_text(&p->doc, "zeros(shape=[");
  for (int i = 0; i < t->rank; i++)
    doc_textf(&p->doc, "%s%lld", i ? ", " : "", (long long)t->shape[i]);
  doc_textf(&p->doc, "], dtype=\"%s\")", dtype_name(t->dtype));
}

/* The elements below one index on each of the first `axis` axes, of which
 * `*next` is the first.  Rows break together, numbers fill their lines.  C
 * recurses as deep as the tensor has axes. */
static void print_elements(Printer *p, const Tensor *t, int axis,
                           int64_t *next) {
  if (axis == t->rank) {
    print_scalar(p, t->dtype, tensor_bits_at(t, (*next)++));
    return;
  }
  print_list_open(p, "[");
  for (int64_t i = 0; i < t->shape[axis] && !mem_exhausted(p->mem); i++) {
    if (i > 0) doc_text(&p->doc, ",");
    if (i > 0) doc_line(&p->doc, axis + 1 < t->rank ? LINE_SPACE : LINE_FILL);
    print_elements(p, t, axis + 1, next);
  }
  print_list_close(p, "]", 0);
}

void print_constant(Printer *p, const Tensor *t) {
  int64_t next = 0;
  if (tensor_count(t) == 0) print_empty_tensor(p, t);
  else print_elements(p, t, 0, &next);
}

void print_meta(Printer *p, const char *key, int64_t index) {
  doc_textf(&p->doc, "meta[%s][%lld]", key, (long long)index);
}

/* Bytes that are not UTF-8 are printed as \x again. */
void print_string(Printer *p, const char *bytes, size_t len) {
  StrBuf text;
  strbuf_init(&text, p->mem);
  strbuf_add_char(&text, '"');
  for (size_t i = 0; i < len;) {
    size_t valid = utf8_check(bytes + i, len - i);
    strbuf_add_escaped(&text, bytes + i, valid);
    i += valid;
    if (i < len) strbuf_addf(&text, "\\x%02x", (unsigned char)bytes[i++]);
  }
  strbuf_add_char(&text, '"');
  doc_textf(&p->doc, "%s", strbuf_text(&text));
  strbuf_done(&text);
}

/* --- Attributes ----------------------------------------------------------- */

static void print_attr_value(Printer *p, const AttrExpr *x);

/* Mostly lists of numbers, which fill their lines. */
static void print_attr_list(Printer *p, const AttrExpr *x) {
  print_list_open(p, "[");
  for (int i = 0; i < x->count; i++) {
    if (i > 0) doc_text(&p->doc, ",");
    if (i > 0) doc_line(&p->doc, LINE_FILL);
    print_attr_value(p, x->items[i]);
  }
  print_list_close(p, "]", 0);
}

static void print_attr_value(Printer *p, const AttrExpr *x) {
  switch (x->kind) {
    case AX_INT:
      print_scalar(p, x->dtype, bits_from_i64(x->dtype, x->integer));
      break;
    case AX_FLOAT:
      print_scalar(p, x->dtype, bits_from_f64(x->dtype, x->real));
      break;
    case AX_BOOL: doc_text(&p->doc, x->integer ? "True" : "False"); break;
    case AX_STRING: print_string(p, x->text, (size_t)x->count); break;
    case AX_NONE: doc_text(&p->doc, "None"); break;
    case AX_LIST: print_attr_list(p, x); break;
    case AX_META: print_meta(p, x->text, x->integer); break;
    case AX_EXPR: print_expr(p, x->expr); break;
  }
}

void print_attr(Printer *p, const Attr *attr, const char *sign) {
  print_comments(p, attr->span.lo);
  if (attr->name) {
    doc_text(&p->doc, attr->name->text);
    doc_text(&p->doc, sign);
  }
  print_attr_value(p, attr->value);
}
