/* The forms of differentiation, typed.
 *
 *   F = fn(T1, ..., Tn) -> R    x1 : T1, ..., xn : Tn
 *   -------------------------------------------------
 *   grad(F)             : fn(T1, ..., Tn) -> (R, (T1', ..., Tn'))
 *   vjp(F, x1, ..., xn) : (R, fn(R') -> (T1', ..., Tn'))
 *   jvp(F, (x1, ..., xn), (x1', ..., xn')) : (R, R')
 *
 * R is a float scalar in grad.
 * T' is T, and () where T is a function or a cell; there is none where T is a
 * tuple or a data type with one inside.  The type of F may become
 * known late: its parameters are handed on at once, and the types that depend
 * on what they are wait for a constraint. */
#include "ir/foreign.h"
#include "types/infer.h"

#include <string.h>

/* --- T' ------------------------------------------------------------------ */

static bool holds_state(const Ty *t) {
  return t->kind == K_FN || t->kind == K_REF;
}

/* A function or a cell inside a type, and where. */
typedef struct Inside {
  const char *what; /* NULL: there is none */
  const Ctor *ctor; /* of which it is a field; NULL: of a tuple, */
  int index;        /* this one */
} Inside;

static void note_inside(Inside *found, const Ctor *ctor, int index, bool fn) {
  if (!found->what)
    *found = (Inside){fn ? "a function" : "a cell", ctor, index};
}

/* The data types that a look goes through, each once. */
typedef struct Look {
  PtrMap seen;
  VEC(const Adt *) adts;
  VEC(const Type *) parts; /* of the field that is looked at */
} Look;

static void look_later(Look *look, const Adt *adt) {
  if (ptrmap_has(&look->seen, adt)) return;
  ptrmap_put(&look->seen, adt, (void *)adt);
  VEC_PUSH(&look->adts, adt);
}

/* In the declared type of a field, in the fields of tuples and the arguments of
 * data types that it names. */
static void look_in_field(Look *look, const Ctor *ctor, int index,
                          Inside *found) {
  VEC_PUSH(&look->parts, ctor->fields[index]);
  while (look->parts.len > 0) {
    const Type *t = VEC_POP(&look->parts);
    if (t->kind == TY_FN || t->kind == TY_REF)
      note_inside(found, ctor, index, t->kind == TY_FN);
    if (t->kind == TY_ADT) look_later(look, t->adt);
    for (int i = 0; (t->kind == TY_TUPLE || t->kind == TY_ADT) && i < t->count;
         i++)
      VEC_PUSH(&look->parts, t->args[i]);
  }
}

/* In what the fields of a data type's constructors are declared as; arguments
 * are for the caller. */
static void look_in_adt(Infer *in, const Adt *first, Inside *found) {
  Look look;
  ptrmap_init(&look.seen, in->mem);
  VEC_INIT(&look.adts, in->mem);
  VEC_INIT(&look.parts, in->mem);
  look_later(&look, first);
  for (size_t at = 0; at < look.adts.len && !found->what; at++) {
    const Adt *adt = look.adts.data[at];
    for (int i = 0; i < adt->ctor_count; i++)
      for (int k = 0; adt->ctors[i].fields && k < adt->ctors[i].field_count;
           k++)
        look_in_field(&look, &adt->ctors[i], k, found);
  }
  VEC_DONE(&look.parts);
  VEC_DONE(&look.adts);
  ptrmap_done(&look.seen);
}

/* A value of a data type need not hold what its type may: `adts` says whether
 * these count. */
static void look_inside(Infer *in, Ty *t, bool adts, Inside *found) {
  t = ty_head(t);
  bool whole = t->kind == K_TUPLE || (adts && t->kind == K_ADT);
  if (!whole || found->what || !infer_enter(in)) return;
  for (int i = 0; i < t->count; i++) {
    const Ty *part = ty_head(t->args[i]);
    if (holds_state(part)) note_inside(found, NULL, i, part->kind == K_FN);
    look_inside(in, t->args[i], adts, found);
  }
  if (t->kind == K_ADT) look_in_adt(in, t->adt, found);
  in->depth--;
}

/* False after a report: no gradient of an argument of this type, or no tangent
 * of a result. */
