/* SimplifyExpr: calls of operators become simpler ones by laws that hold for
 * every operand.
 *
 *   reshape(reshape(%x, newshape=[8]), newshape=[2, 4])
 *                                        ==>   reshape(%x, newshape=[2, 4])
 *   %x * 1f                              ==>   %x
 *
 * The laws are one table.  A row is a left side, a right side and the condition
 * under which the two have the same bits; laws that hold for real numbers only
 * stand in the same table, graded REAL, and need --fast-math.  Beyond what a
 * row says, a law is applied only where
 *
 *   - the right side has the type of the left one, so that no operand was
 *     broadcast, and no dimension becomes less known;
 *   - the operators of the left side cannot fail on these operands;
 *   - an operand that the right side drops, or evaluates in another order, does
 *     nothing but give its value; one that it repeats is a name.
 *
 * Operands that are names of a `let` are looked through.  Parts are simplified
 * before the whole, and each node is looked at once, so the pass is linear.
 * After TVM's pass of that name (relay/transforms/simplify_expr.cc), which
 * applies laws of real numbers, too. */
#include <math.h>

#include "passes/calls.h"
#include "types/types.h"

/* --- Terms ---------------------------------------------------------------- */

enum { TERM_ARGS = 3, VARS = 3, OWN_MOST = 8 };

typedef enum TermKind {
  TERM_VAR,    /* any operand, the same one wherever it stands */
  TERM_HELD,   /* a variable that is a scalar constant */
  TERM_NUMBER, /* a constant, all of whose elements are this number; 0 is not
                  -0 */
  TERM_CALL,   /* of an operator */
  TERM_VIEW,   /* of any that shows its operand under another shape */
} TermKind;

typedef struct Term {
  TermKind kind;
  int var;
  OpId op;
  double number;
  const struct Term *args[TERM_ARGS];
} Term;

