/* The reverse sweep of a stretch as a function, and, further down, its
 * tangents.
 *
 *   y = tanh(x w' + b)          values: x 0, w 1, b 2; 3, 4, 5
 *   ---------------------------------------------------------
 *   def @.. (%value0, %value1, %value2, %value5, %adjoint0) {
 *     let %part2 = { let %y = %value5; let %g = %adjoint0; RULE OF tanh };
 *     let %d1 = %part2.0;
 *     let %part1 = { let %g = %d1; RULE OF add };
 *     let %d2 = %part1.0;
 *     let %d3 = collapse_sum_like(%part1.1, %value2);
 *     let %part0 = { let %x = %value0; ...; RULE OF nn.dense };
 *     let %d4 = %part0.0;
 *     (%part0.1, %d4, %d3)      the product of w, the sums of x and b
 *   }
 *
 * Operators are gone through backward, as the sweep over records does, and
 * adjoints are added in the same order: a stretch gives the bits that its
 * operators give one by one.  Fields of a rule's tuple that nobody wants are
 * not computed, nor what only they need. */
#include "types/stretch.h"

#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "ir/walk.h"
#include "types/check.h"
#include "types/gradient_rule.h"

/* What waits: a product a' b, or where b is NULL the sum of the rows of a. */
typedef struct Product {
  const Name *a, *b;
} Product;

/* The adjoint of a value so far. */
typedef struct Sum {
  const Name *name;      /* of the variable that holds it; NULL: zero */
  VEC(Product) products; /* in the order of the sweep */
  bool depends;          /* on what varies */
  bool late; /* the first of the products was there before the stretch */
} Sum;

typedef struct Writing {
  Program *p;
  Arena *arena;
  const Stretch *s;
  Span span;
  int names;
  Sum *sums;
  bool *reads;
  Bindings lets;
  VEC(StretchPart) parts;
  VEC(const Expr *) given;
} Writing;

/* --- Names ---------------------------------------------------------------- */

static const Name *numbered(Writing *w, const char *stem, int number) {
  char name[32];
  snprintf(name, sizeof name, "%s%d", stem, number);
  return name_of(w->p->names, name);
}

static const Expr *local(Writing *w, const Name *name) {
  Expr *e = expr_new(w->arena, EX_LOCAL, w->span);
  e->name = name;
  return e;
}

/* Value `v`, which the forward run saves. */
static const Expr *saved(Writing *w, int v) {
  w->reads[v] = true;
  return local(w, numbered(w, "value", v));
}

static Binding let_of(Writing *w, const Name *name, const Expr *e) {
  return binding_let(w->span, var_new(w->arena, name, w->span, NULL), e);
}

/* A new variable for the expression. */
static const Name *put_let(Writing *w, const char *stem, const Expr *e) {
  const Name *name = numbered(w, stem, w->names++);
  VEC_PUSH(&w->lets, let_of(w, name, e));
  return name;
}

static Expr *call_of(Writing *w, OpId op, int n, const Expr *const *args,
                     int attr_count, const Attr *attrs) {
  Expr *callee = expr_new(w->arena, EX_IDENT, w->span);
  callee->name = name_of(w->p->names, op_info(op)->name);
  Expr *e = expr_call(w->arena, w->span, callee, n,
                      arena_copy(w->arena, args, (size_t)n * sizeof *args));
  e->call.attr_count = attr_count;
  e->call.attrs = attrs;
  return e;
}

static const Expr *call2(Writing *w, OpId op, const Expr *a, const Expr *b) {
  const Expr *args[2] = {a, b};
  Expr *call = call_of(w, op, 2, args, 0, NULL);
  call->sugar = SUGAR_INFIX; /* where it has a sign */
  return call;
}

static const Expr *zeros_like(Writing *w, const Expr *e) {
  return call_of(w, OP_ZEROS_LIKE, 1, &e, 0, NULL);
}

static const Attr *attr_of(Writing *w, const char *name, AttrExpr value) {
  Attr *a = ARENA_NEW(w->arena, Attr);
  AttrExpr *x = ARENA_NEW(w->arena, AttrExpr);
  *x = value;
  x->span = w->span;
  *a = (Attr){.name = name_of(w->p->names, name), .span = w->span, .value = x};
  return a;
}

/* --- Values --------------------------------------------------------------- */

/* The list that has a number n times. */
static AttrExpr repeated(Writing *w, int number, int n) {
  AttrExpr *one = ARENA_NEW(w->arena, AttrExpr);
  const AttrExpr **items =
      ARENA_ARRAY(w->arena, const AttrExpr *, (size_t)n + 1);
  *one = (AttrExpr){
      .kind = AX_INT, .span = w->span, .dtype = DTYPE_NONE, .integer = number};
  for (int i = 0; items && i < n; i++) items[i] = one;
  return (AttrExpr){.kind = AX_LIST, .count = items ? n : 0, .items = items};
}

