/* Forward runs, of jvp: an operator's results get their tangents at once, and
 * nothing is kept for a sweep.
 *
 * A linear operator gives them itself (OpInfo.linear).  For the others there
 * are no rules but those of the sweep, J' g, which are linear in the adjoint g.
 * So J t is the derivative of t . J' g with respect to g, which a sweep of the
 * rule's own operators gives:
 *
 *   back    sweeps the operator's record from g, an input of a run of its own,
 *           by differentiated code, so that the operators of the rule have
 *           records
 *   along   sweeps those from the tangents t of the operands, to g
 *
 * The operator's record is then replaced by one that has no operands, like an
 * input's, and has the tangents in the place of results.  A result that does
 * not vary has no record.  A stretch that has a function of tangents has one
 * record for all of its operators.
 *
 * An operator without a derivative is no error until the value of the run
 * depends on it: its record stays what it is, and becomes the record of all
 * that depends on it. */
#include <string.h>

#include "vm/stretch.h"

/* --- Records ------------------------------------------------------------ */

static Value *tangent_of(Cell *record, uint64_t i) {
  return &cell_fields(record)[RECORD_ARGS + i];
}

bool forward_varies(Cell *record, int i) {
  return !record_is_input(record) || tangent_of(record, (uint64_t)i)->obj;
}

/* --- Operators whose tangents need no record ------------------------------ */

/* The tangent of an operand, if it varies at this level; else no object. */
static Value tangent_at(Value own, int level) {
  if (!is_dual(own) || dual_level(own) != level) return (Value){.bits = 0};
  return *tangent_of(dual_record(own), dual_index(own));
}

/* The record of an operator without a derivative on which an operand depends;
 * borrowed.  NULL: there is none. */
static Cell *without_derivative(int level, int n, const Value *own) {
  for (int i = 0; i < n; i++)
    if (is_dual(own[i]) && dual_level(own[i]) == level &&
        !record_is_input(dual_record(own[i])))
      return dual_record(own[i]);
  return NULL;
}

/* The matrix J of an element-wise operator is diagonal for each operand that
 * has the result's shape and dtype, and so is the same as J': the tangent is
 * what the rule gives for it, were it the result's adjoint. */
static bool is_diagonal(const OpSite *site, int level, int n, const Value *own,
                        Value out) {
  const Tensor *y = value_tensor(out);
  if (!op_is_elementwise(site->op)) return false;
  for (int i = 0; i < n; i++) {
    Value t = tangent_at(own[i], level);
    if (!t.obj) continue;
    const Tensor *x = value_tensor(t);
    if (x->dtype != y->dtype || !shapes_equal(x, y)) return false;
  }
  return true;
}

/* A record without tangents so far; NULL: memory ran out. */
static Cell *record_begun(Session *s, int level, int m) {
  Cell *r = record_of_inputs(s, level, m);
  if (!r) vm_out_of_memory(s);
  return r;
}

/* The record of these tangents, of which it takes those of floats, and drops
 * the others; NULL: memory ran out. */
static Cell *record_of_tangents(Session *s, int level, int m,
                                const Value *tangents) {
  Cell *r = record_begun(s, level, m);
  for (int i = 0; i < m; i++)
    if (r && dtype_is_float(value_tensor(tangents[i])->dtype))
      set_field(r, RECORD_ARGS + i, tangents[i]);
    else obj_drop(&s->store, tangents[i].obj);
  return r;
}

/* Does operand `i` of n, tuples flattened, hold an attribute?  Those come last.
 */
static bool holds_attribute(const OpSite *site, int n, int i) {
  return i >= n - attrs_operand_count(site->attrs);
}

