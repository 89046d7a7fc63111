/* A trial: one program of the suites put to the test.  ops.c, lang.c and
 * printed.c hold the three kinds; run.c decides which to make and counts. */
#ifndef TESTS_CONFORMANCE_TRIAL_H
#define TESTS_CONFORMANCE_TRIAL_H

#include "tests/process.h"

typedef struct Trial {
  const char *rly;      /* the program under test */
  const char *program;  /* the .rly file given to it */
  const char *expected; /* path of what is expected, without its extension */
  const char *scratch;  /* prefix of files that the trial may write */
  bool formatted;       /* printed by rly: lines and columns are not compared */
} Trial;

typedef struct Verdict {
  bool passed;
  char why[160]; /* otherwise: one line */
  Outcome last;  /* of the process run last */
} Verdict;

/* Each kind of trial; they return v->passed. */
bool ops_trial(const Trial *t, Verdict *v);
bool lang_trial(const Trial *t, Verdict *v);
bool fmt_ops_trial(const Trial *t, Verdict *v);
bool fmt_lang_trial(const Trial *t, Verdict *v);
bool dump_ops_trial(const Trial *t, Verdict *v);
bool dump_lang_trial(const Trial *t, Verdict *v);
bool json_ops_trial(const Trial *t, Verdict *v);
bool json_lang_trial(const Trial *t, Verdict *v);

/* Whether the case expects that the program is refused before it runs. */
bool lang_expects_refusal(const Trial *t);

/* Runs `rly ARGS`, which NULL ends, as v->last.  Whether it exits with
 * `status`; otherwise the verdict says how it ended and quotes stderr. */
bool trial_run(const Trial *t, Verdict *v, int status,
               const char *const args[]);

/* Sets the reason of a failure; always false, to be returned. */
bool verdict_fail(Verdict *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The suites' rule: NaN agrees with NaN, an infinity with itself, anything
 * else within atol + rtol * |want|. */
bool float_agrees(double got, double want, double rtol, double atol);

#endif
