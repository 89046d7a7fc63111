/* Recursion.  A function whose calls of itself are tail calls is a Loop:
 *
 *   def @f(%p) { if (MORE) { @f(STEP) } else { VALUE } }
 *
 *   p = the arguments; more = MORE(p)
 *   Loop(more, p) { p = STEP(p); more = MORE(p) }
 *   VALUE(p)
 *
 * where MORE, STEP and VALUE are what `ask` makes of the body.  Only parameters
 * that a step changes are carried.  Recursion over data that is known, such as
 * the list of a network's layers, is written out call by call instead.
 *
 * Where work is left after the one call that an end makes (ends.c), there are
 * two Loops, the second of which takes up what the first one met:
 *
 *   def @f(%p) { if (MORE) { RESUME(%p, @f(STEP)) } else { VALUE } }
 *
 *   Loop(more, p, met) { met = met and p; p = STEP(p); more = MORE(p) }
 *   r = VALUE(p)
 *   Loop(length of met, r) { r = RESUME(the last p not yet taken, r) }
 *
 * A sequence holds what a tensor was at each turn.  A list may only lose its
 * first element at a turn: then the sequence holds those elements, and the
 * second Loop puts one after the other before the list again. */
#include "export/loop.h"

#include "ir/walk.h"

enum { UNROLLED_MOST = 10000 };

bool fn_mentions(Export *x, const Fn *fn, const Self *self) {
  if (!self->var && !self->global) return false;
  bool found = false;
  ExprWalk w;
  expr_walk_start(&w, x->mem, WALK_ENTER, fn->body);
  while (!found && expr_walk_next(&w)) {
    const Expr *e = w.at;
    found =
        (e->kind == EX_VAR && e->var == self->var && self->var) ||
        (e->kind == EX_GLOBAL && e->g.global == self->global && self->global);
  }
  expr_walk_end(&w);
  return found;
}

/* Which parameters does some call of itself give another value? */
static bool *changed_params(Export *x, const Fn *fn, const Self *self) {
  bool *changed = ARENA_ARRAY(x->arena, bool, (size_t)fn->param_count + 1);
  ExprWalk w;
  expr_walk_start(&w, x->mem, WALK_ENTER, fn->body);
  while (changed && expr_walk_next(&w)) {
    if (!is_self_call(w.at, self)) continue;
    for (int i = 0; i < w.at->count; i++) {
      const Expr *arg = w.at->args[i];
      if (arg->kind != EX_VAR || arg->var != fn->params[i]) changed[i] = true;
    }
  }
  expr_walk_end(&w);
  return changed;
}

/* A frame of the same call with other arguments. */
Frame *frame_with(Export *x, const Frame *call, const Fn *fn,
                  Val *const *args) {
  Frame *f = frame_new(x, call->outer);
  f->fn = call->fn;
  f->type_count = call->type_count;
  f->type_vars = call->type_vars;
  f->types = call->types;
  for (int i = 0; i < fn->param_count; i++)
    frame_bind(x, f, fn->params[i], args[i]);
  return f;
}

Val **frame_args(Export *x, const Frame *f, const Fn *fn) {
  Val **args = ARENA_ARRAY(x->arena, Val *, (size_t)fn->param_count + 1);
  for (int i = 0; args && i < fn->param_count; i++) {
    const Bound *b = ptrmap_get(&f->vars, fn->params[i]);
    if (!b) return NULL; /* memory ran out */
    args[i] = b->val;
  }
  return args;
}

Val *ask_in(Export *x, Frame *f, const Fn *fn, Ask what, const Self *self) {
  if (self->circle) {
    Val *const *args = frame_args(x, f, fn);
    return args ? ask_circle(x, self->circle, args[0], args + 1, f->outer, what,
                             self)
                : NULL;
  }
  Frame *outer = x->frame;
  x->frame = frame_new(x, f);
  Val *v = ask(x, fn->body, what, self);
  x->frame = outer;
  return v;
}

