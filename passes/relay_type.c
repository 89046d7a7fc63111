/* Types in plain Relay, which cannot write cells and polymorphic functions, and
 * takes a hole only as a whole annotation.
 *
 *   Tensor[(n, n + 1), float32]     Tensor[(?, ?), float32]
 *   Pairs[int32]                    what the alias stands for
 *   ref(int32)                      left out, where it may be: inferred there
 *   Tensor[?, float32]              refused
 *
 * Annotations that are left out are noted with their places (`unsaid`), so that
 * the host can say so.
 *
 * Recursion follows the nesting of types, which the parser bounds; aliases add
 * to it and have a bound of their own. */
#include "passes/relay_map.h"

static bool has_splat(const TypeExpr *t) {
  for (int i = 0; i < t->dim_count; i++)
    if (t->dims[i]->kind == DX_SPLAT) return true;
  return false;
}

/* `whole`: the type is an annotation by itself, where a hole may stand. */
static bool has_words(const TypeExpr *t, bool whole) {
  if (t->kind == TX_REF || (t->kind == TX_HOLE && !whole)) return false;
  if (t->kind == TX_TENSOR && (t->dtype_name || has_splat(t))) return false;
  for (int i = 0; i < t->param_count; i++)
    if (t->params[i].kind != KIND_DIM) return false;
  for (int i = 0; i < t->arg_count; i++)
    if (!has_words(t->args[i], false)) return false;
  return !t->result || has_words(t->result, false);
}

static const TypeExpr *map_type(Relay *r, const TypeExpr *t);

/* Numbers and metadata entries stay, names and sums of them do not. */
static void map_dims(Relay *r, TypeExpr *made) {
  size_t count = (size_t)made->dim_count;
  const DimExpr **dims = ARENA_ARRAY(r->arena, const DimExpr *, count);
  for (int i = 0; dims && i < made->dim_count; i++) {
    const DimExpr *d = made->dims[i];
    bool plain = d->kind == DX_NUMBER || d->kind == DX_META;
    DimExpr *any = plain ? NULL : ARENA_NEW(r->arena, DimExpr);
    if (any) *any = (DimExpr){.kind = DX_ANY, .span = d->span};
    dims[i] = any ? any : d;
  }
  made->dims = dims;
}

/* Some scalar dtypes are no words by themselves there: Tensor[(), uint8]. */
static void map_tensor(Relay *r, TypeExpr *made) {
  if (dtype_info[made->dtype].relay_wrapped) made->scalar = false;
  if (made->dim_count > 0) map_dims(r, made);
}

/* Parameters of function types that are dimensions go, as has_words has let no
 * others pass. */
static const TypeExpr *map_type(Relay *r, const TypeExpr *t) {
  TypeExpr *made = ARENA_NEW(r->arena, TypeExpr);
  *made = *t;
  made->param_count = 0;
  if (t->kind == TX_TENSOR) map_tensor(r, made);
  const TypeExpr **args =
      ARENA_ARRAY(r->arena, const TypeExpr *, (size_t)t->arg_count);
  const AdtDecl *adt = t->kind == TX_NAME && t->arg_count > 0
                           ? relay_find_type(r, t->name)
                           : NULL;
  made->arg_count = 0;
  for (int i = 0; args && i < t->arg_count; i++) {
    bool dim = adt && i < adt->param_count && adt->params[i].kind == KIND_DIM;
    if (!dim) args[made->arg_count++] = map_type(r, t->args[i]);
  }
  made->args = args;
  if (adt && made->arg_count == 0) made->brackets = false;
  if (t->result) made->result = map_type(r, t->result);
  return made;
}

/* --- Aliases -------------------------------------------------------------- */

enum { ALIASES_MAX = 500 }; /* within one another; each goes a level deeper */

static const TypeExpr *write_out(Relay *r, const TypeExpr *t, int depth);

/* An alias's parameters stand for the arguments, which are written out.
 * Arguments are written out before they are put for the parameters, so their
 * own names are not taken for the alias's.  What the parameters' names meant
 * before comes back in the reverse order. */
