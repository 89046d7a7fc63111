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
#include "passes/functional_thread.h"

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
    thread_push(t, frame.base, frame.now);
  } else if (w->role == ROLE_BODY && thread_touch(t, w->parent)) {
    node.tail = true;
    Var *var = thread_var(t, "state", w->parent->span);
    var->annotation = t->f->state_type;
    ptrmap_put(&t->states, w->parent, var);
    thread_push(t, thread_use(t, var->name, var->span), NULL);
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
  else expr_map_put(m, thread_take_state(t, m->made));
}

/* fn (%p, %state) { (value(%p), %state) }, of a function that gives no state:
 * it is called like those that do. */
static const Expr *as_stateful(Thread *t, const Expr *was, const Expr *value,
                               const Fun *param) {
  const Fun *fun = thread_fun(t, was);
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
  if (!thread_is_atom(value) || value->kind == EX_FN)
    value = thread_let(t, thread_var(t, "f", span), value);
  Fn *fn = ARENA_NEW(f->arena, Fn);
  Var **params = ARENA_ARRAY(f->arena, Var *, (size_t)count + 1);
  const Expr **args = ARENA_ARRAY(f->arena, const Expr *, (size_t)count + 1);
  if (!params || !args) return value;
  for (int i = 0; i <= count; i++) {
    params[i] = thread_var(t, i < count ? "p" : "state", span);
    args[i] = thread_use(t, params[i]->name, span);
  }
  params[count]->annotation = f->state_type;
  int given = fun && fun->touch ? count + 1 : count;
  const Expr *call = expr_call(f->arena, span, value, given, args);
  *fn = (Fn){
      .params = params,
      .param_count = count + 1,
      .body = thread_pair(t, call, thread_use(t, params[count]->name, span))};
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
  if (fun->touch) args[call->count++] = thread_state(t, call->span);
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
                                   : thread_field(t, content, index);
}

static const Expr *content_part(Thread *t, const Part *part, int count,
                                Span span) {
  const Expr *made = thread_content(t, part->cell->index, span);
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
    value = thread_tuple(t, value->span, count, fields);
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
  if (!thread_is_atom(value) || type)
    value = thread_let(t, thread_own_var(t, c->item->name, value->span, type),
                       value);
  const Expr **now = VEC_LAST(&t->frames).now;
  if (now) now[c->index] = with_part(t, part, value);
  expr_map_put(m, thread_tuple(t, m->made->span, 0, NULL));
}

/* The state is the last parameter. */
static void leave_fn(Thread *t, ExprMap *m) {
  unsigned touch = thread_touch(t, m->walk.at);
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
    expr_map_put(m, thread_tuple(t, e->span, 0, NULL));
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
      if (c && !c->has_ref)
        expr_map_put(m, thread_content(t, c->index, e->span));
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
  Binding b = *expr_walk_binding(w);
  if (b.kind == BIND_ITEM && thread_is_atom(m->made)) return;
  if (ptrmap_has(&t->f->name, w->at)) return;
  if (b.var) b.var = thread_renamed(t, b.var, b.value, false);
  b.value = m->made;
  thread_emit(t, b);
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
    expr_map_put(m, thread_pop(t, m->made, true));
    return;
  }
  if (w->role == ROLE_BODY && thread_touch(t, w->parent)) {
    bool gives = thread_touch(t, w->parent) & TOUCH_WRITE;
    expr_map_put(m, thread_pop(t, m->made, gives));
    return;
  }
  if (w->role == ROLE_VALUE && writes(t, w->parent)) emit_binding(t, m);
  bool operand = w->role == ROLE_ARG || w->role == ROLE_ATTR;
  if (!operand || t->nodes.len == 0) return;
  Node *outer = &VEC_LAST(&t->nodes);
  if (outer->writer == w->at) outer->writer = NULL;
  else if (outer->writer && !thread_is_atom(m->made) &&
           !is_branching(w->parent))
    expr_map_put(m, thread_let(t, thread_var(t, "v", m->made->span), m->made));
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
      case WALK_BIND: thread_bind(t, &m); break;
      case WALK_UNBIND: thread_unbind(t, &m.walk); break;
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
  thread_push(&t, NULL, NULL);
  for (size_t i = 0; i < f->cells.len; i++) {
    const Cell *c = f->cells.data[i];
    const Expr *value = map_root(&t, c->initial);
    if (!value || !VEC_LAST(&t.frames).now) break;
    Var *var = thread_own_var(&t, c->item->name, value->span, c->type);
    VEC_LAST(&t.frames).now[i] = thread_let(&t, var, value);
  }
  const Expr *body = NULL;
  if (!mem_exhausted(f->p->mem)) {
    body = thread_state(&t, f->cells.data[0]->item->span);
    body = fn_of(f, body->span, NULL, thread_pop(&t, body, false));
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
    const TypeExpr *type = thread_retypes(t, of->expr) ? NULL : of->annotation;
    VEC_PUSH(&vars, thread_own_var(t, of->name, of->name_span, type));
    if (first && vars.len)
      thread_enter(t, of->name, VEC_LAST(&vars)->name, NULL);
  } while (end < f->items.len && f->items.data[end]->continues);
  for (size_t k = i; k < end && vars.len == end - i; k++) {
    const Item *of = f->items.data[k];
    const Expr *value = map_root(t, of->expr);
    if (!value) break;
    Binding b = {.kind = k > i ? BIND_AND : BIND_LET,
                 .span = of->span,
                 .var = vars.data[k - i],
                 .value = value};
    if (!ptrmap_has(&f->name, of->expr)) thread_emit(t, b);
    if (!first) thread_enter(t, of->name, vars.data[k - i]->name, NULL);
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
  Var *param =
      thread_own_var(&t, name_of(f->p->names, "state"), span, f->state_type);
  thread_push(&t, thread_use(&t, param->name, span), NULL);
  for (size_t i = 0; i < f->items.len && !mem_exhausted(f->p->mem); i++) {
    const Item *item = f->items.data[i];
    if (item->kind == ITEM_LET_LOCAL && !item->continues) script_let(&t, i);
    if (item->kind != ITEM_EXPR) continue;
    const Expr *value = map_root(&t, item->expr);
    if (!value) break;
    if (functional_is_unit(f, item)) {
      if (!thread_is_atom(value))
        thread_emit(
            &t,
            (Binding){.kind = BIND_ITEM, .span = item->span, .value = value});
      continue;
    }
    if (!thread_is_atom(value))
      value = thread_let(&t, thread_var(&t, "v", item->span), value);
    VEC_PUSH(&values, value);
  }
  const Expr *made = NULL;
  if (!mem_exhausted(f->p->mem)) {
    const Expr *const *fields = VEC_TO_ARENA(&values, f->arena);
    made = values.len == 1
               ? fields[0]
               : thread_tuple(&t, span, fields ? (int)values.len : 0, fields);
    made = fn_of(f, span, param, thread_pop(&t, made, true));
  }
  VEC_DONE(&values);
  thread_done(&t);
  return made;
}
