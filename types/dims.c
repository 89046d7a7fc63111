/* Dimensions as a dataflow over a lattice of three levels, in which a slot only
 * rises.
 *
 *                   ?
 *      /   /   /    |    \      \
 *     0   1   2 ... n   n + 1   2 * n ...
 *      \   \   \    |    /      /
 *                 hole
 *
 * A hole is a dimension of which nothing is known yet; `?` is one that is known
 * to vary, or to depend on values.  The middle holds numbers and forms over
 * named dimensions.
 *
 * A value that flows into a free slot is joined with what the slot holds.  A
 * slot that a type declares is fixed: it keeps its value, and what flows into
 * it is judged when the component is done.  Two different numbers are an error,
 * and a `?` that meets a number is checked at run time (crossing.c).
 *
 * Slots are nodes of a graph, and flows its edges; dims_propagate is a worklist
 * over it.  As a slot rises at most twice, the work is linear in the edges.
 * Slots that unification made one are a union-find forest (slot_root), without
 * ranks, since unions are rare beside flows.
 *
 * Edges of a component are kept until it is done, for only then can they be
 * judged: whether 3 and `?` clash depends on what else flows. */
#include "types/infer.h"

Slot *slot_new(Infer *in, Dim value, bool fixed, Span from) {
  Slot *s = ARENA_NEW(in->arena, Slot);
  s->value = value;
  s->fixed = fixed;
  s->from = from;
  s->seen = DIM_HOLE;
  if (!fixed) VEC_PUSH(&in->slots, s);
  return s;
}

/* Adds in front: the order in which slots and rules are woken does not matter
 * for the result, as joins commute. */
static void link_push(Infer *in, Link **list, void *item) {
  Link *l = ARENA_NEW(in->arena, Link);
  *l = (Link){item, *list};
  *list = l;
}

static void mark_dirty(Infer *in, Slot *s) {
  if (s->dirty) return;
  s->dirty = true;
  VEC_PUSH(&in->dirty, s);
}

/* Two numbers that clash leave the slot as it is.  The first one thus stays the
 * slot's value, and judge() words the message. */
void slot_join(Infer *in, Slot *s, Dim value, Span from) {
  s = slot_root(s);
  if (s->fixed) return;
  bool clash = false;
  Dim joined = dim_join(s->value, value, &clash);
  if (clash || dim_same(joined, s->value)) return;
  s->value = joined;
  s->from = from;
  mark_dirty(in, s);
}

/* A fixed slot never rises, so nothing has to wait for it. */
void slot_watch(Infer *in, Slot *s, Constraint *c) {
  s = slot_root(s);
  if (!s->fixed) link_push(in, &s->rules, c);
}

/* Between two fixed slots nothing can flow, but the edge is kept to be
 * judged. */
static void flow(Infer *in, Slot *from, Slot *to, Why *why, bool inner) {
  from = slot_root(from);
  to = slot_root(to);
  if (from == to) return;
  VEC_PUSH(&in->edges, (Edge){from, to, why, inner});
  if (from->fixed && to->fixed) return;
  link_push(in, &from->out, to);
  if (!dim_is_hole(from->value)) slot_join(in, to, from->value, from->from);
}

void slot_flow(Infer *in, Slot *from, Slot *to, Why *why) {
  flow(in, from, to, why, false);
}

static void append(Link **list, Link *more) {
  while (*list) list = &(*list)->next;
  *list = more;
}

/* Two free slots become one; a fixed slot stays apart.  A slot apart is joined
 * by flows in both directions; they are marked `inner`, as no check at run time
 * can look into a container, and a difference there makes the program loose. */
void slot_unify(Infer *in, Slot *a, Slot *b, Why *why) {
  a = slot_root(a);
  b = slot_root(b);
  if (a == b) return;
  bool clash = false;
  dim_join(a->value, b->value, &clash);
  if (a->fixed || b->fixed || clash) {
    flow(in, a, b, why, true);
    flow(in, b, a, why, true);
    return;
  }
  /* What flows out of either, and who watches it, belongs to both now. */
  a->same = b;
  append(&a->out, b->out);
  append(&a->rules, b->rules);
  b->out = a->out;
  b->rules = a->rules;
  Dim old = b->value;
  if (!dim_is_hole(a->value)) slot_join(in, b, a->value, a->from);
  if (dim_same(old, b->value) && !dim_same(old, a->value)) mark_dirty(in, b);
}

