/* Defunctionalization, second half: data types, copies of definitions, values
 * and calls.  See defunctionalize.c. */
#include <string.h>

#include "ops/ops.h"
#include "passes/defunctionalize.h"

/* --- Types ---------------------------------------------------------------- */

static bool parts_known(const Defun *d, const Type *t, const Type **missing) {
  for (int i = 0; i < t->count; i++)
    if (!ptrmap_has(&d->now, t->args[i])) return *missing = t->args[i], false;
  if (t->kind != TY_FN || ptrmap_has(&d->now, t->result)) return true;
  return *missing = t->result, false;
}

/* The type over what its parts became. */
static const Type *rebuilt(Defun *d, const Type *t) {
  TypeTable *types = d->p->types;
  const Class *c = defun_class(d, t);
  if (c && c->adt) return type_adt(types, c->adt, 0, NULL);
  const Type *result = t->kind == TY_FN ? ptrmap_get(&d->now, t->result) : NULL;
  bool same = result == (t->kind == TY_FN ? t->result : NULL);
  VEC(const Type *) args;
  VEC_INIT(&args, d->p->mem);
  for (int i = 0; i < t->count; i++) {
    VEC_PUSH(&args, ptrmap_get(&d->now, t->args[i]));
    same &= args.data[i] == t->args[i];
  }
  const Type *made = t;
  if (!same && t->kind == TY_TUPLE)
    made = type_tuple(types, t->count, args.data);
  if (!same && t->kind == TY_REF) made = type_ref(types, args.data[0]);
  if (!same && t->kind == TY_ADT)
    made = type_adt(types, t->adt, t->count, args.data);
  if (!same && t->kind == TY_FN)
    made =
        type_fn(types, t->param_count, t->params, t->count, args.data, result);
  VEC_DONE(&args);
  return made;
}

/* What the type becomes: parts first, on a stack of its own. */
const Type *defun_now(Defun *d, const Type *whole) {
  if (!whole) return NULL;
  VEC(const Type *) work;
  VEC_INIT(&work, d->p->mem);
  VEC_PUSH(&work, whole);
  while (work.len && !mem_exhausted(d->p->mem)) {
    const Type *t = VEC_LAST(&work), *missing;
    if (!ptrmap_has(&d->now, t) && !parts_known(d, t, &missing)) {
      VEC_PUSH(&work, missing);
      continue;
    }
    if (!ptrmap_has(&d->now, t)) ptrmap_put(&d->now, t, (void *)rebuilt(d, t));
    work.len--;
  }
  VEC_DONE(&work);
  const Type *made = ptrmap_get(&d->now, whole);
  return made ? made : whole;
}

/* A definition is no value of its type: its parameters' types change. */
static const Type *signature(Defun *d, const Type *t) {
  if (!t || t->kind != TY_FN) return defun_now(d, t);
  const Type **args = ARENA_ARRAY(d->arena, const Type *, (size_t)t->count + 1);
  for (int i = 0; args && i < t->count; i++) args[i] = defun_now(d, t->args[i]);
  if (!args) return t;
  return type_fn(d->p->types, t->param_count, t->params, t->count, args,
                 defun_now(d, t->result));
}

/* --- Names ---------------------------------------------------------------- */

/* `like`, or with a number after it where the text has that already. */
static const Name *free_name(const Defun *d, const char *like, bool ctor) {
  const Name *name = name_of(d->p->names, like);
  const Scope *scope = &d->p->user;
  for (int i = 1;
       ctor ? scope_ctor(scope, name) != NULL : scope_adt(scope, name) != NULL;
       i++) {
    if (mem_exhausted(d->p->mem)) break;
    name = name_of(d->p->names, arena_printf(d->arena, "%s%d", like, i));
  }
  return name;
}

static Var *param_new(Defun *d, const char *name, const Type *type, Span at) {
  Var *var = var_new(d->arena, name_of(d->p->names, name), at, NULL);
  var->id = d->p->next_var_id++;
  var->type = type;
  return var;
}

/* --- Data types and their calls ------------------------------------------- */

static void declare_class(Defun *d, Class *c) {
  if (c->stays || !c->valued || !pass_may_rewrite(d->p, c->made_at)) return;
  Adt *adt = ARENA_NEW(&d->p->arena, Adt);
  if (!adt) return;
  *adt = (Adt){.name = free_name(d, "Fn", false), .span = c->made_at};
  c->adt = adt;
  ptrmap_put(&d->p->user.adts, adt->name, adt);
}

