/* Mapped files that become shorter while they are in use (io/mapping.h): runs
 * and readings that may have met one end with a message. */
#include "io/mapping.h"
#include "lib/handles.h"
#include "lib/inside.h"

void files_outlive_cuts(void) { mappings_outlive_cuts(); }

bool files_whole(Diags *diags) {
  StrBuf path;
  strbuf_init(&path, diags->arena.mem);
  bool cut = mappings_cut(&path);
  if (cut)
    diag_hint(diag_error(diags, E0501, SPAN_NONE,
                         "%s has become shorter while it was in use",
                         strbuf_text(&path)),
              "what was made of it cannot be trusted: start again; a file that "
              "is replaced by a new one (written beside it, then renamed) "
              "disturbs nobody");
  strbuf_done(&path);
  return !cut;
}

RunStatus run_trusted(rly_session *s, RunStatus status) {
  bool ran = status == RUN_OK || status == RUN_ERROR;
  return !ran || files_whole(&s->diags) ? status : RUN_ERROR;
}
