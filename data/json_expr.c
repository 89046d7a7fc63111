/* Expressions as rows of the table of nodes, parts before wholes.
 *
 * A row is one line.  It says what kind of node it is, which rows are its
 * parts, its type and where it stood.  A callee that is an operator, a
 * constructor or a definition stands in the call itself:
 *
 *   {"kind": "call", "op": "add", "args": [3, 4], "type": 0, "span": [...]}
 *
 * Binders get their names in the order in which the printer gives them
 * (ir/print_block.c), so that a program keeps its names from dump to dump. */
#include <stdio.h>
#include <string.h>

#include "data/json.h"

/* --- Rows ----------------------------------------------------------------- */

static StrBuf *begin_node(Json *j, const char *kind) {
  if (j->node_count > 0) strbuf_add(&j->nodes, ",\n  ");
  strbuf_addf(&j->nodes, "{\"kind\": \"%s\"", kind);
  return &j->nodes;
}

/* A list of types that a use was instantiated with. */
static void add_targs(Json *j, StrBuf *out, const Expr *e) {
  if (!e->targs || !j->p.resolved) return;
  data_key(out, "type_args");
  strbuf_add_char(out, '[');
  for (int i = 0; i < e->targ_count; i++)
    strbuf_addf(out, "%s%d", i ? ", " : "", data_type(j, e->targs[i]));
  strbuf_add_char(out, ']');
}

static int end_node(Json *j, const Expr *e) {
  StrBuf *out = &j->nodes;
  if (e->sugar < JSON_SUGARS && data_sugar[e->sugar])
    data_member(out, "sugar", data_sugar[e->sugar]);
  bool call = e->kind == EX_CALL && e->call.callee;
  add_targs(j, out, e->targs || !call ? e : e->call.callee);
  int type = j->p.resolved ? data_type(j, e->type) : -1;
  if (type >= 0) data_number(out, "type", type);
  data_span(j, out, e->span);
  strbuf_add_char(out, '}');
  return j->node_count++;
}

/* The parts of a node are written first; their indices wait in j->parts. */
static void add_part(Json *j, const Expr *e) {
  int index = data_expr(j, e);
  VEC_PUSH(&j->parts, index);
}

/* --- Attributes ----------------------------------------------------------- */

/* Values of attributes that are expressions are parts of the call. */
static void add_attr_parts(Json *j, const AttrExpr *x) {
  for (int i = 0; x->kind == AX_LIST && i < x->count; i++)
    add_attr_parts(j, x->items[i]);
  if (x->kind == AX_EXPR) add_part(j, x->expr);
}

static void add_number_attr(StrBuf *out, const AttrExpr *x) {
  bool real = x->kind == AX_FLOAT;
  DType dtype = x->dtype != DTYPE_NONE ? x->dtype
                : real                 ? DT_FLOAT64
                                       : DT_INT64;
  Value bits =
      real ? bits_from_f64(dtype, x->real) : bits_from_i64(dtype, x->integer);
  strbuf_addf(out, "{\"dtype\": \"%s\", \"value\": ", dtype_name(dtype));
  data_scalar(out, dtype, bits);
  strbuf_add_char(out, '}');
}

/* `parts` are the indices of the expressions in it, in order. */
static void add_attr_value(StrBuf *out, const AttrExpr *x, const int **parts) {
  switch (x->kind) {
    case AX_INT:
    case AX_FLOAT: add_number_attr(out, x); break;
    case AX_BOOL: strbuf_add(out, x->integer ? "true" : "false"); break;
    case AX_STRING: data_bytes(out, x->text, (size_t)x->count); break;
    case AX_NONE: strbuf_add(out, "null"); break;
    case AX_LIST:
      strbuf_add_char(out, '[');
      for (int i = 0; i < x->count; i++) {
        if (i > 0) strbuf_add(out, ", ");
        add_attr_value(out, x->items[i], parts);
      }
      strbuf_add_char(out, ']');
      break;
    case AX_META:
      strbuf_add(out, "{\"meta\": ");
      data_string(out, x->text);
      data_number(out, "index", x->integer);
      strbuf_add_char(out, '}');
      break;
    case AX_EXPR: strbuf_addf(out, "{\"node\": %d}", *(*parts)++); break;
  }
}

