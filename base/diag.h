/* Diagnostics: what the user did wrong, where, and what would mend it.
 *
 * A Diag is built in steps and then handed to the sink:
 *
 *   Diag *d = diag_error(sink, E0203, span,
 *                        "operands of `%s` do not broadcast: ...", name);
 *   diag_caption(d, "Tensor[(4), float32]");     text after the carets
 *   diag_note(d, other_span, "this dimension, 4, comes from here");
 *   diag_hint(d, "the last dimensions must be equal or 1");
 *
 * Codes are stable; base/diag.def lists them with the title that
 * `rly explain` shows. */
#ifndef BASE_DIAG_H
#define BASE_DIAG_H

#include "base/limits.h"
#include "base/source.h"
#include "base/strbuf.h"

typedef enum Severity { SEV_ERROR, SEV_WARNING, SEV_RUNTIME } Severity;

typedef enum DiagCode {
#define ID(code) code,
#include "base/diag.ids"
#undef ID
  DIAG_CODE_COUNT
} DiagCode;

typedef struct DiagNote {
  Span span; /* may be SPAN_NONE */
  const char *message;
  bool drawn; /* its lines are kept: marks stand below words */
} DiagNote;

/* One line of a run-time error's call trace, innermost first.  Recursion makes
 * lines alike: `block` of them, of which this is the first, were met `repeats`
 * times more before the next line. */
typedef struct DiagFrame {
  const char *function; /* "@f", "fn", or "top level" */
  Span span;            /* the call that was under way in it */
  uint64_t index;       /* calls further in */
  size_t block;         /* 0: none begins here */
  uint64_t repeats;
} DiagFrame;

typedef struct Diag {
  Severity severity;
  DiagCode code;
  Span span;
  const char *message;
  const char *caption; /* NULL for none */
  const char *hint;    /* NULL for none */
  VEC(DiagNote) notes;
  VEC(DiagFrame) frames;
  uint64_t frame_count;  /* all calls; `frames` may hold fewer */
  size_t frames_fixed;   /* leading frames that stay */
  size_t cycle;          /* the last so many frames are being repeated; 0 */
  uint64_t cycled;       /* calls of that repetition so far */
  bool user_frame_fixed; /* is a frame of the user's own code among those? */
  size_t number;         /* of all that were reported, from 1 */
  Arena *arena;          /* of its texts */
  struct Diags *sink;
} Diag;

enum { DIAG_MAX_TRACE = 20 };

/* The newest of a kind beyond DIAG_MAX, which takes the place of the one
 * before.  A pointer to the one before then leads to this one, so that who
 * still adds to that one does no harm. */
typedef struct DiagNewest {
  Diag diag; /* its number is 0 where there is none */
  Arena arena;
} DiagNewest;

/* The first DIAG_MAX errors and as many warnings are kept, and of those beyond
 * the newest of each kind; others are only counted. */
typedef struct Diags {
  Arena arena;
  VEC(Diag *) list;     /* the first of each kind, as they came */
  DiagNewest newest[2]; /* an error, a warning */
  size_t errors;        /* counts also those beyond DIAG_MAX */
  size_t warnings;      /* likewise */
  Diag scratch;       /* receives the writes to a diagnostic that is dropped */
  SourceMap *sources; /* tells library frames apart in traces; may be NULL */
} Diags;

/* Is another error kept only until the next?  Then details that take long to
 * find may be left out. */
static inline bool diags_full(const Diags *s) { return s->errors > DIAG_MAX; }

/* Allocates at once what reporting an exhausted memory will need; false when
 * there is no room for that.  diags_done is due in either case. */
bool diags_init(Diags *s, Mem *mem);
void diags_done(Diags *s);
void diags_clear(Diags *s);

/* Those that can be looked at: the list, and after it the newest beyond, the
 * newer one last. */
size_t diags_count(const Diags *s);
const Diag *diags_at(const Diags *s, size_t i); /* NULL: there is none */
Diag *diags_open(Diags *s, size_t i); /* the same one, to say more of it */

/* What is reported after the mark is taken back by returning to it. */
typedef struct DiagsMark {
  size_t count, errors, warnings;
} DiagsMark;
DiagsMark diags_mark(const Diags *s);
void diags_return(Diags *s, DiagsMark mark);

/* A new diagnostic, owned by the sink; never NULL.  Texts are copied.  Within
 * an inlined function of the library it is told of the call, and a note tells
 * of the place itself. */
Diag *diag_new(Diags *s, Severity severity, DiagCode code, Span span,
               const char *format, ...) __attribute__((format(printf, 5, 6)));
#define diag_error(s, code, span, ...) \
  diag_new((s), SEV_ERROR, (code), (span), __VA_ARGS__)
#define diag_warning(s, code, span, ...) \
  diag_new((s), SEV_WARNING, (code), (span), __VA_ARGS__)
void diag_caption(Diag *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void diag_note(Diag *d, Span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A note without a place, in lines that are laid out; all other texts of a
 * diagnostic are shown in one line, whatever they quote. */
void diag_drawing(Diag *d, const char *lines);
void diag_hint(Diag *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Puts words before the message, such as a condition on which it holds. */
void diag_preface(Diag *d, const char *words);
/* Adds the next call of the trace.  Call it for every frame, innermost first:
 * it keeps the first ten, the last ten and, between them, the innermost frame
 * of the user's own code (told by the sink's `sources`). */
void diag_frame(Diag *d, const char *function, Span span);

const char *diag_code_text(DiagCode code);  /* "E0203" */
const char *diag_code_title(DiagCode code); /* "operands do not broadcast" */
/* The code with this spelling; DIAG_CODE_COUNT for none. */
DiagCode diag_code_find(const char *text);

/* Adds `E0606: division by zero`, in one line that is safe to send to a
 * terminal. */
void diag_add_short(StrBuf *out, const char *code, const char *message);

/* For whom a text is made.  On a terminal of so many columns, excerpts of long
 * lines are cut to fit, and messages are broken between words; 0: for a file,
 * where excerpts are cut at 200 columns and messages are not broken. */
typedef struct DiagLook {
  bool colour;
  size_t columns;
} DiagLook;

/* Renders as text with source lines and carets (docs/DIAGNOSTICS.md), or as one
 * line of JSON with its newline.  Labels of one line stand below it together.
 * Diagnostics print in source order. */
void diag_render(const Diag *d, SourceMap *sources, DiagLook look, StrBuf *out);
void diag_render_json(const Diag *d, SourceMap *sources, StrBuf *out);
void diags_render(const Diags *s, SourceMap *sources, DiagLook look,
                  StrBuf *out);
void diags_render_json(const Diags *s, SourceMap *sources, StrBuf *out);

#endif
