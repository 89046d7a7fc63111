/* Named fields, once the type of the value is known: then the node becomes the
 * match that it stands for, in place, and is inferred as one.
 *
 *   D has the one constructor C(a: t1, b: t2)
 *
 *   e.b                match (e) { C(_, %b) => %b }
 *   {e with b = v}     match (e) { C(%a, _) => C(%a, v) }
 *
 * All fields of the copy but the changed ones come out of the pattern, so the
 * match gives its cell to the constructor where nothing else holds the value
 * (bytecode/lower/borrow.c).  resolve_field.c has brought the operands into the
 * order of the text. */
#include "ir/foreign.h"
#include "types/infer.h"
#include "types/resolve.h"

/* --- Whose fields? ------------------------------------------------------- */

static const char *field_text(const Expr *e, Span *span) {
  bool with = e->sugar == SUGAR_WITH;
  const Name *name = with ? e->call.attrs[0].name : e->field.name;
  *span = with ? e->call.attrs[0].span : e->field.span;
  return name->text;
}

/* What NumPy and PyTorch have as a field or a method of a tensor is an operator
 * here, mostly of the same name. */
static void hint_operator(Diag *d, const char *name) {
  static const struct {
    const char *name;
    OpId op;
  } others[] = {
      {"shape", OP_SHAPE_OF},
      {"T", OP_TRANSPOSE},
      {"size", OP_NDARRAY_SIZE},
      {"view", OP_RESHAPE},
      {"unsqueeze", OP_EXPAND_DIMS},
      {"astype", OP_CAST},
      {"to", OP_CAST},
      {"dot", OP_NN_MATMUL},
  };
  bool dyn;
  OpId op = op_find(name, &dyn);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (!strcmp(name, others[i].name)) op = others[i].op;
  size_t len = strlen(name);
  const char *hint = foreign_hint(name, len, FOREIGN_FIELD);
  if (!hint && op != OP_COUNT) {
    diag_hint(d, "an operator is called: %s(%%x)", op_info(op)->name);
    return;
  }
  if (!hint) hint = foreign_hint(name, len, FOREIGN_NAME);
  if (hint) diag_hint(d, "%s", hint);
  else diag_hint(d, "an operator is called: exp(%%x), sum(%%x, axis=[0])");
}

static void report_no_fields(Infer *in, const Expr *e, Ty *t) {
  Span span;
  const char *name = field_text(e, &span);
  Diag *d = diag_error(in->p->diags, E0206, span,
                       "only data types have named fields: this is %s, which "
                       "has no field `%s`",
                       ty_text(in, t), name);
  if (t->kind == K_TENSOR) hint_operator(d, name);
  else hint_inside(d, t);
}

/* The constructor of the type; NULL after a report. */
static const Ctor *only_ctor(Infer *in, const Expr *e, Ty *t) {
  if (t->kind == K_ERROR) return NULL;
  if (t->kind != K_ADT || t->adt->ctor_count == 0) {
    report_no_fields(in, e, t);
    return NULL;
  }
  const Adt *adt = t->adt;
  if (adt->ctor_count == 1) return adt->ctors[0].type ? adt->ctors : NULL;
  Span span;
  const char *name = field_text(e, &span);
  Diag *d = diag_error(in->p->diags, E0206, span,
                       "`%s` has %d constructors, so not every value of it has "
                       "a field `%s`",
                       adt->name->text, adt->ctor_count, name);
  const Ctor *with = adt->ctors;
  const Name *wanted = name_of(in->p->names, name);
  for (int i = 0; i < adt->ctor_count; i++)
    if (ctor_field(&adt->ctors[i], wanted) >= 0) with = &adt->ctors[i];
  if (ctor_field(with, wanted) >= 0)
    diag_hint(d, "match (...) { %s(%s=%%x) => ..., _ => ... }",
              with->name->text, name);
  else diag_hint(d, "what is in it comes by match (%%x) { ... }");
  diag_note(d, adt->span, "declared here");
  return NULL;
}

/* --- The match ----------------------------------------------------------- */

static Pattern *pattern_new(Infer *in, PatternKind kind, Span span) {
  Pattern *p = ARENA_NEW(&in->p->arena, Pattern);
  p->kind = kind;
  p->span = span;
  return p;
}

/* C(_, ..., _): its fields are still to be named. */
static Pattern *ctor_pattern(Infer *in, const Ctor *ctor, Span span,
                             const Pattern ***fields) {
  int n = ctor->field_count;
  *fields = ARENA_ARRAY(&in->p->arena, const Pattern *, (size_t)n);
  if (!*fields) return NULL;
  for (int i = 0; i < n; i++) (*fields)[i] = pattern_new(in, PT_WILD, span);
  Pattern *p = pattern_new(in, PT_CTOR, span);
  p->name = ctor->name;
  p->ctor = ctor;
  p->parens = true;
  p->fields = *fields;
  p->count = n;
  p->height = 1;
  return p;
}

static Expr *bind_field(Infer *in, const Ctor *ctor, int i, Span span,
                        const Pattern **fields) {
  Pattern *p = pattern_new(in, PT_VAR, span);
  p->var = var_late(in, ctor->labels[i].name, span);
  fields[i] = p;
  Expr *use = expr_new(&in->p->arena, EX_VAR, span);
  use->var = p->var;
  return use;
}

