/* Strongly connected components of the definitions (Tarjan), callees before
 * callers: each is inferred when all that it uses is known.  The search keeps
 * its own stack, for chains of calls are as long as programs. */
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

/* The members keep the order of their text, which the stack has. */
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

static void leave(Search *s) {
  Definition *d = VEC_POP(&s->visits).def;
  if (d->low == d->index) close_component(s, d);
  if (s->visits.len == 0) return;
  Definition *above = VEC_LAST(&s->visits).def;
  if (d->low < above->low) above->low = d->low;
}

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
  Search s = {.c = c};
  VEC_INIT(&s.visits, c->mem);
  VEC_INIT(&s.stack, c->mem);
  for (size_t i = 0; i < c->defs.len && !mem_exhausted(c->mem); i++) {
    if (!c->defs.data[i]->index) enter(&s, c->defs.data[i]);
    while (s.visits.len > 0 && !mem_exhausted(c->mem)) step(&s);
  }
  VEC_DONE(&s.visits);
  VEC_DONE(&s.stack);
}
