/* Calls of operators.
 *
 * What an operator is in ONNX is said in two tables: rows of export/ops.def,
 * and for operators that have none there, onnx/ops.def, which says what an
 * operator of ONNX becomes on import, read backwards.  A row is read backwards
 * only where it says all of the call: an attribute that it does not name must
 * have its default. */
#include <string.h>

#include "export/exporter.h"
#include "export/say.h"

/* --- Attributes of operators ---------------------------------------------- */

void *said_refuse(const Said *s, const char *why) {
  return refuse(s->x, s->e->span, "`%s`: %s", s->op->name, why);
}

static const AttrValue *said_value(const Said *s, AttrName name) {
  return attr_get(s->attrs, name);
}

bool said_set(const Said *s, AttrName name) {
  return said_value(s, name)->state == AV_SET;
}

/* What an operand holds, where the record does not tell it. */
static Val *operand_value(const Said *s, const AttrValue *v) {
  const char *hint = s->x->hint;
  s->x->hint = NULL;
  Val *val = eval(s->x, s->e->args[v->operand]);
  s->x->hint = hint;
  return val;
}

static bool not_known(const Said *s, AttrName name) {
  refuse(s->x, s->e->span,
         "`%s`: attribute `%s` has to be known before the run", s->op->name,
         attr_name_text(name));
  return false;
}

bool said_int(const Said *s, AttrName name, int64_t *out) {
  const AttrValue *v = said_value(s, name);
  if (dim_is_number(v->integer)) {
    *out = dim_value(v->integer);
    return true;
  }
  Val *val = v->operand >= 0 ? operand_value(s, v) : NULL;
  if (!val || !val->constant || tensor_count(val->constant) != 1)
    return not_known(s, name);
  *out = tensor_i64_at(val->constant, 0);
  return true;
}

double said_real(const Said *s, AttrName name) {
  return said_value(s, name)->real;
}

/* The record has all of the list as numbers. */
static bool ints_known(const AttrValue *v) {
  if (v->count == COUNT_SCALAR) return dim_is_number(v->integer);
  for (int i = 0; i < v->count; i++)
    if (!dim_is_number(v->ints[i])) return false;
  return v->count >= 0;
}

int said_ints(const Said *s, AttrName name, int most, int64_t *out) {
  const AttrValue *v = said_value(s, name);
  if (ints_known(v)) {
    bool scalar = v->count == COUNT_SCALAR;
    int count = scalar ? 1 : v->count;
    for (int i = 0; i < count && i < most; i++)
      out[i] = dim_value(scalar ? v->integer : v->ints[i]);
    if (count <= most) return count;
  }
  Val *val = v->operand >= 0 ? operand_value(s, v) : NULL;
  int64_t count = val && val->constant ? tensor_count(val->constant) : most + 1;
  for (int64_t i = 0; i < count && count <= most; i++)
    out[i] = tensor_i64_at(val->constant, i);
  if (count <= most) return (int)count;
  not_known(s, name);
  return -1;
}

Val *said_vector(const Said *s, AttrName name) {
  Export *x = s->x;
  const AttrValue *v = said_value(s, name);
  if (ints_known(v)) {
    int64_t ints[RANK_MAX * 2];
    int count = said_ints(s, name, RANK_MAX * 2, ints);
    return count < 0 ? NULL : val_ints(x, count, ints);
  }
  if (v->operand < 0) {
    not_known(s, name);
    return NULL;
  }
  const char *hint = x->hint;
  Val *val = operand_value(s, v);
  x->hint = NULL;
  if (val) val = cast_to(x, val, DT_INT64);
  int rank;
  if (val && !val_rank(x, val, s->e->span, &rank)) return NULL;
  if (val && rank == 0) {
    int64_t one = 1;
    Val *shape = val_ints(x, 1, &one);
    val = node_of(x, "Reshape", type_of_rank(x, DT_INT64, 1), 2,
                  (Val *[]){val, shape});
  }
  x->hint = hint;
  return val;
}

int said_rank(const Said *s, int i) {
  int rank;
  return val_rank(s->x, s->args[i], s->e->span, &rank) ? rank : -1;
}

