/* Items of a unit in plain Relay, the text that TVM 0.9 reads: types, then
 * functions, then the one `extern type` that TVM reads.  `param`s become
 * parameters; a script that is one expression becomes @main.  What else a
 * script holds has no words there.
 *
 * The parsed tree is mapped, not the checked one: what is written should stay
 * what was written, as far as it can.  The steps, for each function:
 *
 *   relay_input.c    which params it reaches, directly or by calls
 *   relay_match.c    literals, alternatives and guards out of its matches
 *   relay_expr.c     sugar, names, constants, attributes: one map of the tree
 *   relay_type.c     annotations: aliases written out, named dimensions `?`
 *   relay_meta.c     long constants to the metadata section
 *
 * A construct that Relay lacks is refused with E0508 at its place, and the map
 * goes on, so that one run reports all of them.  The result shares with the
 * unit what did not change; both live in the unit's arena. */
#include "passes/pass.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "passes/relay_map.h"

/* Refuses a part of the library that the text uses: one message for each
 * use. */
static void refuse_linked(Relay *r, Span span, const char *what) {
  const Expr *used = r->home->used;
  if (ptrmap_has(&r->refused, used)) return;
  ptrmap_put(&r->refused, used, (void *)used);
  Diag *d = diag_error(r->p->diags, E0508, used->span,
                       "plain Relay cannot express `@%s`, which needs %s",
                       used->g.name->text, what);
  diag_note(d, span, "in `@%s`", r->home->item->name->text);
}

/* In a definition of the library that was linked, the place is the text's own
 * use of it: the user cannot change the library. */
void relay_refuse(Relay *r, Span span, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char what[200];
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  if (r->home && r->home->used) refuse_linked(r, span, what);
  else
    diag_error(r->p->diags, E0508, span, "plain Relay cannot express %s", what);
}

/* --- Types ---------------------------------------------------------------- */

/* Such names begin a dtype there: TVM's parser would take `type integer` for
 * one. */
static void check_type_name(Relay *r, const AdtDecl *adt) {
  static const char *const dtypes[] = {"bool", "float", "int", "uint"};
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
    if (strncmp(adt->name->text, dtypes[i], strlen(dtypes[i])) != 0) continue;
    relay_refuse(r, adt->span, "a type whose name begins with `%s`", dtypes[i]);
  }
}

/* A field's type cannot be left out, so it must have words (relay_type). */
static CtorDecl map_ctor(Relay *r, const CtorDecl *ctor) {
  CtorDecl made = *ctor;
  const TypeExpr **fields =
      ARENA_ARRAY(r->arena, const TypeExpr *, (size_t)ctor->field_count);
  if (!fields) made.field_count = 0;
  for (int i = 0; i < made.field_count; i++)
    fields[i] = relay_type(r, ctor->fields[i]);
  made.fields = fields;
  made.labels = NULL;
  return made;
}

/* The item and its declaration are copied, as the unit as parsed keeps its
 * own. */
static Item map_adt(Relay *r, const Item *item) {
  Item made = *item;
  AdtDecl *adt = ARENA_NEW(r->arena, AdtDecl);
  *adt = *item->adt;
  check_type_name(r, adt);
  adt->params =
      relay_type_params(r, adt->param_count, adt->params, &adt->param_count);
  CtorDecl *ctors = ARENA_ARRAY(r->arena, CtorDecl, (size_t)adt->ctor_count);
  if (!ctors) adt->ctor_count = 0;
  for (int i = 0; i < adt->ctor_count; i++)
    ctors[i] = map_ctor(r, &item->adt->ctors[i]);
  adt->ctors = ctors;
  made.adt = adt;
  return made;
}

/* --- Functions ------------------------------------------------------------ */

/* The param's name is bound as a local, which makes it unique, and unbound at
 * once: only uses of the param go by the item (map_input), so a local of the
 * same name in the text still means itself. */
static Var *input_var(Relay *r, const Item *param, Span where) {
  Var v = {.name = param->name, .span = where, .annotation = param->annotation};
  Var *made = relay_bind(r, &v);
  relay_leave(r, r->hidden.len - 1);
  ptrmap_put(&r->locals, param, (void *)made->name);
  return made;
}

/* The parameters for what the definition needs of params. */
static Var *const *input_vars(Relay *r, const Needs *needs, int *count) {
  Var **vars = ARENA_ARRAY(r->arena, Var *, r->params.len);
  *count = 0;
  for (size_t i = 0; vars && i < r->params.len; i++) {
    if (!needs->params[i]) continue;
    vars[(*count)++] = input_var(r, r->params.data[i], needs->item->expr->span);
  }
  return vars;
}

