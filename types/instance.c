/* Functions that are checked by instance: `def @f[s: Shape, d: Float](...)`.
 *
 * Rank and dtype decide how a tensor lies in memory and which code works on it,
 * so such a function is monomorphised: each combination of arguments that is
 * used gives a definition of its own, named @f.rank2.float32.  A shape becomes
 * one named dimension for each of its axes, so a single instance serves all
 * shapes of a rank.  The types of the function are written out, and a use is
 * typed by them; the instance's body is inferred after the use's component
 * (component.c).  There are as many instances as there are ranks and dtypes,
 * so this ends even where instances ask for others.
 *
 * A function that nothing uses is checked at its definition: it is refused
 * where none of its instances can be. */
#include "types/infer.h"
#include "ir/print.h"
#include "types/resolve.h"

#include <string.h>

static const Fn *fn_of(const Generic *g) { return g->item->expr->fn; }

static bool is_solved(ParamKind kind) {
  return kind_info[kind].solve == SOLVE_INSTANCE;
}

/* --- Arguments as text --------------------------------------------------- */

static const char *args_text(Infer *in, const Instance *inst) {
  const Fn *fn = fn_of(inst->of);
  return kind_args_text(in->arena, fn->type_param_count, fn->type_params,
                        inst->args);
}

/* The name under which traces, profiles and listings of code show it. */
static const Name *instance_name(Infer *in, const Generic *g,
                                 const KindArg *args) {
  const Fn *fn = fn_of(g);
  const char *text = g->item->name->text;
  for (int i = 0; i < fn->type_param_count; i++) {
    ParamKind kind = fn->type_params[i].kind;
    if (!is_solved(kind)) continue;
    text =
        kind == KIND_SHAPE
            ? arena_printf(in->arena, "%s.rank%d", text, args[i].rank)
            : arena_printf(in->arena, "%s.%s", text, dtype_name(args[i].dtype));
  }
  return name_of(in->p->names, text);
}

static const char *type_expr_text(Infer *in, const TypeExpr *t) {
  StrBuf text;
  strbuf_init(&text, in->mem);
  type_expr_print_brief(&text, t, TYPE_TEXT_MOST);
  const char *kept = arena_strndup(in->arena, strbuf_text(&text), text.len);
  strbuf_done(&text);
  return kept;
}

/* --- Instances ----------------------------------------------------------- */

static Instance *find_instance(const Generic *g, const KindArg *args) {
  const Global *at = g->global->instances;
  while (at &&
         !same_kind_args(fn_of(g)->type_param_count, at->instance->args, args))
    at = at->next_instance;
  return at ? at->instance : NULL;
}

/* The late ones have ids below theirs, so these are found in the table from now
 * on. */
void infer_grow_vars(Infer *in) {
  size_t count = in->p->next_var_id - in->first_var + 1, old = in->vars.len;
  if (count <= old || !VEC_RESERVE(&in->vars, count - old)) return;
  memset(in->vars.data + old, 0, (count - old) * sizeof *in->vars.data);
  in->vars.len = count;
  for (size_t i = 0; i < in->late_vars.len; i++) {
    const VarInfo *late = in->late_vars.data[i];
    in->vars.data[late->var->id - in->first_var] = *late;
  }
  VEC_CLEAR(&in->late_vars);
}

/* The uses that led to an instance, the nearest first. */
static void note_askers(Infer *in, Diag *d, const Instance *inst) {
  for (int depth = 0; inst && depth < 3; depth++, inst = inst->asker) {
    const char *name = inst->of->item->name->text;
    if (span_exists(inst->asked))
      diag_note(d, inst->asked, "this asks for `@%s` at %s", name,
                args_text(in, inst));
    else
      diag_note(d, SPAN_NONE, "`@%s` is tried at %s; no other would do", name,
                args_text(in, inst));
  }
}

/* Has an instance within said so? */
static bool is_noted(const Diag *d, const Instance *inst) {
  for (size_t i = 0; i < d->notes.len; i++)
    if (span_exists(inst->asked) && d->notes.data[i].span.lo == inst->asked.lo)
      return true;
  return false;
}

