/* Chains of element-wise operators, run tile by tile; fuse.h has the interface
 * and an example.
 *
 * A program is a list of steps in an order in which operands come before their
 * uses.  fuse_finish() does what a compiler does for registers: it finds the
 * last use of each step's result (liveness) and assigns slots by a linear scan
 * (Poletto and Sarkar, 1999), so that a few slots of FUSE_TILE elements serve
 * many steps, and all of them stay in the first-level cache.  At run time every
 * value has a place:
 *
 *   places   | inputs 0..11 | outputs 12..15 | slots 16..27 |
 *   a step   reads places from[0..2], writes place `to`, for one tile
 *
 * A step is one call of its operator's own strip function (strip.h), so a fused
 * chain gives the same bits as its operators one by one.  Where strides allow,
 * a sum, difference or product of floats and a second one of its result are one
 * call (Pairs, isa.h), with the same roundings: that saves storing the first
 * result and reading it again.
 *
 * Operands lie in one of two ways.  A Line: each operand is one run with a
 * stride, and a tile is a range of it.  A Grid: the operands broadcast or are
 * strided, and the axes that merge in all of them are merged; tiles then lie
 * along the innermost axis.  In both, tiles are independent and are shared out
 * among threads.
 *
 * Outputs may be written over inputs.  An output whose memory is read by a step
 * after its own is `late`: it is computed in its slot and copied out when the
 * tile is done.
 *
 * A fault (integer division by zero) is reported as one thread would meet it
 * first: of all shares' faults the one in the first share counts. */
#include "kernels/fuse.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "kernels/drive/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/parallel.h"
#include "kernels/ref/loop.h"

/* --- Making a program ---------------------------------------------------- */

void fuse_init(Fuse *f, int inputs) {
  assert(inputs <= FUSE_INPUTS);
  *f = (Fuse){.inputs = inputs, .nanoseconds = ELEMENT_MOVED};
}

/* The strip function of the operator's own kernel. */
static StripFn step_strip(OpId op, DType dtype) {
  switch (op_info((int)op)->fusion) {
    case FUSION_STEP: return strip_of(op, dtype);
    case FUSION_CHOICE: return strip_of_where(dtype_size(dtype));
    case FUSION_NONE:
    case FUSION_CAST:
    case FUSION_BIAS: return NULL;
  }
  return NULL;
}

/* Records which inputs the step reads.  Operands are of `dtype`, except the
 * condition of `where`. */
static void note_inputs(Fuse *f, const FuseStep *step, DType dtype) {
  for (int k = 0; k < 3; k++) {
    int input = step->operands[k] - FUSE_STEPS;
    bool chooses = op_info((int)step->op)->fusion == FUSION_CHOICE && k == 0;
    if (input >= 0)
      f->input_dtype[input] = (uint8_t)(chooses ? DT_BOOL : dtype);
  }
}

/* Appends a step whose `strip` is known; -1 when there is none for the dtype,
 * or no room. */
static int add_step(Fuse *f, const FuseStep *step, DType dtype) {
  if (!step->call.strip || f->steps == FUSE_STEPS) return -1;
  note_inputs(f, step, dtype);
  f->nanoseconds += elementwise_time(step->op, dtype);
  f->step[f->steps] = *step;
  f->step[f->steps].output = -1;
  return f->steps++;
}

int fuse_add(Fuse *f, OpId op, DType dtype, const int *operands) {
  const OpInfo *info = op_info((int)op);
  FuseStep step = {.op = op,
                   .call.strip = step_strip(op, dtype),
                   .operands = {-1, -1, -1},
                   .dtype = op_rule(info)->gives_bool ? DT_BOOL : dtype};
  int count = op_arg_count(info);
  for (int i = 0; i < count && i < 3; i++) step.operands[i] = operands[i];
  step.call.has_third = count > 2;
  return add_step(f, &step, dtype);
}

