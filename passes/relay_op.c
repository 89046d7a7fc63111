/* Operators in plain Relay, which wants attributes to be literals.
 *
 *   reshape(%x, newshape=[%n, 2])       dyn.reshape(%x, stack((%n, 2), axis=0))
 *   arange(0, %n)                       arange(0, %n, 1, start=0, stop=%n, ...)
 *   negative as a value                 fn (%data) { negative(%data) }
 *
 * Which operators have a dyn. spelling, and which repeat their operands as
 * attributes, their rows say (`dyn`, `relay`).  What has no words in either
 * spelling is refused. */
#include <string.h>

#include "ops/ops.h"
#include "passes/relay_map.h"

/* --- Attributes that are literals ----------------------------------------- */

static void check_string(Relay *r, Span span, const char *text, int count) {
  for (int i = 0; i < count; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c >= ' ' && c != '"' && c != '\\' && c != 0x7F) continue;
    relay_refuse(r, span, "a string that needs escapes");
    return;
  }
}

/* Literals inside of lists are looked at, too.  Metadata and None stay as they
 * are written. */
static void check_attr(Relay *r, const AttrExpr *x) {
  if (x->kind == AX_STRING) check_string(r, x->span, x->text, x->count);
  if (x->kind == AX_EXPR)
    relay_refuse(r, x->span, "an attribute that is an expression");
  for (int i = 0; x->kind == AX_LIST && i < x->count; i++)
    check_attr(r, x->items[i]);
}

void relay_check_attrs(Relay *r, int count, const Attr *attrs) {
  for (int i = 0; i < count; i++) check_attr(r, attrs[i].value);
}

static const Attr *find_attr(const Expr *call, const char *name, int len) {
  for (int i = 0; i < call->call.attr_count; i++) {
    const Name *n = call->call.attrs[i].name;
    if (n && n->len == (uint32_t)len && !memcmp(n->text, name, (size_t)len))
      return &call->call.attrs[i];
  }
  return NULL;
}

/* A word of `dyn` that is no attribute is an operand. */
static const AttrSpec *find_spec(const OpInfo *op, const char *name, int len) {
  for (int i = 0; i < op->attr_count; i++) {
    const char *text = attr_name_text(op->attrs[i].name);
    if (strlen(text) == (size_t)len && !memcmp(text, name, (size_t)len))
      return &op->attrs[i];
  }
  return NULL;
}

/* A list is computed as soon as one of its elements is. */
static bool is_computed(const AttrExpr *x) {
  bool found = x->kind == AX_EXPR;
  for (int i = 0; x->kind == AX_LIST && i < x->count && !found; i++)
    found = is_computed(x->items[i]);
  return found;
}

/* --- The dyn. spelling ---------------------------------------------------- */

/* An attribute's value as an operand. */
static const Expr *as_operand(Relay *r, const AttrExpr *x) {
  if (x->kind == AX_EXPR) return x->expr;
  if (x->kind == AX_INT) return relay_int(r, x->span, x->integer);
  if (x->kind != AX_LIST || x->count == 0) {
    relay_refuse(r, x->span, "this attribute beside one that is computed");
    return expr_new(r->arena, EX_ERROR, x->span);
  }
  const Expr **items = ARENA_ARRAY(r->arena, const Expr *, (size_t)x->count);
  for (int i = 0; items && i < x->count; i++)
    items[i] = as_operand(r, x->items[i]);
  return relay_stack(r, x->span, items ? x->count : 0, items);
}

/* The default of an attribute that is not written, as an operand.  An operand
 * cannot be left out, so the row's default is written. */
static const Expr *default_operand(Relay *r, Span span, const AttrSpec *spec) {
  if (spec->type == AT_INT) return relay_int(r, span, spec->integer);
  const Expr **items = ARENA_ARRAY(r->arena, const Expr *, 4);
  bool list = items && spec->type == AT_INTS && spec->count > 0;
  if (!list) {
    relay_refuse(r, span, "a computed attribute without `%s`",
                 attr_name_text(spec->name));
    return expr_new(r->arena, EX_ERROR, span);
  }
  for (int i = 0; i < spec->count; i++)
    items[i] = relay_int(r, span, spec->ints[i]);
  return relay_stack(r, span, spec->count, items);
}

/* `before` is the operand before it: when strides are left out, they are ones,
 * as many as that operand has elements. */
