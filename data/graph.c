/* The graph of a checked program: a node for each operation, an edge for each
 * value that flows, and a control edge wherever one effect has to come before
 * another.
 *
 *   let %y = f(%x); g(%y, %y)      x -> f,  f -> g twice: a let is no node
 *   if (%c) { a } else { b }       c -> choice, a -> join, b -> join; a and b
 *                                  lie in regions of their own
 *   fn (%x) { e }                  a region with a node for %x and one for the
 *                                  result, which flows to the function's node
 *
 * Control edges.  What changes or shows something (a write, a print, a call of
 * a function that is given) is a step: it comes after all that was evaluated
 * before it.  What only reads, fails or diverges comes after the last step, in
 * no order among its like.  Of several edges that follow from one another only
 * the last is drawn.
 *
 * A branch has an order of its own.  What came before the choice is joined to
 * the choice's node once, by a gate, and only if something inside needs it;
 * what is done inside is joined to the node after both branches.  So the
 * number of edges stays in proportion to that of nodes. */
#include "data/graph.h"

#include <string.h>

#include "ir/printer.h"
#include "ops/ops.h"
#include "types/types.h"

enum { LABEL_MOST = 48 };

const NodeLook node_looks[NODE_KINDS] = {
#define NODE(id, word, shape) [NODE_##id] = {word, shape},
#include "data/graph.def"
#undef NODE
};

/* The effects so far, in order, of one way through the program. */
typedef struct Order {
  struct Order *outer; /* around the branch; NULL: a function's own */
  int gate;            /* the choice's node */
  bool opened;         /* what came before is joined to the gate, */
  bool waits;          /* and there was something */
  int step;            /* the last one; -1: none */
  size_t since;        /* where what came after it begins in Builder's list */
  Effects found;
} Order;

typedef struct Builder {
  Graph *g;
  SplitStack stack;
  PtrMap vars;    /* Var -> its node + 1 */
  PtrMap globals; /* Global -> its node + 1, in the item at hand */
  PtrMap queued;  /* Global -> itself, with an entry */
  VEC(const Global *) queue;
  bool follow;
  VEC(int) since; /* nodes after the last step, of all orders under way */
  Order *order;
  int region;
} Builder;

/* --- Texts ---------------------------------------------------------------- */

static const char *keep_text(Builder *b, StrBuf *text) {
  size_t len = text->len;
  const char *t = strbuf_text(text);
  bool cut = len > LABEL_MOST;
  if (cut) len = utf8_begin(t, LABEL_MOST - 3);
  const char *kept =
      arena_printf(&b->g->arena, "%.*s%s", (int)len, t, cut ? "..." : "");
  strbuf_done(text);
  return kept ? kept : "";
}

/* What of a program prints on one line: a pattern, a small constant. */
static const char *printed(Builder *b, const Expr *e, const Pattern *pattern) {
  StrBuf text;
  strbuf_init(&text, b->g->mem);
  if (e) expr_print(b->g->program, e, &text);
  else pattern_print(b->g->program, pattern, &text);
  while (text.len > 0 && text.data[text.len - 1] == '\n') text.len--;
  return keep_text(b, &text);
}

static const char *type_text(Builder *b, const Type *t) {
  StrBuf text;
  strbuf_init(&text, b->g->mem);
  type_print(b->g->program->types, &text, t, LABEL_MOST);
  return keep_text(b, &text);
}

static const char *sigil_text(Builder *b, const char *sigil, const Name *name) {
  const char *text = arena_printf(&b->g->arena, "%s%s", sigil, name->text);
  return text ? text : "";
}

/* --- Nodes and edges ------------------------------------------------------ */

static int add_region(Builder *b, const char *kind, const char *label) {
  VEC_PUSH(&b->g->regions, (GraphRegion){b->region, kind, label});
  return (int)b->g->regions.len - 1;
}

static int add_node(Builder *b, NodeKind kind, const char *label,
                    const Type *type, Span span) {
  VEC_PUSH(&b->g->nodes, (GraphNode){.kind = kind,
                                     .region = b->region,
                                     .label = label,
                                     .type = type,
                                     .span = span});
  return (int)b->g->nodes.len - 1;
}

