/* Looks through the data of a run of `rly train`.  Checksums of the params and
 * the examples tell a run that goes on whether they are those that it began
 * with.  Where a loss is no number, the examples and the weights are searched
 * for one that is none.  Values of any structure are gone through tensor by
 * tensor, as the sums of a team are, too (train_team.c). */
#include <math.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "repl/guard.h"
#include "repl/train.h"

/* --- Tensors in values --------------------------------------------------- */

bool train_values_push(TrainValues *all, rly_value *v) {
  if (v && VEC_RESERVE(all, 1)) {
    VEC_PUSH(all, v);
    return true;
  }
  rly_value_free(v);
  return false;
}

void train_values_free(TrainValues *all) {
  while (all->len) rly_value_free(VEC_POP(all));
  VEC_DONE(all);
}

/* The fields of a value are taken from the stack's top, so that a list needs no
 * more room than one of its items. */
bool train_each_tensor(const Training *t, rly_value *v,
                       bool (*see)(void *data, rly_value *tensor), void *data) {
  TrainValues all;
  VEC_INIT(&all, t->h->program->mem);
  bool ok = train_values_push(&all, rly_value_keep(v));
  while (ok && all.len) {
    rly_value *top = VEC_POP(&all);
    if (rly_value_kind(top) == RLY_TENSOR) ok = see(data, top);
    else
      for (int i = rly_value_field_count(top) - 1; ok && i >= 0; i--)
        ok = train_values_push(&all, rly_value_field(top, i));
    rly_value_free(top);
  }
  train_values_free(&all);
  return ok;
}

/* --- Checksums ----------------------------------------------------------- */

/* Ctrl-C is looked for after so many bytes, which take some milliseconds. */
enum { SUM_AT_ONCE = 1 << 24 };

typedef struct Sum {
  XXH3_state_t state;
  bool stopped; /* by Ctrl-C */
} Sum;

/* Adds the dtype, the shape and the elements. */
static bool see_sum(void *data, rly_value *tensor) {
  Sum *sum = data;
  XXH3_state_t *state = &sum->state;
  const char *dtype = rly_value_dtype(tensor);
  const uint8_t *elements = rly_value_elements(tensor);
  if (!dtype || !elements) return false;
  XXH3_64bits_update(state, dtype, strlen(dtype) + 1);
  for (int i = 0; i < rly_value_rank(tensor); i++) {
    int64_t dim = rly_value_dim(tensor, i);
    XXH3_64bits_update(state, &dim, sizeof dim);
  }
  size_t size = (size_t)dtype_size(dtype_find(dtype, strlen(dtype)));
  size_t left = (size_t)rly_value_count(tensor) * size;
  while (left && !(sum->stopped = host_was_interrupted())) {
    size_t n = left < SUM_AT_ONCE ? left : SUM_AT_ONCE;
    XXH3_64bits_update(state, elements, n);
    elements += n;
    left -= n;
  }
  return !sum->stopped;
}

/* 0 or an exit status. */
static int add_sum(Training *t, const char *name, size_t len, rly_value *v) {
  Sum sum = {.stopped = false};
  XXH3_64bits_reset(&sum.state);
  bool whole = v && train_each_tensor(t, v, see_sum, &sum);
  if (whole)
    strbuf_addf(&t->sums, "%.*s %016llx\n", (int)len, name,
                (unsigned long long)XXH3_64bits_digest(&sum.state));
  else if (sum.stopped)
    rly_diagnostic_add(t->h->cx, "E0704",
                       "interrupted while the checksum of the examples was "
                       "computed, before the first step");
  return whole ? 0 : sum.stopped ? EXIT_INTERRUPTED : host_out_of_memory(t->h);
}

int train_sum_inputs(Training *t) {
  rly_value *all;
  rly_status status =
      rly_session_call(t->session, "train.inputs", 0, NULL, &all);
  if (status != RLY_OK) return exit_status(status);
  int code = 0;
  guard_begin(t->h->cli, "reading the examples");
  const char *name = strbuf_text(&t->inputs);
  for (int i = 0; !code && *name; i++) {
    size_t len = strcspn(name, "\n");
    rly_value *v = rly_value_field(all, i);
    code = add_sum(t, name, len, v);
    rly_value_free(v);
    name += len + 1;
  }
  guard_end();
  rly_value_free(all);
  return code;
}

