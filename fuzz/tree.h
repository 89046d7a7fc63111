/* Generated programs as trees: the generator's own types, and nodes of text.  A
 * node knows the type of its expression, which is all that the reducer
 * (reduce.h) needs to replace it by a simpler one. */
#ifndef FUZZ_TREE_H
#define FUZZ_TREE_H

#include "base/strbuf.h"

/* --- Types -------------------------------------------------------------- */

typedef enum GenKind {
  G_TENSOR, /* scalars included */
  G_TUPLE,  /* args; the unit type when there are none */
  G_FN,     /* args, the result last */
  G_REF,    /* args[0] */
  G_ADT,    /* adt, args */
  G_RIGID,  /* name: a rigid type parameter of the enclosing function */
  G_VAR,    /* index: a type parameter to be instantiated */
} GenKind;

enum { GEN_RANK = 3, GEN_ARGS = 5, GEN_ANY = -1 };

typedef struct GenAdt GenAdt;
typedef struct GenType GenType;
struct GenType {
  GenKind kind;
  const char *name; /* a dtype, or a type parameter */
  int rank;
  int dims[GEN_RANK]; /* GEN_ANY for `?` */
  const GenAdt *adt;
  int index;
  int count;
  const GenType *args[GEN_ARGS];
};

typedef struct GenCtor {
  const char *name;
  int count;
  const GenType *fields[GEN_ARGS]; /* may use the ADT's G_VARs */
} GenCtor;

enum { GEN_CTORS = 4 };
struct GenAdt {
  const char *name;
  int params;
  int count;
  GenCtor ctors[GEN_CTORS]; /* the first is not recursive */
};

bool gen_same(const GenType *a, const GenType *b);
/* Prints the type as the language writes it. */
void gen_type_text(StrBuf *out, const GenType *t);
/* `t` with its G_VARs replaced. */
const GenType *gen_substitute(Arena *a, const GenType *t,
                              const GenType *const *to);
/* Matches `pattern` with `t` and sets `to`, whose NULL entries are free; false
 * when they do not match. */
bool gen_unify(const GenType *pattern, const GenType *t, const GenType **to);

static inline bool gen_is_scalar(const GenType *t) {
  return t->kind == G_TENSOR && t->rank == 0;
}

/* --- Nodes -------------------------------------------------------------- */

typedef struct GenNode {
  const GenType *type; /* NULL when it is no expression */
  const char *text;    /* each `$` stands for the next child */
  int count;
  struct GenNode **children;
} GenNode;

/* Prints a tree; the generator bounds its depth. */
void gen_print(StrBuf *out, const GenNode *n);
size_t gen_size(const GenNode *n);

#endif
