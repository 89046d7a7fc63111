/* Interned types: one table from structure to pointer, so that equal types are
 * one pointer and comparing them is free.  Children are interned before their
 * parents, hence a node is equal to another when its own fields and its
 * children's pointers are; a type whose tree is exponential stays a small DAG.
 *
 * Types that hold an inference variable are made afresh each time: what the
 * variable stands for changes.  Quantified functions are equal when they
 * quantify the very same TypeVars; equality up to renaming is unification's
 * (types/).  Substitution is in substitute.c, text in type_print.c. */
#include "ir/type.h"

#include <string.h>

#include "base/split.h"

/* --- Dimensions as written ------------------------------------------------ */

bool dim_expr_postfix(const DimExpr *d, DimExprs *out) {
  DimExprs rest;
  VEC_INIT(&rest, out->mem);
  size_t first = out->len;
  bool fits = VEC_RESERVE(&rest, 1);
  VEC_PUSH(&rest, d);
  /* Operator, right, left is what a stack gives: the postfix order reversed. */
  while (fits && rest.len > 0) {
    const DimExpr *next = VEC_POP(&rest);
    fits = VEC_RESERVE(out, 1) && VEC_RESERVE(&rest, 2);
    if (!fits) break;
    VEC_PUSH(out, next);
    if (!next->left) continue;
    VEC_PUSH(&rest, next->left);
    VEC_PUSH(&rest, next->right);
  }
  VEC_DONE(&rest);
  for (size_t i = first, k = out->len; i + 1 < k; i++, k--) {
    const DimExpr *swapped = out->data[i];
    out->data[i] = out->data[k - 1];
    out->data[k - 1] = swapped;
  }
  return fits;
}

/* --- The table ------------------------------------------------------------ */

typedef struct Slot {
  const Type *type; /* NULL: free */
  uint32_t hash;
} Slot;

struct TypeTable {
  Mem *mem;
  Arena arena;
  DimTable *dims;
  Slot *slots; /* open addressing, linear probing, at most 3/4 full */
  size_t cap, len;
  uint32_t next_id;
  bool too_deep;
};

enum { FIRST_CAP = 256 };

/* Without slots there is nothing to put types into, so a table that cannot be
 * made is not half made. */
TypeTable *types_new(Mem *mem) {
  TypeTable *t = mem_alloc_zeroed(mem, sizeof *t);
  if (!t) return NULL;
  t->mem = mem;
  t->dims = dims_new(mem);
  t->slots = mem_alloc_zeroed(mem, FIRST_CAP * sizeof *t->slots);
  t->cap = t->slots ? FIRST_CAP : 0;
  arena_init(&t->arena, mem);
  if (t->dims && t->slots) return t;
  types_free(t);
  return NULL;
}

void types_free(TypeTable *t) {
  if (!t) return;
  if (t->dims) dims_free(t->dims);
  mem_free(t->mem, t->slots, t->cap * sizeof *t->slots);
  arena_done(&t->arena);
  mem_free(t->mem, t, sizeof *t);
}

DimTable *types_dims(TypeTable *t) { return t->dims; }

bool types_too_deep(TypeTable *t) {
  bool was = t->too_deep;
  t->too_deep = false;
  return was;
}

/* --- Hashing -------------------------------------------------------------- */

/* The multiplier is 2^64 divided by the golden ratio (Knuth's multiplicative
 * hashing); both halves of the product are folded together. */
static uint32_t hash_step(uint32_t hash, uint64_t word) {
  uint64_t mixed = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
  return (uint32_t)(mixed >> 32) ^ (uint32_t)mixed;
}

static uint32_t hash_pointer(uint32_t hash, const void *p) {
  return hash_step(hash, (uint64_t)(uintptr_t)p);
}

/* Parts are hashed by their addresses, which for interned types is their
 * identity. */
