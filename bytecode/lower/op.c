/* Operator calls.  On scalars they are instructions (scalar.c); on tensors they
 * are an `op` with a site, which says what is called, where its operands come
 * from and what its results are.
 *
 *   concatenate((%x, %y), axis=0)
 *
 *   op q, [x, y], [r]      q: concatenate; sources x, y: FROM_TENSOR;
 *                          out_types: the call's type; number of its plan
 *
 * A tuple written out as an operand is never made: its fields are spliced in.
 * A tuple of results is made, if at all, by a cell of its own after the call.
 *
 * A site lives as long as the code.  Its number finds the plan that a session
 * keeps for it: the shapes that came last, where results depend on them the
 * values, and what was computed for them. */
#include "bytecode/lower/lower.h"

/* How an operator runs where the code is differentiated: as MODE_DUAL it is
 * given values with records, as MODE_PLAIN without. */
typedef enum OpMode { MODE_USUAL, MODE_PLAIN, MODE_DUAL } OpMode;

/* The operands of a site under construction. */
typedef struct Sources {
  Lower *lower;
  OpMode mode;
  VEC(OpSource) list;
  VEC(Reg) regs;
  int args; /* flattened */
  const Span *places;
} Sources;

/* Types are those of the instance, so an operand of a type parameter's type has
 * its representation. */
static void add_source(Sources *s, Reg r, const Type *type) {
  type = env_type(s->lower->code, s->lower->env, type);
  OpSource source = {.type = type};
  if (s->mode == MODE_PLAIN && type_varies(s->lower, type))
    r = lower_plain(s->lower, r, type);
  if (type->kind == TY_TUPLE) {
    source.kind = FROM_TUPLE;
    s->args += type->count;
  } else {
    bool boxed = s->mode == MODE_DUAL && dtype_is_float((DType)type->dtype);
    source.kind = type_is_scalar(type) && !boxed ? FROM_BITS : FROM_TENSOR;
    source.dtype = (DType)type->dtype;
    s->args++;
  }
  VEC_PUSH(&s->list, source);
  VEC_PUSH(&s->regs, r);
}

static void add_operand(Sources *s, const Expr *e, bool splice) {
  Lower *l = s->lower;
  if (splice && e->kind == EX_TUPLE && !(l->wide && e->count > SIZE_SMALL_MAX))
    for (int i = 0; i < e->count; i++) add_operand(s, e->args[i], false);
  else add_source(s, lower_expr(l, e, DST_ANY), e->type);
}

/* The places of the operands of `e`, for messages about attributes. */
static const Span *operand_places(Lower *l, const Expr *e) {
  if (!e->call.bound || !attrs_have_operands(e->call.bound)) return NULL;
  Span *places = ARENA_ARRAY(&l->code->arena, Span, (size_t)e->count);
  for (int i = 0; places && i < e->count; i++) places[i] = e->args[i]->span;
  return places;
}

/* Attributes that are expressions are operands like the others.  `first` is
 * operand 0 where a chain has lowered it.  Operators that take anything see a
 * tuple as it is. */
static void add_operands(Sources *s, const Expr *e, Reg first) {
  const OpInfo *op = op_info(e->call.callee->op);
  bool splice = !op->takes_any && !op->fills;
  s->places = operand_places(s->lower, e);
  for (int i = 0; i < e->count; i++)
    if (i == 0 && first != NO_REG) add_source(s, first, e->args[0]->type);
    else add_operand(s, e->args[i], splice);
}

/* The results' types decide which registers are counted. */
static void out_types(Lower *l, OpSite *site, const Type *result) {
  bool tuple = result->kind == TY_TUPLE;
  site->gives_tuple = tuple;
  site->out_count = tuple ? result->count : 1;
  const Type **types =
      ARENA_ARRAY(&l->code->arena, const Type *, (size_t)site->out_count + 1);
  if (!types) site->out_count = 0;
  for (int i = 0; i < site->out_count; i++)
    types[i] = env_type(l->code, l->env, tuple ? result->args[i] : result);
  site->out_types = types;
}

/* The record of a call that has none bound: the row's defaults. */
static const Attrs *site_attrs(Lower *l, const OpInfo *op, const Attrs *bound) {
  return bound ? bound : attrs_new(&l->code->arena, op);
}

static bool has_any_rank(const Type *t) {
  for (int i = 0; t->kind == TY_TUPLE && i < t->count; i++)
    if (has_any_rank(t->args[i])) return true;
  return t->any_rank;
}

