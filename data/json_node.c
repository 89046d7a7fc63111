/* The reader's nodes: a function for each kind, found by a table.  What comes
 * out prints as text, so a node is as the parser would make it: an operator and
 * a constructor are names, variables are found by theirs. */
#include <limits.h>
#include <string.h>

#include "data/json_read.h"

/* --- Parts ---------------------------------------------------------------- */

/* Two users would be two copies in the text, and with two copies at each of n
 * levels 2^n of them. */
static Expr *take_node(Reader *r, const char *key, const json_t *x) {
  json_int_t n = json_is_integer(x) ? json_integer_value(x) : -1;
  if (n < 0 || (size_t)n >= r->read)
    return data_wrong(r, key, "expected the place of an earlier node");
  if (r->used[n])
    return data_wrong(r, key,
                      "node %lld is part of another node already: bind it to "
                      "a name by a block, and use the name twice",
                      (long long)n);
  r->used[n] = true;
  return r->nodes[n];
}

Expr *data_node_at(Reader *r, const json_t *from, const char *key) {
  const json_t *x = json_object_get(from, key);
  return x ? take_node(r, key, x) : data_wrong(r, NULL, "`%s` is missing", key);
}

static Expr *new_node(Reader *r, ExprKind kind) {
  return expr_new(&r->arena, kind, SPAN_NONE);
}

static bool take_list(Reader *r, const json_t *row, const char *key, Expr *e) {
  const json_t *list = data_list(r, row, key, JSON_NEEDED);
  size_t n = json_array_size(list);
  const Expr **args = ARENA_ARRAY(&r->arena, const Expr *, n);
  for (size_t i = 0; args && i < n && !data_stopped(r); i++)
    args[i] = take_node(r, key, json_array_get(list, i));
  e->args = args;
  e->count = args ? (int)n : 0;
  return list && args && !data_stopped(r);
}

/* Operands that are members of their own; `keys` ends in NULL. */
static Expr *take_keys(Reader *r, const json_t *row, ExprKind kind,
                       const char *const *keys) {
  Expr *e = new_node(r, kind);
  const Expr **args = ARENA_ARRAY(&r->arena, const Expr *, 3);
  for (int i = 0; i < 3 && keys[i] && !data_stopped(r); i++)
    args[e->count++] = data_node_at(r, row, keys[i]);
  e->args = args;
  return e;
}

/* --- Names ---------------------------------------------------------------- */

/* The number of a graph variable; -1: it is no number. */
static int64_t graph_number(const char *text) {
  int64_t n = 0;
  if (!*text || strlen(text) > 18) return -1;
  for (; *text; text++) {
    if (*text < '0' || *text > '9') return -1;
    n = n * 10 + (*text - '0');
  }
  return n;
}

static Expr *read_var(Reader *r, const json_t *row) {
  const char *text = data_text(r, row, "name", JSON_NEEDED);
  int64_t number = text ? graph_number(text) : -1;
  Expr *e = new_node(r, number >= 0 ? EX_GRAPH : EX_LOCAL);
  if (number >= 0) e->index = number;
  else e->name = data_name(r, row, "name");
  return e;
}

static Expr *ident(Reader *r, const Name *name) {
  Expr *e = new_node(r, EX_IDENT);
  e->name = name;
  return e;
}

static Expr *global(Reader *r, const Name *name) {
  Expr *e = new_node(r, EX_GLOBAL);
  e->g.name = name;
  return e;
}

static Expr *read_ident(Reader *r, const json_t *row) {
  return ident(r, data_name(r, row, "name"));
}

static Expr *read_global(Reader *r, const json_t *row) {
  return global(r, data_name(r, row, "name"));
}

/* --- Leaves --------------------------------------------------------------- */

static Expr *read_constant(Reader *r, const json_t *row) {
  Expr *e = new_node(r, EX_CONST);
  e->constant = data_read_tensor(r, row, "value");
  return e;
}

static Expr *read_string(Reader *r, const json_t *row) {
  Expr *e = new_node(r, EX_STRING);
  e->text.bytes =
      data_read_bytes(r, json_object_get(row, "value"), "value", &e->text.len);
  return e;
}

