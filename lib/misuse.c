/* What was wrong with a call that makes no sense, for the host's author.
 *
 * Such a call changes nothing, neither a context nor its diagnostics, which
 * another thread may be using; often there is no context at all.  So the text
 * belongs to the thread, as errno does. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "lib/handles.h"

/* By this model the text's address is known without a call of the dynamic
 * linker, which the program would then have to load as a library. */
static _Thread_local char text[256] __attribute__((tls_model("initial-exec")));

const char *rly_misuse(void) { return text; }

/* Names of functions that are ours and not the host's are left out. */
void misuse(const char *function, const char *format, ...) {
  va_list args;
  bool named = !strncmp(function, "rly_", 4);
  int n = named ? snprintf(text, sizeof text, "%s: ", function) : 0;
  va_start(args, format);
  vsnprintf(text + n, sizeof text - (size_t)n, format, args);
  va_end(args);
}

bool require_for(const char *function, bool right, const char *wrong) {
  if (!right) misuse(function, "%s", wrong);
  return right;
}

/* The size of the host's struct; 0 after telling that it is none. */
static size_t struct_size(const char *function, StructSize size,
                          const void *given) {
  size_t n = *(const size_t *)given;
  if (!n || n >= size.first) return n ? n : size.first;
  misuse(function, "options of size %zu are of no version: 0.1 has %zu", n,
         size.first);
  return 0;
}

/* A host of an earlier version has fewer members, one of a later version more:
 * those must be 0, as nothing here could follow them. */
bool struct_take(const char *function, void *to, StructSize size,
                 const void *from) {
  memset(to, 0, size.now);
  if (!from) return true;
  size_t given = struct_size(function, size, from);
  memcpy(to, from, given < size.now ? given : size.now);
  for (size_t i = size.now; i < given; i++)
    if (((const char *)from)[i])
      return misuse(function, "an option is of a later version than %s",
                    RLY_VERSION_TEXT),
             false;
  return given != 0;
}

bool struct_give(const char *function, void *to, StructSize size,
                 const void *from) {
  size_t wanted = struct_size(function, size, to);
  if (wanted)
    memcpy((size_t *)to + 1, (const size_t *)from + 1,
           (wanted < size.now ? wanted : size.now) - sizeof wanted);
  return wanted != 0;
}

static const char *const status_names[] = {
    [RLY_OK] = "ok",
    [RLY_REFUSED] = "refused",
    [RLY_RUNTIME] = "runtime",
    [RLY_LIMIT] = "limit",
    [RLY_MISUSE] = "misuse",
    [RLY_INTERRUPTED] = "interrupted",
    [RLY_INCOMPLETE] = "incomplete",
};

const char *rly_status_name(rly_status status) {
  return status <= RLY_MISUSE ? status_names[status] : NULL;
}
