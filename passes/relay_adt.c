/* Data types and aliases of shapes and dtypes, which plain Relay lacks: each
 * instance that the program uses becomes a type of its own.
 *
 *   type Box[s: Shape, d: DType] { Box(Tensor[s, d]) }
 *   def @f(%b: Box[(2, n), float32]) { ... }
 *
 *   type Box_rank2_float32 { Box_rank2_float32(Tensor[(?, ?), float32]) }
 *   def @f(%b: Box_rank2_float32) { ... }
 *
 * An annotation says by its arguments which instance it means.  Which one a
 * constructor belongs to, only the checker knows; it is found by the place of
 * the constructor's name, which the map of expressions keeps.  In a function
 * that is written once for each of its instances, places are told apart by the
 * instance.
 *
 * The types that are written are those that something written names, so the
 * functions are mapped first. */
#include "ir/walk.h"
#include "passes/relay_map.h"
#include "types/types.h"

/* --- Places --------------------------------------------------------------- */

/* By both ends, since a field of a field begins where that one does. */
static const void *place_key(Span span) {
  return (const void *)(uintptr_t)((uint64_t)span.hi << 32 | span.lo);
}

/* `home` is the name of the function's instance, or NULL in all other text. */
static PtrMap *places_in(Relay *r, const Name *home) {
  const void *key = home ? (const void *)home : r;
  PtrMap *map = ptrmap_get(&r->adt_places, key);
  if (map) return map;
  map = ARENA_NEW(r->arena, PtrMap);
  ptrmap_init(map, r->p->mem);
  ptrmap_put(&r->adt_places, key, map);
  VEC_PUSH(&r->adt_maps, map);
  return map;
}

static void note_ctor(PtrMap *places, Span span, const Ctor *ctor) {
  if (ctor && ctor->adt->instance_of)
    ptrmap_put(places, place_key(span), (void *)ctor->adt);
}

static void note_pattern(PtrMap *places, const Pattern *p) {
  note_ctor(places, p->span, p->ctor);
  for (int i = 0; i < p->count; i++) note_pattern(places, p->fields[i]);
}

void relay_note_ctors(Relay *r, const Name *home, const Expr *value) {
  PtrMap *places = places_in(r, home);
  ExprWalk w;
  expr_walk_start(&w, r->p->mem, WALK_ENTER, value);
  while (expr_walk_next(&w)) {
    const Expr *e = w.at;
    if (e->kind == EX_CTOR) note_ctor(places, e->span, e->ctor);
    if (e->kind == EX_LIST) note_ctor(places, e->span, e->list.head->ctor);
    for (int i = 0; e->kind == EX_MATCH && i < e->match->arm_count; i++)
      note_pattern(places, e->match->arms[i].pattern);
  }
  expr_walk_end(&w);
}

void relay_adts_init(Relay *r) {
  ptrmap_init(&r->adt_places, r->p->mem);
  ptrmap_init(&r->adt_names, r->p->mem);
  VEC_INIT(&r->adt_maps, r->p->mem);
  VEC_INIT(&r->adt_written, r->p->mem);
}

void relay_adts_done(Relay *r) {
  for (size_t i = 0; i < r->adt_maps.len; i++) ptrmap_done(r->adt_maps.data[i]);
  ptrmap_done(&r->adt_places);
  ptrmap_done(&r->adt_names);
  VEC_DONE(&r->adt_maps);
  VEC_DONE(&r->adt_written);
}

/* --- Names ---------------------------------------------------------------- */

static const AdtDecl *instance_decl(Relay *r, const Adt *adt);

/* After the names of the type and of its constructors: "_rank2_float32".
 * Noting it has the instance written. */
static const char *suffix_of(Relay *r, const Adt *adt) {
  const char *text = ptrmap_get(&r->adt_names, adt);
  if (text) return text;
  const AdtDecl *decl = adt->instance_of->decl;
  text = "";
  for (int i = 0; i < decl->param_count; i++) {
    const TypeParam *p = &decl->params[i];
    if (p->kind == KIND_SHAPE)
      text = arena_printf(r->arena, "%s_rank%d", text, adt->kind_args[i].rank);
    else if (kind_info[p->kind].member)
      text = arena_printf(r->arena, "%s_%s", text,
                          dtype_name(adt->kind_args[i].dtype));
  }
  ptrmap_put(&r->adt_names, adt, (void *)text);
  VEC_PUSH(&r->adt_written, adt);
  if (!adt->is_alias) return text;
  const AdtDecl *alias = instance_decl(r, adt);
  ptrmap_put(&r->aliases, alias->name, (void *)alias);
  return text;
}

