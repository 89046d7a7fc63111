/* The reverse sweep of a stretch's record (stretch.h): of its steps, the latest
 * first.  An input that is a result of the step before has its adjoint in the
 * record itself, from which the sweep of that step takes it.
 *
 * Which rule serves a step, where its arguments come from and where its parts
 * go is planned once, and holds as long as the same adjoints are zero: in a
 * loop of many steps, from the second that is swept to the last but one.  Where
 * moreover all is scalars, steps that lie side by side are a row: the machine
 * goes from one to the next by an instruction, without leaving its loop. */
#include "vm/stretch.h"

/* The adjoint that a rule takes: of a result or an input. */
typedef struct Taken {
  Part *part;
  const Type *type;
} Taken;

/* Steps whose rule takes and gives nothing but bits, each the adjoints that the
 * one before gave. */
typedef struct StepRow {
  Value *window;      /* of the rule */
  const Value *saved; /* by the step that was swept last */
  uint64_t left;      /* steps to go */
  int stride; /* from a step's saved values to those of the one before */
  int read_count, taken_count;
  bool boxed;                   /* the rule gives a tuple, else its fields */
  const uint8_t *reads;         /* of the saved values */
  uint8_t from[RULE_ARGS_MOST]; /* the result that is each adjoint */
} StepRow;

/* A step under way: its saved values are fields of `cell`, from `at` on. */
typedef struct SweptStep {
  Sweep *w;
  Adjoint *a;
  StretchSite *site;
  Value *f; /* of the record */
  int n;    /* inputs */
  Cell *cell;
  int at;
  bool last;              /* nobody will sweep it again */
  uint64_t held;          /* the objects that it saved and still has */
  uint64_t left;          /* steps before it in the cell */
  const uint8_t *sources; /* NULL: it is the first */
  /* The plan: */
  const StretchRule *rule; /* NULL: there is no plan */
  StretchKey key;
  Part *inputs[STRETCH_INPUTS]; /* their adjoints; NULL: none so far */
  int read_count, taken_count;
  int sum_count; /* the first of those taken, which are of results */
  uint8_t reads[RULE_ARGS_MOST]; /* of the saved values */
  uint64_t objects_read;         /* those that are objects, a bit each */
  Taken taken[RULE_ARGS_MOST];
  bool in_row; /* the next step may follow in a row: */
  StepRow row;
} SweptStep;

/* --- Inputs --------------------------------------------------------------- */

/* Of which result of the step before is input i; or SOURCE_SAME. */
static unsigned source_of(const SweptStep *step, int i) {
  return step->sources ? step->sources[i] : SOURCE_SAME;
}

static bool varies(const SweptStep *step, int i) {
  return source_of(step, i) != SOURCE_SAME || step->f[RECORD_ARGS + i].cell;
}

/* The adjoint of input i, if there is one; or NULL. */
static Part *known_input(const SweptStep *step, int i) {
  unsigned source = source_of(step, i);
  if (source != SOURCE_SAME) return &step->a->of[source];
  Cell *input = step->f[RECORD_ARGS + i].cell;
  Adjoint *a = input ? adjoint_known(step->w, input) : NULL;
  return a ? &a->of[input_index(step->f, step->n, i)] : NULL;
}

/* The adjoint of input i, which varies; NULL: memory ran out. */
static Part *input_part(SweptStep *step, int i) {
  if (step->inputs[i]) return step->inputs[i];
  Adjoint *a = adjoint_of(step->w, step->f[RECORD_ARGS + i].cell);
  if (!a || mem_exhausted(step->w->s->mem)) return NULL;
  return step->inputs[i] = &a->of[input_index(step->f, step->n, i)];
}

/* --- The plan ------------------------------------------------------------- */

/* Has input i an adjoint already, to which this step's part is added?  A result
 * of the step before has none, since nothing but this step has read it. */
static bool has_sum(const SweptStep *step, int i) {
  const Part *part = step->inputs[i];
  return part && part->form != SUM_ZERO && source_of(step, i) == SOURCE_SAME;
}

