/* rly opt: what its files share. */
#ifndef REPL_OPT_COMMAND_H
#define REPL_OPT_COMMAND_H

#include "repl/opt.h"

typedef struct Opt {
  Host *h;
  Arena arena;
  OptPass *passes;
  int count;
  StrBuf out, rewrites; /* by rules, for --print-changed */
  bool before_all, after_all;
  const PassInfo *before, *after;
  bool texts;         /* each version is wanted as text */
  Measurer *measurer; /* of --cost measured; or NULL */
} Opt;

/* What is found or left is in `out`; false after reporting.  Both take the
 * version. */
bool opt_bisect(Opt *o, Version *v, bool *found);
bool opt_reduce(Opt *o, Version *v);

#endif
