/* One program, run twice: by the VM, perhaps after passes, and by the
 * small-step machine; or by the VM more often, each time after other passes.
 *
 * A run leaves a transcript: what was printed, each value as JSON on a line of
 * its own, a run-time error as its code and line (after passes: its code).  The
 * two must be equal. */
#ifndef FUZZ_DUEL_H
#define FUZZ_DUEL_H

#include <stdint.h>

#include "base/strbuf.h"

typedef enum DuelOutcome {
  DUEL_SAME,
  DUEL_DIFFERENT,
  DUEL_REFUSED,  /* the checker refused it; `vm` says why */
  DUEL_TOO_LONG, /* the step machine reached its limit of steps or memory */
} DuelOutcome;

typedef struct Duel {
  uint64_t max_steps;
  /* "A,B;C": the VM runs what each of these pipelines of rly opt makes of the
   * program, an empty one among them; NULL: the program itself. */
  const char *passes;
  DuelOutcome outcome;
  uint64_t steps;
  StrBuf vm, step; /* transcripts */
  bool failed;     /* did it end in a run-time error? */
} Duel;

void duel_init(Duel *d, Mem *mem, uint64_t max_steps);
void duel_done(Duel *d);

/* Runs the text's expressions in order, or its @main.  Messages about refused
 * programs show `path`. */
void duel_run(Duel *d, const char *path, const char *text, size_t len);

/* The rows of passes that rly opt runs, and their number; `rows` has room for
 * PIPELINE_MAX. */
struct PassInfo;
int duel_pass_rows(const struct PassInfo **rows);

#endif
