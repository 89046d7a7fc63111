/* Matches with literals, alternatives and guards, as plain ones.
 *
 *   match (e) {                let %scrutinee = e;
 *     0 => a,                  let %rest = fn () { c };
 *     Some(%x) if g => b,      match (%scrutinee) {
 *     _ => c                     Some(%x) => if (g) { b } else { %rest() },
 *   }                            _ => %rest()
 *                              }
 *
 * A literal inside a pattern becomes a variable and a condition; an arm with a
 * condition goes on with the arms below it where the condition does not hold.
 * These are a function where two places need them, or where the arm's variables
 * would hide names from them.  The alternatives of a pattern are arms, and a
 * body that they share is a function of their variables.
 *
 * The names made here are bound before the text's names are mapped, and are
 * spelt like them; relay_own_name keeps them apart. */
#include "ir/walk.h"
#include "passes/relay_map.h"

/* An arm without alternatives. */
typedef struct PlainArm {
  const Pattern *pattern;
  const Expr *guard, *body;
} PlainArm;

typedef struct Plain {
  Relay *r;
  Span span;
  const Match *match;
  const Name *scrutinee;
  VEC(PlainArm) arms;
  Bindings first; /* what comes before the match */
  /* The plain match under construction, from its last arm to its first, and
   * the functions that it needs. */
  VEC(Arm) made;
  Bindings lets;
} Plain;

/* --- Making nodes --------------------------------------------------------- */

static Expr *local(Plain *m, const Name *name) {
  Expr *e = expr_new(m->r->arena, EX_LOCAL, m->span);
  e->name = name;
  return e;
}

static Pattern *pattern_of(Plain *m, PatternKind kind) {
  Pattern *p = ARENA_NEW(m->r->arena, Pattern);
  *p = (Pattern){.kind = kind, .span = m->span};
  return p;
}

static Binding let_of(Plain *m, const Name *name, const Expr *value) {
  return binding_let(m->span, var_new(m->r->arena, name, m->span, NULL), value);
}

static const Expr *fn_of(Plain *m, int count, Var *const *params,
                         const Expr *body) {
  Expr *e = expr_new(m->r->arena, EX_FN, m->span);
  Fn *fn = ARENA_NEW(m->r->arena, Fn);
  *fn = (Fn){.param_count = count, .params = params, .body = body};
  e->fn = fn;
  return e;
}

static const Expr *block_of(Plain *m, int count, const Binding *lets,
                            const Expr *result) {
  return expr_after(m->r->arena, m->span, (size_t)count, lets, result);
}

/* a && b  NULL stands for a condition that always holds. */
static const Expr *both(Plain *m, const Expr *a, const Expr *b) {
  if (!a || !b) return a ? a : b;
  Expr *no = expr_const(m->r->arena, m->span,
                        program_scalar(m->r->p, DT_BOOL, (Value){0}));
  return expr_if(m->r->arena, m->span, a, b, no);
}

/* --- Conditions ----------------------------------------------------------- */

/* A bool is its own condition. */
static const Expr *equals(Plain *m, const Name *name, Tensor *literal) {
  Arena *arena = m->r->arena;
  const Expr **args = ARENA_ARRAY(arena, const Expr *, 2);
  if (!args) return local(m, name);
  args[0] = local(m, name);
  args[1] = expr_const(arena, m->span, literal);
  if (literal->dtype != DT_BOOL)
    return relay_op(m->r, m->span, "equal", 2, args);
  bool wanted = tensor_bits_at(literal, 0).b;
  return wanted ? args[0] : relay_op(m->r, m->span, "logical_not", 1, args);
}

static bool has_literal(const Pattern *p) {
  bool found = p->kind == PT_LITERAL;
  for (int i = 0; i < p->count && !found; i++)
    found = has_literal(p->fields[i]);
  return found;
}

/* The pattern with variables for its literals, and what they have to be.
 * Conditions are joined in the order of the pattern. */
static const Pattern *without_literals(Plain *m, const Pattern *p,
                                       const Expr **condition) {
  if (!has_literal(p)) return p;
  if (p->kind == PT_LITERAL) {
    const Name *name = relay_own_name(m->r, "literal");
    Pattern *made = pattern_of(m, PT_VAR);
    made->var = var_new(m->r->arena, name, p->span, NULL);
    *condition = both(m, *condition, equals(m, name, p->constant));
    return made;
  }
  Pattern *made = arena_copy(m->r->arena, p, sizeof *p);
  const Pattern **fields =
      ARENA_ARRAY(m->r->arena, const Pattern *, (size_t)p->count);
  if (!made || !fields) return p;
  for (int i = 0; i < p->count; i++)
    fields[i] = without_literals(m, p->fields[i], condition);
  made->fields = fields;
  return made;
}

