/* Types of expressions: algorithm W of Damas and Milner ("Principal
 * type-schemes for functional programs", 1982), with levels in place of the
 * sets of free variables.  Calls are in call.c, patterns in pattern.c, the
 * order of the definitions in component.c.
 *
 * Over each function stands the rule that it implements.  In the rules
 *
 *   e : t     the expression e has type t
 *   s ~> t    a value of type s may go where t is expected (unify.c)
 *
 * Three things are added to the textbook.  Dimensions flow beside the types and
 * are never unified with what a value merely passes through (dims.c).  An
 * operator's type is no scheme but a constraint, which runs as soon as enough
 * is known of its operands (solve.c).  A parameter may be polymorphic; where
 * one is wanted the argument is checked against the type instead of inferred
 * (check_poly; compare Peyton Jones et al., "Practical type inference for
 * arbitrary-rank types", 2007).
 *
 * The tree is only read here.  Each expression's Ty is noted in in->typed, and
 * zonk.c turns the notes into finished types when all is known.  Recursion
 * follows the nesting of the text on a split stack (base/split.h); chains of
 * operators and calls are loops. */
#include "ir/walk.h"
#include "types/infer.h"

static Ty *infer_node(Infer *in, const Expr *e, Ty *head);
static Ty *infer_kept(Infer *in, const Expr *e);
static Ty *infer_apart(Infer *in, const Expr *e, bool kept);

/* Notes the type of an expression, and the types that its use puts for the
 * quantified parameters, if it is such a use.  Every node that infer_expr meets
 * is noted once: a node without a note would have no type after the check. */
static void infer_record(Infer *in, const Expr *e, Ty *type, int targ_count,
                         Ty **targs) {
  VEC_PUSH(&in->typed, (Typed){(Expr *)e, type, targ_count, targs});
}

VarInfo *var_info(Infer *in, const Var *var) {
  size_t i = var->id - in->first_var;
  size_t late = i - in->vars.len;
  if (i >= in->vars.len)
    return late < in->late_vars.len ? in->late_vars.data[late]
                                    : &in->vars.data[0];
  in->vars.data[i].var = (Var *)var;
  return &in->vars.data[i];
}

Var *var_late(Infer *in, const Name *name, Span span) {
  Var *var = var_new(&in->p->arena, name, span, NULL);
  var->id = in->p->next_var_id++;
  if (var->id - in->first_var < in->vars.len) return var;
  VarInfo *info = ARENA_NEW(in->arena, VarInfo);
  *info = (VarInfo){.var = var};
  VEC_PUSH(&in->late_vars, info);
  return var;
}

/* --- Uses ---------------------------------------------------------------- */

/*   x : forall A.... t
 *   -------------------
 *   x : t[s/A...]
 *
 * The quantifier stands beside the type where a let or a definition generalised
 * it, and in the type itself where it was written: a parameter declared `fn
 * [A](A) -> A` has no other. */
Ty *infer_use(Infer *in, const Expr *e, Ty *type, int param_count,
              const TypeVar *const *params) {
  if (param_count == 0 && ty_is_poly(ty_head(type))) {
    param_count = ty_head(type)->param_count;
    params = ty_head(type)->params;
  }
  Ty **targs = NULL;
  if (param_count > 0) {
    Why *use = ARENA_NEW(in->arena, Why);
    *use = (Why){.kind = WHY_ARGUMENT, .span = e->span};
    in->use = use;
    type = ty_instantiate(in, type, param_count, params, &targs);
  }
  infer_record(in, e, type, param_count, targs);
  return type;
}

static Ty *infer_var(Infer *in, const Expr *e) {
  const VarInfo *info = var_info(in, e->var);
  if (!info->type) return in->error;
  return infer_use(in, e, info->type, info->param_count, info->params);
}

/* A global of this run has a type under construction; one of an earlier run,
 * and of the library as far as it was linked before, has a finished type and
 * needs no inference. */
