/* Resolution of expressions: names become variables, globals, constructors
 * and operators; graph variables become lets at their homes (home.c); calls of
 * operators get their records (resolve_op.c).  The parsed tree stays as it is;
 * a new one is built beside it.
 *
 * Recursion follows the nesting of the text, which is bounded here for this
 * and every later phase.  What a program can make long without nesting - flat
 * operator chains, calls of calls, `else if`, blocks - is walked in loops. */
#include "types/resolve.h"

static const Expr *resolve_node(Resolver *r, const Expr *e, const Expr *head);

/* --- Making nodes -------------------------------------------------------- */

Expr *resolve_error(Resolver *r, Span span) {
  return expr_new(r->arena, EX_ERROR, span);
}

Expr *resolve_var_use(Resolver *r, Span span, Var *var) {
  Expr *e = expr_new(r->arena, EX_VAR, span);
  e->var = var;
  return e;
}

Expr *resolve_int(Resolver *r, Span span, int64_t value) {
  Value bits = bits_from_i64(DT_INT32, value);
  return expr_const(r->arena, span, program_scalar(r->p, DT_INT32, bits));
}

/* A node as parsed, without its children. */
static Expr *node_like(Resolver *r, const Expr *e, ExprKind kind) {
  Expr *made = expr_new(r->arena, kind, e->span);
  made->sugar = e->sugar;
  made->parens = e->parens;
  return made;
}

/* The arguments resolved; the first is `head` if that is given. */
static const Expr *const *resolve_args(Resolver *r, const Expr *e,
                                       const Expr *head) {
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, (size_t)e->count);
  for (int i = 0; args && i < e->count; i++)
    args[i] = i == 0 && head ? head : resolve_expr(r, e->args[i]);
  return args;
}

/* --- Names --------------------------------------------------------------- */

static const Expr *resolve_local(Resolver *r, const Expr *e) {
  Var *var = ptrmap_get(&r->vars, e->name);
  if (var) {
    if (var->id < r->watch_below)
      VEC_PUSH(&r->watched, (struct Watched){e->name, var});
    return resolve_var_use(r, e->span, var);
  }
  bool in_def = r->def->item->kind == ITEM_DEF;
  Global *g = in_def ? NULL : scope_local(r->scope, e->name);
  if (!g) return unknown_local(r, e);
  Expr *use = node_like(r, e, EX_GLOBAL);
  use->g.name = e->name;
  use->g.global = g;
  Definition *def = g->definition;
  if (def) VEC_PUSH(&r->def->uses, def);
  return use;
}

/* A value may be named only below its `let`; a function may name itself, and
 * the functions of its group one another. */
static bool has_no_value_yet(const Resolver *r, const Definition *used) {
  if (used->global->kind != GLOBAL_VALUE || used->unit != r->unit) return false;
  const Item *items = r->unit->items;
  int last = used->order;
  if (used->item->expr->kind == EX_FN) {
    while (last > r->def->order && items[last].continues) last--;
    return last > r->def->order;
  }
  return last >= r->def->order;
}

static const Expr *resolve_global(Resolver *r, const Expr *e) {
  Global *g = find_global(r, e->g.name);
  if (!g) return unknown_global(r, e);
  Expr *use = node_like(r, e, EX_GLOBAL);
  use->g.name = e->g.name;
  use->g.global = g;
  Definition *def = g->definition;
  if (!def) return use;
  VEC_PUSH(&r->def->uses, def);
  if (has_no_value_yet(r, def)) {
    Diag *d = diag_error(r->p->diags, E0108, e->span, "`@%s` has no value yet",
                         g->name->text);
    diag_note(d, g->span, "it gets its value here");
  }
  return use;
}

static const Expr *resolve_graph(Resolver *r, const Expr *e) {
  const GraphNode *node = homes_node(r->homes, e);
  if (node && node->var) return resolve_var_use(r, e->span, node->var);
  if (!node) {
    diag_error(r->p->diags, E0106, e->span,
               "graph variable `%%%lld` is not defined above",
               (long long)e->index);
  }
  return resolve_error(r, e->span);
}

