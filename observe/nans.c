/* Finds the first NaN: stops a run at the operator that makes a NaN from
 * operands without one, and reports the element and the operands it was
 * computed from.
 *
 *   `divide` makes a NaN at [0, 2] from 0f, 0f
 *
 * A NaN that an operand already held is not reported again: the first is the
 * one to look for.  To tell, operands are examined before the operator runs and
 * results afterwards, which costs a pass over each; so it is done only where
 * the session was asked to.
 *
 * The code was made with runs that may end at any instruction
 * (code_stop_at_nans), as a fault is raised here after instructions that
 * cannot fail otherwise. */
#include <string.h>

#include "observe/observer.h"
#include "tensor/facts.h"

/* --- The message -------------------------------------------------------- */

/* The indices of element `i` of a tensor of this shape.  Row-major: the last
 * index moves fastest. */
static void indices_of(const Tensor *t, int64_t i, int64_t *at) {
  for (int d = t->rank; d-- > 0;) {
    at[d] = i % t->shape[d];
    i /= t->shape[d];
  }
}

/* The element of an operand, broadcast to `out`, at these indices.  Aligned at
 * the last axis; an axis of length 1 has one element for all. */
static Value element_for(const Tensor *t, const Tensor *out,
                         const int64_t *at) {
  int64_t offset = 0;
  for (int d = 0; d < t->rank; d++) {
    int64_t i = at[out->rank - t->rank + d];
    offset += (t->shape[d] == 1 ? 0 : i) * t->strides[d];
  }
  return bits_load((DType)t->dtype,
                   t->data + offset * (int64_t)dtype_size((DType)t->dtype));
}

/* An operand that does not broadcast is shown by its type. */
static bool broadcasts(const Tensor *t, const Tensor *out) {
  if (t->rank > out->rank) return false;
  for (int d = 0; d < t->rank; d++) {
    int64_t extent = out->shape[out->rank - t->rank + d];
    if (t->shape[d] != 1 && t->shape[d] != extent) return false;
  }
  return true;
}

static void add_operand(StrBuf *text, const Tensor *t, const Tensor *out,
                        const int64_t *at, bool element) {
  if (element && broadcasts(t, out))
    scalar_print_literal(text, (DType)t->dtype, element_for(t, out, at));
  else tensor_print_type(text, t);
}

/* Reports "`name` gives a NaN [at [i, j]] from x, y".  Only of an element-wise
 * operator is it known which elements made the NaN. */
static bool stop_at(Session *s, const OpWatch *w, const char *name,
                    bool elementwise, const Tensor *out, int64_t i) {
  StrBuf text;
  int64_t at[RANK_MAX];
  strbuf_init(&text, s->mem);
  indices_of(out, i, at);
  if (out->rank > 0) strbuf_add(&text, " at [");
  for (int d = 0; d < out->rank; d++)
    strbuf_addf(&text, "%s%lld", d ? ", " : "", (long long)at[d]);
  if (out->rank > 0) strbuf_add_char(&text, ']');
  for (int k = 0; k < w->count; k++) {
    strbuf_add(&text, k ? ", " : " from ");
    add_operand(&text, &w->args[k], out, at, elementwise);
  }
  s->pc = w->pc;
  vm_fault(s, E0608, "`%s` makes a NaN%s", name, strbuf_text(&text));
  strbuf_done(&text);
  return false;
}

/* --- Operators ---------------------------------------------------------- */

/* A scalar result is looked at where it lies in its register. */
bool nans_check(Session *s, const OpWatch *w, const OpShape *shape) {
  for (int i = 0; i < shape->out_count; i++) {
    const Value *v = &s->regs[shape->list[shape->source_count + i]];
    const Type *type = shape->out_types[i];
    Tensor out = type_is_scalar(type) ? tensor_on_bits((DType)type->dtype, v)
                                      : *v->tensor;
    int64_t at = tensor_first_nan(&out);
    if (at < 0) continue;
    bool elementwise = shape->site && op_is_elementwise(shape->site->op);
    return stop_at(s, w, shape->name, elementwise, &out, at);
  }
  return true;
}

/* The operands are copied as headers, the form that stop_at() shows. */
bool nans_applied(Session *s, const OpCall *call) {
  for (int i = 0; i < call->out_count; i++) {
    int64_t at = tensor_first_nan(call->outs[i]);
    if (at < 0) continue;
    OpWatch w = {.pc = s->pc, .count = call->arg_count, .clean = true};
    w.args = ARENA_ARRAY(call->arena, Tensor, (size_t)w.count + 1);
    for (int k = 0; w.args && k < w.count; k++) {
      w.args[k] = *call->args[k];
      w.clean &= tensor_first_nan(&w.args[k]) < 0;
    }
    if (!w.args || !w.clean) return true;
    return stop_at(s, &w, call->op->name, op_is_elementwise(call->op),
                   call->outs[i], at);
  }
  return true;
}

/* --- Instructions on scalars -------------------------------------------- */

/* The name of an instruction on scalars, and the dtypes of its result and
 * operands; NULL if it is another instruction.  Comparisons that jump set no
 * register and are none. */
static const char *scalar_name(const Word *pc, DType *types) {
  const InsInfo *row = &ins_info[pc->op];
  const Word *word = ins_word(pc, 'S');
  if (word) {
    const ScalarSite *site = word->data;
    memcpy(types, site->types, sizeof site->types);
    return site->op->name;
  }
  if (!row->scalar || !(operand_role(row->operands[0]) & SETS)) return NULL;
  types[0] = row->result;
  for (int i = 1; i < 4; i++) types[i] = row->dtype;
  return op_info((OpId)row->op)->name;
}

/* The operands of the instruction that are registers.  At most three. */
static int operand_regs(const Word *pc, uint16_t regs[3]) {
  int n = 0;
  for (OperandWalk o = word_operands(pc); operand_next(&o);)
    if (o.role & READS) regs[n++] = (uint16_t)o.now.reg;
  return n;
}

/* The values are copied, for the result may be in a register of an operand. */
bool nans_scalar_begin(Session *s, const Word *pc, OpWatch *w) {
  DType types[4];
  Arena *arena = &watch_of(s)->scratch;
  if (!scalar_name(pc, types) || !dtype_is_float(types[0])) return false;
  arena_reset(arena);
  uint16_t regs[3];
  *w = (OpWatch){.count = operand_regs(pc, regs), .clean = true};
  w->kept = ARENA_ARRAY(arena, Value, 3);
  w->args = ARENA_ARRAY(arena, Tensor, 3);
  if (!w->kept || !w->args) return false;
  for (int i = 0; i < w->count; i++) {
    w->kept[i] = s->regs[regs[i]];
    w->args[i] = tensor_on_bits(types[1 + i], &w->kept[i]);
    w->clean &= tensor_first_nan(&w->args[i]) < 0;
  }
  w->pc = pc;
  return true;
}

bool nans_scalar_check(Session *s, const OpWatch *w) {
  DType types[4];
  const char *name = scalar_name(w->pc, types);
  Value result = s->regs[w->pc->a];
  Tensor out = tensor_on_bits(types[0], &result);
  if (!w->clean || tensor_first_nan(&out) < 0) return true;
  return stop_at(s, w, name, true, &out, 0);
}