static Ty *infer_global(Infer *in, const Expr *e) {
  const Global *g = e->g.global;
  const Definition *d = g->definition;
  if (d) {
    Ty *type = d->type ? d->type : in->error;
    return infer_use(in, e, type, d->param_count, d->params);
  }
  if (g->inlined) {
    Diag *d = diag_error(in->p->diags, E0801, e->span,
                         "`@%s` is no value: each call of it is its body",
                         g->name->text);
    diag_hint(d, "a function that calls it is one: fn (%%x) { @%s(%%x) }",
              g->name->text);
    return in->error;
  }
  if (!g->type) return g->generic ? infer_generic(in, e) : in->error;
  return infer_use(in, e, ty_of_type(in, g->type), g->param_count, g->params);
}

Ty *infer_ctor_use(Infer *in, const Expr *e) {
  const Ctor *ctor = e->ctor;
  if (ctor->scheme) return infer_generic(in, e);
  if (!ctor->type) return in->error;
  return infer_use(in, e, ty_of_type(in, ctor->type), ctor->adt->param_count,
                   ctor->adt->params);
}

/* --- Tuples and cells ---------------------------------------------------- */

static Ty *infer_tuple(Infer *in, const Expr *e) {
  Ty **fields = ty_array(in, e->count);
  for (int i = 0; fields && i < e->count; i++)
    fields[i] = infer_expr(in, e->args[i]);
  return ty_tuple(in, e->count, fields);
}

/* The same of a constructor as written. */
static bool is_generic_cons(const TypeExpr *scheme) {
  const TypeExpr *rest = scheme->args[1];
  if (rest->kind != TX_NAME || rest->name != scheme->result->name) return false;
  for (int i = 0; i < rest->arg_count; i++)
    if (rest->args[i]->kind != TX_NAME ||
        rest->args[i]->name != scheme->result->args[i]->name)
      return false;
  return rest->arg_count == scheme->param_count;
}

/* Is its second field the type that it makes, at the type's own parameters?
 * In `type D[A] { C(A, D[int32]), N }` the rest is a D of another type, so C
 * makes no list of A. */
static bool is_cons(const Ctor *ctor) {
  if (ctor->scheme) return is_generic_cons(ctor->scheme);
  const Type *rest = ctor->type ? ctor->fields[1] : NULL;
  if (!rest || rest->kind != TY_ADT || rest->adt != ctor->adt) return false;
  for (int i = 0; i < rest->count; i++)
    if (rest->args[i]->kind != TY_VAR ||
        rest->args[i]->var != ctor->adt->params[i])
      return false;
  return true;
}

/* The elements say which instance of the type is meant. */
static Ty *generic_cons(Infer *in, const Expr *e, Ty *cons) {
  Ty **params = ty_array(in, 2);
  if (!params) return in->error;
  params[0] = ty_meta(in);
  params[1] = ty_meta(in);
  Ty *fn = ty_fn(in, 2, params, params[1]);
  require_same(in, fn, cons, (Why){.kind = WHY_CALLEE, .span = e->span});
  return fn;
}

/* The values that become one: of branches, of arms, of a list's elements. */
typedef struct Join {
  Ty *result;
  const Expr *first;
  bool open; /* a type that was not known has become the result's */
} Join;

/* An unknown rank among the values is that of the result, also after others:
 * the variable then stands for another type, which nobody has seen yet. */
static void join_value(Infer *in, Join *j, Ty *found, Why why) {
  const Ty *t = ty_head(found);
  Ty *result = j->result, *link = result->kind == K_META ? result->link : NULL;
  j->open |= t->kind == K_META;
  if (t->any_rank && link && link->kind == K_TENSOR && !j->open &&
      link->dtype == t->dtype)
    result->link = (Ty *)t;
  require_flow(in, found, result, why);
}

/*   C : fn (t, T) -> T    e1 : s1, ..., en : sn    si ~> t
 *   --------------------------------------------------------
 *   T[e1, ..., en] : T
 *
 * The elements of a packed list are scalars of one dtype in one tensor, so a
 * single flow checks all of them. */
