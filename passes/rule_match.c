/* Matches the left side of a rule with an expression of the checked program;
 * rule_make.c makes the right side of what matched.
 *
 *   rule @r[s: Shape](%x: Tensor[s, float32]) { exp(log(%x)) } => { %x }
 *
 *   let %a = log(%y);
 *   exp(%a)                     fits: %x is %y, s is the shape of %y
 *
 * The program is a graph: what a `let` names is looked through, since its value
 * is known.  The `let` stays where it is, so variables that match within it
 * must be names or constants, which may be evaluated here as well as there.
 *
 * An operator whose row says that it commutes matches with its operands in
 * either order.  Where the other order is taken, both operands must do nothing
 * but give their values. */
#include <string.h>

#include "passes/own_call.h"
#include "passes/rule_make.h"
#include "types/types.h"

/* --- Surroundings --------------------------------------------------------- */

void surroundings_start(Surroundings *s, Program *p, Arena *arena,
                        const Expr *e) {
  *s = (Surroundings){.p = p, .arena = arena};
  ptrmap_init(&s->effects, p->mem);
  ptrmap_init(&s->values, p->mem);
  ptrmap_init(&s->uses, p->mem);
  expr_effects_each(p, e, &s->effects);
  expr_count_uses(p, e, &s->uses);
}

void surroundings_end(Surroundings *s) {
  ptrmap_done(&s->effects);
  ptrmap_done(&s->values);
  ptrmap_done(&s->uses);
}

bool surroundings_pure(const Surroundings *s, const Expr *e) {
  uintptr_t found = (uintptr_t)ptrmap_get(&s->effects, e);
  Effects effects = found ? (Effects)(found & ~(uintptr_t)EFFECT_KNOWN)
                          : expr_effects(s->p, e);
  if (e->kind == EX_VAR && e->var->lazy) return false;
  return !effects;
}

/* The value of a name, or the expression itself. */
static const Expr *value_of(const Surroundings *s, const Expr *e) {
  const Expr *value = e->kind == EX_VAR && !e->var->lazy
                          ? ptrmap_get(&s->values, e->var)
                          : NULL;
  return value ? value : e;
}

/* --- Types ---------------------------------------------------------------- */

static bool bind_dim(RuleArg *arg, Dim dim) {
  if (arg->known) return dim_same(arg->dim, dim) && !dim_is_any(dim);
  *arg = (RuleArg){.known = true, .dim = dim};
  return true;
}

/* The value of a computed dimension, once its names are bound. */
static bool dim_of_expr(RuleMatch *m, const DimExpr *d, Dim *out) {
  DimTable *table = types_dims(m->s->p->types);
  VEC(Dim) stack;
  DimExprs postfix;
  VEC_INIT(&stack, m->s->p->mem);
  VEC_INIT(&postfix, m->s->p->mem);
  bool ok = dim_expr_postfix(d, &postfix);
  for (size_t i = 0; ok && i < postfix.len; i++) {
    const DimExpr *at = postfix.data[i];
    Dim y = at->left ? VEC_POP(&stack) : DIM_ANY;
    Dim x = at->left ? VEC_POP(&stack) : dim_of(at->number);
    int param = at->kind == DX_NAME ? rule_type_param(m->rule, at->name) : -1;
    switch (at->kind) {
      case DX_NUMBER: break;
      case DX_ADD: x = dim_add(table, x, y); break;
      case DX_SUB: x = dim_sub(table, x, y); break;
      case DX_MUL: x = dim_mul(table, x, y); break;
      case DX_DIV: x = dim_div_exact(table, x, y, NULL); break;
      default:
        ok = param >= 0 && m->bound.args[param].known;
        if (ok) x = m->bound.args[param].dim;
        break;
    }
    VEC_PUSH(&stack, x);
  }
  ok = ok && stack.len == 1;
  if (ok) *out = stack.data[0];
  VEC_DONE(&stack);
  VEC_DONE(&postfix);
  return ok;
}