static const TypeExpr *alias_meaning(Relay *r, const AdtDecl *alias,
                                     const TypeExpr *t, int depth) {
  size_t count = (size_t)alias->param_count;
  void **hidden = ARENA_ARRAY(r->arena, void *, count);
  for (size_t i = 0; hidden && i < count; i++) {
    const Name *name = alias->params[i].name;
    hidden[i] = ptrmap_get(&r->type_args, name);
    ptrmap_put(&r->type_args, name, (void *)t->args[i]);
  }
  const TypeExpr *made = write_out(r, alias->meaning, depth + 1);
  for (size_t i = count; hidden && i-- > 0;)
    ptrmap_put(&r->type_args, alias->params[i].name, hidden[i]);
  return made;
}

/* Aliases of pairs of aliases are as long as a power of two when written out.
 */
static bool too_long(Relay *r, const TypeExpr *t) {
  if (r->alias_parts++ == ALIAS_PARTS_MAX)
    relay_refuse(r, t->span,
                 "a type that has more than %d parts without its aliases",
                 (int)ALIAS_PARTS_MAX);
  return r->alias_parts > ALIAS_PARTS_MAX || mem_exhausted(r->p->mem);
}

/* Gives `t` itself where nothing in it can change. */
static const TypeExpr *write_out(Relay *r, const TypeExpr *t, int depth) {
  bool named = t->kind == TX_NAME;
  const TypeExpr *known =
      named && !t->brackets ? ptrmap_get(&r->type_args, t->name) : NULL;
  if (known) return known;
  const AdtDecl *alias = named ? ptrmap_get(&r->aliases, t->name) : NULL;
  if (depth > ALIASES_MAX)
    relay_refuse(r, t->span, "aliases of aliases as deep as this");
  if (depth > ALIASES_MAX || too_long(r, t) ||
      (!alias && t->arg_count == 0 && !t->result))
    return t;
  TypeExpr *made = arena_copy(r->arena, t, sizeof *t);
  const TypeExpr **args =
      ARENA_ARRAY(r->arena, const TypeExpr *, (size_t)t->arg_count);
  if (!made || (!args && t->arg_count > 0)) return t;
  for (int i = 0; i < t->arg_count; i++)
    args[i] = write_out(r, t->args[i], depth);
  made->args = args;
  if (t->result) made->result = write_out(r, t->result, depth);
  bool fits = alias && alias->param_count == made->arg_count;
  return fits ? alias_meaning(r, alias, made, depth) : made;
}

/* The type without aliases. */
static const TypeExpr *without_aliases(Relay *r, const TypeExpr *t) {
  r->alias_parts = 0;
  return r->aliases.len > 0 ? write_out(r, t, 0) : t;
}

/* --- Types as annotations ------------------------------------------------- */

/* Relay's ranks are static, so a hole would not stand for this. */
static void refuse_any_rank(Relay *r, const TypeExpr *t) {
  if (t->kind == TX_TENSOR && t->whole && t->dims[0]->kind == DX_ANY)
    relay_refuse(r, t->span, "a tensor of unknown rank");
  for (int i = 0; i < t->arg_count; i++) refuse_any_rank(r, t->args[i]);
  if (t->result) refuse_any_rank(r, t->result);
}

/* An alias may stand for an instance, and an instance of an alias for what it
 * means. */
const TypeExpr *relay_meaning(Relay *r, const TypeExpr *t) {
  t = without_aliases(r, t);
  if (!r->has_generic_adts) return t;
  if (r->alias_depth >= ALIASES_MAX) {
    relay_refuse(r, t->span, "aliases of aliases as deep as this");
    return t;
  }
  r->alias_depth++;
  t = without_aliases(r, relay_adt_types(r, t));
  r->alias_depth--;
  return t;
}

const TypeExpr *relay_annotation(Relay *r, const TypeExpr *t) {
  if (!t) return NULL;
  t = relay_meaning(r, t);
  refuse_any_rank(r, t);
  if (has_words(t, true)) return map_type(r, t);
  if (!r->home || !r->home->used) VEC_PUSH(&r->unsaid, t->span);
  return NULL;
}

