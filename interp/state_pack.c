/* Cells to skeletons and named tensors.  What is still to be written stands on
 * a stack: values, and the text between them. */
#include "interp/state.h"

#include <string.h>

/* A value, or text.  `name` is its path; within a constructor, the path of the
 * outermost one. */
typedef struct Piece {
  const Type *type; /* NULL: text */
  Value value;
  const char *text, *name;
  bool numbered;
} Piece;

typedef struct Writer {
  StatePacker *packer;
  const StateList *list;
  const StateCell *cell;
  StrBuf out;
  VEC(Piece) stack;
  size_t count; /* of the cell's numbered tensors */
  bool refused; /* the cell at hand */
} Writer;

static bool refuse(Writer *w, const char *why) {
  w->refused = true;
  if (!w->packer->lenient)
    diag_error(w->packer->diags, E0507, SPAN_NONE, "the cell `%s` %s",
               w->cell->path, why);
  return false;
}

/* --- Pieces ------------------------------------------------------------- */

static void push_text(Writer *w, const char *text) {
  VEC_PUSH(&w->stack, (Piece){.text = text});
}

/* Fields from the last to the first, so that the first is on top. */
static void push_fields(Writer *w, const Piece *p, int n) {
  bool adt = p->type->kind == TY_ADT;
  push_text(w, ")");
  for (int i = n; i-- > 0;) {
    Piece field = {.name = p->name, .numbered = p->numbered || adt};
    if (!field.numbered)
      field.name = arena_printf(w->packer->arena, "%s.%d", p->name, i);
    field.value =
        value_field(w->packer->session, p->type, p->value, i, &field.type);
    VEC_PUSH(&w->stack, field);
    push_text(w, i ? ", " : "(");
  }
}

static bool put_tensor(Writer *w, const Piece *p) {
  Heap *heap = session_heap(w->packer->session);
  const char *name = p->name;
  if (p->numbered)
    name = arena_printf(w->packer->arena, "%s#%zu", p->name, w->count++);
  Tensor *t = type_is_scalar(p->type)
                  ? tensor_from_bits(heap, (DType)p->type->dtype, p->value)
                  : tensor_keep(p->value.tensor);
  strbuf_add_char(&w->out, '_');
  return name && t && w->packer->tensor(w->packer->data, name, t);
}

static bool put_ctor(Writer *w, const Piece *p) {
  const Ctor *ctor = &p->type->adt->ctors[p->value.obj->tag];
  strbuf_add(&w->out, ctor->name->text);
  if (ctor->field_count) push_fields(w, p, ctor->field_count);
  return true;
}

static bool put_tuple(Writer *w, const Piece *p) {
  if (p->type->count) push_fields(w, p, p->type->count);
  else strbuf_add(&w->out, "()");
  return true;
}

static bool put_ref(Writer *w, const Piece *p) {
  uintptr_t i = (uintptr_t)ptrmap_get(&w->list->index, p->value.obj);
  strbuf_addf(&w->out, "&%zu", (size_t)i - 1);
  return i != 0;
}

static bool put_value(Writer *w, const Piece *p) {
  switch (p->type->kind) {
    case TY_TENSOR: return put_tensor(w, p);
    case TY_TUPLE: return put_tuple(w, p);
    case TY_ADT: return put_ctor(w, p);
    case TY_REF: return put_ref(w, p);
    default: return refuse(w, "holds a function, which no file can");
  }
}

static bool put_pieces(Writer *w) {
  while (w->stack.len) {
    Piece p = VEC_POP(&w->stack);
    if (!p.type) strbuf_add(&w->out, p.text);
    else if (!put_value(w, &p)) return false;
  }
  return true;
}

/* --- Cells -------------------------------------------------------------- */

static const char *text_of(StatePacker *p, StrBuf *text) {
  return arena_strndup(p->arena, strbuf_text(text), text->len);
}

/* A tensor alone is named as its cell. */
static const char *content_name(const Writer *w, const Type *content) {
  const char *path = w->cell->path;
  if (content->kind == TY_TENSOR)
    return arena_strndup(w->packer->arena, path, strlen(path));
  return arena_printf(w->packer->arena, "%s^", path);
}

static bool put_content(Writer *w) {
  const Type *type = w->cell->type;
  if (!type || type->args[0]->has_var)
    return refuse(w,
                  "was made by a polymorphic function, so the type of "
                  "what it holds is not known");
  w->count = 0;
  VEC_PUSH(&w->stack, (Piece){.type = type->args[0],
                              .value = w->cell->cell->content,
                              .name = content_name(w, type->args[0])});
  return put_pieces(w);
}

/* A cell that was refused but is to be listed: its skeleton is empty. */
static bool pack_cell(Writer *w) {
  StatePacker *p = w->packer;
  const char *path = w->cell->path;
  PackedCell packed = {.path = arena_strndup(p->arena, path, strlen(path)),
                       .type = "?"};
  w->refused = false;
  VEC_CLEAR(&w->out);
  if (!put_content(w) && !(w->refused && p->lenient)) return false;
  if (w->refused) VEC_CLEAR(&w->out);
  VEC_CLEAR(&w->stack);
  packed.skeleton = text_of(p, &w->out);
  VEC_CLEAR(&w->out);
  if (w->cell->type)
    type_print(p->session->code->program->types, &w->out, w->cell->type, 0);
  if (w->cell->type) packed.type = text_of(p, &w->out);
  VEC_PUSH(&p->cells, packed);
  return !mem_exhausted(p->session->mem);
}

static bool pack_list(StatePacker *p, const StateList *list) {
  Writer w = {.packer = p, .list = list};
  strbuf_init(&w.out, p->session->mem);
  VEC_INIT(&w.stack, p->session->mem);
  bool ok = true;
  for (size_t i = 0; ok && i < list->cells.len; i++) {
    w.cell = &list->cells.data[i];
    ok = pack_cell(&w);
  }
  strbuf_done(&w.out);
  VEC_DONE(&w.stack);
  return ok;
}

bool state_pack(StatePacker *p) {
  StateList list;
  bool ok = state_list(p->session, true, &list) && pack_list(p, &list);
  state_list_done(&list);
  return ok;
}
