/* Functions of cells as functions of a state.  A function that touches the
 * state takes it as its last parameter; one that changes it gives `(value,
 * state)`.
 *
 *   @f(%x)                               @f(%x, %state)
 *   { ref_write(@a, %x + ref_read(@b));  { let %a = %x + %state.1;
 *     @g();                         ==>    let %r = @g((%a, %state.1));
 *     ref_read(@a) }                       let %state_1 = %r.1;
 *                                          (%state_1.0, %state_1) }
 *
 * As in SSA form, what a cell holds has a name at each place, and where
 * branches meet their states do: an `if` or a `match` that writes gives
 * `(value, state)` like a function.
 *
 * A frame is under way for each function body, branch and arm through which the
 * state goes.  What is evaluated there in order, before the value, is emitted
 * to its list of bindings: blocks are flattened, so a binder gets a name of its
 * own in the definition.  An operand with a writing operand after it is
 * let-bound before that, which keeps the order of evaluation.
 *
 * The call of a function that writes gives just what its caller gives, so a
 * tail call stays one, and recursion that is a loop stays a loop. */
#include "ir/walk.h"
#include "passes/functional.h"

/* A place where bindings are collected, and the state there. */
typedef struct Frame {
  VEC(Binding) bindings;
  const Expr *base; /* the whole state; NULL: there is none yet */
  const Expr **now; /* by cell: its content; NULL: the base's */
  bool complete;    /* the value is `(value, state)` already */
} Frame;

/* An expression that is under way. */
typedef struct Node {
  bool tail;          /* its value is the frame's */
  const Expr *writer; /* its last part that writes; NULL: passed, or none */
} Node;

/* What a name meant before, and what had bound it. */
typedef struct Hidden {
  const Name *name;
  const Name *meant;
  const Expr *binder;
} Hidden;

typedef struct Thread {
  Functional *f;
  VEC(Frame) frames;
  VEC(Node) nodes;
  PtrMap locals;  /* Name -> the Name that it has now */
  PtrMap binders; /* Name -> the block, fn or match that binds it */
  VEC(Hidden) hidden;
  PtrMap taken;    /* names that a binder of the definition has */
  PtrMap suffixes; /* Name -> the last suffix that it was given */
  PtrMap renamed;  /* Var -> the Var in its place */
  PtrMap states;   /* an EX_FN -> the parameter of its state */
} Thread;

