/* rly stream FILE.rly: a step function is fed frame by frame, from a file or a
 * pipe, for as long as there is input.  Memory does not grow with it.
 *
 * The step is (x) -> y with its state in cells, or (x, s) -> (y, s).  A frame
 * is --frame rows of axis 0; the next begins --hop rows later.  Ctrl-C ends the
 * stream behind the step that is under way, as the end of the input would; a
 * second one interrupts the step. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "repl/cli.h"
#include "repl/stream.h"

typedef enum Tail { TAIL_PAD, TAIL_DROP, TAIL_SHORT } Tail;

/* The layout of a frame. */
typedef struct Shape {
  const char *dtype;
  int rank;
  int64_t dims[8]; /* of x; dims[0] is set at each call */
  size_t row;      /* bytes of one row of axis 0 */
  bool open;       /* whether axis 0 may have any length */
} Shape;

typedef struct Input {
  int fd;           /* -1: `data` */
  const char *data; /* of a .npy that was mapped */
  size_t left;      /* bytes of it */
  rly_tensors *file;
  rly_tensor *tensor;
} Input;

typedef struct Stream {
  Host *h;
  rly_session *session;
  const rly_function *step;
  rly_value *state; /* the type of s in (x, s) -> (y, s); otherwise NULL */
  Shape shape;
  Input in;
  int64_t frame, hop;
  Tail tail;
  char *window; /* room for `frame` rows */
  int64_t have,
      unseen; /* rows in the window; of these, rows that no frame has had */
  Sink sink;
  Pulse pulse;
} Stream;

/* --- Interrupts --------------------------------------------------------- */

static rly_session *volatile running;
static volatile sig_atomic_t asked; /* how many */

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

/* --- The step's type ---------------------------------------------------- */

static int refuse(Stream *st, const char *why) {
  char *type = rly_function_type_text(st->h->program, st->step);
  int status =
      host_usage(st->h, "the step %s; it is %s", why, type ? type : "?");
  rly_text_free(st->h->cx, type);
  return status;
}

static bool is_tensor(const rly_type *t) {
  return rly_type_kind(t) == RLY_TENSOR;
}

/* Checks that the step is (x) -> y or, with a state, (x, s) -> (y, s). */
static bool fits_step(const Stream *st, bool with_state) {
  const rly_type *x = rly_function_param_type(st->step, 0);
  const rly_type *s = rly_function_param_type(st->step, 1);
  const rly_type *y = rly_function_result_type(st->step);
  if (!is_tensor(x) || rly_function_param_type(st->step, 2)) return false;
  if (!with_state) return !s && is_tensor(y);
  return s && rly_type_kind(y) == RLY_TUPLE && rly_type_field_count(y) == 2 &&
         is_tensor(rly_type_field(y, 0)) && rly_type_field(y, 1) == s;
}

/* Sets the frame's layout from the type.  Returns 0 or an exit status. */
static int find_shape(Stream *st) {
  const rly_type *x = rly_function_param_type(st->step, 0);
  Shape *s = &st->shape;
  *s = (Shape){.dtype = rly_type_dtype(x), .rank = rly_type_rank(x)};
  s->row = dtype_bytes(s->dtype);
  for (int i = 0; i < s->rank; i++) {
    s->dims[i] = rly_type_dim(x, i);
    if (i && s->dims[i] < 0)
      return refuse(st,
                    "must say how large a row is: only its first "
                    "dimension may be open");
    if (i && __builtin_mul_overflow(s->row, (size_t)s->dims[i], &s->row))
      return refuse(st, "has rows larger than memory");
  }
  s->open = s->rank && s->dims[0] < 0;
  if (!s->rank) s->dims[0] = 1;
  return s->row ? 0 : refuse(st, "has rows without elements");
}

