/* See readline.h: GNU Readline. */
#if RLY_READLINE == 1
#include "repl/readline.h"

#include <dlfcn.h>
#include <string.h>

#include "lib/inside.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define READLINE_FILE SYSTEM_LIBRARY("libreadline", TEXT(RL_VERSION_MAJOR))

Readline rl;

/* The library stays loaded: it sets the terminal back when the process ends.
 * A name is a variable's or a function's; POSIX has both converted so. */
bool readline_load(void) {
  static const char *const names[] = {
#define ROW(here, there) TEXT(there),
      READLINE_NAMES(ROW)
#undef ROW
  };
  void *places[sizeof names / sizeof *names];
  void *file = dlopen(READLINE_FILE, RTLD_LAZY | RTLD_LOCAL);
  if (!file) return false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!(places[i] = dlsym(file, names[i]))) return false;
  _Static_assert(sizeof rl == sizeof places, "a pointer for each name");
  memcpy(&rl, places, sizeof rl);
  return true;
}
#endif
