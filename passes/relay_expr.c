/* Expressions in plain Relay.  The map (ir/walk.h) goes over a definition on a
 * stack of its own, so that nesting costs no C stack.  After a node, its
 * mapped parts are at hand; what sugar stood for is what the node is, so
 * dropping the mark writes it out.
 *
 *   %x + @w                    add(%x, %w)           (@w a param)
 *   %t.0.1                     (%t.0).1
 *   List[1, 2]                 Cons(1, Cons(2, Nil()))
 *   nn.relu as a value         fn (%data) { nn.relu(%data) }
 *
 * Before a node (`enter`) only what must not be mapped as a value is settled:
 * callees, long tensor literals, `%input.1` as a name.  After it (`leave`) one
 * function a kind rewrites it.  A node that does not change is not copied.
 *
 * Where TVM's grammar takes less than ours, an expression goes into
 * parentheses; the printer writes a block without braces and bindings as
 * such. */
#include <string.h>

#include "ir/walk.h"
#include "ops/ops.h"
#include "passes/relay_map.h"

/* --- Making nodes --------------------------------------------------------- */

static Expr *copy_of(Relay *r, const Expr *e) {
  Expr *made = expr_new(r->arena, (ExprKind)e->kind, e->span);
  *made = *e;
  return made;
}

Expr *relay_op(Relay *r, Span span, const char *name, int count,
               const Expr *const *args) {
  Expr *callee = expr_new(r->arena, EX_IDENT, span);
  callee->name = name_of(r->p->names, name);
  return expr_call(r->arena, span, callee, count, args);
}

/* Gives a call of a new list of attributes, as the old one may be the unit's
 * own. */
Expr *relay_with_attr(Relay *r, Expr *call, const char *name, AttrExpr value) {
  size_t count = (size_t)call->call.attr_count;
  Attr *attrs = ARENA_ARRAY(r->arena, Attr, count + 1);
  AttrExpr *kept = ARENA_NEW(r->arena, AttrExpr);
  if (!attrs) return call;
  *kept = value;
  for (size_t i = 0; i < count; i++) attrs[i] = call->call.attrs[i];
  attrs[count] = (Attr){
      .name = name_of(r->p->names, name), .span = call->span, .value = kept};
  call->call.attrs = attrs;
  call->call.attr_count++;
  return call;
}

Expr *relay_with_dtype(Relay *r, Expr *call, DType dtype) {
  const char *name = dtype_name(dtype);
  return relay_with_attr(
      r, call, "dtype",
      (AttrExpr){.kind = AX_STRING, .text = name, .count = (int)strlen(name)});
}

/* cast(e, dtype="...") */
Expr *relay_cast(Relay *r, const Expr *e, DType dtype) {
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, 1);
  if (args) args[0] = e;
  return relay_with_dtype(r, relay_op(r, e->span, "cast", args != NULL, args),
                          dtype);
}

const Expr *relay_parens(Relay *r, const Expr *e) {
  return expr_block(r->arena, e->span, 0, NULL, e);
}

/* --- Names ---------------------------------------------------------------- */

static const Expr *map_local(Relay *r, const Expr *e) {
  Expr *made = copy_of(r, e);
  made->name = relay_local(r, e->name);
  return made;
}

static const Expr *map_graph(Relay *r, const Expr *e) {
  Expr *made = copy_of(r, e);
  made->index = relay_graph(r, e->index);
  return made;
}

/* A param's use.  Parameters that stand for params are bound first, under keys
 * that no local has: the items themselves. */
static const Expr *map_input(Relay *r, const Item *param, Span span) {
  Expr *made = expr_new(r->arena, EX_LOCAL, span);
  made->name = ptrmap_get(&r->locals, param);
  if (!made->name) made->name = param->name;
  return made;
}

/* A library definition's `@w` is never the unit's param. */
static const Item *find_input(const Relay *r, const Name *name) {
  for (size_t i = 0; !r->home->used && i < r->params.len; i++)
    if (r->params.data[i]->name == name) return r->params.data[i];
  return NULL;
}

