/* rly import: an ONNX model as a program.
 *
 *   rly import MODEL.onnx [-o NAME]   NAME.rly, laid out, and NAME.safetensors
 *   rly import --stateful MODEL.onnx  the same with its state in cells
 *   rly import --test DIR...          ONNX's backend tests: each directory has
 *                                     model.onnx and test_data_set_N/ with
 *                                     input_I.pb and output_I.pb
 *
 * A test passes if every output has the dtype and the shape of the expected one
 * and each element is near it, |a - b| <= 1e-7 + 1e-3 |b|, as in
 * onnx.backend.test; integers and bools are equal.  Each test has a context of
 * its own, with the limits of the command line. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/inside.h"
#include "repl/cli.h"
#include "repl/files.h"
#include "repl/guard.h"

/* --- Writing a model as a program ----------------------------------------- */

static bool write_text(Host *h, const char *path, const OnnxModel *model) {
  Program *p = h->program->ir;
  Unit *unit = program_parse_text(h->program, path, strbuf_text(&model->text),
                                  model->text.len);
  StrBuf text;
  strbuf_init(&text, p->mem);
  if (unit) unit_print(p, unit, &text);
  bool fine =
      unit && !mem_exhausted(p->mem) && file_replace(h->cx, path, &text);
  strbuf_done(&text);
  return fine;
}

/* Does the text begin with the comment that import's own begin with?  One that
 * cannot be read is not there to be lost. */
static bool is_imported(const char *path) {
  char line[256] = "";
  FILE *f = fopen(path, "r");
  bool read = f && fgets(line, sizeof line, f);
  if (f) fclose(f);
  return !read || (!strncmp(line, "// ", 3) && strstr(line, ONNX_TEXT_SAYS));
}

/* Neither what was read nor what somebody wrote by hand is written over. */
static bool may_write(Host *h, const char *text, const char *weights) {
  if (!h->cli->output_path && !is_imported(text)) {
    host_usage(h,
               "%s is there, and is no text of rly import: -o NAME says how "
               "the program is to be called",
               text);
    return false;
  }
  return !files_check_output(h, text, "the program") &&
         !files_check_output(h, weights, "its weights");
}

/* What the checker refuses is written all the same, so that it can be read and
 * mended. */
static int import_file(Host *h) {
  const Cli *cli = h->cli;
  if (cli->words.count != 1)
    return host_usage(h, "import needs one model; or --test and directories");
  const char *path = cli->words.items[0];
  Arena *arena = &h->program->arena;
  size_t stem = strlen(path) - (path_is_model(path) ? 5 : 0);
  const char *name =
      cli->output_path ? cli->output_path : arena_strndup(arena, path, stem);
  const char *text = arena_printf(arena, "%s.rly", name);
  const char *weights = arena_printf(arena, "%s.safetensors", name);
  guard_begin(cli, "importing");
  OnnxState state = {cli->stateful, cli->state.count, cli->state.items};
  bool stateful = state.recurrent || state.pair_count;
  OnnxModel *model =
      program_read_model(h->program, path, stateful ? &state : NULL);
  bool fine =
      model && may_write(h, text, weights) && write_text(h, text, model);
  if (fine && model->weights->tensors.len)
    fine = tensors_write(h->cx, model->weights, weights, &h->cx->diags);
  onnx_model_free(model);
  rly_status status =
      fine ? rly_program_add_file(h->program, text, 0) : RLY_REFUSED;
  guard_end();
  if (mem_exhausted(h->program->ir->mem)) return host_out_of_memory(h);
  host_report(h);
  return exit_status(status);
}

/* --- Comparing with what a test expects ----------------------------------- */

typedef struct Case {
  Host h;
  StrBuf why; /* it failed; "": it did not */
  OnnxModel *model;
  Arena arena;
} Case;

static bool is_near(double a, double b) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  return a == b || fabs(a - b) <= 1e-7 + 1e-3 * fabs(b);
}

/* The bytes of strings lie along the last axis, with zeros after them. */
static bool strings_equal(const Tensor *a, const Tensor *b) {
  int last = a->rank - 1;
  if (a->rank != b->rank || a->rank < 1) return false;
  int64_t n = a->shape[last], m = b->shape[last], most = n > m ? n : m;
  int64_t count = 1;
  for (int i = 0; i < last; i++) {
    if (a->shape[i] != b->shape[i]) return false;
    count *= a->shape[i];
  }
  for (int64_t i = 0; i < count; i++)
    for (int64_t k = 0; k < most; k++)
      if ((k < n ? tensor_i64_at(a, i * n + k) : 0) !=
          (k < m ? tensor_i64_at(b, i * m + k) : 0))
        return false;
  return true;
}

