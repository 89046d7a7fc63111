/* Names in scope while a definition is resolved: local variables and type
 * parameters, which inner bindings hide for a while; and definitions, the
 * file's own before the library's, which is linked as it is reached.
 *
 * A local name is one entry of a hash table.  Binding it notes the old meaning
 * on a stack, and the end of a scope puts back what stands above the scope's
 * mark:
 *
 *   { let %x = 1; { let %x = 2; %x } }     hidden: [%x: none] [%x: 1]
 *
 * So a look-up costs the same however deep scopes nest, and a scope costs as
 * much as it binds.
 *
 * The second half of the file words what is said of unknown names.  A
 * suggestion is made only if the message will be shown, as comparing a name
 * with all others is the dearest part of it. */
#include "types/resolve.h"

#include <string.h>

#include "ir/foreign.h"

void resolver_init(Resolver *r, Checker *c, Definition *def) {
  *r = (Resolver){.c = c,
                  .p = c->p,
                  .def = def,
                  .unit = def->unit,
                  .arena = &def->unit->arena,
                  .scope = def->scope};
  ptrmap_init(&r->vars, c->mem);
  ptrmap_init(&r->type_vars, c->mem);
  ptrmap_init(&r->free_vars, c->mem);
  ptrmap_init(&r->size_vars, c->mem);
  ptrmap_init(&r->no_dims, c->mem);
  ptrmap_init(&r->dims, c->mem);
  ptrmap_init(&r->rooms, c->mem);
  VEC_INIT(&r->hidden, c->mem);
  VEC_INIT(&r->watched, c->mem);
  split_start(&r->stack, c->mem);
}

void resolver_done(Resolver *r) {
  ptrmap_done(&r->vars);
  ptrmap_done(&r->type_vars);
  ptrmap_done(&r->free_vars);
  ptrmap_done(&r->size_vars);
  ptrmap_done(&r->no_dims);
  ptrmap_done(&r->dims);
  ptrmap_done(&r->rooms);
  VEC_DONE(&r->hidden);
  VEC_DONE(&r->watched);
  split_end(&r->stack);
}

/* --- Local names --------------------------------------------------------- */

size_t scope_mark(const Resolver *r) { return r->hidden.len; }

/* `map` is r->vars, r->type_vars or r->size_vars; all three share the stack. */
void scope_bind(Resolver *r, PtrMap *map, const void *name, void *meaning) {
  VEC_PUSH(&r->hidden, (Hidden){map, name, ptrmap_get(map, name)});
  ptrmap_put(map, name, meaning);
}

void scope_end(Resolver *r, size_t mark) {
  while (r->hidden.len > mark) {
    Hidden h = VEC_POP(&r->hidden);
    if (h.meaning) ptrmap_put(h.map, h.name, h.meaning);
    else ptrmap_remove(h.map, h.name);
  }
}

Var *resolve_var(Resolver *r, const Var *parsed) {
  Var *v = var_new(r->arena, parsed->name, parsed->span, parsed->annotation);
  v->id = r->p->next_var_id++;
  if (v->annotation) v->declared = resolve_type(r, v->annotation);
  return v;
}

/* --- Definitions --------------------------------------------------------- */

/* Links the library's definition of a name; false when it has none.  Only the
 * text of that definition is parsed and declared; it joins the list that
 * resolve_program is working through. */
static bool link_library(Resolver *r, char kind, const Name *name) {
  Program *p = r->p;
  Unit *unit = p->find_in_library ? p->find_in_library(p, kind, name) : NULL;
  if (!unit) return false;
  declare_unit(r->c, unit, &p->library);
  return true;
}

Global *find_global(Resolver *r, const Name *name) {
  Global *g = scope_global(r->scope, name);
  if (!g && link_library(r, '@', name)) g = scope_global(r->scope, name);
  return g;
}

Adt *find_adt(Resolver *r, const Name *name) {
  Adt *adt = scope_adt(r->scope, name);
  if (!adt && link_library(r, 'T', name)) adt = scope_adt(r->scope, name);
  return adt;
}

/* Each call of an operator asks for a constructor of that name first; that the
 * library has none is found once. */
Ctor *find_ctor(Resolver *r, const Name *name) {
  Ctor *ctor = scope_ctor(r->scope, name);
  PtrMap *missing = &r->c->no_ctors;
  if (ctor || ptrmap_has(missing, name)) return ctor;
  if (link_library(r, 'C', name)) return scope_ctor(r->scope, name);
  ptrmap_put(missing, name, missing);
  return NULL;
}

/* --- Unknown names ------------------------------------------------------- */

/* No name is suggested when the message will not be shown. */
static Suggestion suggestion(const Resolver *r, const Name *wanted) {
  Suggestion s = suggestion_for(wanted->text);
  if (diags_full(r->p->diags)) s.distance = 0;
  return s;
}