static bool match_dim(RuleMatch *m, const DimExpr *d, Dim dim) {
  if (d->kind == DX_ANY) return true;
  int param = d->kind == DX_NAME ? rule_type_param(m->rule, d->name) : -1;
  if (param >= 0) return bind_dim(&m->bound.args[param], dim);
  Dim wanted;
  return dim_of_expr(m, d, &wanted) && dim_same(wanted, dim) &&
         !dim_is_any(dim);
}

/* Binds s... to these dimensions, or compares them if s is known.  For ?s...
 * the shape s must be known, and only its rank is compared. */
static bool bind_shape(RuleArg *arg, const DimExpr *splat, int rank,
                       const Dim *dims) {
  bool known = arg->known;
  if (splat->any) return known && arg->rank == rank;
  if (known && arg->rank != rank) return false;
  for (int i = 0; known && i < rank; i++)
    if (!dim_same(arg->dims[i], dims[i]) || dim_is_any(dims[i])) return false;
  arg->known = true;
  arg->rank = rank;
  for (int i = 0; i < rank; i++) arg->dims[i] = dims[i];
  return true;
}

static bool bind_dtype(RuleMatch *m, int param, DType dtype) {
  RuleArg *arg = &m->bound.args[param];
  const KindInfo *kind = &kind_info[m->rule->fn->type_params[param].kind];
  if (!kind->member || !kind->member(dtype)) return false;
  if (arg->known) return arg->dtype == dtype;
  *arg = (RuleArg){.known = true, .dtype = dtype};
  return true;
}

/* A shape of unknown rank is one that nothing else is known to be. */
static bool bind_any_rank(RuleMatch *m, const TypeExpr *x) {
  if (x->dim_count != 1 || x->dims[0]->kind != DX_SPLAT) return false;
  int param = rule_type_param(m->rule, x->dims[0]->name);
  RuleArg *arg = param < 0 ? NULL : &m->bound.args[param];
  if (!arg || arg->known) return false;
  arg->known = true;
  arg->rank = -1;
  return true;
}

static bool match_tensor(RuleMatch *m, const TypeExpr *x, const Type *t) {
  if (t->kind != TY_TENSOR) return false;
  int param = x->dtype_name ? rule_type_param(m->rule, x->dtype_name) : -1;
  if (param >= 0 ? !bind_dtype(m, param, (DType)t->dtype)
                 : x->dtype != (DType)t->dtype)
    return false;
  if (x->whole && x->dims[0]->kind == DX_ANY) return true;
  if (t->any_rank) return bind_any_rank(m, x);
  int splats = 0, rest = t->rank - x->dim_count + 1, at = 0;
  for (int i = 0; i < x->dim_count; i++) splats += x->dims[i]->kind == DX_SPLAT;
  if (splats > 1 || (splats ? rest < 0 : t->rank != x->dim_count)) return false;
  for (int i = 0; i < x->dim_count; i++) {
    const DimExpr *d = x->dims[i];
    bool splat = d->kind == DX_SPLAT;
    int shape = splat ? rule_type_param(m->rule, d->name) : -1;
    if (splat ? shape < 0 ||
                    !bind_shape(&m->bound.args[shape], d, rest, t->dims + at)
              : !match_dim(m, d, t->dims[at]))
      return false;
    at += splat ? rest : 1;
  }
  return true;
}

/* Types as written nest no deeper than the parser lets them. */
static bool match_type(RuleMatch *m, const TypeExpr *x, const Type *t) {
  if (x->kind == TX_TENSOR) return match_tensor(m, x, t);
  bool fn = x->kind == TX_FN;
  if (!(fn ? t->kind == TY_FN && t->param_count == 0
           : x->kind == TX_TUPLE && t->kind == TY_TUPLE) ||
      x->arg_count != t->count)
    return false;
  for (int i = 0; i < t->count; i++)
    if (!match_type(m, x->args[i], t->args[i])) return false;
  return !fn || match_type(m, x->result, t->result);
}

/* --- Expressions ---------------------------------------------------------- */

enum { SAME_DEPTH = 24 }; /* of expressions that are compared */