static bool compare_tensor(Case *c, rly_value *found, const Tensor *want,
                           bool strings) {
  StrBuf *why = &c->why;
  Tensor got = {.dtype = want->dtype};
  const char *dtype = rly_value_dtype(found);
  if (!dtype || strcmp(dtype, dtype_name((DType)want->dtype))) {
    strbuf_addf(why, "expected %s, found %s", dtype_name((DType)want->dtype),
                dtype ? dtype : "no tensor");
    return false;
  }
  int64_t shape[RANK_MAX];
  int rank = rly_value_rank(found);
  for (int i = 0; i < rank; i++) shape[i] = rly_value_dim(found, i);
  got = tensor_on_data((DType)want->dtype, rank, shape,
                       (void *)rly_value_elements(found));
  if (strings) {
    if (strings_equal(&got, want)) return true;
    strbuf_add(why, "expected other strings");
    return false;
  }
  if (!shapes_equal(&got, want)) {
    strbuf_add(why, "expected shape ");
    shape_print(why, want->rank, want->shape);
    strbuf_add(why, ", found ");
    shape_print(why, rank, shape);
    return false;
  }
  bool real = dtype_is_float((DType)want->dtype);
  for (int64_t i = 0, n = tensor_count(want); i < n; i++) {
    bool same = real ? is_near(tensor_f64_at(&got, i), tensor_f64_at(want, i))
                     : tensor_i64_at(&got, i) == tensor_i64_at(want, i);
    if (same) continue;
    strbuf_addf(why, "element %lld: expected %.9g, found %.9g", (long long)i,
                tensor_f64_at(want, i), tensor_f64_at(&got, i));
    return false;
  }
  return true;
}

static bool compare(Case *c, rly_value *found, const OnnxValue *want);

/* The items of Cons(a, Cons(b, Nil)). */
static bool compare_list(Case *c, rly_value *found, const OnnxValue *want) {
  rly_value *at = rly_value_keep(found);
  int i = 0;
  bool fine = true;
  while (fine && at && rly_value_field_count(at) == 2) {
    rly_value *item = rly_value_field(at, 0), *rest = rly_value_field(at, 1);
    fine = item && i < want->count && compare(c, item, &want->items[i]);
    i++;
    rly_value_free(item);
    rly_value_free(at);
    at = rest;
  }
  rly_value_free(at);
  if (fine && i == want->count) return true;
  if (!c->why.len)
    strbuf_addf(&c->why, "expected %d items, found another number",
                want->count);
  return false;
}

static bool compare(Case *c, rly_value *found, const OnnxValue *want) {
  if (want->tensor)
    return compare_tensor(c, found, want->tensor, want->strings);
  if (!want->none && !want->some) return compare_list(c, found, want);
  rly_value *item = rly_value_field(found, 0);
  bool fine = !item == want->none;
  if (!fine) strbuf_add(&c->why, "an optional with and one without a value");
  if (fine && item) fine = compare(c, item, &want->items[0]);
  rly_value_free(item);
  return fine;
}

/* --- Running a test ------------------------------------------------------- */

/* The value as an expression over params, which are declared and bound. Tensors
 * inside others are of any shape. */
static void add_value(Case *c, const OnnxValue *v, const char *name,
                      bool inside, StrBuf *items, StrBuf *out) {
  if (v->tensor) {
    strbuf_addf(items, "param @%s: ", name);
    tensor_print_type(items, v->tensor);
    strbuf_add(items, ";\n");
    strbuf_addf(out, inside ? "@onnx_any(@%s)" : "@%s", name);
    rly_tensor *t = tensor_handle(c->h.cx, v->tensor);
    if (t) rly_program_bind_tensor(c->h.program, name, t);
    rly_tensor_free(t);
    return;
  }
  if (v->none) strbuf_add(out, "None");
  if (v->some) strbuf_add(out, "Some(");
  bool list = !v->none && !v->some;
  for (int i = 0; i < v->count; i++) {
    if (list) strbuf_add(out, "Cons(");
    add_value(c, &v->items[i], arena_printf(&c->arena, "%s_%d", name, i), true,
              items, out);
    if (list) strbuf_add(out, ", ");
  }
  if (list) strbuf_add(out, "Nil");
  if (v->some) strbuf_add_char(out, ')');
  for (int i = 0; list && i < v->count; i++) strbuf_add_char(out, ')');
}