static void offer_all(Suggestion *s, const PtrMap *names) {
  for (size_t i = 0; i < names->cap; i++) {
    const Name *name = names->slots[i].key;
    if (name && names->slots[i].value) suggestion_offer(s, name->text);
  }
}

/* Offers the names in the map that lies `map` bytes into each scope. */
static void offer_scopes(Suggestion *s, const Scope *scope, size_t map) {
  for (; scope; scope = scope->outer)
    offer_all(s, (const PtrMap *)((const char *)scope + map));
}

/* The same, with the library's names of that kind. */
static void offer_names(Resolver *r, Suggestion *s, char kind, size_t map) {
  offer_scopes(s, r->scope, map);
  if (r->p->offer_library) r->p->offer_library(kind, s);
}

static void hint_nearest(Diag *d, const Suggestion *s, const char *sigil) {
  if (s->best) diag_hint(d, "did you mean `%s%s`?", sigil, s->best);
}

/* Top-level `%x`s are known everywhere except in definitions. */
static bool sees_locals(const Resolver *r) {
  return r->def->item->kind != ITEM_DEF;
}

static bool is_bound(const Resolver *r, const Name *name, const char *sigil) {
  if (!*sigil) return ptrmap_has(&r->type_vars, name);
  return ptrmap_has(&r->vars, name) ||
         (sees_locals(r) && scope_local(r->scope, name));
}

/* %x/2 is one name; when it is unbound and %x is bound, division was meant.
 * So it is with dimensions, which have no sigil. */
static bool hint_division(Resolver *r, Diag *d, const Name *name,
                          const char *sigil) {
  const char *slash = strchr(name->text, '/');
  for (; slash; slash = strchr(slash + 1, '/')) {
    size_t len = (size_t)(slash - name->text);
    const Name *left = name_intern(r->p->names, name->text, len);
    if (!is_bound(r, left, sigil)) continue;
    diag_hint(d, "a `/` belongs to the name: write `%s%s / %s` to divide",
              sigil, left->text, slash + 1);
    return true;
  }
  return false;
}

/* A name with another sigil, or with none, where one is known. */
static bool hint_sigil(Resolver *r, Diag *d, const Name *name) {
  Suggestion s = suggestion(r, name);
  offer_names(r, &s, '@', offsetof(Scope, globals));
  const char *sigil = is_bound(r, name, "%")      ? "%"
                      : s.best && s.distance == 0 ? "@"
                                                  : NULL;
  if (sigil) diag_hint(d, "did you mean `%s%s`?", sigil, name->text);
  return sigil;
}

/* In a definition: the top-level variable that the name is, or whose field it
 * asks for. */
static const Name *not_in_definitions(const Resolver *r, const Name *name) {
  if (sees_locals(r)) return NULL;
  for (size_t len = strlen(name->text); len > 0; len--) {
    if (name->text[len] && name->text[len] != '.') continue;
    const Name *stem = name_intern(r->p->names, name->text, len);
    if (scope_local(r->scope, stem)) return stem;
  }
  return NULL;
}

Expr *unknown_local(Resolver *r, const Expr *e) {
  const Name *above = not_in_definitions(r, e->name);
  Diag *d = diag_error(r->p->diags, E0101, e->span,
                       "the variable `%%%s` is not bound here", e->name->text);
  if (r->watch_below) {
    diag_hint(d,
              "a graph variable that branches share is evaluated before "
              "them, where `%%%s` is not known",
              e->name->text);
  } else if (above) {
    diag_hint(d, "`%%%s` is not known in definitions: `let @%s = ...` is",
              above->text, above->text);
  } else if (!hint_division(r, d, e->name, "%") && !hint_sigil(r, d, e->name)) {
    Suggestion s = suggestion(r, e->name);
    offer_all(&s, &r->vars);
    if (sees_locals(r)) offer_scopes(&s, r->scope, offsetof(Scope, locals));
    hint_nearest(d, &s, "%");
  }
  return resolve_error(r, e->span);
}

/* @f.grad, where @f is there, and `grad` an operator or a word of another
 * language. */
static bool hint_method(Resolver *r, Diag *d, const Name *name) {
  const char *method = op_last_part(name->text);
  if (method == name->text) return false;
  const Name *stem =
      name_intern(r->p->names, name->text, (size_t)(method - name->text) - 1);
  const char *hint =
      foreign_hint(method, strlen(method), FOREIGN_FIELD | FOREIGN_NAME);
  if (!hint || !find_global(r, stem)) return false;
  diag_hint(d, "%s", hint);
  return true;
}

