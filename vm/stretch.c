/* Stretches (bytecode/lower/stretch.c): where the machine enters and leaves
 * one, and the reverse sweep of its record. */
#include <string.h>

#include "vm/again.h"

/* --- The record ----------------------------------------------------------- */

/* Indices are packed, four to a word. */
enum { INDEX_BITS = 16, INDEX_MOST = (1 << INDEX_BITS) - 1, INDICES = 4 };

static int index_words(int n) { return (n + INDICES - 1) / INDICES; }

/* Of which result of its record input i of n is. */
static uint64_t input_index(const Value *f, int n, int i) {
  return f[RECORD_ARGS + n + i / INDICES].bits >> INDEX_BITS * (i % INDICES) &
         INDEX_MOST;
}

static void set_input_index(Value *f, int n, int i, uint64_t index) {
  f[RECORD_ARGS + n + i / INDICES].bits |= index << INDEX_BITS * (i % INDICES);
}

/* Where its saved values begin. */
static int first_saved(int n) { return RECORD_ARGS + n + index_words(n); }

/* --- In ------------------------------------------------------------------- */

/* The operators between run on plain values, so no operand may be of two
 * levels; and since the adjoints of inputs are added in turn, no two may be
 * one. */
bool vm_stretch_fits(const Session *s, const Value *regs, const Word *pc) {
  const uint16_t *list = ins_list(pc);
  int level = 0, count = 0;
  Value duals[STRETCH_INPUTS];
  for (unsigned i = 0; i < pc->b; i++) {
    Value v = dual_active(s, regs[list[i]]);
    if (!is_dual(v)) continue;
    int of = record_level(dual_record(v));
    if (is_dual(dual_primal(v)) || dual_index(v) > INDEX_MOST ||
        (count > 0 && of != level))
      return false;
    for (int k = 0; k < count; k++)
      if (dual_record(duals[k]) == dual_record(v) &&
          dual_index(duals[k]) == dual_index(v))
        return false;
    level = of;
    duals[count++] = v;
  }
  return true;
}

/* The value below the record, to which `*record` is a reference; takes `v`. */
static Value take_primal(Session *s, Value v, Value *record, uint64_t *index) {
  Value at = dual_active(s, v), primal = at;
  record->cell = NULL;
  if (is_dual(at)) {
    primal = dual_primal(at);
    record->cell = dual_record(at);
    *index = dual_index(at);
    if (at.obj == v.obj && obj_unshared(v.obj)) {
      pool_free(&s->store.heap.pool, v.cell, sizeof(Cell) + 3 * sizeof(Value));
      return primal;
    }
    obj_keep(record->obj);
  }
  obj_keep(primal.obj);
  obj_drop(&s->store, v.obj);
  return primal;
}

static Value unboxed(Session *s, const Type *type, Value v) {
  if (!type_is_scalar(type)) return v;
  Value bits = tensor_bits_at(v.tensor, 0);
  tensor_drop(&s->store.heap, v.tensor);
  return bits;
}

bool vm_stretch_in(Session *s, const Word *pc) {
  const StretchSite *site = pc[1].data;
  const Stretch *stretch = site->stretch;
  const uint16_t *list = ins_list(pc);
  int n = (int)pc->b, level = 0;
  if (!again_look(s)) return false;
  for (int i = 0; i < n; i++) {
    Value v = dual_active(s, s->regs[list[i]]);
    if (is_dual(v)) level = record_level(dual_record(v));
  }
  Cell *r = site->none;
  bool blank = level > 0 && again_blanks(s, level);
  if (blank) {
    r = again_blank(s, level, stretch->out_count);
    if (!r) return vm_out_of_memory(s);
  } else if (level > 0) {
    r = blank_cell(s, RECORD_OF_STRETCH, first_saved(n) + site->saved_count);
    if (!r) return vm_out_of_memory(s);
    Value *f = cell_fields(r);
    f[RECORD_SITE].bits = (uint64_t)(uintptr_t)site;
    f[RECORD_ORDER].bits = order_at(level, 0);
    f[RECORD_COUNTS].bits = (uint64_t)n << 32 | (uint32_t)stretch->out_count;
  }
  Value below[STRETCH_INPUTS];
  for (int i = 0; i < n; i++) {
    Value record;
    uint64_t index = 0;
    Value v = take_primal(s, s->regs[list[i]], &record, &index);
    below[i] = unboxed(s, stretch->types[i], v);
    if (!record.cell) continue;
    if (blank) {
      obj_drop(&s->store, record.obj);
      continue;
    }
    set_field(r, RECORD_ARGS + i, record);
    set_input_index(cell_fields(r), n, i, index);
  }
  for (int i = 0; i < n; i++) s->regs[list[n + i]] = below[i];
  s->regs[pc->a].cell = r;
  return true;
}

