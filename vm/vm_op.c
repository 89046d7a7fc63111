/* Operators: operands from registers, the kernel, results to registers.
 *
 *   gather          registers -> tensors; scalars are viewed where they lie
 *   infer           the type of the result: the plan's, or the rule's
 *   op_finish       allocates results, runs the kernel (kernels/call.h)
 *   store_results   tensors -> registers; a scalar's bits are taken out
 *   drop_taken      operands that end here
 *
 * A scalar in a register has no tensor: its operand is a header on the C stack
 * whose data points at the register.  Such headers are immortal: keeping and
 * dropping them counts nothing.
 *
 * Plans: the typing rule of an operator depends on the shapes of its operands
 * (and on attributes, which are the site's).  As long as the shapes are those
 * of the last time, its answer is taken from the plan; a loop over tensors of
 * one shape infers once.  Sites whose result depends on elements have none
 * (NO_PLAN).
 *
 * Operands that end with the instruction are told to the kernel
 * (OpCall.ending), which may write its result over them.  They are dropped only
 * after it has succeeded: when it fails they are still live, and vm_unwind()
 * drops them. */
#include <string.h>

#include "value/show.h"
#include "value/structure.h"
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

/* --- Plans -------------------------------------------------------------- */

/* What the rule answered for operands of these shapes. */
typedef struct OpPlan {
  Plan plan;
  RuleType result;
  int64_t key[]; /* the shapes; after them the fields of a tuple's type */
} OpPlan;

static size_t key_length(const Operands *o) {
  size_t n = 0;
  for (int i = 0; i < o->count; i++) n += o->args[i]->rank;
  return n;
}

/* Ranks are not compared: the checker has fixed them, and a site with an
 * operand of unknown rank has no plan. */
static bool plan_fits(const OpPlan *plan, const Operands *o) {
  const int64_t *key = plan->key;
  for (int i = 0; i < o->count; i++) {
    const Tensor *t = o->args[i];
    int rank = t->rank;
    for (int k = 0; k < rank; k++)
      if (t->shape[k] != key[k]) return false;
    key += rank;
  }
  return true;
}

/* Without memory for a plan the rule is asked again the next time.  The fields
 * of a tuple's type are copied after the key, so that the plan is one block;
 * result.value, which points into the rule's own memory, is not kept. */
static void plan_keep(Session *s, const OpSite *site, const Operands *o,
                      const RuleType *result) {
  if (site->number == NO_PLAN) return;
  size_t length = key_length(o);
  size_t fields = result->kind == RT_TUPLE ? (size_t)result->count : 0;
  OpPlan *plan =
      (OpPlan *)plan_renew(&s->plans, site->number,
                           sizeof *plan + length * sizeof *plan->key +
                               fields * sizeof *result->fields);
  if (!plan) return;
  int64_t *key = plan->key;
  for (int i = 0; i < o->count; i++)
    for (int k = 0; k < o->args[i]->rank; k++) *key++ = o->args[i]->shape[k];
  plan->result = *result;
  plan->result.fields = (RuleType *)key;
  plan->result.value = NULL;
  for (size_t i = 0; i < fields; i++)
    plan->result.fields[i] = result->fields[i];
}

/* Sets what the kernel must know of the result. */
static bool infer(Session *s, const OpSite *site, const Operands *o,
                  OpCall *call) {
  const OpPlan *plan = (const OpPlan *)plan_find(&s->plans, site->number);
  if (plan && plan_fits(plan, o)) {
    call->result = &plan->result;
    return true;
  }
  if (!op_infer(call)) return false;
  plan_keep(s, site, o, call->result);
  return true;
}

/* --- Tensor operators --------------------------------------------------- */

/* In this order: the kernel's own error, a request to stop that it saw, and,
 * where it says nothing, memory. */
