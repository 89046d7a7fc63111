/* Expressions of tensor type.
 *
 * All operators used are exact, so both machines must agree to the bit:
 * integers, comparisons, moves, and of floats what is rounded in one way only.
 * Elements include those at which such operators differ from naive code: -0,
 * NaN, infinity, the least and the greatest integer.
 *
 * Shapes are small (up to 3 in each axis), since what is tested is how machines
 * treat them, not kernels.  A dimension may be `?` (GEN_ANY): then lengths
 * differ from run to run of the same code, and run-time checks come into play.
 *
 * A production makes a tensor of type t from operands whose types it works out
 * backwards:
 *
 *   (2, 3) by transpose    from (3, 2)
 *   (2, 3) by concatenate  from (1, 3) and (1, 3)
 *   (3)    by sum, axis 0  from (k, 3)
 *
 * Working backwards never fails for want of an operand: whatever (3, 2) is,
 * there is a way to make it, if only a literal.  The other direction, an
 * operator on what happens to be there, would mostly give a tensor that nobody
 * needs. */
#include "fuzz/gen.h"

#include <string.h>

/* The same shape with another dtype. */
static const GenType *like(Gen *g, const GenType *t, const char *dtype) {
  return gen_tensor_of(g->arena, dtype, t->rank, t->dims);
}

static bool is(const GenType *t, const char *dtype) {
  return !strcmp(t->name, dtype);
}

static bool is_static(const GenType *t) {
  for (int i = 0; i < t->rank; i++)
    if (t->dims[i] == GEN_ANY) return false;
  return true;
}

/* --- Literals ----------------------------------------------------------- */

/* Mostly small numbers; extremes now and then.  Extremes everywhere would make
 * everything overflow or NaN after three operators, and then all programs would
 * compute the same. */
static const char *literal(Gen *g, const char *dtype) {
  static const char *const ints[] = {"0",   "1",          "2",          "3",
                                     "-1",  "-2",         "5",          "7",
                                     "100", "2147483647", "-2147483648"};
  static const char *const floats[] = {"0f",  "1f",    "-2f",  "0.5f", "3f",
                                       "-0f", "1e30f", "nanf", "inff", "-1.5f"};
  static const char *const bools[] = {"True", "False"};
  if (!strcmp(dtype, "bool")) return bools[gen_below(g, 2)];
  if (!strcmp(dtype, "float32")) return floats[gen_below(g, 10)];
  if (!strcmp(dtype, "uint8")) return gen_textf(g, "%du8", gen_below(g, 256));
  const char *text = ints[gen_below(g, gen_chance(g, 85) ? 8 : 11)];
  return !strcmp(dtype, "int64") ? gen_textf(g, "%si64", text) : text;
}

/* [[1, 2], [3, 4]]: recursive over the axes. */
static char *bracket(Gen *g, const GenType *t, int axis) {
  char *text = gen_textf(g, "[");
  for (int i = 0; i < t->dims[axis]; i++) {
    const char *item =
        axis + 1 < t->rank ? bracket(g, t, axis + 1) : literal(g, t->name);
    text = gen_textf(g, "%s%s%s", text, i ? ", " : "", item);
  }
  return gen_textf(g, "%s]", text);
}

/* Of a type with `?` the literal has some length, and its type is ascribed. */
GenNode *gen_literal(Gen *g, const GenType *t) {
  if (t->rank == 0) return gen_node(g, t, literal(g, t->name), 0);
  const char *text = bracket(g, gen_concrete(g, t), 0);
  return gen_node(g, t, is_static(t) ? text : gen_ascribed(g->arena, t, text),
                  0);
}

/* A bracket of expressions. */
static GenNode *make_stack(Gen *g, const GenType *t) {
  if (t->rank == 0 || g->budget < 8) return NULL;
  const GenType *whole = gen_concrete(g, t);
  if (whole->dims[0] > GEN_CHILDREN_MAX) return NULL;
  const GenType *row =
      gen_tensor_of(g->arena, t->name, t->rank - 1, whole->dims + 1);
  GenList items = {0};
  char *text = gen_textf(g, "stack((");
  for (int i = 0; i < whole->dims[0]; i++) {
    gen_add(&items, gen_expr(g, row));
    text = gen_textf(g, "%s$, ", text);
  }
  text = gen_textf(g, "%s))", text);
  return gen_node_of(
      g, t, is_static(t) ? text : gen_ascribed(g->arena, t, text), &items);
}

/* --- Element by element ------------------------------------------------- */

