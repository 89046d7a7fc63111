/* Code that is differentiated, and the forms that ask for it.
 *
 * There is no second program: a function that is differentiated is lowered once
 * more, in an environment that is `dual` (code.h), where a float scalar is a
 * counted object like any tensor and an operator is recorded.  So calls,
 * closures, matches, cells and recursion need nothing of their own.
 *
 *   vjp(f, x...)
 *     begin    the inputs become the leaves of a new tape
 *     apply    f, as differentiated code
 *     end      the value without its record; the tape keeps the record
 *   the function that gives the adjoints captures the tape
 *     pull     the reverse sweep (vm/pull.c)
 *
 *   grad(f)    fn (x...): the same with an adjoint of one
 *   jvp(f, x, t)
 *     begin    as above, but records have tangents, and no operands
 *              (vm/forward.c)
 *     along    the tangents of the inputs are t
 *     apply    f, as differentiated code
 *     end      the value without its record
 *     tangent  the tangent in that record */
#include "bytecode/lower/lower.h"

/* --- Registers ------------------------------------------------------------ */

bool type_varies(Lower *l, const Type *type) {
  type = env_type(l->code, l->env, type);
  for (int i = 0; type->kind == TY_TUPLE && i < type->count; i++)
    if (type_varies(l, type->args[i])) return true;
  return type->kind == TY_TENSOR ? dtype_is_float((DType)type->dtype)
                                 : type->kind != TY_TUPLE;
}

void lower_part(Lower *l, Reg r, Reg cell, uint32_t word, const Type *type) {
  if (!is_counted(l, type)) {
    put(l, INS_field, r, cell, word);
    put_listed(l, 'u', cell);
    return;
  }
  put_word(l, INS_part, r, cell, word, env_type(l->code, l->env, type));
}

Reg lower_plain(Lower *l, Reg r, const Type *type) {
  type = env_type(l->code, l->env, type);
  if (!is_counted(l, type)) return r;
  Reg plain = reg_new(l, type_is_counted(type));
  put_word(l, INS_plain, plain, r, 0, type);
  return plain;
}

Reg lower_boxed(Lower *l, Reg bits, const Type *type) {
  Reg r = reg_new(l, true);
  put_word(l, INS_box, r, bits, 0, env_type(l->code, l->env, type));
  return r;
}

Function *lower_callee(Lower *l, Function *f) {
  return f && lower_is_dual(l) ? code_dual(l->code, f) : f;
}

/* --- Runs ----------------------------------------------------------------- */

typedef struct Run {
  Reg value, tape;
} Run;

/* NULL: memory ran out, which makes a type an error. */
static const Type *fn_or_failed(Lower *l, const Type *type) {
  l->failed |= type->kind != TY_FN;
  return type->kind == TY_FN ? type : NULL;
}

static const Type *fn_type(Lower *l, const Expr *f) {
  return fn_or_failed(l, env_type(l->code, l->env, f->type));
}

/* Which parts of what the function takes and gives are floats, only its type
 * tells. */
static void must_know(Lower *l, const Expr *f) {
  l->unknown |= !type_is_known(l, f->type);
}

/* The value of the function in `f` at the inputs, and their tape; `tangents`:
 * of the inputs, where the run is forward. */
static Run put_run(Lower *l, Reg f, const Type *type, const Reg *inputs,
                   const Reg *tangents) {
  const Env *outer = l->env, *dual = env_dual(l->code, outer);
  int n = type->count, base = l->out;
  int first = (int)cell_offset(TAPE_INPUTS + n) + TAPE_INPUTS;
  Reg tape = reg_new(l, true);
  uint32_t flags =
      (lower_is_dual(l) ? RUN_DUAL : 0) | (tangents ? RUN_FORWARD : 0);
  put_word(l, INS_begin, tape, (uint32_t)n, flags, type);
  for (int i = 0; i < n; i++) put_listed(l, 'm', inputs[i]);
  if (tangents) put_word(l, INS_along, tape, *tangents, 0, type);
  l->out += n + 1;
  Reg *args = ARENA_ARRAY(l->arena, Reg, (size_t)n + 1);
  if (!args) return (Run){lower_failed(l), tape};
  l->env = dual;
  for (int i = 0; i < n; i++) {
    args[i] = reg_out(l, base + i, is_counted(l, type->args[i]));
    lower_part(l, args[i], tape, (uint32_t)(first + i), type->args[i]);
  }
  Reg given = reg_new(l, is_counted(l, type->result));
  l->env = outer;
  args[n] = reg_out(l, base + n, true);
  put(l, INS_move, args[n], f, 0);
  put(l, INS_dual_apply, given, (uint32_t)base, (uint32_t)n + 1);
  for (int i = 0; i <= n; i++) put_listed(l, 'm', args[i]);
  l->out = base;
  Reg value = reg_of_type(l, type->result);
  put_word(l, INS_end, value, tape, given, type);
  return (Run){value, tape};
}