/* --- Out ------------------------------------------------------------------ */

static bool is_float(const Type *t) { return dtype_is_float((DType)t->dtype); }

/* The result as differentiated code has it, of a record or with NULL a
 * constant.  Takes `v` unless memory runs out. */
static bool wrap(Session *s, const Type *type, Value v, Cell *record, int index,
                 Value *out) {
  Value boxed = v;
  *out = v;
  if (!is_float(type)) return true;
  if (type_is_scalar(type))
    boxed.tensor = tensor_from_bits(&s->store.heap, (DType)type->dtype, v);
  if (!boxed.tensor) return false;
  *out = boxed;
  if (!record || dual_new(s, boxed, record, index, out)) return true;
  if (type_is_scalar(type)) tensor_drop(&s->store.heap, boxed.tensor);
  return false;
}

/* Gives back what wrap() made, but for `v` itself. */
static void unwrap(Session *s, const Type *type, Value v, Value out) {
  if (!is_float(type) || out.bits == v.bits) return;
  if (!type_is_scalar(type)) obj_keep(v.obj);
  obj_drop(&s->store, out.obj);
}

/* Results that fail to be made leave everything to the function. */
bool vm_stretch_out(Session *s, const Word *pc) {
  const StretchSite *site = pc[1].data;
  const Stretch *stretch = site->stretch;
  const uint16_t *list = ins_list(pc);
  const uint16_t *from = list + site->saved_count, *to = list + pc->b;
  Cell *record = s->regs[pc->a].cell, *r = record;
  if (r == site->none) r = NULL;
  Value outs[STRETCH_OUTS];
  int made = 0;
  for (; made < stretch->out_count; made++) {
    const Type *type = stretch->types[stretch->outs[made]];
    if (!wrap(s, type, s->regs[from[made]], r, made, &outs[made])) break;
  }
  if (r) cell_fields(r)[RECORD_ORDER].bits |= ++s->record_count;
  if (made < stretch->out_count || (r && !again_made(s, r))) {
    while (made-- > 0)
      unwrap(s, stretch->types[stretch->outs[made]], s->regs[from[made]],
             outs[made]);
    return vm_out_of_memory(s);
  }
  bool blank = r && record_is_blank(r);
  int at = first_saved(site->input_count);
  for (int i = 0; i < site->saved_count; i++) {
    Value v = s->regs[list[i]];
    bool counted = !type_is_scalar(stretch->types[site->saved[i]]);
    if ((!r || blank) && counted) obj_drop(&s->store, v.obj);
    else if (blank) continue;
    else if (r && counted) set_field(r, at + i, v);
    else if (r) cell_fields(r)[at + i] = v;
  }
  for (int i = 0; i < stretch->out_count; i++) s->regs[to[i]] = outs[i];
  if (r) obj_drop(&s->store, &r->obj);
  return true;
}

/* --- The sweep ------------------------------------------------------------ */

/* The adjoint of input i, of which there is a sum; or NULL. */
static Part *input_sum(Sweep *w, const Value *f, int n, int i) {
  Cell *input = f[RECORD_ARGS + i].cell;
  Adjoint *a = input ? adjoint_known(w, input) : NULL;
  Part *part = a ? &a->of[input_index(f, n, i)] : NULL;
  return part && part->form != SUM_ZERO ? part : NULL;
}

static const StretchRule *rule_of(Session *s, StretchSite *site,
                                  StretchKey key) {
  for (const StretchRule *r = atomic_load(&site->rules); r; r = r->next)
    if (r->key.varies == key.varies && r->key.outs == key.outs &&
        r->key.sums == key.sums)
      return r;
  Program *p = s->code->program;
  p->hold_shared(p, true);
  pthread_mutex_lock(&s->code->lock);
  const StretchRule *r = stretch_rule(s->code, site, key);
  pthread_mutex_unlock(&s->code->lock);
  p->hold_shared(p, false);
  return r;
}

/* A scalar of floats that the record has as bits, as the sweep's code takes it;
 * NULL without memory. */
static Value saved_argument(Sweep *w, const Type *type, Value v) {
  if (!type_is_scalar(type)) obj_keep(v.obj);
  else if (w->dual && is_float(type))
    v.tensor = tensor_from_bits(&w->s->store.heap, (DType)type->dtype, v);
  return v;
}

