/* The work of an observed session before every instruction; operators are
 * observed before and after they run.  A session that only counts stops after
 * counting.
 *
 * The machine announces each instruction before it runs (vm/machine.h,
 * Observer); nobody announces its end.  So what an operator gave is looked at
 * when the next instruction is announced:
 *
 *   step(op)       op_begin: headers of the operands, bytes, the clock
 *   step(next)     op_end: the results are in their registers now
 *                  then next's own beginning
 *
 * An operator that raises a fault has no next instruction: pause() ends its
 * watch (abandon).
 *
 * Profile, trace and the search for NaNs are independent; each that is on gets
 * the same OpWatch. */

#include "base/clock.h"
#include "observe/observer.h"
#include "ops/cost.h"
#include "tensor/facts.h"

uint64_t observe_clock(void) { return (uint64_t)clock_ns(); }

/* An instruction without a place, as in code that stands for no text, has that
 * of its function. */
Span observe_place(Session *s, const Word *pc, StrBuf *out) {
  CodePlace at = code_place(s->code, pc);
  const Function *f = at.function;
  Span span = at.span;
  if (f && !span_exists(span) && f->key.expr) span = f->key.expr->span;
  Place place = sources_place(s->code->program->sources, span);
  if (place.file) strbuf_addf(out, "%s:%u", place.file->path, place.line);
  return span;
}

/* --- Operators ---------------------------------------------------------- */

/* Fused operators count as one, whose operations are the steps' on each element
 * of the first result.  If all results are joined, that is the concatenation,
 * of which each step gives a part. */
static void chain_shape(const Word *pc, OpShape *shape) {
  const ChainSite *site = pc[1].data;
  bool joined = site->join && site->out_count == 1;
  *shape = (OpShape){.name = site->name,
                     .steps = site->fuse->steps,
                     .joined = joined ? site->join->source_count : 1,
                     .source_count = site->source_count,
                     .out_count = site->out_count,
                     .sources = site->sources,
                     .out_types = site->out_types,
                     .list = ins_list(pc)};
}

/* Operators and chains alike, so that nothing after this asks which it is. */
bool op_shape(const Word *pc, OpShape *shape) {
  if (pc->op == INS_chain) chain_shape(pc, shape);
  if (pc->op != INS_op) return pc->op == INS_chain;
  const OpSite *site = pc[1].data;
  *shape = (OpShape){.name = site->op->name,
                     .site = site,
                     .steps = 1,
                     .joined = 1,
                     .source_count = site->source_count,
                     .out_count = site->out_count,
                     .sources = site->sources,
                     .out_types = site->out_types,
                     .list = ins_list(pc)};
  return true;
}

static int tensors_of(const OpSource *source) {
  return source->kind == FROM_TUPLE ? source->type->count : 1;
}

/* The header is copied, because the operator may drop the tensor; bytes count
 * for tensors only. */
static void add_arg(OpWatch *w, const Type *type, const Value *v) {
  Tensor *t = &w->args[w->count++];
  if (type_is_scalar(type)) {
    *t = tensor_on_bits((DType)type->dtype, v);
  } else {
    *t = *v->tensor;
    w->bytes += (double)tensor_bytes(t);
  }
}

static void add_args(OpWatch *w, const OpSource *source, const Value *v) {
  if (source->kind != FROM_TUPLE) {
    add_arg(w, source->type, v);
    return;
  }
  const Value *fields = cell_fields(v->cell);
  for (int k = 0; k < source->type->count; k++)
    add_arg(w, source->type->args[k], &fields[k]);
}

/* The memory of the operator before is used again. */
static bool watch_init(Watch *o, const OpShape *shape) {
  size_t n = 1;
  for (int i = 0; i < shape->source_count; i++)
    n += (size_t)tensors_of(&shape->sources[i]);
  arena_reset(&o->scratch);
  o->op = (OpWatch){.args = ARENA_ARRAY(&o->scratch, Tensor, n)};
  o->op.kept = ARENA_ARRAY(&o->scratch, Value, (size_t)shape->source_count + 1);
  return o->op.args && o->op.kept;
}

