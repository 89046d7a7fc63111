/* Building diagnostics and the sink that owns them.  How they are shown is in
 * diag_render.c.
 *
 * A diagnostic that will not be shown is not built: beyond DIAG_MAX of a kind,
 * and when memory has run out, the writes go to one scratch Diag (is_dropped),
 * so that no caller has to ask whether there is one.  Errors and warnings are
 * counted apart, so that warnings do not crowd out the error.
 *
 * Texts live in the sink's arena until diags_clear(); notes and frames are
 * vectors of each Diag, since they grow while others are built. */
#include "base/diag.h"

#include <string.h>

static const char *const codes[DIAG_CODE_COUNT] = {
#define DIAG(code, title) [code] = #code,
#include "base/diag.def"
#undef DIAG
};

static const char *const titles[DIAG_CODE_COUNT] = {
#define DIAG(code, title) [code] = title,
#include "base/diag.def"
#undef DIAG
};

const char *diag_code_text(DiagCode code) { return codes[code]; }
const char *diag_code_title(DiagCode code) { return titles[code]; }

/* Linear: there are some 80 codes, and nobody looks one up in a loop. */
DiagCode diag_code_find(const char *text) {
  DiagCode code = 0;
  while (code < DIAG_CODE_COUNT && strcmp(codes[code], text)) code++;
  return code;
}

/* --- The sink ------------------------------------------------------------ */

/* Room for one diagnostic is reserved now: that memory has run out must be
 * tellable later. */
bool diags_init(Diags *s, Mem *mem) {
  *s = (Diags){0};
  arena_init(&s->arena, mem);
  VEC_INIT(&s->list, mem);
  return VEC_RESERVE(&s->list, 1);
}

/* The list's own memory is kept. */
void diags_clear(Diags *s) {
  for (size_t i = 0; i < s->list.len; i++) {
    VEC_DONE(&s->list.data[i]->notes);
    VEC_DONE(&s->list.data[i]->frames);
  }
  VEC_CLEAR(&s->list);
  arena_done(&s->arena);
  s->errors = 0;
  s->warnings = 0;
}

DiagsMark diags_mark(const Diags *s) {
  return (DiagsMark){s->list.len, s->errors, s->warnings};
}

void diags_return(Diags *s, DiagsMark mark) {
  while (s->list.len > mark.count) {
    Diag *d = VEC_POP(&s->list);
    VEC_DONE(&d->notes);
    VEC_DONE(&d->frames);
  }
  s->errors = mark.errors;
  s->warnings = mark.warnings;
}

void diags_done(Diags *s) {
  diags_clear(s);
  VEC_DONE(&s->list);
}

/* A slot for one more diagnostic, or the scratch slot when it will not be
 * shown.  The count goes on beyond the maximum, for the line "12 more
 * errors". */
static Diag *diags_add(Diags *s, Severity severity) {
  size_t *count = severity == SEV_WARNING ? &s->warnings : &s->errors;
  if (++*count > DIAG_MAX) return &s->scratch;
  Diag *d = ARENA_NEW(&s->arena, Diag);
  if (!d || !VEC_RESERVE(&s->list, 1)) return &s->scratch;
  VEC_PUSH(&s->list, d);
  return d;
}

/* --- One diagnostic ------------------------------------------------------ */

static bool is_dropped(const Diag *d) { return d == &d->sink->scratch; }

static const char *diag_text(Diag *d, const char *format, va_list args) {
  if (is_dropped(d)) return "";
  char *text = arena_vprintf(&d->sink->arena, format, args);
  return text ? text : "out of memory";
}

Diag *diag_new(Diags *s, Severity severity, DiagCode code, Span span,
               const char *format, ...) {
  Diag *d = diags_add(s, severity);
  *d = (Diag){.severity = severity, .code = code, .span = span, .sink = s};
  VEC_INIT(&d->notes, s->arena.mem);
  VEC_INIT(&d->frames, s->arena.mem);
  va_list args;
  va_start(args, format);
  d->message = diag_text(d, format, args);
  va_end(args);
  return d;
}

void diag_caption(Diag *d, const char *format, ...) {
  va_list args;
  va_start(args, format);
  d->caption = diag_text(d, format, args);
  va_end(args);
}

void diag_hint(Diag *d, const char *format, ...) {
  va_list args;
  va_start(args, format);
  d->hint = diag_text(d, format, args);
  va_end(args);
}

void diag_note(Diag *d, Span span, const char *format, ...) {
  if (is_dropped(d)) return;
  va_list args;
  va_start(args, format);
  const char *message = diag_text(d, format, args);
  va_end(args);
  VEC_PUSH(&d->notes, (DiagNote){span, message});
}

/* --- The call trace ------------------------------------------------------ */

enum { TRACE_HALF = DIAG_MAX_TRACE / 2 };

/* Without a source map every frame counts as the user's. */
static bool is_user_frame(const Diag *d, Span span) {
  SourceMap *sources = d->sink->sources;
  const SourceFile *f = sources ? sources_file(sources, span) : NULL;
  return !sources || (f && !f->library);
}

static void fix_first_of_tail(Diag *d) {
  if (is_user_frame(d, d->frames.data[d->frames_fixed].span))
    d->user_frame_fixed = true;
  d->frames_fixed++;
}

/* A trace keeps a fixed head and a tail of the outermost frames so far.  When
 * the tail is full its first frame goes, unless that one is the user's
 * innermost frame, which moves to the head.  Example with a half of 3, u the
 * first user's frame, l frames of the library, from the innermost:
 *
 *   l l l   l u l l l l ...      head is full at 3; u moves to the head
 *   l l l u | ... l l l          what is kept: 3, the u, and the last 3 */
static void shorten_tail(Diag *d) {
  DiagFrame *first = d->frames.data + d->frames_fixed;
  size_t tail = d->frames.len - d->frames_fixed;
  if (d->frames_fixed < TRACE_HALF ||
      (!d->user_frame_fixed && is_user_frame(d, first->span))) {
    fix_first_of_tail(d);
  } else {
    memmove(first, first + 1, (tail - 1) * sizeof *first);
    d->frames.len--;
  }
}

/* Copies the name once and shares it with equal names of the kept frames:
 * recursion repeats few names very often.  At most 21 names are kept, so the
 * search is short. */
static const char *frame_name(Diag *d, const char *function) {
  for (size_t i = d->frames.len; i-- > 0;)
    if (!strcmp(d->frames.data[i].function, function))
      return d->frames.data[i].function;
  const char *copy = arena_strndup(&d->sink->arena, function, strlen(function));
  return copy ? copy : "?";
}

/* Constant work for each frame, however deep the recursion was. */
void diag_frame(Diag *d, const char *function, Span span) {
  if (is_dropped(d)) return;
  const char *name = frame_name(d, function);
  if (d->frames.len - d->frames_fixed == TRACE_HALF) shorten_tail(d);
  VEC_PUSH(&d->frames, (DiagFrame){name, span, d->frame_count++});
}
