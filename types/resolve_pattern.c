/* Resolution of patterns, arm by arm.
 *
 * An or-pattern is taken apart: each of its alternatives becomes an arm, and
 * the arms share their variables, guard and body.
 *
 *   Disc(%x) | Box(%x, _) => e     Disc(%x)   => e
 *                                  Box(%x, _) => e, shared
 *
 * So no later phase knows alternatives.  The first alternative binds the
 * variables, the others must bind the same ones.
 *
 * A literal becomes a constructor of a type that belongs to the match and has
 * one for each literal of that dtype, and, except for bool, one more that
 * stands for all other values.  The search for missing values
 * (exhaust_search.c) and the lowering of matches thus know constructors
 * only. */
#include "types/resolve.h"

/* Of two variables of one name the second has a Name of its own
 * (parser/build.c), except between the alternatives of a pattern, which are no
 * Relay.  Ids rise, so a variable of this list has an id from `first` on, and
 * an older one of the same name is merely hidden. */
void bind_once(Resolver *r, uint32_t first, Var *var) {
  const char *text = var->name->text;
  const Name *name = name_of(r->p->names, text);
  bool blank = text[0] == '_' && !text[1];
  const Var *before = ptrmap_get(&r->vars, name);
  scope_bind(r, &r->vars, var->name, var);
  if (blank || !before || before->id < first) return;
  if (var->name == name) {
    diag_error(r->p->diags, E0404, var->span, "`%%%s` is bound twice", text);
    return;
  }
  Diag *d = diag_warning(r->p->diags, W0004, var->span,
                         "`%%%s` is bound twice: it means the first one", text);
  diag_note(d, before->span, "the first one is here");
  diag_hint(d, "give it another name, or `%%_` where nothing uses it");
}

/* --- Literals ------------------------------------------------------------- */

static int count_literals(const Pattern *p) {
  int n = p->kind == PT_LITERAL;
  for (int i = 0; i < p->count; i++) n += count_literals(p->fields[i]);
  return n;
}

/* As many constructors as the match may have literals, and that for others.
 * NULL: memory ran out.  The array is made for all at once, since patterns hold
 * pointers into it. */
static Adt *literals_new(ArmList *list, DType dtype) {
  Arena *arena = list->r->arena;
  size_t most = dtype == DT_BOOL ? 2 : 1;
  for (int i = 0; dtype != DT_BOOL && i < list->parsed->arm_count; i++)
    most += (size_t)count_literals(list->parsed->arms[i].pattern);
  Adt *adt = ARENA_NEW(arena, Adt);
  Ctor *ctors = ARENA_ARRAY(arena, Ctor, most);
  if (!ctors) return NULL;
  *adt = (Adt){.name = name_of(list->r->p->names, dtype_name(dtype)),
               .literals = true,
               .open = dtype != DT_BOOL,
               .ctor_count = dtype == DT_BOOL ? 2 : 1,
               .ctors = ctors};
  static const char *const names[] = {"False", "True"};
  for (int i = 0; i < adt->ctor_count; i++) {
    const char *name = adt->open ? "_" : names[i];
    ctors[i] =
        (Ctor){.name = name_of(list->r->p->names, name), .adt = adt, .tag = i};
  }
  return adt;
}

/* What the language writes for the literal, `7i64`: a name that only equal
 * literals of one dtype share.  0 and -0 are equal. */
static const Name *literal_name(ArmList *list, DType dtype, Value bits) {
  if (dtype_is_float(dtype) && bits_to_f64(dtype, bits) == 0) bits.bits = 0;
  StrBuf text;
  strbuf_init(&text, list->r->c->mem);
  scalar_print_literal(&text, dtype, bits);
  const Name *name = name_of(list->r->p->names, strbuf_text(&text));
  strbuf_done(&text);
  return name;
}

/* Two arms of the same number get one constructor, so the second is found to be
 * unreachable. */
static const Ctor *literal_ctor(ArmList *list, const Tensor *constant) {
  DType dtype = (DType)constant->dtype;
  Adt **adt = &list->literals[dtype];
  if (!*adt) *adt = literals_new(list, dtype);
  if (!*adt) return NULL;
  Value bits = tensor_bits_at(constant, 0);
  const Name *name = literal_name(list, dtype, bits);
  Ctor *ctor = dtype == DT_BOOL ? &(*adt)->ctors[bits.b]
                                : ptrmap_get(&list->known, name);
  if (!ctor) {
    ctor = &(*adt)->ctors[(*adt)->ctor_count];
    *ctor = (Ctor){.name = name, .adt = *adt, .tag = (*adt)->ctor_count++};
    ptrmap_put(&list->known, name, ctor);
  }
  ctor->literal = constant;
  return ctor;
}

static void resolve_literal(ArmList *list, Pattern *p) {
  DType dtype = (DType)p->constant->dtype;
  double real = dtype_is_float(dtype)
                    ? bits_to_f64(dtype, tensor_bits_at(p->constant, 0))
                    : 0;
  if (real != real) {
    Diag *d = diag_error(list->r->p->diags, E0406, p->span,
                         "a NaN equals nothing, so this takes no value");
    diag_hint(d,
              "bind a variable and ask in a guard: %%x if isnan(%%x) => ...");
  } else {
    p->ctor = literal_ctor(list, p->constant);
  }
}

/* --- Patterns without alternatives ---------------------------------------- */

/* Resolves a pattern; `alternative`: of an arm whose variables the first
 * alternative has bound. */
typedef struct Taking {
  ArmList *list;
  uint32_t first; /* ids of the arm's variables, from here on */
  bool alternative;
} Taking;

/* A variable of an alternative that is not the first: it must be one that the
 * first binds, be bound here only once, and have the same annotation. */
