/* Functions of shapes and dtypes, which plain Relay lacks: each instance that
 * the program uses becomes a function of its own, as text.  Only the checker
 * knows which uses mean which instance, so a program with such functions is
 * checked first; its other parts are mapped as they are written. */
#include <string.h>

#include "ir/walk.h"
#include "passes/pass.h"
#include "passes/relay_map.h"
#include "types/types.h"

typedef struct Instances {
  Relay *relay;
  Program *p;
  Unit *unit;
  Arena *arena;
  VEC(const Global *) found; /* instances, in the order of their uses */
  PtrMap met;                /* the same */
  PtrMap places; /* the instance in whose body uses stand, or this struct ->
                    PtrMap: where a use's text begins -> the instance */
  VEC(PtrMap *) maps;
} Instances;

/* --- What needs it ------------------------------------------------------- */

static bool has_solved(int count, const TypeParam *params) {
  for (int i = 0; i < count; i++)
    if (kind_info[params[i].kind].solve == SOLVE_INSTANCE) return true;
  return false;
}

bool relay_is_generic(const Item *item) {
  const Fn *fn = item->kind == ITEM_DEF ? item->expr->fn : NULL;
  return fn && has_solved(fn->type_param_count, fn->type_params);
}

bool relay_is_generic_type(const Item *item) {
  const AdtDecl *adt = item->kind == ITEM_TYPE ? item->adt : NULL;
  return adt && has_solved(adt->param_count, adt->params);
}

static bool defines(const Unit *u, const Name *name) {
  for (int i = 0; i < u->item_count; i++)
    if (u->items[i].kind == ITEM_DEF && u->items[i].name == name) return true;
  return false;
}

/* Is it a function of the library that is checked by instance? */
static bool library_is_generic(Program *p, const Name *name) {
  Unit *unit = p->find_in_library ? p->find_in_library(p, '@', name) : NULL;
  for (int i = 0; unit && i < unit->item_count; i++)
    if (unit->items[i].name == name && relay_is_generic(&unit->items[i]))
      return true;
  return false;
}

static bool uses_generic(Program *p, const Unit *u) {
  bool found = false;
  PtrMap seen;
  ptrmap_init(&seen, p->mem);
  ExprWalk w;
  expr_walk_start(&w, p->mem, WALK_ENTER, NULL);
  for (int i = 0; i < u->item_count; i++) {
    found |= relay_is_generic(&u->items[i]);
    found |= relay_is_generic_type(&u->items[i]);
    if (u->items[i].expr) expr_walk_add(&w, u->items[i].expr);
    while (!found && expr_walk_next(&w)) {
      const Name *name = w.at->kind == EX_GLOBAL ? w.at->g.name : NULL;
      if (!name || ptrmap_has(&seen, name)) continue;
      ptrmap_put(&seen, name, (void *)name);
      found = !defines(u, name) && library_is_generic(p, name);
    }
  }
  expr_walk_end(&w);
  ptrmap_done(&seen);
  return found;
}

/* --- Which instances there are ------------------------------------------- */

static PtrMap *uses_in(Instances *s, const Global *home) {
  const void *key = home ? (const void *)home : s;
  PtrMap *map = ptrmap_get(&s->places, key);
  if (map) return map;
  map = ARENA_NEW(s->arena, PtrMap);
  ptrmap_init(map, s->p->mem);
  ptrmap_put(&s->places, key, map);
  VEC_PUSH(&s->maps, map);
  return map;
}

/* Spans begin at 1 and more, so that none is the NULL of a map's key. */
static const void *place_key(Span span) {
  return (const void *)(uintptr_t)(span.lo + 1);
}

