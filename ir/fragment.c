/* Fragments of Relay's text as programs.
 *
 * TVM prints expressions with their free variables declared before them, and
 * functions without a name.  Such a text is a @main here:
 *
 *   free_var %x: Tensor[(2), float32];      def @main(%x: Tensor[(2), ...]) {
 *   add(%x, %x)                               add(%x, %x)
 *                                           }
 *
 *   #[version = "0.0.5"]
 *   fn (%x: int32) { %x }                   def @main(%x: int32) { %x }
 *
 * Only a unit that is nothing else is taken so: definitions and types may stand
 * above the fragment, but no @main and nothing that is evaluated.  At the
 * prompt an expression stays an expression. */
#include "ir/program.h"

/* The one item that is the fragment; NULL: the unit is none. */
static const Item *fragment_of(const Program *p, const Unit *u) {
  if (u->item_count == 0 || p->name_results) return NULL;
  const Item *last = &u->items[u->item_count - 1];
  if (last->kind != ITEM_EXPR) return NULL;
  const Expr *e = last->expr;
  bool open = e->kind == EX_BLOCK && !e->parens && e->sugar == SUGAR_NONE &&
              e->block->count > 0 && e->block->bindings[0].kind == BIND_FREE;
  if (!open && !(e->kind == EX_FN && u->version_header)) return NULL;
  for (int i = 0; i + 1 < u->item_count; i++) {
    ItemKind kind = u->items[i].kind;
    bool plain = kind == ITEM_DEF || kind == ITEM_TYPE || kind == ITEM_IMPORT;
    if (item_is_main(&u->items[i]) || !plain) return NULL;
  }
  return last;
}

/* The block without its `free_var`s, which become parameters before those of a
 * `fn` that is its value. */
static const Expr *fn_of_block(Arena *arena, const Expr *e) {
  const Block *old = e->block;
  const Fn *inner = old->result->kind == EX_FN ? old->result->fn : NULL;
  size_t own = inner ? (size_t)inner->param_count : 0;
  Binding *kept = ARENA_ARRAY(arena, Binding, (size_t)old->count);
  Var **params = ARENA_ARRAY(arena, Var *, (size_t)old->count + own);
  Fn *fn = ARENA_NEW(arena, Fn);
  if (!kept || !params) return NULL;
  *fn = inner ? *inner : (Fn){0};
  int n = 0, free = 0;
  for (int i = 0; i < old->count; i++)
    if (old->bindings[i].kind == BIND_FREE)
      params[free++] = old->bindings[i].var;
    else kept[n++] = old->bindings[i];
  for (size_t i = 0; i < own; i++) params[(size_t)free + i] = inner->params[i];
  fn->params = params;
  fn->param_count = free + (int)own;
  const Expr *body = inner ? inner->body : old->result;
  fn->body = n ? expr_block(arena, e->span, n, kept, body) : body;
  Expr *made = expr_new(arena, EX_FN, e->span);
  made->fn = fn;
  return made;
}

void fragment_to_main(Program *p, Unit *u) {
  const Item *found = fragment_of(p, u);
  if (!found) return;
  Item *items =
      arena_copy(&u->arena, u->items, (size_t)u->item_count * sizeof *items);
  const Expr *e = found->expr;
  const Expr *fn = e->kind == EX_FN ? e : fn_of_block(&u->arena, e);
  if (!items || !fn) return;
  Item *main = &items[u->item_count - 1];
  main->kind = ITEM_DEF;
  main->name = name_of(p->names, "main");
  main->name_span = (Span){e->span.lo, e->span.lo + 2};
  main->expr = fn;
  u->items = items;
}
