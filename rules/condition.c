/* Evaluates conditions and computed attributes (condition.h). */
#include "rules/condition.h"

#include <math.h>
#include <string.h>

typedef const AttrExpr Val;

/* --- Values --------------------------------------------------------------- */

static AttrExpr *val_new(Arena *a, AttrExprKind kind) {
  AttrExpr *x = ARENA_NEW(a, AttrExpr);
  x->kind = kind;
  return x;
}

Val *attr_expr_int(Arena *a, int64_t value) {
  AttrExpr *x = val_new(a, AX_INT);
  x->integer = value;
  x->dtype = value >= INT32_MIN && value <= INT32_MAX ? DT_INT32 : DT_INT64;
  return x;
}

Val *attr_expr_bool(Arena *a, bool value) {
  AttrExpr *x = val_new(a, AX_BOOL);
  x->integer = value;
  return x;
}

Val *attr_expr_real(Arena *a, double value) {
  AttrExpr *x = val_new(a, AX_FLOAT);
  x->real = value;
  bool narrow = (double)(float)value == value || isnan(value);
  x->dtype = narrow ? DT_FLOAT32 : DT_FLOAT64;
  return x;
}

Val *attr_expr_text(Arena *a, const char *text) {
  AttrExpr *x = val_new(a, AX_STRING);
  x->text = text;
  x->count = (int)strlen(text);
  return x;
}

AttrExpr *attr_expr_list(Arena *a, int count, Val ***items) {
  AttrExpr *x = val_new(a, AX_LIST);
  *items = ARENA_ARRAY(a, Val *, (size_t)count + 1);
  x->items = *items;
  x->count = *items ? count : 0;
  return x;
}

static bool is_number(Val *x) {
  return x->kind == AX_INT || x->kind == AX_FLOAT;
}

static double number(Val *x) {
  return x->kind == AX_INT ? (double)x->integer : x->real;
}

static bool same_real(double a, double b) {
  return (a == b && !signbit(a) == !signbit(b)) || (isnan(a) && isnan(b));
}

/* Lists nest as deep as they are written. */
bool attr_expr_same(Val *x, Val *y) {
  if (x->kind == AX_INT && y->kind == AX_INT) return x->integer == y->integer;
  if (is_number(x) && is_number(y)) return same_real(number(x), number(y));
  if (x->kind != y->kind) return false;
  switch (x->kind) {
    case AX_BOOL: return x->integer == y->integer;
    case AX_NONE: return true;
    case AX_STRING:
      return x->count == y->count &&
             !memcmp(x->text, y->text, (size_t)x->count);
    case AX_LIST:
      for (int i = 0; x->count == y->count && i < x->count; i++)
        if (!attr_expr_same(x->items[i], y->items[i])) return false;
      return x->count == y->count;
    default: return false;
  }
}

static Val *of_dim(Arena *a, Dim d) {
  return dim_is_number(d) ? attr_expr_int(a, dim_value(d)) : NULL;
}

static Val *of_dims(Arena *a, int rank, const Dim *dims) {
  Val **items;
  AttrExpr *list = attr_expr_list(a, rank, &items);
  for (int i = 0; i < list->count; i++)
    if (!(items[i] = of_dim(a, dims[i]))) return NULL;
  return list;
}

/* --- Functions ------------------------------------------------------------ */

/* Of values that are there; NULL: they have no such value. */
typedef Val *Function(Arena *a, Val *const *x);

static bool ints(Val *x, Val *y) {
  return x->kind == AX_INT && y->kind == AX_INT;
}

static Val *f_add(Arena *a, Val *const *x) {
  int64_t n;
  if (!is_number(x[0]) || !is_number(x[1])) return NULL;
  if (!ints(x[0], x[1])) return attr_expr_real(a, number(x[0]) + number(x[1]));
  return __builtin_add_overflow(x[0]->integer, x[1]->integer, &n)
             ? NULL
             : attr_expr_int(a, n);
}

