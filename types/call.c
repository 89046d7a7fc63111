/* Calls, projections, and operators as values.
 *
 * A call takes one of four ways, by what is known of its callee:
 *
 *   an operator    a constraint that runs the operator's rule (solve.c)
 *   a function     each argument flows to its parameter
 *   a variable     the callee becomes a function of new variables first
 *   anything else  E0205
 *
 * The rest words messages about calls: the parameter's place in the callee's
 * text, two arguments that are swapped, and no second report about an argument
 * of a call that is wrong already. */
#include "types/infer.h"

/* --- Operators ----------------------------------------------------------- */

/*   t1, ..., tn |- op's rule => t
 *   ------------------------------
 *   op(e1 : t1, ..., en : tn) : t
 *
 * Where the rule could answer at once its own type is given out: the result's
 * variable holds a copy of it (unify.c).  An identity on anything, such as
 * annotation.stop_fusion, needs no rule: it has the type of its operand. */
static Ty *infer_op_call(Infer *in, const Expr *e, Ty **args) {
  const OpInfo *op = op_info(e->call.callee->op);
  if (op_is_note(op)) {
    VEC_PUSH(&in->notes, e);
    return args[0];
  }
  Constraint *c = constraint_new(in, C_RULE, e);
  c->op = op;
  c->attrs = (Attrs *)e->call.bound;
  /* Attributes that are one expression each, whose record follows from the type
   * of an operand. */
  for (int i = 0; i < op->attr_count; i++) {
    const AttrValue *v = &c->attrs->values[i];
    if (v->operand < 0) continue;
    c->computed |= (uint32_t)1 << i;
    if (v->count < 0) c->whole |= (uint32_t)1 << i;
  }
  if (c->computed)
    c->written = arena_copy(in->arena, c->attrs->values,
                            (size_t)op->attr_count * sizeof *c->written);
  if (op->reads == READS_NONE && op->known && e->count == 1 && args)
    ptrmap_put(&in->sized, e->args[0], args[0]);
  c->count = e->count;
  c->args = args;
  c->operands = e->args;
  c->result = ty_meta(in);
  constraint_start(in, c);
  return c->made && !c->gone ? c->made : c->result;
}

/* `negative` where a function is wanted: \x. negative(x) at the type that the
 * place gives.  The type is a variable until the place binds it; zonk.c writes
 * the function out. */
Ty *infer_op_value(Infer *in, const Expr *e) {
  Constraint *c = constraint_new(in, C_OP_VALUE, e);
  c->op = op_info(e->op);
  c->attrs = attrs_new(&in->p->arena, c->op);
  c->args = ty_array(in, 1);
  if (!c->args) return in->error;
  c->args[0] = ty_meta(in);
  c->count = 1;
  VEC_PUSH(&in->op_values, e);
  Ty *type = c->args[0];
  constraint_start(in, c);
  return type;
}

/* A function value carries no attributes, so an operator that requires one
 * needs a `fn` around it; optional ones have their defaults.  The type of what
 * a form gives has no rule that waits for a place's type (form.c). */
bool op_value_fits(Infer *in, Constraint *c, Ty *t) {
  const OpInfo *op = c->op;
  if (t->kind != K_FN) {
    diag_error(in->p->diags, E0201, c->span, "`%s` is a function: expected %s",
               op->name, ty_text(in, t));
    return false;
  }
  if (op_is_form(op)) {
    report_form_value(in, c);
    return false;
  }
  for (int i = 0; i < op->attr_count; i++) {
    if (!op->attrs[i].required) continue;
    diag_error(in->p->diags, E0110, c->span,
               "as a value `%s` lacks its attribute `%s`: write a `fn`",
               op->name, attr_name_text(op->attrs[i].name));
    return false;
  }
  if (t->count == op_arg_count(op)) return true;
  diag_error(in->p->diags, E0204, c->span,
             "`%s` takes %d argument%s; a function of %d is expected here",
             op->name, op_arg_count(op), op_arg_count(op) == 1 ? "" : "s",
             t->count);
  return false;
}

/* --- Functions ----------------------------------------------------------- */

static const Name *callee_name(const Expr *callee) {
  switch (callee->kind) {
    case EX_GLOBAL: return callee->g.name;
    case EX_VAR: return callee->var->name;
    case EX_CTOR: return callee->ctor->name;
    default: return NULL;
  }
}

static const char *callee_sigil(const Expr *callee) {
  switch (callee->kind) {
    case EX_GLOBAL: return global_sigil(callee->g.global);
    case EX_VAR: return "%";
    default: return "";
  }
}

static const char *callee_text(Infer *in, const Expr *callee) {
  const Name *name = callee_name(callee);
  return !name ? "this function"
               : arena_printf(in->arena, "`%s%s`", callee_sigil(callee),
                              name->text);
}

