/* Free variables and substitution of types: capture-avoiding, and on the DAG.
 *
 *   (fn [A](A, B) -> A)[B := A]    is    fn [A'](A', A) -> A'
 *
 * What is shared is visited once, which a map from types to results sees to, so
 * both are linear in the type as a DAG although its tree may be exponential.
 * Interned types make the result shared, too.  An explicit stack replaces
 * recursion; the C stack grows only with the nesting of quantified functions,
 * which has a bound. */
#include "ir/type.h"

enum { MAX_QUANTIFIERS = 100 };

typedef VEC(const Type *) TypeStack;

/* The children that may hold a variable: args, then a function's result. */
static int child_count(const Type *t) { return t->count + (t->result != NULL); }
static const Type *child_at(const Type *t, int i) {
  return i < t->count ? t->args[i] : t->result;
}

static int index_of(int n, const TypeVar *const *vars, const TypeVar *var) {
  for (int i = 0; i < n; i++)
    if (vars[i] == var) return i;
  return -1;
}

/* --- Which variables occur free ------------------------------------------- */

/* What one level of quantification binds, innermost first. */
typedef struct Bound {
  const struct Bound *outer;
  const Type *fn; /* NULL at the root */
  int depth;
} Bound;

typedef struct Search {
  TypeTable *types;
  int n; /* 0: any variable is wanted */
  const TypeVar *const *wanted;
  const Bound *bound;
  bool found;
} Search;

/* A variable that a function around it binds is not free. */
static void meet_variable(Search *s, const TypeVar *var) {
  for (const Bound *b = s->bound; b && b->fn; b = b->outer)
    if (index_of(b->fn->param_count, b->fn->params, var) >= 0) return;
  s->found |= s->n == 0 || index_of(s->n, s->wanted, var) >= 0;
}

static void meet_dim_name(void *data, const void *key, const Name *name) {
  (void)name;
  meet_variable(data, key);
}

static void search_children(Search *s, const Type *root);

/* Beyond the bound the answer is that it does occur, the safe one: then names
 * are renamed that need not be.  `seen` begins afresh below, as what is free
 * depends on what is bound. */
static void search_quantified(Search *s, const Type *fn) {
  Bound inner = {s->bound, fn, s->bound ? s->bound->depth + 1 : 1};
  if (inner.depth > MAX_QUANTIFIERS) {
    s->found = true;
    return;
  }
  s->bound = &inner;
  search_children(s, fn);
  s->bound = inner.outer;
}

/* Looks at one node; its children are left to the caller's stack. */
static void search_node(Search *s, const Type *t, TypeStack *stack) {
  if (t->kind == TY_VAR) {
    meet_variable(s, t->var);
  } else if (t->rank > 0) {
    for (int i = 0; i < t->rank; i++)
      if (dim_is_form(t->dims[i]))
        dim_names(types_dims(s->types), t->dims[i], meet_dim_name, s);
  } else if (t->param_count > 0) {
    search_quantified(s, t);
  } else {
    VEC_PUSH(stack, t);
  }
}

/* Everything below `root`, each shared node once. */
static void search_children(Search *s, const Type *root) {
  TypeStack stack;
  PtrMap seen;
  VEC_INIT(&stack, types_mem(s->types));
  ptrmap_init(&seen, types_mem(s->types));
  VEC_PUSH(&stack, root);
  while (stack.len > 0 && !s->found) {
    const Type *t = VEC_POP(&stack);
    for (int i = 0; i < child_count(t); i++) {
      const Type *child = child_at(t, i);
      if (!child->has_var || ptrmap_has(&seen, child)) continue;
      ptrmap_put(&seen, child, (void *)child);
      search_node(s, child, &stack);
    }
  }
  ptrmap_done(&seen);
  VEC_DONE(&stack);
}

bool type_mentions(TypeTable *t, const Type *type, int n,
                   const TypeVar *const *vars) {
  if (!type->has_var) return false;
  Search s = {.types = t, .n = n, .wanted = vars};
  TypeStack stack;
  VEC_INIT(&stack, types_mem(t));
  search_node(&s, type, &stack);
  if (stack.len > 0) search_children(&s, type);
  VEC_DONE(&stack);
  return s.found;
}

/* --- Substitution --------------------------------------------------------- */

