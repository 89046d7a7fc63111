/* Running operators by name in unit tests:
 *
 *   Bench b;
 *   bench_open(&b);
 *   Call c = call(&b, "sum");
 *   call_arg(&c, floats(&b, DT_FLOAT32, 2, (int64_t[]){2, 3}, values));
 *   call_ints(&c, ATTR_axis, 1, (Dim[]){dim_of(1)});
 *   Tensor *out = call_run(&c);
 *   bench_close(&b);                  drops everything, fails on a leak     */
#ifndef TESTS_UNIT_OPS_H
#define TESTS_UNIT_OPS_H

#include "kernels/call.h"
#include "kernels/scalar.h"
#include "tests/unit/unit.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Bench {
  Mem mem;
  Heap heap;
  Arena arena;
  VEC(Tensor *) owned;
} Bench;

/* All share a root: its reserve takes longer to map, under the address
 * sanitizer, than what most of them are for. */
static inline void bench_open(Bench *b) {
  static Mem root;
  if (!root.root) unit_mem(&root);
  b->mem = mem_local(&root);
  heap_init(&b->heap, &b->mem);
  arena_init(&b->arena, &b->mem);
  VEC_INIT(&b->owned, &b->mem);
}

static inline void bench_close(Bench *b) {
  for (size_t i = 0; i < b->owned.len; i++)
    tensor_drop(&b->heap, b->owned.data[i]);
  VEC_DONE(&b->owned);
  arena_done(&b->arena);
  heap_done(&b->heap);
  assert_int_equal(atomic_load(&b->mem.live), 0);
}

/* --- Tensors ------------------------------------------------------------- */

static inline Tensor *bench_own(Bench *b, Tensor *t) {
  assert_non_null(t);
  VEC_PUSH(&b->owned, t);
  return t;
}

static inline Tensor *tensor_of(Bench *b, DType dtype, int rank,
                                const int64_t *shape) {
  return bench_own(b, tensor_new(&b->heap, dtype, rank, shape));
}

static inline void element_put(Tensor *t, int64_t i, Value bits) {
  bits_store(t->dtype, t->data + i * (int64_t)dtype_size(t->dtype), bits);
}

static inline Tensor *floats(Bench *b, DType dtype, int rank,
                             const int64_t *shape, const double *values) {
  Tensor *t = tensor_of(b, dtype, rank, shape);
  for (int64_t i = 0; i < tensor_count(t); i++)
    element_put(t, i, bits_from_f64(dtype, values[i]));
  return t;
}

static inline Tensor *ints(Bench *b, DType dtype, int rank,
                           const int64_t *shape, const int64_t *values) {
  Tensor *t = tensor_of(b, dtype, rank, shape);
  for (int64_t i = 0; i < tensor_count(t); i++)
    element_put(t, i, bits_from_i64(dtype, values[i]));
  return t;
}

/* Numbers of (-4, 4) that are the same in every run. */
static inline Tensor *noise(Bench *b, DType dtype, int rank,
                            const int64_t *shape, uint64_t seed) {
  Tensor *t = tensor_of(b, dtype, rank, shape);
  for (int64_t i = 0; i < tensor_count(t); i++) {
    double v = ldexp((double)(int64_t)unit_random(&seed), -61);
    element_put(t, i, bits_from_f64(dtype, v));
  }
  return t;
}

/* --- The same elements, laid out otherwise --------------------------------
 * Each gives a view that is the caller's. */

/* A view of new memory, which goes with it, holding the elements of `t`. */
static inline Tensor *laid_out(Heap *h, Tensor *memory, const Tensor *t,
                               const int64_t *strides, int64_t offset) {
  Tensor *view = tensor_view(h, memory, t->rank, t->shape, strides, offset);
  tensor_drop(h, memory);
  tensor_copy_into(view, t);
  return view;
}

/* In a buffer three times as large, every second axis backwards, no two next
 * to each other. */
static inline Tensor *lay_scattered(Heap *h, const Tensor *t) {
  int64_t shape[RANK_MAX], strides[RANK_MAX], offset = 0;
  for (int i = 0; i < t->rank; i++) shape[i] = 3 * t->shape[i] + 1;
  Tensor *wide = tensor_new(h, t->dtype, t->rank, shape);
  memset(wide->data, 0x5A, tensor_bytes(wide));
  for (int i = 0; i < t->rank; i++) {
    int64_t step = 3 * wide->strides[i];
    strides[i] = i % 2 ? -step : step;
    offset +=
        i % 2 && t->shape[i] > 0 ? step * (t->shape[i] - 1) : wide->strides[i];
  }
  return laid_out(h, wide, t, strides, offset);
}