Expr *unknown_global(Resolver *r, const Expr *e) {
  const Name *name = e->g.name;
  Diag *d = diag_error(r->p->diags, E0102, e->span, "there is no global `@%s`",
                       name->text);
  if (hint_sigil(r, d, name) || hint_method(r, d, name))
    return resolve_error(r, e->span);
  Suggestion s = suggestion(r, name);
  offer_names(r, &s, '@', offsetof(Scope, globals));
  hint_nearest(d, &s, "@");
  return resolve_error(r, e->span);
}

/* A word of another language, perhaps behind the name of a library (lax.scan),
 * or a dtype that was to convert. */
static bool hint_word(Diag *d, const Name *name) {
  const char *word = op_last_part(name->text);
  size_t len = strlen(word);
  const char *hint = foreign_hint(word, len, FOREIGN_NAME | FOREIGN_KEYWORD);
  DType dtype = dtype_find(word, len);
  if (dtype != DTYPE_NONE) {
    diag_hint(d,
              "a dtype is written \"%s\", a conversion cast(%%x, "
              "dtype=\"%s\")",
              dtype_name(dtype), dtype_name(dtype));
  } else if (hint) {
    diag_hint(d, "%s", hint);
  }
  return hint || dtype != DTYPE_NONE;
}

/* An operator with the same last part, as softmax of nn.softmax and zeros of
 * np.zeros, is the one.  Distance 0 marks such a match as exact, which no later
 * offer beats. */
static void offer_operators(Suggestion *s) {
  for (int i = 0; i < OP_COUNT; i++) {
    const char *name = op_info(i)->name;
    suggestion_offer(s, name);
    if (s->distance == 0 || strcmp(op_last_part(name), op_last_part(s->wanted)))
      continue;
    s->best = name;
    s->distance = 0;
  }
}

/* A bare word may be a constructor or an operator, a variable whose sigil was
 * forgotten, a dtype, or a word of another language; the hints ask in the order
 * of how sure they can be. */
Expr *unknown_ident(Resolver *r, Span span, const Name *name) {
  const char *why = op_refused(name->text);
  if (why) {
    Diag *d = diag_error(r->p->diags, E0103, span,
                         "Relay's operator `%s` is not here", name->text);
    diag_hint(d, "%s", why);
    return resolve_error(r, span);
  }
  bool dotted = strchr(name->text, '.') != NULL;
  Diag *d = diag_error(r->p->diags, E0103, span,
                       dotted ? "there is no operator `%s`"
                              : "`%s` is no constructor and no operator",
                       name->text);
  if (hint_division(r, d, name, "")) return resolve_error(r, span);
  if (hint_sigil(r, d, name)) return resolve_error(r, span);
  if (hint_word(d, name)) return resolve_error(r, span);
  Suggestion s = suggestion(r, name);
  offer_names(r, &s, 'C', offsetof(Scope, ctors));
  offer_operators(&s);
  hint_nearest(d, &s, "");
  if (!s.best && !dotted)
    diag_hint(d, "a variable is written `%%%s`, a function `@%s`", name->text,
              name->text);
  return resolve_error(r, span);
}

void unknown_ctor(Resolver *r, Span span, const Name *name) {
  Diag *d = diag_error(r->p->diags, E0103, span, "there is no constructor `%s`",
                       name->text);
  Suggestion s = suggestion(r, name);
  offer_names(r, &s, 'C', offsetof(Scope, ctors));
  if (s.best) hint_nearest(d, &s, "");
  else diag_hint(d, "a variable is written `%%%s`", name->text);
}

/* A capital letter alone is most likely a type parameter that was not declared,
 * unless it is near to a type that exists. */
void unknown_type(Resolver *r, Span span, const Name *name) {
  Diag *d =
      diag_error(r->p->diags, E0104, span, "there is no type `%s`", name->text);
  Suggestion s = suggestion(r, name);
  offer_all(&s, &r->type_vars);
  offer_names(r, &s, 'T', offsetof(Scope, adts));
  for (int i = 0; i < DTYPE_COUNT; i++) suggestion_offer(&s, dtype_name(i));
  const char *hint = foreign_hint(name->text, strlen(name->text), FOREIGN_TYPE);
  char first = name->text[0];
  bool letter = first >= 'A' && first <= 'Z' && name->len == 1;
  const char *refusal = dtype_refusal(name->text, name->len);
  if (refusal) diag_hint(d, "%s", refusal);
  else if (hint) diag_hint(d, "%s", hint);
  else if (find_ctor(r, name)) {
    diag_hint(d,
              "it is a constructor; constructors stand in braces: "
              "type Shape { Disc(float32), Empty }");
  } else if (letter && !s.best) {
    diag_hint(d, "a type parameter is declared: fn [%c](%%x: %c) { %%x }",
              first, first);
  } else hint_nearest(d, &s, "");
}