/* A function without parameters that calls @main with the test's inputs. */
static bool add_call(Case *c, const char *folder, int set) {
  StrBuf items, call;
  strbuf_init(&items, c->h.program->ir->mem);
  strbuf_init(&call, c->h.program->ir->mem);
  strbuf_addf(&call, "def @backend_test_%d() {\n", set);
  bool fine = true;
  Heap *heap = &c->h.cx->heap;
  for (int i = 0; i < c->model->input_count && fine; i++) {
    const OnnxPort *port = &c->model->inputs[i];
    const char *path = arena_printf(&c->arena, "%s/input_%d.pb", folder, i);
    OnnxValue v;
    fine = onnx_value_read(path, &port->type, heap, &c->arena, &v,
                           &c->h.cx->diags);
    if (!fine) break;
    strbuf_addf(&call, "  let %%in%d: %s = ", i,
                v.tensor ? "_" : port->type.text);
    add_value(c, &v, arena_printf(&c->arena, "backend_%d_%d", set, i), false,
              &items, &call);
    strbuf_add(&call, ";\n");
    onnx_value_drop(heap, &v);
  }
  strbuf_add(&call, "  @main(");
  for (int i = 0; i < c->model->input_count; i++)
    strbuf_addf(&call, "%s%%in%d", i ? ", " : "", i);
  strbuf_add(&call, ")\n}\n");
  strbuf_add_len(&items, strbuf_text(&call), call.len);
  if (fine)
    fine = rly_program_add_text(c->h.program, folder, strbuf_text(&items),
                                items.len, 0) == RLY_OK;
  strbuf_done(&items);
  strbuf_done(&call);
  return fine;
}

static bool compare_outputs(Case *c, const char *folder, rly_value *result) {
  Heap *heap = &c->h.cx->heap;
  bool fine = true;
  int n = c->model->output_count;
  for (int i = 0; i < n && fine; i++) {
    const char *path = arena_printf(&c->arena, "%s/output_%d.pb", folder, i);
    OnnxValue want;
    fine = onnx_value_read(path, &c->model->outputs[i].type, heap, &c->arena,
                           &want, &c->h.cx->diags);
    if (!fine) break;
    rly_value *found =
        n == 1 ? rly_value_keep(result) : rly_value_field(result, i);
    fine = found && compare(c, found, &want);
    rly_value_free(found);
    onnx_value_drop(heap, &want);
  }
  return fine;
}

static bool run_set(Case *c, const char *folder, int set) {
  if (!add_call(c, folder, set)) return false;
  rly_session *s = host_session(&c->h, false);
  if (!s) return false;
  rly_value *result;
  rly_status status = rly_session_call(
      s, arena_printf(&c->arena, "backend_test_%d", set), 0, NULL, &result);
  bool fine = status == RLY_OK && compare_outputs(c, folder, result);
  if (status == RLY_OK) rly_value_free(result);
  rly_diagnostic d;
  if (!fine && !c->why.len && rly_session_diagnostic_get(s, 0, &d))
    diag_add_short(&c->why, d.code, d.message);
  rly_session_diagnostics_clear(s);
  host_session_free(&c->h, s);
  return fine;
}

static bool run_sets(Case *c, const char *dir) {
  const char *path = arena_printf(&c->arena, "%s/model.onnx", dir);
  c->model = program_read_model(c->h.program, path, NULL);
  if (!c->model) return false;
  StrBuf *text = &c->model->text;
  if (rly_program_add_text(c->h.program, path, strbuf_text(text), text->len,
                           0) != RLY_OK)
    return false;
  struct stat is;
  for (int set = 0;; set++) {
    const char *folder =
        arena_printf(&c->arena, "%s/test_data_set_%d", dir, set);
    if (stat(folder, &is)) {
      if (!set) strbuf_add(&c->why, "it has no test_data_set_0");
      return set > 0;
    }
    if (!run_set(c, folder, set)) return false;
  }
}

/* --- Many tests ----------------------------------------------------------- */

typedef struct Tally {
  const char *op;
  int passed, all;
} Tally;

typedef struct Tests {
  const Cli *cli;
  Host *h;
  VEC(Tally) tallies;
  Arena arena;
  int passed, all;
  bool now; /* did the one at hand pass? */
} Tests;

static void count_op(void *data, const char *op) {
  Tests *t = data;
  size_t i = 0;
  while (i < t->tallies.len && strcmp(t->tallies.data[i].op, op)) i++;
  if (i == t->tallies.len)
    VEC_PUSH(&t->tallies,
             (Tally){.op = arena_strndup(&t->arena, op, strlen(op))});
  if (i == t->tallies.len) return;
  t->tallies.data[i].all++;
  t->tallies.data[i].passed += t->now;
}

