/* What is given for a parameter, against what its type declares.
 *
 *   def @main[n: Dim](%x: Tensor[(n, 4), float32])      x=(8,4)
 *
 * fits, and says that n is 8.  A name has one meaning: what is given elsewhere
 * has to agree.  Numbers, ranks and dtypes that contradict the type are
 * reported, with both places. */
#include <inttypes.h>
#include <stdio.h>

#include "passes/special.h"
#include "tensor/tensor.h"

/* --- What the shapes say of names ----------------------------------------- */

static TypeExpr *type_new(Special *s, TypeExprKind kind, Span span) {
  TypeExpr *t = ARENA_NEW(&s->u->arena, TypeExpr);
  *t = (TypeExpr){.kind = kind, .span = span, .height = 1};
  return t;
}

static const DimExpr *number(Special *s, int64_t n, Span span) {
  DimExpr *d = ARENA_NEW(&s->u->arena, DimExpr);
  *d = (DimExpr){.kind = DX_NUMBER, .span = span, .number = n};
  return d;
}

static const TypeExpr *dim_type(Special *s, int64_t n, Span span) {
  TypeExpr *t = type_new(s, TX_DIM, span);
  const DimExpr **dims = ARENA_ARRAY(&s->u->arena, const DimExpr *, 1);
  if (!dims) return t;
  dims[0] = number(s, n, span);
  t->dims = dims;
  t->dim_count = 1;
  return t;
}

/* The dimensions [from, to) of what is given. */
static const TypeExpr *shape_type(Special *s, const Given *g, int from,
                                  int to) {
  TypeExpr *t = type_new(s, TX_TUPLE, g->what);
  const TypeExpr **args =
      ARENA_ARRAY(&s->u->arena, const TypeExpr *, (size_t)(to - from) + 1);
  for (int i = from; args && i < to; i++)
    args[i - from] = dim_type(s, g->shape[i], g->what);
  t->args = args;
  t->arg_count = args ? to - from : 0;
  t->height = 2;
  return t;
}

const TypeExpr *special_meaning(const Special *s, const Name *name) {
  for (size_t i = 0; i < s->names.len; i++)
    if (s->names.data[i].name == name) return s->meant.data[i];
  return NULL;
}

const TypeParam *special_name(const Fn *fn, const Name *name) {
  for (int i = 0; fn && i < fn->type_param_count; i++)
    if (fn->type_params[i].name == name) return &fn->type_params[i];
  return NULL;
}

static bool same_shape(const TypeExpr *a, const TypeExpr *b) {
  bool same = a->arg_count == b->arg_count;
  for (int i = 0; same && i < a->arg_count; i++)
    same = special_number(a->args[i]) == special_number(b->args[i]);
  return same;
}

static bool same_meaning(const TypeExpr *a, const TypeExpr *b) {
  if (a->kind != b->kind) return false;
  if (a->kind == TX_TENSOR) return a->dtype == b->dtype;
  return a->kind == TX_DIM ? special_number(a) == special_number(b)
                           : same_shape(a, b);
}

static void put_meaning(StrBuf *out, const TypeExpr *t) {
  if (t->kind == TX_TENSOR) strbuf_add(out, dtype_name(t->dtype));
  if (t->kind == TX_DIM) strbuf_addf(out, "%" PRId64, special_number(t));
  if (t->kind != TX_TUPLE) return;
  strbuf_add_char(out, '(');
  for (int i = 0; i < t->arg_count; i++)
    strbuf_addf(out, i ? ", %" PRId64 : "%" PRId64, special_number(t->args[i]));
  strbuf_add_char(out, ')');
}

/* A name of the entry's is what it is met with first. */
static bool learn(Special *s, const Name *name, const TypeExpr *is) {
  const TypeParam *param = special_name(s->fn, name);
  const TypeExpr *was = special_meaning(s, name);
  if (!param || (was && same_meaning(was, is))) return true;
  if (!was) {
    VEC_PUSH(&s->names, *param);
    VEC_PUSH(&s->meant, is);
    return true;
  }
  StrBuf text;
  strbuf_init(&text, s->p->mem);
  strbuf_addf(&text, "`%s` is ", name->text);
  put_meaning(&text, is);
  strbuf_add(&text, " here, but ");
  put_meaning(&text, was);
  strbuf_add(&text, " by what is given elsewhere");
  Diag *d = diag_error(s->p->diags, E0542, is->span, "%s", strbuf_text(&text));
  diag_note(d, was->span, "given here");
  diag_note(d, param->span, "one name has one meaning");
  strbuf_done(&text);
  return false;
}

/* --- What is given and what is declared ----------------------------------- */

static bool misfit(Special *s, const Given *g, const TypeExpr *t,
                   const char *why) {
  StrBuf text;
  strbuf_init(&text, s->p->mem);
  shape_print(&text, g->rank, g->shape);
  Diag *d =
      diag_error(s->p->diags, E0542, g->what, "`%s` cannot be of shape %s: %s",
                 g->name->text, strbuf_text(&text), why);
  diag_note(d, t->span, "declared here");
  strbuf_done(&text);
  return false;
}

