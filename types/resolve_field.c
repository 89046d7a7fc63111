/* Resolution of named fields.
 *
 *   C(b=e1, a=e2)        let %b = e1; C(e2, %b)      in the order of the text
 *   C(b=p) =>            C(_, p) =>
 *   {e with b = e1}      let %whole = e; let %b = e1; {%whole with b = %b}
 *
 * A value that may be evaluated in any order needs no `let`.  Which constructor
 * `e.b` and `with` mean follows from the type of e: types/field.c. */
#include <string.h>

#include "types/resolve.h"

/* --- Messages ------------------------------------------------------------ */

void unknown_field(Program *p, const Ctor *ctor, const Name *name, Span span) {
  const char *type = ctor->name->text;
  if (!ctor->labels) {
    Diag *d = diag_error(p->diags, E0119, span,
                         "the fields of `%s` have no "
                         "names",
                         type);
    diag_hint(d, "they are told apart by their positions: `%s` has %d", type,
              ctor->field_count);
    diag_note(d, ctor->span, "declared here");
    return;
  }
  Diag *d = diag_error(p->diags, E0119, span, "`%s` has no field `%s`", type,
                       name->text);
  Suggestion near = suggestion_for(name->text);
  StrBuf all;
  strbuf_init(&all, p->mem);
  for (int i = 0; i < ctor->field_count; i++) {
    suggestion_offer(&near, ctor->labels[i].name->text);
    strbuf_addf(&all, "%s%s", i ? ", " : "", ctor->labels[i].name->text);
  }
  const char *dot = strchr(name->text, '.');
  if (dot)
    diag_hint(d,
              "a field of a field is changed in a copy of that: "
              "{%%x with %.*s = {%%x.%.*s with %s = ...}}",
              (int)(dot - name->text), name->text, (int)(dot - name->text),
              name->text, dot + 1);
  else if (near.best) diag_hint(d, "did you mean `%s`?", near.best);
  else diag_hint(d, "its fields are %s", strbuf_text(&all));
  diag_note(d, ctor->span, "declared here");
  strbuf_done(&all);
}

static void report_twice(Resolver *r, const Name *name, Span span, Span first) {
  Diag *d = diag_error(r->p->diags, E0121, span,
                       "the field `%s` is given twice", name->text);
  if (span_exists(first)) diag_note(d, first, "first given here");
  diag_hint(d, "a field is given once: by its position or by its name");
}

/* One message for all fields that a call leaves out. */
static void report_missing(Resolver *r, const Expr *e, const Ctor *ctor,
                           const Expr *const *fields) {
  StrBuf names;
  strbuf_init(&names, r->c->mem);
  int count = 0;
  const char *first = "";
  for (int i = ctor->field_count; i-- > 0;)
    if (!fields[i]) first = ctor->labels[i].name->text;
  for (int i = 0; i < ctor->field_count; i++) {
    if (fields[i]) continue;
    strbuf_addf(&names, "%s`%s`", count++ ? ", " : "",
                ctor->labels[i].name->text);
  }
  Diag *d =
      diag_error(r->p->diags, E0120, e->span, "`%s` lacks its field%s %s",
                 ctor->name->text, count > 1 ? "s" : "", strbuf_text(&names));
  diag_note(d, ctor->span, "declared here");
  diag_hint(d,
            "write %s(..., %s=...), or change a copy of another value: "
            "{%%x with ...}",
            ctor->name->text, first);
  strbuf_done(&names);
}

/* --- Values in the order of the text ------------------------------------- */

/* May it be evaluated earlier or later?  It neither does anything nor fails. */
static bool is_inert(const Expr *e) {
  switch (e->kind) {
    case EX_CONST:
    case EX_VAR:
    case EX_CTOR:
    case EX_FN:
    case EX_GLOBAL:
    case EX_ERROR: return true;
    case EX_CALL: return e->sugar == SUGAR_CTOR;
    default: return false;
  }
}

/* The value, or a variable that a let before gives it. */
static const Expr *keep_order(Resolver *r, Bindings *lets, const Expr *value,
                              const char *name) {
  if (is_inert(value)) return value;
  Var *var = var_new(r->arena, name_of(r->p->names, name), value->span, NULL);
  var->id = r->p->next_var_id++;
  VEC_PUSH(lets, binding_let(value->span, var, value));
  return resolve_var_use(r, value->span, var);
}