/* --- A Loop --------------------------------------------------------------- */

/* The tensors and sequences of the arguments that change. */
static bool carried(const Loop *l, Val *const *args, Vals *out) {
  for (int i = 0; i < l->fn->param_count; i++)
    if (l->self->changed[i] && !val_flatten(l->x, args[i], out, l->at->span))
      return false;
  return !mem_exhausted(l->x->mem);
}

/* The arguments with others in the places of those. */
Val **with_carried(const Loop *l, Val *const *values) {
  size_t size = (size_t)l->fn->param_count * sizeof *l->args;
  Val **args = arena_copy(l->x->arena, l->args, size);
  for (int i = 0; args && i < l->fn->param_count; i++)
    if (l->self->changed[i]) args[i] = val_rebuild(l->x, args[i], &values);
  return args;
}

/* The slots of a parameter of that type, laid out as `carried` lays out the
 * values. */
void carried_slots(const Loop *l, const Val *v, Slot of, const Vals *values,
                   size_t *next, Slot *out) {
  const Type *t = of.type;
  bool parts = !val_is_slot(l->x, v);
  if (!parts) {
    const Type *first = values->data[*next]->type;
    bool tensor = t && t->kind == TY_TENSOR && first->kind == TY_TENSOR;
    out[(*next)++] = (Slot){tensor ? t : first, of.name, NULL};
    return;
  }
  for (int i = 0; i < v->count; i++) {
    bool tuple = t && t->kind == TY_TUPLE && i < t->count;
    Slot part = {tuple ? t->args[i] : NULL, of.name, NULL};
    carried_slots(l, v->items[i], part, values, next, out);
  }
}

static Slot *slots_of(const Loop *l, const Vals *values) {
  Export *x = l->x;
  Slot *slots = ARENA_ARRAY(x->arena, Slot, values->len + 1);
  Frame *outer = x->frame;
  x->frame = l->call;
  size_t next = 0;
  for (int i = 0; slots && i < l->fn->param_count; i++) {
    const Var *param = l->fn->params[i];
    Slot of = {param->type ? type_here(x, param->type) : NULL,
               param->name->text, NULL};
    if (l->self->changed[i])
      carried_slots(l, l->args[i], of, values, &next, slots);
  }
  x->frame = outer;
  return mem_exhausted(x->mem) ? NULL : slots;
}

/* An input of a loop's body. */
Val *body_input(Export *x, OnnxGraph *body, const char *name,
                const Type *type) {
  Val *v = val_tensor(x, type, onnx_name(x->w, name));
  OnnxValueType port = value_type(x, type);
  onnx_graph_input(x->w, body, v->name, &port);
  return v;
}

Val **body_inputs(Export *x, OnnxGraph *body, size_t count, const Slot *slots) {
  Val **now = ARENA_ARRAY(x->arena, Val *, count + 1);
  for (size_t i = 0; now && i < count; i++)
    now[i] = body_input(x, body, slots[i].name, slots[i].type);
  return now;
}

bool body_outputs(Export *x, OnnxGraph *body, const Vals *next,
                  const Slot *slots) {
  bool fine = true;
  for (size_t i = 0; fine && i < next->len; i++) {
    OnnxValueType port = value_type(x, slots[i].type);
    fine = graph_gives(x, body, next->data[i], &port);
  }
  return fine;
}

/* --- A turn --------------------------------------------------------------- */

