/* How a training goes: a line that is drawn again and again at a terminal,
 * lines on a pipe, and lines of JSON in a file.
 *
 *   epoch 3/10  step 300/1000  loss 0.0123  norm 0.31  rate 0.001  1250/s  9 s
 *
 * At a terminal that of an epoch ends with the curve of its losses, as blocks.
 *
 * On a pipe there is a line for each epoch, and between them one every PATIENCE
 * seconds, which ends in "left"; with --json each is an object. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "repl/display.h"
#include "repl/files.h"
#include "repl/train.h"

enum { PATIENCE = 10 };

/* --- JSON ---------------------------------------------------------------- */

int train_log_open(Training *t) {
  const char *path = t->h->cli->log;
  if (!path || !train_leads(t)) return 0;
  bool given = strcmp(path, "-");
  int code = given ? files_check_output(t->h, path, "the file of --log") : 0;
  if (code) return code;
  t->log = !given ? stdout : fopen(path, t->h->cli->resume ? "a" : "w");
  if (t->log) return 0;
  return host_unwritable(t->h, "cannot write %s: %s", path, strerror(errno));
}

/* A run goes on without its log, since its weights are worth more. */
static void end_line(Training *t) {
  if (fflush(t->log) && !t->log_error) t->log_error = errno;
}

/* host_finish() tells of stdout, of which it cannot know why a line of the log
 * was not written. */
int train_log_close(Training *t, int status) {
  if (!t->log) return status;
  if (t->log == stdout) {
    if (!t->h->write_error) t->h->write_error = t->log_error;
    return status;
  }
  if (fclose(t->log) && !t->log_error) t->log_error = errno;
  if (!t->log_error) return status;
  complain("rly: %s could not be written: %s", t->h->cli->log,
           strerror(t->log_error));
  return status ? status : EXIT_RUNTIME;
}

/* A number as JSON has it: NaN and infinities are null. */
static void put_json(StrBuf *out, const char *name, double x) {
  if (isfinite(x)) strbuf_addf(out, ", \"%s\": %.17g", name, x);
  else strbuf_addf(out, ", \"%s\": null", name);
}

static void log_line(Training *t, StrBuf *line) {
  fwrite(strbuf_text(line), 1, line->len, t->log);
  strbuf_done(line);
  end_line(t);
}

static void log_step(Training *t, const StepReport *r) {
  if (!t->log) return;
  StrBuf line;
  strbuf_init(&line, t->h->program->mem);
  strbuf_addf(&line, "{\"step\": %lld", (long long)t->step);
  put_json(&line, "loss", r->loss);
  put_json(&line, "norm", r->norm);
  put_json(&line, "rate", r->rate);
  strbuf_addf(&line, ", \"examples\": %lld, \"seconds\": %.6f}\n",
              (long long)r->examples, r->seconds);
  log_line(t, &line);
}

static void log_epoch(Training *t, const EpochReport *e) {
  if (!t->log) return;
  StrBuf line;
  strbuf_init(&line, t->h->program->mem);
  strbuf_addf(&line, "{\"epoch\": %lld, \"step\": %lld",
              (long long)(t->step / t->per_epoch), (long long)t->step);
  put_json(&line, "loss", e->loss);
  put_json(&line, "validation", e->validation);
  strbuf_addf(&line, ", \"best\": %s}\n", e->best ? "true" : "false");
  log_line(t, &line);
}

/* --- Lines --------------------------------------------------------------- */

/* A log on stdout is for a program: nothing else is written there.  Of several
 * processes one tells. */
static bool is_silent(const Training *t) {
  return t->h->cli->quiet || t->log == stdout || !train_leads(t);
}

static void put_duration(StrBuf *out, double seconds) {
  long s = (long)(seconds + 0.5);
  if (s < 100) strbuf_addf(out, "%ld s", s);
  else if (s < 6000) strbuf_addf(out, "%ld min", s / 60);
  else strbuf_addf(out, "%ld h %ld min", s / 3600, s / 60 % 60);
}

/* What a line tells. */
typedef struct Progress {
  const StepReport *step;
  const EpochReport *ended; /* the epoch that ended with it; NULL: none */
  int64_t epoch;
  double loss, speed, took, left; /* examples a second; seconds */
} Progress;

