/* Duals, records and the walks over values that differentiation needs.
 *
 * A walk goes over a value of any depth, with a stack of its own, and copies it
 * leaf by leaf from one representation to another (walk_copy). */
#include "vm/checkpoint.h"

#include <string.h>

/* --- Duals -------------------------------------------------------------- */

bool dual_new(Session *s, Value primal, Cell *record, int index, Value *out) {
  Cell *c = pool_alloc(&s->store.heap.pool,
                       sizeof(Cell) + DUAL_FIELDS * sizeof(Value));
  if (!c) return false;
  c->fields[0] = primal;
  dual_set(c, record, index);
  obj_keep(&record->obj);
  out->cell = c;
  return true;
}

Cell *blank_cell(Session *s, int tag, int n) {
  Cell *c = cell_alloc(&s->store.heap.pool, tag, n);
  if (c) memset(cell_fields(c), 0, (size_t)n * sizeof(Value));
  return c;
}

Cell *blank_tuple(Session *s, int n) {
  return n ? blank_cell(s, 0, n) : store_nullary(&s->store, 0);
}

/* --- Records ------------------------------------------------------------ */

static Cell *record_new(Session *s, const OpSite *site, int level, int args,
                        int outs) {
  Cell *r = blank_cell(s, 0, RECORD_ARGS + 3 * args + outs);
  if (!r) return NULL;
  Value *f = cell_fields(r);
  f[RECORD_SITE].bits = (uint64_t)(uintptr_t)site;
  f[RECORD_ORDER].bits = order_at(level, ++s->record_count);
  f[RECORD_COUNTS].bits = (uint64_t)args << 32 | (uint32_t)outs;
  return r;
}

Cell *record_of_inputs(Session *s, int level, int outs) {
  return record_new(s, NULL, level, 0, outs);
}

static Cell *blank_next(Session *s, int level, int outs) {
  Cell *r = checkpoint_blank(s, level, outs);
  if (r) cell_fields(r)[RECORD_ORDER].bits |= ++s->record_count;
  return r;
}

/* --- Operators ---------------------------------------------------------- */

/* The rule for operands of these ranks and dtypes, if an operator here had such
 * operands before; or NULL. */
static struct Derivative *derivative_find(const OpSite *site, int n,
                                          const Value *args) {
  struct Derivative *d = atomic_load(&site->derivatives);
  for (; d; d = d->next) {
    bool same = true;
    for (int i = 0; same && i < n; i++)
      same = d->kinds[i] == operand_kind(args[i]);
    if (same) return d;
  }
  return NULL;
}

/* That rule, or that there is none, which matters only to a sweep that comes
 * here.  NULL without memory. */
static struct Derivative *derivative_of(Session *s, const OpSite *site, int n,
                                        const Value *args, int m,
                                        const Value *outs) {
  struct Derivative *d = derivative_find(site, n, args);
  if (!d) {
    Program *p = s->code->program;
    p->hold_shared(p, true);
    pthread_mutex_lock(&s->code->lock);
    d = derivative_find(site, n, args); /* another session may have made it */
    if (!d) d = derivative_make(s->code, site, n, args, m, outs);
    pthread_mutex_unlock(&s->code->lock);
    p->hold_shared(p, false);
  }
  if (!d) vm_out_of_memory(s);
  return d;
}

/* Runs the kernel on tensors; `outs` are owned. */
static bool run_kernel(Session *s, const OpSite *site, int n, const Value *args,
                       uint32_t ending, int m, Value *outs) {
  const Tensor **tensors =
      ARENA_ARRAY(&s->scratch, const Tensor *, (size_t)n + 1);
  if (!tensors) return vm_out_of_memory(s);
  for (int i = 0; i < n; i++) tensors[i] = args[i].tensor;
  OpCall call = vm_op_call(s, site, n, tensors);
  call.ending = session_shows_kernels(s) ? 0 : ending;
  if (!op_run(&call)) return vm_op_failed(s, site, &call);
  if (call.out_count && call.out_count != m)
    return vm_fault(s, E0607, "`%s` gave other results than were expected",
                    site->op->name);
  for (int i = 0; i < m; i++) outs[i].tensor = call.outs[i];
  if (!session_shows_kernels(s) || s->observer->applied(s->observer, s, &call))
    return true;
  for (int i = 0; i < m; i++) tensor_drop(&s->store.heap, outs[i].tensor);
  return false;
}

