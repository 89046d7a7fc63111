/* A step on the terminal, or as a line of JSON. */
#include "repl/step.h"

#include <stdarg.h>
#include <string.h>

#include "lib/handles.h"

enum { LINES_SHOWN = 12, ALL_LINES = 1 << 20 };

static const char MARK[] = "\e[1;4m", DIM[] = "\e[2m", BOLD[] = "\e[1m",
                  PLAIN[] = "\e[0m";

void step_show_init(StepShow *w, Host *h, Stepper *s) {
  *w = (StepShow){.host = h, .stepper = s, .json = h->cli->json,
                  .colour = use_color(h->cli, stdout)};
  stepper_view_init(&w->view, h->program->ir->mem);
}

void step_show_done(StepShow *w) { stepper_view_done(&w->view); }


static const char *style(const StepShow *w, const char *code) {
  return w->colour ? code : "";
}

/* --- Words -------------------------------------------------------------- */

static void begin(StepShow *w, StrBuf *out) {
  strbuf_init(out, w->host->program->ir->mem);
}

static void end(StepShow *w, StrBuf *out) {
  host_write(w->host, strbuf_text(out), out->len);
  strbuf_done(out);
}

void step_say(StepShow *w, const char *format, ...) {
  StrBuf out;
  va_list args;
  begin(w, &out);
  strbuf_add(&out, style(w, DIM));
  va_start(args, format);
  strbuf_addv(&out, format, args);
  va_end(args);
  strbuf_addf(&out, "%s\n", style(w, PLAIN));
  end(w, &out);
}

/* --- A step ------------------------------------------------------------- */

/* The lines of the text from `from` to `to`, indented; what is marked stands
 * in brackets or, where there is colour, is underlined. */
static void add_text(StepShow *w, StrBuf *out, size_t from, size_t to) {
  const StepView *v = &w->view;
  const char *text = strbuf_text(&v->text);
  const char *open = w->colour ? MARK : "\u27e6";
  const char *close = w->colour ? PLAIN : "\u27e7";
  strbuf_add(out, "    ");
  if (v->lo < from && from < v->hi) strbuf_add(out, style(w, MARK));
  for (size_t i = from; i <= to; i++) {
    if (i == v->lo && v->hi > v->lo) strbuf_add(out, open);
    if (i == v->hi && v->hi > v->lo) strbuf_add(out, close);
    if (i == to) break;
    strbuf_add_char(out, text[i]);
    if (text[i] == '\n') strbuf_add(out, "    ");
  }
  if (to < v->hi) strbuf_add(out, style(w, PLAIN));
  strbuf_add_char(out, '\n');
}

static void add_elided(StepShow *w, StrBuf *out, size_t lines) {
  if (!lines) return;
  strbuf_addf(out, "    %s... %zu line%s%s\n", style(w, DIM), lines,
              lines == 1 ? "" : "s", style(w, PLAIN));
}

static void add_head(StepShow *w, StrBuf *out) {
  const StepView *v = &w->view;
  strbuf_addf(out, "%s%llu %s%s", style(w, BOLD),
              (unsigned long long)v->number, v->rule, style(w, PLAIN));
  strbuf_add(out, style(w, DIM));
  if (v->place.file) {
    strbuf_addf(out, "  %s:%u:%u", v->place.file->path, v->place.line,
                v->place.column);
  }
  if (v->inside.len) strbuf_addf(out, "  in %s", strbuf_text(&v->inside));
  strbuf_addf(out, "%s\n", style(w, PLAIN));
}

static void add_around(StepShow *w, StrBuf *out) {
  const StepView *v = &w->view;
  for (size_t i = 0; i < v->around.len; i++) {
    strbuf_addf(out, "    %s_ in: %s%s\n", style(w, DIM),
                strbuf_text(&v->around.data[i]), style(w, PLAIN));
  }
  if (v->outer) {
    strbuf_addf(out, "    %sand %llu more around that%s\n", style(w, DIM),
                (unsigned long long)v->outer, style(w, PLAIN));
  }
}