/* --- Alternatives --------------------------------------------------------- */

typedef VEC(Var *) Vars;

static void list_vars(const Pattern *p, Vars *out) {
  if (p->kind == PT_VAR) VEC_PUSH(out, p->var);
  for (int i = 0; i < p->count; i++) list_vars(p->fields[i], out);
}

/* May it stand twice, and where other names are known? */
static bool is_copied(const Expr *e) {
  return e->kind == EX_CONST || e->kind == EX_GLOBAL || e->kind == EX_IDENT ||
         (e->kind == EX_TUPLE && e->count == 0);
}

/* The body that alternatives share as a call of a function.  Its parameters are
 * the variables of the first alternative, which all alternatives bind.  A guard
 * is not shared: it stands before the body in each arm. */
static const Expr *shared_body(Plain *m, const Pattern *p, const Expr *body) {
  Vars vars;
  VEC_INIT(&vars, m->r->p->mem);
  list_vars(p, &vars);
  int n = (int)vars.len;
  const Name *name = relay_own_name(m->r, "arm");
  Var **params = ARENA_ARRAY(m->r->arena, Var *, vars.len);
  const Expr **args = ARENA_ARRAY(m->r->arena, const Expr *, vars.len);
  for (int i = 0; params && args && i < n; i++) {
    params[i] = vars.data[i];
    args[i] = local(m, vars.data[i]->name);
  }
  VEC_DONE(&vars);
  VEC_PUSH(&m->first, let_of(m, name, fn_of(m, n, params, body)));
  return expr_call(m->r->arena, m->span, local(m, name), n, args);
}

/* One plain arm for each alternative.  A body that is as short as a name is
 * repeated instead of shared. */
static void add_arm(Plain *m, const Arm *arm) {
  Patterns all;
  VEC_INIT(&all, m->r->p->mem);
  if (!pattern_alternatives(m->r->p->mem, m->r->arena, arm->pattern, &all))
    relay_refuse(m->r, arm->pattern->span, "more than %d alternatives",
                 ALTERNATIVES_MAX);
  const Expr *body = arm->body;
  if (all.len > 1 && !is_copied(body) && body->kind != EX_LOCAL)
    body = shared_body(m, all.data[0], body);
  for (size_t i = 0; i < all.len; i++)
    VEC_PUSH(&m->arms, (PlainArm){all.data[i], arm->guard, body});
  VEC_DONE(&all);
}

/* --- Arms, from the last to the first ------------------------------------- */

/* Variables, wildcards and tuples of such. */
static bool takes_all(const Pattern *p) {
  bool all = p->kind != PT_CTOR;
  for (int i = 0; i < p->count && all; i++) all = takes_all(p->fields[i]);
  return all;
}

/* The match of the arms so far, which are no more.  Where it is part of another
 * it may not take everything.  A wildcard alone needs no match, and a variable
 * alone is a let. */
static const Expr *take_made(Plain *m, bool partial) {
  /* A last arm that takes everything needs no match around it. */
  const Arm *only = m->made.len == 1 ? &m->made.data[0] : NULL;
  const Expr *e;
  if (only && only->pattern->kind == PT_WILD) {
    e = only->body;
  } else if (only && only->pattern->kind == PT_VAR) {
    const Var *var = only->pattern->var;
    Binding let = let_of(m, var->name, local(m, m->scrutinee));
    let.var->annotation = var->annotation;
    e = block_of(m, 1, &let, only->body);
  } else {
    Arena *arena = m->r->arena;
    Match *match = ARENA_NEW(arena, Match);
    Arm *arms = ARENA_ARRAY(arena, Arm, m->made.len);
    const Expr **args = ARENA_ARRAY(arena, const Expr *, 1);
    int n = arms && args ? (int)m->made.len : 0;
    for (int i = 0; i < n; i++) arms[i] = m->made.data[n - 1 - i];
    if (args) args[0] = local(m, m->scrutinee);
    *match = (Match){.partial = partial, .arm_count = n, .arms = arms};
    Expr *made = expr_new(arena, EX_MATCH, m->span);
    made->args = args;
    made->count = args ? 1 : 0;
    made->match = match;
    e = made;
  }
  e = block_of(m, (int)m->lets.len, m->lets.data, e);
  VEC_CLEAR(&m->lets);
  VEC_CLEAR(&m->made);
  return e;
}