static void find_uses(Instances *s, const Global *home, const Expr *value) {
  ExprWalk w;
  expr_walk_start(&w, s->p->mem, WALK_ENTER, value);
  while (expr_walk_next(&w)) {
    const Global *g = w.at->kind == EX_GLOBAL ? w.at->g.global : NULL;
    if (!g || !g->instance_of) continue;
    ptrmap_put(uses_in(s, home), place_key(w.at->span), (void *)g);
    if (ptrmap_has(&s->met, g)) continue;
    ptrmap_put(&s->met, g, (void *)g);
    VEC_PUSH(&s->found, g);
    const Expr *use = home ? ptrmap_get(&s->relay->asked, home->name) : NULL;
    if (g->library)
      ptrmap_put(&s->relay->asked, g->name, (void *)(use ? use : w.at));
  }
  expr_walk_end(&w);
  if (s->relay->has_generic_adts)
    relay_note_ctors(s->relay, home ? home->name : NULL, value);
}

/* An instance of the text's own functions that nothing uses stays, so that the
 * function does not vanish. */
static void find_own(Instances *s, const Global *g) {
  for (const Global *of = g->instances; of; of = of->next_instance) {
    if (ptrmap_has(&s->met, of)) continue;
    ptrmap_put(&s->met, of, (void *)of);
    VEC_PUSH(&s->found, of);
  }
}

static void find_instances(Instances *s) {
  const Unit *u = s->unit;
  for (int i = 0; i < u->item_count; i++) {
    const Global *g = item_global(s->p, &u->items[i]);
    if (g && g->scheme) find_own(s, g);
    else if (g && g->value) find_uses(s, NULL, g->value);
  }
  for (int i = 0; i < u->step_count; i++) find_uses(s, NULL, u->steps[i].expr);
  for (size_t i = 0; i < s->found.len; i++)
    find_uses(s, s->found.data[i], s->found.data[i]->value);
}

/* --- An instance as text -------------------------------------------------- */

/* The function at hand; of other definitions only uses change. */
typedef struct Writing {
  Instances *s;
  const Global *home; /* NULL: no instance */
  const Fn *fn;       /* as the function is written */
  KindEnv env;
} Writing;

/* The parameter of that name which the instance solves, or -1. */
static int solved_param(const KindEnv *env, const Name *name) {
  for (int i = 0; name && i < env->count; i++)
    if (env->params[i].name == name &&
        kind_info[env->params[i].kind].solve == SOLVE_INSTANCE)
      return i;
  return -1;
}

/* s.0, s.1: no text has such names. */
static const Name *axis_name(const KindEnv *env, const Name *shape, int i) {
  return name_of(env->p->names,
                 arena_printf(env->arena, "%s.%d", shape->text, i));
}

/* Axis i of s..., or of ?s.... */
static const DimExpr *axis_dim(const KindEnv *env, const DimExpr *splat,
                               int i) {
  DimExpr *axis = ARENA_NEW(env->arena, DimExpr);
  *axis = (DimExpr){.kind = splat->any ? DX_ANY : DX_NAME,
                    .span = splat->span,
                    .name = axis_name(env, splat->name, i)};
  return axis;
}

static void write_dims(const KindEnv *env, TypeExpr *made) {
  VEC(const DimExpr *) dims;
  VEC_INIT(&dims, env->p->mem);
  for (int i = 0; i < made->dim_count; i++) {
    const DimExpr *d = made->dims[i];
    int param = d->kind == DX_SPLAT ? solved_param(env, d->name) : -1;
    if (param < 0) VEC_PUSH(&dims, d);
    int rank = param < 0 ? 0 : env->args[param].rank;
    for (int k = 0; k < rank; k++) VEC_PUSH(&dims, axis_dim(env, d, k));
  }
  made->dims = dims.len ? VEC_TO_ARENA(&dims, env->arena) : NULL;
  made->dim_count = made->dims ? (int)dims.len : 0;
  if (made->dim_count != 1 || made->dims[0]->kind != DX_ANY)
    made->whole = false;
  VEC_DONE(&dims);
}

typedef VEC(const TypeExpr *) TypeExprs;

