/* What a run has recorded: which records its value depends on, and in which
 * order they are gone over. */
#include <stdlib.h>

#include "smallstep/step_sweep.h"

/* --- Leaves -------------------------------------------------------------- */

static void push_fields(StepObjs *todo, const StepObj *v) {
  for (uint32_t i = v->count; i-- > 0;) VEC_PUSH(todo, v->fields[i]);
}

void step_sweep_leaves(StepMachine *m, StepObj *v, StepObjs *out) {
  StepObjs todo;
  VEC_INIT(&todo, m->mem);
  VEC_PUSH(&todo, v);
  while (todo.len && !mem_exhausted(m->mem)) {
    StepObj *at = VEC_POP(&todo);
    if (step_is_float(at)) VEC_PUSH(out, at);
    if (at->kind == V_TUPLE || at->kind == V_DATA) push_fields(&todo, at);
  }
  VEC_DONE(&todo);
}

/* --- What depends on the inputs ------------------------------------------ */

/* What a record was made from. */
static void add_operands(StepMachine *m, StepObj *r, StepObjs *out) {
  bool renames = r->kind == R_INPUT || r->kind == R_READ;
  if (renames) VEC_PUSH(out, r->fields[RECORD_OF]);
  else step_sweep_leaves(m, r->fields[RECORD_ARGS], out);
}

bool step_sweep_is_input(const StepObj *run, const StepObj *r) {
  return r->kind == R_INPUT && r->serial > run->before &&
         r->serial <= run->inputs;
}

/* Older than the run, or read from a cell that is. */
static bool is_outside(const StepObj *run, const StepObj *r) {
  return r->serial <= run->before ||
         (r->kind == R_READ && r->cell <= run->cells);
}

/* Adds the records inside the run that lead to the tensors; takes those. */
static void add_records(StepMachine *m, const StepObj *run, StepObjs *tensors,
                        StepObjs *out) {
  PtrMap seen;
  ptrmap_init(&seen, m->mem);
  while (tensors->len && !mem_exhausted(m->mem)) {
    const StepObj *t = VEC_POP(tensors);
    StepObj *r = t->fields[ORIGIN];
    if (!r || is_outside(run, r) || ptrmap_has(&seen, r)) continue;
    ptrmap_put(&seen, r, r);
    VEC_PUSH(out, r);
    if (!step_sweep_is_input(run, r)) add_operands(m, r, tensors);
  }
  ptrmap_done(&seen);
}

static uint32_t depth_of(const StepObj *record) {
  uint32_t n = 0;
  while ((record = record->fields[RECORD_AFTER])) n++;
  return n;
}

/* The order in which the VM makes records: it finds the tangents of a value
 * with the value, so their records come right after the value's. */
static int compare_records(const StepObj *a, const StepObj *b) {
  const StepObj *x = a, *y = b;
  for (uint32_t n = depth_of(a); n > depth_of(b); n--)
    x = x->fields[RECORD_AFTER];
  for (uint32_t n = depth_of(b); n > depth_of(a); n--)
    y = y->fields[RECORD_AFTER];
  if (x == y) return (depth_of(a) > depth_of(b)) - (depth_of(a) < depth_of(b));
  while (x->fields[RECORD_AFTER] != y->fields[RECORD_AFTER]) {
    x = x->fields[RECORD_AFTER];
    y = y->fields[RECORD_AFTER];
  }
  return (x->serial > y->serial) - (x->serial < y->serial);
}

static int by_order(const void *a, const void *b) {
  return compare_records(*(StepObj *const *)a, *(StepObj *const *)b);
}

/* The first `count` records by their order: is this one among them? */
static bool is_among(StepObj *const *records, size_t count,
                     const StepObj *record) {
  size_t lo = 0, hi = count;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (compare_records(records[mid], record) < 0) lo = mid + 1;
    else hi = mid;
  }
  return lo < count && records[lo] == record;
}

