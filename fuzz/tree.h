/* Generated programs as trees: types of the generator's own, and nodes of
 * text.  A node knows the type of the expression that it stands for, which is
 * all that the reducer (reduce.h) needs to try a simpler one in its place. */
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
  G_RIGID,  /* name: a type parameter of the function around */
  G_VAR,    /* index: a type parameter of what is being used */
} GenKind;

enum { GEN_RANK = 3, GEN_ARGS = 5, GEN_ANY = -1 };

typedef struct GenAdt GenAdt;
typedef struct GenType GenType;
struct GenType {
  GenKind kind;
  const char *name; /* a dtype; a type parameter */
  int rank;
  int dims[GEN_RANK]; /* GEN_ANY: `?` */
  const GenAdt *adt;
  int index;
  int count;
  const GenType *args[GEN_ARGS];
};

typedef struct GenCtor {
  const char *name;
  int count;
  const GenType *fields[GEN_ARGS]; /* over the ADT's G_VARs */
} GenCtor;

enum { GEN_CTORS = 4 };
struct GenAdt {
  const char *name;
  int params;
  int count;
  GenCtor ctors[GEN_CTORS]; /* the first is not recursive */
};

bool gen_same(const GenType *a, const GenType *b);
/* As the language writes it. */
void gen_type_text(StrBuf *out, const GenType *t);
/* `t` with its G_VARs replaced. */
const GenType *gen_substitute(Arena *a, const GenType *t,
                              const GenType *const *to);
/* Finds what the G_VARs of `pattern` have to be for it to be `t`; entries of
 * `to` that are NULL are free.  False when there is no way. */
bool gen_unify(const GenType *pattern, const GenType *t, const GenType **to);

static inline bool gen_is_scalar(const GenType *t) {
  return t->kind == G_TENSOR && t->rank == 0;
}

/* --- Nodes -------------------------------------------------------------- */

typedef struct GenNode {
  const GenType *type; /* NULL: not an expression */
  const char *text;    /* each `$` stands for the next child */
  int count;
  struct GenNode **children;
} GenNode;

/* The text of a tree; what is nested is bounded by the generator. */
void gen_print(StrBuf *out, const GenNode *n);
size_t gen_size(const GenNode *n);

#endif
