/* The code of a program: its functions, made on demand, and the immortal cells
 * that they refer to.
 *
 *   a call's word --> Function --> code --> stub: [lower | Function]
 *                                           until it is first entered, then
 *                                           [unit | unit | ...]
 *
 * So lowering one function makes no other: a call of it needs a Function, whose
 * code is a stub that makes the rest when the machine gets there.  `code` is
 * published with a release store after all that it belongs to, and never
 * changes after, so sessions on other threads read it without the lock.
 *
 * Instances are hash-consed by their keys (instance.h): two calls that need the
 * same code get one Function.  Functions live in the code's arena until the
 * code goes; closures in sessions point to them.
 *
 * All that makes or looks up instances runs under the lock. */
#include "bytecode/code.h"

#include "kernels/pack.h"

#include <stdlib.h>

/* --- Types -------------------------------------------------------------- */

int env_find(const Env *env, const TypeVar *v) {
  for (int i = 0; env && i < env->count; i++)
    if (env->vars[i] == v) return i;
  return -1;
}

bool env_counted(const Env *env, const Type *type) {
  if (type->kind != TY_VAR) return type_is_object_in(type, env_is_dual(env));
  int i = env_find(env, type->var);
  return i < 0 || env->counted[i];
}

const Env *env_dual(Code *c, const Env *env) {
  if (env_is_dual(env)) return env;
  Env *made = ARENA_NEW(&c->arena, Env);
  *made = (Env){.dual = true};
  if (!env) return made;
  size_t n = (size_t)env->count;
  *made = *env;
  made->dual = true;
  bool *counted = arena_copy(&c->arena, env->counted, n * sizeof *counted);
  for (size_t i = 0; counted && i < n; i++)
    counted[i] |= env->types[i] && type_is_float_scalar(env->types[i]);
  made->counted = counted;
  if (!counted) made->count = 0;
  return made;
}

/* Only parameters whose types are known are put in; others stay, since code
 * depends on their representation alone. */
const Type *env_type(Code *c, const Env *env, const Type *type) {
  if (!env || !type->has_var) return type;
  const TypeVar *vars[env->count + 1];
  const Type *types[env->count + 1];
  int n = 0;
  for (int i = 0; i < env->count; i++) {
    if (!env->types[i]) continue;
    vars[n] = env->vars[i];
    types[n++] = env->types[i];
  }
  if (n == 0) return type;
  return type_substitute(c->program->types, type, n, vars, types, NULL);
}

/* --- Functions ---------------------------------------------------------- */

static const char *function_name(Code *c, const InstanceKey *key) {
  const Global *g = key->global;
  if (key->kind == FUNCTION_STEP) return "top level";
  if (!g) return "fn";
  return arena_printf(&c->arena, "%s%s", global_sigil(g), g->name->text);
}

static Function *function_new(Code *c, const InstanceKey *key) {
  Function *f = ARENA_NEW(&c->arena, Function);
  f->key = *key;
  f->name = function_name(c, key);
  f->stub[0] = (Word){.op = INS_lower};
  f->stub[1].function = f;
  atomic_init(&f->code, f->stub);
  function_params(c, f);
  return f;
}

/* Where the map has a key: no NULL.  Keys of one hash are chained through
 * `next`; the lowest bit keeps the hash from being NULL. */
static const void *slot_of(const InstanceKey *key) {
  return (const void *)(uintptr_t)(instance_key_hash(key) | 1);
}

static void add_instance(Code *c, Function *f) {
  const void *slot = slot_of(&f->key);
  f->next = ptrmap_get(&c->instances, slot);
  ptrmap_put(&c->instances, slot, f);
}

Function *code_instance(Code *c, InstanceKey key) {
  key.loose = c->loose;
  key.stops = c->stops_anywhere;
  Function *f = ptrmap_get(&c->instances, slot_of(&key));
  while (f && !instance_key_equal(&f->key, &key)) f = f->next;
  if (f) return f;
  f = function_new(c, &key);
  code_list(c, f);
  return f;
}

/* One that is not listed may belong to code that will be discarded; else it is
 * listed when it is lowered. */
bool code_list(Code *c, Function *f) {
  if (f->listed) return true;
  if (!VEC_RESERVE(&c->functions, 1) || mem_exhausted(c->mem)) return false;
  VEC_PUSH(&c->functions, f);
  f->listed = true;
  c->sorted = false;
  add_instance(c, f);
  return true;
}

static void remove_instance(Code *c, Function *f) {
  const void *slot = slot_of(&f->key);
  Function *first = ptrmap_get(&c->instances, slot);
  if (first == f && f->next) ptrmap_put(&c->instances, slot, f->next);
  else if (first == f) ptrmap_remove(&c->instances, slot);
  for (; first; first = first->next)
    if (first->next == f) first->next = f->next;
}