static int find_frame(Stream *st) {
  const Cli *cli = st->h->cli;
  st->frame = (int64_t)cli->frame;
  if (!st->frame) st->frame = st->shape.open ? 1 : st->shape.dims[0];
  if (st->frame < 1 || (!st->shape.open && st->frame != st->shape.dims[0]))
    return refuse(st, "takes another number of rows than --frame says");
  st->hop = cli->hop ? (int64_t)cli->hop : st->frame;
  size_t bytes;
  if (st->hop < 1 ||
      __builtin_mul_overflow((size_t)st->frame, st->shape.row, &bytes))
    return refuse(st, "has frames larger than memory");
  st->window = malloc(bytes);
  return st->window ? 0 : 3;
}

static int find_tail(Stream *st) {
  static const char *const names[] = {"pad", "drop", "short"};
  const char *name = st->h->cli->tail ? st->h->cli->tail : "pad";
  int i = 0;
  while (i < 3 && strcmp(names[i], name)) i++;
  if (i == 3)
    return host_usage(st->h, "--tail is pad, drop or short, not %s", name);
  st->tail = (Tail)i;
  if (st->tail == TAIL_SHORT && !st->shape.open)
    return refuse(st, "takes no short frame: its first dimension is fixed");
  return 0;
}

/* Calls () -> s for the state that the step takes. */
static int find_init(Stream *st) {
  const char *name = st->h->cli->init;
  const rly_function *init =
      name ? rly_program_function(st->h->program, name) : NULL;
  if (!name) return 0;
  if (!init) return host_usage(st->h, "there is no function `@%s`", name);
  if (rly_function_param_count(init) == 0 &&
      rly_function_result_type(init) == rly_function_param_type(st->step, 1))
    return 0;
  char *text = rly_function_type_text(st->h->program, init);
  int status = host_usage(st->h,
                          "`@%s` must give, from nothing, the state "
                          "that the step takes; it is %s",
                          name, text ? text : "?");
  rly_text_free(st->h->cx, text);
  return status;
}

static int find_step(Stream *st) {
  const Cli *cli = st->h->cli;
  const char *name = cli->step ? cli->step : "step";
  st->step = rly_program_function(st->h->program, name);
  if (!st->step) return host_usage(st->h, "there is no function `@%s`", name);
  if (!fits_step(st, cli->init != NULL))
    return refuse(st, cli->init ? "must be (x, s) -> (y, s), x and y tensors"
                                : "must be (x) -> y, tensors both; one that "
                                  "takes a state needs --init");
  if (cli->init && (cli->save_state || cli->load_state))
    return host_usage(st->h,
                      "--save-state and --load-state are for state in "
                      "cells; this step takes its own");
  int status = find_init(st);
  if (!status) status = find_shape(st);
  if (!status) status = find_frame(st);
  return status ? status : find_tail(st);
}

/* --- Input -------------------------------------------------------------- */

static bool ends_in(const char *path, const char *end) {
  size_t n = strlen(path), m = strlen(end);
  return n >= m && !strcmp(path + n - m, end);
}

/* Decides whether the input's tensors are the frame's rows or whole frames. */
static bool rows_fit(const Stream *st, const rly_tensor *t) {
  const Shape *s = &st->shape;
  int rank = rly_tensor_rank(t), first = rank == s->rank + 1 ? 0 : 1;
  if (strcmp(rly_tensor_dtype(t), s->dtype)) return false;
  if (!s->rank) return rank == 1;
  if (rank != s->rank && first) return false;
  for (int i = first; i < s->rank; i++)
    if (rly_tensor_dim(t, i + 1 - first) != (i ? s->dims[i] : st->frame))
      return false;
  return true;
}

static int open_npy(Stream *st, const char *path) {
  Input *in = &st->in;
  rly_status status = rly_tensors_read(st->h->cx, path, &in->file);
  if (status != RLY_OK) return exit_status(status);
  in->tensor = rly_tensors_get(in->file, rly_tensors_name(in->file, 0));
  if (!in->tensor) return 3;
  if (!rows_fit(st, in->tensor))
    return refuse(st, "takes other rows than the input has");
  in->data = rly_tensor_data(in->tensor);
  in->left =
      (size_t)rly_tensor_count(in->tensor) * dtype_bytes(st->shape.dtype);
  return 0;
}