static Expr *ctor_node(Resolver *r, Span span, const Ctor *ctor) {
  Expr *e = expr_new(r->arena, EX_CTOR, span);
  e->ctor = ctor;
  return e;
}

/* A constructor without fields, named alone, is called. */
static const Expr *ctor_value(Resolver *r, const Expr *e, const Ctor *ctor) {
  Expr *node = ctor_node(r, e->span, ctor);
  if (ctor->field_count > 0) return node;
  Expr *call = expr_call(r->arena, e->span, node, 0, NULL);
  call->sugar = SUGAR_CTOR;
  return call;
}

/* The value of a named dimension; NULL when the name is not one. */
static const Expr *dim_expr(Resolver *r, const Expr *e) {
  const TypeVar *var = ptrmap_get(&r->type_vars, e->name);
  DimRead *read = var && var->is_dim ? ptrmap_get(&r->dims, var) : NULL;
  if (!read) return NULL;
  read->used = true;
  return resolve_var_use(r, e->span, read->var);
}

static const Expr *resolve_ident(Resolver *r, const Expr *e) {
  const Expr *dim = dim_expr(r, e);
  if (dim) return dim;
  const Ctor *ctor = find_ctor(r, e->name);
  if (ctor) return ctor_value(r, e, ctor);
  bool dyn;
  OpId op = op_find(e->name->text, &dyn);
  if (op == OP_COUNT || dyn) {
    if (!ptrmap_has(&r->type_vars, e->name) &&
        !ptrmap_has(&r->no_dims, e->name))
      return unknown_ident(r, e->span, e->name);
    report_no_dim(r, e->span, e->name);
    return resolve_error(r, e->span);
  }
  Expr *made = node_like(r, e, EX_OP);
  made->op = op;
  return made;
}

static const Expr *resolve_meta(Resolver *r, const Expr *e) {
  const char *key = e->meta.name->text;
  const MetaEntry *m = find_meta(r->unit, key, e->meta.index);
  if (m && m->kind == META_CONSTANT)
    return expr_const(r->arena, e->span, m->constant);
  Diag *d = diag_error(r->p->diags, E0114, e->span,
                       m ? "meta[%s][%lld] is not a tensor"
                         : "there is no metadata entry meta[%s][%lld]",
                       key, (long long)e->meta.index);
  if (r->unit->meta_count == 0)
    diag_hint(d, "the file has no #[metadata] section");
  return resolve_error(r, e->span);
}

/* --- Calls --------------------------------------------------------------- */

static const Expr *call_of(Resolver *r, const Expr *e, const Expr *callee,
                           const Expr *const *args) {
  Expr *call = node_like(r, e, EX_CALL);
  call->call.callee = callee;
  call->args = args;
  call->count = args ? e->count : 0;
  return call;
}

static const Expr *resolve_named_call(Resolver *r, const Expr *e,
                                      const Expr *head) {
  const Expr *name = e->call.callee;
  const Expr *dim = dim_expr(r, name);
  const Ctor *ctor = dim ? NULL : find_ctor(r, name->name);
  if (dim || ctor) {
    const Expr *callee = dim ? dim : ctor_node(r, name->span, ctor);
    return call_of(r, e, callee, resolve_args(r, e, head));
  }
  bool dyn;
  OpId op = op_find(name->name->text, &dyn);
  if (op == OP_COUNT) unknown_ident(r, name->span, name->name);
  bool takes = op == OP_COUNT || check_operator_arity(r, e, op, dyn);
  const Expr *const *args = takes ? resolve_args(r, e, head) : NULL;
  if (!takes || op == OP_COUNT || (e->count > 0 && !args))
    return resolve_error(r, e->span);
  return resolve_operator(r, e, op, dyn, e->count, args);
}

static const Expr *resolve_call(Resolver *r, const Expr *e, const Expr *head) {
  if (e->call.callee->kind == EX_IDENT) return resolve_named_call(r, e, head);
  const Expr *const *args = resolve_args(r, e, NULL);
  const Expr *callee = head ? head : resolve_expr(r, e->call.callee);
  return call_of(r, e, callee, args);
}

