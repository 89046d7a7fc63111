/* Functions under way, as :where lists them at the prompt and `where` in the
 * stepper.
 *
 * After a run-time error the machine that ran has unwound its frames, so that
 * running costs nothing for it.  The prompt then evaluates the entry once more
 * by small steps, in silence and on copies of what the session had before it,
 * up to the error; there every variable still has its value.  The values are
 * the same, since both machines compute the same bits. */
#include "repl/frames.h"

#include <stdio.h>
#include <string.h>

#include "repl/repl.h"
#include "repl/step.h"

enum { SHOWN_FIRST = 10, SHOWN_LAST = 10, COPIED_MOST = 64 << 20 };

/* --- The list ------------------------------------------------------------- */

/* Takes lines, without the end of the last one. */
static void say(const Frames *f, StrBuf *lines) {
  StrBuf out;
  strbuf_init(&out, lines->mem);
  if (f->host->cli->json) step_json_text(&out, "frames", lines);
  else strbuf_addf(&out, "%s\n", strbuf_text(lines));
  host_write(f->host, strbuf_text(&out), out.len);
  strbuf_done(&out);
  strbuf_done(lines);
}

static size_t head_length(const StrBuf *text) {
  return strcspn(strbuf_text(text), "\n");
}

/* Are the two levels calls from the same place of the same function? */
static bool alike(const StrBuf *a, const StrBuf *b) {
  size_t n = head_length(a);
  return n == head_length(b) && !strncmp(strbuf_text(a), strbuf_text(b), n);
}

static void add_more(StrBuf *out, size_t repeated) {
  if (repeated) strbuf_addf(out, "\n     ... %zu more like this", repeated);
}

/* Levels alike are shown once; of many the first and the last are. */
void frames_where(const Frames *f) {
  Mem *mem = f->host->program->ir->mem;
  size_t count = stepper_level_count(f->stepper), repeated = 0;
  StrBuf out, now, before;
  strbuf_init(&out, mem);
  strbuf_init(&before, mem);
  for (size_t i = 0; i < count; i++) {
    if (i == SHOWN_FIRST && count > SHOWN_FIRST + SHOWN_LAST && !repeated) {
      size_t left = count - SHOWN_FIRST - SHOWN_LAST;
      strbuf_addf(&out, "\n     ... %zu more functions", left);
      i += left;
    }
    strbuf_init(&now, mem);
    stepper_level_print(f->stepper, i, false, &now);
    if (i && i != f->level && alike(&now, &before)) {
      repeated++;
      strbuf_done(&now);
      continue;
    }
    add_more(&out, repeated);
    repeated = 0;
    strbuf_addf(&out, "%s%s%3zu  %s", out.len ? "\n" : "",
                i == f->level ? ">" : " ", i, strbuf_text(&now));
    strbuf_done(&before);
    before = now;
  }
  add_more(&out, repeated);
  if (!count) strbuf_add(&out, "no function is under way");
  strbuf_done(&before);
  say(f, &out);
}

/* One level with all of its variables. */
static void show_level(const Frames *f) {
  StrBuf out;
  strbuf_init(&out, f->host->program->ir->mem);
  strbuf_addf(&out, ">%3zu  ", f->level);
  stepper_level_print(f->stepper, f->level, true, &out);
  say(f, &out);
}

void frames_move(Frames *f, int by) {
  size_t count = stepper_level_count(f->stepper);
  if (by > 0 && f->level + 1 >= count)
    fputs("this is the outermost function\n", stderr);
  else if (by < 0 && !f->level)
    fputs("this is the innermost function\n", stderr);
  else f->level += (size_t)(ptrdiff_t)by;
  show_level(f);
}

void frames_name(const Frames *f, char *out, size_t size) {
  StrBuf text;
  strbuf_init(&text, f->host->program->ir->mem);
  stepper_level_print(f->stepper, f->level, false, &text);
  const char *name = strbuf_text(&text);
  snprintf(out, size, "%.*s", *name == '@' ? (int)strcspn(name, " ") : 0, name);
  strbuf_done(&text);
}

/* --- Expressions ---------------------------------------------------------- */

