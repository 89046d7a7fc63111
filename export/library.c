/* Functions of the library that are operators of ONNX: @map over a sequence,
 * the rows that a loop gives, and recurrent layers (stdlib/rnn.rly), which
 * compute the same, but for the order of the gates' rows:
 *
 *            here, as PyTorch     ONNX
 *   LSTM     i f g o              i o f g
 *   GRU      r z n                z r n      (linear_before_reset = 1)
 *
 * A weight (G H, I) becomes (1, G H, I), the two biases (1, 2 G H), a state
 * (B, H) becomes (1, B, H); what comes out, (T, 1, B, H), loses that axis. */
#include <string.h>

#include "export/say.h"

typedef struct Layer Layer;

/* A call of the function.  False: ONNX cannot say this one, and the library's
 * text is evaluated. */
typedef bool SayLayer(const Said *s, const Layer *l, int count,
                      Val *const *args, Val **out);

struct Layer {
  const char *name; /* of the library's function */
  SayLayer *say;
  const char *op;
  int gates;
  int order[4]; /* ONNX's gate i is the library's order[i] */
  /* The positions of the parameters; -1: the function has none.  The weights
   * are the last four. */
  int by, activation, x, lengths, state;
  bool cell;                /* the states are h and c */
  bool linear_before_reset; /* the attribute of GRU that says so is 1 */
};

static SayLayer say_map, say_rows, say_recurrent;

static const Layer layers[] = {
    {.name = "map", .say = say_map},
    {.name = "onnx_rows", .say = say_rows},
    {.name = "lstm_run",
     .say = say_recurrent,
     .op = "LSTM",
     .gates = 4,
     .order = {0, 3, 1, 2},
     .by = 0,
     .activation = -1,
     .x = 1,
     .lengths = -1,
     .state = 2,
     .cell = true},
    {.name = "lstm_masked",
     .say = say_recurrent,
     .op = "LSTM",
     .gates = 4,
     .order = {0, 3, 1, 2},
     .by = -1,
     .activation = -1,
     .x = 0,
     .lengths = 1,
     .state = 2,
     .cell = true},
    {.name = "gru_run",
     .say = say_recurrent,
     .op = "GRU",
     .gates = 3,
     .order = {1, 0, 2},
     .by = 0,
     .activation = -1,
     .x = 1,
     .lengths = -1,
     .state = 2,
     .linear_before_reset = true},
    {.name = "gru_masked",
     .say = say_recurrent,
     .op = "GRU",
     .gates = 3,
     .order = {1, 0, 2},
     .by = -1,
     .activation = -1,
     .x = 0,
     .lengths = 1,
     .state = 2,
     .linear_before_reset = true},
    {.name = "rnn_run",
     .say = say_recurrent,
     .op = "RNN",
     .gates = 1,
     .order = {0},
     .by = 0,
     .activation = 1,
     .x = 2,
     .lengths = -1,
     .state = 3},
};

static const Layer *layer_of(const Global *g) {
  g = global_of_text(g);
  if (!g->library) return NULL;
  for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
    if (!strcmp(layers[i].name, g->name->text)) return &layers[i];
  return NULL;
}

/* --- Weights -------------------------------------------------------------- */

/* The rows of constant weights are put in ONNX's order here; those of others by
 * nodes. */
static Val *ordered_constant(Export *x, const Layer *l, const Tensor *t) {
  if (!tensor_is_contiguous(t)) return NULL;
  Tensor *made = program_tensor_new(x->p, (DType)t->dtype, t->rank, t->shape);
  if (!made) return NULL;
  size_t block = tensor_bytes(t) / (size_t)l->gates;
  for (int i = 0; i < l->gates; i++)
    memcpy(made->data + (size_t)i * block,
           t->data + (size_t)l->order[i] * block, block);
  made = program_constant_take(x->p, made);
  return made ? val_constant(x, made) : NULL;
}