static void print_test(Tests *t, const char *name, const char *why) {
  StrBuf b;
  strbuf_init(&b, t->arena.mem);
  if (t->cli->json) {
    strbuf_addf(&b, "%s{\"test\": \"",
                t->all > 1 ? ",\n " : "{\"tests\": [\n ");
    strbuf_add_escaped(&b, name, strlen(name));
    strbuf_addf(&b, "\", \"passed\": %s", t->now ? "true" : "false");
    if (!t->now) {
      strbuf_add(&b, ", \"why\": \"");
      strbuf_add_escaped(&b, why, strlen(why));
      strbuf_add_char(&b, '"');
    }
    strbuf_add_char(&b, '}');
  } else {
    strbuf_addf(&b, t->now ? "ok %s\n" : "not ok %s: %s\n", name, why);
  }
  host_write(t->h, strbuf_text(&b), b.len);
  strbuf_done(&b);
}

static void run_test(Tests *t, const char *dir) {
  Case c = {.model = NULL};
  t->all++;
  if (!host_init(&c.h, t->cli)) return;
  arena_init(&c.arena, &c.h.cx->mem);
  strbuf_init(&c.why, &c.h.cx->mem);
  t->now = run_sets(&c, dir);
  t->passed += t->now;
  rly_diagnostic d;
  if (!t->now && !c.why.len && rly_diagnostic_get(c.h.cx, 0, &d))
    diag_add_short(&c.why, d.code, d.message);
  if (!t->now && !c.why.len) strbuf_add(&c.why, "a limit was reached");
  size_t len = strlen(dir);
  while (len && dir[len - 1] == '/') len--;
  size_t from = len;
  while (from && dir[from - 1] != '/') from--;
  print_test(t, arena_strndup(&t->arena, dir + from, len - from),
             strbuf_text(&c.why));
  onnx_each_op(arena_printf(&c.arena, "%s/model.onnx", dir), &c.h.cx->mem,
               &c.h.cx->diags, count_op, t);
  onnx_model_free(c.model);
  strbuf_done(&c.why);
  arena_done(&c.arena);
  rly_diagnostics_clear(c.h.cx);
  host_done(&c.h);
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const Tally *)a)->op, ((const Tally *)b)->op);
}

static void print_tallies(Tests *t) {
  StrBuf b;
  strbuf_init(&b, t->arena.mem);
  if (t->tallies.len)
    qsort(t->tallies.data, t->tallies.len, sizeof(Tally), by_name);
  if (t->cli->json) strbuf_add(&b, "],\n \"operators\": {");
  for (size_t i = 0; i < t->tallies.len; i++) {
    const Tally *at = &t->tallies.data[i];
    if (t->cli->json) {
      strbuf_addf(&b, "%s\"", i ? ", " : "");
      strbuf_add_escaped(&b, at->op, strlen(at->op));
      strbuf_addf(&b, "\": [%d, %d]", at->passed, at->all);
    } else strbuf_addf(&b, "# %s: %d of %d\n", at->op, at->passed, at->all);
  }
  if (t->cli->json)
    strbuf_addf(&b, "},\n \"passed\": %d, \"all\": %d}\n", t->passed, t->all);
  else strbuf_addf(&b, "# %d of %d tests pass\n", t->passed, t->all);
  host_write(t->h, strbuf_text(&b), b.len);
  strbuf_done(&b);
}

static int import_tests(Host *h) {
  const TextList *dirs = &h->cli->words;
  if (!dirs->count) return host_usage(h, "--test needs directories");
  if (h->cli->output_path || h->cli->stateful || h->cli->state.count)
    return host_usage(h,
                      "--test writes no program: without -o, --stateful "
                      "and --state");
  Tests t = {.cli = h->cli, .h = h};
  arena_init(&t.arena, &h->cx->mem);
  VEC_INIT(&t.tallies, &h->cx->mem);
  for (int i = 0; i < dirs->count; i++) run_test(&t, dirs->items[i]);
  print_tallies(&t);
  if (t.passed < t.all) {
    char text[80];
    snprintf(text, sizeof text, "%d of %d tests failed", t.all - t.passed,
             t.all);
    rly_diagnostic_add(h->cx, "E0807", text);
    host_report_aside(h);
  }
  VEC_DONE(&t.tallies);
  arena_done(&t.arena);
  return t.passed == t.all ? 0 : EXIT_REFUSED;
}

static int import_main(Host *h) {
  return h->cli->import_test ? import_tests(h) : import_file(h);
}

int command_import(const Cli *cli) { return host_run(cli, import_main); }