/* The tuple of the adjoints. */
static Reg put_pull(Lower *l, Reg tape, Reg seed, const Type *type) {
  Reg r = reg_new(l, true);
  int room = l->out + RULE_ARGS_MOST + 4; /* for a rule's arguments */
  if (room > l->max_out) l->max_out = room;
  put_word(l, INS_pull, r, lower_is_dual(l), (uint32_t)l->out, type);
  put_listed(l, 'u', tape);
  put_listed(l, 'u', seed);
  return r;
}

static Reg put_one(Lower *l, const Type *type) {
  Reg bits = reg_new(l, false);
  put_bits(l, bits, bits_from_f64((DType)type->dtype, 1).bits);
  return lower_is_dual(l) ? lower_boxed(l, bits, type) : bits;
}

/* --- Functions that forms give ------------------------------------------ */

enum { CAPTURES_MOST = 2 };

/* A closure of what the form gives, which captures so many values. */
static Reg put_closure_of(Lower *l, const Expr *e, int count,
                          const Reg *captured, const Type *const *types) {
  Arena *arena = &l->code->arena;
  FnGroup *g = ARENA_NEW(arena, FnGroup);
  FreeVar *free = ARENA_ARRAY(arena, FreeVar, CAPTURES_MOST);
  if (!free) return lower_failed(l);
  for (int i = 0; i < count; i++) {
    Var *var = ARENA_NEW(arena, Var);
    *var = (Var){.type = types[i], .name = l->code->nameless, .span = e->span};
    free[i] = (FreeVar){.var = var, .captured = true, .counted = true};
  }
  *g = (FnGroup){.free_count = count, .capture_count = count, .free = free};
  if (lower_is_dual(l)) g->captured = captured_types(l, g);
  Function *f = code_instance(
      l->code,
      (InstanceKey){
          .kind = FUNCTION_FORM, .expr = e, .env = l->env, .group = g});
  union {
    Obj obj;
    uint64_t word;
  } header = {.obj = {.count = 1,
                      .tag = TAG_CLOSURE,
                      .size = (uint16_t)(CLOSURE_CAPTURES + count) & SIZE_BITS,
                      .mask = count > 1 ? 3 << CLOSURE_CAPTURES
                                        : 1 << CLOSURE_CAPTURES}};
  Reg r = reg_new(l, true);
  Ins *ins = put_word(l, INS_closure, r, (uint32_t)count, 0, f);
  ins->words[1] = header.word;
  for (int i = 0; i < count; i++) put_listed(l, 'm', captured[i]);
  return r;
}

/* A tape has no type of its own: it is looked into by the sweep alone. */
static Reg put_tape_closure(Lower *l, const Expr *e, Reg tape) {
  const Type *type = type_unit(l->code->program->types);
  return put_closure_of(l, e, 1, &tape, &type);
}

/* Has what the form gives the parameters of its function?  Else it takes the
 * adjoint of the value. */
static bool has_params(const Expr *e) {
  OpSpecial form = op_info(e->call.callee->op)->special;
  return form == SPECIAL_GRAD || form == SPECIAL_WITH_VJP ||
         form == SPECIAL_CHECKPOINT;
}

int form_param_count(const Expr *e) {
  return has_params(e) ? e->args[0]->type->count : 1;
}

const Type *form_param_type(const Expr *e, int i) {
  const Type *f = e->args[0]->type;
  return has_params(e) ? f->args[i] : f->result;
}

/* Where the i-th captured value stands. */
static Reg captured_reg(Lower *l, int i) {
  const Local *v = local_get(l, l->fn->key.group->free[i].var);
  return v ? v->reg : lower_failed(l);
}

/* The function on constants; where the code is differentiated its value gets a
 * record, whose rule is the other function. */
