/* Values of tuples and data types from tensors that are bound by path (path.c).
 */
#include <stdlib.h>
#include <string.h>

#include "types/types.h"
#include "lib/path.h"

enum { LACKING_MAX = 50 }; /* tensors that one message names */

typedef struct Binder {
  rly_program *p;
  Store *store; /* NULL: only check that every value is there, build none */
  Missing *missing;
  Span at;            /* the declaration */
  VEC(Bound *) names; /* by name, the newest of each */
  int depth, lacking, parts;
} Binder;

/* --- What is bound -------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
  const Bound *x = *(Bound *const *)a, *y = *(Bound *const *)b;
  int order = strcmp(x->name, y->name);
  return order ? order : x < y ? -1 : x > y;
}

static void binder_init(Binder *b, rly_program *p) {
  *b = (Binder){.p = p};
  VEC_INIT(&b->names, p->ir->mem);
  for (size_t i = 0; i < p->bound.len; i++)
    if (p->bound.data[i].name) VEC_PUSH(&b->names, &p->bound.data[i]);
  if (b->names.len > 0)
    qsort(b->names.data, b->names.len, sizeof *b->names.data, by_name);
  size_t kept = 0;
  for (size_t i = 0; i < b->names.len; i++) {
    Bound *next = i + 1 < b->names.len ? b->names.data[i + 1] : NULL;
    if (next && !strcmp(next->name, b->names.data[i]->name)) continue;
    b->names.data[kept++] = b->names.data[i];
  }
  b->names.len = kept;
}

static void binder_done(Binder *b) { VEC_DONE(&b->names); }

/* The first name that is not below the text. */
static size_t lower_bound(const Binder *b, const char *text) {
  size_t lo = 0, hi = b->names.len;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (strcmp(b->names.data[mid]->name, text) < 0) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

static Bound *find_path(const Binder *b, const char *path) {
  size_t i = lower_bound(b, path);
  return i < b->names.len && !strcmp(b->names.data[i]->name, path)
             ? b->names.data[i]
             : NULL;
}

/* The names below a path: those that begin with it and a dot. */
typedef struct Below {
  const Binder *b;
  const char *prefix;
  size_t len, at;
} Below;

static Below names_below(const Binder *b, const char *path) {
  const char *prefix = *path ? path_join(&b->p->arena, path, "") : "";
  return (Below){b, prefix, strlen(prefix), lower_bound(b, prefix)};
}

/* The next one's first part below the path; NULL: there are no more. */
static const char *next_part(Below *n, size_t *len) {
  if (n->at >= n->b->names.len) return NULL;
  const char *name = n->b->names.data[n->at]->name;
  if (strncmp(name, n->prefix, n->len)) return NULL;
  n->at++;
  *len = strcspn(name + n->len, ".");
  return name + n->len;
}

static bool is_present(const Binder *b, const char *path) {
  Below n = names_below(b, path);
  size_t len;
  return (*path && find_path(b, path)) || next_part(&n, &len);
}

/* --- Values --------------------------------------------------------------- */

static bool build(Binder *b, const char *path, const Type *type, Value *out);

/* The tensor as a value of the type: bits, if that is a scalar's. */
static bool tensor_value(Store *store, const Tensor *t, const Type *type,
                         Value *out) {
  if (type_is_scalar(type)) {
    *out = tensor_bits_at(t, 0);
    return true;
  }
  out->tensor = tensor_view(&store->heap, t, t->rank, t->shape, t->strides, 0);
  if (!out->tensor) mem_raise_exhausted(store->heap.mem);
  return out->tensor != NULL;
}

/* An entry's parameter may be of a type that no tensor fits. */
static bool build_tensor(Binder *b, const char *path, const Type *type,
                         Value *out) {
  Bound *bound = find_path(b, path);
  if (!bound) {
    b->lacking++;
    if (b->missing) report_missing(b->missing, path, type, b->at);
    return false;
  }
  const Tensor *t = bound_fit(b->p, bound, path, type, b->at);
  return t && (!b->store || tensor_value(b->store, t, type, out));
}

static void drop_all(Binder *b, int n, const Type *const *types,
                     const Value *values, const bool *made) {
  for (int i = 0; b->store && i < n; i++)
    if (made[i]) value_drop(b->store, types[i], values[i]);
}

/* All fields are looked at, so that one message names all that lack. */
static bool build_fields(Binder *b, const char *path, const Type *type,
                         const Ctor *ctor, Value *out) {
  Arena *arena = &b->p->arena;
  int n = ctor ? ctor->field_count : type->count;
  const Type **types = ARENA_ARRAY(arena, const Type *, (size_t)n + 1);
  Value *values = ARENA_ARRAY(arena, Value, (size_t)n + 1);
  bool *made = ARENA_ARRAY(arena, bool, (size_t)n + 1), ok = true;
  if (!types || !values || !made) return false;
  for (int i = 0; i < n && b->lacking < LACKING_MAX; i++) {
    types[i] = ctor ? path_field_type(b->p, type, ctor, i) : type->args[i];
    const char *at = ctor ? path_of_field(&b->p->arena, path, ctor, i)
                          : path_join_index(&b->p->arena, path, i);
    ok &= made[i] = build(b, at, types[i], &values[i]);
  }
  ok &= b->lacking < LACKING_MAX;
  if (!ok) drop_all(b, n, types, values, made);
  if (!ok || !b->store) return ok;
  if (!ctor) return value_tuple(b->store, type, values, out);
  return value_cell(b->store, ctor->tag, n, types, values, out);
}

static int64_t list_length(const Binder *b, const char *path) {
  Below below = names_below(b, path);
  int64_t n = 0;
  size_t len;
  for (const char *part; (part = next_part(&below, &len));) {
    int64_t i = path_index(part, len);
    if (i >= n) n = i + 1;
  }
  return n;
}

/* A list is bound by the names of its elements, x.0 and so on.  Here a tensor
 * was bound to the list's own name.  Of one that was given by itself the check
 * of names has told (entry.c); a file may hold names that nothing has. */
static void report_no_list(Binder *b, const char *path, const Bound *own) {
  b->lacking++;
  if (!b->missing || own->strict) return;
  Diag *d = diag_error(b->p->ir->diags, E0503, b->at,
                       "`%s` is a list, and is bound element by element", path);
  diag_hint(d,
            "write %s.0=VALUE %s.1=VALUE and so on; without any, the list "
            "is empty",
            path, path);
}

/* Up to the highest number; one that is left out lacks. */
static bool build_list(Binder *b, const char *path, const Type *type,
                       const Ctor *cons, Value *out) {
  const Bound *own = *path ? find_path(b, path) : NULL;
  if (own) return report_no_list(b, path, own), false;
  const Type *types[] = {path_field_type(b->p, type, cons, 0), type};
  int64_t n = list_length(b, path);
  VEC(Value) values;
  VEC_INIT(&values, b->p->ir->mem);
  bool ok = true;
  for (int64_t i = 0; i < n && b->lacking < LACKING_MAX; i++) {
    Value v = {0};
    bool made = build(b, path_join_index(&b->p->arena, path, i), types[0], &v);
    ok &= made;
    if (made && b->store) VEC_PUSH(&values, v);
  }
  ok &= !mem_exhausted(b->p->ir->mem);
  Value list = {0};
  bool whole = ok && b->store;
  if (whole)
    ok = value_cell(b->store, ctor_nil(cons)->tag, 0, NULL, NULL, &list);
  while (values.len > 0) {
    Value pair[] = {VEC_POP(&values), list};
    if (!whole || !ok) value_drop(b->store, types[0], pair[0]);
    else ok = value_cell(b->store, cons->tag, 2, types, pair, &list);
  }
  VEC_DONE(&values);
  *out = list;
  return ok;
}

/* Are the parts below the path fields of the constructor, and those of its
 * fields that are not among them such as may be absent? */
static bool has_fields_of(Binder *b, const char *path, const Type *type,
                          const Ctor *c) {
  Below below = names_below(b, path);
  size_t len;
  for (const char *part; (part = next_part(&below, &len));)
    if (path_field(c, part, len) < 0) return false;
  for (int i = 0; i < c->field_count; i++)
    if (!is_present(b, path_of_field(&b->p->arena, path, c, i)) &&
        !path_may_be_absent(path_field_type(b->p, type, c, i)))
      return false;
  return true;
}

static void report_choice(Binder *b, const char *path, const Type *type,
                          int fits) {
  b->lacking++;
  if (!b->missing) return;
  Diag *d = diag_error(b->p->ir->diags, E0503, SPAN_NONE,
                       "the tensors below `%s` are those of %s constructor%s "
                       "of `%s`",
                       path, fits ? "more than one" : "no", fits ? "" : "",
                       type->adt->name->text);
  diag_note(d, type->adt->span, "declared here");
  diag_hint(d, "the names of its fields tell a constructor");
}

/* NULL after a report. */
static const Ctor *choose(Binder *b, const char *path, const Type *type) {
  const Adt *adt = type->adt;
  const Ctor *some = path_some_of(adt), *found = NULL;
  if (adt->ctor_count == 1) return adt->ctors;
  if (some) return is_present(b, path) ? some : path_nullary_of(adt);
  if (!is_present(b, path) && path_nullary_of(adt)) return path_nullary_of(adt);
  int fits = 0;
  for (int i = 0; i < adt->ctor_count; i++) {
    if (!has_fields_of(b, path, type, &adt->ctors[i])) continue;
    found = &adt->ctors[i];
    fits++;
  }
  if (fits != 1) report_choice(b, path, type, fits);
  return fits == 1 ? found : NULL;
}

static bool build(Binder *b, const char *path, const Type *type, Value *out) {
  if (mem_exhausted(b->p->ir->mem)) return false;
  if (!path_has_parts(type)) return build_tensor(b, path, type, out);
  bool deep = b->depth == PATH_DEPTH_MAX;
  if (deep || ++b->parts > PARAM_PARTS_MAX) {
    if (b->missing && deep)
      diag_error(b->p->ir->diags, E0006, b->at,
                 "`%.40s...` is nested too deeply: more than %d levels", path,
                 PATH_DEPTH_MAX);
    else if (b->missing)
      diag_error(b->p->ir->diags, E0214, b->at,
                 "`%.40s...` has more than %d parts", path, PARAM_PARTS_MAX);
    b->lacking = LACKING_MAX;
    return false;
  }
  b->depth++;
  const Ctor *cons = type->kind == TY_ADT ? path_cons_of(type->adt) : NULL;
  bool ok = false;
  if (cons) ok = build_list(b, path, type, cons, out);
  else if (type->kind == TY_TUPLE) ok = build_fields(b, path, type, NULL, out);
  else if (type->kind == TY_ADT) {
    const Ctor *c = choose(b, path, type);
    ok = c && build_fields(b, path, type, c, out);
  }
  b->depth--;
  return ok;
}

/* --- Params --------------------------------------------------------------- */

/* Is something bound that leads to a part of the value, and where does its path
 * begin? */
static bool find_root(const Binder *b, const Global *g, const char **root) {
  *root = g->name->text;
  if (is_present(b, *root)) return true;
  if (path_only_param(b->p) != g) return false;
  for (size_t i = 0; i < b->names.len; i++) {
    if (!path_leads(b->p, g->type, b->names.data[i]->name)) continue;
    *root = "";
    return true;
  }
  return false;
}

bool param_is_bound(rly_program *p, const Global *g) {
  Binder b;
  const char *root;
  binder_init(&b, p);
  bool found = find_root(&b, g, &root);
  binder_done(&b);
  return found;
}

bool param_value(rly_program *p, const Global *g, Store *store,
                 Missing *missing, Value *out) {
  Binder b;
  const char *root;
  binder_init(&b, p);
  b.store = store;
  b.missing = missing;
  b.at = g->span;
  find_root(&b, g, &root);
  bool ok = build(&b, root, g->type, out);
  binder_done(&b);
  return ok;
}

bool path_value(rly_program *p, const char *path, const Type *type, Span at,
                Store *store, Missing *missing, Value *out) {
  Binder b;
  binder_init(&b, p);
  b.store = store;
  b.missing = missing;
  b.at = at;
  bool ok = build(&b, path, type, out);
  binder_done(&b);
  return ok;
}

bool param_bound_since(rly_program *p, const Global *g, size_t from) {
  if (!param_has_parts(g)) return bound_since(p, g->name->text, from);
  for (size_t i = p->bound.len; i-- > from;) {
    const char *name = p->bound.data[i].name;
    if (name && param_has_path(p, g, name)) return true;
  }
  return false;
}

bool bound_value(rly_session *s, const char *name, const Type *type,
                 Value *out) {
  if (type->kind != TY_TENSOR)
    return path_value(s->program, name, type, SPAN_NONE, store_of(s), NULL,
                      out);
  const Tensor *t = bound_tensor(s->program, name, type, SPAN_NONE);
  return t && tensor_value(store_of(s), t, type, out);
}
