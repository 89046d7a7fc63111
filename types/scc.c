/* Strongly connected components of the definitions, callees before callers:
 * each is inferred when all that it uses is known.
 *
 * The algorithm is Tarjan's ("Depth-first search and linear graph algorithms",
 * 1972).  `index` counts definitions in the order in which the search meets
 * them; `low` is the least index known to be reachable through the definitions
 * that are still on the stack.  A definition whose low is its own index closes
 * a component, which is what lies above it on the stack.
 *
 *   @even -> @odd -> @even     indices 1, 2; low 1, 1: one component
 *   @main -> @even             closed after it
 *
 * Tarjan closes a component only after all components that it reaches, which is
 * the order that inference wants.  The search keeps its own stack of visits,
 * since chains of calls are as long as programs.  It costs one step for each
 * definition and each use. */
#include "types/check.h"

typedef struct Visit {
  Definition *def;
  size_t next; /* of its uses */
} Visit;

typedef struct Search {
  Checker *c;
  VEC(Visit) visits;
  Definitions stack;
  int index, component;
} Search;

static void enter(Search *s, Definition *d) {
  d->index = d->low = ++s->index;
  d->on_stack = true;
  VEC_PUSH(&s->stack, d);
  VEC_PUSH(&s->visits, (Visit){d, 0});
}

/* The members keep the order in which the search met them. */
static void close_component(Search *s, const Definition *root) {
  size_t first = s->stack.len;
  while (s->stack.data[first - 1] != root) first--;
  first--;
  s->component++;
  for (size_t i = first; i < s->stack.len; i++) {
    Definition *d = s->stack.data[i];
    d->on_stack = false;
    d->component = s->component;
    VEC_PUSH(&s->c->components, d);
  }
  s->stack.len = first;
}

/* All uses of a definition are visited: either a component is complete, or the
 * definition hands what it reaches to the one that led here. */
static void leave(Search *s) {
  Definition *d = VEC_POP(&s->visits).def;
  if (d->low == d->index) close_component(s, d);
  if (s->visits.len == 0) return;
  Definition *above = VEC_LAST(&s->visits).def;
  if (d->low < above->low) above->low = d->low;
}

/* One use of the definition on top.  One that is met again counts only while it
 * is on the stack: else its component is closed, and it cannot reach back. */
static void step(Search *s) {
  Visit *v = &VEC_LAST(&s->visits);
  if (v->next == v->def->uses.len) {
    leave(s);
    return;
  }
  Definition *used = v->def->uses.data[v->next++];
  if (!used->index) enter(s, used);
  else if (used->on_stack && used->index < v->def->low)
    v->def->low = used->index;
}

void scc_sort(Checker *c) {
  Search s = {.c = c, .component = c->component_count};
  VEC_INIT(&s.visits, c->mem);
  VEC_INIT(&s.stack, c->mem);
  /* Each one before is in a component. */
  size_t first = c->components.len;
  for (size_t i = first; i < c->defs.len && !mem_exhausted(c->mem); i++) {
    if (!c->defs.data[i]->index) enter(&s, c->defs.data[i]);
    while (s.visits.len > 0 && !mem_exhausted(c->mem)) step(&s);
  }
  c->component_count = s.component;
  VEC_DONE(&s.visits);
  VEC_DONE(&s.stack);
}

void scc_sort_again(Checker *c) {
  for (size_t i = 0; i < c->defs.len; i++) c->defs.data[i]->index = 0;
  VEC_CLEAR(&c->components);
  scc_sort(c);
}
