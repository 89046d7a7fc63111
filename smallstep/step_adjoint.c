/* Adjoints while a sweep is under way, or tangents: sums of what the sweep
 * meets, in that order.
 *
 * A part that is a product a' b waits, as does a row that was added to all rows
 * of a matrix; when the sweep comes to the record of what they are for, one
 * product, or one sum, takes all of them, upward in the order of making.  That
 * order is the language's.
 *
 * What a sweep applies here are operators like others: they are recorded where
 * an outer run goes on. */
#include "smallstep/step_sweep.h"

enum { ROWS = 2, ADJOINT_FIELDS };

/* --- Adjoints ------------------------------------------------------------ */

static const StepObj *found_in(const StepObj *list, const StepObj *t) {
  while (list && list->key != t) list = list->fields[OUTER];
  return list;
}

static const StepObj *adjoint_of(const StepSweep *w, const StepObj *t) {
  return found_in(w->adjoints, t);
}

StepObj *step_sweep_sum(const StepSweep *w, const StepObj *t) {
  const StepObj *a = adjoint_of(w, t);
  return a ? a->fields[BOUND] : NULL;
}

StepObj *step_sweep_sum_or_zeros(StepMachine *m, StepObj *t, void *sweep) {
  StepObj *sum = step_sweep_sum(sweep, t);
  return sum ? sum : step_zeros(m, t);
}

void step_sweep_put(StepSweep *w, const StepObj *t, StepObj *sum,
                    StepObj *rows) {
  StepObj *a = step_obj(w->m, L_ADJOINT, ADJOINT_FIELDS);
  if (!a) return;
  a->key = t;
  a->fields[OUTER] = w->adjoints;
  a->fields[BOUND] = sum;
  a->fields[ROWS] = rows;
  w->adjoints = a;
}

void step_sweep_put_rows(StepSweep *w, const StepObj *t, StepObj *rows) {
  const StepObj *a = adjoint_of(w, t);
  step_sweep_put(
      w, t, a ? a->fields[BOUND] : NULL,
      step_pair(w->m, L_DONE, NULL, a ? a->fields[ROWS] : NULL, rows));
}

void step_sweep_put_todo(StepSweep *w, StepObj *of, StepObj *part) {
  w->todo = step_pair(w->m, L_DONE, of, w->todo, part);
}

void step_sweep_put_parts(StepSweep *w, const StepParts *parts) {
  for (size_t i = parts->len; i-- > 0 && !mem_exhausted(w->m->mem);)
    if (step_sweep_depends(w, parts->data[i].of))
      step_sweep_put_todo(w, step_sweep_meant(w, parts->data[i].of),
                          parts->data[i].part);
}

/* --- What was found ------------------------------------------------------ */

/* Adds the adjoints of the tensors of a record's value that have a tangent. */
static void add_found(StepSweep *w, const StepObj *r, StepObjs *sums,
                      StepObjs *tangents) {
  StepObjs leaves;
  VEC_INIT(&leaves, w->m->mem);
  step_sweep_leaves(w->m, r->fields[RECORD_VALUE], &leaves);
  for (size_t i = 0; i < leaves.len; i++) {
    StepObj *sum = step_sweep_sum(w, leaves.data[i]);
    const StepObj *tangent = found_in(w->along, leaves.data[i]);
    if (!sum || !tangent) continue;
    VEC_PUSH(sums, sum);
    VEC_PUSH(tangents, tangent->fields[BOUND]);
  }
  VEC_DONE(&leaves);
}

StepObj *step_sweep_found(StepSweep *w, StepObj **tangents) {
  StepObjs sums, along;
  VEC_INIT(&sums, w->m->mem);
  VEC_INIT(&along, w->m->mem);
  for (uint32_t i = w->records->count - 1; i-- > 0;)
    add_found(w, w->records->fields[i], &sums, &along);
  StepObj *all = step_sweep_tuple(w->m, &sums);
  *tangents = step_sweep_tuple(w->m, &along);
  VEC_DONE(&sums);
  VEC_DONE(&along);
  return all;
}

/* --- The operators of a sweep -------------------------------------------- */

static const Attrs *attrs_of(StepMachine *m, AdjointOp which) {
  if (!m->adding[which]) m->adding[which] = adjoint_op(&m->arena, which);
  return m->adding[which];
}

