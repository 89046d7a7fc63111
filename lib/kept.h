/* Runs that evaluate only what an edit has changed.  A run leaves a text of
 * what its steps gave and printed; the run of the next program, which may be in
 * another context, takes from it what is the same, and says the same as a run
 * of everything. */
#ifndef LIB_KEPT_H
#define LIB_KEPT_H

#include "base/source.h"
#include "include/rly.h"

#define KEEP_OVER 0.05

typedef struct KeptRun {
  const char *was; /* what the last run left, ended by a NUL that `was_len` does
                      not count; NULL or "": nothing */
  size_t was_len;
  const rly_function *entry; /* is called after the values, in the place of
                                expressions; or NULL */
  double keep_over; /* values are kept that took more seconds than this; 0: than
                       KEEP_OVER */
  bool cells;       /* session_follow_cells() has been called */
  char *now; /* what this one leaves, `now_len` bytes; owned: free() it.  NULL:
                memory ran out */
  size_t now_len;
  size_t steps, run; /* how many steps the program has, and how many ran */
  /* Receives the value of an expression, which stands at `place`, or of the
   * entry, as a line. */
  void (*value)(void *data, Span place, const char *line);
  void *data;
} KeptRun;

/* The most bytes that a run leaves after the first line: 16 MB, or an eighth of
 * a lower limit of memory. */
enum { KEPT_HEAD = 80 }; /* of the first line */
size_t kept_most(const rly_session *s);

/* As rly_session_run, or rly_session_call_bound with an entry, for a session
 * that has run nothing.  The text that is left begins with a line `rly kept:
 * RUN of STEPS steps ran`. */
rly_status session_run_kept(rly_session *s, KeptRun *run);

#endif
