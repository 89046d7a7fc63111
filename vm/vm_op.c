/* Operators: operands from registers, the kernel, results to registers.
 *
 *   gather          registers -> tensors; scalars are viewed where they lie
 *   op_plan_find    what is remembered of such operands (vm/op_plan.h)
 *   op_infer        else the rule: the type of the result
 *   op_finish       allocates results, runs the kernel (kernels/call.h)
 *   store_results   tensors -> registers; a scalar's bits are taken out
 *   drop_taken      operands that end here
 *
 * A scalar in a register has no tensor: its operand is a header on the C stack
 * whose data points at the register.  Such headers are immortal: keeping and
 * dropping them counts nothing.
 *
 * Operands that end with the instruction are told to the kernel
 * (OpCall.ending), which may write its result over them.  They are dropped only
 * after it has succeeded: when it fails they are still live, and vm_unwind()
 * drops them. */
#include <string.h>

#include "kernels/drive/elementwise.h"
#include "vm/op_plan.h"
#include "vm/vm.h"

/* --- Operands ----------------------------------------------------------- */

enum { NEAR = 8 }; /* operands and results that need no other room */

typedef struct Operands {
  const Tensor **args;
  Tensor *headers; /* of scalars and views */
  int count;
  uint32_t ending; /* those that end with the call (OpCall) */
  const Tensor *near_args[NEAR];
  Tensor near_headers[NEAR];
} Operands;

/* The arrays for up to NEAR operands are part of the struct, on the C stack;
 * more come from the scratch arena, which the call resets at its end. */
static bool operands_init(Session *s, const OpSite *site, Operands *o) {
  o->count = 0;
  o->ending = 0;
  o->args = o->near_args;
  o->headers = o->near_headers;
  if (site->arg_count <= NEAR) return true;
  o->args = ARENA_ARRAY(&s->scratch, const Tensor *, (size_t)site->arg_count);
  o->headers = ARENA_ARRAY(&s->scratch, Tensor, (size_t)site->arg_count);
  return o->args && o->headers;
}

/* Of a header on the C stack; its shape is set as far as its rank goes. */
static Tensor *set_header(Operands *o, DType dtype, Buffer *buffer,
                          char *data) {
  Tensor *t = &o->headers[o->count];
  t->obj = (Obj){.count = COUNT_IMMORTAL, .size = SIZE_TENSOR};
  t->dtype = (uint8_t)dtype;
  t->rank = 0;
  t->buffer = buffer;
  t->data = data;
  return t;
}

static void add_operand(Operands *o, const Type *type, const Value *v) {
  o->args[o->count] = type_is_scalar(type)
                          ? set_header(o, (DType)type->dtype, NULL, (char *)v)
                          : v->tensor;
  o->count++;
}

static void set_axis(Tensor *t, int64_t n, int64_t stride) {
  t->shape[t->rank] = n;
  t->strides[t->rank++] = stride;
}

/* Adds an operand of zeros in the shape of its source. */
static void add_zeros(Operands *o, const Tensor *like) {
  static const Value zero; /* of any dtype */
  Tensor *t = set_header(o, (DType)like->dtype, NULL, (char *)&zero);
  for (int i = 0; i < like->rank; i++) set_axis(t, like->shape[i], 0);
  o->args[o->count++] = t;
}

/* Adds an operand that is its source with more axes, of length 1.  An axis of
 * length 1 may have any stride; 1 is written.  Shapes and strides of the
 * source's own axes are copied around it:
 *
 *   source (3, 4), axis 1, count 1  ->  view (3, 1, 4) */
static void add_view(Operands *o, const OpSource *source, const Value *v) {
  SourceView view = source->view;
  const Tensor *from = source->kind == FROM_BITS ? NULL : v->tensor;
  Tensor *t = from ? set_header(o, (DType)from->dtype, from->buffer, from->data)
                   : set_header(o, source->dtype, NULL, (char *)v);
  for (int i = 0; i < view.rank; i++) {
    int own = i < view.axis ? i : i - view.count;
    if (i >= view.axis && i < view.axis + view.count) set_axis(t, 1, 1);
    else set_axis(t, from->shape[own], from->strides[own]);
  }
  o->args[o->count++] = t;
}

static void add_fields(Operands *o, const Type *type, const Value *v) {
  const Value *fields = cell_fields(v->cell);
  for (int k = 0; k < type->count; k++)
    add_operand(o, type->args[k], &fields[k]);
}

static void add_source(Operands *o, const OpSource *source, const Value *v) {
  if (source->kind == FROM_TUPLE) add_fields(o, source->type, v);
  else if (source->view.zeros) add_zeros(o, v->tensor);
  else if (source->view.rank > 0) add_view(o, source, v);
  else add_operand(o, source->type, v);
}