static void add_flow(Builder *b, int from, int to, const char *port,
                     const Type *type) {
  VEC_PUSH(&b->g->edges, (GraphEdge){from, to, false, port, type});
}

static void add_control(Builder *b, int from, int to) {
  VEC_PUSH(&b->g->edges, (GraphEdge){from, to, true, NULL, NULL});
}

/* --- The order of effects ------------------------------------------------- */

/* The effects that make a node a step. */
enum { DOES_STEP = EFFECT_WRITE | EFFECT_PARAM | EFFECT_PRINT };

static Order order_new(const Builder *b, Order *outer, int gate) {
  return (Order){
      .outer = outer, .gate = gate, .step = -1, .since = b->since.len};
}

static bool join_before(Builder *b, Order *o, Effects does, int node);

/* Is there something before the choice that what is inside has to wait for?  It
 * is joined to the gate at the first question. */
static bool gate_waits(Builder *b, Order *o) {
  if (o->outer && !o->opened) {
    o->opened = true;
    o->waits = join_before(b, o->outer, EFFECT_ALL, o->gate);
  }
  return o->waits;
}

/* What came after the last step, and is not ordered by another.  A choice that
 * may fail is among that when it becomes a gate. */
static void join_since(Builder *b, const Order *o, int node) {
  for (size_t i = o->since; i < b->since.len; i++)
    if (b->since.data[i] != node) add_control(b, b->since.data[i], node);
}

/* Joins to the node what has to come before it; false when nothing has. */
static bool join_before(Builder *b, Order *o, Effects does, int node) {
  bool since = does & DOES_STEP && b->since.len > o->since;
  if (since) join_since(b, o, node);
  else if (o->step >= 0) add_control(b, o->step, node);
  else if (gate_waits(b, o)) add_control(b, o->gate, node);
  else return false;
  return true;
}

/* Those effects have happened at the node, or within the choice that it ends.
 */
static void come_after(Builder *b, int node, Effects does) {
  Order *o = b->order;
  o->found |= does;
  if (does & DOES_STEP) o->step = node, b->since.len = o->since;
  else VEC_PUSH(&b->since, node);
}

/* The node's own effects happen now. */
static void happen(Builder *b, int node, Effects does) {
  does &= EFFECT_ALL | EFFECT_PARAM;
  b->g->nodes.data[node].effects = does;
  does &= ~EFFECT_ALLOC;
  if (!does) return;
  join_before(b, b->order, does, node);
  come_after(b, node, does);
}

/* The end of a branch: what it did comes before the node after it. */
static void end_branch(Builder *b, Order *o, int join) {
  join_since(b, o, join);
  if (o->step >= 0 && b->since.len == o->since) add_control(b, o->step, join);
  b->since.len = o->since;
  b->order = o->outer;
}

/* --- Expressions ---------------------------------------------------------- */

static int build(Builder *b, const Expr *e);

static void flow(Builder *b, const Expr *e, int to, const char *port) {
  int from = build(b, e);
  if (from >= 0) add_flow(b, from, to, port, e->type);
}

static int node_of(const PtrMap *map, const void *key) {
  return (int)(uintptr_t)ptrmap_get(map, key) - 1;
}

static void set_node(PtrMap *map, const void *key, int node) {
  ptrmap_put(map, key, (void *)((uintptr_t)node + 1));
}

/* With an entry, a definition that is reached is drawn, too. */
static void reach(Builder *b, Global *g) {
  bool own = g->kind == GLOBAL_DEF && !g->library;
  if (!b->follow || !own || ptrmap_has(&b->queued, g)) return;
  ptrmap_put(&b->queued, g, g);
  VEC_PUSH(&b->queue, g);
}

static int build_global(Builder *b, const Expr *e) {
  Global *g = e->g.global;
  int node = node_of(&b->globals, g);
  reach(b, g);
  if (node >= 0) return node;
  node = add_node(b, g->kind == GLOBAL_PARAM ? NODE_PARAM : NODE_GLOBAL,
                  sigil_text(b, global_sigil(g), g->name), e->type, e->span);
  set_node(&b->globals, g, node);
  return node;
}

