/* What the state and the names are at each place of a definition that
 * functional_map.c maps.
 *
 * A name is bound once in a definition, for blocks are flattened: a second
 * binder gets another name.  The state is a whole (a parameter, or what a call
 * gave) and, for each cell that has been written since, an expression of its
 * content.  Both are of a frame: a body, a branch or an arm, in which bindings
 * are collected in the order of evaluation. */
#include "passes/functional_thread.h"

/* --- A definition --------------------------------------------------------- */

void thread_init(Thread *t, Functional *f) {
  Mem *mem = f->p->mem;
  *t = (Thread){.f = f};
  VEC_INIT(&t->frames, mem);
  VEC_INIT(&t->nodes, mem);
  VEC_INIT(&t->hidden, mem);
  PtrMap *const maps[] = {&t->locals,   &t->binders, &t->taken,
                          &t->suffixes, &t->renamed, &t->states};
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
    ptrmap_init(maps[i], mem);
}

void thread_done(Thread *t) {
  for (size_t i = 0; i < t->frames.len; i++)
    VEC_DONE(&t->frames.data[i].bindings);
  VEC_DONE(&t->frames);
  VEC_DONE(&t->nodes);
  VEC_DONE(&t->hidden);
  PtrMap *const maps[] = {&t->locals,   &t->binders, &t->taken,
                          &t->suffixes, &t->renamed, &t->states};
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) ptrmap_done(maps[i]);
}

/* --- Names ---------------------------------------------------------------- */

/* The last suffix of each name is remembered, so that a name that is bound a
 * thousand times is not tried a thousand times at each. */
static const Name *fresh(Thread *t, const Name *name) {
  Program *p = t->f->p;
  const Name *made = name;
  intptr_t suffix = (intptr_t)ptrmap_get(&t->suffixes, name);
  while (ptrmap_has(&t->taken, made) && !mem_exhausted(p->mem))
    made = name_of(p->names, arena_printf(t->f->arena, "%s_%d", name->text,
                                          (int)++suffix));
  ptrmap_put(&t->suffixes, name, (void *)suffix);
  ptrmap_put(&t->taken, made, (void *)made);
  return made;
}

Var *thread_own_var(Thread *t, const Name *like, Span span,
                    const TypeExpr *annotation) {
  return var_new(t->f->arena, fresh(t, like), span, annotation);
}

Var *thread_var(Thread *t, const char *like, Span span) {
  return thread_own_var(t, name_of(t->f->p->names, like), span, NULL);
}

void thread_enter(Thread *t, const Name *name, const Name *now,
                  const Expr *binder) {
  VEC_PUSH(&t->hidden, (Hidden){name, ptrmap_get(&t->locals, name),
                                ptrmap_get(&t->binders, name)});
  ptrmap_put(&t->locals, name, (void *)now);
  ptrmap_put(&t->binders, name, (void *)binder);
}

const Fun *thread_fun(const Thread *t, const Expr *value) {
  return value ? ptrmap_get(&t->f->fun_of, value) : NULL;
}

unsigned thread_touch(const Thread *t, const Expr *value) {
  const Fun *fun = thread_fun(t, value);
  return fun ? fun->touch : 0;
}

/* What the variable of that `fn` is given: functions of the state are of
 * another type than is written, and a part of the state is left to the state.
 */
static const TypeExpr *given_type(Thread *t, const Expr *fn, const Var *var) {
  Functional *f = t->f;
  const Fun *fun = fn->kind == EX_FN ? thread_fun(t, fn) : NULL;
  if (!fun || (!fun->takes && !fun->parts)) return var->annotation;
  int i = 0;
  while (i < fn->fn->param_count && fn->fn->params[i] != var) i++;
  if (i == fn->fn->param_count) return var->annotation;
  if (fun->takes && fun->params[i]->touch)
    return functional_type(f, var->annotation);
  if (!fun->parts || !fun->parts[i]) return var->annotation;
  TypeExpr *unit = ARENA_NEW(f->arena, TypeExpr);
  *unit = (TypeExpr){.kind = TX_TUPLE, .span = var->span, .height = 1};
  return unit;
}

bool thread_retypes(const Thread *t, const Expr *value) {
  return value && (thread_touch(t, value) || ptrmap_has(&t->f->name, value));
}

Var *thread_renamed(Thread *t, const Var *v, const Expr *value, bool again) {
  Var *made = ptrmap_get(&t->renamed, v);
  if (made) return made;
  made = arena_copy(t->f->arena, v, sizeof *v);
  const Name *now = again ? ptrmap_get(&t->locals, v->name) : NULL;
  made->name = now ? now : fresh(t, v->name);
  if (thread_retypes(t, value)) made->annotation = NULL;
  ptrmap_put(&t->renamed, v, made);
  return made;
}

/* A match has one arm under way: a name that it binds already is of another
 * alternative of the arm's pattern. */
void thread_bind(Thread *t, ExprMap *m) {
  const ExprWalk *w = &m->walk;
  if (!w->var) return;
  bool again =
      w->pattern && ptrmap_get(&t->binders, w->var->name) == (void *)w->at;
  Var *made =
      thread_renamed(t, w->var, w->binding ? w->binding->value : NULL, again);
  if (w->at->kind == EX_FN) made->annotation = given_type(t, w->at, w->var);
  thread_enter(t, w->var->name, made->name, w->at);
  expr_map_bind(m, made);
}