/* The node becomes match (e) { p => body }, of which the pattern is inferred.
 * False after a report. */
static bool become_match(Infer *in, const Expr *e, Ty *t, const Pattern *p,
                         const Expr *body) {
  Match *match = ARENA_NEW(&in->p->arena, Match);
  Arm *arm = ARENA_NEW(&in->p->arena, Arm);
  *arm = (Arm){.span = e->span, .pattern = p, .body = body};
  *match = (Match){.arm_count = 1, .arms = arm};
  Expr *made = (Expr *)e;
  made->kind = EX_MATCH;
  made->sugar = SUGAR_NONE;
  made->count = 1;
  made->match = match;
  return infer_pattern(in, p, t, e->args[0]->span);
}

/*   e : D[s...]    C : fn [A...](..., t, ...) -> D[A...]    t the type of b
 *   -------------------------------------------------------------------------
 *   e.b : t[s/A]                                                             */
static const Expr *open_field(Infer *in, const Expr *e, Ty *t) {
  const Ctor *ctor = only_ctor(in, e, t);
  int i = ctor ? ctor_field(ctor, e->field.name) : -1;
  if (ctor && i < 0) unknown_field(in->p, ctor, e->field.name, e->field.span);
  if (i < 0) return NULL;
  if (e->field.parsed) ((Expr *)e->field.parsed)->field.ctor = ctor;
  const Pattern **fields;
  Pattern *p = ctor_pattern(in, ctor, e->span, &fields);
  if (!p) return NULL;
  const Expr *use = bind_field(in, ctor, i, e->field.span, fields);
  return become_match(in, e, t, p, use) ? use : NULL;
}

/* --- Changed copies ------------------------------------------------------ */

/* The values by their fields' places.  False after a report. */
static bool find_values(Infer *in, const Expr *e, const Ctor *ctor,
                        const Expr **values) {
  bool ok = true;
  for (int i = 0; i < e->call.attr_count; i++) {
    const Attr *attr = &e->call.attrs[i];
    int place = ctor_field(ctor, attr->name);
    if (place < 0) unknown_field(in->p, ctor, attr->name, attr->span);
    else values[place] = e->args[i + 1];
    ok &= place >= 0;
  }
  return ok;
}

/* A type parameter that no changed field mentions stays what it was. */
static void keep_params(Infer *in, const Ctor *ctor, const bool *changed,
                        Ty *from, Ty *to) {
  const Adt *adt = ctor->adt;
  for (int k = 0; to->kind == K_ADT && k < adt->param_count; k++) {
    bool free = false;
    for (int i = 0; i < ctor->field_count && !free; i++)
      free = changed[i] &&
             type_mentions(in->types, ctor->fields[i], 1, &adt->params[k]);
    if (!free) ty_unify(in, to->args[k], from->args[k], NULL);
  }
}

/*   e : D[s...]    C : fn [A...](t1, ..., tn) -> D[A...]    v ~> ti[u/A]
 *   tk[s/A] ~> tk[u/A] for all other k    u = s where ti does not mention A
 *   -------------------------------------------------------------------------
 *   {e with i = v} : D[u...]                                                 */
static Ty *infer_copy(Infer *in, const Expr *e, Ty *t) {
  const Ctor *ctor = only_ctor(in, e, t);
  if (!ctor) return in->error;
  Arena *arena = &in->p->arena;
  size_t n = (size_t)ctor->field_count;
  const Expr **values = ARENA_ARRAY(arena, const Expr *, n + 1);
  bool *changed = ARENA_ARRAY(in->arena, bool, n + 1);
  const Pattern **fields;
  Pattern *p = ctor_pattern(in, ctor, e->span, &fields);
  if (!values || !changed || !p || !find_values(in, e, ctor, values))
    return in->error;
  ((Expr *)e->call.callee)->ctor = ctor;
  for (int i = 0; i < ctor->field_count; i++) {
    changed[i] = values[i] != NULL;
    if (!values[i]) values[i] = bind_field(in, ctor, i, e->span, fields);
  }
  Expr *callee = expr_new(arena, EX_CTOR, e->span);
  callee->ctor = ctor;
  Expr *copy = expr_call(arena, e->span, callee, ctor->field_count, values);
  if (!become_match(in, e, t, p, copy)) return in->error;
  Ty *made = infer_expr(in, copy);
  keep_params(in, ctor, changed, t, ty_head(made));
  return made;
}

/* --- Both ---------------------------------------------------------------- */

Ty *infer_known_field(Infer *in, const Expr *e, Ty *t) {
  if (e->kind != EX_FIELD) return infer_copy(in, e, t);
  const Expr *use = open_field(in, e, t);
  return use ? infer_expr(in, use) : in->error;
}

Ty *infer_field(Infer *in, const Expr *e, Ty *head) {
  Ty *t = ty_head(head ? head : infer_expr(in, e->args[0]));
  if (t->kind != K_META) return infer_known_field(in, e, t);
  Constraint *c = constraint_new(in, C_FIELD, e);
  c->args = ty_array(in, 1);
  if (!c->args) return in->error;
  c->args[0] = t;
  c->count = 1;
  c->result = ty_meta(in);
  constraint_start(in, c);
  return c->result;
}
