/* The report of recursive calls; see tail.h.
 *
 * A call in tail position takes over the frame of its function, so a recursion
 * by such calls alone runs in constant stack.  So does one whose result is the
 * last field of a constructor in tail position (bytecode/lower/call.c, "tail
 * recursion modulo cons"), where a function calls itself.
 *
 * The walk keeps the nodes around the one at hand.  Each knows the nearest node
 * around it that does something after its value is there; from a node in tail
 * position there is none up to the body of its function. */
#include "passes/tail.h"

#include "ops/ops.h"
#include "passes/rewrite.h"
#include "types/types.h"

enum { NOTHING = -1 };

typedef struct Around {
  const Expr *at, *parent;
  WalkRole role;
  int index;
  int waits; /* the nearest that does not hand on its value; NOTHING: none */
  int fn;    /* the function that it stands in; NOTHING: none */
} Around;

typedef struct Tail {
  Program *p;
  Arena *arena;
  TailCalls *out;
  PtrMap ring; /* Global -> one of those that reach each other */
  PtrMap open; /* Var -> the first binding of its group, within that */
  VEC(Around) around;
  const Global *home;
  const char *caller;
} Tail;

static const char *global_text(const Tail *t, const Global *g) {
  g = global_of_text(g);
  return arena_printf(t->arena, "%s%s", global_sigil(g), g->name->text);
}

/* The first binding of a group that `and` joins. */
static const Binding *group_of(const Block *block, int i) {
  while (block->bindings[i].kind == BIND_AND) i--;
  return &block->bindings[i];
}

/* The name of a function that is called from within it, or from within its
 * ring; NULL: the call is none such. */
static const char *called_again(const Tail *t, const Expr *callee) {
  if (callee->kind == EX_VAR)
    return ptrmap_get(&t->open, callee->var)
               ? arena_printf(t->arena, "%%%s", callee->var->name->text)
               : NULL;
  if (callee->kind != EX_GLOBAL || !t->home) return NULL;
  const Global *g = callee->g.global, *ring = ptrmap_get(&t->ring, t->home);
  bool again = ring && ptrmap_get(&t->ring, g) == ring;
  return again ? global_text(t, g) : NULL;
}

static Around *waits_of(const Tail *t, const Around *a) {
  return a->waits == NOTHING ? NULL : &t->around.data[a->waits];
}

/* Is it the last field to be evaluated of a constructor that is a result? */
static bool is_last_field(const Tail *t, const Around *a) {
  const Expr *built = a->parent;
  if (a->role != ROLE_ARG || built->kind != EX_CALL ||
      built->call.callee->kind != EX_CTOR ||
      a->at->type != built->args[a->index]->type)
    return false;
  for (int i = a->index + 1; i < built->count; i++)
    if (built->args[i]->kind != EX_CONST && built->args[i]->kind != EX_VAR)
      return false;
  return t->around.len > 1 &&
         t->around.data[t->around.len - 2].waits == NOTHING;
}

/* What the node around does with the value, for a sentence "... waits". */
static const char *what_waits(const Tail *t, const Around *a) {
  const Expr *e = a->parent;
  const OpInfo *op = expr_operator(e);
  switch (a->role) {
    case ROLE_VALUE: {
      const Binding *b = &e->block->bindings[a->index];
      if (b->kind == BIND_ITEM || !b->var->name)
        return "what follows in the block";
      return arena_printf(t->arena, "what follows `let %%%s`",
                          b->var->name->text);
    }
    case ROLE_GUARD: return "the guard of an arm";
    case ROLE_CALLEE: return "a call of what it gives";
    case ROLE_ATTR:
      return arena_printf(t->arena, "an attribute of `%s`",
                          op ? op->name : "the call");
    default: break;
  }
  switch (e->kind) {
    case EX_IF: return "the condition of an `if`";
    case EX_MATCH: return "a `match` of its value";
    case EX_TUPLE: return "a tuple";
    case EX_LIST: return "a list";
    case EX_PROJ: return "a projection";
    case EX_REF: return "`ref`";
    case EX_READ: return "`ref_read`";
    case EX_WRITE: return "`ref_write`";
    case EX_CALL: break;
    default: return "the expression around it";
  }
  const Expr *callee = e->call.callee;
  const char *name =
      op                          ? op->name
      : callee->kind == EX_CTOR   ? callee->ctor->name->text
      : callee->kind == EX_GLOBAL ? global_text(t, callee->g.global)
      : callee->kind == EX_VAR
          ? arena_printf(t->arena, "%%%s", callee->var->name->text)
          : NULL;
  return name ? arena_printf(t->arena, "`%s`", name) : "another call";
}

