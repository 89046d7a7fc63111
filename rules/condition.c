/* Evaluates conditions and computed attributes (condition.h). */
#include "rules/condition.h"

#include <math.h>
#include <string.h>

typedef const AttrExpr Val;

static Val *of_dims(Arena *a, int rank, const Dim *dims) {
  Val **items;
  AttrExpr *list = attr_expr_list(a, rank, &items);
  for (int i = 0; i < list->count; i++) items[i] = attr_expr_dim(a, dims[i]);
  return list;
}

static Val *eval_dtype(const RuleBound *b, int var) {
  Dim dims[RANK_MAX];
  DType dtype = DTYPE_NONE;
  b->shape(b, var, &dtype, dims);
  return dtype == DTYPE_NONE ? NULL
                             : attr_expr_text(b->arena, dtype_name(dtype));
}

static Val *eval_rank(const RuleBound *b, int var) {
  Dim dims[RANK_MAX];
  DType dtype;
  int rank = b->shape(b, var, &dtype, dims);
  return rank < 0 ? NULL : attr_expr_int(b->arena, rank);
}

static Val *eval_shape(const RuleBound *b, int var) {
  Dim dims[RANK_MAX];
  DType dtype;
  int rank = b->shape(b, var, &dtype, dims);
  return rank < 0 ? NULL : of_dims(b->arena, rank, dims);
}

/* broadcasts(%c, %x): does an element-wise operator on both have the shape of
 * %x, whatever the dimensions turn out to be? */
static Val *eval_broadcasts(const RuleBound *b, int small, int large) {
  Dim c[RANK_MAX], x[RANK_MAX];
  DType dtype;
  int rank = b->shape(b, small, &dtype, c), of = b->shape(b, large, &dtype, x);
  bool fits = rank == 0 || (rank > 0 && rank <= of);
  for (int i = 0; fits && i < rank; i++) {
    Dim to = x[of - rank + i];
    fits = dim_is(c[i], 1) || (dim_same(c[i], to) && !dim_is_any(to));
  }
  return rank < 0 ? NULL : attr_expr_bool(b->arena, fits);
}

static Val *eval_fact(const RuleBound *b, RuleFact fact, const Expr *call) {
  int var = rule_var(b->rule, call->args[0]), of;
  if (var < 0) return NULL;
  switch (fact) {
    case RULE_NO_FACT: break;
    case RULE_RANK: return eval_rank(b, var);
    case RULE_SHAPE: return eval_shape(b, var);
    case RULE_DTYPE: return eval_dtype(b, var);
    case RULE_BROADCASTS:
      of = rule_var(b->rule, call->args[1]);
      return of < 0 ? NULL : eval_broadcasts(b, var, of);
    case RULE_CONSTANT:
    case RULE_VALUE:
    case RULE_USES:
    case RULE_PURE:
    case RULE_STATIC: return b->fact(b, fact, var);
  }
  return NULL;
}

static Val *eval_call(const RuleBound *b, const Expr *e) {
  if (e->call.callee->kind != EX_IDENT) return NULL;
  const RuleFunction *f = rule_function(e->call.callee->name->text, e->count);
  if (!f) return NULL;
  if (f->fact) return eval_fact(b, f->fact, e);
  Val *args[RULE_FUNCTION_ARGS_MAX];
  for (int i = 0; i < e->count; i++)
    if (!(args[i] = rule_eval(b, e->args[i]))) return NULL;
  return f->run(b->arena, args);
}

static Val *eval_name(const RuleBound *b, const Expr *e) {
  int attr = rule_attr_var(b->rule, e);
  if (attr >= 0) return b->attrs[attr];
  int param = rule_type_param(b->rule, e->name);
  if (param < 0 || !b->args[param].known) return NULL;
  const RuleArg *arg = &b->args[param];
  switch (b->rule->fn->type_params[param].kind) {
    case KIND_TYPE: return NULL;
    case KIND_DIM: return attr_expr_dim(b->arena, arg->dim);
    case KIND_SHAPE:
      if (arg->rank < 0) return NULL;
      return of_dims(b->arena, arg->rank, arg->dims);
    default: return attr_expr_text(b->arena, dtype_name(arg->dtype));
  }
}

static Val *eval_const(const RuleBound *b, const Tensor *t) {
  if (t->rank > 0) return NULL;
  if (t->dtype == DT_BOOL)
    return attr_expr_bool(b->arena, tensor_i64_at(t, 0) != 0);
  return dtype_is_float(t->dtype)
             ? attr_expr_real(b->arena, tensor_f64_at(t, 0))
             : attr_expr_int(b->arena, tensor_i64_at(t, 0));
}

