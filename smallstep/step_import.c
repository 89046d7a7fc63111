/* Copies a session's values into the small-step machine, cells included, so
 * that stepping does not change the session.
 *
 * A cell is copied once, however many ways lead to it, and so is written by all
 * of them.  A tuple or a term cannot be told from its copy, but a value that
 * shares its parts may be printed as 2^60 of them: one that several ways lead
 * to is copied once for each import.  Copies still to be made are on an
 * explicit stack, each with the place that it goes to.
 *
 * A function is the difficult case: the VM's closure is a code pointer and an
 * array of what was captured, without names, in the instance for some types.
 * Here it becomes a V_CLOSURE over an environment:
 *
 *   closure [code][a][b]     code's group: free variables %a, %b, members %f
 *      ->  E_GROUP { %f } -> E_BIND %b -> E_BIND %a -> NULL
 *
 * The types of captured values come from the variables, in which type
 * parameters stand; what these are in this instance is found by comparing the
 * function's type with the type at its use (match). */
#include "smallstep/step_machine.h"
#include "bytecode/code.h"

/* The place of a copy that is still to be made. */
typedef struct Wanted {
  const Type *type;
  Value value;
  StepObj *into;
  uint32_t field;
} Wanted;

enum { INSTANCE_MOST = 16 };

typedef struct Import {
  StepMachine *m;
  Session *session;
  VEC(Wanted) todo;
  PtrMap shared; /* a tuple or a term of several owners -> its copy */
} Import;

/* Copied rather than shared: the session may write over its own. */
static StepObj *tensor(StepMachine *m, const Type *type, Value v) {
  return step_tensor_take(
      m, type_is_scalar(type)
             ? tensor_from_bits(&m->heap, (DType)type->dtype, v)
             : tensor_copy(&m->heap, v.tensor));
}

/* Fields are filled in later, by import(). */
static StepObj *fields_of(Import *im, StepObj *to, const Type *type, Value v) {
  for (uint32_t i = 0; to && i < to->count; i++) {
    Wanted w = {.into = to, .field = i};
    w.value = value_field(session_store(im->session), type, v, (int)i, &w.type);
    VEC_PUSH(&im->todo, w);
  }
  return to;
}

/* Copies a cell.  Cells without fields are not looked up: one immortal cell
 * serves every nullary constructor of the same tag. */
static StepObj *cell(Import *im, const Type *type, Value v) {
  const Ctor *ctor =
      type->kind == TY_ADT ? &type->adt->ctors[v.obj->tag] : NULL;
  int count = ctor ? ctor->field_count : type->count;
  bool shared = count > 0 && v.obj->count > 1;
  StepObj *o = shared ? ptrmap_get(&im->shared, v.obj) : NULL;
  if (o) return o;
  o = step_obj(im->m, ctor ? V_DATA : V_TUPLE, (uint32_t)count);
  if (o && ctor) o->ctor = ctor;
  if (o && shared) ptrmap_put(&im->shared, v.obj, o);
  return fields_of(im, o, type, v);
}

/* Entered into the map before its content is copied, so a cycle ends here. */
static StepObj *ref(Import *im, const Type *type, Value v) {
  StepMachine *m = im->m;
  StepObj *cell = ptrmap_get(&m->imported, v.obj);
  if (cell) return cell;
  cell = step_obj(m, V_CELL, 1);
  if (!cell) return NULL;
  cell->serial = ++m->cells;
  cell->imported = 1;
  ptrmap_put(&m->imported, v.obj, cell);
  VEC_PUSH(&m->kept, cell);
  return fields_of(im, cell, type, v);
}

/* --- Functions ---------------------------------------------------------- */

/* The types of type variables, as far as the function's type at its use and its
 * code determine them. */
typedef struct Instance {
  int count;
  const TypeVar *vars[INSTANCE_MOST];
  const Type *types[INSTANCE_MOST];
} Instance;

/* The first answer counts; a function with more than INSTANCE_MOST parameters
 * is not told all of its types. */
static void add_instance(Instance *in, const TypeVar *var, const Type *type) {
  for (int i = 0; i < in->count; i++)
    if (in->vars[i] == var) return;
  if (in->count == INSTANCE_MOST) return;
  in->vars[in->count] = var;
  in->types[in->count++] = type;
}

/* The checker bounds the nesting of types.
 *
 *   open    fn (List[A]) -> A        actual  fn (List[int32]) -> int32
 *   gives   A = int32 */
static void match(Instance *in, const Type *open, const Type *actual) {
  if (open->kind == TY_VAR) add_instance(in, open->var, actual);
  if (open->kind != actual->kind || open->count != actual->count) return;
  for (int i = 0; i < open->count; i++)
    match(in, open->args[i], actual->args[i]);
  if (open->kind == TY_FN) match(in, open->result, actual->result);
}

static const Type *at_instance(const Import *im, const Instance *in,
                               const Type *type) {
  static const Dim dims[INSTANCE_MOST];
  if (!type->has_var || in->count == 0) return type;
  return type_substitute(im->m->program->types, type, in->count, in->vars,
                         in->types, dims);
}

/* A variable whose type the closure does not determine gets no value.  Its use
 * is then reported as an error (step_var). */