/* Does the function reach a param?  Then it has more parameters in plain Relay
 * than here, so it can be called only. */
static bool needs_inputs(const Relay *r, const Needs *n) {
  for (size_t i = 0; n && i < r->params.len; i++)
    if (n->params[i]) return true;
  return false;
}

/* Definitions of the library may have had to take another name
 * (relay_global_name). */
static const Expr *rename_global(Relay *r, const Expr *e) {
  const Needs *n = relay_callee(r, r->home, e->g.name);
  const Name *name = n ? relay_global_name(r, n) : e->g.name;
  if (name == e->g.name) return e;
  Expr *made = copy_of(r, e);
  made->g.name = name;
  return made;
}

/* A param is a parameter of the definition at hand.  A function that reaches
 * params would need them where it is called, which a value cannot say. */
static const Expr *map_global(Relay *r, const Expr *e) {
  const Item *param = find_input(r, e->g.name);
  if (param) return map_input(r, param, e->span);
  if (needs_inputs(r, relay_callee(r, r->home, e->g.name))) {
    relay_refuse(r, e->span, "`@%s` as a value, for it reaches a `param`",
                 e->g.name->text);
  }
  return rename_global(r, e);
}

/* Refuses operators of this language that Relay lacks. */
static void check_operator(Relay *r, const Expr *e) {
  bool dyn;
  OpId op = op_find(e->name->text, &dyn);
  if (op != OP_COUNT && op_is_own(op_info(op)))
    relay_refuse(r, e->span, "the operator `%s`", e->name->text);
}

/* A constructor of the unit may have an operator's name; the library's texts do
 * not see it. */
static bool is_operator(const Relay *r, const Name *name) {
  bool dyn, hidden = !r->home->used && ptrmap_has(&r->ctors, name);
  return !hidden && op_find(name->text, &dyn) != OP_COUNT;
}

/* A name that is not called. */
static const Expr *map_ident(Relay *r, const Expr *e) {
  const Expr *dim = ptrmap_get(&r->dims, e->name);
  if (dim && dim->kind == EX_ERROR) {
    relay_refuse(r, e->span, "the named dimension `%s` as a value",
                 e->name->text);
  }
  if (dim) return dim;
  return is_operator(r, e->name) ? relay_op_value(r, e) : e;
}

/* --- Calls ---------------------------------------------------------------- */

/* The arguments, after what the callee needs of params. */
static void add_inputs(Relay *r, Expr *made, const Expr *callee) {
  const Needs *needs = callee->kind == EX_GLOBAL
                           ? relay_callee(r, r->home, callee->g.name)
                           : NULL;
  if (!needs_inputs(r, needs)) return;
  size_t room = r->params.len + (size_t)made->count;
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, room);
  int n = 0;
  for (size_t i = 0; args && i < r->params.len; i++) {
    if (!needs->params[i]) continue;
    args[n++] = map_input(r, r->params.data[i], callee->span);
  }
  for (int i = 0; args && i < made->count; i++) args[n++] = made->args[i];
  made->args = args;
  made->count = n;
}

/* A callee that is not mapped as a value: an operator or a constructor stays,
 * a definition may be called something else.  NULL: it is an expression. */
static const Expr *map_callee(Relay *r, const Expr *e) {
  if (e->kind == EX_IDENT) return e;
  bool definition = e->kind == EX_GLOBAL && !find_input(r, e->g.name);
  return definition ? rename_global(r, e) : NULL;
}

/* A call of an operator is rewritten by relay_op.c; any other call loses its
 * sugar and gets the callee's params before its arguments. */
static void map_call(Relay *r, ExprMap *m) {
  const Expr *callee = m->walk.at->call.callee;
  bool named = callee->kind == EX_IDENT;
  if (named) check_operator(r, callee);
  if (named && is_operator(r, callee->name)) {
    expr_map_put(m, relay_op_call(r, m->made));
    return;
  }
  relay_check_attrs(r, m->made->call.attr_count, m->made->call.attrs);
  expr_map_own(m)->sugar = SUGAR_NONE;
  add_inputs(r, expr_map_own(m), callee);
}