static Progress progress(const Training *t, const StepReport *r,
                         const EpochReport *e) {
  double took = clock_seconds() - t->begun;
  double each = took / (double)(t->step - t->first);
  return (Progress){.step = r,
                    .ended = e,
                    .epoch = (t->step + t->per_epoch - 1) / t->per_epoch,
                    .loss = e ? e->loss : t->smooth,
                    .speed = (double)t->seen / (took > 0 ? took : 1),
                    .took = took,
                    .left = each * (double)(t->steps - t->step)};
}

/* A NaN has a sign, of which nobody wants to hear. */
static double shown(double x) { return isnan(x) ? (double)NAN : x; }

static void put_line(const Training *t, const Progress *p, StrBuf *out) {
  const EpochReport *e = p->ended;
  strbuf_addf(out, "epoch %lld/%lld  step %lld/%lld  loss %.4g",
              (long long)p->epoch, (long long)t->epochs, (long long)t->step,
              (long long)t->steps, shown(p->loss));
  if (e && e->validated)
    strbuf_addf(out, "  validation %.4g%s", shown(e->validation),
                e->best ? " (best)" : "");
  strbuf_addf(out, "  norm %.3g  rate %.3g", p->step->norm, p->step->rate);
  strbuf_addf(out, "  %.0f/s  ", p->speed);
  put_duration(out, e ? p->took : p->left);
  strbuf_add(out, e ? "" : " left");
}

static void put_object(const Training *t, const Progress *p, StrBuf *out) {
  const EpochReport *e = p->ended;
  strbuf_addf(out,
              "{\"epoch\": %lld, \"epochs\": %lld, \"step\": %lld, "
              "\"steps\": %lld",
              (long long)p->epoch, (long long)t->epochs, (long long)t->step,
              (long long)t->steps);
  put_json(out, "loss", p->loss);
  if (e && e->validated) put_json(out, "validation", e->validation);
  if (e) strbuf_addf(out, ", \"best\": %s", e->best ? "true" : "false");
  put_json(out, "norm", p->step->norm);
  put_json(out, "rate", p->step->rate);
  strbuf_addf(out,
              ", \"examples_per_second\": %.1f, \"seconds\": %.3f, "
              "\"seconds_left\": %.3f}",
              p->speed, p->took, p->left);
}

/* How many epochs a curve shows; with room for fewer than the least there is no
 * curve. */
enum { CURVE_LEAST = 11, CURVE_MOST = 40 };

/* The losses of the latest epochs, in so many columns: a full block for the
 * largest, the lowest for the least. */
static void put_curve(const Training *t, size_t columns, StrBuf *out) {
  bool blocks = display_unicode();
  size_t room = columns > 3 ? columns - 3 : 0; /* two spaces and the cursor */
  size_t most = room < CURVE_MOST ? room : CURVE_MOST;
  size_t n = t->curve.len < most ? t->curve.len : most;
  const double *at = t->curve.data + (t->curve.len - n);
  double low = INFINITY, high = -INFINITY;
  for (size_t i = 0; i < n; i++) {
    low = fmin(low, at[i]);
    high = fmax(high, at[i]);
  }
  if (n < 2 || room < CURVE_LEAST) return;
  strbuf_add(out, "  ");
  for (size_t i = 0; i < n; i++) {
    double share = high > low ? (at[i] - low) / (high - low) : 0;
    int level = isfinite(share) ? (int)(share * 7.99) : 7;
    if (blocks) strbuf_add_code_point(out, 0x2581 + (uint32_t)level);
    else strbuf_add_char(out, ".:-=+*%#"[level]);
  }
}

/* mpirun gives its processes terminals, whatever its own output is. */
static bool is_drawn(const Training *t) {
  return !t->team && !t->h->cli->json && is_terminal(stdout);
}

static void write_line(Training *t, const StepReport *r, const EpochReport *e) {
  bool drawn = is_drawn(t);
  double now = clock_seconds(), wait = drawn ? 0.1 : PATIENCE;
  if (is_silent(t) || (!e && now - t->shown < wait)) return;
  t->shown = now;
  StrBuf line;
  strbuf_init(&line, t->h->program->mem);
  Progress p = progress(t, r, e);
  if (drawn) strbuf_add_char(&line, '\r');
  if (t->h->cli->json) put_object(t, &p, &line);
  else put_line(t, &p, &line);
  size_t room = (size_t)terminal_width();
  if (drawn && e && line.len < room) put_curve(t, room - line.len, &line);
  if (drawn && !e && line.len > room) line.len = room;
  if (drawn) strbuf_add(&line, "\x1b[K");
  if (e || !drawn) strbuf_add_char(&line, '\n');
  host_write(t->h, line.data, line.len);
  strbuf_done(&line);
}