int fuse_add_cast(Fuse *f, DType from, DType to, int operand) {
  return add_step(f,
                  &(FuseStep){.op = OP_CAST,
                              .call.strip = strip_of_cast(from, to),
                              .operands = {operand, -1, -1},
                              .dtype = to},
                  from);
}

/* Parameters become elements of the dtype here, once, as kernel_elementwise()
 * makes them at each call. */
int fuse_add_params(Fuse *f, OpId op, DType dtype, int operand,
                    const double params[OP_PARAMS_MAX]) {
  FuseStep step = {.op = op,
                   .call = {.strip = strip_of(op, dtype), .has_params = true},
                   .operands = {operand, -1, -1},
                   .dtype = dtype};
  for (int i = 0; i < OP_PARAMS_MAX; i++)
    step.params[i] = bits_from_f64(dtype, params[i]);
  return add_step(f, &step, dtype);
}

bool fuse_output(Fuse *f, int step) {
  if (f->outputs == FUSE_OUTPUTS || f->step[step].output >= 0) return false;
  f->output_step[f->outputs] = (uint8_t)step;
  f->step[step].output = (int8_t)f->outputs++;
  return true;
}

/* Finds for each step the last step that reads its result (liveness).  An
 * output lives to the end: when it is late, its slot holds it until then.  A
 * result that nobody reads lives until its own step. */
static void find_last_uses(const Fuse *f, int *last) {
  for (int i = 0; i < f->steps; i++) {
    last[i] = f->step[i].output >= 0 ? f->steps : i;
    for (int k = 0; k < 3; k++) {
      int from = f->step[i].operands[k];
      if (from >= 0 && from < FUSE_STEPS && last[from] < i) last[from] = i;
    }
  }
}

/* The last step that needs the slot's value, and the size of its elements. */
typedef struct Slot {
  int until;
  size_t size;
} Slot;

/* A step may overwrite an operand that it is the last to read, if the sizes
 * agree: it reads element i before it writes element i.  With other sizes it
 * would overwrite elements that it has not read. */
static bool slot_is_free(const Slot *slot, int step, size_t size) {
  return slot->until < step || (slot->until == step && slot->size == size);
}

/* Takes for each step the first slot that is free.  An output has a slot as
 * well, in which it waits when it is late. */
static bool find_slots(Fuse *f) {
  int last[FUSE_STEPS];
  Slot slots[FUSE_SLOTS];
  find_last_uses(f, last);
  f->slots = 0;
  for (int k = 0; k < FUSE_SLOTS; k++) slots[k] = (Slot){.until = -1};
  for (int i = 0; i < f->steps; i++) {
    size_t size = dtype_size((DType)f->step[i].dtype);
    int k = 0;
    while (k < FUSE_SLOTS && !slot_is_free(&slots[k], i, size)) k++;
    if (k == FUSE_SLOTS) return false;
    slots[k] = (Slot){last[i], size};
    f->step[i].slot = (int8_t)k;
    if (f->slots <= k) f->slots = k + 1;
  }
  return true;
}

/* Places of values at run time: inputs, then outputs, then slots. */
enum {
  OUTPUT_PLACE = FUSE_INPUTS,
  SLOT_PLACE = OUTPUT_PLACE + FUSE_OUTPUTS,
  PLACES = SLOT_PLACE + FUSE_SLOTS
};

static int place_of_result(const FuseStep *s) {
  return s->output >= 0 ? OUTPUT_PLACE + s->output : SLOT_PLACE + s->slot;
}

/* A missing operand gets some valid place, since run_step reads it without
 * asking. */
static int place_of_operand(const Fuse *f, int from) {
  if (from < 0) return 0;
  return from < FUSE_STEPS ? f->step[from].call.to : from - FUSE_STEPS;
}