/* The operator whose first result is value `v`; NULL: there is none. */
static const StretchOp *op_of(const Stretch *s, int v) {
  for (int i = 0; i < s->op_count; i++)
    if (s->ops[i].first == v) return &s->ops[i];
  return NULL;
}

/* Is value `v` a scalar that was given the shape (1, ...)? */
static bool is_shaped_scalar(const Stretch *s, int v) {
  const StretchOp *op = op_of(s, v);
  return op && op->attrs->op->view == VIEW_RESHAPE && op->operand_count == 1 &&
         type_is_scalar(s->types[op->operands[0]]) &&
         type_has_one_element(s->types[v]);
}

/* Value `v` of the forward run.  A scalar under another shape is made again,
 * since the scalar is cheaper to save. */
static const Expr *value(Writing *w, int v) {
  if (!is_shaped_scalar(w->s, v)) return saved(w, v);
  const Expr *scalar = saved(w, op_of(w->s, v)->operands[0]);
  const Attr *shape =
      attr_of(w, "newshape", repeated(w, 1, w->s->types[v]->rank));
  return call_of(w, OP_RESHAPE, 1, &scalar, 1, shape);
}

/* --- What is wanted of a rule --------------------------------------------- */

static const Expr *unit(Writing *w) {
  return gradient_tuple(w->arena, w->span, 0,
                        ARENA_ARRAY(w->arena, const Expr *, 1));
}

/* The block without lets that nothing in it reads. */
static const Expr *without_unread(Writing *w, const Block *b,
                                  const Expr *result) {
  Binding *kept = ARENA_ARRAY(w->arena, Binding, (size_t)b->count + 1);
  const Expr *rest = result;
  int n = 0;
  if (!kept) return result;
  for (int i = b->count; i-- > 0;) {
    const Binding *at = &b->bindings[i];
    bool read = at->kind != BIND_LET;
    for (int k = b->count - n; !read && k < b->count; k++)
      read = gradient_mentions(w->p->mem, kept[k].value, at->var->name);
    if (!read && !gradient_mentions(w->p->mem, rest, at->var->name)) continue;
    kept[b->count - ++n] = *at;
  }
  if (n == 0) return result;
  return expr_block(w->arena, w->span, n, kept + b->count - n, result);
}

/* A rule's body with () in the places of fields that are not wanted.  A result
 * that is no tuple written out stays whole. */
static const Expr *prune(Writing *w, const Expr *e, const bool *wanted) {
  if (e->kind == EX_BLOCK)
    return without_unread(w, e->block, prune(w, e->block->result, wanted));
  if (e->kind == EX_IF)
    return expr_if(w->arena, e->span, e->args[0], prune(w, e->args[1], wanted),
                   prune(w, e->args[2], wanted));
  if (e->kind != EX_TUPLE) return e;
  const Expr **fields =
      ARENA_ARRAY(w->arena, const Expr *, (size_t)e->count + 1);
  for (int i = 0; fields && i < e->count; i++)
    fields[i] = wanted[i] ? e->args[i] : unit(w);
  return gradient_tuple(w->arena, e->span, e->count, fields);
}

/* Field i of the rule's tuple, in the branch that is written first; NULL: it is
 * not written out. */
static const Expr *field_written(const Expr *e, int i) {
  while (e->kind == EX_BLOCK || e->kind == EX_IF)
    e = e->kind == EX_BLOCK ? e->block->result : e->args[1];
  return e->kind == EX_TUPLE && i < e->count ? e->args[i] : NULL;
}

/* --- Sums ----------------------------------------------------------------- */

static bool same_shape(const Type *a, const Type *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (dim_is_any(a->dims[i]) || !dim_same(a->dims[i], b->dims[i]))
      return false;
  return true;
}

static int count_floats(const Stretch *s, const StretchOp *op) {
  int count = 0, at = 0;
  for (int i = 0; i < op->group_count; i++) {
    int v = op->operands[at];
    count += dtype_is_float((DType)s->types[v]->dtype);
    at += group_fields(op->groups[i]);
  }
  return count;
}

/* Do the adjoints that the rule gives surely have the operands' shapes?  What
 * was broadcast has another; where there is nothing to broadcast against, or
 * products of matrices without a batch, that cannot be. */
static bool rule_is_exact(const Stretch *s, const StretchOp *op) {
  const OpInfo *info = op->attrs->op;
  if (info->reads != READS_INNER)
    return info->reads != READS_SAME &&
           (count_floats(s, op) == 1 || info->sets_rows);
  for (int i = 0; i < op->operand_count; i++)
    if (s->types[op->operands[i]]->rank != 2) return false;
  return true;
}

