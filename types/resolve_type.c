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

enum { TYPE_ARGS_MAX = 1 << 16 };

/* --- Type parameters ----------------------------------------------------- */

/* Is it a type parameter's in scope, or one of the list? */
static bool is_taken(const Resolver *r, const Name *name, int count,
                     const TypeParam *params) {
  bool taken = ptrmap_has(&r->type_vars, name);
  for (int i = 0; i < count; i++) taken |= params[i].name == name;
  return taken;
}

/* May the axes of the shape be called s_0, s_1, with `between` for the `_`? */
static bool axes_are_free(Resolver *r, const TypeVar *shape,
                          const char *between, int count,
                          const TypeParam *params) {
  bool free = true;
  for (int i = 0; free && i < shape->rank; i++) {
    const char *text =
        arena_printf(&r->c->arena, "%s%s%d", shape->name->text, between, i);
    free = !text || !is_taken(r, name_of(r->p->names, text), count, params);
  }
  return free;
}

/* The axes of a literal have names that can be read, since it is printed with
 * them; a definition is printed as it is written. */
static void add_axes(Resolver *r, TypeVar *shape, int count,
                     const TypeParam *params) {
  const char *between = params == r->leaf_params ? "_" : ".";
  while (!axes_are_free(r, shape, between, count, params))
    between = arena_printf(&r->c->arena, "%s_", between);
  typevar_add_axes(r->c, r->arena, shape, between);
}

/* What the parameter stands for in the instance at hand. */
static void take_argument(Resolver *r, TypeVar *var, const TypeParam *p,
                          const KindArg *arg) {
  var->dtype = DTYPE_NONE;
  if (arg) {
    var->rank = arg->rank;
    var->dtype = arg->dtype;
    return;
  }
  Diag *d =
      diag_error(r->p->diags, E0122, p->span,
                 "only a `def` or a `type` takes a parameter of the kind `%s`",
                 kind_info[p->kind].word);
  diag_hint(d, "inside a `def`, a `fn` may use the parameters of the `def`");
}

/* The function's own parameters without those of the instance, and the
 * dimensions of its shapes. */
void resolve_instance_params(Resolver *r, Fn *fn) {
  size_t most = 0;
  for (int i = 0; i < fn->type_param_count; i++)
    most += 1 + (size_t)fn->type_vars[i]->rank;
  TypeParam *params = ARENA_ARRAY(r->arena, TypeParam, most);
  const TypeVar **vars = ARENA_ARRAY(r->arena, const TypeVar *, most);
  int n = 0;
  for (int i = 0; params && vars && i < fn->type_param_count; i++) {
    const TypeVar *var = fn->type_vars[i];
    if (kind_info[var->kind].solve != SOLVE_INSTANCE) {
      params[n] = fn->type_params[i];
      vars[n++] = var;
    }
    for (int k = 0; k < var->rank; k++) {
      const TypeVar *axis = var->axes[k];
      params[n] = (TypeParam){axis->name, axis->span, KIND_DIM};
      vars[n++] = axis;
    }
  }
  fn->type_params = params;
  fn->type_vars = vars;
  fn->type_param_count = n;
}

/* Parameters are bound in a scope of the caller's, which ends it. */
const TypeVar *const *resolve_type_params(Resolver *r, int count,
                                          const TypeParam *params) {
  const TypeVar **vars = ARENA_ARRAY(r->arena, const TypeVar *, (size_t)count);
  const Instance *instance = r->def->instance;
  const KindArg *args = NULL; /* those of another function's are not known */
  if (instance && params == instance->of->item->expr->fn->type_params)
    args = instance->args;
  else if (params == r->leaf_params) args = r->leaf_args;
  PtrMap seen;
  ptrmap_init(&seen, r->c->mem);
  for (int i = 0; vars && i < count; i++) {
    const TypeParam *p = &params[i];
    if (ptrmap_has(&seen, p->name))
      diag_error(r->p->diags, E0404, p->span,
                 "the type parameter `%s` is declared twice", p->name->text);
    ptrmap_put(&seen, p->name, (void *)p);
    TypeVar *var = typevar_new(r->p->types, p->name, p->span, p->kind);
    if (kind_info[p->kind].solve == SOLVE_INSTANCE)
      take_argument(r, var, p, args ? &args[i] : NULL);
    if (args && p->kind == KIND_SHAPE) add_axes(r, var, count, params);
    scope_bind(r, &r->type_vars, p->name, var);
    vars[i] = var;
  }
  ptrmap_done(&seen);
  return vars;
}