enum { INTS = 1, FLOATS = 2, BOOLS = 4 };

typedef struct Elementwise {
  const char *text;
  int operands, of;
} Elementwise;

/* With which dtypes an operator goes. */
static const Elementwise elementwise[] = {
    {"($ + $)", 2, INTS | FLOATS},
    {"($ - $)", 2, INTS | FLOATS},
    {"($ * $)", 2, INTS | FLOATS},
    {"($ / $)", 2, INTS | FLOATS},
    {"mod($, $)", 2, INTS},
    {"maximum($, $)", 2, INTS | FLOATS},
    {"minimum($, $)", 2, INTS | FLOATS},
    {"bitwise_and($, $)", 2, INTS},
    {"bitwise_xor($, $)", 2, INTS},
    {"left_shift($, $)", 2, INTS},
    {"right_shift($, $)", 2, INTS},
    {"negative($)", 1, INTS | FLOATS},
    {"(-($))", 1, INTS | FLOATS},
    {"abs($)", 1, INTS | FLOATS},
    {"sign($)", 1, INTS | FLOATS},
    {"floor($)", 1, FLOATS},
    {"copy($)", 1, INTS | FLOATS | BOOLS},
    {"(!$)", 1, BOOLS},
    {"logical_and($, $)", 2, BOOLS},
    {"logical_or($, $)", 2, BOOLS},
    {"logical_xor($, $)", 2, BOOLS},
};

static int class_of(const GenType *t) {
  if (is(t, "bool")) return BOOLS;
  return is(t, "float32") ? FLOATS : INTS;
}

/* One of the two operands may be a scalar, which is broadcast. */
static const GenType *operand_type(Gen *g, const GenType *t, bool may_differ) {
  if (!may_differ || t->rank == 0 || !gen_chance(g, 30)) return t;
  return gen_scalar(g->arena, t->name);
}

/* A row that does not go with the dtype gives NULL, and another production is
 * tried. */
static GenNode *make_elementwise(Gen *g, const GenType *t) {
  size_t count = sizeof elementwise / sizeof *elementwise;
  const Elementwise *row = &elementwise[gen_below(g, (int)count)];
  if (!(row->of & class_of(t))) return NULL;
  GenNode *first = gen_expr(g, t);
  if (row->operands == 1) return gen_node(g, t, row->text, 1, first);
  GenNode *second = gen_expr(g, operand_type(g, t, true));
  return gen_node(g, t, row->text, 2, first, second);
}

/* The result is bool, the operands are not: the one place where a dtype is
 * chosen anew. */
static GenNode *make_comparison(Gen *g, const GenType *t) {
  static const char *const texts[] = {"($ < $)",  "($ <= $)", "($ > $)",
                                      "($ >= $)", "($ == $)", "($ != $)"};
  static const char *const dtypes[] = {"int32", "float32", "int64"};
  if (!is(t, "bool")) return NULL;
  const GenType *operand = like(g, t, dtypes[gen_below(g, 3)]);
  GenNode *left = gen_expr(g, operand);
  GenNode *right = gen_expr(g, operand_type(g, operand, true));
  return gen_node(g, t, texts[gen_below(g, 6)], 2, left, right);
}

/* Of scalars only: && and || evaluate the right side or not, and both machines
 * must do the same. */
static GenNode *make_logic(Gen *g, const GenType *t) {
  if (!is(t, "bool") || t->rank) return NULL;
  GenNode *left = gen_expr(g, t), *right = gen_expr(g, t);
  return gen_node(g, t, gen_chance(g, 50) ? "($ && $)" : "($ || $)", 2, left,
                  right);
}

/* Unlike `if`, this evaluates both of its values. */
static GenNode *make_where(Gen *g, const GenType *t) {
  GenNode *c = gen_expr(g, like(g, t, "bool"));
  GenNode *x = gen_expr(g, t), *y = gen_expr(g, t);
  return gen_node(g, t, "where($, $, $)", 3, c, x, y);
}

/* From any dtype, NaN and negative numbers included: what they become is
 * defined by the language. */
static GenNode *make_cast(Gen *g, const GenType *t) {
  static const char *const dtypes[] = {"int32", "float32", "int64", "uint8",
                                       "bool"};
  GenNode *from = gen_expr(g, like(g, t, dtypes[gen_below(g, 5)]));
  return gen_node(g, t, gen_textf(g, "cast($, dtype=\"%s\")", t->name), 1,
                  from);
}

/* --- Shapes ------------------------------------------------------------- */

