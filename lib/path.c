/* Paths to the tensors in tuples and data types, as far as the types tell them:
 *
 *   (A, B)                      net.0, net.1
 *   C(weight: A, bias: B)       net.weight, net.bias
 *   C(A, B)                     net.0, net.1
 *   List[A]                     net.0, net.1, ... as many as there are
 *   Option[A]                   net itself, or None where nothing is bound
 *   several constructors        the one whose fields are bound
 *
 * PyTorch names the tensors of a module's state_dict so: layers.0.weight. Where
 * a program has one param of such a type and nothing is bound under its name,
 * the paths begin below it. */
#include "lib/path.h"

#include <string.h>

enum { NAMES_MAX = 200 }; /* paths that a misspelt name is compared with */

/* --- Kinds of data types -------------------------------------------------- */

/* The constructor of an element and a list, where the other has no fields. */
const Ctor *path_cons_of(const Adt *adt) {
  for (int i = 0; adt->ctor_count == 2 && i < 2; i++) {
    const Ctor *c = &adt->ctors[i];
    if (c->field_count != 2 || c->labels || adt->ctors[1 - i].field_count)
      continue;
    const Type *rest = c->fields[1];
    return rest->kind == TY_ADT && rest->adt == adt ? c : NULL;
  }
  return NULL;
}

/* The constructor of one value, where the other has no fields. */
const Ctor *path_some_of(const Adt *adt) {
  for (int i = 0; adt->ctor_count == 2 && i < 2; i++)
    if (adt->ctors[i].field_count == 1 && !adt->ctors[i].labels &&
        adt->ctors[1 - i].field_count == 0)
      return &adt->ctors[i];
  return NULL;
}

const Ctor *path_nullary_of(const Adt *adt) {
  for (int i = 0; i < adt->ctor_count; i++)
    if (adt->ctors[i].field_count == 0) return &adt->ctors[i];
  return NULL;
}

/* Does it have a value of which nothing is bound? */
bool path_may_be_absent(const Type *t) {
  return t->kind == TY_ADT && path_nullary_of(t->adt);
}

const Type *path_field_type(rly_program *p, const Type *type, const Ctor *c,
                            int i) {
  return type_substitute(p->ir->types, c->fields[i], type->adt->param_count,
                         type->adt->params, type->args, NULL);
}

/* --- Paths ---------------------------------------------------------------- */

const char *path_join(Arena *arena, const char *path, const char *part) {
  const char *text = arena_printf(arena, *path ? "%s.%s" : "%s%s", path, part);
  return text ? text : ""; /* memory ran out: nothing will be made of it */
}

const char *path_join_index(Arena *arena, const char *path, int64_t i) {
  const char *number = arena_printf(arena, "%lld", (long long)i);
  return number ? path_join(arena, path, number) : "";
}

const char *path_of_field(Arena *arena, const char *path, const Ctor *c,
                          int i) {
  if (path_some_of(c->adt) == c) return path;
  return c->labels ? path_join(arena, path, c->labels[i].name->text)
                   : path_join_index(arena, path, i);
}

/* The number that the part of that length is; -1: none. */
int64_t path_index(const char *part, size_t len) {
  int64_t n = 0;
  for (size_t i = 0; i < len; i++) {
    if (part[i] < '0' || part[i] > '9' || i == 9) return -1;
    n = n * 10 + (part[i] - '0');
  }
  return len ? n : -1;
}

int path_field(const Ctor *c, const char *part, size_t len) {
  for (int i = 0; c->labels && i < c->field_count; i++) {
    const Name *name = c->labels[i].name;
    if (name->len == len && !memcmp(name->text, part, len)) return i;
  }
  int64_t i = c->labels ? -1 : path_index(part, len);
  return i < c->field_count ? (int)i : -1;
}

/* The part of the type that the first part of a path leads to; NULL: none. */
static const Type *type_below(rly_program *p, const Type *t, const char *part,
                              size_t len) {
  if (t->kind == TY_TUPLE) {
    int64_t i = path_index(part, len);
    return i >= 0 && i < t->count ? t->args[i] : NULL;
  }
  if (t->kind != TY_ADT) return NULL;
  const Ctor *cons = path_cons_of(t->adt);
  if (cons)
    return path_index(part, len) < 0 ? NULL : path_field_type(p, t, cons, 0);
  for (int k = 0; k < t->adt->ctor_count; k++) {
    int i = path_field(&t->adt->ctors[k], part, len);
    if (i >= 0) return path_field_type(p, t, &t->adt->ctors[k], i);
  }
  return NULL;
}