/* The last slot to become dirty goes first; any order gives the same
 * fixpoint. */
void dims_propagate(Infer *in) {
  while (in->dirty.len > 0) {
    Slot *s = VEC_POP(&in->dirty);
    s->dirty = false;
    s = slot_root(s);
    for (Link *l = s->out; l; l = l->next)
      slot_join(in, l->item, s->value, s->from);
    for (Link *l = s->rules; l; l = l->next) constraint_wake(in, l->item);
  }
}

/* --- The end of a component ---------------------------------------------- */

/* The value of a slot that this slot without a value flows to; none if that is
 * not known either. */
static Dim wanted(const Slot *s) {
  for (const Link *l = s->out; l; l = l->next) {
    Dim d = slot_root(l->item)->value;
    if (!dim_is_hole(d)) return d;
  }
  return DIM_HOLE;
}

/* A slot without a value first takes that of a slot it flows to, so that an
 * argument takes its parameter's dimension.  If there is none, it becomes `?`.
 * It fills as much as it can in the first pass before it takes to the second: a
 * hole that is widened to `?` early would widen all that it flows to. */
bool dims_fill_holes(Infer *in) {
  bool filled = false;
  for (int pass = 0; pass < 2 && !filled; pass++) {
    for (size_t i = in->slots.len; i-- > 0;) {
      Slot *s = slot_root(in->slots.data[i]);
      if (s->fixed || !dim_is_hole(s->value)) continue;
      Dim d = pass == 0 ? wanted(s) : DIM_ANY;
      if (dim_is_hole(d)) continue;
      slot_join(in, s, d, SPAN_NONE);
      filled = true;
    }
  }
  return filled;
}

/* Do the two always differ, as 2 and 3 do, or n and n + 1? */
static bool dims_differ(Infer *in, Dim a, Dim b) {
  Dim difference = dim_sub(types_dims(in->types), a, b);
  return dim_is_number(difference) && !dim_is(difference, 0);
}

/* Does a recursive call pass a dimension other than the function's own?  Within
 * its component a function is monomorphic unless all its types are written, so
 * each recursive call must have the dimensions of the function itself. */
static bool is_other_instance(const Edge *e, Dim from, Dim to) {
  return e->why && e->why->recursive && !dim_is_any(from) &&
         !dim_same(from, to);
}

/* Every number that flows into a free slot must be the same.  Of two forms only
 * their difference is judged, in dims_differ; a form and a number may agree at
 * run time, where they are compared. */
static void judge(Infer *in, const Edge *e) {
  const Slot *from = slot_root(e->from);
  Slot *to = slot_root(e->to);
  if (e->inner && !dim_same(from->value, to->value)) in->p->loose = true;
  if (to->fixed) {
    if (dims_differ(in, from->value, to->value) ||
        is_other_instance(e, from->value, to->value))
      report_dims(in, e->why, from->value, to->value, to);
    return;
  }
  if (!dim_is_number(from->value)) return;
  if (dim_is_hole(to->seen)) {
    to->seen = from->value;
    if (e->why && e->why->found) to->seen_at = e->why->span;
  }
  if (!dim_same(to->seen, from->value))
    report_dims(in, e->why, from->value, to->seen, to);
}

/* The component's slots are fixed from now on.  Later components see them as
 * declared, so a use cannot change the type of what it uses. */
void dims_finish(Infer *in) {
  for (size_t i = 0; i < in->edges.len; i++) judge(in, &in->edges.data[i]);
  for (size_t i = 0; i < in->slots.len; i++) {
    Slot *s = slot_root(in->slots.data[i]);
    s->fixed = true;
  }
  VEC_CLEAR(&in->edges);
  VEC_CLEAR(&in->slots);
}
