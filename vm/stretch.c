/* Stretches (bytecode/lower/stretch.c): where the machine enters and leaves
 * one, and makes its record.  stretch_pull.c sweeps it. */
#include "vm/stretch.h"

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

/* An input that may vary, as the stretch finds it. */
typedef struct Input {
  Value value;  /* of the register */
  Value active; /* what it is for the runs under way */
  Cell *record; /* NULL: it is a constant */
  uint64_t index;
} Input;

/* Gives the level at which inputs vary, or 0. */
static int look_at(const Session *s, const uint16_t *list, int n,
                   Input *inputs) {
  int level = 0;
  for (int i = 0; i < n; i++) {
    Value v = s->regs[list[i]], at = dual_active(s, v);
    inputs[i] = (Input){.value = v, .active = at};
    if (!is_dual(at)) continue;
    inputs[i].record = dual_record(at);
    inputs[i].index = dual_index(at);
    level = record_level(dual_record(at));
  }
  return level;
}

/* A loop that carries a scalar drops its Dual where a stretch begins and makes
 * another where it ends.  Of a Dual that dies and whose record is taken care
 * of, the memory and that of the scalar below it serve the next one. */
static bool keep_dead(Session *s, Cell *dual) {
  Tensor *t = dual->fields[0].tensor;
  if (s->dead_dual || !obj_unshared(&t->obj) || !buffer_writable(t->buffer))
    return false;
  clear_field(dual, 1);
  s->dead_dual = dual;
  return true;
}

static bool revive_dead(Session *s, DType dtype, Value bits, Cell *record,
                        int index, Value *out) {
  Cell *dual = s->dead_dual;
  if (!dual || dual->fields[0].tensor->dtype != dtype) return false;
  s->dead_dual = NULL;
  bits_store(dtype, dual->fields[0].tensor->data, bits);
  obj_keep(&record->obj);
  set_field(dual, 1, (Value){.cell = record});
  dual->fields[2].bits = (uint64_t)index;
  out->cell = dual;
  return true;
}

/* The value below the record, scalars as bits, and a reference to the record if
 * `keeps`.  Takes the register's value; of a Dual that dies the references pass
 * on. */
