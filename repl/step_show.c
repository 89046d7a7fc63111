/* A step on the terminal, or as a line of JSON.
 *
 *   11 variable  f.rly:2:7  in @fact           number, rule, place, function
 *       if ([[%n]] == 0) { 1 } else { ... }    the text, the redex marked
 *       where %n = 1                           the variables in it
 *       _ in: 2 * _  in @fact                  who waits for its value
 *     `%n` is 1 (int32).                       the rule as a sentence
 *
 * The redex is underlined where there is colour; elsewhere it stands in the
 * brackets U+27E6 and U+27E7.  Everything is laid out in one text and written
 * at once, so that a reader of the pipe gets whole steps.  The texts themselves
 * are the stepper's (StepView); here they are only cut to the screen: at most
 * LINES_SHOWN lines, long lines near the mark. */
#include "repl/step.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "lib/inside.h"

/* `show` prints all lines; NEAR is how many bytes around a mark stay of a very
 * long line. */
enum { LINES_SHOWN = 12, ALL_LINES = 1 << 20, NEAR = 300 };

static const char MARK[] = "\e[1;4m", DIM[] = "\e[2m", BOLD[] = "\e[1m",
                  PLAIN[] = "\e[0m";

void step_show_init(StepShow *w, Host *h, Stepper *s) {
  *w = (StepShow){.host = h,
                  .stepper = s,
                  .json = h->cli->json,
                  .colour = use_color(h->cli, stdout)};
  if (is_terminal(stdout)) w->width = (size_t)terminal_width();
  stepper_view_init(&w->view, h->program->ir->mem);
}

void step_show_done(StepShow *w) { stepper_view_done(&w->view); }

/* The escape sequence, or nothing. */
static const char *style(const StepShow *w, const char *code) {
  return w->colour ? code : "";
}

/* --- Words -------------------------------------------------------------- */

/* Texts live in the program's Mem; one that could not be built whole is not
 * written. */
static void begin(StepShow *w, StrBuf *out) {
  strbuf_init(out, w->host->program->ir->mem);
}

static void end(StepShow *w, StrBuf *out) {
  if (!mem_exhausted(out->mem)) host_write(w->host, strbuf_text(out), out->len);
  strbuf_done(out);
}

void step_json_text(StrBuf *out, const char *key, const StrBuf *text) {
  strbuf_addf(out, "{\"%s\": \"", key);
  strbuf_add_escaped(out, strbuf_text(text), text->len);
  strbuf_add(out, "\"}\n");
}

/* A line about the steps and none of them, so it is dim. */
void step_say(StepShow *w, const char *format, ...) {
  StrBuf text, out;
  va_list args;
  begin(w, &text);
  begin(w, &out);
  va_start(args, format);
  strbuf_addv(&text, format, args);
  va_end(args);
  if (w->json) step_json_text(&out, "note", &text);
  else
    strbuf_addf(&out, "%s%s%s\n", style(w, DIM), strbuf_text(&text),
                style(w, PLAIN));
  strbuf_done(&text);
  end(w, &out);
}

/* Prints `before` and the text.  On a terminal, long text is broken between
 * words and continues with more indentation.  Words that are wider than the
 * line stand alone; blanks between words are kept, since they may separate
 * columns. */
static void add_words(StepShow *w, StrBuf *out, const char *before,
                      const char *text, const char *code) {
  size_t indent = strspn(before, " ") + 2, at = strlen(before);
  strbuf_addf(out, "%.*s%s%s", (int)indent - 2, before, style(w, code),
              before + indent - 2);
  while (*text) {
    size_t blanks = strspn(text, " "), n = strcspn(text + blanks, " ");
    size_t width = utf8_width(text + blanks, n);
    if (w->width && at + blanks + width > w->width && at > indent) {
      strbuf_addf(out, "\n%*s", (int)indent, "");
      at = indent;
    } else {
      strbuf_add_repeat(out, ' ', blanks);
      at += blanks;
    }
    strbuf_add_len(out, text + blanks, n);
    text += blanks + n;
    at += width;
  }
  strbuf_addf(out, "%s\n", *code ? style(w, PLAIN) : "");
}

/* --- A step ------------------------------------------------------------- */

/* Written without subtraction: both are unsigned. */
static bool is_near(size_t a, size_t b) { return a < b + NEAR && b < a + NEAR; }

/* Shortens a very long line to the parts around its beginning and the ends of
 * the mark, at whole characters.  A part that is left out runs from `at` to
 * its `end`. */
static size_t skip_far(const StepText *t, size_t from, size_t at, size_t end) {
  const char *text = strbuf_text(&t->text);
  while (at < end && text[at] != '\n' &&
         (utf8_continues(text[at]) ||
          !(is_near(at, from) || is_near(at, t->lo) || is_near(at, t->hi))))
    at++;
  return at;
}

/* Prints one line of the text, up to `end`.  Where the mark continues from the
 * line before, the indentation is not underlined.  Returns the start of the
 * next line.  The mark may begin and end anywhere: in the middle of the line,
 * in the line before, after the last character.  So both ends are looked for
 * at each byte, and the loop runs once more at `end`. */
