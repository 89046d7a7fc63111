/* The stepper over every program of the conformance suites: its last state is
 * the VM's result.  It looks at the first steps of each one by one, runs on to
 * the end, goes back and comes to the same end again.  What is compared is a
 * transcript: what was printed, each value as JSON, an error's code and line.
 *
 *   walk_test [STEPS]   leaves out programs of more steps; 0: none
 *
 * `make test` takes the default, `make walk` all.
 *
 * The VM and the step machine have only kernels in common, and the suites'
 * programs use all of the language; so this compares the two on everything that
 * the suites cover, and the record of the stepper with itself. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/sanitizer.h"
#include "lib/handles.h"
#include "stepper/stepper.h"
#include "tests/unit/unit.h"

enum { LOOKED_AT = 150, GONE_BACK = 40, PATH_SIZE = 512 };

/* The address sanitizer is slow: under it only every fourth program runs. */
enum { STRIDE = SANITIZER_ADDRESS ? 4 : 1 };

static uint64_t steps_most = 1000000;

typedef struct Pass {
  rly_context *cx;
  rly_program *program;
  const rly_function *entry;
  StrBuf vm, walked;
  uint64_t steps;
} Pass;

typedef struct Counts {
  int same, refused, left_out;
} Counts;

/* --- Transcripts -------------------------------------------------------- */

static void write_to(void *data, const char *text, size_t len) {
  strbuf_add_len(data, text, len);
}

static void add_error(Pass *p, StrBuf *out, DiagCode code, Span span) {
  Place at = sources_place(&p->cx->sources, span);
  strbuf_addf(out, "%s at %s:%u\n", diag_code_text(code),
              at.file ? at.file->path : "nowhere", at.line);
}

static void add_value(void *pass, rly_value *v) {
  Pass *p = pass;
  char *text = rly_value_json(v);
  strbuf_addf(&p->vm, "%s\n", text);
  rly_text_free(p->cx, text);
}

/* --- The VM ------------------------------------------------------------- */

static rly_session *session_to(Pass *p, StrBuf *out) {
  rly_session_options options = {.write = write_to, .data = out};
  rly_session *s = rly_session_new(p->program, &options);
  assert_non_null(s);
  return s;
}

static void run_vm(Pass *p) {
  rly_session *s = session_to(p, &p->vm);
  rly_value *v = NULL;
  rly_status status = p->entry ? rly_session_call_bound(s, p->entry, &v)
                               : rly_session_run(s, add_value, p);
  if (v) add_value(p, v);
  rly_value_free(v);
  if (status != RLY_OK && s->diags.list.len) {
    const Diag *last = VEC_LAST(&s->diags.list);
    add_error(p, &p->vm, last->code, last->span);
  }
  rly_session_free(s);
}

/* --- The stepper -------------------------------------------------------- */

static bool enough(void *stepper) {
  return steps_most && stepper_number(stepper) > steps_most;
}

static void look(Stepper *st, StepView *view) {
  stepper_view(st, view);
  assert_true(view->says.len > 0);
  assert_true(view->now.lo <= view->now.hi);
  assert_true(view->now.hi <= view->now.text.len);
}

static void note(Pass *p, Stepper *st, StepStop stop) {
  StepMachine *m = stepper_machine(st);
  if (stop == STOP_VALUE) {
    step_print_json(m, &p->walked, step_result(m));
    strbuf_add_char(&p->walked, '\n');
  } else if (stop == STOP_ERROR) {
    add_error(p, &p->walked, step_fault(m)->code, step_fault(m)->span);
  }
}

static StepStop walk_on(Pass *p, Stepper *st) {
  StepView view;
  stepper_view_init(&view, &p->cx->mem);
  StepStop stop = STOP_STEP;
  for (int i = 0; i < LOOKED_AT && stop == STOP_STEP; i++) {
    stop = stepper_move(st, MOVE_STEP);
    if (stop != STOP_END) look(st, &view);
    note(p, st, stop);
  }
  while (stop == STOP_STEP || stop == STOP_VALUE) {
    stop = stepper_move(st, MOVE_RUN);
    note(p, st, stop);
  }
  stepper_view_done(&view);
  return stop;
}