/* Further instances of the function would fail likewise. */
void instance_failed(Infer *in, const Instance *inst, size_t first) {
  const Diags *diags = in->p->diags;
  inst->of->failed = true;
  for (size_t i = first; i < diags->list.len; i++)
    if (!is_noted(diags->list.data[i], inst))
      note_askers(in, diags->list.data[i], inst);
}

/* Its type, as the uses see it. */
static void sign(Infer *in, Definition *d) {
  uint32_t level = in->level;
  in->level = 2;
  Ty *skeleton;
  definition_declare(in, d, &skeleton);
  in->level = level;
}

/* A match has the same arms in each instance: it is checked in the first. */
static void forget_matches(Checker *c, const Instance *inst) {
  size_t count = inst->end_match - inst->first_match;
  const Expr **at = c->matches.data + inst->first_match;
  if (count == 0) return;
  memmove(at, at + count,
          (c->matches.len - inst->end_match) * sizeof *c->matches.data);
  c->matches.len -= count;
}

static void resolve_instance(Infer *in, Instance *inst, size_t at) {
  Checker *c = in->c;
  inst->first_var = in->p->next_var_id;
  inst->first_match = c->matches.len;
  inst->first_sinking = c->sinking.len;
  resolve_definition(c, at);
  c->resolved = at + 1;
  inst->end_var = in->p->next_var_id;
  inst->end_match = c->matches.len;
  inst->end_sinking = c->sinking.len;
  if (inst->global->next_instance) {
    forget_matches(c, inst);
    inst->end_match = inst->first_match;
  }
  resolve_new(c);
}

static Instance *instance_new(Infer *in, Generic *g, const KindArg *args,
                              Span asked, const Definition *home) {
  Checker *c = in->c;
  Program *p = in->p;
  size_t count = (size_t)fn_of(g)->type_param_count, at = c->defs.len;
  bool library = unit_is_library(g->unit);
  Scope *scope = library ? &p->library : &c->scope;
  Instance *inst = ARENA_NEW(&p->arena, Instance);
  Global *global = ARENA_NEW(&p->arena, Global);
  Definition *d = definition_new(c, g->unit, scope, g->item,
                                 (int)(g->item - g->unit->items));
  *global = (Global){.kind = GLOBAL_DEF,
                     .name = instance_name(in, g, args),
                     .span = g->global->span,
                     .library = library,
                     .slot = -1,
                     .next_instance = g->global->instances,
                     .instance_of = g->global,
                     .instance = inst,
                     .definition = d};
  *inst = (Instance){.of = g,
                     .args = arena_copy(&p->arena, args, count * sizeof *args),
                     .global = global,
                     .def = d,
                     .asked = asked,
                     .asker = home ? home->instance : NULL};
  if (!inst->args) return NULL;
  d->global = global;
  d->instance = inst;
  g->global->instances = global;
  VEC_PUSH(&c->instances, inst);
  size_t first = p->diags->list.len, errors = p->diags->errors;
  resolve_instance(in, inst, at);
  if (p->diags->errors > errors) instance_failed(in, inst, first);
  infer_grow_vars(in);
  if (!mem_exhausted(in->mem)) sign(in, d);
  return inst;
}

/* The instance for these arguments; NULL after a report or without memory. */
static Instance *instance_for(Infer *in, Generic *g, const KindArg *args,
                              Span asked, const Definition *home) {
  Instance *known = find_instance(g, args);
  if (known || g->failed) return known;
  if (in->c->instances.len < INSTANCES_MAX)
    return instance_new(in, g, args, asked, home);
  diag_error(in->p->diags, E0214, asked,
             "the program asks for more than %d instances of functions",
             INSTANCES_MAX);
  return NULL;
}

/* --- Taking instances back ----------------------------------------------- */

static void remove_definition(Definitions *list, const Definition *d) {
  for (size_t i = list->len; i-- > 0;) {
    if (list->data[i] != d) continue;
    memmove(list->data + i, list->data + i + 1,
            (list->len - i - 1) * sizeof *list->data);
    list->len--;
    return;
  }
}

