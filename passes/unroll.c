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
  Inlining of;
  int64_t rounds;
  PassCall parts; /* counts the rewrites that a call's unrolling consists of */
} Unroll;

/* Is the expression a name for the function? */
static bool names(const Unroll *u, const Expr *e, const Expr *fn) {
  if (e->kind == EX_VAR) return ptrmap_get(&u->of.local, e->var) == fn;
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
  p->passing = &u->parts;
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

static const Expr *unroll(void *data, Program *p, Arena *arena, const Expr *e) {
  Unroll *u = data;
  ExprMap m;
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m)) {
    if (m.walk.event == WALK_BIND) inlining_bind(&u->of, p, &m.walk);
    if (m.walk.event != WALK_LEAVE || m.made->kind != EX_CALL) continue;
    const Expr *fn = inlining_target(&u->of, m.made);
    if (!fn || fn == e || !can_unroll(p, m.made, fn)) continue;
    const Expr *made = unrolled(u, p, arena, m.made, fn);
    if (made && pass_may_replace(p, NULL, m.made, made)) expr_map_put(&m, made);
  }
  return expr_map_end(&m);
}

Pass pass_unroll;

Unit *pass_unroll(Program *p, Unit *unit) {
  Unroll u = {.of = {.size = BODY_MOST, .loops = true},
              .rounds = pass_arg(p, ROUNDS),
              .parts = pass_call_of(p->passing->pass)};
  return inlining_rewrite(&u.of, p, unit, unroll, &u);
}
