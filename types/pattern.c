/* Patterns: each is checked against the type of what it takes apart, and binds
 * its variables to the parts.
 *
 *   p : t    the pattern p fits values of type t
 *
 * A pattern that does not fit is reported, and its parts are checked against
 * the error type, so that its variables have types and nothing more is reported
 * about them. */
#include "types/infer.h"

static void wrong_fields(Infer *in, const Pattern *p, int wanted) {
  const Ctor *ctor = p->ctor;
  Diag *d =
      diag_error(in->p->diags, E0402, p->span,
                 "the constructor `%s` has %d field%s, the pattern %d",
                 ctor->name->text, wanted, wanted == 1 ? "" : "s", p->count);
  diag_note(d, ctor->span, "declared here");
}

/* Fields without a type, of a pattern that has too many, meet the error
 * type. */
static bool infer_fields(Infer *in, const Pattern *p, int count, Ty **types,
                         Span from) {
  for (int i = 0; i < p->count; i++)
    infer_pattern(in, p->fields[i], i < count ? types[i] : in->error, from);
  return count == p->count;
}

static bool pattern_misfit(Infer *in, const Pattern *p, Ty *found, Span from) {
  if (found->kind != K_ERROR) {
    Diag *d = diag_error(in->p->diags, E0201, p->span,
                         "`%s` is a constructor of `%s`; what is matched is %s",
                         p->ctor->name->text, p->ctor->adt->name->text,
                         ty_text(in, found));
    if (span_exists(from)) diag_note(d, from, "this is what is matched");
  }
  return false;
}

/* The constructor that it means, once the type that is taken apart is known:
 * that of the instance. */
static bool choose_instance(Infer *in, const Pattern *p, Ty *scrutinee,
                            Span from) {
  bool fits =
      scrutinee->kind == K_ADT && scrutinee->adt->instance_of == p->ctor->adt;
  if (!fits) return pattern_misfit(in, p, scrutinee, from);
  ((Pattern *)p)->ctor = &scrutinee->adt->ctors[p->ctor->tag];
  return p->ctor->type != NULL;
}

/* What is matched is not known yet: the fields have variables for types until
 * it is. */
static bool await_instance(Infer *in, const Pattern *p, Ty *scrutinee,
                           Span from) {
  Constraint *c = constraint_new(in, C_PATTERN, NULL);
  c->pattern = p;
  c->span = from;
  c->count = p->count + 1;
  c->args = ty_array(in, c->count);
  if (!c->args) return false;
  c->args[p->count] = scrutinee;
  for (int i = 0; i < p->count; i++) c->args[i] = ty_meta(in);
  bool fits = infer_fields(in, p, p->count, c->args, from);
  constraint_start(in, c);
  /* Their types are not to be generalised meanwhile. */
  for (int i = 0; i < p->count && !c->gone; i++) {
    Ty *field = ty_head(c->args[i]);
    if (field->kind == K_META) constraint_wait(in, field, c);
  }
  return fits;
}

void run_pattern(Infer *in, Constraint *c) {
  const Pattern *p = c->pattern;
  Ty *scrutinee = ty_head(c->args[p->count]);
  if (scrutinee->kind == K_META) {
    constraint_wait(in, scrutinee, c);
    return;
  }
  c->solved = c->gone = true;
  Ty **fields = NULL;
  Ty *fn = in->error, **targs;
  if (choose_instance(in, p, scrutinee, c->span))
    fn =
        ty_instantiate(in, ty_of_type(in, p->ctor->type),
                       p->ctor->adt->param_count, p->ctor->adt->params, &targs);
  Why why = {.kind = WHY_PATTERN, .span = p->span, .other = c->span};
  if (fn->kind == K_FN && require_flow(in, scrutinee, fn->result, why)) {
    if (p->count == fn->count) fields = fn->args;
    else wrong_fields(in, p, fn->count);
  }
  for (int i = 0; i < p->count; i++) {
    why.span = p->fields[i]->span;
    require_flow(in, fields ? fields[i] : in->error, c->args[i], why);
  }
}

/*   C : fn [A...](t1, ..., tn) -> D[A...]    scrutinee : D[s...]
 *   p1 : t1[s/A], ..., pn : tn[s/A]
 *   --------------------------------------------------------------
 *   C(p1, ..., pn) : D[s...]                                                 */
