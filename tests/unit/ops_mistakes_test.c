/* Bad input: the calls of ops_law.def with one or two things wrong, a shape, a
 * dtype, an attribute, an index.  Each is refused with a code and a message
 * that names the operator, or runs; it neither crashes nor reads or writes what
 * is not its own (MODE=asan sees that).
 *
 * Made by combination, for nobody would write them all: each row of the law's
 * table, with one thing spoilt, or two at once. */
#include "base/hash.h"
#include "tests/unit/ops_law.h"

enum { TRIALS = 60, MEMORY = 1 << 24 };

/* --- What goes wrong ----------------------------------------------------- */

typedef struct Mischief {
  Trial *t;
  uint64_t random;
} Mischief;

static int64_t pick(Mischief *m, int64_t n) {
  return (int64_t)(unit_random(&m->random) % (uint64_t)n);
}

static int64_t odd_number(Mischief *m) {
  static const int64_t numbers[] = {INT64_MIN,
                                    INT32_MIN,
                                    -100,
                                    -9,
                                    -2,
                                    -1,
                                    0,
                                    1,
                                    2,
                                    3,
                                    7,
                                    8,
                                    9,
                                    100,
                                    INT32_MAX,
                                    (int64_t)1 << 40,
                                    (int64_t)1 << 62,
                                    INT64_MAX};
  return numbers[pick(m, LENGTH(numbers))];
}

/* Noise is below 4; of an index dtype, every element is out of range. */
static Tensor *other_tensor(Mischief *m, DType dtype, int rank,
                            const int64_t *shape) {
  Bench *b = m->t->b;
  Tensor *x = noise(b, dtype_is_float(dtype) ? dtype : DT_FLOAT64, rank, shape,
                    m->random);
  if (dtype_is_float(dtype)) return x;
  Tensor *out = tensor_of(b, dtype, rank, shape);
  for (int64_t i = 0; i < tensor_count(out); i++)
    element_put(out, i, bits_from_i64(dtype, odd_number(m)));
  return out;
}

static const Tensor *other_dtype(Mischief *m, const Tensor *x) {
  return other_tensor(m, (DType)pick(m, DTYPE_COUNT), x->rank, x->shape);
}

static const Tensor *other_rank(Mischief *m, const Tensor *x) {
  int64_t shape[RANK_MAX] = {2, 1, 2, 1, 1, 2, 1, 1};
  int rank = (int)pick(m, RANK_MAX + 1);
  for (int i = 0; i < rank && i < x->rank; i++) shape[i] = x->shape[i];
  return other_tensor(m, x->dtype, rank, shape);
}

static const Tensor *other_dim(Mischief *m, const Tensor *x) {
  static const int64_t lengths[] = {0, 1, 2, 3, 13};
  int64_t shape[RANK_MAX];
  if (x->rank == 0) return other_rank(m, x);
  memcpy(shape, x->shape, sizeof shape);
  shape[pick(m, x->rank)] = lengths[pick(m, LENGTH(lengths))];
  return other_tensor(m, x->dtype, x->rank, shape);
}

static const Tensor *other_values(Mischief *m, const Tensor *x) {
  return other_tensor(m, x->dtype, x->rank, x->shape);
}

static void spoil_operand(Mischief *m, Call *c) {
  static const Tensor *(*const ways[])(Mischief * m, const Tensor *x) = {
      other_dtype, other_rank, other_dim, other_values};
  int i = (int)pick(m, c->op.arg_count);
  c->args[i] = ways[pick(m, LENGTH(ways))](m, c->args[i]);
}

static Dim odd_dim(Mischief *m) { return dim_of(odd_number(m)); }

/* A list as long as it was, or of any length up to 9. */
static void spoil_ints(Mischief *m, AttrValue *v) {
  Dim *ints = ARENA_ARRAY(&m->t->b->arena, Dim, 16);
  int n = v->state == AV_SET && v->count > 0 ? v->count : (int)pick(m, 10);
  for (int i = 0; i < n; i++)
    ints[i] = v->ints && i < v->count ? v->ints[i] : odd_dim(m);
  if (n > 0) ints[pick(m, n)] = odd_dim(m);
  v->count = pick(m, 4) ? n : (int)pick(m, 10);
  for (int i = n; i < v->count; i++) ints[i] = odd_dim(m);
  v->ints = ints;
}

