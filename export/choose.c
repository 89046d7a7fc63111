/* Choices: `if` and `match`.  What is known chooses while the program is
 * exported; else both sides become graphs of an If, which give the tensors of
 * the value.
 *
 * The body of a recursive function is a tree of choices whose leaves are values
 * and calls of itself, so the same is asked three ways: which call comes next,
 * whether there is one, and what the value is (loop.c). */
#include "export/exporter.h"
#include "ir/walk.h"
#include "types/types.h"

/* --- Ends ----------------------------------------------------------------- */

bool is_self_call(const Expr *e, const Self *self) {
  if (e->kind != EX_CALL || !self) return false;
  const Expr *callee = e->call.callee;
  if (self->circle) return circle_member(self->circle, callee) >= 0;
  if (callee->kind == EX_VAR) return self->var && callee->var == self->var;
  return callee->kind == EX_GLOBAL && self->global &&
         callee->g.global == self->global;
}

/* The ends of an expression; is it one itself, with a call in it? */
static unsigned ends_of(Export *x, const Expr *e, const Self *self, bool *end) {
  unsigned ends = 0;
  *end = false;
  if (self && self->notes) return ends_known(self->notes, e, end);
  ExprWalk w;
  expr_walk_start(&w, x->mem, WALK_ENTER, e);
  while (expr_walk_next(&w)) {
    bool tail = w.at == e || expr_walk_is_tail(&w);
    if (tail && expr_has_tail(w.at)) continue;
    if (tail) ends |= is_self_call(w.at, self) ? ENDS_CALL : ENDS_VALUE;
    expr_walk_skip(&w);
  }
  expr_walk_end(&w);
  return ends;
}

/* --- An If ---------------------------------------------------------------- */

/* A turn of functions that call each other. */
typedef struct Turn {
  const Circle *circle;
  Val *which; /* the number of the one whose turn it is */
  Val *const *args;
  Frame *outer; /* around the functions */
} Turn;

/* What is evaluated where a choice is made for it: an expression, or an arm of
 * a match, or the arms from one on. */
typedef struct Side {
  const Expr *e;    /* the expression; the match */
  int arm;          /* -1: no arm */
  bool rest;        /* this arm and those after it */
  Val *scrutinee;   /* of the match */
  const Turn *turn; /* or: an arm is a member of a circle */
} Side;

static Val *ask_members(Export *x, const Turn *t, int from, Ask what,
                        const Self *self);
static Val *ask_member(Export *x, const Turn *t, int i, Ask what,
                       const Self *self);
static Val *ask_arms(Export *x, const Side *from, Ask what, const Self *self);
static bool bind_pattern(Export *x, const Pattern *p, Val *v);

static Val *ask_side(Export *x, const Side *s, Ask what, const Self *self) {
  if (s->arm < 0) return ask(x, s->e, what, self);
  if (s->turn)
    return (s->rest ? ask_members : ask_member)(x, s->turn, s->arm, what, self);
  if (s->rest) return ask_arms(x, s, what, self);
  const Arm *arm = &s->e->match->arms[s->arm];
  return bind_pattern(x, arm->pattern, s->scrutinee)
             ? ask(x, arm->body, what, self)
             : NULL;
}

static unsigned side_ends(Export *x, const Side *s, const Self *self) {
  bool end;
  if (s->arm < 0) return ends_of(x, s->e, self, &end);
  unsigned ends = 0;
  const Circle *c = s->turn ? s->turn->circle : NULL;
  for (int i = s->arm; c && i < (s->rest ? c->count : s->arm + 1); i++)
    ends |= ends_of(x, c->members[i].fn->body, self, &end);
  if (c) return ends;
  const Match *m = s->e->match;
  for (int i = s->arm; i < (s->rest ? m->arm_count : s->arm + 1); i++)
    ends |= ends_of(x, m->arms[i].body, self, &end);
  return ends;
}

/* A graph of its own for one side; its outputs are in `out`. */
static OnnxGraph *side_graph(Export *x, const char *name, const Side *s,
                             Ask what, const Self *self, Val **out,
                             Vals *tensors) {
  OnnxGraph *outer = x->graph;
  Frame *frame = x->frame;
  OnnxGraph *g = graph_enter(x, name, s->e->span);
  if (!g) return NULL;
  x->frame = frame_new(x, frame);
  *out = ask_side(x, s, what, self);
  if (!*out || !val_flatten(x, *out, tensors, s->e->span)) g = NULL;
  x->frame = frame;
  graph_leave(x, outer);
  return g;
}