/* The same value, however often it is evaluated? */
static bool same_value(Surroundings *s, const Expr *a, const Expr *b,
                       int depth) {
  if (a->kind == EX_VAR && b->kind == EX_VAR)
    return a->var == b->var && !a->var->lazy;
  if (a->kind == EX_CONST && b->kind == EX_CONST)
    return expr_equal(s->p->mem, a, b);
  const OpInfo *op = expr_operator(a);
  const Global *own = expr_own(a);
  if (depth == 0 || (!op && !own) || op != expr_operator(b) ||
      own != expr_own(b) || a->count != b->count ||
      (op && !calls_same_attrs(s->p, s->arena, a, b)))
    return false;
  for (int i = 0; i < a->count; i++)
    if (!same_value(s, a->args[i], b->args[i], depth - 1)) return false;
  return true;
}

static bool bind_var(RuleMatch *m, int var, const Expr *e) {
  const TypeExpr *type = m->rule->fn->params[var]->annotation;
  if (m->through && !expr_is_atom(e)) return false;
  if (m->rule->constants >> var & 1 && value_of(m->s, e)->kind != EX_CONST)
    return false;
  if (m->vars[var])
    return same_value(m->s, m->vars[var], e, SAME_DEPTH) &&
           (expr_is_atom(e) || surroundings_pure(m->s, e));
  m->vars[var] = e;
  return match_type(m, type, e->type);
}

/* A literal matches a scalar constant of the same bits, -1f one of -1. */
static bool match_literal(const Tensor *literal, bool negated, const Expr *e) {
  if (e->kind != EX_CONST || e->constant->rank > 0 ||
      e->constant->dtype != literal->dtype)
    return false;
  DType t = (DType)literal->dtype;
  Value wanted = tensor_bits_at(literal, 0),
        found = tensor_bits_at(e->constant, 0);
  if (negated && dtype_is_float(t))
    wanted = bits_from_f64(t, -tensor_f64_at(literal, 0));
  else if (negated) wanted = bits_from_i64(t, -tensor_i64_at(literal, 0));
  return memcmp(&wanted, &found, dtype_size(t)) == 0;
}

/* An attribute as the call has it, and as the pattern says. */
static bool match_attr(RuleMatch *m, const AttrSpec *spec,
                       const AttrExpr *pattern, const AttrValue *value) {
  Arena *arena = m->s->arena;
  const AttrExpr *found = types_written_value(arena, spec, value);
  int var =
      pattern->kind == AX_EXPR ? rule_attr_var(m->rule, pattern->expr) : -1;
  if (var >= 0 && !m->bound.attrs[var]) {
    m->bound.attrs[var] = found;
    return true;
  }
  const AttrExpr *wanted = rule_attr(&m->bound, pattern);
  AttrValue read;
  return wanted && types_read_value(arena, spec, wanted, &read) &&
         attr_expr_same(types_written_value(arena, spec, &read), found);
}

/* Those that the pattern does not mention have their defaults. */
static bool match_attrs(RuleMatch *m, const OpInfo *op, const Expr *pattern,
                        const Attrs *attrs) {
  const Attrs *defaults = attrs_new(m->s->arena, op);
  for (int i = 0; i < op_attr_count(op); i++) {
    const AttrSpec *spec = &op->attrs[i];
    const AttrExpr *wanted = NULL;
    for (int k = 0; k < pattern->call.attr_count; k++)
      if (rule_attr_index(op, pattern->call.attrs[k].name) == i)
        wanted = pattern->call.attrs[k].value;
    if (spec->type == AT_IGNORED) continue;
    if (wanted
            ? !match_attr(m, spec, wanted, &attrs->values[i])
            : !attr_expr_same(
                  types_written_value(m->s->arena, spec, &defaults->values[i]),
                  types_written_value(m->s->arena, spec, &attrs->values[i])))
      return false;
  }
  return true;
}

static bool match(RuleMatch *m, const Expr *pattern, const Expr *e);

static bool match_operands(RuleMatch *m, const OpInfo *op, const Expr *pattern,
                           const Expr *e) {
  bool swapped = false;
  if (op && rule_commutes(pattern) && m->commuting > 0)
    swapped = m->swaps >> --m->commuting & 1;
  if (swapped && (!surroundings_pure(m->s, e->args[0]) ||
                  !surroundings_pure(m->s, e->args[1])))
    return false;
  for (int i = 0; i < e->count; i++)
    if (!match(m, pattern->args[i], e->args[swapped ? 1 - i : i])) return false;
  return true;
}