static void add_view(StepShow *w, StrBuf *out, size_t lines) {
  const StepView *v = &w->view;
  StepCut cut = stepper_cut(v, lines);
  add_head(w, out);
  add_elided(w, out, cut.before);
  add_text(w, out, cut.from, cut.to);
  add_elided(w, out, cut.behind);
  if (v->names.len) {
    strbuf_addf(out, "    %swhere %s%s\n", style(w, DIM),
                strbuf_text(&v->names), style(w, PLAIN));
  }
  add_around(w, out);
  strbuf_addf(out, "  %s\n", strbuf_text(&v->says));
  if (v->cells.len) strbuf_addf(out, "  %s\n", strbuf_text(&v->cells));
}

static void show(StepShow *w, size_t lines) {
  StrBuf out;
  begin(w, &out);
  stepper_view(w->stepper, &w->view);
  add_view(w, &out, lines);
  end(w, &out);
}

/* The value as `run` shows it, with what led there. */
static void show_value(StepShow *w) {
  StepMachine *m = stepper_machine(w->stepper);
  StrBuf out;
  begin(w, &out);
  strbuf_addf(&out, "%svalue%s%s after %llu step%s%s\n", style(w, BOLD),
              style(w, PLAIN), style(w, DIM),
              (unsigned long long)stepper_number(w->stepper),
              stepper_number(w->stepper) == 1 ? "" : "s", style(w, PLAIN));
  step_print(m, &out, step_result(m), terminal_width());
  strbuf_add_char(&out, '\n');
  end(w, &out);
}

/* --- Stops -------------------------------------------------------------- */

/* What a move went past, and what of that is folded. */
static void say_passed(StepShow *w) {
  Stepper *s = w->stepper;
  uint64_t passed = stepper_passed(s);
  if (!passed || w->json) return;
  StrBuf out;
  begin(w, &out);
  strbuf_addf(&out, "%s  (%llu step%s passed over", style(w, DIM),
              (unsigned long long)passed, passed == 1 ? "" : "s");
  const char *between = "; folded: ";
  for (StepFold kind = 0; kind < FOLD_COUNT; kind++) {
    uint64_t n = stepper_folded(s, kind);
    if (!n) continue;
    strbuf_addf(&out, "%s%s %llu", between, step_fold_info[kind].name,
                (unsigned long long)n);
    between = ", ";
  }
  strbuf_addf(&out, ")%s\n", style(w, PLAIN));
  end(w, &out);
}

static void show_json(StepShow *w) {
  StrBuf out;
  begin(w, &out);
  stepper_json(w->stepper, &out);
  end(w, &out);
}

static void say_limit(StepShow *w) {
  const StepFault *fault = step_fault(stepper_machine(w->stepper));
  step_say(w, "stopped after %llu steps: %s: %s",
           (unsigned long long)stepper_number(w->stepper),
           diag_code_text(fault->code), fault->message);
}

/* Why it stands where it does, where the step itself does not tell. */
static void say_why(StepShow *w, StepStop stop) {
  Stepper *s = w->stepper;
  switch (stop) {
    case STOP_BREAK:
      step_say(w, "stopped: breakpoint %s", stepper_stopped_by(s));
      break;
    case STOP_LIMIT: say_limit(w); break;
    case STOP_END:
      step_say(w, "the end: nothing is left to do after %llu steps",
               (unsigned long long)stepper_number(s));
      break;
    case STOP_START:
      step_say(w, "the record begins here, at step %llu",
               (unsigned long long)stepper_number(s));
      break;
    default: break;
  }
}

void step_show_stop(StepShow *w, StepStop stop) {
  bool moved = stop != STOP_END && stop != STOP_START && stop != STOP_LIMIT;
  say_passed(w);
  if (moved && w->json) show_json(w);
  else if (stop == STOP_VALUE) show_value(w);
  else if (moved) show(w, LINES_SHOWN);
  if (!w->json) say_why(w, stop);
}

void step_show_whole(StepShow *w) {
  if (!stepper_stands(w->stepper)) {
    step_say(w, "nothing has been done yet");
    return;
  }
  if (w->json) show_json(w);
  else show(w, ALL_LINES);
}

void step_show_cells(StepShow *w) {
  StrBuf out;
  begin(w, &out);
  stepper_cells(w->stepper, &out);
  if (!out.len) strbuf_add(&out, "there are no cells");
  strbuf_add_char(&out, '\n');
  end(w, &out);
}