/* Keeps what the rule mentions, operands that were broadcast, and several
 * results, which say what shape the adjoint of one has that nothing uses. */
static void keep_values(const struct Derivative *d, Cell *r, int n,
                        const Value *args, int m, const Value *outs) {
  const Tensor *first = value_tensor(outs[0]);
  for (int i = 0; i < n; i++) {
    const Tensor *t = value_tensor(args[i]);
    bool kept = d->kept[i] || !shapes_equal(t, first);
    if (!kept) continue;
    obj_keep(args[i].obj);
    set_field(r, RECORD_ARGS + 2 * n + i, args[i]);
  }
  for (int i = 0; (d->keeps_value || m > 1) && i < m; i++) {
    obj_keep(outs[i].obj);
    set_field(r, RECORD_ARGS + 3 * n + i, outs[i]);
  }
}

/* Does nobody else hold the value, nor one of those below it? */
static bool is_alone(Value v) {
  while (obj_unshared(v.obj) && is_dual(v)) v = dual_primal(v);
  return obj_unshared(v.obj);
}

/* Of the operands that end those that are alone: a sum of adjoints may be a
 * value that the program still has. */
static uint32_t alone(int n, const Value *args, uint32_t ending) {
  for (int i = 0; ending && i < n && i < 32; i++)
    if (!is_alone(args[i])) ending &= ~((uint32_t)1 << i);
  return ending;
}

/* Of the operands that end those that no rule reads: a result may be written
 * over them. */
static uint32_t unread(const OpSite *site, int n, const Value *args,
                       uint32_t ending) {
  const struct Derivative *d = ending ? derivative_find(site, n, args) : NULL;
  uint32_t mask = 0;
  for (int i = 0; d && i < n && i < 32; i++)
    if (!d->kept[i]) mask |= ending & (uint32_t)1 << i;
  return mask;
}

/* The record of an operator at this level, whose operands are `own`, and
 * `under` below the level.  NULL after a fault. */
static Cell *record_op(Session *s, const OpSite *site, int level, int n,
                       const Value *own, const Value *under, int m,
                       const Value *outs) {
  bool blank = checkpoint_blanks(s, level);
  bool forward = level_is_forward(s, level);
  Cell *made;
  if (forward && forward_directly(s, site, level, n, own, under, m, &made))
    return made;
  const struct Derivative *d =
      blank ? NULL : derivative_of(s, site, n, under, m, outs);
  if (!blank && !d) return NULL;
  Cell *r = blank ? blank_next(s, level, m) : record_new(s, site, level, n, m);
  if (!r) vm_out_of_memory(s);
  if (!r || blank) return r;
  Value *f = cell_fields(r);
  f[RECORD_RULE].bits = (uint64_t)(uintptr_t)d;
  for (int i = 0; i < n; i++) {
    if (own[i].bits == under[i].bits) continue;
    obj_keep(&dual_record(own[i])->obj);
    set_field(r, RECORD_ARGS + i, (Value){.cell = dual_record(own[i])});
    f[RECORD_ARGS + n + i].bits = dual_index(own[i]);
  }
  keep_values(d, r, n, under, m, outs);
  return forward ? forward_step(s, r, n, own, m, outs) : r;
}

/* Floats among the results that vary become Duals of the record's.  False
 * without memory. */