static bool infer_ctor(Infer *in, const Pattern *p, Ty *scrutinee, Span from) {
  const Ctor *ctor = p->ctor;
  if (!ctor) return infer_fields(in, p, 0, NULL, from);
  Ty *found = ty_head(scrutinee);
  if (ctor->scheme && found->kind == K_META)
    return await_instance(in, p, found, from);
  if (ctor->scheme && !choose_instance(in, p, found, from))
    return infer_fields(in, p, 0, NULL, from), false;
  ctor = p->ctor;
  Ty *fn = ty_of_type(in, ctor->type);
  Ty **targs;
  fn =
      ty_instantiate(in, fn, ctor->adt->param_count, ctor->adt->params, &targs);
  if (fn->kind != K_FN) return false;
  bool fits =
      require_flow(in, scrutinee, fn->result,
                   (Why){.kind = WHY_PATTERN, .span = p->span, .other = from});
  bool whole = p->count == fn->count;
  if (!whole) wrong_fields(in, p, fn->count);
  infer_fields(in, p, fits && whole ? fn->count : 0, fn->args, from);
  return fits;
}

/*   p1 : t1, ..., pn : tn
 *   ----------------------------
 *   (p1, ..., pn) : (t1, ..., tn)
 *
 * A scrutinee that is not known yet becomes a tuple of new variables: patterns
 * determine types as uses do. */
static bool infer_tuple(Infer *in, const Pattern *p, Ty *scrutinee, Span from) {
  Ty *t = ty_head(scrutinee);
  if (t->kind == K_META) {
    Ty **fields = ty_array(in, p->count);
    for (int i = 0; fields && i < p->count; i++) fields[i] = ty_meta(in);
    t = ty_tuple(in, p->count, fields);
    ty_unify(in, scrutinee, t, NULL);
  }
  bool fits = t->kind == K_TUPLE && t->count == p->count;
  if (!fits && t->kind != K_ERROR) {
    Diag *d = diag_error(in->p->diags, E0403, p->span,
                         "a pattern for a tuple of %d does not fit %s",
                         p->count, ty_text(in, t));
    if (span_exists(from)) diag_note(d, from, "this is what is matched");
    if (p->count == 1) diag_hint(d, "(p) is a tuple of one field");
  }
  infer_fields(in, p, fits ? t->count : 0, t->args, from);
  return fits;
}

/*   scrutinee : t, the literal's dtype
 *   ----------------------------------
 *   literal : t                                                              */
static bool infer_literal_pattern(Infer *in, const Pattern *p, Ty *scrutinee,
                                  Span from) {
  Ty *type = ty_of_tensor(in, p->constant, p->span);
  return require_flow(
      in, scrutinee, type,
      (Why){.kind = WHY_PATTERN, .span = p->span, .other = from});
}

/* The variable's first place gives it its type; in the other alternatives of an
 * or-pattern (`again`) what it takes has to flow to that type. */
static bool infer_pattern_var(Infer *in, const Pattern *p, Ty *scrutinee,
                              Span from) {
  VarInfo *info = var_info(in, p->var);
  if (p->again && info->type)
    return require_flow(
        in, scrutinee, info->type,
        (Why){.kind = WHY_PATTERN, .span = p->span, .other = from});
  info->type = scrutinee;
  if (!p->var->declared) return true;
  info->type = ty_of_type(in, p->var->declared);
  return require_flow(
      in, scrutinee, info->type,
      (Why){.kind = WHY_PATTERN, .span = p->span, .other = from});
}

/* Recursion is bounded by the parser's limit on nested patterns. */
bool infer_pattern(Infer *in, const Pattern *p, Ty *scrutinee, Span from) {
  VEC_PUSH(&in->patterns, (TypedPattern){(Pattern *)p, scrutinee});
  switch (p->kind) {
    case PT_VAR: return infer_pattern_var(in, p, scrutinee, from);
    case PT_CTOR: return infer_ctor(in, p, scrutinee, from);
    case PT_TUPLE: return infer_tuple(in, p, scrutinee, from);
    case PT_LITERAL: return infer_literal_pattern(in, p, scrutinee, from);
    default: return true;
  }
}
