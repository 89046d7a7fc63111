/* The host's log: diagnostics when the call that left them ends, and what was
 * read, checked and written.
 *
 * The checker tries things and takes back what they report, and a diagnostic
 * gets its hint after its message.  So diagnostics are handed on where a call
 * lets go of the context or the session, and not where they are made. */
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "lib/handles.h"

size_t log_new(rly_context *cx, const Diags *diags, size_t told) {
  for (size_t i = 0; i < diags_count(diags); i++) {
    if (diags_at(diags, i)->number <= told) continue;
    rly_diagnostic d;
    diagnostic_give(cx, diags, i, &d);
    rly_log_level level =
        d.severity == RLY_WARNING ? RLY_LOG_WARNING : RLY_LOG_ERROR;
    if (level <= cx->log.most)
      cx->log.write(cx->log.data, &(rly_log_entry){level, d.message, &d});
  }
  return diags->errors + diags->warnings;
}

double log_clock(const rly_context *cx) {
  if (!cx->log.write || cx->log.most < RLY_LOG_INFO) return 0;
  return clock_seconds();
}

void log_info(const rly_context *cx, const char *format, ...) {
  char text[512];
  va_list args;
  if (!cx->log.write || cx->log.most < RLY_LOG_INFO) return;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  cx->log.write(cx->log.data, &(rly_log_entry){RLY_LOG_INFO, text, NULL});
}
