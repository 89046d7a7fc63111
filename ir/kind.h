/* What a parameter in brackets ranges over; ir/kind.def has a row for each. */
#ifndef IR_KIND_H
#define IR_KIND_H

#include "tensor/dtype.h"

typedef enum ParamKind {
#define KIND(id, ...) KIND_##id,
#include "ir/kind.def"
#undef KIND
  KIND_COUNT
} ParamKind;

/* How the argument is found at a use. */
typedef enum KindSolve { SOLVE_UNIFY, SOLVE_FLOW, SOLVE_INSTANCE } KindSolve;

typedef struct KindInfo {
  const char *word; /* "Dim" */
  KindSolve solve;
  const char *meaning;     /* "a dimension" */
  bool (*member)(DType t); /* NULL: its arguments are no dtypes */
} KindInfo;

extern const KindInfo kind_info[KIND_COUNT];

/* What stands for a parameter that is solved by instance: a Shape's rank, or a
 * dtype. */
typedef struct KindArg {
  bool known;
  int rank;
  DType dtype;
  int from; /* types/'s: the argument of the use that says so */
} KindArg;

/* The kind that a declaration spells so; KIND_COUNT: none. */
ParamKind kind_find(const char *word);

#endif
