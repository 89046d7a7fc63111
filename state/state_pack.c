/* Packs cells into skeletons and named tensors: the text half of a state file
 * (lib/state_file.c writes it).
 *
 *   @net : (Tensor[(2), float32], List[int32])     in a cell
 *   skeleton  (_, Cons(#1, Cons(#2, Nil)))
 *   tensors   @net^.0
 *
 * A skeleton is the value written as a term in which each tensor is `_`, each
 * other cell is `&` and its index, and each scalar in a constructor its bits.
 * state.h has the notation; state_unpack.c reads it.
 *
 * What constructors hold more than once is written once.  A first walk over all
 * contents marks the objects that are met twice; the second walk writes `*k`
 * for each of these, and k's own skeleton afterwards, which may bring further
 * ones.  So a file grows with the objects and not with the paths to them, and
 * reading it gives back the same sharing.
 *
 * An explicit stack holds what is left to write: values, and the text between
 * them. */
#include "state/state.h"
#include "vm/machine.h"

#include <string.h>

/* A value or a text.  `name` is the value's path, or inside a constructor the
 * path of the outermost constructor. */
typedef struct Piece {
  const Type *type; /* NULL for a text */
  Value value;
  const char *text, *name;
  bool numbered;
} Piece;

/* An object written on its own, and the path of the first cell that led to it.
 * That is for messages: what cannot be packed is said to be in this cell. */
typedef struct Shared {
  const Type *type;
  Value value;
  const char *path;
} Shared;

typedef struct Writer {
  StatePacker *packer;
  const StateList *list;
  const char *path; /* of the cell at hand */
  StrBuf out;
  VEC(Piece) stack;
  size_t count; /* numbered tensors so far in this skeleton */
  bool refused; /* this skeleton cannot be written */
  /* object -> `once`, `twice`, or index in `shared`, plus 1 */
  PtrMap met;
  VEC(Shared) shared; /* by index */
  PtrMap told;        /* constructors */
} Writer;

enum { ONCE = 1, TWICE = 2, FIRST_SHARED = 3 };

/* Said once: the first reason ends the packing, unless it is lenient. */
static bool refuse(Writer *w, const char *why) {
  w->refused = true;
  if (!w->packer->lenient)
    diag_error(w->packer->diags, E0507, SPAN_NONE, "the cell `%s` %s", w->path,
               why);
  return false;
}

/* Asked in each step of each walk (base/mem.h, rule 3). */
static bool goes_on(const Writer *w) {
  const StatePacker *p = w->packer;
  return !mem_exhausted(p->mem) && !store_should_stop(&p->session->store);
}

/* --- Sharing ------------------------------------------------------------ */

/* Program constants are immortal and have no count to tell sharing.  They are
 * no larger than the program's text, so writing them twice is harmless. */
static bool may_be_shared(const Obj *o) {
  return o->count > 1 && o->size != SIZE_REF && o->size != SIZE_TENSOR;
}

/* Marks every object that a cell's content leads to.  The walk does not enter
 * other cells, which have skeletons of their own.  Only shared objects need a
 * mark; others have one way in. */
