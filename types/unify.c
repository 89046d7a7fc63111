/* Unification, and the flow of values.
 *
 * Two relations between types are decided here, in one walk.
 *
 *   s = t     ty_unify: the types are the same
 *   s ~> t    ty_flow: a value of type s goes where t is expected
 *
 * In both, kinds, ranks and dtypes must be equal.  In a flow the dimensions of
 * the tensor itself, and of a tuple's fields, flow (dims.c).  Types inside
 * containers are made the same: the content of a cell, the arguments of data
 * types, the parameters and results of functions.
 *
 * When a value flows to a variable, the variable receives a copy of the type
 * with dimensions of its own, and each old dimension flows to the new one:
 *
 *   Tensor[(3), float32] ~> a      a := Tensor[(d), float32],  3 -> d
 *
 * So where a tensor of (3) and one of (?) are the branches of an `if`, the
 * result is one of (?), and the first branch keeps its type.  A cell's content
 * has one type for all who hold the cell, so there dimensions are made equal.
 *
 * Unification is Robinson's (1965), by links that are never undone: a conflict
 * is reported and both types are poisoned, so that what was bound half-way does
 * no harm.  The levels of variables are those of Remy (1992); see general.c.
 * Recursion is over types, for whose depth the stack has room (ty.c). */
#include "types/infer.h"

static bool agree(Infer *in, Ty *from, Ty *to, Why *why, bool flow);

static bool conflict(Infer *in, Ty *found, Ty *expected) {
  in->conflict = (Conflict){MISFIT, found, expected};
  return false;
}

void infer_too_deep(Infer *in) {
  if (!in->too_deep) in->deep_at = in->at;
  in->too_deep = true;
}

/* The stack has room for the depth of a type when it is made (ty.c), but a type
 * grows deeper when variables inside are bound; walks allow for twice
 * NESTING_MAX before they ask for more room, and give up where there is none.
 * The caller then answers as if all were well: E0214 is reported once, at the
 * end (zonk.c). */
bool infer_enter(Infer *in) {
  if (in->depth < 2 * NESTING_MAX ||
      split_levels(in->mem, (size_t)in->depth + 1))
    return ++in->depth, true;
  infer_too_deep(in);
  return false;
}

/* --- Binding variables --------------------------------------------------- */

static bool adjust(Infer *in, Ty *meta, Ty *t);
static bool adjust_node(Infer *in, Ty *meta, Ty *t);

typedef struct AdjustCall {
  Infer *in;
  Ty *meta, *t;
  bool ok;
} AdjustCall;

static void run_adjust(void *call) {
  AdjustCall *c = call;
  c->ok = adjust(c->in, c->meta, c->t);
}

/* Lowers the levels in `t` to that of `meta`.  False when that is impossible:
 * `t` contains the variable itself (the occurs check), or a type parameter of
 * an inner scope, which would escape (a skolem).  All three are one walk, as
 * each has to see every part.  Marks make it linear in the type's graph: a part
 * that is shared is entered once.  Closed parts hold no variable and need no
 * walk at all. */
static bool adjust(Infer *in, Ty *meta, Ty *t) {
  t = ty_head(t);
  if (t->closed || t->mark == in->mark) return true;
  if (split_is_used_up(&in->stack)) {
    AdjustCall call = {in, meta, t, true};
    split_call(&in->stack, run_adjust, &call);
    return call.ok;
  }
  t->mark = in->mark;
  if (!infer_enter(in)) return true;
  bool ok = adjust_node(in, meta, t);
  in->depth--;
  if (ok) ty_settle(t);
  return ok;
}

/* The conflict of an endless type keeps the whole types that may_be noted; that
 * of an escape names the parameter. */
static bool adjust_node(Infer *in, Ty *meta, Ty *t) {
  if (t == meta) {
    in->conflict.kind = INFINITE;
    return false;
  }
  if (t->kind == K_META && t->level > meta->level) t->level = meta->level;
  if (t->kind == K_RIGID && t->level > meta->level) {
    in->conflict = (Conflict){ESCAPES, t, meta};
    return false;
  }
  for (int i = 0; i < t->count; i++)
    if (!adjust(in, meta, t->args[i])) return false;
  return t->kind != K_FN || adjust(in, meta, t->result);
}