/* A run that goes on may have as many steps as --epochs asks for already, or
 * more. */
void train_show_begin(const Training *t) {
  char line[256];
  if (is_silent(t) || !t->step) return;
  const char *format =
      t->h->cli->json ? "{\"resumed\": %lld, \"steps\": %lld}\n"
      : t->step < t->steps
          ? "goes on after step %lld of %lld\n"
          : "the run has %lld steps, and --epochs asks for %lld: there is "
            "nothing to do\n";
  int n = snprintf(line, sizeof line, format, (long long)t->step,
                   (long long)t->steps);
  host_write(t->h, line, (size_t)n);
}

void train_show_step(Training *t, const StepReport *r) {
  t->seen += r->examples;
  t->smooth = isnan(t->smooth) ? r->loss : 0.95 * t->smooth + 0.05 * r->loss;
  log_step(t, r);
  if (t->step % t->per_epoch) write_line(t, r, NULL); /* Else the epoch's. */
}

void train_show_epoch(Training *t, const StepReport *r, const EpochReport *e) {
  log_epoch(t, e);
  if (VEC_RESERVE(&t->curve, 1)) VEC_PUSH(&t->curve, e->loss);
  write_line(t, r, e);
}

void train_show_end(const Training *t) {
  if (is_drawn(t) && !is_silent(t)) host_write(t->h, "\r\x1b[K", 4);
}

static void show_object_of_end(const Training *t, TrainEnd end) {
  static const char *const names[] = {
      [TRAIN_DONE] = "done",           [TRAIN_PATIENCE] = "patience",
      [TRAIN_TIME] = "time limit",     [TRAIN_INTERRUPTED] = "interrupted",
      [TRAIN_NO_NUMBER] = "no number", [TRAIN_CUT] = "interrupted",
      [TRAIN_FAILED] = "error",
  };
  StrBuf line;
  strbuf_init(&line, t->h->program->mem);
  strbuf_addf(&line, "{\"step\": %lld, \"steps\": %lld, \"ended\": \"%s\"",
              (long long)t->step, (long long)t->steps, names[end]);
  if (end != TRAIN_NO_NUMBER && t->saved == t->step) {
    strbuf_add(&line, ", \"weights\": \"");
    strbuf_add_escaped(&line, t->folder, strlen(t->folder));
    strbuf_add(&line, "/weights.safetensors\"");
  }
  strbuf_add(&line, "}\n");
  host_write(t->h, strbuf_text(&line), line.len);
  strbuf_done(&line);
}

/* Before the first step there is nothing to keep. */
static void show_cut(const Training *t, const char *what) {
  fprintf(stderr, "%s after step %lld of %lld; ", what, (long long)t->step,
          (long long)t->steps);
  if (t->saved < 0) fprintf(stderr, "nothing is kept\n");
  else
    fprintf(stderr, "the same command with --resume goes on after step %lld\n",
            (long long)t->saved);
}

/* An end that is no success is told on stderr, with --json as well. */
void train_show_why(const Training *t, TrainEnd end) {
  bool json = t->h->cli->json && t->log != stdout;
  long long step = t->step, steps = t->steps;
  if (!train_leads(t)) return;
  if (json) show_object_of_end(t, end);
  switch (end) {
    case TRAIN_DONE:
    case TRAIN_PATIENCE:
      if (!json)
        fprintf(t->log == stdout ? stderr : stdout,
                "%lld steps of %lld; the weights are in "
                "%s/weights.safetensors\n",
                step, steps, t->folder);
      break;
    case TRAIN_TIME:
      t->h->said = true;
      fprintf(stderr,
              "the time limit is reached after step %lld of %lld; the same "
              "command with --resume goes on\n",
              step, steps);
      break;
    case TRAIN_INTERRUPTED:
      fprintf(stderr,
              "stopped after step %lld of %lld; the same command with --resume "
              "goes on\n",
              step, steps);
      break;
    case TRAIN_NO_NUMBER: break; /* stop_at_nan() says which. */
    case TRAIN_CUT: show_cut(t, "interrupted"); break;
    case TRAIN_FAILED: show_cut(t, "failed"); break;
  }
}
