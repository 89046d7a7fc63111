/* What goes on when a run of differentiation ends.
 *
 * What was made above a level holds Duals of runs that end.  A value that goes
 * on is copied without them: data, and functions, whose copies capture copies.
 * A cell stays itself, and holds constants from then on.
 *
 *   for differentiated code   scalars of floats stay objects
 *   for other code            they become bits, and a function is given in a
 *                             closure that calls it (code_plain)
 *   in a closure              likewise, but a function that is captured stays
 *                             one of differentiated code, which may call it
 *                             directly (FreeVar.callee)
 *
 * A value is gone over by what the headers of its objects say, one after the
 * other, so they may be nested to any depth, and in circles.  One thing a
 * header does not say: is a tensor of rank 0 a scalar, which is bits in code
 * that is not differentiated, or is its rank unknown?  So there the types go
 * along. */
#include "vm/dual_tape.h"

typedef enum Way { WAY_DUAL, WAY_PLAIN, WAY_CAPTURED, WAYS } Way;

typedef struct Left {
  Obj *o;
  const Type *type;     /* NULL: not known */
  const FnGroup *group; /* what it captured are the fields; NULL: it is data */
  Way way;
} Left;

typedef struct Descent {
  Session *s;
  int level;
  bool stays; /* functions and cells do: stop_gradient lets them through */
  bool known; /* types have no parts that are not known */
  Way way;    /* of what is gone over now */
  PtrMap seen[WAYS]; /* what has several holders -> its copy */
  VEC(Left) rest;    /* copies of cells, and ref cells, still to be gone over */
  VEC(Obj *) replaced; /* what cells held: `seen` names it, or a part of it */
} Descent;

static Cell *cell_copy(Session *s, Cell *from) {
  int n = (int)cell_count(from);
  Cell *c = blank_cell(s, from->obj.tag, n);
  for (int i = 0; c && i < n; i++) {
    Value v = cell_fields(from)[i];
    if (!cell_field_counted(from, (uint64_t)i)) {
      cell_fields(c)[i] = v;
      continue;
    }
    obj_keep(v.obj);
    set_field(c, i, v);
  }
  return c;
}

/* The copy of what was met before, kept; false: there is none. */
static bool copied_before(Descent *w, Obj *from, Value *out) {
  out->obj = obj_unshared(from) ? NULL : ptrmap_get(&w->seen[w->way], from);
  if (out->obj) obj_keep(out->obj);
  return out->obj;
}

static void note_copy(Descent *w, const Obj *from, Value copy) {
  if (!obj_unshared(from)) ptrmap_put(&w->seen[w->way], from, copy.obj);
}

/* The fields of the copy are those of the cell until it is gone over. */
static bool down_cell(Descent *w, Cell *from, const Type *type,
                      const FnGroup *group, Value *out) {
  if (copied_before(w, &from->obj, out)) return true;
  out->cell = cell_copy(w->s, from);
  if (!out->cell) return vm_out_of_memory(w->s);
  VEC_PUSH(&w->rest, (Left){out->obj, type, group, w->way});
  note_copy(w, &from->obj, *out);
  return true;
}

/* A ref cell stays itself; its tag tells up to which level it was made.  Then
 * it is like one that was made at the level. */
static void down_ref(Descent *w, Obj *o, const Type *type) {
  int least = w->way == WAY_DUAL ? w->level + 1 : 0;
  if (o->tag <= least || w->stays) return;
  o->tag = (uint16_t)least;
  VEC_PUSH(&w->rest, (Left){o, type, NULL, w->way});
}

/* A function that stays polymorphic as a value has one instance for all types
 * whose values are objects (lower/poly.c), and so does not know of what type
 * they are. */
bool dual_type_unknown(Session *s, const char *what) {
  vm_fault(s, E0614,
           "a function that stays polymorphic as a value does not know the "
           "type of the %s here",
           what);
  diag_hint(s->fault, "write the type that the function is used at");
  return false;
}

static bool is_closure(Value v) {
  int size = v.obj->size;
  return size != SIZE_TENSOR && size != SIZE_REF && v.obj->tag == TAG_CLOSURE;
}

/* A copy that captures copies, or itself where it captures nothing that needs
 * them. */
