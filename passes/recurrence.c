/* BatchRecurrence: the product of a matrix with the row of each turn of a
 * recursion becomes one product with many rows, from which each turn takes its
 * own.
 *
 *   def @f(%i, %n, %xs, %h, %w) {
 *     if (%i < %n) { .. nn.dense(take(%xs, %i, axis=0), %w) ..
 *                    @f(%i + 1, %n, %xs, .., %w) }
 *     else { .. }
 *   }
 *                                  ==>
 *   def @f(%i, %n, %xs, %h, %w) {
 *     let %loop = fn (%i, %h, %from, %end, %z) {
 *       if (%i < %n) {
 *         if (%i == %end) { .. %loop(%i, %h, %i, %i + %m, nn.dense(%r, %w)) }
 *         else { .. take(%z, %i - %from, axis=0) .. %loop(%i + 1, ..) }
 *       } else { .. }
 *     };
 *     %loop(%i, %h, %i, %i, zeros(..))
 *   }
 *
 * %r are the rows from %i on, so many that their product has 512 KB, and none
 * that no turn would take: as the library's layers do (stdlib/rnn.rly).  Each
 * row of a product is computed by the same operations whatever the other rows
 * are, so every bit stays.
 *
 * A function is rewritten where
 *
 *   - a parameter counts: each call of the function within itself adds 1 to it,
 *     and stands on the branch on which a first condition compares it with a
 *     bound that does not change (<, !=);
 *   - that branch calls the function in any case, so that the turns that the
 *     bound promises come;
 *   - the branch computes the product in any case, its operands but for the row
 *     are fixed (loop.h), and the product of many rows does nothing but give
 *     its value, by the one analysis of effects.
 *
 * `take` clips an index that is out of range.  Where the count or the bound is,
 * a turn computes the product of its own row alone.  Of no rows at all `take`
 * fails, of %z as of %xs, and at the same place.
 *
 * What follows a product element by element, with operands that are fixed, is
 * computed with it.  Rows in time as a batch: Appleyard, Kocisky and Blunsom,
 * "Optimizing performance of recurrent neural networks on GPUs" (2016), 3.2. */
#include <string.h>

#include "passes/calls.h"
#include "passes/loop.h"
#include "types/types.h"

enum {
  PART = 131072, /* elements of the products of a part: 512 KB of float32 */
  SEQUENCES_MOST = 8,
  PRODUCTS_MOST = 16,
};

/* A tensor whose rows the turns take. */
typedef struct Sequence {
  const Expr *whole;
  Var *rows; /* those of a part */
} Sequence;

/* A product with a row, as it stands in a turn. */
typedef struct Product {
  const Expr *at;
  const Expr *of_rows; /* with the rows of a part */
  Var *part;           /* %z */
  Var *row;            /* its own in the place of the row's name; or NULL */
} Product;

/* A name of a row. */
typedef struct RowName {
  const Binding *let;
  int uses;    /* on the branch, */
  int in;      /* and within products */
  int product; /* the first of them */
} RowName;

typedef struct Recurrence {
  Loop *loop;
  const Expr *condition; /* the first one, an EX_IF */
  int turn;              /* which of its branches the next turn is on */
  int counter;           /* the parameter that counts */
  const Expr *bound;
  PtrMap values;  /* Var of a let -> its value */
  PtrMap of_rows; /* Expr, Var: a row, or what is computed from one -> the same
                     of the rows of a part */
  PtrMap batches; /* Expr: those of them that hold a product */
  PtrMap names;   /* Var -> RowName */
  VEC(RowName *) named;
  Sequence sequences[SEQUENCES_MOST];
  Product products[PRODUCTS_MOST];
  int sequence_count, product_count;
  int calls; /* of the function in any case */
} Recurrence;

/* --- The count ------------------------------------------------------------ */

static const Expr *value_of(const Recurrence *r, const Expr *e) {
  const Expr *value = e->kind == EX_VAR && !e->var->lazy
                          ? ptrmap_get(&r->values, e->var)
                          : NULL;
  return value ? value : e;
}

static bool calls_op(const Expr *e, OpId op) {
  return expr_operator(e) && op_id(expr_operator(e)) == op && e->count == 2;
}

