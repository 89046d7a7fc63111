/* Equality of programs up to the names of their locals, type parameters and
 * graph variables (alpha equivalence).  Spans, sugar, parentheses and what the
 * checker found do not count.
 *
 *   fn (%x) { %x + 1 }   ==   fn (%y) { add(%y, 1) }
 *
 * Both sides are walked in step: their walks must tell the same events, and
 * what is told must be the same.  When two binders meet, they are given the
 * same serial number, each under its own name; two uses are equal when their
 * names have the same number, or no number and the same spelling.  An undo log
 * takes numbers back where scopes end, so the work is linear in the smaller of
 * the two.
 *
 * The printer is tested by this: what it prints must read back equal. */
#include <string.h>

#include "ir/print.h"
#include "ir/walk.h"

/* The serial number that a key had before an inner binder hid it. */
typedef struct Undo {
  PtrMap *map;
  const void *key;
  void *serial;
} Undo;

typedef struct Compare {
  Mem *mem;
  ExprWalk left, right;
  VEC(Undo) undo;
  PtrMap a, b; /* name, variable or graph index -> serial, for each side */
  uintptr_t serial;
} Compare;

static void compare_init(Compare *c, Mem *mem) {
  *c = (Compare){.mem = mem};
  VEC_INIT(&c->undo, mem);
  ptrmap_init(&c->a, mem);
  ptrmap_init(&c->b, mem);
}

static void compare_done(Compare *c) {
  VEC_DONE(&c->undo);
  ptrmap_done(&c->a);
  ptrmap_done(&c->b);
}

/* --- Names ---------------------------------------------------------------- */

/* Locals, type parameters and graph variables share the maps.  Names are
 * aligned, so the low bits of a key can tell them apart. */
static const void *local_key(const Name *name) { return name; }
static const void *type_key(const Name *name) { return (const char *)name + 1; }
static const void *graph_key(int64_t index) {
  return (const void *)((uintptr_t)index << 2 | 2);
}

/* NULL is put back where the name had no serial, which reads as not bound. */
static void bind_one(Compare *c, PtrMap *map, const void *key) {
  VEC_PUSH(&c->undo, (Undo){map, key, ptrmap_get(map, key)});
  ptrmap_put(map, key, (void *)c->serial);
}

static void bind(Compare *c, const void *a, const void *b) {
  c->serial++;
  bind_one(c, &c->a, a);
  bind_one(c, &c->b, b);
}

static void leave(Compare *c, size_t mark) {
  while (c->undo.len > mark) {
    Undo u = VEC_POP(&c->undo);
    ptrmap_put(u.map, u.key, u.serial);
  }
}

/* Bound on either side, a name must be bound to the same serial on both; free
 * on both, it must be the same name. */
static bool same_use(const Compare *c, const void *a, const void *b) {
  void *x = ptrmap_get(&c->a, a), *y = ptrmap_get(&c->b, b);
  return x || y ? x == y : a == b;
}

static bool same_name(const Name *a, const Name *b) { return a == b; }

/* --- Types ---------------------------------------------------------------- */

/* Two nodes, without what lies below them. */
static bool same_dim_node(const Compare *c, const DimExpr *a,
                          const DimExpr *b) {
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case DX_NUMBER: return a->number == b->number;
    case DX_SPLAT:
      if (a->any != b->any) return false; /* fall through */
    case DX_NAME: return same_use(c, type_key(a->name), type_key(b->name));
    case DX_META: return same_name(a->name, b->name) && a->number == b->number;
    default: return true;
  }
}

/* A kind has a fixed number of operands, so trees are equal where their postfix
 * orders are. */
static bool same_dim(const Compare *c, const DimExpr *a, const DimExpr *b) {
  DimExprs x, y;
  VEC_INIT(&x, c->undo.mem);
  VEC_INIT(&y, c->undo.mem);
  bool same =
      dim_expr_postfix(a, &x) && dim_expr_postfix(b, &y) && x.len == y.len;
  for (size_t i = 0; same && i < x.len; i++)
    same = same_dim_node(c, x.data[i], y.data[i]);
  VEC_DONE(&x);
  VEC_DONE(&y);
  return same;
}

/* A type parameter and a dimension are different things. */
static bool bind_type_params(Compare *c, int n, const TypeParam *a, int m,
                             const TypeParam *b) {
  if (n != m) return false;
  for (int i = 0; i < n; i++) {
    if (a[i].kind != b[i].kind) return false;
    bind(c, type_key(a[i].name), type_key(b[i].name));
  }
  return true;
}

