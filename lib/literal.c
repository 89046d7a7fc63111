/* Values given as text: `3`, `-0.5`, `[[1, 2], [3, 4]]`, `"text"`.
 *
 * The language's own parser reads them, so they are written as in a program,
 * and mistakes have their place in the text.  Unlike in a program, a number
 * without a suffix takes the dtype that the parameter declares: `x=1` is right
 * for a float32, and is rounded once, from its digits (plain_number), not by
 * way of another dtype.
 *
 * Two passes over the parsed literal: the shape, from the first path down; then
 * the elements, which must agree with it. */
#include <stdio.h>
#include <string.h>

#include "lib/handles.h"
#include "parser/literal.h"
#include "parser/parser.h"

typedef struct Reading {
  rly_program *p;
  const char *label, *text;
  /* the dtype asked for; DTYPE_NONE until the first element decides */
  DType dtype;
  int rank;
  int64_t shape[RANK_MAX];
  Tensor *out;
  int64_t next; /* row-major index of the element to write */
} Reading;

static bool refuse(Reading *l, const Expr *e, const char *why) {
  diag_error(l->p->ir->diags, E0504, e ? e->span : SPAN_NONE, "`%s`: %s",
             l->label, why);
  return false;
}

/* The text is no literal; it may be the name of a file. */
static bool refuse_kind(Reading *l, const Expr *e) {
  Diag *d = diag_error(l->p->ir->diags, E0504, e ? e->span : SPAN_NONE,
                       "`%s`: expected a literal", l->label);
  size_t len = strlen(l->text);
  if (len > 4 && !strcmp(l->text + len - 4, ".npy"))
    diag_hint(d, "%s=@%s reads it from the file", l->label, l->text);
  return false;
}

/* --- Shape -------------------------------------------------------------- */

/* [[1, 2], [3, 4]] has the shape (2, 2): the counts down the first elements.
 * An empty row ends the path; what would lie below it does not exist. */
static bool find_shape(Reading *l, const Expr *e) {
  for (l->rank = 0; e->kind == EX_BRACKET; e = e->args[0]) {
    if (l->rank == RANK_MAX) return refuse(l, e, "more than 8 brackets deep");
    l->shape[l->rank++] = e->count;
  }
  if (e->kind != EX_CONST || e->constant->rank) return refuse_kind(l, e);
  if (l->dtype == DTYPE_NONE) l->dtype = e->constant->dtype;
  return true;
}

/* --- Elements ----------------------------------------------------------- */

/* Reads a number without a suffix again, with the suffix of the wanted dtype,
 * so that it is rounded once.  A bool has no number, and a number that is an
 * integer by its dtype may not have a point. */
static bool plain_number(Reading *l, const Expr *e, const char *text,
                         uint32_t len, Value *bits) {
  static const char *const why[] = {
      [LITERAL_NO_SUCH_SUFFIX] = "a number cannot be of the declared dtype",
      [LITERAL_NOT_AN_INTEGER] = "the declared dtype is an integer one",
      [LITERAL_OUT_OF_RANGE] = "the number is out of the dtype's range",
  };
  char number[512];
  int n = snprintf(number, sizeof number, "%.*s%s", (int)len, text,
                   dtype_info[l->dtype].suffix);
  if (n >= (int)sizeof number) return refuse(l, e, "the number is too long");
  Literal read;
  LiteralStatus status = l->dtype == DT_BOOL
                             ? LITERAL_NO_SUCH_SUFFIX
                             : literal_number(number, (uint32_t)n, &read);
  if (status != LITERAL_OK) return refuse(l, e, why[status]);
  *bits = read.bits;
  return true;
}

/* True and False, and numbers with a suffix, have a dtype of their own, which
 * must be the declared one. */
static bool is_plain_number(const char *text, uint32_t len) {
  return len && strchr("+-.0123456789", text[0]) &&
         literal_suffix(text, len) == len;
}

static bool element(Reading *l, const Expr *e) {
  uint32_t len;
  const char *text = sources_text(l->p->ir->sources, e->span, &len);
  Value bits = tensor_bits_at(e->constant, 0);
  if (is_plain_number(text, len)) {
    if (!plain_number(l, e, text, len, &bits)) return false;
  } else if (e->constant->dtype != l->dtype) {
    return refuse(l, e, "the literal's dtype is not the declared one");
  }
  char *at = l->out->data + l->next++ * (int64_t)dtype_size(l->dtype);
  bits_store(l->dtype, at, bits);
  return true;
}

/* The recursion is at most RANK_MAX deep: find_shape has checked the depth on
 * the first path. */
static bool fill(Reading *l, const Expr *e, int depth) {
  if (depth == l->rank)
    return e->kind == EX_CONST && !e->constant->rank ? element(l, e)
                                                     : refuse_kind(l, e);
  if (e->kind != EX_BRACKET || e->count != l->shape[depth])
    return refuse(l, e, "rows of different lengths");
  for (int i = 0; i < e->count; i++)
    if (!fill(l, e->args[i], depth + 1)) return false;
  return true;
}

/* The bytes of the text, in UTF-8. */
static Tensor *string_tensor(Reading *l, const Expr *e) {
  if (l->dtype != DTYPE_NONE && l->dtype != DT_UINT8) {
    refuse(l, e, "a string is a vector of uint8");
    return NULL;
  }
  int64_t n = (int64_t)e->text.len;
  Tensor *t = tensor_new(l->p->ir->heap, DT_UINT8, 1, &n);
  if (!t) mem_raise_exhausted(l->p->ir->mem);
  if (t && n) memcpy(t->data, e->text.bytes, e->text.len);
  return t;
}

static Tensor *literal_tensor(Reading *l, const Expr *e) {
  if (e->kind == EX_STRING) return string_tensor(l, e);
  if (!find_shape(l, e)) return NULL;
  l->out = tensor_new(l->p->ir->heap, l->dtype, l->rank, l->shape);
  if (!l->out) mem_raise_exhausted(l->p->ir->mem);
  if (!l->out) return NULL;
  if (fill(l, e, 0)) return l->out;
  tensor_drop(l->p->ir->heap, l->out);
  return NULL;
}

rly_tensor *rly_program_literal(rly_program *p, const char *dtype,
                                const char *text) {
  DType want = dtype ? dtype_find(dtype, strlen(dtype)) : DTYPE_NONE;
  if (!require(text, "the text is NULL") ||
      !require(!dtype || want != DTYPE_NONE, "there is no such dtype") ||
      !program_enter(p))
    return NULL;
  Tensor *t = literal_read(p, text, text, want);
  rly_tensor *handle = t ? tensor_handle(p->cx, t) : NULL;
  if (t) tensor_drop(p->ir->heap, t);
  if (!handle) program_failed(p, RLY_REFUSED);
  program_leave(p);
  return handle;
}

/* The text becomes a source of the context's, called "argument x", so that
 * messages can show it. */
Tensor *literal_read(rly_program *p, const char *label, const char *text,
                     DType want) {
  const char *path = arena_printf(&p->arena, "argument %s", label);
  SourceFile *source =
      sources_add(p->ir->sources, path, text, strlen(text), false);
  Unit *unit;
  if (!source || parse_unit(p->ir, source, (ParseOptions){0}, &unit))
    return NULL;
  Reading l = {.p = p, .label = label, .text = text, .dtype = want};
  Tensor *t = NULL;
  if (unit->item_count == 1 && unit->items[0].kind == ITEM_EXPR)
    t = literal_tensor(&l, unit->items[0].expr);
  else refuse_kind(&l, NULL);
  program_drop_unit(p->ir, unit);
  return t;
}