static bool op_failed(Session *s, const OpSite *site, const OpCall *call) {
  const OpFault *fault = &call->fault;
  if (fault->message) {
    if (fault->attr && site->places)
      vm_fault_at(s, site->places[fault->attr - 1], fault->code, "%s",
                  fault->message);
    else vm_fault(s, fault->code, "%s", fault->message);
    if (fault->hint) diag_hint(s->fault, "%s", fault->hint);
    return false;
  }
  return atomic_load(&s->store.stop) ? vm_stopped(s) : vm_out_of_memory(s);
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
  for (int i = 0; site->number == NO_PLAN && i < count; i++) {
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

/* Field by field: what a compiler makes of one that clears it costs as much as
 * all the rest here. */
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
  call->crowd = &s->crowd;
  call->hosts = s->code->program->hosts;
  call->fault.message = NULL;
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
  if (!infer(s, site, o, &call)) return op_failed(s, site, &call);
  if (!gives_expected(s, site, call.result)) return false;
  if (!op_finish(&call)) return op_failed(s, site, &call);
  s->stats.tensors += (uint64_t)site->out_count;
  store_results(s, site, &call, list);
  drop_taken(s, list, taken);
  return true;
}

/* --- Rows in place ------------------------------------------------------- */

enum { ROW_NEAR = 1 << 16 }; /* elements that are copied at once */

/* The bytes of `row` where it has the shape of y's, and both tensors are runs
 * of elements; else 0.  Walks the axes from the last: each stride must be the
 * product of the lengths after it, in both tensors.  0 also for a row that is
 * too large to copy without looking at the stop flag, and for an empty one. */
static int64_t row_bytes(const Tensor *y, const Tensor *row) {
  int64_t n = 1;
  if (y->rank != row->rank + 1 || y->dtype != row->dtype) return 0;
  for (int i = row->rank - 1; i >= 0; i--) {
    int64_t dim = row->shape[i];
    bool dense = row->strides[i] == n && y->strides[i + 1] == n;
    if (y->shape[i + 1] != dim || (dim != 1 && !dense)) return 0;
    if (__builtin_mul_overflow(n, dim, &n)) return 0;
  }
  if (y->shape[0] != 1 && y->strides[0] != n) return 0;
  return n <= ROW_NEAR ? n * (int64_t)dtype_size(y->dtype) : 0;
}

/* y[i] = row in place, as loops over time do at each step, without a call of
 * the kernel.  False: the kernel has to do it, or to refuse.  The conditions in
 * their order: y ends here and may be written; the row is not a part of y
 * itself; nobody else holds y or its buffer; the layouts agree; the index is in
 * range. */
static bool set_row(Session *s, const OpSite *site, const uint16_t *list,
                    unsigned taken) {
  Tensor *y = s->regs[list[0]].tensor;
  const Tensor *row = s->regs[list[2]].tensor;
  if (!(taken & 1) || y->buffer == row->buffer) return false;
  if (!tensor_may_hold(y, tensor_bytes(y))) return false;
  int64_t bytes = row_bytes(y, row);
  int64_t at = bits_to_i64(site->sources[1].dtype, s->regs[list[1]]);
  if (!bytes || at < 0 || at >= y->shape[0]) return false;
  char *to = y->data + at * y->strides[0] * (int64_t)dtype_size(y->dtype);
  memcpy(to, row->data, (size_t)bytes);
  s->stats.tensors++;
  drop_taken(s, list, taken & ~1u);
  s->regs[list[site->source_count]].tensor = y;
  return true;
}

/* An arena may have been refused memory although the operator succeeded by
 * other means; then the flag is put down again. */
bool vm_op(Session *s, const Word *pc) {
  const OpSite *site = pc[1].data;
  if (site->sets_row && set_row(s, site, ins_list(pc), pc->a)) return true;
  Operands o;
  bool ok = operands_init(s, site, &o)
                ? run_site(s, site, ins_list(pc), pc->a, &o)
                : vm_out_of_memory(s);
  if (ok && mem_exhausted(s->mem)) mem_clear_exhausted(s->mem);
  arena_reset(&s->scratch);
  return ok;
}

/* --- Operators without a kernel ----------------------------------------- */

static void write_text(Session *s, const char *text, size_t len) {
  if (s->hooks.write) s->hooks.write(s->hooks.data, text, len);
}

/* The text is made whole before it is written, so a stop in the middle of a
 * large value prints nothing of it. */
static bool special_print(Session *s, const OpSite *site,
                          const uint16_t *list) {
  StrBuf text;
  strbuf_init(&text, s->mem);
  value_print(&s->store, &text, site->sources[0].type, s->regs[list[0]],
              s->hooks.width ? s->hooks.width : 80, 0, VALUE_SHOWN);
  strbuf_add_char(&text, '\n');
  bool whole = !store_should_stop(&s->store);
  if (whole) write_text(s, text.data, text.len);
  strbuf_done(&text);
  if (whole) return true;
  return mem_exhausted(s->mem) ? vm_out_of_memory(s) : vm_stopped(s);
}

/* Code points, or UTF-8 when the elements are bytes. */
static bool special_print_text(Session *s, const OpSite *site,
                               const uint16_t *list) {
  (void)site;
  const Tensor *t = s->regs[list[0]].tensor;
  StrBuf text;
  strbuf_init(&text, s->mem);
  int64_t n = tensor_count(t);
  for (int64_t i = 0; i < n; i++) {
    int64_t c = tensor_i64_at(t, i);
    if (t->dtype == DT_UINT8) strbuf_add_char(&text, (char)c);
    else strbuf_add_code_point(&text, c);
  }
  write_text(s, text.data, text.len);
  strbuf_done(&text);
  return !mem_exhausted(s->mem) || vm_out_of_memory(s);
}

/* The values that fill in a message, after the operands of the row. */
typedef struct Shown {
  Session *s;
  const OpSite *site;
  const uint16_t *list;
  int first;
} Shown;

static void print_shown(void *of, StrBuf *out, int i) {
  const Shown *shown = of;
  int at = shown->first + i;
  value_print(&shown->s->store, out, shown->site->sources[at].type,
              shown->s->regs[shown->list[at]], MESSAGE_MOST, 0, VALUE_SHOWN);
}

/* Raises the error with its message, or with `otherwise` if that is empty. */
static bool fail_with(Session *s, const OpSite *site, const uint16_t *list,
                      DiagCode code, const char *before,
                      const char *otherwise) {
  Shown shown = {s, site, list, op_arg_count(site->op)};
  const AttrValue *v = attr_get(site->attrs, ATTR_message);
  StrBuf text;
  strbuf_init(&text, s->mem);
  message_fill(&text, v->state == AV_SET && v->text ? v->text : "",
               site->source_count - shown.first, print_shown, &shown);
  if (mem_exhausted(s->mem)) vm_out_of_memory(s);
  else if (store_should_stop(&s->store)) vm_stopped(s);
  else if (text.len == 0) vm_fault(s, code, "%s", otherwise);
  else vm_fault(s, code, "%s%s", before, strbuf_text(&text));
  strbuf_done(&text);
  return false;
}

static bool special_assert(Session *s, const OpSite *site,
                           const uint16_t *list) {
  return s->regs[list[0]].b ||
         fail_with(s, site, list, E0605,
                   "assertion failed: ", "assertion failed");
}

static bool special_fail(Session *s, const OpSite *site, const uint16_t *list) {
  return fail_with(s, site, list, E0606, "", "failed");
}

static void look_at(void *of, Part p, Looked *out) {
  Session *s = of;
  *out = (Looked){.kind = PART_OTHER};
  if (p.type->kind == TY_TUPLE) {
    *out = (Looked){.kind = PART_TUPLE, .count = p.type->count};
  } else if (p.type->kind == TY_ADT && p.type->adt->ctor_count > 0) {
    const Ctor *ctor = &p.type->adt->ctors[p.v.obj->tag];
    *out =
        (Looked){.kind = PART_DATA, .count = ctor->field_count, .ctor = ctor};
  } else if (p.type->kind == TY_TENSOR && !type_is_scalar(p.type) &&
             dtype_is_float((DType)p.type->dtype)) {
    *out = (Looked){.kind = PART_FLOATS, .tensor = p.v.tensor};
  }
  (void)s;
}

static Part part_of(void *of, Part p, int i) {
  Session *s = of;
  Part made;
  made.v = value_field(&s->store, p.type, p.v, i, &made.type);
  return made;
}

static bool special_same_structure(Session *s, const OpSite *site,
                                   const uint16_t *list) {
  int n = site->source_count;
  Part *parts = ARENA_ARRAY(&s->scratch, Part, (size_t)n + 1);
  if (!parts) return vm_out_of_memory(s);
  for (int i = 0; i < n; i++)
    parts[i] = (Part){site->sources[i].type, s->regs[list[i]]};
  StrBuf text;
  strbuf_init(&text, s->mem);
  PartFns fns = {s, look_at, part_of, &s->store.stop};
  bool same = structures_agree(s->mem, &fns, n, parts, &text);
  if (mem_exhausted(s->mem)) same = vm_out_of_memory(s);
  else if (store_should_stop(&s->store)) same = vm_stopped(s);
  else if (!same) vm_fault(s, E0613, "%s", strbuf_text(&text));
  strbuf_done(&text);
  arena_reset(&s->scratch);
  return same;
}

/* What the language calls operators and no kernel can do: they have effects. */
typedef bool (*SpecialFn)(Session *s, const OpSite *site, const uint16_t *list);

static const SpecialFn specials[SPECIAL_COUNT] = {
    [SPECIAL_PRINT] = special_print,
    [SPECIAL_PRINT_TEXT] = special_print_text,
    [SPECIAL_ASSERT] = special_assert,
    [SPECIAL_FAIL] = special_fail,
    [SPECIAL_SAME_STRUCTURE] = special_same_structure,
};

bool vm_special(Session *s, const Word *pc) {
  const OpSite *site = pc[1].data;
  return specials[site->op->special](s, site, ins_list(pc));
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