static bool same_value(const AttrSpec *spec, const AttrValue *a,
                       const AttrValue *b) {
  if (a->state != b->state || a->operand >= 0) return false;
  switch (spec->type) {
    case AT_INT:
    case AT_BOOL: return dim_same(a->integer, b->integer);
    case AT_FLOAT: return a->real == b->real;
    case AT_STRING:
      return a->text == b->text ||
             (a->text && b->text && !strcmp(a->text, b->text));
    case AT_DTYPE: return a->dtype == b->dtype;
    case AT_IGNORED: return true;
    case AT_INTS:
    case AT_INT_OR_INTS:
      if (a->count != b->count) return false;
      if (a->count == COUNT_SCALAR) return dim_same(a->integer, b->integer);
      for (int i = 0; i < a->count; i++)
        if (!dim_same(a->ints[i], b->ints[i])) return false;
      return true;
    default: return a->state == AV_NONE;
  }
}

static bool has_default(const Said *s, int i) {
  Attrs *defaults = attrs_new(s->x->arena, s->op);
  if (!defaults) return false;
  attrs_defaults(s->op, defaults);
  return same_value(&s->op->attrs[i], &s->attrs->values[i],
                    &defaults->values[i]);
}

bool said_default(const Said *s, AttrName name) {
  for (int i = 0; i < s->op->attr_count; i++) {
    if (s->op->attrs[i].name != name || has_default(s, i)) continue;
    refuse(s->x, s->e->span, "`%s`: ONNX has nothing for this `%s`",
           s->op->name, attr_name_text(name));
    return false;
  }
  return true;
}

/* --- Nodes of operators --------------------------------------------------- */

Val *outputs_of(Export *x, OnnxNode *n, const Type *type) {
  if (type->kind != TY_TUPLE) return node_out(x, n, type);
  const char *hint = x->hint;
  Val **items = ARENA_ARRAY(x->arena, Val *, (size_t)type->count + 1);
  for (int i = 0; items && i < type->count; i++) {
    x->hint = hint;
    items[i] = node_out(x, n, type->args[i]);
  }
  return items ? val_tuple(x, type, type->count, items) : NULL;
}

Val *said_out(const Said *s, OnnxNode *n) {
  return n ? outputs_of(s->x, n, s->type) : NULL;
}

/* A tuple of tensors is as many inputs. */
static bool add_inputs(Export *x, OnnxNode *n, Val *v, Span at) {
  if (v->kind != VAL_TUPLE) return node_in(x, n, v, at);
  for (int i = 0; i < v->count; i++)
    if (!node_in(x, n, v->items[i], at)) return false;
  return true;
}

/* Constants get their nodes before the one that uses them. */
static bool name_inputs(Export *x, Val *v, Span at) {
  if (v->kind != VAL_TUPLE) return val_name(x, v, at) != NULL;
  for (int i = 0; i < v->count; i++)
    if (!val_name(x, v->items[i], at)) return false;
  return true;
}

OnnxNode *said_node(const Said *s, const char *op) {
  for (int i = 0; i < s->count; i++)
    if (!name_inputs(s->x, s->args[i], s->e->span)) return NULL;
  OnnxNode *n = node_new(s->x, op);
  for (int i = 0; i < s->count; i++)
    if (!add_inputs(s->x, n, s->args[i], s->e->span)) return NULL;
  return n;
}

/* --- An operator by a row of import, read backwards ----------------------- */

static int attr_index(const OpInfo *op, const char *name) {
  for (int i = 0; i < op->attr_count; i++)
    if (!strcmp(attr_name_text(op->attrs[i].name), name)) return i;
  return -1;
}

static bool row_says(const Said *s, const char *attrs, bool *said) {
  const char *at = attrs;
  for (OnnxAttrWord w; onnx_attr_word(s->x->arena, &at, &w);) {
    int i = attr_index(s->op, w.ours);
    if (w.text) return false;
    if (i >= 0) said[i] = true;
  }
  for (int i = 0; i < s->op->attr_count; i++)
    if (!said[i] && !has_default(s, i)) return false;
  return true;
}

/* An attribute of a record to one of a node. */
static bool put_attr(const Said *s, OnnxNode *n, const char *theirs, int i) {
  Export *x = s->x;
  const AttrSpec *spec = &s->op->attrs[i];
  const AttrValue *v = &s->attrs->values[i];
  if (v->state == AV_NONE) return true;
  int64_t ints[ATTR_INTS_MOST];
  switch (spec->type) {
    case AT_INT:
    case AT_BOOL:
      if (!said_int(s, spec->name, ints)) return false;
      onnx_attr_int(x->w, n, theirs, ints[0]);
      return true;
    case AT_INTS:
    case AT_INT_OR_INTS: {
      int count = said_ints(s, spec->name, ATTR_INTS_MOST, ints);
      if (count >= 0) onnx_attr_ints(x->w, n, theirs, count, ints);
      return count >= 0;
    }
    case AT_FLOAT: onnx_attr_float(x->w, n, theirs, v->real); return true;
    case AT_STRING: onnx_attr_text(x->w, n, theirs, v->text); return true;
    case AT_DTYPE:
      onnx_attr_int(x->w, n, theirs, onnx_dtype_number(v->dtype));
      return true;
    default: return not_known(s, spec->name);
  }
}

