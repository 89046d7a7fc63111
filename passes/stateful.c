/* Functions of an explicit state as a module that keeps it in a cell, which is
 * the way back from what passes/functional.c makes:
 *
 *   def @init() { 1 }               def @init_pure() { 1 }
 *   def @next(%by: int32,           def @next_pure(...) { ... }
 *             %s: int32)     ==>    let @state: Ref[int32] = ref(@init_pure());
 *   { (%s, %s + %by) }              def @next(%by: int32) {
 *                                     let %r = @next_pure(%by,
 *                                                         ref_read(@state));
 *                                     ref_write(@state, %r.1);
 *                                     %r.0
 *                                   }
 *
 * An entry is a function `(inputs, S) -> (output, S)`, where `@init()` gives an
 * S; of several, those that the host asks for.  Other uses of it, its own among
 * them, mean the pure function, so that the state is read and written once for
 * each call from outside. */
#include "ir/walk.h"
#include "passes/pass.h"
#include "types/types.h"

typedef struct Stateful {
  Program *p;
  Arena *arena;
  const Unit *unit;
  const Type *first; /* what @init gives */
  const Fn *model;   /* the first entry: its last parameter has the S */
  const Name *init;  /* its name */
  PtrMap pure;  /* an entry's Name, and @init's -> that of the pure function */
  PtrMap taken; /* Names of globals of the text */
  const Name *state;
} Stateful;

/* --- Names and nodes ------------------------------------------------------ */

static const Name *fresh_global(Stateful *s, const char *text) {
  const Name *made = name_of(s->p->names, text);
  for (int i = 1; ptrmap_has(&s->taken, made); i++)
    made = name_of(s->p->names, arena_printf(s->arena, "%s_%d", text, i));
  ptrmap_put(&s->taken, made, (void *)made);
  return made;
}

static const Expr *global(Stateful *s, const Name *name, Span span) {
  Expr *e = expr_new(s->arena, EX_GLOBAL, span);
  e->g.name = name;
  return e;
}

static const Expr *local(Stateful *s, const Var *var) {
  Expr *e = expr_new(s->arena, EX_LOCAL, var->span);
  e->name = var->name;
  return e;
}

/* A node of one or two parts. */
static Expr *node(Stateful *s, ExprKind kind, const Expr *a, const Expr *b) {
  const Expr *args[] = {a, b};
  Expr *e = expr_new(s->arena, kind, a->span);
  e->count = b ? 2 : 1;
  e->args = arena_copy(s->arena, args, sizeof args);
  return e;
}

static const Expr *field(Stateful *s, const Var *pair, int index) {
  Expr *e = node(s, EX_PROJ, local(s, pair), NULL);
  e->index = index;
  return e;
}

/* --- Entries -------------------------------------------------------------- */

static bool is_state(Stateful *s, const Type *t) {
  return types_fit(s->p->types, s->first, t) != FIT_NOT;
}

static bool is_entry(Stateful *s, const Item *item) {
  const Global *g = item->kind == ITEM_DEF ? item_global(s->p, item) : NULL;
  const Type *t = g ? g->type : NULL;
  if (!t || t->kind != TY_FN || t->count == 0) return false;
  const Type *r = t->result;
  return r->kind == TY_TUPLE && r->count == 2 &&
         is_state(s, t->args[t->count - 1]) && is_state(s, r->args[1]);
}

static bool is_wanted(const Unit *u, const Item *item) {
  for (int i = 0; i < u->entry_count; i++)
    if (u->entries[i] == item->name) return true;
  return u->entry_count == 0;
}

/* The pure function's parameters but for the state, which are its own: a Var
 * belongs to one function. */
static const Expr *entry(Stateful *s, const Fn *pure, const Name *name,
                         Span span) {
  int count = pure->param_count - 1;
  Fn *fn = ARENA_NEW(s->arena, Fn);
  Var **params = ARENA_ARRAY(s->arena, Var *, (size_t)count);
  const Expr **args =
      ARENA_ARRAY(s->arena, const Expr *, (size_t)pure->param_count);
  Binding *b = ARENA_ARRAY(s->arena, Binding, 2);
  if (!params || !args || !b) return NULL;
  const Name *r = name_of(s->p->names, "r");
  for (int i = 0; i < count; i++) {
    const Var *of = pure->params[i];
    params[i] = var_new(s->arena, of->name, of->span, of->annotation);
    args[i] = local(s, params[i]);
    if (of->name == r) r = name_of(s->p->names, "value_and_state");
  }
  const Expr *cell = global(s, s->state, span);
  args[count] = node(s, EX_READ, cell, NULL);
  Var *both = var_new(s->arena, r, span, NULL);
  const Expr *call =
      expr_call(s->arena, span, global(s, name, span), pure->param_count, args);
  b[0] = binding_let(span, both, call);
  b[1] = (Binding){.kind = BIND_ITEM, .span = span};
  b[1].value = node(s, EX_WRITE, cell, field(s, both, 1));
  *fn = *pure;
  fn->params = params;
  fn->param_count = count;
  const TypeExpr *result = pure->result;
  bool pair = result && result->kind == TX_TUPLE && result->arg_count == 2;
  fn->result = pair ? result->args[0] : NULL;
  fn->body = expr_block(s->arena, span, 2, b, field(s, both, 0));
  Expr *e = expr_new(s->arena, EX_FN, span);
  e->fn = fn;
  return e;
}