static bool record_results(Session *s, Cell *r, int level, int m, Value *outs) {
  bool forward = level_is_forward(s, level), ok = checkpoint_made(s, r);
  for (int i = 0; ok && i < m; i++) {
    Value dual;
    if (!dtype_is_float(value_tensor(outs[i])->dtype)) continue;
    if (forward && !forward_varies(r, i)) continue;
    ok = dual_new(s, outs[i], r, i, &dual);
    if (ok) outs[i] = dual;
  }
  return ok || vm_out_of_memory(s);
}

/*   op flat                     the kernel, on the tensors at the bottom
 *   level(args) = 0             the kernel
 *   level(args) = k             the operator on what is below level k, recorded
 */
bool dual_apply(Session *s, const OpSite *site, int n, const Value *args,
                uint32_t ending, int m, Value *outs) {
  Value *own = ARENA_ARRAY(&s->scratch, Value, 2 * (size_t)n + 1);
  if (!own) return vm_out_of_memory(s);
  Value *under = own + n;
  int level = 0;
  ending = alone(n, args, ending);
  for (int i = 0; i < n; i++) {
    own[i] = site->op->flat ? (Value){.tensor = value_tensor(args[i])}
                            : dual_active(s, args[i]);
    int of = is_dual(own[i]) ? dual_level(own[i]) : 0;
    if (of > level) level = of;
  }
  if (level == 0) return run_kernel(s, site, n, own, ending, m, outs);
  for (int i = 0; i < n; i++) {
    bool top = is_dual(own[i]) && dual_level(own[i]) == level;
    under[i] = top ? dual_primal(own[i]) : own[i];
  }
  ending = unread(site, n, under, ending);
  if (!dual_apply(s, site, n, under, ending, m, outs)) return false;
  Cell *r = record_op(s, site, level, n, own, under, m, outs);
  bool ok = r && record_results(s, r, level, m, outs);
  if (r) obj_drop(&s->store, &r->obj);
  for (int i = 0; !ok && i < m; i++) obj_drop(&s->store, outs[i].obj);
  return ok;
}

/* --- Operands from registers -------------------------------------------- */

/* The operand as an object: bits become a tensor, which is added to `made`. */
static bool add_operand(Session *s, const Type *type, Value v, bool bits,
                        Value *to, Value *made, int *made_count) {
  *to = v;
  if (!bits) return true;
  to->tensor = tensor_from_bits(&s->store.heap, (DType)type->dtype, v);
  if (!to->tensor) return vm_out_of_memory(s);
  made[(*made_count)++] = *to;
  return true;
}

/* The operands, and which of them end: sources that the instruction takes
 * (bits of `taken`) and nobody else holds. */
static bool gather(Session *s, const OpSite *site, const uint16_t *list,
                   unsigned taken, Value *args, Value *made, int *made_count,
                   uint32_t *ending) {
  int n = 0;
  for (int i = 0; i < site->source_count; i++) {
    const OpSource *source = &site->sources[i];
    Value v = s->regs[list[i]];
    if (source->kind != FROM_TUPLE) {
      bool ends = i < 16 && taken >> i & 1 && obj_unshared(v.obj);
      if (ends && n < 32) *ending |= (uint32_t)1 << n;
      if (!add_operand(s, source->type, v, source->kind == FROM_BITS,
                       &args[n++], made, made_count))
        return false;
      continue;
    }
    for (int k = 0; k < source->type->count; k++)
      if (!add_operand(s, source->type->args[k], cell_fields(v.cell)[k],
                       !cell_field_counted(v.cell, (uint64_t)k), &args[n++],
                       made, made_count))
        return false;
  }
  return true;
}