/* --- Size variables ------------------------------------------------------ */

/* The entry that meta[tir.SizeVar][n] stands for; NULL: there is none.  TVM
 * writes a symbolic dimension as an entry of the metadata section, which the
 * signature mentions without a declaration. */
static const MetaEntry *size_var_of(const Resolver *r, const DimExpr *d) {
  if (d->kind != DX_META) return NULL;
  const MetaEntry *m = find_meta(r->unit, d->name->text, d->number);
  return m && m->kind == META_SIZE_VAR ? m : NULL;
}

/* The name that TVM gave the variable, which the program's text does not
 * mention. */
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
  TypeVar *var = typevar_new(r->p->types, name, d->span, KIND_DIM);
  scope_bind(r, &r->size_vars, m, var);
  VEC_PUSH(found,
           (SizeVar){{.name = name, .span = d->span, .kind = KIND_DIM}, var});
}

/* What binds a dimension: tensors, also in tuples.  An explicit stack, as
 * tuples of tuples may nest.  Fields are pushed in reverse, so that variables
 * are found in the order of the text. */
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
static bool is_reported(Resolver *r, const Name *name) {
  if (ptrmap_has(&r->no_dims, name)) return true;
  ptrmap_put(&r->no_dims, name, (void *)name);
  return false;
}

static void report_unread(Resolver *r, Span span, const TypeVar *var,
                          const char *what, const char *are) {
  Diag *d = diag_error(r->p->diags, E0115, span,
                       "nothing says what the %s `%s` %s when the program runs",
                       what, var->name->text, are);
  diag_note(d, var->span, "here");
  diag_hint(d,
            "as a value, it must stand in the type of a tensor, also in a "
            "cell or in a data type with one constructor");
}

void report_no_axis(Resolver *r, Span span, const TypeVar *shape) {
  if (!is_reported(r, shape->name))
    report_unread(r, span, shape, "dimensions of", "are");
}

void report_no_dim(Resolver *r, Span span, const Name *name) {
  if (is_reported(r, name)) return;
  const TypeVar *var = ptrmap_get(&r->type_vars, name);
  if (var && var->kind == KIND_DIM) {
    report_unread(r, span, var, "dimension", "is");
    return;
  }
  Diag *d = diag_error(r->p->diags, E0115, span,
                       var ? "`%s` is declared as %s, not as a dimension"
                           : "there is no dimension `%s`",
                       name->text, var ? kind_info[var->kind].meaning : "");
  if (var) diag_note(d, var->span, "here");
  if (var && var->kind == KIND_SHAPE)
    diag_hint(d,
              "a shape stands in a type, (%s...), or for a list of an "
              "operator, shape=%s or newshape=[%s..., 1]",
              name->text, name->text, name->text);
  else
    diag_hint(d,
              var ? "a dimension is declared so: [%s: Dim]"
                  : "declare it as a parameter: [%s: Dim]",
              name->text);
}