/* Only the newest are taken off, in the reverse order, so what the list held
 * before is as it was. */
void code_forget(Code *c, size_t known) {
  while (c->functions.len > known) {
    Function *f = VEC_POP(&c->functions);
    f->listed = false;
    remove_instance(c, f);
  }
  c->sorted = false;
}

bool code_refused(Code *c) {
  if (!mem_exhausted(c->mem)) return false;
  mem_clear_exhausted(c->mem);
  return true;
}

/* The same key with one flag changed: instances of one definition are found by
 * their keys and know nothing of one another. */
Function *code_owning(Code *c, Function *f) {
  InstanceKey key = f->key;
  key.borrows = false;
  return f->key.borrows ? code_instance(c, key) : f;
}

Function *code_trmc(Code *c, Function *f) {
  InstanceKey key = f->key;
  key.trmc = true;
  return f->key.trmc ? f : code_instance(c, key);
}

/* Only a tuple of so many fields is returned unboxed. */
static bool has_unboxed_form(const Function *f) {
  if (f->key.kind != FUNCTION_FN) return false;
  const Type *result = f->key.expr->fn->body->type;
  return result->kind == TY_TUPLE && result->count >= RESULTS_LEAST &&
         result->count <= RESULTS_MOST;
}

Function *code_unboxed(Code *c, Function *f) {
  InstanceKey key = f->key;
  key.unboxed = true;
  return f->key.unboxed || !has_unboxed_form(f) ? f : code_instance(c, key);
}

Function *code_specialised(Code *c, Function *f, Function *const *callees) {
  InstanceKey key = f->key;
  key.callees = callees;
  return code_instance(c, key);
}

Function *code_dual(Code *c, Function *f) {
  if (env_is_dual(f->key.env)) return f;
  Function *made = atomic_load(&f->dual);
  if (made) return made;
  InstanceKey key = f->key;
  key.env = env_dual(c, key.env);
  if (key.callees) {
    size_t n = (size_t)key.expr->fn->param_count;
    Function **callees =
        arena_copy(&c->arena, key.callees, n * sizeof *callees);
    for (size_t i = 0; callees && i < n; i++)
      if (callees[i]) callees[i] = code_dual(c, callees[i]);
    key.callees = callees;
  }
  made = code_instance(c, key);
  atomic_store(&f->dual, made);
  return made;
}

/* Parameters of the type are objects or bits, as bits of `form` say. */
static const Env *env_of_form(Code *c, const Type *type, unsigned form) {
  size_t n = (size_t)type->param_count;
  Env *env = ARENA_NEW(&c->arena, Env);
  bool *counted = ARENA_ARRAY(&c->arena, bool, n + 1);
  bool *known = ARENA_ARRAY(&c->arena, bool, n + 1);
  const Type **types = ARENA_ARRAY(&c->arena, const Type *, n + 1);
  const TypeVar **vars = arena_copy(&c->arena, type->params, n * sizeof *vars);
  if (!counted || !known || !types || !vars) return NULL;
  for (size_t i = 0; i < n; i++) counted[i] = form >> i & 1;
  *env = (Env){.count = (int)n,
               .room = (int)n,
               .vars = vars,
               .counted = counted,
               .types = types,
               .known = known};
  return env;
}

static Function *plain_new(Code *c, const Type *type, unsigned form) {
  Var *var = ARENA_NEW(&c->arena, Var);
  FreeVar *free = ARENA_NEW(&c->arena, FreeVar);
  FnGroup *g = ARENA_NEW(&c->arena, FnGroup);
  const Env *env = type->param_count ? env_of_form(c, type, form) : NULL;
  *var = (Var){.type = type, .name = c->nameless, .span = SPAN_NONE};
  *free = (FreeVar){.var = var, .captured = true, .counted = true};
  *g = (FnGroup){.free_count = 1, .capture_count = 1, .free = free};
  return code_instance(
      c, (InstanceKey){.kind = FUNCTION_PLAIN, .env = env, .group = g});
}

Function *code_plain(Code *c, const Type *type, unsigned form) {
  Function **forms = ptrmap_get(&c->plain, type);
  size_t known = c->functions.len;
  if (!forms) {
    forms = ARENA_ARRAY(&c->arena, Function *, (size_t)1 << type->param_count);
    ptrmap_put(&c->plain, type, forms);
  }
  if (!forms[form]) forms[form] = plain_new(c, type, form);
  if (!code_refused(c)) return forms[form];
  code_forget(c, known);
  return forms[form] = NULL;
}

