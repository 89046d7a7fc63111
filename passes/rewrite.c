/* The way of a pass through the checked program; see rewrite.h.
 *
 * Passes map the bound form, in which each use knows what it means and each
 * expression its type.  Functions that are checked by instance stay as they are
 * written. */
#include "passes/rewrite.h"

#include <limits.h>

#include "ops/ops.h"
#include "types/types.h"

void unit_each(Program *p, Unit *unit, void (*visit)(void *data, Unit *u),
               void *data) {
  for (Unit *u = p->units; u; u = u->next)
    if (u == unit || (u->importer && !(u->source && u->source->library)))
      visit(data, u);
}

static void note_runs(void *data, Unit *u) {
  bool *runs = data;
  for (int i = 0; i < u->item_count && !*runs; i++) {
    const Item *item = &u->items[i];
    *runs = item->kind == ITEM_EXPR || item_is_main(item);
  }
}

bool unit_runs(Program *p, Unit *unit) {
  bool runs = false;
  unit_each(p, unit, note_runs, &runs);
  return runs;
}

static bool is_derivative(const Expr *e) {
  if (e->kind != EX_OP) return false;
  OpSpecial form = op_info(e->op)->special;
  return form == SPECIAL_GRAD || form == SPECIAL_VJP || form == SPECIAL_JVP;
}

/* The steps of imported texts are among the unit's. */
bool unit_differentiates(Program *p, const Unit *unit) {
  ExprWalk w;
  bool found = false;
  expr_walk_start(&w, p->mem, WALK_ENTER, NULL);
  for (const Unit *u = p->units; u; u = u->next) {
    if (u != unit && !u->importer) continue;
    for (int i = 0; i < u->item_count; i++) {
      const Global *g =
          u->items[i].kind == ITEM_DEF || u->items[i].kind == ITEM_PARAM
              ? item_global(p, &u->items[i])
              : NULL;
      if (g && g->value) expr_walk_add(&w, g->value);
    }
  }
  for (int i = 0; i < unit->step_count; i++) {
    const Step *step = &unit->steps[i];
    const Expr *e = step->kind == STEP_LET ? step->global->value : step->expr;
    if (e) expr_walk_add(&w, e);
  }
  while (!found && expr_walk_next(&w)) found = is_derivative(w.at);
  return !expr_walk_end(&w) || found;
}

/* A dtype that is a parameter may be a float. */
bool expr_has_adjoint(const Program *p, const Expr *e) {
  const OpInfo *op = expr_operator(e);
  const Type *t = e->type;
  bool exact = t && t->kind == TY_TENSOR && t->dtype < DTYPE_COUNT &&
               !dtype_is_float((DType)t->dtype);
  return p->passing->differentiates && !exact && e->kind != EX_CONST &&
         !(op && op->flat);
}

/* A graph variable that is evaluated where it stands becomes a `let`.  The
 * checker places a graph variable by its uses, so that a pass which drops one
 * would move what the variable does, or drop it.  Lazy ones do nothing but fail
 * or diverge, at their first use, and a use of one counts as that. */
static const Expr *with_lets(Program *p, Arena *arena, const Expr *e) {
  ExprMap m;
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m)) {
    if (m.walk.event != WALK_LEAVE || m.made->kind != EX_BLOCK) continue;
    const Block *block = m.walk.at->block;
    for (int i = 0; i < block->count; i++) {
      const Binding *b = &block->bindings[i];
      if (b->sugar != SUGAR_GRAPH || b->var->lazy) continue;
      Binding *lets = expr_map_own_bindings(&m);
      if (!lets) break;
      lets[i].sugar = SUGAR_NONE;
      lets[i].var->name = name_of(p->names, "v");
    }
  }
  return expr_map_end(&m);
}

typedef struct Job {
  Program *p;
  Arena *arena;
  RewriteWith *rewrite;
  void *data;
} Job;

static const Expr *rewritten(Job *job, const Expr *e) {
  const PassCall *call = job->p->passing;
  uint64_t before = call->rewrites;
  const Expr *lets = with_lets(job->p, job->arena, e);
  const Expr *made =
      lets ? job->rewrite(job->data, job->p, job->arena, lets) : NULL;
  if (!made) return e;
  bool asked = made == lets || call->rewrites > before;
  return asked || pass_may_replace(job->p, NULL, lets, made) ? made : lets;
}

static void rewrite_global(Job *job, Global *g) {
  if (!g || !g->value || g->scheme) return;
  job->p->passing->within = g;
  g->value = rewritten(job, g->value);
  job->p->passing->within = NULL;
}