static bool is_one(const Expr *e) {
  return e->kind == EX_CONST && e->constant->rank == 0 &&
         e->constant->dtype == DT_INT32 && tensor_i64_at(e->constant, 0) == 1;
}

static bool is_param(const Recurrence *r, const Expr *e, int i) {
  return e->kind == EX_VAR && e->var == r->loop->fn->params[i];
}

static bool counts(const Recurrence *r, const Expr *call) {
  const Expr *next = value_of(r, call->args[r->counter]);
  return calls_op(next, OP_ADD) &&
         ((is_param(r, next->args[0], r->counter) && is_one(next->args[1])) ||
          (is_one(next->args[0]) && is_param(r, next->args[1], r->counter)));
}

/* The parameter that `e` is a use of; -1: it is none that may count. */
static int counter_of(const Recurrence *r, const Expr *e) {
  const Fn *fn = r->loop->fn;
  for (int i = 0; i < fn->param_count; i++)
    if (is_param(r, e, i) && !r->loop->fixed[i] && type_is_scalar(e->type) &&
        e->type->dtype == DT_INT32)
      return i;
  return -1;
}

/*   condition   bound on   next turn on branch
 *   i < n, n > i, i != n, n != i           1
 *   i == n, n == i                         2   */
static bool find_condition(Recurrence *r) {
  const Expr *top = r->loop->fn->body;
  while (top->kind == EX_BLOCK) {
    for (int i = 0; i < top->block->count; i++) {
      const Binding *b = &top->block->bindings[i];
      if (b->kind == BIND_LET) ptrmap_put(&r->values, b->var, (void *)b->value);
    }
    top = top->block->result;
  }
  if (top->kind != EX_IF) return false;
  const Expr *test = value_of(r, top->args[0]);
  bool less = calls_op(test, OP_LESS), greater = calls_op(test, OP_GREATER);
  bool equal = calls_op(test, OP_EQUAL);
  if (!less && !greater && !equal && !calls_op(test, OP_NOT_EQUAL))
    return false;
  r->condition = top;
  r->turn = equal ? 2 : 1;
  for (int i = greater; i < 2 - less; i++) {
    r->counter = counter_of(r, test->args[i]);
    r->bound = test->args[1 - i];
    if (r->counter >= 0 && loop_is_fixed(r->loop, r->bound)) return true;
  }
  return false;
}

/* All calls of the function count, on the branch of the next turn. */
static bool all_count(const Recurrence *r) {
  ExprWalk w;
  int calls = 0, good = 0;
  expr_walk_start(&w, r->loop->p->mem, WALK_ENTER, r->loop->fn->body);
  while (expr_walk_next(&w)) calls += loop_is_call(r->loop, w.at);
  if (!expr_walk_end(&w)) return false;
  expr_walk_start(&w, r->loop->p->mem, WALK_ENTER, r->condition->args[r->turn]);
  while (expr_walk_next(&w))
    good += loop_is_call(r->loop, w.at) && counts(r, w.at);
  return expr_walk_end(&w) && good == calls;
}

/* --- Products ------------------------------------------------------------- */

static Sequence *sequence_of(Recurrence *r, const Expr *e) {
  for (int i = 0; i < r->sequence_count; i++) {
    const Expr *s = r->sequences[i].whole;
    if (s->kind == e->kind &&
        (e->kind == EX_VAR
             ? s->var == e->var
             : e->kind == EX_GLOBAL && s->g.global == e->g.global))
      return &r->sequences[i];
  }
  if (r->sequence_count == SEQUENCES_MOST) return NULL;
  const Type *t = e->type;
  Dim dims[RANK_MAX];
  for (int i = 0; i < t->rank; i++) dims[i] = i == 0 ? DIM_ANY : t->dims[i];
  Var *rows = var_for(r->loop->p, r->loop->arena, e);
  if (!rows) return NULL;
  rows->type = type_tensor(r->loop->p->types, (DType)t->dtype, t->rank, dims);
  r->sequences[r->sequence_count] = (Sequence){e, rows};
  return &r->sequences[r->sequence_count++];
}