static bool function_copy(Descent *w, Value v, Value *out) {
  const InstanceKey *key = &closure_function(v.cell)->key;
  bool captures = key->group && key->group->capture_count > 0;
  if (env_is_dual(key->env) && captures && !w->stays)
    return down_cell(w, v.cell, NULL, key->group, out);
  obj_keep(v.obj);
  *out = v;
  return true;
}

/* A closure of what other code calls in its place (code_plain); it captures the
 * function's copy. */
static bool given_function(Descent *w, Value v, const Type *type, unsigned form,
                           Value *out) {
  Session *s = w->s;
  if (!type || type->kind != TY_FN || (type->has_var && !w->known))
    return dual_type_unknown(s, "function that it writes");
  if (copied_before(w, v.obj, out)) return true;
  pthread_mutex_lock(&s->code->lock);
  Function *f = code_plain(s->code, type, form);
  pthread_mutex_unlock(&s->code->lock);
  Value inner;
  Cell *c = f ? blank_cell(s, TAG_CLOSURE, CLOSURE_CAPTURES + 1) : NULL;
  if (!c) return vm_out_of_memory(s);
  c->fields[CLOSURE_CODE].bits = (uint64_t)(uintptr_t)f;
  out->cell = c;
  note_copy(w, v.obj, *out);
  w->way = WAY_CAPTURED;
  bool ok = function_copy(w, v, &inner);
  w->way = WAY_PLAIN;
  if (ok) set_field(c, CLOSURE_CAPTURES, inner);
  else obj_drop(&s->store, out->obj);
  return ok;
}

static bool down_closure(Descent *w, Value v, const Type *type, unsigned form,
                         Value *out) {
  bool dual = env_is_dual(closure_function(v.cell)->key.env);
  return dual && w->way == WAY_PLAIN ? given_function(w, v, type, form, out)
                                     : function_copy(w, v, out);
}

static bool down_tensor(Descent *w, Value v, const Type *type, Value *out,
                        bool *counted) {
  if (w->level) v = dual_upto(v, w->level);
  else v.tensor = value_tensor(v);
  if (w->way != WAY_DUAL && v.tensor->rank == 0) {
    bool open = type && type->kind == TY_VAR && w->known; /* an object */
    if (!open && (!type || type->kind != TY_TENSOR))
      return dual_type_unknown(w->s, "scalar that it writes");
    *counted = type_is_counted(type);
  }
  if (*counted) obj_keep(v.obj);
  *out = *counted ? v : tensor_bits_at(v.tensor, 0);
  return true;
}

/* `counted`: the copy is an object; else it is a scalar's bits.  A tape stays
 * as it is: its records know of which run they are. */
static bool down_object(Descent *w, Value v, const Type *type, unsigned form,
                        Value *out, bool *counted) {
  Obj *o = v.obj;
  *counted = true;
  if (o->size == SIZE_TENSOR || o->tag == TAG_DUAL)
    return down_tensor(w, v, type, out, counted);
  if (o->size == SIZE_REF) down_ref(w, o, type);
  else if (o->tag == TAG_CLOSURE) return down_closure(w, v, type, form, out);
  else if (o->tag != TAG_TAPE && cell_count(v.cell) > 0)
    return down_cell(w, v.cell, type, NULL, out);
  obj_keep(o);
  *out = v;
  return true;
}

static bool down_field(Descent *w, Value *field, const Type *type,
                       unsigned form, bool *counted) {
  Value made;
  if (type && type->kind == TY_ERROR) return vm_out_of_memory(w->s);
  if (!down_object(w, *field, type, form, &made, counted)) return false;
  obj_drop(&w->s->store, field->obj);
  *field = made;
  return true;
}

/* The type of field i, as far as it is known; NULL: not at all; TY_ERROR:
 * memory ran out. */
static const Type *type_down(Descent *w, Left at, int i) {
  if (at.way == WAY_DUAL || !at.type) return NULL;
  switch (at.type->kind) {
    case TY_REF: return at.type->args[0];
    case TY_FN: return at.type; /* the closures of a polymorphic value */
    case TY_TUPLE:
    case TY_ADT: return part_type(w->s, at.type, (Cell *)at.o, i);
    default: return NULL;
  }
}