static int build_var(Builder *b, const Expr *e) {
  int node = node_of(&b->vars, e->var);
  if (node >= 0) return node;
  node = add_node(b, NODE_PARAM, sigil_text(b, "%", e->var->name), e->type,
                  e->span);
  set_node(&b->vars, e->var, node);
  return node;
}

/* `axis=-1, keepdims=True`: attributes whose values are numbers and texts. */
static const char *attrs_text(Builder *b, const Attr *attrs, int count) {
  StrBuf text;
  strbuf_init(&text, b->g->mem);
  for (int i = 0; i < count && text.len <= LABEL_MOST; i++) {
    if (attrs[i].value->kind == AX_EXPR) continue;
    Printer p;
    printer_init(&p, b->g->mem, b->g->program);
    p.resolved = true;
    if (text.len > 0) strbuf_add(&text, ", ");
    print_attr(&p, &attrs[i], "=");
    doc_render(&p.doc, 0, &text);
    printer_done(&p);
  }
  bool none = text.len == 0;
  const char *kept = keep_text(b, &text);
  return none ? NULL : kept;
}

static int build_call_node(Builder *b, const Expr *e) {
  const Expr *callee = e->call.callee;
  const Program *p = b->g->program;
  const char *label = "call";
  NodeKind kind = NODE_CALL;
  if (callee->kind == EX_OP) {
    kind = NODE_OP;
    label = p->op_name(callee->op);
  } else if (callee->kind == EX_CTOR) {
    kind = NODE_CTOR;
    label = callee->ctor->name->text;
  } else if (callee->kind == EX_GLOBAL) {
    const Global *g = callee->g.global;
    label = sigil_text(b, global_sigil(g), g->name);
    reach(b, callee->g.global);
  }
  return add_node(b, kind, label, e->type, e->span);
}

/* Operands come before the call's own node in the order of evaluation, and the
 * node has to be there for their edges; so it waits for its effects. */
static int build_call(Builder *b, const Expr *e) {
  const Expr *callee = e->call.callee;
  VEC(int) from;
  VEC_INIT(&from, b->g->mem);
  for (int i = 0; i < e->count && !mem_exhausted(b->g->mem); i++) {
    int node = build(b, e->args[i]);
    VEC_PUSH(&from, node);
  }
  bool named = callee->kind == EX_OP || callee->kind == EX_CTOR ||
               callee->kind == EX_GLOBAL;
  int value = named ? -1 : build(b, callee);
  int node = build_call_node(b, e);
  for (size_t i = 0; i < from.len; i++)
    add_flow(b, from.data[i], node, NULL, e->args[i]->type);
  if (value >= 0) add_flow(b, value, node, "function", callee->type);
  VEC_DONE(&from);
  const Attr *attrs = e->call.attrs;
  int operands = e->count, count = e->call.attr_count;
  if (e->call.bound && b->g->program->attrs_written)
    count = b->g->program->attrs_written(&b->g->arena, b->g->program->names, e,
                                         &attrs, &operands);
  b->g->nodes.data[node].detail = attrs_text(b, attrs, count);
  happen(b, node, expr_own_effects(b->g->program, e));
  return node;
}

static int build_parts(Builder *b, const Expr *e, NodeKind kind,
                       const char *label) {
  VEC(int) from;
  VEC_INIT(&from, b->g->mem);
  for (int i = 0; i < e->count && !mem_exhausted(b->g->mem); i++) {
    int node = build(b, e->args[i]);
    VEC_PUSH(&from, node);
  }
  int node = add_node(b, kind, label, e->type, e->span);
  for (size_t i = 0; i < from.len; i++)
    add_flow(b, from.data[i], node, NULL, e->args[i]->type);
  VEC_DONE(&from);
  happen(b, node, expr_own_effects(b->g->program, e));
  return node;
}

/* --- Functions ------------------------------------------------------------ */

static const char *params_text(Builder *b, const Fn *fn) {
  StrBuf text;
  strbuf_init(&text, b->g->mem);
  strbuf_add(&text, "fn (");
  for (int i = 0; i < fn->param_count && text.len <= LABEL_MOST; i++)
    strbuf_addf(&text, "%s%%%s", i ? ", " : "", fn->params[i]->name->text);
  strbuf_add(&text, ")");
  return keep_text(b, &text);
}