static void add_sum(Writing *w, int v, const Expr *d) {
  Sum *sum = &w->sums[v];
  if (sum->name) d = call2(w, OP_ADD, local(w, sum->name), d);
  sum->name = put_let(w, "d", d);
}

/* Is it a vector that was added to each row of a matrix, or the like?  Rules of
 * other operators sum over the rows themselves. */
static bool is_row_of(const StretchOp *op, const Type *row,
                      const Type *matrix) {
  return op_is_elementwise(op->attrs->op) && row->rank == 1 &&
         matrix->rank == 2 && !dim_is_any(row->dims[0]) &&
         dim_same(row->dims[0], matrix->dims[1]);
}

/* An adjoint that the rule gives for operand `v`. */
static void add_part(Writing *w, const StretchOp *op, int v, const Expr *d,
                     bool exact) {
  const Stretch *s = w->s;
  bool alike = op_is_elementwise(op->attrs->op) &&
               same_shape(s->types[v], s->types[op->first]);
  if (!exact && !alike && is_row_of(op, s->types[v], s->types[op->first])) {
    VEC_PUSH(&w->sums[v].products, ((Product){put_let(w, "a", d), NULL}));
    return;
  }
  if (!exact && !alike) d = call2(w, OP_COLLAPSE_SUM_LIKE, d, value(w, v));
  add_sum(w, v, d);
}

/* (a, b), written out by the rule: a product that waits, or where the first is
 * of integers rows that are added to. */
static void add_pair(Writing *w, int v, const Expr *pair, bool rows) {
  const Expr *a = gradient_field(w->arena, pair, 0);
  const Expr *b = gradient_field(w->arena, pair, 1);
  Sum *sum = &w->sums[v];
  if (!rows) {
    Product product = {put_let(w, "a", a), put_let(w, "b", b)};
    VEC_PUSH(&sum->products, product);
    return;
  }
  const Expr *to = sum->name ? local(w, sum->name) : zeros_like(w, value(w, v));
  const Expr *args[3] = {to, a, b};
  const Attr *mode = attr_of(
      w, "mode", (AttrExpr){.kind = AX_STRING, .text = "add", .count = 3});
  sum->name = put_let(w, "d", call_of(w, OP_SCATTER_ND, 3, args, 1, mode));
}

/* All matrices of one side, in the order of making. */
static const Expr *join(Writing *w, const Sum *sum, bool second) {
  size_t n = sum->products.len;
  const Expr **all = ARENA_ARRAY(w->arena, const Expr *, n + 1);
  for (size_t i = 0; all && i < n; i++) {
    const Product *at = &sum->products.data[n - 1 - i];
    all[i] = local(w, second ? at->b : at->a);
  }
  if (!all || n == 1) return all ? all[0] : unit(w);
  const Expr *tuple = gradient_tuple(w->arena, w->span, (int)n, all);
  return call_of(w, OP_CONCATENATE, 1, &tuple, 0, NULL);
}

/* Without a look at the value that they are for, which need not be saved. */
static const Expr *sum_of_rows(Writing *w, const Expr *rows) {
  const Attr *axis = attr_of(w, "axis", repeated(w, 0, 1));
  return call_of(w, OP_SUM, 1, &rows, 1, axis);
}

/* The products that wait for a value of the stretch become part of its sum. */
static void settle(Writing *w, int v) {
  Sum *sum = &w->sums[v];
  if (sum->products.len == 0) return;
  if (sum->late && sum->products.len == 1 && !sum->products.data[0].b) {
    add_sum(w, v, sum_of_rows(w, local(w, sum->products.data[0].a)));
  } else if (!sum->products.data[0].b) {
    add_sum(w, v,
            call2(w, OP_COLLAPSE_SUM_LIKE, join(w, sum, false), value(w, v)));
  } else {
    const Expr *args[2] = {join(w, sum, false), join(w, sum, true)};
    const Attr *flip =
        attr_of(w, "transpose_a", (AttrExpr){.kind = AX_BOOL, .integer = 1});
    add_sum(w, v, call_of(w, OP_NN_MATMUL, 2, args, 1, flip));
  }
  VEC_CLEAR(&sum->products);
}

/* --- One operator --------------------------------------------------------- */

static const Type *group_type(Writing *w, int group, const int *values) {
  if (group == GROUP_SINGLE) return w->s->types[values[0]];
  const Type **types = ARENA_ARRAY(w->arena, const Type *, (size_t)group + 1);
  for (int i = 0; types && i < group; i++) types[i] = w->s->types[values[i]];
  return type_tuple(w->p->types, types ? group : 0, types);
}