/* The axes of a shape among the arguments of a data type. */
static void write_axes(const KindEnv *env, const DimExpr *splat, int rank,
                       TypeExprs *out) {
  for (int i = 0; i < rank; i++) {
    TypeExpr *made = ARENA_NEW(env->arena, TypeExpr);
    const DimExpr **dims = ARENA_ARRAY(env->arena, const DimExpr *, 1);
    if (dims) dims[0] = axis_dim(env, splat, i);
    *made = (TypeExpr){.kind = TX_DIM,
                       .span = splat->span,
                       .dims = dims,
                       .dim_count = dims != NULL};
    VEC_PUSH(out, made);
  }
}

/* Box[(s..., 1), d]: a shape that is an item of another. */
static void write_arg(const KindEnv *env, const TypeExpr *t, TypeExprs *out) {
  bool splat = t->kind == TX_DIM && t->dims[0]->kind == DX_SPLAT;
  int param = splat ? solved_param(env, t->dims[0]->name) : -1;
  if (param < 0) VEC_PUSH(out, relay_written_type(env, t));
  else write_axes(env, t->dims[0], env->args[param].rank, out);
}

static void write_args(const KindEnv *env, TypeExpr *made) {
  TypeExprs args;
  VEC_INIT(&args, env->p->mem);
  for (int i = 0; i < made->arg_count; i++)
    write_arg(env, made->args[i], &args);
  made->args = args.len ? VEC_TO_ARENA(&args, env->arena) : NULL;
  made->arg_count = made->args ? (int)args.len : 0;
  VEC_DONE(&args);
}

/* A parameter by itself: `s` as an argument, `d` as the type of a scalar. */
static void write_param(const KindEnv *env, int param, TypeExpr *made) {
  bool shape = env->params[param].kind == KIND_SHAPE;
  TypeExprs axes;
  VEC_INIT(&axes, env->p->mem);
  made->kind = shape ? TX_TUPLE : TX_TENSOR;
  made->scalar = !shape;
  made->dtype = env->args[param].dtype;
  DimExpr whole = {
      .kind = DX_SPLAT, .span = made->span, .name = env->params[param].name};
  if (shape) write_axes(env, &whole, env->args[param].rank, &axes);
  made->args = axes.len ? VEC_TO_ARENA(&axes, env->arena) : NULL;
  made->arg_count = made->args ? (int)axes.len : 0;
  VEC_DONE(&axes);
}

const TypeExpr *relay_written_type(const KindEnv *env, const TypeExpr *t) {
  if (!t || env->count == 0) return t;
  TypeExpr *made = arena_copy(env->arena, t, sizeof *t);
  if (!made) return t;
  bool tensor = t->kind == TX_TENSOR;
  int dtype = solved_param(env, tensor ? t->dtype_name : NULL);
  int alone =
      solved_param(env, t->kind == TX_NAME && !t->brackets ? t->name : NULL);
  if (tensor) write_dims(env, made);
  if (dtype >= 0) {
    made->dtype = env->args[dtype].dtype;
    made->dtype_name = NULL;
  }
  write_args(env, made);
  if (alone >= 0) write_param(env, alone, made);
  made->result = relay_written_type(env, t->result);
  return made;
}

/* The parameters that are left, with one for each axis of a shape. */
static const TypeParam *written_params(const KindEnv *env, int *count) {
  VEC(TypeParam) params;
  VEC_INIT(&params, env->p->mem);
  for (int i = 0; i < env->count; i++) {
    TypeParam p = env->params[i];
    bool solved = kind_info[p.kind].solve == SOLVE_INSTANCE;
    if (!solved) VEC_PUSH(&params, p);
    int rank = solved ? env->args[i].rank : 0;
    for (int k = 0; k < rank; k++)
      VEC_PUSH(&params,
               (TypeParam){axis_name(env, p.name, k), p.span, KIND_DIM});
  }
  const TypeParam *made = params.len ? VEC_TO_ARENA(&params, env->arena) : NULL;
  *count = made ? (int)params.len : 0;
  VEC_DONE(&params);
  return made;
}

