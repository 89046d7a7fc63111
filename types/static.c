/* Is every shape known before the program runs?  types_static() answers for the
 * user's own texts.  Numbers are known, and so are named dimensions, which a
 * caller's tensors determine; `?` is not.
 *
 * A `?` arises in some places (an operator whose result depends on a value, a
 * declaration that says so) and flows on to others.  Each place where one
 * arises is reported, with notes that follow it to the definitions that it
 * reaches:
 *
 *   let %i = argwhere(%x);     E0306: the shape that `argwhere` gives depends
 *   @f(%i)                     on a value; note: so `%i` is Tensor[(?, 1), ...]
 *
 * The types are those that inference left (zonk.c), so this is one look at each
 * node and no analysis of its own.  All expressions are put into one list,
 * parents before children, each with the index of its parent: from a node the
 * shape is then followed upward without a walk.
 *
 * An expression is a source if its type holds `?` while nothing that flows into
 * it does.  Where the rules find no source at all, check_rest reports the first
 * node whose type holds `?`, so that no such program passes. */
#include "ir/walk.h"
#include "ops/ops.h"
#include "types/types.h"

enum { CHAIN_MAX = 6 };

/* An expression with its parent. */
typedef struct Node {
  const Expr *e;
  int up;             /* the index of its parent; -1: a definition's value */
  const Global *home; /* NULL: a script's expression */
} Node;

typedef struct Static {
  Program *p;
  PtrMap holds;    /* Type -> itself when it holds `?`, else the map */
  VEC(Node) nodes; /* parents before children */
  PtrMap uses;     /* Var or Global -> 1 + the index of its first use */
  bool found;
} Static;

/* --- Types that hold `?` -------------------------------------------------- */

static bool holds(Static *s, const Type *t);

static bool look(Static *s, const Type *t) {
  for (int i = 0; t->kind == TY_TENSOR && i < t->rank; i++)
    if (dim_is_any(t->dims[i])) return true;
  for (int i = 0; i < t->count; i++)
    if (holds(s, t->args[i])) return true;
  return t->kind == TY_FN && holds(s, t->result);
}

/* The answer for each type is kept, as types are shared by many nodes; the map
 * itself stands for "no", since NULL means "not asked yet". */
static bool holds(Static *s, const Type *t) {
  if (!t) return false;
  const void *known = ptrmap_get(&s->holds, t);
  if (!known) {
    known = look(s, t) ? (const void *)t : &s->holds;
    ptrmap_put(&s->holds, t, (void *)known);
  }
  return known == t;
}

static bool some_hold(Static *s, int count, const Expr *const *args) {
  for (int i = 0; i < count; i++)
    if (holds(s, args[i]->type)) return true;
  return false;
}

/* --- The nodes ------------------------------------------------------------ */

/* Only the first use that is met is kept: a note shows one way on, not all. */
static void note_use(Static *s, int at) {
  const Expr *e = s->nodes.data[at].e;
  const void *what = e->kind == EX_VAR      ? (const void *)e->var
                     : e->kind == EX_GLOBAL ? (const void *)e->g.global
                                            : NULL;
  if (!what || ptrmap_has(&s->uses, what)) return;
  ptrmap_put(&s->uses, what, (void *)(intptr_t)(at + 1));
}

/* `up` is the node that was entered last and has not been left.  A node's index
 * plus one is what the map of uses holds, since 0 would be NULL. */
static void add_tree(Static *s, const Global *home, const Expr *root) {
  ExprWalk w;
  int up = -1;
  expr_walk_start(&w, s->p->mem, WALK_ENTER | WALK_LEAVE, root);
  while (expr_walk_next(&w)) {
    if (w.event == WALK_LEAVE) {
      up = s->nodes.data[up].up;
      continue;
    }
    VEC_PUSH(&s->nodes, (Node){w.at, up, home});
    if (mem_exhausted(s->p->mem)) break;
    up = (int)s->nodes.len - 1;
    note_use(s, up);
  }
  expr_walk_end(&w);
}

/* Items that are evaluated have their values as globals, or as steps where they
 * have no name. */
static void add_unit(Static *s, const Unit *u) {
  for (int i = 0; i < u->item_count; i++) {
    const Global *g = item_global(s->p, &u->items[i]);
    if (g && g->value) add_tree(s, g, g->value);
    for (const Global *of = g ? g->instances : NULL; of; of = of->next_instance)
      add_tree(s, of, of->value);
  }
  for (int i = 0; i < u->step_count; i++)
    if (u->steps[i].kind == STEP_EXPR) add_tree(s, NULL, u->steps[i].expr);
}

/* --- Where an unknown shape goes ------------------------------------------ */