static const Name *name_in(Relay *r, const Adt *adt, const Name *name) {
  const char *suffix = suffix_of(r, adt);
  return name_of(r->p->names,
                 arena_printf(r->arena, "%s%s", name->text, suffix));
}

/* --- Declarations of instances -------------------------------------------- */

/* The declaration of one instance, its parameters written out. */
static const AdtDecl *instance_decl(Relay *r, const Adt *adt) {
  const AdtDecl *decl = adt->instance_of->decl;
  AdtDecl *made = arena_copy(r->arena, decl, sizeof *decl);
  CtorDecl *ctors = arena_copy(r->arena, decl->ctors,
                               (size_t)decl->ctor_count * sizeof *ctors);
  TypeParam *params = arena_copy(r->arena, decl->params,
                                 (size_t)decl->param_count * sizeof *params);
  if (!made || !params || (!ctors && decl->ctor_count)) return decl;
  KindEnv env = {r->p, r->arena, decl->param_count, decl->params,
                 adt->kind_args};
  for (int i = 0; i < decl->ctor_count; i++) {
    size_t n = (size_t)ctors[i].field_count;
    const TypeExpr **fields = ARENA_ARRAY(r->arena, const TypeExpr *, n);
    for (size_t k = 0; fields && k < n; k++)
      fields[k] = relay_written_type(&env, decl->ctors[i].fields[k]);
    ctors[i].fields = fields;
    ctors[i].name = name_in(r, adt, ctors[i].name);
  }
  if (decl->meaning)
    made->meaning = relay_meaning(r, relay_written_type(&env, decl->meaning));
  made->ctors = ctors;
  made->params = params;
  made->param_count = 0;
  for (int i = 0; i < decl->param_count; i++)
    if (decl->params[i].kind == KIND_TYPE)
      params[made->param_count++] = decl->params[i];
  made->name = name_in(r, adt, decl->name);
  return made;
}

/* --- Annotations ---------------------------------------------------------- */

/* The data type of that name if it is resolved by instance, else NULL. */
static const Adt *generic_type(Relay *r, const Name *name) {
  const Adt *adt = r->has_generic_adts ? scope_adt(&r->p->user, name) : NULL;
  return adt && adt->is_generic ? adt : NULL;
}

/* A shape is written (2, n); what a parameter stands for has been put in for it
 * (relay_instance.c). */
static KindArg written_arg(const TypeParam *param, const TypeExpr *t) {
  bool shape = param->kind == KIND_SHAPE;
  bool dtype = kind_info[param->kind].member && t->kind == TX_TENSOR;
  return (KindArg){.rank = shape ? t->arg_count : 0,
                   .dtype = dtype ? t->dtype : DTYPE_NONE};
}

static const Adt *written_instance(const Adt *generic, const TypeExpr *t) {
  const AdtDecl *decl = generic->decl;
  if (decl->param_count != t->arg_count) return NULL;
  for (const Adt *at = generic->instances; at; at = at->next_instance) {
    bool same = true;
    for (int i = 0; i < decl->param_count; i++) {
      const TypeParam *p = &decl->params[i];
      if (kind_info[p->kind].solve != SOLVE_INSTANCE) continue;
      KindArg arg = written_arg(p, t->args[i]);
      same &= arg.rank == at->kind_args[i].rank &&
              arg.dtype == at->kind_args[i].dtype;
    }
    if (same) return at;
  }
  return NULL;
}

static const TypeExpr *plain(Relay *r, const TypeExpr *t);

/* Arguments that are types stay; dimensions are `?` wherever they are
 * mentioned. */
static void plain_args(Relay *r, TypeExpr *made, const AdtDecl *decl) {
  size_t count = (size_t)made->arg_count;
  const TypeExpr **args = ARENA_ARRAY(r->arena, const TypeExpr *, count);
  int n = 0;
  for (size_t i = 0; args && i < count; i++)
    if (!decl || decl->params[i].kind == KIND_TYPE)
      args[n++] = plain(r, made->args[i]);
  made->args = args;
  made->arg_count = n;
}