/* An output is what a node of the graph itself gives, and once; else an
 * Identity gives it. */
bool graph_gives(Export *x, OnnxGraph *g, Val *v, const OnnxValueType *type) {
  OnnxGraph *outer = x->graph;
  const char *hint = x->hint;
  x->graph = g;
  const char *name = val_name(x, v, SPAN_NONE);
  if (name && (!v->made || v->graph != g || ptrmap_has(&x->given, name))) {
    Val *copy = node_of(x, "Identity", v->type, 1, &v);
    name = copy ? copy->name : NULL;
  }
  x->hint = hint;
  x->graph = outer;
  if (!name) return false;
  ptrmap_put(&x->given, name, x);
  onnx_graph_output(x->w, g, name, type);
  return true;
}

/* The type of a value that is one of two. */
static const Type *joined(Export *x, const Type *a, const Type *b) {
  if (a == b || a->kind != TY_TENSOR || b->kind != TY_TENSOR) return a;
  if (a->any_rank || b->any_rank || a->rank != b->rank)
    return type_any_rank(x->p->types, (DType)a->dtype);
  Dim dims[RANK_MAX];
  for (int i = 0; i < a->rank; i++)
    dims[i] = dim_same(a->dims[i], b->dims[i]) ? a->dims[i] : DIM_ANY;
  return tensor_type(x, (DType)a->dtype, a->rank, dims);
}

static Val *if_node(Export *x, Val *c, OnnxGraph *a, OnnxGraph *b,
                    const Val *shape, const Vals *as, const Vals *bs) {
  const char *hint = x->hint;
  for (size_t i = 0; i < as->len; i++)
    if (!graph_gives(x, a, as->data[i], NULL) ||
        !graph_gives(x, b, bs->data[i], NULL))
      return NULL;
  OnnxNode *n = node_new(x, "If");
  Val **outs = ARENA_ARRAY(x->arena, Val *, as->len + 1);
  if (!outs || !node_in(x, n, c, SPAN_NONE)) return NULL;
  onnx_attr_graph(x->w, n, "then_branch", a);
  onnx_attr_graph(x->w, n, "else_branch", b);
  x->hint = hint;
  for (size_t i = 0; i < as->len; i++)
    outs[i] = node_out(x, n, joined(x, as->data[i]->type, bs->data[i]->type));
  Val *const *next = outs;
  return val_rebuild(x, shape, &next);
}

/* ONNX has no operator that fails, so a side that does nothing else is never
 * taken: a graph is for runs of the program that do not fail. */
static bool side_fails(const Side *s) {
  if (s->rest || s->turn) return false;
  const Expr *e =
      expr_result(s->arm < 0 ? s->e : s->e->match->arms[s->arm].body);
  return e->kind == EX_CALL && e->call.callee->kind == EX_OP &&
         op_info(e->call.callee->op)->special == SPECIAL_FAIL;
}

/* Both sides found the same values, which a graph around them has. */
static bool same_values(const Vals *as, const Vals *bs) {
  bool same = as->len > 0 && as->len == bs->len;
  for (size_t i = 0; same && i < as->len; i++)
    same = as->data[i] == bs->data[i] &&
           (as->data[i]->name || as->data[i]->constant);
  return same;
}

static Val *choose(Export *x, Val *c, const Side *a, const Side *b, Ask what,
                   const Self *self) {
  if (side_fails(a)) return ask_side(x, b, what, self);
  if (side_fails(b)) return ask_side(x, a, what, self);
  unsigned ends_a = side_ends(x, a, self), ends_b = side_ends(x, b, self);
  unsigned wanted = what == ASK_VALUE ? ENDS_VALUE : ENDS_CALL;
  if (what != ASK_MORE) {
    if (!(ends_a & wanted)) return ask_side(x, b, what, self);
    if (!(ends_b & wanted)) return ask_side(x, a, what, self);
  } else if (ends_a == ENDS_CALL && ends_b == ENDS_VALUE) {
    return c;
  } else if (ends_a == ENDS_VALUE && ends_b == ENDS_CALL) {
    return node_of(x, "Not", c->type, 1, &c);
  }
  const char *hint = x->hint;
  if (!val_name(x, c, a->e->span)) return NULL;
  Vals as, bs;
  VEC_INIT(&as, x->mem);
  VEC_INIT(&bs, x->mem);
  Val *va, *vb, *v = NULL;
  OnnxGraph *ga = side_graph(x, "then", a, what, self, &va, &as);
  OnnxGraph *gb = ga ? side_graph(x, "else", b, what, self, &vb, &bs) : NULL;
  x->hint = hint;
  if (gb && va == vb) v = va;
  else if (gb && val_agree(x, va, vb, a->e->span) && as.len == bs.len)
    v = same_values(&as, &bs) ? va : if_node(x, c, ga, gb, va, &as, &bs);
  VEC_DONE(&as);
  VEC_DONE(&bs);
  return v;
}