static bool same_type(Compare *c, const TypeExpr *a, const TypeExpr *b);

static bool same_types(Compare *c, int n, const TypeExpr *const *a, int m,
                       const TypeExpr *const *b) {
  if (n != m) return false;
  for (int i = 0; i < n; i++)
    if (!same_type(c, a[i], b[i])) return false;
  return true;
}

static bool same_tensor_type(Compare *c, const TypeExpr *a, const TypeExpr *b) {
  if (a->dtype != b->dtype || a->dim_count != b->dim_count) return false;
  if (!a->dtype_name != !b->dtype_name) return false;
  if (a->dtype_name &&
      !same_use(c, type_key(a->dtype_name), type_key(b->dtype_name)))
    return false;
  for (int i = 0; i < a->dim_count; i++)
    if (!same_dim(c, a->dims[i], b->dims[i])) return false;
  return true;
}

static bool same_fn_type(Compare *c, const TypeExpr *a, const TypeExpr *b) {
  size_t mark = c->undo.len;
  bool same = bind_type_params(c, a->param_count, a->params, b->param_count,
                               b->params) &&
              same_types(c, a->arg_count, a->args, b->arg_count, b->args) &&
              same_type(c, a->result, b->result);
  leave(c, mark);
  return same;
}

/* As deep as the parser lets types nest; NULL is a type left out. */
static bool same_type(Compare *c, const TypeExpr *a, const TypeExpr *b) {
  if (!a || !b) return a == b;
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case TX_DIM:
    case TX_TENSOR: return same_tensor_type(c, a, b);
    case TX_FN: return same_fn_type(c, a, b);
    case TX_NAME:
      if (!same_use(c, type_key(a->name), type_key(b->name))) return false;
      break;
    default: break;
  }
  return same_types(c, a->arg_count, a->args, b->arg_count, b->args);
}

/* --- Binders -------------------------------------------------------------- */

/* Binds variables in either form of a program: uses have the Var after
 * resolution, its name before. */
static bool bind_vars(Compare *c, const Var *a, const Var *b) {
  bind(c, a, b);
  bind(c, local_key(a->name), local_key(b->name));
  return same_type(c, a->annotation, b->annotation);
}

/* --- Attributes and patterns ---------------------------------------------- */

/* The comparison is by bits: NaN equals itself, and 0.0 is not -0.0. */
static bool same_double(double a, double b) {
  return memcmp(&a, &b, sizeof a) == 0;
}

/* Lists nest no deeper than the parser lets them. */
static bool same_attr_value(Compare *c, const AttrExpr *a, const AttrExpr *b) {
  if (a->kind != b->kind || a->count != b->count) return false;
  switch (a->kind) {
    case AX_INT: return a->dtype == b->dtype && a->integer == b->integer;
    case AX_FLOAT: return a->dtype == b->dtype && same_double(a->real, b->real);
    case AX_BOOL: return a->integer == b->integer;
    case AX_STRING: return memcmp(a->text, b->text, (size_t)a->count) == 0;
    case AX_NONE: return true;
    case AX_META:
      return strcmp(a->text, b->text) == 0 && a->integer == b->integer;
    case AX_EXPR: /* the walk comes by */
    case AX_LIST: break;
  }
  for (int i = 0; i < a->count; i++)
    if (!same_attr_value(c, a->items[i], b->items[i])) return false;
  return true;
}

/* The order in which attributes are written counts. */
static bool same_attrs(Compare *c, int n, const Attr *a, int m, const Attr *b) {
  if (n != m) return false;
  for (int i = 0; i < n; i++)
    if (!same_name(a[i].name, b[i].name) ||
        !same_attr_value(c, a[i].value, b[i].value))
      return false;
  return true;
}

/* --- Expressions ---------------------------------------------------------- */

/* Attributes of a function are not evaluated, so the walk passes them by. */
static void add_attr_value(Compare *c, const AttrExpr *a, const AttrExpr *b) {
  if (a->kind == AX_EXPR) {
    expr_walk_add(&c->left, a->expr);
    expr_walk_add(&c->right, b->expr);
  }
  for (int i = 0; a->kind == AX_LIST && i < a->count; i++)
    add_attr_value(c, a->items[i], b->items[i]);
}

