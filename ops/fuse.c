/* See fuse.h. */
#include "ops/fuse.h"

#include <assert.h>
#include <string.h>

#include "ops/kernel.h"

/* --- Making a program ---------------------------------------------------- */

void fuse_init(Fuse *f, int inputs) {
  assert(inputs <= FUSE_INPUTS);
  *f = (Fuse){.inputs = inputs};
}

/* The function that the operator's own kernel runs. */
static StripFn strip_of(OpId op, DType dtype) {
  if (op == OP_WHERE) return elementwise_where(dtype_size(dtype));
  if (!(op_info((int)op)->flags & OP_ELEMENTWISE)) return NULL;
  return elementwise_of(op, dtype).strip;
}

static bool gives_bool(OpId op) {
  RuleFn rule = op_info((int)op)->rule;
  return rule == rule_compare || rule == rule_float_test;
}

/* `operands` are of `dtype`, but for the condition of `where`. */
static void note_inputs(Fuse *f, const FuseStep *step, DType dtype) {
  for (int k = 0; k < 3; k++) {
    int input = step->operands[k] - FUSE_STEPS;
    bool chooses = step->op == OP_WHERE && k == 0;
    if (input >= 0)
      f->input_dtype[input] = (uint8_t)(chooses ? DT_BOOL : dtype);
  }
}

static int add_step(Fuse *f, const FuseStep *step, DType dtype) {
  if (!step->strip || f->steps == FUSE_STEPS) return -1;
  note_inputs(f, step, dtype);
  f->step[f->steps] = *step;
  f->step[f->steps].output = -1;
  return f->steps++;
}

int fuse_add(Fuse *f, OpId op, DType dtype, const int *operands) {
  FuseStep step = {.op = op, .strip = strip_of(op, dtype),
                   .operands = {-1, -1, -1},
                   .dtype = gives_bool(op) ? DT_BOOL : dtype};
  int count = op_arg_count(op_info((int)op));
  for (int i = 0; i < count && i < 3; i++) step.operands[i] = operands[i];
  return add_step(f, &step, dtype);
}

int fuse_add_cast(Fuse *f, DType from, DType to, int operand) {
  return add_step(f, &(FuseStep){.op = OP_CAST,
                                 .strip = elementwise_cast(from, to).strip,
                                 .operands = {operand, -1, -1},
                                 .dtype = to}, from);
}

int fuse_add_params(Fuse *f, OpId op, DType dtype, int operand,
                    const double params[2]) {
  FuseStep step = {.op = op, .strip = elementwise_of(op, dtype).strip,
                   .operands = {operand, -1, -1}, .dtype = dtype};
  for (int i = 0; i < 2; i++) step.params[i] = bits_from_f64(dtype, params[i]);
  return add_step(f, &step, dtype);
}

bool fuse_output(Fuse *f, int step) {
  if (f->outputs == FUSE_OUTPUTS || f->step[step].output >= 0) return false;
  f->output_step[f->outputs] = (uint8_t)step;
  f->step[step].output = (int8_t)f->outputs++;
  return true;
}

/* The last step that reads each step's result. */
static void find_last_uses(const Fuse *f, int *last) {
  for (int i = 0; i < f->steps; i++) {
    last[i] = f->step[i].output >= 0 ? f->steps : i;
    for (int k = 0; k < 3; k++) {
      int from = f->step[i].operands[k];
      if (from >= 0 && from < FUSE_STEPS && last[from] < i) last[from] = i;
    }
  }
}

/* Until which step a slot is taken, and the size of the elements there. */
typedef struct Slot { int until; size_t size; } Slot;

/* A step may write over an operand that it reads last, if it is as large. */
static bool slot_is_free(const Slot *slot, int step, size_t size) {
  return slot->until < step || (slot->until == step && slot->size == size);
}

bool fuse_finish(Fuse *f) {
  int last[FUSE_STEPS];
  Slot slots[FUSE_SLOTS];
  find_last_uses(f, last);
  for (int k = 0; k < FUSE_SLOTS; k++) slots[k] = (Slot){.until = -1};
  for (int i = 0; i < f->steps; i++) {
    size_t size = dtype_size((DType)f->step[i].dtype);
    int k = 0;
    while (k < FUSE_SLOTS && !slot_is_free(&slots[k], i, size)) k++;
    if (k == FUSE_SLOTS) return false;
    slots[k] = (Slot){last[i], size};
    f->step[i].slot = (int8_t)k;
  }
  return f->outputs > 0;
}