/* A name that was looked through stays: a call that does more than compute
 * would do it twice, here and in match_call. */
static bool match_own(RuleMatch *m, const OwnOp *own, const Expr *pattern,
                      const Expr *e) {
  return expr_own(e) == own->found &&
         !(m->through && e->call.callee->g.global->effects & OWN_EFFECTS) &&
         match_operands(m, NULL, pattern, e);
}

static bool match_call(RuleMatch *m, const Expr *pattern, const Expr *e) {
  const OpInfo *op = rule_op(pattern);
  int own = rule_own(m->rule, pattern);
  if (e->kind != EX_CALL || e->count != pattern->count) return false;
  if (own >= 0) return match_own(m, &m->rule->own[own], pattern, e);
  if (!op) {
    ExprKind callee = e->call.callee->kind;
    return callee != EX_OP && callee != EX_CTOR &&
           match_operands(m, NULL, pattern, e) &&
           bind_var(m, rule_var(m->rule, pattern->call.callee), e->call.callee);
  }
  const Attrs *attrs = e->call.bound;
  if (m->through && op->prints) return false;
  return expr_operator(e) == op && attrs && !attrs_have_operands(attrs) &&
         match_operands(m, op, pattern, e) &&
         match_attrs(m, op, pattern, attrs);
}

/* Bounded by RULE_NODES_MAX. */
static bool match(RuleMatch *m, const Expr *pattern, const Expr *e) {
  pattern = rule_bare(pattern);
  int var = rule_var(m->rule, pattern);
  if (var >= 0) return bind_var(m, var, e);
  const Expr *value = value_of(m->s, e);
  bool outer = m->through, fits = true;
  m->through |= value != e;
  bool negated = pattern->kind == EX_CALL && pattern->sugar == SUGAR_NEGATE &&
                 pattern->args[0]->kind == EX_CONST;
  if (pattern->kind == EX_CONST)
    fits = match_literal(pattern->constant, false, value);
  else if (negated && value->kind == EX_CONST)
    fits = match_literal(pattern->args[0]->constant, true, value);
  else if (pattern->kind == EX_CALL) fits = match_call(m, pattern, value);
  else {
    fits = pattern->kind == value->kind && pattern->count == value->count &&
           (pattern->kind != EX_PROJ || pattern->index == value->index);
    for (int i = 0; fits && i < value->count; i++)
      fits = match(m, pattern->args[i], value->args[i]);
  }
  m->through = outer;
  return fits;
}

/* --- Facts ---------------------------------------------------------------- */

static int shape_of(const RuleBound *b, int var, DType *dtype, Dim *dims) {
  const RuleMatch *m = b->data;
  const Type *t = m->vars[var] ? m->vars[var]->type : NULL;
  if (!t || t->kind != TY_TENSOR) return -1;
  *dtype = (DType)t->dtype;
  if (t->any_rank) return -1;
  for (int i = 0; i < t->rank; i++) dims[i] = t->dims[i];
  return t->rank;
}

/* Constants beyond so many elements are no numbers. */
enum { NUMBER_MOST = 64 };

static const AttrExpr *number_of(Arena *arena, const Tensor *t) {
  int64_t count = tensor_count(t);
  if (count == 0 || count > NUMBER_MOST) return NULL;
  const AttrExpr *first = NULL;
  for (int64_t i = 0; i < count; i++) {
    const AttrExpr *x =
        dtype_is_float(t->dtype) ? attr_expr_real(arena, tensor_f64_at(t, i))
        : t->dtype == DT_BOOL ? attr_expr_bool(arena, tensor_i64_at(t, i) != 0)
                              : attr_expr_int(arena, tensor_i64_at(t, i));
    if (first && !attr_expr_same(first, x)) return NULL;
    first = x;
  }
  return first;
}

/* Does calling the function do nothing but give a value? */
static bool call_is_pure(const Expr *e) {
  Effects effects = EFFECT_ALL;
  bool known = true;
  switch (e->kind) {
    case EX_GLOBAL: effects = e->g.global->effects; break;
    case EX_FN:
      effects = e->fn->effects;
      known = effects & EFFECT_KNOWN;
      break;
    case EX_VAR:
      effects = e->var->effects;
      known = effects & EFFECT_KNOWN;
      break;
    default: known = false; break;
  }
  return known && !(effects & ~(EFFECT_TYPED | EFFECT_KNOWN));
}

