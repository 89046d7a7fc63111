/* The values of conditions, and the functions on them (functions.h). */
#include "rules/functions.h"

#include <math.h>
#include <string.h>

typedef const AttrExpr Val;

/* --- Values --------------------------------------------------------------- */

static Val *val_new(Arena *a, AttrExpr made) {
  AttrExpr *x = ARENA_NEW(a, AttrExpr);
  *x = made;
  return x;
}

Val *attr_expr_int(Arena *a, int64_t value) {
  DType dtype = dtype_holds_int(DT_INT32, value) ? DT_INT32 : DT_INT64;
  return val_new(a,
                 (AttrExpr){.kind = AX_INT, .integer = value, .dtype = dtype});
}

Val *attr_expr_dim(Arena *a, Dim dim) {
  return dim_is_number(dim)
             ? attr_expr_int(a, dim_value(dim))
             : val_new(a, (AttrExpr){.kind = AX_EXPR, .integer = dim.word});
}

Val *attr_expr_none(Arena *a) {
  return val_new(a, (AttrExpr){.kind = AX_NONE});
}

Val *attr_expr_bool(Arena *a, bool value) {
  return val_new(a, (AttrExpr){.kind = AX_BOOL, .integer = value});
}

Val *attr_expr_real(Arena *a, double value) {
  bool narrow = (double)(float)value == value || isnan(value);
  DType dtype = narrow ? DT_FLOAT32 : DT_FLOAT64;
  return val_new(a,
                 (AttrExpr){.kind = AX_FLOAT, .real = value, .dtype = dtype});
}

Val *attr_expr_text(Arena *a, const char *text) {
  int count = (int)strlen(text);
  return val_new(a,
                 (AttrExpr){.kind = AX_STRING, .text = text, .count = count});
}

AttrExpr *attr_expr_list(Arena *a, int count, Val ***items) {
  AttrExpr *x = ARENA_NEW(a, AttrExpr);
  *items = ARENA_ARRAY(a, Val *, (size_t)count + 1);
  *x =
      (AttrExpr){.kind = AX_LIST, .items = *items, .count = *items ? count : 0};
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

static Truth same(Val *x, Val *y);

/* One item that differs makes lists differ, whatever the others are. */
static Truth same_items(Val *x, Val *y) {
  if (x->count != y->count) return NO;
  Truth all = YES;
  for (int i = 0; i < x->count; i++) {
    Truth one = same(x->items[i], y->items[i]);
    if (one == NO) return NO;
    if (one == MAYBE) all = MAYBE;
  }
  return all;
}

/* Where a dimension is no number, the answer is YES for the same dimension and
 * else MAYBE.  Lists nest as deep as they are written. */
static Truth same(Val *x, Val *y) {
  bool form = x->kind == AX_EXPR;
  if (form != (y->kind == AX_EXPR)) return MAYBE;
  if (form)
    return !x->expr && !y->expr && x->integer == y->integer &&
                   !dim_is_any((Dim){x->integer})
               ? YES
               : MAYBE;
  if (x->kind == AX_INT && y->kind == AX_INT)
    return x->integer == y->integer ? YES : NO;
  if (is_number(x) && is_number(y))
    return same_real(number(x), number(y)) ? YES : NO;
  if (x->kind != y->kind) return NO;
  switch (x->kind) {
    case AX_BOOL: return x->integer == y->integer ? YES : NO;
    case AX_NONE: return YES;
    case AX_STRING:
      return x->count == y->count && !memcmp(x->text, y->text, (size_t)x->count)
                 ? YES
                 : NO;
    case AX_LIST: return same_items(x, y);
    default: return NO;
  }
}

bool attr_expr_same(Val *x, Val *y) { return same(x, y) == YES; }

/* --- Functions ------------------------------------------------------------ */

static bool ints(Val *x, Val *y) {
  return x->kind == AX_INT && y->kind == AX_INT;
}

/* Integers give an integer, where that is one of 64 bits; other numbers a
 * real. */
#define ARITHMETIC(NAME, SIGN, OVERFLOWS)                       \
  static Val *f_##NAME(Arena *a, Val *const *x) {               \
    int64_t n;                                                  \
    if (!is_number(x[0]) || !is_number(x[1])) return NULL;      \
    if (!ints(x[0], x[1]))                                      \
      return attr_expr_real(a, number(x[0]) SIGN number(x[1])); \
    bool fits = !OVERFLOWS(x[0]->integer, x[1]->integer, &n);   \
    return fits ? attr_expr_int(a, n) : NULL;                   \
  }

ARITHMETIC(add, +, __builtin_add_overflow)
ARITHMETIC(subtract, -, __builtin_sub_overflow)
ARITHMETIC(multiply, *, __builtin_mul_overflow)

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
  Truth t = same(x[0], x[1]);
  return t == MAYBE ? NULL : attr_expr_bool(a, t == YES);
}