static const Expr *group_value(Writing *w, int group, const int *values) {
  if (group == GROUP_SINGLE) return value(w, values[0]);
  const Expr **all = ARENA_ARRAY(w->arena, const Expr *, (size_t)group + 1);
  for (int i = 0; all && i < group; i++) all[i] = value(w, values[i]);
  return gradient_tuple(w->arena, w->span, group, all);
}

/* Zeros of the shape of result `v`.  Another result of the same type that has
 * an adjoint tells the shape as well, and need not be kept for it. */
static const Expr *zeros_for(Writing *w, const StretchOp *op, int v) {
  const Stretch *s = w->s;
  for (int i = op->first; i < op->first + op->out_count; i++)
    if (w->sums[i].name && s->types[i]->dtype == s->types[v]->dtype &&
        same_shape(s->types[i], s->types[v]))
      return zeros_like(w, local(w, w->sums[i].name));
  return zeros_like(w, value(w, v));
}

/* The results' adjoint: zeros for those of several that have none. */
static const Expr *result_adjoint(Writing *w, const StretchOp *op) {
  const Expr **all =
      ARENA_ARRAY(w->arena, const Expr *, (size_t)op->out_count + 1);
  for (int i = 0; all && i < op->out_count; i++) {
    const Name *sum = w->sums[op->first + i].name;
    all[i] = sum ? local(w, sum) : zeros_for(w, op, op->first + i);
  }
  if (!all) return unit(w);
  return op->gives_tuple ? gradient_tuple(w->arena, w->span, op->out_count, all)
                         : all[0];
}

/* The body with a tuple of variables written out where it reads the parameter
 * of this name, so that no tuple is made. */
static const Expr *with_tuple(Writing *w, const Expr *body, const Name *name,
                              const Expr *tuple) {
  ExprMap map;
  expr_map_start(&map, w->p->mem, w->arena, body);
  while (expr_map_next(&map)) {
    const Expr *e = map.walk.at;
    if (map.walk.event != WALK_ENTER) continue;
    const Expr *of = e->kind == EX_PROJ ? e->args[0] : e;
    if (of->kind != EX_LOCAL || of->name != name) continue;
    bool field = e != of && e->index < tuple->count;
    if (e == of || field)
      expr_map_put(&map, field ? tuple->args[e->index] : tuple);
  }
  return expr_map_end(&map);
}

/* The rule's body after lets of the parameters that it reads, of which the last
 * is the results' adjoint. */
static const Expr *bind(Writing *w, const StretchOp *op, const Fn *rule,
                        const Expr *body, const Expr *adjoint) {
  int named = rule->param_count - 2, n = 0, at = 0;
  int results[op->out_count + 1];
  Binding *lets = ARENA_ARRAY(w->arena, Binding, (size_t)op->group_count + 3);
  if (!lets) return body;
  for (int i = 0; i < op->group_count; at += group_fields(op->groups[i++])) {
    const Name *name = rule->params[i]->name;
    if (!gradient_mentions(w->p->mem, body, name)) continue;
    const Expr *e = group_value(w, op->groups[i], op->operands + at);
    if (op->groups[i] != GROUP_SINGLE) body = with_tuple(w, body, name, e);
    else lets[n++] = let_of(w, name, e);
    if (!body) return unit(w);
  }
  for (int i = 0; i < op->out_count; i++) results[i] = op->first + i;
  const Name *y = rule->params[named]->name, *g = rule->params[named + 1]->name;
  if (op->gives_tuple) {
    if (gradient_mentions(w->p->mem, body, y))
      body = with_tuple(w, body, y, group_value(w, op->out_count, results));
    if (body) body = with_tuple(w, body, g, adjoint);
    if (!body) return unit(w);
  } else {
    if (gradient_mentions(w->p->mem, body, y))
      lets[n++] = let_of(w, y, value(w, op->first));
    lets[n++] = let_of(w, g, adjoint);
  }
  if (n == 0) return body;
  return expr_block(w->arena, w->span, n, lets, body);
}

