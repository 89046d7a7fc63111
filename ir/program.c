/* Programs: their units, their scopes and their constants.  What a definition
 * means is worked out in types/.
 *
 * Who owns what:
 *
 *   Program      its arena (globals, data types), table of types, and scopes
 *   Unit         the arena of its tree; units are a list in order of loading
 *   constants    tensors that expressions point to; immortal while the program
 *                lives, so the machine need not count uses of them
 *
 * A unit that is dropped frees its tree; what it had put into the program's
 * arena stays until the program goes. */
#include "ir/program.h"

#include "ir/walk.h"

#include <string.h>

/* --- Scopes --------------------------------------------------------------- */

void scope_init(Scope *s, Scope *outer, Mem *mem) {
  s->outer = outer;
  ptrmap_init(&s->globals, mem);
  ptrmap_init(&s->locals, mem);
  ptrmap_init(&s->adts, mem);
  ptrmap_init(&s->ctors, mem);
}

void scope_done(Scope *s) {
  ptrmap_done(&s->globals);
  ptrmap_done(&s->locals);
  ptrmap_done(&s->adts);
  ptrmap_done(&s->ctors);
}

/* The innermost meaning of `name` in the map that lies `map` bytes into each
 * scope. */
static void *find(const Scope *s, size_t map, const Name *name) {
  for (; s; s = s->outer) {
    void *found = ptrmap_get((const PtrMap *)((const char *)s + map), name);
    if (found) return found;
  }
  return NULL;
}

Global *scope_global(const Scope *s, const Name *name) {
  return find(s, offsetof(Scope, globals), name);
}

Global *scope_local(const Scope *s, const Name *name) {
  return find(s, offsetof(Scope, locals), name);
}

Adt *scope_adt(const Scope *s, const Name *name) {
  return find(s, offsetof(Scope, adts), name);
}

Ctor *scope_ctor(const Scope *s, const Name *name) {
  return find(s, offsetof(Scope, ctors), name);
}

static void offer_functions(Suggestion *near, const Unit *u) {
  for (int i = 0; i < u->item_count; i++)
    if (u->items[i].kind == ITEM_DEF)
      suggestion_offer(near, u->items[i].name->text);
}

void program_no_function(Program *p, const Unit *in, const char *name) {
  Suggestion near = suggestion_for(name);
  for (const Unit *u = in ? in : p->units; u; u = in ? NULL : u->next)
    if (!u->source->library) offer_functions(&near, u);
  Diag *d =
      diag_error(p->diags, E0102, SPAN_NONE, "there is no function `@%s`%s%s",
                 name, in ? " in " : "", in ? in->source->path : "");
  if (near.best) diag_hint(d, "did you mean `@%s`?", near.best);
}

bool item_is_step(const Item *item) {
  return item->kind == ITEM_LET_GLOBAL || item->kind == ITEM_LET_LOCAL ||
         item->kind == ITEM_EXPR;
}

bool item_is_main(const Item *item) {
  return item->kind == ITEM_DEF && strcmp(item->name->text, "main") == 0;
}

bool item_is_global(const Item *item) {
  return item->kind == ITEM_DEF || item->kind == ITEM_PARAM ||
         item->kind == ITEM_LET_GLOBAL;
}

Global *item_global(const Program *p, const Item *item) {
  if (item_is_global(item)) return scope_global(&p->user, item->name);
  return item->kind == ITEM_LET_LOCAL ? scope_local(&p->user, item->name)
                                      : NULL;
}

const Item *global_item_of(const Program *p, const Global *g) {
  for (const Unit *u = p->units; u && !g->library; u = u->next)
    for (int i = 0; i < u->item_count; i++) {
      const Item *item = &u->items[i];
      if (item->name == g->name && item_global(p, item) == g) return item;
    }
  return NULL;
}

const Expr *global_body(const Global *g) {
  return g->instances ? g->instances->value : g->value;
}

const Global *global_of_text(const Global *g) {
  return g->instance_of ? g->instance_of : g;
}

bool literal_is_plain(const Program *p, const Expr *e) {
  uint32_t len;
  const char *text = sources_text(p->sources, e->span, &len);
  for (uint32_t i = 0; i < len; i++)
    if (!strchr("0123456789-( )", text[i])) return false;
  return dtype_is_int((DType)e->constant->dtype);
}

/* --- Rules --------------------------------------------------------------- */

static const char *const grade_words[] = {
    [GRADE_BITS] = "bits", [GRADE_ULP] = "ulp", [GRADE_REAL] = "real"};

const char *grade_word(GradeKind kind) { return grade_words[kind]; }

GradeKind grade_find(const char *word) {
  GradeKind kind = 0;
  while (kind < GRADE_COUNT && strcmp(grade_words[kind], word) != 0) kind++;
  return kind;
}

/* --- Programs ------------------------------------------------------------- */

/* The tables of types and dimensions have a Mem of their own below the
 * program's, without a limit; the program's Mem watches it, so that running out
 * there is seen here. */