static Dim resolve_dim_name(Resolver *r, const DimExpr *d) {
  const TypeVar *var = ptrmap_get(&r->type_vars, d->name);
  if (var && var->kind == KIND_DIM)
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

/* A dimension that is no sum. */
static Dim resolve_term(Resolver *r, const DimExpr *d) {
  if (d->kind == DX_NUMBER) return dim_of(d->number);
  if (d->kind == DX_NAME) return resolve_dim_name(r, d);
  return size_var_of(r, d) ? resolve_size_var(r, d) : DIM_ANY;
}

/* Evaluates the postfix order on a stack of dimensions: a sum may have any
 * number of terms. */
static Dim resolve_dim(Resolver *r, const DimExpr *root) {
  if (!root->left) return resolve_term(r, root);
  VEC(Dim) done;
  VEC_INIT(&done, r->p->mem);
  DimExprs order;
  VEC_INIT(&order, r->p->mem);
  bool fits = dim_expr_postfix(root, &order) && VEC_RESERVE(&done, order.len);
  for (size_t i = 0; fits && i < order.len; i++) {
    const DimExpr *d = order.data[i];
    if (d->left) {
      Dim b = VEC_POP(&done), a = VEC_POP(&done);
      VEC_PUSH(&done, resolve_dim_infix(r, d, a, b));
    } else {
      VEC_PUSH(&done, resolve_term(r, d));
    }
  }
  Dim whole = fits ? done.data[0] : DIM_ANY;
  VEC_DONE(&order);
  VEC_DONE(&done);
  return whole;
}

/* --- Types --------------------------------------------------------------- */

static const Type *error_type(Resolver *r) { return type_error(r->p->types); }

/* The shape that `s...` means; NULL after a report. */
static const TypeVar *resolve_splat(Resolver *r, const DimExpr *d) {
  const TypeVar *var = ptrmap_get(&r->type_vars, d->name);
  if (var && var->kind == KIND_SHAPE) return var;
  Diag *diag =
      diag_error(r->p->diags, E0115, d->span,
                 var ? "`%s` is %s, not a shape" : "there is no shape `%s`",
                 d->name->text, var ? kind_info[var->kind].meaning : "");
  if (var) diag_note(diag, var->span, "here");
  diag_hint(diag, "a shape is a parameter of a `def`: [%s: Shape]",
            d->name->text);
  return NULL;
}

static DType resolve_dtype(Resolver *r, const TypeExpr *t) {
  if (!t->dtype_name) return t->dtype;
  const TypeVar *var = ptrmap_get(&r->type_vars, t->dtype_name);
  if (var && kind_info[var->kind].member) return var->dtype;
  Diag *d =
      diag_error(r->p->diags, E0104, t->dtype_span,
                 var ? "`%s` is %s, not a dtype" : "`%s` is no element type",
                 t->dtype_name->text, var ? kind_info[var->kind].meaning : "");
  if (var) diag_note(d, var->span, "here");
  diag_hint(d, "a dtype is a parameter of a `def`: [%s: Float]",
            t->dtype_name->text);
  return DTYPE_NONE;
}

static Dim resolve_plain_dim(Resolver *r, const DimExpr *written) {
  Dim d = resolve_dim(r, written);
  if (!dim_below(d, 0)) return d;
  diag_error(r->p->diags, E0115, written->span,
             "a dimension cannot be negative");
  return DIM_ANY;
}

/* The dimensions as meant, at most RANK_MAX; false after a report. */
static bool resolve_shape(Resolver *r, Span span, int count,
                          const DimExpr *const *written, Dim *dims, int *rank) {
  bool known = true;
  int n = 0;
  for (int i = 0; i < count; i++) {
    const DimExpr *d = written[i];
    const TypeVar *shape = d->kind == DX_SPLAT ? resolve_splat(r, d) : NULL;
    int axes = shape ? shape->rank : 1;
    known &= shape || d->kind != DX_SPLAT;
    for (int k = 0; shape && k < axes && n + k < RANK_MAX; k++)
      dims[n + k] = d->any ? DIM_ANY
                           : dim_named(types_dims(r->p->types),
                                       shape->axes[k]->name, shape->axes[k]);
    if (!shape && known && n < RANK_MAX) dims[n] = resolve_plain_dim(r, d);
    n += axes;
  }
  *rank = n;
  if (n <= RANK_MAX) return known;
  diag_error(r->p->diags, E0115, span,
             "a tensor has at most %d dimensions, not %d", RANK_MAX, n);
  return false;
}

static const Type *resolve_tensor(Resolver *r, const TypeExpr *t) {
  if (t->whole && t->dims[0]->kind == DX_ANY) {
    DType dtype = resolve_dtype(r, t);
    return dtype == DTYPE_NONE ? error_type(r)
                               : type_any_rank(r->p->types, dtype);
  }
  Dim dims[RANK_MAX];
  int rank;
  bool known = resolve_shape(r, t->span, t->dim_count, t->dims, dims, &rank);
  if (rank > RANK_MAX) return error_type(r);
  DType dtype = resolve_dtype(r, t);
  if (!known || dtype == DTYPE_NONE) return error_type(r);
  return type_tensor(r->p->types, dtype, rank, dims);
}

/* --- Arguments of data types --------------------------------------------- */

/* What was written where an argument of another kind should stand. */
static const char *arg_meaning(Resolver *r, const TypeExpr *t) {
  const TypeVar *var = NULL;
  if (t->kind == TX_NAME && !t->brackets)
    var = ptrmap_get(&r->type_vars, t->name);
  if (var)
    return arena_printf(&r->c->arena, "`%s` is %s", t->name->text,
                        kind_info[var->kind].meaning);
  bool splat = t->kind == TX_DIM && t->dims[0]->kind == DX_SPLAT;
  return splat                ? "`...` stands within a shape"
         : t->kind == TX_DIM  ? "this is a dimension"
         : t->kind == TX_HOLE ? "`_` leaves it open"
                              : "this is a type";
}

static void report_kind(Resolver *r, const TypeExpr *t, const TypeVar *param) {
  const KindInfo *kind = &kind_info[param->kind];
  const TypeVar *var =
      t->kind == TX_NAME ? ptrmap_get(&r->type_vars, t->name) : NULL;
  bool dim = var ? var->kind == KIND_DIM
                 : t->kind == TX_DIM && t->dims[0]->kind != DX_SPLAT;
  Diag *d = diag_error(r->p->diags, param->kind == KIND_DIM ? E0115 : E0216,
                       t->span, "`%s` is %s; %s", param->name->text,
                       kind->meaning, arg_meaning(r, t));
  diag_note(d, param->span, "declared here");
  if (t->kind == TX_HOLE)
    diag_hint(d, "write it out, or `_` for the whole type");
  else if (param->kind == KIND_SHAPE && dim)
    diag_hint(d, "the shape of one dimension is written in parentheses: (%s)",
              t->kind == TX_NAME ? t->name->text : "4");
  else if (param->kind == KIND_SHAPE)
    diag_hint(d,
              "a shape is written as in Tensor[(2, n), float32]: (2, n), "
              "(s..., 1), ()");
  else if (kind->member)
    diag_hint(d,
              "a dtype is float32, int64 or the like, or a parameter "
              "[d: DType]");
}

/* A name is read as a type, and so is what stands for a dimension. */
static const DimExpr *arg_as_dim(Resolver *r, const TypeExpr *t) {
  if (t->kind == TX_DIM) return t->dims[0];
  if (t->kind != TX_HOLE && (t->kind != TX_NAME || t->brackets)) return NULL;
  DimExpr *d = ARENA_NEW(&r->c->arena, DimExpr);
  *d = (DimExpr){.kind = t->kind == TX_HOLE ? DX_ANY : DX_NAME,
                 .span = t->span,
                 .name = t->name};
  return d;
}

/* Layer[4], Layer[n], Layer[?]: `_` is `?`. */
static const Type *resolve_dim_arg(Resolver *r, const TypeExpr *t,
                                   const TypeVar *param) {
  const DimExpr *d = arg_as_dim(r, t);
  if (d && d->kind != DX_SPLAT)
    return type_dim(r->p->types, resolve_plain_dim(r, d));
  report_kind(r, t, param);
  return type_dim(r->p->types, DIM_ANY);
}

/* (2, n), (s..., 1), s; false after a report. */
static bool resolve_shape_arg(Resolver *r, const TypeExpr *t,
                              const TypeVar *param, Dim *dims, int *rank) {
  const TypeVar *var = NULL;
  if (t->kind == TX_NAME && !t->brackets)
    var = ptrmap_get(&r->type_vars, t->name);
  DimExpr whole = {.kind = DX_SPLAT, .span = t->span, .name = t->name};
  const DimExpr *one = &whole;
  if (var && var->kind == KIND_SHAPE)
    return resolve_shape(r, t->span, 1, &one, dims, rank);
  const DimExpr **items =
      ARENA_ARRAY(&r->c->arena, const DimExpr *, (size_t)t->arg_count);
  bool shape = t->kind == TX_TUPLE && items;
  if (!shape) report_kind(r, t, param);
  for (int i = 0; shape && i < t->arg_count; i++) {
    items[i] = arg_as_dim(r, t->args[i]);
    if (items[i]) continue;
    report_kind(r, t->args[i], param);
    shape = false;
  }
  return shape && resolve_shape(r, t->span, t->arg_count, items, dims, rank);
}

/* float32, d; DTYPE_NONE after a report. */
static DType resolve_dtype_arg(Resolver *r, const TypeExpr *t, const Adt *adt,
                               const TypeVar *param) {
  const TypeVar *var = NULL;
  if (t->kind == TX_NAME && !t->brackets)
    var = ptrmap_get(&r->type_vars, t->name);
  bool named = var && kind_info[var->kind].member;
  bool word = t->kind == TX_TENSOR && t->scalar;
  DType dtype = named ? var->dtype : word ? t->dtype : DTYPE_NONE;
  if (!named && !word) report_kind(r, t, param);
  if (dtype == DTYPE_NONE || kind_info[param->kind].member(dtype)) return dtype;
  Diag *d =
      diag_error(r->p->diags, E0216, t->span, "`%s` of `%s` is %s, not %s",
                 param->name->text, adt->name->text,
                 kind_info[param->kind].meaning, dtype_name(dtype));
  diag_note(d, param->span, "declared here");
  return DTYPE_NONE;
}

/* The arguments of a data type, each by its parameter's kind.  Those that are
 * solved by instance say which instance is meant, in `kinds`; a shape's
 * dimensions are arguments of that.  False after a report. */
static bool resolve_adt_args(Resolver *r, const TypeExpr *t, const Adt *adt,
                             const Type **args, KindArg *kinds) {
  TypeTable *types = r->p->types;
  bool known = true;
  int n = 0;
  for (int i = 0; i < t->arg_count; i++) {
    const TypeVar *param = adt->params[i];
    const KindInfo *kind = &kind_info[param->kind];
    Dim dims[RANK_MAX];
    kinds[i] = (KindArg){.dtype = DTYPE_NONE};
    if (kind->member) {
      kinds[i].dtype = resolve_dtype_arg(r, t->args[i], adt, param);
      known &= kinds[i].dtype != DTYPE_NONE;
    } else if (kind->solve == SOLVE_INSTANCE) {
      int rank = 0;
      bool shape = resolve_shape_arg(r, t->args[i], param, dims, &rank);
      known &= shape;
      for (int k = 0; shape && k < rank; k++)
        args[n++] = type_dim(types, dims[k]);
      kinds[i].rank = shape ? rank : 0;
    } else if (param->kind == KIND_DIM) {
      args[n++] = resolve_dim_arg(r, t->args[i], param);
    } else {
      args[n++] = resolve_type(r, t->args[i]);
    }
  }
  return known;
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
static const Type *resolve_adt(Resolver *r, const TypeExpr *t, Adt *adt) {
  if (!check_arity(r, t, adt->name->text, adt->param_count) ||
      t->arg_count > TYPE_ARGS_MAX)
    return error_type(r);
  size_t count = (size_t)t->arg_count, most = adt->is_generic ? RANK_MAX : 1;
  const Type **args = ARENA_ARRAY(&r->c->arena, const Type *, count *most + 1);
  KindArg *kinds = ARENA_ARRAY(&r->c->arena, KindArg, count);
  if (!args || !kinds || !resolve_adt_args(r, t, adt, args, kinds))
    return error_type(r);
  if (adt->is_generic) adt = adt_instance(r->c, adt, kinds, t->span);
  if (!adt) return error_type(r);
  if (adt->is_alias)
    return type_substitute(r->p->types, resolve_alias(r->c, adt),
                           adt->param_count, adt->params, args, NULL);
  return type_adt(r->p->types, adt, adt->param_count, args);
}

/* `float32[3]`. */
static void report_dtype(Resolver *r, const TypeExpr *t, DType dtype) {
  Diag *d = diag_error(r->p->diags, E0107, t->span,
                       "`%s` takes no type arguments", t->name->text);
  diag_hint(d, "a tensor's type is written Tensor[(2, 3), %s]",
            dtype_name(dtype));
}

static const Type *resolve_named(Resolver *r, const TypeExpr *t) {
  const TypeVar *var = ptrmap_get(&r->type_vars, t->name);
  if (var && kind_info[var->kind].member && var->dtype != DTYPE_NONE &&
      !t->brackets)
    return type_scalar(r->p->types, var->dtype);
  if (var && var->kind != KIND_TYPE) {
    diag_error(r->p->diags, E0104, t->span, "`%s` is %s, not a type",
               t->name->text, kind_info[var->kind].meaning);
    return error_type(r);
  }
  if (var) {
    bool plain = check_arity(r, t, t->name->text, 0);
    return plain ? type_var(r->p->types, var) : error_type(r);
  }
  Adt *adt = find_adt(r, t->name);
  if (adt) return resolve_adt(r, t, adt);
  DType dtype = dtype_find(t->name->text, t->name->len);
  if (dtype != DTYPE_NONE) report_dtype(r, t, dtype);
  else unknown_type(r, t->span, t->name);
  return error_type(r);
}

/* `Ref[T]` is a cell unless the program has a type of that name.  So Relay
 * texts that declare a type `Ref` of their own keep it. */
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

static inline const Type *resolve_kind(Resolver *r, const TypeExpr *t) {
  switch (t->kind) {
    case TX_TENSOR: return resolve_tensor(r, t);
    case TX_TUPLE: return resolve_tuple_type(r, t);
    case TX_FN: return resolve_fn_type(r, t);
    case TX_REF: return resolve_ref(r, t);
    case TX_NAME: return resolve_named(r, t);
    case TX_HOLE: return type_meta(r->p->types, infer_hole(r->c));
    case TX_DIM:
      diag_error(r->p->diags, E0104, t->span,
                 "this is a dimension; a type is expected here");
      break;
  }
  return error_type(r);
}

const Type *resolve_type(Resolver *r, const TypeExpr *t) {
  const Type *type = resolve_kind(r, t);
  if (types_too_deep(r->p->types) && !mem_exhausted(r->c->mem))
    diag_error(r->p->diags, E0214, t->span, "this type is nested too deeply");
  return type;
}

/* --- Named dimensions as values ------------------------------------------ */

/* The value `e`'s dimension `axis`: take(shape_of(e), axis, axis=0).  The call
 * is made resolved: nothing resolves it again.  `axis=0` is set, as `take`
 * without an axis flattens. */
static const Expr *read_dim(Resolver *r, const Expr *e, int axis) {
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, 2);
  const Expr **of = ARENA_ARRAY(r->arena, const Expr *, 1);
  of[0] = e;
  args[0] = resolve_op_call(r, e->span, OP_SHAPE_OF, 1, of);
  args[1] = resolve_int(r, e->span, DT_INT32, axis);
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
  return expr_proj(r->arena, e->span, e, index);
}

/* How to read the dimension that `wanted` is from a value `e` of this type;
 * NULL when the type does not bind it.  A dimension within a form, as n in
 * Tensor[(n + 1)], does not bind: only a dimension that is the name itself can
 * be read. */
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

/* Aliases of aliases make types that are exponential as trees. */
enum { SEARCHED_MOST = 1 << 16 };

static bool is_searched(const Type *declared) {
  return declared && declared->has_var && declared->size <= SEARCHED_MOST;
}

enum { INSIDE_MAX = 8 }; /* cells and data types within one another */

static const Expr *find_inside(Resolver *r, const Type *t, const Expr *e,
                               Dim wanted, int depth);

static const Expr *find_in_cell(Resolver *r, const Type *t, const Expr *e,
                                Dim wanted, int depth) {
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, 1);
  args[0] = e;
  Expr *content = expr_new(r->arena, EX_READ, e->span);
  content->args = args;
  content->count = 1;
  return find_inside(r, t->args[0], content, wanted, depth + 1);
}

