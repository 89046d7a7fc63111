/* Stretches (bytecode/lower/stretch.c): where the machine enters and leaves
 * one, and makes its record.  stretch_loop.c does so for the steps of a loop,
 * stretch_pull.c sweeps it. */
#include "vm/stretch.h"

#include <string.h>

/* --- Does it fit? --------------------------------------------------------- */

/* The record that was made last, if it is of this stretch and an input is its
 * result; or NULL.  No record lies between two steps of one, so that the sweep
 * comes to them one after the other. */
static Cell *record_before(const Session *s, const StretchSite *site,
                           const Value *regs, const uint16_t *list) {
  for (int i = 0; i < site->input_count; i++) {
    Value v = regs[list[i]];
    if (!is_dual(v)) continue;
    Cell *r = dual_record(v);
    const Value *f = cell_fields(r);
    if (order_number(f[RECORD_ORDER].bits) != s->record_count) continue;
    bool same = r->obj.tag == RECORD_OF_STRETCH &&
                f[RECORD_SITE].bits == (uint64_t)(uintptr_t)site;
    return same ? r : NULL;
  }
  return NULL;
}

/* Can this step extend record `r`?  Each input must be a result of the step
 * before, taken from the same place as in earlier steps, or the same Dual in
 * every step; nothing else may refer to `r`. */
static bool continues(const Session *s, const StretchSite *site,
                      const Value *regs, const uint16_t *list, const Cell *r,
                      const Cell *steps) {
  const Value *f = cell_fields((Cell *)r);
  const uint8_t *sources = steps ? step_sources(steps) : NULL;
  int n = site->input_count, uses = 0;
  if (record_level((Cell *)r) > s->level) return false;
  for (int i = 0; i < n; i++) {
    Value v = regs[list[i]];
    const Cell *of = is_dual(v) ? dual_record(v) : NULL;
    uint64_t source = SOURCE_SAME;
    if (of == r) {
      source = dual_index(v);
      uses++;
    } else if (of != f[RECORD_ARGS + i].cell ||
               (of && dual_index(v) != input_index(f, n, i))) {
      return false;
    }
    if (sources && sources[i] != source) return false;
  }
  return r->obj.count == uses;
}

/* The tangent of an input in a forward run, if it has one; false: the operators
 * between cannot go on with it. */
static bool tangent_fits(Session *s, Value v, bool *varies) {
  Value t;
  if (!record_is_input(dual_record(v)) || !forward_tangent(s, v, &t))
    return false;
  *varies = t.obj;
  return !t.obj || !is_dual(t);
}

/* The operators between run on plain values, so no operand may be of two
 * levels, nor the tangent of one vary; and since the adjoints of inputs are
 * added in turn, no two may be one. */
static bool inputs_fit(Session *s, StretchSite *site, const Value *regs,
                       const uint16_t *list) {
  int level = 0, count = 0;
  uint32_t varying = 0;
  Value duals[STRETCH_INPUTS];
  for (int i = 0; i < site->input_count; i++) {
    Value v = dual_active(s, regs[list[i]]);
    bool varies = true;
    if (!is_dual(v)) continue;
    if (is_dual(dual_primal(v)) || dual_index(v) > INDEX_MOST ||
        (count > 0 && dual_level(v) != level))
      return false;
    for (int k = 0; k < count; k++)
      if (dual_record(duals[k]) == dual_record(v) &&
          dual_index(duals[k]) == dual_index(v))
        return false;
    level = dual_level(v);
    if (level_is_forward(s, level) && !tangent_fits(s, v, &varies))
      return false;
    if (varies) varying |= (uint32_t)1 << i;
    duals[count++] = v;
  }
  return count == 0 || !level_is_forward(s, level) ||
         forward_stretch_fits(s, site, varying);
}