/* Adds what the rule gives to the adjoints of the operands that want it. */
static bool take_apart(Writing *w, const StretchOp *op, const Expr *body,
                       const Expr *parts) {
  bool exact = rule_is_exact(w->s, op);
  for (int i = 0, at = 0; i < op->group_count;
       at += group_fields(op->groups[i++]))
    for (int k = 0; k < group_fields(op->groups[i]); k++) {
      int v = op->operands[at + k];
      if (!w->sums[v].depends) continue;
      const Expr *field = gradient_field(w->arena, parts, i);
      const Expr *written = field_written(body, i);
      bool tuple = op->groups[i] >= 0;
      if (tuple) {
        written = written && written->kind == EX_TUPLE && k < written->count
                      ? written->args[k]
                      : NULL;
        field = gradient_field(w->arena, field, k);
      }
      if (!written || written->kind != EX_TUPLE) {
        add_part(w, op, v, field, exact);
      } else {
        if (written->count != 2) return false;
        add_pair(w, v, field, op->attrs->op->reads != READS_INNER);
      }
    }
  return true;
}

/* Is there an adjoint of a result that depends on what varies? */
static bool has_adjoint(Writing *w, const StretchOp *op) {
  bool has = false;
  for (int i = 0; i < op->out_count; i++) {
    Sum *sum = &w->sums[op->first + i];
    settle(w, op->first + i);
    has |= sum->depends && sum->name;
  }
  return has;
}

/* The body of the operator's rule for operands of these types, with the wanted
 * fields alone.  NULL: it has no rule that fits, or memory ran out. */
static const Expr *rule_for(Writing *w, const StretchOp *op, const bool *wanted,
                            const Fn **rule) {
  Making m = {.p = w->p,
              .arena = w->arena,
              .item = gradient_rule(w->p, op->attrs->op),
              .attrs = op->attrs,
              .count = op->group_count,
              .own = op->group_count};
  if (!m.item || m.item->expr->fn->param_count < op->group_count + 2)
    return NULL;
  int results[op->out_count + 1];
  const Type **types =
      ARENA_ARRAY(w->arena, const Type *, (size_t)op->group_count + 3);
  if (!types) return NULL;
  for (int i = 0, at = 0; i < op->group_count;
       at += group_fields(op->groups[i++]))
    types[i] = group_type(w, op->groups[i], op->operands + at);
  for (int i = 0; i < op->out_count; i++) results[i] = op->first + i;
  types[m.count] = types[m.count + 1] =
      group_type(w, op->gives_tuple ? op->out_count : -1, results);
  m.types = types;
  w->span = m.item->expr->span;
  const Expr *body = gradient_body(&m);
  if (!body || m.unknown) return NULL;
  *rule = m.item->expr->fn;
  return prune(w, body, wanted);
}

static bool add_op(Writing *w, const StretchOp *op) {
  if (!has_adjoint(w, op)) return true;
  bool *wanted = ARENA_ARRAY(w->arena, bool, (size_t)op->group_count + 1);
  if (!wanted) return false;
  for (int i = 0, at = 0; i < op->group_count;
       at += group_fields(op->groups[i++]))
    for (int k = 0; k < group_fields(op->groups[i]); k++)
      wanted[i] |= w->sums[op->operands[at + k]].depends;
  const Fn *rule;
  const Expr *body = rule_for(w, op, wanted, &rule);
  if (!body) return false;
  const Expr *whole = bind(w, op, rule, body, result_adjoint(w, op));
  const Name *parts = put_let(w, "part", whole);
  return take_apart(w, op, body, local(w, parts));
}

/* --- The whole ------------------------------------------------------------ */

static void mark_dependent(Writing *w, uint32_t varies) {
  const Stretch *s = w->s;
  for (int i = 0; i < s->inputs && i < STRETCH_INPUTS; i++)
    w->sums[i].depends = varies >> i & 1;
  for (int i = 0; i < s->op_count; i++) {
    const StretchOp *op = &s->ops[i];
    bool depends = false;
    for (int k = 0; k < op->operand_count; k++)
      depends |= w->sums[op->operands[k]].depends;
    for (int k = 0; k < op->out_count; k++)
      w->sums[op->first + k].depends =
          depends && !op->attrs->op->flat &&
          dtype_is_float((DType)s->types[op->first + k]->dtype);
  }
}

static void give(Writing *w, int input, StretchPartKind kind, const Expr *e) {
  VEC_PUSH(&w->parts, ((StretchPart){input, kind}));
  VEC_PUSH(&w->given, e);
}

/* Products are given in the order in which the sweep meets them. */
static void give_input(Writing *w, int i) {
  const Sum *sum = &w->sums[i];
  for (size_t k = 0; k < sum->products.len; k++) {
    const Product *at = &sum->products.data[k];
    if (!at->b) {
      give(w, i, PART_ROWS, local(w, at->a));
      continue;
    }
    give(w, i, PART_PRODUCT, local(w, at->a));
    VEC_PUSH(&w->given, local(w, at->b));
  }
  if (sum->name) give(w, i, PART_SUM, local(w, sum->name));
}