/* match (e) { C(_, %field, _) => ... } of a type with one constructor. */
static const Expr *match_field(Resolver *r, const Expr *e, const Ctor *ctor,
                               int field, Var *var, const Expr *body) {
  const Pattern **fields =
      ARENA_ARRAY(r->arena, const Pattern *, (size_t)ctor->field_count);
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, 1);
  if (!fields) return resolve_error(r, e->span);
  for (int i = 0; i < ctor->field_count; i++) {
    Pattern *p = ARENA_NEW(r->arena, Pattern);
    *p = (Pattern){.kind = i == field ? PT_VAR : PT_WILD, .span = e->span};
    if (i == field) p->var = var;
    fields[i] = p;
  }
  Pattern *whole = ARENA_NEW(r->arena, Pattern);
  *whole = (Pattern){.kind = PT_CTOR,
                     .span = e->span,
                     .name = ctor->name,
                     .ctor = ctor,
                     .count = ctor->field_count,
                     .fields = fields};
  Arm *arm = ARENA_NEW(r->arena, Arm);
  *arm = (Arm){.span = e->span, .pattern = whole, .body = body};
  Match *match = ARENA_NEW(r->arena, Match);
  *match = (Match){.arm_count = 1, .arms = arm};
  args[0] = e;
  Expr *made = expr_new(r->arena, EX_MATCH, e->span);
  made->args = args;
  made->count = 1;
  made->match = match;
  return made;
}

