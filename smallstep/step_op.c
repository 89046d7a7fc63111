/* Operators in the small-step machine: op_run applies rule and kernel; those
 * without a kernel, such as print, are carried out by the machine itself.
 *
 * Typing rules and kernels are shared with the VM, as rules of derivatives are
 * (step_sweep.c).  Everything about when an operator runs, and on what, is this
 * machine's own. */
#include "kernels/call.h"
#include "smallstep/step_machine.h"
#include "value/show.h"
#include "value/structure.h"

/* --- Kernels ------------------------------------------------------------ */

/* Flattens tuple operands into their tensors.  concatenate((a, b), axis=0) has
 * one operand, which is a tuple of two. */
static int count_tensors(int count, const StepObj *args) {
  int n = 0;
  for (int i = 0; i < count; i++) {
    const StepObj *v = args->fields[i];
    n += v->kind == V_TUPLE ? (int)v->count : 1;
  }
  return n;
}

static const Tensor **flatten(StepMachine *m, int count, const StepObj *args,
                              int *n) {
  *n = count_tensors(count, args);
  const Tensor **out = ARENA_ARRAY(&m->scratch, const Tensor *, (size_t)*n + 1);
  int at = 0;
  for (int i = 0; out && i < count; i++) {
    const StepObj *v = args->fields[i];
    if (v->kind == V_TENSOR) out[at++] = v->tensor;
    for (uint32_t k = 0; v->kind == V_TUPLE && k < v->count; k++)
      out[at++] = v->fields[k]->tensor;
  }
  return out;
}

/* Makes one value of the results and takes over their tensors.  Every tensor is
 * taken over even where memory for the tuple is missing, since
 * step_tensor_take() drops what it cannot keep. */
StepObj *step_results_take(StepMachine *m, const OpCall *call) {
  if (call->result->kind != RT_TUPLE) return step_tensor_take(m, call->outs[0]);
  StepObj *tuple = step_obj(m, V_TUPLE, (uint32_t)call->out_count);
  for (int i = 0; i < call->out_count; i++) {
    StepObj *field = step_tensor_take(m, call->outs[i]);
    if (tuple) tuple->fields[i] = field;
  }
  return tuple;
}

void step_operator_failed(StepMachine *m, const Expr *e, const OpCall *call) {
  const OpFault *fault = &call->fault;
  bool named = e->kind == EX_CALL && fault->attr;
  step_fail(m, fault->code, (named ? e->args[fault->attr - 1] : e)->span, "%s",
            fault->message);
}

/* A time limit that passed while the kernel worked ends the run (STEP_LIMIT),
 * as a limit between two steps does. */
void step_kernel(StepMachine *m, const StepSite *site, int count,
                 const StepObj *args) {
  const Expr *e = site->expr;
  OpCall call = {.op = site->attrs->op,
                 .attrs = site->attrs,
                 .heap = &m->heap,
                 .arena = &m->scratch,
                 .stop = &m->stop,
                 .threads = 1,
                 .hosts = m->program->hosts};
  call.args = flatten(m, count, args, &call.arg_count);
  if (!call.args || mem_exhausted(m->mem)) return;
  if (m->shapes) {
    step_shapes_operator(m, &call, count, args, e);
  } else if (op_run(&call)) {
    step_applied(m, REDUCE_OPERATOR, e->span);
    step_to_value(m, step_results_take(m, &call));
  } else if (m->stop) {
    step_fail(m, E0703, e->span, "time limit of %g s reached", m->time_limit);
    m->outcome = STEP_LIMIT;
  } else if (call.fault.code == E0701) {
    mem_raise_exhausted(m->mem);
  } else {
    step_operator_failed(m, e, &call);
  }
  if (m->outcome == STEP_RULE && !mem_exhausted(m->mem))
    step_record(m, site, count, args, m->now.value);
}

/* --- Effects ------------------------------------------------------------ */

typedef struct Effect {
  StepMachine *m;
  const Attrs *attrs;
  const StepObj *v; /* the operand, if there is one */
  const StepObj *args;
  int count, operands; /* all, and those of the row */
  Span span;
} Effect;

/* An effect leaves (). */
static void done(const Effect *e, StepRule rule) {
  step_applied(e->m, rule, e->span);
  step_to_value(e->m, step_unit(e->m));
}

static void write_text(const Effect *e, StrBuf *text) {
  const StepHost *host = &e->m->host;
  if (host->write) host->write(host->data, strbuf_text(text), text->len);
  strbuf_done(text);
  done(e, REDUCE_PRINT);
}

static void run_print(const Effect *e) {
  StrBuf text;
  strbuf_init(&text, e->m->mem);
  int width = e->m->host.width;
  step_print(e->m, &text, e->v, width ? width : 80);
  strbuf_add_char(&text, '\n');
  write_text(e, &text);
}

static void run_print_text(const Effect *e) {
  const Tensor *t = e->v->tensor;
  StrBuf text;
  strbuf_init(&text, e->m->mem);
  for (int64_t i = 0, n = tensor_count(t); i < n; i++) {
    int64_t c = tensor_i64_at(t, i);
    if (t->dtype == DT_UINT8) strbuf_add_char(&text, (char)c);
    else strbuf_add_code_point(&text, c);
  }
  write_text(e, &text);
}

