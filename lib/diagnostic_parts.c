/* A diagnostic as a host sees it.  It stands alone, since what reads
 * diagnostics for a host (diagnostics.c) and what hands them to its log (log.c)
 * need it, and the first takes the locks of handles.c, which calls the second.
 */
#include "lib/handles.h"

void place_give(rly_context *cx, Span span, rly_place *out) {
  Place p = sources_place(&cx->sources, span);
  *out = (rly_place){
      .file = p.file ? p.file->path : NULL,
      .line = p.line,
      .column = p.column,
      .end_line = p.end_line,
      .end_column = p.end_column,
  };
}

/* The texts are borrowed: they live until the diagnostics are cleared. */
bool diagnostic_give(rly_context *cx, const Diags *diags, size_t i,
                     rly_diagnostic *out) {
  const Diag *d = diags_at(diags, i);
  if (!out || !d) return false;
  *out = (rly_diagnostic){
      .severity = d->severity == SEV_WARNING ? RLY_WARNING : RLY_ERROR,
      .code = diag_code_text(d->code),
      .message = d->message,
      .caption = d->caption,
      .hint = d->hint,
      .note_count = d->notes.len,
      .frame_count = d->frames.len,
  };
  place_give(cx, d->span, &out->place);
  return true;
}