static void lower_custom(Lower *l, const Type *type) {
  int n = type->count, base = l->out;
  bool dual = lower_is_dual(l);
  Reg f = captured_reg(l, 0), rule = captured_reg(l, 1);
  if (dual) must_know(l, l->fn->key.expr->args[0]);
  Reg *args = ARENA_ARRAY(l->arena, Reg, (size_t)n + 1);
  if (!args) return;
  l->out += n + 1;
  for (int i = 0; i < n; i++) {
    const Type *t = type->args[i];
    args[i] = reg_out(l, base + i, is_counted(l, t));
    if (dual && is_counted(l, t))
      put_word(l, INS_constant_of, args[i], (Reg)i, 0, t);
    else put(l, INS_move, args[i], (Reg)i, 0);
  }
  args[n] = reg_out(l, base + n, true);
  put(l, INS_move, args[n], f, 0);
  Reg y = reg_of_type(l, type->result);
  put(l, dual ? INS_dual_apply : INS_apply, y, (uint32_t)base, (uint32_t)n + 1);
  for (int i = 0; i <= n; i++) put_listed(l, 'm', args[i]);
  l->out = base;
  if (dual && is_counted(l, type->result)) {
    Reg recorded = reg_new(l, true);
    put_word(l, INS_custom, recorded, (uint32_t)n + 2, 0, type);
    put_listed(l, 'u', rule);
    for (int i = 0; i < n; i++) put_listed(l, 'u', (Reg)i);
    put_listed(l, 'u', y);
    y = recorded;
  }
  lower_finish(l, y, DST_TAIL);
}

/* The function, where the code is differentiated within a region of its own. */
static void lower_checkpoint(Lower *l, const Type *type) {
  int n = type->count, base = l->out;
  bool dual = lower_is_dual(l);
  Reg f = captured_reg(l, 0), region = 0;
  if (dual) {
    region = reg_new(l, false);
    put(l, INS_again, region, 0, is_counted(l, type->result));
  }
  Reg *args = ARENA_ARRAY(l->arena, Reg, (size_t)n + 1);
  if (!args) return;
  l->out += n + 1;
  for (int i = 0; i <= n; i++) {
    args[i] = reg_out(l, base + i, i == n || is_counted(l, type->args[i]));
    put(l, INS_move, args[i], i == n ? f : (Reg)i, 0);
  }
  Reg y = reg_of_type(l, type->result);
  put(l, dual ? INS_dual_apply : INS_apply, y, (uint32_t)base, (uint32_t)n + 1);
  for (int i = 0; i <= n; i++) put_listed(l, 'm', args[i]);
  l->out = base;
  if (dual) put(l, INS_again_end, region, 0, 0);
  lower_finish(l, y, DST_TAIL);
}

void lower_form_body(Lower *l) {
  const Expr *e = l->fn->key.expr;
  const Type *type = fn_type(l, e->args[0]);
  if (!type) return;
  Reg captured = captured_reg(l, 0);
  l->span = e->span;
  if (op_info(e->call.callee->op)->special == SPECIAL_WITH_VJP) {
    lower_custom(l, type);
    return;
  }
  if (op_info(e->call.callee->op)->special == SPECIAL_CHECKPOINT) {
    lower_checkpoint(l, type);
    return;
  }
  if (op_info(e->call.callee->op)->special != SPECIAL_GRAD) {
    lower_finish(l, put_pull(l, captured, 0, type), DST_TAIL);
    return;
  }
  must_know(l, e->args[0]);
  Reg *inputs = ARENA_ARRAY(l->arena, Reg, (size_t)type->count + 1);
  if (!inputs) return;
  for (int i = 0; i < type->count; i++) inputs[i] = (Reg)i;
  Run run = put_run(l, captured, type, inputs, NULL);
  Reg both[2] = {run.value};
  both[1] = put_pull(l, run.tape, put_one(l, type->result), type);
  lower_cell(l, 0, 2, both, DST_TAIL);
}

/* --- Functions that leave ----------------------------------------------- */

const Type *plain_type(const Function *f) {
  return f->key.group->free[0].var->type;
}

/* The captured closure of the parameters, as differentiated code calls it. */
static void put_plain_args(Lower *l, const Type *type, int base, Reg *args) {
  int n = type->count;
  for (int i = 0; i < n; i++) {
    const Type *t = type->args[i];
    bool boxed = !lower_is_dual(l) && type_is_float_scalar(t);
    args[i] = reg_out(l, base + i, boxed || is_counted(l, t));
    if (boxed) put_word(l, INS_box, args[i], (Reg)i, 0, t);
    else put(l, INS_move, args[i], (Reg)i, 0);
  }
  args[n] = reg_out(l, base + n, true);
  put(l, INS_move, args[n], captured_reg(l, 0), 0);
}