/* The type parameters are bound until the function is left. */
static bool same_fn(Compare *c, const Fn *a, const Fn *b) {
  if (a->param_count != b->param_count ||
      !bind_type_params(c, a->type_param_count, a->type_params,
                        b->type_param_count, b->type_params))
    return false;
  if (!same_attrs(c, a->attr_count, a->attrs, b->attr_count, b->attrs))
    return false;
  for (int i = 0; i < a->attr_count; i++)
    add_attr_value(c, a->attrs[i].value, b->attrs[i].value);
  return same_type(c, a->result, b->result);
}

static bool same_block(const Block *a, const Block *b) {
  if (a->count != b->count) return false;
  for (int i = 0; i < a->count; i++)
    if (a->bindings[i].kind != b->bindings[i].kind) return false;
  return true;
}

static bool same_text(const Expr *a, const Expr *b) {
  return a->text.len == b->text.len &&
         memcmp(a->text.bytes, b->text.bytes, a->text.len) == 0;
}

static const Name *list_name(const Expr *e) {
  const Expr *head = e->list.head;
  return head->kind == EX_CTOR ? head->ctor->name : head->name;
}

static bool same_match(const Match *a, const Match *b) {
  bool same = a->partial == b->partial && a->arm_count == b->arm_count;
  for (int i = 0; same && i < a->arm_count; i++)
    same = !a->arms[i].guard == !b->arms[i].guard &&
           a->arms[i].shares == b->arms[i].shares;
  return same;
}

/* Compares two nodes of one kind, without their parts. */
static bool same_head(Compare *c, const Expr *a, const Expr *b) {
  switch (a->kind) {
    case EX_LOCAL: return same_use(c, local_key(a->name), local_key(b->name));
    case EX_GRAPH: return same_use(c, graph_key(a->index), graph_key(b->index));
    case EX_IDENT: return same_use(c, type_key(a->name), type_key(b->name));
    case EX_META:
      return a->meta.name == b->meta.name && a->meta.index == b->meta.index;
    case EX_STRING: return same_text(a, b);
    case EX_CONST: return tensor_same(a->constant, b->constant);
    case EX_GLOBAL: return same_name(a->g.name, b->g.name);
    case EX_PROJ: return a->index == b->index;
    case EX_FIELD: return same_name(a->field.name, b->field.name);
    case EX_LIST: return same_name(list_name(a), list_name(b));
    case EX_CALL:
      return same_attrs(c, a->call.attr_count, a->call.attrs,
                        b->call.attr_count, b->call.attrs);
    case EX_FN: return same_fn(c, a->fn, b->fn);
    case EX_BLOCK: return same_block(a->block, b->block);
    case EX_MATCH: return same_match(a->match, b->match);
    case EX_VAR: return same_use(c, a->var, b->var);
    case EX_CTOR: /* NULL: of {a with f = b}, before the types are known */
      return !a->ctor || !b->ctor || same_name(a->ctor->name, b->ctor->name);
    case EX_OP: return a->op == b->op;
    case EX_DIM:
      return same_use(c, type_key(a->dim_var->name),
                      type_key(b->dim_var->name));
    default: return true;
  }
}

/* {a with f = b} is a call of a constructor that the text does not name. */
static bool is_with(const Expr *e) { return e->sugar == SUGAR_WITH; }

static bool same_node(Compare *c, const Expr *a, const Expr *b) {
  return a->kind == b->kind && a->count == b->count &&
         is_with(a) == is_with(b) && same_head(c, a, b);
}

static bool same_pattern(const Pattern *a, const Pattern *b) {
  return a->kind == b->kind && a->count == b->count &&
         same_name(a->label, b->label) &&
         (a->kind != PT_CTOR || same_name(a->name, b->name)) &&
         (a->kind != PT_LITERAL || tensor_same(a->constant, b->constant));
}

/* Each type parameter was bound under two names. */
static void leave_node(Compare *c, const Expr *e) {
  if (e->kind == EX_FN)
    leave(c, c->undo.len - 2 * (size_t)e->fn->type_param_count);
}

/*   BIND     gives both variables the same serials, under two keys each
 *   UNBIND   takes the four entries back */
static bool same_event(Compare *c) {
  const ExprWalk *a = &c->left, *b = &c->right;
  if (a->event != b->event) return false;
  switch ((int)a->event) {
    case WALK_ENTER: return same_node(c, a->at, b->at);
    case WALK_LEAVE: leave_node(c, a->at); return true;
    case WALK_PATTERN: return same_pattern(a->pattern, b->pattern);
    case WALK_BIND: return !a->var || bind_vars(c, a->var, b->var);
    default: leave(c, c->undo.len - 4); return true; /* as bind_vars did */
  }
}

