/* A rule at given arguments.
 *
 *   rule @r[s: Shape, d: DType](%x: Tensor[s, d]) { transpose(%x, axes=$p) }
 * ... s = (2, 3), d = float32, $p = [1, 0]
 *   -------------------------------------------------------------------------
 *   fn (%x: Tensor[(2, 3), float32]) { transpose(%x, axes=[1, 0]) }
 *
 * Arguments are numbers, ranks and dtypes, put into the text as it was parsed,
 * so that what the checker says of a side shows the rule. */
#include "rules/instance.h"

#include "ir/walk.h"

/* --- Types ---------------------------------------------------------------- */

static const TypeExpr *number_type(Arena *a, Dim dim, Span span) {
  TypeExpr *t = ARENA_NEW(a, TypeExpr);
  DimExpr *d = ARENA_NEW(a, DimExpr);
  const DimExpr **dims = ARENA_ARRAY(a, const DimExpr *, 1);
  bool number = dim_is_number(dim);
  *d = (DimExpr){.kind = number ? DX_NUMBER : DX_ANY,
                 .span = span,
                 .number = number ? dim_value(dim) : 0};
  dims[0] = d;
  *t = (TypeExpr){.kind = TX_DIM, .span = span, .dim_count = 1, .dims = dims};
  return t;
}

static const TypeExpr *tensor_type(Arena *a, DType dtype, Span span) {
  TypeExpr *t = ARENA_NEW(a, TypeExpr);
  *t = (TypeExpr){.kind = TX_TENSOR,
                  .span = span,
                  .dtype_span = span,
                  .scalar = true,
                  .dtype = dtype};
  return t;
}

static const TypeExpr *arg_type(const RuleBound *b, int param) {
  const TypeParam *p = &b->rule->fn->type_params[param];
  const RuleArg *arg = &b->args[param];
  if (p->kind == KIND_DIM) return number_type(b->arena, arg->dim, p->span);
  if (p->kind == KIND_TYPE) return tensor_type(b->arena, DT_FLOAT32, p->span);
  if (p->kind != KIND_SHAPE) return tensor_type(b->arena, arg->dtype, p->span);
  TypeExpr *t = ARENA_NEW(b->arena, TypeExpr);
  const TypeExpr **dims =
      ARENA_ARRAY(b->arena, const TypeExpr *, (size_t)arg->rank + 1);
  for (int i = 0; dims && i < arg->rank; i++)
    dims[i] = number_type(b->arena, arg->dims[i], p->span);
  *t = (TypeExpr){.kind = TX_TUPLE,
                  .span = p->span,
                  .height = 1,
                  .arg_count = dims ? arg->rank : 0,
                  .args = dims};
  return t;
}

static bool narrow_float(DType t) {
  return dtype_is_float(t) && t != DT_FLOAT64;
}

/* Types nest no deeper than the parser lets them. */
static const TypeExpr *widened(Arena *a, const TypeExpr *t) {
  TypeExpr *made = t ? arena_copy(a, t, sizeof *t) : NULL;
  if (!made) return t;
  if (t->kind == TX_TENSOR && narrow_float(t->dtype)) made->dtype = DT_FLOAT64;
  const TypeExpr **args =
      ARENA_ARRAY(a, const TypeExpr *, (size_t)t->arg_count + 1);
  for (int i = 0; args && i < t->arg_count; i++)
    args[i] = widened(a, t->args[i]);
  made->args = args;
  if (t->result) made->result = widened(a, t->result);
  return made;
}

const TypeExpr *rule_type(const RuleBound *b, int var) {
  const Fn *fn = b->rule->fn;
  int n = fn->type_param_count;
  const TypeExpr **args =
      ARENA_ARRAY(b->arena, const TypeExpr *, (size_t)n + 1);
  if (!args) return NULL;
  for (int i = 0; i < n; i++) args[i] = arg_type(b, i);
  const TypeExpr *t =
      type_expr_put(b->p->mem, b->arena, fn->params[var]->annotation, n,
                    fn->type_params, args);
  return b->wide ? widened(b->arena, t) : t;
}

/* --- Sides ---------------------------------------------------------------- */

/* A named dimension as a value: an int32, as in any program. */
static const Expr *put_dim(const RuleBound *b, const Expr *e) {
  const AttrExpr *x = rule_eval(b, e);
  if (!x || x->kind != AX_INT) return NULL;
  Value bits = {.bits = (uint32_t)(int32_t)x->integer};
  struct Tensor *t = program_scalar(b->p, DT_INT32, bits);
  return t ? expr_const(b->arena, e->span, t) : NULL;
}

/* A literal, as float64. */
static const Expr *wide_literal(const RuleBound *b, const Expr *e) {
  const Tensor *was = e->constant;
  if (was->rank > 0 || !narrow_float((DType)was->dtype)) return e;
  Value bits = bits_from_f64(DT_FLOAT64, tensor_f64_at(was, 0));
  struct Tensor *t = program_scalar(b->p, DT_FLOAT64, bits);
  return t ? expr_const(b->arena, e->span, t) : e;
}

