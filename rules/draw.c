/* Instances and values by chance (draw.h). */
#include "rules/draw.h"

#include <string.h>

#include "base/random.h"
#include "ir/walk.h"

/* --- Chance --------------------------------------------------------------- */

uint64_t rng_next(Rng *r) { return splitmix64(&r->state); }

int rng_below(Rng *r, int n) { return (int)(rng_next(r) % (uint64_t)n); }

/* --- Shapes and dtypes ---------------------------------------------------- */

/* Small lengths come often, since several must multiply to a tensor that is
 * compared in microseconds. */
static int64_t draw_dim(Rng *r, DrawSize size) {
  static const int all[] = {1, 2, 3, 0, 1, 2, 3, 4, 7, 2, 3, 5, 16, 17, 33};
  static const int small[] = {1, 2, 1, 2, 0, 3};
  return size == DRAW_SMALL ? small[rng_below(r, 6)] : all[rng_below(r, 15)];
}

static int draw_rank(Rng *r, DrawSize size) {
  static const int ranks[] = {1, 2, 0, 1, 2, 3, 2, 3, 4};
  return ranks[rng_below(r, size == DRAW_SMALL ? 5 : 9)];
}

/* A shape that broadcasts with the one before it, most of the time. */
static void draw_shape(Rng *r, DrawSize size, const RuleArg *before,
                       RuleArg *out) {
  int way = before ? rng_below(r, 4) : 3;
  if (way == 3) {
    out->rank = draw_rank(r, size);
    for (int i = 0; i < out->rank; i++)
      out->dims[i] = dim_of(draw_dim(r, size));
    return;
  }
  int drop = way == 0 ? 0 : rng_below(r, before->rank + 1);
  out->rank = before->rank - drop;
  for (int i = 0; i < out->rank; i++) {
    out->dims[i] = before->dims[i + drop];
    if (way == 2 && rng_below(r, 2)) out->dims[i] = dim_of(1);
  }
}

static DType draw_dtype(Rng *r, ParamKind kind) {
  static const DType often[] = {DT_FLOAT32,  DT_INT32,   DT_FLOAT64, DT_INT64,
                                DT_BOOL,     DT_FLOAT16, DT_UINT8,   DT_INT8,
                                DT_BFLOAT16, DT_UINT32,  DT_INT16,   DT_UINT64};
  DType t;
  do t = often[rng_below(r, sizeof often / sizeof *often)];
  while (!kind_info[kind].member(t));
  return t;
}

static void draw_args(Draw *d, Rng *r, DrawSize size) {
  const Fn *fn = d->bound.rule->fn;
  const RuleArg *shape = NULL;
  for (int i = 0; i < fn->type_param_count; i++) {
    RuleArg *arg = &d->bound.args[i];
    ParamKind kind = fn->type_params[i].kind;
    arg->known = true;
    if (kind == KIND_DIM) arg->dim = dim_of(draw_dim(r, size));
    else if (kind == KIND_SHAPE) {
      draw_shape(r, size, shape, arg);
      shape = arg;
    } else if (kind != KIND_TYPE) {
      arg->dtype = draw_dtype(r, kind);
      if (d->bound.wide && dtype_is_float(arg->dtype)) arg->dtype = DT_FLOAT64;
    }
  }
}

/* The value of a dimension whose names have been put in; -1: it has none. */
static int64_t dim_number_of(const RuleBound *b, const DimExpr *d) {
  VEC(int64_t) stack;
  DimExprs postfix;
  int64_t value = -1;
  bool ok = true;
  VEC_INIT(&stack, b->p->mem);
  VEC_INIT(&postfix, b->p->mem);
  ok = dim_expr_postfix(d, &postfix);
  for (size_t i = 0; ok && i < postfix.len; i++) {
    const DimExpr *at = postfix.data[i];
    int64_t y = at->left ? VEC_POP(&stack) : 0,
            x = at->left ? VEC_POP(&stack) : at->number;
    bool over = false;
    switch (at->kind) {
      case DX_NUMBER: break;
      case DX_ADD: over = __builtin_add_overflow(x, y, &x); break;
      case DX_SUB: over = __builtin_sub_overflow(x, y, &x); break;
      case DX_MUL: over = __builtin_mul_overflow(x, y, &x); break;
      case DX_DIV:
        over = y <= 0 || x % y;
        x = over ? 0 : x / y;
        break;
      default: over = true; break;
    }
    ok = !over;
    VEC_PUSH(&stack, x);
  }
  if (ok && stack.len == 1) value = stack.data[0];
  VEC_DONE(&stack);
  VEC_DONE(&postfix);
  return value;
}