/* From the values that the graph takes to those that it gives. */
static bool turn(const Loop *l, OnnxGraph *body, const Vals *values,
                 const Slot *slots) {
  Export *x = l->x;
  body_input(x, body, "turn", type_of_rank(x, DT_INT64, 0));
  body_input(x, body, "go", type_of_rank(x, DT_BOOL, 0));
  Val **now = body_inputs(x, body, values->len, slots);
  Val **met = ARENA_ARRAY(x->arena, Val *, values->len + 1);
  if (!now || !met) return false;
  for (size_t i = 0; l->met && i < values->len; i++)
    met[i] = met_input(x, body, &slots[i]);
  Frame *f = frame_with(x, l->call, l->fn, with_carried(l, now));
  Val *step = ask_in(x, f, l->fn, ASK_STEP, l->self);
  if (!step) return false;
  for (int i = 0; i < l->fn->param_count; i++)
    if (l->self->changed[i] &&
        !val_agree(x, l->args[i], step->items[i], l->at->span))
      return false;
  Vals next;
  VEC_INIT(&next, x->mem);
  bool fine = carried(l, step->items, &next) && next.len == values->len;
  Val *more = NULL;
  if (fine) {
    f = frame_with(x, l->call, l->fn, with_carried(l, next.data));
    more = ask_in(x, f, l->fn, ASK_MORE, l->self);
  }
  fine = more && graph_gives(x, body, more, NULL) &&
         body_outputs(x, body, &next, slots) &&
         (!l->met || meet(l, body, met, now, &next, slots));
  VEC_DONE(&next);
  return fine;
}

/* --- The node ------------------------------------------------------------- */

/* The slots of what the loop carries, with the types that hold at every turn.
 * Gives names to their first values, `values`, and begins the sequences of what
 * the turns meet, if the way back asks for them.  NULL after reporting. */
static Slot *prepare(Loop *l, Val *more, Vals *values) {
  Export *x = l->x;
  Slot *slots = carried(l, l->args, values) ? slots_of(l, values) : NULL;
  bool fine = slots && val_name(x, more, l->at->span);
  for (size_t i = 0; fine && i < values->len; i++)
    fine = val_name(x, values->data[i], l->at->span) != NULL;
  if (!fine || !l->self->notes) return fine ? slots : NULL;
  if (!may_be_met(l, values->len, slots)) return NULL;
  l->met = ARENA_ARRAY(x->arena, Val *, values->len + 1);
  for (size_t i = 0; l->met && i < values->len; i++)
    l->met[i] = met_none(x, &slots[i]);
  return l->met ? slots : NULL;
}

/* The node.  Its outputs go to `last`, those that are sequences to l->met. */
static void write_node(Loop *l, Val *more, const Vals *values,
                       const Slot *slots, OnnxGraph *body, Val **last) {
  Export *x = l->x;
  OnnxNode *n = node_new(x, "Loop");
  onnx_node_input(x->w, n, "");
  node_in(x, n, more, l->at->span);
  for (size_t i = 0; i < values->len; i++)
    node_in(x, n, values->data[i], l->at->span);
  for (size_t i = 0; l->met && i < values->len; i++)
    node_in(x, n, l->met[i], l->at->span);
  onnx_attr_graph(x->w, n, "body", body);
  for (size_t i = 0; i < values->len; i++) {
    x->hint = slots[i].name;
    last[i] = node_out(x, n, slots[i].type);
  }
  for (size_t i = 0; l->met && i < values->len; i++)
    l->met[i] = node_out(x, n, l->met[i]->type);
}

/* The Loop and what the function's end makes of the values that it leaves. */
static Val *loop_node(Loop *l, Val *more) {
  Export *x = l->x;
  const char *hint = x->hint;
  x->hint = NULL;
  Val *v = NULL;
  Vals values;
  VEC_INIT(&values, x->mem);
  Slot *slots = prepare(l, more, &values);
  Val **last = ARENA_ARRAY(x->arena, Val *, values.len + 1);
  OnnxGraph *outer = x->graph;
  OnnxGraph *body = slots ? graph_enter(x, "body", l->at->span) : NULL;
  bool fine = body && turn(l, body, &values, slots);
  if (body) graph_leave(x, outer);
  if (fine && last) {
    write_node(l, more, &values, slots, body, last);
    Frame *f = frame_with(x, l->call, l->fn, with_carried(l, last));
    x->hint = l->met ? NULL : hint;
    v = ask_in(x, f, l->fn, ASK_VALUE, l->self);
    x->hint = hint;
    if (v && l->met) v = loop_back(l, v, values.len, slots, last);
  }
  VEC_DONE(&values);
  return v;
}