typedef struct Subst {
  TypeTable *types;
  int n;
  const TypeVar *const *vars;
  const Type *const *to;
  const Dim *dims;
  int depth;      /* of quantified functions whose parameters clash */
  PtrMap done;    /* type -> its result */
  TypeStack work; /* types whose result is wanted */
  TypeStack parts;
} Subst;

static const Type *run(Subst *s, const Type *type);

static void subst_init(Subst *s, TypeTable *t) {
  s->types = t;
  ptrmap_init(&s->done, types_mem(t));
  VEC_INIT(&s->work, types_mem(t));
  VEC_INIT(&s->parts, types_mem(t));
}

static void subst_done(Subst *s) {
  ptrmap_done(&s->done);
  VEC_DONE(&s->work);
  VEC_DONE(&s->parts);
}

/* The result for a type, NULL while it is still to be worked out. */
static const Type *result_of(const Subst *s, const Type *t) {
  return t->has_var ? ptrmap_get(&s->done, t) : t;
}

static const Type *subst_var(const Subst *s, const Type *t) {
  int i = index_of(s->n, s->vars, t->var);
  return i < 0 || t->var->kind == KIND_DIM ? t : s->to[i];
}

/* A form is replaced name by name and brought to its normal form again. */
static const Type *subst_tensor(const Subst *s, const Type *t) {
  Dim dims[UINT8_MAX];
  for (int i = 0; i < t->rank; i++) {
    dims[i] = !dim_is_form(t->dims[i])
                  ? t->dims[i]
                  : dim_substitute(types_dims(s->types), t->dims[i], s->n,
                                   (const void *const *)s->vars, s->dims);
  }
  return t->kind == TY_DIM ? type_dim(s->types, dims[0])
                           : type_tensor(s->types, t->dtype, t->rank, dims);
}

/* The node again, over its children's results.  Interning gives the old node
 * back where no part changed. */
static const Type *rebuild(Subst *s, const Type *t) {
  VEC_CLEAR(&s->parts);
  for (int i = 0; i < t->count; i++)
    VEC_PUSH(&s->parts, result_of(s, t->args[i]));
  if (mem_exhausted(types_mem(s->types))) return type_error(s->types);
  const Type *const *args = s->parts.data;
  switch (t->kind) {
    case TY_TUPLE: return type_tuple(s->types, t->count, args);
    case TY_REF: return type_ref(s->types, args[0]);
    case TY_ADT: return type_adt(s->types, t->adt, t->count, args);
    default:
      return type_fn(s->types, t->param_count, t->params, t->count, args,
                     result_of(s, t->result));
  }
}

/* Would going below this quantified function as it is confuse its parameters
 * with what is replaced or with what comes in? */
static bool clashes(const Subst *s, const Type *fn) {
  for (int i = 0; i < s->n; i++) {
    const TypeVar *var = s->vars[i];
    if (index_of(fn->param_count, fn->params, var) >= 0) return true;
    Dim dim = var->kind == KIND_DIM ? s->dims[i] : DIM_ANY;
    const Type *in = var->kind == KIND_DIM
                         ? type_tensor(s->types, DT_BOOL, 1, &dim)
                         : s->to[i];
    if (type_mentions(s->types, in, fn->param_count, fn->params)) return true;
  }
  return false;
}

/* The substitution to use below `fn`: what `fn` hides is left out, and its
 * parameters become fresh ones, returned in `params`. */
typedef struct Renaming {
  VEC(const TypeVar *) vars;
  VEC(const Type *) to;
  VEC(Dim) dims;
  VEC(const TypeVar *) params;
} Renaming;

static void rename_params(Renaming *r, const Subst *s, const Type *fn) {
  for (int i = 0; i < fn->param_count; i++) {
    const TypeVar *old = fn->params[i];
    const TypeVar *made =
        typevar_new(s->types, old->name, old->span, old->kind);
    VEC_PUSH(&r->params, made);
    VEC_PUSH(&r->vars, old);
    VEC_PUSH(&r->to, type_var(s->types, made));
    VEC_PUSH(&r->dims, old->kind == KIND_DIM
                           ? dim_named(types_dims(s->types), old->name, made)
                           : DIM_ANY);
  }
}