/* Bounded by RULE_NODES_MAX. */
Val *rule_eval(const RuleBound *b, const Expr *e) {
  e = rule_bare(e);
  switch (e->kind) {
    case EX_CONST: return eval_const(b, e->constant);
    case EX_IDENT:
      return strcmp(e->name->text, "None") ? eval_name(b, e)
                                           : attr_expr_none(b->arena);
    case EX_CALL: return eval_call(b, e);
    case EX_STRING: {
      const char *text = arena_strndup(b->arena, e->text.bytes, e->text.len);
      return text ? attr_expr_text(b->arena, text) : NULL;
    }
    case EX_BRACKET: {
      Val **items;
      AttrExpr *list = attr_expr_list(b->arena, e->count, &items);
      for (int i = 0; i < list->count; i++)
        if (!(items[i] = rule_eval(b, e->args[i]))) return NULL;
      return list;
    }
    case EX_IF: {
      Val *way = rule_eval(b, e->args[0]);
      if (!way || way->kind != AX_BOOL) return NULL;
      return rule_eval(b, e->args[way->integer ? 1 : 2]);
    }
    default: return NULL;
  }
}

/* The items of s... stand in the place of it. */
static Val *list_with(const RuleBound *b, const AttrExpr *x) {
  int count = 0, n = 0;
  Val **made = ARENA_ARRAY(b->arena, Val *, (size_t)x->count + 1), **items;
  for (int i = 0; made && i < x->count; i++) {
    if (!(made[i] = rule_attr(b, x->items[i]))) return NULL;
    bool splat =
        x->items[i]->kind == AX_EXPR && x->items[i]->expr->sugar == SUGAR_SPLAT;
    count += splat && made[i]->kind == AX_LIST ? made[i]->count : 1;
  }
  AttrExpr *list = attr_expr_list(b->arena, count, &items);
  for (int i = 0; made && list->count && i < x->count; i++) {
    bool splat = x->items[i]->kind == AX_EXPR &&
                 x->items[i]->expr->sugar == SUGAR_SPLAT &&
                 made[i]->kind == AX_LIST;
    if (!splat) items[n++] = made[i];
    for (int k = 0; splat && k < made[i]->count; k++)
      items[n++] = made[i]->items[k];
  }
  return list;
}

/* An attribute holds numbers alone of dimensions.  Lists nest as deep as they
 * are written. */
static bool is_known(Val *x) {
  for (int i = 0; x->kind == AX_LIST && i < x->count; i++)
    if (!is_known(x->items[i])) return false;
  return x->kind != AX_EXPR;
}

Val *rule_attr(const RuleBound *b, const AttrExpr *x) {
  Val *value = x->kind == AX_LIST   ? list_with(b, x)
               : x->kind == AX_EXPR ? rule_eval(b, x->expr)
                                    : x;
  return value && is_known(value) ? value : NULL;
}

/* An integer wraps, a float is rounded. */
Expr *rule_literal(const RuleBound *b, const Expr *e) {
  Val *x = rule_eval(b, e->args[0]), *of = x ? rule_eval(b, e->args[1]) : NULL;
  if (!of || of->kind != AX_STRING) return NULL;
  DType t = dtype_find(of->text, (size_t)of->count);
  if (t == DTYPE_NONE || (x->kind == AX_BOOL) != (t == DT_BOOL)) return NULL;
  if (b->wide && dtype_is_float(t)) t = DT_FLOAT64;
  Value bits;
  bool number = x->kind == AX_INT || x->kind == AX_FLOAT;
  if (dtype_is_float(t) && number) {
    double exact = x->kind == AX_INT ? (double)x->integer : x->real;
    bits = bits_from_f64(t, exact);
    double rounded = bits_to_f64(t, bits);
    if (!isfinite(rounded) || (rounded == 0 && exact != 0)) return NULL;
  } else if (x->kind == AX_INT || x->kind == AX_BOOL) {
    bits = bits_from_i64(t, x->integer);
  } else return NULL;
  struct Tensor *made = program_scalar(b->p, t, bits);
  return made ? expr_const(b->arena, e->span, made) : NULL;
}

bool rule_holds(const RuleBound *b) {
  if (!b->rule->when) return true;
  Val *x = rule_eval(b, b->rule->when);
  return x && x->kind == AX_BOOL && x->integer;
}
