/* Element-wise operators that are several nodes. */
#include <math.h>

#include "export/say.h"

static DType dtype_of(const Said *s) { return val_dtype(s->args[0]); }

/* The rank of what the operands broadcast to; nobody asks for it. */
static Val *of_all(const Said *s, const char *op, Val *a, Val *b) {
  return said_step(s, op, dtype_of(s), s->type->rank, b ? 2 : 1,
                   (Val *[]){a, b});
}

static Val *test_of(const Said *s, const char *op, Val *a, Val *b) {
  return said_step(s, op, DT_BOOL, s->type->rank, b ? 2 : 1, (Val *[]){a, b});
}

/* sign(x) * (floor(|x|) + 1 where what is left is a half or more).  ONNX's
 * Round takes halves to even. */
Val *say_round(const Said *s) {
  Val *size = of_all(s, "Abs", s->args[0], NULL);
  Val *whole = of_all(s, "Floor", size, NULL);
  Val *rest = of_all(s, "Sub", size, whole);
  Val *up = test_of(s, "GreaterOrEqual", rest, said_like(s, 0, 0.5));
  Val *one = up ? cast_to(s->x, up, dtype_of(s)) : NULL;
  Val *sign = of_all(s, "Sign", s->args[0], NULL);
  return said_last(s, "Mul", 2, (Val *[]){sign, of_all(s, "Add", whole, one)});
}

static Val *truncated(const Said *s, Val *v) {
  Val *whole = of_all(s, "Floor", of_all(s, "Abs", v, NULL), NULL);
  return said_last(s, "Mul", 2, (Val *[]){of_all(s, "Sign", v, NULL), whole});
}

Val *say_trunc(const Said *s) { return truncated(s, s->args[0]); }

Val *say_rsqrt(const Said *s) {
  Val *root = of_all(s, "Sqrt", s->args[0], NULL);
  return said_last(s, "Reciprocal", 1, &root);
}

static Val *log_of_base(const Said *s, double base) {
  Val *log = of_all(s, "Log", s->args[0], NULL);
  return said_last(s, "Div", 2, (Val *[]){log, said_like(s, 0, base)});
}

Val *say_log2(const Said *s) { return log_of_base(s, M_LN2); }
Val *say_log10(const Said *s) { return log_of_base(s, M_LN10); }

/* Div of integers truncates; one less where signs differ and it is not exact.
 */
Val *say_floor_divide(const Said *s) {
  Val *a = s->args[0], *b = s->args[1];
  Val *q = of_all(s, "Div", a, b);
  if (dtype_is_float(dtype_of(s))) return said_last(s, "Floor", 1, &q);
  Val *rest = of_all(s, "Sub", a, of_all(s, "Mul", q, b));
  Val *zero = said_like(s, 0, 0);
  Val *exact = test_of(s, "Equal", rest, zero);
  Val *below = test_of(s, "Less", rest, zero);
  Val *signs = test_of(s, "Xor", below, test_of(s, "Less", b, zero));
  Val *less = test_of(s, "And", signs, test_of(s, "Not", exact, NULL));
  Val *one = less ? cast_to(s->x, less, dtype_of(s)) : NULL;
  return said_last(s, "Sub", 2, (Val *[]){q, one});
}

Val *say_trunc_divide(const Said *s) {
  if (!dtype_is_float(dtype_of(s))) return said_by(s, "Div", "");
  return truncated(s, of_all(s, "Div", s->args[0], s->args[1]));
}

static Val *mod(const Said *s, bool fmod) {
  OnnxNode *n = said_node(s, "Mod");
  if (n) onnx_attr_int(s->x->w, n, "fmod", fmod);
  return said_out(s, n);
}

Val *say_trunc_mod(const Said *s) { return mod(s, true); }

Val *say_floor_mod(const Said *s) {
  if (!dtype_is_float(dtype_of(s))) return mod(s, false);
  Val *a = s->args[0], *b = s->args[1];
  Val *q = of_all(s, "Floor", of_all(s, "Div", a, b), NULL);
  return said_last(s, "Sub", 2, (Val *[]){a, of_all(s, "Mul", q, b)});
}

Val *say_not_equal(const Said *s) {
  Val *same = test_of(s, "Equal", s->args[0], s->args[1]);
  return said_last(s, "Not", 1, &same);
}

Val *say_isfinite(const Said *s) {
  Val *inf = test_of(s, "IsInf", s->args[0], NULL);
  Val *other = test_of(s, "Or", inf, test_of(s, "IsNaN", s->args[0], NULL));
  return said_last(s, "Not", 1, &other);
}

Val *say_clip(const Said *s) {
  Val *low = said_like(s, 0, said_real(s, ATTR_a_min));
  Val *high = said_like(s, 0, said_real(s, ATTR_a_max));
  return said_last(s, "Clip", 3, (Val *[]){s->args[0], low, high});
}

Val *say_cast(const Said *s) {
  return val_dtype(s->args[0]) == (DType)s->type->dtype
             ? s->args[0]
             : said_cast(s, s->args[0]);
}
