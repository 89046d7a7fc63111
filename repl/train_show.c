/* How a training goes: a line that is drawn again and again at a terminal,
 * lines on a pipe, and lines of JSON in a file.
 *
 *   epoch 3/10  step 300/1000  loss 0.0123  norm 0.31  rate 0.001  1250/s  9 s
 *
 * At a terminal that of an epoch ends with the curve of its losses, as blocks.
 *
 * On a pipe there is a line for each epoch, and between them one every PATIENCE
 * seconds, which ends in "left". */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "repl/display.h"
#include "repl/train.h"

enum { PATIENCE = 10 };

/* --- JSON ---------------------------------------------------------------- */

int train_log_open(Training *t) {
  const char *path = t->h->cli->log;
  if (!path || !train_leads(t)) return 0;
  t->log =
      !strcmp(path, "-") ? stdout : fopen(path, t->h->cli->resume ? "a" : "w");
  if (t->log) return 0;
  return host_usage(t->h, "cannot write %s", path);
}

/* A run goes on without its log, since its weights are worth more. */
static void end_line(Training *t) {
  if (fflush(t->log) && !t->log_error) t->log_error = errno;
}

/* A log on stdout is looked at by host_finish(). */
int train_log_close(Training *t, int status) {
  if (!t->log || t->log == stdout) return status;
  if (fclose(t->log) && !t->log_error) t->log_error = errno;
  if (!t->log_error) return status;
  fprintf(stderr, "rly: %s could not be written: %s\n", t->h->cli->log,
          strerror(t->log_error));
  return status ? status : 2;
}

/* A number as JSON has it: NaN and infinities are null. */
static void put_json(FILE *out, const char *name, double x) {
  if (isfinite(x)) fprintf(out, ", \"%s\": %.17g", name, x);
  else fprintf(out, ", \"%s\": null", name);
}

static void log_step(Training *t, const StepReport *r) {
  if (!t->log) return;
  fprintf(t->log, "{\"step\": %lld", (long long)t->step);
  put_json(t->log, "loss", r->loss);
  put_json(t->log, "norm", r->norm);
  put_json(t->log, "rate", r->rate);
  fprintf(t->log, ", \"examples\": %lld, \"seconds\": %.6f}\n",
          (long long)r->examples, r->seconds);
  end_line(t);
}

static void log_epoch(Training *t, const EpochReport *e) {
  if (!t->log) return;
  fprintf(t->log, "{\"epoch\": %lld, \"step\": %lld",
          (long long)(t->step / t->per_epoch), (long long)t->step);
  put_json(t->log, "loss", e->loss);
  put_json(t->log, "validation", e->validation);
  fprintf(t->log, ", \"best\": %s}\n", e->best ? "true" : "false");
  end_line(t);
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

/* The line of a step; `e` of the end of an epoch, or NULL. */
static void put_line(const Training *t, const StepReport *r,
                     const EpochReport *e, StrBuf *out) {
  int64_t epoch = (t->step + t->per_epoch - 1) / t->per_epoch;
  double took = clock_seconds() - t->begun;
  double each = took / (double)(t->step - t->first);
  strbuf_addf(out, "epoch %lld/%lld  step %lld/%lld  loss %.4g",
              (long long)epoch, (long long)t->epochs, (long long)t->step,
              (long long)t->steps, e ? e->loss : t->smooth);
  if (e && e->validated)
    strbuf_addf(out, "  validation %.4g%s", e->validation,
                e->best ? " (best)" : "");
  strbuf_addf(out, "  norm %.3g  rate %.3g", r->norm, r->rate);
  strbuf_addf(out, "  %.0f/s  ", (double)t->seen / (took > 0 ? took : 1));
  put_duration(out, e ? took : each * (double)(t->steps - t->step));
  strbuf_add(out, e ? "" : " left");
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
  return !t->team && is_terminal(stdout);
}

static void write_line(Training *t, const StepReport *r, const EpochReport *e) {
  bool drawn = is_drawn(t);
  double now = clock_seconds(), wait = drawn ? 0.1 : PATIENCE;
  if (is_silent(t) || (!e && now - t->shown < wait)) return;
  t->shown = now;
  StrBuf line;
  strbuf_init(&line, t->h->program->mem);
  if (drawn) strbuf_add_char(&line, '\r');
  put_line(t, r, e, &line);
  size_t room = (size_t)terminal_width();
  if (drawn && e && line.len < room) put_curve(t, room - line.len, &line);
  if (drawn && !e && line.len > room) line.len = room;
  if (drawn) strbuf_add(&line, "\x1b[K");
  if (e || !drawn) strbuf_add_char(&line, '\n');
  host_write(t->h, line.data, line.len);
  strbuf_done(&line);
}

void train_show_begin(const Training *t) {
  char line[256];
  if (is_silent(t) || !t->step) return;
  int n = snprintf(line, sizeof line, "goes on after step %lld of %lld\n",
                   (long long)t->step, (long long)t->steps);
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