static Expr *read_meta(Reader *r, const json_t *row) {
  Expr *e = new_node(r, EX_META);
  e->meta.name = data_name(r, row, "key");
  e->meta.index = data_index(r, row, "index", INT32_MAX, JSON_NEEDED);
  return e;
}

/* --- Operands ------------------------------------------------------------- */

static Expr *read_items(Reader *r, const json_t *row, ExprKind kind) {
  Expr *e = new_node(r, kind);
  take_list(r, row, "items", e);
  return e;
}

static Expr *read_tuple(Reader *r, const json_t *row) {
  return read_items(r, row, EX_TUPLE);
}

static Expr *read_bracket(Reader *r, const json_t *row) {
  return read_items(r, row, EX_BRACKET);
}

static Expr *read_list(Reader *r, const json_t *row) {
  Expr *e = new_node(r, EX_LIST);
  e->list.head = ident(r, data_name(r, row, "of"));
  if (!data_has(row, "value")) {
    take_list(r, row, "items", e);
    return e;
  }
  e->list.packed = data_read_tensor(r, row, "value");
  if (e->list.packed &&
      (e->list.packed->rank != 1 || tensor_count(e->list.packed) == 0))
    data_wrong(r, "value", "expected a vector of an element or more");
  return e;
}

static Expr *read_proj(Reader *r, const json_t *row) {
  Expr *e = take_keys(r, row, EX_PROJ, (const char *const[]){"value", NULL});
  e->index = data_index(r, row, "index", INT32_MAX, JSON_NEEDED);
  return e;
}

static Expr *read_field(Reader *r, const json_t *row) {
  Expr *e = take_keys(r, row, EX_FIELD, (const char *const[]){"value", NULL});
  e->field.name = data_name(r, row, "name");
  return e;
}

static Expr *read_if(Reader *r, const json_t *row) {
  static const char *const keys[] = {"condition", "then", "else"};
  return take_keys(r, row, EX_IF, keys);
}

static Expr *read_ref(Reader *r, const json_t *row) {
  return take_keys(r, row, EX_REF, (const char *const[]){"value", NULL});
}

static Expr *read_ref_read(Reader *r, const json_t *row) {
  return take_keys(r, row, EX_READ, (const char *const[]){"ref", NULL});
}

static Expr *read_ref_write(Reader *r, const json_t *row) {
  static const char *const keys[] = {"ref", "value", NULL};
  return take_keys(r, row, EX_WRITE, keys);
}

/* --- Calls ---------------------------------------------------------------- */

/* A node, or the name of an operator, a constructor or a definition. */
static const Expr *read_callee(Reader *r, const json_t *row) {
  static const char *const names[] = {"op", "constructor", "name"};
  if (data_has(row, "callee")) return data_node_at(r, row, "callee");
  if (data_has(row, "global")) return global(r, data_name(r, row, "global"));
  for (int i = 0; i < 3; i++)
    if (data_has(row, names[i])) return ident(r, data_name(r, row, names[i]));
  return data_wrong(r, NULL,
                    "a call needs `callee`, `op`, `constructor` or `global`");
}

static Expr *read_call(Reader *r, const json_t *row) {
  Expr *e = new_node(r, EX_CALL);
  e->call.callee = read_callee(r, row);
  if (!e->call.callee || !take_list(r, row, "args", e)) return NULL;
  e->call.attrs = data_read_attrs(r, row, &e->call.attr_count);
  int64_t late = data_index(r, row, "late", e->count, JSON_MAY_LACK);
  e->call.late = late > 0 ? (int)late : 0;
  return e;
}

static Expr *read_with(Reader *r, const json_t *row) {
  Expr *e = new_node(r, EX_CALL);
  if (!take_list(r, row, "args", e)) return NULL;
  if (e->count != 1)
    return data_wrong(r, "args", "expected one: the value that is changed");
  e->call.attrs = data_read_attrs(r, row, &e->call.attr_count);
  if (e->call.attr_count == 0) return data_wrong(r, "attrs", "expected fields");
  e->sugar = SUGAR_WITH;
  return e;
}

/* --- Blocks and functions ------------------------------------------------- */

static void read_bound(Reader *r, const json_t *row, Binding *b) {
  const Name *name = data_name(r, row, "name");
  const TypeExpr *type = data_type_at(r, row, "annotation");
  if (!data_stopped(r)) b->var = var_new(&r->arena, name, SPAN_NONE, type);
}