/* Sums of nothing so far; false without memory. */
static bool start_sums(Writing *w, uint32_t varies) {
  w->sums = ARENA_ARRAY(w->arena, Sum, (size_t)w->s->value_count + 1);
  if (!w->sums) return false;
  for (int i = 0; i < w->s->value_count; i++)
    VEC_INIT(&w->sums[i].products, w->p->mem);
  mark_dependent(w, varies);
  return true;
}

/* Rows that wait for a result come last in the order of making, so they are met
 * first. */
static void start_late(Writing *w, int out) {
  int v = w->s->outs[out];
  Sum *sum = &w->sums[v];
  const Name *b = w->s->types[v]->rank == 2 ? numbered(w, "late_b", out) : NULL;
  if (!sum->depends) return;
  sum->late = true;
  VEC_PUSH(&sum->products, ((Product){numbered(w, "late_a", out), b}));
}

static bool write_sweep(Writing *w, StretchKey key) {
  const Stretch *s = w->s;
  if (!start_sums(w, key.varies)) return false;
  for (int i = 0; i < s->out_count; i++)
    if (key.outs >> i & 1 && w->sums[s->outs[i]].depends)
      w->sums[s->outs[i]].name = numbered(w, "adjoint", i);
  for (int i = 0; i < s->inputs && i < STRETCH_INPUTS; i++)
    if (key.sums >> i & 1) w->sums[i].name = numbered(w, "sum", i);
  for (int i = 0; i < s->out_count; i++)
    if (key.late >> i & 1) start_late(w, i);
  bool ok = true;
  for (int i = s->op_count; ok && i-- > 0;) ok = add_op(w, &s->ops[i]);
  for (int i = 0; ok && i < s->inputs && i < STRETCH_INPUTS; i++) {
    if (key.whole) settle(w, i);
    give_input(w, i);
  }
  return ok && !mem_exhausted(w->p->mem);
}

static void writing_start(Writing *w, Program *p, Arena *arena,
                          const Stretch *s, bool *reads) {
  *w = (Writing){
      .p = p, .arena = arena, .s = s, .span = SPAN_NONE, .reads = reads};
  VEC_INIT(&w->lets, p->mem);
  VEC_INIT(&w->parts, p->mem);
  VEC_INIT(&w->given, p->mem);
}

static void writing_end(Writing *w) {
  for (int i = 0; w->sums && i < w->s->value_count; i++)
    VEC_DONE(&w->sums[i].products);
  VEC_DONE(&w->lets);
  VEC_DONE(&w->parts);
  VEC_DONE(&w->given);
}

static void add_param(Writing *w, Fn *fn, Var **params, const Name *name,
                      const Type *type) {
  params[fn->param_count++] =
      var_new(w->arena, name, w->span, gradient_type(w->arena, type, w->span));
}

/* A function of the values that are read and of as many parameters more; the
 * latter are still to be added.  NULL without memory. */
static Fn *fn_of_reads(Writing *w, int more, Var ***params) {
  const Stretch *s = w->s;
  Fn *fn = ARENA_NEW(w->arena, Fn);
  *params = ARENA_ARRAY(w->arena, Var *, (size_t)(s->value_count + more + 1));
  if (!*params) return NULL;
  *fn = (Fn){.params = *params};
  for (int i = 0; i < s->value_count; i++)
    if (w->reads[i])
      add_param(w, fn, *params, numbered(w, "value", i), s->types[i]);
  return fn;
}

/* With what is given as its result; NULL without memory. */
static Fn *fn_done(Writing *w, Fn *fn) {
  const Expr *result =
      gradient_tuple(w->arena, w->span, (int)w->given.len,
                     arena_copy(w->arena, w->given.data,
                                w->given.len * sizeof *w->given.data));
  fn->body = expr_block(
      w->arena, w->span, (int)w->lets.len,
      arena_copy(w->arena, w->lets.data, w->lets.len * sizeof *w->lets.data),
      result);
  return mem_exhausted(w->p->mem) ? NULL : fn;
}

/* A parameter for each bit, named after the stem and the input. */
static void add_inputs(Writing *w, Fn *fn, Var **params, const char *stem,
                       uint32_t bits) {
  const Stretch *s = w->s;
  for (int i = 0; i < s->inputs && i < STRETCH_INPUTS; i++)
    if (bits >> i & 1)
      add_param(w, fn, params, numbered(w, stem, i), s->types[i]);
}

/* The sides of what waits for a result. */
static void add_late(Writing *w, Fn *fn, Var **params, int out) {
  const Type *of = w->s->types[w->s->outs[out]];
  Dim any[] = {DIM_ANY, DIM_ANY};
  const Type *side = type_tensor(w->p->types, (DType)of->dtype, 2, any);
  add_param(w, fn, params, numbered(w, "late_a", out), side);
  if (of->rank == 2) add_param(w, fn, params, numbered(w, "late_b", out), side);
}