static int open_input(Stream *st) {
  const char *path = st->h->cli->input ? st->h->cli->input : "-";
  st->in.fd = -1;
  if (ends_in(path, ".npy")) return open_npy(st, path);
  st->in.fd =
      strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
  if (st->in.fd >= 0) return 0;
  char message[512];
  snprintf(message, sizeof message, "cannot read %s: %s", path,
           strerror(errno));
  rly_diagnostic_add(st->h->cx, "E0501", message);
  return 1;
}

static void close_input(Stream *st) {
  if (st->in.fd > STDIN_FILENO) close(st->in.fd);
  rly_tensor_free(st->in.tensor);
  rly_tensors_free(st->in.file);
}

/* Reads some bytes: 0 at the end, -1 with errno on an error. */
static ssize_t read_some(Input *in, char *to, size_t n) {
  if (in->fd >= 0) return read(in->fd, to, n);
  if (n > in->left) n = in->left;
  memcpy(to, in->data, n);
  in->data += n;
  in->left -= n;
  return (ssize_t)n;
}

/* Reads `n` bytes, or fewer if the input ends or a stop is requested; -1: it
 * cannot be read. */
static ssize_t read_all(Input *in, char *to, size_t n) {
  size_t done = 0;
  while (done < n && !asked) {
    ssize_t got = read_some(in, to + done, n - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += (size_t)got;
  }
  return (ssize_t)done;
}

static rly_status bad_input(Stream *st, const char *why) {
  char message[512];
  snprintf(message, sizeof message, "the input cannot be used: %s", why);
  rly_diagnostic_add(st->h->cx, "E0502", message);
  return RLY_RUNTIME;
}

/* Reads rows into the window after those in it. *rows is less than `wanted` at
 * the end of the input. */
static rly_status read_rows(Stream *st, int64_t wanted, int64_t *rows) {
  size_t row = st->shape.row;
  ssize_t got = read_all(&st->in, st->window + (size_t)st->have * row,
                         (size_t)wanted * row);
  if (got < 0) return bad_input(st, strerror(errno));
  *rows = got / (ssize_t)row;
  if ((size_t)got % row && !asked) return bad_input(st, "it ends within a row");
  return RLY_OK;
}

/* --- Steps -------------------------------------------------------------- */

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The y of the step's result.  The new state replaces the old one. */
static rly_value *take_result(Stream *st, rly_value *result) {
  if (!st->state || !result) return result;
  rly_value *y = rly_value_field(result, 0);
  rly_value *next = rly_value_field(result, 1);
  rly_value_free(result);
  rly_value_free(st->state);
  st->state = next;
  return y;
}

static rly_status call(Stream *st, rly_value *x, rly_value **y) {
  rly_value *args[] = {x, st->state}, *result = NULL;
  double start = seconds();
  rly_status status = rly_session_call_function(
      st->session, st->step, st->state ? 2 : 1, args, &result);
  pulse_beat(&st->pulse, seconds() - start,
             rly_session_stats(st->session).allocations);
  *y = take_result(st, result);
  return status == RLY_OK && !*y ? RLY_LIMIT : status;
}

/* Runs one frame on the window's first `rows` rows. */
static rly_status step(Stream *st, int64_t rows) {
  if (st->shape.rank) st->shape.dims[0] = rows;
  rly_value *y = NULL;
  rly_value *x = rly_value_of_elements(
      st->session, st->shape.dtype, st->shape.rank, st->shape.dims, st->window);
  if (!x) return bad_input(st, "a bool is neither 0 nor 1");
  rly_status status = call(st, x, &y);
  rly_value_free(x);
  if (status == RLY_OK) status = sink_put(&st->sink, y);
  rly_value_free(y);
  return status;
}

/* Advances the window by one hop and skips the rows between frames. */
static rly_status advance(Stream *st, bool *end) {
  size_t row = st->shape.row;
  st->unseen = 0;
  if (st->hop < st->frame) {
    st->have = st->frame - st->hop;
    memmove(st->window, st->window + (size_t)st->hop * row,
            (size_t)st->have * row);
    return RLY_OK;
  }
  st->have = 0;
  for (int64_t gap = st->hop - st->frame; gap && !*end;) {
    int64_t wanted = gap < st->frame ? gap : st->frame, rows;
    rly_status status = read_rows(st, wanted, &rows);
    if (status != RLY_OK) return status;
    *end = rows < wanted;
    gap -= rows;
  }
  return RLY_OK;
}

/* Handles the rows that remain when the input ends. */
static rly_status finish(Stream *st) {
  if (!st->unseen || st->tail == TAIL_DROP || asked) return RLY_OK;
  if (st->tail == TAIL_SHORT) return step(st, st->have);
  size_t row = st->shape.row;
  memset(st->window + (size_t)st->have * row, 0,
         (size_t)(st->frame - st->have) * row);
  return step(st, st->frame);
}

static rly_status run(Stream *st) {
  bool end = false;
  while (!end && !asked) {
    int64_t rows, wanted = st->frame - st->have;
    rly_status status = read_rows(st, wanted, &rows);
    if (status != RLY_OK) return status;
    st->have += rows;
    st->unseen += rows;
    end = rows < wanted;
    if (!end) status = step(st, st->frame);
    if (!end && status == RLY_OK) status = advance(st, &end);
    if (status != RLY_OK) return status;
  }
  return finish(st);
}

/* --- The command -------------------------------------------------------- */

static rly_status start_state(Stream *st) {
  const Cli *cli = st->h->cli;
  if (cli->init)
    return rly_session_call(st->session, cli->init, 0, NULL, &st->state);
  if (cli->load_state) return rly_session_load(st->session, cli->load_state);
  return RLY_OK;
}

/* An interrupted step may have written some of its cells only. */
static rly_status save_state(Stream *st, rly_status status) {
  const char *path = st->h->cli->save_state;
  if (!path || (status != RLY_OK && !st->sink.gone)) return status;
  rly_status saved = rly_session_save(st->session, path);
  return saved == RLY_OK ? status : RLY_RUNTIME;
}

static int stream_in(Stream *st) {
  rly_status status = start_state(st);
  if (status == RLY_OK) status = run(st);
  status = save_state(st, status);
  rly_status written = sink_close(&st->sink, status == RLY_OK);
  if (status == RLY_OK) status = written;
  host_report(st->h);
  pulse_report(&st->pulse, &st->sink, st->h->cli->json);
  return status == RLY_OK && asked ? 130 : exit_status(status);
}

static int stream_session(Stream *st) {
  rly_session *s = st->session = host_session(st->h, false);
  if (!s) return 3;
  catch_signals(s);
  int status =
      sink_open(&st->sink, st->h, st->h->cli->output, st->h->cli->expect);
  if (!status) status = stream_in(st);
  running = NULL;
  rly_value_free(st->state);
  host_session_free(st->h, s);
  return status;
}

static int stream_program(Stream *st) {
  const Cli *cli = st->h->cli;
  if (!cli->words.count)
    return host_usage(st->h,
                      "rly stream needs a file: rly stream FILE.rly "
                      "--step NAME --input FILE");
  rly_status added =
      rly_program_add_file(st->h->program, cli->words.items[0], 0);
  if (added == RLY_OK) added = host_bind(st->h, 1, NULL);
  int status = exit_status(added);
  if (!status) status = find_step(st);
  if (!status) status = open_input(st);
  if (!status) status = stream_session(st);
  host_report(st->h);
  close_input(st);
  free(st->window);
  return status;
}

static int stream_on(Host *h) {
  Stream st = {.h = h, .in.fd = -1};
  return stream_program(&st);
}

int command_stream(const Cli *cli) { return host_run(cli, stream_on); }
