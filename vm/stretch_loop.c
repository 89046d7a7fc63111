/* The instructions of stretches (stretch.c), where a loop goes round and round:
 * a step that is like the one before is told by an inline cache (Deutsch and
 * Schiffman 1984) in the session, which a step fills that went the long way.
 *
 * Then all is known: which inputs are results of the step before and which are
 * the same in all steps, and where the record keeps what this step saves.  The
 * Duals of the inputs that end here become those of the results, and those of
 * scalars keep their tensors, so that a step makes no object and frees none but
 * the tensors of its operators. */
#include "vm/stretch.h"

/* --- Filling the cache ---------------------------------------------------- */

/* May the Dual of a value of one type become that of one of the other?  With a
 * scalar it keeps the tensor that holds its bits. */
static bool may_reuse(const Type *from, const Type *to) {
  bool scalar = type_is_scalar(to);
  return type_is_scalar(from) == scalar &&
         (!scalar || from->dtype == to->dtype);
}

/* Each result of floats takes over the Dual of a recurring input; what is left
 * is wasted.  False: there are too few. */
static bool match_results(LoopCache *c, const Stretch *stretch) {
  memcpy(c->wasted, c->recurring, sizeof c->wasted);
  c->wasted_count = c->recurring_count;
  c->scalar_outs = 0;
  for (int k = 0; k < stretch->out_count; k++) {
    const Type *type = stretch->types[stretch->outs[k]];
    if (type_is_scalar(type)) c->scalar_outs |= (uint32_t)1 << k;
    c->reused[k] = NOT_REUSED;
    if (!is_float_tensor(type)) continue;
    int j = c->wasted_count - 1;
    while (j >= 0 && !may_reuse(stretch->types[c->wasted[j]], type)) j--;
    if (j < 0) return false;
    c->reused[k] = c->wasted[j];
    c->wasted[j] = c->wasted[--c->wasted_count];
  }
  return true;
}

void loop_fill(Session *s, const StretchSite *site, Cell *record) {
  LoopCache *c = &s->loop;
  Value *f = cell_fields(record);
  c->steps = f[RECORD_STEPS].cell;
  Value *at = cell_fields(c->steps);
  const uint8_t *sources = step_sources(c->steps);
  int n = site->input_count;
  c->record = record;
  c->level = record_level(record);
  c->order = &f[RECORD_ORDER].bits;
  c->count = s->record_count;
  c->recurring_count = c->other_count = 0;
  c->scalar_inputs = 0;
  for (int i = 0; i < n; i++) {
    bool scalar = type_is_scalar(site->stretch->types[i]);
    if (scalar) c->scalar_inputs |= (uint32_t)1 << i;
    bool recurs = sources[i] != SOURCE_SAME;
    Cell *of = recurs ? record : f[RECORD_ARGS + i].cell;
    uint64_t index = recurs ? sources[i] : input_index(f, n, i);
    c->inputs[i].record = of;
    c->inputs[i].place = of ? order_at(record_level(of), index) : 0;
    if (recurs) c->recurring[c->recurring_count++] = (uint8_t)i;
    else c->others[c->other_count++] = (uint8_t)i;
  }
  c->step_count = &at[STEPS_COUNT].bits;
  c->room = at[STEPS_ROOM].bits - *c->step_count;
  c->saved = at + STEPS_SAVED + *c->step_count * (uint64_t)site->saved_count;
  c->site = match_results(c, site->stretch) ? site : NULL;
}

/* --- The instructions ----------------------------------------------------- */

/* Are these inputs those that the cache expects?  No record has been made since
 * the cache's own, so the record at that address is still that one. */
static inline bool is_next(const LoopCache *c, const Session *s,
                           const Value *regs, const Word *pc) {
  const uint16_t *list = stretch_list(pc);
  if (c->site != pc[1].data || c->count != s->record_count ||
      c->level > s->level)
    return false;
  for (int i = 0; i < (int)pc->b; i++) {
    Value v = regs[list[i]];
    bool same = is_dual(v)
                    ? dual_record(v) == c->inputs[i].record &&
                          v.cell->fields[DUAL_PLACE].bits == c->inputs[i].place
                    : !c->inputs[i].record;
    if (!same) return false;
  }
  return c->record->obj.count == c->recurring_count;
}

bool vm_stretch_fits(Session *s, const Value *regs, const Word *pc) {
  if (!is_next(&s->loop, s, regs, pc)) return stretch_fits(s, regs, pc);
  s->continued = s->loop.record;
  return true;
}

static inline bool is_scalar_input(const LoopCache *c, int i) {
  return c->scalar_inputs >> i & 1;
}