/* op(x', y'), where operands that do not vary have zeros. */
static Cell *tangents_together(Session *s, const OpSite *site, OpLinear linear,
                               int level, int n, const Value *own,
                               const Value *under, int m) {
  Value *args = ARENA_ARRAY(&s->scratch, Value, (size_t)n + (size_t)m + 1);
  Value *outs = args + n;
  if (!args) return vm_out_of_memory(s), NULL;
  bool ok = true;
  int count = 0;
  for (; ok && count < n; count++) {
    const Tensor *x = value_tensor(under[count]);
    Value t = tangent_at(own[count], level);
    bool takes = op_linear_in(linear, count, dtype_is_float(x->dtype)) &&
                 !holds_attribute(site, n, count);
    args[count] = takes && t.obj ? t : under[count];
    if (takes && !t.obj)
      args[count].tensor =
          tensor_zeros(&s->store.heap, (DType)x->dtype, x->rank, x->shape);
    else obj_keep(args[count].obj);
    ok = args[count].obj || vm_out_of_memory(s);
  }
  ok = ok && dual_apply(s, site, n, args, 0, m, outs);
  while (count-- > 0)
    if (args[count].obj) obj_drop(&s->store, args[count].obj);
  return ok ? record_of_tangents(s, level, m, outs) : NULL;
}

/* The operator whose step this is still needs what it has in the scratch arena,
 * so other operators that run now get another arena. */
static Arena scratch_begin(Session *s) {
  Arena outer = s->scratch;
  arena_init(&s->scratch, s->mem);
  return outer;
}
static void scratch_end(Session *s, Arena outer) {
  arena_done(&s->scratch);
  s->scratch = outer;
}

/* Adds `part`, which it takes. */
static bool add_part(Session *s, Part *sum, Value part) {
  Arena outer = scratch_begin(s);
  bool ok = part_add(s, sum, part);
  scratch_end(s, outer);
  return ok;
}

/* op(x', y) + op(x, y') */
static Cell *tangents_of_each(Session *s, const OpSite *site, int level, int n,
                              const Value *own, const Value *under) {
  Value *args = ARENA_ARRAY(&s->scratch, Value, (size_t)n + 1);
  Part sum = {.form = SUM_ZERO};
  bool ok = args || vm_out_of_memory(s);
  for (int i = 0; ok && i < n; i++) {
    Value t = tangent_at(own[i], level), part;
    if (!t.obj) continue;
    memcpy(args, under, (size_t)n * sizeof *args);
    args[i] = t;
    ok = dual_apply(s, site, n, args, 0, 1, &part) && add_part(s, &sum, part);
  }
  if (ok && sum.form != SUM_ZERO)
    return record_of_tangents(s, level, 1, &sum.sum);
  part_clear(s, &sum);
  return ok ? record_begun(s, level, 1) : NULL;
}

/* Does an attribute vary?  No operator is linear in one. */
static bool attribute_varies(const OpSite *site, int level, int n,
                             const Value *own) {
  bool varies = false;
  for (int i = 0; attrs_have_operands(site->attrs) && i < n; i++)
    varies |= tangent_at(own[i], level).obj && holds_attribute(site, n, i);
  return varies;
}

bool forward_directly(Session *s, const OpSite *site, int level, int n,
                      const Value *own, const Value *under, int m,
                      Cell **made) {
  *made = without_derivative(level, n, own);
  if (*made) obj_keep(&(*made)->obj);
  if (*made) return true;
  OpLinear linear = op_linear(site->attrs);
  if (linear == LINEAR_NOT || attribute_varies(site, level, n, own))
    return false;
  *made = linear == LINEAR_EACH
              ? tangents_of_each(s, site, level, n, own, under)
              : tangents_together(s, site, linear, level, n, own, under, m);
  return true;
}

/* --- A step ------------------------------------------------------------- */

/* From inputs that stand for the adjoints of the results to the adjoints of the
 * operands. */