static void bind_again(Taking *t, Pattern *p, const Var *parsed) {
  Resolver *r = t->list->r;
  Var *var = ptrmap_get(&r->vars, parsed->name);
  Names *names = &t->list->names;
  for (size_t i = 0; var && i < names->len; i++) {
    if (names->data[i].var != var) continue;
    if (names->data[i].taken)
      diag_error(r->p->diags, E0404, p->span, "`%%%s` is bound twice",
                 parsed->name->text);
    names->data[i].taken = true;
    p->var = var;
    p->again = true;
    if (!parsed->annotation) return;
    const Type *declared = resolve_type(r, parsed->annotation);
    if (declared == var->declared || declared->kind == TY_ERROR) return;
    Diag *d = diag_error(r->p->diags, E0405, p->span,
                         "`%%%s` has one type in all alternatives",
                         parsed->name->text);
    diag_note(d, var_span(var), "the first alternative binds it here");
    return;
  }
  p->var = resolve_var(r, parsed);
  Diag *d = diag_error(r->p->diags, E0405, p->span,
                       "`%%%s` is bound by this alternative, but not by the "
                       "first one",
                       parsed->name->text);
  diag_hint(d,
            "alternatives bind the same variables: write `_` for a part "
            "that is not needed, or an arm of its own");
}

static void resolve_pattern_var(Taking *t, Pattern *p, const Var *parsed) {
  Resolver *r = t->list->r;
  if (t->alternative) {
    bind_again(t, p, parsed);
    return;
  }
  p->var = resolve_var(r, parsed);
  bind_once(r, t->first, p->var);
  if (t->list->alternatives.len > 1)
    VEC_PUSH(&t->list->names, (TakenName){p->var, false});
}

/* Recursion is bounded by the nesting of the pattern as parsed. */
static const Pattern *resolve_pattern(Taking *t, const Pattern *parsed) {
  Resolver *r = t->list->r;
  Pattern *p = ARENA_NEW(r->arena, Pattern);
  *p = *parsed;
  if (p->kind == PT_VAR) resolve_pattern_var(t, p, parsed->var);
  if (p->kind == PT_LITERAL) resolve_literal(t->list, p);
  if (p->kind == PT_CTOR) {
    p->ctor = find_ctor(r, p->name);
    if (!p->ctor) unknown_ctor(r, p->span, p->name);
  }
  if (p->count == 0) return p;
  const Pattern **fields =
      ARENA_ARRAY(r->arena, const Pattern *, (size_t)parsed->count);
  p->fields = fields;
  if (!fields) p->count = 0;
  for (int i = 0; i < p->count; i++)
    fields[i] = resolve_pattern(t, parsed->fields[i]);
  resolve_labels(r, p);
  return p;
}

/* --- Alternatives --------------------------------------------------------- */

/* Alternatives multiply: (A | B, C | D) stands for four.  After the report one
 * is kept, so that the arm's variables are known. */
static void take_apart(ArmList *list, const Pattern *whole) {
  Resolver *r = list->r;
  Patterns *out = &list->alternatives;
  VEC_CLEAR(out);
  if (pattern_alternatives(r->c->mem, r->arena, whole, out)) return;
  Diag *d = diag_error(r->p->diags, E0407, whole->span,
                       "this pattern stands for more than %d alternatives",
                       ALTERNATIVES_MAX);
  diag_hint(d, "bind a variable and ask in a guard: %%x if ... => ...");
  if (out->len > 1) out->len = 1;
}

/* --- Arms ----------------------------------------------------------------- */

void arms_begin(ArmList *list, Resolver *r, const Match *parsed) {
  *list = (ArmList){.r = r, .parsed = parsed};
  VEC_INIT(&list->arms, r->c->mem);
  VEC_INIT(&list->alternatives, r->c->mem);
  VEC_INIT(&list->names, r->c->mem);
  ptrmap_init(&list->known, r->c->mem);
}

/* Marks which names each alternative has bound, to find those that it lacks. */
size_t arms_add(ArmList *list, const Arm *parsed) {
  Resolver *r = list->r;
  size_t first = list->arms.len;
  Taking t = {.list = list, .first = r->p->next_var_id};
  Arm arm = *parsed;
  VEC_CLEAR(&list->names);
  VEC_CLEAR(&list->alternatives);
  if (parsed->pattern->has_or) take_apart(list, parsed->pattern);
  else VEC_PUSH(&list->alternatives, parsed->pattern);
  for (size_t i = 0; i < list->alternatives.len; i++) {
    const Pattern *p = list->alternatives.data[i];
    t.alternative = arm.shares = i > 0;
    for (size_t k = 0; k < list->names.len; k++)
      list->names.data[k].taken = false;
    arm.pattern = resolve_pattern(&t, p);
    VEC_PUSH(&list->arms, arm);
    for (size_t k = 0; t.alternative && k < list->names.len; k++) {
      const TakenName *name = &list->names.data[k];
      if (name->taken) continue;
      Diag *d = diag_error(r->p->diags, E0405, p->span,
                           "this alternative does not bind `%%%s`",
                           name->var->name->text);
      diag_note(d, var_span(name->var), "the first alternative binds it here");
      break;
    }
  }
  return first;
}

const Match *arms_end(ArmList *list) {
  Match *match = ARENA_NEW(list->r->arena, Match);
  match->partial = list->parsed->partial;
  if (list->arms.len > 0) {
    match->arms = VEC_TO_ARENA(&list->arms, list->r->arena);
    match->arm_count = match->arms ? (int)list->arms.len : 0;
  }
  VEC_DONE(&list->arms);
  VEC_DONE(&list->alternatives);
  VEC_DONE(&list->names);
  ptrmap_done(&list->known);
  return match;
}