void wrong_count(Infer *in, const Expr *e, int wanted) {
  const Expr *callee = e->call.callee;
  const char *few = e->count < wanted ? "few" : "many";
  Diag *d = diag_error(in->p->diags, E0204, e->span,
                       "too %s arguments for %s: expected %d, found %d", few,
                       callee_text(in, callee), wanted, e->count);
  if (callee->kind == EX_GLOBAL)
    diag_note(d, callee->g.global->span, "it is defined here");
  bool tuple = e->count == 1 && e->args[0]->kind == EX_TUPLE &&
               e->args[0]->count == wanted;
  if (tuple)
    diag_hint(d,
              "this is one tuple; %d arguments have no parentheses of their "
              "own",
              wanted);
  else if (e->count < wanted) diag_hint(d, "there is no partial application");
}

/* Names the callee and the parameter's place; a callee without a name is "this
 * function". */
Why why_argument(const Expr *e, int i) {
  const Expr *callee = e->call.callee;
  bool labels = callee->kind == EX_CTOR && callee->ctor->labels;
  return (Why){.kind = WHY_ARGUMENT,
               .label = labels ? callee->ctor->labels[i].name : NULL,
               .span = e->args[i]->span,
               .other = expr_parameter(e->call.callee, i),
               .index = i,
               .name = callee_name(e->call.callee),
               .sigil = callee_sigil(e->call.callee)};
}

/* An argument for a polymorphic parameter is checked, all others are
 * inferred. */
static void check_arg(Infer *in, const Expr *e, int i, Ty *param) {
  Why why = why_argument(e, i);
  if (ty_is_poly(ty_head(param))) check_poly(in, e->args[i], param, why);
  else require_flow(in, infer_expr(in, e->args[i]), param, why);
}

static Ty *call_unknown(Infer *in, const Expr *e, Ty *callee) {
  Ty **params = ty_array(in, e->count);
  if (!params) return in->error;
  for (int i = 0; i < e->count; i++) params[i] = ty_meta(in);
  Ty *result = ty_meta(in);
  Ty *fn = ty_fn(in, e->count, params, result);
  bool ok = require_flow(
      in, callee, fn, (Why){.kind = WHY_CALLEE, .span = e->call.callee->span});
  for (int i = 0; i < e->count; i++) check_arg(in, e, i, params[i]);
  return ok ? result : in->error;
}

/* An argument whose type was to come from the parameter is not reported as
 * undetermined as well: the call is wrong already. */
static void poison_arg(Infer *in, const Expr *arg) {
  require_flow(in, in->error, infer_expr(in, arg), (Why){.kind = WHY_OPERATOR});
}

/* The number of the first field of a tuple that is a function, such as the
 * second of what vjp gives; -1: there is none. */
static int function_field(const Ty *t) {
  for (int i = 0; t->kind == K_TUPLE && i < t->count; i++)
    if (ty_head(t->args[i])->kind == K_FN) return i;
  return -1;
}

static Ty *call_no_function(Infer *in, const Expr *e, Ty *callee) {
  for (int i = 0; i < e->count; i++) poison_arg(in, e->args[i]);
  if (callee->kind == K_ERROR) return in->error;
  Diag *d = diag_error(in->p->diags, E0205, e->call.callee->span,
                       "only functions can be called: this is %s",
                       ty_text(in, callee));
  diag_caption(d, "%s", ty_text(in, callee));
  int i = function_field(callee);
  if (i >= 0) diag_hint(d, "its field %d is a function: (...).%d(...)", i, i);
  else if (callee->kind != K_TENSOR) hint_inside(d, callee);
  return in->error;
}

/* --- Swapped arguments ---------------------------------------------------- */

/* A type parameter fits nothing but itself, but that is no sign of two
 * arguments in the wrong order. */
static bool is_known(const Ty *t) {
  return t->kind != K_META && t->kind != K_ERROR && t->kind != K_RIGID;
}

/* Are the types of two kinds, such as a list and a function? */
static bool differs(Ty *a, Ty *b) {
  a = ty_head(a);
  b = ty_head(b);
  if (!is_known(a) || !is_known(b)) return false;
  return a->kind != b->kind || (a->kind == K_ADT && a->adt != b->adt);
}

static bool fits(Ty *a, Ty *b) {
  return is_known(ty_head(a)) && is_known(ty_head(b)) && !differs(a, b);
}

static void report_swapped(Infer *in, const Expr *e, const Ty *callee, int i,
                           int k) {
  Span span = span_join(e->args[i]->span, e->args[k]->span);
  Diag *d =
      diag_error(in->p->diags, E0201, span,
                 "arguments %d and %d of %s are swapped: expected %s, "
                 "then %s",
                 i + 1, k + 1, callee_text(in, e->call.callee),
                 ty_text(in, callee->args[i]), ty_text(in, callee->args[k]));
  diag_note(d, expr_parameter(e->call.callee, i), "the parameter: %s",
            ty_text(in, callee->args[i]));
  diag_hint(d, "write them the other way round");
}

