/* Values of the small-step machine as text: the display form, and JSON, as the
 * VM writes them (value/show.c), so that outputs can be compared; the display
 * form is elided after as many values, too.
 *
 * The parts still to be written are on an explicit stack, so depth does not
 * matter: Cons(1, Nil) is pushed as the pieces
 *
 *   ")"  Nil  ", "  1  "("        (the next one on the right)
 *
 * A cell may lead back to itself.  The cells that enclose the place being
 * written are in `open` with their depth; one that is met again is written as
 * <cycle N>, N cells outward. */
#include "smallstep/step_machine.h"

#include <string.h>

#include "value/show.h"

/* An item of the stack: text; with `text` NULL a value; or the end of the cell
 * `closes`. */
typedef struct Piece {
  const char *text;
  const StepObj *value, *closes;
} Piece;

typedef struct Show {
  const StepMachine *m;
  StrBuf *out;
  int width;
  size_t limit, shown; /* values; no limit: 0 */
  VEC(Piece) todo;     /* the next item last */
  PtrMap open;         /* the cells that are being written -> their depth */
  uintptr_t depth;
} Show;

/* Pushes the fields of `v` between `open` and `close`. */
static void later(Show *w, const StepObj *v, const char *open,
                  const char *close) {
  VEC_PUSH(&w->todo, (Piece){.text = close});
  for (uint32_t i = v->count; i-- > 0;) {
    VEC_PUSH(&w->todo, (Piece){.value = v->fields[i]});
    VEC_PUSH(&w->todo, (Piece){.text = i ? ", " : open});
  }
  if (v->count == 0) VEC_PUSH(&w->todo, (Piece){.text = open});
}

/* Writes a cell's content.  A cell met inside itself is written as the number
 * of enclosing cells up to it.  The piece `closes` stands after the content on
 * the stack, so the cell counts as open for exactly as long as its content is
 * written. */
static void later_cell(Show *w, const StepObj *v, const char *open,
                       const char *close) {
  ptrmap_put(&w->open, v, (void *)++w->depth);
  VEC_PUSH(&w->todo, (Piece){.closes = v});
  later(w, v, open, close);
}

static size_t cycle_of(const Show *w, const StepObj *v) {
  uintptr_t at = (uintptr_t)ptrmap_get(&w->open, v);
  return at ? (size_t)(w->depth - at + 1) : 0;
}

static void show_piece(Show *w, Piece p,
                       void (*one)(Show *w, const StepObj *v)) {
  if (p.text) {
    strbuf_add(w->out, p.text);
  } else if (p.closes) {
    ptrmap_remove(&w->open, p.closes);
    w->depth--;
  } else if (w->limit && w->shown >= w->limit) {
    strbuf_add(w->out, "...");
  } else {
    w->shown++;
    one(w, p.value);
  }
}

static void show(const StepMachine *m, StrBuf *out, int width, size_t limit,
                 const StepObj *v, void (*one)(Show *w, const StepObj *v)) {
  Show w = {.m = m, .out = out, .width = width, .limit = limit};
  VEC_INIT(&w.todo, m->program->mem);
  ptrmap_init(&w.open, m->program->mem);
  VEC_PUSH(&w.todo, (Piece){.value = v});
  while (w.todo.len && !mem_exhausted(m->program->mem)) {
    Piece p = VEC_POP(&w.todo);
    show_piece(&w, p, one);
  }
  VEC_DONE(&w.todo);
  ptrmap_done(&w.open);
}

/* --- Display form ------------------------------------------------------- */

/* A block of one line follows its type after a blank, others on lines of their
 * own. */
static void print_tensor(Show *w, const Tensor *t) {
  if (t->rank == 0) {
    scalar_print_literal(w->out, (DType)t->dtype, tensor_bits_at(t, 0));
    return;
  }
  StrBuf block;
  strbuf_init(&block, w->out->mem);
  tensor_print_type(w->out, t);
  tensor_print_block(&block, t, w->width, 0, 0);
  const char *text = strbuf_text(&block);
  strbuf_add_char(w->out, strchr(text, '\n') ? '\n' : ' ');
  strbuf_add(w->out, text);
  strbuf_done(&block);
}

/* Of what a form gave: vjp gives a pair. */
static const Type *type_of_form(const StepObj *v) {
  const Type *type = v->expr->type;
  bool pair = type->kind == TY_TUPLE && type->count == 2;
  return pair ? type->args[1] : type;
}

/* Functions show the type that they were written with. */
static void print_function(Show *w, const Type *type) {
  strbuf_add_char(w->out, '<');
  type_print(w->m->program->types, w->out, type, TYPE_TEXT_LINE);
  strbuf_add_char(w->out, '>');
}

static void print_cell(Show *w, const StepObj *v) {
  size_t cycle = cycle_of(w, v);
  if (cycle) strbuf_addf(w->out, "<cycle %zu>", cycle);
  else later_cell(w, v, "ref(", ")");
}

static void print_one(Show *w, const StepObj *v) {
  switch ((StepObjKind)v->kind) {
    case V_TENSOR:
      if (v->abstract)
        tensor_print_type(w->out, v->tensor); /* its shape only */
      else print_tensor(w, v->tensor);
      break;
    case V_TUPLE: later(w, v, "(", v->count == 1 ? ",)" : ")"); break;
    case V_DATA:
      strbuf_add(w->out, v->ctor->name->text);
      if (v->count) later(w, v, "(", ")");
      break;
    case V_CELL: print_cell(w, v); break;
    case V_CTOR: print_function(w, v->ctor->type); break;
    case V_FORM: print_function(w, type_of_form(v)); break;
    default: print_function(w, v->expr->type); break;
  }
}

void step_print(const StepMachine *m, StrBuf *out, const StepValue *v,
                int width) {
  show(m, out, width, VALUE_SHOWN, v, print_one);
}

/* --- JSON --------------------------------------------------------------- */

static void json_data(Show *w, const StepObj *v) {
  const Name *name = v->ctor->name;
  strbuf_add(w->out, "{\"constructor\": \"");
  strbuf_add_escaped(w->out, name->text, name->len);
  strbuf_add(w->out, "\", \"fields\": ");
  later(w, v, "[", "]}");
}

static void json_cell(Show *w, const StepObj *v) {
  size_t cycle = cycle_of(w, v);
  if (cycle) strbuf_addf(w->out, "{\"cycle\": %zu}", cycle);
  else later_cell(w, v, "{\"ref\": ", "}");
}

static void json_one(Show *w, const StepObj *v) {
  switch ((StepObjKind)v->kind) {
    case V_TENSOR: tensor_print_json(w->out, v->tensor, NULL); break;
    case V_TUPLE: later(w, v, "{\"tuple\": [", "]}"); break;
    case V_DATA: json_data(w, v); break;
    case V_CELL: json_cell(w, v); break;
    default: strbuf_add(w->out, "{\"closure\": true}"); break;
  }
}

void step_print_json(const StepMachine *m, StrBuf *out, const StepValue *v) {
  show(m, out, 0, 0, v, json_one);
}

bool step_is_false(const StepValue *v) {
  return v->kind == V_TENSOR && v->tensor->rank == 0 &&
         v->tensor->dtype == DT_BOOL && !tensor_i64_at(v->tensor, 0);
}