/* Applies one to tensors, of which `b` and `c` may be NULL, or to one tuple.
 * NULL: it failed. */
static StepObj *apply(StepSweep *w, AdjointOp which, const Expr *at, StepObj *a,
                      StepObj *b, StepObj *c) {
  StepMachine *m = w->m;
  StepObj *all[3] = {a, b, c};
  StepSite *site = ARENA_NEW(&m->arena, StepSite);
  uint32_t n = c ? 3 : b ? 2 : 1;
  StepObj *args = step_obj(m, V_TUPLE, n);
  if (!args) return NULL;
  *site = (StepSite){.expr = at, .attrs = attrs_of(m, which)};
  for (uint32_t i = 0; i < n; i++) args->fields[i] = all[i];
  step_kernel(m, site, (int)n, args);
  return step_sweep_goes_on(w) ? m->now.value : NULL;
}

/* --- Parts that are added ------------------------------------------------ */

/* Where a record's operator stands; of an input, the call that is derived. */
static const Expr *place_of(const StepSweep *w, const StepObj *record) {
  if (record->kind == R_OPERATOR) return record->site->expr;
  return record->kind == R_CUSTOM ? record->expr : w->e;
}

void step_sweep_named(const StepSweep *w) {
  w->m->rule = w->kind == SWEEP_ALONG ? REDUCE_TANGENT : REDUCE_ADJOINT;
}

static bool same_shape(const StepObj *a, const StepObj *b) {
  return shapes_equal(a->tensor, b->tensor);
}

static bool is_row_of(const StepObj *row, const StepObj *matrix) {
  return row->tensor->rank == 1 && matrix->tensor->rank == 2 &&
         row->tensor->shape[0] == matrix->tensor->shape[1];
}

StepObj *step_sweep_at(const StepSweep *w) {
  return w->left < w->records->count ? w->records->fields[w->left] : NULL;
}

/* An operator that the sweep has applied gave what the adjoint of `of` is now,
 * if it did not fail. */
static void adjoint_is(StepSweep *w, StepDid what, StepObj *of, StepObj *from,
                       StepObj *sum, StepObj *rows) {
  step_sweep_named(w);
  if (!sum) return;
  step_sweep_put(w, of, sum, rows);
  step_sweep_stand(w, SWEEP_TURN, what, step_sweep_at(w), of, from);
}

/* To the shape of what was broadcast. */
static void collapse(StepSweep *w, const Expr *at, StepObj *of, StepObj *part) {
  StepObj *made = apply(w, ADJOINT_COLLAPSE, at, part, of, NULL);
  step_sweep_named(w);
  if (!made) return;
  step_sweep_put_todo(w, of, made);
  step_sweep_stand(w, SWEEP_TURN, DID_BROADCAST, step_sweep_at(w), of, part);
}

bool step_sweep_add_next(StepSweep *w) {
  StepObj *of = (StepObj *)w->todo->key, *part = w->todo->fields[BOUND];
  StepObj *record = step_sweep_at(w), *sum = step_sweep_sum(w, of);
  const StepObj *a = adjoint_of(w, of);
  StepObj *rows = a ? a->fields[ROWS] : NULL;
  const Expr *at = record ? place_of(w, record) : w->e;
  w->todo = w->todo->fields[OUTER];
  if (part->kind == V_TUPLE) { /* numbers of rows, and what is added to them */
    if (!sum && !(sum = step_zeros(w->m, of))) return true;
    sum = apply(w, ADJOINT_ROWS, at, sum, part->fields[0], part->fields[1]);
    adjoint_is(w, DID_IN_ROWS, of, part->fields[1], sum, rows);
    return true;
  }
  if (same_shape(of, part) && sum) {
    sum = apply(w, ADJOINT_ADD, at, sum, part, NULL);
    adjoint_is(w, DID_SUM, of, part, sum, rows);
    return true;
  }
  if (!same_shape(of, part) && !is_row_of(of, part)) {
    collapse(w, at, of, part);
    return true;
  }
  if (same_shape(of, part)) step_sweep_put(w, of, part, rows);
  else step_sweep_put_rows(w, of, part);
  return false;
}

/* One side of what waits, of which the first in the order of making came last;
 * NULL: it failed. */
