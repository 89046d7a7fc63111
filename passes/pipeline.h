/* Pipelines: passes in the order in which they run. */
#ifndef PASSES_PIPELINE_H
#define PASSES_PIPELINE_H

#include "passes/pass.h"

enum { PIPELINE_MAX = 256 };

typedef struct Pipeline {
  int count;
  PassCall calls[PIPELINE_MAX];
} Pipeline;

/* Appends the passes that `text` names: `A,B(size=4,depth=2),C`.  Messages show
 * the text by the name of `where`.  False after reporting what is wrong with
 * it. */
bool pipeline_read(Program *p, const char *where, const char *text,
                   Pipeline *out);
/* The same of a pass without the arguments that are at their defaults. */
void pass_call_print(const PassCall *call, StrBuf *out);

/* The passes that a level stands for, 0 to 2 (-O0 to -O2). */
const char *pipeline_level(int level);

#endif