static void read_binding(Reader *r, const json_t *row, Binding *b) {
  const char *kind = data_text(r, row, "kind", JSON_NEEDED);
  int k = 0;
  if (!kind) return;
  while (k <= BIND_FREE && strcmp(data_binding_kinds[k], kind)) k++;
  if (k > BIND_FREE) {
    data_wrong(r, "kind", "no binding is a `%s`", kind);
    return;
  }
  b->kind = (BindingKind)k;
  if (b->kind == BIND_GRAPH) {
    const char *name = data_text(r, row, "name", JSON_NEEDED);
    b->index = name ? graph_number(name) : -1;
    if (b->index < 0) data_wrong(r, "name", "expected a number, as a string");
  } else if (b->kind != BIND_ITEM) {
    read_bound(r, row, b);
  }
  if (b->kind != BIND_FREE) b->value = data_node_at(r, row, "value");
}

/* A block that ends in nothing has a binding before. */
static Expr *read_block(Reader *r, const json_t *row) {
  const json_t *list = data_list(r, row, "bindings", JSON_NEEDED);
  size_t n = json_array_size(list);
  Binding *bindings = ARENA_ARRAY(&r->arena, Binding, n);
  if (!list || !bindings) return NULL;
  data_enter(r, "bindings");
  for (size_t i = 0; i < n && !data_stopped(r); i++) {
    data_enter_row(r, i);
    read_binding(r, json_array_get(list, i), &bindings[i]);
    if (i == 0 && bindings[i].kind == BIND_AND)
      data_wrong(r, "kind", "`and` continues a `let` before it");
    data_leave(r);
  }
  data_leave(r);
  if (data_stopped(r)) return NULL;
  Expr *result = data_node_at(r, row, "result");
  if (!result) return NULL;
  if (n == 0 && result->sugar == SUGAR_UNIT) result->sugar = SUGAR_NONE;
  return expr_block(&r->arena, SPAN_NONE, (int)n, bindings, result);
}

static void read_params(Reader *r, const json_t *row, Fn *fn) {
  const json_t *list = data_list(r, row, "params", JSON_NEEDED);
  size_t n = json_array_size(list);
  Var **params = ARENA_ARRAY(&r->arena, Var *, n);
  data_enter(r, "params");
  for (size_t i = 0; params && i < n && !data_stopped(r); i++) {
    const json_t *x = json_array_get(list, i);
    data_enter_row(r, i);
    const Name *name = data_name(r, x, "name");
    const TypeExpr *type = data_type_at(r, x, "annotation");
    if (name) params[i] = var_new(&r->arena, name, SPAN_NONE, type);
    data_leave(r);
  }
  data_leave(r);
  fn->params = params;
  fn->param_count = params && !data_stopped(r) ? (int)n : 0;
}

static Expr *read_fn(Reader *r, const json_t *row) {
  Expr *e = new_node(r, EX_FN);
  Fn *fn = ARENA_NEW(&r->arena, Fn);
  fn->type_params =
      data_read_params(r, row, "type_params", &fn->type_param_count);
  read_params(r, row, fn);
  fn->attrs = data_read_attrs(r, row, &fn->attr_count);
  fn->result = data_type_at(r, row, "result");
  fn->body = data_node_at(r, row, "body");
  e->fn = fn;
  return e;
}

/* --- Matches -------------------------------------------------------------- */

static void read_arm(Reader *r, const json_t *row, Arm *arm) {
  arm->pattern = data_read_pattern(r, row, "pattern");
  if (data_has(row, "guard")) arm->guard = data_node_at(r, row, "guard");
  arm->body = data_node_at(r, row, "body");
  arm->braces = data_flag(r, row, "braces");
}

static Expr *read_match(Reader *r, const json_t *row) {
  Expr *e = take_keys(r, row, EX_MATCH, (const char *const[]){"value", NULL});
  Match *m = ARENA_NEW(&r->arena, Match);
  const json_t *list = data_list(r, row, "arms", JSON_NEEDED);
  size_t n = json_array_size(list);
  Arm *arms = ARENA_ARRAY(&r->arena, Arm, n);
  data_enter(r, "arms");
  for (size_t i = 0; arms && i < n && !data_stopped(r); i++) {
    data_enter_row(r, i);
    read_arm(r, json_array_get(list, i), &arms[i]);
    data_leave(r);
  }
  data_leave(r);
  m->partial = data_flag(r, row, "partial");
  m->arms = arms;
  m->arm_count = arms && !data_stopped(r) ? (int)n : 0;
  e->match = m;
  return e;
}