/* Does the rule depend on more than the checker knew (OpSite.open)? */
static bool is_open(const Sources *s, const OpInfo *op, const Attrs *attrs,
                    const Type *result) {
  bool open = attrs_have_operands(attrs) || op->storage == STORE_SPECIAL ||
              has_any_rank(result);
  for (size_t i = 0; i < s->list.len && !open; i++)
    open = has_any_rank(s->list.data[i].type);
  return open;
}

/* Integers or bools that a list of dimensions could be. */
static bool is_list_of_dims(const Type *t) {
  for (int i = 0; t->kind == TY_TUPLE && i < t->count; i++)
    if (!is_list_of_dims(t->args[i])) return false;
  if (t->kind == TY_TUPLE) return true;
  return t->kind == TY_TENSOR && !t->any_rank && t->rank <= 1 &&
         !dtype_is_float((DType)t->dtype);
}

/* Does the plan keep the result?  It does where shapes alone tell it, such as
 * zeros_like(x), and for the arithmetic of shapes: the operators with which the
 * checker computes dimensions, where result and operands could be lists of
 * dimensions. */
static bool keeps_result(const Sources *s, const OpInfo *op,
                         const Type *result) {
  if (result->kind != TY_TENSOR) return false;
  if (op->reads == READS_NONE) return true;
  bool keeps = op->known && is_list_of_dims(result);
  for (size_t i = 0; i < s->list.len && keeps; i++)
    keeps = is_list_of_dims(s->list.data[i].type);
  return keeps;
}

enum { PLAN_ARGS_MOST = 32 }; /* the bits of OpSite.by_value and kept_by */

/* Operands that hold attributes stand last. */
static void set_plan(Lower *l, const Sources *s, const Type *result,
                     OpSite *site) {
  int held = attrs_operand_count(site->attrs), count = site->arg_count;
  site->open = is_open(s, site->op, site->attrs, result);
  site->number = NO_PLAN;
  if (site->op->storage == STORE_SPECIAL) return;
  if (held > 0 && count > PLAN_ARGS_MOST) return;
  for (int i = count - held; i < count; i++) site->by_value |= 1u << i;
  site->keeps = count <= PLAN_ARGS_MOST && keeps_result(s, site->op, result);
  for (int i = 0; site->keeps && i < count - held; i++)
    if (site->op->reads != READS_NONE) site->kept_by |= 1u << i;
  site->number = l->code->plan_count++;
}

static OpSite *site_new(Lower *l, const Sources *s, const OpInfo *op,
                        const Attrs *bound, const Type *result) {
  Arena *arena = &l->code->arena;
  OpSite *site = ARENA_NEW(arena, OpSite);
  *site = (OpSite){.op = op,
                   .attrs = site_attrs(l, op, bound),
                   .span = l->span,
                   .source_count = (int)s->list.len,
                   .arg_count = s->args,
                   .places = s->places};
  set_plan(l, s, result, site);
  site->sources = VEC_TO_ARENA(&s->list, arena);
  if (op->storage != STORE_SPECIAL) out_types(l, site, result);
  return site;
}

/* The instruction; results go to `outs`. */
static void put_site(Lower *l, const Sources *s, const OpSite *site,
                     const Reg *outs) {
  bool special = site->op->storage == STORE_SPECIAL;
  int op = special ? INS_special : s->mode == MODE_DUAL ? INS_dual_op : INS_op;
  bool prints = site->op->special == SPECIAL_PRINT ||
                site->op->special == SPECIAL_PRINT_TEXT;
  if (prints && lower_is_dual(l)) put(l, INS_effect, 0, 0, 0);
  put_word(l, op, 0, 0, 0, site);
  for (size_t i = 0; i < s->regs.len; i++) put_listed(l, 'u', s->regs.data[i]);
  for (int i = 0; i < site->out_count; i++) put_listed(l, 'd', outs[i]);
}

static Sources op_sources(Lower *l, OpMode mode) {
  Sources s = {.lower = l, .mode = mode};
  VEC_INIT(&s.list, l->code->mem);
  VEC_INIT(&s.regs, l->code->mem);
  return s;
}

static void op_sources_done(Sources *s) {
  VEC_DONE(&s->list);
  VEC_DONE(&s->regs);
}

/* print, assert and fail give no tensor: () or, never reached, anything.  The
 * result of `fail` is never used, but later code expects a register of its
 * kind. */
