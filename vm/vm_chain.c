/* Chains: element-wise operators that were fused into one pass
 * (bytecode/lower/chain.c; kernels/fuse.h runs them).
 *
 * When the operands have a geometry that was not seen here before, a plan is
 * made: whether the members' results are all of one shape, which operands may
 * be written over, whether all elements lie along one line.  From then on,
 * until the geometry changes, running the chain takes no decisions:
 *
 *   plan.fused, is_line     fuse_run_line: addresses and strides
 *   plan.fused              fuse_run: tensors, any strides
 *   not fused               each member by its own kernel
 *
 * The last case is needed because fusing was decided from types, in which
 * dimensions may be unknown: members may turn out to have results of different
 * shapes (broadcasting within the chain), or not to fit at all.  Run one by
 * one, each makes a result of its own shape, or is the one that fails and is
 * named in the error.
 *
 * An input may be a view that the chain absorbed: a row of a source (take) or
 * one of its even parts (split).  Those operators are not run; their inputs are
 * addressed where they lie.  A part's address depends on the geometry, so it is
 * in the plan; a row's depends on the index as well, so it is computed each
 * time.
 *
 * Outputs may be the operands of a concatenation (ChainSite.join), its parts.
 * They are written into its result, each to its place there.  Where that would
 * be in short pieces, they are tensors, which are concatenated afterwards.
 *
 *   InputPlace   ON_BITS     a scalar in a register
 *                AT_OFFSET   source data + bytes
 *                AT_ROW      source data + row number * bytes
 *
 * The key of a plan is shape and strides of each source that is a tensor, in
 * order. */
#include <assert.h>
#include <string.h>

#include "vm/vm.h"
#include "kernels/drive/move.h"

enum { OPERANDS = FUSE_INPUTS + FUSE_OUTPUTS };

/* Where an input's first element is. */
typedef struct InputPlace {
  enum { ON_BITS, AT_OFFSET, AT_ROW } kind;
  int64_t bytes; /* from the source's first element; a row's */
} InputPlace;

typedef struct ChainPlan {
  Plan plan;
  bool fused; /* the members run in one pass */
  bool is_line;
  uint8_t rank; /* of the results */
  int64_t shape[RANK_MAX];
  int64_t count;               /* of a result's elements */
  uint16_t over[FUSE_OUTPUTS]; /* sources that a result may replace */
  bool in_place;               /* parts are written where they stand in: */
  int64_t joined[RANK_MAX];    /* the shape of the concatenation's result */
  int64_t joined_strides[RANK_MAX];
  int64_t part_bytes; /* from a part's first element to the next one's */
  InputPlace places[FUSE_INPUTS];
  FuseLine line;
  int64_t key[]; /* each source's geometry */
} ChainPlan;

/* One execution of the instruction: on the C stack. */
typedef struct Chain {
  Session *s;
  const ChainSite *site;
  const uint16_t *list;
  ChainPlan *plan;
  unsigned taken; /* sources that the instruction drops */
} Chain;

static const Value *source_of(const Chain *c, int i) {
  return &c->s->regs[c->list[i]];
}

static bool is_tensor(const Chain *c, int source) {
  return c->site->sources[source].kind == FROM_TENSOR;
}

/* --- Planning ----------------------------------------------------------- */

static size_t key_size(const Chain *c) {
  size_t n = 0;
  for (int i = 0; i < c->site->source_count; i++)
    if (is_tensor(c, i)) n += 2 * (size_t)source_of(c, i)->tensor->rank;
  return n * sizeof(int64_t);
}

static void write_key(const Chain *c) {
  int64_t *key = c->plan->key;
  for (int i = 0; i < c->site->source_count; i++)
    if (is_tensor(c, i)) key = geometry_write(source_of(c, i)->tensor, key);
}

static bool plan_fits(const Chain *c) {
  const int64_t *key = c->plan->key;
  const OpSource *source = c->site->sources;
  for (int i = 0; i < c->site->source_count; i++, source++) {
    if (source->kind != FROM_TENSOR) continue;
    const Tensor *t = source_of(c, i)->tensor;
    if (!geometry_is(t, key)) return false;
    key += 2 * t->rank;
  }
  return true;
}