static Val *ordered(const Said *s, const Layer *l, Val *v) {
  Export *x = s->x;
  if (v->constant) {
    Val *made = ordered_constant(x, l, v->constant);
    if (made && v->reserved) made->reserved = onnx_name(x->w, v->reserved);
    if (made) return made;
  }
  OnnxNode *n = said_over(s, "Split", 1, &v);
  if (!n) return NULL;
  onnx_attr_int(x->w, n, "axis", 0);
  if (x->w->opset >= 18) onnx_attr_int(x->w, n, "num_outputs", l->gates);
  Val *parts[4], *in[4];
  for (int i = 0; i < l->gates; i++)
    parts[i] = said_step_out(s, n, val_dtype(v), v->type->rank);
  for (int i = 0; i < l->gates; i++) in[i] = parts[l->order[i]];
  n = said_over(s, "Concat", l->gates, in);
  if (!n) return NULL;
  onnx_attr_int(x->w, n, "axis", 0);
  return said_step_out(s, n, val_dtype(v), v->type->rank);
}

/* With an axis in front, that of directions. */
static Val *with_direction(const Said *s, Val *v) {
  int64_t zero = 0;
  if (!v) return NULL;
  return said_step(s, "Unsqueeze", val_dtype(v), v->type->rank + 1, 2,
                   (Val *[]){v, val_ints(s->x, 1, &zero)});
}

static Val *biases(const Said *s, const Layer *l, Val *a, Val *b) {
  Val *both[] = {ordered(s, l, a), ordered(s, l, b)};
  OnnxNode *n = said_over(s, "Concat", 2, both);
  if (!n) return NULL;
  onnx_attr_int(s->x->w, n, "axis", 0);
  return with_direction(s, said_step_out(s, n, val_dtype(a), 1));
}

/* --- The node ------------------------------------------------------------- */

static Val *without_direction(const Said *s, Val *v, int axis, const Type *as) {
  int64_t at = axis;
  Said one = *s;
  one.type = as;
  return said_last(&one, "Squeeze", 2, (Val *[]){v, val_ints(s->x, 1, &at)});
}

static Val *layer_outputs(const Said *s, const Layer *l, OnnxNode *n,
                          DType dtype) {
  int count = l->cell ? 3 : 2;
  Val *out[3], **items = ARENA_ARRAY(s->x->arena, Val *, 3);
  onnx_node_least(n, 1);
  for (int i = 0; i < count; i++)
    out[i] = said_step_out(s, n, dtype, i ? 3 : 4);
  for (int i = 0; items && i < count; i++) {
    const Type *type = s->type->args[i];
    if (!(items[i] = without_direction(s, out[i], i ? 0 : 1, type)))
      return NULL;
  }
  return items ? val_tuple(s->x, s->type, count, items) : NULL;
}

/* The activation of a plain layer, by the operator that it is or calls; NULL:
 * ONNX has none. */
static const char *activation_of(const Val *f) {
  const Expr *e = f->kind == VAL_FN ? f->fn : NULL;
  const Fn *fn = e && e->kind == EX_FN ? e->fn : NULL;
  if (fn && fn->body->kind == EX_CALL && fn->body->count == 1 &&
      fn->body->args[0]->kind == EX_VAR &&
      fn->body->args[0]->var == fn->params[0])
    e = fn->body->call.callee;
  if (!e || e->kind != EX_OP) return NULL;
  return e->op == OP_TANH ? "Tanh" : e->op == OP_NN_RELU ? "Relu" : NULL;
}

/* X, W, R, B, sequence_lens, initial_h, initial_c. */
static bool layer_inputs(const Said *s, const Layer *l, Val *const *args,
                         Val *const *w, Val **in) {
  in[0] = args[l->x];
  in[1] = with_direction(s, ordered(s, l, w[0]));
  in[2] = with_direction(s, ordered(s, l, w[1]));
  in[3] = biases(s, l, w[2], w[3]);
  in[4] = l->lengths < 0 ? NULL : cast_to(s->x, args[l->lengths], DT_INT32);
  in[5] = with_direction(s, args[l->state]);
  in[6] = l->cell ? with_direction(s, args[l->state + 1]) : NULL;
  for (int i = 0; i < 7; i++) {
    bool missing = (i == 4 && l->lengths < 0) || (i == 6 && !l->cell);
    if (!missing && (!in[i] || !val_name(s->x, in[i], s->e->span)))
      return false;
  }
  return true;
}