/* An option's value has its path. */
static const Type *without_options(rly_program *p, const Type *t) {
  for (int i = 0; t && t->kind == TY_ADT && i < PATH_DEPTH_MAX; i++) {
    const Ctor *some = path_some_of(t->adt);
    if (!some) break;
    t = path_field_type(p, t, some, 0);
  }
  return t;
}

bool path_has_parts(const Type *t) {
  return t->kind == TY_TUPLE || t->kind == TY_ADT;
}

/* Does `rest`, which is empty or begins with a dot, lead to the end? */
static bool rest_leads(rly_program *p, const Type *t, const char *rest) {
  size_t len;
  for (t = without_options(p, t); t && *rest == '.'; rest += len) {
    len = strcspn(++rest, ".");
    t = without_options(p, type_below(p, t, rest, len));
  }
  return t && !*rest && !path_has_parts(t);
}

bool path_leads(rly_program *p, const Type *t, const char *path) {
  size_t len = strcspn(path, ".");
  t = without_options(p, t);
  return t && rest_leads(p, type_below(p, t, path, len), path + len);
}

bool path_leads_from(rly_program *p, const char *stem, const Type *t,
                     const char *name) {
  size_t len = strlen(stem);
  return !strncmp(name, stem, len) && rest_leads(p, t, name + len);
}

/* --- Params --------------------------------------------------------------- */

bool param_has_parts(const Global *g) { return g->type->kind != TY_TENSOR; }

/* The one param whose paths may begin below it. */
const Global *path_only_param(const rly_program *p) {
  const Global *found = NULL;
  for (size_t i = 0; i < p->ir->params.len; i++) {
    const Global *g = p->ir->params.data[i];
    if (!param_has_parts(g) || scope_global(&p->ir->user, g->name) != g)
      continue;
    if (found) return NULL;
    found = g;
  }
  return found;
}

bool param_has_path(rly_program *p, const Global *g, const char *name) {
  size_t len = g->name->len;
  if (path_leads_from(p, g->name->text, g->type, name)) return true;
  bool below = !strncmp(name, g->name->text, len) && name[len] == '.';
  return !below && param_has_parts(g) && path_only_param(p) == g &&
         path_leads(p, g->type, name);
}

bool name_is_param(rly_program *p, const char *name) {
  for (size_t i = 0; i < p->ir->params.len; i++) {
    const Global *g = p->ir->params.data[i];
    bool whole = !param_has_parts(g) && !strcmp(g->name->text, name);
    if (whole || param_has_path(p, g, name)) return true;
  }
  return false;
}

/* The names of the tensors, as far as the type tells them. */
static void offer(rly_program *p, Suggestion *near, const char *path,
                  const Type *t, int *left) {
  t = without_options(p, t);
  if (!t || (*left)-- <= 0) return;
  if (t->kind == TY_TENSOR) suggestion_offer(near, path);
  for (int i = 0; t->kind == TY_TUPLE && i < t->count; i++)
    offer(p, near, path_join_index(&p->arena, path, i), t->args[i], left);
  const Ctor *cons = t->kind == TY_ADT ? path_cons_of(t->adt) : NULL;
  if (cons)
    offer(p, near, path_join_index(&p->arena, path, 0),
          path_field_type(p, t, cons, 0), left);
  for (int k = 0; t->kind == TY_ADT && !cons && k < t->adt->ctor_count; k++)
    for (int i = 0; i<t->adt->ctors[k].field_count && * left> 0; i++) {
      const Ctor *c = &t->adt->ctors[k];
      offer(p, near, path_of_field(&p->arena, path, c, i),
            path_field_type(p, t, c, i), left);
    }
}

void path_offer(rly_program *p, const char *stem, const Type *t,
                Suggestion *near) {
  int left = NAMES_MAX; /* parts, and so levels */
  offer(p, near, stem, t, &left);
}

void param_offer_paths(rly_program *p, const Global *g, const char *name,
                       Suggestion *near) {
  size_t len = g->name->len;
  bool below =
      !strncmp(name, g->name->text, len) && (!name[len] || name[len] == '.');
  bool bare = !below && path_only_param(p) == g;
  path_offer(p, bare ? "" : g->name->text, g->type, near);
}