/* fn (%x..., %fn) of the class, to be filled with arms. */
static void declare_apply(Defun *d, Class *c) {
  int n = c->type->count;
  const Type **types = ARENA_ARRAY(d->arena, const Type *, (size_t)n + 1);
  const Expr **given = ARENA_ARRAY(d->arena, const Expr *, (size_t)n + 1);
  c->params = ARENA_ARRAY(d->arena, Var *, (size_t)n + 1);
  if (!types || !given || !c->params) return;
  for (int i = 0; i <= n; i++) {
    types[i] = i < n ? defun_now(d, c->type->args[i]) : defun_now(d, c->type);
    c->params[i] = param_new(d, i < n ? "x" : "fn", types[i], c->made_at);
    given[i] = expr_use(d->arena, c->made_at, c->params[i]);
  }
  c->given = given;
  const Type *type = type_fn(d->p->types, 0, NULL, n + 1, types,
                             defun_now(d, c->type->result));
  c->apply = global_new(d->p, d->arena, "apply_fn", c->made_at, type);
}

static const Expr *call_typed(Defun *d, Span span, const Expr *callee, int n,
                              const Expr *const *args, const Type *type) {
  Expr *call = expr_call(d->arena, span, callee, n, args);
  call->type = type;
  if (callee->kind == EX_OP)
    call->call.bound = attrs_new(d->arena, op_info(callee->op));
  return call;
}

/* Fn_name(fields), and what a call of it does: an arm of the class. */
static Ctor *add_ctor(Defun *d, Class *c, const char *name, int count,
                      Var *const *fields, const Expr *body) {
  bool lifted = strncmp(name, "lifted_", 7) == 0; /* LambdaLift's word */
  const char *like = arena_printf(d->arena, "Fn_%s", lifted ? name + 7 : name);
  Ctor *ctor = ARENA_NEW(&d->p->arena, Ctor);
  const Pattern **patterns =
      ARENA_ARRAY(d->arena, const Pattern *, (size_t)count + 1);
  const Type **types =
      ARENA_ARRAY(&d->p->arena, const Type *, (size_t)count + 1);
  Pattern *whole = ARENA_NEW(d->arena, Pattern);
  if (!like || !ctor || !patterns || !types || !whole) return NULL;
  for (char *at = (char *)like; *at; at++)
    if (*at == '.' || *at == '/') *at = '_';
  for (int i = 0; i < count; i++) {
    types[i] = fields[i]->type;
    Pattern *field = ARENA_NEW(d->arena, Pattern);
    if (!field) return NULL;
    *field = (Pattern){
        .kind = PT_VAR, .span = c->made_at, .var = fields[i], .type = types[i]};
    patterns[i] = field;
  }
  *ctor = (Ctor){.name = free_name(d, like, true),
                 .span = c->made_at,
                 .adt = c->adt,
                 .tag = (int)c->ctors.len,
                 .field_count = count,
                 .fields = types};
  ctor->type =
      type_fn(d->p->types, 0, NULL, count, types, defun_now(d, c->type));
  *whole = (Pattern){.kind = PT_CTOR,
                     .span = c->made_at,
                     .name = ctor->name,
                     .ctor = ctor,
                     .parens = count > 0,
                     .count = count,
                     .fields = patterns,
                     .type = defun_now(d, c->type)};
  ptrmap_put(&d->p->user.ctors, ctor->name, ctor);
  VEC_PUSH(&c->ctors, ctor);
  VEC_PUSH(
      &c->arms,
      (Arm){
          .span = c->made_at, .pattern = whole, .body = body, .braces = true});
  return ctor;
}

static const Expr *construct(Defun *d, const Ctor *ctor, Span span, int count,
                             const Expr *const *fields) {
  Expr *callee = expr_new(d->arena, EX_CTOR, span);
  callee->ctor = ctor;
  callee->type = ctor->type;
  Expr *made = expr_call(d->arena, span, callee, count, fields);
  made->type = ctor->type->result;
  if (count == 0) made->sugar = SUGAR_CTOR;
  return made;
}

/* --- Values --------------------------------------------------------------- */

/* A definition, operator or constructor, which `e` names: `key` is the same for
 * all that name it. */