static void find_places(Fuse *f) {
  for (int i = 0; i < f->steps; i++) {
    FuseStep *s = &f->step[i];
    s->call.step = (uint8_t)i;
    s->call.to = (uint8_t)place_of_result(s);
    for (int k = 0; k < 3; k++)
      s->call.from[k] = (uint8_t)place_of_operand(f, s->operands[k]);
  }
}

/* --- Steps joined in pairs ------------------------------------------------ */

int fuse_reads(const Fuse *f, int step) {
  int reads = 0;
  for (int i = step + 1; i < f->steps; i++)
    for (int k = 0; k < 3; k++) reads += f->step[i].operands[k] == step;
  return reads;
}

/* An operator of pairs: which it is as the first of two, and as the second, on
 * the first result from the left or from the right. */
typedef struct Arithmetic {
  bool is;
  PairFirst first;
  PairThen left, right;
} Arithmetic;

static const Arithmetic arithmetic[OP_COUNT] = {
    [OP_ADD] = {true, PAIR_ADD, THEN_ADD, THEN_ADD},
    [OP_SUBTRACT] = {true, PAIR_SUBTRACT, THEN_SUBTRACT, THEN_FROM},
    [OP_MULTIPLY] = {true, PAIR_MULTIPLY, THEN_MULTIPLY, THEN_MULTIPLY},
};

/* The loops that begin with the step's operator, by PairThen; NULL: it is no
 * sum, difference or product of floats, or floats of its dtype are not computed
 * in the form in which they lie in memory. */
static const StripFn *loops_of(const FuseStep *s) {
  DType dtype = (DType)s->dtype;
  if (!arithmetic[s->op].is || !dtype_is_float(dtype) ||
      dtype_info[dtype].form != FORM_PLAIN)
    return NULL;
  return isa_in_use()->pairs[dtype_in(dtype)]->of[arithmetic[s->op].first];
}

/* May step i and the one before be one call?  Nobody else reads the result of
 * the one before, which is not stored.  No output is written between the two:
 * it might replace an operand of the first (fuse_may_replace). */
static bool is_pair(const Fuse *f, int i) {
  const FuseStep *s = &f->step[i], *before = s - 1;
  bool reads = s->operands[0] == i - 1 || s->operands[1] == i - 1;
  return reads && s->dtype == before->dtype && before->output < 0 &&
         loops_of(before) && loops_of(s) && fuse_reads(f, i - 1) == 1;
}

/* The call of the step before, `own`, as one with step i. */
static FuseCall pair_call(const Fuse *f, int i, const FuseCall *own) {
  const FuseStep *s = &f->step[i];
  const Arithmetic *second = &arithmetic[s->op];
  bool left = s->operands[0] == i - 1;
  return (FuseCall){
      .strip = loops_of(s - 1)[left ? second->left : second->right],
      .from = {own->from[0], own->from[1], s->call.from[left]},
      .to = s->call.to,
      .step = s->call.step,
      .has_third = true};
}

/* The step's own call. */
static FuseCall single_call(const FuseStep *s) {
  const StripFn *loops = loops_of(s);
  FuseCall call = s->call;
  if (loops) call.strip = loops[THEN_NOTHING];
  return call;
}

/* Takes pairs from the first step on. */
static void find_joined_calls(Fuse *f) {
  FuseCall *call = f->joined;
  bool single = false; /* the call before is of one step */
  for (int i = 0; i < f->steps; i++) {
    if (single && is_pair(f, i)) {
      call[-1] = pair_call(f, i, call - 1);
      single = false;
    } else {
      *call++ = single_call(&f->step[i]);
      single = true;
    }
  }
  f->joined_calls = (int)(call - f->joined);
}

/* Places are known only when all slots are. */
bool fuse_finish(Fuse *f) {
  if (!find_slots(f)) return false;
  find_places(f);
  find_joined_calls(f);
  return f->outputs > 0;
}

/* --- Shapes -------------------------------------------------------------- */

