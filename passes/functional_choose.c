/* Cells that a branch chooses, before the state is threaded through: the choice
 * becomes a number, and what follows is written once for each cell.
 *
 *   let %c = if (%x) { @a }        let %chosen = if (%x) { 0 } else { 1 };
 *            else { @b };     ==>  if (%chosen == 0) { let %c = @a; rest }
 *   rest                           else { let %c = @b; rest }
 *
 * From then on the text says which cell is meant.  A branch may also give what
 * has no name outside of it, such as a cell that is made there.  This value
 * goes along with the number:
 *
 *   if (%x) { @a }         let %chosen = if (%x) { (0, None) }
 *   else { ref(0) }  ==>                 else { (1, Some(ref(0))) };
 *
 * A `def` that gives such a choice gives its number, and each call of it is a
 * choice.  An operand is let-bound first, with those before it, which keeps the
 * order of evaluation.  All this holds for any values, so it is enough that a
 * choice seems to be one of cells; what is none of these forms is refused.
 *
 * functional_choice.c finds the choices; here is written what follows them. */
#include "passes/functional_choose.h"

/* How many nodes may be written again in all: what follows several choices is
 * written once for each way through them. */
enum { AGAIN_MOST = 200000 };

/* --- What follows them ---------------------------------------------------- */

/* A variable that no name of the text means. */
static Var *own_var(Choose *c, const char *text, Span span) {
  const Name *name = name_of(c->f->p->names, text);
  Name *own = arena_copy(c->f->arena, name, sizeof *name + name->len + 1);
  return var_new(c->f->arena, own ? own : name, span, NULL);
}

static const Expr *use(Choose *c, const Var *var, Span span) {
  Expr *e = expr_new(c->f->arena, EX_LOCAL, span);
  e->name = var->name;
  return e;
}

static const Expr *let(Choose *c, Var *var, const Expr *value,
                       const Expr *rest) {
  Binding *b = ARENA_NEW(c->f->arena, Binding);
  *b = binding_let(value->span, var, value);
  return expr_block(c->f->arena, rest->span, 1, b, rest);
}

static const Expr *is_chosen(Choose *c, const Expr *index, int place,
                             Span span) {
  Expr *equal = expr_new(c->f->arena, EX_IDENT, span);
  equal->name = name_of(c->f->p->names, "equal");
  const Expr *args[] = {index, choose_number(c, span, place)};
  const Expr *const *own = arena_copy(c->f->arena, args, sizeof args);
  Expr *call = expr_call(c->f->arena, span, equal, 2, own);
  call->sugar = SUGAR_INFIX;
  return call;
}

/* May the expression be written that many times more? */
static bool may_copy(Choose *c, const Expr *e, int times) {
  if (times == 0) return true;
  ExprWalk w;
  expr_walk_start(&w, c->f->p->mem, WALK_ENTER, e);
  while (c->again <= AGAIN_MOST && expr_walk_next(&w)) c->again += times;
  expr_walk_end(&w);
  return c->again <= AGAIN_MOST;
}

static const Expr *field(Choose *c, const Expr *tuple, int index) {
  return expr_proj(c->f->arena, tuple->span, tuple, index);
}

/* match? (%chosen.1) { Some(%made) => %made } */
static const Expr *made_value(Choose *c, const Var *chosen, Span span) {
  Arena *a = c->f->arena;
  Var *made = own_var(c, "made", span);
  Pattern *var = ARENA_NEW(a, Pattern);
  *var = (Pattern){.kind = PT_VAR, .span = span, .var = made};
  const Pattern *const one[] = {var};
  Pattern *some = ARENA_NEW(a, Pattern);
  *some = (Pattern){.kind = PT_CTOR,
                    .span = span,
                    .name = name_of(c->f->p->names, "Some"),
                    .parens = true,
                    .height = 1,
                    .count = 1,
                    .fields = arena_copy(a, one, sizeof one)};
  Arm *arm = ARENA_NEW(a, Arm);
  *arm = (Arm){.span = span, .pattern = some, .body = use(c, made, span)};
  Match *match = ARENA_NEW(a, Match);
  *match = (Match){.partial = true, .arm_count = 1, .arms = arm};
  const Expr *option = field(c, use(c, chosen, span), 1);
  Expr *e = expr_new(a, EX_MATCH, span);
  e->args = arena_copy(a, &option, sizeof option);
  e->count = 1;
  e->match = match;
  return e;
}