bool vm_dual_op(Session *s, const Word *pc) {
  const OpSite *site = pc[1].data;
  const uint16_t *list = ins_list(pc);
  int n = site->arg_count, m = site->out_count, made_count = 0;
  if (!checkpoint_look(s)) return false;
  Value *args = ARENA_ARRAY(&s->scratch, Value, 2 * (size_t)n + (size_t)m + 1);
  Value *made = args + n, *outs = made + n;
  uint32_t ending = 0;
  if (!args) return vm_out_of_memory(s);
  bool ok = gather(s, site, list, pc->a, args, made, &made_count, &ending) &&
            dual_apply(s, site, n, args, ending, m, outs);
  for (int i = 0; i < made_count; i++) obj_drop(&s->store, made[i].obj);
  for (int i = 0; ok && i < m; i++) {
    Value *to = &s->regs[list[site->source_count + i]];
    const Type *type = site->out_types[i];
    bool bits = type_is_scalar(type) && !type_is_float_scalar(type);
    *to = bits ? tensor_bits_at(outs[i].tensor, 0) : outs[i];
    if (bits) tensor_drop(&s->store.heap, outs[i].tensor);
  }
  for (unsigned taken = ok ? pc->a : 0; taken; taken &= taken - 1)
    obj_drop(&s->store, s->regs[list[__builtin_ctz(taken)]].obj);
  if (ok && mem_exhausted(s->mem)) mem_clear_exhausted(s->mem);
  arena_reset(&s->scratch);
  return ok;
}

/* --- Walks -------------------------------------------------------------- */

/* A value that is being copied: its fields so far stand in `made` from `first`
 * on. */
typedef struct Copying {
  const Type *type;
  Cell *from;
  int count, done;
  size_t first;
} Copying;

/* A copy, and whether it is an object. */
typedef struct Made {
  Value v;
  bool counted;
} Made;

static bool is_leaf(const Type *t) {
  return t->kind != TY_TUPLE && t->kind != TY_ADT;
}

static bool copy_leaf(Walk *w, const Type *type, Value v, bool bits,
                      Value *out) {
  /* all others are the same in every representation */
  if (type_is_float(type) || w->all_leaves)
    return w->leaf(w, type, v, bits, out);
  if (type_is_counted(type)) obj_keep(v.obj);
  *out = v;
  return true;
}

/* The copy of a cell whose fields are copied; takes them. */
static bool finish(Session *s, const Copying *at, const Made *fields,
                   Value *out) {
  Cell *c = blank_cell(s, at->from->obj.tag, at->count);
  if (!c) return vm_out_of_memory(s);
  for (int i = 0; i < at->count; i++)
    if (fields[i].counted) set_field(c, i, fields[i].v);
    else cell_fields(c)[i] = fields[i].v;
  out->cell = c;
  return true;
}

typedef struct CopyWork {
  VEC(Copying) stack;
  VEC(Made) made;
} CopyWork;

static void enter_cell(CopyWork *work, const Type *type, Cell *from) {
  Copying at = {type, from, (int)cell_count(from), 0, work->made.len};
  VEC_PUSH(&work->stack, at);
}

/* One field, or the whole of a cell; false after a fault.  A type is not known
 * only where memory ran out. */
static bool copy_step(Walk *w, CopyWork *work) {
  Session *s = w->s;
  Copying *at = &VEC_LAST(&work->stack);
  Made made = {.counted = true};
  if (!VEC_RESERVE(&work->made, 1)) return vm_out_of_memory(s);
  if (at->done < at->count) {
    int i = at->done++;
    const Type *t = part_type(s, at->type, at->from, i);
    Value field = cell_fields(at->from)[i];
    bool raw = !cell_field_counted(at->from, (uint64_t)i);
    if (t->kind == TY_ERROR) return vm_out_of_memory(s);
    if (!is_leaf(t)) {
      enter_cell(work, t, field.cell);
      return true;
    }
    if (!copy_leaf(w, t, field, raw, &made.v)) return false;
    made.counted = type_is_object_in(t, w->dual);
  } else {
    if (at->count == 0) obj_keep(&at->from->obj), made.v.cell = at->from;
    else if (!finish(s, at, work->made.data + at->first, &made.v)) return false;
    work->made.len = at->first;
    work->stack.len--;
  }
  VEC_PUSH(&work->made, made);
  return true;
}