/* A step that continues others has inputs like theirs, which fitted. */
bool stretch_fits(Session *s, const Value *regs, const Word *pc) {
  StretchSite *site = (StretchSite *)pc[1].data;
  const uint16_t *list = stretch_list(pc);
  s->continued = NULL;
  Cell *r = record_before(s, site, regs, list);
  const Cell *steps = r ? cell_fields(r)[RECORD_STEPS].cell : NULL;
  if (r && continues(s, site, regs, list, r, steps)) s->continued = r;
  return (s->continued && steps) || inputs_fit(s, site, regs, list);
}

/* --- In ------------------------------------------------------------------- */

/* The level at which the listed inputs vary, or 0. */
static int level_of(const Session *s, const uint16_t *list, int n) {
  for (int i = 0; i < n; i++) {
    Value v = dual_active(s, s->regs[list[i]]);
    if (is_dual(v)) return dual_level(v);
  }
  return 0;
}

/* A loop that carries scalars drops their Duals where a stretch begins and
 * makes others where it ends.  Of a Dual that dies and whose record is taken
 * care of, the memory and that of the scalar below it serve the next one of the
 * dtype. */
static bool keep_dead(Session *s, Cell *dual) {
  if (s->dead_count == DEAD_DUALS || !scalar_is_ours(dual)) return false;
  dual_set(dual, NULL, 0);
  s->dead_duals[s->dead_count++] = dual;
  return true;
}

static bool revive_dead(Session *s, DType dtype, Value bits, Cell *record,
                        int index, Value *out) {
  int i = s->dead_count - 1;
  while (i >= 0 && s->dead_duals[i]->fields[DUAL_PRIMAL].tensor->dtype != dtype)
    i--;
  if (i < 0) return false;
  Cell *dual = s->dead_duals[i];
  s->dead_duals[i] = s->dead_duals[--s->dead_count];
  set_scalar(dual->fields[DUAL_PRIMAL].tensor, bits);
  obj_keep(&record->obj);
  dual_set(dual, record, index);
  out->cell = dual;
  return true;
}

/* The value below the record, scalars as bits.  Takes the register's value;
 * `active` is what that is for the runs under way.  Of a Dual that dies the
 * references pass on. */
static Value take_primal(Session *s, const Type *type, Value value,
                         Value active) {
  Value primal = active, bits = {.bits = 0};
  bool scalar = type_is_scalar(type), dies = false;
  if (is_dual(active)) {
    primal = dual_primal(active);
    dies = active.obj == value.obj && obj_unshared(value.obj);
  }
  if (scalar) bits = scalar_bits(primal.tensor);
  if (dies) obj_drop(&s->store, &dual_record(active)->obj);
  if (dies && scalar && keep_dead(s, value.cell)) return bits;
  if (dies) {
    pool_free(&s->store.heap.pool, value.cell,
              sizeof(Cell) + DUAL_FIELDS * sizeof(Value));
    if (scalar) tensor_drop(&s->store.heap, primal.tensor);
  } else {
    if (!scalar) obj_keep(primal.obj);
    obj_drop(&s->store, value.obj);
  }
  return scalar ? bits : primal;
}

static Cell *record_new(Session *s, const StretchSite *site, int level) {
  int n = site->input_count;
  Cell *r =
      blank_cell(s, RECORD_OF_STRETCH, first_saved(n) + site->saved_count);
  if (!r) return NULL;
  Value *f = cell_fields(r);
  f[RECORD_SITE].bits = (uint64_t)(uintptr_t)site;
  f[RECORD_ORDER].bits = order_at(level, 0);
  f[RECORD_COUNTS].bits =
      (uint64_t)n << 32 | (uint32_t)site->stretch->out_count;
  return r;
}

/* --- Steps of a loop ------------------------------------------------------ */

/* A cell for more steps, after those that the record has; false without memory.
 */