/* take(xs, i, axis=0), whose index is clipped. */
static const Expr *row_of(Recurrence *r, const Expr *e) {
  const Attrs *attrs = e->call.bound;
  if (!calls_op(e, OP_TAKE) || attrs_have_operands(attrs)) return NULL;
  const Type *t = e->args[0]->type;
  if (!loop_is_fixed(r->loop, e->args[0]) || t->any_rank || t->rank < 2 ||
      !is_param(r, e->args[1], r->counter) || !attr_is_set(attrs, ATTR_axis) ||
      attr_axis(attrs, ATTR_axis, t->rank) != 0 ||
      !dim_is(attr_int(attrs, ATTR_batch_dims), 0) ||
      strcmp(attr_text(attrs, ATTR_mode), "clip") != 0)
    return NULL;
  Sequence *s = sequence_of(r, e->args[0]);
  return s ? expr_use(r->loop->arena, e->span, s->rows) : NULL;
}

static const Expr *of_rows(const Recurrence *r, const Expr *e) {
  const Expr *found = ptrmap_get(&r->of_rows, e);
  return found || e->kind != EX_VAR ? found : ptrmap_get(&r->of_rows, e->var);
}

/* The call with the rows of a part in the place of operand `i`.  It has to do
 * nothing but give its value, whose rows are of the type that the call has. */
static const Expr *with_rows(const Recurrence *r, const Expr *e, int i) {
  Loop *loop = r->loop;
  const Expr *args[OP_ARGS_MAX];
  if (e->count > OP_ARGS_MAX || !type_is_static(e->type)) return NULL;
  for (int k = 0; k < e->count; k++)
    args[k] = k == i ? of_rows(r, e->args[k]) : e->args[k];
  const Expr *made =
      expr_apply(loop->p, loop->arena, e->span, op_id(expr_operator(e)),
                 e->call.bound, e->count, args);
  if (!made || made->type->kind != TY_TENSOR || made->type->any_rank ||
      made->type->rank != e->type->rank + 1)
    return NULL;
  for (int k = 0; k < e->type->rank; k++)
    if (!dim_same(made->type->dims[k + 1], e->type->dims[k])) return NULL;
  return expr_effects(loop->p, made) ? NULL : made;
}

/* nn.dense(row, fixed). */
static const Expr *product_of(const Recurrence *r, const Expr *e) {
  bool product = calls_op(e, OP_NN_DENSE) && of_rows(r, e->args[0]) &&
                 loop_is_fixed(r->loop, e->args[1]);
  return product ? with_rows(r, e, 0) : NULL;
}

/* What is computed element by element from a product, and operands that are
 * fixed and do not reach the axis of the rows. */
static const Expr *follower_of(const Recurrence *r, const Expr *e) {
  const OpInfo *op = expr_operator(e);
  int row = -1;
  if (!op || !op_is_elementwise(op) || !e->call.bound ||
      attrs_have_operands(e->call.bound) || e->type->kind != TY_TENSOR)
    return NULL;
  for (int i = 0; i < e->count; i++) {
    const Type *t = e->args[i]->type;
    if (row < 0 && ptrmap_has(&r->batches, e->args[i])) row = i;
    else if (!loop_is_fixed(r->loop, e->args[i]) || t->kind != TY_TENSOR ||
             t->any_rank || t->rank > e->type->rank)
      return NULL;
  }
  return row >= 0 && e->args[row]->type->rank == e->type->rank
             ? with_rows(r, e, row)
             : NULL;
}

static void name_row(Recurrence *r, const Binding *b) {
  const Expr *rows = of_rows(r, b->value);
  RowName *name = ARENA_NEW(r->loop->arena, RowName);
  if (!name) return;
  *name = (RowName){.let = b, .product = -1};
  ptrmap_put(&r->of_rows, b->var, (void *)rows);
  ptrmap_put(&r->names, b->var, name);
  VEC_PUSH(&r->named, name);
}

