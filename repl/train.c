/* rly train FILE.rly: what the file's @loss says is learned, step by step.
 *
 *   train_write    the program beside the file: data, steps, epochs (text)
 *   train_open     the run's folder, and what is kept there of it
 *   go_on          @train.step() again and again; the rest is watching
 *
 * All that a step computes is the language: the loss and its gradient, the
 * optimiser, the order of the examples.  This file binds, watches and keeps.
 *
 * Ctrl-C ends the training after the step that is under way, which is kept; a
 * second one interrupts the step, and the state before it is kept, as it is
 * where a step fails: a snapshot of it costs nothing, since the cells hold
 * their old contents until the step writes them.  A loss or a gradient that is
 * no number ends it before the weights change, and the step is done once more
 * where each operator is looked at. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/inside.h"
#include "repl/train.h"

/* --- Interrupts ---------------------------------------------------------- */

static rly_session *volatile running;
static volatile sig_atomic_t asked;

static void on_signal(int signal) {
  (void)signal;
  rly_session *s = running;
  if (asked++ && s) rly_session_interrupt(s);
}

static void catch_signals(rly_session *s) {
  struct sigaction action = {.sa_handler = on_signal};
  running = s;
  asked = 0;
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

/* A signal, or the time limit, ends a step, and not the saving of what came
 * before it: a state may take longer to write than the limit is. */
static rly_options begin_writing(const Training *t) {
  rly_options limits = {.size = sizeof limits};
  running = NULL;
  rly_session_limits(t->session, &limits);
  rly_options patient = limits;
  patient.timeout = 0;
  rly_session_set_limits(t->session, &patient);
  return limits;
}

static void end_writing(const Training *t, const rly_options *limits) {
  rly_session_set_limits(t->session, limits);
  running = t->session;
}

static int keep(Training *t) {
  rly_options limits = begin_writing(t);
  int code = train_keep(t);
  end_writing(t, &limits);
  return code;
}

static int write_weights(Training *t, const char *name) {
  rly_options limits = begin_writing(t);
  int code = train_write_weights(t, name);
  end_writing(t, &limits);
  return code;
}

/* --- Calls --------------------------------------------------------------- */

static rly_status call(rly_session *s, const char *name, rly_value **out) {
  return rly_session_call(s, name, 0, NULL, out);
}

static double float_of(rly_value *v, int i) {
  rly_value *field = rly_value_field(v, i);
  const double *at = field ? rly_value_elements(field) : NULL;
  double x = at ? *at : NAN;
  rly_value_free(field);
  return x;
}

static int32_t int_of(rly_value *v, int i) {
  rly_value *field = i < 0 ? rly_value_keep(v) : rly_value_field(v, i);
  const int32_t *at = field ? rly_value_elements(field) : NULL;
  int32_t n = at ? *at : 0;
  rly_value_free(field);
  return n;
}

static bool bool_of(rly_value *v, int i) {
  rly_value *field = rly_value_field(v, i);
  const bool *at = field ? rly_value_elements(field) : NULL;
  bool b = at && *at;
  rly_value_free(field);
  return b;
}

static rly_status call_int(rly_session *s, const char *name, int64_t *out) {
  rly_value *v;
  rly_status status = call(s, name, &v);
  if (status != RLY_OK) return status;
  *out = int_of(v, -1);
  rly_value_free(v);
  return RLY_OK;
}

/* --- Steps --------------------------------------------------------------- */

static rly_status do_step(Training *t, StepReport *r) {
  rly_value *v;
  double start = clock_seconds();
  rly_status status =
      t->team ? train_team_step(t, &v) : call(t->session, "train.step", &v);
  if (status != RLY_OK) return status;
  *r = (StepReport){.loss = float_of(v, 0),
                    .norm = float_of(v, 1),
                    .rate = float_of(v, 2),
                    .examples = int_of(v, 3),
                    .count = float_of(v, 4),
                    .seconds = clock_seconds() - start};
  rly_value_free(v);
  return RLY_OK;
}

static rly_status end_epoch(Training *t, EpochReport *e) {
  rly_value *v;
  int64_t checks;
  rly_status status = call_int(t->session, "train.checks", &checks);
  if (status != RLY_OK) return status;
  status = t->team && checks ? train_team_epoch(t, checks, &v)
                             : call(t->session, "train.epoch", &v);
  if (status != RLY_OK) return status;
  *e = (EpochReport){.loss = float_of(v, 0),
                     .validation = float_of(v, 1),
                     .validated = checks > 0,
                     .best = bool_of(v, 2),
                     .without = int_of(v, 3),
                     .count = float_of(v, 4)};
  rly_value_free(v);
  return RLY_OK;
}

/* --- The program --------------------------------------------------------- */

/* The file, the text beside it, and what is bound to their params; --print
 * needs nothing bound. */
static int prepare(Training *t, Host *h) {
  rly_status status = host_add_file(h, t->file);
  if (status != RLY_OK) {
    host_report(h);
    return exit_status(status);
  }
  host_report_aside(h);
  VEC_CLEAR(&t->text);
  VEC_CLEAR(&t->settings);
  VEC_CLEAR(&t->inputs);
  t->h = h;
  int code = train_write(t);
  if (code || h->cli->print) return code;
  status = host_bind(h, 1, NULL);
  host_report_aside(h);
  return exit_status(status);
}

static int print_program(Training *t) {
  StrBuf out;
  strbuf_init(&out, t->h->program->mem);
  strbuf_addf(&out, "// What `rly train %s` does.\n\nimport \"%s\";\n\n",
              t->file, t->file);
  host_write(t->h, out.data, out.len);
  host_write(t->h, strbuf_text(&t->text), t->text.len);
  strbuf_done(&out);
  return 0;
}

/* --- No number ----------------------------------------------------------- */

/* Says why a loss or gradient is no number where no operator has made a NaN of
 * numbers: one was read, or numbers became too large. */
static void say_what_is_read(Training *t, Host *h, rly_session *s, bool nan) {
  if (train_say_no_number(t, h->program, s, nan)) return;
  fprintf(stderr,
          "rly: neither the loss nor its gradient makes a NaN from numbers: "
          "%s\n",
          nan ? "one stands in the program or in a param; the examples and the "
                "weights have none"
              : "numbers become too large");
}

/* The loss and its gradient once more, where the run stops at the first NaN:
 * the report tells which operator made it, or whose derivative. */
static void find_nan(Training *t, bool nan) {
  Cli cli = *t->h->cli;
  Host *old = t->h, h;
  cli.limits.nan_stop = true;
  if (!host_init(&h, &cli)) return;
  if (!prepare(t, &h)) {
    rly_session *s = host_session(&h, false);
    rly_value *v = NULL;
    if (s && train_load(t, s, t->step) == RLY_OK &&
        call(s, "train.look", &v) == RLY_OK)
      say_what_is_read(t, &h, s, nan);
    rly_value_free(v);
    if (s) host_session_free(&h, s);
  }
  host_done(&h);
  t->h = old;
}

/* The sum is the same in all processes, so all stop.  The step may have written
 * cells of the program's, and with a rate that is no number the weights. */
static int stop_at_nan(Training *t, const StepReport *r) {
  train_show_end(t);
  rly_status restored = rly_session_restore(t->session, t->before);
  int status = restored == RLY_OK ? keep(t) : exit_status(restored);
  t->agreed = !status;
  if (status || !train_leads(t)) return status ? status : EXIT_RUNTIME;
  bool loss = !isfinite(r->loss), norm = !isfinite(r->norm);
  double x = loss ? r->loss : norm ? r->norm : r->rate;
  fprintf(stderr, "rly: step %lld: the %s is %s; the weights before are kept\n",
          (long long)t->step + 1,
          loss   ? "loss"
          : norm ? "norm of the gradient"
                 : "rate that --schedule gives",
          isnan(x) ? "NaN"
          : x > 0  ? "inf"
                   : "-inf");
  train_show_why(t, TRAIN_NO_NUMBER);
  if (loss || norm) find_nan(t, isnan(x));
  return EXIT_RUNTIME;
}

/* --- The loop ------------------------------------------------------------ */

/* Goes back to before a step that did not come to its end, or whose epoch's end
 * did not, and keeps that: some cells may be written and others not. */
static int break_off(Training *t, rly_status status) {
  int code = exit_status(status);
  train_show_end(t);
  host_report(t->h);
  if (rly_session_restore(t->session, t->before) == RLY_OK) {
    t->step = t->before_step;
    if (t->step && !keep(t)) write_weights(t, "weights");
  }
  train_show_why(t, code == EXIT_INTERRUPTED ? TRAIN_CUT : TRAIN_FAILED);
  return code;
}

/* --- What the file's functions give --------------------------------------- */

/* NULL: there is none of this name. */
static const Global *global_of(const Training *t, const char *name) {
  Program *ir = t->h->program->ir;
  return scope_global(&ir->user, name_of(ir->names, name));
}

/* May the count that a weighted loss gives divide a sum? */
static rly_status check_count(const Training *t, double count, const char *of) {
  if (isfinite(count) && count > 0) return RLY_OK;
  Diag *d = diag_error(
      t->h->program->ir->diags, E0504, global_of(t, t->loss)->span,
      "`@%s` says that the examples of %s count %g", t->loss, of, count);
  diag_hint(d,
            "losses are weighted by what their examples count, as the number "
            "of unmasked tokens: it must be above 0 and finite");
  return RLY_RUNTIME;
}

/* Is what the file's @order gave for the epoch an order of its examples? */
static rly_status check_order(const Training *t) {
  static const char bounds[] = "train.order.bounds";
  if (!global_of(t, bounds)) return RLY_OK;
  rly_value *v;
  rly_status status = call(t->session, bounds, &v);
  if (status != RLY_OK) return status;
  int len = int_of(v, 0), least = int_of(v, 1), most = int_of(v, 2);
  int count = int_of(v, 3);
  rly_value_free(v);
  if (len == count && least >= 0 && most < count) return RLY_OK;
  Diags *diags = t->h->program->ir->diags;
  Span at = global_of(t, "order")->span;
  Diag *d =
      len != count
          ? diag_error(diags, E0504, at,
                       "`@order` gives %d rows for an epoch of %d examples",
                       len, count)
          : diag_error(diags, E0504, at,
                       "`@order` gives row %d, and the examples of an epoch "
                       "are rows 0 to %d",
                       least < 0 ? least : most, count - 1);
  diag_hint(d,
            "`@order(key, n, size)` gives n rows, each from 0 to n - 1, as "
            "@shuffled(%%key, %%n) does");
  return RLY_RUNTIME;
}

/* Only @batch can have given no example at all. */
static rly_status check_step(const Training *t, const StepReport *r) {
  if (r->examples) return check_count(t, r->count, "a step");
  diag_error(t->h->program->ir->diags, E0504, global_of(t, "batch")->span,
             "`@batch` gives no example for a step");
  return RLY_RUNTIME;
}

/* Is there an epoch's end after this step, and may there be further ones? */
static int finish_epoch(Training *t, const StepReport *r, bool *over) {
  EpochReport e;
  rly_status status = end_epoch(t, &e);
  if (status == RLY_OK && e.validated)
    status = check_count(t, e.count, "the validation");
  if (status != RLY_OK) return break_off(t, status);
  train_show_epoch(t, r, &e);
  int code = e.best ? write_weights(t, "best") : 0;
  uint64_t patience = t->h->cli->patience;
  *over = patience && e.without >= (int64_t)patience;
  return code ? code : keep(t);
}

/* Why the run is to end here, as its exit status; 0: it is not.  --timeout is
 * of all steps together, and of each call. */
static int ending(const Training *t) {
  double timeout = t->h->cli->limits.timeout;
  bool late = timeout > 0 && clock_seconds() - t->begun >= timeout;
  return (int)train_agree(t, asked ? EXIT_INTERRUPTED : late ? EXIT_LIMIT : 0);
}

/* A step, and the epoch's end where there is one after it. */
static int advance(Training *t, bool *over) {
  uint64_t every = t->h->cli->save_every;
  StepReport r;
  rly_status status = do_step(t, &r);
  if (status == RLY_OK && t->step % t->per_epoch == 0) status = check_order(t);
  if (status == RLY_OK) status = check_step(t, &r);
  if (status != RLY_OK) return break_off(t, status);
  if (!isfinite(r.loss) || !isfinite(r.norm) || !isfinite(r.rate))
    return stop_at_nan(t, &r);
  t->step++;
  train_show_step(t, &r);
  if (t->step % t->per_epoch == 0) return finish_epoch(t, &r, over);
  return every && t->step % (int64_t)every == 0 ? keep(t) : 0;
}

static int go_on(Training *t) {
  uint64_t patience = t->h->cli->patience;
  int64_t without = 0;
  rly_status counted = call_int(t->session, "train.without", &without);
  bool over = patience && without >= (int64_t)patience;
  int code = exit_status(counted);
  while (!code && !over && !ending(t) && t->step < t->steps) {
    t->before_step = t->step;
    t->before = rly_session_snapshot(t->session);
    code = t->before ? advance(t, &over) : EXIT_LIMIT;
    rly_snapshot_free(t->before);
  }
  return code;
}

/* What a user wants to know at the end. */
static int say_end(Training *t) {
  int why = ending(t);
  bool whole = t->step >= t->steps;
  train_show_end(t);
  int code = keep(t);
  if (!code) code = write_weights(t, "weights");
  t->agreed = !code;
  if (code) return code;
  train_show_why(t, whole      ? TRAIN_DONE
                    : why == 3 ? TRAIN_TIME
                    : why      ? TRAIN_INTERRUPTED
                               : TRAIN_PATIENCE);
  return whole ? 0 : why;
}

static int train(Training *t) {
  t->first = t->step;
  t->begun = t->shown = clock_seconds();
  t->smooth = NAN;
  train_show_begin(t);
  catch_signals(t->session);
  int code = go_on(t);
  if (!code) code = say_end(t);
  running = NULL;
  return code;
}

/* Does --validate hold an example out?  If not, the message has the least part
 * that does, rounded up to three digits. */
static int check_held_out(Training *t) {
  double part = t->h->cli->validate;
  int64_t checks, total;
  if (!(part > 0)) return 0;
  rly_status status = call_int(t->session, "train.checks", &checks);
  if (status == RLY_OK) status = call_int(t->session, "train.total", &total);
  if (status != RLY_OK || checks > 0) return exit_status(status);
  if (total == 1)
    return host_usage(t->h, "--validate can hold nothing out of one example");
  double digit = pow(10, floor(log10(1 / (double)total)) - 2);
  double least = ceil(1 / (double)total / digit) * digit;
  return host_usage(t->h,
                    "--validate %g holds out none of %lld examples: %.3g is "
                    "the least that holds out one",
                    part, (long long)total, least);
}

/* Has each tensor that `giver` gives, or each param that is an example, the
 * same number of rows?  `counts` tells how many; the names are those of the
 * loss' parameters. */
static int check_counts(Training *t, const char *counts, const char *giver) {
  rly_program *p = t->h->program;
  if (!global_of(t, counts)) return 0;
  const Global *from = global_of(t, giver), *loss = global_of(t, t->loss);
  rly_value *v;
  rly_status status = call(t->session, counts, &v);
  if (status != RLY_OK) return exit_status(status);
  int n = rly_value_field_count(v);
  bool same = true;
  StrBuf text;
  strbuf_init(&text, p->mem);
  for (int i = 0; i < n; i++) {
    same &= int_of(v, i) == int_of(v, 0);
    strbuf_addf(&text, "%s`%s` has %d%s",
                !i          ? ""
                : i + 1 < n ? ", "
                            : " and ",
                rly_function_param_name((const rly_function *)loss, i + 1),
                int_of(v, i), i ? "" : " examples");
  }
  if (!same) {
    const Global *at = from && from->kind == GLOBAL_DEF ? from : loss;
    Diag *d = diag_error(p->ir->diags, E0504, at->span,
                         "the examples %s `@%s` differ in number: %s",
                         at == loss ? "for" : "of", at->name->text,
                         strbuf_text(&text));
    if (at != loss) diag_note(d, loss->span, "`@%s` takes them", t->loss);
    diag_hint(d,
              "an example is a row of each tensor: all need the same length "
              "along axis 0");
  }
  strbuf_done(&text);
  rly_value_free(v);
  return same ? 0 : EXIT_RUNTIME;
}

/* All that comes before the first step. */
static int begin(Training *t) {
  int code = train_check_team(t);
  if (!code) code = prepare(t, t->h);
  if (code || t->h->cli->print) return code;
  t->session = host_session(t->h, false);
  if (!t->session) return EXIT_LIMIT;
  code = check_counts(t, "train.examples.counts", "data");
  if (!code) code = check_counts(t, "train.checked.counts", "validation");
  if (code) return code;
  rly_status status = call_int(t->session, "train.per_epoch", &t->per_epoch);
  if (status != RLY_OK) return exit_status(status);
  if (t->per_epoch < 1)
    return host_usage(t->h, "there is no example to learn from");
  if (t->epochs > INT32_MAX / t->per_epoch)
    return host_usage(t->h,
                      "%lld epochs of %lld steps are more than the %d steps "
                      "that a run can count: --epochs %lld is the most",
                      (long long)t->epochs, (long long)t->per_epoch, INT32_MAX,
                      (long long)(INT32_MAX / t->per_epoch));
  t->steps = t->epochs * t->per_epoch;
  code = check_held_out(t);
  if (!code) code = train_open(t);
  return code ? code : train_log_open(t);
}

/* The process that leads goes first: what is wrong is then said once. */
static int begin_together(Training *t) {
  int code = (int)train_agree(t, train_leads(t) ? begin(t) : 0);
  if (!code && t->team) {
    t->step = train_agree(t, train_leads(t) ? t->step : 0);
    code = (int)train_agree(t, train_leads(t) ? 0 : begin(t));
    if (!code) code = train_check_alike(t);
  }
  t->agreed = code;
  return code;
}

/* A context's memory is its program's, and so is the texts'. */
static int run_train(Host *h) {
  Training t = {.h = h,
                .file = h->cli->words.items[0],
                .lock = -1,
                .epochs = (int64_t)h->cli->epochs};
  strbuf_init(&t.text, h->program->mem);
  strbuf_init(&t.settings, h->program->mem);
  strbuf_init(&t.inputs, h->program->mem);
  strbuf_init(&t.sums, h->program->mem);
  VEC_INIT(&t.curve, h->program->mem);
  int code = train_join(&t);
  if (!code) code = begin_together(&t);
  if (!code) code = h->cli->print ? print_program(&t) : train(&t);
  host_report(h);
  train_leave(&t, code);
  if (t.session) host_session_free(h, t.session);
  code = train_log_close(&t, code);
  if (t.lock >= 0) close(t.lock);
  free(t.made);
  strbuf_done(&t.text);
  strbuf_done(&t.settings);
  strbuf_done(&t.inputs);
  strbuf_done(&t.sums);
  VEC_DONE(&t.curve);
  return code;
}

int command_train(const Cli *cli) {
  Cli filled = *cli;
  if (!filled.batch) filled.batch = 32;
  if (!filled.epochs) filled.epochs = 10;
  if (!filled.shards) filled.shards = 1;
  if (!filled.keep) filled.keep = 2;
  heap_in_huge_pages();
  return host_run(&filled, run_train);
}