/* --- if ------------------------------------------------------------------- */

/* a && b and a || b without a branch, where `b` may be evaluated in any case.
 */
static bool is_connective(const Export *x, const Expr *e) {
  return (e->sugar == SUGAR_AND || e->sugar == SUGAR_OR) &&
         !expr_effects(x->p, e->args[e->sugar == SUGAR_AND ? 1 : 2]);
}

static Val *ask_if(Export *x, const Expr *e, Ask what, const Self *self) {
  const char *hint = x->hint;
  x->hint = NULL;
  Val *c = eval(x, e->args[0]);
  x->hint = hint;
  if (!c) return NULL;
  if (c->constant)
    return ask(x, e->args[tensor_i64_at(c->constant, 0) ? 1 : 2], what, self);
  if (what == ASK_VALUE && is_connective(x, e)) {
    bool and = e->sugar == SUGAR_AND;
    x->hint = NULL;
    Val *d = eval(x, e->args[and? 1 : 2]);
    x->hint = hint;
    return d ? node_of(x, and? "And" : "Or", c->type, 2, (Val *[]){c, d})
             : NULL;
  }
  Side a = {.e = e->args[1], .arm = -1}, b = {.e = e->args[2], .arm = -1};
  return choose(x, c, &a, &b, what, self);
}

/* --- match ---------------------------------------------------------------- */

static Val *sequence_length(Export *x, Val *v) {
  const char *hint = x->hint;
  x->hint = NULL;
  Val *n = node_of(x, "SequenceLength", type_of_rank(x, DT_INT64, 0), 1, &v);
  x->hint = hint;
  return n;
}

/* Is the list or the Option in the graph of that constructor? */
static Val *graph_is(Export *x, Val *v, const Ctor *ctor) {
  const Type *type = type_of_rank(x, DT_BOOL, 0);
  if (v->kind == VAL_OPTIONAL) {
    Val *has = node_of(x, "OptionalHasElement", type, 1, &v);
    return ctor->field_count || !has ? has : node_of(x, "Not", type, 1, &has);
  }
  Val *length = sequence_length(x, v), *zero = val_number(x, DT_INT64, 0);
  if (!length || !zero) return NULL;
  return node_of(x, ctor->field_count ? "Greater" : "Equal", type, 2,
                 (Val *[]){length, zero});
}

static bool takes_anything(const Pattern *p) {
  return p->kind == PT_WILD || p->kind == PT_VAR;
}

static Val *graph_field(Export *x, Val *v, int field) {
  if (v->kind == VAL_OPTIONAL)
    return node_of(x, "OptionalGetElement", option_element(x, v->type), 1, &v);
  Val *zero = val_number(x, DT_INT64, 0);
  const Type *type = field ? v->type : list_element(x, v->type);
  if (!zero || !type) return NULL;
  Val *made = node_of(x, field ? "SequenceErase" : "SequenceAt", type, 2,
                      (Val *[]){v, zero});
  if (made && field) made->tail_of = v;
  return made;
}

static Truth test(Export *x, const Pattern *p, Val *v, Val **c, bool *failed);

/* The fields of what is in the graph are looked at only where it has them: in
 * the graph of an If. */
static Val *test_fields(Export *x, const Pattern *p, Val *v, Val *has) {
  OnnxGraph *outer = x->graph;
  OnnxGraph *yes = graph_enter(x, "then", p->span);
  if (!yes) return NULL;
  Val *c = NULL;
  bool failed = false;
  Truth all = YES;
  for (int i = 0; i < p->count && all != NO && !failed; i++) {
    if (takes_anything(p->fields[i])) continue;
    Val *item = graph_field(x, v, i);
    Truth t = item ? test(x, p->fields[i], item, &c, &failed) : NO;
    failed |= item == NULL;
    if (t != YES) all = t;
  }
  if (all != MAYBE) c = val_number(x, DT_BOOL, all == YES);
  bool fine = !failed && c && graph_gives(x, yes, c, NULL);
  graph_leave(x, outer);
  OnnxGraph *no = fine ? graph_enter(x, "else", p->span) : NULL;
  if (!no) return NULL;
  fine = graph_gives(x, no, val_number(x, DT_BOOL, 0), NULL);
  graph_leave(x, outer);
  OnnxNode *n = fine ? node_new(x, "If") : NULL;
  if (!n || !node_in(x, n, has, p->span)) return NULL;
  onnx_attr_graph(x->w, n, "then_branch", yes);
  onnx_attr_graph(x->w, n, "else_branch", no);
  return node_out(x, n, has->type);
}

