/* The element-wise operators of one dtype, included through each_*.h by
 * elementwise.c and, for each instruction set, by simd/elementwise.c.  LIST
 * names the operators and what each computes.  It makes
 *
 *   FN(STRIPS)   a StripFn for each operator
 *   FN(SCALARS)  a ScalarFn for each, where that is defined
 *
 * LIST is included twice: first with macros that make functions, then with
 * macros that make rows of these tables.  A row such as BINARY(ADD, a + b)
 * becomes
 *
 *   of_ADD(a, b, p, q, fail)   the expression, in C
 *   loop_ADD(s, i, j, k)       a loop with steps i, j and k, inlined
 *   strip_ADD(s)               picks the loop: constants where steps are 1 or 0
 *   scalar_ADD(a, b, c, fail)  the expression on one element's bits
 *
 * so that both give the same bits, and each common pair of steps has a loop
 * that the compiler can turn into vectors.
 *
 * A result may overwrite an operand in the same order, since element i of the
 * operands is read before element i is written.
 *
 * MAP(function), where defined, is a loop of an elementary function straight
 * from contiguous operand to result. */

#if !IS_FLOAT && !IS_BOOL
/* A function, since for unsigned types the comparison alone would be a
 * warning. */
ALWAYS_INLINE bool FN(below_zero)(C a) {
#if IS_SIGNED
  return a < 0;
#else
  (void)a;
  return false;
#endif
}

/* Truncating division.  A division by zero sets *fail and gives 0.  The least
 * integer divided by -1 wraps to itself; in C it would trap. */
ALWAYS_INLINE C FN(int_divide)(C a, C b, int *fail) {
  if (b == 0) return *fail = FAULT_DIVISION_BY_ZERO, (C)0;
  return IS_SIGNED && b == (C)-1 ? (C)(0 - (W)a) : (C)(a / b);
}

/* The remainder with the sign of a: a - b * trunc(a / b). */
ALWAYS_INLINE C FN(int_mod)(C a, C b, int *fail) {
  if (b == 0) return *fail = FAULT_DIVISION_BY_ZERO, (C)0;
  return IS_SIGNED && b == (C)-1 ? (C)0 : (C)(a % b);
}

/* floor(a / b): one less than truncation where the signs differ and the
 * division is not exact.  -7 / 2 gives -4. */
ALWAYS_INLINE C FN(int_floor_divide)(C a, C b, int *fail) {
  bool apart = FN(below_zero)(a) != FN(below_zero)(b);
  bool exact = FN(int_mod)(a, b, fail) == 0;
  return (C)(FN(int_divide)(a, b, fail) - (apart && !exact));
}

/* The remainder with the sign of b: -7 mod 2 gives 1, 7 mod -2 gives -1. */
ALWAYS_INLINE C FN(int_floor_mod)(C a, C b, int *fail) {
  C r = FN(int_mod)(a, b, fail);
  bool apart = r != 0 && FN(below_zero)(r) != FN(below_zero)(b);
  return apart ? (C)(r + b) : r;
}

/* A shift by the width or more, and by a negative number, which is a large one
 * when taken as unsigned, leaves nothing but the sign. */
ALWAYS_INLINE C FN(int_right_shift)(C a, C b) {
  if ((uint64_t)b < 8 * sizeof(T)) return (C)(a >> b);
  return FN(below_zero)(a) ? (C)-1 : (C)0;
}
#endif

/* Attribute number i, stored as an element of the dtype. */
ALWAYS_INLINE T FN(param)(const Strip *s, int i) {
  T at;
  memcpy(&at, &s->params[i], sizeof at);
  return at;
}

/* --- What each operator computes, and a loop around it ------------------- */

#define FUNCTION(op, Out, expression)                            \
  ALWAYS_INLINE Out FN(of_##op)(C a, C b, C p, C q, int *fail) { \
    (void)a, (void)b, (void)p, (void)q, (void)fail;              \
    return (Out)(expression);                                    \
  }

/* What a loop counts to.  For all that the compiler knows a store of a byte
 * changes s->n, so a loop whose results are bytes becomes vectors only where
 * s->n is read once, before it.  The reference reads it at each element: with
 * those vectors its object would be half as large again. */
#if OVERLAID_ALONE
#define COUNT count
#else
#define COUNT s->n
#endif

/* `second` is the second operand's element, or 0.  `fail` keeps the last fault,
 * and the loop goes on: the result is discarded anyway, and a loop without an
 * exit can become vectors. */