static bool sweep_back(Sweep *back, Cell *r, Cell *inputs, int m,
                       const Value *outs) {
  Session *s = back->s;
  Adjoint *a = adjoint_of(back, r);
  if (!a || mem_exhausted(s->mem)) return vm_out_of_memory(s);
  for (int i = 0; i < m; i++) {
    Value g;
    if (!dtype_is_float(value_tensor(outs[i])->dtype)) continue;
    if (!dual_new(s, outs[i], inputs, i, &g)) return vm_out_of_memory(s);
    obj_keep(outs[i].obj);
    a->of[i].form = SUM_OBJECT;
    a->of[i].sum = g;
  }
  return sweep_rest(back, false);
}

/* From the operands' tangents to those of the results. */
static bool sweep_along(Sweep *along, const Sweep *back) {
  for (size_t i = 0; i < back->inputs.len; i++) {
    const Adjoint *a = back->inputs.data[i];
    for (int k = 0; k < a->count; k++) {
      Value v = a->of[k].sum, t = *tangent_of(a->record, (uint64_t)k);
      if (a->of[k].form != SUM_OBJECT || !is_dual(v)) continue;
      if (dual_level(v) != along->level) continue;
      obj_keep(t.obj);
      if (!sweep_add(along, dual_record(v), dual_index(v), t,
                     (Value){.bits = 0}))
        return false;
    }
  }
  return sweep_rest(along, true);
}

/* The record of what the sweep has found for the inputs; NULL without memory.
 */
static Cell *tangents_found(Sweep *along, int level, Cell *inputs, int m) {
  Session *s = along->s;
  Adjoint *a = adjoint_known(along, inputs);
  Cell *r = record_begun(s, level, m);
  for (int i = 0; r && a && i < m; i++) {
    Part *part = &a->of[i];
    if (part->form == SUM_ZERO) continue;
    if (!part_box(s, part)) return obj_drop(&s->store, &r->obj), NULL;
    obj_keep(part->sum.obj);
    set_field(r, RECORD_ARGS + i, part->sum);
  }
  return r;
}

/* Adds up the products of J and the tangent, over the operands that vary. */
static bool add_diagonals(Sweep *w, Cell *r, Part *sum) {
  Session *s = w->s;
  Value *f = cell_fields(r);
  int n = (int)(f[RECORD_COUNTS].bits >> 32);
  for (int i = 0; i < n; i++) {
    Cell *operand = f[RECORD_ARGS + i].cell;
    if (!operand) continue;
    Value t = *tangent_of(operand, f[RECORD_ARGS + n + i].bits), given;
    obj_keep(t.obj);
    if (!sweep_operand(w, r, i, t, &given)) return false;
    if (given.obj && !part_add(s, sum, given)) return false;
  }
  return true;
}

/* A sweep of a run that is under way, from the running function. */
static Sweep sweep_here(Session *s, int level, bool dual, Value *window) {
  Sweep w = {.s = s,
             .level = level,
             .run = s->runs[level],
             .known = level - 1,
             .dual = dual,
             .pc = s->pc,
             .window = window};
  VEC_INIT(&w.heap, s->mem);
  VEC_INIT(&w.inputs, s->mem);
  return w;
}

static Cell *tangents_of_diagonal(Session *s, Cell *r, int level,
                                  Value *window) {
  Sweep w = sweep_here(s, level, level > 1, window);
  Part sum = {.form = SUM_ZERO};
  Cell *made = NULL;
  if (add_diagonals(&w, r, &sum)) made = record_begun(s, level, 1);
  if (made && sum.form == SUM_OBJECT) set_field(made, RECORD_ARGS, sum.sum);
  else part_clear(s, &sum);
  sweep_done(&w);
  return made;
}

/* The record of the tangents, from the operator's record at this level.  The
 * tangents vary with the outer runs alone. */
static Cell *tangents_of(Session *s, Cell *r, int level, int m,
                         const Value *outs, Value *window) {
  if (!level_begin(s, false)) return NULL;
  Cell *inputs = record_of_inputs(s, s->level, m), *made = NULL;
  Sweep back = sweep_here(s, level, true, window);
  Sweep along = sweep_here(s, s->level, level > 1, window);
  bool ok = inputs || vm_out_of_memory(s);
  ok = ok && sweep_back(&back, r, inputs, m, outs);
  if (ok) s->level--;
  if (ok && sweep_along(&along, &back))
    made = tangents_found(&along, level, inputs, m);
  sweep_done(&back);
  sweep_done(&along);
  if (inputs) obj_drop(&s->store, &inputs->obj);
  return made;
}