static const Expr *with_lets(Resolver *r, Bindings *lets, const Expr *result) {
  result = expr_after(r->arena, result->span, lets->len, lets->data, result);
  VEC_DONE(lets);
  return result;
}

const Expr *resolve_attr_value(Resolver *r, const Attr *attr) {
  return resolve_expr(r, attr_as_expr(r->p, r->arena, attr->value));
}

/* --- Calls of constructors ----------------------------------------------- */

/* The places of the fields that the attributes name.  False after reporting. */
static bool find_places(Resolver *r, const Expr *e, const Ctor *ctor,
                        int *places) {
  bool ok = true;
  size_t n = (size_t)ctor->field_count;
  Span *given = ARENA_ARRAY(&r->c->arena, Span, n + 1);
  for (int i = 0; given && i < ctor->field_count; i++)
    given[i] = i < e->count ? e->args[i]->span : SPAN_NONE;
  for (int i = 0; given && i < e->call.attr_count; i++) {
    const Attr *attr = &e->call.attrs[i];
    int place = places[i] = attr->name ? ctor_field(ctor, attr->name) : -1;
    bool twice = place >= 0 && span_exists(given[place]);
    ok &= place >= 0 && !twice;
    if (!attr->name)
      diag_error(r->p->diags, E0109, attr->span,
                 "the constructor `%s` has no attributes", ctor->name->text);
    else if (place < 0) unknown_field(r->p, ctor, attr->name, attr->span);
    else if (twice) report_twice(r, attr->name, attr->span, given[place]);
    else given[place] = attr->span;
  }
  return ok && given;
}

static bool is_rising(const int *places, int count) {
  for (int i = 1; i < count; i++)
    if (places[i] < places[i - 1]) return false;
  return true;
}

const Expr *resolve_fields(Resolver *r, const Expr *e, const Expr *call) {
  const Ctor *ctor = call->call.callee->ctor;
  int count = e->call.attr_count, n = ctor->field_count;
  int *places = ARENA_ARRAY(r->arena, int, (size_t)count);
  const Expr **fields = ARENA_ARRAY(r->arena, const Expr *, (size_t)n + 1);
  if (!places || !fields) return resolve_error(r, e->span);
  bool ok = find_places(r, e, ctor, places) && call->count <= n;
  bool rising = ok && is_rising(places, count);
  Bindings lets;
  VEC_INIT(&lets, r->c->mem);
  for (int i = 0; i < call->count && i < n; i++) {
    const Expr *value = call->args[i];
    fields[i] = rising ? value : keep_order(r, &lets, value, "field");
  }
  for (int i = 0; i < count; i++) {
    const Attr *attr = &e->call.attrs[i];
    const Expr *value = resolve_attr_value(r, attr);
    if (!ok) continue;
    fields[places[i]] =
        rising ? value : keep_order(r, &lets, value, attr->name->text);
  }
  int missing = 0;
  for (int i = 0; i < n; i++) missing += !fields[i];
  if (ok && missing) report_missing(r, e, ctor, fields);
  if (!ok && call->count > n) return call; /* it has too many arguments */
  if (!ok || missing) {
    VEC_DONE(&lets);
    return resolve_error(r, e->span);
  }
  Expr *made = (Expr *)call;
  made->args = fields;
  made->count = n;
  return with_lets(r, &lets, made);
}

/* --- Changed copies ------------------------------------------------------ */