/* --- Shapes -------------------------------------------------------------- */

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

/* Inputs and outputs along the axes of the result, those that lie behind each
 * other everywhere merged. */
enum { OPERANDS = FUSE_INPUTS + FUSE_OUTPUTS };

typedef struct Grid {
  int rank, operands;
  int64_t shape[RANK_MAX];
  int64_t steps[RANK_MAX][OPERANDS];  /* in bytes */
  char *data[OPERANDS];
} Grid;

static int64_t step_along(const Tensor *t, const Tensor *out, int axis) {
  int own = axis - (out->rank - t->rank);
  if (own < 0 || (t->shape[own] == 1 && out->shape[axis] != 1)) return 0;
  return t->strides[own] * (int64_t)dtype_size(t->dtype);
}

static bool merges(const Grid *g, const int64_t *steps, int64_t n) {
  if (g->rank == 0) return false;
  for (int k = 0; k < g->operands; k++)
    if (g->steps[g->rank - 1][k] != steps[k] * n) return false;
  return true;
}

static void grid_init(Grid *g, const Tensor *const *tensors, int count) {
  const Tensor *out = tensors[count - 1];
  g->rank = 0;
  g->operands = count;
  for (int k = 0; k < count; k++) g->data[k] = tensors[k]->data;
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
}

/* Steps to the next run; false behind the last. */
static bool grid_next(Grid *g, int64_t *index) {
  for (int i = g->rank - 2; i >= 0; i--) {
    bool more = ++index[i] < g->shape[i];
    int64_t by = more ? 1 : 1 - g->shape[i];
    for (int k = 0; k < g->operands; k++) g->data[k] += by * g->steps[i][k];
    if (more) return true;
    index[i] = 0;
  }
  return false;
}

/* --- Running ------------------------------------------------------------- */

/* Where an operand or a result lies along a run. */
typedef struct Spot {
  char *data;
  int64_t step;     /* in elements, as strips want it */
  int64_t advance;  /* bytes an element; 0: the same place for every tile */
} Spot;

typedef char Slots[FUSE_SLOTS][FUSE_TILE * sizeof(Value)];

typedef struct Run {
  const Fuse *fuse;
  OpCall *call;
  int failed;                /* which step did */
  bool late;                 /* some output is written behind the last step */
  bool direct[FUSE_OUTPUTS]; /* by the step that makes it */
  Spot outputs[FUSE_OUTPUTS];
  Spot spots[FUSE_STEPS + FUSE_INPUTS];
} Run;

bool fuse_may_replace(const Fuse *f, int output, int input) {
  for (int i = f->output_step[output] + 1; i < f->steps; i++)
    for (int k = 0; k < 3; k++)
      if (f->step[i].operands[k] == FUSE_INPUT(input)) return false;
  return true;
}

static bool same_elements(const Tensor *a, const Tensor *b) {
  return a->data == b->data || (a->buffer && a->buffer == b->buffer);
}

static bool may_write(const Fuse *f, const OpCall *call, int output) {
  for (int i = 0; i < f->inputs; i++)
    if (same_elements(call->args[i], call->outs[output]) &&
        !fuse_may_replace(f, output, i))
      return false;
  return true;
}

/* Steps write to their outputs, or to slots. */
static void find_results(Run *r, Slots slots) {
  const Fuse *f = r->fuse;
  for (int i = 0; i < f->steps; i++) {
    int output = f->step[i].output;
    r->spots[i] = output >= 0 && r->direct[output]
                      ? r->outputs[output]
                      : (Spot){slots[f->step[i].slot], 1, 0};
  }
}

static bool step_fault(Run *r, int i, int code) {
  OpCall one = *r->call;
  one.op = op_info((int)r->fuse->step[i].op);
  op_fault(&one, (DiagCode)code,
           code == E0602 ? "division by zero" : "failed");
  r->call->fault = one.fault;
  r->failed = i;
  return false;
}

static void set_operand(Strip *s, int k, const Spot *from, int64_t at) {
  s->in[k] = from->data + at * from->advance;
  s->step[k] = from->step;
}

static bool run_step(Run *r, int i, int64_t at, int64_t n) {
  const FuseStep *step = &r->fuse->step[i];
  const Spot *to = &r->spots[i];
  Strip s;
  s.n = n;
  s.out = to->data + at * to->advance;
  s.out_step = to->step;
  for (int k = 0; k < 3 && step->operands[k] >= 0; k++)
    set_operand(&s, k, &r->spots[step->operands[k]], at);
  s.params[0] = step->params[0];
  s.params[1] = step->params[1];
  int code = step->strip(&s);
  return code == 0 || step_fault(r, i, code);
}