const TypeExpr *relay_type(Relay *r, const TypeExpr *t) {
  t = relay_meaning(r, t);
  refuse_any_rank(r, t);
  if (!has_words(t, false))
    relay_refuse(r, t->span, "this type, which cannot be left out");
  return map_type(r, t);
}

/* Types stay parameters; dimensions are `?` wherever they are mentioned. */
const TypeParam *relay_type_params(Relay *r, int count, const TypeParam *params,
                                   int *kept) {
  TypeParam *made = ARENA_ARRAY(r->arena, TypeParam, (size_t)count);
  *kept = 0;
  for (int i = 0; made && i < count; i++)
    if (params[i].kind != KIND_DIM) made[(*kept)++] = params[i];
  return made;
}

/* --- Named dimensions as values ------------------------------------------- */

/* take(shape_of(e, dtype="int32"), axis, axis=0) */
static const Expr *read_dim(Relay *r, const Expr *e, int axis) {
  static const char dtype[] = "int32";
  const Expr **of = ARENA_ARRAY(r->arena, const Expr *, 1);
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, 2);
  if (!of || !args) return e;
  of[0] = e;
  args[0] = relay_with_attr(
      r, relay_op(r, e->span, "shape_of", 1, of), "dtype",
      (AttrExpr){.kind = AX_STRING, .text = dtype, .count = sizeof dtype - 1});
  args[1] = relay_int(r, e->span, axis);
  return relay_with_attr(r, relay_op(r, e->span, "take", 2, args), "axis",
                         (AttrExpr){.kind = AX_INT, .dtype = DT_INT32});
}

/* Relay's grammar takes one projection of a name, so an inner one stands in
 * parentheses. */
static const Expr *field(Relay *r, const Expr *e, int index) {
  const Expr *tuple = e->kind == EX_PROJ ? relay_parens(r, e) : e;
  return expr_proj(r->arena, e->span, tuple, index);
}

/* Finds the name as a dimension of its own in the type of `e`, a parameter or a
 * field of one. */
static const Expr *find_dim(Relay *r, const Expr *e, const TypeExpr *t,
                            const Name *name) {
  const Expr *found = NULL;
  for (int i = 0; t && t->kind == TX_TENSOR && i < t->dim_count; i++) {
    const DimExpr *d = t->dims[i];
    if (d->kind == DX_NAME && d->name == name) return read_dim(r, e, i);
  }
  for (int i = 0; t && t->kind == TX_TUPLE && i < t->arg_count && !found; i++)
    found = find_dim(r, field(r, e, i), t->args[i], name);
  return found;
}

/* The parameters were bound last, so they are the top of r->hidden.  EX_ERROR
 * marks a dimension that no parameter has: a use of it is refused. */
static const Expr *dim_expr(Relay *r, const Fn *fn, const Name *name) {
  const Expr *found = NULL;
  size_t first = r->hidden.len - (size_t)fn->param_count;
  for (int i = 0; i < fn->param_count && !found; i++) {
    Expr *e = expr_new(r->arena, EX_LOCAL, SPAN_NONE);
    e->name = r->hidden.data[first + (size_t)i].var->name;
    found = find_dim(r, e, fn->params[i]->annotation, name);
  }
  return found ? found : expr_new(r->arena, EX_ERROR, SPAN_NONE);
}

/* What a dimension's name meant outside is kept on a stack for
 * relay_dims_leave, which goes the other way round. */
void relay_dims_enter(Relay *r, const Fn *fn) {
  for (int i = 0; i < fn->type_param_count; i++) {
    const TypeParam *param = &fn->type_params[i];
    if (param->kind != KIND_DIM || mem_exhausted(r->p->mem)) continue;
    VEC_PUSH(&r->hidden_dims, ptrmap_get(&r->dims, param->name));
    ptrmap_put(&r->dims, param->name, (void *)dim_expr(r, fn, param->name));
  }
}

void relay_dims_leave(Relay *r, const Fn *fn) {
  for (int i = fn->type_param_count; i-- > 0;) {
    const TypeParam *param = &fn->type_params[i];
    if (param->kind != KIND_DIM || mem_exhausted(r->p->mem)) continue;
    ptrmap_put(&r->dims, param->name, (void *)VEC_POP(&r->hidden_dims));
  }
}
