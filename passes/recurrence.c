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
 * computed with it.  Here is found what can be rewritten; recurrence_loop.c
 * makes the loop of it.  Rows in time as a batch: Appleyard, Kocisky and
 * Blunsom, "Optimizing performance of recurrent neural networks on GPUs"
 * (2016), 3.2. */
#include <string.h>

#include "passes/recurrence.h"
#include "types/types.h"

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
      attr_word(attrs, ATTR_mode) != TAKE_CLIP)
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
                 loop_is_fixed(r->loop, e->args[1]) &&
                 !expr_has_adjoint(r->loop->p, e);
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
    const Binding *b = expr_walk_binding(&w);
    if (b && b->var) ptrmap_put(&r->values, b->var, (void *)w.at);
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

/* --- The pass ------------------------------------------------------------- */

/* Each name that its product replaces gets a variable of the product's type. */
static bool name_products(Recurrence *r) {
  Loop *loop = r->loop;
  for (size_t i = 0; i < r->named.len; i++) {
    const RowName *name = recurrence_replaced(r, r->named.data[i]->let->var);
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
      pass_may_rewrite(loop->p, loop->whole->span))
    made = recurrence_loop(&r);
  ptrmap_done(&r.values);
  ptrmap_done(&r.of_rows);
  ptrmap_done(&r.batches);
  ptrmap_done(&r.names);
  VEC_DONE(&r.named);
  return made;
}

Rewrite pass_batch_recurrence;

const Expr *pass_batch_recurrence(Program *p, Arena *arena, const Expr *e) {
  return loops_rewrite(p, arena, e, batch);
}