/* Parts come before the whole. */
static void find_rows(Recurrence *r) {
  ExprWalk w;
  int branches = 0;
  expr_walk_start(&w, r->loop->p->mem, WALK_ENTER | WALK_LEAVE,
                  r->condition->args[r->turn]);
  while (expr_walk_next(&w)) {
    if (w.event == WALK_ENTER) {
      branches += loop_passes_over(&w);
      RowName *name =
          w.at->kind == EX_VAR ? ptrmap_get(&r->names, w.at->var) : NULL;
      if (name) name->uses++;
      continue;
    }
    if (w.role == ROLE_VALUE && w.parent->block->bindings[w.index].var)
      ptrmap_put(&r->values, w.parent->block->bindings[w.index].var,
                 (void *)w.at);
    bool always = branches == 0;
    branches -= loop_passes_over(&w);
    if (w.at->kind != EX_CALL || !always) continue;
    r->calls += loop_is_call(r->loop, w.at);
    const Expr *rows = row_of(r, w.at), *batch = NULL;
    if (!rows) batch = product_of(r, w.at);
    if (!rows && !batch) batch = follower_of(r, w.at);
    if (!rows && !batch) continue;
    ptrmap_put(&r->of_rows, w.at, (void *)(rows ? rows : batch));
    if (batch) ptrmap_put(&r->batches, w.at, r);
    const Binding *b =
        w.role == ROLE_VALUE ? &w.parent->block->bindings[w.index] : NULL;
    if (rows && b && b->kind == BIND_LET &&
        !types_need_check(b->value->type, b->var->type))
      name_row(r, b);
  }
  expr_walk_end(&w);
}

/* The rows that a product uses by name. */
static void note_names(Recurrence *r, const Expr *at, int product) {
  ExprWalk w;
  expr_walk_start(&w, r->loop->p->mem, WALK_ENTER, at);
  while (expr_walk_next(&w)) {
    RowName *name =
        w.at->kind == EX_VAR ? ptrmap_get(&r->names, w.at->var) : NULL;
    if (!name) continue;
    name->in++;
    if (name->product < 0) name->product = product;
  }
  expr_walk_end(&w);
}

/* The largest products, each of which becomes a parameter. */
static void find_products(Recurrence *r) {
  ExprWalk w;
  Loop *loop = r->loop;
  expr_walk_start(&w, loop->p->mem, WALK_ENTER, r->condition->args[r->turn]);
  while (expr_walk_next(&w)) {
    if (!ptrmap_has(&r->batches, w.at)) continue;
    expr_walk_skip(&w);
    if (r->product_count == PRODUCTS_MOST) continue;
    const Expr *rows = of_rows(r, w.at);
    Var *part = var_for(loop->p, loop->arena, rows);
    if (!part) break;
    note_names(r, w.at, r->product_count);
    r->products[r->product_count++] = (Product){w.at, rows, part, NULL};
  }
  expr_walk_end(&w);
}

/* --- The loop ------------------------------------------------------------- */

/* Makes scalars of int32 and bool.  NULL goes through. */
typedef struct Maker {
  Recurrence *r;
  Program *p;
  Arena *arena;
  Span span;
  VEC(Binding) lets;
} Maker;

static const Expr *number(Maker *m, int64_t value) {
  return expr_number(m->p, m->arena, m->span, DT_INT32, (double)value);
}

static const Expr *both(Maker *m, OpId op, const Expr *a, const Expr *b) {
  return a && b ? EXPR_APPLY(m->p, m->arena, m->span, op, NULL, a, b) : NULL;
}

static const Expr *choice(Maker *m, const Expr *condition, const Expr *then,
                          const Expr *otherwise) {
  if (!condition || !then || !otherwise) return NULL;
  Expr *e = expr_if(m->arena, m->span, condition, then, otherwise);
  e->type = then->type;
  e->branch.seen = BRANCH_THEN | BRANCH_ELSE;
  return e;
}

/* The name of a value. */
static const Expr *let(Maker *m, Var *var, const Expr *value) {
  if (!value) return NULL;
  if (!var) var = var_for(m->p, m->arena, value);
  if (!var) return NULL;
  VEC_PUSH(&m->lets,
           ((Binding){
               .kind = BIND_LET, .span = m->span, .var = var, .value = value}));
  return expr_use(m->arena, m->span, var);
}

/* A new parameter. */
static Var *parameter(Maker *m, const char *name, const Type *type) {
  Var *var = var_new(m->arena, name_of(m->p->names, name), m->span, NULL);
  if (!var) return NULL;
  var->id = m->p->next_var_id++;
  var->type = type;
  return var;
}

