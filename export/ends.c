/* The ends of a recursive function's body, where work may be left after a call
 * of itself.  The body is a tree of choices; an end of it that calls the
 * function has one call, at its end or within it:
 *
 *   if (%n == 0) { 1 } else { %n * @f(%n - 1) }      a value, a call
 *   { let %r = @f(%t); if (%c) { Cons(%h, %r) } else { %r } }     a call
 *
 * The second is one end, since its `let` makes the call before the `if`.  An
 * end may not have two calls, nor one that stands in a branch or in a function
 * within it.
 *
 * One walk leaves a note at each node with a call in it, and at each choice. */
#include "export/exporter.h"
#include "ir/walk.h"

enum {
  NOTE_ONE = 1,    /* the node has a call of the function in it */
  NOTE_TWO = 2,    /* it has a second one */
  NOTE_HIDDEN = 4, /* one stands in a branch within an end, or in a function */
  NOTE_WITHIN = 8, /* a choice with a call outside its branches: it is an end */
  NOTE_VALUE = 16, /* a choice: one of its ends is a value */
  NOTE_CALL = 32,  /* a choice: one of its ends is a call */
  NOTE_CALLS = NOTE_ONE | NOTE_TWO | NOTE_HIDDEN,
};

static unsigned note_of(const PtrMap *notes, const Expr *e) {
  return (unsigned)(uintptr_t)ptrmap_get(notes, e);
}

static void note(PtrMap *notes, const Expr *e, unsigned more) {
  unsigned now = note_of(notes, e);
  if (now & more & NOTE_ONE) more |= NOTE_TWO;
  if (now | more) ptrmap_put(notes, e, (void *)(uintptr_t)(now | more));
}

static bool is_branch(const ExprWalk *w) {
  return (w->parent->kind == EX_IF && w->index > 0) || w->role == ROLE_ARM ||
         w->role == ROLE_GUARD;
}

/* What a node among the choices is: an end, or a choice of ends. */
static unsigned ends_in(unsigned n, bool choice) {
  unsigned ends =
      choice && !(n & NOTE_WITHIN) ? n & (NOTE_VALUE | NOTE_CALL) : 0;
  return ends ? ends : n & NOTE_ONE ? NOTE_CALL : NOTE_VALUE;
}

bool ends_noted(Export *x, const Fn *fn, const Self *self, PtrMap *notes) {
  bool one_each = true, deep = false;
  int within = 0; /* nodes under way that are parts of ends, and functions */
  ExprWalk w;
  expr_walk_start(&w, x->mem, WALK_ENTER | WALK_LEAVE, fn->body);
  while (expr_walk_next(&w)) {
    const Expr *e = w.at;
    bool tail =
        e == fn->body || (expr_walk_is_tail(&w) && expr_has_tail(w.parent));
    bool part = !tail || e->kind == EX_FN;
    if (w.event == WALK_ENTER) {
      within += part;
      if (is_self_call(e, self)) note(notes, e, NOTE_ONE);
      continue;
    }
    within -= part;
    unsigned n = note_of(notes, e);
    if ((n & NOTE_ONE) && e->kind == EX_FN) n |= NOTE_HIDDEN;
    if (within || part) {
      if ((n & NOTE_ONE) && w.parent && is_branch(&w)) n |= NOTE_HIDDEN;
      if (w.parent) note(notes, w.parent, n & NOTE_CALLS);
      if (!within && (n & NOTE_ONE) && w.parent)
        note(notes, w.parent, NOTE_WITHIN);
      continue;
    }
    unsigned ends = ends_in(n, expr_has_tail(e));
    bool end = !expr_has_tail(e) || (n & NOTE_WITHIN);
    if (end && (n & (NOTE_TWO | NOTE_HIDDEN))) one_each = false;
    if (end && (n & NOTE_ONE) && !is_self_call(e, self)) deep = true;
    if (w.parent) note(notes, w.parent, ends | (n & NOTE_CALLS));
  }
  return expr_walk_end(&w) && one_each && deep;
}

unsigned ends_known(const PtrMap *notes, const Expr *e, bool *end) {
  unsigned n = note_of(notes, e), ends = ends_in(n, expr_has_tail(e));
  *end = !expr_has_tail(e) || (n & NOTE_WITHIN);
  return (ends & NOTE_VALUE ? ENDS_VALUE : 0u) |
         (ends & NOTE_CALL ? ENDS_CALL : 0u);
}

Val *resumed_value(Export *x, const Expr *call) {
  for (const Resumed *r = x->resumed; r; r = r->up)
    if (ptrmap_has(r->self->notes, call) && is_self_call(call, r->self))
      return r->result;
  return NULL;
}

/* --- The arguments of the call -------------------------------------------- */

/* The first argument of a circle's function is the number of the member. */
static Val *call_args(Export *x, const Expr *e, const Self *self) {
  int first = self->circle ? 1 : 0, count = first + e->count;
  Val **args = ARENA_ARRAY(x->arena, Val *, (size_t)count + 1);
  if (args && first)
    args[0] =
        val_number(x, DT_INT64, circle_member(self->circle, e->call.callee));
  for (int i = first; args && i < count; i++) {
    x->hint = NULL;
    args[i] = self->changed[i] ? eval(x, e->args[i - first])
                               : val_tuple(x, type_unit(x->p->types), 0, NULL);
    if (!args[i]) return NULL;
  }
  return args ? val_tuple(x, NULL, count, args) : NULL;
}

/* The variables are those of the blocks that the call stands in. */
Val *step_args(Export *x, const Expr *end, const Self *self) {
  Frame *frame = x->frame;
  Val *v = NULL;
  VEC(const Expr *) blocks;
  VEC_INIT(&blocks, x->mem);
  ExprWalk w;
  expr_walk_start(&w, x->mem, WALK_ENTER | WALK_LEAVE, end);
  while (expr_walk_next(&w)) {
    bool block = w.at->kind == EX_BLOCK;
    if (block && w.event == WALK_ENTER) VEC_PUSH(&blocks, w.at);
    if (block && w.event == WALK_LEAVE && blocks.len) blocks.len--;
    if (w.event != WALK_ENTER || !is_self_call(w.at, self)) continue;
    bool fine = true;
    for (size_t i = 0; fine && i < blocks.len; i++)
      fine = block_enter(x, blocks.data[i]->block);
    v = fine ? call_args(x, w.at, self) : NULL;
    break;
  }
  expr_walk_end(&w);
  VEC_DONE(&blocks);
  x->frame = frame;
  return v;
}
