/* Runs that evaluate only what an edit has changed.  A run leaves a text of
 * what its steps gave and printed; the run of the next program, which may be in
 * another context, takes from it what is the same, and says the same as a run
 * of everything. */
#ifndef LIB_KEPT_H
#define LIB_KEPT_H

#include "base/source.h"
#include "include/rly.h"

/* Seconds: what KeptRun.keep_over is where nobody says. */
#define KEEP_OVER 0.05

typedef struct KeptRun {
  const char *was; /* what the last run left, ended by a NUL that `was_len` does
                      not count; NULL or "": nothing */
  size_t was_len;
  const rly_function *entry; /* is called after the values, in the place of
                                expressions; or NULL */
  double keep_over; /* the value of a step that took more seconds is kept; 0:
                       KEEP_OVER */
  bool cells;       /* session_follow_cells() has been called */
  bool json; /* values are objects of JSON, also (); what a run without this
                left is of no use, and the other way round */
  char *now; /* what this one leaves, `now_len` bytes; owned: free() it.  NULL:
                there was no memory for it, which does not end the run */
  size_t now_len;
  size_t steps, run; /* how many steps the program has, and how many ran */
  /* Receives the value of an expression, which stands at `place`, or of the
   * entry, as a line without its end. */
  void (*value)(void *data, Span place, const char *line);
  void *data;
} KeptRun;

enum { KEPT_HEAD = 80 }; /* the most bytes of the first line that is left */
/* The most bytes that follow the first line: 16 MB, or an eighth of the limit
 * of memory where that is less. */
size_t kept_most(const rly_session *s);

/* Do these bytes begin as what a run leaves?  So do fewer of them, or none. */
bool kept_begins(const char *text, size_t len);

/* As rly_session_run, or rly_session_call_bound with an entry, for a session
 * that has run nothing.  The text that is left begins with a line `rly kept:
 * RUN of STEPS steps ran`. */
rly_status session_run_kept(rly_session *s, KeptRun *run);

#endif
