/* Calls of operators of a text's own, as rules make them (own_call.h).
 *
 *   op @swish[s: Shape](%x: Tensor[s, float32]) -> Tensor[s, float32] = {...};
 *
 *   %a : Tensor[(n, 4), float32]
 *   -------------------------------------------------------------
 *   @swish(%a)     calls the instance @swish.rank2, whose type is
 *                  fn [s.0, s.1](Tensor[(s.0, s.1), float32]) -> ...
 *                  used at s.0 = n, s.1 = 4
 *
 * The instance may be missing.  The checker makes it, of a text that calls the
 * operator with operands of these types. */
#include "passes/own_call.h"

#include "types/types.h"

const Global *expr_own(const Expr *e) {
  if (e->kind != EX_CALL || e->call.callee->kind != EX_GLOBAL) return NULL;
  const Global *g = global_of_text(e->call.callee->g.global);
  return g->op ? g : NULL;
}

/* --- What the operands say ------------------------------------------------ */

typedef struct Solving {
  TypeTable *types;
  const Type *fn;     /* of the operator */
  const Type **found; /* by its parameters in brackets; NULL: not yet */
} Solving;

/* A dimension is a parameter where it is just the name. */
static int param_of_dim(const Solving *s, Dim d) {
  for (int i = 0; dim_is_form(d) && i < s->fn->param_count; i++)
    if (s->fn->params[i]->kind == KIND_DIM &&
        dim_same(type_param(s->types, s->fn->params[i])->dims[0], d))
      return i;
  return -1;
}

static int param_of_type(const Solving *s, const Type *t) {
  for (int i = 0; t->kind == TY_VAR && i < s->fn->param_count; i++)
    if (s->fn->params[i] == t->var) return i;
  return -1;
}

/* What differs shows when the parameters have been put in.  No deeper than the
 * operator's type. */
static void solve(Solving *s, const Type *param, const Type *arg) {
  int var = param_of_type(s, param);
  if (var >= 0) {
    if (!s->found[var]) s->found[var] = arg;
    return;
  }
  if (param->kind != arg->kind || param->count != arg->count) return;
  for (int i = 0; i < param->count; i++) solve(s, param->args[i], arg->args[i]);
  if (param->kind == TY_FN) solve(s, param->result, arg->result);
  if (param->kind != TY_TENSOR || param->rank != arg->rank) return;
  for (int i = 0; i < param->rank; i++) {
    int dim = param_of_dim(s, param->dims[i]);
    if (dim >= 0 && !s->found[dim])
      s->found[dim] = type_dim(s->types, arg->dims[i]);
  }
}

/* The operator's type at these operands, without parameters; *found: what these
 * are.  NULL: the operands do not fit. */
static const Type *type_at(Program *p, Arena *arena, const Type *fn, int count,
                           const Expr *const *args, const Type ***found) {
  Solving s = {.types = p->types, .fn = fn};
  s.found = ARENA_ARRAY(arena, const Type *, (size_t)fn->param_count + 1);
  if (!s.found || fn->kind != TY_FN || fn->count != count) return NULL;
  for (int i = 0; i < fn->param_count; i++) s.found[i] = NULL;
  for (int i = 0; i < count; i++) solve(&s, fn->args[i], args[i]->type);
  for (int i = 0; i < fn->param_count; i++) {
    if (!s.found[i] && fn->params[i]->kind == KIND_DIM)
      s.found[i] = type_dim(p->types, DIM_ANY);
    if (!s.found[i]) return NULL;
  }
  *found = s.found;
  const Type *plain =
      type_fn(p->types, 0, NULL, fn->count, fn->args, fn->result);
  plain = type_substitute(p->types, plain, fn->param_count, fn->params, s.found,
                          NULL);
  for (int i = 0; i < count; i++)
    if (plain->kind != TY_FN || plain->args[i] != args[i]->type) return NULL;
  return plain;
}

/* --- Instances ------------------------------------------------------------ */

/* fn (%a: T, ...) { @f(%a, ...) }, as a text that a user could have written. */
static const Expr *asking(Program *p, Arena *a, Span span, const Global *op,
                          int count, const Expr *const *args) {
  Expr *callee = expr_new(a, EX_GLOBAL, span), *e = expr_new(a, EX_FN, span);
  const Expr **uses = ARENA_ARRAY(a, const Expr *, (size_t)count + 1);
  Var **params = ARENA_ARRAY(a, Var *, (size_t)count + 1);
  Fn *fn = ARENA_NEW(a, Fn);
  if (!uses || !params) return NULL;
  for (int i = 0; i < count; i++) {
    bool sayable = true;
    const TypeExpr *t =
        type_as_written(p, a, args[i]->type, span, NULL, &sayable);
    const Name *name = name_of(p->names, arena_printf(a, "a%d", i));
    if (!sayable || args[i]->type->any_rank) return NULL;
    Expr *use = expr_new(a, EX_LOCAL, span);
    use->name = name;
    uses[i] = use;
    params[i] = var_new(a, name, span, t);
  }
  callee->g.name = op->name;
  *fn = (Fn){.params = params,
             .param_count = count,
             .body = expr_call(a, span, callee, count, uses)};
  e->fn = fn;
  return e;
}

/* Has the checker make an instance, which it keeps. */
static void make_instance(Program *p, Span span, const Global *op, int count,
                          const Expr *const *args) {
  const Unit *of = p->last_unit;
  Unit *unit = unit_new(p, of->source);
  DiagsMark mark = diags_mark(p->diags);
  const Expr *e = asking(p, &unit->arena, span, op, count, args);
  Item *item = ARENA_NEW(&unit->arena, Item);
  bool named = p->name_results, ok = false;
  *item = (Item){.kind = ITEM_EXPR, .span = span, .expr = e};
  unit->items = item;
  unit->item_count = 1;
  p->name_results = false;
  if (e) ok = types_check(p, unit);
  p->name_results = named;
  if (ok || mem_exhausted(p->mem)) return;
  diags_return(p->diags, mark);
  program_drop_unit(p, unit);
}

/* The global that is called, the operator itself or an instance of it, and its
 * type at the operands; NULL: there is none for them. */
static Global *callee_for(Program *p, Arena *arena, Global *op, int count,
                          const Expr *const *args, const Type **type,
                          const Type ***found) {
  Global *g = op->scheme ? op->instances : op;
  for (; g; g = op->scheme ? g->next_instance : NULL)
    if ((*type = type_at(p, arena, g->type, count, args, found))) return g;
  return NULL;
}

const Expr *own_apply(Program *p, Arena *arena, Span span, Global *op,
                      int count, const Expr *const *args) {
  const Type *type, **found;
  Global *g = callee_for(p, arena, op, count, args, &type, &found);
  if (!g && op->scheme) {
    make_instance(p, span, op, count, args);
    g = callee_for(p, arena, op, count, args, &type, &found);
  }
  Expr *callee = g ? expr_new(arena, EX_GLOBAL, span) : NULL;
  if (!callee) return NULL;
  callee->g.name = op->name;
  callee->g.global = g;
  callee->type = type;
  callee->targ_count = g->type->param_count;
  callee->targs = callee->targ_count ? found : NULL;
  Expr *call = expr_call(arena, span, callee, count,
                         arena_copy(arena, args, (size_t)count * sizeof *args));
  call->type = type->result;
  return types_own_refused(p, arena, call) ? NULL : call;
}
