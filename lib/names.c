/* Names, from a walk over the checked definitions of a program.
 *
 * A checked node has the place of what it was made from.  Sugar makes nodes
 * that no name was written for (`-x` is a call of `negative`), so a place
 * counts as a name's only if the name stands there. */
#include "lib/names.h"

#include <stdlib.h>
#include <string.h>

#include "ir/walk.h"

typedef struct Finder {
  Program *p;
  Uses *out;
} Finder;

/* --- Adding --------------------------------------------------------------- */

/* Makes the span end with the name, if it begins with it. */
static bool fit_name(const Finder *f, Span *span, const char *sigil,
                     const char *name) {
  uint32_t len;
  const char *text = sources_text(f->p->sources, *span, &len);
  size_t skip = strlen(sigil), n = strlen(name);
  if (len < skip + n || strncmp(text, sigil, skip) ||
      strncmp(text + skip, name, n))
    return false;
  span->hi = span->lo + (uint32_t)(skip + n);
  return true;
}

static void add(Finder *f, Use use, const char *sigil, const char *name) {
  if (span_exists(use.span) && fit_name(f, &use.span, sigil, name))
    VEC_PUSH(f->out, use);
}

static void add_var(Finder *f, Span span, const Var *v, bool declares,
                    bool param, bool inferred) {
  Use use = {.span = span,
             .kind = NAME_VAR,
             .what = v,
             .type = v->type,
             .declares = declares,
             .param = param,
             .inferred = inferred && !v->annotation};
  add(f, use, "%", v->name->text);
}

static void add_type(Finder *f, Span span, const Adt *adt, bool declares) {
  Use use = {.span = span,
             .kind = NAME_TYPE,
             .what = adt_of_text(adt),
             .declares = declares};
  add(f, use, "", adt->name->text);
}

static void add_ctor(Finder *f, Span span, const Ctor *c, bool declares) {
  Use use = {.span = span, .kind = NAME_CTOR, .what = c, .declares = declares};
  if (c->literal) return;
  const Adt *adt = adt_of_text(c->adt);
  if (adt != c->adt) use.what = &adt->ctors[c->tag];
  use.type = c->type;
  add(f, use, "", c->name->text);
}

static void add_global(Finder *f, Span span, const Global *g, const Type *type,
                       bool declares) {
  Use use = {.span = span,
             .kind = NAME_GLOBAL,
             .what = global_of_text(g),
             .type = type,
             .declares = declares,
             .inferred = declares && g->kind != GLOBAL_DEF && !g->annotation};
  add(f, use, global_sigil(g), g->name->text);
}

/* An operator is written by its name, or by a sign. */
static void add_op(Finder *f, const Expr *e) {
  uint32_t len;
  const OpInfo *op = op_info(e->op);
  const char *text = sources_text(f->p->sources, e->span, &len);
  Use use = {.span = e->span, .kind = NAME_OPERATOR, .what = op};
  bool sign = len > 0 && len <= 2 && strspn(text, "+-*/<>=!&|@") >= len;
  char name[96];
  bool dyn;
  if (len && len < sizeof name && !sign) {
    memcpy(name, text, len);
    name[len] = '\0';
    sign = op_find(name, &dyn) == (OpId)e->op;
  }
  if (sign) VEC_PUSH(f->out, use);
}

/* --- Types as written ----------------------------------------------------- */

/* At most as deep as the parser lets types nest. */
static void find_in_type(Finder *f, const TypeExpr *t) {
  if (!t) return;
  if (t->kind == TX_NAME) {
    const Adt *adt = scope_adt(&f->p->user, t->name);
    if (adt) add_type(f, t->span, adt, false);
  }
  for (int i = 0; i < t->arg_count; i++) find_in_type(f, t->args[i]);
  find_in_type(f, t->result);
}

/* --- Expressions ---------------------------------------------------------- */

static void find_at(Finder *f, const ExprWalk *w) {
  const Expr *e = w->at;
  switch (e->kind) {
    case EX_VAR: add_var(f, e->span, e->var, false, false, false); break;
    case EX_GLOBAL: add_global(f, e->span, e->g.global, e->type, false); break;
    case EX_CTOR: add_ctor(f, e->span, e->ctor, false); break;
    case EX_OP: add_op(f, e); break;
    case EX_LIST:
      if (e->list.head && e->list.head->kind == EX_CTOR)
        add_type(f, e->span, e->list.head->ctor->adt, false);
      break;
    case EX_FN: find_in_type(f, e->fn->result); break;
    default: break;
  }
}

static void find_in_expr(Finder *f, const Expr *root) {
  ExprWalk w;
  if (!root) return;
  expr_walk_start(&w, f->p->mem, WALK_ENTER | WALK_BIND | WALK_PATTERN, root);
  expr_walk_once(&w);
  while (expr_walk_next(&w)) {
    if (w.event == WALK_ENTER) {
      find_at(f, &w);
    } else if (w.event == WALK_PATTERN) {
      const Pattern *pattern = w.pattern;
      if (pattern->kind == PT_CTOR && pattern->ctor)
        add_ctor(f, pattern->span, pattern->ctor, false);
    } else if (w.var) {
      bool param = w.at->kind == EX_FN;
      bool let = w.binding && w.binding->kind == BIND_LET;
      add_var(f, w.var->span, w.var, true, param, param || let);
      find_in_type(f, w.var->annotation);
    }
  }
  expr_walk_end(&w);
}