Cell *closure_meant(Cell *closure) {
  while (closure_function(closure)->key.kind == FUNCTION_PLAIN)
    closure = closure->fields[CLOSURE_CAPTURES].cell;
  return closure;
}

Function *code_global(Code *c, const Global *g, const Env *env, bool checks) {
  return code_instance(
      c, (InstanceKey){.kind = FUNCTION_FN,
                       .expr = g->value,
                       .global = g,
                       .env = env,
                       .borrows = fn_borrowed(c, g->value) != NULL,
                       .checks = checks});
}

Function *code_step(Code *c, const Expr *expr, const Global *global) {
  return code_instance(
      c, (InstanceKey){.kind = FUNCTION_STEP, .expr = expr, .global = global});
}

/* Closures in sessions point to instances, so these become the ones for a loose
 * program. */
void code_refresh(Code *c) {
  if (c->loose == c->program->loose) return;
  c->loose = c->program->loose;
  ptrmap_done(&c->instances);
  ptrmap_init(&c->instances, c->mem);
  for (size_t i = 0; i < c->functions.len; i++) {
    Function *f = c->functions.data[i];
    f->key.loose = c->loose;
    add_instance(c, f);
    f->lowered = false;
    atomic_store(&f->code, f->stub);
  }
  c->sorted = false;
}

static const Word *code_start(const Function *f) {
  return atomic_load_explicit(&f->code, memory_order_acquire);
}

static int by_address(const void *a, const void *b) {
  const Word *x = code_start(*(Function *const *)a);
  const Word *y = code_start(*(Function *const *)b);
  return (x > y) - (x < y);
}

/* Sorted when asked for: addresses of code are looked up for traces and faults
 * only. */
static void sort_functions(Code *c) {
  if (c->sorted || !c->functions.len) return;
  qsort(c->functions.data, c->functions.len, sizeof *c->functions.data,
        by_address);
  c->sorted = true;
}

/* The last function whose code starts at `at` or before.  NULL: none. */
static const Function *function_before(Code *c, const Word *at) {
  size_t low = 0, high = c->functions.len;
  sort_functions(c);
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (code_start(c->functions.data[middle]) <= at) low = middle + 1;
    else high = middle;
  }
  return low ? c->functions.data[low - 1] : NULL;
}

/* What is live at the instruction `unit` units into the code of `f`. */
static const LiveAt *live_at(const Function *f, uint32_t unit) {
  uint32_t low = 0, high = f->live_at_count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (f->live_at[middle].at < unit) low = middle + 1;
    else high = middle;
  }
  bool found = low < f->live_at_count && f->live_at[low].at == unit;
  return found ? &f->live_at[low] : NULL;
}

/* A stub names its function.  It is not looked for by its address: by now
 * another session may have lowered the function, which then starts elsewhere.
 */
CodePlace code_place(Code *c, const Word *at) {
  CodePlace place = {.span = SPAN_NONE};
  if (!at) return place;
  if (at->op == INS_lower) {
    place.function = at[1].function;
    return place;
  }
  pthread_mutex_lock(&c->lock);
  const Function *f = function_before(c, at);
  if (f && f->lowered && at < code_start(f) + f->unit_count) {
    uint32_t unit = (uint32_t)(at - code_start(f));
    place = (CodePlace){f, f->spans[unit], live_at(f, unit)};
  }
  pthread_mutex_unlock(&c->lock);
  return place;
}

/* --- Immortal cells ----------------------------------------------------- */

/* One for each function, made at its first use as a value; it is never counted,
 * so it costs nothing to hold. */
Cell *code_closure(Code *c, Function *f) {
  if (!f->closure) {
    f->closure = cell_immortal(&c->arena, TAG_CLOSURE, 1);
    f->closure->fields[CLOSURE_CODE].bits = (uint64_t)(uintptr_t)f;
  }
  return f->closure;
}

/* --- Code --------------------------------------------------------------- */

#ifdef NDEBUG
enum { VERIFIES = false };
#else
enum { VERIFIES = true };
#endif

/* The tables' Mem holds code, too: it grows with what is run and not with what
 * is loaded, and has no limit of its own. */
Code *code_new(Program *p) {
  Mem *mem = p->tables;
  const Name *nameless = name_of(p->names, "function");
  bool named = !mem_exhausted(p->names->arena.mem);
  Code *c = named ? mem_alloc_zeroed(mem, sizeof *c) : NULL;
  if (!c) return NULL;
  c->program = p;
  c->nameless = nameless;
  c->mem = mem;
  c->verifies = VERIFIES;
  arena_init(&c->arena, mem);
  fork_guard(&c->guard, &c->lock, FORK_WAITS);
  ptrmap_init(&c->instances, mem);
  ptrmap_init(&c->borrowed, mem);
  ptrmap_init(&c->builds_tuple, mem);
  ptrmap_init(&c->plain, mem);
  VEC_INIT(&c->functions, mem);
  VEC_INIT(&c->params, mem);
  VEC_INIT(&c->param_tensors, mem);
  shared_values_init(&c->shared, &c->lock, p->types, &c->arena);
  return c;
}

