/* FirstOrderGradient: what names mean in a body in A-normal form, and the text
 * that is made of it and of the sweep. */
#include "passes/calls.h"
#include "passes/first_order.h"

/* --- What names mean ------------------------------------------------------ */

/* After `let %z = (%a, %b)`, `%z.0` is `%a`: `%z` itself is left out of the
 * text. */
const Expr *first_order_name(const FirstOrder *f, const Expr *e) {
  const Expr *of = e->kind == EX_PROJ ? e->args[0] : e;
  const Expr *means =
      of->kind == EX_VAR ? ptrmap_get(&f->means, of->var) : NULL;
  if (!means) return e;
  if (of == e) return means;
  if (means->kind == EX_TUPLE) return means->args[e->index];
  const Expr *field = expr_field(f->arena, e->span, means, (int)e->index);
  return field ? field : e;
}

/* Tuples within tuples are something new: each name of one may stand in the
 * next, which would be as large as all names together.  So are functions within
 * tuples, in whose bodies names have to be replaced, too. */
const Expr *first_order_meaning(FirstOrder *f, const Expr *e) {
  if (e->kind == EX_PROJ) {
    const Expr *of = first_order_name(f, e->args[0]);
    if (of->kind == EX_TUPLE) return of->args[e->index];
    return of->kind == EX_VAR ? expr_field(f->arena, e->span, of, (int)e->index)
                              : NULL;
  }
  if (e->kind != EX_TUPLE)
    return e->kind == EX_VAR || e->kind == EX_CONST ? first_order_name(f, e)
                                                    : NULL;
  const Expr **fields =
      ARENA_ARRAY(f->arena, const Expr *, (size_t)e->count + 1);
  for (int i = 0; fields && i < e->count; i++) {
    fields[i] = first_order_name(f, e->args[i]);
    if (fields[i]->kind == EX_TUPLE || fields[i]->kind == EX_FN) return NULL;
  }
  return fields ? expr_tuple(f->p, f->arena, e->span, e->count, fields) : NULL;
}

/* --- The text ------------------------------------------------------------- */

/* The expression with what other names mean in the places of these. */
static const Expr *by_first_names(FirstOrder *f, const Expr *e) {
  ExprMap m;
  expr_map_start(&m, f->p->mem, f->arena, e);
  while (expr_map_next(&m)) {
    if (m.walk.event != WALK_LEAVE) continue;
    const Expr *at = m.made;
    if (at->kind == EX_VAR) expr_map_put(&m, first_order_name(f, at));
    if (at->kind == EX_PROJ && at->args[0]->kind == EX_TUPLE)
      expr_map_put(&m, at->args[0]->args[at->index]);
  }
  return expr_map_end(&m);
}

/* A name of the value, after a `let` of it where it is computed. */
const Expr *first_order_named(FirstOrder *f, Bindings *out, const Expr *e) {
  bool field = e->kind == EX_PROJ && e->args[0]->kind == EX_VAR;
  if (field || expr_is_simple(e)) return e;
  Var *var = var_for(f->p, f->arena, e);
  VEC_PUSH(out, binding_let(e->span, var, e));
  return expr_use(f->arena, e->span, var);
}

/* A tuple of names and tuples.  Recursive: a tuple within a tuple is a rule's.
 */
static const Expr *named_fields(FirstOrder *f, Bindings *out,
                                const Expr *tuple) {
  const Expr **fields =
      ARENA_ARRAY(f->arena, const Expr *, (size_t)tuple->count + 1);
  for (int i = 0; fields && i < tuple->count; i++) {
    const Expr *e = tuple->args[i];
    fields[i] = e->kind == EX_TUPLE ? named_fields(f, out, e)
                                    : first_order_named(f, out, e);
    if (!fields[i]) return NULL;
  }
  return fields ? expr_tuple(f->p, f->arena, tuple->span, tuple->count, fields)
                : NULL;
}

/* Adds the bindings of the sweep in order, without blocks in the places of
 * values, without tuples that are only taken apart, and without second names.
 * Recursive: a block within a block is a rule's. */
static void add_sweep(FirstOrder *f, Bindings *out, const Block *block) {
  for (int i = 0; i < block->count; i++) {
    Binding b = block->bindings[i];
    while (b.value && b.value->kind == EX_BLOCK) {
      add_sweep(f, out, b.value->block);
      b.value = b.value->block->result;
    }
    if (b.value) b.value = by_first_names(f, b.value);
    bool tuple = b.value && b.value->kind == EX_TUPLE;
    if (tuple) b.value = named_fields(f, out, b.value);
    const Expr *means = tuple     ? b.value
                        : b.value ? first_order_meaning(f, b.value)
                                  : NULL;
    if (means && b.var->type == means->type)
      ptrmap_put(&f->means, b.var, (void *)means);
    else VEC_PUSH(out, b);
  }
}

const Expr *first_order_sweep(FirstOrder *f, Bindings *out, const Expr *e) {
  if (e->kind != EX_BLOCK) return by_first_names(f, e);
  add_sweep(f, out, e->block);
  return by_first_names(f, e->block->result);
}

void first_order_forward(FirstOrder *f, Bindings *out, const Block *block) {
  for (int i = 0; i < block->count; i++) {
    Binding b = block->bindings[i];
    if (b.var && ptrmap_has(&f->means, b.var)) continue;
    if (b.value) b.value = by_first_names(f, b.value);
    VEC_PUSH(out, b);
  }
}