/* One projection, of what stands for itself. */
static void map_projection(Relay *r, ExprMap *m) {
  const Expr *of = m->made->args[0];
  if (of->kind != EX_PROJ && of->kind != EX_CALL) return;
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, 1);
  if (!args) return;
  args[0] = relay_parens(r, of);
  expr_map_own(m)->args = args;
}

/* --- Scopes --------------------------------------------------------------- */

/* The walk says where a variable comes into scope, and relay_expr when it
 * goes. */
static void map_binder(Relay *r, ExprMap *m) {
  const Binding *b = m->walk.binding;
  bool joined = m->walk.at->kind == EX_BLOCK && b->kind == BIND_AND;
  if (joined) relay_refuse(r, b->span, "functions joined by `and`");
  if (m->walk.var) expr_map_bind(m, relay_bind(r, m->walk.var));
  else relay_graph(r, b->index);
}

/* What a `let` may bind: no match and no block as they are. */
static void map_bound_value(Relay *r, ExprMap *m) {
  const Expr *e = m->made;
  if (e->kind == EX_MATCH) expr_map_put(m, relay_parens(r, e));
  else if (e->kind == EX_BLOCK && e->sugar == SUGAR_BRACES)
    expr_map_own(m)->sugar = SUGAR_NONE;
}

/* Graph variables have other numbers in the whole text.  The binder was given
 * its number when the walk met it; this writes it into the block. */
static void map_block(Relay *r, ExprMap *m) {
  const Block *was = m->walk.at->block;
  for (int i = 0; i < was->count; i++) {
    bool graph = was->bindings[i].kind == BIND_GRAPH;
    Binding *own = graph ? expr_map_own_bindings(m) : NULL;
    if (own) own[i].index = relay_graph(r, own[i].index);
  }
}

/* Arms in braces. */
static void map_match(Relay *r, ExprMap *m) {
  const Match *old = m->made->match;
  Match *match = arena_copy(r->arena, old, sizeof *old);
  Arm *arms = arena_copy(r->arena, old->arms,
                         (size_t)old->arm_count * sizeof *old->arms);
  if (!match || !arms) return;
  for (int i = 0; i < match->arm_count; i++) arms[i].braces = true;
  match->arms = arms;
  Expr *made = expr_map_own(m);
  made->sugar = SUGAR_NONE;
  made->match = match;
}

/* TVM knows attributes of a function by an undotted one that comes first. */
static const Attr *plain_first(Relay *r, int count, const Attr *attrs) {
  int plain = 0;
  while (plain < count && strchr(attrs[plain].name->text, '.')) plain++;
  if (count == 0 || plain == 0) return attrs;
  if (plain == count) {
    relay_refuse(r, attrs[0].span,
                 "the attribute `%s` without an undotted one "
                 "before it",
                 attrs[0].name->text);
    return attrs;
  }
  Attr *made = ARENA_ARRAY(r->arena, Attr, (size_t)count);
  if (!made) return attrs;
  made[0] = attrs[plain];
  for (int i = 0, n = 1; i < count; i++)
    if (i != plain) made[n++] = attrs[i];
  return made;
}

/* Named dimensions go out of scope after the body, and their parameters leave
 * the list of type parameters. */
static void map_fn(Relay *r, ExprMap *m) {
  Fn *fn = arena_copy(r->arena, m->made->fn, sizeof *m->made->fn);
  if (!fn) return;
  fn->type_params = relay_type_params(r, fn->type_param_count, fn->type_params,
                                      &fn->type_param_count);
  fn->result = relay_annotation(r, fn->result);
  relay_check_attrs(r, fn->attr_count, fn->attrs);
  fn->attrs = plain_first(r, fn->attr_count, fn->attrs);
  expr_map_own(m)->fn = fn;
  relay_dims_leave(r, m->walk.at->fn);
}

