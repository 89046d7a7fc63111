/* The walk: a stack of frames, one for each node, pattern or attribute value
 * that is under way.  A frame knows which step comes next; a step tells an
 * event, or pushes the frame of a part. */
#include "ir/walk.h"

typedef enum FrameKind {
  FRAME_ROOT, /* an expression that is still to be entered */
  FRAME_EXPR,
  FRAME_ATTR,
  FRAME_PATTERN, /* binds its variables */
  FRAME_UNBIND,  /* a pattern's variables go out of scope */
} FrameKind;

/* Steps of a block, which are told apart by the binding they are at: names come
 * before the values of functions that may use them, and after other values. */
typedef enum BlockPhase {
  AT_BINDING,
  AT_GROUP_NAMES,
  AT_GROUP_VALUES,
  AT_NAME, /* of a binding whose value is done */
  AT_UNBIND,
} BlockPhase;

/* Steps of an arm. */
typedef enum ArmPhase { AT_PATTERN, AT_GUARD, AT_BODY, AT_ARM_END } ArmPhase;

struct WalkFrame {
  const void *node; /* an Expr, a Pattern or an AttrExpr */
  int index;        /* how it lies in its parent */
  int step;         /* among the node's parts, or the bindings of a block */
  int first; /* of a block: the group's first binding; of a match: the arm; of a
                pattern or a value: the number of its expression's frame */
  uint8_t kind, role;
  uint8_t phase; /* of a block, an arm or a pattern */
};

/* --- Starting and ending -------------------------------------------------- */

void expr_walk_start(ExprWalk *w, Mem *mem, unsigned wanted, const Expr *root) {
  *w = (ExprWalk){.mem = mem, .wanted = wanted};
  VEC_INIT(&w->frames, mem);
  if (root) expr_walk_add(w, root);
}

void expr_walk_once(ExprWalk *w) {
  w->once = true;
  ptrmap_init(&w->met, w->mem);
}

bool expr_walk_end(ExprWalk *w) {
  VEC_DONE(&w->frames);
  if (w->once) ptrmap_done(&w->met);
  return !w->failed;
}

/* Each step pushes one frame at most, and there is room for it before the step
 * is made (expr_walk_next).  So no step has to ask. */
static inline void push(ExprWalk *w, FrameKind kind, const void *node,
                        WalkRole role, int index) {
  w->frames.data[w->frames.len++] = (WalkFrame){.node = node,
                                                .index = index,
                                                .kind = (uint8_t)kind,
                                                .role = (uint8_t)role};
}

static __attribute__((noinline)) bool make_room(ExprWalk *w) {
  w->failed |= !VEC_RESERVE(&w->frames, 1);
  return !w->failed;
}

void expr_walk_add(ExprWalk *w, const Expr *root) {
  if (make_room(w)) push(w, FRAME_ROOT, root, ROLE_ROOT, 0);
}

/* The frame of the node just entered is on top; a leaf has none. */
void expr_walk_skip(ExprWalk *w) {
  if (w->leaf) w->leaf = false;
  else w->frames.len--;
}

bool expr_walk_is_tail(const ExprWalk *w) {
  switch (w->role) {
    case ROLE_BODY:
    case ROLE_RESULT:
    case ROLE_ARM: return true;
    case ROLE_ARG: return w->parent->kind == EX_IF && w->index > 0;
    default: return false;
  }
}

/* --- Events --------------------------------------------------------------- */

/* Those below return true when they have told one. */

static bool was_met(ExprWalk *w, const Expr *e) {
  if (ptrmap_has(&w->met, e)) return true;
  ptrmap_put(&w->met, e, w);
  return false;
}

/* Most nodes are leaves, and a frame for each would cost more than their
 * events. */
static bool is_leaf(const Expr *e) {
  switch (e->kind) {
    case EX_CALL:
    case EX_FN:
    case EX_BLOCK:
    case EX_MATCH: return false;
    default: return e->count == 0;
  }
}

/* Goes on to a part of the node under way.  A leaf gets no frame; until it is
 * left, `leaf` is set. */
static inline bool enter(ExprWalk *w, const Expr *e, const Expr *parent,
                         WalkRole role, int index) {
  if (w->once && was_met(w, e)) return false;
  w->leaf = is_leaf(e);
  if (!w->leaf) push(w, FRAME_EXPR, e, role, index);
  if (!w->leaf && !(w->wanted & WALK_ENTER)) return false;
  w->at = e;
  w->parent = parent;
  w->role = role;
  w->index = index;
  w->event = WALK_ENTER;
  return w->wanted & WALK_ENTER;
}

/* The expression that a frame belongs to. */
static const Expr *expr_of(const ExprWalk *w, const WalkFrame *f) {
  return f->kind == FRAME_EXPR ? f->node : w->frames.data[f->first].node;
}