static const Expr *named_value(Defun *d, Class *c, const Expr *e, void *key,
                               const char *name) {
  Ctor *ctor = ptrmap_get(&c->ctor_of, key);
  if (!ctor) {
    const Expr *call = call_typed(d, e->span, e, c->type->count, c->given,
                                  defun_now(d, c->type->result));
    ctor = add_ctor(d, c, name, 0, NULL, call);
    ptrmap_put(&c->ctor_of, key, ctor);
  }
  return ctor ? construct(d, ctor, e->span, 0, NULL) : e;
}

/* The function's body with the parameters of `apply` in the place of its own.
 */
static const Expr *body_of(Defun *d, const Class *c, const Fn *fn) {
  ExprMap m;
  PtrMap given;
  ptrmap_init(&given, d->p->mem);
  for (int i = 0; i < fn->param_count; i++)
    ptrmap_put(&given, fn->params[i], (void *)c->given[i]);
  expr_map_start(&m, d->p->mem, d->arena, fn->body);
  while (expr_map_next(&m)) {
    if (m.walk.event != WALK_LEAVE || m.made->kind != EX_VAR) continue;
    const Expr *at = ptrmap_get(&given, m.made->var);
    if (at) expr_map_put(&m, at);
  }
  ptrmap_done(&given);
  return expr_map_end(&m);
}

/* The `fn` is mapped already. */
static const Expr *fn_value(Defun *d, Class *c, const Expr *e) {
  Vars vars;
  VEC_INIT(&vars, d->p->mem);
  defun_free(d, e, &vars);
  int n = (int)vars.len;
  const Expr **fields = ARENA_ARRAY(d->arena, const Expr *, (size_t)n + 1);
  const Expr *body = body_of(d, c, e->fn);
  const Expr *made = e;
  for (int i = 0; fields && i < n; i++)
    fields[i] = expr_use(d->arena, e->span, vars.data[i]);
  bool lifted =
      body && body->kind == EX_CALL && body->call.callee->kind == EX_GLOBAL;
  const char *name = lifted ? body->call.callee->g.name->text : "fn";
  const Ctor *ctor =
      fields && body ? add_ctor(d, c, name, n, vars.data, body) : NULL;
  if (ctor) made = construct(d, ctor, e->span, n, fields);
  VEC_DONE(&vars);
  return made;
}

/* --- Expressions ---------------------------------------------------------- */

typedef struct Mapping {
  Defun *d;
  const Instance *in;
  bool definition;
  ExprMap m;
} Mapping;

static const Type *type_at(Mapping *at, const Type *t) {
  return defun_now(at->d, defun_type(at->d, at->in, t));
}

/* Is the node at hand more than the name of what is called or defined? */
static bool is_value(const Mapping *at) {
  const ExprWalk *w = &at->m.walk;
  if (w->role == ROLE_CALLEE) return !defun_is_direct(w->at);
  return !at->definition || w->role != ROLE_ROOT;
}

/* The class of what the node was; NULL: its values stay functions. */
static Class *class_at(Mapping *at, const Expr *e) {
  Class *c = defun_class(at->d, defun_type(at->d, at->in, e->type));
  return c && c->adt ? c : NULL;
}

/* A copy has variables of its own. */
static void bind(Mapping *at) {
  Var *var = at->m.walk.var;
  if (!var || var->is_dim) return;
  Var *made = ptrmap_get(&at->d->vars, var);
  const Type *type = type_at(at, var->type);
  if (!made && !at->in && type == var->type) return;
  if (!made) {
    made = arena_copy(at->d->arena, var, sizeof *var);
    if (!made) return;
    made->id = at->d->p->next_var_id++;
    made->type = type;
    made->value = NULL;
    made->annotation = NULL;
    made->declared = NULL;
    ptrmap_put(&at->d->vars, var, made);
  }
  expr_map_bind(&at->m, made);
}

/* The copy of a definition that is called or named. */
static const Expr *copy_named(Mapping *at, const Expr *e) {
  Defun *d = at->d;
  Instance *use = defun_instance(d, at->in, at->m.walk.at);
  if (!use || !use->copy) return e;
  Expr *made = expr_new(d->arena, EX_GLOBAL, e->span);
  made->g.name = use->copy->name;
  made->g.global = use->copy;
  made->type = use->copy->type;
  return made;
}