static Ty *infer_list(Infer *in, const Expr *e) {
  const Ctor *ctor = e->list.head->ctor;
  Ty *cons = ty_head(infer_expr(in, e->list.head));
  bool list = is_cons(ctor);
  if ((ctor->type || ctor->scheme) && !list)
    report_no_list(in->p, ctor->adt, e->list.head->span);
  if (list && cons->kind == K_META) cons = generic_cons(in, e, cons);
  list &= cons->kind == K_FN;
  Ty *element = list ? cons->args[0] : in->error;
  Join elements = {.result = element};
  const Tensor *packed = e->list.packed;
  Why why = {.kind = WHY_ELEMENT, .span = e->span};
  if (packed) {
    const Type *scalar = type_scalar(in->types, (DType)packed->dtype);
    why.exact = true;
    require_flow(in, ty_of_type(in, scalar), element, why);
    why.exact = false;
  }
  for (int i = 0; i < e->count; i++) {
    why.span = e->args[i]->span;
    why.other = i > 0 ? e->args[0]->span : SPAN_NONE;
    why.index = i;
    join_value(in, &elements, infer_expr(in, e->args[i]), why);
  }
  return list ? cons->result : in->error;
}

/*   e : (t0, ..., tn)
 *   ------------------
 *   e.i : ti
 *
 * A tuple that is not known yet, such as a parameter without an annotation,
 * leaves a constraint behind that waits for it. */
static Ty *infer_proj(Infer *in, const Expr *e, Ty *head) {
  Ty *tuple = ty_head(head ? head : infer_expr(in, e->args[0]));
  if (tuple->kind != K_META) return infer_projection(in, e, tuple);
  Constraint *c = constraint_new(in, C_PROJ, e);
  c->args = ty_array(in, 1);
  if (!c->args) return in->error;
  c->args[0] = tuple;
  c->count = 1;
  c->result = ty_meta(in);
  constraint_start(in, c);
  return c->result;
}

/*   e : s    s ~> t
 *   -----------------
 *   ref(e) : ref(t)                                                          */
static Ty *infer_ref(Infer *in, const Expr *e) {
  Ty *content = ty_meta(in);
  require_flow(in, infer_expr(in, e->args[0]), content,
               (Why){.kind = WHY_CELL, .span = e->args[0]->span});
  return ty_ref(in, content);
}

/* The content type of what must be a cell; NULL after a report. */
static Ty *content_of(Infer *in, const Expr *cell) {
  Ty *t = ty_head(infer_expr(in, cell));
  if (t->kind == K_REF) return t->args[0];
  Ty *content = ty_meta(in);
  bool ok = require_flow(in, t, ty_ref(in, content),
                         (Why){.kind = WHY_READ, .span = cell->span});
  return ok && t->kind != K_ERROR ? content : NULL;
}

/*   r : ref(t)
 *   ------------------
 *   ref_read(r) : t */
static Ty *infer_read(Infer *in, const Expr *e) {
  Ty *content = content_of(in, e->args[0]);
  return content ? content : in->error;
}

/*   r : ref(t)    v : s    s ~> t
 *   ------------------------------
 *   ref_write(r, v) : ()                                                     */
static Ty *infer_write(Infer *in, const Expr *e) {
  Ty *content = content_of(in, e->args[0]);
  Ty *value = infer_expr(in, e->args[1]);
  if (content) {
    require_flow(in, value, content,
                 (Why){.kind = WHY_CELL,
                       .span = e->args[1]->span,
                       .other = e->args[0]->span});
  }
  return in->unit;
}

/* --- Branches ------------------------------------------------------------ */

/* One branch's value goes into the common result.  A message about a block
 * should point at the value that does not fit, and that is the block's last
 * expression. */
static void join_branch(Infer *in, Join *j, const Expr *branch, WhyKind kind) {
  Why why = {.kind = kind, .span = branch->span};
  if (j->first != branch) why.other = j->first->span;
  if (branch->kind == EX_BLOCK) why.span = branch->block->result->span;
  join_value(in, j, infer_expr(in, branch), why);
}

