/* Which expressions choose cells: branches whose values are chains of
 * projections and fields of names, and calls of a `def` that gives such a
 * choice.  The values become places (numbers), and a value that is made where
 * it is chosen goes along with its place.  What follows a choice is written by
 * functional_choose.c. */
#include "passes/functional_choose.h"

/* --- Chains --------------------------------------------------------------- */

static const Expr *root_of(const Expr *e) {
  while (functional_is_field(e)) e = e->args[0];
  return e;
}

bool choose_is_chain(const Expr *e) {
  ExprKind kind = root_of(e)->kind;
  return kind == EX_LOCAL || kind == EX_GLOBAL;
}

static bool same_chain(const Expr *a, const Expr *b) {
  for (; functional_is_field(a) && a->kind == b->kind;
       a = a->args[0], b = b->args[0])
    if (a->kind == EX_PROJ ? a->index != b->index
                           : a->field.name != b->field.name)
      return false;
  if (a->kind != b->kind) return false;
  return a->kind == EX_LOCAL    ? a->name == b->name
         : a->kind == EX_GLOBAL ? a->g.name == b->g.name
                                : false;
}

/* The chain with another in the place of its name. */
static const Expr *with_root(Choose *c, const Expr *chain, const Expr *root) {
  ExprMap m;
  expr_map_start(&m, c->f->p->mem, c->f->arena, chain);
  while (expr_map_next(&m))
    if (m.walk.event == WALK_LEAVE && !functional_is_field(m.walk.at))
      expr_map_put(&m, root);
  return expr_map_end(&m);
}

bool choose_is_cell(const Choose *c, const Expr *chain) {
  const Expr *root = root_of(chain);
  if (root->kind == EX_LOCAL) return ptrmap_has(&c->cells, root->name);
  const Part *part = functional_global_part(c->f, chain);
  return part && functional_has_ref(c->f, part->type);
}

/* --- Choices -------------------------------------------------------------- */

static int add_leaf(Choice *choice, const Expr *leaf) {
  for (size_t i = 0; i < choice->leaves.len; i++) {
    const Expr *other = choice->leaves.data[i];
    if (leaf && other ? same_chain(other, leaf) : leaf == other) return (int)i;
  }
  VEC_PUSH(&choice->leaves, leaf);
  return (int)choice->leaves.len - 1;
}

/* The leaf by names that are known outside of the choice; NULL: it has none.
 * `bound` are the names that the choice binds, each to a chain or to nothing.
 */
static const Expr *leaf_outside(Choose *c, const PtrMap *bound,
                                const Expr *leaf) {
  const Expr *root = root_of(leaf);
  if (root->kind != EX_LOCAL || !ptrmap_has(bound, root->name)) return leaf;
  const Expr *value = ptrmap_get(bound, root->name);
  return value ? with_root(c, leaf, value) : NULL;
}

static const Expr *constructor(Choose *c, const char *name, Span span) {
  Expr *e = expr_new(c->f->arena, EX_IDENT, span);
  e->name = name_of(c->f->p->names, name);
  return e;
}

/* (place, None), (place, Some(value)) */
static const Expr *place_and_value(Choose *c, const Expr *place,
                                   const Expr *value, Span span) {
  Arena *a = c->f->arena;
  const Expr *option = constructor(c, value ? "Some" : "None", span);
  if (value)
    option = expr_call(a, span, option, 1, arena_copy(a, &value, sizeof value));
  const Expr *fields[] = {place, option};
  Expr *made = expr_new(a, EX_TUPLE, span);
  made->args = arena_copy(a, fields, sizeof fields);
  made->count = made->args ? 2 : 0;
  return made;
}

/* Puts places where the branching expression has values, of which one has to
 * be a cell.  The events of the map come in order of evaluation, so what binds
 * a name comes before its leaves. */
static bool put_places(Choose *c, const Expr *e, Choice *out) {
  PtrMap bound;
  ptrmap_init(&bound, c->f->p->mem);
  bool makes = out->makes, all = true, cell = false;
  ExprMap m;
  expr_map_start(&m, c->f->p->mem, c->f->arena, e);
  while (expr_map_next(&m)) {
    const ExprWalk *w = &m.walk;
    if (w->event == WALK_BIND && w->var) {
      const Expr *value = w->binding ? w->binding->value : NULL;
      if (value)
        value = choose_is_chain(value) ? leaf_outside(c, &bound, value) : NULL;
      ptrmap_put(&bound, w->var->name, (void *)value);
    }
    if (w->event != WALK_ENTER || (w->at == e && expr_has_tail(e))) continue;
    if (!all || (w->at != e && !expr_walk_is_tail(w))) {
      expr_map_put(&m, w->at);
    } else if (!expr_has_tail(w->at)) {
      const Expr *leaf =
          choose_is_chain(w->at) ? leaf_outside(c, &bound, w->at) : NULL;
      out->makes |= !leaf;
      all = leaf || (c->option && !choose_giver(c, w->at));
      cell |= leaf && choose_is_cell(c, leaf);
      const Expr *place = w->at;
      if (all) place = choose_number(c, w->at->span, add_leaf(out, leaf));
      if (all && makes && place)
        place = place_and_value(c, place, leaf ? NULL : w->at, w->at->span);
      if (place) expr_map_put(&m, place);
    }
  }
  out->index = expr_map_end(&m);
  ptrmap_done(&bound);
  return all && cell && out->index;
}

/* That a branch makes its value is known after the first time. */
bool choose_branch(Choose *c, const Expr *e, Choice *out) {
  if (!put_places(c, e, out)) return false;
  return !out->makes || put_places(c, e, out);
}

/* The call of a giver: parameters are what they are given. */
static bool choose_call(Choose *c, const Expr *e, Choice *out) {
  const Giver *giver = choose_giver(c, e);
  if (!giver || e->count != giver->fn->param_count) return false;
  out->index = e;
  out->makes = giver->makes;
  for (int i = 0; i < giver->count; i++) {
    const Expr *leaf = giver->leaves[i], *root = leaf ? root_of(leaf) : NULL;
    for (int k = 0; root && root->kind == EX_LOCAL && k < e->count; k++) {
      if (giver->fn->params[k]->name != root->name) continue;
      if (!choose_is_chain(e->args[k])) return false;
      leaf = with_root(c, leaf, e->args[k]);
      break;
    }
    if (root && !leaf) return false;
    VEC_PUSH(&out->leaves, leaf);
  }
  return out->leaves.len > 0;
}

bool choose_find(Choose *c, const Expr *e, Choice *out) {
  *out = (Choice){0};
  VEC_INIT(&out->leaves, c->f->p->mem);
  bool found = e->kind == EX_CALL
                   ? choose_call(c, e, out)
                   : expr_has_tail(e) && choose_branch(c, e, out);
  if (!found) VEC_DONE(&out->leaves);
  return found;
}