/* The sum as an argument of this type; it is zero afterwards.  Sums are bits
 * only in plain sweeps, whose code takes scalars so. */
static Value take_sum(Sweep *w, const Type *type, Part *part) {
  bool bits = part->form == SUM_BITS;
  part->form = SUM_ZERO;
  return bits ? part->sum : sweep_argument(w, type, part->sum);
}

/* Adds the parts of the rule's result, which it takes. */
static bool add_parts(Sweep *w, const StretchRule *rule, Value *f, int n,
                      const Type *result, Cell *from) {
  Session *s = w->s;
  for (int i = 0; i < rule->sweep.part_count; i++) {
    StretchPart part = rule->sweep.parts[i];
    const Type *type = result->args[i];
    Cell *input = f[RECORD_ARGS + part.input].cell;
    uint64_t index = input_index(f, n, part.input);
    if (part.kind == PART_ROWS) {
      Value rows = sweep_field(s, from, i, type);
      if (!sweep_add_product(w, input, index, rows, (Value){.bits = 0}))
        return false;
      continue;
    }
    if (part.kind == PART_PRODUCT) {
      const Cell *pair = cell_fields(from)[i].cell;
      Value a = sweep_field(s, pair, 0, type->args[0]);
      Value b = sweep_field(s, pair, 1, type->args[1]);
      if (!sweep_add_product(w, input, index, a, b)) return false;
      continue;
    }
    Adjoint *to = adjoint_of(w, input);
    if (to && type_is_scalar(type) && !w->dual) {
      Part *sum = &to->of[index];
      sum->form = SUM_BITS;
      sum->dtype = (DType)type->dtype;
      sum->sum = cell_fields(from)[i];
      continue;
    }
    Value v = sweep_field(s, from, i, type);
    if (!to || !v.obj || mem_exhausted(s->mem)) {
      if (v.obj) obj_drop(&s->store, v.obj);
      return vm_out_of_memory(s);
    }
    to->of[index].form = SUM_OBJECT;
    to->of[index].sum = v;
  }
  return true;
}

bool sweep_stretch(Sweep *w, Adjoint *a) {
  Session *s = w->s;
  Value *f = cell_fields(a->record);
  StretchSite *site = (StretchSite *)(uintptr_t)f[RECORD_SITE].bits;
  const Stretch *stretch = site->stretch;
  int n = site->input_count, count = 0;
  StretchKey key = {0};
  for (int i = 0; i < n; i++) {
    if (!f[RECORD_ARGS + i].cell) continue;
    key.varies |= (uint32_t)1 << i;
    if (input_sum(w, f, n, i)) key.sums |= (uint32_t)1 << i;
  }
  for (int i = 0; i < stretch->out_count; i++)
    if (a->of[i].form != SUM_ZERO) key.outs |= (uint32_t)1 << i;
  const StretchRule *rule = rule_of(s, site, key);
  if (!rule && mem_exhausted(s->code->program->mem)) return vm_out_of_memory(s);
  if (!rule)
    return vm_fault_at(s, site->span, E0609,
                       "the rules of differentiation do not fit here");
  Function *g = w->dual ? rule->dual : rule->plain;
  if (!g) return true;
  Value *window = s->regs + w->pc->c, result;
  if (window + RULE_ARGS_MOST >= s->stack_end)
    return vm_fault(s, E0702, "recursion too deep: no room for a rule");
  bool ok = true;
  for (int i = 0; ok && i < site->saved_count; i++) {
    int v = site->saved[i];
    if (!rule->sweep.reads[v]) continue;
    window[count] = saved_argument(w, stretch->types[v], f[first_saved(n) + i]);
    if (w->dual && !window[count].obj &&
        type_is_float_scalar(stretch->types[v]))
      ok = vm_out_of_memory(s);
    else count++;
  }
  if (!ok) return sweep_drop_arguments(s, g, window, count);
  for (int i = 0; i < stretch->out_count; i++) {
    if (!(key.outs >> i & 1)) continue;
    Part *part = &a->of[i];
    window[count++] = take_sum(w, stretch->types[stretch->outs[i]], part);
  }
  for (int i = 0; i < n; i++) {
    Part *part = key.sums >> i & 1 ? input_sum(w, f, n, i) : NULL;
    if (!part) continue;
    window[count++] = take_sum(w, stretch->types[i], part);
  }
  if (!sweep_invoke(w, g, window, &result)) return false;
  const Type *type = rule->sweep.function->type->result;
  ok = add_parts(w, rule, f, n, type, result.cell);
  obj_drop(&s->store, result.obj);
  return ok;
}