/* The inside of a function: its parameters, its body, its result, whose node is
 * given. */
static int build_inside(Builder *b, const Expr *e, const char *kind,
                        const char *label) {
  int outer_region = b->region;
  Order *outer = b->order, own = order_new(b, NULL, -1);
  b->region = add_region(b, kind, label);
  b->order = &own;
  for (int i = 0; i < e->fn->param_count; i++) {
    Var *v = e->fn->params[i];
    int node =
        add_node(b, NODE_PARAM, sigil_text(b, "%", v->name), v->type, v->span);
    set_node(&b->vars, v, node);
  }
  int body = build(b, e->fn->body);
  int result =
      add_node(b, NODE_RESULT, "result", e->fn->body->type, e->fn->body->span);
  if (body >= 0) add_flow(b, body, result, NULL, e->fn->body->type);
  b->since.len = own.since;
  b->order = outer;
  b->region = outer_region;
  return result;
}

static int build_fn(Builder *b, const Expr *e) {
  int node = add_node(b, NODE_FN, params_text(b, e->fn), e->type, e->span);
  int result = build_inside(b, e, "fn", params_text(b, e->fn));
  add_flow(b, result, node, "body", NULL);
  return node;
}

/* A function may name itself, so its node is there before its inside. */
static void bind_fn(Builder *b, const Binding *binding, int node) {
  int result = build_inside(b, binding->value, "fn",
                            sigil_text(b, "%", binding->var->name));
  add_flow(b, result, node, "body", NULL);
}

/* --- Blocks --------------------------------------------------------------- */

static void name_node(Builder *b, int node, const Var *v) {
  GraphNode *n = &b->g->nodes.data[node];
  if (!n->name && n->kind != NODE_PARAM) n->name = sigil_text(b, "%", v->name);
}

static void build_binding(Builder *b, const Binding *binding) {
  if (!binding->value) return;
  int bound = binding->var ? node_of(&b->vars, binding->var) : -1;
  if (bound >= 0) {
    bind_fn(b, binding, bound);
    return;
  }
  int node = build(b, binding->value);
  if (node < 0 || !binding->var) return;
  set_node(&b->vars, binding->var, node);
  name_node(b, node, binding->var);
}

/* The functions of a group have their nodes before their insides. */
static void begin_group(Builder *b, const Block *block, int i) {
  if (!block_binds_first(block, i)) return;
  for (int end = i + block_group(block, i); i < end; i++) {
    const Binding *binding = &block->bindings[i];
    if (!binding->var || binding->value->kind != EX_FN) continue;
    int node = add_node(b, NODE_FN, sigil_text(b, "%", binding->var->name),
                        binding->value->type, binding->value->span);
    set_node(&b->vars, binding->var, node);
  }
}

static int build_block(Builder *b, const Expr *e) {
  const Block *block = e->block;
  for (int i = 0; i < block->count && !mem_exhausted(b->g->mem); i++) {
    BindingKind kind = block->bindings[i].kind;
    if (kind == BIND_LET) begin_group(b, block, i);
    build_binding(b, &block->bindings[i]);
  }
  return build(b, block->result);
}

/* --- Choices -------------------------------------------------------------- */

typedef struct Branch {
  const char *kind, *label;
  const Arm *arm; /* NULL: of an `if` */
  const Expr *body;
} Branch;

static void bind_pattern(Builder *b, const Pattern *pattern, int node) {
  if (pattern->var) set_node(&b->vars, pattern->var, node);
  for (int i = 0; i < pattern->count; i++)
    bind_pattern(b, pattern->fields[i], node);
}

/* Every node of a branch lies in its region.  The branch's gate is shared by
 * all: what came before the choice is joined to it once. */