/* The direction has to be known, 1 or -1, and the activation. */
static bool say_recurrent(const Said *s, const Layer *l, int count,
                          Val *const *args, Val **out) {
  Export *x = s->x;
  if (count != l->state + 5 + l->cell) return false;
  const Val *by = l->by < 0 ? NULL : args[l->by];
  const char *activation =
      l->activation < 0 ? "" : activation_of(args[l->activation]);
  if ((by && !by->constant) || !activation) return false;
  Val *const *w = args + count - 4;
  Val *in[7];
  *out = NULL;
  if (!layer_inputs(s, l, args, w, in)) return true;
  OnnxNode *n = node_new(x, l->op);
  for (int i = 0; i < 7; i++)
    onnx_node_input(x->w, n, in[i] ? in[i]->name : "");
  Dim hidden = w[1]->type->dims[1];
  if (dim_is_number(hidden))
    onnx_attr_int(x->w, n, "hidden_size", dim_value(hidden));
  if (by && tensor_i64_at(by->constant, 0) < 0)
    onnx_attr_text(x->w, n, "direction", "reverse");
  if (*activation) onnx_attr_texts(x->w, n, "activations", 1, &activation);
  if (l->linear_before_reset) onnx_attr_int(x->w, n, "linear_before_reset", 1);
  *out = layer_outputs(s, l, n, val_dtype(in[0]));
  return true;
}

/* --- @map ----------------------------------------------------------------- */

/* Over a list that is known, the calls are written out instead. */
static bool say_map(const Said *s, const Layer *l, int count, Val *const *args,
                    Val **out) {
  (void)l;
  Export *x = s->x;
  const Type *made = list_element(x, s->type);
  if (count != 2 || args[1]->kind != VAL_SEQUENCE || !made) return false;
  const char *hint = x->hint;
  OnnxGraph *outer = x->graph;
  *out = NULL;
  OnnxGraph *body = graph_enter(x, "body", s->e->span);
  if (!body) return true;
  x->hint = NULL;
  Val *item =
      val_tensor(x, list_element(x, args[1]->type), onnx_name(x->w, "item"));
  OnnxValueType port = value_type(x, item->type);
  onnx_graph_input(x->w, body, item->name, &port);
  Val *result = call_value(x, args[0], 1, &item, s->e);
  port = value_type(x, made);
  bool fine = result && graph_gives(x, body, result, &port);
  graph_leave(x, outer);
  x->hint = hint;
  OnnxNode *n = fine ? said_over(s, "SequenceMap", 1, &args[1]) : NULL;
  if (n) onnx_attr_graph(x->w, n, "body", body);
  *out = said_out(s, n);
  return true;
}

/* --- @onnx_rows ----------------------------------------------------------- */

/* The rows of a loop, the last first, as a tensor: stacked, then reversed. */
static bool say_rows(const Said *s, const Layer *l, int count, Val *const *args,
                     Val **out) {
  (void)l;
  Export *x = s->x;
  if (count != 1 || args[0]->kind != VAL_SEQUENCE) return false;
  OnnxNode *n = said_over(s, "ConcatFromSequence", 1, args);
  if (n) onnx_attr_int(x->w, n, "axis", 0);
  if (n) onnx_attr_int(x->w, n, "new_axis", 1);
  Val *rows = said_step_out(s, n, (DType)s->type->dtype, s->type->rank);
  int64_t from = -1, to = INT64_MIN + 1, axis = 0, by = -1;
  *out = said_last(s, "Slice", 5,
                   (Val *[]){rows, val_ints(x, 1, &from), val_ints(x, 1, &to),
                             val_ints(x, 1, &axis), val_ints(x, 1, &by)});
  return true;
}

bool say_library(Export *x, const Global *g, const Expr *e, int count,
                 Val *const *args, Val **out) {
  const Layer *l = layer_of(g);
  Said s = {.x = x, .e = e, .type = type_here(x, e->type)};
  *out = NULL;
  if (mem_exhausted(x->mem)) return true; /* the type may be the error type */
  return l && l->say(&s, l, count, args, out);
}