/* --- List literals -------------------------------------------------------- */

static const AdtDecl *type_in(const Unit *unit, const Name *name) {
  for (int i = 0; unit && i < unit->item_count; i++) {
    const Item *item = &unit->items[i];
    if (item->kind == ITEM_TYPE && item->name == name) return item->adt;
  }
  return NULL;
}

/* The type's declaration, in the text or in the library; NULL: none.  The
 * answer is kept, also that there is none: the library is parsed for it. */
const AdtDecl *relay_find_type(Relay *r, const Name *name) {
  Program *p = r->p;
  if (!ptrmap_has(&r->adts, name)) {
    const AdtDecl *found = type_in(r->unit, name);
    if (!found && p->find_in_library)
      found = type_in(p->find_in_library(p, 'T', name), name);
    ptrmap_put(&r->adts, name, (void *)found);
  }
  return ptrmap_get(&r->adts, name);
}

/* The constructor with that number of fields. */
static const Name *ctor_of(const AdtDecl *adt, int fields) {
  for (int i = 0; adt && adt->ctor_count == 2 && i < 2; i++)
    if (adt->ctors[i].field_count == fields) return adt->ctors[i].name;
  return NULL;
}

static Expr *named(Relay *r, Span span, const Name *name) {
  Expr *e = expr_new(r->arena, EX_IDENT, span);
  e->name = name;
  return e;
}

/* `List[a, b]` is Cons(a, Cons(b, Nil)).  Built from the last element to the
 * first, in a loop. */
static void map_list(Relay *r, ExprMap *m) {
  const Expr *e = m->made;
  const AdtDecl *adt = relay_find_type(r, e->list.head->name);
  const Name *cons = ctor_of(adt, 2), *nil = ctor_of(adt, 0);
  if (!cons || !nil) {
    relay_refuse(r, e->span, "a list of a type that is not defined here");
    return;
  }
  const Expr *list = named(r, e->span, nil);
  for (int i = e->count; i-- > 0;) {
    Span span = span_join(e->args[i]->span, e->span);
    const Expr **args = ARENA_ARRAY(r->arena, const Expr *, 2);
    args[0] = e->args[i];
    args[1] = list;
    list = expr_call(r->arena, span, named(r, span, cons), 2, args);
  }
  expr_map_put(m, list);
}

/* --- All expressions ------------------------------------------------------ */

static bool in_bracket(const ExprMap *m) {
  return m->walk.parent && m->walk.parent->kind == EX_BRACKET;
}

/* `%input.1` as the name of a variable, where there is no `%input`. */
static const Expr *indexed_local(Relay *r, const Expr *e) {
  const Expr *of = e->args[0];
  if (of->kind != EX_LOCAL || ptrmap_get(&r->locals, of->name)) return NULL;
  const char *text =
      arena_printf(r->arena, "%s.%lld", of->name->text, (long long)e->index);
  const Name *name = text ? name_of(r->p->names, text) : NULL;
  if (!name || !ptrmap_get(&r->locals, name)) return NULL;
  Expr *made = expr_new(r->arena, EX_LOCAL, e->span);
  made->name = relay_local(r, name);
  return made;
}

static void enter(Relay *r, ExprMap *m) {
  const ExprWalk *w = &m->walk;
  if (w->role == ROLE_BODY) relay_dims_enter(r, w->parent->fn);
  const Expr *done = NULL;
  if (w->at->kind == EX_PROJ) done = indexed_local(r, w->at);
  if (!done && w->role == ROLE_CALLEE) done = map_callee(r, w->at);
  else if (w->at->kind == EX_BRACKET && !in_bracket(m))
    done = relay_bracket_enter(r, w->at);
  if (done) expr_map_put(m, done);
}

