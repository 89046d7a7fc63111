/* A program for shapes and values of its parameters, from the one for any: rly
 * opt --bind-shape x=(8,128) --bind w=FILE.
 *
 *   def @main[n: Dim](%x: Tensor[(n, 4), float32], %k: float32)
 *       -> Tensor[(n, ?), float32] { %x * cast(n, dtype="float32") * %k }
 *
 * becomes, for x=(8,4) and a file of k that holds 2,
 *
 *   def @main(%x: Tensor[(8, 4), float32]) {
 *     let %k: float32 = 2f;
 *     %x * cast(8, dtype="float32") * %k
 *   }
 *
 * It maps the parsed program, before types are inferred, so all that follows
 * from the shapes is the checker's to find.  A result or a `let` whose
 * annotation leaves a dimension open (`?`) loses it, since it would hide what
 * is known now.  Parameters of inner functions and what a cell holds keep
 * theirs: other shapes may come there. */
#include "passes/specialise.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/walk.h"
#include "passes/flag_text.h"
#include "tensor/tensor.h"

/* --- The text of a flag --------------------------------------------------- */

/* Up to the `=`; `written` is how the whole is. */
static bool read_name(FlagText *r, Program *p, const char *where,
                      const char *text, const char *written, Given *out) {
  *out = (Given){0};
  if (!flag_open(r, p, where, text, E0540, written)) return false;
  const char *from = r->at;
  out->is_param = *from == '@';
  r->at += *from == '@' || *from == '%';
  size_t len = strcspn(r->at, "= \t");
  if (len == 0) return flag_expected(r, "the name of a parameter");
  out->name = name_intern(p->names, r->at, len);
  r->at += len;
  out->span = flag_span(r, from, r->at);
  return flag_accept(r, '=') || flag_expected(r, "`=`");
}

static bool read_dim(FlagText *r, int64_t *dim) {
  char *end;
  errno = 0;
  if (*r->at < '0' || *r->at > '9') return flag_expected(r, "a number");
  *dim = strtoll(r->at, &end, 10);
  if (errno) return flag_expected(r, "a smaller number");
  r->at = end;
  return true;
}

/* A comma may stand after the last dimension, as in types. */
bool given_read_shape(Program *p, const char *where, const char *text,
                      Given *out) {
  FlagText r;
  if (!read_name(&r, p, where, text, "it is written so: x=(8,128)", out))
    return false;
  const char *from = r.at;
  if (!flag_accept(&r, '(')) return flag_expected(&r, "`(`");
  while (*r.at != ')') {
    if (out->rank == RANK_MAX) return flag_expected(&r, "`)`");
    if (!read_dim(&r, &out->shape[out->rank++])) return false;
    if (!flag_accept(&r, ',') && *r.at != ')')
      return flag_expected(&r, "`,` or `)`");
  }
  r.at++;
  out->what = flag_span(&r, from, r.at);
  flag_skip_blanks(&r);
  return !*r.at || flag_expected(&r, "the end");
}

bool given_read_file(Program *p, const char *where, const char *text,
                     Given *out, const char **file) {
  FlagText r;
  if (!read_name(&r, p, where, text, "it is written so: x=FILE.npy", out))
    return false;
  if (!*r.at) return flag_expected(&r, "the name of a file");
  out->what = flag_span(&r, r.at, r.at + strlen(r.at));
  *file = text + (r.at - r.source->text);
  return true;
}

bool given_take(Program *p, Given *g, Tensor *value) {
  g->rank = value->rank;
  memcpy(g->shape, value->shape, sizeof *g->shape * (size_t)value->rank);
  g->value = program_constant_take(p, value);
  return g->value;
}

/* --- What the shapes say of names ----------------------------------------- */

typedef struct Special {
  Program *p;
  Unit *u;
  const Fn *fn;                /* of the entry; NULL: there is none */
  VEC(TypeParam) names;        /* that are known, ... */
  VEC(const TypeExpr *) meant; /* ... and what they are */
} Special;

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