static size_t add_line(StepShow *w, StrBuf *out, size_t at, size_t end) {
  const StepText *t = &w->view.now;
  const char *text = strbuf_text(&t->text);
  bool marked = t->hi > t->lo;
  size_t from = at;
  strbuf_add(out, "    ");
  for (; at < end && at != t->lo && text[at] == ' '; at++)
    strbuf_add_char(out, ' ');
  if (t->lo < at && at < t->hi) strbuf_add(out, style(w, MARK));
  for (;; at++) {
    if (marked && at == t->lo) strbuf_add(out, w->colour ? MARK : "\u27e6");
    if (marked && at == t->hi) strbuf_add(out, w->colour ? PLAIN : "\u27e7");
    if (at == end || text[at] == '\n') break;
    size_t next =
        w->whole || utf8_continues(text[at]) ? at : skip_far(t, from, at, end);
    if (next > at) {
      strbuf_add(out, " ... ");
      at = next - 1;
      continue;
    }
    strbuf_add_char(out, text[at]);
  }
  if (t->lo <= at && at < t->hi) strbuf_add(out, style(w, PLAIN));
  strbuf_add_char(out, '\n');
  return at + 1;
}

/* Prints the lines from `from` to `to`.  The marked part is underlined if there
 * is colour, and in brackets otherwise. */
static void add_text(StepShow *w, StrBuf *out, size_t from, size_t to) {
  if (!w->view.now.text.len) return;
  for (size_t at = from; at <= to;) at = add_line(w, out, at, to);
}

static void add_elided(StepShow *w, StrBuf *out, size_t lines) {
  if (!lines) return;
  strbuf_addf(out, "    %s... %zu line%s%s\n", style(w, DIM), lines,
              lines == 1 ? "" : "s", style(w, PLAIN));
}

static void add_head(StepShow *w, StrBuf *out) {
  const StepView *v = &w->view;
  strbuf_addf(out, "%s%llu %s%s", style(w, BOLD), (unsigned long long)v->number,
              v->rule, style(w, PLAIN));
  strbuf_add(out, style(w, DIM));
  if (v->place.file) {
    strbuf_addf(out, "  %s:%u:%u", v->place.file->path, v->place.line,
                v->place.column);
  }
  if (v->inside.len) strbuf_addf(out, "  in %s", strbuf_text(&v->inside));
  strbuf_addf(out, "%s\n", style(w, PLAIN));
}

/* Who waits for this function's value, the innermost first. */
static void add_around(StepShow *w, StrBuf *out) {
  const StepView *v = &w->view;
  for (size_t i = 0; i < v->around.len; i++)
    add_words(w, out, "    _ in: ", strbuf_text(&v->around.data[i]), DIM);
  if (v->outer) {
    strbuf_addf(out, "    %sand %llu more around that%s\n", style(w, DIM),
                (unsigned long long)v->outer, style(w, PLAIN));
  }
}

/* The order in which a person reads: what happens where, to what, and why. */
static void add_view(StepShow *w, StrBuf *out, size_t lines) {
  const StepView *v = &w->view;
  StepCut cut = stepper_cut(&v->now, lines);
  add_head(w, out);
  add_elided(w, out, cut.before);
  add_text(w, out, cut.from, cut.to);
  add_elided(w, out, cut.behind);
  if (v->names.len)
    add_words(w, out, "    where ", strbuf_text(&v->names), DIM);
  add_around(w, out);
  add_words(w, out, "  ", strbuf_text(&v->says), "");
  if (v->cells.len) add_words(w, out, "  ", strbuf_text(&v->cells), "");
}

/* The view is made anew each time; its buffers are the StepShow's. */
static void show(StepShow *w, size_t lines) {
  StrBuf out;
  begin(w, &out);
  stepper_view(w->stepper, &w->view);
  w->whole = lines == ALL_LINES;
  add_view(w, &out, lines);
  end(w, &out);
}

/* Prints the value as `run` does, with the events that led to it. */
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

/* Says how many steps a move passed, and how many of them are folded. */
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

const char *steps_text(uint64_t count, char text[STEPS_TEXT]) {
  snprintf(text, STEPS_TEXT, "%llu step%s", (unsigned long long)count,
           count == 1 ? "" : "s");
  return text;
}

static void say_limit(StepShow *w) {
  const StepFault *fault = step_fault(stepper_machine(w->stepper));
  char steps[STEPS_TEXT];
  step_say(w, "stopped after %s: %s: %s",
           steps_text(stepper_number(w->stepper), steps),
           diag_code_text(fault->code), fault->message);
  w->host->said |= !mem_exhausted(w->host->program->mem);
}

/* Says why the stepper stopped, unless the step itself shows it. */
static void say_why(StepShow *w, StepStop stop) {
  Stepper *s = w->stepper;
  char steps[STEPS_TEXT];
  switch (stop) {
    case STOP_BREAK:
      step_say(w, "stopped: breakpoint %s", stepper_stopped_by(s));
      break;
    case STOP_LIMIT: say_limit(w); break;
    case STOP_END:
      step_say(w, "the end: nothing is left to do after %s",
               steps_text(stepper_number(s), steps));
      break;
    case STOP_START:
      step_say(w, "the record begins here, at step %llu",
               (unsigned long long)stepper_number(s));
      break;
    default: break;
  }
}

/* At the end of the program, at the beginning of the record and at a limit
 * there is no new step to show. */
void step_show_stop(StepShow *w, StepStop stop) {
  bool moved = stop != STOP_END && stop != STOP_START && stop != STOP_LIMIT;
  say_passed(w);
  if (moved && w->json) show_json(w);
  else if (stop == STOP_VALUE) show_value(w);
  else if (moved) show(w, LINES_SHOWN);
  say_why(w, stop);
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
  StrBuf cells, out;
  begin(w, &cells);
  begin(w, &out);
  stepper_cells(w->stepper, &cells);
  if (!cells.len) step_say(w, "there are no cells");
  else if (w->json) step_json_text(&out, "cells", &cells);
  else strbuf_addf(&out, "%s\n", strbuf_text(&cells));
  strbuf_done(&cells);
  end(w, &out);
}
