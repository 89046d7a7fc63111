/* Expressions.  Each construct is copied with its parts mapped; what sugar
 * stood for is what the node is, so dropping the mark writes it out.  Chains
 * that grow to the left are a loop, other nesting the parser's. */
#include <string.h>

#include "ops/ops.h"
#include "passes/relay_map.h"

enum { DEPTH_MAX = 2000 };

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

Expr *relay_cast(Relay *r, const Expr *e, DType dtype) {
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, 1);
  if (args) args[0] = e;
  return relay_with_dtype(r, relay_op(r, e->span, "cast", args != NULL, args),
                          dtype);
}

const Expr *relay_parens(Relay *r, const Expr *e) {
  return expr_block(r->arena, e->span, 0, NULL, e);
}

/* What a `let` may bind: no match and no block as they are. */
static const Expr *bound_value(Relay *r, const Expr *e) {
  e = relay_expr(r, e);
  if (e->kind == EX_MATCH) return relay_parens(r, e);
  if (e->kind != EX_BLOCK || e->sugar != SUGAR_BRACES) return e;
  Expr *made = copy_of(r, e);
  made->sugar = SUGAR_NONE;
  return made;
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

static const Item *find_input(const Relay *r, const Name *name) {
  for (size_t i = 0; !r->home->used && i < r->params.len; i++)
    if (r->params.data[i]->name == name) return r->params.data[i];
  return NULL;
}

static bool needs_inputs(const Relay *r, const Needs *n) {
  for (size_t i = 0; n && i < r->params.len; i++)
    if (n->params[i]) return true;
  return false;
}

static const Expr *rename_global(Relay *r, const Expr *e) {
  const Needs *n = relay_callee(r, r->home, e->g.name);
  const Name *name = n ? relay_global_name(r, n) : e->g.name;
  if (name == e->g.name) return e;
  Expr *made = copy_of(r, e);
  made->g.name = name;
  return made;
}

static const Expr *map_global(Relay *r, const Expr *e) {
  const Item *param = find_input(r, e->g.name);
  if (param) return map_input(r, param, e->span);
  if (needs_inputs(r, relay_callee(r, r->home, e->g.name))) {
    relay_refuse(r, e->span, "`@%s` as a value, for it reaches a `param`",
                 e->g.name->text);
  }
  return rename_global(r, e);
}

static const char *const own_operators[] = {
    "print",
    "print_text",
    "assert",
    "fail",
};

static void check_operator(Relay *r, const Expr *e) {
  for (size_t i = 0; i < sizeof own_operators / sizeof *own_operators; i++) {
    if (strcmp(own_operators[i], e->name->text) != 0) continue;
    relay_refuse(r, e->span, "the operator `%s`", e->name->text);
  }
}

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

/* The arguments, behind what the callee needs of params. */
static void map_arguments(Relay *r, Expr *made, const Expr *e,
                          const Expr *first) {
  const Expr *callee = e->call.callee;
  const Needs *needs = callee->kind == EX_GLOBAL
                           ? relay_callee(r, r->home, callee->g.name)
                           : NULL;
  size_t room = r->params.len + (size_t)e->count;
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, room);
  int n = 0;
  for (size_t i = 0; args && needs && i < r->params.len; i++) {
    if (!needs->params[i]) continue;
    args[n++] = map_input(r, r->params.data[i], callee->span);
  }
  for (int i = 0; args && i < e->count; i++)
    args[n++] = first && i == 0 ? first : relay_expr(r, e->args[i]);
  made->args = args;
  made->count = n;
}

/* `head`: the mapped callee, or the first operand of an operator. */
static const Expr *map_call(Relay *r, const Expr *e, const Expr *head) {
  const Expr *callee = e->call.callee;
  bool named = callee->kind == EX_IDENT;
  if (named) check_operator(r, callee);
  if (named && is_operator(r, callee->name)) return relay_op_call(r, e, head);
  Expr *made = copy_of(r, e);
  relay_check_attrs(r, e->call.attr_count, e->call.attrs);
  map_arguments(r, made, e, named ? head : NULL);
  if (callee->kind == EX_GLOBAL && !find_input(r, callee->g.name))
    made->call.callee = rename_global(r, callee);
  else if (!named) made->call.callee = head ? head : relay_expr(r, callee);
  return made;
}

/* One projection, of what stands for itself. */
static const Expr *map_projection(Relay *r, const Expr *e, const Expr *head) {
  Expr *made = copy_of(r, e);
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, 1);
  if (!args) return e;
  if (!head) head = relay_expr(r, e->args[0]);
  bool postfix = head->kind == EX_PROJ || head->kind == EX_CALL;
  args[0] = postfix ? relay_parens(r, head) : head;
  made->args = args;
  return made;
}

static const Expr *map_over(Relay *r, const Expr *e, const Expr *head) {
  Expr *made = copy_of(r, e);
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, (size_t)e->count);
  for (int i = 0; args && i < e->count; i++)
    args[i] = i == 0 && head ? head : relay_expr(r, e->args[i]);
  made->args = args;
  made->sugar = SUGAR_NONE;
  return made;
}

/* --- Scopes --------------------------------------------------------------- */

static void map_let(Relay *r, Binding *b) {
  bool recursive = b->value->kind == EX_FN;
  const Expr *value = recursive ? NULL : bound_value(r, b->value);
  b->var = relay_bind(r, b->var);
  b->value = recursive ? relay_expr(r, b->value) : value;
}