void code_stop_at_nans(Code *c) { c->stops_anywhere = true; }
void code_verify_all(Code *c) { c->verifies = true; }

void code_free(Code *c) {
  if (!c) return;
  for (size_t i = 0; i < c->param_tensors.len; i++)
    tensor_free(c->program->heap, c->param_tensors.data[i]);
  VEC_DONE(&c->param_tensors);
  VEC_DONE(&c->params);
  shared_values_done(&c->shared);
  VEC_DONE(&c->functions);
  ptrmap_done(&c->instances);
  ptrmap_done(&c->borrowed);
  ptrmap_done(&c->builds_tuple);
  ptrmap_done(&c->plain);
  fork_guard_done(&c->guard);
  arena_done(&c->arena);
  mem_free(c->mem, c, sizeof *c);
}

/* --- Params -------------------------------------------------------------- */

/* A copy that sessions share: nothing in it is counted. */
typedef struct Freeze {
  Code *code;
  PtrMap done;      /* an object -> its copy */
  VEC(Cell *) todo; /* copies whose fields are still those of the original */
} Freeze;

/* A header of its own.  A session's elements go with the session. */
static Tensor *freeze_tensor(Freeze *f, const Tensor *t) {
  Heap *heap = f->code->program->heap;
  bool own = t->buffer && t->buffer->mem == heap->mem;
  Tensor *made = own ? tensor_view(heap, t, t->rank, t->shape, t->strides, 0)
                     : tensor_copy(heap, t);
  size_t len = f->code->param_tensors.len;
  if (made) VEC_PUSH(&f->code->param_tensors, made);
  if (made && f->code->param_tensors.len == len) {
    tensor_drop(heap, made);
    made = NULL;
  }
  if (!made) return NULL;
  ops_pack(made);
  made->obj.count = COUNT_IMMORTAL;
  return made;
}

static Cell *freeze_cell(Freeze *f, const Cell *c) {
  Cell *made = arena_copy(&f->code->arena, c, cell_bytes(c));
  if (!made) return NULL;
  made->obj.count = COUNT_IMMORTAL;
  VEC_PUSH(&f->todo, made);
  return made;
}

static Value freeze(Freeze *f, Value v) {
  void *made = v.obj->count < 0 ? v.obj : ptrmap_get(&f->done, v.obj);
  if (!made) {
    made = v.obj->size == SIZE_TENSOR ? (void *)freeze_tensor(f, v.tensor)
                                      : freeze_cell(f, v.cell);
    if (made) ptrmap_put(&f->done, v.obj, made);
    else mem_raise_exhausted(f->code->mem);
  }
  return (Value){.obj = made};
}

/* An immortal object of a session is one of the program, or saturated: there
 * are no others.  */
static bool freeze_value(Code *c, const Type *type, Value *v) {
  if (type_is_scalar(type)) return true;
  Freeze f = {.code = c};
  ptrmap_init(&f.done, c->mem);
  VEC_INIT(&f.todo, c->mem);
  *v = freeze(&f, *v);
  while (f.todo.len && !mem_exhausted(c->mem)) {
    Cell *cell = VEC_POP(&f.todo);
    uint64_t n = cell_count(cell);
    for (uint64_t i = 0; i < n && !mem_exhausted(c->mem); i++)
      if (cell_field_counted(cell, i))
        cell_fields(cell)[i] = freeze(&f, cell_fields(cell)[i]);
  }
  ptrmap_done(&f.done);
  VEC_DONE(&f.todo);
  return !mem_exhausted(c->mem);
}

bool code_bind_param(Code *c, const Global *param, Value value) {
  size_t slot = (size_t)param->slot;
  if (!freeze_value(c, param->type, &value)) return false;
  while (c->params.len <= slot) {
    size_t len = c->params.len;
    VEC_PUSH(&c->params, (ParamValue){0});
    if (c->params.len == len) return false;
  }
  c->params.data[slot] = (ParamValue){true, value};
  return true;
}

/* NULL: the host has not bound it. */
const Value *code_param(const Code *c, const Global *param) {
  size_t slot = (size_t)param->slot;
  bool given = slot < c->params.len && c->params.data[slot].given;
  return given ? &c->params.data[slot].value : NULL;
}