Val *said_by(const Said *s, const char *onnx, const char *attrs) {
  for (int i = 0; i < s->op->attr_count; i++) {
    bool said = false;
    const char *at = attrs;
    for (OnnxAttrWord w; onnx_attr_word(s->x->arena, &at, &w);)
      said |= !strcmp(w.ours, attr_name_text(s->op->attrs[i].name));
    if (!said && !said_default(s, s->op->attrs[i].name)) return NULL;
  }
  OnnxNode *n = said_node(s, onnx);
  const char *at = attrs;
  for (OnnxAttrWord w; n && onnx_attr_word(s->x->arena, &at, &w);) {
    int i = attr_index(s->op, w.ours);
    if (w.flag != '-' && i >= 0 && !put_attr(s, n, w.theirs, i)) return NULL;
  }
  return said_out(s, n);
}

static int count_words(const char *list) {
  int count = 0;
  for (const char *at = list; *(at += strspn(at, " ")); count++)
    at += strcspn(at, " ");
  return count;
}

/* The row fits the operands: as many as it has words. */
static bool row_fits(const Said *s, const OnnxOp *row) {
  size_t len = strlen(row->inputs);
  bool fold = len && row->inputs[len - 1] == '+';
  int want = fold ? 2 : count_words(row->inputs);
  bool said[ATTRS_MAX] = {false};
  return *row->calls && !row->fold_end && !row->groups && want == s->count &&
         row_says(s, row->attrs, said);
}

static Val *say_backwards(const Said *s, bool *fits) {
  OnnxOpSearch search = {.calls = s->op->name, .opset = s->x->w->opset};
  *fits = false;
  for (const OnnxOp *row; (row = onnx_op_saying(&search));) {
    if (row->domain || !row_fits(s, row)) continue;
    *fits = true;
    return said_by(s, row->name, row->attrs);
  }
  return NULL;
}

/* --- A call of an operator ------------------------------------------------ */

static int first_attr_operand(const Expr *e, const OpInfo *op) {
  int first = e->count;
  const Attrs *attrs = e->call.bound;
  for (int i = 0; attrs && i < op->attr_count; i++) {
    int operand = attrs->values[i].operand;
    if (operand >= 0 && operand < first) first = operand;
  }
  return first;
}

static Val *say(const Said *s) {
  if (mem_exhausted(s->x->mem))
    return NULL; /* the type may be the error type */
  if (s->op->identity || s->op->special == SPECIAL_STOP_GRADIENT)
    return s->args[0];
  const SayRow *row = say_row(op_id(s->op));
  if (row) return row->say ? row->say(s) : said_by(s, row->onnx, row->attrs);
  bool fits;
  Val *v = say_backwards(s, &fits);
  if (fits) return v;
  return refuse(s->x, s->e->span, "ONNX has no operator for this `%s`",
                s->op->name);
}

static Said said_new(Export *x, const Expr *e, int op) {
  Attrs *none = attrs_new(x->arena, op_info(op));
  if (none) attrs_defaults(op_info(op), none);
  return (Said){.x = x,
                .e = e,
                .op = op_info(op),
                .attrs = none,
                .type = type_here(x, e->type)};
}

Val *say_operator(Export *x, int op, int count, Val *const *args,
                  const Expr *at) {
  Said s = said_new(x, at, op);
  s.count = count;
  s.args = args;
  return s.attrs ? say(&s) : NULL;
}

Val *say_call(Export *x, const Expr *e) {
  Said s = said_new(x, e, e->call.callee->op);
  if (!s.attrs) return NULL;
  if (e->call.bound) s.attrs = e->call.bound;
  s.count = first_attr_operand(e, s.op);
  Val **args = ARENA_ARRAY(x->arena, Val *, (size_t)s.count + 1);
  const char *hint = x->hint;
  for (int i = 0; args && i < s.count; i++) {
    x->hint = NULL;
    if (!(args[i] = eval(x, e->args[i]))) return NULL;
  }
  x->hint = hint;
  s.args = args;
  return args ? say(&s) : NULL;
}