static const char *text_of(Static *s, const Type *t) {
  StrBuf text;
  strbuf_init(&text, s->p->mem);
  type_print(s->p->types, &text, t, TYPE_TEXT_LINE);
  const char *kept =
      arena_printf(&s->p->diags->arena, "%s", strbuf_text(&text));
  strbuf_done(&text);
  return kept;
}

static int first_use(const Static *s, const void *what) {
  return (int)(intptr_t)ptrmap_get(&s->uses, what) - 1;
}

/* The variable of a pattern that receives it. */
static const Var *receiver(Static *s, const Pattern *p) {
  if (p->kind == PT_VAR) return holds(s, p->var->type) ? p->var : NULL;
  for (int i = 0; i < p->count; i++) {
    const Var *v = receiver(s, p->fields[i]);
    if (v) return v;
  }
  return NULL;
}

/* The variable that a child's value is bound to in its parent, if any.  NULL as
 * well where the shape ends here: the variable's type may know it by an
 * annotation. */
static const Var *bound_to(Static *s, const Expr *parent, const Expr *child) {
  const Var *v = NULL;
  if (parent->kind == EX_BLOCK) {
    const Block *b = parent->block;
    for (int i = 0; i < b->count && !v; i++)
      if (b->bindings[i].value == child) v = b->bindings[i].var;
  } else if (parent->kind == EX_MATCH && parent->args[0] == child) {
    for (int i = 0; i < parent->match->arm_count && !v; i++)
      v = receiver(s, parent->match->arms[i].pattern);
  }
  return v && holds(s, v->type) ? v : NULL;
}

static int note_var(Static *s, Diag *d, const Var *v) {
  diag_note(d, v->span, "so `%%%s` is %s", v->name->text, text_of(s, v->type));
  return first_use(s, v);
}

/* At the end of a definition's value: names the definition and goes on at its
 * first use. */
static int note_home(Static *s, Diag *d, const Global *g) {
  if (!g || !holds(s, g->type)) return -1;
  bool def = g->kind == GLOBAL_DEF;
  diag_note(d, g->span, "so %s`%s%s` is %s", def ? "the result of " : "",
            global_sigil(g), g->name->text,
            text_of(s, def ? g->type->result : g->type));
  return first_use(s, g);
}

/* Goes from a node upward while the shape is part of the value, then on at the
 * first use of the variable that receives it; `at` -1: it goes nowhere.  At
 * most CHAIN_MAX notes: a shape may go through the whole program. */
static void follow(Static *s, Diag *d, int at) {
  for (int notes = 0; at >= 0 && notes < CHAIN_MAX;) {
    const Node *n = &s->nodes.data[at];
    const Node *up = n->up < 0 ? NULL : &s->nodes.data[n->up];
    bool body = up && up->up < 0 && up->e->kind == EX_FN;
    const Var *v = up ? bound_to(s, up->e, n->e) : NULL;
    if (v) {
      at = note_var(s, d, v);
    } else if (!up || body) {
      at = note_home(s, d, n->home);
    } else {
      at = holds(s, up->e->type) ? n->up : -1;
      continue;
    }
    notes++;
  }
}

/* --- Where unknown shapes come up ----------------------------------------- */

static void report(Static *s, int at, Span span, const Type *t,
                   const char *what) {
  s->found = true;
  Diag *d = diag_error(s->p->diags, E0306, span, "%s", what);
  diag_caption(d, "%s", text_of(s, t));
  if (!diags_full(s->p->diags)) follow(s, d, at);
}

#define SAY(s, ...) arena_printf(&(s)->p->diags->arena, __VA_ARGS__)

static void report_declared(Static *s, int use, const Var *v) {
  report(s, use, v->span, v->declared,
         SAY(s, "`%%%s` is declared with `?`", v->name->text));
}

/* An operator that computes its result's shape from data, or has an attribute
 * that is an operand. */
static bool takes_value(const Expr *call, const OpInfo *op) {
  if (op->storage == STORE_MAKE) return true;
  const Attrs *attrs = call->call.bound;
  return attrs && attrs_have_operands(attrs);
}

/* An operator that only hands on the `?` of an operand is no source.  Of the
 * library's definitions only the call is reported, since the user cannot change
 * what is inside. */
static void check_call(Static *s, int at, const Expr *e) {
  const Expr *callee = e->call.callee;
  bool flows = some_hold(s, e->count, e->args);
  if (callee->kind == EX_OP) {
    const OpInfo *op = op_info(callee->op);
    if (flows && !takes_value(e, op)) return;
    report(s, at, e->span, e->type,
           SAY(s, "the shape that `%s` gives depends on a value", op->name));
  } else if (callee->kind == EX_GLOBAL && callee->g.global->library) {
    if (flows) return;
    report(s, at, e->span, e->type,
           SAY(s, "the shape that `@%s` gives is not known",
               callee->g.name->text));
  }
}

