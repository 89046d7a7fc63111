/* Lists a session's cells, and takes snapshots of their contents.
 *
 * The walk starts at the globals, in the order of the text, and goes depth
 * first through everything that they lead to.  It is directed by types where
 * they are known, for paths need the names of constructors and variables, and
 * by the objects' own masks where they are not (inside of polymorphic
 * functions).  An explicit stack holds what is left to visit, so values may be
 * arbitrarily deep, and shared objects are marked when first met, so the walk
 * is linear in the value and not in the number of paths to it.
 *
 * Subtrees whose type cannot lead to a cell (a list of numbers, however long)
 * are not entered: may_hold() answers that for each type once.
 *
 * A list owns one reference to each cell, and its paths in an arena; it shows
 * one moment and does not follow the session. */
#include "state/state.h"
#include "vm/machine.h"

#include <string.h>

/* --- Paths -------------------------------------------------------------- */

typedef enum StepInto {
  INTO_ROOT,
  INTO_FIELD,
  INTO_CTOR,
  INTO_CAPTURE,
  INTO_CONTENT,
} StepInto;

/* Paths share their beginnings: a path is a step and the path before it, and
 * its text is made only for a cell. */
typedef struct Path {
  const struct Path *up;
  StepInto into;
  char sigil;
  const char *name;
  size_t index; /* of a field; or which global of that name: 1, the newest */
} Path;

typedef struct Pending {
  Obj *obj;
  const Type *type; /* NULL for an unknown type */
  const Path *path;
} Pending;

/* `seen`, `verdicts`: the keys are pointers; what the entries hold does not
 * matter beyond being there. */
typedef struct Scan {
  Session *session;
  StateList *list;
  bool paths;
  VEC(Pending) stack;
  PtrMap seen;     /* shared objects met so far */
  PtrMap verdicts; /* Type -> may it lead to a cell? */
  size_t again;    /* how many shared objects may be walked twice */
} Scan;

/* A snapshot needs no paths, so none are made. */
static const Path *path_new(Scan *c, Path path) {
  if (!c->paths) return NULL;
  Path *p = ARENA_NEW(&c->list->arena, Path);
  if (p) *p = path;
  return p;
}

/* @name, .2, .Cons.0, {%x}, ^: state.h has the grammar. */
static void path_step(StrBuf *out, const Path *p) {
  switch (p->into) {
    case INTO_ROOT: strbuf_addf(out, "%c%s", p->sigil, p->name); break;
    case INTO_FIELD: strbuf_addf(out, ".%zu", p->index); break;
    case INTO_CTOR: strbuf_addf(out, ".%s.%zu", p->name, p->index); break;
    case INTO_CAPTURE: strbuf_addf(out, "{%%%s", p->name); break;
    case INTO_CONTENT: strbuf_add_char(out, '^'); break;
  }
  if (p->into == INTO_ROOT || p->into == INTO_CAPTURE)
    if (p->index > 1) strbuf_addf(out, "#%zu", p->index);
  if (p->into == INTO_CAPTURE) strbuf_add_char(out, '}');
}

/* The steps are linked from the last to the first, so they are turned round. */
static const char *path_text(Scan *c, const Path *path) {
  if (!c->paths) return NULL;
  VEC(const Path *) steps;
  VEC_INIT(&steps, c->session->mem);
  for (const Path *p = path; p; p = p->up) VEC_PUSH(&steps, p);
  StrBuf text;
  strbuf_init(&text, c->session->mem);
  while (steps.len) {
    const Path *p = VEC_POP(&steps);
    path_step(&text, p);
  }
  const char *copy =
      arena_strndup(&c->list->arena, strbuf_text(&text), text.len);
  strbuf_done(&text);
  VEC_DONE(&steps);
  return copy;
}

/* --- Types that may lead to a cell -------------------------------------- */

typedef struct Reached {
  const Type *type;
  /* inside an ADT's declaration, whose type parameters are open */
  bool declared;
} Reached;

typedef struct Search {
  VEC(Reached) stack;
  PtrMap seen; /* types, ADTs */
} Search;

/* The key is the address of the type or, for a type in a declaration, the byte
 * after it: the same type may have to be looked at in both ways. */
static void reach(Search *s, const Type *type, bool declared) {
  const void *key = (const char *)type + declared;
  if (ptrmap_has(&s->seen, key)) return;
  ptrmap_put(&s->seen, key, (void *)type);
  VEC_PUSH(&s->stack, (Reached){type, declared});
}

/* Fields are looked at with their parameters open, once for each data type; the
 * arguments are looked at by themselves (reaches).  So List[ref(T)] is found by
 * its argument and not by instantiating its fields, and recursive types end. */