/* --- Blocks -------------------------------------------------------------- */

typedef VEC(Binding) Bindings;

static void push_let(Bindings *out, Span span, Var *var, const Expr *value,
                     Sugar sugar) {
  VEC_PUSH(out, (Binding){.kind = BIND_LET,
                          .span = span,
                          .var = var,
                          .value = value,
                          .sugar = sugar});
}

static const Expr *block_of(Resolver *r, Bindings *out, const Expr *result,
                            const Expr *like) {
  int count = (int)out->len;
  Binding *bindings = count ? VEC_TO_ARENA(out, r->arena) : NULL;
  VEC_DONE(out);
  Expr *e =
      expr_block(r->arena, like->span, bindings ? count : 0, bindings, result);
  if (like->kind == EX_BLOCK) {
    e->sugar = like->sugar;
    e->parens = like->parens;
  }
  return e;
}

static const Expr *resolve_items(Resolver *r, const Expr *e, Bindings *out);

/* The value of an item; if it is a block whose nodes are used around it, its
 * items go before. */
static const Expr *resolve_value(Resolver *r, const Expr *e, Bindings *out) {
  if (e->kind != EX_BLOCK || !homes_flat(r->homes, e))
    return resolve_expr(r, e);
  size_t mark = scope_mark(r);
  const Expr *value = resolve_items(r, e, out);
  scope_end(r, mark);
  return value;
}

/* A graph variable becomes a let; its value is resolved where the let goes. */
static void emit_node(Resolver *r, GraphNode *node, Bindings *out) {
  const Binding *b = node->binding;
  uint32_t outer = r->watch_below;
  if (!homes_stays(r->homes, b)) r->watch_below = r->p->next_var_id;
  node->watched = r->watched.len;
  const Expr *value = resolve_value(r, b->value, out);
  node->watched_end = r->watched.len;
  r->watch_below = outer;
  const char *text = arena_printf(r->arena, "%lld", (long long)node->index);
  Var *var = var_new(r->arena, name_of(r->p->names, text), b->span, NULL);
  var->id = r->p->next_var_id++;
  node->var = var;
  push_let(out, b->span, var, value, SUGAR_GRAPH);
  if (node->sinks) VEC_PUSH(&r->c->sinking, (Sinking){var, value});
}

static void emit_before(Resolver *r, const Expr *e, int item, Bindings *out) {
  GraphNode *node = homes_before(r->homes, e, item);
  for (; node; node = node->next) emit_node(r, node, out);
}

/* The binding of a node that was hoisted out of here: every name in its value
 * must mean here what it means at its home. */
static void check_hoisted(Resolver *r, const Binding *b) {
  const GraphNode *node = homes_defined(r->homes, b);
  if (!node || !node->var) return;
  for (size_t i = node->watched; i < node->watched_end; i++) {
    struct Watched w = r->watched.data[i];
    if (ptrmap_get(&r->vars, w.name) == w.var) continue;
    Diag *d = diag_error(r->p->diags, E0106, b->span,
                         "graph variable `%%%lld` is shared by several scopes"
                         ", but `%%%s` is known in this one only",
                         (long long)b->index, w.name->text);
    diag_hint(d, "define it where all of its uses see `%%%s`", w.name->text);
    return;
  }
}

static void resolve_graph_binding(Resolver *r, const Binding *b,
                                  Bindings *out) {
  GraphNode *node = homes_stays(r->homes, b);
  if (node) emit_node(r, node, out);
  else check_hoisted(r, b);
}

static void wants_fn(Resolver *r, Span span) {
  diag_error(r->p->diags, E0101, span,
             "`let ... and ...` joins `fn` literals only");
}

static void check_group(Resolver *r, const Binding *group, int n) {
  for (int i = 0; n > 1 && i < n; i++) {
    if (group[i].value->kind == EX_FN) continue;
    wants_fn(r, group[i].value->span);
  }
}