/* From a vector of as many elements; sometimes by the dynamic form, whose shape
 * the checker does not see. */
static GenNode *make_reshape(Gen *g, const GenType *t) {
  if (t->rank == 0 || !is_static(t)) return NULL;
  int count = 1, flat;
  char *shape = gen_textf(g, "%s", "");
  for (int i = 0; i < t->rank; i++) {
    count *= t->dims[i];
    shape = gen_textf(g, "%s%s%d", shape, i ? ", " : "", t->dims[i]);
  }
  flat = count;
  const GenType *from = gen_tensor_of(g->arena, t->name, 1, &flat);
  bool dynamic = gen_chance(g, 25);
  return gen_node(
      g, t,
      gen_textf(g,
                dynamic ? "dyn.reshape($, [%s])" : "reshape($, newshape=[%s])",
                shape),
      1, gen_expr(g, from));
}

static GenNode *make_transpose(Gen *g, const GenType *t) {
  if (t->rank != 2) return NULL;
  int dims[] = {t->dims[1], t->dims[0]};
  const GenType *from = gen_tensor_of(g->arena, t->name, 2, dims);
  return gen_node(g, t, "transpose($, axes=[1, 0])", 1, gen_expr(g, from));
}

/* The same type with another length of axis 0. */
static const GenType *with_length(Gen *g, const GenType *t, int length) {
  GenType *made = ARENA_NEW(g->arena, GenType);
  *made = *t;
  made->dims[0] = length;
  return made;
}

/* The length is cut at a random place. */
static GenNode *make_concatenate(Gen *g, const GenType *t) {
  if (t->rank == 0 || t->dims[0] == 1) return NULL;
  bool any = t->dims[0] == GEN_ANY;
  int first = any ? GEN_ANY : 1 + gen_below(g, t->dims[0] - 1);
  GenNode *a = gen_expr(g, with_length(g, t, first));
  int rest = any ? 1 : t->dims[0] - first;
  GenNode *b = gen_expr(g, with_length(g, t, rest));
  return gen_node(g, t, "concatenate(($, $), axis=0)", 2, a, b);
}

/* Takes one part of an operand that is so many times as long. */
static GenNode *make_split(Gen *g, const GenType *t) {
  if (t->rank == 0 || t->dims[0] == GEN_ANY) return NULL;
  int parts = 1 + gen_below(g, 3);
  GenNode *from = gen_expr(g, with_length(g, t, t->dims[0] * parts));
  return gen_node(g, t,
                  gen_textf(g, "split($, indices_or_sections=%d, axis=0).%d",
                            parts, gen_below(g, parts)),
                  1, from);
}

/* Out of an operand that is longer by 0 or 1 on each side. */
static GenNode *make_slice(Gen *g, const GenType *t) {
  if (t->rank == 0 || t->dims[0] == GEN_ANY) return NULL;
  int before = gen_below(g, 2), after = gen_below(g, 2);
  GenNode *from = gen_expr(g, with_length(g, t, before + t->dims[0] + after));
  return gen_node(g, t,
                  gen_textf(g, "strided_slice($, begin=[%d], end=[%d])", before,
                            before + t->dims[0]),
                  1, from);
}

/* Any index will do: take clips it.  Hardly ever by mode "fast", which does not
 * clip: an index that is out of range ends the program, and after it nothing
 * is tested. */
static GenNode *make_take(Gen *g, const GenType *t) {
  if (t->rank == GEN_RANK) return NULL;
  int dims[GEN_RANK] = {gen_chance(g, 20) ? GEN_ANY : 1 + gen_below(g, 4)};
  for (int i = 0; i < t->rank; i++) dims[i + 1] = t->dims[i];
  const GenType *from = gen_tensor_of(g->arena, t->name, t->rank + 1, dims);
  GenNode *data = gen_expr(g, from);
  GenNode *index = gen_expr(g, gen_scalar(g->arena, "int32"));
  bool fast = gen_chance(g, 4);
  return gen_node(
      g, t, fast ? "take($, $, axis=0, mode=\"fast\")" : "take($, $, axis=0)",
      2, data, index);
}

/* No empty axes, as max and min have no value there. */
static GenNode *make_reduce(Gen *g, const GenType *t) {
  static const char *const texts[] = {"sum($, axis=[0])", "max($, axis=[0])",
                                      "min($, axis=[0])"};
  if (t->rank == GEN_RANK || is(t, "bool")) return NULL;
  int dims[GEN_RANK] = {1 + gen_below(g, 4)};
  for (int i = 0; i < t->rank; i++) dims[i + 1] = t->dims[i];
  const GenType *from = gen_tensor_of(g->arena, t->name, t->rank + 1, dims);
  return gen_node(g, t, texts[gen_below(g, 3)], 1, gen_expr(g, from));
}