static void spoil_lists(Mischief *m, AttrValue *v) {
  AttrValue *lists = ARENA_ARRAY(&m->t->b->arena, AttrValue, 16);
  int n = (int)pick(m, 4);
  for (int i = 0; i < n; i++) {
    lists[i] = (AttrValue){.state = AV_SET, .operand = -1};
    if (v->lists && i < v->count) lists[i] = v->lists[i];
    if (pick(m, 2)) spoil_ints(m, &lists[i]);
  }
  v->lists = lists;
  v->count = n;
}

static const double odd_reals[] = {0, -1, 1e300, INFINITY, NAN, 0.5};

static void spoil_reals(Mischief *m, AttrValue *v) {
  double *reals = ARENA_ARRAY(&m->t->b->arena, double, 16);
  bool keeps = v->state == AV_SET && v->count > 0 && pick(m, 4);
  v->count = keeps ? v->count : (int)pick(m, 10);
  for (int i = 0; i < v->count; i++)
    reals[i] = odd_reals[pick(m, LENGTH(odd_reals))];
  v->reals = reals;
}

static void spoil_attr(Mischief *m, Call *c) {
  static const char *const texts[] = {"",       "nonsense", "NCHW",
                                      "NCHW4c", "ij,",      "...->",
                                      "size",   "CHW",      "N9999999c"};
  const OpInfo *op = c->op.op;
  int i = (int)pick(m, op->attr_count);
  AttrValue *v = &c->attrs.values[i];
  AttrType type = op->attrs[i].type;
  if (op->attrs[i].optional && pick(m, 4) == 0) {
    v->state = AV_NONE;
    return;
  }
  v->state = AV_SET;
  switch (type) {
    case AT_BOOL: v->integer = dim_of(pick(m, 2)); return;
    case AT_INT: v->integer = odd_dim(m); return;
    case AT_FLOAT: v->real = odd_reals[pick(m, LENGTH(odd_reals))]; return;
    case AT_STRING: v->text = texts[pick(m, LENGTH(texts))]; return;
    case AT_DTYPE: v->dtype = (DType)pick(m, DTYPE_COUNT); return;
    case AT_INTS: spoil_ints(m, v); return;
    case AT_LISTS: spoil_lists(m, v); return;
    case AT_FLOATS: spoil_reals(m, v); return;
    case AT_INT_OR_INTS:
      v->integer = odd_dim(m);
      v->count = COUNT_SCALAR;
      return;
    case AT_IGNORED: return;
  }
}

/* --- A call -------------------------------------------------------------- */

static void assert_refused(const Trial *t, const Call *c) {
  const OpFault *f = &c->op.fault;
  if (f->code == E0701) return;
  if (!f->message || !f->code)
    fail_msg("%s: refused without a word", t->op->name);
  if (!strstr(f->message, t->op->name))
    fail_msg("%s: says only: %s", t->op->name, f->message);
}

static void spoiled_call(const Law *law, const OpInfo *op, uint64_t seed) {
  Bench b;
  bench_open(&b);
  b.mem.limit = MEMORY;
  DType dtype = law->only ? law->only : seed % 3 ? DT_FLOAT32 : DT_FLOAT16;
  Trial t = {.b = &b,
             .law = law,
             .op = op,
             .dtype = dtype,
             .n = law->shortest ? law->shortest : 5,
             .threads = 1,
             .isa = ""};
  /* by its name, so that a new row changes no other operator's trials */
  Mischief m = {&t, seed * 977 + hash_bytes(op->name, strlen(op->name))};
  Operands o = operands_of(&t);
  Call c = call(&b, op->name);
  law_attrs(&t, BATCH, "", &c);
  for (int i = 0; i < o.count; i++) call_arg(&c, o.t[i]);
  for (int64_t i = 1 + pick(&m, 2); i > 0; i--) {
    bool attr = op->attr_count > 0 && (o.count == 0 || pick(&m, 2));
    if (attr) spoil_attr(&m, &c);
    else if (o.count > 0) spoil_operand(&m, &c);
  }
  if (!call_try(&c)) assert_refused(&t, &c);
  if (mem_exhausted(&b.mem)) mem_clear_exhausted(&b.mem);
  bench_close(&b);
}

static void spoiled_calls(const Law *law, const OpInfo *op) {
  for (uint64_t i = 0; i < TRIALS; i++) spoiled_call(law, op, i);
}

static void mistakes_are_refused(void **state) {
  (void)state;
  each_law(spoiled_calls);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(mistakes_are_refused)};
  return RUN_TESTS(tests);
}