enum { ELEMENTS_MAX = 4096 };

/* False: it cannot be, or is too large. */
static bool find_type(const RuleBound *b, int var, VarDraw *out) {
  const TypeExpr *t = rule_type(b, var);
  *out = (VarDraw){.tensor = t && t->kind == TX_TENSOR && !t->dtype_name,
                   .count = 1};
  if (!out->tensor) return true;
  out->dtype = t->dtype;
  out->rank = t->dim_count;
  if (t->dim_count > RANK_MAX) return false;
  for (int i = 0; i < out->rank; i++) {
    bool any = t->dims[i]->kind == DX_ANY;
    out->shape[i] = any ? 2 : dim_number_of(b, t->dims[i]);
    if (out->shape[i] < 0 || out->shape[i] > ELEMENTS_MAX) return false;
    out->count *= out->shape[i];
    if (out->count > ELEMENTS_MAX) return false;
  }
  return true;
}

/* --- Attributes ----------------------------------------------------------- */

static const AttrExpr *list_of(RuleBound *b, int n, const int64_t *numbers) {
  const AttrExpr **items;
  AttrExpr *list = attr_expr_list(b->arena, n, &items);
  for (int i = 0; i < list->count; i++)
    items[i] = attr_expr_int(b->arena, numbers[i]);
  return list;
}

/* Some of the axes in any order; all of them where `all`. */
static const AttrExpr *draw_axes(RuleBound *b, Rng *r, int rank, bool all) {
  int64_t axes[RANK_MAX];
  for (int i = 0; i < rank; i++) axes[i] = i;
  for (int i = rank - 1; i > 0; i--) {
    int k = rng_below(r, i + 1);
    int64_t swap = axes[i];
    axes[i] = axes[k];
    axes[k] = swap;
  }
  int count = all ? rank : rng_below(r, rank + 1);
  for (int i = 0; i < count; i++)
    if (rng_below(r, 6) == 0) axes[i] -= rank;
  return list_of(b, count, axes);
}

static void swap_two(Rng *r, int n, int64_t *dims) {
  int i = rng_below(r, n), k = rng_below(r, n);
  int64_t other = dims[i];
  dims[i] = dims[k];
  dims[k] = other;
}

/* A shape of as many elements as `v` has: axes joined, split or in another
 * order; -1 for what is left, or 0, which copies an axis. */
static const AttrExpr *draw_newshape(RuleBound *b, Rng *r, const VarDraw *v) {
  int64_t dims[RANK_MAX];
  int n = 0;
  for (int i = 0; i < v->rank; i++) {
    int64_t d = v->shape[i];
    bool split = d > 1 && d % 2 == 0 && v->rank < 5 && rng_below(r, 3) == 0;
    if (n > 0 && rng_below(r, 3) == 0) dims[n - 1] *= d;
    else dims[n++] = split ? 2 : d;
    if (split && n > 0 && dims[n - 1] == 2 && n < RANK_MAX) dims[n++] = d / 2;
  }
  if (n > 1 && rng_below(r, 3) == 0) swap_two(r, n, dims);
  if (n > 0 && v->count > 0 && rng_below(r, 4) == 0) dims[rng_below(r, n)] = -1;
  if (n == 0 && rng_below(r, 2)) dims[n++] = 1;
  int copied = n > 0 ? rng_below(r, 3 * n) : n;
  if (copied < n && copied < v->rank && dims[copied] != -1) dims[copied] = 0;
  return list_of(b, n, dims);
}