static Val *f_subtract(Arena *a, Val *const *x) {
  int64_t n;
  if (!is_number(x[0]) || !is_number(x[1])) return NULL;
  if (!ints(x[0], x[1])) return attr_expr_real(a, number(x[0]) - number(x[1]));
  return __builtin_sub_overflow(x[0]->integer, x[1]->integer, &n)
             ? NULL
             : attr_expr_int(a, n);
}

static Val *f_multiply(Arena *a, Val *const *x) {
  int64_t n;
  if (!is_number(x[0]) || !is_number(x[1])) return NULL;
  if (!ints(x[0], x[1])) return attr_expr_real(a, number(x[0]) * number(x[1]));
  return __builtin_mul_overflow(x[0]->integer, x[1]->integer, &n)
             ? NULL
             : attr_expr_int(a, n);
}

/* Of integers only where nothing is left over. */
static Val *f_divide(Arena *a, Val *const *x) {
  if (!is_number(x[0]) || !is_number(x[1])) return NULL;
  if (!ints(x[0], x[1])) return attr_expr_real(a, number(x[0]) / number(x[1]));
  int64_t n = x[0]->integer, by = x[1]->integer;
  if (by == 0 || by == -1) return by ? f_multiply(a, x) : NULL;
  return n % by ? NULL : attr_expr_int(a, n / by);
}

static Val *f_mod(Arena *a, Val *const *x) {
  if (!ints(x[0], x[1]) || x[1]->integer <= 0) return NULL;
  int64_t left = x[0]->integer % x[1]->integer;
  return attr_expr_int(a, left < 0 ? left + x[1]->integer : left);
}

static Val *f_negative(Arena *a, Val *const *x) {
  if (x[0]->kind == AX_FLOAT) return attr_expr_real(a, -x[0]->real);
  if (x[0]->kind != AX_INT || x[0]->integer == INT64_MIN) return NULL;
  return attr_expr_int(a, -x[0]->integer);
}

static Val *f_not(Arena *a, Val *const *x) {
  return x[0]->kind == AX_BOOL ? attr_expr_bool(a, !x[0]->integer) : NULL;
}

static Val *f_equal(Arena *a, Val *const *x) {
  return attr_expr_bool(a, attr_expr_same(x[0], x[1]));
}

static Val *f_not_equal(Arena *a, Val *const *x) {
  return attr_expr_bool(a, !attr_expr_same(x[0], x[1]));
}

static Val *ordered(Arena *a, Val *x, Val *y, bool equal) {
  if (!is_number(x) || !is_number(y)) return NULL;
  return attr_expr_bool(a,
                        equal ? number(x) <= number(y) : number(x) < number(y));
}

static Val *f_less(Arena *a, Val *const *x) {
  return ordered(a, x[0], x[1], false);
}
static Val *f_less_equal(Arena *a, Val *const *x) {
  return ordered(a, x[0], x[1], true);
}
static Val *f_greater(Arena *a, Val *const *x) {
  return ordered(a, x[1], x[0], false);
}
static Val *f_greater_equal(Arena *a, Val *const *x) {
  return ordered(a, x[1], x[0], true);
}

static Val *f_max(Arena *a, Val *const *x) {
  (void)a;
  return ints(x[0], x[1]) ? x[x[0]->integer < x[1]->integer] : NULL;
}

static Val *f_min(Arena *a, Val *const *x) {
  (void)a;
  return ints(x[0], x[1]) ? x[x[0]->integer > x[1]->integer] : NULL;
}

static Val *f_length(Arena *a, Val *const *x) {
  return x[0]->kind == AX_LIST ? attr_expr_int(a, x[0]->count) : NULL;
}

static Val *f_contains(Arena *a, Val *const *x) {
  if (x[0]->kind != AX_LIST) return NULL;
  for (int i = 0; i < x[0]->count; i++)
    if (attr_expr_same(x[0]->items[i], x[1])) return attr_expr_bool(a, true);
  return attr_expr_bool(a, false);
}

static Val *f_reverse(Arena *a, Val *const *x) {
  Val **items;
  if (x[0]->kind != AX_LIST) return NULL;
  AttrExpr *list = attr_expr_list(a, x[0]->count, &items);
  for (int i = 0; i < list->count; i++)
    items[i] = x[0]->items[list->count - 1 - i];
  return list;
}

