/* rly lsp: the language server on stdin and stdout. */
#include <unistd.h>

#include "repl/cli.h"
#include "server/server.h"

int command_lsp(const Cli *cli) {
  rly_options limits = host_limits(cli);
  return server_run(&limits, STDIN_FILENO, STDOUT_FILENO);
}