/* Broadcasting from the last axis on: lengths agree or are 1. */
bool fuse_shape(const Fuse *f, const Tensor *const *args, int *rank,
                int64_t shape[RANK_MAX]) {
  *rank = 0;
  for (int i = 0; i < f->inputs; i++)
    if (args[i]->rank > *rank) *rank = args[i]->rank;
  for (int axis = 0; axis < *rank; axis++) {
    int64_t n = 1;
    for (int i = 0; i < f->inputs; i++) {
      int own = axis - (*rank - args[i]->rank);
      int64_t m = own < 0 ? 1 : args[i]->shape[own];
      if (n != 1 && m != 1 && n != m) return false;
      if (m != 1) n = m;
    }
    shape[axis] = n;
  }
  return true;
}

/* The inputs and outputs along the axes of the result, with axes merged where
 * all are contiguous. */
enum { OPERANDS = FUSE_INPUTS + FUSE_OUTPUTS };

typedef struct Grid {
  int rank, operands;
  int64_t n; /* elements of a run, which lies along the last axis */
  int64_t runs;
  int64_t shape[RANK_MAX];
  int64_t steps[RANK_MAX][OPERANDS]; /* strides in bytes */
} Grid;

/* A run of a grid: the address of each operand. */
typedef struct GridAt {
  int64_t index[RANK_MAX];
  char *data[OPERANDS];
} GridAt;

/* The operand's stride in bytes along an axis of the result; 0 where it is
 * broadcast. */
static int64_t step_along(const Tensor *t, const Tensor *out, int axis) {
  int own = axis - (out->rank - t->rank);
  if (own < 0 || (t->shape[own] == 1 && out->shape[axis] != 1)) return 0;
  return t->strides[own] * (int64_t)dtype_size(t->dtype);
}

/* Can the next axis, with these strides and n elements, join the last one?  For
 * each operand a step along the last must be as long as n steps along the
 * next. */
static bool merges(const Grid *g, const int64_t *steps, int64_t n) {
  if (g->rank == 0) return false;
  for (int k = 0; k < g->operands; k++)
    if (g->steps[g->rank - 1][k] != steps[k] * n) return false;
  return true;
}

/* The last tensor is an output, so its shape is the result's.  Merging goes
 * from the outermost axis in: a merged axis takes the inner strides. */
static void grid_init(Grid *g, const Tensor *const *tensors, int count) {
  const Tensor *out = tensors[count - 1];
  g->rank = 0;
  g->operands = count;
  for (int axis = 0; axis < out->rank; axis++) {
    int64_t n = out->shape[axis], *steps = g->steps[g->rank];
    if (n == 1) continue;
    for (int k = 0; k < count; k++)
      steps[k] = step_along(tensors[k], out, axis);
    if (!merges(g, steps, n)) {
      g->shape[g->rank++] = n;
      continue;
    }
    g->shape[g->rank - 1] *= n;
    memcpy(g->steps[g->rank - 1], steps, (size_t)count * sizeof *steps);
  }
  g->n = g->rank ? g->shape[g->rank - 1] : 1;
  g->runs = 1;
  for (int i = 0; i < g->rank - 1; i++) g->runs *= g->shape[i];
}

/* The addresses of run number `run`. */
static GridAt grid_at(const Grid *g, char *const *data, int64_t run) {
  GridAt at;
  memcpy(at.data, data, (size_t)g->operands * sizeof *data);
  for (int i = g->rank - 2; i >= 0; i--) {
    at.index[i] = run % g->shape[i];
    run /= g->shape[i];
    for (int k = 0; k < g->operands; k++)
      at.data[k] += at.index[i] * g->steps[i][k];
  }
  return at;
}

/* Advances to the next run; from the last one back to the first. */
static void grid_next(const Grid *g, GridAt *at) {
  for (int i = g->rank - 2; i >= 0; i--) {
    bool more = ++at->index[i] < g->shape[i];
    int64_t by = more ? 1 : 1 - g->shape[i];
    for (int k = 0; k < g->operands; k++) at->data[k] += by * g->steps[i][k];
    if (more) return;
    at->index[i] = 0;
  }
}

