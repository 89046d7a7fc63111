/* rly opt --reduce: what its files share (opt_reduce.c). */
#ifndef REPL_OPT_REDUCE_H
#define REPL_OPT_REDUCE_H

#include "repl/opt_command.h"

typedef VEC(const Expr *) Exprs;

typedef struct Reduce {
  Opt *o;
  const char *command; /* with the file's name in it */
  const char *file;
  int status;     /* of the command, when it fails as it should */
  double seconds; /* of a trial, at most */
  Version v;
  StrBuf text;    /* of v */
  StrBuf tried;   /* the candidate at hand */
  NameTable seen; /* candidates */
  int trials;
  bool changed;
} Reduce;

/* --- Candidates (opt_reduce.c) -------------------------------------------- */

/* True when the command fails for the candidate; then it is the program.  A
 * text is tried once. */
bool reduce_holds(Reduce *r);
/* The program as it was changed in memory is the candidate. */
void reduce_print(Reduce *r);

/* --- Expressions (opt_reduce_expr.c) -------------------------------------- */

size_t reduce_node_count(Reduce *r, const Version *v);
void reduce_nodes(Reduce *r);
void reduce_wholes(Reduce *r);
void reduce_params(Reduce *r);

#endif
