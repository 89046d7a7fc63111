/* Named fields as positions.  The checker has told which constructor the text
 * means: in a field's node, and in the callee of a changed copy.
 *
 *   C(b=e1, a=e2)        let %b = e1; let %a = e2; C(%a, %b)
 *   C(b=p) =>            C(_, p) =>
 *   e.b                  match (e) { C(_, %b) => %b }
 *   {e with b = e1}      let %whole = e; let %b = e1;
 *                        match (%whole) { C(%a, _) => C(%a, %b) }
 *
 * As in relay_match.c, the names made here are bound before those of the
 * text. */
#include "ir/walk.h"
#include "passes/relay_map.h"

/* --- Making nodes --------------------------------------------------------- */

static Expr *local(Relay *r, Span span, const Name *name) {
  Expr *e = expr_new(r->arena, EX_LOCAL, span);
  e->name = name;
  return e;
}

static Pattern *pattern_of(Relay *r, PatternKind kind, Span span) {
  Pattern *p = ARENA_NEW(r->arena, Pattern);
  *p = (Pattern){.kind = kind, .span = span};
  return p;
}

static const Pattern *pattern_var(Relay *r, Span span, const Name *name) {
  Pattern *p = pattern_of(r, PT_VAR, span);
  p->var = var_new(r->arena, name, span, NULL);
  return p;
}

/* `named`: where the constructor's name stands. */
static const Expr *ctor_call(Relay *r, Span span, Span named, const Ctor *ctor,
                             const Expr *const *args) {
  Expr *callee = expr_new(r->arena, EX_IDENT, named);
  callee->name = ctor->name;
  return expr_call(r->arena, span, callee, ctor->field_count, args);
}

/* match (value) { C(fields) => body } */
static const Expr *match_of(Relay *r, Span span, const Expr *value,
                            const Ctor *ctor, const Pattern *const *fields,
                            const Expr *body) {
  Pattern *p = pattern_of(r, PT_CTOR, span);
  p->name = ctor->name;
  p->parens = true;
  p->fields = fields;
  p->count = ctor->field_count;
  Match *match = ARENA_NEW(r->arena, Match);
  Arm *arm = ARENA_NEW(r->arena, Arm);
  *arm = (Arm){.span = span, .pattern = p, .body = body};
  *match = (Match){.arm_count = 1, .arms = arm};
  Expr *e = expr_new(r->arena, EX_MATCH, span);
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, 1);
  if (args) args[0] = value;
  e->args = args;
  e->count = args != NULL;
  e->match = match;
  return e;
}

/* C(_, ..., _) */
static const Pattern **wild_fields(Relay *r, Span span, const Ctor *ctor) {
  size_t n = (size_t)ctor->field_count;
  const Pattern **fields = ARENA_ARRAY(r->arena, const Pattern *, n + 1);
  for (size_t i = 0; fields && i < n; i++)
    fields[i] = pattern_of(r, PT_WILD, span);
  return fields;
}

/* --- Values in the order of the text -------------------------------------- */

static bool is_inert(const Expr *e) {
  return e->kind == EX_CONST || e->kind == EX_LOCAL || e->kind == EX_GLOBAL ||
         e->kind == EX_IDENT || e->kind == EX_FN;
}

static const Expr *keep_order(Relay *r, Bindings *lets, const Expr *value,
                              const char *name) {
  if (is_inert(value)) return value;
  const Name *own = relay_own_name(r, name);
  VEC_PUSH(lets, binding_let(value->span,
                             var_new(r->arena, own, value->span, NULL), value));
  return local(r, value->span, own);
}

static const Expr *with_lets(Relay *r, Bindings *lets, const Expr *result) {
  result = expr_after(r->arena, result->span, lets->len, lets->data, result);
  VEC_DONE(lets);
  return result;
}

/* --- The four forms ------------------------------------------------------- */

static const Expr *named_call(Relay *r, const Expr *e, const Ctor *ctor) {
  size_t n = (size_t)ctor->field_count;
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, n + 1);
  if (!args) return e;
  Bindings lets;
  VEC_INIT(&lets, r->p->mem);
  int last = -1;
  bool rising = true;
  for (int i = 0; i < e->call.attr_count; i++) {
    int place = ctor_field(ctor, e->call.attrs[i].name);
    rising &= place > last;
    last = place;
  }
  for (int i = 0; i < e->count; i++)
    args[i] = rising ? e->args[i] : keep_order(r, &lets, e->args[i], "field");
  for (int i = 0; i < e->call.attr_count; i++) {
    const Attr *attr = &e->call.attrs[i];
    const Expr *value = attr_as_expr(r->p, r->arena, attr->value);
    args[ctor_field(ctor, attr->name)] =
        rising ? value : keep_order(r, &lets, value, attr->name->text);
  }
  return with_lets(r, &lets,
                   ctor_call(r, e->span, e->call.callee->span, ctor, args));
}

