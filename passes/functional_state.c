/* The state that `functional` makes explicit: its cells, what each holds at
 * first, and the type of all of them.
 *
 *   let @a = ref(1); let @net = (ref(2f), 3);
 *   the cells @a and @net, the state (1, (2f, 3)) : (int32, (float32, int32))
 *
 * A type is written with the content in the place of each cell.  What is held
 * whole or field by field is decided here, too (functional_field). */
#include "passes/functional.h"

#include "passes/rewrite.h"

/* --- Types as written ----------------------------------------------------- */

/* Does the type hold one of that kind?  Fields of data types are looked at
 * once; what their parameters stand for is among the type's own parts. */
static bool type_holds(const Functional *f, const Type *whole, TypeKind kind) {
  VEC(const Type *) work;
  PtrMap met;
  VEC_INIT(&work, f->p->mem);
  ptrmap_init(&met, f->p->mem);
  VEC_PUSH(&work, whole);
  bool found = false;
  while (work.len && !found) {
    const Type *t = VEC_POP(&work);
    found = t->kind == kind;
    for (int i = 0; i < t->count; i++) VEC_PUSH(&work, t->args[i]);
    if (t->kind == TY_FN) VEC_PUSH(&work, t->result);
    if (t->kind != TY_ADT || ptrmap_has(&met, t->adt)) continue;
    ptrmap_put(&met, t->adt, (void *)t->adt);
    for (int i = 0; i < t->adt->ctor_count; i++)
      for (int k = 0; k < t->adt->ctors[i].field_count; k++)
        VEC_PUSH(&work, t->adt->ctors[i].fields[k]);
  }
  VEC_DONE(&work);
  ptrmap_done(&met);
  return found;
}

bool functional_has_ref(const Functional *f, const Type *t) {
  return type_holds(f, t, TY_REF);
}

int functional_field_count(const Functional *f, const Type *t) {
  if (t->kind == TY_TUPLE) return t->count;
  bool one = t->kind == TY_ADT && t->adt->ctor_count == 1 &&
             !t->adt->literals && functional_has_ref(f, t);
  return one ? t->adt->ctors[0].field_count : -1;
}

const Type *functional_field(const Functional *f, const Type *t, int i) {
  if (t->kind == TY_TUPLE) return t->args[i];
  const Adt *adt = t->adt;
  return type_substitute(f->p->types, adt->ctors[0].fields[i], adt->param_count,
                         adt->params, t->args, NULL);
}

/* A function can hold a cell that its type does not show, where the expression
 * that gives it makes one. */
static bool makes_cell(const Functional *f, const Expr *e) {
  bool found = false;
  ExprWalk w;
  expr_walk_start(&w, f->p->mem, WALK_ENTER, e);
  while (!found && expr_walk_next(&w)) {
    found = w.at->kind == EX_REF;
    if (w.at->kind != EX_GLOBAL) continue;
    const Global *g = scope_global(&f->p->user, w.at->g.name);
    found = g && g->effects & EFFECT_ALLOC;
  }
  expr_walk_end(&w);
  return found;
}

/* Does a cell stand in it? */
static bool says_cell(const TypeExpr *t) {
  bool found = t->kind == TX_REF || (t->result && says_cell(t->result));
  for (int i = 0; i < t->arg_count && !found; i++)
    found = says_cell(t->args[i]);
  return found;
}

/* A type without parameters, of a size that was looked at, with a number for
 * each cell where cells are numbers, or else without cells.  Anything else is
 * refused, once for each cell. */
static const TypeExpr *write_type(Functional *f, const Type *t, Span span,
                                  bool *sayable) {
  static const TypeExpr number = {
      .kind = TX_TENSOR, .height = 1, .dtype = DT_INT32, .scalar = true};
  const TypeExpr *made = type_as_written(f->p, f->arena, t, span,
                                         f->numbers ? &number : NULL, sayable);
  *sayable &= !says_cell(made);
  return made;
}