/* Outputs that had to wait until their inputs were read. */
static void store_late(const Run *r, int64_t at, int64_t n) {
  for (int i = 0; i < r->fuse->outputs; i++) {
    if (r->direct[i]) continue;
    DType dtype = (DType)r->call->outs[i]->dtype;
    const Spot *to = &r->outputs[i];
    Strip s = {.n = n, .out = to->data + at * to->advance,
               .out_step = to->step};
    set_operand(&s, 0, &r->spots[r->fuse->output_step[i]], at);
    elementwise_cast(dtype, dtype).strip(&s);
  }
}

static bool run_tiles(Run *r, int64_t count) {
  const Fuse *f = r->fuse;
  for (int64_t at = 0; at < count; at += FUSE_TILE) {
    int64_t n = count - at < FUSE_TILE ? count - at : FUSE_TILE;
    if (op_stopped(r->call)) return false;
    for (int i = 0; i < f->steps; i++)
      if (!run_step(r, i, at, n)) return false;
    if (r->late) store_late(r, at, n);
  }
  return true;
}

/* --- On tensors ---------------------------------------------------------- */

static Spot spot_of(const Grid *g, int k, const Tensor *t) {
  int64_t advance = g->rank ? g->steps[g->rank - 1][k] : 0;
  return (Spot){g->data[k], advance / (int64_t)dtype_size(t->dtype), advance};
}

/* Points at this run of the grid. */
static void find_spots(Run *r, const Grid *g, Slots slots) {
  const Fuse *f = r->fuse;
  for (int i = 0; i < f->inputs; i++)
    r->spots[FUSE_INPUT(i)] = spot_of(g, i, r->call->args[i]);
  for (int i = 0; i < f->outputs; i++)
    r->outputs[i] = spot_of(g, f->inputs + i, r->call->outs[i]);
  find_results(r, slots);
}

bool fuse_run(const Fuse *f, OpCall *call, int *step) {
  Slots slots __attribute__((aligned(64)));
  Run r;
  const Tensor *tensors[OPERANDS];
  r.fuse = f;
  r.call = call;
  r.late = false;
  r.failed = -1;
  for (int i = 0; i < f->inputs; i++) tensors[i] = call->args[i];
  for (int i = 0; i < f->outputs; i++) {
    tensors[f->inputs + i] = call->outs[i];
    r.direct[i] = may_write(f, call, i);
    r.late |= !r.direct[i];
  }
  if (tensor_count(call->outs[0]) == 0) return true;
  Grid g;
  grid_init(&g, tensors, f->inputs + f->outputs);
  int64_t index[RANK_MAX] = {0}, n = g.rank ? g.shape[g.rank - 1] : 1;
  do {
    find_spots(&r, &g, slots);
    if (!run_tiles(&r, n)) return *step = r.failed, false;
  } while (grid_next(&g, index));
  return true;
}

/* --- Along a line -------------------------------------------------------- */

bool fuse_line(const Fuse *f, const Tensor *const *tensors, FuseLine *line) {
  Grid g;
  int count = f->inputs + f->outputs;
  grid_init(&g, tensors, count);
  if (g.rank > 1) return false;
  line->n = g.rank ? g.shape[0] : 1;
  for (int k = 0; k < count; k++)
    line->steps[k] = g.rank ? spot_of(&g, k, tensors[k]).step : 0;
  return true;
}

static Spot spot_on(const FuseLine *line, int k, char *data, DType dtype) {
  int64_t step = line->steps[k];
  return (Spot){data, step, step * (int64_t)dtype_size(dtype)};
}

bool fuse_run_line(const Fuse *f, const FuseLine *line, char *const *data,
                   OpCall *call, int *step) {
  Slots slots __attribute__((aligned(64)));
  Run r;
  r.fuse = f;
  r.call = call;
  r.late = false;
  r.failed = -1;
  for (int i = 0; i < f->inputs; i++)
    r.spots[FUSE_INPUT(i)] =
        spot_on(line, i, data[i], (DType)f->input_dtype[i]);
  for (int i = 0; i < f->outputs; i++) {
    DType dtype = (DType)f->step[f->output_step[i]].dtype;
    r.outputs[i] = spot_on(line, f->inputs + i, data[f->inputs + i], dtype);
    r.direct[i] = true;
  }
  find_results(&r, slots);
  return run_tiles(&r, line->n) || (*step = r.failed, false);
}