/* For code that is differentiated it is that closure and nothing more. */
void lower_plain_body(Lower *l) {
  const Type *type = plain_type(l->fn);
  int base = l->out, n = type->count + 1;
  Reg *args = ARENA_ARRAY(l->arena, Reg, (size_t)n);
  if (!args) return;
  l->out += n;
  put_plain_args(l, type, base, args);
  bool object =
      is_counted(l, type->result) || type_is_float_scalar(type->result);
  Reg given = NO_REG;
  if (lower_is_dual(l)) {
    put(l, INS_dual_tail, 0, (uint32_t)base, (uint32_t)n);
  } else {
    given = reg_new(l, object);
    put(l, INS_dual_apply, given, (uint32_t)base, (uint32_t)n);
  }
  for (int i = 0; i < n; i++) put_listed(l, 'm', args[i]);
  l->out = base;
  if (given == NO_REG) return;
  Reg value = object ? reg_of_type(l, type->result) : given;
  if (object) put_word(l, INS_given_out, value, given, 0, type->result);
  lower_finish(l, value, DST_TAIL);
}

/* --- Forms -------------------------------------------------------------- */

static Reg lower_vjp(Lower *l, const Expr *e, Reg dst) {
  const Type *type = fn_type(l, e->args[0]);
  Reg *inputs = ARENA_ARRAY(l->arena, Reg, (size_t)e->count + 1);
  if (!inputs || !type) return lower_failed(l);
  must_know(l, e->args[0]);
  Reg f = lower_as(l, e->args[0], type, DST_ANY);
  for (int i = 0; i < type->count; i++)
    inputs[i] = lower_as(l, e->args[i + 1], type->args[i], DST_ANY);
  l->span = e->span;
  Run run = put_run(l, f, type, inputs, NULL);
  Reg both[2] = {run.value, put_tape_closure(l, e, run.tape)};
  return lower_cell(l, 0, 2, both, dst);
}

static Reg lower_jvp(Lower *l, const Expr *e, Reg dst) {
  const Type *type = fn_type(l, e->args[0]);
  if (!type) return lower_failed(l);
  must_know(l, e->args[0]);
  int n = type->count;
  Reg *inputs = ARENA_ARRAY(l->arena, Reg, (size_t)n + 1);
  if (!inputs) return lower_failed(l);
  Reg f = lower_as(l, e->args[0], type, DST_ANY);
  Reg all = lower_expr(l, e->args[1], DST_ANY);
  Reg tangents = lower_expr(l, e->args[2], DST_ANY);
  l->span = e->span;
  for (int i = 0; i < n; i++)
    inputs[i] = lower_field(l, all, n, i, type->args[i], DST_ANY);
  Run run = put_run(l, f, type, inputs, &tangents);
  Reg both[2] = {run.value, reg_of_type(l, e->type->args[1])};
  put_word(l, INS_tangent, both[1], run.tape, 0, type);
  return lower_cell(l, 0, 2, both, dst);
}

/* What a form makes of a function alone. */
static Reg lower_made(Lower *l, const Expr *e, Reg dst) {
  const Type *type = fn_type(l, e->args[0]);
  if (!type) return lower_failed(l);
  Reg f = lower_as(l, e->args[0], type, DST_ANY);
  l->span = e->span;
  return lower_finish(l, put_closure_of(l, e, 1, &f, &e->args[0]->type), dst);
}

static Reg lower_with_vjp(Lower *l, const Expr *e, Reg dst) {
  Reg both[2];
  const Type *types[2];
  for (int i = 0; i < 2; i++) {
    types[i] = fn_type(l, e->args[i]);
    if (!types[i]) return lower_failed(l);
    both[i] = lower_as(l, e->args[i], types[i], DST_ANY);
  }
  l->span = e->span;
  return lower_finish(l, put_closure_of(l, e, 2, both, types), dst);
}

/* A constant for all derivatives under way. */
static Reg lower_stop(Lower *l, const Expr *e, Reg dst) {
  Reg r = lower_expr(l, e->args[0], DST_ANY);
  const Type *type = env_type(l->code, l->env, e->type);
  if (!lower_is_dual(l) || !is_counted(l, type)) return lower_finish(l, r, dst);
  Reg made = reg_new(l, true);
  put_word(l, INS_constant_of, made, r, 0, type);
  return lower_finish(l, made, dst);
}

Reg lower_form(Lower *l, const Expr *e, Reg dst) {
  switch (op_info(e->call.callee->op)->special) {
    case SPECIAL_GRAD:
    case SPECIAL_CHECKPOINT: return lower_made(l, e, dst);
    case SPECIAL_VJP: return lower_vjp(l, e, dst);
    case SPECIAL_JVP: return lower_jvp(l, e, dst);
    case SPECIAL_STOP_GRADIENT: return lower_stop(l, e, dst);
    case SPECIAL_WITH_VJP: return lower_with_vjp(l, e, dst);
    default: return lower_expr(l, e->args[0], dst);
  }
}