/* Has the step a place, and do its recurring inputs end here?  A register that
 * is read after the stretch has another reference only from here on. */
static bool may_enter(const LoopCache *c, const Session *s,
                      const uint16_t *list) {
  if (c->room == 0 || checkpoint_blanks(s, c->level)) return false;
  for (int j = 0; j < c->recurring_count; j++) {
    int i = c->recurring[j];
    const Cell *dual = s->regs[list[i]].cell;
    if (!obj_unshared(&dual->obj) ||
        (is_scalar_input(c, i) && !scalar_is_ours(dual)))
      return false;
  }
  return true;
}

/* The value of a recurring input, whose Dual is held until the step ends.  Of a
 * scalar these are the bits, and the Dual keeps its tensor, for those of a
 * result; any other tensor leaves the Dual. */
static inline Value take_recurring(LoopCache *c, int i, Value v) {
  Value primal = dual_primal(v);
  c->held[i] = v.cell;
  if (is_scalar_input(c, i)) return scalar_bits(primal.tensor);
  clear_field(v.cell, DUAL_PRIMAL);
  return primal;
}

/* An input that is the same in all steps: takes the reference.  Of a tensor
 * that is no scalar the stretch gets one. */
static inline Value take_same(Session *s, bool scalar, Value v) {
  Value primal = is_dual(v) ? dual_primal(v) : v;
  Value taken = scalar ? scalar_bits(primal.tensor) : primal;
  if (!scalar) obj_keep(primal.obj);
  obj_drop(&s->store, v.obj);
  return taken;
}

bool vm_stretch_in(Session *s, const Word *pc) {
  LoopCache *c = &s->loop;
  if (!checkpoint_look(s)) return false;
  const uint16_t *list = stretch_list(pc), *to = list + pc->b;
  if (!s->continued || c->site != pc[1].data || !may_enter(c, s, list))
    return stretch_in(s, pc);
  Value *regs = s->regs;
  c->entered = true;
  for (int j = 0; j < c->recurring_count; j++) {
    int i = c->recurring[j];
    regs[to[i]] = take_recurring(c, i, regs[list[i]]);
  }
  for (int j = 0; j < c->other_count; j++) {
    int i = c->others[j];
    regs[to[i]] = take_same(s, is_scalar_input(c, i), regs[list[i]]);
  }
  obj_keep(&c->record->obj);
  s->regs[pc->a].cell = c->record;
  return true;
}

static void drop_held(Session *s, const uint8_t *inputs, int count) {
  for (int j = 0; j < count; j++)
    obj_drop(&s->store, &s->loop.held[inputs[j]]->obj);
}

/* The results as differentiated code has them: floats in the Duals of inputs
 * that have ended, whose record is the results', too. */
static inline void put_results(Session *s, const LoopCache *c,
                               const uint16_t *from, const uint16_t *to,
                               int count) {
  Value *regs = s->regs;
  for (int k = 0; k < count; k++) {
    Value v = regs[from[k]];
    if (c->reused[k] != NOT_REUSED) {
      Cell *dual = c->held[c->reused[k]];
      if (c->scalar_outs >> k & 1)
        set_scalar(dual->fields[DUAL_PRIMAL].tensor, v);
      else set_field(dual, DUAL_PRIMAL, v);
      dual->fields[DUAL_PLACE].bits = order_at(c->level, (uint64_t)k);
      v.cell = dual;
    }
    regs[to[k]] = v;
  }
}

bool vm_stretch_out(Session *s, const Word *pc) {
  LoopCache *c = &s->loop;
  if (!c->entered) return stretch_out(s, pc);
  const StretchSite *site = c->site;
  const uint16_t *list = stretch_list(pc);
  *c->order = order_at(c->level, c->count = ++s->record_count);
  if (*c->order == s->checkpointing.wanted && !checkpoint_found(s, c->record))
    return vm_out_of_memory(s);
  save_at(s, site, list, c->steps, c->saved);
  c->saved += site->saved_count;
  ++*c->step_count;
  c->room--;
  put_results(s, c, list + site->saved_count, list + pc->b, (int)pc->c);
  if (c->wasted_count) drop_held(s, c->wasted, c->wasted_count);
  c->entered = false;
  obj_drop(&s->store, &c->record->obj);
  return true;
}

void stretch_forget(Session *s) {
  if (s->loop.entered) drop_held(s, s->loop.recurring, s->loop.recurring_count);
  s->loop.entered = false;
  stretch_loop_ends(s);
  while (s->dead_count > 0)
    obj_drop(&s->store, &s->dead_duals[--s->dead_count]->obj);
}