/* Argument `i` does not fit its parameter.  If it fits a later parameter, whose
 * argument fits here, one message names both, and the other arguments are not
 * checked.  All later arguments are inferred meanwhile, each once:
 * call_function uses what is in `args`. */
static bool find_swapped(Infer *in, const Expr *e, const Ty *callee, Ty **args,
                         int i) {
  Ty *const *params = callee->args;
  bool found = false;
  for (int k = i + 1; k < e->count; k++) {
    if (!args[k]) args[k] = infer_expr(in, e->args[k]);
    if (found || !differs(args[k], params[k]) || !fits(args[i], params[k]) ||
        !fits(args[k], params[i]))
      continue;
    report_swapped(in, e, callee, i, k);
    found = true;
  }
  for (int k = 0; found && k < e->count; k++)
    require_flow(in, in->error, args[k], (Why){.kind = WHY_OPERATOR});
  return found;
}

/*   e1 : t1, ..., en : tn    f : fn (t1, ..., tn) -> t
 *   ----------------------------------------------------
 *   f(e1, ..., en) : t
 *
 * An argument for a polymorphic parameter is checked instead, in its turn. */
static Ty *call_function(Infer *in, const Expr *e, Ty *callee) {
  if (e->count != callee->count) {
    wrong_count(in, e, callee->count);
    for (int i = 0; i < e->count; i++) poison_arg(in, e->args[i]);
    return in->error;
  }
  Ty **args = ty_array(in, e->count);
  for (int i = 0; args && i < e->count; i++) {
    Ty *param = callee->args[i];
    if (!args[i] && ty_is_poly(ty_head(param))) {
      check_arg(in, e, i, param);
      continue;
    }
    if (!args[i]) args[i] = infer_expr(in, e->args[i]);
    if (differs(args[i], param) && find_swapped(in, e, callee, args, i))
      return in->error;
    Why why = why_argument(e, i);
    why.recursive = callee->monomorphic;
    require_flow(in, args[i], param, why);
  }
  return callee->result;
}

/* `head` is the type of a chain's inner part: of the first operand of an
 * operator, of the callee in all other calls. */
Ty *infer_call(Infer *in, const Expr *e, Ty *head) {
  if (e->call.callee->kind == EX_OP) {
    Ty **args = ty_array(in, e->count);
    for (int i = 0; args && i < e->count; i++)
      args[i] = i == 0 && head ? head : infer_expr(in, e->args[i]);
    if (!args) return in->error;
    bool form = op_is_form(op_info(e->call.callee->op));
    return form ? infer_form(in, e, args) : infer_op_call(in, e, args);
  }
  Ty *callee = ty_head(head ? head : infer_expr(in, e->call.callee));
  const Expr *named = e->call.callee;
  if (named->kind == EX_GLOBAL ? named->g.global->generic != NULL
                               : named->kind == EX_CTOR && named->ctor->scheme)
    return infer_generic_call(in, e, callee);
  if (ty_is_poly(callee)) {
    Ty **targs;
    callee =
        ty_instantiate(in, callee, callee->param_count, callee->params, &targs);
  }
  switch (callee->kind) {
    case K_META: return call_unknown(in, e, callee);
    case K_FN: return call_function(in, e, callee);
    default: return call_no_function(in, e, callee);
  }
}

/* --- Projections --------------------------------------------------------- */

/* Fields of a data type have names, if it says so. */
static void hint_projection(Diag *d, Ty *t) {
  const Adt *adt = t->kind == K_ADT ? t->adt : NULL;
  const FieldName *labels =
      adt && adt->ctor_count == 1 ? adt->ctors[0].labels : NULL;
  if (labels)
    diag_hint(d, "its fields have names, as in %%x.%s", labels[0].name->text);
  else hint_inside(d, t);
}

/* The field of a tuple whose type is known.  Reports a value that is no tuple,
 * or has too few fields. */
Ty *infer_projection(Infer *in, const Expr *e, Ty *tuple) {
  if (tuple->kind == K_ERROR) return in->error;
  if (tuple->kind != K_TUPLE) {
    Diag *d = diag_error(in->p->diags, E0206, e->span,
                         "only tuples have fields with numbers: this is %s",
                         ty_text(in, tuple));
    hint_projection(d, tuple);
    return in->error;
  }
  if (e->index < tuple->count) return tuple->args[e->index];
  Diag *d = diag_error(in->p->diags, E0206, e->span,
                       "there is no field %lld: %s has %d", (long long)e->index,
                       ty_text(in, tuple), tuple->count);
  if (tuple->count > 0) {
    diag_hint(d, "fields are counted from 0: the last is .%d",
              tuple->count - 1);
  }
  return in->error;
}
