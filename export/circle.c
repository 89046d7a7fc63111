/* Functions that call each other at their ends, none by itself:
 *
 *   def @even(%n) { if (%n == 0) { True } else { @odd(%n - 1) } }
 *   def @odd(%n) { if (%n == 0) { False } else { @even(%n - 1) } }
 *
 * They are one function of a number, which says whose turn it is, and of the
 * parameters, which all of them have:
 *
 *   def @both(%which, %n) { if (%which == 0) { @even's } else { @odd's } }
 *
 * A call of one of them is a call of itself there (choose.c), so that it
 * becomes a Loop (loop.c). */
#include "export/exporter.h"
#include "ir/walk.h"

enum { MEMBERS_MOST = 32 };

/* The functions that tail calls reach from the first one. */
typedef struct Reached {
  Export *x;
  Frame *frame; /* in whose block local ones stand */
  Member members[MEMBERS_MOST];
  bool calls[MEMBERS_MOST][MEMBERS_MOST]; /* directly, or by way of others */
  int count;
} Reached;

/* Finds the function of the member's name; false: the name is no function of
 * the text, or one with type parameters. */
static bool find_fn(const Frame *frame, Member *m) {
  const Expr *value = NULL;
  if (m->global && m->global->kind == GLOBAL_DEF && !m->global->param_count) {
    value = m->global->value;
  } else if (m->var && frame) {
    const Bound *b = ptrmap_get(&frame->vars, m->var);
    value = b && !m->var->param_count ? b->value : NULL;
  }
  m->fn = value && value->kind == EX_FN ? value->fn : NULL;
  return m->fn && !m->fn->type_param_count;
}

static void add_call(Reached *r, int from, const Expr *callee) {
  Member m = {.global = callee->kind == EX_GLOBAL ? callee->g.global : NULL,
              .var = callee->kind == EX_VAR ? callee->var : NULL};
  if (!find_fn(r->frame, &m)) return;
  int i = 0;
  while (i < r->count && r->members[i].fn != m.fn) i++;
  if (i == MEMBERS_MOST) return;
  if (i == r->count) r->members[r->count++] = m;
  r->calls[from][i] = true;
}

static void add_calls(Reached *r, int from) {
  const Expr *body = r->members[from].fn->body;
  ExprWalk w;
  expr_walk_start(&w, r->x->mem, WALK_ENTER, body);
  while (expr_walk_next(&w)) {
    const Expr *e = w.at;
    bool tail = e == body || expr_walk_is_tail(&w);
    if (tail && expr_has_tail(e)) continue;
    if (tail && e->kind == EX_CALL) add_call(r, from, e->call.callee);
    expr_walk_skip(&w);
  }
  expr_walk_end(&w);
}

/* By Warshall's algorithm. */
static void close_calls(Reached *r) {
  for (int k = 0; k < r->count; k++)
    for (int i = 0; i < r->count; i++)
      for (int j = 0; j < r->count; j++)
        r->calls[i][j] |= r->calls[i][k] && r->calls[k][j];
}

static bool same_params(const Fn *a, const Fn *b) {
  bool same = a->param_count == b->param_count;
  for (int i = 0; same && i < a->param_count; i++)
    same = a->params[i]->type == b->params[i]->type;
  return same;
}

/* The one function that stands for all. */
static const Fn *joined_fn(Export *x, const Fn *first) {
  Fn *fn = ARENA_NEW(x->arena, Fn);
  size_t count = (size_t)first->param_count + 1;
  Var **params = ARENA_ARRAY(x->arena, Var *, count);
  if (!fn || !params) return NULL;
  for (size_t i = 0; i < count; i++) {
    const Var *of = i ? first->params[i - 1] : NULL;
    const Name *name = of ? of->name : name_of(x->p->names, "which");
    params[i] = var_new(x->arena, name, of ? of->span : SPAN_NONE, NULL);
    params[i]->type = of ? of->type : type_of_rank(x, DT_INT64, 0);
  }
  fn->param_count = (int)count;
  fn->params = params;
  return fn;
}

static const Circle *circle_new(Export *x, const Reached *r) {
  Circle *c = ARENA_NEW(x->arena, Circle);
  Member *members = ARENA_ARRAY(x->arena, Member, (size_t)r->count);
  if (!c || !members) return NULL;
  bool same = true;
  for (int i = 0; i < r->count; i++) {
    if (!r->calls[0][i] || !r->calls[i][0]) continue;
    same = same && same_params(r->members[0].fn, r->members[i].fn);
    members[c->count++] = r->members[i];
  }
  c->members = members;
  c->fn = same ? joined_fn(x, members[0].fn) : NULL;
  return c->count > 1 ? c : NULL;
}

const Circle *circle_of(Export *x, const Global *global, const Var *local,
                        Frame *frame) {
  Member first = {.global = global, .var = local};
  if (!find_fn(frame, &first)) return NULL;
  if (ptrmap_has(&x->circles, first.fn)) {
    const void *known = ptrmap_get(&x->circles, first.fn);
    return known == x ? NULL : known;
  }
  Reached *r = ARENA_NEW(x->arena, Reached);
  if (!r) return NULL;
  r->x = x;
  r->frame = frame;
  r->members[r->count++] = first;
  for (int i = 0; i < r->count; i++) add_calls(r, i);
  close_calls(r);
  const Circle *c = r->calls[0][0] ? circle_new(x, r) : NULL;
  ptrmap_put(&x->circles, first.fn, c ? (void *)c : (void *)x);
  return c;
}

int circle_member(const Circle *c, const Expr *callee) {
  for (int i = 0; i < c->count; i++) {
    const Member *m = &c->members[i];
    if (callee->kind == EX_VAR && m->var == callee->var) return i;
    if (callee->kind == EX_GLOBAL && m->global == callee->g.global) return i;
  }
  return -1;
}

/* Where the parameters differ, only what is known may choose whose turn it is:
 * the calls are written out. */
static Val *written_out(Export *x, const Fn *fn, Frame *outer, Val *const *args,
                        const Expr *at) {
  for (const Active *a = x->active; a; a = a->up)
    if (a->fn == fn && a->graph != x->graph)
      return refuse(x, at->span,
                    "functions that call each other as often as the run says "
                    "need parameters of the same types");
  Active active = {fn, x->graph, x->active};
  Frame *frame = x->frame;
  x->active = &active;
  x->frame = frame_new(x, outer);
  x->frame->fn = fn;
  for (int i = 0; i < fn->param_count; i++)
    frame_bind(x, x->frame, fn->params[i], args[i]);
  Val *v = eval(x, fn->body);
  x->frame = frame;
  x->active = active.up;
  return v;
}

Val *circle_call(Export *x, const Circle *c, Frame *outer, Val *const *args,
                 const Expr *at) {
  if (!args) return NULL;
  if (!c->fn) return written_out(x, c->members[0].fn, outer, args, at);
  size_t count = (size_t)c->fn->param_count;
  bool *changed = ARENA_ARRAY(x->arena, bool, count);
  Val *which = val_number(x, DT_INT64, 0);
  if (!changed || !which) return NULL;
  Frame *frame = frame_new(x, outer);
  frame->fn = c->fn;
  for (size_t i = 0; i < count; i++) {
    changed[i] = true;
    frame_bind(x, frame, c->fn->params[i], i ? args[i - 1] : which);
  }
  Self self = {.changed = changed, .circle = c};
  return loop_once(x, c->fn, &self, frame, at);
}