/* The type of a value that a closure captured, and which way it goes.  Where
 * the type is not known, the copy is one for differentiated code, which is all
 * that calls the closure. */
static const Type *type_captured(Descent *w, Left at, int i, Value v) {
  const Type *const *types = at.group->captured;
  const Type *type = types && at.way != WAY_DUAL ? types[i] : NULL;
  w->way = !type ? WAY_DUAL : is_closure(v) ? WAY_CAPTURED : WAY_PLAIN;
  return type;
}

/* The tuple in a closure that holds all that it captured. */
static bool down_packed(Descent *w, Left at) {
  Value *field = &((Cell *)at.o)->fields[CLOSURE_CAPTURES], made;
  if (!down_cell(w, field->cell, NULL, at.group, &made)) return false;
  obj_drop(&w->s->store, field->obj);
  *field = made;
  return true;
}

static bool down_cell_fields(Descent *w, Left at) {
  Cell *c = (Cell *)at.o;
  bool counted, closure = c->obj.tag == TAG_CLOSURE;
  if (closure && captures_packed(at.group)) return down_packed(w, at);
  int first = closure ? CLOSURE_CAPTURES : 0;
  for (int i = first, n = (int)cell_count(c); i < n; i++) {
    if (!cell_field_counted(c, (uint64_t)i)) continue;
    Value *field = &cell_fields(c)[i];
    w->way = at.way;
    const Type *type = at.group ? type_captured(w, at, i - first, *field)
                                : type_down(w, at, i);
    bool form = at.type && at.type->kind == TY_FN;
    if (!down_field(w, field, type, form ? (unsigned)i : 0, &counted))
      return false;
    if (!counted) mark_fields(c, i, 1, false);
  }
  return true;
}

static bool down_content(Descent *w, Left at) {
  RefCell *r = (RefCell *)at.o;
  bool counted;
  if (!(r->obj.mask & REF_COUNTED)) return true;
  if (!VEC_RESERVE(&w->replaced, 1)) return vm_out_of_memory(w->s);
  VEC_PUSH(&w->replaced, r->content.obj);
  obj_keep(r->content.obj);
  if (!down_field(w, &r->content, type_down(w, at, 0), 0, &counted))
    return false;
  if (!counted) r->obj.mask &= MASK_BITS & ~REF_COUNTED;
  return true;
}

static bool down_fields(Descent *w, Left at) {
  w->way = at.way;
  return at.o->size == SIZE_REF ? down_content(w, at) : down_cell_fields(w, at);
}

static bool brought_down(Descent w, Value v, const Type *type, Value *out) {
  Mem *mem = w.s->mem;
  bool counted;
  for (int i = 0; i < WAYS; i++) ptrmap_init(&w.seen[i], mem);
  VEC_INIT(&w.rest, mem);
  VEC_INIT(&w.replaced, mem);
  bool made = down_object(&w, v, type, 0, out, &counted), ok = made;
  while (ok && w.rest.len && !mem_exhausted(mem))
    ok = down_fields(&w, VEC_POP(&w.rest));
  ok = ok && (!mem_exhausted(mem) || vm_out_of_memory(w.s));
  if (made && !ok && counted) obj_drop(&w.s->store, out->obj);
  for (size_t i = 0; i < w.replaced.len; i++)
    obj_drop(&w.s->store, w.replaced.data[i]);
  VEC_DONE(&w.rest);
  VEC_DONE(&w.replaced);
  for (int i = 0; i < WAYS; i++) ptrmap_done(&w.seen[i]);
  return ok;
}

bool dual_freeze(Session *s, Value v, int level, Value *out) {
  Descent w = {.s = s, .level = level};
  return brought_down(w, v, NULL, out);
}

bool dual_give_out(Session *s, const Type *type, bool known, Value v,
                   Value *out) {
  Descent w = {.s = s, .way = WAY_PLAIN, .known = known};
  return brought_down(w, v, type, out);
}

bool vm_constant_of(Session *s, const Word *pc) {
  Descent w = {.s = s, .stays = true};
  return brought_down(w, s->regs[pc->b], NULL, &s->regs[pc->a]);
}

bool vm_given_out(Session *s, const Word *pc) {
  return dual_give_out(s, pc[1].data, true, s->regs[pc->b], &s->regs[pc->a]);
}
