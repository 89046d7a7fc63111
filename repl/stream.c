/* rly stream FILE.rly: a step function is fed frame by frame, from files or
 * pipes, for as long as there is input.  Memory does not grow with it.
 *
 * The step is (x, ...) -> y with its state in cells, or (x, ..., s) -> (y, s).
 * Its inputs are the tensors that its parameters are made of, its outputs those
 * that y is made of, by their paths (rly_layout): of a parameter `%x` that is a
 * pair `x.0` and `x.1`, of a result that has named fields `left` and `right`.
 * An Option takes nothing once its input has ended, and gives nothing to its
 * output.
 *
 * Ctrl-C ends the stream after the step that is under way, as the end of the
 * input would, but without the tail; a second one interrupts the step.  So the
 * state that is saved at the end is one between two steps.
 *
 * The types are checked before the first byte is read: element type, rank and
 * the length of a row are fixed, and only axis 0 may be open. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "repl/cli.h"
#include "repl/guard.h"
#include "repl/stream.h"

typedef struct Stream {
  Host *h;
  rly_session *session;
  const rly_function *step;
  int params;          /* of the step, without the state */
  rly_layout **inputs; /* of each of them */
  rly_layout *result;  /* of y */
  rly_value *state;    /* s in (x, s) -> (y, s); otherwise NULL */
  /* its parts, for reading the state from a file and writing it */
  rly_layout *parts;
  rly_value **pieces;
  rly_value **args; /* room for all of the step's arguments */
  Feed *feeds;      /* of the step's inputs, then of the control track */
  Sink *sinks;
  rly_value **given, **results; /* of one step; NULL: none */
  size_t feed_count, sink_count;
  char *track_name;
  size_t fed; /* feed_count, and 1 for the track */
  /* --reset-on: what is looked at before a step, for which value (NULL: NaN),
   * and what the state begins anew with */
  Feed *control;
  rly_tensor *signal;
  rly_snapshot *beginning;
  Tail tail;
  Pulse pulse;
} Stream;

/* --- Interrupts --------------------------------------------------------- */

static rly_session *volatile running;
static volatile sig_atomic_t stepping;
volatile sig_atomic_t stream_asked;

/* Once the steps have begun the first signal asks, so that the step under way
 * ends and the state is saved.  A signal before that, or a second one,
 * interrupts the session. */
static void on_signal(int signal) {
  (void)signal;
  rly_session *s = running;
  if ((stream_asked++ || !stepping) && s) rly_session_interrupt(s);
}

/* Without SA_RESTART: a read(2) that waits for input returns with EINTR, and
 * feed_fill() sees that a stop was asked for. */