static const TypeExpr *plain(Relay *r, const TypeExpr *t) {
  const Adt *generic = t->kind == TX_NAME ? generic_type(r, t->name) : NULL;
  if (!generic && t->arg_count == 0 && !t->result) return t;
  const Adt *adt = generic ? written_instance(generic, t) : NULL;
  TypeExpr *made = arena_copy(r->arena, t, sizeof *t);
  if (!made) return t;
  if (generic && !adt)
    relay_refuse(r, t->span, "a data type whose instance is not written out");
  plain_args(r, made, adt ? generic->decl : NULL);
  if (adt) made->name = name_in(r, adt, t->name);
  if (adt && made->arg_count == 0) made->brackets = false;
  if (t->result) made->result = plain(r, t->result);
  return made;
}

const TypeExpr *relay_adt_types(Relay *r, const TypeExpr *t) {
  return r->has_generic_adts ? plain(r, t) : t;
}

/* --- Constructors --------------------------------------------------------- */

static const Adt *adt_at(Relay *r, Span span, const Name *name) {
  const Ctor *ctor = name ? scope_ctor(&r->p->user, name) : NULL;
  if (!ctor || !ctor->adt->is_generic) return NULL;
  const Name *home = r->home->item->name;
  bool instance = home && ptrmap_has(&r->adt_places, home);
  const Adt *adt =
      ptrmap_get(places_in(r, instance ? home : NULL), place_key(span));
  if (!adt) relay_refuse(r, span, "`%s` of a type without a use", name->text);
  return adt;
}

static const Pattern *plain_pattern(Relay *r, const Pattern *p) {
  const Adt *adt = p->kind == PT_CTOR ? adt_at(r, p->span, p->name) : NULL;
  Pattern *made = arena_copy(r->arena, p, sizeof *p);
  const Pattern **fields =
      ARENA_ARRAY(r->arena, const Pattern *, (size_t)p->count);
  if (!made || !fields) return p;
  if (adt) made->name = name_in(r, adt, p->name);
  for (int i = 0; i < p->count; i++) fields[i] = plain_pattern(r, p->fields[i]);
  made->fields = fields;
  return made;
}

static void plain_arms(Relay *r, ExprMap *m) {
  const Match *old = m->made->match;
  size_t count = (size_t)old->arm_count;
  Arm *arms = arena_copy(r->arena, old->arms, count * sizeof *arms);
  Match *match = arena_copy(r->arena, old, sizeof *old);
  if (!arms || !match) return;
  for (size_t i = 0; i < count; i++)
    arms[i].pattern = plain_pattern(r, arms[i].pattern);
  match->arms = arms;
  expr_map_own(m)->match = match;
}

const Expr *relay_adt_ctors(Relay *r, const Expr *e) {
  if (!r->has_generic_adts || !e) return e;
  ExprMap m;
  expr_map_start(&m, r->p->mem, r->arena, e);
  while (expr_map_next(&m)) {
    if (m.walk.event != WALK_LEAVE) continue;
    const Expr *at = m.made;
    if (at->kind == EX_MATCH) plain_arms(r, &m);
    if (at->kind != EX_IDENT) continue;
    const Adt *adt = adt_at(r, at->span, at->name);
    if (adt) expr_map_own(&m)->name = name_in(r, adt, at->name);
  }
  return expr_map_end(&m);
}

/* --- Declarations --------------------------------------------------------- */

/* The types of `item` that something written names, or the first that the
 * checker made, so that no type of the text vanishes. */
static void name_one(Relay *r, const Adt *generic) {
  const Adt *first = NULL;
  for (const Adt *at = generic->instances; at; at = at->next_instance) {
    if (ptrmap_has(&r->adt_names, at)) return;
    first = at;
  }
  if (first) suffix_of(r, first);
}

void relay_name_all_adts(Relay *r) {
  for (int i = 0; i < r->unit->item_count; i++) {
    const Item *item = &r->unit->items[i];
    const Adt *generic =
        item->kind == ITEM_TYPE ? generic_type(r, item->adt->name) : NULL;
    if (generic && !generic->is_alias) name_one(r, generic);
  }
}

bool relay_adt_item(Relay *r, size_t n, Item *out) {
  if (n >= r->adt_written.len || mem_exhausted(r->p->mem)) return false;
  const Adt *adt = r->adt_written.data[n];
  const AdtDecl *decl = instance_decl(r, adt);
  *out = (Item){.kind = ITEM_TYPE,
                .span = decl->span,
                .name_span = decl->span,
                .name = decl->name,
                .adt = decl};
  return true;
}
