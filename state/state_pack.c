/* Cells to skeletons and named tensors.  What is still to be written stands on
 * a stack: values, and the text between them.  A first walk finds which objects
 * are reached twice; these are written apart, each once. */
#include "state/state.h"
#include "vm/machine.h"

#include <string.h>

/* A value, or text.  `name` is its path; within a constructor, the path of the
 * outermost one. */
typedef struct Piece {
  const Type *type; /* NULL: text */
  Value value;
  const char *text, *name;
  bool numbered;
} Piece;

/* An object that is written apart, and the first cell that led to it. */
typedef struct Shared {
  const Type *type;
  Value value;
  const StateCell *cell;
} Shared;

typedef struct Writer {
  StatePacker *packer;
  const StateList *list;
  const StateCell *cell;
  StrBuf out;
  VEC(Piece) stack;
  size_t count;       /* of the numbered tensors of the skeleton at hand */
  bool refused;       /* the skeleton at hand */
  PtrMap met;         /* an object -> `once`, `twice` or its Shared, plus 1 */
  VEC(Shared) shared; /* by index */
} Writer;

enum { ONCE = 1, TWICE = 2, FIRST_SHARED = 3 };

/* Types nest as deep as a program lets them grow, and are written whole. */
enum { TYPE_SIZE_MAX = 10000 };

static bool refuse(Writer *w, const char *why) {
  w->refused = true;
  if (!w->packer->lenient)
    diag_error(w->packer->diags, E0507, SPAN_NONE, "the cell `%s` %s",
               w->cell->path, why);
  return false;
}

static bool goes_on(const Writer *w) {
  const Session *s = w->packer->session;
  return !mem_exhausted(s->mem) && !store_should_stop(&s->store);
}

/* --- Sharing ------------------------------------------------------------ */

/* Constants of the program have no count; they are as large as its text. */
static bool may_be_shared(const Obj *o) {
  return o->count > 1 && o->size != SIZE_REF && o->size != SIZE_TENSOR;
}

/* Marks what the content of a cell leads to.  Other cells are not entered:
 * they have skeletons of their own. */
static bool find_shared(Writer *w, Obj *content) {
  VEC(Obj *) stack;
  VEC_INIT(&stack, w->packer->session->mem);
  VEC_PUSH(&stack, content);
  while (stack.len && goes_on(w)) {
    Obj *o = VEC_POP(&stack);
    if (!o || o->count < 0 || o->size == SIZE_REF || o->size == SIZE_TENSOR)
      continue;
    if (may_be_shared(o)) {
      bool before = ptrmap_has(&w->met, o);
      ptrmap_put(&w->met, o, (void *)(uintptr_t)(before ? TWICE : ONCE));
      if (before) continue;
    }
    Cell *cell = (Cell *)o;
    for (uint64_t i = 0; i < cell_count(cell); i++)
      if (cell_field_counted(cell, i))
        VEC_PUSH(&stack, cell_fields(cell)[i].obj);
  }
  VEC_DONE(&stack);
  return goes_on(w);
}

/* The index of what is written apart; SIZE_MAX: it is not. */
static size_t shared_index(Writer *w, const Piece *p) {
  if (!p->numbered || !may_be_shared(p->value.obj)) return SIZE_MAX;
  uintptr_t met = (uintptr_t)ptrmap_get(&w->met, p->value.obj);
  if (met == TWICE) {
    met = FIRST_SHARED + w->shared.len;
    VEC_PUSH(&w->shared, (Shared){p->type, p->value, w->cell});
    ptrmap_put(&w->met, p->value.obj, (void *)met);
  }
  return met < FIRST_SHARED ? SIZE_MAX : met - FIRST_SHARED;
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
    field.value = value_field(&w->packer->session->store, p->type, p->value, i,
                              &field.type);
    VEC_PUSH(&w->stack, field);
    push_text(w, i ? ", " : "(");
  }
}