static void thread_init(Thread *t, Functional *f) {
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

static void thread_done(Thread *t) {
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

static Var *own_var(Thread *t, const Name *like, Span span,
                    const TypeExpr *annotation) {
  return var_new(t->f->arena, fresh(t, like), span, annotation);
}

static Var *named_var(Thread *t, const char *like, Span span) {
  return own_var(t, name_of(t->f->p->names, like), span, NULL);
}

static void scope_enter(Thread *t, const Name *name, const Name *now,
                        const Expr *binder) {
  VEC_PUSH(&t->hidden, (Hidden){name, ptrmap_get(&t->locals, name),
                                ptrmap_get(&t->binders, name)});
  ptrmap_put(&t->locals, name, (void *)now);
  ptrmap_put(&t->binders, name, (void *)binder);
}

/* The function that a value is; NULL: none whose calls are known. */
static const Fun *fun_of(const Thread *t, const Expr *value) {
  return value ? ptrmap_get(&t->f->fun_of, value) : NULL;
}

static unsigned fun_touch(const Thread *t, const Expr *value) {
  const Fun *fun = fun_of(t, value);
  return fun ? fun->touch : 0;
}

/* What the variable of that `fn` is given: functions of the state are of
 * another type than is written, and a part of the state is left to the state.
 */
static const TypeExpr *given_type(Thread *t, const Expr *fn, const Var *var) {
  Functional *f = t->f;
  const Fun *fun = fn->kind == EX_FN ? fun_of(t, fn) : NULL;
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

/* A function that touches the state is of another type than is written, and so
 * is what stands for a part of it. */
static bool is_retyped(const Thread *t, const Expr *value) {
  return value && (fun_touch(t, value) || ptrmap_has(&t->f->name, value));
}

/* The variable in the place of one; `again`: an alternative of the pattern
 * binds it, too. */
static Var *renamed(Thread *t, const Var *v, const Expr *value, bool again) {
  Var *made = ptrmap_get(&t->renamed, v);
  if (made) return made;
  made = arena_copy(t->f->arena, v, sizeof *v);
  const Name *now = again ? ptrmap_get(&t->locals, v->name) : NULL;
  made->name = now ? now : fresh(t, v->name);
  if (is_retyped(t, value)) made->annotation = NULL;
  ptrmap_put(&t->renamed, v, made);
  return made;
}

/* A match has one arm under way: a name that it binds already is of another
 * alternative of the arm's pattern. */
static void bind(Thread *t, ExprMap *m) {
  const ExprWalk *w = &m->walk;
  if (!w->var) return;
  bool again =
      w->pattern && ptrmap_get(&t->binders, w->var->name) == (void *)w->at;
  Var *made = renamed(t, w->var, w->binding ? w->binding->value : NULL, again);
  if (w->at->kind == EX_FN) made->annotation = given_type(t, w->at, w->var);
  scope_enter(t, w->var->name, made->name, w->at);
  expr_map_bind(m, made);
}

static void unbind(Thread *t, const ExprWalk *w) {
  if (!w->var || t->hidden.len == 0) return;
  Hidden h = VEC_POP(&t->hidden);
  ptrmap_put(&t->locals, h.name, (void *)h.meant);
  ptrmap_put(&t->binders, h.name, (void *)h.binder);
}

/* --- Expressions ---------------------------------------------------------- */

static Expr *local(Thread *t, const Name *name, Span span) {
  Expr *e = expr_new(t->f->arena, EX_LOCAL, span);
  e->name = name;
  return e;
}

static const Expr *field(Thread *t, const Expr *tuple, int index) {
  return expr_proj(t->f->arena, tuple->span, tuple, index);
}

/* The fields are used as they are. */
static const Expr *tuple(Thread *t, Span span, int count,
                         const Expr *const *fields) {
  Expr *e = expr_new(t->f->arena, EX_TUPLE, span);
  e->args = fields;
  e->count = count;
  return e;
}

static const Expr *pair(Thread *t, const Expr *a, const Expr *b) {
  const Expr *fields[] = {a, b};
  return tuple(t, a->span, 2, arena_copy(t->f->arena, fields, sizeof fields));
}

/* May it be evaluated later, or not at all, without a difference? */
static bool is_atom(const Expr *e) {
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

static void emit(Thread *t, Binding b) {
  VEC_PUSH(&VEC_LAST(&t->frames).bindings, b);
}

/* `let %like = value`, and the variable. */
static const Expr *emit_let(Thread *t, Var *var, const Expr *value) {
  emit(t,
       (Binding){
           .kind = BIND_LET, .span = value->span, .var = var, .value = value});
  return local(t, var->name, value->span);
}

static void frame_push(Thread *t, const Expr *base, const Expr *const *now) {
  size_t count = t->f->cells.len;
  Frame frame = {.base = base,
                 .now = ARENA_ARRAY(t->f->arena, const Expr *, count)};
  VEC_INIT(&frame.bindings, t->f->p->mem);
  if (!frame.now) mem_raise_exhausted(t->f->p->mem);
  for (size_t i = 0; frame.now && now && i < count; i++) frame.now[i] = now[i];
  VEC_PUSH(&t->frames, frame);
}

static const Expr *content(Thread *t, int cell, Span span) {
  const Frame *frame = &VEC_LAST(&t->frames);
  if (!frame->now) return tuple(t, span, 0, NULL);
  if (frame->now[cell]) return frame->now[cell];
  if (frame->base)
    return t->f->cells.len == 1 ? frame->base : field(t, frame->base, cell);
  const Cell *c = t->f->cells.data[cell];
  const Expr *made = functional_empty(t->f, c->whole, span);
  if (made) return made;
  if (!mem_exhausted(t->f->p->mem))
    functional_refuse(t->f, span, "compute it from values above it alone",
                      "a first value that uses the state before `@%s` is "
                      "there, of whose type a value is needed",
                      c->item->name->text);
  return tuple(t, span, 0, NULL);
}

static const Expr *state(Thread *t, Span span) {
  const Frame *frame = &VEC_LAST(&t->frames);
  size_t count = t->f->cells.len;
  bool changed = !frame->base;
  for (size_t i = 0; frame->now && i < count; i++) changed |= !!frame->now[i];
  if (!changed) return frame->base;
  if (count == 1) return content(t, 0, span);
  const Expr **fields = ARENA_ARRAY(t->f->arena, const Expr *, count);
  for (size_t i = 0; fields && i < count; i++)
    fields[i] = content(t, (int)i, span);
  return tuple(t, span, fields ? (int)count : 0, fields);
}

/* From `(value, state)`: the state is the frame's from here on.  Gives the
 * value. */
static const Expr *take_state(Thread *t, const Expr *both) {
  const Expr *r = emit_let(t, named_var(t, "r", both->span), both);
  Var *next = named_var(t, "state", both->span);
  const Expr *base = emit_let(t, next, field(t, r, 1));
  Frame *frame = &VEC_LAST(&t->frames);
  frame->base = base;
  for (size_t i = 0; frame->now && i < t->f->cells.len; i++)
    frame->now[i] = NULL;
  return field(t, r, 0);
}

static const Expr *frame_block(Thread *t, Frame *frame, const Expr *result) {
  const Binding *bindings = VEC_TO_ARENA(&frame->bindings, t->f->arena);
  int count = bindings ? (int)frame->bindings.len : 0;
  if (count == 0) return result;
  return expr_block(t->f->arena, result->span, count, bindings, result);
}

/* The value with what was emitted before it; `gives`: with the state, too. */
static const Expr *frame_pop(Thread *t, const Expr *value, bool gives) {
  if (gives && !VEC_LAST(&t->frames).complete)
    value = pair(t, value, state(t, value->span));
  Frame frame = VEC_POP(&t->frames);
  const Expr *made = frame_block(t, &frame, value);
  VEC_DONE(&frame.bindings);
  return made;
}

/* --- The map -------------------------------------------------------------- */

static bool writes(const Thread *t, const Expr *e) {
  return e && functional_touch(t->f, e) & TOUCH_WRITE;
}

/* Does a branch or an arm with the state in it begin there? */
static bool is_branch(const Thread *t, const ExprWalk *w) {
  bool branch =
      (w->role == ROLE_ARM && !functional_opens(t->f, w->parent)) ||
      (w->role == ROLE_ARG && w->parent->kind == EX_IF && w->index > 0);
  return branch && writes(t, w->parent);
}

static void enter(Thread *t, const ExprWalk *w) {
  Node node = {.writer = ptrmap_get(&t->f->writer, w->at)};
  bool outer = t->nodes.len && VEC_LAST(&t->nodes).tail;
  if (is_branch(t, w)) {
    node.tail = true;
    Frame frame = VEC_LAST(&t->frames);
    frame_push(t, frame.base, frame.now);
  } else if (w->role == ROLE_BODY && fun_touch(t, w->parent)) {
    node.tail = true;
    Var *var = named_var(t, "state", w->parent->span);
    var->annotation = t->f->state_type;
    ptrmap_put(&t->states, w->parent, var);
    frame_push(t, local(t, var->name, var->span), NULL);
  } else {
    bool only = w->role == ROLE_ARM && functional_opens(t->f, w->parent);
    node.tail = (w->role == ROLE_RESULT || only) && outer;
  }
  VEC_PUSH(&t->nodes, node);
}

/* `(value, state)`, of a call or of branches: what the frame gives, or taken
 * apart. */
static void put_both(Thread *t, ExprMap *m, bool tail) {
  if (tail) VEC_LAST(&t->frames).complete = true;
  else expr_map_put(m, take_state(t, m->made));
}

/* fn (%p, %state) { (value(%p), %state) }, of a function that gives no state:
 * it is called like those that do. */
static const Expr *as_stateful(Thread *t, const Expr *was, const Expr *value,
                               const Fun *param) {
  const Fun *fun = fun_of(t, was);
  if (fun && fun->touch & TOUCH_WRITE) return value;
  Functional *f = t->f;
  int count = fun && fun->fn ? fun->fn->fn->param_count : param->arity;
  if (count < 0) {
    functional_refuse(f, was->span,
                      "write a `fn` around it, whose parameters are known",
                      "a function here, where others use the state");
    return value;
  }
  Span span = value->span;
  if (!is_atom(value) || value->kind == EX_FN)
    value = emit_let(t, named_var(t, "f", span), value);
  Fn *fn = ARENA_NEW(f->arena, Fn);
  Var **params = ARENA_ARRAY(f->arena, Var *, (size_t)count + 1);
  const Expr **args = ARENA_ARRAY(f->arena, const Expr *, (size_t)count + 1);
  if (!params || !args) return value;
  for (int i = 0; i <= count; i++) {
    params[i] = named_var(t, i < count ? "p" : "state", span);
    args[i] = local(t, params[i]->name, span);
  }
  params[count]->annotation = f->state_type;
  int given = fun && fun->touch ? count + 1 : count;
  const Expr *call = expr_call(f->arena, span, value, given, args);
  *fn = (Fn){.params = params,
             .param_count = count + 1,
             .body = pair(t, call, local(t, params[count]->name, span))};
  Expr *made = expr_new(f->arena, EX_FN, span);
  made->fn = fn;
  return made;
}

static void leave_call(Thread *t, ExprMap *m, bool tail) {
  const Expr *was = m->walk.at;
  const Fun *fun = ptrmap_get(&t->f->callee, was);
  if (!fun || (!fun->touch && !fun->origin)) return;
  Expr *call = expr_map_own(m);
  const Expr **args =
      ARENA_ARRAY(t->f->arena, const Expr *, (size_t)call->count + 1);
  if (!args) return;
  for (int i = 0; i < call->count; i++) {
    args[i] = call->args[i];
    if (fun->takes && fun->params[i]->touch)
      args[i] = as_stateful(t, was->args[i], args[i], fun->params[i]);
  }
  if (fun->touch) args[call->count++] = state(t, call->span);
  call->args = args;
  call->sugar = SUGAR_NONE;
  if (fun->origin) {
    Expr *copy = expr_new(t->f->arena, EX_GLOBAL, call->call.callee->span);
    copy->g.name = fun->name;
    call->call.callee = copy;
  }
  if (fun->touch & TOUCH_WRITE) put_both(t, m, tail);
}

/* A field of a content.  One that was put together here has its fields at hand,
 * all of them atoms or such tuples: its size is that of its type. */
static const Expr *content_field(Thread *t, const Expr *content, int index) {
  return content->kind == EX_TUPLE ? content->args[index]
                                   : field(t, content, index);
}

static const Expr *content_part(Thread *t, const Part *part, int count,
                                Span span) {
  const Expr *made = content(t, part->cell->index, span);
  for (int i = 0; i < count; i++) made = content_field(t, made, part->path[i]);
  return made;
}

/* The content of the part's global value, with `value` in its place. */
static const Expr *with_part(Thread *t, const Part *part, const Expr *value) {
  for (int last = part->count; last-- > 0;) {
    const Type *type = part->cell->whole;
    for (int i = 0; i < last; i++)
      type = functional_field(t->f, type, part->path[i]);
    int count = functional_field_count(t->f, type);
    const Expr *old = content_part(t, part, last, value->span);
    const Expr **fields = ARENA_ARRAY(t->f->arena, const Expr *, (size_t)count);
    if (!fields) return value;
    for (int i = 0; i < count; i++)
      fields[i] = i == part->path[last] ? value : content_field(t, old, i);
    value = tuple(t, value->span, count, fields);
  }
  return value;
}

static void leave_write(Thread *t, ExprMap *m) {
  const Part *part = functional_part(t->f, m->walk.at);
  if (!part) return;
  const Cell *c = part->cell;
  const Expr *value = m->made->args[1];
  const TypeExpr *type = c->loose ? c->type : NULL;
  for (int i = 0; type && i < part->count; i++)
    type = type->args[part->path[i]];
  if (!is_atom(value) || type)
    value = emit_let(t, own_var(t, c->item->name, value->span, type), value);
  const Expr **now = VEC_LAST(&t->frames).now;
  if (now) now[c->index] = with_part(t, part, value);
  expr_map_put(m, tuple(t, m->made->span, 0, NULL));
}

/* The state is the last parameter. */
static void leave_fn(Thread *t, ExprMap *m) {
  unsigned touch = fun_touch(t, m->walk.at);
  if (!touch) return;
  Expr *made = expr_map_own(m);
  Fn *fn = arena_copy(t->f->arena, made->fn, sizeof *fn);
  Var **params =
      ARENA_ARRAY(t->f->arena, Var *, (size_t)made->fn->param_count + 1);
  if (!fn || !params) return;
  for (int i = 0; i < fn->param_count; i++) params[i] = fn->params[i];
  params[fn->param_count++] = ptrmap_get(&t->states, m->walk.at);
  fn->params = params;
  if (touch & TOUCH_WRITE) fn->result = functional_both(t->f, fn->result);
  made->fn = fn;
}

/* The node itself, over its mapped parts. */
static void leave_node(Thread *t, ExprMap *m, bool tail) {
  const Expr *e = m->walk.at;
  const Part *part = functional_part(t->f, e);
  if (part && e->kind != EX_WRITE) {
    expr_map_put(m, content_part(t, part, part->count, e->span));
    return;
  }
  if (ptrmap_has(&t->f->name, e)) {
    expr_map_put(m, tuple(t, e->span, 0, NULL));
    return;
  }
  if (functional_opens(t->f, e)) {
    expr_map_put(m, m->made->match->arms[0].body);
    return;
  }
  const Cell *c;
  switch (e->kind) {
    case EX_LOCAL: {
      const Name *now = ptrmap_get(&t->locals, e->name);
      if (now && now != e->name) expr_map_own(m)->name = now;
      break;
    }
    case EX_GLOBAL:
      c = ptrmap_get(&t->f->cell_of, e->g.name);
      if (c && !c->has_ref) expr_map_put(m, content(t, c->index, e->span));
      break;
    case EX_WRITE: leave_write(t, m); break;
    case EX_CALL: leave_call(t, m, tail); break;
    case EX_FN: leave_fn(t, m); break;
    case EX_BLOCK:
      if (writes(t, e)) expr_map_put(m, m->made->block->result);
      break;
    case EX_IF:
    case EX_MATCH:
      if (!writes(t, e)) break;
      expr_map_own(m)->sugar = SUGAR_NONE;
      put_both(t, m, tail);
      break;
    default: break;
  }
}

/* The value of a binding of a block that is flattened. */
static void emit_binding(Thread *t, ExprMap *m) {
  const ExprWalk *w = &m->walk;
  Binding b = w->parent->block->bindings[w->index];
  if (b.kind == BIND_ITEM && is_atom(m->made)) return;
  if (ptrmap_has(&t->f->name, w->at)) return;
  if (b.var) b.var = renamed(t, b.var, b.value, false);
  b.value = m->made;
  emit(t, b);
}

/* A condition and a scrutinee come before all branches, whose states are their
 * own. */
static bool is_branching(const Expr *e) {
  return e->kind == EX_IF || e->kind == EX_MATCH;
}

/* How the node lies in its parent: the parent's part is what stands for it. */
static void leave_place(Thread *t, ExprMap *m) {
  const ExprWalk *w = &m->walk;
  if (is_branch(t, w)) {
    expr_map_put(m, frame_pop(t, m->made, true));
    return;
  }
  if (w->role == ROLE_BODY && fun_touch(t, w->parent)) {
    bool gives = fun_touch(t, w->parent) & TOUCH_WRITE;
    expr_map_put(m, frame_pop(t, m->made, gives));
    return;
  }
  if (w->role == ROLE_VALUE && writes(t, w->parent)) emit_binding(t, m);
  bool operand = w->role == ROLE_ARG || w->role == ROLE_ATTR;
  if (!operand || t->nodes.len == 0) return;
  Node *outer = &VEC_LAST(&t->nodes);
  if (outer->writer == w->at) outer->writer = NULL;
  else if (outer->writer && !is_atom(m->made) && !is_branching(w->parent))
    expr_map_put(m, emit_let(t, named_var(t, "v", m->made->span), m->made));
}

/* A free_var has no value where it could be emitted. */
static const Expr *map_root(Thread *t, const Expr *root) {
  ExprMap m;
  expr_map_start(&m, t->f->p->mem, t->f->arena, root);
  while (expr_map_next(&m)) {
    switch ((int)m.walk.event) {
      case WALK_ENTER: enter(t, &m.walk); break;
      case WALK_LEAVE: {
        Node node = VEC_POP(&t->nodes);
        leave_node(t, &m, node.tail);
        leave_place(t, &m);
        break;
      }
      case WALK_BIND: bind(t, &m); break;
      case WALK_UNBIND: unbind(t, &m.walk); break;
    }
  }
  return expr_map_end(&m);
}

/* --- Functions ------------------------------------------------------------ */

static const Expr *fn_of(Functional *f, Span span, Var *param,
                         const Expr *body) {
  Expr *e = expr_new(f->arena, EX_FN, span);
  Fn *fn = ARENA_NEW(f->arena, Fn);
  *fn = (Fn){.body = body};
  if (param) {
    fn->params = arena_copy(f->arena, &param, sizeof param);
    fn->param_count = 1;
  }
  e->fn = fn;
  return e;
}

const Expr *functional_def(Functional *f, const Expr *e) {
  Thread t;
  thread_init(&t, f);
  const Expr *made = map_root(&t, e);
  thread_done(&t);
  return made;
}

const Expr *functional_init(Functional *f) {
  Thread t;
  thread_init(&t, f);
  frame_push(&t, NULL, NULL);
  for (size_t i = 0; i < f->cells.len; i++) {
    const Cell *c = f->cells.data[i];
    const Expr *value = map_root(&t, c->initial);
    if (!value || !VEC_LAST(&t.frames).now) break;
    Var *var = own_var(&t, c->item->name, value->span, c->type);
    VEC_LAST(&t.frames).now[i] = emit_let(&t, var, value);
  }
  const Expr *body = NULL;
  if (!mem_exhausted(f->p->mem)) {
    body = state(&t, f->cells.data[0]->item->span);
    body = fn_of(f, body->span, NULL, frame_pop(&t, body, false));
  }
  thread_done(&t);
  return body;
}

/* A `let %x` of the script; the names of functions are in scope in the values
 * of their group. */
static void script_let(Thread *t, size_t i) {
  Functional *f = t->f;
  const Item *item = f->items.data[i];
  bool first = item->expr->kind == EX_FN;
  VEC(Var *) vars;
  VEC_INIT(&vars, f->p->mem);
  size_t end = i;
  do {
    const Item *of = f->items.data[end++];
    const TypeExpr *type = is_retyped(t, of->expr) ? NULL : of->annotation;
    VEC_PUSH(&vars, own_var(t, of->name, of->name_span, type));
    if (first && vars.len)
      scope_enter(t, of->name, VEC_LAST(&vars)->name, NULL);
  } while (end < f->items.len && f->items.data[end]->continues);
  for (size_t k = i; k < end && vars.len == end - i; k++) {
    const Item *of = f->items.data[k];
    const Expr *value = map_root(t, of->expr);
    if (!value) break;
    Binding b = {.kind = k > i ? BIND_AND : BIND_LET,
                 .span = of->span,
                 .var = vars.data[k - i],
                 .value = value};
    if (!ptrmap_has(&f->name, of->expr)) emit(t, b);
    if (!first) scope_enter(t, of->name, vars.data[k - i]->name, NULL);
  }
  VEC_DONE(&vars);
}

/* Values of type () are not shown, so they are not given. */
const Expr *functional_script(Functional *f) {
  Thread t;
  thread_init(&t, f);
  VEC(const Expr *) values;
  VEC_INIT(&values, f->p->mem);
  Span span = f->items.data[0]->span;
  Var *param = own_var(&t, name_of(f->p->names, "state"), span, f->state_type);
  frame_push(&t, local(&t, param->name, span), NULL);
  for (size_t i = 0; i < f->items.len && !mem_exhausted(f->p->mem); i++) {
    const Item *item = f->items.data[i];
    if (item->kind == ITEM_LET_LOCAL && !item->continues) script_let(&t, i);
    if (item->kind != ITEM_EXPR) continue;
    const Expr *value = map_root(&t, item->expr);
    if (!value) break;
    if (functional_is_unit(f, item)) {
      if (!is_atom(value))
        emit(&t,
             (Binding){.kind = BIND_ITEM, .span = item->span, .value = value});
      continue;
    }
    if (!is_atom(value))
      value = emit_let(&t, named_var(&t, "v", item->span), value);
    VEC_PUSH(&values, value);
  }
  const Expr *made = NULL;
  if (!mem_exhausted(f->p->mem)) {
    const Expr *const *fields = VEC_TO_ARENA(&values, f->arena);
    made = values.len == 1
               ? fields[0]
               : tuple(&t, span, fields ? (int)values.len : 0, fields);
    made = fn_of(f, span, param, frame_pop(&t, made, true));
  }
  VEC_DONE(&values);
  thread_done(&t);
  return made;
}
