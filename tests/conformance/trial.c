/* What the kinds of trial share. */
#include "tests/conformance/trial.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A safety net, not a measure: nothing here takes long. */
static const double SECONDS = 120;

enum { ARGS_MAX = 8 };

static bool expect_status(const Outcome *o, int status, Verdict *v) {
  if (o->status == status) return true;
  if (o->status == STATUS_STOPPED) return verdict_fail(v, "did not end");
  if (o->status == STATUS_NOT_STARTED) return verdict_fail(v, "did not start");
  const char *said = o->err.data ? o->err.data : "";
  return verdict_fail(v, "exit status %d, not %d: %.*s", o->status, status,
                      (int)strcspn(said, "\n"), said);
}

bool trial_run(const Trial *t, Verdict *v, int status,
               const char *const args[]) {
  const char *argv[ARGS_MAX + 2] = {t->rly};
  for (int i = 0; i < ARGS_MAX && args[i]; i++) argv[i + 1] = args[i];
  outcome_free(&v->last);
  v->last = process_run(argv, SECONDS);
  return expect_status(&v->last, status, v);
}

bool verdict_fail(Verdict *v, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(v->why, sizeof v->why, format, args);
  va_end(args);
  return v->passed = false;
}

bool float_agrees(double got, double want, double rtol, double atol) {
  if (isnan(want)) return isnan(got);
  if (isinf(want)) return got == want;
  return fabs(got - want) <= atol + rtol * fabs(want);
}