static void add_attrs(StrBuf *out, int count, const Attr *attrs,
                      const int *parts) {
  if (count == 0) return;
  data_key(out, "attrs");
  strbuf_add_char(out, '[');
  for (int i = 0; i < count; i++) {
    strbuf_add(out, i ? ", {\"value\": " : "{\"value\": ");
    add_attr_value(out, attrs[i].value, &parts);
    if (attrs[i].name) data_member(out, "name", attrs[i].name->text);
    strbuf_add_char(out, '}');
  }
  strbuf_add_char(out, ']');
}

static const int *parts_from(const Json *j, size_t base) {
  return j->parts.data + base;
}

/* --- Names ---------------------------------------------------------------- */

static int write_named(Json *j, const Expr *e, const char *kind,
                       const char *name) {
  data_member(begin_node(j, kind), "name", name);
  return end_node(j, e);
}

static int write_graph(Json *j, const Expr *e) {
  char name[32];
  snprintf(name, sizeof name, "%lld", (long long)e->index);
  return write_named(j, e, "var", name);
}

/* What an expression that only names something is written as, and the name;
 * NULL: it is another.  A session's value is a variable to its text. */
static const char *name_kind(const Json *j, const Expr *e, const char **name) {
  const Program *p = j->program;
  switch (e->kind) {
    case EX_LOCAL: return *name = e->name->text, "var";
    case EX_IDENT: return *name = e->name->text, "name";
    case EX_VAR:
      *name = print_name_of(&j->p, e->var)->text;
      return e->var->is_dim ? "dim" : "var";
    case EX_GLOBAL: {
      const Global *g = e->g.global;
      bool local = j->p.resolved && g && g->kind == GLOBAL_LOCAL;
      return *name = e->g.name->text, local ? "var" : "global";
    }
    case EX_CTOR: return *name = e->ctor->name->text, "constructor";
    case EX_OP: return *name = p->op_name ? p->op_name(e->op) : "?", "op";
    case EX_DIM: return *name = e->dim_var->name->text, "dim";
    default: return NULL;
  }
}

/* --- Calls ---------------------------------------------------------------- */

/* Is the callee's name a member of the call?  A variable's node says where it
 * is used. */
static bool callee_in_place(const char *kind) {
  return kind && strcmp(kind, "var") && strcmp(kind, "dim");
}

static int write_call(Json *j, const Expr *e) {
  const Expr *callee = e->call.callee;
  const Attr *attrs;
  const char *name = NULL, *kind = NULL;
  int operands, attr_count = print_attrs_of(&j->p, e, &attrs, &operands);
  size_t base = j->parts.len;
  if (callee) kind = name_kind(j, callee, &name);
  if (!callee_in_place(kind)) kind = NULL;
  if (callee && !kind) add_part(j, callee);
  size_t args = j->parts.len;
  for (int i = 0; i < operands; i++) add_part(j, e->args[i]);
  size_t values = j->parts.len;
  for (int i = 0; i < attr_count; i++) add_attr_parts(j, attrs[i].value);
  StrBuf *out = begin_node(j, callee ? "call" : "with");
  if (kind) data_member(out, kind, name);
  else if (callee) data_number(out, "callee", *parts_from(j, base));
  data_indices(out, "args", operands, parts_from(j, args));
  add_attrs(out, attr_count, attrs, parts_from(j, values));
  if (e->call.late > 0) data_number(out, "late", e->call.late);
  j->parts.len = base;
  return end_node(j, e);
}

/* --- Blocks and functions ------------------------------------------------- */

/* As in the printer, the names of a group are bound before its values. */
static void bind_group(Json *j, const Block *b, int i) {
  if (!b->bindings[i].var || b->bindings[i].kind == BIND_AND) return;
  do print_bind(&j->p, b->bindings[i].var);
  while (++i < b->count && b->bindings[i].kind == BIND_AND);
}

/* A value has a type with parameters by itself (print_let_type). */
static int let_annotation(Json *j, const Var *v, const Expr *value) {
  const Type *found = v->type;
  bool quantified = found && found->kind == TY_FN && found->param_count > 0;
  return data_annotation(j, v->annotation, quantified && value ? NULL : found);
}