static bool find_shared(Writer *w, Obj *content) {
  VEC(Obj *) stack;
  VEC_INIT(&stack, w->packer->mem);
  VEC_PUSH(&stack, content);
  /* Each object takes at least one byte of a skeleton. */
  size_t most = w->packer->most ? w->packer->most : SIZE_MAX, count = 0;
  while (stack.len && count++ < most && goes_on(w)) {
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
  bool all = !stack.len;
  VEC_DONE(&stack);
  return all && goes_on(w);
}

/* The index of an object that is written on its own; SIZE_MAX for any other
 * value.  An object gets its index when it is first written, so indices are in
 * the order of the text.  Only values below a constructor (`numbered`) are
 * shared in this way: the parts of a tuple at the top have names of their own
 * in the file. */
static size_t shared_index(Writer *w, const Piece *p) {
  if (!p->numbered || !may_be_shared(p->value.obj)) return SIZE_MAX;
  uintptr_t met = (uintptr_t)ptrmap_get(&w->met, p->value.obj);
  if (met == TWICE) {
    met = FIRST_SHARED + w->shared.len;
    VEC_PUSH(&w->shared, (Shared){p->type, p->value, w->path});
    ptrmap_put(&w->met, p->value.obj, (void *)met);
  }
  return met < FIRST_SHARED ? SIZE_MAX : met - FIRST_SHARED;
}

/* --- Pieces ------------------------------------------------------------- */

static void push_text(Writer *w, const char *text) {
  VEC_PUSH(&w->stack, (Piece){.text = text});
}

/* Pushes fields from last to first, so that the first is popped first.  Each
 * field's text follows it on the stack: "(" f0 ", " f1 ... ")". */
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

/* Scalars below a constructor stand in the text, since a list of a million
 * numbers would otherwise be a million tensors.  `count` numbers the tensors of
 * a skeleton in the order in which they are read back. */
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

static const char *text_of(StatePacker *p, StrBuf *text) {
  return arena_strndup(p->arena, strbuf_text(text), text->len);
}

void state_ctor_print(Session *s, StrBuf *out, const Ctor *ctor) {
  for (int i = 0; i < ctor->field_count; i++) {
    const Name *label = ctor->labels ? ctor->labels[i].name : NULL;
    strbuf_addf(out, "%s%s%s", i ? ", " : "", label ? label->text : "",
                label ? ": " : "");
    type_print(s->code->program->types, out, ctor->fields[i], TYPE_TEXT_MOST);
  }
}

static void tell_ctor(Writer *w, const Ctor *ctor) {
  if (ptrmap_has(&w->told, ctor)) return;
  StatePacker *p = w->packer;
  StrBuf fields;
  strbuf_init(&fields, p->mem);
  state_ctor_print(p->session, &fields, ctor);
  PackedCtor told = {
      .name = arena_printf(p->arena, "%s.%s", ctor->adt->name->text,
                           ctor->name->text),
      .fields = text_of(p, &fields)};
  strbuf_done(&fields);
  ptrmap_put(&w->told, ctor, w);
  if (told.name && told.fields) VEC_PUSH(&p->ctors, told);
  else mem_raise_exhausted(p->mem);
}

static bool put_ctor(Writer *w, const Piece *p) {
  const Ctor *ctor = &p->type->adt->ctors[p->value.obj->tag];
  if (state_tells_ctor(ctor)) tell_ctor(w, ctor);
  strbuf_add(&w->out, ctor->name->text);
  if (ctor->field_count) push_fields(w, p, ctor->field_count);
  return true;
}

static bool put_tuple(Writer *w, const Piece *p) {
  if (p->type->count) push_fields(w, p, p->type->count);
  else strbuf_add(&w->out, "()");
  return true;
}

/* The list of cells is complete, so every cell that a content leads to has an
 * index. */
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

/* The outermost value of a skeleton is written whole (put_skeleton), or a
 * shared object would stand for itself. */
static bool put_value(Writer *w, const Piece *p) {
  bool object = p->type->kind == TY_TUPLE || p->type->kind == TY_ADT;
  size_t shared = object ? shared_index(w, p) : SIZE_MAX;
  if (shared == SIZE_MAX) return put_whole(w, p);
  strbuf_addf(&w->out, "*%zu", shared);
  return true;
}

/* Writes one value's skeleton into `out`.  The buffer and the stack are used
 * again for each skeleton. */
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
    if (w->packer->most && w->out.len > w->packer->most) return false;
  }
  return goes_on(w);
}

/* --- Cells -------------------------------------------------------------- */

/* A content that is a single tensor takes the cell's own name. */
static const char *content_name(const Writer *w, const Type *content) {
  if (content->kind == TY_TENSOR)
    return arena_strndup(w->packer->arena, w->path, strlen(w->path));
  return arena_printf(w->packer->arena, "%s^", w->path);
}

static bool put_content(Writer *w, const Type *type, Value content) {
  Piece whole = {.type = type, .value = content, .name = content_name(w, type)};
  return put_skeleton(w, &whole);
}

/* Types are written in full, so that a file that is read much later can be
 * compared with the program's. */
