/* Resolution of expressions: names become variables, globals, constructors and
 * operators; graph variables become lets at their homes (home.c); calls of
 * operators get their records (resolve_op.c, resolve_attr.c).
 *
 *   parsed     add(%x, nn.dense(%1, @w, units=4))
 *   resolved   OP_ADD(Var 7, OP_DENSE(Var 9, Global w) {units: 4})
 *
 * The parsed tree stays as it is, since the printer and the prompt still read
 * it; a new one is built beside it, in the unit's arena.  After this phase no
 * name is looked up again.  A mistake leaves an EX_ERROR, which has every type,
 * and resolution goes on.
 *
 * Recursion follows the nesting of the text, on a split stack.  What a program
 * can make long without nesting - flat operator chains, calls of calls, `else
 * if`, blocks - is walked in loops.
 *
 * Scopes: a block, an arm, a branch and a function each end what they bind
 * (scope.c).  A definition's uses of other definitions are collected on the
 * way; they are the edges of the call graph (scc.c). */
#include "types/resolve.h"

#include <string.h>

static const Expr *resolve_node(Resolver *r, const Expr *e, const Expr *head);

/* --- Making nodes -------------------------------------------------------- */

Expr *resolve_error(Resolver *r, Span span) {
  return expr_new(r->arena, EX_ERROR, span);
}

/* `_` as an expression.  What is in scope is known only now, and the type only
 * after inference, which finds the hole by the node's index. */
static Expr *resolve_hole(Resolver *r, Span span) {
  Expr *e = resolve_error(r, span);
  Arena *a = &r->c->arena;
  Hole *hole = ARENA_NEW(a, Hole);
  Var **vars = ARENA_ARRAY(a, Var *, r->vars.len + 1);
  if (!hole || !vars) return e;
  *hole = (Hole){
      .span = span, .vars = vars, .in_def = r->def->item->kind == ITEM_DEF};
  for (size_t i = 0; i < r->vars.cap; i++) {
    Var *var = r->vars.slots[i].key ? r->vars.slots[i].value : NULL;
    if (var && !var->is_dim) vars[hole->count++] = var;
  }
  VEC_PUSH(&r->c->holes, hole);
  e->index = (int64_t)r->c->holes.len;
  return e;
}

Expr *resolve_var_use(Resolver *r, Span span, Var *var) {
  Expr *e = expr_new(r->arena, EX_VAR, span);
  e->var = var;
  return e;
}