static bool may_be(Infer *in, Ty *meta, Ty *t) {
  in->mark++;
  in->conflict = (Conflict){MISFIT, meta, t};
  return adjust(in, meta, t);
}

/* Constraints that waited for the variable run again: it has a structure
 * now. */
static void set_link(Infer *in, Ty *meta, Ty *t) {
  Link *rules = meta->rules;
  meta->link = t;
  wake_waiting(in, rules);
}

static void append_rules(Ty *to, Link *more) {
  Link **at = &to->rules;
  while (*at) at = &(*at)->next;
  *at = more;
}

/* Two variables become one of the outer level.  Nothing is woken, as nothing is
 * better known than before. */
static bool join_metas(Ty *a, Ty *b) {
  if (a->level < b->level) b->level = a->level;
  append_rules(b, a->rules);
  a->link = b;
  return true;
}

/* Marks as an error everything that `t` leaves open, so that no second message
 * follows from it.  The error type fits everything, and a constraint that sees
 * it gives up without a message. */
static void poison(Infer *in, Ty *t) {
  t = ty_head(t);
  if (t->closed || t->mark == in->mark) return;
  t->mark = in->mark;
  if (t->kind == K_META) {
    set_link(in, t, in->error);
    return;
  }
  if (!infer_enter(in)) return;
  for (int i = 0; i < t->count; i++) poison(in, t->args[i]);
  if (t->kind == K_FN) poison(in, t->result);
  in->depth--;
}

/* --- Copies -------------------------------------------------------------- */

/* A copy that a value of the type flows to, or (`into`) flows from. */
typedef struct Loose {
  Infer *in;
  Why *why;
  bool into;
} Loose;

static Ty *loose(Loose *l, Ty *t);

/* The same tensor with dimensions of its own. */
static Ty *loose_tensor(Loose *l, const Ty *t) {
  Slot **dims = ty_dims(l->in, t->rank);
  for (int i = 0; i < t->rank; i++) {
    dims[i] = slot_new(l->in, DIM_HOLE, false, SPAN_NONE);
    if (l->into) slot_flow(l->in, dims[i], t->dims[i], l->why);
    else slot_flow(l->in, t->dims[i], dims[i], l->why);
  }
  return ty_tensor(l->in, (DType)t->dtype, t->rank, dims);
}

static Ty *loose_tuple(Loose *l, const Ty *t) {
  Ty **fields = ty_array(l->in, t->count);
  for (int i = 0; fields && i < t->count; i++) fields[i] = loose(l, t->args[i]);
  return ty_tuple(l->in, t->count, fields);
}

/* Tuples are copied down to their tensors; what was shared stays shared.  Data
 * types, cells and functions are not copied: their contents have one type for
 * all who hold them.  Closed types have no dimensions that could differ. */
static Ty *loose(Loose *l, Ty *t) {
  t = ty_head(t);
  if (t->closed || (t->kind != K_TENSOR && t->kind != K_TUPLE)) return t;
  if (t->mark == l->in->mark) return t->copy;
  if (!infer_enter(l->in)) return l->in->error;
  Ty *made = t->kind == K_TENSOR ? loose_tensor(l, t) : loose_tuple(l, t);
  l->in->depth--;
  t->mark = l->in->mark;
  t->copy = made;
  return made;
}

/* Binds the variable to `t`, or, when a value flows, to a copy of it. */
static bool bind(Infer *in, Ty *meta, Ty *t, Loose *flow) {
  if (!may_be(in, meta, t)) return false;
  if (flow) {
    in->mark++;
    t = loose(flow, t);
  }
  set_link(in, meta, t);
  return true;
}

/* --- Agreement ----------------------------------------------------------- */

/* Is the value an expression of its own, which a let can stand around? */
static bool may_cross(const Why *why) {
  switch (why->kind) {
    case WHY_CONDITION:
    case WHY_LOGICAL:
    case WHY_READ:
    case WHY_PATTERN:
    case WHY_CALLEE: return false;
    default: return !why->exact;
  }
}

