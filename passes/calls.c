/* Calls of operators as passes make them (calls.h). */
#include "passes/calls.h"

#include <string.h>

#include "types/types.h"

/* --- Types ---------------------------------------------------------------- */

void rule_type_of(Arena *arena, const Type *t, RuleType *out) {
  *out = (RuleType){.kind = RT_OTHER, .dtype = DTYPE_NONE, .rank = -1};
  if (t->kind == TY_VAR) out->kind = RT_UNKNOWN;
  if (t->kind == TY_TENSOR) {
    out->kind = RT_TENSOR;
    out->dtype = (DType)t->dtype;
    out->rank = t->any_rank ? RANK_ANY : t->rank;
    for (int i = 0; i < t->rank; i++) out->dims[i] = t->dims[i];
  } else if (t->kind == TY_TUPLE) {
    out->fields = ARENA_ARRAY(arena, RuleType, (size_t)t->count + 1);
    if (!out->fields) return;
    out->kind = RT_TUPLE;
    out->count = t->count;
    for (int i = 0; i < t->count; i++)
      rule_type_of(arena, t->args[i], &out->fields[i]);
  }
}

const Type *type_of_rule(TypeTable *types, Arena *arena, const RuleType *t) {
  if (t->kind == RT_TENSOR && t->rank == RANK_ANY)
    return type_any_rank(types, t->dtype);
  if (t->kind == RT_TENSOR && t->dtype != DTYPE_NONE && t->rank >= 0)
    return type_tensor(types, t->dtype, t->rank, t->dims);
  if (t->kind != RT_TUPLE) return NULL;
  const Type **fields = ARENA_ARRAY(arena, const Type *, (size_t)t->count + 1);
  for (int i = 0; fields && i < t->count; i++)
    if (!(fields[i] = type_of_rule(types, arena, &t->fields[i]))) return NULL;
  return fields ? type_tuple(types, t->count, fields) : NULL;
}

bool type_is_static(const Type *t) {
  if (t->kind != TY_TENSOR || t->any_rank) return false;
  for (int i = 0; i < t->rank; i++)
    if (!dim_is_number(t->dims[i])) return false;
  return true;
}

/* --- Calls ---------------------------------------------------------------- */

const Expr *expr_apply(Program *p, Arena *arena, Span span, OpId op,
                       const Attrs *attrs, int count, const Expr *const *args) {
  Expr *callee = expr_new(arena, EX_OP, span);
  const Expr **own =
      arena_copy(arena, args, (size_t)count * sizeof(const Expr *));
  RuleType *types = ARENA_ARRAY(arena, RuleType, (size_t)count + 1);
  if (!attrs) attrs = attrs_new(arena, op_info(op));
  if (!callee || !own || !types || !attrs) return NULL;
  callee->op = op;
  for (int i = 0; i < count; i++) rule_type_of(arena, args[i]->type, &types[i]);
  RuleCall rule = {.op = op_info(op),
                   .attrs = attrs,
                   .dims = types_dims(p->types),
                   .arena = arena,
                   .count = count,
                   .args = types,
                   .culprit = -1,
                   .other = -1};
  if (rule_try(&rule) != RULE_OK) return NULL;
  Expr *call = expr_call(arena, span, callee, count, own);
  if (!call) return NULL;
  call->call.bound = attrs;
  if (count == 2) call->sugar = SUGAR_INFIX; /* where it has a sign */
  call->type = type_of_rule(p->types, arena, &rule.result);
  return call->type ? call : NULL;
}

const Expr *expr_cast(Program *p, Arena *arena, const Expr *e, DType dtype) {
  if (e->type->dtype == dtype) return e;
  Attrs *attrs = attrs_new(arena, op_info(OP_CAST));
  if (!attrs) return NULL;
  attr_set_dtype(attrs, ATTR_dtype, dtype);
  return EXPR_APPLY(p, arena, e->span, OP_CAST, attrs, e);
}

const Expr *expr_number(Program *p, Arena *arena, Span span, DType dtype,
                        double value) {
  struct Tensor *t = program_scalar(p, dtype, bits_from_f64(dtype, value));
  if (!t) return NULL;
  Expr *e = expr_const(arena, span, t);
  if (e) e->type = type_scalar(p->types, dtype);
  return e;
}

const Expr *expr_tuple(Program *p, Arena *arena, Span span, int count,
                       const Expr *const *fields) {
  Expr *e = expr_new(arena, EX_TUPLE, span);
  const Type **types = ARENA_ARRAY(arena, const Type *, (size_t)count + 1);
  if (!e || !types) return NULL;
  for (int i = 0; i < count; i++) types[i] = fields[i]->type;
  e->args = arena_copy(arena, fields, (size_t)count * sizeof *fields);
  e->count = e->args ? count : 0;
  e->type = type_tuple(p->types, e->count, types);
  return e;
}