/* Item `i` of a list; negative ones count from the end. */
static Val *item_at(Val *list, Val *i) {
  if (list->kind != AX_LIST || i->kind != AX_INT) return NULL;
  int64_t at = i->integer < 0 ? i->integer + list->count : i->integer;
  return at >= 0 && at < list->count ? list->items[at] : NULL;
}

static Val *f_item(Arena *a, Val *const *x) {
  (void)a;
  return item_at(x[0], x[1]);
}

/* identity(p): the axes in order, as many as p has. */
static Val *f_identity(Arena *a, Val *const *x) {
  Val **items;
  if (x[0]->kind != AX_LIST) return NULL;
  AttrExpr *list = attr_expr_list(a, x[0]->count, &items);
  for (int i = 0; i < list->count; i++) items[i] = attr_expr_int(a, i);
  return list;
}

/* compose(p, q): the axes of what is transposed by p and then by q; negative
 * ones are written from the beginning. */
static Val *f_compose(Arena *a, Val *const *x) {
  Val **items;
  if (x[0]->kind != AX_LIST || x[1]->kind != AX_LIST ||
      x[0]->count != x[1]->count)
    return NULL;
  AttrExpr *list = attr_expr_list(a, x[1]->count, &items);
  for (int i = 0; i < list->count; i++) {
    Val *from = item_at(x[0], x[1]->items[i]);
    if (!from || from->kind != AX_INT) return NULL;
    items[i] = from->integer < 0 ? attr_expr_int(a, from->integer + list->count)
                                 : from;
  }
  return list;
}

/* inverse(p): the axes that undo p. */
static Val *f_inverse(Arena *a, Val *const *x) {
  Val **items;
  if (x[0]->kind != AX_LIST) return NULL;
  AttrExpr *list = attr_expr_list(a, x[0]->count, &items);
  for (int i = 0; i < list->count; i++) {
    Val *axis = x[0]->items[i];
    if (axis->kind != AX_INT) return NULL;
    int64_t at =
        axis->integer < 0 ? axis->integer + list->count : axis->integer;
    if (at < 0 || at >= list->count || items[at]) return NULL;
    items[at] = attr_expr_int(a, i);
  }
  return list;
}

/* join(p, q): the items of both. */
static Val *f_join(Arena *a, Val *const *x) {
  Val **items;
  if (x[0]->kind != AX_LIST || x[1]->kind != AX_LIST) return NULL;
  int n = x[0]->count;
  AttrExpr *list = attr_expr_list(a, n + x[1]->count, &items);
  for (int i = 0; i < list->count; i++)
    items[i] = i < n ? x[0]->items[i] : x[1]->items[i - n];
  return list;
}

static Val *f_product(Arena *a, Val *const *x) {
  int64_t n = 1;
  if (x[0]->kind != AX_LIST) return NULL;
  for (int i = 0; i < x[0]->count; i++)
    if (x[0]->items[i]->kind != AX_INT ||
        __builtin_mul_overflow(n, x[0]->items[i]->integer, &n))
      return NULL;
  return attr_expr_int(a, n);
}

/* Axis `i` of a tensor of rank `n`, from the beginning. */
static Val *f_axis(Arena *a, Val *const *x) {
  if (!ints(x[0], x[1])) return NULL;
  int64_t n = x[1]->integer, at = x[0]->integer;
  at = at < 0 ? at + n : at;
  return at >= 0 && at < n ? attr_expr_int(a, at) : NULL;
}

/* Is every value of the first dtype one of the second's, so that no conversion
 * rounds, wraps or saturates?  A float of p bits of fraction holds the integers
 * up to 2^p. */
