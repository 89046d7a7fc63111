/* Makes the right side of a rule for what its left side has matched
 * (rule_match.c).
 *
 *   rule @r[..](%x: ..) { exp(log(%x)) } => { %x }
 *
 * The parts are those of the matched expression, with their types; calls are
 * typed as they are made, by the operators' rules, and one that has no type
 * there makes nothing.  What stands in the right side twice is named first, and
 * is evaluated once. */
#include "passes/own_call.h"
#include "passes/rule_make.h"
#include "types/types.h"

typedef struct Making {
  RuleMatch *m;
  Span span;
  Bindings lets;           /* of the right side, in scope */
  VEC(const Name *) names; /* of these, as written */
} Making;

static const Expr *make(Making *k, const Expr *side);

static const Expr *make_literal(Making *k, const Tensor *t) {
  Program *p = k->m->s->p;
  struct Tensor *own = program_scalar(p, (DType)t->dtype, tensor_bits_at(t, 0));
  Expr *e = own ? expr_const(k->m->s->arena, k->span, own) : NULL;
  if (e) e->type = type_scalar(p->types, (DType)t->dtype);
  return e;
}

static const Attrs *make_attrs(Making *k, const OpInfo *op, const Expr *side) {
  Arena *arena = k->m->s->arena;
  Attrs *attrs = attrs_new(arena, op);
  for (int i = 0; attrs && i < side->call.attr_count; i++) {
    const Attr *attr = &side->call.attrs[i];
    int at = rule_attr_index(op, attr->name);
    const AttrExpr *x = rule_attr(&k->m->bound, attr->value);
    if (!x || !types_read_value(arena, &op->attrs[at], x, &attrs->values[at]))
      return NULL;
  }
  return attrs;
}

static const Expr *make_number(Making *k, const Expr *side) {
  Program *p = k->m->s->p;
  Expr *e = rule_literal(&k->m->bound, side);
  if (!e) return NULL;
  e->span = k->span;
  e->type = type_scalar(p->types, (DType)e->constant->dtype);
  return e;
}

/* Is the call a view that changes nothing, such as
 * expand_dims(%b, axis=1, num_newaxis=0)?  Then its operand is made alone.
 * Where a dimension is not known, the view may change it. */
static bool shows_as_is(const OpInfo *op, const Expr *call) {
  bool view = op->storage == STORE_VIEW &&
              (op->view == VIEW_RESHAPE || op->view == VIEW_AXES);
  if (!view || call->count != 1 || call->type != call->args[0]->type)
    return false;
  for (int i = 0; i < call->type->rank; i++)
    if (dim_is_any(call->type->dims[i])) return false;
  return !call->type->any_rank;
}

static const Expr *make_call(Making *k, const Expr *side) {
  Arena *arena = k->m->s->arena;
  if (rule_is_number(side)) return make_number(k, side);
  const OpInfo *op = rule_op(side);
  const Expr **args = ARENA_ARRAY(arena, const Expr *, (size_t)side->count + 1);
  for (int i = 0; args && i < side->count; i++)
    if (!(args[i] = make(k, side->args[i]))) return NULL;
  if (!args) return NULL;
  if (op) {
    const Attrs *attrs = make_attrs(k, op, side);
    const Expr *call = attrs ? expr_apply(k->m->s->p, arena, k->span, op_id(op),
                                          attrs, side->count, args)
                             : NULL;
    return call && shows_as_is(op, call) ? args[0] : call;
  }
  int own = rule_own(k->m->rule, side);
  if (own >= 0)
    return own_apply(k->m->s->p, arena, k->span, k->m->rule->own[own].found,
                     side->count, args);
  const Expr *callee = make(k, side->call.callee);
  if (!callee || callee->type->kind != TY_FN) return NULL;
  Expr *call = expr_call(arena, k->span, callee, side->count, args);
  call->type = callee->type->result;
  return call;
}

static const Expr *make_if(Making *k, const Expr *side) {
  const Expr *c = make(k, side->args[0]);
  const Expr *then = c ? make(k, side->args[1]) : NULL;
  const Expr *otherwise = then ? make(k, side->args[2]) : NULL;
  if (!otherwise || then->type != otherwise->type) return NULL;
  Expr *e = expr_if(k->m->s->arena, k->span, c, then, otherwise);
  e->type = then->type;
  return e;
}