/* Starts one element later than the allocator aligns it. */
static inline Tensor *lay_shifted(Heap *h, const Tensor *t) {
  int64_t n = tensor_count(t) + 1, strides[RANK_MAX], step = 1;
  for (int i = t->rank; i-- > 0; step *= t->shape[i]) strides[i] = step;
  return laid_out(h, tensor_new(h, t->dtype, 1, &n), t, strides, 1);
}

/* The first axis is the one whose elements are neighbours. */
static inline Tensor *lay_turned(Heap *h, const Tensor *t) {
  int64_t strides[RANK_MAX], step = 1;
  for (int i = 0; i < t->rank; step *= t->shape[i++]) strides[i] = step;
  return laid_out(h, tensor_new(h, t->dtype, t->rank, t->shape), t, strides, 0);
}

typedef struct Layout {
  const char *name;
  Tensor *(*lay)(Heap *h, const Tensor *t);
} Layout;
static const Layout layouts[] = {{"scattered", lay_scattered},
                                 {"shifted", lay_shifted},
                                 {"turned", lay_turned}};

static inline Tensor *scattered(Bench *b, const Tensor *t) {
  return bench_own(b, lay_scattered(&b->heap, t));
}

/* Part `n` elements long of an axis, from `from` on. */
static inline Tensor *part_of(Bench *b, const Tensor *t, int axis, int64_t from,
                              int64_t n) {
  int64_t shape[RANK_MAX];
  memcpy(shape, t->shape, sizeof shape);
  shape[axis] = n;
  return bench_own(b, tensor_view(&b->heap, t, t->rank, shape, t->strides,
                                  from * t->strides[axis]));
}

/* --- Attributes as text --------------------------------------------------
 * "axis=1 newshape=[2, -1] pad_width=[[0, 1]] dtype=int64", blanks between
 * them; what a dim may be is the caller's to say. */

typedef struct AttrReader {
  Arena *arena;
  Dim (*dim)(void *data, const char **p);
  void *data;
} AttrReader;

static inline const char *past_blanks(const char *p) {
  while (*p == ' ' || *p == ',') p++;
  return p;
}

/* "(2, ?)" or "[2, ?]" */
static inline int read_dims(const AttrReader *r, const char **p, Dim *dims) {
  int n = 0;
  for (*p = past_blanks(*p + 1); **p != ')' && **p != ']'; *p = past_blanks(*p))
    dims[n++] = r->dim(r->data, p);
  ++*p;
  return n;
}

static inline void read_ints(const AttrReader *r, const char **p,
                             AttrValue *v) {
  Dim *dims = ARENA_ARRAY(r->arena, Dim, RANK_MAX);
  v->count = read_dims(r, p, dims);
  v->ints = dims;
}

static inline void read_lists(const AttrReader *r, const char **p,
                              AttrValue *v) {
  AttrValue *lists = ARENA_ARRAY(r->arena, AttrValue, RANK_MAX);
  v->count = 0;
  for (*p = past_blanks(*p + 1); **p != ']'; *p = past_blanks(*p)) {
    lists[v->count] = (AttrValue){.state = AV_SET, .operand = -1};
    read_ints(r, p, &lists[v->count++]);
  }
  v->lists = lists;
  ++*p;
}

static inline void read_reals(const AttrReader *r, const char **p,
                              AttrValue *v) {
  double *reals = ARENA_ARRAY(r->arena, double, RANK_MAX);
  v->count = 0;
  for (*p = past_blanks(*p + 1); **p != ']'; *p = past_blanks(*p))
    reals[v->count++] = strtod(*p, (char **)p);
  v->reals = reals;
  ++*p;
}

