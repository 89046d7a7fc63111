/* Building diagnostics and the sink that owns them.  How they are shown is in
 * diag_render.c.
 *
 * Beyond DIAG_MAX of a kind only the newest is kept, for a host that calls
 * again and again and clears nothing: what it asks about is its last call. When
 * memory has run out, the writes go to one scratch Diag (is_dropped), so that
 * no caller has to ask whether there is one.  Errors and warnings are counted
 * apart, so that warnings do not crowd out the error.
 *
 * Texts live in the sink's arena until diags_clear(), those of the newest in an
 * arena of its own until the next; notes and frames are vectors of each Diag,
 * since they grow while others are built. */
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
  for (int i = 0; i < 2; i++) arena_init(&s->newest[i].arena, mem);
  VEC_INIT(&s->list, mem);
  return VEC_RESERVE(&s->list, 1);
}

static void diag_done(Diag *d) {
  VEC_DONE(&d->notes);
  VEC_DONE(&d->frames);
}

static void newest_forget(DiagNewest *newest) {
  if (!newest->diag.number) return;
  diag_done(&newest->diag);
  newest->diag = (Diag){0};
  arena_done(&newest->arena);
}

/* The list's own memory is kept. */
void diags_clear(Diags *s) {
  for (size_t i = 0; i < s->list.len; i++) diag_done(s->list.data[i]);
  VEC_CLEAR(&s->list);
  arena_done(&s->arena);
  for (int i = 0; i < 2; i++) newest_forget(&s->newest[i]);
  s->errors = 0;
  s->warnings = 0;
}

DiagsMark diags_mark(const Diags *s) {
  return (DiagsMark){s->list.len, s->errors, s->warnings};
}

void diags_return(Diags *s, DiagsMark mark) {
  while (s->list.len > mark.count) diag_done(VEC_POP(&s->list));
  for (int i = 0; i < 2; i++)
    if (s->newest[i].diag.number > mark.errors + mark.warnings)
      newest_forget(&s->newest[i]);
  s->errors = mark.errors;
  s->warnings = mark.warnings;
}

void diags_done(Diags *s) {
  diags_clear(s);
  VEC_DONE(&s->list);
}

/* A slot for one more diagnostic, or the scratch slot when there is no memory
 * for one.  The count goes on beyond the maximum, for the line "12 more
 * errors". */
static Diag *diags_add(Diags *s, Severity severity) {
  bool warning = severity == SEV_WARNING;
  DiagNewest *newest = &s->newest[warning];
  size_t *count = warning ? &s->warnings : &s->errors;
  if (++*count > DIAG_MAX) {
    newest_forget(newest);
    newest->diag.arena = &newest->arena;
    return &newest->diag;
  }
  Diag *d = ARENA_NEW(&s->arena, Diag);
  if (!d || !VEC_RESERVE(&s->list, 1)) return &s->scratch;
  d->arena = &s->arena;
  VEC_PUSH(&s->list, d);
  return d;
}

/* --- What can be looked at ------------------------------------------------ */

size_t diags_count(const Diags *s) {
  return s->list.len + (s->newest[0].diag.number > 0) +
         (s->newest[1].diag.number > 0);
}

/* The number of one that does not exist is 0, so it comes first. */
const Diag *diags_at(const Diags *s, size_t i) {
  if (i < s->list.len) return s->list.data[i];
  const Diag *a = &s->newest[0].diag, *b = &s->newest[1].diag;
  size_t left = diags_count(s) - i;
  if (i >= diags_count(s)) return NULL;
  return (left == 1) == (a->number > b->number) ? a : b;
}

/* The cast gives no more than the sink, which is not const here. */
Diag *diags_open(Diags *s, size_t i) { return (Diag *)diags_at(s, i); }

/* --- One diagnostic ------------------------------------------------------ */

static bool is_dropped(const Diag *d) { return d == &d->sink->scratch; }

static const char *diag_text(Diag *d, const char *format, va_list args) {
  if (is_dropped(d)) return "";
  char *text = arena_vprintf(d->arena, format, args);
  return text ? text : "out of memory";
}

Diag *diag_new(Diags *s, Severity severity, DiagCode code, Span span,
               const char *format, ...) {
  Diag *d = diags_add(s, severity);
  Span user = s->sources ? sources_called(s->sources, span) : span;
  *d = (Diag){.severity = severity,
              .code = code,
              .span = user,
              .number = s->errors + s->warnings,
              .arena = d->arena,
              .sink = s};
  VEC_INIT(&d->notes, s->arena.mem);
  VEC_INIT(&d->frames, s->arena.mem);
  va_list args;
  va_start(args, format);
  d->message = diag_text(d, format, args);
  va_end(args);
  if (user.lo != span.lo) diag_note(d, span, "from here in the library");
  return d;
}

void diag_preface(Diag *d, const char *words) {
  const char *text = arena_printf(d->arena, "%s%s", words, d->message);
  if (text) d->message = text;
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
  VEC_PUSH(&d->notes, (DiagNote){span, message, false});
}

void diag_drawing(Diag *d, const char *lines) {
  size_t before = d->notes.len;
  diag_note(d, SPAN_NONE, "%s", lines);
  if (d->notes.len > before) d->notes.data[before].drawn = true;
}