/* Uses of an entry in the text mean the pure function. */
static const Expr *with_pure(Stateful *s, const Expr *e) {
  ExprMap m;
  expr_map_start(&m, s->p->mem, s->arena, e);
  while (expr_map_next(&m)) {
    if (m.walk.event != WALK_LEAVE) continue;
    if (m.walk.at->kind != EX_GLOBAL) continue;
    const Name *pure = ptrmap_get(&s->pure, m.walk.at->g.name);
    if (pure) expr_map_own(&m)->g.name = pure;
  }
  return expr_map_end(&m);
}

/* --- Units ---------------------------------------------------------------- */

/* Its items with their names.  False after reporting. */
static bool find_entries(Stateful *s) {
  const Unit *u = s->unit;
  const Name *init = s->init = name_of(s->p->names, "init");
  const Item *gives = NULL;
  for (int i = 0; i < u->item_count; i++) {
    const Item *item = &u->items[i];
    if (item_is_global(item)) ptrmap_put(&s->taken, item->name, (void *)item);
    if (item->kind == ITEM_DEF && item->name == init) gives = item;
  }
  const Global *g = gives ? item_global(s->p, gives) : NULL;
  if (!g || !g->type || g->type->kind != TY_FN || g->type->count > 0) {
    Span first = u->item_count ? u->items[0].span : SPAN_NONE;
    diag_error(s->p->diags, E0508, gives ? gives->name_span : first,
               "a module of cells needs a function `@init() -> S`, which gives "
               "the first state");
    return false;
  }
  s->first = g->type->result;
  ptrmap_put(&s->pure, init, (void *)fresh_global(s, "init_pure"));
  for (int i = 0; i < u->entry_count; i++) {
    const Item *item = pass_entry(s->p, u, u->entries[i]);
    if (item && !is_entry(s, item))
      diag_error(s->p->diags, E0508, item->name_span,
                 "`@%s` is no function `(inputs, S) -> (output, S)` of the "
                 "state S that `@init` gives",
                 item->name->text);
  }
  for (int i = 0; i < u->item_count; i++) {
    const Item *item = &u->items[i];
    if (!is_wanted(u, item) || !is_entry(s, item)) continue;
    if (!s->model) s->model = item->expr->fn;
    const char *text = arena_printf(s->arena, "%s_pure", item->name->text);
    ptrmap_put(&s->pure, item->name, (void *)fresh_global(s, text));
  }
  if (!s->model && u->entry_count == 0)
    diag_error(
        s->p->diags, E0508, gives->name_span,
        "no function `(inputs, S) -> (output, S)` takes the state S that "
        "`@init` gives");
  return s->model;
}

/* let @state: Ref[S] = ref(@init()); */
static Item state_item(Stateful *s) {
  const Var *last = s->model->params[s->model->param_count - 1];
  Span span = last->span;
  const Expr *init = expr_call(
      s->arena, span, global(s, ptrmap_get(&s->pure, s->init), span), 0, NULL);
  TypeExpr *type = NULL;
  if (last->annotation) {
    type = ARENA_NEW(s->arena, TypeExpr);
    *type = (TypeExpr){.kind = TX_REF,
                       .span = span,
                       .height = last->annotation->height + 1,
                       .arg_count = 1};
    type->args =
        arena_copy(s->arena, &last->annotation, sizeof last->annotation);
  }
  return (Item){.kind = ITEM_LET_GLOBAL,
                .span = span,
                .name_span = span,
                .name = s->state,
                .annotation = type,
                .expr = node(s, EX_REF, init, NULL),
                .linked = true};
}

/* The cell and the entries follow the text, which they use. */
static Unit *map_unit(Stateful *s) {
  const Unit *u = s->unit;
  Unit *made = ARENA_NEW(s->arena, Unit);
  Item *items = ARENA_ARRAY(s->arena, Item, 2 * (size_t)u->item_count + 1);
  if (!items) return NULL;
  int n = u->item_count;
  items[n++] = state_item(s);
  for (int i = 0; i < u->item_count; i++) {
    Item item = u->items[i];
    const Expr *mapped = item.expr ? with_pure(s, item.expr) : NULL;
    if (item.expr && !mapped) return NULL;
    const Name *pure =
        item.kind == ITEM_DEF ? ptrmap_get(&s->pure, item.name) : NULL;
    items[i] = item;
    items[i].expr = mapped;
    if (!pure) continue;
    items[i].name = pure;
    if (item.name == s->init) continue;
    item.expr = entry(s, item.expr->fn, pure, item.name_span);
    item.linked = true;
    if (!item.expr) return NULL;
    items[n++] = item;
  }
  *made = *u;
  made->items = items;
  made->item_count = n;
  made->version_header = false;
  return made;
}

Pass pass_stateful;

Unit *pass_stateful(Program *p, Unit *u) {
  Stateful s = {.p = p, .arena = &u->arena, .unit = u};
  ptrmap_init(&s.pure, p->mem);
  ptrmap_init(&s.taken, p->mem);
  Unit *made = NULL;
  size_t errors = p->diags->errors;
  if (find_entries(&s) && p->diags->errors == errors) {
    s.state = fresh_global(&s, "state");
    made = map_unit(&s);
  }
  ptrmap_done(&s.pure);
  ptrmap_done(&s.taken);
  return mem_exhausted(p->mem) ? NULL : made;
}
