/* rly opt: what its files share. */
#ifndef REPL_OPT_COMMAND_H
#define REPL_OPT_COMMAND_H

#include "repl/opt.h"

typedef struct OptPage OptPage;

typedef struct Opt {
  Host *h;
  Arena arena;
  OptPass *passes;
  int count;
  StrBuf out, rewrites; /* by rules, for --print-changed */
  bool before_all, after_all;
  const PassInfo *before, *after;
  OptPage *page;      /* of --html; or NULL */
  bool texts;         /* each version is wanted as text */
  Measurer *measurer; /* of --cost measured; or NULL */
} Opt;

/* The page of --html: the program before and after each pass, side by side. */
OptPage *opt_page_new(Mem *mem, const char *title); /* NULL: out of memory */
void opt_page_free(OptPage *p);
/* The next pass, with a few words on what it did.  False: the page is full. */
bool opt_page_pass(OptPage *p, const char *pass, const char *did,
                   const char *was, const char *is);
/* The first program and the last, and the end; the text is the page's. */
const StrBuf *opt_page_end(OptPage *p, const char *first, const char *last);

/* What is found or left is in `out`; false after reporting.  Both take the
 * version. */
bool opt_bisect(Opt *o, Version *v, bool *found);
bool opt_reduce(Opt *o, Version *v);

#endif
