/* Operators on scalars: which instruction, if there is one of its own. */
#include "interp/lower/lower.h"

#define NONE INS_COUNT

typedef struct Arithmetic {
  OpId op;
  DType dtype;
  InsCode ins, immediate;
  bool negated; /* the immediate form takes the negative constant */
} Arithmetic;

#define INT_ROWS(T, t)                                              \
  {OP_ADD, DT_##T, INS_add_##t, INS_add_##t##_imm, false},          \
      {OP_SUBTRACT, DT_##T, INS_sub_##t, INS_add_##t##_imm, true},  \
      {OP_MULTIPLY, DT_##T, INS_mul_##t, INS_mul_##t##_imm, false}, \
      {OP_DIVIDE, DT_##T, INS_div_##t, INS_div_##t##_imm, false}, { \
    OP_MOD, DT_##T, INS_mod_##t, INS_mod_##t##_imm, false           \
  }
#define FLOAT_ROWS(T, t)                                 \
  {OP_ADD, DT_##T, INS_add_##t, NONE, false},            \
      {OP_SUBTRACT, DT_##T, INS_sub_##t, NONE, false},   \
      {OP_MULTIPLY, DT_##T, INS_mul_##t, NONE, false}, { \
    OP_DIVIDE, DT_##T, INS_div_##t, NONE, false          \
  }

static const Arithmetic arithmetic[] = {
    INT_ROWS(INT32, i32),
    INT_ROWS(INT64, i64),
    FLOAT_ROWS(FLOAT32, f32),
    FLOAT_ROWS(FLOAT64, f64),
    {OP_LOGICAL_AND, DT_BOOL, INS_and_bool, NONE, false},
    {OP_LOGICAL_OR, DT_BOOL, INS_or_bool, NONE, false},
};

/* One of two operands, maybe the other way round. */
typedef struct Form {
  InsCode ins;
  bool swapped;
} Form;

typedef struct Comparison {
  OpId op;
  DType dtype;
  Form value, yes, no; /* as a value; to branch when it holds, when not */
  InsCode yes_immediate, no_immediate;
} Comparison;

/* On integers the opposite of a < b is b <= a. */
#define INT_COMPARISONS(T, t)                                            \
  {OP_LESS,                                                              \
   DT_##T,                                                               \
   {INS_lt_##t, false},                                                  \
   {INS_if_lt_##t, false},                                               \
   {INS_if_le_##t, true},                                                \
   INS_if_lt_##t##_imm,                                                  \
   INS_if_ge_##t##_imm},                                                 \
      {OP_LESS_EQUAL,         DT_##T,                                    \
       {INS_le_##t, false},   {INS_if_le_##t, false},                    \
       {INS_if_lt_##t, true}, INS_if_le_##t##_imm,                       \
       INS_if_gt_##t##_imm},                                             \
      {OP_GREATER,                                                       \
       DT_##T,                                                           \
       {INS_lt_##t, true},                                               \
       {INS_if_lt_##t, true},                                            \
       {INS_if_le_##t, false},                                           \
       INS_if_gt_##t##_imm,                                              \
       INS_if_le_##t##_imm},                                             \
      {OP_GREATER_EQUAL,       DT_##T,                                   \
       {INS_le_##t, true},     {INS_if_le_##t, true},                    \
       {INS_if_lt_##t, false}, INS_if_ge_##t##_imm,                      \
       INS_if_lt_##t##_imm},                                             \
      {OP_EQUAL,                                                         \
       DT_##T,                                                           \
       {INS_eq_##t, false},                                              \
       {INS_if_eq_##t, false},                                           \
       {INS_if_ne_##t, false},                                           \
       INS_if_eq_##t##_imm,                                              \
       INS_if_ne_##t##_imm},                                             \
  {                                                                      \
    OP_NOT_EQUAL, DT_##T, {NONE, false}, {INS_if_ne_##t, false},         \
        {INS_if_eq_##t, false}, INS_if_ne_##t##_imm, INS_if_eq_##t##_imm \
  }
#define FLOAT_COMPARISON(OP, T, ins, t, swapped)                          \
  {                                                                       \
    OP_##OP, DT_##T, {INS_##ins##_##t, swapped},                          \
        {INS_if_##ins##_##t, swapped}, {INS_unless_##ins##_##t, swapped}, \
        NONE, NONE                                                        \
  }
#define FLOAT_COMPARISONS(T, t)                                      \
  FLOAT_COMPARISON(LESS, T, lt, t, false),                           \
      FLOAT_COMPARISON(LESS_EQUAL, T, le, t, false),                 \
      FLOAT_COMPARISON(GREATER, T, lt, t, true),                     \
      FLOAT_COMPARISON(GREATER_EQUAL, T, le, t, true),               \
      FLOAT_COMPARISON(EQUAL, T, eq, t, false), {                    \
    OP_NOT_EQUAL, DT_##T, {NONE, false}, {INS_unless_eq_##t, false}, \
        {INS_if_eq_##t, false}, NONE, NONE                           \
  }

static const Comparison comparisons[] = {
    INT_COMPARISONS(INT32, i32),
    INT_COMPARISONS(INT64, i64),
    FLOAT_COMPARISONS(FLOAT32, f32),
    FLOAT_COMPARISONS(FLOAT64, f64),
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const Arithmetic *arithmetic_of(int op, DType dtype) {
  for (size_t i = 0; i < COUNT(arithmetic); i++) {
    const Arithmetic *row = &arithmetic[i];
    if ((int)row->op == op && row->dtype == dtype) return row;
  }
  return NULL;
}

static const Comparison *comparison_of(int op, DType dtype) {
  for (size_t i = 0; i < COUNT(comparisons); i++) {
    const Comparison *row = &comparisons[i];
    if ((int)row->op == op && row->dtype == dtype) return row;
  }
  return NULL;
}

/* Is `e` an integer literal that fits an immediate? */
static bool small_literal(const Expr *e, int64_t *value) {
  if (e->kind != EX_CONST || e->constant->rank != 0) return false;
  DType dtype = e->constant->dtype;
  if (dtype != DT_INT32 && dtype != DT_INT64) return false;
  *value = bits_to_i64(dtype, bits_load(dtype, e->constant->data));
  return *value > INT16_MIN && *value <= INT16_MAX;
}

static bool put_immediate(Lower *l, const Arithmetic *row, const Expr *right,
                          Reg dst, Reg left) {
  int64_t value;
  if (row->immediate == NONE || !small_literal(right, &value)) return false;
  bool divides = row->op == OP_DIVIDE || row->op == OP_MOD;
  if (divides && (value == 0 || value == -1)) return false;
  if (row->negated) value = -value;
  put(l, row->immediate, dst, left, (uint32_t)value);
  return true;
}

/* --- As values ---------------------------------------------------------- */

static DType dtype_of(const Expr *e) { return (DType)e->type->dtype; }

/* Any other element-wise operator, by its function. */
static void put_generic(Lower *l, const Expr *e, ScalarFn fn, Reg dst,
                        const Reg *regs) {
  ScalarSite *site = ARENA_NEW(&l->code->arena, ScalarSite);
  *site = (ScalarSite){fn, op_info(e->call.callee->op), {dtype_of(e)}};
  int n = e->count;
  for (int i = 0; i < n; i++) site->types[1 + i] = dtype_of(e->args[i]);
  if (n == 1) {
    put_word(l, INS_scalar1, dst, regs[0], 0, site);
    return;
  }
  put_word(l, n == 2 ? INS_scalar2 : INS_scalar3, dst, regs[0], regs[1], site);
  if (n == 3) put_listed(l, 'u', regs[2]);
}

ScalarFn scalar_function(const Expr *e) {
  if (e->count < 1 || e->count > 3 || !type_is_scalar(e->type)) return NULL;
  for (int i = 0; i < e->count; i++)
    if (!type_is_scalar(e->args[i]->type)) return NULL;
  return op_scalar((OpId)e->call.callee->op, dtype_of(e->args[0]), dtype_of(e));
}

static void scalar_operands(Lower *l, const Expr *e, Reg first, Reg *regs) {
  for (int i = 0; i < e->count; i++) {
    regs[i] =
        i == 0 && first != NO_REG ? first : lower_expr(l, e->args[i], DST_ANY);
  }
  l->span = e->span;
}

static void lower_compared(Lower *l, const Expr *e, const Comparison *row,
                           Reg first, Reg dst) {
  Reg regs[3];
  scalar_operands(l, e, first, regs);
  bool swapped = row->value.swapped;
  put(l, row->value.ins, dst, regs[swapped], regs[!swapped]);
}

void lower_scalar(Lower *l, const Expr *e, ScalarFn fn, Reg first, Reg dst) {
  int op = e->call.callee->op;
  const Arithmetic *row = arithmetic_of(op, dtype_of(e->args[0]));
  const Comparison *compare = comparison_of(op, dtype_of(e->args[0]));
  Reg regs[3];
  if (row && row->immediate != NONE) {
    int64_t value;
    if (first == NO_REG) first = lower_expr(l, e->args[0], DST_ANY);
    l->span = e->span;
    if (small_literal(e->args[1], &value) &&
        put_immediate(l, row, e->args[1], dst, first))
      return;
  }
  if (compare && compare->value.ins != NONE) {
    lower_compared(l, e, compare, first, dst);
    return;
  }
  scalar_operands(l, e, first, regs);
  if (row) put(l, row->ins, dst, regs[0], regs[1]);
  else if (op == OP_LOGICAL_NOT) put(l, INS_not_bool, dst, regs[0], 0);
  else put_generic(l, e, fn, dst, regs);
}

/* --- As branches -------------------------------------------------------- */

/* Fused compare and branch: to `to` when the comparison is `sense`. */
static bool branch_compare(Lower *l, const Expr *e, bool sense, Label to) {
  if (e->kind != EX_CALL || e->call.callee->kind != EX_OP || e->count != 2 ||
      !scalar_function(e))
    return false;
  const Comparison *row =
      comparison_of(e->call.callee->op, dtype_of(e->args[0]));
  if (!row) return false;
  InsCode immediate = sense ? row->yes_immediate : row->no_immediate;
  int64_t value;
  Reg left = lower_expr(l, e->args[0], DST_ANY);
  if (immediate != NONE && small_literal(e->args[1], &value)) {
    l->span = e->span;
    put(l, immediate, left, (uint32_t)value, to);
    return true;
  }
  Reg right = lower_expr(l, e->args[1], DST_ANY);
  Form form = sense ? row->yes : row->no;
  l->span = e->span;
  put(l, form.ins, form.swapped ? right : left, form.swapped ? left : right,
      to);
  return true;
}

/* Evaluating it can be left out: no effect, no failure, cheap to ask. */
static bool is_plain(const Expr *e, int depth) {
  if (e->kind == EX_VAR) return !e->var->lazy;
  if (e->kind == EX_CONST) return true;
  if (depth == 0 || e->kind != EX_CALL || e->call.callee->kind != EX_OP ||
      op_info(e->call.callee->op)->flags & OP_MAY_FAIL || !scalar_function(e))
    return false;
  for (int i = 0; i < e->count; i++)
    if (!is_plain(e->args[i], depth - 1)) return false;
  return true;
}

enum { PLAIN_DEPTH = 6 };

bool expr_is_plain(const Expr *e) { return is_plain(e, PLAIN_DEPTH); }

static bool is_literal_bool(const Expr *e, bool value) {
  if (e->kind != EX_CONST || e->constant->dtype != DT_BOOL) return false;
  bool is_true = *(const uint8_t *)e->constant->data != 0;
  return e->constant->rank == 0 && is_true == value;
}

/* A connective that may short-circuit: `a && b`, `a || b`, or the operators
 * logical_and, logical_or where evaluating b can be left out.  Gives its
 * operands. */
static bool is_connective(const Expr *e, bool *is_and, const Expr **a,
                          const Expr **b) {
  if (e->kind == EX_IF) {
    *is_and = is_literal_bool(e->args[2], false);
    if (!*is_and && !is_literal_bool(e->args[1], true)) return false;
    *a = e->args[0];
    *b = e->args[*is_and ? 1 : 2];
    return true;
  }
  if (e->kind != EX_CALL || e->call.callee->kind != EX_OP || e->count != 2 ||
      !type_is_scalar(e->args[0]->type) || !is_plain(e->args[1], PLAIN_DEPTH))
    return false;
  int op = e->call.callee->op;
  *is_and = op == OP_LOGICAL_AND;
  *a = e->args[0];
  *b = e->args[1];
  return *is_and || op == OP_LOGICAL_OR;
}

static void branch(Lower *l, const Expr *e, bool sense, Label to);

/* To `to` when (a and b and ...) == sense; `or` is the dual.  A chain is
 * left-deep: it is walked, not recursed into. */
static void branch_connective(Lower *l, const Expr *e, bool is_and, bool sense,
                              Label to) {
  VEC(const Expr *) parts;
  VEC_INIT(&parts, l->code->mem);
  const Expr *part = e, *left, *right;
  bool kind;
  while (is_connective(part, &kind, &left, &right) && kind == is_and) {
    VEC_PUSH(&parts, right);
    part = left;
  }
  bool all = is_and == sense; /* every one decides, or any of them */
  Label skip = all ? label_new(l) : to;
  branch(l, part, all ? !sense : sense, skip);
  size_t mark = lazy_mark(l);
  while (parts.len) {
    part = VEC_POP(&parts);
    bool last = parts.len == 0;
    branch(l, part, all && !last ? !sense : sense, last ? to : skip);
  }
  VEC_DONE(&parts);
  lazy_branch_done(l, mark);
  lazy_join(l, mark);
  if (all) put_label(l, skip);
}

static void branch(Lower *l, const Expr *e, bool sense, Label to) {
  bool is_and;
  const Expr *a, *b;
  while (e->kind == EX_CALL && e->call.callee->kind == EX_OP &&
         e->call.callee->op == OP_LOGICAL_NOT && type_is_scalar(e->type)) {
    e = e->args[0];
    sense = !sense;
  }
  if (is_connective(e, &is_and, &a, &b)) {
    branch_connective(l, e, is_and, sense, to);
  } else if (!branch_compare(l, e, sense, to)) {
    Reg r = lower_expr(l, e, DST_ANY);
    l->span = e->span;
    put(l, sense ? INS_if_true : INS_unless, r, 0, to);
  }
}

void lower_condition(Lower *l, const Expr *e, Label otherwise) {
  branch(l, e, false, otherwise);
}
