/* Does a type fit where another is wanted?  A search by type and the messages
 * of holes ask.  Both types are finished ones; inference is not involved.
 *
 * This is unification over two sets of variables (Robinson, 1965): those of
 * the type found may be instantiated, those of the type wanted only where the
 * answer is FIT_PARTLY.  An unknown dimension and an inference variable fit
 * everything, and so does a dimension that is computed from names. */
#include <string.h>

#include "base/vec.h"
#include "types/types.h"

enum { STEPS_MAX = 100000, FIT_DEPTH_MAX = 500 };

typedef struct Meaning {
  const void *var; /* a TypeVar, or a dimension's */
  const Type *type;
  Dim dim;
} Meaning;

typedef struct Fit {
  TypeTable *types;
  VEC(Meaning) found; /* what variables stand for */
  bool renames;       /* variables stand for variables, each for another */
  bool rigid;         /* the wanted type's stand for themselves */
  const TypeVar *const *wanted;
  int wanted_count;
  int steps, depth;
} Fit;

static bool is_wanted(const Fit *f, const void *var) {
  for (int i = 0; i < f->wanted_count; i++)
    if (f->wanted[i] == var) return true;
  return false;
}

static bool is_fixed(const Fit *f, const void *var) {
  return f->rigid && is_wanted(f, var);
}

static const Meaning *meaning(const Fit *f, const void *var) {
  for (size_t i = 0; i < f->found.len; i++)
    if (f->found.data[i].var == var) return &f->found.data[i];
  return NULL;
}

/* --- Dimensions ---------------------------------------------------------- */

typedef struct Lone {
  const void *key;
  const Name *name;
  int count;
} Lone;

static void count_name(void *lone, const void *key, const Name *name) {
  Lone *l = lone;
  l->key = key;
  l->name = name;
  l->count++;
}

/* The key of a dimension that is a name and nothing else; otherwise NULL. */
static const void *lone_name(DimTable *table, Dim d) {
  Lone l = {.count = 0};
  if (!dim_is_form(d)) return NULL;
  dim_names(table, d, count_name, &l);
  bool lone = l.count == 1 && dim_same(d, dim_named(table, l.name, l.key));
  return lone ? l.key : NULL;
}

static Dim dim_head(const Fit *f, Dim d) {
  const void *name = lone_name(types_dims(f->types), d);
  const Meaning *m = name ? meaning(f, name) : NULL;
  return m ? m->dim : d;
}

static bool fit_dims(Fit *f, Dim a, Dim b) {
  DimTable *table = types_dims(f->types);
  a = dim_head(f, a);
  b = dim_head(f, b);
  bool open =
      dim_is_any(a) || dim_is_any(b) || dim_is_hole(a) || dim_is_hole(b);
  if (dim_same(a, b) || open) return dim_same(a, b) || !f->renames;
  if (dim_is_number(a) && dim_is_number(b)) return false;
  const void *x = lone_name(table, a), *y = lone_name(table, b);
  if (f->renames && (!x || !y)) return !x && !y;
  if (x && !is_fixed(f, x)) VEC_PUSH(&f->found, ((Meaning){x, NULL, b}));
  else if (y && !is_fixed(f, y)) VEC_PUSH(&f->found, ((Meaning){y, NULL, a}));
  else
    return !(x && y) && !(f->rigid && (dim_is_number(a) || dim_is_number(b)));
  return true;
}

/* --- Types --------------------------------------------------------------- */

static const Type *head(const Fit *f, const Type *t) {
  const Meaning *m;
  while (t->kind == TY_VAR && (m = meaning(f, t->var))) t = m->type;
  return t;
}

/* Does `var` occur in what `t` stands for?  Too large a type is taken to be one
 * in which it does. */
static bool occurs(Fit *f, const TypeVar *var, const Type *t) {
  t = head(f, t);
  if (t->kind == TY_VAR) return t->var == var;
  if (!t->has_var) return false;
  if (++f->steps > STEPS_MAX || f->depth > FIT_DEPTH_MAX) return true;
  f->depth++;
  bool found = t->kind == TY_FN && occurs(f, var, t->result);
  for (int i = 0; i < t->count && !found; i++)
    found = occurs(f, var, t->args[i]);
  f->depth--;
  return found;
}

static bool bind(Fit *f, const TypeVar *var, const Type *t) {
  if (t->kind != TY_VAR && (f->renames || occurs(f, var, t))) return false;
  if (f->renames)
    for (size_t i = 0; i < f->found.len; i++)
      if (f->found.data[i].type == t) return false;
  VEC_PUSH(&f->found, ((Meaning){var, t, DIM_ANY}));
  return true;
}

static bool fit(Fit *f, const Type *a, const Type *b);

static bool fit_parts(Fit *f, const Type *a, const Type *b) {
  if (a->kind != b->kind || a->count != b->count || a->adt != b->adt)
    return false;
  if (a->kind == TY_TENSOR) {
    if (a->dtype != b->dtype || a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
      if (!fit_dims(f, a->dims[i], b->dims[i])) return false;
    return true;
  }
  for (int i = 0; i < a->count; i++)
    if (!fit(f, a->args[i], b->args[i])) return false;
  return a->kind != TY_FN || fit(f, a->result, b->result);
}

static bool is_open(const Type *t) {
  return t->kind == TY_META || t->kind == TY_ERROR;
}

static bool fit(Fit *f, const Type *a, const Type *b) {
  a = head(f, a);
  b = head(f, b);
  if (a == b && a->kind == TY_VAR) return true;
  if (is_open(a) || is_open(b)) return true;
  if (++f->steps > STEPS_MAX || f->depth > FIT_DEPTH_MAX) return false;
  if (a->kind == TY_VAR && !is_fixed(f, a->var)) return bind(f, a->var, b);
  if (b->kind == TY_VAR && !is_fixed(f, b->var)) return bind(f, b->var, a);
  if (a->kind == TY_VAR || b->kind == TY_VAR) return false;
  f->depth++;
  bool fits = fit_parts(f, a, b);
  f->depth--;
  return fits;
}

static bool try(Fit *f, const Type *found, const Type *wanted, bool renames,
                bool rigid) {
  VEC_CLEAR(&f->found);
  f->steps = f->depth = 0;
  f->renames = renames;
  f->rigid = rigid;
  return fit(f, found, wanted);
}

TypeFit types_fit(TypeTable *types, const Type *found, const Type *wanted) {
  bool fn = wanted->kind == TY_FN;
  Fit f = {.types = types,
           .wanted = fn ? wanted->params : NULL,
           .wanted_count = fn ? wanted->param_count : 0};
  VEC_INIT(&f.found, types_mem(types));
  TypeFit answer = try(&f, found, wanted, true, false)    ? FIT_SAME
                   : try(&f, found, wanted, false, true)  ? FIT_MORE
                   : try(&f, found, wanted, false, false) ? FIT_PARTLY
                                                          : FIT_NOT;
  VEC_DONE(&f.found);
  return answer;
}
