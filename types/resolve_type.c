/* Types as written to types as meant, and named dimensions.
 *
 *   Tensor[(n, 2 * n), float32]    a tensor type whose dimensions are forms
 *                                  over the TypeVar of n (tensor/dim.h)
 *   List[A]                        a data type at the TypeVar of A
 *   Pairs[int32]                   an alias: what it stands for
 *   _                              a hole: an inference variable
 *
 * A hole has no place yet: inference gives it a level where the annotation is
 * used.  A Dim parameter is a form over its TypeVar in shapes; as a value it is
 * read, at the start of the body, from the parameter whose type binds it:
 *
 *   fn [n: Dim](%x: Tensor[(n), float32]) { n + 1 }
 *   fn [n: Dim](%x: ...) { let n = take(shape_of(%x), 0, axis=0); n + 1 }
 *
 * C recurses over types as deep as they are written, which the parser
 * bounds. */
#include <string.h>

#include "types/resolve.h"

enum { TYPE_ARGS_MAX = 1 << 16, VALUE_DEPTH_MAX = 32 };

/* --- Type parameters ----------------------------------------------------- */

const TypeVar *const *resolve_type_params(Resolver *r, int count,
                                          const TypeParam *params) {
  const TypeVar **vars = ARENA_ARRAY(r->arena, const TypeVar *, (size_t)count);
  PtrMap seen;
  ptrmap_init(&seen, r->c->mem);
  for (int i = 0; vars && i < count; i++) {
    const TypeParam *p = &params[i];
    if (ptrmap_has(&seen, p->name))
      diag_error(r->p->diags, E0404, p->span,
                 "the type parameter `%s` is declared twice", p->name->text);
    ptrmap_put(&seen, p->name, (void *)p);
    TypeVar *var = typevar_new(r->p->types, p->name, p->span, p->is_dim);
    scope_bind(r, &r->type_vars, p->name, var);
    vars[i] = var;
  }
  ptrmap_done(&seen);
  return vars;
}

/* --- Size variables ------------------------------------------------------ */

/* The entry that meta[tir.SizeVar][n] stands for; NULL: there is none. */
static const MetaEntry *size_var_of(const Resolver *r, const DimExpr *d) {
  if (d->kind != DX_META) return NULL;
  const MetaEntry *m = find_meta(r->unit, d->name->text, d->number);
  return m && m->kind == META_SIZE_VAR ? m : NULL;
}

/* As the reference called it; the text does not say it. */
static const Name *size_var_name(const Resolver *r, const MetaEntry *m) {
  for (int i = 0; i < m->attr_count; i++) {
    const AttrExpr *v = m->attrs[i].value;
    if (strcmp(m->attrs[i].name->text, "name") == 0 && v->kind == AX_STRING)
      return name_of(r->p->names, v->text);
  }
  return m->key;
}

typedef struct SizeVar {
  TypeParam param;
  const TypeVar *var;
} SizeVar;

typedef VEC(SizeVar) SizeVars;

static void add_size_var(Resolver *r, const DimExpr *d, SizeVars *found) {
  const MetaEntry *m = size_var_of(r, d);
  if (!m || ptrmap_has(&r->size_vars, m)) return;
  const Name *name = size_var_name(r, m);
  TypeVar *var = typevar_new(r->p->types, name, d->span, true);
  scope_bind(r, &r->size_vars, m, var);
  VEC_PUSH(found,
           (SizeVar){{.name = name, .span = d->span, .is_dim = true}, var});
}

/* What binds a dimension: tensors, also in tuples. */
static void find_size_vars(Resolver *r, const TypeExpr *root, SizeVars *found) {
  VEC(const TypeExpr *) rest;
  VEC_INIT(&rest, r->p->mem);
  if (root) VEC_PUSH(&rest, root);
  while (rest.len > 0) {
    const TypeExpr *t = VEC_POP(&rest);
    for (int i = 0; t->kind == TX_TENSOR && i < t->dim_count; i++)
      add_size_var(r, t->dims[i], found);
    for (int i = t->arg_count; t->kind == TX_TUPLE && i-- > 0;)
      VEC_PUSH(&rest, t->args[i]);
  }
  VEC_DONE(&rest);
}

