/* rly opt: what its files share. */
#ifndef REPL_OPT_COMMAND_H
#define REPL_OPT_COMMAND_H

#include "repl/opt.h"

typedef struct OptSteps OptSteps;

typedef struct Opt {
  Host *h;
  Arena arena;
  OptPass *passes;
  int count;
  StrBuf out, rewrites; /* by rules, for --print-changed */
  bool before_all, after_all;
  const PassInfo *before, *after;
  Versions *versions; /* of --html; or NULL */
  OptSteps *steps;    /* of --rewrites; or NULL */
  bool texts;         /* each version is wanted as text */
  Measurer *measurer; /* of --cost measured; or NULL */
} Opt;

/* The page of --rewrites, on which each rewrite is a step.  `was` and `is` are
 * the program before and after the pass.  False after reporting, or when memory
 * ran out. */
bool opt_steps_begin(Opt *o);
bool opt_steps_pass(Opt *o, const OptPass *pass, const StrBuf *was,
                    const StrBuf *is);
const StrBuf *opt_steps_end(Opt *o); /* the text is the page's */
void opt_steps_done(Opt *o);

/* Reads the text `is` of the version `v` that a pass made, and compares what it
 * does with what the text `was` does.  False after reporting a difference. */
bool opt_verify(Opt *o, const Version *v, const StrBuf *was, const StrBuf *is,
                const OptPass *pass);

/* What is found or left is in `out`; false after reporting.  Both take the
 * version. */
bool opt_bisect(Opt *o, Version *v, bool *found);
bool opt_reduce(Opt *o, Version *v);

#endif