static void catch_signals(rly_session *s) {
  struct sigaction action = {.sa_handler = on_signal};
  running = s;
  stepping = stream_asked = 0;
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

/* --- The step's type ---------------------------------------------------- */

static int refuse(Stream *st, const char *why) {
  char *type = rly_function_type_text(st->h->program, st->step);
  int status =
      host_usage(st->h, "the step %s; it is %s", why, type ? type : "?");
  rly_text_free(st->h->cx, type);
  return status;
}

/* Whether the step is (x, ...) -> y or, with a state, (x, ..., s) -> (y, s);
 * counts the x. */
static bool fits_step(Stream *st, bool with_state) {
  const rly_type *y = rly_function_result_type(st->step);
  int n = 0;
  while (rly_function_param_type(st->step, n)) n++;
  st->params = n - with_state;
  if (st->params < 1) return false;
  return !with_state ||
         (rly_type_kind(y) == RLY_TUPLE && rly_type_field_count(y) == 2 &&
          rly_type_field(y, 1) == rly_function_param_type(st->step, n - 1));
}

/* pad is the default, because every step takes a whole frame. */
static int find_tail(Stream *st) {
  int tail = st->h->cli->tail;
  st->tail = tail ? (Tail)tail : TAIL_PAD;
  for (size_t k = 0; k < st->feed_count; k++)
    if (st->tail == TAIL_SHORT && st->feeds[k].path && !st->feeds[k].shape.open)
      return refuse(st, "takes no short frame: its first dimension is fixed");
  return 0;
}

/* Calls () -> s for the state that the step takes. */
static int find_init(Stream *st) {
  const char *name = st->h->cli->init;
  const rly_function *init =
      name ? rly_program_function(st->h->program, name) : NULL;
  if (!name) return 0;
  if (!init) return host_no_function(st->h, name);
  if (rly_function_param_count(init) == 0 &&
      rly_function_result_type(init) ==
          rly_function_param_type(st->step, st->params))
    return 0;
  char *text = rly_function_type_text(st->h->program, init);
  int status = host_usage(st->h,
                          "`@%s` must give, from nothing, the state "
                          "that the step takes; it is %s",
                          name, text ? text : "?");
  rly_text_free(st->h->cx, text);
  return status;
}

/* --- Inputs and outputs --------------------------------------------------- */

static const char *feed_name(const void *data, size_t i) {
  return ((const Feed *)data)[i].name;
}

static const char *result_name(const void *data, size_t i) {
  const char *path = rly_layout_path(data, i);
  return *path ? path : "result"; /* of a y that is one tensor */
}

/* A function that a `let` holds has no names for its parameters. */
static int find_layouts(Stream *st) {
  rly_program *p = st->h->program;
  st->inputs = calloc((size_t)st->params, sizeof *st->inputs);
  st->args = calloc((size_t)st->params + 1, sizeof *st->args);
  if (!st->inputs || !st->args) return EXIT_LIMIT;
  for (int i = 0; i < st->params; i++) {
    char number[16];
    snprintf(number, sizeof number, "%d", i);
    const char *name = rly_function_param_name(st->step, i);
    rly_status status =
        rly_layout_new(p, rly_function_param_type(st->step, i),
                       name ? name : number, RLY_TENSORS, &st->inputs[i]);
    if (status != RLY_OK) return exit_status(status);
    st->feed_count += rly_layout_count(st->inputs[i]);
  }
  const rly_type *y = rly_function_result_type(st->step);
  if (st->h->cli->init) y = rly_type_field(y, 0);
  rly_status status = rly_layout_new(p, y, "", RLY_TENSORS, &st->result);
  st->sink_count = rly_layout_count(st->result);
  return exit_status(status);
}

static int find_feed(Stream *st, Feed *f, const rly_layout *l, size_t i) {
  const Cli *cli = st->h->cli;
  *f = (Feed){.h = st->h,
              .fd = -1,
              .name = rly_layout_path(l, i),
              .optional = rly_layout_optional(l, i),
              .path = value_for(&cli->input, rly_layout_path(l, i))};
  if (!f->path && st->feed_count == 1) f->path = "-";
  if (!f->path && !f->optional)
    return host_usage(st->h, "nothing is fed to `%s`: --input %s=FILE%s",
                      f->name, f->name,
                      cli->init ? "" : "; a step's state needs --init");
  return feed_shape(f, rly_layout_type(l, i));
}

/* --- The control of --reset-on -------------------------------------------- */

/* A name that is no input's is that of a track: one byte a frame, of which the
 * step knows nothing. */
static int find_track(Stream *st) {
  const char *text = st->h->cli->reset_on;
  size_t len;
  if (!text) return 0;
  named_value(text, &len);
  if (!len && st->feed_count > 1)
    return host_usage(st->h, "--reset-on %s: say of which input, as NAME=%s",
                      text, text);
  Feed *track = &st->feeds[st->feed_count];
  st->control = len ? track : st->feeds;
  for (size_t i = 0; len && i < st->feed_count; i++)
    if (strlen(st->feeds[i].name) == len &&
        !strncmp(st->feeds[i].name, text, len))
      st->control = &st->feeds[i];
  if (st->control != track) return 0;
  st->track_name = strndup(text, len);
  st->fed = st->feed_count + 1;
  *track = (Feed){.h = st->h, .fd = -1, .name = st->track_name};
  return track->name ? 0 : EXIT_LIMIT;
}

/* A control frame has a place of its own in the input, so that it ends one
 * sequence and begins another. */
static int find_control(Stream *st) {
  const char *text = st->h->cli->reset_on;
  size_t len;
  Feed *f = st->control;
  if (!f) return 0;
  if (f == &st->feeds[st->feed_count]) {
    f->path = value_for(&st->h->cli->input, f->name);
    if (!f->path)
      return host_usage(st->h,
                        "--reset-on %s: the step has no input `%s`; a track "
                        "beside its inputs needs --input %s=FILE",
                        text, f->name, f->name);
    int status = feed_track(f);
    if (status) return status;
  }
  if (!f->path || f->hop < f->frame)
    return host_usage(st->h,
                      f->path ? "--reset-on %s: frames that overlap hold none "
                                "that is control alone; give a track beside "
                                "the inputs"
                              : "--reset-on %s: nothing is fed to that input",
                      text);
  const char *value = named_value(text, &len);
  if (!strcmp(value, "nan") && is_float(f->shape.dtype)) return 0;
  st->signal = rly_program_literal(st->h->program, f->shape.dtype, value);
  if (!st->signal) return EXIT_REFUSED;
  if (rly_tensor_rank(st->signal) == 0) return 0;
  return host_usage(st->h, "--reset-on %s: the value is one number", text);
}

/* The names first: a file for an input that the step does not have is told
 * before one that is missing elsewhere. */
static int find_feeds(Stream *st) {
  const Cli *cli = st->h->cli;
  const TextList *lists[] = {&cli->input, &cli->frame, &cli->hop};
  static const char *const flags[] = {"--input", "--frame", "--hop"};
  st->feeds = calloc(st->feed_count + 1, sizeof *st->feeds); /* the track */
  st->given = calloc(st->feed_count + 1, sizeof *st->given);
  if (!st->feeds || !st->given) return EXIT_LIMIT;
  if (!st->feed_count) return refuse(st, "takes no tensors");
  size_t n = 0;
  for (int i = 0; i < st->params; i++)
    for (size_t k = 0; k < rly_layout_count(st->inputs[i]); k++)
      st->feeds[n++].name = rly_layout_path(st->inputs[i], k);
  st->fed = n;
  int status = find_track(st);
  NameList names = {st->h, "input", st->fed, feed_name, st->feeds};
  for (int i = 0; !status && i < 3; i++)
    status = check_names(&names, flags[i], lists[i], i > 0);
  n = 0;
  for (int i = 0; i < st->params; i++)
    for (size_t k = 0; !status && k < rly_layout_count(st->inputs[i]); k++)
      status = find_feed(st, &st->feeds[n++], st->inputs[i], k);
  return status ? status : find_control(st);
}

static int find_sinks(Stream *st) {
  const Cli *cli = st->h->cli;
  NameList names = {st->h, "output", st->sink_count, result_name, st->result};
  int status = check_names(&names, "--output", &cli->output, false);
  if (!status) status = check_names(&names, "--expect", &cli->expect, false);
  st->sinks = calloc(st->sink_count + 1, sizeof *st->sinks);
  st->results = calloc(st->sink_count + 1, sizeof *st->results);
  return st->sinks && st->results ? status : EXIT_LIMIT;
}

/* --- State in files ------------------------------------------------------- */

static void free_all(rly_value **values, size_t count) {
  for (size_t i = 0; i < count; i++) {
    rly_value_free(values[i]);
    values[i] = NULL;
  }
}

/* The state that a step takes is kept as that of cells is, each part of a tuple
 * or of a sole constructor in a cell of its own (rly_session_add_cell), so that
 * a changed program can carry over those that it still has. */
static int find_parts(Stream *st) {
  const Cli *cli = st->h->cli;
  if (!cli->init || !(cli->save_state || cli->load_state || cli->carry))
    return 0;
  const char *name = rly_function_param_name(st->step, st->params);
  rly_status status = rly_layout_new(
      st->h->program, rly_function_param_type(st->step, st->params),
      name ? name : "state", RLY_PIECES, &st->parts);
  if (status != RLY_OK) return exit_status(status);
  st->pieces = calloc(rly_layout_count(st->parts) + 1, sizeof *st->pieces);
  return st->pieces ? 0 : EXIT_LIMIT;
}

/* The path of a part's cell. */
static char *cell_path(const Stream *st, size_t i) {
  const char *path = rly_layout_path(st->parts, i);
  char *text = malloc(strlen(path) + 2);
  if (text) sprintf(text, "$%s", path);
  return text;
}

/* Puts the state into the cells; `first`: into new ones. */
static rly_status keep_parts(Stream *st, bool first) {
  if (!st->parts) return RLY_OK;
  rly_status status = rly_layout_split(st->parts, st->state, st->pieces);
  size_t n = rly_layout_count(st->parts);
  for (size_t i = 0; status == RLY_OK && i < n; i++) {
    char *path = cell_path(st, i);
    if (!path) status = RLY_LIMIT;
    else if (first)
      status = rly_session_add_cell(st->session, path + 1, st->pieces[i]);
    else status = rly_session_set(st->session, path, st->pieces[i]);
    free(path);
  }
  free_all(st->pieces, n);
  return status;
}

/* Makes the state of what the cells hold. */
static rly_status take_parts(Stream *st) {
  if (!st->parts) return RLY_OK;
  size_t n = rly_layout_count(st->parts);
  bool all = true;
  for (size_t i = 0; all && i < n; i++) {
    char *path = cell_path(st, i);
    st->pieces[i] = path ? rly_session_get(st->session, path) : NULL;
    all = st->pieces[i] != NULL;
    free(path);
  }
  rly_value *state =
      all ? rly_layout_build(st->parts, st->session, st->pieces) : NULL;
  free_all(st->pieces, n);
  if (!state) return RLY_LIMIT;
  rly_value_free(st->state);
  st->state = state;
  return RLY_OK;
}

/* What became of each cell goes to stderr, a line for each. */
static rly_status carry(Stream *st) {
  char *report = NULL;
  rly_status status =
      rly_session_carry_file(st->session, st->h->cli->carry, &report);
  if (report) fputs(report, stderr);
  rly_text_free(st->h->cx, report);
  return status;
}

/* The first mistake is reported, from the step to the tail. */
static int find_step(Stream *st) {
  const Cli *cli = st->h->cli;
  const char *name = cli->step ? cli->step : "step";
  st->step = rly_program_function(st->h->program, name);
  if (!st->step) return host_no_function(st->h, name);
  if (!fits_step(st, cli->init != NULL))
    return refuse(st, cli->init ? "must be (x, s) -> (y, s)"
                                : "must take an input: (x) -> y");
  if (cli->load_state && cli->carry)
    return host_usage(st->h,
                      "--load-state takes a state whole, --carry what fits: "
                      "give one of them");
  if (cli->save_state &&
      !(path_takes_state(cli->save_state, &st->h->cx->diags) &&
        file_may_be_replaced(st->h->cx, cli->save_state)))
    return EXIT_RUNTIME;
  int status = find_init(st);
  if (!status) status = find_layouts(st);
  if (!status) status = find_feeds(st);
  if (!status) status = find_parts(st);
  if (!status) status = find_sinks(st);
  return status ? status : find_tail(st);
}

/* --- Files ---------------------------------------------------------------- */

/* Inputs that no flag names are stdin (files_check() knows the others).  All
 * files are compared before the first is opened: opening one to write it
 * empties it. */
static int note_files(Stream *st) {
  Files files = {0};
  int status = 0;
  for (size_t i = 0; !status && i < st->fed; i++)
    if (st->feeds[i].path)
      status = files_add(&files, st->h, st->feeds[i].path, "an input", false);
  if (!status) status = files_add_written(&files, st->h);
  files_done(&files);
  return status;
}

static int open_feeds(Stream *st) {
  int status = note_files(st);
  for (size_t i = 0; !status && i < st->fed; i++)
    if (st->feeds[i].path) status = feed_open(&st->feeds[i]);
  return status;
}

static int open_sinks(Stream *st) {
  const Cli *cli = st->h->cli;
  int status = 0;
  for (size_t i = 0; !status && i < st->sink_count; i++) {
    const char *name = result_name(st->result, i);
    status =
        sink_open(&st->sinks[i], st->h, rly_layout_type(st->result, i),
                  value_for(&cli->output, name), value_for(&cli->expect, name));
    st->sinks[i].name = name;
  }
  return status;
}

/* --- Steps -------------------------------------------------------------- */

/* The y of the step's result.  The new state replaces the old one.  The handles
 * of its fields have references of their own, so the tuple goes. */
static rly_value *take_result(Stream *st, rly_value *result) {
  if (!st->state || !result) return result;
  rly_value *y = rly_value_field(result, 0);
  rly_value *next = rly_value_field(result, 1);
  rly_value_free(result);
  rly_value_free(st->state);
  st->state = next;
  return y;
}

/* Only the call is timed, not the reading or the writing. */
static rly_status call(Stream *st, rly_value **y) {
  rly_value *result = NULL;
  st->args[st->params] = st->state;
  double start = clock_seconds();
  rly_status status = rly_session_call_function(
      st->session, st->step, st->params + (st->state != NULL), st->args,
      &result);
  pulse_beat(&st->pulse, clock_seconds() - start,
             rly_session_stats(st->session).allocations);
  *y = take_result(st, result);
  return status == RLY_OK && !*y ? RLY_LIMIT : status;
}

/* Building a value of an input's parts fails for want of memory alone, as their
 * types are those of the frames. */
static rly_status give(Stream *st) {
  size_t n = 0;
  for (size_t i = 0; i < st->feed_count; i++) {
    if (st->feeds[i].filled == FRAME_NONE) continue;
    rly_status status =
        feed_value(&st->feeds[i], st->session, st->tail, &st->given[i]);
    if (status != RLY_OK) return status;
  }
  for (int i = 0; i < st->params; i++) {
    st->args[i] = rly_layout_build(st->inputs[i], st->session, &st->given[n]);
    if (!st->args[i]) return RLY_LIMIT;
    n += rly_layout_count(st->inputs[i]);
  }
  return RLY_OK;
}

static rly_status put(Stream *st, rly_value *y) {
  rly_status status = rly_layout_split(st->result, y, st->results);
  for (size_t i = 0; status == RLY_OK && i < st->sink_count; i++)
    if (st->results[i]) status = sink_put(&st->sinks[i], st->results[i]);
  free_all(st->results, st->sink_count);
  return status;
}

/* One frame of all inputs. */
static rly_status step(Stream *st) {
  rly_value *y = NULL;
  rly_status status = give(st);
  if (status == RLY_OK) status = call(st, &y);
  free_all(st->args, (size_t)st->params);
  free_all(st->given, st->feed_count);
  if (status == RLY_OK) status = put(st, y);
  rly_value_free(y);
  return status;
}

/* Inputs must end at the same frame.  An option may end before the others, and
 * then is none; where all inputs are options, the last one decides.  *last:
 * there is no frame. */
static rly_status compare_ends(Stream *st, bool *last) {
  Feed *done = NULL, *on = NULL;
  for (size_t i = 0; i < st->fed; i++) {
    Feed *f = &st->feeds[i];
    if (f->filled != FRAME_NONE) on = f;
    else if (!f->optional && !done) done = f;
  }
  *last = !on;
  if (!done || !on) return RLY_OK;
  return feed_bad(done, "it ends after %llu frames, but input `%s` goes on",
                  (unsigned long long)done->frames, on->name);
}

/* Cells hold again what they would in a new session, and the state is what
 * --init gives; what was loaded is forgotten. */
static rly_status reset(Stream *st) {
  const Cli *cli = st->h->cli;
  rly_status status = rly_session_restore(st->session, st->beginning);
  pulse_reset(&st->pulse);
  if (status != RLY_OK || !cli->init) return status;
  rly_value *state = NULL;
  status = rly_session_call(st->session, cli->init, 0, NULL, &state);
  if (status != RLY_OK) return status;
  rly_value_free(st->state);
  st->state = state;
  return RLY_OK;
}

/* A frame of an input that is control is not given to the step; beside a track
 * the step has a frame of its own. */
static rly_status step_or_reset(Stream *st) {
  Feed *f = st->control;
  if (!f || f->filled != FRAME_WHOLE ||
      !feed_holds(f, st->signal ? rly_tensor_data(st->signal) : NULL))
    return step(st);
  rly_status status = reset(st);
  bool track = f == &st->feeds[st->feed_count];
  return track && status == RLY_OK ? step(st) : status;
}

/* Reads a frame of each input, gives them to the step, and goes on. */
static rly_status run(Stream *st) {
  rly_status status = RLY_OK;
  while (!stream_asked) {
    bool last;
    for (size_t i = 0; status == RLY_OK && i < st->fed; i++)
      status = feed_fill(&st->feeds[i], st->tail);
    if (status != RLY_OK || stream_asked) break;
    status = compare_ends(st, &last);
    if (status == RLY_OK && !last) status = step_or_reset(st);
    if (status != RLY_OK || last) break;
    for (size_t i = 0; status == RLY_OK && i < st->fed; i++)
      if (st->feeds[i].path) status = feed_advance(&st->feeds[i]);
    if (status != RLY_OK) break;
  }
  return status;
}

/* --- The command -------------------------------------------------------- */

static rly_status start_state(Stream *st) {
  const Cli *cli = st->h->cli;
  rly_status status = RLY_OK;
  if (cli->init)
    status = rly_session_call(st->session, cli->init, 0, NULL, &st->state);
  if (status == RLY_OK && cli->reset_on) {
    st->beginning = rly_session_snapshot(st->session);
    if (!st->beginning) status = RLY_LIMIT;
  }
  if (status == RLY_OK) status = keep_parts(st, true);
  if (status != RLY_OK || !(cli->load_state || cli->carry)) return status;
  guard_begin(cli, "loading the state");
  status =
      cli->carry ? carry(st) : rly_session_load(st->session, cli->load_state);
  guard_end();
  return status == RLY_OK ? take_parts(st) : status;
}

static bool is_gone(const Stream *st) {
  for (size_t i = 0; i < st->sink_count; i++)
    if (st->sinks[i].gone) return true;
  return false;
}

/* An interrupted step may have written some of its cells only.  Where the
 * output's reader has gone, the steps are whole, and the state is worth
 * keeping. */
static rly_status save_state(Stream *st, rly_status status) {
  const char *path = st->h->cli->save_state;
  if (!path || (status != RLY_OK && !is_gone(st))) return status;
  rly_status saved = keep_parts(st, false);
  guard_begin(st->h->cli, "saving the state");
  if (saved == RLY_OK) saved = rly_session_save(st->session, path);
  guard_end();
  return saved == RLY_OK ? status : RLY_RUNTIME;
}

/* The state is saved before the outputs are closed, and the report on time
 * comes last, whatever failed; of a stream that failed before its first step
 * there is none. */
static int stream_in(Stream *st) {
  rly_status status = start_state(st);
  stepping = 1;
  if (status == RLY_OK) status = run(st);
  status = save_state(st, status);
  for (size_t i = 0; i < st->sink_count; i++) {
    rly_status written = sink_close(&st->sinks[i], status == RLY_OK);
    if (status == RLY_OK) status = written;
  }
  host_report(st->h);
  if (status == RLY_OK || st->pulse.steps)
    pulse_report(&st->pulse, st->sinks, st->sink_count, st->h->cli->json);
  return status == RLY_OK && stream_asked ? EXIT_INTERRUPTED
                                          : exit_status(status);
}

static int stream_session(Stream *st) {
  rly_session *s = st->session = host_session(st->h, false);
  if (!s) return EXIT_LIMIT;
  catch_signals(s);
  int status = open_sinks(st);
  if (!status) status = stream_in(st);
  running = NULL;
  rly_value_free(st->state);
  rly_snapshot_free(st->beginning);
  host_session_free(st->h, s);
  return status;
}

static void free_stream(Stream *st) {
  for (size_t i = 0; st->feeds && i < st->fed; i++) feed_close(&st->feeds[i]);
  for (int i = 0; st->inputs && i < st->params; i++)
    rly_layout_free(st->inputs[i]);
  rly_layout_free(st->result);
  rly_layout_free(st->parts);
  free(st->pieces);
  rly_tensor_free(st->signal);
  free(st->track_name);
  free(st->inputs);
  free(st->args);
  free(st->feeds);
  free(st->given);
  free(st->sinks);
  free(st->results);
}

/* Each find_... and open_... gives 0 or an exit status; what was opened is
 * closed on the way out. */
static int stream_program(Stream *st) {
  const Cli *cli = st->h->cli;
  if (!cli->words.count)
    return host_usage(st->h,
                      "rly stream needs a file: rly stream FILE.rly "
                      "--step NAME --input FILE");
  rly_status added = host_add_file(st->h, cli->words.items[0]);
  if (added == RLY_OK) added = host_bind(st->h, 1, NULL);
  int status = exit_status(added);
  if (!status) status = find_step(st);
  if (!status) status = open_feeds(st);
  if (!status) status = stream_session(st);
  host_report(st->h);
  free_stream(st);
  return status;
}

static int stream_on(Host *h) {
  Stream st = {.h = h};
  return stream_program(&st);
}

int command_stream(const Cli *cli) { return host_run(cli, stream_on); }
