/* The end of inference: types under construction become finished, interned
 * types, and every expression, variable and global receives its own ("zonking"
 * is GHC's word for it).
 *
 * The lists that inference kept, of expressions, variables and patterns, make
 * this a loop over nodes and not a walk over the tree.  Each Ty is turned once:
 * its result stays in the node, so that a type which a thousand expressions
 * share costs one conversion.
 *
 * The same walk serves messages in the middle of inference (zonk_partly).
 * Variables then stay variables and print as `_`, and results are forgotten
 * after the walk, as the types are still changing.
 *
 * Three rewritings wait for final types and are done here: an operand that
 * Relay casts receives its cast, an operator that is used as a value becomes a
 * function, and a note on what is no tensor becomes what it is on. */
#include "types/infer.h"

typedef struct Zonk {
  Infer *in;
  bool partly; /* variables that are not known stay, and nothing is kept */
  bool narrow; /* dimensions as they were first */
} Zonk;

static const Type *zonk_node(Zonk *z, Ty *t);

/* Only messages meet holes; after dims_finish every slot has a value. */
static const Type *zonk_tensor(Zonk *z, const Ty *t) {
  Dim dims[RANK_MAX];
  if (t->any_rank) return type_any_rank(z->in->types, (DType)t->dtype);
  for (int i = 0; i < t->rank; i++) {
    const Slot *slot = slot_root(t->dims[i]);
    Dim d = z->narrow ? slot_first(slot) : slot->value;
    dims[i] = dim_is_hole(d) ? DIM_ANY : d;
  }
  return t->kind == K_DIM
             ? type_dim(z->in->types, dims[0])
             : type_tensor(z->in->types, (DType)t->dtype, t->rank, dims);
}

static const Type *zonk_parts(Zonk *z, const Ty *t) {
  TypeTable *types = z->in->types;
  const Type **args =
      ARENA_ARRAY(z->in->arena, const Type *, (size_t)t->count + 1);
  if (!args) return type_error(types);
  for (int i = 0; i < t->count; i++) args[i] = zonk_node(z, t->args[i]);
  switch (t->kind) {
    case K_TUPLE: return type_tuple(types, t->count, args);
    case K_REF: return type_ref(types, args[0]);
    case K_ADT: return type_adt(types, t->adt, t->count, args);
    default:
      return type_fn(types, t->param_count, t->params, t->count, args,
                     zonk_node(z, t->result));
  }
}

static const Type *zonk_new(Zonk *z, Ty *t) {
  TypeTable *types = z->in->types;
  switch (t->kind) {
    case K_META: return z->partly ? type_meta(types, t) : type_unit(types);
    case K_ERROR: return z->partly ? type_meta(types, t) : type_error(types);
    case K_RIGID: return type_var(types, t->var);
    case K_DIM:
    case K_TENSOR: return zonk_tensor(z, t);
    default: return zonk_parts(z, t);
  }
}

typedef struct ZonkCall {
  Zonk *z;
  Ty *t;
  const Type *made;
} ZonkCall;

static void run_zonk(void *call) {
  ZonkCall *c = call;
  c->made = zonk_node(c->z, c->t);
}

/* A node's result is kept: for good, or for this walk. */
static const Type *zonk_node(Zonk *z, Ty *t) {
  if (split_is_used_up(&z->in->stack)) {
    ZonkCall call = {z, t, type_error(z->in->types)};
    split_call(&z->in->stack, run_zonk, &call);
    return call.made;
  }
  t = z->partly ? ty_head(t) : ty_shorten(t);
  if (z->partly && t->shown && t->mark == z->in->mark) return t->shown;
  if (!z->partly && t->done) return t->done;
  if (!infer_enter(z->in)) return type_error(z->in->types);
  const Type *made = zonk_new(z, t);
  z->in->depth--;
  if (z->partly) {
    t->shown = made;
    t->mark = z->in->mark;
  } else {
    t->done = made;
  }
  return made;
}

static const Type *zonk(Infer *in, Ty *t) {
  return zonk_node(&(Zonk){.in = in}, t);
}

const Type *zonk_partly(Infer *in, Ty *t, bool narrow) {
  in->mark++;
  return zonk_node(&(Zonk){.in = in, .partly = true, .narrow = narrow}, t);
}

/* --- What nothing determines --------------------------------------------- */

/* An open type that has been reported is poisoned, so that one variable gives
 * one message however many names share it. */
