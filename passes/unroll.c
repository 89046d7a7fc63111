/* Unroll: a call of a recursive function whose recursion ends after a known and
 * small number of calls becomes what these calls do.
 *
 *   def @power(%x: float32, %n: int32) -> float32 {
 *     if (%n == 0) { 1f } else { %x * @power(%x, %n - 1) }
 *   }
 *   @power(%y, 3)   ==>   %y * (%y * (%y * 1f))
 *
 * The body takes the place of the call, as with Inline, and constants are
 * folded in it, which decides its branches (FoldConstant).  That goes on with
 * the calls that are left, for `unroll` rounds at most.  Where calls are left
 * after these, or the whole has become larger than as many bodies, the call
 * stays as it was: nothing is unrolled in part.  So each call costs at most
 * that many bodies, and the calls that the program makes, with all that they
 * do, are the same. */
#include "passes/rewrite.h"

enum { ROUNDS }; /* the pass's argument */
enum { BODY_MOST = 400 };

typedef struct Unroll {
  PtrMap recursive; /* Globals that reach themselves */
  PtrMap local;     /* Var -> the function that a `let` gives it */
  int64_t rounds;
  PassCall folding; /* FoldConstant, as this pass runs it */
} Unroll;

/* The recursive function that is called; NULL: it is another, or is not
 * known. */
static const Expr *target(const Unroll *u, const Expr *call) {
  const Expr *callee = call->call.callee;
  if (callee->kind == EX_VAR) return ptrmap_get(&u->local, callee->var);
  if (callee->kind != EX_GLOBAL) return NULL;
  const Global *g = callee->g.global;
  bool open = g->kind == GLOBAL_DEF && !g->library && !g->instance_of;
  return open && ptrmap_has(&u->recursive, g) ? g->value : NULL;
}

/* Is the expression a name for the function? */
static bool names(const Unroll *u, const Expr *e, const Expr *fn) {
  if (e->kind == EX_VAR) return ptrmap_get(&u->local, e->var) == fn;
  return e->kind == EX_GLOBAL && e->g.global->value == fn;
}

/* A number decides how often. */
static bool is_counted(const Expr *call) {
  for (int i = 0; i < call->count; i++)
    if (call->args[i]->kind == EX_CONST && call->args[i]->constant->rank == 0)
      return true;
  return false;
}

static bool can_unroll(const Program *p, const Expr *call, const Expr *fn) {
  return is_counted(call) && expr_is_small(p, fn->fn->body, BODY_MOST) &&
         call_is_plain(p, call, fn);
}

/* One round: the calls of the function in the expression become its body.
 * *left: how many there were; NULL: one of its names does not stand in a call
 * that can be unrolled, or memory ran out. */
static const Expr *round_of(Unroll *u, Program *p, Arena *arena, const Expr *e,
                            const Expr *fn, int *left) {
  ExprMap m;
  bool fits = true;
  *left = 0;
  expr_map_start(&m, p->mem, arena, e);
  while (fits && expr_map_next(&m)) {
    if (m.walk.event != WALK_LEAVE) continue;
    if (m.walk.role != ROLE_CALLEE && names(u, m.walk.at, fn)) fits = false;
    if (m.made->kind != EX_CALL || !names(u, m.made->call.callee, fn)) continue;
    const Expr *made = NULL;
    fits &= can_unroll(p, m.made, fn) &&
            (made = call_inlined(p, arena, m.made, fn));
    if (made) expr_map_put(&m, made);
    ++*left;
  }
  const Expr *made = expr_map_end(&m);
  if (!fits || !made) return NULL;
  PassCall *own = p->passing;
  p->passing = &u->folding;
  made = expr_fold(p, arena, made);
  p->passing = own;
  return made;
}

/* A block that is the value of another becomes part of it. */
static const Expr *flat(Program *p, Arena *arena, const Expr *e) {
  ExprMap m;
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m)) {
    if (m.walk.event != WALK_LEAVE || m.made->kind != EX_BLOCK) continue;
    const Block *outer = m.made->block, *inner = outer->result->block;
    if (outer->result->kind != EX_BLOCK) continue;
    int n = outer->count + inner->count;
    Binding *all = ARENA_ARRAY(arena, Binding, (size_t)n + 1);
    if (!all) break;
    for (int i = 0; i < n; i++)
      all[i] = i < outer->count ? outer->bindings[i]
                                : inner->bindings[i - outer->count];
    expr_map_put_block(&m, n, all, inner->result);
  }
  return expr_map_end(&m);
}

static const Expr *unrolled(Unroll *u, Program *p, Arena *arena,
                            const Expr *call, const Expr *fn) {
  int64_t most = (expr_size(p, fn->fn->body) + 1) * u->rounds;
  const Expr *made = call;
  int left = 1;
  for (int64_t i = 0; made && left && i <= u->rounds; i++) {
    made = round_of(u, p, arena, made, fn, &left);
    if (made && expr_size(p, made) > most) made = NULL;
  }
  return left || !made ? NULL : flat(p, arena, made);
}

/* A `let` of a function joined to no other that names itself. */
static void note_local(Unroll *u, const Program *p, const ExprWalk *w) {
  const Binding *b = w->binding;
  if (!b || b->kind != BIND_LET || !b->value || b->value->kind != EX_FN) return;
  const Block *block = w->at->block;
  if (block_group(block, (int)(b - block->bindings)) == 1 &&
      expr_is_small(p, b->value, BODY_MOST) &&
      expr_mentions(p, b->value, b->var))
    ptrmap_put(&u->local, b->var, (void *)b->value);
}

static const Expr *unroll(void *data, Program *p, Arena *arena, const Expr *e) {
  Unroll *u = data;
  ExprMap m;
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m)) {
    if (m.walk.event == WALK_BIND) note_local(u, p, &m.walk);
    if (m.walk.event != WALK_LEAVE || m.made->kind != EX_CALL) continue;
    const Expr *fn = target(u, m.made);
    if (!fn || fn == e || !can_unroll(p, m.made, fn)) continue;
    const Expr *made = unrolled(u, p, arena, m.made, fn);
    if (made && pass_may_replace(p, NULL, m.made, made)) expr_map_put(&m, made);
  }
  return expr_map_end(&m);
}

Pass pass_unroll;

Unit *pass_unroll(Program *p, Unit *unit) {
  Unroll u = {.rounds = pass_arg(p, ROUNDS),
              .folding = pass_call_of(pass_find("FoldConstant"))};
  ptrmap_init(&u.recursive, p->mem);
  ptrmap_init(&u.local, p->mem);
  unit = unit_with_lets(p, unit);
  if (unit) find_recursive(p, unit, &u.recursive);
  if (unit) unit = unit_rewrite_with(p, unit, unroll, &u);
  ptrmap_done(&u.recursive);
  ptrmap_done(&u.local);
  return unit;
}