static const TypeExpr *meaning(const Special *s, const Name *name) {
  for (size_t i = 0; i < s->names.len; i++)
    if (s->names.data[i].name == name) return s->meant.data[i];
  return NULL;
}

static const TypeParam *param_of(const Fn *fn, const Name *name) {
  for (int i = 0; fn && i < fn->type_param_count; i++)
    if (fn->type_params[i].name == name) return &fn->type_params[i];
  return NULL;
}

static int64_t number_of(const TypeExpr *t) { return t->dims[0]->number; }

static bool same_shape(const TypeExpr *a, const TypeExpr *b) {
  bool same = a->arg_count == b->arg_count;
  for (int i = 0; same && i < a->arg_count; i++)
    same = number_of(a->args[i]) == number_of(b->args[i]);
  return same;
}

static bool same_meaning(const TypeExpr *a, const TypeExpr *b) {
  if (a->kind != b->kind) return false;
  if (a->kind == TX_TENSOR) return a->dtype == b->dtype;
  return a->kind == TX_DIM ? number_of(a) == number_of(b) : same_shape(a, b);
}

static void put_meaning(StrBuf *out, const TypeExpr *t) {
  if (t->kind == TX_TENSOR) strbuf_add(out, dtype_name(t->dtype));
  if (t->kind == TX_DIM) strbuf_addf(out, "%" PRId64, number_of(t));
  if (t->kind != TX_TUPLE) return;
  strbuf_add_char(out, '(');
  for (int i = 0; i < t->arg_count; i++)
    strbuf_addf(out, i ? ", %" PRId64 : "%" PRId64, number_of(t->args[i]));
  strbuf_add_char(out, ')');
}