/* Back, and forth to the same end. */
static void walk_back(Pass *p, Stepper *st) {
  StrBuf before = p->walked;
  uint64_t end = stepper_number(st);
  strbuf_init(&p->walked, &p->cx->mem);
  int gone = 0;
  while (gone < GONE_BACK && stepper_move(st, MOVE_BACK) != STOP_START) gone++;
  StepStop stop = STOP_STEP;
  while (gone-- > 0) {
    stop = stepper_move(st, MOVE_STEP);
    note(p, st, stop);
  }
  assert_int_equal(stepper_number(st), end);
  size_t n = p->walked.len;
  assert_true(n <= before.len);
  if (n) {
    assert_string_equal(strbuf_text(&p->walked),
                        strbuf_text(&before) + before.len - n);
  }
  strbuf_done(&p->walked);
  p->walked = before;
}

/* False when the program takes too many steps. */
static bool walk(Pass *p) {
  rly_session *s = session_to(p, &p->walked);
  Stepper *st = session_stepper(s, NULL);
  assert_non_null(st);
  stepper_when_to_stop(st, enough, st);
  if (p->entry) assert_int_equal(session_step_call(s, st, p->entry), RLY_OK);
  StepStop stop = walk_on(p, st);
  bool done = stop != STOP_ASKED;
  if (done) walk_back(p, st);
  p->steps = stepper_number(st);
  stepper_free(st);
  rly_session_free(s);
  return done;
}

/* --- A program ---------------------------------------------------------- */

static bool load(Pass *p, const char *path, const char *inputs) {
  rly_options options = {.threads = 1};
  p->cx = rly_context_new(&options);
  p->program = rly_program_new(p->cx);
  strbuf_init(&p->vm, &p->cx->mem);
  strbuf_init(&p->walked, &p->cx->mem);
  if (rly_program_add_file(p->program, path, 0) != RLY_OK) return false;
  if (!rly_program_has_expressions(p->program))
    p->entry = rly_program_function(p->program, "main");
  if (inputs && rly_program_bind_file(p->program, inputs) != RLY_OK)
    fail_msg("%s: its inputs cannot be bound", path);
  return true;
}

static void run_program(const char *path, const char *inputs, Counts *n) {
  Pass p = {.cx = NULL};
  if (!load(&p, path, inputs)) {
    n->refused++;
  } else if (!walk(&p)) {
    print_message("# %s: more than %llu steps\n", path,
                  (unsigned long long)steps_most);
    n->left_out++;
  } else {
    run_vm(&p);
    if (strcmp(strbuf_text(&p.vm), strbuf_text(&p.walked)))
      fail_msg("%s:\nVM:      %sstepper: %s", path, strbuf_text(&p.vm),
               strbuf_text(&p.walked));
    n->same++;
  }
  strbuf_done(&p.vm);
  strbuf_done(&p.walked);
  rly_program_free(p.program);
  rly_context_free(p.cx);
}

static int is_program(const struct dirent *entry) {
  const char *dot = strrchr(entry->d_name, '.');
  return dot && !strcmp(dot, ".rly");
}

static Counts run_suite(const char *dir, bool inputs) {
  struct dirent **entries;
  int count = scandir(dir, &entries, is_program, alphasort);
  assert_true(count > 0);
  Counts n = {0};
  for (int i = 0; i < count; i++) {
    char path[PATH_SIZE], file[PATH_SIZE];
    int stem = (int)strlen(entries[i]->d_name) - 4;
    snprintf(path, sizeof path, "%s/%s", dir, entries[i]->d_name);
    snprintf(file, sizeof file, "%s/%.*s.safetensors", dir, stem,
             entries[i]->d_name);
    if (i % STRIDE == 0) run_program(path, inputs ? file : NULL, &n);
    free(entries[i]);
  }
  free(entries);
  print_message("# %s: %d the same, %d refused, %d left out\n", dir, n.same,
                n.refused, n.left_out);
  return n;
}

/* --- Suites ------------------------------------------------------------- */

static void test_lang(void **state) {
  (void)state;
  assert_true(run_suite("tests/conformance/lang", false).same > 100 / STRIDE);
}

static void test_ops(void **state) {
  (void)state;
  Counts n = run_suite("tests/conformance/ops", true);
  assert_int_equal(n.refused, 0);
  assert_int_equal(n.left_out, 0);
}

int main(int argc, char **argv) {
  if (argc > 1) steps_most = strtoull(argv[1], NULL, 10);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lang),
      cmocka_unit_test(test_ops),
  };
  return RUN_TESTS(tests);
}