/* A declared `?` is a source only where the body would have known better. */
static void check_fn(Static *s, int at, const Expr *e) {
  const Fn *fn = e->fn;
  for (int i = 0; i < fn->param_count; i++) {
    const Var *v = fn->params[i];
    if (holds(s, v->declared)) report_declared(s, first_use(s, v), v);
  }
  if (!holds(s, fn->declared_result) || holds(s, fn->body->type)) return;
  Span span = fn->result ? fn->result->span : e->span;
  bool whole = s->nodes.data[at].up < 0;
  report(s, whole ? -1 : at, span, fn->declared_result,
         "the result is declared with `?`");
}

static void check_block(Static *s, const Block *b) {
  for (int i = 0; i < b->count; i++) {
    const Var *v = b->bindings[i].var;
    const Expr *value = b->bindings[i].value;
    if (!v || !holds(s, v->declared)) continue;
    if (value && holds(s, value->type)) continue;
    report_declared(s, first_use(s, v), v);
  }
}

/* A field that its constructor declares with `?`. */
static void check_pattern(Static *s, const Pattern *p) {
  if (p->kind == PT_VAR) {
    if (!holds(s, p->var->type)) return;
    report(s, first_use(s, p->var), p->span, p->var->type,
           SAY(s, "the field `%%%s` is declared with `?`", p->var->name->text));
  }
  for (int i = 0; i < p->count; i++) check_pattern(s, p->fields[i]);
}

/* Arms that agree would have handed the shape on; where they differ inference
 * has widened it. */
static void check_match(Static *s, int at, const Expr *e) {
  bool flows = holds(s, e->args[0]->type), arms = false;
  for (int i = 0; i < e->match->arm_count; i++) {
    const Arm *arm = &e->match->arms[i];
    if (!flows && !arm->shares) check_pattern(s, arm->pattern);
    arms |= holds(s, arm->body->type);
  }
  if (holds(s, e->type) && !arms)
    report(s, at, e->span, e->type, "the arms differ in a dimension");
}

static void check_if(Static *s, int at, const Expr *e) {
  if (!holds(s, e->type) || some_hold(s, 2, e->args + 1)) return;
  report(s, at, e->span, e->type, "the branches differ in a dimension");
}

static void check_node(Static *s, int at) {
  const Expr *e = s->nodes.data[at].e;
  switch (e->kind) {
    case EX_CALL:
      if (holds(s, e->type)) check_call(s, at, e);
      break;
    case EX_FN: check_fn(s, at, e); break;
    case EX_BLOCK: check_block(s, e->block); break;
    case EX_MATCH: check_match(s, at, e); break;
    case EX_IF: check_if(s, at, e); break;
    default: break;
  }
}

/* A `param`, or a value whose annotation is wider than what it is. */
static void check_global(Static *s, const Global *g) {
  if (g->kind == GLOBAL_DEF || !holds(s, g->type)) return;
  if (g->kind != GLOBAL_PARAM && holds(s, g->value->type)) return;
  report(s, first_use(s, g), g->span, g->type,
         SAY(s, "`%s%s` is declared with `?`", global_sigil(g), g->name->text));
}

/* Reports a `?` that no rule above explains, such as a dimension that nothing
 * determines, so that every `?` is refused. */
static void check_rest(Static *s) {
  for (size_t i = 0; i < s->nodes.len && !s->found; i++) {
    const Expr *e = s->nodes.data[i].e;
    if (!holds(s, e->type)) continue;
    report(s, (int)i, e->span, e->type, "nothing determines this shape");
  }
}

/* --- The question --------------------------------------------------------- */

static void check_all(Static *s) {
  for (const Unit *u = s->p->units; u; u = u->next) {
    if (u->source->library) continue;
    add_unit(s, u);
    for (int i = 0; i < u->item_count; i++) {
      const Global *g = item_global(s->p, &u->items[i]);
      if (g) check_global(s, g);
    }
  }
  for (size_t i = 0; i < s->nodes.len; i++) check_node(s, (int)i);
  check_rest(s);
}

bool types_static(Program *p) {
  Static s = {.p = p};
  VEC_INIT(&s.nodes, p->mem);
  ptrmap_init(&s.holds, p->mem);
  ptrmap_init(&s.uses, p->mem);
  check_all(&s);
  VEC_DONE(&s.nodes);
  ptrmap_done(&s.holds);
  ptrmap_done(&s.uses);
  return !s.found && !mem_exhausted(p->mem);
}