static void rewrite_items(void *data, Unit *u) {
  Job *job = data;
  for (int i = 0; i < u->item_count; i++) {
    ItemKind kind = u->items[i].kind;
    if (kind == ITEM_DEF || kind == ITEM_PARAM)
      rewrite_global(job, item_global(job->p, &u->items[i]));
  }
}

/* The steps of imported texts are among the unit's. */
Unit *unit_rewrite_with(Program *p, Unit *unit, RewriteWith *rewrite,
                        void *data) {
  Job job = {p, &unit->arena, rewrite, data};
  unit_each(p, unit, rewrite_items, &job);
  for (int i = 0; i < unit->step_count; i++) {
    Step *step = &unit->steps[i];
    if (step->kind == STEP_LET) rewrite_global(&job, step->global);
    else step->expr = rewritten(&job, step->expr);
  }
  return mem_exhausted(p->mem) ? NULL : unit;
}

typedef struct Plain {
  Rewrite *rewrite;
} Plain;

static const Expr *rewrite_plainly(void *data, Program *p, Arena *arena,
                                   const Expr *e) {
  return ((const Plain *)data)->rewrite(p, arena, e);
}

Unit *unit_rewrite(Program *p, Unit *unit, Rewrite *rewrite) {
  return unit_rewrite_with(p, unit, rewrite_plainly, &(Plain){rewrite});
}

static const Expr *as_it_is(Program *p, Arena *arena, const Expr *e) {
  (void)p;
  (void)arena;
  return e;
}

Unit *unit_with_lets(Program *p, Unit *unit) {
  return unit_rewrite(p, unit, as_it_is);
}

static const Name *numbered(Program *p, Arena *arena, const char *like, int i) {
  return name_of(p->names, arena_printf(arena, "%s%d", like, i));
}

/* `like`, or with a number that is free where the one before is not.  A pass
 * may make as many names as the program has nodes, so the number is found by
 * doubling, then by halving. */
static const Name *free_name(Program *p, Arena *arena, const char *like) {
  const Name *name = name_of(p->names, like);
  int taken = 0, free = 1;
  if (!scope_global(&p->user, name)) return name;
  while (scope_global(&p->user, numbered(p, arena, like, free)) &&
         free < INT_MAX / 2 && !mem_exhausted(p->mem)) {
    taken = free;
    free *= 2;
  }
  while (free - taken > 1) {
    int middle = taken + (free - taken) / 2;
    bool is_taken = scope_global(&p->user, numbered(p, arena, like, middle));
    *(is_taken ? &taken : &free) = middle;
  }
  return numbered(p, arena, like, free);
}

Global *global_new(Program *p, Arena *arena, const char *like, Span span,
                   const Type *type) {
  const Name *name = free_name(p, arena, like);
  Global *g = ARENA_NEW(&p->arena, Global);
  if (!g) return NULL;
  *g = (Global){.kind = GLOBAL_DEF,
                .name = name,
                .span = span,
                .type = type,
                .effects = EFFECT_ALL,
                .slot = -1};
  ptrmap_put(&p->user.globals, name, g);
  return g;
}

Item global_item(const Global *g) {
  return (Item){.kind = ITEM_DEF,
                .span = g->value->span,
                .name_span = g->value->span,
                .name = g->name,
                .expr = g->value,
                .linked = true};
}

void unit_add_items(Unit *unit, size_t added, const Item *more) {
  size_t count = (size_t)unit->item_count;
  Item *items = ARENA_ARRAY(&unit->arena, Item, count + added + 1);
  if (!items) return;
  for (size_t i = 0; i < count; i++) items[i] = unit->items[i];
  for (size_t i = 0; i < added; i++) items[count + i] = more[i];
  unit->items = items;
  unit->item_count = (int)(count + added);
}

bool expr_uses_lazy(const Program *p, const Expr *e) {
  ExprWalk w;
  bool found = false;
  expr_walk_start(&w, p->mem, WALK_ENTER, e);
  while (!found && expr_walk_next(&w))
    found = w.at->kind == EX_VAR && w.at->var->lazy;
  expr_walk_end(&w);
  return found;
}

bool expr_is_pure(const Program *p, const Expr *e) {
  return !expr_effects(p, e) && !expr_uses_lazy(p, e);
}

const OpInfo *expr_operator(const Expr *e) {
  bool op = e->kind == EX_CALL && e->call.callee->kind == EX_OP;
  return op ? op_info(e->call.callee->op) : NULL;
}

const Expr *expr_use(Arena *arena, Span span, Var *var) {
  Expr *e = expr_new(arena, EX_VAR, span);
  e->var = var;
  e->type = var->type;
  return e;
}

Var *var_for(Program *p, Arena *arena, const Expr *value) {
  Var *var = var_new(arena, name_of(p->names, "v"), value->span, NULL);
  var->id = p->next_var_id++;
  var->type = value->type;
  return var;
}