/* let %var = choice; rest */
static const Expr *let_choice(Choose *c, Var *var, Choice *choice,
                              const Expr *rest) {
  Functional *f = c->f;
  int count = (int)choice->leaves.len;
  Span span = choice->index->span;
  Var *chosen = own_var(c, "chosen", span);
  ptrmap_put(&c->chosen, chosen->name, chosen);
  const Expr *made = NULL;
  if (!may_copy(c, rest, count - 1)) {
    f->loses_cell = true;
    functional_refuse(f, span,
                      "choose less often in a row, or choose in a `def` that "
                      "reads and writes",
                      "so many ways to go on with chosen cells");
    count = 1;
  }
  for (int i = count; i-- > 0;) {
    const Expr *leaf = choice->leaves.data[i];
    leaf = leaf ? functional_copy(f, leaf) : made_value(c, chosen, span);
    const Expr *own = i > 0 ? functional_copy(f, rest) : rest;
    if (!leaf || !own) break;
    const Expr *with = let(c, var, leaf, own);
    const Expr *index = use(c, chosen, span);
    if (choice->makes) index = field(c, index, 0);
    made =
        made ? expr_if(f->arena, span, is_chosen(c, index, i, span), with, made)
             : with;
  }
  VEC_DONE(&choice->leaves);
  return made ? let(c, chosen, choice->index, made) : rest;
}

/* From the last binding to the first, so each has its rest after it.  What
 * stands after a graph variable is not written twice. */
static const Expr *choose_in_block(Choose *c, const Expr *block) {
  const Expr *made = block;
  for (int i = block->block->count; i-- > 0;) {
    const Block *now = made->block;
    const Binding *b = &now->bindings[i];
    if (b->kind == BIND_GRAPH) break;
    Choice choice;
    if (!block_is_let(now, b) || !choose_find(c, b->value, &choice)) continue;
    Functional *f = c->f;
    const Expr *rest = now->result;
    if (i + 1 < now->count)
      rest = expr_block(f->arena, made->span, now->count - i - 1, b + 1, rest);
    rest = let_choice(c, b->var, &choice, rest);
    made =
        i > 0 ? expr_block(f->arena, made->span, i, now->bindings, rest) : rest;
    if (i > 0 && made->kind != EX_BLOCK) break;
  }
  return made;
}

/* The first operand, of which a field is taken, or which is read or written. */
static const Expr *choose_operand(Choose *c, ExprMap *m) {
  Choice choice;
  if (m->made->count == 0 || !choose_find(c, m->made->args[0], &choice))
    return m->made;
  Expr *made = expr_map_own(m);
  Var *var = own_var(c, "cell", made->span);
  const Expr **args =
      arena_copy(c->f->arena, made->args, (size_t)made->count * sizeof *args);
  if (args) args[0] = use(c, var, made->span);
  if (args) made->args = args;
  return let_choice(c, var, &choice, made);
}

/* Constructors keep what they are given, and a cell cannot be kept. */
static const Expr *choose_arguments(Choose *c, ExprMap *m) {
  if (m->made->call.callee->kind == EX_IDENT) return m->made;
  int last = m->made->count;
  Choice choice;
  while (last-- > 0 && !choose_find(c, m->made->args[last], &choice)) {
  }
  if (last < 0) return m->made;
  VEC_DONE(&choice.leaves);
  Expr *call = expr_map_own(m);
  const Expr **args =
      arena_copy(c->f->arena, call->args, (size_t)call->count * sizeof *args);
  if (!args) return call;
  const Expr *const *was = call->args;
  call->args = args;
  call->sugar = SUGAR_NONE;
  const Expr *made = call;
  for (int i = last; i >= 0; i--) {
    if (choose_is_chain(was[i]) || was[i]->kind == EX_CONST ||
        was[i]->kind == EX_FN)
      continue;
    Var *var = own_var(c, "v", was[i]->span);
    args[i] = use(c, var, was[i]->span);
    made = choose_find(c, was[i], &choice) ? let_choice(c, var, &choice, made)
                                           : let(c, var, was[i], made);
  }
  return made;
}

