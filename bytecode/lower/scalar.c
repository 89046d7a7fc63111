/* Operators on scalars: which instruction, if there is one of its own.
 *
 *   %a + %b         add_i32 r, a, b        an instruction of the table
 *   %a - 3          add_i32_imm r, a, -3   with an immediate
 *   if (%a > %b)    if_le_i32 a, b         integers: to the else branch
 *   if (%a < %b)    unless_lt_f32 a, b     floats: likewise
 *   exp(%x)         scalar1 r, x, site     by the operator's function
 *
 * Conditions are branches and no values: `if (a < b && c)` becomes two jumps,
 * fused with their comparisons, and no truth value is ever in a register.
 * A comparison of floats is not negated by taking the other sense, as NaN is
 * neither less nor greater: the row names the jump that is taken just where the
 * first is not. */
#include "bytecode/lower/lower.h"

/* --- Which instruction -------------------------------------------------- */

/* An instruction on two operands, maybe with b and c swapped; INS_COUNT: there
 * is none. */
typedef struct Form {
  InsCode ins;
  bool swapped;
} Form;

/* The instructions that code.def has for an operator.  There is no `greater` of
 * two registers: it is `less` with its operands swapped. */
static Form form_of(const OpInfo *op, DType dtype, const char *operands) {
  Form form = {.ins = ins_scalar(op_id(op), dtype, operands)};
  if (form.ins != INS_COUNT || !op->swapped) return form;
  return (Form){ins_scalar(op_id(op->swapped), dtype, operands), true};
}

/* The conditional jump that goes where this one does not. */
static Form opposite_of(Form form) {
  const InsInfo *row = &ins_info[form.ins];
  InsCode forward = (InsCode)(row->opposite - 1); /* see ins_back() */
  return (Form){forward, form.swapped != row->swapped};
}

/* Is `e` an integer literal that fits an immediate? */
static bool small_literal(const Expr *e, int64_t *value) {
  if (e->kind != EX_CONST || e->constant->rank != 0) return false;
  DType dtype = e->constant->dtype;
  if (dtype != DT_INT32 && dtype != DT_INT64) return false;
  *value = bits_to_i64(dtype, bits_load(dtype, e->constant->data));
  return *value > INT16_MIN && *value <= INT16_MAX;
}

/* dst = left operator literal, where an instruction has room for the literal:
 * x - 3 is x + -3, and a division by 0 or by -1 is no plain one. */
static bool put_immediate(Lower *l, const OpInfo *op, const Expr *right,
                          Reg dst, Reg left) {
  int64_t value;
  bool divides = op->fails == FAILS_DIVISOR;
  if (!small_literal(right, &value) || (divides && (value == 0 || value == -1)))
    return false;
  if (op->negated) value = -value;
  InsCode ins = ins_scalar(op_id(op->negated ? op->negated : op),
                           (DType)right->type->dtype, "bui");
  if (ins == INS_COUNT) return false;
  put(l, ins, dst, left, (uint32_t)value);
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

/* NULL also where there is no function for these dtypes: the call is one of an
 * `op` then. */
ScalarFn scalar_function(const Expr *e) {
  if (e->count < 1 || e->count > 3 || !type_is_scalar(e->type)) return NULL;
  if (e->call.bound && attrs_have_operands(e->call.bound)) return NULL;
  for (int i = 0; i < e->count; i++)
    if (!type_is_scalar(e->args[i]->type)) return NULL;
  return op_scalar((OpId)e->call.callee->op, dtype_of(e->args[0]), dtype_of(e));
}

/* The operand's bits: where the code is differentiated a float has none. */
static Reg bits_of(Lower *l, Reg r, const Expr *e) {
  bool boxed = lower_is_dual(l) && type_is_float_scalar(e->type);
  return boxed ? lower_plain(l, r, e->type) : r;
}

static Reg lower_bits(Lower *l, const Expr *e) {
  return bits_of(l, lower_expr(l, e, DST_ANY), e);
}

void lower_scalar(Lower *l, const Expr *e, ScalarFn fn, Reg first, Reg dst) {
  const OpInfo *op = op_info(e->call.callee->op);
  int n = e->count;
  DType dtype = dtype_of(e->args[0]);
  Reg regs[3] = {first, 0, 0};
  if (first == NO_REG) regs[0] = lower_expr(l, e->args[0], DST_ANY);
  regs[0] = bits_of(l, regs[0], e->args[0]);
  l->span = e->span;
  if (n == 2 && put_immediate(l, op, e->args[1], dst, regs[0])) return;
  for (int i = 1; i < n; i++) regs[i] = lower_bits(l, e->args[i]);
  l->span = e->span;
  Form form = form_of(op, dtype, n == 1 ? "bu." : "buu");
  if (form.ins == INS_COUNT) put_generic(l, e, fn, dst, regs);
  else put(l, form.ins, dst, regs[form.swapped], regs[!form.swapped]);
}

static void put_generic_site(Lower *l, const OpSite *site, ScalarFn fn,
                             const Reg *regs, Reg dst) {
  ScalarSite *scalar = ARENA_NEW(&l->code->arena, ScalarSite);
  int n = site->source_count;
  *scalar = (ScalarSite){fn, site->op, {(DType)site->out_types[0]->dtype}};
  for (int i = 0; i < n; i++)
    scalar->types[1 + i] = (DType)site->sources[i].type->dtype;
  put_word(l,
           n == 1   ? INS_scalar1
           : n == 2 ? INS_scalar2
                    : INS_scalar3,
           dst, regs[0], n > 1 ? regs[1] : 0, scalar);
  if (n == 3) put_listed(l, 'u', regs[2]);
}

bool lower_scalar_site(Lower *l, const OpSite *site, const Reg *operands,
                       Reg dst) {
  int n = site->source_count;
  if (n < 1 || n > 3 || site->out_count != 1 ||
      !type_is_scalar(site->out_types[0]))
    return false;
  for (int i = 0; i < n; i++)
    if (!type_is_scalar(site->sources[i].type)) return false;
  DType dtype = (DType)site->sources[0].type->dtype;
  ScalarFn fn =
      op_scalar(op_id(site->op), dtype, (DType)site->out_types[0]->dtype);
  if (!fn) return false;
  Form form = form_of(site->op, dtype, n == 1 ? "bu." : "buu");
  if (form.ins == INS_COUNT) put_generic_site(l, site, fn, operands, dst);
  else
    put(l, form.ins, dst, operands[form.swapped],
        n == 1 ? 0 : operands[!form.swapped]);
  return true;
}

/* --- As branches -------------------------------------------------------- */

/* Fused compare and branch: to `to` when the comparison is `sense`. */
static bool branch_compare(Lower *l, const Expr *e, bool sense, Label to) {
  if (e->kind != EX_CALL || e->call.callee->kind != EX_OP || e->count != 2 ||
      !scalar_function(e))
    return false;
  const OpInfo *op = op_info(e->call.callee->op);
  DType dtype = dtype_of(e->args[0]);
  Form form = form_of(op, dtype, "uuj");
  Form immediate = {ins_scalar(op_id(op), dtype, "uij"), false};
  if (form.ins == INS_COUNT) return false;
  int64_t value;
  Reg left = lower_bits(l, e->args[0]);
  if (immediate.ins != INS_COUNT && small_literal(e->args[1], &value)) {
    l->span = e->span;
    if (!sense) immediate = opposite_of(immediate);
    put(l, immediate.ins, left, (uint32_t)value, to);
    return true;
  }
  Reg right = lower_bits(l, e->args[1]);
  if (!sense) form = opposite_of(form);
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
      op_info(e->call.callee->op)->fails || !scalar_function(e))
    return false;
  for (int i = 0; i < e->count; i++)
    if (!is_plain(e->args[i], depth - 1)) return false;
  return true;
}

