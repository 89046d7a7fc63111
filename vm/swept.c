/* Regions that are swept again, for the rows that wait (waiting.c).
 *
 * A weight's adjoint sums rows from the first step to the last, and the sweep
 * finds them from the last to the first.  Where the rows of all regions do not
 * fit in the memory of the tape, those of a region go when it has been swept.
 * What remains is the region's state and the adjoints that it was swept from,
 * of which a second sweep makes the same rows: the run is the same, and so are
 * all adjoints of its records, since what comes before a region adds nothing to
 * them. */
#include "vm/checkpoint.h"

/* The adjoint of one result of a blank. */
typedef struct Seed {
  Cell *record;
  uint64_t index;
  Part sum; /* without rows */
} Seed;

struct SweptRegion {
  size_t references;
  Session *s;
  int level;
  uint64_t run;
  const Word *pc;
  Cell *region;
  size_t count;
  Seed seeds[];
};

/* --- Regions ------------------------------------------------------------- */

static size_t swept_size(size_t count) {
  return sizeof(SweptRegion) + count * sizeof(Seed);
}

SweptRegion *swept_keep(SweptRegion *r) {
  r->references++;
  return r;
}

void swept_drop(Session *s, SweptRegion *r) {
  if (--r->references > 0) return;
  for (size_t i = 0; i < r->count; i++) {
    part_clear(s, &r->seeds[i].sum);
    obj_drop(&s->store, &r->seeds[i].record->obj);
  }
  obj_drop(&s->store, &r->region->obj);
  mem_free(s->mem, r, swept_size(r->count));
}

bool swept_before(const SweptRegion *a, const SweptRegion *b) {
  return region_order(a->region) < region_order(b->region);
}

/* --- The first sweep ----------------------------------------------------- */

/* A region may be swept again from sums alone; `count` is of those. */
static bool has_rows(size_t n, Adjoint *const *wanted, size_t *count) {
  *count = 0;
  for (size_t i = 0; i < n; i++)
    for (int k = 0; k < wanted[i]->count; k++) {
      if (wanted[i]->of[k].rows) return true;
      *count += wanted[i]->of[k].form != SUM_ZERO;
    }
  return false;
}

static void note_seeds(SweptRegion *r, size_t n, Adjoint *const *wanted) {
  for (size_t i = 0; i < n; i++)
    for (int k = 0; k < wanted[i]->count; k++) {
      const Part *part = &wanted[i]->of[k];
      if (part->form == SUM_ZERO) continue;
      if (part->form == SUM_OBJECT) obj_keep(part->sum.obj);
      obj_keep(&wanted[i]->record->obj);
      r->seeds[r->count++] = (Seed){wanted[i]->record, (uint64_t)k, *part};
    }
}

/* A region within a region that may go needs nothing of its own. */
bool swept_begin(Sweep *w, Cell *region, size_t n, Adjoint *const *wanted) {
  Session *s = w->s;
  size_t count;
  if (w->under || w->for_rows || w->dual || !s->limits.tape_memory ||
      session_shows_kernels(s) || has_rows(n, wanted, &count))
    return true;
  SweptRegion *r = mem_alloc(s->mem, swept_size(count));
  if (!r) return vm_out_of_memory(s);
  *r = (SweptRegion){.references = 1,
                     .s = s,
                     .level = w->level,
                     .run = w->run,
                     .pc = w->pc,
                     .region = region};
  obj_keep(&region->obj);
  note_seeds(r, n, wanted);
  w->under = r;
  for (size_t i = 0; i < w->heap.len; i++)
    for (int k = 0; k < w->heap.data[i]->count; k++)
      part_seal(&w->heap.data[i]->of[k]);
  return true;
}

bool swept_left(const Sweep *w) {
  return !w->heap.len ||
         record_order(sweep_top(w)->record) <= region_order(w->under->region);
}

/* What has to be kept for sweeping a region again. */
static size_t kept_bytes(const SweptRegion *r) {
  size_t bytes = swept_size(r->count) + cell_bytes(r->region);
  for (size_t i = 0; i < r->count; i++)
    if (r->seeds[i].sum.form == SUM_OBJECT)
      bytes += (size_t)tensor_count(r->seeds[i].sum.sum.tensor) *
               dtype_size((DType)r->seeds[i].sum.sum.tensor->dtype);
  return bytes;
}

static size_t fresh_bytes(const Sweep *w) {
  size_t bytes = 0;
  for (size_t i = 0; i < w->heap.len; i++)
    for (int k = 0; k < w->heap.data[i]->count; k++)
      bytes += part_fresh_bytes(&w->heap.data[i]->of[k]);
  return bytes;
}

static bool forget_rows(Sweep *w) {
  for (size_t i = 0; i < w->heap.len; i++) {
    Adjoint *a = w->heap.data[i];
    uint64_t order = record_order(a->record);
    for (int k = 0; k < a->count; k++)
      if (part_fresh_bytes(&a->of[k]) > 0 &&
          !part_forget_fresh(w->s, &a->of[k], w->under, order, (uint64_t)k))
        return false;
  }
  return true;
}

/* What a rule of the program's own does happens once, and what it reads may be
 * another when it is read again.  The library's do nothing but compute. */
static bool may_run_again(const Function *rule) {
  const InstanceKey *key = &rule->key;
  if (key->kind != FUNCTION_FN) return false;
  bool library = key->global && key->global->library;
  return library || fn_is_timeless(key->expr->fn);
}

void swept_calls(Sweep *w, const Function *rule) {
  if (may_run_again(rule)) return;
  swept_drop(w->s, w->under);
  w->under = NULL;
}

/* The rows go if memory is short and they are most of what would be freed. */
bool swept_end(Sweep *w) {
  bool goes =
      checkpoint_is_short(w->s) && fresh_bytes(w) > 2 * kept_bytes(w->under);
  bool ok = !goes || forget_rows(w);
  swept_drop(w->s, w->under);
  w->under = NULL;
  return ok;
}

/* --- The second sweep ---------------------------------------------------- */

bool swept_again(SweptRegion *r, Sweep *w) {
  Session *s = r->s;
  *w = (Sweep){.s = s,
               .level = r->level,
               .run = r->run,
               .known = r->level - 1,
               .pc = r->pc,
               .window = pull_window(r->s, r->pc),
               .for_rows = true};
  VEC_INIT(&w->heap, s->mem);
  VEC_INIT(&w->inputs, s->mem);
  for (size_t i = 0; i < r->count; i++) {
    const Seed *seed = &r->seeds[i];
    Adjoint *a = adjoint_of(w, seed->record);
    if (!a) return vm_out_of_memory(s);
    if (seed->sum.form == SUM_OBJECT) obj_keep(seed->sum.sum.obj);
    a->of[seed->index] = seed->sum;
  }
  uint64_t begins = region_order(r->region);
  while (w->heap.len && record_order(sweep_top(w)->record) > begins)
    if (!sweep_next(w, true)) return false;
  return true;
}