static StepObj *join(StepSweep *w, const Expr *at, const StepObj *rows,
                     int side) {
  uint32_t n = 0, i = 0;
  for (const StepObj *r = rows; r; r = r->fields[OUTER]) n++;
  StepObj *all = step_obj(w->m, V_TUPLE, n);
  for (const StepObj *r = rows; all && r; r = r->fields[OUTER]) {
    StepObj *of = r->fields[BOUND];
    all->fields[i++] = of->kind == V_TUPLE ? of->fields[side] : of;
  }
  if (!all || n == 1) return all ? all->fields[0] : NULL;
  return apply(w, ADJOINT_JOIN, at, all, NULL, NULL);
}

bool step_sweep_settle(StepSweep *w, StepObj *record) {
  StepMachine *m = w->m;
  StepObjs leaves;
  const StepObj *a = NULL;
  StepObj *of = NULL;
  VEC_INIT(&leaves, m->mem);
  step_sweep_leaves(m, record->fields[RECORD_VALUE], &leaves);
  for (size_t i = 0; !of && i < leaves.len; i++) {
    a = adjoint_of(w, leaves.data[i]);
    if (a && a->fields[ROWS]) of = leaves.data[i];
  }
  VEC_DONE(&leaves);
  if (!of) return false;
  const Expr *at = place_of(w, record);
  StepObj *rows = a->fields[ROWS], *sum = a->fields[BOUND];
  bool pairs = rows->fields[BOUND]->kind == V_TUPLE;
  StepObj *left = join(w, at, rows, 0);
  StepObj *right = left && pairs ? join(w, at, rows, 1) : NULL;
  StepObj *made = NULL;
  if (left && (right || !pairs))
    made =
        apply(w, pairs ? ADJOINT_PRODUCT : ADJOINT_SUM, at, left, right, NULL);
  if (made && sum) made = apply(w, ADJOINT_ADD, at, sum, made, NULL);
  step_sweep_named(w);
  if (!made) return true;
  step_sweep_put(w, of, made, NULL);
  step_sweep_stand(w, SWEEP_TURN, pairs ? DID_PRODUCTS : DID_ROWS, record, of,
                   rows);
  return true;
}

/* --- Adjoints of whole values -------------------------------------------- */

/* Does the adjoint fit the value?  Adds the parts of its tensors. */
static bool pair_one(StepSweep *w, const char *what, StepGiven at,
                     StepParts *todo, StepParts *out) {
  StepObj *of = at.of, *part = at.part;
  StrBuf text;
  if (step_is_float(of)) {
    if (!step_sweep_depends(w, of) || part->kind != V_TENSOR) return true;
    VEC_PUSH(out, at);
    if (shapes_equal(of->tensor, part->tensor)) return true;
    strbuf_init(&text, w->m->mem);
    shape_print(&text, of->tensor->rank, of->tensor->shape);
    strbuf_add(&text, ": this one has ");
    shape_print(&text, part->tensor->rank, part->tensor->shape);
    step_fail(w->m, E0612, w->e->span, "%s has its shape, %s", what,
              strbuf_text(&text));
    strbuf_done(&text);
    return false;
  }
  bool data = of->kind == V_DATA;
  if (data && of->ctor != part->ctor)
    return step_fail(w->m, E0612, w->e->span,
                     "%s has its structure: this one has another constructor",
                     what);
  for (uint32_t i = of->count; (data || of->kind == V_TUPLE) && i-- > 0;)
    VEC_PUSH(todo, ((StepGiven){of->fields[i], part->fields[i]}));
  return true;
}

void step_sweep_put_whole(StepSweep *w, const char *what, StepObj *of,
                          StepObj *part) {
  StepParts todo, parts;
  VEC_INIT(&todo, w->m->mem);
  VEC_INIT(&parts, w->m->mem);
  VEC_PUSH(&todo, ((StepGiven){of, part}));
  bool ok = true;
  while (ok && todo.len && !mem_exhausted(w->m->mem)) {
    StepGiven at = VEC_POP(&todo);
    ok = pair_one(w, what, at, &todo, &parts);
  }
  if (ok) step_sweep_put_parts(w, &parts);
  VEC_DONE(&todo);
  VEC_DONE(&parts);
}