/* a && b and a || b: `if`s of which one branch is a literal.  Where one operand
 * is no bool scalar the others likely are none either.  `a && b` is `if (a) {b}
 * else {False}` and `a || b` is `if (a) {True} else {b}`, so the second operand
 * as written is argument 1 or 2. */
static Ty *infer_logical(Infer *in, const Expr *e, Ty *head) {
  int second = e->sugar == SUGAR_AND ? 1 : 2;
  bool fits = true;
  for (int i = 0; i < e->count; i++) {
    const Expr *arg = e->args[i];
    Ty *t = i == 0 && head ? head : infer_expr(in, arg);
    if (!fits || (i > 0 && i != second)) continue;
    fits = require_flow(in, t, in->boolean,
                        (Why){.kind = WHY_LOGICAL, .span = arg->span}) &&
           ty_head(t)->kind != K_ERROR;
  }
  return fits ? in->boolean : in->error;
}

/*   c : bool    a : s1    b : s2    s1 ~> t    s2 ~> t
 *   ---------------------------------------------------
 *   if (c) {a} else {b} : t
 *
 * A chain of `else if` is one loop with one result type, so its length costs
 * neither C stack nor a chain of variables. */
static Ty *infer_if(Infer *in, const Expr *e, Ty *head) {
  if (e->sugar == SUGAR_AND || e->sugar == SUGAR_OR)
    return infer_logical(in, e, head);
  Ty *result = ty_meta(in);
  Join branches = {.result = result, .first = e->args[1]};
  const Expr *rest = e;
  while (true) {
    Ty *condition = head ? head : infer_expr(in, rest->args[0]);
    require_flow(in, condition, in->boolean,
                 (Why){.kind = WHY_CONDITION, .span = rest->args[0]->span});
    join_branch(in, &branches, rest->args[1], WHY_BRANCHES);
    rest = rest->args[2];
    head = NULL;
    if (rest->kind != EX_IF || rest->sugar != SUGAR_ELSE_IF ||
        infer_decided(in, rest))
      break;
    infer_record(in, rest, result, 0, NULL);
  }
  join_branch(in, &branches, rest, WHY_BRANCHES);
  return result;
}

static void infer_guard(Infer *in, const Expr *guard) {
  if (!guard) return;
  require_flow(in, infer_expr(in, guard), in->boolean,
               (Why){.kind = WHY_CONDITION, .span = guard->span});
}

/*   e : s    p1, ..., pn : s    e1 ~> t, ..., en ~> t
 *   --------------------------------------------------
 *   match (e) { p1 => e1, ..., pn => en } : t
 *
 * Arms that came from one or-pattern share variables and body: each
 * alternative's pattern is checked, the body only once. */
static Ty *infer_match(Infer *in, const Expr *e) {
  const Match *m = e->match;
  Ty *scrutinee = infer_expr(in, e->args[0]);
  Ty *result = ty_meta(in);
  Join arms = {.result = result,
               .first = m->arm_count ? m->arms[0].body : NULL};
  for (int i = 0; i < m->arm_count; i++) {
    bool fits =
        infer_pattern(in, m->arms[i].pattern, scrutinee, e->args[0]->span);
    if (!fits) scrutinee = in->error; /* the other arms likely do not, too */
    if (m->arms[i].shares) continue;
    infer_guard(in, m->arms[i].guard);
    join_branch(in, &arms, m->arms[i].body, WHY_ARMS);
  }
  return result;
}

/* --- Functions ----------------------------------------------------------- */

/* A function whose types are all written has its scheme before its body is
 * looked at.  Its own calls of itself may then use other instances of the
 * scheme (polymorphic recursion, which is undecidable without annotations;
 * Henglein, 1993). */
bool fn_is_annotated(const Fn *fn) {
  if (!fn->declared_result || fn->declared_result->has_meta) return false;
  for (int i = 0; i < fn->param_count; i++) {
    const Type *t = fn->params[i]->declared;
    if (!t || t->has_meta) return false;
  }
  return true;
}

static Ty *declared_or_meta(Infer *in, const Type *declared) {
  return declared ? ty_of_type(in, declared) : ty_meta(in);
}