static const Expr *field_match(Relay *r, const Expr *e) {
  const Ctor *ctor = e->field.ctor;
  const Pattern **fields = wild_fields(r, e->span, ctor);
  if (!fields) return e;
  const Name *name = relay_own_name(r, e->field.name->text);
  fields[ctor_field(ctor, e->field.name)] = pattern_var(r, e->span, name);
  return match_of(r, e->span, e->args[0], ctor, fields,
                  local(r, e->span, name));
}

static const Expr *changed_copy(Relay *r, const Expr *e) {
  const Ctor *ctor = e->call.callee->ctor;
  size_t n = (size_t)ctor->field_count;
  const Pattern **fields = wild_fields(r, e->span, ctor);
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, n + 1);
  if (!fields || !args) return e;
  Bindings lets;
  VEC_INIT(&lets, r->p->mem);
  const Expr *whole = keep_order(r, &lets, e->args[0], "whole");
  for (int i = 0; i < e->call.attr_count; i++) {
    const Attr *attr = &e->call.attrs[i];
    const Expr *value = attr_as_expr(r->p, r->arena, attr->value);
    args[ctor_field(ctor, attr->name)] =
        keep_order(r, &lets, value, attr->name->text);
  }
  for (int i = 0; i < ctor->field_count; i++) {
    if (args[i]) continue;
    const Name *name = relay_own_name(r, ctor->labels[i].name->text);
    fields[i] = pattern_var(r, e->span, name);
    args[i] = local(r, e->span, name);
  }
  const Expr *copy = ctor_call(r, e->span, e->span, ctor, args);
  return with_lets(r, &lets, match_of(r, e->span, whole, ctor, fields, copy));
}

/* --- Patterns ------------------------------------------------------------- */

static const Scope *scope_of(const Relay *r) {
  return r->home->used ? &r->p->library : &r->p->user;
}

static bool has_labels(const Pattern *p) {
  bool found = p->label != NULL;
  for (int i = 0; i < p->count && !found; i++) found = has_labels(p->fields[i]);
  return found;
}

static const Pattern *plain_pattern(Relay *r, const Pattern *p) {
  if (!has_labels(p)) return p;
  const Ctor *ctor =
      p->kind == PT_CTOR ? scope_ctor(scope_of(r), p->name) : NULL;
  Pattern *made = arena_copy(r->arena, p, sizeof *p);
  bool named = false;
  for (int i = 0; i < p->count; i++) named |= p->fields[i]->label != NULL;
  size_t n = (size_t)p->count;
  const Pattern **fields = named
                               ? wild_fields(r, p->span, ctor)
                               : ARENA_ARRAY(r->arena, const Pattern *, n + 1);
  if (!made || !fields) return p;
  for (int i = 0; i < p->count; i++) {
    const Pattern *field = p->fields[i];
    fields[field->label ? ctor_field(ctor, field->label) : i] =
        plain_pattern(r, field);
  }
  made->label = NULL;
  made->fields = fields;
  if (named) made->count = ctor->field_count;
  return made;
}

static void plain_patterns(Relay *r, ExprMap *m) {
  const Match *old = m->made->match;
  bool labels = false;
  for (int i = 0; i < old->arm_count; i++)
    labels |= has_labels(old->arms[i].pattern);
  size_t count = (size_t)old->arm_count;
  Arm *arms =
      labels ? arena_copy(r->arena, old->arms, count * sizeof *arms) : NULL;
  Match *match = arms ? arena_copy(r->arena, old, sizeof *old) : NULL;
  if (!match) return;
  for (size_t i = 0; i < count; i++)
    arms[i].pattern = plain_pattern(r, arms[i].pattern);
  match->arms = arms;
  expr_map_own(m)->match = match;
}

/* --- Expressions ---------------------------------------------------------- */

static const Expr *without_names(Relay *r, const Expr *e) {
  if (e->kind == EX_FIELD) return field_match(r, e);
  if (e->kind != EX_CALL) return e;
  if (e->sugar == SUGAR_WITH) return changed_copy(r, e);
  bool named = e->call.attr_count > 0 && e->call.callee->kind == EX_IDENT;
  const Ctor *ctor =
      named ? scope_ctor(scope_of(r), e->call.callee->name) : NULL;
  return ctor ? named_call(r, e, ctor) : e;
}

const Expr *relay_fields(Relay *r, const Expr *e) {
  if (!r->names_fields || !e) return e;
  ExprMap m;
  expr_map_start(&m, r->p->mem, r->arena, e);
  while (expr_map_next(&m)) {
    if (m.walk.event != WALK_LEAVE) continue;
    if (m.made->kind == EX_MATCH) {
      plain_patterns(r, &m);
      continue;
    }
    const Expr *made = without_names(r, m.made);
    if (made != m.made) expr_map_put(&m, made);
  }
  return expr_map_end(&m);
}

/* --- Is there anything to do? --------------------------------------------- */

/* A field has a name only where its type is declared, in the text. */
bool relay_names_fields(const Unit *u) {
  for (int i = 0; i < u->item_count; i++) {
    const AdtDecl *adt = u->items[i].adt;
    for (int k = 0; adt && k < adt->ctor_count; k++)
      if (adt->ctors[k].labels) return true;
  }
  return false;
}