#define STRIP_LOOP(op, OutT, PUT, second)                               \
  ALWAYS_INLINE int FN(loop_##op)(const Strip *s, int64_t i, int64_t j, \
                                  int64_t k) {                          \
    const T *x = (const T *)s->in[0], *y = (const T *)s->in[1];         \
    OutT *out = (OutT *)s->out;                                         \
    C p = LOAD(FN(param)(s, 0)), q = LOAD(FN(param)(s, 1));             \
    int64_t count = s->n;                                               \
    int fail = 0;                                                       \
    (void)y, (void)j, (void)count;                                      \
    INDEPENDENT for (int64_t n = 0; n < COUNT; n++) out[n * k] =        \
        PUT(FN(of_##op)(LOAD(x[n * i]), second, p, q, &fail));          \
    return fail;                                                        \
  }

#define UNARY_STRIP(op, OutT, PUT)                       \
  STRIP_LOOP(op, OutT, PUT, 0)                           \
  static int FN(strip_##op)(const Strip *s) {            \
    if (STEPS_ARE(s->step[0] == 1 && s->out_step == 1))  \
      return FN(loop_##op)(s, 1, 0, 1);                  \
    return FN(loop_##op)(s, s->step[0], 0, s->out_step); \
  }

/* The steps that occur: both operands contiguous, or one of them a scalar that
 * is broadcast.  Whatever else there is takes the loop for any steps. */
#define BINARY_STRIP(op, OutT, PUT)                                        \
  STRIP_LOOP(op, OutT, PUT, LOAD(y[n * j]))                                \
  RARELY int FN(any_##op)(const Strip *s) {                                \
    int64_t i = s->step[0], j = s->step[1];                                \
    int64_t k = s->out_step;                                               \
    if (STEPS_ARE(i == 1 && j == 0 && k == 1))                             \
      return FN(loop_##op)(s, 1, 0, 1);                                    \
    if (STEPS_ARE(i == 0 && j == 1 && k == 1))                             \
      return FN(loop_##op)(s, 0, 1, 1);                                    \
    if (STEPS_ARE(k == 1)) return FN(loop_##op)(s, i, j, 1);               \
    return FN(loop_##op)(s, i, j, k);                                      \
  }                                                                        \
  static int FN(strip_##op)(const Strip *s) {                              \
    if (STEPS_ARE(s->step[0] == 1 && s->step[1] == 1 && s->out_step == 1)) \
      return FN(loop_##op)(s, 1, 1, 1);                                    \
    return FN(any_##op)(s);                                                \
  }

#ifdef SCALARS
#define SCALAR(op, OutT, PUT)                                          \
  static Value FN(scalar_##op)(Value a, Value b, Value c, int *fail) { \
    T x, y;                                                            \
    Value out = {0};                                                   \
    memcpy(&x, &a, sizeof x);                                          \
    memcpy(&y, &b, sizeof y);                                          \
    (void)c;                                                           \
    OutT v = PUT(FN(of_##op)(LOAD(x), LOAD(y), 0, 0, fail));           \
    memcpy(&out, &v, sizeof v);                                        \
    return out;                                                        \
  }
#else
#define SCALAR(op, OutT, PUT)
#endif

#define AS_BOOL(x) (x)
#define UNARY(op, expression) \
  FUNCTION(op, C, expression) \
  UNARY_STRIP(op, T, STORE) SCALAR(op, T, STORE)
#define PARAM(op, expression) \
  FUNCTION(op, C, expression) UNARY_STRIP(op, T, STORE)
#define BINARY(op, expression) \
  FUNCTION(op, C, expression)  \
  BINARY_STRIP(op, T, STORE) SCALAR(op, T, STORE)
#define FALLIBLE BINARY
#define TEST(op, expression)        \
  FUNCTION(op, uint8_t, expression) \
  UNARY_STRIP(op, uint8_t, AS_BOOL) SCALAR(op, uint8_t, AS_BOOL)
#define COMPARE(op, expression)     \
  FUNCTION(op, uint8_t, expression) \
  BINARY_STRIP(op, uint8_t, AS_BOOL) SCALAR(op, uint8_t, AS_BOOL)

/* --- Elementary functions, a tile at a time ------------------------------ */

#if IS_FLOAT
ALWAYS_INLINE void FN(load_tile)(C *tile, const char *from, int64_t step,
                                 int n) {
  const T *x = (const T *)from;
  for (int i = 0; i < n; i++) tile[i] = LOAD(x[i * step]);
}

ALWAYS_INLINE void FN(store_tile)(char *to, int64_t step, const C *tile,
                                  int n) {
  T *out = (T *)to;
  for (int i = 0; i < n; i++) out[i * step] = STORE(tile[i]);
}

/* Through a tile of C, which removes the steps and, of 16-bit floats, the
 * coding; what runs on the tile is the same code for each of them. */
static int FN(by_tile)(const Strip *s, void (*function)(C *, int)) {
  C tile[TILE];
  for (int64_t at = 0; at < s->n; at += TILE) {
    int n = s->n - at < TILE ? (int)(s->n - at) : TILE;
    int64_t size = sizeof(T);
    FN(load_tile)(tile, s->in[0] + at * s->step[0] * size, s->step[0], n);
    function(tile, n);
    FN(store_tile)(s->out + at * s->out_step * size, s->out_step, tile, n);
  }
  return 0;
}

/* Two tiles, since both operands may be strided or coded. */
static int FN(strip_POWER)(const Strip *s) {
  C x[TILE], y[TILE];
  for (int64_t at = 0; at < s->n; at += TILE) {
    int n = s->n - at < TILE ? (int)(s->n - at) : TILE;
    int64_t size = sizeof(T);
    FN(load_tile)(x, s->in[0] + at * s->step[0] * size, s->step[0], n);
    FN(load_tile)(y, s->in[1] + at * s->step[1] * size, s->step[1], n);
    NAME_OF(R, tile_power)(x, y, n);
    FN(store_tile)(s->out + at * s->out_step * size, s->out_step, x, n);
  }
  return 0;
}

#ifdef SCALARS
/* A scalar operator is its strip on one element. */
ALWAYS_INLINE Value FN(scalar_strip)(StripFn strip, Value a, Value b) {
  Value out = {0};
  Strip s = {.n = 1,
             .out = (char *)&out,
             .out_step = 1,
             .in = {(const char *)&a, (const char *)&b},
             .step = {1, 1}};
  strip(&s);
  return out;
}
static Value FN(scalar_POWER)(Value a, Value b, Value c, int *fail) {
  (void)c, (void)fail;
  return FN(scalar_strip)(FN(strip_POWER), a, b);
}
/* An elementary function gives a number the same bits in a vector of one. */
#define SCALAR_MATH(op)                                                \
  static Value FN(scalar_##op)(Value a, Value b, Value c, int *fail) { \
    (void)b, (void)c, (void)fail;                                      \
    return FN(scalar_strip)(FN(strip_##op), a, a);                     \
  }
#else
#define SCALAR_MATH(op)
#endif

#ifdef MAP
#define STRAIGHT(s, function)                                    \
  if ((s)->step[0] == 1 && (s)->out_step == 1) {                 \
    MAP(function)((const T *)(s)->in[0], (T *)(s)->out, (s)->n); \
    return 0;                                                    \
  }
#else
#define STRAIGHT(s, function)
#endif

#define MATH(op, function)                              \
  static int FN(strip_##op)(const Strip *s) {           \
    STRAIGHT(s, function)                               \
    return FN(by_tile)(s, NAME_OF(R, tile_##function)); \
  }                                                     \
  SCALAR_MATH(op)
#endif

#include LIST
#undef UNARY
#undef PARAM
#undef BINARY
#undef FALLIBLE
#undef TEST
#undef COMPARE
#undef MATH

/* --- The tables ---------------------------------------------------------- */

#define ROW(op) [OP_##op] = FN(strip_##op),
#define UNARY(op, expression) ROW(op)
#define PARAM(op, expression) ROW(op)
#define BINARY(op, expression) ROW(op)
#define FALLIBLE(op, expression) ROW(op)
#define TEST(op, expression) ROW(op)
#define COMPARE(op, expression) ROW(op)
#define MATH(op, function) ROW(op)

STRIPS_LINKAGE const StripFn FN(STRIPS)[OP_COUNT] = {
#include LIST
#if IS_FLOAT
    ROW(POWER)
#endif
};

#ifdef SCALARS
#undef ROW
#undef PARAM
#define ROW(op) [OP_##op] = FN(scalar_##op),
#define PARAM(op, expression)

static const ScalarFn FN(SCALARS)[OP_COUNT] = {
#include LIST
#if IS_FLOAT
    ROW(POWER)
#endif
};
#endif

#undef ROW
#undef UNARY
#undef PARAM
#undef BINARY
#undef FALLIBLE
#undef TEST
#undef COMPARE
#undef MATH
#undef FUNCTION
#undef COUNT
#undef STRIP_LOOP
#undef UNARY_STRIP
#undef BINARY_STRIP
#undef SCALAR
#undef AS_BOOL
#undef SCALAR_MATH
#undef STRAIGHT