static Value take_primal(Session *s, const Type *type, const Input *input,
                         bool keeps) {
  Value value = input->value, primal = input->active, bits;
  bool scalar = type_is_scalar(type), dies = false;
  if (input->record) {
    primal = dual_primal(primal);
    dies = input->active.obj == value.obj && obj_unshared(value.obj);
  }
  if (scalar) bits = bits_load((DType)type->dtype, primal.tensor->data);
  if (dies && !keeps) obj_drop(&s->store, &input->record->obj);
  if (dies && scalar && keep_dead(s, value.cell)) return bits;
  if (dies) {
    pool_free(&s->store.heap.pool, value.cell,
              sizeof(Cell) + 3 * sizeof(Value));
    if (scalar) tensor_drop(&s->store.heap, primal.tensor);
  } else {
    if (input->record && keeps) obj_keep(&input->record->obj);
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

/* The record that was made last, if it is of this stretch and an input is its
 * result; or NULL.  No record lies between two steps of one, so that the sweep
 * comes to them one after the other. */
static Cell *record_before(const Session *s, const StretchSite *site, int level,
                           const Input *inputs) {
  uint64_t order = order_at(level, s->record_count);
  for (int i = 0; i < site->input_count; i++) {
    Cell *r = inputs[i].record;
    if (!r || record_order(r) != order) continue;
    bool same = r->obj.tag == RECORD_OF_STRETCH &&
                cell_fields(r)[RECORD_SITE].bits == (uint64_t)(uintptr_t)site;
    return same ? r : NULL;
  }
  return NULL;
}

/* Does this step's input i come from where that of the steps before did? */
static bool source_fits(const Value *f, int n, int i, const Input *in,
                        bool recurs) {
  const Cell *steps = f[RECORD_STEPS].cell;
  if (steps) {
    unsigned source = step_sources(steps)[i];
    if (recurs) return source == in->index;
    if (source != SOURCE_SAME) return false;
  }
  return recurs || (f[RECORD_ARGS + i].cell == in->record &&
                    (!in->record || input_index(f, n, i) == in->index));
}

/* Are these inputs all that there is of the record's results, but for those
 * that are the same in all steps? */
static bool continues(const StretchSite *site, const Cell *r,
                      const Input *inputs) {
  const Value *f = cell_fields((Cell *)r);
  int n = site->input_count, uses = 0;
  for (int i = 0; i < n; i++) {
    const Input *in = &inputs[i];
    bool recurs = in->record == r;
    if (!source_fits(f, n, i, in, recurs)) return false;
    if (!recurs) continue;
    if (in->active.obj != in->value.obj || !obj_unshared(in->value.obj))
      return false;
    uses++;
  }
  return r->obj.count == uses;
}

/* A cell for more steps, after those that the record has; false without memory.
 */
static bool steps_new(Session *s, const StretchSite *site, Cell *r,
                      const Input *inputs) {
  enum { LEAST = 8, MOST = 1 << 13 };
  Cell *older = cell_fields(r)[RECORD_STEPS].cell;
  uint64_t room = LEAST;
  if (older) room = cell_fields(older)[STEPS_COUNT].bits * 2;
  if (room * (uint64_t)site->saved_count > MOST) room /= 2;
  Cell *c = blank_cell(s, 0, STEPS_SAVED + (int)room * site->saved_count);
  if (!c) return false;
  cell_fields(c)[STEPS_ROOM].bits = room;
  uint8_t *sources = (uint8_t *)(cell_fields(c) + STEPS_SOURCES);
  for (int i = 0; i < site->input_count; i++)
    sources[i] = inputs[i].record == r ? (uint8_t)inputs[i].index : SOURCE_SAME;
  if (older) set_field(c, STEPS_OLDER, (Value){.cell = older});
  set_field(r, RECORD_STEPS, (Value){.cell = c});
  return true;
}

/* What the latest step saved goes to those before it. */
static void steps_add(const StretchSite *site, Cell *r) {
  Cell *steps = cell_fields(r)[RECORD_STEPS].cell;
  Value *f = cell_fields(steps);
  int count = site->saved_count, first = first_saved(site->input_count);
  int at = STEPS_SAVED + (int)f[STEPS_COUNT].bits++ * count;
  const Value *from = cell_fields(r) + first;
  for (int i = 0; i < count; i++) f[at + i] = from[i];
  for (uint64_t left = site->saved_objects; left; left &= left - 1) {
    int i = __builtin_ctzll(left);
    set_field(steps, at + i, f[at + i]);
    clear_field(r, first + i);
  }
}

/* The record before, which from now on is that of this step, too: a reference.
 * NULL: there is none, or memory ran out. */
static Cell *record_of_step(Session *s, const StretchSite *site, int level,
                            const Input *inputs) {
  Cell *r = record_before(s, site, level, inputs);
  if (!r || !continues(site, r, inputs)) return NULL;
  const Cell *steps = cell_fields(r)[RECORD_STEPS].cell;
  const Value *f = steps ? cell_fields((Cell *)steps) : NULL;
  bool full = !f || f[STEPS_COUNT].bits == f[STEPS_ROOM].bits;
  if (full && !steps_new(s, site, r, inputs)) return NULL;
  steps_add(site, r);
  obj_keep(&r->obj);
  return r;
}

/* --- The instructions ----------------------------------------------------- */

bool vm_stretch_in(Session *s, const Word *pc) {
  const StretchSite *site = pc[1].data;
  const Stretch *stretch = site->stretch;
  const uint16_t *list = ins_list(pc);
  int n = (int)pc->b;
  if (!again_look(s)) return false;
  Input inputs[STRETCH_INPUTS];
  int level = look_at(s, list, n, inputs);
  Cell *r = site->none, *made = NULL;
  bool blank = level > 0 && again_blanks(s, level);
  if (blank) r = again_blank(s, level, stretch->out_count);
  else if (level > 0) {
    r = record_of_step(s, site, level, inputs);
    if (!r) r = made = record_new(s, site, level);
  }
  if (!r) return vm_out_of_memory(s);
  for (int i = 0; i < n; i++) {
    const Input *in = &inputs[i];
    s->regs[list[n + i]] = take_primal(s, stretch->types[i], in, made);
    if (!made || !in->record) continue;
    set_field(r, RECORD_ARGS + i, (Value){.cell = in->record});
    set_input_index(cell_fields(r), n, i, in->index);
  }
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
  if (!is_float(type) || out.bits == v.bits) return;
  if (!type_is_scalar(type)) obj_keep(v.obj);
  obj_drop(&s->store, out.obj);
}

static void set_number(Cell *r, uint64_t number) {
  cell_fields(r)[RECORD_ORDER].bits = order_at(record_level(r), number);
}

/* What the sweep reads goes from the listed registers to the record. */
static void save(const Session *s, const StretchSite *site,
                 const uint16_t *list, Cell *r) {
  int first = first_saved(site->input_count);
  Value *f = cell_fields(r) + first;
  for (int i = 0; i < site->saved_count; i++) f[i] = s->regs[list[i]];
  for (uint64_t left = site->saved_objects; left; left &= left - 1) {
    int i = __builtin_ctzll(left);
    set_field(r, first + i, f[i]);
  }
}

static void drop_saved(Session *s, const StretchSite *site,
                       const uint16_t *list) {
  for (uint64_t left = site->saved_objects; left; left &= left - 1)
    obj_drop(&s->store, s->regs[list[__builtin_ctzll(left)]].obj);
}

/* Results that fail to be made leave everything to the function. */
bool vm_stretch_out(Session *s, const Word *pc) {
  const StretchSite *site = pc[1].data;
  const Stretch *stretch = site->stretch;
  const uint16_t *list = ins_list(pc);
  const uint16_t *from = list + site->saved_count, *to = list + pc->b;
  Cell *record = s->regs[pc->a].cell;
  Cell *r = record == site->none ? NULL : record;
  Value outs[STRETCH_OUTS];
  int made = 0, count = stretch->out_count;
  for (; made < count; made++) {
    const Type *type = stretch->types[stretch->outs[made]];
    if (!wrap(s, type, s->regs[from[made]], r, made, &outs[made])) break;
  }
  if (r) set_number(r, ++s->record_count);
  if (made < count || (r && !again_made(s, r))) {
    while (made-- > 0)
      unwrap(s, stretch->types[stretch->outs[made]], s->regs[from[made]],
             outs[made]);
    return vm_out_of_memory(s);
  }
  if (!r || record_is_blank(r)) drop_saved(s, site, list);
  else save(s, site, list, r);
  for (int i = 0; i < count; i++) s->regs[to[i]] = outs[i];
  if (r) obj_drop(&s->store, &r->obj);
  return true;
}