/* Dimensions never make this false: what flowed is judged when its component is
 * done (dims_finish), and only a clash of dtype or rank is a mismatch of
 * types.
 *
 * A rank flows into an unknown one, and an unknown one into a rank, which the
 * run compares:
 *
 *   Tensor[(3), t] ~> Tensor[?, t]      Tensor[?, t] ~> Tensor[(d), t], ? -> d
 *
 * They are not equal, for a scalar has no header where its rank is known; so
 * inside containers and functions, and where no let can be written, ranks agree
 * as they are. */
static bool agree_tensors(Infer *in, Ty *from, Ty *to, Why *why, bool flow) {
  bool crosses = from->any_rank != to->any_rank;
  bool fits = crosses ? flow && may_cross(why) : from->rank == to->rank;
  if (from->dtype != to->dtype || !fits) return conflict(in, from, to);
  for (int i = 0; crosses && !to->any_rank && i < to->rank; i++)
    slot_join(in, to->dims[i], DIM_ANY, why->span);
  in->crossed |= crosses;
  if (crosses) return true;
  for (int i = 0; i < from->rank; i++)
    if (flow) slot_flow(in, from->dims[i], to->dims[i], why);
    else slot_unify(in, from->dims[i], to->dims[i], why);
  return true;
}

static bool agree_args(Infer *in, Ty *from, Ty *to, Why *why, bool flow) {
  if (from->count != to->count) return conflict(in, from, to);
  for (int i = 0; i < from->count; i++)
    if (!agree(in, from->args[i], to->args[i], why, flow)) return false;
  return true;
}

/* Subsumption.  A polymorphic function that flows is instantiated; where a
 * polymorphic function is wanted, its parameters are skolems, which the flowing
 * function must fit whatever they are.
 *
 *   s[a/A] = t[k/B]    a new variables, k new skolems
 *   -------------------------------------------------
 *   forall A. s ~> forall B. t
 *
 * The level is one deeper meanwhile, so that no variable from outside can be
 * bound to a skolem k. */
static bool flow_poly(Infer *in, Ty *from, Ty *to, Why *why) {
  Ty **params;
  in->level++;
  if (ty_is_poly(to)) to = ty_skolemise(in, to, &params);
  if (ty_is_poly(from))
    from = ty_instantiate(in, from, from->param_count, from->params, &params);
  bool ok = agree(in, from, to, why, false);
  in->level--;
  return ok;
}

/* Polymorphic functions inside other types are not instantiated: they must be
 * equal up to the names of their parameters.  Instantiating one and skolemising
 * the other finds a substitution; the loop asks that it is the identity on
 * parameters, in their order. */
static bool same_poly(Infer *in, Ty *from, Ty *to, Why *why) {
  if (from->param_count != to->param_count) return conflict(in, from, to);
  Ty **rigid, **targs;
  in->level++;
  Ty *b = ty_skolemise(in, to, &rigid);
  Ty *a = ty_instantiate(in, from, from->param_count, from->params, &targs);
  bool ok = agree(in, a, b, why, false);
  in->level--;
  for (int i = 0; ok && i < to->param_count; i++)
    if (from->params[i]->kind != to->params[i]->kind ||
        (to->params[i]->kind != KIND_DIM &&
         ty_head(targs[i]) != ty_head(rigid[i])))
      return conflict(in, from, to);
  return ok;
}

/* Neither is a variable.  Only tuples hand the flow on to their parts: a tuple
 * is taken apart and built without anyone else seeing it. */
static bool agree_known(Infer *in, Ty *from, Ty *to, Why *why, bool flow) {
  if (from->kind != to->kind) return conflict(in, from, to);
  switch (from->kind) {
    case K_TENSOR: return agree_tensors(in, from, to, why, flow);
    case K_DIM: slot_unify(in, from->dims[0], to->dims[0], why); return true;
    case K_TUPLE: return agree_args(in, from, to, why, flow);
    case K_REF: return agree_args(in, from, to, why, false);
    case K_RIGID: return from->var == to->var || conflict(in, from, to);
    case K_ADT:
      if (from->adt != to->adt) return conflict(in, from, to);
      return agree_args(in, from, to, why, false);
    default:
      if (ty_is_poly(from) || ty_is_poly(to))
        return same_poly(in, from, to, why);
      return agree_args(in, from, to, why, false) &&
             agree(in, from->result, to->result, why, false);
  }
}

