/* Recursion with work left after the call of itself (loop.c).  The first Loop
 * keeps in sequences what its slots were at each turn: what the turns met.  The
 * second Loop takes the elements of these sequences from the last to the first,
 * and does the work that was left at each turn. */
#include "export/loop.h"

/* --- What the turns met --------------------------------------------------- */

/* A sequence of what a slot was.  The program has no type for it, so its Val
 * has the type of its elements; only functions of this file see such a Val. */
static OnnxValueType met_port(Export *x, const Slot *slot) {
  OnnxValueType port = value_type(x, slot->met);
  port.sequence = true;
  return port;
}

Val *met_input(Export *x, OnnxGraph *body, const Slot *slot) {
  const char *name = arena_printf(x->arena, "%s_met", slot->name);
  Val *v = val_tensor(x, slot->met, onnx_name(x->w, name));
  OnnxValueType port = met_port(x, slot);
  onnx_graph_input(x->w, body, v->name, &port);
  return v;
}

Val *met_none(Export *x, const Slot *slot) {
  const Type *type = slot->met;
  OnnxNode *n = node_new(x, "SequenceEmpty");
  onnx_attr_int(x->w, n, "dtype", onnx_dtype_number((DType)type->dtype));
  return node_out(x, n, type);
}

bool may_be_met(const Loop *l, size_t count, Slot *slots) {
  if (!count)
    return refuse(l->x, l->at->span,
                  "this recursion changes nothing, so it has no end") != NULL;
  for (size_t i = 0; i < count; i++) {
    const Type *t = slots[i].type;
    slots[i].met = t->kind == TY_TENSOR ? t : list_element(l->x, t);
    if (!slots[i].met)
      return refuse(l->x, l->at->span,
                    "this recursion is no tail call, and `%%%s`, an Option "
                    "that the run knows, changes at each call",
                    slots[i].name) != NULL;
  }
  return true;
}

bool meet(const Loop *l, OnnxGraph *body, Val *const *met, Val *const *now,
          const Vals *next, const Slot *slots) {
  Export *x = l->x;
  for (size_t i = 0; i < next->len; i++) {
    Val *v = now[i];
    if (v->kind == VAL_SEQUENCE) {
      if (next->data[i]->tail_of != v)
        return refuse(x, l->at->span,
                      "this recursion is no tail call, and its list `%%%s` "
                      "does not just lose its first element at each call",
                      slots[i].name) != NULL;
      v = node_of(x, "SequenceAt", slots[i].met, 2,
                  (Val *[]){v, val_number(x, DT_INT64, 0)});
    }
    Val *more =
        node_of(x, "SequenceInsert", met[i]->type, 2, (Val *[]){met[i], v});
    OnnxValueType port = met_port(x, &slots[i]);
    if (!more || !graph_gives(x, body, more, &port)) return false;
  }
  return true;
}

/* --- The way back --------------------------------------------------------- */

/* The second Loop.  It carries the parts of the result, and the lists among the
 * slots of the first one. */
typedef struct Back {
  const Loop *l;
  const Val *result;   /* of the last call, in parts: */
  Vals parts;          /* its tensors and sequences */
  const Slot *results; /* their slots */
  size_t count;        /* of the slots of the first Loop */
  const Slot *slots;
  Val *const *lists; /* what the first Loop left of the slots */
  Val *turns, *last; /* how many there were, and the number of the last one */
} Back;

static bool is_list(const Back *b, size_t slot) {
  return b->slots[slot].type->kind != TY_TENSOR;
}

static const Slot *result_slots(const Back *b) {
  const Loop *l = b->l;
  Export *x = l->x;
  Slot *slots = ARENA_ARRAY(x->arena, Slot, b->parts.len + 1);
  Slot of = {type_here(x, l->at->type), "result", NULL};
  size_t next = 0;
  if (slots) carried_slots(l, b->result, of, &b->parts, &next, slots);
  return slots;
}

/* What the slots were at the turn: the last one first.  A list of the turn
 * after it, `lists`, gets its element again. */
static Val **met_at(const Back *b, Val *turn, Val *const *lists) {
  Export *x = b->l->x;
  Val **was = ARENA_ARRAY(x->arena, Val *, b->count + 1);
  Val *i = node_of(x, "Sub", turn->type, 2, (Val *[]){b->last, turn});
  for (size_t k = 0; was && k < b->count; k++) {
    Val *met = b->l->met[k];
    was[k] = node_of(x, "SequenceAt", met->type, 2, (Val *[]){met, i});
    if (is_list(b, k))
      was[k] = node_of(x, "SequenceInsert", b->slots[k].type, 3,
                       (Val *[]){lists[k], was[k], val_number(x, DT_INT64, 0)});
    if (!was[k]) return NULL;
  }
  return was;
}

