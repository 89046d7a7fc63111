/* Equality of programs up to the names of their locals, type parameters and
 * graph variables.  Spans, sugar, parentheses and what the checker found do
 * not count.
 *
 * Both sides are walked in step with an explicit stack of things to do.  When
 * two binders meet, they are given the same serial number, each under its own
 * name; two uses are equal when their names have the same number, or no number
 * and the same spelling. */
#include <string.h>

#include "ir/print.h"

typedef enum JobKind {
  JOB_EXPR,  /* two expressions must be equal */
  JOB_BIND,  /* two binders meet */
  JOB_ARM,   /* two arms must be equal */
  JOB_LEAVE, /* the scope ends: `mark` names are left bound */
} JobKind;

typedef struct Job {
  JobKind kind;
  const void *a, *b;
  size_t mark;
} Job;

/* What a key meant before it was bound anew. */
typedef struct Undo {
  PtrMap *map;
  const void *key;
  void *serial;
} Undo;

typedef struct Compare {
  Mem *mem;
  VEC(Job) jobs;
  VEC(Undo) undo;
  PtrMap a, b; /* name, variable or graph index -> serial, for each side */
  uintptr_t serial;
} Compare;

static void compare_init(Compare *c, Mem *mem) {
  *c = (Compare){.mem = mem};
  VEC_INIT(&c->jobs, mem);
  VEC_INIT(&c->undo, mem);
  ptrmap_init(&c->a, mem);
  ptrmap_init(&c->b, mem);
}

static void compare_done(Compare *c) {
  VEC_DONE(&c->jobs);
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

static bool same_use(const Compare *c, const void *a, const void *b) {
  void *x = ptrmap_get(&c->a, a), *y = ptrmap_get(&c->b, b);
  return x || y ? x == y : a == b;
}

static bool same_name(const Name *a, const Name *b) { return a == b; }

/* --- Types ---------------------------------------------------------------- */

static bool same_dim(const Compare *c, const DimExpr *a, const DimExpr *b) {
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case DX_NUMBER: return a->number == b->number;
    case DX_ANY: return true;
    case DX_NAME: return same_use(c, type_key(a->name), type_key(b->name));
    case DX_META: return same_name(a->name, b->name) && a->number == b->number;
    default:
      return same_dim(c, a->left, b->left) && same_dim(c, a->right, b->right);
  }
}

static bool bind_type_params(Compare *c, int n, const TypeParam *a, int m,
                             const TypeParam *b) {
  if (n != m) return false;
  for (int i = 0; i < n; i++) {
    if (a[i].is_dim != b[i].is_dim) return false;
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
    case TX_TENSOR: return same_tensor_type(c, a, b);
    case TX_FN: return same_fn_type(c, a, b);
    case TX_NAME:
      if (!same_use(c, type_key(a->name), type_key(b->name))) return false;
      break;
    default: break;
  }
  return same_types(c, a->arg_count, a->args, b->arg_count, b->args);
}

/* --- Things to do --------------------------------------------------------- */

static void later(Compare *c, JobKind kind, const void *a, const void *b) {
  VEC_PUSH(&c->jobs, (Job){.kind = kind, .a = a, .b = b});
}

static void later_leave(Compare *c) {
  VEC_PUSH(&c->jobs, (Job){.kind = JOB_LEAVE, .mark = c->undo.len});
}

/* In either form: uses have the Var after resolution, its name before. */
static bool bind_vars(Compare *c, const Var *a, const Var *b) {
  bind(c, a, b);
  bind(c, local_key(a->name), local_key(b->name));
  return same_type(c, a->annotation, b->annotation);
}

/* --- Attributes and patterns ---------------------------------------------- */

static bool same_double(double a, double b) {
  return memcmp(&a, &b, sizeof a) == 0;
}

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
    case AX_EXPR: later(c, JOB_EXPR, a->expr, b->expr); return true;
    case AX_LIST: break;
  }
  for (int i = 0; i < a->count; i++)
    if (!same_attr_value(c, a->items[i], b->items[i])) return false;
  return true;
}

static bool same_attrs(Compare *c, int n, const Attr *a, int m, const Attr *b) {
  if (n != m) return false;
  for (int i = 0; i < n; i++)
    if (!same_name(a[i].name, b[i].name) ||
        !same_attr_value(c, a[i].value, b[i].value))
      return false;
  return true;
}

/* Binds the variables of two equal patterns. */
static bool same_pattern(Compare *c, const Pattern *a, const Pattern *b) {
  if (a->kind != b->kind || a->count != b->count) return false;
  if (a->kind == PT_VAR) return bind_vars(c, a->var, b->var);
  if (a->kind == PT_CTOR && !same_name(a->name, b->name)) return false;
  for (int i = 0; i < a->count; i++)
    if (!same_pattern(c, a->fields[i], b->fields[i])) return false;
  return true;
}

/* --- Expressions ---------------------------------------------------------- */

static bool same_fn(Compare *c, const Fn *a, const Fn *b) {
  later_leave(c);
  if (a->param_count != b->param_count ||
      !bind_type_params(c, a->type_param_count, a->type_params,
                        b->type_param_count, b->type_params))
    return false;
  for (int i = 0; i < a->param_count; i++)
    if (!bind_vars(c, a->params[i], b->params[i])) return false;
  later(c, JOB_EXPR, a->body, b->body);
  return same_type(c, a->result, b->result) &&
         same_attrs(c, a->attr_count, a->attrs, b->attr_count, b->attrs);
}

/* Puts off the values of the group of bindings that begins at `from`, and the
 * meeting of its binders: before the values when a function may name them. */
