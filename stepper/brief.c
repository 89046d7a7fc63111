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

#include "tensor/facts.h"

enum { DEPTH_MOST = 8, PARTS_MOST = 16, WIDTH = 64 };

/* --- Tensors ------------------------------------------------------------ */

/* The elements if they fit into a line of that width, otherwise the type. */
static void add_tensor(StrBuf *out, const Tensor *t, size_t width) {
  if (t->rank == 0)
    scalar_print_literal(out, (DType)t->dtype, tensor_bits_at(t, 0));
  else if (!tensor_print_line(out, t, (int)width)) tensor_print_type(out, t);
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

/* grad(@f); what else a form was given is left out. */
static void add_form(Brief *b, const StepObj *v) {
  const OpInfo *op = op_info(v->expr->call.callee->op);
  if (op->special == SPECIAL_VJP) {
    strbuf_add(b->out, "<fn>");
    return;
  }
  strbuf_addf(b->out, "%s(", op->name);
  b->depth++;
  if (b->depth > DEPTH_MOST) strbuf_add(b->out, "...");
  else add(b, v->fields[0]);
  b->depth--;
  strbuf_add(b->out, v->count > 1 ? ", ...)" : ")");
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
    case V_TENSOR:
      if (v->abstract)
        tensor_print_type(b->out, v->tensor); /* its shape only */
      else add_tensor(b->out, v->tensor, room);
      break;
    case V_PROMISE: strbuf_add(b->out, "(waits)"); break;
    case V_TUPLE: add_fields(b, v, v->count == 1 ? ",)" : ")"); break;
    case V_DATA:
      strbuf_add(b->out, v->ctor->name->text);
      if (v->count) add_fields(b, v, ")");
      break;
    case V_CELL: strbuf_addf(b->out, "cell#%u", v->serial); break;
    case V_FORM: add_form(b, v); break;
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

/* Of a tensor that is not shown whole the facts follow. */
static void typed_tensor(StrBuf *out, const Tensor *t) {
  if (t->rank == 0) {
    add_tensor(out, t, WIDTH);
    strbuf_addf(out, " (%s)", dtype_name((DType)t->dtype));
    return;
  }
  tensor_print_type(out, t);
  size_t len = out->len;
  strbuf_add_char(out, ' ');
  if (!tensor_print_line(out, t, WIDTH)) brief_cut(out, len);
  if (out->len > len && !strstr(out->data + len, "...")) return;
  strbuf_add(out, " (");
  tensor_print_facts(out, t);
  strbuf_add_char(out, ')');
}

/* What a value's type is while the program runs, as far as the value tells:
 * inside a polymorphic function the checked type is List[A].  NULL: it does not
 * tell, as Nil does not. */
static const Type *type_of(Stepper *s, const StepObj *v, int depth);

/* Finds types for the parameters of a data type from one of its values.
 *
 *   Cons(1, Nil) of type List[A], field `head: A`  gives  A = int32
 *
 * The search goes into the data type's own values, for the first may not tell
 * (Cons(Nil, ...)), but no deeper than `depth`. */
static void learn(Stepper *s, const Adt *adt, const Type **args,
                  const Type *declared, const StepObj *v, int depth) {
  for (int i = 0; declared->kind == TY_VAR && i < adt->param_count; i++)
    if (declared->var == adt->params[i] && !args[i])
      args[i] = type_of(s, v, depth);
  bool same = declared->kind == TY_ADT && declared->adt == adt;
  if (!same || v->kind != V_DATA || depth == 0) return;
  for (uint32_t i = 0; i < v->count; i++)
    learn(s, adt, args, v->ctor->fields[i], v->fields[i], depth - 1);
}

/* All parameters must be found, or the type is not told at all. */
static const Type *type_of_data(Stepper *s, const StepObj *v, int depth) {
  const Adt *adt = v->ctor->adt;
  int n = adt->param_count;
  const Type *args[PARTS_MOST] = {NULL};
  if (n > PARTS_MOST) return NULL;
  for (uint32_t i = 0; i < v->count; i++)
    learn(s, adt, args, v->ctor->fields[i], v->fields[i], depth);
  for (int i = 0; i < n; i++)
    if (!args[i]) return NULL;
  return type_adt(s->program->types, adt, n, args);
}

static const Type *type_of_tuple(Stepper *s, const StepObj *v, int depth) {
  const Type *fields[PARTS_MOST];
  if (v->count > PARTS_MOST) return NULL;
  for (uint32_t i = 0; i < v->count; i++)
    if (!(fields[i] = type_of(s, v->fields[i], depth))) return NULL;
  return type_tuple(s->program->types, (int)v->count, fields);
}

/* A closure over type parameters has no one type. */
static const Type *type_of(Stepper *s, const StepObj *v, int depth) {
  Dim dims[RANK_MAX];
  if (depth-- == 0) return NULL;
  switch ((StepObjKind)v->kind) {
    case V_TENSOR:
      dims_of_shape(v->tensor->rank, v->tensor->shape, dims);
      return type_tensor(s->program->types, (DType)v->tensor->dtype,
                         v->tensor->rank, dims);
    case V_TUPLE: return type_of_tuple(s, v, depth);
    case V_DATA: return type_of_data(s, v, depth);
    case V_CLOSURE: return v->expr->type->has_var ? NULL : v->expr->type;
    default: return NULL;
  }
}

const Type *brief_type(Stepper *s, const StepObj *v) {
  return type_of(s, v, DEPTH_MOST);
}

/* A tensor always has its actual type.  Other values have the checked one,
 * unless that has open parameters; () needs none. */
void brief_typed(Stepper *s, StrBuf *out, const StepObj *v, const Type *type) {
  if (v->kind == V_TENSOR) {
    typed_tensor(out, v->tensor);
    return;
  }
  brief_value(s, out, v, WIDTH);
  if (v->kind == V_CLOSURE) type = v->expr->type;
  if (v->kind == V_TUPLE && v->count == 0) return;
  if (type && type->has_var && v->kind != V_CLOSURE)
    type = type_of(s, v, DEPTH_MOST);
  if (!type) return;
  strbuf_add(out, " (");
  type_print(s->program->types, out, type, STEP_TYPE_WIDTH);
  strbuf_add_char(out, ')');
}

/* --- Functions ---------------------------------------------------------- */

/* Several may begin at one place. */
const Global *brief_global(const Stepper *s, const Expr *fn) {
  size_t end = stepper_home_from(s, fn->span.lo + 1);
  for (size_t i = stepper_home_from(s, fn->span.lo); i < end; i++)
    if (s->homes.data[i].global->value == fn) return s->homes.data[i].global;
  return NULL;
}