static void add_annotation(StrBuf *out, int type) {
  if (type >= 0) data_number(out, "annotation", type);
}

static void add_binding(Json *j, StrBuf *out, const Binding *b, int value) {
  bool graph = b->kind == BIND_GRAPH || print_is_graph(&j->p, b);
  strbuf_addf(out, "{\"kind\": \"%s\"",
              data_binding_kinds[graph ? BIND_GRAPH : b->kind]);
  char number[32];
  snprintf(number, sizeof number, "%lld", (long long)b->index);
  if (b->kind == BIND_GRAPH) data_member(out, "name", number);
  else if (b->var) data_member(out, "name", print_name_of(&j->p, b->var)->text);
  if (b->value) data_number(out, "value", value);
  if (b->var && !graph)
    add_annotation(out, let_annotation(j, b->var, b->value));
  if (b->var && b->var->lazy) strbuf_add(out, ", \"lazy\": true");
  data_span(j, out, b->span);
  strbuf_add_char(out, '}');
}

/* A block of named dimensions alone is its result: the text names them. */
static int write_block(Json *j, const Expr *e) {
  const Block *b = e->block;
  int first = print_first_shown(b);
  if (first == b->count && b->count > 0) return data_expr(j, b->result);
  size_t scope = print_scope(&j->p), base = j->parts.len;
  for (int i = first; i < b->count && !mem_exhausted(j->mem); i++) {
    bind_group(j, b, i);
    if (b->bindings[i].value) add_part(j, b->bindings[i].value);
    else VEC_PUSH(&j->parts, -1);
  }
  int result = data_expr(j, b->result);
  StrBuf *out = begin_node(j, "block");
  strbuf_add(out, ", \"bindings\": [");
  for (int i = first; i < b->count && !mem_exhausted(j->mem); i++) {
    if (i > first) strbuf_add(out, ", ");
    add_binding(j, out, &b->bindings[i], parts_from(j, base)[i - first]);
  }
  strbuf_addf(out, "], \"result\": %d", result);
  j->parts.len = base;
  print_leave(&j->p, scope);
  return end_node(j, e);
}

static void add_params(Json *j, StrBuf *out, const Fn *fn) {
  strbuf_add(out, ", \"params\": [");
  for (int i = 0; i < fn->param_count; i++) {
    const Var *v = fn->params[i];
    strbuf_add(out, i ? ", {\"name\": " : "{\"name\": ");
    data_string(out, print_name_of(&j->p, v)->text);
    add_annotation(out, data_annotation(j, v->annotation, v->type));
    data_span(j, out, v->span);
    strbuf_add_char(out, '}');
  }
  strbuf_add_char(out, ']');
}

/* A function's attributes are without effect; those that name the metadata
 * section are left out, as the printer does. */
static void add_fn_attrs(Json *j, StrBuf *out, const Fn *fn) {
  Attr *kept = ARENA_ARRAY(&j->p.doc.arena, Attr, (size_t)fn->attr_count);
  int count = 0;
  for (int i = 0; kept && i < fn->attr_count; i++)
    if (!j->p.resolved || !attr_expr_is_of_metadata(fn->attrs[i].value))
      kept[count++] = fn->attrs[i];
  add_attrs(out, count, kept, NULL);
}

static int fn_result(Json *j, const Expr *e) {
  const Type *t = e->type && e->type->kind == TY_FN ? e->type->result : NULL;
  return data_annotation(j, e->fn->result, t);
}

static int write_fn(Json *j, const Expr *e) {
  const Fn *fn = e->fn;
  size_t scope = print_scope(&j->p);
  int vars = j->p.resolved ? fn->type_param_count : 0;
  const TypeVar **hidden =
      ARENA_ARRAY(&j->p.doc.arena, const TypeVar *, (size_t)vars);
  print_bind_types(&j->p, vars, fn->type_vars, hidden);
  for (int i = 0; i < fn->param_count; i++) print_bind(&j->p, fn->params[i]);
  int body = data_expr(j, fn->body);
  StrBuf *out = begin_node(j, "fn");
  if (fn->type_param_count > 0) {
    strbuf_add(out, ", \"type_params\": [");
    data_type_params(out, fn->type_param_count, fn->type_params);
    strbuf_add_char(out, ']');
  }
  add_params(j, out, fn);
  add_fn_attrs(j, out, fn);
  int result = fn_result(j, e);
  if (result >= 0) data_number(out, "result", result);
  data_number(out, "body", body);
  if (fn->effects & EFFECT_KNOWN) data_effects(out, fn->effects);
  print_leave_types(&j->p, vars, fn->type_vars, hidden);
  print_leave(&j->p, scope);
  return end_node(j, e);
}

