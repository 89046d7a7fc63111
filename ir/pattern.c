/* Or-patterns: all the ways to choose among their alternatives.
 *
 *   C(A | B, D | E)    C(A, D), C(A, E), C(B, D), C(B, E)
 *
 * The number multiplies, so it is bounded.  Parts without alternatives are
 * shared by all the patterns made.  Recursion is over patterns, which the
 * parser bounds. */
#include "ir/expr.h"

/* The first or-pattern within a pattern, from left to right. */
static const Pattern *find_or(const Pattern *p) {
  while (p->has_or && p->kind != PT_OR) {
    int i = 0;
    while (!p->fields[i]->has_or) i++;
    p = p->fields[i];
  }
  return p->has_or ? p : NULL;
}

static const Pattern *with_label(Arena *arena, const Pattern *p,
                                 const Name *label) {
  Pattern *made = label ? arena_copy(arena, p, sizeof *p) : NULL;
  if (made) made->label = label;
  return made ? made : p;
}

/* The pattern with `by` in the place of `old`. */
static const Pattern *replace(Arena *arena, const Pattern *p,
                              const Pattern *old, const Pattern *by) {
  if (p == old) return with_label(arena, by, old->label);
  if (!p->has_or) return p;
  Pattern *made = arena_copy(arena, p, sizeof *p);
  const Pattern **fields =
      ARENA_ARRAY(arena, const Pattern *, (size_t)p->count);
  if (!made || !fields) return p;
  made->has_or = p->kind == PT_OR;
  for (int i = 0; i < p->count; i++) {
    fields[i] = replace(arena, p->fields[i], old, by);
    made->has_or |= fields[i]->has_or;
  }
  made->fields = fields;
  return made;
}

/* A list in which the first pattern that still has alternatives gives way to
 * one for each. */
bool pattern_alternatives(Mem *mem, Arena *arena, const Pattern *whole,
                          Patterns *out) {
  Patterns rest;
  VEC_INIT(&rest, mem);
  VEC_PUSH(&rest, whole);
  while (rest.len > 0 && out->len <= ALTERNATIVES_MAX && !mem_exhausted(mem)) {
    const Pattern *p = VEC_POP(&rest);
    const Pattern *choice = find_or(p);
    for (int i = choice ? choice->count : 0; i-- > 0;)
      VEC_PUSH(&rest, replace(arena, p, choice, choice->fields[i]));
    if (!choice) VEC_PUSH(out, p);
  }
  VEC_DONE(&rest);
  return out->len <= ALTERNATIVES_MAX;
}