/* --- Attributes ----------------------------------------------------------- */

static const AttrExpr *axis_attr(const Writing *w, const AttrExpr *x, int i) {
  Expr *e = expr_new(w->s->arena, EX_IDENT, x->span);
  e->name = axis_name(&w->env, x->expr->name, i);
  AttrExpr *made = ARENA_NEW(w->s->arena, AttrExpr);
  *made = (AttrExpr){.kind = AX_EXPR, .span = x->span, .expr = e};
  return made;
}

/* The parameter that the value names, or -1. */
static int attr_param(const Writing *w, const AttrExpr *x) {
  bool named = x->kind == AX_EXPR && x->expr->kind == EX_IDENT;
  return named ? solved_param(&w->env, x->expr->name) : -1;
}

typedef VEC(const AttrExpr *) AttrItems;

static void write_item(const Writing *w, const AttrExpr *x, AttrItems *out) {
  int param = attr_param(w, x);
  int rank = param < 0 ? 0 : w->env.args[param].rank;
  if (param < 0) VEC_PUSH(out, x);
  for (int i = 0; i < rank; i++) VEC_PUSH(out, axis_attr(w, x, i));
}

/* shape=s, newshape=[s..., 1], dtype=d */
static const AttrExpr *write_attr(const Writing *w, const AttrExpr *x) {
  int param = attr_param(w, x);
  bool shape = param >= 0 && w->fn->type_params[param].kind == KIND_SHAPE;
  if (param < 0 && x->kind != AX_LIST) return x;
  AttrExpr *made = arena_copy(w->s->arena, x, sizeof *x);
  if (!made) return x;
  if (param >= 0 && !shape) {
    const char *name = dtype_name(w->env.args[param].dtype);
    *made = (AttrExpr){.kind = AX_STRING,
                       .span = x->span,
                       .text = name,
                       .count = (int)strlen(name)};
    return made;
  }
  AttrItems items;
  VEC_INIT(&items, w->s->p->mem);
  if (shape) write_item(w, x, &items);
  for (int i = 0; !shape && i < x->count; i++)
    write_item(w, x->items[i], &items);
  *made = (AttrExpr){.kind = AX_LIST, .span = x->span};
  made->items = items.len ? VEC_TO_ARENA(&items, w->s->arena) : NULL;
  made->count = made->items ? (int)items.len : 0;
  VEC_DONE(&items);
  return made;
}

static void write_attrs(const Writing *w, ExprMap *m) {
  Expr *call = expr_map_own(m);
  size_t count = (size_t)call->call.attr_count;
  Attr *attrs =
      arena_copy(w->s->arena, call->call.attrs, count * sizeof *attrs);
  for (size_t i = 0; attrs && i < count; i++)
    attrs[i].value = write_attr(w, attrs[i].value);
  if (attrs) call->call.attrs = attrs;
}

/* --- Expressions ---------------------------------------------------------- */

static void write_use(const Writing *w, ExprMap *m) {
  const Global *g =
      ptrmap_get(uses_in(w->s, w->home), place_key(m->made->span));
  if (g) expr_map_own(m)->g.name = g->name;
}

/* rank(s) */
static void write_rank(const Writing *w, ExprMap *m) {
  int param = solved_param(&w->env, expr_rank_of(m->made));
  if (param < 0) return;
  Value rank = {.i32 = w->env.args[param].rank};
  Tensor *t = program_scalar(w->s->p, DT_INT32, rank);
  if (t) expr_map_put(m, expr_const(w->s->arena, m->made->span, t));
}

static void write_fn(const Writing *w, ExprMap *m) {
  Fn *fn = arena_copy(w->s->arena, m->made->fn, sizeof *m->made->fn);
  if (!fn) return;
  fn->result = relay_written_type(&w->env, fn->result);
  if (m->walk.at->fn == w->fn)
    fn->type_params = written_params(&w->env, &fn->type_param_count);
  expr_map_own(m)->fn = fn;
}