/* --- Matches -------------------------------------------------------------- */

static void bind_pattern(Json *j, const Pattern *pattern) {
  if (pattern->kind == PT_VAR && !pattern->again)
    print_bind(&j->p, pattern->var);
  for (int i = 0; i < pattern->count; i++) bind_pattern(j, pattern->fields[i]);
}

/* Patterns nest NESTING_MAX deep at most (parser/build.h). */
static void add_pattern(Json *j, StrBuf *out, const Pattern *pattern) {
  static const char *const kinds[] = {
      [PT_WILD] = "wild",   [PT_VAR] = "var",         [PT_CTOR] = "constructor",
      [PT_TUPLE] = "tuple", [PT_LITERAL] = "literal", [PT_OR] = "or",
  };
  strbuf_addf(out, "{\"kind\": \"%s\"", kinds[pattern->kind]);
  if (pattern->label) data_member(out, "label", pattern->label->text);
  if (pattern->kind == PT_VAR) {
    const Var *v = pattern->var;
    data_member(out, "name", print_name_of(&j->p, v)->text);
    add_annotation(out, data_annotation(j, v->annotation, v->type));
  }
  if (pattern->kind == PT_CTOR) data_member(out, "name", pattern->name->text);
  if (pattern->kind == PT_LITERAL) {
    data_key(out, "value");
    data_tensor(out, pattern->constant);
  }
  if (pattern->count > 0 || pattern->parens || pattern->kind == PT_TUPLE) {
    strbuf_add(out, ", \"fields\": [");
    for (int i = 0; i < pattern->count; i++) {
      if (i > 0) strbuf_add(out, ", ");
      add_pattern(j, out, pattern->fields[i]);
    }
    strbuf_add_char(out, ']');
  }
  data_span(j, out, pattern->span);
  strbuf_add_char(out, '}');
}

/* The end of the arm's alternatives, each of which is an arm of its own. */
static int arm_end(const Match *m, int i) {
  while (++i < m->arm_count && m->arms[i].shares) continue;
  return i;
}

static void add_arm_parts(Json *j, const Match *m, int i) {
  const Arm *arm = &m->arms[i];
  size_t scope = print_scope(&j->p);
  for (int k = i; k < arm_end(m, i); k++) bind_pattern(j, m->arms[k].pattern);
  if (arm->guard) add_part(j, arm->guard);
  else VEC_PUSH(&j->parts, -1);
  add_part(j, arm->body);
  print_leave(&j->p, scope);
}

static void add_arm(Json *j, StrBuf *out, const Match *m, int i,
                    const int *parts) {
  int end = arm_end(m, i);
  strbuf_add(out, "{\"pattern\": ");
  if (end - i > 1) strbuf_add(out, "{\"kind\": \"or\", \"fields\": [");
  for (int k = i; k < end; k++) {
    if (k > i) strbuf_add(out, ", ");
    add_pattern(j, out, m->arms[k].pattern);
  }
  if (end - i > 1) strbuf_add(out, "]}");
  if (parts[0] >= 0) data_number(out, "guard", parts[0]);
  data_number(out, "body", parts[1]);
  if (m->arms[i].braces) strbuf_add(out, ", \"braces\": true");
  data_span(j, out, m->arms[i].span);
  strbuf_add_char(out, '}');
}