static void keep_unhidden(Renaming *r, const Subst *s, const Type *fn) {
  for (int i = 0; i < s->n; i++) {
    const TypeVar *var = s->vars[i];
    if (index_of(fn->param_count, fn->params, var) >= 0) continue;
    VEC_PUSH(&r->vars, var);
    VEC_PUSH(&r->to, var->kind == KIND_DIM ? NULL : s->to[i]);
    VEC_PUSH(&r->dims, var->kind == KIND_DIM ? s->dims[i] : DIM_ANY);
  }
}

/* Below the function another substitution holds, so its results are kept apart
 * from the outer ones. */
static const Type *subst_below(Subst *s, const Type *fn, const Renaming *r) {
  Subst inner = {.n = (int)r->vars.len,
                 .vars = r->vars.data,
                 .to = r->to.data,
                 .dims = r->dims.data,
                 .depth = s->depth + 1};
  subst_init(&inner, s->types);
  TypeStack args;
  VEC_INIT(&args, types_mem(s->types));
  for (int i = 0; i < fn->count; i++) VEC_PUSH(&args, run(&inner, fn->args[i]));
  const Type *result = run(&inner, fn->result);
  const Type *made = mem_exhausted(types_mem(s->types))
                         ? type_error(s->types)
                         : type_fn(s->types, fn->param_count, r->params.data,
                                   fn->count, args.data, result);
  VEC_DONE(&args);
  subst_done(&inner);
  return made;
}

static const Type *subst_clashing(Subst *s, const Type *fn) {
  if (s->depth >= MAX_QUANTIFIERS) return type_error(s->types);
  Mem *mem = types_mem(s->types);
  Renaming r;
  VEC_INIT(&r.vars, mem);
  VEC_INIT(&r.to, mem);
  VEC_INIT(&r.dims, mem);
  VEC_INIT(&r.params, mem);
  rename_params(&r, s, fn);
  keep_unhidden(&r, s, fn);
  const Type *made =
      mem_exhausted(mem) ? type_error(s->types) : subst_below(s, fn, &r);
  VEC_DONE(&r.vars);
  VEC_DONE(&r.to);
  VEC_DONE(&r.dims);
  VEC_DONE(&r.params);
  return made;
}

/* The result for a node, or NULL when children were put on the stack first. */
static const Type *step(Subst *s, const Type *t) {
  if (t->kind == TY_VAR) return subst_var(s, t);
  if (t->kind == TY_TENSOR || t->kind == TY_DIM) return subst_tensor(s, t);
  if (t->param_count > 0 && clashes(s, t)) return subst_clashing(s, t);
  size_t before = s->work.len;
  for (int i = child_count(t) - 1; i >= 0; i--) {
    const Type *child = child_at(t, i);
    if (!result_of(s, child)) VEC_PUSH(&s->work, child);
  }
  return s->work.len > before ? NULL : rebuild(s, t);
}

/* A type on the stack is looked at twice: its parts are pushed the first time,
 * and have results the second. */
static const Type *run(Subst *s, const Type *type) {
  VEC_PUSH(&s->work, type);
  while (s->work.len > 0) {
    if (mem_exhausted(types_mem(s->types))) return type_error(s->types);
    const Type *t = VEC_LAST(&s->work);
    const Type *result = result_of(s, t);
    if (!result && (result = step(s, t)))
      ptrmap_put(&s->done, t, (void *)result);
    if (result) s->work.len--;
  }
  const Type *result = result_of(s, type);
  return result ? result : type_error(s->types);
}

const Type *type_substitute(TypeTable *t, const Type *type, int n,
                            const TypeVar *const *vars, const Type *const *to,
                            const Dim *dims) {
  if (n == 0 || !type->has_var) return type;
  VEC(Dim) args;
  VEC_INIT(&args, types_mem(t));
  for (int i = 0; !dims && i < n; i++)
    VEC_PUSH(&args, to[i] && to[i]->kind == TY_DIM ? to[i]->dims[0] : DIM_ANY);
  bool fits = dims || !mem_exhausted(types_mem(t));
  Subst s = {.n = n, .vars = vars, .to = to, .dims = dims ? dims : args.data};
  subst_init(&s, t);
  const Type *result = fits ? run(&s, type) : type_error(t);
  subst_done(&s);
  VEC_DONE(&args);
  return result;
}