/* --- All of it ------------------------------------------------------------ */

static void note_cell(Choose *c, const ExprWalk *w) {
  const Var *var = w->var;
  if (!var) return;
  const TypeExpr *type = var->annotation;
  const Expr *value = w->binding ? w->binding->value : NULL;
  bool cell = type && type->kind == TX_REF;
  if (value && choose_is_chain(value)) cell |= choose_is_cell(c, value);
  if (cell) ptrmap_put(&c->cells, var->name, (void *)var);
}

static const Expr *choose(Choose *c, const Expr *root) {
  ExprMap m;
  expr_map_start(&m, c->f->p->mem, c->f->arena, root);
  while (expr_map_next(&m)) {
    if (m.walk.event == WALK_BIND) note_cell(c, &m.walk);
    if (m.walk.event != WALK_LEAVE) continue;
    const Expr *made = m.made;
    switch (made->kind) {
      case EX_BLOCK: made = choose_in_block(c, made); break;
      case EX_CALL: made = choose_arguments(c, &m); break;
      case EX_READ:
      case EX_WRITE:
      case EX_PROJ:
      case EX_FIELD:
      case EX_MATCH: made = choose_operand(c, &m); break;
      default: break;
    }
    if (made != m.made) expr_map_put(&m, made);
  }
  return expr_map_end(&m);
}

/* A `def` that only a host calls would give it a number for a cell. */
static void note_globals(Choose *c, const Expr *root) {
  ExprWalk w;
  expr_walk_start(&w, c->f->p->mem, WALK_ENTER, root);
  while (expr_walk_next(&w))
    if (w.at->kind == EX_GLOBAL)
      ptrmap_put(w.role == ROLE_CALLEE ? &c->called : &c->values, w.at->g.name,
                 (void *)w.at);
  expr_walk_end(&w);
}

static const TypeExpr *type_of(Choose *c, TypeExpr t, const TypeExpr *within) {
  TypeExpr *made = ARENA_NEW(c->f->arena, TypeExpr);
  *made = t;
  made->height = within ? within->height + 1 : 1;
  return made;
}

/* int32; (int32, Option[T]) of a function that also makes values of type T.
 * NULL: it is not written. */
static const TypeExpr *place_type(Choose *c, const Choice *choice,
                                  const TypeExpr *result, Span span) {
  Arena *a = c->f->arena;
  const TypeExpr *place = type_of(
      c,
      (TypeExpr){
          .kind = TX_TENSOR, .span = span, .scalar = true, .dtype = DT_INT32},
      NULL);
  if (!choice->makes || !result) return choice->makes ? NULL : place;
  TypeExpr option = {.kind = TX_NAME,
                     .span = span,
                     .name = name_of(c->f->p->names, "Option"),
                     .brackets = true,
                     .arg_count = 1,
                     .args = arena_copy(a, &result, sizeof result)};
  const TypeExpr *fields[] = {place, type_of(c, option, result)};
  TypeExpr both = {.kind = TX_TUPLE,
                   .span = span,
                   .arg_count = 2,
                   .args = arena_copy(a, fields, sizeof fields)};
  return type_of(c, both, fields[1]);
}

/* The function whose value is a choice gives its number. */
static const Expr *make_giver(Choose *c, const Name *name, const Expr *e) {
  Functional *f = c->f;
  Choice choice = {0};
  VEC_INIT(&choice.leaves, f->p->mem);
  Expr *made = arena_copy(f->arena, e, sizeof *e);
  Fn *fn = arena_copy(f->arena, e->fn, sizeof *fn);
  Giver *giver = ARENA_NEW(f->arena, Giver);
  bool found = made && fn && choose_branch(c, fn->body, &choice);
  if (found) {
    fn->body = choice.index;
    fn->result = place_type(c, &choice, fn->result, e->span);
    made->fn = fn;
    *giver = (Giver){.fn = fn,
                     .leaves = VEC_TO_ARENA(&choice.leaves, f->arena),
                     .count = (int)choice.leaves.len,
                     .makes = choice.makes};
    if (giver->leaves) ptrmap_put(&c->givers, name, giver);
  }
  VEC_DONE(&choice.leaves);
  return found ? made : e;
}

