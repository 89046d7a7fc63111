/* Formatting: what `rly fmt` prints is a fixed point of it and the same
 * program, which is to say that it passes the program's own case. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/conformance/trial.h"

/* Formats `file` into `path`. */
static bool format_into(const Trial *t, Verdict *v, const char *file,
                        const char *path) {
  const char *fmt[] = {"fmt", file, NULL};
  return trial_run(t, v, 0, fmt) && (text_write_file(&v->last.out, path) ||
                                     verdict_fail(v, "cannot write %s", path));
}

/* Whether formatting `file` gives `file`. */
static bool is_fixed(const Trial *t, Verdict *v, const char *file) {
  const char *fmt[] = {"fmt", file, NULL};
  if (!trial_run(t, v, 0, fmt)) return false;
  Text once;
  bool same = text_read_file(&once, file) && once.len == v->last.out.len &&
              !memcmp(once.data, v->last.out.data, once.len);
  text_free(&once);
  return same || verdict_fail(v, "formatting twice is not formatting once");
}

static bool fmt_trial(const Trial *t, Verdict *v,
                      bool (*trial)(const Trial *, Verdict *)) {
  char path[512];
  snprintf(path, sizeof path, "%s.rly", t->scratch);
  Trial formatted = *t;
  formatted.program = path;
  formatted.formatted = true;
  v->passed = format_into(t, v, t->program, path) && is_fixed(t, v, path) &&
              trial(&formatted, v);
  unlink(path);
  return v->passed;
}

bool fmt_ops_trial(const Trial *t, Verdict *v) {
  return fmt_trial(t, v, ops_trial);
}

/* A program that must be refused may be refused here already. */
bool fmt_lang_trial(const Trial *t, Verdict *v) {
  const char *fmt[] = {"fmt", t->program, NULL};
  if (lang_expects_refusal(t) && trial_run(t, v, 1, fmt))
    return v->passed = true;
  return fmt_trial(t, v, lang_trial);
}
