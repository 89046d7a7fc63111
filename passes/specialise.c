/* A program for shapes and values of its parameters, from the one for any: rly
 * opt --bind-shape x=(8,128) --bind w=FILE.
 *
 *   def @main[n: Dim](%x: Tensor[(n, 4), float32], %k: float32)
 *       -> Tensor[(n, ?), float32] { %x * cast(n, dtype="float32") * %k }
 *
 * becomes, for x=(8,4) and a file of k that holds 2,
 *
 *   def @main(%x: Tensor[(8, 4), float32]) {
 *     let %k: float32 = 2f;
 *     %x * cast(8, dtype="float32") * %k
 *   }
 *
 * What is given comes from flags (given.c) and is compared with what is
 * declared (special_fit.c).  Here the parsed program is mapped, before types
 * are inferred, so all that follows from the shapes is the checker's to find.
 * A result or a `let` whose annotation leaves a dimension open (`?`) loses it,
 * since it would hide what is known now.  Parameters of inner functions and
 * what a cell holds keep theirs: other shapes may come there. */
#include "ir/walk.h"
#include "passes/special.h"
#include "tensor/tensor.h"

/* --- The program for it --------------------------------------------------- */

static bool leaves_open(const TypeExpr *t) {
  bool open = false;
  if (t->kind == TX_TENSOR)
    for (int i = 0; i < t->dim_count && !open; i++)
      open = t->dims[i]->kind == DX_ANY;
  /* bounded by the parser, as is every type */
  for (int i = 0; t->kind == TX_TUPLE && i < t->arg_count && !open; i++)
    open = leaves_open(t->args[i]);
  return open;
}

/* A type with what its names mean; NULL where that hides what is known. */
static const TypeExpr *meant(Special *s, const TypeExpr *t, bool may_drop) {
  if (!t || (may_drop && leaves_open(t))) return NULL;
  return type_expr_put(s->p->mem, &s->u->arena, t, (int)s->names.len,
                       s->names.data, s->meant.data);
}

static const Expr *named_value(Special *s, const TypeExpr *dim, Span span) {
  Value bits = {.i32 = (int32_t)special_number(dim)};
  Tensor *t = program_scalar(s->p, DT_INT32, bits);
  return t ? expr_const(&s->u->arena, span, t) : NULL;
}

/* Names that a function within declares anew. */
static bool hides(const Special *s, const Expr *e) {
  if (e->kind != EX_FN) return false;
  for (size_t i = 0; i < s->names.len; i++)
    if (special_name(e->fn, s->names.data[i].name)) return true;
  return false;
}

/* The items of [2, s...] with the numbers of s. */
static void spread(Special *s, ExprMap *m) {
  const Expr *e = m->made;
  VEC(const Expr *) items;
  bool found = false;
  VEC_INIT(&items, s->p->mem);
  for (int i = 0; i < e->count; i++) {
    const Expr *item = e->args[i];
    bool splat = item->kind == EX_IDENT && item->sugar == SUGAR_SPLAT;
    const TypeExpr *shape = splat ? special_meaning(s, item->name) : NULL;
    found |= shape != NULL;
    if (!shape) VEC_PUSH(&items, item);
    for (int k = 0; shape && k < shape->arg_count; k++)
      VEC_PUSH(&items, named_value(s, shape->args[k], item->span));
  }
  if (found) {
    Expr *own = expr_map_own(m);
    own->args = VEC_TO_ARENA(&items, &s->u->arena);
    own->count = own->args ? (int)items.len : 0;
  }
  VEC_DONE(&items);
}

/* The same in attributes, newshape=[s..., 1]. */
static const AttrExpr *spread_list(Special *s, const AttrExpr *x) {
  VEC(const AttrExpr *) items;
  bool found = false;
  VEC_INIT(&items, s->p->mem);
  for (int i = 0; x->kind == AX_LIST && i < x->count; i++) {
    const AttrExpr *item = x->items[i];
    const Expr *e = item->kind == AX_EXPR ? item->expr : NULL;
    bool splat = e && e->kind == EX_IDENT && e->sugar == SUGAR_SPLAT;
    const TypeExpr *shape = splat ? special_meaning(s, e->name) : NULL;
    found |= shape != NULL;
    if (!shape) VEC_PUSH(&items, item);
    for (int k = 0; shape && k < shape->arg_count; k++) {
      AttrExpr *n = arena_copy(&s->u->arena, item, sizeof *n);
      if (!n) break;
      n->expr = named_value(s, shape->args[k], item->span);
      VEC_PUSH(&items, n);
    }
  }
  AttrExpr *made = found ? arena_copy(&s->u->arena, x, sizeof *x) : NULL;
  if (made) {
    made->items = VEC_TO_ARENA(&items, &s->u->arena);
    made->count = made->items ? (int)items.len : 0;
  }
  VEC_DONE(&items);
  return made ? made : x;
}