static void look_at_call(Tail *t, const Expr *call) {
  const Expr *callee = call->call.callee;
  const Around *a = &VEC_LAST(&t->around), *waits = waits_of(t, a);
  const Around *own = a->fn == NOTHING ? NULL : &t->around.data[a->fn];
  TailCall made = {.at = call->span, .caller = t->caller};
  if (!(made.callee = called_again(t, callee))) return;
  bool root = !own || own->role == ROLE_ROOT;
  bool named = callee->kind == EX_GLOBAL && root;
  if (!root && own->role == ROLE_VALUE) {
    const Block *block = own->parent->block;
    const Var *var = block->bindings[own->index].var;
    if (var) made.caller = arena_printf(t->arena, "%%%s", var->name->text);
    named = callee->kind == EX_VAR &&
            ptrmap_get(&t->open, callee->var) == group_of(block, own->index);
  }
  const Type *type = callee->type;
  if (named && callee->kind == EX_GLOBAL && callee->g.global == t->home &&
      waits == a && is_last_field(t, a)) {
    made.kind = TAIL_CONS;
  } else if (waits) {
    made.kind = TAIL_BEFORE;
    made.between = what_waits(t, waits);
    made.waits = waits->parent->span;
  } else if (type->kind == TY_FN &&
             types_need_check(type->result, call->type)) {
    made.kind = TAIL_BEFORE;
    made.between = "a check of the dimensions of its result";
    made.waits = call->span;
  } else {
    made.kind = named ? TAIL_END : TAIL_INNER;
  }
  VEC_PUSH(t->out, made);
}

static void enter(Tail *t, const ExprWalk *w) {
  int at = (int)t->around.len;
  const Around *up = at ? &VEC_LAST(&t->around) : NULL;
  Around a = {w->at, w->parent, w->role, w->index, at, NOTHING};
  if (up) a.fn = up->at->kind == EX_FN ? at - 1 : up->fn;
  if (w->role == ROLE_BODY || !up) a.waits = NOTHING;
  else if (expr_walk_is_tail(w)) a.waits = up->waits;
  VEC_PUSH(&t->around, a);
  if (w->at->kind == EX_CALL) look_at_call(t, w->at);
}

/* The functions of a group know each other until the last of them has been
 * looked at. */
static void leave(Tail *t, const ExprWalk *w) {
  t->around.len--;
  if (w->role != ROLE_VALUE) return;
  const Block *block = w->parent->block;
  bool last = w->index + 1 == block->count ||
              block->bindings[w->index + 1].kind != BIND_AND;
  for (int i = w->index; last && i >= 0; i--) {
    const Binding *b = &block->bindings[i];
    if (b->var) ptrmap_put(&t->open, b->var, NULL);
    if (b->kind != BIND_AND) break;
  }
}

static void look_at(Tail *t, const Expr *e) {
  ExprWalk w;
  VEC_CLEAR(&t->around);
  expr_walk_start(&w, t->p->mem, WALK_ENTER | WALK_LEAVE | WALK_BIND, e);
  while (expr_walk_next(&w)) {
    if (w.event == WALK_ENTER) enter(t, &w);
    if (w.event == WALK_LEAVE) leave(t, &w);
    if (w.event == WALK_BIND && w.binding && w.var && w.binding->value &&
        w.binding->value->kind == EX_FN)
      ptrmap_put(&t->open, w.var,
                 (void *)group_of(w.at->block,
                                  (int)(w.binding - w.at->block->bindings)));
  }
  expr_walk_end(&w);
}

static void look_at_global(Tail *t, const Global *g) {
  if (!g || !g->value) return;
  t->home = g;
  t->caller = global_text(t, g);
  look_at(t, g->value);
}

/* All instances of a function have the same calls. */
static void look_at_unit(void *data, Unit *unit) {
  Tail *t = data;
  for (int i = 0; i < unit->item_count; i++) {
    const Global *g = item_global(t->p, &unit->items[i]);
    if (g) look_at_global(t, g->scheme ? g->instances : g);
  }
  t->home = NULL;
  t->caller = "";
  for (int i = 0; i < unit->step_count; i++)
    if (unit->steps[i].kind == STEP_EXPR) look_at(t, unit->steps[i].expr);
}

bool tail_calls(Program *p, Unit *unit, Arena *arena, TailCalls *out) {
  Tail t = {.p = p, .arena = arena, .out = out};
  ptrmap_init(&t.ring, p->mem);
  ptrmap_init(&t.open, p->mem);
  VEC_INIT(&t.around, p->mem);
  find_recursive(p, unit, &t.ring);
  unit_each(p, unit, look_at_unit, &t);
  ptrmap_done(&t.ring);
  ptrmap_done(&t.open);
  VEC_DONE(&t.around);
  return !mem_exhausted(p->mem);
}