/* --- A call --------------------------------------------------------------- */

/* Is a Loop of the function under way? */
static bool is_looping(const Export *x, const Fn *fn) {
  const Active *a = x->active;
  while (a && (a->fn != fn || a->graph)) a = a->up;
  return a != NULL;
}

/* The function is under way, and calls itself other than at its end.  That is
 * written out, too, as long as only what is known has chosen the way there. */
static bool may_call_again(Export *x, const Fn *fn, const Expr *at) {
  for (const Active *a = x->active; a; a = a->up) {
    if (a->fn != fn) continue;
    if (a->graph == x->graph) break;
    refuse(
        x, at->span,
        "how deep this recursion goes depends on the run: the call must be a "
        "tail call, or the only one in its branch, and in no further branch");
    return false;
  }
  if (x->unrolled++ < UNROLLED_MOST) return true;
  refuse(x, at->span, "more than %d recursive calls would be written out",
         UNROLLED_MOST);
  return false;
}

/* A Loop, or where only what is known has chosen, the calls themselves. */
Val *loop_once(Export *x, const Fn *fn, const Self *self, Frame *frame,
               const Expr *at) {
  Active active = {fn, x->graph, x->active};
  const char *hint = x->hint;
  Val *v = NULL;
  for (;;) {
    if (!may_call_again(x, fn, at)) break;
    x->active = &active;
    x->by_data = false;
    x->hint = NULL;
    Val *more = ask_in(x, frame, fn, ASK_MORE, self);
    x->hint = hint;
    if (!more) break;
    bool known = more->constant != NULL;
    if (known && !tensor_i64_at(more->constant, 0)) {
      v = ask_in(x, frame, fn, ASK_VALUE, self);
      break;
    }
    Val **args = frame_args(x, frame, fn);
    if (!args) break;
    if (!known || !x->by_data) {
      active.graph = NULL; /* within a Loop it may not call itself otherwise */
      v = loop_node(&(Loop){x, fn, self, frame, args, at, NULL}, more);
      break;
    }
    Val *step = ask_in(x, frame, fn, ASK_STEP, self);
    x->active = active.up;
    if (!step) break;
    for (int i = 0; i < fn->param_count; i++)
      if (self->changed[i]) args[i] = step->items[i];
    frame = frame_with(x, frame, fn, args);
  }
  x->active = active.up;
  return v;
}

/* The two loops, where the run knows how deep the recursion goes.  `*done`: it
 * does, or there was a mistake. */
static Val *there_and_back(Export *x, const Fn *fn, const Self *self,
                           Frame *frame, const Expr *at, bool *done) {
  const char *hint = x->hint;
  x->hint = NULL;
  Val *more = ask_in(x, frame, fn, ASK_MORE, self);
  x->hint = hint;
  *done = !more || !more->constant;
  Val **args = more && *done ? frame_args(x, frame, fn) : NULL;
  if (!args) return NULL;
  Active active = {fn, NULL, x->active};
  x->active = &active;
  Val *v = loop_node(&(Loop){x, fn, self, frame, args, at, NULL}, more);
  x->active = active.up;
  return v;
}

Val *loop_call(Export *x, const Fn *fn, const Self *of, Frame *frame,
               const Expr *at) {
  Self self = *of;
  self.changed = changed_params(x, fn, of);
  if (!self.changed) return NULL;
  PtrMap notes;
  ptrmap_init(&notes, x->mem);
  Val *v = NULL;
  bool done = false;
  if (!is_looping(x, fn) && ends_noted(x, fn, &self, &notes)) {
    self.notes = &notes;
    v = there_and_back(x, fn, &self, frame, at, &done);
    self.notes = NULL;
  }
  ptrmap_done(&notes);
  return done ? v : loop_once(x, fn, &self, frame, at);
}