static const Expr *make_block(Making *k, const Expr *side) {
  Arena *arena = k->m->s->arena;
  const Block *block = side->block;
  size_t outer = k->lets.len;
  const Expr *result = NULL;
  bool ok = true;
  for (int i = 0; ok && i < block->count; i++) {
    const Binding *b = &block->bindings[i];
    const Expr *value = make(k, b->value);
    Var *var = value ? var_for(k->m->s->p, arena, value) : NULL;
    ok = var != NULL;
    if (!ok) break;
    var->name = b->var->name;
    VEC_PUSH(&k->lets, binding_let(k->span, var, value));
    VEC_PUSH(&k->names, b->var->name);
  }
  if (ok) result = make(k, block->result);
  result = expr_after(arena, k->span, k->lets.len - outer, k->lets.data + outer,
                      result);
  k->lets.len = k->names.len = outer;
  return result;
}

/* Bounded by RULE_NODES_MAX. */
static const Expr *make(Making *k, const Expr *side) {
  RuleMatch *m = k->m;
  Arena *arena = m->s->arena;
  side = rule_bare(side);
  switch (side->kind) {
    case EX_LOCAL:
      for (size_t i = k->lets.len; i-- > 0;)
        if (k->names.data[i] == side->name)
          return expr_use(arena, k->span, k->lets.data[i].var);
      return m->vars[rule_var(m->rule, side)];
    case EX_CONST: return make_literal(k, side->constant);
    case EX_IDENT: {
      const AttrExpr *x = rule_eval(&m->bound, side);
      return x && x->kind == AX_INT ? expr_number(m->s->p, arena, k->span,
                                                  DT_INT32, (double)x->integer)
                                    : NULL;
    }
    case EX_CALL: return make_call(k, side);
    case EX_IF: return make_if(k, side);
    case EX_BLOCK: return make_block(k, side);
    case EX_PROJ: {
      const Expr *tuple = make(k, side->args[0]);
      return tuple ? expr_field(arena, k->span, tuple, (int)side->index) : NULL;
    }
    default: break;
  }
  const Expr **fields =
      ARENA_ARRAY(arena, const Expr *, (size_t)side->count + 1);
  for (int i = 0; fields && i < side->count; i++)
    if (!(fields[i] = make(k, side->args[i]))) return NULL;
  return fields ? expr_tuple(m->s->p, arena, k->span, side->count, fields)
                : NULL;
}

static int mentions(Mem *mem, const Rule *rule, int var) {
  ExprWalk w;
  int n = 0;
  expr_walk_start(&w, mem, WALK_ENTER, rule->right);
  while (expr_walk_next(&w)) n += rule_var(rule, w.at) == var;
  expr_walk_end(&w);
  return n;
}

/* An expression that the right side mentions more than once gets a name: it
 * does nothing but give its value, or the left side mentions it as often. */
const Expr *rule_make(RuleMatch *m, Span span) {
  Program *p = m->s->p;
  int n = m->rule->fn->param_count, count = 0;
  Binding *lets = ARENA_ARRAY(m->s->arena, Binding, (size_t)n + 1);
  if (!lets) return NULL;
  for (int i = 0; i < n; i++) {
    const Expr *e = m->vars[i];
    if (!e || expr_is_atom(e) || !surroundings_pure(m->s, e) ||
        mentions(p->mem, m->rule, i) < 2)
      continue;
    Var *var = var_for(p, m->s->arena, e);
    lets[count++] = binding_let(e->span, var, e);
    m->vars[i] = expr_use(m->s->arena, e->span, var);
  }
  Making k = {.m = m, .span = span};
  VEC_INIT(&k.lets, p->mem);
  VEC_INIT(&k.names, p->mem);
  const Expr *made = make(&k, m->rule->right);
  VEC_DONE(&k.lets);
  VEC_DONE(&k.names);
  if (!made || count == 0) return made;
  return expr_block(m->s->arena, span, count, lets, made);
}