static bool tests_fields(const Pattern *p) {
  for (int i = 0; i < p->count; i++)
    if (!takes_anything(p->fields[i])) return true;
  return false;
}

/* Does the pattern take the value?  YES, NO, or MAYBE: where `*c` is true,
 * which is joined to what it was. */
static Truth test(Export *x, const Pattern *p, Val *v, Val **c, bool *failed) {
  Val *mine = NULL;
  switch (p->kind) {
    case PT_WILD:
    case PT_VAR: return YES;
    case PT_LITERAL: {
      if (v->constant) return tensor_same(v->constant, p->constant) ? YES : NO;
      Val *k = val_constant(x, p->constant);
      mine =
          node_of(x, "Equal", type_of_rank(x, DT_BOOL, 0), 2, (Val *[]){v, k});
      break;
    }
    case PT_TUPLE:
    case PT_CTOR:
      if (v->kind == VAL_SEQUENCE || v->kind == VAL_OPTIONAL) {
        mine = graph_is(x, v, p->ctor);
        if (mine && tests_fields(p)) mine = test_fields(x, p, v, mine);
        break;
      }
      if (v->kind != VAL_TUPLE && v->kind != VAL_DATA) {
        refuse(x, p->span, "this value is no constructor in ONNX");
        *failed = true;
        return NO;
      }
      if (p->kind == PT_CTOR) {
        x->by_data = true;
        if (v->ctor != p->ctor) return NO;
      }
      Truth all = YES;
      for (int i = 0; i < p->count; i++) {
        Truth t = test(x, p->fields[i], v->items[i], c, failed);
        if (t == NO || *failed) return NO;
        if (t == MAYBE) all = MAYBE;
      }
      return all;
    default: break;
  }
  if (mine && *c) mine = node_of(x, "And", mine->type, 2, (Val *[]){*c, mine});
  *failed |= mine == NULL;
  *c = mine;
  return MAYBE;
}

/* Into the frame at hand. */
static bool bind_pattern(Export *x, const Pattern *p, Val *v) {
  if (p->kind == PT_VAR) frame_bind(x, x->frame, p->var, v);
  if (p->kind != PT_TUPLE && p->kind != PT_CTOR) return true;
  const char *hint = x->hint;
  bool fine = true;
  for (int i = 0; fine && i < p->count; i++) {
    const Pattern *field = p->fields[i];
    if (field->kind == PT_WILD) continue;
    x->hint = field->kind == PT_VAR ? field->var->name->text : NULL;
    bool known = v->kind == VAL_TUPLE || v->kind == VAL_DATA;
    Val *item = known ? v->items[i] : graph_field(x, v, i);
    fine = item && bind_pattern(x, field, item);
  }
  x->hint = hint;
  return fine;
}

/* A guard is asked for after its pattern, whose variables it may use. */
static Truth test_guard(Export *x, const Arm *arm, Val *v, Truth taken, Val **c,
                        bool *failed) {
  if (taken == MAYBE && v->kind != VAL_TENSOR) {
    refuse(x, arm->guard->span,
           "a guard after a pattern of a value that only the run knows; "
           "write an `if` within the arm");
    *failed = true;
    return NO;
  }
  x->hint = NULL;
  Val *g = bind_pattern(x, arm->pattern, v) ? eval(x, arm->guard) : NULL;
  *failed |= g == NULL;
  if (!g) return NO;
  if (g->constant) return tensor_i64_at(g->constant, 0) ? taken : NO;
  *c = *c ? node_of(x, "And", g->type, 2, (Val *[]){*c, g}) : g;
  *failed |= *c == NULL;
  return MAYBE;
}