const Expr *expr_field(Arena *arena, Span span, const Expr *tuple, int index) {
  Expr *e = expr_proj(arena, span, tuple, index);
  e->type = tuple->type->args[index];
  return e;
}

const Expr *expr_along(Program *p, Arena *arena, const Expr *v, int axis,
                       int rank) {
  if (!v || axis == rank - 1) return v;
  Attrs *attrs = attrs_new(arena, op_info(OP_EXPAND_DIMS));
  if (!attrs) return NULL;
  attr_set_number(attrs, ATTR_axis, 1);
  attr_set_number(attrs, ATTR_num_newaxis, rank - 1 - axis);
  return EXPR_APPLY(p, arena, v->span, OP_EXPAND_DIMS, attrs, v);
}

/* The records are equal where what would be written of them is. */
bool calls_same_attrs(const Program *p, Arena *arena, const Expr *a,
                      const Expr *b) {
  if (!expr_operator(a)->attr_count) return true;
  const Attr *left, *right;
  int operands;
  int n = p->attrs_written(arena, p->names, a, &left, &operands);
  if (n != p->attrs_written(arena, p->names, b, &right, &operands))
    return false;
  Expr *x = expr_call(arena, a->span, a->call.callee, 0, NULL);
  Expr *y = expr_call(arena, b->span, a->call.callee, 0, NULL);
  x->call.attrs = left;
  y->call.attrs = right;
  x->call.attr_count = y->call.attr_count = n;
  return expr_equal(p->mem, x, y);
}

/* --- Operators in terms of others ----------------------------------------- */

typedef struct Expander {
  Program *p;
  Arena *arena;
  int count;
  const Expansion *rows;
} Expander;

static bool is_atom(const Expr *e) {
  return e->kind == EX_CONST || (e->kind == EX_VAR && !e->var->lazy);
}

/* The operands as names and constants, with a let for each that is computed. */
static bool name_operands(Expander *x, const Expr *call, const Expr **args,
                          Binding *lets, int *count) {
  *count = 0;
  for (int i = 0; i < call->count; i++) {
    const Expr *e = args[i] = call->args[i];
    if (is_atom(e)) continue;
    Var *var = var_for(x->p, x->arena, e);
    if (!var) return false;
    lets[(*count)++] = binding_let(e->span, var, e);
    args[i] = expr_use(x->arena, e->span, var);
  }
  return true;
}

/* Does the call itself, on operands that are there, give its value and no
 * more? */
static bool is_plain(Expander *x, const Expr *call, const Expr *const *args) {
  Expr *alone = arena_copy(x->arena, call, sizeof *call);
  if (!alone) return false;
  alone->args = args;
  return expr_effects(x->p, alone) == 0;
}

static const Expr *expanded(Expander *x, const Expr *call) {
  const OpInfo *op = expr_operator(call);
  if (!op || !call->call.bound || attrs_have_operands(call->call.bound))
    return NULL;
  for (int i = 0; i < x->count; i++) {
    const Expansion *row = &x->rows[i];
    if (row->op != op_id(op) || (row->real && !pass_fast_math(x->p))) continue;
    size_t most = (size_t)call->count + 1;
    const Expr **args = ARENA_ARRAY(x->arena, const Expr *, most);
    Binding *lets = ARENA_ARRAY(x->arena, Binding, most);
    int count;
    if (!args || !lets || !name_operands(x, call, args, lets, &count) ||
        !is_plain(x, call, args))
      return NULL;
    const Expr *made = row->make(x->p, x->arena, call, args);
    if (!made || made->type != call->type) continue;
    if (count) made = expr_block(x->arena, made->span, count, lets, made);
    return pass_may_replace(x->p, NULL, call, made) ? made : NULL;
  }
  return NULL;
}

/* `e` was a field of a call that has become a tuple, perhaps in a block.  The
 * other fields do nothing but give their values. */
static const Expr *field_of(Expander *x, const Expr *was, const Expr *e) {
  const Expr *tuple = e->args[0];
  if (was->args[0]->kind != EX_CALL || tuple == was->args[0]) return NULL;
  const Block *block = tuple->kind == EX_BLOCK ? tuple->block : NULL;
  if (block) tuple = block->result;
  if (tuple->kind != EX_TUPLE) return NULL;
  const Expr *field = tuple->args[e->index];
  return block ? expr_block(x->arena, field->span, block->count,
                            block->bindings, field)
               : field;
}

const Expr *calls_expand(Program *p, Arena *arena, const Expr *e, int count,
                         const Expansion *rows) {
  Expander x = {p, arena, count, rows};
  ExprMap m;
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m)) {
    if (m.walk.event != WALK_LEAVE) continue;
    const Expr *made = NULL;
    if (m.made->kind == EX_CALL) made = expanded(&x, m.made);
    else if (m.made->kind == EX_PROJ) made = field_of(&x, m.walk.at, m.made);
    if (made) expr_map_put(&m, made);
  }
  return expr_map_end(&m);
}