static Reg special_result(Lower *l, const Type *type, Reg dst) {
  if (type_is_unit(type)) return lower_cell(l, 0, 0, NULL, dst);
  Reg r = lower_target(l, type, dst);
  if (type_is_scalar(type)) put_bits(l, r, 0);
  else put_word(l, INS_constant, r, 0, 0, shared_nullary(&l->code->shared, 0));
  return lower_finish(l, r, dst == DST_TAIL ? DST_TAIL : r);
}

/* A float scalar that the usual operator gives in code where floats are
 * objects. */
static bool is_boxed(Lower *l, const Sources *s, const Type *result) {
  return s->mode == MODE_PLAIN && type_is_scalar(result) &&
         is_counted(l, result);
}

/* Emits the call of a site; `outs` receives a register for each result, unless
 * memory runs out.  One that is boxed is not in `dst`. */
static void lower_site(Lower *l, Sources *s, const OpInfo *op,
                       const Attrs *bound, const Type *result, Reg dst,
                       Reg **outs) {
  OpSite *site = site_new(l, s, op, bound, result);
  *outs = ARENA_ARRAY(l->arena, Reg, (size_t)site->out_count + 1);
  bool direct = result->kind != TY_TUPLE;
  if (!*outs) return;
  for (int i = 0; i < site->out_count; i++) {
    const Type *type = site->out_types[i];
    (*outs)[i] = is_boxed(l, s, type)
                     ? reg_new(l, false)
                     : lower_target(l, type, direct ? dst : DST_ANY);
  }
  put_site(l, s, site, *outs);
  for (int i = 0; i < site->out_count; i++)
    if (is_boxed(l, s, site->out_types[i]))
      (*outs)[i] = lower_boxed(l, (*outs)[i], site->out_types[i]);
}

static Reg lower_results(Lower *l, Sources *s, const OpInfo *op,
                         const Attrs *bound, const Type *result, Reg dst) {
  Reg *outs;
  lower_site(l, s, op, bound, result, dst, &outs);
  if (mem_exhausted(l->code->mem)) return lower_failed(l);
  if (op->storage == STORE_SPECIAL) return special_result(l, result, dst);
  if (result->kind == TY_TUPLE)
    return lower_cell(l, 0, result->count, outs, dst);
  return lower_finish(l, outs[0], dst);
}

/* An operator that gives floats from floats is recorded.  What prints, fails or
 * compares looks through the records itself: copying a large value would cost
 * more, and a cell has no copy. */
static OpMode op_mode(Lower *l, const Expr *e) {
  if (!lower_is_dual(l)) return MODE_USUAL;
  if (op_info(e->call.callee->op)->storage == STORE_SPECIAL) return MODE_DUAL;
  bool varies = type_varies(l, e->type), takes = false;
  for (int i = 0; i < e->count && !takes; i++)
    takes = type_varies(l, e->args[i]->type);
  return varies && takes ? MODE_DUAL : MODE_PLAIN;
}

static Reg lower_tensor_op(Lower *l, const Expr *e, Reg first, Reg dst) {
  Sources s = op_sources(l, op_mode(l, e));
  add_operands(&s, e, first);
  l->span = e->span;
  Reg r = lower_results(l, &s, op_info(e->call.callee->op), e->call.bound,
                        e->type, dst);
  op_sources_done(&s);
  return r;
}

/* Field `index` of an operator's tuple, which is not built. */
Reg lower_op_field(Lower *l, const Expr *e, int index, Reg dst) {
  Sources s = op_sources(l, op_mode(l, e));
  add_operands(&s, e, NO_REG);
  l->span = e->span;
  Reg *outs;
  lower_site(l, &s, op_info(e->call.callee->op), e->call.bound, e->type,
             DST_ANY, &outs);
  op_sources_done(&s);
  if (mem_exhausted(l->code->mem)) return lower_failed(l);
  return lower_finish(l, outs[index], dst);
}

/* take(shape_of(x), i): the length of an axis, which x has in its header. Gives
 * the axis; -1: it is another call. */