static Val *f_holds(Arena *a, Val *const *x) {
  if (x[0]->kind != AX_STRING || x[1]->kind != AX_STRING) return NULL;
  DType t = dtype_find(x[0]->text, (size_t)x[0]->count);
  DType u = dtype_find(x[1]->text, (size_t)x[1]->count);
  if (t == DTYPE_NONE || u == DTYPE_NONE) return NULL;
  if (t == u) return attr_expr_bool(a, true);
  if (u == DT_BOOL) return attr_expr_bool(a, false);
  if (t == DT_BOOL) return attr_expr_bool(a, true);
  if (dtype_is_int(t) && dtype_is_int(u))
    return attr_expr_bool(a, dtype_min_int(u) <= dtype_min_int(t) &&
                                 dtype_max_int(u) >= dtype_max_int(t));
  if (dtype_is_int(t)) {
    uint64_t exact = u == DT_FLOAT64   ? (uint64_t)1 << 53
                     : u == DT_FLOAT32 ? (uint64_t)1 << 24
                                       : 0;
    return attr_expr_bool(a, dtype_max_int(t) <= exact);
  }
  bool half = t == DT_FLOAT16 || t == DT_BFLOAT16;
  return attr_expr_bool(a, (t == DT_FLOAT32 && u == DT_FLOAT64) ||
                               (half && (u == DT_FLOAT32 || u == DT_FLOAT64)));
}

static Val *f_is_float(Arena *a, Val *const *x) {
  if (x[0]->kind != AX_STRING) return NULL;
  DType t = dtype_find(x[0]->text, (size_t)x[0]->count);
  return t == DTYPE_NONE ? NULL : attr_expr_bool(a, dtype_is_float(t));
}

static Val *f_is_int(Arena *a, Val *const *x) {
  if (x[0]->kind != AX_STRING) return NULL;
  DType t = dtype_find(x[0]->text, (size_t)x[0]->count);
  return t == DTYPE_NONE ? NULL : attr_expr_bool(a, dtype_is_int(t));
}

/* Is the number a power of two, or the negative of one? */
static Val *f_is_power_of_two(Arena *a, Val *const *x) {
  int exponent;
  if (!is_number(x[0])) return NULL;
  double n = number(x[0]);
  return attr_expr_bool(a, isfinite(n) && fabs(frexp(n, &exponent)) == 0.5);
}

/* Is the number one of the dtype? */
static Val *f_exact(Arena *a, Val *const *x) {
  if (!is_number(x[0]) || x[1]->kind != AX_STRING) return NULL;
  DType t = dtype_find(x[1]->text, (size_t)x[1]->count);
  if (t == DTYPE_NONE || t == DT_BOOL) return NULL;
  double n = number(x[0]);
  if (dtype_is_float(t))
    return attr_expr_bool(
        a, isfinite(n) && bits_to_f64(t, bits_from_f64(t, n)) == n);
  return attr_expr_bool(
      a,
      x[0]->kind == AX_INT && x[0]->integer >= dtype_min_int(t) &&
          (x[0]->integer < 0 || (uint64_t)x[0]->integer <= dtype_max_int(t)));
}

/* Facts of a parameter have no function: `fact`, or the type, tells them. */
static const struct {
  const char *name;
  int count;
  Function *run;
} functions[] = {
    {"add", 2, f_add},
    {"subtract", 2, f_subtract},
    {"multiply", 2, f_multiply},
    {"divide", 2, f_divide},
    {"mod", 2, f_mod},
    {"negative", 1, f_negative},
    {"logical_not", 1, f_not},
    {"equal", 2, f_equal},
    {"not_equal", 2, f_not_equal},
    {"less", 2, f_less},
    {"less_equal", 2, f_less_equal},
    {"greater", 2, f_greater},
    {"greater_equal", 2, f_greater_equal},
    {"max", 2, f_max},
    {"min", 2, f_min},
    {"length", 1, f_length},
    {"contains", 2, f_contains},
    {"reverse", 1, f_reverse},
    {"item", 2, f_item},
    {"identity", 1, f_identity},
    {"compose", 2, f_compose},
    {"inverse", 1, f_inverse},
    {"join", 2, f_join},
    {"product", 1, f_product},
    {"axis", 2, f_axis},
    {"holds", 2, f_holds},
    {"is_float", 1, f_is_float},
    {"is_int", 1, f_is_int},
    {"is_power_of_two", 1, f_is_power_of_two},
    {"exact", 2, f_exact},
    {"broadcasts", 2, NULL},
    {"rank", 1, NULL},
    {"shape", 1, NULL},
    {"dtype", 1, NULL},
    {"is_constant", 1, NULL},
    {"value", 1, NULL},
    {"uses", 1, NULL},
    {"pure", 1, NULL},
    {"static", 1, NULL},
};
enum { FUNCTION_COUNT = sizeof functions / sizeof *functions, ARGS_MAX = 2 };