static bool steps_new(Session *s, const StretchSite *site, const uint16_t *list,
                      Cell *r) {
  enum { LEAST = 8, MOST = 1 << 13 };
  Cell *older = cell_fields(r)[RECORD_STEPS].cell;
  uint64_t room = LEAST;
  if (older) room = cell_fields(older)[STEPS_COUNT].bits * 2;
  if (room * (uint64_t)site->saved_count > MOST) room /= 2;
  Cell *c = cell_alloc(&s->store.heap.pool, 0,
                       STEPS_SAVED + (int)room * site->saved_count);
  if (!c) return false;
  memset(cell_fields(c), 0, STEPS_SAVED * sizeof(Value));
  cell_fields(c)[STEPS_ROOM].bits = room;
  uint8_t *sources = (uint8_t *)(cell_fields(c) + STEPS_SOURCES);
  for (int i = 0; i < site->input_count; i++) {
    Value v = s->regs[list[i]];
    bool recurs = is_dual(v) && dual_record(v) == r;
    sources[i] = recurs ? (uint8_t)dual_index(v) : SOURCE_SAME;
  }
  if (older) set_field(c, STEPS_OLDER, (Value){.cell = older});
  set_field(r, RECORD_STEPS, (Value){.cell = c});
  return true;
}

/* Do those inputs die that are results of the record?  One that is read after
 * the stretch has another reference only from here on. */
static bool results_die(const Value *regs, const StretchSite *site,
                        const uint16_t *list, const Cell *r) {
  for (int i = 0; i < site->input_count; i++) {
    Value v = regs[list[i]];
    if (is_dual(v) && dual_record(v) == r && !obj_unshared(v.obj)) return false;
  }
  return true;
}

/* The record that this step continues, which from now on is its own, too: a
 * reference.  NULL: there is none, or memory ran out. */
static Cell *record_of_step(Session *s, const StretchSite *site,
                            const uint16_t *list) {
  Cell *r = s->continued;
  if (!r || checkpoint_blanks(s, record_level(r))) return NULL;
  if (!results_die(s->regs, site, list, r)) return NULL;
  const Cell *steps = cell_fields(r)[RECORD_STEPS].cell;
  const Value *at = steps ? cell_fields((Cell *)steps) : NULL;
  if (!at || at[STEPS_COUNT].bits == at[STEPS_ROOM].bits)
    if (!steps_new(s, site, list, r)) return NULL;
  obj_keep(&r->obj);
  return r;
}

/* --- The instructions ----------------------------------------------------- */

/* The record of a run that begins here, or `none` where nothing varies; NULL:
 * memory ran out. */
static Cell *record_begun(Session *s, StretchSite *site, const uint16_t *list,
                          int n) {
  int level = level_of(s, list, n);
  if (level == 0) return site->none;
  if (level_is_forward(s, level))
    return forward_stretch_in(s, site, list, level);
  if (checkpoint_blanks(s, level))
    return checkpoint_blank(s, level, site->stretch->out_count);
  Cell *r = record_new(s, site, level);
  if (!r) return NULL;
  for (int i = 0; i < n; i++) {
    Value v = dual_active(s, s->regs[list[i]]);
    if (!is_dual(v)) continue;
    obj_keep(&dual_record(v)->obj);
    set_field(r, RECORD_ARGS + i, (Value){.cell = dual_record(v)});
    set_input_index(cell_fields(r), n, i, dual_index(v));
  }
  return r;
}

bool stretch_in(Session *s, const Word *pc) {
  StretchSite *site = (StretchSite *)pc[1].data;
  const uint16_t *list = stretch_list(pc);
  Value *regs = s->regs;
  int n = (int)pc->b;
  s->loop.site = NULL;
  bool known = s->continued; /* then its inputs are active */
  Cell *r = record_of_step(s, site, list);
  if (!r) r = record_begun(s, site, list, n);
  if (!r) return vm_out_of_memory(s);
  const Type *const *types = site->stretch->types;
  for (int i = 0; i < n; i++) {
    Value v = regs[list[i]];
    regs[list[n + i]] =
        take_primal(s, types[i], v, known ? v : dual_active(s, v));
  }
  regs[pc->a].cell = r;
  return true;
}