static bool put_tensor(Writer *w, const Piece *p) {
  Heap *heap = &w->packer->session->store.heap;
  const char *name = p->name;
  if (p->numbered && type_is_scalar(p->type)) {
    uint64_t bits = 0;
    bits_store((DType)p->type->dtype, &bits, p->value);
    strbuf_addf(&w->out, "#%llx", (unsigned long long)bits);
    return true;
  }
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

static bool put_whole(Writer *w, const Piece *p) {
  switch (p->type->kind) {
    case TY_TENSOR: return put_tensor(w, p);
    case TY_TUPLE: return put_tuple(w, p);
    case TY_ADT: return put_ctor(w, p);
    case TY_REF: return put_ref(w, p);
    default: return refuse(w, "holds a function, which no file can");
  }
}

static bool put_value(Writer *w, const Piece *p) {
  bool object = p->type->kind == TY_TUPLE || p->type->kind == TY_ADT;
  size_t shared = object ? shared_index(w, p) : SIZE_MAX;
  if (shared == SIZE_MAX) return put_whole(w, p);
  strbuf_addf(&w->out, "*%zu", shared);
  return true;
}

/* Writes the skeleton of one value into `out`. */
static bool put_skeleton(Writer *w, const Piece *whole) {
  w->count = 0;
  w->refused = false;
  VEC_CLEAR(&w->stack);
  VEC_CLEAR(&w->out);
  if (!put_whole(w, whole)) return false;
  while (w->stack.len && goes_on(w)) {
    Piece p = VEC_POP(&w->stack);
    if (!p.type) strbuf_add(&w->out, p.text);
    else if (!put_value(w, &p)) return false;
  }
  return goes_on(w);
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
  if (type->size > TYPE_SIZE_MAX)
    return refuse(w, "has a type of more than 10,000 parts");
  Piece whole = {.type = type->args[0],
                 .value = w->cell->cell->content,
                 .name = content_name(w, type->args[0])};
  return put_skeleton(w, &whole);
}

/* A cell that was refused but is to be listed: its skeleton is empty. */
static bool pack_cell(Writer *w) {
  StatePacker *p = w->packer;
  const char *path = w->cell->path;
  PackedCell packed = {.path = arena_strndup(p->arena, path, strlen(path)),
                       .type = "?"};
  w->refused = false;
  if (!put_content(w) && !(w->refused && p->lenient)) return false;
  if (w->refused) VEC_CLEAR(&w->out);
  packed.skeleton = text_of(p, &w->out);
  VEC_CLEAR(&w->out);
  if (w->cell->type && w->cell->type->size <= TYPE_SIZE_MAX) {
    type_print(p->session->code->program->types, &w->out, w->cell->type,
               TYPE_TEXT_MOST);
    packed.type = text_of(p, &w->out);
  }
  VEC_PUSH(&p->cells, packed);
  return goes_on(w);
}

/* What is shared may lead to more that is, whose turn comes later. */
static bool pack_shared(Writer *w, size_t i) {
  StatePacker *p = w->packer;
  Shared s = w->shared.data[i];
  Piece whole = {.type = s.type, .value = s.value, .numbered = true};
  whole.name = arena_printf(p->arena, "*%zu", i);
  w->cell = s.cell;
  if (!put_skeleton(w, &whole) && !(w->refused && p->lenient)) return false;
  if (w->refused) VEC_CLEAR(&w->out);
  VEC_PUSH(&p->shared, text_of(p, &w->out));
  return goes_on(w);
}

static bool pack_list(Writer *w) {
  const StateList *list = w->list;
  for (size_t i = 0; i < list->cells.len; i++) {
    RefCell *r = list->cells.data[i].cell;
    if (r->obj.mask & REF_COUNTED && !find_shared(w, r->content.obj))
      return false;
  }
  for (size_t i = 0; i < list->cells.len; i++) {
    w->cell = &list->cells.data[i];
    if (!pack_cell(w)) return false;
  }
  for (size_t i = 0; i < w->shared.len; i++)
    if (!pack_shared(w, i)) return false;
  return true;
}

bool state_pack(StatePacker *p) {
  StateList list;
  Writer w = {.packer = p, .list = &list};
  strbuf_init(&w.out, p->session->mem);
  VEC_INIT(&w.stack, p->session->mem);
  VEC_INIT(&w.shared, p->session->mem);
  ptrmap_init(&w.met, p->session->mem);
  bool ok = state_list(p->session, true, &list) && pack_list(&w);
  strbuf_done(&w.out);
  VEC_DONE(&w.stack);
  VEC_DONE(&w.shared);
  ptrmap_done(&w.met);
  state_list_done(&list);
  return ok;
}
