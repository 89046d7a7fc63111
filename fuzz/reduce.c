/* Reducing: every change that keeps the program of interest is kept.  What
 * does not type-check is of no interest, so nothing here looks at names. */
#include "fuzz/reduce.h"

#include <string.h>

typedef struct Reducer {
  Arena *arena;
  GenProgram *program;
  Interest *interest;
  bool changed;
} Reducer;

static bool holds(Reducer *r) {
  if (r->interest->trials <= 0) return false;
  r->interest->trials--;
  bool kept = r->interest->holds(r->interest->data, r->program);
  r->changed |= kept;
  return kept;
}

/* --- Items -------------------------------------------------------------- */

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

/* Tries `candidate` in the slot; keeps it if it may. */
static bool try_in(Reducer *r, GenNode **slot, GenNode *candidate) {
  GenNode *old = *slot;
  *slot = candidate;
  if (holds(r)) return true;
  *slot = old;
  return false;
}

/* A part of `n` of this type in its place, the outermost first. */
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
