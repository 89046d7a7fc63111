/* Calls and operators over time, as Chrome's trace events (the Trace Event
 * Format, JSON): nested events for calls, one event for each operator, and a
 * counter of live bytes.  The text is sent in pieces to a receiver that writes
 * the file.
 *
 *   {"ph": "B", "name": "@f", ...}     a call begins
 *   {"ph": "X", "name": "add", "dur"}  an operator
 *   {"ph": "C", "name": "live bytes"}  the counter
 *   {"ph": "E", ...}                   the call ends
 *
 * Nobody announces calls and returns; they are seen from the number of frames
 * at each instruction.  `open` has the depths of the calls that have begun, so
 * its length is the nesting of events and its last entry the innermost call.
 *
 * At most EVENTS_MOST events are written, so a file stays readable; those left
 * out are counted at its end.  Ends of calls are always written, or the file
 * would not nest. */
#include <string.h>

#include "observe/observer.h"

enum { PIECE = 64 << 10, EVENTS_MOST = 1000000 };
static const uint64_t COUNTER_EVERY = 100000; /* ns */

struct Trace {
  Session *s;
  Observe what;
  StrBuf out;
  uint64_t start,
      counted; /* ns: start of the trace; time of the last counter event */
  uint64_t events, left_out;
  size_t live;        /* the value in the last counter event */
  VEC(uint32_t) open; /* the depths of the calls whose events are open */
  bool tail; /* the previous instruction was a tail call, which takes over the
                frame */
};

/* The receiver may be slow; it gets 64 KB at a time. */
static void flush(Trace *t) {
  t->what.trace(t->what.data, strbuf_text(&t->out), t->out.len);
  VEC_CLEAR(&t->out);
}

/* The file begins here and is a whole JSON text only after trace_free(). */
Trace *trace_new(Session *s, const Observe *what) {
  Trace *t = mem_alloc_zeroed(s->mem, sizeof *t);
  if (!t) return NULL;
  t->s = s;
  t->what = *what;
  t->start = observe_clock();
  strbuf_init(&t->out, s->mem);
  VEC_INIT(&t->open, s->mem);
  strbuf_add(&t->out, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [");
  return t;
}

/* --- Events ------------------------------------------------------------- */

static double micros(const Trace *t, uint64_t ns) {
  return (double)(ns - t->start) * 1e-3;
}

/* Writes an event up to its time; the caller completes it. */
static void event(Trace *t, const char *phase, const char *name, uint64_t at) {
  strbuf_addf(&t->out, "%s\n{\"ph\": \"%s\", \"name\": \"",
              t->events++ ? "," : "", phase);
  strbuf_add_escaped(&t->out, name, strlen(name));
  strbuf_addf(&t->out, "\", \"pid\": 1, \"tid\": 1, \"ts\": %.3f",
              micros(t, at));
}

/* Events end in the brace of the object. */
static void event_end(Trace *t) {
  strbuf_add_char(&t->out, '}');
  if (t->out.len >= PIECE) flush(t);
}

static void add_place(Trace *t, const Word *pc) {
  StrBuf place;
  strbuf_init(&place, t->s->mem);
  observe_place(t->s, pc, &place);
  strbuf_add(&t->out, ", \"args\": {\"at\": \"");
  strbuf_add_escaped(&t->out, strbuf_text(&place), place.len);
  strbuf_add_char(&t->out, '"');
  strbuf_done(&place);
}

/* Whether there is room for one more event.  Room to end an open event is
 * always kept. */
static bool has_room(Trace *t) {
  if (t->events < EVENTS_MOST) return true;
  t->left_out++;
  return false;
}

/* At most every 100 us, and only when the number has changed. */
static void add_counter(Trace *t, uint64_t now) {
  size_t live = atomic_load_explicit(&t->s->mem->live, memory_order_relaxed);
  if (live == t->live || now - t->counted < COUNTER_EVERY) return;
  if (t->events >= EVENTS_MOST) return;
  t->live = live;
  t->counted = now;
  event(t, "C", "live bytes", now);
  strbuf_addf(&t->out, ", \"args\": {\"bytes\": %zu}", live);
  event_end(t);
}

/* --- Calls -------------------------------------------------------------- */

/* An end needs no name: it belongs to the last beginning. */
static void call_ends(Trace *t) {
  (void)VEC_POP(&t->open);
  event(t, "E", "", observe_clock());
  event_end(t);
}

static void call_begins(Trace *t, const Word *pc, uint32_t depth) {
  const Function *f = code_place(t->s->code, pc).function;
  if (!f || !VEC_RESERVE(&t->open, 1) || !has_room(t)) return;
  uint64_t now = observe_clock();
  VEC_PUSH(&t->open, depth);
  event(t, "B", f->name, now);
  add_place(t, pc);
  strbuf_add_char(&t->out, '}');
  event_end(t);
  add_counter(t, now);
}

/* Finds the call that the frame belongs to.  A frame deeper than the last open
 * call is a new call; so is the same frame after a tail call.  A tail call
 * keeps the frame, so the depth does not show it; `tail` remembers that the
 * instruction before was one. */
void trace_step(Trace *t, const Word *pc, const Frame *top) {
  uint32_t depth = (uint32_t)(top - t->s->frames);
  if (t->tail && t->open.len) call_ends(t);
  while (t->open.len && VEC_LAST(&t->open) > depth) call_ends(t);
  if (!t->open.len || VEC_LAST(&t->open) < depth) call_begins(t, pc, depth);
  unsigned flags = ins_info[pc->op].flags;
  t->tail = flags & CALL && flags & END;
}

/* A complete event: its beginning and its duration in one. */
void trace_op(Trace *t, const Word *pc, const char *name, uint64_t start,
              double bytes) {
  uint64_t now = observe_clock();
  if (!has_room(t)) return;
  event(t, "X", name, start);
  strbuf_addf(&t->out, ", \"dur\": %.3f", (double)(now - start) * 1e-3);
  add_place(t, pc);
  strbuf_addf(&t->out, ", \"bytes\": %.0f}", bytes);
  event_end(t);
  add_counter(t, now);
}

/* The loop was left: whatever is open has ended, by a value or by a fault. */
void trace_pause(Trace *t) {
  t->tail = false;
  while (t->open.len) call_ends(t);
}

void trace_free(Trace *t) {
  if (!t) return;
  trace_pause(t);
  strbuf_addf(&t->out, "\n], \"otherData\": {\"events left out\": \"%llu\"}}\n",
              (unsigned long long)t->left_out);
  flush(t);
  strbuf_done(&t->out);
  VEC_DONE(&t->open);
  mem_free(t->s->mem, t, sizeof *t);
}