/* Is a number, a name that is met for the first time, or what is not known. */
static bool fit_dim(Special *s, const Given *g, const TypeExpr *t, int i,
                    const DimExpr *d) {
  if (d->kind == DX_NAME)
    return learn(s, d->name, dim_type(s, g->shape[i], g->what));
  if (d->kind != DX_NUMBER || d->number == g->shape[i]) return true;
  char why[96];
  snprintf(why, sizeof why, "dimension %d is %" PRId64 " in its type", i,
           d->number);
  return misfit(s, g, t, why);
}

static bool is_splat(const TypeExpr *t, int i) {
  return t->dims[i]->kind == DX_SPLAT ||
         (t->whole && t->dims[i]->kind == DX_ANY);
}

/* `s...` takes as many dimensions as the others leave. */
static bool fit_dims(Special *s, const Given *g, const TypeExpr *t) {
  int splats = 0;
  for (int i = 0; i < t->dim_count; i++) splats += is_splat(t, i);
  int extra = g->rank - t->dim_count;
  if (splats > 1 || extra < (splats ? -1 : 0) || (!splats && extra)) {
    char why[96];
    snprintf(why, sizeof why, "its type has %s%d dimension%s",
             splats ? "at least " : "", t->dim_count - splats,
             t->dim_count - splats == 1 ? "" : "s");
    return misfit(s, g, t, why);
  }
  for (int i = 0, at = 0; i < t->dim_count; i++) {
    int n = is_splat(t, i) ? extra + 1 : 1;
    bool named = t->dims[i]->kind == DX_SPLAT && !t->dims[i]->any;
    if (named ? !learn(s, t->dims[i]->name, shape_type(s, g, at, at + n))
              : n == 1 && !fit_dim(s, g, t, at, t->dims[i]))
      return false;
    at += n;
  }
  return true;
}

/* What an alias of the text without parameters stands for. */
static const TypeExpr *behind_alias(const Unit *u, const TypeExpr *t) {
  for (int i = 0, steps = 0; t && t->kind == TX_NAME && i < u->item_count;) {
    const AdtDecl *decl =
        u->items[i].kind == ITEM_TYPE ? u->items[i].adt : NULL;
    bool is = decl && decl->name == t->name && decl->meaning &&
              decl->param_count == 0;
    if (is && ++steps > 100) return t;
    if (is) t = decl->meaning;
    i = is ? 0 : i + 1;
  }
  return t;
}

static bool fit_dtype(Special *s, const Given *g, const TypeExpr *t) {
  if (!g->value) return true;
  if (t->dtype_name) {
    TypeExpr *is = type_new(s, TX_TENSOR, g->what);
    is->scalar = true;
    is->dtype = g->value->dtype;
    return learn(s, t->dtype_name, is);
  }
  if (t->dtype == (DType)g->value->dtype) return true;
  Diag *d = diag_error(s->p->diags, E0542, g->what,
                       "the value of `%s` is of %s, and its type of %s",
                       g->name->text, dtype_name(g->value->dtype),
                       dtype_name(t->dtype));
  diag_note(d, t->span, "declared here");
  return false;
}

/* The parameter's type for what is given; NULL after reporting. */
const TypeExpr *special_fit(Special *s, const Given *g, const TypeExpr *t,
                            Span at) {
  const TypeExpr *is = behind_alias(s->u, t);
  if (!is && !g->value) {
    Diag *d = diag_error(s->p->diags, E0542, g->what,
                         "`%s` has no type to put a shape into", g->name->text);
    diag_note(d, at, "declared here");
    diag_hint(d, "a type says which dtype it has: %s: Tensor[?, float32]",
              g->name->text);
    return NULL;
  }
  if (is && is->kind != TX_TENSOR) {
    Diag *d =
        diag_error(s->p->diags, E0542, g->what,
                   "`%s` is no tensor, so it has no shape", g->name->text);
    diag_note(d, is->span, "declared here");
    return NULL;
  }
  if (is && (!fit_dims(s, g, is) || !fit_dtype(s, g, is))) return NULL;
  TypeExpr *made = type_new(s, TX_TENSOR, g->what);
  const DimExpr **dims =
      ARENA_ARRAY(&s->u->arena, const DimExpr *, (size_t)g->rank + 1);
  for (int i = 0; dims && i < g->rank; i++)
    dims[i] = number(s, g->shape[i], g->what);
  made->dims = dims;
  made->dim_count = dims ? g->rank : 0;
  made->scalar = g->rank == 0;
  made->dtype = g->value ? (DType)g->value->dtype : is->dtype;
  if (!g->value) made->dtype_name = is->dtype_name;
  if (!g->value) made->dtype_span = is->dtype_span;
  return made;
}
