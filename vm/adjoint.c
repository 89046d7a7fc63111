/* Adjoints while a sweep is under way: the queue of records that have one, by
 * the order of making, and the sums.  They are added in the order in which the
 * sweep meets them, but for products, which wait (waiting.c). */
#include "vm/sweep.h"

#include <string.h>

/* --- Adjoints ----------------------------------------------------------- */

static uint64_t order_of(const Sweep *w, size_t i) {
  return record_order(w->heap.data[i]->record);
}

static void heap_swap(Sweep *w, size_t i, size_t k) {
  Adjoint *a = w->heap.data[i];
  w->heap.data[i] = w->heap.data[k];
  w->heap.data[k] = a;
}

static void heap_push(Sweep *w, Adjoint *a) {
  VEC_PUSH(&w->heap, a);
  for (size_t i = w->heap.len - 1; i > 0;) {
    size_t up = (i - 1) / 2;
    if (order_of(w, up) >= order_of(w, i)) break;
    heap_swap(w, i, up);
    i = up;
  }
}

Adjoint *sweep_pop(Sweep *w) {
  Adjoint *first = w->heap.data[0];
  w->heap.data[0] = VEC_LAST(&w->heap);
  w->heap.len--;
  for (size_t i = 0;;) {
    size_t k = 2 * i + 1;
    if (k >= w->heap.len) break;
    if (k + 1 < w->heap.len && order_of(w, k + 1) > order_of(w, k)) k++;
    if (order_of(w, i) >= order_of(w, k)) break;
    heap_swap(w, i, k);
    i = k;
  }
  return first;
}

/* Where a record's adjoint stands.  A sweep that a rule begins may meet records
 * of the one around it, and puts back what it found. */
static Adjoint *adjoint_in(Cell *record) {
  return (Adjoint *)(uintptr_t)cell_fields(record)[RECORD_ADJOINT].bits;
}

static void set_adjoint(Cell *record, Adjoint *a) {
  cell_fields(record)[RECORD_ADJOINT].bits = (uint64_t)(uintptr_t)a;
}

Adjoint *adjoint_known(const Sweep *w, Cell *record) {
  Adjoint *a = adjoint_in(record);
  return a && a->sweep == w ? a : NULL;
}

static size_t adjoint_size(int count) {
  return sizeof(Adjoint) + (size_t)count * sizeof(Part);
}

Adjoint *adjoint_of(Sweep *w, Cell *record) {
  Adjoint *a = adjoint_known(w, record);
  if (a) return a;
  Session *s = w->s;
  Value *f = cell_fields(record);
  int outs = (int)(uint32_t)f[RECORD_COUNTS].bits;
  a = pool_alloc(&s->store.heap.pool, adjoint_size(outs));
  if (!a) return NULL;
  memset(a, 0, adjoint_size(outs));
  *a = (Adjoint){
      .record = record, .sweep = w, .outer = adjoint_in(record), .count = outs};
  if (!VEC_RESERVE(&w->heap, 1)) {
    pool_free(&s->store.heap.pool, a, adjoint_size(outs));
    return NULL;
  }
  set_adjoint(record, a);
  obj_keep(&record->obj);
  heap_push(w, a);
  return a;
}

bool part_box(Session *s, Part *part) {
  if (part->form != SUM_BITS) return true;
  Value v;
  v.tensor = tensor_from_bits(&s->store.heap, part->dtype, part->sum);
  if (!v.tensor) return vm_out_of_memory(s);
  part->form = SUM_OBJECT;
  part->sum = v;
  return true;
}

bool part_add(Session *s, Part *part, Value v) {
  if (part->form == SUM_ZERO) {
    part->form = SUM_OBJECT;
    part->sum = v;
    return true;
  }
  if (!part_box(s, part)) {
    obj_drop(&s->store, v.obj);
    return false;
  }
  Value sum, both[2] = {part->sum, v};
  bool ok = sweep_apply(s, ADJOINT_ADD, 2, both, 3, &sum);
  obj_drop(&s->store, v.obj);
  if (!ok) return false;
  obj_drop(&s->store, part->sum.obj);
  part->sum = sum;
  return true;
}