/* A fn literal sees its own name, and those of its group; any other value sees
 * what the name meant before. */
static void resolve_let_group(Resolver *r, const Binding *group, int n,
                              Bindings *out) {
  bool recursive = n > 1 || group[0].value->kind == EX_FN;
  check_group(r, group, n);
  const Expr *single = recursive ? NULL : resolve_value(r, group->value, out);
  size_t first = out->len;
  for (int i = 0; i < n; i++) {
    Binding b = group[i];
    b.var = resolve_var(r, b.var);
    if (recursive) scope_bind(r, &r->vars, b.var->name, b.var);
    VEC_PUSH(out, b);
  }
  for (size_t i = first; i < out->len; i++) {
    const Expr *fn = out->data[i].value;
    out->data[i].value = single ? single : resolve_expr(r, fn);
  }
  if (recursive || out->len == first) return;
  Var *var = out->data[first].var;
  scope_bind(r, &r->vars, var->name, var);
}

/* `free_var` declares what the text does not define: a fragment can be read
 * and printed, but there is no value to check or run it with. */
static void resolve_free(Resolver *r, Binding b, Bindings *out) {
  Diag *d =
      diag_error(r->p->diags, E0108, b.span,
                 "`%%%s` is free: nothing gives it a value", b.var->name->text);
  diag_hint(d, "make it a parameter, or bind it with `let`");
  b.var = resolve_var(r, b.var);
  scope_bind(r, &r->vars, b.var->name, b.var);
  VEC_PUSH(out, b);
}

/* Resolves binding `i`, the first of a group of n. */
static void resolve_binding(Resolver *r, const Block *block, int i, int n,
                            Bindings *out) {
  Binding b = block->bindings[i];
  switch (b.kind) {
    case BIND_GRAPH: resolve_graph_binding(r, &block->bindings[i], out); break;
    case BIND_FREE: resolve_free(r, b, out); break;
    case BIND_ITEM:
      b.value = resolve_value(r, b.value, out);
      VEC_PUSH(out, b);
      break;
    default: resolve_let_group(r, &block->bindings[i], n, out); break;
  }
}

/* The items of a block; gives its result. */
static const Expr *resolve_items(Resolver *r, const Expr *e, Bindings *out) {
  const Block *block = e->block;
  for (int i = 0; i < block->count && !mem_exhausted(r->c->mem);) {
    int n = block_group(block, i);
    for (int k = 0; k < n; k++) emit_before(r, e, i + k, out);
    resolve_binding(r, block, i, n, out);
    i += n;
  }
  emit_before(r, e, block->count, out);
  return resolve_value(r, block->result, out);
}

static const Expr *resolve_block(Resolver *r, const Expr *e) {
  size_t mark = scope_mark(r);
  Bindings out;
  VEC_INIT(&out, r->c->mem);
  const Expr *result = resolve_items(r, e, &out);
  scope_end(r, mark);
  return block_of(r, &out, result, e);
}

/* The body of a scope: graph variables may have their home in it. */
static const Expr *resolve_body(Resolver *r, const Expr *e) {
  if (e->kind == EX_BLOCK || !homes_before(r->homes, e, 0))
    return resolve_expr(r, e);
  Bindings out;
  VEC_INIT(&out, r->c->mem);
  emit_before(r, e, 0, &out);
  Expr *result = (Expr *)resolve_expr(r, e);
  if (result->sugar == SUGAR_ELSE_IF) result->sugar = SUGAR_NONE;
  return block_of(r, &out, result, e);
}

/* --- Scopes -------------------------------------------------------------- */