/* Which row an input is; -1: there are none.  As `take` with mode clip does: an
 * index below 0 is row 0, one beyond the end the last row. */
static int64_t row_number(const Chain *c, const ChainInput *in, int64_t n) {
  DType dtype = c->site->sources[in->index].dtype;
  const Value *v = source_of(c, in->index);
  int64_t at = dtype == DT_INT32 ? v->i32 : bits_to_i64(dtype, *v);
  return at < 0 && n > 0 ? 0 : at >= n ? n - 1 : at;
}

/* The row's axis is sliced to length 1 and then dropped:  (5, 3) at row 2, axis
 * 0  ->  (3), 2 * stride in. */
static bool row_view(const Chain *c, ChainInput in, Tensor *view) {
  int64_t at = row_number(c, &in, view->shape[in.axis]);
  if (at < 0) return false;
  *view = geometry_slice(view, in.axis, at, 1);
  view->rank--;
  for (int i = in.axis; i < view->rank; i++) {
    view->shape[i] = view->shape[i + 1];
    view->strides[i] = view->strides[i + 1];
  }
  return true;
}

/* False where the axis does not divide evenly: split would fail. */
static bool part_view(ChainInput in, Tensor *view) {
  int64_t n = view->shape[in.axis];
  if (n % in.parts) return false;
  n /= in.parts;
  *view = geometry_slice(view, in.axis, n * in.part, n);
  return true;
}

/* Input `i` as a tensor; false when a view that the chain absorbed cannot be
 * made. */
static bool input_view(const Chain *c, int i, Tensor *view) {
  ChainInput in = c->site->inputs[i];
  const Value *v = source_of(c, in.source);
  if (!is_tensor(c, in.source)) {
    *view = tensor_on_bits(c->site->sources[in.source].dtype, v);
    return true;
  }
  *view = *v->tensor;
  if (!in.view) return true;
  return in.parts ? part_view(in, view) : row_view(c, in, view);
}

/* The shapes of inputs and of what steps give. */
typedef struct Shape {
  int rank;
  int64_t dims[RANK_MAX];
} Shape;

/* NumPy's rule, from the last axis: lengths must be equal or 1.
 *
 *   (4, 1, 3) with (5, 1)  ->  (4, 5, 3) */
static bool broadcast(Shape *to, const Shape *from) {
  Shape both = {.rank = to->rank > from->rank ? to->rank : from->rank};
  for (int i = 1; i <= both.rank; i++) {
    int64_t a = i <= to->rank ? to->dims[to->rank - i] : 1;
    int64_t b = i <= from->rank ? from->dims[from->rank - i] : 1;
    if (a != b && a != 1 && b != 1) return false;
    both.dims[both.rank - i] = a == 1 ? b : a;
  }
  *to = both;
  return true;
}

/* Steps stand in the order of evaluation, so the shapes of a step's operands
 * are known before it. */
static bool step_shapes(const Fuse *f, const Tensor *views, Shape *steps) {
  for (int i = 0; i < f->steps; i++) {
    steps[i] = (Shape){0};
    for (int k = 0; k < 3 && f->step[i].operands[k] >= 0; k++) {
      int from = f->step[i].operands[k];
      Shape shape;
      if (from < FUSE_STEPS) {
        shape = steps[from];
      } else {
        const Tensor *t = &views[from - FUSE_STEPS];
        shape.rank = t->rank;
        memcpy(shape.dims, t->shape, sizeof shape.dims);
      }
      if (!broadcast(&steps[i], &shape)) return false;
    }
  }
  return true;
}

static bool shape_is(const Shape *shape, int rank, const int64_t *dims) {
  return shape->rank == rank &&
         !memcmp(shape->dims, dims, (size_t)rank * sizeof *dims);
}

/* Do the results have one shape, to which all inputs broadcast?  A chain
 * without elements is not fused: there is nothing to gain, and members may
 * still have to fail. */