/* The values that fill in a message are the last ones.  An abstract run has
 * shapes alone. */
static void print_shown(void *of, StrBuf *out, int i) {
  const Effect *e = of;
  if (e->m->shapes) strbuf_add_char(out, '_');
  else step_print(e->m, out, e->args->fields[e->operands + i], MESSAGE_MOST);
}

static void fail_with(const Effect *e, DiagCode code, const char *before,
                      const char *otherwise) {
  const AttrValue *v = attr_get(e->attrs, ATTR_message);
  StrBuf text;
  strbuf_init(&text, e->m->mem);
  message_fill(&text, v->state == AV_SET && v->text ? v->text : "",
               e->count - e->operands, print_shown, (void *)e);
  if (text.len == 0) step_fail(e->m, code, e->span, "%s", otherwise);
  else step_fail(e->m, code, e->span, "%s%s", before, strbuf_text(&text));
  strbuf_done(&text);
}

static void run_assert(const Effect *e) {
  bool unknown =
      e->v->abstract && e->m->shapes; /* an abstract run believes it */
  if (unknown || tensor_bits_at(e->v->tensor, 0).b) done(e, REDUCE_ASSERT);
  else fail_with(e, E0605, "assertion failed: ", "assertion failed");
}

static void run_fail(const Effect *e) { fail_with(e, E0606, "", "failed"); }

static const StepObj *obj_of(Part p) {
  return (const StepObj *)(uintptr_t)p.v.bits;
}

static void look_at(void *of, Part p, Looked *out) {
  const StepMachine *m = of;
  const StepObj *v = obj_of(p);
  *out = (Looked){.kind = PART_OTHER};
  if (v->kind == V_TUPLE)
    *out = (Looked){.kind = PART_TUPLE, .count = (int)v->count};
  else if (v->kind == V_DATA)
    *out = (Looked){.kind = PART_DATA, .count = (int)v->count, .ctor = v->ctor};
  else if (v->kind == V_TENSOR && v->tensor->rank > 0 &&
           dtype_is_float((DType)v->tensor->dtype))
    *out = (Looked){.kind = PART_FLOATS, .tensor = v->tensor};
  (void)m;
}

static Part part_of(void *of, Part p, int i) {
  (void)of;
  return (Part){.v.bits = (uintptr_t)obj_of(p)->fields[i]};
}

static void run_same_structure(const Effect *e) {
  StepMachine *m = e->m;
  Part *parts = ARENA_ARRAY(&m->scratch, Part, (size_t)e->count + 1);
  if (!parts) return;
  for (int i = 0; i < e->count; i++)
    parts[i] = (Part){.v.bits = (uintptr_t)e->args->fields[i]};
  StrBuf text;
  strbuf_init(&text, m->mem);
  PartFns fns = {m, look_at, part_of, &m->stop};
  bool same = structures_agree(m->mem, &fns, e->count, parts, &text);
  if (same) done(e, REDUCE_ASSERT);
  else step_fail(m, E0613, e->span, "%s", strbuf_text(&text));
  strbuf_done(&text);
}

typedef void (*EffectFn)(const Effect *e);

static const EffectFn effects[SPECIAL_COUNT] = {
    [SPECIAL_PRINT] = run_print,
    [SPECIAL_PRINT_TEXT] = run_print_text,
    [SPECIAL_ASSERT] = run_assert,
    [SPECIAL_FAIL] = run_fail,
    [SPECIAL_SAME_STRUCTURE] = run_same_structure,
};

/* --- All operators ------------------------------------------------------ */

static StepSite *site_new(StepMachine *m, const Expr *e, const OpInfo *info,
                          const Attrs *attrs) {
  StepSite *site = ARENA_NEW(&m->arena, StepSite);
  if (!attrs) attrs = attrs_new(&m->arena, info);
  *site = (StepSite){.expr = e, .attrs = attrs};
  return site;
}

/* Where an operator is called as a value, it has no attributes but its
 * defaults. */
static const StepSite *site_of(StepMachine *m, const Expr *e) {
  StepSite *site = ptrmap_get(&m->sites, e);
  if (site) return site;
  bool called = e->kind == EX_CALL;
  const OpInfo *info = op_info((called ? e->call.callee : e)->op);
  site = site_new(m, e, info, called ? e->call.bound : NULL);
  ptrmap_put(&m->sites, e, site);
  return site;
}

void step_operator(StepMachine *m, const Expr *e, int count,
                   const StepObj *args) {
  bool called = e->kind == EX_CALL;
  const OpInfo *info = op_info((called ? e->call.callee : e)->op);
  bool prints = info->storage == STORE_SPECIAL && info->prints;
  if (m->shapes && prints) {
    step_applied(m, REDUCE_PRINT, e->span);
    step_to_value(m, step_unit(m));
    return;
  }
  if (op_is_form(info)) {
    step_form(m, e, count, args);
    return;
  }
  const StepSite *site = site_of(m, e);
  if (mem_exhausted(m->mem)) return;
  if (info->storage != STORE_SPECIAL) {
    step_kernel(m, site, count, args);
    return;
  }
  effects[info->special](&(Effect){.m = m,
                                   .attrs = site->attrs,
                                   .v = count > 0 ? args->fields[0] : NULL,
                                   .args = args,
                                   .count = count,
                                   .operands = op_arg_count(info),
                                   .span = e->span});
}