static const Expr *find_in_fields(Resolver *r, const Type *t, const Expr *e,
                                  Dim wanted, int depth) {
  const Adt *adt = t->adt;
  const Ctor *ctor = &adt->ctors[0];
  if (adt->ctor_count != 1 || !ctor->type) return NULL;
  for (int i = 0; i < ctor->field_count; i++) {
    const Type *field =
        type_substitute(r->p->types, ctor->fields[i], adt->param_count,
                        adt->params, t->args, NULL);
    if (!field->has_var) continue;
    Var *var = var_new(r->arena, name_of(r->p->names, "field"), e->span, NULL);
    var->id = r->p->next_var_id++;
    const Expr *use = resolve_var_use(r, e->span, var);
    const Expr *found = find_inside(r, field, use, wanted, depth + 1);
    if (found) return match_field(r, e, ctor, i, var, found);
  }
  return NULL;
}

/* The same through cells and data types with one constructor. */
static const Expr *find_inside(Resolver *r, const Type *t, const Expr *e,
                               Dim wanted, int depth) {
  const Expr *found = find_dim(r, t, e, wanted);
  if (found || depth == INSIDE_MAX) return found;
  if (t->kind == TY_REF) return find_in_cell(r, t, e, wanted, depth);
  if (t->kind == TY_ADT) return find_in_fields(r, t, e, wanted, depth);
  for (int i = 0; t->kind == TY_TUPLE && !found && i < t->count; i++)
    found = find_inside(r, t->args[i], project(r, e, i), wanted, depth + 1);
  return found;
}

