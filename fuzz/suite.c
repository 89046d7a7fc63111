/* The language suite on both machines.  A case that must run has to reach the
 * expected value; one that must fail at run time has to fail at the expected
 * line.  Cases that the checker must refuse are skipped.
 *
 * So the suite's expectations, which come from outside, test the step machine,
 * and the step machine tests the VM. */
#include "fuzz/suite.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/duel.h"
#include "tests/conformance/value.h"
#include "tests/process.h"

static const uint64_t MAX_STEPS = 200000000;

enum { PATH_SIZE = 1024 };

/* The last line of a transcript.  The value of the last expression, or the
 * error. */
static const char *last_line(const StrBuf *transcript) {
  const char *text = strbuf_text(transcript);
  const char *at = text + transcript->len;
  if (at > text) at--;
  while (at > text && at[-1] != '\n') at--;
  return at;
}

/* With the suite's own tolerances (tests/conformance/value.h). */
static bool has_result(const Duel *duel, const json_t *want) {
  json_t *got = json_loads(last_line(&duel->step), 0, NULL);
  Difference d;
  bool same = got && value_agrees(got, want, &d);
  json_decref(got);
  return same;
}

/* A fault in the library is located in the library; the suite names the line of
 * the call in the case's own file.  That is checked only where the fault lies
 * in the case's own file; elsewhere, that it failed must do. */
static bool has_fault(const Duel *duel, const json_t *error, const char *path) {
  if (!duel->failed) return false;
  const char *line = last_line(&duel->step);
  if (!strstr(line, path)) return true;
  long at = 0;
  sscanf(strrchr(line, ':'), ":%ld", &at);
  return at == json_integer_value(json_object_get(error, "line"));
}

/* The reason why the case fails, or NULL. */
static const char *judge(const Duel *duel, const json_t *spec,
                         const char *path) {
  const char *expect = json_string_value(json_object_get(spec, "expect"));
  bool runs = expect && !strcmp(expect, "ok");
  if (!runs && (!expect || strcmp(expect, "runtime-error"))) return NULL;
  if (duel->outcome == DUEL_REFUSED) return "refused";
  if (duel->outcome == DUEL_TOO_LONG) return "too long";
  if (runs && !has_result(duel, json_object_get(spec, "result")))
    return "another value than expected";
  if (!runs && !has_fault(duel, json_object_get(spec, "error"), path))
    return "not the expected error";
  return duel->outcome == DUEL_DIFFERENT ? "the machines differ" : NULL;
}

/* NAME.json says what is expected of NAME.rly. */
static bool run_case(Mem *mem, const char *dir, const char *name) {
  char path[PATH_SIZE], spec_path[PATH_SIZE];
  int stem = (int)(strrchr(name, '.') - name);
  snprintf(spec_path, sizeof spec_path, "%s/%s", dir, name);
  snprintf(path, sizeof path, "%s/%.*s.rly", dir, stem, name);
  json_t *spec = json_load_file(spec_path, 0, NULL);
  Text text;
  if (!spec || !text_read_file(&text, path)) {
    json_decref(spec);
    return printf("%s: cannot be read\n", path), false;
  }
  Duel duel;
  duel_init(&duel, mem, MAX_STEPS);
  duel_run(&duel, path, text.data, text.len);
  const char *why = judge(&duel, spec, path);
  if (why) {
    printf("%.*s: %s\n  step: %.200s\n  vm:   %.200s\n", stem, name, why,
           strbuf_text(&duel.step), strbuf_text(&duel.vm));
  }
  duel_done(&duel);
  text_free(&text);
  json_decref(spec);
  return !why;
}

static int is_spec(const struct dirent *entry) {
  const char *dot = strrchr(entry->d_name, '.');
  return dot && !strcmp(dot, ".json");
}

/* In alphabetical order, so that two runs print the same. */
int suite_run(Mem *mem, const char *dir) {
  struct dirent **entries;
  int count = scandir(dir, &entries, is_spec, alphasort), failed = 0;
  for (int i = 0; i < count; i++) {
    failed += !run_case(mem, dir, entries[i]->d_name);
    free(entries[i]);
  }
  if (count >= 0) free(entries);
  printf("%d cases, %d failed\n", count, failed);
  return count > 0 ? failed : 1;
}