static const Expr *dyn_operand(Relay *r, const Expr *e, const AttrSpec *spec,
                               const Expr *const *before) {
  const char *name = attr_name_text(spec->name);
  const Attr *attr = find_attr(e, name, (int)strlen(name));
  if (attr) return as_operand(r, attr->value);
  return spec->name == ATTR_strides && before
             ? relay_op(r, e->span, "ones_like", 1, before)
             : default_operand(r, e->span, spec);
}

/* Is the attribute one of the positional arguments of the dyn. spelling? */
static bool in_dyn(const OpInfo *op, const Name *name) {
  for (const char *word = op->dyn; *word;) {
    size_t len = strcspn(word, " ");
    if (name && name->len == len && !memcmp(word, name->text, len)) return true;
    word += len + (word[len] == ' ');
  }
  return false;
}

static void keep_attrs(Relay *r, Expr *made, const Expr *e, const OpInfo *op) {
  Attr *kept = ARENA_ARRAY(r->arena, Attr, (size_t)e->call.attr_count + 1);
  int n = 0;
  for (int i = 0; kept && i < e->call.attr_count; i++) {
    const Attr *attr = &e->call.attrs[i];
    if (in_dyn(op, attr->name)) continue;
    if (attr->name && strcmp(attr->name->text, "axes") == 0)
      relay_refuse(r, attr->span, "`axes` beside computed attributes");
    check_attr(r, attr->value);
    kept[n++] = *attr;
  }
  made->call.attrs = kept;
  made->call.attr_count = n;
}

/* dyn.reshape(%x, %shape): the words of the row's `dyn` in their order.
 * Operands keep their order; a word that names an attribute takes its value
 * from the call, or from the row. */
static const Expr *dyn_call(Relay *r, const Expr *e, const OpInfo *op) {
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, OP_ARGS_MAX);
  int n = 0, used = 0;
  for (const char *word = op->dyn; args && *word;) {
    int len = (int)strcspn(word, " ");
    const AttrSpec *spec = find_spec(op, word, len);
    if (spec) {
      args[n] = dyn_operand(r, e, spec, n > 0 ? &args[n - 1] : NULL);
      n++;
    } else if (used < e->count) {
      args[n++] = e->args[used++];
    }
    word += len + (word[len] == ' ');
  }
  const char *name = arena_printf(r->arena, "dyn.%s", op->name);
  Expr *made = relay_op(r, e->span, name, n, args);
  keep_attrs(r, made, e, op);
  return made;
}

/* --- arange --------------------------------------------------------------- */

static const char *const repeated[] = {"start", "stop", "step"};

/* An `arange` that repeats its operands already, as TVM prints it, is left as
 * it is. */
static bool is_complete(const Expr *e) {
  bool all = e->count == 3;
  for (int i = 0; all && i < 3; i++)
    all = find_attr(e, repeated[i], (int)strlen(repeated[i])) != NULL;
  return all;
}

/* The dtype that is written, or that a literal has. */
static DType arange_dtype(const Expr *e) {
  const Attr *attr = find_attr(e, "dtype", 5);
  if (attr && attr->value->kind == AX_STRING)
    return dtype_find(attr->value->text, (size_t)attr->value->count);
  for (int i = 0; i < e->count; i++)
    if (e->args[i]->kind == EX_CONST) return (DType)e->args[i]->constant->dtype;
  return DTYPE_NONE;
}

static const Expr *number(Relay *r, Span span, DType dtype, int64_t v) {
  Value bits = dtype_is_float(dtype) ? bits_from_f64(dtype, (double)v)
                                     : bits_from_i64(dtype, v);
  struct Tensor *t = program_scalar(r->p, dtype, bits);
  return t ? relay_constant(r, expr_const(r->arena, span, t))
           : expr_new(r->arena, EX_ERROR, span);
}

static AttrExpr as_attr(Relay *r, const Expr *e) {
  AttrExpr x = {.kind = AX_EXPR, .span = e->span, .expr = e};
  if (e->kind == EX_CONST) {
    x.dtype = (DType)e->constant->dtype;
    Value bits = tensor_bits_at(e->constant, 0);
    x.kind = dtype_is_float(x.dtype) ? AX_FLOAT : AX_INT;
    if (x.kind == AX_FLOAT) x.real = bits_to_f64(x.dtype, bits);
    else x.integer = bits_to_i64(x.dtype, bits);
  } else if (e->kind != EX_LOCAL && e->kind != EX_GRAPH) {
    x.expr = relay_parens(r, e);
  }
  return x;
}