/* The order matters: two variables join without a copy, an error swallows
 * whatever it meets, and only then is a variable bound. */
static bool agree_heads(Infer *in, Ty *from, Ty *to, Why *why, bool flow) {
  if (from->kind == K_META && to->kind == K_META) return join_metas(from, to);
  if (from->kind == K_ERROR || to->kind == K_ERROR) {
    in->mark++;
    poison(in, from);
    poison(in, to);
    return true;
  }
  Loose copying = {.in = in, .why = why, .into = from->kind == K_META};
  if (from->kind == K_META) return bind(in, from, to, flow ? &copying : NULL);
  if (to->kind == K_META) return bind(in, to, from, flow ? &copying : NULL);
  return agree_known(in, from, to, why, flow);
}

/* Shared parts make a type's tree exponential: a pair that was just looked at
 * is remembered.  Agreement of a flow is weaker than equality, so a pair that
 * flowed is looked at again when it must be equal, or ranks must not cross. */
static bool have_agreed(Infer *in, const Ty *from, const Ty *to, const Why *why,
                        bool flow) {
  if (from->agreed != to || (!flow && from->agreed_flow)) return false;
  if (!from->agreed_crossing) return true;
  in->crossed = true;
  return flow && may_cross(why);
}

typedef struct AgreeCall {
  Infer *in;
  Ty *from, *to;
  Why *why;
  bool flow, ok;
} AgreeCall;

static void run_agree(void *call) {
  AgreeCall *c = call;
  c->ok = agree(c->in, c->from, c->to, c->why, c->flow);
}

/* Only success is remembered: a conflict ends the whole comparison.  Beyond the
 * depth limit the answer is true, as infer_enter has noted the error. */
static bool agree(Infer *in, Ty *from, Ty *to, Why *why, bool flow) {
  from = ty_head(from);
  to = ty_head(to);
  if (from == to || have_agreed(in, from, to, why, flow)) return true;
  if (split_is_used_up(&in->stack)) {
    AgreeCall call = {in, from, to, why, flow, true};
    split_call(&in->stack, run_agree, &call);
    return call.ok;
  }
  if (!infer_enter(in)) return true;
  bool outer = in->crossed;
  in->crossed = false;
  bool ok = agree_heads(in, from, to, why, flow);
  in->depth--;
  if (ok && from->count > 1) {
    from->agreed = to;
    from->agreed_flow = flow;
    from->agreed_crossing = in->crossed;
  }
  in->crossed |= outer;
  return ok;
}

/* A value of type `from` goes where one of type `to` is expected. */
static bool ty_flow(Infer *in, Ty *from, Ty *to, Why *why) {
  from = ty_head(from);
  to = ty_head(to);
  bool fns = from->kind == K_FN && to->kind == K_FN && from != to;
  if (fns && (ty_is_poly(from) || ty_is_poly(to)))
    return flow_poly(in, from, to, why);
  return agree(in, from, to, why, true);
}

bool ty_unify(Infer *in, Ty *a, Ty *b, Why *why) {
  return agree(in, a, b, why, false);
}

typedef bool Agreement(Infer *in, Ty *from, Ty *to, Why *why);

/* Dimensions are compared later, so their reason is kept.  A type without
 * variables and parameters needs none. */
static bool require(Infer *in, Ty *from, Ty *to, Why why, Agreement *agrees) {
  const Ty *a = ty_head(from), *b = ty_head(to);
  if (a == b) return true;
  why.found = from;
  why.expected = to;
  Why *reason = &why;
  if (!a->closed && !b->closed) {
    reason = ARENA_NEW(in->arena, Why);
    *reason = why;
  }
  if (agrees(in, from, to, reason)) return true;
  report_mismatch(in, reason);
  in->mark++;
  poison(in, from);
  poison(in, to);
  return false;
}

bool require_flow(Infer *in, Ty *from, Ty *to, Why why) {
  return require(in, from, to, why, ty_flow);
}

bool require_same(Infer *in, Ty *found, Ty *expected, Why why) {
  return require(in, found, expected, why, ty_unify);
}