/* The type parameters receive the level of the scope that declares them: a
 * variable from outside that scope must not be bound to a type that mentions
 * them (unify.c refuses it as an escape). */
Ty *fn_skeleton(Infer *in, const Fn *fn) {
  for (int i = 0; i < fn->type_param_count; i++) {
    ptrmap_put(&in->rigid_levels, fn->type_vars[i],
               (void *)(uintptr_t)in->level);
  }
  Ty **params = ty_array(in, fn->param_count);
  for (int i = 0; params && i < fn->param_count; i++)
    params[i] = declared_or_meta(in, fn->params[i]->declared);
  Ty *t = ty_fn(in, fn->param_count, params,
                declared_or_meta(in, fn->declared_result));
  if (t->kind == K_FN) t->monomorphic = fn->type_param_count > 0;
  return t;
}

/* The same function type, quantified over the written parameters. */
static Ty *quantified(Infer *in, const Fn *fn, Ty *skeleton) {
  if (fn->type_param_count == 0 || skeleton->kind != K_FN) return skeleton;
  Ty *t = ARENA_NEW(in->arena, Ty);
  *t = *skeleton;
  t->closed = t->monomorphic = false;
  t->param_count = fn->type_param_count;
  t->params = fn->type_vars;
  return t;
}

/*   x1 : t1, ..., xn : tn |- e : s    s ~> t
 *   -------------------------------------------------------
 *   fn [A...](x1: t1, ..., xn: tn) -> t {e}
 *     : fn [A...](t1, ..., tn) -> t
 *
 * A named function without a written result may return a polymorphic function;
 * infer_kept lets it.  A result that is written as polymorphic is checked
 * instead. */
Ty *infer_fn(Infer *in, const Expr *e, Ty *skeleton, const char *sigil,
             const Name *name) {
  const Fn *fn = e->fn;
  if (skeleton->kind != K_FN) return in->error;
  for (int i = 0; i < fn->param_count; i++) {
    VarInfo *info = var_info(in, fn->params[i]);
    info->type = skeleton->args[i];
    info->named = true;
  }
  /* A message about the result should point at the expression that gives it. */
  Why why = {.kind = WHY_RESULT,
             .span = expr_result(fn->body)->span,
             .name = name,
             .sigil = sigil};
  if (fn->result) why.other = fn->result->span;
  if (ty_is_poly(ty_head(skeleton->result))) {
    check_poly(in, fn->body, skeleton->result, why);
  } else {
    bool keep = name && !fn->result;
    Ty *body = keep ? infer_kept(in, fn->body) : infer_expr(in, fn->body);
    require_flow(in, body, skeleton->result, why);
  }
  Ty *type = quantified(in, fn, skeleton);
  infer_record(in, e, type, 0, NULL);
  return type;
}

/* The level rises for a literal with type parameters, so that no variable made
 * outside can take them on. */
static Ty *infer_literal(Infer *in, const Expr *e) {
  bool poly = e->fn->type_param_count > 0;
  in->level += poly;
  Ty *type = infer_fn(in, e, fn_skeleton(in, e->fn), "", NULL);
  in->level -= poly;
  return type;
}

/* A literal that is not named by a let is used at one instance. */
static Ty *infer_fn_value(Infer *in, const Expr *e) {
  Ty *type = infer_literal(in, e);
  return ty_is_poly(type) ? infer_use(in, e, type, 0, NULL) : type;
}

/* --- Lets ---------------------------------------------------------------- */

/* May this node occur in a value?  is_value asks it of each node. */
static bool may_be_in_value(const Expr *e) {
  switch (e->kind) {
    case EX_FN:
    case EX_VAR:
    case EX_GLOBAL:
    case EX_CTOR:
    case EX_TUPLE:
    case EX_LIST: return true;
    case EX_CALL:
      return e->call.callee->kind == EX_CTOR && e->sugar != SUGAR_WITH;
    default: return false;
  }
}