/* Keeps a reference to each operand until the operator has run, so that no
 * operand is overwritten in place and all can be examined.  That costs the
 * reuse of memory, so it is done only for NaNs. */
static void hold(Session *s, OpWatch *w, const OpShape *shape) {
  for (int i = 0; i < shape->source_count; i++) {
    w->kept[i] = s->regs[shape->list[i]];
    if (shape->sources[i].kind != FROM_BITS) obj_keep(w->kept[i].obj);
  }
  w->clean = true;
  for (int i = 0; i < w->count; i++)
    w->clean &= tensor_first_nan(&w->args[i]) < 0;
}

/* The clock is read last, so that the preparation does not count. */
static void op_begin(Session *s, const Word *pc, const OpShape *shape) {
  Watch *o = watch_of(s);
  OpWatch *w = &o->op;
  if (!watch_init(o, shape)) return;
  for (int i = 0; i < shape->source_count; i++)
    add_args(w, &shape->sources[i], &s->regs[shape->list[i]]);
  if (o->what.nans) hold(s, w, shape);
  w->pc = pc;
  w->start = observe_clock();
}

/* Adds the bytes and operations of the results.  A view moves nothing and
 * computes nothing. */
static void weigh(const Session *s, const OpWatch *w, const OpShape *shape,
                  double *bytes, double *flops) {
  bool view = shape->site && shape->site->op->storage == STORE_VIEW;
  *bytes = view ? 0 : w->bytes;
  *flops = 0;
  for (int i = 0; i < shape->out_count && !view; i++) {
    const Value *v = &s->regs[shape->list[shape->source_count + i]];
    const Type *type = shape->out_types[i];
    Tensor out = type_is_scalar(type) ? tensor_on_bits((DType)type->dtype, v)
                                      : *v->tensor;
    if (!type_is_scalar(type)) *bytes += (double)tensor_bytes(&out);
    if (i > 0) continue;
    *flops = shape->site ? op_flops(shape->site->op, shape->site->attrs,
                                    w->count, w->args, &out)
                         : (double)shape->steps * (double)tensor_count(&out) /
                               shape->joined;
  }
}

static void release(Session *s, const OpWatch *w, const OpShape *shape) {
  for (int i = 0; i < shape->source_count; i++)
    if (shape->sources[i].kind != FROM_BITS)
      obj_drop(&s->store, w->kept[i].obj);
}

/* Restores the state as if the operator had failed: no results, and every
 * operand in its register.  Operands that the operator dropped (a bit each in
 * operand a) are given back.  Unwinding then finds exactly what the code
 * generator's list of live registers says (LiveAt). */
static void take_back(Session *s, const OpWatch *w, const OpShape *shape) {
  for (int i = 0; i < shape->out_count; i++) {
    Value v = s->regs[shape->list[shape->source_count + i]];
    value_drop(&s->store, shape->out_types[i], v);
  }
  for (int i = 0; i < shape->source_count; i++) {
    bool taken = i < TAKES_MAX && w->pc->a >> i & 1;
    s->regs[shape->list[i]] = w->kept[i];
    if (taken || shape->sources[i].kind == FROM_BITS) continue;
    obj_drop(&s->store, w->kept[i].obj);
  }
}

/* Finishes the operator that ran last.  Returns false if a fault is raised.  It
 * is not a watch any more when its checks run, or a fault in them would end it
 * twice. */
static bool op_end(Session *s) {
  Watch *o = watch_of(s);
  OpWatch w = o->op;
  OpShape shape;
  double bytes, flops;
  o->op.pc = NULL;
  if (!op_shape(w.pc, &shape)) return nans_scalar_check(s, &w);
  weigh(s, &w, &shape, &bytes, &flops);
  if (o->profile) profile_op(o->profile, w.start, bytes, flops);
  if (o->trace) trace_op(o->trace, w.pc, shape.name, w.start, bytes);
  if (!o->what.nans) return true;
  if (!w.clean || nans_check(s, &w, &shape)) {
    release(s, &w, &shape);
    return true;
  }
  take_back(s, &w, &shape);
  return false;
}