static StepObj *captured(Import *im, const FnGroup *g, Cell *closure,
                         const Instance *in) {
  Cell *from = captures_cell(g, closure);
  uint64_t at = (uint64_t)captures_first(g);
  StepObj *env = NULL;
  for (int i = 0; i < g->free_count; i++) {
    const FreeVar *v = &g->free[i];
    if (!v->captured) continue;
    env = step_pair(im->m, E_BIND, v->var, env, NULL);
    if (!env) return NULL;
    const Type *type = at_instance(im, in, v->var->type);
    bool object = cell_field_counted(from, at);
    Value value = value_plain(type, cell_fields(from)[at++], object);
    if (type->has_var && type->kind != TY_FN) continue; /* still not known */
    VEC_PUSH(&im->todo, (Wanted){type, value, env, BOUND});
  }
  return env;
}

/* The expression that a variable stands for if it is not captured. */
static const Expr *meant(const FreeVar *v) {
  if (v->captured) return NULL;
  return v->callee ? v->callee->key.expr : v->general;
}

/* Functions that a closure need not capture, and the function's own group,
 * whose members see one another. */
static StepObj *group(Import *im, const FnGroup *g, StepObj *env) {
  StepMachine *m = im->m;
  size_t most = (size_t)(g->free_count + g->count);
  Binding *b = ARENA_ARRAY(&m->arena, Binding, most);
  StepObj *o = step_obj(m, E_GROUP, 1);
  if (!b || !o) return NULL;
  o->fields[OUTER] = env;
  o->bindings = b;
  for (int i = 0; i < g->free_count; i++) {
    const Expr *value = meant(&g->free[i]);
    if (value && value->kind == EX_FN)
      b[o->size++] = (Binding){.var = (Var *)g->free[i].var, .value = value};
  }
  for (int i = 0; i < g->count; i++)
    if (g->vars[i])
      b[o->size++] = (Binding){.var = (Var *)g->vars[i], .value = g->fns[i]};
  return o;
}

/* What a form was given, as its closure has it.  Of a run that vjp began the
 * tape is not told. */
static StepObj *form(Import *im, const Function *f, Value v) {
  const FnGroup *g = f->key.group;
  const Value *from = cell_fields(captures_cell(g, v.cell)) + captures_first(g);
  StepObj *o = step_obj(im->m, V_FORM, (uint32_t)g->free_count);
  if (!o) return NULL;
  o->expr = f->key.expr;
  for (int i = 0; i < g->free_count; i++)
    VEC_PUSH(&im->todo,
             (Wanted){g->free[i].var->type, from[i], o, (uint32_t)i});
  return o;
}

/* An operator or a constructor as a value has no environment. */
static StepObj *function(Import *im, const Type *type, Value v) {
  v.cell = closure_meant(v.cell);
  const Function *f = closure_function(v.cell);
  if (f->key.kind == FUNCTION_FN) {
    if (!f->key.group) return step_closure(im->m, f->key.expr, NULL);
    Instance in = {.count = 0};
    match(&in, f->key.expr->type, type);
    for (int i = 0; f->key.env && i < f->key.env->count; i++) {
      const Type *known = f->key.env->types[i];
      if (known) add_instance(&in, f->key.env->vars[i], known);
    }
    StepObj *env = captured(im, f->key.group, v.cell, &in);
    return step_closure(im->m, f->key.expr, group(im, f->key.group, env));
  }
  if (f->key.kind == FUNCTION_FORM) return form(im, f, v);
  bool is_op = f->key.kind == FUNCTION_OP;
  StepObj *o = step_obj(im->m, is_op ? V_OP : V_CTOR, 0);
  if (o && is_op) o->expr = f->key.expr;
  if (o && !is_op) o->ctor = f->key.ctor;
  return o;
}

/* --- All kinds ---------------------------------------------------------- */

static StepObj *copy(Import *im, const Type *type, Value v) {
  switch (type->kind) {
    case TY_TENSOR: return tensor(im->m, type, v);
    case TY_TUPLE:
    case TY_ADT: return cell(im, type, v);
    case TY_REF: return ref(im, type, v);
    case TY_FN: return function(im, type, v);
    default: return NULL;
  }
}

/* A worklist, which ends because each entry copies one object of a finite
 * value. */
static StepObj *import(StepMachine *m, Session *s, const Type *type, Value v) {
  Import im = {.m = m, .session = s};
  VEC_INIT(&im.todo, m->mem);
  ptrmap_init(&im.shared, m->mem);
  StepObj *whole = copy(&im, type, v);
  while (im.todo.len && !mem_exhausted(m->mem)) {
    Wanted w = VEC_POP(&im.todo);
    w.into->fields[w.field] = copy(&im, w.type, w.value);
  }
  VEC_DONE(&im.todo);
  ptrmap_done(&im.shared);
  return mem_exhausted(m->mem) ? NULL : whole;
}

StepObj *step_import_global(StepMachine *m, const Global *g) {
  Value v;
  Session *s = m->host.session;
  return s && session_value(s, g, &v) ? import(m, s, g->type, v) : NULL;
}

/* Made once for each use: the machine's objects are counted by their own
 * collector. */
StepObj *step_import_param(StepMachine *m, const Global *g) {
  const Value *v = m->host.code ? code_param(m->host.code, g) : NULL;
  return v ? import(m, m->host.session, g->type, *v) : NULL;
}

StepValue *step_arguments(StepMachine *m, int count) {
  StepObj *args = step_obj(m, V_TUPLE, (uint32_t)count);
  if (args) VEC_PUSH(&m->kept, args);
  return args;
}

bool step_argument(StepMachine *m, StepValue *args, int i, Session *s,
                   const Type *type, Value v) {
  args->fields[i] = import(m, s, type, v);
  return args->fields[i];
}