/* `else if` goes on in the loop; its nodes are joined from the last. */
static const Expr *resolve_if(Resolver *r, const Expr *e, const Expr *head) {
  VEC(Expr *) chain;
  VEC_INIT(&chain, r->c->mem);
  const Expr *rest = e;
  do {
    Expr *made = node_like(r, rest, EX_IF);
    const Expr **args = ARENA_ARRAY(r->arena, const Expr *, 3);
    args[0] = head ? head : resolve_expr(r, rest->args[0]);
    args[1] = resolve_body(r, rest->args[1]);
    made->args = args;
    made->count = 3;
    VEC_PUSH(&chain, made);
    rest = rest->args[2];
    head = NULL;
  } while (rest->kind == EX_IF && rest->sugar == SUGAR_ELSE_IF &&
           !homes_before(r->homes, rest, 0));
  const Expr *result = resolve_body(r, rest);
  for (size_t i = chain.len; i-- > 0;) {
    ((const Expr **)chain.data[i]->args)[2] = result;
    result = chain.data[i];
  }
  VEC_DONE(&chain);
  return result;
}

/* Binds a parameter or a pattern's variable; those of one list have the ids
 * from `first` on.  `%_` may repeat. */
static void bind_once(Resolver *r, uint32_t first, Var *var) {
  const char *text = var->name->text;
  bool blank = text[0] == '_' && !text[1];
  const Var *before = ptrmap_get(&r->vars, var->name);
  if (!blank && before && before->id >= first)
    diag_error(r->p->diags, E0404, var->span, "`%%%s` is bound twice", text);
  scope_bind(r, &r->vars, var->name, var);
}

static const Pattern *resolve_pattern(Resolver *r, const Pattern *p,
                                      uint32_t first);

static void resolve_fields(Resolver *r, Pattern *p, const Pattern *parsed,
                           uint32_t first) {
  const Pattern **fields =
      ARENA_ARRAY(r->arena, const Pattern *, (size_t)parsed->count);
  p->fields = fields;
  if (!fields) p->count = 0;
  for (int i = 0; i < p->count; i++)
    fields[i] = resolve_pattern(r, parsed->fields[i], first);
}

static const Pattern *resolve_pattern(Resolver *r, const Pattern *parsed,
                                      uint32_t first) {
  Pattern *p = ARENA_NEW(r->arena, Pattern);
  *p = *parsed;
  if (p->kind == PT_VAR) {
    p->var = resolve_var(r, parsed->var);
    bind_once(r, first, p->var);
  }
  if (p->kind == PT_CTOR) {
    p->ctor = find_ctor(r, p->name);
    if (!p->ctor) unknown_ctor(r, p->span, p->name);
  }
  if (p->count > 0) resolve_fields(r, p, parsed, first);
  return p;
}

static const Expr *resolve_match(Resolver *r, const Expr *e) {
  const Match *parsed = e->match;
  Expr *made = node_like(r, e, EX_MATCH);
  made->args = resolve_args(r, e, NULL);
  made->count = 1;
  Match *match = ARENA_NEW(r->arena, Match);
  Arm *arms = ARENA_ARRAY(r->arena, Arm, (size_t)parsed->arm_count);
  *match = (Match){parsed->partial, arms ? parsed->arm_count : 0, arms};
  for (int i = 0; i < match->arm_count; i++) {
    size_t mark = scope_mark(r);
    arms[i] = parsed->arms[i];
    uint32_t first = r->p->next_var_id;
    arms[i].pattern = resolve_pattern(r, parsed->arms[i].pattern, first);
    arms[i].body = resolve_body(r, parsed->arms[i].body);
    scope_end(r, mark);
  }
  made->match = match;
  return made;
}

/* Lets for the named dimensions that the body uses as values. */
static const Expr *with_dim_reads(Resolver *r, const Fn *fn, const Expr *body) {
  Bindings out;
  VEC_INIT(&out, r->c->mem);
  for (int i = 0; i < fn->type_param_count; i++) {
    const DimRead *read = ptrmap_get(&r->dims, fn->type_vars[i]);
    if (!read || !read->used) continue;
    push_let(&out, read->var->span, read->var, read->value, SUGAR_NONE);
  }
  if (out.len == 0) return body;
  const Expr *at = body;
  if (body->kind == EX_BLOCK) {
    for (int i = 0; i < body->block->count; i++)
      VEC_PUSH(&out, body->block->bindings[i]);
    body = body->block->result;
  }
  return block_of(r, &out, body, at);
}