static const Expr *with_lets(Maker *m, const Expr *result) {
  Binding *lets = VEC_TO_ARENA(&m->lets, m->arena);
  if (!lets || !result) return NULL;
  Expr *block = expr_block(m->arena, m->span, (int)m->lets.len, lets, result);
  block->type = result->type;
  return block;
}

/* How many rows the sequence has. */
static const Expr *length_of(Maker *m, const Expr *xs) {
  Dim n = xs->type->dims[0];
  if (dim_is_number(n)) return number(m, dim_value(n));
  const Expr *shape =
      EXPR_APPLY(m->p, m->arena, m->span, OP_SHAPE_OF, NULL, xs);
  Attrs *attrs = attrs_new(m->arena, op_info(OP_TAKE));
  attr_set_number(attrs, ATTR_axis, 0);
  const Expr *zero = number(m, 0);
  return shape && zero
             ? EXPR_APPLY(m->p, m->arena, m->span, OP_TAKE, attrs, shape, zero)
             : NULL;
}

/* [e], as the value of an attribute. */
static const Expr *list_of(Maker *m, const Expr *e) {
  const Expr *tuple = e ? expr_tuple(m->p, m->arena, m->span, 1, &e) : NULL;
  Expr *list =
      tuple ? (Expr *)EXPR_APPLY(m->p, m->arena, m->span, OP_STACK, NULL, tuple)
            : NULL;
  if (list) list->sugar = SUGAR_LIST;
  return list;
}

/* xs[begin:end] */
static const Expr *slice(Maker *m, const Expr *xs, const Expr *begin,
                         const Expr *end) {
  const OpInfo *op = op_info(OP_STRIDED_SLICE);
  Attrs *attrs = attrs_new(m->arena, op);
  const Expr *from = list_of(m, begin), *to = list_of(m, end);
  Dim one = dim_of(1);
  if (!from || !to) return NULL;
  for (int i = 0; i < op->attr_count; i++) {
    const AttrSpec *spec = &op->attrs[i];
    int operand = spec->name == ATTR_begin ? 1 : spec->name == ATTR_end ? 2 : 0;
    if (operand == 0) continue;
    attr_bind_operand(spec, operand, DT_INT32, 1, &one, m->arena,
                      &attrs->values[i]);
    attrs->values[i].operand = operand;
  }
  attr_set_list(m->arena, attrs, ATTR_strides, 1, &one);
  return EXPR_APPLY(m->p, m->arena, m->span, OP_STRIDED_SLICE, attrs, xs, from,
                    to);
}

/* How many rows a part has: those of all products together are PART elements.
 */
static int64_t part_rows(const Recurrence *r) {
  int64_t elements = 0;
  for (int i = 0; i < r->product_count; i++) {
    const Type *t = r->products[i].at->type;
    int64_t shape[RANK_MAX], count;
    shape_of_dims(t->rank, t->dims, shape);
    if (!shape_count(t->rank, shape, &count) || count > PART) return 1;
    elements += count;
  }
  return elements < 1 ? PART : elements > PART ? 1 : PART / elements;
}

/* The parts from row %i on, and the turn again with them. */
static const Expr *next_part(Maker *m, const Around *around) {
  Recurrence *r = m->r;
  const Expr *i = expr_use(m->arena, m->span, r->loop->fn->params[r->counter]);
  const Expr *no = expr_number(m->p, m->arena, m->span, DT_BOOL, 0);
  const Expr *lengths[SEQUENCES_MOST], *more[PRODUCTS_MOST + 2];
  const Expr *within = both(m, OP_LESS, i, r->bound);
  for (int k = 0; k < r->sequence_count; k++) {
    lengths[k] = let(m, NULL, length_of(m, r->sequences[k].whole));
    within =
        choice(m, both(m, OP_LESS_EQUAL, r->bound, lengths[k]), within, no);
  }
  within =
      let(m, NULL,
          choice(m, both(m, OP_GREATER_EQUAL, i, number(m, 0)), within, no));
  const Expr *count =
      let(m, NULL,
          choice(m, within,
                 both(m, OP_MINIMUM, both(m, OP_SUBTRACT, r->bound, i),
                      number(m, part_rows(r))),
                 number(m, 1)));
  for (int k = 0; k < r->sequence_count; k++) {
    const Expr *last = both(m, OP_SUBTRACT, lengths[k], number(m, 1));
    const Expr *clipped =
        both(m, OP_MAXIMUM, both(m, OP_MINIMUM, i, last), number(m, 0));
    const Expr *begin = let(m, NULL, choice(m, within, i, clipped));
    const Expr *end =
        both(m, OP_MINIMUM, both(m, OP_ADD, begin, count), lengths[k]);
    if (!let(m, r->sequences[k].rows,
             slice(m, r->sequences[k].whole, begin, end)))
      return NULL;
  }
  more[0] = i;
  more[1] = both(m, OP_ADD, i, count);
  if (!more[1]) return NULL;
  for (int k = 0; k < r->product_count; k++)
    more[k + 2] = r->products[k].of_rows;
  return with_lets(m, around_again(around, m->span, more));
}