static int64_t draw_small(Rng *r, int rank) {
  static const int64_t numbers[] = {0, 1, 2, -1, 3, 1, 4, 5};
  return rng_below(r, 4) && rank > 0 ? rng_below(r, 2 * rank) - rank
                                     : numbers[rng_below(r, 8)];
}

static const AttrExpr *draw_ints(RuleBound *b, Rng *r, const AttrSpec *spec,
                                 const VarDraw *v) {
  int64_t numbers[RANK_MAX];
  if (spec->name == ATTR_axes) return draw_axes(b, r, v->rank, true);
  if (spec->name == ATTR_axis) return draw_axes(b, r, v->rank, false);
  if (spec->name == ATTR_newshape) return draw_newshape(b, r, v);
  for (int i = 0; i < v->rank; i++) numbers[i] = draw_small(r, 0);
  return list_of(b, v->rank, numbers);
}

static const AttrExpr *draw_lists(RuleBound *b, Rng *r, int rank) {
  const AttrExpr **items;
  AttrExpr *list = attr_expr_list(b->arena, rank, &items);
  for (int i = 0; i < list->count; i++)
    items[i] = list_of(b, 2, (int64_t[]){rng_below(r, 3), rng_below(r, 3)});
  return list;
}

static double draw_real(Rng *r) {
  static const double numbers[] = {0, 1, -1, 0.5, 2, -0.0, 1e-5, 3, -2.5, 6};
  return numbers[rng_below(r, 10)];
}

static const AttrExpr *draw_word(RuleBound *b, Rng *r, const char *words) {
  int count = 1;
  for (const char *at = words; *at; at++) count += *at == '|';
  for (int skip = rng_below(r, count); skip > 0; skip--)
    words = strchr(words, '|') + 1;
  char *word = arena_strndup(b->arena, words, strcspn(words, "|"));
  return word ? attr_expr_text(b->arena, word) : NULL;
}

static const AttrExpr *draw_attr(RuleBound *b, Rng *r, const AttrSpec *spec,
                                 const VarDraw *v) {
  if (spec->optional && rng_below(r, 4) == 0) {
    AttrExpr *none = ARENA_NEW(b->arena, AttrExpr);
    none->kind = AX_NONE;
    return none;
  }
  switch (spec->type) {
    case AT_INT: return attr_expr_int(b->arena, draw_small(r, v->rank));
    case AT_FLOAT: return attr_expr_real(b->arena, draw_real(r));
    case AT_BOOL: return attr_expr_bool(b->arena, rng_below(r, 2));
    case AT_DTYPE:
      return attr_expr_text(b->arena, dtype_name(draw_dtype(r, KIND_DTYPE)));
    case AT_INT_OR_INTS:
      if (rng_below(r, 2))
        return attr_expr_int(b->arena, draw_small(r, v->rank));
      return draw_ints(b, r, spec, v);
    case AT_INTS: return draw_ints(b, r, spec, v);
    case AT_LISTS: return draw_lists(b, r, v->rank);
    case AT_STRING:
      return spec->words
                 ? draw_word(b, r, spec->words)
                 : attr_expr_text(b->arena, spec->text ? spec->text : "");
    default: return NULL;
  }
}

/* --- Constants ------------------------------------------------------------ */

/* One of the numbers that the condition mentions, by chance; NULL: it mentions
 * none. */
static const Tensor *draw_mentioned(const RuleBound *b, Rng *r) {
  ExprWalk w;
  const Tensor *found = NULL;
  int met = 0;
  if (!b->rule->when) return NULL;
  expr_walk_start(&w, b->p->mem, WALK_ENTER, b->rule->when);
  while (expr_walk_next(&w))
    if (w.at->kind == EX_CONST && w.at->constant->rank == 0 &&
        rng_below(r, ++met) == 0)
      found = w.at->constant;
  expr_walk_end(&w);
  return found;
}

/* One in four is a number of the condition, since value(%c) == 1.5f holds of no
 * other; the rest are numbers that people get wrong. */
