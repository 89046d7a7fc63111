/* Printing: what `rly fmt` and `rly dump` print is a fixed point of them
 * and the same program, which is to say that it passes the program's own
 * case.  So does what `rly dump --format json` writes, whose dump is the
 * program's own. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/conformance/trial.h"

/* A command that prints a program. */
typedef struct Printing {
  const char *command;
  const char *format; /* of --format, or NULL */
  const char *unlike; /* what is wrong when the text is no fixed point */
} Printing;

static const Printing formatting = {"fmt", NULL,
                                    "formatting twice is not formatting once"};
static const Printing dumping = {"dump", NULL,
                                 "dumping twice is not dumping once"};
static const Printing tables = {"dump", "json",
                                "the JSON is another program than the text"};

static bool print(const Printing *printing, const Trial *t, Verdict *v,
                  int status, const char *file) {
  const char *args[] = {printing->command, file, NULL, NULL, NULL};
  if (printing->format) args[2] = "--format", args[3] = printing->format;
  return trial_run(t, v, status, args);
}

/* Whether printing `file` gives `file`. */
static bool is_fixed(const Printing *printing, const Trial *t, Verdict *v,
                     const char *file) {
  if (!print(printing, t, v, 0, file)) return false;
  Text once;
  bool same = text_read_file(&once, file) && once.len == v->last.out.len &&
              !memcmp(once.data, v->last.out.data, once.len);
  text_free(&once);
  return same || verdict_fail(v, "%s", printing->unlike);
}

/* Whether the dump of `file` is that of the program it was made of. */
static bool is_alike(const Printing *printing, const Trial *t, Verdict *v,
                     const char *file) {
  if (!print(&dumping, t, v, 0, file)) return false;
  Text made = v->last.out;
  v->last.out = (Text){0};
  bool ok = print(&dumping, t, v, 0, t->program);
  bool same = ok && made.len == v->last.out.len &&
              !memcmp(made.data, v->last.out.data, made.len);
  text_free(&made);
  return same || (ok && verdict_fail(v, "%s", printing->unlike));
}

static bool printed_trial(const Printing *printing, const Trial *t, Verdict *v,
                          bool (*trial)(const Trial *, Verdict *)) {
  char path[512];
  snprintf(path, sizeof path, "%s.rly", t->scratch);
  Trial printed = *t;
  printed.program = path;
  printed.formatted = true;
  if (print(printing, t, v, 0, t->program))
    v->passed = (text_write_file(&v->last.out, path) ||
                 verdict_fail(v, "cannot write %s", path)) &&
                (printing->format ? is_alike(printing, t, v, path)
                                  : is_fixed(printing, t, v, path)) &&
                trial(&printed, v);
  unlink(path);
  return v->passed;
}

/* A program that must be refused may be refused here already. */
static bool printed_lang_trial(const Printing *printing, const Trial *t,
                               Verdict *v) {
  if (lang_expects_refusal(t) && print(printing, t, v, 1, t->program))
    return v->passed = true;
  return printed_trial(printing, t, v, lang_trial);
}

bool fmt_ops_trial(const Trial *t, Verdict *v) {
  return printed_trial(&formatting, t, v, ops_trial);
}

bool fmt_lang_trial(const Trial *t, Verdict *v) {
  return printed_lang_trial(&formatting, t, v);
}

bool dump_ops_trial(const Trial *t, Verdict *v) {
  return printed_trial(&dumping, t, v, ops_trial);
}

bool dump_lang_trial(const Trial *t, Verdict *v) {
  return printed_lang_trial(&dumping, t, v);
}

bool json_ops_trial(const Trial *t, Verdict *v) {
  return printed_trial(&tables, t, v, ops_trial);
}

bool json_lang_trial(const Trial *t, Verdict *v) {
  return printed_lang_trial(&tables, t, v);
}