static void reach_adt(Search *s, const Adt *adt) {
  if (ptrmap_has(&s->seen, adt)) return;
  ptrmap_put(&s->seen, adt, (void *)adt);
  for (int i = 0; i < adt->ctor_count; i++)
    for (int k = 0; k < adt->ctors[i].field_count; k++)
      reach(s, adt->ctors[i].fields[k], true);
}

/* Can a value of this one type be a cell or a function?  A type variable may
 * stand for either.
 *
 *   tensor         no
 *   A, declared    no: its argument is looked at in its place
 *   A, else        yes: nothing is known of it
 *   tuple, ADT     as its parts
 *   ref, fn        yes */
static bool reaches(Search *s, Reached r) {
  switch (r.type->kind) {
    case TY_TENSOR: return false;
    case TY_VAR: return !r.declared;
    case TY_ADT: reach_adt(s, r.type->adt); break;
    case TY_TUPLE: break;
    default: return true;
  }
  for (int i = 0; i < r.type->count; i++) reach(s, r.type->args[i], r.declared);
  return false;
}

static bool search(Scan *c, const Type *type) {
  Search s;
  VEC_INIT(&s.stack, c->session->mem);
  ptrmap_init(&s.seen, c->session->mem);
  bool found = false;
  reach(&s, type, false);
  while (s.stack.len && !found) found = reaches(&s, VEC_POP(&s.stack));
  VEC_DONE(&s.stack);
  ptrmap_done(&s.seen);
  return found;
}

/* Verdicts are kept for the time of one scan: two static addresses stand for
 * the answers. */
static bool may_hold(Scan *c, const Type *type) {
  static const char yes, no;
  const void *known = ptrmap_get(&c->verdicts, type);
  if (!known) {
    known = search(c, type) ? &yes : &no;
    ptrmap_put(&c->verdicts, type, (void *)known);
  }
  return known == &yes;
}

/* --- The walk ----------------------------------------------------------- */

/* A type variable says nothing. */
static const Type *known_type(const Type *type) {
  return type && type->kind == TY_VAR ? NULL : type;
}

/* Immortal objects hold no cells, for cells are made at run time; tensors hold
 * none either. */
static void push(Scan *c, Obj *o, const Type *type, Path path) {
  type = known_type(type);
  if (!o || o->count < 0 || o->size == SIZE_TENSOR) return;
  if (type && !may_hold(c, type)) return;
  VEC_PUSH(&c->stack, (Pending){o, type, path_new(c, path)});
}

/* Captured variables stand in the closure in the order of the group's list.
 * Two of them may have one name; the n-th of a name is written {%x#n}. */
static void walk_closure(Scan *c, Cell *closure, const Path *path) {
  closure = closure_meant(closure);
  const Function *f = closure_function(closure);
  const FnGroup *g = f->key.group;
  if (!g) return;
  Cell *from = captures_cell(g, closure);
  uint64_t at = (uint64_t)captures_first(g);
  for (int i = 0; i < g->free_count; i++) {
    const FreeVar *v = &g->free[i];
    if (!v->captured) continue;
    size_t same = 1;
    for (int k = 0; k < i; k++)
      same += g->free[k].captured && g->free[k].var->name == v->var->name;
    if (cell_field_counted(from, at))
      push(c, cell_fields(from)[at].obj, v->var->type,
           (Path){path, INTO_CAPTURE, '%', v->var->name->text, same});
    at++;
  }
}

/* NULL where the type of the whole is not known. */
static const Type *field_type(Scan *c, const Type *type, const Cell *cell,
                              int i) {
  if (!type || type->kind == TY_TUPLE) return type ? type->args[i] : NULL;
  return value_ctor_field(&c->session->store, type, cell->obj.tag, i);
}

/* The mask of the object says which fields are counted, whatever the type. */
static void walk_fields(Scan *c, Cell *cell, const Type *type,
                        const Path *path) {
  Path step = {.up = path, .into = INTO_FIELD};
  if (type && type->kind == TY_ADT) {
    step.into = INTO_CTOR;
    step.name = type->adt->ctors[cell->obj.tag].name->text;
  }
  for (uint64_t i = 0; i < cell_count(cell); i++) {
    if (!cell_field_counted(cell, i)) continue;
    step.index = (size_t)i;
    push(c, cell_fields(cell)[i].obj, field_type(c, type, cell, (int)i), step);
  }
}

/* A cell that is known already gets an alias; a new one enters the list before
 * its content is walked, so that a cycle comes back to it as an alias. */
