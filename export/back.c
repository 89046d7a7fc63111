/* Recursion with work left after the call of itself (loop.c): what the turns of
 * the first Loop met, in sequences, and the second Loop, which takes it up
 * again from the last to the first. */
#include "export/loop.h"

/* --- What the turns met --------------------------------------------------- */

/* A sequence of such tensors.  It goes by the type of its elements, as no type
 * of the program is one of it; nothing but these functions sees it. */
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

/* The slots that the result of the function has. */
static Slot *result_slots(const Loop *l, const Val *v, const Vals *values) {
  Export *x = l->x;
  Slot *slots = ARENA_ARRAY(x->arena, Slot, values->len + 1);
  Slot of = {type_here(x, l->at->type), "result", NULL};
  size_t next = 0;
  if (slots) carried_slots(l, v, of, values, &next, slots);
  return slots;
}

/* What the slots were at the turn: the last one first.  A list of the turn
 * after it, `lists`, gets its element again. */
static Val **met_at(const Loop *l, Val *turn, Val *last, size_t count,
                    const Slot *slots, Val *const *lists) {
  Export *x = l->x;
  Val **was = ARENA_ARRAY(x->arena, Val *, count + 1);
  Val *i = node_of(x, "Sub", turn->type, 2, (Val *[]){last, turn});
  for (size_t k = 0; was && k < count; k++) {
    was[k] =
        node_of(x, "SequenceAt", l->met[k]->type, 2, (Val *[]){l->met[k], i});
    if (slots[k].type->kind != TY_TENSOR)
      was[k] = node_of(x, "SequenceInsert", slots[k].type, 3,
                       (Val *[]){lists[k], was[k], val_number(x, DT_INT64, 0)});
    if (!was[k]) return NULL;
  }
  return was;
}

/* One turn of it.  It carries the results, and the lists. */
static bool turn_back(const Loop *l, OnnxGraph *body, Val *last, const Val *v,
                      const Vals *values, const Slot *results, size_t count,
                      const Slot *slots) {
  Export *x = l->x;
  Val *turn = body_input(x, body, "turn", type_of_rank(x, DT_INT64, 0));
  Val *go = body_input(x, body, "go", type_of_rank(x, DT_BOOL, 0));
  Val *const *now = body_inputs(x, body, values->len, results);
  Val **lists = ARENA_ARRAY(x->arena, Val *, count + 1);
  if (!now || !lists) return false;
  for (size_t k = 0; k < count; k++)
    if (slots[k].type->kind != TY_TENSOR)
      lists[k] = body_input(x, body, slots[k].name, slots[k].type);
  Val **was = met_at(l, turn, last, count, slots, lists);
  if (!was) return false;
  Frame *f = frame_with(x, l->call, l->fn, with_carried(l, was));
  Resumed resumed = {l->self, val_rebuild(x, v, &now), x->resumed};
  x->resumed = &resumed;
  Val *made = ask_in(x, f, l->fn, ASK_RESUME, l->self);
  x->resumed = resumed.up;
  Vals next;
  VEC_INIT(&next, x->mem);
  bool fine = made && val_agree(x, v, made, l->at->span) &&
              val_flatten(x, made, &next, l->at->span) &&
              next.len == values->len && graph_gives(x, body, go, NULL) &&
              body_outputs(x, body, &next, results);
  VEC_DONE(&next);
  for (size_t k = 0; fine && k < count; k++) {
    OnnxValueType port = value_type(x, slots[k].type);
    if (lists[k]) fine = graph_gives(x, body, was[k], &port);
  }
  return fine;
}

Val *loop_back(const Loop *l, const Val *v, size_t count, const Slot *slots,
               Val *const *lists) {
  Export *x = l->x;
  const char *hint = x->hint;
  const Type *number = type_of_rank(x, DT_INT64, 0);
  Vals values;
  VEC_INIT(&values, x->mem);
  x->hint = NULL;
  Val *turns = node_of(x, "SequenceLength", number, 1, l->met);
  Val *last = node_of(x, "Sub", number, 2,
                      (Val *[]){turns, val_number(x, DT_INT64, 1)});
  bool fine = last && val_flatten(x, (Val *)v, &values, l->at->span);
  for (size_t i = 0; fine && i < values.len; i++)
    fine = val_name(x, values.data[i], l->at->span) != NULL;
  Slot *results = fine ? result_slots(l, v, &values) : NULL;
  OnnxGraph *outer = x->graph;
  OnnxGraph *body = results ? graph_enter(x, "body", l->at->span) : NULL;
  fine = body && turn_back(l, body, last, v, &values, results, count, slots);
  if (body) graph_leave(x, outer);
  Val *made = NULL;
  Val **out = ARENA_ARRAY(x->arena, Val *, values.len + 1);
  if (fine && out) {
    OnnxNode *n = node_new(x, "Loop");
    node_in(x, n, turns, l->at->span);
    onnx_node_input(x->w, n, "");
    for (size_t i = 0; i < values.len; i++)
      node_in(x, n, values.data[i], l->at->span);
    for (size_t k = 0; k < count; k++)
      if (slots[k].type->kind != TY_TENSOR)
        node_in(x, n, lists[k], l->at->span);
    onnx_attr_graph(x->w, n, "body", body);
    for (size_t i = 0; i < values.len; i++) {
      x->hint = hint;
      out[i] = node_out(x, n, results[i].type);
    }
    for (size_t k = 0; k < count; k++)
      if (slots[k].type->kind != TY_TENSOR) node_out(x, n, slots[k].type);
    Val *const *next = out;
    made = val_rebuild(x, v, &next);
  }
  x->hint = hint;
  VEC_DONE(&values);
  return made;
}