int train_sum_weights(Training *t) {
  static const char name[] = "train.learned";
  rly_value *v;
  rly_status status = rly_session_call(t->session, name, 0, NULL, &v);
  if (status != RLY_OK) return exit_status(status);
  guard_begin(t->h->cli, "reading the weights");
  int code = add_sum(t, name, strlen(name), v);
  guard_end();
  rly_value_free(v);
  return code;
}

/* --- No number ----------------------------------------------------------- */

/* The first element that is NaN, or the first that is infinite. */
typedef struct NoNumber {
  bool nan;      /* which of the two is searched for */
  rly_value *in; /* the tensor that has one, owned; NULL: none has */
  int64_t at;    /* row-major */
  double value;
} NoNumber;

static bool see_no_number(void *data, rly_value *tensor) {
  NoNumber *n = data;
  const char *name = rly_value_dtype(tensor);
  DType dtype = name ? dtype_find(name, strlen(name)) : DTYPE_NONE;
  if (n->in || dtype == DTYPE_NONE || !dtype_is_float(dtype)) return true;
  const uint8_t *elements = rly_value_elements(tensor);
  if (!elements) return false;
  size_t size = (size_t)dtype_size(dtype);
  int64_t count = rly_value_count(tensor);
  for (int64_t i = 0; i < count; i++) {
    double x =
        bits_to_f64(dtype, bits_load(dtype, elements + (size_t)i * size));
    if (n->nan ? !isnan(x) : !isinf(x)) continue;
    n->in = rly_value_keep(tensor);
    n->at = i;
    n->value = x;
    return true;
  }
  return true;
}

/* Searches field `field` of the value. */
static NoNumber find_no_number(const Training *t, rly_value *v, int field,
                               bool nan) {
  NoNumber n = {.nan = nan};
  rly_value *part = rly_value_field(v, field);
  if (part) train_each_tensor(t, part, see_no_number, &n);
  rly_value_free(part);
  return n;
}

/* Writes the place of the element as `[row, ...]`.  `rows` has the numbers of
 * the examples in the data, or is (): then the row is that of the batch. */
static void put_place(StrBuf *out, const NoNumber *n, rly_value *rows) {
  int rank = rly_value_rank(n->in);
  int64_t rest = n->at, each = rly_value_count(n->in);
  const int32_t *row = rows && rly_value_kind(rows) == RLY_TENSOR
                           ? rly_value_elements(rows)
                           : NULL;
  strbuf_add(out, rank ? "[" : "");
  for (int k = 0; k < rank; k++) {
    each /= rly_value_dim(n->in, k);
    int64_t i = rest / each;
    rest -= i * each;
    if (!k && row) i = row[i];
    strbuf_addf(out, "%s%lld", k ? ", " : "", (long long)i);
  }
  strbuf_add(out, rank ? "]" : "");
}

static void say_no_number(const Training *t, NoNumber *n, const char *who,
                          rly_value *rows) {
  StrBuf text;
  strbuf_init(&text, t->h->program->mem);
  put_place(&text, n, rows);
  fprintf(stderr, "rly: %s %s%s%s\n", who,
          isnan(n->value) ? "NaN"
          : n->value > 0  ? "inf"
                          : "-inf",
          text.len ? " at " : "", strbuf_text(&text));
  strbuf_done(&text);
  rly_value_free(n->in);
  n->in = NULL;
}

bool train_say_no_number(const Training *t, rly_program *p, rly_session *s,
                         bool nan) {
  rly_value *seen;
  const rly_function *loss = rly_program_function(p, t->loss);
  if (!loss || rly_session_call(s, "train.seen", 0, NULL, &seen) != RLY_OK)
    return false;
  rly_value *examples = rly_value_field(seen, 1);
  rly_value *rows = rly_value_field(seen, 2);
  bool drawn = rows && rly_value_is_unit(rows), found = false;
  for (int i = 0; examples && !found && i < rly_value_field_count(examples);
       i++) {
    NoNumber n = find_no_number(t, examples, i, nan);
    char who[256];
    snprintf(who, sizeof who, "`%s`%s holds",
             rly_function_param_name(loss, i + 1),
             drawn ? ", as `@batch` gives it for this step," : "");
    found = n.in;
    if (found) say_no_number(t, &n, who, rows);
  }
  rly_value_free(rows);
  rly_value_free(examples);
  if (!found) {
    NoNumber n = find_no_number(t, seen, 0, nan);
    found = n.in;
    if (found) say_no_number(t, &n, "before the step, the weights hold", NULL);
  }
  rly_value_free(seen);
  return found;
}