bool sweep_add_product(Sweep *w, Cell *record, uint64_t index, Value a,
                       Value b) {
  Session *s = w->s;
  Adjoint *to = adjoint_of(w, record);
  if (to && !mem_exhausted(s->mem)) {
    bool ok = part_add_product(s, &to->of[index], a, b, &(Gathered){0});
    if (ok) to->of[index].rows->of = w->site;
    return ok;
  }
  obj_drop(&s->store, a.obj);
  if (b.obj) obj_drop(&s->store, b.obj);
  return vm_out_of_memory(s);
}

static bool is_row_of(const Tensor *row, const Tensor *matrix) {
  return row->rank == 1 && matrix->rank == 2 &&
         row->shape[0] == matrix->shape[1];
}

bool sweep_add(Sweep *w, Cell *record, uint64_t index, Value v, Value like) {
  Session *s = w->s;
  bool alike = !like.obj || shapes_equal(value_tensor(like), value_tensor(v));
  if (!alike && is_row_of(value_tensor(like), value_tensor(v)))
    return sweep_add_product(w, record, index, v, (Value){.bits = 0});
  if (!alike) {
    Value small, both[2] = {v, like};
    bool ok = sweep_apply(s, ADJOINT_COLLAPSE, 2, both, 0, &small);
    obj_drop(&s->store, v.obj);
    if (!ok) return false;
    v = small;
  }
  Adjoint *a = adjoint_of(w, record);
  if (!a || mem_exhausted(s->mem)) {
    obj_drop(&s->store, v.obj);
    return vm_out_of_memory(s);
  }
  return part_add(s, &a->of[index], v);
}

bool sweep_add_rows(Sweep *w, Cell *record, uint64_t index, Value rows, Value g,
                    Value like) {
  Session *s = w->s;
  Adjoint *a = adjoint_of(w, record);
  bool ok = (a && !mem_exhausted(s->mem)) || vm_out_of_memory(s);
  Part *part = ok ? &a->of[index] : NULL;
  Value *sum = ok ? &part->sum : NULL;
  if (ok && part->form == SUM_ZERO) {
    const Tensor *t = value_tensor(like.obj ? like : g);
    sum->tensor =
        tensor_zeros(&s->store.heap, (DType)t->dtype, t->rank, t->shape);
    ok = sum->tensor || vm_out_of_memory(s);
    if (ok) part->form = SUM_OBJECT;
  }
  ok = ok && part_box(s, part);
  Value made;
  if (ok) {
    Value args[3] = {*sum, rows, g};
    ok = sweep_apply(s, ADJOINT_ROWS, 3, args, 1, &made);
  }
  if (ok) {
    obj_drop(&s->store, sum->obj);
    *sum = made;
  }
  obj_drop(&s->store, rows.obj);
  obj_drop(&s->store, g.obj);
  return ok;
}

/* --- Ends ---------------------------------------------------------------- */

void part_clear(Session *s, Part *part) {
  if (part->form == SUM_OBJECT) obj_drop(&s->store, part->sum.obj);
  part->form = SUM_ZERO;
  rows_drop(s, part);
}

void adjoint_done(Sweep *w, Adjoint *a) {
  Session *s = w->s;
  for (int k = 0; k < a->count; k++) part_clear(s, &a->of[k]);
  set_adjoint(a->record, a->outer);
  obj_drop(&s->store, &a->record->obj);
  pool_free(&s->store.heap.pool, a, adjoint_size(a->count));
}

void sweep_done(Sweep *w) {
  for (size_t i = 0; i < w->heap.len; i++) adjoint_done(w, w->heap.data[i]);
  for (size_t i = 0; i < w->inputs.len; i++) adjoint_done(w, w->inputs.data[i]);
  VEC_DONE(&w->heap);
  VEC_DONE(&w->inputs);
  if (w->under) swept_drop(w->s, w->under);
  w->under = NULL;
}