#define VAR(i) (&(const Term){.kind = TERM_VAR, .var = i})
#define HELD(i) (&(const Term){.kind = TERM_HELD, .var = i})
#define X VAR(0)
#define Y VAR(1)
#define C HELD(1)
#define D HELD(2)
#define N(n) (&(const Term){.kind = TERM_NUMBER, .number = n})
#define CALL(name, ...) \
  (&(const Term){.kind = TERM_CALL, .op = OP_##name, .args = {__VA_ARGS__}})
#define VIEW(x) (&(const Term){.kind = TERM_VIEW, .args = {x}})

/* --- Laws ----------------------------------------------------------------- */

typedef struct Simplify {
  Program *p;
  Arena *arena;
  PtrMap effects; /* Expr -> what evaluating it can do */
  PtrMap values;  /* Var of a let -> its value */
} Simplify;

/* What the left side was found to be. */
typedef struct Found {
  const Expr *whole;
  const Expr *inner; /* the first call within it */
  const Expr *vars[VARS];
  int uses[VARS];
  bool through; /* a name was looked through */
} Found;

typedef enum Grade { BITS, REAL } Grade;

enum {
  SIGNED = 1,
  UNSIGNED = 2,
  INTS = SIGNED | UNSIGNED,
  FLOATS = 4,
  BOOLS = 8,
  ANY = INTS | FLOATS | BOOLS
};

/* Builds a right side that a term cannot say; NULL: the law does not hold
 * here. */
typedef const Expr *Make(Simplify *s, const Found *m);

typedef struct Law {
  Grade grade;
  int of; /* dtypes of the first variable */
  const Term *left;
  const Term *right; /* NULL: `make` builds it, */
  Make *make;
  int drops;      /* and the variables that it leaves out, as bits */
  bool is_static; /* the shape of the whole is known */
} Law;

static Make make_reshape, make_zeros, make_ones, make_full, make_broadcast,
    make_collapse, make_cast_like, make_cast, make_transpose, make_inverse,
    make_sum, make_product, make_only, make_even_factor, make_factor, make_zero;

#define LAW(grade_, of_, left_, ...) \
  { .grade = grade_, .of = of_, .left = left_, .right = __VA_ARGS__ }
#define MADE(grade_, of_, left_, ...) \
  { .grade = grade_, .of = of_, .left = left_, .make = __VA_ARGS__ }

static const Law laws[] = {
    /* Adding nothing.  Integers wrap, so x + 0 is x.  Of floats only -0 changes
     * no x: -0 + -0 is -0, while -0 + 0 is 0.  x - 0 keeps -0, too. */
    LAW(BITS, INTS, CALL(ADD, X, N(0)), X),
    LAW(BITS, INTS, CALL(ADD, N(0), X), X),
    LAW(BITS, INTS, CALL(SUBTRACT, X, N(0)), X),
    LAW(BITS, FLOATS, CALL(ADD, X, N(-0.0)), X),
    LAW(BITS, FLOATS, CALL(ADD, N(-0.0), X), X),
    LAW(BITS, FLOATS, CALL(SUBTRACT, X, N(0)), X),
    LAW(REAL, FLOATS, CALL(ADD, X, N(0)), X),
    LAW(REAL, FLOATS, CALL(ADD, N(0), X), X),

    /* One.  x * 1 and x / 1 are exact for every float. */
    LAW(BITS, ANY, CALL(MULTIPLY, X, N(1)), X),
    LAW(BITS, ANY, CALL(MULTIPLY, N(1), X), X),
    LAW(BITS, INTS | FLOATS, CALL(DIVIDE, X, N(1)), X),
    LAW(BITS, INTS, CALL(FLOOR_DIVIDE, X, N(1)), X),
    LAW(BITS, INTS, CALL(TRUNC_DIVIDE, X, N(1)), X),
    LAW(REAL, FLOATS, CALL(POWER, X, N(1)), X),

    /* Nought.  Of floats 0 * x is NaN for an infinity and -0 for -1, and x - x
     * is NaN for an infinity. */
    MADE(BITS, INTS, CALL(MULTIPLY, X, N(0)), make_zero, .drops = 1,
         .is_static = true),
    MADE(BITS, INTS, CALL(MULTIPLY, N(0), X), make_zero, .drops = 1,
         .is_static = true),
    MADE(BITS, INTS, CALL(SUBTRACT, X, X), make_zero, .drops = 1,
         .is_static = true),
    MADE(REAL, FLOATS, CALL(MULTIPLY, X, N(0)), make_zero, .drops = 1,
         .is_static = true),
    MADE(REAL, FLOATS, CALL(MULTIPLY, N(0), X), make_zero, .drops = 1,
         .is_static = true),
    MADE(REAL, FLOATS, CALL(SUBTRACT, X, X), make_zero, .drops = 1,
         .is_static = true),

    /* Signs.  0 - x is no -x of floats: 0 - 0 is 0, -0 - 0 is -0.  Of the least
     * integer -x is x on both sides; -1 of an unsigned dtype is its greatest,
     * which is its own abs. */
    LAW(BITS, INTS, CALL(SUBTRACT, N(0), X), CALL(NEGATIVE, X)),
    LAW(BITS, FLOATS, CALL(SUBTRACT, N(-0.0), X), CALL(NEGATIVE, X)),
    LAW(BITS, INTS, CALL(ADD, X, CALL(NEGATIVE, Y)), CALL(SUBTRACT, X, Y)),
    LAW(BITS, INTS, CALL(SUBTRACT, X, CALL(NEGATIVE, Y)), CALL(ADD, X, Y)),
    LAW(BITS, ANY, CALL(NEGATIVE, CALL(NEGATIVE, X)), X),
    LAW(BITS, SIGNED | FLOATS, CALL(ABS, CALL(NEGATIVE, X)), CALL(ABS, X)),

    /* What is its own inverse, and what done twice is done once. */
    LAW(BITS, BOOLS, CALL(LOGICAL_NOT, CALL(LOGICAL_NOT, X)), X),
    LAW(BITS, INTS | BOOLS, CALL(BITWISE_NOT, CALL(BITWISE_NOT, X)), X),
    LAW(BITS, ANY, CALL(ABS, CALL(ABS, X)), CALL(ABS, X)),
    LAW(BITS, ANY, CALL(CEIL, CALL(CEIL, X)), CALL(CEIL, X)),
    LAW(BITS, ANY, CALL(FLOOR, CALL(FLOOR, X)), CALL(FLOOR, X)),
    LAW(BITS, ANY, CALL(ROUND, CALL(ROUND, X)), CALL(ROUND, X)),
    LAW(BITS, ANY, CALL(TRUNC, CALL(TRUNC, X)), CALL(TRUNC, X)),
    LAW(BITS, ANY, CALL(SIGN, CALL(SIGN, X)), CALL(SIGN, X)),
    LAW(BITS, ANY, CALL(NN_RELU, CALL(NN_RELU, X)), CALL(NN_RELU, X)),
    LAW(BITS, ANY, CALL(MAXIMUM, X, X), X),
    LAW(BITS, ANY, CALL(MINIMUM, X, X), X),
    LAW(BITS, BOOLS, CALL(LOGICAL_AND, X, X), X),
    LAW(BITS, BOOLS, CALL(LOGICAL_OR, X, X), X),
    LAW(BITS, BOOLS, CALL(LOGICAL_AND, X, N(1)), X),
    LAW(BITS, BOOLS, CALL(LOGICAL_AND, N(1), X), X),
    LAW(BITS, BOOLS, CALL(LOGICAL_OR, X, N(0)), X),
    LAW(BITS, BOOLS, CALL(LOGICAL_OR, N(0), X), X),
    LAW(BITS, ANY, CALL(WHERE, Y, X, X), X),
    LAW(BITS, ANY, CALL(COPY, X), X),

    /* The opposite of a comparison.  With NaN both x < y and x >= y are false,
     * but equality has an opposite. */
    LAW(BITS, ANY, CALL(LOGICAL_NOT, CALL(EQUAL, X, Y)), CALL(NOT_EQUAL, X, Y)),
    LAW(BITS, ANY, CALL(LOGICAL_NOT, CALL(NOT_EQUAL, X, Y)), CALL(EQUAL, X, Y)),
    LAW(BITS, INTS, CALL(LOGICAL_NOT, CALL(LESS, X, Y)),
        CALL(GREATER_EQUAL, X, Y)),
    LAW(BITS, INTS, CALL(LOGICAL_NOT, CALL(GREATER, X, Y)),
        CALL(LESS_EQUAL, X, Y)),
    LAW(BITS, INTS, CALL(LOGICAL_NOT, CALL(LESS_EQUAL, X, Y)),
        CALL(GREATER, X, Y)),
    LAW(BITS, INTS, CALL(LOGICAL_NOT, CALL(GREATER_EQUAL, X, Y)),
        CALL(LESS, X, Y)),

    /* Constants together.  Sums and products of integers are those of a ring;
     * of floats each one rounds. */
    MADE(BITS, INTS, CALL(ADD, CALL(ADD, X, C), D), make_sum),
    MADE(BITS, INTS, CALL(MULTIPLY, CALL(MULTIPLY, X, C), D), make_product),
    MADE(REAL, FLOATS, CALL(ADD, CALL(ADD, X, C), D), make_sum),
    MADE(REAL, FLOATS, CALL(MULTIPLY, CALL(MULTIPLY, X, C), D), make_product),

    /* x / c is x * (1 / c) where c is a power of two, since then 1 / c is exact
     * and both round the same number; else nearly. */
    MADE(BITS, FLOATS, CALL(DIVIDE, X, C), make_even_factor),
    MADE(REAL, FLOATS, CALL(DIVIDE, X, C), make_factor),

    /* Functions.  rsqrt is the reciprocal of the rounded root (ops.def), in
     * float32 and float64, where the kernel rounds twice. */
    MADE(BITS, FLOATS, CALL(DIVIDE, N(1), CALL(SQRT, X)), make_inverse),
    LAW(REAL, FLOATS, CALL(DIVIDE, X, CALL(SQRT, Y)),
        CALL(MULTIPLY, X, CALL(RSQRT, Y))),
    LAW(REAL, FLOATS, CALL(POWER, X, N(2)), CALL(MULTIPLY, X, X)),
    LAW(REAL, FLOATS, CALL(POWER, X, N(0.5)), CALL(SQRT, X)),
    LAW(REAL, FLOATS, CALL(MULTIPLY, CALL(SQRT, X), CALL(SQRT, X)), X),
    LAW(REAL, FLOATS, CALL(EXP, CALL(LOG, X)), X),
    LAW(REAL, FLOATS, CALL(LOG, CALL(EXP, X)), X),

    /* Conversions.  By way of a dtype that holds every value of the first, a
     * conversion is the direct one. */
    LAW(BITS, ANY, CALL(CAST, X), X),
    MADE(BITS, ANY, CALL(CAST, CALL(CAST, X)), make_cast),
    MADE(BITS, ANY, CALL(CAST_LIKE, X, Y), make_cast_like, .drops = 2),

    /* Shapes.  The elements in order, under a shape that is known, are the same
     * whatever shapes they had on the way. */
    LAW(BITS, ANY, VIEW(X), X, .is_static = true),
    MADE(BITS, ANY, VIEW(VIEW(X)), make_reshape, .is_static = true),
    MADE(BITS, ANY, CALL(RESHAPE_LIKE, X, Y), make_reshape, .drops = 2,
         .is_static = true),
    LAW(BITS, ANY, CALL(BROADCAST_TO, X), X, .is_static = true),
    MADE(BITS, ANY, CALL(BROADCAST_TO_LIKE, X, Y), make_broadcast, .drops = 2,
         .is_static = true),
    MADE(BITS, ANY, CALL(COLLAPSE_SUM_LIKE, X, Y), make_collapse, .drops = 2,
         .is_static = true),
    MADE(BITS, ANY, CALL(ZEROS_LIKE, X), make_zeros, .drops = 1,
         .is_static = true),
    MADE(BITS, ANY, CALL(ONES_LIKE, X), make_ones, .drops = 1,
         .is_static = true),
    MADE(BITS, ANY, CALL(FULL_LIKE, Y, X), make_full, .drops = 2,
         .is_static = true),
    MADE(BITS, ANY, CALL(TRANSPOSE, CALL(TRANSPOSE, X)), make_transpose),
    MADE(BITS, ANY, CALL(TRANSPOSE, X), make_transpose),
    MADE(BITS, ANY, CALL(CONCATENATE, X), make_only),
};

/* --- Right sides ---------------------------------------------------------- */

static const Expr *apply(Simplify *s, const Found *m, OpId op,
                         const Attrs *attrs, const Expr *arg) {
  return EXPR_APPLY(s->p, s->arena, m->whole->span, op, attrs, arg);
}

/* A call whose attribute says the shape of the whole. */
static const Expr *shaped(Simplify *s, const Found *m, OpId op, AttrName name,
                          const Expr *arg) {
  const Type *t = m->whole->type;
  Attrs *attrs = attrs_new(s->arena, op_info(op));
  attr_set_list(s->arena, attrs, name, t->rank, t->dims);
  if (attrs_have(attrs, ATTR_dtype) && op != OP_FULL)
    attr_set_dtype(attrs, ATTR_dtype, (DType)t->dtype);
  if (attrs_have(attrs, ATTR_allowzero))
    attr_set_number(attrs, ATTR_allowzero, 1);
  return expr_apply(s->p, s->arena, m->whole->span, op, attrs, arg != NULL,
                    &arg);
}

/* A 0 in the shape of a reshape copies a dimension of the operand. */
static const Expr *make_reshape(Simplify *s, const Found *m) {
  const Type *t = m->whole->type;
  bool empty = false;
  for (int i = 0; i < t->rank; i++) empty |= dim_is(t->dims[i], 0);
  if (empty || m->vars[0]->type->any_rank) return NULL;
  Attrs *attrs = attrs_new(s->arena, op_info(OP_RESHAPE));
  attr_set_list(s->arena, attrs, ATTR_newshape, t->rank, t->dims);
  return apply(s, m, OP_RESHAPE, attrs, m->vars[0]);
}

static const Expr *make_zeros(Simplify *s, const Found *m) {
  return shaped(s, m, OP_ZEROS, ATTR_shape, NULL);
}

static const Expr *make_ones(Simplify *s, const Found *m) {
  return shaped(s, m, OP_ONES, ATTR_shape, NULL);
}

static const Expr *make_full(Simplify *s, const Found *m) {
  if (!type_is_scalar(m->vars[0]->type)) return NULL;
  return shaped(s, m, OP_FULL, ATTR_shape, m->vars[0]);
}

static const Expr *make_broadcast(Simplify *s, const Found *m) {
  return shaped(s, m, OP_BROADCAST_TO, ATTR_shape, m->vars[0]);
}

static const Expr *make_collapse(Simplify *s, const Found *m) {
  return shaped(s, m, OP_COLLAPSE_SUM_TO, ATTR_shape, m->vars[0]);
}

/* A number, or a tensor of them. */
static const Expr *make_zero(Simplify *s, const Found *m) {
  const Type *t = m->whole->type;
  if (t->rank > 0) return make_zeros(s, m);
  return expr_number(s->p, s->arena, m->whole->span, (DType)t->dtype, 0);
}

static const Expr *cast_to(Simplify *s, const Found *m, const Expr *e) {
  Attrs *attrs = attrs_new(s->arena, op_info(OP_CAST));
  attr_set_dtype(attrs, ATTR_dtype, (DType)m->whole->type->dtype);
  return apply(s, m, OP_CAST, attrs, e);
}

/* Is every value of `t` one of `u`, so that no conversion rounds, wraps or
 * saturates?  A float holds the integers up to 2 to the power of its digits. */
static bool holds_all(DType u, DType t) {
  if (t == u || t == DT_BOOL) return dtype_is_int(u) || dtype_is_float(u);
  if (dtype_is_int(t) && dtype_is_int(u))
    return dtype_min_int(u) <= dtype_min_int(t) &&
           dtype_max_int(u) >= dtype_max_int(t);
  if (dtype_is_int(t)) {
    uint64_t exact = u == DT_FLOAT64   ? (uint64_t)1 << 53
                     : u == DT_FLOAT32 ? (uint64_t)1 << 24
                                       : 0;
    return dtype_max_int(t) <= exact;
  }
  return (t == DT_FLOAT32 && u == DT_FLOAT64) ||
         ((t == DT_FLOAT16 || t == DT_BFLOAT16) &&
          (u == DT_FLOAT32 || u == DT_FLOAT64));
}

/* Integers to integers wrap, but floats to integers saturate. */
static const Expr *make_cast(Simplify *s, const Found *m) {
  const Expr *x = m->vars[0];
  DType from = (DType)x->type->dtype, by = (DType)m->inner->type->dtype;
  DType to = (DType)m->whole->type->dtype;
  bool bends = dtype_is_int(from) && dtype_is_float(by) && dtype_is_int(to);
  if (!holds_all(by, from) || (bends && !holds_all(to, from))) return NULL;
  return x->type == m->whole->type ? x : cast_to(s, m, x);
}

static const Expr *make_cast_like(Simplify *s, const Found *m) {
  return cast_to(s, m, m->vars[0]);
}

/* Axis i of the call is axis axes[i] of its operand. */
static bool axes_of(const Expr *call, int axes[RANK_MAX]) {
  const AttrValue *v = attr_get(call->call.bound, ATTR_axes);
  int rank = call->type->rank;
  if (call->type->any_rank || call->args[0]->type->any_rank) return false;
  bool given = v->state == AV_SET && v->count != 0;
  if (given && v->count != rank) return false;
  for (int i = 0; i < rank; i++)
    axes[i] = given ? axis_from(attr_item(v, i), rank) : rank - 1 - i;
  return true;
}

/* Of one transposition, or of two: nothing where the axes are in order. */
static const Expr *make_transpose(Simplify *s, const Found *m) {
  int rank = m->whole->type->rank, axes[RANK_MAX], first[RANK_MAX];
  Dim joined[RANK_MAX];
  bool same = true;
  if (!axes_of(m->whole, axes)) return NULL;
  if (m->inner && !axes_of(m->inner, first)) return NULL;
  for (int i = 0; i < rank; i++) {
    int from = m->inner ? first[axes[i]] : axes[i];
    joined[i] = dim_of(from);
    same &= from == i;
  }
  if (same) return m->vars[0];
  if (!m->inner) return NULL;
  Attrs *attrs = attrs_new(s->arena, op_info(OP_TRANSPOSE));
  attr_set_list(s->arena, attrs, ATTR_axes, rank, joined);
  return apply(s, m, OP_TRANSPOSE, attrs, m->vars[0]);
}

/* x with c and d joined, by the operator of the whole. */
static const Expr *joined(Simplify *s, const Found *m, bool sum) {
  const Tensor *c = m->vars[1]->constant, *d = m->vars[2]->constant;
  DType t = c->dtype;
  if (t != d->dtype) return NULL;
  uint64_t i = (uint64_t)tensor_i64_at(c, 0), j = (uint64_t)tensor_i64_at(d, 0);
  double a = tensor_f64_at(c, 0), b = tensor_f64_at(d, 0);
  Value bits = dtype_is_float(t)
                   ? bits_from_f64(t, sum ? a + b : a * b)
                   : bits_from_i64(t, (int64_t)(sum ? i + j : i * j));
  Tensor *both = program_scalar(s->p, t, bits);
  if (!both) return NULL;
  Expr *constant = expr_const(s->arena, m->vars[1]->span, both);
  constant->type = type_scalar(s->p->types, t);
  OpId op = op_id(expr_operator(m->whole));
  return EXPR_APPLY(s->p, s->arena, m->whole->span, op, NULL, m->vars[0],
                    constant);
}

static const Expr *make_sum(Simplify *s, const Found *m) {
  return joined(s, m, true);
}

static const Expr *make_product(Simplify *s, const Found *m) {
  return joined(s, m, false);
}

/* x * (1 / c).  An inverse that is no number of the dtype is none. */
static const Expr *times_inverse(Simplify *s, const Found *m, bool exact) {
  const Tensor *c = m->vars[1]->constant;
  double divisor = tensor_f64_at(c, 0), inverse = 1 / divisor;
  int exponent;
  double kept = bits_to_f64(c->dtype, bits_from_f64(c->dtype, inverse));
  if (!isfinite(kept) || kept == 0 || !isfinite(divisor)) return NULL;
  if (exact && (fabs(frexp(divisor, &exponent)) != 0.5 || kept != inverse))
    return NULL;
  const Expr *factor =
      expr_number(s->p, s->arena, m->vars[1]->span, c->dtype, inverse);
  return factor ? EXPR_APPLY(s->p, s->arena, m->whole->span, OP_MULTIPLY, NULL,
                             m->vars[0], factor)
                : NULL;
}

static const Expr *make_even_factor(Simplify *s, const Found *m) {
  return times_inverse(s, m, true);
}

static const Expr *make_factor(Simplify *s, const Found *m) {
  return times_inverse(s, m, false);
}

static const Expr *make_inverse(Simplify *s, const Found *m) {
  DType t = (DType)m->whole->type->dtype;
  if (t != DT_FLOAT32 && t != DT_FLOAT64) return NULL;
  return apply(s, m, OP_RSQRT, NULL, m->vars[0]);
}

/* A tuple of one tensor. */
static const Expr *make_only(Simplify *s, const Found *m) {
  (void)s;
  const Expr *tuple = m->vars[0];
  return tuple->kind == EX_TUPLE && tuple->count == 1 ? tuple->args[0] : NULL;
}

/* --- Matching ------------------------------------------------------------- */

static Effects effects_of(const Simplify *s, const Expr *e) {
  uintptr_t found = (uintptr_t)ptrmap_get(&s->effects, e);
  return found ? (Effects)found & ~EFFECT_KNOWN : expr_effects(s->p, e);
}

static bool is_pure(const Simplify *s, const Expr *e) {
  return !(effects_of(s, e) & ~EFFECT_SHOW);
}

static bool is_atom(const Expr *e) {
  return (e->kind == EX_VAR && !e->var->lazy) || e->kind == EX_CONST;
}

static bool same_operand(const Simplify *s, const Expr *a, const Expr *b) {
  if (a->kind == EX_VAR && b->kind == EX_VAR)
    return a->var == b->var && !a->var->lazy;
  return a->kind == EX_CONST && b->kind == EX_CONST &&
         expr_equal(s->p->mem, a, b);
}

/* Constants beyond so many elements are no numbers. */
enum { NUMBER_MOST = 64 };

static bool is_number(const Expr *e, double number) {
  if (e->kind != EX_CONST) return false;
  const Tensor *t = e->constant;
  int64_t count = tensor_count(t);
  if (count == 0 || count > NUMBER_MOST) return false;
  for (int64_t i = 0; i < count; i++) {
    double at = tensor_f64_at(t, i);
    if (at != number || signbit(at) != signbit(number)) return false;
  }
  return true;
}

static bool is_view(const OpInfo *op) {
  return op->storage == STORE_VIEW &&
         (op->view == VIEW_RESHAPE || op->view == VIEW_AXES);
}

static int term_count(const Term *t) {
  int n = 0;
  while (n < TERM_ARGS && t->args[n]) n++;
  return n;
}

static bool match_term(Simplify *s, const Term *t, const Expr *e, Found *m);

static bool match_call(Simplify *s, const Term *t, const Expr *e, Found *m) {
  const Expr *value =
      e->kind == EX_VAR && !e->var->lazy ? ptrmap_get(&s->values, e->var) : e;
  const OpInfo *op = value ? expr_operator(value) : NULL;
  int n = term_count(t);
  if (!op || value->count != n || !value->call.bound) return false;
  if (t->kind == TERM_VIEW ? !is_view(op) : op_id(op) != t->op) return false;
  if (attrs_have_operands(value->call.bound)) return false;
  m->through |= value != e;
  if (!m->whole) m->whole = value;
  else if (!m->inner) m->inner = value;
  for (int i = 0; i < n; i++)
    if (!match_term(s, t->args[i], value->args[i], m)) return false;
  return true;
}

/* Terms are as deep as the table says. */
static bool match_term(Simplify *s, const Term *t, const Expr *e, Found *m) {
  switch (t->kind) {
    case TERM_HELD:
      if (e->kind != EX_CONST || e->constant->rank != 0) return false;
      break;
    case TERM_VAR: break;
    case TERM_NUMBER: return is_number(e, t->number);
    case TERM_CALL:
    case TERM_VIEW: return match_call(s, t, e, m);
  }
  const Expr **var = &m->vars[t->var];
  if (m->uses[t->var]++ > 0) return same_operand(s, *var, e);
  *var = e;
  return true;
}

static int dtype_class(const Type *t) {
  if (t->kind != TY_TENSOR) return ANY;
  DType dtype = (DType)t->dtype;
  if (dtype_is_float(dtype)) return FLOATS;
  if (!dtype_is_int(dtype)) return BOOLS;
  return dtype_min_int(dtype) < 0 ? SIGNED : UNSIGNED;
}

/* --- Conditions ----------------------------------------------------------- */

/* The operators of the left side alone, on names of the same types: what they
 * can do besides what their operands do. */
static const Expr *skeleton(Simplify *s, const Term *t, const Expr *e) {
  if (t->kind != TERM_CALL && t->kind != TERM_VIEW) {
    if (e->kind == EX_CONST) return e;
    Var *var = var_for(s->p, s->arena, e);
    return var ? expr_use(s->arena, e->span, var) : NULL;
  }
  if (e->kind == EX_VAR) e = ptrmap_get(&s->values, e->var);
  const Expr *args[TERM_ARGS];
  int n = term_count(t);
  for (int i = 0; i < n; i++)
    if (!(args[i] = skeleton(s, t->args[i], e->args[i]))) return NULL;
  Expr *made = arena_copy(s->arena, e, sizeof *e);
  if (made) made->args = arena_copy(s->arena, args, (size_t)n * sizeof *args);
  return made;
}

/* The variables of a term in the order in which it evaluates them. */
static void list_vars(const Term *t, int list[OWN_MOST], int *count) {
  if (t->kind == TERM_VAR || t->kind == TERM_HELD) {
    if (*count < OWN_MOST) list[(*count)++] = t->var;
    return;
  }
  for (int i = 0; i < term_count(t); i++) list_vars(t->args[i], list, count);
}

/* May the operands be evaluated as the right side does? */
static bool operands_allow(Simplify *s, const Law *law, const Found *m) {
  int left[OWN_MOST], right[OWN_MOST], before = 0, after = 0;
  list_vars(law->left, left, &before);
  if (law->right) list_vars(law->right, right, &after);
  for (int i = 0; !law->right && i < before; i++)
    if (!(law->drops >> left[i] & 1)) right[after++] = left[i];
  bool same = before == after;
  for (int i = 0; same && i < before; i++) same = left[i] == right[i];
  if (same && !m->through) return true;
  for (int i = 0; i < VARS; i++) {
    int uses = 0;
    for (int k = 0; k < after; k++) uses += right[k] == i;
    if (!m->vars[i]) continue;
    if (!same && !is_pure(s, m->vars[i])) return false;
    if ((m->through || uses > m->uses[i]) && !is_atom(m->vars[i])) return false;
  }
  return true;
}

static const Expr *build(Simplify *s, const Term *t, const Found *m) {
  if (t->kind == TERM_VAR || t->kind == TERM_HELD) return m->vars[t->var];
  const Expr *args[TERM_ARGS];
  int n = term_count(t);
  for (int i = 0; i < n; i++)
    if (!(args[i] = build(s, t->args[i], m))) return NULL;
  return expr_apply(s->p, s->arena, m->whole->span, t->op, NULL, n, args);
}

/* The right side; NULL: the law does not apply. */
static const Expr *by_law(Simplify *s, const Law *law, const Expr *e) {
  Found m = {0};
  if (law->grade == REAL && !pass_fast_math(s->p)) return NULL;
  if (law->is_static && !type_is_static(e->type)) return NULL;
  if (!match_term(s, law->left, e, &m)) return NULL;
  if (!(law->of & dtype_class(m.vars[0]->type))) return NULL;
  if (!operands_allow(s, law, &m)) return NULL;
  const Expr *alone = skeleton(s, law->left, e);
  if (!alone || expr_effects(s->p, alone)) return NULL;
  const Expr *made = law->right ? build(s, law->right, &m) : law->make(s, &m);
  return made && made->type == e->type ? made : NULL;
}

/* Each law leaves fewer calls, or ones that no law before it matches; the bound
 * is on chains of them. */
enum { LAWS_MOST = 16 };

static const Expr *simplified(Simplify *s, const Expr *e) {
  for (int n = 0; n < LAWS_MOST; n++) {
    const OpInfo *op = expr_operator(e);
    const Expr *made = NULL;
    if (!op) break;
    for (size_t i = 0; !made && i < sizeof laws / sizeof *laws; i++)
      if (laws[i].left->kind == TERM_VIEW ? is_view(op)
                                          : laws[i].left->op == op_id(op))
        made = by_law(s, &laws[i], e);
    if (!made || !pass_may_rewrite(s->p, e->span)) break;
    e = made;
  }
  return e;
}

/* --- The pass ------------------------------------------------------------- */

static void note_let(Simplify *s, const ExprWalk *w, const Expr *value) {
  if (w->role != ROLE_VALUE) return;
  const Binding *b = &w->parent->block->bindings[w->index];
  if (b->kind == BIND_LET && value->kind == EX_CALL)
    ptrmap_put(&s->values, b->var, (void *)value);
}

static const Expr *simplify(Program *p, Arena *arena, const Expr *e) {
  Simplify s = {.p = p, .arena = arena};
  ExprMap m;
  ptrmap_init(&s.effects, p->mem);
  ptrmap_init(&s.values, p->mem);
  expr_effects_each(p, e, &s.effects);
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m)) {
    if (m.walk.event != WALK_LEAVE) continue;
    const Expr *made =
        m.made->kind == EX_CALL ? simplified(&s, m.made) : m.made;
    if (made != m.made) expr_map_put(&m, made);
    if (made != m.walk.at && !ptrmap_has(&s.effects, made))
      ptrmap_put(&s.effects, made, ptrmap_get(&s.effects, m.walk.at));
    note_let(&s, &m.walk, made);
  }
  e = expr_map_end(&m);
  ptrmap_done(&s.effects);
  ptrmap_done(&s.values);
  return e;
}

Pass pass_simplify_expr;

Unit *pass_simplify_expr(Program *p, Unit *unit) {
  return unit_rewrite(p, unit, simplify);
}