static bool find_shape(const Chain *c, const Tensor *views) {
  const Fuse *f = c->site->fuse;
  Shape steps[FUSE_STEPS];
  const Tensor *args[FUSE_INPUTS];
  int rank;
  for (int i = 0; i < f->inputs; i++) args[i] = &views[i];
  if (!step_shapes(f, views, steps) ||
      !fuse_shape(f, args, &rank, c->plan->shape))
    return false;
  c->plan->rank = (uint8_t)rank;
  for (int i = 0; i < f->outputs; i++)
    if (!shape_is(&steps[f->output_step[i]], rank, c->plan->shape))
      return false;
  return shape_count(rank, c->plan->shape, &c->plan->count) &&
         c->plan->count > 0;
}

/* Is the input its whole source, and is no other input of that source? */
static bool is_only_input(const ChainSite *site, int input) {
  for (int i = 0; i < site->fuse->inputs; i++)
    if (i != input && site->inputs[i].source == site->inputs[input].source)
      return false;
  return !site->inputs[input].view;
}

/* An output may be written over an input that has its dtype and shape, lies in
 * one piece, and is not read again after the output's step
 * (fuse_may_replace). */
static bool may_replace(const Chain *c, const Tensor *out, int output,
                        int input, const Tensor *view) {
  return is_tensor(c, c->site->inputs[input].source) &&
         view->dtype == out->dtype && shapes_equal(view, out) &&
         tensor_is_contiguous(view) && is_only_input(c->site, input) &&
         fuse_may_replace(c->site->fuse, output, input);
}

static InputPlace input_place(const Chain *c, int i, const Tensor *view) {
  ChainInput in = c->site->inputs[i];
  if (!is_tensor(c, in.source)) return (InputPlace){.kind = ON_BITS};
  const Tensor *t = source_of(c, in.source)->tensor;
  if (in.view && !in.parts) {
    int64_t size = (int64_t)dtype_size(t->dtype);
    return (InputPlace){AT_ROW, t->strides[in.axis] * size};
  }
  return (InputPlace){AT_OFFSET, view->data - t->data};
}

static DType output_dtype(const ChainSite *site, int o) {
  return (DType)site->fuse->step[site->fuse->output_step[o]].dtype;
}

/* Is the output an operand of the concatenation? */
static bool is_part(const ChainSite *site, int o) {
  return site->join && site->parts[o];
}
/* Which one, counted from 0. */
static int64_t part_number(const ChainSite *site, int o) {
  return site->parts[o] - 1;
}

/* The fewest elements of a part that lie side by side in the result, for the
 * chain to write them there: shorter pieces are written slower than copied. */
enum { JOIN_RUN = 32 };

/* Where the parts stand in the result.  Two parts (2, 3) along axis 1 give
 * (2, 6): each has runs of 3 elements, and the second begins 3 elements after
 * the first. */
static void plan_joined(const Chain *c) {
  const OpSite *of = c->site->join;
  ChainPlan *p = c->plan;
  int axis = attr_axis(of->attrs, ATTR_axis, p->rank);
  int64_t total;
  if (__builtin_mul_overflow(p->count, of->source_count, &total)) return;
  memcpy(p->joined, p->shape, sizeof p->joined);
  p->joined[axis] *= of->source_count;
  strides_row_major(p->rank, p->joined, p->joined_strides);
  int64_t run = p->shape[axis] * p->joined_strides[axis];
  p->in_place = run == p->count || run >= JOIN_RUN;
  p->part_bytes = run * (int64_t)dtype_size((DType)of->out_types[0]->dtype);
}

/* The output, whose first element is at `data`: a header on the C stack. */
static Tensor output_view(const Chain *c, int o, char *data) {
  const ChainPlan *p = c->plan;
  Tensor t = tensor_on_data(output_dtype(c->site, o), p->rank, p->shape, data);
  if (p->in_place && is_part(c->site, o))
    memcpy(t.strides, p->joined_strides, sizeof t.strides);
  return t;
}

/* `outs` are stand-ins for the results, which do not exist yet: fuse_line()
 * looks at their shapes only, so their data points at nothing of interest. */