static const Expr *value_at(Mapping *at, const Expr *e) {
  const Expr *was = at->m.walk.at;
  Class *c = is_value(at) ? class_at(at, was) : NULL;
  if (e->kind == EX_GLOBAL && was->g.global->kind == GLOBAL_DEF) {
    e = copy_named(at, e);
    Instance *use = c ? defun_instance(at->d, at->in, was) : NULL;
    return use ? named_value(at->d, c, e, use, e->g.name->text) : e;
  }
  if (!c) return e;
  switch (e->kind) {
    case EX_OP:
      return named_value(at->d, c, e, (void *)op_info(e->op),
                         op_info(e->op)->name);
    case EX_CTOR:
      return named_value(at->d, c, e, (void *)e->ctor, e->ctor->name->text);
    case EX_FN: return fn_value(at->d, c, e);
    default: return e;
  }
}

/* %f(%x), of a value, becomes @apply_fn(%x, %f). */
static const Expr *call_at(Mapping *at, const Expr *e) {
  Defun *d = at->d;
  const Expr *callee = at->m.walk.at->call.callee;
  Class *c = defun_is_direct(callee) ? NULL : class_at(at, callee);
  if (!c || !c->apply) return e;
  const Expr **args = ARENA_ARRAY(d->arena, const Expr *, (size_t)e->count + 1);
  Expr *name = expr_new(d->arena, EX_GLOBAL, e->span);
  if (!args) return e;
  for (int i = 0; i < e->count; i++) args[i] = e->args[i];
  args[e->count] = e->call.callee;
  name->g.name = c->apply->name;
  name->g.global = c->apply;
  name->type = c->apply->type;
  return call_typed(d, e->span, name, e->count + 1, args, e->type);
}

static void map_targs(Mapping *at, Expr *e) {
  const Type **targs =
      ARENA_ARRAY(at->d->arena, const Type *, (size_t)e->targ_count + 1);
  for (int i = 0; targs && i < e->targ_count; i++)
    targs[i] = type_at(at, e->targs[i]);
  if (targs) e->targs = targs;
}

static void leave(Mapping *at) {
  const Expr *was = at->m.walk.at;
  const Type *type =
      is_value(at) ? type_at(at, was->type)
                   : signature(at->d, defun_type(at->d, at->in, was->type));
  if (was->type && type != was->type) expr_map_own(&at->m)->type = type;
  if (was->targ_count) map_targs(at, expr_map_own(&at->m));
  Var *var = was->kind == EX_VAR ? ptrmap_get(&at->d->vars, was->var) : NULL;
  if (var) expr_map_own(&at->m)->var = var;
  const Expr *made =
      was->kind == EX_CALL ? call_at(at, at->m.made) : value_at(at, at->m.made);
  if (made != at->m.made) expr_map_put(&at->m, made);
}

/* NULL: out of memory. */
static const Expr *map(Defun *d, const Instance *in, const Expr *e,
                       bool definition) {
  Mapping at = {.d = d, .in = in, .definition = definition};
  ptrmap_done(&d->vars);
  ptrmap_init(&d->vars, d->p->mem);
  expr_map_start(&at.m, d->p->mem, d->arena, e);
  while (expr_map_next(&at.m)) {
    if (at.m.walk.event == WALK_BIND) bind(&at);
    if (at.m.walk.event == WALK_LEAVE) leave(&at);
  }
  return expr_map_end(&at.m);
}

/* --- Definitions ---------------------------------------------------------- */

static void declare_copy(Defun *d, Instance *in) {
  const Global *g = in->of;
  const Type *type = in->copied ? signature(d, in->type) : in->type;
  if (type == in->type) return;
  const char *like = arena_printf(d->arena, "%s_data", g->name->text);
  in->copy = global_new(d->p, d->arena, like, g->span, type);
}

/* Without the parameters, which are types now. */
static void define_copy(Defun *d, const Instance *in) {
  const Expr *made = map(d, in, in->of->value, true);
  Expr *whole = made ? arena_copy(d->arena, made, sizeof *made) : NULL;
  Fn *fn = made ? arena_copy(d->arena, made->fn, sizeof *made->fn) : NULL;
  if (!whole || !fn) return;
  fn->type_param_count = 0;
  whole->fn = fn;
  whole->type = in->copy->type;
  in->copy->value = whole;
  VEC_PUSH(&d->made, global_item(in->copy));
}