bool walk_copy(Walk *w, const Type *type, Value v, bool bits, Value *out) {
  Session *s = w->s;
  if (is_leaf(type)) return copy_leaf(w, type, v, bits, out);
  CopyWork work;
  VEC_INIT(&work.stack, s->mem);
  VEC_INIT(&work.made, s->mem);
  enter_cell(&work, type, v.cell);
  bool ok = true;
  while (ok && work.stack.len && !mem_exhausted(s->mem))
    ok = copy_step(w, &work);
  ok &= !mem_exhausted(s->mem) || vm_out_of_memory(s);
  if (ok) *out = work.made.data[0].v;
  for (size_t i = 0; !ok && i < work.made.len; i++)
    if (work.made.data[i].counted) obj_drop(&s->store, work.made.data[i].v.obj);
  VEC_DONE(&work.stack);
  VEC_DONE(&work.made);
  return ok;
}

/* --- Representations ---------------------------------------------------- */

/* The tensor, kept, where the walk makes scalars objects; else its bits. */
static bool give(Walk *w, const Type *type, Value v, Value *out) {
  bool bits = type_is_scalar(type) && !w->dual;
  if (!bits) obj_keep(v.obj);
  *out = bits ? tensor_bits_at(v.tensor, 0) : v;
  return true;
}

static bool box(Walk *w, const Type *type, Value v, Value *out) {
  out->tensor = tensor_from_bits(&w->s->store.heap, (DType)type->dtype, v);
  return out->tensor || vm_out_of_memory(w->s);
}

static bool give_kept(const Type *type, Value v, Value *out) {
  if (type_is_counted(type)) obj_keep(v.obj);
  *out = v;
  return true;
}

static bool leaf_plain(Walk *w, const Type *type, Value v, bool bits,
                       Value *out) {
  if (!type_is_float(type)) return give_kept(type, v, out);
  if (!bits) return give(w, type, (Value){.tensor = value_tensor(v)}, out);
  *out = v;
  return true;
}

static bool leaf_upto(Walk *w, const Type *type, Value v, bool bits,
                      Value *out) {
  if (bits) return box(w, type, v, out);
  return give(w, type, dual_upto(v, *(const int *)w->data), out);
}

/* Copies a value below the levels above `level`, scalars as objects. */
static bool copy_upto(Session *s, const Type *type, Value v, bool bits,
                      int level, Value *out) {
  Walk w = {.s = s, .leaf = leaf_upto, .dual = true, .data = &level};
  return walk_copy(&w, type, v, bits, out);
}

/* --- Inputs ------------------------------------------------------------- */

static bool leaf_input(Walk *w, const Type *type, Value v, bool bits,
                       Value *out) {
  Session *s = w->s;
  Value primal = v;
  if (!bits) obj_keep(v.obj);
  else if (!box(w, type, v, &primal)) return false;
  Cell *r = record_of_inputs(s, s->level, 1);
  bool ok = r && dual_new(s, primal, r, 0, out);
  if (r) obj_drop(&s->store, &r->obj);
  if (ok) return true;
  obj_drop(&s->store, primal.obj);
  return vm_out_of_memory(s);
}

/* --- Instructions ------------------------------------------------------- */

bool vm_box(Session *s, const Word *pc) {
  const Type *type = pc[1].data;
  Tensor *t =
      tensor_from_bits(&s->store.heap, (DType)type->dtype, s->regs[pc->b]);
  if (!t) return vm_out_of_memory(s);
  s->regs[pc->a].tensor = t;
  return true;
}

/* For a look at the value: what functions and cells in it hold is not asked. */
bool vm_plain(Session *s, const Word *pc) {
  Walk w = {.s = s, .leaf = leaf_plain, .all_leaves = true};
  return walk_copy(&w, pc[1].data, s->regs[pc->b], false, &s->regs[pc->a]);
}