const TypeExpr *functional_write_type(Functional *f, const Type *t, Span span,
                                      bool *sayable) {
  return write_type(f, t, span, sayable);
}

/* Do values of several shapes fit the type? */
static bool has_any(const TypeExpr *t) {
  for (int i = 0; i < t->dim_count; i++)
    if (t->dims[i]->kind == DX_ANY) return true;
  for (int i = 0; i < t->arg_count; i++)
    if (has_any(t->args[i])) return true;
  return t->result && has_any(t->result);
}

/* (result, state) */
const TypeExpr *functional_both(Functional *f, const TypeExpr *result) {
  if (!result) return NULL;
  const TypeExpr *args[] = {result, f->state_type};
  int within =
      result->height > args[1]->height ? result->height : args[1]->height;
  TypeExpr *made = ARENA_NEW(f->arena, TypeExpr);
  *made = (TypeExpr){.kind = TX_TUPLE,
                     .span = result->span,
                     .height = within + 1,
                     .arg_count = 2,
                     .args = arena_copy(f->arena, args, sizeof args)};
  return made;
}

const TypeExpr *functional_type(Functional *f, const TypeExpr *type) {
  if (!type || type->kind != TX_FN) return NULL;
  TypeExpr *made = arena_copy(f->arena, type, sizeof *type);
  const TypeExpr **args =
      ARENA_ARRAY(f->arena, const TypeExpr *, (size_t)type->arg_count + 1);
  if (!made || !args) return NULL;
  for (int i = 0; i < type->arg_count; i++) args[i] = type->args[i];
  args[made->arg_count++] = f->state_type;
  made->args = args;
  made->result = functional_both(f, type->result);
  if (made->height <= made->result->height)
    made->height = made->result->height + 1;
  return made;
}

/* --- The state ------------------------------------------------------------ */

/* The fields of a constructor's call, by their places; NULL: they are no such
 * call, or are evaluated in another order. */
static const Expr *const *given_fields(Functional *f, const Expr *e,
                                       const Ctor *ctor) {
  const Expr *callee = e->kind == EX_CALL ? e->call.callee : NULL;
  if (!callee || callee->kind != EX_IDENT || callee->name != ctor->name ||
      e->sugar == SUGAR_WITH ||
      e->count + e->call.attr_count != ctor->field_count)
    return NULL;
  const Expr **fields =
      ARENA_ARRAY(f->arena, const Expr *, (size_t)ctor->field_count);
  for (int i = 0; fields && i < e->count; i++) fields[i] = e->args[i];
  for (int i = 0; fields && i < e->call.attr_count; i++) {
    const Attr *attr = &e->call.attrs[i];
    if (ctor_field(ctor, attr->name) != e->count + i) return NULL;
    fields[e->count + i] = attr_as_expr(f->p, f->arena, attr->value);
  }
  return fields;
}

/* The parts of a value that the state holds field by field; NULL: it is not
 * written out there. */
static const Expr *const *written_fields(Functional *f, const Expr *e,
                                         const Type *t) {
  if (t->kind == TY_ADT) return given_fields(f, e, &t->adt->ctors[0]);
  return e->kind == EX_TUPLE ? e->args : NULL;
}

/* (ref(a), b) as (a, b), which is the first content, and so Net(ref(a), b);
 * `type`: with the content in the place of each cell.  Each cell has to be made
 * there, or two could be one. */