/* --- Running ------------------------------------------------------------- */

/* The position of a value along a run or a tile. */
typedef struct Spot {
  char *data;
  int64_t step; /* in elements, as strips expect */
} Spot;

/* Bytes between two slots.  Slots so begin an odd number of cache lines apart,
 * 37 of 64 bytes, and equal elements of two slots never share their offset in a
 * page (4 KiB aliasing): a load would wait for a store to the other slot. */
enum { SLOT_GAP = 320 };
typedef char Slots[FUSE_SLOTS][FUSE_TILE * sizeof(Value) + SLOT_GAP]
    __attribute__((aligned(64)));

/* The work that threads share, tile by tile.  A fault ends one share, not the
 * others, because the fault to report is the first in the order of one
 * thread. */
typedef struct Job {
  const Fuse *fuse;
  StopFlag *stop;
  char *const *data; /* address of each operand */
  const Grid *grid;  /* NULL when the operands form a line */
  const FuseLine *line;
  FuseStrides strides;
  unsigned late; /* outputs that are written after the last step:
                    until then they are in their slots */
  /* least of the faults met: share and step packed in one word */
  _Atomic int64_t *fault;
} Job;

/* The state of one share. */
typedef struct Run {
  const Fuse *fuse;
  StopFlag *stop;
  int failed; /* the failed step; -1 for none */
  FuseStrides strides;
  unsigned late;
  Spot results[FUSE_OUTPUTS]; /* addresses of the late outputs */
  Spot places[PLACES];
} Run;

/* The output is written when its step has run on the tile; a later step that
 * reads the input would read results. */
bool fuse_may_replace(const Fuse *f, int output, int input) {
  for (int i = f->output_step[output] + 1; i < f->steps; i++)
    for (int k = 0; k < 3; k++)
      if (f->step[i].operands[k] == FUSE_INPUT(input)) return false;
  return true;
}

static bool same_elements(const Tensor *a, const Tensor *b) {
  return a->data == b->data || (a->buffer && a->buffer == b->buffer);
}

/* A view of the same buffer counts as the same elements, since whether two
 * views overlap is not worth finding out. */
static bool may_write(const Fuse *f, const OpCall *call, int output) {
  for (int i = 0; i < f->inputs; i++)
    if (same_elements(call->args[i], call->outs[output]) &&
        !fuse_may_replace(f, output, i))
      return false;
  return true;
}

static DType output_dtype(const Fuse *f, int i) {
  return (DType)f->step[f->output_step[i]].dtype;
}

static void run_init(Run *r, const Fuse *f, StopFlag *stop, FuseStrides strides,
                     char *slots) {
  r->fuse = f;
  r->stop = stop;
  r->late = 0;
  r->strides = strides;
  r->failed = -1;
  for (int k = 0; k < f->slots; k++, slots += sizeof(Slots) / FUSE_SLOTS)
    r->places[SLOT_PLACE + k] = (Spot){slots, 1};
}

/* A late output is computed in its slot, and copied to `results` after the
 * tile. */
static void set_output(Run *r, int i, Spot to) {
  Spot *now = &r->places[OUTPUT_PLACE + i];
  *now = to;
  if (!(r->late >> i & 1)) return;
  r->results[i] = to;
  *now = r->places[SLOT_PLACE + r->fuse->step[r->fuse->output_step[i]].slot];
}

/* Runs one call on a tile; `s` has the tile's length and, with `one`, the
 * strides of the result and of two operands, which are 1.  Sets the second
 * operand without asking whether the call has one: its place is valid, and the
 * strip function does not look. */