/* A function without parameters around an expression. */
static const Expr *fn_around(Relay *r, const Expr *body,
                             const TypeExpr *result) {
  Expr *e = expr_new(r->arena, EX_FN, body->span);
  Fn *fn = ARENA_NEW(r->arena, Fn);
  *fn = (Fn){.body = body, .result = result};
  e->fn = fn;
  return e;
}

/* The `let %x`s of a script, and its expression.  They stay lets, in the order
 * of the text. */
static const Expr *script_body(Relay *r, const Expr *result) {
  size_t count = (size_t)r->unit->item_count;
  Binding *lets = ARENA_ARRAY(r->arena, Binding, count);
  int n = 0;
  for (size_t i = 0; lets && i < count; i++) {
    const Item *item = &r->unit->items[i];
    if (item->kind != ITEM_LET_LOCAL) continue;
    Var *v = var_new(r->arena, item->name, item->name_span, item->annotation);
    lets[n++] = (Binding){.kind = item->continues ? BIND_AND : BIND_LET,
                          .span = item->span,
                          .var = v,
                          .value = item->expr};
  }
  return n ? expr_block(r->arena, result->span, n, lets, result) : result;
}

/* A function as mapped, with these parameters before its own.
 *
 *   @f(%x), reaching @w and @b  ==>  @f(%w, %b, %x) */
static const Expr *with_inputs(Relay *r, const Expr *e, int count,
                               Var *const *first) {
  if (!e || count == 0) return e;
  Expr *made = arena_copy(r->arena, e, sizeof *e);
  Fn *fn = arena_copy(r->arena, e->fn, sizeof *e->fn);
  size_t room = (size_t)count + (size_t)e->fn->param_count;
  Var **params = ARENA_ARRAY(r->arena, Var *, room);
  if (!made || !fn || !params) return NULL;
  for (int i = 0; i < count; i++) params[i] = first[i];
  for (int i = 0; i < fn->param_count; i++) params[count + i] = fn->params[i];
  fn->params = params;
  fn->param_count += count;
  made->fn = fn;
  return made;
}

/* f in with_vjp(f, g)(...), which is how the checker writes an operator whose
 * derivative the text states (types/operator.c); or NULL. */
static const Expr *with_derivative(const Expr *e) {
  if (e->kind != EX_CALL || e->call.callee->kind != EX_CALL) return NULL;
  const Expr *form = e->call.callee, *name = form->call.callee;
  bool fits = name->kind == EX_IDENT && form->count == 2 &&
              form->args[0]->kind == EX_FN &&
              !strcmp(name->name->text, "with_vjp");
  return fits ? form->args[0] : NULL;
}

/* An `op` is the function that it means: of calls that fit, its conditions say
 * nothing, and TVM finds derivatives by itself. */
static const Expr *meaning_of(Relay *r, const Expr *e) {
  const Expr *body = e->fn->body, *f;
  if (body->kind == EX_BLOCK && body->sugar == SUGAR_WHERE)
    body = body->block->result;
  if ((f = with_derivative(body))) body = f->fn->body;
  if (body == e->fn->body) return e;
  Expr *made = arena_copy(r->arena, e, sizeof *e);
  Fn *fn = arena_copy(r->arena, e->fn, sizeof *e->fn);
  if (!made || !fn) return e;
  fn->body = body;
  made->fn = fn;
  return made;
}

/* A script's expression is the body of @main; a param's default becomes a
 * function of that name, for callers who want it.  Names are reset, since
 * uniqueness is one definition's matter.  Matches go first: what they make is
 * sugar that the map of expressions writes out. */
static Item map_function(Relay *r, const Needs *needs) {
  Item made = *needs->item;
  relay_names_reset(r);
  r->home = needs;
  int count;
  Var *const *first = input_vars(r, needs, &count);
  const Expr *fn = made.expr;
  if (made.kind == ITEM_EXPR) {
    fn = fn_around(r, script_body(r, fn), NULL);
    made.name = name_of(r->p->names, "main");
  } else if (made.kind == ITEM_PARAM) {
    fn = fn_around(r, fn, made.annotation);
    made.annotation = NULL;
  }
  made.kind = ITEM_DEF;
  made.linked = needs->used != NULL;
  if (needs->item->kind != ITEM_EXPR) made.name = relay_global_name(r, needs);
  if (made.own) fn = meaning_of(r, fn);
  made.own = false;
  const Expr *plain = relay_matches(r, relay_fields(r, fn));
  const Expr *mapped = relay_adt_ctors(r, relay_expr(r, plain));
  made.expr = with_inputs(r, mapped, count, first);
  r->home = NULL;
  return made;
}

/* --- Items ---------------------------------------------------------------- */

static bool is_extern(const Item *item) {
  return item->kind == ITEM_TYPE && item->adt->is_extern;
}