void thread_unbind(Thread *t, const ExprWalk *w) {
  if (!w->var || t->hidden.len == 0) return;
  Hidden h = VEC_POP(&t->hidden);
  ptrmap_put(&t->locals, h.name, (void *)h.meant);
  ptrmap_put(&t->binders, h.name, (void *)h.binder);
}

/* --- Expressions ---------------------------------------------------------- */

Expr *thread_use(Thread *t, const Name *name, Span span) {
  Expr *e = expr_new(t->f->arena, EX_LOCAL, span);
  e->name = name;
  return e;
}

const Expr *thread_field(Thread *t, const Expr *tuple, int index) {
  return expr_proj(t->f->arena, tuple->span, tuple, index);
}

const Expr *thread_tuple(Thread *t, Span span, int count,
                         const Expr *const *fields) {
  Expr *e = expr_new(t->f->arena, EX_TUPLE, span);
  e->args = fields;
  e->count = count;
  return e;
}

const Expr *thread_pair(Thread *t, const Expr *a, const Expr *b) {
  const Expr *fields[] = {a, b};
  return thread_tuple(t, a->span, 2,
                      arena_copy(t->f->arena, fields, sizeof fields));
}

bool thread_is_atom(const Expr *e) {
  while (e->kind == EX_PROJ) e = e->args[0];
  switch (e->kind) {
    case EX_LOCAL:
    case EX_IDENT:
    case EX_GLOBAL:
    case EX_CONST:
    case EX_STRING:
    case EX_META:
    case EX_FN: return true;
    case EX_TUPLE: return e->count == 0;
    default: return false;
  }
}

/* --- Frames --------------------------------------------------------------- */

void thread_emit(Thread *t, Binding b) {
  VEC_PUSH(&VEC_LAST(&t->frames).bindings, b);
}

const Expr *thread_let(Thread *t, Var *var, const Expr *value) {
  thread_emit(t, binding_let(value->span, var, value));
  return thread_use(t, var->name, value->span);
}

void thread_push(Thread *t, const Expr *base, const Expr *const *now) {
  size_t count = t->f->cells.len;
  Frame frame = {.base = base,
                 .now = ARENA_ARRAY(t->f->arena, const Expr *, count)};
  VEC_INIT(&frame.bindings, t->f->p->mem);
  if (!frame.now) mem_raise_exhausted(t->f->p->mem);
  for (size_t i = 0; frame.now && now && i < count; i++) frame.now[i] = now[i];
  VEC_PUSH(&t->frames, frame);
}

const Expr *thread_content(Thread *t, int cell, Span span) {
  const Frame *frame = &VEC_LAST(&t->frames);
  if (!frame->now) return thread_tuple(t, span, 0, NULL);
  if (frame->now[cell]) return frame->now[cell];
  if (frame->base)
    return t->f->cells.len == 1 ? frame->base
                                : thread_field(t, frame->base, cell);
  const Cell *c = t->f->cells.data[cell];
  const Expr *made = functional_empty(t->f, c->whole, span);
  if (made) return made;
  if (!mem_exhausted(t->f->p->mem))
    functional_refuse(t->f, span, "compute it from values above it alone",
                      "a first value that uses the state before `@%s` is "
                      "there, of whose type a value is needed",
                      c->item->name->text);
  return thread_tuple(t, span, 0, NULL);
}

const Expr *thread_state(Thread *t, Span span) {
  const Frame *frame = &VEC_LAST(&t->frames);
  size_t count = t->f->cells.len;
  bool changed = !frame->base;
  for (size_t i = 0; frame->now && i < count; i++) changed |= !!frame->now[i];
  if (!changed) return frame->base;
  if (count == 1) return thread_content(t, 0, span);
  const Expr **fields = ARENA_ARRAY(t->f->arena, const Expr *, count);
  for (size_t i = 0; fields && i < count; i++)
    fields[i] = thread_content(t, (int)i, span);
  return thread_tuple(t, span, fields ? (int)count : 0, fields);
}

const Expr *thread_take_state(Thread *t, const Expr *both) {
  const Expr *r = thread_let(t, thread_var(t, "r", both->span), both);
  Var *next = thread_var(t, "state", both->span);
  const Expr *base = thread_let(t, next, thread_field(t, r, 1));
  Frame *frame = &VEC_LAST(&t->frames);
  frame->base = base;
  for (size_t i = 0; frame->now && i < t->f->cells.len; i++)
    frame->now[i] = NULL;
  return thread_field(t, r, 0);
}

const Expr *thread_pop(Thread *t, const Expr *value, bool gives) {
  if (gives && !VEC_LAST(&t->frames).complete)
    value = thread_pair(t, value, thread_state(t, value->span));
  Frame frame = VEC_POP(&t->frames);
  value = expr_after(t->f->arena, value->span, frame.bindings.len,
                     frame.bindings.data, value);
  VEC_DONE(&frame.bindings);
  return value;
}