/* Keeps of the records, by their order, those that depend on an input. */
static void keep_dependent(StepMachine *m, const StepObj *run, StepObjs *all) {
  StepObjs operands;
  size_t kept = 0;
  VEC_INIT(&operands, m->mem);
  for (size_t i = 0; i < all->len && !mem_exhausted(m->mem); i++) {
    StepObj *r = all->data[i];
    bool depends = step_sweep_is_input(run, r);
    VEC_CLEAR(&operands);
    if (!depends) add_operands(m, r, &operands);
    for (size_t k = 0; !depends && k < operands.len; k++) {
      const StepObj *of = operands.data[k]->fields[ORIGIN];
      depends = of && is_among(all->data, kept, of);
    }
    if (depends) all->data[kept++] = r;
  }
  all->len = kept;
  VEC_DONE(&operands);
}

/* Puts the records by their order, each once. */
static void sort_records(StepObjs *all) {
  size_t n = 0;
  if (all->len) qsort(all->data, all->len, sizeof *all->data, by_order);
  for (size_t i = 0; i < all->len; i++)
    if (!n || all->data[n - 1] != all->data[i]) all->data[n++] = all->data[i];
  all->len = n;
}

StepObj *step_sweep_tuple(StepMachine *m, const StepObjs *all) {
  if (mem_exhausted(m->mem)) return NULL;
  StepObj *tuple = step_obj(m, V_TUPLE, (uint32_t)all->len);
  for (size_t i = 0; tuple && i < all->len; i++)
    tuple->fields[i] = all->data[i];
  return tuple;
}

/* The values of the functions with rules of their own in a run.  A forward run
 * calls their rules, whether its value depends on them or not. */
static void add_customs(StepMachine *m, const StepObj *run, StepObjs *tensors) {
  for (const StepObj *at = m->now.customs; at; at = at->fields[OUTER]) {
    const StepObj *r = at->fields[BOUND];
    if (r->serial <= run->before) break;
    step_sweep_leaves(m, r->fields[RECORD_VALUE], tensors);
  }
}

StepObj *step_sweep_records(StepMachine *m, const StepObj *run, bool along) {
  StepObjs tensors, all;
  VEC_INIT(&tensors, m->mem);
  VEC_INIT(&all, m->mem);
  step_sweep_leaves(m, run->fields[RUN_VALUE], &tensors);
  if (along) add_customs(m, run, &tensors);
  add_records(m, run, &tensors, &all);
  sort_records(&all);
  keep_dependent(m, run, &all);
  StepObj *made = step_sweep_tuple(m, &all);
  VEC_DONE(&tensors);
  VEC_DONE(&all);
  return made;
}

bool step_sweep_depends(const StepSweep *w, const StepObj *t) {
  const StepObj *r = t->kind == V_TENSOR ? t->fields[ORIGIN] : NULL;
  return r && is_among(w->records->fields, w->records->count, r);
}

/* Of an input of a run, and of what was read from a cell, the tensor that it
 * was before; NULL: it is of no such kind. */
static StepObj *renamed_from(const StepObj *t) {
  const StepObj *r = t->fields[ORIGIN];
  bool renames = r && (r->kind == R_INPUT || r->kind == R_READ);
  return renames ? r->fields[RECORD_OF] : NULL;
}

StepObj *step_sweep_meant(const StepSweep *w, StepObj *t) {
  StepObj *of;
  while ((of = renamed_from(t)) && step_sweep_depends(w, of)) t = of;
  return t;
}

StepObj *step_sweep_records_around(const StepSweep *w, StepObj *r) {
  StepObjs operands, all;
  VEC_INIT(&operands, w->m->mem);
  VEC_INIT(&all, w->m->mem);
  add_operands(w->m, r, &operands);
  for (size_t i = 0; i < operands.len; i++) {
    const StepObj *t = operands.data[i];
    for (; t && step_sweep_depends(w, t); t = renamed_from(t))
      VEC_PUSH(&all, t->fields[ORIGIN]);
  }
  VEC_PUSH(&all, r);
  sort_records(&all);
  StepObj *made = step_sweep_tuple(w->m, &all);
  VEC_DONE(&operands);
  VEC_DONE(&all);
  return made;
}