/* The function's value where the slots were `was` and its call of itself gave
 * the parts `now`. */
static Val *resume(const Back *b, Val *const *was, Val *const *now) {
  const Loop *l = b->l;
  Export *x = l->x;
  Frame *f = frame_with(x, l->call, l->fn, with_carried(l, was));
  Resumed resumed = {l->self, val_rebuild(x, b->result, &now), x->resumed};
  x->resumed = &resumed;
  Val *made = ask_in(x, f, l->fn, ASK_RESUME, l->self);
  x->resumed = resumed.up;
  return made;
}

/* One turn, as the body. */
static bool turn_back(const Back *b, OnnxGraph *body) {
  Export *x = b->l->x;
  Span at = b->l->at->span;
  Val *turn = body_input(x, body, "turn", type_of_rank(x, DT_INT64, 0));
  Val *go = body_input(x, body, "go", type_of_rank(x, DT_BOOL, 0));
  Val *const *now = body_inputs(x, body, b->parts.len, b->results);
  Val **lists = ARENA_ARRAY(x->arena, Val *, b->count + 1);
  if (!now || !lists) return false;
  for (size_t k = 0; k < b->count; k++)
    if (is_list(b, k))
      lists[k] = body_input(x, body, b->slots[k].name, b->slots[k].type);
  Val **was = met_at(b, turn, lists);
  Val *made = was ? resume(b, was, now) : NULL;
  Vals next;
  VEC_INIT(&next, x->mem);
  bool fine = made && val_agree(x, b->result, made, at) &&
              val_flatten(x, made, &next, at) && next.len == b->parts.len &&
              graph_gives(x, body, go, NULL) &&
              body_outputs(x, body, &next, b->results);
  VEC_DONE(&next);
  for (size_t k = 0; fine && k < b->count; k++) {
    OnnxValueType port = value_type(x, b->slots[k].type);
    if (lists[k]) fine = graph_gives(x, body, was[k], &port);
  }
  return fine;
}

/* The node, whose outputs are the parts of the first call's result; these are
 * called by the hint. */
static Val *node_back(const Back *b, OnnxGraph *body, const char *hint) {
  Export *x = b->l->x;
  Span at = b->l->at->span;
  Val **out = ARENA_ARRAY(x->arena, Val *, b->parts.len + 1);
  if (!out) return NULL;
  OnnxNode *n = node_new(x, "Loop");
  node_in(x, n, b->turns, at);
  onnx_node_input(x->w, n, "");
  for (size_t i = 0; i < b->parts.len; i++) node_in(x, n, b->parts.data[i], at);
  for (size_t k = 0; k < b->count; k++)
    if (is_list(b, k)) node_in(x, n, b->lists[k], at);
  onnx_attr_graph(x->w, n, "body", body);
  for (size_t i = 0; i < b->parts.len; i++) {
    x->hint = hint;
    out[i] = node_out(x, n, b->results[i].type);
  }
  for (size_t k = 0; k < b->count; k++)
    if (is_list(b, k)) node_out(x, n, b->slots[k].type);
  Val *const *next = out;
  return val_rebuild(x, b->result, &next);
}

Val *loop_back(const Loop *l, const Val *v, size_t count, const Slot *slots,
               Val *const *lists) {
  Export *x = l->x;
  Span at = l->at->span;
  const char *hint = x->hint;
  const Type *number = type_of_rank(x, DT_INT64, 0);
  Back b = {
      .l = l, .result = v, .count = count, .slots = slots, .lists = lists};
  VEC_INIT(&b.parts, x->mem);
  x->hint = NULL;
  b.turns = node_of(x, "SequenceLength", number, 1, l->met);
  b.last = node_of(x, "Sub", number, 2,
                   (Val *[]){b.turns, val_number(x, DT_INT64, 1)});
  bool fine = b.last && val_flatten(x, (Val *)v, &b.parts, at);
  for (size_t i = 0; fine && i < b.parts.len; i++)
    fine = val_name(x, b.parts.data[i], at) != NULL;
  b.results = fine ? result_slots(&b) : NULL;
  OnnxGraph *outer = x->graph;
  OnnxGraph *body = b.results ? graph_enter(x, "body", at) : NULL;
  fine = body && turn_back(&b, body);
  if (body) graph_leave(x, outer);
  Val *made = fine ? node_back(&b, body, hint) : NULL;
  x->hint = hint;
  VEC_DONE(&b.parts);
  return made;
}
