/* The call of `map_leaves`, whose function is used at the type of each tensor
 * that the values hold (types/leaves.c).
 *
 *   map_leaves(fn (%p, %g) { %p - %r * %g }, @f(), %y)
 *   { let %value = @f(); map_leaves(fn (%p, %g) { %p - %r * %g }, %value, %y) }
 *
 * A literal is checked once for each of these types, so its text is resolved
 * again for the second and further ones, among the names that are in scope
 * here.  One with parameters of kinds, `fn [s: Shape, d: Float](...)`, is
 * resolved again for the first, too: that type says what they are. */
#include "types/resolve.h"

/* --- The literal ---------------------------------------------------------- */

/* The literal that the call gives, if its parameters in brackets are shapes or
 * dtypes: it is resolved for each tensor's rank and dtype by itself. */
static const Fn *literal_of_kinds(const Expr *e) {
  const Expr *f = e->count > 0 ? e->args[0] : NULL;
  if (!f || f->kind != EX_FN) return NULL;
  bool generic = params_generic(f->fn->type_param_count, f->fn->type_params);
  return generic ? f->fn : NULL;
}

const Expr *resolve_leaf_call(Resolver *r, const Expr *e) {
  if (!literal_of_kinds(e)) return e;
  Expr *made = expr_new(r->arena, EX_CALL, e->span);
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, (size_t)e->count);
  if (!args) return e;
  *made = *e;
  for (int i = 1; i < e->count; i++) args[i] = e->args[i];
  args[0] = resolve_error(r, e->args[0]->span);
  made->args = args;
  return made;
}

static const Expr *resolve_at(Resolver *r, const Expr *literal,
                              const KindArg *args) {
  const TypeParam *params = r->leaf_params;
  const KindArg *before = r->leaf_args;
  r->leaf_params = args ? literal->fn->type_params : NULL;
  r->leaf_args = args;
  const Expr *made = resolve_expr(r, literal);
  r->leaf_params = params;
  r->leaf_args = before;
  return made;
}

/* Resolves a literal of kinds for matrices of the first dtype that each kind
 * has, so that its mistakes are reported once and what it uses is known before
 * types are.  False after a report. */
static bool try_literal(Resolver *r, const Expr *literal) {
  const Fn *fn = literal->fn;
  size_t errors = r->p->diags->errors, matches = r->c->matches.len;
  KindArg *args = ARENA_ARRAY(r->arena, KindArg, (size_t)fn->type_param_count);
  if (!args || !types_require_determined(r->c, fn)) return false;
  for (int i = 0; i < fn->type_param_count; i++) {
    const KindInfo *kind = &kind_info[fn->type_params[i].kind];
    DType dtype = DTYPE_NONE;
    for (int t = DTYPE_COUNT; kind->member && t-- > 0;)
      if (kind->member((DType)t)) dtype = (DType)t;
    args[i] = (KindArg){.known = true, .dtype = dtype};
    if (fn->type_params[i].kind == KIND_SHAPE) args[i].rank = 2;
  }
  resolve_at(r, literal, args);
  r->c->matches.len = matches;
  return r->p->diags->errors == errors;
}

/* --- Scopes --------------------------------------------------------------- */

static struct PtrMapEntry *names_of(Resolver *r, const PtrMap *map,
                                    int *count) {
  *count = 0;
  struct PtrMapEntry *names =
      ARENA_ARRAY(&r->c->arena, struct PtrMapEntry, map->len + 1);
  for (size_t i = 0; names && i < map->cap; i++)
    if (map->slots[i].key && map->slots[i].value)
      names[(*count)++] = map->slots[i];
  return names;
}

static void remember(Resolver *r, const Expr *call, const Expr *text) {
  LeafText *t = ARENA_NEW(&r->c->arena, LeafText);
  *t = (LeafText){.call = call,
                  .text = text,
                  .def = r->def,
                  .unit = r->unit,
                  .scope = r->scope};
  t->vars = names_of(r, &r->vars, &t->var_count);
  t->type_vars = names_of(r, &r->type_vars, &t->type_var_count);
  t->dims = names_of(r, &r->dims, &t->dim_count);
  VEC_PUSH(&r->c->leaf_texts, t);
}

static void put_names(PtrMap *map, int count, const struct PtrMapEntry *names) {
  for (int i = 0; i < count; i++) ptrmap_put(map, names[i].key, names[i].value);
}

/* Its matches have the arms of those that were resolved before; the first of a
 * literal of kinds keeps its own. */
const Expr *resolve_leaf_again(Checker *c, const LeafText *t,
                               const KindArg *args, bool first) {
  Resolver r;
  size_t matches = c->matches.len;
  resolver_init(&r, c, t->def);
  r.unit = t->unit;
  r.scope = t->scope;
  put_names(&r.vars, t->var_count, t->vars);
  put_names(&r.type_vars, t->type_var_count, t->type_vars);
  put_names(&r.dims, t->dim_count, t->dims);
  if (t->unit->has_graph) r.homes = homes_find(&r, t->text);
  const Expr *made = resolve_at(&r, t->text, args);
  homes_done(r.homes);
  resolver_done(&r);
  if (!first) c->matches.len = matches;
  return made;
}

/* --- The call ------------------------------------------------------------- */

/* May it stand in several places, and be evaluated in each? */
static bool is_atom(const Expr *e) {
  return e->kind == EX_VAR || e->kind == EX_ERROR;
}

static bool is_function(const Expr *e) {
  return e->kind == EX_FN || e->kind == EX_GLOBAL || e->kind == EX_OP;
}

const Expr *resolve_map_leaves(Resolver *r, const Expr *e,
                               const Expr *const *args) {
  int n = e->count, lets = 0;
  const Expr **uses = ARENA_ARRAY(r->arena, const Expr *, (size_t)n);
  Binding *bound = ARENA_ARRAY(r->arena, Binding, (size_t)n);
  if (!uses || !bound) return resolve_error(r, e->span);
  for (int i = 0; i < n; i++) {
    uses[i] = args[i];
    if (is_atom(args[i]) || (i == 0 && is_function(args[i]))) continue;
    const char *name =
        i ? arena_printf(r->arena, "value%d", i) : "map_function";
    Var *var =
        var_new(r->arena, name_of(r->p->names, name), args[i]->span, NULL);
    var->id = r->p->next_var_id++;
    bound[lets++] = binding_let(args[i]->span, var, args[i]);
    uses[i] = resolve_var_use(r, args[i]->span, var);
  }
  const Expr *call = resolve_operator(r, e, OP_MAP_LEAVES, false, n, uses);
  bool again =
      literal_of_kinds(e) ? try_literal(r, e->args[0]) : args[0]->kind == EX_FN;
  if (call->kind == EX_CALL && again) remember(r, call, e->args[0]);
  return lets ? expr_block(r->arena, e->span, lets, bound, call) : call;
}
