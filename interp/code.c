/* The code of a program: its functions, made on demand, and the immortal
 * cells that they refer to. */
#include "interp/code.h"

#include "ops/pack.h"

#include <stdlib.h>

const InsInfo ins_info[INS_COUNT] = {
#define INS(name, operands, words, flags, meaning) \
  [INS_##name] = {#name, operands, words, flags, meaning},
#include "interp/code.def"
#undef INS
};

/* --- Instructions ------------------------------------------------------- */

uint32_t ins_list_count(const Word *at) {
  const Word *word = at + 1;
  switch (at->op) {
    case INS_op:
    case INS_special: {
      const OpSite *site = word->data;
      return (uint32_t)(site->source_count + site->out_count);
    }
    case INS_chain: {
      const ChainSite *site = word->data;
      return (uint32_t)(site->source_count + site->out_count);
    }
    case INS_cell1_in:
    case INS_cell2_in:
    case INS_spare2:
    case INS_scalar3: return 1;
    case INS_cell_in: return at->b + 1u;
    case INS_call_parts: return at->c;
    default: return ins_info[at->op].flags & LIST ? at->b : 0;
  }
}

uint32_t ins_length(const Word *at) {
  uint32_t n = 1 + ins_info[at->op].words + (ins_list_count(at) + 3) / 4;
  return at->op == INS_switch_tag ? n + at->b : n;
}

#define BACK(head, opposite, swapped) \
  { INS_##head, INS_back_##head, INS_back_##opposite, swapped }
#define INT_BACKS(t)                                                        \
  BACK(if_lt_##t, if_le_##t, true), BACK(if_le_##t, if_lt_##t, true),       \
      BACK(if_eq_##t, if_ne_##t, false), BACK(if_ne_##t, if_eq_##t, false), \
      BACK(if_lt_##t##_imm, if_ge_##t##_imm, false),                        \
      BACK(if_ge_##t##_imm, if_lt_##t##_imm, false),                        \
      BACK(if_le_##t##_imm, if_gt_##t##_imm, false),                        \
      BACK(if_gt_##t##_imm, if_le_##t##_imm, false),                        \
      BACK(if_eq_##t##_imm, if_ne_##t##_imm, false),                        \
      BACK(if_ne_##t##_imm, if_eq_##t##_imm, false)
#define FLOAT_BACKS(t)                       \
  BACK(if_lt_##t, unless_lt_##t, false),     \
      BACK(if_le_##t, unless_le_##t, false), \
      BACK(if_eq_##t, unless_eq_##t, false), \
      BACK(unless_lt_##t, if_lt_##t, false), \
      BACK(unless_le_##t, if_le_##t, false), \
      BACK(unless_eq_##t, if_eq_##t, false)

const InsBack *ins_back(uint16_t head) {
  static const InsBack backs[] = {BACK(if_true, unless, false),
                                  BACK(unless, if_true, false),
                                  BACK(unless_tag, if_tag, false),
                                  INT_BACKS(i32),
                                  INT_BACKS(i64),
                                  FLOAT_BACKS(f32),
                                  FLOAT_BACKS(f64)};
  for (size_t i = 0; i < sizeof backs / sizeof *backs; i++)
    if (backs[i].head == head) return &backs[i];
  return NULL;
}

/* --- Types -------------------------------------------------------------- */

int env_find(const Env *env, const TypeVar *v) {
  for (int i = 0; env && i < env->count; i++)
    if (env->vars[i] == v) return i;
  return -1;
}

bool env_counted(const Env *env, const Type *type) {
  if (type->kind != TY_VAR) return type_is_counted(type);
  int i = env_find(env, type->var);
  return i < 0 || env->counted[i];
}

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

/* Bounded: an ADT counts as able to, which is right for all that matter. */
bool type_may_cycle(const Type *type) {
  if (type->kind == TY_TUPLE) {
    for (int i = 0; i < type->count; i++)
      if (type_may_cycle(type->args[i])) return true;
    return false;
  }
  return type->kind != TY_TENSOR;
}

/* --- Functions ---------------------------------------------------------- */

static bool env_equal(const Env *a, const Env *b) {
  int n = a ? a->count : 0;
  if (n != (b ? b->count : 0)) return false;
  for (int i = 0; i < n; i++)
    if (a->vars[i] != b->vars[i] || a->counted[i] != b->counted[i] ||
        a->types[i] != b->types[i])
      return false;
  return true;
}

/* What an instance is one of. */
typedef struct InstanceKey {
  FunctionKind kind;
  const void *of; /* an Expr or a Ctor */
  const Env *env;
  bool borrows, grows, checks, apart;
  Function *const *known;
} InstanceKey;

static InstanceKey key_of(const Function *f) {
  const void *of =
      f->kind == FUNCTION_CTOR ? (const void *)f->ctor : (const void *)f->expr;
  return (InstanceKey){f->kind,  of,        f->env,   f->borrows,
                       f->grows, f->checks, f->apart, f->known};
}

static Function *function_new(Code *c, InstanceKey key) {
  Function *f = ARENA_NEW(&c->arena, Function);
  f->kind = key.kind;
  f->env = key.env;
  f->borrows = key.borrows;
  f->grows = key.grows;
  f->checks = key.checks;
  f->apart = key.apart;
  f->known = key.known;
  if (key.kind == FUNCTION_CTOR) f->ctor = key.of;
  else f->expr = key.of;
  f->name = key.kind == FUNCTION_STEP ? "top level" : "fn";
  f->stub[0] = (Word){.op = INS_lower};
  f->stub[1].function = f;
  atomic_init(&f->code, f->stub);
  function_params(c, f);
  VEC_PUSH(&c->functions, f);
  c->sorted = false;
  return f;
}

/* The same functions known of the parameters of `f`? */
static bool known_equal(const Function *f, Function *const *known) {
  if (!f->known || !known) return f->known == known;
  for (int i = 0; i < f->expr->fn->param_count; i++)
    if (f->known[i] != known[i]) return false;
  return true;
}

/* The same code but for conventions? */
static bool is_same(const Function *f, const InstanceKey *key) {
  return f->kind == key->kind && f->checks == key->checks &&
         env_equal(f->env, key->env) && known_equal(f, key->known);
}

static bool is_instance(const Function *f, const InstanceKey *key) {
  return is_same(f, key) && f->borrows == key->borrows &&
         f->grows == key->grows && f->apart == key->apart;
}

static Function *instance(Code *c, InstanceKey key) {
  Function *first = ptrmap_get(&c->instances, key.of);
  for (Function *f = first; f; f = f->next)
    if (is_instance(f, &key)) return f;
  Function *f = function_new(c, key);
  f->next = first;
  ptrmap_put(&c->instances, key.of, f);
  return f;
}

Function *code_function(Code *c, FunctionKind kind, const void *key,
                        const Env *env, bool checks) {
  return instance(
      c, (InstanceKey){.kind = kind, .of = key, .env = env, .checks = checks});
}

static Function *other_instance(Code *c, const Function *f, InstanceKey key) {
  Function *other = instance(c, key);
  other->global = f->global;
  other->name = f->name;
  return other;
}

Function *code_owning(Code *c, Function *f) {
  InstanceKey key = key_of(f);
  key.borrows = false;
  return f->borrows ? other_instance(c, f, key) : f;
}

Function *code_growing(Code *c, Function *f) {
  InstanceKey key = key_of(f);
  key.grows = true;
  return f->grows ? f : other_instance(c, f, key);
}

/* Of a result that is a tuple of so many fields. */
static bool comes_apart(const Function *f) {
  if (f->kind != FUNCTION_FN) return false;
  const Type *result = f->expr->fn->body->type;
  return result->kind == TY_TUPLE && result->count >= RESULTS_LEAST &&
         result->count <= RESULTS_MOST;
}

Function *code_apart(Code *c, Function *f) {
  if (f->apart || !comes_apart(f)) return f;
  InstanceKey key = key_of(f);
  key.apart = true;
  Function *other = other_instance(c, f, key);
  if (other->group != f->group) {
    other->group = f->group;
    function_params(c, other);
  }
  return other;
}

Function *code_knowing(Code *c, Function *f, Function *const *known) {
  InstanceKey key = key_of(f);
  key.known = known;
  return other_instance(c, f, key);
}

bool function_same(const Function *f, const Function *g) {
  InstanceKey key = key_of(g);
  return f->expr == g->expr && f->ctor == g->ctor && is_same(f, &key);
}

Function *code_global(Code *c, const Global *g, const Env *env, bool checks) {
  bool borrows = fn_borrowed(c, g->value) != NULL;
  Function *f = instance(c, (InstanceKey){.kind = FUNCTION_FN,
                                          .of = g->value,
                                          .env = env,
                                          .borrows = borrows,
                                          .checks = checks});
  if (!f->global) {
    f->global = g;
    f->name = arena_printf(&c->arena, "%s%s", global_sigil(g), g->name->text);
  }
  return f;
}

void code_refresh(Code *c) {
  if (c->loose == c->program->loose) return;
  c->loose = c->program->loose;
  for (size_t i = 0; i < c->functions.len; i++) {
    Function *f = c->functions.data[i];
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

static void sort_functions(Code *c) {
  if (c->sorted || !c->functions.len) return;
  qsort(c->functions.data, c->functions.len, sizeof *c->functions.data,
        by_address);
  c->sorted = true;
}

const Function *code_function_at(Code *c, const Word *at) {
  pthread_mutex_lock(&c->lock);
  sort_functions(c);
  size_t low = 0, high = c->functions.len;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (code_start(c->functions.data[middle]) <= at) low = middle + 1;
    else high = middle;
  }
  const Function *f = low ? c->functions.data[low - 1] : NULL;
  pthread_mutex_unlock(&c->lock);
  uint32_t units = !f ? 0 : f->lowered ? f->unit_count : 2;
  return f && at < code_start(f) + units ? f : NULL;
}

Span function_span(const Function *f, const Word *at) {
  const Word *code = atomic_load(&f->code);
  if (!f->lowered || at < code || at >= code + f->unit_count) return SPAN_NONE;
  return f->spans[at - code];
}

const LiveAt *function_live(const Function *f, const Word *at) {
  if (!f->lowered) return NULL;
  uint32_t wanted = (uint32_t)(at - atomic_load(&f->code));
  uint32_t low = 0, high = f->live_at_count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (f->live_at[middle].at < wanted) low = middle + 1;
    else high = middle;
  }
  bool found = low < f->live_at_count && f->live_at[low].at == wanted;
  return found ? &f->live_at[low] : NULL;
}

/* --- Immortal cells ----------------------------------------------------- */

static Cell *immortal(Code *c, int tag, int fields) {
  Cell *cell =
      arena_alloc(&c->arena, sizeof *cell + (size_t)fields * sizeof(Value));
  cell->obj = (Obj){.count = COUNT_IMMORTAL,
                    .tag = (uint16_t)tag,
                    .size = (uint16_t)fields & 15};
  return cell;
}

Cell *code_nullary(Code *c, int tag) {
  while (c->nullary.len <= (size_t)tag) {
    Cell *cell = immortal(c, (int)c->nullary.len, 0);
    VEC_PUSH(&c->nullary, cell);
    if (mem_exhausted(c->mem)) return immortal(c, tag, 0);
  }
  return c->nullary.data[tag];
}

Cell *code_closure(Code *c, Function *f) {
  if (!f->closure) {
    f->closure = immortal(c, 0, 1);
    f->closure->fields[0].bits = (uint64_t)(uintptr_t)f;
  }
  return f->closure;
}

/* --- Code --------------------------------------------------------------- */

#ifdef NDEBUG
enum { VERIFIES = false };
#else
enum { VERIFIES = true };
#endif

Code *code_new(Program *p) {
  Code *c = mem_alloc_zeroed(p->mem, sizeof *c);
  if (!c) return NULL;
  c->program = p;
  c->mem = p->mem;
  c->verifies = VERIFIES;
  arena_init(&c->arena, p->mem);
  pthread_mutex_init(&c->lock, NULL);
  ptrmap_init(&c->instances, p->mem);
  ptrmap_init(&c->borrowed, p->mem);
  ptrmap_init(&c->apart, p->mem);
  VEC_INIT(&c->functions, p->mem);
  VEC_INIT(&c->params, p->mem);
  VEC_INIT(&c->nullary, p->mem);
  return c;
}

void code_stop_at_nans(Code *c) { c->stops_anywhere = true; }
void code_verify_all(Code *c) { c->verifies = true; }

void code_free(Code *c) {
  if (!c) return;
  for (size_t i = 0; i < c->params.len; i++)
    if (c->params.data[i]) tensor_free(c->program->heap, c->params.data[i]);
  VEC_DONE(&c->params);
  VEC_DONE(&c->nullary);
  VEC_DONE(&c->functions);
  ptrmap_done(&c->instances);
  ptrmap_done(&c->borrowed);
  ptrmap_done(&c->apart);
  pthread_mutex_destroy(&c->lock);
  arena_done(&c->arena);
  mem_free(c->mem, c, sizeof *c);
}

/* A header of its own, which is immortal: sessions share it. */
bool code_bind_param(Code *c, const Global *param, Tensor *value) {
  Heap *heap = c->program->heap;
  Tensor *t =
      tensor_view(heap, value, value->rank, value->shape, value->strides, 0);
  if (!t) return false;
  while (c->params.len <= (size_t)param->slot) {
    size_t len = c->params.len;
    VEC_PUSH(&c->params, NULL);
    if (c->params.len == len) {
      tensor_drop(heap, t);
      return false;
    }
  }
  ops_pack(t);
  Tensor **slot = &c->params.data[param->slot];
  if (*slot) tensor_free(heap, *slot);
  t->obj.count = COUNT_IMMORTAL;
  *slot = t;
  return true;
}

const Tensor *code_param(const Code *c, const Global *param) {
  return (size_t)param->slot < c->params.len ? c->params.data[param->slot]
                                             : NULL;
}
