/* Calls of the library's inlined functions: those whose parameters have no
 * types, as what ONNX operators mean is written (stdlib/onnx/).
 *
 * The type of such a function's result depends on more than kinds of parameters
 * can say: on the numbers in `pads`, say.  So each call is the body itself,
 * after a `let` for each parameter, and is typed as a text of its own:
 *
 *   def @onnx_f(%x, k=1) { %x * cast_like(%k, %x) }
 *
 *   @onnx_f(%y, k=3)   { let %x = %y; let %k = 3; %x * cast_like(%k, %x) }
 *
 * Attributes of the declaration are parameters with defaults, which a call may
 * give by name.  A default may mention the parameters before it.  In the body
 * an `if` that is decided by what the call says is the branch taken. */
#include "ir/walk.h"
#include "types/resolve.h"

enum { INLINED_MOST = 40 }; /* within each other */

static bool report_arity(Resolver *r, const Expr *call, const Global *g) {
  int takes = g->inlined->expr->fn->param_count;
  if (call->count == takes) return true;
  Diag *d =
      diag_error(r->p->diags, E0801, call->span,
                 "`@%s` takes %d argument%s by position, not %d", g->name->text,
                 takes, takes == 1 ? "" : "s", call->count);
  diag_note(d, g->span, "it is defined here");
  return false;
}

/* The attribute of that name; NULL: there is none. */
static const Attr *attr_named(int count, const Attr *attrs, const Name *name) {
  for (int i = 0; i < count; i++)
    if (attrs[i].name == name) return &attrs[i];
  return NULL;
}

/* What the call gives by name, the function has, and once. */
static bool report_attrs(Resolver *r, const Expr *call, const Global *g) {
  const Fn *fn = g->inlined->expr->fn;
  bool fits = true;
  for (int i = 0; i < call->call.attr_count; i++) {
    const Attr *attr = &call->call.attrs[i];
    if (!attr->name || !attr_named(fn->attr_count, fn->attrs, attr->name)) {
      Diag *d = diag_error(r->p->diags, E0801, attr->span,
                           "`@%s` takes nothing named `%s`", g->name->text,
                           attr->name ? attr->name->text : "meta");
      diag_note(d, g->span, "it is defined here");
      fits = false;
    } else if (attr_named(i, call->call.attrs, attr->name)) {
      diag_error(r->p->diags, E0116, attr->span, "`%s` is given twice",
                 attr->name->text);
      fits = false;
    }
  }
  return fits;
}

static Binding let(Resolver *r, const Name *name, Span span,
                   const Expr *value) {
  Var *var = var_new(r->arena, name, span, NULL);
  var->id = r->p->next_var_id++;
  var->value = value; /* conditions of the body are asked before inference */
  return binding_let(span, var, value);
}

/* A copy of the body whose places say in which call they are (base/source.h),
 * so that a message tells of the user's line.  Without room for that, the body.
 */
static const Expr *placed(Resolver *r, const Expr *body, Span call) {
  SourceMap *sources = r->p->sources;
  const SourceFile *of = sources_file(sources, body->span);
  const SourceFile *copy = of ? sources_copy(sources, of, call) : NULL;
  if (!copy) return body;
  ExprMap m;
  expr_map_start(&m, r->c->mem, r->arena, body);
  while (expr_map_next(&m)) {
    if (m.walk.event != WALK_LEAVE || !span_exists(m.made->span)) continue;
    Expr *moved = arena_copy(r->arena, m.made, sizeof *moved);
    if (!moved) continue;
    moved->span.lo += copy->base - of->base;
    moved->span.hi += copy->base - of->base;
    expr_map_put(&m, moved);
  }
  const Expr *made = expr_map_end(&m);
  return made ? made : body;
}

/* Where the resolver looks names up. */
typedef struct LookupPlace {
  Unit *unit;
  Scope *scope;
  struct Homes *homes;
  PtrMap vars;
} LookupPlace;

/* Sees a text of the library and no locals.  Gives the place that
 * leave_library() goes back to. */
static LookupPlace enter_library(Resolver *r, Unit *unit) {
  LookupPlace was = {r->unit, r->scope, r->homes, r->vars};
  r->unit = unit;
  r->scope = &r->p->library;
  r->homes = NULL;
  ptrmap_init(&r->vars, r->c->mem);
  r->inlined++;
  return was;
}

static void leave_library(Resolver *r, LookupPlace was) {
  ptrmap_done(&r->vars);
  r->unit = was.unit;
  r->scope = was.scope;
  r->homes = was.homes;
  r->vars = was.vars;
  r->inlined--;
}

/* What the call gives is resolved among its names, the body among the
 * library's: locals, graph variables and the file are put aside meanwhile. */
const Expr *resolve_inlined(Resolver *r, const Expr *call, const Global *g) {
  const Fn *fn = g->inlined->expr->fn;
  if (r->inlined == INLINED_MOST) {
    diag_error(r->p->diags, E0801, call->span, "`@%s` is inlined within itself",
               g->name->text);
    return resolve_error(r, call->span);
  }
  if (!report_arity(r, call, g) || !report_attrs(r, call, g))
    return resolve_error(r, call->span);
  size_t count = (size_t)(fn->param_count + fn->attr_count);
  Binding *lets = ARENA_ARRAY(r->arena, Binding, count);
  if (!lets) return resolve_error(r, call->span);
  int at = 0;
  for (int i = 0; i < fn->param_count; i++)
    lets[at++] = let(r, fn->params[i]->name, call->args[i]->span,
                     resolve_expr(r, call->args[i]));
  for (int i = 0; i < fn->attr_count; i++, at++) {
    const Attr *given =
        attr_named(call->call.attr_count, call->call.attrs, fn->attrs[i].name);
    if (given)
      lets[at] = let(r, given->name, given->span, resolve_attr_value(r, given));
  }
  const LookupPlace caller = enter_library(r, g->inlined_unit);
  size_t mark = scope_mark(r);
  for (int i = 0; i < at; i++) {
    if (!lets[i].var) {
      const Attr *attr = &fn->attrs[i - fn->param_count];
      lets[i] = let(r, attr->name, attr->span, resolve_attr_value(r, attr));
      lets[i].sugar = SUGAR_DEFAULT;
    }
    scope_bind(r, &r->vars, lets[i].var->name, lets[i].var);
  }
  const Expr *body = resolve_body(r, placed(r, fn->body, call->span));
  scope_end(r, mark);
  leave_library(r, caller);
  Expr *whole = expr_block(r->arena, call->span, at, lets, body);
  whole->inlined = g;
  return whole;
}
