/* Diagnostics for the host, of a context or of a session.
 *
 * Rendering locks the context, because it fills the line tables of the shared
 * source map.  A session's diagnostics are its own, so that two sessions do not
 * mix their reports; their places are in the context's sources.
 *
 * The texts that hosts get are copies, and the places and messages of
 * rly_diagnostic and rly_note are borrowed until the diagnostics are cleared.
 *
 * A host has three ways to them: the text that rly prints, JSON for an editor,
 * or the parts one by one, for hosts that draw messages in a way of their own.
 * All read the same list, so none can know less than another. */
#include <string.h>

#include "lib/handles.h"

/* --- Both alike --------------------------------------------------------- */

/* A message must reach the host even after memory ran out, so its text may go
 * beyond the limit.  mem_local() makes a Mem whose `exhausted` nobody else
 * sees: that a message was long is no failure of the context. */
static char *text_beyond(rly_context *cx, StrBuf *text) {
  Mem mem = mem_local(&cx->mem);
  char *copy = mem_overdraw(&mem, text->len + 1);
  if (copy) memcpy(copy, strbuf_text(text), text->len + 1);
  strbuf_done(text);
  return copy;
}

/* The colours and the width are the host's wish; a library does not look at
 * terminals. */
static char *render_text(rly_context *cx, const Diags *diags, bool colour) {
  Mem mem = mem_local(&cx->mem);
  StrBuf out;
  strbuf_init(&out, &mem);
  context_lock(cx);
  DiagLook look = {.colour = colour, .columns = cx->columns};
  diags_render(diags, &cx->sources, look, &out);
  context_unlock(cx);
  return text_beyond(cx, &out);
}

static char *render_json(rly_context *cx, const Diags *diags) {
  Mem mem = mem_local(&cx->mem);
  StrBuf out;
  strbuf_init(&out, &mem);
  context_lock(cx);
  diags_render_json(diags, &cx->sources, &out);
  context_unlock(cx);
  return text_beyond(cx, &out);
}

/* Notes and then the frames of the trace are numbered through: k below
 * notes.len is a note.  One numbering, because a host that lists places does
 * not mind which are which; one that does has frame_count and knows that they
 * come last. */
static bool fill_note(rly_context *cx, const Diags *diags, size_t i, size_t k,
                      rly_note *out) {
  const Diag *d = diags_at(diags, i);
  if (!out || !d || k >= d->notes.len + d->frames.len) return false;
  bool frame = k >= d->notes.len;
  size_t at = frame ? k - d->notes.len : k;
  out->block = 0;
  out->repeats = 0;
  if (frame) {
    const DiagFrame *call = &d->frames.data[at];
    out->message = call->function;
    out->block = call->block;
    out->repeats = call->repeats;
    place_give(cx, call->span, &out->place);
  } else {
    out->message = d->notes.data[at].message;
    place_give(cx, d->notes.data[at].span, &out->place);
  }
  return true;
}

/* --- A context's -------------------------------------------------------- */

/* Locks although it only reads: another thread may be reporting. */
size_t rly_diagnostic_count(const rly_context *cx) {
  if (!cx) return 0;
  rly_context *locked = (rly_context *)cx;
  context_lock(locked);
  size_t count = diags_count(&cx->diags);
  context_unlock(locked);
  return count;
}

size_t rly_diagnostic_total(const rly_context *cx) {
  if (!cx) return 0;
  rly_context *locked = (rly_context *)cx;
  context_lock(locked);
  size_t total = cx->diags.errors + cx->diags.warnings;
  context_unlock(locked);
  return total;
}

void rly_diagnostics_width(rly_context *cx, int columns) {
  if (!cx) return;
  context_lock(cx);
  cx->columns = columns > 0 ? (size_t)columns : 0;
  context_unlock(cx);
}

char *rly_diagnostics_text(rly_context *cx, bool colour) {
  return require(cx, "the context is NULL")
             ? render_text(cx, &cx->diags, colour)
             : NULL;
}

char *rly_diagnostics_json(rly_context *cx) {
  return require(cx, "the context is NULL") ? render_json(cx, &cx->diags)
                                            : NULL;
}

bool rly_diagnostic_get(rly_context *cx, size_t i, rly_diagnostic *out) {
  if (!cx) return false;
  context_lock(cx);
  bool found = diagnostic_give(cx, &cx->diags, i, out);
  context_unlock(cx);
  return found;
}

bool rly_diagnostic_note(rly_context *cx, size_t i, size_t k, rly_note *out) {
  if (!cx) return false;
  context_lock(cx);
  bool found = fill_note(cx, &cx->diags, i, k, out);
  context_unlock(cx);
  return found;
}

void rly_diagnostics_clear(rly_context *cx) {
  if (!cx) return;
  context_lock(cx);
  diags_clear(&cx->diags);
  cx->told = 0;
  context_unlock(cx);
}

/* An unknown code counts as E0506, so that the message is not lost. */
void rly_diagnostic_add(rly_context *cx, const char *code,
                        const char *message) {
  if (!cx || !code || !message) return;
  DiagCode known = diag_code_find(code);
  if (known == DIAG_CODE_COUNT) known = E0506;
  context_lock(cx);
  diag_error(&cx->diags, known, SPAN_NONE, "%s", message);
  context_unlock(cx);
}

/* --- A session's -------------------------------------------------------- */

size_t rly_session_diagnostic_count(rly_session *s) {
  if (!session_hold(s)) return 0;
  size_t count = diags_count(&s->diags);
  session_release(s);
  return count;
}

size_t rly_session_diagnostic_total(rly_session *s) {
  if (!session_hold(s)) return 0;
  size_t total = s->diags.errors + s->diags.warnings;
  session_release(s);
  return total;
}

/* The session is held, so no run adds to them meanwhile. */
char *rly_session_diagnostics_text(rly_session *s, bool colour) {
  if (!session_hold(s)) return NULL;
  char *text = render_text(s->program->cx, &s->diags, colour);
  session_release(s);
  return text;
}

char *rly_session_diagnostics_json(rly_session *s) {
  if (!session_hold(s)) return NULL;
  char *text = render_json(s->program->cx, &s->diags);
  session_release(s);
  return text;
}

bool rly_session_diagnostic_get(rly_session *s, size_t i, rly_diagnostic *out) {
  if (!session_hold(s)) return false;
  context_lock(s->program->cx);
  bool found = diagnostic_give(s->program->cx, &s->diags, i, out);
  context_unlock(s->program->cx);
  session_release(s);
  return found;
}

bool rly_session_diagnostic_note(rly_session *s, size_t i, size_t k,
                                 rly_note *out) {
  if (!session_hold(s)) return false;
  context_lock(s->program->cx);
  bool found = fill_note(s->program->cx, &s->diags, i, k, out);
  context_unlock(s->program->cx);
  session_release(s);
  return found;
}

/* Not while a run of this thread is under way (in a callback): the run may be
 * writing to them. */
void rly_session_diagnostics_clear(rly_session *s) {
  if (!session_hold(s)) return;
  if (!s->running) {
    diags_clear(&s->diags);
    s->told = 0;
  }
  session_release(s);
}