static Effects build_branch(Builder *b, const Branch *branch, int choice,
                            int join, const Expr *scrutinee, Order *gate) {
  Order own = order_new(b, b->order, choice);
  own.opened = gate->opened;
  own.waits = gate->waits;
  int outer_region = b->region;
  b->region = add_region(b, branch->kind, branch->label);
  b->order = &own;
  if (branch->arm) {
    int node = add_node(b, NODE_PATTERN, branch->label, scrutinee->type,
                        branch->arm->span);
    add_flow(b, choice, node, NULL, scrutinee->type);
    bind_pattern(b, branch->arm->pattern, node);
    if (branch->arm->guard) flow(b, branch->arm->guard, node, "if");
  }
  int value = build(b, branch->body);
  if (value >= 0)
    add_flow(b, value, join, branch->arm ? NULL : branch->label,
             branch->body->type);
  gate->opened = own.opened;
  gate->waits = own.waits;
  end_branch(b, &own, join);
  b->region = outer_region;
  return own.found;
}

static int build_if(Builder *b, const Expr *e) {
  int condition = build(b, e->args[0]);
  int choice = add_node(b, NODE_CHOICE, "if", NULL, e->span);
  int join = add_node(b, NODE_JOIN, "", e->type, e->span);
  if (condition >= 0) add_flow(b, condition, choice, NULL, e->args[0]->type);
  add_flow(b, choice, join, NULL, NULL);
  Branch then = {"then", "then", NULL, e->args[1]};
  Branch other = {"else", "else", NULL, e->args[2]};
  Order gate = {0};
  Effects found = build_branch(b, &then, choice, join, NULL, &gate);
  found |= build_branch(b, &other, choice, join, NULL, &gate);
  if (found) come_after(b, join, found);
  return join;
}

static int build_match(Builder *b, const Expr *e) {
  const Match *m = e->match;
  int value = build(b, e->args[0]);
  int choice =
      add_node(b, NODE_CHOICE, m->partial ? "match?" : "match", NULL, e->span);
  if (value >= 0) add_flow(b, value, choice, NULL, e->args[0]->type);
  happen(b, choice, expr_own_effects(b->g->program, e));
  int join = add_node(b, NODE_JOIN, "", e->type, e->span);
  Effects found = 0;
  Order gate = {0};
  for (int i = 0; i < m->arm_count && !mem_exhausted(b->g->mem); i++) {
    const Arm *arm = &m->arms[i];
    if (arm->shares) continue;
    Branch branch = {"arm", printed(b, NULL, arm->pattern), arm, arm->body};
    found |= build_branch(b, &branch, choice, join, e->args[0], &gate);
  }
  if (found) come_after(b, join, found);
  return join;
}

/* --- Everything else ------------------------------------------------------ */

static int build_const(Builder *b, const Expr *e) {
  bool small = tensor_count(e->constant) <= 8;
  const char *label = small ? printed(b, e, NULL) : type_text(b, e->type);
  return add_node(b, NODE_CONST, label, e->type, e->span);
}

static int build_list(Builder *b, const Expr *e) {
  const Expr *head = e->list.head;
  const char *name =
      head->kind == EX_CTOR ? head->ctor->adt->name->text : "List";
  const char *label = arena_printf(&b->g->arena, "%s[...]", name);
  return build_parts(b, e, NODE_CTOR, label ? label : name);
}

static int build_node(Builder *b, const Expr *e) {
  const Program *p = b->g->program;
  const char *label;
  switch (e->kind) {
    case EX_VAR: return build_var(b, e);
    case EX_GLOBAL: return build_global(b, e);
    case EX_CONST: return build_const(b, e);
    case EX_CALL: return build_call(b, e);
    case EX_FN: return build_fn(b, e);
    case EX_BLOCK: return build_block(b, e);
    case EX_IF: return build_if(b, e);
    case EX_MATCH: return build_match(b, e);
    case EX_LIST: return build_list(b, e);
    case EX_TUPLE:
      return build_parts(b, e, NODE_TUPLE, e->count ? "tuple" : "()");
    case EX_PROJ:
      label = arena_printf(&b->g->arena, ".%lld", (long long)e->index);
      return build_parts(b, e, NODE_PROJ, label ? label : ".");
    case EX_FIELD:
      return build_parts(b, e, NODE_PROJ, sigil_text(b, ".", e->field.name));
    case EX_REF: return build_parts(b, e, NODE_CELL, "ref");
    case EX_READ: return build_parts(b, e, NODE_CELL, "ref_read");
    case EX_WRITE: return build_parts(b, e, NODE_CELL, "ref_write");
    case EX_CTOR:
      return add_node(b, NODE_CTOR, e->ctor->name->text, e->type, e->span);
    case EX_OP:
      return add_node(b, NODE_FN, p->op_name(e->op), e->type, e->span);
    case EX_DIM:
      return add_node(b, NODE_PARAM, e->dim_var->name->text, e->type, e->span);
    default: return -1;
  }
}