static int write_match(Json *j, const Expr *e) {
  const Match *m = e->match;
  size_t base = j->parts.len;
  add_part(j, e->args[0]);
  for (int i = 0; i < m->arm_count && !mem_exhausted(j->mem); i = arm_end(m, i))
    add_arm_parts(j, m, i);
  StrBuf *out = begin_node(j, "match");
  const int *parts = parts_from(j, base);
  data_number(out, "value", *parts++);
  if (m->partial) strbuf_add(out, ", \"partial\": true");
  strbuf_add(out, ", \"arms\": [");
  for (int i = 0; i < m->arm_count && !mem_exhausted(j->mem);
       i = arm_end(m, i), parts += 2) {
    if (i > 0) strbuf_add(out, ", ");
    add_arm(j, out, m, i, parts);
  }
  strbuf_add_char(out, ']');
  j->parts.len = base;
  return end_node(j, e);
}

/* --- Everything else ------------------------------------------------------ */

/* Nodes that have nothing but operands, by the members that these are. */
static const struct Shape {
  const char *kind;
  int count; /* -1: all operands are one list */
  const char *keys[3];
} shapes[] = {
    [EX_BRACKET] = {"bracket", -1, {"items"}},
    [EX_TUPLE] = {"tuple", -1, {"items"}},
    [EX_IF] = {"if", 3, {"condition", "then", "else"}},
    [EX_REF] = {"ref", 1, {"value"}},
    [EX_READ] = {"ref_read", 1, {"ref"}},
    [EX_WRITE] = {"ref_write", 2, {"ref", "value"}},
    [EX_PROJ] = {"proj", 1, {"value"}},
    [EX_FIELD] = {"field", 1, {"value"}},
    [EX_LIST] = {"list", -1, {"items"}},
};

static int write_shape(Json *j, const Expr *e, const struct Shape *shape) {
  size_t base = j->parts.len;
  for (int i = 0; i < e->count && !mem_exhausted(j->mem); i++)
    add_part(j, e->args[i]);
  StrBuf *out = begin_node(j, shape->kind);
  const int *parts = parts_from(j, base);
  bool packed = e->kind == EX_LIST && e->list.packed;
  for (int i = 0; i < shape->count && i < e->count; i++)
    data_number(out, shape->keys[i], parts[i]);
  if (shape->count < 0 && !packed)
    data_indices(out, shape->keys[0], e->count, parts);
  if (e->kind == EX_PROJ) data_number(out, "index", e->index);
  if (e->kind == EX_FIELD) data_member(out, "name", e->field.name->text);
  if (e->kind == EX_LIST) {
    const Expr *head = e->list.head;
    bool resolved = head->kind == EX_CTOR;
    data_member(out, "of",
                (resolved ? head->ctor->adt->name : head->name)->text);
  }
  if (packed) {
    data_key(out, "value");
    data_tensor(out, e->list.packed);
  }
  j->parts.len = base;
  return end_node(j, e);
}

static int write_leaf(Json *j, const Expr *e) {
  StrBuf *out;
  switch (e->kind) {
    case EX_CONST:
      out = begin_node(j, "constant");
      data_key(out, "value");
      data_tensor(out, e->constant);
      break;
    case EX_STRING:
      out = begin_node(j, "string");
      data_key(out, "value");
      data_bytes(out, e->text.bytes, e->text.len);
      break;
    case EX_META:
      out = begin_node(j, "meta");
      data_member(out, "key", e->meta.name->text);
      data_number(out, "index", e->meta.index);
      break;
    default: begin_node(j, "error"); break;
  }
  return end_node(j, e);
}

static int write_expr(Json *j, const void *part) {
  const Expr *e = part;
  const char *name, *kind = name_kind(j, e, &name);
  if (kind) return write_named(j, e, kind, name);
  switch (e->kind) {
    case EX_GRAPH: return write_graph(j, e);
    case EX_CALL: return write_call(j, e);
    case EX_FN: return write_fn(j, e);
    case EX_BLOCK: return write_block(j, e);
    case EX_MATCH: return write_match(j, e);
    default: break;
  }
  if (e->kind < sizeof shapes / sizeof *shapes && shapes[e->kind].kind)
    return write_shape(j, e, &shapes[e->kind]);
  return write_leaf(j, e);
}

int data_expr(Json *j, const Expr *e) {
  return mem_exhausted(j->mem) ? 0 : data_split(j, write_expr, e);
}