Program *program_new(Mem *mem, NameTable *names, SourceMap *sources,
                     Diags *diags, Heap *heap) {
  Program *p = mem_alloc_zeroed(mem, sizeof *p);
  if (!p) return NULL;
  p->mem = mem;
  p->names = names;
  p->sources = sources;
  p->diags = diags;
  p->heap = heap;
  p->tables = mem_child(mem, SIZE_MAX);
  p->types = p->tables ? types_new(p->tables) : NULL;
  mem->watched[mem->watched[0] != NULL] = p->tables;
  arena_init(&p->arena, mem);
  scope_init(&p->library, NULL, mem);
  scope_init(&p->user, &p->library, mem);
  VEC_INIT(&p->params, mem);
  VEC_INIT(&p->values, mem);
  VEC_INIT(&p->constants, mem);
  VEC_INIT(&p->replaced, mem);
  if (p->types) return p;
  program_free(p);
  return NULL;
}

/* Gives constants their counts back and drops them. */
static void drop_constants(Program *p) {
  for (size_t i = 0; i < p->constants.len; i++) {
    p->constants.data[i]->obj.count = 1;
    tensor_drop(p->heap, p->constants.data[i]);
  }
  VEC_DONE(&p->constants);
}

void program_free(Program *p) {
  if (!p) return;
  for (Unit *u = p->units, *next; u; u = next) {
    next = u->next;
    arena_done(&u->arena);
  }
  drop_constants(p);
  VEC_DONE(&p->params);
  VEC_DONE(&p->values);
  VEC_DONE(&p->replaced);
  scope_done(&p->user);
  scope_done(&p->library);
  types_free(p->types);
  arena_done(&p->arena);
  Mem *mem = p->mem;
  mem->watched[mem->watched[1] == p->tables] = NULL;
  mem_leave(p->tables);
  mem_free(mem, p, sizeof *p);
}

/* --- Units ---------------------------------------------------------------- */

Unit *unit_new(Program *p, SourceFile *source) {
  Unit *u = ARENA_NEW(&p->arena, Unit);
  u->source = source;
  arena_init(&u->arena, p->mem);
  if (p->last_unit) p->last_unit->next = u;
  else p->units = u;
  p->last_unit = u;
  return u;
}

void unit_share(Unit *u, const Unit *from) {
  u->version_header = from->version_header;
  u->has_graph = from->has_graph;
  u->items = from->items;
  u->item_count = from->item_count;
  u->meta = from->meta;
  u->meta_count = from->meta_count;
  u->meta_span = from->meta_span;
  u->entries = from->entries;
  u->entry_count = from->entry_count;
}

void program_drop_unit(Program *p, Unit *u) {
  Unit **link = &p->units, *before = NULL;
  while (*link && *link != u) {
    before = *link;
    link = &before->next;
  }
  if (!*link) return;
  *link = u->next;
  if (p->last_unit == u) p->last_unit = before;
  arena_done(&u->arena);
}

/* --- Constants ------------------------------------------------------------ */

enum { ELEMENT_ALIGN = 64 };

/* A scalar's header, its buffer and its element, in one piece of the arena. */
typedef struct Scalar {
  Tensor tensor;
  Buffer buffer;
  char room[2 * ELEMENT_ALIGN];
} Scalar;

/* A scalar's element is aligned as the data of every buffer is
 * (tensor/tensor.h). */
static char *aligned(char *p) {
  uintptr_t past = (uintptr_t)p % ELEMENT_ALIGN;
  return past ? p + (ELEMENT_ALIGN - past) : p;
}

/* In the arena and in one piece: a program has many, and they live as long as
 * it. */
struct Tensor *program_scalar(Program *p, DType dtype, Value bits) {
  Scalar *s = ARENA_NEW(&p->arena, Scalar);
  s->buffer = (Buffer){.count = 1,
                       .flags = BUFFER_READONLY,
                       .size = dtype_size(dtype),
                       .data = aligned(s->room)};
  s->tensor = (Tensor){.obj = {.count = COUNT_IMMORTAL, .size = SIZE_TENSOR},
                       .dtype = (uint8_t)dtype,
                       .buffer = &s->buffer,
                       .data = s->buffer.data};
  bits_store(dtype, s->buffer.data, bits);
  return &s->tensor;
}

/* Room in the list comes first, so that nothing can fail once the tensor is
 * immortal. */
struct Tensor *program_tensor_new(Program *p, DType dtype, int rank,
                                  const int64_t *shape) {
  struct Tensor *t = tensor_new(p->heap, dtype, rank, shape);
  if (!t) mem_raise_exhausted(p->mem);
  return t;
}

struct Tensor *program_constant_take(Program *p, struct Tensor *t) {
  if (!VEC_RESERVE(&p->constants, 1)) {
    tensor_drop(p->heap, t);
    return NULL;
  }
  VEC_PUSH(&p->constants, t);
  t->buffer->flags |= BUFFER_READONLY;
  t->obj.count = COUNT_IMMORTAL;
  return t;
}

const Name *program_mentions(const Program *p, const Expr *e,
                             const PtrMap *names) {
  const Name *found = NULL;
  ExprWalk w;
  expr_walk_start(&w, p->mem, WALK_ENTER, e);
  while (expr_walk_next(&w)) {
    const Global *g = w.at->kind == EX_GLOBAL ? w.at->g.global : NULL;
    if (g && ptrmap_has(names, g->name) && scope_global(&p->user, g->name) == g)
      found = g->name;
  }
  return expr_walk_end(&w) ? found : NULL;
}

const char *global_sigil(const Global *g) {
  return g->kind == GLOBAL_LOCAL ? "%" : "@";
}
