/* LoopInvariant: what a recursion computes anew in each turn, though nothing in
 * it changes, is computed once before it.
 *
 *   def @f(%i, %w) {                      def @f(%i, %w) {
 *     if (%i == 0) { .. }                   let %v = transpose(%w);
 *     else {                                let %loop = fn (%i) {
 *       .. transpose(%w) ..        ==>        if (%i == 0) { .. } else {
 *       @f(%i - 1, %w)                          .. %v .. %loop(%i - 1)
 *     }                                       }
 *   }                                       };
 *                                           %loop(%i)
 *                                         }
 *
 * An expression is hoisted when all names in it are free in the loop or
 * parameters that each turn passes on as they are (loop.h), and
 *
 *   - it does nothing but give its value; then it may be evaluated although no
 *     turn would have come to it; or
 *   - it may only fail or diverge, and is what the first turn evaluates first
 *     in any case: it stands on no branch, and nothing before it does anything.
 *
 * The largest such expressions are hoisted, with the lets among them.  Scalars
 * computed from scalars are left, as keeping one is no cheaper.  Code motion as
 * in Aho, Lam, Sethi and Ullman, "Compilers" (2006), 9.5; a loop with its fixed
 * parameters left out is the static argument transformation (Santos, 1995).
 *
 * Each expression is looked at once per loop around it. */
#include "ops/ops.h"
#include "passes/loop.h"
#include "types/types.h"

/* Where the walk was when it entered a node. */
typedef struct Entered {
  int64_t moving; /* uses of what the turns change, so far */
  int64_t open;   /* uses of names that are bound within the loop, so far, but
                     for those whose binders have been left */
  bool dirty;     /* something before it does more than give its value */
} Entered;

typedef struct Hoist {
  Loop *loop;
  PtrMap effects; /* Expr -> what evaluating it can do */
  PtrMap fixed;   /* Expr -> Hoist: what may be hoisted */
  PtrMap uses;    /* Var that is bound within the loop -> 1 + its uses */
  VEC(Entered) entered;
  Entered now;
  int branches; /* around the node at hand: what some turns pass over */
  Bindings before;
  bool found;
} Hoist;

/* --- What may be hoisted -------------------------------------------------- */

/* Is keeping its value better than computing it anew? */
static bool is_worth(const Expr *e) {
  switch (e->kind) {
    case EX_IF:
    case EX_MATCH:
    case EX_BLOCK:
    case EX_LIST: return true;
    case EX_CALL: break;
    default: return false;
  }
  if (e->call.callee->kind == EX_CTOR) return e->count > 0;
  if (!expr_operator(e) || !type_is_scalar(e->type)) return true;
  for (int i = 0; i < e->count; i++)
    if (!type_is_scalar(e->args[i]->type)) return true;
  return false;
}

/* A `let` that is to stand before the loop with its value.  An annotation that
 * the run compares with the value may fail. */
static const Binding *let_of(const ExprWalk *w) {
  const Binding *b = expr_walk_binding(w);
  bool plain = b && block_is_let(w->parent->block, b) &&
               b->value->kind != EX_FN && !b->var->lazy && !b->var->is_dim;
  return plain && !types_need_check(b->value->type, b->var->type) ? b : NULL;
}

static void use(Hoist *h, const Var *var) {
  intptr_t uses = (intptr_t)ptrmap_get(&h->uses, var);
  if (uses > 0) {
    ptrmap_put(&h->uses, var, (void *)(uses + 1));
    h->now.open++;
  } else if (var == h->loop->var || ptrmap_has(&h->loop->inside, var)) {
    h->now.moving += !ptrmap_has(&h->fixed, var);
  }
}

static void leave(Hoist *h, const ExprWalk *w) {
  Entered at = VEC_POP(&h->entered);
  const Expr *e = w->at;
  if (loop_passes_over(w)) h->branches--;
  uintptr_t found = (uintptr_t)ptrmap_get(&h->effects, e);
  Effects does = found ? (Effects)found & ~EFFECT_KNOWN : EFFECT_ALL;
  bool same = at.moving == h->now.moving && at.open == h->now.open;
  bool first = !(does & ~(EFFECT_FAIL | EFFECT_DIVERGE)) && !at.dirty &&
               !h->now.dirty && h->branches == 0 && is_worth(e);
  bool stays = w->role == ROLE_VALUE && !let_of(w); /* as its name does */
  bool may_move = (!does || first) && !expr_has_adjoint(h->loop->p, e);
  if (same && !stays && may_move) ptrmap_put(&h->fixed, e, h);
  else h->now.dirty |= does != 0;
}

static void bind(Hoist *h, const ExprWalk *w) {
  if (!w->var) return;
  const Binding *b = w->binding;
  if (b && b->value && ptrmap_has(&h->fixed, b->value))
    ptrmap_put(&h->fixed, w->var, h);
  else ptrmap_put(&h->uses, w->var, (void *)1);
}

