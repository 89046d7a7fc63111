/* The rows of ops_law.def, and their operands as tensors. */
#ifndef TESTS_UNIT_OPS_LAW_H
#define TESTS_UNIT_OPS_LAW_H

#include "tests/unit/ops.h"

enum { BATCH = 5 };

typedef struct Law {
  const char *ops, *operands, *attrs;
  int axis, batched, shortest;
  DType only;
  const char *moved, *by;
} Law;

static const Law laws[] = {
#define LAW(names, args, values, ...) \
  {.ops = names, .operands = args, .attrs = values, __VA_ARGS__},
#include "tests/unit/ops_law.def"
#undef LAW
};

/* Calls `visit` with each operator of each row. */
typedef void (*LawVisit)(const Law *law, const OpInfo *op);
static inline void each_of(const Law *rows, size_t count, LawVisit visit) {
  for (size_t i = 0; i < count; i++) {
    char names[512];
    bool dyn;
    snprintf(names, sizeof names, "%s", rows[i].ops);
    for (char *name = strtok(names, " "); name; name = strtok(NULL, " "))
      visit(&rows[i], op_info(op_find(name, &dyn)));
  }
}
static inline void each_law(LawVisit visit) {
  each_of(laws, LENGTH(laws), visit);
}

/* --- Operands ------------------------------------------------------------ */

typedef struct Trial {
  Bench *b;
  const Law *law;
  const OpInfo *op;
  DType dtype;
  int64_t n;
  int threads;
  const char *isa;
  int64_t batch; /* 0: BATCH */
  /* An operand of that kind and shape; NULL: of_kind(). */
  Tensor *(*make)(struct Trial *t, char kind, int64_t below, int rank,
                  const int64_t *shape, uint64_t seed);
} Trial;

typedef struct Operands {
  int count;
  Tensor *t[CALL_ARGS];
  int batch[CALL_ARGS], line[CALL_ARGS]; /* the axes b and n; -1 */
} Operands;

typedef struct Lengths {
  int64_t b, n;
} Lengths;

/* A number, b, n, or one times the other. */
static inline int64_t read_length(const Lengths *l, const char **p) {
  char *end;
  int64_t d = strtoll(*p, &end, 10);
  if (end == *p) d = 1;
  if (*end == 'b') d *= l->b;
  if (*end == 'n') d *= l->n;
  *p = end + (*end == 'b' || *end == 'n');
  return d;
}

static inline Dim read_dim(void *lengths, const char **p) {
  return dim_of(read_length(lengths, p));
}

static inline Tensor *literal(Trial *t, DType dtype, const char **p) {
  int64_t values[64], shape[2] = {1, 0}, count = 0;
  bool vector = **p == '[';
  for (*p += vector;; ++*p) {
    values[count++] = strtoll(*p, (char **)p, 10);
    shape[0] += **p == ';';
    if (!vector || **p == ']') break;
  }
  *p += vector;
  int rank = !vector ? 0 : shape[0] > 1 ? 2 : 1;
  shape[1] = count / shape[0];
  return ints(t->b, dtype, rank, rank == 1 ? &count : shape, values);
}

static inline Tensor *random_key(Trial *t) {
  Tensor *key = tensor_of(t->b, DT_UINT64, 1, (int64_t[]){10});
  for (int i = 0; i < 10; i++)
    element_put(key, i, bits_from_i64(DT_UINT64, i == 3 ? 42 : 0));
  element_put(key, 8, (Value){.bits = (uint64_t)1 << 63});
  return key;
}

/* In place of each number of (-4, 4): what the kind says. */
static inline Tensor *of_kind(Trial *t, char kind, int64_t below, int rank,
                              const int64_t *shape, uint64_t seed) {
  bool whole = kind == 'i' || kind == 'c';
  Tensor *x = noise(t->b, whole ? DT_FLOAT64 : t->dtype, rank, shape, seed);
  if (!kind) return x;
  DType dtype = kind == 'c' ? DT_INT8 : kind == '?' ? DT_BOOL : DT_INT32;
  Tensor *out = tensor_of(t->b, kind == '+' ? x->dtype : dtype, rank, shape);
  for (int64_t i = 0; i < tensor_count(x); i++) {
    double v = tensor_f64_at(x, i);
    int64_t integer =
        kind == '?' ? v > 0 : (int64_t)((v + 4) * (double)below / 8);
    element_put(out, i,
                kind == '+' ? bits_from_f64(x->dtype, fabs(v) + 0.5)
                            : bits_from_i64(dtype, integer));
  }
  return out;
}

static inline Lengths lengths_of(const Trial *t) {
  return (Lengths){t->batch ? t->batch : BATCH, t->n};
}

/* The dims of an operand, and which of them are b and n. */
static inline Tensor *read_shaped(Trial *t, const char **p, Operands *o,
                                  char kind, int64_t below) {
  int64_t shape[RANK_MAX];
  int rank = 0, i = o->count;
  Lengths l = lengths_of(t);
  if (**p == '(') *p += 2;
  for (; **p && **p != ' '; *p += **p == ',') {
    const char *letter = *p + strspn(*p, "0123456789");
    if (*letter == 'b') o->batch[i] = rank;
    if (*letter == 'n') o->line[i] = rank;
    shape[rank++] = read_length(&l, p);
  }
  return (t->make ? t->make : of_kind)(t, kind, below, rank, shape,
                                       (uint64_t)(i + 7 * t->n));
}

static inline Tensor *read_operand(Trial *t, const char **p, Operands *o) {
  char kind = **p;
  if (kind == '=') return ++*p, literal(t, DT_INT32, p);
  if (kind == 'j') return ++*p, literal(t, DT_INT64, p);
  if (kind == 'k') return *p += 3, random_key(t);
  if (kind == '~') {
    double v = strtod(*p + 1, (char **)p);
    return floats(t->b, t->dtype, 0, NULL, &v);
  }
  if (kind == '?' || kind == '+') return ++*p, read_shaped(t, p, o, kind, 0);
  if (kind != 'i' && kind != 'c') return read_shaped(t, p, o, 0, 0);
  Lengths l = lengths_of(t);
  ++*p;
  int64_t below = read_length(&l, p);
  ++*p;
  return read_shaped(t, p, o, kind, below);
}

static inline Operands operands_of(Trial *t) {
  Operands o = {0};
  memset(o.batch, -1, sizeof o.batch);
  memset(o.line, -1, sizeof o.line);
  for (const char *p = past_blanks(t->law->operands); *p; p = past_blanks(p)) {
    o.t[o.count] = read_operand(t, &p, &o);
    o.count++;
  }
  return o;
}

static inline bool has_batch(const Operands *o) {
  for (int i = 0; i < o->count; i++)
    if (o->batch[i] >= 0) return true;
  return false;
}

/* The row's attributes; those of `more` after them. */
static inline void law_attrs(const Trial *t, int64_t batch, const char *more,
                             Call *c) {
  Lengths l = {batch, t->n};
  AttrReader r = {&t->b->arena, read_dim, &l};
  read_attrs(&r, t->law->attrs, &c->attrs);
  read_attrs(&r, more, &c->attrs);
}

#endif