ALWAYS_INLINE int run_call(Strip *s, const Run *r, const FuseCall *call,
                           bool one) {
  const Spot *places = r->places;
  const Spot *out = &places[call->to], *a = &places[call->from[0]],
             *b = &places[call->from[1]];
  s->out = out->data;
  s->in[0] = a->data;
  s->in[1] = b->data;
  if (!one) s->out_step = out->step, s->step[0] = a->step, s->step[1] = b->step;
  if (call->has_third) {
    s->in[2] = places[call->from[2]].data;
    s->step[2] = places[call->from[2]].step;
  }
  if (call->has_params)
    memcpy(s->params, r->fuse->step[call->step].params, sizeof s->params);
  return call->strip(s);
}

/* Stores the outputs that had to wait until their inputs were read, with a cast
 * from the dtype to itself as the copy. */
static void store_late(const Run *r, int64_t n) {
  for (unsigned m = r->late; m; m &= m - 1) {
    int i = __builtin_ctz(m);
    DType dtype = output_dtype(r->fuse, i);
    const Spot *from = &r->places[OUTPUT_PLACE + i], *to = &r->results[i];
    Strip s = {.n = n,
               .out = to->data,
               .out_step = to->step,
               .in = {from->data},
               .step = {from->step}};
    strip_of_cast(dtype, dtype)(&s);
  }
}

/* The steps in order, one by one or joined; false with the step that failed. */
RARELY bool run_steps(Run *r, int64_t n) {
  const Fuse *f = r->fuse;
  Strip s;
  s.n = n;
  for (int i = 0; i < f->steps; i++)
    if (run_call(&s, r, &f->step[i].call, false)) return r->failed = i, false;
  return true;
}

ALWAYS_INLINE bool run_joined(Run *r, int64_t n, bool one) {
  const Fuse *f = r->fuse;
  const FuseCall *end = f->joined + f->joined_calls;
  Strip s;
  s.n = n;
  if (one) s.out_step = s.step[0] = s.step[1] = 1;
  for (const FuseCall *call = f->joined; call < end; call++)
    if (run_call(&s, r, call, one)) return r->failed = call->step, false;
  return true;
}

/* The loop for each kind of strides. */
ALWAYS_INLINE bool run_all(Run *r, int64_t n) {
  switch (r->strides) {
    case STRIDES_ONE: return run_joined(r, n, true);
    case STRIDES_ONE_OR_ZERO: return run_joined(r, n, false);
    case STRIDES_ANY: break;
  }
  return run_steps(r, n);
}

/* False when asked to stop, or after a fault. */
static bool run_tile(Run *r, int64_t n) {
  if (stop_seen(r->stop)) return false;
  if (!run_all(r, n)) return false;
  if (r->late) store_late(r, n);
  return true;
}

static void advance(Spot *p, DType dtype, int64_t tiles) {
  p->data += p->step * (int64_t)dtype_size(dtype) * FUSE_TILE * tiles;
}

/* Moves the inputs and outputs on; slots stay where they are. */
static void skip_tiles(Run *r, int64_t tiles) {
  const Fuse *f = r->fuse;
  for (int i = 0; i < f->inputs; i++)
    advance(&r->places[i], (DType)f->input_dtype[i], tiles);
  for (int i = 0; i < f->outputs; i++)
    advance(r->late >> i & 1 ? &r->results[i] : &r->places[OUTPUT_PLACE + i],
            output_dtype(f, i), tiles);
}

/* `count` > 0 elements from the current place on.  The place after the last
 * tile is not computed: it may lie beyond the memory. */
static bool run_tiles(Run *r, int64_t count) {
  for (; count > FUSE_TILE; count -= FUSE_TILE) {
    if (!run_tile(r, FUSE_TILE)) return false;
    skip_tiles(r, 1);
  }
  return run_tile(r, count);
}