Expr *resolve_int(Resolver *r, Span span, DType dtype, int64_t value) {
  Value bits = bits_from_i64(dtype, value);
  return expr_const(r->arena, span, program_scalar(r->p, dtype, bits));
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

/* `%net.weight` where nothing has that name: field `weight` of what the longest
 * beginning names.  The parsed node becomes the field's, which is printed as
 * `(%net).weight`. */
static bool dotted_field(Resolver *r, const Expr *e, const Name *name,
                         bool (*is_bound)(Resolver *r, const Name *name)) {
  for (size_t len = name->len; len-- > 0;) {
    if (name->text[len] != '.') continue;
    const Name *head = name_intern(r->p->names, name->text, len);
    if (!is_bound(r, head)) continue;
    field_split(r, (Expr *)e, head, name->text + len);
    return true;
  }
  return false;
}

static bool is_local(Resolver *r, const Name *name) {
  bool in_def = r->def->item->kind == ITEM_DEF;
  return ptrmap_has(&r->vars, name) || (!in_def && scope_local(r->scope, name));
}

/* A function has no fields, so `@f.x` is a misspelt name. */
static bool is_global(Resolver *r, const Name *name) {
  const Global *g = find_global(r, name);
  return g && g->kind != GLOBAL_DEF;
}

static bool is_hole(const Expr *ident) {
  return !strcmp(ident->name->text, "_");
}

/* Reported once, where it is declared. */
static void used_free(Resolver *r, const Var *var) {
  const Binding *b = ptrmap_get(&r->free_vars, var);
  if (!b) return;
  Diag *d =
      diag_error(r->p->diags, E0108, b->span,
                 "`%%%s` is free: nothing gives it a value", var->name->text);
  diag_hint(d, "make it a parameter, or bind it with `let`");
  ptrmap_put(&r->free_vars, var, NULL);
}

/* A local variable, or a top-level `let %x` where the text is no definition.
 * While the value of a hoisted graph variable is resolved, uses of variables
 * bound outside of it are noted, for check_hoisted. */
static const Expr *resolve_local(Resolver *r, const Expr *e) {
  Var *var = ptrmap_get(&r->vars, e->name);
  if (var) {
    if (r->free_vars.len) used_free(r, var);
    if (r->rooms.len) room_use(r, var, e);
    if (var->id < r->watch_below)
      VEC_PUSH(&r->watched, (struct Watched){e->name, var});
    return resolve_var_use(r, e->span, var);
  }
  bool in_def = r->def->item->kind == ITEM_DEF;
  Global *g = in_def ? NULL : scope_local(r->scope, e->name);
  if (!g) {
    bool field = dotted_field(r, e, e->name, is_local);
    return field ? resolve_expr(r, e) : unknown_local(r, e);
  }
  Expr *use = node_like(r, e, EX_GLOBAL);
  use->g.name = e->name;
  use->g.global = g;
  Definition *def = g->definition;
  if (def) VEC_PUSH(&r->def->uses, def);
  return use;
}

/* A value may be named only below its `let`; a function may name itself, and
 * the functions of its group one another.  A group `let @f = fn ... and @g = fn
 * ...` is in the order of the text and marked `continues`; its first function's
 * place counts for all. */
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
  if (!g) {
    bool field = dotted_field(r, e, e->g.name, is_global);
    return field ? resolve_expr(r, e) : unknown_global(r, e);
  }
  Expr *use = node_like(r, e, EX_GLOBAL);
  use->g.name = e->g.name;
  use->g.parsed = e;
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

/* Without a node the variable is not defined above this use; with a node that
 * has no let yet, its own value mentions it, which was reported where it is
 * defined. */
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

/* A constructor without fields, named alone, is called.  Nil is a value, Cons a
 * function: that is how both read in types. */
static const Expr *ctor_value(Resolver *r, const Expr *e, const Ctor *ctor) {
  Expr *node = ctor_node(r, e->span, ctor);
  if (ctor->field_count > 0) return node;
  Expr *call = expr_call(r->arena, e->span, node, 0, NULL);
  call->sugar = SUGAR_CTOR;
  return call;
}

Expr *resolve_dim_value(Resolver *r, Span span, const TypeVar *dim) {
  DimRead *read = ptrmap_get(&r->dims, dim);
  if (!read) return NULL;
  read->used = true;
  return resolve_var_use(r, span, read->var);
}

/* The value of a name that is a dimension; NULL when it is none. */
static const Expr *dim_expr(Resolver *r, const Expr *e) {
  const TypeVar *var = ptrmap_get(&r->type_vars, e->name);
  bool dim = var && var->kind == KIND_DIM && e->sugar != SUGAR_SPLAT;
  return dim ? resolve_dim_value(r, e->span, var) : NULL;
}

/* A bare word is looked up as a named dimension, a constructor and an operator,
 * in this order: the innermost scope first.  The `dyn.` spelling of an operator
 * takes attributes as arguments, so it is no value. */
static const Expr *resolve_ident(Resolver *r, const Expr *e) {
  if (is_hole(e)) return resolve_hole(r, e->span);
  const Expr *dim = dim_expr(r, e);
  if (dim) return dim;
  const Ctor *ctor = find_ctor(r, e->name);
  if (ctor) return ctor_value(r, e, ctor);
  bool dyn;
  OpId op = op_find(e->name->text, &dyn);
  if (op == OP_COUNT || dyn || e->sugar == SUGAR_SPLAT) {
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

/* Only what fills in a message may stand after it. */
static bool may_be_late(Resolver *r, const Expr *e) {
  const Expr *callee = e->call.callee;
  bool dyn;
  if (callee->kind == EX_IDENT) {
    OpId op = op_find(callee->name->text, &dyn);
    if (op != OP_COUNT && op_info(op)->fills) return true;
  }
  const Expr *first = e->args[e->count - e->call.late];
  Diag *d = diag_error(r->p->diags, E0004, first->span,
                       "expected `name=value` after what is given by name");
  diag_hint(d, "attributes and named fields, `name=value`, come last");
  return false;
}

/* `rank(s)`: each instance has a number of its own, also where no value tells
 * what the dimensions are.  NULL: the call is another. */
static const Expr *rank_expr(Resolver *r, const Expr *e) {
  const Name *shape = expr_rank_of(e);
  const TypeVar *var = shape ? ptrmap_get(&r->type_vars, shape) : NULL;
  if (!var || var->kind != KIND_SHAPE) return NULL;
  return resolve_int(r, e->span, DT_INT32, var->rank);
}

/* The number of operands is checked before they are resolved, so that a call
 * with too many does not also report what is in them. */
static const Expr *resolve_named_call(Resolver *r, const Expr *e,
                                      const Expr *head) {
  const Expr *name = e->call.callee;
  if (is_hole(name))
    return call_of(r, e, resolve_hole(r, name->span), resolve_args(r, e, head));
  const Expr *dim = dim_expr(r, name);
  const Ctor *ctor = dim ? NULL : find_ctor(r, name->name);
  if (dim || ctor) {
    const Expr *callee = dim ? dim : ctor_node(r, name->span, ctor);
    const Expr *call = call_of(r, e, callee, resolve_args(r, e, head));
    return ctor && e->call.attr_count ? resolve_fields(r, e, call) : call;
  }
  bool dyn;
  OpId op = op_find(name->name->text, &dyn);
  const Expr *rank = op == OP_COUNT ? rank_expr(r, e) : NULL;
  if (rank) return rank;
  if (op == OP_COUNT) unknown_ident(r, name->span, name->name);
  bool takes = op == OP_COUNT || check_operator_arity(r, e, op, dyn);
  if (takes && op != OP_COUNT && op_is_lowered(op_info(op)))
    return resolve_lowered(r, e, op, head);
  const Expr *call = op == OP_MAP_LEAVES ? resolve_leaf_call(r, e) : e;
  const Expr *const *args = takes ? resolve_args(r, call, head) : NULL;
  if (!takes || op == OP_COUNT || (e->count > 0 && !args))
    return resolve_error(r, e->span);
  if (op == OP_MAP_LEAVES) return resolve_map_leaves(r, e, args);
  return resolve_operator(r, e, op, dyn, e->count, args);
}

/* What a call of a function says by name means nothing, unless it is a record
 * of Relay's: as in Relay that says its type. */
static bool report_named(Resolver *r, const Expr *e) {
  const Attr *first = e->call.attrs;
  for (int i = 0; i < e->call.attr_count; i++) {
    const Name *name = e->call.attrs[i].name;
    if (!name || !strcmp(name->text, "attrs_type_key")) return true;
  }
  if (e->call.attr_count == 0) return true;
  Diag *d = diag_error(r->p->diags, E0109, first->span,
                       "a function has no attribute `%s`", first->name->text);
  diag_hint(d,
            "only operators have attributes; the arguments of a function stand "
            "in the order of its parameters");
  return false;
}

/* `head` is the resolved callee of a chain f(x)(y)(z), whose calls nest on the
 * left; in resolve_named_call it is the first operand, as of a + b + c. */
static const Expr *resolve_call(Resolver *r, const Expr *e, const Expr *head) {
  if (e->call.late && !may_be_late(r, e)) return resolve_error(r, e->span);
  if (head && head->kind == EX_GLOBAL && head->g.global->inlined)
    return resolve_inlined(r, e, head->g.global);
  if (e->sugar == SUGAR_WITH) return resolve_with(r, e, head);
  if (e->call.callee->kind == EX_IDENT) return resolve_named_call(r, e, head);
  if (e->call.callee->kind == EX_OP) { /* of the host: lib/operator.c */
    const Expr *const *operands = resolve_args(r, e, NULL);
    OpId op = (OpId)e->call.callee->op;
    return operands ? resolve_operator(r, e, op, false, e->count, operands)
                    : resolve_error(r, e->span);
  }
  const Expr *const *args = resolve_args(r, e, NULL);
  const Expr *callee = head ? head : resolve_expr(r, e->call.callee);
  return report_named(r, e) ? call_of(r, e, callee, args)
                            : resolve_error(r, e->span);
}

/* --- Blocks -------------------------------------------------------------- */

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
 * items go before.  The scope still ends with the block: its items join those
 * around it, its names do not. */
static const Expr *resolve_value(Resolver *r, const Expr *e, Bindings *out) {
  if (e->kind != EX_BLOCK || !homes_flat(r->homes, e))
    return resolve_expr(r, e);
  size_t mark = scope_mark(r);
  const Expr *value = resolve_items(r, e, out);
  scope_end(r, mark);
  return value;
}

/* The value of a `let` or an item, which may write into what stands before. */
static const Expr *resolve_item(Resolver *r, const Expr *e, Bindings *out) {
  const Expr *written = resolve_write(r, e, out);
  return written ? written : resolve_value(r, e, out);
}

/* A graph variable becomes a let; its value is resolved where the let goes.  A
 * node that leaves the place of its binding is resolved at its home, where
 * other variables may be in scope: uses of variables older than this moment are
 * noted in `watched`, for the place of the binding to compare. */
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
 * must mean here what it means at its home.
 *
 *   if (%c) { let %x = 2; %1 = negative(%x); %1 } else { %1 }
 *
 * Both branches use %1, so its home is before the `if`, where %x is another
 * one. */
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
 * what the name meant before.  The values of a group are resolved after all its
 * variables are bound; a single value that is no function before its own is. */
static void resolve_let_group(Resolver *r, const Binding *group, int n,
                              Bindings *out) {
  bool recursive = n > 1 || group[0].value->kind == EX_FN;
  check_group(r, group, n);
  const Expr *single = recursive ? NULL : resolve_item(r, group->value, out);
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
  room_bind(r, group->value, var);
}

/* `free_var` declares what the text does not define.  What uses it has no value
 * (used_free); without a use it says nothing, and goes. */
static void resolve_free(Resolver *r, const Binding *b) {
  Var *var = resolve_var(r, b->var);
  scope_bind(r, &r->vars, var->name, var);
  ptrmap_put(&r->free_vars, var, (void *)b);
}

/* Resolves binding `i`, the first of a group of n. */
static void resolve_binding(Resolver *r, const Block *block, int i, int n,
                            Bindings *out) {
  Binding b = block->bindings[i];
  switch (b.kind) {
    case BIND_GRAPH: resolve_graph_binding(r, &block->bindings[i], out); break;
    case BIND_FREE: resolve_free(r, &block->bindings[i]); break;
    case BIND_ITEM:
      b.value = resolve_item(r, b.value, out);
      VEC_PUSH(out, b);
      break;
    default: resolve_let_group(r, &block->bindings[i], n, out); break;
  }
}

/* The items of a block; gives its result.  Nodes whose home is this block go
 * before the item that uses them first, in the order in which homes_before has
 * them. */
static const Expr *resolve_items(Resolver *r, const Expr *e, Bindings *out) {
  const Block *block = e->block;
  const Expr *outer = r->block;
  r->block = e;
  for (int i = 0; i < block->count && !mem_exhausted(r->c->mem);) {
    int n = block_group(block, i);
    for (int k = 0; k < n; k++) emit_before(r, e, i + k, out);
    resolve_binding(r, block, i, n, out);
    i += n;
  }
  emit_before(r, e, block->count, out);
  const Expr *result = resolve_value(r, block->result, out);
  r->block = outer;
  return result;
}

/* A block that binds nothing disappears, unless it was written in braces of its
 * own, which the printer keeps. */
static const Expr *resolve_block(Resolver *r, const Expr *e) {
  size_t mark = scope_mark(r);
  Bindings out;
  VEC_INIT(&out, r->c->mem);
  const Expr *result = resolve_items(r, e, &out);
  scope_end(r, mark);
  bool bare = out.len == 0 && e->sugar == SUGAR_NONE;
  if (bare) VEC_DONE(&out);
  return bare ? result : block_of(r, &out, result, e);
}

/* The body of a scope: graph variables may have their home in it.  A scope that
 * is no block becomes one, if a node has to be evaluated in it. */
const Expr *resolve_body(Resolver *r, const Expr *e) {
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

/* `else if` goes on in the loop; each node is put in the place that the one
 * before has for it.  The loop ends early at an `else if` that has a node
 * before its condition: then the rest is a block in the else branch. */
static const Expr *resolve_if(Resolver *r, const Expr *e, const Expr *head) {
  const Expr *rest = e, *first = NULL, **place = &first;
  do {
    Expr *made = node_like(r, rest, EX_IF);
    made->branch.parsed = rest;
    made->branch.known = r->inlined > 0;
    const Expr **args = ARENA_ARRAY(r->arena, const Expr *, 3);
    args[0] = head ? head : resolve_expr(r, rest->args[0]);
    args[1] = resolve_body(r, rest->args[1]);
    made->args = args;
    made->count = 3;
    *place = made;
    place = &args[2];
    rest = rest->args[2];
    head = NULL;
  } while (rest->kind == EX_IF && rest->sugar == SUGAR_ELSE_IF &&
           !homes_before(r->homes, rest, 0));
  *place = resolve_body(r, rest);
  return first;
}

/* One parsed arm may become several, which share guard and body
 * (resolve_pattern.c). */
static const Expr *resolve_match(Resolver *r, const Expr *e) {
  Expr *made = node_like(r, e, EX_MATCH);
  VEC_PUSH(&r->c->matches, made);
  made->args = resolve_args(r, e, NULL);
  made->count = 1;
  ArmList list;
  arms_begin(&list, r, e->match);
  for (int i = 0; i < e->match->arm_count; i++) {
    const Arm *parsed = &e->match->arms[i];
    size_t mark = scope_mark(r);
    size_t first = arms_add(&list, parsed);
    const Expr *guard = parsed->guard ? resolve_body(r, parsed->guard) : NULL;
    const Expr *body = resolve_body(r, parsed->body);
    for (size_t k = first; k < list.arms.len; k++) {
      list.arms.data[k].guard = guard;
      list.arms.data[k].body = body;
    }
    scope_end(r, mark);
  }
  made->match = arms_end(&list);
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

/* The order is that of scopes: type parameters, then parameters, whose
 * annotations mention them, then the result's type, then reads of named
 * dimensions, which mention parameters, then the body. */
static const Expr *resolve_fn(Resolver *r, const Expr *e) {
  Expr *made = node_like(r, e, EX_FN);
  Fn *fn = ARENA_NEW(r->arena, Fn);
  *fn = *e->fn;
  size_t mark = scope_mark(r);
  fn->type_vars = resolve_type_params(r, fn->type_param_count, fn->type_params);
  if (!fn->type_vars) fn->type_param_count = 0;
  bool instance = r->def->instance && e == r->def->item->expr;
  bool leaf = r->leaf_params && fn->type_params == r->leaf_params;
  if (instance || leaf) resolve_instance_params(r, fn);
  if (r->unit->meta_count > 0) resolve_size_vars(r, fn);
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

/* The variable `input.1` where there is no `%input` to project; else NULL.  The
 * operand of a projection is resolved before it, so this looks ahead. */
static Var *indexed_var(Resolver *r, const Expr *e, int64_t index) {
  if (e->kind != EX_LOCAL || ptrmap_has(&r->vars, e->name)) return NULL;
  const char *text =
      arena_printf(&r->c->arena, "%s.%lld", e->name->text, (long long)index);
  return text ? ptrmap_get(&r->vars, name_of(r->p->names, text)) : NULL;
}

static const Expr *resolve_over(Resolver *r, const Expr *e, const Expr *head) {
  Expr *made = node_like(r, e, e->kind);
  made->args = resolve_args(r, e, head);
  made->count = made->args ? e->count : 0;
  if (e->kind == EX_PROJ) made->index = e->index;
  if (e->kind == EX_FIELD) {
    made->field = e->field;
    made->field.parsed = e;
  }
  if (expr_is_of_cell(e)) made->cell.parsed = e;
  return made;
}

/* Resolves one node.  `head` is what its leftmost child was resolved to, if the
 * loop of resolve_expr has been there. */
static const Expr *resolve_node(Resolver *r, const Expr *e, const Expr *head) {
  switch (e->kind) {
    case EX_LOCAL: return resolve_local(r, e);
    case EX_GRAPH: return resolve_graph(r, e);
    case EX_IDENT: return resolve_ident(r, e);
    case EX_META: return resolve_meta(r, e);
    case EX_LIST: return resolve_list(r, e);
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

/* The spine of leftmost children is pushed from the outside in and resolved
 * from the inside out.  A split stack that cannot grow means that memory ran
 * out. */
const Expr *resolve_expr(Resolver *r, const Expr *e) {
  if (mem_exhausted(r->c->mem)) return resolve_error(r, e->span);
  if (split_is_used_up(&r->stack)) {
    ResolveCall call = {r, e, NULL};
    bool run = split_call(&r->stack, run_resolve, &call);
    return run ? call.made : resolve_error(r, e->span);
  }
  Spine *spine = &r->c->spine;
  size_t mark = spine->len;
  for (const Expr *next; (next = expr_spine(e)); e = next) VEC_PUSH(spine, e);
  Var *indexed = spine->len > mark && VEC_LAST(spine)->kind == EX_PROJ
                     ? indexed_var(r, e, VEC_LAST(spine)->index)
                     : NULL;
  const Expr *done = indexed ? resolve_var_use(r, VEC_POP(spine)->span, indexed)
                             : resolve_node(r, e, NULL);
  while (spine->len > mark) done = resolve_node(r, VEC_POP(spine), done);
  return done;
}

/* --- Definitions --------------------------------------------------------- */

/* A top-level `let %x`, with the group that it begins: functions see their own
 * names.  It is called twice for each: with `before` for functions, which see
 * themselves, and after the value for all others, which see what the name meant
 * so far. */
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

/* All members of a top-level `let ... and ...` are functions, as in blocks. */
static void check_top_group(Resolver *r) {
  const Item *item = r->def->item, *end = r->unit->items + r->unit->item_count;
  bool grouped = item->continues || (item + 1 < end && item[1].continues);
  if (grouped && item->expr->kind != EX_FN) wants_fn(r, item->expr->span);
}

/* Homes are sought only in units with graph variables: most texts have none,
 * and the walk costs as much as the definition is long. */
void resolve_definition(Checker *c, size_t at) {
  Definition *d = c->defs.data[at];
  Resolver r;
  resolver_init(&r, c, d);
  const Item *item = d->item;
  if (item->annotation) d->declared = resolve_type(&r, item->annotation);
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

/* A constructor is a function from its fields to its type, over the type's
 * parameters: Cons : fn [A](A, List[A]) -> List[A]. */
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

/* A resolver for the text of a type's declaration, and the type's parameters as
 * arguments. */
static const Type **adt_resolver(Resolver *r, Checker *c, Definition *none,
                                 const AdtWork *work) {
  *none = (Definition){.unit = work->unit, .scope = work->scope};
  resolver_init(r, c, none);
  const Adt *adt = work->adt;
  const Type **args =
      ARENA_ARRAY(&c->arena, const Type *, (size_t)adt->param_count);
  for (int i = 0; i < work->decl->param_count && work->vars; i++)
    ptrmap_put(&r->type_vars, work->vars[i]->name, (void *)work->vars[i]);
  for (int i = 0; args && i < adt->param_count; i++)
    args[i] = type_param(c->p->types, adt->params[i]);
  return args;
}

static const Type *alias_meaning(Checker *c, const AdtWork *work) {
  Definition none;
  Resolver r;
  adt_resolver(&r, c, &none, work);
  const TypeExpr *text = work->decl->meaning;
  const Type *meaning = resolve_type(&r, text);
  if (meaning->has_meta) {
    diag_error(c->p->diags, E0202, text->span,
               "the type that an alias stands for must be written out");
    meaning = type_error(c->p->types);
  }
  resolver_done(&r);
  return meaning;
}

/* `busy` finds an alias that reaches itself.  C recurses here from alias to
 * alias, and the text does not bound that by its nesting, so a depth does. */
const Type *resolve_alias(Checker *c, Adt *alias) {
  AdtWork *work = (AdtWork *)alias->pending;
  if (alias->meaning) return alias->meaning;
  const Type *meaning = type_error(c->p->types);
  if (work->busy) {
    Diag *d = diag_error(c->p->diags, E0118, alias->span,
                         "the alias `%s` stands for itself", alias->name->text);
    diag_hint(d, "a type that holds itself is a data type: type %s { ... }",
              alias->name->text);
  } else if (c->alias_depth == ALIAS_DEPTH_MAX) {
    diag_error(c->p->diags, E0006, alias->span,
               "aliases stand for aliases below them more than %d deep",
               ALIAS_DEPTH_MAX);
  } else {
    work->busy = true;
    c->alias_depth++;
    meaning = alias_meaning(c, work);
    c->alias_depth--;
  }
  if (!alias->meaning) alias->meaning = meaning;
  return alias->meaning;
}

static void resolve_adt_fields(Checker *c, const AdtWork *work) {
  Adt *adt = work->adt;
  if (adt->is_alias) {
    resolve_alias(c, adt);
    return;
  }
  Definition none;
  Resolver r;
  const Type **args = adt_resolver(&r, c, &none, work);
  const Type *result = type_adt(c->p->types, adt, adt->param_count, args);
  for (int i = 0; i < adt->ctor_count; i++)
    resolve_ctor(&r, &adt->ctors[i], &work->decl->ctors[i], result);
  resolver_done(&r);
}

void resolve_adts(Checker *c) {
  if (c->adts_busy) return;
  c->adts_busy = true;
  while (c->adts_resolved < c->adts.len && !mem_exhausted(c->mem))
    resolve_adt_fields(c, c->adts.data[c->adts_resolved++]);
  c->adts_busy = false;
}

void resolve_program(Checker *c) {
  fragment_to_main(c->p, c->unit);
  Scope *scope = unit_is_library(c->unit) ? &c->p->library : &c->scope;
  declare_unit(c, c->unit, scope);
  resolve_adts(c);
  check_generic_adts(c);
  resolve_new(c);
}

/* Resolving links the library on demand, so the lists grow meanwhile.  Types go
 * first in each round: a definition may need the fields of a constructor that
 * has just been linked. */
void resolve_new(Checker *c) {
  bool more = true;
  while (more && !mem_exhausted(c->mem)) {
    more = c->adts_resolved < c->adts.len;
    resolve_adts(c);
    for (; c->resolved < c->defs.len; more = true)
      resolve_definition(c, c->resolved++);
  }
}