static void remove_sinking(Checker *c, const Instance *inst) {
  size_t count = inst->end_sinking - inst->first_sinking;
  if (count == 0) return;
  memmove(c->sinking.data + inst->first_sinking,
          c->sinking.data + inst->end_sinking,
          (c->sinking.len - inst->end_sinking) * sizeof *c->sinking.data);
  c->sinking.len -= count;
}

/* From the newest on, so that what an instance added is where it was. */
void instances_forget(Checker *c, size_t first) {
  while (c->instances.len > first) {
    Instance *inst = VEC_POP(&c->instances);
    inst->of->global->instances = inst->global->next_instance;
    inst->of->failed = false;
    forget_matches(c, inst);
    remove_sinking(c, inst);
    VEC_DONE(&inst->def->uses);
    remove_definition(&c->defs, inst->def);
    remove_definition(&c->components, inst->def);
    c->resolved = c->defs.len;
  }
}

static void forget_vars(Infer *in, size_t first) {
  for (size_t i = first; i < in->c->instances.len; i++) {
    const Instance *inst = in->c->instances.data[i];
    for (uint32_t id = inst->first_var; id < inst->end_var; id++)
      if (id - in->first_var < in->vars.len)
        in->vars.data[id - in->first_var] = (VarInfo){0};
  }
}

/* --- What the arguments say ---------------------------------------------- */

/* The types of a use beside those that the function writes. */
typedef struct Matching {
  Infer *in;
  const TypeExpr *scheme; /* of the function or constructor: a TX_FN */
  KindArg *args;
  int at;            /* the argument that is looked at */
  int misfit;        /* the first that cannot be; -1: none */
  bool changed;      /* something became known */
  bool wrong;        /* a type was reported before */
  int aliases;       /* that have been written out */
  bool unknown;      /* something depends on variables, */
  Constraint *waits; /* for each of which this one is to wait; or NULL */
} Matching;

static KindArg *arg_of(const Matching *m, const Name *name) {
  for (int i = 0; name && i < m->scheme->param_count; i++)
    if (m->scheme->params[i].name == name &&
        is_solved(m->scheme->params[i].kind))
      return &m->args[i];
  return NULL;
}

static bool is_unknown(const Matching *m, const Name *name) {
  const KindArg *arg = arg_of(m, name);
  return arg && !arg->known;
}

/* Does it mention a parameter that is not known? */
static bool tells(const Matching *m, const TypeExpr *t) {
  if (is_unknown(m, t->dtype_name) || is_unknown(m, t->name)) return true;
  for (int i = 0; i < t->dim_count; i++)
    if (t->dims[i]->kind == DX_SPLAT && is_unknown(m, t->dims[i]->name))
      return true;
  for (int i = 0; i < t->arg_count; i++)
    if (tells(m, t->args[i])) return true;
  return t->result && tells(m, t->result);
}

static void learn(Matching *m, KindArg *arg, int rank, DType dtype) {
  *arg = (KindArg){.known = true, .rank = rank, .dtype = dtype, .from = m->at};
  m->changed = true;
}

static void misfit(Matching *m) {
  if (m->misfit < 0) m->misfit = m->at;
}

/* The shape that is meant where one is mentioned among dimensions, or NULL. */
static KindArg *shape_of(const Matching *m, const DimExpr *d) {
  return d->kind == DX_SPLAT ? arg_of(m, d->name) : NULL;
}

/* (s..., n) beside a shape of this rank: `items` are its dimensions.
 *
 *   Tensor[(s..., n), d] : Tensor[(2, 3, 4), float32]
 *   --------------------------------------------------
 *   s of rank 2    d = float32                                               */
static void match_rank(Matching *m, int count, const DimExpr *const *items,
                       int rank) {
  KindArg *open = NULL;
  int rest = rank, unknown = 0;
  for (int i = 0; i < count; i++) {
    KindArg *shape = shape_of(m, items[i]);
    if (shape && !shape->known) open = shape, unknown++;
    else rest -= shape ? shape->rank : 1;
  }
  if (unknown == 1 && rest >= 0) learn(m, open, rest, DTYPE_NONE);
  if (rest < 0) misfit(m);
}

