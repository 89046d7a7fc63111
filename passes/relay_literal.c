/* Constants in plain Relay.  It has literals for bool and for integers and
 * floats of 16, 32 and 64 bits, short of the smallest int64, of infinities that
 * are not float32 and of NaN; the others are casts.  A tensor literal is a
 * stack of its elements, a string the stack of its bytes.
 *
 *   7u8                cast(7, dtype="uint8")
 *   -2^63 as int64     -9223372036854775807i64 - 1i64
 *   nanf64             cast(inff - inff, dtype="float64")
 *   [1, 2.5]           stack((1f, 2.5f), axis=0)
 *
 * Every rewriting gives the same bits: a cast of a float32 that holds the
 * number is exact, and the cast of an int64 to uint64 wraps. */
#include <math.h>

#include "ir/walk.h"
#include "passes/relay_map.h"

static const Expr *scalar(Relay *r, Span span, DType dtype, Value bits) {
  Tensor *t = program_scalar(r->p, dtype, bits);
  if (!t) mem_raise_exhausted(r->p->mem);
  return t ? expr_const(r->arena, span, t) : expr_new(r->arena, EX_ERROR, span);
}

static const Expr *scalar_i64(Relay *r, Span span, DType dtype, int64_t v) {
  return scalar(r, span, dtype, bits_from_i64(dtype, v));
}

const Expr *relay_int(Relay *r, Span span, int64_t value) {
  return scalar_i64(r, span, DT_INT32, value);
}

static const Expr *difference(Relay *r, const Expr *a, const Expr *b) {
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, 2);
  if (!args) return a;
  args[0] = a;
  args[1] = b;
  Expr *e = relay_op(r, a->span, "subtract", 2, args);
  e->sugar = SUGAR_INFIX;
  return e;
}

/* --- Scalars -------------------------------------------------------------- */

/* Dtypes without literals are narrower than float32, which therefore holds
 * their numbers. */
static const Expr *float_constant(Relay *r, const Expr *e, DType dtype,
                                  double v) {
  Span span = e->span;
  if (isfinite(v)) {
    if (dtype == DT_FLOAT64 && v != 0 && fabs(v) < 0x1p-1022)
      relay_refuse(r, span, "a float64 as small as this");
    if (dtype_info[dtype].relay_literal) return e;
    return relay_cast(
        r, scalar(r, span, DT_FLOAT32, bits_from_f64(DT_FLOAT32, v)), dtype);
  }
  double limit = isnan(v) ? INFINITY : v;
  const Expr *inf =
      scalar(r, span, DT_FLOAT32, bits_from_f64(DT_FLOAT32, limit));
  if (isnan(v)) inf = difference(r, inf, inf);
  return dtype == DT_FLOAT32 ? inf : relay_cast(r, inf, dtype);
}

/* The smallest int64 is a difference. */
static const Expr *int64_constant(Relay *r, Span span, int64_t v) {
  if (v > INT64_MIN) return scalar_i64(r, span, DT_INT64, v);
  return difference(r, scalar_i64(r, span, DT_INT64, v + 1),
                    scalar_i64(r, span, DT_INT64, 1));
}

/* For a uint64, `v` is the int64 with the same bits: the cast of it to uint64
 * wraps, which gives the number back. */
static const Expr *int_constant(Relay *r, const Expr *e, DType dtype,
                                int64_t v) {
  if (dtype == DT_INT64 && v == INT64_MIN) return int64_constant(r, e->span, v);
  if (dtype_info[dtype].relay_literal) return e;
  bool small = v <= INT32_MAX && v >= (dtype == DT_UINT64 ? 0 : INT32_MIN);
  return relay_cast(r,
                    small ? scalar_i64(r, e->span, DT_INT32, v)
                          : int64_constant(r, e->span, v),
                    dtype);
}

const Expr *relay_constant(Relay *r, const Expr *e) {
  DType dtype = (DType)e->constant->dtype;
  Value bits = tensor_bits_at(e->constant, 0);
  if (dtype == DT_BOOL) return e;
  if (dtype_is_float(dtype))
    return float_constant(r, e, dtype, bits_to_f64(dtype, bits));
  bool wraps = dtype == DT_UINT64;
  return int_constant(r, e, dtype, wraps ? bits.i64 : bits_to_i64(dtype, bits));
}

/* --- Tensor literals ------------------------------------------------------ */