/* --- Out ------------------------------------------------------------------ */

/* The result as differentiated code has it, of a record or with NULL a
 * constant.  Takes `v` unless memory runs out. */
static bool wrap(Session *s, const Type *type, Value v, Cell *record, int index,
                 Value *out) {
  Value boxed = v;
  *out = v;
  if (!is_float_tensor(type)) return true;
  bool scalar = type_is_scalar(type);
  if (scalar && record &&
      revive_dead(s, (DType)type->dtype, v, record, index, out))
    return true;
  if (scalar)
    boxed.tensor = tensor_from_bits(&s->store.heap, (DType)type->dtype, v);
  if (!boxed.tensor) return false;
  *out = boxed;
  if (!record || dual_new(s, boxed, record, index, out)) return true;
  if (scalar) tensor_drop(&s->store.heap, boxed.tensor);
  return false;
}

/* Gives back what wrap() made, but for `v` itself. */
static void unwrap(Session *s, const Type *type, Value v, Value out) {
  if (!is_float_tensor(type) || out.bits == v.bits) return;
  if (!type_is_scalar(type)) obj_keep(v.obj);
  obj_drop(&s->store, out.obj);
}

/* What the sweep reads goes from the listed registers to the record, or to its
 * steps after the first. */
static void save(Session *s, const StretchSite *site, const uint16_t *list,
                 Cell *r) {
  Cell *steps = cell_fields(r)[RECORD_STEPS].cell;
  if (!steps) {
    save_at(s, site, list, r, cell_fields(r) + first_saved(site->input_count));
    return;
  }
  Value *f = cell_fields(steps);
  uint64_t at = f[STEPS_COUNT].bits++ * (uint64_t)site->saved_count;
  save_at(s, site, list, steps, f + STEPS_SAVED + at);
  loop_fill(s, site, r);
}

static void drop_saved(Session *s, const StretchSite *site,
                       const uint16_t *list) {
  for (uint64_t left = site->saved_objects; left; left &= left - 1)
    obj_drop(&s->store, s->regs[list[__builtin_ctzll(left)]].obj);
}

/* Results that fail to be made leave everything to the function. */
bool stretch_out(Session *s, const Word *pc) {
  StretchSite *site = (StretchSite *)pc[1].data;
  const Stretch *stretch = site->stretch;
  const uint16_t *list = stretch_list(pc);
  const uint16_t *from = list + site->saved_count, *to = list + pc->b;
  Cell *record = s->regs[pc->a].cell;
  Cell *r = record == site->none ? NULL : record;
  Value outs[STRETCH_OUTS];
  int made = 0, count = stretch->out_count;
  bool forward = r && record_has_tangents(r);
  if (forward && !forward_stretch_out(s, site, list, r)) return false;
  for (; made < count; made++) {
    const Type *type = stretch->types[stretch->outs[made]];
    Cell *of = forward && !forward_varies(r, made) ? NULL : r;
    if (!wrap(s, type, s->regs[from[made]], of, made, &outs[made])) break;
  }
  if (r)
    cell_fields(r)[RECORD_ORDER].bits =
        order_at(record_level(r), ++s->record_count);
  if (made < count || (r && !checkpoint_made(s, r))) {
    while (made-- > 0)
      unwrap(s, stretch->types[stretch->outs[made]], s->regs[from[made]],
             outs[made]);
    return vm_out_of_memory(s);
  }
  if (!r || forward || record_is_blank(r)) drop_saved(s, site, list);
  else save(s, site, list, r);
  for (int i = 0; i < count; i++) s->regs[to[i]] = outs[i];
  if (r) obj_drop(&s->store, &r->obj);
  return true;
}