/* Pushes the frame of a part of what the frame on top belongs to. */
static void push_part(ExprWalk *w, const WalkFrame *f, FrameKind kind,
                      const void *node, WalkRole role, int index) {
  bool outer = f->kind == FRAME_EXPR;
  int first = outer ? (int)w->frames.len - 1 : f->first;
  push(w, kind, node, role, index);
  w->frames.data[w->frames.len - 1].first = first;
}

static bool leave(ExprWalk *w, const WalkFrame *f) {
  w->at = f->node;
  w->role = (WalkRole)f->role;
  w->index = f->index;
  w->parent = w->role == ROLE_ROOT ? NULL : expr_of(w, f - 1);
  w->event = WALK_LEAVE;
  w->frames.len--;
  return w->wanted & WALK_LEAVE;
}

static bool tell_binder(ExprWalk *w, WalkEvent event, const Expr *binder,
                        Var *var, const Binding *binding,
                        const Pattern *pattern) {
  if (!(w->wanted & event)) return false;
  w->event = event;
  w->at = binder;
  w->var = var;
  w->binding = binding;
  w->pattern = pattern;
  return true;
}

/* --- Attributes and patterns ---------------------------------------------- */

static bool step_attr(ExprWalk *w, WalkFrame *f) {
  const AttrExpr *x = f->node;
  const Expr *call = expr_of(w, f);
  int i = f->step++, index = f->index;
  if (x->kind == AX_EXPR && i == 0)
    return enter(w, x->expr, call, ROLE_ATTR, index);
  if (x->kind == AX_LIST && i < x->count) {
    push_part(w, f, FRAME_ATTR, x->items[i], ROLE_ATTR, index);
    return false;
  }
  w->frames.len--;
  w->attr = x;
  w->at = call;
  w->event = WALK_ATTR_END;
  return w->wanted & WALK_ATTR_END;
}

/* The pattern itself, its variable, its fields, its end: one at each call. */
static bool step_pattern(ExprWalk *w, WalkFrame *f) {
  const Pattern *p = f->node;
  const Expr *match = expr_of(w, f);
  if (f->phase == 0) {
    f->phase = 1;
    if (tell_binder(w, WALK_PATTERN, match, p->var, NULL, p)) return true;
  }
  if (f->phase == 1) {
    f->phase = 2;
    if (p->kind == PT_VAR && tell_binder(w, WALK_BIND, match, p->var, NULL, p))
      return true;
  }
  if (f->step < p->count) {
    const Pattern *field = p->fields[f->step++];
    push_part(w, f, FRAME_PATTERN, field, ROLE_ARM, f->index);
    return false;
  }
  w->frames.len--;
  return tell_binder(w, WALK_PATTERN_END, match, p->var, NULL, p);
}

/* From the last field to the first. */
static bool step_unbind(ExprWalk *w, WalkFrame *f) {
  const Pattern *p = f->node;
  if (f->step < p->count) {
    int i = p->count - 1 - f->step++;
    push_part(w, f, FRAME_UNBIND, p->fields[i], ROLE_ARM, f->index);
    return false;
  }
  const Expr *match = expr_of(w, f);
  w->frames.len--;
  return p->kind == PT_VAR &&
         tell_binder(w, WALK_UNBIND, match, p->var, NULL, p);
}

/* --- Parts of expressions ------------------------------------------------- */

/* Each does one step of a node, and leaves it when none is left. */

/* Steps: arguments (in step_expr), attributes, the callee, the end. */
static bool step_call(ExprWalk *w, WalkFrame *f, const Expr *e) {
  int i = f->step++ - e->count;
  if (i == e->call.attr_count)
    return enter(w, e->call.callee, e, ROLE_CALLEE, 0);
  if (i > e->call.attr_count) return leave(w, f);
  push_part(w, f, FRAME_ATTR, e->call.attrs[i].value, ROLE_ATTR, i);
  return false;
}

/* Steps: n parameters, the body, n parameters out of scope in reverse, the
 * end. */
static bool step_fn(ExprWalk *w, WalkFrame *f, const Expr *e) {
  const Fn *fn = e->fn;
  int n = fn->param_count, i = f->step++;
  if (i < n && w->wanted & WALK_BIND)
    return tell_binder(w, WALK_BIND, e, fn->params[i], NULL, NULL);
  if (i <= n) {
    f->step = n + 1;
    return enter(w, fn->body, e, ROLE_BODY, 0);
  }
  if (i > 2 * n || !(w->wanted & WALK_UNBIND)) return leave(w, f);
  return tell_binder(w, WALK_UNBIND, e, fn->params[2 * n - i], NULL, NULL);
}

/* Guard and body see the pattern's variables; an arm that shares them has
 * neither.  Phases that have nothing to tell fall through to the next. */