static void find_places(const Chain *c, const Tensor *views) {
  const ChainSite *site = c->site;
  const Fuse *f = site->fuse;
  const Tensor *tensors[OPERANDS];
  Tensor outs[FUSE_OUTPUTS];
  char nothing;
  for (int i = 0; i < f->inputs; i++) {
    tensors[i] = &views[i];
    c->plan->places[i] = input_place(c, i, &views[i]);
  }
  if (site->join) plan_joined(c);
  for (int o = 0; o < f->outputs; o++) {
    outs[o] = output_view(c, o, &nothing);
    tensors[f->inputs + o] = &outs[o];
    if (c->plan->in_place && is_part(site, o)) continue;
    for (int i = 0; i < f->inputs; i++)
      if (may_replace(c, &outs[o], o, i, &views[i]))
        c->plan->over[o] |= (uint16_t)(1u << site->inputs[i].source);
  }
  c->plan->is_line = fuse_line(f, tensors, &c->plan->line);
}

/* The plan is made anew in place: what it held for the geometry before is
 * lost. */
static bool make_plan(Chain *c) {
  size_t size = sizeof(ChainPlan) + key_size(c);
  c->plan = (ChainPlan *)plan_renew(&c->s->plans, c->site->number, size);
  if (!c->plan) return vm_out_of_memory(c->s);
  Tensor views[FUSE_INPUTS];
  write_key(c);
  c->plan->fused = true;
  for (int i = 0; i < c->site->fuse->inputs; i++)
    c->plan->fused &= input_view(c, i, &views[i]);
  c->plan->fused = c->plan->fused && find_shape(c, views);
  if (c->plan->fused) find_places(c, views);
  return true;
}

/* --- Results ------------------------------------------------------------ */

/* A source that ends here and that nobody else holds, to be written over with
 * output `o`; NULL: there is none.  `over` says which sources the plan allows,
 * `taken` which of them end here; whether the tensor and its buffer are
 * unshared can only be asked now. */
static Tensor *replaced(Chain *c, int o) {
  for (unsigned m = c->plan->over[o] & c->taken; m; m &= m - 1) {
    int source = __builtin_ctz(m);
    Tensor *t = source_of(c, source)->tensor;
    if (!tensor_may_hold(t, (size_t)c->plan->count * dtype_size(t->dtype)))
      continue;
    c->taken &= ~(1u << source);
    return t;
  }
  return NULL;
}

typedef struct Outs {
  Tensor *tensors[FUSE_OUTPUTS]; /* NULL: a part of `joined` */
  unsigned fresh;                /* those that are new */
  Tensor *joined;                /* new; NULL: there is none yet */
} Outs;

static void drop_fresh(Chain *c, Outs *outs) {
  Heap *heap = &c->s->store.heap;
  for (unsigned m = outs->fresh; m; m &= m - 1)
    tensor_drop(heap, outs->tensors[__builtin_ctz(m)]);
  if (outs->joined) tensor_drop(heap, outs->joined);
}

/* The output in place of a source that ends here, or new; NULL: memory ran
 * out. */
static Tensor *make_out(Chain *c, Outs *outs, int o) {
  Tensor *t = replaced(c, o);
  if (t) return t;
  t = tensor_new(&c->s->store.heap, output_dtype(c->site, o), c->plan->rank,
                 c->plan->shape);
  if (t) outs->fresh |= 1u << o;
  return t;
}

/* A source is used once at most: it leaves `taken`. */
static bool make_outs(Chain *c, Outs *outs) {
  const ChainSite *site = c->site;
  const ChainPlan *p = c->plan;
  outs->fresh = 0;
  outs->joined = NULL;
  bool ok = true;
  if (p->in_place) {
    outs->joined =
        tensor_new(&c->s->store.heap, (DType)site->join->out_types[0]->dtype,
                   p->rank, p->joined);
    ok = outs->joined;
  }
  for (int o = 0; ok && o < site->fuse->outputs; o++) {
    bool part = p->in_place && is_part(site, o);
    outs->tensors[o] = part ? NULL : make_out(c, outs, o);
    ok = part || outs->tensors[o];
  }
  if (ok) return true;
  drop_fresh(c, outs);
  return vm_out_of_memory(c->s);
}