/* --- The call trace ------------------------------------------------------ */

enum {
  TRACE_HALF = DIAG_MAX_TRACE / 2,
  CYCLE_MOST = 4, /* functions that call each other in turns */
};

/* Without a source map every frame counts as the user's. */
static bool is_user_frame(const Diag *d, Span span) {
  SourceMap *sources = d->sink->sources;
  const SourceFile *f = sources ? sources_file(sources, span) : NULL;
  return !sources || (f && !f->library);
}

/* How many lines stand or fall with the one that begins the tail. */
static size_t first_of_tail(const Diag *d) {
  const DiagFrame *first = &d->frames.data[d->frames_fixed];
  return first->block ? first->block : 1;
}

static bool begins_with_user_frame(const Diag *d) {
  size_t n = first_of_tail(d);
  for (size_t i = 0; i < n; i++)
    if (is_user_frame(d, d->frames.data[d->frames_fixed + i].span)) return true;
  return false;
}

/* A trace keeps a fixed head and a tail of the outermost frames so far.  When
 * the tail is full its first frame goes, unless that one is the user's
 * innermost frame, which moves to the head.  Example with a half of 3, u the
 * first user's frame, l frames of the library, from the innermost:
 *
 *   l l l   l u l l l l ...      head is full at 3; u moves to the head
 *   l l l u | ... l l l          what is kept: 3, the u, and the last 3 */
static void shorten_tail(Diag *d) {
  size_t n = first_of_tail(d);
  bool user = !d->user_frame_fixed && begins_with_user_frame(d);
  if (d->frames_fixed < TRACE_HALF || user) {
    d->user_frame_fixed |= user;
    d->frames_fixed += n;
    return;
  }
  DiagFrame *first = d->frames.data + d->frames_fixed;
  size_t rest = d->frames.len - d->frames_fixed - n;
  memmove(first, first + n, rest * sizeof *first);
  d->frames.len -= n;
}

static void keep_frame(Diag *d, DiagFrame frame) {
  if (d->frames.len - d->frames_fixed >= TRACE_HALF) shorten_tail(d);
  VEC_PUSH(&d->frames, frame);
}

/* Copies the name once and shares it with equal names of the kept frames:
 * recursion repeats few names very often.  At most 21 names are kept, so the
 * search is short. */
static const char *frame_name(Diag *d, const char *function) {
  for (size_t i = d->frames.len; i-- > 0;)
    if (!strcmp(d->frames.data[i].function, function))
      return d->frames.data[i].function;
  const char *copy = arena_strndup(d->arena, function, strlen(function));
  return copy ? copy : "?";
}

/* --- Lines that repeat --- */

/* Calls from one place, as recursion makes them. */
static bool same_frame(const DiagFrame *a, const DiagFrame *b) {
  return a->span.lo == b->span.lo && a->span.hi == b->span.hi &&
         !strcmp(a->function, b->function);
}

static DiagFrame *cycle_start(const Diag *d) {
  return d->frames.data + d->frames.len - d->cycle;
}

static bool continues_cycle(Diag *d, const DiagFrame *frame) {
  DiagFrame *block = cycle_start(d);
  if (!same_frame(&block[d->cycled % d->cycle], frame)) return false;
  block->repeats = ++d->cycled / d->cycle;
  return true;
}

/* What was begun of one more repetition becomes lines of its own. */
static void leave_cycle(Diag *d) {
  DiagFrame block[CYCLE_MOST];
  size_t begun = d->cycle ? (size_t)(d->cycled % d->cycle) : 0;
  if (begun) memcpy(block, cycle_start(d), begun * sizeof *block);
  d->cycle = 0;
  for (size_t i = 0; i < begun; i++) {
    uint64_t index = d->frame_count - 1 - begun + i;
    keep_frame(d, (DiagFrame){block[i].function, block[i].span, index, 0, 0});
  }
}

/* Do the last n lines say what the n before them say, each one call? */
static bool is_repeated(const Diag *d, size_t n) {
  if (d->frames.len < 2 * n) return false;
  const DiagFrame *a = d->frames.data + d->frames.len - 2 * n;
  for (size_t i = 0; i < 2 * n; i++)
    if (a[i].block || a[i].index != a->index + i) return false;
  for (size_t i = 0; i < n; i++)
    if (!same_frame(&a[i], &a[n + i])) return false;
  return true;
}

static void enter_cycle(Diag *d) {
  size_t n = 1;
  while (n <= CYCLE_MOST && !is_repeated(d, n)) n++;
  if (n > CYCLE_MOST) return;
  d->frames.len -= n;
  size_t others = d->frames.len - n;
  if (d->frames_fixed > others) d->frames_fixed = others;
  d->cycle = d->cycled = n;
  cycle_start(d)->block = n;
  cycle_start(d)->repeats = 1;
}

/* Constant work for each frame, however deep the recursion was. */
void diag_frame(Diag *d, const char *function, Span span) {
  if (is_dropped(d)) return;
  if (d->sink->sources) span = sources_called(d->sink->sources, span);
  DiagFrame frame = {frame_name(d, function), span, d->frame_count++, 0, 0};
  if (d->cycle && continues_cycle(d, &frame)) return;
  leave_cycle(d);
  keep_frame(d, frame);
  enter_cycle(d);
}