/* fn literals, constructors of such, and aliases: evaluating one has no effect
 * and makes no cell, so it may have several types.  This is the value
 * restriction (Wright, "Simple imperative polymorphism", 1995): `let %r =
 * ref(Nil)` at two types would let a program write an int32 and read a float32.
 * The walk does not enter fn bodies, which are not evaluated here. */
bool is_value(Mem *mem, const Expr *e) {
  if (e->kind == EX_FN || !may_be_in_value(e)) return e->kind == EX_FN;
  bool value = true;
  ExprWalk w;
  expr_walk_start(&w, mem, WALK_ENTER, e);
  while (value && expr_walk_next(&w)) {
    value = may_be_in_value(w.at);
    if (w.at->kind == EX_FN) expr_walk_skip(&w);
  }
  return expr_walk_end(&w) && value;
}

/* Quantifies what is free in a let's type and not in its environment.  A
 * function's type then carries its quantifier as a written one does; for other
 * types, such as that of `Nil`, the variable alone does. */
static void generalise(Infer *in, VarInfo *info) {
  Ty *t = ty_head(info->type);
  if (ty_is_poly(t)) return;
  info->param_count = ty_generalise(in, t, &info->params);
  if (info->param_count == 0 || t->kind != K_FN) return;
  Ty *poly = ARENA_NEW(in->arena, Ty);
  *poly = *t;
  poly->param_count = info->param_count;
  poly->params = info->params;
  info->type = poly;
}

static void require_annotation(Infer *in, const Binding *b, Ty *found,
                               Ty *declared) {
  require_flow(in, found, declared,
               (Why){.kind = WHY_ANNOTATION,
                     .span = b->value->span,
                     .other = b->var->annotation->span,
                     .name = b->var->name,
                     .sigil = "%"});
}

/*   f : t |- fn... : t    g : generalised t |- e : u
 *   --------------------------------------------------
 *   let f = fn...; e : u
 *
 * Constraints are solved before the level falls again: a rule that can run now
 * may bind a variable that would otherwise be quantified.  Inside the group a
 * function is seen at its skeleton, hence at one instance, unless its types are
 * all written. */
static void infer_let_fns(Infer *in, const Binding *group, int n) {
  in->level++;
  Ty **skeletons = ty_array(in, n);
  if (!skeletons) return;
  for (int i = 0; i < n; i++) {
    const Fn *fn = group[i].value->fn;
    skeletons[i] = fn_skeleton(in, fn);
    VarInfo *info = var_info(in, group[i].var);
    info->type =
        fn_is_annotated(fn) ? quantified(in, fn, skeletons[i]) : skeletons[i];
    group[i].var->value = group[i].value;
  }
  for (int i = 0; i < n; i++) {
    const Binding *b = &group[i];
    Ty *type = infer_fn(in, b->value, skeletons[i], "%", b->var->name);
    var_info(in, b->var)->type = type;
  }
  solve(in);
  in->level--;
  for (int i = 0; i < n; i++) {
    VarInfo *info = var_info(in, group[i].var);
    const Type *declared = group[i].var->declared;
    if (declared) {
      Ty *annotation = ty_of_type(in, declared);
      require_annotation(in, &group[i], info->type, annotation);
      info->type = annotation;
    } else {
      generalise(in, info);
    }
  }
}

/*   e : t    (e a value: t generalised)    x : t |- rest : u
 *   ---------------------------------------------------------
 *   let x = e; rest : u
 *
 * The level is raised only for values: what a computation leaves open stays a
 * variable of the surroundings, which a later use determines. */
static void infer_let(Infer *in, const Binding *b) {
  bool value = !b->var->declared && is_value(in->mem, b->value);
  in->level += value;
  Ty *found = infer_expr(in, b->value);
  in->level -= value;
  VarInfo *info = var_info(in, b->var);
  info->type = found;
  info->named = true;
  b->var->value = b->value;
  if (b->var->declared) {
    info->type = ty_of_type(in, b->var->declared);
    require_annotation(in, b, found, info->type);
  } else if (value) {
    generalise(in, info);
  }
}