/* take(%z, %i - %from, axis=0) */
static const Expr *own_row(Maker *m, const Product *product, Var *from) {
  Attrs *attrs = attrs_new(m->arena, op_info(OP_TAKE));
  Var *i = m->r->loop->fn->params[m->r->counter];
  attr_set_number(attrs, ATTR_axis, 0);
  const Expr *index = both(m, OP_SUBTRACT, expr_use(m->arena, m->span, i),
                           expr_use(m->arena, m->span, from));
  return index ? EXPR_APPLY(m->p, m->arena, m->span, OP_TAKE, attrs,
                            expr_use(m->arena, m->span, product->part), index)
               : NULL;
}

/* A name whose uses all are within products: the first of them stands in its
 * place, and fails there if the sequence has no rows. */
static const RowName *replaced_name(const Recurrence *r, const Var *var) {
  const RowName *name = var ? ptrmap_get(&r->names, var) : NULL;
  return name && name->in > 0 && name->in == name->uses ? name : NULL;
}

static void rename_rows(Maker *m, ExprMap *map) {
  const Block *was = map->walk.at->block;
  Binding *bindings = NULL;
  for (int i = 0; i < was->count; i++) {
    const RowName *name = replaced_name(m->r, was->bindings[i].var);
    if (!name) continue;
    if (!bindings) {
      bindings = arena_copy(m->arena, map->made->block->bindings,
                            (size_t)was->count * sizeof *bindings);
      if (!bindings) return;
    }
    bindings[i].var = m->r->products[name->product].row;
  }
  if (!bindings) return;
  Expr *own = expr_map_own(map);
  Block *block = ARENA_NEW(m->arena, Block);
  if (!block) return;
  *block = (Block){was->count, bindings, own->block->result};
  own->block = block;
}

static int product_at(const Recurrence *r, const Expr *e) {
  for (int k = 0; k < r->product_count; k++)
    if (r->products[k].at == e) return k;
  return -1;
}

/* The turn with rows of products. */
static const Expr *turn_of(Maker *m, const Around *around, Var *from,
                           const Expr *const *more) {
  Recurrence *r = m->r;
  ExprMap map;
  expr_map_start(&map, m->p->mem, m->arena, r->condition->args[r->turn]);
  while (expr_map_next(&map)) {
    const ExprWalk *w = &map.walk;
    const Expr *made = NULL;
    if (w->event == WALK_ENTER) {
      int k = product_at(r, w->at);
      const RowName *name =
          w->role == ROLE_VALUE
              ? replaced_name(r, w->parent->block->bindings[w->index].var)
              : NULL;
      if (name) made = own_row(m, &r->products[name->product], from);
      else if (k >= 0 && r->products[k].row)
        made = expr_use(m->arena, w->at->span, r->products[k].row);
      else if (k >= 0) made = own_row(m, &r->products[k], from);
    } else if (w->event == WALK_LEAVE) {
      if (loop_is_call(r->loop, map.made))
        made = around_next(around, map.made, more);
      else if (map.made->kind == EX_BLOCK) rename_rows(m, &map);
    }
    if (made) expr_map_put(&map, made);
  }
  return expr_map_end(&map);
}