static void walk_ref(Scan *c, Pending p) {
  StateList *list = c->list;
  RefCell *r = (RefCell *)p.obj;
  uintptr_t known = (uintptr_t)ptrmap_get(&list->index, r);
  if (known) {
    if (c->paths && list->aliases.len < STATE_ALIASES_MOST)
      VEC_PUSH(&list->aliases, (StateAlias){known - 1, path_text(c, p.path)});
    return;
  }
  if (!VEC_RESERVE(&list->cells, 1)) return;
  const char *path = path_text(c, p.path);
  VEC_PUSH(&list->cells, (StateCell){.cell = r,
                                     .type = p.type,
                                     .path = path,
                                     .nested = path && strchr(path, '^')});
  obj_keep(&r->obj);
  ptrmap_put(&list->index, r, (void *)(uintptr_t)list->cells.len);
  if (r->obj.mask & REF_COUNTED)
    push(c, r->content.obj, p.type ? p.type->args[0] : NULL,
         (Path){.up = p.path, .into = INTO_CONTENT});
}

/* A shared object is walked once.  A limited number are walked again, because
 * other paths to their cells are aliases that the list shows.  An object with a
 * single reference is reached by one path only and needs no mark. */
static bool walk_again(Scan *c, Obj *o) {
  if (o->count == 1) return true;
  if (ptrmap_has(&c->seen, o)) return c->paths && c->again && c->again--;
  ptrmap_put(&c->seen, o, o);
  return true;
}

static void walk_one(Scan *c, Pending p) {
  if (p.obj->size == SIZE_REF) walk_ref(c, p);
  else if (!walk_again(c, p.obj)) return;
  else if (p.type && p.type->kind == TY_FN)
    walk_closure(c, (Cell *)p.obj, p.path);
  else walk_fields(c, (Cell *)p.obj, p.type, p.path);
}

/* Depth-first, in order: a node's children are pushed from first to last, then
 * reversed, so that the first is popped first.  Ends early when memory runs out
 * or a stop is asked for; the list is then not used. */
static void walk(Scan *c) {
  while (c->stack.len && !mem_exhausted(c->session->mem) &&
         !store_should_stop(&c->session->store)) {
    Pending p = VEC_POP(&c->stack);
    size_t first = c->stack.len;
    walk_one(c, p);
    for (size_t i = first, j = c->stack.len; i + 1 < j; i++) {
      Pending moved = c->stack.data[i];
      c->stack.data[i] = c->stack.data[--j];
      c->stack.data[j] = moved;
    }
  }
}

/* How many values have each name: of `@` in names[0], of `%` in names[1]. Those
 * that this session has not computed count, so that a path means the same in
 * all sessions of a program. */
static void count_names(const Program *p, PtrMap names[2]) {
  for (size_t i = 0; i < p->values.len; i++) {
    const Global *g = p->values.data[i];
    PtrMap *of = &names[g->kind == GLOBAL_LOCAL];
    uintptr_t same = (uintptr_t)ptrmap_get(of, g->name) + 1;
    ptrmap_put(of, g->name, (void *)same);
  }
}

/* Globals that share a name (the prompt allows redefinition) are numbered from
 * the newest, which is the one that the name means now: its path is the name
 * alone.  The older ones are listed as well, for functions that were defined
 * before may still use them. */
static void walk_globals(Scan *c) {
  const Session *s = c->session;
  const Program *p = s->code->program;
  PtrMap names[2];
  for (int i = 0; i < 2; i++) ptrmap_init(&names[i], s->mem);
  count_names(p, names);
  for (size_t i = 0; i < p->values.len && i < s->value_count; i++) {
    const Global *g = p->values.data[i];
    bool local = g->kind == GLOBAL_LOCAL;
    uintptr_t same = (uintptr_t)ptrmap_get(&names[local], g->name);
    ptrmap_put(&names[local], g->name, (void *)(same - 1));
    if (s->values[i].defined && type_is_counted(g->type))
      push(c, s->values[i].value.obj, g->type,
           (Path){NULL, INTO_ROOT, local ? '%' : '@', g->name->text, same});
    walk(c);
  }
  for (int i = 0; i < 2; i++) ptrmap_done(&names[i]);
}

/* After the globals.  No global's path begins so, and no two have one name. */
static void walk_host_cells(Scan *c) {
  const Session *s = c->session;
  for (size_t i = 0; i < s->host_cells.len; i++) {
    const HostCell *h = &s->host_cells.data[i];
    push(c, &h->cell->obj, h->type,
         (Path){NULL, INTO_ROOT, '$', h->name->text, 1});
    walk(c);
  }
}

/* --- The list ----------------------------------------------------------- */