static void unbind(Hoist *h, const ExprWalk *w) {
  intptr_t uses = (intptr_t)ptrmap_get(&h->uses, w->var);
  if (uses == 0) return;
  h->now.open -= uses - 1;
  ptrmap_remove(&h->uses, w->var);
}

static void find(Hoist *h) {
  const Loop *loop = h->loop;
  ExprWalk w;
  expr_effects_each(loop->p, loop->fn->body, &h->effects);
  expr_walk_start(&w, loop->p->mem,
                  WALK_ENTER | WALK_LEAVE | WALK_BIND | WALK_UNBIND,
                  loop->fn->body);
  while (expr_walk_next(&w)) switch (w.event) {
      case WALK_ENTER:
        VEC_PUSH(&h->entered, h->now);
        if (loop_passes_over(&w)) h->branches++;
        if (w.at->kind == EX_VAR) use(h, w.at->var);
        else if (loop_is_call(loop, w.at)) h->now.moving++;
        break;
      case WALK_LEAVE:
        leave(h, &w);
        /* Its name keeps a value in the loop that stays there. */
        if (w.role == ROLE_VALUE && !let_of(&w)) ptrmap_remove(&h->fixed, w.at);
        break;
      case WALK_BIND: bind(h, &w); break;
      case WALK_UNBIND: unbind(h, &w); break;
      default: break;
    }
  expr_walk_end(&w);
}

/* --- Hoisting ------------------------------------------------------------- */

static void hoist(Hoist *h, Binding let, const Expr *e) {
  VEC_PUSH(&h->before, let);
  h->found |= is_worth(e);
}

/* A name for an expression that is hoisted by itself. */
static const Expr *named(Hoist *h, const Expr *e) {
  Var *var = var_for(h->loop->p, h->loop->arena, e);
  if (!var) return e;
  hoist(h, binding_let(e->span, var, e), e);
  return expr_use(h->loop->arena, e->span, var);
}

/* The block without the lets that now stand before the loop. */
static void drop_lets(Hoist *h, ExprMap *m) {
  const Block *was = m->walk.at->block, *block = m->made->block;
  Arena *arena = h->loop->arena;
  Binding *kept = ARENA_ARRAY(arena, Binding, (size_t)was->count + 1);
  int n = 0;
  for (int i = 0; kept && i < was->count; i++)
    if (!was->bindings[i].value ||
        !ptrmap_has(&h->fixed, was->bindings[i].value) ||
        was->bindings[i].kind != BIND_LET)
      kept[n++] = block->bindings[i];
  if (kept && n < was->count) expr_map_put_block(m, n, kept, block->result);
}

static const Expr *hoisted(Hoist *h, const Around *around) {
  Loop *loop = h->loop;
  ExprMap m;
  expr_map_start(&m, loop->p->mem, loop->arena, loop->fn->body);
  while (expr_map_next(&m)) {
    const ExprWalk *w = &m.walk;
    if (w->event == WALK_ENTER && ptrmap_has(&h->fixed, w->at)) {
      if (w->role == ROLE_VALUE) {
        hoist(h, *let_of(w), w->at);
        expr_map_put(&m, w->at);
      } else if (is_worth(w->at)) {
        expr_map_put(&m, named(h, w->at));
      }
    } else if (w->event == WALK_LEAVE && loop_is_call(loop, m.made)) {
      const Expr *next = around_next(around, m.made, NULL);
      if (next) expr_map_put(&m, next);
    } else if (w->event == WALK_LEAVE && m.made->kind == EX_BLOCK) {
      drop_lets(h, &m);
    }
  }
  return expr_map_end(&m);
}

static const Expr *without_invariants(Loop *loop) {
  Hoist h = {.loop = loop};
  Around around;
  Mem *mem = loop->p->mem;
  const Expr *made = NULL;
  ptrmap_init(&h.effects, mem);
  ptrmap_init(&h.fixed, mem);
  ptrmap_init(&h.uses, mem);
  VEC_INIT(&h.entered, mem);
  VEC_INIT(&h.before, mem);
  find(&h);
  if (around_start(&around, loop, 0, NULL)) {
    const Expr *body = hoisted(&h, &around);
    if (h.found && body && pass_may_rewrite(loop->p, loop->whole->span))
      made = around_end(&around, (int)h.before.len, h.before.data, body, NULL);
  }
  ptrmap_done(&h.effects);
  ptrmap_done(&h.fixed);
  ptrmap_done(&h.uses);
  VEC_DONE(&h.entered);
  VEC_DONE(&h.before);
  return made;
}

Rewrite pass_loop_invariant;

const Expr *pass_loop_invariant(Program *p, Arena *arena, const Expr *e) {
  return loops_rewrite(p, arena, e, without_invariants);
}
