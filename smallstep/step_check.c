/* Run-time checks of the small-step machine: whether a tensor, or a tuple of
 * tensors, has the shape that a type states.
 *
 * Types have dimensions that are numbers, named, or unknown (`?`):
 *
 *   fn [n: Dim] (%x: Tensor[(n, 3), float32], %y: Tensor[(n), float32])
 *
 * On entry n is bound to the length of the first axis that is declared with it;
 * then every parameter must fit its type with n put in.  Which values need a
 * check at all was decided by the checker (types_need_check): most do not. */
#include "smallstep/step_machine.h"

/* --- Named dimensions as numbers ---------------------------------------- */

enum { NAMES_MAX = 32 };

/* The named dimensions of a type, and their numbers in an environment. */
typedef struct Names {
  StepMachine *m;
  StepObj *env;
  int count;
  const void *keys[NAMES_MAX];
  Dim numbers[NAMES_MAX];
} Names;

static void add_name(void *data, const void *key, const Name *name) {
  (void)name;
  Names *n = data;
  int64_t number = step_lookup_dim(n->m, n->env, key);
  if (number < 0 || n->count == NAMES_MAX) return;
  n->keys[n->count] = key;
  n->numbers[n->count++] = dim_of(number);
}

/* Only the names that occur in this type; more than NAMES_MAX are not looked
 * at, so their dimensions fit anything. */
static Names names_of(StepMachine *m, const Type *t, StepObj *env) {
  Names names = {.m = m, .env = env};
  for (int i = 0; i < t->rank; i++)
    dim_names(types_dims(m->program->types), t->dims[i], add_name, &names);
  return names;
}

static DimValues values_of(const Names *n) {
  return (DimValues){n->count, n->keys, n->numbers};
}

/* --- Fitting ------------------------------------------------------------ */

/* A dimension that is no number even then fits any length. */
static bool tensor_fits(StepMachine *m, const Tensor *t, const Type *expected,
                        StepObj *env) {
  if (expected->any_rank) return true;
  if (t->rank != expected->rank) return false;
  Names names = names_of(m, expected, env);
  for (int i = 0; i < t->rank; i++) {
    Dim d = dim_number(types_dims(m->program->types), expected->dims[i],
                       values_of(&names));
    if (!dim_is_hole(d) && !dim_is(d, t->shape[i])) return false;
  }
  return true;
}

/* The first tensor in `v` that does not fit, or NULL; *expected receives its
 * type.  The checker bounds the nesting of tuple types. */
static const StepObj *misfit(StepMachine *m, const StepObj *v,
                             const Type **expected, StepObj *env) {
  const Type *type = *expected;
  if (type->kind == TY_TENSOR)
    return tensor_fits(m, v->tensor, type, env) ? NULL : v;
  if (type->kind != TY_TUPLE) return NULL;
  const StepObj *found = NULL;
  for (int i = 0; !found && i < type->count; i++) {
    *expected = type->args[i];
    found = misfit(m, v->fields[i], expected, env);
  }
  return found;
}

/* *expected ends at the type of the tensor that does not fit, which the message
 * quotes. */
static bool check(StepMachine *m, const StepObj *v, const Type *expected,
                  StepObj *env, const char *what, Span span) {
  const StepObj *wrong = misfit(m, v, &expected, env);
  if (!wrong) return true;
  StrBuf text;
  strbuf_init(&text, m->mem);
  strbuf_add(&text, "this value has shape ");
  shape_print(&text, wrong->tensor->rank, wrong->tensor->shape);
  strbuf_addf(&text, ", which does not fit the %s's ", what);
  const DimTable *dims = types_dims(m->program->types);
  Names names = names_of(m, expected, env);
  dims_print(dims, &text, expected->rank, expected->dims);
  dims_where(dims, &text, expected->rank, expected->dims, values_of(&names));
  step_fail(m, E0603, span, "%s", strbuf_text(&text));
  strbuf_done(&text);
  return false;
}

bool step_check_out(StepMachine *m, const StepObj *v, const Type *actual,
                    const Type *expected, StepObj *env, const char *what,
                    Span span) {
  return !types_need_check_out(m->program, actual, expected) ||
         check(m, v, expected, env, what, span);
}

bool step_check(StepMachine *m, const StepObj *v, const Type *actual,
                const Type *expected, StepObj *env, const char *what,
                Span span) {
  return !types_need_check(actual, expected) ||
         check(m, v, expected, env, what, span);
}

/* --- Entering a function ------------------------------------------------ */

/* The number that dimension `wanted` has in a value of this type; -1: the type
 * does not determine it. */
static int64_t find_dim(const Type *type, const StepObj *v, Dim wanted) {
  if (type->kind == TY_TENSOR) {
    for (int i = 0; i < type->rank; i++)
      if (dim_same(type->dims[i], wanted)) return v->tensor->shape[i];
  }
  int64_t found = -1;
  for (int i = 0; type->kind == TY_TUPLE && found < 0 && i < type->count; i++)
    found = find_dim(type->args[i], v->fields[i], wanted);
  return found;
}

/* Binds a Dim parameter to the dimension of the first parameter that has it.
 * -1 where no parameter determines it: a use of it in the program is an error
 * then (step_dim). */
static void bind_dim(StepMachine *m, const Fn *fn, const TypeVar *var,
                     const StepObj *args, StepObj **env) {
  DimTable *dims = types_dims(m->program->types);
  Dim wanted = dim_named(dims, var->name, var);
  int64_t n = -1;
  for (int i = 0; n < 0 && i < fn->param_count; i++) {
    const Type *declared = fn->params[i]->declared;
    if (declared) n = find_dim(declared, args->fields[i], wanted);
  }
  StepObj *number = step_obj(m, V_NUMBER, 0);
  if (!number) return;
  number->number = n;
  *env = step_pair(m, E_BIND, var, *env, number);
}

/*    args fit the declared types, with the dimensions they determine
 *    ----------------------------------------------------------------
 *    env  ->  env, n1 = ..., %x1 = v1, ..., %xk = vk */
bool step_enter(StepMachine *m, const Fn *fn, const StepObj *args,
                StepObj **env) {
  for (int i = 0; i < fn->type_param_count; i++) {
    const TypeVar *var = fn->type_vars[i];
    if (var->kind == KIND_DIM && var->number) bind_dim(m, fn, var, args, env);
  }
  for (int i = 0; i < fn->param_count; i++) {
    const Var *param = fn->params[i];
    bool waits = args->fields[i]->kind == V_PROMISE; /* its type fits */
    if (!waits && !check(m, args->fields[i], param->type, *env, "parameter",
                         var_span(param)))
      return false;
    *env = step_pair(m, E_BIND, param, *env, args->fields[i]);
  }
  return !mem_exhausted(m->mem);
}