static void match_tensor(Matching *m, const TypeExpr *t, const Ty *ty) {
  KindArg *dtype = arg_of(m, t->dtype_name);
  if (dtype && !dtype->known) learn(m, dtype, 0, (DType)ty->dtype);
  if (!ty->any_rank) match_rank(m, t->dim_count, t->dims, ty->rank);
}

/* The shape that is an argument of a data type, s or (s..., 1). */
static void match_shape(Matching *m, const TypeExpr *t, int rank) {
  KindArg *whole = t->kind == TX_NAME ? arg_of(m, t->name) : NULL;
  static const DimExpr other = {.kind = DX_ANY};
  if (whole && !whole->known) learn(m, whole, rank, DTYPE_NONE);
  if (t->kind != TX_TUPLE) return;
  const DimExpr **items =
      ARENA_ARRAY(m->in->arena, const DimExpr *, (size_t)t->arg_count);
  for (int i = 0; items && i < t->arg_count; i++)
    items[i] = t->args[i]->kind == TX_DIM ? t->args[i]->dims[0] : &other;
  if (items) match_rank(m, t->arg_count, items, rank);
}

static void match(Matching *m, const TypeExpr *t, Ty *ty);

static void match_parts(Matching *m, const TypeExpr *t, Ty *ty, TyKind kind) {
  bool fits = ty->kind == kind && ty->count == t->arg_count;
  if (!fits) misfit(m);
  for (int i = 0; fits && i < t->arg_count; i++)
    match(m, t->args[i], ty->args[i]);
  if (fits && t->result) match(m, t->result, ty->result);
}

/*   Layer[s, d] : Layer[(2, 3), float32]
 *   -------------------------------------
 *   s of rank 2    d = float32                                               */
static void match_adt(Matching *m, const TypeExpr *t, Ty *ty) {
  const Adt *generic = ty->kind == K_ADT ? ty->adt->instance_of : NULL;
  if (!generic) {
    match_parts(m, t, ty, K_ADT);
    return;
  }
  bool fits = generic->param_count == t->arg_count;
  if (!fits) misfit(m);
  for (int i = 0, at = 0; fits && i < t->arg_count; i++) {
    const KindInfo *kind = &kind_info[generic->params[i]->kind];
    const KindArg *found = &ty->adt->kind_args[i];
    KindArg *dtype = kind->member ? arg_of(m, t->args[i]->name) : NULL;
    if (dtype && !dtype->known) learn(m, dtype, 0, found->dtype);
    if (kind->member) continue;
    if (kind->solve != SOLVE_INSTANCE) {
      match(m, t->args[i], ty->args[at++]);
      continue;
    }
    match_shape(m, t->args[i], found->rank);
    at += found->rank;
  }
}

/* Aliases of aliases may be large as trees. */
enum { ALIASES_MOST = 1000 };

/* What an alias means that the type is; NULL: it is none. */
static const TypeExpr *without_alias(Matching *m, const TypeExpr *t) {
  for (int i = 0; i < m->scheme->param_count; i++)
    if (m->scheme->params[i].name == t->name) return NULL;
  const Adt *adt = scope_adt(&m->in->c->scope, t->name);
  bool fits = adt && adt->is_alias && adt->param_count == t->arg_count;
  if (!fits || m->aliases++ >= ALIASES_MOST) return NULL;
  return type_expr_put(m->in->mem, m->in->arena, adt->decl->meaning,
                       t->arg_count, adt->decl->params, t->args);
}

/* Types are written no deeper than the parser lets them be. */
static void match(Matching *m, const TypeExpr *t, Ty *ty) {
  ty = ty_head(ty);
  if (!tells(m, t)) return;
  if (ty->kind == K_META) m->unknown = true;
  if (ty->kind == K_META && m->waits) constraint_wait(m->in, ty, m->waits);
  if (ty->kind == K_ERROR) m->wrong = true;
  if (ty->kind == K_META || ty->kind == K_ERROR) return;
  const TypeExpr *meaning = t->kind == TX_NAME ? without_alias(m, t) : NULL;
  if (meaning) {
    match(m, meaning, ty);
    return;
  }
  KindArg *dtype = t->kind == TX_NAME ? arg_of(m, t->name) : NULL;
  bool tensor = t->kind == TX_TENSOR || dtype;
  if (tensor && ty->kind != K_TENSOR) {
    misfit(m);
    return;
  }
  switch (t->kind) {
    case TX_TENSOR: match_tensor(m, t, ty); break;
    case TX_TUPLE: match_parts(m, t, ty, K_TUPLE); break;
    case TX_REF: match_parts(m, t, ty, K_REF); break;
    case TX_FN: match_parts(m, t, ty, K_FN); break;
    case TX_NAME:
      if (dtype) learn(m, dtype, 0, (DType)ty->dtype);
      else match_adt(m, t, ty);
      break;
    case TX_HOLE:
    case TX_DIM: break;
  }
}