static inline uint32_t inputs_with_sums(const SweptStep *step) {
  uint32_t sums = 0;
  for (int i = 0; i < step->n; i++)
    if (has_sum(step, i)) sums |= (uint32_t)1 << i;
  return sums;
}

static uint32_t results_with_sums(const Adjoint *a) {
  uint32_t outs = 0;
  for (int i = 0; i < a->count; i++)
    if (a->of[i].form != SUM_ZERO) outs |= (uint32_t)1 << i;
  return outs;
}

/* Those for which rows still wait. */
static uint32_t results_with_rows(const Adjoint *a) {
  uint32_t late = 0;
  for (int i = 0; i < a->count; i++)
    if (a->of[i].rows) late |= (uint32_t)1 << i;
  return late;
}

static StretchKey key_of(const SweptStep *step) {
  StretchKey key = {.outs = results_with_sums(step->a),
                    .late = results_with_rows(step->a),
                    .sums = inputs_with_sums(step)};
  for (int i = 0; i < step->n; i++)
    if (varies(step, i)) key.varies |= (uint32_t)1 << i;
  return key;
}

static const StretchRule *rule_of(Session *s, StretchSite *site,
                                  StretchKey key) {
  for (const StretchRule *r = atomic_load(&site->rules); r; r = r->next)
    if (r->key.varies == key.varies && r->key.outs == key.outs &&
        r->key.late == key.late && r->key.sums == key.sums)
      return r;
  Program *p = s->code->program;
  p->hold_shared(p, true);
  pthread_mutex_lock(&s->code->lock);
  const StretchRule *r = stretch_rule(s->code, site, key);
  pthread_mutex_unlock(&s->code->lock);
  p->hold_shared(p, false);
  return r;
}

static void take(SweptStep *step, const Type *type, Part *part) {
  step->taken[step->taken_count++] = (Taken){part, type};
}

/* Which of the rule's results is this adjoint of the next step's, where each
 * result is a sum; -1: none, or they are not. */
static int result_for(const SweptStep *step, const Part *part) {
  const StretchSweep *sweep = &step->rule->sweep;
  for (int i = 0; i < sweep->part_count; i++) {
    if (sweep->parts[i].kind != PART_SUM) return -1;
    if (step->inputs[sweep->parts[i].input] == part) return i;
  }
  return -1;
}

/* Does every step take bits, namely what the one before gave? */
static bool plan_row(SweptStep *step) {
  const StretchRule *rule = step->rule;
  bool bits =
      !step->w->dual && step->site->saved_objects == 0 && step->key.late == 0;
  if (!bits || !rule->plain) return false;
  if (rule->sweep.part_count != step->taken_count) return false;
  step->row = (StepRow){.stride = step->site->saved_count,
                        .read_count = step->read_count,
                        .taken_count = step->taken_count,
                        .boxed = rule->plain->result_count == 0,
                        .reads = step->reads};
  for (int i = 0; i < step->taken_count; i++) {
    int from = result_for(step, step->taken[i].part);
    if (from < 0 || !type_is_scalar(step->taken[i].type)) return false;
    step->row.from[i] = (uint8_t)from;
  }
  return true;
}

/* False after a fault. */
static bool make_plan(SweptStep *step) {
  Session *s = step->w->s;
  const StretchSite *site = step->site;
  const Stretch *stretch = site->stretch;
  for (int i = 0; i < step->n; i++) step->inputs[i] = known_input(step, i);
  step->key = key_of(step);
  step->read_count = step->taken_count = 0;
  step->objects_read = 0;
  step->rule = rule_of(s, step->site, step->key);
  if (!step->rule && mem_exhausted(s->code->program->mem))
    return vm_out_of_memory(s);
  if (!step->rule)
    return vm_fault_at(s, site->span, E0609,
                       "the rules of differentiation do not fit here");
  for (int i = 0; i < site->saved_count; i++)
    if (step->rule->sweep.reads[site->saved[i]]) {
      step->reads[step->read_count++] = (uint8_t)i;
      step->objects_read |= site->saved_objects & (uint64_t)1 << i;
    }
  for (int i = 0; i < stretch->out_count; i++)
    if (step->key.outs >> i & 1)
      take(step, stretch->types[stretch->outs[i]], &step->a->of[i]);
  step->sum_count = step->taken_count;
  for (int i = 0; i < step->n; i++)
    if (step->key.sums >> i & 1) take(step, stretch->types[i], step->inputs[i]);
  step->in_row = plan_row(step);
  return true;
}