static Fn *sweep_fn(Writing *w, StretchKey key) {
  const Stretch *s = w->s;
  Var **params;
  Fn *fn = fn_of_reads(w, 3 * s->out_count + s->inputs, &params);
  if (!fn) return NULL;
  for (int i = 0; i < s->out_count; i++)
    if (key.outs >> i & 1)
      add_param(w, fn, params, numbered(w, "adjoint", i), s->types[s->outs[i]]);
  for (int i = 0; i < s->out_count; i++)
    if (key.late >> i & 1) add_late(w, fn, params, i);
  add_inputs(w, fn, params, "sum", key.sums);
  return fn_done(w, fn);
}

/* Checks the function as a text of the library of its own. */
static const Global *check_fn(Writing *w, Unit *unit, Fn *fn) {
  Program *p = w->p;
  char name[40];
  snprintf(name, sizeof name, "gradient'%u", p->next_var_id);
  Item *item = ARENA_NEW(w->arena, Item);
  Expr *e = expr_new(w->arena, EX_FN, w->span);
  *item = (Item){.kind = ITEM_DEF,
                 .name = name_of(p->names, name),
                 .span = w->span,
                 .expr = e};
  e->fn = fn;
  unit->items = item;
  unit->item_count = 1;
  bool ok = gradient_check(p, unit, w->span);
  return ok ? scope_global(&p->user, item->name) : NULL;
}

bool types_stretch(Program *p, Arena *arena, const Stretch *s, StretchKey key,
                   StretchSweep *out) {
  bool *reads = ARENA_ARRAY(arena, bool, (size_t)s->value_count + 1);
  Unit *unit = unit_new(p, NULL);
  Writing w;
  writing_start(&w, p, &unit->arena, s, reads);
  bool ok = reads && write_sweep(&w, key);
  *out = (StretchSweep){.reads = reads};
  if (ok && w.parts.len) {
    Fn *fn = sweep_fn(&w, key);
    out->function = fn ? check_fn(&w, unit, fn) : NULL;
    out->part_count = (int)w.parts.len;
    out->parts =
        arena_copy(arena, w.parts.data, w.parts.len * sizeof *w.parts.data);
    ok = out->function && out->parts;
  }
  writing_end(&w);
  if (!out->function) program_drop_unit(p, unit);
  return ok;
}

bool types_stretch_reads(Program *p, const Stretch *s, StretchKey key,
                         bool *reads) {
  Arena arena;
  Writing w;
  arena_init(&arena, p->mem);
  writing_start(&w, p, &arena, s, reads);
  bool ok = write_sweep(&w, key);
  writing_end(&w);
  arena_done(&arena);
  return ok;
}

/* --- Tangents ------------------------------------------------------------- */

/* The tangent of value `v`, zeros where it does not vary. */
static const Expr *tangent_of(Writing *w, int v) {
  const Sum *sum = &w->sums[v];
  return sum->depends ? local(w, sum->name) : zeros_like(w, value(w, v));
}

/* The operator on tangents: of all operands in which it is linear, or with
 * `only` of that one, counted from 0 with tuples flattened, and on the values
 * of the others.  NULL: it has computed attributes. */
enum { ALL = -1 };
static const Expr *call_on_tangents(Writing *w, const StretchOp *op,
                                    OpLinear linear, int only) {
  const Expr **args =
      ARENA_ARRAY(w->arena, const Expr *, (size_t)op->group_count + 1);
  if (!args || attrs_have_operands(op->attrs)) return NULL;
  for (int i = 0, at = 0; i < op->group_count; i++) {
    int n = group_fields(op->groups[i]);
    const Expr **fields = ARENA_ARRAY(w->arena, const Expr *, (size_t)n + 1);
    if (!fields) return NULL;
    for (int k = 0; k < n; k++, at++) {
      int v = op->operands[at];
      bool is_float = dtype_is_float((DType)w->s->types[v]->dtype);
      bool takes =
          only == ALL ? op_linear_in(linear, at, is_float) : only == at;
      fields[k] = takes ? tangent_of(w, v) : value(w, v);
    }
    args[i] = op->groups[i] == GROUP_SINGLE
                  ? fields[0]
                  : gradient_tuple(w->arena, w->span, n, fields);
  }
  Expr *call = call_of(w, op_id(op->attrs->op), op->group_count, args, 0, NULL);
  call->call.bound = op->attrs;
  call->call.attr_count = types_written_attrs(w->arena, w->p->names, call,
                                              &call->call.attrs, &call->count);
  call->call.bound = NULL;
  return call;
}