/* An argument may say what another needs: (s..., t...) beside (s...). */
static void match_all(Matching *m, int count, Ty *const *args, Ty *result) {
  do {
    m->changed = false;
    m->unknown = false;
    for (int i = 0; i < count; i++) {
      m->at = i;
      match(m, m->scheme->args[i], args[i]);
    }
    m->at = count;
    if (result) match(m, m->scheme->result, result);
  } while (m->changed);
}

static bool is_complete(const Matching *m) {
  for (int i = 0; i < m->scheme->param_count; i++)
    if (is_solved(m->scheme->params[i].kind) && !m->args[i].known) return false;
  return true;
}

/* --- Uses ---------------------------------------------------------------- */

/* What is used: a function, or the constructor of a data type. */
static Generic *generic_of(const Constraint *c) {
  return c->e->kind == EX_GLOBAL ? c->e->g.global->generic : NULL;
}

static const TypeExpr *scheme_of(const Constraint *c) {
  return c->e->kind == EX_CTOR ? c->e->ctor->scheme : c->e->g.global->scheme;
}

/* "`@f`", "`Layer`" */
static const char *used_text(Infer *in, const Constraint *c) {
  const Generic *g = generic_of(c);
  return g ? arena_printf(in->arena, "`@%s`", g->item->name->text)
           : arena_printf(in->arena, "`%s`", c->e->ctor->name->text);
}

static Span arg_span(const Constraint *c, int i) {
  bool shown = c->call && i < c->call->count;
  return shown ? c->call->args[i]->span : c->span;
}

static void report_misfit(Infer *in, const Constraint *c, const Matching *m,
                          Ty *found) {
  const Generic *g = generic_of(c);
  const TypeExpr *scheme = m->scheme;
  bool result = m->misfit >= scheme->arg_count;
  const TypeExpr *wanted = result ? scheme->result : scheme->args[m->misfit];
  const char *what =
      result ? "the result"
             : arena_printf(in->arena, "argument %d", m->misfit + 1);
  Diag *d =
      diag_error(in->p->diags, E0201, arg_span(c, m->misfit),
                 "%s of %s: expected %s, found %s", what, used_text(in, c),
                 type_expr_text(in, wanted), ty_text(in, found));
  diag_note(d,
            result || !g ? wanted->span : var_span(fn_of(g)->params[m->misfit]),
            "declared here");
  if (ty_head(found)->any_rank)
    diag_hint(d,
              "%s is checked for each rank by itself; say which it is first: "
              "let %%y: Tensor[(?, ?), %s] = %%x;",
              used_text(in, c), dtype_name((DType)ty_head(found)->dtype));
}

/* The first parameter whose dtype is none of its kind, or -1. */
static int find_misfit_kind(const Matching *m) {
  for (int i = 0; i < m->scheme->param_count; i++) {
    const KindInfo *kind = &kind_info[m->scheme->params[i].kind];
    if (kind->member && !kind->member(m->args[i].dtype)) return i;
  }
  return -1;
}

static Diag *report_misfit_kind(Infer *in, const Matching *m, int i, Span at,
                                const char *used) {
  const TypeParam *p = &m->scheme->params[i];
  Diag *d = diag_error(in->p->diags, E0216, at, "`%s` of %s is %s, not %s",
                       p->name->text, used, kind_info[p->kind].meaning,
                       dtype_name(m->args[i].dtype));
  diag_note(d, p->span, "declared here");
  return d;
}