/* A name of the entry's is what it is met with first. */
static bool learn(Special *s, const Name *name, const TypeExpr *is) {
  const TypeParam *param = param_of(s->fn, name);
  const TypeExpr *was = meaning(s, name);
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
static const TypeExpr *fit(Special *s, const Given *g, const TypeExpr *t,
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

/* --- The program for it --------------------------------------------------- */

static bool leaves_open(const TypeExpr *t) {
  bool open = false;
  if (t->kind == TX_TENSOR)
    for (int i = 0; i < t->dim_count && !open; i++)
      open = t->dims[i]->kind == DX_ANY;
  /* bounded by the parser, as is every type */
  for (int i = 0; t->kind == TX_TUPLE && i < t->arg_count && !open; i++)
    open = leaves_open(t->args[i]);
  return open;
}

/* A type with what its names mean; NULL where that hides what is known. */
static const TypeExpr *meant(Special *s, const TypeExpr *t, bool may_drop) {
  if (!t || (may_drop && leaves_open(t))) return NULL;
  return type_expr_put(s->p->mem, &s->u->arena, t, (int)s->names.len,
                       s->names.data, s->meant.data);
}

static const Expr *named_value(Special *s, const TypeExpr *dim, Span span) {
  Value bits = {.i32 = (int32_t)number_of(dim)};
  Tensor *t = program_scalar(s->p, DT_INT32, bits);
  return t ? expr_const(&s->u->arena, span, t) : NULL;
}

/* Names that a function within declares anew. */
static bool hides(const Special *s, const Expr *e) {
  if (e->kind != EX_FN) return false;
  for (size_t i = 0; i < s->names.len; i++)
    if (param_of(e->fn, s->names.data[i].name)) return true;
  return false;
}

/* The items of [2, s...] with the numbers of s. */
static void spread(Special *s, ExprMap *m) {
  const Expr *e = m->made;
  VEC(const Expr *) items;
  bool found = false;
  VEC_INIT(&items, s->p->mem);
  for (int i = 0; i < e->count; i++) {
    const Expr *item = e->args[i];
    bool splat = item->kind == EX_IDENT && item->sugar == SUGAR_SPLAT;
    const TypeExpr *shape = splat ? meaning(s, item->name) : NULL;
    found |= shape != NULL;
    if (!shape) VEC_PUSH(&items, item);
    for (int k = 0; shape && k < shape->arg_count; k++)
      VEC_PUSH(&items, named_value(s, shape->args[k], item->span));
  }
  if (found) {
    Expr *own = expr_map_own(m);
    own->args = VEC_TO_ARENA(&items, &s->u->arena);
    own->count = own->args ? (int)items.len : 0;
  }
  VEC_DONE(&items);
}

/* The same in attributes, newshape=[s..., 1]. */
static const AttrExpr *spread_list(Special *s, const AttrExpr *x) {
  VEC(const AttrExpr *) items;
  bool found = false;
  VEC_INIT(&items, s->p->mem);
  for (int i = 0; x->kind == AX_LIST && i < x->count; i++) {
    const AttrExpr *item = x->items[i];
    const Expr *e = item->kind == AX_EXPR ? item->expr : NULL;
    bool splat = e && e->kind == EX_IDENT && e->sugar == SUGAR_SPLAT;
    const TypeExpr *shape = splat ? meaning(s, e->name) : NULL;
    found |= shape != NULL;
    if (!shape) VEC_PUSH(&items, item);
    for (int k = 0; shape && k < shape->arg_count; k++) {
      AttrExpr *n = arena_copy(&s->u->arena, item, sizeof *n);
      if (!n) break;
      n->expr = named_value(s, shape->args[k], item->span);
      VEC_PUSH(&items, n);
    }
  }
  AttrExpr *made = found ? arena_copy(&s->u->arena, x, sizeof *x) : NULL;
  if (made) {
    made->items = VEC_TO_ARENA(&items, &s->u->arena);
    made->count = made->items ? (int)items.len : 0;
  }
  VEC_DONE(&items);
  return made ? made : x;
}

static void spread_attrs(Special *s, ExprMap *m) {
  const Expr *e = m->made;
  Attr *attrs = NULL;
  for (int i = 0; i < e->call.attr_count; i++) {
    const Attr *attr = &e->call.attrs[i];
    const AttrExpr *made = attr->value ? spread_list(s, attr->value) : NULL;
    if (made == attr->value) continue;
    if (!attrs)
      attrs = arena_copy(&s->u->arena, e->call.attrs,
                         sizeof *attrs * (size_t)e->call.attr_count);
    if (attrs) attrs[i].value = made;
  }
  if (attrs) expr_map_own(m)->call.attrs = attrs;
}

/* rank(s) */
static void put_rank(Special *s, ExprMap *m) {
  const TypeExpr *shape = meaning(s, expr_rank_of(m->made));
  if (!shape || shape->kind != TX_TUPLE) return;
  Tensor *t = program_scalar(s->p, DT_INT32, (Value){.i32 = shape->arg_count});
  if (t) expr_map_put(m, expr_const(&s->u->arena, m->made->span, t));
}

static const Expr *map_body(Special *s, const Expr *body) {
  ExprMap m;
  int hidden = 0;
  expr_map_start(&m, s->p->mem, &s->u->arena, body);
  while (expr_map_next(&m)) {
    const Expr *e = m.walk.at;
    Var *var = m.walk.var;
    bool binds = m.walk.event == WALK_BIND && var && var->annotation;
    if (m.walk.event == WALK_ENTER) hidden += hides(s, e);
    if (m.walk.event == WALK_LEAVE) hidden -= hides(s, e);
    if (hidden) continue;
    if (binds) {
      bool let = m.walk.binding != NULL;
      Var *made = var_new(&s->u->arena, var->name, var->span,
                          meant(s, var->annotation, let));
      if (made) expr_map_bind(&m, made);
    } else if (m.walk.event == WALK_ENTER && e->kind == EX_IDENT &&
               m.walk.role != ROLE_CALLEE) {
      const TypeExpr *is = meaning(s, e->name);
      const Expr *value =
          is && is->kind == TX_DIM ? named_value(s, is, e->span) : NULL;
      if (value) expr_map_put(&m, value);
    } else if (m.walk.event == WALK_LEAVE && e->kind == EX_BRACKET) {
      spread(s, &m);
    } else if (m.walk.event == WALK_LEAVE && e->kind == EX_CALL) {
      if (expr_rank_of(e)) put_rank(s, &m);
      else spread_attrs(s, &m);
    } else if (m.walk.event == WALK_LEAVE && e->kind == EX_FN &&
               e->fn->result) {
      Fn *fn = arena_copy(&s->u->arena, m.made->fn, sizeof *fn);
      if (fn) fn->result = meant(s, fn->result, false);
      if (fn) expr_map_own(&m)->fn = fn;
    }
  }
  return expr_map_end(&m);
}

static const Given *given_for(const Name *name, bool is_param, int count,
                              const Given *given) {
  for (int i = 0; i < count; i++)
    if (given[i].name == name && (is_param || !given[i].is_param))
      return &given[i];
  return NULL;
}

/* Without the names that are known. */
static void drop_names(Special *s, Fn *fn) {
  TypeParam *rest =
      ARENA_ARRAY(&s->u->arena, TypeParam, (size_t)fn->type_param_count + 1);
  int n = 0;
  for (int i = 0; rest && i < fn->type_param_count; i++)
    if (!meaning(s, fn->type_params[i].name)) rest[n++] = fn->type_params[i];
  fn->type_params = rest;
  fn->type_param_count = n;
}

/* Shapes first, for they tell what the names are that the rest may mention. */
static const Expr *special_fn(Special *s, const Expr *e, int count,
                              const Given *given) {
  Arena *a = &s->u->arena;
  size_t n = (size_t)e->fn->param_count + 1;
  Fn *fn = arena_copy(a, e->fn, sizeof *fn);
  const TypeExpr **types = ARENA_ARRAY(a, const TypeExpr *, n);
  Var **params = ARENA_ARRAY(a, Var *, n);
  Binding *lets = ARENA_ARRAY(a, Binding, n);
  if (!fn || !types || !params || !lets) return NULL;
  for (int i = 0; i < fn->param_count; i++) {
    const Var *var = fn->params[i];
    const Given *g = given_for(var->name, false, count, given);
    types[i] = g ? fit(s, g, var->annotation, var->span) : NULL;
    if (g && !types[i]) return NULL;
  }
  int kept = 0, bound = 0;
  for (int i = 0; i < fn->param_count; i++) {
    const Var *var = fn->params[i];
    const Given *g = given_for(var->name, false, count, given);
    Var *made = var_new(a, var->name, var->span,
                        meant(s, types[i] ? types[i] : var->annotation, false));
    if (!made) return NULL;
    if (g && g->value)
      lets[bound++] = (Binding){.kind = BIND_LET,
                                .span = var->span,
                                .var = made,
                                .value = expr_const(a, var->span, g->value)};
    else params[kept++] = made;
  }
  fn->params = params;
  fn->param_count = kept;
  fn->result = meant(s, fn->result, true);
  fn->body = map_body(s, fn->body);
  if (fn->body && bound)
    fn->body = expr_block(a, fn->body->span, bound, lets, fn->body);
  drop_names(s, fn);
  Expr *made = arena_copy(a, e, sizeof *e);
  if (made) made->fn = fn;
  return fn->body ? made : NULL;
}

/* --- Who is meant --------------------------------------------------------- */

static const Var *parameter(const Fn *fn, const Given *g) {
  for (int i = 0; fn && !g->is_param && i < fn->param_count; i++)
    if (fn->params[i]->name == g->name) return fn->params[i];
  return NULL;
}

static bool is_param(const Unit *u, const Name *name) {
  for (int i = 0; i < u->item_count; i++)
    if (u->items[i].kind == ITEM_PARAM && u->items[i].name == name) return true;
  return false;
}

static bool refuse_name(Special *s, const Given *g, const char *entry) {
  Diag *d = diag_error(s->p->diags, E0541, g->span, "no parameter `%s`",
                       g->name->text);
  Suggestion near = suggestion_for(g->name->text);
  StrBuf known;
  strbuf_init(&known, s->p->mem);
  for (int i = 0; s->fn && i < s->fn->param_count; i++) {
    suggestion_offer(&near, s->fn->params[i]->name->text);
    strbuf_addf(&known, "%s%%%s", known.len ? ", " : "",
                s->fn->params[i]->name->text);
  }
  for (int i = 0; i < s->u->item_count; i++) {
    if (s->u->items[i].kind != ITEM_PARAM) continue;
    suggestion_offer(&near, s->u->items[i].name->text);
    strbuf_addf(&known, "%s@%s", known.len ? ", " : "",
                s->u->items[i].name->text);
  }
  if (near.best) diag_hint(d, "did you mean `%s`?", near.best);
  else if (known.len)
    diag_hint(d, "there are %s, of `@%s` and of the text", strbuf_text(&known),
              entry);
  else diag_hint(d, "neither `@%s` nor the text has parameters", entry);
  strbuf_done(&known);
  return false;
}

static bool check_names(Special *s, const char *entry, int count,
                        const Given *given) {
  for (int i = 0; i < count; i++) {
    const Given *g = &given[i];
    if (!parameter(s->fn, g) && !is_param(s->u, g->name))
      return refuse_name(s, g, entry);
    for (int k = 0; k < i; k++) {
      if (given[k].name != g->name || given[k].is_param != g->is_param)
        continue;
      Diag *d = diag_error(s->p->diags, E0541, g->span, "`%s` is given twice",
                           g->name->text);
      diag_note(d, given[k].span, "here first");
      return false;
    }
  }
  return true;
}

/* A `param` with a value is a `let` in front of all that may use it. */
static bool special_items(Special *s, const Item *entry, int count,
                          const Given *given) {
  Unit *u = s->u;
  Item *items = ARENA_ARRAY(&u->arena, Item, (size_t)u->item_count + 1);
  if (!items) return false;
  int n = 0;
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < u->item_count; i++) {
      Item item = u->items[i];
      const Given *g = item.kind == ITEM_PARAM
                           ? given_for(item.name, true, count, given)
                           : NULL;
      if (g && parameter(s->fn, g)) g = NULL;
      if ((g && g->value) != (round == 0)) continue;
      if (g && !(item.annotation = fit(s, g, item.annotation, item.name_span)))
        return false;
      if (g && g->value) {
        item.kind = ITEM_LET_GLOBAL;
        item.expr = expr_const(&u->arena, item.name_span, g->value);
      }
      if (&u->items[i] == entry &&
          !(item.expr = special_fn(s, item.expr, count, given)))
        return false;
      items[n++] = item;
    }
  u->items = items;
  return true;
}

static const Item *find_entry(const Unit *u, const Name *name) {
  for (int i = 0; i < u->item_count; i++)
    if (u->items[i].kind == ITEM_DEF && u->items[i].name == name)
      return &u->items[i];
  return NULL;
}

bool specialise(Program *p, Unit *u, const Name *entry, int count,
                const Given *given) {
  Special s = {.p = p, .u = u};
  const Name *name = entry ? entry : name_of(p->names, "main");
  fragment_to_main(p, u);
  const Item *item = find_entry(u, name);
  if (entry && !item) {
    diag_error(p->diags, E0102, SPAN_NONE, "no entry `@%s` in %s", entry->text,
               u->source->path);
    return false;
  }
  s.fn = item ? item->expr->fn : NULL;
  VEC_INIT(&s.names, p->mem);
  VEC_INIT(&s.meant, p->mem);
  bool ok = check_names(&s, name->text, count, given) &&
            special_items(&s, item, count, given);
  VEC_DONE(&s.names);
  VEC_DONE(&s.meant);
  return ok && !mem_exhausted(p->mem);
}