static bool all_fns(const Binding *group, int n) {
  for (int i = 0; i < n; i++)
    if (group[i].value->kind != EX_FN) return false;
  return true;
}

static void infer_bindings(Infer *in, const Binding *group, int n) {
  if (group->kind == BIND_ITEM) infer_expr(in, group->value);
  else if (group->kind == BIND_FREE)
    var_info(in, group->var)->type = declared_or_meta(in, group->var->declared);
  else if (all_fns(group, n)) infer_let_fns(in, group, n);
  else
    for (int i = 0; i < n; i++) infer_let(in, &group[i]);
}

static void infer_block_bindings(Infer *in, const Block *block) {
  for (int i = 0; i < block->count && !mem_exhausted(in->mem);) {
    int n = block_group(block, i);
    infer_bindings(in, &block->bindings[i], n);
    i += n;
  }
}

static Ty *infer_block(Infer *in, const Expr *e) {
  infer_block_bindings(in, e->block);
  return infer_expr(in, e->block->result);
}

/* --- All expressions ----------------------------------------------------- */

/* Expressions other than uses of names and literals of functions, which record
 * their instances themselves.  `head` is the type of the first operand, or of
 * the callee, where infer_expr has it already. */
static Ty *infer_compound(Infer *in, const Expr *e, Ty *head) {
  switch (e->kind) {
    case EX_CONST: return ty_of_tensor(in, e->constant, e->span);
    case EX_OP: return infer_op_value(in, e);
    case EX_TUPLE: return infer_tuple(in, e);
    case EX_LIST: return infer_list(in, e);
    case EX_PROJ: return infer_proj(in, e, head);
    case EX_FIELD: return infer_field(in, e, head);
    case EX_CALL:
      if (e->sugar == SUGAR_WITH) return infer_field(in, e, head);
      return infer_call(in, e, head);
    case EX_BLOCK: return infer_block(in, e);
    case EX_IF: return infer_if(in, e, head);
    case EX_MATCH: return infer_match(in, e);
    case EX_REF: return infer_ref(in, e);
    case EX_READ: return infer_read(in, e);
    case EX_WRITE: return infer_write(in, e);
    case EX_ERROR: return hole_type(in, e);
    default: return in->error;
  }
}

static Ty *infer_node(Infer *in, const Expr *e, Ty *head) {
  in->at = e->span;
  if (e->kind == EX_IF && infer_decided(in, e)) return infer_expr(in, e);
  switch (e->kind) {
    case EX_VAR: return infer_var(in, e);
    case EX_GLOBAL: return infer_global(in, e);
    case EX_CTOR: return infer_ctor_use(in, e);
    case EX_FN: return infer_fn_value(in, e);
    default: return infer_use(in, e, infer_compound(in, e, head), 0, NULL);
  }
}

/* --- Polymorphic functions as results and arguments ----------------------- */

/* The type of a function's result, where nothing says what it should be.  A
 * literal that declares type parameters stays polymorphic, and so does a call
 * of a function that returns one:
 *
 *   def @mk() { fn [A](%x: A) -> A { %x } } : fn () -> fn [A](A) -> A        */
static Ty *infer_kept(Infer *in, const Expr *e) {
  if (split_is_used_up(&in->stack)) return infer_apart(in, e, true);
  Ty *type;
  switch (e->kind) {
    case EX_FN:
      type = infer_literal(in, e);
      if (!ty_is_poly(type)) return type;
      type = ty_leave_scope(in, type);
      break;
    case EX_BLOCK:
      infer_block_bindings(in, e->block);
      type = infer_kept(in, e->block->result);
      break;
    case EX_CALL:
      if (e->sugar == SUGAR_WITH) return infer_expr(in, e);
      type = infer_compound(in, e, NULL);
      break;
    default: return infer_expr(in, e);
  }
  infer_record(in, e, type, 0, NULL);
  return type;
}