const Expr *relay_stack(Relay *r, Span span, int count,
                        const Expr *const *items) {
  Expr *tuple = expr_new(r->arena, EX_TUPLE, span);
  tuple->count = count;
  tuple->args = items;
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, 1);
  if (!args) return tuple;
  args[0] = tuple;
  return relay_with_attr(r, relay_op(r, span, "stack", 1, args), "axis",
                         (AttrExpr){.kind = AX_INT, .dtype = DT_INT32});
}

static bool is_number(const Expr *e) {
  return e->kind == EX_CONST && e->constant->rank == 0;
}

/* The dtype of a bracket's literals: the first that is not plain has it.  The
 * rule is that of types/resolve_op.c, over the parsed tree. */
static DType find_dtype(const Relay *r, const Expr *e) {
  DType found = DTYPE_NONE;
  bool wide = false; /* a plain one needs 64 bits */
  ExprWalk w;
  expr_walk_start(&w, r->p->mem, WALK_ENTER, e);
  while (found == DTYPE_NONE && expr_walk_next(&w)) {
    if (w.at->kind != EX_BRACKET) expr_walk_skip(&w);
    if (!is_number(w.at)) continue;
    DType dtype = (DType)w.at->constant->dtype;
    if (!literal_is_plain(r->p, w.at)) found = dtype;
    wide |= dtype == DT_INT64;
  }
  expr_walk_end(&w);
  if (found != DTYPE_NONE) return found;
  return wide ? DT_INT64 : DT_INT32;
}

/* A plain literal takes the dtype of the bracket; any other one has its own. */
bool relay_number(const Relay *r, const Expr *e, DType dtype, Value *bits) {
  if (!is_number(e)) return false;
  DType own = (DType)e->constant->dtype;
  *bits = tensor_bits_at(e->constant, 0);
  if (own == dtype) return true;
  if (!literal_is_plain(r->p, e)) return false;
  *bits = bits_from_i64(dtype, bits_to_i64(own, *bits));
  return true;
}

/* The dtype is found once for the outermost bracket, and its rows share it: the
 * stack in r->brackets has an entry for each literal under way, as an element
 * may hold a literal of its own. */
const Expr *relay_bracket_enter(Relay *r, const Expr *e) {
  DType dtype = find_dtype(r, e);
  const Expr *constant = relay_long_bracket(r, e, dtype);
  if (!constant) VEC_PUSH(&r->brackets, dtype);
  return constant;
}

const Expr *relay_element(Relay *r, const Expr *e) {
  Value bits;
  DType dtype = r->brackets.len ? VEC_LAST(&r->brackets) : DTYPE_NONE;
  if (!relay_number(r, e, dtype, &bits)) return relay_constant(r, e);
  return relay_constant(r, scalar(r, e->span, dtype, bits));
}

const Expr *relay_bracket_leave(Relay *r, const Expr *e, bool outer) {
  if (outer && r->brackets.len) r->brackets.len--;
  return relay_stack(r, e->span, e->count, e->args);
}

/* --- Strings -------------------------------------------------------------- */

/* A stack of nothing has no dtype. */
static const Expr *no_bytes(Relay *r, Span span) {
  static const AttrExpr zero = {.kind = AX_INT, .dtype = DT_INT32};
  static const AttrExpr *const shape[] = {&zero};
  static const char dtype[] = "uint8";
  Expr *e = relay_op(r, span, "zeros", 0, NULL);
  e = relay_with_attr(r, e, "shape",
                      (AttrExpr){.kind = AX_LIST, .count = 1, .items = shape});
  return relay_with_attr(
      r, e, "dtype",
      (AttrExpr){.kind = AX_STRING, .text = dtype, .count = sizeof dtype - 1});
}

/* One int32 for each byte, cast together: literals of uint8 are casts each. */
const Expr *relay_string(Relay *r, const Expr *e) {
  size_t len = e->text.len;
  if (len == 0) return no_bytes(r, e->span);
  const Expr *constant = relay_long_string(r, e);
  if (constant) return constant;
  const Expr **codes = ARENA_ARRAY(r->arena, const Expr *, len);
  for (size_t i = 0; codes && i < len; i++) {
    codes[i] =
        scalar_i64(r, e->span, DT_INT32, (unsigned char)e->text.bytes[i]);
  }
  if (!codes) return e;
  return relay_cast(r, relay_stack(r, e->span, (int)len, codes), DT_UINT8);
}