static const AttrExpr *draw_constant(RuleBound *b, Rng *r, DType t) {
  const Tensor *mentioned = rng_below(r, 4) ? NULL : draw_mentioned(b, r);
  static const int64_t ints[] = {0, 1, 2, 3, -1, 4, 7};
  static const double reals[] = {0, 1, -0.0, 2, 0.5, -1, 3, 4, 0.25};
  if (t == DT_BOOL) return attr_expr_bool(b->arena, rng_below(r, 2));
  if (dtype_is_float(t) && mentioned)
    return attr_expr_real(b->arena, tensor_f64_at(mentioned, 0));
  if (dtype_is_float(t))
    return attr_expr_real(b->arena, reals[rng_below(r, 9)]);
  int64_t n = mentioned && !dtype_is_float((DType)mentioned->dtype)
                  ? tensor_i64_at(mentioned, 0)
                  : ints[rng_below(r, 7)];
  return attr_expr_int(b->arena, dtype_holds_int(t, n) ? n : 1);
}

/* --- Instances ------------------------------------------------------------ */

static int shape_of(const RuleBound *b, int var, DType *dtype, Dim *dims) {
  const Draw *d = b->data;
  const VarDraw *v = &d->vars[var];
  if (!v->tensor) return -1;
  *dtype = v->dtype;
  for (int i = 0; i < v->rank; i++) dims[i] = dim_of(v->shape[i]);
  return v->rank;
}

/* Of a variable that stands for itself, all that a condition can ask for
 * holds. */
static const AttrExpr *fact_of(const RuleBound *b, RuleFact fact, int var) {
  const Draw *d = b->data;
  switch (fact) {
    case RULE_VALUE: return d->vars[var].constant;
    case RULE_CONSTANT:
      return attr_expr_bool(b->arena, d->vars[var].constant != NULL);
    case RULE_USES: return attr_expr_int(b->arena, 1);
    case RULE_PURE:
    case RULE_STATIC: return attr_expr_bool(b->arena, true);
    case RULE_NO_FACT:
    case RULE_RANK:
    case RULE_SHAPE:
    case RULE_DTYPE:
    case RULE_BROADCASTS: break; /* condition.c finds these itself */
  }
  return NULL;
}

static bool draw(Program *p, Arena *arena, const Rule *rule, Rng *r,
                 DrawSize size, bool wide, Draw *d) {
  const Fn *fn = rule->fn;
  *d = (Draw){.bound = {.p = p,
                        .arena = arena,
                        .rule = rule,
                        .wide = wide,
                        .shape = shape_of,
                        .fact = fact_of,
                        .data = d}};
  RuleBound *b = &d->bound;
  b->args = ARENA_ARRAY(arena, RuleArg, (size_t)fn->type_param_count + 1);
  b->attrs = ARENA_ARRAY(arena, const AttrExpr *, ATTR_VARS_MAX);
  d->vars = ARENA_ARRAY(arena, VarDraw, (size_t)fn->param_count + 1);
  if (!b->args || !b->attrs || !d->vars) return false;
  draw_args(d, r, size);
  const VarDraw *first = NULL;
  for (int i = 0; i < fn->param_count; i++) {
    VarDraw *v = &d->vars[i];
    if (!find_type(b, i, v)) return false;
    d->elements += v->count;
    if (v->tensor && (!first || v->rank > first->rank)) first = v;
    if (v->tensor && rule_is_constant(rule, i))
      v->constant = draw_constant(b, r, v->dtype);
  }
  static const VarDraw none = {.count = 1};
  for (int i = 0; i < rule->attr_count; i++) {
    if (!rule->attrs[i].spec) return false;
    b->attrs[i] = draw_attr(b, r, rule->attrs[i].spec, first ? first : &none);
    if (!b->attrs[i]) return false;
  }
  return rule_holds(b);
}

bool rule_draw(Program *p, Arena *arena, const Rule *rule, Rng *r,
               DrawSize size, Draw *out) {
  return draw(p, arena, rule, r, size, false, out);
}

bool rule_draw_wide(Program *p, Arena *arena, const Rule *rule, Rng *r,
                    DrawSize size, Draw *out) {
  return draw(p, arena, rule, r, size, true, out);
}