static int axis_asked(Lower *l, const Expr *e) {
  if (lower_is_dual(l) || e->call.callee->op != OP_TAKE || e->count != 2)
    return -1;
  const Expr *shape = e->args[0], *axis = e->args[1];
  if (shape->kind != EX_CALL || shape->call.callee->kind != EX_OP ||
      shape->call.callee->op != OP_SHAPE_OF || axis->kind != EX_CONST ||
      axis->constant->rank != 0 || axis->constant->dtype != DT_INT32 ||
      e->type->dtype != DT_INT32)
    return -1;
  const Type *of = env_type(l->code, l->env, shape->args[0]->type);
  int32_t at = bits_load(DT_INT32, axis->constant->data).i32;
  if (of->kind != TY_TENSOR || of->any_rank || at < 0 || at >= of->rank)
    return -1;
  return at;
}

static Reg lower_length(Lower *l, const Expr *e, int axis, Reg dst) {
  Reg of = lower_expr(l, e->args[0]->args[0], DST_ANY);
  l->span = e->span;
  Reg r = lower_target(l, e->type, dst);
  put(l, INS_dim, r, of, (uint32_t)axis);
  put_listed(l, 'u', of);
  return lower_finish(l, r, dst == DST_TAIL ? DST_TAIL : r);
}

/* One call whose first operand may be in a register already. */
static Reg lower_one(Lower *l, const Expr *e, Reg first, Reg dst) {
  ScalarFn fn = scalar_function(e);
  if (!fn || op_mode(l, e) == MODE_DUAL)
    return lower_tensor_op(l, e, first, dst);
  if (is_counted(l, e->type)) {
    Reg bits = reg_new(l, false);
    lower_scalar(l, e, fn, first, bits);
    return lower_finish(l, lower_boxed(l, bits, e->type), dst);
  }
  Reg r = lower_target(l, e->type, dst);
  lower_scalar(l, e, fn, first, r);
  return lower_finish(l, r, dst == DST_TAIL ? DST_TAIL : r);
}

static bool is_op_call(const Expr *e) {
  return e->kind == EX_CALL && e->call.callee->kind == EX_OP && e->count > 0 &&
         !op_is_form(op_info(e->call.callee->op));
}

/* a + b + c ... is left-deep: the chain is walked, not recursed into. */
Reg lower_op(Lower *l, const Expr *e, Reg dst) {
  VEC(const Expr *) chain;
  VEC_INIT(&chain, l->code->mem);
  int axis = is_op_call(e) ? axis_asked(l, e) : -1;
  while (axis < 0 && is_op_call(e) && is_op_call(e->args[0])) {
    VEC_PUSH(&chain, e);
    e = e->args[0];
    axis = is_op_call(e) ? axis_asked(l, e) : -1;
  }
  Reg to = chain.len ? DST_ANY : dst;
  Reg r = axis < 0 ? lower_one(l, e, NO_REG, to) : lower_length(l, e, axis, to);
  while (chain.len) {
    const Expr *outer = VEC_POP(&chain);
    r = lower_one(l, outer, r, chain.len ? DST_ANY : dst);
  }
  VEC_DONE(&chain);
  return r;
}

/* --- Ranks -------------------------------------------------------------- */

Reg lower_ranked(Lower *l, Reg r, const Type *from, const Type *to) {
  bool crosses = from->any_rank != to->any_rank;
  if (!crosses || is_counted(l, from) == is_counted(l, to)) return r;
  Sources s = op_sources(l, MODE_USUAL);
  add_source(&s, r, from);
  Reg made = lower_results(l, &s, op_info(OP_COPY), NULL, to, DST_ANY);
  op_sources_done(&s);
  return made;
}

/* --- Operators as values ------------------------------------------------ */

/* The body of the function that an operator is as a value: its parameters are
 * registers 0, 1, ... */
void lower_op_body(Lower *l, const Expr *e) {
  const Type *fn = e->type;
  bool varies = false;
  for (int i = 0; i < fn->count; i++) varies |= type_varies(l, fn->args[i]);
  bool recorded = (varies && type_varies(l, fn->result)) ||
                  op_info(e->op)->storage == STORE_SPECIAL;
  Sources s = op_sources(l, !lower_is_dual(l) ? MODE_USUAL
                            : recorded        ? MODE_DUAL
                                              : MODE_PLAIN);
  for (int i = 0; i < fn->count; i++) add_source(&s, (Reg)i, fn->args[i]);
  l->span = e->span;
  lower_results(l, &s, op_info(e->op), NULL, fn->result, DST_TAIL);
  op_sources_done(&s);
}

Reg lower_op_value(Lower *l, const Expr *e, Reg dst) {
  Function *f = code_instance(
      l->code, (InstanceKey){.kind = FUNCTION_OP, .expr = e, .env = l->env});
  return lower_function_value(l, f, dst);
}
