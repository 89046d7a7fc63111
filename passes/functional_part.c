/* Parts of the state: what chains of projections and fields, and variables of a
 * match that takes a part apart, mean of global values.
 *
 *   let @pair = (ref(1), ref((2, 3)));
 *   @pair.1                               the part with the path [1]
 *   match (@pair) { (%a, %b) => .. }      opens it: %b is that part, too
 *
 * The state holds tuples and data values with cells field by field
 * (functional_field_count); what it holds whole has no parts. */
#include "passes/functional.h"

/* --- Chains --------------------------------------------------------------- */

/* The place of the field that a projection, or the name of a field, means; -1:
 * the checker has not seen it. */
static int field_index(const Expr *e) {
  if (e->kind == EX_PROJ) return (int)e->index;
  const Ctor *ctor = e->field.ctor;
  return ctor ? ctor_field(ctor, e->field.name) : -1;
}

/* One field further; NULL: what has the field is held whole. */
static const Part *part_field(Functional *f, const Part *of, int index) {
  bool held = index < 0 || index >= functional_field_count(f, of->type);
  Part *made = held ? NULL : arena_copy(f->arena, of, sizeof *of);
  int *path = ARENA_ARRAY(f->arena, int, (size_t)of->count + 1);
  if (!made || !path) return NULL;
  for (int i = 0; i < of->count; i++) path[i] = of->path[i];
  path[made->count++] = index;
  made->path = path;
  made->type = functional_field(f, of->type, index);
  return made;
}

/* A chain of projections and fields of a name; NULL: it is no part of a global
 * value.  `parts`: by local name. */
const Part *functional_chain_part(Functional *f, const PtrMap *parts,
                                  const Expr *e) {
  int depth = 0;
  const Expr *at = e;
  for (; functional_is_field(at); at = at->args[0]) depth++;
  const Part *from = NULL;
  if (at->kind == EX_LOCAL && parts) from = ptrmap_get(parts, at->name);
  if (at->kind == EX_GLOBAL) {
    const Cell *c = ptrmap_get(&f->cell_of, at->g.name);
    if (!c || !c->has_ref) return NULL;
    Part *whole = ARENA_NEW(f->arena, Part);
    *whole = (Part){.cell = c, .type = c->whole};
    from = whole;
  }
  int *path = ARENA_ARRAY(f->arena, int, (size_t)depth);
  if (!path) return NULL;
  at = e;
  for (int i = depth; i-- > 0; at = at->args[0]) path[i] = field_index(at);
  for (int i = 0; from && i < depth; i++) from = part_field(f, from, path[i]);
  return from;
}

const Part *functional_global_part(Functional *f, const Expr *e) {
  return functional_chain_part(f, NULL, e);
}

/* --- Matches -------------------------------------------------------------- */

/* Does the pattern take every value of the type, and leave whole what the state
 * holds whole? */
static bool only_opens(const Functional *f, const Pattern *p, const Type *t) {
  if (p->kind == PT_WILD || p->kind == PT_VAR) return true;
  int count = functional_field_count(f, t);
  const Ctor *ctor = t->kind == TY_ADT && count >= 0 ? t->adt->ctors : NULL;
  if (p->kind != (ctor ? PT_CTOR : PT_TUPLE) || count < 0) return false;
  for (int i = 0; i < p->count; i++) {
    const Pattern *field = p->fields[i];
    int place = field->label && ctor ? ctor_field(ctor, field->label) : i;
    if (place < 0 || place >= count ||
        !only_opens(f, field, functional_field(f, t, place)))
      return false;
  }
  return true;
}

/* A match on a part of the state that decides nothing. */
bool functional_may_open(const Functional *f, const Expr *e, const Part *part) {
  const Match *match = e->kind == EX_MATCH ? e->match : NULL;
  return match && match->arm_count == 1 && !match->arms[0].guard &&
         only_opens(f, match->arms[0].pattern, part->type);
}

/* What a variable of the pattern stands for; NULL: it is not there. */
const Part *functional_part_of_var(Functional *f, const Pattern *p,
                                   const Part *part, const Var *var) {
  if (p->kind == PT_VAR) return p->var == var ? part : NULL;
  const Ctor *ctor = part->type->kind == TY_ADT ? part->type->adt->ctors : NULL;
  const Part *found = NULL;
  for (int i = 0; i < p->count && !found; i++) {
    const Pattern *field = p->fields[i];
    int place = field->label && ctor ? ctor_field(ctor, field->label) : i;
    const Part *of = part_field(f, part, place);
    if (of) found = functional_part_of_var(f, field, of, var);
  }
  return found;
}