/* "float64" for the name of another dtype of floats. */
static const AttrExpr *wide_attr(const RuleBound *b, const AttrExpr *x) {
  DType t =
      x->kind == AX_STRING ? dtype_find(x->text, (size_t)x->count) : DTYPE_NONE;
  return t != DTYPE_NONE && narrow_float(t)
             ? attr_expr_text(b->arena, "float64")
             : x;
}

static bool put_attrs(const RuleBound *b, const Expr *was, Expr *made) {
  size_t n = (size_t)was->call.attr_count;
  Attr *attrs = arena_copy(b->arena, was->call.attrs, n * sizeof *attrs);
  if (!attrs) return false;
  made->call.attrs = attrs;
  for (size_t i = 0; i < n; i++) {
    if (!(attrs[i].value = rule_attr(b, was->call.attrs[i].value)))
      return false;
    if (b->wide) attrs[i].value = wide_attr(b, attrs[i].value);
  }
  return true;
}

const Expr *rule_side(const RuleBound *b, const Expr *side) {
  const Fn *rule = b->rule->fn;
  ExprMap m;
  bool ok = true;
  expr_map_start(&m, b->p->mem, b->arena, side);
  while (ok && expr_map_next(&m)) {
    const Expr *e = m.walk.at;
    if (m.walk.event == WALK_ENTER && m.walk.role == ROLE_ATTR) {
      expr_map_put(&m, e); /* put_attrs evaluates the whole */
      continue;
    }
    if (m.walk.event == WALK_ENTER && m.walk.role != ROLE_CALLEE &&
        e->kind == EX_IDENT && rule_type_param(b->rule, e->name) >= 0) {
      const Expr *number = put_dim(b, e);
      if (number) expr_map_put(&m, number);
      ok = number != NULL;
    }
    if (m.walk.event == WALK_ENTER && rule_is_number(e)) {
      const Expr *number = rule_literal(b, e);
      if (number) expr_map_put(&m, number);
      ok = number != NULL;
      continue;
    }
    if (b->wide && m.walk.event == WALK_ENTER && e->kind == EX_CONST)
      expr_map_put(&m, wide_literal(b, e));
    if (m.walk.event == WALK_LEAVE && e->kind == EX_CALL &&
        e->call.attr_count > 0)
      ok = put_attrs(b, e, expr_map_own(&m));
  }
  const Expr *body = expr_map_end(&m);
  Fn *fn = ARENA_NEW(b->arena, Fn);
  Var **params = ARENA_ARRAY(b->arena, Var *, (size_t)rule->param_count + 1);
  if (!ok || !body || !params) return NULL;
  for (int i = 0; i < rule->param_count; i++)
    params[i] = var_new(b->arena, rule->params[i]->name, rule->params[i]->span,
                        rule_type(b, i));
  *fn = (Fn){.body = body, .params = params, .param_count = rule->param_count};
  Expr *e = expr_new(b->arena, EX_FN, side->span);
  e->fn = fn;
  return e;
}

/* --- Text ----------------------------------------------------------------- */

/* Lists nest as deep as they are written. */
static void print_value(StrBuf *out, const AttrExpr *x) {
  switch (x->kind) {
    case AX_INT: strbuf_addf(out, "%lld", (long long)x->integer); break;
    case AX_FLOAT: strbuf_addf(out, "%.9g", x->real); break;
    case AX_BOOL: strbuf_add(out, x->integer ? "True" : "False"); break;
    case AX_STRING: strbuf_addf(out, "\"%.*s\"", x->count, x->text); break;
    case AX_LIST:
      strbuf_add(out, "[");
      for (int i = 0; i < x->count; i++) {
        strbuf_add(out, i ? ", " : "");
        print_value(out, x->items[i]);
      }
      strbuf_add(out, "]");
      break;
    default: strbuf_add(out, "None"); break;
  }
}

void rule_print_args(const RuleBound *b, StrBuf *out) {
  const Fn *fn = b->rule->fn;
  const char *before = "";
  for (int i = 0; i < fn->type_param_count; i++) {
    const RuleArg *arg = &b->args[i];
    ParamKind kind = fn->type_params[i].kind;
    if (kind == KIND_TYPE) continue;
    strbuf_addf(out, "%s%s = ", before, fn->type_params[i].name->text);
    before = ", ";
    if (kind == KIND_DIM) dim_print(NULL, out, arg->dim);
    else if (kind == KIND_SHAPE) dims_print(NULL, out, arg->rank, arg->dims);
    else strbuf_add(out, dtype_name(arg->dtype));
  }
  for (int i = 0; i < b->rule->attr_count; i++) {
    if (!b->attrs[i]) continue;
    strbuf_addf(out, "%s%s = ", before, b->rule->attrs[i].name->text);
    print_value(out, b->attrs[i]);
    before = ", ";
  }
}