static void report_open(Infer *in, Span span, const char *sigil,
                        const Name *name, Ty *type) {
  if (!type || !ty_is_open(in, type)) return;
  Diag *d = diag_error(in->p->diags, E0202, span,
                       "the type of `%s%s` cannot be inferred: %s", sigil,
                       name->text, ty_text(in, type));
  hint_annotation(in, d, sigil, name, type);
  require_flow(in, in->error, type, (Why){.kind = WHY_OPERATOR});
}

/* Only what has a name is reported.  An expression's type may stay open where
 * no name mentions it, as the element's type of `@length(Nil)`: any type will
 * do, and zonk_new takes the unit type. */
static void report_all_open(Infer *in) {
  const Definitions *all = &in->c->components;
  for (size_t i = 0; i < all->len; i++) {
    const Definition *d = all->data[i];
    if (!d->global) continue;
    report_open(in, d->global->span, global_sigil(d->global), d->global->name,
                d->type);
  }
  for (size_t i = 0; i < in->vars.len; i++) {
    const VarInfo *info = &in->vars.data[i];
    if (!info->named) continue;
    report_open(in, info->var->span, "%", info->var->name, info->type);
  }
}

/* --- Filling in ---------------------------------------------------------- */

/* An annotation with holes means what they turned out to be. */
static const Type *zonk_declared(Infer *in, const Type *t) {
  return t && t->has_meta ? zonk(in, ty_of_type(in, t)) : t;
}

static void fill_expr(Infer *in, const Typed *t) {
  Expr *e = t->e;
  e->type = zonk(in, t->type);
  if (e->kind == EX_FN) {
    Fn *fn = (Fn *)e->fn;
    fn->declared_result = zonk_declared(in, fn->declared_result);
  }
  if (t->targ_count == 0) return;
  const Type **targs =
      ARENA_ARRAY(&in->p->arena, const Type *, (size_t)t->targ_count);
  for (int i = 0; targs && i < t->targ_count; i++)
    targs[i] = zonk(in, t->targs[i]);
  e->targ_count = targs ? t->targ_count : 0;
  e->targs = targs;
  Expr *parsed = e->kind == EX_GLOBAL ? (Expr *)e->g.parsed : NULL;
  if (!parsed) return;
  parsed->targ_count = e->targ_count;
  parsed->targs = targs;
}

/* The operand of a read or a write stands before it in `typed`, so the
 * operand's type is filled in.  A function of shapes or dtypes is checked for
 * each instance. */
static void tell_cell(Infer *in, const Expr *e) {
  const Type *type = e->kind == EX_REF ? e->type : e->args[0]->type;
  Expr *parsed = (Expr *)e->cell.parsed;
  if (!parsed || !type) return;
  bool other = parsed->cell.type && parsed->cell.type != type;
  parsed->cell.type = other ? type_error(in->types) : type;
}

/* A function's quantifier is in its type; VarInfo holds that of others. */
static void fill_var(Infer *in, const VarInfo *info) {
  Var *var = info->var;
  if (!var || !info->type) return;
  var->type = zonk(in, info->type);
  var->declared = zonk_declared(in, var->declared);
  bool poly = var->type->kind == TY_FN && var->type->param_count > 0;
  var->param_count = poly ? var->type->param_count : info->param_count;
  var->params = poly ? var->type->params : info->params;
}

static void fill_definition(Infer *in, const Definition *d) {
  Global *g = d->global;
  if (!g || !d->type) return;
  g->type = zonk(in, d->type);
  bool poly = g->type->kind == TY_FN && g->type->param_count > 0;
  g->param_count = poly ? g->type->param_count : d->param_count;
  g->params = poly ? g->type->params : d->params;
}

/* --- Operators as values ------------------------------------------------- */

/* `negative` at fn (int32) -> int32 becomes fn (%x) {negative(%x)}.  Later
 * phases thus know no operators as values. */
static void expand_op_value(Infer *in, Expr *e) {
  const Type *type = e->type;
  Arena *a = &in->p->arena;
  if (!type || type->kind != TY_FN) return;
  int count = type->count;
  Var **params = ARENA_ARRAY(a, Var *, (size_t)count);
  const Expr **args = ARENA_ARRAY(a, const Expr *, (size_t)count);
  for (int i = 0; i < count; i++) {
    OpArg arg = op_arg(op_info(e->op), i);
    const Name *name = name_intern(in->p->names, arg.name, (size_t)arg.len);
    params[i] = var_new(a, name, e->span, NULL);
    params[i]->id = in->p->next_var_id++;
    params[i]->type = type->args[i];
    Expr *use = expr_new(a, EX_VAR, e->span);
    use->var = params[i];
    use->type = type->args[i];
    args[i] = use;
  }
  Expr *callee = expr_new(a, EX_OP, e->span);
  callee->op = e->op;
  Expr *call = expr_call(a, e->span, callee, count, args);
  call->call.bound = attrs_new(a, op_info(e->op));
  call->type = type->result;
  if (op_is_note(op_info(e->op))) VEC_PUSH(&in->notes, call);
  Fn *fn = ARENA_NEW(a, Fn);
  *fn = (Fn){.param_count = count, .params = params, .body = call};
  /* The node itself changes, as others point to it. */
  e->kind = EX_FN;
  e->fn = fn;
}