/* Is each dtype one of its kind? */
static bool check_kinds(Infer *in, const Constraint *c, const Matching *m) {
  int i = find_misfit_kind(m);
  if (i < 0) return true;
  Diag *d = report_misfit_kind(in, m, i, arg_span(c, m->args[i].from),
                               used_text(in, c));
  diag_hint(d, "convert the argument: cast(%%x, dtype=\"%s\")",
            m->scheme->params[i].kind == KIND_INT ? "int32" : "float32");
  return false;
}

/* An argument whose type was to come from the parameter is not reported as
 * undetermined as well: the call is wrong already. */
static void give_up(Infer *in, Constraint *c) {
  c->gone = true;
  Why why = {.kind = WHY_OPERATOR, .span = c->span};
  require_flow(in, in->error, c->result, why);
  for (int i = 0; c->call && i < c->count; i++)
    require_flow(in, in->error, c->args[i], why);
}

static Ty *use_instance(Infer *in, Constraint *c, Instance *inst) {
  Expr *use = c->e;
  use->g.global = inst->global;
  const Definition *d = inst->global->definition;
  if (!d)
    return infer_use(in, use, ty_of_type(in, inst->global->type),
                     inst->global->param_count, inst->global->params);
  if (c->home) VEC_PUSH(&c->home->uses, inst->def);
  if (!d->type) return in->error; /* memory ran out */
  return infer_use(in, use, d->type, d->param_count, d->params);
}

/* The use names the constructor of the instance from now on. */
static Ty *use_adt_instance(Infer *in, Constraint *c, const KindArg *args) {
  Adt *adt = adt_instance(in->c, (Adt *)c->e->ctor->adt, args, c->span);
  if (!adt || adt->ctor_count == 0) return in->error;
  c->e->ctor = &adt->ctors[c->e->ctor->tag];
  return infer_ctor_use(in, c->e);
}

static Ty *use_fn_instance(Infer *in, Constraint *c, const KindArg *args) {
  Instance *inst = instance_for(in, generic_of(c), args, c->span, c->home);
  Ty *type = inst ? ty_head(use_instance(in, c, inst)) : in->error;
  return inst && inst->of->failed ? in->error : type;
}

/* Types the use by the instance, whose type is written out. */
static void settle(Infer *in, Constraint *c, const KindArg *args) {
  bool ctor = c->e->kind == EX_CTOR;
  c->solved = c->gone = true;
  Ty *type = ty_head(ctor ? use_adt_instance(in, c, args)
                          : use_fn_instance(in, c, args));
  if (type->kind != K_FN) {
    give_up(in, c);
    return;
  }
  if (!c->call) {
    require_same(in, c->result, type,
                 (Why){.kind = WHY_CALLEE, .span = c->span});
    return;
  }
  for (int i = 0; i < c->count; i++)
    require_flow(in, c->args[i], type->args[i], why_argument(c->call, i));
  c->made = type->result;
  require_flow(in, type->result, c->result,
               (Why){.kind = WHY_OPERATOR, .span = c->span, .exact = true});
}

/* The arguments of a call, or the parameters of the function type that is
 * wanted; false when they are not known yet, or do not fit. */
static bool find_args(Infer *in, Constraint *c, Ty *const **args, Ty **result) {
  *args = c->args;
  *result = c->result;
  if (c->call) return true;
  Ty *wanted = ty_head(c->result);
  int count = scheme_of(c)->arg_count;
  if (wanted->kind == K_META) {
    constraint_wait(in, wanted, c);
    return false;
  }
  *args = wanted->args;
  *result = wanted->kind == K_FN ? wanted->result : NULL;
  if (wanted->kind == K_FN && wanted->count == count) return true;
  if (wanted->kind != K_ERROR)
    diag_error(in->p->diags, E0201, c->span,
               "%s is a function of %d argument%s: expected %s",
               used_text(in, c), count, count == 1 ? "" : "s",
               ty_text(in, wanted));
  give_up(in, c);
  return false;
}

/*   f : forall s: Shape, d: Float. (t1, ..., tn) -> t
 *   e1 : u1, ..., en : un    u1, ..., un |- s, d
 *   --------------------------------------------------
 *   f(e1, ..., en) : t at s, d                                               */