/* Room for the arguments of rules above what the running function has: in its
 * segment of the stack or, as *entered says, in one that is entered for it.
 * NULL: memory ran out. */
static Value *window_above(Session *s, bool *entered) {
  enum { ROOM = RULE_ARGS_MOST + 4 };
  const Function *f = code_place(s->code, s->pc).function;
  Value *window = s->regs + atomic_load(&f->nregs);
  *entered = window + ROOM >= s->stack_end;
  if (*entered && !session_enter_segment(s, 2 * ROOM, 0, &window)) {
    vm_out_of_memory(s);
    return NULL;
  }
  return window;
}

Cell *forward_step(Session *s, Cell *r, int n, const Value *own, int m,
                   const Value *outs) {
  const OpSite *site =
      (const OpSite *)(uintptr_t)cell_fields(r)[RECORD_SITE].bits;
  Cell *made = NULL;
  if (site && !sweep_can(r)) return r;
  bool entered;
  Value *window = window_above(s, &entered);
  if (window) {
    Arena outer = scratch_begin(s);
    stretch_loop_ends(s);
    int level = record_level(r);
    made = site && is_diagonal(site, level, n, own, outs[0])
               ? tangents_of_diagonal(s, r, level, window)
               : tangents_of(s, r, level, m, outs, window);
    stretch_loop_ends(s);
    scratch_end(s, outer);
    if (made && entered) {
      session_leave_segment(s);
      s->frame_top--;
    }
  }
  obj_drop(&s->store, &r->obj);
  return made;
}

/* --- Stretches ------------------------------------------------------------
 * Where the tangents of a stretch are a function of their own
 * (types/stretch.h), its operators run as in other code, and then that
 * function.  The record of the stretch has the tangents of the inputs in
 * between. */

static const StretchForward *forward_of(Session *s, StretchSite *site,
                                        uint32_t varies) {
  for (const StretchForward *f = atomic_load(&site->forwards); f; f = f->next)
    if (f->varies == varies) return f;
  Program *p = s->code->program;
  p->hold_shared(p, true);
  pthread_mutex_lock(&s->code->lock);
  const StretchForward *f = stretch_forward(s->code, site, varies);
  pthread_mutex_unlock(&s->code->lock);
  p->hold_shared(p, false);
  return f;
}

bool forward_stretch_fits(Session *s, StretchSite *site, uint32_t varies) {
  if (!varies) return false;
  const StretchForward *f = forward_of(s, site, varies);
  return !f || f->plain;
}

Cell *forward_stretch_in(Session *s, StretchSite *site, const uint16_t *list,
                         int level) {
  int n = site->input_count, m = site->stretch->out_count;
  Cell *r = record_of_inputs(s, level, n > m ? n : m);
  uint32_t varies = 0;
  for (int i = 0; r && i < n; i++) {
    Value v = dual_active(s, s->regs[list[i]]);
    if (!is_dual(v)) continue;
    Value t = *tangent_of(dual_record(v), dual_index(v));
    if (!t.obj) continue;
    varies |= (uint32_t)1 << i;
    obj_keep(t.obj);
    set_field(r, RECORD_ARGS + i, t);
  }
  const StretchForward *f = r ? forward_of(s, site, varies) : NULL;
  if (f && f->plain) return r;
  if (r) obj_drop(&s->store, &r->obj);
  return NULL;
}