/* Written parameters keep their places; those of size variables follow them. */
void resolve_size_vars(Resolver *r, Fn *fn) {
  SizeVars found;
  VEC_INIT(&found, r->p->mem);
  for (int i = 0; i < fn->param_count; i++)
    find_size_vars(r, fn->params[i]->annotation, &found);
  size_t own = (size_t)fn->type_param_count, count = own + found.len;
  TypeParam *params = ARENA_ARRAY(r->arena, TypeParam, count);
  const TypeVar **vars = ARENA_ARRAY(r->arena, const TypeVar *, count);
  bool more = found.len > 0 && params && vars;
  for (size_t i = 0; more && i < count; i++) {
    params[i] = i < own ? fn->type_params[i] : found.data[i - own].param;
    vars[i] = i < own ? fn->type_vars[i] : found.data[i - own].var;
  }
  VEC_DONE(&found);
  if (!more) return;
  fn->type_params = params;
  fn->type_vars = vars;
  fn->type_param_count = (int)count;
}

/* --- Dimensions ---------------------------------------------------------- */

/* One report for each name in a definition: a name that is missing once is
 * usually missing in each of its shapes. */
void report_no_dim(Resolver *r, Span span, const Name *name) {
  if (ptrmap_has(&r->no_dims, name)) return;
  ptrmap_put(&r->no_dims, name, (void *)name);
  const TypeVar *var = ptrmap_get(&r->type_vars, name);
  Diag *d = diag_error(r->p->diags, E0115, span,
                       var ? "`%s` is declared as a type, not as a dimension"
                           : "there is no dimension `%s`",
                       name->text);
  if (var) diag_note(d, var->span, "here");
  diag_hint(d,
            var ? "a dimension is declared so: [%s: Dim]"
                : "declare it as a parameter: [%s: Dim]",
            name->text);
}

static Dim resolve_dim_name(Resolver *r, const DimExpr *d) {
  const TypeVar *var = ptrmap_get(&r->type_vars, d->name);
  if (var && var->is_dim)
    return dim_named(types_dims(r->p->types), d->name, var);
  report_no_dim(r, d->span, d->name);
  return DIM_ANY;
}

/* A size variable that no parameter binds is a plain `?`. */
static Dim resolve_size_var(Resolver *r, const DimExpr *d) {
  const TypeVar *var = ptrmap_get(&r->size_vars, size_var_of(r, d));
  return var ? dim_named(types_dims(r->p->types), var->name, var) : DIM_ANY;
}

/* An operand that was reported is `?`, and passes without a second report. */
static Dim resolve_dim_infix(Resolver *r, const DimExpr *d, Dim a, Dim b) {
  DimTable *t = types_dims(r->p->types);
  if (dim_is_any(a) || dim_is_any(b)) return DIM_ANY;
  /* Division by 0 has no remainder to speak of, but is no dimension either. */
  bool inexact = d->kind == DX_DIV && dim_is(b, 0);
  Dim result = d->kind == DX_ADD   ? dim_add(t, a, b)
               : d->kind == DX_SUB ? dim_sub(t, a, b)
               : d->kind == DX_MUL ? dim_mul(t, a, b)
                                   : dim_div_exact(t, a, b, &inexact);
  if (dim_is_any(result) || dim_is_huge(result)) {
    diag_error(r->p->diags, E0115, d->span, "%s",
               inexact ? "the division is not exact"
                       : "this is too large for a dimension");
    return DIM_ANY;
  }
  return result;
}

/* Evaluates the postfix order on a stack of dimensions: a sum may have any
 * number of terms. */
