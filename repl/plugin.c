/* Plugins: shared objects that add operators to the program, --plugin FILE.so.
 *
 * A plugin has a function `rly_plugin`, which calls rly_operator_add.  It stays
 * loaded until the process ends, since sessions may run its code up to then. */
#include <dlfcn.h>
#include <string.h>

#include "repl/cli.h"

typedef bool Plugin(rly_program *program);

/* dlopen searches the system's folders for a name without a slash; a file is
 * meant here. */
static void *open_file(const char *path, char *room, size_t size) {
  if (!strchr(path, '/')) {
    snprintf(room, size, "./%s", path);
    path = room;
  }
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static bool load(Host *h, rly_program *program, const char *path) {
  char room[4096];
  void *file = open_file(path, room, sizeof room);
  if (!file)
    return host_usage(h, "cannot load the plugin: %s", dlerror()), false;
  /* POSIX has symbols of functions converted so. */
  Plugin *start;
  *(void **)&start = dlsym(file, "rly_plugin");
  if (!start) {
    host_usage(h, "%s has no function `rly_plugin`", path);
    return false;
  }
  bool ok = start(program);
  size_t said = rly_diagnostic_count(h->cx);
  if (!ok && !said && *rly_misuse())
    host_usage(h, "%s: %s", path, rly_misuse());
  else if (!ok && !said) host_usage(h, "%s says that it failed", path);
  else host_report(h);
  return ok;
}

static bool plug(Host *h, rly_program *program) {
  const TextList *files = &h->cli->plugin;
  for (int i = 0; i < files->count; i++)
    if (!load(h, program, files->items[i])) return false;
  return true;
}

bool host_plugins(Host *h) {
  const Cli *cli = h->cli;
  if (cli->plugin.count && cli->limits.safe)
    return host_usage(h, "--safe loads no code: --plugin"), false;
  return plug(h, h->program);
}

/* The operators belong to a program. */
rly_program *host_program_new(Host *h, rly_context *cx) {
  rly_program *p = rly_program_new(cx);
  if (!p || plug(h, p)) return p;
  rly_program_free(p);
  return NULL;
}