/* --- Sugar ---------------------------------------------------------------- */

static bool is_bool(const Expr *e, bool value) {
  return e->kind == EX_CONST && e->constant->dtype == DT_BOOL &&
         e->constant->rank == 0 &&
         bits_to_i64(DT_BOOL, tensor_bits_at(e->constant, 0)) == value;
}

static bool calls(const Expr *e, const char *name, int count) {
  if (e->kind != EX_CALL || e->call.attr_count || e->call.late) return false;
  const Expr *callee = e->call.callee;
  if (!callee || callee->kind != EX_IDENT) return false;
  return e->count == count && (!name || !strcmp(callee->name->text, name));
}

/* Does the node still mean what its sugar says?  A tool may have changed it;
 * then it is written out. */
static bool sugar_fits(const Expr *e, Sugar sugar) {
  switch (sugar) {
    case SUGAR_INFIX: return calls(e, NULL, 2);
    case SUGAR_NEGATE: return calls(e, "negative", 1);
    case SUGAR_NOT: return calls(e, "logical_not", 1);
    case SUGAR_AND: return e->kind == EX_IF && is_bool(e->args[2], false);
    case SUGAR_OR: return e->kind == EX_IF && is_bool(e->args[1], true);
    case SUGAR_ELSE_IF: return e->kind == EX_IF;
    case SUGAR_UNIT: return e->kind == EX_TUPLE && e->count == 0;
    case SUGAR_CTOR: return calls(e, NULL, 0);
    case SUGAR_BRACES:
    case SUGAR_WHERE: return e->kind == EX_BLOCK;
    case SUGAR_BRACKET:
    case SUGAR_LIST:
      return calls(e, "stack", 1) && e->args[0]->kind == EX_TUPLE &&
             e->args[0]->count > 0;
    case SUGAR_SPLAT: return e->kind == EX_IDENT;
    case SUGAR_PIPE:
      return e->kind == EX_CALL && e->call.callee && e->count == 1 &&
             !e->call.attr_count;
    case SUGAR_PIPE_CALL:
      return e->kind == EX_CALL && e->call.callee && e->count > e->call.late;
    default: return false;
  }
}

static void read_sugar(Reader *r, const json_t *row, Expr *e) {
  const char *text = data_text(r, row, "sugar", JSON_MAY_LACK);
  for (int i = 0; text && i < JSON_SUGARS; i++)
    if (data_sugar[i] && !strcmp(data_sugar[i], text) &&
        sugar_fits(e, (Sugar)i))
      e->sugar = (uint8_t)i;
}

/* --- Kinds ---------------------------------------------------------------- */

static const struct NodeReader {
  const char *kind;
  Expr *(*read)(Reader *r, const json_t *row);
} readers[] = {
    {"block", read_block},
    {"bracket", read_bracket},
    {"call", read_call},
    {"constant", read_constant},
    {"constructor", read_ident},
    {"dim", read_ident},
    {"field", read_field},
    {"fn", read_fn},
    {"global", read_global},
    {"if", read_if},
    {"list", read_list},
    {"match", read_match},
    {"meta", read_meta},
    {"name", read_ident},
    {"op", read_ident},
    {"proj", read_proj},
    {"ref", read_ref},
    {"ref_read", read_ref_read},
    {"ref_write", read_ref_write},
    {"string", read_string},
    {"tuple", read_tuple},
    {"var", read_var},
    {"with", read_with},
};

Expr *data_read_node(Reader *r, const json_t *row) {
  const char *kind = data_text(r, row, "kind", JSON_NEEDED);
  if (!kind) return NULL;
  for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
    if (strcmp(readers[i].kind, kind)) continue;
    Expr *e = readers[i].read(r, row);
    if (data_stopped(r)) return NULL;
    read_sugar(r, row, e);
    return e;
  }
  return data_wrong(r, "kind", "no node is a `%s`", kind);
}