static void print_value(void *frames, const StepValue *v) {
  const Frames *f = frames;
  StrBuf out;
  strbuf_init(&out, f->host->program->ir->mem);
  const StepMachine *m = stepper_machine(f->stepper);
  if (f->host->cli->json) step_print_json(m, &out, v);
  else step_print(m, &out, v, terminal_width());
  strbuf_add_char(&out, '\n');
  host_write(f->host, strbuf_text(&out), out.len);
  strbuf_done(&out);
}

void frames_evaluate(const Frames *f, const char *text) {
  StrBuf why;
  strbuf_init(&why, f->host->program->ir->mem);
  session_step_evaluate(f->session, f->stepper, f->level, text, print_value,
                        (void *)f, &why);
  host_report(f->host);
  if (why.len) fprintf(stderr, "%s\n", strbuf_text(&why));
  strbuf_done(&why);
}

/* --- At the prompt -------------------------------------------------------- */

static bool asked_to_stop(void *data) {
  (void)data;
  return host_was_interrupted();
}

void frames_forget(Repl *r) {
  stepper_free(r->frames.stepper);
  r->frames = (Frames){.host = r->host};
  rly_session_free(r->before);
  r->before = NULL;
  r->failed = NULL;
  r->cells_gone = false;
}

/* An entry that changes cells is evaluated again from what they held before
 * it.  A session's copy shares its tensors. */
void frames_prepare(Repl *r) {
  const rly_program *p = r->host->program;
  if (!p->newest || !p->newest->step_count) return;
  frames_forget(r);
  if (!unit_writes(p, p->newest)) return;
  r->cells_gone = rly_session_stats(r->session).live_bytes > COPIED_MOST;
  if (!r->cells_gone) r->before = session_copy(r->session);
}

void frames_failed(Repl *r) { r->failed = r->host->program->newest; }

/* Evaluates the entry again, up to the error. */
static bool stop_again(Repl *r) {
  rly_session *s = r->before ? r->before : r->session;
  StepStop stop = STOP_VALUE;
  Stepper *st = session_stepper_of(s, r->failed);
  if (!st) {
    host_report(r->host);
    return false;
  }
  stepper_when_to_stop(st, asked_to_stop, NULL);
  while (stop == STOP_VALUE) stop = stepper_move(st, MOVE_RUN);
  if (stop == STOP_ERROR) {
    r->frames = (Frames){.host = r->host, .session = s, .stepper = st};
    return true;
  }
  fprintf(stderr, stop == STOP_ASKED
                      ? "stopped while the entry was evaluated again\n"
                      : "evaluated again, the entry does not fail\n");
  stepper_free(st);
  return false;
}

static bool is_stopped(Repl *r) {
  if (r->frames.stepper) return true;
  if (r->failed && r->cells_gone)
    fputs(
        "the entry changed cells, and their old values were too large to "
        "keep\n",
        stderr);
  else if (r->failed) return stop_again(r);
  else
    fputs(
        "nothing is stopped: the last entry ended without a run-time "
        "error\n",
        stderr);
  return false;
}

void frames_run_where(Repl *r, const char *rest) {
  (void)rest;
  if (is_stopped(r)) frames_where(&r->frames);
}

void frames_run_up(Repl *r, const char *rest) {
  (void)rest;
  if (is_stopped(r)) frames_move(&r->frames, 1);
}

void frames_run_down(Repl *r, const char *rest) {
  (void)rest;
  if (is_stopped(r)) frames_move(&r->frames, -1);
}

void frames_run_leave(Repl *r, const char *rest) {
  (void)rest;
  if (r->frames.stepper) frames_forget(r);
  else fputs("nothing is stopped\n", stderr);
}

static bool begins_with(const char *text, const char *word) {
  size_t n = strlen(word);
  return !strncmp(text, word, n) && (text[n] == ' ' || text[n] == '\n');
}

/* Definitions are the session's, wherever one looks. */
bool frames_take(Repl *r, const char *text) {
  static const char *const items[] = {"let",   "def",    "type",
                                      "param", "import", "extern"};
  const char *innermost;
  if (!r->frames.stepper || rly_text_open(text, strlen(text), &innermost))
    return false;
  text += strspn(text, " \t\n");
  for (size_t i = 0; i < sizeof items / sizeof *items; i++)
    if (begins_with(text, items[i])) return false;
  frames_evaluate(&r->frames, text);
  return true;
}