static int find_function(const char *name, int count) {
  for (int i = 0; i < FUNCTION_COUNT; i++)
    if (functions[i].count == count && !strcmp(functions[i].name, name))
      return i;
  return -1;
}

bool rule_function(const char *name, int count) {
  return find_function(name, count) >= 0;
}

const char *rule_function_near(const char *name) {
  Suggestion near = suggestion_for(name);
  for (int i = 0; i < FUNCTION_COUNT; i++)
    suggestion_offer(&near, functions[i].name);
  return near.best;
}

/* --- Expressions ---------------------------------------------------------- */

static Val *eval_fact(const RuleBound *b, const char *name, int var) {
  Dim dims[RANK_MAX];
  DType dtype = DTYPE_NONE;
  bool typed =
      !strcmp(name, "rank") || !strcmp(name, "shape") || !strcmp(name, "dtype");
  if (!typed) return b->fact(b, name, var);
  int rank = b->shape(b, var, &dtype, dims);
  if (*name == 'd')
    return dtype == DTYPE_NONE ? NULL
                               : attr_expr_text(b->arena, dtype_name(dtype));
  if (rank < 0) return NULL;
  return *name == 'r' ? attr_expr_int(b->arena, rank)
                      : of_dims(b->arena, rank, dims);
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

static Val *eval_call(const RuleBound *b, const Expr *e) {
  if (e->call.callee->kind != EX_IDENT) return NULL;
  const char *name = e->call.callee->name->text;
  int f = find_function(name, e->count);
  if (f < 0) return NULL;
  int var = functions[f].run ? -1 : rule_var(b->rule, e->args[0]);
  if (!functions[f].run && e->count == 2) {
    int of = rule_var(b->rule, e->args[1]);
    return var < 0 || of < 0 ? NULL : eval_broadcasts(b, var, of);
  }
  if (!functions[f].run) return var < 0 ? NULL : eval_fact(b, name, var);
  Val *args[ARGS_MAX];
  for (int i = 0; i < e->count; i++)
    if (!(args[i] = rule_eval(b, e->args[i]))) return NULL;
  return functions[f].run(b->arena, args);
}

static Val *eval_name(const RuleBound *b, const Expr *e) {
  int attr = rule_attr_var(b->rule, e);
  if (attr >= 0) return b->attrs[attr];
  int param = rule_type_param(b->rule, e->name);
  if (param < 0 || !b->args[param].known) return NULL;
  const RuleArg *arg = &b->args[param];
  switch (b->rule->fn->type_params[param].kind) {
    case KIND_TYPE: return NULL;
    case KIND_DIM: return of_dim(b->arena, arg->dim);
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
                                           : val_new(b->arena, AX_NONE);
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

Val *rule_attr(const RuleBound *b, const AttrExpr *x) {
  if (x->kind == AX_LIST) return list_with(b, x);
  return x->kind == AX_EXPR ? rule_eval(b, x->expr) : x;
}

/* An integer wraps, a float is rounded. */
Expr *rule_literal(const RuleBound *b, const Expr *e) {
  Val *x = rule_eval(b, e->args[0]), *of = x ? rule_eval(b, e->args[1]) : NULL;
  if (!of || of->kind != AX_STRING) return NULL;
  DType t = dtype_find(of->text, (size_t)of->count);
  if (t == DTYPE_NONE || (x->kind == AX_BOOL) != (t == DT_BOOL)) return NULL;
  if (b->wide && dtype_is_float(t)) t = DT_FLOAT64;
  Value bits;
  if (dtype_is_float(t) && is_number(x)) {
    bits = bits_from_f64(t, number(x));
    double rounded = bits_to_f64(t, bits);
    if (!isfinite(rounded) || (rounded == 0 && number(x) != 0)) return NULL;
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
