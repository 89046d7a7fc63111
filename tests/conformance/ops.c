/* Operator cases: the tensors that a program writes are those of the file, in
 * number, dtype, shape and value. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/conformance/tensors.h"
#include "tests/conformance/trial.h"

static double number_meta(const TensorFile *f, const char *key) {
  const char *text = tensor_file_meta(f, key);
  return text ? strtod(text, NULL) : 0;
}

/* The first element that differs; `count` when none does. */
static size_t first_difference(const TensorView *got, const TensorView *want,
                               double rtol, double atol) {
  size_t i = 0;
  if (tensor_is_float(want)) {
    while (i < want->count && float_agrees(tensor_float(got, i),
                                           tensor_float(want, i), rtol, atol))
      i++;
  } else {
    size_t w = want->width;
    while (i < want->count && !memcmp(got->data + i * w, want->data + i * w, w))
      i++;
  }
  return i;
}

static bool same_data(const char *name, const TensorView *got,
                      const TensorView *want, const TensorFile *rules,
                      Verdict *v) {
  size_t i = first_difference(got, want, number_meta(rules, "rtol"),
                              number_meta(rules, "atol"));
  if (i == want->count) return true;
  if (!tensor_is_float(want))
    return verdict_fail(v, "%s: element %zu differs", name, i);
  return verdict_fail(v, "%s: element %zu is %.9g, not %.9g", name, i,
                      tensor_float(got, i), tensor_float(want, i));
}

static bool same_tensor(const char *name, const TensorView *got,
                        const TensorView *want, const TensorFile *rules,
                        Verdict *v) {
  if (strcmp(got->dtype, want->dtype)) {
    return verdict_fail(v, "%s: dtype %s, not %s", name, got->dtype,
                        want->dtype);
  }
  if (!json_equal(got->shape, want->shape)) {
    char *is = json_dumps(got->shape, 0), *not = json_dumps(want->shape, 0);
    verdict_fail(v, "%s: shape %s, not %s", name, is, not );
    free(is);
    free(not );
    return false;
  }
  const char *check = tensor_file_meta(rules, "check");
  if (check && !strcmp(check, "shape")) return true;
  return same_data(name, got, want, rules, v);
}

static bool same_results(const TensorFile *got, const TensorFile *want,
                         Verdict *v) {
  char name[24];
  size_t n = 0;
  TensorView ours, theirs;
  for (;; n++) {
    snprintf(name, sizeof name, "out%zu", n);
    if (!tensor_file_find(want, name, &theirs)) break;
    if (!tensor_file_find(got, name, &ours))
      return verdict_fail(v, "no tensor %s in the outputs", name);
    if (!same_tensor(name, &ours, &theirs, want, v)) return false;
  }
  size_t count = tensor_file_count(got);
  return count == n || verdict_fail(v, "%zu results, not %zu", count, n);
}

static bool compare_files(const char *got, const char *want, Verdict *v) {
  TensorFile ours, theirs;
  if (!tensor_file_read(&theirs, want))
    return verdict_fail(v, "cannot read %s", want);
  bool same = tensor_file_read(&ours, got)
                  ? same_results(&ours, &theirs, v)
                  : verdict_fail(v, "no outputs written");
  tensor_file_free(&ours);
  tensor_file_free(&theirs);
  return same;
}

bool ops_trial(const Trial *t, Verdict *v) {
  char inputs[512], outputs[512];
  snprintf(inputs, sizeof inputs, "%s.safetensors", t->expected);
  snprintf(outputs, sizeof outputs, "%s.safetensors", t->scratch);
  unlink(outputs);
  const char *run[] = {"run",       t->program, "--inputs", inputs,
                       "--outputs", outputs,    NULL};
  v->passed = trial_run(t, v, 0, run) && compare_files(outputs, inputs, v);
  unlink(outputs);
  return v->passed;
}