void run_instance(Infer *in, Constraint *c) {
  const TypeExpr *scheme = scheme_of(c);
  Ty *const *args, *result;
  if (!find_args(in, c, &args, &result)) return;
  Matching m = {.in = in, .scheme = scheme, .misfit = -1};
  m.args = ARENA_ARRAY(in->arena, KindArg, (size_t)scheme->param_count);
  if (!m.args) return;
  for (int i = 0; i < scheme->param_count; i++)
    m.args[i] = (KindArg){.dtype = DTYPE_NONE};
  match_all(&m, scheme->arg_count, args, result);
  if (!is_complete(&m) && m.misfit < 0 && !m.wrong) {
    if (!infer_outline(in, c, scheme, m.args)) {
      give_up(in, c);
      return;
    }
    match_all(&m, scheme->arg_count, args, result);
  }
  bool complete = is_complete(&m);
  if (!complete && m.unknown && m.misfit < 0 && !m.wrong) {
    m.waits = c; /* any may tell what the others need (outline.c) */
    match_all(&m, scheme->arg_count, args, result);
    return;
  }
  if (!complete && !m.wrong) {
    for (int i = scheme->arg_count; m.misfit < 0 && i-- > 0;)
      if (ty_head(args[i])->any_rank) m.misfit = i;
    int i = m.misfit < 0 ? m.misfit = 0 : m.misfit;
    report_misfit(in, c, &m, i < scheme->arg_count ? args[i] : result);
  }
  if (complete && check_kinds(in, c, &m)) settle(in, c, m.args);
  else give_up(in, c);
}

/* --- Literals of `map_leaves` -------------------------------------------- */

/*   fn [s: Shape, d: Float](t1, ..., tn) -> t : fn (L, ..., L) -> L
 *   -----------------------------------------------------------------
 *   t1, ..., tn, t beside L |- s, d                                         */
const KindArg *literal_args(Infer *in, const Expr *literal, Ty *wanted) {
  const TypeExpr *scheme = scheme_written(in->c, literal);
  Matching m = {.in = in, .scheme = scheme, .misfit = -1};
  m.args = ARENA_ARRAY(in->arena, KindArg, (size_t)scheme->param_count);
  if (!m.args || wanted->kind != K_FN) return NULL;
  for (int i = 0; i < scheme->param_count; i++)
    m.args[i] = (KindArg){.dtype = DTYPE_NONE};
  if (scheme->arg_count == wanted->count)
    match_all(&m, scheme->arg_count, wanted->args, wanted->result);
  if (m.misfit >= 0 || !is_complete(&m)) {
    Diag *d = diag_error(in->p->diags, E0201, literal->span,
                         "argument 1 of `map_leaves`: expected %s, found %s",
                         ty_text(in, wanted), type_expr_text(in, scheme));
    diag_hint(d, "its type says the rank and the dtype of each tensor");
    return NULL;
  }
  int i = find_misfit_kind(&m);
  if (i < 0) return m.args;
  report_misfit_kind(in, &m, i, literal->span, "this function");
  return NULL;
}

/* --- Functions as values ------------------------------------------------- */

/* As a value: the place says at which types. */
Ty *infer_generic(Infer *in, const Expr *e) {
  if (e->kind == EX_GLOBAL && e->g.global->generic->refused) return in->error;
  Constraint *c = constraint_new(in, C_INSTANCE, e);
  c->result = ty_meta(in);
  c->home = in->home;
  c->level = in->level;
  constraint_start(in, c);
  return c->result;
}

/* The callee was inferred as a value, whose type waits for its constraint. */
Ty *infer_generic_call(Infer *in, const Expr *e, Ty *callee) {
  Ty **args = ty_array(in, e->count);
  for (int i = 0; args && i < e->count; i++)
    args[i] = infer_expr(in, e->args[i]);
  if (!args || callee->kind != K_META || !callee->rules) return in->error;
  Constraint *c = callee->rules->item;
  if (e->count != scheme_of(c)->arg_count) {
    wrong_count(in, e, scheme_of(c)->arg_count);
    give_up(in, c);
    return in->error;
  }
  c->call = e;
  c->span = e->span;
  c->count = e->count;
  c->args = args;
  c->result = ty_meta(in);
  constraint_start(in, c);
  return c->made ? c->made : c->result;
}

