/* Language cases: the value and the type of a program, or its error. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/message.h"
#include "tests/conformance/trial.h"
#include "tests/conformance/value.h"

/* `run --json` prints exactly the value. */
static bool same_value(const Text *out, const json_t *want, Verdict *v) {
  json_t *got = out->data ? json_loadb(out->data, out->len, 0, NULL) : NULL;
  Difference d;
  bool same = got && value_agrees(got, want, &d);
  if (!got) {
    verdict_fail(v, "stdout is not one JSON value");
  } else if (!same) {
    char *is = difference_text(d.got), *not = difference_text(d.want);
    verdict_fail(v, "value %.60s, not %.60s", is, not );
    free(is);
    free(not );
  }
  json_decref(got);
  return same;
}

/* `check --types` prints the line `@main : TYPE`. */
static bool same_type(const Text *out, const char *want, Verdict *v) {
  char *expected = NULL;
  if (asprintf(&expected, "@main:%s", want) < 0) return false;
  char *line = message_line(out, "@main");
  char *got = message_squeeze(line), *wanted = message_squeeze(expected);
  bool same = got && !strcmp(got, wanted);
  if (!same) verdict_fail(v, "type `%.60s`, not `%.60s`", line, want);
  free(got);
  free(wanted);
  free(line);
  free(expected);
  return same;
}

static bool succeeds(const Trial *t, const json_t *spec, Verdict *v) {
  const char *run[] = {"run", t->program, "--json", NULL};
  const char *check[] = {"check", t->program, "--types", NULL};
  const char *type = json_string_value(json_object_get(spec, "main_type"));
  return trial_run(t, v, 0, run) &&
         same_value(&v->last.out, json_object_get(spec, "result"), v) &&
         trial_run(t, v, 0, check) && same_type(&v->last.out, type, v);
}

/* stderr holds FILE:LINE: and, where one is expected, COLUMN:. */
static bool is_located(const Trial *t, const json_t *error, Verdict *v) {
  const char *slash = strrchr(t->program, '/');
  const char *file = slash ? slash + 1 : t->program;
  int line = (int)json_integer_value(json_object_get(error, "line"));
  int column = (int)json_integer_value(json_object_get(error, "column"));
  char place[256];
  int len = snprintf(place, sizeof place, "%s:%d:", file, line);
  if (column) snprintf(place + len, sizeof place - len, "%d:", column);
  const char *err = v->last.err.data;
  return (err && strstr(err, place)) ||
         verdict_fail(v, "stderr does not name %s", place);
}

static bool has_words(const json_t *error, Verdict *v) {
  char *said = message_words(&v->last.err);
  size_t i;
  json_t *word;
  bool all = true;
  json_array_foreach(json_object_get(error, "contains"), i, word) {
    char *sought = message_squeeze(json_string_value(word));
    if (all && !strstr(said, sought))
      all = verdict_fail(v, "the message lacks `%s`", json_string_value(word));
    free(sought);
  }
  free(said);
  return all;
}

static bool is_refused(const Trial *t, const json_t *spec, int status,
                       Verdict *v) {
  const char *run[] = {"run", t->program, NULL};
  const json_t *error = json_object_get(spec, "error");
  return trial_run(t, v, status, run) &&
         (t->formatted || is_located(t, error, v)) && has_words(error, v);
}

static json_t *load_spec(const Trial *t) {
  char path[512];
  snprintf(path, sizeof path, "%s.json", t->expected);
  return json_load_file(path, 0, NULL);
}

static const char *expectation(const json_t *spec) {
  const char *expect = json_string_value(json_object_get(spec, "expect"));
  return expect ? expect : "";
}

bool lang_expects_refusal(const Trial *t) {
  json_t *spec = load_spec(t);
  const char *expect = expectation(spec);
  bool refusal =
      !strcmp(expect, "parse-error") || !strcmp(expect, "type-error");
  json_decref(spec);
  return refusal;
}

bool lang_trial(const Trial *t, Verdict *v) {
  json_t *spec = load_spec(t);
  const char *expect = expectation(spec);
  if (!*expect) {
    verdict_fail(v, "no expectation in %s.json", t->expected);
  } else if (!strcmp(expect, "ok")) {
    v->passed = succeeds(t, spec, v);
  } else {
    int status = strcmp(expect, "runtime-error") ? 1 : 2;
    v->passed = is_refused(t, spec, status, v);
  }
  json_decref(spec);
  return v->passed;
}