enum { PLAIN_DEPTH = 6 };

bool expr_is_plain(const Expr *e) { return is_plain(e, PLAIN_DEPTH); }

/* What `&&` and `||` have become in the tree: an `if` one of whose branches is
 * a literal. */
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
  OpLogic logic = op_info(e->call.callee->op)->logic;
  *is_and = logic == LOGIC_AND;
  *a = e->args[0];
  *b = e->args[1];
  return *is_and || logic == LOGIC_OR;
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

typedef struct BranchCall {
  Lower *l;
  const Expr *e;
  bool sense;
  Label to;
} BranchCall;

static void run_branch(void *call) {
  BranchCall *c = call;
  branch(c->l, c->e, c->sense, c->to);
}

/* Negations only turn the sense. */
static void branch(Lower *l, const Expr *e, bool sense, Label to) {
  if (split_is_used_up(&l->stack)) {
    BranchCall call = {l, e, sense, to};
    l->failed |= !split_call(&l->stack, run_branch, &call);
    return;
  }
  bool is_and;
  const Expr *a, *b;
  while (e->kind == EX_CALL && e->call.callee->kind == EX_OP &&
         op_info(e->call.callee->op)->logic == LOGIC_NOT &&
         type_is_scalar(e->type)) {
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

/* Falls through where the condition holds: the then branch stands next. */
void lower_condition(Lower *l, const Expr *e, Label otherwise) {
  branch(l, e, false, otherwise);
}

void lower_unless_literal(Lower *l, Reg r, const Tensor *literal,
                          Label otherwise) {
  DType dtype = (DType)literal->dtype;
  Value bits = bits_load(dtype, literal->data);
  InsCode immediate = ins_scalar(OP_EQUAL, dtype, "uij");
  Form form = form_of(op_info(OP_EQUAL), dtype, "uuj");
  int64_t value = dtype_is_float(dtype) ? 0 : bits_to_i64(dtype, bits);
  bool small =
      !dtype_is_float(dtype) && value > INT16_MIN && value <= INT16_MAX;
  if (immediate != INS_COUNT && small) {
    Form is = opposite_of((Form){immediate, false});
    put(l, is.ins, r, (uint32_t)value, otherwise);
    return;
  }
  Reg right = reg_new(l, false), holds = reg_new(l, false);
  put_bits(l, right, bits.bits);
  if (form.ins != INS_COUNT) {
    form = opposite_of(form);
    put(l, form.ins, form.swapped ? right : r, form.swapped ? r : right,
        otherwise);
    return;
  }
  ScalarSite *site = ARENA_NEW(&l->code->arena, ScalarSite);
  *site = (ScalarSite){op_scalar(OP_EQUAL, dtype, DT_BOOL),
                       op_info(OP_EQUAL),
                       {DT_BOOL, dtype, dtype}};
  put_word(l, INS_scalar2, holds, r, right, site);
  put(l, INS_unless, holds, 0, otherwise);
}