/* A linear operator gives the tangents of its results itself. */
static bool add_linear(Writing *w, const StretchOp *op, OpLinear linear) {
  if (linear == LINEAR_EACH) {
    for (int i = 0; i < op->operand_count; i++) {
      if (!w->sums[op->operands[i]].depends) continue;
      const Expr *call = call_on_tangents(w, op, linear, i);
      if (!call) return false;
      add_sum(w, op->first, call);
    }
    return true;
  }
  const Expr *call = call_on_tangents(w, op, linear, ALL);
  if (!call) return false;
  const Name *whole = put_let(w, "part", call);
  for (int k = 0; k < op->out_count; k++)
    w->sums[op->first + k].name =
        op->gives_tuple
            ? put_let(w, "d", gradient_field(w->arena, local(w, whole), k))
            : whole;
  return true;
}

/* J of an element-wise operator is diagonal for an operand of the result's
 * shape and dtype, and so the same as J'. */
static bool is_diagonal(const Writing *w, const StretchOp *op) {
  const Type *y = w->s->types[op->first];
  if (!op_is_elementwise(op->attrs->op) || op->gives_tuple) return false;
  for (int i = 0; i < op->operand_count; i++) {
    const Type *x = w->s->types[op->operands[i]];
    bool alike = x->dtype == y->dtype && same_shape(x, y);
    if (w->sums[op->operands[i]].depends && !alike) return false;
  }
  return op->operand_count == op->group_count;
}

/* There the rule gives each operand's part of the result's tangent, where it is
 * told the operand's as the adjoint. */
static bool add_diagonals(Writing *w, const StretchOp *op) {
  bool *wanted = ARENA_ARRAY(w->arena, bool, (size_t)op->group_count + 1);
  for (int i = 0; wanted && i < op->group_count; i++) {
    if (!w->sums[op->operands[i]].depends) continue;
    const Fn *rule;
    wanted[i] = true;
    const Expr *body = rule_for(w, op, wanted, &rule);
    const Expr *written = body ? field_written(body, i) : NULL;
    wanted[i] = false;
    if (!written || written->kind == EX_TUPLE) return false;
    const Expr *whole = bind(w, op, rule, body, tangent_of(w, op->operands[i]));
    const Name *parts = put_let(w, "part", whole);
    add_sum(w, op->first, gradient_field(w->arena, local(w, parts), i));
  }
  return wanted;
}

static bool add_tangents(Writing *w, const StretchOp *op) {
  bool depends = false;
  for (int i = 0; i < op->out_count; i++)
    depends |= w->sums[op->first + i].depends;
  if (!depends) return true;
  OpLinear linear = op_linear(op->attrs);
  if (linear != LINEAR_NOT) return add_linear(w, op, linear);
  return is_diagonal(w, op) && add_diagonals(w, op);
}

static bool write_tangents(Writing *w, uint32_t varies, StretchTangents *out) {
  const Stretch *s = w->s;
  if (!start_sums(w, varies)) return false;
  for (int i = 0; i < s->inputs && i < STRETCH_INPUTS; i++)
    if (varies >> i & 1) w->sums[i].name = numbered(w, "tangent", i);
  for (int i = 0; i < s->op_count; i++)
    if (!add_tangents(w, &s->ops[i])) {
      out->without = &s->ops[i];
      return false;
    }
  for (int i = 0; i < s->out_count; i++) {
    const Sum *sum = &w->sums[s->outs[i]];
    if (!sum->depends) continue;
    out->outs |= (uint32_t)1 << i;
    VEC_PUSH(&w->given, local(w, sum->name));
  }
  return out->outs && !mem_exhausted(w->p->mem);
}

bool types_stretch_tangents(Program *p, Arena *arena, const Stretch *s,
                            uint32_t varies, StretchTangents *out) {
  bool *reads = ARENA_ARRAY(arena, bool, (size_t)s->value_count + 1);
  Unit *unit = unit_new(p, NULL);
  DiagsMark mark = diags_mark(p->diags);
  Writing w;
  writing_start(&w, p, &unit->arena, s, reads);
  *out = (StretchTangents){.reads = reads};
  if (reads && write_tangents(&w, varies, out)) {
    Var **params;
    Fn *fn = fn_of_reads(&w, s->inputs, &params);
    if (fn) add_inputs(&w, fn, params, "tangent", varies);
    fn = fn ? fn_done(&w, fn) : NULL;
    out->function = fn ? check_fn(&w, unit, fn) : NULL;
  }
  writing_end(&w);
  if (!out->function) {
    diags_return(p->diags, mark);
    program_drop_unit(p, unit);
  }
  return !mem_exhausted(p->mem);
}