/* Only where the first axis is 1, since that is what expand_dims() makes. */
static GenNode *make_expand(Gen *g, const GenType *t) {
  if (t->rank < 2 || t->dims[0] != 1) return NULL;
  const GenType *from =
      gen_tensor_of(g->arena, t->name, t->rank - 1, t->dims + 1);
  return gen_node(g, t, "expand_dims($, axis=0)", 1, gen_expr(g, from));
}

static GenNode *make_reverse(Gen *g, const GenType *t) {
  if (t->rank == 0) return NULL;
  return gen_node(g, t, "reverse($, axis=0)", 1, gen_expr(g, t));
}

static GenNode *make_filled(Gen *g, const GenType *t) {
  if (t->rank == 0 || !is_static(t)) return NULL;
  char *shape = gen_textf(g, "%d", t->dims[0]);
  for (int i = 1; i < t->rank; i++)
    shape = gen_textf(g, "%s, %d", shape, t->dims[i]);
  GenNode *value = gen_expr(g, gen_scalar(g->arena, t->name));
  return gen_node(g, t, gen_textf(g, "full($, shape=[%s])", shape), 1, value);
}

/* A length that is known only at run time.  Between 1 and 4, whatever the
 * expression gives: an expression may give 2147483647. */
static GenNode *make_arange(Gen *g, const GenType *t) {
  if (t->rank != 1 || t->dims[0] != GEN_ANY || !is(t, "int32")) return NULL;
  GenNode *stop = gen_expr(g, gen_scalar(g->arena, "int32"));
  return gen_node(g, t, "arange(minimum(maximum($, 1), 4))", 1, stop);
}

/* --- `?` and numbers ---------------------------------------------------- */

/* A tensor of known shape, passed through a function whose result type forgets
 * it.  The function's result type has `?` where the operand's has a number, and
 * nothing else of the checker's knowledge gets through it.  So everything
 * after must be prepared for any length. */
static GenNode *make_forgotten(Gen *g, const GenType *t) {
  if (is_static(t)) return NULL;
  const char *type = gen_type_name(g, t);
  GenNode *from = gen_expr(g, gen_concrete(g, t));
  return gen_node(g, t,
                  gen_textf(g, "(fn (%%u: %s) -> %s { %%u })($)", type, type),
                  1, from);
}

/* A tensor of unknown shape where a known one is required: a run-time check.
 * In a few of them the shape does not fit: then both machines must report the
 * same line. */
static GenNode *make_checked(Gen *g, const GenType *t) {
  if (t->rank == 0 || !is_static(t) || !gen_chance(g, 30)) return NULL;
  GenType *open = ARENA_NEW(g->arena, GenType);
  *open = *t;
  open->dims[gen_below(g, t->rank)] = GEN_ANY;
  const char *type = gen_type_name(g, t), *wide = gen_type_name(g, open);
  GenNode *from = gen_expr(g, gen_chance(g, 85) ? t : open);
  static const char *const texts[] = {
      "(fn (%%u: %s) -> %s { %%u })((fn (%%v: %s) -> %s { %%v })($))",
      "{ let %%u: %s = (fn (%%w: %s) -> %s { %%w })($);\n %%u }",
  };
  char *text = gen_chance(g, 50)
                   ? gen_textf(g, texts[0], type, type, wide, wide)
                   : gen_textf(g, texts[1], type, wide, wide);
  return gen_node(g, t, text, 1, from);
}

/* --- All ---------------------------------------------------------------- */

static const GenRow rows[] = {
    {6, gen_literal},      {2, make_stack},   {10, make_elementwise},
    {6, make_comparison},  {3, make_logic},   {2, make_where},
    {2, make_cast},        {2, make_reshape}, {2, make_transpose},
    {2, make_concatenate}, {2, make_split},   {2, make_slice},
    {2, make_take},        {2, make_reduce},  {2, make_expand},
    {1, make_reverse},     {1, make_filled},  {3, make_arange},
    {3, make_forgotten},   {3, make_checked},
};

/* Weights prefer what combines well: element-wise operators, and comparisons,
 * which make conditions. */
GenNode *gen_tensor(Gen *g, const GenType *t) {
  return gen_pick(g, t, rows, sizeof rows / sizeof *rows);
}