static uint32_t hash_of(const Type *k) {
  uint32_t h = hash_step(
      k->kind, (uint64_t)k->any_rank << 16 | (uint64_t)k->rank << 8 | k->dtype);
  for (int i = 0; i < k->rank; i++) h = hash_step(h, (uint64_t)k->dims[i].word);
  for (int i = 0; i < k->count; i++) h = hash_pointer(h, k->args[i]);
  for (int i = 0; i < k->param_count; i++) h = hash_pointer(h, k->params[i]);
  return hash_pointer(hash_pointer(hash_pointer(h, k->result), k->adt), k->var);
}

static bool same_array(const void *a, const void *b, int n, size_t size) {
  return n == 0 || memcmp(a, b, (size_t)n * size) == 0;
}

static bool same_node(const Type *a, const Type *b) {
  return a->kind == b->kind && a->rank == b->rank && a->dtype == b->dtype &&
         a->any_rank == b->any_rank && a->count == b->count &&
         a->param_count == b->param_count && a->result == b->result &&
         a->adt == b->adt && a->var == b->var &&
         same_array(a->dims, b->dims, a->rank, sizeof *a->dims) &&
         same_array(a->args, b->args, a->count, sizeof *a->args) &&
         same_array(a->params, b->params, a->param_count, sizeof *a->params);
}

/* The slot that holds `key`'s equal, or the free one where it belongs. */
static Slot *find_slot(const TypeTable *t, const Type *key, uint32_t hash) {
  size_t i = hash & (t->cap - 1);
  while (t->slots[i].type &&
         !(t->slots[i].hash == hash && same_node(t->slots[i].type, key)))
    i = (i + 1) & (t->cap - 1);
  return &t->slots[i];
}

bool types_have(const TypeTable *t, const Type *type) {
  return find_slot(t, type, hash_of(type))->type == type;
}

/* Doubles the table.  When memory is refused it stays as it is: probing gets
 * slower until the last free slot, which is never filled. */
static void grow(TypeTable *t) {
  size_t cap = t->cap * 2;
  Slot *slots = mem_overdraw(t->mem, cap * sizeof *slots);
  if (!slots) return;
  for (size_t i = 0; i < t->cap; i++) {
    if (!t->slots[i].type) continue;
    size_t to = t->slots[i].hash & (cap - 1);
    while (slots[to].type) to = (to + 1) & (cap - 1);
    slots[to] = t->slots[i];
  }
  mem_free(t->mem, t->slots, t->cap * sizeof *slots);
  t->slots = slots;
  t->cap = cap;
}

/* --- Making nodes --------------------------------------------------------- */