/* The body with another branch for the turn. */
static const Expr *body_with(Maker *m, const Expr *turn) {
  const Recurrence *r = m->r;
  ExprMap map;
  expr_map_start(&map, m->p->mem, m->arena, r->loop->fn->body);
  while (expr_map_next(&map))
    if (map.walk.event == WALK_ENTER &&
        map.walk.at == r->condition->args[r->turn])
      expr_map_put(&map, turn);
  return expr_map_end(&map);
}

/* Nothing yet: a product of no rows. */
static const Expr *no_rows(Maker *m, const Product *product) {
  const Type *t = product->at->type;
  Dim dims[RANK_MAX] = {dim_of(0)};
  for (int i = 0; i < t->rank; i++) dims[i + 1] = t->dims[i];
  Attrs *attrs = attrs_new(m->arena, op_info(OP_ZEROS));
  attr_set_list(m->arena, attrs, ATTR_shape, t->rank + 1, dims);
  attr_set_dtype(attrs, ATTR_dtype, (DType)t->dtype);
  return expr_apply(m->p, m->arena, m->span, OP_ZEROS, attrs, 0, NULL);
}

static const Expr *batched(Maker *m) {
  Recurrence *r = m->r;
  Loop *loop = r->loop;
  const Type *count = loop->fn->params[r->counter]->type;
  int n = r->product_count + 2;
  Var **more = ARENA_ARRAY(m->arena, Var *, (size_t)n);
  const Expr *first[PRODUCTS_MOST + 2], *same[PRODUCTS_MOST + 2];
  Around around;
  if (!more) return NULL;
  more[0] = parameter(m, "from", count);
  more[1] = parameter(m, "end", count);
  for (int k = 0; k < r->product_count; k++) more[k + 2] = r->products[k].part;
  if (!more[0] || !more[1] || !around_start(&around, loop, n, more))
    return NULL;
  for (int k = 0; k < n; k++) {
    same[k] = expr_use(m->arena, m->span, more[k]);
    first[k] = k < 2 ? around_start_of(&around, r->counter)
                     : no_rows(m, &r->products[k - 2]);
    if (!first[k]) return NULL;
  }
  const Expr *i = expr_use(m->arena, m->span, loop->fn->params[r->counter]);
  const Expr *turn = turn_of(m, &around, more[0], same);
  const Expr *next = next_part(m, &around);
  turn = choice(m, both(m, OP_EQUAL, i, same[1]), next, turn);
  return turn ? around_end(&around, 0, NULL, body_with(m, turn), first) : NULL;
}

/* Each name that its product replaces gets a variable of the product's type. */
static bool name_products(Recurrence *r) {
  Loop *loop = r->loop;
  for (size_t i = 0; i < r->named.len; i++) {
    const RowName *name = replaced_name(r, r->named.data[i]->let->var);
    if (!name || r->products[name->product].row) continue;
    Var *row = var_for(loop->p, loop->arena, r->products[name->product].at);
    if (!row) return false;
    r->products[name->product].row = row;
  }
  return true;
}

static const Expr *batch(Loop *loop) {
  Recurrence r = {.loop = loop};
  Mem *mem = loop->p->mem;
  const Expr *made = NULL;
  ptrmap_init(&r.values, mem);
  ptrmap_init(&r.of_rows, mem);
  ptrmap_init(&r.batches, mem);
  ptrmap_init(&r.names, mem);
  VEC_INIT(&r.named, mem);
  if (find_condition(&r)) {
    find_rows(&r);
    if (r.calls > 0 && all_count(&r)) find_products(&r);
  }
  if (r.product_count > 0 && name_products(&r) &&
      pass_may_rewrite(loop->p, loop->whole->span)) {
    Maker m = {&r, loop->p, loop->arena, loop->whole->span, {0}};
    VEC_INIT(&m.lets, mem);
    made = batched(&m);
    VEC_DONE(&m.lets);
  }
  ptrmap_done(&r.values);
  ptrmap_done(&r.of_rows);
  ptrmap_done(&r.batches);
  ptrmap_done(&r.names);
  VEC_DONE(&r.named);
  return made;
}

static const Expr *batch_all(Program *p, Arena *arena, const Expr *e) {
  return loops_rewrite(p, arena, e, batch);
}

Pass pass_batch_recurrence;

Unit *pass_batch_recurrence(Program *p, Unit *unit) {
  return unit_rewrite(p, unit, batch_all);
}