static bool put_cell(Writer *w, const StateCell *cell) {
  const Type *type = cell->type;
  if (!type || type->args[0]->has_var)
    return refuse(w,
                  "was made by a polymorphic function, so the type of "
                  "what it holds is not known");
  if (type->size > STATE_TYPE_MAX)
    return refuse(w, "has a type of more than 10,000 parts");
  return put_content(w, type->args[0], cell->cell->content);
}

/* In lenient mode a cell that cannot be packed gets an empty skeleton.  Then
 * the path and the type are still there: reading can say what was lost. */
static bool pack_cell(Writer *w, const StateCell *cell) {
  StatePacker *p = w->packer;
  PackedCell packed = {
      .path = arena_strndup(p->arena, cell->path, strlen(cell->path)),
      .type = "?"};
  w->path = cell->path;
  w->refused = false;
  if (!put_cell(w, cell) && !(w->refused && p->lenient)) return false;
  if (w->refused) VEC_CLEAR(&w->out);
  packed.skeleton = text_of(p, &w->out);
  VEC_CLEAR(&w->out);
  if (cell->type && cell->type->size <= STATE_TYPE_MAX) {
    type_print(p->session->code->program->types, &w->out, cell->type,
               TYPE_TEXT_MOST);
    packed.type = text_of(p, &w->out);
  }
  VEC_PUSH(&p->cells, packed);
  return goes_on(w);
}

/* Writing one shared object may add others to the end of the list. */
static bool pack_shared(Writer *w, size_t i) {
  StatePacker *p = w->packer;
  Shared s = w->shared.data[i];
  Piece whole = {.type = s.type, .value = s.value, .numbered = true};
  whole.name = arena_printf(p->arena, "*%zu", i);
  w->path = s.path;
  if (!put_skeleton(w, &whole) && !(w->refused && p->lenient)) return false;
  if (w->refused) VEC_CLEAR(&w->out);
  const char *skeleton = text_of(p, &w->out);
  if (skeleton) VEC_PUSH(&p->shared, skeleton);
  return skeleton && goes_on(w);
}

/* The last list grows while it is gone through. */
static bool pack_all_shared(Writer *w) {
  for (size_t i = 0; i < w->shared.len; i++)
    if (!pack_shared(w, i)) return false;
  return true;
}

/* Three passes: marks, cells, shared objects. */
static bool pack_list(Writer *w) {
  const StateList *list = w->list;
  for (size_t i = 0; i < list->cells.len; i++) {
    RefCell *r = list->cells.data[i].cell;
    if (r->obj.mask & REF_COUNTED && !find_shared(w, r->content.obj))
      return false;
  }
  for (size_t i = 0; i < list->cells.len; i++)
    if (!pack_cell(w, &list->cells.data[i])) return false;
  return pack_all_shared(w);
}

static void writer_init(Writer *w, StatePacker *p, const StateList *list) {
  *w = (Writer){.packer = p, .list = list};
  strbuf_init(&w->out, p->mem);
  VEC_INIT(&w->stack, p->mem);
  VEC_INIT(&w->shared, p->mem);
  ptrmap_init(&w->met, p->mem);
  ptrmap_init(&w->told, p->mem);
}

static void writer_done(Writer *w) {
  strbuf_done(&w->out);
  VEC_DONE(&w->stack);
  VEC_DONE(&w->shared);
  ptrmap_done(&w->met);
  ptrmap_done(&w->told);
}

bool state_pack(StatePacker *p) {
  StateList list = {.session = p->session};
  Writer w;
  writer_init(&w, p, &list);
  bool ok = state_list(p->session, true, &list) && pack_list(&w);
  writer_done(&w);
  state_list_done(&list);
  return ok;
}

bool state_pack_value(StatePacker *p, const char *path, const Type *type,
                      Value value) {
  Writer w;
  writer_init(&w, p, NULL);
  w.path = path;
  bool ok = (!type_is_counted(type) || find_shared(&w, value.obj)) &&
            put_content(&w, type, value);
  const char *skeleton = ok ? text_of(p, &w.out) : NULL;
  if (skeleton) VEC_PUSH(&p->cells, (PackedCell){path, "", skeleton});
  ok = skeleton && pack_all_shared(&w) && goes_on(&w);
  writer_done(&w);
  return ok;
}