/* Does the type hold the dimension alone?  Types are as deep as they are
 * written. */
static bool holds_dim(const Type *t, Dim wanted) {
  for (int i = 0; i < t->rank; i++)
    if (dim_same(t->dims[i], wanted)) return true;
  for (int i = 0; i < t->count; i++)
    if (holds_dim(t->args[i], wanted)) return true;
  return t->kind == TY_FN && holds_dim(t->result, wanted);
}

/* How to read the dimension inside a cell or a data type; NULL when it cannot
 * be read there, as in a list, which may be empty, or in what a function
 * gives. */
static bool read_dim_inside(Resolver *r, const Fn *fn, Dim wanted,
                            const Expr **value) {
  bool held = false;
  *value = NULL;
  for (int i = 0; i < fn->param_count && !*value; i++) {
    Var *param = fn->params[i];
    if (!is_searched(param->declared)) continue;
    if (!holds_dim(param->declared, wanted)) continue;
    held = true;
    const Expr *use = resolve_var_use(r, param->span, param);
    *value = find_inside(r, param->declared, use, wanted, 0);
  }
  return held;
}

/* The parameters are tried in their order; `where` receives the place of the
 * one that binds the dimension, for messages at run time.  Parameters that lack
 * the dimension cost a look at their type and nothing of the arena: thousands
 * of dimensions in thousands of parameters would fill it. */
