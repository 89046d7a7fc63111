/* Random programs that are well typed and end.
 *
 * The same seed and size give the same program.  Functions that recur take
 * fuel: an int32 that every call inside spends.  A program is a list of items;
 * their expressions are trees, so that the reducer can cut them down. */
#ifndef FUZZ_GENERATE_H
#define FUZZ_GENERATE_H

#include "fuzz/tree.h"

typedef struct GenProgram {
  VEC(GenNode *) items; /* types, functions, lets and expressions, in order */
} GenProgram;

/* Makes about `size` nodes, in the arena.  Of one program in 25 not all types
 * can be inferred; made again so that it annotates its parameters and lets, the
 * rest of it is the same, and it checks. */
void generate(Arena *a, Mem *mem, uint64_t seed, int size, bool annotates,
              GenProgram *out);
void gen_program_done(GenProgram *p);
void gen_program_text(const GenProgram *p, StrBuf *out);

/* The plainest expression of a type, without free variables. */
GenNode *gen_plain(Arena *a, const GenType *t);

#endif