/* The checker has seen that the last arm takes what is left. */
static Val *ask_arms(Export *x, const Side *from, Ask what, const Self *self) {
  const Match *m = from->e->match;
  const char *hint = x->hint;
  for (int i = from->arm; i < m->arm_count; i++) {
    const Arm *arm = &m->arms[i];
    Val *c = NULL;
    bool failed = false;
    bool sure = !m->partial && !arm->guard && i == m->arm_count - 1;
    x->hint = NULL;
    Truth taken =
        sure ? YES : test(x, arm->pattern, from->scrutinee, &c, &failed);
    if (taken != NO && arm->guard)
      taken = test_guard(x, arm, from->scrutinee, taken, &c, &failed);
    x->hint = hint;
    if (failed) return NULL;
    Side body = {from->e, i, false, from->scrutinee, NULL};
    if (taken == YES) return ask_side(x, &body, what, self);
    if (taken == NO) continue;
    bool last = i + 2 == m->arm_count && !m->arms[i + 1].guard && !m->partial;
    Side rest = {from->e, i + 1, !last, from->scrutinee, NULL};
    return choose(x, c, &body, &rest, what, self);
  }
  return refuse(x, from->e->span, "no arm of this `match` is left to take");
}

static Val *ask_match(Export *x, const Expr *e, Ask what, const Self *self) {
  const char *hint = x->hint;
  x->hint = NULL;
  Val *v = eval(x, e->args[0]);
  x->hint = hint;
  return v ? ask_arms(x, &(Side){e, 0, true, v, NULL}, what, self) : NULL;
}

/* --- Functions that call each other --------------------------------------- */

static Val *ask_member(Export *x, const Turn *t, int i, Ask what,
                       const Self *self) {
  const Fn *fn = t->circle->members[i].fn;
  Frame *frame = x->frame, *f = frame_new(x, t->outer);
  f->fn = fn;
  for (int k = 0; k < fn->param_count; k++)
    frame_bind(x, f, fn->params[k], t->args[k]);
  x->frame = frame_new(x, f);
  Val *v = ask(x, fn->body, what, self);
  x->frame = frame;
  return v;
}

/* Those from one on. */
static Val *ask_members(Export *x, const Turn *t, int from, Ask what,
                        const Self *self) {
  const Circle *c = t->circle;
  if (from == c->count - 1) return ask_member(x, t, from, what, self);
  const char *hint = x->hint;
  x->hint = NULL;
  Val *his = node_of(x, "Equal", type_of_rank(x, DT_BOOL, 0), 2,
                     (Val *[]){t->which, val_number(x, DT_INT64, from)});
  x->hint = hint;
  Side one = {c->members[from].fn->body, from, false, NULL, t};
  Side rest = {c->members[from + 1].fn->body, from + 1, true, NULL, t};
  return his ? choose(x, his, &one, &rest, what, self) : NULL;
}

Val *ask_circle(Export *x, const Circle *c, Val *which, Val *const *args,
                Frame *outer, Ask what, const Self *self) {
  Turn t = {c, which, args, outer};
  const Tensor *known = which->constant;
  return known ? ask_member(x, &t, (int)tensor_i64_at(known, 0), what, self)
               : ask_members(x, &t, 0, what, self);
}

/* --- Asking --------------------------------------------------------------- */

static Val *ask_here(Export *x, const Expr *e, Ask what, const Self *self) {
  bool end = false;
  unsigned ends = self ? ends_of(x, e, self, &end) : ENDS_VALUE;
  if (what == ASK_MORE && ends != (ENDS_VALUE | ENDS_CALL))
    return val_number(x, DT_BOOL, ends == ENDS_CALL);
  if (end && ends == ENDS_CALL)
    return what == ASK_STEP ? step_args(x, e, self) : eval(x, e);
  if (e->kind == EX_IF || e->kind == EX_MATCH) {
    Frame *frame = x->frame;
    x->frame = frame_new(x, frame);
    Val *v = e->kind == EX_IF ? ask_if(x, e, what, self)
                              : ask_match(x, e, what, self);
    x->frame = frame;
    return v;
  }
  if (is_self_call(e, self)) return step_args(x, e, self);
  if (e->kind != EX_BLOCK || ends == ENDS_VALUE) return eval(x, e);
  Frame *frame = x->frame;
  Val *v =
      block_enter(x, e->block) ? ask(x, e->block->result, what, self) : NULL;
  x->frame = frame;
  return v;
}

typedef struct AskCall {
  Export *x;
  const Expr *e;
  Ask what;
  const Self *self;
  Val *v;
} AskCall;

static void ask_run(void *of) {
  AskCall *c = of;
  c->v = ask(c->x, c->e, c->what, c->self);
}

Val *ask(Export *x, const Expr *e, Ask what, const Self *self) {
  if (mem_exhausted(x->mem)) return NULL;
  if (!split_is_used_up(&x->stack)) return ask_here(x, e, what, self);
  AskCall c = {x, e, what, self, NULL};
  split_call(&x->stack, ask_run, &c);
  return c.v;
}