/* Runs tiles from .. to of a run of n elements; `r` stands at the first one. */
static bool run_part(Run *r, int64_t from, int64_t to, int64_t n) {
  int64_t end = to * FUSE_TILE < n ? to * FUSE_TILE : n;
  if (from) skip_tiles(r, from);
  return run_tiles(r, end - from * FUSE_TILE);
}

/* --- Sharing ------------------------------------------------------------- */

static const int64_t NO_FAULT = INT64_MAX;

static int64_t tiles_in(int64_t n) { return (n + FUSE_TILE - 1) / FUSE_TILE; }

/* Records the fault of a share that ended early, as one number that orders
 * faults as one thread would meet them: the share's first tile, then the step.
 * Shares are contiguous ranges of tiles, so the share that starts first has the
 * first fault.  Within a share the tile is the first that failed. */
static bool end_share(const Job *job, const Share *share, const Run *r) {
  if (r->failed < 0) return false;
  int64_t fault = share->from * FUSE_STEPS + r->failed;
  int64_t first = atomic_load(job->fault);
  while (fault < first &&
         !atomic_compare_exchange_weak(job->fault, &first, fault)) {
  }
  return false;
}

/* Words the fault as the step's operator would, in a copy of the call. */
static bool step_fault(const Fuse *f, OpCall *call, int step) {
  OpCall one = *call;
  one.op = op_info((int)f->step[step].op);
  elementwise_fault(&one);
  call->fault = one.fault;
  return false;
}

static bool first_fault(const Fuse *f, OpCall *call, int64_t fault, int *step) {
  *step = (int)(fault % FUSE_STEPS);
  return step_fault(f, call, *step);
}

/* Runs `n` elements in all through `work`; on this thread when they are few. */
ALWAYS_INLINE bool run_job(Job *job, OpCall *call, ShareFn work, int64_t n,
                           int64_t tiles, int *step) {
  _Atomic int64_t fault = NO_FAULT;
  double time = job->fuse->nanoseconds * (double)n;
  job->stop = call->stop;
  job->fault = &fault;
  int threads = tiles > 1 ? parallel_threads(call, tiles, time) : 1;
  if (threads > 1 ? parallel_run(call, threads, tiles, work, job)
                  : work(job, &(Share){0, tiles, 0}))
    return true;
  *step = -1;
  return fault != NO_FAULT && first_fault(job->fuse, call, fault, step);
}

/* --- On tensors ---------------------------------------------------------- */

/* Grids count bytes, strips elements. */
static int64_t step_on(const Grid *g, int k, DType dtype) {
  int64_t bytes = g->rank ? g->steps[g->rank - 1][k] : 0;
  return bytes / (int64_t)dtype_size(dtype);
}

/* Sets the places for one run of the grid. */
static void set_places(Run *r, const Grid *g, const GridAt *at) {
  const Fuse *f = r->fuse;
  for (int i = 0; i < f->inputs; i++)
    r->places[i] = (Spot){at->data[i], step_on(g, i, (DType)f->input_dtype[i])};
  for (int i = 0; i < f->outputs; i++) {
    int k = f->inputs + i;
    set_output(r, i, (Spot){at->data[k], step_on(g, k, output_dtype(f, i))});
  }
}

/* Tiles are numbered over all runs; a share may begin and end within a run. */
static bool grid_share(const void *data, const Share *share) {
  const Job *job = data;
  const Grid *g = job->grid;
  Slots slots;
  Run r;
  int64_t tiles = tiles_in(g->n), end;
  int64_t run = share->from / tiles;
  GridAt at = grid_at(g, job->data, run);
  run_init(&r, job->fuse, job->stop, job->strides, slots[0]);
  r.late = job->late;
  for (int64_t i = share->from; i < share->to; i = end, run++) {
    end = (run + 1) * tiles < share->to ? (run + 1) * tiles : share->to;
    set_places(&r, g, &at);
    if (!run_part(&r, i - run * tiles, end - run * tiles, g->n))
      return end_share(job, share, &r);
    grid_next(g, &at);
  }
  return true;
}