/* Braces around a single expression mean nothing. */
static bool is_braces(const ExprWalk *w) {
  return w->event & (WALK_ENTER | WALK_LEAVE) && w->at->kind == EX_BLOCK &&
         w->at->block->count == 0;
}

static bool next_event(ExprWalk *w) {
  while (expr_walk_next(w))
    if (!is_braces(w)) return true;
  return false;
}

/* Do both tell the same events?  Running out of memory makes nothing equal.  As
 * many events on both sides: one that goes on alone is longer. */
static bool in_step(Compare *c, unsigned wanted, const Expr *a, const Expr *b,
                    bool (*same_event)(Compare *c)) {
  expr_walk_start(&c->left, c->mem, wanted, a);
  expr_walk_start(&c->right, c->mem, wanted, b);
  bool same = true, more = true;
  while (same && more) {
    more = next_event(&c->left);
    same = next_event(&c->right) == more && (!more || same_event(c));
  }
  same &= expr_walk_end(&c->left);
  same &= expr_walk_end(&c->right);
  return same;
}

/* Graph variables belong to the whole function, and may be used before the walk
 * comes to the block that defines them: f of f(a) may be one. */
static bool meet_graph(Compare *c) {
  const Expr *a = c->left.at, *b = c->right.at;
  if (a->kind != b->kind) return false;
  if (a->kind != EX_BLOCK) return true;
  if (!same_block(a->block, b->block)) return false;
  for (int i = 0; i < a->block->count; i++) {
    const Binding *x = &a->block->bindings[i], *y = &b->block->bindings[i];
    if (x->kind != BIND_GRAPH) continue;
    void *serial = (void *)++c->serial;
    ptrmap_put(&c->a, graph_key(x->index), serial);
    ptrmap_put(&c->b, graph_key(y->index), serial);
  }
  return true;
}

static bool same_expr(Compare *c, const Expr *a, const Expr *b) {
  enum {
    ALL = WALK_ENTER | WALK_LEAVE | WALK_BIND | WALK_UNBIND | WALK_PATTERN
  };
  if (!a || !b) return a == b;
  return in_step(c, WALK_ENTER, a, b, meet_graph) &&
         in_step(c, ALL, a, b, same_event) && !mem_exhausted(c->mem);
}

bool expr_equal(Mem *mem, const Expr *a, const Expr *b) {
  Compare c;
  compare_init(&c, mem);
  bool same = same_expr(&c, a, b);
  compare_done(&c);
  return same;
}

/* --- Units ---------------------------------------------------------------- */

static bool same_labels(const CtorDecl *a, const CtorDecl *b) {
  if (!a->labels || !b->labels) return a->labels == b->labels;
  for (int i = 0; i < a->field_count; i++)
    if (!same_name(a->labels[i].name, b->labels[i].name)) return false;
  return true;
}

static bool same_ctor(Compare *c, const CtorDecl *a, const CtorDecl *b) {
  return same_name(a->name, b->name) &&
         same_types(c, a->field_count, a->fields, b->field_count, b->fields) &&
         same_labels(a, b);
}

static bool same_adt(Compare *c, const AdtDecl *a, const AdtDecl *b) {
  if (!a || !b) return a == b;
  if (!a->meaning != !b->meaning) return false;
  size_t mark = c->undo.len;
  bool same =
      a->is_extern == b->is_extern && a->ctor_count == b->ctor_count &&
      bind_type_params(c, a->param_count, a->params, b->param_count, b->params);
  for (int i = 0; same && i < a->ctor_count; i++)
    same = same_ctor(c, &a->ctors[i], &b->ctors[i]);
  if (same && a->meaning) same = same_type(c, a->meaning, b->meaning);
  leave(c, mark);
  return same;
}

static bool same_path(const char *a, const char *b) {
  return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_item(Compare *c, const Item *a, const Item *b) {
  return a->kind == b->kind && same_name(a->name, b->name) &&
         a->continues == b->continues && same_path(a->path, b->path) &&
         same_type(c, a->annotation, b->annotation) &&
         same_adt(c, a->adt, b->adt) && same_expr(c, a->expr, b->expr);
}

/* Items are compared in their order, as that of evaluation is part of what a
 * unit means. */
bool unit_equal(Mem *mem, const Unit *a, const Unit *b) {
  Compare c;
  compare_init(&c, mem);
  bool same = a->item_count == b->item_count;
  for (int i = 0; same && i < a->item_count; i++)
    same = same_item(&c, &a->items[i], &b->items[i]);
  compare_done(&c);
  return same;
}