static bool check_inside(Infer *in, const Constraint *c, Ty *t) {
  Inside found = {NULL, NULL, 0};
  look_inside(in, t, c->inputs, &found);
  if (!found.what) return true;
  const char *label = NULL;
  if (found.ctor && found.ctor->labels && found.ctor->labels[found.index].name)
    label = found.ctor->labels[found.index].name->text;
  const char *part = label ? arena_printf(in->arena, "field `%s`", label)
                     : found.ctor
                         ? arena_printf(in->arena, "field %d of `%s`",
                                        found.index, found.ctor->name->text)
                         : arena_printf(in->arena, "part %d", found.index);
  Diag *d =
      diag_error(in->p->diags, c->inputs ? E0218 : E0217, c->e->args[0]->span,
                 "`%s` has no %s for %s, %s in %s of type %s", c->op->name,
                 c->inputs ? "gradient" : "tangent", part, found.what,
                 c->inputs ? "an argument" : "a result", ty_text(in, t));
  if (found.ctor) diag_note(d, found.ctor->span, "it is declared here");
  diag_hint(d, c->inputs
                   ? "make it an argument of its own, whose gradient is (), or "
                     "capture it"
                   : "leave it out of the result");
  return false;
}

/* The constraint's args are T's, its result is a tuple of T's. */
static Ty *primes(Infer *in, const Expr *e, bool inputs, int count,
                  Ty *const *types, Ty *scalar) {
  Constraint *c = constraint_new(in, C_FORM_OF, e);
  c->inputs = inputs;
  c->op = op_info(e->call.callee->op);
  c->args = ty_array(in, count + 1);
  Ty **made = ty_array(in, count);
  if (!c->args || !made) return in->error;
  for (int i = 0; i < count; i++) {
    c->args[i] = types[i];
    made[i] = ty_meta(in);
  }
  if (scalar) c->args[count] = scalar;
  c->count = count + (scalar != NULL);
  c->result = ty_tuple(in, count, made);
  constraint_start(in, c);
  return c->result;
}

/* Is it grad(...), as in grad(grad(@f))? */
static bool is_gradient(const Expr *e) {
  return e->kind == EX_CALL && e->call.callee->kind == EX_OP &&
         e->call.callee->op == OP_GRAD;
}

/* The expression that gives the result of the function; NULL: its text is not
 * there. */
static const Expr *result_of(const Expr *f) {
  const Global *g = f->kind == EX_GLOBAL ? f->g.global : NULL;
  if (g) f = g->definition ? g->definition->value : g->value;
  return f && f->kind == EX_FN ? expr_result(f->fn->body) : NULL;
}

/* The way out where a result is no tensor. */
static void hint_no_scalar(Infer *in, Diag *d, const Expr *f, Ty *t) {
  const Expr *result = result_of(f);
  if (result && hint_semicolon(in, d, t, result->span)) return;
  if (t->kind == K_TUPLE && t->count == 0)
    diag_hint(d, "the last expression of a function is its value");
  else if (holds_state(t)) hint_inside(d, t);
  else diag_hint(d, "vjp(f, x...) takes any result");
}

/* False after a report. */
static bool check_scalar(Infer *in, Constraint *c, Ty *t) {
  bool fits =
      t->kind == K_ERROR || (t->kind == K_TENSOR && !t->any_rank &&
                             t->rank == 0 && dtype_is_float((DType)t->dtype));
  if (fits) return true;
  Diag *d = diag_error(in->p->diags, E0217, c->span,
                       "`grad` takes a function that gives a float scalar; "
                       "this one gives %s",
                       ty_text(in, t));
  if (is_gradient(c->e->args[0]))
    diag_hint(d,
              "for a second derivative choose one of the first: "
              "grad(fn (%%x) { grad(f)(%%x).1.0 })");
  else if (t->kind != K_TENSOR) hint_no_scalar(in, d, c->e->args[0], t);
  else if (dtype_is_float((DType)t->dtype))
    diag_hint(d,
              "sum or average it: sum(...), mean(...); or take vjp, which "
              "takes any result");
  else diag_hint(d, "only floats have derivatives: 3f is one, 3 is none");
  return false;
}

void run_form_of(Infer *in, Constraint *c) {
  int count = c->result->count;
  bool waits = false;
  for (int i = 0; i < c->count; i++) {
    Ty *t = ty_head(c->args[i]);
    if (t->kind == K_META) {
      constraint_wait(in, t, c);
      waits = true;
      continue;
    }
    if (i == count) {
      if (!check_scalar(in, c, t)) {
        c->gone = true;
        return;
      }
      continue;
    }
    Ty *to = ty_head(c->result->args[i]);
    if (to->kind != K_META) continue;
    bool tangent = c->op->special == SPECIAL_JVP;
    if ((c->inputs || tangent) && !check_inside(in, c, t)) {
      c->gone = true;
      require_flow(in, in->error, to,
                   (Why){.kind = WHY_OPERATOR, .span = c->span});
      return;
    }
    require_same(in, holds_state(t) ? in->unit : t, to,
                 (Why){.kind = WHY_OPERATOR, .span = c->span});
  }
  c->solved = !waits;
}