static const Expr *resolve_fn(Resolver *r, const Expr *e) {
  Expr *made = node_like(r, e, EX_FN);
  Fn *fn = ARENA_NEW(r->arena, Fn);
  *fn = *e->fn;
  size_t mark = scope_mark(r);
  fn->type_vars = resolve_type_params(r, fn->type_param_count, fn->type_params);
  if (!fn->type_vars) fn->type_param_count = 0;
  resolve_size_vars(r, fn);
  uint32_t first = r->p->next_var_id;
  Var **vars = ARENA_ARRAY(r->arena, Var *, (size_t)fn->param_count);
  if (!vars) fn->param_count = 0;
  for (int i = 0; i < fn->param_count; i++) {
    vars[i] = resolve_var(r, fn->params[i]);
    bind_once(r, first, vars[i]);
  }
  fn->params = vars;
  if (fn->result) fn->declared_result = resolve_type(r, fn->result);
  resolve_dim_params(r, fn);
  const Expr *body = resolve_body(r, fn->body);
  fn->body = with_dim_reads(r, fn, body);
  scope_end(r, mark);
  made->fn = fn;
  return made;
}

/* --- All expressions ----------------------------------------------------- */

static const Expr *resolve_over(Resolver *r, const Expr *e, const Expr *head) {
  Expr *made = node_like(r, e, e->kind);
  made->args = resolve_args(r, e, head);
  made->count = made->args ? e->count : 0;
  if (e->kind == EX_PROJ) made->index = e->index;
  return made;
}

static const Expr *resolve_node(Resolver *r, const Expr *e, const Expr *head) {
  switch (e->kind) {
    case EX_LOCAL: return resolve_local(r, e);
    case EX_GRAPH: return resolve_graph(r, e);
    case EX_IDENT: return resolve_ident(r, e);
    case EX_META: return resolve_meta(r, e);
    case EX_STRING: return resolve_string(r, e);
    case EX_BRACKET: return resolve_bracket(r, e);
    case EX_GLOBAL: return resolve_global(r, e);
    case EX_CALL: return resolve_call(r, e, head);
    case EX_FN: return resolve_fn(r, e);
    case EX_BLOCK: return resolve_block(r, e);
    case EX_IF: return resolve_if(r, e, head);
    case EX_MATCH: return resolve_match(r, e);
    case EX_CONST: {
      Expr *made = node_like(r, e, EX_CONST);
      made->constant = e->constant;
      return made;
    }
    default: return resolve_over(r, e, head);
  }
}

typedef struct ResolveCall {
  Resolver *r;
  const Expr *e, *made;
} ResolveCall;

static void run_resolve(void *call) {
  ResolveCall *c = call;
  c->made = resolve_expr(c->r, c->e);
}

const Expr *resolve_expr(Resolver *r, const Expr *e) {
  if (mem_exhausted(r->c->mem)) return resolve_error(r, e->span);
  if (split_is_used_up(&r->stack)) {
    ResolveCall call = {r, e, NULL};
    bool run = split_call(&r->stack, run_resolve, &call);
    return run ? call.made : resolve_error(r, e->span);
  }
  VEC(const Expr *) chain;
  VEC_INIT(&chain, r->c->mem);
  for (const Expr *next; (next = expr_spine(e)); e = next) VEC_PUSH(&chain, e);
  const Expr *done = resolve_node(r, e, NULL);
  while (chain.len > 0) done = resolve_node(r, VEC_POP(&chain), done);
  VEC_DONE(&chain);
  return done;
}

/* --- Definitions --------------------------------------------------------- */

static void check_param_type(Resolver *r) {
  const Type *t = r->def->declared;
  if (!t || t->kind == TY_TENSOR || t->kind == TY_ERROR) return;
  diag_error(r->p->diags, E0212, r->def->item->annotation->span,
             "a `param` is a tensor or a scalar");
}

/* A top-level `let %x`, with the group that it begins: functions see their own
 * names. */
