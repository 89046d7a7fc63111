/* Contexts and their diagnostics. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "io/file.h"
#include "lib/handles.h"
#include "ops/simd/select.h"

const char *rly_version(void) { return RLY_VERSION_TEXT; }

bool rly_instruction_set(const char *name) { return simd_select(name); }

/* --- Life --------------------------------------------------------------- */

static void recursive_mutex_init(pthread_mutex_t *lock) {
  pthread_mutexattr_t how;
  pthread_mutexattr_init(&how);
  pthread_mutexattr_settype(&how, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(lock, &how);
  pthread_mutexattr_destroy(&how);
}

static bool sensible(const rly_options *o) {
  return !o || (o->threads >= 0 && o->timeout >= 0);
}

rly_context *rly_context_new(const rly_options *options) {
  rly_context *cx = sensible(options) ? calloc(1, sizeof *cx) : NULL;
  if (!cx) return NULL;
  if (options) cx->options = *options;
  size_t limit = cx->options.max_memory;
  if (!mem_init(&cx->mem, limit ? limit : SIZE_MAX)) {
    free(cx);
    return NULL;
  }
  atomic_init(&cx->refs, 1);
  recursive_mutex_init(&cx->lock);
  names_init(&cx->names, &cx->mem);
  sources_init(&cx->sources, &cx->mem);
  bool fine = diags_init(&cx->diags, &cx->mem);
  cx->diags.sources = &cx->sources;
  heap_init(&cx->heap, &cx->mem);
  if (fine) return cx;
  context_drop(cx);
  return NULL;
}

void context_keep(rly_context *cx) { atomic_fetch_add(&cx->refs, 1); }

void context_drop(rly_context *cx) {
  if (atomic_fetch_sub(&cx->refs, 1) > 1) return;
  heap_done(&cx->heap);
  diags_done(&cx->diags);
  sources_done(&cx->sources);
  names_done(&cx->names);
  pthread_mutex_destroy(&cx->lock);
  assert(atomic_load(&cx->mem.live) == 0);
  mem_done(&cx->mem);
  free(cx);
}

void rly_context_free(rly_context *cx) {
  if (cx) context_drop(cx);
}

void context_lock(rly_context *cx) { pthread_mutex_lock(&cx->lock); }

void context_unlock(rly_context *cx) { pthread_mutex_unlock(&cx->lock); }

/* --- Text for the host -------------------------------------------------- */

char *text_take(rly_context *cx, StrBuf *text) {
  char *copy = mem_alloc(&cx->mem, text->len + 1);
  if (copy) memcpy(copy, strbuf_text(text), text->len + 1);
  strbuf_done(text);
  return copy;
}

void rly_text_free(rly_context *cx, char *text) {
  if (cx && text) mem_free(&cx->mem, text, strlen(text) + 1);
}

bool file_replace(rly_context *cx, const char *path, const StrBuf *text) {
  FileOut out;
  if (!file_out_open(&out, &cx->mem, path, &cx->diags)) return false;
  bool fine = fwrite(strbuf_text(text), 1, text->len, out.stream) == text->len;
  return file_out_close(&out, fine);
}

/* --- Diagnostics --------------------------------------------------------
 * A context's and a session's are shown alike.  The context is locked, because
 * finding lines and columns fills tables that all share. */

static char *render_text(rly_context *cx, const Diags *diags, bool colour) {
  StrBuf out;
  strbuf_init(&out, &cx->mem);
  context_lock(cx);
  diags_render(diags, &cx->sources, colour, &out);
  context_unlock(cx);
  return text_take(cx, &out);
}

static char *render_json(rly_context *cx, const Diags *diags) {
  StrBuf out;
  strbuf_init(&out, &cx->mem);
  context_lock(cx);
  diags_render_json(diags, &cx->sources, &out);
  context_unlock(cx);
  return text_take(cx, &out);
}

static void fill_place(rly_context *cx, Span span, rly_place *out) {
  Place p = sources_place(&cx->sources, span);
  *out = (rly_place){
      .file = p.file ? p.file->path : NULL,
      .line = p.line,
      .column = p.column,
      .end_line = p.end_line,
      .end_column = p.end_column,
  };
}

static bool fill_one(rly_context *cx, const Diags *diags, size_t i,
                     rly_diagnostic *out) {
  if (!out || i >= diags->list.len) return false;
  const Diag *d = diags->list.data[i];
  *out = (rly_diagnostic){
      .severity = d->severity == SEV_WARNING ? RLY_WARNING : RLY_ERROR,
      .code = diag_code_text(d->code),
      .message = d->message,
      .caption = d->caption,
      .hint = d->hint,
      .note_count = d->notes.len,
      .frame_count = d->frames.len,
  };
  fill_place(cx, d->span, &out->place);
  return true;
}

static bool fill_note(rly_context *cx, const Diags *diags, size_t i, size_t k,
                      rly_note *out) {
  const Diag *d = i < diags->list.len ? diags->list.data[i] : NULL;
  if (!out || !d || k >= d->notes.len + d->frames.len) return false;
  bool frame = k >= d->notes.len;
  size_t at = frame ? k - d->notes.len : k;
  Span span = frame ? d->frames.data[at].span : d->notes.data[at].span;
  out->message =
      frame ? d->frames.data[at].function : d->notes.data[at].message;
  fill_place(cx, span, &out->place);
  return true;
}

size_t rly_diagnostic_count(const rly_context *cx) {
  return cx ? cx->diags.list.len : 0;
}

char *rly_diagnostics_text(rly_context *cx, bool colour) {
  return cx ? render_text(cx, &cx->diags, colour) : NULL;
}

char *rly_diagnostics_json(rly_context *cx) {
  return cx ? render_json(cx, &cx->diags) : NULL;
}

bool rly_diagnostic_get(rly_context *cx, size_t i, rly_diagnostic *out) {
  if (!cx) return false;
  context_lock(cx);
  bool found = fill_one(cx, &cx->diags, i, out);
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
  context_unlock(cx);
}

void rly_diagnostic_add(rly_context *cx, const char *code,
                        const char *message) {
  if (!cx || !code || !message) return;
  DiagCode known = diag_code_find(code);
  if (known == DIAG_CODE_COUNT) known = E0506;
  context_lock(cx);
  diag_error(&cx->diags, known, SPAN_NONE, "%s", message);
  context_unlock(cx);
}

/* --- A session's diagnostics -------------------------------------------- */

size_t rly_session_diagnostic_count(rly_session *s) {
  if (!session_hold(s)) return 0;
  size_t count = s->diags.list.len;
  session_release(s);
  return count;
}

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
  bool found = fill_one(s->program->cx, &s->diags, i, out);
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

void rly_session_diagnostics_clear(rly_session *s) {
  if (!session_hold(s)) return;
  if (!s->running) diags_clear(&s->diags);
  session_release(s);
}