/* What other code made may hold a scalar's bits. */
static bool as_object(Session *s, const Type *type, Value v, bool counted,
                      Value *out) {
  if (!counted && type->kind == TY_VAR)
    return dual_type_unknown(s, "scalar that it reads");
  if (counted) obj_keep(v.obj);
  else v.tensor = tensor_from_bits(&s->store.heap, (DType)type->dtype, v);
  *out = v;
  return v.obj || vm_out_of_memory(s);
}

bool vm_part(Session *s, const Word *pc) {
  Cell *c = s->regs[pc->b].cell;
  Value v = c->fields[pc->c];
  const Type *type = pc[1].data;
  uint64_t skip = (uint64_t)(cell_fields(c) - c->fields);
  bool counted = cell_field_counted(c, pc->c - skip);
  return as_object(s, type, v, counted, &s->regs[pc->a]);
}

/* The tag of a cell that differentiated code makes: its level, and 1. */
bool vm_dual_ref(Session *s, const Word *pc) {
  if (!vm_ref(s, pc)) return false;
  s->regs[pc->a].obj->tag = (uint16_t)(s->level + 1);
  return true;
}

bool vm_dual_read(Session *s, const Word *pc) {
  const RefCell *r = (const RefCell *)s->regs[pc->b].obj;
  const Type *type = pc[1].data;
  bool counted = r->obj.mask & REF_COUNTED;
  return as_object(s, type, r->content, counted, &s->regs[pc->a]);
}

/* For a cell that was made below the level.  Whether a scalar is bits in one
 * from outside, its header says. */
static bool content_below(Session *s, const RefCell *r, const Type *type,
                          bool known, Value v, Value *out) {
  if (r->obj.tag > 0) return dual_freeze(s, v, r->obj.tag - 1, out);
  if (r->obj.mask & REF_COUNTED) return dual_give_out(s, type, known, v, out);
  *out = tensor_bits_at(value_tensor(v), 0);
  return true;
}

/* A cell from outside gets the value without derivatives; one of an outer run,
 * without those of the runs within, whose Duals end with them. */
bool vm_dual_write(Session *s, const Word *pc) {
  RefCell *r = (RefCell *)s->regs[pc->a].obj;
  Value old = r->content, v = s->regs[pc->b], down;
  if (r->obj.tag <= s->level) {
    if (!content_below(s, r, pc[1].data, pc->c, v, &down)) return false;
    obj_drop(&s->store, v.obj);
    v = down;
  }
  r->content = v;
  if (r->obj.mask & REF_COUNTED) obj_drop(&s->store, old.obj);
  return true;
}

Function *vm_dual_function(Session *s, const Cell *closure) {
  Function *f = closure_function(closure);
  if (env_is_dual(f->key.env)) return f;
  Function *dual = atomic_load(&f->dual);
  if (dual) return dual;
  pthread_mutex_lock(&s->code->lock);
  dual = code_dual(s->code, f);
  pthread_mutex_unlock(&s->code->lock);
  return dual;
}

bool level_begin(Session *s, bool forward) {
  static _Atomic uint64_t begun;
  if (s->level == LEVELS_MOST)
    return vm_fault(s, E0611,
                    "differentiation within differentiation is too "
                    "deep: %d levels",
                    LEVELS_MOST);
  s->runs[++s->level] = atomic_fetch_add(&begun, 2) | forward;
  return true;
}

