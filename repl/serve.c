/* rly serve-docs [FOLDER]: shows the site that `make web` builds, the book and
 * the playground, to browsers of this machine.
 *
 * Browsers load WebAssembly only from a server.  That is a program of its own,
 * web/serve.c: rly itself opens no connection (SECURITY.md). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "repl/cli.h"
#include "repl/user.h"

typedef char Path[USER_PATH_MAX + 32];

/* Sets `path` to the first of two places, relative to this program's folder, at
 * which there is a file or folder; false: neither. */
static bool found(Path path, const char *installed, const char *built) {
  char own[USER_PATH_MAX];
  if (!own_folder(own)) return false;
  snprintf(path, sizeof(Path), "%s/%s", own, installed);
  if (!access(path, R_OK)) return true;
  snprintf(path, sizeof(Path), "%s/%s", own, built);
  return !access(path, R_OK);
}

static int refuse(const char *why) {
  fprintf(stderr, "rly: %s\n", why);
  return EXIT_REFUSED;
}

int command_serve_docs(const Cli *cli) {
  Path server, site;
  char port[8];
  if (cli->port > 65535) return refuse("a port is a number up to 65535");
  if (!found(server, "../lib/rly/rly-serve-docs", "rly-serve-docs"))
    return refuse("the server of pages, rly-serve-docs, is not here");
  if (!cli->words.count && !found(site, "../share/rly/web", "../web"))
    return refuse("the site is not built: make deps-web web");
  snprintf(port, sizeof port, "%d", (int)cli->port);
  const char *folder = cli->words.count ? cli->words.items[0] : site;
  execl(server, server, folder, port, cli->limits.safe ? "safe" : NULL,
        (char *)NULL);
  return refuse(strerror(errno));
}