static Dim resolve_dim(Resolver *r, const DimExpr *root) {
  VEC(Dim) done;
  VEC_INIT(&done, r->p->mem);
  DimExprs order;
  VEC_INIT(&order, r->p->mem);
  bool fits = dim_expr_postfix(root, &order) && VEC_RESERVE(&done, order.len);
  for (size_t i = 0; fits && i < order.len; i++) {
    const DimExpr *d = order.data[i];
    Dim result = DIM_ANY;
    if (d->left) {
      Dim b = VEC_POP(&done), a = VEC_POP(&done);
      result = resolve_dim_infix(r, d, a, b);
    } else if (d->kind == DX_NUMBER) {
      result = dim_of(d->number);
    } else if (d->kind == DX_NAME) {
      result = resolve_dim_name(r, d);
    } else if (size_var_of(r, d)) {
      result = resolve_size_var(r, d);
    }
    VEC_PUSH(&done, result);
  }
  Dim whole = fits ? done.data[0] : DIM_ANY;
  VEC_DONE(&order);
  VEC_DONE(&done);
  return whole;
}

static bool is_op_call(const Expr *e) {
  return e->kind == EX_CALL && e->count == 2 && e->call.callee->kind == EX_OP;
}

/* Sums of named dimensions are computed as int32, so a number must fit one. */
static Dim dim_of_infix(DimTable *t, const OpInfo *op, Dim a, Dim b) {
  Dim d = op->dim ? op->dim(t, a, b) : DIM_ANY;
  bool wraps = dim_below(d, INT32_MIN) || dim_above(d, INT32_MAX);
  return wraps || dim_is_huge(d) ? DIM_ANY : d;
}

/* Known are int32 literals, variables that hold named dimensions, and operators
 * whose row can compute with dimensions (`dim`).  The depth bounds the work: an
 * operand that is nested deeper is just not known. */
static Dim dim_within(const Checker *c, const Expr *e, int depth) {
  DimTable *dims = types_dims(c->p->types);
  if (e->kind == EX_CONST && e->constant->rank == 0 &&
      dtype_is_int((DType)e->constant->dtype)) {
    /* Inside a sum only int32 is computed as a dimension is; a literal alone
     * may have any integer dtype. */
    if (depth > 0 && e->constant->dtype != DT_INT32) return DIM_ANY;
    Dim d = dim_of(tensor_i64_at(e->constant, 0));
    return dim_is_number(d) ? d : DIM_ANY;
  }
  if (e->kind == EX_VAR) {
    const TypeVar *var = ptrmap_get(&c->dim_vars, e->var);
    return var ? dim_named(dims, var->name, var) : DIM_ANY;
  }
  if (!is_op_call(e) || depth == VALUE_DEPTH_MAX) return DIM_ANY;
  Dim a = dim_within(c, e->args[0], depth + 1);
  if (dim_is_any(a)) return DIM_ANY;
  return dim_of_infix(dims, op_info(e->call.callee->op), a,
                      dim_within(c, e->args[1], depth + 1));
}

Dim dim_of_value(const Checker *c, const Expr *e) {
  return dim_within(c, e, 0);
}

/* --- Types --------------------------------------------------------------- */

static const Type *error_type(Resolver *r) { return type_error(r->p->types); }

static const Type *resolve_tensor(Resolver *r, const TypeExpr *t) {
  if (t->dim_count > RANK_MAX) {
    diag_error(r->p->diags, E0115, t->span,
               "a tensor has at most %d dimensions, not %d", RANK_MAX,
               t->dim_count);
    return error_type(r);
  }
  Dim dims[RANK_MAX];
  for (int i = 0; i < t->dim_count; i++) {
    dims[i] = resolve_dim(r, t->dims[i]);
    if (!dim_below(dims[i], 0)) continue;
    diag_error(r->p->diags, E0115, t->dims[i]->span,
               "a dimension cannot be negative");
    dims[i] = DIM_ANY;
  }
  return type_tensor(r->p->types, t->dtype, t->dim_count, dims);
}