static bool step_match(ExprWalk *w, WalkFrame *f, const Expr *e) {
  enum { IN_PATTERNS = WALK_PATTERN | WALK_BIND | WALK_PATTERN_END };
  int i = f->first;
  if (i == e->match->arm_count) return leave(w, f);
  const Arm *arm = &e->match->arms[i];
  switch ((ArmPhase)f->phase) {
    case AT_PATTERN:
      f->phase = arm->shares ? AT_ARM_END : AT_GUARD;
      if (w->wanted & IN_PATTERNS)
        push_part(w, f, FRAME_PATTERN, arm->pattern, ROLE_ARM, i);
      if (w->wanted & IN_PATTERNS || arm->shares) return false;
      __attribute__((fallthrough));
    case AT_GUARD:
      f->phase = AT_BODY;
      if (arm->guard) return enter(w, arm->guard, e, ROLE_GUARD, i);
      __attribute__((fallthrough));
    case AT_BODY:
      f->phase = AT_ARM_END;
      return enter(w, arm->body, e, ROLE_ARM, i);
    case AT_ARM_END:
      f->phase = AT_PATTERN;
      f->first++;
      if (w->wanted & WALK_UNBIND)
        push_part(w, f, FRAME_UNBIND, arm->pattern, ROLE_ARM, i);
      return false;
  }
  return false;
}

static bool in_group(const WalkFrame *f, const Block *b) {
  return f->step < b->count &&
         (f->step == f->first || b->bindings[f->step].kind == BIND_AND);
}

/* A name, which follows its value. */
static bool bind_name(ExprWalk *w, WalkFrame *f, const Expr *e) {
  const Binding *b = &e->block->bindings[f->step++];
  f->phase = AT_BINDING;
  if (b->kind == BIND_ITEM) return false;
  return tell_binder(w, WALK_BIND, e, b->var, b, NULL);
}

/*   let %x = e            AT_BINDING (e) -> AT_NAME (bind x) -> AT_BINDING
 *   let %f = fn and ...   AT_GROUP_NAMES (all) -> AT_GROUP_VALUES (all)
 *   after the last        the result, then AT_UNBIND from the last to the first
 *
 * Users that do not ask for BIND need no phases of groups: values come in the
 * same order. */
static bool step_block(ExprWalk *w, WalkFrame *f, const Expr *e) {
  const Block *block = e->block;
  int i = f->step;
  const Binding *b = i < block->count ? &block->bindings[i] : NULL;
  switch ((BlockPhase)f->phase) {
    case AT_BINDING:
      if (!b) {
        f->phase = AT_UNBIND;
        return enter(w, block->result, e, ROLE_RESULT, i);
      }
      /* Users that do not hear of binders need not have groups told apart. */
      if (w->wanted & WALK_BIND && block_binds_first(block, i)) {
        f->first = i;
        f->phase = AT_GROUP_NAMES;
        return false;
      }
      f->phase = AT_NAME;
      return b->value && enter(w, b->value, e, ROLE_VALUE, i);
    case AT_NAME: return bind_name(w, f, e);
    case AT_GROUP_NAMES:
      if (in_group(f, block)) {
        f->step++;
        return tell_binder(w, WALK_BIND, e, b->var, b, NULL);
      }
      f->step = f->first;
      f->phase = AT_GROUP_VALUES;
      return false;
    case AT_GROUP_VALUES:
      if (in_group(f, block)) {
        f->step++;
        return enter(w, b->value, e, ROLE_VALUE, i);
      }
      f->phase = AT_BINDING;
      return false;
    case AT_UNBIND:
      if (i == 0 || !(w->wanted & WALK_UNBIND)) return leave(w, f);
      b = &block->bindings[--f->step];
      return b->var && tell_binder(w, WALK_UNBIND, e, b->var, b, NULL);
  }
  return false;
}

/* Arguments first, which most nodes have nothing but. */
static inline bool step_expr(ExprWalk *w, WalkFrame *f) {
  const Expr *e = f->node;
  if (f->step < e->count) {
    int i = f->step++;
    return enter(w, e->args[i], e, ROLE_ARG, i);
  }
  switch (e->kind) {
    case EX_CALL: return step_call(w, f, e);
    case EX_FN: return step_fn(w, f, e);
    case EX_BLOCK: return step_block(w, f, e);
    case EX_MATCH: return step_match(w, f, e);
    default: return leave(w, f);
  }
}

/* --- The walk ------------------------------------------------------------- */

static inline bool step(ExprWalk *w) {
  WalkFrame *f = &VEC_LAST(&w->frames);
  switch ((FrameKind)f->kind) {
    case FRAME_EXPR: return step_expr(w, f);
    case FRAME_ROOT:
      w->frames.len--;
      return enter(w, f->node, NULL, ROLE_ROOT, 0);
    case FRAME_ATTR: return step_attr(w, f);
    case FRAME_PATTERN: return step_pattern(w, f);
    case FRAME_UNBIND: return step_unbind(w, f);
  }
  return false;
}

bool expr_walk_next(ExprWalk *w) {
  w->failed |= mem_exhausted(w->mem);
  if (w->failed) return false;
  for (;;) {
    if (w->leaf) {
      w->leaf = false;
      w->event = WALK_LEAVE;
      if (w->wanted & WALK_LEAVE) return true;
    }
    if (w->frames.len == 0) return false;
    if (w->frames.len == w->frames.cap && !make_room(w)) return false;
    if (step(w)) return true;
  }
}