bool vm_begin(Session *s, const Word *pc) {
  const Type *type = pc[1].data;
  const uint16_t *list = ins_list(pc);
  bool dual = pc->c & RUN_DUAL, forward = pc->c & RUN_FORWARD;
  bool outermost = s->level == 0;
  if (!level_begin(s, forward)) return false;
  if (outermost && !forward) checkpoint_begin(s, type_is_object(type->result));
  Cell *tape = blank_cell(s, TAG_TAPE, TAPE_INPUTS + type->count);
  if (!tape) return vm_out_of_memory(s);
  cell_fields(tape)[TAPE_RUN] = tape_of_run(s->runs[s->level], s->level, dual);
  Walk w = {.s = s, .leaf = leaf_input, .dual = true};
  for (int i = 0; i < type->count; i++) {
    const Type *t = type->args[i];
    bool bits = !type_is_object_in(t, dual);
    Value v;
    if (!walk_copy(&w, t, s->regs[list[i]], bits, &v)) {
      obj_drop(&s->store, &tape->obj);
      return false;
    }
    if (type_is_object(t)) set_field(tape, TAPE_INPUTS + i, v);
    else cell_fields(tape)[TAPE_INPUTS + i] = v;
  }
  for (int i = 0; i < type->count; i++)
    if (type_is_object_in(type->args[i], dual))
      obj_drop(&s->store, s->regs[list[i]].obj);
  s->regs[pc->a].cell = tape;
  return true;
}

/* The value without the level that ends here; the tape keeps it with. */
bool vm_end(Session *s, const Word *pc) {
  const Type *result = ((const Type *)pc[1].data)->result;
  Cell *tape = s->regs[pc->b].cell;
  Value v = s->regs[pc->c];
  bool dual = tape_is_dual(tape);
  s->level = tape_level(tape) - 1;
  if (s->level == 0 && level_is_forward(s, 1)) {
    checkpoint_forget(s);
  } else if (s->level == 0) {
    session_note_tape(s);
    checkpoint_end(s);
  }
  if (!type_is_object(result)) {
    cell_fields(tape)[TAPE_VALUE] = s->regs[pc->a] = v;
    return true;
  }
  obj_keep(v.obj);
  set_field(tape, TAPE_VALUE, v);
  Value *out = &s->regs[pc->a];
  return dual ? dual_freeze(s, v, s->level, out)
              : dual_give_out(s, result, true, v, out);
}

/* --- Rules of one's own ------------------------------------------------- */

/* Which levels the leaves of a value are of, and how many leaves it has. */
typedef struct Leaves {
  bool *of;
  uint64_t count;
  Cell *record; /* whose results the leaves become */
  int level;    /* of the record */
  bool forward; /* the record is one of tangents */
  Cell *values; /* gets the leaves, if it is given */
} Leaves;

static bool leaf_level(Walk *w, const Type *type, Value v, bool bits,
                       Value *out) {
  Leaves *leaves = w->data;
  Value at = bits ? v : dual_active(w->s, v);
  for (; !bits && is_dual(at); at = dual_primal(at))
    leaves->of[dual_level(at)] = true;
  leaves->count++;
  if (bits) return box(w, type, v, out);
  return give(w, type, v, out);
}

/* What the function captured counts as a constant, so what depends on it at
 * this level ends here. */
static bool leaf_result(Walk *w, const Type *type, Value v, bool bits,
                        Value *out) {
  Leaves *leaves = w->data;
  Value primal = bits ? v : dual_upto(v, leaves->level - 1);
  int i = (int)leaves->count++;
  if (!bits) obj_keep(primal.obj);
  else if (!box(w, type, v, &primal)) return false;
  *out = primal;
  if (leaves->forward && !forward_varies(leaves->record, i)) return true;
  if (dual_new(w->s, primal, leaves->record, i, out)) return true;
  obj_drop(&w->s->store, primal.obj);
  return vm_out_of_memory(w->s);
}

static bool leaf_value(Walk *w, const Type *type, Value v, bool bits,
                       Value *out) {
  Leaves *leaves = w->data;
  if (!(bits ? box(w, type, v, out) : give(w, type, v, out))) return false;
  obj_keep(out->obj);
  set_field(leaves->values, (int)leaves->count++, *out);
  return true;
}

