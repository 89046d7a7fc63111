/* The rows of ops_law.def, and of ops_long.def, with operands as long as is
 * wanted: along the length n or along the batch. */
#ifndef TESTS_UNIT_OPS_LONG_H
#define TESTS_UNIT_OPS_LONG_H

#include "tests/unit/ops_law.h"

static const Law long_laws[] = {
#define LAW(names, args, values, ...) \
  {.ops = names, .operands = args, .attrs = values, __VA_ARGS__},
#include "tests/unit/ops_long.def"
#undef LAW
};

static inline void each_long_law(LawVisit visit) {
  each_law(visit);
  each_of(long_laws, LENGTH(long_laws), visit);
}

/* --- Operands ------------------------------------------------------------ */

/* Only to ask the rule: one element, again and again. */
static inline Tensor *as_type(Trial *t, char kind, int64_t below, int rank,
                              const int64_t *shape, uint64_t seed) {
  static const int64_t zeros[RANK_MAX];
  Tensor *one = of_kind(t, kind, below, 0, NULL, seed);
  return bench_own(t->b, tensor_view(&t->b->heap, one, rank, shape, zeros, 0));
}

/* A block of elements again and again. */
static inline Tensor *in_blocks(Trial *t, char kind, int64_t below, int rank,
                                const int64_t *shape, uint64_t seed) {
  enum { BLOCK = 65537 };
  int64_t count;
  shape_count(rank, shape, &count);
  if (count <= BLOCK) return of_kind(t, kind, below, rank, shape, seed);
  Tensor *block = of_kind(t, kind, below, 1, (int64_t[]){BLOCK}, seed);
  Tensor *all = tensor_of(t->b, block->dtype, rank, shape);
  size_t size = dtype_size(block->dtype);
  for (int64_t at = 0; at < count; at += BLOCK) {
    int64_t n = count - at < BLOCK ? count - at : BLOCK;
    memcpy(all->data + (size_t)at * size, block->data, (size_t)n * size);
  }
  return all;
}

/* --- Calls --------------------------------------------------------------- */

static inline void long_call(Trial *t, Call *c) {
  *c = call(t->b, t->op->name);
  Operands o = operands_of(t);
  law_attrs(t, t->batch, "", c);
  for (int i = 0; i < o.count; i++) call_arg(c, o.t[i]);
  c->op.args = c->args;
  c->op.attrs = &c->attrs;
  c->op.threads = t->threads;
}

static inline const RuleType *result_field(const OpCall *c, int i) {
  return c->result->kind == RT_TUPLE ? &c->result->fields[i] : c->result;
}

/* The elements of the largest operand or result. */
static inline int64_t most_elements(const OpCall *c) {
  int fields = c->result->kind == RT_TUPLE ? c->result->count : 1;
  int64_t most = 0, n;
  for (int i = 0; i < c->arg_count; i++)
    if ((n = tensor_count(c->args[i])) > most) most = n;
  for (int i = 0; i < fields; i++) {
    const RuleType *f = result_field(c, i);
    bool known = f->kind == RT_TENSOR && f->rank >= 0;
    for (int k = 0; known && k < f->rank; k++)
      known = dim_above(f->dims[k], -1);
    if (!known) continue;
    int64_t shape[RANK_MAX];
    shape_of_dims(f->rank, f->dims, shape);
    if (shape_count(f->rank, shape, &n) && n > most) most = n;
  }
  return most;
}

/* With these lengths; 0 when the rule refuses them. */
static inline int64_t size_with(const Trial *t, int64_t b, int64_t n) {
  Bench bench;
  Trial small = *t;
  Call c;
  small.b = &bench;
  small.batch = b;
  small.n = n;
  small.make = as_type;
  bench_open(&bench);
  long_call(&small, &c);
  int64_t size = op_infer(&c.op) ? most_elements(&c.op) : 0;
  bench_close(&bench);
  return size;
}

/* Sets the batch, or the length, to the greatest power of two with which no
 * tensor has more elements, the other one being short; false: none is. */
static inline bool grow(Trial *t, bool batch, int64_t elements) {
  enum { CLEARLY = 1 << 16 }; /* a length that counts, if any does */
  int64_t first = t->law->shortest ? t->law->shortest : 4, last = 0, size;
  t->n = batch ? first : 0;
  t->batch = batch ? 0 : 1;
  for (int64_t k = first; k <= elements; k *= 2, last = size) {
    size = batch ? size_with(t, k, first) : size_with(t, 1, k);
    if (size == 0 || size > elements || (size == last && k > CLEARLY)) break;
    *(batch ? &t->batch : &t->n) = k;
  }
  return t->n > 0 && t->batch > 0;
}

#endif
