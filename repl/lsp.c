/* rly lsp: the language server on stdin and stdout. */
#include <stdio.h>
#include <unistd.h>

#include "repl/cli.h"
#include "server/server.h"

int command_lsp(const Cli *cli) {
  if (cli->words.count) {
    fputs("rly: lsp takes no files: an editor sends them\n", stderr);
    return EXIT_REFUSED;
  }
  rly_options limits = host_limits(cli);
  return server_run(&limits, STDIN_FILENO, STDOUT_FILENO);
}