/* Aliases have been written out where they are used, and `extern type`s come
 * last: TVM's parser takes one, at the end. */
static int add_types(Relay *r, Item *out, int n, bool externs) {
  int first = n;
  for (size_t i = 0; !externs && i < r->types.len; i++) {
    out[n] = map_adt(r, r->types.data[i]);
    out[n++].linked = true;
  }
  for (int i = 0; i < r->unit->item_count && !mem_exhausted(r->p->mem); i++) {
    const Item *item = &r->unit->items[i];
    if (item->kind != ITEM_TYPE || is_extern(item) != externs) continue;
    if (item->adt->meaning || relay_is_generic_type(item)) continue;
    if (externs && n > first)
      relay_refuse(r, item->span, "a second `extern type`");
    out[n++] = map_adt(r, item);
  }
  return n;
}

static int add_functions(Relay *r, Item *out, int n) {
  for (size_t i = 0; i < r->needs.len && !mem_exhausted(r->p->mem); i++)
    out[n++] = map_function(r, r->needs.data[i]);
  return n;
}

/* Names of constructors are needed before bodies are mapped: such a name hides
 * an operator of the same spelling. */
static void declare_ctors(Relay *r, const AdtDecl *adt) {
  bool generic = relay_is_generic_type(
      &(Item){.kind = ITEM_TYPE, .name = adt->name, .adt = adt});
  if (adt->meaning && !generic) ptrmap_put(&r->aliases, adt->name, (void *)adt);
  for (int i = 0; i < adt->ctor_count; i++) {
    const Name *name = adt->ctors[i].name;
    ptrmap_put(&r->ctors, name, (void *)name);
  }
}

/* One expression is @main where there is none; it comes last. */
static void check_expression(Relay *r, const Item *item, int *seen) {
  bool has_main = ptrmap_has(&r->by_name, name_of(r->p->names, "main"));
  (*seen)++;
  if (has_main || item != r->main) {
    relay_refuse(r, item->span, "an expression at top level besides %s",
                 has_main ? "@main" : "another");
  }
}

/* Without one there is no @main that a `let` could go into. */
static bool has_expression(const Relay *r) {
  for (int i = 0; i < r->unit->item_count; i++)
    if (r->unit->items[i].kind == ITEM_EXPR) return true;
  return false;
}

/* A `let %x` goes into @main with the expression that follows it: there is one,
 * and it was not `seen` yet. */
static void check_let(Relay *r, const Item *item, bool any, int seen) {
  if (item->kind == ITEM_LET_GLOBAL) {
    relay_refuse(r, item->span, "a global value");
  } else if (!any || seen > 0) {
    relay_refuse(r, item->span,
                 "a `let` at top level that no expression "
                 "follows");
  }
}

/* Looks at what the items are; what is in them is for the map to refuse. */
static void check_items(Relay *r) {
  bool any = has_expression(r);
  int expressions = 0;
  for (size_t i = 0; i < r->types.len; i++)
    declare_ctors(r, r->types.data[i]->adt);
  for (int i = 0; i < r->unit->item_count; i++) {
    const Item *item = &r->unit->items[i];
    switch (item->kind) {
      case ITEM_TYPE: declare_ctors(r, item->adt); break;
      case ITEM_EXPR: check_expression(r, item, &expressions); break;
      case ITEM_LET_GLOBAL:
      case ITEM_LET_LOCAL: check_let(r, item, any, expressions); break;
      case ITEM_IMPORT: relay_refuse(r, item->span, "an `import`"); break;
      case ITEM_GRADIENT:
        if (item->own) break;
        relay_refuse(r, item->span, "a rule of differentiation");
        break;
      case ITEM_RULE: break;
      case ITEM_DEF:
      case ITEM_PARAM: break;
    }
  }
}

/* --- Units ---------------------------------------------------------------- */

static void relay_init(Relay *r, Program *p, const Unit *u, Arena *arena) {
  *r = (Relay){.p = p, .unit = u, .arena = arena};
  VEC_INIT(&r->params, p->mem);
  VEC_INIT(&r->needs, p->mem);
  VEC_INIT(&r->types, p->mem);
  VEC_INIT(&r->hidden, p->mem);
  VEC_INIT(&r->hidden_dims, p->mem);
  VEC_INIT(&r->brackets, p->mem);
  VEC_INIT(&r->constants, p->mem);
  VEC_INIT(&r->unsaid, p->mem);
  relay_adts_init(r);
  ptrmap_init(&r->by_name, p->mem);
  ptrmap_init(&r->asked, p->mem);
  ptrmap_init(&r->library, p->mem);
  ptrmap_init(&r->mentioned, p->mem);
  ptrmap_init(&r->refused, p->mem);
  ptrmap_init(&r->ctors, p->mem);
  ptrmap_init(&r->adts, p->mem);
  ptrmap_init(&r->aliases, p->mem);
  ptrmap_init(&r->type_args, p->mem);
  ptrmap_init(&r->locals, p->mem);
  ptrmap_init(&r->taken, p->mem);
  ptrmap_init(&r->suffixes, p->mem);
  ptrmap_init(&r->dims, p->mem);
  ptrmap_init(&r->graph, p->mem);
}