static void bind_top_local(Resolver *r, size_t at, bool before) {
  const Definition *d = r->def;
  if (d->item->kind != ITEM_LET_LOCAL) return;
  if ((d->item->expr->kind == EX_FN) != before) return;
  const Definitions *all = &r->c->defs;
  /* A function before it in its group has bound it. */
  if (before && d->item->continues &&
      all->data[at - 1]->item->expr->kind == EX_FN)
    return;
  ptrmap_put(&r->scope->locals, d->item->name, d->global);
  for (size_t i = at + 1; before && i < all->len; i++) {
    const Definition *next = all->data[i];
    if (next->unit != d->unit || !next->item->continues) break;
    ptrmap_put(&r->scope->locals, next->item->name, next->global);
  }
}

/* Of `let ... and ...`: as in blocks, all are functions. */
static void check_top_group(Resolver *r) {
  const Item *item = r->def->item, *end = r->unit->items + r->unit->item_count;
  bool grouped = item->continues || (item + 1 < end && item[1].continues);
  if (grouped && item->expr->kind != EX_FN) wants_fn(r, item->expr->span);
}

static void resolve_definition(Checker *c, size_t at) {
  Definition *d = c->defs.data[at];
  Resolver r;
  resolver_init(&r, c, d);
  const Item *item = d->item;
  if (item->annotation) d->declared = resolve_type(&r, item->annotation);
  if (item->kind == ITEM_PARAM) check_param_type(&r);
  if (item->kind == ITEM_LET_GLOBAL || item->kind == ITEM_LET_LOCAL)
    check_top_group(&r);
  bind_top_local(&r, at, true);
  if (item->expr) {
    if (d->unit->has_graph) r.homes = homes_find(&r, item->expr);
    d->value = resolve_body(&r, item->expr);
    homes_done(r.homes);
  }
  bind_top_local(&r, at, false);
  if (d->global) d->global->value = d->value;
  resolver_done(&r);
}

static void resolve_ctor(Resolver *r, Ctor *ctor, const CtorDecl *decl,
                         const Type *result) {
  const Type **fields =
      ARENA_ARRAY(&r->p->arena, const Type *, (size_t)decl->field_count);
  if (!fields) ctor->field_count = 0;
  for (int i = 0; i < ctor->field_count; i++) {
    fields[i] = resolve_type(r, decl->fields[i]);
    if (!fields[i]->has_meta) continue;
    diag_error(r->p->diags, E0202, decl->fields[i]->span,
               "the type of a constructor's field must be written out");
    fields[i] = type_error(r->p->types);
  }
  ctor->fields = fields;
  ctor->type = type_fn(r->p->types, ctor->adt->param_count, ctor->adt->params,
                       ctor->field_count, fields, result);
}

static void resolve_adt_fields(Checker *c, const AdtWork *work) {
  Definition none = {.unit = work->unit, .scope = work->scope};
  Resolver r;
  resolver_init(&r, c, &none);
  Adt *adt = work->adt;
  const Type **args =
      ARENA_ARRAY(&c->arena, const Type *, (size_t)adt->param_count);
  for (int i = 0; args && i < adt->param_count; i++) {
    const TypeVar *var = adt->params[i];
    ptrmap_put(&r.type_vars, var->name, (void *)var);
    args[i] = type_var(c->p->types, var);
  }
  const Type *result = type_adt(c->p->types, adt, adt->param_count, args);
  for (int i = 0; i < adt->ctor_count; i++)
    resolve_ctor(&r, &adt->ctors[i], &work->decl->ctors[i], result);
  resolver_done(&r);
}

/* Resolving links the library on demand, so the lists grow meanwhile. */
void resolve_program(Checker *c) {
  Scope *scope = unit_is_library(c->unit) ? &c->p->library : &c->scope;
  declare_unit(c, c->unit, scope);
  bool more = true;
  while (more && !mem_exhausted(c->mem)) {
    more = false;
    for (; c->adts_resolved < c->adts.len; more = true)
      resolve_adt_fields(c, c->adts.data[c->adts_resolved++]);
    for (; c->resolved < c->defs.len; more = true)
      resolve_definition(c, c->resolved++);
  }
}