static void spread_attrs(Special *s, ExprMap *m) {
  const Expr *e = m->made;
  Attr *attrs = NULL;
  for (int i = 0; i < e->call.attr_count; i++) {
    const Attr *attr = &e->call.attrs[i];
    const AttrExpr *made = attr->value ? spread_list(s, attr->value) : NULL;
    if (made == attr->value) continue;
    if (!attrs)
      attrs = arena_copy(&s->u->arena, e->call.attrs,
                         sizeof *attrs * (size_t)e->call.attr_count);
    if (attrs) attrs[i].value = made;
  }
  if (attrs) expr_map_own(m)->call.attrs = attrs;
}

/* rank(s) */
static void put_rank(Special *s, ExprMap *m) {
  const TypeExpr *shape = special_meaning(s, expr_rank_of(m->made));
  if (!shape || shape->kind != TX_TUPLE) return;
  Tensor *t = program_scalar(s->p, DT_INT32, (Value){.i32 = shape->arg_count});
  if (t) expr_map_put(m, expr_const(&s->u->arena, m->made->span, t));
}

static const Expr *map_body(Special *s, const Expr *body) {
  ExprMap m;
  int hidden = 0;
  expr_map_start(&m, s->p->mem, &s->u->arena, body);
  while (expr_map_next(&m)) {
    const Expr *e = m.walk.at;
    Var *var = m.walk.var;
    bool binds = m.walk.event == WALK_BIND && var && var->annotation;
    if (m.walk.event == WALK_ENTER) hidden += hides(s, e);
    if (m.walk.event == WALK_LEAVE) hidden -= hides(s, e);
    if (hidden) continue;
    if (binds) {
      bool let = m.walk.binding != NULL;
      Var *made = var_new(&s->u->arena, var->name, var->span,
                          meant(s, var->annotation, let));
      if (made) expr_map_bind(&m, made);
    } else if (m.walk.event == WALK_ENTER && e->kind == EX_IDENT &&
               m.walk.role != ROLE_CALLEE) {
      const TypeExpr *is = special_meaning(s, e->name);
      const Expr *value =
          is && is->kind == TX_DIM ? named_value(s, is, e->span) : NULL;
      if (value) expr_map_put(&m, value);
    } else if (m.walk.event == WALK_LEAVE && e->kind == EX_BRACKET) {
      spread(s, &m);
    } else if (m.walk.event == WALK_LEAVE && e->kind == EX_CALL) {
      if (expr_rank_of(e)) put_rank(s, &m);
      else spread_attrs(s, &m);
    } else if (m.walk.event == WALK_LEAVE && e->kind == EX_FN &&
               e->fn->result) {
      Fn *fn = arena_copy(&s->u->arena, m.made->fn, sizeof *fn);
      if (fn) fn->result = meant(s, fn->result, false);
      if (fn) expr_map_own(&m)->fn = fn;
    }
  }
  return expr_map_end(&m);
}

static const Given *given_for(const Name *name, bool is_param, int count,
                              const Given *given) {
  for (int i = 0; i < count; i++)
    if (given[i].name == name && (is_param || !given[i].is_param))
      return &given[i];
  return NULL;
}

/* Without the names that are known. */
static void drop_names(Special *s, Fn *fn) {
  TypeParam *rest =
      ARENA_ARRAY(&s->u->arena, TypeParam, (size_t)fn->type_param_count + 1);
  int n = 0;
  for (int i = 0; rest && i < fn->type_param_count; i++)
    if (!special_meaning(s, fn->type_params[i].name))
      rest[n++] = fn->type_params[i];
  fn->type_params = rest;
  fn->type_param_count = n;
}

/* Shapes first, for they tell what the names are that the rest may mention. */
static const Expr *special_fn(Special *s, const Expr *e, int count,
                              const Given *given) {
  Arena *a = &s->u->arena;
  size_t n = (size_t)e->fn->param_count + 1;
  Fn *fn = arena_copy(a, e->fn, sizeof *fn);
  const TypeExpr **types = ARENA_ARRAY(a, const TypeExpr *, n);
  Var **params = ARENA_ARRAY(a, Var *, n);
  Binding *lets = ARENA_ARRAY(a, Binding, n);
  if (!fn || !types || !params || !lets) return NULL;
  for (int i = 0; i < fn->param_count; i++) {
    const Var *var = fn->params[i];
    const Given *g = given_for(var->name, false, count, given);
    types[i] = g ? special_fit(s, g, var->annotation, var->span) : NULL;
    if (g && !types[i]) return NULL;
  }
  int kept = 0, bound = 0;
  for (int i = 0; i < fn->param_count; i++) {
    const Var *var = fn->params[i];
    const Given *g = given_for(var->name, false, count, given);
    Var *made = var_new(a, var->name, var->span,
                        meant(s, types[i] ? types[i] : var->annotation, false));
    if (!made) return NULL;
    if (g && g->value)
      lets[bound++] =
          binding_let(var->span, made, expr_const(a, var->span, g->value));
    else params[kept++] = made;
  }
  fn->params = params;
  fn->param_count = kept;
  fn->result = meant(s, fn->result, true);
  fn->body = map_body(s, fn->body);
  if (fn->body && bound)
    fn->body = expr_block(a, fn->body->span, bound, lets, fn->body);
  drop_names(s, fn);
  Expr *made = arena_copy(a, e, sizeof *e);
  if (made) made->fn = fn;
  return fn->body ? made : NULL;
}

