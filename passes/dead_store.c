/* DeadStore: writes that nobody can see go, and cells that are only written.
 *
 *   let %c = ref(0);               let %c = ref(0);
 *   ref_write(%c, @f(%x));   ==>   let %v = @f(%x);
 *   ref_write(%c, 2);              ref_write(%c, 2);
 *   ref_read(%c)                   ref_read(%c)
 *
 * A cell is a `let` of `ref(e)` whose variable stands nowhere but as the first
 * operand of ref_read and ref_write: so nobody else has it, and it dies with
 * its scope.  Two kinds of writes to it are dead:
 *
 *   - any, where no read of the cell is in the text: the `ref` goes, too
 *   - an item of a block, where a later item of the same block writes the cell
 *     and what is evaluated from the one to the other does not mention it; and
 *     no `fn` does
 *
 * What a dead write would have written is evaluated in its place.  If that
 * fails or does not end, the cell dies unseen.  One walk in the order of
 * evaluation finds both: each cell has the last write that nothing has looked
 * at since.  (TVM has no such pass: its DeadCodeElimination drops writes that
 * are seen, where it is told to ignore effects.) */
#include "passes/rewrite.h"
#include "types/types.h"

typedef struct Cell {
  const Var *var;
  size_t depth;        /* of functions where it is made */
  bool read, shared;   /* shared: it stands elsewhere, too */
  bool inner;          /* a function inside its scope uses it */
  bool gone;           /* it is not read: no write of it is seen */
  const Expr *pending; /* the last write, if nothing has looked since */
  const Expr *in;      /* the block that has that write as an item */
} Cell;

/* The write is seen by nobody if the cell is used by its function alone. */
typedef struct Overwritten {
  const Expr *write;
  const Cell *cell;
} Overwritten;

typedef struct Stores {
  Program *p;
  Arena *arena;
  PtrMap cells; /* Var -> Cell */
  PtrMap dead;  /* writes: Expr */
  size_t depth;
  VEC(Cell *) all;
  VEC(Overwritten) overwritten;
} Stores;

/* The cell that the expression names as a variable. */
static Cell *cell_of(const Stores *s, const Expr *e) {
  return e->kind == EX_VAR ? ptrmap_get(&s->cells, e->var) : NULL;
}

static bool is_target(const ExprWalk *w) {
  return w->role == ROLE_ARG && w->index == 0 &&
         (w->parent->kind == EX_READ || w->parent->kind == EX_WRITE);
}

/* --- What is dead ------------------------------------------------------- */

static void enter(Stores *s, const ExprWalk *w) {
  Cell *cell = cell_of(s, w->at);
  if (w->at->kind == EX_FN) s->depth++;
  if (!cell) return;
  if (cell->depth != s->depth) cell->inner = true;
  if (is_target(w) && w->parent->kind == EX_WRITE) return;
  if (is_target(w)) cell->read = true;
  else cell->shared = true;
  cell->pending = NULL;
}

/* The operands of the write have been evaluated. */
static void leave_write(Stores *s, const ExprWalk *w) {
  Cell *cell = cell_of(s, w->at->args[0]);
  if (!cell) return;
  bool item = expr_walk_is_value(w, BIND_ITEM);
  if (item && cell->pending && cell->in == w->parent)
    VEC_PUSH(&s->overwritten, ((Overwritten){cell->pending, cell}));
  cell->pending = item ? w->at : NULL;
  cell->in = w->parent;
}

static void bind(Stores *s, const ExprWalk *w) {
  const Binding *b = w->binding;
  if (!b || !block_is_let(w->at->block, b) || b->value->kind != EX_REF ||
      b->var->lazy)
    return;
  Cell *cell = ARENA_NEW(s->arena, Cell);
  if (!cell) return;
  *cell = (Cell){.var = b->var, .depth = s->depth};
  ptrmap_put(&s->cells, b->var, cell);
  VEC_PUSH(&s->all, cell);
}

