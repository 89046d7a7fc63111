/* rly step --strategy NAME: what a strategy does otherwise than the language.
 *
 * The program is evaluated once more by each of the two, without a word, and
 * what can be seen of it from outside is listed: what is printed, what cells
 * are made and written, what items give, how it ends.  The first line in which
 * the lists differ is reported.  Values that nobody sees may come in another
 * order or not at all; that is what strategies are for. */
#include <stdlib.h>
#include <string.h>

#include "repl/step.h"

enum { STEPS_MOST = 200000 };

typedef struct Event {
  StrBuf text; /* "prints `2`" */
  Span span;
} Event;

typedef struct Seen {
  Stepper *stepper;
  const StepStrategy *strategy;
  Mem *mem;
  VEC(Event) events;
  StrBuf printed; /* since the last event */
  StepView view;
  uint64_t steps;
  bool whole; /* up to its end */
} Seen;

static void take_output(void *data, const char *text, size_t len) {
  Seen *seen = data;
  strbuf_add_len(&seen->printed, text, len);
}

static Event *add(Seen *seen, Span span) {
  Event event = {.span = span};
  strbuf_init(&event.text, seen->mem);
  size_t before = seen->events.len;
  VEC_PUSH(&seen->events, event);
  return seen->events.len > before ? &seen->events.data[before] : NULL;
}

static void add_printed(Seen *seen, Span span) {
  Event *event = add(seen, span);
  size_t n = seen->printed.len;
  const char *text = strbuf_text(&seen->printed);
  while (n > 0 && text[n - 1] == '\n') n--;
  if (event) {
    strbuf_add(&event->text, "prints `");
    strbuf_add_len(&event->text, text, n);
    strbuf_add_char(&event->text, '`');
  }
  VEC_CLEAR(&seen->printed);
}

/* "cell#1 = 5 -> 6". */
static void add_cells(Seen *seen, Span span) {
  stepper_view(seen->stepper, &seen->view);
  Event *event = add(seen, span);
  if (event) strbuf_add(&event->text, strbuf_text(&seen->view.cells));
}

static void add_value(Seen *seen, StepMachine *m) {
  Event *event = add(seen, step_span(m));
  if (!event) return;
  strbuf_add(&event->text, "gives ");
  step_print(m, &event->text, step_result(m), 80);
}

static void add_fault(Seen *seen, StepMachine *m) {
  const StepFault *fault = step_fault(m);
  Event *event = add(seen, fault->span);
  if (event)
    strbuf_addf(&event->text, "fails: %s: %s", diag_code_text(fault->code),
                fault->message);
}

/* Unused expressions of a page are items, too: each gives its value. */
static void watch(Seen *seen, bool (*asked)(void *data), void *data) {
  StepMachine *m = stepper_machine(seen->stepper);
  StepStop stop = STOP_STEP;
  while (seen->steps < STEPS_MOST && !asked(data) &&
         !mem_exhausted(seen->mem) &&
         (stop == STOP_STEP || stop == STOP_VALUE)) {
    stop = stepper_move(seen->stepper, MOVE_STEP);
    seen->steps += stop == STOP_STEP;
    if (stop == STOP_VALUE) add_value(seen, m);
    if (stop == STOP_ERROR) add_fault(seen, m);
    if (stop != STOP_STEP) continue;
    StepRule rule = step_rule(m);
    if (rule == REDUCE_PRINT) add_printed(seen, step_span(m));
    if (rule == REDUCE_REF || rule == REDUCE_WRITE)
      add_cells(seen, step_span(m));
  }
  seen->whole = stop == STOP_END || stop == STOP_ERROR;
}

static bool start(Seen *seen, Host *h, rly_session *s,
                  const rly_function *entry, const StepStrategy *strategy) {
  *seen = (Seen){.mem = h->program->ir->mem, .strategy = strategy};
  VEC_INIT(&seen->events, seen->mem);
  strbuf_init(&seen->printed, seen->mem);
  stepper_view_init(&seen->view, seen->mem);
  seen->stepper = session_stepper(s, NULL);
  if (!seen->stepper) return false;
  StepMachine *m = stepper_machine(seen->stepper);
  step_use_strategy(m, strategy);
  step_write_to(m, take_output, seen);
  return !entry || session_step_call(s, seen->stepper, entry) == RLY_OK;
}

static void done(Seen *seen) {
  for (size_t i = 0; i < seen->events.len; i++)
    strbuf_done(&seen->events.data[i].text);
  VEC_DONE(&seen->events);
  strbuf_done(&seen->printed);
  stepper_view_done(&seen->view);
  stepper_free(seen->stepper);
}

/* --- The report ----------------------------------------------------------- */

static void add_side(const Host *h, StrBuf *out, const Seen *seen, size_t i) {
  strbuf_addf(out, "\n  %-13s ", step_strategy_name(seen->strategy));
  if (i >= seen->events.len) {
    strbuf_add(out, "does nothing more");
    return;
  }
  const Event *event = &seen->events.data[i];
  strbuf_add(out, strbuf_text(&event->text));
  Place place = sources_place(h->program->ir->sources, event->span);
  if (place.file && event->text.len)
    strbuf_addf(out, "  at %s:%u:%u", place.file->path, place.line,
                place.column);
}

static void report(StepShow *show, const Seen *language, const Seen *other) {
  const Host *h = show->host;
  const char *name = step_strategy_name(other->strategy);
  size_t i = 0, n = language->events.len, k = other->events.len;
  bool whole = language->whole && other->whole;
  char steps[STEPS_TEXT];
  while (i < n && i < k &&
         !strcmp(strbuf_text(&language->events.data[i].text),
                 strbuf_text(&other->events.data[i].text)))
    i++;
  if (i == n && i == k && whole) {
    step_say(show,
             "%s gives and prints what the language does, in %s instead of "
             "%llu",
             name, steps_text(other->steps, steps),
             (unsigned long long)language->steps);
  } else if ((i == n || i == k) && !whole) {
    step_say(show, "up to step %d, %s gives and prints what the language does",
             STEPS_MOST, name);
  } else {
    StrBuf out;
    strbuf_init(&out, h->program->ir->mem);
    add_side(h, &out, language, i);
    add_side(h, &out, other, i);
    step_say(show, "the first difference from the language:%s",
             strbuf_text(&out));
    strbuf_done(&out);
  }
}

void strategy_compare(StepShow *show, rly_session *s, const rly_function *entry,
                      const StepStrategy *strategy, bool (*asked)(void *data),
                      void *data) {
  Seen language, other;
  bool ok = start(&language, show->host, s, entry, step_strategy_at(0));
  ok &= start(&other, show->host, s, entry, strategy);
  if (ok) watch(&language, asked, data);
  if (ok) watch(&other, asked, data);
  if (ok && !asked(data)) report(show, &language, &other);
  done(&language);
  done(&other);
}

const StepStrategy *strategy_of(Host *h) {
  const char *name = h->cli->strategy;
  const StepStrategy *found = step_strategy_find(name);
  if (found) return found;
  StrBuf text;
  strbuf_init(&text, h->program->ir->mem);
  for (int i = 0; (found = step_strategy_at(i)); i++)
    strbuf_addf(&text, "\n  %-13s  %s", step_strategy_name(found),
                step_strategy_sentence(found));
  host_usage(h, "there is no strategy `%s`:%s", name, strbuf_text(&text));
  strbuf_done(&text);
  return NULL;
}