/* --- Items ---------------------------------------------------------------- */

static void find_in_adt(Finder *f, const AdtDecl *decl) {
  const Adt *adt = scope_adt(&f->p->user, decl->name);
  if (!adt || adt->decl != decl) return;
  add_type(f, decl->span, adt, true);
  find_in_type(f, decl->meaning);
  for (int i = 0; i < decl->ctor_count; i++) {
    const CtorDecl *c = &decl->ctors[i];
    if (i < adt->ctor_count) add_ctor(f, c->span, &adt->ctors[i], true);
    for (int k = 0; k < c->field_count; k++) find_in_type(f, c->fields[k]);
  }
}

static void find_in_item(Finder *f, const Item *item) {
  if (item->kind == ITEM_TYPE) find_in_adt(f, item->adt);
  const Global *g = item_global(f->p, item);
  if (!g) return;
  add_global(f, item->name_span, g, g->type, true);
  find_in_type(f, item->annotation);
  find_in_expr(f, global_body(g));
}

static void find_in_unit(Finder *f, const Unit *u) {
  for (int i = 0; i < u->item_count; i++) find_in_item(f, &u->items[i]);
  for (int i = 0; i < u->step_count; i++)
    if (u->steps[i].kind == STEP_EXPR) find_in_expr(f, u->steps[i].expr);
}

/* Declarations come first among names of one place. */
static int by_place(const void *a, const void *b) {
  const Use *x = a, *y = b;
  if (x->span.lo != y->span.lo) return x->span.lo < y->span.lo ? -1 : 1;
  return y->declares - x->declares;
}

/* Puts them in order; of names of one place the first is kept. */
static void sort(Uses *out) {
  if (!out->len) return;
  qsort(out->data, out->len, sizeof *out->data, by_place);
  size_t kept = 1;
  for (size_t i = 1; i < out->len; i++)
    if (out->data[i].span.lo != out->data[kept - 1].span.lo)
      out->data[kept++] = out->data[i];
  out->len = kept;
}

void names_find(Program *p, Uses *out) {
  Finder f = {p, out};
  for (const Unit *u = p->units; u; u = u->next)
    if (u->source && !u->source->library) find_in_unit(&f, u);
  sort(out);
}

void names_find_in(Program *p, const Unit *u, Uses *out) {
  find_in_unit(&(Finder){p, out}, u);
  sort(out);
}

const Use *names_at(const Uses *uses, uint32_t at) {
  size_t lo = 0, hi = uses->len;
  while (lo < hi) {
    size_t middle = lo + (hi - lo) / 2;
    if (uses->data[middle].span.lo <= at) lo = middle + 1;
    else hi = middle;
  }
  return lo && uses->data[lo - 1].span.hi >= at ? &uses->data[lo - 1] : NULL;
}

Span name_declaration(const Use *use) {
  switch (use->kind) {
    case NAME_VAR: return ((const Var *)use->what)->span;
    case NAME_GLOBAL: return ((const Global *)use->what)->span;
    case NAME_TYPE: return ((const Adt *)use->what)->span;
    case NAME_CTOR: return ((const Ctor *)use->what)->span;
    case NAME_OPERATOR: break;
  }
  return SPAN_NONE;
}

/* --- Expressions by place ------------------------------------------------ */

static bool holds(Span s, uint32_t at) { return s.lo <= at && at <= s.hi; }

/* Of the smallest that hold the byte the one that was entered last. */
static const Expr *innermost(Program *p, const Expr *root, uint32_t at) {
  const Expr *best = NULL;
  ExprWalk w;
  expr_walk_start(&w, p->mem, WALK_ENTER, root);
  expr_walk_once(&w);
  while (expr_walk_next(&w)) {
    const Expr *e = w.at;
    if (!holds(e->span, at) || !e->type || e->kind == EX_BLOCK) continue;
    uint32_t size = e->span.hi - e->span.lo;
    if (!best || size <= best->span.hi - best->span.lo) best = e;
  }
  expr_walk_end(&w);
  return best;
}

const Expr *expr_at(Program *p, uint32_t at) {
  for (const Unit *u = p->units; u; u = u->next) {
    if (!u->source || u->source->library) continue;
    for (int i = 0; i < u->item_count; i++) {
      const Global *g = item_global(p, &u->items[i]);
      const Expr *body = g ? global_body(g) : NULL;
      if (body && holds(u->items[i].span, at)) return innermost(p, body, at);
    }
    for (int i = 0; i < u->step_count; i++)
      if (u->steps[i].kind == STEP_EXPR && holds(u->steps[i].expr->span, at))
        return innermost(p, u->steps[i].expr, at);
  }
  return NULL;
}