/* What the function takes, of which the tangents leave the record. */
static void put_inputs(Sweep *w, const StretchSite *site, const uint16_t *list,
                       const StretchForward *f, Cell *r) {
  Value *to = w->window;
  for (int i = 0; i < site->saved_count; i++) {
    if (!f->tangents.reads[site->saved[i]]) continue;
    *to = w->s->regs[list[i]];
    if (saved_is_counted(site, i)) obj_keep(to->obj);
    to++;
  }
  for (int i = 0; i < site->input_count; i++) {
    if (!(f->varies >> i & 1)) continue;
    Value t = *tangent_of(r, (uint64_t)i);
    clear_field(r, RECORD_ARGS + i);
    *to++ = sweep_argument(w, site->stretch->types[i], t);
  }
}

/* What it gives, into the record; false without memory. */
static bool take_tangents(Session *s, const Stretch *stretch,
                          const StretchForward *f, Cell *r) {
  bool ok = true;
  Given given;
  given_start(s, f->plain, &given);
  for (int k = 0; ok && k < stretch->out_count; k++) {
    if (!(f->tangents.outs >> k & 1)) continue;
    const Type *type = stretch->types[stretch->outs[k]];
    Value t = given_next(&given);
    if (type_is_scalar(type))
      t.tensor = tensor_from_bits(&s->store.heap, (DType)type->dtype, t);
    ok = t.obj;
    if (ok) set_field(r, RECORD_ARGS + k, t);
  }
  given_done(s, &given);
  return ok || vm_out_of_memory(s);
}

bool forward_stretch_out(Session *s, StretchSite *site, const uint16_t *list,
                         Cell *record) {
  uint32_t varies = 0;
  for (int i = 0; i < site->input_count; i++)
    if (tangent_of(record, (uint64_t)i)->obj) varies |= (uint32_t)1 << i;
  const StretchForward *f = forward_of(s, site, varies);
  bool entered;
  Value *window = window_above(s, &entered);
  if (!window) return false;
  Sweep w = sweep_here(s, record_level(record), false, window);
  put_inputs(&w, site, list, f, record);
  if (!sweep_invoke(&w, f->plain, window)) return false;
  bool ok = take_tangents(s, site->stretch, f, record);
  sweep_done(&w);
  if (ok && entered) {
    session_leave_segment(s);
    s->frame_top--;
  }
  return ok;
}

/* --- The ends of a run --------------------------------------------------- */

bool vm_along(Session *s, const Word *pc) {
  const Type *type = pc[1].data;
  Cell *tape = s->regs[pc->a].cell, *tangents = s->regs[pc->b].cell;
  Sweep w = {.s = s, .level = tape_level(tape), .forward = true};
  bool ok = true;
  for (int i = 0; ok && i < type->count; i++) {
    const Type *t = type->args[i];
    int at = TAPE_INPUTS + i;
    if (t->kind == TY_FN || t->kind == TY_REF) continue;
    ok =
        sweep_seed(&w, (Seeded){"the tangent of an input", t,
                                cell_fields(tape)[at], cell_fields(tangents)[i],
                                !cell_field_counted(tape, (uint64_t)at),
                                !cell_field_counted(tangents, (uint64_t)i)});
  }
  return ok;
}

bool forward_tangent(Session *s, Value v, Value *t) {
  Cell *r = dual_record(v);
  if (!record_is_input(r)) return sweep_refuses(s, r);
  *t = *tangent_of(r, dual_index(v));
  return true;
}

bool vm_tangent(Session *s, const Word *pc) {
  const Type *result = ((const Type *)pc[1].data)->result;
  Cell *tape = s->regs[pc->b].cell;
  Value *to = &s->regs[pc->a];
  if (result->kind == TY_FN || result->kind == TY_REF) {
    to->cell = store_nullary(&s->store, 0);
    return true;
  }
  Sweep w = {.s = s, .level = tape_level(tape), .forward = true};
  Walk walk = {.s = s,
               .leaf = sweep_leaf,
               .dual = tape_is_dual(tape),
               .all_leaves = true,
               .data = &w};
  return walk_copy(&walk, result, cell_fields(tape)[TAPE_VALUE],
                   !type_is_object(result), to);
}