/* --- Every instruction -------------------------------------------------- */

/* Instructions on scalars matter only for NaNs. */
static void look_ahead(Session *s, const Word *pc) {
  OpShape shape;
  if (op_shape(pc, &shape)) op_begin(s, pc, &shape);
  else if (watch_of(s)->what.nans) nans_scalar_begin(s, pc, &watch_of(s)->op);
}

/* The order matters: first what ended, then the calls that have begun or ended,
 * then what begins. */
static bool watch_step(Observer *observer, Session *s, const Word *pc) {
  Watch *o = (Watch *)observer;
  if (o->op.pc && !op_end(s)) return false;
  if (o->trace) trace_step(o->trace, pc, s->frame_top);
  if (o->profile) profile_step(o->profile, pc);
  look_ahead(s, pc);
  return true;
}

/* Only the search for NaNs wants to know. */
static bool watch_applied(Observer *observer, Session *s, const OpCall *call) {
  (void)observer;
  return nans_applied(s, call);
}

/* Finishes the operator that was running when a fault ended the loop. */
static void abandon(Session *s, Watch *o) {
  OpWatch w = o->op;
  OpShape shape;
  o->op.pc = NULL;
  if (o->what.nans && op_shape(w.pc, &shape)) release(s, &w, &shape);
}

static void watch_pause(Observer *observer, Session *s) {
  Watch *o = (Watch *)observer;
  if (o->op.pc) abandon(s, o);
  if (o->profile) profile_pause(o->profile);
  if (o->trace) trace_pause(o->trace);
}

/* --- Life --------------------------------------------------------------- */

/* Counting needs no call for each instruction. */
static bool sees_closely(const Observe *what) {
  return what->profile || what->nans || what->trace;
}

/* Part of the session's end, or of switching everything off. */
static void watch_free(Observer *observer, Session *s) {
  Watch *o = (Watch *)observer;
  s->observer = NULL;
  profile_free(o->profile);
  trace_free(o->trace);
  cells_free(o->cells);
  arena_done(&o->scratch);
  mem_free(s->mem, o, sizeof *o);
}

bool session_observe(Session *s, const Observe *what) {
  Watch *o = mem_alloc_zeroed(s->mem, sizeof *o);
  if (!o) return false;
  s->observer = &o->base;
  o->base = (Observer){.closely = sees_closely(what),
                       .step = watch_step,
                       .applied = what->nans ? watch_applied : NULL,
                       .pause = watch_pause,
                       .free = watch_free};
  o->what = *what;
  arena_init(&o->scratch, s->mem);
  if (what->profile && !(o->profile = profile_new(s->mem))) return false;
  return !what->trace || (o->trace = trace_new(s, what)) != NULL;
}

/* An observer is made for a profile alone and goes with it, so that the session
 * is as fast as before. */
bool session_set_profile(Session *s, bool on) {
  Observe none = {0};
  if (!s->observer && (!on || !session_observe(s, &none))) return !on;
  Watch *o = watch_of(s);
  profile_free(o->profile);
  o->profile = on ? profile_new(s->mem) : NULL;
  o->what.profile = o->profile != NULL;
  o->base.closely = sees_closely(&o->what);
  bool done = !on || o->profile;
  if (!o->base.closely && !o->what.count && !o->cells) watch_free(&o->base, s);
  return done;
}

static void watch_holds(Observer *observer, Session *s, const Word *pc,
                        const RefCell *r) {
  cells_hold(((Watch *)observer)->cells, s, pc, r);
}

bool session_follow_cells(Session *s) {
  Observe none = {0};
  if (!s->observer && !session_observe(s, &none)) return false;
  Watch *o = watch_of(s);
  if (!o->cells) o->cells = cells_new(s->mem);
  if (o->cells) o->base.holds = watch_holds;
  return o->cells;
}

void session_profile(Session *s, StrBuf *out) {
  if (s->observer && watch_of(s)->profile)
    profile_print(s, watch_of(s)->profile, out);
}