/* Does the plan serve this step?  The first step has other inputs. */
static bool plan_fits(const SweptStep *step) {
  return step->rule && step->sources &&
         step->key.outs == results_with_sums(step->a) &&
         step->key.late == results_with_rows(step->a) &&
         step->key.sums == inputs_with_sums(step);
}

/* --- The rule ------------------------------------------------------------- */

/* The sum as an argument; it is zero afterwards.  Sums are bits only in plain
 * sweeps, whose code takes scalars so. */
static Value take_sum(Sweep *w, const Taken *from) {
  bool bits = from->part->form == SUM_BITS;
  from->part->form = SUM_ZERO;
  Value sum = from->part->sum;
  return bits ? sum : sweep_argument(w, from->type, sum);
}

/* The saved values that the rule reads, scalars of floats as objects; false
 * without memory. */
static bool put_saved_boxed(const SweptStep *step, const Value *saved,
                            Value *window, int *count) {
  const StretchSite *site = step->site;
  Heap *heap = &step->w->s->store.heap;
  for (; *count < step->read_count; ++*count) {
    int i = step->reads[*count];
    const Type *type = site->stretch->types[site->saved[i]];
    Value v = saved[i];
    if (saved_is_counted(site, i)) {
      obj_keep(v.obj);
    } else if (type_is_float_scalar(type)) {
      v.tensor = tensor_from_bits(heap, (DType)type->dtype, v);
      if (!v.tensor) return false;
    }
    window[*count] = v;
  }
  return true;
}

/* The saved values that the rule reads into the window; false without memory.
 * Objects of a step that nobody will sweep again move out of the record, so
 * that the rule may write over a tensor that it reads last; not in
 * differentiated code, where memory may run out half-way. */
static bool put_saved(SweptStep *step, Value *window, int *count) {
  const Value *saved = cell_fields(step->cell) + step->at;
  if (step->w->dual) return put_saved_boxed(step, saved, window, count);
  int n = *count = step->read_count;
  for (int k = 0; k < n; k++) window[k] = saved[step->reads[k]];
  if (step->last) {
    step->held &= ~step->objects_read;
    mark_fields(step->cell, step->at, step->objects_read, false);
  } else {
    for (int k = 0; k < n; k++)
      if (saved_is_counted(step->site, step->reads[k])) obj_keep(window[k].obj);
  }
  return true;
}

/* The rows that wait for results of the stretch, as the rule takes them. */
typedef struct Late {
  Value sides[2 * STRETCH_OUTS];
  int count;
} Late;

/* Before the window is filled: regions may be swept again for them.  False
 * after a fault. */
static bool take_late(const SweptStep *step, Late *late) {
  Session *s = step->w->s;
  late->count = 0;
  for (uint32_t left = step->key.late; left; left &= left - 1) {
    Part *part = &step->a->of[__builtin_ctz(left)];
    int sides = part_take_rows(s, part, &late->sides[late->count]);
    late->count += sides;
    if (sides > 0) continue;
    while (late->count > 0) obj_drop(&s->store, late->sides[--late->count].obj);
    return false;
  }
  return true;
}

/* The rule's arguments into the window, `late` taken; false without memory. */
static bool put_arguments(SweptStep *step, const Late *late, Value *window,
                          int *count) {
  Sweep *w = step->w;
  if (!put_saved(step, window, count)) {
    for (int i = 0; i < late->count; i++)
      obj_drop(&w->s->store, late->sides[i].obj);
    return vm_out_of_memory(w->s);
  }
  for (int i = 0; i < step->sum_count; i++)
    window[(*count)++] = take_sum(w, &step->taken[i]);
  const Type *const *params = step->rule->sweep.function->type->args;
  for (int i = 0; i < late->count; i++, ++*count)
    window[*count] = sweep_argument(w, params[*count], late->sides[i]);
  for (int i = step->sum_count; i < step->taken_count; i++)
    window[(*count)++] = take_sum(w, &step->taken[i]);
  return true;
}

