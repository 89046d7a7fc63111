/* PartialEval: what is known of a value before the program runs is used where
 * the value is taken apart, and functions are specialised to it.
 *
 *   def @step(%s: (int32, int32), %n: int32) -> int32 {
 *     if (%n == 0) { %s.0 } else { %s.1 * %n }
 *   }
 *   @step((%a, %b), 3)   ==>   %b * 3
 *
 * Rounds of three steps, until nothing changes or `rounds` are over: bodies of
 * small functions take the places of their calls (Inline); a field of a tuple
 * and a match of a constructor whose parts are names or numbers become the
 * field and the arm; and constants are folded (FoldConstant).  Values that are
 * known and `let`s for all that is not: what does anything is evaluated once
 * and in its place, so no store has to be simulated, as TVM's pass does, which
 * loses what it knows of cells at each unknown call and copies code.  A
 * definition whose text would grow by more than GROWTH stays as it was before
 * that round. */
#include "passes/rewrite.h"

enum { ROUNDS }; /* the pass's argument */
enum { SIZE = 48, GROWTH = 16, GROWTH_LEAST = 400 };

typedef struct Partial {
  Inlining inlining;
  PtrMap values; /* Var -> the tuple or the constructor that a `let` gives it */
  PassCall steps; /* counts the rewrites of which a definition's consists */
  int64_t rounds;
} Partial;

/* --- Values that are taken apart ---------------------------------------- */

/* A tuple or a constructor's value whose parts are names and numbers. */
static bool is_structure(const Expr *e) {
  bool ctor = e->kind == EX_CALL && e->call.callee->kind == EX_CTOR &&
              e->sugar != SUGAR_WITH && !e->call.attr_count;
  if (!ctor && e->kind != EX_TUPLE) return false;
  for (int i = 0; i < e->count; i++)
    if (!expr_is_simple(e->args[i])) return false;
  return true;
}

static const Expr *structure(const Partial *s, const Expr *e) {
  if (e->kind == EX_VAR) return ptrmap_get(&s->values, e->var);
  return is_structure(e) ? e : NULL;
}

static const Expr *field(const Partial *s, const Expr *e) {
  const Expr *tuple = structure(s, e->args[0]);
  if (!tuple || tuple->kind != EX_TUPLE || e->index < 0 ||
      e->index >= tuple->count)
    return NULL;
  const Expr *part = tuple->args[e->index];
  return part->type == e->type ? part : NULL;
}

/* Does the arm take the value?  UNTOLD: what its pattern holds would have to be
 * looked into. */
typedef enum Taken { TAKES, PASSES, UNTOLD } Taken;

static Taken takes(const Pattern *p, const Expr *value) {
  switch (p->kind) {
    case PT_WILD: return TAKES;
    case PT_CTOR:
      if (value->kind != EX_CALL) return UNTOLD;
      if (p->ctor != value->call.callee->ctor) return PASSES;
      break;
    case PT_TUPLE:
      if (value->kind != EX_TUPLE) return UNTOLD;
      break;
    default: return UNTOLD;
  }
  if (p->count != value->count) return UNTOLD;
  for (int i = 0; i < p->count; i++) {
    const Pattern *part = p->fields[i];
    bool plain =
        part->kind == PT_WILD ||
        (part->kind == PT_VAR && part->var->type == value->args[i]->type);
    if (!plain) return UNTOLD;
  }
  return TAKES;
}

/* The body with a `let` for each variable of the pattern. */
static const Expr *with_parts(Program *p, Arena *arena, const Pattern *pattern,
                              const Expr *value, const Expr *body) {
  Bindings lets;
  VEC_INIT(&lets, p->mem);
  for (int i = 0; i < pattern->count; i++) {
    const Pattern *part = pattern->fields[i];
    if (part->kind != PT_VAR) continue;
    VEC_PUSH(&lets, binding_let(part->span, part->var, value->args[i]));
  }
  body = expr_after(arena, body->span, lets.len, lets.data, body);
  VEC_DONE(&lets);
  return body;
}

/* The arm that is taken; NULL: that cannot be told. */
static const Expr *arm(const Partial *s, Program *p, Arena *arena,
                       const Expr *e) {
  const Expr *value = structure(s, e->args[0]);
  const Match *match = e->match;
  for (int i = 0; value && i < match->arm_count; i++) {
    const Arm *a = &match->arms[i];
    bool shared = a->shares || (i + 1 < match->arm_count && a[1].shares);
    Taken taken = takes(a->pattern, value);
    if (taken == UNTOLD || (taken == TAKES && (a->guard || shared)))
      return NULL;
    if (taken == TAKES)
      return a->body->type == e->type
                 ? with_parts(p, arena, a->pattern, value, a->body)
                 : NULL;
  }
  return NULL;
}

static const Expr *take_apart(Partial *s, Program *p, Arena *arena,
                              const Expr *e) {
  ExprMap m;
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m)) {
    const Binding *b = m.walk.event == WALK_BIND ? m.walk.binding : NULL;
    if (b && b->kind == BIND_LET && b->value && !b->var->lazy &&
        b->value->type == b->var->type && is_structure(b->value))
      ptrmap_put(&s->values, b->var, (void *)b->value);
    if (m.walk.event != WALK_LEAVE) continue;
    const Expr *made = m.made->kind == EX_PROJ    ? field(s, m.made)
                       : m.made->kind == EX_MATCH ? arm(s, p, arena, m.made)
                                                  : NULL;
    if (made) expr_map_put(&m, made);
  }
  return expr_map_end(&m);
}

/* --- Rounds ------------------------------------------------------------- */

static const Expr *one_round(Partial *s, Program *p, Arena *arena,
                             const Expr *e) {
  e = expr_inline(&s->inlining, p, arena, e);
  if (e) e = take_apart(s, p, arena, e);
  return e ? expr_fold(p, arena, e) : NULL;
}

static const Expr *evaluated(void *data, Program *p, Arena *arena,
                             const Expr *e) {
  Partial *s = data;
  int64_t most = expr_size(p, e) * GROWTH + GROWTH_LEAST;
  PassCall *own = p->passing;
  p->passing = &s->steps;
  for (int64_t i = 0; i < s->rounds; i++) {
    const Expr *made = one_round(s, p, arena, e);
    if (!made || made == e || expr_size(p, made) > most) break;
    e = made;
  }
  p->passing = own;
  return e;
}

Pass pass_partial_eval;

Unit *pass_partial_eval(Program *p, Unit *unit) {
  Partial s = {.inlining = {.size = SIZE},
               .steps = pass_call_of(p->passing->pass),
               .rounds = pass_arg(p, ROUNDS)};
  ptrmap_init(&s.values, p->mem);
  unit = inlining_rewrite(&s.inlining, p, unit, evaluated, &s);
  ptrmap_done(&s.values);
  return unit;
}
