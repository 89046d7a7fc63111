/* :dbg shows the value of each name in the order of evaluation, with its type,
 * facts about the value and the time it took.  The small-step machine evaluates
 * on copies of the session's values.  The lines shown before a failure stay. */
#include <stdio.h>
#include <time.h>

#include "lib/inside.h"
#include "repl/repl.h"
#include "repl/step.h"

/* How many bindings are shown from the beginning, and how many from the end. */
enum { SHOWN_MOST = 1000, LAST_MOST = 20, ASK_EVERY = 1024 };

typedef struct Dbg {
  Host *host;
  Stepper *stepper;
  double before;          /* the time at which the step before ended */
  VEC(double) starts;     /* start times of frames, the outermost first */
  uint64_t count;         /* number of bindings so far */
  StrBuf last[LAST_MOST]; /* a ring of the lines after SHOWN_MOST */
  uint64_t steps;
  double deadline; /* 0: none */
} Dbg;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- Names -------------------------------------------------------------- */

static void add_line(Dbg *d, const StepBound *b, StrBuf *out) {
  size_t frame = b->depth - 1;
  double s =
      now() - (frame < d->starts.len ? d->starts.data[frame] : d->before);
  stepper_print_bound(d->stepper, b, out);
  if (s < 1e-3) strbuf_addf(out, "  %.3g us\n", s * 1e6);
  else if (s < 1) strbuf_addf(out, "  %.3g ms\n", s * 1e3);
  else strbuf_addf(out, "  %.3g s\n", s);
}

static void put(Dbg *d, StrBuf *out) {
  host_write(d->host, strbuf_text(out), out->len);
  VEC_CLEAR(out);
}

static void show(void *dbg, const StepBound *b) {
  Dbg *d = dbg;
  if (b->library) return;
  StrBuf *line = &d->last[d->count % LAST_MOST];
  VEC_CLEAR(line);
  add_line(d, b, line);
  if (d->count++ < SHOWN_MOST) put(d, line);
}

/* Says how many lines were left out, and prints the last of them. */
static void show_last(Dbg *d) {
  uint64_t left = d->count > SHOWN_MOST ? d->count - SHOWN_MOST : 0;
  uint64_t kept = left < LAST_MOST ? left : LAST_MOST;
  if (left > kept) {
    printf("... %llu more bindings\n", (unsigned long long)(left - kept));
    fflush(stdout);
  }
  for (uint64_t i = d->count - kept; i < d->count; i++)
    put(d, &d->last[i % LAST_MOST]);
  d->count = 0;
}

/* --- The end ------------------------------------------------------------ */

/* The value of an item, unless the first line of the tree has all of it. */
static void show_value(Dbg *d) {
  StepMachine *m = stepper_machine(d->stepper);
  StrBuf out;
  show_last(d);
  strbuf_init(&out, d->starts.mem);
  step_print(m, &out, step_result(m), terminal_width());
  strbuf_add_char(&out, '\n');
  put(d, &out);
  strbuf_done(&out);
}

/* The message goes through a diagnostic, so that it has the place in the
 * source, as the same error has where the VM finds it. */
static void show_fault(Dbg *d) {
  rly_context *cx = d->host->cx;
  const StepFault *f = step_fault(stepper_machine(d->stepper));
  diag_new(&cx->diags, SEV_RUNTIME, f->code, f->span, "%s", f->message);
  host_report(d->host);
}

/* One round for each step.  Whether the time is over is asked every ASK_EVERY
 * steps only. */
static void evaluate(Dbg *d) {
  bool stopped = false;
  StepStop stop = STOP_STEP;
  d->before = now();
  while (!stopped && stop != STOP_END && stop != STOP_LIMIT) {
    stop = stepper_move(d->stepper, MOVE_STEP);
    if (stop == STOP_END || stop == STOP_LIMIT) break;
    stepper_each_bound(d->stepper, show, d);
    /* Frames that this step pushed began when the step before it ended. */
    uint32_t low = stepper_low(d->stepper), depth = stepper_depth(d->stepper);
    if (low < d->starts.len) d->starts.len = low;
    while (d->starts.len < depth && !mem_exhausted(d->starts.mem))
      VEC_PUSH(&d->starts, d->before);
    d->before = now();
    if (stop == STOP_VALUE) show_value(d);
    if (++d->steps % ASK_EVERY == 0)
      stopped =
          host_was_interrupted() || (d->deadline > 0 && now() > d->deadline);
  }
  show_last(d);
  if (stopped)
    fprintf(stderr, "stopped after %llu steps\n", (unsigned long long)d->steps);
  else if (step_fault(stepper_machine(d->stepper))->message) show_fault(d);
}

void dbg_run(Repl *r, const char *items) {
  double timeout = r->host->cli->limits.timeout;
  Dbg d = {.host = r->host, .deadline = timeout > 0 ? now() + timeout : 0};
  if (!step_add(r, items)) return;
  Mem *mem = r->host->program->ir->mem;
  VEC_INIT(&d.starts, mem);
  for (int i = 0; i < LAST_MOST; i++) strbuf_init(&d.last[i], mem);
  host_was_interrupted(); /* earlier interrupts do not count */
  d.stepper = session_stepper(r->session);
  if (d.stepper) evaluate(&d);
  stepper_free(d.stepper);
  VEC_DONE(&d.starts);
  session_failed(r->session, RLY_OK);
  for (int i = 0; i < LAST_MOST; i++) strbuf_done(&d.last[i]);
  step_leave(r);
}