static void map_binding(Relay *r, Binding *b) {
  switch (b->kind) {
    case BIND_LET: map_let(r, b); break;
    case BIND_AND: relay_refuse(r, b->span, "functions joined by `and`"); break;
    case BIND_ITEM: b->value = relay_expr(r, b->value); break;
    case BIND_GRAPH:
      b->value = bound_value(r, b->value);
      b->index = relay_graph(r, b->index);
      break;
    case BIND_FREE: b->var = relay_bind(r, b->var); break;
  }
}

static const Expr *map_block(Relay *r, const Expr *e) {
  size_t scope = r->hidden.len;
  Expr *made = copy_of(r, e);
  Block *block = ARENA_NEW(r->arena, Block);
  Binding *bindings = ARENA_ARRAY(r->arena, Binding, (size_t)e->block->count);
  *block = *e->block;
  if (!bindings) block->count = 0;
  for (int i = 0; i < block->count && !mem_exhausted(r->p->mem); i++) {
    bindings[i] = e->block->bindings[i];
    map_binding(r, &bindings[i]);
  }
  block->bindings = bindings;
  block->result = relay_expr(r, e->block->result);
  relay_leave(r, scope);
  made->block = block;
  return made;
}

static const Pattern *map_pattern(Relay *r, const Pattern *p) {
  Pattern *made = ARENA_NEW(r->arena, Pattern);
  *made = *p;
  if (p->kind == PT_VAR) made->var = relay_bind(r, p->var);
  const Pattern **fields =
      ARENA_ARRAY(r->arena, const Pattern *, (size_t)p->count);
  if (!fields) made->count = 0;
  for (int i = 0; i < made->count; i++)
    fields[i] = map_pattern(r, p->fields[i]);
  made->fields = fields;
  return made;
}

static const Expr *map_match(Relay *r, const Expr *e) {
  Expr *made = (Expr *)map_over(r, e, NULL);
  Match *match = ARENA_NEW(r->arena, Match);
  Arm *arms = ARENA_ARRAY(r->arena, Arm, (size_t)e->match->arm_count);
  *match = *e->match;
  if (!arms) match->arm_count = 0;
  for (int i = 0; i < match->arm_count; i++) {
    size_t scope = r->hidden.len;
    arms[i] = e->match->arms[i];
    arms[i].pattern = map_pattern(r, arms[i].pattern);
    arms[i].body = relay_expr(r, arms[i].body);
    arms[i].braces = true;
    relay_leave(r, scope);
  }
  match->arms = arms;
  made->match = match;
  return made;
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

const Expr *relay_fn(Relay *r, const Expr *e, int count, Var *const *first) {
  size_t scope = r->hidden.len;
  Expr *made = copy_of(r, e);
  Fn *fn = ARENA_NEW(r->arena, Fn);
  *fn = *e->fn;
  fn->type_params = relay_type_params(r, fn->type_param_count, fn->type_params,
                                      &fn->type_param_count);
  size_t room = (size_t)count + (size_t)fn->param_count;
  Var **params = ARENA_ARRAY(r->arena, Var *, room);
  if (!params) return e;
  for (int i = 0; i < count; i++) params[i] = first[i];
  for (int i = 0; i < fn->param_count; i++)
    params[count + i] = relay_bind(r, fn->params[i]);
  fn->params = params;
  fn->param_count += count;
  const Expr **hidden = relay_dims_enter(r, e->fn, params + count);
  fn->result = relay_annotation(r, fn->result);
  relay_check_attrs(r, fn->attr_count, fn->attrs);
  fn->attrs = plain_first(r, fn->attr_count, fn->attrs);
  fn->body = relay_expr(r, fn->body);
  relay_dims_leave(r, e->fn, hidden);
  relay_leave(r, scope);
  made->fn = fn;
  return made;
}

/* --- All expressions ------------------------------------------------------ */

static const Expr *map_node(Relay *r, const Expr *e, const Expr *head) {
  switch (e->kind) {
    case EX_LOCAL: return map_local(r, e);
    case EX_GRAPH: return map_graph(r, e);
    case EX_IDENT: return map_ident(r, e);
    case EX_GLOBAL: return map_global(r, e);
    case EX_CONST: return relay_constant(r, e);
    case EX_STRING: return relay_string(r, e);
    case EX_BRACKET: return relay_bracket(r, e);
    case EX_CALL: return map_call(r, e, head);
    case EX_PROJ: return map_projection(r, e, head);
    case EX_FN: return relay_fn(r, e, 0, NULL);
    case EX_BLOCK: return map_block(r, e);
    case EX_MATCH: return map_match(r, e);
    case EX_META: return e;
    default: return map_over(r, e, head);
  }
}

/* A global's call is mapped as a whole. */
static const Expr *spine(const Expr *e) {
  bool global = e->kind == EX_CALL && e->call.callee->kind == EX_GLOBAL;
  return global ? NULL : expr_spine(e);
}

const Expr *relay_expr(Relay *r, const Expr *e) {
  if (r->depth >= DEPTH_MAX || mem_exhausted(r->p->mem)) {
    if (r->depth >= DEPTH_MAX) relay_refuse(r, e->span, "so deep nesting");
    return e;
  }
  r->depth++;
  VEC(const Expr *) chain;
  VEC_INIT(&chain, r->p->mem);
  for (const Expr *next; (next = spine(e)); e = next) VEC_PUSH(&chain, e);
  const Expr *done = map_node(r, e, NULL);
  while (chain.len > 0) done = map_node(r, VEC_POP(&chain), done);
  VEC_DONE(&chain);
  r->depth--;
  return done;
}