/* Adds a part of the rule's result to an input's adjoint.  `types`: of the
 * result's fields. */
static bool add_part(SweptStep *step, StretchPart part,
                     const Type *const *types, Given *given, Gathered *last) {
  Sweep *w = step->w;
  Session *s = w->s;
  Part *to = input_part(step, part.input);
  if (!to) return vm_out_of_memory(s);
  const Type *type = types[given->taken];
  bool bits = type_is_scalar(type) && !w->dual;
  Value v = given_next(given);
  if (part.kind == PART_SUM) {
    to->form = bits ? SUM_BITS : SUM_OBJECT;
    to->dtype = (DType)type->dtype;
    to->sum = v;
    return true;
  }
  Value b = {.bits = 0};
  if (part.kind == PART_PRODUCT) b = given_next(given);
  return part_add_product(s, to, v, b, last);
}

/* --- Rows of steps ------------------------------------------------------- */

/* The arguments of the step before, of which the last one gave adjoints. */
static inline Value *put_next(StepRow *row, const Value *given) {
  Value *to = row->window;
  row->left--;
  row->saved -= row->stride;
  for (int i = 0; i < row->read_count; i++) *to++ = row->saved[row->reads[i]];
  for (int i = 0; i < row->taken_count; i++) *to++ = given[row->from[i]];
  return row->window;
}

/* A function of its own, so that vm_next_step() needs no stack frame where the
 * results are not boxed. */
static __attribute__((noinline)) Value *put_next_unboxing(Session *s,
                                                          StepRow *row) {
  Cell *tuple = s->left[0].cell;
  Value *window = put_next(row, cell_fields(tuple));
  obj_drop(&s->store, &tuple->obj);
  return window;
}

Value *vm_next_step(Session *s, const Word *pc) {
  StepRow *row = (StepRow *)(uintptr_t)pc[1].word;
  if (row->left == 0) return NULL;
  return row->boxed ? put_next_unboxing(s, row) : put_next(row, s->left);
}

/* Steps that may follow in a row: those before it in the cell. */
static uint64_t row_length(const SweptStep *step) {
  return step->in_row ? step->left : 0;
}

/* Sweeps the step whose arguments are in the window and those of its row; the
 * last of them is then the step under way.  False after a fault. */
static bool sweep_row(SweptStep *step, Function *g, Value *window) {
  uint64_t length = row_length(step);
  if (length == 0) return sweep_invoke(step->w, g, window);
  StepRow *row = &step->row;
  row->window = window;
  row->saved = cell_fields(step->cell) + step->at;
  row->left = length;
  unsigned units = row->boxed ? 0 : register_units(g->result_count);
  Word entry[5 + RESULTS_MOST / 4], *next = entry + 2 + units;
  entry[0] = row->boxed ? (Word){.op = INS_call}
                        : (Word){.op = INS_call_unboxed, .c = 4 * units};
  entry[1].function = g;
  if (!row->boxed)
    for (unsigned i = 0; i < 4 * units; i++)
      entry[2 + i / 4].regs[i % 4] = (uint16_t)i;
  next[0] = (Word){.op = INS_next_step, .a = (uint16_t)units};
  next[1].word = (uint64_t)(uintptr_t)row;
  next[2] = (Word){.op = INS_halt};
  if (!sweep_enter(step->w, g, window, entry)) return false;
  step->left -= length;
  step->at -= (int)length * row->stride;
  return true;
}