static uint32_t add_saturating(uint32_t a, uint32_t b) {
  return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

/* `size` saturates, since a type's tree may have 2^1000 nodes; it only decides
 * what is too large to show. */
static void absorb(Type *k, const Type *child) {
  k->size = add_saturating(k->size, child->size);
  if (child->depth >= k->depth) k->depth = child->depth + 1;
  k->has_var |= child->has_var;
  k->has_meta |= child->has_meta;
}

/* Fills in what follows from the children: size, depth, has_meta, and has_var
 * as if nothing were quantified here. */
static void summarise(Type *k) {
  k->size = 1;
  k->depth = 0;
  for (int i = 0; i < k->count; i++) absorb(k, k->args[i]);
  if (k->result) absorb(k, k->result);
  for (int i = 0; i < k->rank; i++) k->has_var |= dim_is_form(k->dims[i]);
  if (k->kind == TY_VAR) k->has_var = true;
  if (k->kind == TY_META) k->has_meta = true;
}

static void *copy_array(TypeTable *t, const void *data, int n, size_t size) {
  return n > 0 ? arena_copy(&t->arena, data, (size_t)n * size) : NULL;
}

/* A node of its own with copies of the key's arrays; the error type when there
 * is no memory for them. */
static Type *copy_node(TypeTable *t, const Type *key) {
  Type *n = ARENA_NEW(&t->arena, Type);
  *n = *key;
  n->id = t->next_id++;
  n->dims = copy_array(t, key->dims, key->rank, sizeof *key->dims);
  n->args = copy_array(t, key->args, key->count, sizeof *key->args);
  n->params = copy_array(t, key->params, key->param_count, sizeof *key->params);
  if ((key->count && !n->args) || (key->param_count && !n->params))
    *n = (Type){.kind = TY_ERROR, .id = n->id, .size = 1};
  else if (key->param_count > 0 && key->has_var)
    n->has_var = type_mentions(t, key, 0, NULL);
  return n;
}

/* The node equal to `key`, whose arrays are the caller's; the error type where
 * the caller had no memory for one. */
static const Type *intern(TypeTable *t, Type key) {
  if ((key.count && !key.args) || (key.param_count && !key.params))
    return type_error(t);
  summarise(&key);
  if (!split_levels(t->mem, key.depth)) {
    t->too_deep = true;
    return type_error(t);
  }
  if (key.has_meta) return copy_node(t, &key);
  uint32_t hash = hash_of(&key);
  Slot *slot = find_slot(t, &key, hash);
  if (slot->type) return slot->type;
  const Type *made = copy_node(t, &key);
  if (t->len + 1 < t->cap) {
    *slot = (Slot){made, hash};
    t->len++;
  }
  if (t->len > t->cap / 4 * 3) grow(t);
  return made;
}

const Type *type_tensor(TypeTable *t, DType dtype, int rank, const Dim *dims) {
  return intern(t, (Type){.kind = TY_TENSOR,
                          .rank = (uint8_t)rank,
                          .dtype = (uint8_t)dtype,
                          .dims = dims});
}

const Type *type_scalar(TypeTable *t, DType dtype) {
  return type_tensor(t, dtype, 0, NULL);
}

const Type *type_any_rank(TypeTable *t, DType dtype) {
  Dim any = DIM_ANY;
  return intern(t, (Type){.kind = TY_TENSOR,
                          .rank = 1,
                          .any_rank = true,
                          .dtype = (uint8_t)dtype,
                          .dims = &any});
}

const Type *type_tuple(TypeTable *t, int count, const Type *const *fields) {
  return intern(t, (Type){.kind = TY_TUPLE, .count = count, .args = fields});
}

const Type *type_unit(TypeTable *t) { return type_tuple(t, 0, NULL); }

const Type *type_fn(TypeTable *t, int param_count, const TypeVar *const *params,
                    int arg_count, const Type *const *args,
                    const Type *result) {
  return intern(t, (Type){.kind = TY_FN,
                          .param_count = param_count,
                          .params = params,
                          .count = arg_count,
                          .args = args,
                          .result = result});
}

const Type *type_ref(TypeTable *t, const Type *content) {
  return intern(t, (Type){.kind = TY_REF, .count = 1, .args = &content});
}

const Type *type_adt(TypeTable *t, const struct Adt *adt, int count,
                     const Type *const *args) {
  return intern(
      t, (Type){.kind = TY_ADT, .adt = adt, .count = count, .args = args});
}

const Type *type_var(TypeTable *t, const TypeVar *var) {
  return intern(t, (Type){.kind = TY_VAR, .var = var});
}

const Type *type_dim(TypeTable *t, Dim dim) {
  return intern(t, (Type){.kind = TY_DIM, .rank = 1, .dims = &dim});
}

const Type *type_param(TypeTable *t, const TypeVar *var) {
  return var->kind == KIND_DIM ? type_dim(t, dim_named(t->dims, var->name, var))
                               : type_var(t, var);
}

const Type *type_error(TypeTable *t) {
  return intern(t, (Type){.kind = TY_ERROR});
}

const Type *type_meta(TypeTable *t, void *meta) {
  return intern(t, (Type){.kind = TY_META, .meta = meta});
}

TypeVar *typevar_new(TypeTable *t, const Name *name, Span span,
                     ParamKind kind) {
  TypeVar *var = ARENA_NEW(&t->arena, TypeVar);
  *var = (TypeVar){.name = name, .span = span, .kind = kind};
  return var;
}

Mem *types_mem(const TypeTable *t) { return t->mem; }