static Val *f_not_equal(Arena *a, Val *const *x) {
  Truth t = same(x[0], x[1]);
  return t == MAYBE ? NULL : attr_expr_bool(a, t == NO);
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
  bool surely = true;
  for (int i = 0; i < x[0]->count; i++) {
    Truth t = same(x[0]->items[i], x[1]);
    if (t == YES) return attr_expr_bool(a, true);
    surely &= t == NO;
  }
  return surely ? attr_expr_bool(a, false) : NULL;
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

/* The dtype that a text names; DTYPE_NONE: it names none. */
static DType dtype_named(Val *x) {
  return x->kind == AX_STRING ? dtype_find(x->text, (size_t)x->count)
                              : DTYPE_NONE;
}

/* Is every value of the first dtype one of the second's, so that no conversion
 * rounds, wraps or saturates?  A float of p bits of fraction holds the integers
 * up to 2^p. */
static Val *f_holds(Arena *a, Val *const *x) {
  DType t = dtype_named(x[0]), u = dtype_named(x[1]);
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
  DType t = dtype_named(x[0]);
  return t == DTYPE_NONE ? NULL : attr_expr_bool(a, dtype_is_float(t));
}

static Val *f_is_int(Arena *a, Val *const *x) {
  DType t = dtype_named(x[0]);
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
  DType t = dtype_named(x[1]);
  if (!is_number(x[0]) || t == DTYPE_NONE || t == DT_BOOL) return NULL;
  double n = number(x[0]);
  if (dtype_is_float(t))
    return attr_expr_bool(
        a, isfinite(n) && bits_to_f64(t, bits_from_f64(t, n)) == n);
  return attr_expr_bool(
      a, x[0]->kind == AX_INT && dtype_holds_int(t, x[0]->integer));
}

#define N VALUE_NUMBER
#define B VALUE_BOOL
#define T VALUE_TEXT
#define L VALUE_LIST
#define ANY VALUE_ANY
static const RuleFunction functions[] = {
    {"add", 2, {N, N}, N, .run = f_add},
    {"subtract", 2, {N, N}, N, .run = f_subtract},
    {"multiply", 2, {N, N}, N, .run = f_multiply},
    {"divide", 2, {N, N}, N, .run = f_divide},
    {"mod", 2, {N, N}, N, .run = f_mod},
    {"negative", 1, {N}, N, .run = f_negative},
    {"logical_not", 1, {B}, B, .run = f_not},
    {"equal", 2, {ANY, ANY}, B, .compares = true, .run = f_equal},
    {"not_equal", 2, {ANY, ANY}, B, .compares = true, .run = f_not_equal},
    {"less", 2, {N, N}, B, .run = f_less},
    {"less_equal", 2, {N, N}, B, .run = f_less_equal},
    {"greater", 2, {N, N}, B, .run = f_greater},
    {"greater_equal", 2, {N, N}, B, .run = f_greater_equal},
    {"max", 2, {N, N}, N, .run = f_max},
    {"min", 2, {N, N}, N, .run = f_min},
    {"length", 1, {L}, N, .run = f_length},
    {"contains", 2, {L, ANY}, B, .run = f_contains},
    {"reverse", 1, {L}, L, .run = f_reverse},
    {"item", 2, {L, N}, ANY, .run = f_item},
    {"identity", 1, {L}, L, .run = f_identity},
    {"compose", 2, {L, L}, L, .run = f_compose},
    {"inverse", 1, {L}, L, .run = f_inverse},
    {"join", 2, {L, L}, L, .run = f_join},
    {"product", 1, {L}, N, .run = f_product},
    {"axis", 2, {N, N}, N, .run = f_axis},
    {"holds", 2, {T, T}, B, .run = f_holds},
    {"is_float", 1, {T}, B, .run = f_is_float},
    {"is_int", 1, {T}, B, .run = f_is_int},
    {"is_power_of_two", 1, {N}, B, .run = f_is_power_of_two},
    {"exact", 2, {N, T}, B, .run = f_exact},

    /* Facts of variables of the rule. */
    {"broadcasts", 2, .gives = B, .fact = RULE_BROADCASTS},
    {"rank", 1, .gives = N, .fact = RULE_RANK},
    {"shape", 1, .gives = L, .fact = RULE_SHAPE},
    {"dtype", 1, .gives = T, .fact = RULE_DTYPE},
    {"is_constant", 1, .gives = B, .fact = RULE_CONSTANT},
    {"value", 1, .gives = N | B, .fact = RULE_VALUE},
    {"uses", 1, .gives = N, .fact = RULE_USES},
    {"pure", 1, .gives = B, .fact = RULE_PURE},
    {"static", 1, .gives = B, .fact = RULE_STATIC},
};
#undef N
#undef B
#undef T
#undef L
#undef ANY
enum { FUNCTION_COUNT = sizeof functions / sizeof *functions };

const RuleFunction *rule_function(const char *name, int count) {
  for (int i = 0; i < FUNCTION_COUNT; i++)
    if (functions[i].count == count && !strcmp(functions[i].name, name))
      return &functions[i];
  return NULL;
}

RuleFact rule_fact(const Expr *e) {
  if (e->kind != EX_CALL || e->call.callee->kind != EX_IDENT)
    return RULE_NO_FACT;
  const RuleFunction *f = rule_function(e->call.callee->name->text, e->count);
  return f ? f->fact : RULE_NO_FACT;
}

const char *rule_function_near(const char *name) {
  Suggestion near = suggestion_for(name);
  for (int i = 0; i < FUNCTION_COUNT; i++)
    suggestion_offer(&near, functions[i].name);
  return near.best;
}
