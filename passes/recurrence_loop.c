/* The loop of BatchRecurrence, from what was found of a recursive function
 * (recurrence.c, which shows it): the turns with the rows of a part, and
 * between them the products of the next part. */
#include "passes/recurrence.h"

enum {
  PART = 131072 /* elements of the products of a part: 512 KB of float32 */
};

/* Makes scalars of int32 and bool.  NULL goes through. */
typedef struct Maker {
  Recurrence *r;
  Program *p;
  Arena *arena;
  Span span;
  Bindings lets;
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
  VEC_PUSH(&m->lets, binding_let(m->span, var, value));
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
  return expr_after(m->arena, m->span, m->lets.len, m->lets.data, result);
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

static void rename_rows(Maker *m, ExprMap *map) {
  const Block *was = map->walk.at->block;
  for (int i = 0; i < was->count; i++) {
    const RowName *name = recurrence_replaced(m->r, was->bindings[i].var);
    Binding *own = name ? expr_map_own_bindings(map) : NULL;
    if (own) own[i].var = m->r->products[name->product].row;
  }
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
      const Binding *b = expr_walk_binding(w);
      const RowName *name = b ? recurrence_replaced(r, b->var) : NULL;
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

static const Expr *loop_of(Maker *m) {
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

const Expr *recurrence_loop(Recurrence *r) {
  Loop *loop = r->loop;
  Maker m = {r, loop->p, loop->arena, loop->whole->span, {0}};
  VEC_INIT(&m.lets, loop->p->mem);
  const Expr *made = loop_of(&m);
  VEC_DONE(&m.lets);
  return made;
}