static void write_var(const Writing *w, ExprMap *m) {
  const Var *old = m->walk.var;
  if (!old || !old->annotation) return;
  Var *made = arena_copy(w->s->arena, old, sizeof *old);
  if (!made) return;
  made->annotation = relay_written_type(&w->env, old->annotation);
  expr_map_bind(m, made);
}

static void instance_env(Writing *w) {
  size_t count = (size_t)w->fn->type_param_count;
  KindArg *args = ARENA_ARRAY(w->s->arena, KindArg, count);
  for (size_t i = 0; args && i < count; i++)
    args[i] = types_instance_arg(w->home, (int)i);
  w->env.count = args ? (int)count : 0;
  w->env.params = w->fn->type_params;
  w->env.args = args;
}

/* Parsed expressions name what they use, so variables may be made anew. */
static const Expr *write_expr(Instances *s, const Global *home, const Expr *e) {
  Writing w = {.s = s, .home = home, .fn = home ? e->fn : NULL};
  w.env = (KindEnv){.p = s->p, .arena = s->arena};
  if (home) instance_env(&w);
  ExprMap m;
  expr_map_start(&m, s->p->mem, s->arena, e);
  while (expr_map_next(&m)) {
    if (home && m.walk.event == WALK_BIND) write_var(&w, &m);
    if (m.walk.event != WALK_LEAVE) continue;
    if (m.made->kind == EX_GLOBAL) write_use(&w, &m);
    else if (home && m.made->kind == EX_CALL && m.made->call.attr_count)
      write_attrs(&w, &m);
    else if (home && m.made->kind == EX_CALL) write_rank(&w, &m);
    else if (home && m.made->kind == EX_FN) write_fn(&w, &m);
  }
  return expr_map_end(&m);
}

/* --- The unit ------------------------------------------------------------- */

static Item instance_item(Instances *s, const Global *g) {
  Item made = *types_instance_item(g);
  made.name = g->name;
  made.linked = true;
  made.expr = write_expr(s, g, made.expr);
  return made;
}

static Unit *write_unit(Instances *s) {
  Unit *made = arena_copy(s->arena, s->unit, sizeof *s->unit);
  size_t most = (size_t)s->unit->item_count + s->found.len;
  Item *items = ARENA_ARRAY(s->arena, Item, most);
  if (!made || !items) return NULL;
  int n = 0;
  for (int i = 0; i < s->unit->item_count; i++) {
    Item item = s->unit->items[i];
    if (relay_is_generic(&item)) continue;
    if (item.expr) item.expr = write_expr(s, NULL, item.expr);
    items[n++] = item;
  }
  for (size_t i = 0; i < s->found.len; i++)
    items[n++] = instance_item(s, s->found.data[i]);
  made->items = items;
  made->item_count = n;
  return mem_exhausted(s->p->mem) ? NULL : made;
}

Unit *relay_instances(Relay *r, Unit *u) {
  Program *p = r->p;
  for (int i = 0; i < u->item_count; i++)
    r->has_generic_adts |= relay_is_generic_type(&u->items[i]);
  if (!uses_generic(p, u)) return u;
  if (!(u->facts & FACT_TYPES) && !unit_check(p, u)) return NULL;
  Instances s = {.relay = r, .p = p, .unit = u, .arena = &u->arena};
  VEC_INIT(&s.found, p->mem);
  VEC_INIT(&s.maps, p->mem);
  ptrmap_init(&s.met, p->mem);
  ptrmap_init(&s.places, p->mem);
  find_instances(&s);
  Unit *made = write_unit(&s);
  for (size_t i = 0; i < s.maps.len; i++) ptrmap_done(s.maps.data[i]);
  VEC_DONE(&s.found);
  VEC_DONE(&s.maps);
  ptrmap_done(&s.met);
  ptrmap_done(&s.places);
  return made;
}