/* The list is complete or the answer is false. */
bool state_list(Session *s, bool paths, StateList *list) {
  *list = (StateList){.session = s};
  arena_init(&list->arena, s->mem);
  VEC_INIT(&list->cells, s->mem);
  VEC_INIT(&list->aliases, s->mem);
  ptrmap_init(&list->index, s->mem);
  Scan c = {
      .session = s, .list = list, .paths = paths, .again = STATE_ALIASES_MOST};
  VEC_INIT(&c.stack, s->mem);
  ptrmap_init(&c.seen, s->mem);
  ptrmap_init(&c.verdicts, s->mem);
  walk_globals(&c);
  walk_host_cells(&c);
  VEC_DONE(&c.stack);
  ptrmap_done(&c.seen);
  ptrmap_done(&c.verdicts);
  return !mem_exhausted(s->mem) && !store_should_stop(&s->store);
}

void state_list_done(StateList *list) {
  for (size_t i = 0; i < list->cells.len; i++)
    obj_drop(&list->session->store, &list->cells.data[i].cell->obj);
  VEC_DONE(&list->cells);
  VEC_DONE(&list->aliases);
  ptrmap_done(&list->index);
  arena_done(&list->arena);
}

/* The prompt looks up one path at a time, so the search is linear;
 * state_unpack.c, which looks up many, sorts. */
const StateCell *state_find(const StateList *list, const char *path) {
  for (size_t i = 0; i < list->cells.len; i++)
    if (!strcmp(list->cells.data[i].path, path)) return &list->cells.data[i];
  for (size_t i = 0; i < list->aliases.len; i++) {
    const StateAlias *a = &list->aliases.data[i];
    if (!strcmp(a->path, path)) return &list->cells.data[a->cell];
  }
  return NULL;
}

void cell_set_take(Session *s, RefCell *cell, Value content) {
  Value old = cell->content;
  cell->content = content;
  if (cell->obj.mask & REF_COUNTED && old.obj) obj_drop(&s->store, old.obj);
}

bool state_add_cell(Session *s, const Name *name, const Type *type,
                    Value content) {
  if (!VEC_RESERVE(&s->host_cells, 1)) return false;
  RefCell *cell = cell_of_type(s, type, content);
  if (!cell) return false;
  value_keep(type->args[0], content);
  VEC_PUSH(&s->host_cells, (HostCell){name, type, cell});
  return true;
}

bool state_has_cell(const Session *s, const Name *name) {
  for (size_t i = 0; i < s->host_cells.len; i++)
    if (s->host_cells.data[i].name == name) return true;
  return false;
}

RefCell *cell_of_type(Session *s, const Type *type, Value content) {
  unsigned mask = type_is_counted(type->args[0]) ? REF_COUNTED : 0;
  if (mask && type_may_cycle(type->args[0])) mask |= REF_CYCLIC;
  return ref_new(&s->store, mask, content);
}

/* --- Snapshots ---------------------------------------------------------- */

/* A pair for each cell.  The content is shared with the session, whose values
 * never change in place while somebody else holds them (a kernel writes over a
 * tensor only when nobody else has it), so taking a snapshot copies nothing. */
struct Snapshot {
  size_t count;
  struct Held {
    RefCell *cell;
    Value content;
  } held[];
};

static size_t snapshot_size(size_t count) {
  return sizeof(Snapshot) + count * sizeof(struct Held);
}

static bool holds_counted(const RefCell *r) {
  return r->obj.mask & REF_COUNTED;
}

static Snapshot *snapshot_of(const StateList *list) {
  Snapshot *p = mem_alloc(list->session->mem, snapshot_size(list->cells.len));
  if (!p) return NULL;
  p->count = list->cells.len;
  for (size_t i = 0; i < p->count; i++) {
    RefCell *r = list->cells.data[i].cell;
    obj_keep(&r->obj);
    if (holds_counted(r)) obj_keep(r->content.obj);
    p->held[i] = (struct Held){r, r->content};
  }
  return p;
}

Snapshot *session_snapshot(Session *s) {
  StateList list;
  Snapshot *p = state_list(s, false, &list) ? snapshot_of(&list) : NULL;
  state_list_done(&list);
  return p;
}

/* The snapshot keeps its references: it may be restored again. */
void session_restore(Session *s, const Snapshot *snapshot) {
  for (size_t i = 0; i < snapshot->count; i++) {
    struct Held h = snapshot->held[i];
    if (holds_counted(h.cell)) obj_keep(h.content.obj);
    cell_set_take(s, h.cell, h.content);
  }
}

void snapshot_free(Session *s, Snapshot *snapshot) {
  for (size_t i = 0; i < snapshot->count; i++) {
    struct Held h = snapshot->held[i];
    if (holds_counted(h.cell)) obj_drop(&s->store, h.content.obj);
    obj_drop(&s->store, &h.cell->obj);
  }
  mem_free(s->mem, snapshot, snapshot_size(snapshot->count));
}