typedef struct BuildCall {
  Builder *b;
  const Expr *e;
  int node;
} BuildCall;

static void run_build(void *call) {
  BuildCall *c = call;
  c->node = build(c->b, c->e);
}

static int build(Builder *b, const Expr *e) {
  if (mem_exhausted(b->g->mem)) return -1;
  if (!split_is_used_up(&b->stack)) return build_node(b, e);
  BuildCall call = {b, e, -1};
  split_call(&b->stack, run_build, &call);
  return call.node;
}

/* --- Items ---------------------------------------------------------------- */

static void forget_globals(Builder *b) {
  ptrmap_done(&b->globals);
  ptrmap_init(&b->globals, b->g->mem);
}

static void build_def(Builder *b, const Global *g) {
  const Expr *value = global_body(g);
  if (!value || value->kind != EX_FN) return;
  forget_globals(b);
  build_inside(b, value, "def", sigil_text(b, "@", g->name));
}

/* What the unit evaluates, in order, is one region. */
static void build_steps(Builder *b, const Unit *u) {
  if (u->step_count == 0) return;
  Order own = order_new(b, NULL, -1);
  forget_globals(b);
  b->region = add_region(b, "steps", "top level");
  b->order = &own;
  for (int i = 0; i < u->step_count && !mem_exhausted(b->g->mem); i++) {
    const Step *step = &u->steps[i];
    int node = build(b, step->expr);
    if (node < 0) continue;
    if (step->kind == STEP_LET) {
      set_node(&b->globals, step->global, node);
      GraphNode *n = &b->g->nodes.data[node];
      if (!n->name)
        n->name = sigil_text(b, global_sigil(step->global), step->global->name);
      continue;
    }
    int result =
        add_node(b, NODE_RESULT, "result", step->expr->type, step->span);
    add_flow(b, node, result, NULL, step->expr->type);
  }
  b->region = -1;
}

static void build_items(Builder *b, const Unit *u) {
  const Program *p = b->g->program;
  for (int i = 0; i < u->item_count && !mem_exhausted(b->g->mem); i++) {
    const Item *item = &u->items[i];
    const Unit *from =
        item->kind == ITEM_IMPORT ? unit_imported_by(p, item) : NULL;
    if (from) build_items(b, from);
    else if (item->kind == ITEM_DEF) build_def(b, item_global(p, item));
  }
}

void graph_build(Graph *g, const Program *p, const Unit *u,
                 const Global *entry) {
  Mem *mem = p->mem;
  *g = (Graph){.program = p, .mem = mem};
  arena_init(&g->arena, mem);
  VEC_INIT(&g->regions, mem);
  VEC_INIT(&g->nodes, mem);
  VEC_INIT(&g->edges, mem);
  Builder b = {.g = g, .follow = entry != NULL, .region = -1};
  split_start(&b.stack, mem);
  ptrmap_init(&b.vars, mem);
  ptrmap_init(&b.globals, mem);
  ptrmap_init(&b.queued, mem);
  VEC_INIT(&b.queue, mem);
  VEC_INIT(&b.since, mem);
  if (entry) {
    ptrmap_put(&b.queued, entry, (void *)entry);
    VEC_PUSH(&b.queue, entry);
    for (size_t i = 0; i < b.queue.len && !mem_exhausted(mem); i++)
      build_def(&b, b.queue.data[i]);
  } else {
    build_items(&b, u);
    build_steps(&b, u);
  }
  split_end(&b.stack);
  ptrmap_done(&b.vars);
  ptrmap_done(&b.globals);
  ptrmap_done(&b.queued);
  VEC_DONE(&b.queue);
  VEC_DONE(&b.since);
}

void graph_done(Graph *g) {
  VEC_DONE(&g->regions);
  VEC_DONE(&g->nodes);
  VEC_DONE(&g->edges);
  arena_done(&g->arena);
}