static void check_poly_match(Infer *in, const Expr *e, Ty *wanted, Why why) {
  const Match *m = e->match;
  Ty *scrutinee = infer_expr(in, e->args[0]);
  for (int i = 0; i < m->arm_count; i++) {
    bool fits =
        infer_pattern(in, m->arms[i].pattern, scrutinee, e->args[0]->span);
    if (!fits) scrutinee = in->error;
    if (m->arms[i].shares) continue;
    infer_guard(in, m->arms[i].guard);
    check_poly(in, m->arms[i].body, wanted, why);
  }
}

/* Gives the last `else` of the chain. */
static const Expr *check_poly_if(Infer *in, const Expr *e, Ty *wanted,
                                 Why why) {
  for (; e->kind == EX_IF; e = e->args[2]) {
    while (e->kind == EX_IF && infer_decided(in, e)) continue;
    if (e->kind != EX_IF) break;
    require_flow(in, infer_expr(in, e->args[0]), in->boolean,
                 (Why){.kind = WHY_CONDITION, .span = e->args[0]->span});
    check_poly(in, e->args[1], wanted, why);
    infer_record(in, e, wanted, 0, NULL);
  }
  return e;
}

typedef struct PolyCall {
  Infer *in;
  const Expr *e;
  Ty *wanted;
  Why why;
} PolyCall;

static void run_poly(void *call) {
  PolyCall *c = call;
  check_poly(c->in, c->e, c->wanted, c->why);
}

/*   v a value    v : t, t generalised ~> forall A.... s
 *   ---------------------------------------------------
 *   v : forall A.... s
 *
 * Checking descends through `if`, `match` and blocks to the expressions that
 * give the value, since each of these must be as polymorphic as is wanted. */
void check_poly(Infer *in, const Expr *e, Ty *wanted, Why why) {
  if (split_is_used_up(&in->stack)) {
    split_call(&in->stack, run_poly, &(PolyCall){in, e, wanted, why});
    return;
  }
  if (e->kind == EX_IF && e->sugar != SUGAR_AND && e->sugar != SUGAR_OR)
    e = check_poly_if(in, e, wanted, why);
  why.span = e->span;
  if (e->kind == EX_BLOCK) {
    infer_block_bindings(in, e->block);
    check_poly(in, e->block->result, wanted, why);
  } else if (e->kind == EX_MATCH) {
    check_poly_match(in, e, wanted, why);
  } else if (is_value(in->mem, e) || e->kind == EX_OP) {
    in->level++;
    Ty *found = infer_expr(in, e);
    in->level--;
    require_flow(in, found, wanted, why);
    return;
  } else {
    Ty *found = infer_kept(in, e);
    if (ty_is_poly(ty_head(found))) require_same(in, found, wanted, why);
    else require_flow(in, found, wanted, why);
    return;
  }
  infer_record(in, e, wanted, 0, NULL);
}

typedef struct InferCall {
  Infer *in;
  const Expr *e;
  bool kept;
  Ty *type;
} InferCall;

static void run_infer(void *call) {
  InferCall *c = call;
  c->type = c->kept ? infer_kept(c->in, c->e) : infer_expr(c->in, c->e);
}

/* infer_expr or infer_kept, in a new piece of stack. */
static Ty *infer_apart(Infer *in, const Expr *e, bool kept) {
  InferCall call = {in, e, kept, in->error};
  split_call(&in->stack, run_infer, &call);
  return call.type;
}

/* The spine of left-nested nodes, as of `%a + %b + %c`, may be as long as the
 * program.  It is pushed from the outside in and typed from the inside out,
 * where each node receives the type of the one below it as its head. */
Ty *infer_expr(Infer *in, const Expr *e) {
  if (split_is_used_up(&in->stack)) return infer_apart(in, e, false);
  if (mem_exhausted(in->mem)) return in->error;
  if (!expr_spine(e)) return infer_node(in, e, NULL);
  Spine *spine = &in->c->spine;
  size_t mark = spine->len;
  for (const Expr *next; (next = expr_spine(e)); e = next) VEC_PUSH(spine, e);
  Ty *type = infer_node(in, e, NULL);
  /* From here outward each node receives the type of its leftmost part. */
  while (spine->len > mark) type = infer_node(in, VEC_POP(spine), type);
  return type;
}