/* The arguments as meant; NULL when memory ran out. */
static const Type **resolve_args(Resolver *r, const TypeExpr *t) {
  const Type **args =
      ARENA_ARRAY(&r->c->arena, const Type *, (size_t)t->arg_count + 1);
  if (!args || t->arg_count > TYPE_ARGS_MAX) return NULL;
  for (int i = 0; i < t->arg_count; i++) args[i] = resolve_type(r, t->args[i]);
  return args;
}

/* Data types, aliases and type variables, which take no arguments. */
static bool check_arity(Resolver *r, const TypeExpr *t, const char *name,
                        int wanted) {
  if (t->arg_count == wanted) return true;
  Diag *d = diag_error(r->p->diags, E0107, t->span,
                       "`%s` takes %d type argument%s, found %d", name, wanted,
                       wanted == 1 ? "" : "s", t->arg_count);
  if (t->arg_count == 0) diag_hint(d, "write `%s[...]`", name);
  return false;
}

/* An alias is replaced by its meaning at once, so types that differ in aliases
 * only are one type; messages show the meaning. */
static const Type *resolve_adt(Resolver *r, const TypeExpr *t, const Adt *adt) {
  if (!check_arity(r, t, adt->name->text, adt->param_count))
    return error_type(r);
  const Type **args = resolve_args(r, t);
  if (!args) return error_type(r);
  return type_adt(r->p->types, adt, t->arg_count, args);
}

static const Type *resolve_named(Resolver *r, const TypeExpr *t) {
  const TypeVar *var = ptrmap_get(&r->type_vars, t->name);
  if (var && var->is_dim) {
    diag_error(r->p->diags, E0104, t->span, "`%s` is a dimension, not a type",
               t->name->text);
    return error_type(r);
  }
  if (var) {
    bool plain = check_arity(r, t, t->name->text, 0);
    return plain ? type_var(r->p->types, var) : error_type(r);
  }
  const Adt *adt = find_adt(r, t->name);
  if (adt) return resolve_adt(r, t, adt);
  unknown_type(r, t->span, t->name);
  return error_type(r);
}

/* `Ref[T]` is a cell unless the program has a type of that name. */
static const Type *resolve_ref(Resolver *r, const TypeExpr *t) {
  if (t->name && find_adt(r, t->name)) return resolve_named(r, t);
  return type_ref(r->p->types, resolve_type(r, t->args[0]));
}

/* `fn [A](A) -> A` as an annotation: its parameters are known in it alone. */
static const Type *resolve_fn_type(Resolver *r, const TypeExpr *t) {
  size_t mark = scope_mark(r);
  const TypeVar *const *params =
      resolve_type_params(r, t->param_count, t->params);
  const Type **args = resolve_args(r, t);
  const Type *result = resolve_type(r, t->result);
  scope_end(r, mark);
  if (!args) return error_type(r);
  return type_fn(r->p->types, t->param_count, params, t->arg_count, args,
                 result);
}

static const Type *resolve_tuple_type(Resolver *r, const TypeExpr *t) {
  const Type **args = resolve_args(r, t);
  return args ? type_tuple(r->p->types, t->arg_count, args) : error_type(r);
}

const Type *resolve_type(Resolver *r, const TypeExpr *t) {
  switch (t->kind) {
    case TX_TENSOR: return resolve_tensor(r, t);
    case TX_TUPLE: return resolve_tuple_type(r, t);
    case TX_FN: return resolve_fn_type(r, t);
    case TX_REF: return resolve_ref(r, t);
    case TX_NAME: return resolve_named(r, t);
    case TX_HOLE: return type_meta(r->p->types, infer_hole(r->c));
  }
  return error_type(r);
}

/* --- Named dimensions as values ------------------------------------------ */