/* Arms are pushed from the last to the first; take_made turns them round. */
static void put_arm(Plain *m, const Pattern *p, const Expr *body) {
  VEC_PUSH(&m->made, (Arm){.span = m->span, .pattern = p, .body = body});
}

/* An arm that takes the value on a condition, else leaves it to those made so
 * far.  The arms so far are needed twice where the pattern may not fit and the
 * condition may not hold; without a function for them each arm would double the
 * text. */
static void put_condition(Plain *m, const Pattern *p, bool names,
                          const Expr *condition, const Expr *body) {
  const Expr *rest = take_made(m, true);
  bool all = takes_all(p);
  if (!is_copied(rest) && (names || !all)) {
    const Name *name = relay_own_name(m->r, "rest");
    VEC_PUSH(&m->lets, let_of(m, name, fn_of(m, 0, NULL, rest)));
    rest = expr_call(m->r->arena, m->span, local(m, name), 0, NULL);
  }
  if (!all) put_arm(m, pattern_of(m, PT_WILD), rest);
  put_arm(m, p, expr_if(m->r->arena, m->span, condition, body, rest));
}

/* The last arm takes what is left: its literals need not be asked for. */
static void put_plain_arm(Plain *m, const PlainArm *arm) {
  Vars vars;
  VEC_INIT(&vars, m->r->p->mem);
  list_vars(arm->pattern, &vars);
  bool names = vars.len > 0, last = m->made.len == 0 && !m->match->partial;
  VEC_DONE(&vars);
  const Expr *condition = NULL;
  const Pattern *p = arm->pattern;
  if (p->kind == PT_LITERAL) {
    condition = equals(m, m->scrutinee, p->constant);
    p = pattern_of(m, PT_WILD);
  } else {
    p = without_literals(m, p, &condition);
  }
  condition = last && !arm->guard ? NULL : both(m, condition, arm->guard);
  if (condition) put_condition(m, p, names, condition, arm->body);
  else put_arm(m, p, arm->body);
}

static bool is_plain(const Match *match) {
  for (int i = 0; i < match->arm_count; i++) {
    const Arm *arm = &match->arms[i];
    if (arm->guard || arm->pattern->has_or || has_literal(arm->pattern))
      return false;
  }
  return true;
}

/* A literal tells the type of what it is compared with.  `equal` does not, so
 * it is written: let %scrutinee: int32.  NULL: no arm is a literal. */
static const TypeExpr *scrutinee_type(Plain *m) {
  for (size_t i = 0; i < m->arms.len; i++) {
    const Pattern *p = m->arms.data[i].pattern;
    if (p->kind != PT_LITERAL) continue;
    TypeExpr *t = ARENA_NEW(m->r->arena, TypeExpr);
    *t = (TypeExpr){.kind = TX_TENSOR,
                    .span = m->span,
                    .scalar = true,
                    .dtype = (DType)p->constant->dtype};
    return t;
  }
  return NULL;
}

static const Expr *plain_match(Relay *r, const Expr *e) {
  Plain m = {.r = r,
             .span = e->span,
             .match = e->match,
             .scrutinee = relay_own_name(r, "scrutinee")};
  Mem *mem = r->p->mem;
  VEC_INIT(&m.arms, mem);
  VEC_INIT(&m.first, mem);
  VEC_INIT(&m.made, mem);
  VEC_INIT(&m.lets, mem);
  Binding scrutinee = let_of(&m, m.scrutinee, e->args[0]);
  VEC_PUSH(&m.first, scrutinee);
  for (int i = 0; i < e->match->arm_count; i++) add_arm(&m, &e->match->arms[i]);
  scrutinee.var->annotation = scrutinee_type(&m);
  for (size_t i = m.arms.len; i-- > 0 && !mem_exhausted(mem);)
    put_plain_arm(&m, &m.arms.data[i]);
  const Expr *made = take_made(&m, e->match->partial);
  made = block_of(&m, (int)m.first.len, m.first.data, made);
  VEC_DONE(&m.arms);
  VEC_DONE(&m.first);
  VEC_DONE(&m.made);
  VEC_DONE(&m.lets);
  return made;
}

const Expr *relay_matches(Relay *r, const Expr *e) {
  ExprMap m;
  expr_map_start(&m, r->p->mem, r->arena, e);
  while (expr_map_next(&m)) {
    bool match = m.walk.event == WALK_LEAVE && m.made->kind == EX_MATCH;
    if (match && !is_plain(m.made->match))
      expr_map_put(&m, plain_match(r, m.made));
  }
  return expr_map_end(&m);
}