/* Goes over the leaves of a value. */
static bool look(Session *s, const Type *type, Value v, Leaves *leaves) {
  Walk w = {.s = s,
            .leaf = leaves->values ? leaf_value : leaf_level,
            .dual = true,
            .data = leaves};
  Value copy;
  if (!walk_copy(&w, type, v, !type_is_object(type), &copy)) return false;
  if (type_is_object(type)) obj_drop(&s->store, copy.obj);
  return true;
}

/* The record of the tangents of the value y, from the record that was made for
 * y, which it takes.  NULL after a fault. */
static Cell *forward_custom(Session *s, const Type *type, uint64_t outs,
                            Value y, Cell *record) {
  Leaves leaves = {.values = blank_cell(s, 0, (int)outs)};
  if (leaves.values && look(s, type, y, &leaves)) {
    record =
        forward_step(s, record, 0, NULL, (int)outs, cell_fields(leaves.values));
  } else {
    if (!leaves.values) vm_out_of_memory(s);
    obj_drop(&s->store, &record->obj);
    record = NULL;
  }
  if (leaves.values) obj_drop(&s->store, &leaves.values->obj);
  return record;
}

/* *y, which is owned, becomes results of a record of this level. */
static bool record_custom(Session *s, const Type *type, const uint16_t *list,
                          int level, uint64_t outs, Value *y) {
  int n = type->count;
  bool blank = checkpoint_blanks(s, level);
  Cell *r = blank ? blank_next(s, level, (int)outs)
                  : record_new(s, NULL, level, n + 2, (int)outs);
  if (!r) return vm_out_of_memory(s);
  if (!blank) cell_fields(r)[RECORD_RULE].bits = (uint64_t)(uintptr_t)type;
  bool ok = checkpoint_made(s, r);
  for (int i = 0; ok && !blank && i < n + 2; i++) {
    Value v = i <= n ? s->regs[list[i]] : *y;
    const Type *t = i == 0 ? NULL : i <= n ? type->args[i - 1] : type->result;
    if (t && !type_is_object(t)) {
      cell_fields(r)[RECORD_ARGS + i] = v;
      continue;
    }
    if (t) ok = copy_upto(s, t, v, false, level, &v);
    else obj_keep(v.obj);
    if (ok) set_field(r, RECORD_ARGS + i, v);
  }
  bool forward = level_is_forward(s, level);
  if (ok && forward) r = forward_custom(s, type->result, outs, *y, r);
  if (!r) return false;
  Leaves leaves = {.record = r, .level = level, .forward = forward};
  Walk w = {.s = s, .leaf = leaf_result, .dual = true, .data = &leaves};
  Value made;
  ok = ok && walk_copy(&w, type->result, *y, false, &made);
  obj_drop(&s->store, &r->obj);
  if (!ok) return false;
  obj_drop(&s->store, y->obj);
  *y = made;
  return true;
}

/* The innermost level comes last, so that each level finds the value as those
 * outside of it see it. */
bool vm_custom(Session *s, const Word *pc) {
  const Type *type = pc[1].data;
  const uint16_t *list = ins_list(pc);
  int n = type->count;
  bool of[LEVELS_MOST + 1];
  memset(of, 0, sizeof of);
  Leaves leaves = {.of = of};
  for (int i = 0; i < n; i++)
    if (!look(s, type->args[i], s->regs[list[i + 1]], &leaves)) return false;
  leaves.count = 0;
  Value y = s->regs[list[n + 1]];
  if (!look(s, type->result, y, &leaves)) return false;
  obj_keep(y.obj);
  bool ok = true;
  for (int level = 1; ok && level <= s->level; level++)
    if (of[level]) ok = record_custom(s, type, list, level, leaves.count, &y);
  if (ok) s->regs[pc->a] = y;
  else obj_drop(&s->store, y.obj);
  return ok;
}