/* --- Forms ---------------------------------------------------------------- */

static Why argument(Infer *in, const Expr *e, int i) {
  return (Why){.kind = WHY_ARGUMENT,
               .name = name_of(in->p->names, op_info(e->call.callee->op)->name),
               .index = i,
               .span = e->args[i]->span};
}

void report_no_function(Infer *in, const Expr *e, Ty **args) {
  const char *name = op_info(e->call.callee->op)->name;
  Diag *d = diag_error(in->p->diags, E0205, e->args[0]->span,
                       "`%s` takes a function: this is %s", name,
                       ty_text(in, args[0]));
  /* grad(@f(%x)) is meant to be grad(@f)(%x). */
  const char *hint = foreign_hint(name, strlen(name), FOREIGN_COUNT);
  if (hint && e->args[0]->kind == EX_CALL) diag_hint(d, "%s", hint);
  for (int i = 1; i < e->count; i++) {
    if (ty_head(args[i])->kind != K_FN) continue;
    diag_hint(d, "the function comes first");
    /* Nor is it to be reported that its parameters' types are not known. */
    require_flow(in, in->error, args[i], argument(in, e, i));
  }
}

/* How the inputs of a function of so many parameters are given to vjp. */
static void hint_inputs(Diag *d, const Expr *e, int count) {
  static const char *const names[] = {"", ", %x", ", %x, %y", ", %x, %y, %z"};
  const Expr *f = e->args[0];
  const char *sigil = f->kind == EX_GLOBAL ? global_sigil(f->g.global) : "%",
             *name = f->kind == EX_GLOBAL ? f->g.global->name->text
                     : f->kind == EX_VAR  ? f->var->name->text
                                          : "f";
  diag_hint(d, "the inputs follow the function, one by one: vjp(%s%s%s)", sigil,
            name, count <= 3 ? names[count] : ", %x, %y, ...");
}

/* How many parameters a function of any shapes and dtypes has, whose type is
 * not known yet; -1: it is something else. */
static int declared_params(const Expr *f) {
  const Generic *g = f->kind == EX_GLOBAL ? f->g.global->generic : NULL;
  return g ? g->item->expr->fn->param_count : -1;
}

/* The function, of `count` parameters where the form says that (else -1): NULL
 * after a report, or where its type is not known. */
static Ty *function_of(Infer *in, const Expr *e, Ty **args, int count) {
  Ty *f = ty_head(args[0]);
  if (count < 0) count = declared_params(e->args[0]);
  if (f->kind == K_META && count >= 0) {
    Ty **params = ty_array(in, count);
    for (int i = 0; params && i < count; i++) params[i] = ty_meta(in);
    Ty *made = params ? ty_fn(in, count, params, ty_meta(in)) : in->error;
    require_same(in, made, f, (Why){.kind = WHY_CALLEE, .span = e->span});
    return made;
  }
  if (ty_is_poly(f)) {
    Ty **targs;
    f = ty_instantiate(in, f, f->param_count, f->params, &targs);
  }
  const char *name = op_info(e->call.callee->op)->name;
  if (f->kind == K_FN && (count < 0 || f->count == count)) return f;
  if (f->kind == K_ERROR) return NULL;
  if (f->kind == K_FN) {
    Diag *d = diag_error(in->p->diags, E0204, e->span,
                         "`%s` was given %d argument%s for a function of %d",
                         name, count, count == 1 ? "" : "s", f->count);
    if (e->call.callee->op == OP_VJP) hint_inputs(d, e, f->count);
    return NULL;
  }
  /* An operator, or a function of any shapes: that its type is not known is
   * reported where it stands. */
  const Expr *given = e->args[0];
  if (f->kind == K_META && (given->kind == EX_OP || given->kind == EX_GLOBAL))
    return NULL;
  if (f->kind == K_META) {
    Diag *d = diag_error(in->p->diags, E0202, e->args[0]->span,
                         "`%s` must know how many arguments this function "
                         "takes",
                         name);
    diag_hint(d, "annotate it: %%f: fn(float32) -> float32");
    return NULL;
  }
  report_no_function(in, e, args);
  return NULL;
}

static Ty *infer_grad(Infer *in, const Expr *e, Ty **args) {
  Ty *f = function_of(in, e, args, -1);
  if (!f) return in->error;
  Ty **both = ty_array(in, 2);
  if (!both) return in->error;
  both[0] = f->result;
  both[1] = primes(in, e, true, f->count, f->args, f->result);
  return ty_fn(in, f->count, f->args, ty_tuple(in, 2, both));
}

