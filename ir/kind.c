/* The table of kinds. */
#include "ir/kind.h"

#include <string.h>

static bool is_any_dtype(DType t) { return t != DTYPE_NONE; }

const KindInfo kind_info[KIND_COUNT] = {
#define KIND(id, kind_word, kind_solve, ...) \
  [KIND_##id] = {.word = kind_word, .solve = SOLVE_##kind_solve, __VA_ARGS__},
#include "ir/kind.def"
#undef KIND
};

ParamKind kind_find(const char *word) {
  ParamKind kind = 0;
  while (kind < KIND_COUNT && strcmp(kind_info[kind].word, word) != 0) kind++;
  return *word ? kind : KIND_COUNT;
}