/* False after a fault. */
static bool sweep_step(SweptStep *step) {
  Sweep *w = step->w;
  Session *s = w->s;
  if (!plan_fits(step) && !make_plan(step)) return false;
  step->held = step->site->saved_objects;
  const StretchSweep *sweep = &step->rule->sweep;
  Function *g = w->dual ? step->rule->dual : step->rule->plain;
  if (!g) {
    for (int i = 0; i < step->a->count; i++) part_clear(s, &step->a->of[i]);
    return true;
  }
  int count = 0;
  Value *window = w->window;
  Late late;
  if (window + RULE_ARGS_MOST >= s->stack_end)
    return vm_fault(s, E0702, "recursion too deep: no room for a rule");
  if (!take_late(step, &late)) return false;
  if (!put_arguments(step, &late, window, &count))
    return sweep_drop_arguments(s, g, window, count);
  if (!sweep_row(step, g, window)) return false;
  const Type *const *types = sweep->function->type->result->args;
  Given given;
  Gathered last = {0};
  given_start(s, g, &given);
  bool ok = true;
  for (int i = 0; ok && i < sweep->part_count; i++)
    ok = add_part(step, sweep->parts[i], types, &given, &last);
  given_done(s, &given);
  return ok;
}

/* --- From step to step ---------------------------------------------------- */

/* What is left of what the step saved, of a tape that will not be swept again.
 */
static void drop_saved(const SweptStep *step) {
  const Value *saved = cell_fields(step->cell) + step->at;
  if (!step->held) return;
  mark_fields(step->cell, step->at, step->held, false);
  for (uint64_t left = step->held; left; left &= left - 1)
    obj_drop(&step->w->s->store, saved[__builtin_ctzll(left)].obj);
}

/* Drops the cell of the steps that are swept, whose place in the record those
 * before take; NULL: there are none. */
static void drop_steps(const SweptStep *step, Cell *older) {
  Cell *r = step->a->record;
  if (older) obj_keep(&older->obj);
  stretch_loop_ends(step->w->s);
  clear_field(r, RECORD_STEPS);
  if (older) set_field(r, RECORD_STEPS, (Value){.cell = older});
  obj_drop(&step->w->s->store, &step->cell->obj);
}

/* Goes to the latest step of the cell; NULL: to the first of all, which is the
 * record's own. */
static void enter_steps(SweptStep *step, Cell *steps) {
  int count = step->site->saved_count;
  step->cell = steps ? steps : step->a->record;
  step->sources = steps ? step_sources(steps) : NULL;
  step->left = steps ? cell_fields(steps)[STEPS_COUNT].bits - 1 : 0;
  step->at = steps ? STEPS_SAVED + (int)step->left * count
                   : first_saved(step->site->input_count);
}

/* Goes to the step before, of which there is one. */
static void step_back(SweptStep *step) {
  if (step->last) drop_saved(step);
  if (step->left > 0) {
    step->left--;
    step->at -= step->site->saved_count;
    return;
  }
  Cell *older = cell_fields(step->cell)[STEPS_OLDER].cell;
  if (step->last) drop_steps(step, older);
  enter_steps(step, older);
}

/* Makes the products that wait part of the sums, but for those of results that
 * the stretch reads itself; `*any`: is there an adjoint? */
static bool settle(const SweptStep *step, bool *any) {
  *any = false;
  for (int i = 0; i < step->a->count; i++) {
    Part *part = &step->a->of[i];
    bool late = step->site->own >> i & 1;
    if (part->rows && !late && !part_settle(step->w->s, part)) return false;
    *any |= part->form != SUM_ZERO || part->rows;
  }
  return true;
}

bool sweep_stretch(Sweep *w, Adjoint *a, bool last) {
  Value *f = cell_fields(a->record);
  StretchSite *site = (StretchSite *)(uintptr_t)f[RECORD_SITE].bits;
  SweptStep step;
  step.w = w;
  step.a = a;
  step.site = site;
  step.f = f;
  step.n = site->input_count;
  step.last = last;
  enter_steps(&step, f[RECORD_STEPS].cell);
  step.rule = NULL;
  step.read_count = step.taken_count = 0;
  step.in_row = false;
  for (bool any;; step_back(&step)) {
    if (!settle(&step, &any)) return false;
    if (!any) return true;
    if (!sweep_step(&step)) return false;
    if (!step.sources) return true;
  }
}