static void find_dead(Stores *s, const Expr *e) {
  ExprWalk w;
  s->depth = 0;
  VEC_CLEAR(&s->all);
  VEC_CLEAR(&s->overwritten);
  expr_walk_start(&w, s->p->mem, WALK_ENTER | WALK_LEAVE | WALK_BIND, e);
  while (expr_walk_next(&w))
    if (w.event == WALK_BIND) bind(s, &w);
    else if (w.event == WALK_ENTER) enter(s, &w);
    else if (w.at->kind == EX_FN) s->depth--;
    else if (w.at->kind == EX_WRITE) leave_write(s, &w);
  expr_walk_end(&w);
  for (size_t i = 0; i < s->all.len; i++) {
    Cell *cell = s->all.data[i];
    cell->gone =
        !cell->shared && !cell->read && pass_may_rewrite(s->p, cell->var->span);
  }
  for (size_t i = 0; i < s->overwritten.len; i++) {
    const Overwritten *o = &s->overwritten.data[i];
    if (!o->cell->shared && !o->cell->inner && !o->cell->gone &&
        pass_may_rewrite(s->p, o->write->span))
      ptrmap_put(&s->dead, o->write, s);
  }
}

/* --- What is left ------------------------------------------------------- */

static bool goes(const Stores *s, const Expr *write) {
  const Cell *cell = cell_of(s, write->args[0]);
  return cell && (cell->gone || ptrmap_has(&s->dead, write));
}

/* Evaluates what would have been in the cell, compared with the cell's type
 * where the write would; false: that does nothing. */
static bool evaluate(const Stores *s, const Expr *value, const Type *content,
                     Binding *out) {
  if (expr_is_pure(s->p, value) && !types_need_check(value->type, content))
    return false;
  Var *var = var_for(s->p, s->arena, value);
  var->type = content;
  *out = binding_let(value->span, var, value);
  return true;
}

/* A dead write that is no item. */
static const Expr *without_write(const Stores *s, const Expr *e) {
  Expr *unit = expr_new(s->arena, EX_TUPLE, e->span);
  unit->type = e->type;
  Binding *b = ARENA_NEW(s->arena, Binding);
  if (!b || !evaluate(s, e->args[1], e->args[0]->type->args[0], b)) return unit;
  return expr_block(s->arena, e->span, 1, b, unit);
}

static void shorten_block(const Stores *s, ExprMap *m) {
  const Block *was = m->walk.at->block, *block = m->made->block;
  Binding *kept = ARENA_ARRAY(s->arena, Binding, (size_t)was->count + 1);
  int n = 0;
  bool changed = false;
  for (int i = 0; kept && i < was->count; i++) {
    const Binding *b = &block->bindings[i];
    const Expr *value = was->bindings[i].value;
    const Cell *cell =
        b->kind == BIND_LET ? ptrmap_get(&s->cells, b->var) : NULL;
    bool write = b->kind == BIND_ITEM && value->kind == EX_WRITE;
    kept[n] = *b;
    if (cell && cell->gone) {
      changed = true;
      n += evaluate(s, b->value->args[0], b->var->type->args[0], &kept[n]);
    } else if (write && goes(s, value)) {
      changed = true;
      n += evaluate(s, b->value->args[1], value->args[0]->type->args[0],
                    &kept[n]);
    } else {
      n++;
    }
  }
  if (changed) expr_map_put_block(m, n, kept, block->result);
}

static const Expr *without_stores(void *data, Program *p, Arena *arena,
                                  const Expr *e) {
  Stores *s = data;
  s->arena = arena;
  find_dead(s, e);
  ExprMap m;
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m)) {
    if (m.walk.event != WALK_LEAVE) continue;
    const Expr *at = m.walk.at;
    if (at->kind == EX_WRITE && !expr_walk_is_value(&m.walk, BIND_ITEM) &&
        goes(s, at))
      expr_map_put(&m, without_write(s, m.made));
    else if (at->kind == EX_BLOCK) shorten_block(s, &m);
  }
  return expr_map_end(&m);
}

Pass pass_dead_store;

Unit *pass_dead_store(Program *p, Unit *unit) {
  Stores s = {.p = p};
  ptrmap_init(&s.cells, p->mem);
  ptrmap_init(&s.dead, p->mem);
  VEC_INIT(&s.all, p->mem);
  VEC_INIT(&s.overwritten, p->mem);
  unit = unit_rewrite_with(p, unit, without_stores, &s);
  ptrmap_done(&s.cells);
  ptrmap_done(&s.dead);
  VEC_DONE(&s.all);
  VEC_DONE(&s.overwritten);
  return unit;
}