/* The strides along a run. */
static FuseStrides strides_of(const Fuse *f, const Grid *g,
                              const Tensor *const *tensors) {
  FuseStrides strides = STRIDES_ONE;
  for (int k = 0; k < g->operands; k++) {
    int64_t step = step_on(g, k, (DType)tensors[k]->dtype);
    if (step == 1) continue;
    if (step != 0 || k >= f->inputs) return STRIDES_ANY;
    strides = STRIDES_ONE_OR_ZERO;
  }
  return strides;
}

/* Any output serves for the count, since all have one shape. */
bool fuse_run(const Fuse *f, OpCall *call, int *step) {
  const Tensor *tensors[OPERANDS];
  char *data[OPERANDS];
  unsigned late = 0;
  for (int i = 0; i < f->inputs; i++) tensors[i] = call->args[i];
  for (int i = 0; i < f->outputs; i++) {
    tensors[f->inputs + i] = call->outs[i];
    if (!may_write(f, call, i)) late |= 1u << i;
  }
  int64_t count = tensor_count(call->outs[0]);
  if (count == 0) return true;
  Grid g;
  grid_init(&g, tensors, f->inputs + f->outputs);
  for (int k = 0; k < g.operands; k++) data[k] = tensors[k]->data;
  Job job = {.fuse = f,
             .data = data,
             .grid = &g,
             .strides = strides_of(f, &g, tensors),
             .late = late};
  return run_job(&job, call, grid_share, count, g.runs * tiles_in(g.n), step);
}

/* --- Along a line -------------------------------------------------------- */

/* One axis or none is left after merging: then every operand has one stride. */
bool fuse_line(const Fuse *f, const Tensor *const *tensors, FuseLine *line) {
  Grid g;
  int count = f->inputs + f->outputs;
  grid_init(&g, tensors, count);
  if (g.rank > 1) return false;
  line->n = g.n;
  for (int k = 0; k < count; k++)
    line->steps[k] = step_on(&g, k, (DType)tensors[k]->dtype);
  line->strides = strides_of(f, &g, tensors);
  return true;
}

/* The caller has ruled out late outputs (fuse_may_replace), so places are set
 * once, without a look at `late`. */
ALWAYS_INLINE void line_init(Run *r, const Fuse *f, StopFlag *stop,
                             const FuseLine *line, char *const *data,
                             char *slots) {
  run_init(r, f, stop, line->strides, slots);
  for (int i = 0; i < f->inputs; i++)
    r->places[i] = (Spot){data[i], line->steps[i]};
  for (int i = 0; i < f->outputs; i++) {
    int k = f->inputs + i;
    r->places[OUTPUT_PLACE + i] = (Spot){data[k], line->steps[k]};
  }
}

static bool line_share(const void *data, const Share *share) {
  const Job *job = data;
  Slots slots;
  Run r;
  line_init(&r, job->fuse, job->stop, job->line, job->data, slots[0]);
  return run_part(&r, share->from, share->to, job->line->n) ||
         end_share(job, share, &r);
}

/* Runs a job of a single tile, without the cost of sharing it out. */
static bool run_one_tile(const Fuse *f, const FuseLine *line, char *const *data,
                         OpCall *call, int *step) {
  Slots slots;
  Run r;
  line_init(&r, f, call->stop, line, data, slots[0]);
  if (run_tile(&r, line->n)) return true;
  *step = r.failed;
  return r.failed >= 0 && step_fault(f, call, r.failed);
}

bool fuse_run_line(const Fuse *f, const FuseLine *line, char *const *data,
                   OpCall *call, int *step) {
  if (line->n <= FUSE_TILE) return run_one_tile(f, line, data, call, step);
  Job job = {.fuse = f, .data = data, .line = line};
  return run_job(&job, call, line_share, line->n, tiles_in(line->n), step);
}