/* arange(start, stop, step, start=start, stop=stop, step=step, dtype="..."):
 * TVM's typing reads the attributes, and its kernel the operands. */
static const Expr *arange_call(Relay *r, const Expr *e) {
  DType dtype = arange_dtype(e);
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, 3);
  if (dtype == DTYPE_NONE || !args) {
    relay_refuse(r, e->span, "an `arange` whose dtype is not written");
    return e;
  }
  const Expr *one = number(r, e->span, dtype, 1);
  args[0] = e->count > 1 ? e->args[0] : number(r, e->span, dtype, 0);
  args[1] = e->args[e->count > 1 ? 1 : 0];
  args[2] = e->count > 2 ? e->args[2] : one;
  Expr *made = relay_op(r, e->span, "arange", 3, args);
  for (int i = 0; i < 3; i++)
    relay_with_attr(r, made, repeated[i], as_attr(r, args[i]));
  return relay_with_dtype(r, made, dtype);
}

/* Attributes that repeat the operands are expressions there, too. */
static void repeat_attrs(Relay *r, Expr *made, const Expr *e) {
  size_t count = (size_t)e->call.attr_count;
  Attr *attrs = ARENA_ARRAY(r->arena, Attr, count);
  for (size_t i = 0; attrs && i < count; i++) {
    attrs[i] = e->call.attrs[i];
    if (attrs[i].value->kind != AX_EXPR) continue;
    if (attrs[i].value->expr->kind != EX_CALL) continue;
    AttrExpr *value = ARENA_NEW(r->arena, AttrExpr);
    *value = *attrs[i].value;
    value->expr = relay_parens(r, value->expr);
    attrs[i].value = value;
  }
  made->call.attrs = attrs;
}

/* --- Calls and values ----------------------------------------------------- */

/* TVM cannot infer the result's dtype unless it is written. */
static const Expr *with_shape_dtype(Relay *r, const OpInfo *op, Expr *call) {
  bool lacks = op->relay == RELAY_DTYPE && call->call.attr_count == 0;
  return lacks ? relay_with_dtype(r, call, DT_INT32) : call;
}

static bool has_computed(const Expr *e) {
  for (int i = 0; i < e->call.attr_count; i++)
    if (is_computed(e->call.attrs[i].value)) return true;
  return false;
}

/* The sugar of infix operators stays: Relay has it, too. */
const Expr *relay_op_call(Relay *r, const Expr *e) {
  bool dyn;
  const OpInfo *op = op_info(op_find(e->call.callee->name->text, &dyn));
  bool repeats = op->relay == RELAY_REPEATS;
  if (repeats && !is_complete(e) && e->count > 0) return arange_call(r, e);
  bool computed = has_computed(e);
  if (computed && !dyn && op->dyn) return dyn_call(r, e, op);
  Expr *made = expr_new(r->arena, EX_CALL, e->span);
  *made = *e;
  if (e->sugar != SUGAR_INFIX) made->sugar = SUGAR_NONE;
  if (computed && repeats) repeat_attrs(r, made, e);
  else relay_check_attrs(r, e->call.attr_count, e->call.attrs);
  return with_shape_dtype(r, op, made);
}

/* The names of the parameters are new ones, since the function may stand where
 * a variable of the operand's name is used. */
const Expr *relay_op_value(Relay *r, const Expr *e) {
  bool dyn;
  const OpInfo *op = op_info(op_find(e->name->text, &dyn));
  int count = op_arg_count(op);
  Var **params = ARENA_ARRAY(r->arena, Var *, (size_t)count);
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, (size_t)count);
  Fn *fn = ARENA_NEW(r->arena, Fn);
  if (!params || !args) return e;
  for (int i = 0; i < count; i++) {
    OpArg arg = op_arg(op, i);
    const char *name = arena_strndup(r->arena, arg.name, (size_t)arg.len);
    params[i] = var_new(r->arena, relay_fresh(r, name), e->span, NULL);
    Expr *use = expr_new(r->arena, EX_LOCAL, e->span);
    use->name = params[i]->name;
    args[i] = use;
  }
  Expr *call = relay_op(r, e->span, e->name->text, count, args);
  *fn = (Fn){.params = params,
             .param_count = count,
             .body = with_shape_dtype(r, op, call)};
  Expr *made = expr_new(r->arena, EX_FN, e->span);
  made->fn = fn;
  return made;
}