/* The place that a function gives means something where it is chosen by alone.
 */
static void check_givers(Choose *c, const Expr *root) {
  ExprWalk w;
  expr_walk_start(&w, c->f->p->mem, WALK_ENTER, root);
  while (expr_walk_next(&w)) {
    if (!choose_giver(c, w.at)) continue;
    const Binding *b = expr_walk_binding(&w);
    if (b && b->var && ptrmap_has(&c->chosen, b->var->name)) continue;
    c->f->loses_cell = true;
    functional_refuse(c->f, w.at->span,
                      "read or write it here, or give it a name by `let`",
                      "a cell that a function gives, as a part of a value");
  }
  expr_walk_end(&w);
}

static void put_item(Functional *f, size_t i, const Expr *e) {
  const Item *was = f->items.data[i];
  Item *made =
      e && e != was->expr ? arena_copy(f->arena, was, sizeof *was) : NULL;
  if (!made) return;
  made->expr = e;
  ptrmap_put(&f->shown, made, ptrmap_get(&f->shown, was));
  f->items.data[i] = made;
}

static bool is_entry(const Unit *u, const Name *name) {
  for (int i = 0; i < u->entry_count; i++)
    if (u->entries[i] == name) return true;
  return false;
}

/* Does the text give Some or None another meaning? */
static bool has_option(const Functional *f) {
  const Name *some = name_of(f->p->names, "Some");
  const Name *none = name_of(f->p->names, "None");
  for (size_t i = 0; i < f->items.len; i++) {
    const Item *item = f->items.data[i];
    const AdtDecl *adt = item->kind == ITEM_TYPE ? item->adt : NULL;
    for (int k = 0; adt && k < adt->ctor_count; k++)
      if (adt->ctors[k].name == some || adt->ctors[k].name == none) return true;
  }
  return false;
}

/* May the function give a place in the place of a cell? */
static bool may_give(const Choose *c, const Unit *u, const Item *item) {
  return item->kind == ITEM_DEF && item->expr->fn->type_param_count == 0 &&
         ptrmap_has(&c->called, item->name) &&
         !ptrmap_has(&c->values, item->name) && !is_entry(u, item->name);
}

static bool is_evaluated(const Item *item) {
  return item->kind == ITEM_DEF || item->kind == ITEM_EXPR ||
         item->kind == ITEM_LET_LOCAL;
}

void functional_choose(Functional *f, const Unit *u) {
  Choose c = {.f = f, .option = !has_option(f)};
  PtrMap *const maps[] = {&c.cells, &c.values, &c.called, &c.givers, &c.chosen};
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
    ptrmap_init(maps[i], f->p->mem);
  for (size_t i = 0; i < f->items.len; i++)
    if (f->items.data[i]->expr) note_globals(&c, f->items.data[i]->expr);
  for (size_t i = 0; i < f->items.len; i++) {
    const Item *item = f->items.data[i];
    if (!may_give(&c, u, item)) continue;
    const Fn *fn = item->expr->fn;
    for (int k = 0; k < fn->param_count; k++) {
      const Var *param = fn->params[k];
      if (param->annotation && param->annotation->kind == TX_REF)
        ptrmap_put(&c.cells, param->name, (void *)param);
    }
    put_item(f, i, make_giver(&c, item->name, item->expr));
  }
  for (size_t i = 0; i < f->items.len; i++)
    if (is_evaluated(f->items.data[i]))
      put_item(f, i, choose(&c, f->items.data[i]->expr));
  for (size_t i = 0; i < f->items.len; i++)
    if (f->items.data[i]->expr) check_givers(&c, f->items.data[i]->expr);
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) ptrmap_done(maps[i]);
}
