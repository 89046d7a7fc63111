/* Values in brief: on one line, of bounded depth and length.
 *
 *   3      [1, 2, 3]      Cons(1, Cons(2, ...))      @fact      cell#1
 *
 * and with their types, where the sentence of a step says what a value is:
 *
 *   3 (int32)      Tensor[(2), int32] [1, 2]      Nil (List[int32])
 *
 * The bound is on the text: once it is as wide as asked for, no further part
 * begins, so the cost does not depend on the value.  Recursion is bounded by
 * DEPTH_MOST. */
#include "stepper/inside.h"

#include <string.h>

enum { DEPTH_MOST = 8, ELEMENTS_MOST = 64, WIDTH = 48, TYPE_WIDTH = 100000 };

/* --- Tensors ------------------------------------------------------------ */

/* Adds the elements if they fit on the line; otherwise returns false. */
static bool add_elements(Stepper *s, StrBuf *out, const Tensor *t,
                         size_t width) {
  if (tensor_count(t) > ELEMENTS_MOST) return false;
  StrBuf block;
  strbuf_init(&block, s->mem);
  tensor_print_block(&block, t, (int)width + 1, 0, 0);
  const char *text = strbuf_text(&block);
  bool fits = block.len <= width && !strchr(text, '\n');
  if (fits) strbuf_add(out, text);
  strbuf_done(&block);
  return fits;
}

static void add_tensor(Stepper *s, StrBuf *out, const Tensor *t, size_t width) {
  if (t->rank == 0)
    scalar_print_literal(out, (DType)t->dtype, tensor_bits_at(t, 0));
  else if (!add_elements(s, out, t, width)) tensor_print_type(out, t);
}

/* --- Everything --------------------------------------------------------- */

typedef struct Brief {
  Stepper *s;
  StrBuf *out;
  size_t end; /* the length of text after which no further value begins */
  int depth;
} Brief;

static void add(Brief *b, const StepObj *v);

/* The depth counts before a part begins: what lies deeper is three dots. */
static void add_fields(Brief *b, const StepObj *v, const char *close) {
  strbuf_add_char(b->out, '(');
  b->depth++;
  for (uint32_t i = 0; i < v->count; i++) {
    if (i) strbuf_add(b->out, ", ");
    if (b->depth > DEPTH_MOST || b->out->len >= b->end) {
      strbuf_add(b->out, "...");
      break;
    }
    add(b, v->fields[i]);
  }
  b->depth--;
  strbuf_add(b->out, close);
}

/* Adds the name of a named function. */
static void add_function(Brief *b, const StepObj *v) {
  const Global *g = v->kind == V_CLOSURE ? brief_global(b->s, v->expr) : NULL;
  if (g) strbuf_addf(b->out, "@%s", g->name->text);
  else if (v->kind == V_CTOR) strbuf_add(b->out, v->ctor->name->text);
  else if (v->kind == V_OP) strbuf_add(b->out, op_info(v->expr->op)->name);
  else strbuf_add(b->out, "<fn>");
}

/* Adds a value whose parts are nested no deeper than DEPTH_MOST. */
static void add(Brief *b, const StepObj *v) {
  size_t room = b->end > b->out->len ? b->end - b->out->len : 0;
  switch ((StepObjKind)v->kind) {
    case V_TENSOR: add_tensor(b->s, b->out, v->tensor, room); break;
    case V_TUPLE: add_fields(b, v, v->count == 1 ? ",)" : ")"); break;
    case V_DATA:
      strbuf_add(b->out, v->ctor->name->text);
      if (v->count) add_fields(b, v, ")");
      break;
    case V_CELL: strbuf_addf(b->out, "cell#%u", v->index); break;
    default: add_function(b, v); break;
  }
}

void brief_value(Stepper *s, StrBuf *out, const StepObj *v, int width) {
  Brief b = {.s = s, .out = out, .end = out->len + (size_t)width};
  add(&b, v);
}

void brief_cut(StrBuf *out, size_t len) {
  if (len < out->len) out->data[out->len = len] = '\0';
}

/* --- With types --------------------------------------------------------- */

static void typed_tensor(Stepper *s, StrBuf *out, const Tensor *t) {
  if (t->rank == 0) {
    add_tensor(s, out, t, WIDTH);
    strbuf_addf(out, " (%s)", dtype_name((DType)t->dtype));
    return;
  }
  tensor_print_type(out, t);
  size_t len = out->len;
  strbuf_add_char(out, ' ');
  if (!add_elements(s, out, t, WIDTH)) brief_cut(out, len);
}

/* A tensor always has its actual type.  Other values have the checked one,
 * unless that has open parameters; () needs none. */
void brief_typed(Stepper *s, StrBuf *out, const StepObj *v, const Type *type) {
  if (v->kind == V_TENSOR) {
    typed_tensor(s, out, v->tensor);
    return;
  }
  brief_value(s, out, v, WIDTH);
  if (v->kind == V_CLOSURE) type = v->expr->type;
  if (v->kind == V_TUPLE && v->count == 0) return;
  if (!type) return;
  strbuf_add(out, " (");
  type_print(s->program->types, out, type, TYPE_WIDTH);
  strbuf_add_char(out, ')');
}

/* --- Functions ---------------------------------------------------------- */

/* Binary search by the place of the function's text; several may begin at one
 * place. */
const Global *brief_global(const Stepper *s, const Expr *fn) {
  size_t lo = 0, hi = s->homes.len;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (s->homes.data[mid].span.lo < fn->span.lo) lo = mid + 1;
    else hi = mid;
  }
  for (; lo < s->homes.len && s->homes.data[lo].span.lo == fn->span.lo; lo++) {
    const Global *g = s->homes.data[lo].global;
    if (g->value == fn) return g;
  }
  return NULL;
}