/* Sources that were not written over end here. */
static void store(Chain *c, const Outs *outs) {
  const ChainSite *site = c->site;
  const uint16_t *to = c->list + site->source_count;
  for (unsigned m = c->taken; m; m &= m - 1)
    obj_drop(&c->s->store, c->s->regs[c->list[__builtin_ctz(m)]].obj);
  for (int o = 0; o < site->fuse->outputs; o++)
    if (!is_part(site, o)) c->s->regs[*to++].tensor = outs->tensors[o];
  if (site->join) c->s->regs[*to].tensor = outs->joined;
  c->s->stats.tensors += (uint64_t)site->out_count;
}

/* --- Running ------------------------------------------------------------ */

/* Where the input's first element is, this time. */
static char *input_data(const Chain *c, int i) {
  const ChainInput *in = &c->site->inputs[i];
  const InputPlace *place = &c->plan->places[i];
  const Value *v = source_of(c, in->source);
  if (place->kind == AT_OFFSET) return v->tensor->data + place->bytes;
  if (place->kind == ON_BITS) return (char *)v;
  int64_t at = row_number(c, in, v->tensor->shape[in->axis]);
  return v->tensor->data + at * place->bytes;
}

/* Where the output's first element is. */
static char *output_data(const Chain *c, const Outs *outs, int o) {
  if (outs->tensors[o]) return outs->tensors[o]->data;
  return outs->joined->data + part_number(c->site, o) * c->plan->part_bytes;
}

static bool run_line(Chain *c, const Outs *outs, OpCall *call, int *step) {
  const Fuse *f = c->site->fuse;
  char *data[OPERANDS];
  for (int i = 0; i < f->inputs; i++) data[i] = input_data(c, i);
  for (int o = 0; o < f->outputs; o++)
    data[f->inputs + o] = output_data(c, outs, o);
  return fuse_run_line(f, &c->plan->line, data, call, step);
}

static bool run_views(Chain *c, const Outs *outs, OpCall *call, int *step) {
  const Fuse *f = c->site->fuse;
  Tensor views[FUSE_INPUTS], outputs[FUSE_OUTPUTS], *to[FUSE_OUTPUTS];
  const Tensor *args[FUSE_INPUTS];
  for (int i = 0; i < f->inputs; i++) {
    input_view(c, i, &views[i]);
    args[i] = &views[i];
  }
  for (int o = 0; o < f->outputs; o++) {
    to[o] = outs->tensors[o];
    if (to[o]) continue;
    outputs[o] = output_view(c, o, output_data(c, outs, o));
    to[o] = &outputs[o];
  }
  call->args = args;
  call->outs = to;
  return fuse_run(f, call, step);
}

/* --- Operators by their kernels ----------------------------------------- */

/* The result, owned; NULL after a fault. */
static Tensor *run_site(Chain *c, const OpSite *site, const Tensor **args) {
  OpCall call = vm_op_call(c->s, site, site->arg_count, args);
  bool ok = op_run(&call);
  if (!ok) vm_op_failed(c->s, site, &call);
  if (ok && mem_exhausted(c->s->mem)) mem_clear_exhausted(c->s->mem);
  arena_reset(&c->s->scratch);
  return ok ? call.outs[0] : NULL;
}

/* Concatenates the parts, unless the fused program has written them in place.
 * False after a fault, which leaves them as they are. */
static bool join_parts(Chain *c, Outs *outs) {
  const ChainSite *site = c->site;
  const Tensor *args[FUSE_OUTPUTS];
  if (!site->join || outs->joined) return true;
  for (int o = 0; o < site->fuse->outputs; o++)
    if (is_part(site, o)) args[part_number(site, o)] = outs->tensors[o];
  outs->joined = run_site(c, site->join, args);
  if (!outs->joined) return false;
  for (int o = 0; o < site->fuse->outputs; o++)
    if (is_part(site, o)) tensor_drop(&c->s->store.heap, outs->tensors[o]);
  return true;
}