static inline void read_attr(const AttrReader *r, AttrType type, const char **p,
                             AttrValue *v) {
  *v = (AttrValue){.state = AV_SET, .operand = -1, .count = COUNT_SCALAR};
  if (type == AT_LISTS) {
    read_lists(r, p, v);
  } else if (type == AT_FLOATS) {
    read_reals(r, p, v);
  } else if (**p == '[') {
    read_ints(r, p, v);
  } else if (type == AT_STRING || type == AT_DTYPE) {
    size_t len = strcspn(*p, " ");
    v->text = arena_strndup(r->arena, *p, len);
    v->dtype = dtype_find(*p, len);
    *p += len;
  } else if (type == AT_FLOAT) {
    v->real = strtod(*p, (char **)p);
  } else {
    v->integer = r->dim(r->data, p);
  }
}

/* Changes what the text says; the others stay. */
static inline void read_attrs(const AttrReader *r, const char *p,
                              Attrs *attrs) {
  for (p = past_blanks(p); *p; p = past_blanks(p)) {
    const char *equals = strchr(p, '=');
    char *name = arena_strndup(r->arena, p, (size_t)(equals - p));
    AttrValue *v = (AttrValue *)attr_get(attrs, attr_name_find(name));
    p = equals + 1;
    read_attr(r, attrs->op->attrs[v - attrs->values].type, &p, v);
  }
}

/* --- Calls --------------------------------------------------------------- */

enum { CALL_ARGS = 8 };

typedef struct Call {
  Bench *bench;
  Attrs attrs;
  const Tensor *args[CALL_ARGS];
  OpCall op;
} Call;

static inline Call call(Bench *b, const char *name) {
  bool dyn;
  OpId id = op_find(name, &dyn);
  assert_int_not_equal(id, OP_COUNT);
  Call c = {.bench = b};
  attrs_defaults(op_info(id), &c.attrs);
  c.op = (OpCall){
      .op = op_info(id), .heap = &b->heap, .arena = &b->arena, .threads = 1};
  return c;
}

static inline void call_arg(Call *c, const Tensor *t) {
  assert_true(c->op.arg_count < CALL_ARGS);
  c->args[c->op.arg_count++] = t;
}

static inline AttrValue *call_attr(Call *c, AttrName name) {
  AttrValue *v = (AttrValue *)attr_get(&c->attrs, name);
  v->state = AV_SET;
  return v;
}
static inline void call_int(Call *c, AttrName name, int64_t value) {
  call_attr(c, name)->integer = dim_of(value);
}
static inline void call_text(Call *c, AttrName name, const char *text) {
  call_attr(c, name)->text = text;
}
static inline void call_dtype(Call *c, AttrName name, DType dtype) {
  call_attr(c, name)->dtype = dtype;
}
static inline void call_ints(Call *c, AttrName name, int n,
                             const int64_t *ints) {
  AttrValue *v = call_attr(c, name);
  Dim *dims = ARENA_ARRAY(&c->bench->arena, Dim, (size_t)n);
  dims_of_shape(n, ints, dims);
  v->count = n;
  v->ints = dims;
}

/* Runs the call; its outs are dropped with the bench.  False with the fault
 * in c->op. */
static inline bool call_try(Call *c) {
  c->op.args = c->args;
  c->op.attrs = &c->attrs;
  if (!op_run(&c->op)) return false;
  for (int i = 0; i < c->op.out_count; i++) bench_own(c->bench, c->op.outs[i]);
  return true;
}

static inline Tensor *call_run(Call *c) {
  if (!call_try(c)) fail_msg("%s", c->op.fault.message);
  return c->op.outs[0];
}

static inline Tensor *run_unary(Bench *b, const char *name, const Tensor *x) {
  Call c = call(b, name);
  call_arg(&c, x);
  return call_run(&c);
}

static inline Tensor *run_binary(Bench *b, const char *name, const Tensor *x,
                                 const Tensor *y) {
  Call c = call(b, name);
  call_arg(&c, x);
  call_arg(&c, y);
  return call_run(&c);
}

/* --- Comparing ----------------------------------------------------------- */

static inline void assert_same(const char *what, const Tensor *got,
                               const Tensor *expected) {
  if (!tensor_same(got, expected)) fail_msg("%s: results differ", what);
}

static inline void assert_ints(const Tensor *got, int64_t n,
                               const int64_t *expected) {
  assert_int_equal(tensor_count(got), n);
  for (int64_t i = 0; i < n; i++)
    assert_int_equal(tensor_i64_at(got, i), expected[i]);
}

#endif