static const Expr *read_dim_param(Resolver *r, const Fn *fn, const TypeVar *var,
                                  Span *where) {
  Dim wanted = dim_named(types_dims(r->p->types), var->name, var);
  for (int i = 0; i < fn->param_count; i++) {
    Var *param = fn->params[i];
    if (!is_searched(param->declared)) continue;
    if (!holds_dim(param->declared, wanted)) continue;
    const Expr *use = resolve_var_use(r, param->span, param);
    const Expr *found = find_dim(r, param->declared, use, wanted);
    *where = var_span(param);
    if (found) return found;
  }
  *where = SPAN_NONE;
  const Expr *inside;
  if (read_dim_inside(r, fn, wanted, &inside)) return inside;
  Diag *d =
      diag_error(r->p->diags, E0115, var->span,
                 "no parameter binds the dimension `%s`", var->name->text);
  diag_hint(d,
            "it must stand alone in a parameter's type: Tensor[(%s), ...], or "
            "as an argument of a data type",
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
    if (mem_exhausted(r->p->mem)) return;
    const TypeVar *type_var = fn->type_vars[i];
    if (type_var->kind != KIND_DIM) continue;
    Span where = type_var->span;
    const Expr *value = read_dim_param(r, fn, type_var, &where);
    if (!value) continue;
    Var *var = var_new(r->arena, type_var->name, type_var->span, NULL);
    var->id = r->p->next_var_id++;
    var->is_dim = true;
    DimRead *read = ARENA_NEW(&r->c->arena, DimRead);
    *read = (DimRead){.var = var, .value = value};
    ptrmap_put(&r->dims, type_var, read);
    ptrmap_put(&r->c->dim_vars, var, (void *)type_var);
    if (!span_exists(where)) continue;
    Var *number = var_new(r->arena, type_var->name, where, NULL);
    number->type = type_scalar(r->p->types, DT_INT64);
    ((TypeVar *)type_var)->number = number;
  }
}