/* `taken` has a bit for each source that the instruction drops.  Operand a has
 * sixteen bits, so only the first sixteen sources can be taken; OpCall.ending
 * has thirty-two, by operand. */
static void gather(const Session *s, const OpSite *site, const uint16_t *list,
                   unsigned taken, Operands *o) {
  for (int i = 0; i < site->source_count; i++, taken >>= 1) {
    const Value *v = &s->regs[list[i]];
    const OpSource *source = &site->sources[i];
    if (source->kind != FROM_TENSOR || source->view.rank > 0) {
      add_source(o, source, v);
      continue;
    }
    if (o->count < 32) o->ending |= (taken & 1) << o->count;
    o->args[o->count++] = v->tensor;
  }
}

/* --- Tensor operators --------------------------------------------------- */

OpCall vm_op_call(Session *s, const OpSite *site, int n, const Tensor **args) {
  return (OpCall){.op = site ? site->op : NULL,
                  .attrs = site ? site->attrs : NULL,
                  .arg_count = n,
                  .args = args,
                  .heap = &s->store.heap,
                  .arena = &s->scratch,
                  .stop = &s->store.stop,
                  .threads = s->limits.threads,
                  .contention = &s->contention,
                  .hosts = s->code->program->hosts};
}

static bool raise_fault(Session *s, const OpSite *site, const OpFault *fault) {
  if (!fault->message)
    return atomic_load(&s->store.stop) ? vm_stopped(s) : vm_out_of_memory(s);
  bool of_attr = fault->attr && site->places;
  vm_fault_at(s, of_attr ? site->places[fault->attr - 1] : site->span,
              fault->code, "%s", fault->message);
  if (fault->hint) diag_hint(s->fault, "%s", fault->hint);
  return false;
}

/* What a host computes has no place in a text: it is told of the call, which
 * unwinding comes to. */
bool vm_op_failed(Session *s, const OpSite *site, const OpCall *call) {
  raise_fault(s, site, &call->fault);
  bool host =
      call->op == op_info(OP_HOST) || call->op == op_info(OP_HOST_EFFECT);
  if (host) s->fault->span = SPAN_NONE;
  return false;
}

/* Is the result of the type that the code was made for?  Dimensions are `?` or
 * names on either side where only one of them is known. */
static bool has_type(const RuleType *t, const Type *expected) {
  if (t->dtype != expected->dtype) return false;
  if (expected->any_rank) return true;
  if (t->rank != expected->rank) return false;
  for (int i = 0; i < t->rank; i++)
    if (dim_is_number(t->dims[i]) && dim_is_number(expected->dims[i]) &&
        !dim_same(t->dims[i], expected->dims[i]))
      return false;
  return true;
}

/* The code was made for a fixed number of results; that the rule answers so
 * with the actual shapes is checked here.  So are the results' types where the
 * checker has not seen the value of an attribute or the rank of an operand. */
static bool gives_expected(Session *s, const OpSite *site,
                           const RuleType *result) {
  const RuleType *types = result->kind == RT_TUPLE ? result->fields : result;
  int count = result->kind == RT_TUPLE ? result->count : 1;
  if (count != site->out_count)
    return vm_fault(s, E0607, "`%s` gave %d results where %d were expected",
                    site->op->name, count, site->out_count);
  for (int i = 0; site->open && i < count; i++) {
    const Type *expected = site->out_types[i];
    if (has_type(&types[i], expected)) continue;
    if (types[i].rank != expected->rank)
      return vm_fault(s, E0603,
                      "`%s` gives a result of rank %d here, and the program "
                      "was checked for rank %d",
                      site->op->name, types[i].rank, expected->rank);
    return vm_fault(s, E0603,
                    "`%s` gives a result of other dimensions here than the "
                    "program was checked for",
                    site->op->name);
  }
  return true;
}

static void store_results(Session *s, const OpSite *site, const OpCall *call,
                          const uint16_t *list) {
  for (int i = 0; i < site->out_count; i++) {
    Value *to = &s->regs[list[site->source_count + i]];
    Tensor *t = call->outs[i];
    if (type_is_scalar(site->out_types[i])) {
      *to = tensor_bits_at(t, 0);
      tensor_drop(&s->store.heap, t);
    } else {
      to->tensor = t;
    }
  }
}

static void drop_taken(Session *s, const uint16_t *list, unsigned taken) {
  for (; taken; taken &= taken - 1)
    obj_drop(&s->store, s->regs[list[__builtin_ctz(taken)]].obj);
}

/* As vm_op_call(), field by field: what a compiler makes of one that clears it
 * costs as much as all the rest here. */