/* --- Fused -------------------------------------------------------------- */

/* On failure the new outputs go and `taken` is what it was, so all sources are
 * still live for vm_unwind(); what has been written over one of them nobody
 * reads any more.  It is inline, since a call of it takes 25
 * more instructions. */
__attribute__((always_inline)) static inline bool run_fused(Chain *c) {
  Outs outs;
  unsigned taken = c->taken;
  int step = -1;
  OpCall call; /* as much of vm_op_call()'s as fuse.h asks for */
  call.arena = &c->s->scratch;
  call.stop = &c->s->store.stop;
  call.threads = c->s->limits.threads;
  call.contention = &c->s->contention;
  call.fault.message = NULL;
  if (!make_outs(c, &outs)) return false;
  bool ok = c->plan->is_line ? run_line(c, &outs, &call, &step)
                             : run_views(c, &outs, &call, &step);
  if (!ok) {
    vm_op_failed(c->s, c->site->members[step < 0 ? 0 : step], &call);
    arena_reset(&c->s->scratch);
  }
  if (ok && join_parts(c, &outs)) {
    store(c, &outs);
    return true;
  }
  drop_fresh(c, &outs);
  c->taken = taken;
  return false;
}

/* --- One by one --------------------------------------------------------- */

/* Inputs as headers on the stack; results of members, owned. */
typedef struct Unfused {
  Tensor views[FUSE_INPUTS];
  Tensor *results[FUSE_STEPS];
} Unfused;

/* Runs the operator of a view that cannot be made, so that it reports why.  So
 * the message is the operator's own: the caller sees no difference between an
 * absorbed view and one that was run. */
static bool view_fault(Chain *c, int i) {
  ChainInput in = c->site->inputs[i];
  Tensor index =
      tensor_on_bits(c->site->sources[in.index].dtype, source_of(c, in.index));
  const Tensor *args[] = {source_of(c, in.source)->tensor, &index};
  Tensor *view = run_site(c, in.view, args);
  assert(!view);
  (void)view;
  return false;
}

/* Results of members are owned by `a` until run_one_by_one() drops them. */
static bool run_member(Chain *c, Unfused *a, int i) {
  const FuseStep *step = &c->site->fuse->step[i];
  const OpSite *site = c->site->members[i];
  const Tensor *args[3];
  for (int k = 0; k < site->arg_count; k++) {
    int from = step->operands[k];
    args[k] =
        from < FUSE_STEPS ? a->results[from] : &a->views[from - FUSE_STEPS];
  }
  a->results[i] = run_site(c, site, args);
  return a->results[i];
}

/* An output gets a reference of its own before the results are dropped. */
static bool run_one_by_one(Chain *c) {
  const Fuse *f = c->site->fuse;
  Unfused a = {.results = {NULL}};
  Outs outs = {.fresh = 0};
  bool ok = true;
  for (int i = 0; ok && i < f->inputs; i++)
    ok = input_view(c, i, &a.views[i]) || view_fault(c, i);
  for (int i = 0; ok && i < f->steps; i++) ok = run_member(c, &a, i);
  for (int o = 0; ok && o < f->outputs; o++) {
    outs.tensors[o] = tensor_keep(a.results[f->output_step[o]]);
    outs.fresh |= 1u << o;
  }
  for (int i = 0; i < f->steps; i++)
    if (a.results[i]) tensor_drop(&c->s->store.heap, a.results[i]);
  ok = ok && join_parts(c, &outs);
  if (ok) store(c, &outs);
  else drop_fresh(c, &outs);
  return ok;
}

bool vm_chain(Session *s, const Word *pc) {
  const ChainSite *site = pc[1].data;
  Chain c = {.s = s,
             .site = site,
             .list = ins_list(pc),
             .taken = pc->a,
             .plan = (ChainPlan *)plan_find(&s->plans, site->number)};
  if ((!c.plan || !plan_fits(&c)) && !make_plan(&c)) return false;
  return c.plan->fused ? run_fused(&c) : run_one_by_one(&c);
}