const Expr *resolve_with(Resolver *r, const Expr *e, const Expr *head) {
  int count = e->call.attr_count;
  const Attr *attrs = e->call.attrs;
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, (size_t)count + 1);
  if (!args) return resolve_error(r, e->span);
  Bindings lets;
  VEC_INIT(&lets, r->c->mem);
  args[0] =
      keep_order(r, &lets, head ? head : resolve_expr(r, e->args[0]), "whole");
  bool ok = true;
  PtrMap given;
  ptrmap_init(&given, r->c->mem);
  for (int i = 0; i < count; i++) {
    const Expr *value = resolve_attr_value(r, &attrs[i]);
    const Name *name = attrs[i].name;
    args[i + 1] = keep_order(r, &lets, value, name->text);
    const Attr *first = ptrmap_get(&given, name);
    ptrmap_put(&given, name, (void *)&attrs[i]);
    if (!first) continue;
    report_twice(r, name, attrs[i].span, first->span);
    ok = false;
  }
  ptrmap_done(&given);
  Expr *made = expr_call(r->arena, e->span, e->call.callee, count + 1, args);
  made->sugar = SUGAR_WITH;
  made->call.attrs = attrs;
  made->call.attr_count = count;
  return with_lets(r, &lets, ok ? made : resolve_error(r, e->span));
}

/* --- Patterns ------------------------------------------------------------ */

void resolve_labels(Resolver *r, Pattern *p) {
  bool named = false;
  for (int i = 0; i < p->count; i++) named |= p->fields[i]->label != NULL;
  if (!named || !p->ctor) return;
  const Ctor *ctor = p->ctor;
  size_t n = (size_t)ctor->field_count;
  const Pattern **fields = ARENA_ARRAY(r->arena, const Pattern *, n + 1);
  bool ok = fields != NULL, labelled = false;
  for (int i = 0; ok && i < p->count; i++) {
    const Pattern *field = p->fields[i];
    labelled |= field->label != NULL;
    int place = field->label ? ctor_field(ctor, field->label) : i;
    if (!field->label && labelled) {
      Diag *d = diag_error(r->p->diags, E0012, field->span,
                           "a field without a name follows one with a name");
      diag_hint(d, "fields by position come first");
      ok = false;
    } else if (place < 0) {
      unknown_field(r->p, ctor, field->label, field->span);
      ok = false;
    } else if (place >= ctor->field_count) {
      return; /* there are too many, as the checker reports */
    } else if (fields[place]) {
      report_twice(r, field->label, field->span, fields[place]->span);
      ok = false;
    } else {
      fields[place] = field;
    }
    ((Pattern *)field)->label = NULL;
  }
  for (size_t i = 0; ok && i < n; i++) {
    if (fields[i]) continue;
    Pattern *rest = ARENA_NEW(r->arena, Pattern);
    rest->kind = PT_WILD;
    rest->span = p->span;
    fields[i] = rest;
  }
  if (!ok) {
    p->ctor = NULL;
    return;
  }
  p->fields = fields;
  p->count = (int)n;
}

/* --- Names with dots ----------------------------------------------------- */

static int64_t read_index(Resolver *r, const char *digits, size_t len,
                          Span span) {
  int64_t value = 0;
  for (size_t i = 0; i < len; i++) {
    if (!__builtin_mul_overflow(value, 10, &value) &&
        !__builtin_add_overflow(value, digits[i] - '0', &value))
      continue;
    diag_error(r->p->diags, E0003, span, "index out of range");
    return 0;
  }
  return value;
}

/* Each node's text ends with its part; in parentheses all have the whole. */
void field_split(Resolver *r, Expr *e, const Name *head, const char *path) {
  Span span = e->span;
  bool parens = e->parens, global = e->kind == EX_GLOBAL;
  if (!parens) span.hi -= (uint32_t)strlen(path);
  Expr *at = expr_new(r->arena, (ExprKind)e->kind, span);
  if (global) at->g.name = head;
  else at->name = head;
  while (*path++) {
    size_t len = strcspn(path, ".");
    bool digits = path[0] >= '0' && path[0] <= '9';
    if (!parens) span.hi += (uint32_t)len + 1;
    Expr *made = expr_new(r->arena, digits ? EX_PROJ : EX_FIELD, span);
    const Expr **args = ARENA_ARRAY(r->arena, const Expr *, 1);
    if (!args) return;
    args[0] = at;
    made->args = args;
    made->count = 1;
    if (digits) {
      made->index = read_index(r, path, len, span);
    } else {
      made->field.name = name_intern(r->p->names, path, len);
      made->field.span =
          parens ? span : (Span){span.hi - (uint32_t)len, span.hi};
    }
    at = made;
    path += len;
  }
  *e = *at;
  e->parens = parens;
}