static void set_call(Session *s, const OpSite *site, const Operands *o,
                     OpCall *call) {
  call->op = site->op;
  call->attrs = site->attrs;
  call->arg_count = o->count;
  call->args = o->args;
  call->ending = o->ending;
  call->out_count = 0;
  call->outs = NULL;
  call->result = NULL;
  call->heap = &s->store.heap;
  call->arena = &s->scratch;
  call->stop = &s->store.stop;
  call->threads = s->limits.threads;
  call->contention = &s->contention;
  call->hosts = s->code->program->hosts;
  call->fault.message = NULL;
}

/* Asks the rule, for these operands. */
static bool infer(Session *s, const OpSite *site, OpCall *call) {
  if (!op_infer(call)) return vm_op_failed(s, site, call);
  return gives_expected(s, site, call->result);
}

/* Makes call.outs, or takes the result that the plan keeps. */
static bool run(Session *s, const OpSite *site, const Operands *o,
                OpCall *call) {
  OpPlan *plan = op_plan_find(&s->plans, site, o->args);
  if (plan && plan->plan.kept &&
      (call->outs[0] = op_plan_result(&s->plans, plan, site, o->args)))
    return true;
  if (plan) {
    call->result = &plan->result;
    call->attrs = plan->attrs;
    call->arg_count -= plan->held;
  } else {
    if (!infer(s, site, call)) return false;
    plan = op_plan_keep(&s->plans, site, o->args, call);
  }
  if (!op_finish(call)) return vm_op_failed(s, site, call);
  if (plan && plan->values)
    op_plan_keep_result(&s->plans, plan, site, o->args, call->outs[0]);
  return true;
}

/* Nothing in the registers changes before the kernel has succeeded. */
static bool run_site(Session *s, const OpSite *site, const uint16_t *list,
                     unsigned taken, Operands *o) {
  Tensor *outs[NEAR];
  OpCall call;
  gather(s, site, list, taken, o);
  set_call(s, site, o, &call);
  if (site->out_count <= NEAR) call.outs = outs;
  for (int i = 0; i < site->out_count && i < NEAR; i++) outs[i] = NULL;
  if (!run(s, site, o, &call)) return false;
  s->stats.tensors += (uint64_t)site->out_count;
  store_results(s, site, &call, list);
  drop_taken(s, list, taken);
  return true;
}

/* --- Rows ----------------------------------------------------------------
 * Reading y[i], and y[i] = row and y[i] += row in place, without a call of the
 * kernel: loops over time do one of these at each step. */

/* The most elements of a row that is copied here, and of one that is added:
 * beyond that threads may share the work of the kernel. */
enum { ROW_COPIES = 1 << 16, ROW_ADDS = 1 << 12 };

/* The bytes of a row of y, if its rows are runs of elements, one after the
 * other; else 0.  Walks the axes from the last: each stride must be the product
 * of the lengths after it.  0 also for a row that is too large to copy without
 * looking at the stop flag, and for an empty one. */
static int64_t row_bytes(const Tensor *y) {
  int64_t n = 1;
  if (y->rank == 0) return 0;
  for (int i = y->rank - 1; i > 0; i--) {
    int64_t dim = y->shape[i];
    if (dim != 1 && y->strides[i] != n) return 0;
    if (__builtin_mul_overflow(n, dim, &n)) return 0;
  }
  if (y->shape[0] != 1 && y->strides[0] != n) return 0;
  return n <= ROW_COPIES ? n * (int64_t)dtype_size(y->dtype) : 0;
}

/* Can `row` be copied into y as one of its rows?  It has their dtype and their
 * shape, perhaps after an axis of length 1, and is a run of elements. */
static bool row_fits(const Tensor *row, const Tensor *y) {
  int more = row->rank - (y->rank - 1); /* axes of the row before y's own */
  if (row->dtype != y->dtype || more < 0 || more > 1) return false;
  if (more == 1 && row->shape[0] != 1) return false;
  for (int i = y->rank - 1; i > 0; i--)
    if (row->shape[i - 1 + more] != y->shape[i]) return false;
  return tensor_is_contiguous(row);
}

/* The first element of the row whose number is the site's second source; NULL:
 * it is out of range. */
static char *row_data(const Session *s, const OpSite *site,
                      const uint16_t *list, const Tensor *y) {
  int64_t at = bits_to_i64(site->sources[1].dtype, s->regs[list[1]]);
  if (at < 0 || at >= y->shape[0]) return NULL;
  return y->data + at * y->strides[0] * (int64_t)dtype_size(y->dtype);
}

/* Adds the row to the elements at `to`, by the function of the kernel of `add`.
 * False where that has none for the dtype, or the row is long. */