/* The value `e`'s dimension `axis`: take(shape_of(e), axis, axis=0). */
static const Expr *read_dim(Resolver *r, const Expr *e, int axis) {
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, 2);
  const Expr **of = ARENA_ARRAY(r->arena, const Expr *, 1);
  of[0] = e;
  args[0] = resolve_op_call(r, e->span, OP_SHAPE_OF, 1, of);
  args[1] = resolve_int(r, e->span, axis);
  Expr *take = resolve_op_call(r, e->span, OP_TAKE, 2, args);
  Attrs *attrs = (Attrs *)take->call.bound;
  for (int i = 0; i < attrs->op->attr_count; i++) {
    if (attrs->op->attrs[i].name != ATTR_axis) continue;
    attrs->values[i].state = AV_SET;
    attrs->values[i].integer = dim_of(0);
    attrs->values[i].count = COUNT_SCALAR;
  }
  return take;
}

static const Expr *project(Resolver *r, const Expr *e, int index) {
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, 1);
  args[0] = e;
  Expr *field = expr_new(r->arena, EX_PROJ, e->span);
  field->count = 1;
  field->args = args;
  field->index = index;
  return field;
}

/* How to read the dimension that `wanted` is from a value `e` of this type;
 * NULL when the type does not bind it. */
static const Expr *find_dim(Resolver *r, const Type *t, const Expr *e,
                            Dim wanted) {
  if (t->kind == TY_TENSOR) {
    for (int i = 0; i < t->rank; i++)
      if (dim_same(t->dims[i], wanted)) return read_dim(r, e, i);
  }
  if (t->kind != TY_TUPLE) return NULL;
  for (int i = 0; i < t->count; i++) {
    if (!t->args[i]->has_var) continue;
    const Expr *found = find_dim(r, t->args[i], project(r, e, i), wanted);
    if (found) return found;
  }
  return NULL;
}

static const Expr *read_dim_param(Resolver *r, const Fn *fn, const TypeVar *var,
                                  Span *where) {
  Dim wanted = dim_named(types_dims(r->p->types), var->name, var);
  for (int i = 0; i < fn->param_count; i++) {
    Var *param = fn->params[i];
    if (!param->declared || !param->declared->has_var) continue;
    const Expr *use = resolve_var_use(r, param->span, param);
    const Expr *found = find_dim(r, param->declared, use, wanted);
    *where = var_span(param);
    if (found) return found;
  }
  Diag *d =
      diag_error(r->p->diags, E0115, var->span,
                 "no parameter binds the dimension `%s`", var->name->text);
  diag_hint(d,
            "it must stand alone in a parameter's tensor type: "
            "Tensor[(%s), ...]",
            var->name->text);
  return resolve_error(r, var->span);
}

/* Makes a variable and a way to read it for each Dim parameter; whether there
 * is a let for it is decided when the body has been resolved (with_dim_reads).
 * `number` is a second variable of the same name, an int64, that lowering binds
 * when the function is entered: checks at run time compare dimensions with
 * it.  It is not bound to what lies inside a cell or a data type, whose
 * dimensions are not looked at when the function is entered. */
void resolve_dim_params(Resolver *r, const Fn *fn) {
  for (int i = 0; i < fn->type_param_count; i++) {
    const TypeVar *type_var = fn->type_vars[i];
    if (!type_var->is_dim) continue;
    Span where = type_var->span;
    const Expr *value = read_dim_param(r, fn, type_var, &where);
    Var *var = var_new(r->arena, type_var->name, type_var->span, NULL);
    var->id = r->p->next_var_id++;
    DimRead *read = ARENA_NEW(&r->c->arena, DimRead);
    *read = (DimRead){.var = var, .value = value};
    ptrmap_put(&r->dims, type_var, read);
    ptrmap_put(&r->c->dim_vars, var, (void *)type_var);
    Var *number = var_new(r->arena, type_var->name, where, NULL);
    number->type = type_scalar(r->p->types, DT_INT64);
    ((TypeVar *)type_var)->number = number;
  }
}