static const Expr *map_leaf(Relay *r, const ExprMap *m) {
  const Expr *e = m->made;
  switch (e->kind) {
    case EX_LOCAL: return map_local(r, e);
    case EX_GRAPH: return map_graph(r, e);
    case EX_IDENT: return map_ident(r, e);
    case EX_GLOBAL: return map_global(r, e);
    case EX_CONST:
      return in_bracket(m) ? relay_element(r, e) : relay_constant(r, e);
    case EX_STRING: return relay_string(r, e);
    case EX_BRACKET: return relay_bracket_leave(r, e, !in_bracket(m));
    default: return e;
  }
}

/* Kinds that only lose their sugar share a case.  The value of a `let` is
 * looked at once more, as what a let may bind depends on the place. */
static void leave(Relay *r, ExprMap *m) {
  switch (m->made->kind) {
    case EX_CALL: map_call(r, m); break;
    case EX_PROJ: map_projection(r, m); break;
    case EX_FN: map_fn(r, m); break;
    case EX_BLOCK: map_block(r, m); break;
    case EX_MATCH: map_match(r, m); break;
    case EX_LIST: map_list(r, m); break;
    case EX_TUPLE:
    case EX_IF:
    case EX_REF:
    case EX_READ:
    case EX_WRITE:
      if (m->made->sugar) expr_map_own(m)->sugar = SUGAR_NONE;
      break;
    default: expr_map_put(m, map_leaf(r, m)); break;
  }
  const Binding *b = expr_walk_binding(&m->walk);
  if (b && b->kind != BIND_ITEM) map_bound_value(r, m);
}

/* May shapes decide an `if`?  There is one, and a name that may be a
 * dimension's or that of `shape_of`. */
static void find_decidable(Program *p, const Expr *e, bool *branch,
                           bool *shape) {
  ExprWalk w;
  expr_walk_start(&w, p->mem, WALK_ENTER, e);
  while (!(*branch && *shape) && expr_walk_next(&w)) {
    *branch |= w.at->kind == EX_IF;
    if (w.at->kind == EX_IDENT)
      *shape |= w.role != ROLE_CALLEE ||
                !strcmp(op_last_part(w.at->name->text), "shape_of");
  }
  expr_walk_end(&w);
}

bool relay_may_decide(Program *p, const Unit *u) {
  bool branch = false, shape = false;
  for (int i = 0; i < u->item_count && !(branch && shape); i++)
    if (u->items[i].expr) find_decidable(p, u->items[i].expr, &branch, &shape);
  return branch && shape;
}

/* Of an `if` that shapes decide the branch that is taken, since the other need
 * not fit.  Where the instances of a function differ there is no such branch.
 */
static const Expr *without_decided(Relay *r, const Expr *e) {
  ExprMap m;
  expr_map_start(&m, r->p->mem, r->arena, e);
  while (expr_map_next(&m)) {
    if (m.walk.event != WALK_LEAVE || m.made->kind != EX_IF) continue;
    uint8_t seen = m.made->branch.seen;
    if (seen == 0 || seen == BRANCH_BOTH) continue;
    if (seen != BRANCH_THEN && seen != BRANCH_ELSE) {
      relay_refuse(r, m.made->span,
                   "an `if` that each shape of a function decides");
      continue;
    }
    const Expr *taken = m.made->args[seen == BRANCH_THEN ? 1 : 2];
    bool alone = expr_walk_is_tail(&m.walk) || m.walk.role == ROLE_VALUE;
    expr_map_put(&m, alone ? taken : relay_parens(r, taken));
  }
  return expr_map_end(&m);
}

const Expr *relay_expr(Relay *r, const Expr *e) {
  e = without_decided(r, e);
  if (!e) return NULL;
  ExprMap m;
  expr_map_start(&m, r->p->mem, r->arena, e);
  while (expr_map_next(&m)) {
    switch ((int)m.walk.event) {
      case WALK_ENTER: enter(r, &m); break;
      case WALK_LEAVE: leave(r, &m); break;
      case WALK_BIND: map_binder(r, &m); break;
      case WALK_UNBIND: relay_leave(r, r->hidden.len - 1); break;
    }
  }
  return expr_map_end(&m);
}
