/* An `if` whose condition the shapes decide is decided while checking, and only
 * the branch that is taken has to fit.  The node becomes that branch:
 *
 *   def @total[s: Shape](%x: Tensor[s, float32]) -> float32 {
 *     if (take(shape_of(shape_of(%x)), 0) == 0) { %x } else { sum(%x) }
 *   }
 *
 * What decides may not change while inference goes on.  Dimensions that flow
 * may still rise to `?` (dims.c), so they do not decide; named dimensions, the
 * numbers of written types, and ranks do.  A condition without a shape in it,
 * such as True, is left to the run. */
#include "types/infer.h"

enum { NESTED_MAX = 32 }; /* operators within a condition */

typedef struct Decision {
  Infer *in;
  bool shapes; /* was a shape looked at? */
} Decision;

static bool calls(const Expr *e, OpId op) {
  return e->kind == EX_CALL && e->call.callee->kind == EX_OP &&
         e->call.callee->op == (int)op;
}

/* --- Dimensions ---------------------------------------------------------- */

static bool is_flat(const Expr *take) {
  const AttrValue *axis = attr_get(take->call.bound, ATTR_axis);
  return axis->operand < 0 &&
         (axis->state == AV_NONE || dim_is(axis->integer, 0));
}

/* The written type of a variable, or that of a global which has been checked;
 * NULL: it has none, or one with parts left out. */
static const Type *written_tensor(const Expr *e) {
  const Type *t = e->kind == EX_VAR      ? e->var->declared
                  : e->kind == EX_GLOBAL ? e->g.global->type
                                         : NULL;
  return t && t->kind == TY_TENSOR && !t->has_meta ? t : NULL;
}

/* The rank of a variable, once it is known; -1: it is not. */
static int known_rank(Infer *in, const Expr *e) {
  const Type *written = written_tensor(e);
  if (written) return written->rank;
  const Definition *d = e->kind == EX_GLOBAL ? e->g.global->definition : NULL;
  Ty *type = e->kind == EX_VAR ? var_info(in, e->var)->type
             : d               ? d->type
                               : NULL;
  type = type ? ty_head(type) : NULL;
  return type && type->kind == K_TENSOR ? type->rank : -1;
}

/*   take(shape_of(x), k)               dimension k of x's written type
 *   take(shape_of(shape_of(x)), 0)     the rank of x                         */
static Dim shape_item(Decision *d, const Expr *take) {
  const Expr *index = take->args[1];
  if (!calls(take->args[0], OP_SHAPE_OF) || !is_flat(take) ||
      index->kind != EX_CONST || index->constant->rank != 0)
    return DIM_ANY;
  int64_t k = tensor_i64_at(index->constant, 0);
  const Expr *of = take->args[0]->args[0];
  if (calls(of, OP_SHAPE_OF)) {
    int rank = known_rank(d->in, of->args[0]);
    return k == 0 && rank >= 0 ? dim_of(rank) : DIM_ANY;
  }
  const Type *t = written_tensor(of);
  return t && k >= 0 && k < t->rank ? t->dims[k] : DIM_ANY;
}

static Dim dim_in(Decision *d, const Expr *e, int depth) {
  Dim known = dim_of_value(d->in->c, e);
  d->shapes |= dim_is_form(known);
  if (!dim_is_any(known) || depth == NESTED_MAX) return known;
  if (calls(e, OP_TAKE)) {
    known = shape_item(d, e);
    d->shapes |= !dim_is_any(known);
    return known;
  }
  bool infix = e->kind == EX_CALL && e->call.callee->kind == EX_OP &&
               e->count == 2 && op_info(e->call.callee->op)->dim;
  if (!infix) return DIM_ANY;
  Dim a = dim_in(d, e->args[0], depth + 1);
  Dim b = dim_in(d, e->args[1], depth + 1);
  if (dim_is_any(a) || dim_is_any(b)) return DIM_ANY;
  DimTable *table = types_dims(d->in->types);
  Dim made = op_info(e->call.callee->op)->dim(table, a, b);
  bool wraps = dim_below(made, INT32_MIN) || dim_above(made, INT32_MAX);
  return wraps || dim_is_huge(made) ? DIM_ANY : made;
}

/* --- Conditions ---------------------------------------------------------- */

static Truth truth(bool b) { return b ? YES : NO; }
static Truth opposite(Truth t) { return t == MAYBE ? MAYBE : truth(t == NO); }

/* Names decide equality alone: n == n, n + 1 != n. */
static Truth compare(int op, Dim a, Dim b) {
  if (dim_is_any(a) || dim_is_any(b)) return MAYBE;
  if (op == OP_EQUAL) return dim_equal(a, b);
  if (op == OP_NOT_EQUAL) return opposite(dim_equal(a, b));
  if (!dim_is_number(a) || !dim_is_number(b)) return MAYBE;
  int64_t x = dim_value(a), y = dim_value(b);
  switch (op) {
    case OP_LESS: return truth(x < y);
    case OP_LESS_EQUAL: return truth(x <= y);
    case OP_GREATER: return truth(x > y);
    case OP_GREATER_EQUAL: return truth(x >= y);
    default: return MAYBE;
  }
}

static Truth decide(Decision *d, const Expr *e, int depth);

/* `a && b` and `a || b` are `if`s (infer_logical); the operand as written is
 * argument 1 or 2. */
static Truth decide_logical(Decision *d, const Expr *e, int depth) {
  bool is_and = e->sugar == SUGAR_AND;
  Truth first = decide(d, e->args[0], depth);
  if (first == MAYBE || first == truth(!is_and)) return first;
  return decide(d, e->args[is_and ? 1 : 2], depth);
}

static Truth decide(Decision *d, const Expr *e, int depth) {
  if (depth == NESTED_MAX) return MAYBE;
  if (e->kind == EX_IF && (e->sugar == SUGAR_AND || e->sugar == SUGAR_OR))
    return decide_logical(d, e, depth + 1);
  if (e->kind != EX_CALL || e->call.callee->kind != EX_OP) return MAYBE;
  if (calls(e, OP_LOGICAL_NOT))
    return opposite(decide(d, e->args[0], depth + 1));
  if (e->count != 2) return MAYBE;
  return compare(e->call.callee->op, dim_in(d, e->args[0], depth),
                 dim_in(d, e->args[1], depth));
}

bool infer_decided(Infer *in, const Expr *e) {
  if (e->sugar == SUGAR_AND || e->sugar == SUGAR_OR) return false;
  Decision d = {.in = in};
  Truth t = decide(&d, e->args[0], 0);
  bool decided = d.shapes && t != MAYBE;
  Expr *parsed = (Expr *)e->branch.parsed;
  if (parsed)
    parsed->branch.seen |= !decided   ? BRANCH_BOTH
                           : t == YES ? BRANCH_THEN
                                      : BRANCH_ELSE;
  if (decided) *(Expr *)e = *e->args[t == YES ? 1 : 2];
  return decided;
}