static Ty *infer_vjp(Infer *in, const Expr *e, Ty **args) {
  Ty *f = function_of(in, e, args, e->count - 1);
  if (!f) return in->error;
  for (int i = 0; i < f->count; i++)
    require_flow(in, args[i + 1], f->args[i], argument(in, e, i + 1));
  Ty **both = ty_array(in, 2);
  if (!both) return in->error;
  Ty *seed = primes(in, e, false, 1, &f->result, NULL);
  both[0] = f->result;
  both[1] =
      ty_fn(in, 1, seed->args, primes(in, e, true, f->count, f->args, NULL));
  return ty_tuple(in, 2, both);
}

/* The inputs and the tangents are tuples of as many as the function takes. */
static Ty *infer_jvp(Infer *in, const Expr *e, Ty **args) {
  Ty *inputs = ty_head(args[1]);
  bool tuple = inputs->kind == K_TUPLE;
  Ty *f = function_of(in, e, args, tuple ? inputs->count : -1);
  if (!f) return in->error;
  require_flow(in, args[1], ty_tuple(in, f->count, f->args),
               argument(in, e, 1));
  require_flow(in, args[2], primes(in, e, true, f->count, f->args, NULL),
               argument(in, e, 2));
  Ty **both = ty_array(in, 2);
  if (!both) return in->error;
  both[0] = f->result;
  both[1] = primes(in, e, false, 1, &f->result, NULL)->args[0];
  return ty_tuple(in, 2, both);
}

/* The rule g of with_vjp(f, g) is `wanted`.  Where its text is there, each
 * adjoint is looked at by itself, so that a message is about one. */
static void require_rule(Infer *in, const Expr *e, Ty *given, Ty *wanted) {
  const Expr *f = e->args[0], *g = e->args[1];
  Ty *found = ty_head(given);
  bool here = g->kind == EX_FN && found->kind == K_FN && !ty_is_poly(found) &&
              found->count == wanted->count;
  if (!here) {
    require_same(in, given, wanted, argument(in, e, 1));
    return;
  }
  Ty *same = ty_fn(in, wanted->count, wanted->args, found->result);
  if (!require_same(in, given, same, argument(in, e, 1))) return;
  const Expr *last = expr_result(g->fn->body);
  bool own = e->sugar == SUGAR_GRADIENT;
  Why why = {.kind = WHY_ADJOINT,
             .name = own ? in->home->item->name : NULL,
             .sigil = "@",
             .span = last->span};
  Ty *parts = ty_head(found->result), *all = wanted->result;
  if (parts->kind != K_TUPLE || parts->count != all->count) {
    require_same(in, parts, all, why);
    return;
  }
  for (int i = 0; i < all->count; i++) {
    Why each = why;
    each.label = g->fn->params[i]->name;
    if (last->kind == EX_TUPLE) each.span = expr_result(last->args[i])->span;
    if (f->kind == EX_FN) each.other = var_span(f->fn->params[i]);
    require_same(in, parts->args[i], all->args[i], each);
  }
}

/*   f : fn(T1, ..., Tn) -> R    g : fn(T1, ..., Tn, R, R') -> (T1', ..., Tn')
 *   -----------------------------------------------------------------------
 *   with_vjp(f, g) : fn(T1, ..., Tn) -> R                                    */
static Ty *infer_with_vjp(Infer *in, const Expr *e, Ty **args) {
  Ty *f = function_of(in, e, args, -1);
  if (!f) return in->error;
  Ty **params = ty_array(in, f->count + 2);
  if (!params) return in->error;
  for (int i = 0; i < f->count; i++) params[i] = f->args[i];
  params[f->count] = f->result;
  params[f->count + 1] = primes(in, e, false, 1, &f->result, NULL)->args[0];
  Ty *rule = ty_fn(in, f->count + 2, params,
                   primes(in, e, true, f->count, f->args, NULL));
  require_rule(in, e, args[1], rule);
  return f;
}

Ty *infer_form(Infer *in, const Expr *e, Ty **args) {
  switch (op_info(e->call.callee->op)->special) {
    case SPECIAL_GRAD: return infer_grad(in, e, args);
    case SPECIAL_VJP: return infer_vjp(in, e, args);
    case SPECIAL_JVP: return infer_jvp(in, e, args);
    case SPECIAL_WITH_VJP: return infer_with_vjp(in, e, args);
    case SPECIAL_MAP_LEAVES: return infer_map_leaves(in, e, args);
    case SPECIAL_CHECKPOINT: {
      Ty *f = function_of(in, e, args, -1);
      return f ? f : in->error;
    }
    default: return args[0];
  }
}