/* --- Who is meant --------------------------------------------------------- */

static const Var *parameter(const Fn *fn, const Given *g) {
  for (int i = 0; fn && !g->is_param && i < fn->param_count; i++)
    if (fn->params[i]->name == g->name) return fn->params[i];
  return NULL;
}

static bool is_param(const Unit *u, const Name *name) {
  for (int i = 0; i < u->item_count; i++)
    if (u->items[i].kind == ITEM_PARAM && u->items[i].name == name) return true;
  return false;
}

static bool refuse_name(Special *s, const Given *g, const char *entry) {
  Diag *d = diag_error(s->p->diags, E0541, g->span, "no parameter `%s`",
                       g->name->text);
  Suggestion near = suggestion_for(g->name->text);
  StrBuf known;
  strbuf_init(&known, s->p->mem);
  for (int i = 0; s->fn && i < s->fn->param_count; i++) {
    suggestion_offer(&near, s->fn->params[i]->name->text);
    strbuf_addf(&known, "%s%%%s", known.len ? ", " : "",
                s->fn->params[i]->name->text);
  }
  for (int i = 0; i < s->u->item_count; i++) {
    if (s->u->items[i].kind != ITEM_PARAM) continue;
    suggestion_offer(&near, s->u->items[i].name->text);
    strbuf_addf(&known, "%s@%s", known.len ? ", " : "",
                s->u->items[i].name->text);
  }
  if (near.best) diag_hint(d, "did you mean `%s`?", near.best);
  else if (known.len)
    diag_hint(d, "there are %s, of `@%s` and of the text", strbuf_text(&known),
              entry);
  else diag_hint(d, "neither `@%s` nor the text has parameters", entry);
  strbuf_done(&known);
  return false;
}

static bool check_names(Special *s, const char *entry, int count,
                        const Given *given) {
  for (int i = 0; i < count; i++) {
    const Given *g = &given[i];
    if (!parameter(s->fn, g) && !is_param(s->u, g->name))
      return refuse_name(s, g, entry);
    for (int k = 0; k < i; k++) {
      if (given[k].name != g->name || given[k].is_param != g->is_param)
        continue;
      Diag *d = diag_error(s->p->diags, E0541, g->span, "`%s` is given twice",
                           g->name->text);
      diag_note(d, given[k].span, "here first");
      return false;
    }
  }
  return true;
}

/* A `param` with a value is a `let` in front of all that may use it. */
static bool special_items(Special *s, const Item *entry, int count,
                          const Given *given) {
  Unit *u = s->u;
  Item *items = ARENA_ARRAY(&u->arena, Item, (size_t)u->item_count + 1);
  if (!items) return false;
  int n = 0;
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < u->item_count; i++) {
      Item item = u->items[i];
      const Given *g = item.kind == ITEM_PARAM
                           ? given_for(item.name, true, count, given)
                           : NULL;
      if (g && parameter(s->fn, g)) g = NULL;
      if ((g && g->value) != (round == 0)) continue;
      if (g && !(item.annotation =
                     special_fit(s, g, item.annotation, item.name_span)))
        return false;
      if (g && g->value) {
        item.kind = ITEM_LET_GLOBAL;
        item.expr = expr_const(&u->arena, item.name_span, g->value);
      }
      if (&u->items[i] == entry &&
          !(item.expr = special_fn(s, item.expr, count, given)))
        return false;
      items[n++] = item;
    }
  u->items = items;
  return true;
}

static const Item *find_entry(const Unit *u, const Name *name) {
  for (int i = 0; i < u->item_count; i++)
    if (u->items[i].kind == ITEM_DEF && u->items[i].name == name)
      return &u->items[i];
  return NULL;
}

bool specialise(Program *p, Unit *u, const Name *entry, int count,
                const Given *given) {
  Special s = {.p = p, .u = u};
  const Name *name = entry ? entry : name_of(p->names, "main");
  fragment_to_main(p, u);
  const Item *item = find_entry(u, name);
  if (entry && !item) {
    program_no_function(p, u, entry->text);
    return false;
  }
  s.fn = item ? item->expr->fn : NULL;
  VEC_INIT(&s.names, p->mem);
  VEC_INIT(&s.meant, p->mem);
  bool ok = check_names(&s, name->text, count, given) &&
            special_items(&s, item, count, given);
  VEC_DONE(&s.names);
  VEC_DONE(&s.meant);
  return ok && !mem_exhausted(p->mem);
}