static bool add_row(char *to, const Tensor *row, int64_t bytes) {
  StripFn add = strip_of(OP_ADD, row->dtype);
  int64_t n = bytes / (int64_t)dtype_size(row->dtype);
  return add && n <= ROW_ADDS &&
         add(&(Strip){.n = n,
                      .out = to,
                      .out_step = 1,
                      .in = {to, row->data},
                      .step = {1, 1}}) == FAULT_NONE;
}

/* The row as a tensor (1, ...).  NULL: the kernel has to make it, or to
 * refuse. */
static Tensor *get_row(Session *s, const OpSite *site, const uint16_t *list) {
  const Tensor *y = s->regs[list[0]].tensor;
  int64_t bytes = row_bytes(y), shape[RANK_MAX];
  const char *from = bytes ? row_data(s, site, list, y) : NULL;
  if (!from) return NULL;
  memcpy(shape, y->shape, sizeof shape);
  shape[0] = 1;
  Tensor *row = tensor_new(&s->store.heap, y->dtype, y->rank, shape);
  if (row) memcpy(row->data, from, (size_t)bytes);
  return row;
}

/* y with the row in place.  NULL: the kernel has to do it, or to refuse.  The
 * conditions in their order: y ends here and may be written; the row is not a
 * part of y itself; nobody else holds y or its buffer; the layouts agree; the
 * index is in range. */
static Tensor *put_row(Session *s, const OpSite *site, const uint16_t *list,
                       unsigned taken) {
  Tensor *y = s->regs[list[0]].tensor;
  const Tensor *row = s->regs[list[2]].tensor;
  if (!(taken & 1) || y->buffer == row->buffer) return NULL;
  if (!tensor_may_hold(y, tensor_bytes(y)) || !row_fits(row, y)) return NULL;
  int64_t bytes = row_bytes(y);
  char *to = bytes ? row_data(s, site, list, y) : NULL;
  if (!to) return NULL;
  if (site->shortcut == ROW_SET) memcpy(to, row->data, (size_t)bytes);
  else if (site->shortcut == ROW_CLEARED) memset(to, 0, (size_t)bytes);
  else if (!add_row(to, row, bytes)) return NULL;
  return y;
}

/* --- Shortcuts ----------------------------------------------------------- */

/* The tensor under the shape of `like`, by its own header.  NULL: the kernel
 * has to make another header, or to refuse. */
static Tensor *give_shape(Session *s, const uint16_t *list, unsigned taken) {
  Tensor *t = s->regs[list[0]].tensor;
  const Tensor *like = s->regs[list[1]].tensor;
  if (!(taken & 1) || t == like || !obj_unshared(&t->obj) ||
      !tensor_is_contiguous(t) || tensor_count(t) != tensor_count(like))
    return NULL;
  tensor_reshape(t, like->rank, like->shape);
  return t;
}

/* The result is a row of its own, or operand 0.  False: the kernel has to
 * run. */
static bool run_shortcut(Session *s, const OpSite *site, const uint16_t *list,
                         unsigned taken) {
  Tensor *t;
  if (site->shortcut == ROW_READ) {
    t = get_row(s, site, list);
  } else {
    t = site->shortcut == SHAPE_GIVEN ? give_shape(s, list, taken)
                                      : put_row(s, site, list, taken);
    taken &= ~1u;
  }
  if (!t) return false;
  s->stats.tensors++;
  drop_taken(s, list, taken);
  s->regs[list[site->source_count]].tensor = t;
  return true;
}

/* An arena may have been refused memory although the operator succeeded by
 * other means; then the flag is put down again. */
bool vm_op(Session *s, const Word *pc) {
  const OpSite *site = pc[1].data;
  if (site->shortcut != SHORTCUT_NONE &&
      run_shortcut(s, site, ins_list(pc), pc->a))
    return true;
  Operands o;
  bool ok = operands_init(s, site, &o)
                ? run_site(s, site, ins_list(pc), pc->a, &o)
                : vm_out_of_memory(s);
  if (ok && mem_exhausted(s->mem)) mem_clear_exhausted(s->mem);
  arena_reset(&s->scratch);
  return ok;
}

/* --- Scalars ------------------------------------------------------------ */

/* An operator on scalars without an instruction of its own: its function is in
 * the site.  It sets `fail` to an ElementFault. */
bool vm_scalar(Session *s, const Word *pc, int operands) {
  const ScalarSite *site = pc[1].data;
  Value *R = s->regs, none = {.bits = 0};
  int fail = 0;
  Value v = site->fn(R[pc->b], operands > 1 ? R[pc->c] : none,
                     operands > 2 ? R[ins_list(pc)[0]] : none, &fail);
  if (fail) return vm_fault(s, E0602, "`%s`: division by zero", site->op->name);
  R[pc->a] = v;
  return true;
}