/* --- Operands that are cast ---------------------------------------------- */

static const Expr *cast_of(Infer *in, const Expr *e, DType dtype) {
  Arena *a = &in->p->arena;
  const Expr **args = ARENA_ARRAY(a, const Expr *, 1);
  Attrs *attrs = attrs_new(a, op_info(OP_CAST));
  if (!args || !attrs) return e;
  args[0] = e;
  attr_set_dtype(attrs, ATTR_dtype, dtype);
  Expr *callee = expr_new(a, EX_OP, e->span);
  callee->op = OP_CAST;
  Expr *made = expr_call(a, e->span, callee, 1, args);
  made->call.bound = attrs;
  made->type = type_tensor(in->types, dtype, e->type->rank, e->type->dims);
  return made;
}

/* f(x, y) becomes f(x, cast(y)). */
static void cast_operand(Infer *in, const Constraint *c) {
  Expr *call = c->e;
  OpCast cast = c->op->cast;
  const Type *from = call->args[cast.operand]->type;
  const Type *like = call->args[cast.like]->type;
  const Expr **args =
      ARENA_ARRAY(&in->p->arena, const Expr *, (size_t)call->count);
  if (!args || !from || !like || from->kind != TY_TENSOR ||
      like->kind != TY_TENSOR)
    return;
  for (int i = 0; i < call->count; i++) args[i] = call->args[i];
  args[cast.operand] =
      cast_of(in, call->args[cast.operand], (DType)like->dtype);
  call->args = args;
}

/* --- Notes --------------------------------------------------------------- */

/* debug(f), where f is a function, a cell or another value that no kernel
 * takes, becomes the block { f }.  Later phases thus know operators on tensors
 * only. Values of a type parameter's type may be any. */
static void drop_note(Infer *in, Expr *call) {
  if (!call->type || call->type->kind == TY_TENSOR) return;
  const Type *type = call->type;
  *call = *expr_block(&in->p->arena, call->span, 0, NULL, call->args[0]);
  call->sugar = SUGAR_BRACES;
  call->type = type;
}

/* Instances that put `?` into a container make a program loose, as flows inside
 * containers do (dims.c). */
static void note_loose(Infer *in) {
  for (size_t i = 0; i < in->typed.len && !in->p->loose; i++) {
    const Typed *t = &in->typed.data[i];
    in->p->loose = t->targ_count > 0 && types_use_loosens(in->p, t->e);
  }
}

static void report_depth(Infer *in) {
  in->too_deep |= types_too_deep(in->p->types);
  if (!in->too_deep || mem_exhausted(in->mem)) return;
  diag_error(in->p->diags, E0214, in->deep_at,
             "a type is nested too deeply here");
}

/* Open types are reported first, as filling in would hide them.  Casts need the
 * types of operands, the others those of the expressions, so all three come
 * after. */
void zonk_program(Infer *in) {
  report_all_open(in);
  for (size_t i = 0; i < in->typed.len; i++) {
    const Typed *t = &in->typed.data[i];
    fill_expr(in, t);
    if (expr_is_of_cell(t->e)) tell_cell(in, t->e);
  }
  for (size_t i = 0; i < in->vars.len; i++) fill_var(in, &in->vars.data[i]);
  for (size_t i = 0; i < in->late_vars.len; i++)
    fill_var(in, in->late_vars.data[i]);
  for (size_t i = 0; i < in->patterns.len; i++) {
    TypedPattern p = in->patterns.data[i];
    p.pattern->type = zonk(in, p.type);
  }
  for (size_t i = 0; i < in->c->defs.len; i++)
    fill_definition(in, in->c->defs.data[i]);
  for (size_t i = 0; i < in->casting.len; i++)
    cast_operand(in, in->casting.data[i]);
  note_loose(in);
  for (size_t i = 0; i < in->op_values.len; i++)
    expand_op_value(in, (Expr *)in->op_values.data[i]);
  for (size_t i = 0; i < in->notes.len; i++)
    drop_note(in, (Expr *)in->notes.data[i]);
  coerce_ranks(in);
  report_depth(in);
}