static void relay_done(Relay *r) {
  relay_inputs_done(r);
  relay_adts_done(r);
  VEC_DONE(&r->hidden);
  VEC_DONE(&r->hidden_dims);
  VEC_DONE(&r->brackets);
  for (size_t i = 0; i < r->constants.len; i++)
    tensor_drop(r->p->heap, r->constants.data[i]);
  VEC_DONE(&r->constants);
  VEC_DONE(&r->unsaid);
  ptrmap_done(&r->by_name);
  ptrmap_done(&r->asked);
  ptrmap_done(&r->library);
  ptrmap_done(&r->mentioned);
  ptrmap_done(&r->refused);
  ptrmap_done(&r->ctors);
  ptrmap_done(&r->adts);
  ptrmap_done(&r->aliases);
  ptrmap_done(&r->type_args);
  ptrmap_done(&r->locals);
  ptrmap_done(&r->taken);
  ptrmap_done(&r->suffixes);
  ptrmap_done(&r->dims);
  ptrmap_done(&r->graph);
}

/* One for each instance of a type of the text, after the functions and types
 * that name them. */
static Item *instance_types(Relay *r, int *count) {
  VEC(Item) made;
  VEC_INIT(&made, r->p->mem);
  relay_name_all_adts(r);
  Item item;
  for (size_t i = 0; relay_adt_item(r, i, &item); i++)
    if (!item.adt->meaning) VEC_PUSH(&made, map_adt(r, &item));
  Item *items = made.len ? VEC_TO_ARENA(&made, r->arena) : NULL;
  *count = items ? (int)made.len : 0;
  VEC_DONE(&made);
  return items;
}

/* Items grow by the linked definitions of the library and by the instances of
 * data types, and shrink by what became part of @main. */
static Unit *map_unit(Relay *r, Unit *u) {
  Unit *made = ARENA_NEW(r->arena, Unit);
  *made = *r->unit;
  size_t linked = r->library.len + r->types.len, own = (size_t)made->item_count;
  Item *rest = ARENA_ARRAY(r->arena, Item, 2 * own + linked);
  if (!rest) return u;
  int types = add_types(r, rest, 0, false);
  int n = add_functions(r, rest, types);
  n = add_types(r, rest, n, true);
  int instances = 0;
  const Item *of = r->has_generic_adts ? instance_types(r, &instances) : NULL;
  Item *items = ARENA_ARRAY(r->arena, Item, (size_t)(n + instances));
  if (!items) return u;
  made->item_count = 0;
  for (int i = 0; i < types; i++) items[made->item_count++] = rest[i];
  for (int i = 0; i < instances; i++) items[made->item_count++] = of[i];
  for (int i = types; i < n; i++) items[made->item_count++] = rest[i];
  made->items = items;
  made->version_header = made->plain = true;
  made->meta_text = relay_section(r);
  made->unsaid = arena_copy(r->arena, r->unsaid.data,
                            r->unsaid.len * sizeof *r->unsaid.data);
  made->unsaid_count = made->unsaid ? (int)r->unsaid.len : 0;
  return made;
}

Pass pass_relay;

/* Sugar is written out, `param`s become parameters, locals get names of their
 * own, what Relay's grammar wants in parentheses stands in a block without
 * bindings.  Comments are left out, for some that we read TVM does not.  NULL
 * after a refusal: then there is no text that TVM reads as the same program. */
Unit *pass_relay(Program *p, Unit *u) {
  size_t errors = p->diags->errors;
  bool names_fields = relay_names_fields(u);
  bool checked = !names_fields && !relay_may_decide(p, u);
  if (!checked && !(u->facts & FACT_TYPES) && !unit_check(p, u)) return NULL;
  fragment_to_main(p, u);
  Arena *arena = &u->arena;
  Relay r;
  relay_init(&r, p, u, arena);
  r.names_fields = names_fields;
  r.unit = u = relay_instances(&r, u);
  if (u) {
    relay_find_inputs(&r);
    check_items(&r);
  }
  Unit *made = !u || mem_exhausted(p->mem) ? NULL : map_unit(&r, u);
  relay_done(&r);
  bool ok = p->diags->errors == errors && !mem_exhausted(p->mem);
  return ok ? made : NULL;
}