static void later_group(Compare *c, const Block *a, const Block *b, int from,
                        int to) {
  const Expr *first = a->bindings[from].value;
  bool early = !first || first->kind == EX_FN;
  for (int pass = 0; pass < 2; pass++) {
    for (int i = to - 1; i >= from; i--) {
      const Binding *x = &a->bindings[i], *y = &b->bindings[i];
      if ((pass == 1) == early) {
        if (x->var) later(c, JOB_BIND, x->var, y->var);
      } else if (x->value) {
        later(c, JOB_EXPR, x->value, y->value);
      }
    }
  }
}

/* Graph variables belong to the whole function and may be used in a sibling of
 * the block that defines them, so their binders meet at once and for good. */
static bool meet_graph(Compare *c, const Binding *a, const Binding *b) {
  if (a->kind == BIND_GRAPH && b->kind == BIND_GRAPH) {
    void *serial = (void *)++c->serial;
    ptrmap_put(&c->a, graph_key(a->index), serial);
    ptrmap_put(&c->b, graph_key(b->index), serial);
  }
  return a->kind == b->kind;
}

static bool same_block(Compare *c, const Block *a, const Block *b) {
  if (a->count != b->count) return false;
  for (int i = 0; i < a->count; i++)
    if (!meet_graph(c, &a->bindings[i], &b->bindings[i])) return false;
  later_leave(c);
  later(c, JOB_EXPR, a->result, b->result);
  for (int to = a->count; to > 0;) {
    int from = to - 1;
    while (from > 0 && a->bindings[from].kind == BIND_AND) from--;
    later_group(c, a, b, from, to);
    to = from;
  }
  return true;
}

static bool same_match(Compare *c, const Match *a, const Match *b) {
  if (a->partial != b->partial || a->arm_count != b->arm_count) return false;
  for (int i = a->arm_count - 1; i >= 0; i--)
    later(c, JOB_ARM, &a->arms[i], &b->arms[i]);
  return true;
}

static bool same_arm(Compare *c, const Arm *a, const Arm *b) {
  later_leave(c);
  if (!same_pattern(c, a->pattern, b->pattern)) return false;
  later(c, JOB_EXPR, a->body, b->body);
  return true;
}

static bool same_text(const Expr *a, const Expr *b) {
  return a->text.len == b->text.len &&
         memcmp(a->text.bytes, b->text.bytes, a->text.len) == 0;
}

/* Everything of two nodes of one kind but their args and callee, which go first
 * and in the order of the text: there a graph variable's binding comes before
 * its uses. */
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
    case EX_CALL:
      return same_attrs(c, a->call.attr_count, a->call.attrs,
                        b->call.attr_count, b->call.attrs);
    case EX_FN: return same_fn(c, a->fn, b->fn);
    case EX_BLOCK: return same_block(c, a->block, b->block);
    case EX_MATCH: return same_match(c, a->match, b->match);
    case EX_VAR: return same_use(c, a->var, b->var);
    case EX_CTOR: return same_name(a->ctor->name, b->ctor->name);
    case EX_OP: return a->op == b->op;
    case EX_DIM:
      return same_use(c, type_key(a->dim_var->name),
                      type_key(b->dim_var->name));
    default: return true;
  }
}

/* Braces around a single expression mean nothing. */
static const Expr *without_braces(const Expr *e) {
  while (e->kind == EX_BLOCK && e->block->count == 0) e = e->block->result;
  return e;
}

static bool same_node(Compare *c, const Expr *a, const Expr *b) {
  a = without_braces(a);
  b = without_braces(b);
  if (a->kind != b->kind || a->count != b->count) return false;
  if (!same_head(c, a, b)) return false;
  for (int i = a->count - 1; i >= 0; i--)
    later(c, JOB_EXPR, a->args[i], b->args[i]);
  if (a->kind == EX_CALL) later(c, JOB_EXPR, a->call.callee, b->call.callee);
  return true;
}

static bool do_job(Compare *c, Job job) {
  switch (job.kind) {
    case JOB_EXPR: return same_node(c, job.a, job.b);
    case JOB_BIND: return bind_vars(c, job.a, job.b);
    case JOB_ARM: return same_arm(c, job.a, job.b);
    default: leave(c, job.mark); return true;
  }
}

/* Running out of memory makes nothing equal. */
static bool same_expr(Compare *c, const Expr *a, const Expr *b) {
  if (!a || !b) return a == b;
  later(c, JOB_EXPR, a, b);
  bool same = true;
  while (same && c->jobs.len > 0) same = do_job(c, VEC_POP(&c->jobs));
  return same && !mem_exhausted(c->mem);
}

bool expr_equal(Mem *mem, const Expr *a, const Expr *b) {
  Compare c;
  compare_init(&c, mem);
  bool same = same_expr(&c, a, b);
  compare_done(&c);
  return same;
}

/* --- Units ---------------------------------------------------------------- */

static bool same_ctor(Compare *c, const CtorDecl *a, const CtorDecl *b) {
  return same_name(a->name, b->name) &&
         same_types(c, a->field_count, a->fields, b->field_count, b->fields);
}

static bool same_adt(Compare *c, const AdtDecl *a, const AdtDecl *b) {
  if (!a || !b) return a == b;
  size_t mark = c->undo.len;
  bool same =
      a->is_extern == b->is_extern && a->ctor_count == b->ctor_count &&
      bind_type_params(c, a->param_count, a->params, b->param_count, b->params);
  for (int i = 0; same && i < a->ctor_count; i++)
    same = same_ctor(c, &a->ctors[i], &b->ctors[i]);
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

bool unit_equal(Mem *mem, const Unit *a, const Unit *b) {
  Compare c;
  compare_init(&c, mem);
  bool same = a->item_count == b->item_count;
  for (int i = 0; same && i < a->item_count; i++)
    same = same_item(&c, &a->items[i], &b->items[i]);
  compare_done(&c);
  return same;
}