void report_no_instance(Infer *in, const Constraint *c) {
  Diag *d = diag_error(in->p->diags, E0202, c->span,
                       "the shapes and dtypes at which %s is used are not "
                       "known",
                       used_text(in, c));
  bool value = c->call && c->call->count == 0;
  diag_hint(d, value ? "annotate the place that it goes to"
               : c->call
                   ? "annotate what the arguments are computed from"
                   : "call it, or write a `fn` with annotated parameters");
}

const Item *types_instance_item(const Global *g) {
  return g->instance->of->item;
}

KindArg types_instance_arg(const Global *g, int param) {
  return g->instance->args[param];
}

/* --- At the definition ---------------------------------------------------- */

/* The kinds' own order puts the usual first: matrices of float32. */
static const int ranks_to_try[] = {2, 1, 3, 0, 4, 5, 6, 7, 8};
static const DType dtypes_to_try[] = {
    DT_FLOAT32, DT_INT32,  DT_BOOL,     DT_FLOAT64, DT_INT64,
    DT_FLOAT16, DT_UINT8,  DT_INT8,     DT_UINT16,  DT_INT16,
    DT_UINT32,  DT_UINT64, DT_BFLOAT16,
};
enum {
  RANKS_TO_TRY = sizeof ranks_to_try / sizeof *ranks_to_try,
  DTYPES_TO_TRY = sizeof dtypes_to_try / sizeof *dtypes_to_try,
};

/* The arguments of trial `rank`, `dtype`; false where the kinds have none. */
static bool try_args(const Fn *fn, int rank, int dtype, KindArg *args) {
  bool ranks = false, dtypes = false;
  for (int i = 0; i < fn->type_param_count; i++) {
    const KindInfo *kind = &kind_info[fn->type_params[i].kind];
    args[i] = (KindArg){.dtype = DTYPE_NONE};
    if (kind->solve != SOLVE_INSTANCE) continue;
    args[i].known = true;
    if (!kind->member) {
      args[i].rank = ranks_to_try[rank];
      ranks = true;
      continue;
    }
    args[i].dtype = dtypes_to_try[dtype];
    dtypes = true;
    if (!kind->member(dtypes_to_try[dtype])) return false;
  }
  return (ranks || rank == 0) && (dtypes || dtype == 0);
}

static bool try_instance(Infer *in, Generic *g, int rank, int dtype,
                         KindArg *args) {
  if (!try_args(fn_of(g), rank, dtype, args)) return false;
  size_t errors = in->p->diags->errors;
  if (instance_new(in, g, args, SPAN_NONE, NULL)) infer_new(in);
  return in->p->diags->errors == errors;
}

/* A function that nothing uses must have an instance that can be. */
static void check_generic(Infer *in, Generic *g) {
  KindArg *args =
      ARENA_ARRAY(in->arena, KindArg, (size_t)fn_of(g)->type_param_count);
  size_t first = in->c->instances.len, first_adt = in->c->adt_instances.len;
  DiagsMark mark = diags_mark(in->p->diags);
  for (int i = 0; args && i < DTYPES_TO_TRY; i++)
    for (int k = 0; k < RANKS_TO_TRY && !mem_exhausted(in->mem); k++) {
      if (!try_args(fn_of(g), k, i, args)) continue;
      if (try_instance(in, g, k, i, args)) return;
      forget_vars(in, first);
      instances_forget(in->c, first);
      adt_instances_forget(in->c, first_adt);
      diags_return(in->p->diags, mark);
    }
  /* The first of its kinds once more, for the report. */
  for (int i = 0; args && i < DTYPES_TO_TRY; i++)
    if (try_args(fn_of(g), 0, i, args)) {
      try_instance(in, g, 0, i, args);
      return;
    }
}

void check_generics(Infer *in) {
  for (size_t i = 0; i < in->c->generics.len; i++) {
    Generic *g = in->c->generics.data[i];
    if (mem_exhausted(in->mem)) return;
    if (g->refused || g->global->instances || unit_is_library(g->unit))
      continue;
    check_generic(in, g);
  }
}
