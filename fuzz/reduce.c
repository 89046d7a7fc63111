/* Reduction of a program that shows a difference, by delta debugging (Zeller
 * and Hildebrandt 2002) on its tree: keeps every change after which the program
 * is still of interest.
 *
 * Two kinds of change, tried until neither helps: an item is dropped; an
 * expression is replaced by one of its parts of the same type, or by the
 * plainest value of its type.  Replacements have the type of what they replace,
 * so most programs that are tried still check; one that does not is not of
 * interest, so nothing here needs to know about names.
 *
 * Each trial is a run of both machines, and `trials` bounds them. */
#include "fuzz/reduce.h"

#include <string.h>

typedef struct Reducer {
  Arena *arena;
  GenProgram *program;
  Interest *interest;
  bool changed;
} Reducer;

/* Once the trials are used up nothing holds, so all loops end. */
static bool holds(Reducer *r) {
  if (r->interest->trials <= 0) return false;
  r->interest->trials--;
  bool kept = r->interest->holds(r->interest->data, r->program);
  r->changed |= kept;
  return kept;
}

/* --- Items -------------------------------------------------------------- */

/* From the last item to the first, since later items use earlier ones. */
static void drop_items(Reducer *r) {
  GenProgram *p = r->program;
  for (size_t i = p->items.len; i-- > 0;) {
    GenNode *item = p->items.data[i];
    size_t after = (p->items.len - i - 1) * sizeof item;
    memmove(&p->items.data[i], &p->items.data[i + 1], after);
    p->items.len--;
    if (holds(r)) continue;
    memmove(&p->items.data[i + 1], &p->items.data[i], after);
    p->items.data[i] = item;
    p->items.len++;
  }
}

/* --- Expressions -------------------------------------------------------- */

/* Puts `candidate` in the slot, and keeps it if the program stays of
 * interest. */
static bool try_in(Reducer *r, GenNode **slot, GenNode *candidate) {
  GenNode *old = *slot;
  *slot = candidate;
  if (holds(r)) return true;
  *slot = old;
  return false;
}

/* Tries the parts of `n` that have its type in its place, outermost first. */
static bool try_parts(Reducer *r, GenNode **slot, const GenNode *n,
                      const GenType *t) {
  for (int i = 0; i < n->count; i++) {
    GenNode *part = n->children[i];
    if (part->type && gen_same(part->type, t) && try_in(r, slot, part))
      return true;
    if (try_parts(r, slot, part, t)) return true;
  }
  return false;
}

/* The plainest value first: where it will do, nothing below matters.  Then
 * parts, as long as one fits; then the same for each child. */
static void simplify(Reducer *r, GenNode **slot) {
  GenNode *n = *slot;
  if (n->type) {
    GenNode *plain = gen_plain(r->arena, n->type);
    bool same =
        plain->count == 0 && n->count == 0 && !strcmp(plain->text, n->text);
    if (!same && gen_size(plain) <= gen_size(n) && try_in(r, slot, plain))
      return;
    while (try_parts(r, slot, *slot, (*slot)->type)) {
    }
  }
  for (int i = 0; i < (*slot)->count; i++) simplify(r, &(*slot)->children[i]);
}

void reduce(Arena *a, GenProgram *p, Interest *interest) {
  Reducer r = {.arena = a, .program = p, .interest = interest};
  do {
    r.changed = false;
    drop_items(&r);
    for (size_t i = 0; i < p->items.len; i++) simplify(&r, &p->items.data[i]);
  } while (r.changed && interest->trials > 0);
}