static void define_apply(Defun *d, Class *c) {
  int n = c->type->count;
  Match *match = ARENA_NEW(d->arena, Match);
  Fn *fn = ARENA_NEW(d->arena, Fn);
  if (!match || !fn || !c->apply) return;
  *match = (Match){.arm_count = (int)c->arms.len,
                   .arms = VEC_TO_ARENA(&c->arms, d->arena)};
  Expr *body = expr_new(d->arena, EX_MATCH, c->made_at);
  body->args = &c->given[n];
  body->count = 1;
  body->match = match;
  body->type = c->apply->type->result;
  *fn = (Fn){.param_count = n + 1, .params = c->params, .body = body};
  Expr *whole = expr_new(d->arena, EX_FN, c->made_at);
  whole->fn = fn;
  whole->type = c->apply->type;
  c->apply->value = whole;
  VEC_PUSH(&d->made, global_item(c->apply));
}

static void define_type(Defun *d, Class *c) {
  AdtDecl *decl = ARENA_NEW(d->arena, AdtDecl);
  CtorDecl *ctors = ARENA_ARRAY(d->arena, CtorDecl, c->ctors.len + 1);
  if (!decl || !ctors) return;
  for (size_t i = 0; i < c->ctors.len; i++) {
    const Ctor *ctor = c->ctors.data[i];
    const TypeExpr **fields =
        ARENA_ARRAY(d->arena, const TypeExpr *, (size_t)ctor->field_count + 1);
    bool sayable = true;
    for (int k = 0; fields && k < ctor->field_count; k++)
      fields[k] = type_as_written(d->p, d->arena, ctor->fields[k], ctor->span,
                                  NULL, &sayable);
    ctors[i] = (CtorDecl){.name = ctor->name,
                          .span = ctor->span,
                          .parens = ctor->field_count > 0,
                          .field_count = fields ? ctor->field_count : 0,
                          .fields = fields};
  }
  *decl = (AdtDecl){.name = c->adt->name,
                    .span = c->made_at,
                    .braces = true,
                    .ctor_count = (int)c->ctors.len,
                    .ctors = ctors};
  c->adt->decl = decl;
  VEC_PUSH(&d->made, (Item){.kind = ITEM_TYPE,
                            .span = c->made_at,
                            .name_span = c->made_at,
                            .name = c->adt->name,
                            .adt = decl,
                            .linked = true});
}

static void map_items(void *data, Unit *u) {
  Defun *d = data;
  for (int i = 0; i < u->item_count; i++) {
    Global *g = item_global(d->p, &u->items[i]);
    bool def = g && g->kind == GLOBAL_DEF;
    if (!g || g->scheme || !g->value || (!def && g->kind != GLOBAL_PARAM) ||
        ptrmap_has(&d->kept, g))
      continue;
    const Expr *made = map(d, NULL, g->value, def);
    if (made) g->value = made;
  }
}

static void map_steps(Defun *d) {
  for (int i = 0; i < d->unit->step_count; i++) {
    Step *step = &d->unit->steps[i];
    Global *g = step->kind == STEP_LET ? step->global : NULL;
    const Expr *made = map(d, NULL, g ? g->value : step->expr, false);
    if (!made) return;
    if (g) g->value = made;
    if (g) g->type = defun_now(d, g->type);
    else step->expr = made;
  }
}

void defun_map(Defun *d) {
  for (size_t i = 0; i < d->classes.len; i++)
    declare_class(d, d->classes.data[i]);
  for (size_t i = 0; i < d->classes.len; i++)
    if (d->classes.data[i]->adt) declare_apply(d, d->classes.data[i]);
  for (size_t i = 0; i < d->instances.len; i++)
    declare_copy(d, d->instances.data[i]);
  if (mem_exhausted(d->p->mem)) return;
  unit_each(d->p, d->unit, defun_map_declared, d);
  unit_each(d->p, d->unit, map_items, d);
  map_steps(d);
  for (size_t i = 0; i < d->instances.len; i++)
    if (d->instances.data[i]->copy) define_copy(d, d->instances.data[i]);
  for (size_t i = 0; i < d->classes.len; i++)
    if (d->classes.data[i]->adt) define_type(d, d->classes.data[i]);
  for (size_t i = 0; i < d->classes.len; i++)
    if (d->classes.data[i]->adt) define_apply(d, d->classes.data[i]);
}