static const Expr *first_content(Functional *f, const Expr *e, const Type *t,
                                 const TypeExpr **type, bool *sayable) {
  TypeExpr *whole = ARENA_NEW(f->arena, TypeExpr);
  *whole = (TypeExpr){.kind = TX_HOLE, .span = e->span, .height = 1};
  *type = whole;
  if (t->kind == TY_REF && e->kind == EX_REF) {
    *type = write_type(f, t->args[0], e->span, sayable);
    return e->args[0];
  }
  if (!functional_has_ref(f, t)) {
    *type = write_type(f, t, e->span, sayable);
    return e;
  }
  int count = functional_field_count(f, t);
  const Expr *const *fields = count < 0 ? NULL : written_fields(f, e, t);
  if (!fields) {
    f->loses_cell = true;
    functional_refuse(
        f, e->span,
        "write the constructor or tuple and each `ref(...)` in "
        "it here",
        t->kind == TY_REF ? "a cell that is not made here, by `ref`"
        : count < 0       ? "a cell in a data type of several constructors"
                          : "a value with a cell in it that is not made here");
    return e;
  }
  Expr *made = expr_new(f->arena, EX_TUPLE, e->span);
  const Expr **args = ARENA_ARRAY(f->arena, const Expr *, (size_t)count);
  const TypeExpr **types =
      ARENA_ARRAY(f->arena, const TypeExpr *, (size_t)count);
  if (!made || !args || !types) return e;
  *whole = (TypeExpr){
      .kind = TX_TUPLE, .span = e->span, .arg_count = count, .args = types};
  for (int i = 0; i < count; i++) {
    args[i] = first_content(f, fields[i], functional_field(f, t, i), &types[i],
                            sayable);
    if (types[i]->height > whole->height) whole->height = types[i]->height;
  }
  whole->height++;
  made->args = args;
  made->count = count;
  return made;
}

void functional_add_cell(Functional *f, const Item *item) {
  const Global *g = item_global(f->p, item);
  if (!g || !g->type) return;
  const Expr *e = item->expr;
  const Cell *same =
      e->kind == EX_GLOBAL ? ptrmap_get(&f->cell_of, e->g.name) : NULL;
  if (same && same->has_ref) {
    ptrmap_put(&f->cell_of, item->name, (void *)same);
    return;
  }
  Cell *c = ARENA_NEW(f->arena, Cell);
  *c = (Cell){.index = (int)f->cells.len, .item = item, .whole = g->type};
  bool sayable = g->type->size <= FUNCTIONAL_TYPE_MOST && g->param_count == 0;
  if (sayable) {
    c->has_ref = functional_has_ref(f, g->type);
    c->initial = first_content(f, e, g->type, &c->type, &sayable);
  }
  const Type *held = g->type->kind == TY_REF ? g->type->args[0] : NULL;
  bool within = !sayable && held && functional_has_ref(f, held);
  f->loses_cell |= within;
  if (within)
    functional_refuse(f, item->name_span,
                      "let the outer value be a tuple or a data type of cells",
                      "a cell in a cell");
  else if (!sayable)
    functional_refuse(f, item->name_span,
                      "annotate what it is made of, so that its type is known",
                      "a value of a type with parameters");
  else if (type_holds(f, g->type, TY_FN) && makes_cell(f, c->initial))
    functional_refuse(f, item->name_span,
                      "make the cell a global value, or a part of one",
                      "a function that may hold a cell");
  c->loose = sayable && has_any(c->type);
  ptrmap_put(&f->cell_of, item->name, c);
  VEC_PUSH(&f->cells, c);
}

void functional_find_state(Functional *f) {
  size_t count = f->cells.len;
  const TypeExpr **args = ARENA_ARRAY(f->arena, const TypeExpr *, count);
  if (!args || count == 0) return;
  int within = 0;
  for (size_t i = 0; i < count; i++) {
    args[i] = f->cells.data[i]->type;
    if (args[i] && args[i]->height > within) within = args[i]->height;
  }
  TypeExpr *made = ARENA_NEW(f->arena, TypeExpr);
  *made = (TypeExpr){.kind = TX_TUPLE,
                     .span = f->cells.data[0]->item->name_span,
                     .height = within + 1,
                     .arg_count = (int)count,
                     .args = args};
  f->state_type = count == 1 ? args[0] : made;
}