static const AttrExpr *fact_of(const RuleBound *b, RuleFact fact, int var) {
  const RuleMatch *m = b->data;
  const Expr *e = m->vars[var];
  if (!e) return NULL;
  bool is_use = e->kind == EX_VAR;
  const Expr *value = value_of(m->s, e);
  switch (fact) {
    case RULE_CONSTANT:
      return attr_expr_bool(b->arena, value->kind == EX_CONST);
    case RULE_VALUE:
      return value->kind == EX_CONST ? number_of(b->arena, value->constant)
                                     : NULL;
    case RULE_USES:
      return attr_expr_int(
          b->arena,
          is_use ? (int64_t)(uintptr_t)ptrmap_get(&m->s->uses, e->var) : 1);
    case RULE_PURE:
      return attr_expr_bool(b->arena,
                            surroundings_pure(m->s, e) &&
                                (e->type->kind != TY_FN || call_is_pure(e)));
    case RULE_STATIC: return attr_expr_bool(b->arena, type_is_static(e->type));
    case RULE_NO_FACT:
    case RULE_RANK:
    case RULE_SHAPE:
    case RULE_DTYPE:
    case RULE_BROADCASTS: break; /* rules/condition.c finds these itself */
  }
  return NULL;
}

/* --- Rules ---------------------------------------------------------------- */

static void match_start(RuleMatch *m, Surroundings *s, const Rule *rule,
                        unsigned swaps) {
  m->s = s;
  m->rule = rule;
  m->swaps = swaps;
  m->commuting = rule->commuting;
  m->through = false;
  m->bound = (RuleBound){.p = s->p,
                         .arena = s->arena,
                         .rule = rule,
                         .args = m->args,
                         .attrs = m->attrs,
                         .shape = shape_of,
                         .fact = fact_of,
                         .data = m};
  for (int i = 0; i < rule->fn->type_param_count; i++) m->args[i].known = false;
  for (int i = 0; i < rule->attr_count; i++) m->attrs[i] = NULL;
  for (int i = 0; i < rule->fn->param_count; i++) m->vars[i] = NULL;
}

/* Could it fit, by its outermost node? */
static bool may_fit(const Rule *rule, const Expr *e) {
  const Expr *pattern = rule_bare(rule->left);
  return pattern->kind == e->kind && pattern->count == e->count &&
         (!rule->root || rule->root == expr_operator(e));
}

/* Does the left side call an operator that the program does not have?  Then it
 * fits nowhere, and there is nothing to tell. */
static bool cannot_fit(const Program *p, const Rule *rule) {
  for (int i = 0; i < rule->own_count; i++)
    if (rule->own[i].left && !scope_global(&p->user, rule->own[i].op->name))
      return true;
  return false;
}

bool rule_may_apply(Program *p, Rule *rule) {
  const Name *missing = rule_find_own(p, rule);
  if (!missing) return true;
  if (cannot_fit(p, rule)) return false;
  const char *name = missing->text;
  bool another = scope_global(&p->user, missing) != NULL;
  Diag *d =
      diag_warning(p->diags, W0007, SPAN_NONE,
                   "the rule `@%s` is not applied: the program %s `@%s`",
                   rule->item->name->text,
                   another ? "has another definition of" : "has no", name);
  diag_hint(d, "both files may import the one that defines `@%s`", name);
  return false;
}

const Expr *rule_applied(Surroundings *s, const Rule *rule, const Expr *e) {
  if (!may_fit(rule, e)) return NULL;
  for (unsigned swaps = 0; swaps < 1u << rule->commuting; swaps++) {
    RuleMatch m;
    match_start(&m, s, rule, swaps);
    bool fits = match(&m, rule->left, e) && rule_holds(&m.bound);
    const Expr *made = fits ? rule_make(&m, e->span) : NULL;
    if (made && made->type == e->type) return made;
  }
  return NULL;
}
